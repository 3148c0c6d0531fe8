//! Real interactive programs: shells, a language, a pager, an editor, a debugger, password prompts.

use std::time::Duration;

use exec::{Came, InputError, JobId, Stdio, Typed, Until, View, strokes, terminal_environment};

use crate::support::{LIMIT, Session, eventually, is_alive, within};

struct Desk {
    session: Session,
    terminal: JobId,
}

impl Desk {
    async fn open(script: &str) -> Desk {
        let session = Session::new();
        let mut command = session.command(script);
        command.stdio = Stdio::Pty { cols: 80, rows: 24 };
        let extra = [("PS1".into(), "$ ".into()), ("HISTFILE".into(), "/dev/null".into())];
        command.env = terminal_environment(std::env::vars_os(), &extra);
        let attended = within(session.jobs.start_attended(command, None)).await.unwrap();
        let terminal = attended.job.clone();
        assert_eq!(terminal.to_string(), "term-1");
        Desk { session, terminal }
    }

    /// Types and waits for the text.
    async fn send(&self, input: &str, text: &str) -> View {
        let mark = self.session.jobs.mark(&self.terminal).unwrap();
        let typed = self.session.jobs.type_into(&self.terminal, &strokes(input));
        assert_eq!(within(typed).await.unwrap(), Typed::All);
        self.until(&mark, text).await
    }

    async fn wait(&self, text: &str) -> View {
        let view = self.view();
        if view.screen.lines.iter().any(|it| it.contains(text)) {
            return view;
        }
        let mark = self.session.jobs.mark(&self.terminal).unwrap();
        self.until(&mark, text).await
    }

    async fn until(&self, mark: &exec::Mark, text: &str) -> View {
        let until = Until { text: Some(text.to_owned()), quiet: Duration::ZERO, within: LIMIT };
        let came = self.session.jobs.await_terminal(&self.terminal, mark, &until).await;
        let view = self.view();
        assert_eq!(came, Some(Came::Text), "{text}: {view:#?}");
        view
    }

    async fn ended(&self) -> View {
        let mark = self.session.jobs.mark(&self.terminal).unwrap();
        let until = Until { text: Some("\0".to_owned()), quiet: Duration::ZERO, within: LIMIT };
        let came = self.session.jobs.await_terminal(&self.terminal, &mark, &until).await;
        assert_eq!(came, Some(Came::Ended), "{:#?}", self.view());
        self.view()
    }

    fn view(&self) -> View {
        self.session.jobs.view(&self.terminal, 0).unwrap()
    }
}

#[tokio::test]
async fn a_language_answers_line_by_line() {
    let desk = Desk::open("python3 -q").await;
    desk.wait(">>> ").await;
    desk.send("6 * 7\n", "42").await;
    let view = desk.send("for i in range(2):\n    print('row', i)\n\n", "row 1").await;
    assert!(view.screen.lines.iter().any(|it| it == "row 0"), "{view:#?}");
    desk.send("import time; time.sleep(3000)\n<c-c>", "KeyboardInterrupt").await;
    within(desk.session.jobs.type_into(&desk.terminal, &strokes("<c-d>"))).await.unwrap();
    let view = desk.ended().await;
    assert_eq!(view.status, exec::Status::Completed);
    assert!(desk.session.told.finished.lock().unwrap().is_empty(), "the end was seen");
    let late = desk.session.jobs.type_into(&desk.terminal, &strokes("x")).await;
    assert_eq!(late, Err(InputError::Ended(desk.terminal.clone())));
}

#[tokio::test]
async fn a_pager_turns_its_pages() {
    let desk = Desk::open("seq 1 100 | less").await;
    desk.wait("23").await;
    let view = desk.send("G", "100").await;
    assert_eq!(view.screen.lines.iter().filter(|it| it.as_str() == "100").count(), 1);
    let view = desk.send("g<pagedown>", "46").await;
    assert!(view.screen.full, "{view:#?}");
    within(desk.session.jobs.type_into(&desk.terminal, &strokes("q"))).await.unwrap();
    desk.ended().await;
}

#[tokio::test]
async fn an_editor_writes_a_file() {
    let desk = Desk::open("vim -u NONE -i NONE -n written.txt").await;
    desk.wait("written.txt").await;
    desk.send("ihello<enter>wurld<esc>", "wurld").await;
    // The arrow keys are those of the mode it chose.
    desk.send("<up><down>0cwworld<esc>:w<enter>", "written").await;
    eventually("the file", || {
        let text = crate::support::read(&desk.session.path("written.txt"));
        text == "hello\nworld\n"
    })
    .await;
    within(desk.session.jobs.type_into(&desk.terminal, &strokes(":q<enter>"))).await.unwrap();
    desk.ended().await;
}

#[tokio::test]
async fn a_debugger_is_driven() {
    let desk = Desk::open("gdb -q -nx").await;
    desk.wait("(gdb) ").await;
    desk.send("print 6*7\n", "$1 = 42").await;
    within(desk.session.jobs.type_into(&desk.terminal, &strokes("quit\n"))).await.unwrap();
    desk.ended().await;
}

#[tokio::test]
async fn a_size_reaches_the_program_and_the_screen() {
    let desk = Desk::open("bash --norc").await;
    desk.wait("$ ").await;
    desk.session.jobs.resize(&desk.terminal, 100, 10).unwrap();
    let view = desk.send("stty size\n", "10 100").await;
    assert_eq!((view.screen.cols, view.screen.rows), (100, 10));
    desk.send("seq 1 200\n", "200").await;
    let view = desk.session.jobs.view(&desk.terminal, 50).unwrap();
    assert_eq!(view.screen.above.len(), 50);
    assert_eq!(view.screen.above.last().unwrap(), "191");
}

#[tokio::test]
async fn quiet_is_waited_for_and_time_runs_out() {
    let desk = Desk::open("sleep 0.2; echo shown; sleep 3000").await;
    let jobs = &desk.session.jobs;
    let mark = jobs.mark(&desk.terminal).unwrap();
    let quiet = Duration::from_millis(100);
    let until = Until { text: None, quiet, within: LIMIT };
    assert_eq!(jobs.await_terminal(&desk.terminal, &mark, &until).await, Some(Came::Quiet));
    assert_eq!(desk.view().screen.lines, ["shown"]);
    let until = Until { text: Some("never".into()), quiet, within: Duration::from_millis(50) };
    assert_eq!(jobs.await_terminal(&desk.terminal, &mark, &until).await, Some(Came::Late));
    assert_eq!(jobs.await_terminal(&JobId::from("term-9"), &mark, &until).await, None);
}

#[tokio::test]
async fn a_password_is_the_persons_to_type() {
    const ASK: &str =
        "python3 -c \"import getpass; print('got', len(getpass.getpass('Password for db: ')))\"";
    let desk = Desk::open(&format!("bash --norc; {ASK}")).await;
    let jobs = &desk.session.jobs;
    desk.wait("$ ").await;
    // What would be typed into the prompt that comes up meanwhile is not typed.
    let mark = jobs.mark(&desk.terminal).unwrap();
    let typed =
        within(jobs.type_into(&desk.terminal, &strokes(&format!("{ASK}\n<lt>guess\nmore\n"))));
    let typed = typed.await.unwrap();
    if typed == Typed::All {
        // The program was slow: the prompt had not come yet, and nothing else read the lines either.
        panic!("typed into a prompt: {:#?}", desk.view());
    }
    let until = Until { text: Some("\0".into()), quiet: Duration::ZERO, within: LIMIT };
    assert_eq!(jobs.await_terminal(&desk.terminal, &mark, &until).await, Some(Came::Secret));
    let view = desk.view();
    assert_eq!(view.secret.as_deref(), Some("Password for db:"));
    assert!(view.secret_is_new || !desk.view().secret_is_new);
    let refused = within(jobs.type_into(&desk.terminal, &strokes("guess"))).await;
    assert_eq!(refused, Ok(Typed::AskedForSecret { left: 1 }));
    // The person's way.
    jobs.write(&desk.terminal, b"secret\r").await.unwrap();
    let view = desk.until(&mark, "got 6").await;
    assert_eq!(view.secret, None);
    assert!(!format!("{view:?}").contains("secret\""), "{view:?}");
}

#[tokio::test]
async fn a_stopped_terminal_takes_all_of_its_session_along() {
    let desk = Desk::open("bash --norc -i").await;
    desk.wait("$ ").await;
    desk.send("(trap '' HUP TERM; sleep 3121.25) & echo pid=$!.\n", "pid=").await;
    let lines = desk.view().screen.lines;
    let child =
        lines.iter().find_map(|it| it.strip_prefix("pid=")?.strip_suffix('.')?.parse::<i32>().ok());
    let child = child.unwrap_or_else(|| panic!("{lines:#?}"));
    assert!(is_alive(child));
    within(desk.session.jobs.kill(&desk.terminal, "")).await;
    eventually("the background command to be gone", || !is_alive(child)).await;
    let view = desk.ended().await;
    assert_eq!(view.status, exec::Status::Stopped);
}

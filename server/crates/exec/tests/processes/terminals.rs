//! Real interactive programs: shells, a language, a pager, an editor, a debugger, password prompts.

use std::time::Duration;

use exec::{Came, InputError, JobId, Stdio, Typed, Until, View, strokes, terminal_environment};

use crate::support::{LIMIT, Session, eventually, is_alive, within};

const SHELL: &str = "PS1='ready$ ' exec bash --norc";

struct Desk {
    session: Session,
    terminal: JobId,
}

impl Desk {
    async fn open(script: &str) -> Desk {
        let session = Session::new();
        let mut command = session.command(script);
        command.stdio = Stdio::Pty { cols: 80, rows: 24 };
        let extra = [("HISTFILE".into(), "/dev/null".into())];
        command.env = terminal_environment(std::env::vars_os(), &extra);
        let attended = within(session.jobs.start_attended(command, None)).await.unwrap();
        let terminal = attended.job.clone();
        assert_eq!(terminal.to_string(), "term-1");
        Desk { session, terminal }
    }

    /// Types and waits for the text.
    async fn send(&self, input: &str, text: &str) -> View {
        let mark = self.session.jobs.mark(&self.terminal).unwrap();
        assert_eq!(self.put(input).await, Ok(Typed::All));
        self.until(&mark, text).await
    }

    async fn put(&self, input: &str) -> Result<Typed, InputError> {
        within(self.session.jobs.type_into(&self.terminal, &strokes(input))).await
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
    let long = "try: print('be', 'gun'); __import__('time').sleep(3000)\n\
                except KeyboardInterrupt: print('stop', 'ped')\n\n";
    desk.send(long, "be gun").await;
    desk.send("<c-c>", "stop ped").await;
    let attended = desk.session.jobs.attend(&desk.terminal).unwrap();
    desk.put("<c-d>").await.unwrap();
    let view = desk.ended().await;
    assert_eq!(view.status, exec::Status::Completed, "{view:#?}");
    drop(attended);
    assert!(desk.session.told.finished.lock().unwrap().is_empty(), "the end was seen");
    let late = desk.put("x").await;
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
    desk.put("q").await.unwrap();
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
    desk.put(":q<enter>").await.unwrap();
    desk.ended().await;
}

#[tokio::test]
async fn a_debugger_is_driven() {
    let desk = Desk::open("gdb -q -nx").await;
    desk.wait("(gdb) ").await;
    desk.send("print 6*7\n", "$1 = 42").await;
    desk.put("quit\n").await.unwrap();
    desk.ended().await;
}

#[tokio::test]
async fn a_size_reaches_the_program_and_the_screen() {
    let desk = Desk::open(SHELL).await;
    desk.wait("ready$").await;
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
    let ask = "import getpass; print('got', len(getpass.getpass('Password for db: ')))";
    let desk = Desk::open(&format!("python3 -c \"{ask}\"")).await;
    let jobs = &desk.session.jobs;
    let mark = jobs.mark(&desk.terminal).unwrap();
    let until = Until { text: Some("never".into()), quiet: Duration::ZERO, within: LIMIT };
    let came = within(jobs.await_terminal(&desk.terminal, &mark, &until)).await;
    assert_eq!(came, Some(Came::Secret));
    let view = desk.view();
    assert_eq!((view.secret.as_deref(), view.secret_is_new), (Some("Password for db:"), true));
    assert!(!desk.view().secret_is_new);
    assert_eq!(desk.put("guess\n").await, Ok(Typed::AskedForSecret { left: 1 }));
    // The person's way.
    jobs.write(&desk.terminal, b"hunter2\r").unwrap();
    let view = desk.until(&mark, "got 7").await;
    assert_eq!(view.secret, None);
    assert!(!format!("{view:?}").contains("hunter2"), "{view:?}");
}

#[tokio::test]
async fn what_is_typed_ends_where_a_password_is_asked_for() {
    let script =
        "stty -echo; echo begun; read a; printf 'Password: '; read b; echo; echo \"[$a][$b]\"";
    let desk = Desk::open(script).await;
    desk.wait("begun").await;
    let mark = desk.session.jobs.mark(&desk.terminal).unwrap();
    assert_eq!(desk.put("one\nguess\nmore\n").await, Ok(Typed::AskedForSecret { left: 2 }));
    assert_eq!(desk.view().secret.as_deref(), Some("Password:"));
    desk.session.jobs.write(&desk.terminal, b"\r").unwrap();
    desk.until(&mark, "[one][]").await;
}

#[tokio::test]
async fn a_stopped_terminal_takes_all_of_its_session_along() {
    let desk = Desk::open(SHELL).await;
    desk.wait("ready$").await;
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

//! Commands nobody would write on purpose.

use exec::{Ended, Exit, Grant, Sandbox, SpawnError, Stdio};
use tokio_util::sync::CancellationToken;

use crate::support::{Session, eventually, is_alive, pids, within};

#[track_caller]
fn check_code(ended: &Ended, code: i32) {
    assert_eq!(*ended, Ended::Exited(Exit::Code(code)));
}

#[tokio::test]
async fn what_cannot_be_parsed_fails_with_the_shells_own_words() {
    let session = Session::new();
    for script in ["echo 'unclosed", "if true; then", "echo $(", "<<<<", ")", "echo ${", "\\"] {
        let ran = session.run(script).await;
        assert!(matches!(ran.ended, Ended::Exited(Exit::Code(_))), "{script}: {:?}", ran.ended);
        if script != "\\" {
            assert_ne!(ran.ended, Ended::Exited(Exit::Code(0)), "{script}");
            assert!(ran.output.text.contains("syntax") || ran.output.text.contains("unexpected"));
        }
    }
}

#[tokio::test]
async fn a_heredoc_of_2000_lines_arrives_whole() {
    let session = Session::new();
    let lines: String = (0..2000).map(|n| format!("line {n} '\"$x`\\\n")).collect();
    let ran = session.run(&format!("cat > copy <<'EOF'\n{lines}EOF\nwc -l < copy")).await;
    assert_eq!(ran.output.text.trim(), "2000");
    assert_eq!(crate::support::read(&session.path("copy")), lines);
}

#[tokio::test]
async fn arguments_longer_than_the_system_takes_are_refused_and_the_next_command_runs() {
    let session = Session::new();
    let mut command = session.command("true");
    command.env.push(("LONG".into(), "x".repeat(4 << 20).into()));
    let error = within(session.jobs.run(command, &CancellationToken::new())).await.unwrap_err();
    assert!(error.to_string().contains("longer than the system takes"), "{error}");
    check_code(&session.run("true").await.ended, 0);
}

#[tokio::test]
async fn a_long_script_without_a_place_for_its_file_is_not_run() {
    let session = Session::new();
    #[expect(clippy::disallowed_methods, reason = "tests set the scene")]
    std::fs::write(session.path("jobs"), "a file").unwrap();
    let long = format!("echo never # {}", "x".repeat(200_000));
    let error = within(session.jobs.run(session.command(&long), &CancellationToken::new())).await;
    let said = error.unwrap_err().to_string();
    assert!(
        said.contains("a command of 200013 bytes") && said.contains("Not a directory"),
        "{said}"
    );
    // As long as the system takes it goes without.
    let ran = session.run(&format!("echo $0; exit 3 # {}", "x".repeat(120_000))).await;
    check_code(&ran.ended, 3);
    assert_eq!(ran.output.text, "bash\n");
}

#[tokio::test]
async fn nul_characters_are_refused_wherever_they_stand() {
    let session = Session::new();
    let refused = async |change: fn(&mut exec::Command)| {
        let mut command = session.command("echo never");
        change(&mut command);
        let result = within(session.jobs.run(command, &CancellationToken::new())).await;
        assert!(result.is_err(), "{result:?}");
    };
    refused(|it| it.script = "echo a\0b".to_owned()).await;
    refused(|it| it.script = format!("echo a\0b # {}", "x".repeat(200_000))).await;
    refused(|it| it.cwd = "/tmp/a\0b".into()).await;
    refused(|it| it.env.push(("A".into(), "a\0b".into()))).await;
    check_code(&session.run("true").await.ended, 0);
}

#[tokio::test]
async fn binary_output_is_bounded_text() {
    let session = Session::new();
    let script = "i=0; while [ $i -lt 256 ]; do printf \"\\\\$(printf %o $i)\"; i=$((i+1)); done; \
                  head -c 9000000 /dev/urandom; printf '\\0\\0\\nthe-end\\n'";
    let ran = session.run(script).await;
    check_code(&ran.ended, 0);
    assert!(ran.output.text.contains("the-end"), "{:?}", ran.output.text);
    assert!(ran.output.text.len() < 1 << 20, "{}", ran.output.text.len());
    assert!(!ran.output.text.contains(['\0', '\u{1b}']));
}

#[tokio::test]
async fn forks_faster_than_they_are_reaped_are_all_ended() {
    let session = Session::new();
    let cancel = CancellationToken::new();
    // Each generation leaves a process that its parent does not wait for.
    let script = "echo $$; f() { (sleep 3041.5 & sleep 0.01; [ $1 -lt 60 ] && f $(($1 + 1))) & }; \
                  f 0; f 0; f 0; wait; sleep 3041.5";
    let running = session.jobs.run(session.command(script), &cancel);
    let stopping = async {
        session.printed_lines(1).await;
        let leader = pids(&String::from_utf8_lossy(&session.told.output.lock().unwrap()))[0];
        eventually("many", || members(leader) > 40).await;
        cancel.cancel();
        leader
    };
    let (ran, leader) = within(async { tokio::join!(running, stopping) }).await;
    assert_eq!(ran.unwrap().ended, Ended::Cancelled);
    eventually("all to be gone", || members(leader) == 0 && !is_alive(leader)).await;
    check_code(&session.run("true").await.ended, 0);
}

/// Living processes of a group.
fn members(group: i32) -> usize {
    let Ok(table) = rustix::fs::open(
        "/proc",
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY,
        rustix::fs::Mode::empty(),
    ) else {
        return 0;
    };
    let table = rustix::fs::Dir::new(table).unwrap();
    let numbers = table.filter_map(|entry| entry.ok()?.file_name().to_str().ok()?.parse().ok());
    numbers
        .filter(|pid: &i32| {
            let stat = crate::support::read(format!("/proc/{pid}/stat").as_ref());
            let fields = stat.rsplit_once(") ").map_or("", |(_, rest)| rest);
            let mut fields = fields.split(' ');
            fields.next().is_some_and(|state| state != "Z")
                && fields.nth(1) == Some(&group.to_string())
        })
        .count()
}

#[tokio::test]
async fn without_a_place_for_its_log_a_command_runs_all_the_same() {
    let session = Session::new();
    #[expect(clippy::disallowed_methods, reason = "tests set the scene")]
    std::fs::write(session.path("jobs"), "a file").unwrap();
    let confined = Sandbox {
        writable: Vec::new(),
        hidden: Vec::new(),
        attributes: Grant::Allowed,
        network: Grant::Denied,
    };
    for sandbox in [None, Some(confined)] {
        let mut command = session.command("cd /; seq 1 200000; echo end");
        command.sandbox = sandbox;
        let ran = session.run_command(command.clone()).await;
        check_code(&ran.ended, 0);
        assert!(ran.output.text.ends_with("200000\nend\n"), "{}", ran.output.text);
        assert!(ran.output.text.contains("; no log: Not a directory"), "{}", ran.output.text);
        assert_eq!((ran.cwd, ran.log), (None, None));
        let job = within(session.jobs.start(command)).await.unwrap();
        let news = session.read(&job, exec::Wait::Exit).await;
        assert_eq!((news.exit, news.log), (Some(Exit::Code(0)), None));
    }
}

#[tokio::test]
async fn a_shell_that_is_missing_or_no_program_is_named() {
    let session = Session::new();
    #[expect(clippy::disallowed_methods, reason = "tests set the scene")]
    std::fs::write(session.path("text"), "no program").unwrap();
    for (program, named) in [("/no/such/shell", true), ("nosuchshell", true), ("text", false)] {
        for stdio in [Stdio::Output, Stdio::Pty { cols: 80, rows: 24 }] {
            let mut command = session.command("true");
            command.shell.program = if named { program.into() } else { session.path(program) };
            command.stdio = stdio;
            let failed = within(session.jobs.start(command)).await.unwrap_err();
            assert_eq!(matches!(failed, SpawnError::ProgramNotFound(_)), named, "{failed}");
        }
    }
}

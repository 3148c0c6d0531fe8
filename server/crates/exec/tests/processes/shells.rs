//! The shells that are installed, each with a script of its own grammar.

use exec::{Command, Ended, Exit, Grammar, Grant, Sandbox, Shell, Stdio};

use crate::support::{Session, create_folder, eventually, names, real_path};

/// Those of the known shells that this machine has; bash or sh at least.
fn installed() -> Vec<Shell> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["bash", "sh", "dash", "zsh", "fish", "pwsh"];
    names.iter().filter_map(|name| Shell::named(name, &path).ok()).collect()
}

#[tokio::test]
async fn each_says_where_it_ended_and_how() {
    let session = Session::new();
    create_folder(&session.path("it's a sub"));
    let sub = real_path(session.folder.path()).join("it's a sub");
    let shells = installed();
    assert!(!shells.is_empty());
    for shell in shells {
        let mut command = session.command("cd \"it's a sub\"; echo said; exit 3");
        command.shell = shell.clone();
        let ran = session.run_command(command).await;
        let name = shell.program.display();
        assert_eq!(ran.output.text, "said\n", "{name}");
        assert_eq!(ran.ended, Ended::Exited(Exit::Code(3)), "{name}");
        assert_eq!(ran.cwd.as_ref(), Some(&sub), "{name}");
    }
}

#[tokio::test]
async fn each_runs_scripts_of_many_lines_as_jobs_too() {
    let session = Session::new();
    for shell in installed() {
        let mut command = session.command("echo 'one'\n\necho \"two\" # a note\n");
        command.shell = shell;
        let ran = session.run_command(command.clone()).await;
        assert_eq!(ran.output.text, "one\ntwo\n");
        let job = session.jobs.start(command).await.unwrap();
        assert_eq!(session.read(&job, exec::Wait::Exit).await.text, "one\ntwo\n");
    }
}

#[tokio::test]
async fn a_script_of_any_length_runs_as_a_short_one_does() {
    let session = Session::new();
    create_folder(&session.path("sub"));
    let filler = "# It's a line of \"words\" that $says (nothing)\n".repeat(20_000);
    for shell in installed() {
        let name = shell.program.display().to_string();
        let words = match shell.grammar() {
            Grammar::Posix => "echo \"$0 $#\"",
            Grammar::Other if name.ends_with("/fish") => "echo (status filename) (count $argv)",
            Grammar::Other => "echo words",
        };
        let begin = format!("{words}\ncat\ncd sub\n");
        let end = "echo said\nexit 3\n\n";
        let command = |script: String| {
            let mut command = session.command(&script);
            command.shell = shell.clone();
            command
        };
        let (short, long) = (format!("{begin}{end}"), format!("{begin}{filler}{end}"));
        let told = session.run_command(command(short.clone())).await;
        let ran = session.run_command(command(long.clone())).await;
        assert!(told.output.text.ends_with("said\n"), "{name}: {}", told.output.text);
        assert_eq!(ran.output.text, told.output.text, "{name}");
        assert_eq!((ran.ended, ran.cwd), (told.ended, told.cwd), "{name}");
        for stdio in [Stdio::Output, Stdio::Pty { cols: 80, rows: 24 }] {
            let mut news = Vec::new();
            for script in [&short, &long] {
                let script = script.replacen("cat\n", "true\n", 1);
                let job = session.jobs.start(Command { stdio, ..command(script) }).await.unwrap();
                let read = session.read(&job, exec::Wait::Exit).await;
                news.push((read.text, read.exit));
            }
            assert_eq!(news[0], news[1], "{name}, {stdio:?}");
            assert_eq!(news[1].1, Some(Exit::Code(3)), "{name}, {stdio:?}");
        }
    }
    let jobs = session.path("jobs");
    eventually("the files to be gone", || names(&jobs).all(|it| !it.ends_with(".script"))).await;
}

#[tokio::test]
async fn a_heredoc_of_any_length_arrives_whole_in_a_sandbox_too() {
    let session = Session::new();
    let lines: String = (0..20_000).map(|n| format!("line {n} '\"$x`\\\n")).collect();
    let confined = Sandbox {
        writable: vec![session.folder.path().into(), std::env::temp_dir().into()],
        hidden: Vec::new(),
        attributes: Grant::Allowed,
        network: Grant::Denied,
    };
    for sandbox in [None, Some(confined)] {
        let script = format!("cat > copy <<'EOF'\n{lines}EOF\nwc -l < copy");
        let ran = session.run_command(Command { sandbox, ..session.command(&script) }).await;
        assert_eq!(ran.output.text.trim(), "20000");
        assert_eq!(crate::support::read(&session.path("copy")), lines);
    }
}

#[tokio::test]
async fn any_other_program_is_given_the_script_and_says_nothing_of_its_folder() {
    let session = Session::new();
    let program = session.path("own");
    make_program(&program, "#!/bin/sh\ntest \"$1\" = -c && shift && echo \"ran: $*\"\n");
    let mut command = session.command("do this");
    command.shell = Shell { program };
    let ran = session.run_command(command).await;
    assert_eq!((ran.output.text.as_str(), ran.cwd), ("ran: do this\n", None));
}

#[tokio::test]
async fn none_of_them_has_a_terminal_to_ask_at() {
    let session = Session::new();
    for shell in installed() {
        let mut command = session.command("cat; cat < /dev/tty; echo no terminal");
        command.shell = shell;
        let ran = session.run_command(command).await;
        assert!(ran.output.text.ends_with("no terminal\n"), "{}", ran.output.text);
        assert!(ran.output.text.contains("/dev/tty"), "{}", ran.output.text);
    }
}

#[expect(clippy::disallowed_methods, reason = "tests set the scene")]
fn make_program(path: &std::path::Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).unwrap();
}

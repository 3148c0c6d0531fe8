//! The shells that are installed, each with a script of its own grammar.

use exec::{Ended, Exit, Shell};

use crate::support::{Session, create_folder, real_path};

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

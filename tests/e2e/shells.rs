//! The shells a person may choose: all that runs commands does so in each of them.

use serde_json::{Value, json};

use crate::editor::session::Session;
use crate::editor::{Editor, Start};
use crate::workspace::{PATIENCE, Workspace, processes, until};

/// Those of these shells that this machine has; `sh` at least.
pub fn installed(names: &[&'static str]) -> Vec<&'static str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |name: &&&str| std::env::split_paths(&path).any(|folder| folder.join(name).is_file());
    let found: Vec<&str> = names.iter().filter(is_there).copied().collect();
    assert!(found.contains(&"sh"), "{found:?}");
    found
}

/// Does this with a session in each shell whose `cd`, `echo` and `;` are what everyone knows.
fn in_each(act: impl Fn(&str, &Workspace, &Editor, &Session<'_>)) {
    for shell in installed(&["bash", "sh", "zsh", "fish"]) {
        let workspace = Workspace::new(&[("sub/a.txt", "one\n")]);
        let settings = json!({ "mode": "auto", "shell": { "program": shell } });
        let editor = Start::new(&workspace).settings(&settings).start();
        act(shell, &workspace, &editor, &editor.session());
    }
}

#[track_caller]
fn has(shell: &str, text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{shell}: {word} is missing: {text}");
    }
}

#[test]
fn the_folder_carries_over_and_codes_are_told() {
    in_each(|shell, workspace, _, session| {
        let bash = |command: &str| session.tool("Bash", json!({ "command": command }));
        has(shell, &bash("cd sub").ok(), &["[working directory: "]);
        has(shell, &bash("pwd").ok(), &["/ws/sub"]);
        has(shell, &bash("echo said; exit 7").err(), &["said", "[exit code 7]"]);
        has(
            shell,
            &bash("no-such-program-here").err(),
            &["no-such-program-here", "[exit code 127]"],
        );
        has(shell, &bash("echo two >> a.txt; cd ..").ok(), &["a.txt"]);
        assert_eq!(workspace.read("sub/a.txt"), "one\ntwo\n", "{shell}");
        has(shell, &bash("cat sub/a.txt; cd /").ok(), &["two", "lies outside the workspace"]);
    });
}

#[test]
fn a_command_becomes_a_job_and_jobs_end_with_their_group() {
    in_each(|shell, _, _, session| {
        let slow = json!({ "command": "echo partial; sleep 3161.25", "timeout": 300 });
        has(shell, &session.tool("Bash", slow).ok(), &["partial", "[background job job-1]"]);
        has(shell, &session.tool("JobKill", json!({ "job_id": "job-1" })).ok(), &["job-1 stop"]);
        until("the sleep to be gone", PATIENCE, || processes(&["sleep", "3161.25"]).is_empty());
        let job = json!({ "command": "echo begun; sleep 0.2; echo done; exit 4", "run_in_background": true });
        has(shell, &session.tool("Bash", job).ok(), &["job-2"]);
        let wait = json!({ "job_id": "job-2", "wait": "exit", "timeout": 30_000 });
        let read = session.tool("JobOutput", wait).ok();
        has(shell, &read, &["begun\ndone", "failed", "exit code 4"]);
    });
}

#[test]
fn servers_and_terminals_run_in_it() {
    in_each(|shell, _, _, session| {
        let server = json!({ "action": "start", "name": "watch", "command": "echo listening; sleep 3162.25", "ready": { "log_pattern": "listening" } });
        has(shell, &session.tool("Process", server).ok(), &["`watch` (job-1) is ready"]);
        session.tool("Process", json!({ "action": "stop", "name": "watch" })).ok();
        until("the server to be gone", PATIENCE, || processes(&["sleep", "3162.25"]).is_empty());
        let terminal = |input: Value| session.tool("Terminal", input).ok();
        terminal(json!({ "action": "start", "command": "cd sub; cat", "cols": 60 }));
        let typed =
            terminal(json!({ "action": "send", "input": "hello<enter>", "wait_for": "hello" }));
        has(shell, &typed, &["hello", "60×24"]);
        terminal(json!({ "action": "send", "input": "<c-c>", "wait_for": "never" }));
    });
}

/// Its prompt and line editor work as the person knows them.
#[test]
fn the_persons_own_shell_is_used_on_a_terminal() {
    for shell in installed(&["bash", "sh", "zsh", "fish"]) {
        let workspace = Workspace::new(&[]);
        std::fs::write(workspace.beside("home").join(".zshrc"), "PROMPT='ready> '\n").unwrap();
        // Without it fish leaves a program behind that writes completions.
        std::fs::create_dir_all(workspace.beside("data/fish/generated_completions")).unwrap();
        let settings = json!({ "mode": "auto", "shell": { "program": shell } });
        let own = found(shell);
        let editor = Start::new(&workspace).settings(&settings).env("SHELL", &own).start();
        let session = editor.session();
        let terminal = |input: Value| session.tool("Terminal", input).ok();
        terminal(json!({ "action": "start" }));
        let sum = match shell {
            "fish" => "echo is(math 6 x 7)<enter>",
            _ => "echo is$((6*7))<enter>",
        };
        let screen = terminal(
            json!({ "action": "send", "input": sum, "wait_for": "is42", "timeout": 20_000 }),
        );
        has(shell, &screen, &["is42"]);
        let ended = terminal(
            json!({ "action": "send", "input": "exit<enter>", "wait_for": "never", "timeout": 20_000 }),
        );
        has(shell, &ended, &["ended, exit code 0"]);
    }
}

/// The PATH that its start files make for a person is the one that commands have.
#[test]
fn the_path_of_each_login_shell_is_known() {
    for shell in installed(&["bash", "sh", "zsh", "fish"]) {
        let workspace = Workspace::new(&[]);
        let posix = "echo welcome; PATH=\"/login bin:$PATH\"; export PATH\n";
        let home = workspace.beside("home");
        std::fs::create_dir_all(workspace.beside("config/fish")).unwrap();
        for (file, text) in [
            (home.join(".profile"), posix),
            (home.join(".zprofile"), posix),
            (
                workspace.beside("config/fish/config.fish"),
                "echo welcome; set -gx PATH '/login bin' $PATH\n",
            ),
        ] {
            std::fs::write(file, text).unwrap();
        }
        let own = found(shell);
        let editor =
            Start::new(&workspace).settings(&json!({ "mode": "auto" })).env("SHELL", &own).start();
        let text = editor.tool("Bash", json!({ "command": "echo \"$PATH\"" })).ok();
        assert!(text.starts_with("/login bin:/"), "{shell}: {text}");
        assert!(!text.contains("welcome"), "{shell}: {text}");
    }
}

/// Where this shell is.
fn found(shell: &str) -> String {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&path).map(|folder| folder.join(shell));
    places.find(|it| it.is_file()).unwrap().to_string_lossy().into_owned()
}

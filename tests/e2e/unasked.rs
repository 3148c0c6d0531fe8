//! What runs unasked runs nothing else, whoever wrote the files it comes upon.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use crate::editor::{ALLOW, Editor, REJECT, Start};
use crate::workspace::{Workspace, output};

const ASKED: &str = "session/request_permission";

/// A repository with a program that leaves a mark when it runs.
struct Hostile {
    workspace: Workspace,
    mark: PathBuf,
}

impl Hostile {
    fn new() -> Hostile {
        let workspace = Workspace::new(&[("a.txt", "one\n"), ("sub/b.txt", "two\n")]);
        let mark = workspace.beside("data").join("ran");
        let hostile = Hostile { workspace, mark };
        hostile.program("evil");
        hostile.git(".", &["init", "-q"]);
        hostile.git(".", &["add", "."]);
        hostile.git(".", &["commit", "-q", "-m", "first"]);
        hostile.workspace.write("a.txt", "changed\n");
        hostile
    }

    fn program(&self, name: &str) {
        let text = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\ncat\n", self.mark.display());
        self.workspace.write(name, text);
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(self.workspace.path(name), mode).unwrap();
    }

    fn evil(&self) -> String {
        self.workspace.path("evil").display().to_string()
    }

    fn git(&self, folder: &str, arguments: &[&str]) {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b"]);
        command.args(["-c", "protocol.file.allow=always"]).args(arguments);
        command.current_dir(self.workspace.path(folder)).env("HOME", self.workspace.beside("home"));
        let ran = output(&mut command);
        assert!(ran.status.success(), "git {arguments:?}: {ran:?}");
    }

    /// Runs reading commands; whatever is asked is rejected.
    #[track_caller]
    fn check(&self, what: &str) {
        self.check_in(what, |start| start);
    }

    #[track_caller]
    fn check_in(&self, what: &str, with: impl FnOnce(Start<'_>) -> Start<'_>) {
        let _ = std::fs::remove_file(&self.mark);
        let editor = with(Start::new(&self.workspace)).start();
        editor.permit(REJECT);
        let session = editor.session();
        for command in [
            "git status",
            "git diff",
            "git log -p -3",
            "git show",
            "git blame a.txt",
            "git ls-files -m",
            "git diff --submodule=diff",
            "git log --format=%G?",
            "cd sub && git status",
            "ls && cat a.txt | head -1",
            "rg one",
        ] {
            session.tool("Bash", json!({ "command": command, "description": "Look" }));
        }
        let ran = std::fs::read_to_string(&self.mark).unwrap_or_default();
        assert_eq!(ran, "", "{what}");
    }
}

#[test]
fn the_settings_of_a_repository_run_nothing() {
    for (key, attributes) in [
        ("core.fsmonitor", ""),
        ("core.pager", ""),
        ("core.sshCommand", ""),
        ("core.askPass", ""),
        ("credential.helper", ""),
        ("pager.log", ""),
        ("diff.external", ""),
        ("diff.x.textconv", "* diff=x\n"),
        ("diff.x.command", "* diff=x\n"),
        ("filter.x.clean", "* filter=x\n"),
        ("filter.x.process", "* filter=x\n"),
        ("gpg.program", ""),
        ("alias.status", ""),
    ] {
        let hostile = Hostile::new();
        hostile.git(".", &["config", key, &hostile.evil()]);
        hostile.git(".", &["config", "log.showSignature", "true"]);
        hostile.workspace.write(".gitattributes", attributes);
        hostile.check(key);
    }
}

#[test]
fn hooks_and_their_folders_run_nothing() {
    let hostile = Hostile::new();
    for hook in ["post-index-change", "pre-auto-gc", "reference-transaction"] {
        hostile.program(&format!(".git/hooks/{hook}"));
        hostile.program(&format!("hooks/{hook}"));
    }
    hostile.check("hooks");
    hostile.git(".", &["config", "core.hooksPath", "hooks"]);
    hostile.check("core.hooksPath");
}

#[test]
fn repositories_in_repositories_run_nothing() {
    let hostile = Hostile::new();
    // One without a work tree, made of plain files.
    hostile.git("sub", &["init", "-q", "--bare", "."]);
    hostile.git("sub", &["--git-dir=.", "config", "core.fsmonitor", &hostile.evil()]);
    hostile.git("sub", &["--git-dir=.", "config", "core.bare", "false"]);
    hostile.git("sub", &["--git-dir=.", "config", "core.worktree", ".."]);
    hostile.check("a folder that looks like a repository");

    let hostile = Hostile::new();
    hostile.git("sub", &["init", "-q"]);
    hostile.git("sub", &["add", "."]);
    hostile.git("sub", &["commit", "-q", "-m", "inner"]);
    hostile.git(".", &["rm", "-q", "--cached", "sub/b.txt"]);
    hostile.git(".", &["add", "sub"]);
    hostile.git("sub", &["config", "core.fsmonitor", &hostile.evil()]);
    hostile.git("sub", &["config", "diff.external", &hostile.evil()]);
    hostile.workspace.write("sub/b.txt", "changed\n");
    hostile.check("a submodule");
}

#[test]
fn programs_and_settings_of_the_environment_run_nothing() {
    let hostile = Hostile::new();
    for name in ["bin/git", "bin/ls", "bin/cat", "bin/rg", "bin/bash", "bin/sh", "bin/head"] {
        hostile.program(name);
    }
    let path =
        format!("bin:.:{}:/usr/local/bin:/usr/bin:/bin", hostile.workspace.path("bin").display());
    let evil = hostile.evil();
    let function = format!("() {{ {evil}; }}");
    hostile.check_in("the environment", |start| {
        start
            .env("PATH", &path)
            .env("BASH_ENV", &evil)
            .env("BASH_FUNC_ls%%", &function)
            .env("GIT_EXTERNAL_DIFF", &evil)
            .env("GIT_SSH_COMMAND", &evil)
            .env("SHELLOPTS", "xtrace")
            .env("PS4", &format!("$({evil})"))
    });
}

#[test]
fn what_a_repository_is_not_trusted_with_is_asked() {
    let hostile = Hostile::new();
    let run = |editor: &Editor| -> Value {
        let called =
            editor.session().tool("Bash", json!({ "command": "git diff", "description": "Look" }));
        json!([called.is_error, editor.asked(ASKED).len()])
    };
    let editor = Editor::open(&hostile.workspace, &json!({}));
    editor.permit(ALLOW);
    assert_eq!(run(&editor), json!([false, 0]));
    hostile.git(".", &["config", "diff.external", &hostile.evil()]);
    assert_eq!(run(&editor), json!([false, 1]));
    assert!(hostile.mark.exists(), "what the person allows runs as they set it up");
}

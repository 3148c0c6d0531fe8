//! Cancel, terminals, jobs.

use std::time::Duration;

use serde_json::{Value, json};

use crate::editor::{Editor, Start};
use crate::model::{Model, Step};
use crate::shells::installed;
use crate::workspace::{PATIENCE, Workspace, processes, until};

/// Five times what is promised.
const CANCELLED: Duration = Duration::from_secs(5);

fn automatic() -> Value {
    json!({ "mode": "auto" })
}

/// G5: a stop ends whatever the turn waits for: a command, a server, a program on a terminal.
#[test]
fn a_stop_interrupts_commands_servers_and_terminals_alike() {
    let calls = [
        ("Bash", "3141.25", json!({})),
        ("Process", "3142.25", json!({ "action": "start", "ready": { "log_pattern": "never" } })),
        (
            "Terminal",
            "3143.25",
            json!({ "action": "start", "wait_for": "never", "timeout": 600_000 }),
        ),
    ];
    for (tool, seconds, mut input) in calls {
        input["command"] = json!(format!("trap '' INT; sleep {seconds} | cat"));
        let workspace = Workspace::new(&[]);
        let model = Model::new([Step::call(tool, input), Step::text("never said")]);
        let editor = Editor::open(&workspace, &model.settings_with(&automatic()));
        let session = editor.session();
        let mark = session.send("go");
        until("the program to run", PATIENCE, || !processes(&["sleep", seconds]).is_empty());
        session.cancel();
        assert_eq!(session.until_idle(mark), "cancelled", "{tool}");
        until("all of it to be gone", CANCELLED, || processes(&["sleep", seconds]).is_empty());
        assert_eq!(session.cards()[0]["status"], "cancelled", "{tool}");
        assert_eq!(model.requests().len(), 1, "{tool}");
    }
}

/// G7: each shell gives its output whole and nothing else, whatever the person's start files print, a
/// million lines and a last line without its end too.
#[test]
fn each_shell_gives_its_output_whole_and_nothing_of_its_prompt() {
    let noise = "printf '\\033]0;title\\007\\033[?2004hNOISE'; PS1='NOISE> '; PROMPT='NOISE %~ '; RPROMPT=NOISE\n";
    let fish = "printf NOISE; function fish_prompt; printf 'NOISE> '; end\n";
    let start_files: [(&str, &str, &[&str]); 3] = [
        (
            "home",
            noise,
            &[".profile", ".bashrc", ".bash_profile", ".zshrc", ".zshenv", ".zprofile"],
        ),
        ("config/fish", fish, &["config.fish"]),
        ("config/nushell", "print NOISE\n", &["env.nu", "config.nu", "login.nu"]),
    ];
    for shell in installed(&["bash", "sh", "dash", "zsh", "fish", "nu", "pwsh"]) {
        let workspace = Workspace::new(&[]);
        for (folder, text, files) in start_files {
            let folder = workspace.beside(folder);
            std::fs::create_dir_all(&folder).unwrap();
            for file in files {
                std::fs::write(folder.join(file), text).unwrap();
            }
        }
        let mut settings = automatic();
        settings["shell"] = json!({ "program": shell });
        let noisy = workspace.beside("home").join(".bashrc").display().to_string();
        let editor = Start::new(&workspace)
            .settings(&settings)
            .env("BASH_ENV", &noisy)
            .env("ENV", &noisy)
            .start();
        let session = editor.session();
        let bash = |command: &str| session.tool("Bash", json!({ "command": command })).ok();
        // Nushell shows what its last command made, and has a `seq` of its own.
        let [two_lines, many_lines] = match shell {
            "nu" => ["print first; print -n last", "^seq 1 1000000"],
            _ => ["echo first; printf last", "seq 1 1000000"],
        };
        let text = bash(two_lines);
        assert!(text.starts_with("first\nlast"), "{shell}: {text}");
        let text = bash(many_lines);
        assert!(
            text.starts_with("1\n2\n") && text.contains("\n999999\n1000000"),
            "{shell}: {text}"
        );
        let page = json!({ "sessionId": session.id, "jobId": "term-2", "offset": 0, "limit": 1 });
        let all = editor.request("copydesk/job/read", page);
        assert_eq!(all["total"], 6_888_896, "{shell}: {all}");
        for text in [text, bash("cd .")] {
            assert!(!text.contains("NOISE") && !text.contains('\u{1b}'), "{shell}: {text}");
        }
    }
}

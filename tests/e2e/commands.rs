//! What commands find around them: shell, environment, folder; and commands that make no sense.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::editor::{Editor, REJECT, Start};
use crate::model::{Model, Step};
use crate::workspace::Workspace;

fn bash(command: &str) -> Value {
    json!({ "command": command, "description": "Run it" })
}

fn desk(settings: &Value) -> (Workspace, Editor) {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let mut all = json!({ "mode": "auto" });
    for (key, value) in settings.as_object().unwrap() {
        all[key] = value.clone();
    }
    let editor = Editor::open(&workspace, &all);
    (workspace, editor)
}

#[test]
fn nothing_waits_for_keys_or_pages() {
    let (_workspace, editor) = desk(&json!({}));
    let session = editor.session();
    let text = session.tool("Bash", bash("env")).ok();
    for line in [
        "PAGER=cat",
        "GIT_PAGER=cat",
        "MANPAGER=cat",
        "SYSTEMD_PAGER=cat",
        "GIT_TERMINAL_PROMPT=0",
        "SSH_ASKPASS_REQUIRE=never",
        "DEBIAN_FRONTEND=noninteractive",
        "TERM=dumb",
    ] {
        assert!(text.lines().any(|it| it == line), "{line}: {text}");
    }
    let text = session.tool("Bash", bash("read -r x; echo \"<$x>\"; cat")).ok();
    assert!(text.contains("<>"), "{text}");
    // What asks for a password opens the terminal itself.
    let text = session.tool("Bash", bash("t=tty; (exec 3<>/dev/$t) || echo none")).ok();
    assert!(text.contains("none"), "{text}");
    session.tool("Bash", bash("git init -q . && git config user.email a@b")).ok();
    session.tool("Bash", bash("git config user.name a && git commit -q --allow-empty -m x")).ok();
    session
        .tool("Bash", bash("git commit -q --allow-empty --amend --no-edit && git log --stat | cat"))
        .ok();
    let text = session.tool("Bash", bash("git log")).ok();
    assert!(text.contains("Author: a"), "{text}");
}

#[test]
fn secrets_are_known_by_name_and_by_shape() {
    let workspace = Workspace::new(&[]);
    let editor = Start::new(&workspace)
        .settings(&json!({ "mode": "auto" }))
        .env("SERVICE_PASSWORD", "hidden-word-1")
        .env("STRIPE_KEY", "hidden-word-2")
        .env("HARMLESS", "glpat-hiddenwordhiddenword")
        .env("DATABASE_URL", "postgres://me:hidden-word-3@host/db")
        .env("PLAIN_URL", "https://example.com/plain")
        .start();
    let text = editor.tool("Bash", bash("env")).ok();
    assert!(text.contains("PLAIN_URL=https://example.com/plain"), "{text}");
    assert!(!text.contains("hidden"), "{text}");
}

#[test]
fn programs_are_found_where_the_login_shell_finds_them() {
    let workspace = Workspace::new(&[]);
    let program = |name: &str, text: &str| {
        let path = workspace.beside("data").join(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let tool = program("own-tool", "#!/bin/sh\necho found\n");
    let folder = tool.parent().unwrap().display();
    let shell = program("login", &format!("#!/bin/sh\nPATH={folder}:$PATH\neval \"$4\"\n"));
    let editor = Start::new(&workspace)
        .settings(&json!({ "mode": "auto" }))
        .env("SHELL", shell.to_str().unwrap())
        .start();
    let text = editor.tool("Bash", bash("own-tool")).ok();
    assert!(text.contains("found"), "{text}");
}

#[test]
fn the_shell_can_be_chosen() {
    let (_workspace, editor) = desk(&json!({ "shell": { "program": "sh" } }));
    let text = editor.tool("Bash", bash("echo \"<$BASH_VERSION>\"")).ok();
    let bash_as_sh = std::fs::read_link("/bin/sh").is_ok_and(|it| it.ends_with("bash"));
    assert!(bash_as_sh || text.contains("<>"), "{text}");
}

#[test]
fn scripts_that_cannot_be_read_are_asked_about() {
    let (workspace, editor) = desk(&json!({ "mode": "ask", "shell": { "program": "/opt/fish" } }));
    editor.permit(REJECT);
    editor.tool("Bash", bash("ls")).err();
    let asked = editor.asked("session/request_permission");
    assert_eq!(asked.len(), 1);
    assert!(!asked[0]["options"].to_string().contains("allow_always"), "{asked:?}");
    drop(workspace);
}

#[test]
fn a_missing_shell_is_named() {
    let (_workspace, editor) = desk(&json!({ "shell": { "program": "/no/such/bash" } }));
    let text = editor.tool("Bash", bash("true")).err();
    assert!(text.contains("program `/no/such/bash` was not found"), "{text}");
}

#[test]
fn a_missing_folder_is_named() {
    let (_workspace, editor) = desk(&json!({}));
    for cwd in ["missing", "a.txt"] {
        let text = editor.tool("Bash", json!({ "command": "pwd", "cwd": cwd })).err();
        assert!(text.contains(&format!("/ws/{cwd}")) && text.contains("directory"), "{text}");
    }
}

#[test]
fn a_folder_that_went_is_left() {
    let (_workspace, editor) = desk(&json!({}));
    let session = editor.session();
    session.tool("Bash", bash("mkdir sub && cd sub")).ok();
    session.tool("Bash", bash("rm -r ../sub")).ok();
    let text = session.tool("Bash", bash("pwd")).ok();
    assert!(text.contains("sub is gone; the command ran in"), "{text}");
    let text = session.tool("Bash", bash("pwd")).ok();
    assert!(text.contains("/ws") && !text.contains("gone"), "{text}");
}

#[test]
fn the_description_names_a_command_where_it_is_asked_about_and_listed() {
    let (_workspace, editor) = desk(&json!({ "mode": "ask" }));
    let session = editor.session();
    let mut input = bash("sleep 3051.25");
    input["run_in_background"] = true.into();
    input["description"] = "Wait for\u{202e} the end".into();
    session.tool("Bash", input).ok();
    let asked = editor.asked("session/request_permission").remove(0);
    let description = asked["description"].as_str().unwrap();
    assert!(description.contains("the agent says: Wait for"), "{description}");
    assert!(!description.contains('\u{202e}'), "{description}");
    let text = session.tool("JobList", json!({})).ok();
    assert!(text.contains("Wait for"), "{text}");
}

#[test]
fn a_long_heredoc_arrives_whole() {
    let (workspace, editor) = desk(&json!({}));
    let lines: String = (0..2000).map(|n| format!("line {n} \"$x\" `y`\n")).collect();
    let script = format!("cat > copy.txt <<'EOF'\n{lines}EOF\nwc -l < copy.txt");
    let text = editor.tool("Bash", bash(&script)).ok();
    assert!(text.contains("2000"), "{text}");
    assert_eq!(workspace.read("copy.txt"), lines);
}

#[test]
fn nul_characters_are_refused() {
    let (_workspace, editor) = desk(&json!({}));
    for input in [
        json!({ "command": "echo a\0b" }),
        json!({ "command": "echo a", "cwd": "a\0b" }),
        json!({ "command": "" }),
        json!({ "command": " \n" }),
    ] {
        let text = editor.tool("Bash", input.clone()).err();
        assert!(text.contains("NUL") || text.contains("empty"), "{input}: {text}");
    }
}

#[test]
fn output_that_is_no_text_reaches_a_model_as_text() {
    let workspace = Workspace::new(&[]);
    let script = "head -c 200000 /dev/urandom; printf '\\0\\n\\377the-end\\n'";
    let model = Model::new([Step::call("Bash", bash(script)), Step::text("done")]);
    let editor = Editor::open(&workspace, &model.settings_with(&json!({ "mode": "auto" })));
    assert_eq!(editor.session().prompt("go"), "end_turn");
    let result = model.results().remove(0);
    assert!(result.contains("the-end") && result.chars().count() < 40_000, "{}", result.len());
    assert!(!result.contains(['\0', '\u{1b}']));
}

#[test]
fn what_the_shell_cannot_parse_is_its_error() {
    let (_workspace, editor) = desk(&json!({}));
    for script in ["echo 'open", "if true; then", "echo $(", ")", "<<<<"] {
        let text = editor.tool("Bash", bash(script)).err();
        assert!(text.contains("syntax error") || text.contains("unexpected"), "{script}: {text}");
    }
}

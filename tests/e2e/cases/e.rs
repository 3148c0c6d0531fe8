//! Undo, keep and reject.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use super::{Shown, decide, decide_all, edit, hunks, ids, resolve, seen, unasked};
use crate::editor::Editor;
use crate::model::{Model, Step};
use crate::workspace::{PATIENCE, Workspace, output, until};

const BEFORE: &str = "one\ntwo\nthree\nfour\nfive\n";

fn open(text: &str) -> (Workspace, Editor) {
    let workspace = Workspace::new(&[("a.txt", text)]);
    let editor = Editor::open(&workspace, &unasked());
    editor.open_file("a.txt");
    (workspace, editor)
}

/// E1: accepting sends the editor no edit, so its own undo still takes the change back, and nothing comes up again.
#[test]
fn the_editors_own_undo_works_after_accepting() {
    let (_workspace, editor) = open(BEFORE);
    let session = seen(&editor, "a.txt");
    session.tool("Edit", edit("a.txt", "two", "TWO")).ok();
    let edits = editor.lock().applied.len();
    decide_all(&editor, "accept");
    assert_eq!(editor.lock().applied.len(), edits, "the editor's undo stack is as it was");
    editor.retype("a.txt", "TWO", "two");
    assert!(hunks(&editor).is_empty(), "the person's own change is nothing to review");
    let read = session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    assert!(read.contains("two") && !read.contains("TWO"), "{read}");
}

/// E2: rejecting a second turn's changes leaves those of the first that were kept, also on the same line.
#[test]
fn rejecting_a_later_turn_leaves_what_was_kept() {
    let (_workspace, editor) = open(BEFORE);
    let session = seen(&editor, "a.txt");
    session.tool("Edit", edit("a.txt", "two", "TWO")).ok();
    session.tool("Edit", edit("a.txt", "four", "FOUR")).ok();
    decide_all(&editor, "accept");
    session.tool("Edit", edit("a.txt", "TWO", "TWO and a half")).ok();
    session.tool("Edit", edit("a.txt", "five", "FIVE")).ok();
    decide_all(&editor, "reject");
    assert_eq!(editor.text("a.txt"), "one\nTWO\nthree\nFOUR\nfive\n");
}

/// E5: hunks rejected in any order give one text, that before the agent; neighbours and different sizes too.
#[test]
fn rejecting_in_any_order_gives_the_text_before() {
    let after = "0\none\nTWO\n2a\nthree\nFIVE\n";
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        for shown in Shown::BOTH {
            let workspace = Workspace::new(&[("a.txt", BEFORE)]);
            let editor = Editor::open(&workspace, &unasked());
            shown.open(&editor, "a.txt");
            seen(&editor, "a.txt")
                .tool("Write", json!({ "file_path": "a.txt", "content": after }))
                .ok();
            let ids = ids(&editor);
            assert_eq!(ids.len(), 3, "{:?}", hunks(&editor));
            for index in order {
                decide(&editor, "reject", &ids[index]);
            }
            let text = shown.text(&editor, "a.txt");
            assert_eq!(text, BEFORE, "{order:?}, {shown:?}");
        }
    }
}

/// E14: a file the agent writes over as if it were new comes back byte for byte when that is rejected.
#[test]
fn a_rejected_overwrite_brings_the_old_bytes_back() {
    for shown in Shown::BOTH {
        let before = b"\xef\xbb\xbfone\r\ntwo\r\nno newline";
        let workspace = Workspace::new(&[]);
        workspace.write("a.txt", before);
        let editor = Editor::open(&workspace, &unasked());
        shown.open(&editor, "a.txt");
        seen(&editor, "a.txt")
            .tool("Write", json!({ "file_path": "a.txt", "content": "all\nnew\n" }))
            .ok();
        shown.save(&editor, "a.txt");
        assert_ne!(workspace.bytes("a.txt"), before);
        let files = editor.request("copydesk/review/list", json!({}));
        assert_eq!(files["files"][0]["change"], "modify", "{files}");
        decide_all(&editor, "reject");
        shown.save(&editor, "a.txt");
        assert_eq!(workspace.bytes("a.txt"), before, "{shown:?}");
    }
}

/// Runs git in a folder; what it says.
#[track_caller]
fn git(workspace: &Workspace, folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.current_dir(folder).env_clear().env("HOME", workspace.beside("home"));
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.args(["-c", "user.name=me", "-c", "user.email=me@example.org"]);
    command.args(["-c", "protocol.file.allow=always"]).args(args);
    let ran = output(&mut command);
    assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8_lossy(&ran.stdout).into_owned()
}

/// E17: a server killed in the middle of going back leaves every file whole, in a submodule too; git is as it was, and
/// going back again does the rest.
#[test]
fn a_kill_while_going_back_costs_nothing_in_a_repository_with_a_submodule() {
    let files: Vec<String> =
        (0..8).flat_map(|n| [format!("{n}.txt"), format!("sub/{n}.txt")]).collect();
    let workspace = Workspace::new(&[]);
    let library = workspace.beside("library");
    std::fs::create_dir(&library).unwrap();
    git(&workspace, &library, &["init", "-q"]);
    for n in 0..8 {
        std::fs::write(library.join(format!("{n}.txt")), BEFORE).unwrap();
        workspace.write(&format!("{n}.txt"), BEFORE);
    }
    git(&workspace, &library, &["add", "."]);
    git(&workspace, &library, &["commit", "-qm", "library"]);
    let root = workspace.root();
    let url = library.display().to_string();
    git(&workspace, root, &["init", "-q"]);
    git(&workspace, root, &["submodule", "--quiet", "add", &url, "sub"]);
    git(&workspace, root, &["add", "."]);
    git(&workspace, root, &["commit", "-qm", "all"]);
    let state = || {
        let heads = ["", "sub"].map(|it| git(&workspace, &root.join(it), &["rev-parse", "HEAD"]));
        (heads, git(&workspace, root, &["submodule", "status"]))
    };
    let before = state();
    let steps = files.iter().flat_map(|it| {
        let change = edit(it, "two", "TWO");
        [Step::call("Read", json!({ "file_path": it })), Step::call("Edit", change)]
    });
    let model = Model::new(steps.chain([Step::text("Done.")]));
    let settings = model.settings_with(&unasked());
    let mut editor = Editor::open(&workspace, &settings);
    let id = {
        let session = editor.session();
        session.prompt("change all of them");
        session.id
    };
    let list = json!({ "sessionId": id });
    let listed = editor.request("copydesk/checkpoint/list", list);
    let restore = json!({ "checkpointId": listed["checkpoints"][0]["id"] });
    editor.begin("copydesk/checkpoint/restore", restore.clone());
    until("the first file to be back", PATIENCE, || {
        files.iter().any(|it| workspace.read(it) == BEFORE)
    });
    editor.kill();
    drop(editor);
    let after = BEFORE.replace("two", "TWO");
    for file in &files {
        let text = workspace.read(file);
        assert!(text == BEFORE || text == after, "{file}: {text:?}");
    }
    assert_eq!(state(), before);
    let editor = Editor::open(&workspace, &settings);
    let resume = json!({ "sessionId": id, "cwd": editor.root(), "mcpServers": [] });
    editor.request("session/resume", resume);
    let restored = editor.request("copydesk/checkpoint/restore", restore);
    assert_eq!(restored["conflicts"], json!([]), "{restored}");
    assert!(files.iter().all(|it| workspace.read(it) == BEFORE));
    assert_eq!(state(), before);
    assert_eq!(git(&workspace, root, &["status", "--porcelain"]), "", "nothing is left over");
}

/// E19: what was rejected stays away: saved, closed, opened again, and after a restart.
#[test]
fn rejected_changes_do_not_come_back() {
    let (workspace, mut editor) = open(BEFORE);
    seen(&editor, "a.txt")
        .tool("Write", json!({ "file_path": "a.txt", "content": "ONE\ntwo\nthree\nFOUR\nfive\n" }))
        .ok();
    let ids = ids(&editor);
    decide(&editor, "accept", &ids[0]);
    resolve(&editor, "reject", json!([{ "uri": editor.uri("a.txt") }]));
    editor.save("a.txt");
    let expected = BEFORE.replace("one", "ONE");
    assert_eq!(workspace.read("a.txt"), expected);
    editor.close("a.txt");
    editor.open_file("a.txt");
    assert_eq!(editor.text("a.txt"), expected);
    assert!(hunks(&editor).is_empty());
    editor.request("shutdown", Value::Null);
    editor.notify("exit", Value::Null);
    editor.exit_code(crate::workspace::PATIENCE);
    drop(editor);
    let editor = Editor::open(&workspace, &unasked());
    editor.open_file("a.txt");
    assert!(hunks(&editor).is_empty());
    assert_eq!(editor.text("a.txt"), expected);
}

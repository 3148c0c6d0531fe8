//! Processes that end without a word: what was answered is known to the next one.

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::review::{BEFORE, automatic, hunks, resolve};
use crate::workspace::{PATIENCE, Workspace};

fn patch(body: &str) -> Value {
    json!({ "patch": format!("*** Begin Patch\n{body}\n*** End Patch\n") })
}

/// Kills the server once it answered the call, and looks at what the next one knows.
#[track_caller]
fn check(tool: &str, input: Value, open: &[&str]) {
    let workspace = Workspace::new(&[("a.txt", BEFORE), ("b.txt", "b\n")]);
    let mut editor = Editor::open(&workspace, &json!({ "mode": "auto" }));
    for path in open {
        editor.open_file(path);
    }
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    session.tool(tool, input).ok();
    editor.kill();
    drop(editor);
    let editor = Editor::open(&workspace, &automatic());
    if open.is_empty() {
        assert_ne!(hunks(&editor), Vec::<Value>::new(), "{tool}");
    }
    resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(workspace.read("a.txt"), BEFORE, "{tool}");
    assert_eq!(workspace.read("b.txt"), "b\n", "{tool}");
    assert!(!workspace.has("c.txt"), "{tool}");
}

#[test]
fn what_was_answered_is_pending_after_a_kill() {
    let edit = json!({ "file_path": "a.txt", "old_string": "two", "new_string": "TWO" });
    check("Edit", edit.clone(), &[]);
    check("Edit", edit, &["a.txt"]);
    check("Write", json!({ "file_path": "c.txt", "content": "new\n" }), &[]);
    check("Delete", json!({ "paths": ["b.txt"], "reason": "unused" }), &[]);
    let body = "*** Update File: a.txt\n*** Move to: c.txt\n@@\n-two\n+TWO\n*** Delete File: b.txt";
    check("ApplyPatch", patch(body), &[]);
    check("Bash", json!({ "command": "echo more >> a.txt" }), &[]);
}

#[test]
fn a_decision_that_was_answered_holds_after_a_kill() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let mut editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    let edit = json!({ "file_path": "a.txt", "old_string": "two", "new_string": "TWO" });
    session.tool("Edit", edit).ok();
    let resolved = resolve(&editor, "accept", json!([{ "all": true }]));
    editor.kill();
    drop(editor);
    let editor = Editor::open(&workspace, &automatic());
    assert_eq!(hunks(&editor), Vec::<Value>::new());
    editor.request("copydesk/review/undo", json!({ "undoToken": resolved["undoToken"] }));
    assert_eq!(hunks(&editor).len(), 1);
}

#[test]
fn hunks_that_were_typed_in_are_kept_by_whoever_quits_at_once() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let mut editor = Editor::open(&workspace, &automatic());
    editor.open_file("a.txt");
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    let edit = json!({ "file_path": "a.txt", "old_string": "two", "new_string": "TWO" });
    session.tool("Edit", edit).ok();
    for place in ["TWO", "ne\n", "WO"] {
        editor.type_before("a.txt", place, "x");
    }
    editor.save("a.txt");
    editor.request("shutdown", Value::Null);
    editor.notify("exit", Value::Null);
    editor.exit_code(PATIENCE);
    let editor = Editor::open(&workspace, &automatic());
    assert_eq!(hunks(&editor).len(), 1);
}

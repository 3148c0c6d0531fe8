//! Folders that were made for the agent's files go with them where they are empty; those that were there before stay.

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::editor::session::Session;
use crate::model::{Model, Step};
use crate::review::{automatic, resolve, undo};
use crate::workspace::{PATIENCE, Workspace};

#[track_caller]
fn make(session: &Session<'_>, path: &str) {
    session.tool("Write", json!({ "file_path": path, "content": "new\n" })).ok();
}

#[track_caller]
fn reject(editor: &Editor, path: &str) -> Value {
    let rejected = resolve(editor, "reject", json!([{ "uri": editor.uri(path) }]));
    assert_eq!(rejected["conflicts"], json!([]), "{rejected}");
    assert_ne!(rejected["resolved"], json!([]), "{path}: {rejected}");
    rejected
}

/// The folders of the workspace, sorted.
#[track_caller]
fn check(workspace: &Workspace, expected: &[&str]) {
    let mut found = Vec::new();
    let mut left = vec![workspace.root().to_owned()];
    while let Some(folder) = left.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten().filter(|it| it.path().is_dir()) {
            let path = entry.path();
            found.push(path.strip_prefix(workspace.root()).unwrap().display().to_string());
            left.push(path);
        }
    }
    found.sort();
    assert_eq!(found, expected);
}

fn workspace() -> Workspace {
    let workspace = Workspace::new(&[("a.txt", "a\n")]);
    std::fs::create_dir(workspace.path("old")).unwrap();
    workspace
}

fn restart(workspace: &Workspace, mut editor: Editor) -> Editor {
    editor.request("shutdown", Value::Null);
    editor.notify("exit", Value::Null);
    editor.exit_code(PATIENCE);
    Editor::open(workspace, &automatic())
}

#[test]
fn a_rejected_file_takes_the_folders_that_were_made_for_it_along() {
    for (is_open, restarts) in [(false, false), (true, false), (false, true)] {
        let workspace = workspace();
        let mut editor = Editor::open(&workspace, &automatic());
        let session = editor.session();
        for path in ["n/deep/a.txt", "n/b.txt", "old/c.txt", "old/new/d.txt"] {
            make(&session, path);
            if is_open {
                editor.open_file(path);
            }
        }
        if restarts {
            editor = restart(&workspace, editor);
        }
        reject(&editor, "n/deep/a.txt");
        check(&workspace, &["n", "old", "old/new"]);
        let last = reject(&editor, "n/b.txt");
        check(&workspace, &["old", "old/new"]);
        reject(&editor, "old/c.txt");
        reject(&editor, "old/new/d.txt");
        check(&workspace, &["old"]);
        undo(&editor, &last);
        assert_eq!(workspace.read("n/b.txt"), "new\n");
        reject(&editor, "n/b.txt");
        check(&workspace, &["old"]);
    }
}

#[test]
fn a_folder_that_holds_anything_or_was_kept_stays() {
    let workspace = workspace();
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    make(&session, "n/a.txt");
    workspace.write("n/own.txt", "the person's\n");
    reject(&editor, "n/a.txt");
    check(&workspace, &["n", "old"]);
    // What was accepted is the person's; its folder was there before the next file.
    make(&session, "m/a.txt");
    resolve(&editor, "accept", json!([{ "all": true }]));
    std::fs::remove_file(workspace.path("m/a.txt")).unwrap();
    make(&session, "m/b.txt");
    reject(&editor, "m/b.txt");
    check(&workspace, &["m", "n", "old"]);
    make(&session, "k/a.txt");
    resolve(&editor, "accept", json!([{ "all": true }]));
    session.tool("Delete", json!({ "paths": ["k/a.txt"], "reason": "unused" })).ok();
    check(&workspace, &["k", "m", "n", "old"]);
}

#[test]
fn what_the_agent_takes_away_itself_leaves_no_empty_folder() {
    for is_open in [false, true] {
        let workspace = workspace();
        let editor = Editor::open(&workspace, &automatic());
        let session = editor.session();
        for path in ["n/deep/a.txt", "old/b.txt"] {
            make(&session, path);
            if is_open {
                editor.open_file(path);
            }
        }
        let paths = ["n/deep/a.txt", "old/b.txt"];
        session.tool("Delete", json!({ "paths": paths, "reason": "unused" })).ok();
        check(&workspace, &["old"]);
    }
}

#[test]
fn a_move_that_is_taken_back_leaves_no_empty_folder() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: m/x/b.txt\n*** End Patch\n";
    for is_open in [false, true] {
        let workspace = workspace();
        let editor = Editor::open(&workspace, &automatic());
        if is_open {
            editor.open_file("a.txt");
        }
        let session = editor.session();
        session.tool("Read", json!({ "file_path": "a.txt" })).ok();
        session.tool("ApplyPatch", json!({ "patch": patch })).ok();
        check(&workspace, &["m", "m/x", "old"]);
        let rejected = reject(&editor, "m/x/b.txt");
        check(&workspace, &["old"]);
        undo(&editor, &rejected);
        check(&workspace, &["m", "m/x", "old"]);
        reject(&editor, "m/x/b.txt");
        check(&workspace, &["old"]);
        assert_eq!(workspace.read("a.txt"), "a\n");
    }
}

#[test]
fn a_restore_takes_folders_back_whatever_was_accepted() {
    let workspace = workspace();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: m/b.txt\n*** End Patch\n";
    let write = |path: &str| Step::call("Write", json!({ "file_path": path, "content": "new\n" }));
    let model = Model::new([
        write("n/deep/a.txt"),
        write("n/b.txt"),
        write("old/c.txt"),
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call("ApplyPatch", json!({ "patch": patch })),
        Step::text("Done."),
    ]);
    let mut settings = model.settings();
    settings["mode"] = json!("edit");
    let editor = Editor::open(&workspace, &settings);
    editor.open_file("a.txt");
    let session = editor.session();
    session.prompt("make them");
    resolve(&editor, "accept", json!([{ "uri": editor.uri("n/b.txt") }]));
    let listed = editor.request("copydesk/checkpoint/list", json!({ "sessionId": session.id }));
    let restore = json!({ "checkpointId": listed["checkpoints"][0]["id"] });
    for _ in 0..2 {
        check(&workspace, &["m", "n", "n/deep", "old"]);
        let restored = editor.request("copydesk/checkpoint/restore", restore.clone());
        assert_eq!(restored["conflicts"], json!([]), "{restored}");
        check(&workspace, &["old"]);
        undo(&editor, &restored);
    }
    check(&workspace, &["m", "n", "n/deep", "old"]);
}

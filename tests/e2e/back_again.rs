//! Texts that come back, by undo and redo in the editor, git, or a file caught half written, with what was pending in them.

use serde_json::json;

use crate::editor::Editor;
use crate::review::{BEFORE, automatic, hunks, ids, resolve, undo};
use crate::workspace::Workspace;

/// An editor with a file open in which the agent deleted two lines.
fn shortened(workspace: &Workspace) -> Editor {
    let editor = Editor::open(workspace, &automatic());
    editor.open_file("a.txt");
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    let edit = json!({ "file_path": "a.txt", "old_string": "two\nthree\n", "new_string": "" });
    session.tool("Edit", edit).ok();
    assert_eq!(ids(&editor).len(), 1);
    editor
}

const SHORT: &str = "one\nfour\nfive\nsix\nseven\n";

#[test]
fn an_undo_that_puts_lines_back_by_the_smallest_span_is_no_typing() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = shortened(&workspace);
    let id = ids(&editor);
    // Neovim tells what differs from the first to the last character, which is not where the lines were.
    editor.retype("a.txt", "\nfour", "\ntwo\nthree\nfour");
    assert_eq!((editor.text("a.txt").as_str(), hunks(&editor).len()), (BEFORE, 0));
    editor.retype("a.txt", "two\nthree\nf", "f");
    assert_eq!((editor.text("a.txt").as_str(), ids(&editor)), (SHORT, id));
    resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!((editor.text("a.txt").as_str(), hunks(&editor).len()), (BEFORE, 0));
}

#[test]
fn a_rejection_that_the_editor_undid_is_pending_and_cannot_be_undone_twice() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = shortened(&workspace);
    let id = ids(&editor);
    let rejected = resolve(&editor, "reject", json!([{ "all": true }]));
    editor.retype("a.txt", "two\nthree\nf", "f");
    assert_eq!(ids(&editor), id);
    let token = json!({ "undoToken": rejected["undoToken"] });
    assert!(editor.try_request("copydesk/review/undo", token).is_err());
    assert_eq!((editor.text("a.txt").as_str(), ids(&editor)), (SHORT, id.clone()));
    // Done again in the editor, it can be taken back here.
    editor.retype("a.txt", "\nfour", "\ntwo\nthree\nfour");
    undo(&editor, &rejected);
    assert_eq!((editor.text("a.txt").as_str(), ids(&editor)), (SHORT, id));
}

#[test]
fn a_closed_file_that_was_caught_half_written_or_away_keeps_what_is_pending() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    let edit = json!({ "file_path": "a.txt", "old_string": "four", "new_string": "FOUR" });
    session.tool("Edit", edit).ok();
    let id = ids(&editor);
    let after = BEFORE.replace("four", "FOUR");
    for moment in [Some(""), Some("on"), Some(BEFORE), None] {
        match moment {
            Some(text) => std::fs::write(workspace.path("a.txt"), text).unwrap(),
            None => std::fs::remove_file(workspace.path("a.txt")).unwrap(),
        }
        assert!(hunks(&editor).is_empty(), "{moment:?}");
        std::fs::write(workspace.path("a.txt"), format!("{after}more\n")).unwrap();
        assert_eq!(ids(&editor), id, "{moment:?}");
        std::fs::write(workspace.path("a.txt"), &after).unwrap();
        assert_eq!(ids(&editor), id, "{moment:?}");
    }
    resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(workspace.read("a.txt"), BEFORE);
}

#[test]
fn unsaved_text_that_comes_back_after_a_restart_has_what_was_pending_in_it() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = shortened(&workspace);
    let id = ids(&editor);
    let uri = editor.uri("a.txt");
    editor.type_before("a.txt", "six", "mine ");
    assert_eq!(ids(&editor), id);
    drop(editor);
    let editor = Editor::open(&workspace, &automatic());
    // The file on disk has nothing of it.
    assert!(hunks(&editor).is_empty());
    editor.open_text(&uri, &SHORT.replace("six", "mine six"));
    assert_eq!(ids(&editor), id);
    resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(editor.text("a.txt"), BEFORE.replace("six", "mine six"));
}

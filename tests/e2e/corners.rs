//! Corners of edits that are believed only when the text shows them: reopened, formatted and stubborn documents.

use serde_json::{Value, json};

use crate::editor::document::Document;
use crate::editor::session::Session;
use crate::editor::{Editor, Kind, Start, Told};
use crate::review::{automatic, hunks};
use crate::workspace::Workspace;

const TEXT: &str = "one\ntwo\nthree\n";

fn edit(old: &str, new: &str) -> Value {
    json!({ "file_path": "a.txt", "old_string": old, "new_string": new })
}

#[track_caller]
fn seen<'a>(editor: &'a Editor, paths: &[&str]) -> Session<'a> {
    let session = editor.session();
    for path in paths {
        session.tool("Read", json!({ "file_path": path })).ok();
    }
    session
}

/// An editor that counts from 0 at opening and checks no version 0 gets the edit right all the same.
#[test]
fn a_document_at_version_0_is_edited_while_the_person_types() {
    for told in [Told::BeforeAnswer, Told::AfterAnswer] {
        let workspace = Workspace::new(&[("a.txt", TEXT)]);
        let editor =
            Start::new(&workspace).kind(Kind::Lying).told(told).settings(&automatic()).start();
        let uri = editor.open_file("a.txt");
        let session = seen(&editor, &["a.txt"]);
        editor.before_apply(move |state| state.type_before(&uri, "one", "mine\n"));
        session.tool("Edit", edit("three", "THREE")).ok();
        assert_eq!(editor.text("a.txt"), "mine\none\ntwo\nTHREE\n", "{told:?}");
    }
}

#[test]
fn a_document_closed_and_opened_again_is_edited_once() {
    for kind in [Kind::Strict, Kind::Lying] {
        let workspace = Workspace::new(&[("a.txt", TEXT)]);
        let editor = Start::new(&workspace).kind(kind).settings(&automatic()).start();
        let uri = editor.open_file("a.txt");
        let session = seen(&editor, &["a.txt"]);
        // Between reading and editing.
        editor.close("a.txt");
        editor.open_file("a.txt");
        session.tool("Edit", edit("one", "ONE")).ok();
        assert_eq!(editor.text("a.txt"), "ONE\ntwo\nthree\n", "{kind:?}");
        // While the edit is on its way; what was not saved goes with the closed view.
        let version = if kind == Kind::Lying { 0 } else { 1 };
        editor.before_apply(move |state| {
            let text = state.documents[&uri].text.clone();
            state.close(&uri);
            state.open(&uri, Document { dirty: true, ..Document::new(&text, version) });
        });
        let told = session.tool("Edit", edit("three", "THREE"));
        let text = editor.text("a.txt");
        match told.is_error {
            false => assert_eq!(text, "ONE\ntwo\nTHREE\n", "{kind:?}"),
            true => assert_eq!(text, "ONE\ntwo\nthree\n", "{kind:?}: {}", told.text),
        }
    }
}

#[test]
fn several_documents_of_one_edit_land_though_one_is_typed_in() {
    for kind in [Kind::Strict, Kind::Lying] {
        let workspace = Workspace::new(&[("a.txt", TEXT), ("b.txt", TEXT)]);
        let editor = Start::new(&workspace).kind(kind).settings(&automatic()).start();
        editor.open_file("a.txt");
        let second = editor.open_file("b.txt");
        let session = seen(&editor, &["a.txt", "b.txt"]);
        let update = |path: &str| format!("*** Update File: {path}\n@@\n-two\n+TWO\n");
        let patch =
            format!("*** Begin Patch\n{}{}*** End Patch\n", update("a.txt"), update("b.txt"));
        editor.before_apply(move |state| state.type_before(&second, "one", "mine\n"));
        session.tool("ApplyPatch", json!({ "patch": patch })).ok();
        assert_eq!(editor.text("a.txt"), "one\nTWO\nthree\n", "{kind:?}");
        assert_eq!(editor.text("b.txt"), "mine\none\nTWO\nthree\n", "{kind:?}");
        assert_eq!(hunks(&editor).len(), 2);
    }
}

/// What a formatter changes on save is the person's, except inside a pending hunk.
#[test]
fn what_is_formatted_on_save_is_the_persons_outside_of_hunks() {
    let workspace = Workspace::new(&[("a.txt", "one  \ntwo\nthree\n")]);
    // Asked and allowed: saved at once, through the editor's formatter.
    let editor = Editor::open(&workspace, &json!({}));
    let uri = editor.open_file("a.txt");
    let session = seen(&editor, &["a.txt"]);
    let formatted = uri.clone();
    editor.before_save(move |state| {
        state.retype(&formatted, "one  ", "one");
        state.retype(&formatted, "THREE ;", "THREE;");
    });
    session.tool("Edit", edit("three", "THREE ;")).ok();
    assert_eq!(editor.text("a.txt"), "one\ntwo\nTHREE;\n");
    assert_eq!(workspace.read("a.txt"), "one\ntwo\nTHREE;\n");
    let hunk = hunks(&editor).remove(0);
    assert_eq!((&hunk["author"], &hunk["newText"]), (&json!("mixed"), &json!("THREE;\n")));
    assert_eq!(hunks(&editor).len(), 1);
    let base = editor.request("copydesk/review/base", json!({ "uri": uri }));
    assert_eq!(base["text"], "one\ntwo\nthree\n", "the trailing blanks went by the person's doing");
    // The next edit fits the formatted text.
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    session.tool("Edit", edit("two", "TWO")).ok();
    assert_eq!(editor.text("a.txt"), "one\nTWO\nTHREE;\n");
}

#[test]
fn an_edit_refused_again_and_again_is_told_with_the_text_as_it_is() {
    let workspace = Workspace::new(&[("a.txt", TEXT)]);
    let editor = Editor::open(&workspace, &automatic());
    editor.open_file("a.txt");
    let session = seen(&editor, &["a.txt"]);
    editor.type_before("a.txt", "one", "zero\n");
    editor.refuse_edits(Some("the buffer is locked"));
    let told = session.tool("Edit", edit("two", "TWO")).err();
    assert!(
        told.contains("the buffer is locked") && told.contains("Nothing was changed"),
        "{told}"
    );
    assert!(told.contains("3\ttwo"), "where the text is now: {told}");
    assert!((3..=5).contains(&editor.lock().applied.len()), "sent again before it is given up");
    assert_eq!(editor.text("a.txt"), "zero\none\ntwo\nthree\n");
    assert!(hunks(&editor).is_empty());
    editor.refuse_edits(None);
    session.tool("Edit", edit("two", "TWO")).ok();
}

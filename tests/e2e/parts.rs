//! Edits of a thousand places, in an editor that tells of them bit by bit.

use serde_json::json;

use crate::editor::{Kind, Start, Told};
use crate::review::{automatic, hunks, resolve, undo};
use crate::workspace::Workspace;

const PLACES: usize = 1_000;

#[track_caller]
fn check(told: Told) {
    let before: String = (0..PLACES).map(|at| format!("word {at}\n-\n")).collect();
    let after = before.replace("word", "other");
    let workspace = Workspace::new(&[("a.txt", &before)]);
    let Told::InParts { count, typing } = told else { panic!("{told:?}") };
    let editor = Start::new(&workspace).kind(Kind::Lying).told(told).settings(&automatic()).start();
    editor.open_file("a.txt");
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    let edit = json!({ "file_path": "a.txt", "old_string": "word", "new_string": "other", "replace_all": true });
    session.tool("Edit", edit).ok();
    // What the person has written at the end by now.
    let typed = |edits: usize| ".".repeat(if typing { count * edits } else { 0 });
    let is = |what: &str, text: &str, edits: usize| {
        assert!(editor.text("a.txt") == format!("{text}{}", typed(edits)), "{what}");
    };
    is("edited", &after, 1);
    assert_eq!(hunks(&editor).len(), PLACES);
    let resolved = resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(resolved["conflicts"], json!([]));
    assert_eq!(resolved["resolved"].as_array().map(Vec::len), Some(PLACES));
    is("rejected", &before, 2);
    assert_eq!(hunks(&editor).len(), 0);
    undo(&editor, &resolved);
    is("undone", &after, 3);
    assert_eq!(hunks(&editor).len(), PLACES);
}

#[test]
fn two_parts() {
    check(Told::InParts { count: 2, typing: false });
}

#[test]
fn two_parts_with_typing_in_between() {
    check(Told::InParts { count: 2, typing: true });
}

#[test]
fn ten_parts() {
    check(Told::InParts { count: 10, typing: false });
}

#[test]
fn ten_parts_with_typing_in_between() {
    check(Told::InParts { count: 10, typing: true });
}

#[test]
fn a_thousand_parts() {
    check(Told::InParts { count: PLACES, typing: false });
}

#[test]
fn a_thousand_parts_with_typing_in_between() {
    check(Told::InParts { count: PLACES, typing: true });
}

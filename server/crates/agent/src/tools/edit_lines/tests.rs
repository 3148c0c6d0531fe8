//! Edits by anchors in a session whose model sees anchors.

use serde_json::{Value, json};
use text::anchors::Anchor;

use crate::session::Delivery;
use crate::settings::{DialectName, Mode};
use crate::testing::{Desk, calls};

const LINES: &str = "one\n  two\nthree\nfour\n";

/// A desk with a file, read and then edited.
fn desk(text: &str, then: Value) -> Desk {
    desk_in(Mode::Edit, text, then)
}

fn desk_in(mode: Mode, text: &str, then: Value) -> Desk {
    let read = ("Read", json!({ "file_path": "f.txt" }));
    let then = ("EditLines", json!({ "file_path": "f.txt", "edits": then }));
    let steps = json!([calls(&[read]), calls(&[then]), { "text": "done" }]);
    let desk = Desk::configured(mode, "", steps, |it| it.dialect = Some(DialectName::Local));
    desk.write("f.txt", text);
    desk
}

/// The anchor of a line of [`LINES`].
fn at(line: usize) -> String {
    Anchor::of(line, LINES.lines().nth(line - 1).unwrap()).to_string()
}

async fn check(edits: Value, expected: &str, told: &str) {
    let desk = desk(LINES, edits);
    desk.turn("go").await;
    let result = desk.results().pop().unwrap();
    assert!(result.starts_with('✓') && result.contains(told), "{result}");
    assert_eq!(desk.read("f.txt"), expected);
}

async fn check_refused(edits: Value, part: &str) {
    let desk = desk(LINES, edits);
    desk.turn("go").await;
    let result = desk.results().pop().unwrap();
    assert!(result.starts_with('✗') && result.contains(part), "{result}");
    assert!(result.to_lowercase().contains("nothing"), "{result}");
    assert_eq!(desk.read("f.txt"), LINES);
}

#[tokio::test]
async fn lines_are_read_with_anchors_and_edited_by_them() {
    let all = json!([
        { "op": "delete", "first": at(4) },
        { "op": "replace", "first": at(2), "last": at(3), "text": "2\n3" },
        { "op": "insert_after", "first": at(1), "text": "1.5" },
        { "op": "insert_before", "first": at(1), "text": "0.5\n" },
        { "op": "append", "text": "end" },
        { "op": "prepend", "text": "begin" },
    ]);
    let desk = desk(LINES, all);
    desk.turn("go").await;
    let results = desk.results();
    assert!(results[0].starts_with(&format!("✓ {}:one\n{}:  two\n", at(1), at(2))), "{results:?}");
    assert_eq!(desk.read("f.txt"), "begin\n0.5\none\n1.5\n2\n3\nend\n");
    let fresh = format!("{}:1.5\n", Anchor::of(4, "1.5"));
    assert!(results[1].contains(&fresh), "the result shows new anchors: {results:?}");
}

#[tokio::test]
async fn anchors_pasted_into_the_text_are_left_out() {
    let text = format!("{}:  2\n\n+{}:3\n", at(2), at(3));
    let edits = json!([{ "op": "replace", "first": at(2), "last": at(3), "text": text }]);
    check(edits, "one\n  2\n\n3\nfour\n", "args.edits[0]").await;
    let some = format!("{}:two\nthree", at(2));
    let edits = json!([{ "op": "replace", "first": at(2), "text": some }]);
    check_refused(edits, "line 1 of it begins with an anchor").await;
}

#[tokio::test]
async fn lines_that_changed_are_shown_with_their_new_anchors() {
    let edits = json!([
        { "op": "replace", "first": at(1), "text": "x" },
        { "op": "delete", "first": Anchor::of(1, "three").to_string() },
        { "op": "delete", "first": Anchor::of(9, "nine").to_string() },
    ]);
    let desk = desk(LINES, edits);
    desk.turn("go").await;
    let result = desk.results().pop().unwrap();
    let given = Anchor::of(1, "three");
    for part in [
        format!("{given} is now {} (perhaps {} is meant)", at(1), at(3)),
        "past the end, the file has 4 lines".to_string(),
        format!("\n{}:one\n{}:  two\n{}:three\n{}:four\n", at(1), at(2), at(3), at(4)),
    ] {
        assert!(result.contains(&part), "{part}: {result}");
    }
    assert_eq!(desk.read("f.txt"), LINES);
}

#[tokio::test]
async fn what_is_no_edit_is_told_where() {
    check_refused(
        json!([{ "op": "replace", "first": "2", "text": "x" }]),
        "args.edits[0].first: '2'",
    )
    .await;
    check_refused(json!([{ "op": "replace", "text": "x" }]), "args.edits[0] needs `first`").await;
    check_refused(json!([{ "op": "replace", "first": at(1) }]), "args.edits[0] needs `text`").await;
    check_refused(
        json!([{ "op": "delete", "first": at(1), "text": "x" }]),
        "takes no `text`; use `replace`",
    )
    .await;
    check_refused(
        json!([{ "op": "append", "first": at(1), "text": "x" }]),
        "takes no `first`; use `insert_after`",
    )
    .await;
    check_refused(
        json!([{ "op": "insert_after", "first": at(1), "last": at(2), "text": "x" }]),
        "takes no `last`",
    )
    .await;
    check_refused(
        json!([{ "op": "replace", "first": at(3), "last": at(2), "text": "x" }]),
        "is reversed",
    )
    .await;
    check_refused(
        json!([
            { "op": "replace", "first": at(1), "last": at(2), "text": "x" },
            { "op": "delete", "first": at(2) },
        ]),
        "two edits change line 2",
    )
    .await;
    check_refused(json!([{ "op": "replace", "first": at(1), "text": "one" }]), "change nothing")
        .await;
}

#[tokio::test]
async fn lines_that_were_not_read_are_not_edited() {
    let edit = json!({ "file_path": "f.txt", "edits": [{ "op": "delete", "first": at(3) }] });
    let part = json!({ "file_path": "f.txt", "limit": 1 });
    let steps = json!([
        calls(&[("EditLines", edit.clone())]),
        calls(&[("Read", part)]),
        calls(&[("EditLines", edit.clone())]),
        calls(&[("EditLines", edit)]),
        { "text": "done" },
    ]);
    let desk = Desk::configured(Mode::Edit, "", steps, |it| it.dialect = Some(DialectName::Local));
    desk.write("f.txt", LINES);
    desk.turn("go").await;
    let results = desk.results();
    assert!(results[0].starts_with("✗ f.txt was not read yet"), "{results:?}");
    let region = format!("Lines 3-3 of f.txt were not read yet. They are:\n{}:three\n", at(3));
    assert!(results[2].contains(&region), "{results:?}");
    assert!(results[3].starts_with('✓'), "what a refusal shows was seen: {results:?}");
    assert_eq!(desk.read("f.txt"), "one\n  two\nfour\n");
}

#[tokio::test]
async fn indentation_that_changed_meanwhile_is_noticed() {
    let desk = desk_in(Mode::Ask, LINES, json!([{ "op": "delete", "first": at(2) }]));
    desk.prompt("go", Delivery::Queue);
    desk.asked(1).await;
    desk.write("f.txt", "one\n\ttwo\nthree\nfour\n");
    desk.answer("allow_once", json!({}));
    desk.idle(1).await;
    let result = desk.results().pop().unwrap();
    let now =
        format!("f.txt changed since it was read, in lines 2-2. They are now:\n{}:\ttwo", at(2));
    assert!(result.contains(&now), "{result}");
    assert_eq!(desk.read("f.txt"), "one\n\ttwo\nthree\nfour\n");
}

#[tokio::test]
async fn an_empty_file_and_one_without_a_final_newline_are_edited() {
    let edits = json!([{ "op": "append", "text": "x" }, { "op": "prepend", "text": "w" }]);
    let empty = desk("", edits);
    empty.turn("go").await;
    assert_eq!(empty.read("f.txt"), "w\nx\n");
    let last = Anchor::of(2, "b").to_string();
    let open = desk("a\r\nb", json!([{ "op": "insert_after", "first": last, "text": "c\nd" }]));
    open.turn("go").await;
    assert_eq!(open.read("f.txt"), "a\r\nb\r\nc\r\nd");
}

#[tokio::test]
async fn searches_show_anchors_too() {
    let search = json!({ "pattern": "t", "output_mode": "content", "path": "f.txt" });
    let edits = json!([{ "op": "delete", "first": at(3) }]);
    let edit = json!({ "file_path": "f.txt", "edits": edits });
    let steps = json!([
        calls(&[("Grep", search)]),
        calls(&[("EditLines", edit)]),
        { "text": "done" },
    ]);
    let desk = Desk::configured(Mode::Edit, "", steps, |it| it.dialect = Some(DialectName::Local));
    desk.write("f.txt", LINES);
    desk.turn("go").await;
    let results = desk.results();
    assert!(results[0].contains(&format!("f.txt:{}:  two\nf.txt:{}:three", at(2), at(3))));
    assert_eq!(desk.read("f.txt"), "one\n  two\nfour\n");
}

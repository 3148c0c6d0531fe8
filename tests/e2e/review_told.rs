//! What a client is told of pending hunks that the person changes: all of it, whoever asked in between, and once.

use serde_json::{Value, json};

use crate::editor::{Editor, Kind, Start};
use crate::model::{Model, Step};
use crate::review::{BEFORE, automatic, hunks, resolve, write};
use crate::workspace::Workspace;

const AFTER: &str = "ONE\ntwo\nthree\nFOUR\nfive\nsix\nSEVEN\n";

/// The lists of new texts that `didChange` told since `from`, and the status bar's last count.
fn told(log: &[Value], from: usize) -> (Vec<Vec<String>>, Option<u64>) {
    let since = || log[from..].iter();
    let changes = since().filter(|it| it["method"] == "copydesk/review/didChange");
    let texts = |message: &Value| {
        let hunks = message["params"]["files"][0]["hunks"].as_array().expect("hunks").clone();
        hunks.iter().map(|it| it["newText"].as_str().expect("a text").to_owned()).collect()
    };
    let status = since().rfind(|it| it["method"] == "copydesk/status/didChange");
    (changes.map(texts).collect(), status.and_then(|it| it["params"]["pendingHunks"].as_u64()))
}

/// The person takes two of three hunks back by typing, one after the other, and something is asked right after each.
#[track_caller]
fn check(kind: Kind, ask: impl Fn(&Editor)) {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = Start::new(&workspace).kind(kind).settings(&automatic()).start();
    editor.open_file("a.txt");
    write(&editor.session(), "a.txt", AFTER);
    let pending = |count: u64, from: usize| {
        editor.wait(&format!("the status to show {count} hunks"), |state| {
            (told(&state.log, from).1 == Some(count)).then_some(())
        });
    };
    pending(3, 0);
    let from = editor.mark();
    editor.retype("a.txt", "FOUR", "four");
    ask(&editor);
    pending(2, from);
    editor.retype("a.txt", "ONE", "one");
    ask(&editor);
    pending(1, from);
    let changes = told(&editor.lock().log, from).0;
    assert_eq!(changes, [vec!["ONE\n", "SEVEN\n"], vec!["SEVEN\n"]]);
}

#[test]
fn nothing_asked_in_between() {
    check(Kind::Strict, |_| {});
}

#[test]
fn the_text_without_the_changes_is_asked_at_once() {
    for kind in [Kind::Strict, Kind::Lying] {
        check(kind, |editor| {
            editor.request("copydesk/review/base", json!({ "uri": editor.uri("a.txt") }));
        });
    }
}

#[test]
fn the_list_is_asked_at_once() {
    check(Kind::Strict, |editor| drop(hunks(editor)));
}

#[test]
fn a_decision_that_comes_to_nothing_is_made_at_once() {
    check(Kind::Strict, |editor| drop(resolve(editor, "accept", json!([{ "hunkId": "h-none" }]))));
    check(Kind::Strict, |editor| {
        let undone = editor.try_request("copydesk/review/undo", json!({ "undoToken": "undo-99" }));
        assert!(undone.is_err());
    });
}

#[test]
fn an_edit_that_fails_begins_at_once() {
    check(Kind::Strict, |editor| {
        let session = editor.session();
        session.tool("Read", json!({ "file_path": "a.txt" })).ok();
        editor.refuse_edits(Some("no"));
        let edit = json!({ "file_path": "a.txt", "old_string": "six", "new_string": "SIX" });
        session.tool("Edit", edit).err();
        editor.refuse_edits(None);
    });
}

#[test]
fn a_rejection_that_fails_begins_at_once() {
    check(Kind::Strict, |editor| {
        let last = hunks(editor).pop().expect("a hunk");
        editor.refuse_edits(Some("no"));
        let resolved = resolve(editor, "reject", json!([{ "hunkId": last["hunkId"] }]));
        assert_eq!(resolved["resolved"], json!([]), "{resolved}");
        editor.refuse_edits(None);
    });
}

#[test]
fn a_call_that_waits_hears_of_a_hunk_taken_back_while_the_list_is_asked() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call(
            "Edit",
            json!({ "file_path": "a.txt", "old_string": "two", "new_string": "TWO" }),
        ),
        Step::text("done"),
    ]);
    let blocking = json!({ "mode": "edit", "edits": { "review": "blocking" } });
    let editor = Editor::open(&workspace, &model.settings_with(&blocking));
    editor.open_file("a.txt");
    let session = editor.session();
    let mark = session.send("shout");
    session.wait_update("a card that waits for review", 0, |update| {
        update["_meta"]["copydesk"]["review"] == 1
    });
    editor.retype("a.txt", "TWO", "two");
    assert_eq!(hunks(&editor), Vec::<Value>::new());
    session.until_idle(mark);
}

#[test]
fn the_person_is_told_once_that_a_change_is_in_doubt() {
    let workspace = Workspace::new(&[("a.txt", "a line b\n"), ("b.txt", "two\n")]);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    write(&session, "a.txt", "a AGENT b\n");
    write(&session, "b.txt", "TWO\n");
    // Beside the change: it stays pending, and nothing is said.
    workspace.write("b.txt", "one\nTWO\n");
    assert_eq!(hunks(&editor).len(), 2);
    workspace.write("a.txt", "a #line# b\n");
    assert_eq!(hunks(&editor).len(), 1);
    let told = editor.heard("window/showMessage", 0);
    let message = told["params"]["message"].as_str().expect("a message");
    assert!(message.contains("a.txt") && message.contains("in doubt"), "{message}");
    // What comes later says nothing of it again.
    resolve(&editor, "reject", json!([{ "all": true }]));
    assert!(hunks(&editor).is_empty());
    let log = editor.lock().log.clone();
    assert_eq!(log.iter().filter(|it| it["method"] == "window/showMessage").count(), 1);
    assert_eq!(workspace.read("a.txt"), "a #line# b\n");
    assert_eq!(workspace.read("b.txt"), "one\ntwo\n");
}

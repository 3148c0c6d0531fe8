//! Wrong place, duplicates, destroyed text.

use serde_json::{Value, json};

use super::{Shown, decide, decide_all, edit, hunks, ids, resolve, seen, unasked};
use crate::editor::{Editor, Kind, Start};
use crate::model::{Model, Step};
use crate::workspace::Workspace;

fn open(text: &str) -> (Workspace, Editor) {
    let workspace = Workspace::new(&[("a.txt", text)]);
    let editor = Editor::open(&workspace, &unasked());
    editor.open_file("a.txt");
    (workspace, editor)
}

/// B1: a decision that changes the count of lines moves no other hunk to a wrong place.
#[test]
fn decisions_after_one_that_changed_the_count_of_lines_land_right() {
    let before = "one\ntwo\nthree\nfour\nfive\nsix\n";
    let after = "one\nTWO\n2a\n2b\n2c\nthree\nfour\nFIVE\nsix\n";
    for (first, second, expected) in [
        ("accept", "accept", after),
        ("accept", "reject", "one\nTWO\n2a\n2b\n2c\nthree\nfour\nfive\nsix\n"),
        ("reject", "accept", "one\ntwo\nthree\nfour\nFIVE\nsix\n"),
        ("reject", "reject", before),
    ] {
        let (_workspace, editor) = open(before);
        seen(&editor, "a.txt")
            .tool("Write", json!({ "file_path": "a.txt", "content": after }))
            .ok();
        let ids = ids(&editor);
        assert_eq!(ids.len(), 2);
        decide(&editor, first, &ids[0]);
        decide(&editor, second, &ids[1]);
        assert_eq!(editor.text("a.txt"), expected, "{first}, then {second}");
    }
}

/// B2: each file of a turn has a diff against its own text.
#[test]
fn the_diffs_of_two_files_are_made_from_their_own_texts() {
    let workspace = Workspace::new(&[("a.txt", "a 1\nsame\n"), ("b.txt", "b 1\nsame\n")]);
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt" }))
            .and_call("Read", json!({ "file_path": "b.txt" })),
        Step::call("Edit", edit("a.txt", "same", "A 2"))
            .and_call("Edit", edit("b.txt", "same", "B 2")),
        Step::text("Done."),
    ]);
    let editor = Editor::open(&workspace, &model.settings_with(&unasked()));
    editor.open_file("a.txt");
    let session = editor.session();
    session.prompt("both");
    let cards: Vec<String> = session
        .cards()
        .iter()
        .filter(|it| it["kind"] == "edit")
        .map(|it| it["content"].to_string())
        .collect();
    assert_eq!(cards.len(), 2, "{cards:?}");
    for (card, own, other) in [(&cards[0], "A 2", "B 2"), (&cards[1], "B 2", "A 2")] {
        assert!(card.contains(own) && !card.contains(other), "{card}");
    }
    let base = |name| editor.request("copydesk/review/base", json!({ "uri": editor.uri(name) }));
    assert_eq!(base("a.txt")["text"], "a 1\nsame\n");
    assert_eq!(base("b.txt")["text"], "b 1\nsame\n");
    decide_all(&editor, "reject");
    assert_eq!(editor.text("a.txt"), "a 1\nsame\n");
    assert_eq!(workspace.read("b.txt"), "b 1\nsame\n");
}

/// B5: first lines and a last line without newline are replaced, no line more or less.
#[test]
fn the_first_lines_and_the_last_one_are_replaced_exactly() {
    for shown in Shown::BOTH {
        let workspace = Workspace::new(&[("a.txt", "1\n2\n3\n4\n5\n6")]);
        let editor = Editor::open(&workspace, &unasked());
        shown.open(&editor, "a.txt");
        let text = || shown.text(&editor, "a.txt");
        let session = seen(&editor, "a.txt");
        session.tool("Edit", edit("a.txt", "1\n2\n3\n", "one\ntwo\nthree\n")).ok();
        session.tool("Edit", edit("a.txt", "6", "six")).ok();
        assert_eq!(text(), "one\ntwo\nthree\n4\n5\nsix", "{shown:?}");
        session.tool("Edit", edit("a.txt", "5\nsix", "five")).ok();
        assert_eq!(text(), "one\ntwo\nthree\n4\nfive", "{shown:?}");
        decide_all(&editor, "reject");
        assert_eq!(text(), "1\n2\n3\n4\n5\n6", "{shown:?}");
    }
}

/// B7: a file written anew with two changed lines is two hunks, and one written as it is none.
#[test]
fn a_rewrite_has_as_many_hunks_as_it_has_changes() {
    let text: String = (1..=80).map(|n| format!("line {n}\n")).collect();
    let (_workspace, editor) = open(&text);
    let session = seen(&editor, "a.txt");
    session.tool("Write", json!({ "file_path": "a.txt", "content": text }));
    assert!(hunks(&editor).is_empty(), "nothing was changed");
    let after = text.replace("line 7\n", "LINE 7\n").replace("line 61\n", "LINE 61\n");
    session.tool("Write", json!({ "file_path": "a.txt", "content": after })).ok();
    let hunks = hunks(&editor);
    let changed: Vec<_> = hunks.iter().map(|it| (&it["oldText"], &it["newText"])).collect();
    assert_eq!(
        changed,
        [(&json!("line 7\n"), &json!("LINE 7\n")), (&json!("line 61\n"), &json!("LINE 61\n"))]
    );
}

/// B8: after accepting, rejecting and closing in any order the text is right and nothing is left on the screen.
#[test]
fn no_order_of_accept_reject_and_close_leaves_a_mark() {
    let before = "one\ntwo\nthree\nfour\nfive\n";
    for order in [
        ["accept", "reject", "close"],
        ["accept", "close", "reject"],
        ["reject", "accept", "close"],
        ["reject", "close", "accept"],
        ["close", "accept", "reject"],
        ["close", "reject", "accept"],
    ] {
        let workspace = Workspace::new(&[("a.txt", before)]);
        let after = before.replace("one", "ONE").replace("four", "FOUR");
        let model = Model::new([
            Step::call("Read", json!({ "file_path": "a.txt" })),
            Step::call("Write", json!({ "file_path": "a.txt", "content": after })),
            Step::text("done"),
        ]);
        let settings = model.settings_with(&unasked());
        let editor = Start::new(&workspace).kind(Kind::Bare).settings(&settings).start();
        editor.open_file("a.txt");
        let command = |name: &str, argument: Value| {
            let params = json!({ "command": name, "arguments": [argument] });
            editor.request("workspace/executeCommand", params)
        };
        command("copydesk.prompt", json!("shout"));
        let marks = marked(&editor, 2);
        editor.save("a.txt");
        for step in order {
            match step {
                "close" => {
                    editor.save("a.txt");
                    editor.close("a.txt");
                }
                decision => {
                    let hunk = &marks[usize::from(decision == "reject")];
                    command(&format!("copydesk.{decision}"), json!({ "hunkId": hunk }));
                }
            }
        }
        assert_eq!(workspace.read("a.txt"), before.replace("one", "ONE"), "{order:?}");
        marked(&editor, 0);
    }
}

/// Waits until the file has so many marks on the screen; the ids of their hunks.
#[track_caller]
fn marked(editor: &Editor, count: usize) -> Vec<Value> {
    editor.wait(&format!("{count} marks"), |state| {
        let told =
            state.log.iter().rfind(|it| it["method"] == "textDocument/publishDiagnostics")?;
        let listed = told["params"]["diagnostics"].as_array()?;
        let ids = listed.iter().map(|it| it["code"].clone()).collect();
        (listed.len() == count).then_some(ids)
    })
}

/// B10: accepting the last hunk of a long file leaves the rest of the file.
#[test]
fn accepting_the_last_hunk_of_a_long_file_erases_nothing() {
    let text: String = (1..=500).map(|n| format!("line {n}\n")).collect();
    let after = text.replace("line 3\n", "LINE 3\n").replace("line 500\n", "LINE 500\nline 501\n");
    let (_workspace, editor) = open(&text);
    seen(&editor, "a.txt").tool("Write", json!({ "file_path": "a.txt", "content": after })).ok();
    let ids = ids(&editor);
    let edits = editor.lock().applied.len();
    decide(&editor, "accept", &ids[1]);
    assert_eq!(editor.text("a.txt"), after);
    assert_eq!(editor.lock().applied.len(), edits, "accepting changes no text");
    decide(&editor, "reject", &ids[0]);
    assert_eq!(editor.text("a.txt"), after.replace("LINE 3\n", "line 3\n"));
}

/// B11: a block indented by tabs, which the model wrote with spaces, keeps its tabs, once each.
#[test]
fn a_block_with_tabs_edited_with_spaces_keeps_its_tabs() {
    let text = "fn main() {\n\tif ready {\n\t\tgo();\n\t\tstop();\n\t}\n}\n";
    let (_workspace, editor) = open(text);
    let old = "    if ready {\n        go();\n        stop();\n    }";
    let new = "    if ready {\n        go();\n        wait();\n        stop();\n    }";
    seen(&editor, "a.txt").tool("Edit", edit("a.txt", old, new)).ok();
    assert_eq!(editor.text("a.txt"), text.replace("\t\tstop", "\t\twait();\n\t\tstop"));
}

/// B13: looking at changes (list, base, opening and closing the file) decides nothing.
#[test]
fn looking_at_changes_decides_nothing() {
    let workspace = Workspace::new(&[("a.txt", "one\ntwo\n")]);
    let editor = Editor::open(&workspace, &unasked());
    seen(&editor, "a.txt").tool("Edit", edit("a.txt", "two", "TWO")).ok();
    let before = ids(&editor);
    for _ in 0..2 {
        let uri = editor.open_file("a.txt");
        editor.request("copydesk/review/base", json!({ "uri": uri }));
        editor.request("textDocument/codeLens", json!({ "textDocument": { "uri": uri } }));
        assert_eq!(editor.text("a.txt"), "one\nTWO\n");
        editor.close("a.txt");
        assert_eq!(ids(&editor), before);
        assert_eq!(workspace.read("a.txt"), "one\nTWO\n");
    }
    assert!(editor.lock().applied.is_empty());
    resolve(&editor, "reject", json!([{ "uri": workspace.uri("a.txt") }]));
    assert_eq!(workspace.read("a.txt"), "one\ntwo\n");
}

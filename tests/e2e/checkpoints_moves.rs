//! A file that the agent moved and the person went on with goes back to its name with what they wrote.

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::model::{Model, Step};
use crate::workspace::Workspace;

const LINES: &str = "one\ntwo\nthree\nfour\nfive\n";

/// How the person goes on with the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Typing {
    OnDisk,
    Saved,
    Unsaved,
}

fn pending(editor: &Editor) -> Value {
    let listed = editor.request("copydesk/review/list", json!({}));
    let files = listed["files"].as_array().expect("files").clone();
    files.iter().map(|it| json!([it["change"], it["oldUri"]])).collect()
}

#[track_caller]
fn check(change: &str, typing: Typing) {
    let workspace = Workspace::new(&[("old.txt", LINES)]);
    let patch = format!(
        "*** Begin Patch\n*** Update File: old.txt\n*** Move to: new.txt\n{change}*** End Patch"
    );
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "old.txt" })),
        Step::call("ApplyPatch", json!({ "patch": patch })),
        Step::text("Done."),
    ]);
    let mut settings = model.settings();
    settings["mode"] = json!("auto");
    let editor = Editor::open(&workspace, &settings);
    let session = editor.session();
    session.prompt("move it");
    let moved = workspace.read("new.txt");
    let typed = moved.replace("four", "four typed");
    match typing {
        Typing::OnDisk => workspace.write("new.txt", &typed),
        Typing::Saved | Typing::Unsaved => {
            editor.open_file("new.txt");
            editor.type_before("new.txt", "\nfive", " typed");
        }
    }
    if typing == Typing::Saved {
        editor.save("new.txt");
    }
    let names = pending(&editor);
    let listed = editor.request("copydesk/checkpoint/list", json!({ "sessionId": session.id }));
    let first = listed["checkpoints"][0]["id"].clone();
    let dry = json!({ "checkpointId": first, "dryRun": true });
    let would = editor.request("copydesk/checkpoint/restore", dry);
    let restored = editor.request("copydesk/checkpoint/restore", json!({ "checkpointId": first }));
    assert_eq!(
        (&would["files"], &would["conflicts"]),
        (&restored["files"], &restored["conflicts"])
    );
    if typing == Typing::Unsaved {
        assert_eq!(restored["conflicts"].as_array().map(Vec::len), Some(1), "{restored}");
        assert_eq!((workspace.has("old.txt"), pending(&editor)), (false, names));
        assert_eq!(editor.text("new.txt"), typed);
        return;
    }
    assert_eq!(restored["conflicts"], json!([]));
    let now = LINES.replace("four", "four typed");
    assert_eq!((workspace.has("new.txt"), workspace.read("old.txt")), (false, now));
    assert_eq!(pending(&editor), json!([]));
    editor.request("copydesk/review/undo", json!({ "undoToken": restored["undoToken"] }));
    assert_eq!((workspace.has("old.txt"), workspace.read("new.txt")), (false, typed));
    assert_eq!(pending(&editor), names);
}

const CHANGE: &str = "@@\n-two\n+TWO\n";

#[test]
fn a_closed_file_goes_back_with_what_was_written_to_it() {
    check("", Typing::OnDisk);
    check(CHANGE, Typing::OnDisk);
}

#[test]
fn an_open_file_goes_back_in_the_editor() {
    check("", Typing::Saved);
    check(CHANGE, Typing::Saved);
}

#[test]
fn unsaved_text_stays_where_it_is() {
    check("", Typing::Unsaved);
    check(CHANGE, Typing::Unsaved);
}

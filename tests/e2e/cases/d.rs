//! Reviewing changes: nothing is decided but by a decision, and nothing takes the focus.

use std::time::Duration;

use serde_json::{Value, json};

use super::{decide, decide_all, dialogs, edit, hunks, ids, seen, unasked};
use crate::editor::{Editor, Kind, Start, Told};
use crate::workspace::{PATIENCE, Workspace, project, until};

const BEFORE: &str = "one\ntwo\nthree\nfour\nfive\n";
const AFTER: &str = "ONE\ntwo\nTHREE\nfour\nFIVE\n";

/// An editor with three pending hunks in an open file.
fn three() -> (Workspace, Editor) {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = Editor::open(&workspace, &unasked());
    editor.open_file("a.txt");
    seen(&editor, "a.txt").tool("Write", json!({ "file_path": "a.txt", "content": AFTER })).ok();
    assert_eq!(hunks(&editor).len(), 3);
    (workspace, editor)
}

/// D2: a formatter that runs while an accepted change is saved causes no second edit; its text is the person's.
#[test]
fn a_formatter_on_save_causes_no_second_edit() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = Editor::open(&workspace, &unasked());
    let uri = editor.open_file("a.txt");
    let session = seen(&editor, "a.txt");
    session.tool("Edit", edit("a.txt", "two", "TWO  ")).ok();
    let edits = editor.lock().applied.len();
    editor.before_save(move |state| state.retype(&uri, "TWO  \n", "TWO\n"));
    decide_all(&editor, "accept");
    until("the save", PATIENCE, || workspace.read("a.txt") == BEFORE.replace("two", "TWO"));
    assert_eq!(editor.lock().applied.len(), edits);
    assert!(hunks(&editor).is_empty());
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    session.tool("Edit", edit("a.txt", "TWO\n", "zwei\n")).ok();
    assert_eq!(editor.text("a.txt"), BEFORE.replace("two", "zwei"));
}

/// D4: an editor that saves by itself accepts nothing by that.
#[test]
fn saving_by_itself_accepts_nothing() {
    let (workspace, editor) = three();
    let before = ids(&editor);
    for n in 0..3 {
        editor.type_before("a.txt", "four", &format!("<{n}>"));
        editor.save("a.txt");
        assert_eq!(ids(&editor), before);
    }
    decide_all(&editor, "reject");
    assert_eq!(editor.text("a.txt"), BEFORE.replace("four", "<0><1><2>four"));
    drop(workspace);
}

/// D5: the save key in the middle of a review saves and decides nothing.
#[test]
fn the_save_key_decides_nothing() {
    let (workspace, editor) = three();
    let before = ids(&editor);
    decide(&editor, "accept", &before[0]);
    editor.save("a.txt");
    assert_eq!(ids(&editor), before[1..]);
    assert_eq!(workspace.read("a.txt"), AFTER);
    decide_all(&editor, "reject");
    assert_eq!(editor.text("a.txt"), BEFORE.replace("one", "ONE"));
}

/// D7: a new Markdown file, opened and accepted, is there once, with its text, and nothing of it is pending.
#[test]
fn a_new_markdown_file_is_accepted() {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &unasked());
    let session = editor.session();
    session
        .tool("Write", json!({ "file_path": "docs/new.md", "content": "# New\n\n- one\n" }))
        .ok();
    editor.open_file("docs/new.md");
    let mark = editor.mark();
    decide_all(&editor, "accept");
    assert_eq!(editor.text("docs/new.md"), "# New\n\n- one\n");
    assert_eq!(workspace.read("docs/new.md"), "# New\n\n- one\n");
    let told = editor.heard("copydesk/review/didChange", mark);
    assert_eq!(told["params"]["files"][0]["hunks"].as_array().map_or(0, Vec::len), 0, "{told}");
    editor.close("docs/new.md");
    assert!(hunks(&editor).is_empty() && workspace.has("docs/new.md"));
}

/// D8: of three hunks one is accepted, one rejected and one rewritten by the person, whose text counts.
#[test]
fn hunks_are_accepted_rejected_and_rewritten_one_by_one() {
    let (workspace, editor) = three();
    let ids = ids(&editor);
    decide(&editor, "accept", &ids[0]);
    editor.retype("a.txt", "THREE", "3, in the person's words");
    decide(&editor, "reject", &ids[2]);
    decide(&editor, "accept", &ids[1]);
    assert_eq!(editor.text("a.txt"), "ONE\ntwo\n3, in the person's words\nfour\nfive\n");
    assert!(hunks(&editor).is_empty());
    drop(workspace);
}

/// D10: an editor with thirty tabs that answers two seconds late loses no edit and gets none twice.
#[test]
fn a_slow_editor_with_many_tabs_loses_no_edit() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let told = Told::Debounced(Duration::from_secs(2));
    let editor = Start::new(&workspace).kind(Kind::Lying).told(told).settings(&unasked()).start();
    for n in 0..30 {
        workspace.write(&format!("tab-{n}.txt"), "text\n");
        editor.open_file(&format!("tab-{n}.txt"));
    }
    editor.open_file("a.txt");
    let session = seen(&editor, "a.txt");
    session.tool("Edit", edit("a.txt", "two", "TWO")).ok();
    assert_eq!(editor.text("a.txt"), BEFORE.replace("two", "TWO"));
    decide_all(&editor, "reject");
    assert_eq!(editor.text("a.txt"), BEFORE);
    assert_eq!(editor.lock().applied.len(), 2, "one edit, one rejection");
}

/// D11: five edits of other files, open and closed, show nothing, open nothing and lose no keystroke.
#[test]
fn edits_elsewhere_open_nothing_and_cost_no_keystroke() {
    let workspace = Workspace::new(&[
        ("mine.txt", "mine\n"),
        ("0.txt", "x\n"),
        ("1.txt", "x\n"),
        ("2.txt", "x\n"),
    ]);
    let editor = Editor::open(&workspace, &unasked());
    let mine = editor.open_file("mine.txt");
    editor.open_file("1.txt");
    let open: Vec<String> = editor.lock().documents.keys().cloned().collect();
    let session = editor.session();
    for n in 0..5 {
        let path = format!("{n}.txt");
        if n < 3 {
            session.tool("Read", json!({ "file_path": path })).ok();
        }
        let call =
            session.begin_tool("Write", json!({ "file_path": path, "content": format!("{n}\n") }));
        {
            let mut state = editor.lock();
            let end = state.documents[&mine].text.len();
            state.type_at(&mine, end..end, &format!("key {n}\n"));
        }
        session.finish_tool(call).ok();
    }
    assert_eq!(editor.text("mine.txt"), "mine\nkey 0\nkey 1\nkey 2\nkey 3\nkey 4\n");
    assert_eq!(
        editor.lock().documents.keys().cloned().collect::<Vec<_>>(),
        open,
        "no document was opened or closed"
    );
    assert_eq!(dialogs(&editor), [Value::Null; 0]);
    let read = session.tool("Read", json!({ "file_path": "mine.txt" })).ok();
    assert!(read.contains("key 4"), "{read}");
}

/// D11b: a closed tab leaves its hunks pending, in whatever order tabs are closed and opened.
#[test]
fn a_closed_tab_decides_nothing() {
    let (workspace, editor) = three();
    let before = ids(&editor);
    let edits = editor.lock().applied.len();
    editor.save("a.txt");
    for _ in 0..3 {
        editor.close("a.txt");
        assert_eq!(ids(&editor), before);
        editor.open_file("a.txt");
        assert_eq!(ids(&editor), before);
    }
    assert_eq!(editor.text("a.txt"), AFTER);
    assert_eq!(editor.lock().applied.len(), edits);
    decide_all(&editor, "reject");
    assert_eq!(editor.text("a.txt"), BEFORE);
    drop(workspace);
}

/// Keys that mean something in every editor.
const TAKEN: [&str; 12] = [
    "ctrl+n",
    "ctrl+y",
    "ctrl+s",
    "ctrl+z",
    "cmd+n",
    "cmd+y",
    "cmd+s",
    "cmd+z",
    "ctrl+shift+z",
    "cmd+shift+z",
    "escape",
    "enter",
];

/// D11c: no key that ships takes one of the editor's own away.
#[test]
fn no_shipped_key_shadows_one_of_the_editor() {
    let manifest =
        std::fs::read_to_string(project().join("vscode-extension/package.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let keys = manifest["contributes"]["keybindings"].as_array().expect("keys");
    for binding in keys {
        for platform in ["key", "mac", "linux", "win"] {
            let Some(key) = binding[platform].as_str() else { continue };
            assert!(!TAKEN.contains(&key.to_lowercase().as_str()), "{binding}");
        }
    }
    let plugin =
        std::fs::read_to_string(project().join("nvim-plugin/plugin/copydesk.lua")).unwrap();
    for map in plugin.split("keymap.set(").skip(1) {
        let shipped: String = map.chars().take(60).collect();
        assert!(shipped.contains("'<Plug>(Copydesk"), "only <Plug> maps ship: {shipped}");
    }
}

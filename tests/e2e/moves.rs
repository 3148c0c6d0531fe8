//! Files that the agent moves: one pending change with the name before, in the editor and on disk.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::editor::{Editor, Kind, Start, Told};
use crate::model::{Model, Step};
use crate::review::{BEFORE, automatic, diagnostics, hunks, resolve, undo};
use crate::workspace::{Workspace, until};

const BODY: &str = "*** Update File: a.txt\n*** Move to: sub/c.txt\n@@\n-two\n+TWO";

fn patch(body: &str) -> Value {
    json!({ "patch": format!("*** Begin Patch\n{body}\n*** End Patch\n") })
}

/// The pending files as `change name (old name)`.
fn pending(editor: &Editor) -> Vec<String> {
    let listed = editor.request("copydesk/review/list", json!({}));
    let name = |uri: &Value| uri.as_str().map(|it| it.rsplit('/').next().unwrap().to_owned());
    let files = listed["files"].as_array().unwrap().iter();
    let told = files.map(|it| match name(&it["oldUri"]) {
        Some(old) => {
            format!("{} {} ({old})", it["change"].as_str().unwrap(), name(&it["uri"]).unwrap())
        }
        None => format!("{} {}", it["change"].as_str().unwrap(), name(&it["uri"]).unwrap()),
    });
    told.collect()
}

/// A model that moves and changes `a.txt`.
fn mover() -> (Model, Value) {
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call("ApplyPatch", patch(BODY)),
        Step::text("Moved."),
    ]);
    let settings = model.settings_with(&automatic());
    (model, settings)
}

fn mode(workspace: &Workspace, path: &str) -> u32 {
    std::fs::metadata(workspace.path(path)).unwrap().permissions().mode() & 0o777
}

/// Moves and changes `a.txt`, decides in all ways and takes each back.
#[track_caller]
fn check_decisions(editor: &Editor, workspace: &Workspace, bytes: &[u8], changed: &[u8]) {
    std::fs::set_permissions(workspace.path("a.txt"), std::fs::Permissions::from_mode(0o751))
        .unwrap();
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    let told = session.tool("ApplyPatch", patch(BODY)).ok();
    assert!(told.contains("moved from a.txt, +1 −1"), "{told}");
    let is_moved = || {
        assert_eq!(pending(editor), ["rename c.txt (a.txt)"]);
        assert_eq!(hunks(editor).len(), 2, "the name and the text");
        assert!(!workspace.has("a.txt"));
        assert_eq!(mode(workspace, "sub/c.txt"), 0o751);
    };
    let is_back = |name: &str| {
        assert_eq!(workspace.bytes(name), bytes);
        assert_eq!(mode(workspace, name), 0o751);
    };
    is_moved();
    let all = json!([{ "all": true }]);
    let resolved = resolve(editor, "reject", all.clone());
    assert_eq!(resolved["conflicts"], json!([]), "{resolved}");
    is_back("a.txt");
    assert!(!workspace.has("sub/c.txt") && pending(editor).is_empty());
    undo(editor, &resolved);
    is_moved();
    // The text alone, then the name too.
    let text = hunks(editor).into_iter().find(|it| it["newText"] != "").unwrap();
    let only_text = resolve(editor, "reject", json!([{ "hunkId": text["hunkId"] }]));
    assert_eq!(pending(editor), ["rename c.txt (a.txt)"]);
    is_back("sub/c.txt");
    undo(editor, &only_text);
    is_moved();
    let name = hunks(editor).into_iter().find(|it| it["newText"] == "").unwrap();
    let accepted = resolve(editor, "accept", all.clone());
    assert!(pending(editor).is_empty());
    assert_eq!(workspace.bytes("sub/c.txt"), changed);
    undo(editor, &accepted);
    is_moved();
    resolve(editor, "accept", json!([{ "hunkId": name["hunkId"] }]));
    assert_eq!(pending(editor), ["modify c.txt"]);
    resolve(editor, "reject", all);
    is_back("sub/c.txt");
}

#[test]
fn a_closed_file_goes_back_with_its_name_its_mode_and_its_bytes() {
    let workspace = Workspace::new(&[]);
    let bytes = b"\xef\xbb\xbfone\r\ntwo\ncaf\xc3\xa9";
    workspace.write("a.txt", bytes);
    let editor = Editor::open(&workspace, &automatic());
    check_decisions(&editor, &workspace, bytes, b"\xef\xbb\xbfone\r\nTWO\ncaf\xc3\xa9");
}

#[track_caller]
fn check_open(kind: Kind, told: Told) {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = Start::new(&workspace).kind(kind).told(told).settings(&automatic()).start();
    editor.open_file("a.txt");
    let changed = BEFORE.replace("two", "TWO");
    check_decisions(&editor, &workspace, BEFORE.as_bytes(), changed.as_bytes());
    let asked = editor.asked("workspace/applyEdit");
    let renames = asked.iter().filter(|it| it["edit"]["documentChanges"][0]["kind"] == "rename");
    assert_eq!(renames.count(), 3, "there, back, and there again");
    let open: Vec<String> = editor.lock().documents.keys().cloned().collect();
    assert_eq!(open, [editor.uri("sub/c.txt")]);
}

#[test]
fn a_strict_editor_moves_what_it_has_open() {
    check_open(Kind::Strict, Told::BeforeAnswer);
}

#[test]
fn a_lying_editor_moves_what_it_has_open() {
    check_open(Kind::Lying, Told::AfterAnswer);
}

#[test]
fn what_was_read_of_a_file_is_known_under_the_name_it_gets_back() {
    let workspace = Workspace::new(&[("a.txt", "one\ntwo\nthree\n")]);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    let edit = |path: &str, old: &str, new: &str| {
        let input = json!({ "file_path": path, "old_string": old, "new_string": new });
        session.tool("Edit", input)
    };
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    session.tool("ApplyPatch", patch(BODY)).ok();
    let rejected = resolve(&editor, "reject", json!([{ "all": true }]));
    // The lines that are as they were read, not those that the person brought back.
    edit("a.txt", "three", "THREE").ok();
    assert!(edit("a.txt", "two", "2").err().contains("2\ttwo"));
    resolve(&editor, "reject", json!([{ "all": true }]));
    undo(&editor, &rejected);
    edit("sub/c.txt", "one", "ONE").ok();
}

#[test]
fn unsaved_text_stays_where_it_is() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = Editor::open(&workspace, &automatic());
    editor.open_file("a.txt");
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    editor.type_before("a.txt", "one", "typed ");
    let told = session.tool("ApplyPatch", patch(BODY)).err();
    assert!(told.contains("unsaved text") && told.contains("save it"), "{told}");
    assert!(workspace.has("a.txt") && !workspace.has("sub/c.txt"));
    editor.save("a.txt");
    session.tool("ApplyPatch", patch(BODY)).ok();
    editor.type_before("sub/c.txt", "one", "and more ");
    let resolved = resolve(&editor, "reject", json!([{ "all": true }]));
    let reason = resolved["conflicts"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("unsaved text"), "{resolved}");
    assert_eq!(pending(&editor), ["rename c.txt (a.txt)"]);
    editor.save("sub/c.txt");
    resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(workspace.read("a.txt"), format!("typed and more {BEFORE}"));
    assert!(pending(&editor).is_empty() && !workspace.has("sub/c.txt"));
}

#[test]
fn an_editor_that_cannot_rename_is_said_to_show_the_old_name() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = Start::new(&workspace).kind(Kind::Headless).settings(&automatic()).start();
    editor.open_file("a.txt");
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    let told = session.tool("ApplyPatch", patch(BODY)).ok();
    assert!(told.contains("still shows the old name"), "{told}");
    assert!(!workspace.has("a.txt"));
    assert_eq!(workspace.read("sub/c.txt"), BEFORE.replace("two", "TWO"));
}

#[test]
fn moves_one_after_the_other_go_back_in_the_right_order() {
    let workspace = Workspace::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    for (from, to) in [("b.txt", "c.txt"), ("a.txt", "b.txt"), ("c.txt", "d.txt")] {
        session
            .tool("ApplyPatch", patch(&format!("*** Update File: {from}\n*** Move to: {to}")))
            .ok();
    }
    assert_eq!(pending(&editor), ["rename b.txt (a.txt)", "rename d.txt (b.txt)"]);
    let resolved = resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(resolved["conflicts"], json!([]), "{resolved}");
    assert_eq!((workspace.read("a.txt"), workspace.read("b.txt")), ("a\n".into(), "b\n".into()));
}

#[test]
fn a_move_is_pending_after_a_restart() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    session.tool("ApplyPatch", patch("*** Update File: a.txt\n*** Move to: c.txt")).ok();
    editor.request("shutdown", Value::Null);
    drop(editor);
    let editor = Editor::open(&workspace, &automatic());
    until("the move to be known", std::time::Duration::from_secs(10), || {
        pending(&editor) == ["rename c.txt (a.txt)"]
    });
    resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(workspace.read("a.txt"), BEFORE);
}

#[test]
fn a_file_that_changed_is_not_deleted() {
    let workspace = Workspace::new(&[("a.txt", BEFORE), ("b.txt", BEFORE)]);
    let editor = Editor::open(&workspace, &json!({}));
    let session = editor.session();
    let delete = |path: &str| json!({ "paths": [path], "reason": "unused" });
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    workspace.write("a.txt", "changed\n");
    let told = session.tool("Delete", delete("a.txt")).err();
    assert!(told.contains("changed since it was read"), "{told}");
    let path = workspace.path("b.txt");
    editor.permit_by(move |_| {
        std::fs::write(&path, "changed while asked\n").unwrap();
        crate::editor::ALLOW
    });
    let told = session.tool("Delete", delete("b.txt")).err();
    assert!(told.contains("changed while the person was asked"), "{told}");
    assert!(workspace.has("a.txt") && workspace.has("b.txt"));
}

#[test]
fn a_path_that_no_file_can_have_is_refused_in_short() {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    let long = "a/".repeat(4_000);
    for (tool, input) in [
        ("Read", json!({ "file_path": long })),
        ("Write", json!({ "file_path": long, "content": "x" })),
        ("Delete", json!({ "paths": [long], "reason": "unused" })),
        ("Grep", json!({ "pattern": "x", "path": long })),
        ("ApplyPatch", patch(&format!("*** Add File: {long}\n+x"))),
    ] {
        let told = session.tool(tool, input).err();
        assert!(told.contains("8000 bytes long") && told.len() < 1_000, "{tool}: {told}");
    }
}

#[test]
fn what_is_appended_to_a_damaged_utf16_file_leaves_its_bytes() {
    let workspace = Workspace::new(&[]);
    let mut bytes = b"\xff\xfeo\0n\0e\0\n\0t\0".to_vec();
    bytes.extend_from_slice(b"\x00\xd8");
    workspace.write("a.txt", &bytes);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    session.tool("Write", json!({ "file_path": "a.txt", "content": "x", "mode": "append" })).ok();
    bytes.extend_from_slice(b"x\0");
    assert_eq!(workspace.bytes("a.txt"), bytes);
}

#[test]
fn what_a_command_changes_is_accepted_at_once_where_review_is_automatic() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor =
        Editor::open(&workspace, &json!({ "mode": "auto", "edits": { "review": "auto" } }));
    let session = editor.session();
    session.tool("Bash", json!({ "command": "echo more >> a.txt" })).ok();
    assert_eq!(hunks(&editor), Vec::<Value>::new());
    assert_eq!(workspace.read("a.txt"), format!("{BEFORE}more\n"));
}

#[test]
fn a_move_is_rewound_and_that_is_undone() {
    for is_open in [false, true] {
        let workspace = Workspace::new(&[("a.txt", BEFORE)]);
        let (_model, settings) = mover();
        let editor = Editor::open(&workspace, &settings);
        if is_open {
            editor.open_file("a.txt");
        }
        let session = editor.session();
        session.prompt("move it");
        assert_eq!(pending(&editor), ["rename c.txt (a.txt)"], "open: {is_open}");
        let listed = editor.request("copydesk/checkpoint/list", json!({ "sessionId": session.id }));
        let restore = json!({ "checkpointId": listed["checkpoints"][0]["id"] });
        let restored = editor.request("copydesk/checkpoint/restore", restore);
        assert_eq!(restored["conflicts"], json!([]), "open: {is_open}: {restored}");
        assert_eq!(workspace.read("a.txt"), BEFORE, "open: {is_open}");
        assert!(!workspace.has("sub/c.txt") && pending(&editor).is_empty(), "open: {is_open}");
        undo(&editor, &restored);
        assert!(!workspace.has("a.txt"), "open: {is_open}");
        assert_eq!(workspace.read("sub/c.txt"), BEFORE.replace("two", "TWO"), "open: {is_open}");
        assert_eq!(pending(&editor), ["rename c.txt (a.txt)"], "open: {is_open}");
    }
}

const WIDE: &[u8] = b"\xff\xfea\0\xe4\0\r\0\n\0";
const LATIN: &[u8] = b"b\xff1\r\nb2\n";

/// A patch over `a` (UTF-16, 0o751) and `b` (Latin-1, 0o640), which are not open: what stands where then, with
/// which mode, and that rejecting it brings everything back.
#[track_caller]
fn check_names(body: &str, expected: &[(&str, &[u8], u32)], told: &[&str]) {
    let workspace = Workspace::new(&[]);
    let before = [("a", WIDE, 0o751), ("b", LATIN, 0o640)];
    for (name, bytes, mode) in before {
        workspace.write(name, bytes);
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(workspace.path(name), mode).unwrap();
    }
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    for (name, ..) in before {
        session.tool("Read", json!({ "file_path": name })).ok();
    }
    session.tool("ApplyPatch", patch(body)).ok();
    let stands = |expected: &[(&str, &[u8], u32)]| {
        for (name, bytes, wanted) in expected {
            let is = workspace.bytes(name).escape_ascii().to_string();
            assert_eq!(is, bytes.escape_ascii().to_string(), "{name}");
            assert_eq!(mode(&workspace, name), *wanted, "{name}");
        }
        for name in ["a", "b", "c"].iter().filter(|it| !expected.iter().any(|(of, ..)| of == *it)) {
            assert!(!workspace.has(name), "{name}");
        }
    };
    stands(expected);
    assert_eq!(pending(&editor), told);
    let resolved = resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(resolved["conflicts"], json!([]), "{resolved}");
    stands(&before);
    assert!(pending(&editor).is_empty());
}

fn moving(moves: &[(&str, &str)]) -> String {
    let one = |(from, to): &(&str, &str)| format!("*** Update File: {from}\n*** Move to: {to}");
    moves.iter().map(one).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_name_that_is_left_can_be_taken_and_all_goes_back() {
    let added = format!("{}\n*** Add File: a\n+new", moving(&[("a", "c")]));
    check_names(
        &added,
        &[("c", WIDE, 0o751), ("a", b"new\n", 0o644), ("b", LATIN, 0o640)],
        &["add a", "rename c (a)"],
    );
    check_names(
        &moving(&[("a", "c"), ("b", "a")]),
        &[("c", WIDE, 0o751), ("a", LATIN, 0o640)],
        &["rename a (b)", "rename c (a)"],
    );
    check_names(
        &moving(&[("a", "t"), ("b", "a"), ("t", "b")]),
        &[("b", WIDE, 0o751), ("a", LATIN, 0o640)],
        &["modify a", "modify b"],
    );
    check_names(
        &format!("*** Delete File: b\n{}", moving(&[("a", "b")])),
        &[("b", WIDE, 0o751)],
        &["delete a", "modify b"],
    );
}

#[test]
fn what_is_no_text_can_take_a_name_too() {
    let workspace = Workspace::new(&[]);
    let (one, two) = (b"\0\x01\x02".as_slice(), b"\x89PNG\r\n\x1a\n\0\0".as_slice());
    workspace.write("a", one);
    workspace.write("b", two);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    let told = session.tool("ApplyPatch", patch(&moving(&[("a", "t"), ("b", "a"), ("t", "b")])));
    let told = told.ok();
    assert!(told.contains("the person cannot review it"), "{told}");
    assert_eq!((workspace.bytes("a"), workspace.bytes("b")), (two.to_vec(), one.to_vec()));
    let body = format!("*** Delete File: b\n{}", moving(&[("a", "b")]));
    session.tool("ApplyPatch", patch(&body)).ok();
    assert_eq!(workspace.bytes("b"), two);
    assert!(!workspace.has("a"));
    let body = format!("{}\n*** Add File: b\n+text", moving(&[("b", "c")]));
    session.tool("ApplyPatch", patch(&body)).ok();
    assert_eq!((workspace.bytes("c"), workspace.read("b")), (two.to_vec(), "text\n".to_owned()));
}

#[test]
fn a_plain_language_client_is_told_that_a_file_moved() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let (_model, settings) = mover();
    let editor = Start::new(&workspace).kind(Kind::Bare).settings(&settings).start();
    let prompt = json!({ "command": "copydesk.prompt", "arguments": ["move it"] });
    editor.request("workspace/executeCommand", prompt);
    let told = diagnostics(&editor, 2);
    assert_eq!(told[0]["message"], "Pending: the agent's move from `a.txt`");
    assert_eq!(told[1]["message"], "Pending: the agent's change `TWO`");
}

//! Documents of every kind: untitled, closed, reopened with version 0, of several roots, changed on disk.

use serde_json::json;

use crate::editor::document::Document;
use crate::editor::{Editor, Start};
use crate::workspace::{Workspace, uri};

fn desk(files: &[(&str, &str)]) -> (Workspace, Editor) {
    let workspace = Workspace::new(files);
    let editor = Editor::open(&workspace, &json!({}));
    (workspace, editor)
}

#[track_caller]
fn read(editor: &Editor, path: &str) -> String {
    editor.tool("Read", json!({ "file_path": path })).ok()
}

#[test]
fn the_buffer_is_read_in_place_of_the_disk() {
    let (workspace, editor) = desk(&[("a.txt", "disk\n")]);
    editor.open_file("a.txt");
    editor.retype("a.txt", "disk", "buffer");
    assert!(read(&editor, "a.txt").contains("buffer"));
    assert_eq!(workspace.read("a.txt"), "disk\n");
}

#[test]
fn a_whole_text_change_replaces_everything() {
    let (workspace, editor) = desk(&[("a.txt", "disk\n")]);
    editor.open_file("a.txt");
    editor.notify(
        "textDocument/didChange",
        json!({
            "textDocument": { "uri": workspace.uri("a.txt"), "version": 2 },
            "contentChanges": [{ "text": "all new\n" }],
        }),
    );
    let text = read(&editor, "a.txt");
    assert!(text.contains("all new") && !text.contains("disk"), "{text}");
}

#[test]
fn changes_of_one_notification_apply_in_turn() {
    let (workspace, editor) = desk(&[("a.txt", "abc\n")]);
    editor.open_file("a.txt");
    let at = |from: u32, to: u32| json!({ "start": { "line": 0, "character": from }, "end": { "line": 0, "character": to } });
    editor.notify("textDocument/didChange", json!({
        "textDocument": { "uri": workspace.uri("a.txt"), "version": 2 },
        "contentChanges": [{ "range": at(0, 1), "text": "xyz" }, { "range": at(3, 4), "text": "B" }],
    }));
    assert!(read(&editor, "a.txt").contains("xyzBc"));
}

#[test]
fn an_untitled_document_is_read_and_searched() {
    let (_workspace, editor) = desk(&[]);
    editor.open_text("untitled:Untitled-1", "never saved\n");
    assert!(read(&editor, "untitled:Untitled-1").contains("never saved"));
    let found =
        editor.tool("Grep", json!({ "pattern": "never sav", "output_mode": "content" })).ok();
    assert!(found.contains("untitled:Untitled-1"), "{found}");
}

#[test]
fn an_open_file_that_is_not_on_disk_yet_is_read() {
    let (workspace, editor) = desk(&[]);
    editor.open_text(&workspace.uri("later.txt"), "only here\n");
    assert!(read(&editor, "later.txt").contains("only here"));
    let found = editor.tool("Glob", json!({ "pattern": "*.txt" })).ok();
    assert!(found.contains("later.txt"), "{found}");
}

#[test]
fn a_closed_document_is_the_disk_again() {
    let (_workspace, editor) = desk(&[("a.txt", "disk\n")]);
    editor.open_file("a.txt");
    editor.retype("a.txt", "disk", "thrown away");
    editor.close("a.txt");
    assert!(read(&editor, "a.txt").contains("disk"));
}

#[test]
fn a_document_reopened_with_version_0_is_followed() {
    let (workspace, editor) = desk(&[("a.txt", "disk\n")]);
    let uri = editor.open_file("a.txt");
    editor.retype("a.txt", "disk", "first life");
    editor.close("a.txt");
    editor.lock().open(&uri, Document::new("second life\n", 0));
    assert!(read(&editor, "a.txt").contains("second life"));
    editor.retype("a.txt", "second", "longer");
    assert!(read(&editor, "a.txt").contains("longer life"));
    assert_eq!(workspace.read("a.txt"), "disk\n");
}

#[test]
fn a_change_of_a_document_nobody_opened_is_ignored() {
    let (workspace, editor) = desk(&[("a.txt", "disk\n")]);
    editor.notify(
        "textDocument/didChange",
        json!({
            "textDocument": { "uri": workspace.uri("a.txt"), "version": 9 },
            "contentChanges": [{ "text": "nobody's\n" }],
        }),
    );
    editor.notify(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": workspace.uri("a.txt") } }),
    );
    assert!(read(&editor, "a.txt").contains("disk"));
}

#[test]
fn names_with_odd_characters_are_one_document_however_they_are_escaped() {
    let name = "odd [1] #é%20.txt";
    let (workspace, editor) = desk(&[(name, "disk\n")]);
    // Neovim escapes more than others, in lower-case hexadecimal.
    let plain = workspace.uri(name);
    let (folder, _) = plain.rsplit_once('/').unwrap();
    editor.open_text(&format!("{folder}/odd%20%5b1%5d%20%23%c3%a9%2520.txt"), "buffer\n");
    assert!(read(&editor, name).contains("buffer"));
}

#[test]
fn several_roots_with_the_same_path_stay_apart() {
    let workspace = Workspace::new(&[("one/a.txt", "of one\n"), ("two/a.txt", "of two\n")]);
    let (one, two) = (workspace.path("one"), workspace.path("two"));
    let editor = Start::new(&workspace).folders(&[uri(&one), uri(&two)]).start();
    editor.open_file("two/a.txt");
    editor.retype("two/a.txt", "of two", "unsaved two");
    for (folder, text) in [(&one, "of one"), (&two, "unsaved two")] {
        let path = folder.join("a.txt");
        let shown = read(&editor, path.to_str().unwrap());
        assert!(shown.contains(text), "{shown}");
    }
    assert!(
        editor.asked("session/request_permission").is_empty(),
        "both roots are inside the workspace"
    );
}

#[test]
fn a_folder_added_later_is_inside() {
    let (workspace, editor) = desk(&[]);
    let other = workspace.beside("data");
    std::fs::write(other.join("b.txt"), "added\n").unwrap();
    let event = json!({ "added": [{ "uri": uri(&other), "name": "data" }], "removed": [] });
    editor.notify("workspace/didChangeWorkspaceFolders", json!({ "event": event }));
    assert!(read(&editor, other.join("b.txt").to_str().unwrap()).contains("added"));
    assert!(editor.asked("session/request_permission").is_empty());
}

#[test]
fn a_file_changed_on_disk_is_read_anew() {
    let (workspace, editor) = desk(&[("a.txt", "before\n")]);
    assert!(read(&editor, "a.txt").contains("before"));
    workspace.write("a.txt", "after\n");
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({ "changes": [{ "uri": workspace.uri("a.txt"), "type": 2 }] }),
    );
    assert!(read(&editor, "a.txt").contains("after"));
}

#[test]
fn changed_settings_count_at_once() {
    let (_workspace, editor) = desk(&[("a.txt", "text\n")]);
    read(&editor, "a.txt");
    let settings = json!({ "permissions": { "deny": ["Read(a.txt)"] } });
    editor.notify("workspace/didChangeConfiguration", json!({ "settings": settings }));
    let refused = editor.tool("Read", json!({ "file_path": "a.txt" })).err();
    assert!(refused.contains("denied") && refused.contains("Read(a.txt)"), "{refused}");
}

#[test]
fn broken_settings_are_named_and_stop_nothing() {
    let workspace = Workspace::new(&[("a.txt", "text\n")]);
    workspace.configure("mode = 5\nmodle = \"x\"\n");
    let editor = Editor::open(&workspace, &json!({ "nonsense": true, "permissions": "all" }));
    assert!(read(&editor, "a.txt").contains("text"));
    let problems = editor.request("copydesk/status", json!({}))["problems"].to_string();
    assert!(problems.contains("mode") && problems.contains("modle"), "{problems}");
}

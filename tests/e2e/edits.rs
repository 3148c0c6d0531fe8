//! An edit, end to end: into the buffer, verified, rebased over what the person typed, saved by policy, or to disk.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::editor::document::Document;
use crate::editor::session::{Called, Session};
use crate::editor::{ALLOW, Answer, Editor, Kind, Start, Told};
use crate::model::{Model, Step};
use crate::workspace::{Workspace, until};

const LINES: &str = "one\ntwo\nthree\nfour\nfive\n";

fn desk(files: &[(&str, &str)]) -> (Workspace, Editor) {
    let workspace = Workspace::new(files);
    let editor = Editor::open(&workspace, &json!({}));
    (workspace, editor)
}

fn lying(workspace: &Workspace, told: Told) -> Editor {
    Start::new(workspace).kind(Kind::Lying).told(told).start()
}

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": path, "old_string": old, "new_string": new })
}

/// Reads the file, so that its lines are seen.
#[track_caller]
fn seen<'a>(editor: &'a Editor, path: &str) -> Session<'a> {
    let session = editor.session();
    session.tool("Read", json!({ "file_path": path })).ok();
    session
}

// Where the text goes.

#[test]
fn a_dirty_buffer_is_edited_and_the_disk_untouched() {
    let (workspace, editor) = desk(&[("a.txt", LINES)]);
    editor.open_file("a.txt");
    editor.type_before("a.txt", "one", "unsaved ");
    seen(&editor, "a.txt").tool("Edit", edit("a.txt", "five", "FIVE")).ok();
    assert_eq!(editor.text("a.txt"), "unsaved one\ntwo\nthree\nfour\nFIVE\n");
    assert_eq!(workspace.read("a.txt"), LINES);
    assert!(editor.is_dirty("a.txt") && editor.lock().saved.is_empty());
}

#[test]
fn a_clean_buffer_is_saved_once_the_edit_is_approved() {
    let (workspace, editor) = desk(&[("a.txt", LINES)]);
    editor.open_file("a.txt");
    seen(&editor, "a.txt").tool("Edit", edit("a.txt", "two", "TWO")).ok();
    assert_eq!(editor.text("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
    until("the save", Duration::from_secs(10), || {
        workspace.read("a.txt") == "one\nTWO\nthree\nfour\nfive\n"
    });
    until("a clean buffer", Duration::from_secs(10), || !editor.is_dirty("a.txt"));
}

#[test]
fn an_edit_the_person_did_not_approve_is_not_saved() {
    let (workspace, editor) = desk(&[("a.txt", LINES)]);
    editor.open_file("a.txt");
    let session = seen(&editor, "a.txt");
    session.set("mode", "edit");
    session.tool("Edit", edit("a.txt", "two", "TWO")).ok();
    editor.request("copydesk/status", json!({}));
    assert!(editor.text("a.txt").contains("TWO"));
    assert_eq!(workspace.read("a.txt"), LINES);
    assert!(editor.lock().saved.is_empty());
}

#[test]
fn save_never_leaves_every_buffer_dirty() {
    let workspace = Workspace::new(&[("a.txt", LINES)]);
    let editor = Editor::open(&workspace, &json!({ "edits": { "save": "never" } }));
    editor.open_file("a.txt");
    seen(&editor, "a.txt").tool("Edit", edit("a.txt", "two", "TWO")).ok();
    assert!(editor.is_dirty("a.txt"));
    assert_eq!(workspace.read("a.txt"), LINES);
}

#[test]
fn an_untitled_document_is_edited() {
    let (_workspace, editor) = desk(&[]);
    editor.open_text("untitled:Untitled-1", "never\nsaved\n");
    seen(&editor, "untitled:Untitled-1")
        .tool("Edit", edit("untitled:Untitled-1", "saved", "stored"))
        .ok();
    assert_eq!(editor.text("untitled:Untitled-1"), "never\nstored\n");
}

#[test]
fn a_closed_file_is_written_by_the_server() {
    let (workspace, editor) = desk(&[("a.txt", LINES)]);
    seen(&editor, "a.txt").tool("Edit", edit("a.txt", "two", "TWO")).ok();
    assert_eq!(workspace.read("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
    assert!(editor.lock().applied.is_empty(), "no tab is opened for it");
    let names: Vec<_> =
        std::fs::read_dir(workspace.root()).unwrap().flatten().map(|e| e.file_name()).collect();
    assert_eq!(names.len(), 1, "nothing temporary is left: {names:?}");
}

#[test]
fn a_closed_file_keeps_mode_bom_and_line_endings() {
    let workspace = Workspace::new(&[]);
    workspace.write("run.sh", "\u{feff}one\r\ntwo\r\nthree");
    std::fs::set_permissions(workspace.path("run.sh"), std::fs::Permissions::from_mode(0o751))
        .unwrap();
    let editor = Editor::open(&workspace, &json!({}));
    seen(&editor, "run.sh").tool("Edit", edit("run.sh", "one\ntwo", "one\nzwei\ndrei")).ok();
    assert_eq!(workspace.read("run.sh"), "\u{feff}one\r\nzwei\r\ndrei\r\nthree");
    assert_eq!(
        std::fs::metadata(workspace.path("run.sh")).unwrap().permissions().mode() & 0o777,
        0o751
    );
}

#[test]
fn mixed_line_endings_of_untouched_lines_stay() {
    let workspace = Workspace::new(&[]);
    workspace.write("a.txt", "one\r\ntwo\nthree\r\nfour\n");
    let editor = Editor::open(&workspace, &json!({}));
    seen(&editor, "a.txt").tool("Edit", edit("a.txt", "two", "TWO")).ok();
    assert_eq!(workspace.read("a.txt"), "one\r\nTWO\nthree\r\nfour\n");
}

#[test]
fn bytes_that_are_no_text_stay_on_untouched_lines() {
    let workspace = Workspace::new(&[]);
    workspace.write("a.txt", b"first line\ncaf\xe9 \x99\nlast line\n");
    let editor = Editor::open(&workspace, &json!({}));
    seen(&editor, "a.txt").tool("Edit", edit("a.txt", "first line", "FIRST LINE")).ok();
    assert_eq!(workspace.bytes("a.txt"), b"FIRST LINE\ncaf\xe9 \x99\nlast line\n");
}

#[test]
fn a_character_the_encoding_lacks_is_refused() {
    let workspace = Workspace::new(&[]);
    workspace.write("a.txt", b"caf\xe9\nplain\n");
    let editor = Editor::open(&workspace, &json!({}));
    editor.open_file("a.txt");
    seen(&editor, "a.txt").tool("Edit", edit("a.txt", "plain", "日")).err();
    assert_eq!(editor.text("a.txt"), "café\nplain\n");
    assert_eq!(workspace.bytes("a.txt"), b"caf\xe9\nplain\n");
}

#[test]
fn a_symlink_stays_a_symlink() {
    let (workspace, editor) = desk(&[("real.txt", LINES)]);
    std::os::unix::fs::symlink("real.txt", workspace.path("link.txt")).unwrap();
    seen(&editor, "link.txt").tool("Edit", edit("link.txt", "two", "TWO")).ok();
    assert!(
        std::fs::symlink_metadata(workspace.path("link.txt")).unwrap().file_type().is_symlink()
    );
    assert!(workspace.read("real.txt").contains("TWO"));
}

#[test]
fn an_edit_through_a_symlink_lands_in_the_open_buffer() {
    let (workspace, editor) = desk(&[("real.txt", LINES)]);
    std::os::unix::fs::symlink("real.txt", workspace.path("link.txt")).unwrap();
    editor.open_file("real.txt");
    editor.type_before("real.txt", "one", "unsaved ");
    seen(&editor, "link.txt").tool("Edit", edit("link.txt", "two", "TWO")).ok();
    assert_eq!(editor.text("real.txt"), "unsaved one\nTWO\nthree\nfour\nfive\n");
    assert_eq!(workspace.read("real.txt"), LINES);
}

#[test]
fn a_new_file_is_written_with_its_folders() {
    let (workspace, editor) = desk(&[]);
    editor
        .session()
        .tool("Write", json!({ "file_path": "deep/er/new.txt", "content": "a\nb\n" }))
        .ok();
    assert_eq!(workspace.read("deep/er/new.txt"), "a\nb\n");
}

#[test]
fn a_headless_client_gets_its_edits_on_disk() {
    let workspace = Workspace::new(&[("a.txt", LINES)]);
    let editor = Start::new(&workspace).kind(Kind::Headless).start();
    seen(&editor, "a.txt").tool("Edit", edit("a.txt", "two", "TWO")).ok();
    assert_eq!(workspace.read("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
    assert!(editor.lock().applied.is_empty());
}

#[test]
fn a_crlf_buffer_stays_crlf() {
    for kind in [Kind::Strict, Kind::Lying] {
        let workspace = Workspace::new(&[("a.txt", "one\r\ntwo\r\nthree\r\n")]);
        let editor = Start::new(&workspace).kind(kind).start();
        editor.open_file("a.txt");
        editor.type_before("a.txt", "three", "unsaved ");
        seen(&editor, "a.txt").tool("Edit", edit("a.txt", "one\ntwo", "eins\nzwei\nmehr")).ok();
        assert_eq!(editor.text("a.txt"), "eins\r\nzwei\r\nmehr\r\nunsaved three\r\n", "{kind:?}");
    }
}

/// An editor that shows a file with mixed line endings as one kind rewrites all of it on saving.
#[test]
fn a_buffer_whose_editor_would_rewrite_the_file_is_edited_and_not_saved() {
    let workspace = Workspace::new(&[]);
    workspace.write("a.txt", "one\r\ntwo\nthree\r\n");
    let editor = Editor::open(&workspace, &json!({}));
    editor.lock().open(&workspace.uri("a.txt"), Document::new("one\r\ntwo\r\nthree\r\n", 1));
    seen(&editor, "a.txt").tool("Edit", edit("a.txt", "three", "THREE")).ok();
    assert_eq!(editor.text("a.txt"), "one\r\ntwo\r\nTHREE\r\n");
    assert_eq!(workspace.read("a.txt"), "one\r\ntwo\nthree\r\n");
    assert!(editor.lock().saved.is_empty());
}

#[test]
fn a_buffer_the_editor_holds_read_only_is_not_edited() {
    let (_workspace, editor) = desk(&[("a.txt", LINES)]);
    let uri = editor.open_file("a.txt");
    let mut state = editor.lock().documents[&uri].state(&uri);
    state["readOnly"] = json!(true);
    editor.notify("copydesk/editor/didChangeState", json!({ "documents": [state] }));
    let error = seen(&editor, "a.txt").tool("Edit", edit("a.txt", "two", "TWO")).err();
    assert!(error.contains("read-only") || error.contains("read only"), "{error}");
    assert_eq!(editor.text("a.txt"), LINES);
}

#[test]
fn two_sessions_edit_one_document_at_the_same_time() {
    for kind in [Kind::Strict, Kind::Lying] {
        let text: String = (0..20).map(|n| format!("line {n:02}\n")).collect();
        let workspace = Workspace::new(&[("a.txt", &text)]);
        let editor = Start::new(&workspace).kind(kind).settings(&json!({ "mode": "edit" })).start();
        editor.open_file("a.txt");
        editor.type_before("a.txt", "line 00", "unsaved ");
        let sessions = [seen(&editor, "a.txt"), seen(&editor, "a.txt")];
        let start = |n: usize| {
            sessions[n % 2]
                .begin_tool("Edit", edit("a.txt", &format!("line {n:02}"), &format!("LINE {n:02}")))
        };
        let calls: Vec<_> = (0..20).map(start).collect();
        for (n, call) in calls.into_iter().enumerate() {
            sessions[n % 2].finish_tool(call).ok();
        }
        assert_eq!(
            editor.text("a.txt"),
            format!("unsaved {}", text.replace("line", "LINE")),
            "{kind:?}"
        );
    }
}

#[test]
fn a_rewritten_file_is_changed_only_where_it_differs() {
    let lines: Vec<String> = (0..200).map(|n| format!("line {n}")).collect();
    let before = lines.join("\n") + "\n";
    let (_workspace, editor) = desk(&[("a.txt", &before)]);
    editor.open_file("a.txt");
    let after = before.replace("line 20\n", "LINE 20\n").replace("line 150\n", "LINE 150\n");
    seen(&editor, "a.txt").tool("Write", json!({ "file_path": "a.txt", "content": after })).ok();
    assert_eq!(editor.text("a.txt"), after);
    let state = editor.lock();
    let edits = state.applied[0]["edit"]["documentChanges"][0]["edits"].as_array().unwrap();
    let size: usize = edits.iter().map(|e| e["newText"].as_str().unwrap().len()).sum();
    assert!(edits.len() == 2 && size < 40, "{edits:?}");
}

#[test]
fn the_person_saves_after_the_agents_edit_without_a_conflict() {
    let (workspace, editor) = desk(&[("a.txt", LINES)]);
    editor.open_file("a.txt");
    editor.type_before("a.txt", "one", "unsaved ");
    let session = seen(&editor, "a.txt");
    session.tool("Edit", edit("a.txt", "two", "TWO")).ok();
    editor.type_before("a.txt", "five", "more ");
    editor.save("a.txt");
    assert_eq!(workspace.read("a.txt"), "unsaved one\nTWO\nthree\nfour\nmore five\n");
    session.tool("Edit", edit("a.txt", "TWO", "zwei")).ok();
    assert!(editor.text("a.txt").contains("zwei"));
}

// What the tool promises.

#[test]
fn several_edits_of_one_call_land_together_or_not_at_all() {
    let (_workspace, editor) = desk(&[("a.txt", LINES)]);
    editor.open_file("a.txt");
    let session = seen(&editor, "a.txt");
    let edits = |last: &str| {
        json!({ "file_path": "a.txt", "edits": [
            { "old_string": "one", "new_string": "1" },
            { "old_string": "1\ntwo", "new_string": "1\n2" },
            { "old_string": last, "new_string": "5" },
        ] })
    };
    session.tool("MultiEdit", edits("sixty")).err();
    assert_eq!(editor.text("a.txt"), LINES);
    session.tool("MultiEdit", edits("five")).ok();
    assert_eq!(editor.text("a.txt"), "1\n2\nthree\nfour\n5\n");
}

#[test]
fn a_missing_text_shows_the_closest_line() {
    let (_workspace, editor) = desk(&[("a.txt", "fn main() {\n    let total = 10;\n}\n")]);
    let error = seen(&editor, "a.txt").tool("Edit", edit("a.txt", "    let totl = 10;", "x")).err();
    assert!(error.contains("let total = 10;") && error.contains('2'), "{error}");
}

#[test]
fn a_text_that_is_there_twice_is_refused_with_both_places() {
    let (_workspace, editor) = desk(&[("a.txt", "same\nother\nsame\n")]);
    let error = seen(&editor, "a.txt").tool("Edit", edit("a.txt", "same", "x")).err();
    assert!(error.contains('1') && error.contains('3'), "{error}");
}

#[test]
fn a_file_nobody_read_is_not_overwritten() {
    let workspace = Workspace::new(&[("a.txt", LINES)]);
    let model = Model::new([Step::call("Write", json!({ "file_path": "a.txt", "content": "x" }))]);
    let editor = Editor::open(&workspace, &model.settings());
    editor.session().prompt("overwrite it");
    assert_eq!(workspace.read("a.txt"), LINES);
    assert!(model.results()[0].to_lowercase().contains("read"), "{:?}", model.results());
}

#[test]
fn a_touched_file_is_still_the_file_that_was_read() {
    let (workspace, editor) = desk(&[("a.txt", LINES)]);
    let session = seen(&editor, "a.txt");
    workspace.write("a.txt", LINES);
    let later = std::time::SystemTime::now() + Duration::from_secs(3600);
    std::fs::File::options()
        .write(true)
        .open(workspace.path("a.txt"))
        .unwrap()
        .set_modified(later)
        .unwrap();
    session.tool("Edit", edit("a.txt", "two", "TWO")).ok();
}

#[test]
fn a_change_on_disk_while_permission_is_asked_is_noticed() {
    let (workspace, editor) = desk(&[("a.txt", LINES)]);
    let session = seen(&editor, "a.txt");
    editor.permit(Answer::Hold);
    let call = session.begin_tool("Edit", edit("a.txt", "two", "TWO"));
    editor.wait("the permission request", |s| (!s.held.is_empty()).then_some(()));
    workspace.write("a.txt", LINES.replace("two", "changed elsewhere"));
    editor.answer(&ALLOW);
    let error = session.finish_tool(call).err();
    assert!(error.contains("changed elsewhere"), "the current text is shown: {error}");
    assert!(workspace.read("a.txt").contains("changed elsewhere"));
}

// While the person types.

/// Starts an edit, types while permission is asked, then allows it.
#[track_caller]
fn edit_while_typing(kind: Kind, typed: impl Fn(&Editor)) -> (String, Called) {
    let workspace = Workspace::new(&[("a.txt", LINES)]);
    let editor = Start::new(&workspace).kind(kind).start();
    editor.open_file("a.txt");
    editor.type_before("a.txt", "one", "unsaved ");
    let session = seen(&editor, "a.txt");
    editor.permit(Answer::Hold);
    let call = session.begin_tool("Edit", edit("a.txt", "three", "THREE"));
    editor.wait("the permission request", |s| (!s.held.is_empty()).then_some(()));
    typed(&editor);
    editor.answer(&ALLOW);
    let called = session.finish_tool(call);
    (editor.text("a.txt"), called)
}

#[test]
fn what_was_typed_elsewhere_meanwhile_is_kept() {
    for kind in [Kind::Strict, Kind::Lying] {
        let (text, called) = edit_while_typing(kind, |editor| {
            editor.type_before("a.txt", "unsaved", "a new line\n");
            editor.type_before("a.txt", "five", "four and a half\n");
        });
        called.ok();
        assert_eq!(
            text, "a new line\nunsaved one\ntwo\nTHREE\nfour\nfour and a half\nfive\n",
            "{kind:?}"
        );
    }
}

#[test]
fn what_was_typed_into_the_same_place_wins_and_is_shown() {
    for kind in [Kind::Strict, Kind::Lying] {
        let (text, called) =
            edit_while_typing(kind, |editor| editor.retype("a.txt", "three", "3 by the person"));
        assert!(called.err().contains("3 by the person"), "{kind:?}");
        assert_eq!(text, "unsaved one\ntwo\n3 by the person\nfour\nfive\n", "{kind:?}");
    }
}

/// The person types between the request and the editor's check of versions.
#[track_caller]
fn typed_at_the_last_moment(editor: &Editor, workspace: &Workspace, expected: &str) {
    let uri = workspace.uri("a.txt");
    let session = seen(editor, "a.txt");
    editor.before_apply(move |state| state.type_before(&uri, "two", "typed\n"));
    session.tool("Edit", edit("a.txt", "four", "FOUR")).ok();
    assert_eq!(editor.text("a.txt"), expected);
    assert!(editor.lock().applied.len() >= 2, "the first try could not land");
}

#[test]
fn an_edit_a_strict_editor_refuses_is_rebased_and_sent_again() {
    let (workspace, editor) = desk(&[("a.txt", LINES)]);
    editor.open_file("a.txt");
    editor.type_before("a.txt", "one", "unsaved ");
    typed_at_the_last_moment(&editor, &workspace, "unsaved one\ntyped\ntwo\nthree\nFOUR\nfive\n");
}

#[test]
fn an_edit_a_lying_editor_skips_is_rebased_and_sent_again() {
    for told in [Told::BeforeAnswer, Told::AfterAnswer, Told::Debounced(Duration::from_millis(40))]
    {
        let workspace = Workspace::new(&[("a.txt", LINES)]);
        let editor = lying(&workspace, told);
        editor.open_file("a.txt");
        editor.type_before("a.txt", "one", "unsaved ");
        typed_at_the_last_moment(
            &editor,
            &workspace,
            "unsaved one\ntyped\ntwo\nthree\nFOUR\nfive\n",
        );
    }
}

#[test]
fn an_edit_misplaced_by_an_editor_that_does_not_check_loses_nothing_typed() {
    let workspace = Workspace::new(&[("a.txt", LINES)]);
    let editor = lying(&workspace, Told::AfterAnswer);
    let uri = editor.open_file("a.txt");
    let session = seen(&editor, "a.txt");
    // Version 0 is never checked: the edit meant for `four` lands one line too early, on `typed by the person`.
    editor.before_apply(move |state| state.type_before(&uri, "four", "typed by the person\n"));
    session.tool("Edit", edit("a.txt", "four", "FOUR"));
    assert!(!editor.lock().applied.is_empty(), "the editor was asked");
    until("the person's line", Duration::from_secs(10), || {
        editor.text("a.txt").contains("\ntyped by the person\n")
    });
}

#[test]
fn a_change_told_late_is_waited_for() {
    for told in [Told::AfterAnswer, Told::Debounced(Duration::from_millis(150))] {
        let workspace = Workspace::new(&[("a.txt", LINES)]);
        let editor = lying(&workspace, told);
        editor.open_file("a.txt");
        let session = seen(&editor, "a.txt");
        for (old, new) in [("one", "1"), ("two", "2"), ("three", "3")] {
            session.tool("Edit", edit("a.txt", old, new)).ok();
        }
        assert_eq!(editor.text("a.txt"), "1\n2\n3\nfour\nfive\n", "{told:?}");
    }
}

#[test]
fn the_agent_sees_its_own_edit_in_the_buffer() {
    let (_workspace, editor) = desk(&[("a.txt", LINES)]);
    editor.open_file("a.txt");
    editor.type_before("a.txt", "one", "unsaved ");
    let session = seen(&editor, "a.txt");
    session.tool("Edit", edit("a.txt", "two", "TWO")).ok();
    let read = session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    assert!(read.contains("unsaved one") && read.contains("TWO"), "{read}");
    session.tool("Edit", edit("a.txt", "TWO", "zwei")).ok();
    assert!(editor.text("a.txt").contains("zwei"));
}

#[test]
fn a_call_of_the_command_line_writes_the_disk() {
    let workspace = Workspace::new(&[("a.txt", LINES)]);
    let input = edit("a.txt", "two", "TWO").to_string();
    let root = workspace.root().to_str().unwrap().to_owned();
    let ran = workspace.cli(&["tools", "call", "Edit", &input, "--root", &root, "--mode", "edit"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(workspace.read("a.txt"), "one\nTWO\nthree\nfour\nfive\n");
}

#[test]
fn a_new_file_ends_its_lines_as_the_project_does_and_is_the_agents_alone() {
    for (attributes, content, written) in [
        ("", "x\r\ny\r\n", "x\ny\n"),
        ("", "x\ry\nz\n", "x\ry\nz\n"),
        ("* text eol=crlf\n", "x\ny\r\n", "x\r\ny\r\n"),
    ] {
        let workspace = Workspace::new(&[(".gitattributes", attributes)]);
        let editor = Editor::open(&workspace, &json!({ "mode": "edit" }));
        let session = editor.session();
        session.tool("Write", json!({ "file_path": "n.txt", "content": content })).ok();
        assert_eq!(workspace.read("n.txt"), written);
        let hunks = crate::review::hunks(&editor);
        assert_eq!((hunks.len(), &hunks[0]["state"]), (1, &json!("pending")), "{hunks:?}");
        let all = json!([{ "all": true }]);
        let rejected = crate::review::resolve(&editor, "reject", all);
        assert_eq!(rejected["conflicts"], json!([]), "{rejected}");
        assert!(!workspace.has("n.txt"), "{content:?}");
    }
}

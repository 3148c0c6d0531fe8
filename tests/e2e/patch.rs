//! Patches over several files and edits of notebook cells, end to end: buffers and closed files together, all or nothing.

use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::editor::session::Session;
use crate::editor::{ALLOW, Answer, Editor, REJECT};
use crate::model::{Model, Step};
use crate::workspace::{Workspace, until};

const LINES: &str = "one\ntwo\nthree\n";
const ASKED: &str = "session/request_permission";

fn desk(settings: &Value) -> (Workspace, Editor) {
    let workspace = Workspace::new(&[("a.txt", LINES), ("b.txt", LINES), ("secret/c.txt", LINES)]);
    let editor = Editor::open(&workspace, settings);
    (workspace, editor)
}

/// A session that has read the files.
#[track_caller]
fn seen<'a>(editor: &'a Editor) -> Session<'a> {
    let session = editor.session();
    for path in ["a.txt", "b.txt", "secret/c.txt"] {
        session.tool("Read", json!({ "file_path": path })).ok();
    }
    session
}

fn patch(body: &str) -> Value {
    json!({ "patch": format!("*** Begin Patch\n{body}\n*** End Patch\n") })
}

fn both() -> Value {
    patch(
        "*** Update File: a.txt\n@@\n-two\n+TWO\n three\n*** Update File: b.txt\n@@\n one\n-two\n+zwei",
    )
}

#[test]
fn a_dirty_buffer_and_a_closed_file_are_patched_together() {
    let (workspace, editor) = desk(&json!({}));
    editor.open_file("a.txt");
    editor.type_before("a.txt", "one", "unsaved ");
    let session = seen(&editor);
    let told = session.tool("apply_patch", both()).ok();
    assert!(told.contains("M a.txt") && told.contains("M b.txt"), "{told}");
    assert_eq!(editor.text("a.txt"), "unsaved one\nTWO\nthree\n");
    assert_eq!(workspace.read("a.txt"), LINES);
    assert_eq!(workspace.read("b.txt"), "one\nzwei\nthree\n");
    assert_eq!(editor.asked(ASKED).len(), 1, "one question for the whole patch");
    let card = session.cards().pop().unwrap();
    assert_eq!(card["title"], "Patch 2 files +2 −2");
    assert_eq!(card["content"].as_array().unwrap().len(), 2, "one diff a file: {card}");
}

#[test]
fn a_patch_whose_second_file_does_not_fit_changes_nothing() {
    let (workspace, editor) = desk(&json!({ "mode": "edit" }));
    editor.open_file("a.txt");
    editor.type_before("a.txt", "one", "unsaved ");
    let session = seen(&editor);
    for second in ["@@\n-none\n+x", "*** Move to: secret/c.txt"] {
        let body =
            format!("*** Update File: a.txt\n@@\n-two\n+TWO\n*** Update File: b.txt\n{second}");
        let told = session.tool("ApplyPatch", patch(&body)).err();
        assert!(told.contains("nothing was changed") && told.contains("b.txt"), "{told}");
        assert_eq!(editor.text("a.txt"), "unsaved one\ntwo\nthree\n");
        assert_eq!(
            (workspace.read("a.txt"), workspace.read("b.txt")),
            (LINES.into(), LINES.into())
        );
    }
    assert!(editor.lock().applied.is_empty());
}

/// The closed file is written before the buffer turns out to have changed: it is put back.
#[test]
fn a_patch_the_person_types_into_at_the_last_moment_is_taken_back_whole() {
    let (workspace, editor) = desk(&json!({ "mode": "edit" }));
    let uri = editor.open_file("a.txt");
    let session = seen(&editor);
    editor.before_apply(move |state| state.retype(&uri, "two", "2 by the person"));
    let told = session.tool("ApplyPatch", both()).err();
    assert!(told.contains("2 by the person"), "{told}");
    assert_eq!(editor.text("a.txt"), "one\n2 by the person\nthree\n");
    assert_eq!(workspace.read("b.txt"), LINES);
}

#[test]
fn a_rejected_patch_changes_nothing() {
    let (workspace, editor) = desk(&json!({}));
    editor.permit(REJECT);
    seen(&editor).tool("ApplyPatch", both()).err();
    assert_eq!((workspace.read("a.txt"), workspace.read("b.txt")), (LINES.into(), LINES.into()));
}

#[test]
fn a_change_on_disk_while_permission_is_asked_stops_the_whole_patch() {
    let (workspace, editor) = desk(&json!({}));
    let session = seen(&editor);
    editor.permit(Answer::Hold);
    let call = session.begin_tool("ApplyPatch", both());
    editor.wait("the permission request", |s| (!s.held.is_empty()).then_some(()));
    workspace.write("b.txt", "one\nchanged elsewhere\nthree\n");
    editor.answer(&ALLOW);
    let told = session.finish_tool(call).err();
    assert!(told.contains("b.txt"), "{told}");
    assert_eq!(workspace.read("a.txt"), LINES);
    assert_eq!(workspace.read("b.txt"), "one\nchanged elsewhere\nthree\n");
}

#[test]
fn a_moved_file_keeps_its_mode_and_its_bytes() {
    let (workspace, editor) = desk(&json!({ "mode": "edit" }));
    workspace.write("run.sh", b"\xef\xbb\xbfone\r\ntwo\r\ncaf\xc3\xa9");
    workspace.write("latin.txt", b"caf\xe9\nplain\n");
    let mode = |path: &str| std::fs::metadata(workspace.path(path)).unwrap().permissions().mode();
    std::fs::set_permissions(workspace.path("run.sh"), std::fs::Permissions::from_mode(0o751))
        .unwrap();
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "run.sh" })).ok();
    let body = "*** Update File: run.sh\n*** Move to: new/deep/run.sh\n@@\n-two\n+TWO\n\
                *** Update File: latin.txt\n*** Move to: new/latin.txt";
    let told = session.tool("ApplyPatch", patch(body)).ok();
    assert!(told.contains("M new/deep/run.sh (moved from run.sh"), "{told}");
    assert_eq!(workspace.bytes("new/deep/run.sh"), b"\xef\xbb\xbfone\r\nTWO\r\ncaf\xc3\xa9");
    assert_eq!(workspace.bytes("new/latin.txt"), b"caf\xe9\nplain\n");
    assert_eq!(mode("new/deep/run.sh") & 0o777, 0o751);
    assert!(!workspace.has("run.sh") && !workspace.has("latin.txt"));
}

#[test]
fn open_files_are_moved_and_deleted_when_they_are_saved() {
    let (workspace, editor) = desk(&json!({ "mode": "edit" }));
    editor.open_file("a.txt");
    editor.open_file("b.txt");
    let session = seen(&editor);
    let body =
        "*** Update File: a.txt\n*** Move to: new.txt\n@@\n-two\n+TWO\n*** Delete File: b.txt";
    editor.type_before("b.txt", "one", "unsaved ");
    let told = session.tool("ApplyPatch", patch(body)).err();
    assert!(told.contains("unsaved"), "{told}");
    assert!(workspace.has("a.txt") && workspace.has("b.txt") && !workspace.has("new.txt"));
    editor.save("b.txt");
    let told = session.tool("ApplyPatch", patch(body)).err();
    assert!(told.contains("b.txt changed since it was read"), "{told}");
    session.tool("Read", json!({ "file_path": "b.txt" })).ok();
    session.tool("ApplyPatch", patch(body)).ok();
    // Moved as it was on disk; what changed is saved once it is accepted.
    assert_eq!(editor.text("new.txt"), "one\nTWO\nthree\n");
    assert_eq!(workspace.read("new.txt"), LINES);
    until("both files to be gone", Duration::from_secs(10), || {
        !workspace.has("a.txt") && !workspace.has("b.txt")
    });
}

#[test]
fn rules_for_edits_catch_every_path_of_a_patch() {
    let (workspace, editor) =
        desk(&json!({ "mode": "auto", "permissions": { "deny": ["Edit(secret/**)"] } }));
    let session = seen(&editor);
    for body in [
        "*** Update File: a.txt\n@@\n-two\n+2\n*** Update File: secret/c.txt\n@@\n-two\n+2",
        "*** Delete File: secret/c.txt",
        "*** Add File: secret/new.txt\n+x",
        "*** Update File: secret/c.txt\n*** Move to: c.txt",
        "*** Update File: a.txt\n*** Move to: secret/a.txt",
    ] {
        let told = session.tool("ApplyPatch", patch(body)).err();
        assert!(told.contains("denied") && told.contains("Edit(secret/**)"), "{told}");
    }
    assert_eq!(workspace.read("a.txt"), LINES);
    assert_eq!(workspace.read("secret/c.txt"), LINES);
}

#[test]
fn a_path_outside_the_workspace_is_asked_for() {
    let (workspace, editor) = desk(&json!({ "mode": "edit" }));
    editor.permit(REJECT);
    let body = "*** Add File: in.txt\n+x\n*** Add File: ../home/out.txt\n+x";
    editor.session().tool("ApplyPatch", patch(body)).err();
    assert_eq!(editor.asked(ASKED).len(), 1);
    assert!(!workspace.has("in.txt") && !workspace.beside("home").join("out.txt").exists());
}

#[test]
fn a_model_patches_what_it_has_read_and_no_more() {
    let workspace = Workspace::new(&[("a.txt", LINES), ("b.txt", LINES)]);
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call("ApplyPatch", both()),
    ]);
    let mut settings = model.settings();
    settings["mode"] = json!("edit");
    let editor = Editor::open(&workspace, &settings);
    editor.session().prompt("patch them");
    let results = model.results();
    assert!(results[1].contains("b.txt was not read yet. Its lines"), "{results:?}");
    assert_eq!(workspace.read("b.txt"), LINES);
    assert_eq!(workspace.read("a.txt"), LINES);
}

#[test]
fn one_cell_of_a_closed_notebook_is_edited() {
    let notebook = |source: &str, outputs: &str, count: &str| {
        format!(
            "{{\n \"cells\": [\n  {{\n   \"cell_type\": \"code\",\n   \"execution_count\": {count},\n   \
             \"id\": \"one\",\n   \"metadata\": {{\"k\":1.0}},\n   \"outputs\": {outputs},\n   \
             \"source\": [\n    {source}\n   ]\n  }}\n ],\n \"metadata\": {{}},\n \"nbformat\": 4,\n \
             \"nbformat_minor\": 5\n}}\n"
        )
    };
    let (workspace, editor) = desk(&json!({ "mode": "edit" }));
    workspace.write("n.ipynb", notebook("\"print(1)\"", "[{}]", "4"));
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "n.ipynb" })).ok();
    let input = json!({ "notebook_path": "n.ipynb", "cell_id": "one", "new_source": "x = 1\ny" });
    session.tool("NotebookEdit", input.clone()).ok();
    let after = notebook("\"x = 1\\n\",\n    \"y\"", "[]", "null");
    assert_eq!(workspace.read("n.ipynb"), after);
    let cell = format!("vscode-notebook-cell:{}/n.ipynb#W0", workspace.root().display());
    editor.open_text(&cell, "x = 1\ny");
    let told = session.tool("NotebookEdit", input).err();
    assert!(told.contains("open in the editor as a notebook"), "{told}");
    let told = session
        .tool("Edit", json!({ "file_path": "n.ipynb", "old_string": "x", "new_string": "z" }))
        .err();
    assert!(told.contains("NotebookEdit"), "{told}");
    assert_eq!(workspace.read("n.ipynb"), after);
}

#[test]
fn in_part_a_patch_changes_what_fits_and_says_what_does_not() {
    let (workspace, editor) = desk(&json!({ "mode": "edit", "edits": { "partial": true } }));
    editor.open_file("a.txt");
    editor.type_before("a.txt", "one", "unsaved ");
    let session = seen(&editor);
    let body = "*** Update File: a.txt\n@@\n-two\n+TWO\n*** Update File: b.txt\n@@\n-none\n+x\n\
        *** Add File: d.txt\n+d";
    let told = session.tool("ApplyPatch", patch(body)).err();
    assert!(told.contains("M a.txt") && told.contains("A d.txt"), "{told}");
    assert!(told.contains("Not applied:\n- b.txt"), "{told}");
    assert_eq!(editor.text("a.txt"), "unsaved one\nTWO\nthree\n");
    assert_eq!((workspace.read("b.txt"), workspace.read("d.txt")), (LINES.into(), "d\n".into()));
    let card = session.cards().pop().unwrap();
    assert_eq!(
        (&card["title"], &card["status"]),
        (&json!("Patch 2 files in part +2 −1"), &json!("failed"))
    );
    assert_eq!(card["content"].as_array().unwrap().len(), 3, "two diffs and the rest: {card}");
}

#[test]
fn a_refusal_names_the_file_once() {
    let (workspace, editor) = desk(&json!({ "mode": "edit" }));
    workspace.write("fixed.txt", "one\n");
    let mode = std::fs::Permissions::from_mode(0o444);
    std::fs::set_permissions(workspace.path("fixed.txt"), mode).unwrap();
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "fixed.txt" })).ok();
    let told = session.tool("ApplyPatch", patch("*** Update File: fixed.txt\n@@\n-one\n+1")).err();
    assert!(told.contains("fixed.txt: it is read-only"), "{told}");
}

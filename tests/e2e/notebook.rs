//! Cells of a notebook that the editor shows: edited there, seen first, verified, decided on.

use serde_json::{Value, json};

use crate::editor::session::{Called, Session};
use crate::editor::{Editor, Start};
use crate::model::{Model, Step};
use crate::review::undo;
use crate::workspace::Workspace;

/// A notebook with a code cell that ran and a text cell.
fn file(code: &str, text: &str) -> String {
    format!(
        "{{\n \"cells\": [\n  {{\n   \"cell_type\": \"code\",\n   \"execution_count\": 4,\n   \"id\": \"one\",\n   \
         \"metadata\": {{}},\n   \"outputs\": [],\n   \"source\": \"{code}\"\n  }},\n  {{\n   \"cell_type\": \
         \"markdown\",\n   \"id\": \"two\",\n   \"metadata\": {{}},\n   \"source\": \"{text}\"\n  }}\n ],\n \
         \"metadata\": {{}},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}}\n"
    )
}

fn workspace() -> Workspace {
    Workspace::new(&[("n.ipynb", &file("print(1)", "Title"))])
}

fn settings() -> Value {
    json!({ "mode": "edit" })
}

#[track_caller]
fn open(editor: &Editor) -> String {
    let uri = editor.uri("n.ipynb");
    let cells = [("one", "code", "print(1)"), ("two", "markdown", "Title")];
    editor.lock().open_notebook(&uri, &cells);
    uri
}

fn texts(editor: &Editor) -> Vec<String> {
    let uri = editor.uri("n.ipynb");
    editor.lock().cell_texts(&uri)
}

#[track_caller]
fn edit(session: &Session<'_>, more: Value) -> Called {
    let mut input = json!({ "notebook_path": "n.ipynb" });
    input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    session.tool("NotebookEdit", input)
}

fn read(session: &Session<'_>) {
    session.tool("Read", json!({ "file_path": "n.ipynb" })).ok();
}

fn listed(editor: &Editor) -> Value {
    editor.request("copydesk/review/list", json!({}))["files"].take()
}

#[track_caller]
fn resolve(editor: &Editor, action: &str) -> Value {
    editor
        .request("copydesk/review/resolve", json!({ "action": action, "items": [{ "all": true }] }))
}

#[test]
fn cells_are_replaced_inserted_and_deleted_where_they_are_shown() {
    let workspace = workspace();
    let editor = Editor::open(&workspace, &settings());
    let uri = open(&editor);
    let session = editor.session();
    read(&session);
    let told = edit(&session, json!({ "cell_id": "one", "new_source": "print(2)\nprint(3)" })).ok();
    assert!(told.contains("Replaced the cell one") && told.contains("+print(2)"), "{told}");
    let insert = json!({ "cell_id": "one", "new_source": "x = 1", "cell_type": "code", "edit_mode": "insert" });
    edit(&session, insert).ok();
    edit(&session, json!({ "cell_id": "two", "edit_mode": "delete" })).ok();
    assert_eq!(texts(&editor), ["print(2)\nprint(3)", "x = 1"]);
    let state = editor.lock();
    let cells = &state.notebooks[&uri].cells;
    assert!(cells.iter().all(|it| !it.ran), "outputs are cleared");
    assert_eq!(cells[0].metadata, json!({ "id": "one" }), "what is not its text stays");
    drop(state);
    assert_eq!(
        workspace.read("n.ipynb"),
        file("print(1)", "Title"),
        "nothing is written past the editor"
    );
    assert!(editor.lock().applied.is_empty());
    assert_eq!(editor.asked("copydesk/editor/notebookEdit").len(), 3);
}

#[test]
fn a_cell_is_edited_as_it_was_read() {
    let workspace = workspace();
    let editor = Editor::open(&workspace, &settings());
    let uri = open(&editor);
    let session = editor.session();
    let change = json!({ "cell_id": "one", "new_source": "print(2)" });
    let told = edit(&session, change.clone()).err();
    assert!(told.contains("was not read") && told.contains("print(1)"), "{told}");
    read(&session);
    editor.lock().type_in_cell(&uri, 0, "# mine\n");
    let told = edit(&session, change.clone()).err();
    assert!(told.contains("# mine"), "the text as it is now is shown: {told}");
    edit(&session, json!({ "cell_id": "one", "new_source": "# mine\nprint(2)" })).ok();
    assert_eq!(texts(&editor), ["# mine\nprint(2)", "Title"]);
    for (input, said) in [
        (json!({ "cell_id": "nine", "new_source": "x" }), "Its cells are: one, two"),
        (json!({ "cell_id": "two", "new_source": "Title" }), "already has this text"),
        (json!({ "cell_id": "one" }), "new_source is required"),
        (json!({ "new_source": "x", "edit_mode": "insert" }), "cell_type is required"),
    ] {
        let told = edit(&session, input).err();
        assert!(told.contains(said), "{told}");
    }
}

#[test]
fn an_edit_finds_its_cell_though_the_person_adds_others() {
    let workspace = workspace();
    let editor = Editor::open(&workspace, &json!({}));
    let uri = open(&editor);
    let session = editor.session();
    read(&session);
    editor.permit(crate::editor::Answer::Hold);
    let input = json!({ "notebook_path": "n.ipynb", "cell_id": "two", "new_source": "Other" });
    let call = session.begin_tool("NotebookEdit", input);
    editor.wait("the question", |state| (!state.held.is_empty()).then_some(()));
    editor.lock().add_cell(&uri, 0, "theirs");
    editor.answer(&crate::editor::ALLOW);
    session.finish_tool(call).ok();
    assert_eq!(texts(&editor), ["theirs", "print(1)", "Other"]);
}

#[test]
fn what_the_editor_refuses_is_told_and_changes_nothing() {
    let workspace = workspace();
    let editor = Editor::open(&workspace, &settings());
    let uri = open(&editor);
    let session = editor.session();
    read(&session);
    editor.lock().notebooks.get_mut(&uri).unwrap().stubborn = true;
    let told = edit(&session, json!({ "cell_id": "one", "new_source": "x" })).err();
    assert!(
        told.contains("this notebook is read-only") && told.contains("Nothing was changed"),
        "{told}"
    );
    assert_eq!(listed(&editor), json!([]));
    assert_eq!(texts(&editor), ["print(1)", "Title"]);
}

#[test]
fn cells_are_pending_and_each_can_be_rejected() {
    let edits = [
        (json!({ "cell_id": "one", "new_source": "print(2)" }), "modify"),
        (
            json!({ "cell_id": "one", "new_source": "new", "cell_type": "markdown", "edit_mode": "insert" }),
            "add",
        ),
        (json!({ "cell_id": "one", "edit_mode": "delete" }), "delete"),
    ];
    for (input, change) in edits {
        let workspace = workspace();
        let editor = Editor::open(&workspace, &settings());
        open(&editor);
        let session = editor.session();
        read(&session);
        edit(&session, input.clone()).ok();
        let changed = texts(&editor);
        let files = listed(&editor);
        assert_eq!(
            (files.as_array().map(Vec::len), &files[0]["change"]),
            (Some(1), &json!(change))
        );
        let resolved = resolve(&editor, "reject");
        assert_eq!(resolved["conflicts"], json!([]), "{change}: {resolved}");
        assert_eq!(texts(&editor), ["print(1)", "Title"], "{change}");
        assert_eq!(listed(&editor), json!([]), "{change}");
        editor.request("copydesk/review/undo", json!({ "undoToken": resolved["undoToken"] }));
        assert_eq!(texts(&editor), changed, "{change}");
    }
}

#[test]
fn a_deletion_undone_in_the_editor_is_no_longer_pending() {
    let workspace = workspace();
    let editor = Editor::open(&workspace, &settings());
    let uri = open(&editor);
    let session = editor.session();
    read(&session);
    let cell = editor.lock().notebooks[&uri].cells[1].clone();
    edit(&session, json!({ "cell_id": "two", "edit_mode": "delete" })).ok();
    assert_eq!(listed(&editor).as_array().map(Vec::len), Some(1));
    let mark = editor.mark();
    editor.lock().bring_cell_back(&uri, 1, cell, "Title");
    editor.heard("copydesk/review/didChange", mark);
    assert_eq!(listed(&editor), json!([]));
    assert_eq!(texts(&editor), ["print(1)", "Title"]);
}

#[test]
fn a_cell_edited_twice_goes_back_to_what_it_was_first() {
    let workspace = workspace();
    let editor = Editor::open(&workspace, &settings());
    open(&editor);
    let session = editor.session();
    read(&session);
    edit(&session, json!({ "cell_id": "one", "new_source": "print(2)" })).ok();
    edit(&session, json!({ "cell_id": "one", "new_source": "print(3)" })).ok();
    assert_eq!(listed(&editor).as_array().map(Vec::len), Some(1));
    resolve(&editor, "reject");
    assert_eq!(texts(&editor), ["print(1)", "Title"]);
}

#[test]
fn an_edit_of_a_cell_waits_for_review() {
    let workspace = workspace();
    let editor =
        Editor::open(&workspace, &json!({ "mode": "edit", "edits": { "review": "blocking" } }));
    open(&editor);
    let session = editor.session();
    read(&session);
    let input = json!({ "notebook_path": "n.ipynb", "cell_id": "one", "new_source": "print(2)" });
    let call = session.begin_tool("NotebookEdit", input);
    session.wait_update("a card that waits", 0, |it| it["_meta"]["copydesk"]["review"] == 1);
    resolve(&editor, "accept");
    let told = session.finish_tool(call).ok();
    assert!(told.contains("Reviewed by the person, who keeps it"), "{told}");
}

/// An editor that shows notebooks and lets nobody change them: only a clean file, on disk.
#[test]
fn without_the_marker_only_a_saved_notebook_is_edited_on_disk() {
    let workspace = workspace();
    let editor = Start::new(&workspace).without("notebook").settings(&settings()).start();
    let uri = open(&editor);
    let session = editor.session();
    read(&session);
    edit(&session, json!({ "cell_id": "two", "new_source": "Other" })).ok();
    assert_eq!(workspace.read("n.ipynb"), file("print(1)", "Other"));
    editor.lock().close_notebook(&uri);
    let cells = [("one", "code", "print(1)"), ("two", "markdown", "Other")];
    editor.lock().open_notebook(&uri, &cells);
    editor.lock().type_in_cell(&uri, 0, "unsaved ");
    let told = edit(&session, json!({ "cell_id": "two", "new_source": "Third" })).err();
    assert!(told.contains("unsaved changes"), "{told}");
    assert_eq!(workspace.read("n.ipynb"), file("print(1)", "Other"));
}

#[test]
fn cells_go_back_to_a_checkpoint() {
    let workspace = workspace();
    let cell = |mut more: Value| {
        more["notebook_path"] = json!("n.ipynb");
        Step::call("NotebookEdit", more)
    };
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "n.ipynb" })),
        cell(json!({ "cell_id": "one", "new_source": "print(2)" })),
        Step::text("Done."),
        cell(
            json!({ "cell_id": "one", "new_source": "x = 1", "cell_type": "code", "edit_mode": "insert" }),
        ),
        cell(json!({ "cell_id": "two", "edit_mode": "delete" })),
        Step::text("Done."),
    ]);
    let editor = Editor::open(&workspace, &model.settings_with(&settings()));
    open(&editor);
    let session = editor.session();
    session.prompt("first");
    session.prompt("second");
    assert_eq!(texts(&editor), ["print(2)", "x = 1"]);
    let listed = editor.request("copydesk/checkpoint/list", json!({ "sessionId": session.id }));
    let id = |at: usize| listed["checkpoints"][at]["id"].clone();
    let restore = |id: Value| {
        let restored = editor.request("copydesk/checkpoint/restore", json!({ "checkpointId": id }));
        assert_eq!(restored["conflicts"], json!([]), "{restored}");
        restored
    };
    // A restore and its undo, as often as the person likes: cells that come back are others to the editor.
    for _ in 0..3 {
        let restored = restore(id(1));
        assert_eq!(texts(&editor), ["print(2)", "Title"]);
        undo(&editor, &restored);
        assert_eq!(texts(&editor), ["print(2)", "x = 1"]);
        let restored = restore(id(0));
        assert_eq!(texts(&editor), ["print(1)", "Title"]);
        undo(&editor, &restored);
        assert_eq!(texts(&editor), ["print(2)", "x = 1"]);
    }
    let first = restore(id(1));
    let second = restore(id(0));
    assert_eq!(texts(&editor), ["print(1)", "Title"]);
    undo(&editor, &second);
    undo(&editor, &first);
    assert_eq!(texts(&editor), ["print(2)", "x = 1"]);
}

#[test]
fn cells_that_went_one_after_the_other_come_back_in_their_order() {
    let workspace = workspace();
    let delete = |cell: &str| {
        let input = json!({ "notebook_path": "n.ipynb", "cell_id": cell, "edit_mode": "delete" });
        Step::call("NotebookEdit", input)
    };
    for order in [["one", "two"], ["two", "one"]] {
        let read = Step::call("Read", json!({ "file_path": "n.ipynb" }));
        let steps = [read, delete(order[0]), delete(order[1]), Step::text("Done.")];
        let model = Model::new(steps);
        let editor = Editor::open(&workspace, &model.settings_with(&settings()));
        let uri = open(&editor);
        editor.lock().add_cell(&uri, 2, "theirs");
        let session = editor.session();
        session.prompt("delete them");
        assert_eq!(texts(&editor), ["theirs"]);
        let listed = editor.request("copydesk/checkpoint/list", json!({ "sessionId": session.id }));
        let id = &listed["checkpoints"][0]["id"];
        for _ in 0..2 {
            let restored =
                editor.request("copydesk/checkpoint/restore", json!({ "checkpointId": id }));
            assert_eq!(restored["conflicts"], json!([]), "{restored}");
            assert_eq!(texts(&editor), ["print(1)", "Title", "theirs"], "{order:?}");
            undo(&editor, &restored);
            assert_eq!(texts(&editor), ["theirs"], "{order:?}");
        }
    }
}

#[test]
fn a_notebook_with_unsaved_cells_is_not_moved_deleted_or_written_over() {
    let workspace = workspace();
    let editor = Start::new(&workspace).settings(&json!({ "mode": "auto" })).start();
    let uri = open(&editor);
    let session = editor.session();
    read(&session);
    let before = workspace.read("n.ipynb");
    editor.lock().type_in_cell(&uri, 0, "unsaved ");
    let moving = "*** Begin Patch\n*** Update File: n.ipynb\n*** Move to: m.ipynb\n*** End Patch\n";
    let written = json!({ "file_path": "n.ipynb", "content": "{}" });
    // The first one is told to read the file, and shown it.
    session.tool("Write", written.clone()).err();
    let calls = [
        ("ApplyPatch", json!({ "patch": moving })),
        ("Delete", json!({ "paths": ["n.ipynb"], "reason": "r" })),
        ("Write", written),
    ];
    for (tool, input) in calls {
        let told = session.tool(tool, input).err();
        assert!(told.contains("unsaved cells"), "{tool}: {told}");
        assert_eq!(workspace.read("n.ipynb"), before, "{tool}");
        assert!(!workspace.has("m.ipynb"), "{tool}");
    }
}

//! When the person decides: before the agent goes on, whenever they like, or never.

use serde_json::{Value, json};

use crate::editor::session::Session;
use crate::editor::{Editor, Kind, Start};
use crate::model::{Model, Step};
use crate::workspace::{PATIENCE, Workspace, until};

const BEFORE: &str = "one\ntwo\nthree\nfour\nfive\n";
const AFTER: &str = "ONE\ntwo\nthree\nfour\nFIVE\n";

fn settings(review: &str) -> Value {
    json!({ "mode": "edit", "edits": { "review": review } })
}

/// A model that reads `a.txt`, writes `AFTER` into it and says a word.
fn writer(review: &str) -> (Model, Value) {
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call("Write", json!({ "file_path": "a.txt", "content": AFTER })),
        Step::text("done"),
    ]);
    let settings = model.settings_with(&settings(review));
    (model, settings)
}

#[track_caller]
fn ids(editor: &Editor, count: usize) -> Vec<String> {
    let heard = editor.wait(&format!("{count} hunks"), |state| {
        let told = state.log.iter().rev().find(|it| it["method"] == "copydesk/review/didChange")?;
        let hunks = told["params"]["files"][0]["hunks"].as_array()?;
        (hunks.len() == count).then(|| hunks.clone())
    });
    heard.iter().map(|it| it["hunkId"].as_str().expect("an id").to_owned()).collect()
}

#[track_caller]
fn resolve(editor: &Editor, action: &str, items: Value, comment: Option<&str>) -> Value {
    let params = json!({ "action": action, "items": items, "comment": comment });
    editor.request("copydesk/review/resolve", params)
}

/// Waits for the card that says that this many hunks are waited for.
#[track_caller]
fn waits(session: &Session<'_>, count: usize) -> Value {
    session.wait_update("a card that waits for review", 0, |update| {
        update["_meta"]["copydesk"]["review"] == count
    })
}

#[test]
fn a_call_waits_for_all_its_hunks_and_tells_what_became_of_them() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let (model, settings) = writer("blocking");
    let editor = Editor::open(&workspace, &settings);
    editor.open_file("a.txt");
    let session = editor.session();
    session.send("shout");
    let card = waits(&session, 2);
    assert!(card["content"].to_string().contains("Waits for your review: 2 changes"), "{card}");
    session.wait_update("the state", 0, |it| it["state"] == "requires_action");
    editor.wait("the status", |state| {
        let mut told = state.log.iter().filter(|it| it["method"] == "copydesk/status/didChange");
        told.any(|it| it["params"]["pendingPermissions"] == 1).then_some(())
    });
    let ids = ids(&editor, 2);
    resolve(&editor, "accept", json!([{ "hunkId": ids[0] }]), None);
    waits(&session, 1);
    assert_eq!(model.requests().len(), 2, "the agent does not go on");
    resolve(&editor, "reject", json!([{ "hunkId": ids[1] }]), Some("not that loud"));
    let requests = model.wait_requests(3);
    let result = model.results().pop().expect("a result");
    assert!(result.contains("rejected 1 of 2"), "{result}");
    for said in ["accepted", "`ONE`", "rejected", "`FIVE`", "The person says: not that loud"] {
        assert!(result.contains(said), "{said}: {result}");
    }
    let body = requests[2].body.to_string();
    assert_eq!(body.matches("not that loud").count(), 1, "told once: {body}");
    // The decision is made and the file is saved.
    assert!(!result.contains("once the person accepts"), "{result}");
    assert_eq!(workspace.read("a.txt"), "ONE\ntwo\nthree\nfour\nfive\n");
    assert_eq!(editor.text("a.txt"), "ONE\ntwo\nthree\nfour\nfive\n");
    session.wait_card("edit", "completed");
}

#[test]
fn a_change_rejected_as_a_whole_is_an_error() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = Editor::open(&workspace, &settings("blocking"));
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    let call = session.begin_tool("Write", json!({ "file_path": "a.txt", "content": AFTER }));
    waits(&session, 2);
    resolve(&editor, "reject", json!([{ "all": true }]), Some("leave it"));
    let told = session.finish_tool(call).err();
    assert!(told.contains("Rejected by the person") && told.contains("leave it"), "{told}");
    assert_eq!(workspace.read("a.txt"), BEFORE);
}

/// Every tool that edits waits, whatever it does to which file.
#[test]
fn every_editing_tool_waits() {
    let notebook = r#"{"cells":[{"cell_type":"code","id":"one","metadata":{},"source":"x","outputs":[],"execution_count":null}],"metadata":{},"nbformat":4,"nbformat_minor":5}"#;
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+uno\n*** Add File: p.txt\n+p\n*** End Patch\n";
    let edit = |old: &str, new: &str| json!({ "old_string": old, "new_string": new });
    let calls = [
        ("Edit", json!({ "file_path": "a.txt", "old_string": "two", "new_string": "2" })),
        (
            "MultiEdit",
            json!({ "file_path": "a.txt", "edits": [edit("one", "1"), edit("five", "5")] }),
        ),
        ("Write", json!({ "file_path": "new.txt", "content": "new\n" })),
        ("ApplyPatch", json!({ "patch": patch })),
        ("Delete", json!({ "paths": ["gone.txt"], "reason": "unused" })),
        (
            "NotebookEdit",
            json!({ "notebook_path": "n.ipynb", "cell_id": "one", "new_source": "y" }),
        ),
    ];
    for (name, input) in calls {
        let files = [("a.txt", BEFORE), ("gone.txt", "g\n"), ("n.ipynb", notebook)];
        let workspace = Workspace::new(&files);
        let editor = Editor::open(&workspace, &settings("blocking"));
        let session = editor.session();
        for (path, _) in files {
            session.tool("Read", json!({ "file_path": path })).ok();
        }
        let call = session.begin_tool(name, input);
        session.wait_update("a card that waits", 0, |update| {
            update["_meta"]["copydesk"]["review"].as_u64().is_some_and(|it| it > 0)
        });
        assert!(!editor.answered(call), "{name}");
        resolve(&editor, "accept", json!([{ "all": true }]), None);
        let told = session.finish_tool(call).ok();
        assert!(told.contains("Reviewed by the person, who keeps it"), "{name}: {told}");
    }
}

#[test]
fn an_amended_hunk_is_told_as_it_is_now() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = Editor::open(&workspace, &settings("blocking"));
    editor.open_file("a.txt");
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    let input = json!({ "file_path": "a.txt", "old_string": "two", "new_string": "TWO TWO" });
    let call = session.begin_tool("Edit", input);
    waits(&session, 1);
    editor.type_before("a.txt", "TWO\n", "and mine ");
    editor.type_before("a.txt", "one", "typed elsewhere ");
    resolve(&editor, "accept", json!([{ "all": true }]), None);
    let told = session.finish_tool(call).ok();
    assert!(told.contains("TWO and mine TWO"), "{told}");
    assert!(told.contains("person's own changes"), "{told}");
    assert_eq!(editor.text("a.txt"), "typed elsewhere one\nTWO and mine TWO\nthree\nfour\nfive\n");
}

#[test]
fn a_hunk_undone_in_the_editor_ends_the_wait() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = Editor::open(&workspace, &settings("blocking"));
    editor.open_file("a.txt");
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    let input = json!({ "file_path": "a.txt", "old_string": "two", "new_string": "TWO" });
    let call = session.begin_tool("Edit", input);
    waits(&session, 1);
    editor.retype("a.txt", "TWO", "two");
    let told = session.finish_tool(call).err();
    assert!(told.contains("undone or typed over by the person"), "{told}");
}

#[test]
fn a_decision_taken_back_is_waited_for_again() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = Editor::open(&workspace, &settings("blocking"));
    editor.open_file("a.txt");
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    let call = session.begin_tool("Write", json!({ "file_path": "a.txt", "content": AFTER }));
    waits(&session, 2);
    let ids = ids(&editor, 2);
    let resolved = resolve(&editor, "accept", json!([{ "hunkId": ids[0] }]), None);
    waits(&session, 1);
    let mark = editor.mark();
    editor.request("copydesk/review/undo", json!({ "undoToken": resolved["undoToken"] }));
    session.wait_update("both wait again", mark, |it| it["_meta"]["copydesk"]["review"] == 2);
    resolve(&editor, "accept", json!([{ "hunkId": ids[1] }]), None);
    assert!(!editor.answered(call));
    resolve(&editor, "reject", json!([{ "hunkId": ids[0] }]), None);
    let told = session.finish_tool(call).ok();
    assert!(told.contains("rejected 1 of 2") && !told.contains("accepted a.txt:1"), "{told}");
}

#[test]
fn cancel_ends_the_wait_and_leaves_the_hunks() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let (model, settings) = writer("blocking");
    let editor = Editor::open(&workspace, &settings);
    editor.open_file("a.txt");
    let session = editor.session();
    session.send("shout");
    waits(&session, 2);
    let mark = editor.mark();
    session.cancel();
    session.wait_update("the end", mark, |it| it["stopReason"] == "cancelled");
    assert_eq!(session.wait_card("edit", "cancelled")["status"], "cancelled");
    assert_eq!(model.requests().len(), 2);
    let ids = ids(&editor, 2);
    // Decided later, the agent hears of it with its next request.
    resolve(&editor, "reject", json!([{ "hunkId": ids[0] }]), Some("too late"));
    session.prompt("go on");
    let requests = model.wait_requests(3);
    let body = requests[2].body.to_string();
    assert!(body.contains("Stopped before the person had reviewed it: 2 changes"), "{body}");
    assert_eq!(body.matches("too late").count(), 1, "{body}");
}

#[test]
fn reads_of_the_same_step_do_not_wait_and_prompts_queue() {
    let workspace = Workspace::new(&[("a.txt", BEFORE), ("b.txt", "b\n")]);
    let edit = |old: &str| json!({ "file_path": "a.txt", "old_string": old, "new_string": "X" });
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call("Edit", edit("two"))
            .and_call("Read", json!({ "file_path": "b.txt" }))
            .and_call("Edit", edit("four")),
        Step::text("done"),
        Step::text("done again"),
    ]);
    let editor = Editor::open(&workspace, &model.settings_with(&settings("blocking")));
    editor.open_file("a.txt");
    let session = editor.session();
    session.send("edit");
    waits(&session, 1);
    editor.wait("the read of b.txt", |state| {
        let told = state.log.iter().filter(|it| it["method"] == "session/update");
        let read = told.filter(|it| it["params"]["update"]["status"] == "completed").count();
        (read == 2).then_some(())
    });
    assert_eq!(editor.text("a.txt"), BEFORE.replace("two", "X"), "the second edit waits its turn");
    let mark = session.send("later");
    resolve(&editor, "accept", json!([{ "all": true }]), None);
    session.wait_update("the second wait", mark, |it| it["_meta"]["copydesk"]["review"] == 1);
    assert_eq!(model.requests().len(), 2);
    resolve(&editor, "accept", json!([{ "all": true }]), None);
    let requests = model.wait_requests(4);
    let results = model.results_of(&requests[2]);
    assert_eq!(results.len(), 4, "{results:?}");
    assert!(
        results[1].contains("keeps it")
            && results[2].contains('b')
            && results[3].contains("keeps it")
    );
}

#[test]
fn a_restart_leaves_the_hunks_pending() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let (_model, settings) = writer("blocking");
    let mut editor = Editor::open(&workspace, &settings);
    let session = editor.session();
    session.send("shout");
    waits(&session, 2);
    let id = session.id.clone();
    until("the ledger on disk", PATIENCE, || {
        let kept = workspace.own_files();
        kept.iter().any(|(path, text)| path.ends_with("review.json") && text.contains("FIVE"))
    });
    editor.kill();
    drop(editor);
    let editor = Editor::open(&workspace, &settings);
    assert_eq!(ids(&editor, 2).len(), 2);
    let root = editor.root().to_owned();
    let params = json!({ "sessionId": id, "cwd": root, "mcpServers": [], "replayFrom": { "type": "start" } });
    editor.request("session/resume", params);
    let joined = editor.joined(&id);
    let cards = joined.cards();
    let card = cards.iter().find(|it| it["kind"] == "edit").expect("the card");
    assert!(
        ["failed", "cancelled"].contains(&card["status"].as_str().unwrap_or_default()),
        "{card}"
    );
}

#[test]
fn an_editor_without_a_frontend_decides_by_command() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let (model, settings) = writer("blocking");
    let editor = Start::new(&workspace).kind(Kind::Bare).settings(&settings).start();
    editor.open_file("a.txt");
    let command = |name: &str, arguments: Value| {
        editor
            .request("workspace/executeCommand", json!({ "command": name, "arguments": arguments }))
    };
    command("copydesk.prompt", json!(["shout"]));
    editor.wait("the call for review", |state| {
        let mut told = state.log.iter().filter(|it| it["method"] == "window/showMessage");
        told.any(|it| it["params"]["message"].to_string().contains("waits for your review"))
            .then_some(())
    });
    command("copydesk.reject", json!(["all"]));
    model.wait_requests(3);
    assert!(model.results().pop().is_some_and(|it| it.contains("Rejected by the person")));
    assert_eq!(editor.text("a.txt"), BEFORE);
}

#[test]
fn nobody_to_decide_is_not_waited_for() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let (model, settings) = writer("blocking");
    let base_url = &settings["providers"]["mock"]["base_url"];
    workspace.configure(&format!(
        "model = \"mock/test\"\n[providers.mock]\nprotocol = \"openai\"\nbase_url = {base_url}\n\
         api_key = \"k\"\n[edits]\nreview = \"blocking\"\n"
    ));
    let ran = workspace.cli(&["run", "--mode", "edit", "--trust", "shout"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(workspace.read("a.txt"), AFTER);
    let result = model.results().pop().expect("a result");
    assert!(result.contains("nobody is here to review"), "{result}");
}

#[test]
fn edits_of_auto_are_accepted_at_once_and_saved() {
    let workspace = Workspace::new(&[("a.txt", BEFORE), ("b.txt", BEFORE)]);
    let editor = Editor::open(&workspace, &settings("auto"));
    editor.open_file("a.txt");
    let session = editor.session();
    for path in ["a.txt", "b.txt"] {
        session.tool("Read", json!({ "file_path": path })).ok();
        let told = session.tool("Write", json!({ "file_path": path, "content": AFTER })).ok();
        assert!(!told.contains("not saved"), "{told}");
    }
    let listed = editor.request("copydesk/review/list", json!({}));
    assert_eq!(listed["files"], json!([]));
    assert_eq!(workspace.read("a.txt"), AFTER);
    assert!(!editor.is_dirty("a.txt"));
    // Not so where the person's own text is unsaved.
    editor.type_before("a.txt", "two", "mine ");
    let input = json!({ "file_path": "a.txt", "old_string": "three", "new_string": "3" });
    session.tool("Edit", input).ok();
    assert_eq!(workspace.read("a.txt"), AFTER);
    assert_eq!(editor.text("a.txt"), "ONE\nmine two\n3\nfour\nFIVE\n");
    assert_eq!(editor.request("copydesk/review/list", json!({}))["files"], json!([]));
}

#[test]
fn a_changed_setting_counts_from_the_next_call_on() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = Editor::open(&workspace, &settings("afterTurn"));
    editor.open_file("a.txt");
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    let edit = |old: &str, new: &str| json!({ "file_path": "a.txt", "old_string": old, "new_string": new });
    session.tool("Edit", edit("one", "1")).ok();
    editor.notify("workspace/didChangeConfiguration", json!({ "settings": settings("blocking") }));
    let call = session.begin_tool("Edit", edit("four", "4"));
    waits(&session, 1);
    let ids = ids(&editor, 2);
    resolve(&editor, "accept", json!([{ "hunkId": ids[1] }]), None);
    session.finish_tool(call).ok();
    let listed = editor.request("copydesk/review/list", json!({}));
    assert_eq!(
        listed["files"][0]["hunks"].as_array().map(Vec::len),
        Some(1),
        "the first still waits"
    );
}

/// What the person says to a rejected hunk is told with the next request, once.
#[test]
fn a_comment_is_told_with_the_next_request_once() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let (model, settings) = writer("afterTurn");
    let editor = Editor::open(&workspace, &settings);
    editor.open_file("a.txt");
    let session = editor.session();
    assert_eq!(session.prompt("shout"), "end_turn");
    resolve(&editor, "reject", json!([{ "all": true }]), Some("whisper instead"));
    for nth in 4..6 {
        session.prompt("again");
        let body = model.wait_requests(nth)[nth - 1].body.to_string();
        assert_eq!(body.matches("whisper instead").count(), 1, "{body}");
        assert!(body.contains("rejected"), "{body}");
    }
}

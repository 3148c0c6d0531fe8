//! Pending hunks: shown, decided on in any order, undone, kept across restarts, in editors with and without a frontend.

use serde_json::{Value, json};

use crate::editor::session::Session;
use crate::editor::{Editor, Kind, Start, Told};
use crate::model::{Model, Step};
use crate::workspace::{PATIENCE, Workspace, until};

pub const BEFORE: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
const AFTER: &str = "ONE\ntwo\nthree\nFOUR\nfive\nsix\nSEVEN\n";
const ORDERS: [[usize; 3]; 6] = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];

#[track_caller]
pub fn write(session: &Session<'_>, path: &str, text: &str) {
    session.tool("Read", json!({ "file_path": path })).ok();
    session.tool("Write", json!({ "file_path": path, "content": text })).ok();
}

pub fn hunks(editor: &Editor) -> Vec<Value> {
    let listed = editor.request("copydesk/review/list", json!({}));
    let files = listed["files"].as_array().expect("files");
    files.iter().flat_map(|it| it["hunks"].as_array().expect("hunks").clone()).collect()
}

pub fn ids(editor: &Editor) -> Vec<String> {
    hunks(editor).iter().map(|it| it["hunkId"].as_str().expect("an id").to_owned()).collect()
}

#[track_caller]
pub fn resolve(editor: &Editor, action: &str, items: Value) -> Value {
    editor.request("copydesk/review/resolve", json!({ "action": action, "items": items }))
}

#[track_caller]
pub fn undo(editor: &Editor, resolved: &Value) {
    editor.request("copydesk/review/undo", json!({ "undoToken": resolved["undoToken"] }));
}

/// An editor with `a.txt` open and three hunks in it.
fn three(workspace: &Workspace, settings: &Value) -> Editor {
    let editor = Editor::open(workspace, settings);
    editor.open_file("a.txt");
    write(&editor.session(), "a.txt", AFTER);
    assert_eq!(hunks(&editor).len(), 3);
    editor
}

pub fn automatic() -> Value {
    json!({ "mode": "edit" })
}

#[test]
fn hunks_say_where_they_are_and_where_they_come_from() {
    let workspace = Workspace::new(&[("a.txt", "é\r\ntwo\r\n")]);
    let editor = Editor::open(&workspace, &automatic());
    let uri = editor.open_file("a.txt");
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    let call = session
        .tool("Edit", json!({ "file_path": "a.txt", "old_string": "two", "new_string": "TWO" }));
    let hunk = hunks(&editor).remove(0);
    assert_eq!(hunk["uri"], uri.as_str());
    assert_eq!(hunk["version"], editor.lock().documents[&uri].version);
    assert_eq!((&hunk["oldText"], &hunk["newText"]), (&json!("two\r\n"), &json!("TWO\r\n")));
    assert_eq!((&hunk["state"], &hunk["author"]), (&json!("pending"), &json!("agent")));
    assert_eq!(hunk["sessionId"], session.id.as_str());
    assert_eq!(hunk["toolCallIds"], json!([call.id]));
    let place = |line: u32| json!({ "line": line, "character": 0 });
    assert_eq!(hunk["range"], json!({ "start": place(1), "end": place(2) }));
    let base = editor.request("copydesk/review/base", json!({ "uri": uri }));
    assert_eq!(base["text"], "é\r\ntwo\r\n");
    let told = editor.heard("copydesk/review/didChange", 0);
    assert_eq!(told["params"]["files"][0]["hunks"][0]["hunkId"], hunk["hunkId"]);
    editor.wait("the status", |state| {
        let told = state.log.iter().filter(|it| it["method"] == "copydesk/status/didChange");
        told.into_iter().find(|it| it["params"]["pendingHunks"] == 1).map(drop)
    });
}

#[test]
fn every_order_of_decisions_gives_one_text() {
    for order in ORDERS {
        let workspace = Workspace::new(&[("a.txt", BEFORE)]);
        let editor = three(&workspace, &automatic());
        let ids = ids(&editor);
        for (nth, index) in order.into_iter().enumerate() {
            let action = if index == 1 { "accept" } else { "reject" };
            editor.type_before("a.txt", "five", &format!("<{nth}>"));
            let resolved = resolve(&editor, action, json!([{ "hunkId": ids[index] }]));
            assert_eq!(resolved["resolved"], json!([ids[index]]), "{resolved}");
            assert_eq!(resolved["conflicts"], json!([]));
        }
        assert_eq!(editor.text("a.txt"), "one\ntwo\nthree\nFOUR\n<0><1><2>five\nsix\nseven\n");
        assert!(hunks(&editor).is_empty());
        assert_eq!(
            workspace.read("a.txt"),
            BEFORE,
            "the person's own text is never saved for them"
        );
    }
}

#[test]
fn decisions_land_in_a_lying_editor_while_the_person_types() {
    for told in [
        Told::BeforeAnswer,
        Told::AfterAnswer,
        Told::Debounced(std::time::Duration::from_millis(20)),
    ] {
        let workspace = Workspace::new(&[("a.txt", BEFORE)]);
        let editor =
            Start::new(&workspace).kind(Kind::Lying).told(told).settings(&automatic()).start();
        let uri = editor.open_file("a.txt");
        write(&editor.session(), "a.txt", AFTER);
        editor.before_apply(move |state| state.type_before(&uri, "two", "mine "));
        let resolved = resolve(&editor, "reject", json!([{ "all": true }]));
        assert_eq!(resolved["resolved"].as_array().map(Vec::len), Some(3), "{resolved}");
        assert_eq!(editor.text("a.txt"), BEFORE.replace("two", "mine two"), "{told:?}");
        assert!(hunks(&editor).is_empty());
        undo(&editor, &resolved);
        assert_eq!(editor.text("a.txt"), AFTER.replace("two", "mine two"), "{told:?}");
        assert_eq!(hunks(&editor).len(), 3);
    }
}

#[test]
fn ids_stay_while_hunks_move_and_typing_inside_one_is_kept() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = three(&workspace, &automatic());
    let before = ids(&editor);
    editor.type_before("a.txt", "ONE", "new line\n");
    editor.type_before("a.txt", "UR", "-mine-");
    assert_eq!(ids(&editor), before);
    let hunk = hunks(&editor).remove(1);
    assert_eq!(hunk["range"]["start"]["line"], 4);
    assert_eq!((&hunk["state"], &hunk["author"]), (&json!("conflict"), &json!("mixed")));
    let resolved = resolve(&editor, "reject", json!([{ "hunkId": before[1] }]));
    assert_eq!(resolved["conflicts"][0]["hunkId"], before[1].as_str());
    let text = editor.text("a.txt");
    assert!(text.contains("-mine-") && text.contains("four") && !text.contains("FO"), "{text}");
    resolve(&editor, "reject", json!([{ "all": true }]));
    let typed = editor.text("a.txt").replace("-mine-", "").replace("new line\n", "");
    assert_eq!(typed, BEFORE);
}

#[test]
fn undone_in_the_editor_is_no_longer_pending() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = three(&workspace, &automatic());
    let mark = editor.mark();
    editor.retype("a.txt", "FOUR", "four");
    editor.heard("copydesk/review/didChange", mark);
    assert_eq!(hunks(&editor).len(), 2);
}

#[test]
fn accepting_saves_a_file_that_was_clean_and_rejecting_what_was_saved_saves_again() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = three(&workspace, &automatic());
    assert_eq!(workspace.read("a.txt"), BEFORE);
    let ids = ids(&editor);
    resolve(&editor, "accept", json!([{ "hunkId": ids[0] }, { "hunkId": ids[1] }]));
    assert_eq!(workspace.read("a.txt"), BEFORE, "one is still pending");
    resolve(&editor, "accept", json!([{ "hunkId": ids[2] }]));
    until("the save", PATIENCE, || workspace.read("a.txt") == AFTER);

    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    // Asked and allowed: saved at once.
    let editor = three(&workspace, &json!({}));
    until("the save", PATIENCE, || workspace.read("a.txt") == AFTER && !editor.is_dirty("a.txt"));
    resolve(&editor, "reject", json!([{ "uri": editor.uri("a.txt") }]));
    until("the save", PATIENCE, || workspace.read("a.txt") == BEFORE);
    assert_eq!(editor.text("a.txt"), BEFORE);
}

#[test]
fn decisions_are_undone() {
    for action in ["accept", "reject"] {
        let workspace = Workspace::new(&[("a.txt", BEFORE)]);
        let editor = three(&workspace, &automatic());
        let before = ids(&editor);
        let resolved = resolve(&editor, action, json!([{ "all": true }]));
        assert!(hunks(&editor).is_empty());
        undo(&editor, &resolved);
        assert_eq!(editor.text("a.txt"), AFTER);
        assert_eq!(ids(&editor), before);
        resolve(&editor, "reject", json!([{ "all": true }]));
        assert_eq!(editor.text("a.txt"), BEFORE);
        editor.try_request("copydesk/review/undo", json!({ "undoToken": "undo-99" })).unwrap_err();
    }
}

#[test]
fn closed_files_are_decided_on_disk() {
    let workspace = Workspace::new(&[("a.txt", "a\r\nb\r\nc\r\n"), ("gone.sh", "#!/bin/sh\n")]);
    let script = workspace.path("gone.sh");
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    write(&session, "a.txt", "a\r\nB\r\nc\r\n");
    session.tool("Write", json!({ "file_path": "new.txt", "content": "new\n" })).ok();
    session.tool("Read", json!({ "file_path": "gone.sh" })).ok();
    session.tool("Delete", json!({ "file_path": "gone.sh", "reason": "unused" })).ok();
    let listed = editor.request("copydesk/review/list", json!({}));
    let changes: Vec<&str> = listed["files"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["change"].as_str().unwrap())
        .collect();
    assert_eq!(changes, ["modify", "delete", "add"]);
    let new = workspace.read("new.txt");
    let resolved = resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(resolved["conflicts"], json!([]), "{resolved}");
    assert_eq!(workspace.bytes("a.txt"), b"a\r\nb\r\nc\r\n");
    assert!(!workspace.has("new.txt"));
    assert_eq!(workspace.read("gone.sh"), "#!/bin/sh\n");
    let mode =
        std::os::unix::fs::PermissionsExt::mode(&std::fs::metadata(&script).unwrap().permissions());
    assert_eq!(mode & 0o777, 0o755);
    undo(&editor, &resolved);
    assert_eq!(workspace.bytes("a.txt"), b"a\r\nB\r\nc\r\n");
    assert_eq!(workspace.read("new.txt"), new);
    assert!(!workspace.has("gone.sh"));
    assert_eq!(hunks(&editor).len(), 3);
}

#[test]
fn rejecting_a_new_file_that_is_open_takes_it_away_unless_the_person_wrote_in_it() {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    for name in ["a.txt", "b.txt"] {
        session.tool("Write", json!({ "file_path": name, "content": "new\n" })).ok();
        editor.open_file(name);
    }
    let uri = editor.uri("b.txt");
    editor.lock().type_at(&uri, 4..4, "mine\n");
    let resolved = resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(resolved["resolved"].as_array().map(Vec::len), Some(2), "{resolved}");
    assert!(!workspace.has("a.txt"));
    assert_eq!(editor.text("b.txt"), "mine\n");
}

#[test]
fn hunks_survive_the_server_and_closing_the_file() {
    let workspace = Workspace::new(&[("a.txt", BEFORE), ("b.txt", "b\n")]);
    let mut editor = three(&workspace, &json!({}));
    let session = editor.session();
    write(&session, "b.txt", "B\n");
    until("the save", PATIENCE, || workspace.read("a.txt") == AFTER);
    let before = ids(&editor);
    editor.close("a.txt");
    assert_eq!(ids(&editor), before);
    editor.request("shutdown", Value::Null);
    editor.notify("exit", Value::Null);
    editor.exit_code(PATIENCE);
    drop(editor);
    // Meanwhile somebody else writes in it.
    workspace.write("a.txt", AFTER.replace("two", "zwei"));
    let editor = Editor::open(&workspace, &json!({}));
    let told = editor.heard("copydesk/review/didChange", 0);
    assert_eq!(told["params"]["files"].as_array().map(Vec::len), Some(2), "{told}");
    assert_eq!(ids(&editor), before);
    editor.open_file("a.txt");
    let resolved = resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(resolved["conflicts"], json!([]));
    assert_eq!(editor.text("a.txt"), BEFORE.replace("two", "zwei"));
    assert_eq!(workspace.read("b.txt"), "b\n");
}

#[test]
fn hunks_survive_a_killed_server() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let mut editor = Editor::open(&workspace, &automatic());
    write(&editor.session(), "a.txt", AFTER);
    let before = ids(&editor);
    let kept = || {
        workspace
            .own_files()
            .iter()
            .any(|(path, text)| path.ends_with("review.json") && text.contains("SEVEN"))
    };
    until("the hunks on disk", PATIENCE, kept);
    editor.kill();
    drop(editor);
    let editor = Editor::open(&workspace, &automatic());
    assert_eq!(ids(&editor), before);
    resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(workspace.read("a.txt"), BEFORE);
}

#[test]
fn a_damaged_list_of_hunks_costs_what_is_damaged_and_is_said() {
    let workspace = Workspace::new(&[("a.txt", BEFORE), ("b.txt", BEFORE)]);
    let mut editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    write(&session, "a.txt", AFTER);
    write(&session, "b.txt", AFTER);
    let list = || {
        let mut files = workspace.own_files().into_iter();
        let found = files.find(|(path, _)| path.ends_with("review.json"));
        found.filter(|(_, text)| text.contains("a.txt") && text.contains("b.txt"))
    };
    until("the hunks on disk", PATIENCE, || list().is_some());
    editor.kill();
    let (path, text) = list().unwrap();
    let at = text.find("a.txt").unwrap();
    for damaged in [
        text.replace("a.txt", "a.tx"),
        text[..at].to_owned() + &text[at..].replacen("SEVEN", "SEVEM", 1),
    ] {
        std::fs::write(&path, &damaged).unwrap();
        let mut editor = Editor::open(&workspace, &automatic());
        let left: Vec<Value> = hunks(&editor).iter().map(|it| it["uri"].clone()).collect();
        assert!(!left.is_empty() && left.iter().all(|it| *it == editor.uri("b.txt")), "{left:?}");
        let problems = editor.request("copydesk/status", json!({}))["problems"].to_string();
        assert!(
            problems.contains("was damaged") && problems.contains("review.json.damaged"),
            "{problems}"
        );
        let aside = path.with_file_name("review.json.damaged");
        assert_eq!(std::fs::read_to_string(aside).unwrap(), damaged);
        editor.kill();
    }
    std::fs::write(&path, &text).unwrap();
    let editor = Editor::open(&workspace, &automatic());
    let resolved = resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(resolved["conflicts"], json!([]));
    assert_eq!(
        (workspace.read("a.txt"), workspace.read("b.txt")),
        (BEFORE.to_owned(), BEFORE.to_owned())
    );
    let problems = editor.request("copydesk/status", json!({}))["problems"].to_string();
    assert!(!problems.contains("was damaged"), "{problems}");
}

#[test]
fn decisions_are_undone_after_a_restart() {
    for action in ["accept", "reject"] {
        let workspace = Workspace::new(&[("a.txt", BEFORE), ("gone.txt", "gone\n")]);
        let mut editor = Editor::open(&workspace, &automatic());
        let session = editor.session();
        write(&session, "a.txt", AFTER);
        session.tool("Read", json!({ "file_path": "gone.txt" })).ok();
        session.tool("Delete", json!({ "paths": ["gone.txt"], "reason": "unused" })).ok();
        let before = ids(&editor);
        let resolved = resolve(&editor, action, json!([{ "all": true }]));
        editor.request("shutdown", Value::Null);
        editor.notify("exit", Value::Null);
        editor.exit_code(PATIENCE);
        drop(editor);
        workspace.write("a.txt", workspace.read("a.txt").replace("two", "zwei"));
        let editor = Editor::open(&workspace, &automatic());
        assert_eq!(hunks(&editor), Vec::<Value>::new(), "{action}");
        undo(&editor, &resolved);
        assert_eq!(ids(&editor), before);
        assert_eq!(workspace.read("a.txt"), AFTER.replace("two", "zwei"));
        assert!(!workspace.has("gone.txt"));
        resolve(&editor, "reject", json!([{ "all": true }]));
        assert_eq!(workspace.read("a.txt"), BEFORE.replace("two", "zwei"));
        assert_eq!(workspace.read("gone.txt"), "gone\n");
    }
}

#[test]
fn all_sessions_share_one_ledger_and_each_can_be_decided_alone() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = Editor::open(&workspace, &automatic());
    editor.open_file("a.txt");
    let (first, second) = (editor.session(), editor.session());
    for (session, old, new) in [(&first, "one", "ONE"), (&second, "four", "FOUR")] {
        session.tool("Read", json!({ "file_path": "a.txt" })).ok();
        session
            .tool("Edit", json!({ "file_path": "a.txt", "old_string": old, "new_string": new }))
            .ok();
    }
    assert_eq!(hunks(&editor).len(), 2);
    let own = editor.request("copydesk/review/list", json!({ "sessionId": second.id }));
    assert_eq!(own["files"][0]["hunks"].as_array().map(Vec::len), Some(1));
    resolve(&editor, "reject", json!([{ "sessionId": second.id }]));
    assert_eq!(editor.text("a.txt"), BEFORE.replace("one", "ONE"));
    let line =
        json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 1 } });
    resolve(&editor, "accept", json!([{ "uri": editor.uri("a.txt"), "range": line }]));
    assert!(hunks(&editor).is_empty());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let editor = three(&workspace, &automatic());
    let unknown = resolve(&editor, "accept", json!([{ "hunkId": "nobody" }]));
    assert_eq!(unknown["conflicts"][0]["hunkId"], "nobody");
    let stale = json!({ "action": "accept", "items": [{ "all": true }], "expectedRev": 0 });
    let error = editor.try_request("copydesk/review/resolve", stale).unwrap_err();
    assert_eq!(error.code, -32801);
    for params in
        [json!({ "action": "maybe", "items": [] }), json!({ "action": "accept", "items": [{}] })]
    {
        let error = editor.try_request("copydesk/review/resolve", params).unwrap_err();
        assert_eq!(error.code, -32602);
    }
    assert_eq!(hunks(&editor).len(), 3);
}

#[test]
fn the_agent_is_told_with_its_next_request() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call(
            "Edit",
            json!({ "file_path": "a.txt", "old_string": "two", "new_string": "TWO" }),
        ),
        Step::text("done"),
        Step::text("I see"),
        Step::text("as you like"),
    ]);
    let editor = Editor::open(&workspace, &model.settings());
    editor.open_file("a.txt");
    let session = editor.session();
    session.prompt("shout");
    let params =
        json!({ "action": "reject", "items": [{ "all": true }], "comment": "do not shout" });
    let resolved = editor.request("copydesk/review/resolve", params);
    assert_eq!(model.requests().len(), 3, "a decision is no prompt");
    session.prompt("go on");
    let said = model.everything();
    assert!(said.contains("rejected") && said.contains("do not shout"), "{said}");
    undo(&editor, &resolved);
    session.prompt("and now?");
    assert!(model.everything().contains("took a decision back"));
}

#[test]
fn the_agent_is_told_of_decisions_made_while_its_session_was_not_open() {
    for left in ["closed", "killed", "killed after the decision"] {
        let workspace = Workspace::new(&[("a.txt", BEFORE)]);
        let model = Model::new([
            Step::call("Read", json!({ "file_path": "a.txt" })),
            Step::call(
                "Edit",
                json!({ "file_path": "a.txt", "old_string": "two", "new_string": "TWO" }),
            ),
            Step::text("done"),
            Step::text("I see"),
            Step::text("on it"),
        ]);
        let mut editor = Editor::open(&workspace, &model.settings());
        let session = editor.session();
        session.prompt("shout");
        let id = session.id.clone();
        let kept = || {
            let files = workspace.own_files();
            files.iter().any(|(path, text)| path.ends_with("review.json") && text.contains("TWO"))
        };
        until("the hunk on disk", PATIENCE, kept);
        let reject = |editor: &Editor| {
            let params = json!({ "action": "reject", "items": [{ "all": true }], "comment": "do not shout" });
            let resolved = editor.request("copydesk/review/resolve", params);
            assert_eq!(resolved["resolved"].as_array().map(Vec::len), Some(1), "{resolved}");
        };
        match left {
            "closed" => drop(editor.request("session/close", json!({ "sessionId": id }))),
            "killed" => {
                editor.kill();
                editor = Editor::open(&workspace, &model.settings());
            }
            _ => {}
        }
        reject(&editor);
        if left == "killed after the decision" {
            editor.kill();
            editor = Editor::open(&workspace, &model.settings());
        }
        let params = json!({ "sessionId": id, "cwd": workspace.root(), "mcpServers": [] });
        editor.request("session/resume", params);
        editor.joined(&id).prompt("go on");
        let said = model.requests()[3].body.to_string();
        assert_eq!(said.matches("do not shout").count(), 1, "{left}: {said}");
        editor.joined(&id).prompt("and on");
        let said = model.requests()[4].body.to_string();
        assert_eq!(said.matches("do not shout").count(), 1, "{left}: told twice: {said}");
    }
}

#[test]
fn the_agent_is_told_what_its_text_was_amended_to() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call(
            "Edit",
            json!({ "file_path": "a.txt", "old_string": "two\n", "new_string": "TWO\nlines of it\n" }),
        ),
        Step::text("done"),
        Step::text("I see"),
    ]);
    let editor = Editor::open(&workspace, &model.settings());
    editor.open_file("a.txt");
    let session = editor.session();
    session.prompt("shout");
    editor.retype("a.txt", "lines of", "words, mine, of");
    resolve(&editor, "accept", json!([{ "all": true }]));
    session.prompt("go on");
    let said = model.everything();
    assert!(said.contains("person's own changes") && said.contains("words, mine, of it"), "{said}");
}

// Editors without a frontend.

fn command(editor: &Editor, name: &str, argument: Value) {
    editor.request("workspace/executeCommand", json!({ "command": name, "arguments": [argument] }));
}

pub fn diagnostics(editor: &Editor, count: usize) -> Vec<Value> {
    editor.wait(&format!("{count} diagnostics"), |state| {
        let told =
            state.log.iter().rfind(|it| it["method"] == "textDocument/publishDiagnostics")?;
        let listed = told["params"]["diagnostics"].as_array()?;
        (listed.len() == count).then(|| listed.clone())
    })
}

#[test]
fn a_plain_language_client_sees_and_decides() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call("Write", json!({ "file_path": "a.txt", "content": AFTER })),
        Step::text("done"),
    ]);
    let editor = Start::new(&workspace).kind(Kind::Bare).settings(&model.settings()).start();
    let uri = editor.open_file("a.txt");
    command(&editor, "copydesk.prompt", json!("shout"));
    model.wait_requests(3);
    let listed = diagnostics(&editor, 3);
    assert_eq!((&listed[1]["source"], &listed[1]["severity"]), (&json!("copydesk"), &json!(3)));
    assert_eq!(listed[1]["range"]["start"]["line"], 3);

    let document = json!({ "uri": uri });
    let lenses = editor.request("textDocument/codeLens", json!({ "textDocument": document }));
    let titles: Vec<&str> = lenses
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["command"]["title"].as_str().unwrap())
        .collect();
    assert_eq!(titles, ["Accept", "Reject"].repeat(3));
    let run = &lenses[0]["command"];
    editor.request(
        "workspace/executeCommand",
        json!({ "command": run["command"], "arguments": run["arguments"] }),
    );
    diagnostics(&editor, 2);

    let actions = editor.request(
        "textDocument/codeAction",
        json!({ "textDocument": document, "range": listed[1]["range"], "context": { "diagnostics": [] } }),
    );
    let actions = actions.as_array().unwrap();
    let reject =
        actions.iter().find(|it| it["title"].as_str().unwrap().starts_with("Reject the")).unwrap();
    assert!(
        actions.iter().any(|it| it["title"].as_str().unwrap().starts_with("Accept all in file"))
    );
    let run = &reject["command"];
    editor.request(
        "workspace/executeCommand",
        json!({ "command": run["command"], "arguments": run["arguments"] }),
    );
    assert_eq!(editor.text("a.txt"), AFTER.replace("FOUR", "four"));
    diagnostics(&editor, 1);

    editor.request(
        "workspace/executeCommand",
        json!({ "command": "copydesk.undo", "arguments": [] }),
    );
    assert_eq!(editor.text("a.txt"), AFTER);
    diagnostics(&editor, 2);
    let mark = editor.mark();
    editor.request(
        "workspace/executeCommand",
        json!({ "command": "copydesk.review", "arguments": [] }),
    );
    editor.heard("window/showDocument", mark);
    command(&editor, "copydesk.reject", json!({ "all": true }));
    assert_eq!(editor.text("a.txt"), BEFORE.replace("one", "ONE"));
    diagnostics(&editor, 0);
}

// Random interleavings.

/// A small reproducible source of choices.
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

const LINES: usize = 16;

/// Types a mark that occurs nowhere else, never inside another or inside a word.
fn type_somewhere(editor: &Editor, choices: &mut Choices, number: usize) {
    let uri = editor.uri("a.txt");
    let mut state = editor.lock();
    let text = state.documents[&uri].text.clone();
    let places: Vec<usize> =
        text.match_indices([' ', '\n']).map(|(at, _)| at).chain([0, text.len()]).collect();
    let place = places[choices.below(places.len())];
    state.type_at(&uri, place..place, &format!("<{number}>"));
}

/// The text without marks, and the marks.
pub fn without_marks(text: &str) -> (String, Vec<usize>) {
    let (mut rest, mut marks) = (String::new(), Vec::new());
    for (nth, part) in text.split('<').enumerate() {
        match part.split_once('>') {
            Some((mark, after)) if nth > 0 => {
                marks.push(mark.parse().expect("a whole mark"));
                rest.push_str(after);
            }
            Some(_) | None => rest.push_str(part),
        }
    }
    marks.sort_unstable();
    (rest, marks)
}

#[track_caller]
fn check_random(kind: Kind, told: Told) {
    for round in 1..=5_u64 {
        let seed = round.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut choices = Choices(seed);
        let before: String =
            (0..LINES).map(|n| format!("line {n:02} has word{n:02} in it\n")).collect();
        let workspace = Workspace::new(&[("a.txt", &before)]);
        let editor = Start::new(&workspace).kind(kind).told(told).settings(&automatic()).start();
        editor.open_file("a.txt");
        let session = editor.session();
        session.tool("Read", json!({ "file_path": "a.txt" })).ok();
        let mut expected = before;
        let mut typed = 0;
        let mut undoable = Vec::new();
        for _ in 0..16 {
            for _ in 0..choices.below(3) {
                type_somewhere(&editor, &mut choices, typed);
                typed += 1;
            }
            match choices.below(4) {
                0 | 1 => {
                    let line = choices.below(LINES);
                    let (old, new) = (format!("word{line:02}"), format!("WORD{line:02}"));
                    let input =
                        json!({ "file_path": "a.txt", "old_string": old, "new_string": new });
                    let call = session.begin_tool("Edit", input);
                    if choices.below(2) == 0 {
                        type_somewhere(&editor, &mut choices, typed);
                        typed += 1;
                    }
                    session.finish_tool(call);
                }
                2 => {
                    let pending = hunks(&editor);
                    if pending.is_empty() {
                        continue;
                    }
                    let hunk = &pending[choices.below(pending.len())];
                    let accept = choices.below(2) == 0;
                    let action = if accept { "accept" } else { "reject" };
                    let resolved = resolve(&editor, action, json!([{ "hunkId": hunk["hunkId"] }]));
                    assert_eq!(resolved["resolved"][0], hunk["hunkId"], "seed {seed}: {resolved}");
                    undoable.push((resolved, accept.then(|| hunk.clone())));
                }
                _ => {
                    if let Some((resolved, _)) = undoable.pop() {
                        undo(&editor, &resolved);
                    }
                }
            }
        }
        for (_, accepted) in undoable {
            for line in accepted
                .iter()
                .flat_map(|it| it["newText"].as_str().expect("text").split("WORD").skip(1))
            {
                let number = &line[..2];
                expected = expected.replace(&format!("word{number}"), &format!("WORD{number}"));
            }
        }
        resolve(&editor, "reject", json!([{ "all": true }]));
        let (rest, marks) = without_marks(&editor.text("a.txt"));
        assert_eq!(marks, (0..typed).collect::<Vec<_>>(), "seed {seed}: every mark is there once");
        assert_eq!(rest, expected, "seed {seed}: what was accepted stays, all else is as it was");
        assert!(hunks(&editor).is_empty());
    }
}

#[test]
fn random_decisions_in_a_strict_editor_lose_nothing() {
    check_random(Kind::Strict, Told::BeforeAnswer);
}

#[test]
fn random_decisions_in_a_lying_editor_lose_nothing() {
    check_random(Kind::Lying, Told::AfterAnswer);
}

#[test]
fn random_decisions_in_an_editor_that_tells_late_lose_nothing() {
    check_random(Kind::Lying, Told::Debounced(std::time::Duration::from_millis(15)));
}

#[test]
fn a_moved_file_and_one_deleted_after_an_edit_go_back_to_what_they_were() {
    let workspace = Workspace::new(&[("a.txt", BEFORE), ("b.txt", "b\n")]);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n*** Move to: sub/c.txt\n@@\n-two\n+TWO\n*** End Patch";
    session.tool("ApplyPatch", json!({ "input": patch })).ok();
    write(&session, "b.txt", "B\n");
    session.tool("Delete", json!({ "paths": ["b.txt"], "reason": "unused" })).ok();
    assert!(!workspace.has("a.txt") && !workspace.has("b.txt"));
    // The move, the change in it, and the deletion.
    assert_eq!(hunks(&editor).len(), 3);
    let resolved = resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(resolved["conflicts"], json!([]), "{resolved}");
    assert_eq!(workspace.read("a.txt"), BEFORE);
    assert_eq!(workspace.read("b.txt"), "b\n");
    assert!(!workspace.has("sub/c.txt"));
    undo(&editor, &resolved);
    assert_eq!(workspace.read("sub/c.txt"), BEFORE.replace("two", "TWO"));
    assert!(!workspace.has("a.txt") && !workspace.has("b.txt"));
    resolve(&editor, "accept", json!([{ "all": true }]));
    assert!(hunks(&editor).is_empty() && workspace.has("sub/c.txt"));
}

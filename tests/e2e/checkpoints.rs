//! Checkpoints: files and conversations taken back to a prompt, what others wrote kept, and that undone.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::editor::session::Session;
use crate::editor::{Editor, Kind, Start, Told};
use crate::model::{Model, Step};
use crate::workspace::{PATIENCE, Workspace, output, until};

const BEFORE: &str = "one\ntwo\nthree\nfour\nfive\n";

/// A turn that replaces text in a file.
fn edit(path: &str, old: &str, new: &str) -> Vec<Step> {
    let input = json!({ "file_path": path, "old_string": old, "new_string": new });
    vec![
        Step::call("Read", json!({ "file_path": path })),
        Step::call("Edit", input),
        Step::text(&format!("{new} is in.")),
    ]
}

fn call(name: &str, input: Value) -> Vec<Step> {
    vec![Step::call(name, input), Step::text("Done.")]
}

fn delete(path: &str) -> Vec<Step> {
    call("Delete", json!({ "paths": [path], "reason": "it is in the way" }))
}

fn in_mode(model: &Model, mode: &str) -> Value {
    let mut settings = model.settings();
    settings["mode"] = json!(mode);
    settings
}

fn model(turns: impl IntoIterator<Item = Vec<Step>>) -> Model {
    Model::new(turns.into_iter().flatten())
}

fn checkpoints(editor: &Editor, session: &str) -> Vec<Value> {
    let listed = editor.request("copydesk/checkpoint/list", json!({ "sessionId": session }));
    listed["checkpoints"].as_array().expect("checkpoints").clone()
}

fn ids(editor: &Editor, session: &str) -> Vec<String> {
    let id = |it: Value| it["id"].as_str().expect("an id").to_owned();
    checkpoints(editor, session).into_iter().map(id).collect()
}

#[track_caller]
fn restore(editor: &Editor, id: &str) -> Value {
    editor.request("copydesk/checkpoint/restore", json!({ "checkpointId": id }))
}

#[track_caller]
fn rewind(editor: &Editor, session: &Session<'_>, id: &str, scope: &str) -> Value {
    let params = json!({ "sessionId": session.id, "messageId": id, "scope": scope });
    editor.request("copydesk/session/rewind", params)
}

#[track_caller]
fn undo(editor: &Editor, restored: &Value) {
    editor.request("copydesk/review/undo", json!({ "undoToken": restored["undoToken"] }));
}

#[track_caller]
fn check_clean(restored: &Value, files: &[String]) {
    assert_eq!(restored["conflicts"], json!([]), "{restored}");
    assert_eq!(restored["files"], json!(files), "{restored}");
}

fn pending(editor: &Editor) -> usize {
    let listed = editor.request("copydesk/review/list", json!({}));
    let files = listed["files"].as_array().expect("files");
    files.iter().map(|it| it["hunks"].as_array().map_or(0, Vec::len)).sum()
}

fn resume(editor: &Editor, session: &str) {
    let params = json!({ "sessionId": session, "cwd": editor.root(), "mcpServers": [], "replayFrom": { "type": "start" } });
    editor.request("session/resume", params);
}

/// What the last request to the model says, as text.
fn asked(model: &Model) -> String {
    model.requests().last().map(|it| it.body["messages"].to_string()).unwrap_or_default()
}

#[test]
fn each_prompt_can_be_gone_back_to_and_typing_stays() {
    for kind in [Kind::Strict, Kind::Lying] {
        let workspace = Workspace::new(&[("a.txt", BEFORE)]);
        let model = model([
            edit("a.txt", "two", "TWO"),
            edit("a.txt", "TWO", "TWO TWO"),
            edit("a.txt", "five", "FIVE"),
        ]);
        let editor = Start::new(&workspace)
            .kind(kind)
            .told(Told::AfterAnswer)
            .settings(&in_mode(&model, "edit"))
            .start();
        let uri = editor.open_file("a.txt");
        let session = editor.session();
        session.prompt("first\nand more");
        editor.type_before("a.txt", "one", "mine\n");
        session.prompt("second");
        editor.type_before("a.txt", "four", "typed ");
        session.prompt("third");
        let listed = checkpoints(&editor, &session.id);
        let labels: Vec<&str> = listed.iter().filter_map(|it| it["label"].as_str()).collect();
        assert_eq!(labels, ["first", "second", "third"]);
        assert!(listed[0]["time"].as_u64() > Some(1_000_000_000_000), "{listed:?}");
        assert_eq!(listed[0]["files"], json!([uri]));
        let ids = ids(&editor, &session.id);
        let texts = [
            "mine\none\ntwo\nthree\ntyped four\nfive\n",
            "mine\none\nTWO\nthree\ntyped four\nfive\n",
            "mine\none\nTWO TWO\nthree\ntyped four\nfive\n",
            "mine\none\nTWO TWO\nthree\ntyped four\nFIVE\n",
        ];
        for at in [2, 1, 0] {
            check_clean(&restore(&editor, &ids[at]), std::slice::from_ref(&uri));
            assert_eq!(editor.text("a.txt"), texts[at], "{kind:?}");
            assert_eq!(pending(&editor), at.min(1), "what earlier prompts did stays pending");
        }
        let nothing = restore(&editor, &ids[0]);
        check_clean(&nothing, &[]);
        drop(model);
    }
}

#[test]
fn a_restore_is_undone_with_its_hunks() {
    let workspace = Workspace::new(&[("a.txt", BEFORE), ("b.txt", "b\n")]);
    let model = model([edit("a.txt", "two", "TWO"), edit("b.txt", "b", "B")]);
    let editor = Editor::open(&workspace, &in_mode(&model, "edit"));
    editor.open_file("a.txt");
    let session = editor.session();
    session.prompt("first");
    session.prompt("second");
    let hunks = editor.request("copydesk/review/list", json!({}))["files"].clone();
    let ids = ids(&editor, &session.id);
    let dry = json!({ "checkpointId": ids[0], "dryRun": true });
    let would = editor.request("copydesk/checkpoint/restore", dry);
    check_clean(&would, &[workspace.uri("a.txt"), workspace.uri("b.txt")]);
    assert_eq!(would.get("undoToken"), None);
    assert_eq!(
        (editor.text("a.txt").as_str(), workspace.read("b.txt").as_str()),
        (BEFORE.replace("two", "TWO").as_str(), "B\n")
    );
    let restored = restore(&editor, &ids[0]);
    assert_eq!(
        (&would["files"], &would["conflicts"]),
        (&restored["files"], &restored["conflicts"])
    );
    assert_eq!((editor.text("a.txt").as_str(), workspace.read("b.txt").as_str()), (BEFORE, "b\n"));
    assert_eq!(pending(&editor), 0);
    undo(&editor, &restored);
    assert_eq!(
        (editor.text("a.txt"), workspace.read("b.txt")),
        (BEFORE.replace("two", "TWO"), "B\n".to_owned())
    );
    let ids_of = |files: &Value| files.to_string().matches("hunk-").count();
    let again = editor.request("copydesk/review/list", json!({}))["files"].clone();
    assert_eq!(ids_of(&again), ids_of(&hunks));
    assert_eq!(again[0]["hunks"][0]["hunkId"], hunks[0]["hunks"][0]["hunkId"]);
    let twice = json!({ "undoToken": restored["undoToken"] });
    let error = editor.try_request("copydesk/review/undo", twice).unwrap_err();
    assert_eq!(error.data["kind"], "not-found");
    // And once more, to the end.
    check_clean(&restore(&editor, &ids[0]), &[workspace.uri("a.txt"), workspace.uri("b.txt")]);
}

#[test]
fn typing_inside_a_change_stays_and_is_said() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let model = model([edit("a.txt", "two\nthree\nfour", "TWOTWO\nthree\nFOUR")]);
    let editor = Editor::open(&workspace, &in_mode(&model, "edit"));
    let uri = editor.open_file("a.txt");
    let session = editor.session();
    session.prompt("first");
    editor.type_before("a.txt", "OTWO", "-mine-");
    let restored = restore(&editor, &ids(&editor, &session.id)[0]);
    assert_eq!(restored["conflicts"][0]["uri"], uri.as_str(), "{restored}");
    assert!(restored["conflicts"][0]["reason"].as_str().is_some_and(|it| it.contains("inside")));
    let text = editor.text("a.txt");
    assert!(text.contains("-mine-") && text.contains("\nfour\n"), "{text}");
    // What stays is still the agent's, to be decided on.
    assert_eq!(pending(&editor), 1);
    undo(&editor, &restored);
    assert!(editor.text("a.txt").contains("FOUR"));
}

#[test]
fn files_come_and_go_with_their_bytes_and_modes() {
    let workspace = Workspace::new(&[("gone.sh", "#!/bin/sh\n"), ("keep.txt", "keep\n")]);
    let script = workspace.path("gone.sh");
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    workspace.write("latin.txt", b"caf\xe9 \xff\r\nx\r\n");
    let model = model([
        call("Write", json!({ "file_path": "new/made.txt", "content": "made\n" })),
        delete("gone.sh"),
        edit("latin.txt", "x", "y"),
    ]);
    let editor = Editor::open(&workspace, &in_mode(&model, "auto"));
    let session = editor.session();
    for prompt in ["first", "second", "third"] {
        session.prompt(prompt);
    }
    assert!(workspace.has("new/made.txt") && !workspace.has("gone.sh"));
    let ids = ids(&editor, &session.id);
    let restored = restore(&editor, &ids[0]);
    assert_eq!(restored["conflicts"], json!([]), "{restored}");
    assert!(!workspace.has("new/made.txt"));
    assert_eq!(workspace.read("gone.sh"), "#!/bin/sh\n");
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&script), 0o755);
    assert_eq!(workspace.bytes("latin.txt"), b"caf\xe9 \xff\r\nx\r\n");
    assert_eq!(pending(&editor), 0);
    undo(&editor, &restored);
    assert_eq!(workspace.read("new/made.txt"), "made\n");
    assert!(!workspace.has("gone.sh"));
    assert_eq!(workspace.bytes("latin.txt"), b"caf\xe9 \xff\r\ny\r\n");
    assert_eq!(pending(&editor), 3);
}

#[test]
fn what_a_command_changed_is_taken_back_too() {
    let workspace = Workspace::new(&[("a.txt", BEFORE), ("gone.txt", "gone\n")]);
    let command = "sed -i s/two/TWO/ a.txt; chmod 700 a.txt; rm gone.txt; echo made > made.txt";
    let model = model([call("Bash", json!({ "command": command }))]);
    let editor = Editor::open(&workspace, &in_mode(&model, "auto"));
    let session = editor.session();
    session.prompt("run it");
    assert!(workspace.has("made.txt") && !workspace.has("gone.txt"));
    let mode = || std::fs::metadata(workspace.path("a.txt")).unwrap().permissions().mode() & 0o777;
    let restored = restore(&editor, &ids(&editor, &session.id)[0]);
    assert_eq!(restored["conflicts"], json!([]), "{restored}");
    assert_eq!(workspace.read("a.txt"), BEFORE);
    assert_ne!(mode(), 0o700);
    assert_eq!(workspace.read("gone.txt"), "gone\n");
    assert!(!workspace.has("made.txt"));
    assert_eq!(pending(&editor), 0);
    undo(&editor, &restored);
    assert_eq!(workspace.read("a.txt"), BEFORE.replace("two", "TWO"));
    assert_eq!(mode(), 0o700);
    assert!(workspace.has("made.txt") && !workspace.has("gone.txt"));
}

/// A command changed a file that the editor has open and has not read anew.
fn changed_behind(workspace: &Workspace) -> (Model, Editor, String) {
    let model = model([call("Bash", json!({ "command": "sed -i s/two/TWO/ a.txt" }))]);
    let editor = Editor::open(workspace, &in_mode(&model, "auto"));
    editor.open_file("a.txt");
    let session = editor.session();
    session.prompt("run it");
    let id = session.id.clone();
    (model, editor, id)
}

#[test]
fn what_a_command_did_behind_an_open_document_is_taken_back_on_disk() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let (_model, editor, session) = changed_behind(&workspace);
    let changed = BEFORE.replace("two", "TWO");
    assert_eq!((editor.text("a.txt"), workspace.read("a.txt")), (BEFORE.to_owned(), changed));
    let restored = restore(&editor, &ids(&editor, &session)[0]);
    check_clean(&restored, &[editor.uri("a.txt")]);
    assert_eq!(
        (editor.text("a.txt"), workspace.read("a.txt")),
        (BEFORE.to_owned(), BEFORE.to_owned())
    );
    assert_eq!(pending(&editor), 0);
}

#[test]
fn what_a_command_did_to_files_with_unsaved_text_is_taken_back_on_disk_and_back_again() {
    for command in ["sed -i s/two/TWO/ a.txt", "rm a.txt"] {
        let workspace = Workspace::new(&[("a.txt", BEFORE)]);
        let model = model([call("Bash", json!({ "command": command }))]);
        let editor = Editor::open(&workspace, &in_mode(&model, "auto"));
        editor.open_file("a.txt");
        editor.type_before("a.txt", "two", "mine ");
        let session = editor.session();
        session.prompt("run it");
        let after = workspace.has("a.txt").then(|| workspace.read("a.txt"));
        assert_ne!(after.as_deref(), Some(BEFORE));
        let check = |disk: Option<&str>| {
            let found = workspace.has("a.txt").then(|| workspace.read("a.txt"));
            assert_eq!(found.as_deref(), disk, "{command}");
            assert_eq!(editor.text("a.txt"), BEFORE.replace("two", "mine two"), "{command}");
            assert!(editor.is_dirty("a.txt"), "{command}");
            assert_eq!(pending(&editor), 0, "{command}");
        };
        check(after.as_deref());
        let restored = restore(&editor, &ids(&editor, &session.id)[0]);
        check_clean(&restored, &[editor.uri("a.txt")]);
        check(Some(BEFORE));
        undo(&editor, &restored);
        check(after.as_deref());
    }
}

/// Neither the editor's text nor the agent's: what stands on disk is somebody else's, and is said.
#[test]
fn a_file_that_others_changed_behind_an_open_document_is_said() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let (_model, editor, session) = changed_behind(&workspace);
    let others = BEFORE.replace("two", "TWO, and more");
    workspace.write("a.txt", &others);
    let restored = restore(&editor, &ids(&editor, &session)[0]);
    assert_eq!(restored["conflicts"].as_array().map(Vec::len), Some(1), "{restored}");
    assert_eq!((editor.text("a.txt"), workspace.read("a.txt")), (BEFORE.to_owned(), others));
}

#[test]
fn what_others_made_of_a_file_is_never_overwritten() {
    let workspace = Workspace::new(&[("gone.txt", "old\n")]);
    let model = model([
        call("Write", json!({ "file_path": "made.txt", "content": "made\n" })),
        delete("gone.txt"),
    ]);
    let editor = Editor::open(&workspace, &in_mode(&model, "auto"));
    let session = editor.session();
    session.prompt("first");
    session.prompt("second");
    workspace.write("made.txt", "made\nmine\n");
    workspace.write("gone.txt", "another\n");
    let restored = restore(&editor, &ids(&editor, &session.id)[0]);
    assert_eq!(restored["files"], json!([]));
    assert_eq!(restored["conflicts"].as_array().map(Vec::len), Some(2), "{restored}");
    assert_eq!(workspace.read("made.txt"), "made\nmine\n");
    assert_eq!(workspace.read("gone.txt"), "another\n");
}

#[test]
fn the_conversation_alone_is_taken_back_and_files_stay() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let mut turns = vec![edit("a.txt", "two", "TWO"), edit("a.txt", "five", "FIVE")];
    turns.push(vec![Step::text("Third answer.")]);
    let model = model(turns);
    let editor = Editor::open(&workspace, &in_mode(&model, "edit"));
    editor.open_file("a.txt");
    let session = editor.session();
    session.prompt("first prompt");
    session.prompt("second prompt");
    editor.type_before("a.txt", "one", "mine\n");
    let before = ids(&editor, &session.id);
    let mark = editor.mark();
    let rewound = rewind(&editor, &session, &before[1], "conversation");
    check_clean(&rewound, &[]);
    assert!(editor.text("a.txt").starts_with("mine\n") && editor.text("a.txt").contains("FIVE"));
    let told = session.updates(mark);
    assert_eq!(told[0]["_meta"]["copydesk"]["rewound"], before[1].as_str(), "{told:?}");
    assert_eq!(ids(&editor, &session.id), before[..1]);
    // It comes back whole.
    undo(&editor, &rewound);
    assert_eq!(ids(&editor, &session.id), before);
    let rewound = rewind(&editor, &session, &before[1], "conversation");
    session.prompt("third prompt");
    let said = asked(&model);
    assert!(said.contains("first prompt") && said.contains("third prompt"), "{said}");
    assert!(!said.contains("second prompt"), "{said}");
    assert!(said.contains("keep their changes"), "{said}");
    // Now it has gone on.
    let params = json!({ "undoToken": rewound["undoToken"] });
    let error = editor.try_request("copydesk/review/undo", params).unwrap_err();
    assert_eq!(error.data["kind"], "stale");
    let exported = json!({ "sessionId": session.id, "format": "markdown" });
    let exported = editor.request("copydesk/session/export", exported)["content"].to_string();
    assert!(exported.contains("third prompt") && !exported.contains("second prompt"));
}

#[test]
fn both_are_taken_back_and_come_back() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let model = model([edit("a.txt", "two", "TWO"), edit("a.txt", "five", "FIVE")]);
    let editor = Editor::open(&workspace, &in_mode(&model, "edit"));
    let session = editor.session();
    session.prompt("first");
    session.prompt("second");
    let before = ids(&editor, &session.id);
    let rewound = rewind(&editor, &session, &before[0], "both");
    check_clean(&rewound, &[workspace.uri("a.txt")]);
    assert_eq!(workspace.read("a.txt"), BEFORE);
    assert!(ids(&editor, &session.id).is_empty());
    undo(&editor, &rewound);
    assert_eq!(workspace.read("a.txt"), BEFORE.replace("two", "TWO").replace("five", "FIVE"));
    assert_eq!(ids(&editor, &session.id), before);
    assert_eq!(pending(&editor), 2);
}

#[test]
fn the_agent_is_told_what_was_restored() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let model = model([edit("a.txt", "two", "TWO"), vec![Step::text("I see.")]]);
    let editor = Editor::open(&workspace, &in_mode(&model, "edit"));
    let session = editor.session();
    session.prompt("change it");
    restore(&editor, &ids(&editor, &session.id)[0]);
    session.prompt("go on");
    let said = asked(&model);
    assert!(
        said.contains("restored files") && said.contains("change it") && said.contains("a.txt")
    );
}

#[test]
fn a_running_turn_and_unknown_ids_are_refused() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([Step::text("wait").held()]);
    let editor = Editor::open(&workspace, &in_mode(&model, "edit"));
    let session = editor.session();
    let refuse = |params: Value, kind: &str| {
        let error = editor.try_request("copydesk/session/rewind", params).unwrap_err();
        assert_eq!(error.data["kind"], kind, "{error:?}");
    };
    refuse(json!({ "sessionId": session.id, "messageId": "x", "scope": "both" }), "not-found");
    refuse(json!({ "sessionId": "x", "messageId": "x", "scope": "both" }), "not-found");
    let mark = session.send("go");
    editor.wait("the answer", |state| {
        state.log.iter().any(|it| it["params"]["update"]["content"]["text"] == "wait").then_some(())
    });
    let id = ids(&editor, &session.id).remove(0);
    refuse(json!({ "sessionId": session.id, "messageId": id, "scope": "both" }), "busy");
    let error = editor.try_request("copydesk/checkpoint/restore", json!({ "checkpointId": id }));
    assert_eq!(error.unwrap_err().data["kind"], "busy");
    session.cancel();
    session.until_idle(mark);
    let scope = json!({ "sessionId": session.id, "messageId": id, "scope": "all" });
    assert_eq!(editor.try_request("copydesk/session/rewind", scope).unwrap_err().code, -32602);
    rewind(&editor, &session, &id, "conversation");
}

#[test]
fn a_restore_works_after_a_kill_and_so_does_its_undo() {
    let workspace = Workspace::new(&[("a.txt", BEFORE), ("b.txt", "b\n")]);
    let model =
        model([edit("a.txt", "two", "TWO"), edit("b.txt", "b", "B"), edit("a.txt", "five", "5")]);
    let settings = in_mode(&model, "edit");
    let mut editor = Editor::open(&workspace, &settings);
    editor.open_file("a.txt");
    let session = editor.session();
    session.prompt("first");
    session.prompt("second");
    session.prompt("third");
    let (id, unsaved) = (session.id.clone(), editor.text("a.txt"));
    editor.kill();
    drop(editor);
    // The buffer lived on.
    let mut editor = Editor::open(&workspace, &settings);
    editor.open_text(&workspace.uri("a.txt"), &unsaved);
    resume(&editor, &id);
    let before = ids(&editor, &id);
    let restored = restore(&editor, &before[1]);
    assert_eq!(restored["conflicts"], json!([]), "{restored}");
    assert_eq!(editor.text("a.txt"), BEFORE.replace("two", "TWO"));
    assert_eq!(workspace.read("b.txt"), "b\n");
    let text = editor.text("a.txt");
    editor.kill();
    drop(editor);
    let editor = Editor::open(&workspace, &settings);
    editor.open_text(&workspace.uri("a.txt"), &text);
    // Its session need not be open.
    undo(&editor, &restored);
    assert_eq!(editor.text("a.txt"), unsaved);
    assert_eq!(workspace.read("b.txt"), "B\n");
    let again = json!({ "undoToken": restored["undoToken"] });
    let error = editor.try_request("copydesk/review/undo", again).unwrap_err();
    assert!(error.message.contains("undone already"), "{error:?}");
    resume(&editor, &id);
    assert_eq!(ids(&editor, &id), before);
    assert!(pending(&editor) >= 2, "they are the agent's changes again");
}

#[test]
fn a_rewound_conversation_stays_so_after_a_restart() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([Step::text("One."), Step::text("Two."), Step::text("Three.")]);
    let settings = in_mode(&model, "edit");
    let editor = Editor::open(&workspace, &settings);
    let session = editor.session();
    session.prompt("first prompt");
    session.prompt("second prompt");
    let rewound = rewind(&editor, &session, &ids(&editor, &session.id)[1], "conversation");
    let id = session.id.clone();
    drop(editor);
    let editor = Editor::open(&workspace, &settings);
    let mark = editor.mark();
    resume(&editor, &id);
    let told = editor.joined(&id).updates(mark);
    let told = serde_json::to_string(&told).unwrap();
    assert!(told.contains("first prompt") && !told.contains("second prompt"), "{told}");
    undo(&editor, &rewound);
    assert_eq!(ids(&editor, &id).len(), 2);
    editor.joined(&id).prompt("third prompt");
    assert!(asked(&model).contains("second prompt"));
}

#[test]
fn a_fork_has_the_conversation_up_to_a_message() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let mut turns = vec![edit("a.txt", "two", "TWO"), vec![Step::text("Second answer.")]];
    turns.push(vec![Step::text("Of the fork.")]);
    turns.push(vec![Step::text("Of the other fork.")]);
    let model = model(turns);
    let editor = Editor::open(&workspace, &in_mode(&model, "edit"));
    let session = editor.session();
    session.prompt("first prompt");
    session.prompt("second prompt");
    let fork = |message: Option<&str>| {
        let params = json!({ "sessionId": session.id, "messageId": message });
        let forked = editor.request("copydesk/session/fork", params);
        forked["sessionId"].as_str().expect("an id").to_owned()
    };
    let prompts = ids(&editor, &session.id);
    let at_prompt = fork(Some(&prompts[1]));
    editor.joined(&at_prompt).prompt("another prompt");
    let said = asked(&model);
    assert!(said.contains("first prompt") && said.contains("TWO is in."), "{said}");
    assert!(!said.contains("second prompt"), "{said}");
    // Its checkpoints are its own, and nothing of the files is.
    let own = checkpoints(&editor, &at_prompt);
    assert_eq!(own.len(), 2);
    assert!(own.iter().all(|it| it["files"] == json!([]) && it["id"] != prompts[0].as_str()));
    let mut updates = session.updates(0).into_iter();
    let answer = updates.find(|it| it["sessionUpdate"] == "agent_message_chunk");
    let answer = answer.expect("an answer")["messageId"].as_str().expect("an id").to_owned();
    let at_answer = fork(Some(&answer));
    editor.joined(&at_answer).prompt("a third");
    assert!(asked(&model).contains("TWO is in.") && !asked(&model).contains("second prompt"));
    let whole = fork(None);
    assert_eq!(ids(&editor, &whole).len(), 2);
    let params = json!({ "sessionId": session.id, "messageId": "nothing" });
    let error = editor.try_request("copydesk/session/fork", params).unwrap_err();
    assert_eq!(error.data["kind"], "not-found");
    resume(&editor, &whole);
}

#[test]
fn nothing_but_the_agents_files_is_touched_with_or_without_git() {
    let workspace =
        Workspace::new(&[(".gitignore", "big/\n"), ("a.txt", BEFORE), ("mine.txt", "x\n")]);
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.args(args).current_dir(workspace.root()).env("HOME", workspace.beside("home"));
        assert!(output(&mut command).status.success(), "git {args:?}");
    };
    git(&["init", "-q"]);
    // A repository that is broken, in a folder of its own, and a second root without any.
    std::fs::create_dir_all(workspace.path("sub/.git")).unwrap();
    workspace.write("sub/.git/HEAD", "nonsense");
    workspace.write("sub/b.txt", "b\n");
    let other = workspace.beside("other");
    std::fs::create_dir_all(&other).unwrap();
    std::fs::write(other.join("c.txt"), "c\n").unwrap();
    workspace.write(".gitignore", "big/\n# dirty\n");
    let big = std::fs::File::create({
        std::fs::create_dir_all(workspace.path("big")).unwrap();
        workspace.path("big/file")
    });
    big.unwrap().set_len(1 << 30).unwrap();
    let stamp = |path: &str| std::fs::metadata(workspace.path(path)).unwrap().modified().unwrap();
    let outside = other.join("c.txt").display().to_string();
    let model =
        model([edit("a.txt", "two", "TWO"), edit("sub/b.txt", "b", "B"), edit(&outside, "c", "C")]);
    let editor = Editor::open(&workspace, &in_mode(&model, "edit"));
    let created = editor.request(
        "session/new",
        json!({ "cwd": workspace.root(), "additionalDirectories": [other], "mcpServers": [] }),
    );
    let session = editor.joined(created["sessionId"].as_str().expect("an id"));
    for prompt in ["first", "second", "third"] {
        session.prompt(prompt);
    }
    assert_eq!(std::fs::read_to_string(other.join("c.txt")).unwrap(), "C\n");
    workspace.write("mine.txt", "mine\n");
    let stamps: Vec<_> = ["big/file", ".gitignore", "mine.txt", ".git/HEAD", "sub/.git/HEAD"]
        .map(|path| (path, stamp(path)))
        .into();
    let restored = restore(&editor, &ids(&editor, &session.id)[0]);
    assert_eq!(restored["conflicts"], json!([]), "{restored}");
    assert_eq!(workspace.read("a.txt"), BEFORE);
    assert_eq!(workspace.read("sub/b.txt"), "b\n");
    assert_eq!(std::fs::read_to_string(other.join("c.txt")).unwrap(), "c\n");
    for (path, before) in stamps {
        assert_eq!(stamp(path), before, "{path}");
    }
    assert_eq!(workspace.read("mine.txt"), "mine\n");
}

#[test]
fn an_image_that_was_dropped_is_said() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let model = model([edit("a.txt", "two", "TWO")]);
    let editor = Editor::open(&workspace, &in_mode(&model, "edit"));
    let session = editor.session();
    session.prompt("first");
    until("the images", PATIENCE, || workspace.beside("state").join("copydesk/blobs").is_dir());
    let id = ids(&editor, &session.id).remove(0);
    std::fs::remove_dir_all(workspace.beside("state").join("copydesk/blobs")).unwrap();
    let restored = restore(&editor, &id);
    assert_eq!(restored["files"], json!([]));
    assert!(
        restored["conflicts"][0]["reason"].as_str().is_some_and(|it| it.contains("history_mb"))
    );
    assert_eq!(workspace.read("a.txt"), BEFORE.replace("two", "TWO"));
}

#[test]
fn where_another_session_went_on_with_a_change_it_stays_and_is_said() {
    for is_open in [false, true] {
        let workspace = Workspace::new(&[("a.txt", BEFORE)]);
        let changes = ["two", "four"].map(|it| edit("a.txt", it, &it.to_uppercase()));
        let model = Model::new(
            changes.into_iter().flat_map(|it| it.into_iter().take(2)).chain([Step::text("Done.")]),
        );
        let editor = Editor::open(&workspace, &in_mode(&model, "edit"));
        if is_open {
            editor.open_file("a.txt");
        }
        let text = || if is_open { editor.text("a.txt") } else { workspace.read("a.txt") };
        let session = editor.session();
        session.prompt("first");
        let other = editor.session();
        other.tool("Read", json!({ "file_path": "a.txt" })).ok();
        let input =
            json!({ "file_path": "a.txt", "old_string": "TWO", "new_string": "TWO and more" });
        other.tool("Edit", input).ok();
        let id = ids(&editor, &session.id).remove(0);
        let dry = json!({ "checkpointId": id, "dryRun": true });
        let would = editor.request("copydesk/checkpoint/restore", dry);
        let restored = restore(&editor, &id);
        assert_eq!(would["conflicts"], restored["conflicts"]);
        let reason = restored["conflicts"][0]["reason"].as_str().expect("a reason");
        assert!(reason.contains("another agent"), "{reason}");
        assert_eq!(text(), BEFORE.replace("two", "TWO and more"), "open: {is_open}");
        undo(&editor, &restored);
        assert_eq!(text(), BEFORE.replace("two", "TWO and more").replace("four", "FOUR"));
    }
}

/// As after a kill between the write of a file and that of the session's log.
#[test]
fn a_change_that_was_not_logged_is_taken_back_all_the_same() {
    for logged in [false, true] {
        let workspace = Workspace::new(&[("a.txt", BEFORE)]);
        let new = call("Write", json!({ "file_path": "n/new.txt", "content": "new\n" }));
        let model = model([edit("a.txt", "two", "TWO"), new]);
        let settings = in_mode(&model, "edit");
        let mut editor = Editor::open(&workspace, &settings);
        let session = editor.session();
        session.prompt("first");
        session.prompt("second");
        let id = session.id.clone();
        let first = ids(&editor, &id).remove(0);
        editor.kill();
        drop(editor);
        let state = workspace.beside("state").join("copydesk");
        let (log, text) = workspace
            .own_files()
            .into_iter()
            .find(|(path, _)| path.ends_with(format!("{id}/log.jsonl")))
            .expect("a log");
        let is_steps = |line: &&str| line.contains(r#""type":"steps""#);
        for (number, line) in text.lines().filter(is_steps).enumerate() {
            let record: Value = serde_json::from_str(line).unwrap();
            let step = &record["steps"][0];
            let folders = step.get("folders").cloned().unwrap_or(json!([]));
            let entry = json!({
                "path": step["real"], "before": step["before"].get("file"), "after": step["after"]["file"],
            });
            let owned =
                json!({ "owner": id, "name": step["call"], "paths": [step["file"]["disk"]] });
            let record = json!({ "entries": [entry], "folders": folders, "owned": owned });
            let path = state.join(format!("journal/4999999-{number}.unlogged"));
            std::fs::write(path, record.to_string()).unwrap();
        }
        if !logged {
            let rest: Vec<&str> = text.lines().filter(|it| !is_steps(it)).collect();
            std::fs::write(&log, rest.join("\n") + "\n").unwrap();
        }
        let editor = Editor::open(&workspace, &settings);
        resume(&editor, &id);
        assert_eq!(std::fs::read_dir(state.join("journal")).unwrap().count(), 0);
        let steps = std::fs::read_to_string(&log).unwrap();
        assert_eq!(steps.lines().filter(is_steps).count(), 2, "each is logged once");
        let restored = restore(&editor, &first);
        assert_eq!(restored["conflicts"], json!([]), "{restored}");
        assert_eq!(workspace.read("a.txt"), BEFORE, "logged: {logged}");
        assert!(!workspace.has("n"), "logged: {logged}");
        undo(&editor, &restored);
        assert_eq!(workspace.read("n/new.txt"), "new\n");
    }
}

//! A language client that knows nothing of this server: commands and messages alone.

use serde_json::{Value, json};

use crate::editor::{Answer, Editor, Kind, REJECT, Start};
use crate::model::{Model, Step};
use crate::workspace::{Workspace, until};

fn desk(workspace: &Workspace, model: &Model) -> Editor {
    Start::new(workspace).kind(Kind::Bare).settings(&model.settings()).start()
}

fn command(editor: &Editor, name: &str, arguments: Value) -> Value {
    editor.request("workspace/executeCommand", json!({ "command": name, "arguments": arguments }))
}

fn writes() -> Model {
    Model::new([
        Step::call("Write", json!({ "file_path": "new.txt", "content": "x\n" })),
        Step::text("done"),
    ])
}

#[test]
fn the_commands_are_announced() {
    let workspace = Workspace::new(&[]);
    let editor = desk(&workspace, &Model::new([]));
    let announced =
        editor.initialized["capabilities"]["executeCommandProvider"]["commands"].to_string();
    for name in
        ["copydesk.prompt", "copydesk.stop", "copydesk.approve", "copydesk.deny", "copydesk.mode"]
    {
        assert!(announced.contains(name), "{name}: {announced}");
    }
}

#[test]
fn a_prompt_is_answered_and_permission_asked_in_a_message() {
    let (workspace, model) = (Workspace::new(&[]), writes());
    let editor = desk(&workspace, &model);
    command(&editor, "copydesk.prompt", json!(["write it"]));
    model.wait_requests(2);
    assert_eq!(workspace.read("new.txt"), "x\n");
    let asked = editor.asked("window/showMessageRequest").remove(0);
    assert!(asked["message"].as_str().is_some_and(|m| m.contains("new.txt")), "{asked}");
}

#[test]
fn a_rejection_in_a_message_counts() {
    let (workspace, model) = (Workspace::new(&[]), writes());
    let editor = desk(&workspace, &model);
    editor.permit(REJECT);
    command(&editor, "copydesk.prompt", json!(["write it"]));
    model.wait_requests(2);
    assert!(!workspace.has("new.txt"));
}

#[test]
fn an_open_question_can_be_answered_by_command() {
    for (name, written) in [("copydesk.approve", true), ("copydesk.deny", false)] {
        let (workspace, model) = (Workspace::new(&[]), writes());
        let editor = desk(&workspace, &model);
        editor.permit(Answer::Hold);
        command(&editor, "copydesk.prompt", json!(["write it"]));
        editor.wait("the question", |s| (!s.held.is_empty()).then_some(()));
        command(&editor, name, json!([]));
        model.wait_requests(2);
        assert_eq!(workspace.has("new.txt"), written, "{name}");
    }
}

#[test]
fn a_dirty_buffer_is_edited() {
    let workspace = Workspace::new(&[("a.txt", "one\ntwo\n")]);
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call(
            "Edit",
            json!({ "file_path": "a.txt", "old_string": "two", "new_string": "TWO" }),
        ),
    ]);
    let editor = desk(&workspace, &model);
    editor.open_file("a.txt");
    editor.type_before("a.txt", "one", "unsaved ");
    command(&editor, "copydesk.prompt", json!(["shout"]));
    model.wait_requests(3);
    assert_eq!(editor.text("a.txt"), "unsaved one\nTWO\n");
    assert_eq!(workspace.read("a.txt"), "one\ntwo\n");
}

#[test]
fn stop_ends_the_turn() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([Step::text("words that never end").held()]);
    let editor = desk(&workspace, &model);
    command(&editor, "copydesk.prompt", json!(["go"]));
    model.wait_requests(1);
    command(&editor, "copydesk.stop", json!([]));
    model.wait_hang_up();
}

#[test]
fn a_command_nobody_knows_or_without_its_argument_is_an_error() {
    let workspace = Workspace::new(&[]);
    let editor = desk(&workspace, &Model::new([]));
    for (name, arguments) in [("copydesk.fly", json!([])), ("copydesk.mode", json!(["reckless"]))] {
        editor
            .try_request(
                "workspace/executeCommand",
                json!({ "command": name, "arguments": arguments }),
            )
            .unwrap_err();
    }
}

#[test]
fn an_answer_is_shown_as_a_document() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([Step::text("The answer is 42.")]);
    let editor = desk(&workspace, &model);
    command(&editor, "copydesk.prompt", json!(["what is it?"]));
    let shown = editor.heard("window/showDocument", 0);
    let uri = shown["params"]["uri"].as_str().expect("a URI").to_owned();
    let path = url::Url::parse(&uri).expect("a URI").to_file_path().expect("a file");
    until("the answer in the transcript", crate::workspace::PATIENCE, || {
        std::fs::read_to_string(&path)
            .is_ok_and(|text| text.contains("The answer is 42.") && text.contains("what is it?"))
    });
}

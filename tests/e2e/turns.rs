//! One turn: acknowledged, streamed, shown card by card, fed with results, cancelled.

use std::time::Duration;

use serde_json::{Value, json};

use crate::editor::{Answer, Editor, Start};
use crate::model::{Model, Step, Wire};
use crate::workspace::{Workspace, processes, until};

/// A cancel reaches everything within a second; asserted at five times that.
const CANCELLED: Duration = Duration::from_secs(5);

#[track_caller]
fn reads_and_answers(wire: Wire) {
    let workspace = Workspace::new(&[("a.txt", "the disk\n")]);
    let model = Model::speaking(
        wire,
        [
            Step::text("I look.").and_call("Read", json!({ "file_path": "a.txt" })),
            Step::text("It says: the disk."),
        ],
    );
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    let mark = session.send("What does a.txt say?");
    assert_eq!(session.until_idle(mark), "end_turn");
    assert_eq!(session.said(mark), "I look.It says: the disk.");
    assert!(model.results()[0].contains("the disk"), "{:?}", model.results());
    let cards = session.cards();
    assert_eq!(cards.len(), 1, "{cards:?}");
    assert_eq!(
        (&cards[0]["kind"], &cards[0]["status"]),
        (&json!("read"), &json!("completed")),
        "{cards:?}"
    );
    assert!(cards[0]["title"].as_str().is_some_and(|t| t.contains("a.txt")), "{cards:?}");
}

#[test]
fn a_turn_over_chat_completions_reads_and_answers() {
    reads_and_answers(Wire::OpenAi);
}

#[test]
fn a_turn_over_anthropic_messages_reads_and_answers() {
    reads_and_answers(Wire::Anthropic);
}

#[test]
fn several_calls_of_one_step_each_have_a_card_and_a_result() {
    let workspace = Workspace::new(&[("a.txt", "text a\n"), ("b.txt", "text b\n")]);
    for wire in [Wire::OpenAi, Wire::Anthropic] {
        let model = Model::speaking(
            wire,
            [Step::call("Read", json!({ "file_path": "a.txt" }))
                .and_call("Read", json!({ "file_path": "b.txt" }))
                .and_call("Glob", json!({ "pattern": "*.txt" }))],
        );
        let editor = Editor::open(&workspace, &model.settings());
        let session = editor.session();
        assert_eq!(session.prompt("look"), "end_turn");
        let results = model.results();
        assert_eq!(results.len(), 3, "{results:?}");
        assert!(
            results[0].contains("text a")
                && results[1].contains("text b")
                && results[2].contains("b.txt"),
            "{results:?}"
        );
        assert_eq!(session.cards().len(), 3);
    }
}

#[test]
fn a_call_of_the_person_has_a_card_too() {
    let workspace = Workspace::new(&[("a.txt", "x\n")]);
    let editor = Editor::open(&workspace, &json!({}));
    let session = editor.session();
    let called = session.tool("Read", json!({ "file_path": "a.txt" }));
    let card = session.wait_card("read", "completed");
    assert_eq!(card["toolCallId"], called.id.as_str(), "{card}");
    called.ok();
}

#[test]
fn a_prompt_is_acknowledged_before_the_model_answers() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([Step::text("early words").held()]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    let mark = session.send("go");
    session.wait_update("a running state", mark, |u| {
        u["sessionUpdate"] == "state_update" && u["state"] == "running"
    });
    model.release();
    assert_eq!(session.until_idle(mark), "end_turn");
}

#[test]
fn text_is_shown_while_the_model_still_speaks() {
    let workspace = Workspace::new(&[]);
    for wire in [Wire::OpenAi, Wire::Anthropic] {
        let model =
            Model::speaking(wire, [Step::text("the first half, held back at its end").held()]);
        let editor = Editor::open(&workspace, &model.settings());
        let session = editor.session();
        let mark = session.send("go");
        session.wait_update("text", mark, |u| u["sessionUpdate"] == "agent_message_chunk");
        until("all text to be shown", CANCELLED, || session.said(mark).ends_with("at its end"));
        model.release();
        session.until_idle(mark);
    }
}

#[test]
fn the_persons_prompt_is_in_the_session_and_reaches_the_model() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    let mark = session.send("a question with 𝒳 and \"quotes\"");
    session.until_idle(mark);
    let told = session.wait_update("the prompt", mark, |u| u["sessionUpdate"] == "user_message");
    assert!(told.to_string().contains("𝒳"), "{told}");
    assert!(model.requests()[0].body.to_string().contains("a question with 𝒳"));
}

#[test]
fn text_of_a_file_in_a_prompt_counts_as_read() {
    let text = "one\ntwo\nthree\nfour\n";
    let workspace = Workspace::new(&[("a.txt", text), ("b.txt", text)]);
    let edit = |path: &str, old: &str| {
        Step::call("Edit", json!({ "file_path": path, "old_string": old, "new_string": "new" }))
    };
    let steps = [edit("a.txt", "one"), edit("b.txt", "three"), edit("b.txt", "four")];
    let model = Model::new(steps.into_iter().chain([Step::text("done")]));
    let editor = Editor::open(&workspace, &model.settings_with(&json!({ "mode": "auto" })));
    let session = editor.session();
    let resource = |path: &str, text: &str| {
        let resource = json!({ "uri": editor.uri(path), "text": text, "mimeType": "text/plain" });
        json!({ "type": "resource", "resource": resource })
    };
    let prompt = json!([resource("a.txt", text), resource("b.txt", "two\nthree")]);
    let mark = editor.mark();
    let params = json!({ "sessionId": session.id, "prompt": prompt });
    editor.request("session/prompt", params);
    session.until_idle(mark);
    let results = model.results();
    assert!(results[2].contains("Lines 4-4 of b.txt were not read yet"), "{results:?}");
    assert_eq!(workspace.read("a.txt"), text.replace("one", "new"));
    assert_eq!(workspace.read("b.txt"), text.replace("three", "new"));
}

#[test]
fn the_beginning_of_the_prompt_stays_the_same_bytes() {
    let workspace = Workspace::new(&[("a.txt", "x\n")]);
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call("Glob", json!({ "pattern": "*" })),
        Step::text("first turn done"),
        Step::text("second turn done"),
    ]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    session.prompt("one");
    session.prompt("two");
    let requests = model.requests();
    for pair in requests.windows(2) {
        assert_eq!(pair[0].body["tools"].to_string(), pair[1].body["tools"].to_string());
        let (before, after) = (
            pair[0].body["messages"].as_array().unwrap(),
            pair[1].body["messages"].as_array().unwrap(),
        );
        assert!(before.len() < after.len(), "the conversation grows");
        assert_eq!(
            Value::from(before.clone()).to_string(),
            Value::from(after[..before.len()].to_vec()).to_string()
        );
    }
}

#[test]
fn the_model_is_offered_the_tools_by_name_and_schema() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    session.prompt("hello");
    let tools = model.requests()[0].body["tools"].clone();
    let names: Vec<_> =
        tools.as_array().unwrap().iter().filter_map(|t| t["function"]["name"].as_str()).collect();
    for name in ["Read", "Write", "Edit", "MultiEdit", "Grep", "Glob", "LS", "Bash"] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    let listed = editor.request("copydesk/tool/list", json!({ "sessionId": session.id }));
    let listed: Vec<_> =
        listed["tools"].as_array().unwrap().iter().filter_map(|t| t["name"].as_str()).collect();
    assert!(names.iter().all(|n| listed.contains(n)), "{names:?} in {listed:?}");
}

#[test]
fn a_prompt_sent_during_a_turn_is_delivered_at_its_boundary() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([Step::text("first").held(), Step::text("second")]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    let mark = session.send("one");
    model.wait_requests(1);
    session.send("two, inserted");
    session.wait_update("the inserted prompt", mark, |u| {
        u["sessionUpdate"] == "user_message" && u.to_string().contains("inserted")
    });
    assert_eq!(model.requests().len(), 1, "not before the boundary");
    model.release();
    let requests = model.wait_requests(2);
    assert!(requests[1].body.to_string().contains("two, inserted"));
    editor.wait("both answers", |s| {
        let text: String = s
            .log
            .iter()
            .map(|m| m["params"]["update"]["content"]["text"].as_str().unwrap_or_default())
            .collect();
        text.contains("second").then_some(())
    });
}

#[test]
fn cancel_during_the_stream_hangs_up_and_ends_the_turn() {
    let workspace = Workspace::new(&[]);
    for wire in [Wire::OpenAi, Wire::Anthropic] {
        let model = Model::speaking(wire, [Step::text("words that never end").held()]);
        let editor = Editor::open(&workspace, &model.settings());
        let session = editor.session();
        let mark = session.send("go");
        session.wait_update("text", mark, |u| u["sessionUpdate"] == "agent_message_chunk");
        session.cancel();
        assert_eq!(session.until_idle(mark), "cancelled");
        model.wait_hang_up();
        assert_eq!(model.requests().len(), 1);
        assert_eq!(session.prompt("still there?"), "end_turn");
    }
}

#[test]
fn cancel_during_a_command_ends_its_group_and_its_card() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([
        Step::call("Bash", json!({ "command": "sleep 3071.5 | cat", "description": "Wait" })),
        Step::text("never"),
    ]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    let mark = session.send("go");
    until("the command to run", Duration::from_secs(20), || {
        !processes(&["sleep", "3071.5"]).is_empty()
    });
    session.cancel();
    assert_eq!(session.until_idle(mark), "cancelled");
    until("the group to be gone", CANCELLED, || processes(&["sleep", "3071.5"]).is_empty());
    let cards = session.cards();
    assert_eq!(cards[0]["status"], "cancelled", "{cards:?}");
    assert_eq!(model.requests().len(), 1, "no further request");
    // The history is still whole: the model would refuse a call without its result.
    assert_eq!(session.prompt("and now?"), "end_turn");
}

#[test]
fn cancel_while_permission_is_asked_answers_the_prompt() {
    let workspace = Workspace::new(&[]);
    let model =
        Model::new([Step::call("Write", json!({ "file_path": "new.txt", "content": "x\n" }))]);
    let editor = Editor::open(&workspace, &model.settings());
    editor.permit(Answer::Hold);
    let session = editor.session();
    let mark = session.send("go");
    let request = editor.wait("the permission request", |s| {
        s.held.first().map(|h| h.1["_meta"]["copydesk"]["requestId"].clone())
    });
    session.cancel();
    assert_eq!(session.until_idle(mark), "cancelled");
    assert_eq!(session.cards()[0]["status"], "cancelled");
    let resolved = editor.heard("copydesk/request/resolved", mark);
    assert_eq!(resolved["params"]["requestId"], request, "{resolved}");
    editor.answer(&crate::editor::ALLOW);
    assert_eq!(session.prompt("again"), "end_turn");
    assert!(!workspace.has("new.txt"), "a late answer revives nothing");
}

#[test]
fn cancel_without_a_turn_changes_nothing() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    session.cancel();
    editor.notify("session/cancel", json!({ "sessionId": "no such session" }));
    assert_eq!(session.prompt("hello"), "end_turn");
}

#[test]
fn a_cancelled_turn_leaves_an_undelivered_prompt_listed_and_not_run() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([Step::text("first").held()]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    let mark = session.send("one");
    model.wait_requests(1);
    session.send("two, never delivered");
    session.cancel();
    assert_eq!(session.until_idle(mark), "cancelled");
    editor.request("copydesk/status", json!({}));
    assert_eq!(model.requests().len(), 1);
    assert!(
        session
            .updates(mark)
            .iter()
            .any(|u| u["sessionUpdate"] == "user_message"
                && u.to_string().contains("never delivered"))
    );
}

#[test]
fn a_new_session_offers_mode_and_model() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    let options = session.created["configOptions"].as_array().expect("options").clone();
    let of = |options: &[Value], id: &str| {
        let found = options.iter().find(|o| o["configId"] == id || o["id"] == id).cloned();
        found.unwrap_or_else(|| panic!("no option {id}: {options:?}"))
    };
    assert_eq!(of(&options, "mode")["currentValue"], "ask");
    assert_eq!(of(&options, "model")["currentValue"], "mock/test");
    for mode in ["ask", "plan", "edit", "auto"] {
        let changed = session.set("mode", mode);
        assert_eq!(of(changed["configOptions"].as_array().unwrap(), "mode")["currentValue"], mode);
    }
}

#[test]
fn an_unknown_option_or_value_is_an_error() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    for (option, value) in [("mode", "reckless"), ("colour", "red")] {
        let params =
            json!({ "sessionId": session.id, "configId": option, "type": "id", "value": value });
        let error = editor.try_request("session/set_config_option", params).unwrap_err();
        assert!(error.message.contains(value) || error.message.contains(option), "{error:?}");
    }
}

#[test]
fn an_unknown_session_is_an_error() {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &json!({}));
    let prompt = json!([{ "type": "text", "text": "x" }]);
    let error = editor
        .try_request("session/prompt", json!({ "sessionId": "nobody", "prompt": prompt }))
        .unwrap_err();
    assert!(error.message.contains("nobody"), "{error:?}");
    let call = json!({ "sessionId": "nobody", "name": "LS", "input": {} });
    editor.try_request("copydesk/tool/call", call).unwrap_err();
}

#[test]
fn two_sessions_run_at_the_same_time() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([Step::text("one").held(), Step::text("two").held()]);
    let editor = Editor::open(&workspace, &model.settings());
    let (first, second) = (editor.session(), editor.session());
    let (a, b) = (first.send("1"), second.send("2"));
    model.wait_requests(2);
    model.release();
    assert_eq!(
        (first.until_idle(a), second.until_idle(b)),
        ("end_turn".to_owned(), "end_turn".to_owned())
    );
}

#[test]
fn a_long_answer_arrives_whole_in_bounded_messages() {
    let workspace = Workspace::new(&[]);
    let text = "A sentence of the answer, number n. ".repeat(6000);
    let model = Model::new([Step::text(&text)]);
    let editor = Start::new(&workspace).settings(&model.settings()).start();
    let session = editor.session();
    let mark = session.send("at length");
    assert_eq!(session.until_idle(mark), "end_turn");
    assert_eq!(session.said(mark).len(), text.len());
}

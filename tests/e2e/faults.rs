//! What goes wrong outside: endpoints, answers, keys. The person is told, the server lives.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::editor::{Editor, Start};
use crate::model::{Model, SECRET, Step, Wire, settings_for};
use crate::workspace::Workspace;

/// The turn ends, says one of these words where the person sees it, and the server goes on.
#[track_caller]
fn check_told(editor: &Editor, words: &[&str]) {
    let session = editor.session();
    let mark = session.send("hello");
    let stop = session.until_idle(mark);
    assert_ne!(stop, "cancelled");
    let shown = Value::from(session.updates(mark)).to_string().to_lowercase();
    assert!(words.iter().any(|w| shown.contains(w)), "none of {words:?} in {shown}");
    assert!(editor.request("copydesk/status", json!({}))["version"].is_string());
}

/// The same for settings that name an endpoint, which must not show its key.
#[track_caller]
fn check(settings: &Value, words: &[&str]) {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, settings);
    check_told(&editor, words);
    no_secret(&workspace, &editor);
}

#[track_caller]
fn no_secret(workspace: &Workspace, editor: &Editor) {
    assert!(!editor.stderr().contains(SECRET), "the key is on standard error");
    for message in &editor.lock().log {
        assert!(!message.to_string().contains(SECRET), "the key was sent to the editor: {message}");
    }
    for (path, text) in workspace.own_files() {
        assert!(!text.contains(SECRET), "the key is in {}", path.display());
    }
}

#[test]
fn a_dead_endpoint_is_told() {
    let port = TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
    let settings = settings_for("openai", &format!("http://127.0.0.1:{port}/v1"));
    check(&settings, &["connect", "reach", "refused"]);
}

#[test]
fn a_host_that_does_not_exist_is_told() {
    check(
        &settings_for("anthropic", "http://no-such-host.invalid"),
        &["no-such-host", "connect", "reach", "resolve"],
    );
}

#[test]
fn a_refused_key_is_told() {
    for wire in [Wire::OpenAi, Wire::Anthropic] {
        let model = Model::speaking(wire, [Step::status(401)]);
        check(&model.settings(), &["401", "key"]);
        assert_eq!(model.requests().len(), 1, "a refused key is not tried again");
    }
}

#[test]
fn a_busy_endpoint_is_asked_again() {
    for (wire, status) in [(Wire::OpenAi, 429), (Wire::Anthropic, 529), (Wire::OpenAi, 503)] {
        let workspace = Workspace::new(&[]);
        let model = Model::speaking(
            wire,
            [Step::status(status).header("retry-after", "0"), Step::text("now")],
        );
        let editor = Editor::open(&workspace, &model.settings());
        let session = editor.session();
        let mark = session.send("hello");
        assert_eq!(session.until_idle(mark), "end_turn", "{status}");
        assert_eq!(session.said(mark), "now");
        assert_eq!(model.requests().len(), 2);
    }
}

#[test]
fn a_bad_request_is_told() {
    let model = Model::new([Step::status(400)]);
    check(&model.settings(), &["400", "scripted error"]);
}

#[test]
fn a_stream_cut_in_a_text_never_ends_the_turn_as_if_whole() {
    for wire in [Wire::OpenAi, Wire::Anthropic] {
        let workspace = Workspace::new(&[]);
        let cuts = || (0..12).map(|_| Step::text("half a sent").cut());
        let model = Model::speaking(wire, cuts());
        let editor = Editor::open(&workspace, &model.settings());
        let session = editor.session();
        let mark = session.send("hello");
        assert_ne!(session.until_idle(mark), "end_turn", "{wire:?}");
    }
}

#[test]
fn a_call_cut_in_its_arguments_is_never_run() {
    for wire in [Wire::OpenAi, Wire::Anthropic] {
        let workspace = Workspace::new(&[]);
        let call =
            || Step::call("Write", json!({ "file_path": "cut.txt", "content": "whole\n" })).cut();
        let model = Model::speaking(wire, (0..12).map(|_| call()));
        let editor = Editor::open(&workspace, &model.settings_with(&json!({ "mode": "auto" })));
        let session = editor.session();
        let mark = session.send("hello");
        session.until_idle(mark);
        assert!(!workspace.has("cut.txt"), "{wire:?}");
        for card in session.cards() {
            assert!(matches!(card["status"].as_str(), Some("failed" | "cancelled")), "{card}");
        }
    }
}

#[test]
fn arguments_that_are_no_json_go_back_as_an_error() {
    for wire in [Wire::OpenAi, Wire::Anthropic] {
        let workspace = Workspace::new(&[]);
        let model = Model::speaking(
            wire,
            [Step::call_raw("Read", "{\"file_path\": nonsense"), Step::text("sorry")],
        );
        let editor = Editor::open(&workspace, &model.settings());
        let session = editor.session();
        assert_eq!(session.prompt("hello"), "end_turn", "{wire:?}");
        let result = model.results()[0].to_lowercase();
        assert!(result.contains("json"), "{result}");
        assert_eq!(session.cards()[0]["status"], "failed");
    }
}

#[test]
fn wrong_arguments_go_back_with_the_place() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([
        Step::call("Read", json!({ "path_to_file": 7, "limit": "many" })),
        Step::text("sorry"),
    ]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    assert_eq!(session.prompt("hello"), "end_turn");
    assert!(model.results()[0].contains("file_path"), "{:?}", model.results());
}

#[test]
fn arguments_in_the_wrong_dress_are_repaired() {
    let workspace = Workspace::new(&[("a.txt", "one\ntwo\nthree\n")]);
    let model = Model::new([Step::call(
        "read",
        json!({ "file_path": "a.txt", "offset": "2", "limit": 1.0, "pages": null }),
    )]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    session.prompt("hello");
    let result = &model.results()[0];
    assert!(result.contains("two") && !result.contains("three"), "{result}");
}

#[test]
fn an_unknown_tool_names_the_nearest() {
    let workspace = Workspace::new(&[]);
    let model =
        Model::new([Step::call("Reed", json!({ "file_path": "a.txt" })), Step::text("sorry")]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    assert_eq!(session.prompt("hello"), "end_turn");
    assert!(model.results()[0].contains("Read"), "{:?}", model.results());
    let called = editor.tool("Reed", json!({}));
    assert!(called.is_error && called.text.contains("Read"), "{called:?}");
}

#[test]
fn without_a_provider_the_person_is_told_what_to_set() {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &json!({}));
    check_told(&editor, &["anthropic_api_key", "openai_api_key", "copydesk doctor"]);
}

#[test]
fn a_model_that_is_not_configured_is_told() {
    let model = Model::new([]);
    check(&model.settings_with(&json!({ "model": "nowhere/none" })), &["nowhere"]);
}

#[test]
fn a_key_from_the_environment_is_used_and_shown_nowhere() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([Step::call(
        "Bash",
        json!({ "command": "env", "description": "Show the environment" }),
    )]);
    let mut settings = model.settings();
    settings["providers"]["mock"].as_object_mut().unwrap().remove("api_key");
    settings["providers"]["mock"]["api_key_env"] = json!("DESK_TEST_API_KEY");
    let editor = Start::new(&workspace)
        .settings(&settings)
        .env("DESK_TEST_API_KEY", SECRET)
        .env("RUST_LOG", "trace")
        .start();
    let session = editor.session();
    assert_eq!(session.prompt("hello"), "end_turn");
    assert_eq!(model.requests()[0].headers["authorization"], format!("Bearer {SECRET}"));
    assert!(
        !model.everything().contains(SECRET),
        "the key was given to a command and its output to the model"
    );
    no_secret(&workspace, &editor);
}

#[test]
fn an_endless_loop_of_failing_calls_is_no_reason_to_die() {
    let workspace = Workspace::new(&[]);
    let model =
        Model::new((0..8).map(|_| Step::call("Read", json!({ "file_path": "missing.txt" }))));
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    session.prompt("hello");
    assert!(session.cards().iter().all(|c| c["status"] == "failed"));
    editor.request("copydesk/status", json!({}));
}

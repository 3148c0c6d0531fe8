//! Start and end of the server: initialize, shutdown, exit codes, and what comes at the wrong time.

use std::time::Duration;

use serde_json::{Value, json};

use crate::editor::{Editor, Kind, Start};
use crate::workspace::Workspace;

const END: Duration = Duration::from_secs(5);

fn desk() -> (Workspace, Editor) {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &json!({}));
    (workspace, editor)
}

#[test]
fn initialize_names_server_protocol_and_encoding() {
    let (_workspace, editor) = desk();
    let capabilities = &editor.initialized["capabilities"];
    assert_eq!(editor.initialized["serverInfo"]["name"], "copydesk");
    assert_eq!(capabilities["positionEncoding"], "utf-16");
    assert_eq!(capabilities["experimental"]["copydesk"]["protocolVersion"], 1);
    assert!(
        capabilities["experimental"]["copydesk"]["session"].is_object(),
        "session capabilities: {capabilities}"
    );
    assert_eq!(capabilities["textDocumentSync"]["openClose"], true);
    assert_eq!(capabilities["textDocumentSync"]["change"], 2);
    assert!(
        !capabilities["notebookDocumentSync"].is_null(),
        "notebooks are synced too: {capabilities}"
    );
}

#[test]
fn shutdown_with_null_params_is_answered_and_exit_ends_with_0() {
    let (_workspace, mut editor) = desk();
    assert_eq!(editor.request("shutdown", Value::Null), Value::Null);
    editor.notify("exit", Value::Null);
    assert_eq!(editor.exit_code(END), Some(0));
}

#[test]
fn shutdown_without_params_is_answered() {
    let (_workspace, editor) = desk();
    editor.raw(&crate::editor::framing::frame(
        &json!({ "jsonrpc": "2.0", "id": "last", "method": "shutdown" }),
    ));
    let answer = editor.wait("the answer", |s| s.stray.iter().find(|m| m["id"] == "last").cloned());
    assert!(answer.get("error").is_none(), "{answer}");
}

#[test]
fn exit_without_shutdown_ends_with_1() {
    let (_workspace, mut editor) = desk();
    editor.notify("exit", Value::Null);
    assert_eq!(editor.exit_code(END), Some(1));
}

#[test]
fn a_request_after_shutdown_is_invalid() {
    let (_workspace, editor) = desk();
    editor.request("shutdown", Value::Null);
    let error = editor.try_request("copydesk/status", json!({})).unwrap_err();
    assert_eq!(error.code, -32600, "{error:?}");
}

#[test]
fn a_request_before_initialize_says_not_initialized() {
    let workspace = Workspace::new(&[]);
    let editor = Start::new(&workspace).silent();
    let error = editor.try_request("copydesk/status", json!({})).unwrap_err();
    assert_eq!(error.code, -32002, "{error:?}");
    let params = Start::new(&workspace).initialize_params();
    assert!(editor.request("initialize", params)["capabilities"].is_object());
}

#[test]
fn notifications_before_initialize_are_dropped() {
    let workspace = Workspace::new(&[]);
    let editor = Start::new(&workspace).silent();
    let document = json!({ "uri": workspace.uri("a.txt"), "languageId": "plaintext", "version": 1, "text": "x" });
    editor.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let params = Start::new(&workspace).initialize_params();
    assert!(editor.request("initialize", params)["capabilities"].is_object());
}

#[test]
fn a_second_initialize_is_refused() {
    let (workspace, editor) = desk();
    let error =
        editor.try_request("initialize", Start::new(&workspace).initialize_params()).unwrap_err();
    assert_eq!(error.code, -32600, "{error:?}");
}

#[test]
fn an_unknown_request_is_refused_and_an_unknown_notification_ignored() {
    let (_workspace, editor) = desk();
    editor.notify("nobody/knows", json!({ "x": 1 }));
    editor.notify("$/nobody/knows", json!({}));
    let error = editor.try_request("nobody/knows/this", json!({})).unwrap_err();
    assert_eq!(error.code, -32601, "{error:?}");
    assert!(editor.request("copydesk/status", json!({}))["version"].is_string());
}

#[test]
fn wrong_params_are_refused_by_name() {
    let (_workspace, editor) = desk();
    for method in
        ["session/new", "session/prompt", "copydesk/tool/call", "session/set_config_option"]
    {
        let error = editor.try_request(method, json!({ "nonsense": [] })).unwrap_err();
        assert_eq!(error.code, -32602, "{method}: {error:?}");
    }
}

#[test]
fn closed_standard_input_ends_the_process() {
    let (_workspace, mut editor) = desk();
    editor.hang_up();
    editor.exit_code(END);
}

#[test]
fn closed_standard_input_before_initialize_ends_the_process() {
    let workspace = Workspace::new(&[]);
    let mut editor = Start::new(&workspace).silent();
    editor.hang_up();
    editor.exit_code(END);
}

#[test]
fn stdio_flag_means_the_same_as_lsp() {
    let workspace = Workspace::new(&[]);
    let mut command = workspace.command(&["--stdio"]);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": Start::new(&workspace).initialize_params() });
    let mut input = tempfile::tempfile().unwrap();
    std::io::Write::write_all(&mut input, &crate::editor::framing::frame(&body)).unwrap();
    std::io::Seek::rewind(&mut input).unwrap();
    command.stdin(input);
    let ran = crate::workspace::finish_with_input(command, END);
    assert!(
        ran.out.starts_with("Content-Length: ") && ran.out.contains("positionEncoding"),
        "{ran:?}"
    );
}

#[test]
fn status_feeds_a_health_check() {
    let (_workspace, editor) = desk();
    let status = editor.request("copydesk/status", json!({}));
    assert_eq!(status["pid"], editor.pid());
    for list in ["config", "sessions", "problems", "jobs"] {
        assert!(status[list].is_array(), "{list}: {status}");
    }
    assert!(std::path::Path::new(status["logPath"].as_str().unwrap()).is_absolute(), "{status}");
}

#[test]
fn a_client_without_the_marker_hears_plain_lsp_only() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let editor = Start::new(&workspace).kind(Kind::Bare).start();
    editor.open_file("a.txt");
    editor.retype("a.txt", "one", "two");
    // Whatever of our own is sent fails the test when the editor is dropped.
    editor.request("shutdown", Value::Null);
}

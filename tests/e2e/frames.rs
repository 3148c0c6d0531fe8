//! Frames no client should send: each is answered with an error where it can be, and the next frame is served.

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::editor::framing::{bytes_frame, frame};
use crate::workspace::Workspace;

/// Sends the bytes; the server must answer with this error code, to no id, and go on.
#[track_caller]
fn check(bytes: &[u8], code: Option<i64>) {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &json!({}));
    editor.raw(bytes);
    assert!(
        editor.request("copydesk/status", json!({}))["version"].is_string(),
        "the next request is served"
    );
    if let Some(code) = code {
        let answer = editor.wait("an error answer", |s| s.stray.first().cloned());
        assert_eq!(answer["error"]["code"], code, "{answer}");
        assert_eq!(answer["id"], Value::Null, "{answer}");
    }
}

#[test]
fn bad_json_is_a_parse_error() {
    check(&bytes_frame(b"{\"jsonrpc\":\"2.0\",\"id\":"), Some(-32700));
}

#[test]
fn bad_utf8_is_a_parse_error() {
    check(
        &bytes_frame(b"{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":{\"a\":\"\xff\xfe\"}}"),
        Some(-32700),
    );
}

#[test]
fn an_empty_body_is_a_parse_error() {
    check(b"Content-Length: 0\r\n\r\n", Some(-32700));
}

#[test]
fn a_batch_is_an_invalid_request() {
    check(
        &bytes_frame(b"[{\"jsonrpc\":\"2.0\",\"id\":900,\"method\":\"copydesk/status\"}]"),
        Some(-32600),
    );
}

#[test]
fn a_bare_number_is_an_invalid_request() {
    check(&bytes_frame(b"42"), Some(-32600));
}

#[test]
fn a_missing_length_is_an_error() {
    check(
        b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{\"jsonrpc\":\"2.0\"}\r\n",
        Some(-32700),
    );
}

#[test]
fn a_length_that_is_no_number_is_an_error() {
    check(b"Content-Length: many\r\n\r\n", Some(-32700));
}

#[test]
fn a_length_beyond_every_bound_is_an_error() {
    check(b"Content-Length: 99999999999999999\r\n\r\n", Some(-32700));
}

#[test]
fn garbage_between_frames_is_skipped() {
    check(b"this is no frame\nnor is this\r\n", None);
}

#[test]
fn an_extra_header_is_accepted() {
    let body =
        b"{\"jsonrpc\":\"2.0\",\"id\":\"extra\",\"method\":\"copydesk/status\",\"params\":{}}";
    let head = format!(
        "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nX-More: 1\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    answers(&[head.as_bytes(), body].concat(), "extra");
}

#[test]
fn a_header_in_lower_case_is_accepted() {
    let body =
        b"{\"jsonrpc\":\"2.0\",\"id\":\"lower\",\"method\":\"copydesk/status\",\"params\":{}}";
    let head = format!("content-length:{}\r\n\r\n", body.len());
    answers(&[head.as_bytes(), body].concat(), "lower");
}

#[test]
fn a_frame_in_single_bytes_is_one_frame() {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &json!({}));
    editor.raw_byte_by_byte(&frame(
        &json!({ "jsonrpc": "2.0", "id": "bytes", "method": "copydesk/status", "params": {} }),
    ));
    editor.wait("the answer", |s| s.stray.iter().find(|m| m["id"] == "bytes").cloned());
}

#[test]
fn an_answer_to_nothing_is_ignored() {
    check(&frame(&json!({ "jsonrpc": "2.0", "id": 123_456, "result": null })), None);
    check(
        &frame(&json!({ "jsonrpc": "2.0", "id": "x", "error": { "code": 1, "message": "m" } })),
        None,
    );
}

#[test]
fn a_message_of_64_megabytes_is_served() {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &json!({}));
    let line = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n";
    editor.open_text("untitled:Large", &line.repeat(1 << 20));
    let read = editor.tool("Read", json!({ "file_path": "untitled:Large", "offset": -1 })).ok();
    assert!(
        read.contains("1048576"),
        "the last line has its number: {}",
        &read[..read.len().min(400)]
    );
}

#[test]
fn an_error_says_no_more_of_what_came_in_than_a_person_reads() {
    let workspace = Workspace::new(&[("a.txt", "a\n")]);
    let editor = Editor::open(&workspace, &json!({}));
    let session = editor.session();
    let long = "long é ".repeat(400_000);
    let uri =
        json!({ "textDocument": { "uri": "file:///a.txt" }, "context": { "diagnostics": [] } });
    let mut action = uri.clone();
    action["range"] = json!(long);
    for (method, params) in [
        (format!("copydesk/{long}"), json!({})),
        ("textDocument/codeAction".to_owned(), action),
        ("textDocument/codeLens".to_owned(), json!({ "textDocument": { "uri": { "no": long } } })),
        ("session/new".to_owned(), json!({ "cwd": long, "mcpServers": [] })),
        ("session/new".to_owned(), json!({ "cwd": editor.root(), "mcpServers": long })),
        ("session/prompt".to_owned(), json!({ "sessionId": long, "prompt": [] })),
        (
            "session/set_config_option".to_owned(),
            json!({ "sessionId": session.id, "configId": long, "type": "id", "value": long }),
        ),
        (
            "session/set_config_option".to_owned(),
            json!({ "sessionId": session.id, "configId": "mode", "type": "id", "value": long }),
        ),
        ("copydesk/review/resolve".to_owned(), json!({ "action": long, "items": [] })),
        ("copydesk/review/resolve".to_owned(), json!({ "action": "accept", "items": long })),
        ("copydesk/review/undo".to_owned(), json!({ "undoToken": long })),
        ("copydesk/review/undo".to_owned(), json!({ "undoToken": format!("{long}/1") })),
        ("copydesk/review/base".to_owned(), json!({ "uri": long })),
        ("copydesk/checkpoint/restore".to_owned(), json!({ "checkpointId": long })),
        ("copydesk/permission/remove".to_owned(), json!({ "id": long })),
        ("copydesk/session/export".to_owned(), json!({ "sessionId": session.id, "format": long })),
        ("workspace/executeCommand".to_owned(), json!({ "command": long })),
        (
            "workspace/executeCommand".to_owned(),
            json!({ "command": "copydesk.mode", "arguments": [long] }),
        ),
    ] {
        let name: String = method.chars().take(40).collect();
        let mark = editor.mark();
        let error = editor.try_request(&method, params).unwrap_err();
        let size = error.message.len() + error.data.to_string().len();
        assert!(size < 8 * 1024, "{name}: {size} bytes");
        let told = editor.lock().log[mark..].iter().map(|it| it.to_string().len()).max();
        assert!(told.unwrap_or(0) < 8 * 1024, "{name}: {told:?} bytes were told beside it");
    }
    let error = editor.try_request("textDocument/codeLens", json!([long])).unwrap_err();
    assert!(error.message.len() < 8 * 1024);
    let unread = json!({ "jsonrpc": "2.0", "id": { "no": long }, "method": 7 });
    editor.raw(&frame(&unread));
    let answer = editor.wait("an error answer", |s| s.stray.first().cloned());
    assert!(answer.to_string().len() < 8 * 1024);
}

#[track_caller]
fn answers(bytes: &[u8], id: &str) {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &json!({}));
    editor.raw(bytes);
    let answer = editor.wait("the answer", |s| s.stray.iter().find(|m| m["id"] == id).cloned());
    assert!(answer["result"]["version"].is_string(), "{answer}");
}

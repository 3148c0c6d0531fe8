use serde_json::json;

use super::version;
use crate::testing::*;
use crate::wire::{Host, Wire};
use crate::{Error, Message, Part, Protocol, Reasoning, Request, Role, Stop, Usage};

pub(crate) const STREAM: &[&str] = &[
    r#"{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[],"usage":{"input_tokens":12,"cache_read_input_tokens":300,"cache_creation_input_tokens":40,"output_tokens":1}}}"#,
    r#"{"type":"ping"}"#,
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"The file "}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"first."}}"#,
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}"#,
    r#"{"type":"content_block_stop","index":0}"#,
    r#"{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"aGlkZGVu"}}"#,
    r#"{"type":"content_block_stop","index":1}"#,
    r#"{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I read "}}"#,
    r#"{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"it. \u00e9"}}"#,
    r#"{"type":"content_block_stop","index":2}"#,
    r#"{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_a","name":"Read","input":{}}}"#,
    r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}"#,
    r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"file_path\":"}}"#,
    r#"{"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"\"a.txt\"}"}}"#,
    r#"{"type":"content_block_stop","index":3}"#,
    r#"{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_b","name":"Read","input":{}}}"#,
    r#"{"type":"content_block_stop","index":4}"#,
    r#"{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":25}}"#,
    r#"{"type":"message_stop"}"#,
];

fn parts() -> Vec<Part> {
    vec![
        Part::Thought {
            text: "The file first.".into(),
            signature: Some("c2ln".into()),
            opaque: None,
        },
        Part::Thought {
            text: String::new(),
            signature: None,
            opaque: Some(json!({ "type": "redacted_thinking", "data": "aGlkZGVu" })),
        },
        text("I read it. é"),
        call("toolu_a", "Read", r#"{"file_path":"a.txt"}"#),
        call("toolu_b", "Read", ""),
    ]
}

#[tokio::test]
async fn a_stream_becomes_a_message() {
    let (finished, error) = answer(Protocol::Anthropic, vec![Reply::events(STREAM)]).await;
    assert_eq!(error, None);
    assert_eq!(finished.message, by_model(parts()));
    assert_eq!(finished.stop, Stop::ToolUse);
    assert_eq!(finished.usage, Usage { input: 12, output: 25, cached_read: 300, cached_write: 40 });
    assert_eq!(finished.note, None);
}

#[tokio::test]
async fn a_whole_answer_is_taken_too() {
    let body = json!({
        "type": "message", "role": "assistant", "stop_reason": "tool_use",
        "usage": { "input_tokens": 12, "output_tokens": 25, "cache_read_input_tokens": 300, "cache_creation_input_tokens": 40 },
        "content": [
            { "type": "thinking", "thinking": "The file first.", "signature": "c2ln" },
            { "type": "redacted_thinking", "data": "aGlkZGVu" },
            { "type": "text", "text": "I read it. é" },
            { "type": "tool_use", "id": "toolu_a", "name": "Read", "input": { "file_path": "a.txt" } },
            { "type": "tool_use", "id": "toolu_b", "name": "Read", "input": {} },
        ],
    });
    let (finished, error) = answer(Protocol::Anthropic, vec![Reply::json(200, &body)]).await;
    assert_eq!(error, None);
    assert_eq!(finished.message, by_model(parts()));
    assert_eq!(finished.stop, Stop::ToolUse);
}

#[tokio::test]
async fn every_fault_at_every_place_ends_the_answer() {
    fault_matrix(Protocol::Anthropic, STREAM).await;
}

#[tokio::test]
async fn what_is_sent() {
    let server = Server::start(vec![Reply::events(STREAM)]).await;
    let mut image_result = result("toolu_b", vec![image()]);
    if let Part::ToolResult { is_error, .. } = &mut image_result {
        *is_error = true;
    }
    let mut question = request(vec![
        Message::user("Read both."),
        by_model(parts()),
        // Results come one by one and in another order.
        by_user(vec![image_result]),
        by_user(vec![result_text("toolu_a", "hello"), text("Go on.")]),
    ]);
    question.model = "claude-sonnet-4-5".into();
    question.reasoning = Some(Reasoning::Low);
    question.max_output = Some(10_000);
    ask(server.settings(Protocol::Anthropic), question).await;
    let asked = &server.asked()[0];
    assert_eq!(asked.line, "POST /v1/messages HTTP/1.1");
    assert_eq!(asked.header("x-api-key"), Some(KEY));
    assert_eq!(asked.header("anthropic-version"), Some("2023-06-01"));
    assert_eq!(asked.header("authorization"), None);
    let mark = json!({ "type": "ephemeral" });
    assert_eq!(
        asked.body,
        json!({
            "model": "claude-sonnet-4-5",
            "max_tokens": 10_000,
            "stream": true,
            "thinking": { "type": "enabled", "budget_tokens": 4_096 },
            "system": [{ "type": "text", "text": "Be brief.", "cache_control": mark }],
            "tools": [{
                "name": "Read",
                "description": "Reads a file.",
                "input_schema": { "type": "object", "properties": { "file_path": { "type": "string" } } },
                "cache_control": mark,
            }],
            "messages": [
                { "role": "user", "content": [{ "type": "text", "text": "Read both.", "cache_control": mark }] },
                { "role": "assistant", "content": [
                    { "type": "thinking", "thinking": "The file first.", "signature": "c2ln" },
                    { "type": "redacted_thinking", "data": "aGlkZGVu" },
                    { "type": "text", "text": "I read it. é" },
                    { "type": "tool_use", "id": "toolu_a", "name": "Read", "input": { "file_path": "a.txt" } },
                    { "type": "tool_use", "id": "toolu_b", "name": "Read", "input": {} },
                ] },
                { "role": "user", "content": [
                    { "type": "tool_result", "tool_use_id": "toolu_a", "content": [{ "type": "text", "text": "hello" }] },
                    { "type": "tool_result", "tool_use_id": "toolu_b", "is_error": true, "content": [
                        { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "aWNvbg==" } },
                    ] },
                    { "type": "text", "text": "Go on.", "cache_control": mark },
                ] },
            ],
        })
    );
}

#[track_caller]
fn check_thinking(model: &str, messages: Vec<Message>, expected: serde_json::Value) {
    use crate::wire::{Host, Wire};
    let request = Request {
        model: model.into(),
        messages,
        reasoning: Some(Reasoning::High),
        ..Request::default()
    };
    let body = super::Anthropic.body(&request, Host::Vendor);
    assert_eq!(json!([body["thinking"], body["output_config"]]), expected, "{model}");
}

#[test]
fn each_generation_is_asked_to_think_in_its_own_way() {
    let hello = || vec![Message::user("Hello")];
    check_thinking(
        "claude-opus-4-7",
        hello(),
        json!([{ "type": "adaptive" }, { "effort": "high" }]),
    );
    check_thinking(
        "claude-sonnet-4-5-20250929",
        hello(),
        json!([{ "type": "enabled", "budget_tokens": 24_576 }, null]),
    );
    check_thinking("claude-3-5-haiku-latest", hello(), json!([null, null]));
    check_thinking("some-local-model", hello(), json!([null, null]));
    let foreign = vec![
        Message::user("Hello"),
        Message { role: Role::Assistant, parts: vec![call("c", "Read", "{}")] },
        by_user(vec![result_text("c", "x")]),
    ];
    check_thinking("claude-opus-4-7", foreign, json!([null, null]));
}

#[test]
fn versions_are_read_from_names() {
    assert_eq!(version("claude-sonnet-4-5-20250929"), (4, 5));
    assert_eq!(version("claude-opus-4-20250514"), (4, 0));
    assert_eq!(version("claude-3-7-sonnet-latest"), (3, 7));
    assert_eq!(version("us.anthropic.claude-opus-4-6-v1:0"), (4, 6));
    assert_eq!(version("anthropic/claude-sonnet-4.5"), (4, 5));
    assert_eq!(version("gpt-5"), (0, 0));
}

#[tokio::test]
async fn an_overload_reported_inside_the_stream_is_retried_before_content() {
    let overloaded =
        [r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#];
    let (finished, error) =
        answer(Protocol::Anthropic, vec![Reply::events(&overloaded), Reply::events(STREAM)]).await;
    assert_eq!((finished.stop, error), (Stop::ToolUse, None));

    let late: Vec<&str> = STREAM[..11].iter().chain(&overloaded).copied().collect();
    let (finished, error) =
        answer(Protocol::Anthropic, vec![Reply::events(&late), Reply::events(STREAM)]).await;
    assert!(matches!(error, Some(Error::Status { code: 529, .. })), "{error:?}");
    assert_eq!(finished.message.parts.last(), Some(&text("I read ")));
}

#[tokio::test]
async fn too_long_a_conversation_has_its_own_error() {
    let body = json!({ "type": "error", "error": { "type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000" } });
    let (_, error) = answer(Protocol::Anthropic, vec![Reply::json(400, &body)]).await;
    assert!(matches!(error, Some(Error::ContextOverflow { .. })), "{error:?}");
}

#[test]
fn a_video_is_named_where_none_is_taken() {
    let body = super::Anthropic.body(&with_video(), Host::Vendor).to_string();
    assert!(body.contains("a video, which this endpoint does not take"), "{body}");
    assert!(!body.contains("bW92aWU="), "{body}");
}

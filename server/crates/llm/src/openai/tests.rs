use serde_json::{Value, json};

use crate::testing::*;
use crate::wire::{Host, Wire};
use crate::{Error, Message, Part, Protocol, Reasoning, Stop, Usage};

pub(crate) const STREAM: &[&str] = &[
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}],"usage":null}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"reasoning_content":"The file "},"finish_reason":null}]}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"reasoning_content":"first."},"finish_reason":null}]}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"I read "},"finish_reason":null}]}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"it. é"},"finish_reason":null}]}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_a","type":"function","function":{"name":"Read","arguments":""}}]},"finish_reason":null}]}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"file_path\":"}}]},"finish_reason":null}]}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_b","type":"function","function":{"name":"Read","arguments":"{}"}}]},"finish_reason":null}]}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a.txt\"}"}}]},"finish_reason":null}]}"#,
    r#"{"object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}"#,
    r#"{"object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":9,"total_tokens":109,"prompt_tokens_details":{"cached_tokens":64}}}"#,
    "[DONE]",
];

fn parts() -> Vec<Part> {
    vec![
        Part::Thought {
            text: "The file first.".into(),
            signature: None,
            opaque: Some(json!({ "type": "reasoning_content" })),
        },
        text("I read it. é"),
        call("call_a", "Read", r#"{"file_path":"a.txt"}"#),
        call("call_b", "Read", "{}"),
    ]
}

#[tokio::test]
async fn a_stream_becomes_a_message() {
    let (finished, error) = answer(Protocol::Openai, vec![Reply::events(STREAM)]).await;
    assert_eq!(error, None);
    assert_eq!(finished.message, by_model(parts()));
    assert_eq!(finished.stop, Stop::ToolUse);
    assert_eq!(finished.usage, Usage { input: 36, output: 9, cached_read: 64, cached_write: 0 });
}

#[tokio::test]
async fn a_whole_answer_is_taken_too() {
    let body = json!({
        "object": "chat.completion",
        "choices": [{ "index": 0, "finish_reason": "stop", "message": {
            "role": "assistant", "content": "I read it. é", "reasoning_content": "The file first.",
            "tool_calls": [
                { "id": "call_a", "type": "function", "function": { "name": "Read", "arguments": "{\"file_path\":\"a.txt\"}" } },
                { "id": "call_b", "type": "function", "function": { "name": "Read", "arguments": {} } },
            ],
        } }],
        "usage": { "prompt_tokens": 100, "completion_tokens": 9 },
    });
    let (finished, error) = answer(Protocol::Openai, vec![Reply::json(200, &body)]).await;
    assert_eq!(error, None);
    assert_eq!(finished.message, by_model(parts()));
    assert_eq!(finished.stop, Stop::ToolUse, "calls count more than the server's word");
}

#[tokio::test]
async fn every_fault_at_every_place_ends_the_answer() {
    fault_matrix(Protocol::Openai, STREAM).await;
}

fn delta(delta: &Value) -> String {
    json!({ "choices": [{ "index": 0, "delta": delta }] }).to_string()
}

/// The calls of an answer whose deltas are these; ids that were made up are left out.
async fn check_calls(deltas: &[Value], expected: &[(&str, &str, &str)]) {
    let mut events: Vec<String> =
        deltas.iter().map(|calls| delta(&json!({ "tool_calls": calls }))).collect();
    events.push("[DONE]".into());
    let (finished, error) = answer(Protocol::Openai, vec![Reply::events(&events)]).await;
    assert_eq!(error, None);
    let calls: Vec<(&str, &str, &str)> = finished
        .message
        .parts
        .iter()
        .map(|part| match part {
            Part::ToolCall { id, name, arguments } => {
                (if id.starts_with("call_") { "" } else { id }, name.as_str(), arguments.as_str())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(calls, expected);
    assert_eq!(finished.stop, Stop::ToolUse);
}

#[tokio::test]
async fn servers_that_leave_things_out() {
    // No index: a name begins a call, what has none goes on.
    check_calls(
        &[
            json!([{ "id": "x", "function": { "name": "A", "arguments": "{\"a\"" } }]),
            json!([{ "function": { "arguments": ":1}" } }]),
            json!([{ "id": "y", "function": { "name": "B", "arguments": "{}" } }]),
        ],
        &[("x", "A", "{\"a\":1}"), ("y", "B", "{}")],
    )
    .await;
    // Neither index nor id.
    check_calls(
        &[json!([{ "function": { "name": "A", "arguments": "{}" } }, { "function": { "name": "B", "arguments": "{}" } }])],
        &[("", "A", "{}"), ("", "B", "{}")],
    )
    .await;
    // All calls numbered 0.
    check_calls(
        &[
            json!([{ "index": 0, "id": "x", "function": { "name": "A", "arguments": "{}" } }]),
            json!([{ "index": 0, "id": "y", "function": { "name": "B", "arguments": "{}" } }]),
        ],
        &[("x", "A", "{}"), ("y", "B", "{}")],
    )
    .await;
    // Id and name in every piece; arguments before the name.
    check_calls(
        &[
            json!([{ "index": 0, "id": "x", "function": { "arguments": "{\"a\"" } }]),
            json!([{ "index": 0, "id": "x", "function": { "name": "A", "arguments": ":1" } }]),
            json!([{ "index": 0, "id": "x", "function": { "name": "A", "arguments": "}" } }]),
        ],
        &[("x", "A", "{\"a\":1}")],
    )
    .await;
    // Arguments as an object; the same id twice; broken arguments are kept as they are.
    check_calls(
        &[
            json!([{ "index": 0, "id": "x", "function": { "name": "A", "arguments": { "a": 1 } } }]),
            json!([{ "index": 1, "id": "x", "function": { "name": "B", "arguments": "{broken" } }]),
        ],
        &[("x", "A", "{\"a\":1}"), ("", "B", "{broken")],
    )
    .await;
}

#[tokio::test]
async fn other_shapes_of_content() {
    let events = [
        delta(
            &json!({ "content": [{ "type": "thinking", "thinking": [{ "type": "text", "text": "Hm." }] }] }),
        ),
        delta(&json!({ "content": [{ "type": "text", "text": "Yes" }] })),
        delta(&json!({ "content": null, "reasoning": null, "tool_calls": null })),
        delta(&json!({ "refusal": "!" })),
        json!({ "choices": [{ "delta": {}, "finish_reason": "stop" }] }).to_string(),
    ];
    let (finished, error) = answer(Protocol::Openai, vec![Reply::events(&events)]).await;
    assert_eq!(error, None, "an end without [DONE] is an end");
    assert_eq!(finished.message.parts[1..], [text("Yes!")]);
    assert_eq!(finished.stop, Stop::Refusal);
}

#[tokio::test]
async fn what_is_sent() {
    let server = Server::start(vec![Reply::events(STREAM)]).await;
    let mut question = request(vec![
        Message::user("Read both."),
        by_model(parts()),
        by_user(vec![
            result("call_b", vec![image()]),
            result_text("call_a", "hello"),
            text("Go on."),
        ]),
        by_model(vec![call("an id no server takes: €", "no such tool!", "{broken")]),
    ]);
    question.max_output = Some(1_000);
    question.reasoning = Some(Reasoning::Medium);
    question.session = "s".into();
    ask(server.settings(Protocol::Openai), question.clone()).await;
    let asked = &server.asked()[0];
    assert_eq!(asked.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(asked.header("authorization"), Some(format!("Bearer {KEY}").as_str()));
    let odd_id = &asked.body["messages"][6]["tool_calls"][0]["id"];
    assert!(odd_id.as_str().unwrap().starts_with("call_"));
    assert_eq!(
        asked.body,
        json!({
            "model": "test",
            "stream": true,
            "stream_options": { "include_usage": true },
            "max_tokens": 1_000,
            "reasoning_effort": "medium",
            "tools": [{ "type": "function", "function": {
                "name": "Read",
                "description": "Reads a file.",
                "parameters": { "type": "object", "properties": { "file_path": { "type": "string" } } },
            } }],
            "messages": [
                { "role": "system", "content": "Be brief." },
                { "role": "user", "content": "Read both." },
                { "role": "assistant", "content": "I read it. é", "reasoning_content": "The file first.", "tool_calls": [
                    { "id": "call_a", "type": "function", "function": { "name": "Read", "arguments": "{\"file_path\":\"a.txt\"}" } },
                    { "id": "call_b", "type": "function", "function": { "name": "Read", "arguments": "{}" } },
                ] },
                { "role": "tool", "tool_call_id": "call_a", "content": "hello" },
                { "role": "tool", "tool_call_id": "call_b", "content": "(see the image)" },
                { "role": "user", "content": [
                    { "type": "text", "text": "Image from Read:" },
                    { "type": "image_url", "image_url": { "url": "data:image/png;base64,aWNvbg==" } },
                    { "type": "text", "text": "Go on." },
                ] },
                { "role": "assistant", "content": null, "tool_calls": [
                    { "id": odd_id, "type": "function", "function": {
                        "name": asked.body["messages"][6]["tool_calls"][0]["function"]["name"],
                        "arguments": "{\"invalid_arguments\":\"{broken\"}",
                    } },
                ] },
                { "role": "tool", "tool_call_id": odd_id, "content": "The call was interrupted; there is no result." },
            ],
        })
    );
    // The vendor itself knows more fields, and one of them under another name.
    let body = super::Openai.body(&question, Host::Vendor);
    assert_eq!(body["max_completion_tokens"], 1_000);
    assert_eq!(body["prompt_cache_key"], "s");
    assert_eq!(body["messages"][2]["reasoning_content"], Value::Null);
}

#[tokio::test]
async fn without_a_key_nothing_is_said_of_one() {
    let server = Server::start(vec![Reply::events(STREAM)]).await;
    let mut settings = server.settings(Protocol::Openai);
    settings.key = None;
    ask(settings, request(vec![Message::user("Hello")])).await;
    assert_eq!(server.asked()[0].header("authorization"), None);
}

#[tokio::test]
async fn errors_of_other_servers_are_understood() {
    for (status, body) in [
        (
            400,
            json!({ "error": { "message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded" } }),
        ),
        (
            400,
            json!({ "error": { "code": 400, "message": "the request exceeds the available context size", "type": "exceed_context_size_error" } }),
        ),
        (413, json!({ "detail": "too large" })),
        (
            200,
            json!({ "error": { "message": "maximum context length exceeded", "type": "invalid_request_error" } }),
        ),
    ] {
        let (_, error) = answer(Protocol::Openai, vec![Reply::json(status, &body)]).await;
        assert!(matches!(error, Some(Error::ContextOverflow { .. })), "{body}: {error:?}");
    }
}

#[test]
fn a_video_goes_beside_the_results() {
    let body = super::Openai.body(&with_video(), Host::Vendor).to_string();
    assert!(body.contains(r#""video_url":{"url":"data:video/mp4;base64,bW92aWU="}"#), "{body}");
}

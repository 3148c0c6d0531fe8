use serde_json::{Value, json};

use crate::testing::*;
use crate::wire::{Host, Wire};
use crate::{Error, Message, Part, Protocol, Reasoning, Stop, Usage};

pub(crate) const STREAM: &[&str] = &[
    r#"{"type":"response.created","sequence_number":0,"response":{"id":"r","status":"in_progress","output":[],"error":null}}"#,
    r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","id":"rs_1","summary":[]}}"#,
    r#"{"type":"response.reasoning_summary_part.added","output_index":0,"summary_index":0}"#,
    r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"The file "}"#,
    r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"delta":"first."}"#,
    r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"reasoning","id":"rs_1","status":"completed","summary":[{"type":"summary_text","text":"The file first."}],"encrypted_content":"ZW5j"}}"#,
    r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","id":"m","role":"assistant","content":[]}}"#,
    r#"{"type":"response.output_text.delta","output_index":1,"delta":"I read "}"#,
    r#"{"type":"response.output_text.delta","output_index":1,"delta":"it. é"}"#,
    r#"{"type":"response.output_text.done","output_index":1,"text":"I read it. é"}"#,
    r#"{"type":"response.output_item.done","output_index":1,"item":{"type":"message","content":[{"type":"output_text","text":"I read it. é"}]}}"#,
    r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","id":"fc","call_id":"call_a","name":"Read","arguments":""}}"#,
    r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"{\"file_path\":"}"#,
    r#"{"type":"response.function_call_arguments.delta","output_index":2,"delta":"\"a.txt\"}"}"#,
    r#"{"type":"response.function_call_arguments.done","output_index":2,"arguments":"{\"file_path\":\"a.txt\"}"}"#,
    r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"call_a","name":"Read","arguments":"{\"file_path\":\"a.txt\"}"}}"#,
    r#"{"type":"response.completed","response":{"status":"completed","error":null,"usage":{"input_tokens":100,"output_tokens":9,"input_tokens_details":{"cached_tokens":64}}}}"#,
];

fn reasoning() -> Value {
    json!({
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{ "type": "summary_text", "text": "The file first." }],
        "encrypted_content": "ZW5j",
    })
}

fn parts() -> Vec<Part> {
    vec![
        Part::Thought {
            text: "The file first.".into(),
            signature: None,
            opaque: Some(reasoning()),
        },
        text("I read it. é"),
        call("call_a", "Read", r#"{"file_path":"a.txt"}"#),
    ]
}

#[tokio::test]
async fn a_stream_becomes_a_message() {
    let (finished, error) = answer(Protocol::OpenaiResponses, vec![Reply::events(STREAM)]).await;
    assert_eq!(error, None);
    assert_eq!(finished.message, by_model(parts()));
    assert_eq!(finished.stop, Stop::ToolUse);
    assert_eq!(finished.usage, Usage { input: 36, output: 9, cached_read: 64, cached_write: 0 });
}

#[tokio::test]
async fn a_whole_answer_is_taken_too() {
    let body = json!({
        "object": "response", "status": "completed", "error": null, "incomplete_details": null,
        "output": [
            reasoning(),
            { "type": "message", "content": [{ "type": "output_text", "text": "I read it. é" }] },
            { "type": "function_call", "call_id": "call_a", "name": "Read", "arguments": "{\"file_path\":\"a.txt\"}" },
        ],
    });
    let (finished, error) = answer(Protocol::OpenaiResponses, vec![Reply::json(200, &body)]).await;
    assert_eq!((finished.message, finished.stop, error), (by_model(parts()), Stop::ToolUse, None));
}

#[tokio::test]
async fn every_fault_at_every_place_ends_the_answer() {
    fault_matrix(Protocol::OpenaiResponses, STREAM).await;
}

#[tokio::test]
async fn a_failed_response_is_an_error() {
    let failed = json!({ "type": "response.failed", "response": { "status": "failed", "error": { "code": "invalid_prompt", "message": "no" } } });
    let (_, error) =
        answer(Protocol::OpenaiResponses, vec![Reply::events(&[failed.to_string()])]).await;
    assert!(matches!(error, Some(Error::Status { code: 400, .. })), "{error:?}");
}

#[test]
fn what_is_sent() {
    let lone = Part::Thought { text: String::new(), signature: None, opaque: Some(reasoning()) };
    let mut question = request(vec![
        Message::user("Read."),
        by_model([parts(), vec![lone]].concat()),
        by_user(vec![result("call_a", vec![image()]), text("Go on.")]),
    ]);
    question.max_output = Some(1_000);
    question.reasoning = Some(Reasoning::Medium);
    question.session = "s".into();
    assert_eq!(
        super::OpenaiResponses.body(&question, Host::Vendor),
        json!({
            "model": "test",
            "stream": true,
            "store": false,
            "instructions": "Be brief.",
            "max_output_tokens": 1_000,
            "reasoning": { "effort": "medium", "summary": "auto" },
            "include": ["reasoning.encrypted_content"],
            "prompt_cache_key": "s",
            "tools": [{
                "type": "function",
                "name": "Read",
                "description": "Reads a file.",
                "parameters": { "type": "object", "properties": { "file_path": { "type": "string" } } },
                "strict": false,
            }],
            "input": [
                { "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "Read." }] },
                reasoning(),
                { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "I read it. é", "annotations": [] }] },
                { "type": "function_call", "call_id": "call_a", "name": "Read", "arguments": "{\"file_path\":\"a.txt\"}" },
                { "type": "function_call_output", "call_id": "call_a", "output": "(see the image)" },
                { "type": "message", "role": "user", "content": [
                    { "type": "input_text", "text": "Image from Read:" },
                    { "type": "input_image", "image_url": "data:image/png;base64,aWNvbg==" },
                    { "type": "input_text", "text": "Go on." },
                ] },
            ],
        })
    );
}

#[test]
fn a_video_is_named_where_none_is_taken() {
    let body = super::OpenaiResponses.body(&with_video(), Host::Vendor).to_string();
    assert!(body.contains("a video, which this endpoint does not take"), "{body}");
    assert!(!body.contains("bW92aWU="), "{body}");
}

use serde_json::json;

use crate::testing::*;
use crate::wire::{Host, Wire};
use crate::{Error, Message, Part, Protocol, Reasoning, Stop, Usage};

pub(crate) const STREAM: &[&str] = &[
    r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"The file ","thought":true}]}}],"usageMetadata":{"promptTokenCount":100}}"#,
    r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"first.","thought":true}]}}]}"#,
    r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"I read "}]}}]}"#,
    r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"it. é"}]}}]}"#,
    r#"{"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"id":"fc_a","name":"Read","args":{"file_path":"a.txt"}},"thoughtSignature":"c2ln"},{"functionCall":{"id":"fc_b","name":"Read"}}]}}]}"#,
    r#"{"candidates":[{"content":{"role":"model","parts":[{"text":""}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":100,"cachedContentTokenCount":64,"candidatesTokenCount":5,"thoughtsTokenCount":4}}"#,
];

fn parts() -> Vec<Part> {
    vec![
        Part::Thought { text: "The file first.".into(), signature: None, opaque: None },
        text("I read it. é"),
        Part::Thought {
            text: String::new(),
            signature: None,
            opaque: Some(json!({ "type": "gemini_signature", "signature": "c2ln" })),
        },
        call("fc_a", "Read", r#"{"file_path":"a.txt"}"#),
        call("fc_b", "Read", "{}"),
    ]
}

#[tokio::test]
async fn a_stream_becomes_a_message() {
    let (finished, error) = answer(Protocol::Gemini, vec![Reply::events(STREAM)]).await;
    assert_eq!(error, None);
    assert_eq!(finished.message, by_model(parts()));
    assert_eq!(finished.stop, Stop::ToolUse);
    assert_eq!(finished.usage, Usage { input: 36, output: 9, cached_read: 64, cached_write: 0 });
}

#[tokio::test]
async fn a_whole_answer_is_taken_too() {
    for body in
        [format!("[{}]", STREAM.join(",")), STREAM[5].replace("\"text\":\"\"", "\"text\":\"Hi\"")]
    {
        let (finished, error) =
            answer(Protocol::Gemini, vec![Reply::raw(200, "application/json", body)]).await;
        assert_eq!(error, None);
        assert!(!said(&finished).is_empty());
    }
}

#[tokio::test]
async fn every_fault_at_every_place_ends_the_answer() {
    fault_matrix(Protocol::Gemini, STREAM).await;
}

#[tokio::test]
async fn a_blocked_prompt_is_a_refusal_and_too_long_a_one_an_overflow() {
    let blocked = json!({ "promptFeedback": { "blockReason": "SAFETY" } }).to_string();
    let (finished, error) = answer(Protocol::Gemini, vec![Reply::events(&[blocked])]).await;
    assert_eq!((finished.stop, error), (Stop::Refusal, None));
    let long = json!([{ "error": { "code": 400, "status": "INVALID_ARGUMENT", "message": "The input token count (2) exceeds the maximum." } }]);
    let (_, error) = answer(Protocol::Gemini, vec![Reply::json(400, &long)]).await;
    assert!(matches!(error, Some(Error::ContextOverflow { .. })), "{error:?}");
}

#[test]
fn what_is_sent() {
    let mut failed = result_text("x", "gone");
    if let Part::ToolResult { is_error, .. } = &mut failed {
        *is_error = true;
    }
    let mut question = request(vec![
        Message::user("Read."),
        by_model(parts()),
        by_user(vec![result("fc_a", vec![image()]), result_text("fc_b", "hello"), text("Go on.")]),
        by_model(vec![call("x", "Read", "{}")]),
        by_user(vec![failed]),
    ]);
    question.model = "gemini-3-pro".into();
    question.max_output = Some(1_000);
    question.reasoning = Some(Reasoning::Low);
    let args = json!({ "file_path": "a.txt" });
    assert_eq!(
        super::Gemini.body(&question, Host::Vendor),
        json!({
            "systemInstruction": { "parts": [{ "text": "Be brief." }] },
            "generationConfig": {
                "maxOutputTokens": 1_000,
                "thinkingConfig": { "includeThoughts": true, "thinkingLevel": "low" },
            },
            "tools": [{ "functionDeclarations": [{
                "name": "Read",
                "description": "Reads a file.",
                "parametersJsonSchema": { "type": "object", "properties": { "file_path": { "type": "string" } } },
            }] }],
            "contents": [
                { "role": "user", "parts": [{ "text": "Read." }] },
                { "role": "model", "parts": [
                    { "text": "I read it. é" },
                    { "functionCall": { "name": "Read", "args": args }, "thoughtSignature": "c2ln" },
                    { "functionCall": { "name": "Read", "args": {} } },
                ] },
                { "role": "user", "parts": [
                    { "functionResponse": { "name": "Read", "response": { "output": "(see the image)" } } },
                    { "functionResponse": { "name": "Read", "response": { "output": "hello" } } },
                    { "text": "Go on." },
                    { "text": "Image from Read:" },
                    { "inlineData": { "mimeType": "image/png", "data": "aWNvbg==" } },
                ] },
                { "role": "model", "parts": [
                    { "functionCall": { "name": "Read", "args": {} }, "thoughtSignature": "skip_thought_signature_validator" },
                ] },
                { "role": "user", "parts": [
                    { "functionResponse": { "name": "Read", "response": { "error": "gone" } } },
                ] },
            ],
        })
    );
}

#[test]
fn a_video_goes_beside_the_results() {
    let body = super::Gemini.body(&with_video(), Host::Vendor).to_string();
    for part in ["inlineData", "video/mp4", "bW92aWU="] {
        assert!(body.contains(part), "{body}");
    }
}

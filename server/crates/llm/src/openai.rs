//! OpenAI Chat Completions, which most other and all local servers speak too.
//!
//! Servers differ: indexes or ids of calls may be missing, arguments may come as an object, usage or `[DONE]` may never
//! come, and some ignore `stream` altogether. `answer` puts up with all of it.

mod answer;

use serde_json::{Value, json};

use self::answer::Answer;
use crate::history::{self, Medium, Turn};
use crate::wire::{Decoder, Host, Wire, wire_arguments, wire_id, wire_name};
use crate::{Part, Request, Role};

pub(crate) struct Openai;

/// Marks thoughts that came as `reasoning_content`; some servers want them back within a round of tools.
const REASONING: &str = "reasoning_content";

impl Wire for Openai {
    fn path(&self, _model: &str) -> String {
        "/chat/completions".to_owned()
    }

    fn models_path(&self) -> &'static str {
        "/models"
    }

    fn surplus(&self) -> &'static [&'static str] {
        &["/chat/completions"]
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("authorization", format!("Bearer {key}"))
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    fn body(&self, request: &Request, host: Host) -> Value {
        let mut messages = Vec::new();
        if !request.system.trim().is_empty() {
            messages.push(json!({ "role": "system", "content": request.system }));
        }
        let turns = history::turns(&request.messages);
        // Thoughts count within the current round only: what follows the person's last own words.
        let asked =
            turns.iter().rposition(|turn| turn.role == Role::User && !answers(turn)).unwrap_or(0);
        for (place, turn) in turns.iter().enumerate() {
            match turn.role {
                Role::User => user(turn, &mut messages),
                Role::Assistant => {
                    let thoughts = place > asked && host == Host::Other;
                    messages.push(assistant(
                        turn,
                        if thoughts { Thoughts::Kept } else { Thoughts::Left },
                    ));
                }
            }
        }
        let mut body = json!({
            "model": request.model,
            "messages": messages,
            "stream": true,
            "stream_options": { "include_usage": true },
        });
        if !request.tools.is_empty() {
            body["tools"] = request
                .tools
                .iter()
                .map(|tool| {
                    let function = json!({
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.input_schema,
                    });
                    json!({ "type": "function", "function": function })
                })
                .collect();
        }
        if let Some(limit) = request.max_output {
            // The vendor's newer models refuse the old name; other servers often know no other.
            let field = if host == Host::Vendor { "max_completion_tokens" } else { "max_tokens" };
            body[field] = json!(limit);
        }
        if let Some(reasoning) = request.reasoning {
            body["reasoning_effort"] = json!(reasoning.word());
        }
        if host == Host::Vendor && !request.session.is_empty() {
            body["prompt_cache_key"] = json!(request.session);
        }
        body
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Answer::default())
    }

    fn model_names(&self, list: &Value) -> Vec<String> {
        let models = list["data"].as_array().or_else(|| list.as_array());
        models.into_iter().flatten().filter_map(|m| Some(m["id"].as_str()?.to_owned())).collect()
    }
}

/// Whether a user turn begins with tool results.
fn answers(turn: &Turn<'_>) -> bool {
    turn.parts.first().is_some_and(|part| matches!(part.as_ref(), Part::ToolResult { .. }))
}

#[derive(Clone, Copy, PartialEq)]
enum Thoughts {
    Kept,
    Left,
}

/// Tool messages first, then one user message: results may hold text only, so their images follow here too.
fn user(turn: &Turn<'_>, messages: &mut Vec<Value>) {
    let mut content = Vec::new();
    for part in &turn.parts {
        match part.as_ref() {
            Part::ToolResult { id, name, content: result, .. } => {
                let text = history::text_of(result);
                messages
                    .push(json!({ "role": "tool", "tool_call_id": wire_id(id), "content": text }));
                let mut media = history::media_of(result).peekable();
                if let Some(first) = media.peek() {
                    let what = match first {
                        Medium::Image { .. } => "Image",
                        Medium::Video { .. } => "Video",
                    };
                    content.push(json!({ "type": "text", "text": format!("{what} from {name}:") }));
                }
                content.extend(media.map(|medium| match medium {
                    Medium::Image { media_type, data } => image(media_type, data),
                    Medium::Video { media_type, data } => video(media_type, data),
                }));
            }
            Part::Text { text } => content.push(json!({ "type": "text", "text": text })),
            Part::Image { media_type, data } => content.push(image(media_type, data)),
            Part::Thought { .. } | Part::ToolCall { .. } => {}
        }
    }
    match content.as_slice() {
        [] => {}
        // Small servers take nothing but a string.
        content if content.iter().all(|part| part["type"] == "text") => {
            let texts: Vec<&str> =
                content.iter().filter_map(|part| part["text"].as_str()).collect();
            messages.push(json!({ "role": "user", "content": texts.join("\n\n") }));
        }
        content => messages.push(json!({ "role": "user", "content": content })),
    }
}

fn image(media_type: &str, data: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": format!("data:{media_type};base64,{data}") } })
}

/// As vendors whose models see videos have it in this format.
fn video(media_type: &str, data: &str) -> Value {
    json!({ "type": "video_url", "video_url": { "url": format!("data:{media_type};base64,{data}") } })
}

fn assistant(turn: &Turn<'_>, thoughts: Thoughts) -> Value {
    let (mut text, mut thought) = (String::new(), String::new());
    let mut calls = Vec::new();
    for part in &turn.parts {
        match part.as_ref() {
            Part::Text { text: more } => {
                if !text.is_empty() {
                    text.push_str("\n\n");
                }
                text.push_str(more);
            }
            Part::Thought { text: more, opaque: Some(opaque), .. }
                if opaque["type"] == REASONING =>
            {
                thought.push_str(more);
            }
            Part::ToolCall { id, name, arguments } => {
                let function =
                    json!({ "name": wire_name(name), "arguments": argument_text(arguments) });
                calls.push(json!({ "id": wire_id(id), "type": "function", "function": function }));
            }
            Part::Thought { .. } | Part::Image { .. } | Part::ToolResult { .. } => {}
        }
    }
    let mut message = json!({ "role": "assistant", "content": text });
    if !calls.is_empty() {
        if text.is_empty() {
            message["content"] = Value::Null;
        }
        message["tool_calls"] = Value::Array(calls);
    }
    if thoughts == Thoughts::Kept && !thought.is_empty() {
        message[REASONING] = json!(thought);
    }
    message
}

/// As the model wrote it where it is an object; some servers parse it and fail for ever on anything else.
pub(crate) fn argument_text(arguments: &str) -> String {
    match serde_json::from_str::<serde_json::Map<String, Value>>(arguments) {
        Ok(_) => arguments.to_owned(),
        Err(_) => wire_arguments(arguments).to_string(),
    }
}

#[cfg(test)]
pub(crate) mod tests;

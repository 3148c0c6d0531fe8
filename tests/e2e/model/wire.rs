//! The two wire formats of the fake model: what it sends, and what it would refuse.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{Request, Step};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    OpenAi,
    Anthropic,
}

impl Wire {
    /// The format of a request path; none for listings of models.
    pub fn of(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default();
        if path.ends_with("/chat/completions") {
            Some(Self::OpenAi)
        } else if path.ends_with("/v1/messages") {
            Some(Self::Anthropic)
        } else {
            None
        }
    }

    /// The events of a streamed answer, and where a held step stops: after its text.
    pub fn events(self, step: &Step, number: usize) -> (Vec<String>, usize) {
        match self {
            Self::OpenAi => openai_events(step, number),
            Self::Anthropic => anthropic_events(step, number),
        }
    }

    /// The body of an answer that is not streamed.
    pub fn whole(self, step: &Step, number: usize) -> Value {
        match self {
            Self::OpenAi => {
                let calls: Vec<_> = step
                    .calls
                    .iter()
                    .enumerate()
                    .map(|(i, c)| openai_call(number, i, &c.0, &c.1))
                    .collect();
                let mut message = json!({ "role": "assistant", "content": step.text });
                if !calls.is_empty() {
                    message["tool_calls"] = json!(calls);
                }
                let finish = if calls.is_empty() { "stop" } else { "tool_calls" };
                json!({
                    "id": format!("chatcmpl-{number}"), "object": "chat.completion", "created": 1, "model": "test",
                    "choices": [{ "index": 0, "message": message, "finish_reason": finish }], "usage": openai_usage(),
                })
            }
            Self::Anthropic => {
                let mut content = vec![json!({ "type": "text", "text": step.text })];
                for (index, (name, arguments)) in step.calls.iter().enumerate() {
                    let input: Value = serde_json::from_str(arguments).unwrap_or(Value::Null);
                    content.push(json!({ "type": "tool_use", "id": format!("toolu_{number}_{index}"), "name": name, "input": input }));
                }
                json!({
                    "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "test", "content": content,
                    "stop_reason": if step.calls.is_empty() { "end_turn" } else { "tool_use" },
                    "usage": { "input_tokens": 100, "output_tokens": 10 },
                })
            }
        }
    }

    /// What the real endpoint would say against this request.
    pub fn judge(self, request: &Request) -> Result<(), String> {
        let body = &request.body;
        if !body["model"].is_string() {
            return Err(format!("no model: {body}"));
        }
        let messages = body["messages"].as_array().ok_or_else(|| format!("no messages: {body}"))?;
        for tool in body["tools"].as_array().into_iter().flatten() {
            let (name, schema) = match self {
                Self::OpenAi => (&tool["function"]["name"], &tool["function"]["parameters"]),
                Self::Anthropic => (&tool["name"], &tool["input_schema"]),
            };
            let name = name.as_str().unwrap_or_default();
            let known = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
            if name.is_empty() || name.len() > 64 || !name.chars().all(known) {
                return Err(format!("a tool name no provider takes: {tool}"));
            }
            if schema["type"] != "object" {
                return Err(format!("a tool whose schema is no object: {tool}"));
            }
        }
        match self {
            Self::OpenAi => {
                if !request.headers.get("authorization").is_some_and(|h| h.starts_with("Bearer ")) {
                    return Err("no bearer key".to_owned());
                }
                judge_openai(messages)
            }
            Self::Anthropic => {
                if !request.headers.contains_key("x-api-key")
                    || !request.headers.contains_key("anthropic-version")
                {
                    return Err("no x-api-key or anthropic-version".to_owned());
                }
                if !body["max_tokens"].is_u64() {
                    return Err(format!("no max_tokens: {body}"));
                }
                judge_anthropic(messages)
            }
        }
    }
}

/// Texts of the tool results in a request, in order.
pub fn results(body: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for message in body["messages"].as_array().into_iter().flatten() {
        if message["role"] == "tool" {
            found.push(text(&message["content"]));
        }
        for block in message["content"]
            .as_array()
            .into_iter()
            .flatten()
            .filter(|b| b["type"] == "tool_result")
        {
            found.push(text(&block["content"]));
        }
    }
    found
}

fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|b| b["text"].as_str()).collect(),
        _ => String::new(),
    }
}

fn judge_openai(messages: &[Value]) -> Result<(), String> {
    let mut open = BTreeSet::new();
    for message in messages {
        match message["role"].as_str() {
            Some("tool") => {
                let id = message["tool_call_id"].as_str().unwrap_or_default();
                if !open.remove(id) {
                    return Err(format!("a result for a call nobody made: {message}"));
                }
            }
            Some("system" | "developer" | "user" | "assistant") => {
                if !open.is_empty() {
                    return Err(format!("calls without results: {open:?}"));
                }
                for call in message["tool_calls"].as_array().into_iter().flatten() {
                    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                    if serde_json::from_str::<Value>(arguments).is_err() {
                        return Err(format!("a call whose arguments are no JSON: {call}"));
                    }
                    open.insert(call["id"].as_str().unwrap_or_default());
                }
            }
            _ => return Err(format!("an unknown role: {message}")),
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("calls without results: {open:?}")) }
}

fn judge_anthropic(messages: &[Value]) -> Result<(), String> {
    if messages.first().is_none_or(|m| m["role"] != "user") {
        return Err("the first message is not the user's".to_owned());
    }
    let mut open = BTreeSet::new();
    for message in messages {
        let blocks: Vec<_> = message["content"].as_array().into_iter().flatten().collect();
        match message["role"].as_str() {
            Some("user") => {
                for block in blocks.iter().filter(|b| b["type"] == "tool_result") {
                    if !open.remove(block["tool_use_id"].as_str().unwrap_or_default()) {
                        return Err(format!("a result for a call nobody made: {block}"));
                    }
                }
                if !open.is_empty() {
                    return Err(format!("calls without results: {open:?}"));
                }
            }
            Some("assistant") => {
                for block in blocks.iter().filter(|b| b["type"] == "tool_use") {
                    if !block["input"].is_object() {
                        return Err(format!("a call whose input is no object: {block}"));
                    }
                    open.insert(block["id"].as_str().unwrap_or_default());
                }
            }
            _ => return Err(format!("an unknown role: {message}")),
        }
        if blocks
            .iter()
            .any(|b| b["type"] == "text" && b["text"].as_str().is_none_or(str::is_empty))
        {
            return Err(format!("an empty text block: {message}"));
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("calls without results: {open:?}")) }
}

/// Seven characters at a time, as tokens come.
fn pieces(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    characters.chunks(7).map(|c| c.iter().collect()).collect()
}

fn openai_usage() -> Value {
    json!({ "prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110 })
}

fn openai_call(number: usize, index: usize, name: &str, arguments: &str) -> Value {
    json!({ "index": index, "id": format!("call_{number}_{index}"), "type": "function", "function": { "name": name, "arguments": arguments } })
}

fn openai_events(step: &Step, number: usize) -> (Vec<String>, usize) {
    let event = |choices: Value, usage: Value| {
        let data = json!({
            "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 1, "model": "test",
            "choices": choices, "usage": usage,
        });
        format!("data: {data}\n\n")
    };
    let delta = |delta: Value, end: Value| {
        event(json!([{ "index": 0, "delta": delta, "finish_reason": end }]), Value::Null)
    };
    let mut events = vec![delta(json!({ "role": "assistant", "content": "" }), Value::Null)];
    for piece in pieces(&step.text) {
        events.push(delta(json!({ "content": piece }), Value::Null));
    }
    let held_at = events.len();
    for (index, (name, arguments)) in step.calls.iter().enumerate() {
        events.push(delta(
            json!({ "tool_calls": [openai_call(number, index, name, "")] }),
            Value::Null,
        ));
        for piece in pieces(arguments) {
            let part =
                json!({ "tool_calls": [{ "index": index, "function": { "arguments": piece } }] });
            events.push(delta(part, Value::Null));
        }
    }
    if !step.cut {
        let end = if step.calls.is_empty() { "stop" } else { "tool_calls" };
        events.push(delta(json!({}), json!(end)));
        events.push(event(json!([]), openai_usage()));
        events.push("data: [DONE]\n\n".to_owned());
    }
    (events, held_at)
}

fn anthropic_events(step: &Step, number: usize) -> (Vec<String>, usize) {
    let event = |data: Value| {
        format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default())
    };
    let mut events = vec![event(json!({ "type": "message_start", "message": {
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": "test", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": { "input_tokens": 100, "output_tokens": 1 },
    } }))];
    let mut index = 0;
    let stop = |index: usize| json!({ "type": "content_block_stop", "index": index });
    if !step.text.is_empty() {
        let block = json!({ "type": "text", "text": "" });
        events.push(event(
            json!({ "type": "content_block_start", "index": index, "content_block": block }),
        ));
        for piece in pieces(&step.text) {
            let delta = json!({ "type": "text_delta", "text": piece });
            events.push(event(
                json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ));
        }
    }
    let held_at = events.len();
    let cut_in_text = step.cut && step.calls.is_empty();
    if !step.text.is_empty() && !cut_in_text {
        events.push(event(stop(index)));
        index += 1;
    }
    for (name, arguments) in &step.calls {
        let block = json!({ "type": "tool_use", "id": format!("toolu_{number}_{index}"), "name": name, "input": {} });
        events.push(event(
            json!({ "type": "content_block_start", "index": index, "content_block": block }),
        ));
        for piece in pieces(arguments) {
            let delta = json!({ "type": "input_json_delta", "partial_json": piece });
            events.push(event(
                json!({ "type": "content_block_delta", "index": index, "delta": delta }),
            ));
        }
        if step.cut {
            return (events, held_at);
        }
        events.push(event(stop(index)));
        index += 1;
    }
    if !step.cut {
        let end = if step.calls.is_empty() { "end_turn" } else { "tool_use" };
        let delta = json!({ "stop_reason": end, "stop_sequence": null });
        events.push(event(
            json!({ "type": "message_delta", "delta": delta, "usage": { "output_tokens": 10 } }),
        ));
        events.push(event(json!({ "type": "message_stop" })));
    }
    (events, held_at)
}

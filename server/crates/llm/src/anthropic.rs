//! Anthropic Messages, also spoken by other servers.
//!
//! Four cache marks per request: the system text, the last tool, and the last two user turns, so that each request of a
//! session reads what the one before wrote. Thinking blocks go back as they came, signature included.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::history::{self, Turn};
use crate::wire::{
    Decoder, Fault, Host, Progress, Wire, parse, refusal, wire_arguments, wire_id, wire_name,
};
use crate::{Event, Part, Reasoning, Request, ResultPart, Role, Stop, Usage, facts};

pub(crate) struct Anthropic;

impl Wire for Anthropic {
    fn path(&self, _model: &str) -> String {
        "/v1/messages".to_owned()
    }

    fn models_path(&self) -> &'static str {
        "/v1/models?limit=1000"
    }

    fn surplus(&self) -> &'static [&'static str] {
        &["/messages", "/v1"]
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        ("x-api-key", key.to_owned())
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("anthropic-version", "2023-06-01")]
    }

    fn body(&self, request: &Request, _host: Host) -> Value {
        let turns = history::turns(&request.messages);
        let max_tokens =
            request.max_output.unwrap_or_else(|| facts(&request.model).max_output).max(1);
        let mut body = json!({
            "model": request.model,
            "max_tokens": max_tokens,
            "stream": true,
            "messages": messages(&turns),
        });
        if !request.system.trim().is_empty() {
            body["system"] =
                json!([{ "type": "text", "text": request.system, "cache_control": mark() }]);
        }
        if !request.tools.is_empty() {
            let mut tools: Vec<Value> = request
                .tools
                .iter()
                .map(|tool| json!({ "name": tool.name, "description": tool.description, "input_schema": tool.input_schema }))
                .collect();
            if let Some(last) = tools.last_mut() {
                last["cache_control"] = mark();
            }
            body["tools"] = Value::Array(tools);
        }
        if let Some(reasoning) = request.reasoning.filter(|_| may_think(&turns)) {
            think(&mut body, &request.model, reasoning, max_tokens);
        }
        body
    }

    fn decoder(&self) -> Box<dyn Decoder> {
        Box::new(Answer::default())
    }

    fn model_names(&self, list: &Value) -> Vec<String> {
        let models = list["data"].as_array();
        models.into_iter().flatten().filter_map(|m| Some(m["id"].as_str()?.to_owned())).collect()
    }
}

fn mark() -> Value {
    json!({ "type": "ephemeral" })
}

fn messages(turns: &[Turn<'_>]) -> Vec<Value> {
    let mut messages: Vec<Value> = turns
        .iter()
        .map(|turn| {
            let content: Vec<Value> = turn.parts.iter().filter_map(|part| block(part)).collect();
            let role = match turn.role {
                Role::User => "user",
                Role::Assistant => "assistant",
            };
            json!({ "role": role, "content": content })
        })
        .collect();
    // A turn may have held nothing but another vendor's thoughts.
    for message in &mut messages {
        if let Some(content) = message["content"].as_array_mut()
            && content.is_empty()
        {
            content.push(json!({ "type": "text", "text": "…" }));
        }
    }
    for message in messages.iter_mut().rev().filter(|message| message["role"] == "user").take(2) {
        if let Some(last) = message["content"].as_array_mut().and_then(|content| content.last_mut())
        {
            last["cache_control"] = mark();
        }
    }
    messages
}

fn block(part: &Part) -> Option<Value> {
    Some(match part {
        Part::Text { text } => json!({ "type": "text", "text": text }),
        Part::Thought { text, signature, opaque } => match (signature, opaque) {
            (_, Some(redacted)) if redacted["type"] == "redacted_thinking" => redacted.clone(),
            (Some(signature), None) => {
                json!({ "type": "thinking", "thinking": text, "signature": signature })
            }
            (_, Some(_)) | (None, None) => return None,
        },
        Part::Image { media_type, data } => image(media_type, data),
        Part::ToolCall { id, name, arguments } => json!({
            "type": "tool_use",
            "id": wire_id(id),
            "name": wire_name(name),
            "input": wire_arguments(arguments),
        }),
        Part::ToolResult { id, content, is_error, .. } => {
            let mut blocks: Vec<Value> = content
                .iter()
                .filter_map(|part| match part {
                    ResultPart::Text { text } if text.trim().is_empty() => None,
                    ResultPart::Text { text } => Some(json!({ "type": "text", "text": text })),
                    ResultPart::Image { media_type, data } => Some(image(media_type, data)),
                    ResultPart::Video { .. } => {
                        Some(json!({ "type": "text", "text": history::NO_VIDEO }))
                    }
                })
                .collect();
            if blocks.is_empty() {
                blocks.push(json!({ "type": "text", "text": history::text_of(content) }));
            }
            let mut result =
                json!({ "type": "tool_result", "tool_use_id": wire_id(id), "content": blocks });
            if *is_error {
                result["is_error"] = json!(true);
            }
            result
        }
    })
}

fn image(media_type: &str, data: &str) -> Value {
    json!({ "type": "image", "source": { "type": "base64", "media_type": media_type, "data": data } })
}

/// The API refuses thinking in the middle of a round of tools that began without it (with another model, say).
fn may_think(turns: &[Turn<'_>]) -> bool {
    let [.., assistant, user] = turns else { return true };
    let in_round = user.parts.iter().any(|part| matches!(part.as_ref(), Part::ToolResult { .. }));
    !in_round
        || assistant.parts.iter().find_map(|part| block(part)).is_some_and(|first| {
            first["type"] == "thinking" || first["type"] == "redacted_thinking"
        })
}

fn think(body: &mut Value, model: &str, reasoning: Reasoning, max_tokens: u32) {
    const SMALLEST: u32 = 1_024;
    let version = version(model);
    if version >= (4, 6) {
        body["thinking"] = json!({ "type": "adaptive" });
        body["output_config"] = json!({ "effort": reasoning.word() });
    } else if version >= (3, 7) {
        let wanted = match reasoning {
            Reasoning::Low => 4_096,
            Reasoning::Medium => 12_288,
            Reasoning::High => 24_576,
        };
        // The budget counts towards max_tokens, and the answer needs its part.
        let budget = wanted.min(max_tokens / 2);
        if budget >= SMALLEST {
            body["thinking"] = json!({ "type": "enabled", "budget_tokens": budget });
        }
    }
}

/// Major and minor version in a model's name, wherever the tier stands; (0, 0) for other names.
fn version(model: &str) -> (u32, u32) {
    let Some(at) = model.find("claude") else { return (0, 0) };
    // Dates are numbers too, but longer.
    let mut numbers = model[at..]
        .split(['-', '.', '@', ':', '_'])
        .skip_while(|word| word.parse::<u32>().is_err())
        .map_while(|word| word.parse::<u32>().ok().filter(|_| word.len() <= 2));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    index: u64,
    #[serde(borrow)]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    content_block: Option<Block<'a>>,
    message: Option<Start>,
    usage: Option<Counts>,
}

#[derive(Deserialize, Default)]
struct Delta<'a> {
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    thinking: Option<Cow<'a, str>>,
    #[serde(borrow)]
    signature: Option<Cow<'a, str>>,
    #[serde(borrow)]
    partial_json: Option<Cow<'a, str>>,
    #[serde(borrow)]
    stop_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Block<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    text: Option<Cow<'a, str>>,
    #[serde(borrow)]
    thinking: Option<Cow<'a, str>>,
    #[serde(borrow)]
    signature: Option<Cow<'a, str>>,
    #[serde(borrow)]
    data: Option<Cow<'a, str>>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    input: Option<Value>,
}

#[derive(Deserialize)]
struct Start {
    usage: Option<Counts>,
}

#[derive(Deserialize)]
struct Counts {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

/// A content block that has begun.
enum Open {
    Text,
    Thought {
        signature: Option<String>,
        opaque: Option<Value>,
    },
    /// `whole` is the input of a server that sends it at once; it counts only when no deltas came.
    Call {
        index: usize,
        whole: Option<String>,
        streamed: bool,
    },
}

#[derive(Default)]
struct Answer {
    open: HashMap<u64, Open>,
    calls: usize,
    usage: Usage,
    stop: Option<Stop>,
}

impl Decoder for Answer {
    fn event(&mut self, data: &[u8], out: &mut VecDeque<Event>) -> Result<Progress, Fault> {
        let mut spare = String::new();
        let frame: Frame<'_> = parse(data, &mut spare)?;
        match frame.kind.as_ref() {
            "message_start" => self.count(frame.message.and_then(|message| message.usage), out),
            "content_block_start" => {
                if let Some(block) = frame.content_block {
                    self.begin(frame.index, block, out);
                }
            }
            "content_block_delta" => self.delta(frame.index, frame.delta.unwrap_or_default(), out),
            "content_block_stop" => self.close(frame.index, out),
            "message_delta" => {
                self.count(frame.usage, out);
                if let Some(reason) = frame.delta.and_then(|delta| delta.stop_reason) {
                    self.stop = Some(stop(&reason));
                }
            }
            "message_stop" => {
                self.stop.get_or_insert(Stop::EndTurn);
                return Ok(self.end(out));
            }
            "error" | "" => {
                let body: Value = parse(data, &mut String::new())?;
                return Err(refusal(&body)
                    .unwrap_or_else(|| Fault::Garbage("an event without a type".to_owned())));
            }
            _ => {} // ping, and kinds that come later
        }
        Ok(Progress::More)
    }

    fn whole(&mut self, body: Value, out: &mut VecDeque<Event>) -> Result<(), Fault> {
        if let Some(fault) = refusal(&body) {
            return Err(fault);
        }
        let Some(content) = body["content"].as_array() else {
            return Err(Fault::Garbage("a message without content".to_owned()));
        };
        for (index, block) in (0..).zip(content) {
            let block = Block::deserialize(block).map_err(|e| Fault::Garbage(e.to_string()))?;
            self.begin(index, block, out);
            self.close(index, out);
        }
        self.count(Counts::deserialize(&body["usage"]).ok(), out);
        self.stop = Some(stop(body["stop_reason"].as_str().unwrap_or("end_turn")));
        self.end(out);
        Ok(())
    }

    fn end(&mut self, out: &mut VecDeque<Event>) -> Progress {
        let Some(stop) = self.stop.take() else { return Progress::More };
        let mut left: Vec<u64> = self.open.keys().copied().collect();
        left.sort_unstable();
        for index in left {
            self.close(index, out);
        }
        out.push_back(Event::Stop(stop));
        Progress::Done
    }
}

impl Answer {
    fn begin(&mut self, at: u64, block: Block<'_>, out: &mut VecDeque<Event>) {
        let text = block.text.or(block.thinking).unwrap_or_default();
        let open = match block.kind.as_ref() {
            "text" => {
                if !text.is_empty() {
                    out.push_back(Event::Text(text.into_owned()));
                }
                Open::Text
            }
            "thinking" => {
                if !text.is_empty() {
                    out.push_back(Event::Thought(text.into_owned()));
                }
                Open::Thought {
                    signature: block.signature.filter(|s| !s.is_empty()).map(Cow::into_owned),
                    opaque: None,
                }
            }
            "redacted_thinking" => {
                let opaque =
                    json!({ "type": "redacted_thinking", "data": block.data.unwrap_or_default() });
                Open::Thought { signature: None, opaque: Some(opaque) }
            }
            "tool_use" => {
                let index = self.calls;
                self.calls += 1;
                let (id, name) = (block.id.unwrap_or_default(), block.name.unwrap_or_default());
                out.push_back(Event::CallStart {
                    index,
                    id: id.into_owned(),
                    name: name.into_owned(),
                });
                let whole = block
                    .input
                    .filter(|input| !input.is_null() && *input != json!({}))
                    .map(|input| match input {
                        Value::String(text) => text,
                        other => other.to_string(),
                    });
                Open::Call { index, whole, streamed: false }
            }
            _ => return, // blocks of tools that run at the vendor's
        };
        self.open.insert(at, open);
    }

    fn delta(&mut self, at: u64, delta: Delta<'_>, out: &mut VecDeque<Event>) {
        match self.open.get_mut(&at) {
            Some(Open::Text) => {
                if let Some(text) = delta.text {
                    out.push_back(Event::Text(text.into_owned()));
                }
            }
            Some(Open::Thought { signature, .. }) => {
                if let Some(text) = delta.thinking {
                    out.push_back(Event::Thought(text.into_owned()));
                }
                if let Some(more) = delta.signature {
                    signature.get_or_insert_default().push_str(&more);
                }
            }
            Some(Open::Call { index, streamed, .. }) => {
                if let Some(json) = delta.partial_json.filter(|json| !json.is_empty()) {
                    *streamed = true;
                    out.push_back(Event::CallDelta { index: *index, json: json.into_owned() });
                }
            }
            None => {}
        }
    }

    fn close(&mut self, at: u64, out: &mut VecDeque<Event>) {
        match self.open.remove(&at) {
            Some(Open::Thought { signature, opaque }) => {
                out.push_back(Event::ThoughtEnd { signature, opaque })
            }
            Some(Open::Call { index, whole, streamed }) => {
                if let Some(json) = whole.filter(|_| !streamed) {
                    out.push_back(Event::CallDelta { index, json });
                }
                out.push_back(Event::CallEnd { index });
            }
            Some(Open::Text) | None => {}
        }
    }

    fn count(&mut self, counts: Option<Counts>, out: &mut VecDeque<Event>) {
        let Some(counts) = counts else { return };
        let usage = &mut self.usage;
        for (total, new) in [
            (&mut usage.input, counts.input_tokens),
            (&mut usage.output, counts.output_tokens),
            (&mut usage.cached_read, counts.cache_read_input_tokens),
            (&mut usage.cached_write, counts.cache_creation_input_tokens),
        ] {
            *total = new.unwrap_or(*total);
        }
        out.push_back(Event::Usage(*usage));
    }
}

fn stop(reason: &str) -> Stop {
    match reason {
        "end_turn" | "stop_sequence" => Stop::EndTurn,
        "tool_use" => Stop::ToolUse,
        "max_tokens" | "model_context_window_exceeded" => Stop::MaxTokens,
        "refusal" => Stop::Refusal,
        other => Stop::Other(other.chars().take(100).collect()),
    }
}

#[cfg(test)]
pub(crate) mod tests;

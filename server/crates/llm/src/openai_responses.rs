//! OpenAI Responses. Nothing is stored at the vendor's: the conversation is sent whole each time, and reasoning items go
//! back encrypted as they came.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::history::{self, Medium, Turn};
use crate::openai::{Openai, argument_text};
use crate::wire::{Decoder, Fault, Host, Progress, Wire, parse, refusal, wire_id, wire_name};
use crate::{Event, Part, Request, Role, Stop, Usage};

pub(crate) struct OpenaiResponses;

impl Wire for OpenaiResponses {
    fn path(&self, _model: &str) -> String {
        "/responses".to_owned()
    }

    fn models_path(&self) -> &'static str {
        Openai.models_path()
    }

    fn surplus(&self) -> &'static [&'static str] {
        &["/responses"]
    }

    fn key_header(&self, key: &str) -> (&'static str, String) {
        Openai.key_header(key)
    }

    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[]
    }

    fn body(&self, request: &Request, host: Host) -> Value {
        let mut input = Vec::new();
        for turn in &history::turns(&request.messages) {
            match turn.role {
                Role::User => user(turn, &mut input),
                Role::Assistant => assistant(turn, &mut input),
            }
        }
        let mut body =
            json!({ "model": request.model, "input": input, "stream": true, "store": false });
        if !request.system.trim().is_empty() {
            body["instructions"] = json!(request.system);
        }
        if !request.tools.is_empty() {
            body["tools"] = request
                .tools
                .iter()
                .map(|tool| {
                    json!({
                        "type": "function",
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.input_schema,
                        "strict": false,
                    })
                })
                .collect();
        }
        if let Some(limit) = request.max_output {
            body["max_output_tokens"] = json!(limit);
        }
        if let Some(reasoning) = request.reasoning {
            body["reasoning"] = json!({ "effort": reasoning.word(), "summary": "auto" });
        }
        // Models that do not reason refuse to include it.
        if request.reasoning.is_some() || (host == Host::Vendor && reasons(&request.model)) {
            body["include"] = json!(["reasoning.encrypted_content"]);
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
        Openai.model_names(list)
    }
}

fn reasons(model: &str) -> bool {
    ["gpt-5", "o1", "o3", "o4", "codex"].iter().any(|prefix| model.starts_with(prefix))
}

fn user(turn: &Turn<'_>, input: &mut Vec<Value>) {
    let mut content = Vec::new();
    for part in &turn.parts {
        match part.as_ref() {
            Part::ToolResult { id, name, content: result, .. } => {
                let output = history::text_of(result);
                input.push(json!({ "type": "function_call_output", "call_id": wire_id(id), "output": output }));
                for medium in history::media_of(result) {
                    let (text, image) = match medium {
                        Medium::Image { media_type, data } => {
                            (format!("Image from {name}:"), Some(image(media_type, data)))
                        }
                        Medium::Video { .. } => (history::NO_VIDEO.to_owned(), None),
                    };
                    content.push(json!({ "type": "input_text", "text": text }));
                    content.extend(image);
                }
            }
            Part::Text { text } => content.push(json!({ "type": "input_text", "text": text })),
            Part::Image { media_type, data } => content.push(image(media_type, data)),
            Part::Thought { .. } | Part::ToolCall { .. } => {}
        }
    }
    if !content.is_empty() {
        input.push(json!({ "type": "message", "role": "user", "content": content }));
    }
}

fn image(media_type: &str, data: &str) -> Value {
    json!({ "type": "input_image", "image_url": format!("data:{media_type};base64,{data}") })
}

fn assistant(turn: &Turn<'_>, input: &mut Vec<Value>) {
    let mut waiting = None;
    for part in &turn.parts {
        let item = match part.as_ref() {
            Part::Text { text } => {
                let content = json!([{ "type": "output_text", "text": text, "annotations": [] }]);
                json!({ "type": "message", "role": "assistant", "content": content })
            }
            Part::Thought { opaque: Some(item), .. } if item["type"] == "reasoning" => {
                // Reasoning without the item it led to is refused: it waits for one.
                waiting = item["encrypted_content"].is_string().then(|| item.clone());
                continue;
            }
            Part::ToolCall { id, name, arguments } => json!({
                "type": "function_call",
                "call_id": wire_id(id),
                "name": wire_name(name),
                "arguments": argument_text(arguments),
            }),
            Part::Thought { .. } | Part::Image { .. } | Part::ToolResult { .. } => continue,
        };
        input.extend(waiting.take());
        input.push(item);
    }
}

#[derive(Deserialize)]
struct Frame<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    output_index: u64,
    #[serde(borrow)]
    delta: Option<Cow<'a, str>>,
    item: Option<Value>,
    response: Option<Value>,
}

/// An output item that has begun.
#[derive(Default)]
struct Open {
    /// Pieces came, so the whole at the item's end is no news.
    streamed: bool,
    call: Option<usize>,
}

#[derive(Default)]
struct Answer {
    open: HashMap<u64, Open>,
    calls: usize,
    refused: bool,
}

impl Decoder for Answer {
    fn event(&mut self, data: &[u8], out: &mut VecDeque<Event>) -> Result<Progress, Fault> {
        if data.trim_ascii() == b"[DONE]" {
            return Ok(Progress::More);
        }
        let mut spare = String::new();
        let frame: Frame<'_> = parse(data, &mut spare)?;
        let at = frame.output_index;
        match frame.kind.as_ref() {
            "response.output_text.delta" => self.piece(at, frame.delta, Event::Text, out),
            "response.refusal.delta" => {
                self.refused = true;
                self.piece(at, frame.delta, Event::Text, out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.piece(at, frame.delta, Event::Thought, out);
            }
            "response.reasoning_summary_part.added"
                if self.open.entry(at).or_default().streamed =>
            {
                out.push_back(Event::Thought("\n\n".to_owned()));
            }
            "response.function_call_arguments.delta" => {
                if let Some(Open { call: Some(index), streamed }) = self.open.get_mut(&at)
                    && let Some(json) = frame.delta.filter(|json| !json.is_empty())
                {
                    *streamed = true;
                    out.push_back(Event::CallDelta { index: *index, json: json.into_owned() });
                }
            }
            "response.output_item.added" => self.begin(at, &frame.item.unwrap_or_default(), out),
            "response.output_item.done" => self.close(at, frame.item.unwrap_or_default(), out),
            "response.completed" | "response.incomplete" | "response.done" => {
                self.finish(&frame.response.unwrap_or_default(), out);
                return Ok(Progress::Done);
            }
            "response.failed" | "error" | "" => {
                let body = match frame.response {
                    Some(response) => response,
                    None => parse(data, &mut String::new())?,
                };
                return Err(refusal(&body)
                    .unwrap_or_else(|| Fault::Garbage("an event without a type".to_owned())));
            }
            _ => {} // the many events that repeat what came in pieces
        }
        Ok(Progress::More)
    }

    fn whole(&mut self, body: Value, out: &mut VecDeque<Event>) -> Result<(), Fault> {
        if let Some(fault) = refusal(&body) {
            return Err(fault);
        }
        let Some(items) = body["output"].as_array() else {
            return Err(Fault::Garbage("a response without output".to_owned()));
        };
        for (at, item) in (0..).zip(items) {
            self.close(at, item.clone(), out);
        }
        self.finish(&body, out);
        Ok(())
    }

    fn end(&mut self, _out: &mut VecDeque<Event>) -> Progress {
        Progress::More // without the closing event nothing says that the answer is whole
    }
}

impl Answer {
    fn piece(
        &mut self,
        at: u64,
        delta: Option<Cow<'_, str>>,
        event: fn(String) -> Event,
        out: &mut VecDeque<Event>,
    ) {
        if let Some(text) = delta.filter(|text| !text.is_empty()) {
            self.open.entry(at).or_default().streamed = true;
            out.push_back(event(text.into_owned()));
        }
    }

    fn begin(&mut self, at: u64, item: &Value, out: &mut VecDeque<Event>) {
        let mut open = Open::default();
        if item["type"] == "function_call" {
            let text = |key: &str| item[key].as_str().unwrap_or_default().to_owned();
            open.call = Some(self.calls);
            out.push_back(Event::CallStart {
                index: self.calls,
                id: text("call_id"),
                name: text("name"),
            });
            self.calls += 1;
        }
        self.open.insert(at, open);
    }

    fn close(&mut self, at: u64, item: Value, out: &mut VecDeque<Event>) {
        if !self.open.contains_key(&at) {
            self.begin(at, &item, out);
        }
        let Open { streamed, call } = self.open.remove(&at).unwrap_or_default();
        match item["type"].as_str() {
            Some("message") if !streamed => {
                for part in item["content"].as_array().into_iter().flatten() {
                    self.refused |= part["type"] == "refusal";
                    let text = part["text"]
                        .as_str()
                        .or_else(|| part["refusal"].as_str())
                        .unwrap_or_default();
                    if !text.is_empty() {
                        out.push_back(Event::Text(text.to_owned()));
                    }
                }
            }
            Some("reasoning") => {
                if !streamed {
                    let summaries = item["summary"].as_array().into_iter().flatten();
                    let texts: Vec<&str> =
                        summaries.filter_map(|part| part["text"].as_str()).collect();
                    if !texts.is_empty() {
                        out.push_back(Event::Thought(texts.join("\n\n")));
                    }
                }
                out.push_back(Event::ThoughtEnd { signature: None, opaque: Some(returned(item)) });
            }
            _ => {
                if let Some(index) = call {
                    let whole =
                        item["arguments"].as_str().filter(|json| !streamed && !json.is_empty());
                    if let Some(json) = whole {
                        out.push_back(Event::CallDelta { index, json: json.to_owned() });
                    }
                    out.push_back(Event::CallEnd { index });
                }
            }
        }
    }

    fn finish(&mut self, response: &Value, out: &mut VecDeque<Event>) {
        let usage = &response["usage"];
        if usage.is_object() {
            let cached = usage["input_tokens_details"]["cached_tokens"].as_u64().unwrap_or(0);
            out.push_back(Event::Usage(Usage {
                input: usage["input_tokens"].as_u64().unwrap_or(0).saturating_sub(cached),
                output: usage["output_tokens"].as_u64().unwrap_or(0),
                cached_read: cached,
                cached_write: 0,
            }));
        }
        let reason = response["incomplete_details"]["reason"].as_str();
        out.push_back(Event::Stop(match reason {
            Some("max_output_tokens") => Stop::MaxTokens,
            Some("content_filter") => Stop::Refusal,
            Some(other) => Stop::Other(other.chars().take(100).collect()),
            None if self.refused => Stop::Refusal,
            None if self.calls > 0 => Stop::ToolUse,
            None => Stop::EndTurn,
        }));
    }
}

/// A reasoning item as it may be sent back: without its status, which requests must not hold.
fn returned(mut item: Value) -> Value {
    if let Some(item) = item.as_object_mut() {
        item.remove("status");
    }
    item
}

#[cfg(test)]
pub(crate) mod tests;

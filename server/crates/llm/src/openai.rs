//! OpenAI Chat Completions, which most other and all local servers speak too.
//!
//! Servers differ: indexes or ids of calls may be missing, arguments may come as an object, usage or `[DONE]` may never
//! come, and some ignore `stream` altogether. Calls end with the answer, because their pieces may be interleaved.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use crate::history::{self, Turn};
use crate::wire::{
    Decoder, Fault, Host, Progress, Wire, parse, refusal, wire_arguments, wire_id, wire_name,
};
use crate::{Event, Part, Request, Role, Stop, Usage};

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
                let mut images = history::images_of(result).peekable();
                if images.peek().is_some() {
                    content.push(json!({ "type": "text", "text": format!("Image from {name}:") }));
                }
                content.extend(images.map(|(media_type, data)| image(media_type, data)));
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

#[derive(Deserialize)]
struct Chunk<'a> {
    #[serde(borrow, default)]
    choices: Option<Vec<Choice<'a>>>,
    usage: Option<Counts>,
    error: Option<Value>,
    object: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
struct Choice<'a> {
    /// A whole answer says `message`.
    #[serde(borrow, alias = "message")]
    delta: Option<Delta<'a>>,
    #[serde(borrow)]
    finish_reason: Option<Cow<'a, str>>,
}

#[derive(Deserialize, Default)]
struct Delta<'a> {
    #[serde(borrow)]
    content: Option<Content<'a>>,
    #[serde(borrow)]
    reasoning_content: Option<Cow<'a, str>>,
    #[serde(borrow)]
    reasoning: Option<Content<'a>>,
    #[serde(borrow)]
    refusal: Option<Cow<'a, str>>,
    #[serde(borrow)]
    tool_calls: Option<Vec<CallDelta<'a>>>,
}

/// Mostly a string; read by hand because an untagged enum would copy every piece twice.
enum Content<'a> {
    Text(Cow<'a, str>),
    Other(Value),
}

impl<'de: 'a, 'a> Deserialize<'de> for Content<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = Content<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string, a list of parts, or an object")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Content::Text(Cow::Owned(text.to_owned())))
            }

            fn visit_unit<E>(self) -> Result<Self::Value, E> {
                Ok(Content::Other(Value::Null))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                Value::deserialize(SeqAccessDeserializer::new(seq)).map(Content::Other)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                Value::deserialize(MapAccessDeserializer::new(map)).map(Content::Other)
            }
        }

        deserializer.deserialize_any(Either)
    }
}

#[derive(Deserialize)]
struct CallDelta<'a> {
    index: Option<i64>,
    #[serde(borrow)]
    id: Option<Cow<'a, str>>,
    #[serde(borrow)]
    function: Option<Function<'a>>,
}

#[derive(Deserialize, Default)]
struct Function<'a> {
    #[serde(borrow)]
    name: Option<Cow<'a, str>>,
    #[serde(borrow)]
    arguments: Option<Content<'a>>,
}

#[derive(Deserialize)]
struct Counts {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<Details>,
}

#[derive(Deserialize)]
struct Details {
    cached_tokens: Option<u64>,
}

/// A call as far as it has come.
struct Call {
    /// The server's index, when it gave one.
    index: Option<i64>,
    id: String,
    /// Empty until it came; the call is told then.
    name: String,
    /// Arguments that came before the name.
    early: String,
}

#[derive(Default)]
struct Answer {
    calls: Vec<Call>,
    thinking: bool,
    refused: bool,
    content: bool,
    stop: Option<Stop>,
}

impl Decoder for Answer {
    fn event(&mut self, data: &[u8], out: &mut VecDeque<Event>) -> Result<Progress, Fault> {
        if data.trim_ascii() == b"[DONE]" {
            if self.stop.is_none() && (self.content || !self.calls.is_empty()) {
                self.stop = Some(Stop::EndTurn);
            }
            return match self.end(out) {
                Progress::Done => Ok(Progress::Done),
                Progress::More => Err(Fault::Garbage("an empty answer".to_owned())),
            };
        }
        let mut spare = String::new();
        let chunk: Chunk<'_> = parse(data, &mut spare)?;
        if chunk.error.as_ref().is_some_and(|error| !error.is_null())
            || chunk.object.as_deref() == Some("error")
        {
            let body: Value = parse(data, &mut String::new())?;
            return Err(refusal(&body)
                .unwrap_or_else(|| Fault::Garbage("an error without words".to_owned())));
        }
        if chunk.choices.is_none() && chunk.usage.is_none() && chunk.object.is_none() {
            return Err(Fault::Garbage("an event without choices".to_owned()));
        }
        self.chunk(chunk, out);
        Ok(Progress::More)
    }

    fn whole(&mut self, body: Value, out: &mut VecDeque<Event>) -> Result<(), Fault> {
        if let Some(fault) = refusal(&body) {
            return Err(fault);
        }
        let text = body.to_string();
        let mut spare = String::new();
        let chunk: Chunk<'_> = parse(text.as_bytes(), &mut spare)?;
        if chunk.choices.as_ref().is_none_or(Vec::is_empty) {
            return Err(Fault::Garbage("an answer without choices".to_owned()));
        }
        self.chunk(chunk, out);
        self.stop.get_or_insert(Stop::EndTurn);
        self.end(out);
        Ok(())
    }

    fn end(&mut self, out: &mut VecDeque<Event>) -> Progress {
        let Some(stop) = self.stop.take() else { return Progress::More };
        self.thought_over(out);
        for index in 0..self.calls.len() {
            // A call that never got a name cannot be run, but the model should hear of it.
            if self.calls[index].name.is_empty() {
                self.tell(index, out);
            }
            out.push_back(Event::CallEnd { index });
        }
        out.push_back(Event::Stop(if self.refused { Stop::Refusal } else { stop }));
        Progress::Done
    }
}

impl Answer {
    fn chunk(&mut self, chunk: Chunk<'_>, out: &mut VecDeque<Event>) {
        // Only one answer was asked for.
        if let Some(choice) = chunk.choices.into_iter().flatten().next() {
            if let Some(delta) = choice.delta {
                self.delta(delta, out);
            }
            if let Some(reason) = choice.finish_reason.filter(|reason| !reason.is_empty()) {
                self.stop = Some(stop(&reason));
            }
        }
        if let Some(counts) = chunk.usage {
            let cached =
                counts.prompt_tokens_details.and_then(|details| details.cached_tokens).unwrap_or(0);
            out.push_back(Event::Usage(Usage {
                input: counts.prompt_tokens.unwrap_or(0).saturating_sub(cached),
                output: counts.completion_tokens.unwrap_or(0),
                cached_read: cached,
                cached_write: 0,
            }));
        }
    }

    fn delta(&mut self, delta: Delta<'_>, out: &mut VecDeque<Event>) {
        let reasoning = delta.reasoning_content.map(Content::Text).or(delta.reasoning);
        if let Some(reasoning) = reasoning {
            let (text, thought) = split(reasoning);
            self.think(thought + &text, out);
        }
        if let Some(content) = delta.content {
            let (text, thought) = split(content);
            self.think(thought, out);
            self.say(text, out);
        }
        if let Some(refusal) = delta.refusal.filter(|refusal| !refusal.is_empty()) {
            self.refused = true;
            self.say(refusal.into_owned(), out);
        }
        for call in delta.tool_calls.into_iter().flatten() {
            self.thought_over(out);
            self.call(call, out);
        }
    }

    fn think(&mut self, thought: String, out: &mut VecDeque<Event>) {
        if !thought.is_empty() {
            self.thinking = true;
            self.content = true;
            out.push_back(Event::Thought(thought));
        }
    }

    fn say(&mut self, text: String, out: &mut VecDeque<Event>) {
        if !text.is_empty() {
            self.thought_over(out);
            self.content = true;
            out.push_back(Event::Text(text));
        }
    }

    fn thought_over(&mut self, out: &mut VecDeque<Event>) {
        if std::mem::take(&mut self.thinking) {
            out.push_back(Event::ThoughtEnd {
                signature: None,
                opaque: Some(json!({ "type": REASONING })),
            });
        }
    }

    fn call(&mut self, delta: CallDelta<'_>, out: &mut VecDeque<Event>) {
        let function = delta.function.unwrap_or_default();
        let id = delta.id.unwrap_or_default();
        let name = function.name.unwrap_or_default();
        let place = self.place(delta.index, &id, &name);
        let place = place.unwrap_or_else(|| {
            let id = id.into_owned();
            self.calls.push(Call {
                index: delta.index,
                id,
                name: String::new(),
                early: String::new(),
            });
            self.calls.len() - 1
        });
        if self.calls[place].name.is_empty() && !name.is_empty() {
            self.calls[place].name = name.into_owned();
            self.tell(place, out);
        }
        let json = match function.arguments {
            None => return,
            Some(Content::Text(text)) => text.into_owned(),
            Some(Content::Other(Value::Null)) => return,
            Some(Content::Other(value)) => value.to_string(),
        };
        if json.is_empty() {
        } else if self.calls[place].name.is_empty() {
            self.calls[place].early.push_str(&json);
        } else {
            out.push_back(Event::CallDelta { index: place, json });
        }
    }

    /// The call a piece belongs to; `None` when it begins a new one.
    fn place(&self, index: Option<i64>, id: &str, name: &str) -> Option<usize> {
        let known = match index {
            Some(index) => self.calls.iter().rposition(|call| call.index == Some(index)),
            None if id.is_empty() && name.is_empty() => self.calls.len().checked_sub(1),
            None if id.is_empty() => None,
            None => self.calls.iter().rposition(|call| call.id == id),
        }?;
        // Some servers number all calls 0: another id together with a name is another call.
        let call = &self.calls[known];
        let other = !id.is_empty() && !call.id.is_empty() && call.id != id && !name.is_empty();
        (!other).then_some(known)
    }

    fn tell(&mut self, index: usize, out: &mut VecDeque<Event>) {
        let call = &mut self.calls[index];
        out.push_back(Event::CallStart { index, id: call.id.clone(), name: call.name.clone() });
        if !call.early.is_empty() {
            out.push_back(Event::CallDelta { index, json: std::mem::take(&mut call.early) });
        }
    }
}

/// Text and thought of a content, which is a string or a list of typed parts.
fn split(content: Content<'_>) -> (String, String) {
    let (mut text, mut thought) = (String::new(), String::new());
    match content {
        Content::Text(all) => text = all.into_owned(),
        Content::Other(Value::Array(parts)) => {
            for part in &parts {
                match part["type"].as_str() {
                    Some("thinking") => {
                        let inner = part["thinking"].as_array().into_iter().flatten();
                        inner
                            .filter_map(|inner| inner["text"].as_str())
                            .for_each(|more| thought.push_str(more));
                    }
                    _ => text.push_str(part["text"].as_str().unwrap_or_default()),
                }
            }
        }
        Content::Other(_) => {}
    }
    (text, thought)
}

fn stop(reason: &str) -> Stop {
    match reason {
        "stop" | "eos" => Stop::EndTurn,
        "tool_calls" | "function_call" => Stop::ToolUse,
        "length" => Stop::MaxTokens,
        "content_filter" => Stop::Refusal,
        other => Stop::Other(other.chars().take(100).collect()),
    }
}

#[cfg(test)]
mod tests;

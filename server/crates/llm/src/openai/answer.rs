//! Decodes the answers of Chat Completions. Calls end with the answer, because their pieces may be interleaved.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, json};

use super::REASONING;
use crate::wire::{Decoder, Fault, Progress, parse, refusal};
use crate::{Event, Stop, Usage};

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
pub(super) struct Answer {
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

//! Turns the events of one answer into the finished assistant message.
//!
//! Calls get ids that are unique in the whole conversation; a call that was cut off is dropped, never run.

use std::collections::{HashMap, HashSet};

use crate::{Event, Message, Part, Role, Stop, Usage};

/// Collects events. Pass on to others what `push` returns, not what came in: call ids may change.
#[derive(Debug, Default)]
pub struct Assembler {
    parts: Vec<Part>,
    thought_open: bool,
    /// Calls by their event index: their place in `parts`.
    calls: HashMap<usize, Call>,
    ids: HashSet<String>,
    stop: Option<Stop>,
    usage: Usage,
}

#[derive(Debug)]
struct Call {
    place: usize,
    ended: bool,
}

/// A finished answer.
#[derive(Clone, PartialEq, Debug)]
pub struct Finished {
    /// May have no parts, when nothing usable came.
    pub message: Message,
    /// `Other("cut")` when the stream ended without one.
    pub stop: Stop,
    pub usage: Usage,
    /// What was left out, as one line for model and person.
    pub note: Option<String>,
}

impl Assembler {
    /// Ids used in `history` are not given to new calls.
    pub fn new(history: &[Message]) -> Self {
        let ids = history
            .iter()
            .flat_map(|message| &message.parts)
            .filter_map(|part| match part {
                Part::ToolCall { id, .. } => Some(id.clone()),
                Part::Text { .. }
                | Part::Thought { .. }
                | Part::Image { .. }
                | Part::ToolResult { .. } => None,
            })
            .collect();
        Assembler { ids, ..Assembler::default() }
    }

    /// Takes the next event and gives it back, a call's missing or repeated id replaced.
    pub fn push(&mut self, mut event: Event) -> Event {
        match &mut event {
            Event::Text(text) => self.text(text),
            Event::Thought(text) => self.thought(text),
            Event::ThoughtEnd { signature, opaque } => {
                if !self.thought_open {
                    self.thought("");
                }
                if let Some(Part::Thought { signature: s, opaque: o, .. }) = self.parts.last_mut() {
                    s.clone_from(signature);
                    o.clone_from(opaque);
                }
                self.thought_open = false;
            }
            Event::CallStart { index, id, name } => self.call(*index, id, name),
            Event::CallDelta { index, json } => {
                if let Some(call) = self.calls.get(index)
                    && let Some(Part::ToolCall { arguments, .. }) = self.parts.get_mut(call.place)
                {
                    arguments.push_str(json);
                }
            }
            Event::CallEnd { index } => {
                if let Some(call) = self.calls.get_mut(index) {
                    call.ended = true;
                }
            }
            Event::Usage(usage) => self.usage = *usage,
            Event::Notice(_) => {}
            Event::Stop(stop) => self.stop = Some(stop.clone()),
        }
        event
    }

    /// Also right after an error: what had arrived is kept, except a call that was not complete.
    pub fn finish(self) -> Finished {
        let Assembler { mut parts, calls, stop, usage, .. } = self;
        let mut stop = stop.unwrap_or_else(|| Stop::Other("cut".to_owned()));
        let mut partial: Vec<usize> = calls
            .values()
            .filter(|call| {
                !call.ended || (stop == Stop::MaxTokens && is_broken(&parts, call.place))
            })
            .map(|call| call.place)
            .collect();
        partial.sort_unstable();
        let mut dropped = Vec::new();
        for place in partial.into_iter().rev() {
            if let Part::ToolCall { name, .. } = parts.remove(place) {
                dropped.insert(0, name);
            }
        }
        parts.retain(|part| !matches!(part, Part::Text { text } if text.is_empty()));
        let has_calls = parts.iter().any(|part| matches!(part, Part::ToolCall { .. }));
        // Some servers say "stop" with calls, or "tool calls" without any.
        match (&stop, has_calls) {
            (Stop::EndTurn, true) => stop = Stop::ToolUse,
            (Stop::ToolUse, false) => stop = Stop::EndTurn,
            (
                Stop::EndTurn | Stop::ToolUse | Stop::MaxTokens | Stop::Refusal | Stop::Other(_),
                _,
            ) => {}
        }
        let note = (!dropped.is_empty()).then(|| {
            format!(
                "the answer was cut off inside a call of {}; the call was not run",
                dropped.join(", ")
            )
        });
        Finished { message: Message { role: Role::Assistant, parts }, stop, usage, note }
    }

    fn text(&mut self, more: &str) {
        self.thought_open = false;
        match self.parts.last_mut() {
            Some(Part::Text { text }) => text.push_str(more),
            _ => self.parts.push(Part::Text { text: more.to_owned() }),
        }
    }

    fn thought(&mut self, more: &str) {
        match self.parts.last_mut() {
            Some(Part::Thought { text, .. }) if self.thought_open => text.push_str(more),
            _ => self.parts.push(Part::Thought {
                text: more.to_owned(),
                signature: None,
                opaque: None,
            }),
        }
        self.thought_open = true;
    }

    fn call(&mut self, index: usize, id: &mut String, name: &str) {
        self.thought_open = false;
        if id.is_empty() || self.ids.contains(id.as_str()) {
            *id = format!("call_{}", &uuid::Uuid::new_v4().simple().to_string()[..24]);
        }
        self.ids.insert(id.clone());
        self.calls.insert(index, Call { place: self.parts.len(), ended: false });
        self.parts.push(Part::ToolCall {
            id: id.clone(),
            name: name.to_owned(),
            arguments: String::new(),
        });
    }
}

fn is_broken(parts: &[Part], place: usize) -> bool {
    match parts.get(place) {
        Some(Part::ToolCall { arguments, .. }) => {
            !arguments.is_empty()
                && serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_err()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;

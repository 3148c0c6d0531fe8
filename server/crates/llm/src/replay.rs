//! Plays a recorded conversation: the provider of the demo and of deterministic tests. No network.
//!
//! The recording is JSON: `{"steps": [step, …], "aside": "text"}`, or the list of steps alone. Each request that offers
//! tools takes the next step; one without tools (a title, a summary) takes none and is answered with `aside`. A step:
//!
//! - `text`, `thought`: what the model says and shows of its reasoning; optional strings
//! - `calls`: `[{"name": "Read", "input": {…}}]`; `input` may be a string, sent as it is, to record broken arguments
//! - `pace`: characters per second; absent = at once
//! - `expect`: a text that must occur in the request (system text, messages, calls, results), so that a recording says
//!   when reality has gone another way; the step is kept for the next request then
//!
//! Unknown fields are refused, so that a misspelt one is noticed.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream;
use serde::Deserialize;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{
    Error, Event, EventStream, Part, Provider, Request, ResultPart, Settings, Stop, Usage,
};

pub(crate) struct Replay {
    name: String,
    steps: Vec<Arc<Step>>,
    aside: Arc<Step>,
    next: Mutex<usize>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Recording {
    steps: Vec<Step>,
    #[serde(default)]
    aside: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(deny_unknown_fields, default)]
struct Step {
    text: String,
    thought: String,
    calls: Vec<Call>,
    pace: Option<f64>,
    expect: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    #[serde(default)]
    input: Value,
}

impl Replay {
    pub fn new(settings: &Settings) -> Result<Self, Error> {
        let Some(text) = &settings.replay_file else {
            return Err(Error::Malformed(format!(
                "the replay provider {} has no recording to play",
                settings.name
            )));
        };
        let broken = |e: serde_json::Error| {
            Error::Malformed(format!("the recording of {} is broken: {e}", settings.name))
        };
        let recording = if text.trim_start().starts_with('[') {
            Recording { steps: serde_json::from_str(text).map_err(broken)?, aside: None }
        } else {
            serde_json::from_str(text).map_err(broken)?
        };
        let aside = recording.aside.unwrap_or_else(|| "A recorded conversation.".to_owned());
        Ok(Replay {
            name: settings.name.clone(),
            steps: recording.steps.into_iter().map(Arc::new).collect(),
            aside: Arc::new(Step { text: aside, ..Step::default() }),
            next: Mutex::new(0),
        })
    }

    fn take(&self, request: &Request, text: &str) -> Result<Arc<Step>, Error> {
        if request.tools.is_empty() {
            return Ok(self.aside.clone());
        }
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let number = *next + 1;
        let Some(step) = self.steps.get(*next) else {
            let count = self.steps.len();
            return Err(Error::Malformed(format!(
                "the recording has {count} steps, and step {number} was asked for"
            )));
        };
        if let Some(expected) = &step.expect
            && !text.contains(expected.as_str())
        {
            let expected: String = expected.chars().take(200).collect();
            return Err(Error::Malformed(format!(
                "step {number} of the recording expects “{expected}” in the request, and it is not there"
            )));
        }
        *next = number;
        Ok(step.clone())
    }
}

#[async_trait]
impl Provider for Replay {
    async fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> Result<EventStream, Error> {
        let text = text_of(&request);
        let step = self.take(&request, &text)?;
        let pause = step
            .pace
            .filter(|pace| *pace > 0.0)
            .and_then(|pace| Duration::try_from_secs_f64(1.0 / pace).ok());
        let events = events(&step, &text);
        Ok(Box::pin(stream::unfold(
            (events, pause, cancel),
            |(mut events, pause, cancel)| async move {
                let event = events.pop_front()?;
                if let Some(pause) = pause {
                    tokio::select! {
                        () = cancel.cancelled() => {}
                        () = tokio::time::sleep(pause.saturating_mul(length(&event))) => {}
                    }
                }
                if cancel.is_cancelled() {
                    events.clear();
                    return Some((Err(Error::Cancelled), (events, pause, cancel)));
                }
                Some((Ok(event), (events, pause, cancel)))
            },
        )))
    }

    fn name(&self) -> &str {
        &self.name
    }

    async fn models(&self) -> Result<Vec<String>, Error> {
        Ok(vec!["recording".to_owned()])
    }
}

fn events(step: &Step, request: &str) -> VecDeque<Event> {
    let mut events: VecDeque<Event> = pieces(&step.thought).map(Event::Thought).collect();
    if !step.thought.is_empty() {
        events.push_back(Event::ThoughtEnd { signature: None, opaque: None });
    }
    events.extend(pieces(&step.text).map(Event::Text));
    for (index, call) in step.calls.iter().enumerate() {
        events.push_back(Event::CallStart { index, id: String::new(), name: call.name.clone() });
        let input = match &call.input {
            Value::String(text) => text.clone(),
            Value::Null => "{}".to_owned(),
            other => other.to_string(),
        };
        events.extend(pieces(&input).map(|json| Event::CallDelta { index, json }));
        events.push_back(Event::CallEnd { index });
    }
    // No tokens were spent, but displays want a number: about four characters make one.
    let said: u32 = events.iter().map(length).sum();
    events.push_back(Event::Usage(Usage {
        input: request.len() as u64 / 4,
        output: u64::from(said / 4),
        ..Usage::default()
    }));
    events.push_back(Event::Stop(if step.calls.is_empty() {
        Stop::EndTurn
    } else {
        Stop::ToolUse
    }));
    events
}

/// Words with the space that follows; long ones in parts.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    text.split_inclusive(char::is_whitespace).flat_map(|word| {
        let letters: Vec<char> = word.chars().collect();
        letters.chunks(16).map(|part| part.iter().collect()).collect::<Vec<String>>()
    })
}

/// In characters.
fn length(event: &Event) -> u32 {
    let text = match event {
        Event::Text(text) | Event::Thought(text) | Event::CallDelta { json: text, .. } => text,
        Event::ThoughtEnd { .. }
        | Event::CallStart { .. }
        | Event::CallEnd { .. }
        | Event::Usage(_)
        | Event::Notice(_)
        | Event::Stop(_) => return 0,
    };
    u32::try_from(text.chars().count()).unwrap_or(u32::MAX)
}

fn text_of(request: &Request) -> String {
    let mut text = request.system.clone();
    for part in request.messages.iter().flat_map(|message| &message.parts) {
        text.push('\n');
        match part {
            Part::Text { text: more } | Part::Thought { text: more, .. } => text.push_str(more),
            Part::Image { media_type, .. } => text.push_str(media_type),
            Part::ToolCall { name, arguments, .. } => {
                text.push_str(name);
                text.push(' ');
                text.push_str(arguments);
            }
            Part::ToolResult { content, .. } => content.iter().for_each(|part| match part {
                ResultPart::Text { text: more } => text.push_str(more),
                ResultPart::Image { media_type, .. } | ResultPart::Video { media_type, .. } => {
                    text.push_str(media_type);
                }
            }),
        }
    }
    text
}

#[cfg(test)]
mod tests;

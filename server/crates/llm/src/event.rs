//! What a model's answer consists of while it arrives.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One step of an answer. A good stream ends with exactly one `Stop`; a failed one ends with an error instead.
#[derive(Clone, PartialEq, Debug)]
pub enum Event {
    /// More of the visible text.
    Text(String),
    /// More of the reasoning.
    Thought(String),
    /// The reasoning block ended. Without a `Thought` before it, it stands for a hidden block.
    ThoughtEnd { signature: Option<String>, opaque: Option<Value> },
    /// A tool call began. `index` counts the calls of this answer from 0; the id may be empty until an `Assembler` has
    /// seen the event.
    CallStart { index: usize, id: String, name: String },
    /// More of the call's arguments, JSON text cut anywhere.
    CallDelta { index: usize, json: String },
    /// The call is complete.
    CallEnd { index: usize },
    /// Totals of this request so far; a later one replaces an earlier one.
    Usage(Usage),
    /// One line for the transcript, such as "retrying in 2 s (529 overloaded)". Not part of the answer.
    Notice(String),
    /// The answer is complete; nothing but the stream's end follows. In the server's own words: `Finished::stop` is the
    /// one that fits what came.
    Stop(Stop),
}

impl Event {
    /// Whether it carries some of the answer itself, after which a request must not be repeated.
    pub fn is_content(&self) -> bool {
        match self {
            Event::Text(_)
            | Event::Thought(_)
            | Event::ThoughtEnd { .. }
            | Event::CallStart { .. }
            | Event::CallDelta { .. }
            | Event::CallEnd { .. } => true,
            Event::Usage(_) | Event::Notice(_) | Event::Stop(_) => false,
        }
    }
}

/// Why the model stopped.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    EndTurn,
    ToolUse,
    MaxTokens,
    Refusal,
    /// Another reason, in the API's own word.
    Other(String),
}

/// Tokens of one request. The prompt's size is `input + cached_read + cached_write`.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// Prompt tokens neither read from nor written to a cache.
    pub input: u64,
    pub output: u64,
    pub cached_read: u64,
    pub cached_write: u64,
}

//! What is sent to a model, and the history format that sessions persist.
//!
//! The format belongs to no vendor: a conversation begun with one model can go on with another. What only its maker can
//! read (signatures, encrypted reasoning) travels in `Part::Thought` and is sent back to that maker alone.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One question to a model.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Request {
    /// The model's name at its provider, without the provider's prefix.
    pub model: String,
    /// The system text; empty = none.
    pub system: String,
    /// The conversation, oldest first. Order mistakes (unanswered calls, stray results) are mended when it is sent.
    pub messages: Vec<Message>,
    /// The tools on offer, in the order they are sent.
    pub tools: Vec<ToolSpec>,
    /// Output limit in tokens; `None` = the model's own.
    pub max_output: Option<u32>,
    /// How hard to think; `None` = the provider's default.
    pub reasoning: Option<Reasoning>,
    /// Cache key: requests of one session share a prompt cache where the API can use the hint. May be empty.
    pub session: String,
}

/// A tool as the model sees it.
#[derive(Clone, PartialEq, Debug)]
pub struct ToolSpec {
    pub name: String,
    pub description: String,
    /// JSON Schema of the arguments; an object schema.
    pub input_schema: Value,
}

/// How hard a model should think before it answers.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Reasoning {
    Low,
    Medium,
    High,
}

impl Reasoning {
    /// The word the APIs use for it.
    pub fn word(self) -> &'static str {
        match self {
            Reasoning::Low => "low",
            Reasoning::Medium => "medium",
            Reasoning::High => "high",
        }
    }
}

/// Who speaks.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
}

/// One turn of the conversation. Tool results are parts of a user message.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
pub struct Message {
    pub role: Role,
    pub parts: Vec<Part>,
}

impl Message {
    /// A user message of plain text.
    pub fn user(text: impl Into<String>) -> Self {
        Message { role: Role::User, parts: vec![Part::Text { text: text.into() }] }
    }

    /// An assistant message of plain text.
    pub fn assistant(text: impl Into<String>) -> Self {
        Message { role: Role::Assistant, parts: vec![Part::Text { text: text.into() }] }
    }
}

/// A piece of a message.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Part {
    Text {
        text: String,
    },
    /// Reasoning the model showed. `signature` and `opaque` are the vendor's proof of it, returned as they came.
    Thought {
        text: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        signature: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<Value>,
    },
    /// An image; `data` is base64 without line breaks.
    Image {
        media_type: String,
        data: String,
    },
    /// `arguments` is the text the model wrote, which may be no valid JSON.
    ToolCall {
        id: String,
        name: String,
        arguments: String,
    },
    ToolResult {
        id: String,
        name: String,
        content: Vec<ResultPart>,
        is_error: bool,
    },
}

/// A piece of a tool's result.
#[derive(Serialize, Deserialize, Clone, PartialEq, Debug)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ResultPart {
    Text {
        text: String,
    },
    /// `data` is base64 without line breaks.
    Image {
        media_type: String,
        data: String,
    },
    /// As an image; endpoints that take none are told so in its place.
    Video {
        media_type: String,
        data: String,
    },
}

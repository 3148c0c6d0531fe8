//! The one door to models: `connect` gives a [`Provider`] that turns a [`Request`] into a stream of [`Event`]s.
//!
//! Each wire format is one file (`anthropic`, `openai`, `openai_responses`, `gemini`, `replay`); what they share is in
//! `http` (connection, retries, time limits), `sse` (framing) and `history` (the order rules every API asks for).
//! Invariants: nothing is retried once content was delivered; cancelling drops the connection at once; no key or header
//! value reaches a log line, an error or a `Debug` output; whatever a server sends is bounded and never panics.

mod anthropic;
mod assembler;
mod discover;
mod error;
mod event;
mod gemini;
mod history;
mod http;
mod message;
mod models;
mod openai;
mod openai_responses;
mod provider;
mod replay;
mod settings;
mod sse;
mod wire;

pub use assembler::{Assembler, Finished};
pub use discover::{Found, discover, discover_local};
pub use error::Error;
pub use event::{Event, Stop, Usage};
pub use message::{Message, Part, Reasoning, Request, ResultPart, Role, ToolSpec};
pub use models::{Facts, Family, facts};
pub use provider::{EventStream, Provider, connect};
pub use settings::{Protocol, Secret, Settings};
pub use sse::{Sse, TooLong};
pub use tokio_util::sync::CancellationToken;

#[cfg(test)]
mod testing;

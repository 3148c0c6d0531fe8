//! What can go wrong between a request and its answer, in words that tell a person what to do.
//!
//! No variant ever holds a key or a header value: texts that come from a server are cleaned where they are made.

use std::time::Duration;

/// Every text in it is bounded.
#[derive(thiserror::Error, Clone, PartialEq, Debug)]
pub enum Error {
    #[error(
        "no key for {provider}: set {variable}, or `api_key_env` of [providers.{provider}] in the configuration"
    )]
    NoKey { provider: String, variable: String },
    /// The server refused. `kind` is the API's own word and may be empty; `hint` says what to do and may be empty.
    #[error("{code} from {url}: {}", refusal(kind, message, hint))]
    Status {
        code: u16,
        kind: String,
        message: String,
        retry_after: Option<Duration>,
        url: String,
        hint: String,
    },
    /// No connection, or it broke before any content. Holds the whole line.
    #[error("{0}")]
    Network(String),
    #[error("no answer from {url} for {} s while {doing}: the server may be overloaded, or `idle_timeout` too short", after.as_secs())]
    Timeout { url: String, doing: &'static str, after: Duration },
    #[error(
        "the answer broke off before its end: the connection closed; send the prompt again to go on"
    )]
    Cut,
    /// What came is no answer of this API. Holds the whole line, with the beginning of what came.
    #[error("{0}")]
    Malformed(String),
    /// The conversation is too long for the model; a shorter one may pass.
    #[error(
        "the conversation is too long for the model ({message}): compact it, or start a new session"
    )]
    ContextOverflow { message: String },
    #[error("cancelled")]
    Cancelled,
}

fn refusal(kind: &str, message: &str, hint: &str) -> String {
    let said = match (kind.is_empty(), message.is_empty()) {
        (true, true) => "no reason given".to_owned(),
        (true, false) => message.to_owned(),
        (false, true) => kind.to_owned(),
        (false, false) => format!("{message} ({kind})"),
    };
    if hint.is_empty() { said } else { format!("{hint}; {said}") }
}

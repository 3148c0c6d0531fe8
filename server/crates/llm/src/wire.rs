//! What a wire format has to say for itself; the way it is carried is in `http`.

use std::collections::VecDeque;

use serde::Deserialize;
use serde_json::Value;

use crate::{Event, Request};

/// Whether the vendor itself is asked, or a server that speaks its format: those know fewer fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Host {
    Vendor,
    Other,
}

/// One wire format.
pub(crate) trait Wire: Send + Sync + 'static {
    /// What follows the base URL, query included.
    fn path(&self, model: &str) -> String;
    /// What follows the base URL for the list of models.
    fn models_path(&self) -> &'static str;
    /// Endings people put on a base URL although `path` adds them.
    fn surplus(&self) -> &'static [&'static str];
    /// Header name and value that carry the key.
    fn key_header(&self, key: &str) -> (&'static str, String);
    /// Headers sent with every request.
    fn headers(&self) -> &'static [(&'static str, &'static str)];
    fn body(&self, request: &Request, host: Host) -> Value;
    fn decoder(&self) -> Box<dyn Decoder>;
    /// The names in a list of models.
    fn model_names(&self, list: &Value) -> Vec<String>;
}

/// Turns one answer into events. Exactly one `Stop` comes out of a complete one.
pub(crate) trait Decoder: Send {
    /// Takes the data of one server-sent event.
    fn event(&mut self, data: &[u8], out: &mut VecDeque<Event>) -> Result<Progress, Fault>;
    /// Takes an answer that came as one JSON value.
    fn whole(&mut self, body: Value, out: &mut VecDeque<Event>) -> Result<(), Fault>;
    /// The stream ended without a last word. `Done` when what came was complete nevertheless.
    fn end(&mut self, out: &mut VecDeque<Event>) -> Progress;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Progress {
    More,
    Done,
}

/// Why an answer could not be decoded.
#[derive(PartialEq, Debug)]
pub(crate) enum Fault {
    /// Not this API's language.
    Garbage(String),
    /// The server reported an error inside the answer; `code` is the HTTP status that fits it.
    Refused { code: u16, kind: String, message: String },
}

/// Reads one JSON value. Bytes that are no UTF-8 are replaced first.
pub(crate) fn parse<'a, T: Deserialize<'a>>(
    data: &'a [u8],
    spare: &'a mut String,
) -> Result<T, Fault> {
    let text = match std::str::from_utf8(data) {
        Ok(text) => text,
        Err(_) => {
            *spare = String::from_utf8_lossy(data).into_owned();
            spare
        }
    };
    serde_json::from_str(text).map_err(|e| Fault::Garbage(e.to_string()))
}

/// The error a body reports, in any of the shapes servers use; `None` when it reports none.
pub(crate) fn refusal(body: &Value) -> Option<Fault> {
    let body = body.get(0).unwrap_or(body);
    let error = match body.get("error") {
        Some(error) if !error.is_null() => error,
        _ if body["type"] == "error" || body["object"] == "error" => body,
        _ => return None,
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let kind = ["code", "status", "type"]
        .iter()
        .filter_map(|key| text(&error[*key]))
        .find(|kind| {
            kind != "error" && !kind.is_empty() && !kind.bytes().all(|b| b.is_ascii_digit())
        })
        .unwrap_or_default();
    let message = text(&error["message"])
        .or_else(|| text(&body["message"]))
        .or_else(|| text(error))
        .or_else(|| text(&body["detail"]))
        .unwrap_or_else(|| error.to_string());
    let given = ["code", "status", "status_code"].iter().find_map(|key| {
        let value = &error[*key];
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    });
    let class = error["type"].as_str().unwrap_or_default();
    let code = match given.and_then(|code| u16::try_from(code).ok()) {
        Some(code) if (400..600).contains(&code) => code,
        _ => code_of(&kind).or_else(|| code_of(class)).unwrap_or(200),
    };
    Some(Fault::Refused { code, kind, message })
}

/// The HTTP status an error word stands for.
fn code_of(kind: &str) -> Option<u16> {
    Some(match kind {
        "invalid_request_error"
        | "INVALID_ARGUMENT"
        | "context_length_exceeded"
        | "invalid_prompt" => 400,
        "authentication_error" | "UNAUTHENTICATED" | "invalid_api_key" => 401,
        "billing_error" => 402,
        "permission_error" | "PERMISSION_DENIED" => 403,
        "not_found_error" | "NOT_FOUND" => 404,
        "request_too_large" => 413,
        "rate_limit_error"
        | "rate_limit_exceeded"
        | "RESOURCE_EXHAUSTED"
        | "insufficient_quota" => 429,
        "api_error" | "server_error" | "INTERNAL" => 500,
        "UNAVAILABLE" => 503,
        "timeout_error" | "DEADLINE_EXCEEDED" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}

/// A call's id as every API takes it: at most 40 of `[A-Za-z0-9_-]`. Others become a digest, always the same one.
pub(crate) fn wire_id(id: &str) -> String {
    if is_plain(id, 40) { id.to_owned() } else { format!("call_{:016x}", digest(id)) }
}

/// A tool's name as every API takes it; a model may have called something else.
pub(crate) fn wire_name(name: &str) -> String {
    if is_plain(name, 64) {
        return name.to_owned();
    }
    let plain: String = name
        .chars()
        .take(40)
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .collect();
    format!("{plain}_{:016x}", digest(name))
}

/// The arguments as an object, which the APIs insist on; anything else is wrapped so that the model sees what it wrote.
pub(crate) fn wire_arguments(arguments: &str) -> Value {
    if arguments.trim().is_empty() {
        return Value::Object(serde_json::Map::new());
    }
    match serde_json::from_str(arguments) {
        Ok(Value::Object(object)) => Value::Object(object),
        _ => serde_json::json!({ "invalid_arguments": arguments }),
    }
}

fn is_plain(text: &str, longest: usize) -> bool {
    !text.is_empty()
        && text.len() <= longest
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// FNV-1a, because ids must stay the same from request to request and version to version.
fn digest(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests;

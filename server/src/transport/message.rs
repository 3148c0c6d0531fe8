//! Tells what a message body is: call, response, or not a message at all.
//!
//! Invariant: borrows from the body; parameters stay raw bytes until their type is known.

use std::borrow::Cow;

use memchr::memchr;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;
use tower_lsp::jsonrpc::Id;

use super::parse_error;
use crate::outbox::RpcError;

/// One JSON-RPC message.
#[derive(Debug)]
pub enum Message<'a> {
    /// A request, or without an id a notification.
    Call { id: Option<Id>, method: Cow<'a, str>, params: Option<&'a RawValue> },
    /// The client's answer to a request of ours.
    Response { id: i64, result: Result<Value, RpcError> },
    /// An answer to nothing we asked.
    Ignored,
    /// Not a message; the error goes back under the id it seems to have.
    Malformed { id: Id, error: RpcError },
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default, deserialize_with = "present")]
    id: Option<Id>,
    #[serde(borrow, default)]
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(default)]
    error: Option<RpcError>,
}

/// Parses one message.
pub fn parse(body: &[u8]) -> Message<'_> {
    if body.trim_ascii_start().first() == Some(&b'[') {
        let error = invalid_request("batches are not part of LSP; send the messages one by one");
        return Message::Malformed { id: Id::Null, error };
    }
    let envelope: Envelope<'_> = match serde_json::from_slice(body) {
        Ok(envelope) => envelope,
        Err(error) => return malformed(body, &error),
    };
    match envelope {
        Envelope { id, method: Some(method), params, .. } => Message::Call { id, method, params },
        Envelope { id: Some(Id::Number(id)), error: Some(error), .. } => {
            Message::Response { id, result: Err(error) }
        }
        Envelope { id: Some(Id::Number(id)), result: Some(raw), .. } => {
            let result = serde_json::from_str(raw.get());
            Message::Response { id, result: result.map_err(|e| parse_error(&e.to_string())) }
        }
        Envelope { error: Some(_), .. } | Envelope { result: Some(_), .. } => Message::Ignored,
        Envelope { id, .. } => Message::Malformed {
            id: id.unwrap_or(Id::Null),
            error: invalid_request("neither a method nor a result"),
        },
    }
}

/// Replaces every `\uD800`–`\uDFFF` escape that is not part of a pair by `\ufffd`: JavaScript text may
/// hold such halves, JSON parsers refuse them, and a document that cannot be read is lost for good.
/// Lengths in UTF-16 stay the same.
pub fn replace_lone_surrogates(body: &[u8]) -> Cow<'_, [u8]> {
    let mut fixed: Option<Vec<u8>> = None;
    let mut at = 0;
    while let Some(found) = memchr(b'\\', &body[at..]) {
        let escape = at + found;
        let next = |from: usize| code_unit(body.get(from..from + 6)?);
        at = match next(escape) {
            Some(0xD800..0xDC00) if matches!(next(escape + 6), Some(0xDC00..0xE000)) => escape + 12,
            Some(0xD800..0xE000) => {
                let copy = fixed.get_or_insert_with(|| body.to_vec());
                copy[escape + 2..escape + 6].copy_from_slice(b"fffd");
                escape + 6
            }
            Some(_) => escape + 6,
            None => (escape + 2).min(body.len()),
        };
    }
    fixed.map_or(Cow::Borrowed(body), Cow::Owned)
}

/// The code unit of a six-byte `\uXXXX` escape.
fn code_unit(escape: &[u8]) -> Option<u16> {
    let digits = escape.strip_prefix(b"\\u")?;
    let digits = std::str::from_utf8(digits).ok()?;
    u16::from_str_radix(digits, 16).ok()
}

/// Keeps a field that is `null` apart from one that is absent.
fn present<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    T::deserialize(deserializer).map(Some)
}

fn malformed(body: &[u8], error: &serde_json::Error) -> Message<'static> {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => Message::Malformed {
            id: value.get("id").and_then(|id| Id::deserialize(id).ok()).unwrap_or(Id::Null),
            error: invalid_request(&error.to_string()),
        },
        Err(error) => Message::Malformed { id: Id::Null, error: parse_error(&error.to_string()) },
    }
}

fn invalid_request(message: &str) -> RpcError {
    RpcError { code: -32600, message: message.to_owned(), data: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &str, expected: &str) {
        let seen = match parse(body.as_bytes()) {
            Message::Call { id, method, params } => {
                format!("call {id:?} {method} {}", params.map_or("-", RawValue::get))
            }
            Message::Response { id, result: Ok(value) } => format!("response {id} {value}"),
            Message::Response { id, result: Err(error) } => format!("failed {id} {error}"),
            Message::Ignored => "ignored".to_owned(),
            Message::Malformed { id, error } => format!("error {id} {}", error.code),
        };
        assert_eq!(seen, expected);
    }

    #[test]
    fn kinds() {
        check(r#"{"jsonrpc":"2.0","method":"a\u002fb","params":[1]}"#, "call None a/b [1]");
        check(r#"{"id":"x","method":"m","extra":1}"#, r#"call Some(String("x")) m -"#);
        check(r#"{"id":null,"method":"m","params":null}"#, "call Some(Null) m -");
        check(r#"{"id":3,"result":null}"#, "response 3 null");
        check(r#"{"id":3,"result":{"a":1}}"#, r#"response 3 {"a":1}"#);
        check(r#"{"id":3,"error":{"code":-1,"message":"no","more":1}}"#, "failed 3 no (-1)");
        check(r#"{"id":"theirs","result":1}"#, "ignored");
        check(r#"{"id":null,"error":{"code":-1,"message":"no"}}"#, "ignored");
    }

    #[test]
    fn not_messages() {
        check("{", "error null -32700");
        check("", "error null -32700");
        check("7", "error null -32600");
        check("{}", "error null -32600");
        check(r#"{"id":4}"#, "error 4 -32600");
        check(r#"{"id":4,"method":7}"#, "error 4 -32600");
        check(r#"{"id":1.5,"method":"m"}"#, "error null -32600");
        check(r#"{"id":4,"id":5,"method":"m"}"#, "error 5 -32600");
    }

    #[test]
    fn invalid_utf8_is_a_parse_error() {
        let Message::Malformed { id, error } = parse(b"{\"method\":\"m\",\"params\":[\"\xff\"]}")
        else {
            panic!("taken for a message");
        };
        assert_eq!((id, error.code), (Id::Null, -32700));
    }

    #[test]
    fn a_batch_is_no_message() {
        for body in ["[]", " [{}, 7]", "[1,"] {
            let Message::Malformed { id, error } = parse(body.as_bytes()) else {
                panic!("taken for a message");
            };
            assert_eq!((id, error.code), (Id::Null, -32600));
        }
    }

    #[test]
    fn lone_surrogates_become_replacement_characters() {
        let fix = |body: &'static str| {
            String::from_utf8(replace_lone_surrogates(body.as_bytes()).into_owned()).unwrap()
        };
        assert_eq!(fix(r#""\ud83e\udd80""#), r#""\ud83e\udd80""#);
        assert_eq!(fix(r#""\ud83e x""#), r#""\ufffd x""#);
        assert_eq!(fix(r#""\udd80\ud83e""#), r#""\ufffd\ufffd""#);
        assert_eq!(fix(r#""\ud83e\ud83e\udd80""#), r#""\ufffd\ud83e\udd80""#);
        assert_eq!(fix(r#""\\ud83e""#), r#""\\ud83e""#);
        assert_eq!(fix(r#"\"#), r#"\"#);
        assert_eq!(fix(r#""\ud8"#), r#""\ud8"#);
    }
}

//! Turns what goes wrong on the wire into errors a person can act on, and says whether trying again makes sense.

use std::error::Error as _;
use std::time::Duration;

use reqwest::Response;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::Link;
use crate::Error;
use crate::settings::shown;
use crate::wire::{Fault, refusal};

/// The most of a server's words that is shown, in characters.
const EXCERPT: usize = 300;

/// An error, and what a retry would need.
pub(super) struct Failure {
    pub error: Error,
    pub retry: Retry,
    /// A few words for the notice: "529 overloaded".
    pub reason: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Retry {
    Never,
    Soon,
    /// The server named the pause.
    After(Duration),
}

impl Failure {
    pub fn last(error: Error) -> Box<Self> {
        Failure::new(error, Retry::Never, "")
    }

    /// Boxed, because it travels through many results.
    pub fn new(error: Error, retry: Retry, reason: &str) -> Box<Self> {
        Box::new(Failure { error, retry, reason: reason.to_owned() })
    }
}

impl Link {
    /// The request could not be sent, or no answer began.
    pub fn no_connection(&self, url: &str, e: &reqwest::Error) -> Box<Failure> {
        let cause = self.clean(&root(e));
        let (reason, hint) = if e.is_timeout() {
            ("no connection in time", "check `base_url`, the network and the proxy")
        } else if !e.is_connect() {
            ("connection lost", "the server closed the connection; is it healthy?")
        } else if self.loopback {
            ("no connection", "is the model server running?")
        } else {
            ("no connection", "check `base_url`, the network and the proxy")
        };
        let error = Error::Network(format!("cannot reach {}: {hint} ({cause})", shown(url)));
        let retry = if e.is_builder() { Retry::Never } else { Retry::Soon };
        Failure::new(error, retry, reason)
    }

    /// The server answered with a status other than success.
    pub async fn refused(&self, url: &str, response: Response) -> Box<Failure> {
        let code = response.status().as_u16();
        let headers = response.headers().clone();
        let wait = Duration::from_secs(10).min(self.idle_timeout);
        let body =
            tokio::time::timeout(wait, bounded(response, 64 << 10)).await.unwrap_or_default();
        let told = serde_json::from_slice::<Value>(&body).ok().and_then(|body| refusal(&body));
        let (kind, message) = match told {
            Some(Fault::Refused { kind, message, .. }) => (kind, message),
            Some(Fault::Garbage(_)) | None => {
                (String::new(), String::from_utf8_lossy(&body).into_owned())
            }
        };
        let message = match headers.get("location").and_then(|to| to.to_str().ok()) {
            Some(to) if (300..400).contains(&code) => format!("redirected to {}", shown(to)),
            _ => message,
        };
        self.status(url, code, &kind, &message, &headers)
    }

    /// The answer began well, but holds an error or what cannot be understood.
    pub fn fault(&self, url: &str, fault: Fault, came: &[u8]) -> Box<Failure> {
        match fault {
            Fault::Refused { code, kind, message } => {
                self.status(url, code, &kind, &message, &HeaderMap::new())
            }
            Fault::Garbage(what) => Failure::last(self.malformed(url, &what, came)),
        }
    }

    /// `came` is the beginning of what arrived.
    pub fn malformed(&self, url: &str, what: &str, came: &[u8]) -> Error {
        let came = self.clean(&String::from_utf8_lossy(&came[..came.len().min(4 * EXCERPT)]));
        let hint = if came.starts_with('<') {
            "that is a web page, check `base_url`"
        } else {
            &self.clean(what)
        };
        let came = if came.is_empty() { "nothing".to_owned() } else { format!("“{came}”") };
        Error::Malformed(format!(
            "{} did not answer as a model does: {hint}; it sent {came}",
            shown(url)
        ))
    }

    fn status(
        &self,
        url: &str,
        code: u16,
        kind: &str,
        message: &str,
        headers: &HeaderMap,
    ) -> Box<Failure> {
        let (kind, message) = (self.clean(kind), self.clean(message));
        let words = format!("{kind} {message}").to_ascii_lowercase();
        if matches!(code, 200 | 400 | 413 | 422 | 500) && is_overflow(code, &words) {
            return Failure::last(Error::ContextOverflow { message });
        }
        let no_credit = ["insufficient_quota", "credit balance", "billing"]
            .iter()
            .any(|word| words.contains(word));
        let retry_after = retry_after(headers);
        let told_not_to = headers.get("x-should-retry").is_some_and(|value| value == "false");
        let retry = match code {
            408 | 409 | 429 | 500..=599 if !no_credit && !told_not_to => {
                retry_after.map_or(Retry::Soon, Retry::After)
            }
            _ => Retry::Never,
        };
        let word = match code {
            408 => "timed out",
            409 => "conflict",
            429 => "too many requests",
            503 | 529 => "overloaded",
            _ => "server error",
        };
        let hint = if no_credit {
            format!("the account of {} has no credit or quota left", self.name)
        } else {
            self.hint(code).unwrap_or_default()
        };
        let error = Error::Status { code, kind, message, retry_after, url: shown(url), hint };
        Failure::new(error, retry, &format!("{code} {word}"))
    }

    fn hint(&self, code: u16) -> Option<String> {
        Some(match code {
            401 | 403 => match &self.key_source {
                Some(source) if code == 401 => {
                    format!("the key in {source} was refused; put a valid one there")
                }
                Some(source) => format!("the key in {source} may not use this model"),
                None => format!("it wants a key; set one for {}", self.name),
            },
            300..=399 => "set `base_url` to the final address".to_owned(),
            404 | 405 => {
                "no such model or address; check the model's name and `base_url`".to_owned()
            }
            429 => "too many requests; wait, or choose another model".to_owned(),
            500..=599 => "the server is in trouble; try again later".to_owned(),
            _ => return None,
        })
    }

    /// Server text made fit to be shown: secrets struck out, one line, bounded.
    fn clean(&self, text: &str) -> String {
        let mut text = text.to_owned();
        for secret in &self.secrets {
            text = text.replace(secret.as_str(), "***");
        }
        let words = text
            .split(|c: char| c.is_whitespace() || c.is_control())
            .filter(|word| !word.is_empty());
        // Some servers repeat the key with its middle struck out.
        let line: Vec<&str> = words
            .map(|word| {
                let part = self
                    .secrets
                    .iter()
                    .any(|s| s.len() >= 12 && s.is_char_boundary(6) && word.contains(&s[..6]));
                if part { "***" } else { word }
            })
            .collect();
        let line = line.join(" ");
        match line.char_indices().nth(EXCERPT) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line,
        }
    }
}

/// The innermost cause, which says more than "error sending request".
pub(super) fn root(e: &reqwest::Error) -> String {
    let mut cause = e.source();
    while let Some(next) = cause.and_then(|cause| cause.source()) {
        cause = Some(next);
    }
    cause.map_or_else(|| "no details".to_owned(), ToString::to_string)
}

/// The beginning of a body; whatever came when it broke off.
pub(super) async fn bounded(mut response: Response, limit: usize) -> Vec<u8> {
    let mut body = Vec::new();
    while body.len() < limit {
        match response.chunk().await {
            Ok(Some(chunk)) => {
                body.extend_from_slice(&chunk[..chunk.len().min(limit - body.len())])
            }
            Ok(None) | Err(_) => break,
        }
    }
    body
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let seconds =
        number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// The servers' ways to say that the prompt does not fit.
fn is_overflow(code: u16, words: &str) -> bool {
    const SAID: &[&str] = &[
        "context_length_exceeded",
        "exceed_context_size",
        "prompt is too long",
        "maximum context length",
        "context window",
        "available context size",
        "input token count",
        "too many tokens",
        "input is too long",
        "maximum prompt length",
        "exceed context limit",
        "request_too_large",
    ];
    code == 413 || SAID.iter().any(|said| words.contains(said))
}

//! How to reach one provider: wire format, address, key, headers and time limits.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// The wire format a provider speaks.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    Anthropic,
    Openai,
    OpenaiResponses,
    Gemini,
    Replay,
}

impl Protocol {
    /// The address used when none is set; `None` for `Replay`.
    pub fn default_base_url(self) -> Option<&'static str> {
        match self {
            Protocol::Anthropic => Some("https://api.anthropic.com"),
            Protocol::Openai | Protocol::OpenaiResponses => Some("https://api.openai.com/v1"),
            Protocol::Gemini => Some("https://generativelanguage.googleapis.com"),
            Protocol::Replay => None,
        }
    }

    /// The environment variable its key usually lives in; `None` for `Replay`.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Protocol::Anthropic => Some("ANTHROPIC_API_KEY"),
            Protocol::Openai | Protocol::OpenaiResponses => Some("OPENAI_API_KEY"),
            Protocol::Gemini => Some("GEMINI_API_KEY"),
            Protocol::Replay => None,
        }
    }
}

/// A key or token. It prints as `***` and is never serialised.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Surrounding white space, as left by a pasted line, is dropped.
    pub fn new(value: impl AsRef<str>) -> Self {
        Secret(value.as_ref().trim().to_owned())
    }

    /// The value itself, for the request header only.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// Everything `connect` needs. `Settings::new` gives the defaults of a protocol.
#[derive(Clone)]
pub struct Settings {
    pub protocol: Protocol,
    /// The provider's name in the person's settings; used in messages.
    pub name: String,
    /// The openai formats' end in `/v1`; the others' have no path. `None` = the vendor's.
    pub base_url: Option<String>,
    pub key: Option<Secret>,
    /// Where the key comes from ("ANTHROPIC_API_KEY", "`api_key` of providers.x"), for messages.
    pub key_source: Option<String>,
    /// Added to every request; a name given here replaces our own header of that name.
    pub headers: Vec<(String, String)>,
    /// Proxy URL; never used for loopback addresses. `None` = the system's.
    pub proxy: Option<String>,
    pub connect_timeout: Duration,
    /// The longest silence of a server before or within an answer.
    pub idle_timeout: Duration,
    /// The first pause between tries; it doubles each time.
    pub backoff: Duration,
    /// `Replay` only: the recording's JSON text.
    pub replay_file: Option<String>,
}

impl Settings {
    /// The defaults: the vendor's address, no key, 10 s to connect, 90 s of silence.
    pub fn new(protocol: Protocol) -> Self {
        let name = match protocol {
            Protocol::Anthropic => "anthropic",
            Protocol::Openai | Protocol::OpenaiResponses => "openai",
            Protocol::Gemini => "gemini",
            Protocol::Replay => "replay",
        };
        Settings {
            protocol,
            name: name.to_owned(),
            base_url: None,
            key: None,
            key_source: None,
            headers: Vec::new(),
            proxy: None,
            connect_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_secs(90),
            backoff: Duration::from_millis(500),
            replay_file: None,
        }
    }
}

impl fmt::Debug for Settings {
    /// Header values and the proxy are left out: both may hold credentials.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<&str> = self.headers.iter().map(|(name, _)| name.as_str()).collect();
        f.debug_struct("Settings")
            .field("protocol", &self.protocol)
            .field("name", &self.name)
            .field("base_url", &self.base_url.as_deref().map(shown))
            .field("key", &self.key)
            .field("key_source", &self.key_source)
            .field("headers", &headers)
            .field("proxy", &self.proxy.as_ref().map(|_| "***"))
            .field("connect_timeout", &self.connect_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("backoff", &self.backoff)
            .field("replay_file", &self.replay_file.as_ref().map(String::len))
            .finish()
    }
}

/// A URL as messages show it: without user, password and query, which may hold credentials.
pub(crate) fn shown(url: &str) -> String {
    let url = url.split(['?', '#']).next().unwrap_or_default();
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
            let host = host.rsplit('@').next().unwrap_or_default();
            format!("{scheme}://{host}{path}")
        }
        None => url.to_owned(),
    }
}

//! Carries requests and answers over HTTP: one client per provider, retries, time limits, and errors in plain words.
//!
//! An answer is a state machine polled by its reader, so dropping the stream, or cancelling, drops the connection. A
//! request is repeated only while nothing of an answer was delivered.

mod answer;
mod client;
mod fault;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use tokio_util::sync::CancellationToken;
use url::Url;

use self::client::{Client, is_loopback};
use crate::settings::shown;
use crate::wire::{Host, Wire};
use crate::{Error, EventStream, Provider, Request, Settings};

/// A provider reached over HTTP, in any wire format.
pub(crate) struct HttpProvider {
    link: Arc<Link>,
}

/// What all requests of a provider share.
struct Link {
    client: Client,
    wire: Arc<dyn Wire>,
    name: String,
    /// Without trailing slash; never shown as it is, because it may hold credentials.
    base: String,
    /// Query part of the base URL.
    query: Option<String>,
    host: Host,
    loopback: bool,
    headers: HeaderMap,
    /// Key and header values, to be struck out of whatever a server says.
    secrets: Vec<String>,
    /// Where the key comes from; `None` without one.
    key_source: Option<String>,
    idle_timeout: Duration,
    backoff: Duration,
}

impl HttpProvider {
    pub fn new(settings: Settings, wire: Arc<dyn Wire>) -> Result<Self, Error> {
        let vendor = settings.protocol.default_base_url().unwrap_or_default();
        let given = settings
            .base_url
            .as_deref()
            .map(str::trim)
            .filter(|url| !url.is_empty())
            .unwrap_or(vendor);
        let url = base_url(given, &settings.name)?;
        let vendors = Url::parse(vendor).is_ok_and(|vendor| vendor.host_str() == url.host_str());
        let host = if vendors { Host::Vendor } else { Host::Other };
        let loopback = is_loopback(&url);
        let (headers, secrets) = headers(&settings, &*wire)?;
        let variable = settings.protocol.key_variable().unwrap_or_default();
        let key = settings.key.as_ref().filter(|key| !key.expose().is_empty());
        let authorised =
            headers.contains_key(wire.key_header("").0) || headers.contains_key("authorization");
        if host == Host::Vendor && !authorised {
            return Err(Error::NoKey { provider: settings.name, variable: variable.to_owned() });
        }
        let key_source =
            key.map(|_| settings.key_source.clone().unwrap_or_else(|| variable.to_owned()));

        let client = Client::new(&settings, &url)?;
        let mut base = url.clone();
        base.set_query(None);
        base.set_fragment(None);
        let mut base = base.as_str().trim_end_matches('/').to_owned();
        for ending in wire.surplus() {
            if let Some(shorter) = base.strip_suffix(ending) {
                base = shorter.trim_end_matches('/').to_owned();
            }
        }
        Ok(HttpProvider {
            link: Arc::new(Link {
                client,
                wire,
                name: settings.name,
                base,
                query: url.query().map(str::to_owned),
                host,
                loopback,
                headers,
                secrets,
                key_source,
                idle_timeout: settings.idle_timeout,
                backoff: settings.backoff,
            }),
        })
    }
}

#[async_trait]
impl Provider for HttpProvider {
    async fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> Result<EventStream, Error> {
        let body = self.link.wire.body(&request, self.link.host);
        let body = serde_json::to_vec(&body)
            .map_err(|e| Error::Malformed(format!("the request cannot be written as JSON: {e}")))?;
        let url = self.link.url(&self.link.wire.path(&request.model));
        Ok(answer::stream(self.link.clone(), url, Bytes::from(body), cancel))
    }

    fn name(&self) -> &str {
        &self.link.name
    }

    async fn models(&self) -> Result<Vec<String>, Error> {
        let limit = Duration::from_secs(10).min(self.link.idle_timeout);
        let url = self.link.url(self.link.wire.models_path());
        tokio::time::timeout(limit, self.list(&url)).await.unwrap_or_else(|_| {
            Err(Error::Timeout { url: shown(&url), doing: "listing its models", after: limit })
        })
    }
}

impl HttpProvider {
    async fn list(&self, url: &str) -> Result<Vec<String>, Error> {
        let request = self.link.client.get()?.get(url).headers(self.link.headers.clone());
        let response = request.send().await.map_err(|e| self.link.no_connection(url, &e).error)?;
        if !response.status().is_success() {
            return Err(self.link.refused(url, response).await.error);
        }
        let body = fault::bounded(response, 4 << 20).await;
        let list = serde_json::from_slice(&body)
            .map_err(|_| self.link.malformed(url, "a list of models was expected", &body))?;
        Ok(self.link.wire.model_names(&list))
    }
}

impl Link {
    /// Joins base, path and the queries of both.
    fn url(&self, path: &str) -> String {
        let (path, own) =
            path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let queries: Vec<&str> = own.into_iter().chain(self.query.as_deref()).collect();
        let mark = if queries.is_empty() { "" } else { "?" };
        format!("{}{path}{mark}{}", self.base, queries.join("&"))
    }
}

fn base_url(text: &str, provider: &str) -> Result<Url, Error> {
    let wrong = || {
        let example = "https://host/v1 or http://127.0.0.1:8080/v1";
        Error::Network(format!(
            "`base_url` of {provider} is not a web address; it should look like {example}"
        ))
    };
    let url = Url::parse(text).map_err(|_| wrong())?;
    if matches!(url.scheme(), "http" | "https") && url.has_host() { Ok(url) } else { Err(wrong()) }
}

/// All headers of a request, and the values that must not be shown.
fn headers(settings: &Settings, wire: &dyn Wire) -> Result<(HeaderMap, Vec<String>), Error> {
    let mut headers = HeaderMap::new();
    let mut secrets = Vec::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("accept", HeaderValue::from_static("text/event-stream, application/json"));
    for &(name, value) in wire.headers() {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if let Some(key) =
        settings.key.as_ref().map(crate::Secret::expose).filter(|key| !key.is_empty())
    {
        let (name, value) = wire.key_header(key);
        let mut value = HeaderValue::try_from(value).map_err(|_| {
            Error::Network(format!("the key of {} holds characters no key has", settings.name))
        })?;
        value.set_sensitive(true);
        headers.insert(name, value);
        secrets.push(key.to_owned());
    }
    for (name, value) in &settings.headers {
        let parsed =
            HeaderName::try_from(name.as_str()).ok().zip(HeaderValue::try_from(value.trim()).ok());
        let Some((parsed, mut wanted)) = parsed else {
            return Err(Error::Network(format!(
                "the header {name:?} of {} cannot be sent as it is",
                settings.name
            )));
        };
        wanted.set_sensitive(true);
        headers.insert(parsed, wanted);
        secrets.push(value.trim().to_owned());
        // "Bearer x": a server may repeat the x alone.
        secrets.extend(value.split_whitespace().skip(1).map(str::to_owned));
    }
    secrets.retain(|secret| secret.len() >= 4);
    secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    Ok((headers, secrets))
}

#[cfg(test)]
mod tests;

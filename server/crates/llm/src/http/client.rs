//! The connection pool of a provider, made when it is first needed: reading the system's certificates takes longer than
//! the whole start of the server may.

use std::sync::OnceLock;
use std::time::Duration;

use url::{Host, Url};

use super::fault::root;
use crate::{Error, Settings};

pub(super) struct Client {
    built: OnceLock<reqwest::Client>,
    proxy: Proxy,
    certificates: Certificates,
    connect_timeout: Duration,
}

enum Proxy {
    /// Loopback addresses are never asked for through one.
    None,
    System,
    Given(Box<reqwest::Proxy>),
}

enum Certificates {
    /// Plain HTTP.
    None,
    System,
}

impl Client {
    pub fn new(settings: &Settings, url: &Url) -> Result<Self, Error> {
        let proxy = match &settings.proxy {
            _ if is_loopback(url) => Proxy::None,
            None => Proxy::System,
            Some(proxy) => {
                Proxy::Given(Box::new(reqwest::Proxy::all(proxy.as_str()).map_err(|_| {
                    Error::Network(format!(
                        "`proxy` of {} is not a URL such as http://host:3128",
                        settings.name
                    ))
                })?))
            }
        };
        // A proxy may want TLS although the server does not.
        let certificates = match (url.scheme(), &proxy) {
            ("http", Proxy::None) => Certificates::None,
            _ => Certificates::System,
        };
        Ok(Client {
            built: OnceLock::new(),
            proxy,
            certificates,
            connect_timeout: settings.connect_timeout,
        })
    }

    pub fn get(&self) -> Result<&reqwest::Client, Error> {
        if let Some(client) = self.built.get() {
            return Ok(client);
        }
        let mut client = reqwest::Client::builder()
            .http1_only() // one connection per answer: closing it is the hang-up the server sees
            .redirect(reqwest::redirect::Policy::none()) // a key must not follow one
            .connect_timeout(self.connect_timeout)
            .pool_idle_timeout(Duration::from_secs(60))
            .user_agent(concat!("copydesk/", env!("CARGO_PKG_VERSION")));
        client = match &self.proxy {
            Proxy::None => client.no_proxy(),
            Proxy::System => client,
            Proxy::Given(proxy) => client.proxy(proxy.as_ref().clone()),
        };
        client = match self.certificates {
            Certificates::None => client.tls_certs_only([]),
            Certificates::System => client,
        };
        let client = client
            .build()
            .map_err(|e| Error::Network(format!("cannot prepare TLS: {}", root(&e))))?;
        Ok(self.built.get_or_init(|| client))
    }
}

/// Whether the address is on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => ip.is_loopback() || ip.is_unspecified(),
        Some(Host::Ipv6(ip)) => ip.is_loopback() || ip.is_unspecified(),
        None => false,
    }
}

//! When a server or watcher may be used: it listens, it answers, or it said so.
//!
//! Ready means that everything asked for holds at once while the process lives. A port counts only
//! when the process itself, or one it started, has it open.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;
use url::{Host, Url};

use crate::command::{JobId, Status};
use crate::jobs::Jobs;
use crate::ports::{Listener, PortOwner, listener};
use crate::run::Run;
use crate::supervisor::Exit;

/// Between two looks.
const AGAIN: Duration = Duration::from_millis(100);
/// How long someone else may hold the port before ours is given up.
const FOREIGN: Duration = Duration::from_secs(2);
/// How long one answer to a request may take.
const ANSWER: Duration = Duration::from_secs(2);

/// What has to hold. Nothing: the process has to live through the time given.
#[derive(Debug, Clone, Default)]
pub struct Wanted {
    /// It listens on this TCP port.
    pub port: Option<u16>,
    /// It answers here with a status below 400.
    pub url: Option<LocalUrl>,
    /// It printed the line of [`crate::Command::watch_for`].
    pub line: bool,
}

/// What came of waiting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// Everything holds; the line that said so, where one was asked for.
    Ready {
        line: Option<String>,
    },
    /// Nothing was asked for and it still runs.
    Running,
    /// It ended before.
    Ended {
        status: Status,
        exit: Option<Exit>,
    },
    /// Someone else listens on the port.
    Foreign {
        port: u16,
        owner: Option<PortOwner>,
    },
    /// What did not come in time, in words.
    TimedOut {
        missing: Vec<String>,
    },
    NotFound,
}

/// An `http://` address of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalUrl {
    addresses: Vec<SocketAddr>,
    host: String,
    path: String,
}

impl LocalUrl {
    /// Reads an address; the error says what to give instead.
    pub fn parse(text: &str) -> Result<LocalUrl, String> {
        let url = Url::parse(text.trim()).map_err(|err| format!("`{text}` is no URL: {err}"))?;
        if url.scheme() != "http" {
            return Err(format!("`{text}` is not http://; use a port or a log pattern instead"));
        }
        let port = url.port().unwrap_or(80);
        let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let hosts = match url.host() {
            Some(Host::Domain(name)) if name == "localhost" || name.ends_with(".localhost") => {
                loopback.to_vec()
            }
            Some(Host::Ipv4(address)) if address.is_unspecified() => loopback.to_vec(),
            Some(Host::Ipv6(address)) if address.is_unspecified() => loopback.to_vec(),
            Some(Host::Ipv4(address)) if address.is_loopback() => vec![address.into()],
            Some(Host::Ipv6(address)) if address.is_loopback() => vec![address.into()],
            Some(Host::Domain(_) | Host::Ipv4(_) | Host::Ipv6(_)) | None => {
                return Err(format!("`{text}` is not on this machine; use localhost"));
            }
        };
        let path = match url.query() {
            Some(query) => format!("{}?{query}", url.path()),
            None => url.path().to_owned(),
        };
        let host = match (url.host_str(), url.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (host, _) => host.unwrap_or_default().to_owned(),
        };
        let addresses = hosts.into_iter().map(|host| SocketAddr::new(host, port)).collect();
        Ok(LocalUrl { addresses, host, path })
    }

    /// The TCP port.
    pub fn port(&self) -> u16 {
        self.addresses.first().map_or(80, SocketAddr::port)
    }

    /// The status of an answer to a GET, or why there is none.
    async fn status(&self) -> Result<u16, String> {
        let mut reason = "nothing answers".to_owned();
        for address in &self.addresses {
            match tokio::time::timeout(ANSWER, self.ask(*address)).await {
                Ok(Ok(status)) => return Ok(status),
                Ok(Err(error)) => reason = error.to_string(),
                Err(_) => reason = format!("no answer within {} s", ANSWER.as_secs()),
            }
        }
        Err(reason)
    }

    async fn ask(&self, address: SocketAddr) -> std::io::Result<u16> {
        let mut stream = TcpStream::connect(address).await?;
        let request = format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: copydesk\r\nAccept: */*\r\nConnection: close\r\n\r\n",
            self.path, self.host
        );
        stream.write_all(request.as_bytes()).await?;
        let mut head = Vec::new();
        let mut limited = stream.take(1024);
        while !head.contains(&b'\n') {
            if limited.read_buf(&mut head).await? == 0 {
                break;
            }
        }
        status_of(&head).ok_or_else(|| std::io::Error::other("what answers is no HTTP server"))
    }
}

/// The status of an answer's first line.
fn status_of(head: &[u8]) -> Option<u16> {
    let line = head.split(|byte| *byte == b'\n').next()?;
    let rest = std::str::from_utf8(line).ok()?.strip_prefix("HTTP/")?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

impl Jobs {
    /// Waits until a job is ready, has ended, or its time is up.
    pub async fn ready(&self, job: &JobId, wanted: &Wanted, within: Duration) -> Readiness {
        let Some(run) = self.find(job) else { return Readiness::NotFound };
        let until = Instant::now() + within;
        let mut foreign_since = None;
        loop {
            let ended = run.state(|state| {
                let ended = state.ending.finished.is_some();
                ended.then(|| (state.status(), state.ending.exit.clone()))
            });
            if let Some((status, exit)) = ended {
                return Readiness::Ended { status, exit };
            }
            let look = Look::at(&run, wanted).await;
            if look.missing.is_empty() && !wanted.is_empty() {
                return Readiness::Ready { line: look.line };
            }
            match look.foreign {
                Some((port, owner)) => {
                    let since = *foreign_since.get_or_insert_with(Instant::now);
                    if FOREIGN <= since.elapsed() {
                        return Readiness::Foreign { port, owner };
                    }
                }
                None => foreign_since = None,
            }
            if until <= Instant::now() {
                return match wanted.is_empty() {
                    true => Readiness::Running,
                    false => Readiness::TimedOut { missing: look.missing },
                };
            }
            let next = (Instant::now() + AGAIN).min(until);
            let end = run.until(|state| state.ending.finished.is_some());
            // Nothing tells of a socket that begins to listen, so it is looked for again.
            let _ = tokio::time::timeout_at(next, end).await;
        }
    }
}

impl Wanted {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.port.is_none() && self.url.is_none() && !self.line
    }
}

/// What holds now.
#[derive(Default)]
struct Look {
    missing: Vec<String>,
    line: Option<String>,
    foreign: Option<(u16, Option<PortOwner>)>,
}

impl Look {
    async fn at(run: &Run, wanted: &Wanted) -> Look {
        let mut look = Look::default();
        if wanted.line {
            look.line = run.state(|state| state.watch.as_ref()?.found().map(str::to_owned));
            if look.line.is_none() {
                look.missing.push("no line matched the log pattern".to_owned());
            }
        }
        if let Some(port) = wanted.port {
            look.listens(run, port).await;
        }
        if let Some(url) = &wanted.url
            && look.listens(run, url.port()).await
        {
            match url.status().await {
                Ok(status) if status < 400 => {}
                Ok(status) => look.missing.push(format!("the URL answers with status {status}")),
                Err(reason) => look.missing.push(format!("the URL does not answer: {reason}")),
            }
        }
        look
    }

    async fn listens(&mut self, run: &Run, port: u16) -> bool {
        let leader = run.pid;
        let listener = tokio::task::spawn_blocking(move || listener(port, Some(leader))).await;
        let listens = match listener.unwrap_or(Listener::Unknown) {
            Listener::Family => true,
            Listener::Nobody => false,
            Listener::Unknown => connects(port).await,
            Listener::Other(owner) => {
                self.foreign = Some((port, owner));
                false
            }
        };
        if !listens {
            self.missing.push(format!("it does not listen on port {port}"));
        }
        listens
    }
}

/// Where the system does not tell who listens, that someone does has to do.
async fn connects(port: u16) -> bool {
    let connect = TcpStream::connect((Ipv4Addr::LOCALHOST, port));
    tokio::time::timeout(ANSWER, connect).await.is_ok_and(|it| it.is_ok())
}

#[cfg(test)]
mod tests {
    use super::{LocalUrl, status_of};

    #[track_caller]
    fn check(text: &str, expected: Result<(&str, u16, &str), &str>) {
        let url = LocalUrl::parse(text);
        match (&url, expected) {
            (Ok(url), Ok(expected)) => {
                assert_eq!((url.host.as_str(), url.port(), url.path.as_str()), expected);
            }
            (Err(error), Err(expected)) => assert!(error.contains(expected), "{error}"),
            (_, _) => panic!("{text}: {url:?}"),
        }
    }

    #[test]
    fn only_plain_addresses_of_this_machine_are_asked() {
        check("http://localhost:3000", Ok(("localhost:3000", 3000, "/")));
        check("http://127.0.0.1/a?b=c#d", Ok(("127.0.0.1", 80, "/a?b=c")));
        check("http://[::1]:8080/x", Ok(("[::1]:8080", 8080, "/x")));
        check("http://0.0.0.0:9", Ok(("0.0.0.0:9", 9, "/")));
        check("http://app.localhost:1", Ok(("app.localhost:1", 1, "/")));
        check("https://localhost", Err("not http://"));
        check("http://example.com/", Err("not on this machine"));
        check("http://169.254.169.254/", Err("not on this machine"));
        check("http://2130706433/", Ok(("127.0.0.1", 80, "/")));
        check("localhost:3000", Err("not http://"));
        check("", Err("no URL"));
    }

    #[test]
    fn statuses_are_read_from_first_lines() {
        assert_eq!(status_of(b"HTTP/1.1 204 No Content\r\n"), Some(204));
        assert_eq!(status_of(b"HTTP/1.0 503\r\nA: b"), Some(503));
        assert_eq!(status_of(b"SSH-2.0-OpenSSH\r\n"), None);
        assert_eq!(status_of(b"\xff\xfe"), None);
        assert_eq!(status_of(b""), None);
    }
}

//! Everything that leaves for the client: responses, notifications and our own requests.
//!
//! Invariant: frames leave in the order they were handed in, through one queue and one writer, and
//! none is interleaved. A request needs no barrier: it stands behind whatever was queued before it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::future::Future;
use std::io::{BufWriter, Write};
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::task::{Context, Poll};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tower_lsp::jsonrpc;

/// Room for one write: small frames produced together leave together.
const WRITE_BUFFER: usize = 64 * 1024;

/// Bytes of an error message at most, and those of its end.
const MAX_MESSAGE: usize = 2_000;
const KEPT_END: usize = 400;

/// The queue to the client. Cloning shares it.
#[derive(Clone)]
pub struct Outbox {
    queue: mpsc::Sender<Outgoing>,
    pending: Arc<Mutex<Waiting>>,
    next_id: Arc<AtomicI64>,
}

/// Who waits for which answer, by the id of the request.
type Waiting = HashMap<i64, oneshot::Sender<Result<Value, RpcError>>>;

/// A JSON-RPC error, ours or the client's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message} ({code})")]
pub struct RpcError {
    /// JSON-RPC or LSP error code.
    pub code: i64,
    /// One sentence for the person.
    pub message: String,
    /// `{kind}` for our own errors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<Value>,
}

/// An answer from the client that is still to come. Dropping it cancels the request there.
#[must_use = "dropping it cancels the request"]
pub struct Pending {
    id: i64,
    answer: oneshot::Receiver<Result<Value, RpcError>>,
    outbox: Outbox,
}

enum Outgoing {
    Frame(Vec<u8>),
    /// Everything before it has been written and flushed when the receiver hears of it.
    Close(mpsc::Sender<()>),
}

impl Outbox {
    /// Starts the writer on a thread of its own.
    pub fn start(writer: impl Write + Send + 'static) -> std::io::Result<Outbox> {
        let (queue, frames) = mpsc::channel();
        std::thread::Builder::new()
            .name("outbox".into())
            .spawn(move || write_frames(BufWriter::with_capacity(WRITE_BUFFER, writer), &frames))?;
        Ok(Outbox { queue, pending: Arc::default(), next_id: Arc::new(AtomicI64::new(1)) })
    }

    /// Sends a notification. Callers keep one below 64 KB.
    pub fn notify(&self, method: &str, params: impl Serialize) {
        self.send(&Message { jsonrpc: "2.0", id: None, method, params });
    }

    /// Sends a request at once; the answer is what the returned future gives.
    pub fn request(&self, method: &str, params: impl Serialize) -> Pending {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        self.table().insert(id, sender);
        self.send(&Message { jsonrpc: "2.0", id: Some(id), method, params });
        Pending { id, answer, outbox: self.clone() }
    }

    /// Sends a response. An error says no more of what came in than a person reads.
    pub fn respond(&self, response: jsonrpc::Response) {
        let (id, result) = response.into_parts();
        let result = result.map_err(brief_error);
        self.send(&jsonrpc::Response::from_parts(id, result));
    }

    /// Sends an error that belongs to no request we could make out.
    pub fn respond_malformed(&self, error: RpcError) {
        self.respond(jsonrpc::Response::from_error(jsonrpc::Id::Null, error.into()));
    }

    /// Hands the client's response to whoever waits for it; one nobody waits for is dropped.
    pub fn answer(&self, id: i64, result: Result<Value, RpcError>) {
        match self.table().remove(&id) {
            Some(waiting) => drop(waiting.send(result)),
            None => tracing::debug!(id, "an answer nobody waits for"),
        }
    }

    /// Ends every request of ours that is still open: there is nobody left to answer.
    pub fn disconnect(&self) {
        self.table().clear();
    }

    /// Waits until everything queued so far is written, or for `patience` when the client does
    /// not read.
    pub fn close(&self, patience: Duration) {
        let (done, closed) = mpsc::channel();
        if self.queue.send(Outgoing::Close(done)).is_ok() && closed.recv_timeout(patience).is_err()
        {
            tracing::warn!("the client stopped reading; some messages were not delivered");
        }
    }

    fn send(&self, message: &impl Serialize) {
        match frame(message) {
            // The writer ends only after the connection has.
            Ok(frame) => drop(self.queue.send(Outgoing::Frame(frame))),
            Err(error) => tracing::error!(%error, "a message could not be written as JSON"),
        }
    }

    fn table(&self) -> MutexGuard<'_, Waiting> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A message that may hold what somebody sent, cut in its middle to what a person reads.
pub fn brief(message: &str) -> Cow<'_, str> {
    if message.len() <= MAX_MESSAGE {
        return message.into();
    }
    // What was wrong stands at the ends.
    let head = message.floor_char_boundary(MAX_MESSAGE - KEPT_END);
    let tail = message.ceil_char_boundary(message.len() - KEPT_END);
    let omitted = tail - head;
    format!("{}… ({omitted} bytes left out) …{}", &message[..head], &message[tail..]).into()
}

fn brief_error(error: jsonrpc::Error) -> jsonrpc::Error {
    let data = error.data.map(|data| match data {
        Value::String(text) => brief(&text).into(),
        other => match other.to_string() {
            long if long.len() > MAX_MESSAGE => brief(&long).into(),
            _ => other,
        },
    });
    jsonrpc::Error { code: error.code, message: brief(&error.message).into_owned().into(), data }
}

impl RpcError {
    /// Whether it is one of our own errors of this kind.
    pub fn is_kind(&self, kind: &str) -> bool {
        self.data.as_ref().is_some_and(|it| it["kind"] == kind)
    }

    /// The request was malformed; `message` names the field.
    pub fn invalid_params(message: impl Into<String>) -> RpcError {
        RpcError { code: -32602, message: message.into(), data: Some(json!({"kind": "invalid"})) }
    }

    /// The request could not be carried out; `kind` is one of the error kinds of the protocol.
    pub fn failed(kind: &str, message: impl Into<String>) -> RpcError {
        RpcError { code: -32803, message: message.into(), data: Some(json!({"kind": kind})) }
    }

    /// The connection ended before the answer came.
    pub fn disconnected() -> RpcError {
        RpcError { code: -32803, message: "the client has gone".into(), data: None }
    }
}

impl From<RpcError> for jsonrpc::Error {
    fn from(error: RpcError) -> jsonrpc::Error {
        jsonrpc::Error {
            code: jsonrpc::ErrorCode::from(error.code),
            message: error.message.into(),
            data: error.data,
        }
    }
}

impl Future for Pending {
    type Output = Result<Value, RpcError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.answer)
            .poll(cx)
            .map(|answer| answer.unwrap_or_else(|_| Err(RpcError::disconnected())))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        let unanswered = self.outbox.table().remove(&self.id).is_some();
        if unanswered {
            self.outbox.notify("$/cancelRequest", json!({"id": self.id}));
        }
    }
}

#[derive(Serialize)]
struct Message<'a, P> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<i64>,
    method: &'a str,
    params: P,
}

fn frame(message: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    let mut body = Vec::with_capacity(512);
    serde_json::to_writer(&mut body, message)?;
    let mut frame = format!("Content-Length: {}\r\n\r\n", body.len()).into_bytes();
    frame.append(&mut body);
    Ok(frame)
}

/// Writes until the connection is closed on purpose. A broken pipe ends writing, not the server:
/// the reader sees the end of its input by itself.
fn write_frames(mut writer: impl Write, frames: &mpsc::Receiver<Outgoing>) {
    let mut broken = false;
    while let Ok(first) = frames.recv() {
        let mut next = Some(first);
        let mut waiting = Vec::new();
        let mut written = Ok(());
        while let Some(message) = next {
            match message {
                Outgoing::Frame(_) if broken => {}
                Outgoing::Frame(frame) => written = written.and_then(|()| writer.write_all(&frame)),
                Outgoing::Close(done) => waiting.push(done),
            }
            next = frames.try_recv().ok();
        }
        if let Err(error) = written.and_then(|()| writer.flush())
            && !broken
        {
            broken = true;
            tracing::info!(%error, "the client stopped listening");
        }
        for done in waiting {
            // Who closes may have run out of patience.
            let _ = done.send(());
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;

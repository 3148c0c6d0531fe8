//! Our side of the connection: reads frames, calls the service, answers through the outbox.
//!
//! Invariant: each message is handled up to its handler's first await, in arrival order, before the
//! next one is read; what is still pending then never holds up reading. Nothing but `exit` and the
//! end of the input ends the loop. It runs on a thread of its own, so a busy runtime cannot delay
//! the person's typing.

use std::future::Future;
use std::io::BufRead;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use serde_json::Value;
use serde_json::value::RawValue;
use tower::Service;
use tower_lsp::jsonrpc::{self, Id, Request, Response};
use tower_lsp::{LanguageServer, LspService};

use self::frames::{Frame, Frames};
use self::message::Message;
use crate::outbox::{Outbox, RpcError, brief};

mod frames;
mod message;

/// A notification that is typed straight from its bytes instead of going through the router:
/// document changes come by the hundred thousand. It does all its work before it returns.
pub type Direct<S> = (&'static str, fn(&S, &RawValue) -> serde_json::Result<()>);

/// The loop over one connection.
pub struct Transport<S: 'static> {
    /// Handlers by method.
    pub service: LspService<S>,
    /// Notifications that skip the router.
    pub direct: &'static [Direct<S>],
    /// Completes the answer to `initialize` with what the router's types do not know.
    pub complete_initialize: fn(&mut Value),
    /// Where answers go.
    pub outbox: Outbox,
    /// Where handlers that are not done at once go on.
    pub runtime: tokio::runtime::Handle,
}

/// How the connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// `exit` after `shutdown`.
    Orderly,
    /// `exit` without `shutdown`, or the client has gone.
    Abrupt,
}

enum Flow {
    Continue,
    Exit,
}

impl<S: LanguageServer> Transport<S> {
    /// Serves until the client leaves; gives the service back. Blocks the thread.
    pub fn run(mut self, input: impl BufRead) -> (End, LspService<S>) {
        let end = self.read_all(input);
        (end, self.service)
    }

    fn read_all(&mut self, input: impl BufRead) -> End {
        let runtime = self.runtime.clone();
        let _guard = runtime.enter();
        let mut shut_down = false;
        let mut frames = Frames::new(input);
        loop {
            let body = match frames.next() {
                Ok(Frame::Body(body)) => body,
                Ok(Frame::Fault(reason)) => {
                    self.outbox.respond_malformed(parse_error(reason));
                    continue;
                }
                Ok(Frame::End) => return End::Abrupt,
                Err(error) => {
                    tracing::info!(%error, "the client's input broke");
                    return End::Abrupt;
                }
            };
            match self.body(body, &mut shut_down) {
                Flow::Continue => {}
                Flow::Exit if shut_down => return End::Orderly,
                Flow::Exit => return End::Abrupt,
            }
        }
    }

    fn body(&mut self, body: &[u8], shut_down: &mut bool) -> Flow {
        let body = message::replace_lone_surrogates(body);
        match message::parse(&body) {
            Message::Response { id, result } => self.outbox.answer(id, result),
            Message::Call { id, method, params } => {
                let exit = id.is_none() && method == "exit";
                *shut_down |= id.is_some() && method == "shutdown";
                self.call(id, &method, params);
                if exit {
                    return Flow::Exit;
                }
            }
            Message::Ignored => {}
            Message::Malformed { id, error } => {
                self.outbox.respond(Response::from_error(id, error.into()));
            }
        }
        Flow::Continue
    }

    fn call(&mut self, id: Option<Id>, method: &str, params: Option<&RawValue>) {
        if id.is_none()
            && let Some((_, handle)) = self.direct.iter().find(|(name, _)| *name == method)
        {
            let backend = AssertUnwindSafe(self.service.inner());
            let params = params.unwrap_or(RawValue::NULL);
            match catch_unwind(|| handle(&backend, params)) {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    let error = error.to_string();
                    tracing::warn!(method, error = %brief(&error), "malformed notification");
                }
                Err(_) => tracing::error!(method, "the handler panicked"),
            }
            return;
        }
        let request = match request(id.clone(), method, params) {
            Ok(request) => request,
            Err(error) => return respond(&self.outbox, id, Err(error)),
        };
        // A handler that panics must not take the connection with it.
        let Ok(future) = catch_unwind(AssertUnwindSafe(|| self.service.call(request))) else {
            return respond(&self.outbox, id, Err(panicked(method)));
        };
        let mut future = AssertUnwindSafe(future).catch_unwind();
        let method = method.to_owned();
        // The noop waker is enough: whatever is not ready is polled again by the runtime.
        match pin!(&mut future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => {
                let mut answer = answer(outcome, &method);
                if method == "initialize" {
                    answer = answer.map(|response| self.completed(response));
                }
                respond(&self.outbox, id, answer);
            }
            Poll::Pending => {
                let outbox = self.outbox.clone();
                self.runtime.spawn(async move {
                    let outcome = future.await;
                    respond(&outbox, id, answer(outcome, &method));
                });
            }
        }
    }

    fn completed(&self, response: Option<Response>) -> Option<Response> {
        let (id, mut result) = response?.into_parts();
        if let Ok(result) = &mut result {
            (self.complete_initialize)(result);
        }
        Some(Response::from_parts(id, result))
    }
}

fn request(
    id: Option<Id>,
    method: &str,
    params: Option<&RawValue>,
) -> Result<Request, jsonrpc::Error> {
    let mut request = Request::build(method.to_owned());
    if let Some(id) = id {
        request = request.id(id);
    }
    // Clients differ in how they say "no parameters".
    if method != "shutdown" && method != "exit" {
        let params = match params {
            Some(raw) if raw.get() != "null" => serde_json::from_str(raw.get())
                .map_err(|error| jsonrpc::Error::invalid_params(error.to_string()))?,
            Some(_) | None => Value::Object(serde_json::Map::new()),
        };
        request = request.params(params);
    }
    Ok(request.finish())
}

type Outcome<E> = std::thread::Result<Result<Option<Response>, E>>;

fn answer<E>(outcome: Outcome<E>, method: &str) -> Result<Option<Response>, jsonrpc::Error> {
    match outcome {
        Ok(Ok(response)) => Ok(response),
        // The service has exited; the loop ends by itself.
        Ok(Err(_)) => Ok(None),
        Err(_) => Err(panicked(method)),
    }
}

fn respond(outbox: &Outbox, id: Option<Id>, answer: Result<Option<Response>, jsonrpc::Error>) {
    match (answer, id) {
        (Ok(Some(response)), _) => outbox.respond(response),
        (Err(error), Some(id)) => outbox.respond(Response::from_error(id, error)),
        (Ok(None), _) | (Err(_), None) => {}
    }
}

fn panicked(method: &str) -> jsonrpc::Error {
    tracing::error!(method, "the handler panicked");
    jsonrpc::Error {
        code: jsonrpc::ErrorCode::InternalError,
        message: format!("{method} failed inside the server; its log says more").into(),
        data: None,
    }
}

fn parse_error(reason: &str) -> RpcError {
    RpcError { code: -32700, message: reason.to_owned(), data: None }
}

#[cfg(test)]
mod tests;

//! A fake model endpoint over HTTP: OpenAI chat completions and Anthropic messages, streamed, from a script.
//!
//! Every request is kept and judged as the real endpoints would judge it (each call has its result, roles in order);
//! what they would refuse fails the test when the model is dropped. Requests that offer no tools (titles, summaries)
//! take no step of the script.

mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::workspace::PATIENCE;
pub use wire::Wire;

/// One answer of the script.
#[derive(Clone, Debug, Default)]
pub struct Step {
    text: String,
    /// Tool name and arguments as they go over the wire.
    calls: Vec<(String, String)>,
    status: Option<u16>,
    headers: Vec<(&'static str, String)>,
    cut: bool,
    held: bool,
}

impl Step {
    pub fn text(text: &str) -> Self {
        Self { text: text.to_owned(), ..Self::default() }
    }

    pub fn call(name: &str, input: Value) -> Self {
        Self::default().and_call(name, input)
    }

    /// A call whose arguments are this text, JSON or not.
    pub fn call_raw(name: &str, arguments: &str) -> Self {
        Self { calls: vec![(name.to_owned(), arguments.to_owned())], ..Self::default() }
    }

    pub fn status(status: u16) -> Self {
        Self { status: Some(status), ..Self::default() }
    }

    #[expect(clippy::needless_pass_by_value, reason = "called with json!")]
    pub fn and_call(mut self, name: &str, input: Value) -> Self {
        self.calls.push((name.to_owned(), input.to_string()));
        self
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    /// The connection ends before the answer does.
    pub fn cut(mut self) -> Self {
        self.cut = true;
        self
    }

    /// Sends all text, then stops until `Model::release` or until the client hangs up.
    pub fn held(mut self) -> Self {
        self.held = true;
        self
    }
}

/// One request that reached the model.
#[derive(Clone, Debug)]
pub struct Request {
    pub path: String,
    pub headers: BTreeMap<String, String>,
    pub body: Value,
    /// The client went away before the answer's end.
    pub hung_up: bool,
}

pub struct Model {
    wire: Wire,
    port: u16,
    desk: Arc<Desk>,
}

struct Desk {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    script: VecDeque<Step>,
    requests: Vec<Request>,
    side: Vec<Request>,
    problems: Vec<String>,
    released: bool,
    closed: bool,
}

impl Model {
    /// An endpoint that speaks OpenAI chat completions.
    pub fn new(script: impl IntoIterator<Item = Step>) -> Self {
        Self::speaking(Wire::OpenAi, script)
    }

    pub fn speaking(wire: Wire, script: impl IntoIterator<Item = Step>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = listener.local_addr().expect("a bound port").port();
        let state = State { script: script.into_iter().collect(), ..State::default() };
        let desk = Arc::new(Desk { state: Mutex::new(state), changed: Condvar::new() });
        let shared = Arc::clone(&desk);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                if shared.lock().closed {
                    return;
                }
                let desk = Arc::clone(&shared);
                std::thread::spawn(move || desk.serve(&stream));
            }
        });
        Self { wire, port, desk }
    }

    /// Settings that make this endpoint the session's model.
    pub fn settings(&self) -> Value {
        let (protocol, path) = match self.wire {
            Wire::OpenAi => ("openai", "/v1"),
            Wire::Anthropic => ("anthropic", ""),
        };
        settings_for(protocol, &format!("http://127.0.0.1:{}{path}", self.port))
    }

    /// The same, with more top-level keys.
    pub fn settings_with(&self, more: &Value) -> Value {
        let mut settings = self.settings();
        for (key, value) in more.as_object().expect("settings are an object") {
            settings[key] = value.clone();
        }
        settings
    }

    /// Requests that offered tools, so far.
    pub fn requests(&self) -> Vec<Request> {
        self.desk.lock().requests.clone()
    }

    #[track_caller]
    pub fn wait_requests(&self, count: usize) -> Vec<Request> {
        self.desk.wait(&format!("{count} model requests"), |s| {
            (s.requests.len() >= count).then(|| s.requests.clone())
        })
    }

    #[track_caller]
    pub fn wait_hang_up(&self) {
        self.desk
            .wait("the client to hang up", |s| s.requests.iter().any(|r| r.hung_up).then_some(()));
    }

    /// Lets held steps go on.
    pub fn release(&self) {
        self.desk.lock().released = true;
        self.desk.changed.notify_all();
    }

    /// Texts of all tool results in the newest request, in order.
    pub fn results(&self) -> Vec<String> {
        self.requests().last().map(|r| wire::results(&r.body)).unwrap_or_default()
    }

    /// Texts of all tool results in a request, in order.
    pub fn results_of(&self, request: &Request) -> Vec<String> {
        wire::results(&request.body)
    }

    /// Everything sent to the model, as text.
    pub fn everything(&self) -> String {
        let state = self.desk.lock();
        state.requests.iter().chain(&state.side).map(|r| r.body.to_string()).collect()
    }
}

/// Settings for an endpoint at this address.
pub fn settings_for(protocol: &str, base_url: &str) -> Value {
    json!({
        "model": "mock/test",
        "providers": { "mock": { "protocol": protocol, "base_url": base_url, "api_key": SECRET } },
        "models": { "mock/test": { "dialect": "claude", "context_window": 200_000 } },
    })
}

/// The key in every test's settings; it may stand in request headers and nowhere else.
pub const SECRET: &str = "sk-never-to-be-seen-anywhere";

impl Drop for Model {
    fn drop(&mut self) {
        let problems = {
            let mut state = self.desk.lock();
            state.closed = true;
            state.released = true;
            std::mem::take(&mut state.problems)
        };
        self.desk.changed.notify_all();
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        if !std::thread::panicking() {
            assert!(problems.is_empty(), "requests no endpoint would take: {problems:#?}");
        }
    }
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[track_caller]
    fn wait<T>(&self, what: &str, mut ready: impl FnMut(&State) -> Option<T>) -> T {
        let end = Instant::now() + PATIENCE;
        let mut state = self.lock();
        loop {
            if let Some(found) = ready(&state) {
                return found;
            }
            assert!(
                Instant::now() < end,
                "waiting for {what}: {} requests so far",
                state.requests.len()
            );
            let waited = self.changed.wait_timeout(state, Duration::from_millis(100));
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn serve(&self, stream: &TcpStream) {
        let mut reader = BufReader::new(stream);
        while let Some(request) = read_request(&mut reader) {
            let Some(wire) = Wire::of(&request.path) else {
                let models =
                    json!({ "object": "list", "data": [{ "id": "test", "object": "model" }] });
                if whole(stream, 200, &[], &models).is_err() {
                    return;
                }
                continue;
            };
            let (step, number) = self.take(wire, &request);
            if let Some(status) = step.status {
                let body = json!({ "type": "error", "error": { "type": "scripted", "message": "scripted error", "code": status } });
                if whole(stream, status, &step.headers, &body).is_err() {
                    return;
                }
                continue;
            }
            if request.body["stream"] != true {
                if whole(stream, 200, &[], &wire.whole(&step, number)).is_err() {
                    return;
                }
                continue;
            }
            if self.stream(stream, wire, &step, number).is_err() {
                self.hung_up(&request);
            }
            return;
        }
    }

    fn take(&self, wire: Wire, request: &Request) -> (Step, usize) {
        let mut state = self.lock();
        if let Err(problem) = wire.judge(request) {
            state.problems.push(problem);
        }
        let step = if request.body["tools"].as_array().is_none_or(Vec::is_empty) {
            state.side.push(request.clone());
            Step::text("A short text.")
        } else {
            state.requests.push(request.clone());
            state.script.pop_front().unwrap_or_else(|| Step::text("done"))
        };
        let number = state.requests.len() + 1000 * state.side.len();
        drop(state);
        self.changed.notify_all();
        (step, number)
    }

    fn stream(
        &self,
        mut to: &TcpStream,
        wire: Wire,
        step: &Step,
        number: usize,
    ) -> std::io::Result<()> {
        to.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
        )?;
        let (events, held_at) = wire.events(step, number);
        for (index, event) in events.iter().enumerate() {
            if step.held && index == held_at {
                self.hold(to)?;
            }
            to.write_all(event.as_bytes())?;
            to.flush()?;
        }
        if step.held && held_at >= events.len() {
            self.hold(to)?;
        }
        Ok(())
    }

    /// Waits for `release`; an error when the client goes away first.
    fn hold(&self, to: &TcpStream) -> std::io::Result<()> {
        while !self.lock().released {
            still_there(to, Duration::from_millis(10))?;
        }
        Ok(())
    }

    fn hung_up(&self, request: &Request) {
        let mut state = self.lock();
        if let Some(kept) = state.requests.iter_mut().rev().find(|r| r.body == request.body) {
            kept.hung_up = true;
        }
        drop(state);
        self.changed.notify_all();
    }
}

/// Waits `time`, watching the connection.
fn still_there(stream: &TcpStream, time: Duration) -> std::io::Result<()> {
    stream.set_read_timeout(Some(time))?;
    match stream.peek(&mut [0]) {
        Ok(0) => Err(std::io::ErrorKind::ConnectionAborted.into()),
        Ok(_) => Ok(()),
        Err(e)
            if matches!(
                e.kind(),
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut
            ) =>
        {
            Ok(())
        }
        Err(e) => Err(e),
    }
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> Option<Request> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
    let path = line.split(' ').nth(1)?.to_owned();
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|n| *n > 0)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.insert(name.to_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|l| l.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Some(Request { path, headers, body, hung_up: false })
}

fn whole(
    mut to: &TcpStream,
    status: u16,
    headers: &[(&str, String)],
    body: &Value,
) -> std::io::Result<()> {
    let body = body.to_string();
    let mut head = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    to.write_all(format!("{head}\r\n{body}").as_bytes())?;
    to.flush()
}

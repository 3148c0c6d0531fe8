//! A scripted HTTP server on loopback, and short ways to ask it through the real client.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::{
    Assembler, Error, Event, Finished, Message, Part, Protocol, Provider, Request, ResultPart,
    Role, Secret, Settings, ToolSpec, connect,
};

pub const KEY: &str = "sk-very-secret-key-0123456789";

/// What the server does with one request.
#[derive(Clone)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub body: Vec<u8>,
    pub end: End,
}

#[derive(Clone, Copy, PartialEq)]
pub enum End {
    /// The body has its length and the connection stays.
    Kept,
    /// The connection closes after the body, which has no length.
    Closed,
    /// A length is promised that never comes: the connection breaks.
    Broken,
    /// Nothing more comes; the client has to hang up.
    Silent,
}

impl Reply {
    pub fn events(events: &[impl AsRef<str>]) -> Self {
        let body: String =
            events.iter().map(|data| format!("data: {}\n\n", data.as_ref())).collect();
        Reply {
            status: 200,
            headers: vec![("content-type", "text/event-stream".into())],
            body: body.into(),
            end: End::Closed,
        }
    }

    pub fn json(status: u16, body: &Value) -> Self {
        Reply::raw(status, "application/json", body.to_string())
    }

    pub fn raw(status: u16, kind: &str, body: impl Into<Vec<u8>>) -> Self {
        Reply {
            status,
            headers: vec![("content-type", kind.into())],
            body: body.into(),
            end: End::Kept,
        }
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.push((name, value.into()));
        self
    }

    pub fn end(mut self, end: End) -> Self {
        self.end = end;
        self
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct Asked {
    pub connection: usize,
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: Value,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

pub struct Server {
    pub port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    /// One message for each hang-up seen after a `Silent` reply.
    pub hangups: mpsc::UnboundedReceiver<()>,
}

impl Server {
    /// Replies in order; the last one is repeated.
    pub async fn start(replies: Vec<Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let replies = Arc::new(Mutex::new(VecDeque::from(replies)));
        let (hung, hangups) = mpsc::unbounded_channel();
        let (log, script) = (asked.clone(), replies.clone());
        tokio::spawn(async move {
            let mut number = 0;
            while let Ok((stream, _)) = listener.accept().await {
                number += 1;
                tokio::spawn(serve(stream, number, log.clone(), script.clone(), hung.clone()));
            }
        });
        Server { port, asked, replies, hangups }
    }

    /// From now on every reply is this one.
    pub fn reply_with(&self, reply: Reply) {
        *self.replies.lock().unwrap() = VecDeque::from([reply]);
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn settings(&self, protocol: Protocol) -> Settings {
        let path = match protocol {
            Protocol::Openai | Protocol::OpenaiResponses => "/v1",
            Protocol::Anthropic | Protocol::Gemini | Protocol::Replay => "",
        };
        Settings {
            base_url: Some(format!("http://127.0.0.1:{}{path}", self.port)),
            key: Some(Secret::new(KEY)),
            backoff: Duration::from_millis(2),
            ..Settings::new(protocol)
        }
    }
}

async fn serve(
    mut stream: TcpStream,
    connection: usize,
    log: Arc<Mutex<Vec<Asked>>>,
    replies: Arc<Mutex<VecDeque<Reply>>>,
    hung: mpsc::UnboundedSender<()>,
) {
    while let Some(asked) = read_request(&mut stream, connection).await {
        log.lock().unwrap().push(asked);
        let reply = {
            let mut replies = replies.lock().unwrap();
            if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() }
        };
        let reply = reply.expect("a reply");
        let mut head = format!("HTTP/1.1 {} X\r\n", reply.status);
        for (name, value) in &reply.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        match reply.end {
            End::Kept => head.push_str(&format!("content-length: {}\r\n", reply.body.len())),
            End::Broken => head.push_str(&format!("content-length: {}\r\n", reply.body.len() + 1)),
            End::Closed | End::Silent => head.push_str("connection: close\r\n"),
        }
        head.push_str("\r\n");
        if stream.write_all(head.as_bytes()).await.is_err()
            || stream.write_all(&reply.body).await.is_err()
        {
            return;
        }
        match reply.end {
            End::Kept => {}
            End::Closed | End::Broken => return,
            End::Silent => {
                let mut byte = [0];
                let _ = stream.read(&mut byte).await;
                let _ = hung.send(());
                return;
            }
        }
    }
}

async fn read_request(stream: &mut TcpStream, connection: usize) -> Option<Asked> {
    let mut bytes = Vec::new();
    let head = loop {
        if let Some(at) = memchr::memmem::find(&bytes, b"\r\n\r\n") {
            break String::from_utf8(bytes.drain(..at + 4).collect()).unwrap();
        }
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return None;
        }
    };
    let mut lines = head.lines();
    let line = lines.next()?.to_owned();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, n)| n.parse().unwrap());
    while bytes.len() < length {
        if stream.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    Some(Asked { connection, line, headers, body })
}

/// A request with one tool.
pub fn request(messages: Vec<Message>) -> Request {
    Request {
        model: "test".into(),
        system: "Be brief.".into(),
        messages,
        tools: vec![ToolSpec {
            name: "Read".into(),
            description: "Reads a file.".into(),
            input_schema: json!({ "type": "object", "properties": { "file_path": { "type": "string" } } }),
        }],
        ..Request::default()
    }
}

/// All events of one answer. Never waits longer than half a minute.
pub async fn ask(settings: Settings, request: Request) -> Vec<Result<Event, Error>> {
    ask_provider(&*connect(settings).expect("settings that work"), request).await
}

pub async fn ask_provider(provider: &dyn Provider, request: Request) -> Vec<Result<Event, Error>> {
    let all = async {
        match provider.stream(request, CancellationToken::new()).await {
            Ok(stream) => stream.collect().await,
            Err(error) => vec![Err(error)],
        }
    };
    tokio::time::timeout(Duration::from_secs(30), all).await.expect("the stream ends")
}

/// The answer to "Hello" when the server replies like this.
pub async fn answer(protocol: Protocol, replies: Vec<Reply>) -> (Finished, Option<Error>) {
    let server = Server::start(replies).await;
    finish(ask(server.settings(protocol), request(vec![Message::user("Hello")])).await)
}

pub fn finish(events: Vec<Result<Event, Error>>) -> (Finished, Option<Error>) {
    let mut assembler = Assembler::new(&[]);
    let mut error = None;
    for event in events {
        assert!(error.is_none(), "nothing follows an error");
        match event {
            Ok(event) => {
                assembler.push(event);
            }
            Err(e) => error = Some(e),
        }
    }
    (assembler.finish(), error)
}

pub fn text(text: &str) -> Part {
    Part::Text { text: text.into() }
}

pub fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolCall { id: id.into(), name: name.into(), arguments: arguments.into() }
}

pub fn result(id: &str, content: Vec<ResultPart>) -> Part {
    Part::ToolResult { id: id.into(), name: "Read".into(), content, is_error: false }
}

pub fn result_text(id: &str, text: &str) -> Part {
    result(id, vec![ResultPart::Text { text: text.into() }])
}

pub fn image() -> ResultPart {
    ResultPart::Image { media_type: "image/png".into(), data: "aWNvbg==".into() }
}

/// A question whose last word is a video from a tool.
pub fn with_video() -> Request {
    let video = ResultPart::Video { media_type: "video/mp4".into(), data: "bW92aWU=".into() };
    request(vec![
        Message::user("Look."),
        by_model(vec![call("call_a", "Read", "{}")]),
        by_user(vec![result("call_a", vec![video])]),
    ])
}

pub fn by_user(parts: Vec<Part>) -> Message {
    Message { role: Role::User, parts }
}

pub fn by_model(parts: Vec<Part>) -> Message {
    Message { role: Role::Assistant, parts }
}

/// Plays `events` with every fault at every place: the answer must end, as an error or as a whole.
pub async fn fault_matrix(protocol: Protocol, events: &[&str]) {
    let server = Server::start(vec![Reply::events(events)]).await;
    let provider = connect(server.settings(protocol)).unwrap();
    let hello = || request(vec![Message::user("Hello")]);
    let (whole, error) = finish(ask_provider(&*provider, hello()).await);
    assert_eq!(error, None);
    let mut faulty = Vec::new();
    for place in 0..=events.len() {
        let (before, after) = events.split_at(place);
        for end in [End::Closed, End::Broken] {
            faulty.push((Reply::events(before).end(end), format!("cut after {place}")));
        }
        let mut torn = Reply::events(&events[..(place + 1).min(events.len())]);
        torn.body.truncate(torn.body.len().saturating_sub(9));
        faulty.push((torn, format!("torn in {place}")));
        for bad in GARBAGE {
            faulty.push((
                Reply::events(&[before, &[bad], after].concat()),
                format!("{bad} at {place}"),
            ));
        }
    }
    for (reply, what) in faulty {
        server.reply_with(reply);
        let (got, error) = finish(ask_provider(&*provider, hello()).await);
        match error {
            // Made-up ids differ each time.
            None => assert_eq!(
                (got.message.parts.len(), &got.stop),
                (whole.message.parts.len(), &whole.stop),
                "{what}"
            ),
            Some(error) => {
                assert!(!format!("{error} {error:?}").contains(KEY), "{what}");
                assert!(error.to_string().len() < 2_000, "{what}");
                assert!(said(&whole).starts_with(&said(&got)), "{what}");
            }
        }
    }
}

const GARBAGE: &[&str] = &[
    "{",
    "nonsense",
    "[1,2]",
    "null",
    r#"{"error":{"message":"broken","code":"server_error"}}"#,
    r#"{"type":"error","error":{"message":"broken"}}"#,
    r#""\ud800""#,
];

/// The visible text of an answer.
pub fn said(finished: &Finished) -> String {
    let texts = finished.message.parts.iter().filter_map(|part| match part {
        Part::Text { text } => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

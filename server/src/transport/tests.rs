use std::io::Cursor;
use std::sync::Mutex;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower_lsp::jsonrpc::Result;
use tower_lsp::lsp_types::{InitializeParams, InitializeResult};
use tower_lsp::{LanguageServer, LspService};

use super::{End, Transport};
use crate::outbox::Outbox;
use crate::outbox::tests::Sink;

/// A backend that writes down what reaches it.
#[derive(Default)]
struct Diary {
    seen: Mutex<Vec<String>>,
    gate: Notify,
}

#[derive(Deserialize)]
struct Typed {
    n: i64,
}

impl Diary {
    fn note(&self, what: impl Into<String>) {
        self.seen.lock().unwrap().push(what.into());
    }

    fn direct(&self, params: &RawValue) -> serde_json::Result<()> {
        let typed: Typed = serde_json::from_str(params.get())?;
        self.note(format!("direct {}", typed.n));
        Ok(())
    }

    async fn told(&self, params: Value) {
        self.note(format!("told {}", params["n"]));
    }

    async fn asked(&self, params: Value) -> Result<Value> {
        self.note(format!("asked {}", params["n"]));
        Ok(params)
    }

    async fn waits(&self, params: Value) -> Result<Value> {
        self.note(format!("waits {}", params["n"]));
        self.gate.notified().await;
        Ok(json!("waited"))
    }

    async fn opens_the_gate(&self, _params: Value) {
        self.gate.notify_waiters();
    }

    async fn breaks(&self, _params: Value) -> Result<Value> {
        panic!("on purpose");
    }

    async fn diary(&self, _params: Value) -> Result<Value> {
        Ok(json!(*self.seen.lock().unwrap()))
    }
}

#[tower_lsp::async_trait]
impl LanguageServer for Diary {
    async fn initialize(&self, _: InitializeParams) -> Result<InitializeResult> {
        Ok(InitializeResult::default())
    }

    async fn shutdown(&self) -> Result<()> {
        Ok(())
    }
}

fn frames(bodies: &[&str]) -> Vec<u8> {
    let framed = bodies.iter().map(|body| format!("Content-Length: {}\r\n\r\n{body}", body.len()));
    framed.collect::<String>().into_bytes()
}

/// Plays the bytes and gives how it ended and what was sent back.
async fn play(input: Vec<u8>) -> (End, Vec<Value>) {
    let sink = Sink::default();
    let outbox = Outbox::start(sink.clone()).unwrap();
    let (service, _socket) = LspService::build(|_| Diary::default())
        .custom_method("told", Diary::told)
        .custom_method("asked", Diary::asked)
        .custom_method("waits", Diary::waits)
        .custom_method("opens", Diary::opens_the_gate)
        .custom_method("breaks", Diary::breaks)
        .custom_method("diary", Diary::diary)
        .finish();
    let runtime = tokio::runtime::Handle::current();
    let transport = Transport {
        service,
        direct: &[("direct", Diary::direct)],
        complete_initialize: |result| result["extra"] = json!(1),
        outbox: outbox.clone(),
        runtime,
    };
    let run = tokio::task::spawn_blocking(move || transport.run(Cursor::new(input)));
    let (end, _service) = run.await.unwrap();
    // Tasks that are ready now get their turn before the writer closes.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    outbox.close(Duration::from_secs(20));
    (end, sink.messages())
}

const INITIALIZE: &str = r#"{"id":1,"method":"initialize","params":{"capabilities":{}}}"#;

fn answers(messages: &[Value]) -> Vec<String> {
    let short = |m: &Value| match &m["error"]["code"] {
        Value::Null => format!("{} {}", m["id"], m["result"]),
        code => format!("{} {code}", m["id"]),
    };
    messages.iter().map(short).collect()
}

#[track_caller]
fn check(seen: (End, Vec<Value>), end: End, expected: &[&str]) {
    assert_eq!(answers(&seen.1), expected);
    assert_eq!(seen.0, end);
}

#[tokio::test]
async fn lifecycle() {
    let bodies = [
        r#"{"id":0,"method":"asked","params":{}}"#,
        INITIALIZE,
        INITIALIZE,
        r#"{"method":"initialized"}"#,
        r#"{"id":2,"method":"nothing/like/it"}"#,
        r#"{"method":"nothing/like/it"}"#,
        r#"{"id":3,"method":"shutdown","params":null}"#,
        r#"{"id":4,"method":"asked","params":{}}"#,
        r#"{"method":"exit"}"#,
        r#"{"id":5,"method":"asked","params":{}}"#,
    ];
    check(
        play(frames(&bodies)).await,
        End::Orderly,
        &[
            "0 -32002",
            r#"1 {"capabilities":{},"extra":1}"#,
            "1 -32600",
            "2 -32601",
            "3 null",
            "4 -32600",
        ],
    );
    check(play(frames(&[INITIALIZE])).await, End::Abrupt, &[r#"1 {"capabilities":{},"extra":1}"#]);
    check(play(frames(&[r#"{"method":"exit"}"#])).await, End::Abrupt, &[]);
}

#[tokio::test]
async fn bad_messages_are_answered_and_passed_over() {
    let bodies = [
        INITIALIZE,
        "{\"id\":",
        r#"{"id":2,"method":7}"#,
        r#"[{"id":3,"method":"asked","params":{"n":3}},7,{"method":"told","params":{"n":4}}]"#,
        r#"{"id":"s","method":"asked","params":{"n":"\ud800"}}"#,
        r#"{"id":5,"method":"breaks"}"#,
        r#"{"method":"direct","params":{"n":"no number"}}"#,
        r#"{"method":"direct"}"#,
        r#"{"id":6,"method":"asked","params":{"n":6}}"#,
    ];
    let mut input = frames(&bodies);
    input.splice(0..0, b"garbage\r\n\r\n".iter().copied());
    check(
        play(input).await,
        End::Abrupt,
        &[
            "null -32700",
            r#"1 {"capabilities":{},"extra":1}"#,
            "null -32700",
            "2 -32600",
            "null -32600",
            "\"s\" {\"n\":\"\u{fffd}\"}",
            "5 -32603",
            r#"6 {"n":6}"#,
        ],
    );
}

#[tokio::test]
async fn every_message_is_handled_before_the_next_is_read() {
    let mut bodies = vec![INITIALIZE.to_owned()];
    let mut expected = Vec::new();
    for n in 0..300 {
        let (method, id) = match n % 4 {
            0 => ("direct", String::new()),
            1 => ("told", String::new()),
            2 => ("asked", format!(r#""id":{},"#, n + 10)),
            _ => ("waits", format!(r#""id":{},"#, n + 10)),
        };
        bodies.push(format!(r#"{{{id}"method":"{method}","params":{{"n":{n}}}}}"#));
        expected.push(format!("{method} {n}"));
    }
    bodies.push(r#"{"id":2,"method":"diary"}"#.to_owned());
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let (_, messages) = play(frames(&bodies)).await;
    let diary = messages.iter().find(|m| m["id"] == 2).unwrap();
    assert_eq!(diary["result"], json!(expected));
}

#[tokio::test]
async fn waiting_requests_hold_up_nothing_and_can_be_cancelled() {
    let mut bodies = vec![INITIALIZE.to_owned()];
    for n in 10..110 {
        bodies.push(format!(r#"{{"id":{n},"method":"waits","params":{{"n":{n}}}}}"#));
    }
    bodies.push(r#"{"id":2,"method":"asked","params":{"n":2}}"#.to_owned());
    for n in 10..109 {
        bodies.push(format!(r#"{{"method":"$/cancelRequest","params":{{"id":{n}}}}}"#));
    }
    bodies.push(r#"{"method":"opens"}"#.to_owned());
    let bodies: Vec<&str> = bodies.iter().map(String::as_str).collect();
    let (_, messages) = play(frames(&bodies)).await;
    let answers = answers(&messages);
    assert_eq!(answers[1], r#"2 {"n":2}"#);
    assert_eq!(answers.iter().filter(|answer| answer.ends_with("-32800")).count(), 99);
}

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

use super::{MAX_MESSAGE, Outbox, RpcError, brief};

/// A client that keeps what it is sent.
#[derive(Clone, Default)]
pub struct Sink(Arc<Mutex<Vec<u8>>>);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink {
    /// Every message written so far.
    pub fn messages(&self) -> Vec<Value> {
        let bytes = self.0.lock().unwrap().clone();
        let mut rest = bytes.as_slice();
        let mut messages = Vec::new();
        while let Some(at) = rest.windows(4).position(|part| part == b"\r\n\r\n") {
            let header = std::str::from_utf8(&rest[..at]).unwrap();
            let length: usize = header.strip_prefix("Content-Length: ").unwrap().parse().unwrap();
            messages.push(serde_json::from_slice(&rest[at + 4..at + 4 + length]).unwrap());
            rest = &rest[at + 4 + length..];
        }
        assert!(rest.is_empty(), "stray bytes: {rest:?}");
        messages
    }
}

fn outbox() -> (Outbox, Sink) {
    let sink = Sink::default();
    (Outbox::start(sink.clone()).unwrap(), sink)
}

const PATIENCE: Duration = Duration::from_secs(20);

#[tokio::test]
async fn everything_leaves_in_the_order_it_was_handed_in() {
    let (outbox, sink) = outbox();
    let mut asked = Vec::new();
    for n in 0..1000 {
        outbox.notify("card", json!({"n": n}));
        asked.push(outbox.request("ask", json!({"n": n})));
    }
    outbox.close(PATIENCE);
    let messages = sink.messages();
    let order: Vec<_> =
        messages.iter().map(|m| (m["method"].as_str(), m["params"]["n"].as_i64())).collect();
    let expected: Vec<_> =
        (0..1000).flat_map(|n| [(Some("card"), Some(n)), (Some("ask"), Some(n))]).collect();
    assert_eq!(order, expected);
}

#[tokio::test]
async fn answers_reach_who_asked() {
    let (outbox, sink) = outbox();
    let first = outbox.request("a", json!({}));
    let second = outbox.request("b", json!({}));
    outbox.close(PATIENCE);
    let id = |n: usize| sink.messages()[n]["id"].as_i64().unwrap();
    outbox.answer(id(1), Ok(json!("for b")));
    outbox.answer(id(0), Err(RpcError::failed("busy", "no")));
    outbox.answer(99_999, Ok(json!("for nobody")));
    assert_eq!(second.await, Ok(json!("for b")));
    assert_eq!(first.await.unwrap_err().message, "no");
}

#[tokio::test]
async fn dropping_a_question_withdraws_it_once() {
    let (outbox, sink) = outbox();
    let answered = outbox.request("a", json!({}));
    let dropped = outbox.request("b", json!({}));
    drop(dropped);
    outbox.answer(1, Ok(Value::Null));
    assert_eq!(answered.await, Ok(Value::Null));
    outbox.close(PATIENCE);
    let methods: Vec<_> = sink.messages().iter().map(|m| m["method"].clone()).collect();
    assert_eq!(methods, ["a", "b", "$/cancelRequest"]);
    assert_eq!(sink.messages()[2]["params"], json!({"id": 2}));
}

#[tokio::test]
async fn a_client_that_leaves_answers_nothing() {
    let (outbox, _sink) = outbox();
    let waiting = outbox.request("a", json!({}));
    outbox.disconnect();
    assert_eq!(waiting.await, Err(RpcError::disconnected()));
}

#[test]
fn a_broken_pipe_does_not_stop_the_sender() {
    let (reader, writer) = io::pipe().unwrap();
    drop(reader);
    let outbox = Outbox::start(writer).unwrap();
    for _ in 0..100 {
        outbox.notify("x", json!({}));
    }
    outbox.close(PATIENCE);
}

#[test]
fn a_long_message_keeps_its_ends() {
    assert_eq!(brief("short"), "short");
    for filler in ["x", "é", "€"] {
        let long = format!("items: {} is no list", filler.repeat(1 << 20));
        let cut = brief(&long);
        assert!(cut.len() < MAX_MESSAGE + 64, "{}", cut.len());
        assert!(cut.starts_with("items: ") && cut.ends_with("is no list"), "{cut}");
        let left_out = cut.split(['(', ' ']).find_map(|it| it.parse::<usize>().ok()).unwrap();
        let words = format!("… ({left_out} bytes left out) …").len();
        assert_eq!(cut.len() - words + left_out, long.len());
    }
}

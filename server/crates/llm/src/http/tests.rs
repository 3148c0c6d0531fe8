use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::testing::*;
use crate::{Event, Message, Protocol, Secret, Stop};

const STREAM: &[&str] = &[
    r#"{"choices":[{"index":0,"delta":{"content":"Hello "}}]}"#,
    r#"{"choices":[{"index":0,"delta":{"content":"you"}}]}"#,
    r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#,
    "[DONE]",
];

fn busy(status: u16) -> Reply {
    Reply::json(
        status,
        &json!({ "error": { "message": format!("busy, {KEY}"), "type": "overloaded_error" } }),
    )
}

fn hello() -> Request {
    request(vec![Message::user("Hello")])
}

fn notices(events: &[Result<Event, Error>]) -> Vec<String> {
    let notices = events.iter().filter_map(|event| match event {
        Ok(Event::Notice(line)) => Some(line.clone()),
        _ => None,
    });
    notices.collect()
}

#[tokio::test]
async fn busy_servers_are_asked_again_and_every_try_is_told() {
    for status in [408, 409, 429, 500, 502, 503, 529] {
        let server = Server::start(vec![busy(status), busy(status), Reply::events(STREAM)]).await;
        let events = ask(server.settings(Protocol::Openai), hello()).await;
        let told = notices(&events);
        assert_eq!(told.len(), 2, "{status}");
        assert!(
            told[0].starts_with("retrying in ") && told[0].contains(&status.to_string()),
            "{told:?}"
        );
        let (finished, error) = finish(events);
        assert_eq!(
            (said(&finished).as_str(), finished.stop, error),
            ("Hello you", Stop::EndTurn, None)
        );
    }
}

#[tokio::test]
async fn there_are_five_tries_at_most() {
    let server = Server::start(vec![busy(503)]).await;
    let events = ask(server.settings(Protocol::Openai), hello()).await;
    assert_eq!((notices(&events).len(), server.asked().len()), (4, 5));
    assert!(matches!(finish(events).1, Some(Error::Status { code: 503, .. })));
}

#[tokio::test]
async fn what_cannot_get_better_is_not_repeated() {
    let no_credit =
        json!({ "error": { "message": "You have no quota", "code": "insufficient_quota" } });
    let replies = [
        busy(400),
        busy(401),
        busy(403),
        busy(404),
        busy(302).header("location", "https://user:pw@elsewhere/?k=1"),
        busy(503).header("x-should-retry", "false"),
        busy(429).header("retry-after", "3600"),
        Reply::json(429, &no_credit),
    ];
    for reply in replies {
        let server = Server::start(vec![reply]).await;
        let (_, error) = finish(ask(server.settings(Protocol::Openai), hello()).await);
        let error = error.unwrap();
        assert!(matches!(error, Error::Status { .. }), "{error:?}");
        assert_eq!(server.asked().len(), 1, "{error}");
        assert!(!error.to_string().contains("pw@"));
    }
}

#[tokio::test]
async fn the_server_may_name_the_pause() {
    let replies = vec![
        busy(429).header("retry-after-ms", "3"),
        busy(429).header("retry-after", "0"),
        Reply::events(STREAM),
    ];
    let server = Server::start(replies).await;
    let mut settings = server.settings(Protocol::Openai);
    settings.backoff = Duration::from_secs(600);
    let (finished, error) = finish(ask(settings, hello()).await);
    assert_eq!((said(&finished).as_str(), error), ("Hello you", None));
}

#[tokio::test]
async fn a_connection_cut_before_content_is_retried_and_after_it_never() {
    let before = Reply::events(&STREAM[..0]).end(End::Broken);
    let server = Server::start(vec![before.clone(), before, Reply::events(STREAM)]).await;
    let events = ask(server.settings(Protocol::Openai), hello()).await;
    assert_eq!(notices(&events).len(), 2);
    assert_eq!(said(&finish(events).0), "Hello you");

    let server =
        Server::start(vec![Reply::events(&STREAM[..1]).end(End::Broken), Reply::events(STREAM)])
            .await;
    let events = ask(server.settings(Protocol::Openai), hello()).await;
    assert_eq!(events, [Ok(Event::Text("Hello ".into())), Err(Error::Cut)]);
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn nobody_listening_is_told_with_what_to_do() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let settings = Settings {
        base_url: Some(format!("http://127.0.0.1:{port}/v1")),
        backoff: Duration::from_millis(1),
        ..Settings::new(Protocol::Openai)
    };
    let events = ask(settings, hello()).await;
    assert_eq!(notices(&events).len(), 4);
    let error = finish(events).1.unwrap().to_string();
    assert!(
        error.contains(&port.to_string()) && error.contains("is the model server running?"),
        "{error}"
    );
}

#[tokio::test]
async fn cancelling_hangs_up_while_the_server_streams() {
    let mut server = Server::start(vec![Reply::events(&STREAM[..1]).end(End::Silent)]).await;
    let provider = crate::connect(server.settings(Protocol::Openai)).unwrap();
    let cancel = CancellationToken::new();
    let mut stream = provider.stream(hello(), cancel.clone()).await.unwrap();
    assert_eq!(stream.next().await, Some(Ok(Event::Text("Hello ".into()))));
    cancel.cancel();
    assert_eq!(stream.next().await, Some(Err(Error::Cancelled)));
    server.hangups.recv().await.unwrap();
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn cancelling_wakes_a_waiting_reader() {
    let mut server = Server::start(vec![Reply::events(&STREAM[..1]).end(End::Silent)]).await;
    let provider = crate::connect(server.settings(Protocol::Openai)).unwrap();
    let cancel = CancellationToken::new();
    let mut stream = provider.stream(hello(), cancel.clone()).await.unwrap();
    stream.next().await;
    let (last, ()) = tokio::join!(stream.next(), async { cancel.cancel() });
    assert_eq!(last, Some(Err(Error::Cancelled)));
    server.hangups.recv().await.unwrap();
}

#[tokio::test]
async fn dropping_the_stream_hangs_up() {
    let mut server = Server::start(vec![Reply::events(&STREAM[..1]).end(End::Silent)]).await;
    let provider = crate::connect(server.settings(Protocol::Openai)).unwrap();
    let mut stream = provider.stream(hello(), CancellationToken::new()).await.unwrap();
    stream.next().await;
    drop(stream);
    server.hangups.recv().await.unwrap();
}

#[tokio::test]
async fn cancelling_ends_a_pause_and_asks_no_more() {
    let server = Server::start(vec![busy(503)]).await;
    let mut settings = server.settings(Protocol::Openai);
    settings.backoff = Duration::from_secs(50);
    let provider = crate::connect(settings).unwrap();
    let cancel = CancellationToken::new();
    let mut stream = provider.stream(hello(), cancel.clone()).await.unwrap();
    assert!(matches!(stream.next().await, Some(Ok(Event::Notice(_)))));
    let (last, ()) = tokio::join!(stream.next(), async { cancel.cancel() });
    assert_eq!(last, Some(Err(Error::Cancelled)));
    assert_eq!(stream.next().await, None);
    assert_eq!(server.asked().len(), 1);
}

#[tokio::test]
async fn a_silent_server_is_left() {
    let server = Server::start(vec![Reply::events(&STREAM[..1]).end(End::Silent)]).await;
    let mut settings = server.settings(Protocol::Openai);
    settings.idle_timeout = Duration::from_millis(30);
    let (finished, error) = finish(ask(settings.clone(), hello()).await);
    assert_eq!(said(&finished), "Hello ");
    assert!(matches!(error, Some(Error::Timeout { .. })), "{error:?}");
    // What was complete stays complete, even when the connection is never closed.
    server.reply_with(Reply::events(&STREAM[..3]).end(End::Silent));
    let (finished, error) = finish(ask(settings, hello()).await);
    assert_eq!(
        (said(&finished).as_str(), finished.stop, error),
        ("Hello you", Stop::EndTurn, None)
    );
}

#[tokio::test]
async fn a_connection_is_used_again() {
    let server = Server::start(vec![Reply::events(STREAM).end(End::Kept)]).await;
    let provider = crate::connect(server.settings(Protocol::Openai)).unwrap();
    for _ in 0..3 {
        finish(ask_provider(&*provider, hello()).await);
    }
    let connections: Vec<usize> = server.asked().iter().map(|asked| asked.connection).collect();
    assert_eq!(connections, [1, 1, 1]);
}

#[track_caller]
fn is_bounded(error: &Error, word: &str) {
    let line = error.to_string();
    assert!(
        matches!(error, Error::Malformed(_)) && line.contains(word) && line.len() < 1_000,
        "{line}"
    );
}

#[tokio::test]
async fn nonsense_is_an_error_with_its_beginning() {
    let long = "x".repeat(70_000);
    for (kind, body, word) in [
        ("text/html", format!("<html><body>Sign in {KEY}{long}"), "web page"),
        ("text/event-stream", "Internal trouble".to_owned(), "Internal trouble"),
        ("application/json", "{\"hello\": 1}".to_owned(), "hello"),
        ("application/json", "[1, 2".to_owned() + "]]", "[1, 2"),
        ("text/plain", " \n".repeat(3_000), "blanks"),
        (
            "text/event-stream",
            format!("data: {{\"choices\": 3, \"x\": \"{long}\"}}\n\n"),
            "choices",
        ),
        ("text/event-stream", format!("data: {KEY}\n\n"), "***"),
    ] {
        let server = Server::start(vec![Reply::raw(200, kind, body)]).await;
        let (finished, error) = finish(ask(server.settings(Protocol::Openai), hello()).await);
        is_bounded(&error.unwrap(), word);
        assert_eq!((finished.message.parts.len(), server.asked().len()), (0, 1));
    }
}

#[tokio::test]
async fn an_endless_line_is_left() {
    let server =
        Server::start(vec![Reply::raw(200, "text/event-stream", vec![b'x'; (16 << 20) + 1_000])])
            .await;
    let (_, error) = finish(ask(server.settings(Protocol::Openai), hello()).await);
    is_bounded(&error.unwrap(), "endless");
}

#[tokio::test]
async fn the_label_of_the_body_does_not_matter() {
    let mut mislabelled = Reply::events(STREAM);
    mislabelled.headers = vec![("content-type", "application/json".into())];
    let (finished, error) = answer(Protocol::Openai, vec![mislabelled]).await;
    assert_eq!((said(&finished).as_str(), error), ("Hello you", None));
    let whole = json!({ "choices": [{ "message": { "content": "Hello you" } }] });
    let reply = Reply::raw(200, "text/event-stream", format!("\u{feff} \n{whole}"));
    let (finished, error) = answer(Protocol::Openai, vec![reply]).await;
    assert_eq!(
        (said(&finished).as_str(), finished.stop, error),
        ("Hello you", Stop::EndTurn, None)
    );
}

#[tokio::test]
async fn an_empty_answer_is_a_cut() {
    let server = Server::start(vec![Reply::raw(200, "text/event-stream", "")]).await;
    let (_, error) = finish(ask(server.settings(Protocol::Openai), hello()).await);
    assert_eq!((error, server.asked().len()), (Some(Error::Cut), 5));
}

#[tokio::test]
async fn a_proxy_is_used_but_not_for_this_machine() {
    let proxy = Server::start(vec![Reply::events(STREAM)]).await;
    let server = Server::start(vec![Reply::events(STREAM)]).await;
    let settings = Settings {
        proxy: Some(format!("http://127.0.0.1:{}", proxy.port)),
        ..server.settings(Protocol::Openai)
    };
    assert_eq!(finish(ask(settings.clone(), hello()).await).1, None);
    assert_eq!((server.asked().len(), proxy.asked().len()), (1, 0));
    let far = Settings { base_url: Some("http://model.invalid/v1".into()), ..settings };
    assert_eq!(finish(ask(far, hello()).await).1, None);
    assert_eq!(proxy.asked()[0].line, "POST http://model.invalid/v1/chat/completions HTTP/1.1");
}

#[tokio::test]
async fn cancelling_after_the_last_event_changes_nothing() {
    let server = Server::start(vec![Reply::events(STREAM).end(End::Silent)]).await;
    let provider = crate::connect(server.settings(Protocol::Openai)).unwrap();
    let cancel = CancellationToken::new();
    let mut stream = provider.stream(hello(), cancel.clone()).await.unwrap();
    while stream.next().await != Some(Ok(Event::Stop(Stop::EndTurn))) {}
    cancel.cancel();
    assert_eq!(stream.next().await, None);
}

#[tokio::test]
async fn models_are_listed() {
    for (protocol, list, line, expected) in [
        (
            Protocol::Openai,
            json!({ "data": [{ "id": "a" }, { "id": "b" }] }),
            "GET /v1/models HTTP/1.1",
            vec!["a", "b"],
        ),
        (
            Protocol::Anthropic,
            json!({ "data": [{ "id": "a" }] }),
            "GET /v1/models?limit=1000 HTTP/1.1",
            vec!["a"],
        ),
        (
            Protocol::Gemini,
            json!({ "models": [
                { "name": "models/a", "supportedGenerationMethods": ["generateContent"] },
                { "name": "models/b", "supportedGenerationMethods": ["embedContent"] },
            ] }),
            "GET /v1beta/models?pageSize=1000 HTTP/1.1",
            vec!["a"],
        ),
    ] {
        let server = Server::start(vec![Reply::json(200, &list)]).await;
        let provider = crate::connect(server.settings(protocol)).unwrap();
        assert_eq!(provider.models().await, Ok(expected.into_iter().map(str::to_owned).collect()));
        assert_eq!(server.asked()[0].line, line);
        server.reply_with(Reply::raw(200, "text/html", "<html>"));
        assert!(provider.models().await.is_err());
        server.reply_with(busy(401));
        assert!(matches!(provider.models().await, Err(Error::Status { code: 401, .. })));
    }
}

#[track_caller]
fn check_url(protocol: Protocol, base: &str, expected: &str) {
    let wire: Arc<dyn Wire> = match protocol {
        Protocol::Anthropic => Arc::new(crate::anthropic::Anthropic),
        Protocol::Gemini => Arc::new(crate::gemini::Gemini),
        _ => Arc::new(crate::openai::Openai),
    };
    let settings = Settings {
        base_url: Some(base.into()),
        key: Some(Secret::new("k")),
        ..Settings::new(protocol)
    };
    let provider = HttpProvider::new(settings, wire.clone()).unwrap();
    assert_eq!(provider.link.url(&wire.path("m")), expected);
}

#[test]
fn base_urls_are_taken_as_people_write_them() {
    check_url(Protocol::Openai, "", "https://api.openai.com/v1/chat/completions");
    check_url(Protocol::Openai, "http://h:1/v1/", "http://h:1/v1/chat/completions");
    check_url(Protocol::Openai, "http://h:1/v1/chat/completions", "http://h:1/v1/chat/completions");
    check_url(
        Protocol::Openai,
        "https://h/x?api-version=2",
        "https://h/x/chat/completions?api-version=2",
    );
    check_url(Protocol::Anthropic, "", "https://api.anthropic.com/v1/messages");
    check_url(Protocol::Anthropic, "http://h//", "http://h/v1/messages");
    check_url(Protocol::Anthropic, "http://h/api/v1", "http://h/api/v1/messages");
    check_url(Protocol::Anthropic, "http://h/v1/messages", "http://h/v1/messages");
    check_url(
        Protocol::Gemini,
        "http://h",
        "http://h/v1beta/models/m:streamGenerateContent?alt=sse",
    );
    check_url(
        Protocol::Gemini,
        "http://h/v1beta/",
        "http://h/v1beta/models/m:streamGenerateContent?alt=sse",
    );
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let refused =
        |settings: Settings| crate::connect(settings).map(|_| ()).unwrap_err().to_string();
    let no_key = refused(Settings::new(Protocol::Anthropic));
    assert!(no_key.contains("ANTHROPIC_API_KEY"), "{no_key}");
    for base in ["localhost:8080", "ftp://h", "not a url", "/v1"] {
        let settings = Settings { base_url: Some(base.into()), ..Settings::new(Protocol::Openai) };
        assert!(refused(settings).contains("base_url"), "{base}");
    }
    let here = Settings { base_url: Some("http://h".into()), ..Settings::new(Protocol::Openai) };
    let bad_key = refused(Settings { key: Some(Secret::new("secret\nkey")), ..here.clone() });
    assert!(!bad_key.contains("secret"), "{bad_key}");
    let bad_header =
        refused(Settings { headers: vec![("x-y".into(), "secret\n".repeat(2))], ..here.clone() });
    assert!(bad_header.contains("x-y") && !bad_header.contains("secret"), "{bad_header}");
    let bad_proxy = refused(Settings { proxy: Some("http://user:secret@ bad".into()), ..here });
    assert!(bad_proxy.contains("proxy") && !bad_proxy.contains("secret"), "{bad_proxy}");
}

#[test]
fn loopback_is_known() {
    for (url, expected) in [
        ("http://localhost:1", true),
        ("http://127.0.0.9", true),
        ("http://[::1]:1", true),
        ("http://0.0.0.0", true),
        ("http://a.localhost", true),
        ("http://localhost.example.com", false),
        ("http://10.0.0.1", false),
    ] {
        assert_eq!(is_loopback(&Url::parse(url).unwrap()), expected, "{url}");
    }
}

/// Collects everything logged, at every level, by whatever crate.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<String>>);

impl tracing::field::Visit for Log {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        self.0.lock().unwrap().push_str(&format!("{field}={value:?} "));
    }
}

impl tracing::Subscriber for Log {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, span: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        span.record(&mut self.clone());
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, values: &tracing::span::Record<'_>) {
        values.record(&mut self.clone());
    }
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[tokio::test]
async fn keys_and_header_values_show_nowhere() {
    let log = Log::default();
    let guard = tracing::subscriber::set_default(log.clone());
    const HEADER: &str = "other-secret-value-42";
    const PASSWORD: &str = "hunter2-hunter2";
    // A server that repeats all it was sent, the key once with its middle struck out.
    let told = format!("bad key {KEY}, {HEADER}, sk-ver****6789");
    let body = json!({ "error": { "message": told, "type": KEY } });
    let mut shown = String::new();
    for protocol in
        [Protocol::Anthropic, Protocol::Openai, Protocol::OpenaiResponses, Protocol::Gemini]
    {
        let replies = [
            Reply::json(401, &body),
            Reply::json(503, &body),
            Reply::json(200, &body),
            Reply::raw(401, "text/plain", told.clone()),
            Reply::raw(200, "text/html", format!("<p>{told}")),
            Reply::events(&[&told]),
            Reply::events(&[&body.to_string()]),
        ];
        for reply in replies {
            let server = Server::start(vec![reply]).await;
            let mut settings = server.settings(protocol);
            settings.headers = vec![("x-team".into(), format!("Bearer {HEADER}"))];
            settings.base_url = settings
                .base_url
                .map(|url| url.replace("127.0.0.1", &format!("user:{PASSWORD}@127.0.0.1")));
            shown.push_str(&format!("{settings:?} {:?}", settings.key));
            let events = ask(settings.clone(), hello()).await;
            let (_, error) = finish(events.clone());
            let error = error.expect("an error");
            shown.push_str(&format!("{events:?} {error} {error:?}"));
            let provider = crate::connect(settings).unwrap();
            if let Err(error) = provider.models().await {
                shown.push_str(&format!("{error} {error:?}"));
            }
            assert_eq!(
                server.asked()[0].header("x-team"),
                Some(format!("Bearer {HEADER}").as_str())
            );
        }
    }
    drop(guard);
    let log = log.0.lock().unwrap();
    assert!(log.contains("asking the model"), "the log is seen");
    for secret in [KEY, HEADER, PASSWORD, "sk-ver"] {
        for text in [&shown, &*log] {
            let at = text.find(secret).map(|at| &text[at.saturating_sub(100)..at]);
            assert_eq!(at, None, "before {secret}");
        }
    }
}

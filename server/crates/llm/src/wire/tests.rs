use std::collections::HashSet;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::sse::Sse;
use crate::{anthropic, gemini, openai, openai_responses};

#[test]
fn ids_names_and_arguments_are_made_fit() {
    assert_eq!(wire_id("toolu_01-a"), "toolu_01-a");
    assert_eq!(wire_id("a b"), wire_id("a b"));
    assert_ne!(wire_id("a b"), wire_id("a.b"));
    for odd in ["", "a b", "é", &"x".repeat(65)] {
        for fit in [wire_id(odd), wire_name(odd)] {
            assert!(is_plain(&fit, 64), "{odd:?} became {fit:?}");
        }
        assert!(wire_id(odd).len() <= 40);
    }
    assert_eq!(wire_name("mcp__server__tool"), "mcp__server__tool");
    assert_eq!(wire_arguments(" "), json!({}));
    assert_eq!(wire_arguments("{\"a\":1}"), json!({ "a": 1 }));
    for odd in ["[1]", "{", "\"text\"", "3"] {
        assert_eq!(wire_arguments(odd), json!({ "invalid_arguments": odd }));
    }
}

#[track_caller]
fn check(body: Value, code: u16, kind: &str, message: &str) {
    let expected = Fault::Refused { code, kind: kind.into(), message: message.into() };
    assert_eq!(refusal(&body), Some(expected), "{body}");
}

#[test]
fn errors_come_in_many_shapes() {
    check(
        json!({ "type": "error", "error": { "type": "overloaded_error", "message": "busy" } }),
        529,
        "overloaded_error",
        "busy",
    );
    check(
        json!({ "error": { "message": "no", "type": "invalid_request_error", "code": "bad" } }),
        400,
        "bad",
        "no",
    );
    check(
        json!([{ "error": { "code": 429, "message": "slow", "status": "RESOURCE_EXHAUSTED" } }]),
        429,
        "RESOURCE_EXHAUSTED",
        "slow",
    );
    check(json!({ "error": "out of memory" }), 200, "", "out of memory");
    check(json!({ "object": "error", "message": "no", "code": 404 }), 404, "", "no");
    check(json!({ "error": { "code": "503", "message": "busy" } }), 503, "", "busy");
    for fine in [
        json!({ "error": null }),
        json!({ "choices": [] }),
        json!([]),
        json!(null),
        json!("error"),
        json!(1),
    ] {
        assert_eq!(refusal(&fine), None, "{fine}");
    }
}

/// Each format with an answer that holds every kind of event.
fn formats() -> [(Box<dyn Wire>, &'static [&'static str]); 4] {
    [
        (Box::new(anthropic::Anthropic), anthropic::tests::STREAM),
        (Box::new(openai::Openai), openai::tests::STREAM),
        (Box::new(openai_responses::OpenaiResponses), openai_responses::tests::STREAM),
        (Box::new(gemini::Gemini), gemini::tests::STREAM),
    ]
}

/// Feeds bytes as the carrier does, and gives the events up to the end or the first fault.
fn decode(wire: &dyn Wire, bytes: &[u8], chunk: usize) -> VecDeque<Event> {
    let (mut decoder, mut sse, mut out) = (wire.decoder(), Sse::default(), VecDeque::new());
    let mut state = Ok(Progress::More);
    for chunk in bytes.chunks(chunk) {
        sse.push(chunk, &mut |_, data| {
            if state == Ok(Progress::More) {
                state = decoder.event(data, &mut out);
            }
        })
        .unwrap();
    }
    if state == Ok(Progress::More) {
        decoder.end(&mut out);
    }
    out
}

fn check_order(events: &VecDeque<Event>) {
    let (mut open, mut stopped) = (HashSet::new(), false);
    for event in events {
        assert!(!stopped, "nothing follows the stop");
        match event {
            Event::CallStart { index, .. } => assert!(open.insert(*index)),
            Event::CallDelta { index, .. } => assert!(open.contains(index)),
            Event::CallEnd { index } => assert!(open.contains(index)),
            Event::Stop(_) => stopped = true,
            Event::Text(_)
            | Event::Thought(_)
            | Event::ThoughtEnd { .. }
            | Event::Usage(_)
            | Event::Notice(_) => {}
        }
    }
}

fn whole_stream(events: &[&str]) -> Vec<u8> {
    events.iter().map(|data| format!("data: {data}\r\n\r\n")).collect::<String>().into_bytes()
}

proptest! {
    #[test]
    fn damaged_answers_never_panic_and_keep_the_order(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        shuffle in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..3),
        chunk in 1usize..200,
    ) {
        for (wire, stream) in formats() {
            let mut events = stream.to_vec();
            for (a, b) in &shuffle {
                events.swap(a.index(stream.len()), b.index(stream.len()));
            }
            check_order(&decode(&*wire, &whole_stream(&events), chunk));
            let mut bytes = whole_stream(&events);
            for (place, byte) in &damage {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            check_order(&decode(&*wire, &bytes, chunk));
        }
    }

    #[test]
    fn chunks_make_no_difference(chunk in 1usize..100) {
        for (wire, stream) in formats() {
            let bytes = whole_stream(stream);
            prop_assert_eq!(decode(&*wire, &bytes, chunk), decode(&*wire, &bytes, bytes.len()));
        }
    }
}

#[test]
fn any_json_is_survived() {
    let odd = [
        "null",
        "1",
        "\"x\"",
        "[]",
        "{}",
        r#"{"choices":[]}"#,
        r#"{"choices":[null]}"#,
        r#"{"content":3}"#,
        r#"{"content":[3]}"#,
        r#"{"output":[null]}"#,
        r#"{"output":[{"type":"message"}]}"#,
        r#"{"candidates":[]}"#,
        r#"{"candidates":{"content":1}}"#,
        r#"{"error":{}}"#,
        r#"{"error":[]}"#,
    ];
    for (wire, _) in formats() {
        for text in odd {
            let mut out = VecDeque::new();
            let value: Value = serde_json::from_str(text).unwrap();
            let _ = wire.decoder().whole(value.clone(), &mut out);
            let _ = wire.decoder().event(text.as_bytes(), &mut out);
            wire.model_names(&value);
        }
    }
}

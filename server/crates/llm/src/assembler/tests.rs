use super::*;
use crate::testing::{by_model, call, text};

fn start(index: usize, id: &str) -> Event {
    Event::CallStart { index, id: id.into(), name: "Read".into() }
}

fn delta(index: usize, json: &str) -> Event {
    Event::CallDelta { index, json: json.into() }
}

fn assemble(history: &[Message], events: Vec<Event>) -> (Vec<Event>, Finished) {
    let mut assembler = Assembler::new(history);
    let passed = events.into_iter().map(|event| assembler.push(event)).collect();
    (passed, assembler.finish())
}

#[test]
fn missing_and_repeated_ids_are_replaced_in_events_and_message_alike() {
    let history = [by_model(vec![call("old", "Read", "{}")])];
    let mut events = Vec::new();
    for (index, id) in ["", "a", "a", "old"].into_iter().enumerate() {
        events.extend([start(index, id), Event::CallEnd { index }]);
    }
    let (passed, finished) = assemble(&history, events);
    let told: Vec<&String> = passed
        .iter()
        .filter_map(|event| match event {
            Event::CallStart { id, .. } => Some(id),
            _ => None,
        })
        .collect();
    let kept: Vec<&String> = finished
        .message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { id, .. } => Some(id),
            _ => None,
        })
        .collect();
    assert_eq!(told, kept);
    assert_eq!(kept[1], "a");
    assert_eq!(kept.iter().collect::<HashSet<_>>().len(), 4);
    assert!(!kept.iter().any(|id| id.is_empty() || *id == "old"));
    assert_eq!(finished.stop, Stop::Other("cut".into()));
}

#[test]
fn broken_arguments_are_kept_as_written() {
    let (_, finished) = assemble(
        &[],
        vec![
            start(0, "a"),
            delta(0, "{\"x\": "),
            delta(0, "oops"),
            Event::CallEnd { index: 0 },
            Event::Stop(Stop::ToolUse),
        ],
    );
    assert_eq!(finished.message, by_model(vec![call("a", "Read", "{\"x\": oops")]));
    assert_eq!(finished.note, None);
}

#[test]
fn a_call_that_was_cut_off_is_dropped_and_told() {
    let (_, finished) = assemble(
        &[],
        vec![
            Event::Text("First.".into()),
            start(0, "a"),
            delta(0, "{}"),
            Event::CallEnd { index: 0 },
            start(1, "b"),
            delta(1, "{\"x\""),
        ],
    );
    assert_eq!(finished.message, by_model(vec![text("First."), call("a", "Read", "{}")]));
    assert_eq!(finished.stop, Stop::Other("cut".into()));
    assert_eq!(
        finished.note.as_deref(),
        Some("the answer was cut off inside a call of Read; the call was not run")
    );
}

#[test]
fn the_output_limit_may_cut_a_call_that_seems_to_have_ended() {
    let end = |json: &str| {
        vec![
            start(0, "a"),
            delta(0, json),
            Event::CallEnd { index: 0 },
            Event::Stop(Stop::MaxTokens),
        ]
    };
    let (_, finished) = assemble(&[], end("{\"x\": \"unfin"));
    assert_eq!((finished.message.parts.len(), finished.note.is_some()), (0, true));
    let (_, finished) = assemble(&[], end("{\"x\": 1}"));
    assert_eq!((finished.message.parts.len(), finished.note.is_some()), (1, false));
}

#[test]
fn thoughts_and_texts_are_joined_up_to_their_ends() {
    let sign =
        |signature: &str| Event::ThoughtEnd { signature: Some(signature.into()), opaque: None };
    let thought = |text: &str, signature: &str| Part::Thought {
        text: text.into(),
        signature: Some(signature.into()),
        opaque: None,
    };
    let (_, finished) = assemble(
        &[],
        vec![
            Event::Thought("a".into()),
            Event::Thought("b".into()),
            sign("1"),
            Event::Thought("c".into()),
            sign("2"),
            sign("3"),
            Event::Text("x".into()),
            Event::Notice("not part of it".into()),
            Event::Text("y".into()),
            Event::Stop(Stop::ToolUse),
        ],
    );
    assert_eq!(
        finished.message,
        by_model(vec![thought("ab", "1"), thought("c", "2"), thought("", "3"), text("xy")])
    );
    assert_eq!(finished.stop, Stop::EndTurn, "no call came");
}

#[test]
fn the_persisted_form_is_stable() {
    let message = by_model(vec![
        Part::Thought { text: "t".into(), signature: Some("s".into()), opaque: None },
        text("x"),
        call("a", "Read", "{"),
    ]);
    let json = serde_json::to_string(&message).unwrap();
    assert_eq!(
        json,
        r#"{"role":"assistant","parts":[{"type":"thought","text":"t","signature":"s"},{"type":"text","text":"x"},{"type":"tool_call","id":"a","name":"Read","arguments":"{"}]}"#
    );
    assert_eq!(serde_json::from_str::<Message>(&json).unwrap(), message);
}

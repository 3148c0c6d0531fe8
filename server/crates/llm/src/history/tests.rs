use std::collections::HashSet;

use proptest::prelude::*;

use super::{text_of, turns};
use crate::testing::*;
use crate::{Message, Part, ResultPart, Role};

#[track_caller]
fn check(messages: &[Message], expected: &[Message]) {
    let got: Vec<Message> = turns(messages)
        .into_iter()
        .map(|turn| Message {
            role: turn.role,
            parts: turn.parts.into_iter().map(|part| part.into_owned()).collect(),
        })
        .collect();
    assert_eq!(got, expected);
}

fn interrupted(id: &str, name: &str) -> Part {
    Part::ToolResult {
        id: id.into(),
        name: name.into(),
        content: vec![ResultPart::Text {
            text: "The call was interrupted; there is no result.".into(),
        }],
        is_error: true,
    }
}

#[test]
fn a_good_conversation_stays_as_it_is() {
    let good = [
        Message::user("Read."),
        by_model(vec![text("Yes."), call("a", "Read", "{}")]),
        by_user(vec![result_text("a", "x"), text("And?")]),
    ];
    check(&good, &good);
    check(&[], &[]);
}

#[test]
fn results_come_first_and_in_the_order_of_the_calls() {
    let calls = by_model(vec![call("a", "Read", "{}"), call("b", "Read", "{}")]);
    check(
        &[
            Message::user("Read."),
            calls.clone(),
            by_user(vec![text("Wait."), result_text("b", "2")]),
            by_user(vec![result_text("a", "1")]),
        ],
        &[
            Message::user("Read."),
            calls,
            by_user(vec![result_text("a", "1"), result_text("b", "2"), text("Wait.")]),
        ],
    );
}

#[test]
fn calls_without_results_get_one() {
    let calls = by_model(vec![call("a", "Read", "{}"), call("b", "Bash", "{}")]);
    check(
        &[Message::user("Go."), calls.clone()],
        &[
            Message::user("Go."),
            calls.clone(),
            by_user(vec![interrupted("a", "Read"), interrupted("b", "Bash")]),
        ],
    );
    check(
        &[Message::user("Go."), calls.clone(), by_user(vec![text("No."), result_text("a", "1")])],
        &[
            Message::user("Go."),
            calls,
            by_user(vec![result_text("a", "1"), interrupted("b", "Bash"), text("No.")]),
        ],
    );
}

#[test]
fn results_without_a_call_become_text() {
    check(
        &[by_user(vec![result_text("a", "1"), text("Go.")])],
        &[by_user(vec![text("Result of an earlier call of Read:\n1"), text("Go.")])],
    );
}

#[test]
fn beginning_and_end_belong_to_the_user() {
    check(
        &[Message::assistant("Hello.")],
        &[
            Message::user("(The beginning of the conversation was left out.)"),
            Message::assistant("Hello."),
            Message::user("Continue."),
        ],
    );
}

#[test]
fn empty_parts_and_messages_are_left_out() {
    check(
        &[Message::user("a"), by_model(vec![text("  \n")]), by_model(vec![]), Message::user("b")],
        &[by_user(vec![text("a"), text("b")])],
    );
}

#[test]
fn a_result_is_never_empty() {
    assert_eq!(text_of(&[]), "(no output)");
    assert_eq!(text_of(&[ResultPart::Text { text: " ".into() }]), "(no output)");
    assert_eq!(text_of(&[image()]), "(see the image)");
}

fn part() -> impl Strategy<Value = Part> {
    let id = "[abc]";
    prop_oneof![
        Just(text("words")),
        Just(text(" ")),
        id.prop_map(|id| call(&id, "Read", "{}")),
        id.prop_map(|id| result_text(&id, "x")),
        Just(Part::Thought { text: "hm".into(), signature: None, opaque: None }),
        Just(Part::Image { media_type: "image/png".into(), data: String::new() }),
    ]
}

fn conversation() -> impl Strategy<Value = Vec<Message>> {
    let role = prop_oneof![Just(Role::User), Just(Role::Assistant)];
    let message = (role, prop::collection::vec(part(), 0..5))
        .prop_map(|(role, parts)| Message { role, parts });
    prop::collection::vec(message, 0..8)
}

proptest! {
    #[test]
    fn any_conversation_ends_up_in_order(messages in conversation()) {
        let turns = turns(&messages);
        let mut calls: Vec<String> = Vec::new();
        for (place, turn) in turns.iter().enumerate() {
            prop_assert_eq!(turn.role == Role::User, place % 2 == 0, "roles alternate");
            prop_assert!(!turn.parts.is_empty());
            let ids = |wanted: fn(&Part) -> Option<&String>| -> Vec<String> {
                turn.parts.iter().filter_map(|part| wanted(part).cloned()).collect()
            };
            let results = ids(|part| if let Part::ToolResult { id, .. } = part { Some(id) } else { None });
            prop_assert_eq!(&results, &calls, "each call is answered once, in order");
            let first_are_results = turn.parts.iter().take(results.len()).all(|part| matches!(**part, Part::ToolResult { .. }));
            prop_assert!(first_are_results);
            calls = ids(|part| if let Part::ToolCall { id, .. } = part { Some(id) } else { None });
            prop_assert_eq!(calls.iter().collect::<HashSet<_>>().len(), calls.len());
        }
        prop_assert!(turns.len() % 2 == 1 || turns.is_empty(), "the user has the last word");
        prop_assert!(calls.is_empty());
    }
}

use llm::{Message, Part, Role};
use protocol::acp::{ContentBlock, ContentChunk, SessionUpdate, UserMessage};

use super::*;
use crate::timeline::{Checkpoint, Rewind};

fn prompt(id: &str) -> Record {
    let message = UserMessage::new(id.to_string()).content(vec![ContentBlock::from(id)]);
    Record::Update { update: SessionUpdate::UserMessage(message) }
}

fn says(id: &str) -> Record {
    let chunk = ContentChunk::new(ContentBlock::from(id), id.to_string());
    Record::Update { update: SessionUpdate::AgentMessageChunk(chunk) }
}

fn message(role: Role, text: &str) -> Record {
    let parts = vec![Part::Text { text: text.into() }];
    Record::Message { message: Message { role, parts } }
}

fn delivered(id: &str) -> Record {
    let checkpoint = Checkpoint { id: id.into(), label: id.into(), time: 1 };
    Record::Delivered { checkpoint }
}

/// A prompt and its answer.
fn turn(id: &str) -> Vec<Record> {
    vec![
        prompt(id),
        delivered(id),
        message(Role::User, id),
        says(&format!("answer to {id}")),
        message(Role::Assistant, &format!("answer to {id}")),
    ]
}

fn back_to(number: u64, id: &str) -> Record {
    let conversation = Some(id.to_string());
    Record::Rewound {
        rewind: Rewind { number, conversation, taken: Vec::new(), files: Vec::new() },
    }
}

/// What was shown and what the model has, in words.
fn words(conversation: &Conversation) -> (Vec<String>, Vec<String>) {
    let shown = conversation.history.updates().iter().map(|it| match it {
        SessionUpdate::UserMessage(it) => it.message_id.to_string(),
        SessionUpdate::AgentMessageChunk(it) => it.message_id.to_string(),
        _ => "?".to_string(),
    });
    let held = conversation.messages.iter().map(|it| match it.parts.first() {
        Some(Part::Text { text }) => text.clone(),
        Some(Part::ToolCall { name, .. }) => format!("call {name}"),
        Some(Part::ToolResult { name, .. }) => format!("result of {name}"),
        _ => "?".to_string(),
    });
    (shown.collect(), held.collect())
}

#[track_caller]
fn check(records: Vec<Record>, shown: &[&str], held: &[&str]) {
    // As they are read from a file.
    let read = |it: &Record| serde_json::from_str(&serde_json::to_string(it).unwrap()).unwrap();
    let records: Vec<Record> = records.iter().map(read).collect();
    let (actually_shown, actually_held) = words(&Conversation::of(records));
    assert_eq!(actually_shown, shown);
    assert_eq!(actually_held, held);
}

#[test]
fn a_conversation_ends_before_the_prompt_it_was_taken_back_to() {
    let mut records = turn("a");
    records.extend(turn("b"));
    records.extend(turn("c"));
    records.push(back_to(1, "b"));
    let first = ["a", "answer to a"];
    check(records.clone(), &first, &first);
    // It goes on from there.
    records.extend(turn("d"));
    let both = ["a", "answer to a", "d", "answer to d"];
    check(records, &both, &both);
}

#[test]
fn a_rewind_is_undone_also_after_a_restart() {
    let mut records = turn("a");
    records.extend(turn("b"));
    records.push(back_to(1, "a"));
    check(records.clone(), &[], &[]);
    records.push(Record::Unrewound { number: 1 });
    let both = ["a", "answer to a", "b", "answer to b"];
    check(records, &both, &both);
}

#[test]
fn the_end_of_the_turn_before_a_queued_prompt_stays() {
    let mut records = vec![prompt("a"), delivered("a"), message(Role::User, "a"), says("x")];
    // Both came while the first turn ran.
    records.extend([prompt("b"), prompt("c"), says("y"), message(Role::Assistant, "x y")]);
    records.extend([delivered("b"), message(Role::User, "b"), delivered("c")]);
    records.extend([message(Role::User, "c"), says("z"), message(Role::Assistant, "z")]);
    let mut at_c = records.clone();
    at_c.push(back_to(1, "c"));
    check(at_c, &["a", "x", "b", "y"], &["a", "x y", "b"]);
    records.push(back_to(1, "b"));
    check(records.clone(), &["a", "x", "y"], &["a", "x y"]);
    let conversation = Conversation::of(records.clone());
    let removed = conversation.timeline.undoable(1).unwrap().removed.as_ref().unwrap();
    assert_eq!(removed.kept_after().len(), 1, "the client dropped it with the prompt");
    assert_eq!(removed.lost().len(), 3, "b, c and z");
    records.push(Record::Unrewound { number: 1 });
    check(records, &["a", "x", "b", "c", "y", "z"], &["a", "x y", "b", "c", "z"]);
}

#[test]
fn a_call_that_was_cut_off_has_its_result_before_the_next_prompt() {
    let call = Part::ToolCall { id: "1".into(), name: "Read".into(), arguments: "{}".into() };
    let calling = Message { role: Role::Assistant, parts: vec![call] };
    let mut records = vec![prompt("a"), delivered("a"), message(Role::User, "a")];
    records.push(Record::Message { message: calling });
    records.extend(turn("b"));
    let held = ["a", "call Read", "result of Read", "b", "answer to b"];
    check(records.clone(), &["a", "b", "answer to b"], &held);
    records.push(back_to(1, "b"));
    check(records, &["a"], &held[..3]);
}

#[test]
fn steps_that_were_taken_back_count_again_when_that_is_undone() {
    use crate::timeline::{FileStep, Stood};
    let step = |name: &str| FileStep {
        call: String::new(),
        file: vfs::Location::disk(name),
        real: None,
        before: Stood::Nothing,
        after: Stood::Text { blob: [1; 32] },
        edits: vec![(0, 0, 1)],
        folders: Vec::new(),
        pending: None,
        moved_from: None,
    };
    let mut records = turn("a");
    records.push(Record::Steps { steps: vec![step("/a"), step("/b")] });
    records.extend(turn("b"));
    records.push(Record::Steps { steps: vec![step("/c")] });
    let since = |records: &[Record], id: &str| -> Vec<usize> {
        let conversation = Conversation::of(records.to_vec());
        let mark = conversation.timeline.find(id).unwrap();
        conversation.timeline.since(mark).into_iter().map(|(at, _)| at).collect()
    };
    assert_eq!(since(&records, "a"), [0, 1, 2]);
    assert_eq!(since(&records, "b"), [2]);
    let rewind = Rewind { number: 1, conversation: None, taken: vec![0, 2], files: Vec::new() };
    records.push(Record::Rewound { rewind });
    assert_eq!(since(&records, "a"), [1]);
    records.push(Record::Unrewound { number: 1 });
    assert_eq!(since(&records, "a"), [0, 1, 2]);
}

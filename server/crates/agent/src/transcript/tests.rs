use std::sync::Arc;

use base64::{Engine, engine::general_purpose::STANDARD};
use protocol::acp::{Notice, NoticeSeverity, ToolCallContent, ToolCallStatus};
use serde_json::{Value, json};

use super::*;
use crate::cards;
use crate::testing::FakeEditor;

const LIMIT: usize = 64_000;

fn transcript() -> (Arc<FakeEditor>, Transcript) {
    let vfs = vfs::Vfs::new(vfs::Options {
        unit: text::Unit::Utf8,
        breaks: text::LineBreaks::Lf,
        state_dir: None,
    });
    let editor = FakeEditor::new(vfs);
    let history = History::default();
    let transcript = Transcript::new("s".to_string().into(), editor.clone(), Log::none(), history);
    (editor, transcript)
}

fn sent(editor: &FakeEditor) -> Vec<Value> {
    editor.notes.lock().unwrap().iter().map(|it| serde_json::to_value(it).unwrap()).collect()
}

/// What was sent: the kinds and texts.
fn words(editor: &FakeEditor) -> Vec<String> {
    let word = |it: &Value| {
        let update = &it["update"];
        let text = update["content"]["text"].as_str().or(update["title"].as_str());
        text.or(update["toolCallId"].as_str()).unwrap_or("?").to_string()
    };
    sent(editor).iter().map(word).collect()
}

fn card(id: &str) -> ToolCallUpdate {
    ToolCallUpdate::new(id.to_string())
}

#[track_caller]
fn check_sizes(editor: &FakeEditor) {
    for note in editor.notes.lock().unwrap().iter() {
        let size = serde_json::to_string(note).unwrap().len();
        assert!(size < LIMIT, "a notification of {size} bytes");
    }
}

#[test]
fn a_delta_is_held_only_while_the_last_one_is_young() {
    let now = Instant::now();
    let before = |ms: u64| now.checked_sub(Duration::from_millis(ms));
    assert_eq!(held_until(None, now), None);
    assert_eq!(held_until(before(0), now), Some(now + MERGE));
    assert_eq!(held_until(before(32), now), Some(now + Duration::from_millis(1)));
    assert_eq!(held_until(before(33), now), None);
    assert_eq!(held_until(before(5_000), now), None);
}

#[tokio::test]
async fn the_first_delta_leaves_at_once_and_a_held_one_by_itself() {
    let (editor, transcript) = transcript();
    transcript.delta(DeltaKind::Message, "m", "a");
    assert_eq!(words(&editor), ["a"]);
    transcript.delta(DeltaKind::Message, "m", "b");
    transcript.delta(DeltaKind::Message, "m", "c");
    editor.until(|it| words(it).concat() == "abc").await;
}

#[tokio::test]
async fn everything_leaves_in_order_and_numbered() {
    let (editor, transcript) = transcript();
    transcript.delta(DeltaKind::Thought, "t", "1");
    transcript.delta(DeltaKind::Thought, "t", "2");
    transcript.delta(DeltaKind::Message, "m", "3");
    transcript.delta(DeltaKind::Message, "m", "4");
    transcript.send(SessionUpdate::ToolCallUpdate(card("5")));
    transcript.delta(DeltaKind::Message, "m", "6");
    transcript.delta(DeltaKind::Message, "n", "7");
    transcript.send(SessionUpdate::Notice(Notice::new(NoticeSeverity::Info, "8")));
    transcript.delta(DeltaKind::Message, "n", "9");
    transcript.delta(DeltaKind::Message, "n", "");
    transcript.flush();
    assert_eq!(words(&editor).concat(), "123456789");
    let numbers: Vec<u64> =
        sent(&editor).iter().map(|it| it["_meta"]["copydesk"]["seq"].as_u64().unwrap()).collect();
    assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<u64>>());
}

#[tokio::test]
async fn long_text_leaves_in_pieces_that_fit() {
    for text in ["x", "é日", "\"\\\n", "\u{1}", "😀"] {
        let (editor, transcript) = transcript();
        let long = text.repeat(200_000 / text.len());
        transcript.delta(DeltaKind::Message, "m", &long);
        transcript.delta(DeltaKind::Message, "m", &long);
        transcript.flush();
        assert!(words(&editor).concat() == format!("{long}{long}"), "{text:?}");
        check_sizes(&editor);
        transcript.replay();
        check_sizes(&editor);
    }
}

#[tokio::test]
async fn a_replay_shows_each_thing_once_and_whole() {
    let (editor, transcript) = transcript();
    for piece in ["one ", "two ", "three"] {
        transcript.delta(DeltaKind::Message, "m", piece);
        transcript.flush();
    }
    transcript.send(SessionUpdate::ToolCallUpdate(
        card("c").title("first").status(ToolCallStatus::Pending),
    ));
    transcript.send(SessionUpdate::Notice(Notice::new(NoticeSeverity::Info, "of the moment")));
    transcript.send(SessionUpdate::ToolCallUpdate(
        card("c").title("second").status(ToolCallStatus::Completed),
    ));
    transcript.send(SessionUpdate::ToolCallUpdate(card("open").status(ToolCallStatus::InProgress)));
    for piece in ["a", "bc"] {
        let chunk = TerminalOutputChunk::new("t".to_string(), STANDARD.encode(piece));
        transcript.send(SessionUpdate::TerminalOutputChunk(chunk));
    }
    let before = sent(&editor).len();
    transcript.replay();
    let replayed: Vec<Value> = sent(&editor).split_off(before);
    let updates: Vec<Value> = replayed.iter().map(|it| it["update"].clone()).collect();
    assert_eq!(updates.len(), 4, "{updates:#?}");
    assert_eq!(updates[0]["content"]["text"], "one two three");
    assert_eq!(
        (&updates[1]["title"], &updates[1]["status"]),
        (&json!("second"), &json!("completed"))
    );
    assert_eq!(updates[3]["data"], STANDARD.encode("abc"));
    let first = replayed[0]["_meta"]["copydesk"]["seq"].as_u64().unwrap();
    assert_eq!(first, before as u64 + 1);
    let mut history = History::default();
    transcript.history().iter().for_each(|it| history.add(it));
    let endings = serde_json::to_value(history.endings()).unwrap();
    assert_eq!(
        endings,
        json!([{ "sessionUpdate": "tool_call_update", "toolCallId": "open", "status": "cancelled" }])
    );
}

#[test]
fn a_process_that_went_leaves_no_program_running_and_no_password_wanted() {
    let asking = |copydesk: Value| {
        let mut meta = Meta::new();
        meta.insert("copydesk".into(), copydesk);
        SessionUpdate::ToolCallUpdate(card("c").status(ToolCallStatus::Completed).meta(meta))
    };
    let wanted = asking(json!({ "secretInput": { "jobId": "t", "prompt": "PIN:" } }));
    let started = |id: &str| SessionUpdate::TerminalUpdate(TerminalUpdate::new(id.to_owned()));
    let ended = |id: &str| {
        let ended = TerminalUpdate::new(id.to_owned()).exit_status(TerminalExitStatus::new());
        SessionUpdate::TerminalUpdate(ended)
    };
    let mut history = History::default();
    [started("t"), started("u"), wanted, ended("u")].iter().for_each(|it| history.add(it));
    let endings = history.endings();
    assert_eq!(
        serde_json::to_value(&endings).unwrap(),
        json!([
            { "sessionUpdate": "tool_call_update", "toolCallId": "c", "_meta": { "copydesk": {} } },
            { "sessionUpdate": "terminal_update", "terminalId": "t", "exitStatus": {} },
        ])
    );
    endings.iter().for_each(|it| history.add(it));
    assert!(history.endings().is_empty());
}

#[tokio::test]
async fn much_terminal_output_keeps_its_end_for_the_replay() {
    let (editor, transcript) = transcript();
    for nth in 0..40 {
        let piece = format!("{nth:>8192}");
        let chunk = TerminalOutputChunk::new("t".to_string(), STANDARD.encode(piece));
        transcript.send(SessionUpdate::TerminalOutputChunk(chunk));
    }
    transcript.replay();
    check_sizes(&editor);
    let data = sent(&editor).pop().unwrap()["update"]["data"].as_str().unwrap().to_string();
    let bytes = STANDARD.decode(data).unwrap();
    assert!(bytes.ends_with(b"39") && bytes.len() == REPLAY_TERMINAL);
}

#[tokio::test]
async fn a_card_of_anything_fits_a_notification() {
    for text in ["x", "é日", "\"\\\n", "\u{1}", "line\n"] {
        let (editor, transcript) = transcript();
        let long = text.repeat(300_000 / text.len());
        let rope = text::Rope::from_str(&long);
        let changes = text::ChangeSet::whole(&text::Rope::new(), &long);
        let location = vfs::Location::disk("/w/a.txt");
        let diff =
            cards::diff(&location, cards::Operation::Add, &text::Rope::new(), &rope, &changes);
        let words = cards::of_content(&[crate::tool::Content::Text(long.clone())]);
        let edits: Vec<Value> =
            (0..300).map(|_| json!({ "old_string": long, "new_string": long })).collect();
        let raw = bounds::value(&json!({ "file_path": long, "edits": edits, long.clone(): long }));
        for block in [vec![diff.clone()], words.clone(), vec![diff, words[0].clone()]] {
            let shown = cards::bounded(block);
            let lost = |it: &ToolCallContent| {
                serde_json::to_string(it).unwrap().contains("not shown here")
            };
            assert!(!lost(&shown[0]), "the first block is shown");
            let whole = card("c")
                .content(shown)
                .raw_input(raw.clone())
                .raw_output(raw.clone())
                .title(bounds::title(&long));
            transcript.send(SessionUpdate::ToolCallUpdate(whole));
        }
        check_sizes(&editor);
    }
}

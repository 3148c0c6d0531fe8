//! Unsaved buffers, stale text, lost work of the person.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::{decide, decide_all, dialogs, edit, hunks, ids, seen, unasked};
use crate::editor::{Answer, Editor, Kind, REJECT, Start, Told};
use crate::model::{Model, Step};
use crate::workspace::{PATIENCE, Workspace, until};

/// Ends the person's typing, also when the test fails.
struct Done<'a>(&'a AtomicBool);

impl Drop for Done<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn numbered(count: usize) -> String {
    (1..=count).map(|n| format!("line {n}\n")).collect()
}

/// A1: the agent sees what is typed and not saved, and its edit of another line leaves it.
#[test]
fn unsaved_text_is_seen_and_survives_an_edit_elsewhere() {
    let text = numbered(30);
    let workspace = Workspace::new(&[("a.txt", &text)]);
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt", "limit": 1 })),
        Step::text("It says X."),
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call("Edit", edit("a.txt", "line 20\n", "LINE 20\n")),
        Step::text("Done."),
    ]);
    let editor = Editor::open(&workspace, &model.settings());
    editor.open_file("a.txt");
    editor.type_before("a.txt", "line 1\n", "X");
    let session = editor.session();
    session.prompt("what is on line 1?");
    assert!(model.results()[0].contains("Xline 1"), "{:?}", model.results());
    session.prompt("shout line 20");
    assert_eq!(editor.text("a.txt"), format!("X{}", text.replace("line 20\n", "LINE 20\n")));
    assert_eq!(workspace.read("a.txt"), text);
}

/// A2: an edit of a dirty buffer lands in the buffer, not on the disk, and no dialog comes up.
#[test]
fn a_dirty_buffer_holds_both_and_nobody_is_made_to_choose() {
    let text = numbered(60);
    let workspace = Workspace::new(&[("a.txt", &text)]);
    let editor = Editor::open(&workspace, &json!({}));
    editor.open_file("a.txt");
    editor.retype("a.txt", "line 1\n", "mine\n");
    seen(&editor, "a.txt").tool("Edit", edit("a.txt", "line 50\n", "agent's\n")).ok();
    let both = text.replacen("line 1\n", "mine\n", 1).replace("line 50\n", "agent's\n");
    assert_eq!(editor.text("a.txt"), both);
    assert_eq!(workspace.read("a.txt"), text);
    assert_eq!(dialogs(&editor), [json!(null); 0]);
    assert!(editor.lock().saved.is_empty());
}

/// A4: what is typed after a change was accepted is saved where the person saves it.
#[test]
fn typing_after_an_accepted_change_reaches_the_disk() {
    let workspace = Workspace::new(&[("a.txt", "one\ntwo\nthree\n")]);
    let editor = Editor::open(&workspace, &unasked());
    let uri = editor.open_file("a.txt");
    seen(&editor, "a.txt").tool("Edit", edit("a.txt", "two", "TWO")).ok();
    decide_all(&editor, "accept");
    assert_eq!(
        editor.lock().documents.keys().collect::<Vec<_>>(),
        [&uri],
        "no other document to type in"
    );
    until("the save", PATIENCE, || workspace.read("a.txt") == "one\nTWO\nthree\n");
    editor.type_before("a.txt", "three", "hours of work\n");
    editor.save("a.txt");
    assert_eq!(workspace.read("a.txt"), "one\nTWO\nhours of work\nthree\n");
    assert!(hunks(&editor).is_empty());
}

/// A8: a file of which the agent has read a part only is not written as a whole.
#[test]
fn a_file_read_in_part_is_not_overwritten() {
    let text = numbered(100);
    let workspace = Workspace::new(&[("a.txt", &text)]);
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt", "limit": 10 })),
        Step::call("Write", json!({ "file_path": "a.txt", "content": "line 1\nline 2\n" })),
        Step::text("I see."),
    ]);
    let editor = Editor::open(&workspace, &model.settings_with(&unasked()));
    editor.open_file("a.txt");
    editor.session().prompt("shorten it");
    assert_eq!(editor.text("a.txt"), text);
    assert_eq!(workspace.read("a.txt"), text);
    let refusal = model.results().pop().unwrap_or_default();
    assert!(refusal.contains("read") || refusal.contains("Read"), "{refusal}");
    assert!(refusal.len() < 8192, "{} bytes", refusal.len());
}

/// A10: the person writes lines while twenty edits arrive; the result is both, and no dialog comes up.
#[test]
fn a_person_who_writes_during_twenty_edits_loses_nothing() {
    for (kind, told) in [(Kind::Strict, Told::BeforeAnswer), (Kind::Lying, Told::AfterAnswer)] {
        let text = numbered(20);
        let workspace = Workspace::new(&[("a.txt", &text)]);
        let editor = Start::new(&workspace).kind(kind).told(told).settings(&unasked()).start();
        let uri = editor.open_file("a.txt");
        let session = seen(&editor, "a.txt");
        let done = AtomicBool::new(false);
        let mut written = 0;
        std::thread::scope(|scope| {
            let _done = Done(&done);
            // They write whenever a card shows something new, so that edits meet their typing at any speed.
            let person = scope.spawn(|| {
                let (mut count, mut seen) = (0, 0);
                loop {
                    editor.wait("something new", |state| {
                        let news = state.log.iter().filter(|it| it["method"] == "session/update");
                        let news = news.count();
                        let is_new = std::mem::replace(&mut seen, news) < news;
                        (is_new || done.load(Ordering::Relaxed)).then_some(())
                    });
                    if done.load(Ordering::Relaxed) {
                        return count;
                    }
                    let mut state = editor.lock();
                    let end = state.documents[&uri].text.len();
                    state.type_at(&uri, end..end, &format!("mine {count}\n"));
                    count += 1;
                }
            });
            for n in 1..=20 {
                let called = session
                    .tool("Edit", edit("a.txt", &format!("line {n}\n"), &format!("LINE {n}\n")));
                assert!(!called.is_error, "{kind:?}: {}", called.text);
            }
            done.store(true, Ordering::Relaxed);
            written = person.join().expect("the person");
        });
        assert!(written > 0, "the person wrote something");
        let mine: String = (0..written).map(|n| format!("mine {n}\n")).collect();
        assert_eq!(editor.text("a.txt"), text.replace("line", "LINE") + &mine, "{kind:?}");
        assert_eq!(workspace.read("a.txt"), text, "the person's own text is not saved for them");
        assert_eq!(dialogs(&editor), [json!(null); 0]);
    }
}

/// A11: an edit proposed for a dirty buffer and turned down leaves buffer, disk and server as they were.
#[test]
fn a_proposal_for_a_dirty_buffer_breaks_nothing() {
    let workspace = Workspace::new(&[("a.txt", "one\ntwo\n")]);
    let editor = Editor::open(&workspace, &json!({}));
    editor.open_file("a.txt");
    editor.type_before("a.txt", "one", "unsaved ");
    let session = seen(&editor, "a.txt");
    editor.permit(Answer::Hold);
    let call = session.begin_tool("Edit", edit("a.txt", "two", "TWO"));
    editor.wait("the permission request", |state| (!state.held.is_empty()).then_some(()));
    let card = session.cards().pop().expect("a card");
    assert!(card["content"].to_string().contains("+TWO"), "the proposal is shown: {card}");
    editor.answer(&REJECT);
    session.finish_tool(call).err();
    assert_eq!(editor.text("a.txt"), "unsaved one\ntwo\n");
    assert_eq!(workspace.read("a.txt"), "one\ntwo\n");
    assert!(editor.lock().applied.is_empty() && hunks(&editor).is_empty());
}

/// A13: closing decides nothing, and a new file whose writing is cancelled leaves nothing.
#[test]
fn closing_keeps_hunks_pending_and_a_cancelled_write_leaves_no_file() {
    let workspace = Workspace::new(&[("a.txt", "one\ntwo\n")]);
    let model = Model::new([Step::text("I write it")
        .and_call("Write", json!({ "file_path": "new.txt", "content": "half" }))
        .held()]);
    let editor = Editor::open(&workspace, &model.settings_with(&unasked()));
    editor.open_file("a.txt");
    let session = seen(&editor, "a.txt");
    session.tool("Edit", edit("a.txt", "two", "TWO")).ok();
    let before = ids(&editor);
    editor.save("a.txt");
    editor.close("a.txt");
    assert_eq!(ids(&editor), before);

    let mark = session.send("make a file");
    session.wait_update("the first words", mark, |it| it["sessionUpdate"] == "agent_message_chunk");
    session.cancel();
    assert_eq!(session.until_idle(mark), "cancelled");
    assert!(!workspace.has("new.txt"));
    assert_eq!(ids(&editor), before);
    decide(&editor, "reject", &before[0]);
    assert_eq!(workspace.read("a.txt"), "one\ntwo\n");
}

/// A14: a turn nobody watches comes to its end though a buffer is dirty.
#[test]
fn an_unattended_turn_ends_in_spite_of_a_dirty_buffer() {
    let workspace = Workspace::new(&[("a.txt", "one\ntwo\n")]);
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call("Edit", edit("a.txt", "two", "TWO")),
        Step::call("Bash", json!({ "command": "cat a.txt" })),
        Step::text("Done."),
    ]);
    let editor = Editor::open(&workspace, &model.settings_with(&json!({ "mode": "auto" })));
    editor.permit(Answer::Hold);
    editor.open_file("a.txt");
    editor.type_before("a.txt", "one", "unsaved ");
    assert_eq!(editor.session().prompt("shout"), "end_turn");
    assert_eq!(editor.text("a.txt"), "unsaved one\nTWO\n");
    assert_eq!(
        workspace.read("a.txt"),
        "one\ntwo\n",
        "text the person has not saved is not saved for them"
    );
    assert!(editor.lock().held.is_empty() && dialogs(&editor).is_empty());
}

/// A19: of two buffers that were never saved the right one is edited, and nothing asks for a name.
#[test]
fn the_right_one_of_two_untitled_buffers_is_edited() {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &json!({}));
    for name in ["untitled:Untitled-1", "untitled:Untitled-2"] {
        editor.open_text(name, "draft\n");
    }
    seen(&editor, "untitled:Untitled-2")
        .tool("Edit", edit("untitled:Untitled-2", "draft", "final"))
        .ok();
    assert_eq!(editor.text("untitled:Untitled-1"), "draft\n");
    assert_eq!(editor.text("untitled:Untitled-2"), "final\n");
    assert!(dialogs(&editor).is_empty() && editor.asked("copydesk/editor/save").is_empty());
    decide_all(&editor, "reject");
    assert_eq!(editor.text("untitled:Untitled-2"), "draft\n");
    assert_eq!(std::fs::read_dir(workspace.root()).unwrap().count(), 0, "no file came of it");
}

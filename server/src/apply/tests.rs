use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use agent::editor::{
    Answer, Applied, ApplyError, Approval, Editor, FileOp, Kept, Saved, Status, Transaction,
};
use protocol::acp;
use serde_json::{Value, json};
use text::{ChangeSet, Edit, LineBreaks, Position, Rope, Unit};
use tokio::sync::mpsc;
use vfs::{DiskOp, EditorState, Eol, Location, Options, TextChange, Vfs};

use super::LspEditor;
use crate::capabilities::Client;
use crate::lsp::{self, Uris};
use crate::outbox::{Outbox, RpcError};

/// What the editor does with the next edit it is sent.
#[derive(Clone, Copy)]
enum Reaction {
    /// Applies it, version or not.
    Apply,
    /// Says that it applied it.
    Skip,
    /// Says no.
    Refuse,
    /// The person types first; then applies it blindly, as an editor without version checks does.
    TypeThenApply(usize, &'static str),
    /// The person types first; then it is refused for its version.
    TypeThenRefuse(usize, &'static str),
    /// The person types first; then it is skipped for its version, but reported as applied.
    TypeThenSkip(usize, &'static str),
    /// Applies it; then the person types.
    ApplyThenType(usize, &'static str),
    /// Applies it and never says so.
    ApplyWithoutAnswer,
    /// Makes the lower half of the edit's places, then the person types.
    ApplyHalfThenType(usize, &'static str),
}

/// An editor with open documents behind a real outbox.
struct Desk {
    editor: LspEditor,
    vfs: Vfs,
    folder: tempfile::TempDir,
    screen: Arc<Screen>,
}

/// The editor's side: what it was asked and how it reacts.
struct Screen {
    vfs: Vfs,
    reactions: Mutex<VecDeque<Reaction>>,
    asked: Mutex<Vec<Value>>,
    answers: Mutex<Vec<(&'static str, Result<Value, RpcError>)>>,
}

/// Cuts what the outbox writes back into messages.
struct Wire {
    bytes: Vec<u8>,
    messages: mpsc::UnboundedSender<Value>,
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.extend_from_slice(bytes);
        while let Some(at) = self.bytes.windows(4).position(|part| part == b"\r\n\r\n") {
            let header = std::str::from_utf8(&self.bytes[..at]).unwrap();
            let length: usize = header.strip_prefix("Content-Length: ").unwrap().parse().unwrap();
            let end = at + 4 + length;
            if self.bytes.len() < end {
                break;
            }
            let message = serde_json::from_slice(&self.bytes[at + 4..end]).unwrap();
            self.bytes.drain(..end);
            let _ = self.messages.send(message);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn full() -> Value {
    json!({
        "workspace": {"applyEdit": true, "workspaceEdit": {"resourceOperations": ["delete"]}},
        "window": {},
        "experimental": {"copydesk": {"permission": {}, "save": {}}},
    })
}

impl Desk {
    fn new(capabilities: Value) -> Desk {
        let (messages, mut incoming) = mpsc::unbounded_channel();
        let outbox = Outbox::start(Wire { bytes: Vec::new(), messages }).unwrap();
        let options = Options { unit: Unit::Utf16, breaks: LineBreaks::Lsp, state_dir: None };
        let vfs = Vfs::new(options);
        let params = serde_json::from_value(json!({"capabilities": capabilities})).unwrap();
        let client = Client::new(&params);
        let editor = LspEditor::new(outbox.clone(), vfs.clone(), Arc::<Uris>::default(), client);
        let screen = Arc::new(Screen {
            vfs: vfs.clone(),
            reactions: Mutex::default(),
            asked: Mutex::default(),
            answers: Mutex::default(),
        });
        let served = Arc::clone(&screen);
        tokio::spawn(async move {
            while let Some(message) = incoming.recv().await {
                served.serve(&outbox, message);
            }
        });
        Desk { editor, vfs, folder: tempfile::tempdir().unwrap(), screen }
    }

    fn place(&self, name: &str) -> Location {
        Location::disk(self.folder.path().join(name))
    }

    fn file(&self, name: &str, text: &str) -> Location {
        let place = self.place(name);
        let path = place.path().unwrap().to_owned();
        self.vfs.commit(vec![DiskOp::Create { path, text: text.to_owned() }]).unwrap();
        place
    }

    /// A file the editor has open.
    fn open(&self, name: &str, text: &str) -> Location {
        let place = self.file(name, text);
        self.vfs.open(place.clone(), "text", 1, text);
        place
    }

    fn reactions(&self, reactions: &[Reaction]) {
        self.screen.reactions.lock().unwrap().extend(reactions);
    }

    fn answers(&self, method: &'static str, answer: Result<Value, RpcError>) {
        self.screen.answers.lock().unwrap().push((method, answer));
    }

    fn modify(&self, place: &Location, old: &str, new: &str) -> FileOp {
        let base = self.vfs.snapshot(place).unwrap();
        let text = base.rope.to_string();
        let at = text.find(old).unwrap();
        let edit = Edit::new(at..at + old.len(), new);
        let changes = ChangeSet::new(text.len(), vec![edit]).unwrap();
        FileOp::Modify { base: Box::new(base), changes }
    }

    async fn apply(&self, approval: Approval, ops: Vec<FileOp>) -> Result<Applied, ApplyError> {
        let (session, call, label) = ("s".to_owned(), "c".to_owned(), "Edit".to_owned());
        let review = agent::settings::ReviewPolicy::AfterTurn;
        self.editor.apply(Transaction { session, call, label, ops, approval, review }).await
    }

    fn text(&self, place: &Location) -> String {
        self.vfs.snapshot(place).unwrap().rope.to_string()
    }

    fn on_disk(&self, place: &Location) -> String {
        self.vfs.disk_snapshot(place.path().unwrap()).unwrap().rope.to_string()
    }

    fn asked(&self, method: &str) -> Vec<Value> {
        let asked = self.screen.asked.lock().unwrap();
        asked.iter().filter(|it| it["method"] == method).map(|it| it["params"].clone()).collect()
    }
}

impl Screen {
    fn serve(&self, outbox: &Outbox, message: Value) {
        self.asked.lock().unwrap().push(message.clone());
        let Some(id) = message["id"].as_i64() else { return };
        let method = message["method"].as_str().unwrap();
        let mut answers = self.answers.lock().unwrap();
        let prepared = answers.iter().position(|(of, _)| *of == method);
        match (method, prepared) {
            (_, Some(at)) => outbox.answer(id, answers.remove(at).1),
            ("workspace/applyEdit", None) => {
                if let Some(answer) = self.edit(&message["params"]) {
                    outbox.answer(id, Ok(answer));
                }
            }
            ("copydesk/editor/save", None) => outbox.answer(id, Ok(self.save(&message["params"]))),
            _ => {}
        }
    }

    fn edit(&self, params: &Value) -> Option<Value> {
        let change = &params["edit"]["documentChanges"][0];
        if change["kind"] == "delete" {
            let place = lsp::location(change["uri"].as_str().unwrap());
            self.vfs.close(&place);
            let path = place.path().unwrap().to_owned();
            let base_hash = self.vfs.content_hash(&path).unwrap();
            self.vfs.commit(vec![DiskOp::Delete { path, base_hash }]).unwrap();
            return Some(json!({"applied": true}));
        }
        let place = lsp::location(change["textDocument"]["uri"].as_str().unwrap());
        let reaction = self.reactions.lock().unwrap().pop_front().unwrap_or(Reaction::Apply);
        let edits = || change["edits"].as_array().unwrap();
        match reaction {
            Reaction::Apply => self.apply(&place, edits()),
            Reaction::Skip => {}
            Reaction::Refuse => {
                return Some(json!({"applied": false, "failureReason": "not modifiable"}));
            }
            Reaction::TypeThenApply(at, text) => {
                self.types(&place, at, text);
                self.apply(&place, edits());
            }
            Reaction::TypeThenRefuse(at, text) => {
                self.types(&place, at, text);
                return Some(json!({"applied": false, "failureReason": "version mismatch"}));
            }
            Reaction::TypeThenSkip(at, text) => self.types(&place, at, text),
            Reaction::ApplyThenType(at, text) => {
                self.apply(&place, edits());
                self.types(&place, at, text);
            }
            Reaction::ApplyHalfThenType(at, text) => {
                let edits = edits();
                self.apply(&place, &edits[edits.len() / 2..]);
                self.types(&place, at, text);
            }
            Reaction::ApplyWithoutAnswer => {
                self.apply(&place, edits());
                return None;
            }
        }
        Some(json!({"applied": true}))
    }

    fn save(&self, params: &Value) -> Value {
        let results = params["uris"].as_array().unwrap().iter().map(|uri| {
            let place = lsp::location(uri.as_str().unwrap());
            let text = self.vfs.snapshot(&place).unwrap().rope;
            let path = place.path().unwrap();
            let disk = self.vfs.disk_snapshot(path).unwrap();
            let changes = ChangeSet::between(&disk.rope, &text);
            let op = DiskOp::Edit { path: path.to_owned(), base_hash: disk.hash(), changes };
            self.vfs.commit(vec![op]).unwrap();
            self.vfs.saved(&place, None);
            json!({"uri": uri, "saved": true})
        });
        json!({"results": results.collect::<Vec<_>>()})
    }

    fn apply(&self, place: &Location, edits: &[Value]) {
        let position = |at: &Value| Position {
            line: at["line"].as_u64().unwrap() as u32,
            character: at["character"].as_u64().unwrap() as u32,
        };
        let changes = edits.iter().rev().map(|edit| TextChange {
            range: Some((position(&edit["range"]["start"]), position(&edit["range"]["end"]))),
            text: edit["newText"].as_str().unwrap().to_owned(),
        });
        self.change(place, changes.collect());
    }

    /// The person types at a byte offset.
    fn types(&self, place: &Location, at: usize, text: &str) {
        let rope = self.vfs.snapshot(place).unwrap().rope;
        let at = text::position_at(&rope, at, Unit::Utf16, LineBreaks::Lsp);
        self.change(place, vec![TextChange { range: Some((at, at)), text: text.to_owned() }]);
    }

    fn change(&self, place: &Location, changes: Vec<TextChange>) {
        let version = self.vfs.document(place).unwrap().version + 1;
        self.vfs.change(place, version, changes).unwrap();
    }
}

fn kept(applied: &Result<Applied, ApplyError>, at: usize) -> Kept {
    applied.as_ref().unwrap().files[at].kept.clone()
}

fn is_unsaved(kept: &Kept) -> bool {
    matches!(kept, Kept::Buffer { .. } | Kept::Undecided)
}

#[tokio::test]
async fn an_edit_lands_in_the_buffer_and_leaves_the_file() {
    let desk = Desk::new(full());
    let place = desk.open("a.txt", "one\né🦀two\n");
    desk.screen.types(&place, 0, "unsaved ");
    let applied = desk.apply(Approval::Person, vec![desk.modify(&place, "two", "TWO\n")]).await;
    assert_eq!(desk.text(&place), "unsaved one\né🦀TWO\n\n");
    assert_eq!(desk.on_disk(&place), "one\né🦀two\n");
    assert!(is_unsaved(&kept(&applied, 0)), "the person's unsaved text is not saved for them");
    let file = &applied.unwrap().files[0];
    assert_eq!(file.changes.apply(&file.before), file.after);
    assert_eq!(file.after, Rope::from_str("unsaved one\né🦀TWO\n\n"));
    let sent = desk.asked("workspace/applyEdit");
    assert_eq!(sent.len(), 1);
    let change = &sent[0]["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"]["version"], 2);
    assert_eq!(change["edits"][0]["range"]["start"], json!({"line": 1, "character": 3}));
}

#[track_caller]
fn check_text(desk: &Desk, place: &Location, expected: &str) {
    assert_eq!(desk.text(place), expected);
}

#[tokio::test]
async fn typing_meanwhile_is_kept_whatever_the_editor_does() {
    use Reaction::{ApplyThenType, TypeThenApply, TypeThenRefuse, TypeThenSkip};
    for reaction in [
        TypeThenRefuse(0, "typed\n"),
        TypeThenSkip(0, "typed\n"),
        TypeThenApply(0, "typed\n"),
        ApplyThenType(0, "typed\n"),
    ] {
        let desk = Desk::new(full());
        let place = desk.open("a.txt", "one\ntwo\nthree\n");
        desk.reactions(&[reaction]);
        let applied = desk.apply(Approval::Policy, vec![desk.modify(&place, "two", "2")]).await;
        applied.unwrap();
        check_text(&desk, &place, "typed\none\n2\nthree\n");
    }
}

#[tokio::test]
async fn an_edit_the_editor_pretends_to_apply_is_sent_again() {
    let desk = Desk::new(full());
    let place = desk.open("a.txt", "one\n");
    desk.reactions(&[Reaction::Skip]);
    desk.apply(Approval::Policy, vec![desk.modify(&place, "one", "1")]).await.unwrap();
    check_text(&desk, &place, "1\n");
}

#[tokio::test]
async fn what_an_editor_leaves_out_of_an_edit_is_sent_again() {
    let before = "one\ntwo\nthree\nfour\n";
    let desk = Desk::new(full());
    let place = desk.open("a.txt", before);
    desk.reactions(&[Reaction::ApplyHalfThenType(0, "typed\n")]);
    let base = desk.vfs.snapshot(&place).unwrap();
    let edits = [(0, "one"), (4, "two"), (8, "three"), (14, "four")];
    let edits = edits.map(|(at, old)| Edit::new(at..at + old.len(), old.to_uppercase()));
    let changes = ChangeSet::new(before.len(), edits.to_vec()).unwrap();
    let op = FileOp::Modify { base: Box::new(base), changes: changes.clone() };
    let applied = desk.apply(Approval::Policy, vec![op]).await.unwrap();
    check_text(&desk, &place, "typed\nONE\nTWO\nTHREE\nFOUR\n");
    assert_eq!(applied.files[0].changes, changes);
    let sent = desk.asked("workspace/applyEdit");
    let counts = sent.iter().map(|it| it["edit"]["documentChanges"][0]["edits"].as_array());
    assert_eq!(counts.map(|it| it.unwrap().len()).collect::<Vec<_>>(), [4, 2]);
}

#[tokio::test]
async fn an_edit_lands_between_keystrokes_that_never_cease() {
    let desk = Desk::new(full());
    let place = desk.open("a.txt", "one\ntwo\n");
    desk.reactions(&[Reaction::TypeThenRefuse(0, "x"); 10]);
    desk.apply(Approval::Policy, vec![desk.modify(&place, "two", "2")]).await.unwrap();
    check_text(&desk, &place, "xxxxxxxxxxone\n2\n");
}

#[tokio::test]
async fn an_edit_that_is_in_needs_no_answer() {
    let desk = Desk::new(full());
    let place = desk.open("a.txt", "one\n");
    desk.reactions(&[Reaction::ApplyWithoutAnswer]);
    desk.apply(Approval::Policy, vec![desk.modify(&place, "one", "1")]).await.unwrap();
    check_text(&desk, &place, "1\n");
    assert_eq!(desk.asked("workspace/applyEdit").len(), 1);
}

#[tokio::test]
async fn typing_in_the_same_place_wins_and_is_shown() {
    let desk = Desk::new(full());
    let place = desk.open("a.txt", "one\ntwo\n");
    desk.reactions(&[Reaction::TypeThenRefuse(5, "X")]);
    let applied = desk.apply(Approval::Policy, vec![desk.modify(&place, "two", "2")]).await;
    let Err(ApplyError::Stale { first_line, current, .. }) = applied else {
        panic!("not stale: {applied:?}");
    };
    assert_eq!((first_line, current.as_str()), (1, "one\ntXwo\n"));
    check_text(&desk, &place, "one\ntXwo\n");
}

#[tokio::test]
async fn a_refusal_gives_the_editors_reason() {
    let desk = Desk::new(full());
    let place = desk.open("a.txt", "one\n");
    desk.reactions(&[Reaction::Refuse; 8]);
    let applied = desk.apply(Approval::Policy, vec![desk.modify(&place, "one", "1")]).await;
    let Err(ApplyError::Refused { reason, .. }) = applied else { panic!("{applied:?}") };
    assert_eq!(reason, "not modifiable");
    check_text(&desk, &place, "one\n");
}

#[tokio::test]
async fn a_failure_takes_back_every_file() {
    let desk = Desk::new(full());
    let (a, b) = (desk.open("a.txt", "a\n"), desk.open("b.txt", "b\n"));
    let closed = desk.file("c.txt", "c\n");
    let new = desk.place("new/d.txt");
    desk.reactions(&[Reaction::ApplyThenType(2, "typed\n"), Reaction::TypeThenRefuse(0, "x")]);
    let ops = vec![
        desk.modify(&closed, "c", "C"),
        FileOp::Create { location: new.clone(), text: "d\n".to_owned() },
        desk.modify(&a, "a", "A"),
        desk.modify(&b, "b", "B"),
    ];
    // The person's `x` stands where `b` is replaced from: the edit of b goes on beside it.
    desk.reactions(&[Reaction::Refuse; 4]);
    let applied = desk.apply(Approval::Policy, ops).await;
    assert!(matches!(applied, Err(ApplyError::Refused { .. })), "{applied:?}");
    check_text(&desk, &a, "a\ntyped\n");
    check_text(&desk, &b, "xb\n");
    assert_eq!(desk.on_disk(&closed), "c\n");
    assert!(!desk.vfs.exists(&new));
}

#[tokio::test]
async fn what_was_typed_over_is_named_not_overwritten() {
    let desk = Desk::new(full());
    let (a, b) = (desk.open("a.txt", "aaa\n"), desk.open("b.txt", "b\n"));
    desk.reactions(&[Reaction::ApplyThenType(1, "typed")]);
    desk.reactions(&[Reaction::Refuse; 8]);
    let ops = vec![desk.modify(&a, "aaa", "AAA"), desk.modify(&b, "b", "B")];
    let applied = desk.apply(Approval::Policy, ops).await;
    let Err(ApplyError::Conflict { kept, .. }) = applied else { panic!("{applied:?}") };
    assert_eq!(kept, a);
    check_text(&desk, &a, "AtypedAA\n");
}

#[tokio::test]
async fn closed_files_are_written_and_open_ones_are_not() {
    let desk = Desk::new(full());
    let (open, closed) = (desk.open("a.txt", "a\n"), desk.file("c.txt", "c\n"));
    let ops = vec![desk.modify(&open, "a", "A"), desk.modify(&closed, "c", "C")];
    let applied = desk.apply(Approval::Policy, ops).await;
    assert_eq!(kept(&applied, 1), Kept::Disk);
    assert!(is_unsaved(&kept(&applied, 0)));
    assert_eq!((desk.on_disk(&open).as_str(), desk.on_disk(&closed).as_str()), ("a\n", "C\n"));
}

#[tokio::test]
async fn an_approved_edit_of_a_clean_buffer_is_saved() {
    let desk = Desk::new(full());
    let place = desk.open("a.txt", "a\n");
    let applied = desk.apply(Approval::Person, vec![desk.modify(&place, "a", "A")]).await;
    assert_eq!(kept(&applied, 0), Kept::Disk);
    assert_eq!(desk.on_disk(&place), "A\n");
    desk.editor.set_save_policy(agent::settings::SavePolicy::Never);
    let applied = desk.apply(Approval::Person, vec![desk.modify(&place, "A", "B")]).await;
    assert!(is_unsaved(&kept(&applied, 0)));
    assert_eq!(
        desk.editor.save(&[place.clone(), desk.place("none")]).await,
        [Saved::Yes, Saved::Yes]
    );
    assert_eq!(desk.on_disk(&place), "B\n");
}

#[tokio::test]
async fn a_save_that_fails_says_why() {
    let desk = Desk::new(full());
    let place = desk.open("a.txt", "a\n");
    desk.answers("copydesk/editor/save", Err(RpcError::failed("busy", "disk full")));
    let applied = desk.apply(Approval::Person, vec![desk.modify(&place, "a", "A")]).await;
    assert_eq!(kept(&applied, 0), Kept::Buffer { reason: "the editor refused: disk full".into() });
}

#[tokio::test]
async fn what_the_encoding_lacks_is_not_sent() {
    let desk = Desk::new(full());
    let place = desk.open("a.txt", "a\nb\n");
    let state = EditorState {
        version: 1,
        dirty: false,
        encoding: "iso-8859-1".to_owned(),
        bom: false,
        eol: Eol::Lf,
        final_newline: true,
        read_only: false,
    };
    desk.vfs.set_editor_state(&place, state.clone());
    let applied = desk.apply(Approval::Policy, vec![desk.modify(&place, "b", "é\n日")]).await;
    let Err(ApplyError::Unencodable { character, line, .. }) = applied else {
        panic!("{applied:?}")
    };
    assert_eq!((character, line), ('日', 3));
    desk.vfs.set_editor_state(&place, EditorState { read_only: true, ..state });
    let applied = desk.apply(Approval::Policy, vec![desk.modify(&place, "b", "x")]).await;
    assert!(matches!(applied, Err(ApplyError::Refused { .. })));
    assert!(desk.asked("workspace/applyEdit").is_empty());
}

#[tokio::test]
async fn nothing_is_created_over_something_or_deleted_with_unsaved_text() {
    let desk = Desk::new(full());
    let (file, open) = (desk.file("f.txt", "f\n"), desk.open("o.txt", "o\n"));
    let create =
        |location: &Location| FileOp::Create { location: location.clone(), text: "x\n".into() };
    let delete = |location: &Location| FileOp::Delete { location: location.clone() };
    let refused = |applied: Result<Applied, ApplyError>| {
        assert!(matches!(applied, Err(ApplyError::Refused { .. })), "{applied:?}");
    };
    refused(desk.apply(Approval::Person, vec![create(&file)]).await);
    refused(desk.apply(Approval::Person, vec![create(&open)]).await);
    desk.screen.types(&open, 0, "typed");
    refused(desk.apply(Approval::Person, vec![delete(&open)]).await);
    check_text(&desk, &open, "typedo\n");

    let unnamed = desk.place("unnamed.txt");
    desk.vfs.open(unnamed.clone(), "text", 1, "");
    let applied = desk.apply(Approval::Policy, vec![create(&unnamed)]).await;
    assert!(is_unsaved(&kept(&applied, 0)));
    check_text(&desk, &unnamed, "x\n");

    let clean = desk.open("clean.txt", "c\n");
    desk.apply(Approval::Person, vec![delete(&clean), delete(&file)]).await.unwrap();
    assert!(!desk.vfs.exists(&clean) && !desk.vfs.exists(&file));
}

#[tokio::test]
async fn a_file_is_moved_and_changed_or_all_is_put_back() {
    let desk = Desk::new(full());
    let (file, open) = (desk.file("f.txt", "one\r\ntwo\r\n"), desk.open("o.txt", "o\n"));
    let (new, taken) = (desk.place("new/f.txt"), desk.file("taken.txt", "t\n"));
    let moving = |desk: &Desk, from: &Location, to: &Location| match desk.modify(from, "o", "O") {
        FileOp::Modify { base, changes } => {
            FileOp::Move { from: from.clone(), to: to.clone(), base: Some(base), changes }
        }
        other => other,
    };
    for (from, to) in [(&file, &open), (&file, &taken), (&open, &taken)] {
        let applied = desk.apply(Approval::Person, vec![moving(&desk, from, to)]).await;
        assert!(matches!(applied, Err(ApplyError::Refused { .. })), "{applied:?}");
    }
    desk.reactions(&[Reaction::Refuse; 8]);
    let both = vec![moving(&desk, &file, &new), desk.modify(&open, "o", "x")];
    assert!(desk.apply(Approval::Person, both).await.is_err());
    assert_eq!(desk.on_disk(&file), "one\r\ntwo\r\n");
    assert!(!desk.vfs.exists(&new));

    let applied = desk.apply(Approval::Person, vec![moving(&desk, &file, &new)]).await.unwrap();
    assert_eq!(applied.files[0].location, new);
    assert_eq!(applied.files[0].after.to_string(), "One\r\ntwo\r\n");
    assert_eq!(desk.on_disk(&new), "One\r\ntwo\r\n");
    assert!(!desk.vfs.exists(&file));

    // This editor cannot rename: what it has open is moved on disk, unless it is unsaved.
    let renamed = desk.place("renamed.txt");
    let applied = desk.apply(Approval::Person, vec![moving(&desk, &open, &renamed)]).await;
    assert_eq!((kept(&applied, 0), desk.on_disk(&renamed).as_str()), (Kept::OldName, "O\r\n"));
    let dirty = desk.open("dirty.txt", "o\n");
    desk.screen.types(&dirty, 0, "typed");
    let applied = desk.apply(Approval::Person, vec![moving(&desk, &dirty, &new)]).await;
    assert!(matches!(applied, Err(ApplyError::Refused { .. })), "{applied:?}");
    assert!(desk.vfs.exists(&dirty));
}

#[tokio::test]
async fn an_editor_that_cannot_edit_keeps_its_unsaved_text() {
    let desk = Desk::new(json!({}));
    let place = desk.open("a.txt", "a\n");
    let applied = desk.apply(Approval::Policy, vec![desk.modify(&place, "a", "A")]).await;
    assert_eq!((kept(&applied, 0), desk.on_disk(&place).as_str()), (Kept::Disk, "A\n"));
    desk.screen.types(&place, 0, "typed");
    let applied = desk.apply(Approval::Policy, vec![desk.modify(&place, "typed", "x")]).await;
    assert!(matches!(applied, Err(ApplyError::Refused { .. })));
}

#[tokio::test]
async fn two_edits_of_one_document_queue() {
    let desk = Desk::new(full());
    let place = desk.open("a.txt", "one\ntwo\n");
    let (first, second) = (desk.modify(&place, "one", "1"), desk.modify(&place, "two", "2"));
    let (first, second) = tokio::join!(
        desk.apply(Approval::Policy, vec![first]),
        desk.apply(Approval::Policy, vec![second]),
    );
    assert!(first.is_ok() && second.is_ok());
    check_text(&desk, &place, "1\n2\n");
}

fn question() -> acp::RequestPermissionRequest {
    let options = vec![
        acp::PermissionOption::new("yes", "Allow once", acp::PermissionOptionKind::AllowOnce),
        acp::PermissionOption::new("no", "Reject", acp::PermissionOptionKind::RejectOnce),
    ];
    acp::RequestPermissionRequest::new("s", "Run it?", options)
}

#[tokio::test]
async fn an_answer_brings_its_extras() {
    let desk = Desk::new(full());
    let extras = json!({"feedback": "faster", "input": {"a": 1}, "rule": 7, "comments": []});
    let outcome = json!({"outcome": "selected", "optionId": "yes", "_meta": {"copydesk": extras}});
    desk.answers("session/request_permission", Ok(json!({"outcome": outcome})));
    let Answer::Selected { option, extras } = desk.editor.ask(question()).await else {
        panic!("not selected");
    };
    assert_eq!((option.as_str(), extras.feedback.as_deref()), ("yes", Some("faster")));
    assert_eq!((extras.input, extras.rule), (Some(json!({"a": 1})), None));
    let asked = desk.asked("session/request_permission");
    assert!(asked[0]["_meta"]["copydesk"]["requestId"].is_string());
    desk.answers("session/request_permission", Ok(json!({"outcome": {"outcome": "cancelled"}})));
    assert_eq!(desk.editor.ask(question()).await, Answer::Cancelled);
    desk.answers("session/request_permission", Ok(json!("nonsense")));
    assert_eq!(desk.editor.ask(question()).await, Answer::Cancelled);
}

#[tokio::test]
async fn a_question_nobody_waits_for_is_withdrawn() {
    let desk = Desk::new(full());
    tokio::select! {
        biased;
        _ = desk.editor.ask(question()) => panic!("nobody answers"),
        () = tokio::task::yield_now() => {}
    }
    desk.answers("workspace/applyEdit", Ok(json!({"applied": true})));
    // A round trip through the same queue: everything before it has arrived.
    let place = desk.open("a.txt", "a\n");
    let _ = desk.apply(Approval::Policy, vec![desk.modify(&place, "a", "A")]).await;
    let methods: Vec<Value> =
        desk.screen.asked.lock().unwrap().iter().map(|it| it["method"].clone()).collect();
    let expected = ["session/request_permission", "$/cancelRequest", "copydesk/request/resolved"];
    assert!(expected.iter().all(|method| methods.contains(&json!(method))), "{methods:?}");
}

#[tokio::test]
async fn bare_editors_are_asked_by_message() {
    let desk = Desk::new(json!({"window": {}}));
    desk.answers("window/showMessageRequest", Ok(json!({"title": "Reject"})));
    let Answer::Selected { option, .. } = desk.editor.ask(question()).await else { panic!() };
    assert_eq!(option, "no");
    desk.answers("window/showMessageRequest", Ok(Value::Null));
    assert_eq!(desk.editor.ask(question()).await, Answer::Cancelled);
    let missing = RpcError { code: -32601, message: "no".into(), data: None };
    desk.answers("window/showMessageRequest", Err(missing));
    assert_eq!(desk.editor.ask(question()).await, Answer::Nobody);
    // By command: the oldest question, with the option of that kind.
    let by_command = async {
        while !desk.editor.questions().answer(None, &acp::PermissionOptionKind::AllowOnce) {
            tokio::task::yield_now().await;
        }
    };
    let (answer, ()) = tokio::join!(desk.editor.ask(question()), by_command);
    assert!(matches!(answer, Answer::Selected { option, .. } if option == "yes"));
    assert_eq!(Desk::new(json!({})).editor.ask(question()).await, Answer::Nobody);
}

#[tokio::test]
async fn the_status_is_told_when_it_changes() {
    let desk = Desk::new(full());
    let status = |session: &str, busy, waiting| Status { session: session.into(), busy, waiting };
    for (session, busy, waiting) in [
        ("a", true, 0),
        ("a", true, 0),
        ("b", true, 1),
        ("a", false, 0),
        ("b", false, 0),
        ("b", false, 0),
    ] {
        desk.editor.status(status(session, busy, waiting));
    }
    let place = desk.open("a.txt", "a\n");
    desk.apply(Approval::Policy, vec![desk.modify(&place, "a", "A")]).await.unwrap();
    let told: Vec<(bool, u64)> = desk
        .asked("copydesk/status/didChange")
        .iter()
        // The edit's hunk is told when it is entered, which is not what is tested here.
        .filter(|it| it["pendingHunks"] == 0)
        .map(|it| (it["busy"].as_bool().unwrap(), it["pendingPermissions"].as_u64().unwrap()))
        .collect();
    assert_eq!(told, [(true, 0), (true, 1), (false, 0)]);
}

use std::collections::BTreeSet;

use proptest::prelude::*;
use text::{ChangeSet, Edit, Rope};

use crate::restored::Remembered;
use crate::{Decision, Existence, HunkId, Ledger, Origin, Returning};

const F: &str = "f";

/// These hunks, once the call "2" is taken back.
fn returning(hunks: BTreeSet<HunkId>) -> Returning {
    Returning { hunks, calls: BTreeSet::from(["2".to_owned()]) }
}

/// A document with its ledger.
struct Desk {
    text: Rope,
    ledger: Ledger<&'static str>,
}

impl Desk {
    fn new(text: &str) -> Desk {
        Desk { text: Rope::from_str(text), ledger: Ledger::default() }
    }

    /// The agent replaces text in a call; gives what undoes it and what was known before.
    fn agent(&mut self, call: &str, old: &str, new: &str) -> (ChangeSet, Remembered<&'static str>) {
        let at = self.text.to_string().find(old).unwrap();
        let changes =
            ChangeSet::new(self.text.len_bytes(), vec![Edit::new(at..at + old.len(), new)])
                .unwrap();
        self.enter(call, &changes)
    }

    fn enter(&mut self, call: &str, changes: &ChangeSet) -> (ChangeSet, Remembered<&'static str>) {
        let before = self.ledger.remember(&F);
        self.ledger.agent_edit(&F, &self.text, changes, &Origin::of("s", call));
        let back = changes.invert(&self.text);
        self.text = changes.apply(&self.text);
        (back, before)
    }

    /// What another did to the text.
    fn types(&mut self, at: usize, new: &str) {
        let changes = ChangeSet::new(self.text.len_bytes(), vec![Edit::new(at..at, new)]).unwrap();
        self.ledger.person_edit(&F, &changes);
        self.text = changes.apply(&self.text);
    }

    fn take_back(
        &mut self,
        back: &ChangeSet,
        before: &Remembered<&'static str>,
        gone: &BTreeSet<HunkId>,
    ) {
        let alive = self.ledger.hunk_ids();
        self.ledger.restored(&F, back);
        self.text = back.apply(&self.text);
        let text = self.text.clone();
        let hunks = alive.union(gone).cloned().collect();
        self.ledger.return_hunks(&F, Some(&text), before, &returning(hunks));
        if let Some(known) = self.ledger.current(&F) {
            assert_eq!(*known, self.text);
        }
    }

    fn hunks(&self) -> Vec<(HunkId, String, String)> {
        let view = self.ledger.view(&F);
        view.into_iter().flat_map(|it| it.hunks).map(|it| (it.id, it.old, it.new)).collect()
    }

    fn rejected(&self) -> Option<Rope> {
        self.ledger.base(&F).cloned()
    }
}

/// Changes of two calls one after the other; once the second is taken back, what the first left is pending.
#[track_caller]
fn check(text: &str, first: (&str, &str), second: (&str, &str)) {
    let mut desk = Desk::new(text);
    desk.agent("1", first.0, first.1);
    let (then, hunks) = (desk.text.clone(), desk.hunks());
    let (back, before) = desk.agent("2", second.0, second.1);
    let gone = desk.ledger.taken_from(&F, &before).unwrap_or_default();
    desk.take_back(&back, &before, &gone);
    assert_eq!((desk.text.clone(), desk.hunks()), (then, hunks));
    assert_eq!(desk.rejected().unwrap(), text);
}

#[test]
fn what_a_later_change_took_back_is_pending_again() {
    check("a\nb\nc\n", ("b\n", "b\nINS\n"), ("INS\n", ""));
    check("a\nb\nc\n", ("b", "B"), ("B", "b"));
    check("a\nb\nc\n", ("b\nc\n", "X\nY\n"), ("X", "b"));
    check("a\nb\nc\n", ("b", "B"), ("a\nB\nc\n", ""));
    check("a\nb\nc\n", ("b", "B"), ("B", "Z"));
    check("a\nb\nc\nd\n", ("b", "B"), ("d", "D"));
    check("a\nb\nc\n", ("b\n", ""), ("a\nc\n", "a\nb\nc\n"));
}

#[test]
fn what_was_typed_and_changed_elsewhere_stays() {
    let mut desk = Desk::new("a\nb\nc\nd\n");
    desk.agent("1", "b", "B");
    let known = desk.hunks();
    let (_, before) = desk.agent("2", "B", "b");
    let gone = desk.ledger.taken_from(&F, &before).unwrap();
    assert_eq!(gone.len(), 1);
    desk.types(0, "mine\n");
    desk.agent("3", "d", "D");
    let at = desk.text.to_string().find("b\n").unwrap();
    let back = ChangeSet::new(desk.text.len_bytes(), vec![Edit::new(at..at + 1, "B")]).unwrap();
    desk.take_back(&back, &before, &gone);
    assert_eq!(desk.text, "mine\na\nB\nc\nD\n");
    assert_eq!(desk.hunks().len(), 2);
    assert_eq!(desk.hunks()[0], known[0]);
    assert_eq!(desk.rejected().unwrap(), "mine\na\nb\nc\nd\n");
}

#[test]
fn what_was_decided_since_is_not_pending_again() {
    let mut desk = Desk::new("a\nb\nc\nd\n");
    desk.agent("1", "b", "B");
    let (_, before) = desk.agent("2", "d", "D");
    assert_eq!(desk.ledger.taken_from(&F, &before), Some(BTreeSet::new()));
    let ids: BTreeSet<HunkId> = desk.ledger.hunk_ids();
    let token = desk.ledger.token();
    desk.ledger.decide(&F, &ids, Decision::Accept, token);
    let at = desk.text.to_string().find('D').unwrap();
    let back = ChangeSet::new(desk.text.len_bytes(), vec![Edit::new(at..at + 1, "d")]).unwrap();
    desk.take_back(&back, &before, &BTreeSet::new());
    assert!(desk.hunks().is_empty());
}

#[test]
fn a_file_that_came_or_went_does_so_again() {
    let mut desk = Desk::new("");
    desk.ledger.created(&F, "new\n", &Origin::of("s", "1"));
    let (hunks, before) = (desk.hunks(), desk.ledger.remember(&F));
    desk.ledger.deleted(&F, &Rope::from_str("new\n"), &Origin::of("s", "2"));
    let gone = desk.ledger.taken_from(&F, &before).unwrap();
    let text = Rope::from_str("new\n");
    desk.ledger.came_back(&F, &text);
    desk.ledger.return_hunks(&F, Some(&text), &before, &returning(gone));
    assert_eq!((desk.ledger.existence(&F), desk.hunks()), (Some(Existence::Added), hunks));

    let mut desk = Desk::new("");
    desk.ledger.deleted(&F, &Rope::from_str("old\n"), &Origin::of("s", "1"));
    let (hunks, before) = (desk.hunks(), desk.ledger.remember(&F));
    desk.ledger.created(&F, "old\n", &Origin::of("s", "2"));
    let gone = desk.ledger.taken_from(&F, &before).unwrap();
    desk.ledger.forget(&F);
    desk.ledger.return_hunks(&F, None, &before, &returning(gone));
    assert_eq!((desk.ledger.existence(&F), desk.hunks()), (Some(Existence::Deleted), hunks));
}

#[test]
fn a_move_that_was_taken_back_is_pending_again_from_what_was_saved() {
    let text = Rope::from_str("text\n");
    let mut ledger: Ledger<&str> = Ledger::default();
    ledger.moved(&"b", &"m", &text, &Origin::of("s", "1"));
    let hunk = ledger.moved_from(&"m").map(|(id, _)| id.clone());
    let before = ledger.remember(&"m");
    ledger.moved(&"m", &"b", &text, &Origin::of("s", "2"));
    let gone = ledger.taken_from(&"m", &before).unwrap();
    assert_eq!(gone.iter().next(), hunk.as_ref());
    let (file, moved) = before.save(&"m").unwrap();
    let before = Remembered::read(file, moved).unwrap();
    ledger.return_hunks(&"m", Some(&text), &before, &returning(gone));
    assert_eq!(
        ledger.moved_from(&"m").map(|(id, from)| (id.clone(), *from)),
        hunk.map(|it| (it, "b"))
    );
}

proptest! {
    /// Whatever two prompts did, once the second is taken back rejecting all leads to where it led before it.
    #[test]
    fn taking_a_prompt_back_leaves_what_the_one_before_did_pending(
        first in prop::collection::vec((0..60usize, 0..12usize, "[xy\n]{0,5}"), 1..4),
        second in prop::collection::vec((0..60usize, 0..20usize, "[ab\n]{0,5}"), 1..4),
    ) {
        let mut desk = Desk::new("aa\nbb\ncc\ndd\nee\nff\ngg\n");
        let edit = |desk: &mut Desk, call: &str, (at, len, new): &(usize, usize, String)| {
            let size = desk.text.len_bytes();
            let (start, end) = ((*at).min(size), (at + len).min(size));
            let changes = ChangeSet::new(size, vec![Edit::new(start..end, new.as_str())]).unwrap();
            desk.enter(call, &changes)
        };
        first.iter().for_each(|it| drop(edit(&mut desk, "1", it)));
        let then = desk.text.clone();
        let hunks = desk.hunks();
        let pending = !hunks.is_empty();
        let mut back = ChangeSet::identity(then.len_bytes());
        let (mut known, mut gone) = (None, BTreeSet::new());
        for it in &second {
            let (undo, before) = edit(&mut desk, "2", it);
            if let Some(ids) = desk.ledger.taken_from(&F, &before) {
                gone.extend(ids);
                known.get_or_insert(before);
            }
            back = undo.compose(back);
        }
        // Else there is nothing to be pending again.
        if !pending {
            return Ok(());
        }
        let known = known.unwrap();
        desk.take_back(&back, &known, &gone);
        prop_assert_eq!(&desk.text, &then);
        prop_assert_eq!(desk.hunks(), hunks);
        prop_assert_eq!(desk.rejected().unwrap().to_string(), "aa\nbb\ncc\ndd\nee\nff\ngg\n");
    }
}

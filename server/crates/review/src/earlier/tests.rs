use std::collections::BTreeMap;

use proptest::prelude::*;
use text::{Edit, Rope};

use super::*;
use crate::file::Plan;
use crate::ledger::{Decision, Ledger};
use crate::pieces::Piece;
use crate::{Origin, Pick};

const FILE: &str = "f";

/// What can happen.
#[derive(Clone, Debug)]
enum Step {
    /// The agent replaces some lines, from this one on.
    Agent { line: usize, lines: usize, text: String },
    /// Somebody types.
    Typed { at: usize, len: usize, text: String },
    /// A hunk is decided on.
    Decided { hunk: usize, decision: Decision },
    /// The last decision is taken back.
    Undone,
    /// A text comes back, told in this way.
    Back { to: usize, way: Way },
}

#[derive(Clone, Copy, Debug)]
enum Way {
    Smallest,
    Whole,
    Unseen,
    /// Caught empty before.
    Torn,
}

/// One file, beside what was pending in each of its texts.
struct Desk {
    ledger: Ledger<&'static str>,
    text: Rope,
    seen: Vec<(Rope, Pending)>,
    accepted: BTreeMap<u64, BTreeSet<HunkId>>,
    tokens: Vec<u64>,
}

/// The base and the places where it differs.
type Pending = (Rope, Vec<Piece>);

impl Desk {
    fn new(text: &str) -> Desk {
        let text = Rope::from_str(text);
        Desk {
            ledger: Ledger::default(),
            text: text.clone(),
            seen: vec![(text.clone(), (text, Vec::new()))],
            accepted: BTreeMap::new(),
            tokens: Vec::new(),
        }
    }

    fn pending(&self) -> Pending {
        match self.ledger.files.get(FILE) {
            Some(file) => (file.base.clone(), file.pieces.clone()),
            None => (self.text.clone(), Vec::new()),
        }
    }

    /// Notes what is pending in the text as it is.
    fn see(&mut self) {
        let pending = self.pending();
        self.seen.retain(|(text, _)| *text != self.text);
        self.seen.push((self.text.clone(), pending));
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Agent { line, lines, text } => {
                let first = line % (self.text.len_lines() + 1);
                let last = (first + lines).min(self.text.len_lines());
                let range = self.line(first)..self.line(last);
                let changes =
                    ChangeSet::new(self.text.len_bytes(), vec![Edit::new(range, text.as_str())]);
                let changes = changes.unwrap();
                if self.ledger.current(&FILE).is_none() {
                    // Nobody looked at the texts before this one.
                    self.seen.clear();
                }
                self.see_typed();
                let origin = Origin::of("s", "c");
                self.ledger.agent_edit(&FILE, &self.text, &changes, &origin);
                self.text = changes.apply(&self.text);
                self.see();
            }
            Step::Typed { at, len, text } => {
                let start = at % (self.text.len_bytes() + 1);
                let end = (start + len).min(self.text.len_bytes());
                self.replace(start..end, text);
            }
            Step::Decided { hunk, decision } => {
                let hunks = self.ledger.files.get(FILE).map(File::hunks).unwrap_or_default();
                let Some(id) = hunks.get(hunk % hunks.len().max(1)) else { return };
                let ids = BTreeSet::from([id.clone()]);
                self.see_typed();
                let token = self.ledger.token();
                if *decision == Decision::Reject
                    && let Some(Plan::Text(changes)) = self.ledger.plan_reject(&FILE, &ids)
                {
                    self.text = changes.apply(&self.text);
                } else {
                    self.accepted.insert(token, ids.clone());
                }
                self.ledger.decide(&FILE, &ids, *decision, token);
                self.tokens.push(token);
                self.see();
            }
            Step::Undone => {
                let Some(token) = self.tokens.pop() else { return };
                let undoings = self.ledger.plan_undo(token);
                let Some(undoing) = undoings.first() else { return };
                self.see_typed();
                if let Some(Plan::Text(changes)) = &undoing.plan {
                    self.text = changes.apply(&self.text);
                }
                self.ledger.undo(&FILE, token);
                // What comes back was perhaps accepted later, under a text that is not there any more.
                let pending = self.ledger.files.get(FILE).map(File::hunks).unwrap_or_default();
                self.accepted.remove(&token);
                self.accepted.values_mut().for_each(|it| it.retain(|id| !pending.contains(id)));
                // What was accepted at the same time as something else may be pending in none of the others.
                self.seen.clear();
                self.see();
            }
            Step::Back { to, way } => {
                let Some((text, pending)) = self.seen.get(to % self.seen.len().max(1)).cloned()
                else {
                    return;
                };
                self.see_typed();
                self.go(&text, *way);
                let settled: BTreeSet<&HunkId> = self.accepted.values().flatten().collect();
                if pending.1.iter().any(|it| settled.contains(&it.hunk)) {
                    let now = self.pending().1;
                    assert!(now.iter().all(|it| !settled.contains(&it.hunk)), "accepted, back");
                } else {
                    assert_eq!(self.pending(), pending, "{way:?} back to {text:?}");
                }
            }
        }
        if let Some(current) = self.ledger.current(&FILE) {
            assert_eq!(*current, self.text);
        }
        let all = self.ledger.pick(&[Pick::All]);
        let (base, pieces) = self.pending();
        if let Some(Plan::Text(changes)) =
            all.get(FILE).and_then(|ids| self.ledger.plan_reject(&FILE, ids))
            && pieces.iter().all(|it| it.typed.is_empty())
        {
            assert_eq!(changes.apply(&self.text), base);
        }
    }

    /// Notes a text that is about to change by more than typing.
    fn see_typed(&mut self) {
        self.see();
    }

    fn go(&mut self, text: &Rope, way: Way) {
        let whole = 0..self.text.len_bytes();
        match way {
            Way::Smallest => {
                let changes =
                    smallest(&ChangeSet::whole(&self.text, &text.to_string()), &self.text);
                let Some(first) = changes.edits().first().map(|it| it.range.start) else { return };
                let last = changes.edits().last().map_or(first, |it| it.range.end);
                let after = text.len_bytes() - (self.text.len_bytes() - last);
                let new = text.byte_slice(first..after).to_string();
                self.replace(first..last, &new);
            }
            Way::Whole => self.replace(whole, &text.to_string()),
            Way::Unseen => {
                self.ledger.reopened(&FILE, text);
                self.text = text.clone();
            }
            Way::Torn => {
                self.ledger.reopened(&FILE, &Rope::new());
                self.ledger.reopened(&FILE, text);
                self.text = text.clone();
            }
        }
    }

    fn replace(&mut self, range: std::ops::Range<usize>, text: &str) {
        let changes = ChangeSet::new(self.text.len_bytes(), vec![Edit::new(range, text)]).unwrap();
        self.ledger.person_edit(&FILE, &changes);
        self.text = changes.apply(&self.text);
    }

    fn line(&self, line: usize) -> usize {
        self.text.line_to_byte(line.min(self.text.len_lines()))
    }
}

fn step() -> impl Strategy<Value = Step> {
    let decision = prop_oneof![Just(Decision::Accept), Just(Decision::Reject)];
    let way =
        prop_oneof![Just(Way::Smallest), Just(Way::Whole), Just(Way::Unseen), Just(Way::Torn)];
    prop_oneof![
        4 => (0..12usize, 0..3usize, "([ab]{0,2}\n){0,3}")
            .prop_map(|(line, lines, text)| Step::Agent { line, lines, text }),
        3 => (0..60usize, 0..3usize, "[0-9\n]{0,2}")
            .prop_map(|(at, len, text)| Step::Typed { at, len, text }),
        2 => (0..4usize, decision).prop_map(|(hunk, decision)| Step::Decided { hunk, decision }),
        1 => Just(Step::Undone),
        4 => (0..30usize, way).prop_map(|(to, way)| Step::Back { to, way }),
    ]
}

proptest! {
    /// What was pending in a text is pending in it again, however the text comes back.
    #[test]
    fn a_text_that_comes_back_has_what_was_pending_in_it(
        text in "([ab]{0,2}\n){0,6}",
        steps in prop::collection::vec(step(), 1..25),
    ) {
        let mut desk = Desk::new(&text);
        steps.iter().for_each(|it| desk.take(it));
    }
}

/// The editor of these tests tells an undone deletion by the smallest span, which is not where the
/// deletion was.
#[test]
fn an_undone_deletion_is_pending_no_more() {
    let mut desk = Desk::new("l1\nl2\nl3\nl4\n");
    desk.take(&Step::Agent { line: 1, lines: 2, text: String::new() });
    desk.replace(4..5, "2\nl3\nl4");
    assert_eq!(desk.text.to_string(), "l1\nl2\nl3\nl4\n");
    assert!(!desk.ledger.is_pending(&FILE));
    desk.replace(4..11, "4");
    assert!(desk.ledger.is_pending(&FILE));
}

#[test]
fn a_rejection_that_the_editor_undid_is_pending_again() {
    let mut desk = Desk::new("l1\nl2\nl3\n");
    desk.take(&Step::Agent { line: 1, lines: 1, text: "L2\n".into() });
    desk.take(&Step::Decided { hunk: 0, decision: Decision::Reject });
    desk.replace(3..4, "L");
    assert_eq!(desk.ledger.pending(), 1);
    // There is nothing left to take back.
    assert!(desk.ledger.plan_undo(1).is_empty());
    desk.replace(3..4, "l");
    assert_eq!(desk.ledger.pending(), 0);
    assert_eq!(desk.ledger.plan_undo(1).len(), 1);
}

#[test]
fn a_file_caught_half_written_keeps_what_is_pending() {
    let mut desk = Desk::new("l1\nl2\nl3\n");
    desk.take(&Step::Agent { line: 1, lines: 1, text: "L2\n".into() });
    desk.ledger.reopened(&FILE, &Rope::new());
    assert_eq!(desk.ledger.pending(), 0);
    desk.ledger.reopened(&FILE, &Rope::from_str("l1\nL2\nl3\ntyped\n"));
    assert_eq!(desk.ledger.base(&FILE).unwrap().to_string(), "l1\nl2\nl3\ntyped\n");
    assert!(desk.ledger.take_doubted().is_empty());
}

#[test]
fn what_was_accepted_does_not_come_back() {
    let mut desk = Desk::new("l1\nl2\nl3\n");
    desk.take(&Step::Agent { line: 1, lines: 1, text: "L2\n".into() });
    let with = desk.text.clone();
    desk.take(&Step::Agent { line: 2, lines: 1, text: "L3\nL4\n".into() });
    let first = desk.ledger.files[FILE].hunks()[0].clone();
    desk.ledger.token();
    desk.ledger.decide(&FILE, &BTreeSet::from([first]), Decision::Accept, 1);
    desk.go(&with, Way::Smallest);
    assert_eq!(desk.ledger.pending(), 0);
}

#[test]
fn what_is_pending_in_unsaved_text_waits_for_it_after_a_restart() {
    let mut desk = Desk::new("l1\nl2\nl3\n");
    let disk = desk.text.clone();
    desk.take(&Step::Agent { line: 1, lines: 1, text: "L2\n".into() });
    let mut ledger = Ledger::default();
    ledger.restore(desk.ledger.save());
    assert_eq!(ledger.pending(), 1);
    ledger.reopened(&FILE, &disk);
    assert_eq!(ledger.pending(), 0);
    ledger.reopened(&FILE, &desk.text);
    assert_eq!(ledger.pending(), 1);
}

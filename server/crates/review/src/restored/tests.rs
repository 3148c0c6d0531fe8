use proptest::prelude::*;
use text::{ChangeSet, Edit, Rope};

use crate::{Ledger, Origin, State, take_back};

const F: &str = "f";

#[track_caller]
fn check_back(before: &str, after: &str, now: &str, expected: &str, disputed: usize) {
    let rope = Rope::from_str;
    let wanted = ChangeSet::whole(&rope(after), before);
    let back = take_back(&wanted, &rope(after), &rope(now), &[]);
    assert_eq!(back.changes.apply(&rope(now)), expected);
    assert_eq!(back.disputed.len(), disputed, "{back:?}");
}

#[test]
fn a_change_goes_and_what_was_typed_stays() {
    check_back("one\ntwo\n", "one\nTWO\n", "one\nTWO\n", "one\ntwo\n", 0);
    check_back("one\ntwo\n", "one\nTWO\n", "mine\none\nTWO\nmore\n", "mine\none\ntwo\nmore\n", 0);
    // It is gone already, wholly or in one of two places.
    check_back("one\ntwo\n", "one\nTWO\n", "one\ntwo\n", "one\ntwo\n", 0);
    check_back("a\nb\nc\n", "A\nb\nC\n", "a\nb\nC\n", "a\nb\nc\n", 0);
    // The person wrote inside the one, not inside the other.
    check_back("a\nb\nc\n", "AAAA\nb\nC\n", "AA_AA\nb\nC\n", "AA_AA\nb\nc\n", 1);
    // They deleted a line that the agent had changed.
    check_back("a\nb\nc\n", "a\nBBB\nc\n", "a\nc\n", "a\nc\n", 1);
}

/// As `check_back`, where all that is not as after the change is another agent's.
#[track_caller]
fn check_beside(before: &str, after: &str, now: &str, expected: &str, disputed: usize) {
    let rope = Rope::from_str;
    let wanted = ChangeSet::whole(&rope(after), before);
    let since = ChangeSet::between(&rope(after), &rope(now));
    let others: Vec<_> = since.placed().map(|(_, at)| at).collect();
    let back = take_back(&wanted, &rope(after), &rope(now), &others);
    assert_eq!(back.changes.apply(&rope(now)), expected);
    assert_eq!(back.disputed.len(), disputed, "{back:?}");
}

#[test]
fn where_another_agent_went_on_in_the_line_all_of_it_stays() {
    let (before, after) = ("one\ntwo\nthree\n", "one\nTWO\nthree\n");
    for now in ["one\nTWO and more\nthree\n", "one\nmore TWO\nthree\n"] {
        check_beside(before, after, now, now, 1);
        // The person's own words stay, and the change goes.
        check_back(before, after, now, &now.replace("TWO", "two"), 0);
    }
    let now = "f(a_and_b)";
    check_beside("f(a, b)", "f(a)", now, now, 1);
    let now = "one\nTWO!";
    check_beside("one\ntwo", "one\nTWO", now, now, 1);
    // Lines of their own beside it are no part of it, nor are other words of the line.
    check_beside(before, after, "one\nTWO\nmore\nthree\n", "one\ntwo\nmore\nthree\n", 0);
    check_beside("x\n", "x\n- a\n", "x\n- a\n- b\n", "x\n- b\n", 0);
    check_beside("a b c\n", "A b c\n", "A b C\n", "a b C\n", 0);
}

/// A document with its ledger, and each change of the agent's: what undoes it, and the text after it.
struct Desk {
    text: Rope,
    ledger: Ledger<&'static str>,
    made: Vec<(ChangeSet, Rope)>,
}

impl Desk {
    fn new(text: &str) -> Desk {
        Desk { text: Rope::from_str(text), ledger: Ledger::default(), made: Vec::new() }
    }

    fn agent(&mut self, range: std::ops::Range<usize>, new: &str) {
        let edits = vec![Edit::new(range, new)];
        let changes = ChangeSet::new(self.text.len_bytes(), edits).unwrap();
        let before = self.text.clone();
        self.ledger.agent_edit(&F, &before, &changes, &Origin::of("s", "c"));
        self.text = changes.apply(&before);
        self.made.push((changes.invert(&before), self.text.clone()));
    }

    fn types(&mut self, at: usize, new: &str) {
        let edits = vec![Edit::new(at..at, new)];
        let changes = ChangeSet::new(self.text.len_bytes(), edits).unwrap();
        self.ledger.person_edit(&F, &changes);
        self.text = changes.apply(&self.text);
    }

    /// Takes back all changes from the nth on; whether all of it went.
    fn restore(&mut self, nth: usize) -> bool {
        let mut changes = ChangeSet::identity(self.text.len_bytes());
        let mut whole = true;
        for (wanted, after) in self.made.drain(nth..).rev() {
            let back = take_back(&wanted, &after, &self.text, &[]);
            whole &= back.disputed.is_empty();
            self.text = back.changes.apply(&self.text);
            changes = changes.compose(back.changes);
        }
        self.ledger.restored(&F, &changes);
        if let Some(known) = self.ledger.current(&F) {
            assert_eq!(*known, self.text);
        }
        whole
    }

    fn hunks(&self) -> Vec<(String, String)> {
        let view = self.ledger.view(&F);
        let hunks = view.into_iter().flat_map(|it| it.hunks);
        hunks.map(|it| (it.old, it.new)).collect()
    }
}

fn pair(old: &str, new: &str) -> (String, String) {
    (old.to_owned(), new.to_owned())
}

#[test]
fn hunks_of_earlier_prompts_stay_pending() {
    let mut desk = Desk::new("one\ntwo\nthree\n");
    desk.agent(0..3, "ONE");
    desk.agent(8..13, "THREE");
    desk.types(0, "mine\n");
    assert!(desk.restore(1));
    assert_eq!(desk.text, "mine\nONE\ntwo\nthree\n");
    assert_eq!(desk.hunks(), [pair("one\n", "ONE\n")]);
    assert!(desk.restore(0));
    assert_eq!(desk.text, "mine\none\ntwo\nthree\n");
    assert!(desk.hunks().is_empty());
}

#[test]
fn a_hunk_of_two_prompts_keeps_what_the_earlier_one_did() {
    let mut desk = Desk::new("one two three\n");
    desk.agent(0..3, "ONE");
    desk.agent(0..7, "1 2");
    assert!(desk.restore(1));
    assert_eq!(desk.hunks(), [pair("one two three\n", "ONE two three\n")]);
    assert!(desk.restore(0));
    assert!(desk.hunks().is_empty() && desk.text == "one two three\n");
}

#[test]
fn what_was_accepted_goes_from_both_texts() {
    let mut desk = Desk::new("one\ntwo\n");
    desk.agent(0..3, "ONE");
    let ids = desk.ledger.view(&F).unwrap().hunks.into_iter().map(|it| it.id).collect();
    let token = desk.ledger.token();
    desk.ledger.decide(&F, &ids, crate::Decision::Accept, token);
    desk.agent(4..7, "TWO");
    assert!(desk.restore(0));
    assert_eq!(desk.text, "one\ntwo\n");
    assert!(desk.hunks().is_empty());
}

#[test]
fn a_restore_is_undone_with_its_hunks() {
    let mut desk = Desk::new("one\ntwo\n");
    desk.agent(0..3, "ONE");
    let ids = |desk: &Desk| -> Vec<String> {
        desk.ledger.view(&F).unwrap().hunks.into_iter().map(|it| it.id).collect()
    };
    let before = ids(&desk);
    let remembered = desk.ledger.remember(&F);
    desk.restore(0);
    let undo = ChangeSet::whole(&desk.text, "ONE\ntwo\n");
    let origin = Origin::of("s", "c");
    let mut other = desk.ledger.clone();
    desk.ledger.unrestored(&F, (&desk.text, &undo), Some(&remembered), &origin);
    assert_eq!((ids(&desk), desk.hunks()), (before, vec![pair("one\n", "ONE\n")]));
    // The text went on, or the memory is gone: a change of the agent's.
    let text = Rope::from_str("one\ntwo!\n");
    let undo = ChangeSet::whole(&text, "ONE\ntwo!\n");
    for remembered in [Some(&remembered), None] {
        let mut ledger = other.clone();
        ledger.unrestored(&F, (&text, &undo), remembered, &origin);
        let view = ledger.view(&F).unwrap();
        assert_eq!((view.hunks[0].old.as_str(), view.hunks[0].state), ("one\n", State::Pending));
    }
    // Everything had been accepted.
    let nothing = Ledger::default().remember(&F);
    other.unrestored(&F, (&text, &undo), Some(&nothing), &origin);
    assert!(!other.is_pending(&F));
}

#[test]
fn a_deleted_file_that_came_back_has_the_hunks_it_had() {
    let mut desk = Desk::new("one\ntwo\n");
    desk.agent(0..3, "ONE");
    desk.ledger.deleted(&F, &desk.text.clone(), &Origin::of("s", "c"));
    desk.ledger.came_back(&F, &desk.text.clone());
    assert_eq!(desk.hunks(), [pair("one\n", "ONE\n")]);
    desk.ledger.deleted(&F, &desk.text.clone(), &Origin::of("s", "c"));
    desk.ledger.came_back(&F, &Rope::from_str("one\ntwo\n"));
    assert!(desk.hunks().is_empty());
}

#[derive(Clone, Debug)]
enum Step {
    Agent(u16, u8, String),
    Type(u16),
    Accept(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (any::<u16>(), 0..9_u8, "[a-e\n]{0,7}").prop_map(|(at, len, text)| Step::Agent(at, len, text)),
        3 => any::<u16>().prop_map(Step::Type),
        1 => any::<u16>().prop_map(Step::Accept),
    ]
}

fn place(at: u16, len: usize) -> usize {
    usize::from(at) * len / usize::from(u16::MAX)
}

fn run(desk: &mut Desk, steps: &[Step]) -> String {
    let mut typed = String::new();
    for step in steps {
        let len = desk.text.len_bytes();
        match step {
            Step::Agent(at, gone, new) => {
                let at = place(*at, len);
                let end = (at + usize::from(*gone)).min(len);
                let text = desk.text.to_string();
                let digit = text[at..end].find(is_typed);
                let end = digit.map_or(end, |digit| at + digit);
                if at < end || !new.is_empty() {
                    desk.agent(at..end, new);
                }
            }
            Step::Type(at) => {
                let new = format!("<{}>", typed.len());
                typed.push_str(&new);
                // Not inside what was typed before.
                let mut at = place(*at, len);
                let text = desk.text.to_string();
                while at < len && text[..at].rfind('<') > text[..at].rfind('>') {
                    at += 1;
                }
                desk.types(at, &new);
            }
            Step::Accept(at) => {
                let hunks = desk.ledger.view(&F).map(|it| it.hunks).unwrap_or_default();
                if let Some(hunk) = hunks.get(place(*at, hunks.len()).min(hunks.len().max(1) - 1)) {
                    let ids = std::collections::BTreeSet::from([hunk.id.clone()]);
                    let token = desk.ledger.token();
                    desk.ledger.decide(&F, &ids, crate::Decision::Accept, token);
                }
            }
        }
    }
    typed
}

/// What the person writes; the agent writes letters.
fn is_typed(c: char) -> bool {
    matches!(c, '<' | '>' | '0'..='9')
}

fn only(text: &str, wanted: impl Fn(char) -> bool) -> String {
    text.chars().filter(|c| wanted(*c)).collect()
}

fn sorted(text: &str) -> String {
    let mut chars: Vec<char> = text.chars().collect();
    chars.sort_unstable();
    chars.into_iter().collect()
}

proptest! {
    #[test]
    fn each_checkpoint_comes_back_with_what_was_typed(
        text in "[a-e\n]{0,60}",
        prompts in prop::collection::vec(prop::collection::vec(step(), 1..8), 1..4),
    ) {
        let mut desk = Desk::new(&text);
        let mut points = Vec::new();
        let mut typed = String::new();
        for steps in &prompts {
            let letters = only(&desk.text.to_string(), |c| !is_typed(c));
            points.push((desk.made.len(), letters));
            typed.push_str(&run(&mut desk, steps));
        }
        let mut whole = true;
        for (made, letters) in points.into_iter().rev() {
            whole &= desk.restore(made);
            let now = desk.text.to_string();
            prop_assert_eq!(sorted(&only(&now, is_typed)), sorted(&typed));
            if whole {
                // Where equal text stands many times it may be another copy that moved.
                let now = only(&now, |c| !is_typed(c));
                prop_assert_eq!(sorted(&now), sorted(&letters));
            }
        }
        // What is still pending can be taken out and leaves nothing typed behind.
        let hunks = desk.ledger.view(&F).map(|it| it.hunks).unwrap_or_default();
        let ids = hunks.into_iter().map(|it| it.id).collect();
        if let Some(crate::Plan::Text(changes)) = desk.ledger.plan_reject(&F, &ids) {
            let left = changes.apply(&desk.text).to_string();
            prop_assert_eq!(sorted(&only(&left, is_typed)), sorted(&typed));
        }
    }

    #[test]
    fn nothing_is_pending_where_all_is_as_it_was(
        text in "[A-M]{0,40}",
        steps in prop::collection::vec(step(), 1..16),
    ) {
        let mut desk = Desk::new(&text);
        let steps: Vec<Step> = steps.into_iter().filter(|it| matches!(it, Step::Agent(..))).collect();
        run(&mut desk, &steps);
        prop_assert!(desk.restore(0));
        prop_assert_eq!(desk.text.to_string(), text);
        prop_assert!(desk.hunks().is_empty());
    }
}

//! Decisions taken back in any order. Every character is its own, so that it can be told where each
//! came from and what became of it.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use text::{ChangeSet, Edit};

use crate::tests::{Desk, F};
use crate::{Decision, Hunk};

const BASE: u32 = 0x1000;
const AGENT: u32 = 0x4E00;
const PERSON: u32 = 0xAC00;

fn is_agent(c: char) -> bool {
    (AGENT..PERSON).contains(&u32::from(c))
}

fn is_person(c: char) -> bool {
    u32::from(c) >= PERSON
}

/// A person, an agent, and what each has put in and taken out.
struct Story {
    desk: Desk,
    ending: &'static str,
    original: BTreeSet<char>,
    next: u32,
    typed: BTreeSet<char>,
    erased: BTreeSet<char>,
    /// By decision: what was accepted, and what went with it.
    accepted: BTreeMap<u64, (BTreeSet<char>, BTreeSet<char>)>,
    tokens: Vec<u64>,
}

#[derive(Clone, Debug)]
enum Step {
    Agent(u16, u8, Vec<bool>),
    Type(u16, Vec<bool>),
    Erase(u16, u8),
    Decide(u16, bool),
    Undo(u16),
    Restart,
    Reopen(u16),
}

fn step() -> impl Strategy<Value = Step> {
    let text = || prop::collection::vec(prop::bool::weighted(0.75), 0..5);
    prop_oneof![
        6 => (any::<u16>(), 0..6_u8, text()).prop_map(|(at, len, new)| Step::Agent(at, len, new)),
        4 => (any::<u16>(), text()).prop_map(|(at, new)| Step::Type(at, new)),
        1 => (any::<u16>(), 1..6_u8).prop_map(|(at, len)| Step::Erase(at, len)),
        5 => (any::<u16>(), any::<bool>()).prop_map(|(at, accept)| Step::Decide(at, accept)),
        4 => any::<u16>().prop_map(Step::Undo),
        1 => Just(Step::Restart),
        1 => any::<u16>().prop_map(Step::Reopen),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    prop::collection::vec(step(), 1..30)
}

fn text() -> impl Strategy<Value = (usize, Vec<bool>)> {
    (0..3_usize, prop::collection::vec(prop::bool::weighted(0.7), 0..30))
}

fn choice(at: u16, count: usize) -> usize {
    usize::from(at) * count / (usize::from(u16::MAX) + 1)
}

impl Story {
    fn new((ending, shape): &(usize, Vec<bool>)) -> Story {
        let ending = ["\n", "\r\n", "\r"][*ending];
        let mut next = 0;
        let text = fresh(shape, ending, BASE, &mut next);
        Story {
            desk: Desk::new(&text),
            ending,
            original: text.chars().filter(|c| !c.is_control()).collect(),
            next: 0,
            typed: BTreeSet::new(),
            erased: BTreeSet::new(),
            accepted: BTreeMap::new(),
            tokens: Vec::new(),
        }
    }

    /// A place between two characters.
    fn place(&self, at: u16) -> usize {
        let places = self.desk.text.char_indices().map(|(at, _)| at);
        let places: Vec<usize> = places.chain([self.desk.text.len()]).collect();
        places[choice(at, places.len())]
    }

    /// So many characters from a place, up to the first of the person's.
    fn range(&self, at: u16, count: u8) -> std::ops::Range<usize> {
        let start = self.place(at);
        let rest = self.desk.text[start..].chars().take(usize::from(count));
        let len: usize = rest.take_while(|c| !is_person(*c)).map(char::len_utf8).sum();
        start..start + len
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Agent(at, count, shape) => {
                let range = self.range(*at, *count);
                let new = fresh(shape, self.ending, AGENT, &mut self.next);
                self.desk.agent_edits(vec![Edit::new(range, new)]);
            }
            Step::Type(at, shape) => {
                let at = self.place(*at);
                let new = fresh(shape, self.ending, PERSON, &mut self.next);
                self.typed.extend(new.chars().filter(|c| !c.is_control()));
                self.desk.types_at(at..at, &new);
            }
            Step::Erase(at, count) => {
                let range = self.range(*at, *count);
                self.erased.extend(self.desk.text[range.clone()].chars());
                self.desk.types_at(range, "");
            }
            Step::Decide(at, accept) => {
                let hunks = self.desk.hunks();
                if let Some(hunk) = hunks.get(choice(*at, hunks.len())) {
                    self.decide(hunk, if *accept { Decision::Accept } else { Decision::Reject });
                }
            }
            Step::Undo(at) => {
                if !self.tokens.is_empty() {
                    let token = self.tokens.remove(choice(*at, self.tokens.len()));
                    self.desk.undo(token);
                    self.accepted.remove(&token);
                }
            }
            Step::Restart => self.desk.restart(),
            // Closed, changed by somebody else, and opened again.
            Step::Reopen(at) => {
                let at = self.place(*at);
                let new = fresh(&[true], self.ending, PERSON, &mut self.next);
                self.typed.extend(new.chars());
                self.desk.reopens(at, &new);
            }
        }
        self.check();
    }

    fn decide(&mut self, hunk: &Hunk, decision: Decision) -> u64 {
        let token = self.desk.decide(std::slice::from_ref(&hunk.id), decision);
        self.tokens.push(token);
        if decision == Decision::Accept {
            let (old, new): (BTreeSet<char>, BTreeSet<char>) =
                (hunk.old.chars().collect(), hunk.new.chars().collect());
            let came = new.difference(&old).copied().collect();
            self.accepted.insert(token, (came, old.difference(&new).copied().collect()));
        }
        token
    }

    fn base(&self) -> String {
        self.desk.ledger.base(&F).map_or_else(|| self.desk.text.clone(), ToString::to_string)
    }

    #[track_caller]
    fn check(&self) {
        let (base, text) = (self.base(), self.desk.text.clone());
        for each in [&base, &text] {
            let chars: Vec<char> = each.chars().filter(|c| !c.is_control()).collect();
            let once: BTreeSet<char> = chars.iter().copied().collect();
            assert_eq!(chars.len(), once.len(), "something is there twice: {each:?}");
        }
        let came: BTreeSet<&char> = self.accepted.values().flat_map(|(came, _)| came).collect();
        let gone: BTreeSet<&char> = self.accepted.values().flat_map(|(_, gone)| gone).collect();
        for c in base.chars().filter(|c| is_agent(*c)) {
            assert!(came.contains(&c), "the base has {c:?}, which was not accepted: {base:?}");
        }
        for c in &self.original {
            let kept = base.contains(*c) || gone.contains(c) || self.erased.contains(c);
            assert!(kept, "the base has lost {c:?}: {base:?}");
        }
        for c in &self.typed {
            assert!(text.contains(*c), "what was typed is lost: {c:?} of {text:?}");
        }
    }
}

fn fresh(shape: &[bool], ending: &str, block: u32, next: &mut u32) -> String {
    let mut text = String::new();
    for letter in shape {
        if *letter {
            text.push(char::from_u32(block + *next).expect("a character"));
            *next += 1;
        } else {
            text.push_str(ending);
        }
    }
    text
}

proptest! {
    #[test]
    fn the_base_holds_what_was_accepted_and_nothing_that_was_not(text in text(), steps in steps()) {
        let mut story = Story::new(&text);
        steps.iter().for_each(|step| story.take(step));
        let mut accepting = story.desk.clone();
        let current = accepting.text.clone();
        accepting.decide_all(Decision::Accept);
        prop_assert_eq!(&accepting.text, &current, "accepting changes nothing in the text");
        let base = story.base();
        let mixed = story.desk.hunks().iter().any(|it| it.state == crate::State::Conflict);
        story.desk.decide_all(Decision::Reject);
        story.check();
        if !mixed {
            prop_assert_eq!(&story.desk.text, &base, "rejecting all gives the base");
        }
        prop_assert!(story.desk.hunks().is_empty());
    }

    #[test]
    fn decisions_undone_in_reverse_leave_no_trace(text in text(), steps in steps(), decisions in prop::collection::vec((any::<u16>(), any::<bool>()), 1..8), restart in any::<bool>()) {
        let mut story = Story::new(&text);
        steps.iter().for_each(|step| story.take(step));
        let mut states = Vec::new();
        for (at, accept) in decisions {
            let hunks = story.desk.hunks();
            let Some(hunk) = hunks.get(choice(at, hunks.len())) else { break };
            let before = (story.desk.text.clone(), story.base(), story.desk.hunks());
            let decision = if accept { Decision::Accept } else { Decision::Reject };
            states.push((story.decide(hunk, decision), before));
        }
        if restart {
            story.desk.restart();
        }
        for (token, (text, base, hunks)) in states.into_iter().rev() {
            story.desk.undo(token);
            prop_assert_eq!(&story.desk.text, &text);
            prop_assert_eq!(&story.base(), &base);
            prop_assert_eq!(story.desk.hunks(), hunks);
        }
    }
}

/// A text after edits, each of which is one word for another.
fn story(text: &str, edits: &[(&str, &str)]) -> Desk {
    let mut desk = Desk::new(text);
    edits.iter().for_each(|(old, new)| desk.agent(old, new));
    desk
}

fn only(desk: &Desk) -> Hunk {
    let mut hunks = desk.hunks();
    assert_eq!(hunks.len(), 1);
    hunks.remove(0)
}

#[track_caller]
fn check_base(desk: &Desk, expected: &str) {
    assert_eq!(desk.ledger.base(&F).map(ToString::to_string).as_deref(), Some(expected));
}

#[test]
fn a_decision_that_builds_on_one_taken_back_is_open_again_with_it() {
    let mut desk = story("a\n", &[("a", "b")]);
    let first = desk.decide_all(Decision::Accept);
    desk.agent("b", "c");
    let second = desk.decide_all(Decision::Accept);
    desk.undo(first);
    check_base(&desk, "a\n");
    let hunk = only(&desk);
    assert_eq!((hunk.old.as_str(), hunk.new.as_str()), ("a\n", "c\n"));
    desk.undo(second);
    check_base(&desk, "a\n");
    desk.decide_all(Decision::Reject);
    assert_eq!(desk.text, "a\n");
}

#[test]
fn a_rejected_text_does_not_come_back_where_the_agent_has_written_another() {
    let mut desk = story("a\n", &[("a", "b")]);
    let rejected = desk.decide_all(Decision::Reject);
    desk.agent("a", "c");
    desk.decide_all(Decision::Accept);
    desk.undo(rejected);
    assert_eq!(desk.text, "c\n");
    assert!(desk.hunks().is_empty());
}

#[test]
fn hunks_on_one_line_are_taken_back_one_by_one() {
    let mut desk = story("one two\n", &[("one", "ONE")]);
    let first = desk.decide_all(Decision::Accept);
    desk.agent("two", "TWO");
    let second = only(&desk).id;
    desk.decide(&[second], Decision::Accept);
    desk.undo(first);
    check_base(&desk, "one TWO\n");
    desk.decide_all(Decision::Reject);
    assert_eq!(desk.text, "one TWO\n");
}

#[test]
fn lines_that_a_rejection_put_beside_stay_the_persons_whatever_is_taken_back_before_it() {
    let mut desk = story("f()\n", &[("f", "g")]);
    let first = desk.decide_all(Decision::Reject);
    desk.agent("()", "(\n  x,\n)");
    desk.types_at(8..8, "# mine\n");
    desk.decide_all(Decision::Reject);
    assert_eq!(desk.text, "f()\n# mine\n");
    desk.undo(first);
    assert_eq!(desk.text, "g()\n# mine\n");
    check_base(&desk, "f()\n# mine\n");
    desk.decide_all(Decision::Reject);
    assert_eq!(desk.text, "f()\n# mine\n");
}

#[test]
fn a_long_past_is_shortened_and_never_wrong() {
    let mut desk = story("one\ntwo\nthree\n", &[("two", "TWO")]);
    let token = desk.decide_all(Decision::Reject);
    for n in 0..5_000 {
        let changes = ChangeSet::new(desk.text.len(), vec![Edit::new(n..n, "x")]).unwrap();
        desk.ledger.person_edit(&F, &changes);
        desk.text.insert(n, 'x');
    }
    desk.undo(token);
    assert!(desk.text.contains("TWO"));
    desk.decide_all(Decision::Reject);
    assert_eq!(desk.text.replace('x', ""), "one\ntwo\nthree\n");
}

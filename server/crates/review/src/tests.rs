use std::collections::BTreeSet;

use proptest::prelude::*;
use text::{ChangeSet, Edit, Rope};

use crate::{Author, Change, Decision, Hunk, HunkId, Ledger, Origin, Pick, Plan, State};

pub const F: &str = "f";

/// A document, the ledger beside it, and what the ledger is told of both.
#[derive(Clone)]
pub struct Desk {
    pub text: String,
    pub ledger: Ledger<&'static str>,
    calls: usize,
}

impl Desk {
    pub fn new(text: &str) -> Desk {
        Desk { text: text.to_owned(), ledger: Ledger::default(), calls: 0 }
    }

    #[track_caller]
    pub fn agent(&mut self, old: &str, new: &str) {
        let at = self.text.find(old).unwrap();
        self.agent_edits(vec![Edit::new(at..at + old.len(), new)]);
    }

    pub fn agent_edits(&mut self, edits: Vec<Edit>) {
        let before = Rope::from_str(&self.text);
        let changes = ChangeSet::new(self.text.len(), edits).unwrap();
        self.text = changes.apply(&before).to_string();
        self.calls += 1;
        let origin = Origin::of("s", &format!("call-{}", self.calls));
        self.ledger.agent_edit(&F, &before, &changes, &origin);
        self.check();
    }

    fn agent_writes(&mut self, text: &str) {
        let changes = ChangeSet::whole(&Rope::from_str(&self.text), text);
        self.agent_edits(changes.edits().to_vec());
    }

    #[track_caller]
    fn types(&mut self, old: &str, new: &str) {
        let at = self.text.find(old).unwrap();
        let same = |a: &str, b: &str| a.bytes().zip(b.bytes()).take_while(|(a, b)| a == b).count();
        let head = same(old, new);
        let back = |text: &str| text[head..].chars().rev().collect::<String>();
        let tail = same(&back(old), &back(new));
        self.types_at(at + head..at + old.len() - tail, &new[head..new.len() - tail]);
    }

    #[track_caller]
    pub fn types_at(&mut self, range: std::ops::Range<usize>, new: &str) {
        let len = self.text.len();
        self.text.replace_range(range.clone(), new);
        let changes = ChangeSet::new(len, vec![Edit::new(range, new)]).unwrap();
        self.ledger.person_edit(&F, &changes);
        self.check();
    }

    pub fn hunks(&self) -> Vec<Hunk> {
        self.ledger.view(&F).map(|it| it.hunks).unwrap_or_default()
    }

    #[track_caller]
    pub fn decide(&mut self, ids: &[HunkId], decision: Decision) -> u64 {
        let ids: BTreeSet<HunkId> = ids.iter().cloned().collect();
        if decision == Decision::Reject {
            self.carry_out(self.ledger.plan_reject(&F, &ids));
        }
        let token = self.ledger.token();
        self.ledger.decide(&F, &ids, decision, token);
        self.check();
        token
    }

    pub fn decide_all(&mut self, decision: Decision) -> u64 {
        let ids: Vec<HunkId> = self.hunks().into_iter().map(|it| it.id).collect();
        self.decide(&ids, decision)
    }

    #[track_caller]
    pub fn undo(&mut self, token: u64) {
        for part in self.ledger.plan_undo(token) {
            self.carry_out(part.plan);
            self.ledger.undo(&F, token);
        }
        self.check();
    }

    fn carry_out(&mut self, plan: Option<Plan>) {
        match plan {
            Some(Plan::Text(changes)) => {
                self.text = changes.apply(&Rope::from_str(&self.text)).to_string();
            }
            Some(Plan::Create(text)) => self.text = text,
            Some(Plan::Delete) => self.text.clear(),
            None => {}
        }
    }

    /// Closed, something new at `at` in the file, and opened again.
    pub fn reopens(&mut self, at: usize, new: &str) {
        self.text.insert_str(at, new);
        self.ledger.reopened(&F, &Rope::from_str(&self.text));
        self.check();
    }

    /// The process ends and another one starts.
    pub fn restart(&mut self) {
        let saved = self.ledger.save();
        self.ledger = Ledger::default();
        self.ledger.restore(saved);
        self.check();
    }

    /// The ledger holds the document's text, and its texts agree outside the pieces.
    #[track_caller]
    fn check(&self) {
        let Some(file) = self.ledger.files.get(&F) else { return };
        assert_eq!(file.current.to_string(), self.text);
        let base = file.base.to_string();
        let (mut rebuilt, mut copied, mut now) = (String::new(), 0, 0);
        for piece in &file.pieces {
            assert!(copied <= piece.base.start && now <= piece.now.start, "{:?}", file.pieces);
            assert!(!piece.hunk.is_empty() && file.origins.contains_key(&piece.hunk));
            rebuilt.push_str(&base[copied..piece.base.start]);
            rebuilt.push_str(&self.text[piece.now.clone()]);
            (copied, now) = (piece.base.end, piece.now.end);
            for typed in &piece.typed {
                assert!(piece.now.start <= typed.start && typed.end <= piece.now.end);
            }
        }
        rebuilt.push_str(&base[copied..]);
        assert_eq!(rebuilt, self.text, "base {base:?} pieces {:?}", file.pieces);
        let mut again = Ledger::default();
        again.restore(self.ledger.save());
        assert_eq!(again.list(), self.ledger.list());
    }
}

const LINES: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";

fn three() -> Desk {
    let mut desk = Desk::new(LINES);
    desk.agent_writes("ONE\nextra\ntwo\nthree\nFOUR\nfive\nsix\n");
    desk
}

#[track_caller]
fn check_hunks(desk: &Desk, expected: &[(&str, &str)]) {
    let hunks = desk.hunks();
    let texts: Vec<(&str, &str)> =
        hunks.iter().map(|it| (it.old.as_str(), it.new.as_str())).collect();
    assert_eq!(texts, expected);
}

#[test]
fn a_hunk_is_the_lines_that_changed() {
    check_hunks(&three(), &[("one\n", "ONE\nextra\n"), ("four\n", "FOUR\n"), ("seven\n", "")]);
    let mut desk = Desk::new("a\nb");
    desk.agent("b", "b\nc");
    check_hunks(&desk, &[("b", "b\nc")]);
}

#[test]
fn neighbouring_lines_are_one_hunk_of_one_call_and_two_of_two() {
    let mut desk = Desk::new(LINES);
    desk.agent_writes(&LINES.replace("two\nthree", "TWO\nTHREE"));
    check_hunks(&desk, &[("two\nthree\n", "TWO\nTHREE\n")]);
    desk.agent("four", "FOUR");
    check_hunks(&desk, &[("two\nthree\n", "TWO\nTHREE\n"), ("four\n", "FOUR\n")]);
    desk.agent("TWO", "TW0");
    check_hunks(&desk, &[("two\nthree\n", "TW0\nTHREE\n"), ("four\n", "FOUR\n")]);
    assert_eq!(desk.hunks()[0].origin.calls, ["call-1", "call-3"]);
}

#[test]
fn an_edit_taken_back_by_the_agent_or_by_undo_is_no_hunk() {
    let mut desk = Desk::new(LINES);
    desk.agent("two", "TWO");
    desk.agent("TWO", "two");
    check_hunks(&desk, &[]);
    let mut desk = three();
    desk.types("ONE\nextra", "one");
    desk.types("FOUR", "four");
    desk.types_at(desk.text.len()..desk.text.len(), "seven\n");
    check_hunks(&desk, &[]);
    assert_eq!(desk.text, LINES);
    let mut desk = three();
    desk.types_at(0..desk.text.len(), LINES);
    check_hunks(&desk, &[]);
}

#[test]
fn every_order_of_decisions_gives_one_text() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    for choice in 0..8_usize {
        let mut texts = BTreeSet::new();
        for order in orders {
            let mut desk = three();
            let ids: Vec<HunkId> = desk.hunks().into_iter().map(|it| it.id).collect();
            for (nth, index) in order.into_iter().enumerate() {
                let accept = choice & (1 << index) != 0;
                let decision = if accept { Decision::Accept } else { Decision::Reject };
                desk.decide(&[ids[index].clone()], decision);
                let place = desk.text.find("five").unwrap();
                desk.types_at(place..place, if nth == 0 { "mine " } else { "" });
            }
            check_hunks(&desk, &[]);
            texts.insert(desk.text);
        }
        assert_eq!(texts.len(), 1, "{texts:?}");
    }
}

#[test]
fn what_is_typed_inside_a_hunk_survives_its_rejection() {
    let mut desk = three();
    desk.types("extra", "ext-mine-ra");
    let hunk = desk.hunks().remove(0);
    assert_eq!((hunk.state, hunk.author), (State::Conflict, Author::Mixed));
    desk.decide(&[hunk.id], Decision::Reject);
    assert!(desk.text.contains("-mine-") && desk.text.starts_with("one"), "{}", desk.text);
    assert!(!desk.text.contains("ext"), "{}", desk.text);
}

#[test]
fn whole_lines_typed_inside_a_hunk_stay_beside_the_line_that_comes_back() {
    for (line, left) in
        [("\n  # mine", "main()\n  # mine\nend\n"), ("\n# a\n# b", "main()\n# a\n# b\nend\n")]
    {
        let mut desk = Desk::new("main()\nend\n");
        desk.agent("(", "(\n  x,\n");
        let at = desk.text.find("x,").unwrap() + 2;
        desk.types_at(at..at, line);
        let (text, hunks) = (desk.text.clone(), desk.hunks());
        let token = desk.decide_all(Decision::Reject);
        assert_eq!(desk.text, left);
        desk.undo(token);
        assert_eq!(desk.text, text);
        assert_eq!(desk.hunks(), hunks);
        // The person goes on in their line, and the agent's text comes back all the same.
        let token = desk.decide_all(Decision::Reject);
        desk.types("#", "#!");
        desk.undo(token);
        assert!(desk.text.contains("#!") && desk.text.contains("x,"), "{}", desk.text);
        desk.decide_all(Decision::Reject);
        assert_eq!(desk.text.matches("#!").count(), 1, "{}", desk.text);
        assert!(desk.text.starts_with("main()"), "{}", desk.text);
    }
}

#[test]
fn typing_beside_a_hunk_is_no_part_of_it() {
    let mut desk = Desk::new(LINES);
    desk.agent("two", "TWO");
    desk.types("TWO", "TWO");
    let at = desk.text.find("TWO").unwrap() + 3;
    desk.types_at(at..at, " mine");
    assert_eq!(desk.hunks()[0].state, State::Pending);
    desk.decide_all(Decision::Reject);
    assert_eq!(desk.text, LINES.replace("two", "two mine"));
}

#[test]
fn decisions_are_undone() {
    for decision in [Decision::Accept, Decision::Reject] {
        let mut desk = three();
        let (text, hunks) = (desk.text.clone(), desk.hunks());
        let token = desk.decide_all(decision);
        check_hunks(&desk, &[]);
        desk.undo(token);
        assert_eq!(desk.text, text);
        assert_eq!(desk.hunks(), hunks);
        desk.decide_all(Decision::Reject);
        assert_eq!(desk.text, LINES);
    }
}

#[test]
fn a_decision_is_undone_beside_what_was_typed_since() {
    for decision in [Decision::Accept, Decision::Reject] {
        let mut desk = three();
        let id = desk.hunks()[1].id.clone();
        let token = desk.decide(&[id], decision);
        desk.types("two", "mine\ntwo");
        let now = if decision == Decision::Accept { "FOUR" } else { "four" };
        desk.types(now, &now.replacen(&now[1..2], &format!("{}%", &now[1..2]), 1));
        desk.undo(token);
        assert!(desk.text.contains('%') && desk.text.contains("mine"), "{}", desk.text);
        assert_eq!(desk.hunks().len(), 3);
        desk.decide_all(Decision::Reject);
        assert!(desk.text.contains('%') && desk.text.contains("mine"), "{}", desk.text);
        assert_eq!(desk.text.replace('%', "").replace("mine\n", ""), LINES);
    }
}

#[test]
fn a_new_file_goes_when_it_is_rejected_and_comes_back_by_undo() {
    let origin = Origin::of("s", "c");
    let mut ledger: Ledger<&str> = Ledger::default();
    ledger.created(&F, "a\nb\n", &origin);
    let view = ledger.view(&F).unwrap();
    assert_eq!((view.change, view.hunks.len()), (Change::Add, 1));
    let ids: BTreeSet<HunkId> = view.hunks.into_iter().map(|it| it.id).collect();
    assert_eq!(ledger.plan_reject(&F, &ids), Some(Plan::Delete));
    let token = ledger.token();
    ledger.decide(&F, &ids, Decision::Reject, token);
    assert_eq!(ledger.pending(), 0);
    assert_eq!(ledger.plan_undo(token)[0].plan, Some(Plan::Create("a\nb\n".to_owned())));
    ledger.undo(&F, token);
    assert_eq!(ledger.view(&F).unwrap().change, Change::Add);
    ledger.deleted(&F, &Rope::from_str("a\nb\n"), &origin);
    assert_eq!(ledger.pending(), 0, "it came and went");
}

#[test]
fn a_deleted_file_comes_back_when_it_is_rejected() {
    for text in ["a\nb\n", ""] {
        let origin = Origin::of("s", "c");
        let mut ledger: Ledger<&str> = Ledger::default();
        ledger.deleted(&F, &Rope::from_str(text), &origin);
        let view = ledger.view(&F).unwrap();
        assert_eq!((view.change, view.hunks.len()), (Change::Delete, 1));
        let ids: BTreeSet<HunkId> = view.hunks.into_iter().map(|it| it.id).collect();
        assert_eq!(ledger.plan_reject(&F, &ids), Some(Plan::Create(text.to_owned())));
        let token = ledger.token();
        ledger.decide(&F, &ids, Decision::Reject, token);
        assert_eq!(ledger.plan_undo(token)[0].plan, Some(Plan::Delete));
        ledger.undo(&F, token);
        ledger.created(&F, "a\nB\n", &origin);
        let view = ledger.view(&F).unwrap();
        assert_eq!(view.change, Change::Modify);
    }
}

#[test]
fn hunks_are_picked_by_what_they_are_of() {
    let mut desk = three();
    let before = Rope::from_str(&desk.text);
    let at = desk.text.find("two").unwrap();
    let changes = ChangeSet::new(desk.text.len(), vec![Edit::new(at..at + 3, "TWO")]).unwrap();
    desk.ledger.agent_edit(&F, &before, &changes, &Origin::of("other", "c"));
    desk.text = changes.apply(&before).to_string();
    let count = |pick: Pick<&'static str>| {
        desk.ledger.pick(&[pick]).values().map(BTreeSet::len).sum::<usize>()
    };
    assert_eq!(count(Pick::All), 4);
    assert_eq!(count(Pick::File(F)), 4);
    assert_eq!(count(Pick::File("g")), 0);
    assert_eq!(count(Pick::Session("other".to_owned())), 1);
    assert_eq!(count(Pick::Range(F, at..at + 1)), 1);
    assert_eq!(count(Pick::Range(F, at..at)), 1);
    assert_eq!(count(Pick::Range(F, 0..at + 1)), 2);
    let end = desk.text.len();
    assert_eq!(count(Pick::Range(F, end..end)), 1, "where lines were deleted");
}

/// What happens to a document, places as fractions of its length.
#[derive(Clone, Debug)]
enum Step {
    Agent(u16, u8, String),
    Type(u16, String),
    Erase(u16, u8),
    Decide(u16, bool),
    Undo(u16),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => (any::<u16>(), 0..6_u8, "[a-e\n]{0,5}").prop_map(|(at, len, text)| Step::Agent(at, len, text)),
        3 => (any::<u16>(), "[0-9]{1,3}").prop_map(|(at, text)| Step::Type(at, text)),
        1 => (any::<u16>(), 1..6_u8).prop_map(|(at, len)| Step::Erase(at, len)),
        2 => (any::<u16>(), any::<bool>()).prop_map(|(at, accept)| Step::Decide(at, accept)),
        1 => any::<u16>().prop_map(Step::Undo),
    ]
}

fn place(at: u16, len: usize) -> usize {
    usize::from(at) * len / usize::from(u16::MAX)
}

fn run(desk: &mut Desk, steps: &[Step]) -> String {
    let mut typed = String::new();
    let mut tokens = Vec::new();
    for step in steps {
        let len = desk.text.len();
        match step {
            Step::Agent(at, gone, text) => {
                let at = place(*at, len);
                let mut end = (at + usize::from(*gone)).min(len);
                // The agent takes out nothing the person wrote.
                if let Some(digit) = desk.text[at..end].find(|c: char| c.is_ascii_digit()) {
                    end = at + digit;
                }
                desk.agent_edits(vec![Edit::new(at..end, text.as_str())]);
            }
            Step::Type(at, text) => {
                typed.push_str(text);
                let at = place(*at, len);
                desk.types_at(at..at, text);
            }
            Step::Erase(at, gone) => {
                let at = place(*at, len);
                let mut end = (at + usize::from(*gone)).min(len);
                if let Some(digit) = desk.text[at..end].find(|c: char| c.is_ascii_digit()) {
                    end = at + digit;
                }
                desk.types_at(at..end, "");
            }
            Step::Decide(at, accept) => {
                let hunks = desk.hunks();
                if let Some(hunk) =
                    hunks.get(place(*at, hunks.len()).min(hunks.len().saturating_sub(1)))
                {
                    let decision = if *accept { Decision::Accept } else { Decision::Reject };
                    tokens.push(desk.decide(std::slice::from_ref(&hunk.id), decision));
                }
            }
            Step::Undo(at) => {
                if !tokens.is_empty() {
                    let token = tokens.remove(place(*at, tokens.len() - 1));
                    desk.undo(token);
                }
            }
        }
    }
    typed
}

fn sorted(text: &str, wanted: impl Fn(char) -> bool) -> String {
    let mut chars: Vec<char> = text.chars().filter(|c| wanted(*c)).collect();
    chars.sort_unstable();
    chars.into_iter().collect()
}

proptest! {
    #[test]
    fn nothing_typed_is_lost(text in "[a-e\n]{0,40}", steps in prop::collection::vec(step(), 1..25), accept in any::<bool>()) {
        let mut desk = Desk::new(&text);
        let typed = run(&mut desk, &steps);
        prop_assert_eq!(sorted(&desk.text, |c| c.is_ascii_digit()), sorted(&typed, |_| true));
        desk.decide_all(if accept { Decision::Accept } else { Decision::Reject });
        prop_assert_eq!(sorted(&desk.text, |c| c.is_ascii_digit()), sorted(&typed, |_| true));
        prop_assert!(desk.hunks().is_empty());
    }

    #[test]
    fn what_is_typed_stays_in_one_piece(
        old in "[a-e ()\n]{0,20}",
        new in "[a-e ()\n]{1,20}",
        around in ("[a-e ()\n]{0,6}", "[a-e ()\n]{0,6}"),
        typed in "[x-z\n]{0,3}[x-z]",
        at in any::<prop::sample::Index>(),
    ) {
        let (before, after) = around;
        let text = format!("{before}{old}{after}");
        let mut desk = Desk::new(&text);
        desk.agent_edits(vec![Edit::new(before.len()..before.len() + old.len(), new.as_str())]);
        let at = before.len() + at.index(new.len() + 1);
        desk.types_at(at..at, &typed);
        let (shown, hunks) = (desk.text.clone(), desk.hunks());
        let token = desk.decide_all(Decision::Reject);
        prop_assert_eq!(desk.text.replacen(&typed, "", 1), text);
        desk.undo(token);
        prop_assert_eq!(&desk.text, &shown);
        prop_assert_eq!(desk.hunks(), hunks);
    }

    #[test]
    fn rejecting_all_gives_the_base_and_what_was_typed(text in "[a-e\n]{0,40}", steps in prop::collection::vec(step(), 1..25)) {
        let mut desk = Desk::new(&text);
        let steps: Vec<Step> = steps.into_iter().filter(|it| matches!(it, Step::Agent(..) | Step::Type(..) | Step::Decide(_, false) | Step::Undo(_))).collect();
        let typed = run(&mut desk, &steps);
        desk.decide_all(Decision::Reject);
        let rest: String = desk.text.chars().filter(|c| !c.is_ascii_digit()).collect();
        prop_assert_eq!(rest, text);
        prop_assert_eq!(sorted(&desk.text, |c| c.is_ascii_digit()), sorted(&typed, |_| true));
    }

    #[test]
    fn an_undone_decision_leaves_everything_as_it_was(text in "[a-e\n]{0,40}", steps in prop::collection::vec(step(), 1..25), accept in any::<bool>(), which in any::<u16>()) {
        let mut desk = Desk::new(&text);
        let steps: Vec<Step> = steps.into_iter().filter(|it| !matches!(it, Step::Undo(_) | Step::Decide(..))).collect();
        run(&mut desk, &steps);
        let hunks = desk.hunks();
        if !hunks.is_empty() {
            let hunk = &hunks[place(which, hunks.len() - 1)];
            let (text, base) = (desk.text.clone(), desk.ledger.base(&F).cloned());
            let token = desk.decide(std::slice::from_ref(&hunk.id), if accept { Decision::Accept } else { Decision::Reject });
            desk.undo(token);
            prop_assert_eq!(&desk.text, &text);
            // Hunks that touched are one now.
            prop_assert!(!desk.hunks().is_empty() && desk.hunks().len() <= hunks.len());
            let letters = |rope: Option<Rope>| rope.unwrap().to_string().replace(|c: char| c.is_ascii_digit(), "");
            prop_assert_eq!(letters(desk.ledger.base(&F).cloned()), letters(base));
        }
    }
}

/// Printed, never judged: `cargo test --release -p review keystroke -- --nocapture`.
#[test]
fn a_keystroke_costs_little_in_a_long_file_with_many_hunks() {
    let text: String = (0..100_000).map(|n| format!("line {n:06} of a long file\n")).collect();
    let mut desk = Desk::new(&text);
    let edits = (0..1_000).map(|n| Edit::new(n * 2_600..n * 2_600 + 4, "LINE"));
    let before = Rope::from_str(&text);
    let changes = ChangeSet::new(text.len(), edits.collect()).unwrap();
    desk.ledger.agent_edit(&F, &before, &changes, &Origin::of("s", "c"));
    assert_eq!(desk.ledger.pending(), 1_000);
    let count: usize = 2_000;
    let start = std::time::Instant::now();
    for n in 0..count {
        let changes = ChangeSet::new(text.len() + n, vec![Edit::new(n..n, "x")]).unwrap();
        desk.ledger.person_edit(&F, &changes);
    }
    let each = start.elapsed() / u32::try_from(count).unwrap();
    eprintln!("ledger after one keystroke, 100k lines, 1,000 hunks: {each:?}");
    assert_eq!(desk.ledger.pending(), 1_000);
}

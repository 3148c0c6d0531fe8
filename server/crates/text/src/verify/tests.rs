use super::*;
use proptest::prelude::*;

fn set(text: &Rope, edits: &[(usize, usize, &str)]) -> ChangeSet {
    let edits = edits.iter().map(|(a, b, text)| Edit::new(*a..*b, *text)).collect();
    ChangeSet::new(text.len_bytes(), edits).unwrap()
}

/// A base, our edits, and what happens then: each step's edits refer to the text before it.
struct Story {
    base: Rope,
    ours: ChangeSet,
    now: Rope,
    history: Vec<ChangeSet>,
}

impl Story {
    fn new(base: &str, ours: &[(usize, usize, &str)]) -> Story {
        let base = Rope::from_str(base);
        Story { ours: set(&base, ours), now: base.clone(), base, history: Vec::new() }
    }

    fn then(mut self, edits: &[(usize, usize, &str)]) -> Story {
        let change = set(&self.now, edits);
        self.now = change.apply(&self.now);
        self.history.push(change);
        self
    }

    fn landed(&self) -> Landing {
        landed(&self.base, &self.ours, &self.now, &self.history)
    }

    fn landed_blind(&self) -> Landing {
        landed(&self.base, &self.ours, &self.now, &[])
    }
}

#[track_caller]
fn check_with(story: &Story, landing: Landing) {
    let Landing::With { theirs } = landing else { panic!("{landing:?}") };
    assert_eq!(theirs.apply(&story.ours.apply(&story.base)), story.now);
}

#[track_caller]
fn check_not_yet(story: &Story, landing: Landing) {
    let Landing::NotYet { theirs } = landing else { panic!("{landing:?}") };
    assert_eq!(theirs.apply(&story.base), story.now);
}

#[track_caller]
fn check_misplaced(story: &Story, expected: &str) {
    let landing = story.landed();
    let Landing::Misplaced { repair } = landing else { panic!("{landing:?}") };
    assert_eq!(repair.apply(&story.now).to_string(), expected);
}

const BASE: &str = "one\ntwo\nthree\nfour\n";

#[test]
fn sees_the_edit_land() {
    let story = Story::new(BASE, &[(4, 7, "TWO")]).then(&[(4, 7, "TWO")]);
    assert_eq!(story.landed(), Landing::Exact);
    assert_eq!(story.landed_blind(), Landing::Exact);
}

#[test]
fn sees_the_person_type_elsewhere() {
    let story = Story::new(BASE, &[(4, 7, "TWO")]).then(&[(4, 7, "TWO")]).then(&[(0, 0, "zero\n")]);
    check_with(&story, story.landed());
    check_with(&story, story.landed_blind());
}

#[test]
fn sees_several_edits_reported_bottom_up() {
    let story = Story::new(BASE, &[(0, 3, "ONE"), (8, 13, "THREE!")])
        .then(&[(8, 13, "THREE!")])
        .then(&[(0, 3, "ONE")])
        .then(&[(20, 20, "five\n")]);
    check_with(&story, story.landed());
}

#[test]
fn sees_an_edit_with_converted_line_endings() {
    let story = Story::new("one\r\ntwo\r\n", &[(5, 5, "new\n")]).then(&[(5, 5, "new\r\n")]);
    check_with(&story, story.landed());
    check_with(&story, story.landed_blind());
}

#[test]
fn sees_an_edit_that_was_skipped() {
    let story = Story::new(BASE, &[(4, 7, "TWO")]);
    check_not_yet(&story, story.landed());
    let story = story.then(&[(0, 0, "zero\n")]);
    check_not_yet(&story, story.landed());
    check_not_yet(&story, story.landed_blind());
    let typed_there = Story::new(BASE, &[(4, 7, "TWO")]).then(&[(5, 6, "v")]);
    check_not_yet(&typed_there, typed_there.landed());
    assert_eq!(typed_there.landed_blind(), Landing::Conflict);
}

#[test]
fn repairs_an_edit_applied_to_stale_lines() {
    let story = Story::new(BASE, &[(4, 7, "TWO")]).then(&[(0, 0, "zero\n")]).then(&[(5, 8, "TWO")]);
    check_misplaced(&story, "zero\none\nTWO\nthree\nfour\n");
    assert_eq!(story.landed_blind(), Landing::Conflict);
    check_misplaced(&story.then(&[(18, 18, "!")]), "zero\none\nTWO\nthree!\nfour\n");
}

#[test]
fn a_line_shift_below_does_no_harm() {
    let story = Story::new(BASE, &[(4, 7, "TWO")]).then(&[(8, 8, "new\n")]).then(&[(4, 7, "TWO")]);
    check_with(&story, story.landed());
}

#[test]
fn never_guesses_where_the_person_changed_the_same_text() {
    let story = Story::new(BASE, &[(4, 7, "TWO")]).then(&[(5, 6, "vvv")]).then(&[(4, 7, "TWO")]);
    assert_eq!(story.landed(), Landing::Conflict);
}

#[test]
fn an_undone_edit_was_in() {
    let story = Story::new(BASE, &[(4, 7, "TWO")]).then(&[(4, 7, "TWO")]).then(&[(4, 7, "two")]);
    check_with(&story, story.landed());
}

#[test]
fn a_history_that_leads_elsewhere_is_not_trusted() {
    let mut story =
        Story::new(BASE, &[(4, 7, "TWO")]).then(&[(4, 7, "TWO")]).then(&[(0, 0, "zero\n")]);
    story.history.remove(0);
    check_with(&story, story.landed());
}

#[derive(Clone, Copy, Debug)]
enum Editor {
    Refuses,
    AppliesFirst,
    AppliesLiterally,
}

#[derive(Clone, Copy, Debug)]
enum Report {
    OneByOne,
    Merged,
    Lost,
}

/// Raw edits, made to fit whatever text they meet.
type Raw = Vec<(usize, usize, String)>;

fn fit(text: &Rope, raw: &Raw) -> ChangeSet {
    let len = text.len_chars();
    let mut changes = ChangeSet::identity(text.len_bytes());
    for (at, span, new) in raw {
        let start = at % (len + 1);
        let end = (start + span).min(len);
        let mut edits = changes.edits().to_vec();
        edits.push(Edit::new(text.char_to_byte(start)..text.char_to_byte(end), new.as_str()));
        changes = ChangeSet::new(text.len_bytes(), edits).unwrap_or(changes);
    }
    changes
}

fn report(history: &mut Vec<ChangeSet>, text: &Rope, change: &ChangeSet, form: Report) -> Rope {
    let after = change.apply(text);
    match form {
        Report::OneByOne => {
            let mut len = text.len_bytes();
            for edit in change.edits().iter().rev() {
                let single = ChangeSet::new(len, vec![edit.clone()]).unwrap();
                len = single.len_after();
                history.push(single);
            }
        }
        Report::Merged => history.push(ChangeSet::between(text, &after)),
        Report::Lost => {}
    }
    after
}

fn raw(alphabet: &'static str, most: usize) -> impl Strategy<Value = Raw> {
    proptest::collection::vec((0..60usize, 0..5usize, alphabet), 0..=most)
}

proptest! {
    #[test]
    fn every_verdict_is_true_of_the_texts(
        base in "([a-d]{0,4}é?\n){2,8}",
        agent in raw("[A-D\n]{0,4}", 3),
        before in raw("[x-z\n]{0,3}", 2),
        after in raw("[x-z\n]{0,3}", 2),
        editor in prop_oneof![Just(Editor::Refuses), Just(Editor::AppliesFirst), Just(Editor::AppliesLiterally)],
        form in prop_oneof![Just(Report::OneByOne), Just(Report::Merged), Just(Report::Lost)],
    ) {
        let base = Rope::from_str(&base);
        let ours = fit(&base, &agent);
        if ours.apply(&base) == base {
            return Ok(());
        }
        let mut history = Vec::new();
        let mut now = base.clone();
        if let Editor::AppliesFirst = editor {
            now = report(&mut history, &now, &ours, form);
        }
        let typed = fit(&now, &before);
        let early = typed.apply(&now);
        let entries = history.len();
        now = report(&mut history, &now, &typed, form);
        let typed = history[entries..].iter().cloned().reduce(ChangeSet::compose);
        if let Editor::AppliesLiterally = editor {
            let stale = literal(&base, &now, &ours, Unit::Utf16);
            let Some(stale) = stale else { return Ok(()) };
            now = report(&mut history, &now, &stale, form);
        }
        let settled = now.clone();
        let typed_after = fit(&now, &after);
        now = report(&mut history, &now, &typed_after, form);

        let landing = landed(&base, &ours, &now, &history);
        match &landing {
            Landing::Exact => prop_assert_eq!(ours.apply(&base), now),
            Landing::With { theirs } => prop_assert_eq!(theirs.apply(&ours.apply(&base)), now),
            Landing::NotYet { theirs } => {
                prop_assert_eq!(theirs.apply(&base), now.clone());
                let brings_text = ours.edits().iter().any(|edit| !edit.text.trim().is_empty());
                let harmless = matches!(editor, Editor::Refuses) || !brings_text || !now.chars().any(|c| c.is_ascii_uppercase());
                let partly = matches!(form, Report::Lost);
                prop_assert!(harmless || partly, "taken for the person's text: {:?}", now);
            }
            Landing::Misplaced { repair } => {
                let repaired = repair.apply(&now);
                if let Some(typed) = typed.filter(|_| settled == now) {
                    prop_assert_eq!(repaired, ours.rebase(&typed).unwrap().apply(&early));
                }
            }
            // Whoever takes one of our places away has done a part of our work.
            Landing::Partly { left, rest } => {
                prop_assert!(*left < ours.edits().len());
                prop_assert!(rest.iter().all(|rest| rest.len_before() == now.len_bytes()));
            }
            Landing::Conflict => {}
        }
        if let (Editor::AppliesFirst, Report::OneByOne | Report::Merged) = (editor, form) {
            prop_assert!(matches!(landing, Landing::Exact | Landing::With { .. }), "{:?}", landing);
        }
    }
}

use super::*;
use proptest::prelude::*;

fn set(text: &Rope, edits: &[(usize, usize, &str)]) -> ChangeSet {
    let edits = edits.iter().map(|(a, b, text)| Edit::new(*a..*b, *text)).collect();
    ChangeSet::new(text.len_bytes(), edits).unwrap()
}

/// What becomes of `ours` after these notifications, each of steps that follow each other.
#[track_caller]
fn check(
    base: &str,
    ours: &[(usize, usize, &str)],
    told: &[&[(usize, usize, &str)]],
    expected: &str,
) {
    let base = Rope::from_str(base);
    let mut arrival = Arrival::new(&base, &set(&base, ours));
    let mut now = base;
    for steps in told {
        let mut changes = Vec::new();
        for step in *steps {
            let change = set(&now, &[*step]);
            now = change.apply(&now);
            changes.push(change);
        }
        arrival.take(changes);
    }
    let became = match arrival.judge(&now) {
        Landing::Exact => "exact".to_owned(),
        Landing::With { .. } => "with".to_owned(),
        Landing::NotYet { .. } => "not yet".to_owned(),
        Landing::Partly { left, rest: None } => format!("{left} left"),
        Landing::Partly { rest: Some(rest), .. } => format!("then {}", rest.apply(&now)),
        Landing::Misplaced { repair } => format!("repair {}", repair.apply(&now)),
        Landing::Conflict => "conflict".to_owned(),
    };
    assert_eq!(became, expected);
}

const OURS: &[(usize, usize, &str)] = &[(0, 3, "ONE"), (4, 7, "TWO"), (8, 13, "")];
const BASE: &str = "one two three four";

#[test]
fn parts_bottom_up_and_top_down() {
    check(BASE, OURS, &[&[(8, 13, "")], &[(4, 7, "TWO")], &[(0, 3, "ONE")]], "exact");
    check(BASE, OURS, &[&[(0, 3, "ONE")], &[(4, 7, "TWO")], &[(8, 13, "")]], "exact");
    check(BASE, OURS, &[&[(8, 13, ""), (4, 7, "TWO")]], "then ONE TWO  four");
    check(BASE, OURS, &[&[(4, 7, "TWO")]], "then ONE TWO  four");
}

#[test]
fn several_parts_as_one_replacement() {
    check(BASE, OURS, &[&[(0, 7, "ONE TWO")]], "then ONE TWO  four");
    check(BASE, OURS, &[&[(4, 13, "TWO ")], &[(0, 0, "> ")], &[(2, 5, "ONE")]], "with");
}

#[test]
fn typing_between_the_parts() {
    let told: &[&[_]] = &[&[(8, 13, "")], &[(9, 9, "my ")], &[(4, 7, "TWO")], &[(0, 3, "ONE")]];
    check(BASE, OURS, told, "with");
    check(BASE, OURS, &told[..3], "then ONE TWO  my four");
    check(BASE, OURS, &told[..2], "then ONE TWO  my four");
    check(BASE, OURS, &[&[(18, 18, "!")]], "not yet");
}

/// What was typed is known where it was typed, not where a comparison of the texts would have it.
#[test]
fn typing_is_told_as_it_was_typed() {
    let base = Rope::from_str("#1#\none\n#2#\n");
    let mut arrival = Arrival::new(&base, &set(&base, &[(4, 7, "ONE")]));
    let mut now = base;
    for step in [(0, 0, "#3#"), (11, 11, "#4#"), (7, 10, "ONE"), (0, 0, "#5#")] {
        let change = set(&now, &[step]);
        now = change.apply(&now);
        arrival.take(vec![change]);
    }
    let Landing::With { theirs } = arrival.judge(&now) else { panic!("{now}") };
    let expected = Rope::from_str("#1#\nONE\n#2#\n");
    assert_eq!(theirs, set(&expected, &[(0, 0, "#5##3#"), (8, 8, "#4#")]));
}

#[test]
fn typing_in_a_part_that_is_still_to_come() {
    check(BASE, OURS, &[&[(8, 13, "")], &[(5, 6, "v")], &[(0, 3, "ONE")]], "conflict");
    check(BASE, OURS, &[&[(8, 13, "")], &[(5, 6, "v")], &[(4, 7, "TWO")]], "conflict");
}

#[test]
fn a_part_that_may_be_in_elsewhere_is_not_made_again() {
    check(BASE, OURS, &[&[(8, 13, "")], &[(9, 9, "TWO")]], "2 left");
}

#[test]
fn insertions_beside_each_other() {
    let ours: &[(usize, usize, &str)] = &[(3, 3, "A"), (7, 7, "B")];
    check("one two", ours, &[&[(3, 7, "A twoB")], &[(0, 0, "-")]], "with");
    check("one two", ours, &[&[(7, 7, "B")], &[(3, 3, "-")], &[(4, 4, "A")]], "with");
}

#[test]
fn line_endings_of_the_document() {
    let ours: &[(usize, usize, &str)] = &[(3, 3, "\nA"), (9, 9, "B\n")];
    check(
        "one\r\ntwo\r\n",
        ours,
        &[&[(9, 9, "B\r\n")], &[(0, 0, "-")], &[(4, 4, "\r\nA")]],
        "with",
    );
}

#[test]
fn a_thousand_places_in_a_thousand_parts() {
    let base = Rope::from_str(&"word\n".repeat(1000));
    let edits: Vec<Edit> = (0..1000).map(|at| Edit::new(at * 5..at * 5 + 4, "longer")).collect();
    let ours = ChangeSet::new(base.len_bytes(), edits).unwrap();
    let mut arrival = Arrival::new(&base, &ours);
    let mut now = base;
    for (nth, edit) in ours.edits().iter().rev().enumerate() {
        let left = 1000 - nth;
        match arrival.judge(&now) {
            Landing::NotYet { .. } => assert_eq!(left, 1000),
            Landing::Partly { left: found, .. } => assert_eq!(found, left),
            other => panic!("{other:?}"),
        }
        let change = ChangeSet::new(now.len_bytes(), vec![edit.clone()]).unwrap();
        now = change.apply(&now);
        arrival.take(vec![change]);
    }
    let typed = set(&now, &[(0, 0, "x")]);
    now = typed.apply(&now);
    arrival.take(vec![typed]);
    assert!(matches!(arrival.judge(&now), Landing::With { .. }));
}

#[derive(Clone, Debug)]
enum Told {
    /// A part of ours, by number.
    Part(usize),
    /// The person writes at the end of a line.
    Typed(usize),
}

proptest! {
    /// Lines that are ours to change and lines that are the person's to write in, told in any order.
    #[test]
    fn in_whatever_order_it_is_told(
        lines in proptest::collection::vec(("[a-dé]{1,4}", "[A-D]{0,3}"), 1..8),
        order in proptest::collection::vec(any::<proptest::sample::Index>(), 24),
        merged in any::<bool>(),
    ) {
        let mut base = String::new();
        let mut edits = Vec::new();
        for (old, new) in &lines {
            base.push_str("> [");
            edits.push(Edit::new(base.len()..base.len() + old.len(), new.as_str()));
            base.push_str(old);
            base.push_str("]\n-\n");
        }
        let base = Rope::from_str(&base);
        let count = edits.len();
        let ours = ChangeSet::new(base.len_bytes(), edits.clone()).unwrap();
        let mut events: Vec<Told> = (0..count).map(Told::Part).chain((0..count).map(Told::Typed)).collect();
        let mut arrival = Arrival::new(&base, &ours);
        // The text line by line, as it is and as it is in the end.
        let text = |done: &[bool], typed: &[usize]| {
            let lines = lines.iter().zip(done).zip(typed);
            Rope::from_str(&lines.map(|(((old, new), done), typed)| {
                format!("> [{}]\n-{}\n", if *done { new } else { old }, "x".repeat(*typed))
            }).collect::<String>())
        };
        let (mut done, mut typed) = (vec![false; count], vec![0; count]);
        let mut now = base;
        let mut order = order.into_iter();
        while !events.is_empty() {
            let mut told = Vec::new();
            let mut told_until = now.clone();
            let mut parts = 0;
            for _ in 0..=usize::from(merged) {
                let Some(next) = order.next().filter(|_| !events.is_empty()) else { break };
                let next = next.index(events.len());
                match events.remove(next) {
                    Told::Part(at) => (done[at], parts) = (true, parts + 1),
                    Told::Typed(at) => (typed[at], parts) = (typed[at] + 1, 0),
                }
                now = text(&done, &typed);
                // Two parts are told as one difference of the texts.
                if parts != 2 {
                    told.push(ChangeSet::between(&told_until, &now));
                    told_until = now.clone();
                } else {
                    told = vec![ChangeSet::between(&arrival.texts[arrival.texts.len() - 1], &now)];
                }
            }
            arrival.take(told);
            let all_in = text(&vec![true; count], &typed);
            match arrival.judge(&now) {
                Landing::Exact => prop_assert_eq!(&ours.apply(&arrival.texts[0]), &now),
                Landing::With { theirs } => {
                    prop_assert!(done.iter().all(|it| *it));
                    prop_assert_eq!(theirs.apply(&arrival.expected), now.clone());
                }
                Landing::NotYet { theirs } => {
                    prop_assert!(!done.iter().any(|it| *it));
                    prop_assert_eq!(theirs.apply(&arrival.texts[0]), now.clone());
                }
                Landing::Partly { rest, .. } => {
                    prop_assert!(!done.iter().all(|it| *it));
                    if let Some(rest) = rest {
                        prop_assert_eq!(rest.apply(&now), all_in);
                    }
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }
}

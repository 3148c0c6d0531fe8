use proptest::prelude::*;
use text::Edit;

use super::*;

fn file() -> Location {
    Location::disk("/w/a.txt")
}

/// The bytes of these 1-based lines.
fn lines(text: &str, first: usize, last: usize) -> Range<usize> {
    let rope = Rope::from_str(text);
    let end = if last < rope.len_lines() { rope.line_to_byte(last) } else { rope.len_bytes() };
    rope.line_to_byte(first - 1)..end
}

/// Shows `shown` lines of `then`, and judges `wanted` lines of `now`.
#[track_caller]
fn check(then: &str, shown: &[(usize, usize)], now: &str, wanted: (usize, usize), expected: Sight) {
    let seen = Seen::default();
    for (first, last) in shown {
        seen.show(&file(), &Rope::from_str(then), lines(then, *first, *last));
    }
    let sight = seen.check(&file(), &Rope::from_str(now), lines(now, wanted.0, wanted.1));
    assert_eq!(sight, expected);
}

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\n";

fn unseen(first: usize, last: usize) -> Sight {
    Sight::Unseen { first, last }
}

fn changed(first: usize, last: usize) -> Sight {
    Sight::Changed { first, last }
}

#[test]
fn a_passage_is_seen_where_it_is_in_the_text_once() {
    #[track_caller]
    fn check(passage: &str, wanted: (usize, usize), expected: Sight) {
        let (seen, text) = (Seen::default(), "one\ntwo\nthree\r\nfour\ntwo\n");
        seen.show_passage(&file(), &Rope::from_str(text), passage);
        let sight = seen.check(&file(), &Rope::from_str(text), lines(text, wanted.0, wanted.1));
        assert_eq!(sight, expected, "{passage:?}");
    }
    check("one\ntwo\nthree\r\nfour\ntwo\n", (1, 5), Sight::Fresh);
    check("one\ntwo", (1, 2), Sight::Fresh);
    check("one\ntwo", (3, 3), unseen(3, 3));
    check("three", (3, 3), Sight::Fresh);
    check("ne\ntwo\n", (1, 1), unseen(1, 1));
    check("two\n", (2, 2), Sight::Never);
    check("other", (1, 1), Sight::Never);
    check("", (1, 1), Sight::Never);
}

#[test]
fn only_what_was_shown_may_be_edited() {
    check(TEXT, &[], TEXT, (1, 1), Sight::Never);
    check(TEXT, &[(1, 5)], TEXT, (1, 5), Sight::Fresh);
    check(TEXT, &[(2, 3)], TEXT, (2, 2), Sight::Fresh);
    check(TEXT, &[(2, 3)], TEXT, (3, 4), unseen(3, 4));
    check(TEXT, &[(2, 3)], TEXT, (1, 1), unseen(1, 1));
    check(TEXT, &[(1, 2), (3, 4)], TEXT, (2, 3), Sight::Fresh);
    check(TEXT, &[(4, 5), (1, 1)], TEXT, (1, 5), unseen(1, 5));
}

#[test]
fn a_change_elsewhere_does_not_matter() {
    check(TEXT, &[(1, 5)], "zero\none\ntwo\nthree\nfour\nfive\n", (3, 4), Sight::Fresh);
    check(TEXT, &[(1, 5)], "one\nthree\nfour\nfive\n", (2, 2), Sight::Fresh);
    check(TEXT, &[(1, 5)], "ONE\ntwo\nthree\nfour\nfive\n", (2, 5), Sight::Fresh);
    check(TEXT, &[(1, 2)], "one\ntwo\nthree\nfour\nfive", (1, 2), Sight::Fresh);
    check(TEXT, &[(1, 2)], "one\ntwo\nthree\nfour\nFIVE\n", (3, 3), unseen(3, 3));
}

#[test]
fn a_change_in_the_lines_matters_wherever_in_them_it_is() {
    check(TEXT, &[(1, 5)], "one\ntwo!\nthree\nfour\nfive\n", (2, 2), changed(2, 2));
    check(TEXT, &[(1, 5)], "one\nwo\nthree\nfour\nfive\n", (2, 2), changed(2, 2));
    check(TEXT, &[(1, 5)], "one\ntw\nthree\nfour\nfive\n", (2, 2), changed(2, 2));
    check(TEXT, &[(1, 5)], "one\n\ttwo\nthree\nfour\nfive\n", (2, 2), changed(2, 2));
    check(TEXT, &[(1, 5)], "onetwo\nthree\nfour\nfive\n", (1, 1), changed(1, 1));
    check(TEXT, &[(1, 5)], "one\ntwo\nnew\nthree\nfour\nfive\n", (3, 3), changed(3, 3));
    check(TEXT, &[(1, 5)], "one\ntwo\nthree\nfour\nfive", (5, 5), changed(5, 5));
    check(TEXT, &[(1, 5)], "one\ntwo\nthree\nfour\nfive\nsix\n", (6, 6), changed(6, 6));
}

#[test]
fn line_ends_and_edges() {
    let crlf = "one\r\ntwo\r\nthree";
    check(crlf, &[(1, 3)], crlf, (3, 3), Sight::Fresh);
    check(crlf, &[(1, 3)], "zero\r\none\r\ntwo\r\nthree", (4, 4), Sight::Fresh);
    check(crlf, &[(1, 3)], "one\ntwo\r\nthree", (1, 1), changed(1, 1));
    check(crlf, &[(1, 3)], "one\r\ntwo\r\nthree\r\n", (3, 3), changed(3, 3));
    check(crlf, &[(2, 2)], crlf, (3, 3), unseen(3, 3));
    check("", &[(1, 1)], "", (1, 1), Sight::Fresh);
    check("", &[(1, 1)], "new\n", (1, 1), changed(1, 1));
    check("old\n", &[(1, 1)], "", (1, 1), changed(1, 1));
    check("é\n日\n", &[(1, 2)], "x\né\n日\n", (3, 3), Sight::Fresh);
}

#[test]
fn a_part_shown_later_does_not_freshen_what_changed() {
    let seen = Seen::default();
    let then = Rope::from_str(TEXT);
    seen.show_all(&file(), &then);
    for now in [
        "ne\ntwo\nthree\nfour\nfive\n",
        "oneX\ntwo\nthree\nfour\nfive\n",
        "Xone\ntwo\nthree\nfour\nfive\n",
    ] {
        let now_rope = Rope::from_str(now);
        seen.show(&file(), &now_rope, lines(now, 5, 5));
        assert_eq!(seen.check(&file(), &now_rope, lines(now, 1, 1)), unseen(1, 1), "{now}");
        assert_eq!(seen.check(&file(), &now_rope, lines(now, 2, 5)), Sight::Fresh, "{now}");
    }
}

#[test]
fn own_edits_count_as_seen() {
    let seen = Seen::default();
    let before = Rope::from_str(TEXT);
    seen.show(&file(), &before, lines(TEXT, 2, 2));
    let changes = ChangeSet::new(before.len_bytes(), vec![Edit::new(4..7, "TWO\nand")]).unwrap();
    let after = changes.apply(&before);
    seen.edited(&file(), &before, &after, &changes);
    let now = after.to_string();
    assert_eq!(seen.check(&file(), &after, lines(&now, 2, 3)), Sight::Fresh);
    assert_eq!(seen.check(&file(), &after, lines(&now, 1, 1)), unseen(1, 1));
    assert_eq!(seen.check(&file(), &after, lines(&now, 4, 4)), unseen(4, 4));
}

#[test]
fn what_is_added_to_a_file_that_was_never_read_is_seen() {
    let seen = Seen::default();
    let before = Rope::from_str(TEXT);
    let end = before.len_bytes();
    let changes = ChangeSet::new(end, vec![Edit::new(end..end, "six\n")]).unwrap();
    let after = changes.apply(&before);
    seen.edited(&file(), &before, &after, &changes);
    let now = after.to_string();
    assert_eq!(seen.check(&file(), &after, lines(&now, 6, 6)), Sight::Fresh);
    assert_eq!(seen.check(&file(), &after, lines(&now, 5, 5)), unseen(5, 5));
}

#[test]
fn a_forgotten_file_was_never_seen() {
    let seen = Seen::default();
    let text = Rope::from_str(TEXT);
    seen.show_all(&file(), &text);
    assert!(seen.knows(&file()) && seen.known() == [file()]);
    seen.forget(&file());
    assert_eq!(seen.check_all(&file(), &text), Sight::Never);
}

/// Something that happens between two edits of the agent's.
#[derive(Clone, Debug)]
enum Step {
    /// These lines are shown.
    Show(usize, usize),
    /// The person replaces, inserts or deletes a line.
    Replace(usize),
    Insert(usize),
    Delete(usize),
    /// The person puts a letter into a line.
    Type(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let at = 0..12usize;
    prop_oneof![
        3 => (at.clone(), 1..5usize).prop_map(|(from, count)| Step::Show(from, count)),
        1 => at.clone().prop_map(Step::Replace),
        1 => at.clone().prop_map(Step::Insert),
        1 => at.clone().prop_map(Step::Delete),
        1 => at.prop_map(Step::Type),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Every line is unlike every other, so it is known which of them were shown as they are.
    #[test]
    fn a_line_may_be_edited_exactly_if_it_was_shown_as_it_is(
        steps in prop::collection::vec(step(), 1..14),
        ending in prop::sample::select(vec!["\n", "\r\n"]),
    ) {
        let mut now: Vec<String> = (0..8).map(|n| format!("{}{n} first", "ab".repeat(n + 1))).collect();
        let mut shown = std::collections::HashSet::new();
        let seen = Seen::default();
        let whole = |now: &[String]| now.iter().map(|it| format!("{it}{ending}")).collect::<String>();
        for (nth, step) in steps.into_iter().enumerate() {
            let len = now.len();
            let fresh = format!("{}{nth} fresh", "xyz".repeat(nth + 1));
            match step {
                Step::Show(from, count) if from < len => {
                    let last = (from + count).min(len);
                    let text = whole(&now);
                    seen.show(&file(), &Rope::from_str(&text), lines(&text, from + 1, last));
                    shown.extend(now[from..last].iter().cloned());
                }
                Step::Replace(at) if at < len => now[at] = fresh,
                Step::Insert(at) if at <= len => now.insert(at, fresh),
                Step::Delete(at) if at < len => { now.remove(at); }
                Step::Type(at) if at < len => {
                    let column = at.min(now[at].len());
                    now[at].insert(column, 'q');
                }
                Step::Show(..) | Step::Replace(_) | Step::Insert(_) | Step::Delete(_) | Step::Type(_) => {}
            }
        }
        let text = whole(&now);
        let rope = Rope::from_str(&text);
        for (nth, line) in now.iter().enumerate() {
            let sight = seen.check(&file(), &rope, lines(&text, nth + 1, nth + 1));
            prop_assert_eq!(sight == Sight::Fresh, shown.contains(line), "line {} {:?}: {:?}", nth + 1, line, sight);
        }
    }
}

use text::{ChangeSet, Edit, Rope};

use crate::ledger::Decision;
use crate::tests::{Desk, F};

/// `text` after the agent replaced `AGENT` for `old`, then it was found as `found` and all rejected.
#[track_caller]
fn check_found(old: &str, agent: &str, found: &str, expected: &str) {
    let mut desk = Desk::new(old);
    desk.agent("line", agent);
    desk.text = found.to_owned();
    desk.ledger.reopened(&F, &Rope::from_str(found));
    desk.decide_all(Decision::Reject);
    assert_eq!(desk.text, expected);
}

#[test]
fn a_guess_over_a_hunk_tears_nothing_that_was_typed() {
    // Typed on both sides, with a beginning and an end that the text before has too.
    check_found(
        "#1#line 0 x#2#\n",
        "AGENT",
        "#1##69#AGENT#7# 0 x#2#\n",
        "#1##69#AGENT#7# 0 x#2#\n",
    );
    check_found("a line b\n", "AGENT", "a #line# b\n", "a #line# b\n");
}

/// `old`, of which the agent put `new` in the place of bytes, then `text` came at `at`.
#[track_caller]
fn check_came(old: &str, edit: Edit, (at, text): (usize, &str), expected: &str) {
    let mut desk = Desk::new(old);
    desk.agent_edits(vec![edit]);
    desk.reopens(at, text);
    assert!(desk.ledger.take_doubted().is_empty(), "{:?}", desk.hunks());
    desk.decide_all(Decision::Reject);
    assert_eq!(desk.text, expected);
}

#[test]
fn what_comes_between_the_halves_of_a_line_end_leaves_hunks_there_pending() {
    // Within the agent's line end, behind and before a half of one, and beside a hunk.
    check_came("a\rb\n", Edit::new(1..3, "\r\n"), (2, "#"), "a\rb#\n");
    check_came("a\n", Edit::new(1..1, "\r"), (2, "#"), "a#\n");
    check_came("a\rb", Edit::new(2..3, "\n"), (2, "#"), "a\r#b");
    check_came("a\r\nb", Edit::new(0..1, "A"), (2, "#"), "a\r#\nb");
    check_came("a\r\nb", Edit::new(3..4, "B"), (2, "##\r"), "a\r##\r\nb");
}

#[test]
fn a_guess_beside_a_hunk_or_within_it_leaves_it_pending() {
    check_found("a line b\n", "AGENT", "new\na AGENT b\n", "new\na line b\n");
    check_found("a line b\n", "AGENT", "a line b\n", "a line b\n");
}

/// The agent's edit of `line`, then an edit that may be one of ours, then everything rejected.
#[track_caller]
fn check_unsure(text: &str, edit: (usize, usize, &str), expected: &str) {
    let mut desk = Desk::new(text);
    desk.agent("line", "AGENT");
    let (start, end, new) = edit;
    let edit = Edit::new(start..end, new);
    let changes = ChangeSet::new(desk.text.len(), vec![edit]).unwrap();
    desk.text.replace_range(start..end, new);
    desk.ledger.unsure_edit(&F, &changes);
    desk.decide_all(Decision::Reject);
    assert_eq!(desk.text, expected);
}

#[test]
fn an_edit_of_ours_that_counts_as_failed_is_not_made_again() {
    // A rejection that came in with what was typed inside.
    check_unsure("a line b", (2, 7, "line§1§"), "a line§1§ b");
    check_unsure("a line b", (0, 9, "a line§1§ b"), "a line§1§ b");
    // Typing alone, and what puts the very base back.
    check_unsure("a line b", (0, 0, "§1§"), "§1§a line b");
    check_unsure("a line b", (2, 7, "line"), "a line b");
}

#[test]
fn a_file_with_a_hunk_in_doubt_is_named_once() {
    let mut desk = Desk::new("a line b\nline\n");
    desk.agent("line", "AGENT");
    desk.ledger.reopened(&F, &Rope::from_str("new\na AGENT b\nline\n"));
    assert!(desk.ledger.take_doubted().is_empty(), "it is where it was");
    desk.ledger.reopened(&F, &Rope::from_str("new\na #line# b\nline\n"));
    assert_eq!(desk.ledger.take_doubted().into_iter().collect::<Vec<_>>(), [F]);
    assert!(desk.ledger.take_doubted().is_empty());
}

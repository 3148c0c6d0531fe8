use proptest::prelude::*;
use text::{Edit, Rope};

use super::*;
use crate::{Decision, Ledger, Origin};

const FILE: &str = "a";
const TEXT: &str = "one\ntwo\nthree\nfour\nfive\n";

/// A ledger of a process that began to count here, in which a session replaced these lines of the
/// text, numbered from nought.
fn ledger(from: u64, text: &str, lines: &[usize]) -> Ledger<&'static str> {
    let mut ledger = Ledger::default();
    ledger.count_from(from);
    for line in lines {
        let before = ledger.current(&FILE).cloned().unwrap_or_else(|| Rope::from_str(text));
        let range = before.line_to_byte(*line)..before.line_to_byte(line + 1);
        let new = before.line(*line).to_string().to_uppercase();
        let changes = ChangeSet::new(before.len_bytes(), vec![Edit::new(range, new)]).unwrap();
        ledger.agent_edit(&FILE, &before, &changes, &Origin::of(&format!("session-{from}"), "c"));
    }
    ledger
}

/// What is pending after the second process's hunks were taken over by the first.
#[track_caller]
fn check_joined(first: &[usize], second: &[usize], expected: &[&str]) {
    let mut one = ledger(0, TEXT, first);
    let between = one.current(&FILE).map_or(TEXT.to_owned(), ToString::to_string);
    let mut two = ledger(1000, &between, second);
    let now = two.current(&FILE).cloned().unwrap();
    // Both see what the file holds in the end.
    one.reopened(&FILE, &now);
    two.reopened(&FILE, &now);
    assert_eq!(one.restore(two.save()), Vec::<&str>::new());
    let view = one.view(&FILE).unwrap();
    let found: Vec<&str> = view.hunks.iter().map(|it| it.new.trim()).collect();
    assert_eq!(found, expected);
    let ids = view.hunks.iter().map(|it| it.id.clone()).collect();
    let back = match one.plan_reject(&FILE, &ids) {
        Some(crate::Plan::Text(back)) => Some(back.apply(&now)),
        Some(crate::Plan::Create(_) | crate::Plan::Delete) | None => None,
    };
    assert_eq!(back, Some(Rope::from_str(TEXT)), "all of it is taken back");
    let token = one.token();
    one.decide(&FILE, &ids, Decision::Reject, token);
    assert_eq!(one.pending(), 0);
}

#[test]
fn hunks_beside_each_other_are_joined_in_any_order() {
    check_joined(&[0], &[4], &["ONE", "FIVE"]);
    check_joined(&[4], &[0], &["ONE", "FIVE"]);
    check_joined(&[2], &[0, 4], &["ONE", "THREE", "FIVE"]);
}

proptest! {
    #[test]
    fn whatever_is_joined_the_text_is_one_of_them(
        first in prop::collection::btree_set(0..5_usize, 1..4),
        second in prop::collection::btree_set(0..5_usize, 1..4),
        typed in "[a-z\n]{0,6}",
    ) {
        let mut one = ledger(0, TEXT, &first.into_iter().collect::<Vec<_>>());
        let two = ledger(1000, TEXT, &second.into_iter().collect::<Vec<_>>());
        let now = one.current(&FILE).unwrap().clone();
        let changes = ChangeSet::new(now.len_bytes(), vec![Edit::new(4..4, typed)]).unwrap();
        let now = changes.apply(&now);
        one.person_edit(&FILE, &changes);
        one.restore(two.save());
        let joined = one.current(&FILE).unwrap();
        prop_assert!(*joined == now || Some(joined) == two.current(&FILE));
        let again = {
            let mut again = Ledger::default();
            prop_assert_eq!(again.restore(one.save()), Vec::<&str>::new());
            again
        };
        prop_assert_eq!(again.list(), one.list());
    }
}

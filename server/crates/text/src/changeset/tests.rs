use super::*;
use proptest::prelude::*;

fn set(len: usize, edits: &[(usize, usize, &str)]) -> ChangeSet {
    ChangeSet::new(len, edits.iter().map(|(a, b, text)| Edit::new(*a..*b, *text)).collect())
        .unwrap()
}

#[track_caller]
fn check_rebase(
    base: &str,
    ours: &[(usize, usize, &str)],
    over: &[(usize, usize, &str)],
    expected: Option<&str>,
) {
    let (ours, over) = (set(base.len(), ours), set(base.len(), over));
    let base = Rope::from_str(base);
    let merged = ours.rebase(&over).ok().map(|ours| ours.apply(&over.apply(&base)).to_string());
    assert_eq!(merged.as_deref(), expected);
    let reverse =
        over.rebase_ahead(&ours).ok().map(|over| over.apply(&ours.apply(&base)).to_string());
    assert_eq!(reverse.as_deref(), expected);
}

#[test]
fn sorts_and_refuses_bad_edits() {
    let sorted = set(6, &[(4, 5, "x"), (0, 1, ""), (4, 4, "i"), (2, 2, "")]);
    assert_eq!(sorted.edits(), [Edit::new(0..1, ""), Edit::new(4..4, "i"), Edit::new(4..5, "x")]);
    let overlap = ChangeSet::new(6, vec![Edit::new(0..3, ""), Edit::new(2..4, "")]);
    assert_eq!(overlap, Err(ChangeError::Overlap { range: 2..4 }));
    let inside = ChangeSet::new(6, vec![Edit::new(0..3, ""), Edit::new(1..1, "x")]);
    assert_eq!(inside, Err(ChangeError::Overlap { range: 1..1 }));
    assert!(ChangeSet::new(6, vec![Edit::new(5..7, "")]).is_err());
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = ChangeSet::new(6, vec![Edit::new(3..2, "")]);
    assert!(reversed.is_err());
}

#[test]
fn rebases_what_does_not_touch() {
    check_rebase("abcdef", &[(4, 5, "E")], &[(0, 1, "AAA")], Some("AAAbcdEf"));
    check_rebase("abcdef", &[(0, 2, "X")], &[(2, 4, "Y")], Some("XYef"));
    check_rebase("abcdef", &[(3, 3, "me")], &[(3, 3, "you")], Some("abcyoumedef"));
    check_rebase("abcdef", &[(2, 4, "")], &[(2, 2, "you")], Some("abyouef"));
    check_rebase("abcdef", &[(2, 2, "me")], &[(2, 4, "you")], Some("abmeyouef"));
    check_rebase("abcdef", &[(4, 4, "me")], &[(2, 4, "you")], Some("abyoumeef"));
    check_rebase("abcdef", &[], &[(2, 4, "you")], Some("abyouef"));
}

#[test]
fn refuses_what_touches() {
    check_rebase("abcdef", &[(1, 3, "")], &[(2, 4, "")], None);
    check_rebase("abcdef", &[(1, 3, "")], &[(1, 3, "")], None);
    check_rebase("abcdef", &[(2, 2, "x")], &[(1, 3, "")], None);
    check_rebase("abcdef", &[(1, 3, "")], &[(2, 2, "x")], None);
    check_rebase("abcdef", &[(0, 6, "all")], &[(2, 2, "x")], None);
}

#[test]
fn an_overlap_names_the_present_text() {
    let (ours, over) = (set(6, &[(2, 4, "x")]), set(6, &[(0, 0, "12"), (3, 5, "LONG")]));
    assert_eq!(ours.rebase(&over), Err(Overlap { range: 4..9 }));
}

#[test]
fn maps_positions_by_bias() {
    let changes = set(10, &[(2, 2, "ins"), (4, 6, "R")]);
    let mapped = |pos, bias| changes.map_pos(pos, bias);
    assert_eq!([mapped(2, Bias::Left), mapped(2, Bias::Right)], [2, 5]);
    assert_eq!([mapped(4, Bias::Left), mapped(4, Bias::Right)], [7, 7]);
    assert_eq!([mapped(5, Bias::Left), mapped(5, Bias::Right)], [7, 8]);
    assert_eq!([mapped(6, Bias::Left), mapped(10, Bias::Right)], [8, 12]);
}

const BASE: &str = "fn a() {\n    é = 日本;\r\n}\n\n𝒳 end";

fn changes_of(text: &str) -> impl Strategy<Value = ChangeSet> + use<> {
    let text = text.to_owned();
    let bounds: Vec<usize> = (0..=text.len()).filter(|at| text.is_char_boundary(*at)).collect();
    let count = bounds.len();
    proptest::collection::vec((0..count, 0..4usize, "[xé\n]{0,3}"), 0..4).prop_map(move |raw| {
        let mut changes = ChangeSet::identity(text.len());
        for (at, span, new) in raw {
            let end = (at + span).min(count - 1);
            let mut edits = changes.edits().to_vec();
            edits.push(Edit::new(bounds[at]..bounds[end], new));
            changes = ChangeSet::new(text.len(), edits).unwrap_or(changes);
        }
        changes
    })
}

fn two_in_a_row() -> impl Strategy<Value = (ChangeSet, ChangeSet)> {
    changes_of(BASE).prop_flat_map(|first| {
        let after = first.apply(&Rope::from_str(BASE)).to_string();
        changes_of(&after).prop_map(move |second| (first.clone(), second))
    })
}

proptest! {
    #[test]
    fn inverting_restores(changes in changes_of(BASE)) {
        let base = Rope::from_str(BASE);
        let after = changes.apply(&base);
        prop_assert_eq!(after.len_bytes(), changes.len_after());
        let inverse = changes.invert(&base);
        prop_assert_eq!(inverse.apply(&after), base.clone());
        prop_assert_eq!(inverse.invert(&after).apply(&base), after);
    }

    #[test]
    fn composing_is_applying_in_turn((first, second) in two_in_a_row()) {
        let base = Rope::from_str(BASE);
        let expected = second.apply(&first.apply(&base));
        let composed = first.compose(second);
        prop_assert_eq!(composed.len_after(), expected.len_bytes());
        prop_assert_eq!(composed.apply(&base), expected);
    }

    #[test]
    fn both_orders_of_rebase_agree(ours in changes_of(BASE), theirs in changes_of(BASE)) {
        let base = Rope::from_str(BASE);
        let (a, b) = (ours.rebase(&theirs), theirs.rebase_ahead(&ours));
        prop_assert_eq!(a.is_ok(), b.is_ok());
        if let (Ok(a), Ok(b)) = (a, b) {
            prop_assert_eq!(a.apply(&theirs.apply(&base)), b.apply(&ours.apply(&base)));
        }
    }

    #[test]
    fn mapping_keeps_order(changes in changes_of(BASE)) {
        for bias in [Bias::Left, Bias::Right] {
            let mapped: Vec<usize> = (0..=BASE.len()).map(|pos| changes.map_pos(pos, bias)).collect();
            prop_assert!(mapped.is_sorted());
            prop_assert_eq!(mapped[BASE.len()] <= changes.len_after(), true);
        }
    }
}

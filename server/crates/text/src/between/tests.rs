use super::*;
use proptest::prelude::*;

/// `expected`: the edits as (start, end, text).
#[track_caller]
fn check(before: &str, after: &str, expected: &[(usize, usize, &str)]) {
    let rope = Rope::from_str(before);
    let changes = ChangeSet::whole(&rope, after);
    let edits: Vec<_> =
        changes.edits().iter().map(|e| (e.range.start, e.range.end, e.text.as_str())).collect();
    assert_eq!(edits, expected);
    assert_eq!(changes.apply(&rope).to_string(), after);
    assert_eq!(ChangeSet::between(&rope, &Rope::from_str(after)), changes);
}

#[test]
fn trims_to_the_changed_part() {
    check("a\nb\nc\n", "a\nb\nc\n", &[]);
    check("let x = 1;\n", "let x = 2;\n", &[(8, 9, "2")]);
    check("one\ntwo\nthree\n", "One\ntwo\nThree\n", &[(0, 1, "O"), (8, 9, "T")]);
    check("", "new\n", &[(0, 0, "new\n")]);
    check("old", "", &[(0, 3, "")]);
}

#[test]
fn insertions_and_deletions_fall_on_whole_lines() {
    check("  bar()\n  baz()\n", "  foo()\n  bar()\n  baz()\n", &[(0, 0, "  foo()\n")]);
    check("{\n  a\n  b\n}\n", "{\n  a\n  c\n  b\n}\n", &[(6, 6, "  c\n")]);
    check("{\n  a\n  c\n  b\n}\n", "{\n  a\n  b\n}\n", &[(6, 10, "")]);
}

#[test]
fn never_cuts_a_character_or_a_crlf() {
    check("é\n", "è\n", &[(0, 2, "è")]);
    check("a\r\n", "a\n", &[(1, 3, "\n")]);
    check("a\n", "a\r\n", &[(1, 2, "\r\n")]);
    check("a\r\nb", "a\rb", &[(1, 3, "\r")]);
}

#[test]
fn unlike_lines_are_replaced_whole() {
    check("abc\ndef\n", "xyz\nuvw\n", &[(0, 7, "xyz\nuvw")]);
}

#[test]
fn a_word_before_one_of_several_equal_lines_is_that_word() {
    check("a\n\n\nb\n", "X\na\n\nY\nb\n", &[(0, 0, "X\n"), (3, 3, "Y")]);
    check("a\n\n\nb\nc\n", "a\nY\n\nb\nC\n", &[(2, 2, "Y"), (6, 7, "C")]);
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(prop_oneof!["[ab]{0,3}\n", "é{0,2}\r\n", "[ab日]{0,2}"], 0..12)
        .prop_map(|v| v.concat())
}

proptest! {
    #[test]
    fn leads_from_one_text_to_the_other(before in text(), after in text()) {
        let (old, new) = (Rope::from_str(&before), Rope::from_str(&after));
        let changes = ChangeSet::whole(&old, &after);
        prop_assert_eq!(changes.apply(&old).to_string(), after.clone());
        prop_assert_eq!(changes.len_after(), after.len());
        prop_assert_eq!(ChangeSet::between(&old, &new), changes.clone());
        for edit in changes.edits() {
            for at in [edit.range.start, edit.range.end] {
                prop_assert!(before.is_char_boundary(at));
                prop_assert!(!pieces::splits_crlf(&old, at));
            }
        }
    }
}

proptest! {
    #[test]
    fn sameness_is_equality(a in "[ab\r\n]{0,6}", b in "[ab\r\n]{0,6}", times in 1..900_usize, at in 0..6_usize) {
        let (long, other) = (Rope::from_str(&a.repeat(times)), Rope::from_str(&b.repeat(times)));
        prop_assert_eq!(crate::is_same(&long, &other), long == other);
        let mut edited = long.clone();
        edited.insert(at.min(edited.len_chars()), "b");
        prop_assert_eq!(crate::is_same(&long, &edited), long == edited);
        edited.remove(at.min(long.len_chars())..at.min(long.len_chars()) + 1);
        prop_assert!(crate::is_same(&long, &edited));
    }
}

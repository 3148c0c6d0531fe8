use super::*;
use proptest::prelude::*;

fn at(file: &str, line: usize) -> Anchor {
    Anchor::of(line, file.lines().nth(line - 1).unwrap())
}

fn replace(file: &str, first: usize, last: usize, text: &str) -> LineEdit {
    LineEdit::Replace { first: at(file, first), last: at(file, last), text: text.to_owned() }
}

fn after(file: &str, line: usize, text: &str) -> LineEdit {
    LineEdit::InsertAfter { anchor: at(file, line), text: text.to_owned() }
}

fn before(file: &str, line: usize, text: &str) -> LineEdit {
    LineEdit::InsertBefore { anchor: at(file, line), text: text.to_owned() }
}

#[track_caller]
fn check(file: &str, edits: &[LineEdit], expected: &str) {
    let rope = Rope::from_str(file);
    let changes = apply_line_edits(&rope, edits).unwrap();
    assert_eq!(changes.apply(&rope).to_string(), expected);
}

#[track_caller]
fn check_refused(file: &str, edits: &[LineEdit], part: &str) {
    let error = apply_line_edits(&Rope::from_str(file), edits).unwrap_err().to_string();
    assert!(error.contains(part), "{error}");
}

#[test]
fn changes_lines() {
    let file = "a\nb\nc\n";
    check(file, &[replace(file, 2, 2, "B1\nB2")], "a\nB1\nB2\nc\n");
    check(file, &[replace(file, 1, 2, "x\n")], "x\nc\n");
    check(file, &[LineEdit::Delete { first: at(file, 2), last: at(file, 3) }], "a\n");
    check(
        file,
        &[after(file, 1, "x"), before(file, 3, "y\n"), after(file, 1, "z")],
        "a\nx\nz\nb\ny\nc\n",
    );
    check(file, &[after(file, 3, "x"), before(file, 1, "y")], "y\na\nb\nc\nx\n");
    let ends =
        [LineEdit::Append { text: "z".to_owned() }, LineEdit::Prepend { text: "y".to_owned() }];
    check(file, &ends, "y\na\nb\nc\nz\n");
    check("", &ends, "z\ny\n");
    check(file, &[after(file, 1, ""), after(file, 1, "")], "a\n\nb\nc\n");
    check(
        file,
        &[replace(file, 2, 2, "B"), after(file, 2, "x"), before(file, 2, "y")],
        "a\ny\nB\nx\nc\n",
    );
}

#[test]
fn keeps_line_endings_and_a_missing_final_newline() {
    let file = "a\r\nb";
    check(file, &[after(file, 2, "x\ny")], "a\r\nb\r\nx\r\ny");
    check(file, &[replace(file, 2, 2, "B\n")], "a\r\nB");
    check(file, &[replace(file, 1, 1, "A\nA")], "a\r\nb".replacen('a', "A\r\nA", 1).as_str());
    check(file, &[LineEdit::Append { text: "x".to_owned() }], "a\r\nb\r\nx");
}

#[test]
fn refuses_changed_lines_and_says_what_they_are_now() {
    let (old, new) = ("one\ntwo\nthree\n", "zero\none\n  two\nthree\n");
    let error = apply_line_edits(&Rope::from_str(new), &[replace(old, 2, 2, "x")]).unwrap_err();
    let message = error.to_string();
    assert!(message.contains(&format!("{} is now {}:one", at(old, 2), at(new, 2))), "{message}");
    assert!(message.contains(&format!("perhaps {} is meant", at(new, 3))), "{message}");
    check_refused("one\n", &[replace(old, 2, 3, "x")], "past the end");
}

#[test]
fn refuses_edits_of_the_same_lines() {
    let file = "a\nb\nc\n";
    check_refused(
        file,
        &[replace(file, 1, 2, "x"), replace(file, 2, 3, "y")],
        "two edits change line 2",
    );
    check_refused(
        file,
        &[replace(file, 1, 3, "x"), after(file, 1, "y")],
        "two edits change line 2",
    );
    check_refused(file, &[replace(file, 3, 1, "x")], "is reversed");
    check(file, &[replace(file, 1, 1, "x"), replace(file, 1, 1, "x")], "x\nb\nc\n");
}

#[test]
fn reads_anchors_as_models_write_them() {
    let anchor = Anchor::of(12, "  let x = 1;");
    let (line, tag) = (anchor.line, anchor.to_string()[3..].to_owned());
    for text in [
        format!("{line}#{tag}"),
        format!("> {line}#{tag}:  let x = 1;"),
        format!("+{line} # {tag}"),
        format!("{line}#{}", tag.to_lowercase()),
    ] {
        assert_eq!(Anchor::parse(&text), Ok(anchor), "{text}");
    }
    for text in ["", "12", "#BB", "0#BB", "12#B", "12#AE", "x#BB", "12#日"] {
        assert!(Anchor::parse(text).is_err(), "{text}");
    }
    assert_eq!(Anchor::of(1, "let x=1;"), Anchor::of(1, "\tlet x = 1;\r\n"));
}

proptest! {
    #[test]
    fn other_lines_stay(lines in proptest::collection::vec("[ab]{0,2}\r?\n", 1..8), first in 0..8usize, span in 0..3usize, text in "[x\n]{0,4}") {
        let file = lines.concat();
        let rope = Rope::from_str(&file);
        let first = first % lines.len();
        let last = (first + span).min(lines.len() - 1);
        let anchors = (at(&file, first + 1), at(&file, last + 1));
        let changes = apply_line_edits(&rope, &[LineEdit::Replace { first: anchors.0, last: anchors.1, text }]).unwrap();
        let after = changes.apply(&rope).to_string();
        prop_assert!(after.starts_with(&lines[..first].concat()));
        prop_assert!(after.ends_with(&lines[last + 1..].concat()));
    }
}

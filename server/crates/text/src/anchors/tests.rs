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
    check("", &ends, "y\nz\n");
    check(file, &[after(file, 1, ""), after(file, 1, "")], "a\n\nb\nc\n");
    check(
        file,
        &[replace(file, 2, 2, "B"), after(file, 2, "x"), before(file, 2, "y")],
        "a\ny\nB\nx\nc\n",
    );
}

#[test]
fn insertions_between_two_lines_stand_by_the_line_they_name() {
    let file = "a\nb\n";
    let edits = [
        LineEdit::Append { text: "end".to_owned() },
        before(file, 2, "before b"),
        after(file, 1, "after a"),
        after(file, 2, "after b"),
        before(file, 1, "before a"),
        LineEdit::Prepend { text: "begin".to_owned() },
    ];
    check(file, &edits, "begin\nbefore a\na\nafter a\nbefore b\nb\nafter b\nend\n");
}

#[test]
fn a_last_line_that_goes_leaves_no_gap() {
    let file = "a\nb";
    let gone = LineEdit::Delete { first: at(file, 2), last: at(file, 2) };
    let end = |text: &str| LineEdit::Append { text: text.to_owned() };
    check(file, &[gone.clone(), end("x"), end("y")], "a\nx\ny");
    check(file, &[end("x"), replace(file, 1, 2, "")], "x");
    check(file, &[gone], "a\n");
}

#[track_caller]
fn check_pasted(line: &str, expected: Option<&str>) {
    assert_eq!(pasted(line), expected, "{line}");
}

#[test]
fn pasted_anchors_are_noticed() {
    check_pasted("12#KF:  x", Some("  x"));
    check_pasted("  > 1#BB:", Some(""));
    check_pasted("+1#BB:x", Some("x"));
    for line in ["12#KF", "12#kf:x", "#KF:x", "12:x", "12#AE:x", "1#B", "1#日:", "a 1#BB:x"] {
        check_pasted(line, None);
    }
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

    /// Edits of a text with every line ending, against the same edits of a list of lines.
    #[test]
    fn edits_are_those_of_a_list_of_lines(
        lines in proptest::collection::vec("[a-c]{1,2}", 1..7),
        ending in prop_oneof![Just("\n"), Just("\r\n")],
        final_newline in any::<bool>(),
        ops in proptest::collection::vec((0..6usize, 0..7usize, 0..3usize, "[xyz]{1,2}(\n[xyz])?"), 1..5),
    ) {
        // A single line without an ending says nothing of the file's endings.
        let ending = if lines.len() == 1 && !final_newline { "\n" } else { ending };
        let mut file = lines.join(ending);
        if final_newline { file.push_str(ending); }
        let edits: Vec<LineEdit> = ops.iter().map(|(kind, first, span, text)| {
            let first = first % lines.len();
            let last = (first + span).min(lines.len() - 1);
            let (first, last) = (at(&file, first + 1), at(&file, last + 1));
            let text = text.clone();
            match kind {
                0 => LineEdit::Replace { first, last, text },
                1 => LineEdit::Delete { first, last },
                2 => LineEdit::InsertAfter { anchor: first, text },
                3 => LineEdit::InsertBefore { anchor: first, text },
                4 => LineEdit::Append { text },
                _ => LineEdit::Prepend { text },
            }
        }).collect();
        let rope = Rope::from_str(&file);
        match apply_line_edits(&rope, &edits) {
            Ok(changes) => {
                let after = changes.apply(&rope).to_string();
                let expected = listed(&lines, &edits);
                let got: Vec<&str> = after.split(ending).collect();
                let got = got.strip_suffix(&[""]).unwrap_or(&got);
                prop_assert_eq!(got, &expected[..], "{:?}", after);
                prop_assert!(!after.replace("\r\n", "").contains('\r'));
                prop_assert!(ending == "\n" || !after.replace("\r\n", "").contains('\n'));
            }
            Err(error) => prop_assert!(matches!(error, AnchorError::Overlap { .. }), "{error}"),
        }
    }
}

/// The lines after the edits; a line that none keeps is gone.
fn listed(lines: &[String], edits: &[LineEdit]) -> Vec<String> {
    let mut once: Vec<&LineEdit> = Vec::new();
    for edit in edits {
        if !once.contains(&edit) {
            once.push(edit);
        }
    }
    let mut out = Vec::new();
    let mut put = |text: &str| out.extend(text.split('\n').map(str::to_owned));
    for edit in &once {
        if let LineEdit::Prepend { text } = edit {
            put(text);
        }
    }
    for (index, line) in lines.iter().enumerate() {
        let number = index + 1;
        for edit in &once {
            match edit {
                LineEdit::InsertBefore { anchor, text } if anchor.line == number => put(text),
                _ => {}
            }
        }
        let covering = once.iter().find_map(|edit| match edit {
            LineEdit::Replace { first, last, text }
                if (first.line..=last.line).contains(&number) =>
            {
                Some((first.line, text.as_str()))
            }
            LineEdit::Delete { first, last } if (first.line..=last.line).contains(&number) => {
                Some((0, ""))
            }
            _ => None,
        });
        match covering {
            None => put(line),
            Some((first, text)) if first == number => put(text),
            Some(_) => {}
        }
        for edit in &once {
            match edit {
                LineEdit::InsertAfter { anchor, text } if anchor.line == number => put(text),
                _ => {}
            }
        }
    }
    for edit in &once {
        if let LineEdit::Append { text } = edit {
            put(text);
        }
    }
    out
}

use super::*;
use proptest::prelude::*;

#[track_caller]
fn check(file: &str, old: &str, new: &str, tier: Tier, expected: &str) {
    let rope = Rope::from_str(file);
    let replacement = replace(&rope, old, new, Occurrences::One).unwrap();
    assert_eq!(replacement.changes.apply(&rope).to_string(), expected);
    assert_eq!((replacement.tier, replacement.count), (tier, 1));
}

#[track_caller]
fn check_all(file: &str, old: &str, new: &str, lines: &[usize], expected: &str) {
    let rope = Rope::from_str(file);
    let replacement = replace(&rope, old, new, Occurrences::All).unwrap();
    assert_eq!(replacement.changes.apply(&rope).to_string(), expected);
    assert_eq!(replacement.lines, lines);
}

#[track_caller]
fn check_ambiguous(file: &str, old: &str, new: &str, expected: Tier, expected_lines: &[usize]) {
    match replace(&Rope::from_str(file), old, new, Occurrences::One) {
        Err(FindError::Ambiguous { lines, tier }) => {
            assert_eq!((lines.as_slice(), tier), (expected_lines, expected))
        }
        other => panic!("{other:?}"),
    }
}

/// `expected`: line, text, searched line, column.
#[track_caller]
fn check_missing(file: &str, old: &str, expected: Option<(usize, &str, &str, usize)>) {
    let expected = expected.map(|(line, text, old_line, column)| Closest {
        line,
        text: text.to_owned(),
        old_line: old_line.to_owned(),
        column,
    });
    let result = replace(&Rope::from_str(file), old, "new text", Occurrences::One);
    assert_eq!(result, Err(FindError::NotFound { closest: expected }));
}

#[test]
fn exact() {
    check("a\nb\n", "a\nb", "c", Tier::Exact, "c\n");
    check("x = $y;\n", "$y", "$&\\1$$", Tier::Exact, "x = $&\\1$$;\n");
    check("日本語\n", "本", "", Tier::Exact, "日語\n");
    check("all of it\n", "all of it\n", "", Tier::Exact, "");
    check_all("foo(1)\nfoo(1)\n", "foo(1)", "bar", &[1, 2], "bar\nbar\n");
    check_all("aaaa", "aa", "b", &[1, 1], "bb");
    check_ambiguous("foo(1)\nfoo(1)\n", "foo(1)", "bar", Tier::Exact, &[1, 2]);
    check_ambiguous("}\n}\n}\n", "}\n}\n", "x\n", Tier::Exact, &[1, 2]);
}

#[test]
fn exact_across_chunks() {
    let filler = "0123456789abcdef\n".repeat(8_000);
    let file = format!("{filler}needle one\n{filler}");
    check(&file, "needle one", "thread", Tier::Exact, &file.replace("needle one", "thread"));
    let long = format!("cdef\n{}needle one\n0123", &filler[17..]);
    check(&file, &long, "", Tier::Exact, &file.replacen(&long, "", 1));
    let hits =
        verbatim::search(&Rope::from_str(&file), "cdef\n0", verbatim::Overlaps::Skip, usize::MAX);
    let plain: Vec<usize> = file.match_indices("cdef\n0").map(|(at, _)| at).collect();
    assert_eq!(hits, plain);
}

#[test]
fn exact_among_long_lines() {
    let long = "abcdefghi ".repeat(60);
    let file: String = (0..40).map(|line| format!("{long}{line}\n")).collect();
    let old = format!("ghi 7\n{long}8\n{long}9\n{}", &long[..30]);
    check(&file, &old, "x", Tier::Exact, &file.replacen(&old, "x", 1));
    let crlf = file.replace('\n', "\r\n");
    let expected = crlf.replacen(&old.replace('\n', "\r\n"), "x", 1);
    check(&crlf, &old, "x", Tier::LineEndings, &expected);
    let same = format!("{long}\n").repeat(7);
    check_ambiguous(&same, &same[..3 * (long.len() + 1)], "", Tier::Exact, &[1, 2, 3, 4, 5]);
    check_all(&same, &same[..3 * (long.len() + 1)], "x\n", &[1, 4], &format!("x\nx\n{long}\n"));
}

#[test]
fn refuses_pointless_requests() {
    let rope = Rope::from_str("a\r\nb\r\n");
    assert_eq!(replace(&rope, "a", "a", Occurrences::One), Err(FindError::Identical));
    assert_eq!(replace(&rope, "", "a", Occurrences::One), Err(FindError::Empty));
    assert_eq!(replace(&rope, "a\nb", "a\r\nb", Occurrences::One), Err(FindError::Identical));
}

#[test]
fn line_endings() {
    check("a\r\nb\r\n", "a\nb", "a\nc\nd", Tier::LineEndings, "a\r\nc\r\nd\r\n");
    check("a\r\nb\r\n", "b", "c\nd", Tier::Exact, "a\r\nc\r\nd\r\n");
    check("a\nb\n", "a\r\nb\r\n", "a\r\nc\r\n", Tier::LineEndings, "a\nc\n");
    check("a\r\nb\nc\r\n", "a\nb\nc\n", "a\nB\nc\n", Tier::LineEndings, "a\r\nB\nc\r\n");
    check("a\r\nb\nc\r\n", "a\r\nb\n", "a\r\nX\n", Tier::Exact, "a\r\nX\nc\r\n");
    check("a\nb", "b\n", "c\n", Tier::LineEndings, "a\nc");
    check_all("a\r\nb\r\na\r\nb\r\n", "a\nb\n", "c\n", &[1, 3], "c\r\nc\r\n");
}

#[test]
fn trailing_whitespace() {
    check("a  \nb\t\nc\n", "a\nb\nc", "a\nX\nc", Tier::TrailingWhitespace, "a  \nX\nc\n");
    check("a\nb\n", "a \nb", "c", Tier::TrailingWhitespace, "c\n");
}

#[test]
fn whitespace() {
    check(
        "x  =   1;\ny = 2;\n",
        "x = 1;\ny = 2;",
        "x = 1;\ny = 3;",
        Tier::Whitespace,
        "x  =   1;\ny = 3;\n",
    );
    check(
        "let x  =   1; // old\n",
        "let x = 1; // old",
        "let x = 1; // new",
        Tier::Whitespace,
        "let x  =   1; // new\n",
    );
    check("tab\tend\n", "tab end", "tab fin", Tier::Whitespace, "tab\tfin\n");
    check("x  =  1\ty\n", "x = 1 y", "x = 2 y", Tier::Whitespace, "x  =  2\ty\n");
    check("x  =  1\n", "x = 1", "x  y  = 1", Tier::Whitespace, "x  y  =  1\n");
    check("f(a,  b) + 1\n", "f(a, b)", "g(a, b)", Tier::Whitespace, "g(a,  b) + 1\n");
}

#[test]
fn indentation() {
    check("\treturn x\n", "    return x", "    return y", Tier::Indentation, "\treturn y\n");
    check(
        "class A:\n\tdef f(self):\n\t\treturn 1\n",
        "    def f(self):\n        return 1\n",
        "    def f(self):\n        if a:\n            return 2\n        return 1\n",
        Tier::Indentation,
        "class A:\n\tdef f(self):\n\t\tif a:\n\t\t\treturn 2\n\t\treturn 1\n",
    );
    check(
        "    if x {\n        y();\n    }\n",
        "if x {\n    y();\n}\n",
        "if x {\n    y();\n    z();\n}\nw();\n",
        Tier::Indentation,
        "    if x {\n        y();\n        z();\n    }\n    w();\n",
    );
    check(
        "if x:\n  y\n",
        "    if x:\n      y",
        "    if x:\n      z\n    w",
        Tier::Indentation,
        "if x:\n  z\nw\n",
    );
    check("    a  \n    b\n", "a\n    b", "A\n    b", Tier::Indentation, "    A\n    b\n");
    // Different nesting is a different program.
    check_missing("if x:\n  y\nz\n", "if x:\n  y\n  z\n", Some((3, "z", "  z", 1)));
}

#[test]
fn unicode() {
    check("price = “x”\n", "price = \"x\"", "price = \"y\"", Tier::Unicode, "price = “y”\n");
    check("a\u{a0}b\n", "a b", "a c", Tier::Unicode, "a\u{a0}c\n");
    check("x — y\nb\n", "x - y\nb\n", "x - y\nB\n", Tier::Unicode, "x — y\nB\n");
    check("say(‘hi’, 1);\n", "('hi', 1)", "('hi', 2)", Tier::Unicode, "say(‘hi’, 2);\n");
    check("\tsay “a”\n", "    say \"a\"", "    say \"b\"", Tier::Unicode, "\tsay “b”\n");
}

fn function(changed: usize) -> String {
    let body: String = (0..28)
        .map(|line| {
            let call = if line == changed { "call_other" } else { "call_thing" };
            format!("    let value_{line} = {call}({line});\n")
        })
        .collect();
    format!("fn block() {{\n{body}}} // block\n")
}

#[test]
fn block_anchor() {
    let file = format!("start\n{}end\n", function(14));
    let new = function(99).replace("value_3 ", "renamed ");
    check(&file, &function(99), &new, Tier::BlockAnchor, &file.replace("value_3 ", "renamed "));
    let twice = format!("{}{}", function(14), function(15));
    check_ambiguous(&twice, &function(99), &new, Tier::BlockAnchor, &[1, 31]);
    let unlike = "fn a() {\n    one();\n    two();\n}\n";
    check_missing(
        unlike,
        "fn a() {\n    three(x);\n    two();\n}\n",
        Some((2, "    one();", "    three(x);", 5)),
    );
}

#[test]
fn the_strictest_tier_decides() {
    check(
        "a \nb\n\na\tx\nb\n  a \nb\n",
        "a\nb\n",
        "X\n",
        Tier::TrailingWhitespace,
        "X\n\na\tx\nb\n  a \nb\n",
    );
    check_ambiguous("a \nb\nc\na\t\nb\n", "a\nb", "x", Tier::TrailingWhitespace, &[1, 4]);
}

#[test]
fn a_miss_names_the_closest_line() {
    let file: String = (1..30).map(|line| format!("    statement_{line}(argument);\n")).collect();
    check_missing(
        &file,
        "    statement_12(argumemt);",
        Some((12, "    statement_12(argument);", "    statement_12(argumemt);", 24)),
    );
    check_missing(
        &file,
        "    statement_11(argument);\n    statement_12(other);\n    statement_13(argument);",
        Some((12, "    statement_12(argument);", "    statement_12(other);", 18)),
    );
    check_missing(&file, "nothing of the kind", None);
    // A line that the searched text lacks, one that the file lacks, and a file that ends too early.
    let lines = |range: std::ops::Range<usize>| -> String {
        range.map(|line| format!("    statement_{line}(argument);\n")).collect()
    };
    check_missing(
        &file,
        &format!("{}{}", lines(10..14), lines(15..22)),
        Some((14, "    statement_14(argument);", "    statement_15(argument);", 16)),
    );
    check_missing(
        &file,
        &format!("{}    more();\n{}", lines(10..14), lines(14..22)),
        Some((14, "    statement_14(argument);", "    more();", 5)),
    );
    check_missing("foo\n", "foo\nbar\nbaz", Some((2, "", "bar", 1)));
    check_missing("a\n", "a\n\n", Some((2, "", "", 1)));
    check_missing("", "x", None);
}

#[test]
fn odd_shapes_stay_bounded() {
    let braces = Rope::from_str(&"}\n".repeat(10_000));
    let old = format!("{}x = 1;\n", "    }\n".repeat(49));
    assert!(replace(&braces, &old, "y", Occurrences::One).is_err());
    let old = "  }\n".repeat(50);
    assert!(matches!(
        replace(&braces, &old, "y", Occurrences::One),
        Err(FindError::Ambiguous { .. })
    ));
    let long = Rope::from_str(&format!("{}\n", "abcdefghi ".repeat(200)).repeat(1000));
    let old = format!("{}!\n", "abcdefghi ".repeat(200)).repeat(50);
    assert!(replace(&long, &old, "y", Occurrences::One).is_err());
}

/// The old text as a model may misquote it.
fn misquoted(text: &str, how: usize) -> String {
    match how {
        0 => text.to_owned(),
        1 => text.replace('\n', " \n"),
        2 => text.lines().map(|line| format!("  {line}\n")).collect(),
        3 => text.replace('\n', "\r\n"),
        4 => text.replace(" = ", "  = "),
        _ => text.replace(['“', '”'], "\""),
    }
}

proptest! {
    #[test]
    fn bytes_outside_the_edited_lines_stay(
        lines in proptest::collection::vec("[ \t]{0,3}[a-c]{1,3}( = “?[xy]”?)?[ \t]{0,2}\r?\n", 3..12),
        at in 0..12usize,
        count in 1..4usize,
        how in 0..6usize,
        changed in 0..4usize,
    ) {
        let first = at % lines.len();
        let last = (first + count).min(lines.len());
        let file = lines.concat();
        let old = misquoted(&lines[first..last].concat(), how);
        let mut new: Vec<String> = old.lines().map(|line| format!("{line}\n")).collect();
        let index = changed % new.len();
        new[index] = "NEW\n".to_owned();
        let rope = Rope::from_str(&file);
        if let Ok(replacement) = replace(&rope, &old, &new.concat(), Occurrences::One) {
            let start = replacement.lines[0] - 1;
            let after = replacement.changes.apply(&rope).to_string();
            let expected_line = start + index;
            for (line, (before, after)) in file.split_inclusive('\n').zip(after.split_inclusive('\n')).enumerate() {
                prop_assert_eq!(line != expected_line, before == after, "line {}", line);
            }
            prop_assert_eq!(after.split_inclusive('\n').count(), lines.len());
        }
    }

    #[test]
    fn never_panics(file in "([ab \t“\"—-]|\r\n|\n|\r){0,40}", old in "([ab \t“\"—-]|\r\n|\n|\r){0,12}", new in "([ab \t]|\n){0,8}") {
        let rope = Rope::from_str(&file);
        for which in [Occurrences::One, Occurrences::All] {
            if let Ok(replacement) = replace(&rope, &old, &new, which) {
                prop_assert_eq!(replacement.count, replacement.lines.len());
                let _ = replacement.changes.apply(&rope);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 6))]

    #[test]
    fn a_long_text_is_found_wherever_it_is(
        words in proptest::collection::vec("(é|ab|[abc] )", 100..500),
        (at, len) in (0..400usize, 60..200usize),
        (copies, beside) in (1..4usize, "[ab]{0,3}"),
        most in prop_oneof![Just(1), Just(2), Just(usize::MAX)],
    ) {
        let at = at % words.len();
        let needle = words[at..(at + len).min(words.len())].concat().repeat(copies);
        let file = format!("{}{needle}{beside}{needle}{}", words.concat(), words[..at].concat());
        let skipping: Vec<usize> = file.match_indices(&needle).map(|it| it.0).take(most).collect();
        let whole = |at: &usize| file.is_char_boundary(*at) && file[*at..].starts_with(&needle);
        let all: Vec<usize> = (0..file.len()).filter(whole).take(most).collect();
        let rope = Rope::from_str(&file);
        prop_assert_eq!(verbatim::search(&rope, &needle, verbatim::Overlaps::Skip, most), skipping);
        prop_assert_eq!(verbatim::search(&rope, &needle, verbatim::Overlaps::Count, most), all);
    }
}

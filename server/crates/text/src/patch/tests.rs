use super::*;
use crate::Rope;
use proptest::prelude::*;

fn update(body: &str) -> Vec<Chunk> {
    let patch =
        parse(&format!("*** Begin Patch\n*** Update File: f\n{body}\n*** End Patch")).unwrap();
    match patch.operations.into_iter().next().unwrap() {
        Operation::Update { chunks, .. } => chunks,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn check(file: &str, body: &str, expected: &str, notes: &[&str]) {
    let rope = Rope::from_str(file);
    let (changes, found) = apply_update(&rope, &update(body)).unwrap();
    assert_eq!(changes.apply(&rope).to_string(), expected);
    let messages: Vec<&str> = found.iter().map(|note| note.message.as_str()).collect();
    assert_eq!(messages, notes);
}

#[track_caller]
fn check_refused(file: &str, body: &str, part: &str) {
    let error = apply_update(&Rope::from_str(file), &update(body)).unwrap_err();
    assert!(error.message.contains(part), "{error}");
}

#[test]
fn replaces_lines() {
    check("a\nb\nc\n", "-b\n+B", "a\nB\nc\n", &[]);
    check("a\nb\nc", "-b\n+B", "a\nB\nc", &[]);
    check("a\nb\nc", "-c\n+C", "a\nb\nC", &[]);
    check("l1\nl2\nl3\n", "-l2", "l1\nl3\n", &[]);
    check("a\nb\n\n\n", "-b\n+B", "a\nB\n\n\n", &[]);
    check("a\nb\nc\nd\n", "@@\n-a\n+A\n b\n@@\n-d\n+D", "A\nb\nc\nD\n", &[]);
    check("a\r\nb\r\n", "-b\n+B\n+C", "a\r\nB\r\nC\r\n", &[]);
}

#[test]
fn lines_keep_their_own_endings_where_they_are_mixed() {
    let mixed = "l0\nl1\r\nl2\nl3\r\nl4\n";
    check(mixed, " l0\n-l1\n+L1\n l2", "l0\nL1\r\nl2\nl3\r\nl4\n", &[]);
    check(mixed, "-l2\n-l3\n+L2\n+L3\n+new\n l4", "l0\nl1\r\nL2\nL3\r\nnew\r\nl4\n", &[]);
    check(mixed, " l3\n+new\n l4", "l0\nl1\r\nl2\nl3\r\nnew\r\nl4\n", &[]);
    check("a\r\nb\nc", "-b\n-c\n+B\n+C", "a\r\nB\nC", &[]);
}

#[test]
fn pins_to_the_end_of_the_file() {
    check("a\nb\na\nb\n", "-b\n+X\n*** End of File", "a\nb\na\nX\n", &[]);
    check("a\nb\nc\n", " b\n-c\n*** End of File", "a\nb\n", &[]);
    check(
        "a\nb\nc\n",
        "-b\n+B\n*** End of File",
        "a\nB\nc\n",
        &["'*** End of File' was ignored: these lines do not end the file"],
    );
    check_refused("b\nb\nc\n", "-b\n+B\n*** End of File", "do not end the file");
}

#[test]
fn follows_headers() {
    check("f1\n x\nf2\n x\n", "@@ f2\n- x\n+ y", "f1\n x\nf2\n y\n", &[]);
    check("a\nb\nc\n", "@@ zzz\n-b\n+B", "a\nB\nc\n", &["'@@ zzz' was not found and was ignored"]);
    check("f2\n x\n", "@@ f2\n f2\n- x\n+ y", "f2\n y\n", &[]);
    check("a\nf\nb\n", "@@ f\n+new", "a\nf\nnew\nb\n", &[]);
    check("a\nb\n", "@@ -1,2 +1,2 @@\n-b\n+B", "a\nB\n", &[]);
}

#[test]
fn matches_tolerantly_and_says_so() {
    check("a  \nb\n", "-a\n+A", "A\nb\n", &["matched at line 1 apart from trailing whitespace"]);
    check("  a\nb\n", "-a\n+A", "  A\nb\n", &["matched at line 1 apart from indentation"]);
    check("x — y\n", "-x - y\n+z", "z\n", &["matched at line 1 apart from unicode"]);
    check("say “hi”\n", "-say \"hi\"\n+bye", "bye\n", &["matched at line 1 apart from unicode"]);
    check(
        "a  \nb\n",
        " a\n-b\n+B",
        "a  \nB\n",
        &["matched at line 1 apart from trailing whitespace"],
    );
    check("x — y\nb\n", " x - y\n-b\n+B", "x — y\nB\n", &["matched at line 1 apart from unicode"]);
    check(
        "a\nb\nc\nb\n",
        "-b\n+B",
        "a\nB\nc\nb\n",
        &["2 candidate positions; the first one, at line 2, was taken"],
    );
}

#[test]
fn appends() {
    check("a\nb\n", "+c", "a\nb\nc\n", &[]);
    check("a\nb", "+c", "a\nb\nc", &[]);
    check("", "+c", "c\n", &[]);
    check("a", " a\n+b", "a\nb", &[]);
    check("a\r\nb", "+c", "a\r\nb\r\nc", &[]);
}

#[test]
fn forgives_a_blank_line_too_many() {
    check("a\nb\n", " a\n-b\n+B\n ", "a\nB\n", &[]);
    check("a\n\nb\n", " a\n\n-b\n+B", "a\n\nB\n", &[]);
}

#[test]
fn refuses_what_is_not_there() {
    check_refused("a\nb\nc\n", "@@\n-c\n@@\n-a", "occurs only earlier than the previous change");
    check_refused("alpha beta\n", "-alpha bета\n+x", "closest is line 1");
    check_refused("if x:\n  y\nz\n", " if x:\n   y\n-  z\n+w", "was not found");
    check_refused("", "-a\n+b", "was not found");
}

#[test]
fn says_when_nothing_changes() {
    check("a\n", " a", "a\n", &["the text already is as the patch wants it"]);
}

#[track_caller]
fn check_parse(patch: &str, expected: &[Operation]) {
    assert_eq!(parse(patch).unwrap().operations, expected);
}

#[track_caller]
fn check_error(patch: &str, line: usize, part: &str) {
    let error = parse(patch).unwrap_err();
    assert!(error.line == line && error.message.contains(part), "{error}");
}

fn add(path: &str, content: &str) -> Operation {
    Operation::Add { path: path.to_owned(), content: content.to_owned() }
}

fn delete(path: &str) -> Operation {
    Operation::Delete { path: path.to_owned() }
}

#[test]
fn reads_operations() {
    let plain =
        "*** Begin Patch\n*** Add File: a b.txt\n+x\n+\n\n*** Delete File: c\n*** End Patch\n";
    let expected = [add("a b.txt", "x\n\n"), delete("c")];
    check_parse(plain, &expected);
    check_parse(&format!("apply_patch <<'EOF'\n{plain}EOF\n"), &expected);
    check_parse(&format!("```\n{plain}```\n"), &expected);
    check_parse(&plain.replace('\n', "\r\n"), &expected);
    check_parse("  *** Begin Patch  \n  *** Delete File: c\n *** End Patch ", &[delete("c")]);
    check_parse("*** Begin Patch\n  *** Add File: \"q\"\n+x\n*** End Patch", &[add("q", "x\n")]);
    let moved = Operation::Update {
        path: "a".to_owned(),
        move_to: Some("b".to_owned()),
        chunks: Vec::new(),
    };
    check_parse("*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** End Patch", &[moved]);
}

#[test]
fn reads_a_patch_wrapped_in_json() {
    let patch = parse(r#"{"command":["apply_patch","*** Begin Patch\n*** Add File: a\n+\"\u00e9\"\\\n*** End Patch"]}"#).unwrap();
    assert_eq!(patch.operations, [add("a", "\"é\"\\\n")]);
    assert_eq!(patch.notes.len(), 1);
}

#[test]
fn reads_lines_that_look_like_markers() {
    let chunks = update("@@\n *** note\n-b\n+*** End Patch");
    let lines = [
        ChunkLine::Keep("*** note".to_owned()),
        ChunkLine::Remove("b".to_owned()),
        ChunkLine::Add("*** End Patch".to_owned()),
    ];
    assert_eq!(chunks[0].lines, lines);
}

#[test]
fn refuses_what_is_no_patch() {
    check_error("", 1, "the first line must be");
    check_error("*** Add File: a\n+x\n*** End Patch", 1, "the first line must be");
    check_error("*** Begin Patch\n*** Add File: a\n+x", 3, "the last line must be");
    check_error("*** Begin Patch\n*** End Patch", 2, "no operation");
    check_error("*** Begin Patch\n*** Add File: a\nx\n*** End Patch", 3, "starts with '+'");
    check_error("*** Begin Patch\n*** Update File: a\n*** End Patch", 2, "holds no change");
    check_error("*** Begin Patch\n*** Update File: a\n@@\n*** End Patch", 3, "holds no lines");
    check_error(
        "*** Begin Patch\n*** Update File: a\n@@\nb\n*** End Patch",
        4,
        "every line of a change",
    );
    check_error("*** Begin Patch\n*** Frobnicate: a\n*** End Patch", 2, "starts no operation");
    check_error("*** Begin Patch\n*** Add File:\n*** End Patch", 2, "path is missing");
    check_error(
        "*** Begin Patch\n*** Update File: a\n-b\n*** note\n*** End Patch",
        4,
        "starts no operation",
    );
}

proptest! {
    #[test]
    fn never_panics(file in "([ab]{0,2} ?\r?\n){0,6}[ab]?", body in "(@@ ?[ab]?\n|[-+ ][ab]{0,2}\n|\n){1,8}") {
        let patch = format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch");
        if let Ok(patch) = parse(&patch)
            && let Operation::Update { chunks, .. } = &patch.operations[0]
        {
            let rope = Rope::from_str(&file);
            if let Ok((changes, _)) = apply_update(&rope, chunks) {
                let ends_open = file.is_empty() || file.ends_with('\n');
                let after = changes.apply(&rope).to_string();
                prop_assert!(!ends_open || after.is_empty() || after.ends_with('\n'));
            }
        }
        let _ = parse(&body);
    }

    #[test]
    fn a_diff_as_a_patch_gives_the_text_after(
        before in proptest::collection::vec("[a-z]{6}", 1..10),
        after in proptest::collection::vec("[a-c]", 0..5),
        at in 0..10usize,
    ) {
        let at = at % before.len();
        let mut body = String::from("@@\n");
        for line in &before[..at] { body.push_str(&format!(" {line}\n")); }
        body.push_str(&format!("-{}\n", before[at]));
        for line in &after { body.push_str(&format!("+{line}\n")); }
        let text = |lines: &[String]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        let rope = Rope::from_str(&text(&before));
        let (changes, _) = apply_update(&rope, &update(body.trim_end_matches('\n'))).unwrap();
        let expected = format!("{}{}{}", text(&before[..at]), text(&after), text(&before[at + 1..]));
        prop_assert_eq!(changes.apply(&rope).to_string(), expected);
    }
}

use super::*;

/// What is left of `new`, where `[…]` is what the person wrote; lines that belong elsewhere after `|`.
#[track_caller]
fn check(around: (&str, &str), old: &str, marked: &str, expected: &str) {
    let (mut new, mut typed) = (String::new(), Vec::new());
    for part in marked.split('[') {
        match part.split_once(']') {
            Some((written, rest)) => {
                typed.push(new.len()..new.len() + written.len());
                new.push_str(written);
                new.push_str(rest);
            }
            None => new.push_str(part),
        }
    }
    let (before, after) = (around.0.chars().next_back(), around.1.chars().next());
    let kept = kept(old, &new, &typed, Around { before, after });
    let mut shown = String::new();
    let mut copied = 0;
    for range in &kept.typed {
        shown.push_str(&kept.text[copied..range.start]);
        shown.push_str(&format!("[{}]", &kept.text[range.clone()]));
        copied = range.end;
    }
    shown.push_str(&kept.text[copied..]);
    kept.lines.iter().for_each(|it| shown.push_str(&format!("|{}", &new[it.clone()])));
    assert_eq!(shown, expected);
}

const LINES: (&str, &str) = ("\n", "");

#[test]
fn whole_lines_stay_whole_lines() {
    check(LINES, "main()\n", "main(\n  x,\n[# mine\n])\n", "main()\n[# mine\n]");
    check(LINES, "main()\n", "main(\n  x,[\n# mine]\n)\n", "main()[\n# mine]\n");
    check(LINES, "one\ntwo\n", "ONE\n[mine\n]TWO\n", "one\n[mine\n]two\n");
    check(LINES, "one\ntwo\n", "ONE[\nmine]\nTWO\n", "one[\nmine]\ntwo\n");
    check(LINES, "", "ONE\n[mine\n]TWO\n", "[mine\n]");
}

#[test]
fn lines_without_a_place_in_a_part_of_a_line() {
    check(("main(", ")"), "", "\n  x,[\n# mine]\n", "|\n# mine");
    check(("main(", ")"), "", "\n  x,\n[# mine\n]", "|# mine\n");
    check(("main(", "\n"), "", "x,[\n# mine]", "[\n# mine]");
}

#[test]
fn words_are_not_torn() {
    check(LINES, "the main thing\n", "the st[X]art thing\n", "the main[X] thing\n");
    check(("the ", "ly good\n"), "real", "tru[X]", "[X]real");
    check(LINES, "a b\n", "a [mine ]c\n", "a b[mine ]\n");
}

#[test]
fn what_was_typed_back_is_there_once() {
    check(LINES, "one\ntwo\n", "[one]\nTWO\n", "one\ntwo\n");
    check(LINES, "one\ntwo\n", "[one\n]TWO\n", "one\ntwo\n");
}

#[test]
fn several_stretches_keep_their_order() {
    check(LINES, "one\ntwo\n", "O[a]NE\n[b\n]TW[c]O\n", "one[a]\n[b\n]two[c]\n");
}

use super::{final_text, last_lines, unfinished};

#[track_caller]
fn check(input: &[u8], expected: &str) {
    assert_eq!(final_text(input), expected);
}

#[test]
fn progress_leaves_its_last_state() {
    check(b" 10%\r 50%\r100%\ndone\n", "100%\ndone\n");
    check(b"long text\rab\n", "abng text\n");
    check(b"long text\r\x1b[Kab\n", "ab\n");
    check(b"a\r\nb\r\n", "a\nb\n");
    check(b"abc\x08\x08X", "aXc");
}

#[test]
fn progress_over_several_lines() {
    check(b"one 1%\ntwo 1%\n\x1b[2A\x1b[2Kone 9%\n\x1b[2Ktwo 9%\n", "one 9%\ntwo 9%\n");
    check(b"a\nb\nc\x1b[1F\x1b[Jx", "a\nx");
}

#[test]
fn colours_titles_and_charsets_are_dropped() {
    check(b"\x1b[1;31merror\x1b[0m: x", "error: x");
    check(b"\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "textlink");
    check(b"\x1b(B\x1b=plain\x07", "plain");
    check(b"\x1b[38:2::1:2:3mx\x1b[?25l", "x");
}

#[test]
fn a_stray_beginning_of_a_title_swallows_no_lines() {
    check(b"\x1b]a\xff b\nnext\nlast\n", "a\u{fffd} b\nnext\nlast\n");
    check(b"\x1bP1\x1b]2\nnext\n", "2\nnext\n");
    check(b"a\x1b]0;cut off", "a");
}

#[test]
fn invalid_utf8_is_replaced() {
    check(b"a\xffb\xc3", "a\u{fffd}b\u{fffd}");
    check("h\u{e9}llo \u{4f60}".as_bytes(), "h\u{e9}llo \u{4f60}");
    check(b"\x00a\x01", "a");
}

#[test]
fn cursor_cannot_run_away() {
    assert!(final_text(b"\x1b[999999999999C\x1b[99999999Cx").len() < 5000);
    check(b"a\x1b[99999A\x1b[99999Bb", "ab");
}

#[test]
fn unfinished_ends_are_known() {
    let cases: &[(&[u8], usize)] = &[
        (b"abc", 0),
        (b"abc\xe4\xbd", 2),
        (b"abc\xf0", 1),
        (b"abc\xe4\xbd\xa0", 0),
        (b"abc\xff", 0),
        (b"abc\x1b", 1),
        (b"abc\x1b[3", 3),
        (b"abc\x1b[31m", 0),
        (b"abc\x1b]0;tit", 7),
        (b"abc\x1b]0;tit\n", 0),
    ];
    for (bytes, expected) in cases {
        assert_eq!(unfinished(bytes), *expected, "{bytes:?}");
    }
}

#[test]
fn text_split_anywhere_reads_the_same() {
    let whole = "\u{4f60}\u{597d} \x1b[31mred\x1b[0m \u{1f600}\n".as_bytes();
    for cut in 0..whole.len() {
        let held = unfinished(&whole[..cut]);
        let (first, second) = whole.split_at(cut - held);
        assert_eq!(final_text(first) + &final_text(second), final_text(whole), "cut at {cut}");
    }
}

#[test]
fn last_lines_are_bounded() {
    assert_eq!(last_lines("a\nb\nc\n", 2, 100), "b\nc");
    assert_eq!(last_lines("a\nb\nc\n", 9, 100), "a\nb\nc");
    assert_eq!(last_lines("\u{e9}\u{e9}\u{e9}", 9, 3), "\u{e9}");
    assert_eq!(last_lines("", 3, 10), "");
}

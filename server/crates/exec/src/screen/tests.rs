use super::{MARKS, OSC, Screen};

#[track_caller]
fn check(output: &str, expected: &[&str]) {
    let mut screen = Screen::new(20, 5);
    screen.feed(output.as_bytes());
    assert_eq!(screen.text(0).lines, expected);
}

#[test]
fn text_stands_where_the_cursor_was() {
    check("one\r\ntwo", &["one", "two"]);
    check("one\x1b[3;4Hx\x1b[1;1HO", &["One", "", "   x"]);
    check("12345678901234567890next", &["12345678901234567890", "next"]);
    check("abc\x1b[2K\rz", &["z"]);
    check("\x1b[31mred\x1b[0m \x1b[8mhidden\x1b[0m.", &["red       ."]);
    check("日本e\u{301}", &["日本e\u{301}"]);
    check("", &[]);
}

#[test]
fn what_scrolls_off_is_kept_above() {
    let mut screen = Screen::new(20, 3);
    for line in 1..=6 {
        screen.feed(format!("line {line}\r\n").as_bytes());
    }
    let text = screen.text(2);
    assert_eq!(text.above, ["line 3", "line 4"]);
    assert_eq!(text.lines, ["line 5", "line 6"]);
    assert_eq!(text.cursor, (1, 3));
    assert_eq!(screen.text(99).above.len(), 4);
}

#[test]
fn a_full_screen_program_leaves_the_screen_as_it_was() {
    let mut screen = Screen::new(20, 3);
    screen.feed(b"$ vim\r\n\x1b[?1049h\x1b[2J\x1b[Htext");
    assert!(screen.text(0).full);
    assert_eq!(screen.text(0).lines, ["text"]);
    screen.feed(b"\x1b[?1049l");
    assert_eq!(screen.text(0).lines, ["$ vim"]);
}

#[test]
fn menus_tell_what_is_chosen() {
    let mut screen = Screen::new(20, 3);
    screen.feed(b"  one\r\n\x1b[7m two \x1b[0m x\r\n  three");
    assert_eq!(screen.text(0).highlighted, [(2, "two".to_owned())]);
}

#[test]
fn questions_of_the_program_are_answered() {
    let mut screen = Screen::new(20, 5);
    assert_eq!(screen.feed(b"ab\x1b[6n"), b"\x1b[1;3R");
    assert_eq!(screen.feed(b"\x1b[c"), b"\x1b[?6c");
    assert!(screen.feed(b"\x1b]52;c;?\x07").is_empty());
    assert!(screen.feed(b"plain").is_empty());
}

#[test]
fn another_size_keeps_the_text() {
    let mut screen = Screen::new(20, 5);
    screen.feed("wide 日本日本日本\r\nb".as_bytes());
    for (cols, rows) in [(7, 3), (2, 1), (u16::MAX, u16::MAX), (0, 0), (20, 5)] {
        screen.resize(cols, rows);
        screen.text(10);
        screen.feed(b"\x1b[K\x1b[1;7Hz");
    }
}

#[test]
fn a_long_title_is_cut_and_what_follows_is_shown() {
    let mut screen = Screen::new(20, 5);
    screen.feed(b"\x1b]0;");
    for _ in 0..100 {
        screen.feed(&[b't'; OSC]);
    }
    screen.feed(b"\x07shown\x1b]2;short\x1b\\!");
    assert_eq!(screen.text(0).lines, ["shown!"]);
}

#[test]
fn marks_do_not_heap_up() {
    let mut screen = Screen::new(20, 5);
    for _ in 0..100 {
        screen.feed("a".as_bytes());
        screen.feed("\u{301}".repeat(1000).as_bytes());
        screen.feed(b"\r");
    }
    assert!(screen.text(0).lines[0].chars().count() <= MARKS + 1);
}

#[test]
fn an_update_that_never_ends_is_shown_in_the_end() {
    let mut screen = Screen::new(20, 5);
    screen.feed(b"\x1b[?2026hdrawn");
    let begun = std::time::Instant::now();
    while screen.text(0).lines.is_empty() {
        assert!(begun.elapsed().as_secs() < 10, "it is never shown");
        std::thread::yield_now();
    }
    assert_eq!(screen.text(0).lines, ["drawn"]);
}

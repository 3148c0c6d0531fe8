use super::*;

/// The lines found in one file of these bytes, and what is said of it.
fn found(bytes: &[u8], pattern: &str) -> (Vec<String>, Vec<String>) {
    let case = case(&[]);
    fs::write(case.path("f"), bytes).unwrap();
    let result = case.grep(&case.query(pattern));
    let lines = result.files.iter().flat_map(|file| &file.lines).map(|line| line.text.clone());
    let prefix = format!("{}/", case.folder.path().display());
    let notes = result.notes.iter().map(|note| note.replace(&prefix, "")).collect();
    (lines.collect(), notes)
}

#[track_caller]
fn check(bytes: &[u8], pattern: &str, lines: &[&str], notes: &[&str]) {
    let (found, told) = found(bytes, pattern);
    assert_eq!(found, lines);
    assert_eq!(told, notes);
}

const FURTHER: &str = "f has NUL bytes further on; it was searched up to them";

#[test]
fn a_text_that_was_damaged_further_on_is_searched_up_to_there() {
    let mut bytes = b"foo first\n".to_vec();
    bytes.resize(200_000, b'x');
    bytes.extend(b"\nfoo before\nfoo with \0 in it\nfoo after\n");
    check(&bytes, "foo", &["foo first", "foo before"], &[FURTHER]);
    check(&bytes, "after", &[], &["f is binary (data with NUL bytes), and matches"]);
    check(&bytes, "nowhere", &[], &[]);
    check(b"foo\n\0", "foo", &[], &["f is binary (data with NUL bytes), and matches"]);
    let mut program = b"\x7fELF foo\n".to_vec();
    program.resize(100_000, b'x');
    program.push(0);
    check(&program, "foo", &[], &["f is binary (ELF program), and matches"]);
}

/// More than is held as a whole, in lines.
fn large(line: &str) -> Vec<u8> {
    format!("{line}\n").repeat((9 << 20) / (line.len() + 1)).into_bytes()
}

#[test]
fn a_large_file_is_searched_in_its_own_encoding() {
    for head in ["plain", "Fran\u{e7}ais"] {
        let mut text = large("some more words of it");
        let latin = |text: &str| text.chars().map(|c| c as u32 as u8).collect::<Vec<u8>>();
        text.splice(0..0, latin(&format!("{head}\n")));
        text.extend(latin("le caf\u{e9} est \u{e0} droite\n"));
        let line = "le caf\u{e9} est \u{e0} droite";
        check(&text, "caf\u{e9}", &[line], &[]);
        check(&text, "droite", &[line], &[]);
    }
    let wide = |bytes: Vec<u8>| bytes.into_iter().flat_map(|byte| [byte, 0]).collect::<Vec<u8>>();
    let mut text = large("some more words");
    text.extend(b"hello there\n");
    check(&wide(text.clone()), "hello", &["hello there"], &[]);
    let wider: Vec<u8> = text.into_iter().flat_map(|byte| [0, 0, 0, byte]).collect();
    check(&[b"\0\0\xFE\xFF", wider.as_slice()].concat(), "hello", &["hello there"], &[]);
}

#[test]
fn a_large_file_is_searched_up_to_what_cannot_be() {
    let mut text = large("some more words");
    text.splice(0..0, *b"foo first\n");
    text.extend(b"foo \0\nfoo after\n");
    check(&text, "foo", &["foo first"], &[FURTHER]);
    check(&text, "nowhere", &[], &["f is binary (data with NUL bytes)"]);
    let mut text = b"foo first\n".to_vec();
    text.resize(70 << 20, b'x');
    text.extend(b"\nfoo after\n");
    let note = "f has a line longer than 64 MB; it was searched up to that";
    check(&text, "foo", &["foo first"], &[note]);
    check(&text, "after", &[], &["f: a line is longer than 64 MB"]);
}

#[test]
fn wide_text_without_a_mark_is_searched() {
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    check(&wide("one\nhello there\ntwo\n"), "hello", &["hello there"], &[]);
    check(&wide("eins\ngr\u{fc}n\n"), "gr\u{fc}n", &["gr\u{fc}n"], &[]);
    let big: Vec<u8> = "hello there\n".encode_utf16().flat_map(u16::to_be_bytes).collect();
    check(&big, "hel+o", &["hello there"], &[]);
    check(
        b"\0\x01\x02\x03hello\0\x05\x06\x07",
        "hello",
        &[],
        &["f is binary (data with NUL bytes), and matches"],
    );
}

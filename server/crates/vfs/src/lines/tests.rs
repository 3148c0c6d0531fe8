use std::io::Write;

use super::*;

#[track_caller]
fn check(text: &str, first: i64, limit: usize, expected: (usize, &[&str], usize)) {
    let wanted = Wanted { first, limit, max_bytes: 1 << 20, max_line_chars: 100 };
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let held = of_rope(&Rope::from_str(text), &wanted);
    let streamed = of_file(file.path(), text.len() as u64, &wanted, &|| false).unwrap();
    assert_eq!(held, streamed);
    assert_eq!(
        (held.first, held.lines.as_slice(), held.total),
        (expected.0, &expected.1.iter().map(|s| s.to_string()).collect::<Vec<_>>()[..], expected.2)
    );
}

#[test]
fn ranges_are_the_same_held_or_streamed() {
    check("a\nb\nc\n", 1, 10, (1, &["a", "b", "c"], 3));
    check("a\nb\nc", 2, 1, (2, &["b"], 3));
    check("a\r\nb\r\n", 2, 5, (2, &["b"], 2));
    check("a\nb\nc\n", -2, 5, (2, &["b", "c"], 3));
    check("a\nb\n", -9, 1, (1, &["a"], 2));
    check("a\nb\n", 9, 1, (0, &[], 2));
    check("", 1, 1, (0, &[], 0));
    check("\n\n", 1, 5, (1, &["", ""], 2));
}

#[test]
fn long_lines_are_cut_at_characters_and_bytes_are_limited() {
    let wanted = Wanted { first: 1, limit: 10, max_bytes: 10, max_line_chars: 4 };
    let range = of_rope(&Rope::from_str("abcéd\nxy\nlast\n"), &wanted);
    assert_eq!(
        (range.lines, range.cut, range.full),
        (vec!["abcé".to_owned(), "xy".to_owned()], vec![1], true)
    );
}

#[test]
fn a_reading_that_nobody_wants_ends_with_the_piece_it_is_at() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    let text = "a line\n".repeat(3 * BUFFER / 7);
    file.write_all(text.as_bytes()).unwrap();
    for first in [1, 100_000, -5] {
        let wanted = Wanted { first, limit: 10, max_bytes: 1 << 20, max_line_chars: 100 };
        let asked = std::cell::Cell::new(0);
        let cancelled = || {
            asked.set(asked.get() + 1);
            2 <= asked.get()
        };
        let read = of_file(file.path(), text.len() as u64, &wanted, &cancelled);
        assert!(matches!(read, Err(ReadError::Cancelled)), "{first}: {read:?}");
        // Of four pieces only one was read; once more it is asked why.
        assert_eq!(asked.get(), 3, "{first}");
    }
}

#[test]
fn a_large_files_lines_are_cut_at_characters_and_its_encoding_is_told() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(b"caf\xe9 caf\xe9 caf\xe9\nle caf\xe9\n").unwrap();
    let wanted = Wanted { first: 1, limit: 10, max_bytes: 1 << 20, max_line_chars: 7 };
    let range = of_file(file.path(), 24, &wanted, &|| false).unwrap();
    assert_eq!(range.lines, ["café ca", "le café"]);
    assert_eq!((range.cut, range.encoding.label().as_str()), (vec![1], "windows-1252"));
}

#[test]
fn a_large_file_of_a_wide_encoding_is_read_as_well() {
    let text = "one\r\ntwo 𝒳\nthree\n".repeat(BUFFER / 16);
    for encoding in [Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Utf32Le, Encoding::Utf32Be] {
        for (mark, firsts) in [(encoding.bom(), vec![1, -2, 1_000_000]), (b"", vec![40_001])] {
            let bytes = [mark, &encoding.encode(&text).unwrap()].concat();
            let mut file = tempfile::NamedTempFile::new().unwrap();
            file.write_all(&bytes).unwrap();
            for first in firsts {
                let wanted = Wanted { first, limit: 5, max_bytes: 1 << 20, max_line_chars: 5 };
                let held = of_rope(&Rope::from_str(&text), &wanted);
                let read = of_file(file.path(), bytes.len() as u64, &wanted, &|| false).unwrap();
                assert_eq!(read, LineRange { encoding, ..held }, "{encoding:?} {first}");
            }
        }
    }
}

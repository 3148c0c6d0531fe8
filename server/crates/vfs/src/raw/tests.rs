use proptest::prelude::*;

use super::*;
use crate::encoding::{Detected, detect};
use crate::format::decode_as;

fn edit(before: &str, edits: &[(Range<usize>, &str)]) -> ChangeSet {
    let edits = edits.iter().map(|(range, text)| Edit::new(range.clone(), *text)).collect();
    ChangeSet::new(before.len(), edits).unwrap()
}

fn run(raw: &[u8], from: &str, to: &str) -> Result<Vec<u8>, Unencodable> {
    let detected = detect(raw);
    let decoded = decode_as(raw.to_vec(), detected);
    let at = decoded.text.find(from).unwrap();
    let changes = edit(&decoded.text, &[(at..at + from.len(), to)]);
    apply(raw, &decoded.format, &decoded.text, &changes)
}

#[track_caller]
fn check(raw: &[u8], from: &str, to: &str, expected: &[u8]) {
    assert_eq!(run(raw, from, to).unwrap(), expected);
}

#[test]
fn bytes_elsewhere_survive() {
    let mut raw = b"first \xC3\xA9\xC3\xA8\n".to_vec();
    for _ in 0..997 {
        raw.extend_from_slice(b"line\n");
    }
    raw.extend_from_slice(b"broken \x99 here\n");
    let mut expected = b"second \xC3\xA9\xC3\xA8\n".to_vec();
    expected.extend_from_slice(&raw[b"first \xC3\xA9\xC3\xA8\n".len()..]);
    check(&raw, "first", "second", &expected);
}

#[test]
fn a_byte_within_the_edited_line_survives() {
    check(b"\xC3\xA9\xC3\xA8 a \x99 b\n", " b", " c", b"\xC3\xA9\xC3\xA8 a \x99 c\n");
    check(
        b"\xC3\xA9\xC3\xA8 a \x99 b\n",
        "a \u{FFFD} b",
        "x \u{FFFD} y",
        b"\xC3\xA9\xC3\xA8 x \x99 y\n",
    );
    check(b"\xC3\xA9\xC3\xA8 a \x99 b\n", "a \u{FFFD} b", "gone", b"\xC3\xA9\xC3\xA8 gone\n");
}

#[test]
fn a_byte_that_cannot_be_placed_fails() {
    let raw = b"\xC3\xA9\xC3\xA8\n\xC3\xA9 a \x99\x98 b\n";
    let error = run(raw, "a \u{FFFD}\u{FFFD} b", "x \u{FFFD} y").unwrap_err();
    assert_eq!((error.char, error.line), ('\u{FFFD}', 2));
}

#[test]
fn marks_and_line_endings_stay() {
    check(b"\xEF\xBB\xBFa\r\nb\nc", "b", "x", b"\xEF\xBB\xBFa\r\nx\nc");
    check(b"\xFF\xFEa\0\n\0b\0", "b", "é", b"\xFF\xFEa\0\n\0\xE9\0");
}

#[test]
fn what_the_charset_lacks_is_named_with_its_line() {
    let error = run(b"caf\xE9\nd\xE9j\xE0 vu\nplus\n", "plus", "a\n→").unwrap_err();
    assert_eq!((error.char, error.line, error.encoding.as_str()), ('→', 4, "windows-1252"));
}

#[test]
fn new_text_is_encoded_whole() {
    let format = Format { encoding: Encoding::Utf16Be, bom: true, ..Format::default() };
    assert_eq!(encode("a\n", &format).unwrap(), b"\xFE\xFF\0a\0\n");
}

/// Text each encoding can hold.
fn sample(encoding: Encoding) -> &'static str {
    match encoding.label().as_str() {
        "shift_jis" | "euc-jp" | "iso-2022-jp" => "日本語テキスト漢",
        "gb18030" | "gbk" => "中文字符简体",
        "big5" => "中文字體繁體",
        "euc-kr" => "한국어글자",
        "koi8-r" | "windows-1251" => "Привет мир",
        "windows-1252" => "café déjà ñ",
        _ => "aé日😀",
    }
}

fn encodings() -> impl Strategy<Value = Encoding> {
    let labels = vec![
        "utf-8",
        "utf-16le",
        "utf-16be",
        "utf-32le",
        "utf-32be",
        "shift_jis",
        "euc-jp",
        "iso-2022-jp",
        "gb18030",
        "big5",
        "euc-kr",
        "koi8-r",
        "windows-1251",
        "windows-1252",
    ];
    prop::sample::select(labels).prop_map(|label| Encoding::for_label(label).unwrap())
}

fn texts(encoding: Encoding) -> impl Strategy<Value = String> {
    let mut chars: Vec<char> = sample(encoding).chars().collect();
    chars.extend(['a', 'b', ' ', '\n', '\n', '\r']);
    prop::collection::vec(prop::sample::select(chars), 0..60)
        .prop_map(|chars| chars.into_iter().collect())
}

fn boundary(text: &str, at: prop::sample::Index) -> usize {
    let all: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    all[at.index(all.len())]
}

proptest! {
    /// In every encoding an edit gives the text it should, and bytes of other lines stay.
    #[test]
    fn edits_round_trip(
        (encoding, before, inserted) in encodings().prop_flat_map(|e| (Just(e), texts(e), texts(e))),
        bom in any::<bool>(),
        a in any::<prop::sample::Index>(),
        b in any::<prop::sample::Index>(),
    ) {
        let bom = bom && !encoding.bom().is_empty();
        let format = Format { encoding, bom, ..Format::default() };
        let raw = encode(&before, &format).unwrap();
        let (a, b) = (boundary(&before, a), boundary(&before, b));
        let (start, end) = (a.min(b), a.max(b));
        let after = format!("{}{}{}", &before[..start], inserted, &before[end..]);
        let new = apply(&raw, &format, &before, &edit(&before, &[(start..end, &inserted)])).unwrap();
        let decoded = decode_as(new.clone(), Detected { encoding, bom });
        prop_assert_eq!(decoded.text, after);
        if encoding.is_stateless() {
            let line = before[..start].rfind('\n').map_or(0, |at| at + 1);
            let kept = encode(&before[..line], &format).unwrap();
            prop_assert!(new.starts_with(&kept));
        }
    }

    /// Whatever bytes a UTF-8 file holds, those outside the edit stay.
    #[test]
    fn damaged_bytes_stay(
        body in prop::collection::vec(prop::sample::select(vec![b'a', b'\n', 0x99, 0xC3, 0xA9, 0xE6, 0x97, 0xA5, 0xFF]), 0..60),
        inserted in "[a-cé\n]{0,6}",
        a in any::<prop::sample::Index>(),
        b in any::<prop::sample::Index>(),
    ) {
        let before = String::from_utf8_lossy(&body).into_owned();
        let (a, b) = (boundary(&before, a), boundary(&before, b));
        let (start, end) = (a.min(b), a.max(b));
        let mut map = Utf8Map::new(&body);
        let (raw_start, raw_end) = (map.raw_offset(start), map.raw_offset(end));
        let new = apply(&body, &Format::default(), &before, &edit(&before, &[(start..end, &inserted)])).unwrap();
        let expected = [&body[..raw_start], inserted.as_bytes(), &body[raw_end..]].concat();
        prop_assert_eq!(new, expected);
    }
}

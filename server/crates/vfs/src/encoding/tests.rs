use super::*;

#[track_caller]
fn check(bytes: &[u8], label: &str, text: &str) {
    let found = detect(bytes);
    assert_eq!(found.encoding.label(), label);
    assert_eq!(found.encoding.decode(found.body(bytes)), text);
}

#[test]
fn marks_decide() {
    check(b"\xEF\xBB\xBFa", "utf-8", "a");
    check(b"\xFF\xFEa\0", "utf-16le", "a");
    check(b"\xFE\xFF\0a", "utf-16be", "a");
    check(b"\xFF\xFE\0\0a\0\0\0", "utf-32le", "a");
    check(b"\0\0\xFE\xFF\0\0\0a", "utf-32be", "a");
}

#[test]
fn wide_text_is_told_without_a_mark() {
    let wide: Vec<u8> = "plain text\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    check(&wide, "utf-16le", "plain text\n");
    let wide: Vec<u8> = "plain text\n".chars().flat_map(|c| (c as u32).to_be_bytes()).collect();
    check(&wide, "utf-32be", "plain text\n");
}

#[test]
fn wide_text_of_other_scripts_is_told_too() {
    for text in
        ["日本語テキスト\n", "ä line é\r\n", "текст, и ещё.\n", "這是「一行」。\r\n第二行\r\n"]
    {
        let utf16: Vec<u16> = text.encode_utf16().collect();
        let utf32: Vec<u32> = text.chars().map(u32::from).collect();
        check(&utf16.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>(), "utf-16le", text);
        check(&utf16.iter().flat_map(|it| it.to_be_bytes()).collect::<Vec<_>>(), "utf-16be", text);
        check(&utf32.iter().flat_map(|it| it.to_le_bytes()).collect::<Vec<_>>(), "utf-32le", text);
        check(&utf32.iter().flat_map(|it| it.to_be_bytes()).collect::<Vec<_>>(), "utf-32be", text);
    }
    for data in [
        b"\0\x01\x02\x03\n\0\0\0".as_slice(),
        b"\0\0\x80\x3f\0\0\0\x40\n\0",
        b"name\0other\0\n\0\xff\xfe",
    ] {
        assert_eq!(detect(data), Detected::UTF_8, "{data:?}");
    }
}

#[test]
fn utf8_with_damage_stays_utf8_and_the_rest_is_legacy() {
    check("né à vélo\n".as_bytes(), "utf-8", "né à vélo\n");
    check(b"", "utf-8", "");
    check(b"n\xC3\xA9 \xC3\xA0 v\xC3\xA9lo \x99\n", "utf-8", "né à vélo \u{FFFD}\n");
    check(b"caf\xE9 d\xE9j\xE0 vu\n", "windows-1252", "café déjà vu\n");
    let (japanese, _, _) =
        encoding_rs::SHIFT_JIS.encode("これは日本語の文章です。\n漢字もあります。\n");
    check(&japanese, "shift_jis", "これは日本語の文章です。\n漢字もあります。\n");
}

#[test]
fn labels_go_both_ways() {
    for label in
        ["utf-8", "utf-16le", "utf-16be", "utf-32le", "utf-32be", "shift_jis", "gb18030", "koi8-r"]
    {
        assert_eq!(Encoding::for_label(label).unwrap().label(), label);
    }
    assert_eq!(Encoding::for_label("iso-8859-1").unwrap().label(), "windows-1252");
    assert_eq!(Encoding::for_label("nonsense"), None);
}

#[test]
fn a_character_the_charset_lacks_is_named() {
    assert_eq!(Encoding::for_label("windows-1252").unwrap().encode("a→b"), Err('→'));
}

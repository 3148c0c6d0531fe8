use super::*;

#[track_caller]
fn check(text: &str, expected: Eol) {
    assert_eq!(Eol::of(text), expected, "{text:?}");
}

#[test]
fn line_endings_are_told() {
    check("", Eol::Lf);
    check("a\nb\n", Eol::Lf);
    check("a\r\nb\r\n", Eol::Crlf);
    check("a\rb\r", Eol::Cr);
    check("a\r\nb\n", Eol::Mixed);
    check("a\rb\n", Eol::Mixed);
    check("\r\r\n", Eol::Mixed);
}

#[test]
fn a_file_is_described_without_its_mark() {
    let decoded = decode(b"\xEF\xBB\xBFa\r\nb".to_vec());
    assert_eq!(decoded.text, "a\r\nb");
    let expected =
        Format { encoding: Encoding::Utf8, bom: true, eol: Eol::Crlf, final_newline: false };
    assert_eq!(decoded.format, expected);
}

#[test]
fn a_format_says_what_it_cannot_hold() {
    let latin = Format { encoding: Encoding::for_label("latin1").unwrap(), ..Format::default() };
    assert!(latin.can_hold("é").is_ok());
    let error = latin.can_hold("é\n→").unwrap_err();
    assert_eq!((error.char, error.line), ('→', 2));
}

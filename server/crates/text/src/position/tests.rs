use super::*;
use proptest::prelude::*;

const UNITS: [Unit; 3] = [Unit::Utf8, Unit::Utf16, Unit::Utf32];

fn at(line: u32, character: u32) -> Position {
    Position { line, character }
}

#[track_caller]
fn check(text: &str, breaks: LineBreaks, unit: Unit, position: Position, offset: usize) {
    let rope = Rope::from_str(text);
    assert_eq!(offset_at(&rope, position, unit, breaks), offset);
}

#[test]
fn counts_in_each_unit() {
    for (unit, character) in [(Unit::Utf8, 9), (Unit::Utf16, 4), (Unit::Utf32, 3)] {
        check("x\n𝒳é日z", LineBreaks::Lf, unit, at(1, character), 11);
        let rope = Rope::from_str("x\n𝒳é日z");
        assert_eq!(position_at(&rope, 11, unit, LineBreaks::Lf), at(1, character));
    }
}

#[test]
fn clamps_like_the_lsp() {
    check("ab\r\ncd\n", LineBreaks::Lf, Unit::Utf16, at(0, 99), 2);
    check("ab\r\ncd\n", LineBreaks::Lf, Unit::Utf16, at(1, u32::MAX), 6);
    check("ab\r\ncd\n", LineBreaks::Lf, Unit::Utf16, at(2, 5), 7);
    check("ab\r\ncd\n", LineBreaks::Lf, Unit::Utf16, at(u32::MAX, 0), 7);
    check("𝒳", LineBreaks::Lf, Unit::Utf16, at(0, 1), 0);
    check("日", LineBreaks::Lf, Unit::Utf8, at(0, 2), 0);
    check("", LineBreaks::Lsp, Unit::Utf16, at(0, 3), 0);
    let rope = Rope::from_str("ab\r\ncd");
    assert_eq!(position_at(&rope, 3, Unit::Utf8, LineBreaks::Lf), at(0, 2));
    assert_eq!(position_at(&rope, 99, Unit::Utf8, LineBreaks::Lf), at(1, 2));
}

#[test]
fn a_lone_cr_ends_a_line_for_the_lsp_only() {
    let text = "a\rbc\nd\re\r\nf";
    check(text, LineBreaks::Lsp, Unit::Utf16, at(0, 9), 1);
    check(text, LineBreaks::Lsp, Unit::Utf16, at(1, 1), 3);
    check(text, LineBreaks::Lsp, Unit::Utf16, at(1, 9), 4);
    check(text, LineBreaks::Lsp, Unit::Utf16, at(2, 9), 6);
    check(text, LineBreaks::Lsp, Unit::Utf16, at(3, 9), 8);
    check(text, LineBreaks::Lsp, Unit::Utf16, at(4, 9), 11);
    check(text, LineBreaks::Lsp, Unit::Utf16, at(5, 0), 11);
    check(text, LineBreaks::Lf, Unit::Utf16, at(0, 9), 4);
    check("\r", LineBreaks::Lsp, Unit::Utf16, at(1, 0), 1);
}

#[test]
fn settles_on_the_faster_breaks() {
    let settled = |text| LineBreaks::Lsp.settled(&Rope::from_str(text));
    assert_eq!(settled("a\r\nb\n"), LineBreaks::Lf);
    assert_eq!(settled("a\rb\n"), LineBreaks::Lsp);
}

/// Line starts and ends by the plainest reading of the rules.
fn slow_lines(text: &str, breaks: LineBreaks) -> Vec<(usize, usize)> {
    let bytes = text.as_bytes();
    let (mut lines, mut start, mut i) = (Vec::new(), 0, 0);
    while i < bytes.len() {
        let len = match bytes[i] {
            b'\r' if bytes.get(i + 1) == Some(&b'\n') => 2,
            b'\n' => 1,
            b'\r' if breaks == LineBreaks::Lsp => 1,
            _ => 0,
        };
        if len > 0 {
            lines.push((start, i));
            start = i + len;
        }
        i += len.max(1);
    }
    lines.push((start, bytes.len()));
    lines
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]

    #[test]
    fn round_trips(text in "([ab𝒳é日]|\r|\n|\r\n){0,30}") {
        let rope = Rope::from_str(&text);
        for breaks in [LineBreaks::Lf, LineBreaks::Lsp] {
            let lines = slow_lines(&text, breaks);
            for unit in UNITS {
                for offset in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                    let position = position_at(&rope, offset, unit, breaks);
                    let line = lines.iter().rposition(|(start, _)| *start <= offset).unwrap();
                    let offset = offset.min(lines[line].1);
                    let head = &text[lines[line].0..offset];
                    let character = match unit {
                        Unit::Utf8 => head.len(),
                        Unit::Utf16 => head.encode_utf16().count(),
                        Unit::Utf32 => head.chars().count(),
                    };
                    prop_assert_eq!(position, at(line as u32, character as u32));
                    prop_assert_eq!(offset_at(&rope, position, unit, breaks), offset);
                }
                for (line, (_, end)) in lines.iter().enumerate() {
                    prop_assert_eq!(offset_at(&rope, at(line as u32, 1000), unit, breaks), *end);
                }
                prop_assert_eq!(offset_at(&rope, at(lines.len() as u32, 0), unit, breaks), text.len());
            }
        }
    }
}

use super::{CursorKeys, Stroke, strokes};

fn sent(input: &str, cursor: CursorKeys) -> String {
    let bytes = strokes(input).iter().flat_map(|it| it.bytes(cursor)).collect();
    String::from_utf8(bytes).unwrap()
}

#[track_caller]
fn check(input: &str, expected: &str) {
    assert_eq!(sent(input, CursorKeys::Normal), expected, "{input}");
}

#[test]
fn text_is_text_and_a_newline_is_the_enter_key() {
    check("print(1)\n", "print(1)\r");
    check("a\r\nb\n\n", "a\rb\r\r");
    check("é日本", "é日本");
    check("", "");
}

#[test]
fn keys_go_by_their_names() {
    check("ls<enter>", "ls\r");
    check("<Tab><esc><up><DOWN>", "\t\x1b\x1b[A\x1b[B");
    check("<c-c><ctrl-d><C-[><c-space><c-->", "\x03\x04\x1b\0\x1f");
    check("<m-x><a-enter><alt-c-a>", "\x1bx\x1b\r\x1b\x01");
    check("<s-tab><c-left><shift-f5><c-delete>", "\x1b[Z\x1b[1;5D\x1b[15;2~\x1b[3;5~");
    check("<f1><f12><pageup><home><backspace>", "\x1bOP\x1b[24~\x1b[5~\x1b[H\x7f");
    assert_eq!(sent("<up><end><s-up>", CursorKeys::Application), "\x1bOA\x1bOF\x1b[1;2A");
}

#[test]
fn what_names_no_key_is_text() {
    check("#include <stdio.h>\n", "#include <stdio.h>\r");
    check("<b>bold</b> <a> < <> <<enter>", "<b>bold</b> <a> < <> <\r");
    check("a < b && c > d", "a < b && c > d");
    check("<lt>enter>", "<enter>");
    check("cat <<EOF", "cat <<EOF");
    check("vector<pair<int, int>>", "vector<pair<int, int>>");
    check("<c-é><c-><-x><", "<c-é><c-><-x><");
    check("<日本日本日本日本日本日本>", "<日本日本日本日本日本日本>");
}

#[test]
fn each_line_is_a_stroke_of_its_own() {
    let lines = strokes("a\nb<enter>c");
    assert_eq!(lines.iter().map(Stroke::ends_line).collect::<Vec<_>>(), [true, false, true, false]);
}

use super::*;

#[track_caller]
fn check_path(uri: &str, path: &str) {
    assert_eq!(location(uri), Location::disk(path), "{uri}");
}

#[track_caller]
fn check_virtual(uri: &str) {
    assert_eq!(location(uri), Location::Virtual(uri.to_owned()));
    assert_eq!(super::uri(&location(uri)), uri);
}

#[test]
fn uris_of_files() {
    check_path("file:///a/b.rs", "/a/b.rs");
    check_path("FILE:///a/b.rs", "/a/b.rs");
    check_path("file:/a/b.rs", "/a/b.rs");
    check_path("file://localhost/a", "/a");
    check_path("file:///odd%20%5b1%5D%20%23%c3%a9%2520.txt", "/odd [1] #é%20.txt");
    check_path("file:///a/b#c?d.txt", "/a/b#c?d.txt");
    check_path("file:///c%3A/x", "/c:/x");
    check_path("file:///C:/x", "/C:/x");
    check_path("file:///a/./b/../c", "/a/c");
    check_path("file:///é b", "/é b");
    check_path("file:///100%", "/100%");
}

#[test]
fn documents_without_a_file() {
    check_virtual("untitled:Untitled-1");
    check_virtual("file://");
    check_virtual("file://server/share/x");
    check_virtual("vscode-notebook-cell:/a/b.ipynb#W0sZmlsZQ%3D%3D");
    check_virtual("file:///a%00b");
    check_virtual("");
    check_virtual("é");
}

#[test]
fn paths_that_are_not_utf8_survive() {
    let location = location("file:///a%FFb");
    assert_eq!(uri(&location), "file:///a%FFb");
}

#[test]
fn the_clients_spelling_is_used_while_the_document_is_open() {
    let uris = Uris::default();
    let location = uris.opened("file:///a%5b1%5d.txt");
    assert_eq!(uris.of(&location), "file:///a%5b1%5d.txt");
    uris.closed(&location);
    assert_eq!(uris.of(&location), "file:///a%5B1%5D.txt");
}

fn changes(len: usize, edits: &[(std::ops::Range<usize>, &str)]) -> ChangeSet {
    let edits = edits.iter().map(|(range, text)| Edit::new(range.clone(), *text)).collect();
    ChangeSet::new(len, edits).unwrap()
}

#[track_caller]
fn check_edits(
    text: &str,
    counting: Counting,
    change: (std::ops::Range<usize>, &str),
    expected: &str,
) {
    let rope = Rope::from_str(text);
    let edits = text_edits(&rope, &changes(text.len(), &[change]), counting);
    let shown: Vec<String> = edits
        .iter()
        .map(|TextEdit { range: Range { start, end }, new_text }| {
            format!(
                "{}:{}-{}:{} {new_text:?}",
                start.line, start.character, end.line, end.character
            )
        })
        .collect();
    assert_eq!(shown.join(", "), expected);
}

#[test]
fn edits_count_as_the_client_does() {
    let counting = |unit| Counting { unit, breaks: LineBreaks::Lsp };
    let text = "a\né🦀x\n";
    check_edits(text, counting(Unit::Utf8), (8..9, "y"), r#"1:6-1:7 "y""#);
    check_edits(text, counting(Unit::Utf16), (8..9, "y"), r#"1:3-1:4 "y""#);
    check_edits(text, counting(Unit::Utf32), (8..9, "y"), r#"1:2-1:3 "y""#);
    let lone = "a\rb\nc";
    check_edits(lone, counting(Unit::Utf8), (4..5, "d"), r#"2:0-2:1 "d""#);
    check_edits(
        lone,
        Counting { unit: Unit::Utf8, breaks: LineBreaks::Lf },
        (4..5, "d"),
        r#"1:0-1:1 "d""#,
    );
}

#[track_caller]
fn check_endings(
    (text, eol, editor): (&str, Eol, EditorKind),
    change: (std::ops::Range<usize>, &str),
    expected: &str,
) {
    let rope = Rope::from_str(text);
    let own = in_own_endings(&rope, &changes(text.len(), &[change]), eol, editor);
    assert_eq!(own.apply(&rope).to_string(), expected);
}

#[test]
fn new_lines_end_as_the_documents_do() {
    use EditorKind::{Neovim, Other};
    check_endings(("a\r\nb\r\n", Eol::Crlf, Other), (0..0, "x\ny\r\n"), "x\r\ny\r\na\r\nb\r\n");
    check_endings(("a\nb\n", Eol::Lf, Other), (0..0, "x\r\n"), "x\na\nb\n");
    check_endings(("", Eol::Crlf, Other), (0..0, "x\n"), "x\r\n");
    check_endings(("a\r\nb\n", Eol::Mixed, Other), (0..0, "x\r\n"), "x\r\na\r\nb\n");
    check_endings(("a\r\nb\n", Eol::Mixed, Neovim), (0..0, "x\r\n"), "x\na\r\nb\n");
}

#[test]
fn no_edit_splits_a_line_ending() {
    let document = ("a\r\nb\r\n", Eol::Crlf, EditorKind::Other);
    check_endings(document, (2..3, "\n"), "a\r\nb\r\n");
    check_endings(document, (0..2, "x\r"), "x\r\nb\r\n");
    let rope = Rope::from_str(document.0);
    let own = in_own_endings(&rope, &changes(6, &[(2..4, "\nc")]), Eol::Crlf, EditorKind::Other);
    assert_eq!(own.edits(), [Edit::new(1..4, "\r\nc")]);
}

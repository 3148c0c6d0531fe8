use proptest::prelude::*;

use super::*;
use crate::format::decode;

fn open(text: &str, disk: Option<&[u8]>) -> Document {
    let disk = disk.map(|bytes| decode(bytes.to_vec()));
    Document::open("text", 1, text, disk, LineBreaks::Lsp, Arc::new(watch::Sender::new(0)))
}

fn at(line: u32, character: u32) -> Position {
    Position { line, character }
}

fn insert(line: u32, character: u32, text: &str) -> Vec<TextChange> {
    let here = at(line, character);
    vec![TextChange { range: Some((here, here)), text: text.to_owned() }]
}

fn unsaved(version: i32) -> EditorState {
    EditorState { dirty: true, ..saved(version) }
}

fn saved(version: i32) -> EditorState {
    EditorState {
        version,
        dirty: false,
        encoding: "utf-8".to_owned(),
        bom: false,
        eol: Eol::Lf,
        final_newline: true,
        read_only: false,
    }
}

#[track_caller]
fn check_open(text: &str, disk: Option<&[u8]>, dirty: Dirty, write_back: WriteBack) {
    let document = open(text, disk);
    assert_eq!((document.dirty, document.on_disk.write_back), (dirty, write_back));
}

#[test]
fn a_buffer_is_compared_with_its_file() {
    check_open("a\n", Some(b"a\n"), Dirty::Clean, WriteBack::Faithful);
    check_open("b\n", Some(b"a\n"), Dirty::Person, WriteBack::Faithful);
    check_open("a\n", Some(b"\xEF\xBB\xBFa\n"), Dirty::Clean, WriteBack::Faithful);
    check_open("a\nb\n", Some(b"a\r\nb\r\n"), Dirty::Clean, WriteBack::Faithful);
    check_open("a\nb\n", Some(b"a\r\nb\n"), Dirty::Clean, WriteBack::LineEndings);
    check_open("a\r\nb\n", Some(b"a\r\nb\n"), Dirty::Clean, WriteBack::Faithful);
    check_open("é\u{FFFD}\n", Some(b"\xC3\xA9\x99\n"), Dirty::Clean, WriteBack::MalformedBytes);
    check_open("", None, Dirty::Clean, WriteBack::Faithful);
    check_open("new", None, Dirty::Person, WriteBack::Faithful);
    check_open("a\n\n", Some(b"a\n"), Dirty::Person, WriteBack::Faithful);
}

#[test]
fn typing_makes_dirty_and_saving_clean() {
    let mut document = open("a\n", Some(b"a\n"));
    document.change(2, insert(0, 1, "b"), Unit::Utf16);
    assert_eq!((document.rope.to_string().as_str(), document.dirty), ("ab\n", Dirty::Person));
    document.saved();
    assert_eq!(document.dirty, Dirty::Clean);
}

#[test]
fn a_change_of_ours_is_not_the_persons() {
    let mut document = open("a\n", Some(b"a\n"));
    document.expect(Rope::from_str("axy\n"));
    document.change(2, insert(0, 1, "x"), Unit::Utf16);
    document.change(3, insert(0, 2, "y"), Unit::Utf16);
    assert_eq!(document.dirty, Dirty::Ours, "an edit that came in two pieces");
    document.editor_says(unsaved(3));
    assert_eq!(document.dirty, Dirty::Ours);
    document.change(4, insert(0, 0, "z"), Unit::Utf16);
    assert_eq!(document.dirty, Dirty::Person);
    document.expect(Rope::from_str("zaxy!\n"));
    document.change(5, insert(0, 4, "!"), Unit::Utf16);
    assert_eq!(document.dirty, Dirty::Person, "the person's text is still unsaved");
}

#[test]
fn the_editors_word_holds_for_its_version() {
    let mut document = open("a\n", Some(b"other\n"));
    document.editor_says(saved(1));
    assert_eq!(document.dirty, Dirty::Clean);
    document.editor_says(saved(2));
    document.change(2, insert(0, 0, "x"), Unit::Utf16);
    assert_eq!(document.dirty, Dirty::Clean, "undone to what is saved");
    document.change(3, insert(0, 0, "x"), Unit::Utf16);
    document.editor_says(saved(2));
    assert_eq!(document.dirty, Dirty::Person);
}

#[test]
fn a_lone_carriage_return_counts_from_when_it_appears() {
    let mut document = open("ab\r\ncd\n", None);
    document.change(2, insert(0, 1, "\r"), Unit::Utf16);
    document.change(3, insert(2, 0, "X"), Unit::Utf16);
    assert_eq!(document.rope.to_string(), "a\rb\r\nXcd\n");
}

#[test]
fn history_is_bounded_and_says_so() {
    let mut document = open("", None);
    let start = document.generation();
    assert_eq!(document.changes_since(start).unwrap().len(), 0);
    for version in 0..HISTORY_CHANGES as i32 + 1 {
        document.change(version, insert(0, 0, "x"), Unit::Utf16);
    }
    assert!(document.changes_since(start).is_none());
    assert_eq!(document.changes_since(start + 1).unwrap().len(), HISTORY_CHANGES);
    document.change(9_999, insert(0, 0, &"y".repeat(HISTORY_BYTES)), Unit::Utf16);
    assert!(document.changes_since(document.generation() - 1).is_none());
    assert!(document.changes_since(document.generation() + 1).is_none());
}

/// `range` of `before` becomes `text`, and is kept as `expected`: (start, end, text) in bytes.
#[track_caller]
fn check_kept(
    before: &str,
    range: Option<(Position, Position)>,
    text: &str,
    expected: &[(usize, usize, &str)],
) {
    let mut document = open(before, None);
    let start = document.generation();
    document.change(2, vec![TextChange { range, text: text.to_owned() }], Unit::Utf16);
    let changes = document.changes_since(start).unwrap();
    let edits = changes[0].changes.edits().iter();
    let edits: Vec<_> = edits.map(|it| (it.range.start, it.range.end, it.text.as_str())).collect();
    assert_eq!(edits, expected);
    assert_eq!(changes[0].changes.apply(&Rope::from_str(before)), document.rope);
}

#[test]
fn a_whole_text_is_kept_as_what_differs() {
    check_kept("aéb日c", None, "aéXb日c", &[(3, 3, "X")]);
    check_kept("a\n", None, "a\n", &[]);
    let (before, after) = ("a1  \na2\na3 \nlast", "a1\na2\na3\nlast\n");
    let differs = [(2, 4, ""), (10, 11, ""), (16, 16, "\n")];
    check_kept(before, None, after, &differs);
    check_kept(before, Some((at(0, 0), at(3, 4))), after, &differs);
    check_kept(before, Some((at(0, 0), at(9, 0))), after, &differs);
}

#[test]
fn lines_that_replace_lines_are_kept_as_what_differs() {
    let lines = Some((at(1, 0), at(3, 0)));
    check_kept("a\nb\nc\nd\n", lines, "b\nC\n", &[(4, 5, "C")]);
    check_kept("a\nb\nc\nd\n", Some((at(1, 1), at(2, 1))), "\nX", &[(4, 5, "X")]);
    // Inside a line what is told is what was typed.
    check_kept("a\nbcb\nd\n", Some((at(1, 0), at(1, 3))), "bxb", &[(2, 5, "bxb")]);
}

proptest! {
    /// The history always leads from an older text to the present one.
    #[test]
    fn history_leads_to_the_text(
        steps in prop::collection::vec((0u32..4, 0u32..6, 0u32..4, 0u32..6, "[aé😀\r\n]{0,8}", any::<bool>()), 1..20)
    ) {
        let mut document = open("one\r\ntwo é😀\nthree\n", None);
        let (start, mut text) = (document.generation(), document.rope.clone());
        for (version, (l1, c1, l2, c2, insert, whole)) in steps.into_iter().enumerate() {
            let range = (!whole).then(|| (at(l1, c1).min(at(l2, c2)), at(l1, c1).max(at(l2, c2))));
            document.change(version as i32 + 2, vec![TextChange { range, text: insert }], Unit::Utf16);
        }
        for change in document.changes_since(start).unwrap() {
            text = change.changes.apply(&text);
        }
        prop_assert_eq!(text.to_string(), document.rope.to_string());
    }
}

//! Columns in every encoding a client may have.

use serde_json::json;

use crate::editor::document::{Columns, Document};
use crate::editor::{Editor, Start};
use crate::workspace::Workspace;

const TEXT: &str = "first\nlet 𝒳é日 = tail;\nlast 𝒳\n";

#[test]
fn the_fake_editor_counts_columns_as_editors_do() {
    let document = Document::new("𝒳é日\r\nend", 1);
    for (columns, behind) in [(Columns::Utf8, 9), (Columns::Utf16, 4), (Columns::Utf32, 3)] {
        let place = json!({ "line": 0, "character": behind });
        assert_eq!(document.offset(&place, columns), 9, "{columns:?}");
        assert_eq!(document.position(9, columns), place, "{columns:?}");
        // Past the end of a line is its end, before the line ending; past the last line is the end of the text.
        assert_eq!(document.offset(&json!({ "line": 0, "character": 99 }), columns), 9);
        assert_eq!(document.offset(&json!({ "line": 1, "character": 99 }), columns), 14);
        assert_eq!(document.offset(&json!({ "line": 7, "character": 0 }), columns), 14);
    }
}

fn desk(workspace: &Workspace, offered: &[&'static str]) -> Editor {
    Start::new(workspace).columns(offered).start()
}

#[track_caller]
fn check_negotiated(offered: &[&'static str], expected: &str) {
    let workspace = Workspace::new(&[]);
    let editor = desk(&workspace, offered);
    assert_eq!(editor.initialized["capabilities"]["positionEncoding"], expected);
}

#[test]
fn utf_8_is_taken_where_offered() {
    check_negotiated(&["utf-16", "utf-8", "utf-32"], "utf-8");
}

#[test]
fn utf_16_is_taken_before_utf_32() {
    check_negotiated(&["utf-32", "utf-16"], "utf-16");
}

/// The person types behind wide characters, then the agent edits behind them: both land where they were meant.
#[track_caller]
fn check_edits(encoding: &'static str) {
    let workspace = Workspace::new(&[("a.txt", TEXT)]);
    let editor = desk(&workspace, &[encoding]);
    editor.open_file("a.txt");
    editor.type_before("a.txt", " = tail", "日𝒳");
    editor.type_before("a.txt", "\nlast", " // é");
    let session = editor.session();
    let read = session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    assert!(read.contains("let 𝒳é日日𝒳 = tail; // é"), "{encoding}: {read}");
    session
        .tool(
            "Edit",
            json!({ "file_path": "a.txt", "old_string": "tail; //", "new_string": "TAIL𝒳; //" }),
        )
        .ok();
    session
        .tool(
            "Edit",
            json!({ "file_path": "a.txt", "old_string": "last 𝒳", "new_string": "last 𝒳𝒳!" }),
        )
        .ok();
    assert_eq!(editor.text("a.txt"), "first\nlet 𝒳é日日𝒳 = TAIL𝒳; // é\nlast 𝒳𝒳!\n", "{encoding}");
}

#[test]
fn edits_behind_wide_characters_land_right_in_utf_8() {
    check_edits("utf-8");
}

#[test]
fn edits_behind_wide_characters_land_right_in_utf_16() {
    check_edits("utf-16");
}

#[test]
fn edits_behind_wide_characters_land_right_in_utf_32() {
    check_edits("utf-32");
}

#[test]
fn positions_past_the_end_mean_the_end() {
    let workspace = Workspace::new(&[("a.txt", "one\r\ntwo")]);
    let editor = desk(&workspace, &["utf-16"]);
    let uri = editor.open_file("a.txt");
    let change = |line: u32, text: &str| {
        let at = json!({ "line": line, "character": 9999 });
        json!({ "range": { "start": at, "end": at }, "text": text })
    };
    editor.notify(
        "textDocument/didChange",
        json!({
            "textDocument": { "uri": uri, "version": 2 },
            "contentChanges": [change(0, "A"), change(77, "Z")],
        }),
    );
    let found =
        editor.tool("Grep", json!({ "pattern": "oneA|twoZ", "output_mode": "content" })).ok();
    assert!(found.contains("oneA") && found.contains("twoZ"), "{found}");
}

#[test]
fn a_position_inside_a_surrogate_pair_breaks_nothing() {
    let workspace = Workspace::new(&[("a.txt", "𝒳 end\n")]);
    let editor = desk(&workspace, &["utf-16"]);
    let uri = editor.open_file("a.txt");
    let at = json!({ "line": 0, "character": 1 });
    editor.notify(
        "textDocument/didChange",
        json!({
            "textDocument": { "uri": uri, "version": 2 },
            "contentChanges": [{ "range": { "start": at, "end": at }, "text": "x" }],
        }),
    );
    let read = editor.tool("Read", json!({ "file_path": "a.txt" })).ok();
    assert!(read.contains("end") && read.contains('x'), "{read}");
}

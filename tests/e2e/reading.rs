//! Reading what is no plain text: images, PDFs, notebooks, and files of any size or kind.

use std::ffi::OsStr;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use crate::editor::{Editor, Start};
use crate::model::{Model, Step};
use crate::workspace::Workspace;

/// A PNG of 2 × 2 red pixels.
const RED: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGP4z8AARAwQCgAf7gP9i18U1AAAAABJRU5ErkJggg==";

fn red() -> Vec<u8> {
    STANDARD.decode(RED).unwrap()
}

/// A bitmap of one colour, of any size.
fn bitmap(width: u32, height: u32) -> Vec<u8> {
    let row = (width * 3).next_multiple_of(4);
    let size = 54 + row * height;
    let mut file = b"BM".to_vec();
    for number in [size, 0, 54, 40, width, height] {
        file.extend(number.to_le_bytes());
    }
    file.extend([1, 0, 24, 0]);
    file.extend([0; 24]);
    file.resize(size as usize, 0x7f);
    file
}

/// A PDF with a page for each text.
fn pdf(texts: &[&str]) -> Vec<u8> {
    let kids: Vec<String> = (0..texts.len()).map(|it| format!("{} 0 R", 4 + it * 2)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), texts.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    for (nth, text) in texts.iter().enumerate() {
        let content = format!("BT /F1 12 Tf 20 150 Td ({text}) Tj ET");
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents {} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>",
            5 + nth * 2
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    let mut file = "%PDF-1.4\n".to_owned();
    for (nth, object) in objects.iter().enumerate() {
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", nth + 1));
    }
    file.push_str("trailer << /Root 1 0 R >>\n%%EOF\n");
    file.into_bytes()
}

fn notebook() -> String {
    let png =
        json!({ "output_type": "display_data", "metadata": {}, "data": { "image/png": RED } });
    let cells = json!([
        { "cell_type": "markdown", "id": "top", "metadata": {}, "source": ["# Title\n", "text"] },
        {
            "cell_type": "code", "id": "sum", "metadata": {}, "execution_count": 7, "source": "1 + 1",
            "outputs": [
                { "output_type": "stream", "name": "stdout", "text": ["10%\r100%\n", "\u{1b}[31mred\u{1b}[0m\n"] },
                { "output_type": "execute_result", "metadata": {}, "execution_count": 7, "data": { "text/plain": ["2"] } },
                png,
                { "output_type": "error", "ename": "E", "evalue": "bad", "traceback": ["line 1"] },
            ],
        },
    ]);
    let whole = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    serde_json::to_string_pretty(&whole).unwrap()
}

/// What a call of the person's gives, block by block.
#[track_caller]
fn blocks(editor: &Editor, tool: &str, input: Value) -> Vec<Value> {
    let answer = editor.request("copydesk/tool/call", json!({ "name": tool, "input": input }));
    assert_ne!(answer["isError"], true, "{answer}");
    answer["content"].as_array().unwrap().clone()
}

#[track_caller]
fn read(editor: &Editor, path: &str) -> Vec<Value> {
    blocks(editor, "Read", json!({ "file_path": path }))
}

#[track_caller]
fn refused(editor: &Editor, input: Value, expected: &str) {
    let told = editor.tool("Read", input).err();
    assert!(told.contains(expected), "{expected}: {told}");
}

fn models(images: Value, dialect: &str) -> Value {
    json!({ "mock/test": { "images": images["images"], "video": images["video"], "dialect": dialect } })
}

#[test]
fn images_are_shown_by_what_they_are_and_scaled() {
    let workspace = Workspace::new(&[]);
    workspace.write("red.png", red());
    workspace.write("named-wrongly.txt", red());
    workspace.write("wide.bmp", bitmap(2_400, 30));
    let editor = Editor::open(&workspace, &json!({}));
    for name in ["red.png", "named-wrongly.txt"] {
        let content = read(&editor, name);
        assert!(
            content[0]["text"].as_str().unwrap().contains("PNG image, 2 × 2 pixels"),
            "{content:?}"
        );
        assert_eq!((&content[1]["type"], &content[1]["data"]), (&json!("image"), &json!(RED)));
    }
    let content = read(&editor, "wide.bmp");
    let told = content[0]["text"].as_str().unwrap();
    assert!(
        told.contains("BMP image, 2400 × 30 pixels") && told.contains("shown at 2000 × 25"),
        "{told}"
    );
    assert_eq!(content[1]["mimeType"], "image/png");
}

#[test]
fn a_card_shows_the_image_and_only_a_model_that_sees_gets_it() {
    let workspace = Workspace::new(&[]);
    workspace.write("red.png", red());
    for sees in [true, false] {
        let model =
            Model::new([Step::call("Read", json!({ "file_path": "red.png" })), Step::text("done")]);
        let models = models(json!({ "images": sees, "video": false }), "claude");
        let settings = model.settings_with(&json!({ "models": models }));
        let editor = Editor::open(&workspace, &settings);
        let session = editor.session();
        assert_eq!(session.prompt("look"), "end_turn");
        assert_eq!(model.everything().contains(RED), sees);
        let result = model.results().remove(0);
        assert!(result.contains("2 × 2 pixels"), "{result}");
        assert_eq!(result.contains("takes no images"), !sees, "{result}");
        let card = session.cards().remove(0);
        assert!(card["content"].to_string().contains(RED), "{card}");
        let offered = model.requests()[0].body["tools"].to_string().contains("\"ViewImage\"");
        assert_eq!(
            offered, sees,
            "a tool that shows images is of no use to a model that sees none"
        );
    }
}

#[test]
fn view_image_shows_images_and_sends_the_rest_elsewhere() {
    let workspace = Workspace::new(&[("a.txt", "text\n")]);
    workspace.write("red.png", red());
    workspace.write("a.pdf", pdf(&["x"]));
    workspace.write("small.mp4", b"\0\0\0\x18ftypisom0000000000");
    workspace.write("a.svg", "<svg/>\n");
    workspace.write("a.avif", b"\0\0\0\x18ftypavif\0\0\0\0");
    let long = std::fs::File::create(workspace.path("long.mp4")).unwrap();
    (&long).write_all(b"\0\0\0\x18ftypisom").unwrap();
    long.set_len(60_000_000).unwrap();
    let editor = Editor::open(&workspace, &json!({}));
    let content =
        blocks(&editor, "ViewImage", json!({ "file_path": "red.png", "label": "Figure 1" }));
    assert_eq!(content[0]["text"], "Figure 1");
    assert_eq!(content[2]["data"], RED);
    let content = blocks(&editor, "ReadMediaFile", json!({ "path": "small.mp4" }));
    assert!(content[0]["text"].as_str().unwrap().contains("video/mp4"), "{content:?}");
    for (path, expected) in [
        ("a.txt", "no image or video. Use Read"),
        ("a.pdf", "is a PDF. Use Read"),
        ("long.mp4", "60000000 bytes; a request carries 14000000 at most"),
        ("nothing.png", "does not exist"),
        ("a.svg", "SVG image, which is not drawn"),
        ("a.avif", "is an AVIF image"),
        (".", "is a folder"),
    ] {
        let told = editor.tool("ViewImage", json!({ "file_path": path })).err();
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn a_video_goes_to_models_that_take_them_and_no_other() {
    let workspace = Workspace::new(&[]);
    workspace.write("a.mp4", b"\0\0\0\x18ftypisom0000000000");
    for sees in [true, false] {
        let model = Model::new([
            Step::call("ViewImage", json!({ "file_path": "a.mp4" })),
            Step::text("done"),
        ]);
        let models = models(json!({ "images": true, "video": sees }), "claude");
        let editor = Editor::open(&workspace, &model.settings_with(&json!({ "models": models })));
        assert_eq!(editor.session().prompt("look"), "end_turn");
        assert_eq!(model.everything().contains("data:video/mp4;base64,"), sees);
        assert_eq!(model.results()[0].contains("the model in use takes none"), !sees);
    }
}

#[test]
fn images_that_cannot_be_shown_are_refused_with_the_reason() {
    let workspace = Workspace::new(&[("a.svg", "<svg xmlns=\"http://www.w3.org/2000/svg\"/>\n")]);
    workspace.write("a.heic", b"\0\0\0\x18ftypheic\0\0\0\0");
    workspace.write("a.avif", b"\0\0\0\x18ftypavif\0\0\0\0");
    workspace.write("cut.png", &red()[..40]);
    let mut bomb = bitmap(1, 1);
    bomb[18..26].copy_from_slice(&[0x60, 0xea, 0, 0, 0x60, 0xea, 0, 0]);
    workspace.write("bomb.bmp", bomb);
    let editor = Editor::open(&workspace, &json!({}));
    for (path, expected) in [
        ("a.heic", "HEIC image"),
        ("a.avif", "AVIF image"),
        ("a.svg", "SVG image, which is not drawn"),
        ("cut.png", "damaged PNG"),
        ("bomb.bmp", "60000 × 60000 pixels, more than"),
    ] {
        refused(&editor, json!({ "file_path": path }), expected);
    }
    let source = editor.tool("Read", json!({ "file_path": "a.svg", "offset": 1 })).ok();
    assert!(source.contains("     1\t<svg"), "{source}");
}

#[test]
fn kimis_read_points_to_its_media_tool() {
    let workspace = Workspace::new(&[]);
    workspace.write("red.png", red());
    let model = Model::new([
        Step::call("Read", json!({ "path": "red.png" })),
        Step::call("ReadMediaFile", json!({ "path": "red.png" })),
        Step::text("done"),
    ]);
    let models = models(json!({ "images": true, "video": false }), "kimi");
    let editor = Editor::open(&workspace, &model.settings_with(&json!({ "models": models })));
    assert_eq!(editor.session().prompt("look"), "end_turn");
    let results = model.results();
    assert!(results[0].contains("Use ReadMediaFile to see it"), "{results:?}");
    assert!(results[1].contains("2 × 2 pixels"), "{results:?}");
}

#[test]
fn pages_of_a_pdf_are_text_and_pictures() {
    let workspace = Workspace::new(&[]);
    workspace.write("two.pdf", pdf(&["First page", "Second page"]));
    workspace.write("many.pdf", pdf(&["x"; 23]));
    workspace.write("damaged.pdf", b"%PDF-1.7\nnothing");
    let editor = Editor::open(&workspace, &json!({}));
    let content = read(&editor, "two.pdf");
    let kinds: Vec<_> = content.iter().map(|it| it["type"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["text", "image", "text", "image", "text"]);
    assert_eq!(content[0]["text"], "--- page 1 of 2 ---\nFirst page");
    assert_eq!(content[4]["text"], "[pages 1-2 of 2]");
    let pages = |path: &str, pages: &str| json!({ "file_path": path, "pages": pages });
    let content = blocks(&editor, "Read", pages("many.pdf", "2-3"));
    assert_eq!(content.last().unwrap()["text"], "[pages 2-3 of 23; next pages \"4-23\"]");
    let content = read(&editor, "many.pdf");
    assert_eq!(content.last().unwrap()["text"], "[pages 1-20 of 23; next pages \"21-23\"]");
    refused(&editor, pages("many.pdf", "1-21"), "a call shows 20 at most");
    refused(&editor, pages("many.pdf", "24"), "has 23 pages; there is no page 24");
    refused(&editor, pages("many.pdf", "x"), "pages must be");
    refused(&editor, pages("damaged.pdf", "1"), "is a damaged PDF");
    workspace.write("a.txt", "text\n");
    refused(&editor, pages("a.txt", "1"), "is no PDF");
}

#[test]
fn a_model_without_eyes_reads_the_text_of_pages() {
    let workspace = Workspace::new(&[]);
    workspace.write("one.pdf", pdf(&["All there is"]));
    let model =
        Model::new([Step::call("Read", json!({ "file_path": "one.pdf" })), Step::text("done")]);
    let models = models(json!({ "images": false, "video": false }), "claude");
    let editor = Editor::open(&workspace, &model.settings_with(&json!({ "models": models })));
    assert_eq!(editor.session().prompt("read"), "end_turn");
    assert!(model.results()[0].contains("All there is"));
    assert!(!model.everything().contains("image/png"));
}

#[test]
fn a_notebook_is_read_as_cells_with_outputs_and_edited_after() {
    let workspace = Workspace::new(&[("n.ipynb", &notebook())]);
    let editor = Editor::open(&workspace, &json!({ "mode": "edit" }));
    let session = editor.session();
    let told = session.tool("Read", json!({ "file_path": "n.ipynb" })).ok();
    for part in [
        "--- cell top (markdown) ---\n# Title\ntext\n",
        "--- cell sum (code, execution count 7) ---\n1 + 1\n",
        "--- output of sum ---\n100%\nred\n",
        "--- output of sum ---\n2\n",
        "line 1\nE: bad",
        "[cells 1-2 of 2]",
    ] {
        assert!(told.contains(part), "{part:?}: {told}");
    }
    let content = read(&editor, "n.ipynb");
    assert!(content.iter().any(|it| it["data"] == RED), "{content:?}");
    let edit = json!({ "notebook_path": "n.ipynb", "cell_id": "sum", "new_source": "2 + 2" });
    session.tool("NotebookEdit", edit).ok();
    assert!(workspace.read("n.ipynb").contains("2 + 2"));
    let one = json!({ "file_path": "n.ipynb", "offset": -1 });
    let told = session.tool("Read", one).ok();
    assert!(told.contains("2 + 2") && !told.contains("# Title"), "{told}");
    let one = json!({ "file_path": "n.ipynb", "limit": 1 });
    assert!(session.tool("Read", one).ok().contains("[cells 1-1 of 2; next offset 2]"));
    let beyond = json!({ "file_path": "n.ipynb", "offset": 3 });
    assert!(session.tool("Read", beyond).err().contains("has 2 cells"));
    workspace.write("broken.ipynb", "{ not json");
    let told = session.tool("Read", json!({ "file_path": "broken.ipynb" })).ok();
    assert!(told.contains("     1\t{ not json") && told.contains("shown as text"), "{told}");
}

#[test]
fn cells_are_read_as_the_editor_shows_them() {
    let workspace = Workspace::new(&[("n.ipynb", &notebook())]);
    let editor = Editor::open(&workspace, &json!({ "mode": "edit" }));
    let uri = editor.uri("n.ipynb");
    let cells = [("top", "markdown", "# Title\ntext"), ("sum", "code", "1 + 1")];
    editor.lock().open_notebook(&uri, &cells);
    let session = editor.session();
    let told = session.tool("Read", json!({ "file_path": "n.ipynb" })).ok();
    assert!(told.contains("1 + 1") && told.contains("100%") && !told.contains("unsaved"), "{told}");
    editor.lock().type_in_cell(&uri, 1, "x = ");
    let told = session.tool("Read", json!({ "file_path": "n.ipynb" })).ok();
    assert!(told.contains("x = 1 + 1") && told.contains("[unsaved"), "{told}");
    assert!(!told.contains("100%"), "the output is of another text: {told}");
    let edit = json!({ "notebook_path": "n.ipynb", "cell_id": "sum", "new_source": "x = 2" });
    session.tool("NotebookEdit", edit).ok();
    assert_eq!(editor.lock().cell_texts(&uri), ["# Title\ntext", "x = 2"]);
}

#[test]
fn a_long_cell_is_read_in_parts_and_edited_after_the_last() {
    let long: String = (0..30_000).map(|at| format!("x = {at}\n")).collect();
    let cells = json!([
        { "cell_type": "code", "id": "big", "metadata": {}, "execution_count": null, "source": long, "outputs": [] },
        { "cell_type": "code", "id": "two", "metadata": {}, "execution_count": null, "source": "1", "outputs": [] },
    ]);
    let whole = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
    let whole = serde_json::to_string_pretty(&whole).unwrap();
    let files = [("n.ipynb", whole.as_str()), ("m.ipynb", &whole), ("a#b.ipynb", "no notebook")];
    let workspace = Workspace::new(&files);
    let part = |file: &str, part: usize| {
        Step::call("Read", json!({ "file_path": format!("{file}#big"), "offset": part }))
    };
    let edit = |file: &str| {
        let edit = json!({ "notebook_path": file, "cell_id": "big", "new_source": "x = 0" });
        Step::call("NotebookEdit", edit)
    };
    let mut steps: Vec<Step> = (1..=6).map(|at| part("n.ipynb", at)).collect();
    steps.extend([edit("n.ipynb"), part("m.ipynb", 6), edit("m.ipynb"), Step::text("done")]);
    let model = Model::new(steps);
    let editor = Editor::open(&workspace, &model.settings_with(&json!({ "mode": "edit" })));
    let session = editor.session();
    let told = |input: Value| session.tool("Read", input).ok();
    let first = told(json!({ "file_path": "n.ipynb" }));
    let next = "[part 1 of 6 of this cell; next file_path \"n.ipynb#big\", offset 2]\n";
    assert!(first.contains(next) && first.ends_with("[cells 1-2 of 2]"), "{}", first.len());
    let mut read = first[first.find("x = 0\n").unwrap()..first.find("\n[part").unwrap()].to_owned();
    for part in 2..=6 {
        let told = told(json!({ "file_path": "n.ipynb#big", "offset": part }));
        let start = told.find(") ---\n").unwrap() + ") ---\n".len();
        read.push_str(&told[start..told.find("\n[part").unwrap()]);
        let is_last = told.contains("[part 6 of 6 of this cell]\n[cells 1-1 of 2]");
        assert_eq!(is_last, part == 6, "{part}");
    }
    assert!(read == long, "{} of {}", read.len(), long.len());
    let last = told(json!({ "file_path": "n.ipynb#two", "offset": -1 }));
    assert!(last.contains("\n1\n[cells 2-2 of 2]"), "{last}");
    let input = |path: &str, offset: i64| json!({ "file_path": path, "offset": offset });
    refused(&editor, input("n.ipynb#two", 2), "The cell has 1 part; there is no part number 2");
    refused(&editor, input("n.ipynb#three", 1), "no cell \"three\". Its cells are big, two.");
    refused(&editor, input("o.ipynb#two", 1), "o.ipynb#two does not exist");
    assert!(told(json!({ "file_path": "a#b.ipynb" })).contains("no notebook"));
    assert_eq!(editor.session().prompt("shorten it"), "end_turn");
    assert!(!workspace.read("n.ipynb").contains("x = 1"), "{:?}", model.results());
    assert_eq!(workspace.read("m.ipynb"), whole);
}

#[test]
fn a_huge_log_is_read_from_both_ends_without_being_held() {
    let workspace = Workspace::new(&[]);
    let mut file = std::fs::File::create(workspace.path("huge.log")).unwrap();
    file.write_all(b"first\nsecond\n").unwrap();
    // Most of it takes no room on the disk, and is one long line.
    let line = vec![b'x'; 1 << 20];
    for _ in 0..64 {
        file.write_all(&line).unwrap();
    }
    file.write_all(b"\nlast but one\nlast\n").unwrap();
    drop(file);
    let editor = Editor::open(&workspace, &json!({}));
    let before = memory(&editor);
    let told = |input: Value| editor.tool("Read", input).ok();
    let head = told(json!({ "file_path": "huge.log", "limit": 2 }));
    assert!(head.contains("     1\tfirst\n     2\tsecond\n[lines 1-2 of 5"), "{head}");
    let tail = told(json!({ "file_path": "huge.log", "offset": -2 }));
    assert!(tail.contains("     4\tlast but one\n     5\tlast\n"), "{tail}");
    let middle = told(json!({ "file_path": "huge.log", "offset": 3, "limit": 1 }));
    assert!(middle.len() < 5_000 && middle.contains("lines cut at"), "{}", middle.len());
    let grown = memory(&editor).saturating_sub(before);
    assert!(grown < 32 << 20, "{grown} bytes more");
}

#[test]
fn what_is_no_file_is_refused_at_once() {
    let workspace = Workspace::new(&[("src/main.rs", "fn main() {}\n")]);
    rustix::fs::mknodat(
        rustix::fs::CWD,
        workspace.path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .unwrap();
    let editor = Start::new(&workspace).settings(&json!({ "mode": "auto" })).start();
    let began = Instant::now();
    refused(&editor, json!({ "file_path": "pipe" }), "named pipe");
    refused(&editor, json!({ "file_path": "/dev/zero" }), "device");
    refused(&editor, json!({ "file_path": "src" }), "Use LS to list it");
    refused(&editor, json!({ "file_path": "src/mian.rs" }), "did you mean");
    assert!(began.elapsed() < crate::workspace::PATIENCE, "nothing waited for a writer");
    workspace.write("a.bin", b"\x7fELF\0\0\0\0");
    refused(&editor, json!({ "file_path": "a.bin" }), "binary");
}

/// Bytes the server holds.
pub fn memory(editor: &Editor) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", editor.pid())).unwrap();
    let line = status.lines().find(|it| it.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1_024
}

#[test]
fn a_file_whose_name_is_no_text_is_read_as_it_is_shown() {
    let workspace = Workspace::new(&[("a.txt", "a\n")]);
    let odd = |bytes: &[u8]| workspace.root().join(OsStr::from_bytes(bytes));
    std::fs::write(odd(b"inv\xFFname.txt"), "one\n").unwrap();
    for name in [b"x\xFE", b"x\xFF"] {
        std::fs::write(odd(name), "").unwrap();
    }
    let editor = Editor::open(&workspace, &json!({ "mode": "edit" }));
    let found = editor.tool("Grep", json!({ "pattern": "one" })).ok();
    assert_eq!(found, "\"inv\u{FFFD}name.txt\"\n");
    let name = "inv\u{FFFD}name.txt";
    let shown = editor.tool("Read", json!({ "file_path": name })).ok();
    assert!(shown.contains("1\tone\n"), "{shown}");
    let edit = json!({ "file_path": name, "old_string": "one", "new_string": "two" });
    let told = editor.tool("Edit", edit).err();
    assert!(told.contains("can be read but not changed"), "{told}");
    assert_eq!(std::fs::read(odd(b"inv\xFFname.txt")).unwrap(), b"one\n");
    assert!(!workspace.path(name).exists());
    refused(
        &editor,
        json!({ "file_path": "x\u{FFFD}" }),
        "x\u{FFFD} does not exist: 2 files are shown as it is",
    );
    refused(&editor, json!({ "file_path": "inv\u{FFFD}name.tx" }), "did you mean");
    let rules = json!({ "mode": "edit", "permissions": { "deny": ["Read(/x*)"] } });
    let editor = Editor::open(&workspace, &rules);
    refused(&editor, json!({ "file_path": "x\u{FFFD}" }), "denied by the rule");
}

#[test]
fn an_open_file_that_is_gone_from_the_disk_is_told_so() {
    let workspace = Workspace::new(&[("a.txt", "a\n")]);
    let editor = Editor::open(&workspace, &json!({}));
    editor.open_file("a.txt");
    let read = || editor.tool("Read", json!({ "file_path": "a.txt", "pages": "" })).ok();
    assert_eq!(read(), "     1\ta\n[lines 1-1 of 1]");
    std::fs::remove_file(workspace.path("a.txt")).unwrap();
    assert_eq!(
        read(),
        "     1\ta\n[lines 1-1 of 1] [the file is no longer on the disk: this is the editor's buffer]"
    );
    let listed = editor.tool("LS", json!({})).ok();
    assert!(listed.ends_with("  a.txt (2 B) [unsaved]\n"), "{listed}");
}

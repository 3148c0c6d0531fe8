use serde_json::{Value, json};
use text::{LineBreaks, Unit};
use vfs::{Dirty, Location, Options};

use super::*;

struct Desk(Documents);

impl Desk {
    fn new() -> Desk {
        let options = Options { unit: Unit::Utf16, breaks: LineBreaks::Lsp, state_dir: None };
        Desk(Documents {
            vfs: Vfs::new(options),
            uris: Arc::default(),
            review: OnceLock::new(),
            notebooks: OnceLock::new(),
        })
    }

    fn send(&self, handle: fn(&Documents, &RawValue) -> Handled, params: &Value) -> Handled {
        handle(&self.0, &serde_json::value::to_raw_value(params).unwrap())
    }

    fn open(&self, uri: &str, version: Value, text: &str) {
        let document = json!({"uri": uri, "languageId": "x", "version": version, "text": text});
        self.send(Documents::did_open, &json!({"textDocument": document})).unwrap();
    }

    fn change(&self, uri: &str, version: Value, changes: Value) {
        let document = json!({"uri": uri, "version": version});
        let params = json!({"textDocument": document, "contentChanges": changes});
        self.send(Documents::did_change, &params).unwrap();
    }

    fn text(&self, uri: &str) -> Option<String> {
        let location: Location = lsp::location(uri);
        self.0.vfs.open_snapshot(&location).map(|open| open.rope.to_string())
    }
}

fn insert(line: u32, character: u32, text: &str) -> Value {
    let at = json!({"line": line, "character": character});
    json!({"range": {"start": at, "end": at}, "text": text})
}

const FILE: &str = "file:///nowhere/%c3%a9%20a.txt";

#[test]
fn a_document_from_opening_to_closing() {
    let desk = Desk::new();
    desk.open(FILE, json!(0), "a\"\u{1F980}b\n");
    desk.change(FILE, json!(1), json!([insert(0, 4, "x"), insert(1, 0, "y\n")]));
    // Another spelling of the same path is the same document.
    desk.change("file:///nowhere/%C3%A9 a.txt", json!(2), json!([insert(0, 0, "z")]));
    assert_eq!(desk.text(FILE).unwrap(), "za\"\u{1F980}xb\ny\n");
    let location = lsp::location(FILE);
    assert_eq!(desk.0.uris.of(&location), FILE);
    assert_eq!(desk.0.vfs.document(&location).unwrap().version, 2);
    desk.change(FILE, json!(3), json!([{"text": "whole"}]));
    assert_eq!(desk.text(FILE).unwrap(), "whole");
    desk.send(Documents::did_save, &json!({"textDocument": {"uri": FILE}})).unwrap();
    assert_eq!(desk.0.vfs.document(&location).unwrap().dirty, Dirty::Clean);
    desk.send(Documents::did_close, &json!({"textDocument": {"uri": FILE}})).unwrap();
    assert_eq!(desk.text(FILE), None);
    // Neovim reopens at version 0.
    desk.open(FILE, json!(0), "again");
    desk.change(FILE, json!(0), json!([insert(0, 0, "and ")]));
    assert_eq!(desk.text(FILE).unwrap(), "and again");
}

#[test]
fn sloppy_clients_lose_nothing() {
    let desk = Desk::new();
    desk.open("untitled:Untitled-1", Value::Null, "a");
    desk.change("untitled:Untitled-1", Value::Null, json!([insert(99, 99, "b")]));
    assert_eq!(desk.text("untitled:Untitled-1").unwrap(), "ab");
    desk.change("file:///never/opened", json!(4), json!([insert(0, 0, "x")]));
    assert_eq!(desk.text("file:///never/opened"), None);
    desk.change("file:///never/opened", json!(5), json!([{"text": "whole"}]));
    assert_eq!(desk.text("file:///never/opened").unwrap(), "whole");
    assert!(desk.send(Documents::did_change, &json!({"textDocument": 7})).is_err());
    assert!(desk.send(Documents::did_open, &Value::Null).is_err());
}

#[test]
fn notebook_cells_are_documents() {
    let desk = Desk::new();
    let cell = |id: &str| format!("vscode-notebook-cell:/n.ipynb#{id}");
    let item = |id: &str, text: &str| json!({"uri": cell(id), "languageId": "python", "version": 1, "text": text});
    let notebook = json!({"uri": "file:///n.ipynb", "version": 1});
    let open = json!({"notebookDocument": notebook, "cellTextDocuments": [item("a", "1"), item("b", "2")]});
    desk.send(Documents::notebook_did_open, &open).unwrap();
    let structure = json!({"array": {"start": 1, "deleteCount": 1}, "didOpen": [item("c", "3")], "didClose": [{"uri": cell("b")}]});
    let content =
        json!([{"document": {"uri": cell("a"), "version": 2}, "changes": [insert(0, 1, "0")]}]);
    let change = json!({"cells": {"structure": structure, "textContent": content}, "metadata": {}});
    desk.send(
        Documents::notebook_did_change,
        &json!({"notebookDocument": notebook, "change": change}),
    )
    .unwrap();
    desk.send(Documents::notebook_did_change, &json!({"notebookDocument": notebook, "change": {}}))
        .unwrap();
    let texts = |id: &str| desk.text(&cell(id));
    assert_eq!((texts("a"), texts("b"), texts("c")), (Some("10".into()), None, Some("3".into())));
    let close = json!({"notebookDocument": notebook, "cellTextDocuments": [{"uri": cell("a")}]});
    desk.send(Documents::notebook_did_close, &close).unwrap();
    assert_eq!(desk.text(&cell("a")), None);
}

#[test]
fn the_editors_account_holds_for_its_version() {
    let desk = Desk::new();
    desk.open(FILE, json!(1), "a\r\n");
    let state = |version: i32, dirty: bool| {
        let document = json!({"uri": FILE, "version": version, "dirty": dirty, "encoding": "iso-8859-1", "eol": "crlf", "readOnly": true});
        desk.0.take_editor_state(serde_json::from_value(json!({"documents": [document]})).unwrap());
        desk.0.vfs.document(&lsp::location(FILE)).unwrap()
    };
    let clean = state(1, false);
    assert_eq!((clean.dirty, clean.format.eol, clean.read_only), (Dirty::Clean, Eol::Crlf, true));
    assert_eq!(clean.format.encoding.label(), "windows-1252");
    desk.change(FILE, json!(2), json!([insert(0, 0, "x")]));
    assert_eq!(state(1, false).dirty, Dirty::Person);
}

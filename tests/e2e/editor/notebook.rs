//! A notebook that the fake editor shows as cells, told of as LSP's notebook documents are.

use serde_json::{Value, json};

use super::State;
use super::document::Document;

/// One open notebook.
pub struct Notebook {
    pub version: i64,
    pub cells: Vec<Cell>,
    /// Refuses every edit.
    pub stubborn: bool,
    made: usize,
}

#[derive(Clone, Debug)]
pub struct Cell {
    pub uri: String,
    pub kind: u64,
    pub metadata: Value,
    /// Outputs and the like, which no edit keeps.
    pub ran: bool,
}

const MARKDOWN: u64 = 1;
const CODE: u64 = 2;

impl State {
    /// Opens a notebook: id, kind and text of each cell.
    pub fn open_notebook(&mut self, uri: &str, cells: &[(&str, &str, &str)]) {
        let mut notebook = Notebook { version: 1, cells: Vec::new(), stubborn: false, made: 0 };
        let mut documents = Vec::new();
        for (id, kind, text) in cells {
            let cell = notebook.cell(uri, kind, json!({ "id": id }));
            documents.push(self.cell_document(&cell, text));
            notebook.cells.push(Cell { ran: true, ..cell });
        }
        let wire: Vec<Value> = notebook.cells.iter().map(Cell::wire).collect();
        self.notify(
            "notebookDocument/didOpen",
            json!({
                "notebookDocument": { "uri": uri, "notebookType": "jupyter-notebook", "version": 1, "cells": wire },
                "cellTextDocuments": documents,
            }),
        );
        self.notebooks.insert(uri.to_owned(), notebook);
    }

    /// The person types at the start of a cell.
    pub fn type_in_cell(&mut self, uri: &str, at: usize, text: &str) {
        let cell = self.notebooks[uri].cells[at].uri.clone();
        let zero = json!({ "line": 0, "character": 0 });
        self.edit_cell_text(
            uri,
            &cell,
            &[json!({ "range": { "start": zero, "end": zero }, "newText": text })],
        );
    }

    /// The person puts a cell before another.
    pub fn add_cell(&mut self, uri: &str, at: usize, text: &str) {
        self.splice(uri, at, 0, &[json!({ "kind": "code", "text": text })]);
    }

    /// The person undoes the deletion of a cell: it is there again under its own name.
    pub fn bring_cell_back(&mut self, uri: &str, at: usize, cell: Cell, text: &str) {
        let opened = vec![self.cell_document(&cell, text)];
        self.tell_splice(uri, (at, 0), vec![cell], opened);
    }

    /// Texts of the cells, in order.
    pub fn cell_texts(&self, uri: &str) -> Vec<String> {
        let cells = &self.notebooks[uri].cells;
        cells.iter().map(|it| self.documents[&it.uri].text.clone()).collect()
    }

    pub fn close_notebook(&mut self, uri: &str) {
        let notebook = self.notebooks.remove(uri).expect("an open notebook");
        let cells: Vec<Value> = notebook.cells.iter().map(|it| json!({ "uri": it.uri })).collect();
        for cell in &notebook.cells {
            self.documents.remove(&cell.uri);
        }
        let params = json!({ "notebookDocument": { "uri": uri }, "cellTextDocuments": cells });
        self.notify("notebookDocument/didClose", params);
    }

    /// `copydesk/editor/notebookEdit`.
    pub(super) fn edit_notebook(&mut self, params: &Value) -> Value {
        let uri = params["uri"].as_str().expect("a URI").to_owned();
        let refused = |why: &str| json!({ "applied": false, "failureReason": why });
        let Some(notebook) = self.notebooks.get(&uri) else { return refused("it is not open") };
        if notebook.stubborn {
            return refused("this notebook is read-only");
        }
        if params["version"] != notebook.version {
            return refused("the notebook has changed");
        }
        for edit in params["edits"].as_array().expect("edits") {
            let start = edit["start"].as_u64().expect("a start") as usize;
            let gone = edit["deleteCount"].as_u64().expect("a count") as usize;
            self.splice(&uri, start, gone, edit["cells"].as_array().expect("cells"));
        }
        json!({ "applied": true })
    }

    /// Text edits of a cell by `workspace/applyEdit` or by the person.
    pub(super) fn edit_cell_text(&mut self, uri: &str, cell: &str, edits: &[Value]) {
        let change = self.change(cell, edits);
        let notebook = self.notebooks.get_mut(uri).expect("an open notebook");
        // As VS Code does: the new version is told afterwards, with the editor's state.
        let named = json!({ "uri": uri, "version": notebook.version });
        notebook.version += 1;
        let content =
            json!([{ "document": change["textDocument"], "changes": change["contentChanges"] }]);
        self.notify(
            "notebookDocument/didChange",
            json!({ "notebookDocument": named, "change": { "cells": { "textContent": content } } }),
        );
        self.tell_state();
    }

    /// The notebook of a cell.
    pub(super) fn notebook_of(&self, cell: &str) -> Option<String> {
        let mut all = self.notebooks.iter();
        all.find(|(_, it)| it.cells.iter().any(|it| it.uri == cell)).map(|(uri, _)| uri.clone())
    }

    fn splice(&mut self, uri: &str, start: usize, gone: usize, cells: &[Value]) {
        let mut notebook = self.notebooks.remove(uri).expect("an open notebook");
        let keeps = gone == cells.len();
        let mut came = Vec::new();
        let mut opened = Vec::new();
        for (nth, cell) in cells.iter().enumerate() {
            let metadata = match keeps {
                true => notebook.cells[start + nth].metadata.clone(),
                false => json!({}),
            };
            let kind = cell["kind"].as_str().expect("a kind");
            let new = notebook.cell(uri, kind, metadata);
            opened.push(self.cell_document(&new, cell["text"].as_str().expect("a text")));
            came.push(new);
        }
        self.notebooks.insert(uri.to_owned(), notebook);
        self.tell_splice(uri, (start, gone), came, opened);
    }

    fn tell_splice(
        &mut self,
        uri: &str,
        (start, gone): (usize, usize),
        came: Vec<Cell>,
        opened: Vec<Value>,
    ) {
        let mut notebook = self.notebooks.remove(uri).expect("an open notebook");
        let wire: Vec<Value> = came.iter().map(Cell::wire).collect();
        let went: Vec<Cell> = notebook.cells.splice(start..start + gone, came).collect();
        for cell in &went {
            self.documents.remove(&cell.uri);
        }
        notebook.version += 1;
        let closed: Vec<Value> = went.iter().map(|it| json!({ "uri": it.uri })).collect();
        let structure = json!({
            "array": { "start": start, "deleteCount": gone, "cells": wire },
            "didOpen": opened, "didClose": closed,
        });
        let named = json!({ "uri": uri, "version": notebook.version });
        self.notebooks.insert(uri.to_owned(), notebook);
        self.notify(
            "notebookDocument/didChange",
            json!({ "notebookDocument": named, "change": { "cells": { "structure": structure } } }),
        );
    }

    fn cell_document(&mut self, cell: &Cell, text: &str) -> Value {
        self.documents.insert(cell.uri.clone(), Document::new(text, 1));
        let language = if cell.kind == CODE { "python" } else { "markdown" };
        json!({ "uri": cell.uri, "languageId": language, "version": 1, "text": text })
    }
}

impl Notebook {
    fn cell(&mut self, uri: &str, kind: &str, metadata: Value) -> Cell {
        self.made += 1;
        let uri = uri.replacen("file:", "vscode-notebook-cell:", 1);
        let kind = if kind == "code" { CODE } else { MARKDOWN };
        Cell { uri: format!("{uri}#W{}", self.made), kind, metadata, ran: false }
    }
}

impl Cell {
    fn wire(&self) -> Value {
        json!({ "kind": self.kind, "document": self.uri, "metadata": self.metadata })
    }
}

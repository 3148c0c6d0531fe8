//! Document notifications, typed straight from their bytes.
//!
//! Invariant: each has reached the document store when its handler returns. The text is taken even
//! where the client's bookkeeping makes no sense: it is what the person sees.

use std::borrow::Cow;
use std::sync::{Arc, OnceLock};

use protocol::{DocumentState, EditorStateParams, Position, Range};
use serde::Deserialize;
use serde_json::value::RawValue;
use vfs::{EditorState, Eol, TextChange, Vfs};

use super::Backend;
use crate::lsp::{self, Uris};
use crate::notebooks::{self, Changes, Notebooks};
use crate::review::Review;
use crate::transport::Direct;

/// The notifications that skip the router. Before `initialize` none of them means anything.
pub const DIRECT: &[Direct<Backend>] = &[
    ("textDocument/didOpen", |backend, raw| backend.sync(raw, Documents::did_open)),
    ("textDocument/didChange", |backend, raw| backend.sync(raw, Documents::did_change)),
    ("textDocument/didSave", |backend, raw| backend.sync(raw, Documents::did_save)),
    ("textDocument/didClose", |backend, raw| backend.sync(raw, Documents::did_close)),
    ("notebookDocument/didOpen", |backend, raw| backend.sync(raw, Documents::notebook_did_open)),
    ("notebookDocument/didChange", |backend, raw| {
        backend.sync(raw, Documents::notebook_did_change)
    }),
    ("notebookDocument/didSave", |backend, raw| backend.sync(raw, Documents::notebook_did_save)),
    ("notebookDocument/didClose", |backend, raw| backend.sync(raw, Documents::notebook_did_close)),
];

type Handled = serde_json::Result<()>;

/// The editor's documents, in the store and by the names it gives them.
pub struct Documents {
    /// Their text.
    pub vfs: Vfs,
    /// Their names.
    pub uris: Arc<Uris>,
    /// What is pending in them, once there is a client.
    pub review: OnceLock<Review>,
    /// Which of them are cells of one notebook, once there is a client.
    pub notebooks: OnceLock<Notebooks>,
}

impl Backend {
    fn sync(&self, raw: &RawValue, handle: fn(&Documents, &RawValue) -> Handled) -> Handled {
        if self.ready.get().is_some() { handle(&self.documents, raw) } else { Ok(()) }
    }
}

impl Documents {
    fn did_open(&self, raw: &RawValue) -> Handled {
        let params: DidOpen<'_> = serde_json::from_str(raw.get())?;
        self.opened(&params.text_document);
        Ok(())
    }

    fn did_change(&self, raw: &RawValue) -> Handled {
        let params: DidChange<'_> = serde_json::from_str(raw.get())?;
        self.changed(&params.text_document, params.content_changes);
        Ok(())
    }

    fn did_save(&self, raw: &RawValue) -> Handled {
        let params: DidSave<'_> = serde_json::from_str(raw.get())?;
        let location = lsp::location(&params.text_document.uri);
        self.vfs.saved(&location, params.text.as_deref());
        Ok(())
    }

    fn did_close(&self, raw: &RawValue) -> Handled {
        let params: DidClose<'_> = serde_json::from_str(raw.get())?;
        self.closed(&params.text_document);
        Ok(())
    }

    fn notebook_did_open(&self, raw: &RawValue) -> Handled {
        let params: NotebookOpen<'_> = serde_json::from_str(raw.get())?;
        params.cell_text_documents.iter().for_each(|cell| self.opened(cell));
        self.with_notebooks(|it| it.opened(params.notebook_document));
        Ok(())
    }

    fn notebook_did_save(&self, raw: &RawValue) -> Handled {
        let params: NotebookSave = serde_json::from_str(raw.get())?;
        self.with_notebooks(|it| it.saved(&params.notebook_document));
        Ok(())
    }

    fn notebook_did_change(&self, raw: &RawValue) -> Handled {
        let params: NotebookChange<'_> = serde_json::from_str(raw.get())?;
        let cells = params.change.cells.unwrap_or_default();
        let structure = cells.structure.unwrap_or_default();
        structure.did_close.iter().for_each(|cell| self.closed(cell));
        structure.did_open.iter().for_each(|cell| self.opened(cell));
        let text = !cells.text_content.is_empty();
        for cell in cells.text_content {
            self.changed(&cell.document, cell.changes);
        }
        let changes = Changes { splice: structure.array, data: cells.data, text };
        self.with_notebooks(|it| it.changed(&params.notebook_document, changes));
        Ok(())
    }

    fn notebook_did_close(&self, raw: &RawValue) -> Handled {
        let params: NotebookClose<'_> = serde_json::from_str(raw.get())?;
        self.with_notebooks(|it| it.closed(&params.notebook_document));
        params.cell_text_documents.iter().for_each(|cell| self.closed(cell));
        Ok(())
    }

    /// What the editor says of its documents beyond their text.
    pub fn take_editor_state(&self, state: EditorStateParams) {
        for document in state.documents {
            let location = lsp::location(&document.uri);
            self.with_notebooks(|it| it.told(&location, &document));
            self.vfs.set_editor_state(&location, editor_state(document));
        }
    }

    fn opened(&self, document: &TextDocument<'_>) {
        let location = self.uris.opened(&document.uri);
        let version = document.version.unwrap_or_default();
        self.vfs.open(location.clone(), &document.language_id, version, &document.text);
        self.touched(&location);
    }

    fn changed(&self, document: &Versioned<'_>, changes: Vec<ContentChange>) {
        let changes = changes.into_iter().map(TextChange::from).collect();
        let location = lsp::location(&document.uri);
        let version = document.version.unwrap_or_default();
        if let Err(error) = self.vfs.change(&location, version, changes) {
            tracing::warn!(%error, "the editor's document versions are out of order");
        }
        self.touched(&location);
    }

    fn closed(&self, document: &Identified<'_>) {
        let location = lsp::location(&document.uri);
        self.vfs.close(&location);
        self.uris.closed(&location);
        self.touched(&location);
    }

    fn with_notebooks(&self, tell: impl FnOnce(&Notebooks)) {
        if let Some(notebooks) = self.notebooks.get() {
            tell(notebooks);
        }
    }

    fn touched(&self, location: &vfs::Location) {
        if let Some(review) = self.review.get() {
            review.touch(location);
        }
    }
}

fn editor_state(document: DocumentState) -> EditorState {
    let eol = match document.eol.as_deref() {
        Some("crlf") => Eol::Crlf,
        Some("cr") => Eol::Cr,
        Some("mixed") => Eol::Mixed,
        Some(_) | None => Eol::Lf,
    };
    EditorState {
        version: document.version,
        dirty: document.dirty,
        encoding: document.encoding.unwrap_or_default(),
        bom: document.bom,
        eol,
        final_newline: document.final_newline,
        read_only: document.read_only,
    }
}

impl From<ContentChange> for TextChange {
    fn from(change: ContentChange) -> TextChange {
        let position = |at: Position| text::Position { line: at.line, character: at.character };
        let range = change.range.map(|range| (position(range.start), position(range.end)));
        TextChange { range, text: change.text }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DidOpen<'a> {
    #[serde(borrow)]
    text_document: TextDocument<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextDocument<'a> {
    #[serde(borrow)]
    uri: Cow<'a, str>,
    #[serde(borrow, default)]
    language_id: Cow<'a, str>,
    #[serde(default)]
    version: Option<i32>,
    #[serde(borrow)]
    text: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DidChange<'a> {
    #[serde(borrow)]
    text_document: Versioned<'a>,
    content_changes: Vec<ContentChange>,
}

#[derive(Deserialize)]
struct Versioned<'a> {
    #[serde(borrow)]
    uri: Cow<'a, str>,
    #[serde(default)]
    version: Option<i32>,
}

#[derive(Deserialize)]
struct ContentChange {
    #[serde(default)]
    range: Option<Range>,
    text: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DidSave<'a> {
    #[serde(borrow)]
    text_document: Identified<'a>,
    #[serde(borrow, default)]
    text: Option<Cow<'a, str>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct DidClose<'a> {
    #[serde(borrow)]
    text_document: Identified<'a>,
}

#[derive(Deserialize)]
struct Identified<'a> {
    #[serde(borrow)]
    uri: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NotebookOpen<'a> {
    notebook_document: notebooks::Opened,
    #[serde(borrow)]
    cell_text_documents: Vec<TextDocument<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NotebookSave {
    notebook_document: notebooks::Versioned,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NotebookChange<'a> {
    notebook_document: notebooks::Versioned,
    #[serde(borrow)]
    change: CellsChange<'a>,
}

#[derive(Deserialize)]
struct CellsChange<'a> {
    #[serde(borrow, default)]
    cells: Option<Cells<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Cells<'a> {
    #[serde(borrow)]
    structure: Option<Structure<'a>>,
    data: Vec<notebooks::WireCell>,
    #[serde(borrow)]
    text_content: Vec<CellText<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Structure<'a> {
    array: Option<notebooks::Splice>,
    #[serde(borrow)]
    did_open: Vec<TextDocument<'a>>,
    #[serde(borrow)]
    did_close: Vec<Identified<'a>>,
}

#[derive(Deserialize)]
struct CellText<'a> {
    #[serde(borrow)]
    document: Versioned<'a>,
    changes: Vec<ContentChange>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct NotebookClose<'a> {
    notebook_document: notebooks::Versioned,
    #[serde(borrow)]
    cell_text_documents: Vec<Identified<'a>>,
}

#[cfg(test)]
mod tests;

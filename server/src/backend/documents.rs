//! Document notifications, typed straight from their bytes.
//!
//! Invariant: each has reached the document store when its handler returns. The text is taken even
//! where the client's bookkeeping makes no sense: it is what the person sees.

use std::borrow::Cow;

use protocol::{DocumentState, EditorStateParams, Position, Range};
use serde::Deserialize;
use vfs::{EditorState, Eol, TextChange};

use super::Backend;
use crate::lsp;
use crate::transport::Direct;

/// The notifications that skip the router.
pub const DIRECT: &[Direct<Backend>] = &[
    ("textDocument/didOpen", |backend, raw| {
        let params: DidOpen<'_> = serde_json::from_str(raw.get())?;
        backend.opened(&params.text_document);
        Ok(())
    }),
    ("textDocument/didChange", |backend, raw| {
        let params: DidChange<'_> = serde_json::from_str(raw.get())?;
        backend.changed(&params.text_document, params.content_changes);
        Ok(())
    }),
    ("textDocument/didSave", |backend, raw| {
        let params: DidSave<'_> = serde_json::from_str(raw.get())?;
        let location = lsp::location(&params.text_document.uri);
        backend.vfs.saved(&location, params.text.as_deref());
        Ok(())
    }),
    ("textDocument/didClose", |backend, raw| {
        let params: DidClose<'_> = serde_json::from_str(raw.get())?;
        backend.closed(&params.text_document);
        Ok(())
    }),
    ("notebookDocument/didOpen", |backend, raw| {
        let params: NotebookOpen<'_> = serde_json::from_str(raw.get())?;
        params.cell_text_documents.iter().for_each(|cell| backend.opened(cell));
        Ok(())
    }),
    ("notebookDocument/didChange", |backend, raw| {
        let params: NotebookChange<'_> = serde_json::from_str(raw.get())?;
        let cells = params.change.cells.unwrap_or_default();
        let structure = cells.structure.unwrap_or_default();
        structure.did_close.iter().for_each(|cell| backend.closed(cell));
        structure.did_open.iter().for_each(|cell| backend.opened(cell));
        for cell in cells.text_content {
            backend.changed(&cell.document, cell.changes);
        }
        Ok(())
    }),
    ("notebookDocument/didSave", |_, _| Ok(())),
    ("notebookDocument/didClose", |backend, raw| {
        let params: NotebookClose<'_> = serde_json::from_str(raw.get())?;
        params.cell_text_documents.iter().for_each(|cell| backend.closed(cell));
        Ok(())
    }),
];

impl Backend {
    fn opened(&self, document: &TextDocument<'_>) {
        if self.ready.get().is_some() {
            let location = self.uris.opened(&document.uri);
            let version = document.version.unwrap_or_default();
            self.vfs.open(location, &document.language_id, version, &document.text);
        }
    }

    fn changed(&self, document: &Versioned<'_>, changes: Vec<ContentChange>) {
        if self.ready.get().is_none() {
            return;
        }
        let changes = changes.into_iter().map(TextChange::from).collect();
        let location = lsp::location(&document.uri);
        let version = document.version.unwrap_or_default();
        if let Err(error) = self.vfs.change(&location, version, changes) {
            tracing::warn!(%error, "the editor's document versions are out of order");
        }
    }

    fn closed(&self, document: &Identified<'_>) {
        let location = lsp::location(&document.uri);
        self.vfs.close(&location);
        self.uris.closed(&location);
    }

    /// What the editor says of its documents beyond their text.
    pub(super) fn take_editor_state(&self, state: EditorStateParams) {
        for document in state.documents {
            self.vfs.set_editor_state(&lsp::location(&document.uri), editor_state(document));
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
    #[serde(borrow)]
    cell_text_documents: Vec<TextDocument<'a>>,
}

#[derive(Deserialize)]
struct NotebookChange<'a> {
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
    #[serde(borrow)]
    text_content: Vec<CellText<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Structure<'a> {
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
    #[serde(borrow)]
    cell_text_documents: Vec<Identified<'a>>,
}

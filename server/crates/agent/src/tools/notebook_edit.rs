//! `NotebookEdit`: replaces, inserts or deletes one cell of a notebook.
//!
//! Invariant: the notebook's text is edited where the cell stands; every other byte stays as it is.

pub mod cells;
mod json;
pub mod open;

use async_trait::async_trait;
use protocol::acp::{ToolCallContent, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use text::{ChangeSet, Edit};
use vfs::Location;

use crate::editor::OpenNotebook;
use crate::place::Place;
use crate::tool::{Access, Caller, Card, Content, Cx, Failure, Output, Tool};
use crate::tools::change::{Plan, base, refuse_nul, seen};
use cells::{Kind, Notebook};

/// The names of cells of notebooks that an editor shows as such begin so.
const CELL_SCHEME: &str = "vscode-notebook-cell:";

/// Replaces, inserts or deletes one cell of a Jupyter notebook (.ipynb); everything else in the file
/// keeps its bytes. Replacing a code cell clears its outputs and execution count. The cell must have
/// been read before. Cells are named by their id, or `cell-N` (from 0) where they have none.
#[derive(Deserialize, JsonSchema)]
pub struct NotebookEdit {
    /// The notebook: absolute, relative to the working directory, or `~/…`.
    notebook_path: String,
    /// The cell to replace or delete, or the one to insert after; without it, a cell is inserted at
    /// the start.
    #[serde(default)]
    cell_id: Option<String>,
    /// The cell's new text; not needed to delete it.
    #[serde(default)]
    new_source: Option<String>,
    /// The kind of cell: needed to insert one; otherwise it stays what it is.
    #[serde(default)]
    cell_type: Option<CellType>,
    /// What to do.
    #[serde(default)]
    edit_mode: EditMode,
}

/// A kind of cell.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum CellType {
    /// Code that is run.
    Code,
    /// Text.
    Markdown,
}

/// What is done to the cell.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum EditMode {
    /// The cell gets the new text.
    #[default]
    Replace,
    /// A new cell comes after it.
    Insert,
    /// It goes.
    Delete,
}

#[async_trait]
impl Tool for NotebookEdit {
    const NAME: &'static str = "NotebookEdit";
    const ALIASES: &'static [&'static str] = &["notebook_edit"];
    const FIELDS: &'static [(&'static str, &'static str)] = &[
        ("file_path", "notebook_path"),
        ("path", "notebook_path"),
        ("notebookPath", "notebook_path"),
        ("cellId", "cell_id"),
        ("newSource", "new_source"),
        ("cellType", "cell_type"),
        ("editMode", "edit_mode"),
    ];

    fn kind() -> ToolKind {
        ToolKind::Edit
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        let target = place.file(&self.notebook_path)?;
        if let Some(source) = &self.new_source {
            refuse_nul(&place.shown(&target.location), source)?;
        }
        Ok(Access::write(vec![target]))
    }

    fn card(&self, place: &Place) -> Card {
        match place.target(&self.notebook_path) {
            Ok(target) => {
                Card::at(format!("Edit {}", place.shown(&target.location)), target.location)
            }
            Err(_) => Card::new(format!("Edit {}", self.notebook_path)),
        }
    }

    async fn preview(&self, cx: &Cx) -> Result<Vec<ToolCallContent>, Failure> {
        if let Some((location, open)) = self.shown_as_cells(cx)? {
            return Ok(vec![self.plan_open(cx, &location, &open)?.diff(&location)]);
        }
        Ok(vec![self.plan(cx)?.0.diff()])
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        if let Some((location, open)) = self.shown_as_cells(cx)? {
            return self.plan_open(cx, &location, &open)?.apply(cx, location).await;
        }
        let (plan, told) = self.plan(cx)?;
        let mut output = plan.apply(cx, "Edit").await?;
        output.content.insert(0, Content::Text(format!("{told}\n")));
        Ok(output)
    }
}

impl NotebookEdit {
    /// The notebook, where the editor shows its cells and can change them there.
    fn shown_as_cells(&self, cx: &Cx) -> Result<Option<(Location, OpenNotebook)>, Failure> {
        let location = cx.place.target(&self.notebook_path)?.location;
        if !is_notebook(&self.notebook_path) {
            return Err(Failure::new(format!(
                "{} is no notebook (.ipynb). Use {} for other files.",
                cx.place.shown(&location),
                cx.dialect.called("Edit")
            )));
        }
        if cx.vfs.is_open(&location) {
            return Ok(None);
        }
        let open = notebook_at(cx, &location).filter(|(_, open)| open.can_edit);
        Ok(open)
    }

    /// The change of the file and a sentence on it.
    fn plan(&self, cx: &Cx) -> Result<(Plan, String), Failure> {
        let location = cx.place.target(&self.notebook_path)?.location;
        let shown = cx.place.shown(&location);
        let is_shown = !cx.vfs.is_open(&location) && open_as_cells(cx, &location);
        if is_shown && !is_saved(cx, &location) {
            return Err(Failure::new(format!(
                "{shown} is open in the editor as a notebook with unsaved changes, and this editor lets \
                 nobody else change its cells. Ask the person to save it, then edit again."
            )));
        }
        let base = base(cx, &location)?;
        let text = base.rope.to_string();
        let told = |err: String| Failure::new(format!("{shown}: {err}. Nothing was changed."));
        let notebook = Notebook::read(&text).map_err(told)?;
        let change = self.change(&notebook).map_err(told)?;
        if cx.caller == Caller::Model {
            if !cx.session.seen.knows(&base.location) {
                // Its lines would not show the cells.
                seen(cx, &base, 0..0, "Read the notebook first.")?;
            }
            seen(cx, &base, change.seen.clone(), "Read the notebook first.")?;
        }
        let differs = |it: &Edit| text.get(it.range.clone()) != Some(it.text.as_str());
        let edits = change.edits.into_iter().filter(differs).collect();
        let edits = ChangeSet::new(text.len(), edits);
        let edits = edits.map_err(|err| told(format!("the change does not fit ({err})")))?;
        if edits.is_identity() {
            return Err(told("the cell already has this text".into()));
        }
        Ok((Plan::edit(base, edits), change.told))
    }

    fn change(&self, notebook: &Notebook<'_>) -> Result<cells::Change, String> {
        let kind = self.cell_type.map(|it| match it {
            CellType::Code => Kind::Code,
            CellType::Markdown => Kind::Markdown,
        });
        let cell = self.cell_id.as_deref().map(|id| notebook.find(id)).transpose()?;
        let source = self.new_source.as_deref().ok_or("new_source is required".to_string());
        match self.edit_mode {
            EditMode::Replace => {
                let cell = cell.ok_or("cell_id is required to replace a cell")?;
                notebook.replace(cell, source?, kind)
            }
            EditMode::Insert => {
                let kind = kind.ok_or("cell_type is required to insert a cell")?;
                Ok(notebook.insert(cell, source?, kind))
            }
            EditMode::Delete => {
                Ok(notebook.delete(cell.ok_or("cell_id is required to delete a cell")?))
            }
        }
    }
}

/// The refusal of other tools to edit a notebook's text, where there is a better way or none that is
/// safe.
pub fn refuse_notebook(cx: &Cx, path: &str) -> Result<(), Failure> {
    if !is_notebook(path) {
        return Ok(());
    }
    if cx.dialect.offers("NotebookEdit") {
        let tool = cx.dialect.called("NotebookEdit");
        return Err(Failure::new(format!("{path} is a notebook. Use {tool} for its cells.")));
    }
    let location = cx.place.target(path)?.location;
    if !cx.vfs.is_open(&location) && open_as_cells(cx, &location) {
        return Err(Failure::new(format!(
            "{path} is open in the editor as a notebook, so its text is not edited past it. Ask the person \
             to close it, then edit again."
        )));
    }
    Ok(())
}

/// Whether a path is a notebook's.
pub fn is_notebook(path: &str) -> bool {
    path.to_ascii_lowercase().ends_with(".ipynb")
}

/// The notebook of this path, or of what it leads to, as the editor shows it.
pub fn notebook_at(cx: &Cx, location: &Location) -> Option<(Location, OpenNotebook)> {
    let real = location.path().map(|path| Location::disk(cx.vfs.real_path(path)));
    let names = std::iter::once(location.clone()).chain(real);
    names.into_iter().find_map(|it| cx.editor.notebook(&it).map(|open| (it, open)))
}

/// Whether the cells that the editor shows are those of the file.
fn is_saved(cx: &Cx, location: &Location) -> bool {
    let Some((_, open)) = notebook_at(cx, location) else { return false };
    let file = cx.vfs.snapshot(location);
    file.is_ok_and(|file| open::is_saved(cx, &open, &file.rope.to_string()))
}

/// Whether the editor has cells of this notebook open.
fn open_as_cells(cx: &Cx, location: &Location) -> bool {
    let Some(path) = location.path() else { return false };
    let real = cx.vfs.real_path(path);
    cx.vfs.open_documents().iter().any(|it| match &it.location {
        Location::Virtual(uri) => cell_path(uri).is_some_and(|it| {
            let it = std::path::Path::new(&it);
            it == path || cx.vfs.real_path(it) == real
        }),
        Location::Disk(_) => false,
    })
}

/// The notebook's path in a cell's name.
fn cell_path(uri: &str) -> Option<String> {
    let rest = uri.strip_prefix(CELL_SCHEME)?;
    let rest = rest.split(['#', '?']).next()?;
    let path = match rest.strip_prefix("//") {
        Some(authority) => &authority[authority.find('/')?..],
        None => rest,
    };
    let mut bytes = Vec::with_capacity(path.len());
    let mut left = path.as_bytes();
    while let [first, tail @ ..] = left {
        let hex = tail.get(..2).and_then(|it| std::str::from_utf8(it).ok());
        match hex.and_then(|it| u8::from_str_radix(it, 16).ok()) {
            Some(byte) if *first == b'%' => {
                bytes.push(byte);
                left = &tail[2..];
            }
            Some(_) | None => {
                bytes.push(*first);
                left = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests;

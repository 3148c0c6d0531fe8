//! Cells of a notebook that the editor shows: edited there, one by one.
//!
//! Invariant: a cell is edited as it was read, in the file or where it is shown.

use protocol::acp::ToolCallContent;
use text::{ChangeSet, Rope};
use vfs::Location;

use super::cells::Notebook;
use super::{CellType, EditMode, NotebookEdit};
use crate::bounds;
use crate::cards::{self, Operation};
use crate::editor::{CellChange, CellEdit, CellKind, Kept, OpenCell, OpenNotebook};
use crate::seen::Sight;
use crate::tool::{Caller, Cx, Failure, Output};
use crate::tools::change;

/// Cell ids named at most.
const NAMED: usize = 20;
/// Characters of a cell that a refusal shows.
const SHOWN: usize = 8_000;

/// A change worked out, not yet made.
pub struct Planned {
    change: CellChange,
    operation: Operation,
    before: Rope,
    changes: ChangeSet,
    told: String,
}

impl Planned {
    /// The diff as a card shows it.
    pub fn diff(&self, notebook: &Location) -> ToolCallContent {
        let after = self.changes.apply(&self.before);
        cards::diff(notebook, self.operation.clone(), &self.before, &after, &self.changes)
    }

    /// Makes the change and tells what happened.
    pub async fn apply(self, cx: &Cx, notebook: Location) -> Result<Output, Failure> {
        let shown = cx.place.shown(&notebook);
        let edit = CellEdit {
            session: cx.session.id.clone(),
            call: cx.call.clone(),
            label: format!("Edit {shown}"),
            notebook: notebook.clone(),
            change: self.change.clone(),
            approval: cx.approval,
            review: cx.session.world.config().settings.edits.review,
        };
        let applied = cx.editor.edit_cell(edit).await.map_err(|err| change::refused(cx, err))?;
        let Some(file) = applied.files.into_iter().next() else {
            return Err(Failure::new("Nothing came of the edit; read the notebook again."));
        };
        match self.operation {
            Operation::Delete => cx.session.seen.forget(&file.location),
            Operation::Add | Operation::Modify | Operation::Move { .. } => {
                cx.session.seen.show_all(&file.location, &file.after);
            }
        }
        let (added, removed) = text::diff::stats(&file.before, &file.changes);
        let mut told = format!("{} In {shown} (+{added} −{removed}).", self.told);
        if let Kept::Buffer { reason } = &file.kept {
            told.push_str(&format!(" It is in the editor's notebook, not saved: {reason}."));
        }
        let excerpt = text::diff::unified(&file.before, &file.changes, 2);
        told.push_str(&format!("\n{}", bounds::text(&excerpt, 4_000)));
        let card = vec![self.diff(&notebook)];
        Ok(Output::text(told)
            .with_card(card)
            .with_title(format!("Edit {shown} +{added} −{removed}")))
    }
}

impl NotebookEdit {
    /// The change of an open notebook, checked against what was read.
    pub fn plan_open(
        &self,
        cx: &Cx,
        location: &Location,
        open: &OpenNotebook,
    ) -> Result<Planned, Failure> {
        let shown = cx.place.shown(location);
        let told = |err: String| Failure::new(format!("{shown}: {err}. Nothing was changed."));
        let kind = self.cell_type.map(|it| match it {
            CellType::Code => CellKind::Code,
            CellType::Markdown => CellKind::Markdown,
        });
        let cell = self.cell_id.as_deref().map(|id| find(open, id)).transpose().map_err(told)?;
        let named = self.cell_id.clone().unwrap_or_default();
        let source = || {
            let source = self.new_source.as_deref().map(|it| it.replace("\r\n", "\n"));
            source.ok_or_else(|| told("new_source is required".into()))
        };
        let needed =
            |what: &str| cell.ok_or_else(|| told(format!("cell_id is required to {what} a cell")));
        let planned = match self.edit_mode {
            EditMode::Replace => {
                let cell = needed("replace")?;
                let (before, text) = (text_of(cx, &cell.location)?, source()?);
                let kind = kind.unwrap_or(cell.kind);
                if before == *text.as_str() && kind == cell.kind {
                    return Err(told("the cell already has this text".into()));
                }
                self.check_seen(cx, location, (cell, &named), &before)?;
                Planned {
                    operation: Operation::Modify,
                    changes: ChangeSet::whole(&before, &text),
                    told: format!("Replaced the cell {named}."),
                    before: before.clone(),
                    change: CellChange::Replace { cell: cell.location.clone(), before, text, kind },
                }
            }
            EditMode::Insert => {
                let kind =
                    kind.ok_or_else(|| told("cell_type is required to insert a cell".into()))?;
                if cx.caller == Caller::Model && !cx.session.seen.knows(location) {
                    return Err(told("it was not read yet. Read the notebook first".into()));
                }
                let text = source()?;
                let after = cell.map(|it| it.location.clone());
                Planned {
                    operation: Operation::Modify,
                    before: Rope::new(),
                    changes: ChangeSet::whole(&Rope::new(), &text),
                    told: match &after {
                        Some(_) => format!("Inserted a cell after {named}."),
                        None => "Inserted a cell at the start.".into(),
                    },
                    change: CellChange::Insert { after, text, kind },
                }
            }
            EditMode::Delete => {
                let cell = needed("delete")?;
                let before = text_of(cx, &cell.location)?;
                self.check_seen(cx, location, (cell, &named), &before)?;
                Planned {
                    operation: Operation::Modify,
                    changes: ChangeSet::whole(&before, ""),
                    told: format!("Deleted the cell {named}."),
                    before: before.clone(),
                    change: CellChange::Delete { cell: cell.location.clone(), before },
                }
            }
        };
        Ok(planned)
    }

    /// Whether the model has read the cell as it is now: where it is shown, or in the file.
    fn check_seen(
        &self,
        cx: &Cx,
        notebook: &Location,
        (cell, named): (&OpenCell, &str),
        now: &Rope,
    ) -> Result<(), Failure> {
        let known = cx.session.seen.check_all(&cell.location, now) == Sight::Fresh;
        if cx.caller == Caller::Person || known || seen_in_file(cx, notebook, named, now) {
            return Ok(());
        }
        let shown = cx.place.shown(notebook);
        let whole = now.to_string();
        let text = bounds::text(&whole, SHOWN);
        if text != whole {
            return Err(Failure::new(format!(
                "The cell {named} of {shown} was not read as the editor has it now. Read it as {}.",
                cell.location
            )));
        }
        cx.session.seen.show_all(&cell.location, now);
        Err(Failure::new(format!(
            "The cell {named} of {shown} was not read as the editor has it now. It is:\n{text}\n\
             Nothing was changed. Make the edit against this text."
        )))
    }
}

/// Whether the file, as it was read, has this text in this cell.
fn seen_in_file(cx: &Cx, notebook: &Location, named: &str, now: &Rope) -> bool {
    let Ok(file) = cx.vfs.snapshot(notebook) else { return false };
    let text = file.rope.to_string();
    let Ok(read) = Notebook::read(&text) else { return false };
    let Some((source, span)) = read.find(named).ok().and_then(|at| read.source_of(at)) else {
        return false;
    };
    source == now.to_string().replace("\r\n", "\n")
        && cx.session.seen.check(&file.location, &file.rope, span) == Sight::Fresh
}

/// Whether the cells that are shown have the texts of the file.
pub fn is_saved(cx: &Cx, open: &OpenNotebook, file: &str) -> bool {
    let Ok(read) = Notebook::read(file) else { return false };
    let same = |(at, cell): (usize, &OpenCell)| {
        let now = text_of(cx, &cell.location).ok().map(|it| it.to_string().replace("\r\n", "\n"));
        now.is_some() && now == read.source_of(at).map(|it| it.0)
    };
    read.len() == open.cells.len() && open.cells.iter().enumerate().all(same)
}

fn find<'a>(open: &'a OpenNotebook, id: &str) -> Result<&'a OpenCell, String> {
    let mut found = open.cells.iter().filter(|it| it.id.as_deref() == Some(id));
    match (found.next(), found.next()) {
        (Some(one), None) => return Ok(one),
        (Some(_), Some(_)) => return Err(format!("several cells have the id `{id}`")),
        (None, _) => {}
    }
    let index = id.strip_prefix("cell-").and_then(|it| it.parse::<usize>().ok());
    if let Some(cell) = index.and_then(|it| open.cells.get(it)) {
        return Ok(cell);
    }
    let name = |(at, it): (usize, &OpenCell)| it.id.clone().unwrap_or(format!("cell-{at}"));
    let named: Vec<String> = open.cells.iter().enumerate().take(NAMED).map(name).collect();
    let more = if NAMED < open.cells.len() { ", …" } else { "" };
    Err(format!("there is no cell `{id}`. Its cells are: {}{more}", named.join(", ")))
}

/// A shown cell's text as it is now.
pub fn text_of(cx: &Cx, cell: &Location) -> Result<Rope, Failure> {
    let gone = || Failure::new("The cell is not open any more; read the notebook again.");
    cx.vfs.open_snapshot(cell).map(|it| it.rope).ok_or_else(gone)
}

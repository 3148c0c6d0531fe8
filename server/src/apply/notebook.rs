//! Edits of cells that the editor shows, by a request of its own: LSP cannot insert or delete one.
//!
//! Invariant: the cells decide. An edit counts once the editor has told of cells that show it,
//! whatever it answers.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agent::editor::{
    Applied, AppliedFile, ApplyError, Approval, CellChange, CellEdit, CellKind, Kept, OpenCell,
    OpenNotebook, Saved,
};
use agent::settings::{ReviewPolicy, SavePolicy};
use protocol::{NotebookCellText, NotebookEditParams, NotebookEditResult, NotebookSplice};
use text::{ChangeSet, Rope};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use vfs::{Dirty, Location, Snapshot};

use super::Parts;
use super::document::stale;
use super::record::{Moment, Was, of_text, with_pending};
use crate::notebooks::{Cell, IsOurs, Notebook, Notebooks};
use crate::review::{Entered, Entry};

/// How often an edit is sent while the person changes the notebook.
const ATTEMPTS: usize = 4;
/// How long an editor may take to answer.
const ANSWER: Duration = Duration::from_secs(30);
/// How long after the answer the change may take to arrive.
const ECHO: Duration = Duration::from_secs(3);
/// How long after a refusal to wait for the change that explains it: editors tell of what is typed
/// in cells with a delay of their own.
const EXPLANATION: Duration = Duration::from_secs(2);

/// The cells that are shown, and where those were that are no more.
#[derive(Default)]
pub struct Cells {
    /// The notebooks they are in.
    pub notebooks: Notebooks,
    places: Places,
}

/// Where cells were that are no more, and what stands for those that came back.
#[derive(Default)]
struct Places(Mutex<BTreeMap<Location, Place>>);

#[derive(Clone)]
struct Place {
    notebook: Location,
    /// The cells before it, in order.
    before: Vec<Location>,
    kind: CellKind,
    /// The cell that came back for it.
    now: Option<Location>,
}

impl Places {
    fn of(&self, cell: &Location) -> Option<Place> {
        self.lock().get(cell).cloned()
    }

    /// What a cell goes by now: another name where it went and came back.
    fn now(&self, cell: &Location) -> Location {
        self.of(cell).and_then(|it| it.now).unwrap_or_else(|| cell.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Location, Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the editor is to do, in the notebook as it is now.
struct Fitted {
    now: Notebook,
    splice: NotebookSplice,
}

/// A change of cells that the editor has told of.
pub(super) struct Shown {
    /// The cell that came, or changed; none where one went.
    cell: Option<Snapshot>,
    /// Whose changes of the notebook were unsaved before.
    was: Dirty,
}

impl Cells {
    /// What a document goes by now: another name where it is a cell that went and came back.
    pub fn now(&self, document: &Location) -> Location {
        self.places.now(document)
    }
}

impl Parts {
    pub(super) fn open_notebook(&self, location: &Location) -> Option<OpenNotebook> {
        let notebook = self.cells.notebooks.get(location)?;
        let cell = |it: Cell| OpenCell { location: it.location, id: it.id, kind: it.kind };
        Some(OpenNotebook {
            cells: notebook.cells.into_iter().map(cell).collect(),
            can_edit: self.client.edits_notebooks(),
        })
    }

    pub(super) async fn edit_cell(
        &self,
        edit: CellEdit,
        cancelled: &CancellationToken,
    ) -> Result<Applied, ApplyError> {
        let CellEdit { session, call, label, notebook, change, approval, review } = edit;
        let origin = review::Origin::of(&session, &call);
        let old = cell_of(&change).cloned();
        let _lock = self.locks.take(std::iter::once(&notebook).chain(&old)).await;
        let held = self.review.hold(&old);
        let shown = self.change_cells(&label, &notebook, &change, cancelled).await;
        let shown = shown.inspect_err(|_| {
            old.iter().for_each(|it| self.review.unsure(it));
            held.failed();
        })?;
        let (before, text) = match &change {
            CellChange::Replace { before, text, .. } => (before.clone(), text.as_str()),
            CellChange::Insert { text, .. } => (Rope::new(), text.as_str()),
            CellChange::Delete { before, .. } => (before.clone(), ""),
        };
        let changes = ChangeSet::whole(&before, text);
        let cell = match (&shown.cell, &old) {
            (Some(cell), _) => cell.location.clone(),
            (None, Some(old)) => old.clone(),
            (None, None) => notebook.clone(),
        };
        // The editor may have put another cell in its place, with what was pending in it.
        let moved = old.as_ref().filter(|old| **old != cell);
        let base = moved.and_then(|old| self.review.table().ledger.base(old).cloned());
        let base = base.unwrap_or_else(|| before.clone());
        let own = ChangeSet::whole(&base, text);
        let entered = Entered {
            before: &base,
            generation: None,
            changes: &own,
            now: shown.cell.as_ref(),
            since: None,
        };
        let entry = match &change {
            CellChange::Replace { .. } => Entry::Changed,
            CellChange::Insert { .. } => Entry::Created,
            CellChange::Delete { .. } => Entry::Deleted(None),
        };
        let earlier = self.review.earlier([&cell]);
        held.enter(&cell, entry, &entered, &origin);
        let pending = self.review.taken_from(earlier);
        if let Some(old) = moved {
            held.decide(old, None, |ledger| ledger.forget(old));
        }
        let approval = match review {
            ReviewPolicy::AfterTurn | ReviewPolicy::Blocking => approval,
            ReviewPolicy::Auto => {
                self.accept_at_once(&held, [&cell], &call);
                Approval::Person
            }
        };
        drop(held);
        let moment = match &change {
            CellChange::Replace { .. } => of_text(&cell, &before, &changes),
            CellChange::Insert { .. } => Moment {
                real: None,
                file: cell.clone(),
                before: Was::Nothing,
                after: Was::Text(changes.apply(&before)),
                edits: Vec::new(),
                folders: Vec::new(),
                pending: String::new(),
                moved_from: None,
            },
            CellChange::Delete { .. } => Moment {
                real: None,
                file: cell.clone(),
                before: Was::Text(before.clone()),
                after: Was::Nothing,
                edits: Vec::new(),
                folders: Vec::new(),
                pending: String::new(),
                moved_from: None,
            },
        };
        self.record((&session, &call), with_pending(vec![moment], pending)).await;
        self.publish_kept().await;
        let kept = self.keep_notebook(&notebook, shown.was, approval).await;
        let after = changes.apply(&before);
        Ok(Applied { files: vec![AppliedFile { location: cell, before, after, changes, kept }] })
    }

    /// Takes out a cell that the person rejects; `None` where it is no cell.
    pub(super) async fn take_cell_away(
        &self,
        label: &str,
        cell: &Location,
    ) -> Option<Result<(), ApplyError>> {
        let cell = self.cells.now(cell);
        let (notebook, _) = self.cells.notebooks.of_cell(&cell)?;
        let before = self.vfs.open_snapshot(&cell)?.rope;
        let change = CellChange::Delete { cell, before };
        let never = CancellationToken::new();
        Some(self.change_cells(label, &notebook, &change, &never).await.map(drop))
    }

    /// Brings a cell back whose going the person rejects; `None` where it was no cell.
    pub(super) async fn bring_cell_back(
        &self,
        label: &str,
        cell: &Location,
        text: &str,
    ) -> Option<Result<(), ApplyError>> {
        let place = self.cells.places.of(cell)?;
        let Place { notebook, before, kind, .. } = place;
        let there = self.cells.notebooks.get(&notebook);
        let is_there = |name: &Location| {
            there.as_ref().is_some_and(|it| it.cells.iter().any(|it| it.location == *name))
        };
        // Those next to it may have gone too.
        let after = before.iter().rev().map(|it| self.cells.now(it)).find(is_there);
        let change = CellChange::Insert { after, text: text.to_owned(), kind };
        let never = CancellationToken::new();
        let shown = self.change_cells(label, &notebook, &change, &never).await;
        Some(shown.map(|shown| {
            if let Some(place) = self.cells.places.lock().get_mut(cell) {
                place.now = shown.cell.map(|it| it.location);
            }
        }))
    }

    /// Has the editor change its cells, and waits until they show it.
    async fn change_cells(
        &self,
        label: &str,
        notebook: &Location,
        change: &CellChange,
        cancelled: &CancellationToken,
    ) -> Result<Shown, ApplyError> {
        let refused = |reason: String| ApplyError::Refused { location: notebook.clone(), reason };
        let mut reason = "the editor does not make the edit".to_owned();
        let mut was = None;
        for _ in 0..ATTEMPTS {
            if cancelled.is_cancelled() {
                return Err(ApplyError::Cancelled);
            }
            let fitted = self.fit_cells(notebook, change)?;
            let was = *was.get_or_insert(fitted.now.dirty);
            let mut changed = self.cells.notebooks.watch();
            changed.borrow_and_update();
            self.cells.notebooks.expect_ours(notebook, IsOurs::Yes);
            let params = NotebookEditParams {
                uri: fitted.now.uri.clone(),
                version: fitted.now.version,
                label: label.to_owned(),
                edits: vec![fitted.splice.clone()],
            };
            let request = self.outbox.request("copydesk/editor/notebookEdit", params);
            let (answer, patience) = match timeout(ANSWER, request).await {
                Ok(Ok(answer)) => match serde_json::from_value(answer) {
                    Ok(NotebookEditResult { applied: true, .. }) => (Ok(()), ECHO),
                    Ok(NotebookEditResult { failure_reason, .. }) => {
                        let why = "the editor refused the edit without a reason".to_owned();
                        (Err(failure_reason.unwrap_or(why)), EXPLANATION)
                    }
                    Err(error) => {
                        (Err(format!("the editor's answer is malformed: {error}")), EXPLANATION)
                    }
                },
                Ok(Err(error)) => (Err(error.message), EXPLANATION),
                Err(_) => (Err("the editor did not answer".to_owned()), EXPLANATION),
            };
            let end = Instant::now() + patience;
            let newer = || {
                self.cells.notebooks.get(notebook).is_none_or(|it| it.version != fitted.now.version)
            };
            let shown = loop {
                if let Some(cell) = self.shown(notebook, change, &fitted) {
                    break Some(cell);
                }
                if answer.is_err() && newer() {
                    break None;
                }
                match timeout_at(end, changed.changed()).await {
                    Ok(Ok(())) => {}
                    Ok(Err(_)) | Err(_) => break None,
                }
            };
            self.cells.notebooks.expect_ours(notebook, IsOurs::No);
            match (shown, answer) {
                (Some(cell), _) => {
                    self.remember_place(notebook, change, &fitted.now);
                    return Ok(Shown { cell, was });
                }
                (None, Ok(())) => {}
                (None, Err(why)) if newer() => reason = why,
                (None, Err(why)) => return Err(refused(why)),
            }
        }
        Err(refused(reason))
    }

    /// The edit in the notebook as it is now.
    fn fit_cells(&self, notebook: &Location, change: &CellChange) -> Result<Fitted, ApplyError> {
        let refused = |reason: &str| ApplyError::Refused {
            location: notebook.clone(),
            reason: reason.to_owned(),
        };
        let now =
            self.cells.notebooks.get(notebook).ok_or_else(|| refused("it was closed meanwhile"))?;
        let index = |cell: &Location| {
            let at = now.cells.iter().position(|it| it.location == *cell);
            at.and_then(|at| u32::try_from(at).ok())
                .ok_or_else(|| refused("the person removed the cell meanwhile"))
        };
        let unchanged = |cell: &Location, before: &Rope| match self.vfs.open_snapshot(cell) {
            Some(open) if same_text(&open.rope, &before.to_string()) => Ok(()),
            Some(open) => Err(stale(&open, &(0..open.rope.len_bytes()))),
            None => Err(refused("the person removed the cell meanwhile")),
        };
        let splice = match change {
            CellChange::Replace { cell, before, text, kind } => {
                unchanged(cell, before)?;
                NotebookSplice {
                    start: index(cell)?,
                    delete_count: 1,
                    cells: vec![of(*kind, text)],
                }
            }
            CellChange::Insert { after, text, kind } => {
                let start = match after {
                    Some(after) => index(after)? + 1,
                    None => 0,
                };
                NotebookSplice { start, delete_count: 0, cells: vec![of(*kind, text)] }
            }
            CellChange::Delete { cell, before } => {
                unchanged(cell, before)?;
                NotebookSplice { start: index(cell)?, delete_count: 1, cells: Vec::new() }
            }
        };
        Ok(Fitted { now, splice })
    }

    /// What the cells show of an edit: nothing, or the cell it made, if it made one.
    fn shown(
        &self,
        notebook: &Location,
        change: &CellChange,
        fitted: &Fitted,
    ) -> Option<Option<Snapshot>> {
        let now = self.cells.notebooks.get(notebook)?;
        let knew = |cell: &Location| fitted.now.cells.iter().any(|it| it.location == *cell);
        let made = |text: &str| {
            let mut new = now.cells.iter().filter(|it| !knew(&it.location));
            new.find_map(|it| {
                self.vfs.open_snapshot(&it.location).filter(|it| same_text(&it.rope, text))
            })
        };
        match change {
            CellChange::Replace { cell, text, .. } => {
                // Some editors keep the cell and give it another text.
                let kept = self.vfs.open_snapshot(cell).filter(|it| same_text(&it.rope, text));
                made(text).or(kept).map(Some)
            }
            CellChange::Insert { text, .. } => made(text).map(Some),
            CellChange::Delete { cell, .. } => {
                (!now.cells.iter().any(|it| it.location == *cell)).then_some(None)
            }
        }
    }

    /// Where a cell was that went, so that it can come back.
    fn remember_place(&self, notebook: &Location, change: &CellChange, before: &Notebook) {
        let CellChange::Delete { cell, .. } = change else { return };
        let Some(at) = before.cells.iter().position(|it| it.location == *cell) else { return };
        let kind = before.cells[at].kind;
        let mut places = self.cells.places.lock();
        // A cell that had come back is known by its first name.
        let first = |cell: &Location| {
            let known = places.iter().find(|(_, it)| it.now.as_ref() == Some(cell));
            known.map_or_else(|| cell.clone(), |(name, _)| name.clone())
        };
        let earlier = before.cells[..at].iter().map(|it| first(&it.location)).collect();
        let name = first(cell);
        let place = Place { notebook: notebook.clone(), before: earlier, kind, now: None };
        places.insert(name, place);
    }

    /// Saves the notebook where the policy says so.
    async fn keep_notebook(&self, notebook: &Location, was: Dirty, approval: Approval) -> Kept {
        let policy = *self.save_policy.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = match (policy, approval, was) {
            (_, _, Dirty::Person) => "the notebook holds unsaved changes of the person's",
            (SavePolicy::Never, _, _) => "edits.save is \"never\"",
            (SavePolicy::IfWasClean, _, Dirty::Ours) => {
                "earlier edits in the notebook are not saved yet"
            }
            (SavePolicy::IfWasClean, Approval::Policy, _) => {
                "it is saved once the person saves the notebook"
            }
            (SavePolicy::IfWasClean, Approval::Person, Dirty::Clean)
            | (SavePolicy::Always, _, _) => {
                return match self.request_save(&[notebook]).await.pop() {
                    Some(Saved::Yes) => Kept::Disk,
                    Some(Saved::No(reason)) => Kept::Buffer { reason },
                    None => {
                        Kept::Buffer { reason: "the editor does not save on request".to_owned() }
                    }
                };
            }
        };
        Kept::Buffer { reason: reason.to_owned() }
    }
}

fn cell_of(change: &CellChange) -> Option<&Location> {
    match change {
        CellChange::Replace { cell, .. } | CellChange::Delete { cell, .. } => Some(cell),
        CellChange::Insert { .. } => None,
    }
}

fn of(kind: CellKind, text: &str) -> NotebookCellText {
    let kind = match kind {
        CellKind::Code => "code",
        CellKind::Markdown => "markdown",
    };
    NotebookCellText { kind: kind.to_owned(), text: text.to_owned() }
}

/// Editors keep line endings of their own in cells.
fn same_text(shown: &Rope, text: &str) -> bool {
    shown.to_string().replace("\r\n", "\n") == text.replace("\r\n", "\n")
}

//! Closed files: written by the server, all of them in one atomic, journaled commit.

use std::path::Path;

use agent::editor::ApplyError;
use text::{ChangeSet, Edit, Rope};
use vfs::{CommitError, Committed, DiskOp, Location, Receipt, Snapshot, Undo, Vfs};

use super::Parts;
use super::document::{check_encodable, rebased, stale};
use crate::capabilities::EditorKind;
use crate::lsp;

/// One file's part of a commit and what it does to the text.
pub struct DiskStep {
    /// What the store is asked to do, in order.
    pub ops: Vec<DiskOp>,
    /// The text before; empty for a new file.
    pub before: Rope,
    /// From `before` to the text after.
    pub changes: ChangeSet,
}

impl Parts {
    /// Changes a file as the disk has it now.
    pub(super) fn plan_edit(
        &self,
        base: &Snapshot,
        changes: &ChangeSet,
    ) -> Result<DiskStep, ApplyError> {
        let path = file_of(&base.location)?;
        let now = self.vfs.disk_snapshot(path).map_err(|error| ApplyError::Refused {
            location: base.location.clone(),
            reason: without_name(&error.to_string(), path),
        })?;
        let ours = rebased(&self.vfs, base, &now, changes).map_err(|o| stale(&now, &o.range))?;
        let ours = lsp::in_own_endings(&now.rope, &ours, now.format.eol, EditorKind::Other);
        check_encodable(&now, &ours)?;
        let op =
            DiskOp::Edit { path: path.to_owned(), base_hash: now.hash(), changes: ours.clone() };
        Ok(DiskStep { ops: vec![op], before: now.rope, changes: ours })
    }

    /// Moves a file, then changes it as [`Parts::plan_edit`] would; one that is no text is only moved.
    pub(super) fn plan_move(
        &self,
        from: &Location,
        to: &Location,
        base: Option<&Snapshot>,
        changes: &ChangeSet,
    ) -> Result<DiskStep, ApplyError> {
        let (old, new) = (file_of(from)?, file_of(to)?);
        let base_hash = self.vfs.content_hash(old).map_err(|error| ApplyError::Refused {
            location: from.clone(),
            reason: error.to_string(),
        })?;
        let rename = DiskOp::Rename { from: old.to_owned(), to: new.to_owned(), base_hash };
        let Some(base) = base else {
            let (before, changes) = (Rope::new(), ChangeSet::identity(0));
            return Ok(DiskStep { ops: vec![rename], before, changes });
        };
        let mut step = self.plan_edit(base, changes)?;
        for op in &mut step.ops {
            if let DiskOp::Edit { path, .. } = op {
                *path = new.to_owned();
            }
        }
        if step.changes.is_identity() {
            step.ops.clear();
        }
        step.ops.insert(0, rename);
        Ok(step)
    }

    /// Makes a file where nothing is.
    pub(super) fn plan_create(
        &self,
        location: &Location,
        text: &str,
    ) -> Result<DiskStep, ApplyError> {
        let path = file_of(location)?;
        // The store leaves a text with returns of its own as it is.
        let written = if text.contains('\r') {
            text.to_owned()
        } else {
            text::to_ending(text, self.vfs.format_for_new(path).eol.ending())
        };
        let inserted = vec![Edit::new(0..0, written)];
        let changes = ChangeSet::new(0, inserted).unwrap_or_else(|_| ChangeSet::identity(0));
        let op = DiskOp::Create { path: path.to_owned(), text: text.to_owned() };
        Ok(DiskStep { ops: vec![op], before: Rope::new(), changes })
    }

    /// Deletes a file; one that is no text counts as empty.
    pub(super) fn plan_delete(&self, location: &Location) -> Result<DiskStep, ApplyError> {
        let path = file_of(location)?;
        let base_hash = self.vfs.content_hash(path).map_err(|error| ApplyError::Refused {
            location: location.clone(),
            reason: error.to_string(),
        })?;
        let before = self.vfs.disk_snapshot(path).map(|now| now.rope).unwrap_or_default();
        let op = DiskOp::Delete { path: path.to_owned(), base_hash };
        Ok(DiskStep { ops: vec![op], changes: emptied(&before), before })
    }

    /// Writes, synced to disk; blocks a thread meanwhile, not the runtime.
    pub(super) async fn commit(&self, ops: Vec<DiskOp>) -> Result<Committed, ApplyError> {
        self.written(move |vfs| vfs.commit(ops), |it| &it.undo).await
    }

    /// As [`Parts::commit`], and remembered until the receipt is dropped: a call of a session's made it.
    pub(super) async fn commit_for(
        &self,
        ops: Vec<DiskOp>,
        (session, call): (&str, &str),
    ) -> Result<(Committed, Receipt), ApplyError> {
        let (session, call) = (session.to_owned(), call.to_owned());
        let commit = move |vfs: &Vfs| vfs.commit_for(ops, (&session, &call));
        self.written(commit, |(it, _)| &it.undo).await
    }

    async fn written<C: Send + 'static>(
        &self,
        write: impl FnOnce(&Vfs) -> Result<C, CommitError> + Send + 'static,
        undo: impl FnOnce(&C) -> &Undo,
    ) -> Result<C, ApplyError> {
        let vfs = self.vfs.clone();
        match tokio::task::spawn_blocking(move || write(&vfs)).await {
            Ok(result) => {
                let committed = result.map_err(commit_error)?;
                self.note_folders(undo(&committed));
                Ok(committed)
            }
            Err(error) => {
                tracing::error!(%error, "writing files failed");
                Err(ApplyError::Cancelled)
            }
        }
    }

    /// Takes a commit back; the first path that is not as it was left is the error.
    pub(super) async fn revert(&self, undo: Undo) -> Result<(), Location> {
        let first = undo.entries.first().map(|entry| Location::disk(&entry.path));
        let vfs = self.vfs.clone();
        let reverted = tokio::task::spawn_blocking(move || vfs.revert(&undo)).await;
        match (reverted, first) {
            (Ok(Ok(committed)), _) => {
                self.note_folders(&committed.undo);
                Ok(())
            }
            (_, None) => Ok(()),
            (Ok(Err(error)), Some(first)) => {
                tracing::warn!(%error, "files could not be put back");
                Err(location_of(commit_error(error)).unwrap_or(first))
            }
            (Err(error), Some(first)) => {
                tracing::error!(%error, "putting files back failed");
                Err(first)
            }
        }
    }
}

impl Parts {
    fn note_folders(&self, done: &Undo) {
        let made = done.entries.iter().filter(|it| it.before.is_none() && it.after.is_some());
        made.for_each(|it| self.review.note_folders(&it.path, &done.folders));
    }
}

/// The change that deletes a whole text.
pub(super) fn emptied(before: &Rope) -> ChangeSet {
    let len = before.len_bytes();
    ChangeSet::new(len, vec![Edit::new(0..len, "")]).unwrap_or_else(|_| ChangeSet::identity(len))
}

fn file_of(location: &Location) -> Result<&Path, ApplyError> {
    location.path().ok_or_else(|| ApplyError::Refused {
        location: location.clone(),
        reason: "it is open only in the editor and has no file".to_owned(),
    })
}

fn commit_error(error: CommitError) -> ApplyError {
    let reason = error.to_string();
    match error {
        CommitError::Unencodable { path, error } => ApplyError::Unencodable {
            location: Location::disk(path),
            encoding: error.encoding,
            character: error.char,
            line: error.line,
        },
        CommitError::Changed { path }
        | CommitError::Exists { path }
        | CommitError::Missing { path }
        | CommitError::NotAFile { path, .. }
        | CommitError::ReadOnly { path }
        | CommitError::Misfit { path }
        | CommitError::Io { path, .. } => {
            let reason = without_name(&reason, &path);
            ApplyError::Refused { location: Location::disk(path), reason }
        }
        CommitError::NotPutBack { cause, mut left } => match left.pop() {
            Some(path) => {
                ApplyError::Conflict { failed: cause.to_string(), kept: Location::disk(path) }
            }
            None => commit_error(*cause),
        },
    }
}

/// What is said of a file, for where its name stands before it.
fn without_name(said: &str, path: &Path) -> String {
    match said.strip_prefix(&format!("{} ", path.display())) {
        Some(rest) => format!("it {rest}"),
        None => said.to_owned(),
    }
}

fn location_of(error: ApplyError) -> Option<Location> {
    match error {
        ApplyError::Stale { location, .. }
        | ApplyError::Refused { location, .. }
        | ApplyError::Unencodable { location, .. }
        | ApplyError::Unanswered { location }
        | ApplyError::Conflict { kept: location, .. } => Some(location),
        ApplyError::Cancelled => None,
    }
}

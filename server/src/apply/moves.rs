//! Files that go by another name: moved by the editor where it has them open, else on disk.
//!
//! Invariant: a file is moved as a whole, with its bytes, mode and attributes, and never onto another;
//! one whose buffer holds unsaved text stays where it is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use agent::editor::{ApplyError, Approval};
use review::{Decision, HunkId, Ledger, Passing};
use serde_json::json;
use text::{ChangeSet, Rope};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use vfs::{DiskOp, Image, Location, Snapshot, Undo};

use super::document::{Landed, check_encodable, rebased, stale};
use super::standing::PENDING_THERE;
use super::transaction::{MAX_KEPT, Step, refused};
use super::{LspEditor, Parts};
use crate::review::lines::{self, Told};
use crate::review::places::LIES_ELSEWHERE;

/// How long an editor may take to open a document under its new name.
const OPENING: Duration = Duration::from_secs(3);

/// A file that the editor has open and that it is to move.
#[derive(Clone)]
pub struct Moving {
    /// Where it is.
    pub from: Location,
    /// Its text.
    pub before: Rope,
    /// What changes in it once it is moved.
    pub changes: ChangeSet,
}

/// A file that the editor has moved.
pub struct Moved {
    /// What was to be done.
    pub moving: Box<Moving>,
    /// Its new name.
    pub to: Location,
    /// What it was; absent where it is too large to be kept.
    pub image: Option<Image>,
    /// Folders that were made for it.
    pub folders: Vec<PathBuf>,
}

/// What became of the text of a file that the editor moved.
pub enum Edited {
    /// Nothing; there was nothing to change.
    Not,
    /// It changed in the document of the new name.
    Document(Box<Landed>),
    /// The editor shows no document of that name, and it changed on disk.
    Disk(Undo),
}

impl LspEditor {
    /// Takes what decisions and restores moved, from where and to where.
    pub fn take_names(&self) -> Vec<(Location, Location)> {
        self.0.review.take_names()
    }
}

impl Parts {
    /// A move and what changes with it, checked against what is there now.
    pub(super) fn plan_any_move(
        &self,
        from: Location,
        to: &Location,
        base: Option<&Snapshot>,
        changes: &ChangeSet,
    ) -> Result<Step, ApplyError> {
        if self.vfs.is_open(to) {
            return Err(refused(to.clone(), "the editor has a document of this name open"));
        }
        let Some(open) = self.vfs.open_snapshot(&from) else {
            let step = self.plan_move(&from, to, base, changes)?;
            return Ok(Step::Disk(Box::new(step)));
        };
        if open.is_unsaved() {
            return Err(unsaved(from));
        }
        if !self.client.applies_edits || !self.client.renames_files {
            // It shows the old name until the person opens the new one.
            let step = self.plan_move(&from, to, base, changes)?;
            return Ok(Step::Disk(Box::new(step)));
        }
        if to.path().is_some_and(|path| self.vfs.link_stat(path).is_ok()) {
            return Err(refused(to.clone(), "it exists already"));
        }
        let changes = match base {
            None => ChangeSet::identity(open.rope.len_bytes()),
            Some(base) => {
                self.check_document(base, changes)?;
                rebased(&self.vfs, base, &open, changes).map_err(|it| stale(&open, &it.range))?
            }
        };
        check_encodable(&open, &changes)?;
        Ok(Step::MoveOpen(Box::new(Moving { from, before: open.rope, changes })))
    }

    /// Has the editor move a file that it has open and unchanged.
    pub(super) async fn rename_open(
        &self,
        label: &str,
        from: &Location,
        to: &Location,
        cancelled: &CancellationToken,
    ) -> Result<(), ApplyError> {
        let (Some(old), Some(new)) = (from.path(), to.path()) else {
            return Err(refused(from.clone(), "only files can be moved"));
        };
        // A save may not have been told of yet.
        if self.vfs.open_snapshot(from).is_some_and(|it| self.is_typed_in(&it)) {
            return Err(unsaved(from.clone()));
        }
        let folders = self.vfs.missing_folders(new);
        let change = json!({
            "kind": "rename",
            "oldUri": self.uris.of(from),
            "newUri": self.uris.of(to),
            "options": {"overwrite": false, "ignoreIfExists": false},
        });
        let answer = self.apply_edit(label, change, cancelled).await;
        let is_moved = self.vfs.link_stat(old).is_err() && self.vfs.link_stat(new).is_ok();
        match (is_moved, answer) {
            (true, _) => {
                self.review.note_folders(&self.vfs.standing_path(new), &folders);
                Ok(())
            }
            (false, Err(denial)) => Err(refused(from.clone(), denial.reason())),
            (false, Ok(())) => {
                Err(refused(from.clone(), "the editor says it moved the file, but it did not"))
            }
        }
    }

    /// As [`Parts::rename_open`], with what the file is kept.
    pub(super) async fn rename_kept(
        &self,
        label: &str,
        moving: &Moving,
        to: &Location,
        cancelled: &CancellationToken,
    ) -> Result<Moved, ApplyError> {
        let from = &moving.from;
        let image = match from.path().map(|path| (path, self.vfs.stat(path))) {
            Some((path, Ok(stat))) if stat.len <= MAX_KEPT => {
                let kept = self.vfs.keep_file(path);
                let kept =
                    kept.map_err(|error| refused(from.clone(), &format!("no undo copy: {error}")))?;
                kept.and_then(|it| it.entries.into_iter().next()?.before)
            }
            Some(_) | None => None,
        };
        let folders = to.path().map(|it| self.vfs.missing_folders(it)).unwrap_or_default();
        self.rename_open(label, from, to, cancelled).await?;
        Ok(Moved { moving: Box::new(moving.clone()), to: to.clone(), image, folders })
    }

    /// Changes a file that the editor has just moved, in the document where it opens one.
    pub(super) async fn edit_moved(
        &self,
        label: &str,
        moving: &Moving,
        to: &Location,
        cancelled: &CancellationToken,
    ) -> Result<Edited, ApplyError> {
        let mut generation = self.vfs.watch(to);
        let opened = generation.wait_for(|_| self.vfs.is_open(to));
        let is_open = matches!(timeout(OPENING, opened).await, Ok(Ok(_)));
        if moving.changes.is_identity() {
            return Ok(Edited::Not);
        }
        let now = self.vfs.snapshot(to).map_err(|it| refused(to.clone(), &it.to_string()))?;
        let since = ChangeSet::between(&moving.before, &now.rope);
        let ours = moving.changes.rebase(&since).map_err(|it| stale(&now, &it.range))?;
        if is_open {
            let landed = self.change_document(label, &now, &ours, cancelled).await?;
            return Ok(Edited::Document(Box::new(landed)));
        }
        let step = self.plan_edit(&now, &ours)?;
        Ok(Edited::Disk(self.commit(step.ops).await?.undo))
    }

    /// Moves a file of which the text is as it should be: by the editor where that has it open.
    pub(super) async fn move_file(
        &self,
        label: &str,
        from: &Location,
        to: &Location,
    ) -> Result<(), ApplyError> {
        let (Some(old), Some(new)) = (from.path(), to.path()) else {
            return Err(refused(from.clone(), "only files can be moved"));
        };
        if let Some(led) = [from, to].into_iter().find(|it| self.review.leads_elsewhere(it)) {
            return Err(refused(led.clone(), LIES_ELSEWHERE));
        }
        if self.review.table().ledger.is_pending(to) {
            return Err(refused(to.clone(), PENDING_THERE));
        }
        self.check_shown(to)?;
        self.make_way(to).await?;
        match self.vfs.open_snapshot(from) {
            Some(open) if self.is_typed_in(&open) => return Err(unsaved(from.clone())),
            Some(_) if self.client.applies_edits && self.client.renames_files => {
                let never = CancellationToken::new();
                self.rename_open(label, from, to, &never).await?;
                let mut generation = self.vfs.watch(to);
                let _ = timeout(OPENING, generation.wait_for(|_| self.vfs.is_open(to))).await;
                return Ok(());
            }
            Some(_) | None => {}
        }
        let base_hash = self
            .vfs
            .content_hash(old)
            .map_err(|error| refused(from.clone(), &error.to_string()))?;
        let rename = DiskOp::Rename { from: old.to_owned(), to: new.to_owned(), base_hash };
        self.commit(vec![rename]).await?;
        // An editor may have shown the file by this name all the time.
        if let Some(landed) = self.show_as_on_disk(label, to).await? {
            self.keep(to, landed.buffer, Approval::Person).await;
        }
        Ok(())
    }

    /// Takes back a move that the editor made; what is in the buffer is what is on disk.
    pub(super) async fn move_back(
        &self,
        label: &str,
        moving: &Moving,
        to: &Location,
    ) -> Result<(), ApplyError> {
        let is_unsaved = self.vfs.open_snapshot(to).is_some_and(|it| it.is_unsaved());
        if is_unsaved && self.vfs.open_snapshot(to).is_some_and(|it| it.rope == moving.before) {
            self.request_save(&[to]).await;
        }
        self.move_file(label, to, &moving.from).await?;
        self.review.leave_folders(to);
        Ok(())
    }

    /// Decides on a file's move.
    pub(super) async fn decide_move(
        &self,
        location: &Location,
        decision: Decision,
        token: u64,
        (told, comment): (&mut Told, Option<&str>),
    ) -> Result<(), ApplyError> {
        let Some(from) = self.moved_from(location) else { return Ok(()) };
        let hunk =
            self.review.table().ledger.view(location).and_then(|it| it.hunks.into_iter().next());
        if let Some(hunk) = hunk {
            let words = lines::move_words(&from.to_string(), &location.to_string(), decision);
            told.add(&words, &hunk, &self.waits.sessions(&hunk.origin));
            self.waits.decided(&hunk, decision, &words, comment);
        }
        let _locks = self.locks.take([location, &from]).await;
        let held = self.review.hold([location, &from]);
        match decision {
            Decision::Accept => {}
            Decision::Reject => {
                self.move_file("Reject the agent's move", location, &from)
                    .await
                    .inspect_err(|_| held.failed())?;
                self.review.leave_folders(location);
                held.goes_by(location, &from);
            }
        }
        held.decide(location, None, |ledger| ledger.decide_move(location, decision, token));
        Ok(())
    }

    /// The name a file had before its pending move.
    pub(super) fn moved_from(&self, location: &Location) -> Option<Location> {
        self.review.table().ledger.moved_from(location).map(|(_, from)| from.clone())
    }
}

/// The hunk of a file's move, taken out of those that are decided on.
pub(super) fn take_move(
    ledger: &Ledger<Location>,
    location: &Location,
    ids: &mut BTreeSet<HunkId>,
) -> Option<HunkId> {
    let (hunk, _) = ledger.moved_from(location)?;
    ids.take(hunk)
}

/// Files in the order in which a decision can be carried out in them: a name is taken once it is free.
pub(super) fn in_order(
    ledger: &Ledger<Location>,
    picked: BTreeMap<Location, BTreeSet<HunkId>>,
    decision: Decision,
) -> Vec<(Location, BTreeSet<HunkId>)> {
    let passing = |location: &Location, ids: &BTreeSet<HunkId>| match decision {
        Decision::Accept => Passing::default(),
        Decision::Reject => ledger.passing(location, ids),
    };
    let steps = picked.into_iter().map(|(location, ids)| {
        let passing = passing(&location, &ids);
        ((location, ids), passing)
    });
    review::in_order(steps.collect(), folders_of)
}

/// The folders that a file is in.
pub(super) fn folders_of(location: &Location) -> Vec<Location> {
    let above = location.path().into_iter().flat_map(|path| path.ancestors().skip(1));
    above.map(Location::disk).collect()
}

pub(super) fn unsaved(location: Location) -> ApplyError {
    let reason =
        "its buffer holds unsaved text, so it is not moved; the person has to save it first";
    refused(location, reason)
}

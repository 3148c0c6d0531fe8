//! A transaction over several files: everything is checked, then closed files are written in one
//! commit, then open documents are changed one by one; a failure takes back what was done.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agent::editor::{Applied, AppliedFile, ApplyError, Approval, FileOp, Kept, Transaction};
use agent::settings::ReviewPolicy;
use review::Existence;
use serde_json::json;
use text::{ChangeSet, Edit, Rope};
use tokio_util::sync::CancellationToken;
use vfs::{Committed, Dirty, DiskOp, Location, Receipt, Snapshot, Undo};

use super::Parts;
use super::disk::{DiskStep, emptied};
use super::document::Landed;
use super::moves::{Edited, Moved, Moving};
use super::record::{moments, of_text, with_pending};
use super::replaced::{Names, names_first};
use crate::review::{Entered, Entry, Held, Touch};

/// Larger files are deleted without keeping their bytes for undo; they are not text.
pub(super) const MAX_KEPT: u64 = 64 << 20;

pub(super) enum Step {
    /// A change of an open document.
    Document { base: Box<Snapshot>, changes: ChangeSet },
    /// A closed file.
    Disk(Box<DiskStep>),
    /// Deletes a file the editor has open and unchanged.
    DeleteOpen { before: Rope },
    /// Moves a file the editor has open and unchanged.
    MoveOpen(Box<Moving>),
}

/// What has been done so far, to be taken back on failure.
#[derive(Default)]
pub(super) struct Done {
    pub written: Option<Committed>,
    /// Remembers what was written until it is in the session's log.
    pub receipt: Option<Receipt>,
    pub landed: Vec<(usize, Landed)>,
    /// How files that the editor deleted come back.
    pub deleted: Vec<(usize, Undo)>,
    /// Files that the editor moved.
    pub moved: Vec<(usize, Moved)>,
    /// How files that changed on disk after they were moved go back.
    pub rewritten: Vec<(usize, Undo)>,
}

impl Parts {
    pub(super) async fn run(
        &self,
        transaction: Transaction,
        cancelled: &CancellationToken,
    ) -> Result<Applied, ApplyError> {
        let Transaction { session, call, label, ops, approval, review } = transaction;
        let origin_of_edit = review::Origin::of(&session, &call);
        let locations: Vec<Location> = ops.iter().map(location).cloned().collect();
        let _locks = self.locks.take(locations.iter().chain(ops.iter().filter_map(origin))).await;
        let kinds: Vec<Kind> = ops.iter().map(Kind::of).collect();
        let freed: BTreeSet<Location> = ops.iter().filter_map(FileOp::left).cloned().collect();
        let steps: Vec<Step> =
            ops.into_iter().map(|op| self.plan(op, &freed)).collect::<Result<_, _>>()?;
        let moved: Vec<Location> = kinds.iter().filter_map(Kind::from).cloned().collect();
        let touch = kinds.iter().map(Kind::touch);
        let names = moved.iter().map(|it| (it, Touch::Name));
        let held = self.review.hold_as(locations.iter().zip(touch).chain(names));
        if cancelled.is_cancelled() {
            return Err(ApplyError::Cancelled);
        }
        let leaving = self.leaving(locations.iter().zip(&kinds));
        let earlier = self.review.earlier(locations.iter().chain(&moved));
        let mut done = Done::default();
        let places = self.real_places(&locations);
        let named = (label.as_str(), (session.as_str(), call.as_str()));
        let carried = self.carry_out(named, &locations, &steps, &mut done, cancelled).await;
        let carried = carried.and_then(|()| self.check_places(&locations, &places));
        if let Err(error) = carried {
            let entering = (&held, &origin_of_edit);
            let error = self.take_back(&label, error, done, entering).await;
            held.failed();
            return Err(error);
        }
        vfs::aside(steps.iter().map(Step::size).sum(), || {
            self.enter(&held, (&locations, &steps, &kinds), &done, &origin_of_edit);
        });
        let pending = self.review.taken_from(earlier);
        let approval = match review {
            ReviewPolicy::AfterTurn | ReviewPolicy::Blocking => approval,
            ReviewPolicy::Auto => {
                self.accept_at_once(&held, locations.iter().chain(&moved), &call);
                Approval::Person
            }
        };
        leaving.iter().for_each(|it| self.review.leave_folders(it));
        drop(held);
        let moments = with_pending(moments(&locations, &steps, &done), pending);
        self.publish_kept().await;
        done.receipt.iter_mut().for_each(Receipt::took_place);
        self.record_written((&session, &call), moments, done.receipt.take()).await;
        Ok(self.settle(locations, (steps, &kinds), done, approval).await)
    }

    /// The names that files of the agent's own are about to lose.
    fn leaving<'a>(&self, ops: impl Iterator<Item = (&'a Location, &'a Kind)>) -> Vec<Location> {
        let table = self.review.table();
        let lost = ops.filter_map(|(location, kind)| match kind {
            Kind::Delete => Some(location),
            Kind::Move(from) => Some(from),
            Kind::Modify | Kind::Create => None,
        });
        let own = |it: &&Location| table.ledger.existence(it) == Some(Existence::Added);
        lost.filter(own).cloned().collect()
    }

    /// Where files really lie, up to their own names.
    fn real_places(&self, locations: &[Location]) -> Vec<Option<PathBuf>> {
        locations.iter().map(|it| Some(self.vfs.standing_path(it.path()?))).collect()
    }

    /// Whether files still lie where they did: a folder that was swapped for a link meanwhile would
    /// have taken the change elsewhere, past what was allowed.
    fn check_places(
        &self,
        locations: &[Location],
        before: &[Option<PathBuf>],
    ) -> Result<(), ApplyError> {
        let now = self.real_places(locations);
        let moved =
            locations.iter().zip(before.iter().zip(&now)).find(|(_, (then, now))| then != now);
        match moved {
            None => Ok(()),
            Some((location, _)) => Err(refused(
                location.clone(),
                "a folder on the way to it was replaced meanwhile and it lies elsewhere now; the change was taken back",
            )),
        }
    }

    /// What an operation comes to, checked against the texts as they are now. `freed` are the names that other
    /// operations take files from.
    fn plan(&self, op: FileOp, freed: &BTreeSet<Location>) -> Result<Step, ApplyError> {
        self.check_notebook(origin(&op).unwrap_or(location(&op)))?;
        match op {
            FileOp::Modify { base, changes } => {
                if self.edits_in_editor(&base.location)? {
                    self.check_document(&base, &changes)?;
                    Ok(Step::Document { base, changes })
                } else {
                    self.plan_edit(&base, &changes).map(|step| Step::Disk(Box::new(step)))
                }
            }
            FileOp::Create { location, text } => self.plan_new(location, &text, freed),
            FileOp::Move { from, to, base, changes } => {
                self.plan_any_move(from, &to, base.as_deref(), &changes)
            }
            FileOp::Delete { location } => match self.vfs.open_snapshot(&location) {
                Some(open) if open.is_unsaved() => {
                    Err(refused(location, "its buffer holds unsaved text; nothing was deleted"))
                }
                Some(open) if location.path().is_some() && self.client.deletes_files => {
                    Ok(Step::DeleteOpen { before: open.rope })
                }
                Some(_) | None => {
                    self.plan_delete(&location).map(|step| Step::Disk(Box::new(step)))
                }
            },
        }
    }

    /// Refuses a file that is shown as cells with unsaved changes, which are not in its text.
    fn check_notebook(&self, location: &Location) -> Result<(), ApplyError> {
        match self.cells.notebooks.get(location) {
            Some(notebook) if notebook.dirty != Dirty::Clean => Err(refused(
                location.clone(),
                "the editor shows it as a notebook with unsaved cells; the person has to save it first",
            )),
            Some(_) | None => Ok(()),
        }
    }

    fn plan_new(
        &self,
        location: Location,
        text: &str,
        freed: &BTreeSet<Location>,
    ) -> Result<Step, ApplyError> {
        let on_disk = location.path().is_some_and(|path| self.vfs.link_stat(path).is_ok());
        if on_disk && !freed.contains(&location) {
            return Err(refused(location, "it exists already"));
        }
        // A buffer without a file, such as the editor's `:e new.txt`.
        match self.vfs.open_snapshot(&location) {
            Some(open) if open.rope.len_bytes() > 0 => {
                Err(refused(location, "the editor has it open with unsaved text"))
            }
            Some(open) if self.client.applies_edits => {
                let inserted = vec![Edit::new(0..0, text)];
                let changes =
                    ChangeSet::new(0, inserted).unwrap_or_else(|_| ChangeSet::identity(0));
                self.check_document(&open, &changes)?;
                Ok(Step::Document { base: Box::new(open), changes })
            }
            Some(_) | None => {
                self.plan_create(&location, text).map(|step| Step::Disk(Box::new(step)))
            }
        }
    }

    /// Whether an edit goes through the editor. One that cannot edit keeps its unsaved text.
    pub(super) fn edits_in_editor(&self, location: &Location) -> Result<bool, ApplyError> {
        match self.vfs.document(location) {
            None => Ok(false),
            Some(_) if self.client.applies_edits => Ok(true),
            Some(document) if document.dirty == Dirty::Clean => Ok(false),
            Some(_) => Err(refused(
                location.clone(),
                "the editor holds unsaved text and cannot apply edits; save it first",
            )),
        }
    }

    async fn carry_out(
        &self,
        (label, call): (&str, (&str, &str)),
        locations: &[Location],
        steps: &[Step],
        done: &mut Done,
        cancelled: &CancellationToken,
    ) -> Result<(), ApplyError> {
        let ops = names_first(steps.iter().flat_map(disk_ops).cloned().collect());
        if !ops.is_empty() {
            let (written, receipt) = self.commit_for(ops, call).await?;
            (done.written, done.receipt) = (Some(written), Some(receipt));
        }
        for (index, step) in steps.iter().enumerate() {
            if let Step::Document { base, changes } = step {
                let landed = self.change_document(label, base, changes, cancelled).await?;
                done.landed.push((index, landed));
                if cancelled.is_cancelled() {
                    return Err(ApplyError::Cancelled);
                }
            }
        }
        for (index, (location, step)) in locations.iter().zip(steps).enumerate() {
            if let Step::MoveOpen(moving) = step {
                let moved = self.rename_kept(label, moving, location, cancelled).await?;
                done.moved.push((index, moved));
                match self.edit_moved(label, moving, location, cancelled).await? {
                    Edited::Not => {}
                    Edited::Document(landed) => done.landed.push((index, *landed)),
                    Edited::Disk(undo) => done.rewritten.push((index, undo)),
                }
            }
        }
        // Last, because an editor's delete is the hardest to take back.
        for (index, (location, step)) in locations.iter().zip(steps).enumerate() {
            if let Step::DeleteOpen { .. } = step {
                let undo = self.delete_open(label, location, cancelled).await?;
                done.deleted.extend(undo.map(|undo| (index, undo)));
            }
        }
        Ok(())
    }

    /// Has the editor delete a file; gives how it comes back, bytes, mode and all. Nothing where it
    /// is too large to be kept.
    pub(super) async fn delete_open(
        &self,
        label: &str,
        location: &Location,
        cancelled: &CancellationToken,
    ) -> Result<Option<Undo>, ApplyError> {
        let Some(path) = location.path() else {
            return Err(refused(location.clone(), "it has no file"));
        };
        let dirty = self.vfs.document(location).is_some_and(|it| it.dirty != Dirty::Clean);
        if dirty {
            return Err(refused(location.clone(), "its buffer holds unsaved text"));
        }
        let undo = match self.vfs.stat(path) {
            Ok(stat) if stat.len <= MAX_KEPT => self
                .vfs
                .keep_file(path)
                .map_err(|error| refused(location.clone(), &format!("no undo copy: {error}")))?,
            Ok(_) | Err(_) => None,
        };
        let options = json!({"ignoreIfNotExists": true, "recursive": false});
        let change = json!({"kind": "delete", "uri": self.uris.of(location), "options": options});
        let before = self.vfs.open_snapshot(location).map(|it| it.rope);
        self.vfs.expect_close(location);
        let answer = self.apply_edit(label, change, cancelled).await;
        let last = self.vfs.closed_with(location);
        match (self.vfs.link_stat(path), answer) {
            (Err(_), _) => match last.filter(|last| before.as_ref().is_some_and(|it| it != last)) {
                None => Ok(undo),
                Some(typed) => Err(self.bring_typed_back(location, undo, &typed).await),
            },
            (Ok(_), Err(denial)) => Err(refused(location.clone(), denial.reason())),
            (Ok(_), Ok(())) => Err(refused(
                location.clone(),
                "the editor says it deleted the file, but it is there",
            )),
        }
    }

    /// Makes a file again in which the person typed while the editor deleted it, with what they typed.
    async fn bring_typed_back(
        &self,
        location: &Location,
        undo: Option<Undo>,
        typed: &Rope,
    ) -> ApplyError {
        let text = typed.to_string();
        let made = match undo {
            Some(undo) => match self.revert(undo).await {
                Ok(()) => self.vfs.snapshot(location).ok().map(|base| {
                    let changes = ChangeSet::between(&base.rope, typed);
                    self.plan_edit(&base, &changes)
                }),
                Err(_) => Some(self.plan_create(location, &text)),
            },
            None => Some(self.plan_create(location, &text)),
        };
        let written = match made {
            Some(Ok(step)) => self.commit(step.ops).await.map(drop),
            Some(Err(error)) => Err(error),
            None => Ok(()),
        };
        match written {
            Ok(()) => refused(
                location.clone(),
                "the person typed in it as the editor deleted it; it is there again with their text",
            ),
            Err(error) => error,
        }
    }

    /// Whether a file has this text, in the editor or on disk.
    pub(super) fn has_text(&self, location: &Location, text: &Rope) -> bool {
        self.vfs.snapshot(location).is_ok_and(|it| it.rope == *text)
    }

    /// Takes back what was done. What cannot be, because of newer typing, is named in the error.
    /// What stays is pending, so that the person can still take it out.
    async fn take_back(
        &self,
        label: &str,
        error: ApplyError,
        done: Done,
        (held, origin): (&Held, &review::Origin),
    ) -> ApplyError {
        // Nobody can cancel this: half a transaction is worse than a late answer.
        let never = CancellationToken::new();
        let label = format!("Undo: {label}");
        let mut kept = None;
        for (_, landed) in done.landed.into_iter().rev() {
            let location = landed.now.location.clone();
            self.review.unsure(&location);
            let taken_back = match &landed.inverse {
                Some(inverse) => {
                    self.change_document(&label, &landed.now, inverse, &never).await.is_ok()
                }
                None => false,
            };
            if !taken_back {
                held.enter(&location, Entry::Changed, &landed.entered(), origin);
                let stays = of_text(&location, &landed.before, &landed.changes);
                let call = origin.calls.first().map(String::as_str).unwrap_or_default();
                self.record((&origin.session, call), vec![stays]).await;
                self.publish();
                kept = Some(location);
            }
        }
        let deleted = done.deleted.into_iter().rev().map(|(_, undo)| undo);
        let rewritten = done.rewritten.into_iter().rev().map(|(_, undo)| undo);
        for undo in deleted.chain(rewritten).chain(done.written.map(|it| it.undo)) {
            if let Err(location) = self.revert(undo).await {
                kept = Some(location);
            }
        }
        for (_, Moved { moving, to, .. }) in done.moved.into_iter().rev() {
            if self.move_back(&label, &moving, &to).await.is_err() {
                held.moved(&moving.from, &to, &moving.before, origin);
                self.publish();
                kept = Some(to);
            }
        }
        match kept {
            Some(kept) => ApplyError::Conflict { failed: error.to_string(), kept },
            None => error,
        }
    }

    /// Enters what was done as pending.
    fn enter(
        &self,
        held: &Held,
        (locations, steps, kinds): (&[Location], &[Step], &[Kind]),
        done: &Done,
        origin: &review::Origin,
    ) {
        let names = Names { locations, kinds };
        for (index, ((location, step), kind)) in locations.iter().zip(steps).zip(kinds).enumerate()
        {
            let removal = |path: &Path| {
                if let Some((_, undo)) = done.deleted.iter().find(|(of, _)| *of == index) {
                    return Some(undo.clone());
                }
                let undo = &done.written.as_ref()?.undo;
                let path = self.vfs.standing_path(path);
                let entry = undo.entries.iter().find(|entry| entry.path == path)?;
                Some(Undo { entries: vec![entry.clone()], folders: Vec::new() })
            };
            let entry = match kind {
                Kind::Modify => Entry::Changed,
                Kind::Create if names.is_replaced(location) => {
                    self.enter_replaced(held, location, location.path().and_then(removal), origin);
                    continue;
                }
                Kind::Create => Entry::Created,
                Kind::Delete if names.is_taken(location) => continue,
                Kind::Delete => Entry::Deleted(location.path().and_then(removal)),
                Kind::Move(from) if names.is_replaced(location) => {
                    self.enter_replaced(held, location, location.path().and_then(removal), origin);
                    if let (Some((before, _)), false) = (step.moved(), names.is_taken(from)) {
                        let entry = Entry::Deleted(from.path().and_then(removal));
                        held.enter(from, entry, &whole(before, &emptied(before)), origin);
                    }
                    continue;
                }
                Kind::Move(from) => {
                    let Some((before, changes)) = step.moved() else { continue };
                    let undo = from.path().and_then(removal);
                    let kept = undo.clone().and_then(|it| it.entries.into_iter().next()?.before);
                    let by_editor = done.moved.iter().find(|(of, _)| *of == index);
                    let kept = kept.or_else(|| by_editor.and_then(|(_, it)| it.image.clone()));
                    if let Some(image) = kept {
                        held.keep_before(from, image);
                    }
                    if held.moved(from, location, before, origin) {
                        let landed = done.landed.iter().find(|(of, _)| *of == index);
                        match landed {
                            Some((_, landed)) => {
                                held.enter(location, Entry::Changed, &landed.entered(), origin);
                            }
                            None if changes.is_identity() => {}
                            None => {
                                held.enter(
                                    location,
                                    Entry::Changed,
                                    &whole(before, changes),
                                    origin,
                                );
                            }
                        }
                        continue;
                    }
                    // Something else is pending there: a file that went and one that came.
                    let entry = Entry::Deleted(undo);
                    held.enter(from, entry, &whole(before, &emptied(before)), origin);
                    let text = changes.apply(before).to_string();
                    let added = vec![Edit::new(0..0, text)];
                    let added = ChangeSet::new(0, added).unwrap_or_else(|_| ChangeSet::identity(0));
                    held.enter(location, Entry::Created, &whole(&Rope::new(), &added), origin);
                    continue;
                }
            };
            match step {
                Step::Document { .. } => {
                    let Some((_, landed)) = done.landed.iter().find(|(of, _)| *of == index) else {
                        continue;
                    };
                    if let (Dirty::Clean, Some(path)) = (landed.buffer.dirty, location.path())
                        && let Ok(Some(undo)) = self.keep_if_not_plain(path, &landed.before)
                    {
                        self.keep_before(held, location, &undo);
                    }
                    held.enter(location, entry, &landed.entered(), origin);
                }
                Step::Disk(step) => {
                    let DiskStep { before, changes, .. } = &**step;
                    if let (Entry::Changed, Some(Committed { undo, .. })) = (&entry, &done.written)
                    {
                        self.keep_before(held, location, undo);
                    }
                    held.enter(location, entry, &whole(before, changes), origin);
                }
                Step::DeleteOpen { before } => {
                    held.enter(location, entry, &whole(before, &emptied(before)), origin);
                }
                // Entered as a move above.
                Step::MoveOpen(_) => {}
            }
        }
    }

    /// Remembers the bytes that a file had, from how its change is taken back.
    fn keep_before(&self, held: &Held, location: &Location, undo: &Undo) {
        let Some(path) = location.path().map(|path| self.vfs.real_path(path)) else { return };
        let entry = undo.entries.iter().find(|entry| entry.path == path);
        if let Some(image) = entry.and_then(|entry| entry.before.clone()) {
            held.keep_before(location, image);
        }
    }

    /// Keeps a file whose bytes its text alone does not tell: of another encoding, or damaged.
    fn keep_if_not_plain(&self, path: &Path, text: &Rope) -> std::io::Result<Option<Undo>> {
        let path = self.vfs.real_path(path);
        let bytes = self.vfs.read_bytes(&path, MAX_KEPT)?;
        if *text == *String::from_utf8_lossy(&bytes) && std::str::from_utf8(&bytes).is_ok() {
            return Ok(None);
        }
        self.vfs.keep_file(&path)
    }

    /// Saves where the policy says so and sums up.
    async fn settle(
        &self,
        locations: Vec<Location>,
        (steps, kinds): (Vec<Step>, &[Kind]),
        done: Done,
        approval: Approval,
    ) -> Applied {
        let mut landed = done.landed;
        let mut files = Vec::with_capacity(steps.len());
        for (index, ((location, step), kind)) in
            locations.into_iter().zip(steps).zip(kinds).enumerate()
        {
            let at = landed.iter().position(|(of, _)| *of == index);
            let landed = at.map(|at| landed.swap_remove(at).1);
            let (before, changes, kept) = match (step, landed) {
                (Step::Document { .. } | Step::MoveOpen(_), Some(landed)) => {
                    let kept = self.keep(&location, landed.buffer, approval).await;
                    (landed.before, landed.changes, kept)
                }
                (Step::Document { .. }, None) => continue,
                (Step::MoveOpen(moving), None) => (moving.before, moving.changes, Kept::Disk),
                (Step::Disk(step), _) => {
                    let is_behind = kind.from().is_some_and(|from| self.vfs.is_open(from));
                    let kept = if is_behind { Kept::OldName } else { Kept::Disk };
                    (step.before, step.changes, kept)
                }
                (Step::DeleteOpen { before }, _) => {
                    let changes = emptied(&before);
                    (before, changes, Kept::Disk)
                }
            };
            let after = changes.apply(&before);
            files.push(AppliedFile { location, before, after, changes, kept });
        }
        Applied { files }
    }
}

impl Step {
    /// Bytes of the text before.
    fn size(&self) -> u64 {
        let before = match self {
            Step::Document { base, .. } => &base.rope,
            Step::Disk(step) => &step.before,
            Step::DeleteOpen { before } => before,
            Step::MoveOpen(moving) => &moving.before,
        };
        before.len_bytes() as u64
    }

    /// The text of a file that is moved, and what changes in it.
    fn moved(&self) -> Option<(&Rope, &ChangeSet)> {
        match self {
            Step::Disk(step) => Some((&step.before, &step.changes)),
            Step::MoveOpen(moving) => Some((&moving.before, &moving.changes)),
            Step::Document { .. } | Step::DeleteOpen { .. } => None,
        }
    }
}

/// What an operation is, once its contents have been taken out.
pub(super) enum Kind {
    Modify,
    Create,
    Delete,
    Move(Location),
}

impl Kind {
    /// Where a file that is moved comes from.
    pub(super) fn from(&self) -> Option<&Location> {
        match self {
            Kind::Move(from) => Some(from),
            Kind::Modify | Kind::Create | Kind::Delete => None,
        }
    }

    fn touch(&self) -> Touch {
        match self {
            Kind::Delete => Touch::Name,
            Kind::Modify => Touch::NewContent,
            Kind::Create | Kind::Move(_) => Touch::Content,
        }
    }

    fn of(op: &FileOp) -> Kind {
        match op {
            FileOp::Modify { .. } => Kind::Modify,
            FileOp::Create { .. } => Kind::Create,
            FileOp::Delete { .. } => Kind::Delete,
            FileOp::Move { from, .. } => Kind::Move(from.clone()),
        }
    }
}

/// An edit of a closed file.
pub(super) fn whole<'a>(before: &'a Rope, changes: &'a ChangeSet) -> Entered<'a> {
    Entered { before, changes, generation: None, now: None, since: None }
}

impl Landed {
    /// The edit as the ledger takes it.
    pub(super) fn entered(&self) -> Entered<'_> {
        Entered {
            before: &self.before,
            generation: Some(self.generation),
            changes: &self.changes,
            now: Some(&self.now),
            since: Some(&self.since),
        }
    }
}

fn location(op: &FileOp) -> &Location {
    match op {
        FileOp::Modify { base, .. } => &base.location,
        FileOp::Create { location, .. } | FileOp::Delete { location } => location,
        FileOp::Move { to, .. } => to,
    }
}

/// Where a file that is moved comes from.
fn origin(op: &FileOp) -> Option<&Location> {
    match op {
        FileOp::Move { from, .. } => Some(from),
        FileOp::Modify { .. } | FileOp::Create { .. } | FileOp::Delete { .. } => None,
    }
}

fn disk_ops(step: &Step) -> &[DiskOp] {
    match step {
        Step::Disk(step) => &step.ops,
        Step::Document { .. } | Step::DeleteOpen { .. } | Step::MoveOpen(_) => &[],
    }
}

pub(super) fn refused(location: Location, reason: &str) -> ApplyError {
    ApplyError::Refused { location, reason: reason.to_owned() }
}

//! Taking back what the agent did to files, and that back again.
//!
//! Invariant: only files of the steps are touched, open documents through the editor, closed ones in journaled
//! commits, each under its lock; what cannot be taken back stays and is said. Git is not asked.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::PoisonError;

use agent::editor::{ApplyError, Approval};
use agent::timeline::{FileStep, Replaced, Stood};
use protocol::RestoreConflict;
use review::{HunkId, Origin, Remembered};
use text::{ChangeSet, Edit, Rope};
use tokio::task::spawn_blocking;
use vfs::{Dirty, Image, Location, Undo, UndoEntry, Vfs, same_but_line_endings};

use super::decisions::Carried;
use super::moving_back::Names;
use super::record::{Was, replaced};
use super::transaction::whole;
use super::walk::{Link, State, Walked, walk};
use super::{LspEditor, Parts};
use crate::review::Held;
use crate::review::folders::remove_empty;
use crate::review::places::LIES_ELSEWHERE;
use crate::review::returning::Back;

/// What the person sees a restore called in their editor's undo.
pub(super) const LABEL: &str = "Restore a checkpoint";
const BEHIND: &str = "its file was changed on disk, and the editor still shows the text before; reload it \
                      there and restore again";
/// Restores whose hunks are remembered for their undo.
const KEPT_MEMORIES: usize = 20;

/// What a restore came to, or would.
#[derive(Debug, Default)]
pub struct Restored {
    /// URIs of the files that changed.
    pub files: Vec<String>,
    /// Files that are not wholly as they were.
    pub conflicts: Vec<RestoreConflict>,
    /// Numbers of the steps that are taken back.
    pub taken: Vec<usize>,
    /// What it did to files.
    pub steps: Vec<FileStep>,
    /// The revision of the pending hunks after it.
    pub rev: u64,
}

/// What becomes of hunks.
#[derive(Clone, Copy)]
enum Hunks<'a> {
    /// They go with what is taken back.
    Go,
    /// They come back, those of this session.
    Return(Option<&'a Remembered<Location>>, &'a Origin),
}

impl LspEditor {
    /// Waits until everything the agent did so far is recorded.
    pub async fn recorded(&self) {
        self.0.recorded().await;
    }

    /// Names of files for the client, each once.
    pub fn uris_of<'a>(&self, files: impl Iterator<Item = &'a Location>) -> Vec<String> {
        let files: BTreeSet<&Location> = files.collect();
        files.into_iter().map(|it| self.0.uris.of(it)).collect()
    }

    /// What [`LspEditor::restore`] would come to now.
    pub async fn would_restore(&self, session: &str, steps: &[(usize, FileStep)]) -> Restored {
        self.0.review.follow_all();
        let mut restored = Restored::default();
        let mut files = by_file(steps);
        self.0.would_move_back(session, &mut files, &mut restored).await;
        for (location, steps) in files {
            let (now, walked) = self.0.walk_back(session, &location, &steps).await;
            self.0.sum_up(&mut restored, &location, &steps, (walked.target != now, walked.reason));
        }
        restored.files.sort_unstable();
        restored.files.dedup();
        restored.conflicts.sort_by(|a, b| a.uri.cmp(&b.uri));
        restored
    }

    /// Takes steps of a session back, with their numbers, oldest first.
    pub async fn restore(
        &self,
        session: &str,
        number: u64,
        steps: &[(usize, FileStep)],
    ) -> Restored {
        let parts = &self.0;
        let mut files = by_file(steps);
        let _locks = parts.locks.take(files.keys()).await;
        parts.review.follow_all();
        let mut restored = Restored::default();
        let mut memories = BTreeMap::new();
        let pending = parts.review.table().ledger.hunk_ids();
        for location in files.keys() {
            let memory = parts.review.table().ledger.remember(location);
            memories.insert(location.clone(), memory);
        }
        parts.move_names_back(session, &mut files, Names::Go, &mut restored).await;
        for (location, steps) in newest_first(&files) {
            parts.restore_file((session, location), steps, Hunks::Go, &mut restored).await;
        }
        // Once all is done: what is pending under one name returns under no other.
        for (location, steps) in &files {
            if restored.steps.iter().any(|it| it.file == *location) {
                parts.return_hunks(location, steps, &pending).await;
            }
        }
        let made = steps.iter().flat_map(|(_, step)| step.folders.iter().cloned());
        remove_empty(&parts.vfs, &made.collect());
        {
            let mut kept = parts.recording.memories.lock().unwrap_or_else(PoisonError::into_inner);
            kept.insert((session.to_owned(), number), memories);
            while kept.len() > KEPT_MEMORIES {
                kept.pop_first();
            }
        }
        parts.finish(restored).await
    }

    /// Takes a restore back; the hunks there were come back too.
    pub async fn unrestore(&self, session: &str, number: u64, made: &[FileStep]) -> Restored {
        let parts = &self.0;
        let numbered: Vec<(usize, FileStep)> = made.iter().cloned().enumerate().collect();
        let mut files = by_file(&numbered);
        let _locks = parts.locks.take(files.keys()).await;
        parts.review.follow_all();
        let memories = {
            let mut kept = parts.recording.memories.lock().unwrap_or_else(PoisonError::into_inner);
            kept.remove(&(session.to_owned(), number)).unwrap_or_default()
        };
        let mut restored = Restored::default();
        let names = Names::Return(session, &memories);
        parts.move_names_back(session, &mut files, names, &mut restored).await;
        for (location, steps) in newest_first(&files) {
            let call = steps.first().map(|(_, step)| step.call.as_str()).unwrap_or_default();
            let origin = Origin::of(session, call);
            let hunks = Hunks::Return(memories.get(location), &origin);
            parts.restore_file((session, location), steps, hunks, &mut restored).await;
        }
        parts.finish(restored).await
    }
}

pub(super) type Steps = Vec<(usize, FileStep)>;

/// The file that was changed last comes first: cells that went come back each beside those that were
/// there.
fn newest_first(files: &BTreeMap<Location, Steps>) -> Vec<(&Location, &Steps)> {
    let mut ordered: Vec<_> = files.iter().collect();
    ordered.sort_by_key(|(_, steps)| Reverse(steps.last().map(|(number, _)| *number)));
    ordered
}

fn by_file(steps: &[(usize, FileStep)]) -> BTreeMap<Location, Steps> {
    let mut files: BTreeMap<Location, Steps> = BTreeMap::new();
    for step in steps {
        files.entry(step.1.file.clone()).or_default().push(step.clone());
    }
    files
}

impl Parts {
    /// Where a file is and where its steps, taken back, lead.
    pub(super) async fn walk_back(
        &self,
        session: &str,
        location: &Location,
        steps: &Steps,
    ) -> (State, Walked) {
        let known = {
            let table = self.review.table();
            let text = table.ledger.current(location).cloned();
            text.map(|text| (text, table.ledger.others_in(location, session)))
        };
        let shown = self.cells.now(location);
        let (vfs, location, steps) = (self.vfs.clone(), location.clone(), steps.clone());
        let walked = spawn_blocking(move || {
            if lies_elsewhere(&vfs, &location, &steps) {
                // Nothing of what is there now is read, or it would be kept.
                return stays(LIES_ELSEWHERE);
            }
            let now = now_at(&vfs, (&location, &shown), &steps);
            let others = known.filter(|(text, _)| now.text() == Some(text));
            let others = others.map(|(_, others)| others).unwrap_or_default();
            let mut walked = walk(&now, &links(&vfs, &steps), &others);
            if walked.target == now && now.image().is_none() && vfs.is_behind(&location) {
                walked.reason = walked.reason.or(Some(BEHIND));
            }
            (now, walked)
        });
        walked.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a file's earlier state was not worked out");
            stays("it failed; the log says why")
        })
    }

    async fn restore_file(
        &self,
        (session, location): (&str, &Location),
        steps: &Steps,
        hunks: Hunks<'_>,
        restored: &mut Restored,
    ) {
        let (now, walked) = self.walk_back(session, location, steps).await;
        if walked.target == now {
            return self.sum_up(restored, location, steps, (false, walked.reason));
        }
        let shown = self.cells.now(location);
        let acted = match (&now, &walked.target) {
            (State::Text(..), State::Text(..)) => &shown,
            (_, _) => location,
        };
        let held = self.review.hold([acted]);
        let done = self.carry_back(acted, (&now, &walked), &held, hunks).await;
        if done.is_ok() {
            held.note_place(acted);
        }
        drop(held);
        match done {
            Ok((before, after, edits)) => {
                let call = steps.last().map(|(_, step)| step.call.clone()).unwrap_or_default();
                let (before, after) = (self.kept(before).await, self.kept(after).await);
                let real = place(&self.vfs, location, [&before, &after]);
                let (file, folders, pending) = (location.clone(), Vec::new(), None);
                restored.steps.push(FileStep {
                    call,
                    file,
                    real,
                    before,
                    after,
                    edits,
                    folders,
                    pending,
                    moved_from: None,
                });
                self.save_decided(location).await;
                self.sum_up(restored, location, steps, (true, walked.reason));
            }
            Err(error) => {
                let reason = error.to_string();
                self.sum_up(restored, location, steps, (false, Some(&reason)));
            }
        }
    }

    /// What these steps took away is pending again, where they were taken back.
    async fn return_hunks(&self, location: &Location, steps: &Steps, pending: &BTreeSet<HunkId>) {
        if self.cells.now(location) != *location {
            // A cell that came back is another to the editor.
            return;
        }
        let Some(back) = self.kept_pending(steps).await else { return };
        let held = self.review.hold([location]);
        let calls = steps.iter().map(|(_, step)| step.call.clone()).collect();
        let text = self.text_now(location);
        held.return_hunks(location, text.as_ref(), &back, (calls, pending));
        held.note_place(location);
    }

    /// What was pending before these steps.
    async fn kept_pending(&self, steps: &Steps) -> Option<Back> {
        let kept: Vec<[u8; 32]> = steps.iter().filter_map(|(_, step)| step.pending).collect();
        let vfs = self.vfs.clone();
        let read = spawn_blocking(move || {
            // One that was dropped for room: its hunks stay as they are.
            Back::read(kept.into_iter().filter_map(|it| vfs.blob(it).ok()))
        });
        read.await.unwrap_or_default()
    }

    /// The text of a file; nothing where there is none.
    fn text_now(&self, location: &Location) -> Option<Rope> {
        let known = self.review.table().ledger.current(location).cloned();
        if known.is_some() {
            return known;
        }
        let gone = location.path().is_some_and(|path| self.vfs.link_stat(path).is_err());
        let now = (!gone).then(|| self.vfs.snapshot(location).ok())?;
        now.map(|it| it.rope)
    }

    pub(super) fn sum_up(
        &self,
        restored: &mut Restored,
        location: &Location,
        steps: &Steps,
        (changes, reason): (bool, Option<&str>),
    ) {
        let uri = self.uris.of(location);
        match reason {
            None => restored.taken.extend(steps.iter().map(|(number, _)| *number)),
            Some(reason) => restored
                .conflicts
                .push(RestoreConflict { uri: uri.clone(), reason: reason.to_owned() }),
        }
        if changes {
            restored.files.push(uri);
        }
    }

    async fn finish(&self, mut restored: Restored) -> Restored {
        self.publish_kept().await;
        restored.files.sort_unstable();
        restored.files.dedup();
        restored.conflicts.sort_by(|a, b| a.uri.cmp(&b.uri));
        restored.taken.sort_unstable();
        restored.rev = self.review.table().ledger.rev();
        restored
    }

    /// Brings a file to its target and the ledger with it; gives what it was, is, and where it differs.
    async fn carry_back(
        &self,
        location: &Location,
        (now, walked): (&State, &Walked),
        held: &Held,
        hunks: Hunks<'_>,
    ) -> Result<(Was, Was, Vec<Replaced>), ApplyError> {
        match (now, &walked.target) {
            (State::Text(text, Some(_)), target) if self.vfs.is_open(location) => {
                self.change_behind(location, (now, target)).await?;
                held.forget_awaited(location);
                let edits = target.text().map(|target| replaced(&fitting(walked, text, target)));
                Ok((was(now), was(target), edits.unwrap_or_default()))
            }
            (State::Text(text, _), State::Text(target, _))
                if self.vfs.is_open(location) || walked.target.image().is_none() =>
            {
                let changes = fitting(walked, text, target);
                self.change_back(location, &changes, held, hunks).await
            }
            (State::Text(..) | State::Opaque(_), State::Text(..) | State::Opaque(_)) => {
                self.exchange(location, (now, &walked.target)).await?;
                if let (Some(text), Some(target)) = (now.text(), walked.target.text()) {
                    let changes = fitting(walked, text, target);
                    held.decide(location, Some(&whole(text, &changes)), |ledger| {
                        hunks.text(ledger, location, (text, &changes));
                    });
                    return Ok((was(now), was(&walked.target), replaced(&changes)));
                }
                Ok((was(now), was(&walked.target), Vec::new()))
            }
            (_, State::Absent) => {
                let before = self.remove(location, now, held).await?;
                held.decide(location, None, |ledger| match hunks {
                    Hunks::Return(Some(remembered), _) => ledger.put_back(location, remembered),
                    Hunks::Return(None, origin) => {
                        ledger.deleted(location, now.text().unwrap_or(&Rope::new()), origin);
                    }
                    Hunks::Go => ledger.forget(location),
                });
                Ok((before, Was::Nothing, Vec::new()))
            }
            (_, target) => {
                let after = self.make(location, target).await?;
                held.decide(location, None, |ledger| match (hunks, target.text()) {
                    (Hunks::Return(Some(remembered), _), _) => {
                        ledger.put_back(location, remembered);
                    }
                    (Hunks::Return(None, origin), Some(text)) => {
                        ledger.created(location, &text.to_string(), origin);
                    }
                    (Hunks::Go, Some(text)) => ledger.came_back(location, text),
                    (Hunks::Go | Hunks::Return(None, _), None) => ledger.forget(location),
                });
                Ok((Was::Nothing, after, Vec::new()))
            }
        }
    }

    /// Changes text where it is: in the editor, or in its file.
    async fn change_back(
        &self,
        location: &Location,
        changes: &ChangeSet,
        held: &Held,
        hunks: Hunks<'_>,
    ) -> Result<(Was, Was, Vec<Replaced>), ApplyError> {
        let carried = self.change_text(LABEL, location, changes, held).await;
        match carried.inspect_err(|_| held.failed())? {
            Carried::Document(landed) | Carried::Emptied(landed) => {
                let edit = (&landed.before, &landed.changes);
                held.decide(location, Some(&landed.entered()), |ledger| {
                    hunks.text(ledger, location, edit);
                });
                let after = landed.changes.apply(&landed.before);
                let edits = replaced(&landed.changes);
                self.keep(location, landed.buffer, Approval::Person).await;
                Ok((Was::Text(landed.before), Was::Text(after), edits))
            }
            Carried::Disk(step) => {
                held.decide(location, Some(&whole(&step.before, &step.changes)), |ledger| {
                    hunks.text(ledger, location, (&step.before, &step.changes));
                });
                let after = step.changes.apply(&step.before);
                let edits = replaced(&step.changes);
                Ok((Was::Text(step.before), Was::Text(after), edits))
            }
            Carried::File => Ok((Was::Nothing, Was::Nothing, Vec::new())),
        }
    }

    /// Puts a closed file's own bytes in the place of those there are.
    async fn exchange(
        &self,
        location: &Location,
        (now, target): (&State, &State),
    ) -> Result<(), ApplyError> {
        let path = self.path_of(location, now.image())?;
        let entry =
            UndoEntry { path, before: target.image().cloned(), after: now.image().cloned() };
        self.put(location, entry).await
    }

    /// Gives a file that was changed on disk what it had before: the text that the editor shows of it, or
    /// whatever it was where the editor has unsaved text, which stays.
    async fn change_behind(
        &self,
        location: &Location,
        (now, target): (&State, &State),
    ) -> Result<(), ApplyError> {
        let open = self.vfs.open_snapshot(location);
        let shown = open.is_some_and(|it| target.text().is_some_and(|text| shows(&it.rope, text)));
        let is_shown = shown && target.image().is_some() && self.vfs.is_behind(location);
        let is_known = target.image().is_some() || *target == State::Absent;
        if !(is_shown || is_known && self.vfs.is_apart(location)) {
            return Err(refused(location, BEHIND));
        }
        self.exchange(location, (now, target)).await
    }

    async fn make(&self, location: &Location, target: &State) -> Result<Was, ApplyError> {
        if let Some(image) = target.image() {
            let path = self.path_of(location, None)?;
            self.put(location, UndoEntry { path, before: Some(image.clone()), after: None })
                .await?;
            return Ok(Was::File(image.clone()));
        }
        let text = target.text().cloned().unwrap_or_default();
        if let Some(back) = self.bring_cell_back(LABEL, location, &text.to_string()).await {
            return back.map(|()| Was::Text(text));
        }
        let step = self.plan_create(location, &text.to_string())?;
        let committed = self.commit(step.ops).await?;
        let image = committed.undo.entries.into_iter().find_map(|it| it.after);
        Ok(image.map_or(Was::Text(text), Was::File))
    }

    async fn remove(
        &self,
        location: &Location,
        now: &State,
        held: &Held,
    ) -> Result<Was, ApplyError> {
        if let Some(gone) = self.take_cell_away(LABEL, location).await {
            return gone.map(|()| was(now));
        }
        if self.vfs.is_open(location) {
            let ours = self.vfs.document(location).is_some_and(|it| it.dirty == Dirty::Ours);
            if ours && self.client.saves() {
                self.save(std::slice::from_ref(location)).await;
            }
            let image = location.path().and_then(|path| self.vfs.standing(path).ok().flatten());
            let bytes = location.path().and_then(|path| self.vfs.read_bytes(path, 64 << 20).ok());
            if let Some(bytes) = bytes {
                self.vfs
                    .keep_blob(&bytes)
                    .map_err(|error| refused(location, &error.to_string()))?;
            }
            self.take_away(LABEL, location, held).await?;
            return Ok(image.map_or_else(|| was(now), |it| Was::File(it.image)));
        }
        let path = self.path_of(location, now.image())?;
        self.put(location, UndoEntry { path, before: None, after: now.image().cloned() }).await?;
        Ok(was(now))
    }

    /// Makes a path what `entry.before` says, provided it is what `entry.after` says.
    async fn put(&self, location: &Location, entry: UndoEntry) -> Result<(), ApplyError> {
        let undo = Undo { entries: vec![entry], folders: Vec::new() };
        let reverted = self.revert(undo).await;
        reverted.map_err(|_| refused(location, "it changed just now, or cannot be written"))
    }

    /// The path of a file's bytes: behind a link where the image is that of a file.
    fn path_of(&self, location: &Location, image: Option<&Image>) -> Result<PathBuf, ApplyError> {
        let path = location.path().ok_or_else(|| refused(location, "it has no file"))?;
        Ok(match image {
            Some(Image::File { .. }) => vfs::Roots::real(path),
            Some(Image::Symlink { .. }) | None => self.vfs.standing_path(path),
        })
    }
}

impl Hunks<'_> {
    fn text(
        self,
        ledger: &mut review::Ledger<Location>,
        location: &Location,
        (before, changes): (&Rope, &ChangeSet),
    ) {
        match self {
            Hunks::Go => ledger.restored(location, changes),
            Hunks::Return(remembered, origin) => {
                ledger.unrestored(location, (before, changes), remembered, origin);
            }
        }
    }
}

/// The changes of the walk where they lead from one text to the other, else their difference.
fn fitting(walked: &Walked, text: &Rope, target: &Rope) -> ChangeSet {
    let fits =
        walked.changes.len_before() == text.len_bytes() && walked.changes.apply(text) == *target;
    if fits { walked.changes.clone() } else { ChangeSet::between(text, target) }
}

fn was(state: &State) -> Was {
    match state {
        State::Absent | State::Unknown(None) => Was::Nothing,
        State::Text(text, None) => Was::Text(text.clone()),
        State::Text(_, Some(image)) | State::Opaque(image) | State::Unknown(Some(image)) => {
            Was::File(image.clone())
        }
    }
}

/// A file that nothing is done to.
fn stays(reason: &'static str) -> (State, Walked) {
    let nothing = ChangeSet::identity(0);
    let walked = Walked { target: State::Absent, changes: nothing, reason: Some(reason) };
    (State::Absent, walked)
}

/// Whether a file's path leads elsewhere than when the agent changed it.
fn lies_elsewhere(vfs: &Vfs, location: &Location, steps: &Steps) -> bool {
    let of_link = |step: &&FileStep| is_link(&step.before) || is_link(&step.after);
    let mut steps = steps.iter().map(|(_, step)| step);
    // Once a link itself was made or deleted, what its path led to before says nothing of now.
    let Some(step) = steps.clone().rfind(of_link).or_else(|| steps.next_back()) else {
        return false;
    };
    let Some(then) = &step.real else { return false };
    place(vfs, location, [&step.before, &step.after]).is_some_and(|now| now != *then)
}

/// Where a file that was one and became the other has its bytes; where it stands, if it was a link.
fn place(vfs: &Vfs, file: &Location, sides: [&Stood; 2]) -> Option<PathBuf> {
    let path = file.path()?;
    let link = sides.into_iter().any(is_link);
    Some(if link { vfs.standing_path(path) } else { vfs.real_path(path) })
}

fn is_link(stood: &Stood) -> bool {
    matches!(stood, Stood::File(Image::Symlink { .. }))
}

/// What stands at a file now, as its last step would see it.
fn now_at(vfs: &Vfs, (location, shown): (&Location, &Location), steps: &Steps) -> State {
    let gone = steps.last().is_some_and(|(_, step)| step.after == Stood::Nothing);
    // The editor may still show the text of a file that is gone.
    let is_there = match location.path() {
        Some(path) => vfs.link_stat(path).is_ok(),
        None => vfs.is_open(shown),
    };
    let gone = gone && !is_there;
    if let Some(open) = vfs.open_snapshot(shown).filter(|_| !gone) {
        return unread(vfs, location, steps).unwrap_or(State::Text(open.rope, None));
    }
    let Some(path) = location.path() else {
        return if gone { State::Absent } else { State::Unknown(None) };
    };
    let links = steps.iter().any(|(_, step)| is_link(&step.before) || is_link(&step.after));
    let path = if links { path.to_owned() } else { vfs::Roots::real(path) };
    match vfs.standing(&path) {
        Ok(None) => State::Absent,
        Ok(Some(it)) => match it.text {
            Some(text) => State::Text(text, Some(it.image)),
            None => State::Opaque(it.image),
        },
        Err(error) => {
            tracing::info!(%location, %error, "a file to restore cannot be read");
            State::Unknown(None)
        }
    }
}

/// What a command made of a file that the editor shows as it was before, or with unsaved text.
fn unread(vfs: &Vfs, location: &Location, steps: &Steps) -> Option<State> {
    let (_, last) = steps.last()?;
    let Stood::File(after) = &last.after else { return None };
    if !vfs.is_behind(location) && !vfs.is_apart(location) {
        return None;
    }
    let standing = vfs.standing(&vfs::Roots::real(location.path()?)).ok()??;
    let same = standing.image.same_content(after);
    same.then_some(State::Text(standing.text?, Some(standing.image)))
}

/// Whether an editor that shows `shown` shows this text of a file.
fn shows(shown: &Rope, text: &Rope) -> bool {
    shown == text || same_but_line_endings(&shown.to_string(), &text.to_string())
}

/// The steps with what they are about, the newest first. Steps that follow each other are one where what
/// was between them is not kept any more.
fn links(vfs: &Vfs, steps: &Steps) -> Vec<Link> {
    let mut links: Vec<Link> = Vec::new();
    for (_, step) in steps.iter().rev() {
        let (before, after) = (state(vfs, &step.before), state(vfs, &step.after));
        let lost = matches!(after, State::Unknown(_));
        match links.last_mut() {
            Some(newer) if lost && newer.before.is_like(&after) => {
                newer.before = before;
                newer.wanted = None;
            }
            Some(_) | None => {
                let wanted = wanted(&before, &after, &step.edits);
                links.push(Link { before, after, wanted });
            }
        }
    }
    links
}

fn state(vfs: &Vfs, stood: &Stood) -> State {
    match stood {
        Stood::Nothing => State::Absent,
        Stood::Lost => State::Unknown(None),
        Stood::Text { blob } => match vfs.blob(*blob).map(String::from_utf8) {
            Ok(Ok(text)) => State::Text(Rope::from_str(&text), None),
            Ok(Err(_)) | Err(_) => State::Unknown(None),
        },
        Stood::File(image) => match vfs.image_text(image) {
            Ok(Some(text)) => State::Text(text, Some(image.clone())),
            Ok(None) => State::Opaque(image.clone()),
            Err(_) => State::Unknown(Some(image.clone())),
        },
    }
}

/// What undoes a step, from where it changed the text.
fn wanted(before: &State, after: &State, edits: &[Replaced]) -> Option<ChangeSet> {
    let (before, after) = (before.text()?, after.text()?);
    if edits.is_empty() {
        return None;
    }
    let (mut gained, mut lost) = (0, 0);
    let mut forward = Vec::with_capacity(edits.len());
    for (start, end, len) in edits {
        let at = (start + gained).checked_sub(lost)?;
        let text = after.get_byte_slice(at..at + len)?.to_string();
        forward.push(Edit::new(*start..*end, text));
        gained += len;
        lost += end.checked_sub(*start)?;
    }
    let forward = ChangeSet::new(before.len_bytes(), forward).ok()?;
    (forward.apply(before) == *after).then(|| forward.invert(before))
}

pub(super) fn refused(location: &Location, reason: &str) -> ApplyError {
    ApplyError::Refused { location: location.clone(), reason: reason.to_owned() }
}

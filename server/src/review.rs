//! The agent's pending changes beside the documents they are in.
//!
//! Invariant: while nobody holds a document, what the ledger knows of it follows the document store
//! through every step; a document is held from before an edit of ours until it has been entered.
//! Whatever way the ledger learns of a change, it is noted as untold under the same lock, and is told
//! by whoever takes it from there.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use review::{Decision, Edited, Existence, HunkId, Ledger, Origin};
use text::{ChangeSet, Rope};
use tokio::sync::Notify;
use vfs::{FileKind, Image, Location, Snapshot, Source, Undo, Vfs};

mod bases;
pub mod bounds;
pub mod checked;
mod commands;
pub mod folders;
pub mod keeping;
mod kept;
pub mod lines;
pub mod places;
pub mod plain;
pub mod returning;
pub mod wire;

/// The ledger of one process. Cloning shares it.
#[derive(Clone)]
pub struct Review(Arc<Parts>);

struct Parts {
    vfs: Vfs,
    table: Mutex<Table>,
    /// How many files matter; most changes are of none.
    tracked: AtomicUsize,
    /// Apart from the table, so that a keystroke never waits for a list of hunks to be made.
    watching: Mutex<Watching>,
    /// A document changed that has pending hunks.
    touched: Notify,
    /// Whether what is kept on disk is older than the ledger.
    unsaved: AtomicBool,
    /// Held while something is told, so that nothing older is told later.
    telling: Mutex<()>,
    /// Held while it is written, so that an older state never replaces a newer one.
    writing: Mutex<bases::Bases>,
}

/// What is known.
#[derive(Default)]
pub struct Table {
    /// The pending changes.
    pub ledger: Ledger<Location>,
    /// The generation of each open document that the ledger has followed.
    followed: HashMap<Location, u64>,
    held: HashMap<Location, Holding>,
    /// How deleted files come back with their own bytes.
    deleted: BTreeMap<Location, Undo>,
    /// The texts that deleted files went with, where that is known.
    gone: BTreeMap<Location, Rope>,
    /// The bytes of files as they were before the changes that are pending.
    before: BTreeMap<Location, Image>,
    /// What brings back files that are no more and whose names others have; the last comes last.
    covered: BTreeMap<Location, Vec<Bytes>>,
    /// Where files were, links resolved, when the agent changed them.
    places: BTreeMap<Location, PathBuf>,
    /// Folders that were made for files of the agent's, links resolved.
    folders: BTreeSet<PathBuf>,
    /// What the client was not told of yet.
    untold: Untold,
    keeping: Option<keeping::Keeping>,
    /// What commands do to files.
    commands: commands::Commands,
}

/// A document that is being changed by us.
#[derive(Default)]
struct Holding {
    /// By how many.
    count: usize,
    /// Whether it may have, unseen, an edit of ours or a part of one.
    is_unsure: bool,
}

/// How a file comes back with its own bytes.
#[derive(Default)]
struct Bytes {
    undo: Option<Undo>,
    text: Option<Rope>,
    before: Option<Image>,
}

/// What document changes are looked at for.
#[derive(Default)]
struct Watching {
    /// Files the ledger knows.
    tracked: HashSet<Location>,
    /// Those that changed since the last look.
    touched: BTreeSet<Location>,
}

impl Untold {
    fn len(&self) -> usize {
        self.hunks.len() + self.moved.len()
    }
}

/// Documents that are being changed by us; released when dropped.
pub struct Held {
    review: Review,
    locations: Vec<Location>,
}

/// Files that something happened to.
#[derive(Default)]
struct Untold {
    /// Their hunks are others, or in another state, or go by another name.
    hunks: BTreeSet<Location>,
    /// Their hunks may be elsewhere.
    moved: BTreeSet<Location>,
    /// Decisions and restores moved them, from where and to where; the agents are to know.
    names: Vec<(Location, Location)>,
}

/// What is about to be changed of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// What is in it, wherever its name leads.
    Content,
    /// The same, by an edit of the agent's that was not known before.
    NewContent,
    /// What stands by that name, a link or a file: it goes or moves.
    Name,
}

/// What the agent did to a file.
pub enum Entry {
    /// Changed its text.
    Changed,
    /// Made it.
    Created,
    /// Deleted it; how it comes back.
    Deleted(Option<Undo>),
}

/// An edit in its document.
pub struct Entered<'a> {
    /// The text just before, and the generation it was seen at where it is an open document.
    pub before: &'a Rope,
    /// See `before`.
    pub generation: Option<u64>,
    /// The edit.
    pub changes: &'a ChangeSet,
    /// The document as it was last seen, with the edit in it.
    pub now: Option<&'a Snapshot>,
    /// What led there from the text just after the edit, where that is known.
    pub since: Option<&'a ChangeSet>,
}

impl Review {
    /// Nothing pending yet.
    pub fn new(vfs: Vfs) -> Review {
        Review(Arc::new(Parts {
            vfs,
            table: Mutex::default(),
            tracked: AtomicUsize::new(0),
            watching: Mutex::default(),
            touched: Notify::new(),
            unsaved: AtomicBool::new(false),
            telling: Mutex::default(),
            writing: Mutex::default(),
        }))
    }

    /// Where pending changes are kept across restarts. Nothing is read before it is needed.
    pub fn keep_in(&self, path: PathBuf) {
        self.lock().keeping = Some(keeping::Keeping::new(path));
    }

    /// What is known, as it was kept when this is the first look.
    pub fn table(&self) -> MutexGuard<'_, Table> {
        let mut table = self.lock();
        if table.load(&self.0.vfs) {
            self.count(&table);
        }
        table
    }

    /// A document changed, opened or closed. Costs next to nothing for one without hunks.
    pub fn touch(&self, location: &Location) {
        if self.0.tracked.load(Ordering::Relaxed) == 0 {
            return;
        }
        let mut watching = self.watching();
        if watching.tracked.contains(location) && !watching.touched.contains(location) {
            watching.touched.insert(location.clone());
            self.0.touched.notify_one();
        }
    }

    /// Waits for changes of documents with hunks, or for something that is to be told.
    pub async fn touched(&self) {
        self.0.touched.notified().await;
    }

    /// Held by who tells the client, from before taking what is untold until it is on its way.
    pub fn telling(&self) -> MutexGuard<'_, ()> {
        self.0.telling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows the documents that were touched.
    pub fn follow_touched(&self) {
        let mut table = self.table();
        let touched = std::mem::take(&mut self.watching().touched);
        self.follow(&mut table, touched);
    }

    /// Follows everything the ledger knows of.
    pub fn follow_all(&self) {
        let mut table = self.table();
        let untold = table.untold.len();
        table.welcome_back(&self.0.vfs);
        table.name_by_places(&self.0.vfs);
        table.name_as_open(&self.0.vfs);
        let all: BTreeSet<Location> =
            table.ledger.tracked().chain(table.commands.awaited()).cloned().collect();
        self.follow(&mut table, all);
        if table.untold.len() > untold {
            self.0.touched.notify_one();
        }
    }

    fn follow(&self, table: &mut Table, locations: BTreeSet<Location>) {
        for location in locations {
            // One that is held is followed once it is let go.
            if !table.held.contains_key(&location) {
                table.follow(&self.0.vfs, &location);
            }
        }
        self.count(table);
    }

    /// Holds documents that are about to be changed.
    pub fn hold<'a>(&self, locations: impl IntoIterator<Item = &'a Location>) -> Held {
        self.hold_as(locations.into_iter().map(|it| (it, Touch::Content)))
    }

    /// Holds documents that are about to be changed or to lose their names.
    pub fn hold_as<'a>(&self, locations: impl IntoIterator<Item = (&'a Location, Touch)>) -> Held {
        let mut table = self.table();
        let touched: Vec<(&Location, Touch)> = locations.into_iter().collect();
        let locations: Vec<Location> = touched.iter().map(|(it, _)| (*it).clone()).collect();
        for (location, touch) in touched {
            let is_link = || location.path().is_some_and(|it| places::is_link(&self.0.vfs, it));
            match touch {
                Touch::Name if is_link() => table.name_without_link(&self.0.vfs, location),
                Touch::NewContent => {
                    table.leave_link(&self.0.vfs, location);
                    table.name_as_named(&self.0.vfs, location);
                }
                Touch::Name | Touch::Content => table.name_as_named(&self.0.vfs, location),
            }
            if !table.held.contains_key(location) {
                table.follow(&self.0.vfs, location);
            }
            table.held.entry(location.clone()).or_default().count += 1;
        }
        Held { review: self.clone(), locations }
    }

    /// Takes what decisions and restores moved, from where and to where.
    pub fn take_names(&self) -> Vec<(Location, Location)> {
        std::mem::take(&mut self.lock().untold.names)
    }

    /// Nobody can tell whether an edit of ours is in a document that is held.
    pub fn unsure(&self, location: &Location) {
        if let Some(holding) = self.lock().held.get_mut(location) {
            holding.is_unsure = true;
        }
    }

    fn count(&self, table: &Table) {
        let mut watching = self.watching();
        watching.tracked =
            table.ledger.tracked().chain(table.commands.awaited()).cloned().collect();
        self.0.tracked.store(watching.tracked.len(), Ordering::Relaxed);
    }

    /// Taken after the table where both are.
    fn watching(&self) -> MutexGuard<'_, Watching> {
        self.0.watching.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// Enters an edit of the agent's.
    pub fn enter(&self, location: &Location, entry: Entry, edit: &Entered<'_>, origin: &Origin) {
        let mut table = self.review.table();
        table.leave_other_place(&self.review.0.vfs, location);
        table.arrive(&self.review.0.vfs, location, edit);
        match entry {
            Entry::Changed => {
                table.ledger.agent_edit(location, edit.before, edit.changes, origin);
            }
            Entry::Created => {
                let text = edit.changes.apply(edit.before).to_string();
                table.ledger.created(location, &text, origin);
                // In the place of a link: that comes back, not a file of its text.
                if let Some(link) = table.link_that_went(location).cloned() {
                    table.before.entry(location.clone()).or_insert(link);
                }
                table.deleted.remove(location);
            }
            Entry::Deleted(undo) => {
                table.ledger.deleted(location, edit.before, origin);
                if let Some(undo) = undo {
                    table.deleted.insert(location.clone(), undo);
                    table.gone.insert(location.clone(), edit.before.clone());
                }
            }
        }
        table.go_on(location, edit);
        table.note_place(&self.review.0.vfs, location);
        table.untold.hunks.insert(location.clone());
        self.review.count(&table);
    }

    /// Enters a decision, or its undo, that changed the document.
    pub fn decide(
        &self,
        location: &Location,
        edit: Option<&Entered<'_>>,
        decide: impl FnOnce(&mut Ledger<Location>),
    ) {
        let mut table = self.review.table();
        if let Some(edit) = edit {
            table.arrive(&self.review.0.vfs, location, edit);
        }
        decide(&mut table.ledger);
        if let Some(edit) = edit {
            table.go_on(location, edit);
        }
        table.untold.hunks.insert(location.clone());
        self.review.count(&table);
    }

    /// Enters a move of a file of this text. False, and nothing entered, where something else is
    /// pending at its new name.
    pub fn moved(&self, from: &Location, to: &Location, text: &Rope, origin: &Origin) -> bool {
        let mut table = self.review.table();
        table.leave_other_place(&self.review.0.vfs, from);
        if !table.ledger.moved(from, to, text, origin) {
            return false;
        }
        table.goes_by(from, to);
        table.note_move(&self.review.0.vfs, from, to);
        self.review.count(&table);
        true
    }

    /// What is known beside the ledger of a file is known of its new name.
    pub fn goes_by(&self, from: &Location, to: &Location) {
        let mut table = self.review.lock();
        table.goes_by(from, to);
        table.note_move(&self.review.0.vfs, from, to);
        table.untold.names.push((from.clone(), to.clone()));
    }

    /// The edit failed, or nobody can tell: then what came since may be the person's or a part of ours.
    pub fn failed(&self) {
        let mut table = self.review.table();
        for location in &self.locations {
            let holding = table.held.get_mut(location);
            if holding.is_some_and(|it| std::mem::take(&mut it.is_unsure)) {
                table.follow_unsure(&self.review.0.vfs, location);
            }
        }
        self.review.count(&table);
    }

    /// Remembers how a file that a decision took away comes back as it was.
    pub fn keep_undo(&self, location: &Location, undo: Undo, text: Rope) {
        let mut table = self.review.lock();
        table.deleted.insert(location.clone(), undo);
        table.gone.insert(location.clone(), text);
    }

    /// Remembers a file's bytes before a change that is about to be entered.
    pub fn keep_before(&self, location: &Location, image: Image) {
        let mut table = self.review.table();
        if !table.ledger.is_pending(location) {
            table.before.insert(location.clone(), image);
        }
    }

    /// A file's bytes before the changes that are pending.
    pub fn before(&self, location: &Location) -> Option<Image> {
        self.review.lock().before.get(location).cloned()
    }

    /// The text that a deleted file went with.
    pub fn gone(&self, location: &Location) -> Option<Rope> {
        self.review.lock().gone.get(location).cloned()
    }

    /// How a deleted file comes back as it was, and the text it had, as its editor showed it.
    pub fn deleted(&self, location: &Location) -> Option<(Undo, Option<Rope>)> {
        let mut table = self.review.lock();
        let undo = table.deleted.get(location)?.clone();
        // Holds for this deletion alone, not for one that somebody else makes later.
        Some((undo, table.gone.remove(location)))
    }
}

/// Accepts all of a file's hunks that a call has a part in.
pub fn accept_call(ledger: &mut Ledger<Location>, location: &Location, call: &str, token: u64) {
    let hunks = ledger.view(location).map(|it| it.hunks).unwrap_or_default();
    let own = hunks.into_iter().filter(|it| it.origin.calls.iter().any(|it| it == call));
    let mut own: BTreeSet<HunkId> = own.map(|it| it.id).collect();
    let moved = ledger.moved_from(location).map(|(hunk, _)| hunk.clone());
    let is_move = moved.is_some_and(|hunk| own.remove(&hunk));
    if !own.is_empty() {
        ledger.decide(location, &own, Decision::Accept, token);
    }
    if is_move {
        ledger.decide_move(location, Decision::Accept, token);
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut table = self.review.lock();
        for location in &self.locations {
            if let Some(holding) = table.held.get_mut(location) {
                holding.count -= 1;
                if holding.count == 0 {
                    table.held.remove(location);
                }
            }
            // Somebody may have typed meanwhile.
            if table.ledger.current(location).is_some() {
                self.review.watching().touched.insert(location.clone());
            }
        }
        drop(table);
        self.review.0.touched.notify_one();
    }
}

impl Table {
    /// Takes the files whose hunks are to be told now.
    pub fn take_changed(&mut self) -> BTreeSet<Location> {
        let changed = std::mem::take(&mut self.untold.hunks);
        self.untold.moved.retain(|it| !changed.contains(it));
        changed
    }

    /// Takes the files whose hunks are to be told once the person pauses, for being elsewhere only.
    pub fn take_moved(&mut self) -> BTreeSet<Location> {
        std::mem::take(&mut self.untold.moved)
    }

    /// Whether the person's typing moved hunks that were not told since.
    pub fn has_moved(&self) -> bool {
        !self.untold.moved.is_empty()
    }

    /// All that is pending is to be told, as to a client that knows of nothing.
    pub fn tell_all(&mut self) {
        let pending = self.ledger.list().into_iter().map(|view| view.file);
        self.untold.hunks.extend(pending);
    }

    /// One file has one name: where it is open, the document's.
    fn name_as_open(&mut self, vfs: &Vfs) {
        let closed = self.ledger.tracked().filter(|it| !vfs.is_open(it));
        let elsewhere = closed.filter_map(|it| {
            let real = vfs.real_path(it.path()?);
            let open = vfs.open_at(&real).filter(|_| !self.lies_elsewhere(vfs, it))?;
            Some((it.clone(), open))
        });
        let elsewhere: Vec<(Location, Location)> = elsewhere.collect();
        elsewhere.iter().for_each(|(from, to)| self.rename(from, to));
    }

    /// What was pending in files that somebody removed is pending again where they are back with it.
    fn welcome_back(&mut self, vfs: &Vfs) {
        let text = |name: &Location| {
            let path = name.path().filter(|it| vfs.link_stat(it).is_ok())?;
            Some((name.clone(), vfs.disk_snapshot(path).ok()?.rope))
        };
        let there: Vec<(Location, Rope)> = self.ledger.away().filter_map(text).collect();
        for (name, text) in there {
            if self.ledger.is_back(&name, &text) {
                self.untold.hunks.insert(name);
            }
        }
    }

    /// Files that are where they were go by another name where a link to them is gone.
    fn name_by_places(&mut self, vfs: &Vfs) {
        let all: Vec<Location> = self.ledger.tracked().cloned().collect();
        all.iter().for_each(|it| self.name_by_place(vfs, it));
    }

    /// One file has one name: the one it is about to be changed by.
    fn name_as_named(&mut self, vfs: &Vfs, location: &Location) {
        self.name_by_place(vfs, location);
        if let Some(known) = self.known_as(vfs, location).filter(|it| it != location) {
            self.rename(&known, location);
        }
    }

    fn rename(&mut self, from: &Location, to: &Location) {
        if self.held.contains_key(from) || !self.ledger.rename(from, to) {
            return;
        }
        self.goes_by(from, to);
    }

    fn goes_by(&mut self, from: &Location, to: &Location) {
        self.followed.remove(from);
        self.commands.goes_by(from, to);
        let (own, under) = (self.take_bytes(from), self.take_bytes(to));
        if under.undo.is_some() {
            self.covered.entry(to.clone()).or_default().push(under);
        }
        self.put_bytes(to, own);
        let uncovered = self.covered.get_mut(from).and_then(Vec::pop);
        self.put_bytes(from, uncovered.unwrap_or_default());
        if let Some(real) = self.places.remove(from) {
            self.places.insert(to.clone(), real);
        }
        self.untold.hunks.extend([from.clone(), to.clone()]);
    }

    fn take_bytes(&mut self, location: &Location) -> Bytes {
        Bytes {
            undo: self.deleted.remove(location),
            text: self.gone.remove(location),
            before: self.before.remove(location),
        }
    }

    fn put_bytes(&mut self, location: &Location, Bytes { undo, text, before }: Bytes) {
        self.deleted.extend(undo.map(|it| (location.clone(), it)));
        self.gone.extend(text.map(|it| (location.clone(), it)));
        self.before.extend(before.map(|it| (location.clone(), it)));
    }

    /// Takes over what happened to a file since the last look, if anything did.
    fn follow(&mut self, vfs: &Vfs, location: &Location) {
        match self.take_over(vfs, location) {
            None => {}
            Some(Edited::Moved) => drop(self.untold.moved.insert(location.clone())),
            Some(Edited::Hunks) => drop(self.untold.hunks.insert(location.clone())),
        }
    }

    fn take_over(&mut self, vfs: &Vfs, location: &Location) -> Option<Edited> {
        if self.ledger.current(location).is_none() {
            return self.take_awaited(vfs, location);
        }
        if self.is_link_back(vfs, location) {
            return None;
        }
        if self.lies_elsewhere(vfs, location) {
            return self.stay_behind(vfs, location);
        }
        let known = self.ledger.current(location)?;
        let on_disk = || location.path().is_some_and(|path| vfs.link_stat(path).is_ok());
        if self.ledger.existence(location) == Some(Existence::Deleted) {
            // The editor may still show the text of a file that is gone; what has no file is there
            // as long as it is shown.
            let is_back = match location {
                // A folder of that name is none of it.
                Location::Disk(path) => {
                    vfs.link_stat(path).is_ok_and(|it| it.kind != FileKind::Folder)
                }
                Location::Virtual(_) => vfs.is_open(location),
            };
            // What a command makes again is told when it is found.
            return if is_back && !self.commands.run() { self.forget(location) } else { None };
        }
        if let Some(open) = vfs.open_snapshot(location) {
            return self.follow_open(vfs, location, &open);
        }
        self.followed.remove(location);
        match location.path().map(|path| vfs.disk_snapshot(path)) {
            Some(Ok(now)) if now.rope == *known => None,
            Some(Ok(now)) => {
                let changes = ChangeSet::between(known, &now.rope);
                self.take_command_edit(location, &changes)
                    .or_else(|| Some(self.ledger.reopened(location, &now.rope)))
            }
            Some(Err(_)) if on_disk() => None,
            // What was decided can still be undone.
            Some(Err(_)) | None if !self.ledger.is_pending(location) => None,
            Some(Err(_)) if self.commands.run() => None,
            Some(Err(_)) | None => {
                self.ledger.went(location);
                self.followed.remove(location);
                Some(Edited::Hunks)
            }
        }
    }

    fn follow_open(&mut self, vfs: &Vfs, location: &Location, open: &Snapshot) -> Option<Edited> {
        let Source::Buffer { generation, .. } = open.source else { return None };
        if self.followed.get(location) == Some(&generation) {
            return None;
        }
        let is_known = self.ledger.current(location).is_some_and(|it| *it == open.rope);
        if is_known && !self.followed.contains_key(location) {
            self.followed.insert(location.clone(), generation);
            return None;
        }
        let before = self.ledger.rev();
        self.follow_to(vfs, location, generation, &open.rope);
        Some(if self.ledger.rev() == before { Edited::Moved } else { Edited::Hunks })
    }

    /// Follows an open document to one of its generations, which had this text.
    fn follow_to(&mut self, vfs: &Vfs, location: &Location, generation: u64, text: &Rope) {
        let known = self.followed.insert(location.clone(), generation);
        if known == Some(generation) {
            return;
        }
        let steps = known.and_then(|known| vfs.steps_since(location, known));
        let opened_anew = steps.is_none();
        for step in steps.into_iter().flatten().filter(|step| step.generation <= generation) {
            let taken = match step.origin {
                vfs::Origin::Editor => None,
                vfs::Origin::Disk => self.take_command_edit(location, &step.changes),
            };
            if taken.is_none() {
                self.ledger.person_edit(location, &step.changes);
            }
        }
        let Some(current) = self.ledger.current(location) else { return };
        if opened_anew && vfs.last_read(location).is_some_and(|it| it == *text) {
            let changes = ChangeSet::between(current, text);
            if !changes.is_identity() && self.take_command_edit(location, &changes).is_some() {
                return;
            }
        }
        let Some(current) = self.ledger.current(location) else { return };
        if current.len_bytes() != text.len_bytes() || known.is_none() {
            self.ledger.reopened(location, text);
        }
    }

    /// Follows a document through steps some of which may be an edit of ours.
    fn follow_unsure(&mut self, vfs: &Vfs, location: &Location) {
        let is_text = self.ledger.current(location).is_some()
            && self.ledger.existence(location) != Some(Existence::Deleted);
        let known = self.followed.get(location).copied().filter(|_| is_text);
        let Some(steps) = known.and_then(|known| vfs.steps_since(location, known)) else {
            self.followed.remove(location);
            return;
        };
        for step in steps {
            self.followed.insert(location.clone(), step.generation);
            let told = match self.ledger.unsure_edit(location, &step.changes) {
                Edited::Hunks => &mut self.untold.hunks,
                Edited::Moved => &mut self.untold.moved,
            };
            told.insert(location.clone());
        }
    }

    /// Brings a file's text to what it was just before an edit.
    fn arrive(&mut self, vfs: &Vfs, location: &Location, edit: &Entered<'_>) {
        if self.ledger.current(location).is_none()
            || self.ledger.existence(location) == Some(Existence::Deleted)
        {
            return;
        }
        if let Some(generation) = edit.generation {
            self.follow_to(vfs, location, generation, edit.before);
        }
        self.ledger.reopened(location, edit.before);
    }

    /// Brings a file's text to what it is after an edit and the typing since.
    fn go_on(&mut self, location: &Location, edit: &Entered<'_>) {
        if self.ledger.existence(location) == Some(Existence::Deleted) {
            self.followed.remove(location);
            return;
        }
        self.ledger.reopened(location, &edit.changes.apply(edit.before));
        let Some(now) = edit.now else { return };
        if let Some(since) = edit.since {
            self.ledger.person_edit(location, since);
        }
        self.ledger.reopened(location, &now.rope);
        if let Source::Buffer { generation, .. } = now.source {
            self.followed.insert(location.clone(), generation);
        }
    }

    fn forget(&mut self, location: &Location) -> Option<Edited> {
        self.ledger.forget(location);
        self.followed.remove(location);
        self.deleted.remove(location);
        self.commands.forget(location);
        self.before.remove(location);
        self.gone.remove(location);
        self.places.remove(location);
        Some(Edited::Hunks)
    }
}

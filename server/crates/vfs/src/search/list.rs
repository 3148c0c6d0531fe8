//! Lists of files kept from search to search.
//!
//! A list is used again only as far as it is known to be what a new walk would find. The kernel's events tell which
//! folders changed since; where there are none, or some were lost, every folder is compared with its stamp. Only what
//! changed is read again, and a changed rule, an exchanged root or a file system that cannot be depended on means a
//! new walk.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::ignoring::{Entry, Ignoring};
use super::rules::{Rules, is_rule};
use super::stamp::{Began, Stamp, is_dependable};
use super::walk::{Ignored, List, POLL, Walk, is_version_control, threads};
use super::watch::{News, Number, Watch};

/// Lists kept.
const LISTS: usize = 4;
/// Longer lists are not kept.
const MAX_KEPT: usize = 500_000;
/// Files of one name worth telling.
const MAX_NAMED: usize = 8;
/// With more changed folders than this a new walk is quicker.
const MAX_CHANGED: usize = 200;
/// So many stamps are compared by several threads.
const MANY: usize = 2_000;

/// Lists of folders searched before.
#[derive(Default)]
pub(crate) struct FileLists {
    slots: Mutex<Vec<Slot>>,
    returned: Condvar,
}

struct Slot {
    root: PathBuf,
    state: State,
}

enum State {
    /// A search makes or checks it; others of the same folder wait.
    Taken,
    Ready(Box<Kept>),
}

impl FileLists {
    /// The list of `root`; `None` when `cancelled` said so.
    pub(super) fn get(
        &self,
        root: &Path,
        ignored: Ignored,
        cancelled: &dyn Fn() -> bool,
    ) -> Option<Arc<List>> {
        let walk = || Walk { root, ignored, began: Began::now() }.run(cancelled);
        match ignored {
            Ignored::Include => return walk().map(|walked| Arc::new(walked.list)),
            Ignored::Skip => {}
        }
        let known = self.take(root, cancelled)?;
        let lease = Lease { lists: self, root };
        let mut watch = None;
        if let Some(mut kept) = known {
            match kept.renew(cancelled) {
                Renewed::Holds => {
                    let list = Arc::clone(&kept.list);
                    lease.give_back(kept);
                    return Some(list);
                }
                // Half renewed it is of no use.
                Renewed::Cancelled => return None,
                Renewed::Outdated => watch = kept.watch.take(),
            }
        }
        let began = Began::now();
        let mut rules = Rules::around(root, began);
        let walked = Walk { root, ignored, began }.run(cancelled)?;
        rules.absorb(walked.rules);
        let mut kept = Kept::new(root, rules, walked.list, walked.folders);
        // The kernel takes its time to end a watch.
        kept.watch_with(watch);
        let list = Arc::clone(&kept.list);
        if kept.is_worth_keeping() {
            lease.give_back(Box::new(kept));
        }
        Some(list)
    }

    /// The files below `root` that the repository does not ignore; `None` when `cancelled` said so.
    pub(crate) fn not_ignored(
        &self,
        root: &Path,
        cancelled: &dyn Fn() -> bool,
    ) -> Option<Arc<List>> {
        self.get(root, Ignored::Skip, cancelled)
    }

    /// Files of this name in lists kept from searches before; no list is made for it.
    pub(crate) fn named(&self, name: &OsStr) -> Vec<PathBuf> {
        let slots = self.slots();
        let files = slots.iter().flat_map(|slot| match &slot.state {
            State::Ready(kept) => kept.list.files.as_slice(),
            State::Taken => &[],
        });
        files.filter(|file| file.file_name() == Some(name)).take(MAX_NAMED).cloned().collect()
    }

    /// Takes the list of `root` for this search alone, waiting for others that have it; the inner `None` when there
    /// is none yet.
    fn take(&self, root: &Path, cancelled: &dyn Fn() -> bool) -> Option<Option<Box<Kept>>> {
        let mut slots = self.slots();
        loop {
            let Some(at) = slots.iter().position(|slot| slot.root == root) else {
                slots.push(Slot { root: root.to_owned(), state: State::Taken });
                return Some(None);
            };
            // The one used last is the last to be dropped.
            let mut slot = slots.remove(at);
            let state = std::mem::replace(&mut slot.state, State::Taken);
            slots.push(slot);
            if let State::Ready(kept) = state {
                return Some(Some(kept));
            }
            let waited = self.returned.wait_timeout(slots, POLL);
            slots = waited.unwrap_or_else(PoisonError::into_inner).0;
            if cancelled() {
                return None;
            }
        }
    }

    fn slots(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A list taken by one search. Without being given back it is forgotten.
struct Lease<'a> {
    lists: &'a FileLists,
    root: &'a Path,
}

impl Lease<'_> {
    fn give_back(&self, kept: Box<Kept>) {
        let mut slots = self.lists.slots();
        if let Some(slot) = slots.iter_mut().find(|slot| slot.root == self.root) {
            slot.state = State::Ready(kept);
        }
        let is_ready = |slot: &Slot| matches!(slot.state, State::Ready(_));
        let oldest = slots.iter().position(is_ready);
        let too_many = slots.iter().filter(|slot| is_ready(slot)).count() > LISTS;
        let dropped = oldest.filter(|_| too_many).map(|oldest| slots.remove(oldest));
        drop(slots);
        drop(dropped);
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        let mut slots = self.lists.slots();
        slots.retain(|slot| slot.root != self.root || matches!(slot.state, State::Ready(_)));
        drop(slots);
        self.lists.returned.notify_all();
    }
}

/// A list and what tells whether it still holds.
struct Kept {
    root: PathBuf,
    list: Arc<List>,
    rules: Rules,
    folders: HashMap<PathBuf, Folder>,
    watch: Option<Watch>,
    /// Watching was tried and cannot be.
    unwatchable: bool,
}

/// A folder of a list.
struct Folder {
    stamp: Stamp,
    watched: Option<Number>,
    /// It was watched before it was read, so that the absence of events means it is unchanged.
    trusted: bool,
}

enum Renewed {
    Holds,
    /// A new walk is needed.
    Outdated,
    Cancelled,
}

/// What came of reading folders again.
#[derive(Default)]
struct Change {
    read: HashSet<PathBuf>,
    gone: Vec<PathBuf>,
    added: Vec<PathBuf>,
    files: Vec<PathBuf>,
}

impl Kept {
    fn new(root: &Path, rules: Rules, list: List, folders: Vec<Stamp>) -> Kept {
        let mut kept = Kept {
            root: root.to_owned(),
            list: Arc::new(list),
            rules,
            folders: HashMap::with_capacity(folders.len()),
            watch: None,
            unwatchable: false,
        };
        kept.add_folders(folders);
        kept
    }

    fn is_worth_keeping(&self) -> bool {
        let mut devices = HashSet::new();
        self.list.len() <= MAX_KEPT
            && self.folders.contains_key(&self.root)
            && self.folders.iter().all(|(path, folder)| {
                folder.stamp.device().is_some_and(|device| !devices.insert(device))
                    || is_dependable(path)
            })
    }

    /// Makes the list what a new walk would find, if that is less work.
    fn renew(&mut self, cancelled: &dyn Fn() -> bool) -> Renewed {
        let began = Began::now();
        let same_root =
            self.folders.get(&self.root).is_some_and(|folder| folder.stamp.is_same_thing());
        if !same_root || !self.rules.hold() {
            return Renewed::Outdated;
        }
        let mut news = self.watch.as_mut().map(Watch::news).unwrap_or_default();
        if news.lost {
            self.folders.values_mut().for_each(|folder| folder.trusted = false);
        }
        if self.watch.is_none() && !self.unwatchable {
            self.start_watching();
        }
        if cancelled() {
            return Renewed::Cancelled;
        }
        self.compare(&mut news.changed);
        if news.changed.is_empty() {
            return Renewed::Holds;
        }
        // What could not be read the last time may be what changed.
        if news.changed.len() > MAX_CHANGED || !self.list.notes.is_empty() {
            return Renewed::Outdated;
        }
        let Some(change) = self.read_again(&news, began) else { return Renewed::Outdated };
        self.apply(change, began, cancelled)
    }

    fn start_watching(&mut self) {
        match Watch::new(self.folders.len()) {
            None => self.unwatchable = true,
            watch => self.watch_with(watch),
        }
    }

    /// Watches all folders, and none but them.
    fn watch_with(&mut self, watch: Option<Watch>) {
        self.watch = watch;
        let Some(watch) = &mut self.watch else { return };
        watch.retain(|path| self.folders.contains_key(path));
        for (path, folder) in &mut self.folders {
            folder.watched = watch.add(path);
        }
    }

    /// Adds the folders that are not as they were to `changed`; those known by their events are not looked at.
    fn compare(&mut self, changed: &mut BTreeSet<PathBuf>) {
        let mut doubtful: Vec<&mut Folder> =
            self.folders.values_mut().filter(|folder| !folder.trusted).collect();
        let check = |folders: &mut [&mut Folder]| {
            let mut changed = Vec::new();
            for folder in folders {
                let holds = folder.stamp.holds();
                folder.trusted = holds && folder.watched.is_some();
                if !holds {
                    changed.push(folder.stamp.path.clone());
                }
            }
            changed
        };
        if doubtful.len() < MANY {
            changed.extend(check(&mut doubtful));
            return;
        }
        let share = doubtful.len().div_ceil(threads());
        std::thread::scope(|scope| {
            let parts: Vec<_> =
                doubtful.chunks_mut(share).map(|part| scope.spawn(move || check(part))).collect();
            // No part can die; were one to, its folders would stay doubtful.
            changed.extend(parts.into_iter().filter_map(|part| part.join().ok()).flatten());
        });
    }

    /// Reads the changed folders, those above first; `None` when a new walk is needed.
    fn read_again(&mut self, news: &News, began: Began) -> Option<Change> {
        let rules = Ignoring::below(&self.root);
        let mut change = Change::default();
        for path in &news.changed {
            let is_gone = change.gone.iter().any(|gone| path.starts_with(gone));
            if is_gone || !self.folders.contains_key(path) {
                continue;
            }
            match self.read_folder(path, &news.replaced, &rules, &mut change, began) {
                Ok(Read::Done) => {}
                Ok(Read::NewRules) => return None,
                Err(error)
                    if *path != self.root
                        && matches!(
                            error.kind(),
                            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                        ) =>
                {
                    change.gone.push(path.clone());
                }
                Err(_) => return None,
            }
        }
        Some(change)
    }

    fn read_folder(
        &mut self,
        path: &Path,
        replaced: &HashSet<PathBuf>,
        rules: &Ignoring,
        change: &mut Change,
        began: Began,
    ) -> io::Result<Read> {
        self.watch_folder(path);
        if let Some(folder) = self.folders.get_mut(path) {
            folder.stamp = Stamp::of(path.to_owned(), began);
        }
        let dirs = self.list.dirs.iter().filter(|dir| dir.parent() == Some(path));
        let mut known: HashSet<PathBuf> = dirs.cloned().collect();
        for entry in std::fs::read_dir(path)? {
            let entry = entry?;
            let (name, at) = (entry.file_name(), entry.path());
            if is_rule(&name) && !self.rules.has(&at) {
                return Ok(Read::NewRules);
            }
            let kind = entry.file_type()?;
            if is_version_control(name.as_bytes())
                || !(kind.is_dir() || kind.is_file())
                || rules
                    .ignores_entry(&at, if kind.is_dir() { Entry::Folder } else { Entry::Other })
            {
                continue;
            }
            if kind.is_file() {
                change.files.push(at);
            } else if !known.contains(&at) || replaced.contains(&at) {
                change.added.push(at);
            } else {
                known.remove(&at);
            }
        }
        change.gone.extend(known);
        change.read.insert(path.to_owned());
        Ok(Read::Done)
    }

    /// Watches a folder whose path may lead somewhere else than before.
    fn watch_folder(&mut self, path: &Path) {
        let (Some(watch), Some(folder)) = (&mut self.watch, self.folders.get_mut(path)) else {
            return;
        };
        let now = watch.add(path);
        if let Some(before) = folder.watched.filter(|before| Some(*before) != now) {
            watch.remove(before, path);
        }
        folder.watched = now;
        // Watched now, read right after.
        folder.trusted = now.is_some();
    }

    fn apply(&mut self, change: Change, began: Began, cancelled: &dyn Fn() -> bool) -> Renewed {
        for gone in &change.gone {
            self.forget_below(gone);
        }
        let mut new = List::default();
        change.files.into_iter().for_each(|file| new.add_file(file));
        let mut folders = Vec::new();
        for added in change.added {
            let walk = Walk { root: &added, ignored: Ignored::Skip, began };
            let Some(walked) = walk.run(cancelled) else { return Renewed::Cancelled };
            new.absorb(walked.list);
            folders.extend(walked.folders);
            self.rules.absorb(walked.rules);
            new.dirs.push(added);
        }
        let list = Arc::make_mut(&mut self.list);
        let is_old = |path: &PathBuf| path.parent().is_some_and(|it| change.read.contains(it));
        let is_gone = |path: &PathBuf| change.gone.iter().any(|gone| path.starts_with(gone));
        list.files.retain(|path| !is_old(path) && !is_gone(path));
        list.secrets.retain(|path| !is_old(path) && !is_gone(path));
        list.dirs.retain(|path| !is_gone(path));
        list.absorb(new);
        list.sort();
        self.add_folders(folders);
        if self.is_worth_keeping() { Renewed::Holds } else { Renewed::Outdated }
    }

    fn forget_below(&mut self, gone: &Path) {
        self.rules.forget_below(gone);
        let watch = &mut self.watch;
        self.folders.retain(|path, folder| {
            let stays = !path.starts_with(gone);
            if let (false, Some(watch), Some(number)) = (stays, watch.as_mut(), folder.watched) {
                watch.remove(number, path);
            }
            stays
        });
    }

    /// Folders that were just walked. They are watched from now on, but something may have changed since they were
    /// read; so their stamps are looked at once more.
    fn add_folders(&mut self, stamps: Vec<Stamp>) {
        for stamp in stamps {
            let watched = self.watch.as_mut().and_then(|watch| watch.add(&stamp.path));
            self.folders.insert(stamp.path.clone(), Folder { stamp, watched, trusted: false });
        }
    }
}

enum Read {
    Done,
    /// There is a rule that was not there before.
    NewRules,
}

#[cfg(test)]
mod tests;

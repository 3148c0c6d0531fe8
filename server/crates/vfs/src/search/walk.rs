//! The files of a folder that the repository does not ignore, in path order.
//!
//! Small trees are walked on the calling thread, large ones by several. A list is kept and used again while the
//! folders and ignore files it came from are unchanged on disk.

use std::cmp::Ordering as Compare;
use std::fs::Metadata;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use ignore::{DirEntry, WalkBuilder, WalkState};

use super::ignored::IGNORE_FILES;
use crate::guard::is_sensitive;

/// Trees up to this many entries are walked by the calling thread alone.
const SMALL_TREE: usize = 400;
/// Lists kept.
const LISTS: usize = 4;
/// Longer lists are not kept.
const MAX_KEPT: usize = 500_000;
/// Files of one name worth telling.
const MAX_NAMED: usize = 8;
/// Notes kept of one walk.
const MAX_NOTES: usize = 20;
/// How often the calling thread asks whether it is still wanted.
const POLL: Duration = Duration::from_millis(20);

/// Whether what the repository ignores is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ignored {
    Skip,
    Include,
}

/// What a folder holds; paths in component order.
#[derive(Debug, Default)]
pub(crate) struct List {
    pub files: Vec<PathBuf>,
    /// Files that are sensitive, which are not among `files`.
    pub secrets: Vec<PathBuf>,
    /// Without the root itself.
    pub dirs: Vec<PathBuf>,
    pub notes: Vec<String>,
    /// What must be unchanged for the list to hold; `None` when it cannot be told.
    stamps: Option<Vec<Stamp>>,
}

/// Lists of folders searched before.
#[derive(Default)]
pub(crate) struct FileLists {
    lists: Mutex<Vec<(PathBuf, Arc<List>)>>,
}

impl FileLists {
    /// The list of `root`; `None` when `cancelled` said so.
    pub(super) fn get(
        &self,
        root: &Path,
        ignored: Ignored,
        cancelled: &dyn Fn() -> bool,
    ) -> Option<Arc<List>> {
        match ignored {
            Ignored::Include => walk(root, ignored, cancelled).map(Arc::new),
            Ignored::Skip => {
                let known = self.known(root);
                if let Some(list) = known.filter(|list| list.is_fresh()) {
                    return Some(list);
                }
                let list = Arc::new(walk(root, ignored, cancelled)?);
                self.keep(root, &list);
                Some(list)
            }
        }
    }

    /// The files of `root` that are not ignored; `None` when `cancelled` said so.
    pub(crate) fn not_ignored(
        &self,
        root: &Path,
        cancelled: &dyn Fn() -> bool,
    ) -> Option<Arc<List>> {
        self.get(root, Ignored::Skip, cancelled)
    }

    /// Files of this name in lists kept from searches before; no list is made for it.
    pub(crate) fn named(&self, name: &std::ffi::OsStr) -> Vec<PathBuf> {
        let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        let files = lists.iter().flat_map(|(_, list)| &list.files);
        files.filter(|file| file.file_name() == Some(name)).take(MAX_NAMED).cloned().collect()
    }

    fn known(&self, root: &Path) -> Option<Arc<List>> {
        let lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.iter().find(|(path, _)| path == root).map(|(_, list)| Arc::clone(list))
    }

    fn keep(&self, root: &Path, list: &Arc<List>) {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        lists.retain(|(path, _)| path != root);
        if list.stamps.is_some() && list.files.len() <= MAX_KEPT {
            if lists.len() == LISTS {
                lists.remove(0);
            }
            lists.push((root.to_owned(), Arc::clone(list)));
        }
    }
}

/// A folder or ignore file as it was when it was read; the time is `None` for one that was not there.
#[derive(Debug)]
struct Stamp {
    path: PathBuf,
    seen: Option<(SystemTime, u64, u64)>,
}

impl Stamp {
    /// `None` when a change right now could go unseen, because clocks of file systems tick slowly.
    fn of(path: &Path) -> Option<Stamp> {
        let seen = match std::fs::metadata(path) {
            Ok(metadata) => {
                let stamp = numbers(&metadata)?;
                let tick = if metadata.mtime_nsec() == 0 { 2_100 } else { 60 };
                let age = SystemTime::now().duration_since(stamp.0).unwrap_or_default();
                if age < Duration::from_millis(tick) {
                    return None;
                }
                Some(stamp)
            }
            Err(_) => None,
        };
        Some(Stamp { path: path.to_owned(), seen })
    }

    fn is_fresh(&self) -> bool {
        std::fs::metadata(&self.path).ok().and_then(|metadata| numbers(&metadata)) == self.seen
    }
}

fn numbers(metadata: &Metadata) -> Option<(SystemTime, u64, u64)> {
    // A folder's length says nothing; a file's may be all that changed within one tick.
    let len = if metadata.is_dir() { 0 } else { metadata.len() };
    Some((metadata.modified().ok()?, metadata.ino(), len))
}

impl List {
    fn is_fresh(&self) -> bool {
        self.stamps.as_ref().is_some_and(|stamps| stamps.iter().all(Stamp::is_fresh))
    }

    fn take(&mut self, entry: Result<DirEntry, ignore::Error>) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                // What vanished while the walk went on is no news.
                if error.io_error().is_none_or(|error| error.kind() != io::ErrorKind::NotFound)
                    && self.notes.len() < MAX_NOTES
                {
                    self.notes.push(error.to_string());
                }
                return;
            }
        };
        let Some(file_type) = entry.file_type() else { return };
        if file_type.is_dir() {
            self.stamp(entry.path());
            if entry.depth() > 0 {
                self.dirs.push(entry.into_path());
            }
        } else if file_type.is_file() {
            if IGNORE_FILES.iter().any(|name| entry.file_name() == *name) {
                self.stamp(entry.path());
            }
            let path = entry.into_path();
            if is_sensitive(&path) { self.secrets.push(path) } else { self.files.push(path) }
        }
    }

    fn stamp(&mut self, path: &Path) {
        if let Some(stamps) = &mut self.stamps {
            match Stamp::of(path) {
                Some(stamp) => stamps.push(stamp),
                None => self.stamps = None,
            }
        }
    }

    fn absorb(&mut self, other: List) {
        self.files.extend(other.files);
        self.secrets.extend(other.secrets);
        self.dirs.extend(other.dirs);
        self.notes.extend(other.notes);
        self.notes.truncate(MAX_NOTES);
        self.stamps = self.stamps.take().zip(other.stamps).map(|(mut ours, theirs)| {
            ours.extend(theirs);
            ours
        });
    }

    fn len(&self) -> usize {
        self.files.len() + self.secrets.len() + self.dirs.len()
    }

    fn sort(&mut self) {
        self.files.sort_unstable_by(|a, b| path_order(a, b));
        self.secrets.sort_unstable_by(|a, b| path_order(a, b));
        self.dirs.sort_unstable_by(|a, b| path_order(a, b));
    }
}

/// Paths by component: `a/b` stands before `a.txt`.
pub(crate) fn path_order(a: &Path, b: &Path) -> Compare {
    let (a, b) = (a.as_os_str().as_bytes(), b.as_os_str().as_bytes());
    let rank = |byte: u8| if byte == b'/' { 0 } else { byte };
    match a.iter().zip(b).position(|(x, y)| x != y) {
        Some(at) => rank(a[at]).cmp(&rank(b[at])),
        None => a.len().cmp(&b.len()),
    }
}

/// The builder of every walk: hidden files count, version control folders never do, links are not followed.
pub(super) fn builder(root: &Path, ignored: Ignored) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    let respect = ignored == Ignored::Skip;
    builder
        .hidden(false)
        .follow_links(false)
        .require_git(false)
        .ignore(respect)
        .git_ignore(respect)
        .git_exclude(respect)
        .git_global(respect)
        .parents(respect)
        .filter_entry(|entry| {
            entry.depth() == 0 || !is_version_control(entry.file_name().as_bytes())
        });
    if respect {
        builder.add_custom_ignore_filename(".rgignore");
    }
    builder
}

pub(super) fn is_version_control(name: &[u8]) -> bool {
    matches!(name, b".git" | b".hg" | b".svn" | b".jj" | b".sl" | b".bzr")
}

fn walk(root: &Path, ignored: Ignored, cancelled: &dyn Fn() -> bool) -> Option<List> {
    let started = empty(root);
    let mut list = match walk_here(root, ignored, cancelled, started)? {
        Walked::Whole(list) => list,
        Walked::TooLarge => walk_by_many(root, ignored, cancelled)?,
    };
    list.sort();
    Some(list)
}

/// A list with the stamps of what decides from outside the root.
fn empty(root: &Path) -> List {
    let mut list = List { stamps: Some(Vec::new()), ..List::default() };
    for folder in root.ancestors() {
        for name in IGNORE_FILES {
            list.stamp(&folder.join(name));
        }
        let git = folder.join(".git");
        list.stamp(&git.join("info/exclude"));
        if std::fs::symlink_metadata(&git).is_ok() {
            break;
        }
    }
    if let Some(global) = ignore::gitignore::gitconfig_excludes_path() {
        list.stamp(&global);
    }
    list
}

enum Walked {
    Whole(List),
    TooLarge,
}

fn walk_here(
    root: &Path,
    ignored: Ignored,
    cancelled: &dyn Fn() -> bool,
    mut list: List,
) -> Option<Walked> {
    for (count, entry) in builder(root, ignored).build().enumerate() {
        if count.is_multiple_of(64) && cancelled() {
            return None;
        }
        list.take(entry);
        if list.len() > SMALL_TREE {
            return Some(Walked::TooLarge);
        }
    }
    Some(Walked::Whole(list))
}

/// Gives its list to the whole when its thread is done.
struct Part<'a> {
    list: List,
    whole: &'a Mutex<List>,
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        let list = std::mem::take(&mut self.list);
        self.whole.lock().unwrap_or_else(PoisonError::into_inner).absorb(list);
    }
}

fn walk_by_many(root: &Path, ignored: Ignored, cancelled: &dyn Fn() -> bool) -> Option<List> {
    let stop = AtomicBool::new(false);
    let whole = Mutex::new(empty(root));
    let walker = builder(root, ignored).threads(threads()).build_parallel();
    let work = || {
        walker.run(|| {
            let mut part =
                Part { list: List { stamps: Some(Vec::new()), ..List::default() }, whole: &whole };
            let stop = &stop;
            Box::new(move |entry| {
                if stop.load(Ordering::Relaxed) {
                    return WalkState::Quit;
                }
                part.list.take(entry);
                WalkState::Continue
            })
        });
    };
    watched(work, &stop, cancelled);
    (!stop.load(Ordering::Relaxed))
        .then(|| whole.into_inner().unwrap_or_else(PoisonError::into_inner))
}

/// Threads worth using.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism().map_or(2, usize::from).clamp(1, 12)
}

/// Runs `work` on a thread of its own while this one asks `cancelled` and passes the answer on in `stop`.
pub(super) fn watched(work: impl FnOnce() + Send, stop: &AtomicBool, cancelled: &dyn Fn() -> bool) {
    std::thread::scope(|scope| {
        let (done, finished) = std::sync::mpsc::channel::<()>();
        scope.spawn(move || {
            work();
            drop(done);
        });
        while let Err(std::sync::mpsc::RecvTimeoutError::Timeout) = finished.recv_timeout(POLL) {
            if cancelled() {
                stop.store(true, Ordering::Relaxed);
                break;
            }
        }
    });
}

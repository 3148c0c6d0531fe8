//! The files of a folder that the repository does not ignore, read from the disk.
//!
//! Small trees are walked on the calling thread, large ones by several.

use std::cmp::Ordering as Compare;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ignore::{DirEntry, WalkBuilder, WalkState};

use super::ignoring::{Entry, Ignoring};
use super::rules::Rules;
use super::stamp::{Began, Stamp};
use crate::disk;
use crate::guard::is_sensitive;

/// Trees up to this many entries are walked by the calling thread alone.
const SMALL_TREE: usize = 400;
/// Notes kept of one walk.
pub(super) const MAX_NOTES: usize = 20;
/// How often the calling thread asks whether it is still wanted.
pub(super) const POLL: Duration = Duration::from_millis(20);

/// Whether what the repository ignores is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ignored {
    Skip,
    Include,
}

/// What a folder holds; paths in component order.
#[derive(Clone, Debug, Default)]
pub(crate) struct List {
    pub files: Vec<PathBuf>,
    /// Files that are sensitive, which are not among `files`.
    pub secrets: Vec<PathBuf>,
    /// Without the root itself.
    pub dirs: Vec<PathBuf>,
    /// What could not be read.
    pub notes: Vec<String>,
}

impl List {
    pub fn len(&self) -> usize {
        self.files.len() + self.secrets.len() + self.dirs.len()
    }

    pub fn add_file(&mut self, path: PathBuf) {
        if is_sensitive(&path) { self.secrets.push(path) } else { self.files.push(path) }
    }

    pub fn absorb(&mut self, other: List) {
        self.files.extend(other.files);
        self.secrets.extend(other.secrets);
        self.dirs.extend(other.dirs);
        self.notes.extend(other.notes);
        self.notes.truncate(MAX_NOTES);
    }

    pub fn sort(&mut self) {
        for paths in [&mut self.files, &mut self.secrets, &mut self.dirs] {
            // Mostly in order already, which this kind of sorting makes use of.
            paths.sort_by(|a, b| path_order(a, b));
        }
    }
}

/// A list with what must be unchanged for it to hold.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub list: List,
    /// The root and every folder of the list.
    pub folders: Vec<Stamp>,
    pub rules: Rules,
}

impl Walked {
    fn take(&mut self, entry: Result<DirEntry, ignore::Error>, walk: &Walk<'_>) {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => {
                // What vanished while the walk went on is no news.
                if error.io_error().is_none_or(|error| error.kind() != io::ErrorKind::NotFound)
                    && self.list.notes.len() < MAX_NOTES
                {
                    self.list.notes.push(told(&error));
                }
                return;
            }
        };
        let Some(file_type) = entry.file_type() else { return };
        let is_root = entry.depth() == 0;
        if file_type.is_dir() || (is_root && entry.path().is_dir()) {
            if walk.ignored == Ignored::Skip {
                self.folders.push(Stamp::of(entry.path().to_owned(), walk.began));
                self.rules.add_folder(entry.path(), walk.began);
            }
            if !is_root {
                self.list.dirs.push(entry.into_path());
            }
        } else if file_type.is_file() {
            self.list.add_file(entry.into_path());
        }
    }

    fn absorb(&mut self, other: Walked) {
        self.list.absorb(other.list);
        self.folders.extend(other.folders);
        self.rules.absorb(other.rules);
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

/// What a walk could not read, and why; the walker's own words name the path twice.
fn told(error: &ignore::Error) -> String {
    match (path_of(error), error.io_error()) {
        (Some(path), Some(why)) => format!("{} {}", path.display(), disk::told(why)),
        (Some(_) | None, _) => error.to_string(),
    }
}

fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        _ => None,
    }
}

/// The builder of every walk: hidden files count, version control folders never do, links are not followed.
pub(super) fn builder(root: &Path, rules: Option<&Arc<Ignoring>>) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    let rules = rules.cloned();
    builder.standard_filters(false).follow_links(false).filter_entry(move |entry| {
        let is_ignored = |rules: &Arc<Ignoring>| {
            let is_dir = entry.file_type().is_some_and(|it| it.is_dir());
            rules.ignores_entry(entry.path(), if is_dir { Entry::Folder } else { Entry::Other })
        };
        entry.depth() == 0
            || !(is_version_control(entry.file_name().as_bytes())
                || rules.as_ref().is_some_and(is_ignored))
    });
    builder
}

pub(super) fn is_version_control(name: &[u8]) -> bool {
    matches!(name, b".git" | b".hg" | b".svn" | b".jj" | b".sl" | b".bzr")
}

pub(super) fn is_version_control_path(path: &Path) -> bool {
    path.components().any(|part| is_version_control(part.as_os_str().as_bytes()))
}

/// One walk.
pub(super) struct Walk<'a> {
    pub root: &'a Path,
    pub ignored: Ignored,
    pub began: Began,
}

impl Walk<'_> {
    /// What the folder holds, in order; `None` when `cancelled` said so.
    pub fn run(&self, cancelled: &dyn Fn() -> bool) -> Option<Walked> {
        let rules = match self.ignored {
            Ignored::Skip => Some(Arc::new(Ignoring::below(self.root))),
            Ignored::Include => None,
        };
        let mut walked = match self.here(rules.as_ref(), cancelled)? {
            Here::Whole(walked) => walked,
            Here::TooLarge => self.by_many(rules.as_ref(), cancelled)?,
        };
        walked.list.notes.extend(rules.iter().flat_map(|rules| rules.notes()));
        walked.list.notes.truncate(MAX_NOTES);
        walked.list.sort();
        Some(walked)
    }

    fn here(&self, rules: Option<&Arc<Ignoring>>, cancelled: &dyn Fn() -> bool) -> Option<Here> {
        let mut walked = Walked::default();
        for (count, entry) in builder(self.root, rules).build().enumerate() {
            if count.is_multiple_of(64) && cancelled() {
                return None;
            }
            walked.take(entry, self);
            if walked.list.len() > SMALL_TREE {
                return Some(Here::TooLarge);
            }
        }
        Some(Here::Whole(walked))
    }

    fn by_many(
        &self,
        rules: Option<&Arc<Ignoring>>,
        cancelled: &dyn Fn() -> bool,
    ) -> Option<Walked> {
        let stop = AtomicBool::new(false);
        let whole = Mutex::new(Walked::default());
        let walker = builder(self.root, rules).threads(threads()).build_parallel();
        let work = || {
            walker.run(|| {
                let mut part = Part { walked: Walked::default(), whole: &whole };
                let stop = &stop;
                Box::new(move |entry| {
                    if stop.load(Ordering::Relaxed) {
                        return WalkState::Quit;
                    }
                    part.walked.take(entry, self);
                    WalkState::Continue
                })
            });
        };
        watched(work, &stop, cancelled);
        (!stop.load(Ordering::Relaxed))
            .then(|| whole.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

enum Here {
    Whole(Walked),
    TooLarge,
}

/// Gives what it has to the whole when its thread is done.
struct Part<'a> {
    walked: Walked,
    whole: &'a Mutex<Walked>,
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        let walked = std::mem::take(&mut self.walked);
        self.whole.lock().unwrap_or_else(PoisonError::into_inner).absorb(walked);
    }
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

#[cfg(test)]
mod told {
    use super::*;

    #[test]
    fn what_a_walk_could_not_read_is_named_once() {
        let denied = io::Error::from_raw_os_error(13);
        let error = ignore::Error::WithDepth {
            depth: 1,
            err: Box::new(ignore::Error::WithPath {
                path: "/r/locked".into(),
                err: Box::new(ignore::Error::Io(denied)),
            }),
        };
        assert_eq!(told(&error), "/r/locked cannot be read: permission denied");
    }
}

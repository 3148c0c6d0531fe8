//! What a command that somebody else runs does to the files of a workspace: noted before, compared after.
//!
//! Invariant: a write of ours or a save by the editor is never taken for the command's, and nothing is said of a
//! file whose bytes are the same. Only bounded copies are held; git is never run from here.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use text::Rope;

use crate::disk;
use crate::format::{Format, decode_as};
use crate::roots::Roots;
use crate::store::Vfs;
use crate::transaction::{Extras, Image, Undo, UndoEntry};
use crate::{binary, encoding};

mod census;
mod git_index;

pub(crate) use census::Stamp;
use census::{Census, Difference};
use git_index::GitIndex;
pub(crate) use git_index::submodules;

/// More changed files than these are counted, not compared: a branch was switched or a tree unpacked.
pub const MAX_CHANGED: usize = 200;
/// Larger workspaces are not looked at, nor those that take longer to.
const MAX_FILES: usize = 200_000;
const MAX_TIME: Duration = Duration::from_secs(1);
/// Copies held of files that nothing else can bring back, by file and together, in bytes.
const MAX_COPY: u64 = 1 << 20;
const MAX_COPIES: usize = 64 << 20;
/// Where more files than these have no other source, only those in use are copied.
const MAX_COPIED: usize = 5_000;
/// Larger files are named, not compared, in bytes.
const MAX_COMPARED: u64 = 4 << 20;

/// A workspace as it was before a command.
pub struct Before {
    census: Census,
    copies: HashMap<PathBuf, Arc<Copy>>,
    /// Files so young that a change may not show in their times.
    young: Vec<PathBuf>,
    indexes: Vec<Arc<GitIndex>>,
    /// Writes noted after this count.
    since: u64,
    /// Each root as its files are named, and where it really is.
    roots: Vec<(PathBuf, PathBuf)>,
    active: Active,
}

/// What became of a workspace.
#[derive(Debug, Default)]
pub struct Changes {
    /// What changed, in path order; of more than [`MAX_CHANGED`] only the names are known.
    pub files: Vec<FileChange>,
    /// The first names of too many changes, and how many there are.
    pub many: Option<(Vec<PathBuf>, usize)>,
}

/// One changed file.
#[derive(Debug)]
pub struct FileChange {
    /// As files of the workspace are named.
    pub path: PathBuf,
    /// Where it was or is, by no link that was made meanwhile.
    pub real: PathBuf,
    pub before: Was,
    pub after: Is,
}

/// What stood at a path before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Was {
    Nothing,
    Bytes {
        bytes: Arc<[u8]>,
        mode: u32,
    },
    /// The content of a git object, as the work tree spelled it.
    Git {
        blob: GitBlob,
        mode: u32,
    },
    /// It was there, and what it held is not known.
    Unknown,
}

/// What stands there now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Is {
    Nothing,
    Bytes {
        bytes: Arc<[u8]>,
        mode: u32,
    },
    /// Something that is not compared: what it is.
    Other(&'static str),
}

/// An object that held what a file held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitBlob {
    /// The top folder of the work tree.
    pub worktree: PathBuf,
    /// The path in it.
    pub name: PathBuf,
    /// Hexadecimal.
    pub id: String,
    /// Bytes of the file in the work tree.
    pub len: u64,
}

/// Content of a file, and what its times and size were.
struct Copy {
    stamp: Stamp,
    bytes: Arc<[u8]>,
    /// Whether it was read long enough after the last change for the times to tell of the next.
    settled: bool,
}

/// What is remembered between commands, and what happens while some run.
#[derive(Default)]
pub(crate) struct Commands {
    noted: Mutex<Noted>,
    count: AtomicU64,
    copies: Mutex<HashMap<PathBuf, Arc<Copy>>>,
    indexes: Mutex<Vec<Arc<GitIndex>>>,
    /// Held for writing while changes are told apart, for reading while we write.
    pub(crate) writing: RwLock<()>,
}

#[derive(Default)]
struct Noted {
    active: usize,
    writes: HashMap<PathBuf, Write>,
}

/// A write that is not a command's, or that was told already.
struct Write {
    at: u64,
    stamp: Option<Stamp>,
    bytes: Option<Arc<[u8]>>,
}

/// Counts a command that runs.
struct Active(Vfs);

impl Drop for Active {
    fn drop(&mut self) {
        let mut noted = self.0.commands().noted();
        noted.active = noted.active.saturating_sub(1);
        if noted.active == 0 {
            noted.writes.clear();
        }
    }
}

impl Commands {
    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.noted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Vfs {
    /// Notes what is in a workspace. `in_use`: files to keep a copy of before others. `None` where it is too large.
    /// Blocks; costs a stat of every file.
    pub fn before_command(&self, roots: &Roots, in_use: &[PathBuf]) -> Option<Before> {
        let active = self.activate();
        let since = self.commands().count.load(Ordering::SeqCst);
        let roots = outermost(roots);
        let census = self.census(&roots)?;
        let indexes = self.indexes(&roots);
        let in_use: BTreeSet<PathBuf> = in_use.iter().map(|it| self.real_path(it)).collect();
        let young = census.young();
        let copies = self.copy(&census, &indexes, &in_use);
        Some(Before { census, copies, young, indexes, since, roots, active })
    }

    /// The text of some bytes; `None` where they are no text.
    pub fn decode_text(&self, bytes: &[u8]) -> Option<(Rope, Format)> {
        let detected = encoding::detect(bytes);
        if binary::sniff(bytes, detected).is_some() {
            return None;
        }
        let decoded = decode_as(bytes.to_vec(), detected);
        Some((Rope::from_str(&decoded.text), decoded.format))
    }

    /// Keeps both sides of a change that somebody else made, so that it can be taken back. Bytes with their mode;
    /// `real` is where the file was, links resolved then.
    pub fn keep_change(
        &self,
        real: &Path,
        before: Option<(&[u8], u32)>,
        after: Option<(&[u8], u32)>,
    ) -> std::io::Result<Undo> {
        let kept = |side: Option<(&[u8], u32)>| -> std::io::Result<Option<Image>> {
            let image = |(bytes, mode)| {
                Ok(Image::File { blob: self.keep_blob(bytes)?, mode, extras: Extras::default() })
            };
            side.map(image).transpose()
        };
        let path = real.to_owned();
        let entry = UndoEntry { path, before: kept(before)?, after: kept(after)? };
        Ok(Undo { entries: vec![entry], folders: Vec::new() })
    }

    /// A file was written by us or saved by the editor: no command did that.
    pub(crate) fn note_write(&self, path: &Path) {
        let commands = self.commands();
        if commands.noted().active == 0 {
            return;
        }
        let path = crate::roots::real_path(path);
        let stamp = Stamp::at(&path);
        let bytes = stamp.filter(|it| it.len <= MAX_COPY).and_then(|_| read(&path, MAX_COPY));
        let at = commands.count.fetch_add(1, Ordering::SeqCst) + 1;
        commands.noted().writes.insert(path, Write { at, stamp, bytes });
    }

    fn activate(&self) -> Active {
        self.commands().noted().active += 1;
        Active(self.clone())
    }

    fn census(&self, roots: &[(PathBuf, PathBuf)]) -> Option<Census> {
        let end = Instant::now() + MAX_TIME;
        Census::take(self.lists(), roots.iter().map(|(_, real)| real.as_path()), MAX_FILES, end)
    }

    fn indexes(&self, roots: &[(PathBuf, PathBuf)]) -> Vec<Arc<GitIndex>> {
        let mut known = self.commands().indexes.lock().unwrap_or_else(PoisonError::into_inner);
        let found = roots.iter().filter_map(|(_, real)| GitIndex::above(real, &known));
        let mut indexes: Vec<Arc<GitIndex>> = Vec::new();
        for index in found {
            if !indexes.iter().any(|it| Arc::ptr_eq(it, &index)) {
                indexes.push(index);
            }
        }
        known.clone_from(&indexes);
        indexes
    }

    /// Copies what nothing else could bring back; what was copied before and did not change is not read again.
    fn copy(
        &self,
        census: &Census,
        indexes: &[Arc<GitIndex>],
        in_use: &BTreeSet<PathBuf>,
    ) -> HashMap<PathBuf, Arc<Copy>> {
        let open: BTreeSet<PathBuf> = self.open_texts().into_iter().filter_map(real_of).collect();
        let wanted = |(path, stamp): &(&Path, Stamp)| {
            stamp.len <= MAX_COPY && !indexes.iter().any(|it| it.is_unchanged(path, stamp))
        };
        let wanted: Vec<(&Path, Stamp)> = census.readable().filter(wanted).collect();
        let is_used = |path: &Path| open.contains(path) || in_use.contains(path);
        let few = wanted.len() <= MAX_COPIED;
        let (used, others): (Vec<_>, Vec<_>) =
            wanted.into_iter().partition(|(path, _)| is_used(path));
        let others = others.into_iter().filter(|_| few);
        let mut known = self.commands().copies.lock().unwrap_or_else(PoisonError::into_inner);
        let mut copies = HashMap::new();
        let mut room = MAX_COPIES;
        for (path, stamp) in used.into_iter().chain(others).take(MAX_COPIED) {
            let old = known.get(path).filter(|it| it.settled && it.stamp == stamp).cloned();
            let Some(copy) = old.or_else(|| Copy::read(path, stamp).map(Arc::new)) else {
                continue;
            };
            let Some(left) = room.checked_sub(copy.bytes.len()) else { break };
            room = left;
            copies.insert(path.to_owned(), copy);
        }
        known.clone_from(&copies);
        copies
    }
}

impl Before {
    /// What changed since, and the state that later changes are to be compared with. Blocks. `None` where it
    /// cannot be told any more.
    pub fn changes(self) -> Option<(Changes, Before)> {
        let vfs = self.active.0.clone();
        let census = vfs.census(&self.roots)?;
        let mut differences = census.differences(&self.census);
        let ignoring_changed = differences.iter().any(Difference::is_of_ignore_file);
        differences.extend(self.young.iter().filter_map(|path| self.quietly_changed(path)));
        // Nothing of ours is half written while these are told apart.
        let _writing = vfs.commands().writing.write().unwrap_or_else(PoisonError::into_inner);
        let real: Vec<Difference> = differences
            .into_iter()
            .filter_map(|it| self.told_apart(it))
            .filter(|it| !(ignoring_changed && it.only_came_into_view(self.census.taken())))
            .collect();
        let since = vfs.commands().count.fetch_add(1, Ordering::SeqCst) + 1;
        let mut changes = Changes::default();
        let mut copies = self.copies.clone();
        let many = real.len() > MAX_CHANGED;
        if many {
            let names = real.iter().take(20).map(|it| self.named(&it.path)).collect();
            changes.many = Some((names, real.len()));
        }
        for difference in real {
            let before = self.was(&difference);
            let after = if many { Is::Other("file") } else { now(&difference) };
            copies.remove(&difference.path);
            let bytes = match &after {
                Is::Bytes { bytes, .. } => Some(Arc::clone(bytes)),
                Is::Nothing | Is::Other(_) => None,
            };
            if let (Some(bytes), Some(stamp)) = (&bytes, difference.after)
                && bytes.len() as u64 <= MAX_COPY
            {
                let copy = Copy { stamp, bytes: Arc::clone(bytes), settled: false };
                copies.insert(difference.path.clone(), Arc::new(copy));
            }
            // Another command that runs did not do this.
            let write = Write { at: since, stamp: difference.after, bytes };
            vfs.commands().noted().writes.insert(difference.path.clone(), write);
            if many {
                continue;
            }
            if !is_same(&before, &after) {
                let path = self.named(&difference.path);
                let real = difference.path;
                changes.files.push(FileChange { path, real, before, after });
            }
        }
        let young = census.young();
        let Before { indexes, roots, active, .. } = self;
        Some((changes, Before { census, copies, young, indexes, since, roots, active }))
    }

    /// A file whose times tell nothing, but whose bytes do.
    fn quietly_changed(&self, path: &Path) -> Option<Difference> {
        let copy = self.copies.get(path)?;
        let stamp = Stamp::at(path).filter(|it| *it == copy.stamp)?;
        let same = read(path, MAX_COPY).is_some_and(|bytes| bytes == copy.bytes);
        (!same).then(|| Difference {
            path: path.to_owned(),
            before: Some(copy.stamp),
            after: Some(stamp),
            secret: false,
        })
    }

    /// The difference to what was last written by somebody else; `None` where there is none.
    fn told_apart(&self, mut difference: Difference) -> Option<Difference> {
        let standing = disk::link_stat(&difference.path).is_ok();
        let now = Stamp::at(&difference.path);
        if difference.after.is_none() && now.is_some() {
            // It is there, and ignored now.
            return None;
        }
        if difference.after.is_some() && now.is_none() && !standing && difference.before.is_none() {
            return None;
        }
        let quiet = difference.before == difference.after;
        difference.after = now;
        let noted = self.active.0.commands().noted();
        match noted.writes.get(&difference.path).filter(|it| it.at > self.since) {
            Some(write) if write.stamp == now => None,
            Some(write) => {
                difference.before = write.stamp;
                Some(difference)
            }
            None if !quiet && difference.before == now => None,
            None => Some(difference),
        }
    }

    fn was(&self, difference: &Difference) -> Was {
        let Some(stamp) = difference.before else { return Was::Nothing };
        let mode = stamp.mode;
        let noted = self.active.0.commands().noted();
        let write = noted.writes.get(&difference.path);
        if let Some(write) = write.filter(|it| it.at > self.since && it.stamp == Some(stamp)) {
            return match &write.bytes {
                Some(bytes) => Was::Bytes { bytes: Arc::clone(bytes), mode },
                None => Was::Unknown,
            };
        }
        drop(noted);
        if let Some(copy) = self.copies.get(&difference.path).filter(|it| it.stamp == stamp) {
            return Was::Bytes { bytes: Arc::clone(&copy.bytes), mode };
        }
        match in_index(&self.indexes, &difference.path, &stamp) {
            Some(blob) if !difference.secret => Was::Git { blob, mode },
            Some(_) | None => Was::Unknown,
        }
    }

    /// The path as the workspace's files are named.
    fn named(&self, real: &Path) -> PathBuf {
        let below =
            |(path, root): &(PathBuf, PathBuf)| Some(path.join(real.strip_prefix(root).ok()?));
        self.roots.iter().find_map(below).unwrap_or_else(|| real.to_owned())
    }
}

impl Copy {
    fn read(path: &Path, stamp: Stamp) -> Option<Copy> {
        let settled = !stamp.is_young();
        let bytes = read(path, MAX_COPY)?;
        // What changed while it was read is not what it was.
        (Stamp::at(path) == Some(stamp)).then_some(Copy { stamp, bytes, settled })
    }
}

fn now(difference: &Difference) -> Is {
    let path = &difference.path;
    match difference.after {
        Some(_) if difference.secret => Is::Other("secret"),
        Some(stamp) if stamp.len > MAX_COMPARED => Is::Other("large file"),
        Some(stamp) => match read(path, MAX_COMPARED) {
            Some(bytes) => Is::Bytes { bytes, mode: stamp.mode },
            None => Is::Other("unreadable file"),
        },
        None => match disk::link_stat(path) {
            Ok(stat) => Is::Other(stat.kind.name()),
            Err(_) if difference.secret => Is::Other("secret, deleted"),
            Err(_) => Is::Nothing,
        },
    }
}

fn is_same(before: &Was, after: &Is) -> bool {
    match (before, after) {
        (Was::Bytes { bytes, mode }, Is::Bytes { bytes: now, mode: now_mode }) => {
            bytes == now && mode == now_mode
        }
        (Was::Nothing, Is::Nothing) => true,
        (Was::Nothing | Was::Bytes { .. } | Was::Git { .. } | Was::Unknown, _) => false,
    }
}

fn in_index(indexes: &[Arc<GitIndex>], path: &Path, stamp: &Stamp) -> Option<GitBlob> {
    indexes.iter().find_map(|it| it.unchanged(path, stamp))
}

fn read(path: &Path, max: u64) -> Option<Arc<[u8]>> {
    disk::read_bytes(path, max).ok().map(Arc::from)
}

fn real_of(
    (location, open): (crate::location::Location, crate::store::OpenText),
) -> Option<PathBuf> {
    open.real.or_else(|| location.path().map(Path::to_owned))
}

/// Roots that lie in no other, as named and as they really are.
fn outermost(roots: &Roots) -> Vec<(PathBuf, PathBuf)> {
    let all: Vec<(PathBuf, PathBuf)> =
        roots.paths().map(|path| (path.to_owned(), crate::roots::real_path(path))).collect();
    let mut kept: Vec<(PathBuf, PathBuf)> = Vec::new();
    for (path, real) in &all {
        let inside = all.iter().any(|(_, other)| real != other && real.starts_with(other));
        if !inside && !kept.iter().any(|(_, other)| other == real) {
            kept.push((path.clone(), real.clone()));
        }
    }
    kept
}

#[cfg(test)]
mod tests;

//! The stat of every file that the repository does not ignore, at one moment.
//!
//! A census holds no content. Two of them tell which files may differ; times of files that changed just before a
//! census tell nothing, which `young` says.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};

use crate::search::{FileLists, IGNORE_FILES, List, path_order, threads};

/// Fewer files than these are looked at by the calling thread alone.
const FEW: usize = 1_500;

/// What tells that a regular file changed; times in nanoseconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    pub modified: i128,
    pub changed: i128,
    pub len: u64,
    pub inode: u64,
    /// Permission bits.
    pub mode: u32,
}

impl Stamp {
    /// Of the regular file at `path`; links are not followed.
    pub fn at(path: &Path) -> Option<Stamp> {
        Stamp::below(CWD, path.as_os_str().as_bytes())
    }

    /// As [`Stamp::at`], of a path below an open folder.
    fn below(folder: impl AsFd, name: &[u8]) -> Option<Stamp> {
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile).then(|| Stamp::of(&stat))
    }

    fn of(stat: &Stat) -> Stamp {
        let time =
            |seconds: i64, nanos: u64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        Stamp {
            modified: time(stat.st_mtime, stat.st_mtime_nsec),
            changed: time(stat.st_ctime, stat.st_ctime_nsec),
            len: u64::try_from(stat.st_size).unwrap_or_default(),
            inode: stat.st_ino,
            mode: stat.st_mode & 0o7777,
        }
    }

    /// Whether a change right after the last one may have left the same times, because clocks of file systems tick
    /// slowly.
    pub fn is_young(&self) -> bool {
        self.is_young_at(now())
    }

    fn is_young_at(&self, now: i128) -> bool {
        let tick = if self.changed % 1_000_000_000 == 0 { 2_100 } else { 60 };
        now - self.changed.max(self.modified) < tick * 1_000_000
    }
}

/// One file that may differ.
#[derive(Clone, Debug)]
pub(super) struct Difference {
    pub path: PathBuf,
    pub before: Option<Stamp>,
    pub after: Option<Stamp>,
    /// Its content is nobody's business.
    pub secret: bool,
}

impl Difference {
    /// Whether it decides which files are looked at.
    pub fn is_of_ignore_file(&self) -> bool {
        self.path.file_name().is_some_and(|name| IGNORE_FILES.iter().any(|it| name == *it))
    }

    /// Whether the file was there before `taken`, only not looked at.
    pub fn only_came_into_view(&self, taken: i128) -> bool {
        self.before.is_none() && self.after.is_some_and(|it| it.changed < taken - 20_000_000)
    }
}

/// Every file of some folders.
pub(super) struct Census {
    parts: Vec<Part>,
    taken: i128,
}

struct Part {
    list: Arc<List>,
    /// As `list.files`, then `list.secrets`.
    stamps: Vec<Option<Stamp>>,
}

impl Census {
    /// `None` when there are more files than `max`, or it is not done at `end`.
    pub fn take<'a>(
        lists: &FileLists,
        roots: impl Iterator<Item = &'a Path>,
        max: usize,
        end: Instant,
    ) -> Option<Census> {
        let taken = now();
        let late = || Instant::now() >= end;
        let mut parts = Vec::new();
        let mut count = 0;
        for root in roots {
            let list = lists.not_ignored(root, &late)?;
            count += list.files.len() + list.secrets.len();
            if count > max {
                return None;
            }
            let stamps = stamps(&list, end)?;
            parts.push(Part { list, stamps });
        }
        Some(Census { parts, taken })
    }

    /// When it began, in nanoseconds since 1970.
    pub fn taken(&self) -> i128 {
        self.taken
    }

    /// The files but the secret ones.
    pub fn readable(&self) -> impl Iterator<Item = (&Path, Stamp)> {
        let all = self.parts.iter().flat_map(|it| it.list.files.iter().zip(&it.stamps));
        all.filter_map(|(path, stamp)| Some((path.as_path(), (*stamp)?)))
    }

    /// Files that were changed so shortly before that their times do not tell of the next change.
    pub fn young(&self) -> Vec<PathBuf> {
        let young = self.readable().filter(|(_, stamp)| stamp.is_young_at(self.taken));
        young.map(|(path, _)| path.to_owned()).collect()
    }

    /// The files that differ from an earlier census of the same folders, in path order.
    pub fn differences(&self, earlier: &Census) -> Vec<Difference> {
        let pairs = earlier.parts.iter().zip(&self.parts);
        pairs.flat_map(|(before, after)| before.differences(after)).collect()
    }
}

impl Part {
    fn differences(&self, after: &Part) -> Vec<Difference> {
        if Arc::ptr_eq(&self.list, &after.list) && self.stamps == after.stamps {
            return Vec::new();
        }
        let (files, secrets) = (self.list.files.len(), after.list.files.len());
        let (old, old_secrets) = self.stamps.split_at(files.min(self.stamps.len()));
        let (new, new_secrets) = after.stamps.split_at(secrets.min(after.stamps.len()));
        let mut out = merged((&self.list.files, old), (&after.list.files, new));
        let secrets = merged((&self.list.secrets, old_secrets), (&after.list.secrets, new_secrets));
        out.extend(secrets.into_iter().map(|it| Difference { secret: true, ..it }));
        out
    }
}

type Stamped<'a> = (&'a [PathBuf], &'a [Option<Stamp>]);

fn merged(before: Stamped<'_>, after: Stamped<'_>) -> Vec<Difference> {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let mut out = Vec::new();
    let mut old = before.0.iter().zip(before.1).peekable();
    let mut new = after.0.iter().zip(after.1).peekable();
    loop {
        let order = match (old.peek(), new.peek()) {
            (None, None) => return out,
            (Some(_), None) => Less,
            (None, Some(_)) => Greater,
            (Some((a, _)), Some((b, _))) => {
                if a == b {
                    Equal
                } else {
                    path_order(a, b)
                }
            }
        };
        let before = if order == Greater { None } else { old.next() };
        let after = if order == Less { None } else { new.next() };
        let Some((path, _)) = before.or(after) else { return out };
        let (before, after) = (before.and_then(|it| *it.1), after.and_then(|it| *it.1));
        if before != after {
            out.push(Difference { path: path.clone(), before, after, secret: false });
        }
    }
}

fn stamps(list: &List, end: Instant) -> Option<Vec<Option<Stamp>>> {
    let paths: Vec<&Path> = list.files.iter().chain(&list.secrets).map(PathBuf::as_path).collect();
    let look = |paths: &[&Path]| -> Option<Vec<Option<Stamp>>> {
        let mut out = Vec::with_capacity(paths.len());
        let mut folders = Folders::default();
        for (index, path) in paths.iter().enumerate() {
            if index % 1024 == 1023 && Instant::now() >= end {
                return None;
            }
            out.push(folders.stamp(path));
        }
        Some(out)
    };
    if paths.len() <= FEW {
        return look(&paths);
    }
    let size = paths.len().div_ceil(threads()).max(1);
    std::thread::scope(|scope| {
        let parts: Vec<_> =
            paths.chunks(size).map(|chunk| scope.spawn(move || look(chunk))).collect();
        let mut out = Vec::with_capacity(paths.len());
        for part in parts {
            out.extend(part.join().ok()??);
        }
        Some(out)
    })
}

/// The folders above the file looked at last, open: the way to a file's folder is gone once, not once a file.
#[derive(Default)]
struct Folders<'a>(Vec<(&'a [u8], OwnedFd)>);

impl<'a> Folders<'a> {
    /// The stamp of an absolute path; quick where paths come in order.
    fn stamp(&mut self, path: &'a Path) -> Option<Stamp> {
        let bytes = path.as_os_str().as_bytes();
        let Some((folder, name)) = split(bytes) else { return Stamp::at(path) };
        while self.0.last().is_some_and(|(open, _)| !is_within(folder, open)) {
            self.0.pop();
        }
        if self.0.last().is_none_or(|(open, _)| *open != folder) {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let Ok(opened) = rustix::fs::open(folder, flags, Mode::empty()) else {
                return Stamp::at(path);
            };
            self.0.push((folder, opened));
        }
        let (_, folder) = self.0.last()?;
        Stamp::below(folder, name)
    }
}

/// A path's folder and its last name.
fn split(path: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memrchr(b'/', path).filter(|at| *at > 0)?;
    Some((&path[..at], &path[at + 1..]))
}

fn is_within(path: &[u8], folder: &[u8]) -> bool {
    path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest[0] == b'/')
}

fn now() -> i128 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i128::try_from(since.as_nanos()).unwrap_or_default()
}

//! What a folder or an ignore file looked like when it was read, to tell later whether it still does.
//!
//! A stamp holds only when it is older than the reading it vouches for: clocks of file systems tick slowly, and two
//! changes within a tick look like one. Change times are compared, which no program can set back.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// A change this shortly before the reading may not be the last one of its tick.
const TICK: Duration = Duration::from_millis(60);

/// When a reading began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Began(SystemTime);

impl Began {
    pub fn now() -> Began {
        Began(SystemTime::now())
    }
}

/// What stood at a path.
#[derive(Clone, Debug)]
pub(super) struct Stamp {
    pub path: PathBuf,
    seen: Seen,
    settled: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Seen {
    Absent,
    /// A repository's own folder: that it is there counts, what goes on in it does not.
    Repository,
    Exact {
        changed: (i64, i64),
        modified: (i64, i64),
        place: (u64, u64),
        len: u64,
    },
}

impl Stamp {
    pub fn of(path: PathBuf, began: Began) -> Stamp {
        let (seen, settled) = match std::fs::metadata(&path) {
            Ok(metadata) => (Seen::of(&path, &metadata), is_older(&metadata, began)),
            Err(_) => (Seen::Absent, true),
        };
        let settled = settled || seen == Seen::Repository;
        Stamp { path, seen, settled }
    }

    /// Whether what was read when the stamp was taken is what would be read now.
    pub fn holds(&self) -> bool {
        self.settled && self.seen == Seen::now(&self.path)
    }

    /// Whether the same thing still stands there, changed or not.
    pub fn is_same_thing(&self) -> bool {
        match (&self.seen, Seen::now(&self.path)) {
            (Seen::Exact { place, .. }, Seen::Exact { place: now, .. }) => *place == now,
            (seen, now) => *seen == now,
        }
    }

    pub fn is_absent(&self) -> bool {
        self.seen == Seen::Absent
    }

    /// The device it lies on.
    pub fn device(&self) -> Option<u64> {
        match self.seen {
            Seen::Exact { place: (device, _), .. } => Some(device),
            Seen::Absent | Seen::Repository => None,
        }
    }
}

impl Seen {
    fn now(path: &Path) -> Seen {
        std::fs::metadata(path).map_or(Seen::Absent, |metadata| Seen::of(path, &metadata))
    }

    fn of(path: &Path, metadata: &Metadata) -> Seen {
        let is_marker = path.file_name().is_some_and(|name| name == ".git" || name == ".jj");
        if is_marker && metadata.is_dir() {
            return Seen::Repository;
        }
        Seen::Exact {
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            place: (metadata.dev(), metadata.ino()),
            // A folder's length says nothing.
            len: if metadata.is_dir() { 0 } else { metadata.len() },
        }
    }
}

fn is_older(metadata: &Metadata, began: Began) -> bool {
    let (Ok(seconds), Ok(nanos)) =
        (u64::try_from(metadata.ctime()), u32::try_from(metadata.ctime_nsec()))
    else {
        return false;
    };
    let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanos);
    began.0.duration_since(changed).is_ok_and(|age| age > TICK)
}

/// Whether the file system of `path` is one whose times and events tell everything: a local one that is well known.
/// Over a network another machine changes files unseen.
#[cfg(target_os = "linux")]
pub(super) fn is_dependable(path: &Path) -> bool {
    const EXT: u32 = 0xEF53;
    const XFS: u32 = 0x5846_5342;
    const BTRFS: u32 = 0x9123_683E;
    const TMPFS: u32 = 0x0102_1994;
    const F2FS: u32 = 0xF2F5_2010;
    const OVERLAY: u32 = 0x794C_7630;
    const ZFS: u32 = 0x2FC1_2FC1;
    const BCACHEFS: u32 = 0xCA45_1A4E;
    let known = [EXT, XFS, BTRFS, TMPFS, F2FS, OVERLAY, ZFS, BCACHEFS];
    // The number is signed on some machines and wider on others; its bits are the same.
    rustix::fs::statfs(path)
        .is_ok_and(|stat| known.contains(&((stat.f_type as u64 & 0xFFFF_FFFF) as u32)))
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_dependable(_: &Path) -> bool {
    false
}

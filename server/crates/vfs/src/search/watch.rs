//! What the kernel saw happen in the folders of a list since it was last asked.
//!
//! Events wait in the kernel and are fetched when a search asks, so nothing runs while nobody searches, and a change
//! that was made before a search began is always known to it.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

#[cfg(target_os = "linux")]
pub(super) use self::linux::Watch;
#[cfg(not(target_os = "linux"))]
pub(super) use self::none::Watch;

/// What happened.
#[derive(Debug, Default)]
pub(super) struct News {
    /// Folders with other entries than before.
    pub changed: BTreeSet<PathBuf>,
    /// Folders that came, went or were exchanged for others, with all below them.
    pub replaced: HashSet<PathBuf>,
    /// Something happened that is not in here.
    pub lost: bool,
}

/// A watched folder's number.
pub(super) type Number = i32;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::HashMap;
    use std::ffi::OsStr;
    use std::fs::File;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags};
    use rustix::io::Errno;

    use super::{News, Number};

    /// Part of what the person may watch altogether that one list takes at most; editors need the rest.
    const SHARE: usize = 8;
    const MOST: usize = 50_000;

    #[derive(Debug)]
    pub(in super::super) struct Watch {
        events: OwnedFd,
        /// Tells by polling that something was mounted over a folder, which is no event of the folder.
        mounts: File,
        /// One folder may be reached by several paths.
        folders: HashMap<Number, Vec<PathBuf>>,
    }

    impl Watch {
        /// A watch for about so many folders; `None` where that is too much.
        pub fn new(folders: usize) -> Option<Watch> {
            let allowed = std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok()?;
            let allowed: usize = allowed.trim().parse().ok()?;
            if folders > MOST.min(allowed / SHARE) {
                return None;
            }
            let events = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).ok()?;
            let mounts = File::open("/proc/self/mountinfo").ok()?;
            Some(Watch { events, mounts, folders: HashMap::new() })
        }

        /// Watches a folder from now on; `None` when that cannot be.
        pub fn add(&mut self, folder: &Path) -> Option<Number> {
            let flags = WatchFlags::CREATE
                | WatchFlags::DELETE
                | WatchFlags::MOVED_FROM
                | WatchFlags::MOVED_TO
                | WatchFlags::ATTRIB
                | WatchFlags::DELETE_SELF
                | WatchFlags::MOVE_SELF
                | WatchFlags::ONLYDIR;
            let number = inotify::add_watch(&self.events, folder, flags).ok()?;
            let paths = self.folders.entry(number).or_default();
            if !paths.iter().any(|path| path == folder) {
                paths.push(folder.to_owned());
            }
            Some(number)
        }

        /// Watches a folder no more under this path.
        pub fn remove(&mut self, number: Number, folder: &Path) {
            let Some(paths) = self.folders.get_mut(&number) else { return };
            paths.retain(|path| path != folder);
            if paths.is_empty() {
                self.folders.remove(&number);
                // A folder that is gone is not watched any more.
                let _ = inotify::remove_watch(&self.events, number);
            }
        }

        /// Watches no folders but these.
        pub fn retain(&mut self, wanted: impl Fn(&Path) -> bool) {
            let numbers: Vec<_> =
                self.folders.iter().map(|(number, paths)| (*number, paths.clone())).collect();
            for (number, paths) in numbers {
                for path in paths.iter().filter(|path| !wanted(path)) {
                    self.remove(number, path);
                }
            }
        }

        /// What happened since the last time.
        pub fn news(&mut self) -> News {
            let mut news = News { lost: self.is_remounted(), ..News::default() };
            let mut buffer = [MaybeUninit::uninit(); 16 * 1024];
            let mut reader = Reader::new(&self.events, &mut buffer);
            loop {
                match reader.next() {
                    Ok(event) => {
                        let name = event.file_name().map(|name| OsStr::from_bytes(name.to_bytes()));
                        note(&mut self.folders, &mut news, event.wd(), event.events(), name);
                    }
                    Err(Errno::WOULDBLOCK) => return news,
                    Err(Errno::INTR) => {}
                    Err(_) => {
                        news.lost = true;
                        return news;
                    }
                }
            }
        }

        fn is_remounted(&self) -> bool {
            let mut polled = [PollFd::new(&self.mounts, PollFlags::PRI)];
            let at_once = rustix::event::Timespec { tv_sec: 0, tv_nsec: 0 };
            poll(&mut polled, Some(&at_once)) != Ok(0)
        }
    }

    fn note(
        folders: &mut HashMap<Number, Vec<PathBuf>>,
        news: &mut News,
        number: Number,
        what: ReadFlags,
        name: Option<&OsStr>,
    ) {
        if what.intersects(ReadFlags::QUEUE_OVERFLOW | ReadFlags::UNMOUNT) {
            news.lost = true;
        }
        let Some(paths) = folders.get(&number) else { return };
        match name {
            // What a file may be read by says nothing about the list.
            Some(_) if what == ReadFlags::ATTRIB => return,
            Some(name) if what.contains(ReadFlags::ISDIR) => {
                news.replaced.extend(paths.iter().map(|path| path.join(name)));
            }
            Some(_) | None => {}
        }
        news.changed.extend(paths.iter().cloned());
        if what.contains(ReadFlags::IGNORED) {
            folders.remove(&number);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod none {
    use std::path::Path;

    use super::{News, Number};

    /// Lists are not kept there.
    #[derive(Debug)]
    pub(in super::super) struct Watch;

    impl Watch {
        pub fn new(_: usize) -> Option<Watch> {
            None
        }

        pub fn add(&mut self, _: &Path) -> Option<Number> {
            None
        }

        pub fn remove(&mut self, _: Number, _: &Path) {}

        pub fn retain(&mut self, _: impl Fn(&Path) -> bool) {}

        pub fn news(&mut self) -> News {
            News { lost: true, ..News::default() }
        }
    }
}

//! Files that a confined process cannot open, in a view of the file system of its own.
//!
//! Over each lies a device that may not be opened there. Without the rights to mount a process takes
//! them in a user namespace of its own, in which it stays the same user and loses them with its next
//! program; some systems forbid that, and then it is not started.

use std::ffi::OsString;
use std::io;

use rustix::fs::{Mode, OFlags};
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::thread::UnshareFlags;

/// What lies over a hidden file.
const COVER: &str = "/dev/null";

/// What is to be hidden, made ready before the fork.
pub(crate) struct Hiding {
    files: Vec<OsString>,
    user: UserMaps,
}

/// How this user is called in a namespace of its own: the same.
struct UserMaps {
    user: String,
    group: String,
}

impl Hiding {
    /// `None` when there is nothing to hide.
    pub(crate) fn prepare(files: &[OsString]) -> Option<Hiding> {
        let is_file = |it: &&OsString| {
            rustix::fs::stat(it.as_os_str()).is_ok_and(|stat| {
                rustix::fs::FileType::from_raw_mode(stat.st_mode)
                    == rustix::fs::FileType::RegularFile
            })
        };
        let files: Vec<OsString> = files.iter().filter(is_file).cloned().collect();
        let user = rustix::process::geteuid().as_raw();
        let group = rustix::process::getegid().as_raw();
        let user =
            UserMaps { user: format!("{user} {user} 1"), group: format!("{group} {group} 1") };
        (!files.is_empty()).then_some(Hiding { files, user })
    }

    /// Hides them from the calling process, which has one thread, and from all it starts.
    pub(crate) fn enter(&self) -> io::Result<()> {
        if unshare(UnshareFlags::NEWNS).is_err() {
            unshare(UnshareFlags::NEWNS | UnshareFlags::NEWUSER)?;
            write("/proc/self/setgroups", "deny")?;
            write("/proc/self/uid_map", &self.user.user)?;
            write("/proc/self/gid_map", &self.user.group)?;
        }
        let private = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
        rustix::mount::mount_change("/", private)?;
        for file in &self.files {
            rustix::mount::mount_bind(COVER, file.as_os_str())?;
            let closed =
                MountFlags::BIND | MountFlags::NODEV | MountFlags::NOSUID | MountFlags::NOEXEC;
            rustix::mount::mount_remount(file.as_os_str(), closed, "")?;
        }
        Ok(())
    }
}

#[expect(unsafe_code, reason = "it would part threads from each other, and there is one")]
fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    // SAFETY: descriptors stay shared; of the file system's view there is no other user.
    unsafe { rustix::thread::unshare_unsafe(flags) }
}

fn write(path: &str, text: &str) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty())?;
    rustix::io::write(&file, text.as_bytes())?;
    Ok(())
}

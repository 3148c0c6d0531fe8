//! What a repository's index knows of its work tree: which files are as an object of it is.
//!
//! The file is only read, in its formats 2 to 4 with SHA-1 names. Whatever is not understood counts as unknown; an
//! entry is believed only where it is older than the index itself, as git does.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::GitBlob;
use super::census::Stamp;
use crate::disk;

const MAX_INDEX: u64 = 256 << 20;
const SMALL: u64 = 1 << 20;
const OBJECT: usize = 20;
/// From the times to the object's name.
const FIXED: usize = 40;
const EXTENDED: u16 = 0x4000;
const STAGE: u16 = 0x3000;
/// Regular files, with or without the permission to execute.
const REGULAR: u32 = 0o100_000;
const KIND: u32 = 0o170_000;
/// A commit of another repository.
const SUBMODULE: u32 = 0o160_000;
/// The extension of an index whose entries stand in another file.
const SPLIT: &[u8] = b"link";

/// One index as it was read.
pub(super) struct GitIndex {
    worktree: PathBuf,
    path: PathBuf,
    stamp: Stamp,
    entries: HashMap<Box<[u8]>, Entry>,
}

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    /// Nanoseconds since 1970.
    modified: i128,
    len: u32,
    inode: u32,
    id: [u8; OBJECT],
}

impl GitIndex {
    /// The index of the repository a folder lies in; one of `known` when that is unchanged.
    pub fn above(folder: &Path, known: &[Arc<GitIndex>]) -> Option<Arc<GitIndex>> {
        let worktree = folder.ancestors().find(|it| disk::link_stat(&it.join(".git")).is_ok())?;
        let own = git_dir(worktree)?;
        let path = own.join("index");
        let stamp = Stamp::at(&path)?;
        let same = |it: &&Arc<GitIndex>| it.path == path && it.stamp == stamp;
        if let Some(known) = known.iter().find(same).filter(|_| !stamp.is_young()) {
            return Some(Arc::clone(known));
        }
        if !names_are_sha1(&own) {
            return None;
        }
        let bytes = disk::read_bytes(&path, MAX_INDEX).ok()?;
        let entries = parse(&bytes)?;
        Some(Arc::new(GitIndex { worktree: worktree.to_owned(), path, stamp, entries }))
    }

    /// The object a file is equal to, where its stat says it is unchanged since the index was written.
    pub fn unchanged(&self, path: &Path, stamp: &Stamp) -> Option<GitBlob> {
        let (name, entry) = self.entry(path, stamp)?;
        Some(GitBlob {
            worktree: self.worktree.clone(),
            name: PathBuf::from(std::ffi::OsStr::from_bytes(name)),
            id: crate::journal::hex(&entry.id),
            len: stamp.len,
        })
    }

    /// Whether [`GitIndex::unchanged`] has an object.
    pub fn is_unchanged(&self, path: &Path, stamp: &Stamp) -> bool {
        self.entry(path, stamp).is_some()
    }

    /// The name of a file in the index and its entry, where that is of the file as it is.
    fn entry<'a>(&self, path: &'a Path, stamp: &Stamp) -> Option<(&'a [u8], &Entry)> {
        let path = path.as_os_str().as_bytes();
        let name = path.strip_prefix(self.worktree.as_os_str().as_bytes())?.strip_prefix(b"/")?;
        let entry = self.entries.get(name)?;
        let same_size = u64::from(entry.len) == stamp.len;
        let same_file = entry.inode == 0 || u64::from(entry.inode) == stamp.inode & 0xffff_ffff;
        let settled = entry.modified < self.stamp.modified;
        (same_size && same_file && settled && entry.modified == stamp.modified)
            .then_some((name, entry))
    }
}

/// Where a work tree's own repository data is: `.git` itself or where that file points.
fn git_dir(worktree: &Path) -> Option<PathBuf> {
    let git = worktree.join(".git");
    if disk::stat(&git).ok()?.kind == disk::FileKind::Folder {
        return Some(git);
    }
    let pointer = disk::read_bytes(&git, SMALL).ok()?;
    let target = pointer.strip_prefix(b"gitdir:")?.trim_ascii();
    Some(worktree.join(Path::new(std::ffi::OsStr::from_bytes(target))))
}

fn names_are_sha1(own: &Path) -> bool {
    let common = disk::read_bytes(&own.join("commondir"), SMALL).ok();
    let common = common.map(|it| own.join(std::ffi::OsStr::from_bytes(it.trim_ascii())));
    let config = common.as_deref().unwrap_or(own).join("config");
    let Ok(text) = disk::read_bytes(&config, SMALL) else { return true };
    !String::from_utf8_lossy(&text).to_ascii_lowercase().contains("objectformat")
}

/// Where the submodules of a work tree lie in it, as the index `path` has them; `None` where it cannot be
/// told.
pub(crate) fn submodules(path: &Path) -> Option<Vec<PathBuf>> {
    let bytes = disk::read_bytes(path, MAX_INDEX).ok()?;
    let may_have = |it: &[u8]| memchr::memmem::find(&bytes, it).is_some();
    if !may_have(&SUBMODULE.to_be_bytes()) && !may_have(SPLIT) {
        return Some(Vec::new());
    }
    let object = if names_are_sha1(path.parent()?) { OBJECT } else { 32 };
    let mut found = Vec::new();
    let end = each(&bytes, object, |entry| {
        if entry.mode & KIND == SUBMODULE {
            found.push(PathBuf::from(std::ffi::OsStr::from_bytes(entry.name)));
        }
        Some(())
    })?;
    // The entries of a split index stand elsewhere.
    (bytes.get(end..end + SPLIT.len())? != SPLIT).then_some(found)
}

/// The entries of regular files that are not in conflict.
fn parse(bytes: &[u8]) -> Option<HashMap<Box<[u8]>, Entry>> {
    let mut entries = HashMap::new();
    each(bytes, OBJECT, |it| {
        if it.flags & STAGE == 0 && it.mode & KIND == REGULAR {
            let seconds = i128::from(number(it.fixed, 8)?);
            let modified = seconds * 1_000_000_000 + i128::from(number(it.fixed, 12)?);
            let (inode, len) = (number(it.fixed, 20)?, number(it.fixed, 36)?);
            let id = it.fixed.get(FIXED..FIXED + OBJECT)?.try_into().ok()?;
            entries.insert(it.name.into(), Entry { modified, len, inode, id });
        }
        Some(())
    })?;
    Some(entries)
}

/// One entry as it is written.
struct Raw<'a> {
    name: &'a [u8],
    mode: u32,
    flags: u16,
    /// What stands before the name.
    fixed: &'a [u8],
}

/// Takes every entry, and tells where they end. `object`: bytes of an object's name.
fn each(bytes: &[u8], object: usize, mut take: impl FnMut(Raw<'_>) -> Option<()>) -> Option<usize> {
    let rest = bytes.strip_prefix(b"DIRC")?;
    let version = number(rest, 0)?;
    let count = usize::try_from(number(rest, 4)?).ok()?;
    if !(2..=4).contains(&version) {
        return None;
    }
    let mut at = 12;
    let mut name: Vec<u8> = Vec::new();
    for _ in 0..count {
        let start = at;
        let before = FIXED + object;
        let fixed = bytes.get(at..at + before + 2)?;
        let flags = u16::from_be_bytes([*fixed.get(before)?, *fixed.get(before + 1)?]);
        at += before + 2;
        if flags & EXTENDED != 0 {
            at += 2;
        }
        if version == 4 {
            let (dropped, used) = offset(bytes.get(at..)?)?;
            at += used;
            name.truncate(name.len().checked_sub(dropped)?);
        } else {
            name.clear();
        }
        let rest = bytes.get(at..)?;
        let end = memchr::memchr(0, rest)?;
        name.extend_from_slice(rest.get(..end)?);
        at += end + 1;
        if version != 4 {
            // Entries are padded to eight bytes, with one NUL at least.
            at = start + (at - start).div_ceil(8) * 8;
        }
        take(Raw { name: &name, mode: number(fixed, 24)?, flags, fixed })?;
    }
    Some(at)
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// A number as packs spell offsets, and how many bytes it took.
fn offset(bytes: &[u8]) -> Option<(usize, usize)> {
    let mut value = 0_usize;
    for (index, byte) in bytes.iter().take(9).enumerate() {
        if index > 0 {
            value += 1;
        }
        value = (value << 7) | usize::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Some((value, index + 1));
        }
    }
    None
}

#[cfg(test)]
mod tests;

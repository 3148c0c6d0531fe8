//! Before-images, kept by content, and the record of a transaction under way.
//!
//! A blob is on disk, synced, before the file it is the image of is touched. The image of what a file becomes may be
//! synced later, under a name that says so: until then a power cut can damage it, and nothing is taken back with it
//! unseen. The record of a transaction is locked while its process lives, so that another may undo what a dead one
//! left half done.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::images::Pruned;
use crate::snapshot::{hash_bytes, hash_rope};
use crate::state;
use crate::transaction::content::Content;
use crate::transaction::{Owned, Undo};
use serde::{Deserialize, Serialize};
use text::Rope;

/// Where before-images are.
pub(crate) enum Journal {
    Memory(Mutex<HashMap<[u8; 32], Vec<u8>>>),
    Disk(Disk),
}

/// Before-images in files.
pub(crate) struct Disk {
    dir: PathBuf,
    /// Bytes kept since images were last dropped.
    fresh: AtomicU64,
    /// Images that this process wrote and did not sync yet.
    unsettled: Mutex<HashSet<[u8; 32]>>,
    /// Held while one is synced and given its name.
    settling: Mutex<()>,
}

/// The record of a transaction under way; gone when it ends well.
#[derive(Debug)]
pub(crate) struct Intent {
    path: PathBuf,
    _lock: File,
}

/// A transaction whose process died in the middle of it, or before its owner had logged it.
pub(crate) struct Dead {
    pub process: u32,
    pub undo: Undo,
    pub owned: Option<Owned>,
    pub intent: Intent,
}

/// The record of a transaction.
#[derive(Serialize, Deserialize)]
struct Written<U> {
    #[serde(flatten)]
    undo: U,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owned: Option<Owned>,
}

/// The ends of the records' names: of what is under way, and of what took place and is not logged by
/// its owner yet.
const UNDER_WAY: &str = "json";
const UNLOGGED: &str = "unlogged";

/// Images this young may belong to what is about to be recorded.
const YOUNG: Duration = Duration::from_secs(60);

static NEXT: AtomicU64 = AtomicU64::new(0);

impl Journal {
    pub fn new(state_dir: Option<PathBuf>) -> Journal {
        match state_dir {
            Some(dir) => Journal::Disk(Disk {
                dir,
                fresh: AtomicU64::new(0),
                unsettled: Mutex::default(),
                settling: Mutex::default(),
            }),
            None => Journal::Memory(Mutex::default()),
        }
    }

    /// Keeps `bytes`; on return they survive a power cut.
    pub fn keep(&self, bytes: &[u8]) -> io::Result<[u8; 32]> {
        let hash = hash_bytes(bytes);
        self.keep_named(hash, bytes)?;
        Ok(hash)
    }

    /// As [`Journal::keep`].
    pub fn keep_content(&self, content: &Content) -> io::Result<[u8; 32]> {
        let hash = content.hash();
        self.keep_named(hash, content.bytes())?;
        Ok(hash)
    }

    /// As [`Journal::keep`]; no bytes are made of a text that is kept already.
    pub fn keep_text(&self, text: &Rope) -> io::Result<[u8; 32]> {
        let hash = hash_rope(text);
        let is_kept = match self {
            Journal::Memory(blobs) => {
                blobs.lock().unwrap_or_else(PoisonError::into_inner).contains_key(&hash)
            }
            Journal::Disk(disk) => disk.has(hash, text.len_bytes() as u64),
        };
        if !is_kept {
            self.keep_named(hash, text.to_string().as_bytes())?;
        }
        Ok(hash)
    }

    /// Keeps what the caller is about to write elsewhere too. On return it survives the end of the process; it
    /// survives a power cut once [`Journal::settle`] is done.
    pub fn keep_soon(&self, content: &Content) -> io::Result<[u8; 32]> {
        let (hash, bytes) = (content.hash(), content.bytes());
        match self {
            Journal::Memory(_) => self.keep_named(hash, bytes)?,
            Journal::Disk(disk) => disk.keep_soon(hash, bytes)?,
        }
        Ok(hash)
    }

    /// Whether all that is kept survives a power cut.
    pub fn is_settled(&self) -> bool {
        match self {
            Journal::Memory(_) => true,
            Journal::Disk(disk) => disk.unsettled().is_empty(),
        }
    }

    /// Makes all that is kept survive a power cut. Blocks on the disk.
    pub fn settle(&self) {
        let Journal::Disk(disk) = self else { return };
        let unsettled: Vec<[u8; 32]> = disk.unsettled().iter().copied().collect();
        for hash in unsettled {
            if let Err(error) = disk.settle(hash) {
                // It is written anew when it is needed as a before-image.
                tracing::debug!(image = %hex(&hash), %error, "an image is not synced");
            }
        }
    }

    fn keep_named(&self, hash: [u8; 32], bytes: &[u8]) -> io::Result<()> {
        match self {
            Journal::Memory(blobs) => {
                let mut blobs = blobs.lock().unwrap_or_else(PoisonError::into_inner);
                blobs.entry(hash).or_insert_with(|| bytes.to_vec());
                Ok(())
            }
            Journal::Disk(disk) => disk.keep(hash, bytes),
        }
    }

    /// The bytes kept under `hash`.
    pub fn get(&self, hash: [u8; 32]) -> io::Result<Vec<u8>> {
        match self {
            Journal::Memory(blobs) => {
                let blobs = blobs.lock().unwrap_or_else(PoisonError::into_inner);
                blobs.get(&hash).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
            }
            Journal::Disk(Disk { dir, .. }) => {
                let path = blob_path(dir, hash);
                let bytes = match fs::read(&path) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {
                        // It may get its last name between the two looks.
                        fs::read(unsettled_path(&path)).or_else(|_| fs::read(&path))?
                    }
                    other => other?,
                };
                if hash_bytes(&bytes) != hash {
                    return Err(io::Error::new(
                        io::ErrorKind::InvalidData,
                        "the before-image is damaged",
                    ));
                }
                Ok(bytes)
            }
        }
    }

    /// Records what is about to be done; `None` without a state folder.
    pub fn begin(&self, undo: &Undo, owned: Option<Owned>) -> io::Result<Option<Intent>> {
        let Journal::Disk(Disk { dir, .. }) = self else { return Ok(None) };
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = dir.join("journal").join(format!("{}-{number}.{UNDER_WAY}", std::process::id()));
        if let Some(parent) = path.parent() {
            state::private_dir(parent)?;
        }
        let mut file = state::create_private(&path)?;
        file.lock()?;
        file.write_all(&serde_json::to_vec(&Written { undo, owned })?)?;
        file.sync_all()?;
        Ok(Some(Intent { path, _lock: file }))
    }

    /// Bytes kept since images were last dropped.
    pub fn fresh(&self) -> u64 {
        match self {
            Journal::Memory(_) => 0,
            Journal::Disk(Disk { fresh, .. }) => fresh.load(Ordering::Relaxed),
        }
    }

    /// Drops the images used longest ago until no more than `limit` bytes are left. Those in
    /// `needed`, of transactions under way and of the last minute stay in any case.
    pub fn prune(&self, limit: u64, needed: &HashSet<[u8; 32]>) -> io::Result<Pruned> {
        let Journal::Disk(Disk { dir, fresh, .. }) = self else { return Ok(Pruned::default()) };
        fresh.store(0, Ordering::Relaxed);
        let Some(_lock) = state::lock(&dir.join("blobs.lock"))? else {
            // Another process is at it.
            return Ok(Pruned::default());
        };
        let mut images: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
        for folder in state::list(&dir.join("blobs"))? {
            for path in state::list(&folder)? {
                let Ok(found) = fs::metadata(&path) else { continue };
                let used = found.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                images.push((used, found.len(), path));
            }
        }
        let mut pruned = Pruned { left: images.iter().map(|it| it.1).sum(), ..Pruned::default() };
        if pruned.left <= limit {
            return Ok(pruned);
        }
        let needed: HashSet<PathBuf> =
            needed.iter().chain(&self.under_way()).map(|hash| blob_path(dir, *hash)).collect();
        let young = SystemTime::now().checked_sub(YOUNG).unwrap_or(SystemTime::UNIX_EPOCH);
        images.sort();
        for (_, len, path) in images {
            if pruned.left <= limit {
                break;
            }
            // Looked at again: it may have been used since.
            let used = fs::metadata(&path).and_then(|it| it.modified());
            if needed.contains(&path.with_extension("")) || used.map_or(true, |used| used > young) {
                continue;
            }
            fs::remove_file(&path)?;
            pruned.left -= len;
            pruned.dropped += 1;
        }
        Ok(pruned)
    }

    /// The images that transactions under way would be taken back with.
    fn under_way(&self) -> HashSet<[u8; 32]> {
        let Journal::Disk(Disk { dir, .. }) = self else { return HashSet::new() };
        let records = state::list(&dir.join("journal")).unwrap_or_default();
        let records = records.iter().filter_map(|path| fs::read(path).ok());
        let records = records.filter_map(|bytes| serde_json::from_slice::<Undo>(&bytes).ok());
        let entries = records.flat_map(|undo| undo.entries);
        let images = entries.flat_map(|entry| [entry.before, entry.after]).flatten();
        images.filter_map(|image| image.blob()).collect()
    }

    /// Records that dead processes left behind, locked; each is to be put back and then done.
    pub fn left_behind(&self) -> Vec<Dead> {
        let Journal::Disk(Disk { dir, .. }) = self else { return Vec::new() };
        take_all(dir, UNDER_WAY, |_| true)
    }

    /// Records of what took place for an owner, whose process died before it was logged; locked.
    pub fn unlogged(&self, owner: &str) -> Vec<Dead> {
        let Journal::Disk(Disk { dir, .. }) = self else { return Vec::new() };
        take_all(dir, UNLOGGED, |it| it.owned.as_ref().is_some_and(|it| it.owner == owner))
    }
}

impl Disk {
    fn keep(&self, hash: [u8; 32], bytes: &[u8]) -> io::Result<()> {
        if self.has(hash, bytes.len() as u64) {
            return Ok(());
        }
        let path = blob_path(&self.dir, hash);
        state::write_private(&path, bytes)?;
        self.fresh.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        // None is the rule.
        let _ = fs::remove_file(unsettled_path(&path));
        Ok(())
    }

    /// Whether an image is there, synced; it is from here on where it was written before.
    fn has(&self, hash: [u8; 32], len: u64) -> bool {
        // Without one of ours, a file of that other name may be from before a power cut.
        let is_unsettled = self.unsettled().contains(&hash);
        (is_unsettled && self.settle(hash).is_ok()) || used_now(&blob_path(&self.dir, hash), len)
    }

    fn keep_soon(&self, hash: [u8; 32], bytes: &[u8]) -> io::Result<()> {
        let path = blob_path(&self.dir, hash);
        let unsettled = unsettled_path(&path);
        let len = bytes.len() as u64;
        let is_ours = self.unsettled().contains(&hash);
        if used_now(&path, len) || (is_ours && used_now(&unsettled, len)) {
            return Ok(());
        }
        state::write_private_unsynced(&unsettled, bytes)?;
        self.fresh.fetch_add(len, Ordering::Relaxed);
        self.unsettled().insert(hash);
        Ok(())
    }

    /// Syncs an image and gives it its last name.
    fn settle(&self, hash: [u8; 32]) -> io::Result<()> {
        let _settling = self.settling.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.unsettled().contains(&hash) {
            // Somebody else has done it meanwhile.
            return Ok(());
        }
        let path = blob_path(&self.dir, hash);
        let unsettled = unsettled_path(&path);
        let settled = File::open(&unsettled)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&unsettled, &path))
            .and_then(|()| state::sync_dir(path.parent().unwrap_or(&self.dir)));
        self.unsettled().remove(&hash);
        settled
    }

    fn unsettled(&self) -> MutexGuard<'_, HashSet<[u8; 32]>> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Intent {
    /// The transaction took place; its record stays until its owner has logged it.
    pub fn took_place(mut self) -> io::Result<Intent> {
        let path = self.path.with_extension(UNLOGGED);
        if let Err(error) = fs::rename(&self.path, &path) {
            self.done();
            return Err(error);
        }
        self.path = path;
        Ok(self)
    }

    /// The transaction ended, well or undone.
    pub fn done(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = %self.path.display(), %error, "a finished transaction's record stays behind");
        }
    }
}

fn take_all(dir: &Path, end: &str, wanted: impl Fn(&Dead) -> bool) -> Vec<Dead> {
    let mut records = state::list(&dir.join("journal")).unwrap_or_default();
    records.retain(|it| it.extension().is_some_and(|it| it == end));
    // In the order they were made, where one process made them.
    let number =
        |path: &PathBuf| path.file_stem()?.to_str()?.split_once('-')?.1.parse::<u64>().ok();
    records.sort_by_key(number);
    records.iter().filter_map(|it| take_dead(it)).filter(wanted).collect()
}

fn take_dead(path: &Path) -> Option<Dead> {
    let process = path.file_stem()?.to_str()?.split_once('-')?.0.parse().ok()?;
    let file = File::open(path).ok()?;
    file.try_lock().ok()?;
    let intent = Intent { path: path.to_owned(), _lock: file };
    match fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()) {
        Some(Written { undo, owned }) => Some(Dead { process, undo, owned, intent }),
        None => {
            // A record that is not whole was never followed by a change.
            intent.done();
            None
        }
    }
}

/// Whether an image is kept already; it counts as used now.
fn used_now(path: &Path, len: u64) -> bool {
    let Ok(file) = File::open(path) else { return false };
    if !file.metadata().is_ok_and(|found| found.len() == len) {
        return false;
    }
    match file.set_modified(SystemTime::now()) {
        Ok(()) => true,
        Err(error) => {
            tracing::debug!(path = %path.display(), %error, "an image's time cannot be set");
            true
        }
    }
}

fn blob_path(dir: &Path, hash: [u8; 32]) -> PathBuf {
    let name = hex(&hash);
    dir.join("blobs").join(&name[..2]).join(&name[2..])
}

/// What an image is called as long as it is not synced.
fn unsettled_path(path: &Path) -> PathBuf {
    path.with_extension("new")
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut out, byte| {
        let _ = write!(out, "{byte:02x}");
        out
    })
}

#[cfg(test)]
mod tests;

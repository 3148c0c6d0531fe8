//! Texts of files read lately, so that a file which still holds the same bytes is not decoded and hashed anew.
//!
//! Invariant: a kept text is given out only after every byte of the file was compared with it. Times and sizes are
//! not believed, so it does not matter who wrote the file, or how quickly.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use text::{ChangeSet, Rope};

use crate::disk;
use crate::encoding::Encoding;
use crate::format::{Eol, EolCount, Format};
use crate::snapshot::Snapshot;

/// Smaller files are decoded as quickly as compared, in bytes.
const LEAST: usize = 64 << 10;
/// Texts kept, and their bytes together.
const MOST: usize = 4;
const MOST_BYTES: usize = 64 << 20;

/// The texts of the files read last.
#[derive(Default)]
pub(crate) struct Readings(Mutex<Vec<Reading>>);

/// What a file held: UTF-8 without damage, so that text and bytes are the same but for a byte order mark.
#[derive(Clone)]
pub(crate) struct Reading {
    path: PathBuf,
    pub rope: Rope,
    pub format: Format,
    /// Of the text, once somebody asked for it.
    pub hash: Arc<OnceLock<[u8; 32]>>,
}

impl Readings {
    /// The kept text of a file that holds it now.
    pub fn current(&self, path: &Path) -> io::Result<Option<Reading>> {
        let Some(reading) = self.kept(path) else { return Ok(None) };
        Ok(disk::holds(path, reading.bytes())?.then_some(reading))
    }

    /// The hash of `bytes`, which were read at `path`, where it is known.
    pub fn hash_of(&self, path: &Path, bytes: &[u8]) -> Option<[u8; 32]> {
        let reading = self.kept(path).filter(|it| !it.format.bom)?;
        let hash = *reading.hash.get()?;
        let mut rest = bytes;
        for part in reading.bytes() {
            rest = rest.strip_prefix(part)?;
        }
        rest.is_empty().then_some(hash)
    }

    /// Keeps the text of a file that was just read.
    pub fn keep(&self, path: &Path, read: &Snapshot) {
        let is_plain = read.format.encoding == Encoding::Utf8 && !read.damaged;
        if is_plain && (LEAST..=MOST_BYTES).contains(&read.rope.len_bytes()) {
            self.insert(Reading {
                path: path.to_owned(),
                rope: read.rope.clone(),
                format: read.format.clone(),
                hash: Arc::clone(&read.hash),
            });
        }
    }

    /// A file whose text had the hash `before` was changed; `after` is the hash of its text now.
    pub fn edited(&self, path: &Path, before: [u8; 32], changes: &ChangeSet, after: [u8; 32]) {
        let known = self.kept(path).filter(|it| it.hash.get() == Some(&before));
        let Some(known) = known.filter(|it| it.rope.len_bytes() == changes.len_before()) else {
            return;
        };
        let rope = changes.apply(&known.rope);
        let stays_lf = known.format.eol == Eol::Lf
            && !changes.edits().iter().any(|edit| edit.text.contains('\r'));
        let eol = if stays_lf { Eol::Lf } else { eol_of(&rope) };
        let format = Format { eol, final_newline: ends_line(&rope), ..known.format };
        let hash = Arc::new(OnceLock::from(after));
        self.insert(Reading { path: known.path, rope, format, hash });
    }

    fn kept(&self, path: &Path) -> Option<Reading> {
        self.all().iter().find(|it| it.path == path).cloned()
    }

    fn insert(&self, reading: Reading) {
        let mut all = self.all();
        all.retain(|it| it.path != reading.path);
        all.insert(0, reading);
        let mut bytes = 0;
        let fits = |it: &Reading| {
            bytes += it.rope.len_bytes();
            bytes <= MOST_BYTES
        };
        let count = all.iter().take(MOST).map(fits).take_while(|it| *it).count();
        all.truncate(count);
    }

    fn all(&self) -> MutexGuard<'_, Vec<Reading>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reading {
    /// The file's bytes, in pieces.
    fn bytes(&self) -> impl Iterator<Item = &[u8]> {
        let mark = if self.format.bom { self.format.encoding.bom() } else { b"" };
        std::iter::once(mark).chain(self.rope.chunks().map(str::as_bytes))
    }
}

fn eol_of(rope: &Rope) -> Eol {
    let mut count = EolCount::default();
    rope.chunks().for_each(|chunk| count.feed(chunk.as_bytes()));
    count.eol()
}

fn ends_line(rope: &Rope) -> bool {
    rope.chunks_at_byte(rope.len_bytes()).0.next().is_none_or(crate::format::ends_line)
}

#[cfg(test)]
mod tests;

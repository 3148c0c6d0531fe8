//! Where pending changes are kept on disk: one file, replaced as a whole.
//!
//! Invariant: damage costs the files it is in, never the others; it is said, and what was there is
//! kept aside.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use review::Saved;
use vfs::{Location, state};

use super::kept::{FORMAT, Kept, KeptFile};
use super::{Review, Table, checked};

/// Bytes of the texts of files that are kept only because decisions on them can be undone.
const MAX_DECIDED: usize = 16 << 20;
/// Files that are named where something is said about them.
const NAMED: usize = 10;

/// Where pending changes are kept.
pub struct Keeping {
    path: PathBuf,
    loaded: bool,
    /// Only its holder writes; other processes keep theirs in memory.
    lock: Option<state::Lock>,
    /// What the person is to know.
    problem: Option<String>,
}

impl Keeping {
    /// Nothing is read yet.
    pub fn new(path: PathBuf) -> Keeping {
        Keeping { path, loaded: false, lock: None, problem: None }
    }

    fn take_lock(&mut self) -> bool {
        if self.lock.is_none() {
            match state::lock(&self.path.with_extension("lock")) {
                Ok(lock) => self.lock = lock,
                Err(error) => tracing::warn!(%error, "pending changes cannot be kept"),
            }
        }
        self.lock.is_some()
    }
}

impl Review {
    /// Keeps what is pending now; soon, on a thread that may wait for the disk.
    pub fn save_soon(&self) {
        if self.0.unsaved.swap(true, Ordering::AcqRel) {
            return;
        }
        let review = self.clone();
        tokio::task::spawn_blocking(move || review.save());
    }

    /// Keeps what is pending, unless that is done.
    pub fn save(&self) {
        // Whoever saves last before the end waits for those who save already.
        let _writing = self.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.0.unsaved.swap(false, Ordering::AcqRel) {
            return;
        }
        let Some((path, bytes)) = self.table().pending() else { return };
        if let Err(error) = state::write_private(&path, &bytes) {
            tracing::warn!(%error, "pending changes cannot be kept for the next start");
        }
    }

    /// What of the pending changes of earlier runs could not be read.
    pub fn problem(&self) -> Option<String> {
        self.table().keeping.as_ref()?.problem.clone()
    }
}

impl Table {
    /// Takes over what was kept, once; whether this was the time.
    pub(super) fn load(&mut self) -> bool {
        let Some(keeping) = self.keeping.as_mut().filter(|it| !it.loaded) else { return false };
        keeping.loaded = true;
        keeping.take_lock();
        let path = keeping.path.clone();
        let problem = self.take_in(&path);
        if let Some(keeping) = &mut self.keeping {
            keeping.problem = problem;
        }
        true
    }

    /// Takes over what is kept in this file; gives what is to be said of it.
    fn take_in(&mut self, path: &Path) -> Option<String> {
        let bytes = match state::read_private(path) {
            Ok(bytes) => bytes?,
            Err(error) => {
                return Some(format!(
                    "The changes that were pending cannot be read from {}: {error}.",
                    path.display()
                ));
            }
        };
        let (lines, mut damaged) = checked::read::<Kept>(&bytes);
        let all = lines.len();
        let lines: Vec<Kept> = lines.into_iter().filter(|it| it.format == FORMAT).collect();
        damaged += all - lines.len();
        let hunks = lines.iter().map(|it| it.hunks).max().unwrap_or_default();
        let tokens = lines.iter().map(|it| it.tokens).max().unwrap_or_default();
        let kept: Vec<KeptFile> = lines.into_iter().filter_map(|it| it.file).collect();
        for it in &kept {
            let location = it.location();
            self.deleted.extend(it.undo.clone().map(|undo| (location.clone(), undo)));
            self.before.extend(it.before.clone().map(|image| (location.clone(), image)));
            if let Some(undo) = it.command.clone() {
                self.commands.restore_undo(location, undo);
            }
        }
        let files = kept.into_iter().map(KeptFile::saved).collect();
        let broken = self.ledger.restore(Saved { hunks, tokens, files });
        (0 < damaged || !broken.is_empty()).then(|| set_aside((path, &bytes), damaged, &broken))
    }

    fn pending(&mut self) -> Option<(PathBuf, Vec<u8>)> {
        let keeping = self.keeping.as_mut()?;
        if !keeping.take_lock() {
            return None;
        }
        let Saved { hunks, tokens, files } = self.ledger.save();
        let mut room = MAX_DECIDED;
        let files = files.into_iter().filter(|it| {
            // Those with nothing pending are here for the undo of decisions alone.
            let pending = !it.pieces.is_empty() || it.existence.is_some();
            let left = room.checked_sub(it.base.len());
            room = if pending { room } else { left.unwrap_or(room) };
            pending || left.is_some()
        });
        let files = files.map(|it| {
            let undo = self.deleted.get(&it.file).cloned();
            let before = self.before.get(&it.file).cloned();
            let command = self.commands.undo(&it.file).cloned();
            let mut kept = KeptFile::of(it);
            (kept.undo, kept.before, kept.command) = (undo, before, command);
            Some(kept)
        });
        let mut bytes = Vec::new();
        // The numbers go with each line, so that none is given twice whatever is lost.
        for file in std::iter::once(None).chain(files) {
            checked::push(&mut bytes, &Kept { format: FORMAT, hunks, tokens, file }).ok()?;
        }
        Some((keeping.path.clone(), bytes))
    }
}

/// Keeps a damaged file for whoever can make something of it; gives what the person is told.
fn set_aside((path, bytes): (&Path, &[u8]), damaged: usize, broken: &[Location]) -> String {
    let mut name = path.as_os_str().to_owned();
    name.push(".damaged");
    let aside = PathBuf::from(name);
    let kept = match state::write_private(&aside, bytes) {
        Ok(()) => format!("what was there is in {}", aside.display()),
        Err(error) => format!("what was there cannot be kept aside: {error}"),
    };
    let mut lost: Vec<String> = broken.iter().take(NAMED).map(ToString::to_string).collect();
    let more = damaged + broken.len() - lost.len();
    if 0 < more {
        let more = if lost.is_empty() { format!("{more}") } else { format!("{more} more") };
        lost.push(more);
    }
    let problem = format!(
        "The list of pending changes was damaged. Left out, their changes in place and not pending any \
         more: {} of its files; {kept}.",
        lost.join(", ")
    );
    tracing::warn!("{problem}");
    problem
}

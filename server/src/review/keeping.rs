//! Where pending changes are kept on disk: a file for each process that runs, replaced as a whole.
//!
//! Invariant: a process writes only the file whose lock it holds, and takes over those of processes
//! that ended. Damage costs the files it is in, never the others; it is said, and what was there is
//! kept aside.

use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{SystemTime, UNIX_EPOCH};

use review::{Saved, SavedFile};
use vfs::{Location, Vfs, state};

use super::kept::{FORMAT, Kept, KeptFile};
use super::{Review, Table, bases, checked};

/// Bytes of the texts of files that are kept only because decisions on them can be undone.
const MAX_DECIDED: usize = 16 << 20;
/// Bytes of texts up to which keeping them is waited for.
const AWAITED: usize = 1 << 20;
/// Files that are named where something is said about them.
const NAMED: usize = 10;

/// Processes of one folder whose changes are kept.
const MOST: usize = 64;

/// Where pending changes are kept.
pub struct Keeping {
    /// The first process's file; others have a number in theirs.
    path: PathBuf,
    loaded: bool,
    /// The file of this process.
    own: Option<Slot>,
    /// Those of processes that ended, until what they held is in ours.
    taken: Vec<Slot>,
    /// What the person is to know.
    problems: Vec<String>,
}

/// A process's file, for as long as it is ours to write.
struct Slot {
    number: usize,
    path: PathBuf,
    _lock: state::Lock,
}

impl Keeping {
    /// Nothing is read yet.
    pub fn new(path: PathBuf) -> Keeping {
        Keeping { path, loaded: false, own: None, taken: Vec::new(), problems: Vec::new() }
    }

    /// The slot of this number, unless another process has it.
    fn slot(&self, number: usize) -> Option<Slot> {
        let path = match number {
            1 => self.path.clone(),
            _ => self.path.with_file_name(format!("review-{number}.json")),
        };
        match state::lock(&path.with_extension("lock")) {
            Ok(lock) => Some(Slot { number, path, _lock: lock? }),
            Err(error) => {
                tracing::warn!(%error, "pending changes cannot be kept");
                None
            }
        }
    }

    /// The slots of processes that ended and left something.
    fn left(&self) -> Vec<Slot> {
        let own = self.own.as_ref().map(|it| it.number);
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let names = state::list(folder).unwrap_or_default();
        let numbers = names.iter().filter_map(|it| number_of(it)).filter(|it| Some(*it) != own);
        numbers.filter_map(|it| self.slot(it)).collect()
    }
}

/// Whether a file of a project's folder holds pending changes.
pub fn is_kept(path: &Path) -> bool {
    number_of(path).is_some()
}

fn number_of(path: &Path) -> Option<usize> {
    let name = path.file_name()?.to_str()?.strip_prefix("review")?.strip_suffix(".json")?;
    if name.is_empty() { Some(1) } else { name.strip_prefix('-')?.parse().ok() }
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

    /// Waits until what is to be saved soon is kept, unless it is much.
    pub async fn kept(&self) {
        let is_awaited = self.table().ledger.bytes() <= AWAITED;
        let review = self.clone();
        let kept = tokio::task::spawn_blocking(move || review.save());
        if is_awaited && let Err(error) = kept.await {
            tracing::error!(%error, "pending changes were not kept");
        }
    }

    /// Keeps what is pending, unless that is done.
    pub fn save(&self) {
        // Whoever saves last before the end waits for those who save already.
        let mut bases = self.0.writing.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.0.unsaved.swap(false, Ordering::AcqRel) {
            return;
        }
        let Some((path, mut lines)) = self.table().pending() else { return };
        bases.keep(&self.0.vfs, lines.iter_mut().filter_map(|it| it.file.as_mut()));
        let mut bytes = Vec::new();
        if let Err(error) = lines.iter().try_for_each(|it| checked::push(&mut bytes, it)) {
            tracing::error!(%error, "pending changes cannot be written down");
            return;
        }
        if let Err(error) = state::write_private(&path, &bytes) {
            tracing::warn!(%error, "pending changes cannot be kept for the next start");
            return;
        }
        let taken = self.table().keeping.as_mut().map(|it| std::mem::take(&mut it.taken));
        for slot in taken.into_iter().flatten() {
            if let Err(error) = state::remove(&slot.path) {
                tracing::warn!(%error, "pending changes that were taken over are still there");
            }
        }
    }

    /// What of the pending changes of earlier runs could not be read.
    pub fn problems(&self) -> Vec<String> {
        self.table().keeping.as_ref().map(|it| it.problems.clone()).unwrap_or_default()
    }
}

impl Table {
    /// Takes over what was kept, once; whether this was the time.
    pub(super) fn load(&mut self, vfs: &Vfs) -> bool {
        let Some(keeping) = self.keeping.as_mut().filter(|it| !it.loaded) else { return false };
        keeping.loaded = true;
        keeping.own = (1..=MOST).find_map(|it| keeping.slot(it));
        let left = keeping.left();
        let mut problems = Vec::new();
        if let Some(Slot { number, path, .. }) = &keeping.own {
            let (number, path) = (*number, path.clone());
            problems.extend(self.take_in((&path, vfs), Whose::This));
            if number != 1 {
                self.ledger.count_from(now());
            }
        }
        for slot in &left {
            problems.extend(self.take_in((&slot.path, vfs), Whose::Another));
        }
        if let Some(keeping) = &mut self.keeping {
            (keeping.taken, keeping.problems) = (left, problems);
        }
        true
    }

    /// Takes over what is kept in this file; gives what is to be said of it.
    fn take_in(&mut self, (path, vfs): (&Path, &Vfs), whose: Whose) -> Option<String> {
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
        let mut kept: Vec<KeptFile> = lines.into_iter().filter_map(|it| it.file).collect();
        let mut lost = Vec::new();
        kept.retain_mut(|it| {
            let is_there = it.take_base_from(|blob| bases::text(vfs, blob)).is_some();
            lost.extend((!is_there).then(|| it.location()));
            is_there
        });
        for it in &kept {
            let location = it.location();
            if let Some(undo) = it.undo.clone() {
                self.deleted.entry(location.clone()).or_insert(undo);
            }
            if let Some(image) = it.before.clone() {
                self.before.entry(location.clone()).or_insert(image);
            }
            self.folders.extend(it.folders.iter().cloned());
            for (name, real) in it.places() {
                self.places.entry(name).or_insert(real);
            }
            if let Some(undo) = it.command.clone() {
                self.commands.restore_undo(location, undo);
            }
        }
        let moves: Vec<_> = kept.iter_mut().flat_map(KeptFile::take_moves).collect();
        let (shadowed, kept): (Vec<_>, Vec<_>) = kept.into_iter().partition(|it| it.shadowed);
        let files = kept.into_iter().map(KeptFile::saved);
        let saved = match whose {
            Whose::This => {
                let shadowed = shadowed.into_iter().map(KeptFile::saved).collect();
                Saved { hunks, tokens, files: files.collect(), moves, shadowed }
            }
            // Decisions of another process have numbers of its own.
            Whose::Another => {
                let files = files.map(|it| SavedFile { past: None, ..it }).collect();
                let moves = moves.into_iter().filter(|it| it.decided.is_none()).collect();
                Saved { hunks, tokens: 0, files, moves, shadowed: Vec::new() }
            }
        };
        let mut broken = self.ledger.restore(saved);
        broken.extend(lost);
        (0 < damaged || !broken.is_empty()).then(|| set_aside((path, &bytes), damaged, &broken))
    }

    fn pending(&mut self) -> Option<(PathBuf, Vec<Kept>)> {
        let path = self.keeping.as_ref()?.own.as_ref()?.path.clone();
        let Saved { hunks, tokens, files, moves, shadowed } = self.ledger.save();
        let mut room = MAX_DECIDED;
        let files = files.into_iter().filter(|it| {
            // Those with nothing pending are here for the undo of decisions alone.
            let pending = self.ledger.is_pending(&it.file);
            let left = room.checked_sub(it.base.len_bytes());
            room = if pending { room } else { left.unwrap_or(room) };
            pending || left.is_some()
        });
        let files = files.map(|it| {
            let undo = self.deleted.get(&it.file).cloned();
            let before = self.before.get(&it.file).cloned();
            let command = self.commands.undo(&it.file).cloned();
            let moves = moves.iter().filter(|known| *known.now() == it.file).cloned().collect();
            let folders = self.folders_of(&it.file);
            let mut kept = KeptFile::of(it, moves);
            kept.folders = folders;
            (kept.undo, kept.before, kept.command) = (undo, before, command);
            kept.keep_places(&self.places);
            Some(kept)
        });
        let shadowed = shadowed.into_iter().map(|it| Some(KeptFile::of_shadowed(it)));
        // The numbers go with each line, so that none is given twice whatever is lost.
        let lines = std::iter::once(None).chain(files).chain(shadowed);
        let lines = lines.map(|file| Kept { format: FORMAT, hunks, tokens, file }).collect();
        Some((path, lines))
    }
}

/// Whose file is taken over.
#[derive(Clone, Copy)]
enum Whose {
    This,
    Another,
}

/// Milliseconds since 1970: where a process counts from that is not the folder's first.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or_default()
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

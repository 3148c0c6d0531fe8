//! Recording what the agent does to files, so that it can be taken back prompt by prompt.
//!
//! Invariant: steps are recorded in the order they happened, on a thread that may wait for the disk; small
//! ones are on disk before their call ends. Kept images are bounded.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use agent::timeline::{FileStep, Replaced, Stood, Timelines};
use review::Remembered;
use serde_json::Value;
use text::{ChangeSet, Rope};
use tokio::sync::{mpsc, oneshot};
use tokio::task::spawn_blocking;
use vfs::{DiskOp, Image, Location, Receipt, UndoEntry, Vfs, state};

use super::Parts;
use super::moves::Moved;
use super::transaction::{Done, Step};
use crate::review::{checked, keeping};

/// Texts larger than this are recorded after their call ended.
const AWAITED: usize = 1 << 20;

/// What records, and what it knows beside the sessions' logs.
#[derive(Default)]
pub struct Recording {
    /// By session.
    pub timelines: Timelines,
    /// The hunks there were before a restore, by session and number.
    pub memories: Mutex<Memories>,
    queue: OnceLock<mpsc::UnboundedSender<Job>>,
    /// Where the product keeps its state; absent: nothing is ever dropped.
    state: OnceLock<PathBuf>,
    /// Bytes of images that may be kept.
    limit: Arc<AtomicU64>,
}

/// The hunks there were before restores.
pub type Memories = BTreeMap<(String, u64), BTreeMap<Location, Remembered<Location>>>;

/// One file before and after.
#[derive(Clone, Debug)]
pub struct Moment {
    /// The file.
    pub file: Location,
    /// See `FileStep`.
    pub real: Option<PathBuf>,
    /// Before.
    pub before: Was,
    /// After.
    pub after: Was,
    /// Where the texts differ; empty where it is not known.
    pub edits: Vec<Replaced>,
    /// Folders that were made for it.
    pub folders: Vec<PathBuf>,
    /// What was pending in it before, as the review keeps it; empty where nothing was.
    pub pending: String,
    /// The name it was moved from.
    pub moved_from: Option<Location>,
}

/// What a file was.
#[derive(Clone, Debug)]
pub enum Was {
    /// It was not there.
    Nothing,
    /// A document of the editor's.
    Text(Rope),
    /// A file; its bytes are kept.
    File(Image),
}

struct Job {
    steps: Option<Steps>,
    done: oneshot::Sender<()>,
}

/// What a call of a session's did.
struct Steps {
    session: String,
    call: String,
    moments: Vec<Moment>,
    /// What remembers it until it is recorded.
    receipt: Option<Receipt>,
}

impl Recording {
    /// Where images are dropped from, once it is known.
    pub fn keep_in(&self, state: PathBuf) {
        // A second call changes nothing: a process has one state folder.
        let _ = self.state.set(state);
    }

    /// How many bytes of images may be kept.
    pub fn set_limit(&self, bytes: u64) {
        self.limit.store(bytes, Ordering::Relaxed);
    }
}

impl Parts {
    /// Records what a call did; waits until that survives a crash, unless it is much.
    pub(super) async fn record(&self, call: (&str, &str), moments: Vec<Moment>) {
        self.record_written(call, moments, None).await;
    }

    /// As [`Parts::record`]; what remembers the change meanwhile is let go then.
    pub(super) async fn record_written(
        &self,
        (session, call): (&str, &str),
        moments: Vec<Moment>,
        receipt: Option<Receipt>,
    ) {
        if moments.is_empty() || self.recording.timelines.of(session).is_none() {
            return;
        }
        let size: usize = moments.iter().map(|it| it.before.len() + it.after.len()).sum();
        let (session, call) = (session.to_owned(), call.to_owned());
        let done = self.enqueue(Some(Steps { session, call, moments, receipt }));
        if size <= AWAITED {
            // Gone without a word only where the process ends.
            let _ = done.await;
        }
    }

    /// Waits until everything so far is recorded.
    pub(super) async fn recorded(&self) {
        if self.recording.queue.get().is_some() {
            let _ = self.enqueue(None).await;
        }
    }

    /// What is kept of a file as it was.
    pub(super) async fn kept(&self, was: Was) -> Stood {
        let vfs = self.vfs.clone();
        spawn_blocking(move || stood(&vfs, was)).await.unwrap_or(Stood::Lost)
    }

    fn enqueue(&self, steps: Option<Steps>) -> oneshot::Receiver<()> {
        let (done, receiver) = oneshot::channel();
        let queue = self.recording.queue.get_or_init(|| self.start_recording());
        if queue.send(Job { steps, done }).is_err() {
            tracing::error!("changes of files are not recorded any more");
        }
        receiver
    }

    fn start_recording(&self) -> mpsc::UnboundedSender<Job> {
        let (queue, mut jobs) = mpsc::unbounded_channel::<Job>();
        let (vfs, timelines) = (self.vfs.clone(), self.recording.timelines.clone());
        let (state, limit) =
            (self.recording.state.get().cloned(), Arc::clone(&self.recording.limit));
        tokio::spawn(async move {
            let mut first = true;
            while let Some(Job { steps, done }) = jobs.recv().await {
                let (vfs, timelines, state) = (vfs.clone(), timelines.clone(), state.clone());
                let limit = limit.load(Ordering::Relaxed);
                let prune = std::mem::take(&mut first);
                let written = spawn_blocking(move || {
                    if let Some(Steps { session, call, moments, receipt }) = steps {
                        write(&vfs, &timelines, &session, &call, moments);
                        drop(receipt);
                    }
                    // Whoever waits does not wait for old images to go.
                    let _ = done.send(());
                    let Some(state) = state else { return };
                    if prune || vfs.fresh_images() > limit / 16 {
                        drop_old_images(&vfs, &state, limit);
                    }
                });
                if let Err(error) = written.await {
                    tracing::error!(%error, "a change of files was not recorded");
                }
            }
        });
        queue
    }
}

impl Was {
    fn len(&self) -> usize {
        match self {
            Was::Nothing | Was::File(_) => 0,
            Was::Text(text) => text.len_bytes(),
        }
    }
}

/// What a transaction did, file by file.
pub(super) fn moments(locations: &[Location], steps: &[Step], done: &Done) -> Vec<Moment> {
    let mut moments = Vec::new();
    for (index, (location, step)) in locations.iter().zip(steps).enumerate() {
        match step {
            Step::Document { .. } => {
                let landed = done.landed.iter().find(|(of, _)| *of == index);
                moments.extend(landed.map(|(_, it)| of_text(location, &it.before, &it.changes)));
            }
            Step::DeleteOpen { before } => {
                let undo = done.deleted.iter().find(|(of, _)| *of == index);
                let image = undo.and_then(|(_, undo)| undo.entries.first()?.before.clone());
                moments.push(Moment {
                    file: location.clone(),
                    real: undo
                        .map(|(_, undo)| &undo.entries)
                        .and_then(|it| Some(it.first()?.path.clone())),
                    before: image.map_or_else(|| Was::Text(before.clone()), Was::File),
                    after: Was::Nothing,
                    edits: Vec::new(),
                    folders: Vec::new(),
                    pending: String::new(),
                    moved_from: None,
                });
            }
            Step::MoveOpen(_) => {
                let moved = done.moved.iter().find(|(of, _)| *of == index);
                moments.extend(moved.into_iter().flat_map(|(_, it)| of_move(it)));
                let landed = done.landed.iter().find(|(of, _)| *of == index);
                moments.extend(landed.map(|(_, it)| of_text(location, &it.before, &it.changes)));
                let rewritten = done.rewritten.iter().find(|(of, _)| *of == index);
                let entries = rewritten.into_iter().flat_map(|(_, undo)| &undo.entries);
                moments.extend(entries.map(|entry| of_entry(location, entry)));
            }
            Step::Disk(_) => {}
        }
    }
    let changes = |file: &Location| {
        let at = locations.iter().position(|it| it == file)?;
        match steps.get(at)? {
            // Another file may have that name now.
            Step::Disk(step) if !matches!(step.ops.first(), Some(DiskOp::Edit { .. })) => None,
            Step::Disk(step) => Some(replaced(&step.changes)),
            Step::Document { .. } | Step::DeleteOpen { .. } | Step::MoveOpen(_) => None,
        }
    };
    let renamed = |file: &Location| {
        let at = locations.iter().position(|it| it == file)?;
        match steps.get(at)? {
            Step::Disk(step) => step.ops.iter().find_map(|op| {
                let DiskOp::Rename { from, .. } = op else { return None };
                Some(Location::disk(from))
            }),
            Step::Document { .. } | Step::DeleteOpen { .. } | Step::MoveOpen(_) => None,
        }
    };
    let written = done.written.iter();
    let written = written.flat_map(|it| {
        let files = it.touched.iter().zip(&it.undo.entries);
        files.map(|(touched, entry)| (touched, entry, it.undo.folders_for(entry)))
    });
    moments.extend(written.map(|(touched, entry, folders)| {
        let file = Location::disk(&touched.path);
        let modified = entry.before.is_some() && entry.after.is_some();
        let edits = changes(&file).filter(|_| modified).unwrap_or_default();
        let moved_from = renamed(&file);
        Moment { edits, folders, moved_from, ..of_entry(&file, entry) }
    }));
    moments
}

/// Adds what was pending before, to the first that is of a file.
pub(super) fn with_pending(
    mut moments: Vec<Moment>,
    mut pending: BTreeMap<Location, String>,
) -> Vec<Moment> {
    for moment in &mut moments {
        moment.pending = pending.remove(&moment.file).unwrap_or_default();
    }
    moments
}

/// A file that the editor moved: one that went and one that came.
fn of_move(moved: &Moved) -> [Moment; 2] {
    let was = || match &moved.image {
        Some(image) => Was::File(image.clone()),
        None => Was::Text(moved.moving.before.clone()),
    };
    let moment = |file: &Location, before, after, folders| {
        let real = file.path().map(vfs::Roots::real);
        Moment {
            file: file.clone(),
            real,
            before,
            after,
            edits: Vec::new(),
            folders,
            pending: String::new(),
            moved_from: None,
        }
    };
    let went = moment(&moved.moving.from, was(), Was::Nothing, Vec::new());
    let came = moment(&moved.to, Was::Nothing, was(), moved.folders.clone());
    [went, Moment { moved_from: Some(moved.moving.from.clone()), ..came }]
}

/// A file that was changed on disk.
pub(super) fn of_entry(file: &Location, entry: &UndoEntry) -> Moment {
    Moment {
        file: file.clone(),
        real: Some(entry.path.clone()),
        before: entry.before.clone().map_or(Was::Nothing, Was::File),
        after: entry.after.clone().map_or(Was::Nothing, Was::File),
        edits: Vec::new(),
        folders: Vec::new(),
        pending: String::new(),
        moved_from: None,
    }
}

/// A change of a document.
pub(super) fn of_text(file: &Location, before: &Rope, changes: &ChangeSet) -> Moment {
    Moment {
        file: file.clone(),
        real: file.path().map(vfs::Roots::real),
        before: Was::Text(before.clone()),
        after: Was::Text(changes.apply(before)),
        edits: replaced(changes),
        folders: Vec::new(),
        pending: String::new(),
        moved_from: None,
    }
}

pub(super) fn replaced(changes: &ChangeSet) -> Vec<Replaced> {
    changes.edits().iter().map(|it| (it.range.start, it.range.end, it.text.len())).collect()
}

fn write(vfs: &Vfs, timelines: &Timelines, session: &str, call: &str, moments: Vec<Moment>) {
    let Some(recorder) = timelines.of(session) else { return };
    let step = |it: Moment| FileStep {
        call: call.to_owned(),
        file: it.file,
        real: it.real,
        before: stood(vfs, it.before),
        after: stood(vfs, it.after),
        edits: it.edits,
        folders: it.folders,
        pending: kept_pending(vfs, &it.pending),
        moved_from: it.moved_from,
    };
    recorder.record(moments.into_iter().map(step).collect());
}

fn kept_pending(vfs: &Vfs, pending: &str) -> Option<[u8; 32]> {
    if pending.is_empty() {
        return None;
    }
    let kept = vfs.keep_blob(pending.as_bytes());
    kept.inspect_err(|error| tracing::error!(%error, "what was pending before is not kept")).ok()
}

fn stood(vfs: &Vfs, was: Was) -> Stood {
    match was {
        Was::Nothing => Stood::Nothing,
        Was::File(image) => Stood::File(image),
        Was::Text(text) => match vfs.keep_blob(text.to_string().as_bytes()) {
            Ok(blob) => Stood::Text { blob },
            Err(error) => {
                tracing::error!(%error, "a text cannot be kept for a restore");
                Stood::Lost
            }
        },
    }
}

/// Drops old images, but none that pending changes of any folder still need.
fn drop_old_images(vfs: &Vfs, state: &Path, limit: u64) {
    let pruned = needed(state).and_then(|needed| vfs.prune_images(limit, &needed));
    match pruned {
        Ok(pruned) if pruned.dropped > 0 => {
            tracing::info!(pruned.dropped, pruned.left, "old before-images were dropped");
        }
        Ok(_) => {}
        Err(error) => tracing::warn!(%error, "old before-images were not dropped"),
    }
}

/// The images that the pending changes of all folders name.
fn needed(state_dir: &Path) -> std::io::Result<HashSet<[u8; 32]>> {
    let mut needed = HashSet::new();
    for project in state::list(&state_dir.join("projects"))? {
        for path in state::list(&project)?.into_iter().filter(|it| keeping::is_kept(it)) {
            let Some(bytes) = state::read_private(&path)? else { continue };
            // Damaged lines cannot name anything any more.
            let (lines, _) = checked::read::<Value>(&bytes);
            lines.iter().for_each(|it| blobs(it, &mut needed));
        }
    }
    Ok(needed)
}

fn blobs(value: &Value, found: &mut HashSet<[u8; 32]>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match serde_json::from_value::<[u8; 32]>(value.clone()) {
                    Ok(blob) if key == "blob" => drop(found.insert(blob)),
                    Ok(_) | Err(_) => blobs(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|it| blobs(it, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests;

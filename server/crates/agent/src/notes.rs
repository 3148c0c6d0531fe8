//! What the model is told with its next request, without a turn of its own.
//!
//! Invariant: a note lies beside the session's log until a request takes it, so it outlives the
//! process and can be left for a session that is not open.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use vfs::state;

/// The file of a session's folder that holds its notes, one JSON string a line.
const FILE: &str = "notes.jsonl";
/// Notes that are being taken.
const TAKEN: &str = "notes.taken";
/// Notes told at once; older ones are counted.
const MOST: usize = 50;

/// The notes of one session.
#[derive(Default)]
pub(crate) struct Notes {
    /// The session's folder; absent: nothing is kept.
    dir: Option<PathBuf>,
    /// Those that no file holds.
    unkept: Mutex<Vec<String>>,
}

impl Notes {
    /// Those that lie in the session's folder, and those to come.
    pub fn new(dir: Option<PathBuf>) -> Notes {
        Notes { dir, unkept: Mutex::default() }
    }

    /// Adds one.
    pub fn add(&self, text: String) {
        if let Some(dir) = &self.dir {
            match leave(dir, &text) {
                Ok(()) => return,
                Err(error) => tracing::warn!(%error, "a note to the model cannot be kept"),
            }
        }
        self.lock().push(text);
    }

    /// Takes all of them, oldest first.
    pub fn take(&self) -> Option<String> {
        let mut notes = match &self.dir {
            Some(dir) => take(dir).unwrap_or_else(|error| {
                tracing::warn!(%error, "notes to the model cannot be read");
                Vec::new()
            }),
            None => Vec::new(),
        };
        notes.append(&mut self.lock());
        let older = notes.len().saturating_sub(MOST);
        if 0 < older {
            notes.drain(..older);
            notes.insert(0, format!("({older} earlier notes are left out here.)"));
        }
        (!notes.is_empty()).then(|| notes.join("\n"))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<String>> {
        self.unkept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Leaves a note for the session of this folder, open or not.
pub fn leave(dir: &Path, text: &str) -> std::io::Result<()> {
    let line = serde_json::to_string(text)?;
    state::append_log(&dir.join(FILE), &line, state::Durability::Synced)
}

fn take(dir: &Path) -> std::io::Result<Vec<String>> {
    let taken = dir.join(TAKEN);
    // What is left while these are read goes into a file of its own.
    if !state::rename(&dir.join(FILE), &taken)? {
        return Ok(Vec::new());
    }
    let log = state::read_log(&taken)?;
    state::remove(&taken)?;
    Ok(log.lines.iter().filter_map(|line| serde_json::from_str(line).ok()).collect())
}

#[cfg(test)]
mod tests;

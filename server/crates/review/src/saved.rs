//! The ledger as plain data, for whoever keeps it across restarts.
//!
//! Decisions that could be undone are not part of it; pending hunks are, with their ids.

use std::ops::Range;

use text::Rope;

use crate::file::{Existence, File};
use crate::ledger::Ledger;
use crate::pieces::{Piece, slice};
use crate::{HunkId, Origin};

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedFile<F> {
    /// The file.
    pub file: F,
    /// The text before the pending changes.
    pub base: String,
    /// Where the current text differs, sorted.
    pub pieces: Vec<SavedPiece>,
    /// Where the hunks come from.
    pub hunks: Vec<SavedHunk>,
    /// The hunk that is the file's coming or going.
    pub existence: Option<(Existence, HunkId)>,
}

/// One place where the texts differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedPiece {
    /// Bytes of the base.
    pub base: Range<usize>,
    /// The current text.
    pub text: String,
    /// Bytes of `text` that the person wrote.
    pub typed: Vec<Range<usize>>,
    /// Its hunk.
    pub hunk: HunkId,
}

/// One hunk's origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedHunk {
    /// The hunk.
    pub id: HunkId,
    /// Where it comes from.
    pub origin: Origin,
}

impl<F: Ord + Clone> Ledger<F> {
    /// The last hunk number given, and every file with pending hunks.
    pub fn save(&self) -> (u64, Vec<SavedFile<F>>) {
        let pending = self.files.iter().filter(|(_, file)| file.is_pending());
        (self.hunks, pending.map(|(name, file)| saved(name.clone(), file)).collect())
    }

    /// Takes over what was saved. Files that are known already stay as they are; what makes no
    /// sense is left out.
    pub fn restore(&mut self, hunks: u64, files: Vec<SavedFile<F>>) {
        self.hunks = self.hunks.max(hunks);
        for file in files {
            let name = file.file.clone();
            if let (false, Some(restored)) = (self.files.contains_key(&name), restored(file)) {
                self.files.insert(name, restored);
            }
        }
    }
}

fn saved<F>(name: F, file: &File) -> SavedFile<F> {
    let piece = |it: &Piece| SavedPiece {
        base: it.base.clone(),
        text: slice(&file.current, &it.now),
        typed: it.typed.iter().map(|t| t.start - it.now.start..t.end - it.now.start).collect(),
        hunk: it.hunk.clone(),
    };
    let hunks = file.origins.iter();
    SavedFile {
        file: name,
        base: file.base.to_string(),
        pieces: file.pieces.iter().map(piece).collect(),
        hunks: hunks.map(|(id, it)| SavedHunk { id: id.clone(), origin: it.clone() }).collect(),
        existence: file.existence.clone(),
    }
}

fn restored<F>(saved: SavedFile<F>) -> Option<File> {
    let base = saved.base.as_str();
    let mut current = String::with_capacity(base.len());
    let mut pieces = Vec::with_capacity(saved.pieces.len());
    let mut copied = 0;
    for piece in saved.pieces {
        current.push_str(base.get(copied..piece.base.start)?);
        base.get(piece.base.clone())?;
        copied = piece.base.end;
        let start = current.len();
        let whole = |it: &Range<usize>| piece.text.get(it.clone()).is_some();
        if !piece.typed.iter().all(whole) {
            return None;
        }
        current.push_str(&piece.text);
        pieces.push(Piece {
            base: piece.base,
            now: start..current.len(),
            typed: piece.typed.iter().map(|it| it.start + start..it.end + start).collect(),
            hunk: piece.hunk,
        });
    }
    current.push_str(base.get(copied..)?);
    Some(File {
        base: Rope::from_str(base),
        current: Rope::from_str(&current),
        pieces,
        origins: saved.hunks.into_iter().map(|it| (it.id, it.origin)).collect(),
        existence: saved.existence,
        decided: Vec::new(),
    })
}

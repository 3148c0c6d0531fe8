//! The `*** Begin Patch` format: parsing it, and applying the chunks of one file.
//!
//! Parsing forgives what does not change the meaning (padding, a here-document or a JSON wrapper
//! around the patch, blank lines between operations, a missing first `@@`) and nothing else.

mod apply;
mod parse;

pub use apply::apply_update;
pub use parse::parse;

/// A parsed patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// What to do, in order; paths are as written.
    pub operations: Vec<Operation>,
    /// What was forgiven.
    pub notes: Vec<Note>,
}

/// What a patch does to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Creates a file.
    Add {
        /// Its path.
        path: String,
        /// Its text, with a final newline unless empty.
        content: String,
    },
    /// Deletes a file.
    Delete {
        /// Its path.
        path: String,
    },
    /// Changes a file, moves it, or both.
    Update {
        /// Its present path.
        path: String,
        /// Its new path.
        move_to: Option<String>,
        /// Changes in the order of the file; empty for a mere move.
        chunks: Vec<Chunk>,
    },
}

/// Adjacent lines to find and change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Lines named after `@@`: they come somewhere before the chunk's own.
    pub headers: Vec<String>,
    /// The lines themselves.
    pub lines: Vec<ChunkLine>,
    /// Whether `*** End of File` follows.
    pub at_end: bool,
    /// 1-based line of the patch where the chunk starts.
    pub line: usize,
}

/// One line of a chunk, without its sign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkLine {
    /// Stays.
    Keep(String),
    /// Goes.
    Remove(String),
    /// Is new.
    Add(String),
}

/// Something the author of a patch should know although it worked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// 1-based chunk of the file; 0 for the whole patch.
    pub chunk: usize,
    /// What was noticed.
    pub message: String,
}

/// Why a patch cannot be read or applied, for its author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("patch line {line}: {message}")]
pub struct PatchError {
    /// 1-based line of the patch.
    pub line: usize,
    /// What to change.
    pub message: String,
}

#[cfg(test)]
mod tests;

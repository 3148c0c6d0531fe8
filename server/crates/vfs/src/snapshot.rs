//! What a reader gets: the text of a location at one moment, and how its file spells it.
//! A snapshot never changes; taking one costs a reference count when the document is open.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};
use text::Rope;

use crate::disk::FileKind;
use crate::document::{Dirty, WriteBack};
use crate::encoding::Encoding;
use crate::format::Format;
use crate::location::Location;

/// Where a snapshot's text comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// An editor's buffer.
    Buffer { version: i32, generation: u64, dirty: Dirty, write_back: WriteBack },
    /// The file.
    Disk,
}

/// The text of a location at one moment.
#[derive(Clone, Debug)]
pub struct Snapshot {
    pub location: Location,
    /// Without a BOM, line endings as they are.
    pub rope: Rope,
    pub source: Source,
    pub format: Format,
    /// The editor or the file system refuses writes.
    pub read_only: bool,
    /// Some bytes of the file are no character of its encoding; they are U+FFFD in `rope`.
    pub damaged: bool,
    pub(crate) hash: Arc<OnceLock<[u8; 32]>>,
}

impl Snapshot {
    /// SHA-256 of the decoded text; worked out once, when first asked for.
    pub fn hash(&self) -> [u8; 32] {
        *self.hash.get_or_init(|| hash_rope(&self.rope))
    }

    /// Whether this is a buffer with text its file does not hold.
    pub fn is_unsaved(&self) -> bool {
        match self.source {
            Source::Buffer { dirty, .. } => dirty != Dirty::Clean,
            Source::Disk => false,
        }
    }
}

/// SHA-256 of a text.
pub(crate) fn hash_rope(rope: &Rope) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for chunk in rope.chunks() {
        hasher.update(chunk.as_bytes());
    }
    hasher.finalize().into()
}

/// SHA-256 of bytes.
pub(crate) fn hash_bytes(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Some lines of a text that may be too large to hold.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LineRange {
    /// 1-based number of the first line; 0 when there is none.
    pub first: usize,
    /// Without line endings.
    pub lines: Vec<String>,
    /// 1-based numbers of lines that were cut at the length limit.
    pub cut: Vec<usize>,
    /// Lines of the whole text.
    pub total: usize,
    /// The byte limit ended the range before the line limit did.
    pub full: bool,
    /// Of a file; what is in memory is decoded already.
    pub encoding: Encoding,
}

/// Why there is no text to read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    #[error("{location} does not exist{}", did_you_mean(similar))]
    NotFound { location: Location, similar: Vec<PathBuf> },
    #[error("{path} is a folder", path = path.display())]
    Folder { path: PathBuf },
    #[error("{path} is a {kind}, not a file", path = path.display(), kind = kind.name())]
    Special { path: PathBuf, kind: FileKind },
    #[error("{path} is binary ({what}, {len} bytes)", path = path.display())]
    Binary { path: PathBuf, what: &'static str, len: u64 },
    #[error("{path} has {len} bytes, more than {max}; read a range of lines", path = path.display())]
    TooLarge { path: PathBuf, len: u64, max: u64 },
    #[error("{path} cannot be read: {error}", path = path.display())]
    Io {
        path: PathBuf,
        #[source]
        error: io::Error,
    },
    #[error("the reading was cancelled")]
    Cancelled,
}

impl ReadError {
    /// The same, suggesting none of the paths that `hidden` names.
    pub fn without(mut self, hidden: impl Fn(&Path) -> bool) -> ReadError {
        if let ReadError::NotFound { similar, .. } = &mut self {
            similar.retain(|path| !hidden(path));
        }
        self
    }
}

pub(crate) fn did_you_mean(similar: &[PathBuf]) -> String {
    if similar.is_empty() {
        return String::new();
    }
    let names: Vec<String> = similar.iter().map(|path| path.display().to_string()).collect();
    if let [first, rest @ ..] = names.as_slice()
        && !rest.is_empty()
        && rest.iter().all(|name| name == first)
    {
        return format!(
            ": {} files are shown as it is, since their names are no valid text, so none of them can be named. Rename \
             them first with a command that matches them, such as `mv`",
            names.len()
        );
    }
    format!(" (did you mean {}?)", names.join(" or "))
}

//! The one door to files.
//!
//! An open document's text is what the editor holds, whatever the disk says; everything else is read from disk and
//! decoded without loss. Writes are transactions: journaled first, then whole or not at all. Nothing here knows
//! an editor's wire format, a model or a tool; nothing outside this crate touches `std::fs`.

#![allow(clippy::disallowed_methods, reason = "this crate is the door the ban leads to")]

mod aside;
mod binary;
mod disk;
mod document;
mod editorconfig;
mod encoding;
mod format;
mod found;
mod guard;
mod images;
mod journal;
mod lines;
mod location;
mod raw;
mod readings;
mod roots;
mod search;
mod secrets;
mod snapshot;
pub mod state;
mod store;
mod suggest;
mod transaction;
mod wide;

pub use aside::aside;
pub use disk::{DirEntry, FileKind, FileStat};
pub use document::{
    Change, Dirty, DocumentInfo, EditorState, Origin, SyncError, TextChange, WriteBack,
    same_but_line_endings,
};
pub use encoding::Encoding;
pub use format::{Eol, Format};
pub use found::{Before, Changes, FileChange, GitBlob, Is, MAX_CHANGED, Was};
pub use guard::{is_git_dir, is_power_file, is_sensitive};
pub use images::{Pruned, Standing};
pub use location::{Location, normalize};
pub use raw::Unencodable;
pub use roots::{Resolved, Roots};
pub use search::{
    GlobHit, GlobQuery, GlobResult, GrepFile, GrepLimits, GrepLine, GrepMode, GrepPattern,
    GrepQuery, GrepResult, GrepScope, Order, PatternFault, QueryError, TreeNode, TreeQuery,
    TreeResult, Visibility,
};
pub use secrets::secrets;
pub use snapshot::{LineRange, ReadError, Snapshot, Source};
pub use store::{Options, Vfs};
pub use text;
pub use transaction::{
    CommitError, Committed, DiskOp, Extras, Image, Owned, Receipt, Touched, Undo, UndoEntry,
    Unlogged,
};

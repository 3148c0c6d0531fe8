//! Pure text algebra over ropes: change sets, positions, finding, diffs and what became of an edit.
//!
//! Every offset is a byte offset into UTF-8 unless a name says otherwise. No IO, no async, no wire
//! types; nothing here panics on input. Rope lines end at `\n` only (ropey's LF-only line index).

pub mod anchors;
pub mod arrival;
pub mod between;
pub mod changeset;
pub mod diff;
pub mod find;
mod linediff;
pub mod lines;
pub mod patch;
mod pieces;
pub mod position;
pub mod verify;

pub use arrival::Arrival;
pub use between::is_same;
pub use changeset::{Bias, ChangeError, ChangeSet, Edit, Overlap};
pub use lines::{LineEnding, LineEndings, in_endings_of, to_ending};
pub use position::{LineBreaks, Position, Unit, has_lone_cr, offset_at, position_at};
pub use ropey::Rope;
pub use verify::{Landing, landed};

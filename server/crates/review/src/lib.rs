//! The ledger of what the agent changed and the person has not decided on yet.
//!
//! Pure text algebra: no IO, no async, no wire types. Offsets are bytes of UTF-8. What the person
//! types outside a pending change belongs to the base as well, so rejecting everything gives the
//! base plus what was typed; what they type inside one is kept apart and survives both decisions.

mod away;
mod back;
mod decided;
mod earlier;
mod file;
mod joined;
mod kept;
mod ledger;
mod moves;
mod order;
mod past;
mod pieces;
mod presence;
mod restored;
mod returned;
mod saved;
mod shadow;
mod unsure;
mod view;

pub use back::{Back, take_back};
pub use file::{Edited, Plan};
pub use ledger::{Decision, Ledger, Pick, Undoing};
pub use order::{Passing, in_order};
pub use presence::Existence;
pub use restored::Remembered;
pub use returned::Returning;
pub use saved::{
    Saved, SavedEdit, SavedEvent, SavedFile, SavedHunk, SavedMove, SavedPast, SavedPiece,
};
pub use view::{Author, Change, FileView, Hunk, State};

/// Names a hunk for as long as it is pending, and again when a decision on it is undone.
pub type HunkId = String;

/// Who made a hunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The session that touched it last.
    pub session: String,
    /// Other sessions with a part in it.
    pub others: Vec<String>,
    /// The tool calls it came from, oldest first.
    pub calls: Vec<String>,
    /// Whether the person changed something inside it.
    pub mixed: bool,
}

impl Origin {
    /// A hunk of one call.
    pub fn of(session: &str, call: &str) -> Origin {
        Origin { session: session.to_owned(), calls: vec![call.to_owned()], ..Origin::default() }
    }

    /// Whether a session has a part in it.
    pub fn is_of(&self, session: &str) -> bool {
        self.session == session || self.others.iter().any(|other| other == session)
    }

    /// Adds what `later` did.
    fn merge(&mut self, later: &Origin) {
        if self.session != later.session {
            let before = std::mem::replace(&mut self.session, later.session.clone());
            self.others.push(before);
        }
        self.others.extend(later.others.iter().cloned());
        self.others.sort();
        self.others.dedup();
        self.others.retain(|other| *other != self.session);
        for call in &later.calls {
            if !self.calls.contains(call) {
                self.calls.push(call.clone());
            }
        }
        self.mixed |= later.mixed;
    }
}

#[cfg(test)]
mod tests;

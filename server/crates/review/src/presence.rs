//! Whether there is a file, and whether its coming or going is pending.
//!
//! Invariant: the deletion of a file is pending only where there is no such file, and one with text is
//! there. Where it is gone, what is pending of its text is its deletion.

use crate::file::File;

/// Whether the file itself came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existence {
    /// The agent made the file.
    Added,
    /// The agent deleted it.
    Deleted,
}

/// Whether there is a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    There,
    Gone,
}

impl File {
    /// A file that has text is there: its deletion is that of the rest of its text now. Whether it was.
    pub fn stand_with_text(&mut self) -> bool {
        let has_text = 0 < self.current.len_bytes();
        if has_text {
            self.presence = Presence::There;
        }
        self.existence.take_if(|(kind, _)| has_text && *kind == Existence::Deleted).is_some()
    }

    /// The file's coming or going was rejected.
    pub fn came_or_went_back(&mut self, kind: Option<Existence>) {
        match kind {
            Some(Existence::Added) if self.current.len_bytes() == 0 => {
                self.presence = Presence::Gone;
            }
            Some(Existence::Added | Existence::Deleted) => self.presence = Presence::There,
            None => {}
        }
    }

    /// Undoing a rejection makes a file come or go where that is pending again.
    pub fn stand_or_go(&mut self, was: Presence) {
        self.stand_with_text();
        let kind = self.existence.as_ref().map(|(kind, _)| *kind);
        let is = match kind {
            Some(Existence::Added) => Presence::There,
            Some(Existence::Deleted) => Presence::Gone,
            None if 0 < self.current.len_bytes() => Presence::There,
            None => was,
        };
        self.stay(is);
    }

    /// Whether there is such a file is known, and its coming or going is pending only where it is.
    pub fn stay(&mut self, is: Presence) {
        self.presence = is;
        let fits = match is {
            Presence::There => Existence::Added,
            Presence::Gone => Existence::Deleted,
        };
        self.existence.take_if(|(kind, _)| *kind != fits);
        self.go_with_text();
        self.forget_origins();
    }

    /// Where the file is gone, all text that is pending goes with it.
    pub fn go_with_text(&mut self) {
        let first = self.pieces.first().map(|piece| piece.hunk.clone());
        if let (Presence::Gone, None, Some(hunk)) = (self.presence, &self.existence, first) {
            self.existence = Some((Existence::Deleted, hunk));
        }
    }
}

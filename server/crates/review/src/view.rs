//! Hunks as they are shown: whole lines where that is possible.

use std::ops::Range;

use text::Rope;

use crate::file::File;
use crate::pieces::slice;
use crate::presence::Existence;
use crate::{HunkId, Origin};

/// What the agent did to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Made it.
    Add,
    /// Changed its text.
    Modify,
    /// Deleted it.
    Delete,
    /// Moved it, and perhaps changed its text.
    Rename,
}

/// Whether a hunk can be taken out without a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It can.
    Pending,
    /// The person wrote inside it; rejecting keeps what they wrote.
    Conflict,
}

/// Whose text a hunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// The agent's.
    Agent,
    /// The agent's, with changes of the person's inside.
    Mixed,
}

/// A file with pending hunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileView<F> {
    /// The file.
    pub file: F,
    /// What was done to it.
    pub change: Change,
    /// The name it had before the agent moved it; the move is its first hunk then.
    pub from: Option<F>,
    /// Its hunks, in the order of the text.
    pub hunks: Vec<Hunk>,
}

/// One pending hunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Its name.
    pub id: HunkId,
    /// Bytes of the base.
    pub base: Range<usize>,
    /// Bytes of the current text.
    pub now: Range<usize>,
    /// The base's text there.
    pub old: String,
    /// The current text there.
    pub new: String,
    /// Whether the person wrote inside it.
    pub state: State,
    /// Whose it is.
    pub author: Author,
    /// Where it comes from.
    pub origin: Origin,
}

impl File {
    pub fn view<F>(&self, file: F) -> FileView<F> {
        let change = match &self.existence {
            Some((Existence::Added, _)) => Change::Add,
            Some((Existence::Deleted, _)) => Change::Delete,
            None => Change::Modify,
        };
        let hunks = self.hunks().into_iter().map(|id| self.hunk(id)).collect();
        FileView { file, change, from: None, hunks }
    }

    /// Hunks whose lines touch `range`.
    pub fn hunks_in(&self, range: &Range<usize>) -> Vec<HunkId> {
        let hunks = self.hunks().into_iter();
        hunks
            .filter(|id| {
                let (_, now) = self.extent(id);
                // Inside one line of an insertion both ends may be one place.
                now.start < range.end && range.start < now.end
                    || (now.start == range.start || now.start == range.end && range.is_empty())
                    || (now.is_empty() && range.start <= now.start && now.start <= range.end)
            })
            .collect()
    }

    fn hunk(&self, id: HunkId) -> Hunk {
        let (base, now) = self.extent(&id);
        let typed = self.pieces.iter().any(|piece| piece.hunk == id && !piece.typed.is_empty());
        let origin = self.origins.get(&id).cloned().unwrap_or_default();
        Hunk {
            old: slice(&self.base, &base),
            new: slice(&self.current, &now),
            state: if typed { State::Conflict } else { State::Pending },
            author: if typed || origin.mixed { Author::Mixed } else { Author::Agent },
            id,
            base,
            now,
            origin,
        }
    }

    /// A hunk in both texts, widened to whole lines as far as its neighbours allow.
    fn extent(&self, id: &HunkId) -> (Range<usize>, Range<usize>) {
        let first = self.pieces.iter().position(|piece| piece.hunk == *id);
        let last = self.pieces.iter().rposition(|piece| piece.hunk == *id);
        let Some((first, last)) = first.zip(last) else { return (0..0, 0..0) };
        let (Some(a), Some(b)) = (self.pieces.get(first), self.pieces.get(last)) else {
            return (0..0, 0..0);
        };
        let (mut base, mut now) = (a.base.start..b.base.end, a.now.start..b.now.end);
        let floor = first.checked_sub(1).and_then(|it| self.pieces.get(it));
        let floor = floor.map_or(0, |piece| piece.now.end);
        let above = (now.start - line_start(&self.current, now.start))
            .min(base.start - line_start(&self.base, base.start))
            .min(now.start.saturating_sub(floor));
        base.start -= above;
        now.start -= above;
        let whole = line_start(&self.current, now.end) == now.end
            && line_start(&self.base, base.end) == base.end
            && line_start(&self.current, now.start) == now.start;
        if !whole {
            let ceiling = self.pieces.get(last + 1);
            let ceiling = ceiling.map_or(self.current.len_bytes(), |piece| piece.now.start);
            let below = (line_end(&self.current, now.end) - now.end)
                .min(line_end(&self.base, base.end) - base.end)
                .min(ceiling.saturating_sub(now.end));
            base.end += below;
            now.end += below;
        }
        (base, now)
    }
}

fn line_start(rope: &Rope, at: usize) -> usize {
    rope.line_to_byte(rope.byte_to_line(at.min(rope.len_bytes())))
}

/// The end of the line around `at`, its line ending included.
fn line_end(rope: &Rope, at: usize) -> usize {
    let line = rope.byte_to_line(at.min(rope.len_bytes()));
    if line + 1 < rope.len_lines() { rope.line_to_byte(line + 1) } else { rope.len_bytes() }
}

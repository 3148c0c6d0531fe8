//! One file of the ledger: its two texts, where they differ, and what was decided.
//!
//! Invariant: outside the pieces base and current text are equal; the current text is always the
//! document's, whatever is decided or typed.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use text::{ChangeSet, Edit, Rope};

use crate::decided::Decided;
use crate::earlier::Earlier;
use crate::kept::{Around, Kept, kept};
use crate::past::{Event, Names, Past};
use crate::pieces::{Piece, add_range, make_room, shift, shift_range, slice, splice, without};
use crate::presence::{Existence, Presence};
use crate::{HunkId, Origin};

/// What has to happen to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// Its text changes.
    Text(ChangeSet),
    /// It is made, with this text.
    Create(String),
    /// It goes.
    Delete,
}

/// What an edit did to the hunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edited {
    /// At most their places changed.
    Moved,
    /// A hunk came, went, or is of another state now.
    Hunks,
}

/// What rejecting a piece leaves.
#[derive(Default)]
pub(crate) struct Left {
    /// In its place.
    pub text: String,
    /// Bytes of that which the person wrote.
    pub typed: Vec<Range<usize>>,
    /// Lines of theirs beside it, and where in the current text, in order.
    pub beside: Vec<(usize, String)>,
    /// What goes, without those lines.
    pub agents: String,
    /// The person's share of it: what they wrote goes from one place to another.
    pub theirs: Vec<Edit>,
    /// The rest, as edits of the same text.
    pub rest: Vec<Edit>,
}

/// A file with pending or decided changes.
#[derive(Clone, Debug)]
pub(crate) struct File {
    pub base: Rope,
    pub current: Rope,
    pub pieces: Vec<Piece>,
    pub origins: BTreeMap<HunkId, Origin>,
    /// The hunk that is the file's coming or going.
    pub existence: Option<(Existence, HunkId)>,
    /// Whether there is such a file, as far as the agent and decisions on its changes know.
    pub presence: Presence,
    /// Where the text of rejected pieces was, while that can be undone.
    pub decided: Vec<Decided>,
    /// What happened since the oldest decision that can be undone.
    pub past: Past,
    /// How it was before.
    pub earlier: Earlier,
}

impl File {
    pub fn new(text: &Rope) -> File {
        File {
            base: text.clone(),
            current: text.clone(),
            pieces: Vec::new(),
            origins: BTreeMap::new(),
            existence: None,
            presence: Presence::There,
            decided: Vec::new(),
            past: Past::default(),
            earlier: Earlier::default(),
        }
    }

    /// Every pending hunk, in the order of the text.
    pub fn hunks(&self) -> Vec<HunkId> {
        let mut ids: Vec<HunkId> = Vec::new();
        let mut seen: BTreeSet<&HunkId> = BTreeSet::new();
        let own = self.existence.iter().map(|(_, id)| id);
        for id in own.chain(self.pieces.iter().map(|piece| &piece.hunk)) {
            if seen.insert(id) {
                ids.push(id.clone());
            }
        }
        ids
    }

    pub fn is_pending(&self) -> bool {
        self.existence.is_some() || !self.pieces.is_empty()
    }

    /// The agent's edit of the current text.
    pub fn agent_edit(&mut self, changes: &ChangeSet, origin: &Origin, names: &mut Names<'_>) {
        self.enter_agent(changes, origin, names);
        let (changes, origin) = (changes.clone(), origin.clone());
        self.happened(Event::Agent { changes, origin, names: names.take_given() });
    }

    /// What somebody else did to the current text.
    pub fn person_edit(&mut self, changes: &ChangeSet) -> Edited {
        let edited = self.enter_person(changes);
        if !self.past.is_empty() {
            self.happened(Event::Person(changes.clone()));
        }
        edited
    }

    /// The agent made the file.
    pub fn created(&mut self, text: &str, origin: &Origin, names: &mut Names<'_>) {
        self.enter_created(text, origin, names);
        let (text, origin) = (text.to_owned(), origin.clone());
        self.happened(Event::Created { text, origin, names: names.take_given() });
    }

    /// The agent deleted the file.
    pub fn deleted(&mut self, origin: &Origin, names: &mut Names<'_>) {
        self.enter_deleted(origin, names);
        self.happened(Event::Deleted { origin: origin.clone(), names: names.take_given() });
    }

    /// As [`File::agent_edit`], unrecorded.
    pub fn enter_agent(&mut self, changes: &ChangeSet, origin: &Origin, names: &mut Names<'_>) {
        let touched = self.agent_pieces(changes);
        self.drop_equal(&touched);
        self.group(origin, names);
        for place in &touched {
            let low = self.pieces.partition_point(|piece| piece.now.end < place.start);
            let near = self.pieces.iter().skip(low).take_while(|it| it.now.start <= place.end);
            let ids: BTreeSet<HunkId> = near.map(|piece| piece.hunk.clone()).collect();
            ids.iter().for_each(|id| self.mark(id, origin));
        }
        self.stand_with_text();
        self.forget_origins();
    }

    /// As [`File::created`], unrecorded.
    pub fn enter_created(&mut self, text: &str, origin: &Origin, names: &mut Names<'_>) {
        self.presence = Presence::There;
        self.supersede();
        let deleted = matches!(self.existence, Some((Existence::Deleted, _)));
        let changes = if deleted {
            // It is there again: what is left is the difference to what was deleted.
            self.existence = None;
            self.pieces.clear();
            self.current = self.base.clone();
            ChangeSet::whole(&self.current, text)
        } else {
            replaced(&self.current, text)
        };
        self.enter_agent(&changes, origin, names);
        if !deleted && self.existence.is_none() {
            self.exists(Existence::Added, origin, names);
        }
    }

    /// As [`File::deleted`], unrecorded.
    pub fn enter_deleted(&mut self, origin: &Origin, names: &mut Names<'_>) {
        self.supersede();
        let was_added = matches!(self.existence, Some((Existence::Added, _)));
        let changes = replaced(&self.current, "");
        self.enter_agent(&changes, origin, names);
        if was_added && self.base.len_bytes() == 0 {
            // It came and went without the person's doing.
            self.existence = None;
            self.pieces.clear();
        } else {
            self.exists(Existence::Deleted, origin, names);
        }
        self.presence = Presence::Gone;
        self.forget_origins();
    }

    fn exists(&mut self, kind: Existence, origin: &Origin, names: &mut Names<'_>) {
        let id = match self.pieces.first() {
            Some(piece) => piece.hunk.clone(),
            None => names.at(0),
        };
        self.origins.entry(id.clone()).or_insert_with(|| origin.clone());
        self.existence = Some((kind, id));
    }

    /// As [`File::person_edit`], unrecorded.
    pub fn enter_person(&mut self, changes: &ChangeSet) -> Edited {
        let (mut added, mut removed) = (0, 0);
        let mut edited = Edited::Moved;
        for edit in changes.edits() {
            let range =
                shift(edit.range.start, removed, added)..shift(edit.range.end, removed, added);
            if self.person_replaces(range, &edit.text) == Edited::Hunks {
                edited = Edited::Hunks;
            }
            added += edit.text.len();
            removed += edit.range.len();
        }
        if self.stand_with_text() {
            edited = Edited::Hunks;
        }
        if edited == Edited::Hunks {
            self.forget_origins();
        }
        edited
    }

    /// What a piece leaves where all of that is to be in its place.
    pub fn kept_text(&self, piece: &Piece) -> String {
        let new = slice(&self.current, &piece.now);
        let mut kept = self.kept(piece, &new);
        for lines in std::mem::take(&mut kept.lines) {
            kept.text.push_str(new.get(lines).unwrap_or_default());
        }
        kept.text
    }

    /// What rejecting a piece leaves.
    pub fn left(&self, index: usize, piece: &Piece) -> Left {
        let new = slice(&self.current, &piece.now);
        let kept = self.kept(piece, &new);
        let start = piece.now.start;
        let mut left = Left { text: kept.text, typed: kept.typed, ..Left::default() };
        for (gone, old) in kept.gone {
            let old =
                slice(&self.base, &(piece.base.start + old.start..piece.base.start + old.end));
            left.rest.push(Edit::new(start + gone.start..start + gone.end, old));
        }
        let mut copied = 0;
        for lines in kept.lines {
            let written = new.get(lines.clone()).unwrap_or_default();
            left.theirs.push(Edit::new(start + lines.start..start + lines.end, ""));
            if let Some(at) = self.line_beside(index, piece, written) {
                left.beside.push((at, written.to_owned()));
                left.agents.push_str(new.get(copied..lines.start).unwrap_or_default());
                copied = lines.end;
            } else {
                left.theirs.push(Edit::new(piece.now.end..piece.now.end, written));
                let start = left.text.len();
                left.text.push_str(written);
                add_range(&mut left.typed, start..left.text.len());
            }
        }
        left.agents.push_str(new.get(copied..).unwrap_or_default());
        left.beside.sort_by_key(|(at, _)| *at);
        let beside = left.beside.iter();
        left.theirs.extend(beside.map(|(at, lines)| Edit::new(*at..*at, lines.clone())));
        left
    }

    fn kept(&self, piece: &Piece, new: &str) -> Kept {
        let old = slice(&self.base, &piece.base);
        let start = piece.now.start;
        let typed: Vec<Range<usize>> =
            piece.typed.iter().map(|range| range.start - start..range.end - start).collect();
        let char_at = |at: usize| self.base.get_char(self.base.try_byte_to_char(at).ok()?);
        let before = self.base.try_byte_to_char(piece.base.start).ok();
        let before = before.and_then(|at| self.base.get_char(at.checked_sub(1)?));
        kept(&old, new, &typed, Around { before, after: char_at(piece.base.end) })
    }

    /// Where lines of the person's belong that cannot stay in a piece: behind the line that it ends
    /// in; `None` where other pieces are on the way.
    fn line_beside(&self, index: usize, piece: &Piece, lines: &str) -> Option<usize> {
        let line = self.current.byte_to_line(piece.now.end.min(self.current.len_bytes()));
        let next = self.current.try_line_to_byte(line + 1).ok();
        let newline = next.filter(|at| starts_line(&self.current, *at) && *at > piece.now.end);
        let at = match (newline, lines.ends_with('\n')) {
            (Some(newline), true) => newline,
            (None, true) => return None,
            (Some(newline), false)
                if self.current.get_byte(newline.wrapping_sub(2)) == Some(b'\r') =>
            {
                newline - 2
            }
            (Some(newline), false) => newline - 1,
            (None, false) => self.current.len_bytes(),
        };
        let is_clear = self.pieces.get(index + 1).is_none_or(|next| at <= next.now.start);
        (is_clear && at > piece.now.end).then_some(at)
    }

    /// Replaces the base of a piece and moves the base of those after it.
    pub fn set_base(&mut self, index: usize, text: &str) {
        let Some(piece) = self.pieces.get_mut(index) else { return };
        let old = piece.base.clone();
        splice(&mut self.base, &old, text);
        piece.base.end = piece.base.start + text.len();
        for later in self.pieces.iter_mut().skip(index + 1) {
            shift_range(&mut later.base, old.len(), text.len());
        }
    }

    /// Replaces the current text of a piece and moves everything after it; the piece stays.
    pub fn set_now(&mut self, index: usize, text: &str) {
        let Some(piece) = self.pieces.get_mut(index) else { return };
        let old = piece.now.clone();
        splice(&mut self.current, &old, text);
        piece.now.end = piece.now.start + text.len();
        piece.typed.clear();
        for later in self.pieces.iter_mut().skip(index + 1) {
            shift_range(&mut later.now, old.len(), text.len());
            later.typed.iter_mut().for_each(|range| shift_range(range, old.len(), text.len()));
        }
        for decided in &mut self.decided {
            decided.replaced(&old, text.len());
        }
    }

    /// Whether both sides of a piece are the same text.
    pub fn is_equal(&self, piece: &Piece) -> bool {
        piece.base.len() == piece.now.len()
            && slice(&self.base, &piece.base) == slice(&self.current, &piece.now)
    }

    /// Where an offset of the current text outside all pieces lies in the base. At a piece's edge:
    /// before the piece.
    pub fn base_offset(&self, now: usize) -> usize {
        let before = self.pieces.partition_point(|piece| {
            piece.now.end < now || (piece.now.end == now && piece.now.start < now)
        });
        match before.checked_sub(1).and_then(|index| self.pieces.get(index)) {
            Some(piece) => piece.base.end + now.saturating_sub(piece.now.end),
            None => now,
        }
    }

    /// Hunks without a piece are gone.
    pub fn forget_origins(&mut self) {
        if self.origins.is_empty() {
            return;
        }
        let alive: BTreeSet<HunkId> = self.hunks().into_iter().collect();
        self.origins.retain(|id, _| alive.contains(id));
    }

    /// Enters edits of the agent as pieces; gives the places where new text stands.
    fn agent_pieces(&mut self, changes: &ChangeSet) -> Vec<Range<usize>> {
        for edit in changes.edits().iter().rev() {
            self.agent_replaces(edit.range.clone(), &edit.text);
        }
        changes.placed().map(|(_, placed)| placed).collect()
    }

    pub fn agent_replaces(&mut self, range: Range<usize>, text: &str) {
        let low = self.pieces.partition_point(|piece| piece.now.end < range.start);
        let high = self.pieces.partition_point(|piece| piece.now.start <= range.end).max(low);
        // What the person wrote there stays theirs: it becomes part of what rejecting brings back.
        for index in low..high {
            let Some(piece) = self.pieces.get(index) else { continue };
            let gone = |it: &Range<usize>| it.start < range.end && range.start < it.end;
            if !range.is_empty() && piece.typed.iter().any(gone) {
                let kept = self.kept_text(piece);
                self.set_base(index, &kept);
                if let Some(piece) = self.pieces.get_mut(index) {
                    piece.typed.clear();
                }
            }
        }
        let merged = self.merged(low, high, &range, text.len());
        splice(&mut self.current, &range, text);
        for later in self.pieces.iter_mut().skip(high) {
            shift_range(&mut later.now, range.len(), text.len());
            later.typed.iter_mut().for_each(|it| shift_range(it, range.len(), text.len()));
        }
        for decided in &mut self.decided {
            decided.replaced(&range, text.len());
        }
        let ids: BTreeSet<HunkId> = self
            .pieces
            .drain(low..high)
            .map(|piece| piece.hunk)
            .filter(|id| *id != merged.hunk)
            .collect();
        for id in ids {
            self.rename(&id, &merged.hunk);
        }
        self.pieces.insert(low, merged);
    }

    /// The piece that stands for pieces `low..high` and an edit together.
    fn merged(&self, low: usize, high: usize, range: &Range<usize>, len: usize) -> Piece {
        let merging = self.pieces.get(low..high).unwrap_or_default();
        let (Some(first), Some(last)) = (merging.first(), merging.last()) else {
            return Piece {
                base: self.base_offset(range.start)..self.base_offset(range.end),
                now: range.start..range.start + len,
                typed: Vec::new(),
                hunk: HunkId::new(),
            };
        };
        let above = first.now.start.saturating_sub(range.start);
        let below = range.end.saturating_sub(last.now.end);
        let start = first.now.start.min(range.start);
        let end = shift(last.now.end.max(range.end), range.len(), len);
        let mut typed = Vec::new();
        for piece in merging {
            for part in &piece.typed {
                // New text in the midst of the person's is not theirs.
                let cut = part.start.max(range.start.min(part.end));
                add_range(&mut typed, part.start..cut);
                add_range(
                    &mut typed,
                    shift(cut, range.len(), len)..shift(part.end, range.len(), len),
                );
            }
        }
        Piece {
            base: first.base.start.saturating_sub(above)..last.base.end + below,
            now: start..end,
            typed,
            hunk: merging
                .iter()
                .map(|piece| &piece.hunk)
                .find(|hunk| !hunk.is_empty())
                .cloned()
                .unwrap_or_default(),
        }
    }

    pub fn rename(&mut self, from: &HunkId, to: &HunkId) {
        if from.is_empty() || from == to {
            return;
        }
        for piece in self.pieces.iter_mut().filter(|piece| piece.hunk == *from) {
            piece.hunk.clone_from(to);
        }
        if let Some((_, id)) = self.existence.as_mut().filter(|(_, id)| id == from) {
            id.clone_from(to);
        }
        if let Some(origin) = self.origins.remove(from) {
            match self.origins.get_mut(to) {
                Some(kept) => kept.merge(&origin),
                None => {
                    self.origins.insert(to.clone(), origin);
                }
            }
        }
    }

    /// Drops pieces near these places that came to change nothing.
    fn drop_equal(&mut self, places: &[Range<usize>]) {
        for place in places {
            let low = self.pieces.partition_point(|piece| piece.now.end < place.start);
            let mut index = low;
            while let Some(piece) = self.pieces.get(index).filter(|it| it.now.start <= place.end) {
                if self.is_equal(piece) { drop(self.pieces.remove(index)) } else { index += 1 }
            }
        }
    }

    /// Gives hunks to pieces without one: that of a neighbour of the same edit or of the same
    /// line, else a new one. Marks every hunk the edit touched with its origin.
    fn group(&mut self, origin: &Origin, names: &mut Names<'_>) {
        let mut ours: BTreeSet<HunkId> = BTreeSet::new();
        for index in 0..self.pieces.len() {
            let Some(piece) = self.pieces.get(index) else { continue };
            if !piece.hunk.is_empty() {
                continue;
            }
            let before = index.checked_sub(1).map(|before| self.gap(before, index));
            let after = (index + 1 < self.pieces.len()).then(|| self.gap(index, index + 1));
            let neighbour = |at: usize| self.pieces.get(at).map(|it| it.hunk.clone());
            // A hunk keeps its name when what happened to it happens again.
            let known = names.known(piece.now.start);
            let is_known = known.is_some();
            let at = piece.now.start;
            let mut id = known.unwrap_or_default();
            if !is_known
                && let (Some(gap), Some(hunk)) = (before, index.checked_sub(1).and_then(neighbour))
                && (gap == Gap::SameLine || (gap == Gap::NextLine && ours.contains(&hunk)))
            {
                id = hunk;
            }
            if !is_known
                && let (Some(Gap::SameLine), Some(hunk)) = (after, neighbour(index + 1))
                && !hunk.is_empty()
                && hunk != id
            {
                if id.is_empty() { id = hunk } else { self.rename(&hunk, &id) }
            }
            if id.is_empty() {
                id = names.at(at);
            }
            ours.insert(id.clone());
            if let Some(piece) = self.pieces.get_mut(index) {
                piece.hunk.clone_from(&id);
            }
            self.mark(&id, origin);
        }
    }

    fn mark(&mut self, id: &HunkId, origin: &Origin) {
        match self.origins.get_mut(id) {
            Some(before) => before.merge(origin),
            None => {
                self.origins.insert(id.clone(), origin.clone());
            }
        }
    }

    /// How far two neighbouring pieces are from each other.
    fn gap(&self, first: usize, second: usize) -> Gap {
        let (Some(a), Some(b)) = (self.pieces.get(first), self.pieces.get(second)) else {
            return Gap::Apart;
        };
        let line = |at: usize| self.current.byte_to_line(at.min(self.current.len_bytes()));
        let newlines = line(b.now.start) - line(a.now.end);
        let ends_lines =
            starts_line(&self.current, a.now.end) && starts_line(&self.base, a.base.end);
        match (newlines, ends_lines) {
            (0, false) => Gap::SameLine,
            (0, true) | (1, false) => Gap::NextLine,
            _ => Gap::Apart,
        }
    }

    /// One replacement of the person's. Parts outside pieces happen to the base too.
    fn person_replaces(&mut self, range: Range<usize>, text: &str) -> Edited {
        if let Some(index) = self.undone_by(&range, text) {
            self.raw_replace(&range, text);
            self.grow(index, &range, text.len());
            self.pieces.remove(index);
            return Edited::Hunks;
        }
        let inside = |piece: &Piece| {
            piece.now.start < range.end && range.start < piece.now.end
                || range.start < piece.now.start && piece.now.end < range.end
        };
        let low = self.pieces.partition_point(|piece| piece.now.end <= range.start);
        let hits: Vec<usize> = self
            .pieces
            .iter()
            .enumerate()
            .skip(low.saturating_sub(1))
            .take_while(|(_, piece)| piece.now.start <= range.end)
            .filter(|(_, piece)| inside(piece))
            .map(|(index, _)| index)
            .collect();
        let Some((&first, &last)) = hits.first().zip(hits.last()) else {
            self.person_outside(range, text);
            return Edited::Moved;
        };
        if self.undo_all(first, last, &range, text) {
            return Edited::Hunks;
        }
        let within = self
            .pieces
            .get(first)
            .is_some_and(|it| it.now.start <= range.start && range.end <= it.now.end);
        if !within && !text.is_empty() {
            return self.person_refined(range, text);
        }
        self.person_inside(first, last, range, text)
    }

    /// Whether a replacement over several pieces turns all of them back into the base; done then.
    fn undo_all(&mut self, first: usize, last: usize, range: &Range<usize>, text: &str) -> bool {
        let (Some(a), Some(b)) = (self.pieces.get(first), self.pieces.get(last)) else {
            return false;
        };
        let now = a.now.start.min(range.start)..b.now.end.max(range.end);
        let base = a.base.start.saturating_sub(a.now.start - now.start)
            ..b.base.end + (now.end - b.now.end);
        if now.len() - range.len() + text.len() != base.len() {
            return false;
        }
        let mut after = slice(&self.current, &(now.start..range.start));
        after.push_str(text);
        after.push_str(&slice(&self.current, &(range.end..now.end)));
        if after != slice(&self.base, &base) {
            return false;
        }
        self.raw_replace(range, text);
        self.pieces.drain(first..=last);
        for later in self.pieces.iter_mut().skip(first) {
            shift_range(&mut later.now, range.len(), text.len());
            later.typed.iter_mut().for_each(|it| shift_range(it, range.len(), text.len()));
        }
        true
    }

    /// A replacement over several pieces, as the smallest edits that come to the same.
    fn person_refined(&mut self, range: Range<usize>, text: &str) -> Edited {
        let old = Rope::from_str(&slice(&self.current, &range));
        let changes = ChangeSet::whole(&old, text);
        let (mut added, mut removed) = (0, 0);
        for edit in changes.edits() {
            let start = range.start + shift(edit.range.start, removed, added);
            let edit_range = start..start + edit.range.len();
            match self.undone_by(&edit_range, &edit.text) {
                Some(_) => drop(self.person_replaces(edit_range, &edit.text)),
                None => self.person_parts(edit_range, &edit.text),
            }
            added += edit.text.len();
            removed += edit.range.len();
        }
        let place = range.start..shift(range.end, removed, added);
        self.drop_equal(&[place]);
        Edited::Hunks
    }

    fn person_parts(&mut self, range: Range<usize>, text: &str) {
        let inside = |piece: &Piece| {
            piece.now.start < range.end && range.start < piece.now.end
                || range.start < piece.now.start && piece.now.end < range.end
        };
        let first = self.pieces.iter().position(inside);
        let last = self.pieces.iter().rposition(inside);
        match first.zip(last) {
            None => self.person_outside(range, text),
            Some((first, last)) => drop(self.person_inside(first, last, range, text)),
        }
    }

    /// The piece that a replacement within or beside it turns back into its base.
    pub fn undone_by(&self, range: &Range<usize>, text: &str) -> Option<usize> {
        let low = self.pieces.partition_point(|piece| piece.now.end < range.start);
        let near = self.pieces.iter().enumerate().skip(low);
        let near = near.take_while(|(_, piece)| piece.now.start <= range.end);
        let undone = |piece: &Piece| {
            if range.start < piece.now.start || piece.now.end < range.end {
                return false;
            }
            let len = piece.now.len() - range.len() + text.len();
            if len != piece.base.len() {
                return false;
            }
            let mut now = slice(&self.current, &(piece.now.start..range.start));
            now.push_str(text);
            now.push_str(&slice(&self.current, &(range.end..piece.now.end)));
            now == slice(&self.base, &piece.base)
        };
        near.filter(|(_, piece)| undone(piece)).map(|(index, _)| index).next()
    }

    /// Replaces text and moves all that lies after it; says nothing about the base.
    pub fn raw_replace(&mut self, range: &Range<usize>, text: &str) {
        splice(&mut self.current, range, text);
        for decided in &mut self.decided {
            decided.person_replaced(range, text.len());
        }
    }

    /// A piece takes in a replacement within it; those after it move.
    pub fn grow(&mut self, index: usize, range: &Range<usize>, len: usize) {
        for (at, piece) in self.pieces.iter_mut().enumerate().skip(index) {
            if at == index {
                piece.now.end = shift(piece.now.end, range.len(), len);
            } else {
                shift_range(&mut piece.now, range.len(), len);
                piece.typed.iter_mut().for_each(|it| shift_range(it, range.len(), len));
            }
        }
    }

    pub fn person_outside(&mut self, range: Range<usize>, text: &str) {
        let start = self.base_offset(range.start);
        let base = start..start + range.len();
        let first = self.pieces.partition_point(|piece| {
            piece.now.start < range.start
                || (piece.now.start == range.start
                    && piece.now.end <= range.start
                    && range.start < range.end
                    && piece.now.is_empty())
        });
        // A deletion at an empty piece's place lies after the piece.
        let after_empty = first.checked_sub(1).and_then(|at| self.pieces.get(at));
        let base = match after_empty {
            Some(piece) if piece.now.end == range.start => {
                piece.base.end..piece.base.end + range.len()
            }
            Some(_) | None => base,
        };
        splice(&mut self.base, &base, text);
        self.raw_replace(&range, text);
        for piece in self.pieces.iter_mut().skip(first) {
            shift_range(&mut piece.base, range.len(), text.len());
            shift_range(&mut piece.now, range.len(), text.len());
            piece.typed.iter_mut().for_each(|it| shift_range(it, range.len(), text.len()));
        }
    }

    /// A replacement that reaches into pieces `first..=last`; its new text goes into the first.
    fn person_inside(
        &mut self,
        first: usize,
        last: usize,
        range: Range<usize>,
        text: &str,
    ) -> Edited {
        // From the back, so that what lies before stays where it is.
        let mut end = range.end;
        for index in (first..=last).rev() {
            let Some(piece) = self.pieces.get(index) else { continue };
            let now = piece.now.clone();
            if now.end < end {
                self.delete_between(index + 1, now.end.max(range.start)..end);
                end = now.end.max(range.start);
            }
            let cut = now.start.max(range.start)..end.min(now.end).max(now.start.max(range.start));
            self.delete_within(index, &cut);
            end = cut.start;
        }
        if range.start < end {
            self.delete_between(first, range.start..end);
        }
        self.insert_within(first, range.start, text);
        let ids: Vec<HunkId> =
            (first..=last).filter_map(|index| Some(self.pieces.get(index)?.hunk.clone())).collect();
        for id in ids {
            if let Some(origin) = self.origins.get_mut(&id) {
                origin.mixed = true;
            }
        }
        for index in (first..=last).rev() {
            if self.pieces.get(index).is_some_and(|piece| self.is_equal(piece)) {
                self.pieces.remove(index);
            }
        }
        Edited::Hunks
    }

    /// Deletes text between pieces, the one before `next` and `next` itself, from both texts.
    fn delete_between(&mut self, next: usize, range: Range<usize>) {
        let start = match next.checked_sub(1).and_then(|index| self.pieces.get(index)) {
            Some(before) => before.base.end + (range.start - before.now.end.min(range.start)),
            None => range.start,
        };
        splice(&mut self.base, &(start..start + range.len()), "");
        self.raw_replace(&range, "");
        for piece in self.pieces.iter_mut().skip(next) {
            shift_range(&mut piece.base, range.len(), 0);
            shift_range(&mut piece.now, range.len(), 0);
            piece.typed.iter_mut().for_each(|it| shift_range(it, range.len(), 0));
        }
    }

    fn delete_within(&mut self, index: usize, cut: &Range<usize>) {
        if cut.is_empty() {
            return;
        }
        self.raw_replace(cut, "");
        self.grow(index, cut, 0);
        if let Some(piece) = self.pieces.get_mut(index) {
            piece.typed.iter_mut().for_each(|it| *it = without(it, cut));
            piece.typed.retain(|it| !it.is_empty());
        }
    }

    fn insert_within(&mut self, index: usize, at: usize, text: &str) {
        if text.is_empty() {
            return;
        }
        self.raw_replace(&(at..at), text);
        self.grow(index, &(at..at), text.len());
        if let Some(piece) = self.pieces.get_mut(index) {
            make_room(&mut piece.typed, at, text.len());
            add_range(&mut piece.typed, at..at + text.len());
        }
    }
}

/// The change of a whole text into another.
fn replaced(before: &Rope, after: &str) -> ChangeSet {
    let len = before.len_bytes();
    ChangeSet::new(len, vec![Edit::new(0..len, after)]).unwrap_or_else(|_| ChangeSet::identity(len))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    SameLine,
    NextLine,
    Apart,
}

fn starts_line(rope: &Rope, at: usize) -> bool {
    at == 0 || rope.get_byte(at - 1) == Some(b'\n')
}

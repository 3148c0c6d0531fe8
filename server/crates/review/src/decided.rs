//! Decisions that can be undone: where their text is now, and what stood there before.

use std::collections::BTreeSet;
use std::ops::Range;

use text::{ChangeSet, Edit};

use crate::file::{Existence, File, Plan};
use crate::ledger::Decision;
use crate::pieces::{
    Piece, add_range, kept, make_room, shift, shift_range, slice, splice, without,
};
use crate::{HunkId, Origin};

/// One piece that was decided on.
#[derive(Clone, Debug)]
pub(crate) struct Decided {
    pub token: u64,
    pub decision: Decision,
    pub hunk: HunkId,
    pub origin: Origin,
    /// Where its text is in the current text.
    pub now: Range<usize>,
    /// Bytes within `now` that the person wrote.
    pub typed: Vec<Range<usize>>,
    /// What the decision did away with: the base's text, or the agent's.
    pub text: String,
    /// Bytes of a rejected `text` that the person wrote.
    pub inner: Vec<Range<usize>>,
    /// The base's text where the agent's was rejected.
    pub base: String,
    /// How many pieces without text stood before an accepted one in the same place.
    pub behind: usize,
    /// Whether the decision was on the file's coming or going too.
    pub existence: Option<Existence>,
}

impl Decided {
    /// The agent replaced text.
    pub fn replaced(&mut self, range: &Range<usize>, len: usize) {
        self.moved(range, len);
    }

    /// The person replaced text.
    pub fn person_replaced(&mut self, range: &Range<usize>, len: usize) {
        if self.moved(range, len) && len > 0 {
            add_range(&mut self.typed, range.start..range.start + len);
        }
    }

    /// Follows a replacement; whether it reached into the text.
    fn moved(&mut self, range: &Range<usize>, len: usize) -> bool {
        if range.end <= self.now.start {
            shift_range(&mut self.now, range.len(), len);
            self.typed.iter_mut().for_each(|it| shift_range(it, range.len(), len));
            return false;
        }
        if range.start >= self.now.end {
            return false;
        }
        self.typed.iter_mut().for_each(|it| *it = without(it, range));
        self.typed.retain(|it| !it.is_empty());
        make_room(&mut self.typed, range.start, len);
        let inside = self.now.start <= range.start && range.end <= self.now.end;
        if inside && *range != self.now {
            self.now.end = shift(self.now.end, range.len(), len);
            return true;
        }
        // What is left of it; new text in the place of the rest is no part of it.
        self.now = without(&self.now, range);
        if range.start <= self.now.start {
            shift_range(&mut self.now, 0, len);
        }
        false
    }
}

impl File {
    /// What rejecting hunks needs to happen.
    pub fn plan_reject(&self, hunks: &BTreeSet<HunkId>) -> Plan {
        let changes = self.reject_changes(hunks);
        match &self.existence {
            Some((Existence::Added, id)) if hunks.contains(id) && changes.len_after() == 0 => {
                Plan::Delete
            }
            Some((Existence::Deleted, id)) if hunks.contains(id) => {
                Plan::Create(changes.apply(&self.current).to_string())
            }
            Some(_) | None => Plan::Text(changes),
        }
    }

    /// Decides on hunks. For a rejection the document has changed as `plan_reject` said.
    pub fn decide(&mut self, hunks: &BTreeSet<HunkId>, decision: Decision, token: u64) {
        let mut existence = match &self.existence {
            Some((kind, id)) if hunks.contains(id) => Some((*kind, id.clone())),
            Some(_) | None => None,
        };
        if existence.is_some() {
            self.existence = None;
        }
        let mut index = 0;
        while let Some(piece) = self.pieces.get(index).cloned() {
            if !hunks.contains(&piece.hunk) {
                index += 1;
                continue;
            }
            let own = existence.take_if(|(_, id)| *id == piece.hunk).map(|(kind, _)| kind);
            let record = match decision {
                Decision::Accept => self.accept_piece(index, &piece),
                Decision::Reject => self.reject_piece(index, &piece),
            };
            self.pieces.remove(index);
            self.remember(record, token, decision, &piece.hunk, own);
        }
        if let Some((kind, id)) = existence {
            self.remember(Record::default(), token, decision, &id, Some(kind));
        }
        self.forget_origins();
    }

    fn accept_piece(&mut self, index: usize, piece: &Piece) -> Record {
        let old = slice(&self.base, &piece.base);
        let new = slice(&self.current, &piece.now);
        self.set_base(index, &new);
        {
            let before = self.pieces.iter().take(index).rev();
            let same = |it: &&Piece| it.now.is_empty() && it.now.start == piece.now.start;
            Record {
                behind: before.take_while(same).count(),
                now: piece.now.clone(),
                text: old,
                typed: piece.typed.clone(),
                ..Record::default()
            }
        }
    }

    fn reject_piece(&mut self, index: usize, piece: &Piece) -> Record {
        let (kept, theirs) = self.kept_text(piece);
        let new = slice(&self.current, &piece.now);
        let start = piece.now.start;
        let inner = piece.typed.iter().map(|it| it.start - start..it.end - start).collect();
        let base = slice(&self.base, &piece.base);
        self.set_base(index, &kept);
        self.set_now(index, &kept);
        for decided in &mut self.decided {
            if decided.now.start <= start && start + kept.len() <= decided.now.end {
                for it in &theirs {
                    add_range(&mut decided.typed, start + it.start..start + it.end);
                }
            }
        }
        Record { now: start..start + kept.len(), text: new, inner, base, ..Record::default() }
    }

    fn remember(
        &mut self,
        record: Record,
        token: u64,
        decision: Decision,
        hunk: &HunkId,
        existence: Option<Existence>,
    ) {
        let Record { now, text, typed, inner, base, behind } = record;
        let origin = self.origins.get(hunk).cloned().unwrap_or_default();
        let hunk = hunk.clone();
        self.decided.push(Decided {
            token,
            decision,
            hunk,
            origin,
            now,
            typed,
            text,
            inner,
            base,
            behind,
            existence,
        });
    }

    /// What undoing a rejection needs to happen; `None` where the file has no part in it.
    pub fn plan_undo(&self, token: u64) -> Option<Plan> {
        let rejected = |it: &&Decided| it.token == token && it.decision == Decision::Reject;
        let records: Vec<&Decided> = self.decided.iter().filter(rejected).collect();
        let existence = records.iter().find_map(|it| it.existence);
        let changes = self.undo_changes(&records);
        match existence {
            _ if records.is_empty() => None,
            Some(Existence::Added) if self.current.len_bytes() == 0 => {
                Some(Plan::Create(changes.apply(&self.current).to_string()))
            }
            Some(Existence::Deleted) if changes.len_after() == 0 => Some(Plan::Delete),
            Some(_) | None => Some(Plan::Text(changes)),
        }
    }

    fn undo_changes(&self, records: &[&Decided]) -> ChangeSet {
        let len = self.current.len_bytes();
        let edits = records.iter().map(|it| Edit::new(it.now.clone(), self.restored(it))).collect();
        ChangeSet::new(len, edits).unwrap_or_else(|_| ChangeSet::identity(len))
    }

    /// The agent's text as it comes back: with what the person typed in its place meanwhile.
    fn restored(&self, record: &Decided) -> String {
        let mut text = record.text.clone();
        record.typed.iter().for_each(|it| text.push_str(&slice(&self.current, it)));
        text
    }

    /// Takes a decision back. For rejections the document has changed as `plan_undo` said.
    pub fn undo(&mut self, token: u64) {
        let (mut records, others): (Vec<Decided>, Vec<Decided>) =
            std::mem::take(&mut self.decided).into_iter().partition(|it| it.token == token);
        self.decided = others;
        // From the back, so that what lies before stays where it is.
        records.sort_by_key(|it| (it.now.start, it.now.end));
        for record in records.into_iter().rev() {
            match record.decision {
                Decision::Accept => self.undo_accept(&record),
                Decision::Reject => self.undo_reject(&record),
            }
            if let Some(kind) = record.existence {
                self.existence = Some((kind, record.hunk.clone()));
            }
            let origin = record.origin.clone();
            self.origins.entry(record.hunk).or_insert(origin);
        }
        self.forget_origins();
    }

    fn undo_reject(&mut self, record: &Decided) {
        let text = self.restored(record);
        if record.now.is_empty() && text.is_empty() {
            return;
        }
        let place = record.now.start..record.now.start + text.len();
        let untouched = !record.inner.is_empty()
            && kept(&record.base, &record.text, &record.inner).0
                == slice(&self.current, &record.now);
        let alone = !self
            .pieces
            .iter()
            .any(|piece| piece.now.start <= record.now.end && record.now.start <= piece.now.end);
        self.agent_replaces(record.now.clone(), &text);
        let low = self.pieces.partition_point(|piece| piece.now.end < place.start);
        let Some(piece) = self.pieces.get_mut(low) else { return };
        let before = std::mem::replace(&mut piece.hunk, record.hunk.clone());
        if untouched && alone {
            // As it was. Otherwise what the person wrote is part of the base by now.
            for it in &record.inner {
                add_range(&mut piece.typed, place.start + it.start..place.start + it.end);
            }
            self.set_base(low, &record.base);
        }
        self.rename(&before, &record.hunk);
        if self.pieces.get(low).is_some_and(|piece| self.is_equal(piece)) {
            self.pieces.remove(low);
        }
    }

    /// The old text becomes the base again, beside pieces that came meanwhile.
    fn undo_accept(&mut self, record: &Decided) {
        let now = &record.now;
        // Pieces that only touch it stay for themselves.
        let at_start = |piece: &&Piece| piece.now.is_empty() && piece.now.start == now.start;
        let left = self.pieces.partition_point(|piece| {
            piece.now.end < now.start || (piece.now.end == now.start && !piece.now.is_empty())
        });
        let empty = self.pieces.iter().skip(left).take_while(at_start).count();
        let low = left + if now.is_empty() { record.behind.min(empty) } else { empty };
        let overlapping = |piece: &&Piece| piece.now.start < now.end;
        let high = low + self.pieces.iter().skip(low).take_while(overlapping).count();
        let meeting = self.pieces.get(low..high).unwrap_or_default();
        let before = meeting.first().filter(|piece| piece.now.start < now.start);
        let after = meeting.last().filter(|piece| piece.now.end > now.end);
        let base_start = match (before, low.checked_sub(1).and_then(|it| self.pieces.get(it))) {
            (Some(piece), _) => piece.base.start,
            (None, Some(left)) => left.base.end + now.start.saturating_sub(left.now.end),
            (None, None) => now.start,
        };
        let base_end = match meeting.last() {
            Some(piece) => piece.base.end + now.end.saturating_sub(piece.now.end),
            None => base_start + now.len(),
        };
        let mut text = before.map(|it| slice(&self.base, &it.base)).unwrap_or_default();
        text.push_str(&record.text);
        text.push_str(&after.map(|it| slice(&self.base, &it.base)).unwrap_or_default());
        let mut typed = record.typed.clone();
        meeting.iter().flat_map(|it| &it.typed).for_each(|it| add_range(&mut typed, it.clone()));
        let piece = Piece {
            base: base_start..base_start + text.len(),
            now: before.map_or(now.start, |it| it.now.start)
                ..after.map_or(now.end, |it| it.now.end),
            typed,
            hunk: record.hunk.clone(),
        };
        splice(&mut self.base, &(base_start..base_end), &text);
        for later in self.pieces.iter_mut().skip(high) {
            shift_range(&mut later.base, base_end - base_start, text.len());
        }
        let merged: BTreeSet<HunkId> = self.pieces.drain(low..high).map(|it| it.hunk).collect();
        if !self.is_equal(&piece) {
            self.pieces.insert(low, piece);
        }
        merged.iter().for_each(|id| self.rename(id, &record.hunk));
    }
}

/// What a decision leaves to be remembered; see the fields of `Decided`.
#[derive(Default)]
struct Record {
    now: Range<usize>,
    text: String,
    typed: Vec<Range<usize>>,
    inner: Vec<Range<usize>>,
    base: String,
    behind: usize,
}

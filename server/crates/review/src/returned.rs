//! Hunks that an edit of the agent's took away, pending again where that edit is taken back.
//!
//! Invariant: what comes back is beside what is pending now, and never in its place unless both stand for
//! the same text; nobody has decided on it since.

use std::collections::BTreeSet;
use std::ops::Range;

use text::{ChangeSet, Rope};

use crate::file::File;
use crate::ledger::{Decision, Ledger};
use crate::moves::Move;
use crate::pieces::{Piece, shift_range, slice, splice};
use crate::presence::Existence;
use crate::restored::Remembered;
use crate::saved::{SavedFile, SavedMove};
use crate::{HunkId, Origin};

/// Bytes of a text that is kept although nothing in it was taken away.
const MAX_KEPT: usize = 1 << 20;

/// What is pending again, and why.
#[derive(Clone, Debug, Default)]
pub struct Returning {
    /// Hunks that the agent itself took away, or that are pending still: those that nobody decided on.
    pub hunks: BTreeSet<HunkId>,
    /// Calls that are taken back; what is theirs alone does not come back.
    pub calls: BTreeSet<String>,
}

impl<F: Ord + Clone> Ledger<F> {
    /// The ids of everything that is pending.
    pub fn hunk_ids(&self) -> BTreeSet<HunkId> {
        let moves = self.moves.values().map(|it| it.hunk.clone());
        moves.chain(self.files.values().flat_map(File::hunks)).collect()
    }

    /// The hunks that an edit took away from what was known of a file before it, so that they are
    /// pending nowhere; `None` where there was none, or the text is large and each is as it was.
    pub fn taken_from(&self, file: &F, before: &Remembered<F>) -> Option<BTreeSet<HunkId>> {
        let known = before.file.as_ref()?;
        let moved = before.moved.as_ref().map(|it| &it.hunk);
        let same_move = moved == self.moves.get(file).map(|it| &it.hunk) || moved.is_none();
        let same = |own: &File| {
            known.hunks().iter().all(|id| known.size_of_hunk(id) == own.size_of_hunk(id))
        };
        let same_file =
            self.files.get(file).is_some_and(|own| own.existence == known.existence && same(own));
        let large = MAX_KEPT < known.base.len_bytes();
        if before.is_idle() || (large && same_move && same_file) {
            return None;
        }
        let now = self.hunk_ids();
        let ids = known.hunks().into_iter().chain(moved.cloned());
        Some(ids.filter(|id| !now.contains(id)).collect())
    }

    /// What took hunks away was taken back: they are pending again, unless they are elsewhere. `text` is
    /// what the file has now, absent where it is not there.
    pub fn return_hunks(
        &mut self,
        file: &F,
        text: Option<&Rope>,
        before: &Remembered<F>,
        returning: &Returning,
    ) {
        let Some(known) = &before.file else { return };
        let others = self.files.iter().filter(|(name, _)| *name != file);
        let others = others.flat_map(|(_, it)| it.hunks());
        let moves = self.moves.iter().filter(|(name, _)| *name != file);
        let elsewhere: BTreeSet<HunkId> =
            others.chain(moves.map(|(_, it)| it.hunk.clone())).collect();
        let comes =
            |id: &HunkId, origin: &Origin| !elsewhere.contains(id) && returning.returns(id, origin);
        let mut known = (**known).clone();
        known.forget_past();
        let none = Origin::default();
        let origin = |id: &HunkId| known.origins.get(id).unwrap_or(&none);
        let stay: BTreeSet<HunkId> =
            known.hunks().into_iter().filter(|id| !comes(id, origin(id))).collect();
        if !stay.is_empty() {
            known.enter_decision(&stay, Decision::Accept, None);
        }
        let deleted = matches!(known.existence, Some((Existence::Deleted, _)));
        match text {
            None if deleted => drop(self.files.entry(file.clone()).or_insert(known)),
            Some(text) if !deleted => {
                let is_same = known.current == *text;
                known.enter_restored(&ChangeSet::between(&known.current, text));
                match self.files.get_mut(file) {
                    Some(own) if !(is_same && own.is_left_of(&known, &returning.calls)) => {
                        own.take_in(known);
                    }
                    Some(_) | None => drop(self.files.insert(file.clone(), known)),
                }
            }
            None | Some(_) => {}
        }
        if let Some(it) = before.moved.as_ref().filter(|it| comes(&it.hunk, &it.origin))
            && !self.moves.contains_key(file)
            && self.files.contains_key(file)
        {
            self.moves.insert(file.clone(), it.clone());
        }
        self.changed(file);
    }
}

impl<F: Ord + Clone> Remembered<F> {
    /// Whether nothing was pending.
    pub fn is_idle(&self) -> bool {
        self.moved.is_none() && self.file.as_ref().is_none_or(|it| !it.is_pending())
    }

    /// As plain data, but for what was decided; `None` where nothing is known of the file.
    pub fn save(&self, name: &F) -> Option<(SavedFile<F>, Option<SavedMove<F>>)> {
        let mut file = (**self.file.as_ref()?).clone();
        file.forget_past();
        let moved = self.moved.as_ref().map(|it| it.save(name));
        Some((SavedFile::of(name.clone(), &file), moved))
    }

    /// What was saved; `None` where it makes no sense.
    pub fn read(file: SavedFile<F>, moved: Option<SavedMove<F>>) -> Option<Remembered<F>> {
        let moved = moved.map(|it| {
            let (hunk, origin) = (it.hunk.id, it.hunk.origin);
            Move { from: it.from, hunk, origin }
        });
        Some(Remembered { file: Some(Box::new(file.file()?)), moved })
    }
}

impl Returning {
    fn returns(&self, id: &HunkId, origin: &Origin) -> bool {
        self.hunks.contains(id) && !is_of_these(origin, &self.calls)
    }
}

fn is_of_these(origin: &Origin, calls: &BTreeSet<String>) -> bool {
    origin.calls.iter().all(|it| calls.contains(it))
}

impl File {
    /// Whether nothing is pending here but hunks of `other`, of the calls there and of these.
    fn is_left_of(&self, other: &File, calls: &BTreeSet<String>) -> bool {
        let known = other.origins.values().flat_map(|it| &it.calls);
        let calls: BTreeSet<String> = known.chain(calls).cloned().collect();
        let origin = |id: &HunkId| self.origins.get(id);
        self.hunks().iter().all(|id| origin(id).is_none_or(|it| is_of_these(it, &calls)))
    }

    /// How much there is of a hunk: places, bytes before and bytes now.
    fn size_of_hunk(&self, id: &HunkId) -> (usize, usize, usize) {
        let own = self.pieces.iter().filter(|it| it.hunk == *id);
        own.fold((0, 0, 0), |(count, base, now), it| {
            (count + 1, base + it.base.len(), now + it.now.len())
        })
    }

    /// Takes in the hunks of another view of the same text. Where hunks of both touch, those of the other
    /// count if both stand for the same text before, else those that are here.
    fn take_in(&mut self, other: File) {
        self.forget_past();
        let mut index = 0;
        while let Some(first) = other.pieces.get(index) {
            let mut region = first.now.clone();
            let mut end = index + 1;
            loop {
                let before = region.clone();
                for own in self.pieces.iter().filter(|it| touch(&it.now, &before)) {
                    region = region.start.min(own.now.start)..region.end.max(own.now.end);
                }
                while let Some(next) = other.pieces.get(end).filter(|it| it.now.start <= region.end)
                {
                    region.end = region.end.max(next.now.end);
                    end += 1;
                }
                if region == before {
                    break;
                }
            }
            self.take_region(&region, &other, index..end);
            index = end;
        }
        if let (None, Some(existence)) = (&self.existence, &other.existence) {
            self.existence = Some(existence.clone());
        }
        for (id, origin) in other.origins {
            self.origins.entry(id).or_insert(origin);
        }
        self.forget_origins();
    }

    fn take_region(&mut self, region: &Range<usize>, other: &File, theirs: Range<usize>) {
        let low = self.pieces.partition_point(|it| it.now.end < region.start);
        let high = self.pieces.partition_point(|it| it.now.start <= region.end).max(low);
        let own = self.base_of(region, low..high);
        let base = other.base_of(region, theirs.clone());
        let old = slice(&other.base, &base);
        if low < high && slice(&self.base, &own) != old {
            return;
        }
        splice(&mut self.base, &own, &old);
        for later in self.pieces.iter_mut().skip(high) {
            shift_range(&mut later.base, own.len(), old.len());
        }
        let moved = |it: &Piece| {
            let mut piece = it.clone();
            shift_range(&mut piece.base, base.start, own.start);
            piece
        };
        let pieces: Vec<Piece> =
            other.pieces.iter().take(theirs.end).skip(theirs.start).map(moved).collect();
        self.pieces.splice(low..high, pieces);
    }

    /// Where a region of the current text that these pieces are within lies in the base.
    fn base_of(&self, region: &Range<usize>, pieces: Range<usize>) -> Range<usize> {
        let piece = |at: usize| self.pieces.get(at);
        let before = pieces.start.checked_sub(1).and_then(piece);
        let start = before.map_or(region.start, |it| it.base.end + (region.start - it.now.end));
        match pieces.end.checked_sub(1).filter(|at| pieces.start <= *at).and_then(piece) {
            Some(last) => start..last.base.end + (region.end - last.now.end),
            None => start..start + region.len(),
        }
    }
}

fn touch(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start <= b.end && b.start <= a.end
}

#[cfg(test)]
mod tests;

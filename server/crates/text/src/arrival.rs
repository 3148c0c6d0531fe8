//! An edit of ours on its way into a document that is told of in steps: in one, in several parts,
//! or not at all, with the person's typing in between.
//!
//! Invariant: a step counts as a part of ours only where it leaves the very text that our edits
//! there leave; every other step is the person's. A step costs what it and the parts still to come
//! are long, never what came before.

use crate::changeset::{ChangeSet, Edit};
use crate::pieces;
use crate::verify::{Landing, Trail, by_texts, holds_text};
use ropey::Rope;
use std::ops::Range;

/// Up to this many steps times edits, every step is looked at for an edit in the wrong place.
const MAX_TRAIL: usize = 10_000;

/// What is known of an edit that was sent.
pub struct Arrival {
    ours: ChangeSet,
    expected: Rope,
    /// The parts that are not in yet, over the last text; `None` once the person changed one.
    rest: Option<Vec<Edit>>,
    /// What the person did, over the expected text: it leads to the text that the last one becomes
    /// with the parts that are not in yet. `None` where that is not known.
    theirs: Option<Vec<ChangeSet>>,
    /// What the steps that are no part of ours took away and brought.
    strange: Vec<(String, String)>,
    /// One more than `history`, from the text before to the last one.
    texts: Vec<Rope>,
    history: Vec<ChangeSet>,
}

impl Arrival {
    /// `ours` is sent to a document that has the text `base`.
    pub fn new(base: &Rope, ours: &ChangeSet) -> Arrival {
        Arrival {
            expected: ours.apply(base),
            rest: Some(ours.edits().to_vec()),
            theirs: Some(Vec::new()),
            strange: Vec::new(),
            texts: vec![base.clone()],
            history: Vec::new(),
            ours: ours.clone(),
        }
    }

    /// Takes what one notification tells, step by step. Steps that do not follow the last text make
    /// the texts alone decide.
    pub fn take(&mut self, told: Vec<ChangeSet>) {
        let Some(mut text) = self.texts.last().cloned() else { return };
        let mut texts = Vec::with_capacity(told.len());
        for change in &told {
            if change.len_before() != text.len_bytes() {
                self.rest = None;
                return;
            }
            self.take_step(&text, change);
            text = change.apply(&text);
            texts.push(text.clone());
        }
        let steps = self.history.len() + told.len();
        if steps * self.ours.edits().len() <= MAX_TRAIL {
            self.history.extend(told);
            self.texts.append(&mut texts);
        } else if let Some(change) = ChangeSet::compose_all(told) {
            self.history.push(change);
            self.texts.push(text);
        }
    }

    /// What became of the edit, now that the text is `now`.
    pub fn judge(&self, now: &Rope) -> Landing {
        if self.expected == *now {
            return Landing::Exact;
        }
        let Some(base) = self.texts.first() else { return Landing::Conflict };
        if self.ours.is_identity() {
            return Landing::With { theirs: ChangeSet::between(base, now) };
        }
        if self.history.is_empty() || self.texts.last() != Some(now) {
            return by_texts(base, &self.ours, &self.expected, now);
        }
        if self.rest.as_ref().is_some_and(Vec::is_empty) {
            return Landing::With { theirs: self.theirs_until(now) };
        }
        let count = self.ours.edits().len();
        let is_clear = self.history.len() * count <= MAX_TRAIL;
        if is_clear {
            let (ours, expected) = (&self.ours, &self.expected);
            let trail = Trail { ours, expected, texts: &self.texts, history: &self.history };
            if let Some(landing) = trail.judge() {
                return landing;
            }
        }
        if let Some(rest) = self.rest.as_ref().filter(|rest| rest.len() < count) {
            let is_sure = is_clear && !rest.iter().any(|edit| self.strayed(now, edit));
            let (left, rest) = (rest.len(), ChangeSet::new(now.len_bytes(), rest.clone()).ok());
            return Landing::Partly { left, rest: rest.filter(|_| is_sure) };
        }
        let theirs = ChangeSet::compose_all(self.history.clone());
        let theirs = theirs.unwrap_or_else(|| ChangeSet::identity(base.len_bytes()));
        if self.ours.edits().iter().any(|edit| holds_text(&theirs, edit)) {
            return Landing::Conflict;
        }
        Landing::NotYet { theirs }
    }

    /// The person's changes over the expected text: as they were told, or guessed where that does
    /// not lead to the present one.
    fn theirs_until(&self, now: &Rope) -> ChangeSet {
        let told = self.theirs.clone().and_then(ChangeSet::compose_all).filter(|it| {
            it.len_before() == self.expected.len_bytes()
                && it.len_after() == now.len_bytes()
                && it.apply(&self.expected) == *now
        });
        told.unwrap_or_else(|| ChangeSet::between(&self.expected, now))
    }

    /// Whether one of the steps that are no part of ours looks like this one, made elsewhere.
    fn strayed(&self, now: &Rope, edit: &Edit) -> bool {
        let removed = pieces::slice(now, edit.range.clone()).to_string();
        let (gone, new) = (removed.trim(), edit.text.trim());
        self.strange.iter().any(|(away, brought)| {
            if new.is_empty() { away.contains(gone) } else { brought.contains(new) }
        })
    }

    fn take_step(&mut self, text: &Rope, change: &ChangeSet) {
        let mut len = text.len_bytes();
        // Bottom up, so that the places of those above stay what they are.
        for edit in change.edits().iter().rev() {
            let Some(rest) = &mut self.rest else { return };
            if let Some(parts) = parts_of(rest, text, edit) {
                // Those between its parts and beyond are moved by what it does as a whole.
                rest.drain(parts);
            } else if rest[near(rest, &edit.range)].iter().any(|it| clashes(&it.range, &edit.range))
            {
                self.rest = None;
                return;
            } else {
                let away = pieces::slice(text, edit.range.clone()).to_string();
                self.strange.push((away, edit.text.clone()));
                match (beside(len, edit, rest), &mut self.theirs) {
                    (Some(own), Some(theirs)) => theirs.push(own),
                    (None, theirs) => *theirs = None,
                    (Some(_), None) => {}
                }
            }
            len = len + edit.text.len() - edit.range.len();
            let below = rest.partition_point(|it| it.range.start < edit.range.end);
            for it in &mut rest[below..] {
                let moved = |at: usize| at + edit.text.len() - edit.range.len();
                it.range = moved(it.range.start)..moved(it.range.end);
            }
        }
    }
}

/// An edit of a text of this length, as it is once `rest` is in; `None` where both are about the
/// same bytes.
fn beside(len: usize, edit: &Edit, rest: &[Edit]) -> Option<ChangeSet> {
    let rest = ChangeSet::new(len, rest.to_vec()).ok()?;
    ChangeSet::new(len, vec![edit.clone()]).ok()?.rebase_ahead(&rest).ok()
}

/// Which of `rest` a step makes, all in their right places.
fn parts_of(rest: &[Edit], text: &Rope, edit: &Edit) -> Option<Range<usize>> {
    let near = near(rest, &edit.range);
    if let Some(same) = rest[near.clone()].iter().position(|it| it == edit) {
        return Some(near.start + same..near.start + same + 1);
    }
    // Those that only touch it may be parts of it or not.
    let inner = |it: &Edit| clashes(&it.range, &edit.range);
    let first = rest[near.clone()].iter().position(inner).map(|at| near.start + at);
    let last = rest[near.clone()].iter().rposition(inner).map(|at| near.start + at + 1);
    let starts = [Some(near.start), first];
    let ends = [Some(near.end), last];
    let candidates = starts.into_iter().flat_map(|start| ends.map(|end| Some(start?..end?)));
    candidates.flatten().find(|it| !it.is_empty() && makes(&rest[it.clone()], text, edit))
}

/// Those of `rest` that touch a range.
fn near(rest: &[Edit], range: &Range<usize>) -> Range<usize> {
    let start = rest.partition_point(|it| it.range.end < range.start);
    let count = rest[start..].partition_point(|it| it.range.start <= range.end);
    start..start + count
}

/// Whether a step leaves the text that these edits of ours leave.
fn makes(parts: &[Edit], text: &Rope, edit: &Edit) -> bool {
    let (Some(first), Some(last)) = (parts.first(), parts.last()) else { return false };
    let start = first.range.start.min(edit.range.start);
    let end = last.range.end.max(edit.range.end);
    let changed = |edits: &[Edit]| {
        let mut changed = String::new();
        let mut at = start;
        for edit in edits {
            changed.extend(pieces::slice(text, at..edit.range.start).chunks());
            changed.push_str(&edit.text);
            at = edit.range.end;
        }
        changed.extend(pieces::slice(text, at..end).chunks());
        changed
    };
    let (ours, told) = (changed(parts), changed(std::slice::from_ref(edit)));
    // Editors keep the line endings of a document whatever an edit says.
    ours == told || ours.replace("\r\n", "\n") == told.replace("\r\n", "\n")
}

/// Whether a change of one range makes an edit of the other meaningless.
fn clashes(own: &Range<usize>, other: &Range<usize>) -> bool {
    own.start < other.end && other.start < own.end
}

#[cfg(test)]
mod tests;

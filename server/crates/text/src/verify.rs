//! What became of an edit that was sent to an editor that may have skipped it, applied it late, or
//! applied its literal line and character ranges to a text the person had changed meanwhile.
//!
//! The texts decide, never the form of a report: each text on the way is compared with what our
//! edit would have made of the one before. Whatever cannot be told apart is a conflict.

use crate::arrival::Arrival;
use crate::changeset::{ChangeSet, Edit};
use crate::lines::{LineEnding, to_ending};
use crate::position::{LineBreaks, Unit, offset_at, position_at};
use ropey::Rope;
use std::ops::Range;

/// What became of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Landing {
    /// The text is exactly the expected one.
    Exact,
    /// The edit is in; the person changed other places too.
    With {
        /// The person's changes (and line endings the editor converted), over the expected text;
        /// they lead to the present one.
        theirs: ChangeSet,
    },
    /// The edit is not in: rebase it over `theirs` and try again.
    NotYet {
        /// The person's changes over the base; they lead to the present text.
        theirs: ChangeSet,
    },
    /// Some parts of the edit are in, and nothing stands against the others.
    Partly {
        /// How many they are.
        left: usize,
        /// The others, over the present text; `None` where the history is too long to be sure that
        /// they were not made in the wrong place.
        rest: Option<ChangeSet>,
    },
    /// The edit was applied where its text no longer was.
    Misplaced {
        /// Applied to the present text, gives the base with the person's changes and the edit in
        /// its right place.
        repair: ChangeSet,
    },
    /// None of these, or not to be told apart.
    Conflict,
}

/// Decides what became of `ours`, made for `base`, now that the text is `now`. `history` holds
/// every content change since `base` in order; where it is empty or does not lead to `now`, the
/// regions that `ours` changes decide.
pub fn landed(base: &Rope, ours: &ChangeSet, now: &Rope, history: &[ChangeSet]) -> Landing {
    let mut arrival = Arrival::new(base, ours);
    history.iter().for_each(|change| arrival.take(vec![change.clone()]));
    arrival.judge(now)
}

/// Decides without a history, for our edit as it is and with either line ending.
pub(crate) fn by_texts(base: &Rope, ours: &ChangeSet, expected: &Rope, now: &Rope) -> Landing {
    if base == now {
        return Landing::NotYet { theirs: ChangeSet::identity(base.len_bytes()) };
    }
    for ending in [None, Some(LineEnding::CrLf), Some(LineEnding::Lf)] {
        let converted = with_ending(ours, ending);
        if ending.is_some() && converted == *ours {
            continue;
        }
        match by_regions(base, &converted, &converted.apply(base), now) {
            Landing::Exact | Landing::With { .. } => {
                return Landing::With { theirs: ChangeSet::between(expected, now) };
            }
            not_yet @ Landing::NotYet { .. } => return not_yet,
            Landing::Partly { .. } | Landing::Misplaced { .. } | Landing::Conflict => {}
        }
    }
    Landing::Conflict
}

/// An edit as an editor may have applied it to one of the texts.
struct Attempt {
    applied: ChangeSet,
    /// The same edit in its right place; `None` where the person changed that very text before.
    right: Option<ChangeSet>,
}

/// Every text on the way, looked at for one that our edit made of another.
pub(crate) struct Trail<'a> {
    pub ours: &'a ChangeSet,
    pub expected: &'a Rope,
    /// One more than `history`, from the base to the present text.
    pub texts: &'a [Rope],
    pub history: &'a [ChangeSet],
}

impl Trail<'_> {
    /// What became of our edit where one of the texts shows it.
    pub fn judge(&self) -> Option<Landing> {
        let mut theirs = ChangeSet::identity(self.texts[0].len_bytes());
        for (from, change) in self.history.iter().enumerate() {
            for attempt in self.attempts(from, &theirs) {
                let result = attempt.applied.apply(&self.texts[from]);
                let same = |text: &Rope| text.len_bytes() == result.len_bytes() && *text == result;
                let until =
                    self.texts[from + 1..].iter().position(same).map(|index| from + 1 + index);
                if let Some(until) = until.filter(|_| result != self.texts[from]) {
                    let landing = self.judge_run(from..until, &attempt);
                    return Some(landing.unwrap_or(Landing::Conflict));
                }
            }
            theirs = theirs.compose(change.clone());
        }
        None
    }

    fn composed(&self, entries: Range<usize>) -> ChangeSet {
        let start = ChangeSet::identity(self.texts[entries.start].len_bytes());
        self.history[entries].iter().cloned().fold(start, ChangeSet::compose)
    }

    /// Every way in which our edit may have been applied to the text at `from`, to which `theirs` led.
    fn attempts(&self, from: usize, theirs: &ChangeSet) -> Vec<Attempt> {
        let (base, text) = (&self.texts[0], &self.texts[from]);
        let rebased = self.ours.rebase(theirs).ok();
        let mut places: Vec<ChangeSet> = rebased.iter().cloned().collect();
        if from > 0 {
            // The units mean the same where every character is a byte.
            let is_ascii = |text: &Rope| text.len_bytes() == text.len_chars();
            let units = if is_ascii(base) && is_ascii(text) { 1 } else { 3 };
            for unit in [Unit::Utf16, Unit::Utf8, Unit::Utf32].into_iter().take(units) {
                places.extend(
                    literal(base, text, self.ours, unit).filter(|place| !places.contains(place)),
                );
            }
        }
        let mut attempts: Vec<Attempt> = Vec::new();
        for ending in [None, Some(LineEnding::CrLf), Some(LineEnding::Lf)] {
            for place in &places {
                let applied = with_ending(place, ending);
                if !attempts.iter().any(|known| known.applied == applied) {
                    let right = rebased.as_ref().map(|rebased| with_ending(rebased, ending));
                    attempts.push(Attempt { applied, right });
                }
            }
        }
        attempts
    }

    /// Our edit made `run`; the entries around it are the person's. `None` where they touch it.
    fn judge_run(&self, run: Range<usize>, attempt: &Attempt) -> Option<Landing> {
        let (text, result) = (&self.texts[run.start], &self.texts[run.end]);
        let (earlier, later) =
            (self.composed(0..run.start), self.composed(run.end..self.history.len()));
        let right = attempt.right.as_ref()?;
        if right.apply(text) == *result {
            let earlier = earlier.rebase_ahead(self.ours).ok()?;
            let merged = earlier.apply(self.expected);
            let theirs = earlier.compose(ChangeSet::between(&merged, result)).compose(later);
            return Some(Landing::With { theirs });
        }
        let undo = attempt.applied.invert(text);
        let later_alone = later.rebase_ahead(&undo).ok()?;
        let undo = undo.rebase(&later).ok()?;
        let again = right.rebase(&later_alone).ok()?;
        Some(Landing::Misplaced { repair: undo.compose(again) })
    }
}

/// `ours` with the line and character positions it has in `base`, read against `text`.
fn literal(base: &Rope, text: &Rope, ours: &ChangeSet, unit: Unit) -> Option<ChangeSet> {
    let place = |offset| {
        let position = position_at(base, offset, unit, LineBreaks::Lf);
        offset_at(text, position, unit, LineBreaks::Lf)
    };
    let edits = ours.edits().iter().map(|edit| {
        let start = place(edit.range.start);
        Edit::new(start..place(edit.range.end).max(start), edit.text.as_str())
    });
    ChangeSet::new(text.len_bytes(), edits.collect()).ok()
}

fn with_ending(changes: &ChangeSet, ending: Option<LineEnding>) -> ChangeSet {
    let Some(ending) = ending else { return changes.clone() };
    let edits = changes
        .edits()
        .iter()
        .map(|edit| Edit::new(edit.range.clone(), to_ending(&edit.text, ending)));
    ChangeSet::new(changes.len_before(), edits.collect()).unwrap_or_else(|_| changes.clone())
}

/// Whether `theirs` brings the text of `edit` to the place where it belongs: our edit in a form
/// that was not recognised, or a coincidence too good to act on.
pub(crate) fn holds_text(theirs: &ChangeSet, edit: &Edit) -> bool {
    let text = edit.text.trim();
    !text.is_empty() && near(theirs, &edit.range).iter().any(|their| their.text.contains(text))
}

/// The edits whose ranges touch `range`.
fn near<'a>(changes: &'a ChangeSet, range: &Range<usize>) -> &'a [Edit] {
    let edits = changes.edits();
    let edits = &edits[edits.partition_point(|it| it.range.end < range.start)..];
    &edits[..edits.partition_point(|it| it.range.start <= range.end)]
}

/// Decides from the texts alone: whichever of base and expected text differs from the present one
/// only outside the regions we change.
fn by_regions(base: &Rope, ours: &ChangeSet, expected: &Rope, now: &Rope) -> Landing {
    if expected == now {
        return Landing::Exact;
    }
    let smallest = ChangeSet::between(base, expected);
    let (from_base, from_expected) =
        (ChangeSet::between(base, now), ChangeSet::between(expected, now));
    let is_in = smallest.placed().all(|(_, region)| !touches(&from_expected, &region));
    let is_out = smallest.edits().iter().all(|edit| !touches(&from_base, &edit.range));
    // Our text elsewhere in the person's changes looks like a misplaced edit.
    let strayed = |theirs: &ChangeSet| {
        ours.edits().iter().any(|edit| {
            let text = edit.text.trim();
            !text.is_empty() && theirs.edits().iter().any(|their| their.text.contains(text))
        })
    };
    let size = |changes: &ChangeSet| -> usize {
        changes.edits().iter().map(|edit| edit.range.len() + edit.text.len()).sum()
    };
    let closer_in = size(&from_expected) < size(&from_base);
    let closer_out = size(&from_base) < size(&from_expected);
    if is_in && (!is_out || closer_in) {
        Landing::With { theirs: from_expected }
    } else if is_out && (!is_in || closer_out) && !strayed(&from_base) {
        Landing::NotYet { theirs: from_base }
    } else {
        Landing::Conflict
    }
}

/// Whether a change reaches into `region`. A region without text is one place, and touching it
/// counts: text put back where we deleted it would otherwise go unseen.
fn touches(changes: &ChangeSet, region: &Range<usize>) -> bool {
    near(changes, region).iter().any(|edit| {
        let Range { start, end } = edit.range;
        if region.is_empty() || start == end {
            let inclusive = region.is_empty();
            let (low, high) = (start.max(region.start), end.min(region.end));
            if inclusive { low <= high } else { region.start < start && start < region.end }
        } else {
            start < region.end && region.start < end
        }
    })
}

#[cfg(test)]
mod tests;

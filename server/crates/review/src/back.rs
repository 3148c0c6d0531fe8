//! Taking one change back out of a text that went on since.
//!
//! Invariant: what somebody else wrote is never touched; where they wrote over the change their text stays.

use std::ops::Range;

use text::{Bias, ChangeSet, Edit, Rope};

use crate::pieces::slice;

/// Bytes within which one copy of a text may be taken for another.
const NEAR: usize = 256;

/// How a change is taken back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Back {
    /// What happens to the text as it is now.
    pub changes: ChangeSet,
    /// Where it was written over since and stays, in bytes of the text as it is now.
    pub disputed: Vec<Range<usize>>,
}

/// What takes a change back out of `now`. `wanted` undoes the change in the text just after it, which
/// was `after`; `now` came out of that. What stands in `others`, bytes of `now`, is of another
/// author's like the change: where it goes on in the line that the change is in, both are one text.
pub fn take_back(wanted: &ChangeSet, after: &Rope, now: &Rope, others: &[Range<usize>]) -> Back {
    let len = now.len_bytes();
    if after.len_bytes() == wanted.len_before() && wanted.apply(after) == *now {
        return Back { changes: ChangeSet::identity(len), disputed: Vec::new() };
    }
    let since = ChangeSet::between(after, now);
    let mut edits: Vec<Edit> = Vec::new();
    let mut disputed = Vec::new();
    for edit in wanted.edits() {
        let goes_on = |other: &Edit, at: &Range<usize>| {
            let is_others = others.iter().any(|it| it.start <= at.end && at.start <= it.end);
            is_others && touches(other, &edit.range, after)
        };
        let near = since
            .placed()
            .find(|(other, at)| meets(&other.range, &edit.range) || goes_on(other, at));
        let Some((other, _)) = near else {
            let own = ChangeSet::new(after.len_bytes(), vec![edit.clone()]);
            match own.ok().and_then(|own| own.rebase(&since).ok()) {
                Some(moved) => edits.extend(moved.edits().iter().cloned()),
                None => disputed.push(place(&since, &edit.range)),
            }
            continue;
        };
        // Somebody has done the same already.
        if other != edit || may_have_slid(&since, edit, after) {
            disputed.push(place(&since, &edit.range));
        }
    }
    match ChangeSet::new(len, edits) {
        Ok(changes) => Back { changes, disputed },
        Err(_) => Back {
            changes: ChangeSet::identity(len),
            disputed: wanted.edits().iter().map(|it| place(&since, &it.range)).collect(),
        },
    }
}

/// Whether what looks like somebody's doing the same may be another copy of that text, which something was
/// written beside: what was done is known by the texts alone.
fn may_have_slid(since: &ChangeSet, edit: &Edit, text: &Rope) -> bool {
    let goes = slice(text, &edit.range);
    since.edits().iter().any(|it| {
        let is_near =
            it.range.start <= edit.range.end + NEAR && edit.range.start <= it.range.end + NEAR;
        it != edit
            && is_near
            && match (edit.range.is_empty(), edit.text.is_empty()) {
                (false, true) => it.text.contains(&goes),
                (true, false) => slice(text, &it.range).contains(&edit.text),
                (true, true) | (false, false) => false,
            }
    })
}

/// Whether two edits of one text are about the same bytes.
fn meets(other: &Range<usize>, own: &Range<usize>) -> bool {
    match (other.is_empty(), own.is_empty()) {
        (true, true) => other.start == own.start,
        (true, false) => own.start < other.start && other.start < own.end,
        (false, true) => other.start < own.start && own.start < other.end,
        (false, false) => other.start < own.end && own.start < other.end,
    }
}

/// Whether an edit of somebody else's begins where one of ours ends, or ends where it begins, within a
/// line.
fn touches(other: &Edit, own: &Range<usize>, text: &Rope) -> bool {
    let is_in_line = |at: usize| {
        at.checked_sub(1).and_then(|it| text.get_byte(it)).is_some_and(|it| it != b'\n')
    };
    let before = other.range.end == own.start
        && match other.text.as_bytes().last() {
            Some(last) => *last != b'\n',
            None => is_in_line(other.range.start),
        };
    before || (other.range.start == own.end && is_in_line(own.end))
}

fn place(since: &ChangeSet, range: &Range<usize>) -> Range<usize> {
    since.map_pos(range.start, Bias::Left)..since.map_pos(range.end, Bias::Right)
}

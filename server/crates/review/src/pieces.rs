//! Pieces: the places where the base and the current text differ.
//!
//! Invariant: pieces are sorted in both texts and do not overlap; between them the texts are equal.

use std::ops::Range;

use text::Rope;

use crate::HunkId;

/// One place where the agent's text stands for the base's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Bytes of the base.
    pub base: Range<usize>,
    /// Bytes of the current text.
    pub now: Range<usize>,
    /// Bytes of the current text, within `now`, that the person wrote.
    pub typed: Vec<Range<usize>>,
    /// The hunk it belongs to.
    pub hunk: HunkId,
}

/// The text in `range`, clamped to the text and to whole characters.
pub(crate) fn slice(rope: &Rope, range: &Range<usize>) -> String {
    let end = range.end.min(rope.len_bytes());
    let start = range.start.min(end);
    rope.slice(rope.byte_to_char(start)..rope.byte_to_char(end)).to_string()
}

/// Replaces `range` by `text`.
pub(crate) fn splice(rope: &mut Rope, range: &Range<usize>, text: &str) {
    let end = range.end.min(rope.len_bytes());
    let start = range.start.min(end);
    let (start, end) = (rope.byte_to_char(start), rope.byte_to_char(end));
    if start < end {
        rope.remove(start..end);
    }
    if !text.is_empty() {
        rope.insert(start, text);
    }
}

/// Moves an offset by the difference of two lengths.
pub(crate) fn shift(offset: usize, removed: usize, added: usize) -> usize {
    (offset + added).saturating_sub(removed)
}

/// Moves a whole range.
pub(crate) fn shift_range(range: &mut Range<usize>, removed: usize, added: usize) {
    *range = shift(range.start, removed, added)..shift(range.end, removed, added);
}

/// What is left of `range` when `gone` is deleted.
pub(crate) fn without(range: &Range<usize>, gone: &Range<usize>) -> Range<usize> {
    let map = |at: usize| {
        if at <= gone.start { at } else { at.max(gone.end) - gone.len() }
    };
    map(range.start)..map(range.end)
}

/// Makes room for `len` bytes at `at`: ranges after it move, ranges around it grow.
pub(crate) fn make_room(ranges: &mut [Range<usize>], at: usize, len: usize) {
    for range in ranges {
        if range.start >= at {
            shift_range(range, 0, len);
        } else if range.end > at {
            range.end += len;
        }
    }
}

/// Adds a range to sorted ranges, joining those that touch.
pub(crate) fn add_range(ranges: &mut Vec<Range<usize>>, new: Range<usize>) {
    ranges.push(new);
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges.drain(..).filter(|range| !range.is_empty()) {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            Some(_) | None => joined.push(range),
        }
    }
    *ranges = joined;
}

//! Clamped, boundary-safe access to pieces of a rope.
//!
//! ropey panics on offsets out of range or inside a character; these round down and clamp instead.

use ropey::{Rope, RopeSlice};
use std::ops::Range;

/// The largest character boundary at or below `offset`, at most the rope's length.
pub(crate) fn floor(rope: &Rope, offset: usize) -> usize {
    let offset = offset.min(rope.len_bytes());
    rope.char_to_byte(rope.byte_to_char(offset))
}

/// The text in `range`, clamped and rounded down to character boundaries.
pub(crate) fn slice(rope: &Rope, range: Range<usize>) -> RopeSlice<'_> {
    let end = range.end.min(rope.len_bytes());
    let start = range.start.min(end);
    rope.slice(rope.byte_to_char(start)..rope.byte_to_char(end))
}

/// The byte at `offset`; `None` past the end.
pub(crate) fn byte(rope: &Rope, offset: usize) -> Option<u8> {
    rope.get_byte(offset)
}

/// Whether `offset` lies between a `\r` and its `\n`.
pub(crate) fn splits_crlf(rope: &Rope, offset: usize) -> bool {
    offset > 0 && byte(rope, offset) == Some(b'\n') && byte(rope, offset - 1) == Some(b'\r')
}

/// The largest character boundary of `text` at or below `offset`.
pub(crate) fn floor_str(text: &str, offset: usize) -> usize {
    let mut offset = offset.min(text.len());
    while !text.is_char_boundary(offset) {
        offset -= 1;
    }
    offset
}

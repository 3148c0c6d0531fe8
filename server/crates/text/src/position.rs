//! Byte offsets to and from line and character positions in the three LSP encodings.
//!
//! With [`LineBreaks::Lf`] both directions cost O(log n). [`LineBreaks::Lsp`] must look for lone
//! `\r` in all the text before the position, because each shifts the line numbers after it; a
//! caller with many conversions keeps [`LineBreaks::settled`] beside its document instead.

use crate::pieces;
use ropey::Rope;

/// What a position's `character` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Bytes.
    Utf8,
    /// UTF-16 code units.
    Utf16,
    /// Unicode scalar values.
    Utf32,
}

/// What ends a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineBreaks {
    /// `\n` and `\r\n`.
    Lf,
    /// `\n`, `\r\n` and `\r`, as the LSP has it.
    Lsp,
}

impl LineBreaks {
    /// `Lf` where `rope` has no lone `\r`, so that both mean the same and `Lf` is faster. Linear.
    pub fn settled(self, rope: &Rope) -> LineBreaks {
        match self {
            LineBreaks::Lf => LineBreaks::Lf,
            LineBreaks::Lsp if has_lone_cr(rope) => LineBreaks::Lsp,
            LineBreaks::Lsp => LineBreaks::Lf,
        }
    }
}

/// Zero-based line and character, as in the LSP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Zero-based line.
    pub line: u32,
    /// Zero-based count of [`Unit`]s from the start of the line.
    pub character: u32,
}

/// Whether some `\r` is not followed by `\n`. Linear.
pub fn has_lone_cr(rope: &Rope) -> bool {
    lone_crs(rope).next().is_some()
}

/// The byte offset of `position`. Past the end of a line: its end, before the line ending; past
/// the last line: the end of the text; inside a character: the character's start.
pub fn offset_at(rope: &Rope, position: Position, unit: Unit, breaks: LineBreaks) -> usize {
    let line = position.line as usize;
    let Some((start, end)) = (match breaks {
        LineBreaks::Lf => lf_line(rope, line),
        LineBreaks::Lsp => lsp_line(rope, line),
    }) else {
        return rope.len_bytes();
    };
    let character = position.character as usize;
    let offset = match unit {
        Unit::Utf8 => pieces::floor(rope, start.saturating_add(character).min(end)),
        Unit::Utf16 => {
            let first = rope.char_to_utf16_cu(rope.byte_to_char(start));
            let wanted = first.saturating_add(character).min(rope.len_utf16_cu());
            rope.char_to_byte(rope.utf16_cu_to_char(wanted))
        }
        Unit::Utf32 => {
            let wanted = rope.byte_to_char(start).saturating_add(character);
            rope.char_to_byte(wanted.min(rope.len_chars()))
        }
    };
    offset.min(end)
}

/// The position of a byte offset. An offset past the end is the end; one inside a character is
/// its start; one between `\r` and `\n` is the end of the line.
pub fn position_at(rope: &Rope, offset: usize, unit: Unit, breaks: LineBreaks) -> Position {
    let offset = pieces::floor(rope, offset);
    let offset = if pieces::splits_crlf(rope, offset) { offset - 1 } else { offset };
    let lf = rope.byte_to_line(offset);
    let (line, start) = match breaks {
        LineBreaks::Lf => (lf, rope.line_to_byte(lf)),
        LineBreaks::Lsp => {
            let start = rope.line_to_byte(lf);
            let before = lone_crs(rope).take_while(|cr| *cr < offset);
            let (count, last) = before.fold((0, None), |(count, _), cr| (count + 1, Some(cr + 1)));
            (lf + count, last.map_or(start, |last| last.max(start)))
        }
    };
    let character = match unit {
        Unit::Utf8 => offset - start,
        Unit::Utf16 => {
            let cu = |byte| rope.char_to_utf16_cu(rope.byte_to_char(byte));
            cu(offset) - cu(start)
        }
        Unit::Utf32 => rope.byte_to_char(offset) - rope.byte_to_char(start),
    };
    let clamp = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    Position { line: clamp(line), character: clamp(character) }
}

/// Start and end (before the line ending) of a line that ends at `\n`; `None` past the last.
fn lf_line(rope: &Rope, line: usize) -> Option<(usize, usize)> {
    let start = rope.try_line_to_byte(line).ok().filter(|_| line < rope.len_lines())?;
    if line + 1 == rope.len_lines() {
        return Some((start, rope.len_bytes()));
    }
    let newline = rope.line_to_byte(line + 1) - 1;
    let crlf = newline > start && pieces::byte(rope, newline - 1) == Some(b'\r');
    Some((start, newline - usize::from(crlf)))
}

/// As [`lf_line`], with lone `\r` as line endings too.
fn lsp_line(rope: &Rope, line: usize) -> Option<(usize, usize)> {
    // The line ended by the k-th lone `\r` has number k + the `\n` before it.
    let mut seen = 0;
    let mut after = 0;
    for cr in lone_crs(rope) {
        let here = rope.byte_to_line(cr) + seen;
        if here >= line {
            return lf_line(rope, line - seen)
                .map(|(start, end)| (start.max(after), if here == line { cr } else { end }));
        }
        seen += 1;
        after = cr + 1;
    }
    lf_line(rope, line - seen.min(line)).map(|(start, end)| (start.max(after), end))
}

/// Byte offsets of every `\r` that no `\n` follows, in order.
fn lone_crs(rope: &Rope) -> impl Iterator<Item = usize> + '_ {
    let mut base = 0;
    rope.chunks()
        .flat_map(move |chunk| {
            let start = base;
            base += chunk.len();
            memchr::memchr_iter(b'\r', chunk.as_bytes()).filter_map(move |at| {
                let next = chunk.as_bytes().get(at + 1);
                (next != Some(&b'\n')).then_some((start + at, next.is_none()))
            })
        })
        .filter(|(at, last)| !last || pieces::byte(rope, at + 1) != Some(b'\n'))
        .map(|(at, _)| at)
}

#[cfg(test)]
mod tests;

//! Edits of decoded text carried out on a file's own bytes.
//!
//! What an edit does not replace keeps its bytes, malformed ones included. In UTF-8 that holds to the byte; in other
//! encodings to the line, and a touched line that cannot be written back fails.

use std::ops::Range;

use text::{ChangeSet, Edit};

use crate::encoding::Encoding;
use crate::format::Format;

/// The file's encoding has no such character, or the line holds bytes that are no character at all (`U+FFFD`).
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line}: {char:?} cannot be written in {encoding}")]
pub struct Unencodable {
    pub char: char,
    /// 1-based, in the new text.
    pub line: usize,
    pub encoding: String,
}

/// A whole text as a new file's bytes.
pub(crate) fn encode(text: &str, format: &Format) -> Result<Vec<u8>, Unencodable> {
    let mut out = Vec::with_capacity(text.len() + 4);
    if format.bom {
        out.extend_from_slice(format.encoding.bom());
    }
    encode_into(&mut out, text, 0, format.encoding)?;
    Ok(out)
}

/// `changes`, made against the decoded text `before` of `raw`, as new bytes.
pub(crate) fn apply(
    raw: &[u8],
    format: &Format,
    before: &str,
    changes: &ChangeSet,
) -> Result<Vec<u8>, Unencodable> {
    let bom = if format.bom { format.encoding.bom().len().min(raw.len()) } else { 0 };
    let (mark, body) = raw.split_at(bom);
    let mut out = Vec::with_capacity(raw.len() + 64);
    out.extend_from_slice(mark);
    match format.encoding {
        Encoding::Utf8 => apply_utf8(&mut out, body, before, changes)?,
        Encoding::Utf16Le
        | Encoding::Utf16Be
        | Encoding::Utf32Le
        | Encoding::Utf32Be
        | Encoding::Legacy(_) => apply_by_line(&mut out, body, format.encoding, before, changes)?,
    }
    Ok(out)
}

fn apply_utf8(
    out: &mut Vec<u8>,
    body: &[u8],
    before: &str,
    changes: &ChangeSet,
) -> Result<(), Unencodable> {
    // Offsets in text without damage are offsets in its bytes.
    let is_plain = std::ptr::eq(body, before.as_bytes()) || body == before.as_bytes();
    let mut map = (!is_plain).then(|| Utf8Map::new(body));
    let mut raw_offset = |at| map.as_mut().map_or(at, |map| map.raw_offset(at));
    let mut copied = 0;
    let mut line = LineCounter::default();
    for edit in changes.edits() {
        let (range, inserted) = trimmed(before, edit);
        let start = raw_offset(range.start);
        let end = raw_offset(range.end);
        out.extend_from_slice(&body[copied..start]);
        copied = end;
        line.skip_to(before, range.start);
        let lost: Vec<&[u8]> = body[start..end]
            .utf8_chunks()
            .map(|chunk| chunk.invalid())
            .filter(|bytes| !bytes.is_empty())
            .collect();
        push_restoring(out, inserted, &lost, &line)?;
        line.replace(range, inserted);
    }
    out.extend_from_slice(&body[copied..]);
    Ok(())
}

/// Writes `text`, whose U+FFFD stand for the malformed bytes `lost` it replaces, in order.
fn push_restoring(
    out: &mut Vec<u8>,
    text: &str,
    lost: &[&[u8]],
    line: &LineCounter,
) -> Result<(), Unencodable> {
    if lost.is_empty() {
        out.extend_from_slice(text.as_bytes());
        return Ok(());
    }
    let pieces: Vec<&str> = text.split(char::REPLACEMENT_CHARACTER).collect();
    let kept = pieces.len() - 1;
    if kept != 0 && kept != lost.len() {
        // Which of the malformed sequences are meant cannot be told.
        return Err(Unencodable {
            char: char::REPLACEMENT_CHARACTER,
            line: line.at() + newlines(pieces[0]),
            encoding: "utf-8".to_owned(),
        });
    }
    for (at, piece) in pieces.iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(lost[at - 1]);
        }
        out.extend_from_slice(piece.as_bytes());
    }
    Ok(())
}

/// The part of an edit that really differs: common beginning and end are taken off, at character boundaries.
fn trimmed<'a>(before: &str, edit: &'a Edit) -> (Range<usize>, &'a str) {
    let (mut range, mut new) = (edit.range.clone(), edit.text.as_str());
    let Some(mut old) = before.get(range.clone()) else {
        return (range, new);
    };
    let head: usize =
        old.chars().zip(new.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    (range.start, old, new) = (range.start + head, &old[head..], &new[head..]);
    let tail: usize = old
        .chars()
        .rev()
        .zip(new.chars().rev())
        .take_while(|(a, b)| a == b)
        .map(|(a, _)| a.len_utf8())
        .sum();
    range.end -= tail;
    (range, &new[..new.len() - tail])
}

/// Offsets in lossily decoded UTF-8 to offsets in the bytes; asked for in rising order.
struct Utf8Map<'a> {
    chunks: std::iter::Peekable<std::str::Utf8Chunks<'a>>,
    text: usize,
    raw: usize,
}

impl<'a> Utf8Map<'a> {
    fn new(body: &'a [u8]) -> Self {
        Utf8Map { chunks: body.utf8_chunks().peekable(), text: 0, raw: 0 }
    }

    fn raw_offset(&mut self, offset: usize) -> usize {
        const REPLACEMENT: usize = char::REPLACEMENT_CHARACTER.len_utf8();
        while let Some(chunk) = self.chunks.peek() {
            let valid = chunk.valid().len();
            if offset <= self.text + valid {
                return self.raw + offset.saturating_sub(self.text);
            }
            let malformed = chunk.invalid().len();
            self.text += valid + if malformed > 0 { REPLACEMENT } else { 0 };
            self.raw += valid + malformed;
            self.chunks.next();
        }
        self.raw
    }
}

fn apply_by_line(
    out: &mut Vec<u8>,
    body: &[u8],
    encoding: Encoding,
    before: &str,
    changes: &ChangeSet,
) -> Result<(), Unencodable> {
    let lines = raw_lines(body, encoding);
    let text_lines: Vec<Range<usize>> = text_lines(before);
    // A file whose bytes and text do not split alike is only edited if it survives the round trip as a whole.
    if !encoding.is_stateless() || lines.len() != text_lines.len() {
        let whole = encoding.encode(before).ok().filter(|bytes| bytes.as_ref() == body);
        let after = applied(before, 0..before.len(), changes.edits());
        return match whole {
            Some(_) => encode_into(out, &after, 0, encoding),
            None => Err(Unencodable {
                char: char::REPLACEMENT_CHARACTER,
                line: 1,
                encoding: encoding.label(),
            }),
        };
    }
    let edits = changes.edits();
    let (mut at, mut next, mut line) = (0, 0, 0);
    while at < text_lines.len() {
        let touched = edits.get(next).is_some_and(|edit| {
            edit.range.start < text_lines[at].end || (at + 1 == text_lines.len())
        });
        if !touched {
            out.extend_from_slice(&body[lines[at].clone()]);
            at += 1;
            line += 1;
            continue;
        }
        // All lines this edit and the edits that reach into them touch are written anew.
        let (first, first_edit) = (at, next);
        let mut last = at;
        while let Some(edit) = edits.get(next) {
            if edit.range.start >= text_lines[last].end && last + 1 < text_lines.len() {
                break;
            }
            while last + 1 < text_lines.len() && edit.range.end >= text_lines[last].end {
                last += 1;
            }
            next += 1;
        }
        let range = text_lines[first].start..text_lines[last].end;
        let group = &edits[first_edit..next];
        if last + 1 == text_lines.len() && is_appended(group, before.len(), body, encoding) {
            // What the last line holds, malformed or not, stays as it is.
            out.extend_from_slice(&body[lines[first].start..]);
            let line = line + newlines(&before[range]);
            let added: String = group.iter().map(|edit| edit.text.as_str()).collect();
            return encode_into(out, &added, line, encoding);
        }
        let after = applied(before, range, &edits[first_edit..next]);
        encode_into(out, &after, line, encoding)?;
        line += newlines(&after);
        at = last + 1;
    }
    Ok(())
}

/// Whether edits only add text after the last character, and that is not joined with the bytes before.
fn is_appended(edits: &[Edit], end: usize, body: &[u8], encoding: Encoding) -> bool {
    let whole_units = match encoding {
        Encoding::Utf16Le | Encoding::Utf16Be | Encoding::Utf32Le | Encoding::Utf32Be => {
            body.len().is_multiple_of(encoding.unit())
        }
        // A lead byte at the end would take the next byte along.
        Encoding::Utf8 | Encoding::Legacy(_) => false,
    };
    whole_units && edits.iter().all(|edit| edit.range == (end..end))
}

/// `range` of `before` with `edits`, all of which lie within it.
fn applied(before: &str, range: Range<usize>, edits: &[Edit]) -> String {
    let mut out = String::with_capacity(range.len());
    let mut copied = range.start;
    for edit in edits {
        out.push_str(before.get(copied..edit.range.start).unwrap_or_default());
        out.push_str(&edit.text);
        copied = edit.range.end;
    }
    out.push_str(before.get(copied..range.end).unwrap_or_default());
    out
}

fn encode_into(
    out: &mut Vec<u8>,
    text: &str,
    lines_before: usize,
    encoding: Encoding,
) -> Result<(), Unencodable> {
    // A U+FFFD that came from decoding would overwrite bytes nobody can see.
    let malformed = match encoding {
        Encoding::Utf8 => None,
        Encoding::Utf16Le
        | Encoding::Utf16Be
        | Encoding::Utf32Le
        | Encoding::Utf32Be
        | Encoding::Legacy(_) => text.find(char::REPLACEMENT_CHARACTER),
    };
    let char = match (malformed, encoding.encode(text)) {
        (None, Ok(bytes)) => {
            out.extend_from_slice(&bytes);
            return Ok(());
        }
        (Some(_), _) => char::REPLACEMENT_CHARACTER,
        (None, Err(char)) => char,
    };
    let at = text.find(char).unwrap_or(0);
    Err(Unencodable {
        char,
        line: lines_before + newlines(&text[..at]) + 1,
        encoding: encoding.label(),
    })
}

fn newlines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

/// Lines with their `\n`; the last one may be empty.
fn text_lines(text: &str) -> Vec<Range<usize>> {
    split(text.len(), memchr::memchr_iter(b'\n', text.as_bytes()).map(|at| at + 1))
}

fn raw_lines(body: &[u8], encoding: Encoding) -> Vec<Range<usize>> {
    let unit = encoding.unit();
    let newline: &[u8] = match encoding {
        Encoding::Utf8 | Encoding::Legacy(_) => b"\n",
        Encoding::Utf16Le => b"\n\0",
        Encoding::Utf16Be => b"\0\n",
        Encoding::Utf32Le => b"\n\0\0\0",
        Encoding::Utf32Be => b"\0\0\0\n",
    };
    let ends = body.chunks_exact(unit).enumerate().filter(|(_, bytes)| *bytes == newline);
    split(body.len(), ends.map(|(at, _)| (at + 1) * unit))
}

fn split(len: usize, ends: impl Iterator<Item = usize>) -> Vec<Range<usize>> {
    let mut lines = Vec::new();
    let mut start = 0;
    for end in ends {
        lines.push(start..end);
        start = end;
    }
    lines.push(start..len);
    lines
}

/// Counts lines of the new text while edits are carried out in order.
#[derive(Default)]
struct LineCounter {
    lines: usize,
    seen: usize,
}

impl LineCounter {
    fn skip_to(&mut self, before: &str, offset: usize) {
        self.lines += before.get(self.seen..offset).map_or(0, newlines);
        self.seen = offset;
    }

    fn replace(&mut self, range: Range<usize>, inserted: &str) {
        self.lines += newlines(inserted);
        self.seen = range.end;
    }

    /// 1-based.
    fn at(&self) -> usize {
        self.lines + 1
    }
}

#[cfg(test)]
mod tests;

//! A range of lines out of a text of any size.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

use text::Rope;

use crate::disk;
use crate::encoding::{Detected, Encoding};
use crate::snapshot::{LineRange, ReadError};
use crate::wide::Narrowed;
use crate::{binary, encoding};

/// Bytes read at a time.
const BUFFER: usize = 256 * 1024;

/// Which lines are asked for.
pub(crate) struct Wanted {
    /// 1-based; negative counts from the end, 0 is the first line.
    pub first: i64,
    pub limit: usize,
    pub max_bytes: usize,
    pub max_line_chars: usize,
}

impl Wanted {
    /// Bytes that as many characters may have, a line ending and one more character.
    fn room(&self) -> usize {
        self.max_line_chars.saturating_mul(4).saturating_add(6)
    }
}

/// Lines of a text in memory.
pub(crate) fn of_rope(rope: &Rope, wanted: &Wanted) -> LineRange {
    let total = rope.len_lines() - usize::from(ends_in_newline(rope) || rope.len_bytes() == 0);
    let start = match wanted.first {
        n if n < 0 => total.saturating_sub(usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX)),
        n => usize::try_from(n).unwrap_or(usize::MAX).saturating_sub(1),
    };
    let mut range = LineRange {
        first: 0,
        lines: Vec::new(),
        cut: Vec::new(),
        total,
        full: false,
        encoding: Encoding::Utf8,
    };
    let mut bytes = 0;
    for number in start..total.min(start.saturating_add(wanted.limit)) {
        let line = rope.line(number);
        let (mut text, mut cut) = (String::new(), false);
        for chunk in line.chunks() {
            text.push_str(chunk);
            if text.len() > wanted.room() {
                cut = true;
                break;
            }
        }
        let text = finish_line(text.trim_end_matches('\n'), wanted.max_line_chars, &mut cut);
        push(&mut range, &mut bytes, Line { number, text, cut }, wanted);
        if range.full {
            break;
        }
    }
    range
}

/// Lines of a file too large to hold.
pub(crate) fn of_file(
    path: &Path,
    len: u64,
    wanted: &Wanted,
    cancelled: &dyn Fn() -> bool,
) -> Result<LineRange, ReadError> {
    scan(path, len, wanted, cancelled).map_err(|error| match error {
        // The reading ended with an error because of it.
        _ if cancelled() => ReadError::Cancelled,
        ScanError::Io(error) => ReadError::Io { path: path.to_owned(), error },
        ScanError::Binary(what) => ReadError::Binary { path: path.to_owned(), what, len },
    })
}

enum ScanError {
    Io(io::Error),
    Binary(&'static str),
}

impl From<io::Error> for ScanError {
    fn from(error: io::Error) -> ScanError {
        ScanError::Io(error)
    }
}

fn scan(
    path: &Path,
    len: u64,
    wanted: &Wanted,
    cancelled: &dyn Fn() -> bool,
) -> Result<LineRange, ScanError> {
    let detected = sniff_head(path, len)?;
    let encoding = detected.encoding;
    let start = match wanted.first {
        n if n < 0 => {
            let total = count_newlines(&mut open(path, detected, cancelled)?)?;
            total.saturating_sub(usize::try_from(n.unsigned_abs()).unwrap_or(usize::MAX))
        }
        n => usize::try_from(n).unwrap_or(usize::MAX).saturating_sub(1),
    };
    let mut reader = BufReader::with_capacity(BUFFER, open(path, detected, cancelled)?);
    let mut range =
        LineRange { first: 0, lines: Vec::new(), cut: Vec::new(), total: 0, full: false, encoding };
    let (mut number, mut bytes, mut line, mut cut, mut open) = (0, 0, Vec::new(), false, false);
    loop {
        // Numbers change at the ends of lines only: what follows is whole lines, which are just counted.
        if range.full || start.saturating_add(wanted.limit) <= number {
            range.total = number + count_newlines(&mut reader)?;
            return Ok(range);
        }
        let buffer = reader.fill_buf()?;
        let at_end = buffer.is_empty();
        let (part, used, ended) = match memchr::memchr(b'\n', buffer) {
            Some(at) => (&buffer[..at], at + 1, true),
            None => (buffer, buffer.len(), at_end && open),
        };
        let wants = !range.full && number >= start && number - start < wanted.limit;
        if wants {
            let room = wanted.room().saturating_sub(line.len());
            cut |= part.len() > room;
            line.extend_from_slice(&part[..part.len().min(room)]);
        }
        reader.consume(used);
        open = !ended && !at_end;
        if ended {
            if wants {
                let text = if encoding.is_wide() { Encoding::Utf8 } else { encoding }.decode(&line);
                let text = finish_line(&text, wanted.max_line_chars, &mut cut);
                push(&mut range, &mut bytes, Line { number, text, cut }, wanted);
                line.clear();
                cut = false;
            }
            number += 1;
        }
        if at_end {
            break;
        }
    }
    range.total = number;
    Ok(range)
}

fn sniff_head(path: &Path, len: u64) -> Result<Detected, ScanError> {
    let (file, _) = disk::open_regular(path)?;
    let mut head = Vec::new();
    file.take(64 * 1024).read_to_end(&mut head)?;
    // A character cut in two at the end of the head is no sign of another encoding; of wide ones as much as is there
    // makes whole characters.
    let is_wide = memchr::memchr(0, &head).is_some();
    let end = match std::str::from_utf8(&head) {
        Err(error) if error.error_len().is_none() && !is_wide && (head.len() as u64) < len => {
            error.valid_up_to()
        }
        Ok(_) | Err(_) => head.len(),
    };
    let head = &head[..end];
    let detected = encoding::detect(head);
    match binary::sniff(head, detected) {
        Some(what) => Err(ScanError::Binary(what)),
        None => Ok(detected),
    }
}

/// The text of a file without its mark, as UTF-8 or in its legacy encoding.
fn open<'a>(
    path: &Path,
    detected: Detected,
    cancelled: &'a dyn Fn() -> bool,
) -> io::Result<Box<dyn Read + 'a>> {
    let mut file = Stoppable::open(path, cancelled)?;
    if detected.encoding.is_wide() {
        return Ok(Box::new(Narrowed::new(file, detected)));
    }
    if detected.bom {
        file.file.seek(SeekFrom::Start(detected.encoding.bom().len() as u64))?;
    }
    Ok(Box::new(file))
}

/// A file whose reading fails when nobody wants it any more.
struct Stoppable<'a> {
    file: File,
    cancelled: &'a dyn Fn() -> bool,
}

impl<'a> Stoppable<'a> {
    fn open(path: &Path, cancelled: &'a dyn Fn() -> bool) -> io::Result<Stoppable<'a>> {
        let (file, _) = disk::open_regular(path)?;
        Ok(Stoppable { file, cancelled })
    }
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if (self.cancelled)() {
            return Err(io::Error::other("nobody wants it any more"));
        }
        self.file.read(buffer)
    }
}

/// Lines from here to the end, one without an ending included.
fn count_newlines(file: &mut impl Read) -> io::Result<usize> {
    let mut buffer = vec![0; BUFFER];
    let (mut newlines, mut last) = (0, b'\n');
    loop {
        let read = file.read(&mut buffer)?;
        let Some(end) = buffer[..read].last() else { break };
        last = *end;
        newlines += memchr::memchr_iter(b'\n', &buffer[..read]).count();
    }
    Ok(newlines + usize::from(last != b'\n'))
}

struct Line {
    number: usize,
    text: String,
    cut: bool,
}

/// Adds a line unless the range is full; a first line is always taken.
fn push(range: &mut LineRange, bytes: &mut usize, line: Line, wanted: &Wanted) {
    if !range.lines.is_empty() && *bytes + line.text.len() + 1 > wanted.max_bytes {
        range.full = true;
        return;
    }
    if range.lines.is_empty() {
        range.first = line.number + 1;
    }
    *bytes += line.text.len() + 1;
    if line.cut {
        range.cut.push(line.number + 1);
    }
    range.lines.push(line.text);
}

/// The line without `\r`, no longer than `max` characters.
fn finish_line(text: &str, max: usize, cut: &mut bool) -> String {
    let text = text.strip_suffix('\r').unwrap_or(text);
    match text.char_indices().nth(max) {
        None => text.to_owned(),
        Some((end, _)) => {
            *cut = true;
            text[..end].to_owned()
        }
    }
}

/// The last character boundary at or before `at`.
pub(crate) fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

fn ends_in_newline(rope: &Rope) -> bool {
    rope.len_bytes() > 0 && rope.byte(rope.len_bytes() - 1) == b'\n'
}

#[cfg(test)]
mod tests;

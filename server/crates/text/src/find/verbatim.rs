//! Byte-for-byte search over the chunks of a rope, and literal replacement.

use crate::changeset::{ChangeSet, Edit};
use crate::find::index::{Index, Wanted, content_len, hash};
use crate::find::splice::{Found, splice};
use crate::find::{FindError, Occurrences, Replacement, Tier};
use crate::lines::LineEnding;
use crate::{linediff, pieces};
use memchr::memmem;
use ropey::Rope;
use std::cell::OnceCell;

/// The least number of bytes searched at a time.
const BLOCK: usize = 64 * 1024;

/// The longest needle that is searched chunk by chunk.
const SHORT: usize = 256;

/// Overlapping occurrences listed for an ambiguous text.
const MOST_LISTED: usize = 100;

/// Average length of lines from which their hashes find a block faster than its bytes do.
const LONG_LINE: usize = 512;

/// How occurrences that overlap count.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Overlaps {
    Count,
    Skip,
}

/// Replaces every occurrence of `old`, or the only one; `None` where there is none.
pub(crate) fn replace(
    text: &Rope,
    index: &OnceCell<Index>,
    old: &str,
    new: &str,
    which: Occurrences,
    tier: Tier,
) -> Option<Result<Replacement, FindError>> {
    let (overlaps, most) = match which {
        Occurrences::One => (Overlaps::Count, MOST_LISTED),
        Occurrences::All => (Overlaps::Skip, usize::MAX),
    };
    let has_long_lines = text.len_bytes() / text.len_lines() > LONG_LINE;
    let hits = if has_long_lines && old.matches('\n').count() >= 2 {
        search_lines(text, index.get_or_init(|| Index::of(text)), old, overlaps, most)
    } else {
        search(text, old, overlaps, most)
    };
    if hits.is_empty() {
        return None;
    }
    let lines: Vec<usize> = hits.iter().map(|at| text.byte_to_line(*at) + 1).collect();
    if which == Occurrences::One && hits.len() > 1 {
        return Some(Err(FindError::Ambiguous { lines, tier }));
    }
    let mut edits = Vec::with_capacity(hits.len());
    let mut known: Option<(LineEnding, Vec<Edit>)> = None;
    for hit in &hits {
        let ending = ending_near(text, *hit);
        let (_, relative) = match known.take() {
            Some(same) if same.0 == ending => known.insert(same),
            Some(_) | None => {
                known.insert((ending, linediff::edits(old, &adapted(new, old, ending), 0)))
            }
        };
        edits.extend(relative.iter().map(|edit| {
            Edit::new(edit.range.start + hit..edit.range.end + hit, edit.text.as_str())
        }));
    }
    let changes = ChangeSet::new(text.len_bytes(), edits).ok()?;
    Some(Ok(Replacement { changes, tier, count: hits.len(), lines }))
}

/// Byte offsets of `needle`, in order, at most `most`.
pub(crate) fn search(text: &Rope, needle: &str, overlaps: Overlaps, most: usize) -> Vec<usize> {
    let size = needle.len();
    let mut hits = Vec::new();
    if size == 0 || size > text.len_bytes() {
        return hits;
    }
    let finder = memmem::Finder::new(needle);
    let step = match overlaps {
        Overlaps::Count => 1,
        Overlaps::Skip => size,
    };
    if size <= SHORT {
        return search_short(text, &finder, step, most);
    }
    let mut buffer: Vec<u8> = Vec::with_capacity(BLOCK + size);
    // Where the buffer starts in the text, and where in the text the next hit may start.
    let (mut base, mut next) = (0, 0);
    let mut chunks = text.chunks().peekable();
    while let Some(chunk) = chunks.next() {
        buffer.extend_from_slice(chunk.as_bytes());
        if buffer.len() < BLOCK.max(2 * size) && chunks.peek().is_some() {
            continue;
        }
        while let Some(found) = buffer.get(next - base..).and_then(|rest| finder.find(rest)) {
            hits.push(next + found);
            next += found + step;
            if hits.len() == most {
                return hits;
            }
        }
        // Only an occurrence that starts in the last `size - 1` bytes can still be to come.
        let keep = buffer.len() - (size - 1).min(buffer.len());
        buffer.drain(..keep);
        base += keep;
        next = next.max(base);
    }
    hits
}

/// As [`search`], for a needle shorter than a chunk: only what crosses from one to the next is copied.
fn search_short(text: &Rope, finder: &memmem::Finder<'_>, step: usize, most: usize) -> Vec<usize> {
    let reach = finder.needle().len() - 1;
    let mut hits = Vec::new();
    // The last bytes before the chunk, fewer than the needle has.
    let mut before: Vec<u8> = Vec::new();
    let (mut base, mut next) = (0, 0);
    let mut seam: Vec<u8> = Vec::new();
    for chunk in text.chunks().map(str::as_bytes) {
        seam.clear();
        seam.extend_from_slice(&before);
        seam.extend_from_slice(&chunk[..reach.min(chunk.len())]);
        for (start, bytes) in [(base - before.len(), &seam[..]), (base, chunk)] {
            next = next.max(start);
            while let Some(found) = bytes.get(next - start..).and_then(|rest| finder.find(rest)) {
                hits.push(next + found);
                next += found + step;
                if hits.len() == most {
                    return hits;
                }
            }
        }
        base += chunk.len();
        let kept = if chunk.len() >= reach { chunk } else { &seam[..] };
        before = kept[kept.len() - reach.min(kept.len())..].to_vec();
    }
    hits
}

/// As [`search`], for a needle of three lines or more: byte search is slow where long lines repeat
/// themselves, so the whole lines inside the needle are found by their hashes first.
fn search_lines(
    text: &Rope,
    index: &Index,
    needle: &str,
    overlaps: Overlaps,
    most: usize,
) -> Vec<usize> {
    let lines = linediff::split(needle);
    let last = if needle.ends_with('\n') { lines.len() } else { lines.len() - 1 };
    let hashes: Vec<u64> =
        lines[1..last].iter().map(|line| hash(&line[..content_len(line)])).collect();
    let mut hits = Vec::new();
    let mut next = 0;
    // The line that was another one the last time: it mostly is again.
    let mut suspect = 0;
    let offsets: Vec<usize> =
        lines.iter().scan(0, |at, line| Some(std::mem::replace(at, *at + line.len()))).collect();
    for line in index.windows(&hashes, 0, usize::MAX) {
        let Some(start) = index.start(line).checked_sub(lines[0].len()) else { continue };
        // The hashes leave out what lies far behind in a line; the lengths rarely agree then.
        let same_length = |(offset, inner): (usize, &&str)| {
            index.start(line + offset + 1) - index.start(line + offset) == inner.len()
        };
        if start < next || start + needle.len() > text.len_bytes() {
            continue;
        }
        if !lines[1..last].iter().enumerate().all(same_length) {
            continue;
        }
        let same = |nth: &usize| {
            let from = start + offsets[*nth];
            let there = text.get_byte_slice(from..from + lines[*nth].len());
            there.is_some_and(|it| it == *lines[*nth])
        };
        let others = (0..lines.len()).filter(|nth| *nth != suspect);
        match std::iter::once(suspect).chain(others).find(|nth| !same(nth)) {
            Some(other) => suspect = other,
            None => {
                hits.push(start);
                next = start + if overlaps == Overlaps::Skip { needle.len() } else { 1 };
                if hits.len() == most {
                    break;
                }
            }
        }
    }
    hits
}

/// The line ending of the line at `offset`, or of the one before where that has none.
pub(crate) fn ending_near(text: &Rope, offset: usize) -> LineEnding {
    let line = text.byte_to_line(offset.min(text.len_bytes()));
    let line = if line + 1 < text.len_lines() { line + 1 } else { line };
    let end = text.line_to_byte(line);
    if pieces::splits_crlf(text, end.saturating_sub(1)) { LineEnding::CrLf } else { LineEnding::Lf }
}

/// `new` with the line ending of its surroundings. Where `old` and `new` both show carriage
/// returns and the endings are mixed, their author sees the raw text, and `new` stays as it is.
fn adapted(new: &str, old: &str, ending: LineEnding) -> String {
    let crlf = old.matches("\r\n").count();
    let mixed = old.matches('\n').count() != crlf && crlf > 0;
    if mixed && !new.contains('\r') {
        let found = Found { lines: linediff::split(old), shift: None, ending };
        return splice(&found, &Wanted::of(old), new);
    }
    match ending {
        LineEnding::CrLf if !mixed => new.replace("\r\n", "\n").replace('\n', "\r\n"),
        LineEnding::Lf if !old.contains('\r') => new.replace("\r\n", "\n"),
        LineEnding::CrLf | LineEnding::Lf | LineEnding::Cr => new.to_owned(),
    }
}

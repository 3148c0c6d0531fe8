//! One hash per line under the coarsest normal form, made in one pass over the chunks of a rope.
//!
//! Lines that any tolerant tier regards as equal have equal hashes; only the first [`HASHED`]
//! visible characters of a line count, so that very long lines cost no more than their newline.

use crate::find::forms::fold_char;
use crate::lines::{LineEnding, to_ending};
use crate::pieces;
use ropey::Rope;
use std::borrow::Cow;
use std::ops::Range;

/// Visible characters of a line that go into its hash.
const HASHED: u32 = 64;

const SEED: u64 = 0xcbf2_9ce4_8422_2325;

/// The lines of a text: where they start and their hashes.
pub(crate) struct Index {
    starts: Vec<usize>,
    pub(crate) hashes: Vec<u64>,
    len: usize,
    crlf: bool,
}

/// The searched text as lines without endings.
pub(crate) struct Wanted {
    pub(crate) lines: Vec<String>,
    pub(crate) hashes: Vec<u64>,
    /// Whether the last line ended with a newline.
    pub(crate) terminated: bool,
}

impl Wanted {
    pub(crate) fn of(old: &str) -> Wanted {
        let old = to_ending(old, LineEnding::Lf);
        let terminated = old.ends_with('\n');
        let body = old.strip_suffix('\n').unwrap_or(&old);
        let lines: Vec<String> = body.split('\n').map(str::to_owned).collect();
        let hashes = lines.iter().map(|line| hash(line)).collect();
        Wanted { lines, hashes, terminated }
    }
}

/// The hash of a blank line.
pub(crate) const BLANK: u64 = SEED;

/// The hash of a line without its ending.
pub(crate) fn hash(line: &str) -> u64 {
    let mut hasher = Hasher::default();
    hasher.feed(line);
    hasher.hash
}

struct Hasher {
    hash: u64,
    left: u32,
}

impl Default for Hasher {
    fn default() -> Hasher {
        Hasher { hash: SEED, left: HASHED }
    }
}

impl Hasher {
    fn feed(&mut self, text: &str) {
        if self.left == 0 {
            return;
        }
        for c in text.chars() {
            let c = fold_char(c);
            if matches!(c, ' ' | '\t' | '\r') {
                continue;
            }
            let mixed = (self.hash ^ u64::from(u32::from(c))).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            self.hash = mixed ^ (mixed >> 29);
            self.left -= 1;
            if self.left == 0 {
                return;
            }
        }
    }
}

impl Index {
    pub(crate) fn of(text: &Rope) -> Index {
        let lines = text.len_lines();
        let mut index = Index {
            starts: Vec::with_capacity(lines),
            hashes: Vec::with_capacity(lines),
            len: text.len_bytes(),
            crlf: false,
        };
        let mut hasher = Hasher::default();
        let (mut base, mut start, mut last) = (0, 0, 0);
        for chunk in text.chunks() {
            let mut done = 0;
            for newline in memchr::memchr_iter(b'\n', chunk.as_bytes()) {
                hasher.feed(&chunk[done..newline]);
                let before = if newline > 0 { chunk.as_bytes()[newline - 1] } else { last };
                index.crlf |= before == b'\r';
                index.starts.push(start);
                index.hashes.push(std::mem::take(&mut hasher).hash);
                done = newline + 1;
                start = base + done;
            }
            hasher.feed(&chunk[done..]);
            base += chunk.len();
            last = chunk.as_bytes().last().copied().unwrap_or(last);
        }
        // A final newline starts no further line.
        if start < base {
            index.starts.push(start);
            index.hashes.push(hasher.hash);
        }
        index
    }

    /// Whether some line ends with `\r\n`.
    pub(crate) fn has_crlf(&self) -> bool {
        self.crlf
    }

    pub(crate) fn len(&self) -> usize {
        self.hashes.len()
    }

    pub(crate) fn start(&self, line: usize) -> usize {
        self.starts.get(line).copied().unwrap_or(self.len)
    }

    /// The line with its ending.
    pub(crate) fn full_line<'a>(&self, text: &'a Rope, line: usize) -> Cow<'a, str> {
        Cow::from(pieces::slice(text, self.start(line)..self.start(line + 1)))
    }

    /// The line without its ending.
    pub(crate) fn line<'a>(&self, text: &'a Rope, line: usize) -> Cow<'a, str> {
        let full = self.full_line(text, line);
        let len = content_len(&full);
        match full {
            Cow::Borrowed(full) => Cow::Borrowed(&full[..len]),
            Cow::Owned(mut full) => {
                full.truncate(len);
                Cow::Owned(full)
            }
        }
    }

    /// First lines, from `from` on, of the windows whose hashes are `wanted`; at most `most`.
    pub(crate) fn windows(&self, wanted: &[u64], from: usize, most: usize) -> Vec<usize> {
        const BASE: u64 = 0x0000_0100_0000_01b3;
        let size = wanted.len();
        if size == 0 || from + size > self.len() {
            return Vec::new();
        }
        let roll = |hashes: &[u64]| {
            hashes.iter().fold(0u64, |sum, h| sum.wrapping_mul(BASE).wrapping_add(*h))
        };
        let target = roll(wanted);
        let top = (1..size).fold(1u64, |power, _| power.wrapping_mul(BASE));
        let mut sum = roll(&self.hashes[from..from + size]);
        let mut found = Vec::new();
        for start in from..=self.len() - size {
            if start > from {
                sum = sum.wrapping_sub(self.hashes[start - 1].wrapping_mul(top));
                sum = sum.wrapping_mul(BASE).wrapping_add(self.hashes[start + size - 1]);
            }
            if sum == target {
                found.push(start);
                if found.len() == most {
                    break;
                }
            }
        }
        found
    }
}

/// Length of a line without its `\n` or `\r\n`.
pub(crate) fn content_len(full: &str) -> usize {
    match full.strip_suffix('\n') {
        Some(line) => line.strip_suffix('\r').unwrap_or(line).len(),
        None => full.len(),
    }
}

/// The words (letters, digits, underscores) of `text` with at least `least` bytes, as ranges.
pub(crate) fn words(text: &str, least: usize) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut start = None;
    for (at, c) in text.char_indices().chain([(text.len(), ' ')]) {
        match (c.is_alphanumeric() || c == '_', start) {
            (true, None) => start = Some(at),
            (false, Some(from)) => {
                if at - from >= least {
                    words.push(from..at);
                }
                start = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }
    words
}

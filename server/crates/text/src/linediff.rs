//! Line and intra-line differences of two short-lived strings, of bounded work: what a hunk is must not
//! depend on how busy the machine is.
//!
//! Cuts never fall inside a character or between `\r` and `\n`: editors cannot address such places.

use crate::changeset::Edit;
use crate::pieces;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ops::Range;

mod script;

/// Windows with more lines than this on both sides together are one block.
const MAX_LINES: usize = 400_000;

/// Two edits are looked at together with as many bytes between them at most.
const MAX_BETWEEN: usize = 256;

/// Lines of one side that replace lines of the other.
pub(crate) struct Block {
    pub(crate) before: Range<usize>,
    pub(crate) after: Range<usize>,
}

/// `text` cut after every `\n`.
pub(crate) fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// The blocks of lines in which two texts differ.
pub(crate) fn blocks_of(before: &str, after: &str) -> Vec<Block> {
    let (old, new) = (count(before), count(after));
    if old + new > MAX_LINES {
        return vec![Block { before: 0..old, after: 0..new }];
    }
    blocks(&split(before), &split(after))
}

/// As many as [`split`] gives.
pub(crate) fn count(text: &str) -> usize {
    let newlines = memchr::memchr_iter(b'\n', text.as_bytes()).count();
    newlines + usize::from(!text.is_empty() && !text.ends_with('\n'))
}

/// The blocks in which two lists of lines differ.
pub(crate) fn blocks<'a>(before: &[&'a str], after: &[&'a str]) -> Vec<Block> {
    if before.is_empty() && after.is_empty() {
        return Vec::new();
    }
    if before.is_empty() || after.is_empty() || before.len() + after.len() > MAX_LINES {
        return vec![Block { before: 0..before.len(), after: 0..after.len() }];
    }
    if let ([old], [new]) = (before, after) {
        let differs = old != new;
        return differs.then_some(Block { before: 0..1, after: 0..1 }).into_iter().collect();
    }
    let mut ids: HashMap<&str, u32, Seeded> = HashMap::with_hasher(Seeded::new());
    ids.reserve(before.len().max(after.len()));
    let mut intern = |line: &&'a str| {
        let next = ids.len() as u32;
        *ids.entry(*line).or_insert(next)
    };
    let old: Vec<u32> = before.iter().map(&mut intern).collect();
    let new: Vec<u32> = after.iter().map(intern).collect();
    script::blocks(&old, &new)
}

/// Minimal edits from `before` to `after`, both made of whole lines; offsets are raised by `base`.
pub(crate) fn edits(before: &str, after: &str, base: usize) -> Vec<Edit> {
    if count(before) + count(after) > MAX_LINES {
        return trimmed(before, after, base).into_iter().collect();
    }
    let (old, new) = (split(before), split(after));
    let (old_starts, new_starts) = (starts(&old), starts(&new));
    let mut out = Vec::new();
    for Block { before: b, after: a } in blocks(&old, &new) {
        let pairs = || old[b.clone()].iter().zip(&new[a.clone()]);
        if b.len() == a.len() && pairs().all(|(old, new)| is_alike(old, new)) {
            for (index, (old, new)) in pairs().enumerate() {
                out.extend(trimmed(old, new, base + old_starts[b.start + index]));
            }
        } else {
            let old = &before[old_starts[b.start]..old_starts[b.end]];
            let new = &after[new_starts[a.start]..new_starts[a.end]];
            out.extend(trimmed(old, new, base + old_starts[b.start]));
        }
    }
    joined(before, base, out)
}

/// Where a line goes and another one comes nearby, the two may be one smaller edit: text that is put
/// before one of several equal lines looks like a line that came and an equal one that went.
fn joined(before: &str, base: usize, edits: Vec<Edit>) -> Vec<Edit> {
    let mut out: Vec<Edit> = Vec::with_capacity(edits.len());
    for mut edit in edits {
        while let Some(smaller) = out.last().and_then(|last| smaller(before, base, last, &edit)) {
            out.pop();
            edit = smaller;
        }
        out.push(edit);
    }
    out
}

/// What two neighbouring edits come to, where that is less than both.
fn smaller(before: &str, base: usize, first: &Edit, second: &Edit) -> Option<Edit> {
    let (comes, goes) = if first.range.is_empty() { (first, second) } else { (second, first) };
    let is_swap = comes.range.is_empty() && goes.text.is_empty();
    if !is_swap || second.range.start - first.range.end > MAX_BETWEEN {
        return None;
    }
    let old = before.get(first.range.start - base..second.range.end - base)?;
    let kept = before.get(first.range.end - base..second.range.start - base)?;
    let new = [&first.text, kept, &second.text].concat();
    let one = trimmed(old, &new, first.range.start);
    one.filter(|it| it.range.len() + it.text.len() < goes.range.len() + comes.text.len())
}

/// The one edit between two texts without their common beginning and end; `None` if equal.
pub(crate) fn trimmed(before: &str, after: &str, base: usize) -> Option<Edit> {
    if before == after {
        return None;
    }
    let (prefix, suffix) = common(before, after);
    let text = &after[prefix..after.len() - suffix];
    Some(Edit::new(base + prefix..base + before.len() - suffix, text))
}

/// Lengths of the common beginning and end, which do not overlap.
pub(crate) fn common(before: &str, after: &str) -> (usize, usize) {
    let (a, b) = (before.as_bytes(), after.as_bytes());
    let shorter = a.len().min(b.len());
    let mut prefix = equal_start(a, b);
    prefix = pieces::floor_str(before, prefix);
    if prefix > 0
        && a[prefix - 1] == b'\r'
        && (a.get(prefix) == Some(&b'\n') || b.get(prefix) == Some(&b'\n'))
    {
        prefix -= 1;
    }
    let mut suffix = equal_end(a, b).min(shorter - prefix);
    while !before.is_char_boundary(a.len() - suffix) {
        suffix -= 1;
    }
    if suffix > 0 && a[a.len() - suffix] == b'\n' && (ends_cr(a, suffix) || ends_cr(b, suffix)) {
        suffix -= 1;
    }
    (prefix, suffix)
}

/// Length of the common beginning in bytes.
pub(crate) fn equal_start(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let mut done = 0;
    while done + 64 <= len && a[done..done + 64] == b[done..done + 64] {
        done += 64;
    }
    done + a[done..len].iter().zip(&b[done..len]).take_while(|(a, b)| a == b).count()
}

/// Length of the common end in bytes.
pub(crate) fn equal_end(a: &[u8], b: &[u8]) -> usize {
    let len = a.len().min(b.len());
    let (a, b) = (&a[a.len() - len..], &b[b.len() - len..]);
    let mut rest = len;
    while rest >= 64 && a[rest - 64..rest] == b[rest - 64..rest] {
        rest -= 64;
    }
    let tail =
        a[..rest].iter().rev().zip(b[..rest].iter().rev()).take_while(|(a, b)| a == b).count();
    len - rest + tail
}

/// Makes hashers with a random start, so that no text can be made to collide.
struct Seeded(u64);

impl Seeded {
    fn new() -> Seeded {
        Seeded(RandomState::new().build_hasher().finish())
    }
}

impl BuildHasher for Seeded {
    type Hasher = LineHasher;

    fn build_hasher(&self) -> LineHasher {
        LineHasher(self.0)
    }
}

/// A hash for lines, several times as fast as the standard one.
struct LineHasher(u64);

impl Hasher for LineHasher {
    fn write(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in words.by_ref() {
            self.write_u64(u64::from_le_bytes(word.try_into().unwrap_or_default()));
        }
        let rest = words
            .remainder()
            .iter()
            .fold(words.remainder().len() as u64, |sum, b| sum << 8 | u64::from(*b));
        self.write_u64(rest);
    }

    fn write_u64(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

fn ends_cr(bytes: &[u8], suffix: usize) -> bool {
    bytes.len() > suffix && bytes[bytes.len() - suffix - 1] == b'\r'
}

/// Whether two lines share enough that changing one inside makes sense to a reader.
fn is_alike(before: &str, after: &str) -> bool {
    let (prefix, suffix) = common(before, after);
    2 * (prefix + suffix) >= before.len().max(after.len())
}

fn starts(lines: &[&str]) -> Vec<usize> {
    let mut starts = Vec::with_capacity(lines.len() + 1);
    let mut at = 0;
    starts.push(0);
    for line in lines {
        at += line.len();
        starts.push(at);
    }
    starts
}

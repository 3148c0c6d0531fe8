//! The tolerant tiers: windows of whole lines, single lines inside longer ones, block anchors.

use crate::changeset::ChangeSet;
use crate::find::distance;
use crate::find::forms::{self, Folded};
use crate::find::indent::Shift;
use crate::find::index::{BLANK, Index, Wanted, content_len, words};
use crate::find::splice::{Found, splice};
use crate::find::verbatim::{self, Overlaps, ending_near};
use crate::find::{FindError, Replacement, Tier};
use crate::lines::{LineEnding, to_ending};
use crate::{linediff, pieces};
use ropey::Rope;
use std::borrow::Cow;

/// Windows looked at closely, and the bytes read for that.
const MOST_WINDOWS: usize = 128;
const MOST_READ: usize = 1 << 20;

/// Occurrences of a word looked at for a line inside a longer one.
const MOST_WORDS: usize = 1000;

/// Line comparisons for block anchors.
const MOST_COMPARED: usize = 4_000_000;

/// Cells of the edit distance table, all lines together.
const MOST_CELLS: usize = 2_000_000;

/// How alike an anchored block must be.
const LEAST_SIMILAR: f64 = 0.9;

/// A place that matches on some tier.
struct Candidate {
    /// First line of the file.
    line: usize,
    /// Bytes of the first line before the match.
    skip: usize,
    /// Bytes of a match inside one line.
    within: Option<usize>,
    tier: Tier,
    shift: Option<Shift>,
}

/// Replaces the one place that matches on the strictest tier with any; `None` without candidates.
pub(crate) fn replace(
    text: &Rope,
    index: &Index,
    wanted: &Wanted,
    new: &str,
) -> Option<Result<Replacement, FindError>> {
    let new = to_ending(new, LineEnding::Lf);
    let mut candidates = whole_lines(text, index, wanted);
    if candidates.is_empty() && wanted.lines.len() == 1 && !wanted.terminated {
        candidates = inside_lines(text, index, &wanted.lines[0]);
    }
    if candidates.is_empty() {
        candidates = anchored(text, index, wanted);
    }
    let tier = candidates.iter().map(|candidate| candidate.tier).min()?;
    candidates.retain(|candidate| candidate.tier == tier);
    let lines = candidates.iter().map(|candidate| candidate.line + 1).collect();
    match <[Candidate; 1]>::try_from(candidates) {
        Ok([candidate]) => {
            let changes = changes(text, index, wanted, &new, candidate)?;
            Some(Ok(Replacement { changes, tier, count: 1, lines }))
        }
        Err(_) => Some(Err(FindError::Ambiguous { lines, tier })),
    }
}

fn changes(
    text: &Rope,
    index: &Index,
    wanted: &Wanted,
    new: &str,
    candidate: Candidate,
) -> Option<ChangeSet> {
    let start = index.start(candidate.line) + candidate.skip;
    let last = candidate.line + wanted.lines.len() - 1;
    let end = match candidate.within {
        Some(len) => start + len,
        None if wanted.terminated => index.start(last + 1),
        None => index.start(last) + content_len(&index.full_line(text, last)),
    };
    let before = Cow::from(pieces::slice(text, start..end));
    let found = Found {
        lines: before.split_inclusive('\n').collect(),
        shift: candidate.shift,
        ending: ending_near(text, start),
    };
    let after = splice(&found, wanted, new);
    ChangeSet::new(text.len_bytes(), linediff::edits(&before, &after, start)).ok()
}

fn whole_lines(text: &Rope, index: &Index, wanted: &Wanted) -> Vec<Candidate> {
    if wanted.hashes.iter().all(|hash| *hash == BLANK) {
        return Vec::new();
    }
    let windows = index.windows(&wanted.hashes, 0, MOST_WINDOWS);
    let mut left = MOST_READ;
    let mut candidates = Vec::new();
    for line in windows {
        candidates.extend(classified(text, index, wanted, line, &mut left));
        if left == 0 {
            break;
        }
    }
    candidates
}

/// The window that starts at `line`, on the strictest tier that holds for all its lines.
fn classified(
    text: &Rope,
    index: &Index,
    wanted: &Wanted,
    line: usize,
    left: &mut usize,
) -> Option<Candidate> {
    let mut tier = Tier::LineEndings;
    let mut leads: Vec<(String, String)> = Vec::new();
    for (offset, old) in wanted.lines.iter().enumerate() {
        let file = index.line(text, line + offset);
        *left = left.saturating_sub(file.len());
        tier = tier.max(forms::relation(&file, old)?);
        if !forms::is_blank(old) {
            leads.push((forms::lead(old).to_owned(), forms::lead(&file).to_owned()));
        }
    }
    if tier < Tier::Indentation {
        return Some(Candidate { line, skip: 0, within: None, tier, shift: None });
    }
    let learn = |leads: &[(String, String)]| {
        Shift::learn(leads.iter().map(|(old, file)| (&**old, &**file)))
    };
    if let Some(shift) = learn(&leads) {
        return Some(Candidate { line, skip: 0, within: None, tier, shift: Some(shift) });
    }
    // The text may have been copied from behind the indentation of its first line.
    let (old, file) = leads.first()?;
    let skip = file.len();
    let shift = (old.is_empty() && !forms::is_blank(wanted.lines.first()?))
        .then(|| learn(&leads[1..]))??;
    let shift = (!shift.is_identity()).then_some(shift);
    Some(Candidate { line, skip, within: None, tier, shift })
}

/// One line without its newline, inside longer lines.
fn inside_lines(text: &Rope, index: &Index, old: &str) -> Vec<Candidate> {
    let Some(word) = words(old, 1).into_iter().max_by_key(|word| word.len()) else {
        return Vec::new();
    };
    let hits = verbatim::search(text, &old[word], Overlaps::Skip, MOST_WORDS);
    if hits.len() == MOST_WORDS {
        return Vec::new();
    }
    let mut lines: Vec<usize> = hits.into_iter().map(|hit| text.byte_to_line(hit)).collect();
    lines.dedup();
    let needle = Folded::of(old).text;
    let mut candidates = Vec::new();
    for line in lines {
        let file = index.line(text, line);
        let folded = Folded::of(&file);
        for (at, _) in folded.text.match_indices(&needle) {
            let (start, end) = (folded.origin(at), folded.origin(at + needle.len()));
            let own = &file[start..end];
            let plain = own.split_ascii_whitespace().eq(old.split_ascii_whitespace());
            let tier = if plain { Tier::Whitespace } else { Tier::Unicode };
            candidates.push(Candidate {
                line,
                skip: start,
                within: Some(end - start),
                tier,
                shift: None,
            });
        }
    }
    candidates
}

/// Blocks of as many lines whose first and last line match and the rest nearly.
fn anchored(text: &Rope, index: &Index, wanted: &Wanted) -> Vec<Candidate> {
    let size = wanted.lines.len();
    let (Some(first), Some(last)) = (wanted.hashes.first(), wanted.hashes.last()) else {
        return Vec::new();
    };
    if size < 3 || size > index.len() || *first == BLANK || *last == BLANK {
        return Vec::new();
    }
    let mut compared = 0;
    let mut near: Vec<(usize, usize)> = Vec::new();
    for line in 0..=index.len() - size {
        if index.hashes[line] != *first || index.hashes[line + size - 1] != *last {
            continue;
        }
        compared += size;
        if compared > MOST_COMPARED {
            return Vec::new();
        }
        let equal = index.hashes[line..line + size]
            .iter()
            .zip(&wanted.hashes)
            .filter(|(a, b)| a == b)
            .count();
        if 2 * equal >= size {
            near.push((equal, line));
        }
    }
    near.sort_by_key(|(equal, line)| (std::cmp::Reverse(*equal), *line));
    near.truncate(8);
    let mut cells = MOST_CELLS;
    near.into_iter()
        .filter(|(_, line)| similarity(text, index, wanted, *line, &mut cells) >= LEAST_SIMILAR)
        .filter_map(|(_, line)| {
            // Lines that match but nest differently are another program.
            let pairs: Vec<(String, String)> = wanted
                .lines
                .iter()
                .enumerate()
                .map(|(offset, old)| (old, index.line(text, line + offset)))
                .filter(|(old, file)| !forms::is_blank(old) && forms::relation(file, old).is_some())
                .map(|(old, file)| (forms::lead(old).to_owned(), forms::lead(&file).to_owned()))
                .collect();
            let shift = Shift::learn(pairs.iter().map(|(old, file)| (&**old, &**file)))?;
            let shift = (!shift.is_identity()).then_some(shift);
            Some(Candidate { line, skip: 0, within: None, tier: Tier::BlockAnchor, shift })
        })
        .collect()
}

/// Equal characters of the lines between the anchors, between 0 and 1.
fn similarity(text: &Rope, index: &Index, wanted: &Wanted, line: usize, cells: &mut usize) -> f64 {
    let (mut total, mut alike) = (0.0, 0.0);
    for (offset, old) in wanted.lines.iter().enumerate().take(wanted.lines.len() - 1).skip(1) {
        let file = index.line(text, line + offset);
        let weight = old.trim().chars().count().max(1) as f64;
        total += weight;
        alike += weight * line_similarity(&file, old, cells);
    }
    alike / total
}

/// How alike two lines are without their indentation, between 0 and 1. Long lines are equal or not.
pub(crate) fn line_similarity(file: &str, old: &str, cells: &mut usize) -> f64 {
    const LONGEST: usize = 512;
    if forms::relation(file, old).is_some() {
        return 1.0;
    }
    if file.len() > LONGEST || old.len() > LONGEST {
        return 0.0;
    }
    let (a, b): (Vec<char>, Vec<char>) =
        (file.trim().chars().collect(), old.trim().chars().collect());
    let Some(left) = cells.checked_sub(a.len() * b.len()) else { return 0.0 };
    *cells = left;
    1.0 - distance::between(&a, &b) as f64 / a.len().max(b.len()).max(1) as f64
}

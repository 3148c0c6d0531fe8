//! The place most like a text that was not found, for the message that says so.

use crate::find::Closest;
use crate::find::forms;
use crate::find::index::{BLANK, Index, Wanted, words};
use crate::find::verbatim::{self, Overlaps};
use crate::find::window::line_similarity;
use ropey::Rope;
use std::collections::HashMap;

/// Lines and words that occur more often say nothing about the place.
const COMMON: usize = 32;

/// Lines missing or too many that move the votes from the place where the text begins.
const BESIDE: usize = 8;

/// Characters shown of a line.
const SHOWN: usize = 200;

/// How alike two lines must be to be named together without other evidence.
const LEAST_SIMILAR: f64 = 0.5;

/// The best voted place, with its first line that differs.
pub(crate) fn find(text: &Rope, index: &Index, wanted: &Wanted) -> Option<Closest> {
    by_lines(text, index, wanted).or_else(|| by_words(text, index, wanted))
}

/// Every distinctive line that file and searched text share votes for a place.
fn by_lines(text: &Rope, index: &Index, wanted: &Wanted) -> Option<Closest> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for hash in wanted.hashes.iter().filter(|hash| **hash != BLANK) {
        places.entry(*hash).or_default();
    }
    for (line, hash) in index.hashes.iter().enumerate() {
        if let Some(lines) = places.get_mut(hash).filter(|lines| lines.len() <= COMMON) {
            lines.push(line);
        }
    }
    let mut votes: HashMap<usize, usize> = HashMap::new();
    for (offset, hash) in wanted.hashes.iter().enumerate() {
        let lines = places.get(hash).filter(|lines| lines.len() <= COMMON);
        for line in lines.into_iter().flatten() {
            if let Some(start) = line.checked_sub(offset) {
                *votes.entry(start).or_default() += 1;
            }
        }
    }
    let mut votes: Vec<(usize, usize)> = votes.into_iter().collect();
    votes.sort_by_key(|(start, votes)| (std::cmp::Reverse(*votes), *start));
    // Where a line is missing or too many the rest votes for a place beside the one where the text begins.
    let begins = |start: usize| {
        let lines = wanted.lines.iter().zip(start..index.len());
        let same = lines.take_while(|(wanted, line)| {
            forms::relation(&index.line(text, *line), wanted).is_some()
        });
        same.count()
    };
    let (most, _) = *votes.first()?;
    let beside = votes.into_iter().filter(|(start, _)| start.abs_diff(most) <= BESIDE);
    let beside = beside.map(|(start, votes)| (begins(start), votes, std::cmp::Reverse(start)));
    let (.., std::cmp::Reverse(start)) = beside.max()?;
    let differing = (0..wanted.lines.len().min(index.len().saturating_sub(start))).find(|offset| {
        forms::relation(&index.line(text, start + offset), &wanted.lines[*offset]).is_none()
    });
    let last = index.len().checked_sub(1)?;
    Some(match differing {
        Some(offset) => {
            shown(start + offset, &index.line(text, start + offset), &wanted.lines[offset])
        }
        None => {
            // The file ends inside the searched text, or only the shape of the lines differs.
            let offset = (0..wanted.lines.len())
                .find(|offset| {
                    start + offset > last
                        || index.line(text, start + offset) != wanted.lines[*offset].as_str()
                })
                .unwrap_or(0);
            let line = start + offset;
            let file = if line > last { String::new() } else { index.line(text, line).to_string() };
            shown(line, &file, &wanted.lines[offset])
        }
    })
}

/// Where no line is shared, the rarest words vote for lines.
fn by_words(text: &Rope, index: &Index, wanted: &Wanted) -> Option<Closest> {
    let mut tokens: Vec<(usize, &str)> = Vec::new();
    for (offset, line) in wanted.lines.iter().enumerate().take(200) {
        tokens.extend(words(line, 3).into_iter().take(20).map(|word| (offset, &line[word])));
    }
    tokens.sort_by_key(|(offset, word)| (std::cmp::Reverse(word.len()), *offset));
    tokens.dedup_by_key(|(_, word)| *word);
    // Each word costs a pass over the text.
    tokens.truncate(if text.len_bytes() > 4 << 20 { 1 } else { 6 });
    let mut votes: HashMap<(usize, usize), usize> = HashMap::new();
    for (offset, word) in tokens {
        let hits = verbatim::search(text, word, Overlaps::Skip, 2 * COMMON + 1);
        if hits.len() <= 2 * COMMON {
            for hit in hits {
                *votes.entry((text.byte_to_line(hit), offset)).or_default() += word.len();
            }
        }
    }
    let mut best: Vec<((usize, usize), usize)> = votes.into_iter().collect();
    best.sort_by_key(|(place, votes)| (std::cmp::Reverse(*votes), *place));
    let mut cells = 500_000;
    let scored = best.into_iter().take(16).map(|((line, offset), _)| {
        let file = index.line(text, line);
        (line_similarity(&file, &wanted.lines[offset], &mut cells), line, offset)
    });
    let (similarity, line, offset) =
        scored.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1)))?;
    (similarity >= LEAST_SIMILAR)
        .then(|| shown(line, &index.line(text, line), &wanted.lines[offset]))
}

fn shown(line: usize, file: &str, old: &str) -> Closest {
    let same = file.chars().zip(old.chars()).take_while(|(a, b)| a == b).count();
    let from = same.saturating_sub(SHOWN / 2);
    let from = if file.chars().count().max(old.chars().count()) <= SHOWN { 0 } else { from };
    let cut = |text: &str| text.chars().skip(from).take(SHOWN).collect();
    Closest { line: line + 1, text: cut(file), old_line: cut(old), column: same + 1 }
}

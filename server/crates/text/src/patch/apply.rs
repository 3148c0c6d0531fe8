//! From chunks to a change set. Lines that stay keep the file's own bytes, new lines get the
//! indentation and the line ending found around them, and a missing final newline stays missing.

use crate::changeset::ChangeSet;
use crate::find::Tier;
use crate::find::forms;
use crate::find::indent::Shift;
use crate::find::index::{Index, content_len, hash};
use crate::find::verbatim::ending_near;
use crate::linediff;
use crate::patch::parse::short;
use crate::patch::{Chunk, ChunkLine, Note, PatchError};
use ropey::Rope;
use std::collections::VecDeque;

/// Places looked at for one chunk.
const MOST_PLACES: usize = 1000;

/// Finds the chunks in order and changes their lines.
///
/// # Errors
/// The first chunk that is not found; nothing is changed then.
pub fn apply_update(text: &Rope, chunks: &[Chunk]) -> Result<(ChangeSet, Vec<Note>), PatchError> {
    let mut update =
        Update { text, index: Index::of(text), cursor: 0, notes: Vec::new(), number: 0 };
    let mut edits = Vec::new();
    for (number, chunk) in chunks.iter().enumerate() {
        update.number = number + 1;
        let place = update.place(chunk)?;
        let start = update.index.start(place.line);
        let end = update.index.start(place.line + place.count);
        let before = crate::pieces::slice(text, start..end).to_string();
        let after = update.changed(chunk, &place);
        // Appending to a last line without a newline starts inside that line.
        let bridge = if place.count == 0 && start > 0 && end == text.len_bytes() {
            update.missing_newline()
        } else {
            ""
        };
        let after = format!("{bridge}{after}");
        edits.extend(linediff::edits(&before, &after, start));
        update.cursor = place.line + place.count;
    }
    let line = chunks.first().map_or(1, |chunk| chunk.line);
    let changes = ChangeSet::new(text.len_bytes(), edits).map_err(|error| PatchError {
        line,
        message: format!("the changes do not fit together: {error}"),
    })?;
    if changes.is_identity() && !chunks.is_empty() {
        update.notes.push(Note {
            chunk: 0,
            message: "the text already is as the patch wants it".to_owned(),
        });
    }
    Ok((changes, update.notes))
}

/// Where a chunk's old lines stand.
struct Place {
    line: usize,
    count: usize,
    tier: Tier,
    shift: Option<Shift>,
}

struct Update<'a> {
    text: &'a Rope,
    index: Index,
    /// The first line that no earlier chunk covers.
    cursor: usize,
    notes: Vec<Note>,
    /// 1-based chunk.
    number: usize,
}

impl Update<'_> {
    fn note(&mut self, message: String) {
        self.notes.push(Note { chunk: self.number, message });
    }

    fn place(&mut self, chunk: &Chunk) -> Result<Place, PatchError> {
        let mut from = self.cursor;
        let mut anchored = false;
        for header in &chunk.headers {
            match self.find_line(header, from) {
                Some(line) => (from, anchored) = (line + 1, true),
                None => self.note(format!("'@@ {}' was not found and was ignored", short(header))),
            }
        }
        let mut old = old_lines(chunk);
        if old.is_empty() {
            let line = if anchored && !chunk.at_end { from } else { self.index.len() };
            return Ok(Place { line, count: 0, tier: Tier::Exact, shift: None });
        }
        // The chunk may repeat its header as the first line.
        let starts = if anchored { vec![from, from - 1] } else { vec![from] };
        for retry in [Retry::Whole, Retry::WithoutLastBlank] {
            match retry {
                Retry::Whole => {}
                Retry::WithoutLastBlank => match old.pop_if(|line| line.is_empty()) {
                    Some(_) if !old.is_empty() => {}
                    Some(_) | None => break,
                },
            }
            for start in &starts {
                if let Some(place) = self.best(chunk, &old, *start)? {
                    return Ok(place);
                }
            }
        }
        Err(self.missing(chunk, &old_lines(chunk)))
    }

    /// The first place from `start` on the strictest tier with any.
    fn best(
        &mut self,
        chunk: &Chunk,
        old: &[&str],
        start: usize,
    ) -> Result<Option<Place>, PatchError> {
        let mut places = self.places(old, start);
        let Some(tier) = places.iter().map(|place| place.tier).min() else { return Ok(None) };
        if chunk.at_end {
            let last = self.index.len();
            if let Some(at_end) = places.iter().position(|place| place.line + place.count == last) {
                return Ok(Some(self.noted(places.swap_remove(at_end))));
            }
        }
        places.retain(|place| place.tier == tier);
        let count = places.len();
        if chunk.at_end {
            if count > 1 {
                let message =
                    "these lines do not end the file, and they occur several times elsewhere"
                        .to_owned();
                return Err(PatchError { line: chunk.line, message });
            }
            self.note("'*** End of File' was ignored: these lines do not end the file".to_owned());
        }
        if count > 1 && chunk.headers.is_empty() {
            let first = places[0].line + 1;
            self.note(format!(
                "{count} candidate positions; the first one, at line {first}, was taken"
            ));
        }
        let first = places.into_iter().next();
        Ok(first.map(|place| self.noted(place)))
    }

    fn noted(&mut self, place: Place) -> Place {
        if place.tier > Tier::LineEndings {
            self.note(format!(
                "matched at line {} apart from {}",
                place.line + 1,
                place.tier.name()
            ));
        }
        place
    }

    fn places(&self, old: &[&str], start: usize) -> Vec<Place> {
        let hashes: Vec<u64> = old.iter().map(|line| hash(line)).collect();
        let windows = self.index.windows(&hashes, start, MOST_PLACES);
        windows.into_iter().filter_map(|line| self.matched(old, line)).collect()
    }

    fn matched(&self, old: &[&str], line: usize) -> Option<Place> {
        let mut tier = Tier::LineEndings;
        let mut leads = Vec::new();
        for (offset, old) in old.iter().enumerate() {
            let file = self.index.line(self.text, line + offset);
            tier = tier.max(forms::relation(&file, old)?);
            if !forms::is_blank(old) {
                leads.push((forms::lead(old), forms::lead(&file).to_owned()));
            }
        }
        let shift = Shift::learn(leads.iter().map(|(old, file)| (*old, file.as_str())))?;
        let shift = (!shift.is_identity()).then_some(shift);
        Some(Place { line, count: old.len(), tier, shift })
    }

    fn find_line(&self, header: &str, from: usize) -> Option<usize> {
        let lines = self.index.windows(&[hash(header)], from, MOST_PLACES);
        let related = lines.into_iter().filter_map(|line| {
            Some((forms::relation(&self.index.line(self.text, line), header)?, line))
        });
        related.min().map(|(_, line)| line)
    }

    fn missing(&self, chunk: &Chunk, old: &[&str]) -> PatchError {
        let shown = old.iter().find(|line| !line.trim().is_empty()).copied().unwrap_or("");
        let earlier = self.cursor > 0 && !self.places(old, 0).is_empty();
        let why = if earlier {
            "occurs only earlier than the previous change; give the changes in the order of the file".to_owned()
        } else {
            let wanted = crate::find::index::Wanted::of(&old.join("\n"));
            match crate::find::closest::find(self.text, &self.index, &wanted) {
                Some(closest) => format!(
                    "was not found; closest is line {}: '{}' where the patch has '{}' (first difference at column {})",
                    closest.line, closest.text, closest.old_line, closest.column
                ),
                None => "was not found".to_owned(),
            }
        };
        let message = format!("change {}, starting with '{}', {why}", self.number, short(shown));
        PatchError { line: chunk.line, message }
    }

    /// The new text of the place.
    fn changed(&self, chunk: &Chunk, place: &Place) -> String {
        let mut out = String::new();
        let mut line = place.line;
        let mut ending = ending_near(
            self.text,
            self.index.start(place.line.min(self.index.len().saturating_sub(1))),
        )
        .as_str();
        // Endings of lines that go, for those that come in their place.
        let mut gone = VecDeque::new();
        for part in &chunk.lines {
            match part {
                ChunkLine::Keep(_) if line < place.line + place.count => {
                    let own = self.index.full_line(self.text, line);
                    let content = content_len(&own);
                    out.push_str(&own[..content]);
                    ending = ending_of(&own).unwrap_or(ending);
                    out.push_str(ending);
                    gone.clear();
                    line += 1;
                }
                // The blank line at the end that the file does not have.
                ChunkLine::Keep(_) => {}
                ChunkLine::Remove(_) => {
                    if line < place.line + place.count {
                        gone.extend(ending_of(&self.index.full_line(self.text, line)));
                    }
                    line += 1;
                }
                ChunkLine::Add(new) => {
                    match &place.shift {
                        Some(shift) => out.push_str(&shift.apply(new)),
                        None => out.push_str(new),
                    }
                    ending = gone.pop_front().unwrap_or(ending);
                    out.push_str(ending);
                }
            }
        }
        let at_end = place.line + place.count == self.index.len();
        if at_end && !self.missing_newline().is_empty() && out.ends_with(ending) {
            out.truncate(out.len() - ending.len());
        }
        out
    }

    /// What the last line lacks; empty where the text ends with a newline or is empty.
    fn missing_newline(&self) -> &'static str {
        let len = self.text.len_bytes();
        if len == 0 || crate::pieces::byte(self.text, len - 1) == Some(b'\n') {
            ""
        } else {
            ending_near(self.text, len).as_str()
        }
    }
}

fn ending_of(line: &str) -> Option<&'static str> {
    match &line[content_len(line)..] {
        "\r\n" => Some("\r\n"),
        "\n" => Some("\n"),
        _ => None,
    }
}

enum Retry {
    Whole,
    WithoutLastBlank,
}

fn old_lines(chunk: &Chunk) -> Vec<&str> {
    let old = |line: &'_ ChunkLine| !matches!(line, ChunkLine::Add(_));
    chunk
        .lines
        .iter()
        .filter(|line| old(line))
        .map(|line| match line {
            ChunkLine::Keep(text) | ChunkLine::Remove(text) | ChunkLine::Add(text) => text.as_str(),
        })
        .collect()
}

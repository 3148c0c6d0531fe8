//! Which lines of which text the model has seen: an edit needs its lines seen, and unchanged since.
//!
//! Invariant: what was seen is a text and byte ranges in it. A file whose modification time changed
//! but whose text did not counts as seen; one that changed elsewhere is compared line by line. A
//! file is one file whatever link it was named by.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use text::{Bias, ChangeSet, Rope};
use vfs::{Location, Vfs};

/// What one session has seen.
#[derive(Default)]
pub struct Seen {
    views: Mutex<HashMap<Location, View>>,
    /// Tells where links lead; without it every name is a file of its own.
    vfs: Option<Vfs>,
}

#[derive(Clone)]
struct View {
    text: Rope,
    /// Sorted, disjoint byte ranges of `text`.
    ranges: Vec<Range<usize>>,
}

/// Whether a place may be edited.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sight {
    /// It was seen and is unchanged.
    Fresh,
    /// The file was never read.
    Never,
    /// The file was read, but not these 1-based lines.
    Unseen { first: usize, last: usize },
    /// These 1-based lines were changed since they were seen.
    Changed { first: usize, last: usize },
}

impl Seen {
    /// Nothing was seen yet.
    pub fn new(vfs: Vfs) -> Seen {
        Seen { views: Mutex::default(), vfs: Some(vfs) }
    }

    /// Forgets everything.
    pub fn clear(&self) {
        self.views.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Records that these bytes of this text were shown.
    pub fn show(&self, location: &Location, text: &Rope, range: Range<usize>) {
        let mut views = self.lock();
        let view = match views.remove(&self.real(location)) {
            Some(view) => carried(view, text),
            None => View { text: text.clone(), ranges: Vec::new() },
        };
        let view = View { ranges: added(view.ranges, range), ..view };
        views.insert(self.real(location), view);
    }

    /// Records that the whole text was shown or written.
    pub fn show_all(&self, location: &Location, text: &Rope) {
        self.show(location, text, 0..text.len_bytes());
    }

    /// Records that a piece of this text was shown, wherever that is; nothing where it is in there no more, or
    /// in several places.
    pub fn show_passage(&self, location: &Location, text: &Rope, passage: &str) {
        let whole = text.to_string();
        let mut found = whole.match_indices(passage);
        let (Some((start, _)), None, false) = (found.next(), found.next(), passage.is_empty())
        else {
            return;
        };
        let end = start + passage.len();
        let rest = whole.get(end..).unwrap_or_default();
        let ending = ["\r\n", "\n"].into_iter().find(|it| rest.starts_with(it));
        self.show(location, text, start..end + ending.map_or(0, str::len));
    }

    /// Records an edit of the session's own: what was seen stays seen, and so is what was written.
    pub fn edited(&self, location: &Location, before: &Rope, after: &Rope, changes: &ChangeSet) {
        let mut views = self.lock();
        let view = match views.remove(&self.real(location)) {
            Some(view) => carried(view, before),
            None => View { text: before.clone(), ranges: Vec::new() },
        };
        let mut ranges = Vec::new();
        for range in &view.ranges {
            let start = changes.map_pos(range.start, Bias::Left);
            let end = changes.map_pos(range.end, Bias::Right);
            ranges = added(ranges, start..end);
        }
        for (_, written) in changes.placed() {
            ranges = added(ranges, written);
        }
        views.insert(self.real(location), View { text: after.clone(), ranges });
    }

    /// What was seen of files is seen of them at their new places, which some of them may have left.
    pub fn moved(&self, moves: &[(&Location, &Location)]) {
        let mut views = self.lock();
        let taken: Vec<Option<View>> =
            moves.iter().map(|(from, _)| views.remove(&self.real(from))).collect();
        for ((_, to), view) in moves.iter().zip(taken) {
            match view {
                Some(view) => drop(views.insert(self.real(to), view)),
                None => drop(views.remove(&self.real(to))),
            }
        }
    }

    /// Forgets a file, e.g. because it was deleted.
    pub fn forget(&self, location: &Location) {
        self.lock().remove(&self.real(location));
    }

    /// The text that was last seen.
    pub fn text(&self, location: &Location) -> Option<Rope> {
        let views = self.lock();
        views.get(&self.real(location)).map(|it| it.text.clone())
    }

    /// Whether the file was read at all.
    pub fn knows(&self, location: &Location) -> bool {
        self.lock().contains_key(&self.real(location))
    }

    /// Whether these bytes of the text as it is now may be edited. Whole lines count.
    pub fn check(&self, location: &Location, now: &Rope, range: Range<usize>) -> Sight {
        let views = self.lock();
        let Some(view) = views.get(&self.real(location)) else { return Sight::Never };
        let lines = whole_lines(now, range);
        let (first, last) = line_numbers(now, &lines);
        if text::is_same(&view.text, now) {
            return if contains(&view.ranges, &lines, now) {
                Sight::Fresh
            } else {
                Sight::Unseen { first, last }
            };
        }
        let back = ChangeSet::between(&view.text, now).invert(&view.text);
        let start = back.map_pos(lines.start, Bias::Right);
        let then = start..back.map_pos(lines.end, Bias::Left).max(start);
        // The lines are the same ones only if they begin, end and read as they did.
        let same = then == shrunk(&view.text, then.clone())
            && then.is_empty() == lines.is_empty()
            && (!lines.is_empty() || (then.start == 0) == (lines.start == 0))
            && view.text.byte_slice(then.clone()) == now.byte_slice(lines);
        if !same {
            Sight::Changed { first, last }
        } else if contains(&view.ranges, &then, &view.text) {
            Sight::Fresh
        } else {
            Sight::Unseen { first, last }
        }
    }

    /// Whether the whole text as it is now was seen.
    pub fn check_all(&self, location: &Location, now: &Rope) -> Sight {
        self.check(location, now, 0..now.len_bytes())
    }

    /// Files of which something was seen.
    pub fn known(&self) -> Vec<Location> {
        self.lock().keys().cloned().collect()
    }
}

impl Seen {
    fn lock(&self) -> MutexGuard<'_, HashMap<Location, View>> {
        self.views.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn real(&self, location: &Location) -> Location {
        match (location, &self.vfs) {
            (Location::Disk(path), Some(vfs)) => Location::disk(vfs.real_path(path)),
            (Location::Disk(_) | Location::Virtual(_), _) => location.clone(),
        }
    }
}

/// A view of an older text, carried over to `text`: only lines that did not change stay seen.
fn carried(view: View, text: &Rope) -> View {
    if text::is_same(&view.text, text) {
        return View { text: text.clone(), ranges: view.ranges };
    }
    let changes = ChangeSet::between(&view.text, text);
    let mut ranges = Vec::new();
    for range in view.ranges {
        let mut start = range.start;
        for edit in changes.edits() {
            if edit.range.end < start || range.end < edit.range.start {
                continue;
            }
            if start < edit.range.start {
                ranges.extend(kept(&view.text, text, &changes, start..edit.range.start));
            }
            start = start.max(edit.range.end);
        }
        if start < range.end {
            ranges.extend(kept(&view.text, text, &changes, start..range.end));
        }
    }
    let ranges = ranges.into_iter().fold(Vec::new(), added);
    View { text: text.clone(), ranges }
}

/// Where the whole lines of an unchanged piece of `before` are in `after`.
fn kept(
    before: &Rope,
    after: &Rope,
    changes: &ChangeSet,
    piece: Range<usize>,
) -> Option<Range<usize>> {
    let lines = shrunk(before, piece);
    let start = changes.map_pos(lines.start, Bias::Right);
    let end = changes.map_pos(lines.end, Bias::Left);
    (start < end).then(|| shrunk(after, start..end)).filter(|it| !it.is_empty())
}

/// The whole lines within these bytes; empty where there is none.
fn shrunk(text: &Rope, range: Range<usize>) -> Range<usize> {
    let line_start = |at: usize| text.line_to_byte(text.byte_to_line(at));
    let start = match line_start(range.start) {
        start if start == range.start => start,
        _ => {
            let next = text.byte_to_line(range.start) + 1;
            if next < text.len_lines() { text.line_to_byte(next) } else { text.len_bytes() }
        }
    };
    let end = if range.end == text.len_bytes() { range.end } else { line_start(range.end) };
    start..end.max(start)
}

fn added(mut ranges: Vec<Range<usize>>, new: Range<usize>) -> Vec<Range<usize>> {
    ranges.push(new);
    ranges.sort_by_key(|it| it.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            Some(_) | None => merged.push(range),
        }
    }
    merged
}

fn contains(ranges: &[Range<usize>], wanted: &Range<usize>, text: &Rope) -> bool {
    if wanted.is_empty() && text.len_bytes() == 0 {
        return true;
    }
    ranges.iter().any(|it| it.start <= wanted.start && wanted.end <= it.end)
}

fn whole_lines(text: &Rope, range: Range<usize>) -> Range<usize> {
    let end = range.end.min(text.len_bytes());
    let start = range.start.min(end);
    let first = text.byte_to_line(start);
    let last_byte = if start < end { end - 1 } else { end };
    let last = text.byte_to_line(last_byte);
    let stop =
        if last + 1 < text.len_lines() { text.line_to_byte(last + 1) } else { text.len_bytes() };
    text.line_to_byte(first)..stop
}

fn line_numbers(text: &Rope, lines: &Range<usize>) -> (usize, usize) {
    let first = text.byte_to_line(lines.start) + 1;
    let last = text.byte_to_line(lines.end.saturating_sub(1).max(lines.start)) + 1;
    (first, last)
}

#[cfg(test)]
mod tests;

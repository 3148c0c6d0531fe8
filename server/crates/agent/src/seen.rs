//! Which lines of which text the model has seen: an edit needs its lines seen, and unchanged since.
//!
//! Invariant: what was seen is a text and byte ranges in it. A file whose modification time changed
//! but whose text did not counts as seen; one that changed elsewhere is compared line by line.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use text::{Bias, ChangeSet, Rope};
use vfs::Location;

/// What one session has seen.
#[derive(Default)]
pub struct Seen(Mutex<HashMap<Location, View>>);

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
    /// Records that these bytes of this text were shown.
    pub fn show(&self, location: &Location, text: &Rope, range: Range<usize>) {
        let mut views = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let view = match views.remove(location) {
            Some(view) => carried(view, text),
            None => View { text: text.clone(), ranges: Vec::new() },
        };
        let view = View { ranges: added(view.ranges, range), ..view };
        views.insert(location.clone(), view);
    }

    /// Records that the whole text was shown or written.
    pub fn show_all(&self, location: &Location, text: &Rope) {
        self.show(location, text, 0..text.len_bytes());
    }

    /// Records an edit of the session's own: what was seen stays seen, and so is what was written.
    pub fn edited(&self, location: &Location, before: &Rope, after: &Rope, changes: &ChangeSet) {
        let mut views = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(view) = views.remove(location) else { return };
        let view = carried(view, before);
        let mut ranges = Vec::new();
        for range in &view.ranges {
            let start = changes.map_pos(range.start, Bias::Left);
            let end = changes.map_pos(range.end, Bias::Right);
            ranges = added(ranges, start..end);
        }
        views.insert(location.clone(), View { text: after.clone(), ranges });
    }

    /// Forgets a file, e.g. because it was deleted.
    pub fn forget(&self, location: &Location) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(location);
    }

    /// Whether the file was read at all.
    pub fn knows(&self, location: &Location) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains_key(location)
    }

    /// Whether these bytes of the text as it is now may be edited. Whole lines count.
    pub fn check(&self, location: &Location, now: &Rope, range: Range<usize>) -> Sight {
        let views = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(view) = views.get(location) else { return Sight::Never };
        let lines = whole_lines(now, range);
        let (first, last) = line_numbers(now, &lines);
        let same = view.text.is_instance(now) || view.text == *now;
        if same {
            return if contains(&view.ranges, &lines, now) {
                Sight::Fresh
            } else {
                Sight::Unseen { first, last }
            };
        }
        let changes = ChangeSet::between(&view.text, now);
        if touched(&changes, &lines) {
            return Sight::Changed { first, last };
        }
        let back = changes.invert(&view.text);
        let then = back.map_pos(lines.start, Bias::Right)..back.map_pos(lines.end, Bias::Left);
        if contains(&view.ranges, &then, &view.text) {
            Sight::Fresh
        } else {
            Sight::Unseen { first, last }
        }
    }

    /// Whether the whole text as it is now was seen.
    pub fn check_all(&self, location: &Location, now: &Rope) -> Sight {
        self.check(location, now, 0..now.len_bytes())
    }

    /// Files that were seen and whose text is not what was seen any more.
    pub fn known(&self) -> Vec<Location> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }
}

/// A view of an older text, carried over to `text`: only what did not change stays seen.
fn carried(view: View, text: &Rope) -> View {
    if view.text == *text {
        return View { text: text.clone(), ranges: view.ranges };
    }
    let changes = ChangeSet::between(&view.text, text);
    let mut ranges = Vec::new();
    for range in view.ranges {
        let mut start = range.start;
        for edit in changes.edits() {
            if edit.range.end <= start || range.end <= edit.range.start {
                continue;
            }
            if start < edit.range.start {
                ranges.push(mapped(&changes, start..edit.range.start));
            }
            start = edit.range.end;
        }
        if start < range.end {
            ranges.push(mapped(&changes, start..range.end));
        }
    }
    View { text: text.clone(), ranges }
}

fn mapped(changes: &ChangeSet, range: Range<usize>) -> Range<usize> {
    let start = changes.map_pos(range.start, Bias::Right);
    start..changes.map_pos(range.end, Bias::Left).max(start)
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

/// Whether a change lies in these bytes of the text after it.
fn touched(changes: &ChangeSet, after: &Range<usize>) -> bool {
    let mut shift = 0isize;
    changes.edits().iter().any(|edit| {
        let start = edit.range.start.saturating_add_signed(shift);
        let end = start + edit.text.len();
        shift += edit.text.len() as isize - edit.range.len() as isize;
        // A deletion right at the border leaves the lines themselves alone.
        let inside = start < after.end && after.start < end;
        let deleted_within = edit.text.is_empty() && after.start < start && start < after.end;
        inside || deleted_within
    })
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

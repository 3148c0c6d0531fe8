//! What the person wrote inside a rejected piece, put beside the text that comes back.
//!
//! Invariant: a stretch they wrote stays whole: it is in the old text already, or put in at a word's
//! edge, and at a line's where it is made of lines. The old text comes back as it was.

use std::ops::Range;

use text::{ChangeSet, Rope};

use crate::pieces::add_range;

/// What is around a piece's old text.
#[derive(Clone, Copy, Default)]
pub(crate) struct Around {
    pub before: Option<char>,
    pub after: Option<char>,
}

/// What rejecting a piece leaves.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Kept {
    /// In its place.
    pub text: String,
    /// Bytes of that which the person wrote.
    pub typed: Vec<Range<usize>>,
    /// Lines of theirs that have no place in it, as ranges of the new text, each with a line ending
    /// before it: they belong to the end of the line that the piece ends in.
    pub lines: Vec<Range<usize>>,
    /// Which bytes of the new text gave way to which of the old, in order: all but what is kept.
    pub gone: Vec<(Range<usize>, Range<usize>)>,
}

/// How a stretch that the person wrote stands to lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// Ends with a line ending: belongs to the start of a line.
    Above,
    /// Begins with one: belongs to the end of a line.
    Below,
    /// Stands within a line.
    Within,
}

/// The old text with what the person wrote inside the new one kept. `typed` are ranges of `new`.
pub(crate) fn kept(old: &str, new: &str, typed: &[Range<usize>], around: Around) -> Kept {
    let written = |range: &Range<usize>| new.get(range.clone()).unwrap_or_default();
    if typed.is_empty() {
        let gone = vec![(0..new.len(), 0..old.len())];
        return Kept { text: old.to_owned(), gone, ..Kept::default() };
    }
    let old_rope = Rope::from_str(old);
    let differs = ChangeSet::whole(&old_rope, new);
    let is_new = |range: &&Range<usize>| {
        differs.placed().any(|(_, it)| it.start < range.end && range.start < it.end)
    };
    // What of it is in the old text came back by the person's hand.
    let mine: Vec<&Range<usize>> = typed.iter().filter(is_new).collect();
    let mut rest = String::with_capacity(new.len());
    let mut copied = 0;
    for range in &mine {
        rest.push_str(new.get(copied..range.start).unwrap_or_default());
        copied = range.end;
    }
    rest.push_str(new.get(copied..).unwrap_or_default());
    let agents = ChangeSet::whole(&old_rope, &rest);

    let mut kept = Kept::default();
    let (mut left_out, mut passed, mut copied) = (0, 0, 0);
    for range in mine {
        let place = place((old, &rest), &agents, range.start - left_out);
        left_out += range.len();
        match edge(old, place, shape(written(range)), around) {
            Some(at) => {
                let at = at.max(copied);
                kept.text.push_str(old.get(copied..at).unwrap_or_default());
                kept.gone.push((passed..range.start, copied..at));
                (passed, copied) = (range.end, at);
                let start = kept.text.len();
                kept.text.push_str(written(range));
                add_range(&mut kept.typed, start..kept.text.len());
            }
            None => kept.lines.push(range.clone()),
        }
    }
    kept.text.push_str(old.get(copied..).unwrap_or_default());
    kept.gone.push((passed..new.len(), copied..old.len()));
    kept
}

/// The part of the old text that stands for a place in the agent's.
fn place((old, new): (&str, &str), agents: &ChangeSet, at: usize) -> Range<usize> {
    let mut moved = (0, 0);
    for (edit, placed) in agents.placed() {
        if at < placed.start {
            break;
        }
        if at <= placed.end {
            let old = old.get(edit.range.clone()).unwrap_or_default();
            let lines = |text: &str| text.matches('\n').count();
            let above = lines(new.get(placed.start..at).unwrap_or_default());
            // Line for line, where they are as many.
            if lines(old) == lines(new.get(placed).unwrap_or_default()) {
                let starts = old.match_indices('\n').map(|(newline, _)| newline + 1);
                let start = std::iter::once(0).chain(starts).nth(above).unwrap_or(0);
                let rest = old.get(start..).unwrap_or_default();
                let end = start + rest.find('\n').unwrap_or(rest.len());
                return edit.range.start + start..edit.range.start + end;
            }
            return edit.range.clone();
        }
        moved = (edit.range.end, placed.end);
    }
    let exact = at - moved.1 + moved.0;
    exact..exact
}

fn shape(written: &str) -> Shape {
    if written.ends_with('\n') {
        Shape::Above
    } else if written.starts_with('\n') || written.starts_with("\r\n") {
        Shape::Below
    } else {
        Shape::Within
    }
}

/// The best place in the old text for a stretch that belongs into `place`; `None` where its lines
/// belong behind the old text's last one.
fn edge(old: &str, place: Range<usize>, shape: Shape, around: Around) -> Option<usize> {
    let before = |at: usize| old.get(..at).and_then(|it| it.chars().next_back()).or(around.before);
    let after = |at: usize| old.get(at..).and_then(|it| it.chars().next()).or(around.after);
    let ends_line = |at: usize| matches!(after(at), None | Some('\n' | '\r'));
    let starts_line = |at: usize| matches!(before(at), None | Some('\n'));
    let is_word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let fits = |at: &usize| {
        old.is_char_boundary(*at)
            && match shape {
                Shape::Above => starts_line(*at),
                Shape::Below => ends_line(*at) && before(*at) != Some('\r'),
                Shape::Within => !(is_word(before(*at)) && is_word(after(*at))),
            }
    };
    let within = (place.start..=place.end).rev().find(fits);
    let near = || (place.end..=old.len()).find(fits);
    let found = within.or_else(near);
    match shape {
        Shape::Within => Some(
            found.or_else(|| (0..place.start).rev().find(fits)).unwrap_or(place.end.min(old.len())),
        ),
        Shape::Above | Shape::Below => found,
    }
}

#[cfg(test)]
mod tests;

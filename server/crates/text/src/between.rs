//! The smallest change set that turns one text into another: the common beginning and end go
//! first, whole chunks at a time; what is left is compared line by line, then within lines.

use crate::changeset::{ChangeError, ChangeSet, Edit};
use crate::{linediff, pieces};
use ropey::Rope;
use std::borrow::Cow;
use std::ops::Range;

/// One edit is narrowed to as many at most; each costs its way through the rope.
const MAX_NARROWED: usize = 20_000;

impl ChangeSet {
    /// The change from `before` to `after`. Of very long texts it is coarser, never wrong.
    pub fn whole(before: &Rope, after: &str) -> ChangeSet {
        diff(before, &After::Text(after))
    }

    /// As [`ChangeSet::whole`]; cheap where the ropes share their storage.
    pub fn between(before: &Rope, after: &Rope) -> ChangeSet {
        if before.is_instance(after) {
            return ChangeSet::identity(before.len_bytes());
        }
        diff(before, &After::Rope(after))
    }

    /// One edit as what it really changes: editors replace a whole text where a program wrote it
    /// anew. One that does not replace lines by lines, nor all there is, stays as it is.
    ///
    /// # Errors
    /// An edit out of range.
    pub fn narrowed(before: &Rope, edit: Edit) -> Result<ChangeSet, ChangeError> {
        let len = before.len_bytes();
        let Edit { range, text } = &edit;
        if range.start > range.end || range.end > len || range.is_empty() || text.is_empty() {
            return ChangeSet::new(len, vec![edit]);
        }
        let is_all = *range == (0..len);
        let has_lines = || {
            text.contains('\n') && before.byte_to_line(range.start) < before.byte_to_line(range.end)
        };
        if !is_all && !has_lines() {
            return ChangeSet::new(len, vec![edit]);
        }
        let old = Rope::from(pieces::slice(before, range.clone()));
        let moved = |it: &Edit| {
            Edit::new(range.start + it.range.start..range.start + it.range.end, it.text.clone())
        };
        let small = ChangeSet::whole(&old, text);
        if small.edits().len() > MAX_NARROWED {
            return ChangeSet::new(len, vec![edit]);
        }
        ChangeSet::new(len, small.edits().iter().map(moved).collect())
    }
}

/// Whether two texts are equal; cheap where the ropes share their storage.
pub fn is_same(a: &Rope, b: &Rope) -> bool {
    let len = a.len_bytes();
    let (old, new) = (a.chunks().map(str::as_bytes), b.chunks().map(str::as_bytes));
    a.is_instance(b) || (len == b.len_bytes() && common_start(old, new) == len)
}

enum After<'a> {
    Text(&'a str),
    Rope(&'a Rope),
}

impl After<'_> {
    fn len(&self) -> usize {
        match self {
            After::Text(text) => text.len(),
            After::Rope(rope) => rope.len_bytes(),
        }
    }

    fn byte(&self, offset: usize) -> Option<u8> {
        match self {
            After::Text(text) => text.as_bytes().get(offset).copied(),
            After::Rope(rope) => pieces::byte(rope, offset),
        }
    }

    fn slice(&self, range: Range<usize>) -> Cow<'_, str> {
        match self {
            After::Text(text) => {
                let end = pieces::floor_str(text, range.end);
                Cow::Borrowed(&text[pieces::floor_str(text, range.start).min(end)..end])
            }
            After::Rope(rope) => Cow::from(pieces::slice(rope, range)),
        }
    }

    /// The common beginning with `before`, as raw bytes.
    fn common_start(&self, before: &Rope) -> usize {
        let old = before.chunks().map(str::as_bytes);
        match self {
            After::Text(text) => common_start(old, std::iter::once(text.as_bytes())),
            After::Rope(rope) => common_start(old, rope.chunks().map(str::as_bytes)),
        }
    }

    /// The common end with `before`, as raw bytes; it may overlap the beginning.
    fn common_end(&self, before: &Rope) -> usize {
        let old = backwards(before);
        match self {
            After::Text(text) => common_end(old, std::iter::once(text.as_bytes())),
            After::Rope(rope) => common_end(old, backwards(rope)),
        }
    }
}

fn backwards(rope: &Rope) -> impl Iterator<Item = &[u8]> {
    rope.chunks_at_byte(rope.len_bytes()).0.reversed().map(str::as_bytes)
}

fn diff(before: &Rope, after: &After<'_>) -> ChangeSet {
    let (old_len, new_len) = (before.len_bytes(), after.len());
    let mut prefix = after.common_start(before);
    if prefix == old_len && prefix == new_len {
        return ChangeSet::identity(old_len);
    }
    let mut suffix = after.common_end(before);
    prefix = pieces::floor(before, prefix);
    let next_is_newline =
        || pieces::byte(before, prefix) == Some(b'\n') || after.byte(prefix) == Some(b'\n');
    if prefix > 0 && pieces::byte(before, prefix - 1) == Some(b'\r') && next_is_newline() {
        prefix -= 1;
    }
    suffix = suffix.min(old_len.min(new_len) - prefix);
    while pieces::floor(before, old_len - suffix) != old_len - suffix {
        suffix -= 1;
    }
    let cr_before = |byte: Option<u8>| byte == Some(b'\r');
    if suffix > 0
        && pieces::byte(before, old_len - suffix) == Some(b'\n')
        && ((old_len > suffix && cr_before(pieces::byte(before, old_len - suffix - 1)))
            || (new_len > suffix && cr_before(after.byte(new_len - suffix - 1))))
    {
        suffix -= 1;
    }
    let (old, new) = (prefix..old_len - suffix, prefix..new_len - suffix);
    let edits = if old.is_empty() || new.is_empty() {
        vec![one_sided(before, after, old, new)]
    } else {
        let start = before.line_to_byte(before.byte_to_line(prefix));
        let rest = rest_of_line(before, after, &old, &new);
        let old_text = Cow::from(pieces::slice(before, start..old.end + rest));
        linediff::edits(&old_text, &after.slice(start..new.end + rest), start)
    };
    ChangeSet::new(old_len, edits).unwrap_or_else(|_| ChangeSet::identity(old_len))
}

/// A pure insertion or deletion, moved to whole lines where the same result can be had so.
fn one_sided(before: &Rope, after: &After<'_>, old: Range<usize>, new: Range<usize>) -> Edit {
    let start = before.line_to_byte(before.byte_to_line(old.start));
    let head = Cow::from(pieces::slice(before, start..old.start));
    let (moved, text) = if old.is_empty() {
        (after.slice(start..new.end - head.len().min(new.end - start)), after.slice(new.clone()))
    } else {
        let end = old.end - head.len().min(old.end - start);
        (
            Cow::from(pieces::slice(before, start..end)),
            Cow::from(pieces::slice(before, old.clone())),
        )
    };
    let movable = !head.is_empty() && text.ends_with(&*head) && moved.ends_with('\n');
    match (old.is_empty(), movable) {
        (true, true) => Edit::new(start..start, moved),
        (true, false) => Edit::new(old, text),
        (false, true) => Edit::new(start..start + moved.len(), ""),
        (false, false) => Edit::new(old, ""),
    }
}

/// Bytes from the end of the window to the end of its last line; 0 where both sides end a line.
fn rest_of_line(before: &Rope, after: &After<'_>, old: &Range<usize>, new: &Range<usize>) -> usize {
    let newline = Some(b'\n');
    if pieces::byte(before, old.end - 1) == newline && after.byte(new.end - 1) == newline {
        return 0;
    }
    let line = before.byte_to_line(old.end);
    let end = if line + 1 < before.len_lines() {
        before.line_to_byte(line + 1)
    } else {
        before.len_bytes()
    };
    end - old.end
}

fn common_start<'a>(
    mut a: impl Iterator<Item = &'a [u8]>,
    mut b: impl Iterator<Item = &'a [u8]>,
) -> usize {
    let (mut x, mut y): (&[u8], &[u8]) = (&[], &[]);
    let mut total = 0;
    loop {
        if x.is_empty() {
            let Some(next) = a.next() else { return total };
            x = next;
        } else if y.is_empty() {
            let Some(next) = b.next() else { return total };
            y = next;
        } else {
            let len = x.len().min(y.len());
            let same =
                if std::ptr::eq(&x[..len], &y[..len]) { len } else { linediff::equal_start(x, y) };
            total += same;
            if same < len {
                return total;
            }
            (x, y) = (&x[len..], &y[len..]);
        }
    }
}

fn common_end<'a>(
    mut a: impl Iterator<Item = &'a [u8]>,
    mut b: impl Iterator<Item = &'a [u8]>,
) -> usize {
    let (mut x, mut y): (&[u8], &[u8]) = (&[], &[]);
    let mut total = 0;
    loop {
        if x.is_empty() {
            let Some(next) = a.next() else { return total };
            x = next;
        } else if y.is_empty() {
            let Some(next) = b.next() else { return total };
            y = next;
        } else {
            let len = x.len().min(y.len());
            let (end, other) = (&x[x.len() - len..], &y[y.len() - len..]);
            let same = if std::ptr::eq(end, other) { len } else { linediff::equal_end(x, y) };
            total += same;
            if same < len {
                return total;
            }
            (x, y) = (&x[..x.len() - len], &y[..y.len() - len]);
        }
    }
}

#[cfg(test)]
mod tests;

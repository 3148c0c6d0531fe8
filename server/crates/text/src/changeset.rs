//! Sorted, non-overlapping edits over a text of known length: apply, invert, compose, rebase.
//!
//! Invariants: edits are sorted by start; ranges never overlap (they may touch); no edit is empty
//! on both sides; every range lies within `len_before`.

use crate::pieces;
use ropey::Rope;
use std::ops::Range;

/// One replacement: `range` (bytes of the text before) becomes `text`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edit {
    /// Bytes of the text before the change.
    pub range: Range<usize>,
    /// What stands there afterwards.
    pub text: String,
}

impl Edit {
    /// Replaces `range` by `text`.
    pub fn new(range: Range<usize>, text: impl Into<String>) -> Edit {
        Edit { range, text: text.into() }
    }
}

/// A set of edits that all refer to the same text.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ChangeSet {
    len: usize,
    edits: Vec<Edit>,
}

/// Why edits do not form a change set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChangeError {
    /// Two edits replace the same bytes, or one inserts inside what the other replaces.
    #[error("edits overlap at bytes {}..{}", range.start, range.end)]
    Overlap {
        /// The range of the later of the two.
        range: Range<usize>,
    },
    /// A range is reversed or reaches past the text.
    #[error("edit {}..{} is outside a text of {len} bytes", range.start, range.end)]
    OutOfRange {
        /// The offending range.
        range: Range<usize>,
        /// The length of the text in bytes.
        len: usize,
    },
}

/// Two change sets touch the same text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the text at bytes {}..{} was changed meanwhile", range.start, range.end)]
pub struct Overlap {
    /// The disputed bytes in the text after the change rebased over.
    pub range: Range<usize>,
}

/// Which side a position keeps to when text is inserted at it or it lies in replaced text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bias {
    /// Stay before the new text.
    Left,
    /// Go after the new text.
    Right,
}

/// Whose insertion comes first when both insert at one place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Over,
    Own,
}

impl ChangeSet {
    /// Sorts `edits` over a text of `len` bytes. Insertions at one place keep their order and come
    /// before a replacement that starts there; edits that change nothing are dropped.
    ///
    /// # Errors
    /// A reversed or out-of-range edit, or two that overlap.
    pub fn new(len: usize, mut edits: Vec<Edit>) -> Result<ChangeSet, ChangeError> {
        edits.retain(|edit| {
            !edit.range.is_empty() || !edit.text.is_empty() || edit.range.start > edit.range.end
        });
        edits.sort_by_key(|edit| (edit.range.start, edit.range.end));
        let mut end = 0;
        for edit in &edits {
            if edit.range.start > edit.range.end || edit.range.end > len {
                return Err(ChangeError::OutOfRange { range: edit.range.clone(), len });
            }
            if edit.range.start < end {
                return Err(ChangeError::Overlap { range: edit.range.clone() });
            }
            end = edit.range.end;
        }
        Ok(ChangeSet { len, edits })
    }

    /// No change to a text of `len` bytes.
    pub fn identity(len: usize) -> ChangeSet {
        ChangeSet { len, edits: Vec::new() }
    }

    /// The edits, sorted by start.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// Whether nothing changes.
    pub fn is_identity(&self) -> bool {
        self.edits.is_empty()
    }

    /// The length in bytes of the text the edits refer to.
    pub fn len_before(&self) -> usize {
        self.len
    }

    /// The length in bytes of the text after the edits.
    pub fn len_after(&self) -> usize {
        self.edits.iter().fold(self.len, |len, edit| len - edit.range.len() + edit.text.len())
    }

    /// The edits together with the range each one's text occupies afterwards.
    pub fn placed(&self) -> impl Iterator<Item = (&Edit, Range<usize>)> {
        let (mut gained, mut lost) = (0, 0);
        self.edits.iter().map(move |edit| {
            let start = edit.range.start + gained - lost;
            gained += edit.text.len();
            lost += edit.range.len();
            (edit, start..start + edit.text.len())
        })
    }

    /// The changed text. The given rope is shared, not copied.
    pub fn apply(&self, rope: &Rope) -> Rope {
        debug_assert_eq!(self.len, rope.len_bytes(), "change set of another text");
        let mut rope = rope.clone();
        for edit in self.edits.iter().rev() {
            let end = edit.range.end.min(rope.len_bytes());
            let start = edit.range.start.min(end);
            let (start, end) = (rope.byte_to_char(start), rope.byte_to_char(end));
            if start < end {
                rope.remove(start..end);
            }
            if !edit.text.is_empty() {
                rope.insert(start, &edit.text);
            }
        }
        rope
    }

    /// The change that takes the result back to `before`.
    pub fn invert(&self, before: &Rope) -> ChangeSet {
        let edits = self
            .placed()
            .map(|(edit, range)| Edit {
                range,
                text: pieces::slice(before, edit.range.clone()).to_string(),
            })
            .collect();
        ChangeSet { len: self.len_after(), edits }
    }

    /// This change followed by `next`, as one. Edits that touch become one edit.
    pub fn compose(self, next: ChangeSet) -> ChangeSet {
        debug_assert_eq!(self.len_after(), next.len, "change sets do not follow each other");
        let mut out = Builder::new(self.len);
        let (mut first, mut second) = (Ops::of(&self), Ops::of(&next));
        let (mut a, mut b) = (first.next(), second.next());
        loop {
            match (a, b) {
                (Some(Op::Delete(n)), _) => {
                    out.delete(n);
                    a = first.next();
                }
                (_, Some(Op::Insert(bytes))) => {
                    out.insert(bytes);
                    b = second.next();
                }
                (Some(Op::Retain(n)), Some(Op::Retain(m))) => {
                    let k = n.min(m);
                    out.retain(k);
                    (a, b) = (first.after(Op::Retain(n), k), second.after(Op::Retain(m), k));
                }
                (Some(Op::Retain(n)), Some(Op::Delete(m))) => {
                    let k = n.min(m);
                    out.delete(k);
                    (a, b) = (first.after(Op::Retain(n), k), second.after(Op::Delete(m), k));
                }
                (Some(Op::Insert(bytes)), Some(Op::Retain(m))) => {
                    let k = bytes.len().min(m);
                    out.insert(&bytes[..k]);
                    (a, b) = (first.after(Op::Insert(bytes), k), second.after(Op::Retain(m), k));
                }
                (Some(Op::Insert(bytes)), Some(Op::Delete(m))) => {
                    let k = bytes.len().min(m);
                    (a, b) = (first.after(Op::Insert(bytes), k), second.after(Op::Delete(m), k));
                }
                (Some(Op::Insert(bytes)), None) => {
                    out.insert(bytes);
                    a = first.next();
                }
                (Some(Op::Retain(_)), None)
                | (None, Some(Op::Retain(_) | Op::Delete(_)))
                | (None, None) => break,
            }
        }
        out.finish()
    }

    /// Changes that follow each other, as one; `None` where there are none. The cost grows with the
    /// sum of their sizes times the logarithm of their number.
    pub fn compose_all(mut changes: Vec<ChangeSet>) -> Option<ChangeSet> {
        while changes.len() > 1 {
            let mut halved = Vec::with_capacity(changes.len().div_ceil(2));
            let mut each = changes.into_iter();
            while let Some(first) = each.next() {
                halved.push(match each.next() {
                    Some(next) => first.compose(next),
                    None => first,
                });
            }
            changes = halved;
        }
        changes.pop()
    }

    /// This change made to apply after `over`; both start from the same text. Where both insert at
    /// one place, `over`'s text comes first.
    ///
    /// # Errors
    /// Both touch the same bytes, or one inserts strictly inside what the other replaces. Equal
    /// deletions count as touching the same bytes.
    pub fn rebase(&self, over: &ChangeSet) -> Result<ChangeSet, Overlap> {
        self.rebase_with(over, First::Over)
    }

    /// As [`ChangeSet::rebase`], but this change's insertions come before `over`'s at one place:
    /// the other half of `rebase`, so that both orders give the same text.
    ///
    /// # Errors
    /// As [`ChangeSet::rebase`].
    pub fn rebase_ahead(&self, over: &ChangeSet) -> Result<ChangeSet, Overlap> {
        self.rebase_with(over, First::Own)
    }

    /// Where `pos` of the text before lies afterwards. Never decreases as `pos` grows.
    pub fn map_pos(&self, pos: usize, bias: Bias) -> usize {
        let mut mapped = pos;
        for (edit, after) in self.placed() {
            let Range { start, end } = edit.range;
            if start > pos || (start == pos && (end > start || bias == Bias::Left)) {
                break;
            }
            mapped = if pos >= end {
                after.end + (pos - end)
            } else {
                match bias {
                    Bias::Left => after.start,
                    Bias::Right => after.end,
                }
            };
        }
        // An edit that starts at `pos` leaves it where the ones before put it.
        mapped
    }

    fn rebase_with(&self, over: &ChangeSet, first: First) -> Result<ChangeSet, Overlap> {
        debug_assert_eq!(self.len, over.len, "change sets of different texts");
        let mut others = over.edits.iter().peekable();
        let (mut gained, mut lost) = (0, 0);
        let mut edits = Vec::with_capacity(self.edits.len());
        for edit in &self.edits {
            while let Some(other) =
                others.next_if(|other| lies_before(&other.range, &edit.range, first))
            {
                gained += other.text.len();
                lost += other.range.len();
            }
            if others.peek().is_some_and(|other| clashes(&other.range, &edit.range)) {
                let start = over.map_pos(edit.range.start, Bias::Left);
                return Err(Overlap { range: start..over.map_pos(edit.range.end, Bias::Right) });
            }
            let shift = |pos: usize| pos + gained - lost;
            let range = shift(edit.range.start)..shift(edit.range.end);
            edits.push(Edit { range, text: edit.text.clone() });
        }
        Ok(ChangeSet { len: over.len_after(), edits })
    }
}

fn lies_before(other: &Range<usize>, own: &Range<usize>, first: First) -> bool {
    match (other.is_empty(), own.is_empty()) {
        (true, true) => {
            other.start < own.start || (other.start == own.start && first == First::Over)
        }
        (true, false) => other.start <= own.start,
        (false, _) => other.end <= own.start,
    }
}

/// Whether the two touch the same bytes; `other` does not lie before `own`.
fn clashes(other: &Range<usize>, own: &Range<usize>) -> bool {
    if own.is_empty() {
        // Two insertions at one place never clash.
        !other.is_empty() && other.start < own.start && own.start < other.end
    } else {
        other.start < own.end && (other.is_empty() || own.start < other.end)
    }
}

#[derive(Clone, Copy)]
enum Op<'a> {
    Retain(usize),
    Delete(usize),
    Insert(&'a [u8]),
}

/// A change set as a run of operations that covers the whole text before.
struct Ops<'a> {
    set: &'a ChangeSet,
    index: usize,
    /// Bytes of the text before already covered.
    covered: usize,
    inserting: bool,
}

impl<'a> Ops<'a> {
    fn of(set: &'a ChangeSet) -> Ops<'a> {
        Ops { set, index: 0, covered: 0, inserting: false }
    }

    fn next(&mut self) -> Option<Op<'a>> {
        loop {
            let Some(edit) = self.set.edits.get(self.index) else {
                let rest = self.set.len.saturating_sub(self.covered);
                self.covered = self.set.len;
                return (rest > 0).then_some(Op::Retain(rest));
            };
            if self.inserting {
                self.inserting = false;
                self.index += 1;
                if !edit.text.is_empty() {
                    return Some(Op::Insert(edit.text.as_bytes()));
                }
            } else if self.covered < edit.range.start {
                let gap = edit.range.start - self.covered;
                self.covered = edit.range.start;
                return Some(Op::Retain(gap));
            } else {
                self.inserting = true;
                self.covered = edit.range.end;
                if !edit.range.is_empty() {
                    return Some(Op::Delete(edit.range.len()));
                }
            }
        }
    }

    /// What is left of `op` after its first `used` bytes, or the next one.
    fn after(&mut self, op: Op<'a>, used: usize) -> Option<Op<'a>> {
        match op {
            Op::Retain(n) if n > used => Some(Op::Retain(n - used)),
            Op::Delete(n) if n > used => Some(Op::Delete(n - used)),
            Op::Insert(bytes) if bytes.len() > used => Some(Op::Insert(&bytes[used..])),
            Op::Retain(_) | Op::Delete(_) | Op::Insert(_) => self.next(),
        }
    }
}

/// Gathers operations back into edits. Works on bytes so that offsets inside a character, which
/// only a caller's mistake can bring, end as replacement characters rather than a panic.
struct Builder {
    len: usize,
    position: usize,
    edits: Vec<Edit>,
    pending: Option<(Range<usize>, Vec<u8>)>,
}

impl Builder {
    fn new(len: usize) -> Builder {
        Builder { len, position: 0, edits: Vec::new(), pending: None }
    }

    fn pending(&mut self) -> &mut (Range<usize>, Vec<u8>) {
        let position = self.position;
        self.pending.get_or_insert_with(|| (position..position, Vec::new()))
    }

    fn retain(&mut self, n: usize) {
        self.flush();
        self.position += n;
    }

    fn delete(&mut self, n: usize) {
        self.pending().0.end += n;
        self.position += n;
    }

    fn insert(&mut self, bytes: &[u8]) {
        self.pending().1.extend_from_slice(bytes);
    }

    fn flush(&mut self) {
        if let Some((range, bytes)) = self.pending.take() {
            let text = match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
            };
            if !range.is_empty() || !text.is_empty() {
                self.edits.push(Edit { range, text });
            }
        }
    }

    fn finish(mut self) -> ChangeSet {
        self.flush();
        ChangeSet { len: self.len, edits: self.edits }
    }
}

#[cfg(test)]
mod tests;

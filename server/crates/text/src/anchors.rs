//! Line anchors (`12#KF`): a line number with a short hash of the line, and edits addressed by
//! them. Every anchor is checked before anything changes.

use crate::changeset::{ChangeError, ChangeSet, Edit};
use crate::find::index::content_len;
use crate::find::verbatim::ending_near;
use crate::lines::LineEnding;
use crate::{linediff, pieces};
use ropey::Rope;
use std::borrow::Cow;
use std::fmt;

/// Letters of a tag: no vowels, so that no words arise, and none that looks like a digit.
const LETTERS: &[u8; 16] = b"BCDFGHJKMNPQRTVX";

/// Anchors named in one error.
const MOST_NAMED: usize = 20;

/// Characters of a line shown in an error.
const SHOWN: usize = 200;

/// A line number with the hash of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Anchor {
    /// 1-based.
    pub line: usize,
    tag: u8,
}

impl Anchor {
    /// The anchor of a line. Spaces, tabs and the line ending do not count.
    pub fn of(line: usize, content: &str) -> Anchor {
        let hash = content
            .bytes()
            .filter(|byte| !byte.is_ascii_whitespace())
            .fold(0x811c_9dc5_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193));
        let folded = hash ^ (hash >> 16);
        Anchor { line, tag: (folded ^ (folded >> 8)) as u8 }
    }

    /// Reads `12#KF`, also with a diff sign or `>` before it, spaces around `#`, lower case, or
    /// the line's text after a colon.
    ///
    /// # Errors
    /// What an anchor looks like.
    pub fn parse(text: &str) -> Result<Anchor, AnchorError> {
        let malformed = || AnchorError::Malformed { text: text.chars().take(40).collect() };
        let bare = text.trim_start_matches(['>', '+', '-', ' ', '\t']);
        let (line, rest) = bare.split_once('#').ok_or_else(malformed)?;
        let line = line.trim().parse().ok().filter(|line| *line > 0).ok_or_else(malformed)?;
        let tag = rest.split(':').next().unwrap_or("").trim().to_ascii_uppercase();
        let digit = |byte: u8| LETTERS.iter().position(|letter| *letter == byte);
        match tag.as_bytes() {
            [high, low] => {
                let (high, low) =
                    (digit(*high).ok_or_else(malformed)?, digit(*low).ok_or_else(malformed)?);
                Ok(Anchor { line, tag: (high << 4 | low) as u8 })
            }
            _ => Err(malformed()),
        }
    }
}

impl fmt::Display for Anchor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letter = |index: u8| char::from(LETTERS[usize::from(index & 15)]);
        write!(f, "{}#{}{}", self.line, letter(self.tag >> 4), letter(self.tag))
    }
}

/// What follows an anchor that was pasted in front of a line, as in `12#KF:let x = 1;`, also after
/// spaces, `>`, `+` or `-`; absent where the line begins with none.
pub fn pasted(line: &str) -> Option<&str> {
    let bare = line.trim_start_matches([' ', '\t']);
    let bare = bare.strip_prefix(['>', '+', '-']).unwrap_or(bare).trim_start_matches(' ');
    let digits = bare.bytes().take_while(u8::is_ascii_digit).count();
    let rest = bare[digits..].strip_prefix('#').filter(|_| 0 < digits)?;
    let tag = rest.as_bytes().get(..2)?;
    let is_tag = tag.iter().all(|byte| LETTERS.contains(byte));
    if is_tag { rest[2..].strip_prefix(':') } else { None }
}

/// A change of whole lines. Text is given without or with a final newline; both mean whole lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineEdit {
    /// Replaces the lines from `first` to `last`.
    Replace {
        /// The first line.
        first: Anchor,
        /// The last line.
        last: Anchor,
        /// The new lines; empty deletes.
        text: String,
    },
    /// Inserts lines after a line.
    InsertAfter {
        /// The line.
        anchor: Anchor,
        /// The new lines.
        text: String,
    },
    /// Inserts lines before a line.
    InsertBefore {
        /// The line.
        anchor: Anchor,
        /// The new lines.
        text: String,
    },
    /// Adds lines at the end.
    Append {
        /// The new lines.
        text: String,
    },
    /// Adds lines at the beginning.
    Prepend {
        /// The new lines.
        text: String,
    },
    /// Deletes the lines from `first` to `last`.
    Delete {
        /// The first line.
        first: Anchor,
        /// The last line.
        last: Anchor,
    },
}

/// An anchor whose line is another one now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The anchor given.
    pub given: Anchor,
    /// What stands there now, cut to 200 characters; `None` past the end.
    pub now: Option<(Anchor, String)>,
    /// The only other line with this tag within 100 lines, perhaps the one meant.
    pub perhaps: Option<Anchor>,
}

/// Why line edits cannot be applied, for their author.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnchorError {
    /// Not an anchor.
    #[error("'{text}' is no anchor; anchors look like {}", Anchor::of(12, "x"))]
    Malformed {
        /// What was given, cut to 40 characters.
        text: String,
    },
    /// Lines have changed since they were read.
    #[error("{}", listing(moved))]
    Changed {
        /// The anchors concerned (at most 20).
        moved: Vec<Moved>,
    },
    /// `last` comes before `first`.
    #[error("the range {first} to {last} is reversed")]
    Reversed {
        /// The first line given.
        first: Anchor,
        /// The last line given.
        last: Anchor,
    },
    /// Two edits touch the same lines.
    #[error("two edits change line {line}; make them one")]
    Overlap {
        /// 1-based line.
        line: usize,
    },
}

fn listing(moved: &[Moved]) -> String {
    let mut out = format!("{} anchored line(s) have changed; nothing was edited:", moved.len());
    for Moved { given, now, perhaps } in moved {
        match now {
            Some((anchor, line)) => out.push_str(&format!("\n> {given} is now {anchor}:{line}")),
            None => out.push_str(&format!("\n> {given} is past the end")),
        }
        if let Some(perhaps) = perhaps {
            out.push_str(&format!(" (perhaps {perhaps} is meant)"));
        }
    }
    out
}

/// Applies edits that all refer to the same text. Equal edits count once. Between two lines stands
/// first what was inserted after the one, then what was inserted before the other; what is prepended
/// or appended stands outermost, and several of one kind keep their order.
///
/// # Errors
/// See [`AnchorError`].
pub fn apply_line_edits(text: &Rope, edits: &[LineEdit]) -> Result<ChangeSet, AnchorError> {
    let mut lines = Lines { text, count: line_count(text), last: Last::Stays };
    lines.check(edits)?;
    let mut ordered: Vec<&LineEdit> = Vec::new();
    for edit in edits {
        if !ordered.contains(&edit) {
            ordered.push(edit);
        }
    }
    ordered.sort_by_key(|edit| rank(edit));
    if ordered.iter().any(|edit| removes(edit, lines.count)) {
        lines.last = Last::Goes;
    }
    let mut out = Vec::new();
    for edit in ordered {
        out.extend(match edit {
            LineEdit::Replace { first, last, text } => lines.replaced(*first, *last, text)?,
            LineEdit::Delete { first, last } => lines.replaced(*first, *last, "")?,
            LineEdit::InsertAfter { anchor, text } => lines.inserted(anchor.line, text),
            LineEdit::InsertBefore { anchor, text } => lines.inserted(anchor.line - 1, text),
            LineEdit::Append { text } => lines.inserted(lines.count, text),
            LineEdit::Prepend { text } => lines.inserted(0, text),
        });
    }
    let changes = ChangeSet::new(text.len_bytes(), out).map_err(|error| match error {
        ChangeError::Overlap { range } | ChangeError::OutOfRange { range, .. } => {
            AnchorError::Overlap { line: text.byte_to_line(range.start.min(text.len_bytes())) + 1 }
        }
    })?;
    Ok(smallest(text, &changes))
}

/// Where an insertion stands among others at the same place.
fn rank(edit: &LineEdit) -> usize {
    match edit {
        LineEdit::Prepend { .. } => 0,
        LineEdit::InsertAfter { .. } => 1,
        LineEdit::InsertBefore { .. } => 2,
        LineEdit::Replace { .. } | LineEdit::Delete { .. } => 3,
        LineEdit::Append { .. } => 4,
    }
}

/// Whether an edit leaves nothing of this 1-based line, which is the last.
fn removes(edit: &LineEdit, line: usize) -> bool {
    match edit {
        LineEdit::Delete { last, .. } => last.line == line,
        LineEdit::Replace { last, text, .. } => last.line == line && text.is_empty(),
        LineEdit::InsertAfter { .. }
        | LineEdit::InsertBefore { .. }
        | LineEdit::Append { .. }
        | LineEdit::Prepend { .. } => false,
    }
}

struct Lines<'a> {
    text: &'a Rope,
    count: usize,
    last: Last,
}

/// What becomes of the last line, so far as lines at the end depend on it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Last {
    /// It is there, as it is or with another text, and so are lines after it.
    Stays,
    /// It goes, and nothing stands in its place yet.
    Goes,
}

impl Lines<'_> {
    fn start(&self, line: usize) -> usize {
        if line < self.count { self.text.line_to_byte(line) } else { self.text.len_bytes() }
    }

    fn content(&self, line: usize) -> String {
        let full = Cow::from(pieces::slice(self.text, self.start(line)..self.start(line + 1)));
        full[..content_len(&full)].to_owned()
    }

    fn anchor(&self, line: usize) -> Anchor {
        Anchor::of(line + 1, &self.content(line))
    }

    fn check(&self, edits: &[LineEdit]) -> Result<(), AnchorError> {
        let mut moved: Vec<Moved> = Vec::new();
        let anchors = edits.iter().flat_map(|edit| match edit {
            LineEdit::Replace { first, last, .. } | LineEdit::Delete { first, last } => {
                vec![*first, *last]
            }
            LineEdit::InsertAfter { anchor, .. } | LineEdit::InsertBefore { anchor, .. } => {
                vec![*anchor]
            }
            LineEdit::Append { .. } | LineEdit::Prepend { .. } => Vec::new(),
        });
        for given in anchors {
            let there = given.line >= 1 && given.line <= self.count;
            let known = moved.iter().any(|moved| moved.given == given);
            if known || (there && self.anchor(given.line - 1) == given) || moved.len() == MOST_NAMED
            {
                continue;
            }
            let now = there.then(|| {
                let content = self.content(given.line - 1);
                (Anchor::of(given.line, &content), content.chars().take(SHOWN).collect())
            });
            moved.push(Moved { given, now, perhaps: self.perhaps(given) });
        }
        if moved.is_empty() { Ok(()) } else { Err(AnchorError::Changed { moved }) }
    }

    fn perhaps(&self, given: Anchor) -> Option<Anchor> {
        let near = given.line.saturating_sub(101)..(given.line + 100).min(self.count);
        let mut alike = near.map(|line| self.anchor(line)).filter(|anchor| anchor.tag == given.tag);
        alike.next().filter(|_| alike.next().is_none())
    }

    fn ending(&self, line: usize) -> &'static str {
        match ending_near(self.text, self.start(line.min(self.count.saturating_sub(1)))) {
            LineEnding::CrLf => "\r\n",
            LineEnding::Lf | LineEnding::Cr => "\n",
        }
    }

    /// Whether the last line has no newline.
    fn is_open(&self) -> bool {
        let len = self.text.len_bytes();
        len > 0 && pieces::byte(self.text, len - 1) != Some(b'\n')
    }

    fn replaced(&self, first: Anchor, last: Anchor, text: &str) -> Result<Vec<Edit>, AnchorError> {
        if last.line < first.line {
            return Err(AnchorError::Reversed { first, last });
        }
        let ending = self.ending(first.line - 1);
        let mut new = if text.is_empty() { String::new() } else { whole_lines(text, ending) };
        if last.line == self.count && self.is_open() && new.ends_with(ending) {
            new.truncate(new.len() - ending.len());
        }
        Ok(vec![Edit::new(self.start(first.line - 1)..self.start(last.line), new)])
    }

    /// Lines before the zero-based `line`.
    fn inserted(&mut self, line: usize, text: &str) -> Vec<Edit> {
        let ending = self.ending(line.saturating_sub(1));
        let mut new = whole_lines(text, ending);
        if line == self.count && self.is_open() {
            if self.last == Last::Stays {
                new.insert_str(0, ending);
            }
            self.last = Last::Stays;
            new.truncate(new.len() - ending.len());
        }
        let at = self.start(line);
        vec![Edit::new(at..at, new)]
    }
}

/// `text` as lines that all end with `ending`.
fn whole_lines(text: &str, ending: &str) -> String {
    text.strip_suffix('\n').unwrap_or(text).split('\n').fold(String::new(), |mut out, line| {
        out.push_str(line.strip_suffix('\r').unwrap_or(line));
        out.push_str(ending);
        out
    })
}

/// The same change without what stays.
fn smallest(text: &Rope, changes: &ChangeSet) -> ChangeSet {
    let edits = changes.edits().iter().flat_map(|edit| {
        let before = Cow::from(pieces::slice(text, edit.range.clone()));
        linediff::edits(&before, &edit.text, edit.range.start)
    });
    ChangeSet::new(text.len_bytes(), edits.collect()).unwrap_or_else(|_| changes.clone())
}

fn line_count(text: &Rope) -> usize {
    let len = text.len_bytes();
    text.len_lines() - usize::from(len == 0 || pieces::byte(text, len - 1) == Some(b'\n'))
}

#[cfg(test)]
mod tests;

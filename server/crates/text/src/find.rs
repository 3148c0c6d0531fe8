//! Finding the text an edit means, strictly first and more tolerantly after.
//!
//! A tier counts only with one candidate, and no candidate has another number of lines than the
//! old text. Work is bounded on every shape of text: hashes of all lines in one pass, a rolling
//! window over them, and a close look at a bounded number of places.

pub(crate) mod closest;
mod distance;
pub(crate) mod forms;
pub(crate) mod indent;
pub(crate) mod index;
mod splice;
pub(crate) mod verbatim;
mod window;

use crate::changeset::ChangeSet;
use crate::lines::{LineEnding, to_ending};
use index::{Index, Wanted};
use ropey::Rope;
use std::cell::OnceCell;

/// Which occurrences to replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occurrences {
    /// The only one; several are an error.
    One,
    /// Every exact one.
    All,
}

/// How strictly the text was matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// Byte for byte.
    Exact,
    /// Line endings may differ.
    LineEndings,
    /// Spaces at line ends may differ.
    TrailingWhitespace,
    /// Runs of spaces inside lines may differ.
    Whitespace,
    /// The whole block may be indented differently.
    Indentation,
    /// Typographic quotes, dashes and spaces may stand for plain ones.
    Unicode,
    /// First and last line match and the rest is nearly the same.
    BlockAnchor,
}

impl Tier {
    /// The tier as words for a message.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Exact => "exact",
            Tier::LineEndings => "line endings",
            Tier::TrailingWhitespace => "trailing whitespace",
            Tier::Whitespace => "whitespace",
            Tier::Indentation => "indentation",
            Tier::Unicode => "unicode",
            Tier::BlockAnchor => "block anchor",
        }
    }
}

/// What to change and how it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replacement {
    /// The edits.
    pub changes: ChangeSet,
    /// How strictly the text was matched.
    pub tier: Tier,
    /// Occurrences replaced.
    pub count: usize,
    /// 1-based first line of each occurrence in the text before.
    pub lines: Vec<usize>,
}

/// The place most like the text that was not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Closest {
    /// 1-based line of the first difference.
    pub line: usize,
    /// That line, cut to 200 characters around the difference; empty where the text ends before it.
    pub text: String,
    /// The line of the searched text it was compared with, cut likewise.
    pub old_line: String,
    /// 1-based character of the first difference in the uncut line.
    pub column: usize,
}

/// Why nothing was replaced.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// No tier found it.
    #[error("the text was not found")]
    NotFound {
        /// The most similar place, where one is similar enough to name.
        closest: Option<Closest>,
    },
    /// Several places match equally well.
    #[error("the text occurs {} times", lines.len())]
    Ambiguous {
        /// 1-based first line of each; the list may stop early when there are very many.
        lines: Vec<usize>,
        /// The tier on which they match.
        tier: Tier,
    },
    /// Old and new text are equal, or lead to the text that is already there.
    #[error("old and new text are identical")]
    Identical,
    /// The old text is empty.
    #[error("the text to find is empty")]
    Empty,
}

/// Replaces `old` by `new` where the first tier with a candidate has exactly one. With
/// [`Occurrences::All`] only exact matches (or those that differ in line endings as a whole) count.
///
/// Unchanged lines keep the file's own bytes; new lines get the line ending found around the
/// match; new text is taken literally. The cost is linear in the text, also for a miss.
///
/// # Errors
/// See [`FindError`].
pub fn replace(
    text: &Rope,
    old: &str,
    new: &str,
    which: Occurrences,
) -> Result<Replacement, FindError> {
    if old.is_empty() {
        return Err(FindError::Empty);
    }
    if old == new {
        return Err(FindError::Identical);
    }
    let replacement = attempt(text, old, new, which)?;
    if replacement.changes.is_identity() { Err(FindError::Identical) } else { Ok(replacement) }
}

fn attempt(
    text: &Rope,
    old: &str,
    new: &str,
    which: Occurrences,
) -> Result<Replacement, FindError> {
    let index = OnceCell::new();
    if let Some(result) = verbatim::replace(text, &index, old, new, which, Tier::Exact) {
        return result;
    }
    let other_ending = if old.contains('\r') { LineEnding::Lf } else { LineEnding::CrLf };
    let converted = to_ending(old, other_ending);
    if converted != old
        && (other_ending == LineEnding::Lf || index.get_or_init(|| Index::of(text)).has_crlf())
        && let Some(result) =
            verbatim::replace(text, &index, &converted, new, which, Tier::LineEndings)
    {
        return result;
    }
    let wanted = Wanted::of(old);
    let index = index.get_or_init(|| Index::of(text));
    match which {
        Occurrences::One => window::replace(text, index, &wanted, new).unwrap_or_else(|| {
            Err(FindError::NotFound { closest: closest::find(text, index, &wanted) })
        }),
        Occurrences::All => {
            Err(FindError::NotFound { closest: closest::find(text, index, &wanted) })
        }
    }
}

#[cfg(test)]
mod tests;

//! Finding the text an edit means, strictly first and more tolerantly after.

use crate::changeset::{ChangeSet, Edit};
use ropey::Rope;

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
    /// That line, cut to 200 characters around the difference.
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
        /// 1-based first line of each (at most 20).
        lines: Vec<usize>,
        /// The tier on which they match.
        tier: Tier,
    },
    /// Old and new text are equal.
    #[error("old and new text are identical")]
    Identical,
    /// The old text is empty.
    #[error("the text to find is empty")]
    Empty,
}

/// Replaces `old` by `new` where the first tier with a candidate has exactly one.
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
    let whole = text.to_string();
    let found: Vec<usize> = memchr::memmem::find_iter(whole.as_bytes(), old).collect();
    if found.is_empty() {
        return Err(FindError::NotFound { closest: None });
    }
    let lines: Vec<usize> = found.iter().map(|at| text.byte_to_line(*at) + 1).collect();
    if which == Occurrences::One && found.len() > 1 {
        return Err(FindError::Ambiguous { lines, tier: Tier::Exact });
    }
    let edits = found.iter().map(|at| Edit::new(*at..at + old.len(), new)).collect();
    let changes = ChangeSet::new(text.len_bytes(), edits).map_err(|_| FindError::Empty)?;
    Ok(Replacement { changes, tier: Tier::Exact, count: found.len(), lines })
}

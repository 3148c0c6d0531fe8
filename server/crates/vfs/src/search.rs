//! Searching the workspace: contents, names, and the shape of a folder, with open buffers in place of their files.
//!
//! Results are data in a fixed order, whatever the number of threads; their layout is the caller's business.
//! Everything is bounded: hits, bytes, line lengths, entries.

mod filter;
mod glob;
mod grep;
mod ignoring;
mod list;
mod rules;
mod scan;
mod stamp;
mod targets;
mod tree;
mod visibility;
mod walk;
mod watch;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::location::Location;
use crate::store::Vfs;

pub(crate) use list::FileLists;
pub(crate) use rules::IGNORE_FILES;
pub use visibility::Visibility;
pub(crate) use walk::{List, path_order, threads};

/// What a search of contents gives for each file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrepMode {
    /// The matching lines and their context.
    Lines,
    /// Only which files match.
    Files,
    /// How many matches there are.
    Count,
}

/// The order of files in a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    Path,
    /// Last changed first; ties by path.
    Newest,
}

/// A search of contents.
#[derive(Clone, Debug)]
pub struct GrepQuery {
    pub pattern: GrepPattern,
    pub scope: GrepScope,
    pub mode: GrepMode,
    pub order: Order,
    /// Lines of context before and after.
    pub before: usize,
    pub after: usize,
    pub limits: GrepLimits,
}

/// What is searched for.
#[derive(Clone, Debug, Default)]
pub struct GrepPattern {
    /// A regular expression, or the text itself with `literal`.
    pub text: String,
    pub literal: bool,
    pub ignore_case: bool,
    /// `.` and the pattern may reach over line ends.
    pub multiline: bool,
}

/// Where it is searched for.
#[derive(Clone, Debug)]
pub struct GrepScope {
    /// Absolute files and folders. A file named here is searched even if it is ignored.
    pub paths: Vec<PathBuf>,
    /// As in `.gitignore`, relative to each folder searched; `!` excludes. None: every file.
    pub globs: Vec<String>,
    /// ripgrep's file types (`rust`, `ts`, …). None: every file.
    pub types: Vec<String>,
    /// Ignored files too; version control folders never.
    pub include_ignored: bool,
    /// Documents without a path, by their names.
    pub names: Vec<String>,
    /// All documents without a path.
    pub include_virtual: bool,
    /// Files that are not searched.
    pub visibility: Visibility,
}

/// What ends a search, and how much of a line is kept.
#[derive(Clone, Debug)]
pub struct GrepLimits {
    /// Matching lines (files in `Files` and `Count`); 0 for no limit but the built-in one.
    pub matches: usize,
    /// Bytes of line text in the result.
    pub bytes: usize,
    /// Longer lines are cut around the match.
    pub line_bytes: usize,
}

impl Default for GrepQuery {
    fn default() -> GrepQuery {
        GrepQuery {
            pattern: GrepPattern::default(),
            scope: GrepScope::default(),
            mode: GrepMode::Lines,
            order: Order::Path,
            before: 0,
            after: 0,
            limits: GrepLimits::default(),
        }
    }
}

impl Default for GrepScope {
    fn default() -> GrepScope {
        GrepScope {
            paths: Vec::new(),
            globs: Vec::new(),
            types: Vec::new(),
            include_ignored: false,
            names: Vec::new(),
            include_virtual: true,
            visibility: Visibility::default(),
        }
    }
}

impl Default for GrepLimits {
    fn default() -> GrepLimits {
        GrepLimits { matches: 0, bytes: 4 << 20, line_bytes: 2_000 }
    }
}

/// One line of a result.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrepLine {
    /// 1-based.
    pub number: u64,
    /// Without its line ending.
    pub text: String,
    pub is_context: bool,
    /// Byte column of the first match in the whole line, 0-based; 0 for context.
    pub column: usize,
    /// Bytes of the line before `text`, which are left out.
    pub cut_before: usize,
    /// And after it.
    pub cut_after: usize,
}

impl GrepLine {
    /// Whether `text` is the whole line.
    pub fn is_whole(&self) -> bool {
        self.cut_before == 0 && self.cut_after == 0
    }
}

/// A file with matches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GrepFile {
    pub location: Location,
    /// Empty but in `GrepMode::Lines`. A gap in the numbers is a gap in the file.
    pub lines: Vec<GrepLine>,
    /// Matching lines found in it; matches in `GrepMode::Count`.
    pub matches: u64,
    pub modified: SystemTime,
    /// The text searched is an unsaved buffer's.
    pub unsaved: bool,
}

/// What a search found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GrepResult {
    pub files: Vec<GrepFile>,
    /// The same in all files of the result.
    pub matches: u64,
    /// There is more; a limit ended the search.
    pub truncated: bool,
    pub cancelled: bool,
    /// Files left out because they are sensitive (and pass the filters).
    pub sensitive: usize,
    /// Files below the searched folders left out because a rule denies them, whatever the pattern and the filters.
    pub denied: usize,
    /// Files searched.
    pub searched: usize,
    /// What could not be read, bounded.
    pub notes: Vec<String>,
}

/// A search of names.
#[derive(Clone, Debug)]
pub struct GlobQuery {
    /// Globs relative to `root`, or absolute ones below it; a bare name matches at any depth; `!` excludes.
    pub patterns: Vec<String>,
    /// Absolute.
    pub root: PathBuf,
    pub include_dirs: bool,
    pub include_ignored: bool,
    /// Documents without a path too, by the last part of their names.
    pub include_virtual: bool,
    pub order: Order,
    /// At most this many; 0 for no limit but the built-in one.
    pub limit: usize,
    /// Files that are not found.
    pub visibility: Visibility,
}

impl Default for GlobQuery {
    fn default() -> GlobQuery {
        GlobQuery {
            patterns: Vec::new(),
            root: PathBuf::from("/"),
            include_dirs: false,
            include_ignored: false,
            include_virtual: false,
            order: Order::Newest,
            limit: 1_000,
            visibility: Visibility::default(),
        }
    }
}

/// A name found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GlobHit {
    pub location: Location,
    pub is_dir: bool,
    pub modified: SystemTime,
}

/// Names found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GlobResult {
    pub hits: Vec<GlobHit>,
    /// How many match; more than `hits` when the limit cut.
    pub total: usize,
    pub cancelled: bool,
    /// Matches left out because they are sensitive.
    pub sensitive: usize,
    /// Files below the folder left out because a rule denies them, whatever the patterns.
    pub denied: usize,
    pub notes: Vec<String>,
}

/// The shape of a folder.
#[derive(Clone, Debug)]
pub struct TreeQuery {
    /// Absolute.
    pub root: PathBuf,
    /// Levels below `root`; 1 is its entries.
    pub depth: usize,
    /// Globs, as in `.gitignore`, of what is left out altogether.
    pub ignore: Vec<String>,
    /// Entries at most.
    pub limit: usize,
    /// What is denied is not listed; secrets are, since their names are none.
    pub visibility: Visibility,
}

/// One entry of a tree, in the order a tree is printed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TreeNode {
    pub path: PathBuf,
    pub name: String,
    /// What a link names, as it is written there.
    pub leads_to: Option<PathBuf>,
    /// 0 for the entries of the root.
    pub level: usize,
    pub kind: crate::disk::FileKind,
    /// Bytes; of the buffer where one is open.
    pub len: u64,
    /// A folder whose entries are not shown (ignored, or below the depth): how many it has.
    pub collapsed: Option<usize>,
    /// Ignored by the repository.
    pub ignored: bool,
    /// Only in the editor, or with unsaved text.
    pub unsaved: bool,
}

/// The entries of a folder.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TreeResult {
    pub nodes: Vec<TreeNode>,
    pub truncated: bool,
    pub cancelled: bool,
    /// Some entries are left out because a rule denies them.
    pub denied: bool,
    pub notes: Vec<String>,
}

/// Why there is nothing to search with.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum QueryError {
    #[error("the pattern is no regular expression: {reason}")]
    Pattern { reason: String, fault: PatternFault },
    #[error("the pattern holds a line end, and each line is searched by itself")]
    LineEnd,
    #[error("the glob {glob:?} is malformed: {reason}")]
    Glob { glob: String, reason: String },
    #[error("more than {max} globs were given; give fewer, or braces in one: `*.{{ts,tsx}}`")]
    TooManyGlobs { max: usize },
    #[error("there is no file type {name:?}{}", nearest_text(nearest))]
    Type { name: String, nearest: Vec<String> },
    #[error("{} does not exist{}", path.display(), crate::snapshot::did_you_mean(similar))]
    NoSuchPath { path: PathBuf, similar: Vec<PathBuf> },
    #[error("{} {reason}", path.display())]
    Unreadable { path: PathBuf, reason: String },
    /// Why each of several paths, bounded.
    #[error("none of the paths can be searched: {}", all_text(failed))]
    NoPaths { failed: Vec<QueryError> },
    #[error("{} is not a folder", path.display())]
    NotAFolder { path: PathBuf },
}

/// What is wrong with a pattern.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PatternFault {
    /// It is malformed.
    Syntax,
    /// It would take too much memory.
    Size,
}

fn nearest_text(nearest: &[String]) -> String {
    if nearest.is_empty() {
        String::new()
    } else {
        format!(" (did you mean {}?)", nearest.join(" or "))
    }
}

impl QueryError {
    /// The same, suggesting none of the paths that `hidden` names.
    pub fn without(self, hidden: &dyn Fn(&Path) -> bool) -> QueryError {
        match self {
            QueryError::NoSuchPath { path, mut similar } => {
                similar.retain(|path| !hidden(path));
                QueryError::NoSuchPath { path, similar }
            }
            QueryError::NoPaths { failed } => {
                let failed = failed.into_iter().map(|it| it.without(hidden)).collect();
                QueryError::NoPaths { failed }
            }
            other @ (QueryError::Pattern { .. }
            | QueryError::LineEnd
            | QueryError::Glob { .. }
            | QueryError::TooManyGlobs { .. }
            | QueryError::Type { .. }
            | QueryError::Unreadable { .. }
            | QueryError::NotAFolder { .. }) => other,
        }
    }
}

fn all_text(errors: &[QueryError]) -> String {
    errors.iter().map(QueryError::to_string).collect::<Vec<_>>().join("; ")
}

impl Vfs {
    /// Searches contents. `cancelled` is asked at least every 100 ms, on the calling thread.
    pub fn grep(
        &self,
        query: &GrepQuery,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<GrepResult, QueryError> {
        grep::run(self, query, cancelled)
    }

    /// Searches names.
    pub fn glob(
        &self,
        query: &GlobQuery,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<GlobResult, QueryError> {
        glob::run(self, query, cancelled)
    }

    /// Lists a folder as a tree.
    pub fn tree(
        &self,
        query: &TreeQuery,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<TreeResult, QueryError> {
        tree::run(self, query, cancelled)
    }
}

#[cfg(test)]
mod tests;

//! A shell script as data: the simple commands it is made of, what it redirects, and whether all of
//! it was understood.
//!
//! Invariant: whatever a POSIX shell would run of a script stands among its commands, or the script
//! is not [`Clarity::Clear`]. Nothing is expanded; nothing touches files or starts anything.

mod payload;
mod read;
mod word;

pub use read::parse;
pub use word::{Word, WordKind, written};

/// What a script says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// Every simple command, those of substitutions before the command they stand in, else in the
    /// order they are written. Bodies of functions and all branches count.
    pub commands: Vec<Command>,
    /// Where input and output go, of commands and of whole blocks.
    pub redirections: Vec<Redirection>,
    /// Whether every part was understood.
    pub clarity: Clarity,
    /// Whether commands may run more than once.
    pub repeats: bool,
    /// Whether a lone `&` leaves something running.
    pub background: bool,
}

/// A script and what it would start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Started {
    /// Every command, each followed by those it starts.
    pub commands: Vec<Command>,
    /// Where input and output of all of them go.
    pub redirections: Vec<Redirection>,
    /// Whether every part of all of them was understood.
    pub clarity: Clarity,
}

/// How much of a script was understood.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Clarity {
    /// It does not fit the grammar; what is told of it are guesses.
    #[default]
    Broken,
    /// It fits, and holds what may run more than is told: arithmetic, expansions beyond `$name`,
    /// functions.
    Murky,
    /// All of it.
    Clear,
}

/// One simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// Leading assignments, or those of a line that only assigns.
    pub assignments: Vec<Assignment>,
    /// Program and arguments.
    pub words: Vec<Word>,
    /// Its input is a pipe, a file or a here-document.
    pub fed: bool,
    /// Its output goes into a pipe, a file or a substitution.
    pub captured: bool,
}

/// `name=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// What is set; of an element of an array the array.
    pub name: String,
    /// What it is set to.
    pub value: Word,
}

/// Where a descriptor goes or comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// Whether the file is read or written.
    pub direction: Direction,
    /// The file.
    pub target: Word,
}

/// What a redirection does with its file; `<>` does both and is told as a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `<`.
    Read,
    /// `>` and its kin.
    Write,
}

impl Script {
    /// Its commands and redirections, and those of what it would start in its turn: what stands behind
    /// `sudo`, `env`, `xargs`, `find -exec` and the like, and the scripts given to `sh -c` and `eval`.
    /// `None` where these are too many to tell.
    pub fn with_payloads(&self) -> Option<Started> {
        payload::all(self)
    }
}

impl Command {
    /// The program's name without its folder; nothing where only variables are set.
    pub fn program(&self) -> Option<&str> {
        let word = &self.words.first()?.text;
        Some(word.rsplit('/').next().unwrap_or(word))
    }

    /// What follows the program.
    pub fn arguments(&self) -> &[Word] {
        self.words.get(1..).unwrap_or_default()
    }

    /// Program and arguments as they are written, one space apart.
    pub fn written(&self) -> String {
        written(&self.words)
    }

    /// Program and arguments without quotes, one space apart.
    pub fn spoken(&self) -> String {
        word::spoken(&self.words)
    }
}

#[cfg(test)]
mod tests;

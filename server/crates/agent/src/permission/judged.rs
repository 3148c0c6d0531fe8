//! A call as it is judged. Its script is read once, whatever is asked of it.

use std::cell::OnceCell;

use crate::place::Place;
use crate::tool::{Access, CommandAccess, Form};

use super::shell::{self, Parsed};

/// A call with what its command says.
pub struct Judged<'a> {
    /// The canonical name of the tool.
    pub tool: &'a str,
    /// What it touches.
    pub access: &'a Access,
    /// Where it works.
    pub place: &'a Place,
    /// Its command.
    pub line: Option<Line<'a>>,
}

/// The command of a call.
pub struct Line<'a> {
    /// What becomes of it, and where it starts.
    pub access: &'a CommandAccess,
    /// The place as seen from where it starts.
    pub place: Place,
    /// What it says.
    pub script: Parsed<'a>,
    reads: OnceCell<bool>,
    named: OnceCell<Vec<String>>,
    written: OnceCell<Vec<String>>,
}

impl<'a> Judged<'a> {
    /// Reads the command, where there is one.
    pub fn new(tool: &'a str, access: &'a Access, place: &'a Place) -> Judged<'a> {
        let line = access.command.as_ref().map(|command| Line {
            access: command,
            place: place.from(&command.cwd),
            script: Parsed::new(&command.script, place.grammar),
            reads: OnceCell::new(),
            named: OnceCell::new(),
            written: OnceCell::new(),
        });
        Judged { tool, access, place, line }
    }
}

impl Line<'_> {
    /// Whether its words only read and run no other program.
    pub fn reads(&self) -> bool {
        *self.reads.get_or_init(|| self.script.is_read_only(&self.place))
    }

    /// Whether it is known to change nothing: as a command, and not as what goes on or is typed.
    pub fn only_reads(&self) -> bool {
        match self.access.form {
            Form::Command => self.reads(),
            Form::Program | Form::Typed { .. } => false,
        }
    }

    /// Words that may be paths.
    pub fn named(&self) -> &[String] {
        self.named.get_or_init(|| shell::argument_paths(&self.access.script))
    }

    /// Files it says it writes.
    pub fn written(&self) -> &[String] {
        self.written.get_or_init(|| self.script.written())
    }
}

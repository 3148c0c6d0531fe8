//! A script's simple commands as plain words, for judging what it would start.

use script::Clarity;

/// One simple command, without its leading assignments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SimpleCommand {
    /// Names of leading assignments, `GIT_EDITOR` of `GIT_EDITOR=true git commit`.
    pub assigned: Vec<String>,
    /// Program and arguments, unquoted; expansions stay as written.
    pub words: Vec<String>,
    /// stdin is a pipe, a file or a here-document.
    pub fed: bool,
    /// stdout is a pipe, a file or a substitution.
    pub captured: bool,
}

impl SimpleCommand {
    pub(crate) fn program(&self) -> Option<&str> {
        let word = self.words.first()?;
        Some(word.rsplit('/').next().unwrap_or(word))
    }

    pub(crate) fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }
}

impl From<script::Command> for SimpleCommand {
    fn from(command: script::Command) -> SimpleCommand {
        SimpleCommand {
            assigned: command.assignments.into_iter().map(|it| it.name).collect(),
            words: command.words.into_iter().map(|it| it.text).collect(),
            fed: command.fed,
            captured: command.captured,
        }
    }
}

/// The commands, those of substitutions first; `None` when it cannot be read.
pub(crate) fn commands(source: &str) -> Option<Vec<SimpleCommand>> {
    let script = script::parse(source);
    (script.clarity != Clarity::Broken)
        .then(|| script.commands.into_iter().map(SimpleCommand::from).collect())
}

#[cfg(test)]
mod tests;

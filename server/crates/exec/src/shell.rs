//! Which shell runs a command, and how it says where it ended up.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::simple_command::{SimpleCommand, commands};
use crate::supervisor::Exit;

/// A shell. bash, zsh and their kin, fish and PowerShell are known; any other is given its script
/// after `-c` and cannot say where it ended up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    pub program: PathBuf,
}

/// A script on its way to a shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script<'a> {
    /// As an argument.
    Given(&'a str),
    /// In a file, for one longer than [`SAFE_ARGUMENT`].
    InFile(&'a Path),
}

/// Bytes of a script that the system takes as an argument even where each has to be quoted.
pub const SAFE_ARGUMENT: usize = 60_000;
/// Bytes of an argument, as Linux counts them, with its end.
pub const LONGEST_ARGUMENT: usize = 128 * 1024;

/// How the scripts of a shell are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Grammar {
    /// As POSIX says, more or less: what a script does can be read from it.
    Posix,
    /// In a way of its own.
    Other,
}

enum Kind {
    Posix,
    Fish,
    PowerShell,
    Unknown,
}

impl Shell {
    /// bash, or else sh, from `path` (a `PATH` value).
    pub fn find(path: &OsStr) -> Shell {
        let program = ["bash", "sh"]
            .iter()
            .find_map(|name| find_program(name, path))
            .unwrap_or_else(|| PathBuf::from("/bin/sh"));
        Shell { program }
    }

    /// The shell of this name or path; else why it cannot be run.
    pub fn named(program: &str, path: &OsStr) -> Result<Shell, String> {
        let found = if program.contains('/') {
            Some(PathBuf::from(program)).filter(|it| access(it, Access::EXEC_OK).is_ok())
        } else {
            find_program(program, path)
        };
        let program = found.ok_or_else(|| format!("the shell `{program}` is not there"))?;
        Ok(Shell { program })
    }

    /// How its scripts are written.
    pub fn grammar(&self) -> Grammar {
        match self.kind() {
            Kind::Posix => Grammar::Posix,
            Kind::Fish | Kind::PowerShell | Kind::Unknown => Grammar::Other,
        }
    }

    /// The arguments that run `script`, without the person's configuration of the shell.
    pub fn argv(&self, script: Script<'_>) -> Vec<OsString> {
        let inline = match (self.kind(), script) {
            (_, Script::Given(script)) => script.to_owned(),
            (Kind::Posix, Script::InFile(file)) => {
                let mut argv = self.with_options(&format!("{}; eval \"$__script\"", load(file)));
                // `$0` as it is without words after the script.
                argv.push(self.program.clone().into());
                return argv;
            }
            (Kind::Fish, Script::InFile(file)) => load_in_fish(file) + "eval $__script",
            (Kind::PowerShell, Script::InFile(file)) => {
                format!(". ([scriptblock]::Create({}))", read_in_powershell(file))
            }
            (Kind::Unknown, Script::InFile(file)) => {
                return vec![self.program.clone().into(), file.into()];
            }
        };
        self.with_options(&inline)
    }

    fn with_options(&self, script: &str) -> Vec<OsString> {
        let options: &[&str] = match (self.kind(), self.name()) {
            // Otherwise it reads `.zshenv` for every script.
            (Kind::Posix, Some("zsh")) => &["-f", "-c"],
            (Kind::Posix | Kind::Unknown, _) => &["-c"],
            (Kind::Fish, _) => &["--no-config", "-c"],
            (Kind::PowerShell, _) => &["-NoLogo", "-NoProfile", "-NonInteractive", "-Command"],
        };
        let mut argv: Vec<OsString> = vec![self.program.clone().into()];
        argv.extend(options.iter().map(Into::into));
        argv.push(script.into());
        argv
    }

    fn name(&self) -> Option<&str> {
        self.program.file_name().and_then(OsStr::to_str)
    }

    fn kind(&self) -> Kind {
        match self.name() {
            Some("sh" | "bash" | "dash" | "ash" | "zsh" | "ksh" | "mksh") => Kind::Posix,
            Some("fish") => Kind::Fish,
            Some("pwsh" | "powershell") => Kind::PowerShell,
            Some(_) | None => Kind::Unknown,
        }
    }
}

/// The arguments that run `script` and then leave the shell's directory in the file `report`,
/// without a trace in its output, exit code or positional parameters. A script that replaces its
/// exit trap or its shell reports nothing.
pub fn wrap_for_cwd(shell: &Shell, script: Script<'_>, report: &Path) -> Vec<OsString> {
    let report = report.to_string_lossy();
    match shell.kind() {
        Kind::Posix => {
            // `>|` holds under noclobber, `command` passes over functions. The script is evaluated
            // so that the lines its errors name are its own.
            let trap = format!("command pwd -P 2>/dev/null >|{}", quote(&report));
            let take = match script {
                Script::Given(_) => "__script=$1; shift".to_owned(),
                Script::InFile(file) => load(file),
            };
            let wrapped = format!("trap {} EXIT; {take}; eval \"$__script\"", quote(&trap));
            let mut argv = shell.with_options(&wrapped);
            argv.push(shell.program.file_name().unwrap_or_else(|| OsStr::new("sh")).to_owned());
            if let Script::Given(script) = script {
                argv.push(script.into());
            }
            argv
        }
        Kind::Fish => {
            let take = match script {
                Script::Given(_) => "set -l __script $argv[1]; set -e argv[1]; ".to_owned(),
                Script::InFile(file) => load_in_fish(file),
            };
            let wrapped = format!(
                "function __report --on-event fish_exit; builtin pwd -P 2>/dev/null >{}; end; \
                 {take}eval $__script",
                quote_for_fish(&report)
            );
            let mut argv = shell.with_options(&wrapped);
            if let Script::Given(script) = script {
                argv.push(script.into());
            }
            argv
        }
        Kind::PowerShell => {
            let text = match script {
                Script::Given(script) => quote_for_powershell(script),
                Script::InFile(file) => read_in_powershell(file),
            };
            let wrapped = format!(
                "try {{ . ([scriptblock]::Create({text})); $__ok = $? }} finally {{ \
                 [IO.File]::WriteAllText({}, (Get-Location -PSProvider FileSystem).ProviderPath + \"`n\") }}; \
                 if ($LASTEXITCODE) {{ exit $LASTEXITCODE }}; if (-not $__ok) {{ exit 1 }}",
                quote_for_powershell(&report)
            );
            shell.with_options(&wrapped)
        }
        Kind::Unknown => shell.argv(script),
    }
}

/// Takes the script out of its file. What stands at its end is kept, newlines too.
fn load(file: &Path) -> String {
    let file = quote(&file.to_string_lossy());
    format!("__script=$(command cat {file} && echo .) || exit 126; __script=${{__script%.}}")
}

fn load_in_fish(file: &Path) -> String {
    let file = quote_for_fish(&file.to_string_lossy());
    format!("test -r {file}; or exit 126; set -l __script (command cat {file} | string collect); ")
}

fn read_in_powershell(file: &Path) -> String {
    format!("[IO.File]::ReadAllText({})", quote_for_powershell(&file.to_string_lossy()))
}

/// Whether a command that takes long may go on as a job. Sleeps and quick git commands may not:
/// waiting for them in the background is of no use. Nor may what cannot be understood.
pub fn promotable(script: &str) -> bool {
    match commands(script) {
        Some(commands) => !commands.iter().all(is_sleep_or_quick_git),
        None => false,
    }
}

fn is_sleep_or_quick_git(command: &SimpleCommand) -> bool {
    const LONG: &[&str] = &[
        "clone",
        "fetch",
        "pull",
        "push",
        "submodule",
        "gc",
        "fsck",
        "repack",
        "bundle",
        "filter-branch",
    ];
    match command.program() {
        Some("sleep") => true,
        Some("git") => !git_subcommand(command)
            .and_then(|index| command.words.get(index))
            .is_some_and(|name| LONG.contains(&name.as_str())),
        Some(_) => false,
        None => true,
    }
}

/// Where among the words the git subcommand stands, past global options.
pub(crate) fn git_subcommand(command: &SimpleCommand) -> Option<usize> {
    let mut words = command.words.iter().enumerate().skip(1);
    while let Some((index, word)) = words.next() {
        match word.as_str() {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" => {
                words.next();
            }
            option if option.starts_with('-') => {}
            _ => return Some(index),
        }
    }
    None
}

/// Whether a command that ended so has failed. Code 1 of `grep`, `find`, `diff`, `test` and their
/// kind as the last command only answers its question.
pub fn exit_is_error(script: &str, exit: &Exit) -> bool {
    match exit {
        Exit::Code(0) => false,
        Exit::Code(1) => {
            let commands = commands(script).unwrap_or_default();
            !commands.last().is_some_and(answers_with_one)
        }
        Exit::Code(_) | Exit::Signal(_) => true,
    }
}

fn answers_with_one(command: &SimpleCommand) -> bool {
    match command.program() {
        Some(
            "grep" | "egrep" | "fgrep" | "zgrep" | "rg" | "find" | "diff" | "cmp" | "test" | "["
            | "[[",
        ) => true,
        Some("git") => git_subcommand(command)
            .and_then(|index| command.words.get(index))
            .is_some_and(|name| matches!(name.as_str(), "diff" | "grep")),
        Some(_) | None => false,
    }
}

/// The first executable `name` in `path`.
pub(crate) fn find_program(name: &str, path: &OsStr) -> Option<PathBuf> {
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(name))
        .find(|program| access(program, Access::EXEC_OK).is_ok())
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Within single quotes a backslash escapes itself and the quote.
fn quote_for_fish(text: &str) -> String {
    format!("'{}'", text.replace('\\', r"\\").replace('\'', r"\'"))
}

/// Within single quotes any of them is doubled; typographic ones are quotes too.
fn quote_for_powershell(text: &str) -> String {
    let doubled = |it: char| {
        let times = if "'\u{2018}\u{2019}\u{201a}\u{201b}".contains(it) { 2 } else { 1 };
        std::iter::repeat_n(it, times)
    };
    format!("'{}'", text.chars().flat_map(doubled).collect::<String>())
}

/// A path as a shell printed it: everything but the last newline.
pub(crate) fn reported_cwd(bytes: &[u8]) -> Option<PathBuf> {
    let path = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    path.starts_with(b"/").then(|| PathBuf::from(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests;

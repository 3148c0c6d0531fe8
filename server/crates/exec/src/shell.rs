//! Which shell runs a command, and how it says where it ended up.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::shell_words::{self, SimpleCommand};

/// A POSIX-like shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shell {
    pub program: PathBuf,
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

    /// The arguments that run `script`.
    pub fn argv(&self, script: &str) -> Vec<OsString> {
        vec![self.program.clone().into(), "-c".into(), script.into()]
    }
}

/// The arguments that run `script` and then leave the shell's directory in the file `report`,
/// without a trace in its output, exit code or positional parameters. A script that replaces its
/// exit trap or its shell reports nothing.
pub fn wrap_for_cwd(shell: &Shell, script: &str, report: &Path) -> Vec<OsString> {
    // `>|` holds under noclobber, `command` passes over functions. The script is evaluated so
    // that the lines its errors name are its own.
    let trap = format!("command pwd -P 2>/dev/null >|{}", quote(&report.to_string_lossy()));
    let wrapped = format!("trap {} EXIT; __script=$1; shift; eval \"$__script\"", quote(&trap));
    let mut argv = shell.argv(&wrapped);
    argv.push(shell.program.file_name().unwrap_or_else(|| OsStr::new("sh")).to_owned());
    argv.push(script.into());
    argv
}

/// Whether a command that takes long may go on as a job. Sleeps and quick git commands may not:
/// waiting for them in the background is of no use. Nor may what cannot be understood.
pub fn promotable(script: &str) -> bool {
    match shell_words::parse(script) {
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
        Some("git") => !git_subcommand(command).is_some_and(|name| LONG.contains(&name)),
        Some(_) => false,
        None => true,
    }
}

/// The git subcommand, past global options.
pub(crate) fn git_subcommand(command: &SimpleCommand) -> Option<&str> {
    let mut arguments = command.arguments().iter();
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "-C" | "-c" | "--git-dir" | "--work-tree" | "--namespace" | "--exec-path" => {
                arguments.next();
            }
            option if option.starts_with('-') => {}
            name => return Some(name),
        }
    }
    None
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

/// A path as a shell printed it: everything but the last newline.
pub(crate) fn reported_cwd(bytes: &[u8]) -> Option<PathBuf> {
    let path = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    path.starts_with(b"/").then(|| PathBuf::from(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use super::promotable;

    #[track_caller]
    fn check(script: &str, expected: bool) {
        assert_eq!(promotable(script), expected, "{script}");
    }

    #[test]
    fn sleeps_and_quick_git_stay_in_the_foreground() {
        check("sleep 5", false);
        check("sleep 5; sleep 6 && git status", false);
        check("git -C x log | git hash-object --stdin", false);
        check("FOO=1 sleep 3", false);
        check("echo 'unclosed", false);
        check("echo $(unclosed", false);
    }

    #[test]
    fn real_work_may_go_to_the_background() {
        check("cargo test", true);
        check("sleep 5; make", true);
        check("git push", true);
        check("git -c a=b --no-pager fetch origin", true);
        check("while true; do sleep 1; done", true);
        check("sleep $(cat n)", true);
    }
}

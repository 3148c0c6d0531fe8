//! Which shell runs a command, and how it says where it ended up.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::shell_words::{self, SimpleCommand};
use crate::supervisor::Exit;

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
            let commands = shell_words::parse(script).unwrap_or_default();
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

/// A path as a shell printed it: everything but the last newline.
pub(crate) fn reported_cwd(bytes: &[u8]) -> Option<PathBuf> {
    let path = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    path.starts_with(b"/").then(|| PathBuf::from(OsStr::from_bytes(path)))
}

#[cfg(test)]
mod tests {
    use super::{exit_is_error, promotable};
    use crate::Exit;

    #[track_caller]
    fn check_stays(script: &str) {
        assert!(!promotable(script), "{script}");
    }

    #[track_caller]
    fn check_promotable(script: &str) {
        assert!(promotable(script), "{script}");
    }

    #[test]
    fn sleeps_and_quick_git_stay_in_the_foreground() {
        check_stays("sleep 5");
        check_stays("sleep 5; sleep 6 && git status");
        check_stays("git -C x log | git hash-object --stdin");
        check_stays("FOO=1 sleep 3");
        check_stays("echo 'unclosed");
        check_stays("echo $(unclosed");
    }

    #[test]
    fn real_work_may_go_to_the_background() {
        check_promotable("cargo test");
        check_promotable("sleep 5; make");
        check_promotable("git push");
        check_promotable("git -c a=b --no-pager fetch origin");
        check_promotable("while true; do x; sleep 1; done");
        check_promotable("sleep $(cat n)");
    }

    #[test]
    fn case_18_one_of_grep_is_an_answer() {
        for (script, code, error) in [
            ("grep x file", 0, false),
            ("grep x file", 1, false),
            ("grep x missing", 2, true),
            ("false", 1, true),
            ("cat f | grep x", 1, false),
            ("grep x f | cat", 1, true),
            ("[ -f x ]", 1, false),
            ("cd a; git --no-pager diff --exit-code", 1, false),
            ("git status", 1, true),
            ("diff a b > c", 1, false),
        ] {
            assert_eq!(exit_is_error(script, &Exit::Code(code)), error, "{script}");
        }
        assert!(exit_is_error("grep x f", &Exit::Signal("SIGKILL".to_owned())));
    }
}

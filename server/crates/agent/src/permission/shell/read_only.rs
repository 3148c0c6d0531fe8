//! Which commands may run unasked, since they change nothing, whoever wrote what they come upon.
//!
//! Invariant: such a script runs programs of this table and no others: neither its options nor its
//! environment nor the configuration of a repository can make it run, write or send anything.

use exec::Grammar;
use script::{Command, Direction, Script, Word, WordKind};

use crate::place::Place;

use super::files::is_stream;
use super::programs::{FIND_ACTIONS, NAMES_ONLY, READ_ONLY, READ_ONLY_GIT, UNSAFE_OPTIONS};
use super::{Parsed, git, is_plain};

/// Folders a script may be in at some time; more are not followed.
const MOST_FOLDERS: usize = 16;

pub(super) fn changes_folder(command: &Command) -> bool {
    matches!(command.program(), Some("cd" | "pushd" | "popd"))
}

/// `cd` into a folder of the workspace: that alone changes nothing.
pub(super) fn enters_folder(command: &Command, place: &Place) -> bool {
    let [program, folder] = command.words.as_slice() else { return false };
    let plain = command.assignments.is_empty()
        && folder.kind == WordKind::Literal
        && !folder.text.starts_with('-');
    program.written == "cd" && plain && stays_inside(&folder.text, place)
}

/// Whether a script only reads inside the workspace; see [`Parsed::is_read_only`].
pub fn is_read_only(source: &str, place: &Place) -> bool {
    Parsed::new(source, place.grammar).is_read_only(place)
}

impl Parsed<'_> {
    /// Whether it only reads inside the workspace and runs nothing else, so that it may run unasked,
    /// in an environment that holds back what others have set (`exec::reading_environment`). It starts
    /// in the place's current folder.
    pub fn is_read_only(&self, place: &Place) -> bool {
        if self.grammar == Grammar::Other || !place.target(".").is_ok_and(|it| it.inside) {
            return false;
        }
        let script = &self.script;
        let Some(places) = places(script, place) else { return false };
        let stays = |it: &Word| places.iter().all(|place| stays_inside(&it.text, place));
        let streams = script.redirections.iter().all(|it| {
            it.target.kind == WordKind::Literal
                && (is_stream(&it.target.text)
                    || (it.direction == Direction::Read && stays(&it.target)))
        });
        let reads = |it: &Command| only_reads(it) && it.arguments().iter().all(stays);
        let quiet = || {
            let asks_git = script.commands.iter().any(|it| it.program() == Some("git"));
            !asks_git || places.iter().all(git::runs_nothing)
        };
        is_plain(script)
            && streams
            && script.commands.iter().all(|it| enters_folder(it, place) || reads(it))
            && quiet()
    }
}

fn only_reads(command: &Command) -> bool {
    let [program, arguments @ ..] = command.words.as_slice() else { return false };
    let program = program.written.as_str();
    let words: Vec<&str> = arguments.iter().map(|it| it.text.as_str()).collect();
    let known = match program {
        "git" => words.first().is_some_and(|it| READ_ONLY_GIT.contains(it)),
        "find" => !words.iter().any(|it| FIND_ACTIONS.contains(it)),
        // A second name is what it writes.
        "uniq" => {
            words.iter().filter(|it| **it == "-" || !it.starts_with('-')).count() <= 1
                && !words.contains(&"--")
        }
        "date" => only_tells_time(&words),
        other => READ_ONLY.contains(&other),
    };
    let certain = |it: &Word| match it.kind {
        WordKind::Literal => true,
        WordKind::Pattern => NAMES_ONLY.contains(&program),
        WordKind::Dynamic => false,
    };
    known
        && command.assignments.is_empty()
        && arguments.iter().all(certain)
        && !arguments.iter().any(|it| is_unsafe_option(program, &it.text))
}

/// The place a script starts from, and those it may be in after its `cd`s; `None` when it may leave
/// the workspace.
fn places(script: &Script, place: &Place) -> Option<Vec<Place>> {
    let mut places = vec![place.clone()];
    for command in script.commands.iter().filter(|it| changes_folder(it)) {
        let folder = command.words.get(1).filter(|_| enters_folder(command, place))?;
        // Each may fail, and leave the script where it was.
        for from in 0..places.len() {
            let target = places[from].target(&folder.text).ok().filter(|it| it.inside)?;
            let path = target.paths().into_iter().next_back()?.to_path_buf();
            if !places.iter().any(|it| it.cwd == path) {
                places.push(place.from(&path));
            }
        }
        if script.repeats || places.len() > MOST_FOLDERS {
            return None;
        }
    }
    Some(places)
}

/// Whether the arguments of `date` only say which time it tells and how.
fn only_tells_time(words: &[&str]) -> bool {
    const ALONE: &[&str] = &["-u", "--utc", "-R", "--rfc-email"];
    const BEGIN: &[&str] = &["+", "-I", "--iso-8601", "--rfc-3339=", "--date="];
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let told = ALONE.contains(word) || BEGIN.iter().any(|it| word.starts_with(it));
        if !told && (*word != "-d" || words.next().is_none()) {
            return false;
        }
    }
    true
}

pub(super) fn is_unsafe_option(program: &str, argument: &str) -> bool {
    if let Some(long) = argument.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        let unsafe_here = |it: &&str| !name.is_empty() && it.starts_with(name);
        return UNSAFE_OPTIONS.iter().any(unsafe_here)
            || (program == "tail" && ["follow", "retry"].iter().any(unsafe_here));
    }
    let Some(short) = argument.strip_prefix('-').filter(|_| program != "find") else {
        return false;
    };
    let letters: &[char] = match program {
        "tail" => &['f', 'F'],
        // Patterns are read from a file.
        "grep" | "rg" => &['f'],
        "git" => &['O'],
        "sort" => &['o', 'T'],
        _ => &[],
    };
    // A value right behind its letter, such as `-f/etc/passwd`.
    short.contains('/') || short.contains(letters)
}

fn stays_inside(argument: &str, place: &Place) -> bool {
    let path = argument.rsplit_once('=').map_or(argument, |(_, value)| value);
    // `~name` is another person's folder.
    if path.starts_with('~') && path != "~" && !path.starts_with("~/") {
        return false;
    }
    if path.is_empty() || argument.starts_with('-') && path == argument {
        return true;
    }
    match place.target(path) {
        Ok(target) => target.inside && !target.paths().iter().any(|path| vfs::is_sensitive(path)),
        Err(_) => false,
    }
}

//! Before a command runs: files that the agent changed only in the editor are offered to be saved, so
//! that the command sees them.
//!
//! Invariant: a buffer that holds the person's own unsaved text is saved only when they say so.

use std::path::Path;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use vfs::{Dirty, Location};

use crate::ask::{self, Save};
use crate::editor::Saved;
use crate::permission::shell;
use crate::place::Place;
use crate::session::Shared;
use crate::settings::{Mode, SavePolicy};
use crate::tool::{CommandAccess, Failure};

/// Files that a note names.
const NOTES: usize = 10;

/// Offers to save what the command of a call may read; gives a note for the command's result.
pub async fn before_command(
    shared: &Arc<Shared>,
    call: &str,
    command: &CommandAccess,
    cancel: &CancellationToken,
) -> Result<Option<String>, Failure> {
    let unsaved = unsaved(shared, command);
    if unsaved.is_empty() {
        return Ok(None);
    }
    let place = shared.place();
    let wanted: Vec<Location> = match shared.mode() {
        Mode::Auto => unasked(shared, &unsaved),
        Mode::Ask | Mode::Plan | Mode::Edit => {
            let shown = |(location, dirty): &(Location, Dirty)| match dirty {
                Dirty::Person => {
                    format!("{} (also holds changes of your own)", place.shown(location))
                }
                Dirty::Ours | Dirty::Clean => place.shown(location),
            };
            let files: Vec<String> = unsaved.iter().map(shown).collect();
            match ask::save(shared, call, command, &files, cancel).await {
                Save::Yes => unsaved.iter().map(|(location, _)| location.clone()).collect(),
                Save::No => Vec::new(),
                Save::Cancelled => return Err(Failure::Cancelled),
            }
        }
    };
    let outcomes = match wanted.is_empty() {
        true => Vec::new(),
        false => shared.world.editor.save(&wanted).await,
    };
    let saved = wanted.iter().zip(outcomes).map(|(location, outcome)| match outcome {
        Saved::Yes => format!("{} was saved first", place.shown(location)),
        Saved::No(reason) => {
            format!("{} could not be saved first: {reason}", place.shown(location))
        }
    });
    let left = unsaved.iter().filter(|(location, _)| !wanted.contains(location)).map(|(it, _)| {
        format!(
            "the command read {} without the changes that are only in the editor",
            place.shown(it)
        )
    });
    let mut notes: Vec<String> = saved.chain(left).collect();
    let more = notes.len().saturating_sub(NOTES);
    notes.truncate(NOTES);
    notes.extend((0 < more).then(|| format!("and {more} more files alike")));
    Ok(Some(notes.join("; ")))
}

/// What is saved without a question: the agent's own edits, and nothing of the person's.
fn unasked(shared: &Arc<Shared>, unsaved: &[(Location, Dirty)]) -> Vec<Location> {
    match shared.world.config().settings.edits.save {
        SavePolicy::Never => Vec::new(),
        SavePolicy::IfWasClean | SavePolicy::Always => {
            let ours = unsaved.iter().filter(|(_, dirty)| *dirty == Dirty::Ours);
            ours.map(|(location, _)| location.clone()).collect()
        }
    }
}

/// Files with unsaved edits of an agent that the command may read.
fn unsaved(shared: &Arc<Shared>, command: &CommandAccess) -> Vec<(Location, Dirty)> {
    let place = shared.place().from(&command.cwd);
    let edited = shared.edited();
    let mut unsaved: Vec<(Location, Dirty)> = shared
        .world
        .vfs
        .open_documents()
        .into_iter()
        .filter(|it| match it.dirty {
            Dirty::Clean => false,
            Dirty::Ours => true,
            Dirty::Person => edited.contains(&it.location),
        })
        .filter(|it| it.location.path().is_some_and(|it| may_read(&command.script, it, &place)))
        .map(|it| (it.location, it.dirty))
        .collect();
    unsaved.sort_by(|(one, _), (other, _)| one.cmp(other));
    unsaved
}

/// Whether a script may read the file. One that only reads sees what it names, and what searches and
/// git find below.
fn may_read(script: &str, path: &Path, place: &Place) -> bool {
    if !shell::is_read_only(script, place) {
        return true;
    }
    let commands = script::parse(script).commands;
    let runs = |names: &[&str]| {
        commands.iter().filter_map(script::Command::program).any(|it| names.contains(&it))
    };
    let below = runs(&["rg", "git", "grep", "diff"]);
    let here = runs(&["rg", "git"]) && path.starts_with(&place.cwd);
    here || shell::argument_paths(script).iter().any(|named| {
        let Ok(target) = place.target(named) else { return false };
        target.paths().iter().any(|it| path == *it || (below && path.starts_with(it)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a script that starts in `/w/src` may read `/w/src/a.rs`.
    #[track_caller]
    fn check(script: &str, expected: &str) {
        let place = Place {
            roots: Arc::new(vfs::Roots::new(["/w".into()])),
            cwd: "/w/src".into(),
            artifacts: None,
            grammar: exec::Grammar::Posix,
            programs: crate::programs::Programs::default(),
            vfs: crate::place::tests::no_files(),
        };
        let reads = if may_read(script, Path::new("/w/src/a.rs"), &place) { "reads" } else { "-" };
        assert_eq!(reads, expected, "{script}");
    }

    #[test]
    fn a_command_that_may_write_may_read_everything() {
        check("make", "reads");
        check("ls > list", "reads");
        check("cat b.rs; make", "reads");
    }

    #[test]
    fn a_command_that_only_reads_sees_what_it_names() {
        check("cat a.rs", "reads");
        check("cat ./a.rs | wc -l", "reads");
        check("cat \"a.rs\"", "reads");
        check("head -n 3 /w/src/a.rs", "reads");
        check("cat b.rs", "-");
        check("ls", "-");
        check("ls /w/src", "-");
        check("echo a", "-");
    }

    #[test]
    fn searches_and_git_see_what_lies_below() {
        check("rg one", "reads");
        check("git diff", "reads");
        check("grep -r one .", "reads");
        check("grep one ../src/b.rs", "-");
        check("grep -r one /w", "reads");
        check("grep -r one /w/docs", "-");
    }
}

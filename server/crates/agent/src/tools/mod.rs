//! The registry: every tool is one file here and one line in [`ALL`].

mod apply_patch;
mod bash;
mod change;
mod delete;
mod edit;
mod glob;
mod grep;
mod job_kill;
mod job_list;
mod job_output;
mod ls;
mod multi_edit;
mod notebook_edit;
mod read;
mod write;

use crate::spelling::distance;
use crate::tool::Entry;

/// Every tool, in the order models see them. New ones go to the end of their group, so that the
/// beginning of a prompt stays the same.
pub const ALL: &[Entry] = &[
    Entry::of::<read::Read>(),
    Entry::of::<write::Write>(),
    Entry::of::<edit::Edit>(),
    Entry::of::<multi_edit::MultiEdit>(),
    Entry::of::<delete::Delete>(),
    Entry::of::<apply_patch::ApplyPatch>(),
    Entry::of::<notebook_edit::NotebookEdit>(),
    Entry::of::<grep::Grep>(),
    Entry::of::<glob::Glob>(),
    Entry::of::<ls::Ls>(),
    Entry::of::<bash::Bash>(),
    Entry::of::<job_output::JobOutput>(),
    Entry::of::<job_list::JobList>(),
    Entry::of::<job_kill::JobKill>(),
];

/// The tool of this name or alias. Case counts for nothing, since models slip there.
pub fn find(name: &str) -> Option<&'static Entry> {
    let exact = ALL.iter().find(|it| it.name == name || it.aliases.contains(&name));
    exact.or_else(|| ALL.iter().find(|it| it.name.eq_ignore_ascii_case(name)))
}

/// What to tell whoever called a tool that does not exist.
pub fn unknown(name: &str) -> String {
    let mut nearest: Vec<(usize, &str)> = ALL
        .iter()
        .map(|it| (distance(&name.to_lowercase(), &it.name.to_lowercase()), it.name))
        .collect();
    nearest.sort();
    let names: Vec<&str> = nearest.iter().take(3).map(|(_, name)| *name).collect();
    let shown: String = name.chars().take(64).collect();
    format!("There is no tool `{shown}`. The nearest names are {}.", names.join(", "))
}

#[cfg(test)]
mod tests;

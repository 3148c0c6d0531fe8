//! The registry: every tool is one file here and one line in [`ALL`].

mod apply_patch;
mod bash;
mod change;
mod delete;
mod edit;
mod edit_lines;
mod elsewhere;
mod glob;
mod grep;
mod job_kill;
mod job_list;
mod job_output;
mod ls;
mod multi_edit;
mod notebook_edit;
mod numbering;
mod process;
mod read;
mod terminal;
mod view_image;
mod write;

use std::sync::LazyLock;

use crate::dialects;
use crate::tool::Entry;

/// Every tool, in the order models see them. New ones go to the end of their group, so that the
/// beginning of a prompt stays the same.
pub static ALL: LazyLock<Vec<Entry>> = LazyLock::new(|| {
    vec![
        Entry::of::<read::Read>(),
        Entry::of::<write::Write>(),
        Entry::of::<edit::Edit>(),
        Entry::of::<multi_edit::MultiEdit>(),
        Entry::of::<delete::Delete>(),
        Entry::of::<apply_patch::ApplyPatch>(),
        Entry::of::<notebook_edit::NotebookEdit>(),
        Entry::of::<edit_lines::EditLines>(),
        Entry::of::<view_image::ViewImage>(),
        Entry::of::<grep::Grep>(),
        Entry::of::<glob::Glob>(),
        Entry::of::<ls::Ls>(),
        Entry::of::<bash::Bash>(),
        Entry::of::<job_output::JobOutput>(),
        Entry::of::<job_list::JobList>(),
        Entry::of::<job_kill::JobKill>(),
        Entry::of::<process::Process>(),
        Entry::of::<terminal::Terminal>(),
    ]
});

/// The tool of this name or alias, in whatever dialect. Case counts for nothing, since models slip
/// there.
pub fn find(name: &str) -> Option<&'static Entry> {
    let exact = ALL.iter().find(|it| it.name == name || it.aliases.contains(&name));
    exact
        .or_else(|| canonical(dialects::canonical_name(name)?))
        .or_else(|| ALL.iter().find(|it| it.name.eq_ignore_ascii_case(name)))
}

/// The tool of this canonical name.
pub fn canonical(name: &str) -> Option<&'static Entry> {
    ALL.iter().find(|it| it.name == name)
}

#[cfg(test)]
mod tests;

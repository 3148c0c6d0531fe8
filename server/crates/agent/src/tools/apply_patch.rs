//! `ApplyPatch`: changes, creates, moves and deletes several files at once.
//!
//! Invariant: the whole patch is worked out in memory, against open buffers where there are any,
//! before anything is written; then all of it is applied or none. With `edits.partial` that holds for
//! each group of operations that share a file.

mod draft;
mod groups;
mod missing;

use std::collections::BTreeSet;

use async_trait::async_trait;
use protocol::acp::{ToolCallContent, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use text::patch::{Operation, Patch};
use vfs::Location;

use crate::bounds;
use crate::cards;
use crate::place::Place;
use crate::tool::{Access, Card, Cx, Failure, Output, Tool, text_content};
use crate::tools::change::{self, Done};
use draft::{Draft, Plan, Planned};
use groups::Group;

/// Bytes of the remarks in a result.
const REMARKS: usize = 6_000;
/// Bytes of the problems told.
const PROBLEMS: usize = 12_000;

/// Changes several files with one patch, all of it or nothing:
///
/// ```text
/// *** Begin Patch
/// *** Update File: src/a.rs
/// *** Move to: src/b.rs
/// @@ fn name()
///  a line that stays
/// -a line that goes
/// +a line that is new
/// *** Add File: new.txt
/// +every line with a plus
/// *** Delete File: old.txt
/// *** End Patch
/// ```
///
/// `Move to` and the text after `@@` are optional; the latter names a line somewhere before the
/// change. Give about three unchanged lines around each change, and the changes in the order of the
/// file; `*** End of File` after a change pins it to the end. Lines that go must have been read
/// before. Works on unsaved buffers; unchanged lines keep their bytes.
#[derive(Deserialize, JsonSchema)]
pub struct ApplyPatch {
    /// The patch, from `*** Begin Patch` to `*** End Patch`.
    patch: String,
    /// The file, only for a patch that is nothing but `@@` changes of one file.
    #[serde(default)]
    file_path: Option<String>,
}

#[async_trait]
impl Tool for ApplyPatch {
    const NAME: &'static str = "ApplyPatch";
    const ALIASES: &'static [&'static str] = &["apply_patch", "patch"];
    const FIELDS: &'static [(&'static str, &'static str)] = &[
        ("input", "patch"),
        ("patchText", "patch"),
        ("command", "patch"),
        ("path", "file_path"),
        ("filePath", "file_path"),
    ];

    fn kind() -> ToolKind {
        ToolKind::Edit
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        let patch = self.parse()?;
        let paths = paths(&patch.operations);
        let targets: Result<Vec<_>, _> = paths.iter().map(|it| place.file(it)).collect();
        Ok(Access::write(targets?))
    }

    fn card(&self, place: &Place) -> Card {
        let Ok(patch) = self.parse() else { return Card::new("Patch") };
        let locations = |paths: Vec<&str>| -> BTreeSet<Location> {
            paths.iter().filter_map(|it| Some(place.target(it).ok()?.location)).collect()
        };
        let results = patch.operations.iter().map(|it| match it {
            Operation::Add { path, .. } | Operation::Delete { path } => path.as_str(),
            Operation::Update { path, move_to, .. } => move_to.as_deref().unwrap_or(path),
        });
        let results = locations(results.collect());
        let names: Vec<String> = results.iter().map(|it| place.shown(it)).collect();
        Card {
            title: format!("Patch {}", what(&names)),
            locations: locations(paths(&patch.operations))
                .into_iter()
                .map(|it| (it, None))
                .collect(),
        }
    }

    async fn preview(&self, cx: &Cx) -> Result<Vec<ToolCallContent>, Failure> {
        let parts = Parts::of(cx, &self.parse()?)?;
        Ok(parts.plans.iter().flat_map(|it| &it.files).map(Planned::diff).collect())
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        let patch = self.parse()?;
        let parts = Parts::of(cx, &patch)?;
        parts.apply(cx, patch.notes.into_iter().map(|it| it.message).collect()).await
    }
}

/// What fits of a patch: all of it, unless it may apply in part.
struct Parts {
    /// One plan a group; only one where all of the patch applies or nothing.
    plans: Vec<Plan>,
    /// Why the other groups do not apply.
    problems: Vec<String>,
}

impl Parts {
    /// Works a patch out. A failure where nothing of it applies.
    fn of(cx: &Cx, patch: &Patch) -> Result<Parts, Failure> {
        let groups = match cx.session.world.config().settings.edits.partial {
            true => groups::of(&cx.place, patch).iter().map(Group::patch).collect(),
            false => vec![patch.clone()],
        };
        let mut parts = Parts { plans: Vec::new(), problems: Vec::new() };
        for group in &groups {
            match Draft::of(cx, group) {
                Ok(plan) => parts.plans.push(plan),
                Err(mut problems) => {
                    let untold = untold(cx, &problems, group);
                    let in_part = 1 < groups.len() && !untold.is_empty();
                    if let (true, Some(last)) = (in_part, problems.last_mut()) {
                        last.push_str(&format!("; not applied with it: {}", untold.join(", ")));
                    }
                    parts.problems.extend(problems);
                }
            }
        }
        if parts.plans.is_empty() {
            return Err(draft::refusal(&parts.problems, patch));
        }
        Ok(parts)
    }

    /// Applies each plan by itself.
    async fn apply(self, cx: &Cx, mut remarks: Vec<String>) -> Result<Output, Failure> {
        let Parts { plans, mut problems } = self;
        let mut done: Vec<Done> = Vec::new();
        for plan in plans {
            remarks.extend(plan.notes);
            if plan.files.is_empty() {
                continue;
            }
            let names: Vec<String> =
                plan.files.iter().map(|it| cx.place.shown(&it.location)).collect();
            let label = format!("Patch {}", what(&names));
            let ops = plan.files.into_iter().map(|it| it.op).collect();
            match change::commit(cx, label, ops).await {
                Ok(more) => done.extend(more),
                Err(Failure::Cancelled) if done.is_empty() => return Err(Failure::Cancelled),
                Err(Failure::Cancelled) => {
                    problems.push(format!("{}: the person stopped the call", names.join(", ")));
                    break;
                }
                Err(Failure::Told(why)) if 1 < names.len() => {
                    problems.push(format!("{}: {why}", names.join(", ")));
                }
                Err(Failure::Told(why)) => problems.push(why),
            }
        }
        if done.is_empty() && !problems.is_empty() {
            return Err(Failure::new(bounds::text(&problems.join("\n- "), PROBLEMS)));
        }
        if done.is_empty() {
            let text = "Nothing was changed: the files already are as the patch wants them.";
            return Ok(Output::text(with_remarks(text.to_string(), &remarks)));
        }
        Ok(told(cx, &done, &problems, remarks))
    }
}

impl ApplyPatch {
    fn parse(&self) -> Result<Patch, Failure> {
        let bare = self.patch.trim_start();
        let parsed = match &self.file_path {
            Some(path) if !bare.contains("*** Begin Patch") => {
                let body = bare.trim_end();
                text::patch::parse(&format!(
                    "*** Begin Patch\n*** Update File: {path}\n{body}\n*** End Patch"
                ))
            }
            Some(_) | None => text::patch::parse(&self.patch),
        };
        parsed.map_err(|err| Failure::new(format!("This is no patch: {err}. Nothing was changed.")))
    }
}

/// The files of a group that its problems do not name.
fn untold(cx: &Cx, problems: &[String], group: &Patch) -> Vec<String> {
    let shown = |path: &str| match cx.place.target(path) {
        Ok(target) => cx.place.shown(&target.location),
        Err(_) => path.to_owned(),
    };
    let is_told = |name: &String| problems.iter().any(|it| it.contains(name.as_str()));
    let names = paths(&group.operations).into_iter().map(shown);
    let mut untold: Vec<String> = names.filter(|it| !is_told(it)).collect();
    untold.dedup();
    untold
}

/// Every path these operations write, in order.
fn paths(operations: &[Operation]) -> Vec<&str> {
    let mut paths = Vec::new();
    for operation in operations {
        match operation {
            Operation::Add { path, .. } | Operation::Delete { path } => paths.push(path.as_str()),
            Operation::Update { path, move_to, .. } => {
                paths.push(path);
                paths.extend(move_to.as_deref());
            }
        }
    }
    paths
}

fn what(names: &[String]) -> String {
    match names {
        [one] => one.clone(),
        many => format!("{} files", many.len()),
    }
}

fn told(cx: &Cx, done: &[Done], problems: &[String], mut remarks: Vec<String>) -> Output {
    let (mut all_added, mut all_removed) = (0, 0);
    let mut lines = vec![match problems {
        [] => "Applied:".to_string(),
        _ => "Applied in part; do not send again what was applied. Applied:".to_string(),
    }];
    let mut names = Vec::new();
    for one in done {
        let file = &one.file;
        let shown = cx.place.shown(&file.location);
        let (added, removed) = text::diff::stats(&file.before, &file.changes);
        (all_added, all_removed) = (all_added + added, all_removed + removed);
        lines.push(match &one.operation {
            cards::Operation::Add => format!("A {shown} (+{added})"),
            cards::Operation::Modify => format!("M {shown} (+{added} −{removed})"),
            cards::Operation::Delete => format!("D {shown}"),
            cards::Operation::Move { from } => {
                let from = cx.place.shown(from);
                format!("M {shown} (moved from {from}, +{added} −{removed})")
            }
        });
        remarks.extend(one.unsaved(cx).map(|it| format!("{shown}: {it}")));
        names.push(shown);
    }
    let part = if problems.is_empty() { "" } else { " in part" };
    let title = format!("Patch {}{part} +{all_added} −{all_removed}", what(&names));
    let mut card: Vec<ToolCallContent> = done.iter().map(Done::diff).collect();
    if !problems.is_empty() {
        let problems = bounds::text(&problems.join("\n- "), PROBLEMS);
        let text = format!("Not applied:\n- {problems}");
        card.push(text_content(text.clone()));
        lines.push(text);
    }
    let output = Output::text(with_remarks(lines.join("\n"), &remarks));
    let output = output.with_card(card).with_title(title);
    Output { failed: !problems.is_empty(), ..output }
}

fn with_remarks(text: String, remarks: &[String]) -> String {
    if remarks.is_empty() {
        return text;
    }
    let remarks = remarks.join("\n- ");
    format!("{text}\nNotes:\n- {}", bounds::text(&remarks, REMARKS))
}

#[cfg(test)]
mod scenarios;
#[cfg(test)]
mod tests;

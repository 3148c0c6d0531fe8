//! `Delete`: removes whole files.

use async_trait::async_trait;
use protocol::acp::{ToolCallContent, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use text::{ChangeSet, Rope};
use vfs::{FileKind, Location};

use crate::cards::{self, Operation};
use crate::editor::FileOp;
use crate::place::Place;
use crate::tool::{Access, Card, Cx, Failure, Output, Tool, text_content};
use crate::tools::change::{changed_since_read, commit};

/// Deletes whole files, one after the other; folders are never deleted. A link is deleted itself, not
/// what it leads to. At the first failure it stops and says what was deleted. A file that is not there
/// counts as deleted.
#[derive(Deserialize, JsonSchema)]
pub struct Delete {
    /// The files: absolute, relative to the working directory, or `~/…`.
    #[schemars(length(min = 1))]
    paths: Vec<String>,
    /// Why they are deleted.
    reason: String,
}

#[async_trait]
impl Tool for Delete {
    const NAME: &'static str = "Delete";
    const ALIASES: &'static [&'static str] = &["delete", "delete_file"];
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("path", "paths"), ("file_path", "paths")];

    fn kind() -> ToolKind {
        ToolKind::Delete
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        let targets: Result<Vec<_>, _> = self.paths.iter().map(|it| place.file(it)).collect();
        Ok(Access::write(targets?))
    }

    fn card(&self, place: &Place) -> Card {
        let locations: Vec<Location> =
            self.paths.iter().filter_map(|it| Some(place.target(it).ok()?.location)).collect();
        let names: Vec<String> = locations.iter().map(|it| place.shown(it)).collect();
        Card {
            title: format!("Delete {}", names.join(", ")),
            locations: locations.into_iter().map(|it| (it, None)).collect(),
        }
    }

    async fn preview(&self, cx: &Cx) -> Result<Vec<ToolCallContent>, Failure> {
        let mut blocks = vec![text_content(format!("Why: {}", self.reason))];
        for path in &self.paths {
            let location = cx.place.target(path)?.location;
            if let Ok(snapshot) = cx.vfs.snapshot(&location) {
                blocks.push(deletion(&location, &snapshot.rope));
            }
        }
        Ok(blocks)
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        let mut done: Vec<String> = Vec::new();
        let mut card = Vec::new();
        for path in &self.paths {
            match delete(cx, path).await {
                Ok(Gone { told, block }) => {
                    done.push(told);
                    card.extend(block);
                }
                Err(Failure::Cancelled) => return Err(Failure::Cancelled),
                Err(Failure::Told(text)) if done.is_empty() => return Err(Failure::Told(text)),
                Err(Failure::Told(text)) => {
                    return Err(Failure::new(format!("{} Stopped there. {text}", done.join(" "))));
                }
            }
        }
        Ok(Output::text(done.join("\n")).with_card(card))
    }
}

struct Gone {
    told: String,
    block: Option<ToolCallContent>,
}

async fn delete(cx: &Cx, path: &str) -> Result<Gone, Failure> {
    let target = cx.place.target(path)?;
    let location = cx.place.link(path).unwrap_or(target.location);
    let shown = cx.place.shown(&location);
    let file = location.path().ok_or_else(|| {
        Failure::new(format!("{shown} has no file; only the editor can close it."))
    })?;
    let stat = match cx.vfs.link_stat(file) {
        Ok(stat) => stat,
        Err(_) if cx.vfs.is_open(&location) => {
            return Err(Failure::new(format!(
                "{shown} is only open in the editor, there is no file."
            )));
        }
        Err(_) => return Ok(Gone { told: format!("{shown} was not there."), block: None }),
    };
    if stat.kind == FileKind::Folder {
        return Err(Failure::new(format!("{shown} is a folder; only files can be deleted.")));
    }
    changed_since_read(cx, &location)?;
    let done = commit(cx, format!("Delete {shown}"), vec![FileOp::Delete { location }]).await?;
    let block = done.first().map(|it| vfs::aside(stat.len, || it.diff()));
    Ok(Gone { told: format!("Deleted {shown}."), block })
}

fn deletion(location: &Location, before: &Rope) -> ToolCallContent {
    let after = Rope::new();
    let changes = ChangeSet::between(before, &after);
    cards::diff(location, Operation::Delete, before, &after, &changes)
}

//! `LS`: a folder as a tree.

use async_trait::async_trait;
use protocol::acp::ToolKind;
use schemars::JsonSchema;
use serde::Deserialize;
use vfs::{FileKind, Location, TreeNode, TreeQuery};

use super::grep::{self, layout};
use crate::bounds::{self, counted};
use crate::dialects::Context;
use crate::place::Place;
use crate::tool::{Access, Card, Cx, Failure, Output, Tool};

const ENTRIES: usize = 400;
const DEPTH: usize = 10;

/// Lists a folder as a tree with file sizes. Ignored folders are shown with the number of their
/// entries only.
#[derive(Deserialize, JsonSchema)]
pub struct Ls {
    /// The folder; absent: the working directory.
    path: Option<String>,
    /// How many levels, 10 at most; absent: 2.
    #[schemars(range(min = 1))]
    depth: Option<usize>,
    /// Globs of names to leave out.
    #[serde(default)]
    ignore: Vec<String>,
}

#[async_trait]
impl Tool for Ls {
    const NAME: &'static str = "LS";
    const ALIASES: &'static [&'static str] = &["ls", "list", "list_dir"];
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("dir", "path"), ("directory", "path"), ("file_path", "path")];

    fn kind() -> ToolKind {
        ToolKind::Search
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        Ok(Access::read(vec![place.target(self.folder())?]))
    }

    fn card(&self, place: &Place) -> Card {
        match place.target(self.folder()) {
            Ok(target) => {
                Card::at(format!("List {}", place.shown(&target.location)), target.location)
            }
            Err(_) => Card::new(format!("List {}", self.folder())),
        }
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        let location = cx.place.target(self.folder())?.location;
        let Location::Disk(root) = location else {
            return Err(Failure::new("Only folders on disk can be listed."));
        };
        let depth = self.depth.unwrap_or(2);
        let query = TreeQuery {
            root,
            depth: depth.clamp(1, DEPTH),
            ignore: self.ignore,
            limit: ENTRIES,
            visibility: cx.session.rules().visibility(&cx.place),
        };
        let (vfs, cancel) = (cx.vfs.clone(), cx.cancel.clone());
        let shown = query.root.clone();
        let tree = tokio::task::spawn_blocking(move || vfs.tree(&query, &|| cancel.is_cancelled()))
            .await
            .map_err(|err| Failure::new(format!("The listing failed: {err}.")))?
            .map_err(|err| grep::refused(cx, err))?;
        if tree.cancelled {
            return Err(Failure::Cancelled);
        }
        let mut text = format!("{}/\n", name(shown.display().to_string()));
        for node in &tree.nodes {
            text.push_str(&row(node));
        }
        if tree.nodes.is_empty() {
            text.push_str("(empty)\n");
        }
        if tree.truncated {
            text.push_str(&format!(
                "[cut at {ENTRIES} entries; list a folder below, or less depth]\n"
            ));
        }
        if DEPTH < depth {
            let told = format!("{depth} levels were asked for; {DEPTH} is the most");
            text.push_str(&bounds::note(&told));
        }
        if tree.denied {
            text.push_str("[note: some entries were left out: a rule denies reading them]\n");
        }
        for note in &tree.notes {
            text.push_str(&bounds::note(note));
        }
        Ok(Output::text(text))
    }
}

impl Ls {
    fn folder(&self) -> &str {
        self.path.as_deref().filter(|it| !it.is_empty()).unwrap_or(".")
    }
}

fn name(path: String) -> String {
    layout::name(path, Context::Plain)
}

fn row(node: &TreeNode) -> String {
    let indent = "  ".repeat(node.level + 1);
    let unsaved = if node.unsaved { " [unsaved]" } else { "" };
    let what = match (node.kind, node.collapsed) {
        (FileKind::Folder, Some(count)) if node.ignored => {
            format!("/ ({}, ignored)", counted(count, "entry", "entries"))
        }
        (FileKind::Folder, Some(count)) => format!("/ ({})", counted(count, "entry", "entries")),
        (FileKind::Folder, None) => "/".to_string(),
        (FileKind::Symlink, _) => match &node.leads_to {
            Some(target) => format!(" -> {}", name(target.display().to_string())),
            None => " (link)".to_string(),
        },
        (FileKind::File, _) => format!(" ({})", size(node.len)),
        (kind @ (FileKind::Pipe | FileKind::Socket | FileKind::Device), _) => {
            format!(" ({})", kind.name())
        }
    };
    format!("{indent}{}{what}{unsaved}\n", name(node.name.clone()))
}

fn size(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{:.1} KB", bytes as f64 / 1_024.0),
        _ => format!("{:.1} MB", bytes as f64 / 1_048_576.0),
    }
}

//! `Glob`: finds files by name.

use async_trait::async_trait;
use protocol::acp::ToolKind;
use schemars::JsonSchema;
use serde::Deserialize;
use vfs::{GlobQuery, Location, Order};

use super::elsewhere;
use super::grep::{self, layout};
use crate::bounds;
use crate::place::Place;
use crate::tool::{Access, Card, Cx, Failure, Output, Tool};

/// Finds files by glob, newest first, at most 1,000. Patterns are relative to `path`: `**/*.rs`,
/// `src/**/*.{ts,tsx}`; a bare name is found at any depth. Files that exist only in the editor are
/// found too; ignored files are not.
#[derive(Deserialize, JsonSchema)]
pub struct Glob {
    /// The glob.
    pattern: Option<String>,
    /// Several globs; a file that matches one of them is found.
    #[serde(default)]
    patterns: Vec<String>,
    /// The folder to search; absent: the working directory.
    path: Option<String>,
    /// Whether folders are found too.
    #[serde(default)]
    include_dirs: bool,
    /// At most this many; 1,000 unless given and at most.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
}

#[async_trait]
impl Tool for Glob {
    const NAME: &'static str = "Glob";
    const ALIASES: &'static [&'static str] = &["glob", "find_files"];

    fn kind() -> ToolKind {
        ToolKind::Search
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        if self.all().is_empty() {
            return Err(Failure::new("args.pattern is required: the glob to search for."));
        }
        Ok(Access::read(vec![place.target(&self.scope(place)?.0)?]))
    }

    fn card(&self, place: &Place) -> Card {
        let within = match self.path.as_deref().map(|it| place.target(it)) {
            Some(Ok(target)) => format!(" in {}", place.shown(&target.location)),
            Some(Err(_)) | None => String::new(),
        };
        Card::new(format!("Find {}{within}", self.all().join(", ")))
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        let (folder, patterns) = self.scope(&cx.place)?;
        let Location::Disk(root) = cx.place.target(&folder)?.location else {
            return Err(Failure::new("Only folders on disk can be searched."));
        };
        let most = cx.dialect.found;
        let limit = self.limit.unwrap_or(most.names).clamp(1, most.names);
        let query = GlobQuery {
            patterns,
            include_virtual: cx.place.is_whole(&root),
            root,
            include_dirs: self.include_dirs,
            order: Order::Newest,
            limit,
            visibility: cx.session.rules().visibility(&cx.place),
            ..GlobQuery::default()
        };
        let (vfs, cancel) = (cx.vfs.clone(), cx.cancel.clone());
        let found =
            tokio::task::spawn_blocking(move || vfs.glob(&query, &|| cancel.is_cancelled()))
                .await
                .map_err(|err| Failure::new(format!("The search failed: {err}.")))?
                .map_err(|err| grep::refused(cx, err))?;
        if found.cancelled {
            return Err(Failure::Cancelled);
        }
        let mut text = String::new();
        let mut shown = 0;
        for hit in &found.hits {
            let name = layout::name(cx.place.shown(&hit.location), cx.dialect.context);
            let row = format!("{name}{}\n", if hit.is_dir { "/" } else { "" });
            if most.name_bytes < text.len() + row.len() {
                break;
            }
            text.push_str(&row);
            shown += 1;
        }
        if found.hits.is_empty() {
            text.push_str("No files found.\n");
        }
        if shown < found.total {
            text.push_str(&format!(
                "[showing {} of {}, newest first; use a narrower pattern or path]\n",
                shown, found.total
            ));
        }
        if let Some(wanted) = self.limit.filter(|it| limit < *it) {
            text.push_str(&bounds::note(&format!("{wanted} were asked for; {limit} is the most")));
        }
        if 0 < found.sensitive {
            text.push_str(&grep::withheld(found.sensitive));
        }
        for note in grep::denied(found.denied).iter().chain(&found.notes) {
            text.push_str(&bounds::note(note));
        }
        let title = format!("{} · {} found", self.title(), found.total);
        Ok(Output::text(text).with_title(title))
    }
}

impl Glob {
    fn all(&self) -> Vec<String> {
        self.pattern.iter().chain(&self.patterns).filter(|it| !it.is_empty()).cloned().collect()
    }

    /// The folder searched and the globs in it: globs of another place say themselves where to search.
    fn scope(&self, place: &Place) -> Result<(String, Vec<String>), Failure> {
        elsewhere::scope(self.folder(), self.all(), place)
    }

    fn folder(&self) -> &str {
        self.path.as_deref().filter(|it| !it.is_empty()).unwrap_or(".")
    }

    fn title(&self) -> String {
        format!("Find {}", self.all().join(", "))
    }
}

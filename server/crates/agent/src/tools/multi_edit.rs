//! `MultiEdit`: several replacements in one file, all or none.

use async_trait::async_trait;
use protocol::acp::{ToolCallContent, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use text::find::Occurrences;

use crate::place::Place;
use crate::tool::{Access, Card, Cx, Failure, Output, Tool};
use crate::tools::change::{Plan, Replace, base};
use crate::tools::notebook_edit;

/// Makes several replacements in one file, in order, each on the text the one before left. Either
/// all of them are made or none. The rules of `Edit` hold for each.
#[derive(Deserialize, JsonSchema)]
pub struct MultiEdit {
    /// The file: absolute, relative to the working directory, `~/…`, or an `untitled:` name.
    file_path: String,
    /// The replacements.
    #[schemars(length(min = 1))]
    edits: Vec<One>,
}

/// One replacement.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct One {
    /// The text to replace, without line numbers.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every occurrence of exactly this text.
    #[serde(default)]
    replace_all: bool,
}

#[async_trait]
impl Tool for MultiEdit {
    const NAME: &'static str = "MultiEdit";
    const ALIASES: &'static [&'static str] = &["multi_edit", "multiedit"];
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("path", "file_path"), ("filePath", "file_path")];

    fn kind() -> ToolKind {
        ToolKind::Edit
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        if let Some(nth) = self.edits.iter().position(|it| it.old_string == it.new_string) {
            return Err(Failure::new(format!(
                "Edit {} of {}: old_string and new_string are the same. Nothing was changed.",
                nth + 1,
                self.edits.len()
            )));
        }
        Ok(Access::write(vec![place.file(&self.file_path)?]))
    }

    fn card(&self, place: &Place) -> Card {
        match place.target(&self.file_path) {
            Ok(target) => {
                Card::at(format!("Edit {}", place.shown(&target.location)), target.location)
            }
            Err(_) => Card::new(format!("Edit {}", self.file_path)),
        }
    }

    async fn preview(&self, cx: &Cx) -> Result<Vec<ToolCallContent>, Failure> {
        Ok(vec![self.plan(cx)?.diff()])
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        self.plan(cx)?.apply(cx, "Edit").await
    }
}

impl MultiEdit {
    fn plan(&self, cx: &Cx) -> Result<Plan, Failure> {
        notebook_edit::refuse_notebook(cx, &self.file_path)?;
        let location = cx.place.target(&self.file_path)?.location;
        let edits: Vec<Replace<'_>> = self
            .edits
            .iter()
            .map(|it| Replace {
                old: &it.old_string,
                new: &it.new_string,
                which: if it.replace_all { Occurrences::All } else { Occurrences::One },
            })
            .collect();
        Plan::replace(cx, base(cx, &location)?, &edits)
    }
}

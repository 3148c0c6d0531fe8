//! `Edit`: replaces text in one file.

use async_trait::async_trait;
use protocol::acp::{ToolCallContent, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use text::find::Occurrences;

use crate::place::Place;
use crate::tool::{Access, Card, Cx, Failure, Output, Tool};
use crate::tools::change::{Plan, Replace, base};
use crate::tools::notebook_edit;

/// Replaces text in a file. `old_string` must be the text as the file has it, and occur once unless
/// `replace_all` is set; when it is not found exactly, whitespace, indentation and typographic
/// characters are allowed to differ, and the result says so. The lines must have been read before.
/// An empty `old_string` creates a file that does not exist. Works on unsaved buffers; everything
/// else in the file stays as it is.
#[derive(Deserialize, JsonSchema)]
pub struct Edit {
    /// The file: absolute, relative to the working directory, `~/…`, or an `untitled:` name.
    file_path: String,
    /// The text to replace, without line numbers.
    old_string: String,
    /// The text to put in its place.
    new_string: String,
    /// Replace every occurrence of exactly this text.
    #[serde(default)]
    replace_all: bool,
}

#[async_trait]
impl Tool for Edit {
    const NAME: &'static str = "Edit";
    const ALIASES: &'static [&'static str] = &["edit", "edit_file"];
    const FIELDS: &'static [(&'static str, &'static str)] = &[
        ("path", "file_path"),
        ("filePath", "file_path"),
        ("oldString", "old_string"),
        ("newString", "new_string"),
        ("replaceAll", "replace_all"),
    ];

    fn kind() -> ToolKind {
        ToolKind::Edit
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        if self.old_string == self.new_string {
            return Err(Failure::new(
                "old_string and new_string are the same, so there is nothing to change.",
            ));
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
        let verb = if self.old_string.is_empty() { "Create" } else { "Edit" };
        self.plan(cx)?.apply(cx, verb).await
    }
}

impl Edit {
    fn plan(&self, cx: &Cx) -> Result<Plan, Failure> {
        notebook_edit::refuse_notebook(cx, &self.file_path)?;
        let location = cx.place.target(&self.file_path)?.location;
        if self.old_string.is_empty() && !cx.vfs.exists(&location) {
            return Ok(Plan::create(location, &self.new_string));
        }
        let base = base(cx, &location)?;
        if self.old_string.is_empty() && base.rope.len_bytes() == 0 {
            return Plan::whole(cx, location, &self.new_string);
        }
        let which = if self.replace_all { Occurrences::All } else { Occurrences::One };
        Plan::replace(cx, base, &[Replace { old: &self.old_string, new: &self.new_string, which }])
    }
}

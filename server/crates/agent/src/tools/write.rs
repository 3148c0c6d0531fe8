//! `Write`: creates a file, or replaces or extends its whole text.

use async_trait::async_trait;
use protocol::acp::{ToolCallContent, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use text::{ChangeSet, Edit, LineEndings, to_ending};

use crate::place::Place;
use crate::tool::{Access, Card, Cx, Failure, Output, Tool};
use crate::tools::change::{Plan, base};

/// Creates a file, with its folders, or replaces the whole text of one. A file that exists must have
/// been read whole before; to change a part of it use `Edit`. With mode `append` the text is added at
/// the end as it is.
#[derive(Deserialize, JsonSchema)]
pub struct Write {
    /// The file: absolute, relative to the working directory, `~/…`, or an `untitled:` name.
    file_path: String,
    /// The text.
    content: String,
    /// What to do with text that is there.
    #[serde(default)]
    mode: Mode,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Mode {
    /// Replace it.
    #[default]
    Overwrite,
    /// Add to its end.
    Append,
}

#[async_trait]
impl Tool for Write {
    const NAME: &'static str = "Write";
    const ALIASES: &'static [&'static str] = &["write", "write_file", "WriteFile"];
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("path", "file_path"), ("filePath", "file_path"), ("text", "content")];

    fn kind() -> ToolKind {
        ToolKind::Edit
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        Ok(Access::write(vec![place.file(&self.file_path)?]))
    }

    fn card(&self, place: &Place) -> Card {
        match place.target(&self.file_path) {
            Ok(target) => {
                Card::at(format!("Write {}", place.shown(&target.location)), target.location)
            }
            Err(_) => Card::new(format!("Write {}", self.file_path)),
        }
    }

    async fn preview(&self, cx: &Cx) -> Result<Vec<ToolCallContent>, Failure> {
        Ok(vec![self.plan(cx)?.diff()])
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        self.plan(cx)?.apply(cx, "Write").await
    }
}

impl Write {
    fn plan(&self, cx: &Cx) -> Result<Plan, Failure> {
        let location = cx.place.target(&self.file_path)?.location;
        if !cx.vfs.exists(&location) {
            // It ends its lines as its project does, whatever the model is used to.
            return Plan::whole(cx, location, &self.content.replace("\r\n", "\n"));
        }
        if self.mode == Mode::Overwrite {
            return Plan::whole(cx, location, &self.content);
        }
        let base = base(cx, &location)?;
        let end = base.rope.len_bytes();
        let text = to_ending(&self.content, LineEndings::of(&base.rope).dominant());
        let changes = ChangeSet::new(end, vec![Edit { range: end..end, text }])
            .map_err(|err| Failure::new(format!("The text could not be appended: {err:?}.")))?;
        Ok(Plan::edit(base, changes))
    }
}

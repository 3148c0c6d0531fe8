//! `ViewImage`: shows a picture or a video.

use async_trait::async_trait;
use media::Kind;
use protocol::acp::ToolKind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::place::Place;
use crate::tool::{Access, Card, Content, Cx, Failure, Output, Sees, Tool};
use crate::tools::read::{self, medium};

/// Shows an image (PNG, JPEG, WebP, GIF, BMP, TIFF; of an animation the first frame) or, where the
/// model takes them, a video. At most 100 MB; images are scaled down to 2,000 pixels.
#[derive(Deserialize, JsonSchema)]
pub struct ViewImage {
    /// The file: absolute, relative to the working directory, or `~/…`.
    file_path: String,
    /// What it is called in the conversation.
    label: Option<String>,
}

#[async_trait]
impl Tool for ViewImage {
    const NAME: &'static str = "ViewImage";
    const ALIASES: &'static [&'static str] = &["view_image", "ReadMediaFile", "read_media_file"];
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("path", "file_path"), ("filePath", "file_path")];

    fn kind() -> ToolKind {
        ToolKind::Read
    }

    fn is_of_use(sees: Sees) -> bool {
        sees.images || sees.video
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        Ok(Access::read(vec![place.target(&self.file_path)?]))
    }

    fn card(&self, place: &Place) -> Card {
        match place.target(&self.file_path) {
            Ok(target) => {
                Card::at(format!("View {}", place.shown(&target.location)), target.location)
            }
            Err(_) => Card::new(format!("View {}", self.file_path)),
        }
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        let location = cx.place.target(&self.file_path)?.location;
        let shown = cx.place.shown(&location);
        let Some(found) = medium::of(cx, &location) else {
            // What is wrong with the path is told as for any file.
            cx.vfs.readable(&location).map_err(|err| read::failure(cx, err))?;
            if shown.to_ascii_lowercase().ends_with(".svg") {
                return Err(medium::drawing(cx, &shown));
            }
            return Err(Failure::new(format!(
                "{shown} is no image or video. Use {} for text.",
                cx.dialect.called("Read")
            )));
        };
        let mut output = match found.kind {
            Kind::Picture(kind) => medium::picture(cx, &found, kind).await?,
            Kind::Video(media_type) => medium::video(cx, &found, media_type).await?,
            Kind::Unsupported(name) => return Err(medium::unsupported(cx, &found, name)),
            Kind::Document => {
                return Err(Failure::new(format!(
                    "{shown} is a PDF. Use {} for its pages.",
                    cx.dialect.called("Read")
                )));
            }
        };
        if let Some(label) = self.label.filter(|it| !it.trim().is_empty()) {
            output.content.insert(0, Content::Text(crate::bounds::text(&label, 200)));
        }
        Ok(output)
    }
}

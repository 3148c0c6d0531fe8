//! Pictures and videos, shown to models that take them and described to the others.

use base64::{Engine, engine::general_purpose::STANDARD};
use media::{Answer, Kind, MAX_FILE, Picture, PictureKind, Request};
use protocol::acp::ToolCallContent;
use vfs::{FileKind, Location};

use crate::cards;
use crate::decoding::decode;
use crate::tool::{Content, Cx, Failure, Output};

/// Bytes of a file that tell what it is.
const HEAD: u64 = 1_024;
/// Bytes of a video that a request may carry beside everything else.
const INLINE_VIDEO: u64 = 14_000_000;

/// A file that is no text.
pub struct Medium {
    pub location: Location,
    pub kind: Kind,
    /// Bytes of the file.
    pub len: u64,
}

/// What a closed file is by its first bytes; `None` for text, for what is open as such, and for what
/// cannot be read.
pub fn of(cx: &Cx, location: &Location) -> Option<Medium> {
    let path = location.path().filter(|_| !cx.vfs.is_open(location))?;
    let stat = cx.vfs.stat(path).ok().filter(|it| it.kind == FileKind::File)?;
    let kind = Kind::of(&cx.vfs.read_head(path, HEAD).ok()?)?;
    Some(Medium { location: location.clone(), kind, len: stat.len })
}

/// All bytes of a medium, read where that holds nothing else up.
pub async fn bytes(cx: &Cx, medium: &Medium) -> Result<Vec<u8>, Failure> {
    let shown = cx.place.shown(&medium.location);
    if MAX_FILE < medium.len {
        return Err(Failure::new(format!(
            "{shown} has {} bytes, more than the {MAX_FILE} that are read. Make a smaller copy of it.",
            medium.len
        )));
    }
    let path = medium.location.path().map(ToOwned::to_owned).unwrap_or_default();
    let vfs = cx.vfs.clone();
    let read = tokio::task::spawn_blocking(move || vfs.read_bytes(&path, MAX_FILE)).await;
    match read {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(err)) => Err(Failure::new(format!("{shown} cannot be read: {err}."))),
        Err(err) => Err(Failure::new(format!("{shown} cannot be read: {err}."))),
    }
}

/// A picture for model and card.
pub async fn picture(cx: &Cx, medium: &Medium, kind: PictureKind) -> Result<Output, Failure> {
    let shown = cx.place.shown(&medium.location);
    let picture = decoded(cx, &shown, bytes(cx, medium).await?).await?;
    let (width, height) = (picture.full_width, picture.full_height);
    let mut facts =
        format!("{} image, {width} × {height} pixels, {} bytes", kind.name(), medium.len);
    if (picture.width, picture.height) != (width, height) {
        facts.push_str(&format!("; shown at {} × {}", picture.width, picture.height));
    }
    let card = card(&facts, &picture);
    if !cx.sees.images {
        let text = format!(
            "[{facts}]\n[The model in use takes no images, so {shown} is not shown to you. Ask the person \
             what it shows, or for a model that takes images.]"
        );
        return Ok(Output::text(text).with_card(card));
    }
    let content = vec![Content::Text(format!("[{facts}]")), image(picture)];
    Ok(Output { content, card, ..Output::default() })
}

/// Has the bytes of a picture decoded; `name` stands before what is wrong with it.
pub async fn decoded(cx: &Cx, name: &str, bytes: Vec<u8>) -> Result<Picture, Failure> {
    let decoded = decode(cx, Request::Picture, bytes).await?;
    match decoded.answers.into_iter().next() {
        Some(Answer::Picture(picture)) => Ok(picture),
        Some(Answer::Refused(why)) => Err(Failure::new(format!("{name} {why}."))),
        Some(Answer::Document { .. } | Answer::Page(_)) | None => {
            let why = decoded.fault.unwrap_or("could not be decoded");
            Err(Failure::new(format!("{name} {why}. Convert it to a smaller PNG or JPEG.")))
        }
    }
}

/// A picture for the model.
pub fn image(picture: Picture) -> Content {
    Content::Image { media_type: picture.media_type, data: picture.data }
}

/// What a card shows of a picture: the small one where there is one.
pub fn card(facts: &str, picture: &Picture) -> Vec<ToolCallContent> {
    let shown = picture.preview.as_deref().unwrap_or(picture);
    let text = Content::Text(format!("[{facts}]"));
    cards::of_content(&[text, image(shown.clone())])
}

/// A video for the model.
pub async fn video(cx: &Cx, medium: &Medium, media_type: &str) -> Result<Output, Failure> {
    let shown = cx.place.shown(&medium.location);
    let facts = format!("{media_type}, {} bytes", medium.len);
    if !cx.sees.video {
        return Err(Failure::new(format!(
            "{shown} is a video ({facts}), and the model in use takes none. Make pictures of it, e.g. with \
             ffmpeg, and look at those."
        )));
    }
    if INLINE_VIDEO < medium.len {
        return Err(Failure::new(format!(
            "{shown} is a video of {} bytes; a request carries {INLINE_VIDEO} at most. Make a shorter or \
             smaller copy of it, e.g. with ffmpeg.",
            medium.len
        )));
    }
    let data = STANDARD.encode(bytes(cx, medium).await?);
    let content = vec![
        Content::Text(format!("[{facts}]")),
        Content::Video { media_type: media_type.into(), data },
    ];
    let card = cards::of_content(&content[..1]);
    Ok(Output { content, card, ..Output::default() })
}

/// An image of this kind, with its article.
pub fn image_of(kind: &str) -> String {
    let article = if kind.starts_with(['A', 'E', 'I', 'O']) { "an" } else { "a" };
    format!("{article} {kind} image")
}

/// The refusal of an SVG, which is text as well.
pub fn drawing(cx: &Cx, shown: &str) -> Failure {
    Failure::new(format!(
        "{shown} is an SVG image, which is not drawn. Convert it to PNG to see it, or use {} with {} 1 for its \
         source.",
        cx.dialect.called("Read"),
        super::offset(cx)
    ))
}

/// The refusal of a picture that is not decoded.
pub fn unsupported(cx: &Cx, medium: &Medium, name: &str) -> Failure {
    Failure::new(format!(
        "{} is {} ({} bytes), which is not decoded. Convert it to PNG or JPEG and look at that.",
        cx.place.shown(&medium.location),
        image_of(name),
        medium.len
    ))
}

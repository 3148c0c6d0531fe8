//! Pictures and documents made fit for a model.
//!
//! Invariant: whatever the bytes are, an answer is bounded. Decoders run in a process of their own
//! ([`decode_main`]), with limits on memory and time, so that hostile files cost an error message
//! and nothing else. Nothing here opens a file.

mod document;
mod kind;
mod page_text;
mod picture;
mod process;

use serde::{Deserialize, Serialize};

pub use kind::{Kind, PictureKind};
pub use process::decode_main;

/// Bytes of a file that is looked at; a larger one is refused by whoever reads it.
pub const MAX_FILE: u64 = 100_000_000;
/// Pixels of the longer side of what a model is shown.
pub const MAX_SIDE: u32 = 2_000;
/// Bytes of a picture that a model is shown; as base64 they stay below 5 MiB.
pub const MAX_PICTURE: usize = 3_900_000;
/// Pixels of a picture that is decoded.
pub const MAX_PIXELS: u64 = 100_000_000;
/// Bytes of a picture that needs no preview.
const MAX_WITHOUT_PREVIEW: usize = 300_000;
/// Pages of one answer.
pub const MAX_PAGES: u32 = 20;
/// Bytes of one page's text.
pub const MAX_PAGE_TEXT: usize = 100_000;
/// Bytes of one page's picture.
pub const MAX_PAGE_PICTURE: usize = 600_000;

/// What is asked of the decoding process: one line of JSON, and after it the file's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Request {
    /// A picture of any known kind.
    Picture,
    /// Pages of a PDF, 1-based and inclusive.
    Pages { first: u32, last: u32, shown: Shown },
}

/// How pages are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// Their text.
    Text,
    /// Their text and a picture of each.
    TextAndPictures,
}

/// One line of the decoding process's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The only line for a picture.
    Picture(Picture),
    /// How many pages a document has; its pages follow.
    Document { pages: u32 },
    /// One page.
    Page(Page),
    /// Why there is no more: half a sentence, to stand after the file's name.
    Refused(String),
}

/// A picture, scaled and turned upright.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    /// `image/png` or `image/jpeg`.
    pub media_type: String,
    /// Base64 without line breaks.
    pub data: String,
    /// Pixels of what is shown.
    pub width: u32,
    pub height: u32,
    /// Pixels of the file's own picture, upright.
    pub full_width: u32,
    pub full_height: u32,
    /// A small one for where there is little room; absent where the picture is small itself.
    pub preview: Option<Box<Picture>>,
}

/// A page of a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page {
    /// 1-based.
    pub number: u32,
    /// In the order it is drawn; empty where the page is a picture.
    pub text: String,
    /// Where one was asked for and could be drawn.
    pub picture: Option<Picture>,
    /// Why text or picture are missing.
    pub fault: Option<String>,
}

//! For Claude: the canonical names; edits by replacing text.

use std::sync::OnceLock;

use crate::bounds::RESULT;
use crate::dialects::{Context, Dialect, Found, Lines, Looks, Media, Time};

pub static DIALECT: Dialect = Dialect {
    name: "claude",
    lines: Lines::Numbered,
    context: Context::Plain,
    found: Found::MUCH,
    media: Media::InRead,
    looks: Looks::Status,
    time: Time::USUAL,
    printed: RESULT,
    hidden: &[("ApplyPatch", "Edit"), ("EditLines", "Edit")],
    faces: &[],
    shown: OnceLock::new(),
};

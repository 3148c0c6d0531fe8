//! For weaker models and those people run themselves: edits by anchors of lines, which need no old
//! text to be repeated.

use std::sync::OnceLock;

use crate::bounds::RESULT;
use crate::dialects::{Context, Dialect, Found, Lines, Looks, Media, Time};

pub static DIALECT: Dialect = Dialect {
    name: "local",
    lines: Lines::Anchored,
    context: Context::Plain,
    found: Found::MUCH,
    media: Media::InRead,
    looks: Looks::Status,
    time: Time::USUAL,
    printed: RESULT,
    hidden: &[("Edit", "EditLines"), ("MultiEdit", "EditLines"), ("ApplyPatch", "EditLines")],
    faces: &[],
    shown: OnceLock::new(),
};

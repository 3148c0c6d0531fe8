//! Which files of a patch are moved, with bytes, mode and encoding, and which get another's text only.
//!
//! Invariant: a name may be left by one file and taken by another in one patch as long as the editor shows
//! none of the files that depend on each other that way; their bytes are moved on disk, together.

use super::{Base, File, Now, Planned};
use crate::editor::FileOp;
use crate::tool::Cx;
use vfs::Location;

/// The file that is moved to this name.
pub fn moved_from(cx: &Cx, files: &[File], at: usize) -> Option<usize> {
    came_from(files, at).filter(|_| is_move(cx, files, at))
}

/// Whether the file of this name is moved to another.
pub fn leaves(cx: &Cx, files: &[File], at: usize) -> bool {
    let target = (0..files.len()).find(|it| came_from(files, *it) == Some(at));
    target.is_some_and(|it| is_move(cx, files, it))
}

/// Whether the file of this name is deleted: nothing is left there, or another is moved there.
pub fn is_gone(cx: &Cx, files: &[File], at: usize) -> bool {
    let file = &files[at];
    let makes_room = matches!(file.now, Now::Absent) || moved_from(cx, files, at).is_some();
    makes_room && !matches!(file.base, Base::Absent) && !leaves(cx, files, at)
}

/// Why what is no text cannot make room for a text at its name.
pub fn stuck(cx: &Cx, files: &[File]) -> Option<String> {
    let at = (0..files.len()).find(|at| {
        let file = &files[*at];
        matches!((&file.base, &file.now), (Base::Other(_), Now::Text { .. }))
            && moved_from(cx, files, *at).is_none()
            && !leaves(cx, files, *at)
    })?;
    Some(format!(
        "{} is no text; delete it with one patch and put a text there with the next",
        files[at].shown
    ))
}

/// What the author of the patch should know of a name that another file has now.
pub fn note(cx: &Cx, files: &[File], at: usize) -> Option<String> {
    let file = &files[at];
    let from = came_from(files, at)?;
    let shown = &files[from].shown;
    if !is_move(cx, files, at) {
        return Some(match &file.base {
            Base::Absent | Base::Other(_) => {
                format!("{} is a new file with the text of {shown}", file.shown)
            }
            Base::Text(_) => format!(
                "{} has the text of {shown} and its own mode, encoding and line endings: the editor \
                 shows one of the files",
                file.shown
            ),
        });
    }
    let is_text = |it: &Base| matches!(it, Base::Text(_));
    let is_replaced = is_gone(cx, files, at) || is_circle(files, at);
    (is_replaced && !(is_text(&file.base) && is_text(&files[from].base))).then(|| {
        format!(
            "{} took the place of another file and one of them is no text, so the person cannot review it",
            file.shown
        )
    })
}

/// In an order in which each name is left before it is taken, except where files change places.
pub fn ordered(mut left: Vec<Planned>) -> Vec<Planned> {
    let mut ordered = Vec::with_capacity(left.len());
    while !left.is_empty() {
        let free = left.iter().position(|it| {
            let wanted = it.op.taken();
            wanted.is_none_or(|name| !left.iter().any(|other| other.op.left() == Some(name)))
        });
        ordered.push(left.remove(free.unwrap_or(0)));
    }
    ordered
}

impl FileOp {
    /// The name where a file comes to be.
    fn taken(&self) -> Option<&Location> {
        match self {
            FileOp::Create { location, .. } => Some(location),
            FileOp::Move { to, .. } => Some(to),
            FileOp::Modify { .. } | FileOp::Delete { .. } => None,
        }
    }

    /// The name where a file is no more.
    pub fn left(&self) -> Option<&Location> {
        match self {
            FileOp::Delete { location } => Some(location),
            FileOp::Move { from, .. } => Some(from),
            FileOp::Modify { .. } | FileOp::Create { .. } => None,
        }
    }
}

/// The other file whose text or bytes this name has.
fn came_from(files: &[File], at: usize) -> Option<usize> {
    let from = match &files[at].now {
        Now::Text { of, .. } => of.as_ref().map(|(from, _)| *from),
        Now::Other(from) => Some(*from),
        Now::Absent => None,
    };
    from.filter(|from| *from != at)
}

/// Whether what came to this name is moved there. Editors move files only to names that are free.
fn is_move(cx: &Cx, files: &[File], to: usize) -> bool {
    let Some(from) = came_from(files, to) else { return false };
    let is_open = |at: usize| cx.vfs.is_open(&files[at].location);
    let is_plain = matches!(files[from].now, Now::Absent) && matches!(files[to].base, Base::Absent);
    (is_plain && !is_open(to)) || !tied(files, to).into_iter().any(is_open)
}

/// The files that take each other's names, this one among them.
fn tied(files: &[File], at: usize) -> Vec<usize> {
    let mut tied = vec![at];
    let mut next = 0;
    while let Some(one) = tied.get(next).copied() {
        let beside =
            |it: &usize| came_from(files, *it) == Some(one) || came_from(files, one) == Some(*it);
        let more: Vec<usize> =
            (0..files.len()).filter(beside).filter(|it| !tied.contains(it)).collect();
        tied.extend(more);
        next += 1;
    }
    tied
}

/// Whether the files that take each other's names have no free one among them.
fn is_circle(files: &[File], at: usize) -> bool {
    tied(files, at).into_iter().all(|it| came_from(files, it).is_some())
}

//! Links that decisions bring back, and the files that the agent wrote in their place.
//!
//! Invariant: nothing is written through such a link: what it leads to was no part of the change.

use agent::editor::ApplyError;
use text::{ChangeSet, Rope};
use vfs::{Image, Location, Undo, UndoEntry};

use super::Parts;
use super::disk::DiskStep;
use super::transaction::refused;
use crate::review::Held;

const LINK_STANDS: &str = "a link stands there now; it stays as it is";

impl Parts {
    /// Puts a link back in whose place the agent wrote a file, or that file again; absent where no link has to do
    /// with the change.
    pub(super) async fn exchange_link(
        &self,
        location: &Location,
        (known, changes): (Option<&Rope>, &ChangeSet),
        held: &Held,
    ) -> Option<Result<DiskStep, ApplyError>> {
        let link = held.before(location).filter(|it| matches!(it, Image::Symlink { .. }))?;
        let path = self.vfs.standing_path(location.path()?);
        let now = self.vfs.standing(&path).ok().flatten()?.image;
        let known = known.filter(|it| it.len_bytes() == changes.len_before())?;
        let wanted = changes.apply(known);
        let is_link = matches!(now, Image::Symlink { .. });
        let before = match is_link {
            false if held.gone(location).is_some_and(|it| it == wanted) => link,
            false => return None,
            true => {
                let file =
                    held.whole_change(location).and_then(|it| it.entries.into_iter().next()?.after);
                let text = |it: &Image| self.vfs.image_text(it).ok().flatten();
                match file.filter(|it| text(it).is_some_and(|it| it == wanted)) {
                    Some(file) => file,
                    None => return Some(Err(refused(location.clone(), LINK_STANDS))),
                }
            }
        };
        let undo = Undo {
            entries: vec![UndoEntry { path, before: Some(before), after: Some(now) }],
            folders: Vec::new(),
        };
        if let Err(location) = self.revert(undo.clone()).await {
            return Some(Err(refused(location, "it changed just now; try again")));
        }
        if !is_link {
            held.keep_whole_change(location, undo);
        }
        held.note_place(location);
        Some(Ok(DiskStep { ops: Vec::new(), before: known.clone(), changes: changes.clone() }))
    }
}

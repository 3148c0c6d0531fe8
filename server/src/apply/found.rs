//! Files that a command changed: kept for undo, entered as pending.

use std::collections::BTreeSet;

use agent::editor::{Found, FoundFile, FoundOutcome, Side};
use text::{LineEnding, Rope, to_ending};
use tokio::task::spawn_blocking;
use vfs::{Location, Undo};

use super::Parts;
use crate::capabilities::EditorKind;

impl Parts {
    /// Enters what a command changed; one outcome a file, in order.
    pub(super) async fn enter_found(&self, found: Found) -> Vec<FoundOutcome> {
        let Found { session, call, files } = found;
        let origin = review::Origin::of(&session, &call);
        let mut outcomes = Vec::with_capacity(files.len());
        let mut touched = BTreeSet::new();
        for file in files {
            let location = self.document_of(&file.location);
            let _lock = self.locks.take([&location]).await;
            let undo = self.keep_both(&file).await;
            let file = self.as_the_editor_has_it(&location, file);
            let held = self.review.hold([&location]);
            let outcome = match undo {
                Ok(undo) => held.found(&location, &file, Some(undo), &origin),
                Err(reason) => FoundOutcome::Failed(reason),
            };
            drop(held);
            outcomes.push(outcome);
            touched.insert(location);
        }
        self.publish(&touched);
        outcomes
    }

    /// The document the editor has open of a file, by whatever name; else the file.
    fn document_of(&self, location: &Location) -> Location {
        let real = location.path().map(|path| self.vfs.real_path(path));
        real.and_then(|real| self.vfs.open_at(&real)).unwrap_or_else(|| location.clone())
    }

    /// Neovim's buffers have `\n` at every line's end, whatever the file has.
    fn as_the_editor_has_it(&self, location: &Location, mut file: FoundFile) -> FoundFile {
        if self.client.editor == EditorKind::Neovim && self.vfs.is_open(location) {
            for side in [&mut file.before, &mut file.after].into_iter().flatten() {
                let text = side.text.to_string();
                side.text = Rope::from_str(&to_ending(&text, LineEnding::Lf));
            }
        }
        file
    }

    /// Journals both sides, so that the file can come back as it was.
    async fn keep_both(&self, file: &FoundFile) -> Result<Undo, String> {
        let vfs = self.vfs.clone();
        let file = file.clone();
        let kept = spawn_blocking(move || {
            let path = file.location.path().unwrap_or(std::path::Path::new(""));
            let side = |it: &Option<Side>| it.clone().map(|it| (it.bytes, it.mode));
            let (before, after) = (side(&file.before), side(&file.after));
            vfs.keep_change(
                path,
                before.as_ref().map(|(bytes, mode)| (&bytes[..], *mode)),
                after.as_ref().map(|(bytes, mode)| (&bytes[..], *mode)),
            )
        });
        match kept.await {
            Ok(Ok(undo)) => Ok(undo),
            Ok(Err(error)) => Err(format!("no undo copy: {error}")),
            Err(error) => Err(error.to_string()),
        }
    }
}

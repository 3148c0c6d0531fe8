//! Files that a command changed: kept for undo, entered as pending.

use std::path::Path;

use agent::editor::{Found, FoundFile, FoundOutcome, Side};
use agent::settings::ReviewPolicy;
use tokio::task::spawn_blocking;
use vfs::{Location, Undo};

use super::Parts;
use super::record::{of_entry, with_pending};

impl Parts {
    /// Enters what a command changed; one outcome a file, in order.
    pub(super) async fn enter_found(&self, found: Found) -> Vec<FoundOutcome> {
        let Found { session, call, files, review } = found;
        let origin = review::Origin::of(&session, &call);
        let mut outcomes = Vec::with_capacity(files.len());
        for file in files {
            let location = self.document_of(&file.location, &file.real);
            let _lock = self.locks.take([&location]).await;
            let undo = self.keep_both(&file).await;
            let earlier = self.review.earlier_than_command(&location);
            let held = self.review.hold([&location]);
            let mut moments = Vec::new();
            let outcome = match undo {
                Ok(undo) => {
                    if let Some(image) = undo.entries.first().and_then(|it| it.before.clone()) {
                        held.keep_before(&location, image);
                    }
                    moments.extend(undo.entries.iter().map(|entry| of_entry(&location, entry)));
                    held.found(&location, &file, Some(undo), (&origin, review))
                }
                Err(reason) => FoundOutcome::Failed(reason),
            };
            let pending = self.review.taken_from(earlier);
            match (review, &outcome) {
                (ReviewPolicy::Auto, FoundOutcome::Pending) => {
                    self.accept_at_once(&held, [&location], &call);
                }
                (ReviewPolicy::Auto | ReviewPolicy::AfterTurn | ReviewPolicy::Blocking, _) => {}
            }
            drop(held);
            self.record((&session, &call), with_pending(moments, pending)).await;
            outcomes.push(outcome);
        }
        self.publish_kept().await;
        outcomes
    }

    /// The document the editor has open of a file, by whatever name; else the file.
    fn document_of(&self, location: &Location, real: &Path) -> Location {
        self.vfs.open_at(real).unwrap_or_else(|| location.clone())
    }

    /// Journals both sides, so that the file can come back as it was.
    async fn keep_both(&self, file: &FoundFile) -> Result<Undo, String> {
        let vfs = self.vfs.clone();
        let file = file.clone();
        let kept = spawn_blocking(move || {
            let side = |it: &Option<Side>| it.clone().map(|it| (it.bytes, it.mode));
            let (before, after) = (side(&file.before), side(&file.after));
            vfs.keep_change(
                &file.real,
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

//! Before a command runs: files that the agent changed only in the editor are offered to be saved, so
//! that the command sees them.
//!
//! Invariant: a buffer that holds the person's own unsaved text is saved only when they say so.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use vfs::{Dirty, Location};

use crate::ask::{self, Save};
use crate::bounds;
use crate::editor::Saved;
use crate::permission::shell;
use crate::session::Shared;
use crate::settings::Mode;
use crate::tool::{CommandAccess, Failure};

/// Offers to save what the command may read; gives a note for the command's result.
pub async fn before_command(
    shared: &Arc<Shared>,
    command: &CommandAccess,
    cancel: &CancellationToken,
) -> Result<Option<String>, Failure> {
    let unsaved = unsaved(shared, command);
    if unsaved.is_empty() {
        return Ok(None);
    }
    let place = shared.place();
    let wanted: Vec<(Location, Dirty)> = match shared.mode() {
        // Only the agent's own edits: nobody is asked, and nothing of the person's is saved.
        Mode::Auto => unsaved.into_iter().filter(|(_, dirty)| *dirty == Dirty::Ours).collect(),
        Mode::Ask | Mode::Plan | Mode::Edit => {
            let files: Vec<String> = unsaved
                .iter()
                .map(|(location, dirty)| match dirty {
                    Dirty::Person => {
                        format!("{} (also holds changes of your own)", place.shown(location))
                    }
                    Dirty::Ours | Dirty::Clean => place.shown(location),
                })
                .collect();
            let title = format!("Save before running `{}`?", bounds::title(&command.script));
            match ask::save(shared, title, &files, cancel).await {
                Save::Yes => unsaved,
                Save::No => Vec::new(),
                Save::Cancelled => return Err(Failure::Cancelled),
            }
        }
    };
    if wanted.is_empty() {
        return Ok(Some(
            "some edits are only in the editor; the command read the files without them".into(),
        ));
    }
    let locations: Vec<Location> = wanted.into_iter().map(|(location, _)| location).collect();
    let outcomes = shared.world.editor.save(&locations).await;
    let notes: Vec<String> = locations
        .iter()
        .zip(outcomes)
        .map(|(location, outcome)| match outcome {
            Saved::Yes => format!("{} was saved first", place.shown(location)),
            Saved::No(reason) => {
                format!("{} could not be saved first: {reason}", place.shown(location))
            }
        })
        .collect();
    Ok(Some(notes.join("; ")))
}

/// Files with unsaved edits of this session that the command may read.
fn unsaved(shared: &Arc<Shared>, command: &CommandAccess) -> Vec<(Location, Dirty)> {
    let place = shared.place();
    let reads_only_named = shell::is_read_only(&command.script, &place);
    let edited = shared.edited();
    shared
        .world
        .vfs
        .open_documents()
        .into_iter()
        .filter(|it| it.dirty != Dirty::Clean && edited.contains(&it.location))
        .filter(|it| {
            let name =
                it.location.path().and_then(|it| it.file_name()).map(|it| it.to_string_lossy());
            // A command that only reads sees what it names.
            !reads_only_named || name.is_some_and(|it| command.script.contains(it.as_ref()))
        })
        .filter(|it| it.location.path().is_some())
        .map(|it| (it.location, it.dirty))
        .collect()
}

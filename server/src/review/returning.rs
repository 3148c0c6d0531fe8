//! What was pending in a file before a change of the agent's, kept with the change for when it is taken back.
//!
//! Invariant: kept are the hunks as they were, and which of them the change itself took away; what was
//! decided on by the person never comes back by a restore.

use std::collections::{BTreeMap, BTreeSet};

use review::{HunkId, Remembered, Returning};
use serde::{Deserialize, Serialize};
use text::Rope;
use vfs::{Image, Location, Undo};

use super::kept::KeptFile;
use super::{Held, Review, Table};

/// What is pending in a file, and known beside the ledger.
pub struct Known {
    hunks: Remembered<Location>,
    undo: Option<Undo>,
    before: Option<Image>,
    command: Option<Undo>,
}

/// What is pending in files that are about to be changed, those that have any.
#[derive(Default)]
pub struct Earlier(BTreeMap<Location, Known>);

/// As it is kept.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// Hunks that the change took away.
    gone: Vec<HunkId>,
    file: KeptFile,
}

/// What comes back where steps of a file are taken back.
pub struct Back {
    known: Known,
    gone: BTreeSet<HunkId>,
}

impl Earlier {
    /// Adds what was pending in a file before, where something was.
    pub fn add(&mut self, location: &Location, known: Option<Known>) {
        self.0.extend(known.map(|it| (location.clone(), it)));
    }
}

impl Review {
    /// What is pending in these files.
    pub fn earlier<'a>(&self, files: impl IntoIterator<Item = &'a Location>) -> Earlier {
        let table = self.table();
        let mut earlier = Earlier::default();
        for file in files {
            earlier.add(file, table.known(file));
        }
        earlier
    }

    /// What was pending in a file before a command that runs changed it.
    pub fn earlier_than_command(&self, location: &Location) -> Earlier {
        let mut table = self.table();
        let known = table.commands.take_earlier(location).or_else(|| table.known(location));
        let mut earlier = Earlier::default();
        earlier.add(location, known);
        earlier
    }

    /// What was pending before changes that have been entered, as it is kept with them.
    pub fn taken_from(&self, earlier: Earlier) -> BTreeMap<Location, String> {
        let mut taken = BTreeMap::new();
        for (location, known) in earlier.0 {
            let gone = self.table().ledger.taken_from(&location, &known.hunks);
            let Some((gone, (file, moved))) = gone.zip(known.hunks.save(&location)) else {
                continue;
            };
            let mut file = KeptFile::of(file, moved.into_iter().collect());
            (file.undo, file.before, file.command) = (known.undo, known.before, known.command);
            match serde_json::to_string(&Kept { gone: gone.into_iter().collect(), file }) {
                Ok(text) => drop(taken.insert(location, text)),
                Err(error) => tracing::error!(%error, "what was pending before is not kept"),
            }
        }
        taken
    }
}

impl Back {
    /// From what was kept with the steps of a file, the oldest first; damage counts as nothing kept.
    pub fn read(kept: impl IntoIterator<Item = Vec<u8>>) -> Option<Back> {
        let mut back: Option<Back> = None;
        for bytes in kept {
            let Ok(Kept { gone, mut file }) = serde_json::from_slice(&bytes) else { continue };
            if let Some(back) = &mut back {
                back.gone.extend(gone);
                continue;
            }
            let (undo, before, command) =
                (file.undo.take(), file.before.take(), file.command.take());
            let moved = file.take_moves().next();
            let Some(hunks) = Remembered::read(file.saved(), moved) else { continue };
            let known = Known { hunks, undo, before, command };
            back = Some(Back { known, gone: gone.into_iter().collect() });
        }
        back
    }
}

impl Held {
    /// Steps of a file, of these calls, were taken back: what they had taken away is pending again, but for
    /// what was decided on since. `pending` is all that was pending before.
    pub fn return_hunks(
        &self,
        location: &Location,
        text: Option<&Rope>,
        back: &Back,
        (calls, pending): (BTreeSet<String>, &BTreeSet<HunkId>),
    ) {
        let mut table = self.review.table();
        let hunks = back.gone.union(pending).cloned().collect();
        let known = &back.known;
        table.ledger.return_hunks(location, text, &known.hunks, &Returning { hunks, calls });
        if table.ledger.is_pending(location) {
            table.know(location, known);
        }
        table.untold.hunks.insert(location.clone());
        self.review.count(&table);
    }
}

impl Table {
    /// What is pending in a file, if anything is.
    pub(super) fn known(&self, location: &Location) -> Option<Known> {
        let known = Known {
            hunks: self.ledger.remember(location),
            undo: self.deleted.get(location).cloned(),
            before: self.before.get(location).cloned(),
            command: self.commands.undo(location).cloned(),
        };
        (!known.hunks.is_idle()).then_some(known)
    }

    fn know(&mut self, location: &Location, known: &Known) {
        let (location, Known { undo, before, command, .. }) = (location.clone(), known);
        if let Some(undo) = undo {
            self.deleted.entry(location.clone()).or_insert_with(|| undo.clone());
        }
        if let Some(image) = before {
            self.before.entry(location.clone()).or_insert_with(|| image.clone());
        }
        if let Some(undo) = command {
            self.commands.restore_undo(location, undo.clone());
        }
    }
}

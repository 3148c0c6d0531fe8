//! What commands change on disk, in the ledger.
//!
//! Invariant: while a command runs, an editor reading its file anew, or a closed file that changed, is the command's
//! edit and nobody's typing; what a command changed counts once, however it came to be known.

use std::collections::HashMap;

use agent::editor::{FoundFile, FoundOutcome, Side};
use agent::settings::ReviewPolicy;
use review::{Edited, Existence, Origin};
use text::{ChangeSet, LineEndings, Rope, to_ending};
use vfs::{Location, Snapshot, Source, Undo, Vfs, same_but_line_endings};

use super::returning::Known;
use super::{Entered, Held, Review, Table, accept_call};

/// Commands that run, and changes of theirs that are not in the editor yet.
#[derive(Default)]
pub(super) struct Commands {
    /// In the order of their start.
    running: Vec<Origin>,
    /// By the document the editor shows as it was.
    awaited: HashMap<Location, Awaited>,
    /// Texts that were entered when they were seen, before the change was found.
    taken: HashMap<Location, Rope>,
    /// How changed files come back with their own bytes.
    undo: HashMap<Location, Undo>,
    /// What was pending in files before a change was entered that was not found yet.
    earlier: HashMap<Location, Known>,
}

struct Awaited {
    before: Rope,
    after: Rope,
    origin: Origin,
    review: ReviewPolicy,
    undo: Option<Undo>,
}

impl Review {
    /// A command starts: changes of files are its doing from now on.
    pub fn command_started(&self, origin: Origin) {
        // Whatever happened before was not.
        self.follow_all();
        self.table().commands.running.push(origin);
    }

    /// The command of this call has ended.
    pub fn command_ended(&self, session: &str, call: &str) {
        let mut table = self.table();
        let origin = Origin::of(session, call);
        table.commands.running.retain(|it| *it != origin);
        if table.commands.running.is_empty() {
            table.commands.taken.clear();
            table.commands.earlier.clear();
        }
    }
}

impl Held {
    /// Enters a change that a command made to the file on disk.
    pub fn found(
        &self,
        location: &Location,
        file: &FoundFile,
        undo: Option<Undo>,
        (origin, review): (&Origin, ReviewPolicy),
    ) -> FoundOutcome {
        let mut table = self.review.table();
        let vfs = self.review.0.vfs.clone();
        if table.places.get(location).is_some_and(|then| *then != file.real) {
            table.forget(location);
        }
        let outcome = match (&file.before, &file.after) {
            (None, None) => FoundOutcome::NotTheCommands,
            (Some(before), None) => table.found_deleted(&vfs, location, before, undo, origin),
            (None, Some(after)) => table.found_created(&vfs, location, after, origin),
            (Some(before), Some(after)) => {
                let outcome =
                    table.found_changed(&vfs, location, (before, after), (origin, review));
                match (&outcome, table.commands.awaited.get_mut(location)) {
                    (FoundOutcome::Pending, _) => table.commands.keep_undo(location, undo),
                    // Once the editor shows it.
                    (_, Some(awaited)) => awaited.undo = undo,
                    (_, None) => {}
                }
                outcome
            }
        };
        table.places.insert(location.clone(), file.real.clone());
        table.untold.hunks.insert(location.clone());
        self.review.count(&table);
        outcome
    }

    /// The file is on disk again what the editor shows: what a command did to it is not waited for.
    pub fn forget_awaited(&self, location: &Location) {
        let mut table = self.review.lock();
        table.commands.awaited.remove(location);
        table.commands.taken.remove(location);
        self.review.count(&table);
    }

    /// Remembers what a decision did to a file as a whole, for its undo.
    pub fn keep_whole_change(&self, location: &Location, undo: Undo) {
        self.review.lock().commands.undo.insert(location.clone(), undo);
    }

    /// How a file that a command or a decision changed as a whole comes back with its own bytes.
    pub fn whole_change(&self, location: &Location) -> Option<Undo> {
        self.review.lock().commands.undo.get(location).cloned()
    }
}

impl Commands {
    /// Whether a command runs.
    pub fn run(&self) -> bool {
        !self.running.is_empty()
    }

    /// Changes of one command after the other go back together.
    fn keep_undo(&mut self, location: &Location, undo: Option<Undo>) {
        let Some(mut undo) = undo else { return };
        let earlier = self.undo.get(location).and_then(|it| it.entries.first());
        if let (Some(earlier), Some(entry)) = (earlier, undo.entries.first_mut())
            && earlier.after == entry.before
        {
            entry.before.clone_from(&earlier.before);
        }
        self.undo.insert(location.clone(), undo);
    }

    /// How a changed file comes back with its own bytes.
    pub fn undo(&self, location: &Location) -> Option<&Undo> {
        self.undo.get(location)
    }

    /// What was pending in a file before a change of a command that was seen before it is found.
    pub fn take_earlier(&mut self, location: &Location) -> Option<Known> {
        self.earlier.remove(location)
    }

    /// Takes over how files come back that commands of earlier runs changed.
    pub fn restore_undo(&mut self, location: Location, undo: Undo) {
        self.undo.entry(location).or_insert(undo);
    }

    /// Nothing about a file is pending any more.
    pub fn forget(&mut self, location: &Location) {
        self.undo.remove(location);
    }

    /// A file has another name.
    pub fn goes_by(&mut self, from: &Location, to: &Location) {
        if let Some(mut undo) = self.undo.remove(from) {
            if let (Some(entry), Some(path)) = (undo.entries.first_mut(), to.path()) {
                entry.path = path.to_owned();
            }
            self.undo.insert(to.clone(), undo);
        }
    }

    /// Documents whose reload is waited for.
    pub fn awaited(&self) -> impl Iterator<Item = &Location> {
        self.awaited.keys()
    }

    /// Who changed a file that has this text now and that the editor did not change.
    fn author(&self, location: &Location, now: &Rope) -> Option<Origin> {
        let awaited = self.awaited.get(location).filter(|it| it.after == *now);
        awaited.map(|it| &it.origin).or(self.running.first()).cloned()
    }
}

impl Table {
    /// A tracked file has another text, and nobody typed it; `None` where no command may have done it.
    pub(super) fn take_command_edit(
        &mut self,
        location: &Location,
        changes: &ChangeSet,
    ) -> Option<Edited> {
        let current = self.ledger.current(location)?.clone();
        if current.len_bytes() != changes.len_before() {
            return None;
        }
        let now = changes.apply(&current);
        let origin = self.commands.author(location, &now)?;
        if let Some(known) = self.known(location) {
            self.commands.earlier.entry(location.clone()).or_insert(known);
        }
        self.ledger.agent_edit(location, &current, changes, &origin);
        if let Some(awaited) = self.commands.awaited.remove(location).filter(|it| it.after == now) {
            self.accept_awaited(location, &awaited);
        }
        if self.commands.run() {
            self.commands.taken.insert(location.clone(), now);
        }
        Some(Edited::Hunks)
    }

    /// Looks whether a document without pending hunks now shows what a command made of its file.
    pub(super) fn take_awaited(&mut self, vfs: &Vfs, location: &Location) -> Option<Edited> {
        let awaited = self.commands.awaited.get(location)?;
        let (open, read) = open_and_read(vfs, location).unzip();
        let shown = match &open {
            Some(_) => read.flatten(),
            None => location.path().and_then(|it| vfs.disk_snapshot(it).ok()).map(|it| it.rope),
        };
        if shown.as_ref() == Some(&awaited.after) {
            let awaited = self.commands.awaited.remove(location)?;
            self.enter_change(
                vfs,
                location,
                (&awaited.before, &awaited.after),
                open.as_ref(),
                &awaited.origin,
            );
            self.accept_awaited(location, &awaited);
            self.note_place(vfs, location);
            return Some(Edited::Hunks);
        }
        let overwritten = open.is_some_and(|it| !it.is_unsaved() && it.rope != awaited.before);
        if overwritten || shown.is_none() {
            self.commands.awaited.remove(location);
        }
        None
    }

    /// A change that was waited for is there, and may be accepted already.
    fn accept_awaited(&mut self, location: &Location, awaited: &Awaited) {
        self.commands.keep_undo(location, awaited.undo.clone());
        match awaited.review {
            ReviewPolicy::AfterTurn | ReviewPolicy::Blocking => {}
            ReviewPolicy::Auto => {
                let token = self.ledger.token();
                for call in &awaited.origin.calls {
                    accept_call(&mut self.ledger, location, call, token);
                }
            }
        }
    }

    fn found_deleted(
        &mut self,
        vfs: &Vfs,
        location: &Location,
        before: &Side,
        undo: Option<Undo>,
        origin: &Origin,
    ) -> FoundOutcome {
        if vfs.open_snapshot(location).is_some_and(|it| it.is_unsaved()) {
            return FoundOutcome::Unsaved;
        }
        self.ledger.deleted(location, &before.text, origin);
        self.followed.remove(location);
        if let Some(undo) = undo {
            self.deleted.insert(location.clone(), undo);
        }
        FoundOutcome::Pending
    }

    fn found_created(
        &mut self,
        vfs: &Vfs,
        location: &Location,
        after: &Side,
        origin: &Origin,
    ) -> FoundOutcome {
        let open = vfs.open_snapshot(location);
        if let Some(open) = &open {
            // The person may have saved a new buffer, which is no doing of the command's.
            match (open.is_unsaved(), is_shown_as(&after.text, &open.rope)) {
                (true, true) => return FoundOutcome::NotTheCommands,
                (true, false) => return FoundOutcome::Unsaved,
                (false, _) => {}
            }
        }
        let again = self.ledger.existence(location) == Some(Existence::Deleted);
        if again || self.ledger.current(location).is_none() {
            let text = open.as_ref().map_or(&after.text, |it| &it.rope).to_string();
            self.ledger.created(location, &text, origin);
            self.deleted.remove(location);
        }
        FoundOutcome::Pending
    }

    fn found_changed(
        &mut self,
        vfs: &Vfs,
        location: &Location,
        (before, after): (&Side, &Side),
        (origin, review): (&Origin, ReviewPolicy),
    ) -> FoundOutcome {
        let (mut before, mut after) = (before.text.clone(), after.text.clone());
        let (open, read) = open_and_read(vfs, location).unzip();
        if let (Some(open), Some(read)) = (&open, read) {
            let read = read.unwrap_or_default();
            let reloaded = is_shown_as(&after, &read);
            if !reloaded && open.is_unsaved() && is_shown_as(&after, &open.rope) {
                return FoundOutcome::NotTheCommands;
            }
            if read != before && read != after {
                (before, after) = (with_endings_of(&before, &read), with_endings_of(&after, &read));
            }
            if !reloaded {
                let origin = origin.clone();
                let awaited = Awaited { before, after, origin, review, undo: None };
                self.commands.awaited.insert(location.clone(), awaited);
                return match open.is_unsaved() {
                    true => FoundOutcome::Unsaved,
                    false => FoundOutcome::Behind,
                };
            }
        }
        if self.commands.taken.remove(location).is_some_and(|it| it == after) {
            return FoundOutcome::Pending;
        }
        self.enter_change(vfs, location, (&before, &after), open.as_ref(), origin);
        FoundOutcome::Pending
    }

    /// Enters a change of a file that is closed, or that the editor has read anew.
    fn enter_change(
        &mut self,
        vfs: &Vfs,
        location: &Location,
        (before, after): (&Rope, &Rope),
        open: Option<&Snapshot>,
        origin: &Origin,
    ) {
        let changes = ChangeSet::between(before, after);
        let edit = Entered { before, generation: None, changes: &changes, now: open, since: None };
        self.arrive(vfs, location, &edit);
        self.ledger.agent_edit(location, before, &changes, origin);
        self.go_on(location, &edit);
    }
}

/// An open document and the text that its editor last read from the file, both of one moment.
fn open_and_read(vfs: &Vfs, location: &Location) -> Option<(Snapshot, Option<Rope>)> {
    let generation = |it: &Snapshot| match it.source {
        Source::Buffer { generation, .. } => Some(generation),
        Source::Disk => None,
    };
    loop {
        let open = vfs.open_snapshot(location)?;
        let read = vfs.last_read(location);
        let again = vfs.open_snapshot(location)?;
        if generation(&open) == generation(&again) {
            return Some((open, read));
        }
    }
}

/// Whether an editor that shows `shown` shows this text of a file.
fn is_shown_as(text: &Rope, shown: &Rope) -> bool {
    text == shown || same_but_line_endings(&text.to_string(), &shown.to_string())
}

/// The text with the line endings of `like`, where those are all the same.
fn with_endings_of(text: &Rope, like: &Rope) -> Rope {
    let endings = LineEndings::of(like);
    if endings.is_mixed() {
        return text.clone();
    }
    Rope::from_str(&to_ending(&text.to_string(), endings.dominant()))
}

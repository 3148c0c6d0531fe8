//! Moves of files that are taken back as moves, because what is in the file changed since.
//!
//! Invariant: the file keeps its bytes and what was typed in it; where it cannot go back to its name nothing is
//! done to it under either name, and that is said.

use std::collections::BTreeMap;

use agent::editor::ApplyError;
use agent::timeline::{FileStep, Stood};
use review::{Origin, Remembered};
use vfs::{Dirty, Location};

use super::Parts;
use super::moves::unsaved;
use super::restoring::{LABEL, Restored, Steps, refused};
use super::walk::MADE_AND_CHANGED;

/// A move that is to be taken back.
struct Lift {
    from: Location,
    to: Location,
}

/// Who takes moves back, and what becomes of their hunks.
#[derive(Clone, Copy)]
pub(super) enum Names<'a> {
    /// A restore: they go.
    Go,
    /// Its undo, in a session: they are pending again, unless it is known that they were not.
    Return(&'a str, &'a BTreeMap<Location, Remembered<Location>>),
}

impl Parts {
    /// What taking moves back would come to; takes their files out of those that are left.
    pub(super) async fn would_move_back(
        &self,
        session: &str,
        files: &mut BTreeMap<Location, Steps>,
        restored: &mut Restored,
    ) {
        for Lift { from, to } in self.lifts(session, files).await {
            let is_unsaved = self.vfs.document(&to).is_some_and(|it| it.dirty == Dirty::Person);
            let error = is_unsaved.then(|| unsaved(to.clone()).to_string());
            let steps = both(files, &from, &to);
            self.sum_up(restored, &to, &steps, (error.is_none(), error.as_deref()));
            if error.is_none() {
                restored.files.push(self.uris.of(&from));
            }
        }
    }

    /// Takes moves back of files that were changed since; what else happened to them is then to be taken
    /// back under the old name.
    pub(super) async fn move_names_back(
        &self,
        session: &str,
        files: &mut BTreeMap<Location, Steps>,
        names: Names<'_>,
        restored: &mut Restored,
    ) {
        for Lift { from, to } in self.lifts(session, files).await {
            let steps = both(files, &from, &to);
            match self.lift(&from, &to, names).await {
                Ok(made) => {
                    restored.files.extend([&from, &to].map(|it| self.uris.of(it)));
                    restored.steps.extend(made);
                    files.insert(from.clone(), renamed(steps, &from, &to));
                }
                Err(error) => {
                    let reason = error.to_string();
                    self.sum_up(restored, &to, &steps, (false, Some(&reason)));
                }
            }
        }
    }

    /// Moves whose file was changed since, where nothing else happened to either name.
    async fn lifts(&self, session: &str, files: &BTreeMap<Location, Steps>) -> Vec<Lift> {
        let mut lifts = Vec::new();
        for (to, steps) in files {
            let Some(((_, first), later)) = steps.split_first() else { continue };
            let Some(from) = &first.moved_from else { continue };
            let goes = |it: &FileStep| it.before == Stood::Nothing || it.after == Stood::Nothing;
            let last = files.get(from).and_then(|it| it.last());
            let is_last = last.is_some_and(|(_, it)| it.after == Stood::Nothing);
            if !is_last || later.iter().any(|(_, it)| goes(it)) {
                continue;
            }
            let (_, walked) = self.walk_back(session, to, steps).await;
            if walked.reason == Some(MADE_AND_CHANGED) {
                lifts.push(Lift { from: from.clone(), to: to.clone() });
            }
        }
        lifts
    }

    async fn lift(
        &self,
        from: &Location,
        to: &Location,
        names: Names<'_>,
    ) -> Result<[FileStep; 2], ApplyError> {
        let ours = self.vfs.document(to).is_some_and(|it| it.dirty == Dirty::Ours);
        if ours && self.client.saves() {
            self.save(std::slice::from_ref(to)).await;
        }
        let held = self.review.hold([from, to]);
        let no_copy = |error: &str| refused(to, &format!("no undo copy: {error}"));
        let path = to.path().ok_or_else(|| refused(to, "it has no file"))?;
        let kept = self.vfs.keep_file(path).map_err(|error| no_copy(&error.to_string()))?;
        let image = kept.and_then(|it| it.entries.into_iter().next()?.before);
        let stood = Stood::File(image.ok_or_else(|| no_copy("there is no file"))?);
        let text = self.vfs.snapshot(to).map_err(|error| no_copy(&error.to_string()))?.rope;
        self.move_file(LABEL, to, from).await.inspect_err(|_| held.failed())?;
        self.review.leave_folders(to);
        held.goes_by(to, from);
        held.decide(from, None, |ledger| match names {
            Names::Return(session, known) if known.get(from).is_none_or(Remembered::is_moved) => {
                ledger.moved(to, from, &text, &Origin::of(session, ""));
            }
            Names::Go | Names::Return(..) => ledger.moved_back(to, from),
        });
        let step = |file: &Location, before, after, moved_from| FileStep {
            call: String::new(),
            file: file.clone(),
            real: file.path().map(|it| self.vfs.real_path(it)),
            before,
            after,
            edits: Vec::new(),
            folders: Vec::new(),
            pending: None,
            moved_from,
        };
        let went = step(to, stood.clone(), Stood::Nothing, None);
        Ok([went, step(from, Stood::Nothing, stood, Some(to.clone()))])
    }
}

/// The steps of both names, out of `files`.
fn both(files: &mut BTreeMap<Location, Steps>, from: &Location, to: &Location) -> Steps {
    let mut steps = files.remove(from).unwrap_or_default();
    steps.extend(files.remove(to).unwrap_or_default());
    steps.sort_by_key(|(number, _)| *number);
    steps
}

/// The steps as they are once the file has its old name: what was changed with the move is a change.
fn renamed(steps: Steps, from: &Location, to: &Location) -> Steps {
    let mut renamed: Steps = Vec::with_capacity(steps.len());
    let is_going = |it: &FileStep| it.file == *from && it.after == Stood::Nothing;
    let going = steps.iter().rev().find(|(_, it)| is_going(it));
    let went = going.map_or(Stood::Nothing, |(_, it)| it.before.clone());
    for (number, mut step) in steps {
        if is_going(&step) {
            step.after = step.before.clone();
        } else if step.file == *to && step.before == Stood::Nothing {
            step.before = went.clone();
        }
        step.file = from.clone();
        step.real = None;
        renamed.push((number, step));
    }
    renamed
}

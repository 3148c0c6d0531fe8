//! All files of the ledger, and decisions across them.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use text::{ChangeSet, Rope};

use crate::away::Away;
use crate::earlier::Kind;
use crate::file::{Edited, File, Plan};
use crate::moves::{DecidedMove, Move};
use crate::order::Passing;
use crate::past::Names;
use crate::presence::Existence;
use crate::unsure::smallest;
use crate::view::FileView;
use crate::{HunkId, Origin};

/// Decisions kept for undo, over all files.
const KEPT_DECISIONS: u64 = 500;

/// Files without pending changes that are kept for an earlier text of theirs.
const KEPT_IDLE: usize = 64;

/// What the person says to a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Its text stays.
    Accept,
    /// The text before comes back.
    Reject,
}

/// Which hunks a decision is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pick<F> {
    /// One hunk.
    Hunk(HunkId),
    /// All of a file.
    File(F),
    /// Those of a file that touch these bytes of its current text.
    Range(F, Range<usize>),
    /// All a session has a part in.
    Session(String),
    /// All.
    All,
}

/// One file's part of an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undoing<F> {
    /// The file, by the name it has or had.
    pub file: F,
    /// The name it goes by again where its move was decided on; its own where that was accepted.
    pub again: Option<F>,
    /// What has to happen to its text after that; `None` where only the ledger changes.
    pub plan: Option<Plan>,
    /// The hunks that become pending again, that of its move aside.
    pub hunks: BTreeSet<HunkId>,
    /// What was decided.
    pub decision: Decision,
    /// Another file has its name, or had it when the one of this part went.
    pub is_shadowed: bool,
    /// The sessions whose hunks become pending again.
    pub sessions: BTreeSet<String>,
}

/// Pending changes by file. `F` names a file.
#[derive(Clone, Debug)]
pub struct Ledger<F> {
    pub(crate) files: BTreeMap<F, File>,
    /// Counts hunks; ids are never given twice.
    pub(crate) hunks: u64,
    pub(crate) tokens: u64,
    /// Pending moves, by the name the file has now.
    pub(crate) moves: BTreeMap<F, Move<F>>,
    pub(crate) decided_moves: Vec<DecidedMove<F>>,
    /// Files that are no more and whose names others have; the last to lose it comes last.
    pub(crate) shadowed: Vec<(F, File)>,
    /// Files that somebody removed, with what is pending in them once they are back.
    pub(crate) away: Vec<Away<F>>,
    pub(crate) rev: u64,
    /// Files in which hunks ended in doubt since that was last asked.
    doubted: BTreeSet<F>,
}

impl<F> Default for Ledger<F> {
    fn default() -> Ledger<F> {
        Ledger {
            files: BTreeMap::new(),
            hunks: 0,
            tokens: 0,
            moves: BTreeMap::new(),
            decided_moves: Vec::new(),
            shadowed: Vec::new(),
            away: Vec::new(),
            rev: 0,
            doubted: BTreeSet::new(),
        }
    }
}

impl<F: Ord + Clone> Ledger<F> {
    /// Counts up with every change of the hunks.
    pub fn rev(&self) -> u64 {
        self.rev
    }

    /// Files with pending hunks or decisions that can be undone: those whose changes matter here.
    pub fn tracked(&self) -> impl Iterator<Item = &F> {
        self.files.keys()
    }

    /// The text of a tracked file as the ledger knows it.
    pub fn current(&self, file: &F) -> Option<&Rope> {
        self.files.get(file).map(|it| &it.current)
    }

    /// The text before the pending changes, with what was typed outside them.
    pub fn base(&self, file: &F) -> Option<&Rope> {
        self.files.get(file).map(|it| &it.base)
    }

    /// Whether the file came or went with a pending hunk.
    pub fn existence(&self, file: &F) -> Option<Existence> {
        self.files.get(file)?.existence.as_ref().map(|(kind, _)| *kind)
    }

    /// Pending hunks of all files.
    pub fn pending(&self) -> usize {
        self.moves.len() + self.files.values().map(|file| file.hunks().len()).sum::<usize>()
    }

    /// Whether a file has pending hunks.
    pub fn is_pending(&self, file: &F) -> bool {
        self.moves.contains_key(file) || self.is_text_pending(file)
    }

    /// Bytes of the texts of all that is tracked, without the pending changes.
    pub fn bytes(&self) -> usize {
        self.files.values().map(|file| file.base.len_bytes()).sum()
    }

    /// Whether a file has pending hunks beside that of its move.
    pub fn is_text_pending(&self, file: &F) -> bool {
        self.files.get(file).is_some_and(File::is_pending)
    }

    /// Where in a file's current text changes are pending in which other sessions have a part.
    pub fn others_in(&self, file: &F, session: &str) -> Vec<Range<usize>> {
        let Some(found) = self.files.get(file) else { return Vec::new() };
        let of_others = |id: &HunkId| {
            let origin = found.origins.get(id);
            origin.is_some_and(|it| it.session != session || !it.others.is_empty())
        };
        let pieces = found.pieces.iter().filter(|piece| of_others(&piece.hunk));
        pieces.map(|piece| piece.now.clone()).collect()
    }

    /// Files with pending hunks, in order.
    pub fn list(&self) -> Vec<FileView<F>> {
        let pending = self.files.iter().filter(|(name, _)| self.is_pending(name));
        pending.map(|(name, file)| self.view_of(name, file)).collect()
    }

    /// The pending hunks of one file.
    pub fn view(&self, file: &F) -> Option<FileView<F>> {
        let found = self.files.get(file).filter(|_| self.is_pending(file))?;
        Some(self.view_of(file, found))
    }

    /// The agent changed `before`, which is the text the ledger knows if it knows the file.
    pub fn agent_edit(&mut self, file: &F, before: &Rope, changes: &ChangeSet, origin: &Origin) {
        let entry = self.files.entry(file.clone()).or_insert_with(|| File::new(before));
        entry.note(Kind::Milestone);
        entry.agent_edit(changes, origin, &mut Names::new(&mut self.hunks));
        entry.note(Kind::Milestone);
        self.changed(file);
    }

    /// The agent made a file.
    pub fn created(&mut self, file: &F, text: &str, origin: &Origin) {
        let known = self.files.entry(file.clone()).or_insert_with(|| File::new(&Rope::new()));
        known.note(Kind::Milestone);
        known.created(text, origin, &mut Names::new(&mut self.hunks));
        known.note(Kind::Milestone);
        self.changed(file);
    }

    /// The agent deleted a file of this text.
    pub fn deleted(&mut self, file: &F, before: &Rope, origin: &Origin) {
        let known = self.files.entry(file.clone()).or_insert_with(|| File::new(before));
        known.note(Kind::Milestone);
        known.deleted(origin, &mut Names::new(&mut self.hunks));
        self.changed(file);
    }

    /// Somebody else changed the text: the person, a formatter, another program.
    pub fn person_edit(&mut self, file: &F, changes: &ChangeSet) -> Edited {
        let Some(found) = self.files.get_mut(file) else { return Edited::Moved };
        if found.current.len_bytes() != changes.len_before() {
            return Edited::Moved;
        }
        let edited = found.followed(changes);
        if edited == Edited::Hunks {
            self.changed(file);
        }
        edited
    }

    /// The file has this text, however it came to it. A hunk that the guess of how reaches into
    /// beyond its edges is pending no more, and its text stays: where it is cannot be known.
    pub fn reopened(&mut self, file: &F, text: &Rope) -> Edited {
        let Some(found) = self.files.get_mut(file) else { return Edited::Moved };
        if found.current == *text {
            return Edited::Moved;
        }
        if let Some(known) = found.as_it_was(text) {
            found.note(Kind::Step);
            found.become_again(known);
            self.doubted.remove(file);
            self.changed(file);
            return Edited::Hunks;
        }
        let known = found.before_loss(text);
        let is_back = known.is_some();
        if let Some(known) = known {
            found.note(Kind::Step);
            found.become_again(known);
        }
        found.note(Kind::Jump);
        let before = found.state();
        let changes = smallest(&ChangeSet::between(&found.current, text), &found.current);
        let crossed = found.crossed_by(&changes);
        let edited = self.let_stay(file, &crossed, &changes);
        if let Some(found) = self.files.get_mut(file) {
            found.came_from(&before);
        }
        if is_back {
            self.doubted.remove(file);
            self.changed(file);
            return Edited::Hunks;
        }
        edited
    }

    /// As [`Ledger::person_edit`] where the change may be one of ours that counts as failed: hunks
    /// that it takes text from are pending no more, and what is there stays.
    pub fn unsure_edit(&mut self, file: &F, changes: &ChangeSet) -> Edited {
        let Some(found) = self.files.get(file) else { return Edited::Moved };
        if found.current.len_bytes() != changes.len_before() {
            return Edited::Moved;
        }
        let cut = found.cut_by(changes);
        self.let_stay(file, &cut, changes)
    }

    fn let_stay(&mut self, file: &F, hunks: &BTreeSet<HunkId>, changes: &ChangeSet) -> Edited {
        let Some(found) = self.files.get_mut(file) else { return Edited::Moved };
        if !hunks.is_empty() {
            found.let_stay(hunks);
            self.doubted.insert(file.clone());
        }
        let edited = found.person_edit(changes);
        let edited = found.settle_equal(edited);
        if edited == Edited::Hunks || !hunks.is_empty() {
            self.changed(file);
            return Edited::Hunks;
        }
        edited
    }

    /// Takes the files in which hunks are pending no more because their place or author is in doubt.
    pub fn take_doubted(&mut self) -> BTreeSet<F> {
        std::mem::take(&mut self.doubted)
    }

    /// A file goes by another name from now on; whether it was known, and the other name was not.
    pub fn rename(&mut self, from: &F, to: &F) -> bool {
        if self.files.get(to).is_some_and(|it| !self.is_idle(to, it)) {
            return false;
        }
        let Some(found) = self.files.remove(from) else { return false };
        self.files.insert(to.clone(), found);
        self.shadowed.iter_mut().filter(|(it, _)| it == from).for_each(|it| it.0.clone_from(to));
        self.rename_moves(from, to);
        self.rev += 1;
        true
    }

    /// A file is not what the ledger knows any more: nothing about it is pending.
    pub fn forget(&mut self, file: &F) {
        self.away.retain(|it| it.name != *file);
        self.forget_moves(file);
        if self.files.remove(file).is_some() {
            self.rev += 1;
        }
    }

    /// The pending hunks that are meant, by file.
    pub fn pick(&self, picks: &[Pick<F>]) -> BTreeMap<F, BTreeSet<HunkId>> {
        let mut out = BTreeMap::new();
        for (name, file) in &self.files {
            let own = picks.iter().flat_map(|it| file.picked(name, it));
            let moves =
                self.moves.get(name).filter(|it| picks.iter().any(|p| it.is_meant(name, p)));
            let ids: BTreeSet<HunkId> = own.chain(moves.map(|it| it.hunk.clone())).collect();
            if !ids.is_empty() {
                out.insert(name.clone(), ids);
            }
        }
        out
    }

    /// What has to happen to a file before hunks of it, its move aside, count as rejected.
    pub fn plan_reject(&self, file: &F, hunks: &BTreeSet<HunkId>) -> Option<Plan> {
        self.files.get(file).map(|it| it.plan_reject(hunks))
    }

    /// What rejecting hunks of a file does to names.
    pub fn passing(&self, file: &F, hunks: &BTreeSet<HunkId>) -> Passing<F> {
        let mut passing = Passing::default();
        match self.plan_reject(file, hunks) {
            Some(Plan::Create(_)) => passing.takes.push(file.clone()),
            Some(Plan::Delete) => passing.frees.push(file.clone()),
            Some(Plan::Text(_)) | None => {}
        }
        if let Some(it) = self.moves.get(file).filter(|it| hunks.contains(&it.hunk)) {
            passing.frees.push(file.clone());
            passing.takes.push(it.from.clone());
        }
        passing
    }

    /// A new name for decisions that are undone together.
    pub fn token(&mut self) -> u64 {
        self.tokens += 1;
        self.tokens
    }

    /// Decides on hunks of a file, its move aside. A rejection has been carried out as planned.
    pub fn decide(&mut self, file: &F, hunks: &BTreeSet<HunkId>, decision: Decision, token: u64) {
        if let Some(found) = self.files.get_mut(file) {
            found.note(Kind::Milestone);
            found.decide(hunks, decision, token);
            if decision == Decision::Accept {
                found.earlier.accept(hunks, token);
            }
            found.note(Kind::Milestone);
            self.changed(file);
        }
        let oldest = self.oldest_decision();
        for found in self.files.values_mut() {
            found.forget_decisions(oldest, &mut self.hunks);
        }
        self.forget_shadowed(oldest);
        let gone: Vec<F> = self.files.keys().filter(|it| self.is_done_with(it)).cloned().collect();
        gone.iter().for_each(|it| drop(self.files.remove(it)));
    }

    /// Decisions up to this one cannot be undone any more.
    pub(crate) fn oldest_decision(&self) -> u64 {
        self.tokens.saturating_sub(KEPT_DECISIONS)
    }

    /// The files of a decision and what undoing it needs, in no order; empty when the token is not known.
    pub fn plan_undo(&self, token: u64) -> Vec<Undoing<F>> {
        let files = self.files.iter();
        let mut undoings =
            files.filter_map(|(name, file)| self.undoing(name, file, token)).collect();
        self.add_moves(&mut undoings, token);
        self.add_shadowed(&mut undoings, token);
        undoings
    }

    /// What has to happen to the text of a file before its part of a decision counts as taken back.
    pub fn plan_undo_in(&self, file: &F, token: u64) -> Option<Plan> {
        self.files.get(file)?.plan_undo(token, self.hunks)?.1
    }

    pub(crate) fn undoing(&self, name: &F, file: &File, token: u64) -> Option<Undoing<F>> {
        let (_, settled) = file.past.find(token)?;
        let (sessions, plan) = file.plan_undo(token, self.hunks)?;
        Some(Undoing {
            file: name.clone(),
            again: None,
            plan,
            hunks: settled.hunks.keys().cloned().collect(),
            decision: settled.decision,
            is_shadowed: false,
            sessions,
        })
    }

    /// Takes a file's part of a decision back, its move aside; what `plan_undo` asked for has
    /// happened.
    pub fn undo(&mut self, file: &F, token: u64) {
        if let Some(found) = self.files.get_mut(file) {
            found.note(Kind::Milestone);
            found.undo(token, &mut self.hunks);
            found.earlier.reopen(&found.hunks());
            found.note(Kind::Milestone);
            self.changed(file);
        }
    }

    pub(crate) fn changed(&mut self, file: &F) {
        self.rev += 1;
        if let Some(found) = self.files.get_mut(file) {
            found.earlier.rev = self.rev;
        }
        if self.is_done_with(file) {
            self.files.remove(file);
        } else if self.files.get(file).is_some_and(|it| self.is_idle(file, it)) {
            self.forget_idle();
        }
        if !self.files.contains_key(file) {
            self.moves.remove(file);
        }
    }

    /// Whether nothing of a file is pending, can be undone, or comes back with an earlier text.
    fn is_done_with(&self, file: &F) -> bool {
        let found = self.files.get(file);
        found.is_some_and(|it| self.is_idle(file, it) && !it.earlier.is_of_use())
    }

    /// Whether nothing of a file is pending and nothing can be undone.
    pub(crate) fn is_idle(&self, name: &F, file: &File) -> bool {
        !file.is_pending() && file.past.is_empty() && !self.is_moved(name)
    }

    /// Of the files that only an earlier text would bring something back to, the last ones are kept.
    fn forget_idle(&mut self) {
        let mut idle: Vec<(u64, F)> = self
            .files
            .iter()
            .filter(|(name, file)| self.is_idle(name, file))
            .map(|(name, file)| (file.earlier.rev, name.clone()))
            .collect();
        let excess = idle.len().saturating_sub(KEPT_IDLE);
        idle.sort();
        idle.iter().take(excess).for_each(|(_, name)| drop(self.files.remove(name)));
    }
}

impl<F: Clone + PartialEq> Undoing<F> {
    /// What it does to names.
    pub fn passing(&self) -> Passing<F> {
        let mut passing = Passing::default();
        let name = self.again.as_ref().unwrap_or(&self.file);
        if let Some(again) = self.again.as_ref().filter(|again| **again != self.file) {
            passing.frees.push(self.file.clone());
            passing.takes.push(again.clone());
        }
        match &self.plan {
            Some(Plan::Create(_)) => passing.takes.push(name.clone()),
            Some(Plan::Delete) => passing.frees.push(name.clone()),
            Some(Plan::Text(_)) | None => {}
        }
        passing
    }
}

impl File {
    fn picked<F: Eq>(&self, name: &F, pick: &Pick<F>) -> Vec<HunkId> {
        match pick {
            Pick::Hunk(id) => self.hunks().into_iter().filter(|own| own == id).collect(),
            Pick::File(file) if file == name => self.hunks(),
            Pick::Range(file, range) if file == name => self.hunks_in(range),
            Pick::File(_) | Pick::Range(..) => Vec::new(),
            Pick::Session(session) => self
                .hunks()
                .into_iter()
                .filter(|id| self.origins.get(id).is_some_and(|it| it.is_of(session)))
                .collect(),
            Pick::All => self.hunks(),
        }
    }
}

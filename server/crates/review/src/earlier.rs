//! Texts a file had, each with what was pending in it then.
//!
//! Invariant: a text that is there again as it was (undone or done again in the editor, a branch that is
//! checked out again, a file caught while it was written) has what was pending in it then, but for what
//! was accepted since. Nothing of it is taken for something that was typed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use text::{ChangeSet, Rope};

use crate::HunkId;
use crate::file::{Edited, File};
use crate::ledger::Decision;
use crate::unsure::smallest;

/// States kept of each kind.
const KEPT: usize = 64;
/// Bytes of the texts of all of them; the last two stay whatever they take.
const MOST: usize = 64 << 20;
/// Accepted hunks before those that no state has are dropped.
const ACCEPTED: usize = 1_000;

/// Earlier states of a file, the last one last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Earlier {
    states: VecDeque<State>,
    /// Hunks that were accepted and are pending nowhere, each with what undoes that.
    accepted: BTreeMap<HunkId, u64>,
    /// The ledger's revision when it was last added to.
    pub rev: u64,
}

#[derive(Clone, Debug)]
struct State {
    file: Arc<File>,
    kind: Kind,
}

/// Why a state is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The agent edited, or something was decided, just before or after.
    Milestone,
    /// Somebody changed a hunk after it.
    Step,
    /// Hunks were lost after it, by a text that came from elsewhere.
    Jump,
}

impl Earlier {
    /// Whether something could be pending again.
    pub fn is_of_use(&self) -> bool {
        self.states.iter().any(|it| self.is_open(&it.file))
    }

    /// These hunks do not come back by themselves.
    pub fn accept(&mut self, hunks: &BTreeSet<HunkId>, token: u64) {
        self.accepted.extend(hunks.iter().map(|it| (it.clone(), token)));
        if self.accepted.len() > ACCEPTED {
            let known: BTreeSet<HunkId> =
                self.states.iter().flat_map(|it| it.file.hunks()).collect();
            self.accepted.retain(|it, _| known.contains(it));
        }
    }

    /// These hunks are pending: they may come back again.
    pub fn reopen(&mut self, hunks: &[HunkId]) {
        self.accepted.retain(|it, _| !hunks.contains(it));
    }

    fn is_open(&self, file: &File) -> bool {
        file.hunks().iter().any(|it| !self.accepted.contains_key(it))
    }

    fn push(&mut self, file: File, kind: Kind) {
        self.states.retain(|it| it.file.current != file.current);
        self.states.push_back(State { file: Arc::new(file), kind });
        let same = self.states.iter().filter(|it| it.kind == kind).count();
        if same > KEPT
            && let Some(at) = self.states.iter().position(|it| it.kind == kind)
        {
            self.states.remove(at);
        }
        let mut bytes: usize = self.states.iter().map(|it| it.file.current.len_bytes()).sum();
        while MOST < bytes
            && self.states.len() > 2
            && let Some(gone) = self.states.pop_front()
        {
            bytes -= gone.file.current.len_bytes();
        }
    }
}

impl File {
    /// Remembers the file as it is.
    pub fn note(&mut self, kind: Kind) {
        let state = self.state();
        self.earlier.push(state, kind);
    }

    /// The file as it is, without what it was before.
    pub fn state(&self) -> File {
        File {
            base: self.base.clone(),
            current: self.current.clone(),
            pieces: self.pieces.clone(),
            origins: self.origins.clone(),
            existence: self.existence.clone(),
            presence: self.presence,
            decided: self.decided.clone(),
            past: self.past.clone(),
            earlier: Earlier::default(),
        }
    }

    /// Another text came from elsewhere after this state, which was the last one that was noted, as a
    /// jump: it was none if it took nothing away.
    pub fn came_from(&mut self, before: &File) {
        let lost = before.hunks().iter().any(|it| !self.origins.contains_key(it));
        let torn = self.current.len_bytes().saturating_mul(2) < before.current.len_bytes();
        let last = self.earlier.states.back_mut();
        if let Some(last) = last.filter(|it| !lost && !torn && it.kind == Kind::Jump) {
            last.kind = Kind::Step;
        }
    }

    /// Somebody else's change, which may bring an earlier text back.
    pub fn followed(&mut self, changes: &ChangeSet) -> Edited {
        let after = changes.apply(&self.current);
        let known = self.as_it_was(&after);
        let sweeps = self.is_swept_by(changes);
        if let (None, true, Some(known)) = (&known, sweeps, self.before_loss(&after)) {
            self.note(Kind::Step);
            self.become_again(known);
            let since = smallest(&ChangeSet::between(&self.current, &after), &self.current);
            self.person_edit(&since);
            return self.settle_equal(Edited::Hunks);
        }
        if known.is_some() || self.is_touched_by(changes) {
            self.note(if sweeps { Kind::Jump } else { Kind::Step });
        }
        let edited = self.person_edit(changes);
        let Some(known) = known else { return self.settle_equal(edited) };
        let is_same = known.pieces == self.pieces && known.base == self.base;
        // What can be undone is what could be then.
        self.become_again(known);
        if is_same { edited } else { Edited::Hunks }
    }

    /// Where the text is the base, however it came to that, nothing of the agent's is left.
    pub fn settle_equal(&mut self, edited: Edited) -> Edited {
        if self.existence.is_some() || self.pieces.is_empty() || self.base != self.current {
            return edited;
        }
        let hunks = self.hunks().into_iter().collect();
        self.let_stay(&hunks);
        Edited::Hunks
    }

    /// Whether a change reaches to a hunk.
    fn is_touched_by(&self, changes: &ChangeSet) -> bool {
        changes.edits().iter().any(|edit| {
            let at = self.pieces.partition_point(|it| it.now.end < edit.range.start);
            self.pieces.get(at).is_some_and(|it| it.now.start <= edit.range.end)
        })
    }

    /// Whether a change replaces most of the text.
    fn is_swept_by(&self, changes: &ChangeSet) -> bool {
        let gone: usize = changes.edits().iter().map(|it| it.range.len()).sum();
        0 < gone && self.current.len_bytes() <= gone.saturating_mul(2)
    }

    /// The earlier state of this text.
    pub fn as_it_was(&self, text: &Rope) -> Option<File> {
        let of_this = |it: &&State| {
            it.file.current.len_bytes() == text.len_bytes() && it.file.current == *text
        };
        let state = self.earlier.states.iter().rev().find(of_this)?;
        self.renewed(&state.file)
    }

    /// The state before hunks were lost, where this text is nearer to it than to what is there now
    /// and leaves all its hunks in place.
    pub fn before_loss(&self, text: &Rope) -> Option<File> {
        let state = self.earlier.states.iter().rev().find(|it| it.kind == Kind::Jump)?;
        let known = self.renewed(&state.file)?;
        let hunks = known.hunks();
        let is_of_use = known.is_pending() || !known.past.is_empty();
        if !is_of_use || !self.hunks().iter().all(|it| hunks.contains(it)) {
            return None;
        }
        let distance = |from: &Rope| smallest(&ChangeSet::between(from, text), from);
        let since = distance(&known.current);
        // Where all of a text went there is nothing to be near to.
        let is_part = size(&since) < known.current.len_bytes();
        let is_nearer = is_part && size(&since) < size(&distance(&self.current));
        (is_nearer && known.crossed_by(&since).is_empty()).then_some(known)
    }

    /// It is an earlier state again.
    pub fn become_again(&mut self, known: File) {
        let earlier = std::mem::take(&mut self.earlier);
        *self = File { earlier, ..known };
    }

    /// An earlier state without what was accepted since; `None` where the file came or went since.
    fn renewed(&self, state: &File) -> Option<File> {
        let mut known = state.clone();
        let mut settled: BTreeMap<u64, BTreeSet<HunkId>> = BTreeMap::new();
        for id in known.hunks() {
            if let Some(token) = self.earlier.accepted.get(&id) {
                settled.entry(*token).or_default().insert(id);
            }
        }
        // It can be undone here too.
        settled.iter().for_each(|(token, hunks)| known.decide(hunks, Decision::Accept, *token));
        let is_there = known.existence == self.existence && known.presence == self.presence;
        is_there.then_some(known)
    }
}

fn size(changes: &ChangeSet) -> usize {
    changes.edits().iter().map(|it| it.range.len() + it.text.len()).sum()
}

#[cfg(test)]
mod tests;

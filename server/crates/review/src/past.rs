//! What happened to a file since the oldest decision that can be undone.
//!
//! Invariant: the events, from the anchor on, lead to the file as it is. Undoing a decision is
//! letting them happen again without it, so an undone decision leaves nothing behind, whatever was
//! decided, edited and typed since. A decision that builds on the undone one goes with it there.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use text::{Bias, ChangeSet};

use crate::decided::Rejection;
use crate::earlier::Earlier;
use crate::file::File;
use crate::ledger::Decision;
use crate::pieces::slice;
use crate::presence::Existence;
use crate::{HunkId, Origin};

/// Events kept for one file, and the bytes of their texts.
const MAX_EVENTS: usize = 4_096;
const MAX_BYTES: usize = 16 << 20;

/// Names of hunks with the places they were given at.
pub(crate) type Given = Vec<(usize, HunkId)>;

/// The file at some time and what happened to it since; empty where nothing can be undone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Past {
    pub anchor: Option<Arc<File>>,
    pub events: Vec<Arc<Event>>,
    bytes: usize,
}

/// Something that happened to a file.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// The agent changed the text.
    Agent { changes: ChangeSet, origin: Origin, names: Given },
    /// The agent made the file.
    Created { text: String, origin: Origin, names: Given },
    /// The agent deleted it.
    Deleted { origin: Origin, names: Given },
    /// Somebody else changed the text.
    Person(ChangeSet),
    /// Hunks were decided on.
    Decided(Settled),
    /// The file's coming or going is pending again.
    Existence(Existence, HunkId),
}

/// A decision.
#[derive(Clone, Debug)]
pub(crate) struct Settled {
    /// Undoes it; `None` once that is no longer possible.
    pub token: Option<u64>,
    pub decision: Decision,
    /// The hunks.
    pub hunks: BTreeMap<HunkId, Part>,
    /// What a rejection did to the current text.
    pub rejection: Rejection,
    /// Whether the file's coming or going was decided too.
    pub existence: Option<Existence>,
    /// Names of hunks a rejection left, where it could not be told apart when it happened again.
    pub names: Given,
}

/// One hunk that was decided on.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    /// Where it came from.
    pub origin: Origin,
    /// Of its text, old and new.
    pub print: u64,
}

/// Gives names to new hunks: those they had before where something happens again, else new ones.
pub(crate) struct Names<'a> {
    known: Given,
    last: &'a mut u64,
    given: Given,
}

impl<'a> Names<'a> {
    /// New names, counted from `last`.
    pub fn new(last: &'a mut u64) -> Names<'a> {
        Names { known: Given::new(), last, given: Given::new() }
    }

    /// Names that were given before come first.
    pub fn again(known: Given, last: &'a mut u64) -> Names<'a> {
        Names { known, last, given: Given::new() }
    }

    /// The name a hunk at this place had before.
    pub fn known(&mut self, at: usize) -> Option<HunkId> {
        let index = self.known.iter().position(|(place, _)| *place == at)?;
        let (at, id) = self.known.swap_remove(index);
        self.given.push((at, id.clone()));
        Some(id)
    }

    /// A name for a hunk at this place.
    pub fn at(&mut self, at: usize) -> HunkId {
        if let Some(known) = self.known(at) {
            return known;
        }
        *self.last += 1;
        let id = format!("hunk-{}", self.last);
        self.given.push((at, id.clone()));
        id
    }

    /// The names given so far.
    pub fn take_given(&mut self) -> Given {
        std::mem::take(&mut self.given)
    }

    /// The names given, and after them those that were known and not asked for.
    fn finish(mut self) -> Given {
        self.given.append(&mut self.known);
        self.given
    }
}

impl Past {
    pub fn is_empty(&self) -> bool {
        self.anchor.is_none()
    }

    /// The decision that a token undoes, and where it stands.
    pub fn find(&self, token: u64) -> Option<(usize, &Settled)> {
        let settled = self.events.iter().enumerate();
        settled
            .filter_map(|(at, event)| Some((at, event.settled()?)))
            .find(|(_, settled)| settled.token == Some(token))
    }

    /// The bytes of all texts in it, about.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes over events that start at an anchor.
    pub fn of(anchor: File, events: Vec<Arc<Event>>) -> Past {
        let bytes = events.iter().map(|it| it.cost()).sum();
        Past { anchor: Some(Arc::new(anchor)), events, bytes }
    }
}

impl Settled {
    /// The first hunk's.
    fn origin(&self) -> Origin {
        self.hunks.values().next().map(|it| it.origin.clone()).unwrap_or_default()
    }
}

impl Event {
    fn token(&self) -> Option<u64> {
        self.settled()?.token
    }

    fn settled(&self) -> Option<&Settled> {
        match self {
            Event::Decided(settled) => Some(settled),
            Event::Agent { .. }
            | Event::Created { .. }
            | Event::Deleted { .. }
            | Event::Person(_)
            | Event::Existence(..) => None,
        }
    }

    fn cost(&self) -> usize {
        let of = |changes: &ChangeSet| {
            changes.edits().iter().map(|edit| edit.text.len() + 64).sum::<usize>()
        };
        match self {
            Event::Agent { changes, .. } | Event::Person(changes) => of(changes),
            Event::Decided(settled) => {
                of(&settled.rejection.theirs) + of(&settled.rejection.agents)
            }
            Event::Created { text, .. } => text.len(),
            Event::Deleted { .. } | Event::Existence(..) => 64,
        }
    }

    /// The event after `back` happened before it, and `back` after it; `None` where both are about
    /// the same text.
    fn rebased(&self, back: &ChangeSet) -> Option<(Event, ChangeSet)> {
        let over = |changes: &ChangeSet, back: &ChangeSet| {
            Some((changes.rebase_ahead(back).ok()?, back.rebase(changes).ok()?))
        };
        match self {
            Event::Agent { changes, origin, names } => {
                let (changes, back) = over(changes, back)?;
                let moved =
                    |(at, id): &(usize, HunkId)| (back.map_pos(*at, Bias::Left), id.clone());
                let names = names.iter().map(moved).collect();
                Some((Event::Agent { changes, origin: origin.clone(), names }, back))
            }
            Event::Person(changes) => {
                let (changes, back) = over(changes, back)?;
                Some((Event::Person(changes), back))
            }
            Event::Decided(settled) => {
                let (theirs, back) = over(&settled.rejection.theirs, back)?;
                let (agents, back) = over(&settled.rejection.agents, &back)?;
                let rejection = Rejection { theirs, agents };
                Some((Event::Decided(Settled { rejection, ..settled.clone() }), back))
            }
            Event::Created { .. } | Event::Deleted { .. } | Event::Existence(..) => None,
        }
    }
}

impl File {
    /// Remembers an event that happened, where a decision can be undone.
    pub fn happened(&mut self, event: Event) {
        if self.past.is_empty() {
            return;
        }
        self.past.bytes += event.cost();
        self.past.events.push(Arc::new(event));
        if self.past.events.len() > MAX_EVENTS || self.past.bytes > MAX_BYTES {
            self.shorten();
        }
    }

    /// From now on what happens is remembered.
    pub fn begin_past(&mut self) {
        if self.past.is_empty() {
            self.past = Past::of(self.without_past(), Vec::new());
        }
    }

    /// Decisions up to a token can no longer be undone.
    pub fn forget_decisions(&mut self, oldest: u64, hunks: &mut u64) {
        let first = self.past.events.first().and_then(|it| it.token());
        if self.past.is_empty() || first.is_some_and(|token| token > oldest) {
            return;
        }
        let newer = |event: &Arc<Event>| event.token().is_some_and(|token| token > oldest);
        let kept = self.past.events.iter().position(newer);
        self.advance(kept, hunks);
    }

    /// The file as if a decision had not been taken, and what that does to the current text.
    pub fn undone(&self, token: u64, hunks: &mut u64) -> Option<(File, ChangeSet)> {
        let (at, settled) = self.past.find(token)?;
        let (before, later) = (self.past.events.get(..at)?, self.past.events.get(at + 1..)?);
        let mut file = self.past.anchor.as_deref()?.clone();
        let mut events: Vec<Event> = before.iter().map(|it| Event::clone(it)).collect();
        events.iter_mut().for_each(|event| file.replay(event, hunks));
        let (mut later, back) = match settled.decision {
            Decision::Accept => {
                let later = later.iter().map(|it| Event::clone(it)).collect();
                (later, ChangeSet::identity(self.current.len_bytes()))
            }
            Decision::Reject => {
                let mut back = settled.rejection.whole().invert(&file.current);
                let mut moved = Vec::with_capacity(later.len());
                for event in later {
                    let Some((event, rest)) = event.rebased(&back) else {
                        let (mut file, back) = self.brought_back(at, settled, hunks);
                        file.stand_or_go(self.presence);
                        return Some((file, back));
                    };
                    moved.push(event);
                    back = rest;
                }
                (moved, back)
            }
        };
        later.iter_mut().for_each(|event| file.replay(event, hunks));
        events.extend(later);
        let text = back.apply(&self.current);
        if file.current != text {
            file.enter_person(&ChangeSet::between(&file.current, &text));
        }
        let anchor = self.past.anchor.as_deref()?.clone();
        file.past = Past::of(anchor, events.into_iter().map(Arc::new).collect());
        match settled.decision {
            Decision::Accept => file.stay(self.presence),
            Decision::Reject => file.stand_or_go(self.presence),
        }
        file.forget_decisions(0, hunks);
        Some((file, back))
    }

    /// Where later edits stand in the way of an undone rejection: the agent's text comes back
    /// beside them, as an edit of its own.
    fn brought_back(&self, at: usize, settled: &Settled, hunks: &mut u64) -> (File, ChangeSet) {
        let mut file = self.clone();
        let token = settled.token;
        let (own, others) = std::mem::take(&mut file.decided)
            .into_iter()
            .partition::<Vec<_>, _>(|it| Some(it.token) == token && !it.superseded);
        file.decided = others;
        file.decided.retain(|it| Some(it.token) != token);
        let back = self.undo_changes(&own);
        let places = back.placed().map(|(_, placed)| placed.start);
        let mut known = Given::new();
        for place in places {
            let before = back.invert(&self.current).map_pos(place, Bias::Left);
            let record = own.iter().find(|it| it.now.start == before);
            known.extend(record.map(|it| (place, it.hunk.clone())));
        }
        if let Some(Event::Decided(done)) = file.past.events.get_mut(at).map(Arc::make_mut) {
            done.token = None;
        }
        let origin = settled.origin();
        file.agent_edit(&back, &origin, &mut Names::again(known, hunks));
        let gone = self.decided.iter().any(|it| Some(it.token) == token && it.superseded);
        let own_hunk = own.iter().find(|it| it.existence.is_some()).map(|it| it.hunk.clone());
        if let (Some(kind), Some(hunk), None, false) =
            (settled.existence, own_hunk, &file.existence, gone)
        {
            // What came back of its text may have another name by now: the two are decided as one.
            let stands = file.pieces.iter().any(|piece| piece.hunk == hunk);
            let first = file.pieces.first().filter(|_| !stands);
            let hunk = first.map_or(hunk, |piece| piece.hunk.clone());
            file.existence = Some((kind, hunk.clone()));
            if !file.stand_with_text() {
                file.happened(Event::Existence(kind, hunk));
            }
        }
        for (id, part) in &settled.hunks {
            if file.origins.contains_key(id) {
                file.origins.insert(id.clone(), part.origin.clone());
            }
        }
        file.forget_decisions(0, hunks);
        (file, back)
    }

    /// Lets an event happen once more, whatever went differently before it.
    pub fn replay(&mut self, event: &mut Event, hunks: &mut u64) {
        let len = self.current.len_bytes();
        let fits = |changes: &ChangeSet| changes.len_before() == len;
        match event {
            Event::Agent { changes, origin, names } if fits(changes) => {
                self.renaming(names, hunks, |file, names| {
                    file.enter_agent(changes, origin, names);
                });
            }
            Event::Person(changes) if fits(changes) => drop(self.enter_person(changes)),
            Event::Decided(settled) if fits(&settled.rejection.theirs) => {
                self.replay_decision(settled, hunks);
            }
            Event::Agent { .. } | Event::Person(_) | Event::Decided(_) => {}
            Event::Created { text, origin, names } => {
                self.renaming(names, hunks, |file, names| {
                    file.enter_created(text, origin, names);
                });
            }
            Event::Deleted { origin, names } => {
                self.renaming(names, hunks, |file, names| {
                    file.enter_deleted(origin, names);
                });
            }
            Event::Existence(kind, hunk) => {
                self.existence = Some((*kind, hunk.clone()));
                self.origins.entry(hunk.clone()).or_default();
                if self.stand_with_text() {
                    self.forget_origins();
                }
            }
        }
    }

    /// Hunks get the names they had where there are such hunks this time.
    fn renaming(
        &mut self,
        given: &mut Given,
        hunks: &mut u64,
        enter: impl FnOnce(&mut File, &mut Names<'_>),
    ) {
        let mut names = Names::again(std::mem::take(given), hunks);
        enter(self, &mut names);
        *given = names.finish();
    }

    /// A hunk that is another one this time, because it has what was decided apart from it, is
    /// left alone from now on.
    fn replay_decision(&mut self, settled: &mut Settled, hunks: &mut u64) {
        let same = |id: &HunkId| settled.hunks.get(id).is_some_and(|it| it.print == self.print(id));
        let ids: BTreeSet<HunkId> = self.hunks().into_iter().filter(same).collect();
        match settled.decision {
            Decision::Accept => {
                self.enter_decision(&ids, Decision::Accept, settled.token);
                settled.hunks.retain(|id, _| ids.contains(id));
            }
            Decision::Reject
                if ids.len() == settled.hunks.len()
                    && self.rejection(&ids) == settled.rejection =>
            {
                self.enter_decision(&ids, Decision::Reject, settled.token);
            }
            Decision::Reject => {
                // It cannot be told apart any more; what it did to the text was done all the same.
                let origin = settled.origin();
                let Rejection { theirs, agents } = &settled.rejection;
                self.enter_person(theirs);
                self.renaming(&mut settled.names, hunks, |file, names| {
                    file.enter_agent(agents, &origin, names);
                });
                if self.existence.as_ref().is_some_and(|(_, id)| ids.contains(id)) {
                    self.existence = None;
                    self.forget_origins();
                }
                self.came_or_went_back(settled.existence);
                self.go_with_text();
            }
        }
    }

    /// The events before `kept` become part of the anchor; all of them where it is `None`.
    fn advance(&mut self, kept: Option<usize>, hunks: &mut u64) {
        let (Some(kept), Some(anchor)) = (kept, self.past.anchor.take()) else {
            self.past = Past::default();
            self.decided.clear();
            return;
        };
        let rest = self.past.events.split_off(kept);
        let mut anchor = Arc::unwrap_or_clone(anchor);
        let gone = self.past.events.iter_mut().map(Arc::make_mut);
        gone.for_each(|event| anchor.replay(event, hunks));
        self.past = Past::of(anchor.without_past(), rest);
        let alive: BTreeSet<u64> = self.past.events.iter().filter_map(|it| it.token()).collect();
        self.decided.retain(|it| alive.contains(&it.token));
    }

    /// Keystrokes become one change where nothing lies between them; where that is not enough the
    /// older half of the decisions goes.
    fn shorten(&mut self) {
        let mut short: Vec<Arc<Event>> = Vec::new();
        for event in std::mem::take(&mut self.past.events) {
            match (short.last().map(|it| &**it), &*event) {
                (Some(Event::Person(before)), Event::Person(changes)) => {
                    let both = Event::Person(before.clone().compose(changes.clone()));
                    short.pop();
                    short.push(Arc::new(both));
                }
                (Some(_) | None, _) => short.push(event),
            }
        }
        self.past.bytes = short.iter().map(|it| it.cost()).sum();
        self.past.events = short;
        if self.past.events.len() > MAX_EVENTS / 2 || self.past.bytes > MAX_BYTES {
            let half = self.past.events.len() / 2;
            let later = self.past.events.iter().skip(half.max(1));
            let kept = later.clone().position(|event| event.token().is_some());
            // Names that only the anchor's replay would give are never shown.
            let mut unseen = u64::MAX / 2;
            self.advance(kept.map(|at| at + half.max(1)), &mut unseen);
        }
    }

    /// A hash of what a hunk replaces by what: FNV-1a, so that it is the same in every release.
    pub fn print(&self, id: &HunkId) -> u64 {
        let mut print = 0xcbf2_9ce4_8422_2325_u64;
        let mut add = |text: &str| {
            for byte in text.bytes().chain([0xff]) {
                print = (print ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        };
        for piece in self.pieces.iter().filter(|piece| piece.hunk == *id) {
            add(&slice(&self.base, &piece.base));
            add(&slice(&self.current, &piece.now));
        }
        print
    }

    fn without_past(&self) -> File {
        File {
            base: self.base.clone(),
            current: self.current.clone(),
            pieces: self.pieces.clone(),
            origins: self.origins.clone(),
            existence: self.existence.clone(),
            presence: self.presence,
            decided: Vec::new(),
            past: Past::default(),
            earlier: Earlier::default(),
        }
    }
}

#[cfg(test)]
mod tests;

//! Deciding on hunks, and taking that back.

use std::collections::BTreeSet;
use std::ops::Range;

use text::{Bias, ChangeSet, Edit};

use crate::HunkId;
use crate::file::{File, Left, Plan};
use crate::ledger::Decision;
use crate::past::{Event, Part, Settled};
use crate::pieces::{Piece, add_range, make_room, shift, shift_range, slice, without};
use crate::presence::{Existence, Presence};

/// What rejecting hunks does to the current text: one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rejection {
    /// What the person wrote goes elsewhere.
    pub theirs: ChangeSet,
    /// What is the agent's gives way to what was there before.
    pub agents: ChangeSet,
}

/// One piece that was rejected.
#[derive(Clone, Debug)]
pub(crate) struct Decided {
    pub token: u64,
    pub hunk: HunkId,
    /// Where the text that came back is in the current text.
    pub now: Range<usize>,
    /// Bytes within `now` that the person wrote.
    pub typed: Vec<Range<usize>>,
    /// The agent's text, which went.
    pub text: String,
    /// Whether the decision was on the file's coming or going too.
    pub existence: Option<Existence>,
    /// The agent has put other text there since: it does not come back.
    pub superseded: bool,
}

impl Rejection {
    /// Nothing happens to a text of this length in bytes.
    pub fn nothing(len: usize) -> Rejection {
        Rejection { theirs: ChangeSet::identity(len), agents: ChangeSet::identity(len) }
    }

    /// Both as one change.
    pub fn whole(&self) -> ChangeSet {
        if self.theirs.is_identity() {
            self.agents.clone()
        } else {
            self.theirs.clone().compose(self.agents.clone())
        }
    }
}

impl Decided {
    /// The agent replaced text.
    pub fn replaced(&mut self, range: &Range<usize>, len: usize) {
        let covered = range.start <= self.now.start && self.now.end <= range.end;
        self.superseded |= covered && !self.now.is_empty();
        self.moved(range, len);
    }

    /// The person replaced text.
    pub fn person_replaced(&mut self, range: &Range<usize>, len: usize) {
        if self.moved(range, len) && len > 0 {
            add_range(&mut self.typed, range.start..range.start + len);
        }
    }

    /// Follows a replacement; whether it reached into the text.
    fn moved(&mut self, range: &Range<usize>, len: usize) -> bool {
        if range.end <= self.now.start {
            shift_range(&mut self.now, range.len(), len);
            self.typed.iter_mut().for_each(|it| shift_range(it, range.len(), len));
            return false;
        }
        if range.start >= self.now.end {
            return false;
        }
        self.typed.iter_mut().for_each(|it| *it = without(it, range));
        self.typed.retain(|it| !it.is_empty());
        make_room(&mut self.typed, range.start, len);
        let inside = self.now.start <= range.start && range.end <= self.now.end;
        if inside && *range != self.now {
            self.now.end = shift(self.now.end, range.len(), len);
            return true;
        }
        // What is left of it; new text in the place of the rest is no part of it.
        self.now = without(&self.now, range);
        if range.start <= self.now.start {
            shift_range(&mut self.now, 0, len);
        }
        false
    }
}

impl File {
    /// What rejecting hunks needs to happen.
    pub fn plan_reject(&self, hunks: &BTreeSet<HunkId>) -> Plan {
        let changes = self.rejection(hunks).whole();
        match &self.existence {
            Some((Existence::Added, id)) if hunks.contains(id) && changes.len_after() == 0 => {
                Plan::Delete
            }
            Some((Existence::Deleted, id)) if hunks.contains(id) => {
                Plan::Create(changes.apply(&self.current).to_string())
            }
            Some(_) | None => Plan::Text(changes),
        }
    }

    /// The change that takes hunks out of the current text.
    pub fn rejection(&self, hunks: &BTreeSet<HunkId>) -> Rejection {
        let len = self.current.len_bytes();
        let (mut theirs, mut rest) = (Vec::new(), Vec::new());
        for (now, left) in self.all_left(hunks) {
            theirs.extend(left.theirs);
            rest.extend(left.rest.into_iter().map(|edit| (edit.range.start == now.start, edit)));
        }
        let Ok(theirs) = ChangeSet::new(len, theirs) else { return Rejection::nothing(len) };
        // What goes beside a piece ends before the next one, and behind the piece's own old text.
        let placed = |(is_first, edit): (bool, Edit)| {
            let bias = if is_first { Bias::Right } else { Bias::Left };
            let start = theirs.map_pos(edit.range.start, bias);
            let end = theirs.map_pos(edit.range.end, Bias::Left).max(start);
            Edit::new(start..end, edit.text)
        };
        let agents = ChangeSet::new(theirs.len_after(), rest.into_iter().map(placed).collect());
        match agents {
            Ok(agents) => Rejection { theirs, agents },
            Err(_) => Rejection::nothing(len),
        }
    }

    /// What rejecting hunks leaves of each of their pieces, and where those are, in order.
    fn all_left(&self, hunks: &BTreeSet<HunkId>) -> Vec<(Range<usize>, Left)> {
        let pieces = self.pieces.iter().enumerate();
        let rejected = pieces.filter(|(_, piece)| hunks.contains(&piece.hunk));
        rejected.map(|(at, piece)| (piece.now.clone(), self.left(at, piece))).collect()
    }

    /// Decides on hunks. For a rejection the document has changed as `plan_reject` said.
    pub fn decide(&mut self, hunks: &BTreeSet<HunkId>, decision: Decision, token: u64) {
        self.begin_past();
        let settled = self.settled(hunks, decision, Some(token));
        self.enter_decision(hunks, decision, Some(token));
        self.happened(Event::Decided(settled));
    }

    /// Hunks are pending no more and their text stays, by nobody's decision.
    pub fn let_stay(&mut self, hunks: &BTreeSet<HunkId>) {
        let settled = self.settled(hunks, Decision::Accept, None);
        self.enter_decision(hunks, Decision::Accept, None);
        self.happened(Event::Decided(settled));
    }

    fn settled(&self, hunks: &BTreeSet<HunkId>, decision: Decision, token: Option<u64>) -> Settled {
        let part = |id: &HunkId| Part {
            origin: self.origins.get(id).cloned().unwrap_or_default(),
            print: self.print(id),
        };
        let own = self.existence.as_ref().filter(|(_, id)| hunks.contains(id));
        Settled {
            token,
            decision,
            hunks: hunks.iter().map(|id| (id.clone(), part(id))).collect(),
            rejection: match decision {
                Decision::Accept => Rejection::nothing(self.current.len_bytes()),
                Decision::Reject => self.rejection(hunks),
            },
            existence: own.map(|(kind, _)| *kind),
            names: Vec::new(),
        }
    }

    /// As [`File::decide`], unrecorded. Without a token it cannot be undone.
    pub fn enter_decision(
        &mut self,
        hunks: &BTreeSet<HunkId>,
        decision: Decision,
        token: Option<u64>,
    ) {
        let mut existence = self.existence.take_if(|(_, id)| hunks.contains(id));
        let kind = existence.as_ref().map(|(kind, _)| *kind);
        // As they were planned: what a piece leaves is told from what is around it, pieces of the same
        // decision included.
        let mut left = match decision {
            Decision::Accept => Vec::new(),
            Decision::Reject => self.all_left(hunks),
        }
        .into_iter();
        let mut index = 0;
        while let Some(piece) = self.pieces.get(index).cloned() {
            if !hunks.contains(&piece.hunk) {
                index += 1;
                continue;
            }
            match decision {
                Decision::Accept => {
                    let new = slice(&self.current, &piece.now);
                    self.set_base(index, &new);
                }
                Decision::Reject => {
                    let own = existence.take_if(|(_, id)| *id == piece.hunk).map(|(kind, _)| kind);
                    let (now, text) =
                        self.reject_piece(index, &piece, left.next().unwrap_or_default());
                    self.remember(token, &piece.hunk, (now, text), own);
                }
            }
            self.pieces.remove(index);
        }
        if let (Some((kind, id)), Decision::Reject) = (existence, decision) {
            self.remember(token, &id, (0..0, String::new()), Some(kind));
        }
        if decision == Decision::Reject {
            self.came_or_went_back(kind);
        }
        self.forget_origins();
    }

    /// Puts a piece's old text back, with what was to be left of it and where it was then; gives where
    /// it is and what went.
    fn reject_piece(
        &mut self,
        index: usize,
        piece: &Piece,
        (was, left): (Range<usize>, Left),
    ) -> (Range<usize>, String) {
        let Left { text: kept, typed, beside, agents, .. } = left;
        let start = piece.now.start;
        self.set_base(index, &kept);
        self.set_now(index, &kept);
        for decided in &mut self.decided {
            if decided.now.start <= start && start + kept.len() <= decided.now.end {
                for it in &typed {
                    add_range(&mut decided.typed, start + it.start..start + it.end);
                }
            }
        }
        let mut added = kept.len();
        for (at, lines) in beside {
            let at = shift(at, was.end, start + added);
            self.person_outside(at..at, &lines);
            added += lines.len();
        }
        (start..start + kept.len(), agents)
    }

    fn remember(
        &mut self,
        token: Option<u64>,
        hunk: &HunkId,
        (now, text): (Range<usize>, String),
        existence: Option<Existence>,
    ) {
        let Some(token) = token else { return };
        let (hunk, typed) = (hunk.clone(), Vec::new());
        self.decided.push(Decided { token, hunk, now, typed, text, existence, superseded: false });
    }

    /// What was rejected so far does not come back: the file is another one now.
    pub fn supersede(&mut self) {
        self.decided.iter_mut().for_each(|it| it.superseded = true);
    }

    /// The sessions of a decision, and what undoing it needs to happen where it was a rejection;
    /// `None` where the file has no part in it.
    pub fn plan_undo(&self, token: u64, hunks: u64) -> Option<(BTreeSet<String>, Option<Plan>)> {
        let (_, settled) = self.past.find(token)?;
        let origins = settled.hunks.values().map(|it| &it.origin);
        let sessions = origins.flat_map(|it| std::iter::once(&it.session).chain(&it.others));
        let sessions = sessions.cloned().collect();
        if settled.decision == Decision::Accept {
            return Some((sessions, None));
        }
        let mut hunks = hunks;
        let (after, changes) = self.undone(token, &mut hunks)?;
        let plan = match (self.presence, after.presence) {
            (Presence::Gone, Presence::There) => Plan::Create(after.current.to_string()),
            (Presence::There, Presence::Gone) => Plan::Delete,
            (Presence::There, Presence::There) | (Presence::Gone, Presence::Gone) => {
                Plan::Text(changes)
            }
        };
        Some((sessions, Some(plan)))
    }

    /// Takes a decision back. For rejections the document has changed as `plan_undo` said.
    pub fn undo(&mut self, token: u64, hunks: &mut u64) {
        if let Some((file, _)) = self.undone(token, hunks) {
            self.become_again(file);
        }
    }

    /// What brings the agent's text back beside what is there now.
    pub fn undo_changes(&self, records: &[Decided]) -> ChangeSet {
        let len = self.current.len_bytes();
        let edits = records.iter().map(|it| Edit::new(it.now.clone(), self.restored(it))).collect();
        ChangeSet::new(len, edits).unwrap_or_else(|_| ChangeSet::identity(len))
    }

    /// The agent's text as it comes back: with what the person typed in its place meanwhile.
    fn restored(&self, record: &Decided) -> String {
        let mut text = record.text.clone();
        record.typed.iter().for_each(|it| text.push_str(&slice(&self.current, it)));
        text
    }
}

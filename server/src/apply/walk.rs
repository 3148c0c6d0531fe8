//! From a file as it is back to how it was: the steps of the agent's taken back one after the other, newest
//! first.
//!
//! Invariant: pure; what somebody else did to the file since stays, and where that is in the way the step
//! stays too and the reason is told.

use std::ops::Range;

use review::take_back;
use text::{Bias, ChangeSet, Rope};
use vfs::Image;

/// What stands at a file.
#[derive(Clone, Debug, PartialEq)]
pub enum State {
    /// Nothing.
    Absent,
    /// Text; its bytes where it is a file with exactly these.
    Text(Rope, Option<Image>),
    /// A file that is no text, or a link.
    Opaque(Image),
    /// Not known any more, but perhaps what it would be called.
    Unknown(Option<Image>),
}

/// One step of the agent's.
#[derive(Clone, Debug)]
pub struct Link {
    /// Before it.
    pub before: State,
    /// After it.
    pub after: State,
    /// What undoes it in the text after it, where that is known.
    pub wanted: Option<ChangeSet>,
}

/// Where the walk came to.
#[derive(Clone, Debug, PartialEq)]
pub struct Walked {
    /// How the file should be.
    pub target: State,
    /// From the text there was to the text there should be, where both are.
    pub changes: ChangeSet,
    /// What could not be taken back, in words.
    pub reason: Option<&'static str>,
}

const WRITTEN_OVER: &str = "you wrote inside what the agent had changed; that place stays as it is";
const BY_ANOTHER: &str = "another agent changed the same place since; that place stays as it is";
/// Why a file that the agent made stays.
pub const MADE_AND_CHANGED: &str = "it was changed since the agent made it, so it stays";
const ANOTHER: &str = "there is another file of that name now; it stays";
const DELETED: &str = "it was deleted since, and not by the agent; it stays deleted";
const NO_TEXT: &str = "it is no text and was changed since; it stays as it is";
const DROPPED: &str = "how it was before is not kept any more (see edits.history_mb)";

/// Walks from `now` over steps, the newest first. In `others`, bytes of its text, other agents
/// have a part.
pub fn walk(now: &State, links: &[Link], others: &[Range<usize>]) -> Walked {
    let start = now.text().map_or(0, Rope::len_bytes);
    let mut walked =
        Walked { target: now.clone(), changes: ChangeSet::identity(start), reason: None };
    // It may be as it was before one of them already, by whatever way.
    let is_there = |link: &Link| now.is_like(&link.before) && !link.before.is_like(&link.after);
    let left = links.iter().rposition(is_there).map_or(0, |at| at + 1);
    for link in links.iter().skip(left) {
        if !walked.step(link, others) {
            break;
        }
    }
    walked
}

impl State {
    /// Its text.
    pub fn text(&self) -> Option<&Rope> {
        match self {
            State::Text(text, _) => Some(text),
            State::Absent | State::Opaque(_) | State::Unknown(_) => None,
        }
    }

    /// Its bytes by name.
    pub fn image(&self) -> Option<&Image> {
        match self {
            State::Text(_, image) | State::Unknown(image) => image.as_ref(),
            State::Opaque(image) => Some(image),
            State::Absent => None,
        }
    }

    /// Whether the content is the same.
    pub fn is_like(&self, other: &State) -> bool {
        match (self.image(), other.image()) {
            (Some(a), Some(b)) => a.same_content(b),
            (Some(_), None) | (None, Some(_)) | (None, None) => match (self.text(), other.text()) {
                (Some(a), Some(b)) => a == b,
                (Some(_), None) | (None, Some(_)) => false,
                (None, None) => *self == State::Absent && *other == State::Absent,
            },
        }
    }
}

impl Walked {
    /// Takes one step back; whether older ones can be.
    fn step(&mut self, link: &Link, others: &[Range<usize>]) -> bool {
        let Link { before, after, wanted } = link;
        match (after, before, &self.target) {
            (State::Absent, State::Absent, _) => {}
            (_, State::Unknown(None), _) => return self.stop(DROPPED),
            (_, State::Unknown(Some(_)), target) if !target.is_like(before) => {
                return self.stop(DROPPED);
            }
            (State::Absent, _, State::Absent) => self.target = before.clone(),
            (State::Absent, _, target) => {
                if !target.is_like(before) {
                    self.reason = Some(ANOTHER);
                }
            }
            (_, State::Absent, State::Absent) => {}
            (_, State::Absent, target) => {
                if target.is_like(after) {
                    self.target = State::Absent;
                } else {
                    self.reason = Some(MADE_AND_CHANGED);
                }
            }
            (_, _, State::Absent) => self.reason = Some(DELETED),
            (_, _, target) if target.image().is_some() && target.is_like(after) => {
                self.exact(link);
            }
            (_, _, target) if target.is_like(before) => {}
            (State::Text(after, _), State::Text(before, _), State::Text(now, _)) => {
                let diff = || ChangeSet::between(after, before);
                let others: Vec<Range<usize>> = others.iter().map(|it| self.place(it)).collect();
                let wanted = wanted.clone().unwrap_or_else(diff);
                let back = take_back(&wanted, after, now, &others);
                let text = back.changes.apply(now);
                let is_others = |at: &Range<usize>| {
                    others.iter().any(|it| it.start <= at.end && at.start <= it.end)
                };
                if back.disputed.iter().any(is_others) {
                    self.reason = Some(BY_ANOTHER);
                } else if !back.disputed.is_empty() {
                    self.reason = Some(WRITTEN_OVER);
                }
                let changed = !back.changes.is_identity();
                self.compose(back.changes);
                if changed {
                    self.target = State::Text(text, None);
                }
            }
            (State::Unknown(_), _, _) => return self.stop(DROPPED),
            (_, _, _) => self.reason = Some(NO_TEXT),
        }
        true
    }

    /// Where a place of the text there was is in the text walked to.
    fn place(&self, range: &Range<usize>) -> Range<usize> {
        let map = |at, bias| self.changes.map_pos(at, bias);
        map(range.start, Bias::Left)..map(range.end, Bias::Right)
    }

    fn stop(&mut self, reason: &'static str) -> bool {
        self.reason = Some(reason);
        false
    }

    /// The bytes are those the step left: those before it come back.
    fn exact(&mut self, link: &Link) {
        let mode = |state: &State| match state.image() {
            Some(Image::File { mode, .. }) => Some(*mode),
            Some(Image::Symlink { .. }) | None => None,
        };
        let own_mode =
            (mode(&link.before) == mode(&link.after)).then(|| mode(&self.target)).flatten();
        let changes = match (self.target.text(), link.before.text()) {
            (Some(now), Some(before)) => {
                let fits = |it: &&ChangeSet| {
                    it.len_before() == now.len_bytes() && it.len_after() == before.len_bytes()
                };
                let wanted = link.wanted.as_ref().filter(fits).cloned();
                Some(wanted.unwrap_or_else(|| ChangeSet::between(now, before)))
            }
            (Some(_), None) | (None, Some(_)) | (None, None) => None,
        };
        if let Some(changes) = changes {
            self.compose(changes);
        }
        self.target = link.before.clone();
        if let (
            Some(own),
            State::Text(_, Some(Image::File { mode, .. }))
            | State::Opaque(Image::File { mode, .. }),
        ) = (own_mode, &mut self.target)
        {
            *mode = own;
        }
    }

    fn compose(&mut self, changes: ChangeSet) {
        if self.changes.len_after() == changes.len_before() {
            let before = ChangeSet::identity(0);
            self.changes = std::mem::replace(&mut self.changes, before).compose(changes);
        }
    }
}

#[cfg(test)]
mod tests;

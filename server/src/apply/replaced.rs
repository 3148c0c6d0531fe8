//! Names that one file leaves and another takes in one transaction.
//!
//! Invariant: a file that takes the place of a deleted one, or of one that takes its own, is pending as a
//! changed text of that name, whose bytes and mode are kept. What is no text is not pending then.

use text::ChangeSet;
use vfs::{DiskOp, Location, Undo};

use super::Parts;
use super::transaction::{Kind, whole};
use crate::review::{Entry, Held};

/// The operations of a transaction, by the names they leave and take.
pub(super) struct Names<'a> {
    pub locations: &'a [Location],
    pub kinds: &'a [Kind],
}

impl Names<'_> {
    /// Whether a file comes to be at this name.
    pub fn is_taken(&self, name: &Location) -> bool {
        self.ops().any(|(location, kind)| match kind {
            Kind::Create | Kind::Move(_) => location == name,
            Kind::Modify | Kind::Delete => false,
        })
    }

    /// Whether no free name is at the end of where the file of this name went: its move could not be taken back
    /// before the others are.
    pub fn is_replaced(&self, name: &Location) -> bool {
        let goes_to = |name: &&Location| {
            self.ops().find(|(_, kind)| kind.from() == Some(*name)).map(|(location, _)| location)
        };
        let way = std::iter::successors(Some(name), goes_to).take(self.kinds.len() + 1);
        way.enumerate().any(|(nth, at)| (0 < nth && at == name) || self.is_deleted(at))
    }

    fn is_deleted(&self, name: &Location) -> bool {
        self.ops().any(|(location, kind)| location == name && matches!(kind, Kind::Delete))
    }

    fn ops(&self) -> impl Iterator<Item = (&Location, &Kind)> {
        self.locations.iter().zip(self.kinds)
    }
}

/// Files leave their names before others take them: deletions, then all moves, then the rest.
pub(super) fn names_first(ops: Vec<DiskOp>) -> Vec<DiskOp> {
    let (mut ordered, rest): (Vec<_>, Vec<_>) =
        ops.into_iter().partition(|op| matches!(op, DiskOp::Delete { .. }));
    let (moves, rest): (Vec<_>, Vec<_>) =
        rest.into_iter().partition(|op| matches!(op, DiskOp::Rename { .. }));
    ordered.extend(moves);
    ordered.extend(rest);
    ordered
}

impl Parts {
    /// Enters that another file's text stands at this name now, as the commit's entry for it says.
    pub(super) fn enter_replaced(
        &self,
        held: &Held,
        location: &Location,
        written: Option<Undo>,
        origin: &review::Origin,
    ) {
        let entry = written.and_then(|it| it.entries.into_iter().next());
        let Some((Some(was), Some(is))) = entry.map(|it| (it.before, it.after)) else { return };
        let text = |image| self.vfs.image_text(image).ok().flatten();
        let (Some(before), Some(after)) = (text(&was), text(&is)) else { return };
        held.keep_before(location, was);
        let changes = ChangeSet::between(&before, &after);
        held.enter(location, Entry::Changed, &whole(&before, &changes), origin);
    }
}

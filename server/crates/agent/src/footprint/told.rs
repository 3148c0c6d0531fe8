//! What a command changed, in words and diffs, within bounds.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use protocol::acp::ToolCallContent;
use text::{ChangeSet, Rope};
use vfs::{Eol, FileChange, Is, Location, Vfs, Was};

use super::Traces;
use crate::bounds;
use crate::cards::{self, Operation};
use crate::editor::{FoundFile, FoundOutcome, Side};
use crate::place::Place;

/// Names in one list.
const NAMES: usize = 20;

/// Whether a rule denies reading a path.
pub type Denied = Box<dyn Fn(&Path) -> bool + Send>;

/// What is known of a command's changes so far.
pub struct Told {
    place: Place,
    /// Whether a rule denies reading a path: what became of such a file is the person's to see, not the model's.
    denied: Denied,
    hidden: usize,
    changed: Vec<String>,
    /// Changed, and nothing can take it back.
    lost: Vec<String>,
    endings: Vec<String>,
    unsaved: Vec<String>,
    behind: Vec<String>,
    lines: Vec<String>,
    card: Vec<ToolCallContent>,
}

impl Told {
    /// Nothing yet.
    pub fn new(place: Place, denied: Denied) -> Told {
        Told {
            place,
            denied,
            hidden: 0,
            changed: Vec::new(),
            lost: Vec::new(),
            endings: Vec::new(),
            unsaved: Vec::new(),
            behind: Vec::new(),
            lines: Vec::new(),
            card: Vec::new(),
        }
    }

    /// More changed than is compared.
    pub fn many(&mut self, names: &[PathBuf], count: usize, most: usize) {
        let names = names.iter().filter(|it| !(self.denied)(it));
        let names: Vec<String> = names.map(|it| self.name(it)).collect();
        self.lines.push(format!(
            "[{count} files changed, more than the {most} a review takes; they cannot be taken back there: {}]",
            list(&names, count)
        ));
    }

    /// The changes that can be entered; the others are named.
    pub fn sort(
        &mut self,
        vfs: &Vfs,
        changes: Vec<FileChange>,
        objects: &HashMap<PathBuf, Arc<[u8]>>,
    ) -> Vec<FoundFile> {
        let mut files = Vec::new();
        for change in changes {
            match sides(vfs, &change, objects) {
                Ok((before, after)) if before.as_ref().map(bytes) == after.as_ref().map(bytes) => {
                    // Written, or with another mode only.
                    if let (Some(before), Some(after)) = (before, after)
                        && before.mode != after.mode
                    {
                        let why = format!("mode {:o} → {:o}", before.mode, after.mode);
                        self.lose(&change, &why);
                    }
                }
                Ok((before, after)) => {
                    let (location, real) = (Location::disk(&change.path), change.real);
                    files.push(FoundFile { location, real, before, after });
                }
                Err(why) => self.lose(&change, &why),
            }
        }
        files
    }

    fn lose(&mut self, change: &FileChange, why: &str) {
        if self.is_hidden(&change.path, &change.real) {
            self.hidden += 1;
        } else {
            let name = self.name(&change.path);
            self.lost.push(format!("{name} ({why})"));
        }
    }

    fn is_hidden(&self, path: &Path, real: &Path) -> bool {
        (self.denied)(path) || (self.denied)(real)
    }

    /// What became of a change.
    pub fn entered(&mut self, file: &FoundFile, outcome: FoundOutcome) {
        if outcome == FoundOutcome::NotTheCommands {
            return;
        }
        let none = Rope::new();
        let text = |side: &Option<Side>| side.as_ref().map_or(none.clone(), |it| it.text.clone());
        let (before, after) = (text(&file.before), text(&file.after));
        let changes = ChangeSet::between(&before, &after);
        let (added, removed) = text::diff::stats(&before, &changes);
        let name = self.place.shown(&file.location);
        let (operation, what) = match (&file.before, &file.after) {
            (None, _) => (Operation::Add, format!("{name} (new, +{added})")),
            (_, None) => (Operation::Delete, format!("{name} (deleted)")),
            (Some(_), Some(_)) => (Operation::Modify, format!("{name} +{added} −{removed}")),
        };
        if self.card.len() < NAMES {
            self.card.push(cards::diff(&file.location, operation, &before, &after, &changes));
        }
        if file.location.path().is_some_and(|path| self.is_hidden(path, &file.real)) {
            self.hidden += 1;
            return;
        }
        self.changed.push(what);
        if let (Some(before), Some(after)) = (&file.before, &file.after)
            && before.eol != after.eol
            && has_lines(&before.text)
            && has_lines(&after.text)
        {
            let (from, to) = (name_of(before.eol), name_of(after.eol));
            self.endings.push(format!("{name} from {from} to {to}"));
        }
        match outcome {
            FoundOutcome::NotTheCommands | FoundOutcome::Pending => {}
            FoundOutcome::Unsaved => self.unsaved.push(name),
            FoundOutcome::Behind => self.behind.push(name),
            FoundOutcome::Failed(reason) => self.lost.push(format!("{name} ({reason})")),
        }
    }

    /// All of it.
    pub fn traces(self) -> Traces {
        let Told { hidden, changed, lost, endings, unsaved, behind, mut lines, card, .. } = self;
        let mut say = |before: &str, names: &[String], after: &str| {
            if !names.is_empty() {
                lines.push(format!("[{before}{}{after}]", list(names, names.len())));
            }
        };
        say("changed: ", &changed, "");
        say("changed, cannot be taken back in a review: ", &lost, "");
        say("line endings of the whole file changed: ", &endings, "");
        say(
            "changed on disk while the editor holds unsaved text, which differs from it now: ",
            &unsaved,
            "; not in the review, only restoring a checkpoint takes it back",
        );
        say("changed on disk; the editor still shows the text before: ", &behind, "");
        if 0 < hidden {
            let files = bounds::counted(hidden, "file", "files");
            lines.push(format!("[changed: {files} that a rule denies reading]"));
        }
        Traces { lines, card }
    }

    fn name(&self, path: &Path) -> String {
        self.place.shown(&Location::disk(path))
    }
}

type Sides = (Option<Side>, Option<Side>);

/// Both sides of a change as text, or why there is none.
fn sides(
    vfs: &Vfs,
    change: &FileChange,
    objects: &HashMap<PathBuf, Arc<[u8]>>,
) -> Result<Sides, String> {
    let after = match &change.after {
        Is::Nothing => None,
        Is::Bytes { bytes, mode } => Some((Arc::clone(bytes), *mode)),
        Is::Other(what) => return Err((*what).to_owned()),
    };
    let unknown = || match &change.after {
        Is::Nothing => "deleted; what it held is not known".to_owned(),
        Is::Bytes { .. } | Is::Other(_) => "what it held before is not known".to_owned(),
    };
    let before = match &change.before {
        Was::Nothing => None,
        Was::Bytes { bytes, mode } => Some((Arc::clone(bytes), *mode)),
        Was::Git { blob, mode } => {
            let bytes = objects.get(&blob.worktree.join(&blob.name)).ok_or_else(unknown)?;
            Some((Arc::clone(bytes), *mode))
        }
        Was::Unknown => return Err(unknown()),
    };
    let side = |(bytes, mode): (Arc<[u8]>, u32)| {
        let (text, format) = vfs.decode_text(&bytes).ok_or_else(|| "no text".to_owned())?;
        Ok::<_, String>(Side { text, eol: format.eol, bytes, mode })
    };
    // A binary file that was only touched is no news.
    if before == after {
        return Ok((None, None));
    }
    Ok((before.map(side).transpose()?, after.map(side).transpose()?))
}

fn bytes(side: &Side) -> &[u8] {
    &side.bytes
}

fn has_lines(text: &Rope) -> bool {
    text.len_lines() > 1
}

fn name_of(eol: Eol) -> &'static str {
    match eol {
        Eol::Lf => "LF",
        Eol::Crlf => "CRLF",
        Eol::Cr => "CR",
        Eol::Mixed => "mixed",
    }
}

fn list(names: &[String], count: usize) -> String {
    let shown = names.len().min(NAMES);
    let mut out = names.get(..shown).unwrap_or_default().join(", ");
    if shown < count {
        out.push_str(&format!(", and {} more", count - shown));
    }
    out
}

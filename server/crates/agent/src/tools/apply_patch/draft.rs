//! A patch carried out in memory, one operation after the other, and what it comes to for each file.
//!
//! Invariant: each file is one entry, however many operations name it and whatever they call it.

mod renames;

use std::path::PathBuf;

use protocol::acp::ToolCallContent;
use text::patch::{Chunk, Operation, Patch};
use text::{ChangeSet, Rope};
use vfs::{Location, ReadError, Snapshot};

use super::{PROBLEMS, missing};
use crate::bounds;
use crate::cards;
use crate::editor::FileOp;
use crate::tool::{Caller, Cx, Failure};
use crate::tools;
use crate::tools::change::{changed_since_read, moved_on, seen};

/// Places of one file told that were not read.
const UNSEEN: usize = 4;

/// What a patch comes to.
pub struct Plan {
    /// One entry a file that changes, in the order of the patch.
    pub files: Vec<Planned>,
    /// What the author should know.
    pub notes: Vec<String>,
}

/// What becomes of one file.
pub struct Planned {
    /// What to do.
    pub op: FileOp,
    /// The file.
    pub location: Location,
    shown_as: cards::Operation,
    before: Rope,
    after: Rope,
    changes: ChangeSet,
}

impl Planned {
    /// The diff as a card shows it.
    pub fn diff(&self) -> ToolCallContent {
        let operation = self.shown_as.clone();
        cards::diff(&self.location, operation, &self.before, &self.after, &self.changes)
    }
}

/// The files while operations are worked out.
pub struct Draft<'a> {
    cx: &'a Cx,
    files: Vec<File>,
    notes: Vec<String>,
}

struct File {
    location: Location,
    /// Where it really lies, so that two names of one file are noticed.
    real: PathBuf,
    shown: String,
    base: Base,
    now: Now,
    /// An operation on it failed; later ones say nothing new.
    failed: bool,
}

/// What a file is before the patch.
enum Base {
    Absent,
    Text(Box<Snapshot>),
    /// No text, for this reason: it can be moved and deleted.
    Other(String),
}

impl Base {
    /// The text; empty where there is none.
    fn text(&self) -> Rope {
        match self {
            Base::Text(base) => base.rope.clone(),
            Base::Absent | Base::Other(_) => Rope::new(),
        }
    }
}

/// What a file is so far.
#[derive(Clone)]
enum Now {
    Absent,
    /// A text, made of another file's or new, with the changes from that file's text.
    Text {
        rope: Rope,
        of: Option<(usize, ChangeSet)>,
    },
    /// The bytes of this file.
    Other(usize),
}

impl<'a> Draft<'a> {
    /// Works a patch out. The error names everything that does not apply.
    pub fn of(cx: &'a Cx, patch: &Patch) -> Result<Plan, Vec<String>> {
        let mut draft = Draft { cx, files: Vec::new(), notes: Vec::new() };
        let mut problems = Vec::new();
        for operation in &patch.operations {
            problems.extend(draft.operation(operation).err());
        }
        problems.extend(draft.overlap());
        problems.extend(renames::stuck(cx, &draft.files));
        if problems.is_empty() && cx.caller == Caller::Model {
            problems.extend(draft.unseen());
        }
        if problems.is_empty() { Ok(draft.plan()) } else { Err(problems) }
    }

    fn operation(&mut self, operation: &Operation) -> Result<(), String> {
        match operation {
            Operation::Add { path, content } => {
                let at = self.file(path)?;
                let result = self.add(at, content);
                self.noted(at, result)
            }
            Operation::Delete { path } => {
                let at = match self.cx.place.link(path) {
                    Some(link) => self.at(link)?,
                    None => self.file(path)?,
                };
                let result = self.delete(at);
                self.noted(at, result)
            }
            Operation::Update { path, move_to, chunks } => {
                let at = self.file(path)?;
                let target = move_to.as_ref().map(|it| self.file(it)).transpose();
                let changed = match tools::notebook_edit::refuse_notebook(self.cx, path) {
                    Err(err) if !chunks.is_empty() => Err(err.to_string()),
                    Ok(()) | Err(_) => self.update(at, chunks),
                };
                let result = changed.and_then(|()| match target? {
                    Some(_) if self.cx.place.link(path).is_some() => {
                        Err(format!("{path} is a link, which is not moved"))
                    }
                    Some(to) => self.rename(at, to),
                    None => Ok(()),
                });
                self.noted(at, result)
            }
        }
    }

    fn noted(&mut self, at: usize, result: Result<(), String>) -> Result<(), String> {
        let known = self.files[at].failed;
        self.files[at].failed |= result.is_err();
        if known { Ok(()) } else { result }
    }

    /// The entry of a file, read when it is first named.
    fn file(&mut self, path: &str) -> Result<usize, String> {
        let target = self.cx.place.target(path).map_err(|err| err.to_string())?;
        self.at(target.location)
    }

    fn at(&mut self, location: Location) -> Result<usize, String> {
        let cx = self.cx;
        let real = match location.path() {
            Some(path) => cx.vfs.real_path(path),
            None => PathBuf::from(location.to_string()),
        };
        let shown = cx.place.shown(&location);
        if let Some(at) = self.files.iter().position(|it| it.real == real) {
            let other = &self.files[at];
            if other.location == location {
                return Ok(at);
            }
            return Err(format!("{shown} and {} are one file; use one name", other.shown));
        }
        let base = base(cx, &location).map_err(|err| format!("{shown}: {err}"))?;
        let at = self.files.len();
        let now = match &base {
            Base::Absent => Now::Absent,
            Base::Other(_) => Now::Other(at),
            Base::Text(base) => {
                let nothing = ChangeSet::identity(base.rope.len_bytes());
                Now::Text { rope: base.rope.clone(), of: Some((at, nothing)) }
            }
        };
        self.files.push(File { location, real, shown, base, now, failed: false });
        Ok(at)
    }

    fn add(&mut self, at: usize, content: &str) -> Result<(), String> {
        let file = &mut self.files[at];
        match &file.now {
            Now::Text { .. } | Now::Other(_) => {
                Err(format!("{} exists already; change it with '*** Update File:'", file.shown))
            }
            Now::Absent => {
                file.now = Now::Text { rope: Rope::from_str(content), of: None };
                Ok(())
            }
        }
    }

    fn delete(&mut self, at: usize) -> Result<(), String> {
        let file = &mut self.files[at];
        if let Now::Absent = file.now {
            return Err(self.absent(at));
        }
        goes(file, "deleted")?;
        changed_since_read(self.cx, &file.location).map_err(|err| err.to_string())?;
        file.now = Now::Absent;
        Ok(())
    }

    fn update(&mut self, at: usize, chunks: &[Chunk]) -> Result<(), String> {
        let file = &self.files[at];
        let (rope, of) = match &file.now {
            Now::Absent => return Err(self.absent(at)),
            Now::Other(_) if chunks.is_empty() => return Ok(()),
            Now::Other(from) => {
                let why = match &self.files[*from].base {
                    Base::Other(why) => why.as_str(),
                    Base::Absent | Base::Text(_) => "it is no text",
                };
                return Err(format!("{} cannot be changed: {why}", file.shown));
            }
            Now::Text { rope, of } => (rope.clone(), of.clone()),
        };
        let (changes, notes) = text::patch::apply_update(&rope, chunks).map_err(|err| {
            let then = |then: &Rope| Some(text::patch::apply_update(then, chunks).ok()?.0);
            let moved = match &file.base {
                Base::Text(base) if base.rope == rope => moved_on(self.cx, base, then),
                Base::Text(_) | Base::Absent | Base::Other(_) => None,
            };
            let missing = || missing::told(&file.shown, &rope, chunks, &err);
            moved.map_or_else(missing, |it| it.to_string())
        })?;
        for note in notes {
            let place = match note.chunk {
                0 => file.shown.clone(),
                nth => format!("{}, change {nth}", file.shown),
            };
            self.notes.push(format!("{place}: {}", note.message));
        }
        let after = changes.apply(&rope);
        let of = of.map(|(from, so_far)| (from, so_far.compose(changes)));
        self.files[at].now = Now::Text { rope: after, of };
        Ok(())
    }

    fn rename(&mut self, at: usize, to: usize) -> Result<(), String> {
        let (source, target) = (&self.files[at], &self.files[to]);
        if at == to {
            return Err(format!("{} cannot be moved onto itself", source.shown));
        }
        match &target.now {
            Now::Absent => {}
            Now::Text { .. } | Now::Other(_) => {
                return Err(format!(
                    "{} cannot be moved to {}, which exists already; delete that first",
                    source.shown, target.shown
                ));
            }
        }
        goes(source, "moved")?;
        if target.location.path().is_none() {
            return Err(format!("{} has no place on disk", target.shown));
        }
        self.files[to].now = std::mem::replace(&mut self.files[at].now, Now::Absent);
        Ok(())
    }

    fn absent(&self, at: usize) -> String {
        let File { location, shown, base, .. } = &self.files[at];
        let similar = match (base, location.path()) {
            (Base::Absent, Some(path)) => self.cx.vfs.similar(path),
            (Base::Absent | Base::Text(_) | Base::Other(_), _) => Vec::new(),
        };
        let denied = self.cx.session.rules().unreadable(&self.cx.place);
        let told = |path: &&PathBuf| !denied.as_ref().is_some_and(|denied| denied(path));
        let names: Vec<String> = similar
            .iter()
            .filter(told)
            .take(3)
            .map(|it| self.cx.place.shown(&Location::disk(it)))
            .collect();
        match names.as_slice() {
            [] => format!("{shown} does not exist"),
            names => format!("{shown} does not exist; did you mean {}?", names.join(" or ")),
        }
    }

    /// A file that another file of the patch lies in.
    fn overlap(&self) -> Option<String> {
        self.files.iter().find_map(|file| {
            let inner = self.files.iter().find(|it| {
                it.real != file.real
                    && it.real.starts_with(&file.real)
                    && file.location.path().is_some()
            })?;
            Some(format!(
                "{} and {} overlap: one would be a folder and a file",
                file.shown, inner.shown
            ))
        })
    }

    /// Lines that change and were not read, or were changed since.
    fn unseen(&self) -> Vec<String> {
        let mut problems = Vec::new();
        for (at, file) in self.files.iter().enumerate() {
            let changed = match (&file.now, &file.base) {
                (Now::Text { of: Some((from, changes)), .. }, _) => match &self.files[*from].base {
                    Base::Text(base) => Some((base, changes.clone())),
                    Base::Absent | Base::Other(_) => None,
                },
                (Now::Text { of: None, .. }, _) if renames::leaves(self.cx, &self.files, at) => {
                    None
                }
                (Now::Text { rope, of: None }, Base::Text(base)) => {
                    Some((base, ChangeSet::between(&base.rope, rope)))
                }
                (Now::Text { .. } | Now::Absent | Now::Other(_), _) => None,
            };
            let Some((base, changes)) = changed else { continue };
            let refused = changes.edits().iter().filter_map(|edit| {
                seen(self.cx, base, edit.range.clone(), "Read these lines first.").err()
            });
            let mut refused: Vec<String> = refused.take(UNSEEN).map(|it| it.to_string()).collect();
            refused.dedup();
            problems.extend(refused);
        }
        problems
    }

    fn plan(self) -> Plan {
        let Draft { cx, files, notes } = self;
        let mut plan = Plan { files: Vec::new(), notes };
        for (at, file) in files.iter().enumerate() {
            let from = renames::moved_from(cx, &files, at);
            if renames::is_gone(cx, &files, at) {
                plan.files.push(deleted(file));
            }
            plan.files.extend(match (&file.now, from) {
                (Now::Absent, _) => None,
                (Now::Other(from), _) if *from == at => None,
                (Now::Other(_), None) => None,
                (Now::Other(_), Some(from)) => Some(moved(&files[from], file, None)),
                (Now::Text { of, .. }, Some(from)) => {
                    Some(moved(&files[from], file, of.as_ref().map(|(_, changes)| changes)))
                }
                (Now::Text { rope, of }, None) => text(cx, &files, at, rope, of.as_ref()),
            });
            plan.notes.extend(renames::note(cx, &files, at));
        }
        plan.files = renames::ordered(plan.files);
        plan
    }
}

/// The text or bytes at a place before the patch.
fn base(cx: &Cx, location: &Location) -> Result<Base, String> {
    let on_disk = location.path().and_then(|path| cx.vfs.link_stat(path).ok());
    match cx.vfs.snapshot(location) {
        // A new buffer whose file does not exist yet.
        Ok(base)
            if on_disk.is_none() && location.path().is_some() && base.rope.len_bytes() == 0 =>
        {
            Ok(Base::Absent)
        }
        Ok(base) => Ok(Base::Text(Box::new(base))),
        Err(ReadError::NotFound { .. }) if on_disk.is_some() => {
            Ok(Base::Other("it is a link that leads nowhere".into()))
        }
        Err(ReadError::NotFound { .. }) => Ok(Base::Absent),
        Err(ReadError::Folder { .. }) => Err("it is a folder; a patch changes files only".into()),
        Err(err @ (ReadError::Special { .. } | ReadError::Cancelled)) => Err(err.to_string()),
        // Something in the path is no folder.
        Err(err @ ReadError::Io { .. }) if on_disk.is_none() => Err(err.to_string()),
        Err(
            err @ (ReadError::Binary { .. } | ReadError::TooLarge { .. } | ReadError::Io { .. }),
        ) => Ok(Base::Other(err.to_string())),
    }
}

/// Whether a file may leave its place.
fn goes(file: &File, how: &str) -> Result<(), String> {
    if file.location.path().is_none() {
        return Err(format!("{} is only open in the editor and cannot be {how}", file.shown));
    }
    match &file.base {
        Base::Text(base) if base.is_unsaved() => Err(format!(
            "{} has unsaved text in the editor and cannot be {how}; ask the person to save it",
            file.shown
        )),
        Base::Text(_) | Base::Absent | Base::Other(_) => Ok(()),
    }
}

/// A whole file that is deleted.
fn deleted(file: &File) -> Planned {
    let before = file.base.text();
    let after = Rope::new();
    Planned {
        op: FileOp::Delete { location: file.location.clone() },
        location: file.location.clone(),
        shown_as: cards::Operation::Delete,
        changes: ChangeSet::between(&before, &after),
        before,
        after,
    }
}

fn moved(from: &File, to: &File, changes: Option<&ChangeSet>) -> Planned {
    let (base, before) = match &from.base {
        Base::Text(base) => (Some(base.clone()), base.rope.clone()),
        Base::Absent | Base::Other(_) => (None, Rope::new()),
    };
    let nothing = || ChangeSet::identity(before.len_bytes());
    let changes = changes.cloned().unwrap_or_else(nothing);
    let (source, target) = (from.location.clone(), to.location.clone());
    Planned {
        after: changes.apply(&before),
        shown_as: cards::Operation::Move { from: source.clone() },
        location: target.clone(),
        op: FileOp::Move { from: source, to: target, base, changes: changes.clone() },
        before,
        changes,
    }
}

fn text(
    cx: &Cx,
    files: &[File],
    at: usize,
    after: &Rope,
    of: Option<&(usize, ChangeSet)>,
) -> Option<Planned> {
    let file = &files[at];
    let location = file.location.clone();
    let after = after.clone();
    let base = match &file.base {
        Base::Text(base) if !renames::leaves(cx, files, at) => Some(base),
        Base::Text(_) | Base::Absent | Base::Other(_) => None,
    };
    let Some(base) = base else {
        let new = after.to_string();
        return Some(Planned {
            changes: ChangeSet::whole(&Rope::new(), &new),
            op: FileOp::Create { location: location.clone(), text: new },
            location,
            shown_as: cards::Operation::Add,
            before: Rope::new(),
            after,
        });
    };
    let changes = match of {
        Some((from, changes)) if *from == at => changes.clone(),
        Some(_) | None => ChangeSet::between(&base.rope, &after),
    };
    (!changes.is_identity()).then(|| Planned {
        op: FileOp::Modify { base: base.clone(), changes: changes.clone() },
        location,
        shown_as: cards::Operation::Modify,
        before: base.rope.clone(),
        after,
        changes,
    })
}

/// What is told when nothing of a patch applies.
pub fn refusal(problems: &[String], patch: &Patch) -> Failure {
    let count = patch.operations.len();
    let rest = match count.saturating_sub(problems.len()) {
        0 => String::new(),
        rest => {
            format!(" {rest} of its {count} operations fit; send them again with the others.")
        }
    };
    let problems = bounds::text(&problems.join("\n- "), PROBLEMS);
    Failure::new(format!("The patch does not apply; nothing was changed.{rest}\n- {problems}"))
}

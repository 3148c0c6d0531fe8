//! What the editing tools share: planning a change against the text as it is now, checking that its
//! lines were seen, applying it, and telling what happened.

use std::ops::Range;

use protocol::acp::ToolCallContent;
use text::find::{FindError, Occurrences, Tier};
use text::{Bias, ChangeSet, LineEndings, Rope, to_ending};
use vfs::{Location, ReadError, Snapshot};

use crate::cards::{self, Operation};
use crate::editor::{AppliedFile, ApplyError, FileOp, Kept, Transaction};
use crate::seen::Sight;
use crate::tool::{Caller, Cx, Failure, Output, Review};
use crate::tools::{numbering, read};

/// Lines a refusal shows at most.
const REGION: usize = 60;

/// A change worked out, not yet made.
pub struct Plan {
    /// The text it is made against; absent for a new file.
    pub base: Option<Box<Snapshot>>,
    /// Where it goes.
    pub location: Location,
    /// What changes.
    pub changes: ChangeSet,
    /// The text after.
    pub after: Rope,
    /// How the old text was found.
    pub tiers: Vec<Tier>,
    /// Places replaced.
    pub count: usize,
}

impl Plan {
    /// The diff as a card shows it.
    pub fn diff(&self) -> ToolCallContent {
        let (before, operation) = match &self.base {
            Some(base) => (base.rope.clone(), Operation::Modify),
            None => (Rope::new(), Operation::Add),
        };
        cards::diff(&self.location, operation, &before, &self.after, &self.changes)
    }

    /// The plan for a whole new text: of a new file, or of one that was read whole.
    pub fn whole(cx: &Cx, location: Location, text: &str) -> Result<Plan, Failure> {
        let base = match cx.vfs.snapshot(&location) {
            Ok(base) => base,
            Err(ReadError::NotFound { .. }) => return Ok(Plan::create(location, text)),
            Err(err) => return Err(read::failure(cx, err)),
        };
        if cx.caller == Caller::Model {
            let all = 0..base.rope.len_bytes();
            seen(
                cx,
                &base,
                all,
                &format!(
                    "Read the whole file before you replace it, or use {} for a part of it.",
                    cx.dialect.called("Edit")
                ),
            )?;
        }
        let ending = LineEndings::of(&base.rope);
        let text = match (ending.is_mixed(), text.contains('\r')) {
            (true, true) => text.to_owned(),
            (true, false) => text::in_endings_of(&base.rope, text),
            (false, _) => to_ending(text, ending.dominant()),
        };
        let changes = ChangeSet::whole(&base.rope, &text);
        Ok(Plan::modify(base, changes, Vec::new(), 1))
    }

    /// The plan for a file that does not exist.
    pub fn create(location: Location, text: &str) -> Plan {
        let after = Rope::from_str(text);
        Plan {
            base: None,
            location,
            changes: ChangeSet::whole(&Rope::new(), text),
            after,
            tiers: Vec::new(),
            count: 1,
        }
    }

    /// The plan for replacing text in a file that exists.
    pub fn replace(cx: &Cx, base: Snapshot, edits: &[Replace<'_>]) -> Result<Plan, Failure> {
        let mut running = base.rope.clone();
        let mut changes = ChangeSet::identity(base.rope.len_bytes());
        let mut tiers = Vec::new();
        let mut count = 0;
        for (nth, edit) in edits.iter().enumerate() {
            let found = text::find::replace(&running, edit.old, edit.new, edit.which);
            let found = found.map_err(|err| {
                let is_missing = matches!(err, FindError::NotFound { .. });
                let then = |then: &Rope| {
                    let found = text::find::replace(then, edit.old, edit.new, Occurrences::One);
                    found.ok().filter(|_| is_missing).map(|it| it.changes)
                };
                moved_on(cx, &base, then)
                    .unwrap_or_else(|| not_found(cx, &base, nth, edits.len(), &err))
            })?;
            running = found.changes.apply(&running);
            changes = changes.compose(found.changes);
            tiers.push(found.tier);
            count += found.count;
        }
        if cx.caller == Caller::Model {
            let replace_all = edits.iter().all(|it| it.which == Occurrences::All);
            if replace_all {
                if !cx.session.seen.knows(&base.location) {
                    seen(cx, &base, 0..0, "Read it first.")?;
                }
            } else {
                for edit in changes.edits() {
                    seen(cx, &base, edit.range.clone(), "Read these lines first.")?;
                }
            }
        }
        if changes.is_identity() {
            return Err(Failure::new("The edits change nothing: the text is already as wanted."));
        }
        Ok(Plan::modify(base, changes, tiers, count))
    }

    /// The plan for changes worked out elsewhere; what they need seen was checked there.
    pub fn edit(base: Snapshot, changes: ChangeSet) -> Plan {
        Plan::modify(base, changes, Vec::new(), 1)
    }

    fn modify(base: Snapshot, changes: ChangeSet, tiers: Vec<Tier>, count: usize) -> Plan {
        let after = changes.apply(&base.rope);
        Plan {
            location: base.location.clone(),
            base: Some(Box::new(base)),
            changes,
            after,
            tiers,
            count,
        }
    }

    /// Makes the change and tells what happened.
    pub async fn apply(self, cx: &Cx, verb: &str) -> Result<Output, Failure> {
        let shown = cx.place.shown(&self.location);
        let op = match self.base {
            Some(base) if self.changes.is_identity() => {
                drop(base);
                return Ok(Output::text(format!(
                    "{shown} already has this text; nothing was changed."
                )));
            }
            Some(base) => FileOp::Modify { base, changes: self.changes },
            None => {
                FileOp::Create { location: self.location.clone(), text: self.after.to_string() }
            }
        };
        let Some(done) = commit(cx, format!("{verb} {shown}"), vec![op]).await?.pop() else {
            return Err(Failure::new(
                "The edit was taken but nothing came of it; read the file again.",
            ));
        };
        Ok(told(cx, verb, &done, &self.tiers, self.count))
    }
}

/// An operation that took place.
pub struct Done {
    /// What it was.
    pub operation: Operation,
    /// What became of its file.
    pub file: AppliedFile,
}

impl Done {
    /// The diff as a card shows it.
    pub fn diff(&self) -> ToolCallContent {
        let AppliedFile { location, before, after, changes, .. } = &self.file;
        cards::diff(location, self.operation.clone(), before, after, changes)
    }

    /// Where the text is when it is not on disk, as a sentence.
    pub fn unsaved(&self, cx: &Cx) -> Option<String> {
        match &self.file.kept {
            Kept::Disk => None,
            // What becomes of it is said when the call ends.
            Kept::Undecided if cx.review == Review::First => None,
            Kept::Undecided => Some(
                "It is in the editor's buffer, not saved: it is saved once the person accepts it."
                    .to_owned(),
            ),
            Kept::Buffer { reason } => {
                Some(format!("It is in the editor's buffer, not saved: {reason}."))
            }
            Kept::OldName => Some(
                "The editor cannot move files and still shows the old name; the person has to open \
                 the new one."
                    .to_owned(),
            ),
        }
    }

    /// What was seen of the file goes with it.
    fn remember(&self, cx: &Cx) {
        let AppliedFile { location, before, after, changes, .. } = &self.file;
        let seen = &cx.session.seen;
        match &self.operation {
            Operation::Add => seen.show_all(location, after),
            Operation::Modify => seen.edited(location, before, after, changes),
            // Before anything else, since another file may have that name by now.
            Operation::Delete => return,
            Operation::Move { .. } => {
                if seen.knows(location) {
                    seen.edited(location, before, after, changes);
                }
            }
        }
        cx.session.note_edit(location);
    }
}

/// Carries operations out together, all of them or none, and remembers what was written.
pub async fn commit(cx: &Cx, label: String, ops: Vec<FileOp>) -> Result<Vec<Done>, Failure> {
    for op in &ops {
        check_new_text(cx, op)?;
    }
    let operations: Vec<Operation> = ops.iter().map(operation_of).collect();
    let places: Vec<Intended> = ops.iter().filter_map(Intended::of).collect();
    let transaction = Transaction {
        session: cx.session.id.clone(),
        call: cx.call.clone(),
        label,
        ops,
        approval: cx.approval,
        review: cx.session.world.config().settings.edits.review,
    };
    let applied = tokio::select! {
        biased;
        applied = cx.editor.apply(transaction) => applied,
        () = cx.cancel.cancelled() => Err(ApplyError::Cancelled),
    };
    let files = applied.map_err(|err| refused_at(cx, err, &places))?.files;
    let done = operations.into_iter().zip(files).map(|(operation, file)| Done { operation, file });
    let done: Vec<Done> = done.collect();
    remember(cx, &done);
    Ok(done)
}

/// What was seen of the files is seen of what became of them.
fn remember(cx: &Cx, done: &[Done]) {
    let seen = &cx.session.seen;
    let deleted = done.iter().filter(|it| matches!(it.operation, Operation::Delete));
    deleted.for_each(|it| seen.forget(&it.file.location));
    let moves = done.iter().filter_map(|it| match &it.operation {
        Operation::Move { from } => Some((from, &it.file.location)),
        Operation::Add | Operation::Modify | Operation::Delete => None,
    });
    seen.moved(&moves.collect::<Vec<_>>());
    done.iter().for_each(|it| it.remember(cx));
}

/// Refuses new text that would make a file binary, which no tool could read or edit any more.
pub fn refuse_nul(shown: &str, text: &str) -> Result<(), Failure> {
    if text.contains('\0') {
        return Err(Failure::new(format!(
            "The new text for {shown} holds a NUL character (U+0000), which would make it a binary \
             file. Nothing was changed. Write it as an escape of the file's language, or leave it out."
        )));
    }
    Ok(())
}

/// One replacement of text.
pub struct Replace<'a> {
    /// What to replace.
    pub old: &'a str,
    /// What to put there.
    pub new: &'a str,
    /// How often it may occur.
    pub which: Occurrences,
}

/// The file to edit, with what keeps it from being edited.
pub fn base(cx: &Cx, location: &Location) -> Result<Snapshot, Failure> {
    cx.vfs.snapshot(location).map_err(|err| read::failure(cx, err))
}

/// Whether these bytes were read and are unchanged; the refusal says what to do.
pub fn seen(cx: &Cx, base: &Snapshot, range: Range<usize>, advice: &str) -> Result<(), Failure> {
    let shown = cx.place.shown(&base.location);
    match cx.session.seen.check(&base.location, &base.rope, range.clone()) {
        Sight::Fresh => Ok(()),
        Sight::Never if !range.is_empty() => {
            let (first, last) = lines_now(&base.rope, &base.rope, &range);
            if first + REGION <= last {
                return Err(Failure::new(format!("{shown} was not read yet. {advice}")));
            }
            let current = show_region(cx, base, first, last);
            Err(Failure::new(format!(
                "{shown} was not read yet. Its lines {first}-{last} are:\n{current}\n\
                 Nothing was changed. Make the edit against this text."
            )))
        }
        Sight::Never => Err(Failure::new(format!("{shown} was not read yet. {advice}"))),
        Sight::Unseen { first, last } if last < first + REGION => {
            let current = show_region(cx, base, first, last);
            Err(Failure::new(format!(
                "Lines {first}-{last} of {shown} were not read yet. They are:\n{current}\n\
                 Nothing was changed. Make the edit against this text."
            )))
        }
        Sight::Unseen { first, last } => Err(Failure::new(format!(
            "Lines {first}-{last} of {shown} were not read yet. {advice}"
        ))),
        Sight::Changed { first, last } => Err(changed(cx, base, first, last)),
    }
}

/// The refusal for an edit that fits the text as it was read, which was changed since.
pub fn moved_on(
    cx: &Cx,
    base: &Snapshot,
    fits: impl FnOnce(&Rope) -> Option<ChangeSet>,
) -> Option<Failure> {
    let then = cx.session.seen.text(&base.location).filter(|it| !text::is_same(it, &base.rope))?;
    let found = fits(&then)?;
    let (first, last) = (found.edits().first()?, found.edits().last()?);
    let range = first.range.start..last.range.end;
    let (first, last) = lines_now(&then, &base.rope, &range);
    Some(changed(cx, base, first, last))
}

/// Why a file must not be deleted: it was read, and is another since.
pub fn changed_since_read(cx: &Cx, location: &Location) -> Result<(), Failure> {
    let Some(then) = cx.session.seen.text(location).filter(|_| cx.caller == Caller::Model) else {
        return Ok(());
    };
    match cx.vfs.snapshot(location) {
        Ok(now) if !text::is_same(&now.rope, &then) => Err(Failure::new(format!(
            "{} changed since it was read. Nothing of it was deleted; read it again before you do.",
            cx.place.shown(location)
        ))),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The refusal that shows lines as they are now, which then count as seen.
fn changed(cx: &Cx, base: &Snapshot, first: usize, last: usize) -> Failure {
    let shown = cx.place.shown(&base.location);
    let current = show_region(cx, base, first, last);
    Failure::new(format!(
        "{shown} changed since it was read, in lines {first}-{last}. They are now:\n{current}\nNothing was \
         changed. Make the edit against this text."
    ))
}

fn not_found(cx: &Cx, base: &Snapshot, nth: usize, of: usize, err: &FindError) -> Failure {
    let shown = cx.place.shown(&base.location);
    let which = if 1 < of { format!("Edit {} of {of}: ", nth + 1) } else { String::new() };
    let nothing = if 1 < of { " Nothing was changed." } else { "" };
    let text = match err {
        FindError::Identical => {
            "old_string and new_string are the same, so there is nothing to change.".to_string()
        }
        FindError::Empty => {
            format!(
                "old_string is empty and {shown} exists. Give the text to replace, or use Write."
            )
        }
        FindError::Ambiguous { lines, tier } => {
            let lines: Vec<String> = lines.iter().map(usize::to_string).collect();
            // All of them are replaced only where they are exactly this text.
            let all = if *tier == Tier::Exact { ", or set replace_all" } else { "" };
            let how = match tier {
                Tier::Exact => String::new(),
                Tier::LineEndings
                | Tier::TrailingWhitespace
                | Tier::Whitespace
                | Tier::Indentation
                | Tier::Unicode
                | Tier::BlockAnchor => format!(" (matched by {})", tier.name()),
            };
            format!(
                "old_string occurs {} times in {shown}{how}, at lines {}. Add lines around it so that \
                 it is unique{all}.",
                lines.len(),
                lines.join(", ")
            )
        }
        FindError::NotFound { closest: Some(closest) } => format!(
            "old_string was not found in {shown}. The closest place is line {}, which differs from \
             column {} on:\n{:>6}\t{}\nwhere old_string has:\n      \t{}\nRead the lines again and \
             use the text as it is now.",
            closest.line, closest.column, closest.line, closest.text, closest.old_line
        ),
        FindError::NotFound { closest: None } => format!(
            "old_string was not found in {shown}, nor anything like it. Read the file again and use \
             the text as it is now."
        ),
    };
    Failure::new(format!("{which}{text}{nothing}"))
}

/// Where an edit was to go.
struct Intended {
    base: Snapshot,
    range: Range<usize>,
}

impl Intended {
    fn of(op: &FileOp) -> Option<Intended> {
        let FileOp::Modify { base, changes } = op else { return None };
        let (first, last) = (changes.edits().first()?, changes.edits().last()?);
        Some(Intended { base: (**base).clone(), range: first.range.start..last.range.end })
    }
}

/// A refusal with the text as it is now where the edit was to go.
fn refused_at(cx: &Cx, err: ApplyError, places: &[Intended]) -> Failure {
    let at = match &err {
        ApplyError::Refused { location, .. } => {
            places.iter().find(|it| it.base.location == *location)
        }
        ApplyError::Stale { .. }
        | ApplyError::Unencodable { .. }
        | ApplyError::Conflict { .. }
        | ApplyError::Unanswered { .. }
        | ApplyError::Cancelled => None,
    };
    let now = at.and_then(|at| Some((at, cx.vfs.snapshot(&at.base.location).ok()?)));
    let failure = refused(cx, err);
    match (failure, now) {
        (Failure::Told(text), Some((at, now))) => {
            let (first, last) = lines_now(&at.base.rope, &now.rope, &at.range);
            let region = show_region(cx, &now, first, last);
            Failure::Told(format!("{text} The lines are now:\n{region}"))
        }
        (failure, _) => failure,
    }
}

/// The lines (1-based) where a range of an older text is now.
fn lines_now(then: &Rope, now: &Rope, range: &Range<usize>) -> (usize, usize) {
    let since = ChangeSet::between(then, now);
    let start = since.map_pos(range.start, Bias::Left);
    let end = since.map_pos(range.end, Bias::Right).max(start);
    let first = now.byte_to_line(start) + 1;
    let last = now.byte_to_line(end.saturating_sub(1).max(start)) + 1;
    (first, last)
}

/// A transaction's refusal, with what to do next.
pub fn refused(cx: &Cx, err: ApplyError) -> Failure {
    match err {
        ApplyError::Cancelled => Failure::Cancelled,
        ApplyError::Stale { location, first_line, current } => {
            if let Ok(base) = cx.vfs.snapshot(&location) {
                let lines = current.lines().count().clamp(1, REGION);
                let last = first_line + lines - 1;
                if 0 < first_line && last <= base.rope.len_lines() {
                    let start = base.rope.line_to_byte(first_line - 1);
                    let len = region_len(&base.rope, first_line, last);
                    cx.session.seen.show(&location, &base.rope, start..start + len);
                }
            }
            Failure::new(format!(
                "The person changed the same place of {} meanwhile; nothing of yours was applied. From \
                 line {first_line} it now reads:\n{}\nMake the edit against this text.",
                cx.place.shown(&location),
                numbered(cx, &current, first_line)
            ))
        }
        ApplyError::Unencodable { .. } => Failure::new(format!(
            "{err}. Nothing was changed. Use characters the encoding has, or ask the person to convert \
             the file."
        )),
        ApplyError::Refused { .. } => Failure::new(format!("{err}. Nothing was changed.")),
        ApplyError::Conflict { .. } | ApplyError::Unanswered { .. } => {
            Failure::new(format!("{err}. Read the files again before going on."))
        }
    }
}

fn check_new_text(cx: &Cx, op: &FileOp) -> Result<(), Failure> {
    let (location, texts) = match op {
        FileOp::Create { location, text } => (location, vec![text.as_str()]),
        FileOp::Modify { base, changes } => (&base.location, inserted(changes)),
        FileOp::Move { to, changes, .. } => (to, inserted(changes)),
        FileOp::Delete { .. } => return Ok(()),
    };
    let shown = cx.place.shown(location).to_string();
    texts.into_iter().try_for_each(|text| refuse_nul(&shown, text))
}

fn inserted(changes: &ChangeSet) -> Vec<&str> {
    changes.edits().iter().map(|it| it.text.as_str()).collect()
}

/// What an operation on a file is called on its card.
fn operation_of(op: &FileOp) -> Operation {
    match op {
        FileOp::Create { .. } => Operation::Add,
        FileOp::Modify { .. } => Operation::Modify,
        FileOp::Delete { .. } => Operation::Delete,
        FileOp::Move { from, .. } => Operation::Move { from: from.clone() },
    }
}

fn told(cx: &Cx, verb: &str, done: &Done, tiers: &[Tier], count: usize) -> Output {
    let file = &done.file;
    let shown = cx.place.shown(&file.location);
    let (added, removed) = text::diff::stats(&file.before, &file.changes);
    let places = if 1 < count { format!("{count} places in ") } else { String::new() };
    let (mut text, signs) = match done.operation {
        Operation::Add => (
            format!("Created {shown} ({added} line{}).", if added == 1 { "" } else { "s" }),
            format!("+{added}"),
        ),
        Operation::Modify | Operation::Move { .. } => (
            format!("Changed {places}{shown} (+{added} −{removed})."),
            format!("+{added} −{removed}"),
        ),
        Operation::Delete => (format!("Deleted {shown}."), format!("−{removed}")),
    };
    let loose: Vec<&str> =
        tiers.iter().filter(|it| **it != Tier::Exact).map(|it| it.name()).collect();
    if !loose.is_empty() {
        text.push_str(&format!(" Not matched exactly but by: {}.", loose.join(", ")));
    }
    if let Some(unsaved) = done.unsaved(cx) {
        text.push_str(&format!(" {unsaved}"));
    }
    let excerpt = numbering::changed(cx, &file.before, &file.after, &file.changes, 2);
    text.push_str(&format!("\n{}", crate::bounds::text(&excerpt, 4_000)));
    Output::text(text).with_card(vec![done.diff()]).with_title(format!("{verb} {shown} {signs}"))
}

/// Lines `first..=last` (1-based) with their numbers, bounded. What is shown counts as seen.
fn show_region(cx: &Cx, base: &Snapshot, first: usize, last: usize) -> String {
    let text = &base.rope;
    let last = last.min(first + REGION - 1).min(text.len_lines());
    let lines: Vec<String> = (first..=last)
        .map(|it| {
            let content = numbering::content(text, it);
            numbering::row(cx, it, &content, &content)
        })
        .collect();
    let whole = lines.join("\n");
    let shown = crate::bounds::text(&whole, 8_000);
    if shown == whole {
        let start = text.line_to_byte(first - 1);
        let len = region_len(text, first, last);
        cx.session.seen.show(&base.location, text, start..start + len);
    }
    shown
}

fn region_len(text: &Rope, first: usize, last: usize) -> usize {
    let end = if last < text.len_lines() { text.line_to_byte(last) } else { text.len_bytes() };
    end - text.line_to_byte(first - 1)
}

fn numbered(cx: &Cx, text: &str, first: usize) -> String {
    let lines: Vec<String> = text
        .lines()
        .take(REGION)
        .enumerate()
        .map(|(nth, it)| numbering::row(cx, first + nth, it, it))
        .collect();
    lines.join("\n")
}

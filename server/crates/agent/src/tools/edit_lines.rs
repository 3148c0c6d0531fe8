//! `EditLines`: changes lines that are named by their anchors.
//!
//! Invariant: every anchor is checked against the text as it is now before anything changes.

use std::collections::BTreeSet;

use async_trait::async_trait;
use protocol::acp::{ToolCallContent, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use text::anchors::{Anchor, AnchorError, LineEdit, Moved, apply_line_edits};
use vfs::Snapshot;

use crate::place::Place;
use crate::tool::{Access, Caller, Card, Content, Cx, Failure, Output, Tool};
use crate::tools::change::{Plan, base, seen};
use crate::tools::{notebook_edit, numbering};

/// Unchanged lines shown around each line that a refusal names.
const AROUND: usize = 2;

/// Changes whole lines of a file, named by the anchors that `Read` and other results show before
/// each line, e.g. `12#KF`. All edits of a call refer to the text as it was shown, so the lines of
/// one edit do not move those of another. When a line is no longer what its anchor says, nothing is
/// changed and the lines are shown with their new anchors. Works on unsaved buffers; all other lines
/// keep their bytes.
#[derive(Deserialize, JsonSchema)]
pub struct EditLines {
    /// The file: absolute, relative to the working directory, `~/…`, or an `untitled:` name.
    file_path: String,
    /// The edits, in any order.
    #[schemars(length(min = 1))]
    edits: Vec<One>,
}

/// One edit.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct One {
    /// What to do.
    op: Op,
    /// The anchor of the first line to replace or delete, or of the line to insert at.
    first: Option<String>,
    /// The anchor of the last line to replace or delete; absent: the first is the only one.
    last: Option<String>,
    /// The new lines, without anchors. Empty with `replace`: the lines go.
    text: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Op {
    /// New text for the lines from `first` to `last`.
    Replace,
    /// New lines after the line `first`.
    InsertAfter,
    /// New lines before the line `first`.
    InsertBefore,
    /// New lines at the end of the file.
    Append,
    /// New lines at the beginning of the file.
    Prepend,
    /// The lines from `first` to `last` go.
    Delete,
}

#[async_trait]
impl Tool for EditLines {
    const NAME: &'static str = "EditLines";
    const ALIASES: &'static [&'static str] = &["edit_lines"];
    const FIELDS: &'static [(&'static str, &'static str)] = &[
        ("path", "file_path"),
        ("filePath", "file_path"),
        ("operation", "op"),
        ("anchor", "first"),
        ("start", "first"),
        ("end", "last"),
        ("content", "text"),
        ("new_text", "text"),
    ];

    fn kind() -> ToolKind {
        ToolKind::Edit
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        Ok(Access::write(vec![place.file(&self.file_path)?]))
    }

    fn card(&self, place: &Place) -> Card {
        let Ok(target) = place.target(&self.file_path) else {
            return Card::new(format!("Edit {}", self.file_path));
        };
        let first = self.edits.iter().find_map(|it| Anchor::parse(it.first.as_deref()?).ok());
        let line = first.and_then(|it| u32::try_from(it.line).ok());
        let title = format!("Edit {}", place.shown(&target.location));
        Card { title, locations: vec![(target.location, line)] }
    }

    async fn preview(&self, cx: &Cx) -> Result<Vec<ToolCallContent>, Failure> {
        Ok(vec![self.plan(cx)?.0.diff()])
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        let (plan, note) = self.plan(cx)?;
        let mut output = plan.apply(cx, "Edit").await?;
        output.content.extend(note.map(Content::Text));
        Ok(output)
    }
}

impl EditLines {
    /// The change, and what was forgiven.
    fn plan(&self, cx: &Cx) -> Result<(Plan, Option<String>), Failure> {
        notebook_edit::refuse_notebook(cx, &self.file_path)?;
        let location = cx.place.target(&self.file_path)?.location;
        let base = base(cx, &location)?;
        if cx.caller == Caller::Model && !cx.session.seen.knows(&location) {
            seen(cx, &base, 0..0, "Read it first: that shows the anchors.")?;
        }
        let mut stripped = Vec::new();
        let mut edits = Vec::new();
        for (nth, edit) in self.edits.iter().enumerate() {
            let at = format!("args.edits[{nth}]");
            let read = edit
                .read()
                .map_err(|problem| Failure::new(format!("{at}{problem} Nothing was changed.")))?;
            stripped.extend(read.stripped.then_some(at));
            edits.push(read.edit);
        }
        let changes =
            apply_line_edits(&base.rope, &edits).map_err(|err| refused(cx, &base, err))?;
        if changes.is_identity() {
            return Err(Failure::new("The edits change nothing: the lines already are as wanted."));
        }
        if cx.caller == Caller::Model {
            for edit in changes.edits() {
                seen(cx, &base, edit.range.clone(), "Read these lines first.")?;
            }
        }
        let note = (!stripped.is_empty()).then(|| {
            format!(
                "[note: the text of {} began each line with an anchor; they were left out]",
                stripped.join(", ")
            )
        });
        Ok((Plan::edit(base, changes), note))
    }
}

/// An edit that was read.
struct ReadEdit {
    edit: LineEdit,
    /// Whether anchors were taken out of its text.
    stripped: bool,
}

impl One {
    /// The edit, or what is wrong with it, to be read after its place in the input.
    fn read(&self) -> Result<ReadEdit, String> {
        let anchor = |name: &str, text: &Option<String>| match text {
            Some(text) => Anchor::parse(text).map_err(|err| format!(".{name}: {err}.")),
            None => Err(format!(" needs `{name}`, the anchor of a line.")),
        };
        let first = || anchor("first", &self.first);
        let last = |first: Anchor| match &self.last {
            Some(_) => anchor("last", &self.last),
            None => Ok(first),
        };
        let unused = |name: &str, value: &Option<String>, instead: &str| match value {
            Some(_) => Err(format!(" takes no `{name}`; {instead}.")),
            None => Ok(()),
        };
        let single = |value: &Option<String>| match value {
            Some(text) if self.first.as_ref() != Some(text) => {
                unused("last", value, "it inserts at the line `first`")
            }
            Some(_) | None => Ok(()),
        };
        let (text, stripped) = match (self.op, &self.text) {
            (Op::Delete, text) => {
                let given = text.clone().filter(|it| !it.is_empty());
                unused("text", &given, "use `replace` to put other lines there")?;
                (String::new(), false)
            }
            (_, Some(text)) => without_anchors(text).map_err(|line| {
                format!(".text: line {line} of it begins with an anchor; give the text without.")
            })?,
            (_, None) => return Err(" needs `text`.".into()),
        };
        let edit = match self.op {
            Op::Replace => {
                let first = first()?;
                LineEdit::Replace { first, last: last(first)?, text }
            }
            Op::Delete => {
                let first = first()?;
                LineEdit::Delete { first, last: last(first)? }
            }
            Op::InsertAfter => {
                single(&self.last)?;
                LineEdit::InsertAfter { anchor: first()?, text }
            }
            Op::InsertBefore => {
                single(&self.last)?;
                LineEdit::InsertBefore { anchor: first()?, text }
            }
            Op::Append => {
                unused("first", &self.first, "use `insert_after` for a certain line")?;
                LineEdit::Append { text }
            }
            Op::Prepend => {
                unused("first", &self.first, "use `insert_before` for a certain line")?;
                LineEdit::Prepend { text }
            }
        };
        Ok(ReadEdit { edit, stripped })
    }
}

/// A text without the anchors that were pasted into it, and whether there were any. When only some
/// of its lines have one, it is not known what is meant: the 1-based number of the first of them.
fn without_anchors(text: &str) -> Result<(String, bool), usize> {
    let pasted = |line: &str| text::anchors::pasted(line).map(str::len);
    let filled = || text.lines().filter(|it| !it.trim().is_empty());
    let Some(first) = text.lines().position(|it| pasted(it).is_some()) else {
        return Ok((text.to_string(), false));
    };
    if !filled().all(|it| pasted(it).is_some()) {
        return Err(first + 1);
    }
    let bare = text.split_inclusive('\n').map(|line| {
        let content = line.trim_end_matches(['\n', '\r']);
        let rest = text::anchors::pasted(content).unwrap_or(content);
        format!("{rest}{}", &line[content.len()..])
    });
    Ok((bare.collect(), true))
}

/// Why the edits do not apply. The lines shown count as seen.
fn refused(cx: &Cx, base: &Snapshot, err: AnchorError) -> Failure {
    let shown = cx.place.shown(&base.location);
    let moved = match err {
        AnchorError::Changed { moved } => moved,
        AnchorError::Malformed { .. }
        | AnchorError::Reversed { .. }
        | AnchorError::Overlap { .. } => {
            return Failure::new(format!("{shown}: {err}. Nothing was changed."));
        }
    };
    let total = numbering::line_count(&base.rope);
    let named: Vec<String> = moved.iter().map(|it| told(it, total)).collect();
    let lines: BTreeSet<usize> = moved
        .iter()
        .flat_map(|it| {
            let perhaps = it.perhaps.map(|it| it.line);
            [Some(it.given.line.min(total)), perhaps]
        })
        .flatten()
        .flat_map(|it| it.saturating_sub(AROUND).max(1)..=(it + AROUND).min(total))
        .collect();
    let mut region = String::new();
    let mut before = None;
    for line in lines {
        if before.is_some_and(|it| it + 1 < line) {
            region.push_str("…\n");
        }
        before = Some(line);
        let content = numbering::content(&base.rope, line);
        let cut: String = content.chars().take(2_000).collect();
        if cut.len() == content.len() {
            let start = base.rope.line_to_byte(line - 1);
            let len = base.rope.line(line - 1).len_bytes();
            cx.session.seen.show(&base.location, &base.rope, start..start + len);
        }
        region.push_str(&format!("{}\n", numbering::anchored(line, &content, &cut)));
    }
    Failure::new(format!(
        "Lines of {shown} are not what their anchors say: {}. Nothing was changed. These lines are \
         now:\n{region}Make the edit with these anchors, or read the file again.",
        named.join("; ")
    ))
}

fn told(moved: &Moved, total: usize) -> String {
    let Moved { given, now, perhaps } = moved;
    let now = match now {
        Some((anchor, _)) => format!("{given} is now {anchor}"),
        None => format!("{given} is past the end, the file has {total} lines"),
    };
    match perhaps {
        Some(perhaps) => format!("{now} (perhaps {perhaps} is meant)"),
        None => now,
    }
}

#[cfg(test)]
mod tests;

//! How lines of files are shown to a model: with their numbers, or with anchors that line edits
//! refer to.

use std::fmt::Write as _;

use text::anchors::Anchor;
use text::{ChangeSet, Rope};

use crate::dialects::Lines;
use crate::tool::Cx;

/// One line as it is shown: `content` is all of it but the ending, `shown` the part that is shown.
/// `line` is 1-based.
pub fn row(cx: &Cx, line: usize, content: &str, shown: &str) -> String {
    match cx.dialect.lines {
        Lines::Numbered => format!("{line:>6}\t{shown}"),
        Lines::Anchored => anchored(line, content, shown),
    }
}

/// One line with its anchor; see [`row`].
pub fn anchored(line: usize, content: &str, shown: &str) -> String {
    format!("{}:{shown}", Anchor::of(line, content))
}

/// A line of a text without its ending; `line` is 1-based and there.
pub fn content(text: &Rope, line: usize) -> String {
    let mut content = text.line(line - 1).to_string();
    if content.ends_with('\n') {
        content.pop();
        if content.ends_with('\r') {
            content.pop();
        }
    }
    content
}

/// What changed in a text, as it is told after an edit: a diff, or the lines as they are now with
/// their anchors. `around` unchanged lines are shown around each change.
pub fn changed(cx: &Cx, before: &Rope, after: &Rope, changes: &ChangeSet, around: usize) -> String {
    match cx.dialect.lines {
        Lines::Numbered => text::diff::unified(before, changes, around),
        Lines::Anchored => as_they_are(after, changes, around),
    }
}

fn as_they_are(after: &Rope, changes: &ChangeSet, around: usize) -> String {
    let total = line_count(after);
    let mut out = String::new();
    let mut shown = 0;
    for (_, place) in changes.placed() {
        if total == 0 {
            continue;
        }
        let first = after.byte_to_line(place.start.min(after.len_bytes())) + 1;
        let end = place.end.saturating_sub(1).max(place.start).min(after.len_bytes());
        let last = (after.byte_to_line(end) + 1 + around).min(total);
        let first = first.saturating_sub(around).max(1).max(shown + 1);
        if last < first {
            continue;
        }
        if 0 < shown && shown + 1 < first {
            out.push_str("…\n");
        }
        for line in first..=last {
            let content = content(after, line);
            let _ = writeln!(out, "{}", anchored(line, &content, &content));
        }
        shown = last;
    }
    out
}

/// Lines as people count them: a final line ending begins no further line.
pub fn line_count(text: &Rope) -> usize {
    let lines = text.len_lines();
    match text.len_bytes() {
        0 => 0,
        len if text.byte(len - 1) == b'\n' => lines - 1,
        _ => lines,
    }
}

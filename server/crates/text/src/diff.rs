//! Hunks, counts and unified diffs, made from the windows that edits touch: the cost follows the
//! size of the change, not of the text.

use crate::changeset::ChangeSet;
use crate::{linediff, pieces};
use ropey::Rope;
use std::borrow::Cow;
use std::ops::Range;

/// Lines replaced by lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Zero-based lines of the text before.
    pub before: Range<usize>,
    /// Zero-based lines of the text after.
    pub after: Range<usize>,
}

/// The hunks of `changes` with `context` unchanged lines around each; hunks whose context would
/// meet are one. With no context only the changed lines count.
pub fn hunks_of(changes: &ChangeSet, before: &Rope, context: usize) -> Vec<Hunk> {
    with_context(changed_lines(changes, before, &changes.apply(before)), before, context)
        .into_iter()
        .map(|(hunk, _)| hunk)
        .collect()
}

/// Lines added and lines removed.
pub fn stats(before: &Rope, changes: &ChangeSet) -> (usize, usize) {
    changed_lines(changes, before, &changes.apply(before))
        .iter()
        .fold((0, 0), |(added, removed), hunk| {
            (added + hunk.after.len(), removed + hunk.before.len())
        })
}

/// The `@@` hunks of a unified diff, without file headers.
pub fn unified(before: &Rope, changes: &ChangeSet, context: usize) -> String {
    let after = changes.apply(before);
    let mut out = String::new();
    for (hunk, blocks) in with_context(changed_lines(changes, before, &after), before, context) {
        out.push_str("@@ -");
        push_range(&mut out, &hunk.before);
        out.push_str(" +");
        push_range(&mut out, &hunk.after);
        out.push_str(" @@\n");
        let mut line = hunk.before.start;
        for block in blocks {
            push_lines(&mut out, ' ', before, line..block.before.start);
            push_lines(&mut out, '-', before, block.before.clone());
            push_lines(&mut out, '+', &after, block.after);
            line = block.before.end;
        }
        push_lines(&mut out, ' ', before, line..hunk.before.end);
    }
    out
}

/// A git patch of one file with three lines of context, as `git apply` reads it. A path that is
/// `None` means that the file does not exist on that side; two paths that differ are a rename.
/// Empty when nothing changes.
pub fn git_patch(
    old_path: Option<&str>,
    new_path: Option<&str>,
    before: &Rope,
    after: &Rope,
    changes: &ChangeSet,
) -> String {
    debug_assert_eq!(changes.len_after(), after.len_bytes(), "change set of another text");
    let Some(either) = new_path.or(old_path) else { return String::new() };
    let renamed = matches!((old_path, new_path), (Some(old), Some(new)) if old != new);
    let hunks = unified(before, changes, 3);
    if hunks.is_empty() && !renamed && old_path.is_some() && new_path.is_some() {
        return String::new();
    }
    let (old, new) = (old_path.unwrap_or(either), new_path.unwrap_or(either));
    let mut out = format!("diff --git {} {}\n", quoted("a/", old), quoted("b/", new));
    if old_path.is_none() {
        out.push_str("new file mode 100644\n");
    }
    if new_path.is_none() {
        out.push_str("deleted file mode 100644\n");
    }
    if renamed {
        out.push_str(&format!("rename from {}\nrename to {}\n", quoted("", old), quoted("", new)));
    }
    if !hunks.is_empty() {
        let side = |sign: &str, path: Option<&str>, prefix: &str| match path {
            // A tab ends a name with spaces, for tools that cut names at blanks.
            Some(path) if path.contains(' ') => format!("{sign} {}\t\n", quoted(prefix, path)),
            Some(path) => format!("{sign} {}\n", quoted(prefix, path)),
            None => format!("{sign} /dev/null\n"),
        };
        out.push_str(&side("---", old_path, "a/"));
        out.push_str(&side("+++", new_path, "b/"));
        out.push_str(&hunks);
    }
    out
}

/// The changed lines only: no two hunks touch.
fn changed_lines(changes: &ChangeSet, before: &Rope, after: &Rope) -> Vec<Hunk> {
    let mut hunks: Vec<Hunk> = Vec::new();
    for (old, new) in windows(changes, before, after) {
        let (old_line, new_line) = (before.byte_to_line(old.start), after.byte_to_line(new.start));
        let (old_text, new_text) =
            (Cow::from(pieces::slice(before, old)), Cow::from(pieces::slice(after, new)));
        for block in linediff::blocks_of(&old_text, &new_text) {
            let shift = |range: Range<usize>, by: usize| range.start + by..range.end + by;
            let hunk =
                Hunk { before: shift(block.before, old_line), after: shift(block.after, new_line) };
            match hunks.last_mut() {
                Some(last)
                    if last.before.end == hunk.before.start
                        && last.after.end == hunk.after.start =>
                {
                    last.before.end = hunk.before.end;
                    last.after.end = hunk.after.end;
                }
                Some(_) | None => hunks.push(hunk),
            }
        }
    }
    hunks
}

/// Byte ranges of whole lines that hold all edits, in the text before and after.
fn windows(changes: &ChangeSet, before: &Rope, after: &Rope) -> Vec<(Range<usize>, Range<usize>)> {
    let mut windows: Vec<(Range<usize>, Range<usize>)> = Vec::new();
    for (edit, placed) in changes.placed() {
        let start = line_start(before, edit.range.start);
        // Only wrong where an edit before it is on the same line; such windows are joined below.
        let new_start = placed.start.saturating_sub(edit.range.start - start);
        let ends_lines = line_start(before, edit.range.end) == edit.range.end
            && line_start(after, placed.end) == placed.end
            && (edit.range.end > start || placed.end > new_start);
        let end = if ends_lines { edit.range.end } else { next_line(before, edit.range.end) };
        let new_end = placed.end + (end - edit.range.end);
        match windows.last_mut() {
            Some((old, new)) if start <= old.end => {
                // A window that reaches into this one's line was measured without this edit.
                old.end = old.end.max(end);
                new.end = new_end + (old.end - end);
            }
            Some(_) | None => windows.push((start..end, new_start..new_end)),
        }
    }
    windows
}

fn line_start(rope: &Rope, offset: usize) -> usize {
    rope.line_to_byte(rope.byte_to_line(offset.min(rope.len_bytes())))
}

fn next_line(rope: &Rope, offset: usize) -> usize {
    let line = rope.byte_to_line(offset.min(rope.len_bytes()));
    if line + 1 < rope.len_lines() { rope.line_to_byte(line + 1) } else { rope.len_bytes() }
}

/// Lines as a reader counts them: no empty one after a final newline.
fn line_count(rope: &Rope) -> usize {
    let len = rope.len_bytes();
    rope.len_lines() - usize::from(len == 0 || pieces::byte(rope, len - 1) == Some(b'\n'))
}

/// Widens the hunks and joins those that meet; each comes with the changed lines inside it.
fn with_context(blocks: Vec<Hunk>, before: &Rope, context: usize) -> Vec<(Hunk, Vec<Hunk>)> {
    let lines = line_count(before);
    let mut out: Vec<(Hunk, Vec<Hunk>)> = Vec::new();
    for block in blocks {
        let above = context.min(block.before.start);
        let below = context.min(lines.saturating_sub(block.before.end));
        // With another hunk in the context the lines after are off; the two are joined then.
        let wide = Hunk {
            before: block.before.start - above..block.before.end + below,
            after: block.after.start.saturating_sub(above)..block.after.end + below,
        };
        match out.last_mut() {
            Some((last, inside)) if context > 0 && wide.before.start <= last.before.end => {
                last.before.end = wide.before.end;
                last.after.end = wide.after.end;
                inside.push(block);
            }
            Some(_) | None => out.push((wide, vec![block])),
        }
    }
    out
}

fn push_range(out: &mut String, lines: &Range<usize>) {
    // An empty range names the line before it.
    let start = if lines.is_empty() { lines.start } else { lines.start + 1 };
    out.push_str(&start.to_string());
    if lines.len() != 1 {
        out.push_str(&format!(",{}", lines.len()));
    }
}

fn push_lines(out: &mut String, sign: char, rope: &Rope, lines: Range<usize>) {
    for line in lines {
        let Some(text) = rope.get_line(line) else { return };
        out.push(sign);
        text.chunks().for_each(|chunk| out.push_str(chunk));
        if !out.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// A path as git writes it: in C quotes where it holds quotes, backslashes or control characters.
fn quoted(prefix: &str, path: &str) -> String {
    if !path.chars().any(|c| c.is_control() || c == '"' || c == '\\') {
        return format!("{prefix}{path}");
    }
    let mut out = format!("\"{prefix}");
    for c in path.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => {
                let mut bytes = [0; 4];
                c.encode_utf8(&mut bytes)
                    .bytes()
                    .for_each(|byte| out.push_str(&format!("\\{byte:03o}")));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

#[cfg(test)]
mod tests;

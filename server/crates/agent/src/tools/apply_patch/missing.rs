//! Why a change of a patch does not apply: which line is missing, and where it stands instead.

use text::Rope;
use text::patch::{Chunk, ChunkLine, PatchError};

/// Lines named at most.
const NAMED: usize = 5;

/// The error for the author of the patch.
pub fn told(shown: &str, text: &Rope, chunks: &[Chunk], err: &PatchError) -> String {
    let at = chunks.iter().rposition(|it| it.line <= err.line).unwrap_or(0);
    let message = err.message.strip_prefix(&format!("change {}, ", at + 1)).unwrap_or(&err.message);
    let mut told = format!(
        "{shown}, change {} of {} (line {} of the patch), ",
        at + 1,
        chunks.len(),
        err.line
    );
    told.push_str(message);
    if let Some(instead) = chunks.get(at).and_then(|it| instead(text, it)) {
        told.push_str(&format!("; {instead}"));
    }
    if 0 < at {
        told.push_str(&format!("; the {at} before it fit, keep all of them together"));
    }
    told
}

/// Where the first line that is nowhere as such, or else the first line, stands.
fn instead(text: &Rope, chunk: &Chunk) -> Option<String> {
    let old: Vec<&str> = chunk
        .lines
        .iter()
        .filter_map(|it| match it {
            ChunkLine::Keep(line) | ChunkLine::Remove(line) => Some(line.trim()),
            ChunkLine::Add(_) => None,
        })
        .filter(|it| !it.is_empty())
        .collect();
    let first = old.first()?;
    let missing = old.iter().find(|it| lines_with(text, |line| line == **it).is_empty());
    let Some(missing) = missing else {
        let lines = lines_with(text, |line| line == *first);
        return Some(format!("its first line stands alone at {}", named(&lines)));
    };
    let longer = lines_with(text, |line| line.contains(missing));
    let short: String = missing.chars().take(120).collect();
    Some(match longer.as_slice() {
        [] => format!("no line reads '{short}'"),
        lines => format!("'{short}' occurs only inside a longer line, at {}", named(lines)),
    })
}

/// 1-based numbers of the lines, one more than are named.
fn lines_with(text: &Rope, holds: impl Fn(&str) -> bool) -> Vec<usize> {
    let lines = text.lines().enumerate();
    let found = lines.filter(|(_, line)| holds(line.to_string().trim()));
    found.map(|(number, _)| number + 1).take(NAMED + 1).collect()
}

fn named(lines: &[usize]) -> String {
    let numbers: Vec<String> = lines.iter().take(NAMED).map(usize::to_string).collect();
    let more = if NAMED < lines.len() { " and more" } else { "" };
    let word = if lines.len() == 1 { "line" } else { "lines" };
    format!("{word} {}{more}", numbers.join(", "))
}

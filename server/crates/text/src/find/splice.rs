//! Putting new text into a found block: unchanged lines keep the file's bytes, changed lines keep
//! them up to the first and from the last difference.

use crate::find::forms::{Folded, lead};
use crate::find::indent::Shift;
use crate::find::index::{Wanted, content_len};
use crate::linediff;
use crate::lines::LineEnding;

/// A found block: its lines with endings, the first one cut where the match starts.
pub(crate) struct Found<'a> {
    pub(crate) lines: Vec<&'a str>,
    pub(crate) shift: Option<Shift>,
    pub(crate) ending: LineEnding,
}

/// The text that replaces the block. `new` has `\n` line endings only.
pub(crate) fn splice(found: &Found<'_>, wanted: &Wanted, new: &str) -> String {
    let old: Vec<&str> = wanted.lines.iter().map(String::as_str).collect();
    let body = new.strip_suffix('\n').unwrap_or(new);
    let lines: Vec<&str> = if new.is_empty() { Vec::new() } else { body.split('\n').collect() };
    let at_end = found.lines.last().is_some_and(|last| content_len(last) == last.len());
    // A file that lacks the final newline which both texts show keeps lacking it.
    let terminated = new.ends_with('\n') && !(wanted.terminated && at_end);

    let mut out = String::new();
    let count = lines.len();
    let mut put = |content: &str, from: Option<usize>, index: usize| {
        out.push_str(content);
        if index + 1 < count || terminated {
            let own = from
                .and_then(|line| found.lines.get(line))
                .map_or("", |line| &line[content_len(line)..]);
            out.push_str(if own.is_empty() { found.ending.as_str() } else { own });
        }
    };
    let content = |line: usize| found.lines.get(line).map_or("", |line| &line[..content_len(line)]);
    let (mut line, mut index) = (0, 0);
    let mut blocks = linediff::blocks(&old, &lines).into_iter();
    loop {
        let block = blocks.next();
        let until = block.as_ref().map_or(old.len(), |block| block.before.start);
        while line < until && index < count {
            put(content(line), Some(line), index);
            (line, index) = (line + 1, index + 1);
        }
        let Some(block) = block else { break };
        let paired = block.before.len() == block.after.len();
        for new_index in block.after.clone() {
            let own = block.before.start + (new_index - block.after.start);
            if paired {
                put(
                    &spliced(content(own), old[own], lines[new_index], found),
                    Some(own),
                    new_index,
                );
            } else {
                put(&shifted(lines[new_index], found), None, new_index);
            }
        }
        (line, index) = (block.before.end, block.after.end);
    }
    out
}

fn shifted(line: &str, found: &Found<'_>) -> String {
    found.shift.as_ref().map_or_else(|| line.to_owned(), |shift| shift.apply(line))
}

/// `new` for the file's line `own`, which stands for `old`: the file's own characters as far as
/// `old` and `new` agree at both ends.
fn spliced(own: &str, old: &str, new: &str, found: &Found<'_>) -> String {
    let (old, new) = (shifted(old, found), shifted(new, found));
    if own == old {
        return new;
    }
    let (mut prefix, mut suffix) = linediff::common(&old, &new);
    // A run of blanks is the file's own where all of it stays, whatever it is there.
    while splits_blanks(&old, prefix) || splits_blanks(&new, prefix) {
        prefix -= 1;
    }
    while splits_blanks(&old, old.len() - suffix) || splits_blanks(&new, new.len() - suffix) {
        suffix -= 1;
    }
    let (own_folded, old_folded) = (Folded::of(own), Folded::of(&old));
    if own_folded.text != old_folded.text {
        return new;
    }
    let start = own_folded.origin(old_folded.position(prefix));
    let end = own_folded.origin(old_folded.position(old.len() - suffix));
    // With nothing kept at the front the indentation is the new line's.
    let head = if prefix <= lead(&old).len() { &new[..prefix] } else { &own[..start] };
    let tail = if suffix == 0 { "" } else { own.get(end..).unwrap_or("") };
    format!("{head}{}{tail}", &new[prefix..new.len() - suffix])
}

fn splits_blanks(text: &str, at: usize) -> bool {
    let blank = [' ', '\t'];
    text[..at].ends_with(blank) && text[at..].starts_with(blank)
}

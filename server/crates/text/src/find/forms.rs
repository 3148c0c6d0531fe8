//! Normal forms of lines: what the tolerant tiers regard as equal.

use crate::find::Tier;

/// Typographic characters as their plain ASCII counterparts.
pub(crate) fn fold_char(c: char) -> char {
    if c.is_ascii() {
        return c;
    }
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// `line` with typographic characters folded.
pub(crate) fn folded(line: &str) -> String {
    line.chars().map(fold_char).collect()
}

/// The spaces and tabs a line starts with.
pub(crate) fn lead(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// `line` without spaces and tabs at its end.
pub(crate) fn trim_end(line: &str) -> &str {
    line.trim_end_matches([' ', '\t', '\r'])
}

pub(crate) fn is_blank(line: &str) -> bool {
    trim_end(line).is_empty()
}

/// The strictest tier on which two lines (without endings) are equal; `Indentation` says nothing
/// of how the indentations differ, nor does `Unicode`.
pub(crate) fn relation(file: &str, old: &str) -> Option<Tier> {
    if file == old {
        return Some(Tier::LineEndings);
    }
    if trim_end(file) == trim_end(old) {
        return Some(Tier::TrailingWhitespace);
    }
    if file.split_ascii_whitespace().eq(old.split_ascii_whitespace()) {
        return Some(if lead(file) == lead(old) { Tier::Whitespace } else { Tier::Indentation });
    }
    if file.is_ascii() && old.is_ascii() {
        return None;
    }
    let (file, old) = (folded(file), folded(old));
    file.split_ascii_whitespace().eq(old.split_ascii_whitespace()).then_some(Tier::Unicode)
}

/// A line with characters folded and runs of blanks as one, and where each character came from.
pub(crate) struct Folded {
    pub(crate) text: String,
    /// For each byte of `text` and its end: the offset in the line.
    origin: Vec<usize>,
}

impl Folded {
    pub(crate) fn of(line: &str) -> Folded {
        let mut folded = Folded { text: String::with_capacity(line.len()), origin: Vec::new() };
        let mut in_blank = false;
        let end = trim_end(line).len();
        for (at, c) in line[..end].char_indices() {
            let c = fold_char(c);
            let blank = c == ' ' || c == '\t';
            if !(blank && in_blank) {
                folded.text.push(if blank { ' ' } else { c });
                folded.origin.resize(folded.text.len(), at);
            }
            in_blank = blank;
        }
        folded.origin.push(end);
        folded
    }

    /// The offset in the line of byte `at` of the folded text.
    pub(crate) fn origin(&self, at: usize) -> usize {
        self.origin[at.min(self.origin.len() - 1)]
    }

    /// The byte of the folded text that came from `offset` of the line, or the next one.
    pub(crate) fn position(&self, offset: usize) -> usize {
        self.origin.partition_point(|origin| *origin < offset).min(self.text.len())
    }
}

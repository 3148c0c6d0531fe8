//! Line endings: counting them and converting to one.

use crate::linediff;
use ropey::Rope;
use std::borrow::Cow;

/// How a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineEnding {
    /// `\n`
    Lf,
    /// `\r\n`
    CrLf,
    /// A `\r` alone.
    Cr,
}

impl LineEnding {
    /// The characters themselves.
    pub fn as_str(self) -> &'static str {
        match self {
            LineEnding::Lf => "\n",
            LineEnding::CrLf => "\r\n",
            LineEnding::Cr => "\r",
        }
    }
}

/// How often each line ending occurs in a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineEndings {
    /// Count of `\n` without a `\r` before it.
    pub lf: usize,
    /// Count of `\r\n`.
    pub crlf: usize,
    /// Count of `\r` without a `\n` after it.
    pub cr: usize,
}

impl LineEndings {
    /// Counts the whole text: linear.
    pub fn of(rope: &Rope) -> LineEndings {
        let mut endings = LineEndings::default();
        let mut after_cr = false;
        for chunk in rope.chunks() {
            let bytes = chunk.as_bytes();
            if after_cr && !bytes.is_empty() && bytes[0] != b'\n' {
                endings.cr += 1;
                after_cr = false;
            }
            for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
                let cr_before = if at == 0 { after_cr } else { bytes[at - 1] == b'\r' };
                match (bytes[at], bytes.get(at + 1)) {
                    (b'\n', _) if cr_before => endings.crlf += 1,
                    (b'\n', _) => endings.lf += 1,
                    (_, Some(b'\n') | None) => {}
                    (_, Some(_)) => endings.cr += 1,
                }
            }
            if let Some(last) = bytes.last() {
                after_cr = *last == b'\r';
            }
        }
        endings.cr += usize::from(after_cr);
        endings
    }

    /// The most frequent ending; LF where none is, or on a tie.
    pub fn dominant(&self) -> LineEnding {
        if self.crlf > self.lf && self.crlf >= self.cr {
            LineEnding::CrLf
        } else if self.cr > self.lf {
            LineEnding::Cr
        } else {
            LineEnding::Lf
        }
    }

    /// Whether more than one kind occurs.
    pub fn is_mixed(&self) -> bool {
        [self.lf, self.crlf, self.cr].iter().filter(|count| **count > 0).count() > 1
    }
}

/// `text` with every `\n`, `\r\n` and lone `\r` replaced by `ending`.
pub fn to_ending(text: &str, ending: LineEnding) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 32);
    let mut done = 0;
    for at in memchr::memchr2_iter(b'\n', b'\r', text.as_bytes()) {
        if at < done {
            continue;
        }
        out.push_str(&text[done..at]);
        out.push_str(ending.as_str());
        done = at + if text[at..].starts_with("\r\n") { 2 } else { 1 };
    }
    out.push_str(&text[done..]);
    out
}

/// `text`, which has `\n` only, as a new version of `before`, whose line endings are mixed: lines that
/// stay keep theirs, lines that replace others take over theirs, and further ones end as the line above.
pub fn in_endings_of(before: &Rope, text: &str) -> String {
    let old: Vec<Cow<'_, str>> = before.lines().map(Cow::from).collect();
    let cut = |line: &'_ str| {
        line.strip_suffix('\n').map_or(line.len(), |it| it.trim_end_matches('\r').len())
    };
    let contents: Vec<&str> = old.iter().map(|line| &line[..cut(line)]).collect();
    let new: Vec<&str> = text.split('\n').collect();
    let mut own: Vec<Option<usize>> = Vec::with_capacity(new.len());
    let mut next = 0;
    for block in linediff::blocks(&contents, &new) {
        let unchanged = block.before.start - next;
        own.extend((next..next + unchanged).map(Some));
        own.extend(
            (0..block.after.len())
                .map(|at| (at < block.before.len()).then_some(block.before.start + at)),
        );
        next = block.before.end;
    }
    own.extend((next..old.len()).map(Some));
    let mut ending = LineEndings::of(before).dominant().as_str();
    let mut out = String::with_capacity(text.len() + new.len());
    for (at, line) in new.iter().enumerate() {
        out.push_str(line);
        let taken = own.get(at).copied().flatten().map_or("", |line| &old[line][cut(&old[line])..]);
        if !taken.is_empty() {
            ending = if taken.ends_with("\r\n") { "\r\n" } else { "\n" };
        }
        if at + 1 < new.len() {
            out.push_str(ending);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, lf: usize, crlf: usize, cr: usize) {
        assert_eq!(LineEndings::of(&Rope::from_str(text)), LineEndings { lf, crlf, cr });
    }

    #[test]
    fn counts_each_ending() {
        check("", 0, 0, 0);
        check("a\nb\r\nc\rd", 1, 1, 1);
        check("\r\r\n\n\r", 1, 1, 2);
        check(&"ab\r\n".repeat(3000), 0, 3000, 0);
        check(&"\r".repeat(3000), 0, 0, 3000);
    }

    #[test]
    fn names_the_dominant_ending() {
        let of = |text| LineEndings::of(&Rope::from_str(text));
        assert_eq!(of("").dominant(), LineEnding::Lf);
        assert_eq!(of("a\r\nb\nc\n").dominant(), LineEnding::Lf);
        assert_eq!(of("a\r\nb\r\nc\n").dominant(), LineEnding::CrLf);
        assert_eq!(of("a\rb").dominant(), LineEnding::Cr);
        assert!(of("a\r\nb\n").is_mixed());
        assert!(!of("a\r\nb\r\n").is_mixed());
    }

    #[test]
    fn a_new_version_keeps_the_endings_of_its_lines() {
        let check = |before: &str, text: &str, expected: &str| {
            assert_eq!(in_endings_of(&Rope::from_str(before), text), expected, "{before:?}");
        };
        check("a\r\nb\nc\r\n", "a\nb\nc\n", "a\r\nb\nc\r\n");
        check("a\r\nb\nc\r\n", "a\nB\nc\n", "a\r\nB\nc\r\n");
        check("a\r\nb\nc\r\n", "A\n1\n2\nb\nc\n", "A\r\n1\r\n2\r\nb\nc\r\n");
        check("a\r\nb\nc\r\n", "c\n", "c\r\n");
        check("a\r\nb\nc", "a\nb\nc\nd\n", "a\r\nb\nc\nd\n");
        check("a\r\nb\n", "", "");
        check("a\r\n\r\r\nb\n", "a\nx\nb", "a\r\nx\r\nb");
    }

    #[test]
    fn converts_without_doubling() {
        assert_eq!(to_ending("a\nb\r\nc\rd", LineEnding::CrLf), "a\r\nb\r\nc\r\nd");
        assert_eq!(to_ending("a\r\n\r\n", LineEnding::Lf), "a\n\n");
    }
}

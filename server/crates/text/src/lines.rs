//! Line endings: counting them and converting to one.

use ropey::Rope;

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
    fn converts_without_doubling() {
        assert_eq!(to_ending("a\nb\r\nc\rd", LineEnding::CrLf), "a\r\nb\r\nc\r\nd");
        assert_eq!(to_ending("a\r\n\r\n", LineEnding::Lf), "a\n\n");
    }
}

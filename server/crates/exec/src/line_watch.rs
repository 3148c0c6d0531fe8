//! Looks out for the first line of a command's output that matches a pattern.
//!
//! It sees every byte as it comes, whatever the amount, and keeps at most one line.

use regex::Regex;

use crate::final_text::final_text;

/// Bytes of a line that are looked at.
const LINE: usize = 8 * 1024;

pub(crate) struct LineWatch {
    pattern: Regex,
    line: Vec<u8>,
    found: Option<String>,
}

impl LineWatch {
    pub(crate) fn new(pattern: Regex) -> LineWatch {
        LineWatch { pattern, line: Vec::new(), found: None }
    }

    /// The line that matched, without colours and other escapes.
    pub(crate) fn found(&self) -> Option<&str> {
        self.found.as_deref()
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.found.is_some() {
                return;
            }
            let room = LINE.saturating_sub(self.line.len()).min(piece.len());
            self.line.extend_from_slice(&piece[..room]);
            // The last one is looked at although it is not finished: it may stay so.
            self.look();
            if piece.ends_with(b"\n") {
                self.line.clear();
            }
        }
    }

    fn look(&mut self) {
        let text = final_text(&self.line);
        let line = text.trim_end();
        if self.pattern.is_match(line) {
            self.found = Some(line.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::LineWatch;

    #[track_caller]
    fn check(pattern: &str, pieces: &[&str], expected: Option<&str>) {
        let mut watch = LineWatch::new(Regex::new(pattern).unwrap());
        for piece in pieces {
            watch.push(piece.as_bytes());
        }
        assert_eq!(watch.found(), expected);
    }

    #[test]
    fn the_first_line_that_matches_is_found_in_whatever_pieces_it_comes() {
        check(
            "ready",
            &["one\nser", "ver rea", "dy on 80\nready again\n"],
            Some("server ready on 80"),
        );
        check("^ready on", &["not ready on 1\n", "ready on 2\n"], Some("ready on 2"));
        check("a.b", &["a\nb\n"], None);
    }

    #[test]
    fn colours_are_not_in_the_way_and_a_line_need_not_end() {
        let vite = "  \u{1b}[32m➜\u{1b}[39m  \u{1b}[1mLocal\u{1b}[22m:   http://localhost:\u{1b}[1m5173\u{1b}[22m/";
        check(
            r"Local:\s+http://localhost:\d+/",
            &[vite],
            Some("  ➜  Local:   http://localhost:5173/"),
        );
    }

    #[test]
    fn an_endless_line_costs_no_memory() {
        let mut watch = LineWatch::new(Regex::new("never").unwrap());
        for _ in 0..100 {
            watch.push(&[b'x'; 1000]);
        }
        assert!(watch.line.len() <= super::LINE);
    }
}

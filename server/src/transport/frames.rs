//! Cuts a byte stream into message bodies by their `Content-Length` headers.
//!
//! Invariant: only the end of the stream ends it. Bad headers and stray bytes are reported once and
//! skipped up to the next header that makes sense; memory grows with bytes received, not announced.

use std::io::{self, BufRead, Read};

use memchr::memchr;

/// Longest body taken; a larger announcement is treated as garbage.
const MAX_BODY: usize = 256 * 1024 * 1024;
/// What is kept of a line while looking for a header.
const MAX_LINE: usize = 4 * 1024;
/// A buffer larger than this is given back after use.
const KEEP_BUFFER: usize = 1024 * 1024;
const HEADER: &[u8] = b"content-length:";

/// Reads frames from a stream.
pub struct Frames<R> {
    stream: R,
    line: Vec<u8>,
    body: Vec<u8>,
    /// A fault was reported and no good header was seen since.
    lost: bool,
}

/// What came next.
#[derive(Debug, PartialEq)]
pub enum Frame<'a> {
    /// The body of a frame, not yet known to be JSON.
    Body(&'a [u8]),
    /// Bytes that belong to no frame were skipped, for this reason.
    Fault(&'static str),
    /// The stream has ended.
    End,
}

enum Header {
    Length(usize),
    Fault(&'static str),
    End,
}

impl<R: BufRead> Frames<R> {
    /// Starts at the beginning of a stream.
    pub fn new(stream: R) -> Frames<R> {
        Frames { stream, line: Vec::new(), body: Vec::new(), lost: false }
    }

    /// Blocks until a frame, a fault or the end.
    pub fn next(&mut self) -> io::Result<Frame<'_>> {
        match self.header()? {
            Header::End => Ok(Frame::End),
            Header::Fault(reason) => Ok(Frame::Fault(reason)),
            Header::Length(length) => {
                if self.body.capacity() > KEEP_BUFFER {
                    self.body = Vec::new();
                }
                self.body.clear();
                let read = (&mut self.stream).take(length as u64).read_to_end(&mut self.body)?;
                if read < length { Ok(Frame::End) } else { Ok(Frame::Body(&self.body)) }
            }
        }
    }

    /// Reads header lines up to the blank one.
    fn header(&mut self) -> io::Result<Header> {
        let mut length = None;
        let mut fault = None;
        let mut lines = 0;
        while self.read_line()? {
            if self.line.is_empty() {
                match (length, fault) {
                    (Some(length), _) => {
                        self.lost = false;
                        return Ok(Header::Length(length));
                    }
                    (None, _) if lines == 0 || self.lost => {}
                    (None, reason) => {
                        self.lost = true;
                        return Ok(Header::Fault(reason.unwrap_or("no Content-Length header")));
                    }
                }
                (fault, lines) = (None, 0);
                continue;
            }
            lines += 1;
            match content_length(&self.line) {
                Some(Ok(found)) => length = Some(found),
                Some(Err(reason)) => fault = Some(reason),
                None => {}
            }
        }
        Ok(Header::End)
    }

    /// Fills `line` up to the next line feed, without the ending; false at the end of the stream.
    /// Of a long line only the tail is kept: a header may follow bytes that belong to nothing.
    fn read_line(&mut self) -> io::Result<bool> {
        self.line.clear();
        loop {
            let available = match self.stream.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if available.is_empty() {
                return Ok(false);
            }
            let (part, used) = match memchr(b'\n', available) {
                Some(at) => (&available[..at], at + 1),
                None => (available, available.len()),
            };
            self.line.extend_from_slice(part);
            let ended = used > part.len();
            self.stream.consume(used);
            if self.line.len() > MAX_LINE {
                let cut = self.line.len() - MAX_LINE / 2;
                self.line.drain(..cut);
            }
            if ended {
                if self.line.last() == Some(&b'\r') {
                    self.line.pop();
                }
                return Ok(true);
            }
        }
    }
}

/// The length a line announces. The header may stand behind bytes of a body whose own header was
/// wrong; inside JSON text it cannot be mistaken for one, because there the line does not end
/// after the number.
fn content_length(line: &[u8]) -> Option<Result<usize, &'static str>> {
    let at = line.windows(HEADER.len()).rposition(|part| part.eq_ignore_ascii_case(HEADER))?;
    let value = line[at + HEADER.len()..].trim_ascii();
    let number = std::str::from_utf8(value).ok().and_then(|value| value.parse::<u64>().ok());
    Some(match number {
        None => Err("Content-Length is not a number"),
        Some(number) if number > MAX_BODY as u64 => Err("the message is larger than 256 MB"),
        Some(number) => Ok(number as usize),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &[u8], expected: &[&str]) {
        // One byte at a time as well: no rule may depend on how the bytes arrive.
        for capacity in [1, 7, 64 * 1024] {
            let mut frames = Frames::new(io::BufReader::with_capacity(capacity, input));
            let mut seen = Vec::new();
            loop {
                match frames.next().unwrap() {
                    Frame::Body(body) => seen.push(String::from_utf8_lossy(body).into_owned()),
                    Frame::Fault(reason) => seen.push(format!("fault: {reason}")),
                    Frame::End => break,
                }
            }
            assert_eq!(seen, expected, "with a buffer of {capacity}");
        }
    }

    #[test]
    fn plain_frames() {
        check(b"Content-Length: 2\r\n\r\n{}Content-Length: 4\r\n\r\nnull", &["{}", "null"]);
        check(b"", &[]);
        check(b"Content-Length: 0\r\n\r\nContent-Length: 1\r\n\r\n1", &["", "1"]);
    }

    #[test]
    fn odd_but_clear_headers() {
        check(b"content-length:2\r\n\r\n{}", &["{}"]);
        check(b"CONTENT-LENGTH :2\r\n\r\n{}", &["fault: no Content-Length header"]);
        check(b"Content-Type: x; charset=utf-8\r\nContent-Length: 2\r\nX: y\r\n\r\n{}", &["{}"]);
        check(b"Content-Length: 9\r\nContent-Length: 2\r\n\r\n{}", &["{}"]);
        check(b"Content-Length: 2\n\n{}", &["{}"]);
        check(b"\r\n\r\nContent-Length: 2\r\n\r\n{}", &["{}"]);
        check(b"Content-Length: x\r\nContent-Length: 2\r\n\r\n{}", &["{}"]);
    }

    #[test]
    fn faults_are_told_once_and_skipped() {
        let good = b"Content-Length: 2\r\n\r\n{}";
        let after = |bad: &[u8]| [bad, good].concat();
        check(
            &after(b"Content-Type: x\r\n\r\n{\"id\":1}"),
            &["fault: no Content-Length header", "{}"],
        );
        check(
            &after(b"Content-Length: -1\r\n\r\n{\"a\":1}\n\n\nx\n\n"),
            &["fault: Content-Length is not a number", "{}"],
        );
        check(
            &after(b"Content-Length: 99999999999999999999999\r\n\r\n{}"),
            &["fault: Content-Length is not a number", "{}"],
        );
        check(
            &after(b"Content-Length: 999999999999\r\n\r\n{}"),
            &["fault: the message is larger than 256 MB", "{}"],
        );
        check(&after(b"hello\r\n\r\n"), &["fault: no Content-Length header", "{}"]);
        check(&after(b"\xff\xfe\x00garbage without a line ending"), &["{}"]);
    }

    #[test]
    fn wrong_lengths_cost_one_message() {
        check(b"Content-Length: 1\r\n\r\n{}Content-Length: 4\r\n\r\nnull", &["{", "null"]);
        check(
            b"Content-Length: 3\r\n\r\n{}Content-Length: 4\r\n\r\nnullContent-Length: 4\r\n\r\ntrue",
            &["{}C", "fault: no Content-Length header", "true"],
        );
    }

    #[test]
    fn a_header_inside_json_text_is_not_one() {
        let bad = b"Content-Length: 999999999999\r\n\r\n{\"text\":\"Content-Length: 3\\r\\n\\r\\nabc\"}\n\nContent-Length: 2\r\n\r\n{}";
        check(bad, &["fault: the message is larger than 256 MB", "{}"]);
    }

    #[test]
    fn long_garbage_is_not_kept() {
        let mut input = vec![b'x'; 300_000];
        input.extend_from_slice(b"Content-Length: 2\r\n\r\n{}");
        check(&input, &["{}"]);
    }

    #[test]
    fn a_frame_cut_off_by_the_end_is_none() {
        check(b"Content-Length: 200000000\r\n\r\n{}", &[]);
        check(b"Content-Len", &[]);
    }
}

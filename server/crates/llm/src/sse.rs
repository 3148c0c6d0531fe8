//! Server-sent events, cut out of a byte stream in linear time whatever the chunks.
//!
//! Every byte is looked at once (memchr) and copied at most twice; a line ends with CRLF, LF or CR, also across chunks.
//! Bytes are not decoded here, so a character split between chunks needs no care. An event has a size limit.

use memchr::{memchr, memchr2};

/// The largest event accepted, in bytes.
pub const LIMIT: usize = 16 << 20;

/// The parser's state between chunks.
#[derive(Debug)]
pub struct Sse {
    /// The beginning of a line whose end has not come.
    line: Vec<u8>,
    name: String,
    data: Vec<u8>,
    has_data: bool,
    /// The last chunk ended with CR: a LF that follows belongs to it.
    after_cr: bool,
    first_line: bool,
    limit: usize,
}

/// An event, or a line, is longer than the limit; the stream is of no use any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooLong;

impl Default for Sse {
    fn default() -> Self {
        Sse::with_limit(LIMIT)
    }
}

impl Sse {
    /// A parser that refuses events over `limit` bytes.
    pub fn with_limit(limit: usize) -> Self {
        Sse {
            line: Vec::new(),
            name: String::new(),
            data: Vec::new(),
            has_data: false,
            after_cr: false,
            first_line: true,
            limit,
        }
    }

    /// Takes the next bytes and calls `on` with name and data of each event they complete. The name is often empty.
    pub fn push(&mut self, chunk: &[u8], on: &mut dyn FnMut(&str, &[u8])) -> Result<(), TooLong> {
        let mut rest = chunk;
        if self.after_cr && !rest.is_empty() {
            self.after_cr = false;
            rest = rest.strip_prefix(b"\n").unwrap_or(rest);
        }
        while let Some(at) = memchr2(b'\n', b'\r', rest) {
            let (line, end) = rest.split_at(at);
            if self.line.is_empty() {
                self.take_line(line, on)?;
            } else {
                self.line.extend_from_slice(line);
                let whole = std::mem::take(&mut self.line);
                self.take_line(&whole, on)?;
                self.line = whole;
                self.line.clear();
            }
            rest = match end {
                [b'\r', b'\n', rest @ ..] => rest,
                [b'\r'] => {
                    self.after_cr = true;
                    &[]
                }
                end => &end[1..],
            };
        }
        self.line.extend_from_slice(rest);
        self.check(0)
    }

    /// The stream has ended. An event whose closing empty line is missing is given too; it may be a torn one.
    pub fn finish(&mut self, on: &mut dyn FnMut(&str, &[u8])) -> Result<(), TooLong> {
        let line = std::mem::take(&mut self.line);
        self.take_line(&line, on)?;
        self.dispatch(on);
        Ok(())
    }

    fn take_line(&mut self, line: &[u8], on: &mut dyn FnMut(&str, &[u8])) -> Result<(), TooLong> {
        let line = if std::mem::take(&mut self.first_line) {
            line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line)
        } else {
            line
        };
        if line.is_empty() {
            self.dispatch(on);
            return Ok(());
        }
        let (field, value) = match memchr(b':', line) {
            Some(at) => (&line[..at], line[at + 1..].strip_prefix(b" ").unwrap_or(&line[at + 1..])),
            None => (line, &line[line.len()..]),
        };
        match field {
            b"data" => {
                self.check(value.len())?;
                if self.has_data {
                    self.data.push(b'\n');
                }
                self.has_data = true;
                self.data.extend_from_slice(value);
            }
            b"event" => {
                self.check(value.len())?;
                self.name = String::from_utf8_lossy(value).into_owned();
            }
            _ => {} // comments (an empty field name), id, retry, and what is unknown
        }
        Ok(())
    }

    fn dispatch(&mut self, on: &mut dyn FnMut(&str, &[u8])) {
        if !self.data.is_empty() {
            on(&self.name, &self.data);
        }
        self.data.clear();
        self.has_data = false;
        self.name.clear();
    }

    fn check(&self, more: usize) -> Result<(), TooLong> {
        if self.line.len() + self.data.len() + more > self.limit { Err(TooLong) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests;

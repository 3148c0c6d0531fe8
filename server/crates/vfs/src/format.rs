//! How a file spells its text: encoding, byte order mark, line endings, final newline.

use crate::encoding::{Detected, Encoding, detect};
use crate::raw::{self, Unencodable};

/// The line endings of a text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Eol {
    Lf,
    Crlf,
    Cr,
    /// More than one kind.
    Mixed,
}

impl Eol {
    /// The line endings `text` uses; `Lf` when it has none.
    pub fn of(text: &str) -> Eol {
        let mut counts = EolCount::default();
        counts.feed(text.as_bytes());
        counts.eol()
    }

    /// What new lines of such a text end in, for `text::to_ending`. Mixed files get `\n`.
    pub fn ending(self) -> text::LineEnding {
        match self {
            Eol::Lf | Eol::Mixed => text::LineEnding::Lf,
            Eol::Crlf => text::LineEnding::CrLf,
            Eol::Cr => text::LineEnding::Cr,
        }
    }

    /// What a new line of a file with these line endings ends in. Mixed files get `\n`.
    pub fn as_str(self) -> &'static str {
        match self {
            Eol::Lf | Eol::Mixed => "\n",
            Eol::Crlf => "\r\n",
            Eol::Cr => "\r",
        }
    }
}

/// How a file spells its text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Format {
    pub encoding: Encoding,
    pub bom: bool,
    pub eol: Eol,
    /// Whether the last line is ended.
    pub final_newline: bool,
}

impl Format {
    /// Whether a file of this format can hold `text`. The error's line is that of `text`.
    pub fn can_hold(&self, text: &str) -> Result<(), Unencodable> {
        raw::encode(text, self).map(|_| ())
    }
}

impl Default for Format {
    fn default() -> Format {
        Format { encoding: Encoding::Utf8, bom: false, eol: Eol::Lf, final_newline: true }
    }
}

/// A file's bytes as text.
pub(crate) struct Decoded {
    /// Without the BOM.
    pub text: String,
    pub format: Format,
    /// Some bytes stand for no character of the encoding; they are U+FFFD in `text`.
    pub damaged: bool,
}

/// Decodes by detection.
pub(crate) fn decode(bytes: Vec<u8>) -> Decoded {
    let detected = detect(&bytes);
    decode_as(bytes, detected)
}

/// Decodes in a known encoding.
pub(crate) fn decode_as(mut bytes: Vec<u8>, detected: Detected) -> Decoded {
    let Detected { encoding, bom } = detected;
    if bom {
        bytes.drain(..encoding.bom().len().min(bytes.len()));
    }
    let (text, damaged) = match encoding {
        Encoding::Utf8 => match String::from_utf8(bytes) {
            Ok(text) => (text, false),
            Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), true),
        },
        Encoding::Utf16Le
        | Encoding::Utf16Be
        | Encoding::Utf32Le
        | Encoding::Utf32Be
        | Encoding::Legacy(_) => {
            let text = encoding.decode(&bytes).into_owned();
            let damaged = text.contains(char::REPLACEMENT_CHARACTER);
            (text, damaged)
        }
    };
    let format = Format { encoding, bom, eol: Eol::of(&text), final_newline: ends_line(&text) };
    Decoded { text, format, damaged }
}

/// Whether nothing follows the last line break; an empty text counts as ended.
pub(crate) fn ends_line(text: &str) -> bool {
    text.is_empty() || text.ends_with(['\n', '\r'])
}

/// Counts line endings over a text that comes in pieces.
#[derive(Default)]
pub(crate) struct EolCount {
    lf: usize,
    crlf: usize,
    cr: usize,
    pending_cr: bool,
}

impl EolCount {
    pub fn feed(&mut self, bytes: &[u8]) {
        let mut last = 0;
        for at in memchr::memchr2_iter(b'\n', b'\r', bytes) {
            if self.pending_cr && at > last {
                self.cr += 1;
                self.pending_cr = false;
            }
            if bytes[at] == b'\r' {
                self.cr += usize::from(self.pending_cr);
                self.pending_cr = true;
            } else if self.pending_cr {
                self.crlf += 1;
                self.pending_cr = false;
            } else {
                self.lf += 1;
            }
            last = at + 1;
        }
        if self.pending_cr && last < bytes.len() {
            self.cr += 1;
            self.pending_cr = false;
        }
    }

    pub fn eol(&self) -> Eol {
        let cr = self.cr + usize::from(self.pending_cr);
        match (self.lf > 0, self.crlf > 0, cr > 0) {
            (_, false, false) => Eol::Lf,
            (false, true, false) => Eol::Crlf,
            (false, false, true) => Eol::Cr,
            (true, true, _) | (true, _, true) | (_, true, true) => Eol::Mixed,
        }
    }
}

#[cfg(test)]
mod tests;

//! UTF-16 and UTF-32 read as UTF-8, piece by piece, where a file is too large to hold.
//!
//! Invariant: what comes out is what the whole file decoded at once would give, however it is cut into pieces.

use std::io::{self, Read};

use crate::encoding::{Detected, Encoding};

/// Bytes read at a time.
const PIECE: usize = 128 << 10;

/// The text of a wide encoding, without its mark, as UTF-8.
pub(crate) struct Narrowed<R> {
    inner: R,
    encoding: Encoding,
    piece: Vec<u8>,
    /// What was read and not decoded yet: a part of a character.
    rest: Vec<u8>,
    text: String,
    /// So much of the text was given out.
    given: usize,
    /// The mark is still to come.
    marked: bool,
    ended: bool,
}

impl<R: Read> Narrowed<R> {
    pub fn new(inner: R, detected: Detected) -> Narrowed<R> {
        Narrowed {
            inner,
            encoding: detected.encoding,
            piece: vec![0; PIECE],
            rest: Vec::new(),
            text: String::new(),
            given: 0,
            marked: detected.bom,
            ended: false,
        }
    }

    fn fill(&mut self) -> io::Result<()> {
        let read = self.inner.read(&mut self.piece)?;
        self.rest.extend_from_slice(&self.piece[..read]);
        self.ended = read == 0;
        let whole = if self.ended { self.rest.len() } else { self.whole() };
        self.text = self.encoding.decode(&self.rest[..whole]).into_owned();
        self.rest.drain(..whole);
        self.given = 0;
        if self.marked && !self.text.is_empty() {
            self.marked = false;
            self.given = if self.text.starts_with('\u{FEFF}') { '\u{FEFF}'.len_utf8() } else { 0 };
        }
        Ok(())
    }

    /// The bytes read that end with a character.
    fn whole(&self) -> usize {
        let units = self.rest.len() / self.encoding.unit() * self.encoding.unit();
        let last: Option<[u8; 2]> = self.rest[..units].last_chunk().copied();
        let last = match self.encoding {
            Encoding::Utf16Le => last.map(u16::from_le_bytes),
            Encoding::Utf16Be => last.map(u16::from_be_bytes),
            Encoding::Utf8 | Encoding::Utf32Le | Encoding::Utf32Be | Encoding::Legacy(_) => None,
        };
        // The other half of the pair is still to come.
        let is_half = last.is_some_and(|unit| (0xD800..0xDC00).contains(&unit));
        if is_half { units - 2 } else { units }
    }
}

impl<R: Read> Read for Narrowed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.given == self.text.len() && !self.ended {
            self.fill()?;
        }
        let mut text = &self.text.as_bytes()[self.given..];
        let read = text.read(buffer)?;
        self.given += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Gives a few bytes at a time.
    struct Slow<'a>(&'a [u8], usize);

    impl Read for Slow<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let most = buffer.len().min(self.1);
            self.0.read(&mut buffer[..most])
        }
    }

    const WIDE: [Encoding; 4] =
        [Encoding::Utf16Le, Encoding::Utf16Be, Encoding::Utf32Le, Encoding::Utf32Be];

    fn narrowed(bytes: &[u8], detected: Detected, at_once: usize) -> String {
        let mut text = String::new();
        Narrowed::new(Slow(bytes, at_once), detected).read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn a_mark_is_no_part_of_the_text() {
        for encoding in WIDE {
            let bytes = [encoding.bom(), &encoding.encode("\u{FEFF}a𝒳").unwrap()].concat();
            for at_once in 1..9 {
                let text = narrowed(&bytes, Detected { encoding, bom: true }, at_once);
                assert_eq!(text, "\u{FEFF}a𝒳");
            }
        }
    }

    proptest! {
        #[test]
        fn pieces_give_what_the_whole_gives(
            text in "[a-c\n𝒳é日]{0,20}",
            damage in prop::collection::vec(any::<u8>(), 0..6),
            at in any::<prop::sample::Index>(),
            at_once in 1usize..9,
        ) {
            for encoding in WIDE {
                let mut bytes = encoding.encode(&text).unwrap().into_owned();
                let at = at.index(bytes.len() + 1);
                bytes.splice(at..at, damage.iter().copied());
                let whole = encoding.decode(&bytes).into_owned();
                prop_assert_eq!(narrowed(&bytes, Detected { encoding, bom: false }, at_once), whole);
            }
        }
    }
}

//! Which encoding a file is in, and how its bytes become text and back.
//! Detection is by BOM, then UTF-8 validity, then the pattern of NUL bytes, then statistics.

use std::borrow::Cow;

use encoding_rs::{Encoding as Charset, UTF_8};

/// How a file's bytes stand for characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    Utf8,
    Utf16Le,
    Utf16Be,
    Utf32Le,
    Utf32Be,
    /// A legacy charset of the WHATWG Encoding Standard.
    Legacy(&'static Charset),
}

impl Encoding {
    /// The encoding with this WHATWG label (`utf-8`, `iso-8859-1`, `shift_jis`, …), `utf-32le` and `utf-32be` included.
    pub fn for_label(label: &str) -> Option<Encoding> {
        match label.trim().to_ascii_lowercase().as_str() {
            "utf-32le" | "utf32le" | "utf-32" => return Some(Encoding::Utf32Le),
            "utf-32be" | "utf32be" => return Some(Encoding::Utf32Be),
            "utf8bom" | "utf-8-bom" => return Some(Encoding::Utf8),
            "utf16le" => return Some(Encoding::Utf16Le),
            "utf16be" => return Some(Encoding::Utf16Be),
            _ => {}
        }
        let charset = Charset::for_label(label.as_bytes())?;
        Some(match charset.name() {
            "UTF-8" => Encoding::Utf8,
            "UTF-16LE" => Encoding::Utf16Le,
            "UTF-16BE" => Encoding::Utf16Be,
            _ => Encoding::Legacy(charset),
        })
    }

    /// The lower-case label of this encoding.
    pub fn label(self) -> String {
        match self {
            Encoding::Utf8 => "utf-8".to_owned(),
            Encoding::Utf16Le => "utf-16le".to_owned(),
            Encoding::Utf16Be => "utf-16be".to_owned(),
            Encoding::Utf32Le => "utf-32le".to_owned(),
            Encoding::Utf32Be => "utf-32be".to_owned(),
            Encoding::Legacy(charset) => charset.name().to_ascii_lowercase(),
        }
    }

    /// The byte order mark, empty where the encoding has none.
    pub(crate) fn bom(self) -> &'static [u8] {
        match self {
            Encoding::Utf8 => b"\xEF\xBB\xBF",
            Encoding::Utf16Le => b"\xFF\xFE",
            Encoding::Utf16Be => b"\xFE\xFF",
            Encoding::Utf32Le => b"\xFF\xFE\0\0",
            Encoding::Utf32Be => b"\0\0\xFE\xFF",
            Encoding::Legacy(_) => b"",
        }
    }

    /// The bytes of one code unit of a line break.
    pub(crate) fn unit(self) -> usize {
        match self {
            Encoding::Utf8 | Encoding::Legacy(_) => 1,
            Encoding::Utf16Le | Encoding::Utf16Be => 2,
            Encoding::Utf32Le | Encoding::Utf32Be => 4,
        }
    }

    /// Whether a character has several bytes at the least, so that bytes of other characters may stand in it.
    pub(crate) fn is_wide(self) -> bool {
        1 < self.unit()
    }

    /// Whether a line of a file in this encoding means the same wherever it stands. Not so for ISO-2022-JP.
    pub(crate) fn is_stateless(self) -> bool {
        match self {
            Encoding::Utf8
            | Encoding::Utf16Le
            | Encoding::Utf16Be
            | Encoding::Utf32Le
            | Encoding::Utf32Be => true,
            Encoding::Legacy(charset) => charset != encoding_rs::ISO_2022_JP,
        }
    }

    /// Decodes bytes without a BOM; what is malformed becomes U+FFFD.
    pub(crate) fn decode(self, bytes: &[u8]) -> Cow<'_, str> {
        match self {
            Encoding::Utf8 => String::from_utf8_lossy(bytes),
            Encoding::Utf16Le => Cow::Owned(decode_utf16(bytes, u16::from_le_bytes)),
            Encoding::Utf16Be => Cow::Owned(decode_utf16(bytes, u16::from_be_bytes)),
            Encoding::Utf32Le => Cow::Owned(decode_utf32(bytes, u32::from_le_bytes)),
            Encoding::Utf32Be => Cow::Owned(decode_utf32(bytes, u32::from_be_bytes)),
            Encoding::Legacy(charset) => charset.decode_without_bom_handling(bytes).0,
        }
    }

    /// Encodes without a BOM; the first character the encoding lacks is the error.
    pub(crate) fn encode(self, text: &str) -> Result<Cow<'_, [u8]>, char> {
        match self {
            Encoding::Utf8 => Ok(Cow::Borrowed(text.as_bytes())),
            Encoding::Utf16Le => {
                Ok(Cow::Owned(text.encode_utf16().flat_map(u16::to_le_bytes).collect()))
            }
            Encoding::Utf16Be => {
                Ok(Cow::Owned(text.encode_utf16().flat_map(u16::to_be_bytes).collect()))
            }
            Encoding::Utf32Le => {
                Ok(Cow::Owned(text.chars().flat_map(|c| (c as u32).to_le_bytes()).collect()))
            }
            Encoding::Utf32Be => {
                Ok(Cow::Owned(text.chars().flat_map(|c| (c as u32).to_be_bytes()).collect()))
            }
            Encoding::Legacy(charset) => encode_legacy(charset, text),
        }
    }
}

/// The encoding of a file, and whether it begins with a BOM.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Detected {
    pub encoding: Encoding,
    pub bom: bool,
}

impl Detected {
    pub const UTF_8: Detected = Detected { encoding: Encoding::Utf8, bom: false };

    fn plain(encoding: Encoding) -> Detected {
        Detected { encoding, bom: false }
    }

    /// The bytes after the BOM.
    pub fn body(self, bytes: &[u8]) -> &[u8] {
        let mark = if self.bom { self.encoding.bom() } else { &[] };
        bytes.strip_prefix(mark).unwrap_or(bytes)
    }
}

/// The encoding of `bytes` and whether they begin with its BOM.
pub(crate) fn detect(bytes: &[u8]) -> Detected {
    // UTF-32LE's mark begins with UTF-16LE's, so it is asked first.
    for encoding in
        [Encoding::Utf8, Encoding::Utf32Le, Encoding::Utf32Be, Encoding::Utf16Le, Encoding::Utf16Be]
    {
        if bytes.starts_with(encoding.bom()) {
            return Detected { encoding, bom: true };
        }
    }
    let head = &bytes[..bytes.len().min(DETECT_BYTES)];
    if memchr::memchr(0, head).is_some() {
        return Detected::plain(wide_without_bom(bytes, head).unwrap_or(Encoding::Utf8));
    }
    if std::str::from_utf8(bytes).is_ok() {
        return Detected::UTF_8;
    }
    Detected::plain(legacy_or_damaged(bytes))
}

/// Shorter files say too little about where their NUL bytes stand.
const MIN_WIDE: usize = 8;
/// Statistics see this much of a file.
const DETECT_BYTES: usize = 64 * 1024;

/// UTF-16 or UTF-32 told by where the NUL bytes of its ASCII characters stand.
fn wide_without_bom(bytes: &[u8], head: &[u8]) -> Option<Encoding> {
    let mut zeros = [0usize; 4];
    for (at, _) in head.iter().enumerate().filter(|(_, byte)| **byte == 0) {
        zeros[at % 4] += 1;
    }
    if bytes.len() < MIN_WIDE {
        return None;
    }
    let quarter = head.len().div_ceil(4);
    let mostly = |count: usize| count * 10 >= quarter * 9;
    let rarely = |count: usize| count * 10 <= quarter;
    let [a, b, c, d] = zeros;
    let guess = if bytes.len().is_multiple_of(4) && mostly(b) && mostly(c) && mostly(d) && rarely(a)
    {
        Encoding::Utf32Le
    } else if bytes.len().is_multiple_of(4) && mostly(a) && mostly(b) && mostly(c) && rarely(d) {
        Encoding::Utf32Be
    } else if bytes.len().is_multiple_of(2)
        && (b + d) * 10 >= quarter * 14
        && rarely(a)
        && rarely(c)
    {
        Encoding::Utf16Le
    } else if bytes.len().is_multiple_of(2)
        && (a + c) * 10 >= quarter * 14
        && rarely(b)
        && rarely(d)
    {
        Encoding::Utf16Be
    } else {
        return wide_by_text(head);
    };
    // A guess must decode cleanly to text, or the file is binary.
    let text = guess.decode(bytes);
    // The beginning of a file may end in the middle of a character.
    let text = text.strip_suffix(char::REPLACEMENT_CHARACTER).unwrap_or(&text);
    let clean = !text
        .chars()
        .any(|c| c == '\u{FFFD}' || (c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{c}')));
    clean.then_some(guess)
}

/// UTF-16 or UTF-32 of other scripts, told by what their characters are: lines of letters, signs and spaces. In the
/// other byte order the line ends would be letters that nobody uses.
fn wide_by_text(head: &[u8]) -> Option<Encoding> {
    let wide = [Encoding::Utf32Le, Encoding::Utf32Be, Encoding::Utf16Le, Encoding::Utf16Be];
    wide.into_iter().filter(|it| head.len().is_multiple_of(it.unit())).find(|encoding| {
        let text = encoding.decode(head);
        let (mut all, mut written) = (0usize, 0usize);
        for c in text.chars() {
            if c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{c}') {
                return false;
            }
            all += 1;
            written += usize::from(is_written(c));
        }
        text.contains('\n') && written * 20 >= all * 19
    })
}

fn is_written(c: char) -> bool {
    let is_sign = matches!(
        c,
        '\u{a0}'..='\u{bf}' | '\u{2000}'..='\u{206f}' | '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ffef}'
    );
    is_sign || c.is_alphanumeric() || c.is_ascii()
}

/// A file that is not UTF-8: one with damage when most of its non-ASCII sequences are UTF-8, else a legacy charset.
fn legacy_or_damaged(bytes: &[u8]) -> Encoding {
    let (mut valid, mut invalid) = (0usize, 0usize);
    for chunk in bytes.utf8_chunks() {
        valid += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        invalid += usize::from(!chunk.invalid().is_empty());
    }
    if valid > 0 && valid >= invalid {
        return Encoding::Utf8;
    }
    let mut detector = chardetng::EncodingDetector::new();
    // Lines of plain ASCII say nothing of the charset, and of the others there need not be many.
    let mut room = DETECT_BYTES * 4;
    for line in bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| !line.is_ascii()) {
        let part = &line[..line.len().min(room)];
        detector.feed(part, false);
        room -= part.len();
        if room == 0 {
            break;
        }
    }
    detector.feed(&[], true);
    let charset = detector.guess(None, false);
    if charset == UTF_8 { Encoding::Utf8 } else { Encoding::Legacy(charset) }
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> String {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let mut text: String = char::decode_utf16(pairs.iter().map(|pair| unit(*pair)))
        .map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    if !rest.is_empty() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text
}

fn decode_utf32(bytes: &[u8], unit: fn([u8; 4]) -> u32) -> String {
    let (quads, rest) = bytes.as_chunks::<4>();
    let mut text: String = quads
        .iter()
        .map(|quad| char::from_u32(unit(*quad)).unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect();
    if !rest.is_empty() {
        text.push(char::REPLACEMENT_CHARACTER);
    }
    text
}

fn encode_legacy<'a>(charset: &'static Charset, text: &'a str) -> Result<Cow<'a, [u8]>, char> {
    let (bytes, _, unmappable) = charset.encode(text);
    if !unmappable {
        return Ok(bytes);
    }
    // `encode` writes numeric references for what it lacks; find the character to name it.
    let missing = text.chars().find(|c| charset.encode(c.encode_utf8(&mut [0; 4])).2);
    Err(missing.unwrap_or(char::REPLACEMENT_CHARACTER))
}

#[cfg(test)]
mod tests;

//! One open document as an editor holds it: text, version, and how it is written to disk.

use serde_json::{Value, json};

/// Unit of the columns of a session's positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Columns {
    Utf8,
    Utf16,
    Utf32,
}

impl Columns {
    pub fn named(name: &str) -> Self {
        match name {
            "utf-8" => Self::Utf8,
            "utf-32" => Self::Utf32,
            _ => Self::Utf16,
        }
    }

    fn width(self, c: char) -> usize {
        match self {
            Self::Utf8 => c.len_utf8(),
            Self::Utf16 => c.len_utf16(),
            Self::Utf32 => 1,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Utf8,
    Latin1,
    /// Chosen by the person by its label.
    Named(&'static encoding_rs::Encoding),
}

impl Encoding {
    /// The encoding with this label.
    #[track_caller]
    pub fn labelled(label: &str) -> Self {
        let found = encoding_rs::Encoding::for_label(label.as_bytes());
        Self::Named(found.unwrap_or_else(|| panic!("no encoding {label}")))
    }

    /// `text` as bytes without a BOM, or nothing where a character has none.
    pub fn encode(self, text: &str) -> Option<Vec<u8>> {
        match self {
            Self::Utf8 => Some(text.as_bytes().to_vec()),
            Self::Latin1 => text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect(),
            Self::Named(named) if named == encoding_rs::UTF_16LE => {
                Some(text.encode_utf16().flat_map(u16::to_le_bytes).collect())
            }
            Self::Named(named) if named == encoding_rs::UTF_16BE => {
                Some(text.encode_utf16().flat_map(u16::to_be_bytes).collect())
            }
            Self::Named(named) => {
                let (bytes, _, lacks) = named.encode(text);
                (!lacks).then(|| bytes.into_owned())
            }
        }
    }

    fn label(self) -> String {
        match self {
            Self::Utf8 => "utf-8".to_owned(),
            Self::Latin1 => "iso-8859-1".to_owned(),
            Self::Named(named) => named.name().to_ascii_lowercase(),
        }
    }

    fn mark(self) -> &'static [u8] {
        match self {
            Self::Utf8 => b"\xef\xbb\xbf",
            Self::Named(named) if named == encoding_rs::UTF_8 => b"\xef\xbb\xbf",
            Self::Named(named) if named == encoding_rs::UTF_16LE => b"\xff\xfe",
            Self::Named(named) if named == encoding_rs::UTF_16BE => b"\xfe\xff",
            Self::Latin1 | Self::Named(_) => b"",
        }
    }
}

#[derive(Clone, Debug)]
pub struct Document {
    pub text: String,
    pub version: i64,
    pub dirty: bool,
    pub encoding: Encoding,
    pub bom: bool,
}

impl Document {
    pub fn new(text: &str, version: i64) -> Self {
        Self { text: text.to_owned(), version, dirty: false, encoding: Encoding::Utf8, bom: false }
    }

    /// Decodes a file the way editors do: BOM taken off, UTF-8, else latin-1.
    pub fn decode(bytes: &[u8], version: i64) -> Self {
        let (bom, rest) = match bytes.strip_prefix(b"\xef\xbb\xbf") {
            Some(rest) => (true, rest),
            None => (false, bytes),
        };
        let (text, encoding) = match std::str::from_utf8(rest) {
            Ok(text) => (text.to_owned(), Encoding::Utf8),
            Err(_) => (rest.iter().map(|b| char::from(*b)).collect(), Encoding::Latin1),
        };
        Self { text, version, dirty: false, encoding, bom }
    }

    /// Decodes a file in the encoding the person chose for it.
    #[track_caller]
    pub fn decode_as(bytes: &[u8], label: &str, version: i64) -> Self {
        let Encoding::Named(named) = Encoding::labelled(label) else { unreachable!("a name") };
        let encoding = Encoding::Named(named);
        let rest = bytes.strip_prefix(encoding.mark()).unwrap_or(bytes);
        let (text, _) = named.decode_without_bom_handling(rest);
        let bom = rest.len() < bytes.len();
        Self { text: text.into_owned(), version, dirty: false, encoding, bom }
    }

    /// What saving writes, or nothing where a character has no byte in the file's encoding.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        let mut out = if self.bom { self.encoding.mark().to_vec() } else { Vec::new() };
        out.extend(self.encoding.encode(&self.text)?);
        Some(out)
    }

    /// Byte offset of a position. Past the end of a line means its end, before the line ending.
    pub fn offset(&self, position: &Value, columns: Columns) -> usize {
        let line = position["line"].as_u64().expect("a line") as usize;
        let column = position["character"].as_u64().expect("a column") as usize;
        let Some((start, text)) = self.line(line) else { return self.text.len() };
        let mut units = 0;
        for (at, c) in text.char_indices() {
            if units >= column {
                return start + at;
            }
            units += columns.width(c);
        }
        start + text.len()
    }

    /// Position of a byte offset.
    pub fn position(&self, offset: usize, columns: Columns) -> Value {
        let before = &self.text[..offset];
        let line = before.matches('\n').count();
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let column: usize = before[start..].chars().map(|c| columns.width(c)).sum();
        json!({ "line": line, "character": column })
    }

    pub fn line_ending(&self) -> &'static str {
        let crlf = self.text.matches("\r\n").count();
        match (crlf, self.text.matches('\n').count()) {
            (0, _) => "lf",
            (crlf, lf) if crlf < lf => "mixed",
            _ => "crlf",
        }
    }

    /// The entry of `copydesk/editor/didChangeState` for this document.
    pub fn state(&self, uri: &str) -> Value {
        json!({
            "uri": uri,
            "version": self.version,
            "dirty": self.dirty,
            "encoding": self.encoding.label(),
            "bom": self.bom,
            "eol": self.line_ending(),
            "finalNewline": self.text.ends_with('\n'),
            "readOnly": false,
        })
    }

    fn line(&self, number: usize) -> Option<(usize, &str)> {
        let mut start = 0;
        for (index, line) in self.text.split('\n').enumerate() {
            if index == number {
                let more = start + line.len() < self.text.len();
                return Some((
                    start,
                    if more { line.strip_suffix('\r').unwrap_or(line) } else { line },
                ));
            }
            start += line.len() + 1;
        }
        None
    }
}

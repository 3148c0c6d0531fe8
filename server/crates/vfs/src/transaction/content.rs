//! A file's bytes with what was worked out of them, so that no pass over them is made twice.

use std::sync::OnceLock;

use super::plan::text_of;
use crate::binary;
use crate::encoding::Detected;
use crate::snapshot::hash_bytes;

/// What a file holds.
#[derive(Debug, Default)]
pub(crate) struct Content {
    bytes: Vec<u8>,
    hash: OnceLock<[u8; 32]>,
}

impl PartialEq for Content {
    fn eq(&self, other: &Content) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Content {}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Content {
        Content { bytes, hash: OnceLock::new() }
    }
}

impl Content {
    /// The bytes themselves.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// SHA-256 of the bytes; worked out once.
    pub fn hash(&self) -> [u8; 32] {
        *self.hash.get_or_init(|| hash_bytes(&self.bytes))
    }

    /// Tells the hash, which the caller knows from elsewhere.
    pub fn known_by(&self, hash: [u8; 32]) {
        self.hash.get_or_init(|| hash);
    }

    /// The text where it is the bytes: valid UTF-8 without a byte order mark that no other encoding is likelier for.
    pub fn plain_text(&self) -> Option<&str> {
        let text = std::str::from_utf8(&self.bytes).ok()?;
        let has_mark = text.starts_with('\u{feff}');
        (!has_mark && binary::sniff(&self.bytes, Detected::UTF_8).is_none()).then_some(text)
    }

    /// SHA-256 of the decoded text, of bytes that are no text their own.
    pub fn text_hash(&self) -> [u8; 32] {
        if self.plain_text().is_some() {
            return self.hash();
        }
        match text_of(&self.bytes) {
            Some(decoded) => hash_bytes(decoded.text.as_bytes()),
            None => self.hash(),
        }
    }
}

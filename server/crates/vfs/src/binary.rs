//! Tells files that are not text, and what they are.

use crate::encoding::{Detected, Encoding};

/// Beginnings of well-known formats that are not text even where they hold no NUL.
const MAGIC: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "PNG image"),
    (b"\xFF\xD8\xFF", "JPEG image"),
    (b"GIF87a", "GIF image"),
    (b"GIF89a", "GIF image"),
    (b"%PDF-", "PDF document"),
    (b"PK\x03\x04", "ZIP archive"),
    (b"PK\x05\x06", "ZIP archive"),
    (b"\x7fELF", "ELF program"),
    (b"\x1f\x8b", "gzip archive"),
    (b"BZh", "bzip2 archive"),
    (b"\xFD7zXZ\0", "xz archive"),
    (b"\x28\xB5\x2F\xFD", "zstd archive"),
    (b"7z\xBC\xAF\x27\x1C", "7-Zip archive"),
    (b"SQLite format 3\0", "SQLite database"),
    (b"\0asm", "WebAssembly module"),
    (b"\xCA\xFE\xBA\xBE", "Java class or universal binary"),
    (b"\xCF\xFA\xED\xFE", "Mach-O program"),
    (b"II*\0", "TIFF image"),
    (b"MM\0*", "TIFF image"),
    (b"OggS", "Ogg media"),
    (b"fLaC", "FLAC audio"),
    (b"ID3", "MP3 audio"),
    (b"wOFF", "web font"),
    (b"wOF2", "web font"),
];

/// What `head`, the beginning of a file, is by its magic bytes.
pub(crate) fn by_magic(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(b"RIFF") && head.get(8..12) == Some(b"WEBP") {
        return Some("WebP image");
    }
    MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|(_, what)| *what)
}

/// What `bytes` are when they are not text in the encoding found.
pub(crate) fn sniff(bytes: &[u8], detected: Detected) -> Option<&'static str> {
    if detected.bom {
        return None;
    }
    // Short magics that could begin a text count only together with bytes no text has.
    let magic = by_magic(bytes);
    match detected.encoding {
        Encoding::Utf8 | Encoding::Legacy(_) => {}
        Encoding::Utf16Le | Encoding::Utf16Be | Encoding::Utf32Le | Encoding::Utf32Be => {
            return magic;
        }
    }
    if memchr::memchr(0, bytes).is_some() {
        return Some(magic.unwrap_or("data with NUL bytes"));
    }
    magic.filter(|what| *what == "PDF document" || !looks_like_text(bytes))
}

fn looks_like_text(bytes: &[u8]) -> bool {
    let head = &bytes[..bytes.len().min(512)];
    match std::str::from_utf8(head) {
        Ok(text) => !text
            .chars()
            .any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t' | '\u{c}' | '\u{1b}')),
        Err(error) => error.error_len().is_none(),
    }
}

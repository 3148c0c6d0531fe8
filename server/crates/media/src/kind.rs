//! What a file is by its first bytes, whatever its name says.

/// Bytes that are enough to tell.
const HEAD: usize = 1_024;

/// Something that is no text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A picture that can be shown.
    Picture(PictureKind),
    /// A picture that cannot: its name.
    Unsupported(&'static str),
    /// A PDF.
    Document,
    /// A video: its media type.
    Video(&'static str),
}

/// A kind of picture that can be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureKind {
    Png,
    Jpeg,
    Webp,
    Gif,
    Bmp,
    Tiff,
}

impl PictureKind {
    /// As people write it.
    pub fn name(self) -> &'static str {
        match self {
            PictureKind::Png => "PNG",
            PictureKind::Jpeg => "JPEG",
            PictureKind::Webp => "WebP",
            PictureKind::Gif => "GIF",
            PictureKind::Bmp => "BMP",
            PictureKind::Tiff => "TIFF",
        }
    }
}

impl Kind {
    /// What these first bytes of a file say; `None` for text and for anything unknown.
    pub fn of(head: &[u8]) -> Option<Kind> {
        let head = &head[..head.len().min(HEAD)];
        let picture = match head {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some(PictureKind::Png),
            [0xff, 0xd8, 0xff, ..] => Some(PictureKind::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(PictureKind::Gif),
            [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => Some(PictureKind::Tiff),
            [b'B', b'M', ..] if is_bmp(head) => Some(PictureKind::Bmp),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => {
                Some(PictureKind::Webp)
            }
            _ => None,
        };
        picture.map(Kind::Picture).or_else(|| container(head)).or_else(|| {
            let magic = b"%PDF-";
            head.windows(magic.len()).any(|it| it == magic).then_some(Kind::Document)
        })
    }
}

/// The length of the second header tells a bitmap from a text that begins with the same letters.
fn is_bmp(head: &[u8]) -> bool {
    matches!(head.get(14..18), Some([12 | 40 | 52 | 56 | 64 | 108 | 124, 0, 0, 0]))
}

fn container(head: &[u8]) -> Option<Kind> {
    match head {
        [_, _, _, _, b'f', b't', b'y', b'p', brand @ ..] => match brand.get(..4)? {
            b"avif" | b"avis" => Some(Kind::Unsupported("AVIF")),
            b"heic" | b"heix" | b"heim" | b"heis" | b"hevc" | b"hevx" => {
                Some(Kind::Unsupported("HEIC"))
            }
            b"mif1" | b"msf1" => {
                let avif = head.windows(4).any(|it| it == b"avif");
                Some(Kind::Unsupported(if avif { "AVIF" } else { "HEIF" }))
            }
            b"qt  " => Some(Kind::Video("video/quicktime")),
            [b'3', b'g', b'p' | b'2', _] => Some(Kind::Video("video/3gpp")),
            b"M4A " | b"M4B " => None,
            _ => Some(Kind::Video("video/mp4")),
        },
        [0x1a, 0x45, 0xdf, 0xa3, ..] => {
            let webm = head.windows(4).any(|it| it == b"webm");
            Some(Kind::Video(if webm { "video/webm" } else { "video/x-matroska" }))
        }
        [b'R', b'I', b'F', b'F', _, _, _, _, b'A', b'V', b'I', b' ', ..] => {
            Some(Kind::Video("video/x-msvideo"))
        }
        [0, 0, 1, 0xba | 0xb3, ..] => Some(Kind::Video("video/mpeg")),
        [b'F', b'L', b'V', 1, ..] => Some(Kind::Video("video/x-flv")),
        [0x30, 0x26, 0xb2, 0x75, 0x8e, 0x66, 0xcf, 0x11, ..] => Some(Kind::Video("video/x-ms-wmv")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(head: &[u8], expected: Option<Kind>) {
        assert_eq!(Kind::of(head), expected);
    }

    #[test]
    fn files_are_known_by_their_first_bytes() {
        check(b"\x89PNG\r\n\x1a\n....", Some(Kind::Picture(PictureKind::Png)));
        check(b"\xff\xd8\xff\xe0", Some(Kind::Picture(PictureKind::Jpeg)));
        check(b"RIFF....WEBPVP8 ", Some(Kind::Picture(PictureKind::Webp)));
        check(b"RIFF....AVI LIST", Some(Kind::Video("video/x-msvideo")));
        check(b"GIF89a", Some(Kind::Picture(PictureKind::Gif)));
        check(b"II*\0", Some(Kind::Picture(PictureKind::Tiff)));
        check(b"BM............\x28\0\0\0", Some(Kind::Picture(PictureKind::Bmp)));
        check(b"....ftypheic....mif1", Some(Kind::Unsupported("HEIC")));
        check(b"....ftypavif", Some(Kind::Unsupported("AVIF")));
        check(b"....ftypmif1....avif", Some(Kind::Unsupported("AVIF")));
        check(b"....ftypmif1....heic", Some(Kind::Unsupported("HEIF")));
        check(b"....ftypisom", Some(Kind::Video("video/mp4")));
        check(b"....ftypqt  ", Some(Kind::Video("video/quicktime")));
        check(b"\x1a\x45\xdf\xa3....webm", Some(Kind::Video("video/webm")));
        check(b"junk\n%PDF-1.7", Some(Kind::Document));
    }

    #[test]
    fn text_is_nothing_of_the_kind() {
        check(b"", None);
        check(b"BM is how this text begins, as many do", None);
        check(b"GIF8 is no picture", None);
        check(b"fn main() {}", None);
        check(b"....ftyp", None);
    }
}

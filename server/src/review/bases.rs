//! Where the texts before pending changes are kept: in the journal's images, which mostly have them already, so
//! that the list of what is pending stays small and is quickly written.
//!
//! Invariant: an image is synced before the list that names it is written, and what the list names is never
//! dropped.

use std::collections::BTreeMap;

use text::{ChangeSet, Rope};
use vfs::{Location, Vfs};

use super::kept::KeptFile;

/// Smaller texts stand in the list itself, in bytes.
const LEAST: usize = 1 << 10;
/// The part of a text that may differ from its image.
const MOST_DIFFERENT: usize = 8;

/// The images that texts were kept in last.
#[derive(Default)]
pub struct Bases(BTreeMap<Location, Image>);

struct Image {
    text: Rope,
    blob: [u8; 32],
}

impl Bases {
    /// Has the texts of all files but small ones kept in images. Blocks on the disk.
    pub fn keep<'a>(&mut self, vfs: &Vfs, files: impl Iterator<Item = &'a mut KeptFile>) {
        let mut known = std::mem::take(&mut self.0);
        for file in files.filter(|it| LEAST <= it.base().len_bytes()) {
            let location = file.location();
            let image = known.remove(&location).and_then(|it| near(it, file.base()));
            let image = image.or_else(|| {
                let image = Image { blob: kept(vfs, file.base())?, text: file.base().clone() };
                Some((image, ChangeSet::identity(file.base().len_bytes())))
            });
            if let Some((image, changes)) = image {
                file.keep_base_in(image.blob, &changes);
                self.0.insert(location, image);
            }
        }
    }
}

/// The image, and what leads from it to this text, unless that is much.
fn near(image: Image, base: &Rope) -> Option<(Image, ChangeSet)> {
    let changes = ChangeSet::between(&image.text, base);
    let size: usize = changes.edits().iter().map(|it| it.range.len() + it.text.len()).sum();
    (size <= base.len_bytes() / MOST_DIFFERENT).then_some((image, changes))
}

fn kept(vfs: &Vfs, text: &Rope) -> Option<[u8; 32]> {
    let kept = vfs.keep_text(text);
    kept.inspect_err(|error| tracing::warn!(%error, "a text before changes is not kept apart")).ok()
}

/// The text of an image; `None` where it is gone or damaged.
pub fn text(vfs: &Vfs, blob: [u8; 32]) -> Option<Rope> {
    let bytes = vfs.blob(blob).inspect_err(|error| {
        tracing::warn!(%error, "the text before changes that are pending cannot be read");
    });
    String::from_utf8(bytes.ok()?).ok().map(|it| Rope::from_str(&it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use review::SavedFile;
    use text::{Edit, LineBreaks, Unit};
    use vfs::Options;
    use vfs::state::TempDir;

    fn file(name: &str, base: &Rope) -> KeptFile {
        let saved = SavedFile {
            file: Location::disk(name),
            base: base.clone(),
            pieces: Vec::new(),
            hunks: Vec::new(),
            existence: None,
            past: None,
        };
        KeptFile::of(saved, Vec::new())
    }

    /// Keeps the text as a new process of this one's would find it; gives the bytes of the list.
    #[track_caller]
    fn check(bases: &mut Bases, vfs: &Vfs, base: &Rope) -> usize {
        let mut kept = file("/a", base);
        bases.keep(vfs, std::iter::once(&mut kept));
        let line = serde_json::to_string(&kept).unwrap();
        let mut read: KeptFile = serde_json::from_str(&line).unwrap();
        assert!(read.take_base_from(|blob| text(vfs, blob)).is_some(), "{line}");
        assert_eq!(*read.base(), *base);
        line.len()
    }

    fn place() -> (TempDir, Vfs) {
        let dir = TempDir::with_files([]).unwrap();
        let state_dir = Some(dir.path().to_owned());
        (dir, Vfs::new(Options { unit: Unit::Utf16, breaks: LineBreaks::Lsp, state_dir }))
    }

    #[test]
    fn a_text_comes_back_and_the_list_stays_small() {
        let (_dir, vfs) = place();
        let mut bases = Bases::default();
        let mut text = Rope::from_str(&"a line, and é\r\n".repeat(10_000));
        check(&mut bases, &vfs, &Rope::from_str("small\n"));
        let first = check(&mut bases, &vfs, &text);
        assert!(first < 1_000, "{first}");
        for number in 0..20 {
            let at = number * 700;
            let at = text.char_to_byte(text.byte_to_char(at));
            let edits = vec![Edit::new(at..at, format!("“{number}”"))];
            text = ChangeSet::new(text.len_bytes(), edits).unwrap().apply(&text);
            assert!(check(&mut bases, &vfs, &text) < LEAST + 20_000);
        }
        let other = Rope::from_str(&"another text\n".repeat(10_000));
        assert!(check(&mut bases, &vfs, &other) < 1_000);
        assert!(check(&mut Bases::default(), &vfs, &other) < 1_000);
    }

    #[test]
    fn a_text_whose_image_is_gone_is_missed() {
        let (dir, vfs) = place();
        let mut kept = file("/a", &Rope::from_str(&"text\n".repeat(1_000)));
        Bases::default().keep(&vfs, std::iter::once(&mut kept));
        vfs::state::remove(&dir.path().join("blobs")).unwrap();
        assert!(kept.take_base_from(|blob| text(&vfs, blob)).is_none());
    }
}

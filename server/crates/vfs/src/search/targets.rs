//! The files and documents a search is about, in path order, open buffers laid over the disk.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use text::Rope;

use super::ignored::IgnoreFiles;
use super::walk::{Ignored, List, path_order};
use crate::document::Dirty;
use crate::location::Location;
use crate::store::{OpenText, Vfs};

/// Open documents, by the paths a search may meet them under.
pub(super) struct Overlay {
    open: BTreeMap<Location, OpenText>,
    /// Real paths of documents opened through a link.
    by_real_path: HashMap<PathBuf, Location>,
}

/// Unsaved or saved, a buffer's text and when it last changed.
#[derive(Clone)]
pub(super) struct Buffer {
    pub rope: Rope,
    pub changed: SystemTime,
    pub unsaved: bool,
}

impl Overlay {
    pub fn of(vfs: &Vfs) -> Overlay {
        let open = vfs.open_texts();
        let by_real_path = open
            .iter()
            .filter_map(|(location, text)| Some((text.real.clone()?, location.clone())))
            .collect();
        Overlay { open, by_real_path }
    }

    /// The buffer shown in place of the file at `path`.
    pub fn at(&self, path: &Path) -> Option<Buffer> {
        if self.open.is_empty() {
            return None;
        }
        let location = Location::Disk(path.to_owned());
        let text =
            self.open.get(&location).or_else(|| self.open.get(self.by_real_path.get(path)?))?;
        Some(buffer(text))
    }

    /// Documents without a path, by name.
    pub fn virtuals(&self) -> Vec<(String, Buffer)> {
        let name = |(location, text): (&Location, &OpenText)| match location {
            Location::Virtual(name) => Some((name.clone(), buffer(text))),
            Location::Disk(_) => None,
        };
        self.open.iter().filter_map(name).collect()
    }

    /// Open documents below `root` that the disk does not have.
    pub fn unborn<'a>(&'a self, root: &'a Path) -> impl Iterator<Item = &'a Path> {
        self.open
            .keys()
            .filter_map(|location| location.path())
            .filter(move |path| path.starts_with(root) && *path != root)
            .filter(|path| std::fs::symlink_metadata(path).is_err())
    }
}

fn buffer(text: &OpenText) -> Buffer {
    Buffer { rope: text.rope.clone(), changed: text.changed, unsaved: text.dirty != Dirty::Clean }
}

/// The files below `root` in path order, those that only exist in the editor among them.
/// `None` when `cancelled` said so.
pub(super) fn files_below(
    vfs: &Vfs,
    overlay: &Overlay,
    root: &Path,
    ignored: Ignored,
    cancelled: &dyn Fn() -> bool,
) -> Option<(Arc<List>, Vec<PathBuf>)> {
    let list = vfs.lists().get(root, ignored, cancelled)?;
    let mut rules = IgnoreFiles::default();
    let mut extra: Vec<PathBuf> = overlay
        .unborn(root)
        .filter(|path| match ignored {
            Ignored::Skip => !rules.ignores(root, path),
            Ignored::Include => true,
        })
        .map(Path::to_owned)
        .collect();
    extra.sort_unstable_by(|a, b| path_order(a, b));
    Some((list, extra))
}

/// Two sorted lists as one.
pub(super) fn merged<'a>(a: &'a [PathBuf], b: &'a [PathBuf]) -> impl Iterator<Item = &'a Path> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    std::iter::from_fn(move || {
        let first = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) => path_order(x, y).is_le(),
            (Some(_), None) => true,
            (None, _) => false,
        };
        if first { a.next() } else { b.next() }.map(PathBuf::as_path)
    })
}

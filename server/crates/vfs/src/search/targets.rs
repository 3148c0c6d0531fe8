//! The files and documents a search is about, in path order, open buffers laid over the disk.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use ignore::IncrementalIgnore;
use text::Rope;

use super::filter::is_withheld;
use super::walk::{Ignored, List, builder, is_version_control, path_order};
use crate::document::Dirty;
use crate::location::Location;
use crate::store::Vfs;

/// Open documents, by the paths a search may meet them under.
pub(super) struct Overlay {
    /// By path and by real path; as plain strings, since a search asks for every file it meets.
    by_path: HashMap<OsString, Buffer>,
    paths: Vec<PathBuf>,
    virtuals: Vec<(String, Buffer)>,
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
        let mut overlay =
            Overlay { by_path: HashMap::new(), paths: Vec::new(), virtuals: Vec::new() };
        for (location, text) in vfs.open_texts() {
            let unsaved = text.dirty != Dirty::Clean;
            let buffer = Buffer { rope: text.rope, changed: text.changed, unsaved };
            match location {
                Location::Virtual(name) => overlay.virtuals.push((name, buffer)),
                Location::Disk(path) => {
                    if let Some(real) = text.real {
                        overlay.by_path.entry(real.into()).or_insert_with(|| buffer.clone());
                    }
                    overlay.by_path.insert(path.clone().into(), buffer);
                    overlay.paths.push(path);
                }
            }
        }
        overlay
    }

    /// The buffer shown in place of the file at `path`.
    pub fn at(&self, path: &Path) -> Option<&Buffer> {
        if self.by_path.is_empty() { None } else { self.by_path.get(path.as_os_str()) }
    }

    /// The text of a document without a path.
    pub fn named(&self, name: &str) -> Option<&Buffer> {
        self.virtuals.iter().find(|(it, _)| it == name).map(|(_, buffer)| buffer)
    }

    /// Documents without a path, by name.
    pub fn virtuals(&self) -> &[(String, Buffer)] {
        &self.virtuals
    }

    /// Open documents below `root` that the disk does not have.
    pub fn unborn<'a>(&'a self, root: &'a Path) -> impl Iterator<Item = &'a Path> {
        let below = self
            .paths
            .iter()
            .map(PathBuf::as_path)
            .filter(move |path| *path != root && path.starts_with(root));
        below.filter(|path| std::fs::symlink_metadata(path).is_err())
    }
}

/// What a search below a folder is about.
pub(super) struct Below {
    pub list: Arc<List>,
    /// Beside the list: what only the editor has, and secrets the person allowed.
    pub extra: Vec<PathBuf>,
    /// Secrets nobody allowed.
    pub withheld: Vec<PathBuf>,
}

/// Which of the files.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Place {
    Listed(u32),
    Extra(u32),
}

impl Below {
    /// All files, in path order.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.places().map(|at| self.path(at))
    }

    /// The same by their places, which are smaller than paths.
    pub fn places(&self) -> impl Iterator<Item = Place> {
        // A list that long is never made.
        let number = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
        let (mut listed, mut extra) = (0, 0);
        std::iter::from_fn(move || {
            let (a, b) = (self.list.files.get(listed), self.extra.get(extra));
            let is_listed = match (a, b) {
                (Some(a), Some(b)) => path_order(a, b).is_le(),
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => return None,
            };
            let next = if is_listed { &mut listed } else { &mut extra };
            let at = number(*next);
            *next += 1;
            Some(if is_listed { Place::Listed(at) } else { Place::Extra(at) })
        })
    }

    pub fn path(&self, at: Place) -> &Path {
        let (paths, at) = match at {
            Place::Listed(at) => (&self.list.files, at),
            Place::Extra(at) => (&self.extra, at),
        };
        paths.get(at as usize).map_or(Path::new(""), PathBuf::as_path)
    }
}

/// The files below `root`, those that only exist in the editor among them. `None` when `cancelled` said so.
pub(super) fn files_below(
    vfs: &Vfs,
    overlay: &Overlay,
    root: &Path,
    choice: Choice<'_>,
    cancelled: &dyn Fn() -> bool,
) -> Option<Below> {
    let list = vfs.lists().get(root, choice.ignored, cancelled)?;
    let mut rules = None;
    let unborn = overlay.unborn(root).filter(|path| match choice.ignored {
        Ignored::Skip => !is_ignored(&mut rules, root, path),
        Ignored::Include => !in_version_control(root, path),
    });
    let (mut extra, mut withheld) = (Vec::new(), Vec::new());
    for path in unborn.chain(list.secrets.iter().map(PathBuf::as_path)) {
        let part = if is_withheld(path, choice.allowed) { &mut withheld } else { &mut extra };
        part.push(path.to_owned());
    }
    extra.sort_unstable_by(|a, b| path_order(a, b));
    Some(Below { list, extra, withheld })
}

/// Whether a walk from `root` would leave out `path`, were it there. The rules are read when they are first needed.
fn is_ignored(rules: &mut Option<IncrementalIgnore>, root: &Path, path: &Path) -> bool {
    if rules.is_none() {
        // A folder that is only in the editor has the rules of the nearest one on the disk.
        let on_disk = root.ancestors().find(|it| it.is_dir()).unwrap_or(root);
        *rules = builder(on_disk, Ignored::Skip).build_matchers().into_iter().next();
    }
    let Some(rules) = rules else { return false };
    let Ok(below) = path.strip_prefix(rules.root()) else { return false };
    in_version_control(root, path) || rules.matched(below, false).is_ignore()
}

fn in_version_control(root: &Path, path: &Path) -> bool {
    let below = path.strip_prefix(root).unwrap_or(path);
    below.components().any(|part| is_version_control(part.as_os_str().as_bytes()))
}

/// What a query says about the files it wants.
#[derive(Clone, Copy)]
pub(super) struct Choice<'a> {
    pub ignored: Ignored,
    /// Secrets the person allowed.
    pub allowed: &'a [PathBuf],
}

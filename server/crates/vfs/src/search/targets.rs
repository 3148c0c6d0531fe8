//! The files and documents a search is about, in path order, open buffers laid over the disk.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use text::Rope;

use super::ignoring::Ignoring;
use super::visibility::{Sight, Visibility};
use super::walk::{Ignored, List, is_version_control_path, path_order};
use crate::document::Dirty;
use crate::location::Location;
use crate::store::Vfs;

/// Open documents, by the paths a search may meet them under.
pub(super) struct Overlay {
    /// By path and by real path; as plain strings, since a search asks for every file it meets.
    by_path: HashMap<OsString, Buffer>,
    /// As they were opened, and where they really are if that is elsewhere.
    paths: Vec<(PathBuf, Option<PathBuf>)>,
    virtuals: Vec<Virtual>,
    /// Cells of open notebooks, by the notebooks' paths.
    cells: HashMap<PathBuf, Vec<Virtual>>,
    /// Searched folders that are reached by a link, and where they really are.
    links: Vec<(PathBuf, PathBuf)>,
}

/// A document without a path.
pub(super) struct Virtual {
    pub name: String,
    pub language: String,
    pub buffer: Buffer,
}

impl Virtual {
    /// What globs are matched against: only the last part of such a name means something to them.
    pub fn as_path(&self) -> PathBuf {
        Path::new("/").join(self.name.rsplit(['/', ':']).next().unwrap_or(&self.name))
    }
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
        let mut overlay = Overlay {
            by_path: HashMap::new(),
            paths: Vec::new(),
            virtuals: Vec::new(),
            cells: HashMap::new(),
            links: Vec::new(),
        };
        for (location, text) in vfs.open_texts() {
            let unsaved = text.dirty != Dirty::Clean;
            let buffer = Buffer { rope: text.rope, changed: text.changed, unsaved };
            match location {
                Location::Virtual(name) => {
                    let notebook = notebook_of(&name);
                    let document = Virtual { name, language: text.language, buffer };
                    match notebook {
                        Some(path) => overlay.cells.entry(path).or_default().push(document),
                        None => overlay.virtuals.push(document),
                    }
                }
                Location::Disk(path) => {
                    if let Some(real) = text.real.clone() {
                        overlay.by_path.entry(real.into()).or_insert_with(|| buffer.clone());
                    }
                    overlay.by_path.insert(path.clone().into(), buffer);
                    overlay.paths.push((path, text.real));
                }
            }
        }
        for cells in overlay.cells.values_mut() {
            // Names end in numbers, in the order in which the cells were made.
            cells.sort_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
        }
        overlay
    }

    /// A folder is searched: what lies below it may have other names.
    pub fn enter(&mut self, root: &Path) {
        let real = crate::roots::real_path(root);
        if real != root {
            self.links.push((root.to_owned(), real));
        }
    }

    /// Where what lies below a searched folder really is, if that is elsewhere. No links are met below one.
    pub fn real(&self, path: &Path) -> Option<PathBuf> {
        let below = |(root, real): &(PathBuf, PathBuf)| {
            let rest = path.strip_prefix(root).ok()?;
            Some(if rest.as_os_str().is_empty() { real.clone() } else { real.join(rest) })
        };
        self.links.iter().find_map(below)
    }

    /// The buffer shown in place of the file at `path`.
    pub fn at(&self, path: &Path) -> Option<&Buffer> {
        if self.by_path.is_empty() {
            return None;
        }
        let real = || self.by_path.get(self.real(path)?.as_os_str());
        self.by_path.get(path.as_os_str()).or_else(real)
    }

    /// The text of a document without a path, a cell among them.
    pub fn named(&self, name: &str) -> Option<&Buffer> {
        let cells = notebook_of(name).and_then(|path| self.cells.get(&path));
        let all = self.virtuals.iter().chain(cells.into_iter().flatten());
        all.into_iter().find(|it| it.name == name).map(|it| &it.buffer)
    }

    /// Documents without a path, by name.
    pub fn virtuals(&self) -> &[Virtual] {
        &self.virtuals
    }

    /// The cells that are shown in place of a notebook's file.
    pub fn cells(&self, path: &Path) -> Option<&[Virtual]> {
        if self.cells.is_empty() {
            return None;
        }
        let real = || self.cells.get(&self.real(path)?);
        self.cells.get(path).or_else(real).map(Vec::as_slice)
    }

    /// When a document below a folder that the disk does not have last changed.
    pub fn changed_below(&self, folder: &Path) -> Option<SystemTime> {
        let buffers = self.unborn(folder).filter_map(|path| self.at(&path).map(|it| it.changed));
        buffers.max()
    }

    /// Open documents below `root` that the disk does not have.
    pub fn unborn<'a>(&'a self, root: &'a Path) -> impl Iterator<Item = PathBuf> + 'a {
        let real_root = self.real(root).unwrap_or_else(|| root.to_owned());
        let below = self.paths.iter().filter_map(move |(path, real)| {
            if path.starts_with(root) {
                return Some(path.clone()).filter(|path| path != root);
            }
            let rest = real.as_ref().unwrap_or(path).strip_prefix(&real_root).ok()?;
            (!rest.as_os_str().is_empty()).then(|| root.join(rest))
        });
        below.filter(|path| std::fs::symlink_metadata(path).is_err())
    }
}

/// The notebook that a document of this name is a cell of.
pub(super) fn notebook_of(name: &str) -> Option<PathBuf> {
    let path = name.strip_prefix("vscode-notebook-cell:")?;
    let path = path.split(['#', '?']).next().unwrap_or(path);
    let path = path.strip_prefix("//").unwrap_or(path);
    let bytes = unescaped(path);
    let path = PathBuf::from(OsString::from_vec(bytes));
    path.is_absolute().then(|| crate::normalize(&path))
}

/// A URI's path with its `%41` read.
fn unescaped(path: &str) -> Vec<u8> {
    let hex = |at: usize| {
        let digits = path.get(at + 1..at + 3)?;
        u8::from_str_radix(digits, 16).ok().filter(|_| !digits.starts_with('+'))
    };
    let mut bytes = Vec::with_capacity(path.len());
    let mut at = 0;
    while let Some(byte) = path.as_bytes().get(at) {
        let escape = if *byte == b'%' { hex(at) } else { None };
        bytes.push(escape.unwrap_or(*byte));
        at += if escape.is_some() { 3 } else { 1 };
    }
    bytes
}

/// What a search below a folder is about.
pub(super) struct Below {
    list: Arc<List>,
    /// Which files of the list may be shown; `None`: all.
    shown: Option<Vec<u32>>,
    /// Beside the list: what only the editor has, and secrets the person allowed.
    extra: Vec<PathBuf>,
    /// Folders that may be shown.
    pub dirs: Vec<PathBuf>,
    /// Secrets nobody allowed.
    pub withheld: Vec<PathBuf>,
    /// How many files a rule denies.
    pub denied: usize,
}

/// Which of the files.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Place {
    Listed(u32),
    Extra(u32),
}

impl Below {
    /// What could not be read.
    pub fn notes(&self) -> &[String] {
        &self.list.notes
    }

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
            let at = match &self.shown {
                None => Some(listed),
                Some(shown) => shown.get(listed).map(|at| *at as usize),
            };
            let (a, b) = (at.and_then(|at| self.list.files.get(at)), self.extra.get(extra));
            let is_listed = match (a, b) {
                (Some(a), Some(b)) => path_order(a, b).is_le(),
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => return None,
            };
            Some(if is_listed {
                listed += 1;
                Place::Listed(number(at.unwrap_or_default()))
            } else {
                extra += 1;
                Place::Extra(number(extra - 1))
            })
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

/// The files below `root`, which the overlay has entered, those that only exist in the editor among them. `None` when
/// `cancelled` said so.
pub(super) fn files_below(
    vfs: &Vfs,
    overlay: &Overlay,
    root: &Path,
    choice: Choice<'_>,
    cancelled: &dyn Fn() -> bool,
) -> Option<Below> {
    let list = vfs.lists().get(root, choice.ignored, cancelled)?;
    let mut below = Below {
        shown: None,
        extra: Vec::new(),
        dirs: Vec::new(),
        withheld: Vec::new(),
        denied: 0,
        list: Arc::clone(&list),
    };
    let judge = |path: &Path, real: Option<&Path>| {
        choice.visibility.judge([Some(path), real].into_iter().flatten())
    };
    // What a list has by its own path is no secret; so each file is looked at only where there is more to ask.
    if choice.visibility.denies_some() || overlay.real(root).is_some() {
        let mut shown = Vec::with_capacity(list.files.len());
        for (at, path) in (0..).zip(&list.files) {
            if at % 4_096 == 4_095 && cancelled() {
                return None;
            }
            match judge(path, overlay.real(path).as_deref()) {
                Sight::Shown => shown.push(at),
                Sight::Secret => below.withheld.push(path.clone()),
                Sight::Denied => below.denied += 1,
            }
        }
        below.shown = Some(shown).filter(|shown| shown.len() < list.files.len());
    }
    let mut rules = None;
    let unborn = overlay.unborn(root).filter(|path| match choice.ignored {
        Ignored::Skip => !rules.get_or_insert_with(|| Ignoring::below(root)).ignores(path),
        Ignored::Include => !is_version_control_path(path.strip_prefix(root).unwrap_or(path)),
    });
    for path in unborn.chain(list.secrets.iter().cloned()) {
        match judge(&path, Some(&crate::roots::real_path(&path))) {
            Sight::Shown => below.extra.push(path),
            Sight::Secret => below.withheld.push(path),
            Sight::Denied => below.denied += 1,
        }
    }
    below.extra.sort_unstable_by(|a, b| path_order(a, b));
    if choice.folders == Folders::Listed {
        let is_denied = |path: &PathBuf| {
            choice.visibility.denies(path)
                || overlay.real(path).is_some_and(|real| choice.visibility.denies(&real))
        };
        let known = list.dirs.iter().cloned().chain(unborn_folders(root, &below.extra));
        below.dirs = known.filter(|path| !is_denied(path)).collect();
    }
    Some(below)
}

/// The folders of files below `root` that only the editor has, which are not on the disk either.
fn unborn_folders(root: &Path, files: &[PathBuf]) -> BTreeSet<PathBuf> {
    let above = |file: &PathBuf| {
        let folders = file.ancestors().skip(1).take_while(|it| *it != root);
        let unborn = folders.take_while(|it| std::fs::symlink_metadata(it).is_err());
        unborn.map(Path::to_owned).collect::<Vec<_>>()
    };
    files.iter().flat_map(above).collect()
}

/// What a query says about the files it wants.
#[derive(Clone, Copy)]
pub(super) struct Choice<'a> {
    pub ignored: Ignored,
    pub folders: Folders,
    pub visibility: &'a Visibility,
}

/// Whether folders are asked for too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Folders {
    Unlisted,
    Listed,
}

//! The workspace's folders, and what a path that somebody wrote means in them.
//! Inside or outside is judged by the real path, so that a link out of the workspace is outside.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::location::{Location, normalize};

/// The folders of a workspace.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    roots: Vec<Root>,
}

#[derive(Clone, Debug)]
struct Root {
    path: PathBuf,
    real: PathBuf,
}

/// What a path somebody wrote means.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolved {
    pub location: Location,
    /// The real path lies in a root. Editor-only documents are inside.
    pub inside: bool,
    /// Every link resolved; what does not exist yet keeps its spelling. Empty for editor-only documents.
    pub real: PathBuf,
    /// A link stands somewhere between the root and the end of the path.
    pub via_symlink: bool,
}

/// Beginnings of names that are no paths: documents that only exist in an editor, and artifacts.
const VIRTUAL_SCHEMES: &[&str] = &["untitled:", "vscode-notebook-cell:", "artifact:"];

impl Roots {
    /// Where a path really is, links resolved; of a path that is not there the part that is.
    pub fn real(path: &Path) -> PathBuf {
        real_path(path)
    }

    /// Roots in the order given; the first is where relative paths without another folder start.
    pub fn new(paths: impl IntoIterator<Item = PathBuf>) -> Roots {
        let root = |path: PathBuf| Root { real: real_path(&path), path: normalize(&path) };
        Roots { roots: paths.into_iter().map(root).collect() }
    }

    /// The roots as given, normalised.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.roots.iter().map(|root| root.path.as_path())
    }

    /// What `input` means when it is written in `cwd`: absolute, from the home folder (`~/`), or relative.
    pub fn resolve(&self, cwd: &Path, input: &str) -> Resolved {
        if VIRTUAL_SCHEMES.iter().any(|scheme| input.starts_with(scheme)) {
            let location = Location::Virtual(input.to_owned());
            return Resolved { location, inside: true, real: PathBuf::new(), via_symlink: false };
        }
        self.locate(&as_shown(normalize(&absolute(cwd, input))))
    }

    /// Where an absolute path leads.
    pub fn locate(&self, path: &Path) -> Resolved {
        let path = normalize(path);
        let real = real_path(&path);
        let inside = self.roots.iter().any(|root| real.starts_with(&root.real));
        // Links above the root are how the person opened the workspace, no detour.
        let plain = self
            .roots
            .iter()
            .filter_map(|root| path.strip_prefix(&root.path).ok().map(|rest| root.real.join(rest)))
            .chain([path.clone()])
            .any(|plain| normalize(&plain) == real);
        Resolved { location: Location::Disk(path), inside, real, via_symlink: !plain }
    }

    /// The path as people in the workspace write it: relative to its root, with the root's name when there are several.
    pub fn display(&self, path: &Path) -> String {
        let relative = self.roots.iter().find_map(|root| {
            let rest =
                path.strip_prefix(&root.path).or_else(|_| path.strip_prefix(&root.real)).ok()?;
            match (self.roots.len(), root.path.file_name()) {
                (0 | 1, _) | (_, None) => Some(rest.to_owned()),
                (_, Some(name)) => Some(Path::new(name).join(rest)),
            }
        });
        match relative {
            Some(relative) if relative.as_os_str().is_empty() => ".".to_owned(),
            Some(relative) => relative.display().to_string(),
            None => path.display().to_string(),
        }
    }
}

/// The paths of a folder whose names are shown as `path`'s is: names that are no UTF-8 are shown with U+FFFD in them,
/// which may be the same for several.
pub(crate) fn shown_alike(path: &Path) -> Vec<PathBuf> {
    let (Some(folder), Some(shown)) = (path.parent(), path.file_name()) else {
        return Vec::new();
    };
    let shown = shown.to_string_lossy();
    if !shown.contains(char::REPLACEMENT_CHARACTER) {
        return Vec::new();
    }
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter(|it| it.file_name().to_string_lossy() == shown).map(|it| it.path()).collect()
}

/// What a path means that was written as it is shown. A name with U+FFFD that is nothing's stands for the one entry
/// that is shown so.
fn as_shown(path: PathBuf) -> PathBuf {
    let is_odd =
        |it: &OsStr| it.to_str().is_some_and(|it| it.contains(char::REPLACEMENT_CHARACTER));
    if !path.iter().any(is_odd) {
        return path;
    }
    let mut meant = PathBuf::new();
    for part in path.iter() {
        meant.push(part);
        if is_odd(part)
            && fs::symlink_metadata(&meant).is_err()
            && let [only] = shown_alike(&meant).as_slice()
        {
            meant = only.clone();
        }
    }
    meant
}

/// `input` as an absolute path, not yet normalised.
fn absolute(cwd: &Path, input: &str) -> PathBuf {
    let home = std::env::home_dir();
    match (input, home) {
        ("~", Some(home)) => home,
        (_, Some(home)) if input.starts_with("~/") => home.join(&input[2..]),
        _ => cwd.join(input),
    }
}

/// The path with every link resolved. Parts that do not exist are added as they are written; a link that leads
/// nowhere resolves to where it points.
pub(crate) fn real_path(path: &Path) -> PathBuf {
    real_path_within(path, MAX_LINKS)
}

const MAX_LINKS: usize = 40;

fn real_path_within(path: &Path, links: usize) -> PathBuf {
    let path = normalize(path);
    if let Ok(real) = fs::canonicalize(&path) {
        return real;
    }
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        return path;
    };
    let here = real_path_within(parent, links).join(name);
    match fs::read_link(&here) {
        Ok(target) if links > 0 => {
            real_path_within(&here.parent().unwrap_or(Path::new("/")).join(target), links - 1)
        }
        Ok(_) | Err(_) => here,
    }
}

#[cfg(test)]
mod tests;

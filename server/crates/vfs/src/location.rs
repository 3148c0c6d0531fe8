//! Names of documents: an absolute path, or an editor-only name such as `untitled:Untitled-1`.
//! Two spellings of one path are one `Location`; symlinks are not followed here (see `Roots::resolve`).

use std::fmt;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Where a document lives.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Location {
    /// Absolute and lexically normalised (no `.`, no `..`).
    Disk(PathBuf),
    /// A document only the editor has, by its name there, verbatim.
    Virtual(String),
}

impl Location {
    /// A location on disk; `path` is normalised, and taken from the root when it is relative.
    pub fn disk(path: impl AsRef<Path>) -> Location {
        Location::Disk(normalize(path.as_ref()))
    }

    /// The path, when there is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Location::Disk(path) => Some(path),
            Location::Virtual(_) => None,
        }
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Location::Disk(path) => write!(f, "{}", path.display()),
            Location::Virtual(name) => f.write_str(name),
        }
    }
}

/// Removes `.`, `..` and doubled separators by spelling alone. `..` above the root stays at the root.
pub fn normalize(path: &Path) -> PathBuf {
    let mut out = PathBuf::from("/");
    for part in path.components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(input: &str, expected: &str) {
        assert_eq!(normalize(Path::new(input)), Path::new(expected));
    }

    #[test]
    fn spellings_of_one_path_are_one() {
        check("/a/./b//c/", "/a/b/c");
        check("/a/../../b", "/b");
        check("/", "/");
    }
}

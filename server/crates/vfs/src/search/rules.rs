//! Where rules of what is ignored come from, so that a change of any of them is noticed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use super::stamp::{Began, Stamp};

/// Names of ignore files.
pub(crate) const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".rgignore"];
/// What makes a folder the root of a repository: rules of git's from above it do not count in it.
const REPOSITORY: [&str; 2] = [".git", ".jj"];
/// Larger files name no repository.
const MAX_POINTER: u64 = 4 * 1024;

/// The rules one list was made by.
#[derive(Clone, Debug, Default)]
pub(super) struct Rules {
    stamps: Vec<Stamp>,
    /// The person's own file of rules for all repositories.
    global: Option<PathBuf>,
}

impl Rules {
    /// The rules that come from outside of `root`, and those in it that need no walk.
    pub fn around(root: &Path, began: Began) -> Rules {
        let global = ignore::gitignore::gitconfig_excludes_path();
        let mut rules = Rules { stamps: Vec::new(), global };
        rules.stamps.extend(rules.global.iter().map(|path| Stamp::of(path.clone(), began)));
        let real = crate::roots::real_path(root);
        for folder in real.ancestors().skip(1) {
            let names = IGNORE_FILES.iter().chain(&REPOSITORY);
            rules.stamps.extend(names.map(|name| Stamp::of(folder.join(name), began)));
            rules.add_repository(folder, began);
        }
        rules
    }

    /// The rules in a folder. One that has none yet changes when it gets some.
    pub fn add_folder(&mut self, folder: &Path, began: Began) {
        for name in IGNORE_FILES.iter().chain(&REPOSITORY) {
            let stamp = Stamp::of(folder.join(name), began);
            if !stamp.is_absent() {
                self.stamps.push(stamp);
            }
        }
        self.add_repository(folder, began);
    }

    fn add_repository(&mut self, folder: &Path, began: Began) {
        let git = folder.join(".git");
        if std::fs::symlink_metadata(&git).is_ok() {
            self.stamps.extend(exclude_files(&git).into_iter().map(|it| Stamp::of(it, began)));
        }
    }

    pub fn absorb(&mut self, other: Rules) {
        self.stamps.extend(other.stamps);
    }

    /// Whether all of them are as they were.
    pub fn hold(&self) -> bool {
        self.stamps.iter().all(Stamp::holds)
            && self.global == ignore::gitignore::gitconfig_excludes_path()
    }

    pub fn has(&self, path: &Path) -> bool {
        self.stamps.iter().any(|stamp| stamp.path == path)
    }

    /// Forgets those below a folder that is gone.
    pub fn forget_below(&mut self, folder: &Path) {
        self.stamps.retain(|stamp| !stamp.path.starts_with(folder));
    }
}

/// Whether an entry of this name decides what is ignored.
pub(super) fn is_rule(name: &OsStr) -> bool {
    IGNORE_FILES.iter().chain(&REPOSITORY).any(|rule| name == *rule)
}

/// The repository that `folder` is in: the nearest folder that is the root of one.
pub(super) fn repository_of(folder: &Path) -> Option<&Path> {
    folder
        .ancestors()
        .find(|it| REPOSITORY.iter().any(|name| std::fs::symlink_metadata(it.join(name)).is_ok()))
}

/// The files that tell where a repository's own rules are, and the rules: a work tree's `.git` is a file that points
/// to its folder, which points to the one it shares with others.
fn exclude_files(git: &Path) -> Vec<PathBuf> {
    let (mut files, exclude) = followed(git);
    files.extend(exclude);
    files
}

/// The file of rules that only this repository has; `None` where `.git` points to none.
pub(super) fn exclude_file(git: &Path) -> Option<PathBuf> {
    followed(git).1
}

/// The files that point on, and the last one.
fn followed(git: &Path) -> (Vec<PathBuf>, Option<PathBuf>) {
    let mut folder = git.to_owned();
    let mut files = Vec::new();
    if let Some(pointed) = pointer(git, "gitdir: ") {
        folder = git.parent().unwrap_or(git).join(pointed);
        files.push(folder.join("commondir"));
        match pointer(&folder.join("commondir"), "") {
            Some(common) => folder = folder.join(common),
            None => return (files, None),
        }
    }
    (files, Some(folder.join("info/exclude")))
}

fn pointer(file: &Path, prefix: &str) -> Option<PathBuf> {
    let bytes = crate::disk::read_bytes(file, MAX_POINTER).ok()?;
    let text = String::from_utf8(bytes).ok()?;
    text.lines().next()?.strip_prefix(prefix).map(|path| PathBuf::from(path.trim_end()))
}

//! Whether the repository would ignore a file that is not on disk, so that no walk can tell.

use std::collections::HashMap;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::walk::is_version_control;

/// Names of ignore files, the weakest first.
pub(crate) const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".rgignore"];

/// Ignore files read so far.
#[derive(Default)]
pub(super) struct IgnoreFiles {
    folders: HashMap<PathBuf, Vec<(usize, Gitignore)>>,
    global: Option<Gitignore>,
}

impl IgnoreFiles {
    /// Whether a walk from `root` would leave out `path`, were it there.
    pub fn ignores(&mut self, root: &Path, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(root) else { return false };
        let mut here = root.to_owned();
        let parts: Vec<_> = below.components().collect();
        for (at, part) in parts.iter().enumerate() {
            here.push(part);
            let entry = if at + 1 < parts.len() { Entry::Folder } else { Entry::File };
            if is_version_control(part.as_os_str().as_bytes()) || self.names(&here, entry) {
                return true;
            }
        }
        false
    }

    /// Whether a rule names `path` itself. The strongest kind of file with an opinion decides, the nearest of its kind.
    fn names(&mut self, path: &Path, entry: Entry) -> bool {
        let is_dir = matches!(entry, Entry::Folder);
        let mut opinions = [None; KINDS];
        for folder in path.ancestors().skip(1) {
            let rules = self.folders.entry(folder.to_owned()).or_insert_with(|| read(folder));
            for (kind, file) in rules {
                let opinion = match file.matched(path, is_dir) {
                    Match::Ignore(_) => Some(true),
                    Match::Whitelist(_) => Some(false),
                    Match::None => None,
                };
                opinions[*kind] = opinions[*kind].or(opinion);
            }
            if std::fs::symlink_metadata(folder.join(".git")).is_ok() {
                break;
            }
        }
        let global = self.global.get_or_insert_with(|| Gitignore::global().0);
        let named = opinions.into_iter().rev().flatten().next();
        named.unwrap_or_else(|| global.matched(path, is_dir).is_ignore())
    }
}

/// What a path ends in.
#[derive(Clone, Copy)]
enum Entry {
    Folder,
    File,
}

/// Ignore files by kind: `info/exclude` is the weakest, then as in `IGNORE_FILES`.
const KINDS: usize = 1 + IGNORE_FILES.len();

fn read(folder: &Path) -> Vec<(usize, Gitignore)> {
    let exclude = folder.join(".git/info/exclude");
    let files = std::iter::once(exclude).chain(IGNORE_FILES.iter().map(|name| folder.join(name)));
    files
        .enumerate()
        .filter(|(_, file)| std::fs::metadata(file).is_ok())
        .filter_map(|(kind, file)| {
            let mut builder = GitignoreBuilder::new(folder);
            // A malformed line is skipped, as a walk skips it.
            builder.add(file);
            Some((kind, builder.build().ok()?))
        })
        .collect()
}

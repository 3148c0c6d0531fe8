//! Where files with secrets lie: in folders that a program may look through, and where tools keep
//! credentials of the person's.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::guard::is_sensitive;
use crate::roots::real_path;

/// Most entries that are looked at.
const MAX_ENTRIES: usize = 200_000;
/// Most files that are told.
const MAX_SECRETS: usize = 500;
/// Folders made by tools, whose keys are those of tests and examples.
const SKIPPED: &[&str] = &[
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "node_modules",
    "target",
    "venv",
    ".venv",
    "__pycache__",
    ".tox",
];
/// Below the home folder, with how deep they are looked through.
const AT_HOME: &[(&str, usize)] = &[
    ("", 1),
    (".aws", 3),
    (".azure", 2),
    (".config/copydesk", 2),
    (".config/gcloud", 4),
    (".config/gh", 2),
    (".docker", 2),
    (".gcp", 2),
    (".gnupg", 3),
    (".kube", 2),
    (".ssh", 2),
];

/// The real paths of files with secrets in `folders` and below `home`, in order. Too large trees are
/// looked through in part, and a warning is logged.
pub fn secrets(folders: &[PathBuf], home: Option<&Path>) -> Vec<PathBuf> {
    let found = Found::default();
    for folder in folders {
        found.look(folder, None);
    }
    for (place, depth) in home.into_iter().flat_map(|_| AT_HOME) {
        found.look(&home.unwrap_or(Path::new("/")).join(place), Some(*depth));
    }
    let mut files = found.files.into_inner().unwrap_or_else(PoisonError::into_inner);
    files.sort();
    files.dedup();
    if found.seen.into_inner() >= MAX_ENTRIES || files.len() > MAX_SECRETS {
        tracing::warn!("not all files with secrets were looked for: the folders are too large");
    }
    files.truncate(MAX_SECRETS);
    files
}

#[derive(Default)]
struct Found {
    seen: AtomicUsize,
    files: Mutex<Vec<PathBuf>>,
}

impl Found {
    fn look(&self, folder: &Path, depth: Option<usize>) {
        let mut builder = WalkBuilder::new(folder);
        builder.standard_filters(false).follow_links(false).max_depth(depth).filter_entry(
            |entry| {
                entry.depth() == 0 || !SKIPPED.iter().any(|it| OsStr::new(it) == entry.file_name())
            },
        );
        builder.build_parallel().run(|| {
            Box::new(|entry| {
                if let Ok(entry) = entry {
                    self.take(&entry);
                }
                match self.seen.fetch_add(1, Ordering::Relaxed) {
                    seen if seen < MAX_ENTRIES => WalkState::Continue,
                    _ => WalkState::Quit,
                }
            })
        });
    }

    fn take(&self, entry: &DirEntry) {
        let folder = entry.file_type().is_none_or(|it| it.is_dir());
        if folder || !is_sensitive(entry.path()) {
            return;
        }
        // Of a link what it leads to.
        let real = real_path(entry.path());
        self.files.lock().unwrap_or_else(PoisonError::into_inner).push(real);
    }
}

#[cfg(test)]
mod tests {
    use super::secrets;

    #[test]
    fn secrets_are_found_wherever_they_lie_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let write = |name: &str| {
            let path = base.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "x").unwrap();
        };
        let secret = [
            "home/.aws/credentials",
            "home/.netrc",
            "home/.ssh/id_rsa",
            "home/.ssh/work",
            "w/.env",
            "w/deep/er/.env.local",
            "w/plain",
        ];
        let other = [
            "home/.aws/config",
            "home/.ssh/config",
            "home/.ssh/id_rsa.pub",
            "home/work/deep/.env",
            "w/.env.example",
            "w/node_modules/x/test.key",
            "w/a.txt",
        ];
        secret.iter().chain(&other).for_each(|it| write(it));
        std::fs::write(base.join("w/.gitignore"), ".env\n").unwrap();
        std::os::unix::fs::symlink("plain", base.join("w/id_ed25519")).unwrap();
        std::fs::create_dir(base.join("w/id_dsa")).unwrap();
        let found = secrets(&[base.join("w"), base.join("missing")], Some(&base.join("home")));
        let expected: Vec<_> = secret.iter().map(|it| base.join(it)).collect();
        assert_eq!(found, expected);
        assert_eq!(secrets(&[], None), Vec::<std::path::PathBuf>::new());
    }
}

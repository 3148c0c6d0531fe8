//! Existing paths that a missing one may have meant.

use std::path::{Path, PathBuf};

use crate::disk;

/// Suggestions given at most.
const MAX: usize = 3;
/// Folder entries looked at, at most.
const ENTRIES: usize = 2_000;

/// The nearest names beside `path` and among files known elsewhere; nearest first.
pub(crate) fn similar(path: &Path, elsewhere: &[PathBuf]) -> Vec<PathBuf> {
    let Some(name) = path.file_name().map(|name| name.to_string_lossy().to_lowercase()) else {
        return Vec::new();
    };
    let siblings = path.parent().and_then(|parent| disk::list_dir(parent).ok()).unwrap_or_default();
    let mut near: Vec<(usize, PathBuf)> = siblings
        .into_iter()
        .take(ENTRIES)
        .map(|entry| entry.path)
        .chain(elsewhere.iter().cloned())
        // One that is shown the same would be no help.
        .filter(|candidate| candidate.to_string_lossy() != path.to_string_lossy())
        .filter(|candidate| !crate::guard::is_sensitive(candidate))
        .filter_map(|candidate| {
            let other = candidate.file_name()?.to_string_lossy().to_lowercase();
            Some((distance(&name, &other)?, candidate))
        })
        .collect();
    near.sort();
    near.dedup_by(|a, b| a.1 == b.1);
    near.into_iter().take(MAX).map(|(_, path)| path).collect()
}

/// How far two names are apart; `None` when they have nothing to do with each other.
fn distance(name: &str, other: &str) -> Option<usize> {
    if name == other {
        return Some(0);
    }
    let stem =
        |text: &str| text.rsplit_once('.').map_or(text.to_owned(), |(stem, _)| stem.to_owned());
    if stem(name) == stem(other) {
        return Some(1);
    }
    let edits = levenshtein(name, other);
    (edits * 3 <= name.chars().count().max(3)).then_some(edits + 1)
}

fn levenshtein(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replace = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(missing: &str, there: &[&str], expected: &[&str]) {
        let folder = tempfile::tempdir().unwrap();
        for name in there {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        let found = similar(&folder.path().join(missing), &[]);
        let names: Vec<_> =
            found.iter().map(|path| path.file_name().unwrap().to_str().unwrap()).collect();
        assert_eq!(names, expected);
    }

    #[test]
    fn typing_errors_and_other_extensions_are_found() {
        check("mian.rs", &["main.rs", "lib.rs", "zzz.txt"], &["main.rs"]);
        check("app.js", &["app.ts", "readme.md"], &["app.ts"]);
        check("README.md", &["readme.md"], &["readme.md"]);
        check("x", &["completely-different"], &[]);
    }
}

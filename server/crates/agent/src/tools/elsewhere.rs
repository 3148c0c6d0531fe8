//! Globs that name a place of their own: absolute ones, and those that begin at home or in the folder above.
//!
//! Such a glob matches nothing in the folder that is searched, so what it begins with is searched instead. The place
//! is judged like any other that a call names.

use std::path::{Path, PathBuf};

use vfs::Location;

use crate::place::Place;
use crate::tool::Failure;

/// The folder to search and the globs relative to it, for globs written in `folder`.
pub fn scope(
    folder: &str,
    globs: Vec<String>,
    place: &Place,
) -> Result<(String, Vec<String>), Failure> {
    let names_place = |glob: &String| {
        let glob = glob.strip_prefix('!').unwrap_or(glob);
        glob.starts_with('/') || glob.starts_with("~/") || glob.starts_with("../")
    };
    if !globs.iter().any(names_place) {
        return Ok((folder.to_owned(), globs));
    }
    let Location::Disk(root) = place.target(folder)?.location else {
        return Ok((folder.to_owned(), globs));
    };
    let mut split = Vec::with_capacity(globs.len());
    for glob in &globs {
        let (sign, glob) = match glob.strip_prefix('!') {
            Some(rest) => ("!", rest),
            None => ("", glob.as_str()),
        };
        let (fixed, rest) = fixed(glob);
        let mut at = if fixed.is_empty() { root.clone() } else { absolute(&root, fixed, place)? };
        let is_anchored = glob.starts_with('/')
            && !at.starts_with(&root)
            && is_meant_here(place, &root, fixed, &at);
        if is_anchored {
            at = root.join(fixed.trim_start_matches('/'));
        }
        // A bare name is found at any depth.
        let depth = if glob.contains('/') { "" } else { "**/" };
        split.push((sign, at, format!("{depth}{rest}"), glob));
    }
    if split.iter().all(|(_, at, _, _)| at.starts_with(&root)) {
        let below = split.into_iter().map(|(sign, at, rest, glob)| {
            let at = at.strip_prefix(&root).unwrap_or(Path::new(""));
            let keeps = !glob.starts_with("~/") && !glob.starts_with("../");
            if keeps { format!("{sign}{glob}") } else { joined(sign, at, &rest) }
        });
        return Ok((folder.to_owned(), below.collect()));
    }
    let Some(common) = split.iter().map(|(_, at, _, _)| at.clone()).reduce(common) else {
        return Ok((folder.to_owned(), globs));
    };
    let below = split.iter().map(|(sign, at, rest, _)| {
        joined(sign, at.strip_prefix(&common).unwrap_or(Path::new("")), rest)
    });
    Ok((common.display().to_string(), below.collect()))
}

/// The folders a glob begins with, and the rest of it.
fn fixed(glob: &str) -> (&str, &str) {
    let special = glob.find(['*', '?', '[', '{', '\\']).unwrap_or(glob.len());
    match glob[..special].rfind('/') {
        Some(0) => ("/", &glob[1..]),
        Some(at) => (&glob[..at], &glob[at + 1..]),
        None => ("", glob),
    }
}

fn absolute(root: &Path, fixed: &str, place: &Place) -> Result<PathBuf, Failure> {
    match place.from(root).target(fixed)?.location {
        Location::Disk(path) => Ok(path),
        Location::Virtual(name) => Err(Failure::new(format!("{name} is not a folder."))),
    }
}

/// Whether `/src/*.rs` is meant from the folder searched, as in an ignore file: there is such a folder in it, or none at
/// the disk's root.
fn is_meant_here(place: &Place, root: &Path, fixed: &str, at: &Path) -> bool {
    let here = root.join(fixed.trim_start_matches('/'));
    fixed == "/" || place.vfs.kind(&here).is_some() || place.vfs.kind(at).is_none()
}

/// A glob of a folder below the one searched.
fn joined(sign: &str, at: &Path, rest: &str) -> String {
    // The names are meant as they are.
    let mut glob = format!("{sign}/");
    for part in at.components() {
        for c in part.as_os_str().to_string_lossy().chars() {
            if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
                glob.push('\\');
            }
            glob.push(c);
        }
        glob.push('/');
    }
    glob.push_str(rest);
    glob
}

/// The deepest folder that holds both.
fn common(a: PathBuf, b: PathBuf) -> PathBuf {
    a.ancestors().find(|it| b.starts_with(it)).unwrap_or(Path::new("/")).to_owned()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use exec::Grammar;

    use super::*;
    use crate::place::tests::no_files;

    #[track_caller]
    fn check(globs: &[&str], folder: &str, expected: &[&str]) {
        let place = Place {
            roots: Arc::new(vfs::Roots::new([PathBuf::from("/w/r")])),
            vfs: no_files(),
            cwd: PathBuf::from("/w/r"),
            artifacts: None,
            grammar: Grammar::Posix,
            programs: crate::programs::Programs::default(),
        };
        let globs = globs.iter().map(|it| it.to_string()).collect();
        let (at, below) = scope(".", globs, &place).unwrap();
        assert_eq!(
            (at.as_str(), below),
            (folder, expected.iter().map(|it| it.to_string()).collect())
        );
    }

    #[test]
    fn globs_of_another_place_are_searched_there() {
        check(&["src/*.rs", "*.toml"], ".", &["src/*.rs", "*.toml"]);
        check(&["../other/*.rs"], "/w/other", &["/*.rs"]);
        check(&["/usr/bin/e*"], "/usr/bin", &["/e*"]);
        check(&["/usr/bin/e*", "!/usr/lib/x"], "/usr", &["/bin/e*", "!/lib/x"]);
        check(&["/w/r/src/*.rs"], ".", &["/w/r/src/*.rs"]);
        check(&["../r/src/[ab]/*.rs"], ".", &["/src/[ab]/*.rs"]);
        check(&["../o{1}/a*"], "/w", &["/o{1}/a*"]);
        check(&["../x/*", "*.md", "/nowhere/a"], "/w", &["/x/*", "/r/**/*.md", "/r/nowhere/a"]);
        // As in an ignore file.
        check(&["/nowhere/*.rs"], ".", &["/nowhere/*.rs"]);
        check(&["/a.txt", "/*.rs"], ".", &["/a.txt", "/*.rs"]);
    }
}

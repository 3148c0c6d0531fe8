//! Names: files and folders that match globs, newest first where asked.

use std::cmp::Reverse;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::filter::Globs;
use super::targets::{Choice, Folders, Overlay, Virtual, files_below};
use super::visibility::Sight;
use super::walk::{Ignored, threads};
use super::{GlobHit, GlobQuery, GlobResult, Order, QueryError};
use crate::disk::{self, FileKind};
use crate::location::Location;
use crate::store::Vfs;

/// So many hits are worth several threads.
const MANY: usize = 2_000;
/// Hits at most, whatever a query says.
const MAX_HITS: usize = 100_000;

pub(super) fn run(
    vfs: &Vfs,
    query: &GlobQuery,
    cancelled: &dyn Fn() -> bool,
) -> Result<GlobResult, QueryError> {
    let root = crate::normalize(&query.root);
    let mut overlay = Overlay::of(vfs);
    overlay.enter(&root);
    match disk::stat(&root).map(|stat| stat.kind) {
        Ok(FileKind::Folder) => {}
        Err(_) if overlay.unborn(&root).next().is_some() => {}
        Ok(_) => return Err(QueryError::NotAFolder { path: root }),
        Err(_) => {
            let similar = vfs.similar(&root);
            return Err(QueryError::NoSuchPath { path: root, similar });
        }
    }
    let globs = Globs::new(&root, &query.patterns)?;
    let mut result = GlobResult::default();
    let mut paths: Vec<(PathBuf, Found)> = Vec::new();
    let ignored = if query.include_ignored { Ignored::Include } else { Ignored::Skip };
    for path in named_files(&root, &query.patterns) {
        let real = crate::roots::real_path(&path);
        match query.visibility.judge([path.as_path(), &real].into_iter()) {
            Sight::Shown => paths.push((path, Found::File)),
            Sight::Secret => result.sensitive += 1,
            // Whether it is there is not told: it counts as one that is not.
            Sight::Denied => {}
        }
    }
    let is_place = |pattern: &String| pattern.contains('/');
    let all_found = paths.len() + result.sensitive == query.patterns.len();
    // A bare name may be found at any depth; a path is at one place.
    if query.patterns.is_empty() || !all_found || !query.patterns.iter().all(is_place) {
        let folders = if query.include_dirs { Folders::Listed } else { Folders::Unlisted };
        let choice = Choice { ignored, folders, visibility: &query.visibility };
        let Some(below) = files_below(vfs, &overlay, &root, choice, cancelled) else {
            result.cancelled = true;
            return Ok(result);
        };
        result.notes.extend_from_slice(below.notes());
        result.denied = below.denied;
        let named: HashSet<PathBuf> = paths.iter().map(|(path, _)| path.clone()).collect();
        let files = below.files().filter(|path| globs.file(path) && !named.contains(*path));
        paths.extend(files.map(|path| (path.to_owned(), Found::File)));
        result.sensitive = below.withheld.iter().filter(|path| globs.file(path)).count();
        let dirs = below.dirs.iter().filter(|path| globs.folder(path));
        paths.extend(dirs.map(|path| (path.clone(), Found::Folder)));
        paths.sort_by(|a, b| super::walk::path_order(&a.0, &b.0));
    }
    let virtuals = virtuals(&overlay, query)?;
    result.total = paths.len() + virtuals.len();
    let limit = if query.limit == 0 { MAX_HITS } else { query.limit.min(MAX_HITS) };
    if query.order == Order::Path {
        paths.truncate(limit);
    }
    if cancelled() {
        result.cancelled = true;
        return Ok(result);
    }
    let mut hits = hits(&overlay, paths);
    hits.extend(virtuals);
    match query.order {
        Order::Path => {}
        Order::Newest => hits.sort_by_key(|hit| Reverse(hit.modified)),
    }
    hits.truncate(limit);
    result.hits = hits;
    Ok(result)
}

/// Documents that only the editor has, where they are asked for.
fn virtuals(overlay: &Overlay, query: &GlobQuery) -> Result<Vec<GlobHit>, QueryError> {
    if !query.include_virtual {
        return Ok(Vec::new());
    }
    let globs = Globs::new(Path::new("/"), &query.patterns)?;
    let found = overlay.virtuals().iter().filter(|it| globs.file(&it.as_path()));
    let hit = |document: &Virtual| GlobHit {
        location: Location::Virtual(document.name.clone()),
        is_dir: false,
        modified: document.buffer.changed,
    };
    Ok(found.map(hit).collect())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    File,
    Folder,
}

/// Asking the disk for each file's time is most of the work for many hits, so several threads share it.
fn hits(overlay: &Overlay, paths: Vec<(PathBuf, Found)>) -> Vec<GlobHit> {
    let of = |paths: &[(PathBuf, Found)]| {
        paths.iter().map(|(path, found)| hit(overlay, path, *found)).collect::<Vec<_>>()
    };
    if paths.len() < MANY {
        return of(&paths);
    }
    let share = paths.len().div_ceil(threads());
    std::thread::scope(|scope| {
        let parts: Vec<_> = paths.chunks(share).map(|part| scope.spawn(move || of(part))).collect();
        // A part whose thread died is empty; none of them can.
        parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
    })
}

fn hit(overlay: &Overlay, path: &Path, found: Found) -> GlobHit {
    let modified = match overlay.at(path) {
        Some(buffer) if buffer.unsaved => Some(buffer.changed),
        Some(_) | None => disk::stat(path).ok().map(|stat| stat.modified),
    };
    let modified = match found {
        Found::Folder => modified.or_else(|| overlay.changed_below(path)),
        Found::File => modified,
    };
    let modified = modified.unwrap_or(SystemTime::UNIX_EPOCH);
    GlobHit { location: Location::Disk(path.to_owned()), is_dir: found == Found::Folder, modified }
}

/// Patterns that are plain paths of files: these are found even where they are ignored.
/// None when some pattern is more than that.
fn named_files(root: &Path, patterns: &[String]) -> Vec<PathBuf> {
    if patterns.iter().any(|pattern| pattern.contains(['*', '?', '[', '{', '!', '\\'])) {
        return Vec::new();
    }
    let paths = patterns.iter().map(|pattern| crate::normalize(&root.join(pattern)));
    let files = paths.filter(|path| path.starts_with(root));
    files.filter(|path| disk::stat(path).is_ok_and(|stat| stat.kind == FileKind::File)).collect()
}

//! Contents: which files, searched by how many, and what of it fits the limits.
//!
//! Files are handed out in path order and a limit stops the handing out, never a file under way; so the result is the
//! same for any number of threads.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use ignore::types::Types;

use super::filter::{self, Globs};
use super::scan::{Hits, Pattern, Scanner, Skipped};
use super::targets::{Buffer, Choice, Overlay, files_below};
use super::walk::{Ignored, threads, watched};
use super::{GrepFile, GrepMode, GrepQuery, GrepResult, Order, QueryError};
use crate::disk::{self, FileKind};
use crate::location::Location;
use crate::store::Vfs;

/// So few files are searched by the calling thread alone.
const FEW: usize = 48;
/// And only if they hold no more than this many bytes, so that it can be asked in time whether it is still wanted.
const LITTLE: u64 = 4 << 20;
const MAX_NOTES: usize = 20;

/// One text to search.
struct Target {
    location: Location,
    buffer: Option<Buffer>,
}

/// What is to be searched, and what was left out.
#[derive(Default)]
struct Targets {
    list: Vec<Target>,
    sensitive: usize,
    notes: Vec<String>,
    cancelled: bool,
}

pub(super) fn run(
    vfs: &Vfs,
    query: &GrepQuery,
    cancelled: &dyn Fn() -> bool,
) -> Result<GrepResult, QueryError> {
    let pattern = Pattern::new(query)?;
    let targets = targets(vfs, query, cancelled)?;
    let mut result = GrepResult {
        sensitive: targets.sensitive,
        notes: targets.notes,
        cancelled: targets.cancelled,
        ..GrepResult::default()
    };
    if result.cancelled {
        return Ok(result);
    }
    let search = Search::new(&pattern, query, &targets.list);
    if targets.list.len() <= FEW && bytes_of(&targets.list) < LITTLE {
        let mut scanner = Scanner::new(&pattern, &search.stop);
        while !search.is_over() && search.next(&mut scanner) {
            if cancelled() {
                search.stop.store(true, Ordering::Relaxed);
            }
        }
    } else {
        search.by_many(cancelled);
    }
    result.cancelled = search.stop.load(Ordering::Relaxed);
    result.searched = search.given.load(Ordering::Relaxed).min(targets.list.len());
    search.finish(query, &mut result);
    Ok(result)
}

fn bytes_of(targets: &[Target]) -> u64 {
    let len = |target: &Target| match (&target.buffer, target.location.path()) {
        (Some(buffer), _) => buffer.rope.len_bytes() as u64,
        (None, Some(path)) => disk::stat(path).map_or(0, |stat| stat.len),
        (None, None) => 0,
    };
    targets.iter().map(len).sum()
}

/// A search under way, shared by its workers.
struct Search<'a> {
    pattern: &'a Pattern,
    targets: &'a [Target],
    /// Whether every file must be seen, because the order is not the order of the search.
    whole: bool,
    given: AtomicUsize,
    matches: AtomicU64,
    bytes: AtomicUsize,
    stop: AtomicBool,
    found: Mutex<Vec<(usize, Hits)>>,
    notes: Mutex<Vec<(usize, String)>>,
}

impl<'a> Search<'a> {
    fn new(pattern: &'a Pattern, query: &GrepQuery, targets: &'a [Target]) -> Search<'a> {
        Search {
            pattern,
            targets,
            whole: query.order == Order::Newest && query.mode != GrepMode::Lines,
            given: AtomicUsize::new(0),
            matches: AtomicU64::new(0),
            bytes: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            found: Mutex::default(),
            notes: Mutex::default(),
        }
    }

    fn is_over(&self) -> bool {
        let full = self.matches.load(Ordering::Relaxed) > self.pattern.max_matches
            || self.bytes.load(Ordering::Relaxed) > self.pattern.max_bytes;
        self.stop.load(Ordering::Relaxed) || (full && !self.whole)
    }

    fn by_many(&self, cancelled: &dyn Fn() -> bool) {
        let work = || {
            std::thread::scope(|scope| {
                for _ in 0..threads() {
                    scope.spawn(|| {
                        let mut scanner = Scanner::new(self.pattern, &self.stop);
                        while !self.is_over() && self.next(&mut scanner) {}
                    });
                }
            });
        };
        watched(work, &self.stop, cancelled);
    }

    /// Searches the next file; `false` when there is none.
    fn next(&self, scanner: &mut Scanner<'_>) -> bool {
        let at = self.given.fetch_add(1, Ordering::Relaxed);
        let Some(target) = self.targets.get(at) else { return false };
        let hits = match (&target.buffer, target.location.path()) {
            (Some(buffer), _) => {
                let text = String::from(&buffer.rope);
                Ok(Some(scanner.text(&text)).filter(|hits| hits.matches > 0))
            }
            (None, Some(path)) => scanner.file(path),
            (None, None) => Ok(None),
        };
        match hits {
            Ok(None) => {}
            Ok(Some(hits)) => {
                let counted = match self.pattern.mode {
                    GrepMode::Lines => hits.matches,
                    GrepMode::Files | GrepMode::Count => 1,
                };
                self.matches.fetch_add(counted, Ordering::Relaxed);
                self.bytes.fetch_add(hits.bytes, Ordering::Relaxed);
                self.found.lock().unwrap_or_else(PoisonError::into_inner).push((at, hits));
            }
            Err(Skipped::Unreadable(error)) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(Skipped::Unreadable(error)) => {
                self.note(at, format!("{}: {error}", target.location))
            }
            // Binary files are part of every tree; only one asked for by name is worth a word.
            Err(Skipped::Binary(what)) if self.targets.len() == 1 => {
                self.note(at, format!("{} is binary ({what})", target.location));
            }
            Err(Skipped::Binary(_)) => {}
        }
        true
    }

    fn note(&self, at: usize, note: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push((at, note));
    }

    /// Puts what was found in order and cuts it at the limits.
    fn finish(self, query: &GrepQuery, result: &mut GrepResult) {
        let mut found = self.found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort_unstable_by_key(|(at, _)| *at);
        let mut notes = self.notes.into_inner().unwrap_or_else(PoisonError::into_inner);
        notes.sort_unstable();
        result.notes.extend(notes.into_iter().map(|(_, note)| note));
        if result.notes.len() > MAX_NOTES {
            let more = result.notes.len() - MAX_NOTES;
            result.notes.truncate(MAX_NOTES);
            result.notes.push(format!("and {more} more that could not be read"));
        }
        let mut files: Vec<GrepFile> = Vec::with_capacity(found.len());
        let mut room = Room { matches: self.pattern.max_matches, bytes: self.pattern.max_bytes };
        for (at, hits) in found {
            result.truncated |= hits.truncated;
            if !self.whole && room.is_full() {
                result.truncated = true;
                break;
            }
            let file = file_of(&self.targets[at], hits);
            let (file, fits) = if self.whole { (file, true) } else { room.fit(file, query) };
            result.truncated |= !fits;
            files.push(file);
        }
        if self.whole {
            files.sort_by_key(|file| Reverse(file.modified));
            let max = usize::try_from(self.pattern.max_matches).unwrap_or(usize::MAX);
            result.truncated |= files.len() > max;
            files.truncate(max);
        }
        result.matches = files.iter().map(|file| file.matches).sum();
        result.files = files;
    }
}

fn file_of(target: &Target, hits: Hits) -> GrepFile {
    let (modified, unsaved) = match (&target.buffer, target.location.path()) {
        (Some(buffer), path) => {
            let saved = path.filter(|_| !buffer.unsaved).and_then(|path| disk::stat(path).ok());
            (saved.map_or(buffer.changed, |stat| stat.modified), buffer.unsaved)
        }
        (None, Some(path)) => {
            (disk::stat(path).map_or(SystemTime::UNIX_EPOCH, |stat| stat.modified), false)
        }
        (None, None) => (SystemTime::UNIX_EPOCH, false),
    };
    GrepFile {
        location: target.location.clone(),
        lines: hits.lines,
        matches: hits.matches,
        modified,
        unsaved,
    }
}

/// What the limits still allow.
struct Room {
    matches: u64,
    bytes: usize,
}

impl Room {
    fn is_full(&self) -> bool {
        self.matches == 0 || self.bytes == 0
    }

    /// The part of a file that fits, and whether that is all of it.
    fn fit(&mut self, mut file: GrepFile, query: &GrepQuery) -> (GrepFile, bool) {
        match query.mode {
            GrepMode::Files | GrepMode::Count => {
                self.matches -= 1;
                return (file, true);
            }
            GrepMode::Lines => {}
        }
        let (mut taken, mut last_match, mut end) = (0, 0, 0);
        for line in &file.lines {
            let is_over = taken == self.matches || self.bytes == 0;
            if is_over && (!line.is_context || line.number > last_match + query.after as u64) {
                break;
            }
            if !line.is_context {
                taken += 1;
                last_match = line.number;
            }
            self.bytes = self.bytes.saturating_sub(line.text.len());
            end += 1;
        }
        let fits = taken == file.matches && end == file.lines.len();
        self.matches -= taken;
        file.lines.truncate(end);
        // Context of a match that is not here would be lines out of nowhere.
        while file
            .lines
            .last()
            .is_some_and(|line| line.is_context && line.number > last_match + query.after as u64)
        {
            file.lines.pop();
        }
        file.matches = taken;
        (file, fits)
    }
}

fn targets(
    vfs: &Vfs,
    query: &GrepQuery,
    cancelled: &dyn Fn() -> bool,
) -> Result<Targets, QueryError> {
    let overlay = Overlay::of(vfs);
    let types = filter::types(&query.scope.types)?;
    let mut targets = Targets::default();
    for path in &query.scope.paths {
        let path = crate::normalize(path);
        match disk::stat(&path).map(|stat| stat.kind) {
            Ok(FileKind::Folder) => {
                targets.add_folder(vfs, &overlay, &path, query, types.as_ref(), cancelled)?
            }
            Ok(FileKind::File) => targets.add_named(&overlay, path, query),
            Ok(
                kind @ (FileKind::Symlink | FileKind::Pipe | FileKind::Socket | FileKind::Device),
            ) => {
                targets.notes.push(format!("{} is a {}", path.display(), kind.name()));
            }
            Err(_) if overlay.at(&path).is_some() => targets.add_named(&overlay, path, query),
            Err(_) if overlay.unborn(&path).next().is_some() => {
                targets.add_folder(vfs, &overlay, &path, query, types.as_ref(), cancelled)?;
            }
            Err(_) if query.scope.paths.len() == 1 => {
                let similar =
                    vfs.similar(&path).iter().map(|path| path.display().to_string()).collect();
                return Err(QueryError::NoSuchPath { path, similar });
            }
            Err(error) => targets.notes.push(format!("{}: {error}", path.display())),
        }
        if targets.cancelled {
            return Ok(targets);
        }
    }
    if query.scope.include_virtual {
        targets.add_virtuals(&overlay, query, types.as_ref())?;
    }
    if query.scope.paths.len() > 1 {
        // Paths may overlap; each file is searched once, where it is first named.
        let mut seen = std::collections::HashSet::new();
        targets.list.retain(|target| seen.insert(target.location.clone()));
    }
    Ok(targets)
}

impl Targets {
    fn add_named(&mut self, overlay: &Overlay, path: PathBuf, query: &GrepQuery) {
        let real = crate::roots::real_path(&path);
        if filter::is_withheld(&path, &query.scope.allow_sensitive)
            || filter::is_withheld(&real, &query.scope.allow_sensitive)
        {
            self.sensitive += 1;
            return;
        }
        let buffer = overlay.at(&path).or_else(|| overlay.at(&real)).cloned();
        self.list.push(Target { location: Location::Disk(path), buffer });
    }

    fn add_folder(
        &mut self,
        vfs: &Vfs,
        overlay: &Overlay,
        root: &Path,
        query: &GrepQuery,
        types: Option<&Types>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), QueryError> {
        let globs = (!query.scope.globs.is_empty())
            .then(|| Globs::new(root, &query.scope.globs))
            .transpose()?;
        let ignored = if query.scope.include_ignored { Ignored::Include } else { Ignored::Skip };
        let choice = Choice { ignored, allowed: &query.scope.allow_sensitive };
        let Some(below) = files_below(vfs, overlay, root, choice, cancelled) else {
            self.cancelled = true;
            return Ok(());
        };
        let wanted =
            |path: &Path| globs.as_ref().is_none_or(|globs| globs.file(path)) && is_of(types, path);
        self.notes.extend(below.list.notes.iter().cloned());
        self.sensitive += below.withheld.iter().filter(|path| wanted(path)).count();
        self.list.extend(below.files().filter(|path| wanted(path)).map(|path| Target {
            buffer: overlay.at(path).cloned(),
            location: Location::Disk(path.to_owned()),
        }));
        Ok(())
    }

    fn add_virtuals(
        &mut self,
        overlay: &Overlay,
        query: &GrepQuery,
        types: Option<&Types>,
    ) -> Result<(), QueryError> {
        let root = Path::new("/");
        let globs = (!query.scope.globs.is_empty())
            .then(|| Globs::new(root, &query.scope.globs))
            .transpose()?;
        for (name, buffer) in overlay.virtuals() {
            // Only the last part of such a name means something to a glob.
            let path = root.join(name.rsplit(['/', ':']).next().unwrap_or(name));
            if globs.as_ref().is_none_or(|globs| globs.file(&path)) && is_of(types, &path) {
                self.list.push(Target {
                    location: Location::Virtual(name.clone()),
                    buffer: Some(buffer.clone()),
                });
            }
        }
        Ok(())
    }
}

fn is_of(types: Option<&Types>, path: &Path) -> bool {
    types.is_none_or(|types| types.matched(path, false).is_whitelist())
}

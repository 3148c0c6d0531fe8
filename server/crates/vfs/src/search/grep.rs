//! Contents: which files, searched by how many, and what of it fits the limits.
//!
//! Files are handed out in path order and a limit stops the handing out, never a file under way; so the result is the
//! same for any number of threads.

use std::cmp::Reverse;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use ignore::types::Types;

use super::filter::{self, Globs};
use super::scan::{Hits, Matches, Pattern, Scanner, Skipped};
use super::targets::{
    Below, Buffer, Choice, Folders, Overlay, Place, Virtual, files_below, notebook_of,
};
use super::visibility::Sight;
use super::walk::{Ignored, POLL, threads};
use super::{GrepFile, GrepMode, GrepQuery, GrepResult, Order, QueryError};
use crate::disk::{self, FileKind};
use crate::location::Location;
use crate::store::Vfs;

/// So few files are searched by the calling thread alone.
const FEW: usize = 48;
/// And only if they hold no more than this many bytes, so that it can be asked in time whether it is still wanted.
const LITTLE: u64 = 1 << 20;
const MAX_NOTES: usize = 20;

/// What is to be searched, and what was left out.
struct Targets {
    overlay: Overlay,
    folders: Vec<Below>,
    list: Vec<Target>,
    sensitive: usize,
    denied: usize,
    notes: Vec<String>,
    cancelled: bool,
}

/// One text to search.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Target {
    /// A file of one of the folders.
    Listed { folder: u32, at: Place },
    /// One that was named.
    Named(Location),
}

pub(super) fn run(
    vfs: &Vfs,
    query: &GrepQuery,
    cancelled: &dyn Fn() -> bool,
) -> Result<GrepResult, QueryError> {
    let pattern = Pattern::new(query)?;
    let mut targets = targets(vfs, query, cancelled)?;
    let mut result = GrepResult {
        sensitive: targets.sensitive,
        denied: targets.denied,
        notes: std::mem::take(&mut targets.notes),
        cancelled: targets.cancelled,
        ..GrepResult::default()
    };
    if result.cancelled {
        return Ok(result);
    }
    let search = Search::new(pattern, query, targets);
    if search.targets.list.len() <= FEW && search.targets.bytes() < LITTLE {
        let mut scanner = Scanner::new(&search.pattern, &search.stop);
        while !search.is_over() && search.next(&mut scanner) {
            if cancelled() {
                search.stop.store(true, Ordering::Relaxed);
            }
        }
        search.finish(query, &mut result);
    } else {
        let search = Arc::new(search);
        Search::by_many(&search, cancelled);
        search.finish(query, &mut result);
    }
    Ok(result)
}

/// A search under way, shared by its workers.
struct Search {
    pattern: Pattern,
    targets: Targets,
    /// Whether every file must be seen, because the order is not the order of the search.
    whole: bool,
    given: AtomicUsize,
    matches: AtomicU64,
    bytes: AtomicUsize,
    stop: AtomicBool,
    found: Mutex<Vec<(usize, Hits)>>,
    notes: Mutex<Vec<(usize, String)>>,
}

impl Search {
    fn new(pattern: Pattern, query: &GrepQuery, targets: Targets) -> Search {
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

    /// Searches with several workers. Those of a cancelled search are not waited for: each ends with the text it is
    /// at, which a slow pattern may take a while for.
    fn by_many(search: &Arc<Search>, cancelled: &dyn Fn() -> bool) {
        let (done, finished) = channel::<()>();
        for number in 0..threads() {
            let (search, done) = (Arc::clone(search), done.clone());
            let work = move || {
                let mut scanner = Scanner::new(&search.pattern, &search.stop);
                while !search.is_over() && search.next(&mut scanner) {}
                drop(done);
            };
            let worker = std::thread::Builder::new().name(format!("search-{number}"));
            if let Err(error) = worker.spawn(work) {
                tracing::warn!(%error, "a search has fewer workers than it could have");
            }
        }
        drop(done);
        while let Err(RecvTimeoutError::Timeout) = finished.recv_timeout(POLL) {
            if cancelled() {
                search.stop.store(true, Ordering::Relaxed);
                return;
            }
        }
        // Where not one worker could be started this thread does all of it.
        let mut scanner = Scanner::new(&search.pattern, &search.stop);
        while !search.is_over() && search.next(&mut scanner) {}
    }

    /// Searches the next file; `false` when there is none.
    fn next(&self, scanner: &mut Scanner<'_>) -> bool {
        let at = self.given.fetch_add(1, Ordering::Relaxed);
        let Some(target) = self.targets.list.get(at) else { return false };
        let path = self.targets.path(target);
        let hits = match (self.targets.buffer(target), path) {
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
                if let Some(ended) = hits.ended {
                    self.note(at, format!("{} {}", self.targets.location(target), ended.told()));
                }
                let counted = match self.pattern.mode {
                    GrepMode::Lines => hits.matches,
                    GrepMode::Files | GrepMode::Count => 1,
                };
                self.matches.fetch_add(counted, Ordering::Relaxed);
                self.bytes.fetch_add(hits.bytes, Ordering::Relaxed);
                self.found.lock().unwrap_or_else(PoisonError::into_inner).push((at, hits));
            }
            Err(Skipped::Unreadable(error)) if error.kind() == io::ErrorKind::NotFound => {}
            Err(Skipped::Unreadable(error)) => {
                let location = self.targets.location(target);
                // What is no error of the system's says itself what it is about.
                let note = match error.get_ref() {
                    Some(own) => format!("{location}: {own}"),
                    None => format!("{location} {}", disk::told(&error)),
                };
                self.note(at, note);
            }
            // Binary files are part of every tree; only one asked for by name is worth a word.
            Err(Skipped::Binary(what, matches)) if self.targets.list.len() == 1 => {
                let matches = matches.map_or("", |Matches| ", and matches");
                let file = self.targets.location(target);
                self.note(at, format!("{file} is binary ({what}){matches}"));
            }
            Err(Skipped::Binary(_, _)) => {}
        }
        true
    }

    fn note(&self, at: usize, note: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        notes.push((at, note));
    }

    /// Puts what was found in order and cuts it at the limits.
    fn finish(&self, query: &GrepQuery, result: &mut GrepResult) {
        result.cancelled = self.stop.load(Ordering::Relaxed);
        result.searched = self.given.load(Ordering::Relaxed).min(self.targets.list.len());
        let mut found =
            std::mem::take(&mut *self.found.lock().unwrap_or_else(PoisonError::into_inner));
        found.sort_unstable_by_key(|(at, _)| *at);
        let mut notes =
            std::mem::take(&mut *self.notes.lock().unwrap_or_else(PoisonError::into_inner));
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
            let file = self.targets.file_of(&self.targets.list[at], hits);
            let (file, fits) = if self.whole { (file, true) } else { room.fit(file, query) };
            result.truncated |= !fits;
            files.push(file);
        }
        if query.mode != GrepMode::Lines {
            merge_cells(&mut files);
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

/// Where only files count, the cells of a notebook, which follow each other, are one.
fn merge_cells(files: &mut Vec<GrepFile>) {
    for file in files.iter_mut() {
        if let Location::Virtual(name) = &file.location
            && let Some(path) = notebook_of(name)
        {
            file.location = Location::Disk(path);
        }
    }
    files.dedup_by(|next, first| {
        let same = next.location == first.location;
        if same {
            first.matches += next.matches;
            first.modified = first.modified.max(next.modified);
            first.unsaved |= next.unsaved;
        }
        same
    });
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
    let types = filter::types(&query.scope.types)?;
    let mut targets = Targets {
        overlay: Overlay::of(vfs),
        folders: Vec::new(),
        list: Vec::new(),
        sensitive: 0,
        denied: 0,
        notes: Vec::new(),
        cancelled: false,
    };
    let mut failed = Vec::new();
    for path in &query.scope.paths {
        let path = crate::normalize(path);
        match disk::stat(&path).map(|stat| stat.kind) {
            Ok(FileKind::Folder) => {
                targets.add_folder(vfs, &path, query, types.as_ref(), cancelled)?
            }
            Ok(FileKind::File) => targets.add_named(path, query),
            Ok(
                kind @ (FileKind::Symlink | FileKind::Pipe | FileKind::Socket | FileKind::Device),
            ) => {
                targets.notes.push(format!("{} is a {}", path.display(), kind.name()));
            }
            Err(_) if targets.overlay.at(&path).is_some() => targets.add_named(path, query),
            Err(_) if targets.overlay.unborn(&path).next().is_some() => {
                targets.add_folder(vfs, &path, query, types.as_ref(), cancelled)?;
            }
            Err(error) => failed.push((path, error)),
        }
        if targets.cancelled {
            return Ok(targets);
        }
    }
    if !failed.is_empty() && failed.len() == query.scope.paths.len() {
        return Err(nowhere(vfs, failed));
    }
    let failed =
        failed.iter().map(|(path, error)| format!("{} {}", path.display(), disk::told(error)));
    targets.notes.extend(failed);
    for name in &query.scope.names {
        if targets.overlay.named(name).is_some() {
            targets.list.push(Target::Named(Location::Virtual(name.clone())));
        } else {
            targets.notes.push(format!("{name} is not open"));
        }
    }
    if query.scope.include_virtual {
        targets.add_virtuals(query, types.as_ref())?;
    }
    if query.scope.paths.len() > 1 {
        // Paths may overlap; each file is searched once, where it is first named.
        let mut seen = std::collections::HashSet::new();
        let list = std::mem::take(&mut targets.list);
        let first = list.into_iter().filter(|target| seen.insert(targets.location(target)));
        targets.list = first.collect();
    }
    Ok(targets)
}

impl Targets {
    fn path<'a>(&'a self, target: &'a Target) -> Option<&'a Path> {
        match target {
            Target::Listed { folder, at } => Some(self.folders.get(*folder as usize)?.path(*at)),
            Target::Named(location) => location.path(),
        }
    }

    fn location(&self, target: &Target) -> Location {
        match target {
            Target::Listed { .. } => {
                Location::Disk(self.path(target).unwrap_or(Path::new("")).to_owned())
            }
            Target::Named(location) => location.clone(),
        }
    }

    /// The open text of a target.
    fn buffer(&self, target: &Target) -> Option<&Buffer> {
        match target {
            Target::Listed { .. } => self.overlay.at(self.path(target)?),
            Target::Named(Location::Disk(path)) => {
                let real = || self.overlay.at(&crate::roots::real_path(path));
                self.overlay.at(path).or_else(real)
            }
            Target::Named(Location::Virtual(name)) => self.overlay.named(name),
        }
    }

    fn bytes(&self) -> u64 {
        let len = |target: &Target| match (self.buffer(target), self.path(target)) {
            (Some(buffer), _) => buffer.rope.len_bytes() as u64,
            (None, Some(path)) => disk::stat(path).map_or(0, |stat| stat.len),
            (None, None) => 0,
        };
        self.list.iter().map(len).sum()
    }

    fn file_of(&self, target: &Target, hits: Hits) -> GrepFile {
        let path = self.path(target);
        let on_disk = || path.and_then(|path| disk::stat(path).ok()).map(|stat| stat.modified);
        let (modified, unsaved) = match self.buffer(target) {
            Some(buffer) if buffer.unsaved => (buffer.changed, true),
            Some(buffer) => (on_disk().unwrap_or(buffer.changed), false),
            None => (on_disk().unwrap_or(SystemTime::UNIX_EPOCH), false),
        };
        let location = self.location(target);
        GrepFile { location, lines: hits.lines, matches: hits.matches, modified, unsaved }
    }

    fn add_named(&mut self, path: PathBuf, query: &GrepQuery) {
        let real = crate::roots::real_path(&path);
        match query.scope.visibility.judge([path.as_path(), &real].into_iter()) {
            Sight::Shown if self.add_cells(&path) || self.add_cells(&real) => {}
            Sight::Shown => self.list.push(Target::Named(Location::Disk(path))),
            Sight::Secret => self.sensitive += 1,
            Sight::Denied => self.denied += 1,
        }
    }

    fn add_folder(
        &mut self,
        vfs: &Vfs,
        root: &Path,
        query: &GrepQuery,
        types: Option<&Types>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<(), QueryError> {
        let globs = (!query.scope.globs.is_empty())
            .then(|| Globs::new(root, &query.scope.globs))
            .transpose()?;
        let ignored = if query.scope.include_ignored { Ignored::Include } else { Ignored::Skip };
        let visibility = &query.scope.visibility;
        let choice = Choice { ignored, folders: Folders::Unlisted, visibility };
        self.overlay.enter(root);
        let Some(below) = files_below(vfs, &self.overlay, root, choice, cancelled) else {
            self.cancelled = true;
            return Ok(());
        };
        let wanted =
            |path: &Path| globs.as_ref().is_none_or(|globs| globs.file(path)) && is_of(types, path);
        self.notes.extend_from_slice(below.notes());
        self.denied += below.denied;
        self.sensitive += below.withheld.iter().filter(|path| wanted(path)).count();
        let folder = u32::try_from(self.folders.len()).unwrap_or(u32::MAX);
        for (count, at) in below.places().enumerate() {
            if count % 4_096 == 4_095 && cancelled() {
                self.cancelled = true;
                break;
            }
            if wanted(below.path(at)) && !self.add_cells(below.path(at)) {
                self.list.push(Target::Listed { folder, at });
            }
        }
        self.folders.push(below);
        Ok(())
    }

    fn add_virtuals(&mut self, query: &GrepQuery, types: Option<&Types>) -> Result<(), QueryError> {
        let globs = (!query.scope.globs.is_empty())
            .then(|| Globs::new(Path::new("/"), &query.scope.globs))
            .transpose()?;
        for document in self.overlay.virtuals() {
            let path = document.as_path();
            let is_of_type = || {
                is_of(types, &path)
                    || filter::path_in_language(&document.language)
                        .is_some_and(|path| is_of(types, &path))
            };
            if globs.as_ref().is_none_or(|globs| globs.file(&path)) && is_of_type() {
                self.list.push(Target::Named(Location::Virtual(document.name.clone())));
            }
        }
        Ok(())
    }

    /// The cells that the editor shows of a notebook are searched in place of its file.
    fn add_cells(&mut self, path: &Path) -> bool {
        let Some(cells) = self.overlay.cells(path) else { return false };
        let cell = |cell: &Virtual| Target::Named(Location::Virtual(cell.name.clone()));
        self.list.extend(cells.iter().map(cell));
        true
    }
}

/// Why nothing can be searched where no path leads anywhere.
fn nowhere(vfs: &Vfs, failed: Vec<(PathBuf, io::Error)>) -> QueryError {
    let mut failed: Vec<QueryError> =
        failed.into_iter().take(MAX_NOTES).map(|(path, error)| why(vfs, path, &error)).collect();
    if failed.len() == 1 { failed.remove(0) } else { QueryError::NoPaths { failed } }
}

fn why(vfs: &Vfs, path: PathBuf, error: &io::Error) -> QueryError {
    if error.kind() == io::ErrorKind::NotFound {
        QueryError::NoSuchPath { similar: vfs.similar(&path), path }
    } else {
        QueryError::Unreadable { path, reason: disk::told(error) }
    }
}

fn is_of(types: Option<&Types>, path: &Path) -> bool {
    types.is_none_or(|types| types.matched(path, false).is_whitelist())
}

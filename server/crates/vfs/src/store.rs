//! The documents an editor has open, laid over the disk.
//!
//! One mutex guards the map; it is held for the time of a rope edit and never over a file read. Handles are cheap to
//! clone and all speak of the same documents.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::SystemTime;

use text::{ChangeSet, LineBreaks, Rope, Unit};
use tokio::sync::watch;

use crate::aside::aside;
use crate::disk::{self, DirEntry, FileKind, FileStat};
use crate::document::{
    Change, Dirty, Document, DocumentInfo, EditorState, SyncError, TextChange,
    same_but_line_endings,
};
use crate::encoding::Detected;
use crate::format::{Decoded, Format, decode, decode_as};
use crate::found::Stamp;
use crate::journal::Journal;
use crate::location::Location;
use crate::readings::Readings;
use crate::snapshot::{LineRange, ReadError, Snapshot, Source};
use crate::{binary, encoding, lines, suggest};

/// Files larger than this are read by ranges of lines only.
pub(crate) const MAX_TEXT: u64 = 64 << 20;

/// How the editor counts, and where before-images are kept.
#[derive(Clone, Debug)]
pub struct Options {
    /// What an editor's columns count.
    pub unit: Unit,
    /// What ends a line for the editor.
    pub breaks: LineBreaks,
    /// Where before-images go; in memory, and so lost at exit, when there is none.
    pub state_dir: Option<PathBuf>,
}

/// All files as a reader should see them: buffers where open, the disk elsewhere.
#[derive(Clone)]
pub struct Vfs(Arc<Shared>);

struct Shared {
    state: Mutex<State>,
    journal: Journal,
    readings: Readings,
    pub(crate) lists: crate::search::FileLists,
    commands: crate::found::Commands,
}

struct State {
    unit: Unit,
    breaks: LineBreaks,
    open: BTreeMap<Location, Document>,
    /// Kept after closing, so that a generation never comes twice.
    generations: BTreeMap<Location, Arc<watch::Sender<u64>>>,
    /// Documents that are to be closed, and the text they had when they were.
    closing: BTreeMap<Location, Option<Rope>>,
}

impl State {
    fn generation(&mut self, location: &Location) -> Arc<watch::Sender<u64>> {
        let new = || Arc::new(watch::Sender::new(0));
        Arc::clone(self.generations.entry(location.clone()).or_insert_with(new))
    }
}

/// An open document as a search sees it.
pub(crate) struct OpenText {
    pub rope: Rope,
    pub changed: SystemTime,
    pub dirty: Dirty,
    /// Where the document really is, when it was opened through a link.
    pub real: Option<PathBuf>,
    /// The editor's name for what it is written in.
    pub language: String,
}

impl fmt::Debug for Vfs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Vfs").finish_non_exhaustive()
    }
}

impl Vfs {
    /// No documents open yet.
    pub fn new(options: Options) -> Vfs {
        Vfs(Arc::new(Shared {
            state: Mutex::new(State {
                unit: options.unit,
                breaks: options.breaks,
                open: BTreeMap::new(),
                generations: BTreeMap::new(),
                closing: BTreeMap::new(),
            }),
            journal: Journal::new(options.state_dir),
            readings: Readings::default(),
            lists: crate::search::FileLists::default(),
            commands: crate::found::Commands::default(),
        }))
    }

    /// What the editor's columns count, once that is agreed.
    pub fn set_unit(&self, unit: Unit) {
        self.state().unit = unit;
    }

    /// What ends a line for the editor, once that is known.
    pub fn set_breaks(&self, breaks: LineBreaks) {
        let mut state = self.state();
        state.breaks = breaks;
        for document in state.open.values_mut() {
            document.set_breaks(breaks);
        }
    }

    /// The editor opened a document. Its file is read once, to tell whether the buffer differs from it.
    /// Opening again, at whatever version, starts the history anew; the generation goes on counting.
    pub fn open(&self, location: Location, language: &str, version: i32, text: &str) {
        // Taken first: what changes while the file is read shows later.
        let stamp = location.path().and_then(|path| Stamp::at(&crate::roots::real_path(path)));
        let on_disk = location.path().and_then(|path| decode_for_compare(path, text));
        let real = location.path().map(|path| (path, crate::roots::real_path(path)));
        let real = real.filter(|(path, real)| path != real).map(|(_, real)| real);
        let read_only =
            location.path().is_some_and(|path| disk::stat(path).is_ok_and(|stat| stat.read_only));
        let mut state = self.state();
        let generation = state.generation(&location);
        let breaks = state.breaks;
        let mut document = Document::open(language, version, text, on_disk, breaks, generation);
        document.on_disk.read_only = read_only;
        document.on_disk.real = real;
        document.on_disk.stamp = stamp;
        state.open.insert(location, document);
    }

    /// The editor changed a document. Text is taken even where the version makes no sense.
    pub fn change(
        &self,
        location: &Location,
        version: i32,
        changes: Vec<TextChange>,
    ) -> Result<(), SyncError> {
        let mut state = self.state();
        let unit = state.unit;
        let Some(document) = state.open.get_mut(location) else {
            return self.change_unopened(state, location, version, changes);
        };
        let current = document.version;
        let was_clean = document.dirty == Dirty::Clean;
        document.change(version, changes, unit);
        if was_clean && document.dirty == Dirty::Person {
            self.take_reload(state, location);
        }
        if version < current {
            return Err(SyncError::Backwards { location: location.clone(), version, current });
        }
        Ok(())
    }

    /// A change of a clean document may be the editor reading its file anew. Only a file that changed is read.
    fn take_reload(&self, state: MutexGuard<'_, State>, location: &Location) {
        let Some(document) = state.open.get(location) else { return };
        let Some(path) = document.on_disk.real.as_deref().or(location.path()) else { return };
        let (path, known) = (path.to_owned(), document.on_disk.stamp);
        let (rope, generation) = (document.rope.clone(), document.generation());
        drop(state);
        let Some(stamp) = Stamp::at(&path).filter(|it| Some(*it) != known) else { return };
        let text = rope.to_string();
        let on_disk = decode_for_compare(&path, &text);
        let Some(on_disk) = on_disk.filter(|it| same_but_line_endings(&it.text, &text)) else {
            return;
        };
        if let Some(document) = self.state().open.get_mut(location)
            && document.generation() == generation
        {
            document.reloaded(on_disk.format, stamp);
        }
    }

    /// A whole text for a document nobody opened is as good as an opening; anything less has nothing to apply to.
    fn change_unopened(
        &self,
        state: MutexGuard<'_, State>,
        location: &Location,
        version: i32,
        mut changes: Vec<TextChange>,
    ) -> Result<(), SyncError> {
        drop(state);
        if let Some(whole) = changes.iter().rposition(|change| change.range.is_none()) {
            let rest = changes.split_off(whole + 1);
            if let Some(first) = changes.pop() {
                self.open(location.clone(), "", version, &first.text);
            }
            let mut state = self.state();
            let unit = state.unit;
            if let Some(document) = state.open.get_mut(location).filter(|_| !rest.is_empty()) {
                document.change(version, rest, unit);
            }
        }
        Err(SyncError::NotOpen { location: location.clone() })
    }

    /// The editor closed a document; its unsaved text is gone with it.
    pub fn close(&self, location: &Location) {
        let mut state = self.state();
        let Some(document) = state.open.remove(location) else { return };
        if let Some(last) = state.closing.get_mut(location) {
            *last = Some(document.rope);
        }
        if let Some(generation) = state.generations.get(location) {
            generation.send_modify(|n| *n += 1);
        }
    }

    /// A document is about to be closed: the text it has then is kept for [`Vfs::closed_with`].
    pub fn expect_close(&self, location: &Location) {
        self.state().closing.insert(location.clone(), None);
    }

    /// The text with which an expected document closed, or which it has. Nothing is expected any more.
    pub fn closed_with(&self, location: &Location) -> Option<Rope> {
        let mut state = self.state();
        let last = state.closing.remove(location).flatten();
        last.or_else(|| state.open.get(location).map(|it| it.rope.clone()))
    }

    /// The editor saved a document. `text` is what it wrote, where it says.
    pub fn saved(&self, location: &Location, text: Option<&str>) {
        let stamp = location.path().and_then(|path| Stamp::at(&crate::roots::real_path(path)));
        let on_disk =
            location.path().and_then(|path| disk::read_bytes(path, MAX_TEXT).ok()).map(decode);
        if let Some(path) = location.path() {
            self.note_write(path);
        }
        let mut state = self.state();
        let Some(document) = state.open.get_mut(location) else { return };
        if text.is_some_and(|text| document.rope != *text) {
            // What was written is not what the buffer holds any more.
            return;
        }
        document.saved_by_editor(stamp);
        if let Some(Decoded { format, .. }) = on_disk {
            document.on_disk.format = format;
        }
    }

    /// The editor's account of a document's file.
    pub fn set_editor_state(&self, location: &Location, editor: EditorState) {
        if let Some(document) = self.state().open.get_mut(location) {
            document.editor_says(editor);
        }
    }

    /// The open document whose file really lies at `real`, whatever link it was opened through.
    pub fn open_at(&self, real: &Path) -> Option<Location> {
        let state = self.state();
        let same = |location: &Location, document: &Document| match &document.on_disk.real {
            Some(own) => own == real,
            None => location.path() == Some(real),
        };
        state.open.iter().find(|(at, it)| same(at, it)).map(|(at, _)| at.clone())
    }

    /// The next change after which the document reads `after` is ours: it does not count as the person's.
    pub fn expect_ours(&self, location: &Location, after: Rope) {
        if let Some(document) = self.state().open.get_mut(location) {
            document.expect(after);
        }
    }

    /// The text the editor last read from the document's file, at its opening or since.
    pub fn last_read(&self, location: &Location) -> Option<Rope> {
        self.state().open.get(location)?.on_disk.read.clone()
    }

    /// Whether the editor shows an unchanged document whose file has another text by now.
    pub fn is_behind(&self, location: &Location) -> bool {
        let (known, path, rope) = {
            let state = self.state();
            let Some(document) = state.open.get(location) else { return false };
            if document.dirty != Dirty::Clean {
                return false;
            }
            let Some(path) = document.on_disk.real.as_deref().or(location.path()) else {
                return false;
            };
            (document.on_disk.stamp, path.to_owned(), document.rope.clone())
        };
        let text = rope.to_string();
        Stamp::at(&path).is_some_and(|it| Some(it) != known)
            && decode_for_compare(&path, &text)
                .is_some_and(|it| !same_but_line_endings(&it.text, &text))
    }

    /// Whether a document has unsaved text and its file was written since its editor read or wrote it.
    pub fn is_apart(&self, location: &Location) -> bool {
        let (known, path) = {
            let state = self.state();
            let Some(document) = state.open.get(location) else { return false };
            let path = document.on_disk.real.as_deref().or(location.path());
            let Some(path) = path.filter(|_| document.dirty != Dirty::Clean) else { return false };
            (document.on_disk.stamp, path.to_owned())
        };
        Stamp::at(&path).is_some_and(|it| Some(it) != known)
    }

    pub fn is_open(&self, location: &Location) -> bool {
        self.state().open.contains_key(location)
    }

    /// The open document at a location.
    pub fn document(&self, location: &Location) -> Option<DocumentInfo> {
        self.state().open.get(location).map(|document| document.info(location))
    }

    /// All open documents, by location.
    pub fn open_documents(&self) -> Vec<DocumentInfo> {
        self.state().open.iter().map(|(location, document)| document.info(location)).collect()
    }

    /// The document's generation, now and as it changes. Opening, changing and closing all count.
    pub fn watch(&self, location: &Location) -> watch::Receiver<u64> {
        self.state().generation(location).subscribe()
    }

    /// The content changes after a generation, oldest first. `None` when they are no longer known, when the document
    /// was opened again since, or when it is not open.
    pub fn changes_since(&self, location: &Location, generation: u64) -> Option<Vec<ChangeSet>> {
        let changes = self.steps_since(location, generation)?;
        Some(changes.into_iter().map(|change| change.changes).collect())
    }

    /// As `changes_since`, each with the generation it led to; one generation may have several.
    pub fn steps_since(&self, location: &Location, generation: u64) -> Option<Vec<Change>> {
        self.state().open.get(location)?.changes_since(generation)
    }

    /// The text of a location: the buffer when it is open, else the file, decoded.
    pub fn snapshot(&self, location: &Location) -> Result<Snapshot, ReadError> {
        self.snapshot_unless(location, &|| false)
    }

    /// The same; `cancelled` is asked between the steps of reading a file.
    pub fn snapshot_unless(
        &self,
        location: &Location,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Snapshot, ReadError> {
        if let Some(snapshot) = self.open_snapshot(location) {
            return Ok(snapshot);
        }
        match location {
            Location::Disk(path) => {
                let stat = self.text_stat(path)?;
                aside(stat.len, || self.read_text(path, &stat, cancelled))
            }
            Location::Virtual(_) => {
                Err(ReadError::NotFound { location: location.clone(), similar: Vec::new() })
            }
        }
    }

    /// The text of the buffer at a location, if it is open.
    pub fn open_snapshot(&self, location: &Location) -> Option<Snapshot> {
        let state = self.state();
        let document = state.open.get(location)?;
        Some(Snapshot {
            location: location.clone(),
            rope: document.rope.clone(),
            source: Source::Buffer {
                version: document.version,
                generation: document.generation(),
                dirty: document.dirty,
                write_back: document.on_disk.write_back,
            },
            format: document.on_disk.format.clone(),
            read_only: document.on_disk.read_only,
            damaged: false,
            hash: Arc::clone(&document.hash),
        })
    }

    /// The text of a file as the disk has it, whatever a buffer says.
    pub fn disk_snapshot(&self, path: &Path) -> Result<Snapshot, ReadError> {
        let stat = self.text_stat(path)?;
        aside(stat.len, || self.read_text(path, &stat, &|| false))
    }

    fn read_text(
        &self,
        path: &Path,
        stat: &FileStat,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Snapshot, ReadError> {
        let is_wanted = || if cancelled() { Err(ReadError::Cancelled) } else { Ok(()) };
        if let Ok(Some(known)) = self.readings().current(path) {
            return Ok(Snapshot {
                location: Location::disk(path),
                rope: known.rope,
                source: Source::Disk,
                format: known.format,
                read_only: stat.read_only,
                damaged: false,
                hash: known.hash,
            });
        }
        let bytes =
            disk::read_bytes(path, MAX_TEXT).map_err(|error| self.read_error(path, error))?;
        is_wanted()?;
        let detected = encoding::detect(&bytes);
        if let Some(what) = binary::sniff(&bytes, detected) {
            return Err(ReadError::Binary { path: path.to_owned(), what, len: stat.len });
        }
        is_wanted()?;
        let decoded = decode_as(bytes, detected);
        is_wanted()?;
        let read = Snapshot {
            location: Location::disk(path),
            rope: Rope::from_str(&decoded.text),
            source: Source::Disk,
            format: decoded.format,
            read_only: stat.read_only,
            damaged: decoded.damaged,
            hash: Arc::new(OnceLock::new()),
        };
        self.readings().keep(path, &read);
        Ok(read)
    }

    /// Whether there is a document or a file at a location that could be read, whatever it holds; the error says why
    /// not.
    pub fn readable(&self, location: &Location) -> Result<(), ReadError> {
        let Some(path) = location.path().filter(|_| !self.is_open(location)) else {
            return self.snapshot(location).map(|_| ());
        };
        match self.text_stat(path) {
            Ok(_) | Err(ReadError::TooLarge { .. }) => {}
            Err(error) => return Err(error),
        }
        let opened = disk::open_regular(path).map(|_| ());
        opened.map_err(|error| self.read_error(path, error))
    }

    /// The stat of a file that may be read as a whole.
    fn text_stat(&self, path: &Path) -> Result<FileStat, ReadError> {
        let stat = disk::stat(path).map_err(|error| self.read_error(path, error))?;
        match stat.kind {
            FileKind::File => {}
            FileKind::Folder => return Err(ReadError::Folder { path: path.to_owned() }),
            kind @ (FileKind::Symlink | FileKind::Pipe | FileKind::Socket | FileKind::Device) => {
                return Err(ReadError::Special { path: path.to_owned(), kind });
            }
        }
        if stat.len > MAX_TEXT {
            return Err(ReadError::TooLarge {
                path: path.to_owned(),
                len: stat.len,
                max: MAX_TEXT,
            });
        }
        Ok(stat)
    }

    fn read_error(&self, path: &Path, error: io::Error) -> ReadError {
        match error.kind() {
            io::ErrorKind::NotFound => {
                ReadError::NotFound { location: Location::disk(path), similar: self.similar(path) }
            }
            _ => ReadError::Io { path: path.to_owned(), error },
        }
    }

    /// Lines `first` (1-based, negative from the end) and on, at most `limit` and `max_bytes`, each cut at
    /// `max_line_chars`. Files of any size: only the lines asked for are held. `cancelled` is asked between the steps
    /// of reading a file, and at least once for every 256 KB of one that is not held.
    pub fn read_lines(
        &self,
        location: &Location,
        first: i64,
        limit: usize,
        max_bytes: usize,
        max_line_chars: usize,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<LineRange, ReadError> {
        let wanted = lines::Wanted { first, limit, max_bytes, max_line_chars };
        match self.snapshot_unless(location, cancelled) {
            Ok(snapshot) => Ok(lines::of_rope(&snapshot.rope, &wanted)),
            Err(ReadError::TooLarge { path, len, .. }) => {
                lines::of_file(&path, len, &wanted, cancelled)
            }
            Err(error) => Err(error),
        }
    }

    /// At most `max` bytes of a file as they are; a larger file is an error. For images and documents.
    pub fn read_bytes(&self, path: &Path, max: u64) -> io::Result<Vec<u8>> {
        disk::read_bytes(path, max)
    }

    /// The first bytes of a file, at most `most` of them.
    pub fn read_head(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        disk::read_head(path, most)
    }

    /// The stat of what `path` leads to, links followed.
    pub fn stat(&self, path: &Path) -> io::Result<FileStat> {
        disk::stat(path)
    }

    /// The stat of what stands at `path` itself.
    pub fn link_stat(&self, path: &Path) -> io::Result<FileStat> {
        disk::link_stat(path)
    }

    /// Whether there is something at a location: an open buffer, a file, a folder, a dangling link.
    pub fn exists(&self, location: &Location) -> bool {
        self.is_open(location) || location.path().is_some_and(|path| disk::link_stat(path).is_ok())
    }

    /// What `path` leads to, links followed; `None` when that is nothing.
    pub fn kind(&self, path: &Path) -> Option<FileKind> {
        disk::stat(path).ok().map(|stat| stat.kind)
    }

    /// The path with every link resolved; what does not exist yet keeps its spelling.
    pub fn real_path(&self, path: &Path) -> PathBuf {
        crate::roots::real_path(path)
    }

    /// Where the submodules of a git work tree lie in it, as its index at `path` has them; `None` where it
    /// cannot be told.
    pub fn submodules(&self, path: &Path) -> Option<Vec<PathBuf>> {
        crate::found::submodules(path)
    }

    /// The entries of a folder, by name.
    pub fn list_dir(&self, path: &Path) -> io::Result<Vec<DirEntry>> {
        disk::list_dir(path)
    }

    /// Existing paths a missing `path` may have meant: those that are shown as it is where they are several, else its
    /// neighbours, open documents, and files of its name that
    /// searches came by. Nearest first.
    pub fn similar(&self, path: &Path) -> Vec<PathBuf> {
        let alike = crate::roots::shown_alike(path);
        if 1 < alike.len() {
            return alike;
        }
        let named = path.file_name().map(|name| self.lists().named(name)).unwrap_or_default();
        let state = self.state();
        let open = state.open.keys().filter_map(|location| location.path().map(Path::to_owned));
        let elsewhere: Vec<PathBuf> =
            named.into_iter().filter(|file| disk::stat(file).is_ok()).chain(open).collect();
        drop(state);
        suggest::similar(path, &elsewhere)
    }

    /// How a new file at `path` should be spelled: `.editorconfig`, then `.gitattributes`, then its neighbours.
    pub fn format_for_new(&self, path: &Path) -> Format {
        crate::editorconfig::format_for_new(path)
    }

    pub(crate) fn open_texts(&self) -> BTreeMap<Location, OpenText> {
        let text = |document: &Document| OpenText {
            rope: document.rope.clone(),
            changed: document.changed,
            dirty: document.dirty,
            real: document.on_disk.real.clone(),
            language: document.language.clone(),
        };
        self.state()
            .open
            .iter()
            .map(|(location, document)| (location.clone(), text(document)))
            .collect()
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.0.journal
    }

    pub(crate) fn readings(&self) -> &Readings {
        &self.0.readings
    }

    pub(crate) fn commands(&self) -> &crate::found::Commands {
        &self.0.commands
    }

    pub(crate) fn lists(&self) -> &crate::search::FileLists {
        &self.0.lists
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held left a document half changed at worst; the next full text repairs it.
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The file in the reading that comes nearest to what the editor shows: detected, or as damaged UTF-8.
fn decode_for_compare(path: &Path, text: &str) -> Option<Decoded> {
    let bytes = disk::read_bytes(path, MAX_TEXT).ok()?;
    let detected = decode(bytes.clone());
    if same_but_line_endings(&detected.text, text) {
        return Some(detected);
    }
    // What the detection takes for a legacy charset this editor shows as UTF-8 with damage, and will save so.
    let utf8 = decode_as(bytes, Detected::UTF_8);
    let shows_damage = utf8.damaged && text.contains(char::REPLACEMENT_CHARACTER);
    Some(if shows_damage { utf8 } else { detected })
}

#[cfg(test)]
mod tests;

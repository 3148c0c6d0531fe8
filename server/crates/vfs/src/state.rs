//! The product's own files: logs, artifacts, settings, temporary folders. Private to the person (0600, folders 0700).
//! Nothing here is journaled; nothing here is for files of the workspace.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::disk;

/// Whether a write must survive a power cut before the call returns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Durability {
    Synced,
    Buffered,
}

/// What a log holds: its whole lines, and how many bytes of a torn last line were left out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Log {
    /// Without line endings.
    pub lines: Vec<String>,
    pub torn: usize,
}

/// An advisory lock, held until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// An append-only log, open for writing.
#[derive(Debug)]
pub struct LogWriter {
    file: File,
}

impl LogWriter {
    /// Opens or creates a log, and cuts off a torn last line so that what follows starts on its own.
    pub fn open(path: &Path) -> io::Result<LogWriter> {
        if let Some(parent) = path.parent() {
            private_dir(parent)?;
        }
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
        let len = file.metadata()?.len();
        let whole = whole_lines(&mut file, len)?;
        if whole < len {
            file.set_len(whole)?;
        }
        Ok(LogWriter { file })
    }

    /// Appends one line; a line break within `line` is the caller's mistake and is an error.
    pub fn append(&mut self, line: &str, durability: Durability) -> io::Result<()> {
        if line.contains('\n') {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "a log line holds a line break",
            ));
        }
        let mut bytes = Vec::with_capacity(line.len() + 1);
        bytes.extend_from_slice(line.as_bytes());
        bytes.push(b'\n');
        self.file.write_all(&bytes)?;
        match durability {
            Durability::Synced => self.file.sync_data(),
            Durability::Buffered => Ok(()),
        }
    }

    /// Makes everything appended so far survive a power cut.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }
}

/// Appends one line to a log, creating it and its folders. For many lines keep a `LogWriter`.
pub fn append_log(path: &Path, line: &str, durability: Durability) -> io::Result<()> {
    LogWriter::open(path)?.append(line, durability)
}

/// The whole lines of a log; an unfinished or malformed last line is left out and counted. No file: no lines.
pub fn read_log(path: &Path) -> io::Result<Log> {
    read_log_from(path, 0)
}

/// As `read_log`, from a byte offset on, for following a log that grows.
pub fn read_log_from(path: &Path, offset: u64) -> io::Result<Log> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(mut file) => {
            io::Seek::seek(&mut file, io::SeekFrom::Start(offset))?;
            file.read_to_end(&mut bytes)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    let whole = memchr::memrchr(b'\n', &bytes).map_or(0, |at| at + 1);
    let torn = bytes.len() - whole;
    bytes.truncate(whole);
    let lines = String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect();
    Ok(Log { lines, torn })
}

/// Writes a private file as a whole, synced, by way of a temporary one; folders are made.
pub fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let file = written(path, bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    sync_dir(path.parent().unwrap_or(Path::new("/")))
}

/// As [`write_private`], but what a power cut leaves of it is not known.
pub(crate) fn write_private_unsynced(path: &Path, bytes: &[u8]) -> io::Result<()> {
    written(path, bytes)?.persist(path).map(|_| ()).map_err(|error| error.error)
}

fn written(path: &Path, bytes: &[u8]) -> io::Result<tempfile::NamedTempFile> {
    let parent = path.parent().unwrap_or(Path::new("/"));
    private_dir(parent)?;
    let mut file = tempfile::Builder::new().prefix(".tmp-").tempfile_in(parent)?;
    file.write_all(bytes)?;
    file.as_file().set_permissions(fs::Permissions::from_mode(0o600))?;
    Ok(file)
}

/// The bytes of a private file; `None` when there is none.
pub fn read_private(path: &Path) -> io::Result<Option<Vec<u8>>> {
    present(fs::read(path))
}

/// At most `max` bytes of a file from `offset` on, for paging through large artifacts and job logs.
pub fn read_range(path: &Path, offset: u64, max: usize) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    io::Seek::seek(&mut file, io::SeekFrom::Start(offset))?;
    let mut bytes = Vec::new();
    file.take(max as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A settings file as text (malformed bytes as U+FFFD, no BOM); `None` when there is none.
pub fn read_text_file(path: &Path) -> io::Result<Option<String>> {
    /// Settings larger than this are no settings.
    const MAX: u64 = 16 << 20;
    let bytes = present(disk::read_bytes(path, MAX))?;
    Ok(bytes.map(|bytes| {
        let text = String::from_utf8_lossy(&bytes);
        text.strip_prefix('\u{FEFF}').unwrap_or(&text).to_owned()
    }))
}

/// Removes a file, or a folder with everything in it. Nothing there is no error; links are not followed.
pub fn remove(path: &Path) -> io::Result<()> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    present(removed).map(|_| ())
}

/// Gives a file another name, in place of what had it; whether there was one.
pub fn rename(from: &Path, to: &Path) -> io::Result<bool> {
    present(fs::rename(from, to)).map(|it| it.is_some())
}

/// The paths in a folder, sorted; none when there is no folder.
pub fn list(path: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = present(disk::list_dir(path))?.unwrap_or_default();
    Ok(entries.into_iter().map(|entry| entry.path).collect())
}

/// Takes an advisory lock on a file, which is created; `None` when another holder lives.
pub fn lock(path: &Path) -> io::Result<Option<Lock>> {
    if let Some(parent) = path.parent() {
        private_dir(parent)?;
    }
    let file = OpenOptions::new().read(true).append(true).create(true).mode(0o600).open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock { _file: file })),
        Err(fs::TryLockError::WouldBlock) => Ok(None),
        Err(fs::TryLockError::Error(error)) => Err(error),
    }
}

/// Opens a private file for appending bytes, creating it and its folders.
pub fn append_file(path: &Path) -> io::Result<File> {
    if let Some(parent) = path.parent() {
        private_dir(parent)?;
    }
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

/// Makes a folder and its parents, each new one for the person alone.
pub fn private_dir(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// A folder that is removed when dropped.
#[derive(Debug)]
pub struct TempDir {
    folder: tempfile::TempDir,
}

impl TempDir {
    /// A new folder with these files (relative path, bytes) in it.
    pub fn with_files<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
    ) -> io::Result<TempDir> {
        let folder = tempfile::Builder::new().prefix("copydesk-").tempdir()?;
        for (name, bytes) in files {
            let path = crate::normalize(&Path::new("/").join(name));
            let path = folder.path().join(path.strip_prefix("/").unwrap_or(&path));
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, bytes)?;
        }
        Ok(TempDir { folder })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Leaves the folder behind.
    pub fn keep(self) -> PathBuf {
        self.folder.keep()
    }
}

/// Creates a private file that must not exist yet.
pub(crate) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

/// Makes names created, renamed or removed in a folder survive a power cut.
pub(crate) fn sync_dir(path: &Path) -> io::Result<()> {
    match File::open(path).and_then(|folder| folder.sync_all()) {
        // Some file systems have no such thing for folders.
        Err(error) if error.kind() == io::ErrorKind::InvalidInput => Ok(()),
        other => other,
    }
}

/// The length of the whole lines at the beginning of a log.
fn whole_lines(file: &mut File, len: u64) -> io::Result<u64> {
    const STEP: u64 = 64 * 1024;
    let mut end = len;
    let mut buffer = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(STEP);
        io::Seek::seek(file, io::SeekFrom::Start(start))?;
        buffer.clear();
        file.take(end - start).read_to_end(&mut buffer)?;
        if let Some(at) = memchr::memrchr(b'\n', &buffer) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) =>
        {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests;

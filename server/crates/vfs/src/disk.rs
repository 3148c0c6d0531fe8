//! Files as the disk has them: kinds, sizes, bytes, folders. Nothing here blocks on a pipe or a device.

use std::fs::{self, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// What stands at a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileKind {
    File,
    Folder,
    /// Only when the link itself is asked about.
    Symlink,
    Pipe,
    Socket,
    Device,
}

impl FileKind {
    pub(crate) fn of(file_type: fs::FileType) -> FileKind {
        if file_type.is_file() {
            FileKind::File
        } else if file_type.is_dir() {
            FileKind::Folder
        } else if file_type.is_symlink() {
            FileKind::Symlink
        } else if file_type.is_fifo() {
            FileKind::Pipe
        } else if file_type.is_socket() {
            FileKind::Socket
        } else {
            FileKind::Device
        }
    }

    /// For people: `folder`, `named pipe`, …
    pub fn name(self) -> &'static str {
        match self {
            FileKind::File => "file",
            FileKind::Folder => "folder",
            FileKind::Symlink => "symbolic link",
            FileKind::Pipe => "named pipe",
            FileKind::Socket => "socket",
            FileKind::Device => "device",
        }
    }
}

/// What the file system says of a path.
#[derive(Clone, Debug)]
pub struct FileStat {
    pub kind: FileKind,
    /// Bytes.
    pub len: u64,
    pub modified: SystemTime,
    /// Permission bits.
    pub mode: u32,
    pub links: u64,
    pub read_only: bool,
}

impl FileStat {
    pub(crate) fn of(metadata: &Metadata) -> FileStat {
        FileStat {
            kind: FileKind::of(metadata.file_type()),
            len: metadata.len(),
            modified: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
            mode: metadata.mode() & 0o7777,
            links: metadata.nlink(),
            read_only: metadata.permissions().readonly(),
        }
    }
}

/// One entry of a folder.
#[derive(Clone, Debug)]
pub struct DirEntry {
    pub path: PathBuf,
    pub name: String,
    /// The link's own kind, not its target's.
    pub kind: FileKind,
}

/// The stat of what `path` leads to.
pub(crate) fn stat(path: &Path) -> io::Result<FileStat> {
    fs::metadata(path).map(|metadata| FileStat::of(&metadata))
}

/// The stat of what stands at `path` itself.
pub(crate) fn link_stat(path: &Path) -> io::Result<FileStat> {
    fs::symlink_metadata(path).map(|metadata| FileStat::of(&metadata))
}

/// Opens a regular file; pipes, devices and folders fail without being waited for.
pub(crate) fn open_regular(path: &Path) -> io::Result<(fs::File, FileStat)> {
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = fs::OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    let stat = FileStat::of(&file.metadata()?);
    match stat.kind {
        FileKind::File => Ok((file, stat)),
        FileKind::Folder => Err(io::ErrorKind::IsADirectory.into()),
        FileKind::Symlink | FileKind::Pipe | FileKind::Socket | FileKind::Device => Err(
            io::Error::new(io::ErrorKind::InvalidInput, format!("it is a {}", stat.kind.name())),
        ),
    }
}

/// At most `max` bytes of a regular file; a larger one is an error of kind `FileTooLarge`.
pub(crate) fn read_bytes(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let (file, stat) = open_regular(path)?;
    let mut bytes = Vec::with_capacity(usize::try_from(stat.len.min(max)).unwrap_or_default());
    let read = file.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if read as u64 > max {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("it has {} bytes, more than {max}", stat.len),
        ));
    }
    Ok(bytes)
}

/// Whether a regular file holds exactly these bytes, which come in pieces; read no further than they agree.
pub(crate) fn holds<'a>(path: &Path, expected: impl Iterator<Item = &'a [u8]>) -> io::Result<bool> {
    /// Read at a time: what stays near the processor.
    const PIECE: usize = 128 << 10;
    let (mut file, _) = open_regular(path)?;
    let mut buffer = vec![0; PIECE];
    let (mut start, mut end) = (0, 0);
    for mut part in expected {
        while !part.is_empty() {
            if start == end {
                (start, end) = (0, read_some(&mut file, &mut buffer)?);
                if end == 0 {
                    return Ok(false);
                }
            }
            let len = part.len().min(end - start);
            if part[..len] != buffer[start..start + len] {
                return Ok(false);
            }
            start += len;
            part = &part[len..];
        }
    }
    Ok(start == end && read_some(&mut file, &mut buffer)? == 0)
}

fn read_some(file: &mut fs::File, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// The first bytes of a regular file, at most `most` of them.
pub(crate) fn read_head(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let (file, _) = open_regular(path)?;
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Why something at a path failed, as the end of a sentence that begins with the path.
pub(crate) fn told(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "does not exist".into(),
        io::ErrorKind::PermissionDenied => "cannot be read: permission denied".into(),
        io::ErrorKind::NotADirectory => "does not exist: something on the way is no folder".into(),
        _ if error.get_ref().is_some() => format!("cannot be read: {error}"),
        _ => {
            let text = error.to_string();
            // The system's number says nothing that its words do not.
            let words = text.split(" (os error ").next().unwrap_or(&text);
            format!("cannot be read: {}", words.to_lowercase())
        }
    }
}

/// The entries of a folder, by name.
pub(crate) fn list_dir(path: &Path) -> io::Result<Vec<DirEntry>> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        entries.push(DirEntry {
            path: entry.path(),
            name: entry.file_name().to_string_lossy().into_owned(),
            kind: FileKind::of(entry.file_type()?),
        });
    }
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

/// How many entries a folder has, as far as counting is worth it.
pub(crate) fn count_entries(path: &Path) -> usize {
    const MAX: usize = 100_000;
    fs::read_dir(path).map_or(0, |entries| entries.take(MAX).count())
}

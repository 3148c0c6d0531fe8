//! One command's output in bounded memory, and its raw log on disk.
//!
//! The first bytes and the last ones are kept; the log holds everything up to 64 MB, then the
//! last ones again. What is missing anywhere is stated there.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags};

use crate::command::Output;
use crate::final_text::{final_text, unfinished};

/// Kept from the beginning. Longer output is also logged.
const HEAD: usize = 32 * 1024;
/// Kept from the end.
const TAIL: usize = 64 * 1024;
/// What the end may grow to before it is cut: seldom enough for the moving not to matter.
const TAIL_ROOM: usize = 4 * TAIL;
/// Of the log, before only the end is added. With `TAIL` and the note it stays below 64 MB.
const LOG_LIMIT: u64 = 63 * 1024 * 1024;

pub(crate) struct Capture {
    total: u64,
    head: Vec<u8>,
    /// The bytes before `total` that are not in `head`, as far as kept.
    tail: Vec<u8>,
    log: Log,
    path: PathBuf,
}

enum Log {
    Unopened,
    Open {
        file: File,
        written: u64,
    },
    /// At its limit; the end is still to be added.
    Full(File),
    Closed,
    Failed(String),
}

/// A piece of output for one reader.
pub(crate) struct Piece {
    pub bytes: Vec<u8>,
    pub skipped: u64,
    /// Where the reader's next piece starts.
    pub next: u64,
}

impl Capture {
    /// `path`: where the log goes when there is to be one.
    pub(crate) fn new(path: PathBuf) -> Capture {
        Capture { total: 0, head: Vec::new(), tail: Vec::new(), log: Log::Unopened, path }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        if self.total as usize + bytes.len() > HEAD {
            self.open_log();
        }
        self.write_log(bytes);
        self.total += bytes.len() as u64;
        let (first, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(first);
        if rest.len() >= TAIL {
            self.tail.clear();
            self.tail.extend_from_slice(&rest[rest.len() - TAIL..]);
            return;
        }
        if self.tail.len() + rest.len() > TAIL_ROOM {
            self.tail.drain(..self.tail.len() + rest.len() - TAIL);
        }
        self.tail.extend_from_slice(rest);
    }

    /// Makes sure that there is a log, whatever the length.
    pub(crate) fn open_log(&mut self) {
        match self.log {
            Log::Unopened => {}
            Log::Open { .. } | Log::Full(_) | Log::Closed | Log::Failed(_) => return,
        }
        match create(&self.path) {
            Ok(file) => self.log = Log::Open { file, written: 0 },
            Err(error) => {
                tracing::warn!(path = %self.path.display(), %error, "no log of a command's output");
                self.log = Log::Failed(error.to_string());
            }
        }
        // Nothing is opened later than with the head full, so this is all there was.
        let head = std::mem::take(&mut self.head);
        self.write_log(&head);
        self.head = head;
    }

    /// Completes the log; nothing is pushed afterwards.
    pub(crate) fn finish(&mut self) {
        let tail_start = self.tail_start();
        if let Log::Full(file) = &mut self.log {
            let missing = tail_start.saturating_sub(LOG_LIMIT);
            let from = LOG_LIMIT.saturating_sub(tail_start) as usize;
            let note =
                if missing > 0 { format!("\n[{missing} bytes omitted]\n") } else { String::new() };
            let tail = self.tail.get(from..).unwrap_or_default();
            if let Err(error) = file.write_all(note.as_bytes()).and_then(|()| file.write_all(tail))
            {
                self.log = Log::Failed(error.to_string());
                return;
            }
        }
        match self.log {
            Log::Open { .. } | Log::Full(_) => self.log = Log::Closed,
            Log::Unopened | Log::Closed | Log::Failed(_) => {}
        }
    }

    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// Where the log lies, if there is one.
    pub(crate) fn log(&self) -> Option<&Path> {
        match self.log {
            Log::Open { .. } | Log::Full(_) | Log::Closed => Some(&self.path),
            Log::Unopened | Log::Failed(_) => None,
        }
    }

    /// Head and tail as text.
    pub(crate) fn output(&self) -> Output {
        if self.tail_start() == self.head.len() as u64 {
            let text = final_text(&self.contiguous());
            return Output { text, total_bytes: self.total, omitted_bytes: 0 };
        }
        // Whole lines on both sides of the gap, where lines are not too long for that.
        let head_end = match self.head.iter().rposition(|byte| *byte == b'\n') {
            Some(newline) if newline > HEAD / 2 => newline + 1,
            Some(_) | None => self.head.len() - unfinished(&self.head),
        };
        let tail_from = line_start(&self.tail);
        let (head, tail) = (&self.head[..head_end], &self.tail[tail_from..]);
        let omitted = self.total - (head.len() + tail.len()) as u64;
        let log = match &self.log {
            Log::Failed(error) => format!("; no log: {error}"),
            Log::Unopened | Log::Open { .. } | Log::Full(_) | Log::Closed => String::new(),
        };
        let mut text = final_text(head);
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("[{omitted} bytes omitted{log}]\n"));
        text.push_str(&final_text(tail));
        Output { text, total_bytes: self.total, omitted_bytes: omitted }
    }

    /// The output after `from`, its last `most` bytes when it is longer.
    pub(crate) fn since(&self, from: u64, most: usize) -> Piece {
        let start = from.max(self.total.saturating_sub(most as u64));
        let tail_start = self.tail_start();
        let head = self.head.len() as u64;
        let (start, bytes) = if start >= tail_start {
            (start, self.tail[(start - tail_start) as usize..].to_vec())
        } else if tail_start == head {
            (start, self.contiguous()[start as usize..].to_vec())
        } else {
            (tail_start, self.tail.clone())
        };
        let cut = if start > from { line_start(&bytes) } else { 0 };
        Piece { skipped: start + cut as u64 - from, bytes: bytes[cut..].to_vec(), next: self.total }
    }

    fn tail_start(&self) -> u64 {
        self.total - self.tail.len() as u64
    }

    fn contiguous(&self) -> Cow<'_, [u8]> {
        if self.tail.is_empty() {
            return Cow::Borrowed(&self.head);
        }
        Cow::Owned([self.head.as_slice(), self.tail.as_slice()].concat())
    }

    fn write_log(&mut self, bytes: &[u8]) {
        let Log::Open { file, written } = &mut self.log else { return };
        let room = (LOG_LIMIT - *written).min(bytes.len() as u64) as usize;
        if let Err(error) = file.write_all(&bytes[..room]) {
            tracing::warn!(path = %self.path.display(), %error, "a command's log is incomplete");
            self.log = Log::Failed(error.to_string());
            return;
        }
        *written += room as u64;
        if room < bytes.len() {
            let log = std::mem::replace(&mut self.log, Log::Closed);
            if let Log::Open { file, .. } = log {
                self.log = Log::Full(file);
            }
        }
    }
}

/// Where the first whole line starts, or the first whole character if lines are too long.
fn line_start(bytes: &[u8]) -> usize {
    const NEAR: usize = 4096;
    if let Some(newline) = bytes.iter().take(NEAR).position(|byte| *byte == b'\n') {
        return newline + 1;
    }
    bytes.iter().take(3).take_while(|byte| (0x80..=0xBF).contains(*byte)).count()
}

/// A file of our own, in a folder of our own: readable by this user alone.
pub(crate) fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file: OwnedFd = rustix::fs::open(path, flags, Mode::RUSR | Mode::WUSR)?;
    Ok(File::from(file))
}

pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    match rustix::fs::mkdir(folder, Mode::RWXU) {
        Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
        Err(rustix::io::Errno::NOENT) => {
            let Some(parent) = folder.parent() else { return Err(rustix::io::Errno::NOENT.into()) };
            create_folder(parent)?;
            match rustix::fs::mkdir(folder, Mode::RWXU) {
                Ok(()) | Err(rustix::io::Errno::EXIST) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests;

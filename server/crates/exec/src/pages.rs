//! What a command printed, page by page, as a person scrolls through it.

use std::path::Path;

use rustix::fs::{Mode, OFlags};

use crate::command::JobId;
use crate::jobs::Jobs;

/// A page of raw output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub bytes: Vec<u8>,
    pub offset: u64,
    /// Bytes kept so far.
    pub total: u64,
    /// Whether more may come.
    pub running: bool,
}

impl Jobs {
    /// At most `most` bytes from `offset`, also of a command in the foreground, and of one that is
    /// known by its log alone. `None` when there is neither.
    pub fn page(&self, id: &JobId, offset: u64, most: usize) -> Option<Page> {
        let Some(run) = self.any(id) else {
            let number = id.0.strip_prefix("term-")?;
            let plain = !number.is_empty() && number.bytes().all(|it| it.is_ascii_digit());
            let log = plain.then(|| self.folder().join(format!("term-{number}.log")))?;
            return from_file(&log, offset, most);
        };
        let (log, held, running) = run.state(|state| {
            let running = state.ending.finished.is_none();
            let log = state.capture.log().map(Path::to_path_buf);
            // Without a log everything is held.
            let held =
                if log.is_none() { state.capture.since(0, usize::MAX).bytes } else { Vec::new() };
            (log, held, running)
        });
        match log {
            Some(log) => Some(Page { running, ..from_file(&log, offset, most)? }),
            None => {
                let total = held.len() as u64;
                let offset = offset.min(total);
                let from = usize::try_from(offset).unwrap_or(held.len());
                let to = from.saturating_add(most).min(held.len());
                Some(Page { bytes: held[from..to].to_vec(), offset, total, running })
            }
        }
    }
}

fn from_file(path: &Path, offset: u64, most: usize) -> Option<Page> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let total = u64::try_from(rustix::fs::fstat(&file).ok()?.st_size).ok()?;
    let offset = offset.min(total);
    let mut bytes = vec![0; most.min(usize::try_from(total - offset).unwrap_or(most))];
    let mut read = 0;
    while read < bytes.len() {
        match rustix::io::pread(&file, &mut bytes[read..], offset + read as u64) {
            Ok(0) => break,
            Ok(count) => read += count,
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
    bytes.truncate(read);
    Some(Page { bytes, offset, total, running: false })
}

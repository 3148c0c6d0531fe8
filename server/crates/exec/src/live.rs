//! Output on its way to a card: at once after a quiet time, merged while much comes, never more
//! than a card can show.

use std::time::Duration;

use tokio::time::Instant;

/// Between two pieces.
const INTERVAL: Duration = Duration::from_millis(33);
/// Of one piece.
const MOST: usize = 64 * 1024;

pub(crate) struct Live {
    waiting: Vec<u8>,
    dropped: u64,
    shown: Option<Instant>,
}

impl Live {
    pub(crate) fn new() -> Live {
        Live { waiting: Vec::new(), dropped: 0, shown: None }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = MOST - self.waiting.len();
        let (kept, dropped) = bytes.split_at(room.min(bytes.len()));
        self.waiting.extend_from_slice(kept);
        self.dropped += dropped.len() as u64;
    }

    /// When the next piece may be shown; `None` when there is none.
    pub(crate) fn due(&self) -> Option<Instant> {
        if self.waiting.is_empty() {
            return None;
        }
        Some(self.shown.map_or_else(Instant::now, |shown| shown + INTERVAL))
    }

    pub(crate) fn take(&mut self, now: Instant) -> Option<Vec<u8>> {
        if self.waiting.is_empty() {
            return None;
        }
        self.shown = Some(now);
        let mut bytes = std::mem::take(&mut self.waiting);
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            bytes.extend_from_slice(format!("\r\n[{dropped} bytes not shown]\r\n").as_bytes());
        }
        Some(bytes)
    }
}

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
    due: Option<Instant>,
    shown: Option<Instant>,
}

impl Live {
    pub(crate) fn new() -> Live {
        Live { waiting: Vec::new(), dropped: 0, due: None, shown: None }
    }

    pub(crate) fn push(&mut self, bytes: &[u8], now: Instant) {
        let room = MOST - self.waiting.len();
        let (kept, dropped) = bytes.split_at(room.min(bytes.len()));
        self.waiting.extend_from_slice(kept);
        self.dropped += dropped.len() as u64;
        let earliest = self.shown.map_or(now, |shown| (shown + INTERVAL).max(now));
        self.due.get_or_insert(earliest);
    }

    /// When the next piece may be shown; `None` when there is none.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// What waits, whether it is due or not.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.due.take()?;
        self.shown = Some(now);
        let mut bytes = std::mem::take(&mut self.waiting);
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            bytes.extend_from_slice(format!("\r\n[{dropped} bytes not shown]\r\n").as_bytes());
        }
        Some(bytes)
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::{INTERVAL, Live, MOST};

    #[test]
    fn the_first_goes_at_once_and_later_ones_merge() {
        let mut live = Live::new();
        let start = Instant::now();
        assert_eq!(live.due(), None);
        live.push(b"a", start);
        assert_eq!(live.due(), Some(start));
        assert_eq!(live.take(start), Some(b"a".to_vec()));
        live.push(b"b", start);
        live.push(b"c", start);
        assert_eq!(live.due(), Some(start + INTERVAL));
        assert_eq!(live.take(start + INTERVAL), Some(b"bc".to_vec()));
        assert_eq!(live.take(start + INTERVAL), None);
        let quiet = start + 10 * INTERVAL;
        live.push(b"d", quiet);
        assert_eq!(live.due(), Some(quiet));
    }

    #[test]
    fn a_flood_is_cut_and_said() {
        let mut live = Live::new();
        let now = Instant::now();
        live.push(&vec![b'x'; MOST - 1], now);
        live.push(b"yyy", now);
        let bytes = live.take(now).unwrap();
        assert!(bytes.ends_with(b"xy\r\n[2 bytes not shown]\r\n"));
    }
}

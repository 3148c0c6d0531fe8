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
        // What came last says how it stands: a question, a prompt, the error it ended with.
        if self.waiting.len() + bytes.len() > 2 * MOST {
            self.forget(bytes.len());
        }
        let skipped = bytes.len().saturating_sub(MOST);
        self.dropped += skipped as u64;
        self.waiting.extend_from_slice(&bytes[skipped..]);
        let earliest = self.shown.map_or(now, |shown| (shown + INTERVAL).max(now));
        self.due.get_or_insert(earliest);
    }

    /// When the next piece may be shown; `None` when there is none.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// What waits, whether it is due or not; after what was dropped a line begins.
    pub(crate) fn take(&mut self, now: Instant) -> Option<Vec<u8>> {
        self.due.take()?;
        self.shown = Some(now);
        self.forget(0);
        let dropped = std::mem::take(&mut self.dropped);
        let bytes = std::mem::take(&mut self.waiting);
        if dropped == 0 {
            return Some(bytes);
        }
        let rest = bytes.iter().position(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let dropped = dropped + rest as u64;
        let mut piece = format!("\r\n[{dropped} bytes not shown]\r\n").into_bytes();
        piece.extend_from_slice(&bytes[rest..]);
        Some(piece)
    }

    /// Leaves of what waits only the end that is shown once `more` bytes have come.
    fn forget(&mut self, more: usize) {
        let surplus = (self.waiting.len() + more).saturating_sub(MOST).min(self.waiting.len());
        self.waiting.drain(..surplus);
        self.dropped += surplus as u64;
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

    #[track_caller]
    fn check_flood(pieces: &[&[u8]], dropped: usize, shown: &[u8]) {
        let mut live = Live::new();
        let now = Instant::now();
        for piece in pieces {
            live.push(piece, now);
        }
        let expected = [format!("\r\n[{dropped} bytes not shown]\r\n").as_bytes(), shown].concat();
        assert!(live.take(now).as_deref() == Some(expected.as_slice()));
        assert_eq!(live.take(now), None);
    }

    #[test]
    fn of_a_flood_the_end_is_shown_from_a_line_on() {
        let end = [&vec![b'y'; MOST - 3][..], b"end"].concat();
        check_flood(&[b"xx", &end], 2, &end);
        check_flood(&[&[&vec![b'x'; 5 * MOST][..], &end].concat()], 5 * MOST, &end);
        check_flood(
            &[&vec![b'x'; MOST], &vec![b'y'; MOST], &vec![b'z'; MOST], b"z"],
            2 * MOST + 1,
            &vec![b'z'; MOST],
        );
        let lines = b"0123456789\n".repeat(MOST);
        let kept = MOST - MOST % 11;
        check_flood(&lines.chunks(1000).collect::<Vec<_>>(), lines.len() - kept, &lines[..kept]);
    }
}

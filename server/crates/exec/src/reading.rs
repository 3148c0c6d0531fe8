//! What readers and lists are told of a job.

use std::time::Duration;

use tokio::time::Instant;

use crate::command::{JobId, JobRead, JobRow, News, Wait, Waited};
use crate::final_text::{final_text, unfinished};
use crate::run::{Run, State};

/// Of the raw output one read hands over.
const READ_MOST: usize = 64 * 1024;
/// Reads in a row without news that are warned of; more are refused.
const POLLS_WARNED: u32 = 2;

/// Whether there is output that `reader` has not seen.
pub(crate) fn has_news(state: &State, reader: &str) -> bool {
    let position = state.readers.get(reader).map_or(0, |reader| reader.position);
    state.capture.total() > position
}

/// Hands `name` what it has not seen, and counts reads that only ask again.
pub(crate) fn take_news(
    run: &Run,
    job: &JobId,
    name: &str,
    wait: Wait,
    expired: Option<Duration>,
) -> JobRead {
    run.state(|state| {
        let finished = state.ending.finished.is_some();
        let mut reader = state.readers.remove(name).unwrap_or_default();
        let piece = state.capture.since(reader.position, READ_MOST);
        let held = if finished { 0 } else { unfinished(&piece.bytes) };
        let bytes = &piece.bytes[..piece.bytes.len() - held];
        reader.position = piece.next - held as u64;
        let polled = wait == Wait::None && !finished && bytes.is_empty();
        reader.empty_polls = if polled { reader.empty_polls + 1 } else { 0 };
        let polls = reader.empty_polls;
        state.readers.insert(name.to_owned(), reader);
        if polls > POLLS_WARNED {
            return JobRead::Refused { job: job.clone(), polls };
        }
        if finished && run.origin.owner == name {
            state.told = true;
        }
        let waited = match expired {
            Some(after) => Waited::Expired(after),
            None if polls == POLLS_WARNED => Waited::Warned(polls),
            None => Waited::Satisfied,
        };
        let text = final_text(bytes);
        JobRead::News(News {
            job: job.clone(),
            denied: if finished { run.denials(state, &text, None) } else { Vec::new() },
            text,
            skipped_bytes: piece.skipped,
            status: state.status(),
            exit: state.ending.exit.clone(),
            reason: state.ending.reason.clone(),
            elapsed: run.elapsed(state),
            quiet: state.last_output.elapsed(),
            log: state.capture.log().map(ToOwned::to_owned),
            waited,
        })
    })
}

/// `None` for a command that is no job.
pub(crate) fn row(run: &Run) -> Option<JobRow> {
    run.state(|state| {
        let now = Instant::now();
        Some(JobRow {
            job: state.job.clone()?,
            origin: run.origin.clone(),
            pid: run.pid,
            status: state.status(),
            elapsed: run.elapsed(state),
            quiet: state
                .ending
                .finished
                .unwrap_or(now)
                .saturating_duration_since(state.last_output),
            deadline_left: state
                .deadline
                .filter(|_| state.ending.finished.is_none())
                .map(|deadline| deadline.saturating_duration_since(now)),
            exit: state.ending.exit.clone(),
            reason: state.ending.reason.clone(),
            log: state.capture.log().map(ToOwned::to_owned),
            unconfirmed: state.ending.unconfirmed,
            size: state.size.as_ref().and_then(|size| size.get().ok()),
        })
    })
}

//! Owners that watch a job: they need not be notified of an end that they see.

use std::sync::Arc;

use crate::command::JobId;
use crate::run::Run;

/// A job whose owner watches it until this is dropped, and is told of its end then if it was not
/// [`Attended::saw_end`].
pub struct Attended {
    run: Arc<Run>,
    pub job: JobId,
}

impl Attended {
    /// The run counts its starter among those who wait for it already.
    pub(crate) fn new(run: Arc<Run>, job: JobId) -> Attended {
        Attended { run, job }
    }

    /// Watches a job that runs already.
    pub(crate) fn enter(run: Arc<Run>, job: JobId) -> Attended {
        run.state(|state| state.owner_waits += 1);
        Attended { run, job }
    }

    /// The owner knows of the end.
    pub fn saw_end(&self) {
        self.run.state(|state| state.told = true);
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        self.run.state(|state| state.owner_waits -= 1);
        self.run.notify();
    }
}

/// A read in progress: while the owner waits for it, it need not be notified of the end.
pub(crate) struct Waiting<'a> {
    run: &'a Run,
    owner: bool,
}

impl<'a> Waiting<'a> {
    pub(crate) fn enter(run: &'a Run, reader: &str) -> Waiting<'a> {
        let owner = run.origin.owner == reader;
        if owner {
            run.state(|state| state.owner_waits += 1);
        }
        Waiting { run, owner }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.owner {
            self.run.state(|state| state.owner_waits -= 1);
            self.run.notify();
        }
    }
}

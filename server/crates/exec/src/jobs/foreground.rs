//! Commands that their caller waits for: they end, are ended, or go on as jobs.
//!
//! A command nobody waits for any more is ended, unless it became a job.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{CANCEL_GRACE, FOREGROUND_CAP, Jobs, MAX_ACTIVE, Named};
use crate::command::{Command, Ended, JobId, Promotion, Ran};
use crate::run::{Cause, Run, STOP_GRACE, State};
use crate::shell::{Grammar, promotable, reported_cwd};
use crate::supervisor::{SpawnError, lock};

impl Jobs {
    /// Runs a command in the foreground. Returns when it has ended with its whole group, became
    /// a job, or was ended by its deadline or by `cancel`; dropping the future ends it too.
    pub async fn run(
        &self,
        command: Command,
        cancel: &CancellationToken,
    ) -> Result<Ran, SpawnError> {
        let Command { timeout, yield_after, deadline, .. } = command;
        let may_promote = match command.shell.grammar() {
            Grammar::Posix => promotable(&command.script),
            Grammar::Other => true,
        };
        let limit = if may_promote {
            deadline
        } else {
            let timeout = timeout.unwrap_or(FOREGROUND_CAP);
            Some(deadline.map_or(timeout, |deadline| deadline.min(timeout)))
        };
        let run = self.launch(command, limit, Named::Foreground, None).await?;
        let asked = Arc::new(Notify::new());
        let _foreground = Foreground::enter(self, &run, &asked);
        let own_deadline = deadline.map(|after| run.started + after);
        let give_up = timeout.filter(|_| may_promote).map(|after| run.started + after);
        let mut promote_at = match (timeout, yield_after) {
            _ if !may_promote => None,
            (Some(timeout), Some(yield_after)) => Some(run.started + timeout.min(yield_after)),
            (timeout, yield_after) => timeout.or(yield_after).map(|after| run.started + after),
        };
        let why = match (timeout, yield_after) {
            (Some(timeout), Some(yield_after)) if yield_after < timeout => Promotion::Yield,
            (None, Some(_)) => Promotion::Yield,
            (_, _) => Promotion::Timeout,
        };
        let mut cancelled = false;
        loop {
            tokio::select! {
                () = run.until(is_released) => break,
                () = cancel.cancelled(), if !cancelled => {
                    cancelled = true;
                    run.stop(Cause::Cancel, CANCEL_GRACE, Some("cancelled"));
                }
                () = asked.notified(), if !cancelled => {
                    if let Some(job) = self.promote(&run, own_deadline) {
                        return Ok(self.ran(&run, Ended::Promoted { job, why: Promotion::Asked }));
                    }
                }
                () = sleep_until(promote_at), if promote_at.is_some() && !cancelled => {
                    if let Some(job) = self.promote(&run, own_deadline) {
                        return Ok(self.ran(&run, Ended::Promoted { job, why }));
                    }
                    // No job may be added now.
                    let now = Instant::now();
                    if give_up.is_some_and(|end| end <= now) {
                        promote_at = None;
                        run.stop(Cause::Deadline, STOP_GRACE, None);
                    } else {
                        let again = now + Duration::from_secs(1);
                        promote_at = Some(give_up.map_or(again, |end| end.min(again)));
                    }
                }
            }
        }
        let (cause, exit, finished) = run.state(|state| {
            (state.ending.cause, state.ending.exit.clone(), state.ending.finished.is_some())
        });
        if !finished {
            // Its group lives on, so it stays listed, whatever the number of jobs.
            let job = self.adopt(&run, own_deadline);
            if let (Some(job), None, Some(exit)) = (job, cause, exit.clone()) {
                let why = Promotion::GroupAlive(exit);
                return Ok(self.ran(&run, Ended::Promoted { job, why }));
            }
        }
        let ended = match (cause, exit) {
            (Some(Cause::Deadline), _) => Ended::TimedOut,
            (Some(Cause::Cancel), _) => Ended::Cancelled,
            (Some(Cause::Kill | Cause::Shutdown), _) => Ended::Killed,
            (None, Some(exit)) if !run.state(|state| state.ending.lost) => Ended::Exited(exit),
            (None, _) => Ended::Killed,
        };
        Ok(self.ran(&run, ended))
    }

    /// Makes the running foreground command of this call a job now.
    pub fn background(&self, call: &str) {
        let asked = lock(&self.inner.registry).foreground.get(call).cloned();
        if let Some(asked) = asked {
            asked.notify_one();
        }
    }

    /// The call whose command runs in the foreground on this terminal.
    pub fn foreground_call(&self, terminal: &JobId) -> Option<String> {
        let run = self.any(terminal)?;
        let runs = run.state(|state| state.job.is_none() && state.ending.finished.is_none());
        runs.then(|| run.origin.call.clone())
    }

    /// Makes a command a job if there is room for one and it still runs.
    fn promote(&self, run: &Arc<Run>, deadline: Option<Instant>) -> Option<JobId> {
        if lock(&self.inner.registry).active() >= MAX_ACTIVE {
            return None;
        }
        self.adopt(run, deadline)
    }

    fn adopt(&self, run: &Arc<Run>, deadline: Option<Instant>) -> Option<JobId> {
        let job = lock(&self.inner.registry).job_id();
        let adopted = run.state(|state| {
            if state.ending.finished.is_some() {
                return None;
            }
            state.job = Some(job.clone());
            state.capture.open_log();
            Some(job)
        });
        if adopted.is_some() {
            run.set_deadline(deadline);
        }
        adopted
    }

    fn ran(&self, run: &Run, ended: Ended) -> Ran {
        let cwd = take_report(run);
        run.state(|state| {
            // What is handed back now counts as read.
            let position = state.capture.total();
            state.readers.entry(run.origin.owner.clone()).or_default().position = position;
            let output = state.capture.output();
            Ran {
                ended,
                denied: run.denials(state, &output.text, cwd.as_deref()),
                output,
                terminal: run.origin.terminal.clone(),
                elapsed: run.elapsed(state),
                cwd,
                log: state.capture.log().map(ToOwned::to_owned),
                unconfirmed: state.ending.unconfirmed,
            }
        })
    }
}

/// A foreground command that ends with the one who waits for it.
struct Foreground<'a> {
    jobs: &'a Jobs,
    run: &'a Run,
    asked: Arc<Notify>,
}

impl<'a> Foreground<'a> {
    fn enter(jobs: &'a Jobs, run: &'a Run, asked: &Arc<Notify>) -> Foreground<'a> {
        let mut registry = lock(&jobs.inner.registry);
        registry.foreground.insert(run.origin.call.clone(), Arc::clone(asked));
        Foreground { jobs, run, asked: Arc::clone(asked) }
    }
}

impl Drop for Foreground<'_> {
    fn drop(&mut self) {
        let mut registry = lock(&self.jobs.inner.registry);
        if registry
            .foreground
            .get(&self.run.origin.call)
            .is_some_and(|a| Arc::ptr_eq(a, &self.asked))
        {
            registry.foreground.remove(&self.run.origin.call);
        }
        drop(registry);
        if self.run.state(|state| state.job.is_none()) {
            self.run.stop(Cause::Cancel, CANCEL_GRACE, Some("cancelled"));
        }
    }
}

/// The foreground has nothing more to wait for.
fn is_released(state: &State) -> bool {
    state.ending.finished.is_some()
        || state.ending.unconfirmed
        || (state.ending.settled && state.ending.cause.is_none())
}

fn take_report(run: &Run) -> Option<PathBuf> {
    let flags = rustix::fs::OFlags::RDONLY
        | rustix::fs::OFlags::CLOEXEC
        | rustix::fs::OFlags::NOFOLLOW
        | rustix::fs::OFlags::NONBLOCK;
    let file = rustix::fs::open(&run.cwd_report, flags, rustix::fs::Mode::empty()).ok()?;
    // Longer than any path the system takes.
    let mut buffer = [0_u8; 8192];
    let count = rustix::io::read(&file, &mut buffer).ok()?;
    // It stays behind if this fails, in a folder of our own.
    let _ = rustix::fs::unlink(&run.cwd_report);
    reported_cwd(&buffer[..count])
}

async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

//! The commands of one session: run in the foreground, started in the background, read, ended.
//!
//! Nothing here outlives the registry: dropping the last clone ends every command.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use regex::Regex;
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::attended::{Attended, Waiting};
use crate::capture::{create, create_folder};
use crate::command::{
    Command, Ended, InputError, JobId, JobKilled, JobRead, JobRow, Listed, Observer, Origin,
    Promotion, Ran, Wait,
};
use crate::denial::Denial;
use crate::final_text::{final_text, last_lines};
use crate::line_watch::LineWatch;
use crate::reading::{has_news, row, take_news};
use crate::run::{self, Cause, Run, STOP_GRACE, Start, State};
use crate::shell::{Grammar, promotable, reported_cwd, wrap_for_cwd};
use crate::supervisor::{Spawn, SpawnError, Stdio, Supervisor, lock};

/// Jobs that may run at once.
pub const MAX_ACTIVE: usize = 50;
/// Finished jobs that are remembered.
pub const MAX_FINISHED: usize = 20;
/// Longest [`Wait::Output`].
pub const MAX_OUTPUT_WAIT: Duration = Duration::from_secs(30);
/// Longest [`Wait::Exit`].
pub const MAX_EXIT_WAIT: Duration = Duration::from_secs(600);
/// What a foreground command that may not become a job is given without a timeout of its own.
pub const FOREGROUND_CAP: Duration = Duration::from_secs(600);

/// Between TERM and KILL when a turn is cancelled or the session ends.
const CANCEL_GRACE: Duration = Duration::from_secs(1);
/// Of the output that [`Jobs::tail`] looks at.
const TAIL: usize = 32 * 1024;
/// How long [`Jobs::kill`] looks whether TERM was enough.
const KILL_LOOK: Duration = Duration::from_secs(1);

/// The registry of one session; clones share it.
#[derive(Clone)]
pub struct Jobs {
    inner: Arc<Inner>,
}

struct Inner {
    supervisor: Supervisor,
    folder: PathBuf,
    observer: Arc<dyn Observer>,
    registry: Mutex<Registry>,
}

#[derive(Default)]
struct Registry {
    next_job: u64,
    next_terminal: u64,
    /// Foreground commands too.
    runs: Vec<Arc<Run>>,
    /// Asks the foreground command of a call to become a job.
    foreground: HashMap<String, Arc<Notify>>,
    /// Background starts between their admission and their entry in `runs`.
    starting: usize,
    closed: bool,
}

impl Jobs {
    /// `folder`: where raw logs go; made when first needed. Numbers go on after those of the logs
    /// that are there.
    pub fn new(supervisor: Supervisor, folder: PathBuf, observer: Arc<dyn Observer>) -> Jobs {
        let last = last_logged(&folder);
        let registry =
            Mutex::new(Registry { next_job: last, next_terminal: last, ..Registry::default() });
        Jobs { inner: Arc::new(Inner { supervisor, folder, observer, registry }) }
    }

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

    /// Starts a command as a job.
    pub async fn start(&self, command: Command) -> Result<JobId, SpawnError> {
        Ok(self.start_attended(command, None).await?.job.clone())
    }

    /// Starts a command as a job that its owner watches: it is not told of an end it saw. `line`: a
    /// line of its output that [`Jobs::ready`] can wait for.
    pub async fn start_attended(
        &self,
        command: Command,
        line: Option<Regex>,
    ) -> Result<Attended, SpawnError> {
        let Command { timeout, deadline, .. } = command;
        let limit = match (timeout, deadline) {
            (Some(timeout), Some(deadline)) => Some(timeout.min(deadline)),
            (timeout, deadline) => timeout.or(deadline),
        };
        let (named, _starting) = {
            let mut registry = lock(&self.inner.registry);
            if registry.active() >= MAX_ACTIVE {
                return Err(SpawnError::TooManyJobs(MAX_ACTIVE));
            }
            registry.starting += 1;
            let named = match command.stdio {
                Stdio::Output | Stdio::Piped => Named::Job(registry.job_id()),
                Stdio::Pty { .. } => Named::Terminal,
            };
            (named, Starting(self))
        };
        let run = self.launch(command, limit, named, line).await?;
        let job = run.state(|state| state.job.clone());
        let job = job.unwrap_or_else(|| JobId(run.origin.terminal.clone()));
        Ok(Attended::new(run, job))
    }

    /// The terminal id of a job, for its card.
    pub fn terminal(&self, job: &JobId) -> Option<String> {
        self.find(job).map(|run| run.origin.terminal.clone())
    }

    /// The jobs in the order of their start.
    pub fn list(&self, listed: Listed) -> Vec<JobRow> {
        let runs = {
            let mut registry = lock(&self.inner.registry);
            registry.prune();
            registry.runs.clone()
        };
        runs.iter()
            .filter_map(|run| row(run))
            .filter(|row| match listed {
                Listed::Active => !row.status.is_finished(),
                Listed::All => true,
            })
            .collect()
    }

    /// What `reader` has not yet seen of the job's output, waiting for news as asked.
    pub async fn read(&self, job: &JobId, reader: &str, wait: Wait, timeout: Duration) -> JobRead {
        let Some(run) = self.find(job) else { return JobRead::NotFound(job.clone()) };
        let _waiting = Waiting::enter(&run, reader);
        let begun = Instant::now();
        let satisfied = match wait {
            Wait::None => true,
            Wait::Output => {
                let news =
                    run.until(|state| state.ending.finished.is_some() || has_news(state, reader));
                tokio::time::timeout(timeout.min(MAX_OUTPUT_WAIT), news).await.is_ok()
            }
            Wait::Exit => {
                let end = run.until(|state| state.ending.finished.is_some());
                tokio::time::timeout(timeout.min(MAX_EXIT_WAIT), end).await.is_ok()
            }
        };
        let expired = if satisfied { None } else { Some(begun.elapsed()) };
        take_news(&run, job, reader, wait, expired)
    }

    /// The last lines a job printed, at most 32 KiB; `None` when there is no such job. No reader's
    /// place changes.
    pub fn tail(&self, job: &JobId, lines: usize) -> Option<String> {
        let run = self.find(job)?;
        let bytes = run.state(|state| state.capture.since(0, TAIL).bytes);
        Some(last_lines(&final_text(&bytes), lines.max(1), TAIL).into_owned())
    }

    /// What the sandbox denied a job that failed, as its output tells.
    pub fn denied(&self, job: &JobId) -> Vec<Denial> {
        let Some(run) = self.find(job) else { return Vec::new() };
        run.state(|state| {
            let text = final_text(&state.capture.since(0, TAIL).bytes);
            run.denials(state, &text, None)
        })
    }

    /// Ends the job's whole group as a cancelled turn does: TERM, and KILL after a second. Its owner
    /// is not notified.
    pub async fn cancel(&self, job: &JobId) {
        let Some(run) = self.find(job) else { return };
        run.state(|state| state.told = true);
        run.stop(Cause::Cancel, CANCEL_GRACE, Some("cancelled"));
        run.until(|state| state.ending.finished.is_some() || state.ending.unconfirmed).await;
    }

    /// Ends the job's whole group: TERM, and KILL after 5 s. Its owner is not notified.
    pub async fn kill(&self, job: &JobId, reason: &str) -> JobKilled {
        let Some(run) = self.find(job) else { return JobKilled::NotFound(job.clone()) };
        let finished = run.state(|state| {
            state.told = true;
            state.ending.finished.is_some().then(|| state.status())
        });
        if let Some(status) = finished {
            return JobKilled::AlreadyFinished(status);
        }
        let reason = match reason.trim() {
            "" => "stopped on request",
            reason => reason,
        };
        run.stop(Cause::Kill, STOP_GRACE, Some(reason));
        let ended = run.until(|state| state.ending.finished.is_some() || state.ending.unconfirmed);
        // Not having ended yet is an answer too.
        let _ = tokio::time::timeout(KILL_LOOK, ended).await;
        run.state(|state| match (state.ending.finished, state.ending.cause) {
            (Some(_), Some(Cause::Kill)) => JobKilled::Stopped,
            (Some(_), _) => JobKilled::AlreadyFinished(state.status()),
            (None, _) if state.ending.unconfirmed => JobKilled::Unconfirmed,
            (None, _) => JobKilled::Stopping,
        })
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

    /// Sends input to a terminal.
    pub fn write(&self, job: &JobId, bytes: &[u8]) -> Result<(), InputError> {
        let run = self.find(job).ok_or_else(|| InputError::NotFound(job.clone()))?;
        if run.state(|state| state.ending.finished.is_some()) {
            return Err(InputError::Ended(job.clone()));
        }
        match run.write(bytes) {
            Some(Ok(())) => Ok(()),
            Some(Err(())) => Err(InputError::Full(job.clone())),
            None => Err(InputError::NoTerminal(job.clone())),
        }
    }

    /// Sets a terminal's size in character cells.
    pub fn resize(&self, job: &JobId, cols: u16, rows: u16) -> Result<(), InputError> {
        let run = self.find(job).ok_or_else(|| InputError::NotFound(job.clone()))?;
        if run.resize(cols, rows) { Ok(()) } else { Err(InputError::NoTerminal(job.clone())) }
    }

    /// Ends everything and starts nothing any more. Returns once all groups are gone, or after
    /// those that do not go were killed and looked after for 2 s.
    pub async fn shutdown(&self) {
        let runs = self.inner.close();
        for run in runs {
            run.until(|state| state.ending.finished.is_some() || state.ending.unconfirmed).await;
        }
    }

    async fn launch(
        &self,
        command: Command,
        deadline: Option<Duration>,
        named: Named,
        line: Option<Regex>,
    ) -> Result<Arc<Run>, SpawnError> {
        let number = {
            let mut registry = lock(&self.inner.registry);
            if registry.closed {
                return Err(SpawnError::Closed);
            }
            registry.next_terminal += 1;
            registry.next_terminal
        };
        let terminal = format!("term-{number}");
        let job = match named {
            Named::Foreground => None,
            Named::Job(job) => Some(job),
            Named::Terminal => Some(JobId(terminal.clone())),
        };
        let Command { script, shell, cwd, env, stdio, mut sandbox, label, call, owner, .. } =
            command;
        let cwd_report = self.inner.folder.join(format!("{terminal}.cwd"));
        let (argv, stdio) = match stdio {
            Stdio::Output | Stdio::Piped if job.is_some() => (shell.argv(&script), Stdio::Output),
            Stdio::Output | Stdio::Piped => {
                // Without one the command runs all the same, and nothing is told of its folder.
                let placed = match &mut sandbox {
                    // Only what exists can be written from inside.
                    Some(sandbox) => create(&cwd_report).map(|_| {
                        sandbox.writable.push(cwd_report.clone().into());
                    }),
                    None => create_folder(&self.inner.folder),
                };
                if let Err(error) = placed {
                    tracing::warn!(%error, "no place for what a command says of its folder");
                }
                (wrap_for_cwd(&shell, &script, &cwd_report), Stdio::Output)
            }
            Stdio::Pty { .. } => (shell.argv(&script), stdio),
        };
        let spawn = Spawn { argv, cwd: cwd.clone(), env, stdio, sandbox: sandbox.clone() };
        let process = self.inner.supervisor.spawn(spawn).await?;
        let start = Start {
            log: self.inner.folder.join(format!("{terminal}.log")),
            origin: Origin { call, owner, label, script, cwd, terminal },
            cwd_report,
            sandbox,
            deadline,
            job,
            watch: line.map(LineWatch::new),
            observer: Arc::clone(&self.inner.observer),
        };
        let run = run::start(start, process).map_err(|e| SpawnError::Os(e.to_string()))?;
        let closed = {
            let mut registry = lock(&self.inner.registry);
            registry.prune();
            registry.runs.push(Arc::clone(&run));
            registry.closed
        };
        if closed {
            run.stop(Cause::Shutdown, CANCEL_GRACE, Some("session ended"));
        }
        Ok(run)
    }

    pub(crate) fn find(&self, job: &JobId) -> Option<Arc<Run>> {
        let registry = lock(&self.inner.registry);
        let found = registry.runs.iter().find(|run| {
            run.state(|state| state.job.as_ref() == Some(job))
                || (run.origin.terminal == job.0 && run.state(|state| state.job.is_some()))
        });
        found.cloned()
    }

    /// A job, or a command in the foreground by its terminal.
    pub(crate) fn any(&self, id: &JobId) -> Option<Arc<Run>> {
        let registry = lock(&self.inner.registry);
        let found = registry.runs.iter().find(|run| {
            run.origin.terminal == id.0 || run.state(|state| state.job.as_ref() == Some(id))
        });
        found.cloned()
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.inner.folder
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

impl Inner {
    fn close(&self) -> Vec<Arc<Run>> {
        let runs = {
            let mut registry = lock(&self.registry);
            registry.closed = true;
            registry.runs.clone()
        };
        for run in &runs {
            run.state(|state| state.told = true);
            run.stop(Cause::Shutdown, CANCEL_GRACE, Some("session ended"));
        }
        runs
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

impl Registry {
    fn job_id(&mut self) -> JobId {
        self.next_job += 1;
        JobId(format!("job-{}", self.next_job))
    }

    fn active(&self) -> usize {
        let running = |run: &&Arc<Run>| {
            run.state(|state| state.job.is_some() && state.ending.finished.is_none())
        };
        self.runs.iter().filter(running).count() + self.starting
    }

    /// Forgets finished foreground commands and the oldest finished jobs.
    fn prune(&mut self) {
        self.runs.retain(|run| {
            run.state(|state| state.job.is_some() || state.ending.finished.is_none())
        });
        let mut ends: Vec<Instant> =
            self.runs.iter().filter_map(|run| run.state(|state| state.ending.finished)).collect();
        if ends.len() <= MAX_FINISHED {
            return;
        }
        ends.sort_unstable();
        let oldest_kept = ends[ends.len() - MAX_FINISHED];
        self.runs.retain(|run| {
            run.state(|state| state.ending.finished.is_none_or(|finished| finished >= oldest_kept))
        });
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

/// What a command that starts is known by.
enum Named {
    /// By its call.
    Foreground,
    Job(JobId),
    /// By its `term-N`.
    Terminal,
}

struct Starting<'a>(&'a Jobs);

impl Drop for Starting<'_> {
    fn drop(&mut self) {
        lock(&self.0.inner.registry).starting -= 1;
    }
}

/// The foreground has nothing more to wait for.
fn is_released(state: &State) -> bool {
    state.ending.finished.is_some()
        || state.ending.unconfirmed
        || (state.ending.settled && state.ending.cause.is_none())
}

/// The highest `N` of the `term-N.log` in `folder`.
fn last_logged(folder: &Path) -> u64 {
    use rustix::fs::{Dir, Mode, OFlags, open};
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let Ok(folder) = open(folder, flags, Mode::empty()) else { return 0 };
    let Ok(entries) = Dir::new(folder) else { return 0 };
    let number = |name: &str| name.strip_prefix("term-")?.strip_suffix(".log")?.parse().ok();
    entries
        .filter_map(|entry| number(entry.ok()?.file_name().to_str().ok()?))
        .max()
        .unwrap_or_default()
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

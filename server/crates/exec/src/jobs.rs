//! The commands of one session: run in the foreground, started in the background, read, ended.
//!
//! Nothing here outlives the registry: dropping the last clone ends every command.

mod foreground;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use regex::Regex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::attended::{Attended, Waiting};
use crate::capture::{create, create_folder};
use crate::command::{
    Command, InputError, JobId, JobKilled, JobRead, JobRow, Listed, Observer, Origin, Urgency, Wait,
};
use crate::denial::Denial;
use crate::final_text::{final_text, last_lines};
use crate::line_watch::LineWatch;
use crate::reading::{has_news, row, take_news};
use crate::run::{self, Cause, Run, STOP_GRACE, Start, State};
use crate::script_file::ScriptFile;
use crate::shell::{LONGEST_ARGUMENT, SAFE_ARGUMENT, Script, wrap_for_cwd};
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

    /// Ends the job's whole group for its owner, who is not notified: TERM, and KILL after 5 s.
    pub async fn kill(&self, job: &JobId, reason: &str) -> JobKilled {
        self.end(job, reason, |state| state.told = true).await
    }

    /// As [`Jobs::kill`] for the person: the owner is notified of this end as of any other.
    pub async fn kill_for_person(&self, job: &JobId, urgency: Urgency) -> JobKilled {
        self.end(job, "stopped by the person", |state| {
            // An end that came by itself first is told as such.
            if state.ending.cause.is_none() && state.ending.finished.is_none() {
                state.ending.urgency = urgency;
            }
        })
        .await
    }

    async fn end(&self, job: &JobId, reason: &str, note: impl FnOnce(&mut State)) -> JobKilled {
        let Some(run) = self.find(job) else { return JobKilled::NotFound(job.clone()) };
        let finished = run.state(|state| {
            note(state);
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
            run.until(|state| state.ending.observed || state.ending.unconfirmed).await;
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
        // In a file it would pass, and the shell drop it.
        if script.contains('\0') {
            return Err(SpawnError::Os("the command contains a NUL character".to_owned()));
        }
        let cwd_report = self.inner.folder.join(format!("{terminal}.cwd"));
        let file = self.script_file(&terminal, &script)?;
        let given =
            file.as_ref().map_or(Script::Given(&script), |file| Script::InFile(file.path()));
        let (argv, stdio) = match stdio {
            Stdio::Output | Stdio::Piped if job.is_some() => (shell.argv(given), Stdio::Output),
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
                (wrap_for_cwd(&shell, given, &cwd_report), Stdio::Output)
            }
            Stdio::Pty { .. } => (shell.argv(given), stdio),
        };
        let spawn = Spawn { argv, cwd: cwd.clone(), env, stdio, sandbox: sandbox.clone() };
        let process = self.inner.supervisor.spawn(spawn).await?;
        let start = Start {
            log: self.inner.folder.join(format!("{terminal}.log")),
            origin: Origin { call, owner, label, script, cwd, terminal },
            cwd_report,
            script: file,
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

    /// The file of a script that is too long for an argument, or had better not be one.
    fn script_file(&self, terminal: &str, script: &str) -> Result<Option<ScriptFile>, SpawnError> {
        if script.len() <= SAFE_ARGUMENT {
            return Ok(None);
        }
        let path = self.inner.folder.join(format!("{terminal}.script"));
        match ScriptFile::write(path, script) {
            Ok(file) => Ok(Some(file)),
            // On a full disk it is tried as an argument.
            Err(_) if script.len() < LONGEST_ARGUMENT => Ok(None),
            Err(error) => Err(SpawnError::NoRoom(script.len(), error)),
        }
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

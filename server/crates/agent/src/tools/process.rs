//! `Process`: servers and watchers that run beside the conversation, by name.
//!
//! Invariant: ready is what the process itself, or one it started, was seen to be. A port that
//! somebody else holds is a failure, before the start and after it.

use std::time::Duration;

use async_trait::async_trait;
use exec::{
    Command, Exit, JobId, JobKilled, JobRow, Listed, Listener, LocalUrl, Readiness, Status, Wait,
    Wanted,
};
use protocol::acp::ToolKind;
use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::bounds;
use crate::cards;
use crate::footprint::{self, Traces};
use crate::place::Place;
use crate::programs::{Launch, Ready};
use crate::sandbox;
use crate::tool::{Access, Card, Cx, Failure, Output, Tool};

const DEFAULT: u64 = 30_000;
const LONGEST: u64 = 600_000;
/// How long a process without a condition has to live.
const ALIVE: Duration = Duration::from_secs(1);
/// How long a stopped process may take to be gone: TERM, 5 s, KILL, and a look.
const GONE: Duration = Duration::from_secs(9);
/// Lines of its log that a result shows.
const TAIL: usize = 20;
/// Lines that `logs` shows.
const LOGS: usize = 50;
const MOST_LOGS: usize = 500;

/// Starts and manages a program that goes on running beside the conversation: a development server,
/// a watcher. Returns when it is ready, has failed, or its time is up, with the end of its output. It
/// is a job too: JobOutput reads all it prints, and you are told when it ends. It ends with the session.
#[derive(Deserialize, JsonSchema)]
pub struct Process {
    /// What to do.
    action: Action,
    /// What it is called, e.g. `web`. Absent with `start`: named after its program; otherwise the only
    /// one there is.
    name: Option<String>,
    /// The command; with `restart`: another one than before.
    command: Option<String>,
    /// Where to run it; absent: the current folder.
    cwd: Option<String>,
    /// When it is ready; all that is given has to hold. Absent: when it has run for a second.
    ready: Option<Ready>,
    /// Milliseconds to wait until it is ready, at most 600,000. Absent: 30,000.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
    /// How many lines `logs` shows, at most 500. Absent: 50.
    #[schemars(range(min = 1, max = 500))]
    lines: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Start,
    Status,
    Logs,
    Stop,
    Restart,
}

#[async_trait]
impl Tool for Process {
    const NAME: &'static str = "Process";
    const ALIASES: &'static [&'static str] = &["process"];

    fn kind() -> ToolKind {
        ToolKind::Execute
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        match self.action {
            Action::Status | Action::Logs => Ok(Access::default()),
            Action::Stop => Ok(Access { stops: vec![self.known(place)?.0], ..Access::default() }),
            Action::Start => self.launch(place)?.access(place),
            Action::Restart => {
                let (name, launch) = self.relaunch(place)?;
                let access = launch.access(place)?;
                Ok(Access { stops: vec![name], ..access })
            }
        }
    }

    fn card(&self, place: &Place) -> Card {
        let name = self.name.clone().or_else(|| Some(self.known(place).ok()?.0));
        let name = name.unwrap_or_default();
        Card::new(match (self.action, &self.command) {
            (Action::Start, Some(command)) => format!("Start `{}`", command.trim()),
            (Action::Start, None) => "Start a process".to_owned(),
            (Action::Status, _) => format!("Status of {}", or_all(&name)),
            (Action::Logs, _) => format!("Output of {name}"),
            (Action::Stop, _) => format!("Stop {name}"),
            (Action::Restart, _) => format!("Restart {name}"),
        })
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        let jobs = &cx.session.jobs;
        cx.place.programs.keep(|job| jobs.terminal(&JobId::from(job)).is_some());
        match self.action {
            Action::Start => {
                let launch = self.launch(&cx.place)?;
                let name = self.new_name(cx, &launch.script)?;
                self.start(cx, name, launch).await
            }
            Action::Restart => {
                let (name, launch) = self.relaunch(&cx.place)?;
                self.stop(cx, &name, &launch.job, "restarted").await?;
                self.start(cx, name, launch).await
            }
            Action::Stop => {
                let (name, launch) = self.known(&cx.place)?;
                let text = self.stop(cx, &name, &launch.job, "stopped by the agent").await?;
                Ok(Output::text(text))
            }
            Action::Logs => {
                let (name, launch) = self.known(&cx.place)?;
                let job = JobId::from(launch.job.as_str());
                let lines = self.lines.unwrap_or(LOGS).min(MOST_LOGS);
                let tail = cx.session.jobs.tail(&job, lines).unwrap_or_default();
                let row = row(cx, &launch.job);
                Ok(Output::text(format!(
                    "{}\n{}",
                    shown(&tail),
                    state(&name, &launch, row.as_ref())
                )))
            }
            Action::Status => self.status(cx).await,
        }
    }
}

impl Process {
    /// What `start` starts.
    fn launch(&self, place: &Place) -> Result<Launch, Failure> {
        let Some(command) = self.command.as_deref().filter(|it| !it.trim().is_empty()) else {
            return Err(Failure::new("args.command is needed to start a process."));
        };
        let cwd = match self.cwd.as_deref().filter(|it| !it.is_empty()) {
            None => place.current_folder(),
            Some(cwd) => place.folder(cwd)?,
        };
        let ready = self.ready.clone().unwrap_or_default();
        wanted(&ready)?;
        Ok(Launch { job: String::new(), script: command.to_owned(), cwd, ready })
    }

    /// What `restart` starts: what there was, but for what is given now.
    fn relaunch(&self, place: &Place) -> Result<(String, Launch), Failure> {
        let (name, mut launch) = self.known(place)?;
        if let Some(command) = self.command.as_deref().filter(|it| !it.trim().is_empty()) {
            launch.script = command.to_owned();
        }
        if let Some(cwd) = self.cwd.as_deref().filter(|it| !it.is_empty()) {
            launch.cwd = place.folder(cwd)?;
        }
        if let Some(ready) = &self.ready {
            launch.ready = ready.clone();
        }
        wanted(&launch.ready)?;
        Ok((name, launch))
    }

    /// The process that is meant.
    fn known(&self, place: &Place) -> Result<(String, Launch), Failure> {
        let all = place.programs.processes();
        match (&self.name, all.as_slice()) {
            (Some(name), _) => {
                let meant = all.iter().find(|(known, it)| known == name || it.job == *name);
                meant.cloned().ok_or_else(|| {
                    Failure::new(match all.as_slice() {
                        [] => format!(
                            "There is no process `{}`; none was started.",
                            bounds::title(name)
                        ),
                        all => format!(
                            "There is no process `{}`. There are: {}.",
                            bounds::title(name),
                            names(all)
                        ),
                    })
                })
            }
            (None, [only]) => Ok(only.clone()),
            (None, []) => Err(Failure::new("No process was started.")),
            (None, all) => {
                Err(Failure::new(format!("args.name is needed: there are {}.", names(all))))
            }
        }
    }

    /// The name of a new process, which no running one may have.
    fn new_name(&self, cx: &Cx, script: &str) -> Result<String, Failure> {
        let running = |name: &str| {
            let launch = cx.place.programs.get(name)?;
            row(cx, &launch.job).filter(|it| !it.status.is_finished())
        };
        match &self.name {
            Some(name) => match running(name) {
                Some(row) => Err(Failure::new(format!(
                    "The process `{name}` runs already, as {}. Restart it, stop it, or give another name.",
                    row.job
                ))),
                None => Ok(bounds::title(name)),
            },
            None => {
                let commands = script::parse(script).commands;
                let program = commands.iter().find_map(script::Command::program);
                let program = program.unwrap_or("process");
                let numbered = (2..).map(|n| format!("{program}-{n}"));
                let mut names = std::iter::once(program.to_owned()).chain(numbered);
                Ok(names.find(|it| running(it).is_none()).unwrap_or_default())
            }
        }
    }

    async fn start(&self, cx: &Cx, name: String, mut launch: Launch) -> Result<Output, Failure> {
        if let Some(reason) = exec::interactive_reason(&launch.script) {
            return Err(Failure::new(format!("Not run: {reason}.")));
        }
        let (wanted, pattern) = wanted(&launch.ready)?;
        let ports = [wanted.port, wanted.url.as_ref().map(LocalUrl::port)];
        for port in ports.into_iter().flatten() {
            free(cx, port).await?;
        }
        let world = &cx.session.world;
        let env = world.command_environment().await;
        let mut command = Command::new(launch.script.clone(), world.shell(), &launch.cwd, env);
        command.label = format!("process `{name}`");
        command.call = cx.call.clone();
        command.owner = cx.session.id.clone();
        command.sandbox = sandbox::of(cx).await;
        footprint::begin(cx, &launch.script).await;
        let jobs = &cx.session.jobs;
        let attended = match jobs.start_attended(command, pattern).await {
            Ok(attended) => attended,
            Err(err) => return sandbox::not_started(cx, err),
        };
        let job = attended.job.clone();
        launch.job = job.to_string();
        cx.place.programs.enter(name.clone(), launch);
        let within = match wanted.is_empty() {
            true => ALIVE,
            false => Duration::from_millis(self.timeout.unwrap_or(DEFAULT).min(LONGEST)),
        };
        let begun = std::time::Instant::now();
        let readiness = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => {
                jobs.cancel(&job).await;
                footprint::abandon(cx);
                return Err(Failure::Cancelled);
            }
            readiness = jobs.ready(&job, &wanted, within) => readiness,
        };
        if let Readiness::Ended { .. } = readiness {
            attended.saw_end();
        }
        let traces = footprint::finish(cx).await;
        let told = Told { name: &name, job: &job, took: begun.elapsed(), within, wanted: &wanted };
        Ok(told.output(cx, &readiness, traces))
    }

    async fn stop(&self, cx: &Cx, name: &str, job: &str, reason: &str) -> Result<String, Failure> {
        let jobs = &cx.session.jobs;
        let id = JobId::from(job);
        match jobs.kill(&id, reason).await {
            JobKilled::Stopped => Ok(format!("process `{name}` ({job}) stopped.")),
            JobKilled::AlreadyFinished(status) => {
                Ok(format!("process `{name}` ({job}) had ended already: {status}."))
            }
            JobKilled::NotFound(_) => Ok(format!("process `{name}` had ended already.")),
            JobKilled::Stopping => {
                // Its owner waits: nobody else is told of the end.
                jobs.read(&id, "Process", Wait::Exit, GONE).await;
                match row(cx, job).filter(|it| !it.status.is_finished()) {
                    None => Ok(format!("process `{name}` ({job}) stopped; it had to be killed.")),
                    Some(_) => Err(Failure::new(format!("process `{name}` ({job}) does not end."))),
                }
            }
            JobKilled::Unconfirmed => Err(Failure::new(format!(
                "process `{name}` ({job}): it is unconfirmed whether all of it ended."
            ))),
        }
    }

    async fn status(&self, cx: &Cx) -> Result<Output, Failure> {
        let all = match &self.name {
            Some(_) => vec![self.known(&cx.place)?],
            None => cx.place.programs.processes(),
        };
        if all.is_empty() {
            return Ok(Output::text("No process was started."));
        }
        let mut lines = Vec::new();
        for (name, launch) in &all {
            let mut line = state(name, launch, row(cx, &launch.job).as_ref());
            let (wanted, _) = wanted(&launch.ready)?;
            let job = JobId::from(launch.job.as_str());
            let look = cx.session.jobs.ready(&job, &wanted, Duration::ZERO).await;
            match look {
                Readiness::Ready { .. } => line.push_str(" · ready"),
                Readiness::TimedOut { missing } => {
                    line.push_str(&format!(" · not ready: {}", missing.join("; ")));
                }
                Readiness::Foreign { .. }
                | Readiness::Running
                | Readiness::Ended { .. }
                | Readiness::NotFound => {}
            }
            lines.push(format!("{line} · `{}`", bounds::title(&launch.script)));
        }
        Ok(Output::text(lines.join("\n")))
    }
}

/// A start as it is told.
struct Told<'a> {
    name: &'a str,
    job: &'a JobId,
    took: Duration,
    within: Duration,
    wanted: &'a Wanted,
}

impl Told<'_> {
    fn output(&self, cx: &Cx, readiness: &Readiness, traces: Traces) -> Output {
        let (name, job) = (self.name, self.job);
        let took = self.took.as_secs_f64();
        let (text, failed) = match readiness {
            Readiness::Ready { line } => {
                let mut signs: Vec<String> = Vec::new();
                signs.extend(self.wanted.port.map(|it| format!("it listens on port {it}")));
                signs.extend(self.wanted.url.as_ref().map(|_| "the URL answers".to_owned()));
                signs.extend(line.as_ref().map(|it| format!("it printed `{}`", bounds::title(it))));
                let signs = signs.join(", ");
                (format!("process `{name}` ({job}) is ready after {took:.1} s: {signs}."), false)
            }
            Readiness::Running => {
                let text = format!(
                    "process `{name}` ({job}) is running. No condition was given that tells when it is ready."
                );
                (text, false)
            }
            Readiness::Ended { status: Status::Completed, .. } if self.wanted.is_empty() => {
                (format!("process `{name}` ({job}) has ended already, with exit code 0."), false)
            }
            Readiness::Ended { status, exit } => {
                let how = match (status, exit) {
                    (Status::Completed | Status::Failed, Some(exit)) => exit.to_string(),
                    (status, _) => status.to_string(),
                };
                let text = format!(
                    "process `{name}` ({job}) failed: it ended before it was ready ({how})."
                );
                (text, true)
            }
            Readiness::Foreign { port, owner } => {
                let owner = owner.as_ref().map_or("a process of another user".to_owned(), |it| {
                    format!("pid {} (`{}`)", it.pid, bounds::title(&it.command))
                });
                let text = format!(
                    "process `{name}` ({job}) failed to become ready: {owner} listens on port {port}, \
                     which it did not start. It runs on; stop it if it is of no use."
                );
                (text, true)
            }
            Readiness::TimedOut { missing } => {
                let text = format!(
                    "process `{name}` ({job}) timed out: after {:.0} s it is not ready, {}. It runs on; \
                     look at its status later, or stop it.",
                    self.within.as_secs_f64(),
                    missing.join("; ")
                );
                (text, true)
            }
            Readiness::NotFound => (format!("process `{name}` ({job}) is gone."), true),
        };
        let tail = cx.session.jobs.tail(job, TAIL).unwrap_or_default();
        let mut lines = vec![text, "[its output so far]".to_owned(), shown(&tail)];
        let denied = cx.session.jobs.denied(job);
        lines.extend(sandbox::told(&denied));
        lines.extend(traces.lines);
        let mut card: Vec<_> =
            cx.session.jobs.terminal(job).iter().map(|it| cards::terminal(it)).collect();
        card.extend(traces.card);
        let mut output = Output::text(lines.join("\n")).with_card(card);
        output.failed = failed;
        output.denied = if failed { denied } else { Vec::new() };
        output.raw = Some(json!({ "jobId": job.to_string(), "name": name }));
        output
    }
}

/// What a process is waited for, and the line it prints then.
fn wanted(ready: &Ready) -> Result<(Wanted, Option<Regex>), Failure> {
    let url = ready.url.as_deref().map(LocalUrl::parse).transpose();
    let url = url.map_err(|err| Failure::new(format!("args.ready.url: {err}.")))?;
    let pattern = ready.log_pattern.as_deref().map(Regex::new).transpose().map_err(|err| {
        let reason = err.to_string();
        let reason = reason.lines().last().unwrap_or_default();
        Failure::new(format!("args.ready.log_pattern is no regular expression: {reason}."))
    })?;
    Ok((Wanted { port: ready.port, url, line: pattern.is_some() }, pattern))
}

/// Fails where somebody listens on the port already: nothing could be told from it.
async fn free(cx: &Cx, port: u16) -> Result<(), Failure> {
    let running = cx.session.jobs.list(Listed::Active);
    let look = move || {
        let whole = exec::listener(port, None);
        let job = running
            .iter()
            .find(|it| exec::listener(port, Some(it.pid)) == Listener::Family)
            .map(|it| it.job.to_string());
        (whole, job)
    };
    let (listener, job) =
        tokio::task::spawn_blocking(look).await.unwrap_or((Listener::Unknown, None));
    let who = match (listener, job) {
        (Listener::Nobody | Listener::Family | Listener::Unknown, _) => return Ok(()),
        (Listener::Other(_), Some(job)) => format!("the job {job}"),
        (Listener::Other(Some(owner)), None) => {
            format!("pid {} (`{}`)", owner.pid, bounds::title(&owner.command))
        }
        (Listener::Other(None), None) => "a process of another user".to_owned(),
    };
    Err(Failure::new(format!(
        "Port {port} is in use by {who}, so nothing was started. Stop that, or use another port."
    )))
}

fn row(cx: &Cx, job: &str) -> Option<JobRow> {
    cx.session.jobs.list(Listed::All).into_iter().find(|it| it.job.0 == job)
}

fn state(name: &str, launch: &Launch, row: Option<&JobRow>) -> String {
    let job = &launch.job;
    match row {
        Some(row) => {
            let exit = match &row.exit {
                Some(Exit::Code(code)) => format!(", exit code {code}"),
                Some(Exit::Signal(signal)) => format!(", signal {signal}"),
                None => String::new(),
            };
            let seconds = row.elapsed.as_secs();
            format!(
                "process `{name}` ({job}): {}{exit} · {seconds} s · pid {}",
                row.status, row.pid
            )
        }
        None => format!("process `{name}` ({job}): ended"),
    }
}

fn names(all: &[(String, Launch)]) -> String {
    all.iter().map(|(name, _)| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

fn or_all(name: &str) -> &str {
    if name.is_empty() { "all processes" } else { name }
}

fn shown(tail: &str) -> String {
    if tail.trim().is_empty() { "(no output)".to_owned() } else { bounds::visible(tail) }
}

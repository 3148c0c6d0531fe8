//! `Bash`: runs a shell command.

use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use exec::{Command, Ended, Exit, Promotion, Ran};
use protocol::acp::ToolKind;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::bounds;
use crate::cards;
use crate::footprint::{self, Traces};
use crate::permission::shell;
use crate::place::Place;
use crate::sandbox;
use crate::tool::{Access, Card, CommandAccess, Cx, Failure, Form, Output, Tool};

const LONGEST: u64 = 600_000;
const YIELD: u64 = 90_000;
const LONGEST_JOB: u64 = 21_600_000;
/// The most of a log that is kept as an artifact, in bytes.
const LOG: u64 = 72 << 20;

/// Runs a shell command and returns its output, standard output and errors in the order they came.
/// Nothing can be typed into it. The working directory carries over to the next command while it
/// stays inside the workspace. A command that takes long goes on as a background job whose id is
/// returned; you are told when it ends.
#[derive(Deserialize, JsonSchema)]
pub struct Bash {
    /// The command.
    command: String,
    /// What it does, in five to ten words.
    description: Option<String>,
    /// Where to run it; absent: where the last command ended.
    cwd: Option<String>,
    /// Milliseconds it may take in the foreground, at most 600,000. Absent: 120,000.
    #[schemars(range(min = 1))]
    timeout: Option<u64>,
    /// Milliseconds after which it goes on in the background; 0: only at its timeout. Absent: 90,000.
    yield_time_ms: Option<u64>,
    /// Start it in the background and return at once.
    #[serde(default)]
    run_in_background: bool,
    /// Milliseconds after which it is ended wherever it runs; 0: never.
    deadline: Option<u64>,
    /// Let a background command run without a time limit.
    #[serde(default)]
    disable_timeout: bool,
}

#[async_trait]
impl Tool for Bash {
    const NAME: &'static str = "Bash";
    const ALIASES: &'static [&'static str] = &["bash", "shell", "run_command", "Shell"];
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("workdir", "cwd"), ("cmd", "command"), ("timeout_ms", "deadline")];

    fn kind() -> ToolKind {
        ToolKind::Execute
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        if self.command.trim().is_empty() {
            return Err(Failure::new("args.command is empty. Give the command to run."));
        }
        if self.command.contains('\0') {
            return Err(Failure::new("args.command contains a NUL character."));
        }
        let cwd = self.folder(place)?;
        let there = place.from(&cwd);
        let redirected = shell::redirected(&self.command);
        Ok(Access {
            // A file whose name is only known when the command runs is judged with the command.
            writes: redirected.iter().filter_map(|it| there.target(it).ok()).collect(),
            command: Some(CommandAccess { script: self.command.clone(), cwd, form: Form::Command }),
            ..Access::default()
        })
    }

    fn card(&self, _place: &Place) -> Card {
        Card::new(format!("Run `{}`", self.command.trim()))
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        if let Some(reason) = exec::interactive_reason(&self.command) {
            let instead = match cx.dialect.offers("Terminal") {
                true => format!(" {} runs what needs one.", cx.dialect.called("Terminal")),
                false => String::new(),
            };
            return Err(Failure::new(format!("Not run: {reason}.{instead}")));
        }
        let command = self.command(cx).await?;
        let started = command.cwd.clone();
        if self.run_in_background {
            footprint::begin_job(cx, &self.command).await;
            let job = match cx.session.jobs.start(command).await {
                Ok(job) => job,
                Err(err) => return sandbox::not_started(cx, err),
            };
            let text = format!(
                "[background job {job}] started. You are told when it ends; read its output with \
                 {}, stop it with {}.",
                cx.dialect.called("JobOutput"),
                cx.dialect.called("JobKill")
            );
            let lines: Vec<String> = [text].into_iter().chain(self.moved(cx, &started)).collect();
            return Ok(Output::text(lines.join("\n")));
        }
        footprint::begin(cx, &self.command).await;
        let ran = match cx.session.jobs.run(command, &cx.cancel).await {
            Ok(ran) => ran,
            Err(err) => return sandbox::not_started(cx, err),
        };
        let traces = match ran.ended {
            Ended::Promoted { .. } => footprint::goes_on(cx).await,
            Ended::Cancelled => {
                footprint::abandon(cx);
                Traces::default()
            }
            Ended::Exited(_) | Ended::TimedOut | Ended::Killed => footprint::finish(cx).await,
        };
        self.told(cx, &started, ran, traces)
    }
}

impl Bash {
    fn folder(&self, place: &Place) -> Result<PathBuf, Failure> {
        match self.cwd.as_deref().filter(|it| !it.is_empty()) {
            None => Ok(place.current_folder()),
            Some(cwd) => place.folder(cwd),
        }
    }

    async fn command(&self, cx: &Cx) -> Result<Command, Failure> {
        let config = cx.session.world.config();
        let settings = &config.settings.shell;
        let world = &cx.session.world;
        let cwd = self.folder(&cx.place)?;
        let (shell, env) = if shell::is_read_only(&self.command, &cx.place.from(&cwd)) {
            let env = world.reading_environment(&cx.place).await;
            let path = env.iter().find(|(name, _)| name == "PATH").map(|(_, it)| it.clone());
            (world.shell_from(&path.unwrap_or_default()), env)
        } else {
            (world.shell(), world.command_environment().await)
        };
        let mut command = Command::new(self.command.clone(), shell, cwd, env);
        let time = cx.dialect.time;
        let limit = |ms: u64| Some(Duration::from_millis(ms));
        if self.run_in_background {
            let own = self.timeout.or(self.deadline).filter(|it| *it != 0);
            let usual = config.settings.jobs.default_timeout.filter(|it| *it != 0);
            let longest = own.map(|it| it.min(LONGEST_JOB)).or(usual).or(time.background);
            command.timeout = longest.filter(|_| !self.disable_timeout).and_then(limit);
        } else {
            let timeout = self.timeout.or(settings.timeout).unwrap_or(time.foreground);
            command.timeout = limit(timeout.clamp(1, LONGEST));
            command.yield_after = match self.yield_time_ms.unwrap_or(YIELD) {
                0 => None,
                ms => limit(ms),
            };
            command.deadline = self.deadline.filter(|it| *it != 0).and_then(limit);
        }
        command.sandbox = sandbox::of(cx).await;
        command.label = self.description.clone().unwrap_or_else(|| self.command.clone());
        command.call = cx.call.clone();
        command.owner = cx.session.id.clone();
        Ok(command)
    }

    fn told(&self, cx: &Cx, started: &Path, ran: Ran, traces: Traces) -> Result<Output, Failure> {
        let mut text = bounds::head_and_tail(
            ran.output.text.trim_end(),
            cx.dialect.printed,
            cx.dialect,
            || self.whole(cx, &ran),
        );
        if ran.ended == Ended::Cancelled {
            return Err(Failure::Cancelled);
        }
        let seconds = ran.elapsed.as_secs_f64();
        let (status, failed) = match &ran.ended {
            Ended::Exited(exit) => exit_status(exit, &self.command),
            Ended::Promoted { job, why } => (promoted(cx, &job.to_string(), why), false),
            Ended::TimedOut => (
                Some(format!(
                    "[timed out after {seconds:.0} s and was killed; what it printed until then is above]"
                )),
                true,
            ),
            Ended::Killed => (Some("[killed]".into()), true),
            Ended::Cancelled => (None, true),
        };
        if text.is_empty() && !failed && matches!(ran.ended, Ended::Exited(_)) {
            text.push_str("(no output)");
        }
        let mut lines = vec![text];
        lines.extend(status);
        if 1.0 <= seconds && matches!(ran.ended, Ended::Exited(_)) {
            lines.push(format!("[took {seconds:.1} s]"));
        }
        if 3.0 <= seconds && pipes_into_filter(&self.command) {
            lines.push(
                "[note: the command pipes a slow check into tail, head or grep: what they drop is lost, \
                 and the exit status is the filter's. Run the check alone; long output is kept whole.]"
                    .into(),
            );
        }
        if ran.unconfirmed {
            lines.push("[some of its processes could not be confirmed to have ended]".into());
        }
        lines.extend(sandbox::told(&ran.denied));
        lines.extend(self.moved(cx, started));
        lines.extend(self.carry_cwd(cx, &ran));
        lines.extend(traces.lines);
        let lines: Vec<String> = lines.into_iter().filter(|it| !it.is_empty()).collect();
        let exit = match &ran.ended {
            Ended::Exited(Exit::Code(code)) => json!({ "exitCode": code }),
            Ended::Exited(Exit::Signal(signal)) => json!({ "signal": signal }),
            Ended::Promoted { job, .. } => json!({ "jobId": job.to_string() }),
            Ended::TimedOut => json!({ "timedOut": true }),
            Ended::Killed | Ended::Cancelled => json!({ "killed": true }),
        };
        let mut card = vec![cards::terminal(&ran.terminal)];
        card.extend(traces.card);
        let mut output = Output::text(lines.join("\n")).with_card(card);
        output.failed = failed;
        output.raw = Some(exit);
        output.denied = if failed { ran.denied } else { Vec::new() };
        Ok(output)
    }

    /// Keeps the whole output, also what is not held in memory any more.
    fn whole(&self, cx: &Cx, ran: &Ran) -> std::io::Result<String> {
        match &ran.log {
            Some(log) if 0 < ran.output.omitted_bytes => {
                let bytes = cx.vfs.read_bytes(log, LOG)?;
                cx.session.artifacts.save(&exec::final_text(&bytes))
            }
            Some(_) | None => cx.session.artifacts.save(&ran.output.text),
        }
    }

    /// Why the command did not start where the last one ended.
    fn moved(&self, cx: &Cx, started: &Path) -> Option<String> {
        let last = &cx.place.cwd;
        let gone = self.cwd.as_deref().is_none_or(str::is_empty) && started != last;
        gone.then(|| {
            format!("[{} is gone; the command ran in {}]", last.display(), started.display())
        })
    }

    /// The next command starts where this one ended, while that is inside the workspace.
    fn carry_cwd(&self, cx: &Cx, ran: &Ran) -> Option<String> {
        let cwd = ran.cwd.clone()?;
        if cwd == cx.place.cwd || self.cwd.is_some() {
            return None;
        }
        let target = cx.place.target(&cwd.display().to_string()).ok()?;
        if target.inside {
            cx.session.set_cwd(cwd.clone());
            return Some(format!("[working directory: {}]", cwd.display()));
        }
        Some(format!(
            "[{} lies outside the workspace; the working directory is {} again]",
            cwd.display(),
            cx.place.cwd.display()
        ))
    }
}

fn exit_status(exit: &Exit, script: &str) -> (Option<String>, bool) {
    match exit {
        Exit::Code(0) => (None, false),
        Exit::Code(1) if !exec::exit_is_error(script, exit) => {
            (Some("[exit code 1: no match, or different]".into()), false)
        }
        Exit::Code(code) => (Some(format!("[exit code {code}]")), true),
        Exit::Signal(signal) => (Some(format!("[ended by signal {signal}]")), true),
    }
}

fn promoted(cx: &Cx, job: &str, why: &Promotion) -> Option<String> {
    let reason = match why {
        Promotion::Timeout => "its timeout passed",
        Promotion::Yield => "it takes long",
        Promotion::Asked => "the person sent it to the background",
        Promotion::GroupAlive(_) => "the command ended but processes it started still run",
    };
    Some(format!(
        "[background job {job}] {reason}: it goes on in the background, the output so far is above. You are \
         told when it ends; {} reads more, {} stops it.",
        cx.dialect.called("JobOutput"),
        cx.dialect.called("JobKill")
    ))
}

fn pipes_into_filter(script: &str) -> bool {
    let filters =
        |it: &script::Command| it.fed && matches!(it.program(), Some("tail" | "head" | "grep"));
    script.contains('|') && script::parse(script).commands.iter().any(filters)
}

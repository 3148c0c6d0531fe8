//! `Terminal`: interactive programs on a pseudo-terminal, typed into and looked at.
//!
//! Invariant: nothing of the agent's is typed into a password prompt; the person is told of one and
//! types it themselves.

use std::time::Duration;

use async_trait::async_trait;
use exec::{
    Came, Command, Exit, Grammar, InputError, JobId, JobKilled, Status, Stdio, Typed, Until, View,
};
use protocol::acp::{Notice, NoticeSeverity, SessionUpdate, ToolKind};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::bounds;
use crate::cards;
use crate::footprint::{self, Traces};
use crate::permission::shell;
use crate::place::Place;
use crate::programs::{Launch, Ready};
use crate::sandbox;
use crate::tool::{Access, Card, CommandAccess, Cx, Failure, Form, Output, Tool, text_content};

const COLS: u16 = 80;
const ROWS: u16 = 24;
const TIMEOUT: u64 = 10_000;
const LONGEST: u64 = 600_000;
const QUIET: u64 = 300;
const LONGEST_QUIET: u64 = 30_000;
/// Characters of one input.
const INPUT: usize = 20_000;

/// Drives an interactive program on a terminal: a REPL, a debugger, ssh, a program that asks or fills
/// the screen. `start` and `send` wait until `wait_for` shows up or the program is quiet, and give the
/// screen. Input is typed as it is, newlines included; keys go by names in angle brackets: `<enter>`
/// `<tab>` `<esc>` `<space>` `<backspace>` `<up>` `<down>` `<left>` `<right>` `<home>` `<end>` `<pageup>`
/// `<pagedown>` `<f1>`, with `<c-…>` `<m-…>` `<s-…>` for control, alt and shift, e.g. `<c-c>`; `<lt>` is
/// a `<`. A password is never typed by you: the person is told and types it. It is a job too and ends
/// with the session.
#[derive(Deserialize, JsonSchema)]
pub struct Terminal {
    /// What to do.
    action: Action,
    /// The terminal's id, e.g. `term-1`; absent: the only one there is.
    terminal_id: Option<String>,
    /// With `start`: the program; absent: a shell.
    command: Option<String>,
    /// With `start`: where to run it; absent: the current folder.
    cwd: Option<String>,
    /// With `send`: what to type.
    input: Option<String>,
    /// Text to wait for, as it is printed from now on.
    wait_for: Option<String>,
    /// Without `wait_for`: milliseconds without output after which the program counts as quiet. Absent: 300.
    quiet: Option<u64>,
    /// Milliseconds to wait at most, up to 600,000. Absent: 10,000.
    timeout: Option<u64>,
    /// How many lines that scrolled off the top are shown too, at most 500. Absent: 0.
    #[schemars(range(max = 500))]
    lines_above: Option<usize>,
    /// Columns, 2 to 300. Absent: 80.
    #[schemars(range(min = 2, max = 300))]
    cols: Option<u16>,
    /// Rows, 1 to 120. Absent: 24.
    #[schemars(range(min = 1, max = 120))]
    rows: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Action {
    Start,
    Send,
    Read,
    Resize,
    Stop,
}

#[async_trait]
impl Tool for Terminal {
    const NAME: &'static str = "Terminal";
    const ALIASES: &'static [&'static str] =
        &["terminal", "pty_start", "pty_send", "pty_read", "pty_resize", "pty_stop"];
    const FIELDS: &'static [(&'static str, &'static str)] = &[("id", "terminal_id")];

    fn kind() -> ToolKind {
        ToolKind::Execute
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        match self.action {
            Action::Start => self.launch(place)?.access(place),
            Action::Send => self.types(place),
            Action::Read | Action::Resize => {
                self.known(place)?;
                Ok(Access::default())
            }
            Action::Stop => Ok(Access { stops: vec![self.known(place)?.0], ..Access::default() }),
        }
    }

    fn card(&self, place: &Place) -> Card {
        let id = self.known(place).map_or_else(|_| "a terminal".to_owned(), |(id, _)| id);
        Card::new(match self.action {
            Action::Start => match self.command.as_deref().map(str::trim) {
                Some(command) if !command.is_empty() => format!("Terminal `{command}`"),
                Some(_) | None => "Terminal".to_owned(),
            },
            Action::Send => {
                format!("Type `{}` into {id}", self.input.as_deref().unwrap_or_default())
            }
            Action::Read => format!("Look at {id}"),
            Action::Resize => format!("Resize {id}"),
            Action::Stop => format!("Stop {id}"),
        })
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        let jobs = &cx.session.jobs;
        cx.place.programs.keep(|job| jobs.terminal(&JobId::from(job)).is_some());
        if let Action::Start = self.action {
            return self.start(cx).await;
        }
        let (id, launch) = self.known(&cx.place)?;
        let job = JobId::from(id.as_str());
        let Some(attended) = jobs.attend(&job) else { return Err(gone(&id)) };
        match self.action {
            Action::Start | Action::Send => self.send(cx, &job, &launch).await,
            Action::Read => {
                let came = match (&self.wait_for, self.quiet) {
                    (None, None) => None,
                    (_, _) => Some(self.wait(cx, &job, None).await?),
                };
                self.shown(cx, &job, &launch, came)
            }
            Action::Resize => {
                let old = jobs.view(&job, 0).ok_or_else(|| gone(&id))?.screen;
                let (cols, rows) = (self.cols.unwrap_or(old.cols), self.rows.unwrap_or(old.rows));
                jobs.resize(&job, cols, rows).map_err(|err| input_failed(&err))?;
                let came = self.wait(cx, &job, None).await?;
                self.shown(cx, &job, &launch, Some(came))
            }
            Action::Stop => {
                let killed = jobs.kill(&job, "stopped by the agent").await;
                attended.saw_end();
                Ok(Output::text(match killed {
                    JobKilled::Stopped | JobKilled::NotFound(_) => format!("{id} stopped."),
                    JobKilled::AlreadyFinished(status) => {
                        format!("{id} had ended already: {status}.")
                    }
                    JobKilled::Stopping => format!("{id} is stopping; it has up to 5 s to end."),
                    JobKilled::Unconfirmed => {
                        format!("{id}: it is unconfirmed whether all of it ended.")
                    }
                }))
            }
        }
    }
}

impl Terminal {
    fn launch(&self, place: &Place) -> Result<Launch, Failure> {
        let script = self.command.as_deref().map(str::trim).unwrap_or_default();
        let cwd = match self.cwd.as_deref().filter(|it| !it.is_empty()) {
            None => place.current_folder(),
            Some(cwd) => place.folder(cwd)?,
        };
        let script = match (script, place.grammar) {
            // A shell replaces itself.
            ("", Grammar::Posix) => "exec \"${SHELL:-sh}\"",
            ("", Grammar::Other) => "sh -c 'exec \"${SHELL:-sh}\"'",
            (script, Grammar::Posix | Grammar::Other) => script,
        };
        let ready = Ready::default();
        Ok(Launch { job: String::new(), script: script.to_owned(), cwd, ready })
    }

    fn types(&self, place: &Place) -> Result<Access, Failure> {
        let (terminal, launch) = self.known(place)?;
        let input = self.input.as_deref().unwrap_or_default();
        if input.is_empty() {
            return Err(Failure::new("args.input is needed: give what to type, e.g. `ls<enter>`."));
        }
        let long = input.chars().count();
        if INPUT < long {
            return Err(Failure::new(format!(
                "args.input has {long} characters; at most {INPUT} are typed at once. Write a file instead."
            )));
        }
        let there = place.from(&launch.cwd);
        // The program may be a shell. Inside the workspace a `>` may just as well compare.
        let redirected = shell::redirected(input);
        let writes = redirected.iter().filter_map(|it| there.target(it).ok());
        Ok(Access {
            writes: writes.filter(|it| !it.inside).collect(),
            command: Some(CommandAccess {
                script: input.to_owned(),
                cwd: launch.cwd,
                form: Form::Typed { terminal },
            }),
            ..Access::default()
        })
    }

    /// The terminal that is meant.
    fn known(&self, place: &Place) -> Result<(String, Launch), Failure> {
        let all = place.programs.terminals();
        let ids = || all.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>().join(", ");
        match (&self.terminal_id, all.as_slice()) {
            (_, []) => Err(Failure::new("There is no terminal; start one.")),
            (Some(id), _) => all.iter().find(|(known, _)| known == id).cloned().ok_or_else(|| {
                Failure::new(format!(
                    "There is no terminal {}. There are: {}.",
                    bounds::title(id),
                    ids()
                ))
            }),
            (None, [only]) => Ok(only.clone()),
            (None, _) => {
                Err(Failure::new(format!("args.terminal_id is needed: there are {}.", ids())))
            }
        }
    }

    async fn start(&self, cx: &Cx) -> Result<Output, Failure> {
        let mut launch = self.launch(&cx.place)?;
        let world = &cx.session.world;
        let env = world.terminal_environment().await;
        let mut command = Command::new(launch.script.clone(), world.shell(), &launch.cwd, env);
        command.stdio =
            Stdio::Pty { cols: self.cols.unwrap_or(COLS), rows: self.rows.unwrap_or(ROWS) };
        command.sandbox = sandbox::of(cx).await;
        let name = self.command.as_deref().map(str::trim).filter(|it| !it.is_empty());
        command.label = format!("terminal `{}`", name.unwrap_or("shell"));
        command.call = cx.call.clone();
        command.owner = cx.session.id.clone();
        footprint::begin_typed(cx).await;
        let jobs = &cx.session.jobs;
        let attended = match jobs.start_attended(command, None).await {
            Ok(attended) => attended,
            Err(err) => return sandbox::not_started(cx, err),
        };
        let job = attended.job.clone();
        launch.job = job.to_string();
        cx.place.programs.enter(job.to_string(), launch.clone());
        match self.wait(cx, &job, Some(exec::Mark::start())).await {
            Ok(came) => {
                let traces = footprint::finish(cx).await;
                let mut output = self.shown(cx, &job, &launch, Some(came))?;
                output.card.insert(0, cards::terminal(&job.to_string()));
                Ok(with_traces(output, traces))
            }
            Err(failure) => {
                jobs.cancel(&job).await;
                footprint::abandon(cx);
                Err(failure)
            }
        }
    }

    async fn send(&self, cx: &Cx, job: &JobId, launch: &Launch) -> Result<Output, Failure> {
        let jobs = &cx.session.jobs;
        let strokes = exec::strokes(self.input.as_deref().unwrap_or_default());
        let mark = jobs.mark(job).ok_or_else(|| gone(&job.to_string()))?;
        footprint::begin_typed(cx).await;
        let typed = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(Failure::Cancelled),
            typed = jobs.type_into(job, &strokes) => typed.map_err(|err| input_failed(&err)),
        };
        let (came, left) = match typed {
            Ok(Typed::All) => (self.wait(cx, job, Some(mark)).await, 0),
            Ok(Typed::AskedForSecret { left }) => (Ok(Came::Secret), left),
            Err(failure) => (Err(failure), 0),
        };
        let came = match came {
            Ok(came) => came,
            Err(failure) => {
                footprint::abandon(cx);
                return Err(failure);
            }
        };
        let traces = footprint::finish(cx).await;
        let mut output = self.shown(cx, job, launch, Some(came))?;
        if 0 < left {
            let what =
                if left == strokes.len() { "Nothing was typed" } else { "The rest was not typed" };
            output = output.note(format!("[{what}: a password is the person's to give.]"));
            output.failed = true;
        }
        Ok(with_traces(output, traces))
    }

    async fn wait(&self, cx: &Cx, job: &JobId, mark: Option<exec::Mark>) -> Result<Came, Failure> {
        let jobs = &cx.session.jobs;
        let mark = mark.or_else(|| jobs.mark(job)).ok_or_else(|| gone(&job.to_string()))?;
        let until = Until {
            text: self.wait_for.clone().filter(|it| !it.is_empty()),
            quiet: Duration::from_millis(self.quiet.unwrap_or(QUIET).min(LONGEST_QUIET)),
            within: Duration::from_millis(self.timeout.unwrap_or(TIMEOUT).min(LONGEST)),
        };
        tokio::select! {
            biased;
            () = cx.cancel.cancelled() => Err(Failure::Cancelled),
            came = jobs.await_terminal(job, &mark, &until) => came.ok_or_else(|| gone(&job.to_string())),
        }
    }

    /// The screen as it is told; the person is told of a password prompt.
    fn shown(
        &self,
        cx: &Cx,
        job: &JobId,
        launch: &Launch,
        came: Option<Came>,
    ) -> Result<Output, Failure> {
        let view = cx.session.jobs.view(job, self.lines_above.unwrap_or_default());
        let view = view.ok_or_else(|| gone(&job.to_string()))?;
        let mut lines = vec![head(job, &view)];
        if !view.screen.above.is_empty() {
            lines.extend(view.screen.above.iter().cloned());
            lines.push("[the screen]".to_owned());
        }
        match view.screen.lines.is_empty() {
            true => lines.push("(empty)".to_owned()),
            false => lines.extend(view.screen.lines.iter().cloned()),
        }
        let marked: Vec<String> =
            view.screen.highlighted.iter().map(|(row, text)| format!("{row}: `{text}`")).collect();
        if !marked.is_empty() {
            lines.push(format!("[highlighted, by row: {}]", marked.join(", ")));
        }
        let wanted = self.wait_for.as_deref().map(bounds::title).unwrap_or_default();
        match came {
            Some(Came::Late) if self.wait_for.is_some() => {
                lines.push(format!("[`{wanted}` did not come in time; the program goes on]"));
            }
            Some(Came::Late) => lines.push("[still printing]".to_owned()),
            Some(Came::Ended) if self.wait_for.is_some() => {
                lines.push(format!("[it ended before `{wanted}` came]"));
            }
            Some(Came::Text | Came::Quiet | Came::Ended | Came::Secret) | None => {}
        }
        if let Some(question) = &view.secret {
            lines.push(format!(
                "[{job} asks for a password (`{}`). It is the person's to type, and they have been told. \
                 Wait for what comes next with `read` and `wait_for`.]",
                bounds::title(question)
            ));
            if view.secret_is_new {
                hand_over(cx, job, launch, question);
            }
        }
        let text = bounds::visible(&lines.join("\n"));
        let mut output = Output::text(text.clone())
            .with_card(vec![text_content(bounds::fitting(&text, 20_000))]);
        output.raw = Some(json!({ "terminalId": job.to_string(), "status": view.status.as_str() }));
        Ok(output)
    }
}

fn head(job: &JobId, view: &View) -> String {
    let state = match (&view.exit, view.status) {
        (_, Status::Running) => "running".to_owned(),
        (Some(Exit::Code(code)), Status::Completed | Status::Failed) => {
            format!("ended, exit code {code}")
        }
        (Some(Exit::Signal(signal)), Status::Failed) => format!("ended by signal {signal}"),
        (_, status) => status.to_string(),
    };
    let screen = &view.screen;
    let (col, row) = screen.cursor;
    let full = if screen.full { " · full screen" } else { "" };
    format!(
        "[{job} · {state} · {}×{} · cursor at row {row}, column {col}{full}]",
        screen.cols, screen.rows
    )
}

/// Tells the person that a program waits for a password of theirs.
fn hand_over(cx: &Cx, job: &JobId, launch: &Launch, question: &str) {
    let question = bounds::title(question);
    let text = format!(
        "{job} (`{}`) asks: {question} Type the answer into the terminal; the agent does not see it.",
        bounds::title(&launch.script)
    );
    let notice = Notice::new(NoticeSeverity::Warning, text);
    cx.session.transcript.send(SessionUpdate::Notice(notice));
    cx.session.calls.asking.asked(&cx.session, &cx.call, job, &question);
}

fn with_traces(mut output: Output, traces: Traces) -> Output {
    if !traces.lines.is_empty() {
        output = output.note(traces.lines.join("\n"));
    }
    output.card.extend(traces.card);
    output
}

fn gone(id: &str) -> Failure {
    Failure::new(format!("The terminal {id} is gone; start another."))
}

fn input_failed(err: &InputError) -> Failure {
    Failure::new(format!("{err}."))
}

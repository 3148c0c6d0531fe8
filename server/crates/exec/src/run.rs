//! One command from its start until nothing of its process group is left.
//!
//! A task owns the process and is the only one to read, signal and finish it; everyone else
//! looks at the shared state and leaves orders.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, ReadHalf};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::Signal;
use crate::capture::Capture;
use crate::command::{JobFinished, JobId, Observer, Origin, Status, Urgency};
use crate::denial::Denial;
use crate::final_text::{final_text, last_lines};
use crate::line_watch::LineWatch;
use crate::live::Live;
use crate::pty::{Pty, PtySize};
use crate::sandbox::Sandbox;
use crate::screen::Screen;
use crate::script_file::ScriptFile;
use crate::supervisor::{Exit, Process, ProcessGroup, Signalled, lock};
use crate::terminals::secret;

/// How long output is still read after the end of what may have printed it.
const OUTPUT_GRACE: Duration = Duration::from_millis(100);
/// How long a killed group may take to vanish before it is called unconfirmed.
const KILL_CONFIRM: Duration = Duration::from_secs(2);
/// Lines and bytes of output that the notice of a job's end carries.
const NOTICE_LINES: usize = 20;
const NOTICE_BYTES: usize = 4096;
/// Reads between two looks at everything else.
const READS_AT_ONCE: usize = 16;
/// Input that waits for a terminal's program.
const INPUT_QUEUE: usize = 64;

/// A command and all that is known of it.
pub(crate) struct Run {
    pub origin: Origin,
    pub pid: i32,
    pub started: Instant,
    /// Where the shell leaves its last directory.
    pub cwd_report: PathBuf,
    pub sandbox: Option<Sandbox>,
    pub observer: Arc<dyn Observer>,
    orders: mpsc::UnboundedSender<Order>,
    /// Present for terminals.
    input: Option<mpsc::Sender<Vec<u8>>>,
    pub shared: Shared,
}

pub(crate) struct Shared {
    state: Mutex<State>,
    changed: watch::Sender<()>,
}

pub(crate) struct State {
    pub capture: Capture,
    pub job: Option<JobId>,
    pub ending: Ending,
    pub last_output: Instant,
    pub deadline: Option<Instant>,
    pub readers: HashMap<String, Reader>,
    /// The owner knows of the end, or will not be told.
    pub told: bool,
    /// Reads of the owner that are waiting.
    pub owner_waits: usize,
    /// A line that is waited for.
    pub watch: Option<LineWatch>,
    /// Of a terminal, while it runs.
    pub size: Option<PtySize>,
    /// Of a terminal, also once it has ended.
    pub screen: Option<Screen>,
    /// How much had been printed when a password prompt was last told of.
    pub secret_told: Option<u64>,
}

/// What is known of the end, from the first order to end it until nothing is left.
#[derive(Default)]
pub(crate) struct Ending {
    pub cause: Option<Cause>,
    /// The person's or the agent's words for the cause.
    pub reason: Option<String>,
    /// Of the leader.
    pub exit: Option<Exit>,
    /// The leader ended and its output is in.
    pub settled: bool,
    /// Some process may still be there.
    pub unconfirmed: bool,
    /// How it ended could not be seen.
    pub lost: bool,
    /// Nothing of the group is left.
    pub finished: Option<Instant>,
    /// The observer knows of the end.
    pub observed: bool,
    /// How soon the owner is to know.
    pub urgency: Urgency,
}

/// Where one reader stands.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    pub position: u64,
    pub empty_polls: u32,
}

/// Who ended a command that did not end by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cause {
    Deadline,
    Kill,
    Cancel,
    Shutdown,
}

enum Order {
    /// TERM now, KILL after this long.
    Stop(Duration),
    /// The deadline changed.
    Reschedule,
}

impl State {
    pub(crate) fn status(&self) -> Status {
        if self.ending.finished.is_none() {
            return if self.ending.cause.is_some() { Status::Stopping } else { Status::Running };
        }
        match (self.ending.cause, &self.ending.exit) {
            (Some(Cause::Deadline), _) => Status::TimedOut,
            (Some(Cause::Kill), _) => Status::Stopped,
            (Some(Cause::Cancel | Cause::Shutdown), _) => Status::Killed,
            (None, _) if self.ending.lost => Status::Lost,
            (None, Some(exit)) if exit.is_success() => Status::Completed,
            (None, _) => Status::Failed,
        }
    }
}

impl Run {
    pub(crate) fn state<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut lock(&self.shared.state))
    }

    /// Waits until the state is as wished.
    pub(crate) async fn until(&self, wish: impl Fn(&State) -> bool) {
        let mut changed = self.shared.changed.subscribe();
        while !self.state(|state| wish(state)) {
            if changed.changed().await.is_err() {
                return;
            }
        }
    }

    pub(crate) fn elapsed(&self, state: &State) -> Duration {
        state.ending.finished.unwrap_or_else(Instant::now) - self.started
    }

    /// What the sandbox denied, as far as this output of a command that failed by itself tells.
    /// `cwd`: where its shell ended, if that is known.
    pub(crate) fn denials(&self, state: &State, text: &str, cwd: Option<&Path>) -> Vec<Denial> {
        let succeeded = state.ending.exit.as_ref().is_none_or(Exit::is_success);
        // What a pipe ends with knows nothing of what went before.
        let failed = !succeeded || has_pipe(&self.origin.script);
        match &self.sandbox {
            Some(sandbox) if failed && state.ending.cause.is_none() => {
                sandbox.denials(text, cwd.unwrap_or(&self.origin.cwd))
            }
            Some(_) | None => Vec::new(),
        }
    }

    /// Begins to end the group, unless it is gone. The first cause stays; a later one may shorten
    /// the grace.
    pub(crate) fn stop(&self, cause: Cause, grace: Duration, reason: Option<&str>) {
        let stopping = self.state(|state| {
            if state.ending.finished.is_none() && state.ending.cause.is_none() {
                state.ending.cause = Some(cause);
                state.ending.reason = reason.map(str::to_owned);
            }
            state.ending.finished.is_none()
        });
        if stopping {
            self.shared.changed.send_replace(());
            let _ = self.orders.send(Order::Stop(grace));
        }
    }

    pub(crate) fn set_deadline(&self, deadline: Option<Instant>) {
        self.state(|state| state.deadline = deadline);
        let _ = self.orders.send(Order::Reschedule);
    }

    /// Queues input; `None` when this is no terminal, `Err` when its program does not read.
    pub(crate) fn write(&self, bytes: &[u8]) -> Option<Result<(), ()>> {
        Some(self.input.as_ref()?.try_send(bytes.to_vec()).map_err(|_| ()))
    }

    /// Whether this is a terminal.
    pub(crate) fn resize(&self, cols: u16, rows: u16) -> bool {
        let resized = self.state(|state| match &state.size {
            Some(size) if size.set(cols, rows).is_ok() => {
                if let Some(screen) = &mut state.screen {
                    screen.resize(cols, rows);
                }
                true
            }
            Some(_) | None => false,
        });
        if resized {
            self.observer.resized(&self.origin.terminal, (cols, rows));
        }
        resized
    }

    /// Tells the owner of the end, if it has to be told and has not been.
    pub(crate) fn notify(&self) {
        let notice = self.state(|state| {
            let job = state.job.clone()?;
            if state.ending.finished.is_none() || state.told || state.owner_waits > 0 {
                return None;
            }
            state.told = true;
            let piece = state.capture.since(0, 16 * 1024);
            let text = final_text(&piece.bytes);
            Some(JobFinished {
                job,
                origin: self.origin.clone(),
                status: state.status(),
                exit: state.ending.exit.clone(),
                reason: state.ending.reason.clone(),
                elapsed: self.elapsed(state),
                tail: last_lines(&text, NOTICE_LINES, NOTICE_BYTES).into_owned(),
                log: state.capture.log().map(ToOwned::to_owned),
                denied: self.denials(state, &text, None),
                urgency: state.ending.urgency,
            })
        });
        if let Some(notice) = notice {
            self.observer.finished(&notice);
        }
    }

    fn push(&self, bytes: &[u8]) {
        let (replies, secret_over) = self.state(|state| {
            state.capture.push(bytes);
            if let Some(watch) = &mut state.watch {
                watch.push(bytes);
            }
            state.last_output = Instant::now();
            let replies =
                state.screen.as_mut().map(|screen| screen.feed(bytes)).unwrap_or_default();
            let over = state.secret_told.is_some() && secret(state).is_none();
            if over {
                state.secret_told = None;
            }
            (replies, over)
        });
        if secret_over {
            self.observer.secret_over(&self.origin.terminal);
        }
        if !replies.is_empty() {
            // A program that asks without reading the answers goes without.
            let _ = self.write(&replies);
        }
        self.shared.changed.send_replace(());
    }
}

/// What [`start`] needs beside the process.
pub(crate) struct Start {
    pub origin: Origin,
    pub log: PathBuf,
    pub cwd_report: PathBuf,
    /// Goes when the command has ended.
    pub script: Option<ScriptFile>,
    pub sandbox: Option<Sandbox>,
    pub deadline: Option<Duration>,
    pub job: Option<JobId>,
    pub watch: Option<LineWatch>,
    pub observer: Arc<dyn Observer>,
}

/// Puts the process in the care of its own task.
pub(crate) fn start(start: Start, mut process: Process) -> io::Result<Arc<Run>> {
    let now = Instant::now();
    // Until whoever started a job lets go of it.
    let owner_waits = usize::from(start.job.is_some());
    let (orders, queue) = mpsc::unbounded_channel();
    let mut size = None;
    let mut told_size = None;
    let mut screen = None;
    let mut input = None;
    let source = if let Some(pty) = process.pty.take() {
        let known = pty.size()?;
        let (cols, rows) = known.get()?;
        screen = Some(Screen::new(cols, rows));
        told_size = Some((cols, rows));
        size = Some(known);
        let (source, mut sink) = tokio::io::split(pty);
        let (sender, mut waiting) = mpsc::channel::<Vec<u8>>(INPUT_QUEUE);
        input = Some(sender);
        tokio::spawn(async move {
            while let Some(bytes) = waiting.recv().await {
                if sink.write_all(&bytes).await.is_err() {
                    break;
                }
            }
        });
        Source::Pty(source)
    } else {
        process.stdout.take().map_or(Source::Closed, Source::Pipe)
    };
    let mut capture = Capture::new(start.log);
    if start.job.is_some() {
        capture.open_log();
    }
    let state = State {
        capture,
        job: start.job,
        ending: Ending::default(),
        last_output: now,
        deadline: start.deadline.map(|after| now + after),
        readers: HashMap::new(),
        told: false,
        owner_waits,
        watch: start.watch,
        size,
        screen,
        secret_told: None,
    };
    let run = Arc::new(Run {
        origin: start.origin,
        pid: process.pid,
        started: now,
        cwd_report: start.cwd_report,
        sandbox: start.sandbox,
        observer: start.observer,
        orders,
        input,
        shared: Shared { state: Mutex::new(state), changed: watch::Sender::new(()) },
    });
    run.observer.started(&run.origin, told_size);
    let driver = Driver {
        run: Arc::clone(&run),
        group: process.group(),
        source,
        live: Live::new(),
        kill_at: None,
        confirm_by: None,
        settle_by: None,
        _script: start.script,
    };
    tokio::spawn(driver.drive(process, queue));
    Ok(run)
}

enum Source {
    Pipe(pipe::Receiver),
    Pty(ReadHalf<Pty>),
    Closed,
}

impl Source {
    /// Bytes read; 0 at the end.
    async fn read(&mut self, buffer: &mut [u8]) -> usize {
        let read = match self {
            Source::Pipe(pipe) => pipe.read(buffer).await,
            Source::Pty(pty) => pty.read(buffer).await,
            Source::Closed => Ok(0),
        };
        read.unwrap_or_else(|error| {
            tracing::warn!(%error, "a command's output cannot be read");
            0
        })
    }

    /// Bytes that are there already; `None` when there are none, or this cannot be told.
    fn read_more(&mut self, buffer: &mut [u8]) -> Option<usize> {
        match self {
            Source::Pipe(pipe) => pipe.try_read(buffer).ok(),
            Source::Pty(_) | Source::Closed => None,
        }
    }

    fn is_open(&self) -> bool {
        !matches!(self, Source::Closed)
    }
}

struct Driver {
    run: Arc<Run>,
    group: ProcessGroup,
    source: Source,
    live: Live,
    /// When TERM has had its time.
    kill_at: Option<Instant>,
    /// When KILL has had its time.
    confirm_by: Option<Instant>,
    /// When to stop reading output after an end.
    settle_by: Option<Instant>,
    /// Kept for as long as the shell may read it.
    _script: Option<ScriptFile>,
}

impl Driver {
    async fn drive(mut self, process: Process, mut orders: mpsc::UnboundedReceiver<Order>) {
        let mut buffer = vec![0_u8; 64 * 1024];
        let mut exited = false;
        let mut gone = false;
        loop {
            let timer = self.next_timer();
            tokio::select! {
                count = self.source.read(&mut buffer), if self.source.is_open() => {
                    self.take_output(&mut buffer, count);
                }
                exit = self.group.exited(), if !exited => {
                    exited = true;
                    gone = self.group.is_gone();
                    self.settle_by = Some(Instant::now() + OUTPUT_GRACE);
                    self.run.state(|state| state.ending.exit = Some(exit));
                }
                () = self.group.gone(), if exited && !gone => {
                    gone = true;
                    self.settle_by = Some(Instant::now() + OUTPUT_GRACE);
                }
                order = orders.recv() => match order {
                    Some(Order::Stop(grace)) => self.terminate(grace).await,
                    Some(Order::Reschedule) => {}
                    // The run itself holds a sender.
                    None => break,
                },
                () = tokio::time::sleep_until(timer.unwrap_or_else(Instant::now)), if timer.is_some() => {
                    self.on_timer().await;
                }
            }
            self.show_live();
            // A group that outlives its leader only for a moment makes no job.
            if exited && ((gone && !self.source.is_open()) || is_due(self.settle_by)) {
                self.settle_by = None;
                if gone {
                    break;
                }
                self.settle();
            }
        }
        drop(process);
        self.finish();
    }

    /// Takes what was read and what else is there, so that a flood does not wake us for each bit
    /// of it. Bounded: orders and deadlines are not to wait.
    fn take_output(&mut self, buffer: &mut [u8], first: usize) {
        let mut next = Some(first);
        for reads in 1.. {
            let Some(count) = next else { return };
            if count == 0 {
                self.source = Source::Closed;
                return;
            }
            self.run.push(&buffer[..count]);
            self.live.push(&buffer[..count], Instant::now());
            if reads == READS_AT_ONCE {
                return;
            }
            next = self.source.read_more(buffer);
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        let deadline = self
            .run
            .state(|state| if state.ending.cause.is_none() { state.deadline } else { None });
        [deadline, self.kill_at, self.confirm_by, self.settle_by, self.live.due()]
            .into_iter()
            .flatten()
            .min()
    }

    async fn on_timer(&mut self) {
        let due = self.run.state(|state| state.ending.cause.is_none() && is_due(state.deadline));
        if due {
            self.run.stop(Cause::Deadline, STOP_GRACE, None);
        }
        if is_due(self.kill_at) {
            self.kill_at = None;
            self.confirm_by = Some(Instant::now() + KILL_CONFIRM);
            self.signal(Signal::KILL).await;
        }
        if is_due(self.confirm_by) {
            self.confirm_by = None;
            self.unconfirmed();
        }
    }

    async fn terminate(&mut self, grace: Duration) {
        let kill_at = Instant::now() + grace;
        match self.kill_at {
            Some(sooner) if sooner <= kill_at => return,
            Some(_) => {}
            // KILL was sent already.
            None if self.confirm_by.is_some() => return,
            None => {
                // Shells on terminals do not heed TERM; HUP they pass on to what they started.
                if self.run.input.is_some() {
                    self.signal(Signal::HUP).await;
                }
                self.signal(Signal::TERM).await;
            }
        }
        self.kill_at = Some(kill_at);
    }

    async fn signal(&mut self, signal: Signal) {
        match self.group.signal(signal).await {
            Signalled::Sent | Signalled::Gone => {}
            Signalled::Unconfirmed => self.unconfirmed(),
        }
    }

    fn unconfirmed(&self) {
        self.run.state(|state| state.ending.unconfirmed = true);
        self.run.shared.changed.send_replace(());
    }

    fn show_live(&mut self) {
        let now = Instant::now();
        if self.live.due().is_some_and(|due| due <= now)
            && let Some(bytes) = self.live.take(now)
        {
            self.run.observer.output(&self.run.origin.call, &self.run.origin.terminal, &bytes);
        }
    }

    /// The leader ended, its group did not.
    fn settle(&self) {
        let news = self.run.state(|state| !std::mem::replace(&mut state.ending.settled, true));
        if news {
            self.run.shared.changed.send_replace(());
        }
    }

    fn finish(mut self) {
        let run = &self.run;
        if let Some(bytes) = self.live.take(Instant::now()) {
            run.observer.output(&run.origin.call, &run.origin.terminal, &bytes);
        }
        let (status, exit, unread, secret_over) = run.state(|state| {
            state.capture.finish();
            state.ending.lost = self.group.is_lost();
            state.ending.settled = true;
            state.ending.finished = Some(Instant::now());
            state.ending.unconfirmed = state.ending.unconfirmed && state.ending.lost;
            state.size = None;
            let unread = state.job.is_some() || state.ending.cause.is_some();
            let secret_over = state.secret_told.take().is_some();
            (state.status(), state.ending.exit.clone(), unread, secret_over)
        });
        if secret_over {
            run.observer.secret_over(&run.origin.terminal);
        }
        if unread {
            // No one asks any more where it ended up. Usually there is no such file.
            let _ = rustix::fs::unlink(&run.cwd_report);
        }
        run.observer.ended(&run.origin.call, &run.origin.terminal, status, exit.as_ref());
        run.state(|state| state.ending.observed = true);
        run.shared.changed.send_replace(());
        run.notify();
    }
}

/// How long a group has between TERM and KILL, except on cancel.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(5);

/// Whether a script pipes anything, as far as a look can tell.
fn has_pipe(script: &str) -> bool {
    script.replace("||", "").contains('|')
}

fn is_due(instant: Option<Instant>) -> bool {
    instant.is_some_and(|instant| instant <= Instant::now())
}

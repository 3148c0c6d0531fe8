//! A conversation: its state, its mailbox, and the task that owns its turns.
//!
//! Invariant: everything the outside calls here changes state and returns; the waiting is done by
//! the session's own task. A cancelled turn makes no further model request.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use exec::{Jobs, Listed, Urgency};
use llm::Message;
use protocol::acp::{
    ContentBlock, IdleStateUpdate, RequiresActionStateUpdate, RunningStateUpdate, SessionUpdate,
    StateUpdate, StopReason, TerminalExitStatus, TerminalUpdate, UserMessage,
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use vfs::Location;

use crate::artifacts::Artifacts;
use crate::bounds;
use crate::editor::Status;
use crate::export;
use crate::footprint::Footprints;
use crate::hooks::moments::{self, Source};
use crate::kept;
use crate::live::{Asking, Live};
use crate::notes::Notes;
use crate::permission::{Rule, Rules};
use crate::place::Place;
use crate::programs::Programs;
use crate::provider::Connection;
use crate::seen::Seen;
use crate::settings::{Mode, Thinking};
use crate::store::{self, Record};
use crate::timeline::{Recorder, Timeline};
use crate::transcript::Transcript;
use crate::turn;
use crate::world::World;

mod rewinding;

pub use rewinding::{Stale, Still};

/// A handle to a running session.
#[derive(Clone)]
pub struct Session {
    /// What its calls share.
    pub shared: Arc<Shared>,
}

/// What the calls of one session share.
pub struct Shared {
    /// The session's id.
    pub id: String,
    /// What all sessions share.
    pub world: Arc<World>,
    /// Everything it shows.
    pub transcript: Transcript,
    /// Its prompts and what it did to files.
    pub recorder: Recorder,
    /// What the model has seen.
    pub seen: Seen,
    /// Its commands.
    pub jobs: Jobs,
    /// Long results.
    pub artifacts: Artifacts,
    /// The only file that may be written in plan mode.
    pub plan_file: Option<PathBuf>,
    /// Calls that run now.
    pub calls: Calls,
    control: Mutex<Control>,
    /// The model it talks to.
    pub connection: Connection,
    wake: Notify,
}

/// What the outside changes about a session.
struct Control {
    mode: Mode,
    model: Option<String>,
    thinking: Option<Thinking>,
    roots: Arc<vfs::Roots>,
    cwd: PathBuf,
    rules: Vec<Rule>,
    edited: BTreeSet<Location>,
    mail: Mail,
    history: Vec<Message>,
    turn: Option<CancellationToken>,
    waiting: i64,
    stage: Stage,
}

/// How far a session has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It had no prompt since it was opened or resumed.
    Opened(Source),
    /// It had.
    Begun,
    /// It is closed.
    Closed,
}

/// What waits to be delivered.
#[derive(Default)]
struct Mail {
    prompts: VecDeque<Prompt>,
    /// Something is being taken back: nothing is delivered.
    held: bool,
    /// What the model is told with its next request.
    notes: Arc<Notes>,
}

/// A prompt that waits for its turn.
#[derive(Clone, Debug)]
pub struct Prompt {
    /// Its id in the transcript.
    pub id: String,
    /// What the person sent.
    pub content: Vec<ContentBlock>,
    /// When it is delivered.
    pub delivery: Delivery,
    /// Texts of files that are in it.
    pub passages: Vec<Passage>,
}

/// A text of a file that is in a prompt, all of it or a part.
#[derive(Clone, Debug)]
pub struct Passage {
    /// The file.
    pub location: Location,
    /// The text.
    pub text: String,
}

/// When a prompt that arrives during a turn is delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Delivery {
    /// At the turn's end.
    #[default]
    Queue,
    /// With the next model request.
    Steer,
    /// At once: the running turn is cancelled.
    Interrupt,
}

/// What a session starts with.
pub struct Start {
    /// Its id.
    pub id: String,
    /// Where it works.
    pub place: Place,
    /// Its mode.
    pub mode: Mode,
    /// Its model, as `provider/model`; absent: the configured one.
    pub model: Option<String>,
    /// How much the model thinks; absent: as configured for the model.
    pub thinking: Option<Thinking>,
    /// The model's history so far.
    pub history: Vec<Message>,
    /// Its transcript so far, with the log behind it.
    pub transcript: Transcript,
    /// Its prompts and what it did to files so far.
    pub timeline: Timeline,
    /// Where the output of its jobs is kept.
    pub jobs_dir: PathBuf,
    /// Its long results.
    pub artifacts: Artifacts,
}

impl Session {
    /// Starts a session's task.
    pub fn start(world: Arc<World>, start: Start) -> Session {
        let live = Live::new(start.transcript.clone());
        let dir = start.artifacts.dir().and_then(Path::parent).map(PathBuf::from);
        let notes = Arc::new(Notes::new(dir));
        let is_new = start.history.is_empty();
        let stage = Stage::Opened(if is_new { Source::Startup } else { Source::Resume });
        let jobs = Jobs::new(world.supervisor.clone(), start.jobs_dir, Arc::clone(&live) as _);
        let recorder = Recorder::new(start.timeline, start.transcript.clone());
        world.editor.timelines().open(&start.id, &recorder);
        let shared = Arc::new(Shared {
            id: start.id,
            world,
            transcript: start.transcript,
            recorder,
            seen: Seen::new(start.place.vfs.clone()),
            jobs,
            artifacts: start.artifacts,
            plan_file: None,
            calls: Calls { programs: start.place.programs, ..Calls::default() },
            control: Mutex::new(Control {
                mode: start.mode,
                model: start.model,
                thinking: start.thinking,
                roots: start.place.roots,
                cwd: start.place.cwd,
                rules: Vec::new(),
                edited: BTreeSet::new(),
                mail: Mail { notes, ..Mail::default() },
                history: start.history,
                turn: None,
                waiting: 0,
                stage,
            }),
            connection: Connection::default(),
            wake: Notify::new(),
        });
        live.belongs_to(&shared);
        tokio::spawn(drive(shared.clone()));
        Session { shared }
    }

    /// Takes a prompt: it is shown at once and answered when its turn comes.
    pub fn prompt(&self, prompt: Prompt) {
        let message = UserMessage::new(prompt.id.clone()).content(prompt.content.clone());
        self.shared.transcript.send(SessionUpdate::UserMessage(message));
        let mut control = self.shared.lock();
        if prompt.delivery == Delivery::Interrupt
            && let Some(turn) = &control.turn
        {
            turn.cancel();
            control.mail.prompts.push_front(prompt);
        } else {
            control.mail.prompts.push_back(prompt);
        }
        drop(control);
        self.shared.wake.notify_one();
    }

    /// Tells the agent something between turns: with its next request, or by a turn of its own.
    pub fn tell(&self, text: String) {
        let content = vec![ContentBlock::from(text)];
        let prompt =
            Prompt { id: new_id("note"), content, delivery: Delivery::Steer, passages: Vec::new() };
        self.shared.lock().mail.prompts.push_back(prompt);
        self.shared.wake.notify_one();
    }

    /// Cancels the turn. Prompts that were not delivered stay in the transcript and are not run; what
    /// nobody prompted is told with the next request.
    pub fn cancel_turn(&self) {
        let (waiting, undelivered) = {
            let mut control = self.shared.lock();
            let waiting = std::mem::take(&mut control.mail.prompts);
            if let Some(turn) = &control.turn {
                turn.cancel();
            }
            let undelivered = !waiting.is_empty() && control.turn.is_none();
            (waiting, undelivered)
        };
        for told in waiting.into_iter().filter(|it| !self.shared.transcript.has_prompt(&it.id)) {
            for block in told.content {
                if let ContentBlock::Text(text) = block {
                    self.shared.note(text.text);
                }
            }
        }
        if undelivered {
            // The prompt was taken and its turn had not begun: it ends all the same.
            let running = StateUpdate::Running(RunningStateUpdate::new());
            self.shared.transcript.send(SessionUpdate::StateUpdate(running));
            let idle = IdleStateUpdate::new().stop_reason(StopReason::Cancelled);
            self.shared.transcript.send(SessionUpdate::StateUpdate(StateUpdate::Idle(idle)));
        }
    }

    /// Sends the foreground command of a call to the background; gives the job it became.
    pub async fn to_background(&self, call: &str) -> Option<String> {
        if !self.shared.calls.is_running(call) {
            return None;
        }
        self.shared.jobs.background(call);
        self.shared.calls.ended(call, BACKGROUND).await;
        let jobs = self.shared.jobs.list(Listed::All);
        jobs.into_iter().find(|it| it.origin.call == call).map(|it| it.job.to_string())
    }

    /// Stops all background jobs. The agent learns of it when it works again.
    pub async fn stop_jobs(&self) {
        let jobs = &self.shared.jobs;
        let active = jobs.list(Listed::Active);
        // All at once: one that does not heed its stop is not to hold up the others.
        let stops = active.iter().map(|it| jobs.kill_for_person(&it.job, Urgency::CanWait));
        futures::future::join_all(stops).await;
    }

    /// Tells a client that came back what the session is doing.
    pub fn show_state(&self) {
        let (busy, waiting) = {
            let control = self.shared.lock();
            (control.turn.is_some(), control.waiting)
        };
        let state = if 0 < waiting {
            StateUpdate::RequiresAction(RequiresActionStateUpdate::new())
        } else if busy {
            StateUpdate::Running(RunningStateUpdate::new())
        } else {
            StateUpdate::Idle(IdleStateUpdate::new())
        };
        self.shared.transcript.send(SessionUpdate::StateUpdate(state));
    }

    /// Keeps for whoever resumes the session how its jobs end, which is about to happen: in the log that
    /// they have ended, for the agent that they did so with the session.
    pub fn leave_jobs(&self) {
        let jobs = self.shared.jobs.list(Listed::Active);
        for job in &jobs {
            let ended = TerminalUpdate::new(job.origin.terminal.clone());
            let ended = ended.exit_status(TerminalExitStatus::new());
            let update = SessionUpdate::TerminalUpdate(ended);
            self.shared.transcript.record(&Record::Update { update });
        }
        let jobs = jobs.into_iter().map(|it| (it.job.0, it.origin.label));
        self.shared.note_ends("killed", "the session ended", jobs);
    }

    /// Ends the session and its processes.
    pub async fn close(&self) {
        let stage = std::mem::replace(&mut self.shared.lock().stage, Stage::Closed);
        self.shared.calls.cancel_all();
        self.cancel_turn();
        self.shared.calls.ends.cancel();
        if stage == Stage::Begun {
            let cancel = CancellationToken::new();
            let ended = moments::session_ended(&self.shared, &cancel);
            // Dropped when it takes longer, which ends it.
            let _ = tokio::time::timeout(FAREWELL, ended).await;
        }
        self.shared.jobs.shutdown().await;
        self.shared.wake.notify_one();
        self.shared.transcript.sync();
    }
}

impl Shared {
    /// The mode.
    pub fn mode(&self) -> Mode {
        self.lock().mode
    }

    /// Changes the mode.
    pub fn set_mode(&self, mode: Mode) {
        self.lock().mode = mode;
        self.record_options();
    }

    /// The model chosen for this session.
    pub fn model(&self) -> Option<String> {
        self.lock().model.clone()
    }

    /// Changes the model.
    pub fn set_model(&self, model: String) {
        self.lock().model = Some(model);
        self.record_options();
    }

    /// How much the model thinks, where this session says so.
    pub fn thinking(&self) -> Option<Thinking> {
        self.lock().thinking
    }

    /// Changes how much the model thinks.
    pub fn set_thinking(&self, thinking: Thinking) {
        self.lock().thinking = Some(thinking);
        self.record_options();
    }

    /// Where calls work now.
    pub fn place(&self) -> Place {
        let grammar = self.world.grammar();
        let control = self.lock();
        Place {
            roots: control.roots.clone(),
            vfs: self.world.vfs.clone(),
            cwd: control.cwd.clone(),
            artifacts: self.artifacts.dir().map(PathBuf::from),
            grammar,
            programs: self.calls.programs.clone(),
        }
    }

    /// How the session came to be, the first time that is asked.
    pub fn begin(&self) -> Option<Source> {
        let mut control = self.lock();
        match control.stage {
            Stage::Opened(source) => {
                control.stage = Stage::Begun;
                Some(source)
            }
            Stage::Begun | Stage::Closed => None,
        }
    }

    /// Stops the turn that runs.
    pub fn stop_turn(&self) {
        self.lock().turn.iter().for_each(CancellationToken::cancel);
    }

    /// Where the session's log is.
    pub fn log_file(&self) -> Option<PathBuf> {
        Some(self.artifacts.dir()?.parent()?.join(store::LOG))
    }

    /// Where commands start from now on.
    pub fn set_cwd(&self, cwd: PathBuf) {
        self.lock().cwd = cwd;
    }

    /// All rules in force: the configured ones, those kept for the folder and those remembered here.
    pub fn rules(&self) -> Rules {
        let mut rules = self.world.rules();
        if let Some((state, root)) = self.keeps_rules() {
            rules.all.extend(kept::rules(state, &root));
        }
        rules.all.extend(self.lock().rules.iter().cloned());
        rules
    }

    /// The rules remembered here.
    pub fn remembered(&self) -> Vec<Rule> {
        self.lock().rules.clone()
    }

    /// The workspace's first folder.
    pub fn root(&self) -> Option<PathBuf> {
        self.lock().roots.paths().next().map(Path::to_path_buf)
    }

    /// Remembers a rule for this session and keeps it for the folder, but for one on a terminal, which
    /// another session does not have.
    pub fn remember(&self, rule: Rule) {
        if let Some((state, root)) = self.keeps_rules()
            && rule.tool != "Terminal"
            && let Err(err) = kept::keep(state, &root, &rule)
        {
            tracing::warn!("the rule {rule} counts for this session only: {err}");
        }
        let mut control = self.lock();
        if !control.rules.contains(&rule) {
            control.rules.push(rule);
        }
    }

    /// Forgets the remembered rule of this text, also for the folder.
    ///
    /// # Errors
    /// What is kept for the folder cannot be read or written.
    pub fn forget_rule(&self, text: &str) -> std::io::Result<()> {
        let gone: Vec<Rule> = {
            let mut control = self.lock();
            control.rules.extract_if(.., |it| it.text == text).collect()
        };
        if let Some((state, root)) = self.keeps_rules() {
            for rule in gone {
                kept::forget(state, &root, rule.decision, text)?;
            }
        }
        Ok(())
    }

    fn keeps_rules(&self) -> Option<(&Path, PathBuf)> {
        Some((self.world.state.as_deref()?, self.root()?))
    }

    /// Files this session changed.
    pub fn edited(&self) -> BTreeSet<Location> {
        self.lock().edited.clone()
    }

    /// Notes that this session changed a file.
    pub fn note_edit(&self, location: &Location) {
        self.lock().edited.insert(location.clone());
    }

    /// Whether a turn runs.
    pub fn is_busy(&self) -> bool {
        self.lock().turn.is_some()
    }

    /// Counts waiting questions up or down and tells the outside; gives the new count.
    pub fn change_waiting(&self, by: i64) -> i64 {
        let (waiting, busy) = {
            let mut control = self.lock();
            control.waiting += by;
            (control.waiting, control.turn.is_some())
        };
        let count = usize::try_from(waiting).unwrap_or_default();
        self.world.editor.status(Status { session: self.id.clone(), busy, waiting: count });
        waiting
    }

    /// The model's history.
    pub fn history(&self) -> Vec<Message> {
        self.lock().history.clone()
    }

    /// Adds a message to the model's history and the log.
    pub fn remember_message(&self, message: Message) {
        self.transcript.record(&Record::Message { message: message.clone() });
        self.lock().history.push(message);
    }

    /// Tells the model something with its next request, whenever that is.
    pub fn note(&self, text: String) {
        self.notes().add(text);
    }

    /// Tells the model with its next request how background jobs of before ended, which it may still
    /// wait for.
    pub fn note_ends(&self, how: &str, why: &str, jobs: impl Iterator<Item = (String, String)>) {
        const MOST: usize = 50;
        let lines: Vec<String> = jobs
            .take(MOST)
            .map(|(job, label)| {
                format!("Background job {job} {how} ({why}): {}", bounds::title(&label))
            })
            .collect();
        if !lines.is_empty() && !self.lock().history.is_empty() {
            self.note(format!("<job-ended>\n{}\n</job-ended>", lines.join("\n")));
        }
    }

    /// What the model is to be told now.
    pub fn take_notes(&self) -> Option<String> {
        self.notes().take()
    }

    /// Prompts that are to be delivered with the next model request.
    pub fn take_steering(&self) -> Vec<Prompt> {
        let mut control = self.lock();
        let (now, later): (Vec<Prompt>, Vec<Prompt>) =
            control.mail.prompts.drain(..).partition(|it| it.delivery == Delivery::Steer);
        control.mail.prompts = later.into();
        now
    }

    /// Writes the conversation as Markdown into the session's folder.
    pub fn write_transcript(&self) -> std::io::Result<PathBuf> {
        let dir = self.artifacts.dir().and_then(Path::parent);
        let dir = dir.ok_or_else(|| std::io::Error::other("this run keeps no files"))?;
        let path = dir.join("transcript.md");
        let text = export::markdown(&self.transcript.history());
        vfs::state::write_private(&path, text.as_bytes())?;
        Ok(path)
    }

    /// Keeps the transcript's file up to date where somebody reads it.
    pub fn refresh_transcript(&self) {
        if !self.world.editor.wants_transcript_file() {
            return;
        }
        match self.write_transcript() {
            Ok(path) => self.world.editor.transcript_written(&path),
            Err(err) => tracing::warn!("the transcript cannot be written: {err}"),
        }
    }

    fn notes(&self) -> Arc<Notes> {
        self.lock().mail.notes.clone()
    }

    fn record_options(&self) {
        let (mode, model, thinking) = {
            let control = self.lock();
            (control.mode, control.model.clone(), control.thinking)
        };
        self.transcript.record(&Record::Options { mode, model, thinking });
    }

    fn lock(&self) -> MutexGuard<'_, Control> {
        self.control.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The session's task: one turn after the other, each from a prompt of the queue.
async fn drive(shared: Arc<Shared>) {
    loop {
        let next = {
            let mut control = shared.lock();
            if control.stage == Stage::Closed {
                return;
            }
            let next = if control.mail.held { None } else { control.mail.prompts.pop_front() };
            next.map(|prompt| {
                let cancel = CancellationToken::new();
                control.turn = Some(cancel.clone());
                (prompt, cancel)
            })
        };
        let Some((prompt, cancel)) = next else {
            shared.wake.notified().await;
            continue;
        };
        shared.change_waiting(0);
        let running = StateUpdate::Running(RunningStateUpdate::new());
        shared.transcript.send(SessionUpdate::StateUpdate(running));
        let stop = turn::run(&shared, prompt, &cancel).await;
        end_turn(&shared, stop);
    }
}

/// Ends a turn. Where another prompt waits the session stays busy and goes on with it.
fn end_turn(shared: &Arc<Shared>, stop: StopReason) {
    shared.transcript.sync();
    let more = {
        let mut control = shared.lock();
        let more = !control.mail.prompts.is_empty() && control.stage != Stage::Closed;
        if !more {
            control.turn = None;
        }
        more
    };
    if more {
        return;
    }
    let idle = StateUpdate::Idle(IdleStateUpdate::new().stop_reason(stop));
    shared.transcript.send(SessionUpdate::StateUpdate(idle));
    shared.refresh_transcript();
    shared.change_waiting(0);
    moments::idle(shared);
}

/// The longest closing a session waits for hooks.
const FAREWELL: Duration = Duration::from_secs(5);
/// The longest a command may take to become a job.
const BACKGROUND: Duration = Duration::from_secs(5);

/// Calls that run now, each with its own way to be cancelled.
#[derive(Default)]
pub struct Calls {
    /// What their commands do to files.
    pub footprints: Footprints,
    /// What they started and speak of later.
    pub programs: Programs,
    /// Whose cards say that a program waits for a password.
    pub asking: Asking,
    /// Cancelled when the session is closed.
    pub ends: CancellationToken,
    running: Mutex<HashMap<String, CancellationToken>>,
    changed: Notify,
    /// A client came back: the questions of calls are shown again.
    pub ask_again: Notify,
}

impl Calls {
    /// Registers a call below a turn.
    pub fn begin(&self, id: &str, turn: &CancellationToken) -> CancellationToken {
        let cancel = turn.child_token();
        self.lock().insert(id.to_string(), cancel.clone());
        cancel
    }

    /// Forgets a call that ended.
    pub fn end(&self, id: &str) {
        self.lock().remove(id);
        self.changed.notify_waiters();
    }

    /// Whether no call runs.
    pub fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    /// Whether a call runs.
    pub fn is_running(&self, id: &str) -> bool {
        self.lock().contains_key(id)
    }

    /// Waits until a call has ended, at most this long.
    pub async fn ended(&self, id: &str, limit: Duration) {
        let gone = async {
            loop {
                let changed = self.changed.notified();
                if !self.is_running(id) {
                    return;
                }
                changed.await;
            }
        };
        // A call that goes on all the same is simply no job.
        let _ = tokio::time::timeout(limit, gone).await;
    }

    /// Cancels one call; tells whether it ran.
    pub fn cancel(&self, id: &str) -> bool {
        let call = self.lock().get(id).cloned();
        call.inspect(CancellationToken::cancel).is_some()
    }

    fn cancel_all(&self) {
        self.lock().values().for_each(CancellationToken::cancel);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ids that are unique within the process and unlikely elsewhere.
pub fn new_id(prefix: &str) -> String {
    static NEXT: AtomicI64 = AtomicI64::new(1);
    let n = NEXT.fetch_add(1, Ordering::Relaxed);
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{prefix}-{n}-{}", &random[..8])
}

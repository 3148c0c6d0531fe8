//! What a session asks of [`crate::Jobs`] and what it gets back.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::denial::Denial;
use crate::sandbox::Sandbox;
use crate::shell::Shell;
use crate::supervisor::{Exit, Stdio};

/// A shell command of one tool call.
#[derive(Debug, Clone)]
pub struct Command {
    pub script: String,
    pub shell: Shell,
    pub cwd: PathBuf,
    /// The complete environment, usually of [`crate::command_environment`].
    pub env: Vec<(OsString, OsString)>,
    /// [`Stdio::Output`], or [`Stdio::Pty`] for a terminal. [`Stdio::Piped`] is taken as `Output`.
    pub stdio: Stdio,
    /// What it is confined to; absent: nothing is denied.
    pub sandbox: Option<Sandbox>,
    /// In the foreground: becomes a job after this long, or is ended when it is not
    /// [`crate::promotable`] or no job may be added. In the background: is ended.
    pub timeout: Option<Duration>,
    /// In the foreground: becomes a job after this long, when that is before `timeout`.
    pub yield_after: Option<Duration>,
    /// Is ended after this long, wherever it runs.
    pub deadline: Option<Duration>,
    /// What the person and the model see it called.
    pub label: String,
    /// Id of the tool call it belongs to.
    pub call: String,
    /// Name of the reader that is told of the job's end.
    pub owner: String,
}

impl Command {
    /// A command without limits, named by its script.
    pub fn new(
        script: impl Into<String>,
        shell: Shell,
        cwd: impl Into<PathBuf>,
        env: Vec<(OsString, OsString)>,
    ) -> Command {
        let script = script.into();
        Command {
            label: script.clone(),
            script,
            shell,
            cwd: cwd.into(),
            env,
            stdio: Stdio::Output,
            sandbox: None,
            timeout: None,
            yield_after: None,
            deadline: None,
            call: String::new(),
            owner: String::new(),
        }
    }
}

/// What a foreground command came to.
#[derive(Debug, Clone)]
pub struct Ran {
    pub ended: Ended,
    pub output: Output,
    /// `term-N`.
    pub terminal: String,
    pub elapsed: Duration,
    /// The shell's directory when it ended; `None` when it did not say.
    pub cwd: Option<PathBuf>,
    /// The raw output on disk, written once it is too long to be shown whole, or for a job.
    pub log: Option<PathBuf>,
    /// Some of its processes could not be shown to have ended.
    pub unconfirmed: bool,
    /// What its sandbox denied, where it failed or a pipe may hide that.
    pub denied: Vec<Denial>,
}

/// Output as the model reads it: head and tail, with what lies between stated in the text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    pub text: String,
    /// Raw bytes printed so far.
    pub total_bytes: u64,
    /// Raw bytes left out of `text`.
    pub omitted_bytes: u64,
}

/// How the foreground part of a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The command and its process group are gone.
    Exited(Exit),
    /// It runs on as a job.
    Promoted { job: JobId, why: Promotion },
    /// Its time was up and it was ended.
    TimedOut,
    /// The turn was cancelled and it was ended.
    Cancelled,
    /// It was ended by [`crate::Jobs::shutdown`], or died with the supervisor.
    Killed,
}

/// Why a foreground command became a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Promotion {
    Timeout,
    Yield,
    /// The person sent it to the background.
    Asked,
    /// The command ended so, but processes of its group still run.
    GroupAlive(Exit),
}

/// `job-N`, or `term-N` for a program on a terminal. The `term-N` of a job's card is accepted wherever its
/// id is.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(pub String);

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for JobId {
    fn from(id: &str) -> JobId {
        JobId(id.trim().to_owned())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Running,
    /// A stop was asked for; something of it still runs.
    Stopping,
    /// Ended by itself with code 0.
    Completed,
    /// Ended by itself, with another code or a signal.
    Failed,
    /// Ended at its deadline.
    TimedOut,
    /// Ended on request.
    Stopped,
    /// Ended with the session or the turn.
    Killed,
    /// Its end is not known: the supervisor died.
    Lost,
}

impl Status {
    pub fn is_finished(self) -> bool {
        match self {
            Status::Running | Status::Stopping => false,
            Status::Completed
            | Status::Failed
            | Status::TimedOut
            | Status::Stopped
            | Status::Killed
            | Status::Lost => true,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Status::Running => "running",
            Status::Stopping => "stopping",
            Status::Completed => "completed",
            Status::Failed => "failed",
            Status::TimedOut => "timed_out",
            Status::Stopped => "stopped",
            Status::Killed => "killed",
            Status::Lost => "lost",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Which jobs [`crate::Jobs::list`] names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listed {
    /// Running and stopping ones.
    Active,
    /// Finished ones too, as far as they are kept.
    All,
}

/// What was started, and for whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Id of the tool call.
    pub call: String,
    /// Who is told of the end.
    pub owner: String,
    pub label: String,
    pub script: String,
    /// Where it was started.
    pub cwd: PathBuf,
    /// `term-N`.
    pub terminal: String,
}

/// A job as a list shows it.
#[derive(Debug, Clone)]
pub struct JobRow {
    pub job: JobId,
    pub origin: Origin,
    pub pid: i32,
    pub status: Status,
    /// Since the start, until the end.
    pub elapsed: Duration,
    /// Since the last output.
    pub quiet: Duration,
    pub deadline_left: Option<Duration>,
    pub exit: Option<Exit>,
    /// Why it is being, or was, ended.
    pub reason: Option<String>,
    pub log: Option<PathBuf>,
    pub unconfirmed: bool,
    /// Columns and rows of a terminal that runs.
    pub size: Option<(u16, u16)>,
}

/// What [`crate::Jobs::read`] waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    None,
    /// New output or the end, at most 30 s.
    Output,
    /// The end, at most 600 s.
    Exit,
}

/// What one reader has not yet seen of a job. `Display` renders it for the model.
#[derive(Debug, Clone)]
pub enum JobRead {
    NotFound(JobId),
    /// The reader asked again and again without waiting, and nothing was new.
    Refused {
        job: JobId,
        polls: u32,
    },
    News(News),
}

#[derive(Debug, Clone)]
pub struct News {
    pub job: JobId,
    pub text: String,
    /// Raw bytes that this reader can no longer be given; they may be in the log.
    pub skipped_bytes: u64,
    pub status: Status,
    pub exit: Option<Exit>,
    pub reason: Option<String>,
    pub elapsed: Duration,
    /// Since the last output.
    pub quiet: Duration,
    pub log: Option<PathBuf>,
    /// What its sandbox denied, where it failed or a pipe may hide that.
    pub denied: Vec<Denial>,
    pub waited: Waited,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Waited {
    /// What was waited for came, or nothing was.
    Satisfied,
    /// It did not come within this time.
    Expired(Duration),
    /// Nothing was new for this many reads in a row; one more is refused.
    Warned(u32),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum JobKilled {
    NotFound(JobId),
    AlreadyFinished(Status),
    /// Nothing of it is left.
    Stopped,
    /// It was told to end and has up to 5 s before it is killed.
    Stopping,
    /// It was not, or not with effect, signalled: its processes are not known to be ours any more
    /// or do not end.
    Unconfirmed,
}

/// Why input did not reach a job.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    #[error("job {0} not found")]
    NotFound(JobId),
    #[error("{0} takes no input: it is no terminal")]
    NoTerminal(JobId),
    #[error("{0} has ended")]
    Ended(JobId),
    #[error("{0} does not read its input")]
    Full(JobId),
}

/// The end of a job, as its owner is told.
#[derive(Debug, Clone)]
pub struct JobFinished {
    pub job: JobId,
    pub origin: Origin,
    pub status: Status,
    pub exit: Option<Exit>,
    pub reason: Option<String>,
    pub elapsed: Duration,
    /// The last lines it printed.
    pub tail: String,
    pub log: Option<PathBuf>,
    /// What its sandbox denied, where it failed or a pipe may hide that.
    pub denied: Vec<Denial>,
    pub urgency: Urgency,
}

/// How soon the owner of a job is to know of its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Urgency {
    /// At once, whatever it is doing.
    #[default]
    Wakes,
    /// When it works again: the person has just stopped all of its work.
    CanWait,
}

/// Who hears of commands while they run. Called from the tasks that run them: must return at once.
pub trait Observer: Send + Sync {
    /// A command started, on a terminal of this many columns and rows if it has one.
    fn started(&self, _origin: &Origin, _size: Option<(u16, u16)>) {}
    /// Raw output as it comes, at most 64 KiB per 33 ms; what exceeds that is left out and said.
    fn output(&self, call: &str, terminal: &str, bytes: &[u8]);
    /// A terminal has another size now.
    fn resized(&self, _terminal: &str, _size: (u16, u16)) {}
    /// A program whose password prompt was viewed does not wait for that password any more.
    fn secret_over(&self, _terminal: &str) {}
    /// A command and its group are gone, seen or unseen, job or not.
    fn ended(&self, _call: &str, _terminal: &str, _status: Status, _exit: Option<&Exit>) {}
    /// Once per job at its end, unless its owner already saw the end or asked for it.
    fn finished(&self, job: &JobFinished);
}

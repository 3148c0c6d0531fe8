//! The server's side of the supervisor: start it, ask it for processes, hear of their ends.
//!
//! Every process is its own session and process group. Dropping a [`Process`] kills what is left
//! of its group, and the supervisor ends everything once the server is gone.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::process::Signal;
use serde::{Deserialize, Serialize};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::{OnceCell, mpsc, oneshot, watch};

use crate::pty::Pty;
use crate::sandbox::{Grant, Sandbox};
use crate::wire::{self, Failure, Group, Inbox, Reply, Request, SpawnRequest};

/// A handle to the supervisor process; clones share it. When the last clone and the last
/// [`Process`] are gone, the supervisor ends every descendant and exits.
#[derive(Clone)]
pub struct Supervisor {
    inner: Arc<Inner>,
}

/// What to run. Nothing is inherited from the server.
#[derive(Debug, Clone)]
pub struct Spawn {
    /// Program and arguments; a program without `/` is looked up in the `PATH` of `env`.
    pub argv: Vec<OsString>,
    pub cwd: PathBuf,
    /// The complete environment.
    pub env: Vec<(OsString, OsString)>,
    pub stdio: Stdio,
    /// What it is confined to; absent: nothing is denied.
    pub sandbox: Option<Sandbox>,
}

/// How the process's three streams are connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stdio {
    /// stdin at its end, stdout and stderr in arrival order on [`Process::stdout`].
    Output,
    /// Three separate pipes.
    Piped,
    /// A controlling terminal on [`Process::pty`], size in character cells.
    Pty { cols: u16, rows: u16 },
}

/// A running process and the group it leads. Dropping it kills what is left of the group.
#[derive(Debug)]
pub struct Process {
    /// Process id, session id and process group id alike.
    pub pid: i32,
    /// With [`Stdio::Piped`].
    pub stdin: Option<pipe::Sender>,
    /// With [`Stdio::Piped`] and [`Stdio::Output`].
    pub stdout: Option<pipe::Receiver>,
    /// With [`Stdio::Piped`].
    pub stderr: Option<pipe::Receiver>,
    /// With [`Stdio::Pty`].
    pub pty: Option<Pty>,
    group: ProcessGroup,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Exit {
    Code(i32),
    /// Name of the signal, `"SIGKILL"`.
    Signal(String),
}

/// What became of a signal meant for a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Signalled {
    Sent,
    /// Nothing of the group is left.
    Gone,
    /// The group's members could not be told to be ours, or may not be signalled.
    Unconfirmed,
}

/// Why a process did not start.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    #[error("program `{0}` was not found")]
    ProgramNotFound(String),
    #[error("working directory `{}` does not exist or is no directory", .0.display())]
    DirectoryMissing(PathBuf),
    #[error(
        "maximum number of background jobs ({0}) reached; wait for or kill a job before starting another"
    )]
    TooManyJobs(usize),
    #[error("the process could not be started: {0}")]
    Os(String),
    /// Bytes of the script.
    #[error(
        "a command of {0} bytes goes to its shell by way of a file, which cannot be written: {1}"
    )]
    NoRoom(usize, io::Error),
    #[error("it cannot be confined to a sandbox here: {0}")]
    NoSandbox(String),
    #[error("the session has ended")]
    Closed,
    #[error("the process supervisor is not running: {0}")]
    Supervisor(String),
}

impl Supervisor {
    /// Starts `program args` as the supervisor; it must call [`crate::supervise_main`]. Returns
    /// as soon as the process is created: the first [`Supervisor::spawn`] waits for it.
    pub fn start(program: &Path, args: &[&str]) -> io::Result<Supervisor> {
        let inner = Inner {
            program: program.to_owned(),
            args: args.iter().map(|arg| (*arg).to_owned()).collect(),
            link: Mutex::new(Link::Idle(launch(program, args)?)),
            can_hide: OnceCell::new(),
        };
        Ok(Supervisor { inner: Arc::new(inner) })
    }

    /// Whether files can be hidden from confined processes here. Tried once with a process.
    pub async fn can_hide(&self) -> bool {
        let tried = async {
            let sandbox = Sandbox {
                writable: Vec::new(),
                hidden: vec![self.inner.program.clone().into_os_string()],
                attributes: Grant::Allowed,
                network: Grant::Allowed,
            };
            let spawn = Spawn {
                argv: vec!["true".into()],
                cwd: PathBuf::from("/"),
                env: vec![("PATH".into(), "/usr/bin:/bin".into())],
                stdio: Stdio::Output,
                sandbox: Some(sandbox),
            };
            match self.spawn(spawn).await {
                Ok(mut process) => process.wait().await.is_success(),
                Err(error) => {
                    tracing::debug!(%error, "files cannot be hidden from commands");
                    false
                }
            }
        };
        *self.inner.can_hide.get_or_init(|| tried).await
    }

    /// Starts a process. Must be called within a tokio runtime; the first call's runtime keeps
    /// the connection. A supervisor that died is started anew.
    pub async fn spawn(&self, spawn: Spawn) -> Result<Process, SpawnError> {
        let connection =
            self.inner.connection().map_err(|e| SpawnError::Supervisor(e.to_string()))?;
        connection.spawn(spawn).await
    }
}

impl Process {
    /// Waits for the leader to exit, whoever still holds its pipes. May be called again.
    pub async fn wait(&mut self) -> Exit {
        self.group.exited().await
    }

    /// A handle for signals and for waiting that outlives borrows of this process.
    pub fn group(&self) -> ProcessGroup {
        self.group.clone()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.group.life.borrow().is_gone() {
            self.group.request_signal(Signal::KILL);
        }
    }
}

impl Exit {
    /// Whether the process ended by itself with code 0.
    pub fn is_success(&self) -> bool {
        *self == Exit::Code(0)
    }
}

/// The process group of one [`Process`].
#[derive(Debug, Clone)]
pub struct ProcessGroup {
    id: u64,
    connection: Connection,
    life: watch::Receiver<Life>,
}

impl ProcessGroup {
    /// Waits for the leader to exit.
    pub async fn exited(&self) -> Exit {
        let mut life = self.life.clone();
        match life.wait_for(|life| life.exit.is_some() || life.lost).await {
            // A leader dies with its supervisor.
            Ok(life) => life.exit.clone().unwrap_or_else(killed),
            Err(_) => killed(),
        }
    }

    /// Waits until no member of the group is left.
    pub async fn gone(&self) {
        let mut life = self.life.clone();
        // An error means the connection is gone, and with it everything it started.
        let _ = life.wait_for(Life::is_gone).await;
    }

    /// Whether no member of the group is left.
    pub fn is_gone(&self) -> bool {
        self.life.borrow().is_gone()
    }

    /// Whether the supervisor died under the process, so that its end is not known.
    pub fn is_lost(&self) -> bool {
        self.life.borrow().lost
    }

    /// Signals every member of the group, if the group is still the one that was started.
    pub async fn signal(&self, signal: Signal) -> Signalled {
        if self.is_gone() {
            return Signalled::Gone;
        }
        match self.request_signal(signal) {
            Some(answer) => answer.await.unwrap_or(Signalled::Unconfirmed),
            None => Signalled::Unconfirmed,
        }
    }

    fn request_signal(&self, signal: Signal) -> Option<oneshot::Receiver<Signalled>> {
        self.connection.request_signal(self.id, signal)
    }
}

fn killed() -> Exit {
    Exit::Signal("SIGKILL".to_owned())
}

struct Inner {
    program: PathBuf,
    args: Vec<String>,
    link: Mutex<Link>,
    can_hide: OnceCell<bool>,
}

enum Link {
    /// Started, not yet talked to.
    Idle(Launched),
    Connected(Connection),
    Failed,
}

struct Launched {
    socket: std::os::unix::net::UnixStream,
    child: std::process::Child,
}

#[expect(clippy::disallowed_methods, reason = "this is the door: it starts the supervisor itself")]
fn launch(program: &Path, args: &[&str]) -> io::Result<Launched> {
    let (socket, theirs) = std::os::unix::net::UnixStream::pair()?;
    // Only a plain spawn is used here: std then takes posix_spawn, whose cost does not grow with
    // the server's memory.
    let child = std::process::Command::new(program)
        .args(args)
        .stdin(OwnedFd::from(theirs))
        .stdout(std::process::Stdio::null())
        .spawn()?;
    Ok(Launched { socket, child })
}

impl Inner {
    fn connection(&self) -> io::Result<Connection> {
        let mut link = lock(&self.link);
        if let Link::Connected(connection) = &*link
            && !connection.is_closed()
        {
            return Ok(connection.clone());
        }
        let launched = match std::mem::replace(&mut *link, Link::Failed) {
            Link::Idle(launched) => launched,
            Link::Connected(_) | Link::Failed => {
                let args: Vec<&str> = self.args.iter().map(String::as_str).collect();
                launch(&self.program, &args)?
            }
        };
        let connection = Connection::open(launched)?;
        *link = Link::Connected(connection.clone());
        Ok(connection)
    }
}

#[derive(Debug, Clone)]
struct Connection {
    frames: mpsc::UnboundedSender<Vec<u8>>,
    table: Arc<Mutex<Table>>,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    spawning: HashMap<u64, Spawning>,
    running: HashMap<u64, Running>,
    signalling: HashMap<u64, oneshot::Sender<Signalled>>,
    closed: bool,
}

#[derive(Debug)]
struct Spawning {
    answer: oneshot::Sender<Result<Process, SpawnError>>,
    stdio: Stdio,
    program: String,
    cwd: PathBuf,
}

#[derive(Debug)]
struct Running {
    life: watch::Sender<Life>,
    pid: i32,
}

#[derive(Debug, Default)]
struct Life {
    exit: Option<Exit>,
    group_gone: bool,
    lost: bool,
}

impl Life {
    fn is_gone(&self) -> bool {
        self.group_gone || self.lost
    }
}

impl Connection {
    fn open(launched: Launched) -> io::Result<Connection> {
        launched.socket.set_nonblocking(true)?;
        let stream = Arc::new(UnixStream::from_std(launched.socket)?);
        let (frames, queue) = mpsc::unbounded_channel();
        let connection = Connection { frames, table: Arc::default() };
        tokio::spawn(write_frames(Arc::clone(&stream), queue));
        // The reader must not keep the queue open: the supervisor ends when no one can ask it.
        let weak = connection.frames.downgrade();
        tokio::spawn(read_replies(stream, Arc::clone(&connection.table), weak, launched.child));
        Ok(connection)
    }

    fn is_closed(&self) -> bool {
        lock(&self.table).closed
    }

    async fn spawn(&self, spawn: Spawn) -> Result<Process, SpawnError> {
        let (answer, answered) = oneshot::channel();
        let Spawn { argv, cwd, env, stdio, sandbox } = spawn;
        let program =
            argv.first().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let id = {
            let mut table = lock(&self.table);
            if table.closed {
                return Err(SpawnError::Supervisor("it ended".to_owned()));
            }
            table.next += 1;
            let id = table.next;
            table.spawning.insert(id, Spawning { answer, stdio, program, cwd: cwd.clone() });
            id
        };
        let request = SpawnRequest { id, argv, cwd: cwd.into_os_string(), env, stdio, sandbox };
        match wire::frame(&Request::Spawn(request)) {
            Ok(frame) => {
                let _ = self.frames.send(frame);
            }
            Err(error) => {
                lock(&self.table).spawning.remove(&id);
                return Err(SpawnError::Os(error.to_string()));
            }
        }
        answered.await.unwrap_or_else(|_| Err(SpawnError::Supervisor("it ended".to_owned())))
    }

    fn request_signal(&self, id: u64, signal: Signal) -> Option<oneshot::Receiver<Signalled>> {
        let (answer, answered) = oneshot::channel();
        let ticket = {
            let mut table = lock(&self.table);
            if table.closed {
                return None;
            }
            table.next += 1;
            let ticket = table.next;
            table.signalling.insert(ticket, answer);
            ticket
        };
        let frame = wire::frame(&Request::Signal { id, ticket, signal: signal.as_raw() }).ok()?;
        self.frames.send(frame).ok()?;
        Some(answered)
    }
}

async fn write_frames(stream: Arc<UnixStream>, mut queue: mpsc::UnboundedReceiver<Vec<u8>>) {
    while let Some(frame) = queue.recv().await {
        if wire::send(&stream, &frame, &[]).await.is_err() {
            break;
        }
    }
    // The supervisor takes the end of our requests for the end of the server.
    let _ = rustix::net::shutdown(&*stream, rustix::net::Shutdown::Write);
}

async fn read_replies(
    stream: Arc<UnixStream>,
    table: Arc<Mutex<Table>>,
    frames: mpsc::WeakUnboundedSender<Vec<u8>>,
    mut child: std::process::Child,
) {
    let mut inbox = Inbox::default();
    loop {
        match inbox.next::<Reply>(&stream).await {
            Ok(Some(reply)) => handle(reply, &mut inbox, &table, &frames),
            Ok(None) => break,
            Err(error) => {
                tracing::error!(%error, "the supervisor's answers cannot be read");
                break;
            }
        }
    }
    let running = {
        let mut table = lock(&table);
        table.closed = true;
        table.spawning.clear();
        table.signalling.clear();
        std::mem::take(&mut table.running)
    };
    if !running.is_empty() {
        tracing::error!(count = running.len(), "the supervisor ended before its processes");
        let sessions: Vec<i32> = running.values().map(|running| running.pid).collect();
        crate::process_table::kill_sessions(&sessions);
    }
    for running in running.into_values() {
        running.life.send_modify(|life| life.lost = true);
    }
    let _ = tokio::task::spawn_blocking(move || child.wait()).await;
}

fn handle(
    reply: Reply,
    inbox: &mut Inbox,
    table: &Arc<Mutex<Table>>,
    frames: &mpsc::WeakUnboundedSender<Vec<u8>>,
) {
    match reply {
        Reply::Spawned { id, pid, descriptors } => {
            let descriptors = inbox.take_descriptors(descriptors);
            let (life, watch) = watch::channel(Life::default());
            let spawning = {
                let mut table = lock(table);
                table.running.insert(id, Running { life, pid });
                table.spawning.remove(&id)
            };
            let (Some(spawning), Some(frames)) = (spawning, frames.upgrade()) else { return };
            let connection = Connection { frames, table: Arc::clone(table) };
            let group = ProcessGroup { id, connection, life: watch };
            let process = connect(pid, spawning.stdio, descriptors, group)
                .map_err(|error| SpawnError::Os(error.to_string()));
            // If no one waits any more, the process is dropped here, and killed by that.
            let _ = spawning.answer.send(process);
        }
        Reply::Failed { id, failure } => {
            let Some(spawning) = lock(table).spawning.remove(&id) else { return };
            let error = match failure {
                Failure::ProgramNotFound => SpawnError::ProgramNotFound(spawning.program),
                Failure::DirectoryMissing => SpawnError::DirectoryMissing(spawning.cwd),
                Failure::NoSandbox(text) => SpawnError::NoSandbox(text),
                Failure::Os(text) => SpawnError::Os(text),
            };
            let _ = spawning.answer.send(Err(error));
        }
        Reply::Exited { id, exit, group } => {
            let mut table = lock(table);
            let Some(running) = table.running.get(&id) else { return };
            running.life.send_modify(|life| {
                life.exit = Some(exit);
                life.group_gone = group == Group::Gone;
            });
            if group == Group::Gone {
                table.running.remove(&id);
            }
        }
        Reply::GroupGone { id } => {
            let Some(running) = lock(table).running.remove(&id) else { return };
            running.life.send_modify(|life| life.group_gone = true);
        }
        Reply::Signalled { ticket, outcome } => {
            if let Some(answer) = lock(table).signalling.remove(&ticket) {
                let _ = answer.send(outcome);
            }
        }
    }
}

/// Makes asynchronous ends of the descriptors, in the order the supervisor sends them.
fn connect(
    pid: i32,
    stdio: Stdio,
    descriptors: Vec<OwnedFd>,
    group: ProcessGroup,
) -> io::Result<Process> {
    let mut process = Process { pid, stdin: None, stdout: None, stderr: None, pty: None, group };
    let mut descriptors = descriptors.into_iter();
    let mut next = || descriptors.next().ok_or_else(|| io::Error::other("descriptor missing"));
    match stdio {
        Stdio::Output => process.stdout = Some(pipe::Receiver::from_owned_fd(next()?)?),
        Stdio::Piped => {
            process.stdin = Some(pipe::Sender::from_owned_fd(next()?)?);
            process.stdout = Some(pipe::Receiver::from_owned_fd(next()?)?);
            process.stderr = Some(pipe::Receiver::from_owned_fd(next()?)?);
        }
        Stdio::Pty { .. } => process.pty = Some(Pty::new(next()?)?),
    }
    Ok(process)
}

/// Locks, also after a panic elsewhere: every critical section here leaves its data whole.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The supervisor process: starts what the server asks for and outlives the server just long
//! enough to end everything it started.
//!
//! Single-threaded and small, so that forking is cheap and the parent-death signal of its
//! children follows the process and not some thread. As a child subreaper it stays the ancestor
//! of all descendants, whatever sessions they make. A leader that ended is kept unreaped while
//! its group lives: its number cannot pass to another process, and signals reach the right ones.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio as StdStdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, WaitOptions};
use tokio::net::UnixStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::Instant;

use crate::process_table;
use crate::pty::window;
use crate::sandbox::Confinement;
use crate::signals::{signal_from_raw, signal_name};
use crate::supervisor::{Exit, Signalled, Stdio};
use crate::wire::{self, Failure, Group, Inbox, Reply, Request, SpawnRequest};

/// How long descendants may take to end by themselves once the server is gone.
const GRACE: Duration = Duration::from_millis(1500);
/// How long killing is retried against processes that keep forking.
const KILLING: Duration = Duration::from_secs(3);
/// How often a group without its leader is looked at beside the news of its members' ends.
const LINGER_CHECK: Duration = Duration::from_millis(250);
/// Room of the output pipe: fewer switches between the program and us. With more, the bytes would
/// have left the processor's cache before they are read.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 256 * 1024;

/// What the binary runs for its hidden subcommand: serves the socket on descriptor 0 until the
/// server closes it or dies, then ends every descendant and exits.
pub fn supervise_main() -> ! {
    let code = match run() {
        Ok(()) => 0,
        Err(error) => {
            use std::io::Write as _;
            let _ = writeln!(io::stderr(), "copydesk supervisor: {error}");
            1
        }
    };
    std::process::exit(code)
}

fn run() -> io::Result<()> {
    keep_descriptors_to_ourselves();
    let socket = rustix::io::fcntl_dupfd_cloexec(io::stdin().as_fd(), 3)?;
    let null = rustix::fs::open(
        "/dev/null",
        rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    )?;
    rustix::stdio::dup2_stdin(&null)?;
    // Out of the server's session: what ends its terminal must not end us first. No directory is
    // held either.
    let _ = rustix::process::setsid();
    rustix::process::chdir("/")?;
    become_reaper()?;
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(serve(socket))
}

/// Whoever started the server may have left descriptors open for it; no command is to get them.
#[expect(unsafe_code, reason = "descriptors that no one here owns are known by number only")]
fn keep_descriptors_to_ourselves() {
    use rustix::fs::{Dir, Mode, OFlags, open};
    use rustix::io::{FdFlags, fcntl_setfd};
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let Ok(listing) = open("/dev/fd", flags, Mode::empty()) else { return };
    let Ok(listing) = Dir::new(listing) else { return };
    let numbers = listing.filter_map(|entry| entry.ok()?.file_name().to_str().ok()?.parse().ok());
    for number in numbers.filter(|number: &i32| *number > 2) {
        // SAFETY: it was open a moment ago and this process has no other thread to close it; if
        // it were not, the call would fail.
        let descriptor = unsafe { std::os::fd::BorrowedFd::borrow_raw(number) };
        let _ = fcntl_setfd(descriptor, FdFlags::CLOEXEC);
    }
}

async fn serve(socket: OwnedFd) -> io::Result<()> {
    let socket = std::os::unix::net::UnixStream::from(socket);
    socket.set_nonblocking(true)?;
    let stream = UnixStream::from_std(socket)?;
    let mut ended_children = signal(SignalKind::child())?;
    let mut terminate = signal(SignalKind::terminate())?;
    let mut inbox = Inbox::default();
    let mut children = Children::default();
    loop {
        let lingering = children.any_lingering();
        let news = tokio::select! {
            request = inbox.next::<Request>(&stream) => match request {
                Ok(Some(request)) => children.answer(request, &stream).await,
                Ok(None) | Err(_) => break,
            },
            _ = ended_children.recv() => children.reap(&stream).await,
            () = tokio::time::sleep(LINGER_CHECK), if lingering => children.reap(&stream).await,
            _ = terminate.recv() => break,
        };
        // The server can no longer be told: it is gone.
        if news.is_err() {
            break;
        }
    }
    children.end_all().await;
    Ok(())
}

/// The leaders this process started, by process id.
#[derive(Default)]
struct Children {
    leaders: HashMap<i32, Leader>,
}

struct Leader {
    id: u64,
    /// Set once it ended while its group lives on.
    lingering: bool,
    span: Span,
}

/// Who belongs to a leader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Span {
    /// Its process group; what leaves that is on its own.
    Group,
    /// Its whole session: shells on terminals give each command a group.
    Session,
}

impl Children {
    fn any_lingering(&self) -> bool {
        self.leaders.values().any(|leader| leader.lingering)
    }

    async fn answer(&mut self, request: Request, stream: &UnixStream) -> io::Result<()> {
        match request {
            Request::Spawn(request) => match launch(&request) {
                Ok((pid, descriptors)) => {
                    let span = match request.stdio {
                        Stdio::Output | Stdio::Piped => Span::Group,
                        Stdio::Pty { .. } => Span::Session,
                    };
                    self.leaders.insert(pid, Leader { id: request.id, lingering: false, span });
                    let reply =
                        Reply::Spawned { id: request.id, pid, descriptors: descriptors.len() };
                    wire::send(stream, &wire::frame(&reply)?, &descriptors).await
                }
                Err(failure) => tell(stream, &Reply::Failed { id: request.id, failure }).await,
            },
            Request::Signal { id, ticket, signal } => {
                let outcome = self.signal(id, signal);
                tell(stream, &Reply::Signalled { ticket, outcome }).await
            }
        }
    }

    fn signal(&self, id: u64, raw: i32) -> Signalled {
        let Some((pid, leader)) = self.leaders.iter().find(|(_, leader)| leader.id == id) else {
            return Signalled::Gone;
        };
        if leader.lingering && !lives(*pid, leader.span) {
            return Signalled::Gone;
        }
        let (Some(group), Some(signal)) = (Pid::from_raw(*pid), signal_from_raw(raw)) else {
            return Signalled::Unconfirmed;
        };
        if leader.span == Span::Session && process_table::signal_session(*pid, signal) {
            return Signalled::Sent;
        }
        match rustix::process::kill_process_group(group, signal) {
            Ok(()) => {
                // A stopped member would keep the signal waiting for ever.
                if signal != Signal::KILL {
                    let _ = rustix::process::kill_process_group(group, Signal::CONT);
                }
                Signalled::Sent
            }
            Err(rustix::io::Errno::SRCH) => Signalled::Gone,
            Err(_) => Signalled::Unconfirmed,
        }
    }

    async fn reap(&mut self, stream: &UnixStream) -> io::Result<()> {
        let pids: Vec<i32> = self.leaders.keys().copied().collect();
        for pid in pids {
            let Some(leader) = self.leaders.get_mut(&pid) else { continue };
            if leader.lingering {
                if !lives(pid, leader.span) {
                    let reply = Reply::GroupGone { id: leader.id };
                    self.forget(pid);
                    tell(stream, &reply).await?;
                }
                continue;
            }
            let Some(exit) = peek_exit(pid) else { continue };
            let (id, span) = (leader.id, leader.span);
            let group = if self.may_have_orphans() && lives(pid, span) {
                Group::Alive
            } else {
                Group::Gone
            };
            match group {
                Group::Alive => {
                    if let Some(leader) = self.leaders.get_mut(&pid) {
                        leader.lingering = true;
                    }
                }
                Group::Gone => self.forget(pid),
            }
            tell(stream, &Reply::Exited { id, exit, group }).await?;
        }
        self.reap_orphans();
        Ok(())
    }

    /// Whether some process was handed to us by its parent's end. Members of an ended leader's
    /// group descend from such ones, so without any there is no need to read the whole table.
    fn may_have_orphans(&self) -> bool {
        process_table::own_children()
            .is_none_or(|children| children.iter().any(|pid| !self.leaders.contains_key(pid)))
    }

    fn reap_orphans(&self) {
        for pid in process_table::own_children().unwrap_or_default() {
            if !self.leaders.contains_key(&pid) {
                reap_one(pid);
            }
        }
    }

    fn forget(&mut self, pid: i32) {
        reap_one(pid);
        self.leaders.remove(&pid);
    }

    async fn end_all(&mut self) {
        let deadline = Instant::now() + GRACE;
        for pid in self.remaining() {
            process_table::signal_process(pid, Signal::TERM);
            process_table::signal_process(pid, Signal::CONT);
        }
        while Instant::now() < deadline {
            if self.remaining().is_empty() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let deadline = Instant::now() + KILLING;
        while Instant::now() < deadline {
            let remaining = self.remaining();
            if remaining.is_empty() {
                return;
            }
            for pid in remaining {
                process_table::signal_process(pid, Signal::KILL);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Everything that still lives below us, after reaping what does not.
    #[cfg(target_os = "linux")]
    fn remaining(&mut self) -> Vec<i32> {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        process_table::descendants(rustix::process::getpid().as_raw_pid())
    }

    /// The groups' numbers, negated: signalling such a number reaches the group.
    #[cfg(not(target_os = "linux"))]
    fn remaining(&mut self) -> Vec<i32> {
        while let Ok(Some(_)) = rustix::process::wait(WaitOptions::NOHANG) {}
        self.leaders.retain(|pid, leader| lives(*pid, leader.span));
        self.leaders.keys().map(|pid| -pid).collect()
    }
}

async fn tell(stream: &UnixStream, reply: &Reply) -> io::Result<()> {
    wire::send(stream, &wire::frame(reply)?, &[]).await
}

/// How `pid` ended, leaving it unreaped; `None` while it runs.
fn peek_exit(pid: i32) -> Option<Exit> {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let status = rustix::process::waitid(WaitId::Pid(Pid::from_raw(pid)?), options).ok()??;
    Some(match (status.exit_status(), status.terminating_signal()) {
        (Some(code), _) => Exit::Code(code),
        (None, signal) => Exit::Signal(signal_name(signal.unwrap_or_default())),
    })
}

fn reap_one(pid: i32) {
    let _ = rustix::process::waitpid(Pid::from_raw(pid), WaitOptions::NOHANG);
}

#[cfg(target_os = "linux")]
fn lives(leader: i32, span: Span) -> bool {
    match span {
        Span::Group => process_table::group_has_members(leader),
        Span::Session => process_table::session_has_members(leader),
    }
}

/// Elsewhere the ended leader is reaped first, so that only others answer for the group.
#[cfg(not(target_os = "linux"))]
fn lives(leader: i32, _span: Span) -> bool {
    reap_one(leader);
    Pid::from_raw(leader).is_some_and(|pid| rustix::process::test_kill_process_group(pid).is_ok())
}

#[cfg(target_os = "linux")]
fn become_reaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?)
}

#[cfg(not(target_os = "linux"))]
fn become_reaper() -> io::Result<()> {
    Ok(())
}

/// Starts a process; its descriptors are those of [`Stdio`], stdin first.
#[expect(clippy::disallowed_methods, reason = "this is the door: every process starts here")]
fn launch(request: &SpawnRequest) -> Result<(i32, Vec<OwnedFd>), Failure> {
    let Some((program, arguments)) = request.argv.split_first() else {
        return Err(Failure::Os("no program given".to_owned()));
    };
    // Both a missing program and a missing directory would fail with the same code later.
    if !is_directory(&request.cwd) {
        return Err(Failure::DirectoryMissing);
    }
    let mut command = Command::new(program);
    command.args(arguments).current_dir(&request.cwd).env_clear();
    command.envs(request.env.iter().map(|(name, value)| (name, value)));
    let descriptors = connect(&mut command, request.stdio).map_err(os)?;
    let confinement = request.sandbox.as_ref().map(Confinement::prepare).transpose();
    in_own_session(&mut command, request.stdio, confinement.map_err(Failure::NoSandbox)?);
    match command.spawn() {
        Ok(child) => Ok((child.id().cast_signed(), descriptors)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Failure::ProgramNotFound),
        Err(error) => Err(os(error)),
    }
}

fn os(error: io::Error) -> Failure {
    Failure::Os(match error.kind() {
        io::ErrorKind::ArgumentListTooLong => {
            "its arguments and environment are longer than the system takes".to_owned()
        }
        _ => error.to_string(),
    })
}

fn is_directory(path: &OsStr) -> bool {
    rustix::fs::stat(path).is_ok_and(|stat| {
        rustix::fs::FileType::from_raw_mode(stat.st_mode) == rustix::fs::FileType::Directory
    })
}

/// Wires the child's streams and returns our ends.
fn connect(command: &mut Command, stdio: Stdio) -> io::Result<Vec<OwnedFd>> {
    match stdio {
        Stdio::Output => {
            let (ours, theirs) = wide_pipe()?;
            command.stdin(StdStdio::null()).stdout(theirs.try_clone()?).stderr(theirs);
            Ok(vec![ours])
        }
        Stdio::Piped => {
            let (stdin, our_stdin) = io::pipe()?;
            let (our_stdout, stdout) = wide_pipe()?;
            let (our_stderr, stderr) = io::pipe()?;
            command.stdin(stdin).stdout(stdout).stderr(stderr);
            Ok(vec![our_stdin.into(), our_stdout, our_stderr.into()])
        }
        Stdio::Pty { cols, rows } => {
            use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
            let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
            rustix::io::fcntl_setfd(&terminal, rustix::io::FdFlags::CLOEXEC)?;
            grantpt(&terminal)?;
            unlockpt(&terminal)?;
            rustix::termios::tcsetwinsize(&terminal, window(cols, rows))?;
            use rustix::fs::{Mode, OFlags};
            let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
            let side = rustix::fs::open(ptsname(&terminal, Vec::new())?, flags, Mode::empty())?;
            command.stdin(side.try_clone()?).stdout(side.try_clone()?).stderr(side);
            Ok(vec![terminal])
        }
    }
}

fn wide_pipe() -> io::Result<(OwnedFd, io::PipeWriter)> {
    let (ours, theirs) = io::pipe()?;
    // Refused when the user's pipes hold too much already: the usual size does as well.
    #[cfg(target_os = "linux")]
    let _ = rustix::pipe::fcntl_setpipe_size(&ours, PIPE_BYTES);
    Ok((ours.into(), theirs))
}

/// Makes the child a session leader that dies with us, with its terminal and confinement if it has
/// any.
#[expect(unsafe_code, reason = "std sets neither session, death signal nor terminal")]
fn in_own_session(command: &mut Command, stdio: Stdio, mut confinement: Option<Confinement>) {
    #[cfg(target_os = "linux")]
    let parent = rustix::process::getpid();
    let hook = move || {
        rustix::process::setsid()?;
        match stdio {
            Stdio::Output | Stdio::Piped => {}
            Stdio::Pty { .. } => rustix::process::ioctl_tiocsctty(rustix::stdio::stdin())?,
        }
        confinement.as_mut().map_or(Ok(()), Confinement::enter)?;
        // A change of rights would take the signal back, so it comes last.
        #[cfg(target_os = "linux")]
        {
            rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
            // We may have ended before the signal was asked for.
            if rustix::process::getppid() != Some(parent) {
                return Err(io::Error::from(rustix::io::Errno::SRCH));
            }
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes little more than system calls, and this
    // process has a single thread: no lock is held that it could wait for.
    unsafe { command.pre_exec(hook) };
}

//! Runs one hook: its event on its input, its answer from its output.
//!
//! Invariant: it has its own process group, which is gone when this returns: ended by itself, stopped
//! with TERM and then KILL, or killed because whoever waited for it is gone.

use std::ffi::OsString;
use std::time::Duration;

use exec::{Exit, Process, Signal, Spawn, Stdio};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio_util::sync::CancellationToken;

use super::Hook;
use super::answer::{End, Ran};
use crate::session::Shared;

/// Bytes of one of its outputs that are kept; the rest is read and dropped.
const KEPT: usize = 1 << 20;
/// How long a hook may tidy up after TERM.
const GRACE: Duration = Duration::from_millis(500);

/// Runs a hook with this input.
pub async fn run(shared: &Shared, hook: &Hook, input: &[u8], cancel: &CancellationToken) -> Ran {
    let nothing = |end| Ran { end, stdout: String::new(), stderr: String::new() };
    let folder = shared.place().roots.paths().next().map(std::path::Path::to_path_buf);
    let Some(folder) = folder else {
        return nothing(End::NotStarted("there is no folder to run it in".into()));
    };
    let mut env = shared.world.own_environment().await;
    env.extend(
        ["CLAUDE_PROJECT_DIR", "COPYDESK_PROJECT_DIR"]
            .map(|name| (OsString::from(name), folder.clone().into_os_string())),
    );
    let spawn = Spawn {
        argv: vec!["/bin/sh".into(), "-c".into(), hook.command.clone().into()],
        cwd: folder,
        env,
        stdio: Stdio::Piped,
        sandbox: None,
    };
    // Dropped when nobody waits any more, which kills it.
    let mut process = match shared.world.supervisor.spawn(spawn).await {
        Ok(process) => process,
        Err(err) => return nothing(End::NotStarted(err.to_string())),
    };
    let stdin = process.stdin.take();
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (out, err) = (process.stdout.take(), process.stderr.take());
    let writing = async move {
        if let Some(mut stdin) = stdin {
            // One that does not read its input decides all the same.
            let _ = stdin.write_all(input).await;
        }
    };
    let talking = async {
        tokio::join!(writing, keep(out, &mut stdout), keep(err, &mut stderr));
    };
    let group = process.group();
    let ended = async {
        // What it leaves in the background may hold its pipes; it ended when it ended.
        tokio::select! {
            ((), exit) = async { tokio::join!(talking, group.exited()) } => exit,
            exit = settled(&group) => exit,
        }
    };
    let end = tokio::select! {
        biased;
        exit = ended => match exit {
            Exit::Code(code) => End::Code(code),
            Exit::Signal(name) => End::Signal(name),
        },
        () = cancel.cancelled() => stopped(&mut process, End::Cancelled).await,
        () = tokio::time::sleep(hook.timeout) => {
            stopped(&mut process, End::TooLong(hook.timeout.as_secs())).await
        }
    };
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Ran { end, stdout: text(stdout), stderr: text(stderr) }
}

/// The end of a process, and a moment for what it wrote last.
async fn settled(group: &exec::ProcessGroup) -> Exit {
    let exit = group.exited().await;
    tokio::time::sleep(Duration::from_millis(200)).await;
    exit
}

async fn stopped(process: &mut Process, end: End) -> End {
    process.group().signal(Signal::TERM).await;
    // What does not heed it is killed when the process is dropped.
    let _ = tokio::time::timeout(GRACE, process.wait()).await;
    end
}

async fn keep(from: Option<impl AsyncRead + Unpin>, into: &mut Vec<u8>) {
    let Some(mut from) = from else { return };
    let mut buffer = vec![0; 16 << 10];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        let room = KEPT.saturating_sub(into.len());
        into.extend_from_slice(&buffer[..count.min(room)]);
    }
}

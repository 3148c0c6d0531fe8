//! Pictures and documents, decoded in a process of their own.
//!
//! Invariant: whatever a file does to its decoder, it costs a bounded time and an answer that says so.

use std::path::PathBuf;
use std::time::Duration;

use exec::{Spawn, Stdio};
use media::{Answer, Request};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::sync::Semaphore;

use crate::tool::{Cx, Failure};

/// The program's own argument that makes it decode; see [`media::decode_main`].
pub const DECODE: &str = "decode";
/// All of one request.
const LIMIT: Duration = Duration::from_secs(45);
/// Bytes taken of all answers.
const MOST: u64 = 48 << 20;
/// Decoders at once: each may take much memory.
static RUNNING: Semaphore = Semaphore::const_new(2);

/// What a decoder told, and how it ended.
pub struct Decoded {
    /// In order.
    pub answers: Vec<Answer>,
    /// Why there may be less than was asked for: half a sentence, to stand after the file's name.
    pub fault: Option<&'static str>,
}

/// Has a file's bytes decoded.
pub async fn decode(cx: &Cx, request: Request, bytes: Vec<u8>) -> Result<Decoded, Failure> {
    tokio::select! {
        biased;
        () = cx.cancel.cancelled() => Err(Failure::Cancelled),
        decoded = decoded(cx, request, bytes) => decoded,
    }
}

async fn decoded(cx: &Cx, request: Request, bytes: Vec<u8>) -> Result<Decoded, Failure> {
    let failed = |err: String| Failure::new(format!("The decoder did not start: {err}."));
    let _running = RUNNING.acquire().await.map_err(|err| failed(err.to_string()))?;
    let mut line = serde_json::to_vec(&request).map_err(|err| failed(err.to_string()))?;
    line.push(b'\n');
    let spawn = Spawn {
        argv: vec![program().into(), DECODE.into()],
        cwd: PathBuf::from("/"),
        env: Vec::new(),
        stdio: Stdio::Piped,
        sandbox: None,
    };
    // Dropped on timeout or cancellation, which ends it.
    let mut process = cx.session.world.supervisor.spawn(spawn).await;
    let process = process.as_mut().map_err(|err| failed(err.to_string()))?;
    drop(process.stderr.take());
    let (Some(mut stdin), Some(stdout)) = (process.stdin.take(), process.stdout.take()) else {
        return Err(failed("it has no pipes".into()));
    };
    let writing = async move {
        // A decoder that has enough stops reading; what it says counts.
        let _ = stdin.write_all(&line).await;
        let _ = stdin.write_all(&bytes).await;
    };
    let mut answers = Vec::new();
    let reading = async {
        let mut lines = BufReader::new(stdout.take(MOST));
        let mut line = Vec::new();
        while lines.read_until(b'\n', &mut line).await.is_ok_and(|it| 0 < it) {
            answers.extend(serde_json::from_slice::<Answer>(&line));
            line.clear();
        }
    };
    let served = async {
        tokio::join!(writing, reading);
        process.wait().await.is_success()
    };
    let fault = match tokio::time::timeout(LIMIT, served).await {
        Ok(true) => None,
        Ok(false) => Some("takes too much memory or time to decode"),
        Err(_) => Some("takes too long to decode"),
    };
    Ok(Decoded { answers, fault })
}

/// This very program, also after a newer one took its place on disk.
fn program() -> PathBuf {
    if cfg!(target_os = "linux") {
        // Read by the process that spawns, which is the same program.
        return PathBuf::from("/proc/self/exe");
    }
    std::env::current_exe().unwrap_or_default()
}

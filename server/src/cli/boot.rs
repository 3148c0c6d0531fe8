//! What every command that works with the agent starts: the supervisor, a runtime, the sessions.

use std::future::Future;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use agent::editor::Editor;
use agent::world::{Config, World};
use exec::Supervisor;
use serde_json::Value;
use tokio::signal::unix::{SignalKind, signal};
use vfs::{Vfs, normalize};

use super::{Place, SUPERVISE, fail};
use crate::config::{Sources, state_dir};
use crate::sessions::Sessions;

/// Starts the process that spawns all others. Done first, while this process is small.
///
/// # Errors
/// The program cannot be run again.
pub fn supervisor() -> std::io::Result<Supervisor> {
    Supervisor::start(&std::env::current_exe()?, &[SUPERVISE])
}

/// The folder a command works in, absolute.
///
/// # Errors
/// It is not a folder; the text says so.
pub fn root(place: &Place) -> Result<PathBuf, String> {
    let here =
        std::env::current_dir().map_err(|err| format!("the current folder is gone: {err}"))?;
    let root = match &place.root {
        Some(root) => normalize(&here.join(root)),
        None => here,
    };
    match vfs().kind(&root) {
        Some(vfs::FileKind::Folder) => Ok(root),
        Some(_) | None => Err(format!("--root: {} is not a folder", root.display())),
    }
}

/// A store of files that journals in the person's state.
pub fn vfs() -> Vfs {
    Vfs::new(vfs::Options {
        unit: text::Unit::Utf8,
        breaks: text::LineBreaks::Lf,
        state_dir: state_dir(),
    })
}

/// Puts back what a process that was killed left half written.
pub fn recover(vfs: &Vfs) {
    for path in vfs.recover() {
        tracing::warn!("{} was left half changed and was put back", path.display());
    }
}

/// What a command says beside the configuration.
pub struct Wish {
    /// The folder.
    pub root: PathBuf,
    /// Settings of this run, as JSON.
    pub settings: Value,
    /// The person typed the call itself, with its mode.
    pub own_call: bool,
    /// Whether the folder is trusted for this run.
    pub trusted: Option<bool>,
    /// Where sessions are kept.
    pub state: Option<PathBuf>,
}

/// Sessions of a command without an editor.
pub fn sessions(wish: Wish, vfs: Vfs, editor: Arc<dyn Editor>, supervisor: Supervisor) -> Sessions {
    let world = World::new(vfs, editor, supervisor, wish.state, Config::default());
    let sources = Sources {
        folders: vec![wish.root],
        editor: Value::Null,
        command_line: wish.settings,
        own_call: wish.own_call,
        trusted: wish.trusted,
        state: state_dir(),
    };
    Sessions::new(Arc::new(world), sources, None, Box::new(|_| ()))
}

/// Runs a command on a runtime, with logging and the supervisor.
pub fn block_on<F: Future<Output = ExitCode>>(
    level: Option<&str>,
    command: impl FnOnce(Supervisor) -> F,
) -> ExitCode {
    let supervisor = match supervisor() {
        Ok(supervisor) => supervisor,
        Err(err) => return fail(&format!("processes cannot be started: {err}")),
    };
    let logging = crate::logging::start(level);
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(err) => return fail(&format!("the runtime cannot be started: {err}")),
    };
    recover(&vfs());
    let code = runtime.block_on(command(supervisor));
    runtime.shutdown_timeout(std::time::Duration::from_secs(2));
    drop(logging);
    code
}

/// The runtime of every command. A write beyond a limit on file sizes fails from here on, instead of
/// ending the process.
///
/// # Errors
/// No thread could be started.
pub fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let size_limit = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
    runtime.block_on(async { signal(size_limit).map(drop) })?;
    Ok(runtime)
}

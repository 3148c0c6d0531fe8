//! `copydesk lsp`: serves an editor.

use std::fs::File;
use std::os::fd::AsFd;
use std::process::ExitCode;
use std::sync::Arc;

use agent::world::{Config, World};

use super::boot::{runtime, supervisor};
use super::fail;
use crate::config::{Sources, state_dir};
use crate::lsp_server::{End, Opening, ServeOptions, serve};
use crate::sessions::Sessions;

/// Serves until the client leaves.
pub fn run(level: Option<&str>) -> ExitCode {
    let supervisor = match supervisor() {
        Ok(supervisor) => supervisor,
        Err(err) => return fail(&format!("processes cannot be started: {err}")),
    };
    let logging = crate::logging::start(level);
    let log_path = logging.as_ref().map(|(file, _)| file.clone());
    let runtime = match runtime() {
        Ok(runtime) => runtime,
        Err(err) => return fail(&format!("the runtime cannot be started: {err}")),
    };
    let start = move |opening: Opening| {
        let Opening { editor, vfs, folders, settings } = opening;
        if let (Some(state), Some(folder)) = (state_dir(), folders.first()) {
            let path = agent::store::project_dir(&state, folder).join("review.json");
            editor.review().keep_in(path);
        }
        if let Some(state) = state_dir() {
            editor.bound_history(state);
        }
        // Before anything else is asked: later it would take back what is written meanwhile. A look
        // into one folder where nobody crashed.
        super::boot::recover(&vfs);
        let world =
            World::new(vfs, editor.clone(), supervisor.clone(), state_dir(), Config::default());
        let trusted = settings["trusted"].as_bool();
        let sources = Sources {
            folders,
            editor: settings,
            trusted,
            state: state_dir(),
            ..Sources::default()
        };
        let save_policy = Box::new(move |world: &World| {
            let edits = &world.config().settings.edits;
            editor.set_save_policy(edits.save);
            editor.set_history_limit(edits.history_mb);
        });
        Sessions::new(Arc::new(world), sources, log_path.clone(), save_policy)
    };
    let (input, output) = match streams() {
        Ok(streams) => streams,
        Err(err) => return fail(&format!("standard input and output cannot be used: {err}")),
    };
    let options = ServeOptions {
        input: Box::new(input),
        output: Box::new(output),
        vfs: super::boot::vfs(),
        start: Box::new(start),
    };
    let end = runtime.block_on(serve(options));
    runtime.shutdown_background();
    drop(logging);
    let code = match end {
        Ok(End::Orderly) => 0,
        Ok(End::Abrupt) => 1,
        Err(err) => {
            fail(&format!("the server could not be started: {err}"));
            1
        }
    };
    // The thread that reads may wait for a client that does not close its end.
    std::process::exit(code)
}

/// The bare streams: what std puts around them would hold back bytes.
fn streams() -> std::io::Result<(File, File)> {
    let input = std::io::stdin().as_fd().try_clone_to_owned()?;
    let output = std::io::stdout().as_fd().try_clone_to_owned()?;
    Ok((File::from(input), File::from(output)))
}

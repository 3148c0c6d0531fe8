//! The one door to processes.
//!
//! A supervisor process starts everything and outlives the server just long enough to end it.
//! [`Jobs`] runs shell commands in the foreground or background with bounded output. Linux is
//! complete; on other Unix systems processes that leave their group are not followed. Windows is
//! not supported.

#![cfg(unix)]

mod attended;
mod capture;
mod command;
mod denial;
mod environment;
mod final_text;
#[cfg(target_os = "linux")]
mod hiding;
mod interactive;
mod jobs;
mod keys;
mod line_watch;
mod live;
mod pages;
mod ports;
mod process_table;
mod pty;
mod readiness;
mod reading;
mod render;
mod run;
mod sandbox;
mod screen;
mod script_file;
mod secret_prompt;
mod shell;
mod signals;
mod simple_command;
mod supervise;
mod supervisor;
mod terminals;
mod wire;

pub use attended::Attended;
pub use command::{
    Command, Ended, InputError, JobFinished, JobId, JobKilled, JobRead, JobRow, Listed, News,
    Observer, Origin, Output, Promotion, Ran, Status, Urgency, Wait, Waited,
};
pub use denial::Denial;
pub use environment::{
    LoginPath, command_environment, is_secret, reading_environment, terminal_environment,
};
pub use final_text::final_text;
pub use interactive::interactive_reason;
pub use jobs::{FOREGROUND_CAP, Jobs, MAX_ACTIVE, MAX_EXIT_WAIT, MAX_FINISHED, MAX_OUTPUT_WAIT};
pub use keys::{Stroke, strokes};
pub use pages::Page;
pub use ports::{Listener, PortOwner, listener};
pub use pty::Pty;
pub use readiness::{LocalUrl, Readiness, Wanted};
pub use rustix::process::Signal;
pub use sandbox::{Grant, Sandbox, sandbox_support};
pub use screen::{MAX_COLS, MAX_HISTORY, MAX_ROWS, ScreenText};
pub use shell::{Grammar, Script, Shell, exit_is_error, promotable, wrap_for_cwd};
pub use supervise::supervise_main;
pub use supervisor::{
    Exit, Process, ProcessGroup, Signalled, Spawn, SpawnError, Stdio, Supervisor,
};
pub use terminals::{Came, Mark, Typed, Until, View};

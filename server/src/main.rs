//! copydesk: a coding agent behind a language-server interface.
//!
//! Invariant: standard output carries either protocol frames or what a command prints, never logs.

mod apply;
mod backend;
mod bare;
mod capabilities;
mod cli;
mod config;
mod headless;
mod logging;
mod lsp;
mod lsp_server;
mod notebooks;
mod outbox;
mod review;
mod sessions;
mod transport;

use std::process::ExitCode;

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|it| it == cli::SUPERVISE) {
        exec::supervise_main();
    }
    if std::env::args_os().nth(1).is_some_and(|it| it == cli::DECODE) {
        media::decode_main();
    }
    cli::run()
}

//! `copydesk completions` and `copydesk man`: made from the command line's own definition.

use std::process::ExitCode;

use clap::CommandFactory;

use super::{Cli, fail};

/// Prints the completion script of a shell.
pub fn completions(shell: clap_complete::Shell) -> ExitCode {
    clap_complete::generate(shell, &mut Cli::command(), "copydesk", &mut std::io::stdout());
    ExitCode::SUCCESS
}

/// Prints the manual page.
pub fn man() -> ExitCode {
    match clap_mangen::Man::new(Cli::command()).render(&mut std::io::stdout()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => fail(&format!("the manual page could not be written: {err}")),
    }
}

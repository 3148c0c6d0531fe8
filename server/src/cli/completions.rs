//! `copydesk completions` and `copydesk man`: made from the command line's own definition.

use std::process::ExitCode;

use clap::CommandFactory;

use super::{Cli, fail, say};

/// Prints the completion script of a shell.
pub fn completions(shell: clap_complete::Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "copydesk", &mut script);
    say(String::from_utf8_lossy(&script).trim_end());
    ExitCode::SUCCESS
}

/// Prints the manual page.
pub fn man() -> ExitCode {
    let mut page = Vec::new();
    match clap_mangen::Man::new(Cli::command()).render(&mut page) {
        Ok(()) => {
            say(String::from_utf8_lossy(&page).trim_end());
            ExitCode::SUCCESS
        }
        Err(err) => fail(&format!("the manual page could not be written: {err}")),
    }
}

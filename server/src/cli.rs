//! The command line: one file a command.
//!
//! Exit codes: 0 it worked, 1 it failed, 2 it was called wrongly. Errors go to standard error.

mod boot;
mod completions;
mod config;
mod demo;
mod doctor;
mod lsp;
mod run;
mod sessions;
mod terminal;
mod tools;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, CommandFactory, Parser, Subcommand};

/// The hidden command that runs the process supervisor.
pub const SUPERVISE: &str = "supervise";

/// The hidden command that decodes pictures and documents.
pub const DECODE: &str = agent::DECODE;

/// A coding agent that works on your editor's open buffers.
#[derive(Parser)]
#[command(name = "copydesk", version, about, arg_required_else_help = true)]
pub struct Cli {
    /// Also write logs of this level to standard error: error, warn, info, debug or trace.
    #[arg(long, global = true, value_name = "LEVEL")]
    log_level: Option<String>,
    /// The same as `copydesk lsp`.
    #[arg(long, hide = true)]
    stdio: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

/// Where a command works.
#[derive(Args, Clone)]
pub struct Place {
    /// The folder to work in; absent: the current one.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
}

#[derive(Subcommand)]
enum Command {
    /// Serve an editor over standard input and output.
    Lsp {
        /// Accepted for editors that add it.
        #[arg(long, hide = true)]
        stdio: bool,
    },
    /// Watch a whole turn on a sample project, offline and without a key.
    Demo(demo::Demo),
    /// Run one prompt and show what happens.
    Run(run::Run),
    /// List, show or call the agent's tools.
    Tools {
        #[command(subcommand)]
        command: tools::Tools,
    },
    /// Check the configuration, say where it is, or print its schema.
    Config {
        #[command(subcommand)]
        command: config::ConfigCommand,
    },
    /// List, show or export kept conversations.
    Sessions {
        #[command(subcommand)]
        command: sessions::SessionsCommand,
    },
    /// Say what is missing and what to type.
    Doctor(doctor::Doctor),
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    Man,
}

/// Parses the arguments and runs the command.
pub fn run() -> ExitCode {
    let cli = Cli::parse();
    if cli
        .log_level
        .as_deref()
        .is_some_and(|it| !["error", "warn", "info", "debug", "trace"].contains(&it))
    {
        Cli::command()
            .error(
                clap::error::ErrorKind::InvalidValue,
                "--log-level takes error, warn, info, debug or trace",
            )
            .exit();
    }
    let level = cli.log_level.as_deref();
    match cli.command {
        Some(Command::Lsp { .. }) => lsp::run(level),
        None if cli.stdio => lsp::run(level),
        None => {
            Cli::command().error(clap::error::ErrorKind::MissingSubcommand, "name a command").exit()
        }
        Some(Command::Demo(demo)) => boot::block_on(level, |it| demo::run_demo(demo, it)),
        Some(Command::Run(run)) => boot::block_on(level, |it| run::run_prompt(run, it)),
        Some(Command::Tools { command }) => {
            boot::block_on(level, |it| tools::run_command(command, it))
        }
        Some(Command::Config { command }) => config::run(command),
        Some(Command::Sessions { command }) => sessions::run(command),
        Some(Command::Doctor(doctor)) => boot::block_on(level, |it| doctor::run_checks(doctor, it)),
        Some(Command::Completions { shell }) => completions::completions(shell),
        Some(Command::Man) => completions::man(),
    }
}

/// Writes to standard output; a reader that has gone is no error.
pub fn say(text: &str) {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n"));
}

/// Writes an error and gives the exit code for "it failed".
pub fn fail(text: &str) -> ExitCode {
    complain(text);
    ExitCode::from(1)
}

/// Writes an error and gives the exit code for "it was called wrongly".
pub fn misuse(text: &str) -> ExitCode {
    complain(text);
    ExitCode::from(2)
}

fn complain(text: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr().lock(), "copydesk: {text}");
}

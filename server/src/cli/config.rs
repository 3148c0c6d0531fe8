//! `copydesk config`: checks the configuration, says where it is, prints its schema.

use std::process::ExitCode;

use clap::Subcommand;

use super::boot::root;
use super::{Place, fail, misuse, say};
use crate::config;

#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Report mistakes with file and line.
    Check(Place),
    /// List the files that are read.
    Path(Place),
    /// Print the JSON Schema.
    Schema(Place),
}

/// Runs the command.
pub fn run(command: ConfigCommand) -> ExitCode {
    match command {
        ConfigCommand::Check(place) => match root(&place) {
            Ok(root) => check(&root),
            Err(text) => misuse(&text),
        },
        ConfigCommand::Path(place) => match root(&place) {
            Ok(root) => {
                for (_, path) in config::files(Some(&root)) {
                    let there = vfs::state::read_text_file(&path).is_ok_and(|it| it.is_some());
                    say(&format!("{}{}", path.display(), if there { "" } else { "  (not there)" }));
                }
                ExitCode::SUCCESS
            }
            Err(text) => misuse(&text),
        },
        ConfigCommand::Schema(_) => match serde_json::to_string_pretty(&config::schema()) {
            Ok(text) => {
                say(&text);
                ExitCode::SUCCESS
            }
            Err(err) => fail(&err.to_string()),
        },
    }
}

fn check(root: &std::path::Path) -> ExitCode {
    let problems = config::problems(Some(root));
    for problem in &problems {
        say(&problem.to_string());
    }
    if problems.is_empty() {
        say("The configuration is fine.");
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    }
}

//! `copydesk sessions`: kept conversations.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use agent::conversation::Conversation;
use agent::export;
use agent::store::{self, Loaded};
use clap::Subcommand;
use serde_json::json;

use super::boot::root;
use super::{Place, fail, misuse, say};
use crate::config::state_dir;

#[derive(Subcommand)]
pub enum SessionsCommand {
    /// List the conversations of a folder, newest first.
    Ls {
        #[command(flatten)]
        place: Place,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show a conversation.
    Show {
        /// Its id.
        id: String,
        #[command(flatten)]
        place: Place,
    },
    /// Print a conversation as Markdown or JSON.
    Export {
        /// Its id.
        id: String,
        #[command(flatten)]
        place: Place,
        /// markdown or json.
        #[arg(long, default_value = "markdown", value_parser = ["markdown", "json"])]
        format: String,
    },
}

/// Runs the command.
pub fn run(command: SessionsCommand) -> ExitCode {
    match command {
        SessionsCommand::Ls { place, json } => match dir(&place) {
            Ok(dir) => list(&dir, if json { Format::Json } else { Format::Markdown }),
            Err(text) => misuse(&text),
        },
        SessionsCommand::Show { id, place } => export(&id, &place, Format::Markdown),
        SessionsCommand::Export { id, place, format } => {
            export(&id, &place, if format == "json" { Format::Json } else { Format::Markdown })
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Markdown,
    Json,
}

fn dir(place: &Place) -> Result<PathBuf, String> {
    let state = state_dir().ok_or("there is no folder for state: set HOME or XDG_STATE_HOME")?;
    Ok(store::sessions_dir(&state, &root(place)?))
}

fn list(dir: &Path, format: Format) -> ExitCode {
    let mut all: Vec<Loaded> = vfs::state::list(dir)
        .unwrap_or_default()
        .iter()
        .filter_map(|it| store::load(it).ok())
        // What `copydesk tools call` keeps is no conversation.
        .filter(|it| it.title().is_some())
        .collect();
    all.sort_by_key(|it| std::cmp::Reverse(it.header.created));
    if format == Format::Json {
        let rows: Vec<_> = all
            .iter()
            .map(|it| json!({ "sessionId": it.header.id, "title": title(it), "cwd": it.header.cwd, "created": it.header.created }))
            .collect();
        say(&serde_json::to_string_pretty(&rows).unwrap_or_default());
        return ExitCode::SUCCESS;
    }
    if all.is_empty() {
        say("No conversations are kept for this folder.");
    }
    for loaded in &all {
        say(&format!("{}  {}", loaded.header.id, title(loaded)));
    }
    ExitCode::SUCCESS
}

fn export(id: &str, place: &Place, format: Format) -> ExitCode {
    let dir = match dir(place) {
        Ok(dir) => dir.join(id),
        Err(text) => return misuse(&text),
    };
    if id.contains(['/', '\\']) || id.contains("..") {
        return misuse("an id has no slashes; `copydesk sessions ls` lists the ids");
    }
    let loaded = match store::load(&dir) {
        Ok(loaded) => loaded,
        Err(err) => {
            let there = vfs::state::list(&dir).is_ok_and(|files| !files.is_empty());
            return fail(&match there {
                true => format!("the conversation {id} cannot be read: {err}"),
                false => {
                    format!("there is no conversation {id} here; `copydesk sessions ls` lists them")
                }
            });
        }
    };
    let Loaded { records, note, .. } = loaded;
    let history = Conversation::of(records).history;
    match format {
        Format::Markdown => say(&export::markdown(history.updates())),
        Format::Json => say(&serde_json::to_string_pretty(history.updates()).unwrap_or_default()),
    }
    if let Some(note) = &note {
        fail(note);
    }
    ExitCode::SUCCESS
}

fn title(loaded: &Loaded) -> &str {
    loaded.title().unwrap_or("(nothing was asked)")
}

//! `copydesk run`: one prompt in a folder, with a real model and no editor.

use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::sync::Arc;

use agent::session::{Delivery, Prompt, Session, new_id};
use agent::settings::Mode;
use clap::Args;
use exec::Supervisor;
use protocol::acp::ContentBlock;
use serde_json::json;

use super::boot::{self, Wish};
use super::terminal::{Asking, Style, Terminal};
use super::{Place, fail, misuse};
use crate::config::state_dir;
use crate::headless::Headless;

/// Arguments of `copydesk run`.
#[derive(Args)]
pub struct Run {
    #[command(flatten)]
    place: Place,
    /// The model, as `provider/model`.
    #[arg(long)]
    model: Option<String>,
    /// What may run unasked: ask, plan, edit or auto.
    #[arg(long, value_parser = parse_mode)]
    mode: Option<Mode>,
    /// Print one JSON object a line.
    #[arg(long)]
    json: bool,
    /// Trust the folder for this run.
    #[arg(long)]
    trust: bool,
    /// What to do; absent or `-`: read from standard input.
    prompt: Option<String>,
}

/// Runs the command.
pub async fn run_prompt(run: Run, supervisor: Supervisor) -> ExitCode {
    let root = match boot::root(&run.place) {
        Ok(root) => root,
        Err(text) => return misuse(&text),
    };
    let prompt = match prompt(run.prompt) {
        Ok(prompt) => prompt,
        Err(text) => return misuse(&text),
    };
    let style = if run.json { Style::Json } else { Style::detect() };
    let terminal = Arc::new(Terminal::new(style, Asking::Person));
    let vfs = boot::vfs();
    let editor = match Headless::new(vfs.clone(), terminal.clone()) {
        Ok(editor) => editor,
        Err(err) => return fail(&err.to_string()),
    };
    if let Some(state) = state_dir() {
        editor.keep_review_in(agent::store::project_dir(&state, &root).join("review.json"));
    }
    let mut settings = serde_json::Map::new();
    if let Some(model) = run.model {
        settings.insert("model".into(), json!(model));
    }
    if let Some(mode) = run.mode {
        settings.insert("mode".into(), json!(mode.id()));
    }
    let wish = Wish {
        root: root.clone(),
        own_call: false,
        settings: settings.into(),
        trusted: run.trust.then_some(true),
        state: state_dir(),
    };
    let sessions = boot::sessions(wish, vfs, Arc::new(editor), supervisor);
    let session = match sessions.begin(new_id("session"), root, Vec::new()) {
        Ok(session) => session,
        Err(err) => return fail(&err.message),
    };
    for problem in &sessions.world().config().problems {
        fail(problem);
    }
    if let Some(problem) = sessions.not_kept() {
        fail(&problem);
    }
    let code = turn(&terminal, &session, prompt).await;
    session.close().await;
    code
}

/// Sends a prompt and waits for the turn's end.
pub async fn turn(terminal: &Terminal, session: &Session, prompt: String) -> ExitCode {
    let mut ended = terminal.ended();
    session.prompt(Prompt {
        id: new_id("message"),
        content: vec![ContentBlock::from(prompt)],
        delivery: Delivery::Queue,
        passages: Vec::new(),
    });
    let reason = tokio::select! {
        reason = ended.wait_for(Option::is_some) => reason.ok().and_then(|it| it.clone()),
        _ = tokio::signal::ctrl_c() => {
            session.cancel_turn();
            Some("cancelled".into())
        }
    };
    match reason.as_deref() {
        Some("end_turn") => ExitCode::SUCCESS,
        Some(_) | None => ExitCode::from(1),
    }
}

/// A mode by name, for clap.
pub fn parse_mode(text: &str) -> Result<Mode, String> {
    Mode::from_id(text).ok_or_else(|| "use ask, plan, edit or auto".to_string())
}

fn prompt(given: Option<String>) -> Result<String, String> {
    let text = match given {
        Some(text) if text != "-" => text,
        Some(_) | None => {
            if std::io::stdin().is_terminal() {
                return Err(
                    "give a prompt, or pipe one in: copydesk run \"fix the failing test\"".into()
                );
            }
            let mut text = String::new();
            std::io::stdin()
                .take(4 << 20)
                .read_to_string(&mut text)
                .map_err(|err| format!("the prompt cannot be read: {err}"))?;
            text
        }
    };
    if text.trim().is_empty() { Err("the prompt is empty".into()) } else { Ok(text) }
}

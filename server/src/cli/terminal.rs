//! The conversation in a terminal: streamed text, a line or a block a card, coloured diffs, and
//! questions where there is somebody to answer them.

use std::collections::{HashMap, HashSet};
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use agent::editor::{Answer, Extras};
use async_trait::async_trait;
use protocol::acp::{
    self, ContentBlock, RequestPermissionSubject, SessionUpdate, StateUpdate, ToolCallContent,
    ToolCallStatus, ToolCallUpdate,
};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::watch;

use crate::headless::Watcher;

/// Lines of a command's output or of a text shown on a card.
const LINES: usize = 12;

/// How a conversation is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Text with colours.
    Coloured,
    /// Text alone.
    Plain,
    /// One JSON object a line.
    Json,
}

impl Style {
    /// Colours only on a terminal whose owner wants them.
    pub fn detect() -> Style {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|it| it.is_empty());
        let able = std::env::var_os("TERM").is_none_or(|it| it != "dumb");
        if wanted && able && std::io::stdout().is_terminal() {
            Style::Coloured
        } else {
            Style::Plain
        }
    }
}

/// Who answers questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asking {
    /// The person at the terminal, where there is one.
    Person,
    /// Everything is allowed: the demo's own sample project.
    AllowAll,
}

/// A conversation on standard output.
pub struct Terminal {
    style: Style,
    asking: Asking,
    state: Mutex<State>,
    idle: watch::Sender<Option<String>>,
}

#[derive(Default)]
struct State {
    cards: HashMap<String, ToolCallUpdate>,
    ended: HashSet<String>,
    terminals: HashMap<String, Vec<u8>>,
    in_text: bool,
    seen_running: bool,
}

impl Terminal {
    /// Nothing shown yet.
    pub fn new(style: Style, asking: Asking) -> Terminal {
        Terminal { style, asking, state: Mutex::default(), idle: watch::Sender::new(None) }
    }

    /// The stop reason, once the turn has ended.
    pub fn ended(&self) -> watch::Receiver<Option<String>> {
        self.idle.subscribe()
    }

    /// Prints a line of the program's own.
    pub fn line(&self, text: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        self.end_text(&mut state);
        print(&format!("{text}\n"));
    }

    /// A heading of the program's own.
    pub fn heading(&self, text: &str) {
        self.line(&format!("\n{}", self.paint("1", text)));
    }

    fn paint(&self, code: &str, text: &str) -> String {
        match self.style {
            Style::Coloured => format!("\x1b[{code}m{text}\x1b[0m"),
            Style::Plain | Style::Json => text.to_string(),
        }
    }

    fn show(&self, update: &SessionUpdate) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match update {
            SessionUpdate::AgentMessageChunk(chunk) => {
                if let ContentBlock::Text(text) = &chunk.content {
                    if !state.in_text {
                        print("\n");
                    }
                    state.in_text = true;
                    print(&clean(&text.text));
                }
            }
            SessionUpdate::ToolCallUpdate(card) => self.card(&mut state, card),
            SessionUpdate::TerminalOutputChunk(chunk) => {
                use base64::{Engine, engine::general_purpose::STANDARD};
                let bytes = STANDARD.decode(&chunk.data).unwrap_or_default();
                let kept = state.terminals.entry(chunk.terminal_id.to_string()).or_default();
                kept.extend(bytes);
                let cut = kept.len().saturating_sub(64 * 1024);
                kept.drain(..cut);
            }
            SessionUpdate::Notice(notice) => {
                self.end_text(&mut state);
                let mark = match notice.severity {
                    acp::NoticeSeverity::Error => self.paint("31", "error:"),
                    acp::NoticeSeverity::Warning => self.paint("33", "warning:"),
                    _ => self.paint("2", "note:"),
                };
                let line = format!("{mark} {}\n", clean(&notice.title));
                match notice.severity {
                    acp::NoticeSeverity::Error => complain(&line),
                    _ => print(&line),
                }
            }
            SessionUpdate::StateUpdate(StateUpdate::Running(_)) => state.seen_running = true,
            SessionUpdate::StateUpdate(StateUpdate::Idle(idle)) => {
                self.end_text(&mut state);
                if state.seen_running {
                    let reason = serde_json::to_value(&idle.stop_reason).unwrap_or_default();
                    let reason = reason["stopReason"].as_str().unwrap_or("end_turn").to_string();
                    self.idle.send_replace(Some(reason));
                }
            }
            _ => {}
        }
    }

    fn card(&self, state: &mut State, update: &ToolCallUpdate) {
        let id = update.tool_call_id.to_string();
        let card = state.cards.entry(id.clone()).or_insert_with(|| update.clone());
        card.apply_update(update.clone());
        let card = card.clone();
        let status = card.status.value().cloned().unwrap_or_default();
        let (glyph, word, colour) = match status {
            ToolCallStatus::Completed => ("✓", "done", "32"),
            ToolCallStatus::Failed => ("✗", "failed", "31"),
            ToolCallStatus::Cancelled => ("◼", "cancelled", "33"),
            _ => return,
        };
        if !state.ended.insert(id) {
            return;
        }
        self.end_text(state);
        let title = card.title.value().cloned().unwrap_or_default();
        let ended = self.paint(colour, &format!("{glyph} {word}"));
        print(&format!("\n{ended}  {}\n", clean(&title)));
        for content in card.content.value().into_iter().flatten() {
            print(&self.block(state, content));
        }
    }

    fn block(&self, state: &State, content: &ToolCallContent) -> String {
        match content {
            ToolCallContent::Content(it) => match &it.content {
                ContentBlock::Text(text) => self.quoted(&text.text),
                _ => String::new(),
            },
            ToolCallContent::Diff(diff) => match &diff.patch {
                Some(patch) => self.diff(&patch.text),
                None => String::new(),
            },
            ToolCallContent::Terminal(terminal) => {
                let bytes = state.terminals.get(&terminal.terminal_id.to_string());
                self.quoted(&exec::final_text(bytes.map(Vec::as_slice).unwrap_or_default()))
            }
            _ => String::new(),
        }
    }

    fn quoted(&self, text: &str) -> String {
        let lines: Vec<&str> = text.trim_end().lines().collect();
        let skipped = lines.len().saturating_sub(LINES);
        let mut out = String::new();
        for line in lines.iter().take(LINES) {
            out.push_str(&self.paint("2", &format!("    {}", clean(line))));
            out.push('\n');
        }
        if 0 < skipped {
            out.push_str(&self.paint("2", &format!("    … {skipped} more lines")));
            out.push('\n');
        }
        out
    }

    fn diff(&self, patch: &str) -> String {
        let mut out = String::new();
        for line in patch.lines() {
            let coloured = match line.as_bytes().first() {
                _ if line.starts_with("+++") || line.starts_with("---") => continue,
                _ if line.starts_with("diff ")
                    || line.starts_with("new file")
                    || line.starts_with("index ") =>
                {
                    continue;
                }
                Some(b'+') => self.paint("32", &clean(line)),
                Some(b'-') => self.paint("31", &clean(line)),
                Some(b'@') => self.paint("36", &clean(line)),
                Some(_) | None => clean(line),
            };
            out.push_str(&format!("    {coloured}\n"));
        }
        out
    }

    fn end_text(&self, state: &mut State) {
        if state.in_text {
            print("\n");
        }
        state.in_text = false;
    }
}

#[async_trait]
impl Watcher for Terminal {
    fn update(&self, update: &acp::UpdateSessionNotification) {
        if self.style == Style::Json {
            print(&format!("{}\n", serde_json::to_string(update).unwrap_or_default()));
            if let SessionUpdate::StateUpdate(StateUpdate::Running(_)) = &update.update {
                self.state.lock().unwrap_or_else(PoisonError::into_inner).seen_running = true;
            }
            if let SessionUpdate::StateUpdate(StateUpdate::Idle(idle)) = &update.update {
                let reason = serde_json::to_value(&idle.stop_reason).unwrap_or_default();
                let reason = reason["stopReason"].as_str().unwrap_or("end_turn").to_string();
                self.idle.send_replace(Some(reason));
            }
            return;
        }
        self.show(&update.update);
    }

    async fn ask(&self, request: acp::RequestPermissionRequest) -> Answer {
        if self.asking == Asking::AllowAll {
            self.line(
                &self.paint("2", &format!("\n? {} · allowed for this demo", clean(&request.title))),
            );
            return Answer::Selected { option: "allow_once".into(), extras: Extras::default() };
        }
        let person = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
        if !person || self.style == Style::Json {
            return Answer::Nobody;
        }
        self.line(&format!("\n{} {}", self.paint("33", "?"), clean(&request.title)));
        match &request.subject {
            Some(RequestPermissionSubject::Command(command)) => {
                self.line(&self.quoted(&command.command));
            }
            Some(RequestPermissionSubject::ToolCall(call)) => {
                let state = State::default();
                for content in call.tool_call.content.value().into_iter().flatten() {
                    self.line(&self.block(&state, content));
                }
            }
            Some(_) | None => {}
        }
        if let Some(description) = &request.description {
            self.line(&self.paint("2", &clean(description)));
        }
        let options: Vec<String> = request
            .options
            .iter()
            .enumerate()
            .map(|(nth, it)| format!("[{}] {}", nth + 1, it.name))
            .collect();
        print(&format!("{} > ", options.join("  ")));
        let mut line = String::new();
        let read = BufReader::new(tokio::io::stdin()).read_line(&mut line).await;
        let chosen = line.trim().parse::<usize>().ok().and_then(|it| it.checked_sub(1));
        match (read, chosen.and_then(|it| request.options.get(it))) {
            (Ok(_), Some(option)) => {
                Answer::Selected { option: option.option_id.to_string(), extras: Extras::default() }
            }
            // Words in place of a number are told to the model.
            (Ok(_), None) => Answer::Selected {
                option: "reject_once".into(),
                extras: Extras {
                    feedback: Some(line.trim().to_string()).filter(|it| !it.is_empty()),
                    ..Extras::default()
                },
            },
            (Err(_), _) => Answer::Nobody,
        }
    }
}

/// Text from models, files and commands without what would steer the terminal.
fn clean(text: &str) -> String {
    text.chars()
        .map(|it| if it.is_control() && !matches!(it, '\n' | '\t') { '\u{fffd}' } else { it })
        .filter(|it| !matches!(it, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'))
        .collect()
}

/// A reader that has gone is no error.
fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Errors go to standard error, so that a script's output stays clean.
fn complain(text: &str) {
    let _ = std::io::stderr().lock().write_all(text.as_bytes());
}

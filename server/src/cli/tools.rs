//! `copydesk tools`: lists, shows and calls the agent's tools, through the same gate as a model.

use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;

use agent::dialects::{self, CANONICAL, Dialect};
use agent::settings::Mode;
use clap::Subcommand;
use exec::Supervisor;
use protocol::{ToolCallParams, acp};
use serde_json::{Value, json};

use super::boot::{self, Wish};
use super::run::parse_mode;
use super::terminal::{Asking, Style, Terminal};
use super::{Place, fail, misuse, say};
use crate::config::state_dir;
use crate::headless::{Headless, Watcher};
use crate::sessions::tool_infos;

#[derive(Subcommand)]
pub enum Tools {
    /// List the tools.
    Ls {
        #[command(flatten)]
        place: Place,
        /// As this dialect shows them: claude, gpt, gemini, local, chord, kimi or opencode.
        #[arg(long, value_parser = dialects::named)]
        dialect: Option<&'static Dialect>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show what the model reads about a tool.
    Show {
        /// The tool's name or an alias.
        name: String,
        #[command(flatten)]
        place: Place,
        /// As this dialect shows them: claude, gpt, gemini, local, chord, kimi or opencode.
        #[arg(long, value_parser = dialects::named)]
        dialect: Option<&'static Dialect>,
        /// Print JSON.
        #[arg(long)]
        json: bool,
    },
    /// Call a tool: copydesk tools call Grep '{"pattern": "TODO"}'.
    Call {
        /// The tool's name or an alias.
        name: String,
        /// The input as JSON; `-` reads it from standard input.
        input: String,
        #[command(flatten)]
        place: Place,
        /// What may run unasked: ask, plan, edit or auto.
        #[arg(long, value_parser = parse_mode)]
        mode: Option<Mode>,
        /// Whose names and fields the call uses.
        #[arg(long, value_parser = dialects::named)]
        dialect: Option<&'static Dialect>,
        /// Print the whole result as JSON.
        #[arg(long)]
        json: bool,
        /// Trust the folder for this call.
        #[arg(long)]
        trust: bool,
    },
}

/// Runs the command.
pub async fn run_command(command: Tools, supervisor: Supervisor) -> ExitCode {
    match command {
        Tools::Ls { json, place, dialect } => match boot::root(&place) {
            Ok(_) => {
                list(dialect.unwrap_or(&CANONICAL), if json { Output::Json } else { Output::Text })
            }
            Err(text) => misuse(&text),
        },
        Tools::Show { name, json, place, dialect } => match boot::root(&place) {
            Ok(_) => show(
                &name,
                dialect.unwrap_or(&CANONICAL),
                if json { Output::Json } else { Output::Text },
            ),
            Err(text) => misuse(&text),
        },
        Tools::Call { name, input, place, mode, dialect, json, trust } => {
            let output = if json { Output::Json } else { Output::Text };
            let trusted = trust.then_some(true);
            let call = Call { name, input, mode, dialect, output, trusted };
            match boot::root(&place) {
                Ok(root) => call.run(root, supervisor).await,
                Err(text) => misuse(&text),
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Output {
    Text,
    Json,
}

fn list(dialect: &'static Dialect, output: Output) -> ExitCode {
    let tools = tool_infos(dialect);
    if output == Output::Json {
        let tools: Vec<Value> = tools
            .iter()
            .map(|it| json!({ "name": it.name, "kind": "builtin", "source": "copydesk" }))
            .collect();
        let all = json!({ "manifest": null, "tools_key": false, "tools": tools, "removed": [] });
        say(&serde_json::to_string_pretty(&all).unwrap_or_default());
        return ExitCode::SUCCESS;
    }
    let width = tools.iter().map(|it| it.name.len()).max().unwrap_or(0).max(4);
    say(&format!("{:<width$}  {:<8}  WHAT IT DOES", "NAME", "KIND"));
    for tool in tools {
        let first = first_sentence(&tool.description);
        say(&format!("{:<width$}  {:<8}  {first}", tool.name, "builtin"));
    }
    ExitCode::SUCCESS
}

fn first_sentence(text: &str) -> String {
    let line = text.split("\n\n").next().unwrap_or_default().replace('\n', " ");
    let ends = [". ", ": "].into_iter().filter_map(|it| line.find(it)).min();
    line[..ends.unwrap_or(line.len())].trim_end_matches(['.', ':']).to_string()
}

fn show(name: &str, dialect: &'static Dialect, output: Output) -> ExitCode {
    let Some(shown) = dialect.find(name).filter(|it| it.is_offered) else {
        return fail(&dialect.unknown(name));
    };
    let entry = shown.entry;
    let Some(info) = tool_infos(dialect).into_iter().find(|it| it.canonical_name == entry.name)
    else {
        return fail(&dialect.unknown(name));
    };
    if output == Output::Json {
        say(&serde_json::to_string_pretty(&info).unwrap_or_default());
        return ExitCode::SUCCESS;
    }
    say(&format!("{}\n\n{}\n", info.name, info.description));
    if !entry.aliases.is_empty() {
        say(&format!("Also called {}.\n", entry.aliases.join(", ")));
    }
    say(&serde_json::to_string_pretty(&info.input_schema).unwrap_or_default());
    ExitCode::SUCCESS
}

struct Call {
    name: String,
    input: String,
    mode: Option<Mode>,
    dialect: Option<&'static Dialect>,
    output: Output,
    trusted: Option<bool>,
}

impl Call {
    async fn run(self, root: std::path::PathBuf, supervisor: Supervisor) -> ExitCode {
        let input = match self.input() {
            Ok(input) => input,
            Err(text) => return misuse(&text),
        };
        let vfs = boot::vfs();
        let watcher = Arc::new(Quiet(Terminal::new(Style::detect(), Asking::Person)));
        let editor = match Headless::new(vfs.clone(), watcher) {
            Ok(editor) => editor,
            Err(err) => return fail(&err.to_string()),
        };
        let settings = self.mode.map_or(Value::Null, |it| json!({ "mode": it.id() }));
        let own_call = self.mode.is_some();
        let wish = Wish { root, own_call, settings, trusted: self.trusted, state: state_dir() };
        let sessions = boot::sessions(wish, vfs, Arc::new(editor), supervisor);
        let dialect = self.dialect.map(|it| it.name.to_string());
        let params = ToolCallParams { session_id: None, name: self.name, input, dialect };
        let result = sessions.tool_call(params).await;
        if 0 < sessions.running_jobs() {
            fail("background jobs end with this command: run it in the foreground instead");
        }
        sessions.shutdown().await;
        let result = match result {
            Ok(result) => result,
            Err(err) => return fail(&err.message),
        };
        if self.output == Output::Json {
            say(&serde_json::to_string_pretty(&result).unwrap_or_default());
        } else {
            let text: Vec<String> = result.content.iter().map(shown).collect();
            let text = text.join("\n");
            if result.is_error {
                return fail(text.trim_end());
            }
            say(text.trim_end());
        }
        if result.is_error { ExitCode::from(1) } else { ExitCode::SUCCESS }
    }

    fn input(&self) -> Result<Value, String> {
        let mut text = self.input.clone();
        if text == "-" {
            text.clear();
            std::io::stdin()
                .take(64 << 20)
                .read_to_string(&mut text)
                .map_err(|err| format!("the input cannot be read: {err}"))?;
        }
        let value: Value = serde_json::from_str(&text)
            .map_err(|err| format!("the input is not valid JSON: {err}"))?;
        if value.is_object() { Ok(value) } else { Err("the input must be a JSON object".into()) }
    }
}

fn shown(block: &acp::ContentBlock) -> String {
    match block {
        acp::ContentBlock::Text(text) => text.text.clone(),
        acp::ContentBlock::Image(image) => format!("(an image, {})", image.mime_type),
        _ => String::new(),
    }
}

/// Shows nothing but questions.
struct Quiet(Terminal);

#[async_trait::async_trait]
impl Watcher for Quiet {
    fn update(&self, _update: &acp::UpdateSessionNotification) {}

    async fn ask(&self, request: acp::RequestPermissionRequest) -> agent::editor::Answer {
        self.0.ask(request).await
    }
}

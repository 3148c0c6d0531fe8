//! Hooks as configuration spells them: ours, one command an entry, and the nested form of
//! `.claude/settings.json`.
//!
//! Invariant: what is wrong in one entry is told, and the other entries count all the same.

use std::time::Duration;

use regex::RegexBuilder;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Automation, Event, Hook, Join, Matcher};
use crate::tools;

/// Seconds a hook may take where it says nothing.
const USUAL: u64 = 60;
/// Seconds a hook may take at most.
const LONGEST: u64 = 86_400;
/// Bytes a matcher's compiled expression may take.
const LARGEST: usize = 1 << 20;

/// Commands that run at moments of a session, with the JSON and the exit codes of Claude Code's hooks.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "PascalCase")]
pub struct Hooks {
    /// Whether a call or a prompt is refused when a hook that judges it fails or takes too long.
    #[serde(rename = "fail_closed")]
    pub fail_closed: bool,
    /// Before a call runs: may refuse it, ask about it, or change its input.
    pub pre_tool_use: Vec<Entry>,
    /// After a call that succeeded.
    pub post_tool_use: Vec<Entry>,
    /// After a call that failed.
    pub post_tool_use_failure: Vec<Entry>,
    /// Before the person is asked about a call: may answer in their place.
    pub permission_request: Vec<Entry>,
    /// Before a prompt is given to the model: may refuse it or add to it.
    pub user_prompt_submit: Vec<Entry>,
    /// When the agent is done: may have it go on.
    pub stop: Vec<Entry>,
    /// Before the first prompt of a session that was opened or resumed: may add to it.
    pub session_start: Vec<Entry>,
    /// When a session is closed. It has five seconds.
    pub session_end: Vec<Entry>,
    /// When the person is asked something.
    pub notification: Vec<Entry>,
    /// After all calls of one answer of the model.
    pub tool_batch_complete: Vec<Entry>,
    /// When a turn ended and nothing waits.
    pub idle: Vec<Entry>,
    /// When a turn ended by an error.
    pub agent_error: Vec<Entry>,
    /// When a subagent starts. Nothing raises this yet.
    pub subagent_start: Vec<Entry>,
    /// When a subagent is done. Nothing raises this yet.
    pub subagent_stop: Vec<Entry>,
    /// Before a conversation is compacted. Nothing raises this yet.
    pub pre_compact: Vec<Entry>,
}

/// What runs at a moment.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Entry {
    /// What it is for: names joined by `|`, or a regular expression; absent, empty or `*`: everything.
    pub matcher: Option<String>,
    /// The command.
    #[serde(flatten)]
    pub command: Command,
    /// Several commands with one matcher.
    pub hooks: Vec<Command>,
}

/// One command of a hook.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Command {
    /// What kind of hook it is: `command`.
    pub r#type: Option<String>,
    /// Run by `sh -c` in the workspace's folder, with the event as JSON on its input.
    pub command: Option<String>,
    /// Seconds it may take, 1 to 86400; absent: 60.
    pub timeout: Option<u64>,
    /// Whether the agent goes on without waiting for it. It decides nothing then.
    pub r#async: bool,
    /// `ToolBatchComplete` only: whether the next request to the model waits for it.
    pub join: Join,
    /// `ToolBatchComplete` only: what becomes of its result.
    pub result: Automation,
}

impl Hooks {
    /// The hooks that can be run, in the order of the events and, within one, of the configuration;
    /// and for each of the others the text it is found by and what is wrong.
    pub fn read(&self) -> (Vec<Hook>, Vec<(String, String)>) {
        let mut hooks = Vec::new();
        let mut problems = Vec::new();
        for (event, entries) in self.entries() {
            for entry in entries {
                match matcher(entry.matcher.as_deref().unwrap_or_default()) {
                    Err(err) => {
                        let needle = entry.matcher.clone().unwrap_or_default();
                        problems.push((needle, format!("the matcher of a {event} hook: {err}")));
                    }
                    Ok(matcher) => {
                        let own = Some(&entry.command).filter(|it| it.command.is_some());
                        let commands: Vec<&Command> = own.into_iter().chain(&entry.hooks).collect();
                        if commands.is_empty() {
                            let text = format!("a {event} hook has no `command`");
                            problems.push((event.name().to_string(), text));
                        }
                        for command in commands {
                            match hook(event, &matcher, command) {
                                Ok(hook) => hooks.push(hook),
                                Err(problem) => problems.push(problem),
                            }
                        }
                    }
                }
            }
            if !entries.is_empty() && !event.is_raised() {
                let text =
                    format!("nothing raises {event} in this version, so its hooks never run");
                problems.push((event.name().to_string(), text));
            }
        }
        (hooks, problems)
    }

    fn entries(&self) -> [(Event, &[Entry]); 15] {
        [
            (Event::PreToolUse, &self.pre_tool_use),
            (Event::PostToolUse, &self.post_tool_use),
            (Event::PostToolUseFailure, &self.post_tool_use_failure),
            (Event::PermissionRequest, &self.permission_request),
            (Event::UserPromptSubmit, &self.user_prompt_submit),
            (Event::Stop, &self.stop),
            (Event::SessionStart, &self.session_start),
            (Event::SessionEnd, &self.session_end),
            (Event::Notification, &self.notification),
            (Event::ToolBatchComplete, &self.tool_batch_complete),
            (Event::Idle, &self.idle),
            (Event::AgentError, &self.agent_error),
            (Event::SubagentStart, &self.subagent_start),
            (Event::SubagentStop, &self.subagent_stop),
            (Event::PreCompact, &self.pre_compact),
        ]
    }
}

fn hook(event: Event, matcher: &Matcher, command: &Command) -> Result<Hook, (String, String)> {
    let text = command.command.clone().unwrap_or_default();
    let problem = |about: &str, message: String| Err((about.to_string(), message));
    if let Some(kind) = command.r#type.as_deref().filter(|it| *it != "command") {
        let message = format!("a {event} hook of the type `{kind}`: only `command` can be run");
        return problem(kind, message);
    }
    if text.trim().is_empty() {
        return problem(event.name(), format!("a {event} hook has no `command`"));
    }
    if text.contains('\0') {
        return problem(event.name(), format!("the command of a {event} hook holds a NUL"));
    }
    let seconds = command.timeout.unwrap_or(USUAL);
    if !(1..=LONGEST).contains(&seconds) {
        let message = format!("the timeout of a {event} hook must be 1 to {LONGEST} seconds");
        return problem(&text, message);
    }
    let join = if command.r#async { Join::Background } else { command.join };
    Ok(Hook {
        event,
        matcher: matcher.clone(),
        command: text,
        timeout: Duration::from_secs(seconds),
        join,
        result: command.result,
    })
}

fn matcher(text: &str) -> Result<Matcher, String> {
    let text = text.trim();
    if text.is_empty() || text == "*" {
        return Ok(Matcher::Everything);
    }
    let is_plain = |it: char| it.is_alphanumeric() || matches!(it, '_' | '-' | ' ' | '|' | ',');
    if text.chars().all(is_plain) {
        let names = text.split(['|', ',']).map(str::trim).filter(|it| !it.is_empty());
        let canonical = |it: &str| tools::find(it).map_or(it, |it| it.name).to_string();
        return Ok(Matcher::Names(names.map(canonical).collect()));
    }
    let regex = RegexBuilder::new(text).size_limit(LARGEST).build();
    regex.map(Matcher::Pattern).map_err(|err| err.to_string())
}

#[cfg(test)]
mod tests;

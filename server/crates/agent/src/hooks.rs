//! Programs of the person's own that run at moments of a session, and may judge a call or a prompt.
//!
//! Invariant: a hook can take away and add, but what it allows skips a question only, never a deny
//! rule, a secret, a power file or the workspace's border (`gate.rs`). One that fails changes nothing,
//! unless `hooks.fail_closed` says otherwise, and is told to the person. Each sees the input the one
//! before it left. None outlives its time, the turn, or the server.

mod answer;
pub mod moments;
mod running;
pub mod settings;

use std::fmt;
use std::time::Duration;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use moments::{AboutCall, Said, Verdict};

/// When a hook runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// Before a call runs.
    PreToolUse,
    /// After a call that succeeded.
    PostToolUse,
    /// After a call that failed.
    PostToolUseFailure,
    /// Before the person is asked about a call.
    PermissionRequest,
    /// Before a prompt is given to the model.
    UserPromptSubmit,
    /// When the agent is done.
    Stop,
    /// Before the first prompt of a session that was opened or resumed.
    SessionStart,
    /// When a session is closed.
    SessionEnd,
    /// When the person is asked something.
    Notification,
    /// After all calls of one answer of the model.
    ToolBatchComplete,
    /// When a turn ended and nothing waits.
    Idle,
    /// When a turn ended by an error.
    AgentError,
    /// When a subagent starts.
    SubagentStart,
    /// When a subagent is done.
    SubagentStop,
    /// Before a conversation is compacted.
    PreCompact,
}

impl Event {
    /// The name in configuration and in the hook's input.
    pub fn name(self) -> &'static str {
        match self {
            Event::PreToolUse => "PreToolUse",
            Event::PostToolUse => "PostToolUse",
            Event::PostToolUseFailure => "PostToolUseFailure",
            Event::PermissionRequest => "PermissionRequest",
            Event::UserPromptSubmit => "UserPromptSubmit",
            Event::Stop => "Stop",
            Event::SessionStart => "SessionStart",
            Event::SessionEnd => "SessionEnd",
            Event::Notification => "Notification",
            Event::ToolBatchComplete => "ToolBatchComplete",
            Event::Idle => "Idle",
            Event::AgentError => "AgentError",
            Event::SubagentStart => "SubagentStart",
            Event::SubagentStop => "SubagentStop",
            Event::PreCompact => "PreCompact",
        }
    }

    /// Whether it ever happens.
    fn is_raised(self) -> bool {
        match self {
            Event::SubagentStart | Event::SubagentStop | Event::PreCompact => false,
            Event::PreToolUse
            | Event::PostToolUse
            | Event::PostToolUseFailure
            | Event::PermissionRequest
            | Event::UserPromptSubmit
            | Event::Stop
            | Event::SessionStart
            | Event::SessionEnd
            | Event::Notification
            | Event::ToolBatchComplete
            | Event::Idle
            | Event::AgentError => true,
        }
    }

    /// Whether what a hook prints without JSON is something for the model.
    fn takes_plain_context(self) -> bool {
        matches!(self, Event::UserPromptSubmit | Event::SessionStart)
    }

    /// Whether its hooks decide whether something happens.
    fn judges(self) -> bool {
        matches!(self, Event::PreToolUse | Event::PermissionRequest | Event::UserPromptSubmit)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A hook that can be run.
#[derive(Clone, Debug)]
pub struct Hook {
    event: Event,
    matcher: Matcher,
    command: String,
    timeout: Duration,
    join: Join,
    result: Automation,
}

impl Hook {
    /// What it runs.
    pub fn command(&self) -> &str {
        &self.command
    }
}

/// What a hook is for.
#[derive(Clone, Debug)]
enum Matcher {
    Everything,
    /// One of these, word for word; tools by their canonical names.
    Names(Vec<String>),
    /// Found anywhere in the name.
    Pattern(Regex),
}

impl Matcher {
    fn fits(&self, names: &[String]) -> bool {
        match self {
            Matcher::Everything => true,
            Matcher::Names(wanted) => names.iter().any(|it| wanted.contains(it)),
            Matcher::Pattern(regex) => names.iter().any(|it| regex.is_match(it)),
        }
    }
}

/// Whether what comes next waits for a hook.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Join {
    /// It does.
    #[default]
    BeforeNextLlm,
    /// It does not; what the hook says comes with a later request.
    Background,
}

/// What becomes of a `ToolBatchComplete` hook's result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Automation {
    /// Nothing.
    Ignore,
    /// The person is told.
    NotifyOnly,
    /// The model is told when it failed.
    #[default]
    AppendOnFailure,
    /// The model is told.
    AlwaysAppend,
}

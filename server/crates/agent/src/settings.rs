//! The configuration as the agent reads it. Each doc comment is the key's description in the
//! generated JSON Schema.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::hooks::settings::Hooks;

/// Configuration of copydesk: `config.toml` and the editor's settings.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Settings {
    /// The model to use, as `provider/model`.
    pub model: Option<String>,
    /// How tools are shown to models; absent: as each family of models knows them best.
    pub dialect: Option<DialectName>,
    /// What may run unasked: `ask`, `plan`, `edit` or `auto`.
    pub mode: Mode,
    /// Model endpoints by name.
    pub providers: BTreeMap<String, Provider>,
    /// Facts about models, by `provider/model`.
    pub models: BTreeMap<String, Model>,
    /// Permission rules.
    pub permissions: Permissions,
    /// Commands that run at moments of a session.
    pub hooks: Hooks,
    /// Whether permissions and hooks of `.claude/settings.json` and its like count too; absent: they do.
    pub imports: Option<bool>,
    /// How edits are kept.
    pub edits: Edits,
    /// How commands are run.
    pub shell: Shell,
    /// Commands in the background.
    pub jobs: Jobs,
}

/// The names, fields and formats under which tools are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum DialectName {
    /// The canonical names; edits by replacing text.
    Claude,
    /// snake_case names; edits by patches.
    Gpt,
    /// As `claude`.
    Gemini,
    /// Lines with anchors, and edits by them.
    Local,
    /// As Chord shows its tools.
    Chord,
    /// As Kimi Code CLI shows its tools.
    Kimi,
    /// As OpenCode shows its tools.
    Opencode,
}

/// What may run unasked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Reading runs; everything else asks.
    #[default]
    Ask,
    /// Nothing is changed: the agent reads and plans.
    Plan,
    /// Edits inside the workspace run; commands ask.
    Edit,
    /// Edits and commands run; what is denied or dangerous still does not.
    Auto,
}

impl Mode {
    /// Every mode, in the order shown.
    pub const ALL: [Mode; 4] = [Mode::Ask, Mode::Plan, Mode::Edit, Mode::Auto];

    /// The name on the wire and in configuration.
    pub fn id(self) -> &'static str {
        match self {
            Mode::Ask => "ask",
            Mode::Plan => "plan",
            Mode::Edit => "edit",
            Mode::Auto => "auto",
        }
    }

    /// The name people read.
    pub fn name(self) -> &'static str {
        match self {
            Mode::Ask => "Ask",
            Mode::Plan => "Plan",
            Mode::Edit => "Edit",
            Mode::Auto => "Auto",
        }
    }

    /// One line about it.
    pub fn description(self) -> &'static str {
        match self {
            Mode::Ask => "Reading runs; edits and commands ask first",
            Mode::Plan => "Reads and plans; changes nothing",
            Mode::Edit => "Edits inside the workspace run; commands ask first",
            Mode::Auto => "Edits and commands run; denied and dangerous ones still do not",
        }
    }

    /// The mode of this name.
    pub fn from_id(id: &str) -> Option<Mode> {
        Mode::ALL.into_iter().find(|it| it.id() == id)
    }
}

/// A model endpoint.
#[derive(Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Provider {
    /// The wire format: `anthropic`, `openai`, `openai-responses`, `gemini` or `replay`.
    #[schemars(extend("enum" = ["anthropic", "openai", "openai-responses", "gemini", "replay"]))]
    pub protocol: Option<String>,
    /// Where it listens. `openai` adds `/chat/completions`, so it ends in `/v1`.
    pub base_url: Option<String>,
    /// The key itself. Prefer `api_key_env` or `api_key_command`.
    pub api_key: Option<String>,
    /// The environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// A command that prints the key.
    pub api_key_command: Option<String>,
    /// Headers to add to every request.
    pub headers: BTreeMap<String, String>,
    /// A proxy URL.
    pub proxy: Option<String>,
    /// Seconds to wait for a connection.
    pub connect_timeout: Option<u64>,
    /// Seconds without a byte after which a stream counts as dead.
    pub idle_timeout: Option<u64>,
    /// The recorded conversation of a `replay` provider.
    pub file: Option<String>,
}

// Written by hand so that a key never reaches a log.
impl std::fmt::Debug for Provider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Provider")
            .field("protocol", &self.protocol)
            .field("base_url", &self.base_url)
            .field("api_key", &self.api_key.as_ref().map(|_| "***"))
            .field("api_key_env", &self.api_key_env)
            .finish_non_exhaustive()
    }
}

/// Facts about one model.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Model {
    /// How tools are shown to it; absent: as `dialect` of the whole says, or its family.
    pub dialect: Option<DialectName>,
    /// Tokens it can read.
    pub context_window: Option<u64>,
    /// Tokens it may write in one answer.
    pub max_output: Option<u32>,
    /// Whether it sees images.
    pub images: Option<bool>,
    /// Whether it sees videos.
    pub video: Option<bool>,
    /// How much it thinks: `off`, `low`, `medium` or `high`.
    pub reasoning: Option<Thinking>,
}

/// How much a model thinks before it answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Thinking {
    /// Not at all, as far as the model lets itself be told.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// A lot.
    High,
}

impl Thinking {
    /// Every level, in the order shown.
    pub const ALL: [Thinking; 4] = [Thinking::Off, Thinking::Low, Thinking::Medium, Thinking::High];

    /// The name on the wire and in configuration.
    pub fn id(self) -> &'static str {
        match self {
            Thinking::Off => "off",
            Thinking::Low => "low",
            Thinking::Medium => "medium",
            Thinking::High => "high",
        }
    }

    /// The name people read.
    pub fn name(self) -> &'static str {
        match self {
            Thinking::Off => "Thinking: off",
            Thinking::Low => "Thinking: low",
            Thinking::Medium => "Thinking: medium",
            Thinking::High => "Thinking: high",
        }
    }

    /// The level of this name.
    pub fn from_id(id: &str) -> Option<Thinking> {
        Thinking::ALL.into_iter().find(|it| it.id() == id)
    }
}

/// Permission rules, e.g. `Bash(cargo test:*)`. Deny wins over ask, ask over allow.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Permissions {
    /// Runs unasked.
    pub allow: Vec<String>,
    /// Always asks.
    pub ask: Vec<String>,
    /// Never runs.
    pub deny: Vec<String>,
}

/// How edits are kept.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Edits {
    /// When an edited buffer is saved.
    pub save: SavePolicy,
    /// When the person decides on edits.
    pub review: ReviewPolicy,
    /// Whether a patch of several files may apply in part: files that fit are changed, and what
    /// became of the others is told. Otherwise all of a patch applies, or nothing.
    pub partial: bool,
    /// Megabytes kept of how files were before the agent changed them, for all folders together. The
    /// oldest go first; what pending changes need stays.
    pub history_mb: u64,
}

impl Default for Edits {
    fn default() -> Edits {
        Edits {
            save: SavePolicy::default(),
            review: ReviewPolicy::default(),
            partial: false,
            history_mb: 512,
        }
    }
}

/// When the person decides on edits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ReviewPolicy {
    /// Whenever they like; the agent goes on and is told with its next request.
    #[default]
    AfterTurn,
    /// Before the agent goes on: a call that edits waits until each of its changes is decided on.
    Blocking,
    /// Never: every edit is accepted at once.
    Auto,
}

/// When an edited buffer is saved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SavePolicy {
    /// A buffer that matched its file is saved once the edit is approved.
    #[default]
    IfWasClean,
    /// Never.
    Never,
    /// After every edit that left nothing of the person's unsaved.
    Always,
}

/// How commands are run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Shell {
    /// The shell, e.g. `/bin/bash`; absent: bash, else sh.
    pub program: Option<String>,
    /// Milliseconds a foreground command may take where its call does not say; absent: 120,000.
    pub timeout: Option<u64>,
    /// What the kernel lets commands do, whatever they are: `off`, `workspace-write` or `read-only`.
    pub sandbox: Confinement,
    /// Folders and files that confined commands may write besides, e.g. `~/.cargo`.
    pub sandbox_writable: Vec<String>,
    /// Whether confined commands may use the network and talk to programs that listen on this machine.
    pub sandbox_network: bool,
}

/// Commands in the background.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Jobs {
    /// Milliseconds a command started in the background may take where its call does not say; absent:
    /// as long as it takes.
    pub default_timeout: Option<u64>,
}

/// What commands are confined to by the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Confinement {
    /// Nothing.
    #[default]
    Off,
    /// Writing in the workspace and folders for temporary files; no network.
    WorkspaceWrite,
    /// Writing nowhere; no network.
    ReadOnly,
}

impl Confinement {
    /// The name in configuration.
    pub fn id(self) -> &'static str {
        match self {
            Confinement::Off => "off",
            Confinement::WorkspaceWrite => "workspace-write",
            Confinement::ReadOnly => "read-only",
        }
    }
}

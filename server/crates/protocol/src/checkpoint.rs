//! Checkpoints, and taking files and conversations back to them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `copydesk/checkpoint/list` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointListParams {
    /// An open session.
    pub session_id: String,
}

/// `copydesk/checkpoint/list` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckpointListResult {
    /// Oldest first.
    pub checkpoints: Vec<Checkpoint>,
}

/// The state just before a prompt.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Checkpoint {
    /// The prompt's `messageId`.
    pub id: String,
    /// The prompt's first line.
    pub label: String,
    /// Milliseconds since 1970.
    pub time: u64,
    /// URIs of the files the agent changed since.
    pub files: Vec<String>,
}

/// `copydesk/checkpoint/restore` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckpointRestoreParams {
    /// From `copydesk/checkpoint/list`.
    pub checkpoint_id: String,
    /// Says what would happen; nothing does.
    #[serde(default)]
    pub dry_run: bool,
}

/// Result of `copydesk/checkpoint/restore` and `copydesk/session/rewind`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RestoreResult {
    /// URIs of the files that changed, or would.
    pub files: Vec<String>,
    /// Files that are not wholly as they were before the prompt.
    pub conflicts: Vec<RestoreConflict>,
    /// Takes it back: for `copydesk/review/undo`. Absent after a dry run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo_token: Option<String>,
}

/// What is to be said of one file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RestoreConflict {
    /// The file.
    pub uri: String,
    /// In words, for the person.
    pub reason: String,
}

/// `copydesk/session/rewind` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RewindParams {
    /// An open session.
    pub session_id: String,
    /// A prompt of the person's that was given to the model.
    pub message_id: String,
    /// `conversation`, `files` or `both`.
    #[schemars(extend("enum" = ["conversation", "files", "both"]))]
    pub scope: String,
    /// Says what would happen; nothing does.
    #[serde(default)]
    pub dry_run: bool,
}

/// `copydesk/session/fork` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkParams {
    /// An open session.
    pub session_id: String,
    /// The new session ends before this prompt, or with this message of the agent's; absent: it has
    /// all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_id: Option<String>,
}

/// `copydesk/session/fork` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ForkResult {
    /// The new session; it is open.
    pub session_id: String,
}

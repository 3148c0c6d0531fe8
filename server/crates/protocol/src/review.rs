//! The `copydesk/review/*` messages: the agent's changes that wait for the person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::copydesk::{Meta, Range};

/// One change of the agent's that waits for the person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hunk {
    /// Names the hunk while it is pending.
    pub hunk_id: String,
    /// The document.
    pub uri: String,
    /// The version `range` holds for; null for a file that is not open.
    #[serde(default)]
    pub version: Option<i32>,
    /// Where it is in the text that `copydesk/review/base` gives.
    pub base_range: Range,
    /// Where it is in the document.
    pub range: Range,
    /// The text without it.
    pub old_text: String,
    /// The text with it.
    pub new_text: String,
    /// `pending`, or `conflict` where the person wrote inside it.
    pub state: String,
    /// `agent`, or `mixed` where the person changed something inside it.
    pub author: String,
    /// The session that touched it last.
    pub session_id: String,
    /// The calls it comes from.
    pub tool_call_ids: Vec<String>,
    /// `copydesk.cut`: the texts are only their beginnings.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// A file with pending hunks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewFile {
    /// The document.
    pub uri: String,
    /// `add`, `modify`, `delete` or `rename`.
    pub change: String,
    /// Its name before a rename.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old_uri: Option<String>,
    /// The version the ranges hold for; absent for a file that is not open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<i32>,
    /// Its hunks, in the order of the text.
    pub hunks: Vec<Hunk>,
    /// `copydesk.omitted`: how many more hunks it has.
    #[serde(default, rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// `copydesk/review/list` parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ReviewListParams {
    /// Only this document's.
    pub uri: Option<String>,
    /// Only those a session has a part in.
    pub session_id: Option<String>,
}

/// `copydesk/review/list` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReviewListResult {
    /// Counts up with every change of the hunks.
    pub rev: u64,
    /// Files with pending hunks.
    pub files: Vec<ReviewFile>,
}

/// `copydesk/review/resolve` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewResolveParams {
    /// `accept` or `reject`.
    pub action: String,
    /// Which hunks.
    pub items: Vec<ReviewItem>,
    /// Words for the agent.
    #[serde(default)]
    pub comment: Option<String>,
    /// Fails as stale when the hunks have changed since this revision.
    #[serde(default)]
    pub expected_rev: Option<u64>,
}

/// Hunks, by one of: `hunkId`; `uri`; `uri` and `range`; `sessionId`; `all`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct ReviewItem {
    /// One hunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hunk_id: Option<String>,
    /// All of a document, or those in `range`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub uri: Option<String>,
    /// Only hunks that touch it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// All a session has a part in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// All.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
}

/// `copydesk/review/resolve` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewResolveResult {
    /// The revision after it.
    pub rev: u64,
    /// The hunks that were decided on.
    pub resolved: Vec<String>,
    /// Hunks that could not be decided on, and decided ones that kept text of the person's.
    pub conflicts: Vec<ReviewConflict>,
    /// Takes the decision back. Absent where there is nothing to take back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_token: Option<String>,
}

/// What is to be said of one hunk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewConflict {
    /// The hunk.
    pub hunk_id: String,
    /// In words, for the person.
    pub reason: String,
}

/// `copydesk/review/undo` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewUndoParams {
    /// From the result of the decision.
    pub undo_token: String,
}

/// `copydesk/review/undo` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReviewUndoResult {
    /// The revision after it.
    pub rev: u64,
}

/// `copydesk/review/base` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReviewBaseParams {
    /// The document.
    pub uri: String,
}

/// `copydesk/review/base` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReviewBaseResult {
    /// Its text without the pending changes.
    pub text: String,
}

/// `copydesk/review/didChange` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReviewChangedParams {
    /// Counts up with every change of the hunks.
    pub rev: u64,
    /// The files that changed.
    pub files: Vec<ReviewFile>,
}

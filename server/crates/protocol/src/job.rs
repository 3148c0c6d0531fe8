//! `copydesk/job/*`: background jobs, servers and terminals, for live views and input by the person.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `copydesk/job/list` parameters.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct JobListParams {
    /// The session; absent: all that are open, the person's own included.
    pub session_id: Option<String>,
}

/// `copydesk/job/list` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobListResult {
    /// Running ones, and ended ones as far as they are kept, in the order of their start.
    pub jobs: Vec<JobInfo>,
}

/// One job.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobInfo {
    /// `job-N`, or `term-N` for a program on a terminal.
    pub job_id: String,
    /// Its session.
    pub session_id: String,
    /// The card of the call that started it.
    pub tool_call_id: String,
    /// The terminal whose output `session/update` carries.
    pub terminal_id: String,
    /// What it is called.
    pub label: String,
    /// The command.
    pub command: String,
    /// `running`, `stopping`, `completed`, `failed`, `timed_out`, `stopped`, `killed` or `lost`.
    pub status: String,
    /// Its process id.
    pub pid: i32,
    /// Milliseconds since its start, until its end.
    pub elapsed_ms: u64,
    /// Milliseconds since its last output.
    pub quiet_ms: u64,
    /// Milliseconds until it is ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_left_ms: Option<u64>,
    /// How it exited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signal: Option<String>,
    /// Why it is being, or was, ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Some of its processes could not be shown to have ended.
    pub unconfirmed: bool,
    /// Whether it is a terminal, which takes input and has a size.
    pub takes_input: bool,
    /// Columns of a terminal that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cols: Option<u16>,
    /// Rows of a terminal that runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u16>,
    /// What its program asks, if it waits for a password.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret_prompt: Option<String>,
}

/// Names one job: `copydesk/job/kill`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobRef {
    /// Its session; absent: the person's own.
    #[serde(default)]
    pub session_id: Option<String>,
    /// `job-N` or `term-N`; a command in the foreground goes by its `term-N`.
    pub job_id: String,
}

/// `copydesk/job/read` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobReadParams {
    /// Its session; absent: the person's own.
    #[serde(default)]
    pub session_id: Option<String>,
    /// `job-N` or `term-N`, also of a command that has ended and was too long to be shown whole.
    pub job_id: String,
    /// The first byte.
    #[serde(default)]
    pub offset: u64,
    /// Bytes at most; 32,768 unless given, and never more than that.
    #[serde(default)]
    pub limit: Option<u32>,
}

/// `copydesk/job/read` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobReadResult {
    /// The raw bytes, base64.
    pub data: String,
    /// Where they begin.
    pub offset: u64,
    /// Where the next page begins; the end when it equals `total`.
    pub next: u64,
    /// Bytes kept so far.
    pub total: u64,
    /// Whether more may come.
    pub running: bool,
}

/// `copydesk/job/write` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobWriteParams {
    /// Its session; absent: the person's own.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The terminal.
    pub job_id: String,
    /// What the person typed, as a terminal sends it: the enter key is a carriage return.
    pub text: String,
}

/// `copydesk/job/resize` parameters.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobResizeParams {
    /// Its session; absent: the person's own.
    #[serde(default)]
    pub session_id: Option<String>,
    /// The terminal.
    pub job_id: String,
    /// Columns, 2 to 300.
    pub cols: u16,
    /// Rows, 1 to 120.
    pub rows: u16,
}

/// `copydesk/job/kill` result.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JobKillResult {
    /// `stopped`, `stopping`, `unconfirmed`, or how it had ended already.
    pub status: String,
}

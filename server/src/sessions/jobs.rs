//! Jobs, servers and terminals as the person sees and drives them.

use agent::session::Session;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use exec::{Exit, InputError, JobId, JobKilled, JobRow, Listed, Urgency};
use protocol::{
    JobInfo, JobKillResult, JobListParams, JobListResult, JobReadParams, JobReadResult, JobRef,
    JobResizeParams, JobWriteParams, acp,
};
use serde_json::{Value, json};

use super::Sessions;
use crate::outbox::RpcError;

/// Bytes of a page: as base64 below the 64 KB of a message.
const PAGE: u32 = 32_768;
/// Bytes typed at once.
const INPUT: usize = 64 * 1024;

impl Sessions {
    /// `copydesk/job/list`.
    pub fn job_list(&self, params: JobListParams) -> Result<JobListResult, RpcError> {
        let sessions = match &params.session_id {
            Some(id) => vec![self.session(id)?],
            None => {
                let table = self.lock();
                table.open.values().chain(&table.own).cloned().collect()
            }
        };
        let rows = |session: &Session| {
            let rows = session.shared.jobs.list(Listed::All);
            rows.into_iter().map(|row| info(session, row)).collect::<Vec<_>>()
        };
        Ok(JobListResult { jobs: sessions.iter().flat_map(rows).collect() })
    }

    /// `copydesk/job/read`.
    pub async fn job_read(&self, params: JobReadParams) -> Result<JobReadResult, RpcError> {
        let session = self.session_or_own(params.session_id.as_deref())?;
        let most = params.limit.unwrap_or(PAGE).clamp(1, PAGE) as usize;
        let (job, offset) = (JobId::from(params.job_id.as_str()), params.offset);
        let jobs = session.shared.jobs.clone();
        let page = tokio::task::spawn_blocking(move || jobs.page(&job, offset, most)).await;
        let page = page.map_err(|err| RpcError::failed("invalid", err.to_string()))?;
        let page = page.ok_or_else(|| no_job(&params.job_id))?;
        Ok(JobReadResult {
            next: page.offset + page.bytes.len() as u64,
            data: STANDARD.encode(&page.bytes),
            offset: page.offset,
            total: page.total,
            running: page.running,
        })
    }

    /// `copydesk/job/write`.
    pub fn job_write(&self, params: JobWriteParams) -> Result<Value, RpcError> {
        let session = self.session_or_own(params.session_id.as_deref())?;
        if INPUT < params.text.len() {
            return Err(RpcError::failed(
                "too-large",
                format!("text: at most {INPUT} bytes at once"),
            ));
        }
        let job = JobId::from(params.job_id.as_str());
        session.shared.jobs.write(&job, params.text.as_bytes()).map_err(refused)?;
        Ok(json!({}))
    }

    /// `copydesk/job/resize`.
    pub fn job_resize(&self, params: JobResizeParams) -> Result<Value, RpcError> {
        let session = self.session_or_own(params.session_id.as_deref())?;
        let JobResizeParams { cols, rows, .. } = params;
        if !(2..=exec::MAX_COLS).contains(&cols) || !(1..=exec::MAX_ROWS).contains(&rows) {
            return Err(RpcError::invalid_params(format!(
                "cols, rows: {cols}×{rows} is no size of a terminal; at most {}×{}",
                exec::MAX_COLS,
                exec::MAX_ROWS
            )));
        }
        let job = JobId::from(params.job_id.as_str());
        session.shared.jobs.resize(&job, cols, rows).map_err(refused)?;
        Ok(json!({}))
    }

    /// `copydesk/job/kill`.
    pub async fn job_kill(&self, params: JobRef) -> Result<JobKillResult, RpcError> {
        let session = self.session_or_own(params.session_id.as_deref())?;
        let jobs = &session.shared.jobs;
        let job = JobId::from(params.job_id.as_str());
        let status = match jobs.kill_for_person(&job, Urgency::Wakes).await {
            JobKilled::Stopped => "stopped".to_owned(),
            JobKilled::Stopping => "stopping".to_owned(),
            JobKilled::Unconfirmed => "unconfirmed".to_owned(),
            JobKilled::AlreadyFinished(status) => status.to_string(),
            JobKilled::NotFound(_) => {
                let call = jobs.foreground_call(&job).ok_or_else(|| no_job(&params.job_id))?;
                session.shared.calls.cancel(&call);
                "stopping".to_owned()
            }
        };
        Ok(JobKillResult { status })
    }

    /// `terminal/cancel`.
    pub async fn terminal_cancel(
        &self,
        params: acp::CancelTerminalRequest,
    ) -> Result<acp::CancelTerminalResponse, RpcError> {
        let job_id = params.terminal_id.to_string();
        self.job_kill(JobRef { session_id: Some(params.session_id.to_string()), job_id }).await?;
        Ok(acp::CancelTerminalResponse::new())
    }

    fn session_or_own(&self, id: Option<&str>) -> Result<Session, RpcError> {
        match id {
            Some(id) => self.session(id),
            None => self.own_session(),
        }
    }
}

fn info(session: &Session, row: JobRow) -> JobInfo {
    let millis =
        |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    let (exit_code, signal) = match row.exit {
        Some(Exit::Code(code)) => (Some(code), None),
        Some(Exit::Signal(signal)) => (None, Some(signal)),
        None => (None, None),
    };
    let takes_input = !row.status.is_finished() && row.job.0 == row.origin.terminal;
    JobInfo {
        secret_prompt: session.shared.jobs.secret_prompt(&row.job),
        job_id: row.job.to_string(),
        session_id: session.shared.id.clone(),
        tool_call_id: row.origin.call,
        terminal_id: row.origin.terminal,
        label: row.origin.label,
        command: row.origin.script,
        status: row.status.to_string(),
        pid: row.pid,
        elapsed_ms: millis(row.elapsed),
        quiet_ms: millis(row.quiet),
        deadline_left_ms: row.deadline_left.map(millis),
        exit_code,
        signal,
        reason: row.reason,
        unconfirmed: row.unconfirmed,
        takes_input,
        cols: row.size.map(|it| it.0),
        rows: row.size.map(|it| it.1),
    }
}

fn no_job(id: &str) -> RpcError {
    RpcError::failed("not-found", format!("there is no job {id}"))
}

fn refused(error: InputError) -> RpcError {
    let kind = match error {
        InputError::NotFound(_) => "not-found",
        InputError::NoTerminal(_) | InputError::Ended(_) => "invalid",
        InputError::Full(_) => "busy",
    };
    RpcError::failed(kind, error.to_string())
}

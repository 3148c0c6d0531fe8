//! `JobKill`: stops a background job.

use async_trait::async_trait;
use exec::{JobId, JobKilled};
use protocol::acp::ToolKind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::dialects::Looks;
use crate::place::Place;
use crate::tool::{Access, Card, Cx, Failure, Output, Tool};

/// Stops a background job and everything it started. Safe on a job that ended already.
#[derive(Deserialize, JsonSchema)]
pub struct JobKill {
    /// The job's id, e.g. `job-1`.
    job_id: String,
    /// Why it is stopped.
    reason: Option<String>,
}

#[async_trait]
impl Tool for JobKill {
    const NAME: &'static str = "JobKill";
    const ALIASES: &'static [&'static str] = &["job_kill", "TaskStop", "KillShell", "KillBash"];
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("task_id", "job_id"), ("shell_id", "job_id"), ("id", "job_id")];

    fn kind() -> ToolKind {
        ToolKind::Execute
    }

    fn access(&self, _place: &Place) -> Result<Access, Failure> {
        Ok(Access { stops: vec![self.job_id.clone()], ..Access::default() })
    }

    fn card(&self, _place: &Place) -> Card {
        Card::new(format!("Stop {}", self.job_id))
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        let reason = self.reason.as_deref().filter(|it| !it.trim().is_empty());
        let reason = reason.unwrap_or(match cx.dialect.looks {
            Looks::Status => "stopped by the agent",
            Looks::Fields => "Stopped by TaskStop",
        });
        let job = JobId::from(self.job_id.as_str());
        let text = match cx.session.jobs.kill(&job, reason).await {
            JobKilled::NotFound(job) => {
                return Err(Failure::new(format!("job {job} not found. JobList shows the jobs.")));
            }
            JobKilled::AlreadyFinished(status) => {
                format!("{job} already finished: {}.", status.as_str())
            }
            JobKilled::Stopped => format!("{job} stopped ({reason})."),
            JobKilled::Stopping => format!("{job} stopping ({reason}); it has up to 5 s to end."),
            JobKilled::Unconfirmed => format!(
                "{job}: the teardown is unconfirmed. Its processes could not be shown to be its own any \
                 more and were not signalled, or they do not end."
            ),
        };
        Ok(Output::text(text))
    }
}

//! `JobOutput`: what a background job printed since the last look.

use std::time::Duration;

use async_trait::async_trait;
use exec::{JobId, JobRead, News, Status, Wait, Waited};
use protocol::acp::ToolKind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::bounds;
use crate::dialects::Looks;
use crate::place::Place;
use crate::tool::{Access, Card, Cx, Failure, Output, Tool};

/// Reads what a background job printed since it was last read, and its status. You are told when a
/// job ends without asking; wait for it only when there is nothing else to do.
#[derive(Deserialize, JsonSchema)]
pub struct JobOutput {
    /// The job's id, e.g. `job-1`.
    job_id: String,
    /// What to wait for: `none`, new `output`, or its `exit`.
    #[serde(default)]
    wait: WaitFor,
    /// Wait for the job's end.
    #[serde(default)]
    block: bool,
    /// Milliseconds to wait, at most 30,000 for output and 600,000 for the end; up to 600 they count
    /// as seconds. Absent: 30,000.
    timeout: Option<u64>,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum WaitFor {
    #[default]
    None,
    Output,
    Exit,
}

#[async_trait]
impl Tool for JobOutput {
    const NAME: &'static str = "JobOutput";
    const ALIASES: &'static [&'static str] = &["job_output", "TaskOutput", "BashOutput"];
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("task_id", "job_id"), ("bash_id", "job_id"), ("id", "job_id")];

    fn kind() -> ToolKind {
        ToolKind::Read
    }

    fn access(&self, _place: &Place) -> Result<Access, Failure> {
        Ok(Access::default())
    }

    fn card(&self, _place: &Place) -> Card {
        Card::new(format!("Output of {}", self.job_id))
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        let wait = match self.wait {
            WaitFor::None if self.block => Wait::Exit,
            WaitFor::None => Wait::None,
            WaitFor::Output => Wait::Output,
            WaitFor::Exit => Wait::Exit,
        };
        let timeout = patience(self.timeout, cx.dialect.looks);
        let job = JobId::from(self.job_id.as_str());
        let read = tokio::select! {
            biased;
            () = cx.cancel.cancelled() => return Err(Failure::Cancelled),
            read = cx.session.jobs.read(&job, &cx.session.id, wait, timeout) => read,
        };
        match &read {
            JobRead::NotFound(_) | JobRead::Refused { .. } => Err(Failure::new(read.to_string())),
            JobRead::News(news) => {
                let text = match cx.dialect.looks {
                    Looks::Status => read.to_string(),
                    Looks::Fields => format!("{}{read}", fields(news, wait)),
                };
                let keep = || cx.session.artifacts.save(&text);
                let shown = bounds::head_and_tail(&text, cx.dialect.printed, cx.dialect, keep);
                Ok(Output::text(shown))
            }
        }
    }
}

/// Where looks have fields the wait is in seconds. Elsewhere no one waits for so few milliseconds.
fn patience(timeout: Option<u64>, looks: Looks) -> Duration {
    match (timeout, looks) {
        (None, _) => Duration::from_secs(30),
        (Some(seconds), Looks::Fields) => Duration::from_secs(seconds.min(600)),
        (Some(seconds @ ..=600), Looks::Status) => Duration::from_secs(seconds),
        (Some(millis), Looks::Status) => Duration::from_millis(millis.min(600_000)),
    }
}

/// What became of the look, and of the job, one a line.
fn fields(news: &News, wait: Wait) -> String {
    let runs = matches!(news.status, Status::Running | Status::Stopping);
    let retrieval = match (news.waited, wait) {
        (Waited::Expired(_), _) if runs => "timeout",
        (_, Wait::None) if runs => "not_ready",
        (_, _) => "success",
    };
    let mut lines = vec![format!("retrieval_status: {retrieval}")];
    match news.status {
        Status::TimedOut => {
            lines.extend(["timed_out: true".into(), "terminal_reason: timed_out".into()]);
        }
        Status::Stopped => {
            lines.extend(news.reason.iter().map(|it| format!("stop_reason: {it}")));
            lines.push("terminal_reason: stopped".into());
        }
        Status::Running
        | Status::Stopping
        | Status::Completed
        | Status::Failed
        | Status::Killed
        | Status::Lost => {}
    }
    lines.extend(news.log.iter().map(|it| format!("output_path: {}", it.display())));
    format!("{}\n", lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::{Duration, Looks, patience};

    #[test]
    fn a_wait_is_in_the_dialects_unit() {
        for (timeout, looks, millis) in [
            (None, Looks::Status, 30_000),
            (Some(0), Looks::Status, 0),
            (Some(5), Looks::Status, 5_000),
            (Some(600), Looks::Status, 600_000),
            (Some(601), Looks::Status, 601),
            (Some(30_000), Looks::Status, 30_000),
            (Some(u64::MAX), Looks::Status, 600_000),
            (Some(900), Looks::Fields, 600_000),
            (Some(2), Looks::Fields, 2_000),
        ] {
            assert_eq!(patience(timeout, looks), Duration::from_millis(millis), "{timeout:?}");
        }
    }
}

//! `JobList`: the background jobs.

use std::time::Duration;

use async_trait::async_trait;
use exec::{JobRow, Listed};
use protocol::acp::ToolKind;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::bounds;
use crate::place::Place;
use crate::tool::{Access, Card, Cx, Failure, Output, Tool};

/// Lists background jobs: id, status, how long they run, how long they were quiet, label, command.
#[derive(Deserialize, JsonSchema)]
pub struct JobList {
    /// List ended jobs too.
    #[serde(default)]
    include_finished: bool,
    /// List only running jobs; on by default.
    active_only: Option<bool>,
    /// At most this many, 1 to 100. Absent: 20.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<usize>,
}

#[async_trait]
impl Tool for JobList {
    const NAME: &'static str = "JobList";
    const ALIASES: &'static [&'static str] = &["job_list", "TaskList"];

    fn kind() -> ToolKind {
        ToolKind::Read
    }

    fn access(&self, _place: &Place) -> Result<Access, Failure> {
        Ok(Access::default())
    }

    fn card(&self, _place: &Place) -> Card {
        Card::new("List jobs")
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        let all = self.include_finished || self.active_only == Some(false);
        let rows = cx.session.jobs.list(if all { Listed::All } else { Listed::Active });
        let limit = self.limit.unwrap_or(20);
        let mut text: String = rows.iter().take(limit).map(row).collect();
        if rows.is_empty() {
            text.push_str(if all {
                "No background jobs."
            } else {
                "No background jobs are running."
            });
        }
        if limit < rows.len() {
            text.push_str(&format!("[{} more]", rows.len() - limit));
        }
        Ok(Output::text(text))
    }
}

fn row(row: &JobRow) -> String {
    let mut parts = vec![
        format!("{} {}", row.job, row.status.as_str()),
        format!("elapsed {}", span(row.elapsed)),
        format!("quiet {}", span(row.quiet)),
        format!("pid {}", row.pid),
    ];
    if let Some(left) = row.deadline_left {
        parts.push(format!("deadline in {}", span(left)));
    }
    if let Some(exit) = &row.exit {
        parts.push(match exit {
            exec::Exit::Code(code) => format!("exit code {code}"),
            exec::Exit::Signal(signal) => format!("signal {signal}"),
        });
    }
    if let Some(reason) = &row.reason {
        parts.push(format!("reason: {reason}"));
    }
    if row.unconfirmed {
        parts.push("teardown unconfirmed".into());
    }
    parts.push(bounds::title(&row.origin.label));
    if row.origin.label != row.origin.script {
        parts.push(format!("`{}`", bounds::title(&row.origin.script)));
    }
    format!("{}\n", parts.join(" · "))
}

fn span(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
        seconds => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
    }
}

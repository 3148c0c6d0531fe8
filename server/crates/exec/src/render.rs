//! Reads, kills and exits in the words the model reads.

use std::fmt;
use std::time::Duration;

use crate::command::{JobKilled, JobRead, News, Status, Waited};
use crate::supervisor::Exit;

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Code(code) => write!(f, "exit code {code}"),
            Exit::Signal(name) => write!(f, "signal {name}"),
        }
    }
}

impl fmt::Display for JobRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobRead::NotFound(job) => write!(f, "job {job} not found"),
            JobRead::Refused { job, polls } => write!(
                f,
                "read refused: {job} printed nothing new in {polls} reads in a row that did not \
                 wait. Wait for `output` or `exit`, or do something else: you are told when it ends"
            ),
            JobRead::News(news) => news.fmt(f),
        }
    }
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.skipped_bytes > 0 {
            write!(f, "[skipped {} bytes of earlier output", self.skipped_bytes)?;
            if let Some(log) = &self.log {
                write!(f, "; log: {}", log.display())?;
            }
            writeln!(f, "]")?;
        }
        f.write_str(&self.text)?;
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            writeln!(f)?;
        }
        for denial in &self.denied {
            writeln!(f, "[sandbox: {denial}]")?;
        }
        write!(f, "[status: {}]", self.status_line())?;
        match self.waited {
            Waited::Satisfied => Ok(()),
            Waited::Expired(after) => write!(
                f,
                "\n[notice] nothing to report after waiting {}; the job goes on, quiet for {}",
                seconds(after),
                seconds(self.quiet)
            ),
            Waited::Warned(polls) => write!(
                f,
                "\n[notice] nothing new in {polls} reads in a row; the next one that does not wait \
                 is refused. Wait for `output` or `exit` instead"
            ),
        }
    }
}

impl News {
    /// The status and what explains it: `failed, exit code 2`, `timed_out after 3s`.
    pub fn status_line(&self) -> String {
        let status = self.status;
        let mut line = match (status, &self.exit) {
            (Status::TimedOut, _) => format!("{status}, timed out after {}", seconds(self.elapsed)),
            (Status::Completed | Status::Failed, Some(exit)) => format!("{status}, {exit}"),
            (_, _) => status.to_string(),
        };
        if let Some(reason) = &self.reason {
            line.push_str(&format!(" ({reason})"));
        }
        line
    }
}

impl fmt::Display for JobKilled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            JobKilled::NotFound(job) => write!(f, "job {job} not found"),
            JobKilled::AlreadyFinished(status) => write!(f, "already finished: {status}"),
            JobKilled::Stopped => write!(f, "stopped"),
            JobKilled::Stopping => write!(f, "stopping: it has 5 s to end before it is killed"),
            JobKilled::Unconfirmed => write!(
                f,
                "unconfirmed: its processes could not be shown to be the job's own, or do not end"
            ),
        }
    }
}

fn seconds(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 10.0 { format!("{seconds:.1}s") } else { format!("{seconds:.0}s") }
}

//! Commands as they run: their output goes to the card's terminal, their end to the agent.

use std::sync::{Arc, OnceLock, Weak};

use base64::{Engine, engine::general_purpose::STANDARD};
use exec::{Exit, JobFinished, Observer, Status};
use protocol::acp::{
    Notice, NoticeSeverity, SessionUpdate, TerminalExitStatus, TerminalOutputChunk, TerminalUpdate,
    ToolCallUpdate,
};

use crate::cards;
use crate::footprint;
use crate::sandbox;
use crate::session::{Session, Shared};
use crate::transcript::Transcript;

/// Watches the commands of one session.
pub struct Live {
    transcript: Transcript,
    session: OnceLock<Weak<Shared>>,
}

impl Live {
    /// A watcher that shows commands in this transcript.
    pub fn new(transcript: Transcript) -> Arc<Live> {
        Arc::new(Live { transcript, session: OnceLock::new() })
    }

    /// Names the session that is told when a job ends.
    pub fn belongs_to(&self, session: &Arc<Shared>) {
        // A second call changes nothing: a watcher belongs to one session.
        let _ = self.session.set(Arc::downgrade(session));
    }
}

impl Observer for Live {
    fn started(&self, call: &str, terminal: &str, _pid: i32) {
        self.transcript
            .send(SessionUpdate::TerminalUpdate(TerminalUpdate::new(terminal.to_string())));
        let card = ToolCallUpdate::new(call.to_string()).content(vec![cards::terminal(terminal)]);
        self.transcript.send(SessionUpdate::ToolCallUpdate(card));
    }

    fn output(&self, _call: &str, terminal: &str, bytes: &[u8]) {
        // Base64 of 32 KiB stays below the 64 KB of a notification.
        for piece in bytes.chunks(32 * 1024) {
            let chunk = TerminalOutputChunk::new(terminal.to_string(), STANDARD.encode(piece));
            self.transcript.send(SessionUpdate::TerminalOutputChunk(chunk));
        }
    }

    fn ended(&self, call: &str, terminal: &str, _status: Status, exit: Option<&Exit>) {
        let mut ended = TerminalExitStatus::new();
        match exit {
            Some(Exit::Code(code)) => ended = ended.exit_code(i64::from(*code)),
            Some(Exit::Signal(signal)) => ended = ended.signal(signal.clone()),
            None => {}
        }
        let update = TerminalUpdate::new(terminal.to_string()).exit_status(ended);
        self.transcript.send(SessionUpdate::TerminalUpdate(update));
        if let Some(shared) = self.session.get().and_then(Weak::upgrade) {
            footprint::job_ended(&shared, call);
        }
    }

    fn finished(&self, job: &JobFinished) {
        let exit = match &job.exit {
            Some(Exit::Code(code)) => format!(", exit code {code}"),
            Some(Exit::Signal(signal)) => format!(", signal {signal}"),
            None => String::new(),
        };
        let reason = job.reason.as_ref().map(|it| format!(" ({it})")).unwrap_or_default();
        let head = format!("Background job {} {}{exit}{reason}", job.job, job.status.as_str());
        let notice = Notice::new(NoticeSeverity::Info, head.clone());
        self.transcript.send(SessionUpdate::Notice(notice));
        let Some(shared) = self.session.get().and_then(Weak::upgrade) else { return };
        let log = job
            .log
            .as_ref()
            .map(|it| format!("\nWhole output: {}", it.display()))
            .unwrap_or_default();
        let denied = sandbox::told(&job.denied).map(|it| format!("\n{it}")).unwrap_or_default();
        let text = format!(
            "<job-ended>\n{head} after {:.0} s: {}\n{}{denied}{log}\n</job-ended>",
            job.elapsed.as_secs_f64(),
            job.origin.label,
            job.tail.trim_end(),
        );
        let call = job.origin.call.clone();
        tokio::spawn(async move {
            // What it changed is told with its end.
            footprint::settled(&shared, &call).await;
            Session { shared }.tell(text);
        });
    }
}

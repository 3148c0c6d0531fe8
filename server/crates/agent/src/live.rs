//! Commands as they run: their output goes to the card's terminal, their end to the agent.

use std::collections::HashMap;
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};

use base64::{Engine, engine::general_purpose::STANDARD};
use exec::{Exit, JobFinished, JobId, Observer, Origin, Status, Urgency};
use protocol::acp::{
    AbsolutePath, Meta, Notice, NoticeSeverity, SessionUpdate, TerminalCancelCapabilities,
    TerminalCapabilities, TerminalExitStatus, TerminalOutputChunk, TerminalSize, TerminalUpdate,
    ToolCallUpdate,
};
use serde_json::json;

use crate::bounds;
use crate::cards;
use crate::footprint;
use crate::sandbox;
use crate::session::{Session, Shared};
use crate::transcript::Transcript;

/// Bytes of a command within a message, as JSON.
const COMMAND: usize = 16_000;

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

/// The calls whose cards say that a program waits for a password, by its terminal.
#[derive(Default)]
pub struct Asking(Mutex<HashMap<String, String>>);

impl Asking {
    /// The call's card says so, until the program waits no more.
    pub fn asked(&self, shared: &Shared, call: &str, job: &JobId, question: &str) {
        let asked = json!({ "secretInput": { "jobId": job.to_string(), "prompt": question } });
        let mut asking = self.lock();
        if let Some(other) = asking.insert(job.to_string(), call.to_owned())
            && other != call
        {
            shared.transcript.send(with_meta(&other, json!({})));
        }
        shared.transcript.send(with_meta(call, asked));
        drop(asking);
        // The answer may have come before the question was written down.
        if shared.jobs.secret_prompt(job).is_none() {
            self.over(shared, &job.to_string());
        }
    }

    fn over(&self, shared: &Shared, terminal: &str) {
        let mut asking = self.lock();
        if let Some(call) = asking.remove(terminal) {
            shared.transcript.send(with_meta(&call, json!({})));
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a card carries beside itself; whatever it carried before is gone.
fn with_meta(call: &str, copydesk: serde_json::Value) -> SessionUpdate {
    let mut meta = Meta::new();
    meta.insert("copydesk".into(), copydesk);
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call.to_owned()).meta(meta))
}

fn terminal_size((cols, rows): (u16, u16)) -> Option<TerminalSize> {
    Some(TerminalSize::new(NonZeroU16::new(cols)?, NonZeroU16::new(rows)?))
}

impl Observer for Live {
    fn started(&self, origin: &Origin, size: Option<(u16, u16)>) {
        let Origin { call, terminal, script, cwd, .. } = origin;
        let cancel = TerminalCapabilities::new().cancel(TerminalCancelCapabilities::new());
        let mut update = TerminalUpdate::new(terminal.clone())
            .command(bounds::fitting(script, COMMAND))
            .cwd(AbsolutePath::new(cwd.clone()))
            .capabilities(cancel);
        if let Some(size) = size.and_then(terminal_size) {
            update = update.size(size);
        }
        self.transcript.send(SessionUpdate::TerminalUpdate(update));
        let card = ToolCallUpdate::new(call.clone()).content(vec![cards::terminal(terminal)]);
        self.transcript.send(SessionUpdate::ToolCallUpdate(card));
    }

    fn resized(&self, terminal: &str, size: (u16, u16)) {
        if let Some(size) = terminal_size(size) {
            let update = TerminalUpdate::new(terminal.to_owned()).size(size);
            self.transcript.send(SessionUpdate::TerminalUpdate(update));
        }
    }

    fn secret_over(&self, terminal: &str) {
        if let Some(shared) = self.session.get().and_then(Weak::upgrade) {
            shared.calls.asking.over(&shared, terminal);
        }
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
        let update = TerminalUpdate::new(terminal.to_string())
            .exit_status(ended)
            .capabilities(TerminalCapabilities::new());
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
        let (call, urgency) = (job.origin.call.clone(), job.urgency);
        tokio::spawn(async move {
            // What it changed is told with its end.
            footprint::settled(&shared, &call).await;
            match urgency {
                Urgency::Wakes => Session { shared }.tell(text),
                Urgency::CanWait => shared.note(text),
            }
        });
    }
}

//! The editor as the agent sees it, spoken to over LSP.
//!
//! Invariant: a transaction is applied wholly or taken back, and it is done only when the document
//! store holds the text, whatever the client answers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use agent::editor::{
    Answer, Applied, ApplyError, CellEdit, Editor, Found, FoundOutcome, OpenNotebook, Reviewed,
    Saved, Status, Transaction,
};
use agent::settings::SavePolicy;
use agent::timeline::Timelines;
use async_trait::async_trait;
use protocol::{StatusParams, acp};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower_lsp::lsp_types::MessageType;
use vfs::{Location, Vfs};

use self::locks::Locks;
use self::notebook::Cells;
use self::record::Recording;
pub use self::restoring::Restored;
use self::review_wait::Waits;
use crate::bare::Questions;
use crate::capabilities::Client;
use crate::lsp::Uris;
use crate::notebooks::Notebooks;
use crate::outbox::Outbox;
use crate::review::Review;

mod ask;
mod decisions;
mod disk;
mod document;
mod found;
mod links;
mod locks;
mod moves;
mod moving_back;
mod notebook;
mod pending;
mod record;
mod replaced;
mod restoring;
mod review_wait;
mod saving;
mod standing;
mod transaction;
mod undoing;
mod walk;

/// A connected editor. Cloning shares it.
#[derive(Clone)]
pub struct LspEditor(Arc<Parts>);

struct Parts {
    outbox: Outbox,
    vfs: Vfs,
    uris: Arc<Uris>,
    client: Client,
    questions: Questions,
    locks: Locks,
    save_policy: Mutex<SavePolicy>,
    statuses: Mutex<Statuses>,
    review: Review,
    waits: Waits,
    cells: Cells,
    recording: Recording,
}

/// The sessions' states and what the client was told of them.
#[derive(Default)]
struct Statuses {
    sessions: BTreeMap<String, Status>,
    told: Option<StatusParams>,
    /// Transcripts that were shown.
    transcripts: BTreeSet<PathBuf>,
}

impl LspEditor {
    /// The editor behind a connection, once it has said what it can do.
    pub fn new(outbox: Outbox, vfs: Vfs, uris: Arc<Uris>, client: Client) -> LspEditor {
        LspEditor(Arc::new(Parts {
            review: Review::new(vfs.clone()),
            outbox,
            vfs,
            uris,
            client,
            questions: Questions::default(),
            locks: Locks::default(),
            save_policy: Mutex::default(),
            statuses: Mutex::default(),
            waits: Waits::default(),
            cells: Cells::default(),
            recording: Recording::default(),
        }))
    }

    /// When edited buffers are saved, from now on.
    pub fn set_save_policy(&self, policy: SavePolicy) {
        *self.0.save_policy.lock().unwrap_or_else(PoisonError::into_inner) = policy;
    }

    /// Asks the person of an editor without a frontend of ours whether they trust a folder; nothing
    /// where they do not say.
    pub fn ask_trust(&self, folder: &Path) -> impl Future<Output = Option<bool>> + use<> {
        const TRUST: &str = "Trust this folder";
        const REFUSE: &str = "Do not trust it";
        let message = format!(
            "Do you trust {}? In a trusted folder the agent may use the folder's own settings, and what \
             your rules and mode allow runs without asking.",
            folder.display()
        );
        let answer = self.0.client.shows_messages.then(|| {
            self.0.outbox.request(
                "window/showMessageRequest",
                json!({
                    "type": MessageType::INFO,
                    "message": message,
                    "actions": [{"title": TRUST}, {"title": REFUSE}],
                }),
            )
        });
        async move {
            let chosen = answer?.await.ok()?;
            match chosen["title"].as_str() {
                Some(TRUST) => Some(true),
                Some(REFUSE) => Some(false),
                Some(_) | None => None,
            }
        }
    }

    /// The notebooks that are shown as cells.
    pub fn notebooks(&self) -> &Notebooks {
        &self.0.cells.notebooks
    }

    /// Where before-images are kept, which are bounded from now on.
    pub fn bound_history(&self, state: PathBuf) {
        self.0.recording.keep_in(state);
    }

    /// How many megabytes of before-images are kept, from now on.
    pub fn set_history_limit(&self, megabytes: u64) {
        self.0.recording.set_limit(megabytes.saturating_mul(1 << 20));
    }

    /// The agent's pending changes.
    pub fn review(&self) -> &Review {
        &self.0.review
    }

    /// The questions that wait for the person of a client without a frontend of ours.
    pub fn questions(&self) -> &Questions {
        &self.0.questions
    }

    /// Shows a document in the editor, or names it where the editor does not show documents.
    pub fn show_document(&self, location: &Location) {
        let uri = self.0.uris.of(location);
        if !self.0.client.shows_documents {
            let message = json!({"type": MessageType::INFO, "message": location.to_string()});
            self.0.outbox.notify("window/showMessage", message);
            return;
        }
        let shown = self.0.outbox.request("window/showDocument", json!({"uri": uri}));
        tokio::spawn(async move {
            if let Err(error) = shown.await {
                tracing::info!(%error, "the editor did not show a document");
            }
        });
    }

    /// Tells the person of an editor without a frontend of ours that a turn has ended.
    fn tell_turn_ended(&self, status: &Status) {
        let mut statuses = self.0.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        let session = status.session.clone();
        let before = statuses.sessions.insert(session, status.clone());
        if before.is_some_and(|before| before.busy) && !status.busy {
            let message = "The agent has finished; copydesk.transcript shows what it said.";
            let message = json!({"type": MessageType::INFO, "message": message});
            self.0.outbox.notify("window/showMessage", message);
        }
    }

    /// Makes a change on a task of its own: whoever drops this future must not leave half of it behind.
    async fn to_its_end<C>(
        &self,
        change: impl FnOnce(Arc<Parts>, CancellationToken) -> C,
    ) -> Result<Applied, ApplyError>
    where
        C: Future<Output = Result<Applied, ApplyError>> + Send + 'static,
    {
        let cancelled = CancellationToken::new();
        let _cancel_on_drop = cancelled.clone().drop_guard();
        let running = tokio::spawn(change(Arc::clone(&self.0), cancelled));
        running.await.unwrap_or_else(|error| {
            tracing::error!(%error, "a change ended badly");
            Err(ApplyError::Cancelled)
        })
    }
}

#[async_trait]
impl Editor for LspEditor {
    fn update(&self, update: acp::UpdateSessionNotification) {
        if self.0.client.markers.is_some() {
            self.0.outbox.notify("session/update", update);
        }
    }

    fn follow_review(&self, session: &str, call: &str) -> Option<watch::Receiver<Reviewed>> {
        self.0.client.can_review().then(|| self.0.waits.begin(session, call))
    }

    fn command_started(&self, session: &str, call: &str) {
        self.0.review.command_started(review::Origin::of(session, call));
    }

    fn command_ended(&self, session: &str, call: &str) {
        self.0.review.command_ended(session, call);
    }

    async fn found(&self, found: Found) -> Vec<FoundOutcome> {
        let parts = Arc::clone(&self.0);
        let count = found.files.len();
        // On a task of its own: what was found is entered whoever waits for it.
        let entering = tokio::spawn(async move { parts.enter_found(found).await });
        entering.await.unwrap_or_else(|error| {
            tracing::error!(%error, "entering a command's changes failed");
            vec![FoundOutcome::Failed("it could not be entered".to_owned()); count]
        })
    }

    fn timelines(&self) -> Timelines {
        self.0.recording.timelines.clone()
    }

    fn wants_transcript_file(&self) -> bool {
        self.0.client.markers.is_none() && self.0.client.shows_documents
    }

    /// Opens a transcript once; afterwards the editor sees the file change.
    fn transcript_written(&self, path: &Path) {
        let mut statuses = self.0.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        let first = statuses.transcripts.insert(path.to_owned());
        drop(statuses);
        if first {
            self.show_document(&Location::disk(path));
        }
    }

    async fn ask(&self, request: acp::RequestPermissionRequest) -> Answer {
        self.0.ask(request).await
    }

    async fn apply(&self, transaction: Transaction) -> Result<Applied, ApplyError> {
        let applying =
            |parts: Arc<Parts>, cancelled| async move { parts.run(transaction, &cancelled).await };
        self.to_its_end(applying).await
    }

    fn notebook(&self, location: &Location) -> Option<OpenNotebook> {
        self.0.open_notebook(location)
    }

    async fn edit_cell(&self, edit: CellEdit) -> Result<Applied, ApplyError> {
        let editing =
            |parts: Arc<Parts>, cancelled| async move { parts.edit_cell(edit, &cancelled).await };
        self.to_its_end(editing).await
    }

    async fn save(&self, locations: &[Location]) -> Vec<Saved> {
        self.0.save(locations).await
    }

    fn status(&self, status: Status) {
        if self.0.client.markers.is_none() {
            return self.tell_turn_ended(&status);
        }
        let mut statuses = self.0.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        if status.busy || status.waiting > 0 {
            statuses.sessions.insert(status.session.clone(), status);
        } else {
            statuses.sessions.remove(&status.session);
        }
        drop(statuses);
        self.0.tell_status();
    }
}

#[cfg(test)]
mod tests;

//! The agent without an editor: files are written on disk, buffers (if the caller opened any) are
//! kept in memory, and what happens is shown by whoever started it.
//!
//! Invariant: a buffer with the person's own unsaved text is never written to its file unasked.

use std::path::PathBuf;
use std::sync::Arc;

use agent::editor::{
    Answer, Applied, AppliedFile, ApplyError, Editor, FileOp, Found, FoundOutcome, Kept, Saved,
    Status, Transaction,
};
use agent::settings::ReviewPolicy;
use agent::timeline::Timelines;
use async_trait::async_trait;
use protocol::acp;
use text::Rope;
use tower_lsp::lsp_types::InitializeParams;
use vfs::{Dirty, DiskOp, Location, Snapshot, TextChange, Vfs};

use crate::apply::LspEditor;
use crate::capabilities::Client;
use crate::outbox::Outbox;
use crate::review::{Entered, Entry, accept_call};

/// Who watches, and answers questions.
#[async_trait]
pub trait Watcher: Send + Sync {
    /// Shows an update.
    fn update(&self, update: &acp::UpdateSessionNotification);
    /// Answers a question.
    async fn ask(&self, request: acp::RequestPermissionRequest) -> Answer;
}

/// An editor that is not there.
pub struct Headless {
    vfs: Vfs,
    /// Closed files go the same way as with an editor.
    files: LspEditor,
    watcher: Arc<dyn Watcher>,
}

impl Headless {
    /// Nothing open yet.
    ///
    /// # Errors
    /// No thread could be started.
    pub fn new(vfs: Vfs, watcher: Arc<dyn Watcher>) -> std::io::Result<Headless> {
        let nobody = Client::new(&InitializeParams::default());
        let outbox = Outbox::start(std::io::sink())?;
        let files = LspEditor::new(outbox, vfs.clone(), Arc::default(), nobody);
        Ok(Headless { vfs, files, watcher })
    }

    /// Where the changes are kept as pending, for whoever opens the folder in an editor.
    pub fn keep_review_in(&self, path: PathBuf) {
        self.files.review().keep_in(path);
    }

    /// Changes a buffer in memory, the way an editor would.
    fn change_buffer(&self, open: &Snapshot, op: &FileOp) -> Result<AppliedFile, ApplyError> {
        let FileOp::Modify { changes, .. } = op else {
            return Err(ApplyError::Refused {
                location: open.location.clone(),
                reason: "it is open with unsaved text".into(),
            });
        };
        let after: Rope = changes.apply(&open.rope);
        let version = self.vfs.document(&open.location).map_or(1, |it| it.version + 1);
        self.vfs.expect_ours(&open.location, after.clone());
        let whole = TextChange { range: None, text: after.to_string() };
        self.vfs.change(&open.location, version, vec![whole]).map_err(|err| {
            ApplyError::Refused { location: open.location.clone(), reason: err.to_string() }
        })?;
        Ok(AppliedFile {
            location: open.location.clone(),
            before: open.rope.clone(),
            after,
            changes: changes.clone(),
            kept: Kept::Buffer { reason: "it is saved with your own changes".into() },
        })
    }

    fn save_one(&self, location: &Location) -> Result<(), String> {
        let path = location.path().ok_or("it has no file")?;
        let buffer = self.vfs.open_snapshot(location).ok_or("it is not open")?;
        let disk = self.vfs.disk_snapshot(path).map_err(|err| err.to_string())?;
        let changes = text::ChangeSet::between(&disk.rope, &buffer.rope);
        let op = DiskOp::Edit { path: path.to_owned(), base_hash: disk.hash(), changes };
        self.vfs.commit(vec![op]).map_err(|err| err.to_string())?;
        self.vfs.saved(location, None);
        Ok(())
    }
}

#[async_trait]
impl Editor for Headless {
    fn update(&self, update: acp::UpdateSessionNotification) {
        self.watcher.update(&update);
    }

    async fn ask(&self, request: acp::RequestPermissionRequest) -> Answer {
        self.watcher.ask(request).await
    }

    async fn apply(&self, transaction: Transaction) -> Result<Applied, ApplyError> {
        let [op] = transaction.ops.as_slice() else { return self.files.apply(transaction).await };
        let location = match op {
            FileOp::Modify { base, .. } => &base.location,
            FileOp::Create { location, .. } | FileOp::Delete { location } => location,
            FileOp::Move { from, .. } => from,
        };
        let goes = matches!(op, FileOp::Move { .. } | FileOp::Delete { .. });
        match self.vfs.open_snapshot(location) {
            None => self.files.apply(transaction).await,
            Some(open) if goes && !open.is_unsaved() => self.files.apply(transaction).await,
            Some(open) => {
                let clean = self.vfs.document(location).is_some_and(|it| it.dirty == Dirty::Clean);
                let held = self.files.review().hold([location]);
                let mut file = self.change_buffer(&open, op)?;
                let now = self.vfs.open_snapshot(location);
                let edit = Entered {
                    before: &file.before,
                    changes: &file.changes,
                    generation: None,
                    now: now.as_ref(),
                    since: None,
                };
                let origin = review::Origin::of(&transaction.session, &transaction.call);
                held.enter(location, Entry::Changed, &edit, &origin);
                match transaction.review {
                    ReviewPolicy::AfterTurn | ReviewPolicy::Blocking => {}
                    ReviewPolicy::Auto => {
                        let token = self.files.review().table().ledger.token();
                        held.decide(location, None, |ledger| {
                            accept_call(ledger, location, &transaction.call, token);
                        });
                    }
                }
                if clean && self.save_one(location).is_ok() {
                    file.kept = Kept::Disk;
                }
                Ok(Applied { files: vec![file] })
            }
        }
    }

    async fn save(&self, locations: &[Location]) -> Vec<Saved> {
        locations
            .iter()
            .map(|it| match self.save_one(it) {
                Ok(()) => Saved::Yes,
                Err(reason) => Saved::No(reason),
            })
            .collect()
    }

    fn command_started(&self, session: &str, call: &str) {
        self.files.command_started(session, call);
    }

    fn command_ended(&self, session: &str, call: &str) {
        self.files.command_ended(session, call);
    }

    async fn found(&self, found: Found) -> Vec<FoundOutcome> {
        self.files.found(found).await
    }

    fn timelines(&self) -> Timelines {
        self.files.timelines()
    }

    fn status(&self, _status: Status) {}
}

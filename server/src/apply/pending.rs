//! Telling the client of pending hunks, in its own protocol or in plain LSP.
//!
//! Invariant: what the ledger notes as untold is taken and told here alone, each change once.

use std::collections::BTreeSet;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use protocol::{ReviewChangedParams, ReviewFile, ReviewListParams, ReviewListResult, StatusParams};
use tokio::task::spawn_blocking;
use tower_lsp::lsp_types::MessageType;
use vfs::Location;

use super::{LspEditor, Parts};
use crate::review::wire::Wire;
use crate::review::{Table, bounds, plain};

/// How long changes gather before they are told: shorter than a glance, longer than a burst of
/// keys.
const GATHER: Duration = Duration::from_millis(60);
/// After what pause in the typing the new places of hunks are told; editors move marks themselves.
const PAUSE: Duration = Duration::from_millis(300);
/// What one notification may carry, beside what its envelope takes.
const MAX_TOLD: usize = 62 * 1024;
/// Files named in one message; more are counted.
const NAMED: usize = 10;
/// What a list of one file's hunks may carry, and one of all files'.
const MAX_FILE: usize = 64 << 20;
const MAX_LISTED: usize = 16 << 20;

impl LspEditor {
    /// Follows documents with pending hunks from now on, and tells of those left from before.
    pub fn watch_review(&self) {
        let parts = Arc::clone(&self.0);
        tokio::spawn(async move {
            let first = Arc::clone(&parts);
            let listing = spawn_blocking(move || {
                first.review.follow_all();
                first.review.table().tell_all();
                first.publish();
            });
            if let Err(error) = listing.await {
                tracing::error!(%error, "pending changes from before could not be told");
            }
            loop {
                let touched = parts.review.touched();
                if !parts.review.table().has_moved() {
                    touched.await;
                } else if tokio::time::timeout(PAUSE, touched).await.is_err() {
                    parts.tell(Table::take_moved);
                    continue;
                }
                tokio::time::sleep(GATHER).await;
                let following = Arc::clone(&parts);
                let followed = spawn_blocking(move || {
                    following.review.follow_touched();
                    following.publish();
                });
                if let Err(error) = followed.await {
                    tracing::error!(%error, "changes of documents could not be followed");
                }
            }
        });
    }

    /// The pending hunks of one document.
    pub fn pending_in(&self, location: &Location) -> ReviewFile {
        self.0.review.follow_all();
        let table = self.0.review.table();
        self.0.wire().file_at(&table, location)
    }

    /// `copydesk/review/list`.
    pub fn list_pending(&self, params: &ReviewListParams) -> ReviewListResult {
        let mut files = self.pending();
        let wanted = params.uri.as_deref().map(|uri| {
            let named = crate::lsp::location(uri);
            self.0.review.known_as(&named).unwrap_or(named)
        });
        files.retain(|file| {
            wanted.as_ref().is_none_or(|wanted| crate::lsp::location(&file.uri) == *wanted)
        });
        let table = self.0.review.table();
        if let Some(session) = &params.session_id {
            let picked = table.ledger.pick(&[review::Pick::Session(session.clone())]);
            let ids: BTreeSet<_> = picked.into_values().flatten().collect();
            for file in &mut files {
                file.hunks.retain(|hunk| ids.contains(&hunk.hunk_id));
            }
            files.retain(|file| !file.hunks.is_empty());
        }
        let mut room = if wanted.is_some() { MAX_FILE } else { MAX_LISTED };
        for file in &mut files {
            let (fitted, size) = bounds::fit(std::mem::take(file), room);
            *file = fitted;
            room = room.saturating_sub(size);
        }
        ReviewListResult { rev: table.ledger.rev(), files }
    }

    /// All pending hunks.
    pub fn pending(&self) -> Vec<ReviewFile> {
        self.0.review.follow_all();
        let table = self.0.review.table();
        self.0.wire().files(&table)
    }
}

impl Parts {
    pub(super) fn wire(&self) -> Wire<'_> {
        Wire { uris: &self.uris, counting: self.client.counting, vfs: &self.vfs }
    }

    /// Tells the client of hunks that changed, whoever found that out, and keeps them for the next
    /// start.
    pub(super) fn publish(&self) {
        self.tell(Table::take_changed);
    }

    /// As [`Parts::publish`], and what is pending outlives the process before it goes on.
    pub(super) async fn publish_kept(&self) {
        let size = self.review.table().ledger.bytes();
        vfs::aside(size as u64, || self.publish());
        self.review.kept().await;
    }

    fn tell(&self, take: fn(&mut Table) -> BTreeSet<Location>) {
        let _turn = self.review.telling();
        let (rev, files) = {
            let mut table = self.review.table();
            let changed = take(&mut table);
            self.tell_doubted(&table.ledger.take_doubted());
            if changed.is_empty() {
                return;
            }
            let wire = self.wire();
            let files: Vec<ReviewFile> =
                changed.iter().map(|location| wire.file_at(&table, location)).collect();
            (table.ledger.rev(), files)
        };
        self.review.save_soon();
        self.tell_waits();
        if self.client.reviews() {
            self.tell_hunks(rev, files);
        } else {
            for file in &files {
                self.outbox.notify("textDocument/publishDiagnostics", plain::diagnostics(file));
            }
            if self.client.refreshes_lenses {
                let refreshed =
                    self.outbox.request("workspace/codeLens/refresh", serde_json::json!({}));
                tokio::spawn(async move {
                    if let Err(error) = refreshed.await {
                        tracing::debug!(%error, "the client does not refresh lenses");
                    }
                });
            }
        }
        self.tell_status();
    }

    /// Tells the person of changes that nobody can take out any more.
    fn tell_doubted(&self, files: &BTreeSet<Location>) {
        if files.is_empty() {
            return;
        }
        let mut names: Vec<String> = files.iter().take(NAMED).map(ToString::to_string).collect();
        if NAMED < files.len() {
            names.push(format!("{} more", files.len() - NAMED));
        }
        let names = names.join(", ");
        tracing::info!(names, "hunks are in doubt and pending no more");
        let message = format!(
            "Some of the agent's changes are not pending any more and stay in {names}: the text changed \
             where nobody saw it happen, and what of it is the agent's is in doubt."
        );
        let message = serde_json::json!({"type": MessageType::WARNING, "message": message});
        self.outbox.notify("window/showMessage", message);
    }

    /// In as many notifications as their size asks for.
    fn tell_hunks(&self, rev: u64, files: Vec<ReviewFile>) {
        let mut batch = Vec::new();
        let mut size = 0;
        for file in files {
            let (file, own) = bounds::fit(file, MAX_TOLD);
            if size + own > MAX_TOLD && !batch.is_empty() {
                let files = std::mem::take(&mut batch);
                self.outbox.notify("copydesk/review/didChange", ReviewChangedParams { rev, files });
                size = 0;
            }
            size += own;
            batch.push(file);
        }
        if !batch.is_empty() {
            let told = ReviewChangedParams { rev, files: batch };
            self.outbox.notify("copydesk/review/didChange", told);
        }
    }

    /// Tells a frontend of ours what a status bar shows, where that changed.
    pub(super) fn tell_status(&self) {
        if self.client.markers.is_none() {
            return;
        }
        let hunks = self.review.table().ledger.pending();
        let mut statuses = self.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting: usize = statuses.sessions.values().map(|session| session.waiting).sum();
        let summary = StatusParams {
            kind: "normal".to_owned(),
            busy: statuses.sessions.values().any(|session| session.busy),
            message: None,
            pending_permissions: u32::try_from(waiting).unwrap_or(u32::MAX),
            pending_hunks: u32::try_from(hunks).unwrap_or(u32::MAX),
        };
        if statuses.told.as_ref() != Some(&summary) {
            self.outbox.notify("copydesk/status/didChange", &summary);
            statuses.told = Some(summary);
        }
    }
}

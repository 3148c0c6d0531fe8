//! Hunks in the client's terms.

use protocol::{Range, ReviewFile, ReviewItem};
use review::{Author, Change, FileView, Pick, State};
use text::Rope;
use vfs::{Location, Vfs};

use super::Table;
use crate::lsp::{self, Counting, Uris};
use crate::outbox::RpcError;

/// How places are written for one client.
pub struct Wire<'a> {
    /// The documents' names.
    pub uris: &'a Uris,
    /// How the client counts.
    pub counting: Counting,
    /// The documents' versions.
    pub vfs: &'a Vfs,
}

impl Wire<'_> {
    /// All files with pending hunks.
    pub fn files(&self, table: &Table) -> Vec<ReviewFile> {
        table.ledger.list().into_iter().map(|view| self.file(table, view)).collect()
    }

    /// One file; without hunks when none is pending.
    pub fn file_at(&self, table: &Table, location: &Location) -> ReviewFile {
        match table.ledger.view(location) {
            Some(view) => self.file(table, view),
            None => ReviewFile {
                uri: self.uris.of(location),
                change: "modify".to_owned(),
                old_uri: None,
                version: self.version(location),
                hunks: Vec::new(),
                meta: None,
            },
        }
    }

    /// The picks of a request's items.
    pub fn picks(
        &self,
        table: &Table,
        items: &[ReviewItem],
    ) -> Result<Vec<Pick<Location>>, RpcError> {
        items.iter().map(|item| self.pick(table, item)).collect()
    }

    fn pick(&self, table: &Table, item: &ReviewItem) -> Result<Pick<Location>, RpcError> {
        if let Some(id) = &item.hunk_id {
            return Ok(Pick::Hunk(id.clone()));
        }
        if let Some(uri) = &item.uri {
            let named = lsp::location(uri);
            let location = table.known_as(self.vfs, &named).unwrap_or(named);
            return Ok(match (item.range, table.ledger.current(&location)) {
                (Some(range), Some(text)) => {
                    let bytes = lsp::bytes(text, range, self.counting);
                    Pick::Range(location, bytes)
                }
                (Some(_), None) | (None, _) => Pick::File(location),
            });
        }
        if let Some(session) = &item.session_id {
            return Ok(Pick::Session(session.clone()));
        }
        if item.all == Some(true) {
            return Ok(Pick::All);
        }
        Err(RpcError::invalid_params(
            "items: each names hunkId, uri (with range), sessionId or all: true",
        ))
    }

    fn file(&self, table: &Table, view: FileView<Location>) -> ReviewFile {
        let uri = self.uris.of(&view.file);
        let version = self.version(&view.file);
        let empty = Rope::new();
        let base = table.ledger.base(&view.file).unwrap_or(&empty);
        let now = table.ledger.current(&view.file).unwrap_or(&empty);
        let hunks = view.hunks.into_iter().map(|hunk| protocol::Hunk {
            hunk_id: hunk.id,
            uri: uri.clone(),
            version,
            base_range: self.range(base, &hunk.base),
            range: self.range(now, &hunk.now),
            old_text: hunk.old,
            new_text: hunk.new,
            state: match hunk.state {
                State::Pending => "pending",
                State::Conflict => "conflict",
            }
            .to_owned(),
            author: match hunk.author {
                Author::Agent => "agent",
                Author::Mixed => "mixed",
            }
            .to_owned(),
            session_id: hunk.origin.session,
            tool_call_ids: hunk.origin.calls,
            meta: None,
        });
        let change = match view.change {
            Change::Add => "add",
            Change::Modify => "modify",
            Change::Delete => "delete",
            Change::Rename => "rename",
        };
        let renamed = view.from.filter(|_| view.change == Change::Rename);
        let old_uri = renamed.map(|from| self.uris.of(&from));
        let hunks = hunks.collect();
        ReviewFile { change: change.to_owned(), old_uri, version, hunks, uri, meta: None }
    }

    fn range(&self, text: &Rope, bytes: &std::ops::Range<usize>) -> Range {
        Range {
            start: lsp::position(text, bytes.start, self.counting),
            end: lsp::position(text, bytes.end, self.counting),
        }
    }

    fn version(&self, location: &Location) -> Option<i32> {
        self.vfs.document(location).map(|it| it.version)
    }
}

//! Decisions taken back.
//!
//! Invariant: all files of a decision are as they were before it, or none is changed and the decision
//! can still be taken back. A file that somebody deleted since has no part in it.

use std::collections::{BTreeMap, BTreeSet};

use agent::editor::ApplyError;
use protocol::{ReviewUndoParams, ReviewUndoResult};
use review::{Decision, HunkId, Ledger, Plan, Undoing};
use vfs::{FileKind, Location};

use super::moves::{folders_of, unsaved};
use super::standing::{PENDING_THERE, TAKEN};
use super::transaction::refused;
use super::{LspEditor, Parts};
use crate::outbox::RpcError;
use crate::review::lines::Told;
use crate::review::places::LIES_ELSEWHERE;

/// What an undo came to, and what each session's agent is to be told of it.
pub struct Undone {
    /// For the client.
    pub result: ReviewUndoResult,
    /// By session.
    pub told: Vec<(String, String)>,
}

type Part = Undoing<Location>;

const LABEL: &str = "Undo a review decision";
const CHANGED: &str = "it changed just now; try again";

impl LspEditor {
    /// `copydesk/review/undo`.
    pub async fn undo_decision(&self, params: ReviewUndoParams) -> Result<Undone, RpcError> {
        let parts = &self.0;
        parts.review.follow_all();
        let unknown = || {
            RpcError::failed(
                "not-found",
                format!("there is nothing to undo by {}", params.undo_token),
            )
        };
        let token: u64 = params
            .undo_token
            .strip_prefix("undo-")
            .and_then(|it| it.parse().ok())
            .ok_or_else(unknown)?;
        let all = parts.review.table().ledger.plan_undo(token);
        if all.is_empty() {
            return Err(unknown());
        }
        let undone = parts.undo_all(all, token).await;
        parts.publish_kept().await;
        match undone {
            Ok(files) => Ok(Undone {
                result: ReviewUndoResult { rev: parts.review.table().ledger.rev() },
                told: told(&files),
            }),
            Err(error) => Err(RpcError::failed("stale", error.to_string())),
        }
    }
}

/// What the sessions' agents are told.
fn told(files: &[Part]) -> Vec<(String, String)> {
    let mut told: BTreeMap<String, String> = BTreeMap::new();
    for part in files {
        for session in &part.sessions {
            let text =
                "Review: the person took a decision back; changes of yours are pending again in";
            let text = told.entry(session.clone()).or_insert_with(|| text.to_owned());
            text.push_str(&format!(" {}", part.again.as_ref().unwrap_or(&part.file)));
        }
    }
    told.into_iter().collect()
}

impl Parts {
    /// Takes all parts of a decision back that there are files for; gives those.
    async fn undo_all(&self, all: Vec<Part>, token: u64) -> Result<Vec<Part>, ApplyError> {
        let first = all.first().map(|it| it.file.clone());
        let there = all.into_iter().filter(|it| self.is_there(it));
        let steps = there.map(|it| (it.clone(), it.passing())).collect();
        let parts = review::in_order(steps, folders_of);
        if let (true, Some(first)) = (parts.is_empty(), first) {
            return Err(refused(first, "it is gone"));
        }
        self.check_undo(&parts)?;
        let mut done = Vec::new();
        for part in &parts {
            match self.undo_part(part, token).await {
                Ok(()) => done.push(part),
                Err(error) => {
                    self.decide_again(part, token).await;
                    for part in done.into_iter().rev() {
                        self.decide_again(part, token).await;
                    }
                    return Err(error);
                }
            }
        }
        Ok(parts)
    }

    /// Whether there is something that a part of a decision can be taken back in.
    fn is_there(&self, part: &Part) -> bool {
        let is_file = match part.file.path() {
            Some(path) => self.vfs.link_stat(path).is_ok() || self.vfs.is_open(&part.file),
            // A cell comes back as another one; whether it can is tried.
            None => true,
        };
        match (&part.plan, part.decision) {
            (Some(Plan::Create(_)), _) => true,
            (Some(Plan::Text(_) | Plan::Delete) | None, Decision::Accept) => !part.is_shadowed,
            (Some(Plan::Text(_) | Plan::Delete) | None, Decision::Reject) => {
                !part.is_shadowed && is_file
            }
        }
    }

    /// Whether all of it can be done, one after the other.
    fn check_undo(&self, parts: &[Part]) -> Result<(), ApplyError> {
        let mut freed: BTreeSet<&Location> = BTreeSet::new();
        for part in parts {
            let name = part.again.as_ref().unwrap_or(&part.file);
            let needs = part.plan.is_some() || *name != part.file;
            let led = [&part.file, name].into_iter().find(|it| self.review.leads_elsewhere(it));
            if let Some(led) = led.filter(|_| needs) {
                return Err(refused(led.clone(), LIES_ELSEWHERE));
            }
            if *name != part.file {
                if self.vfs.open_snapshot(&part.file).is_some_and(|it| self.is_typed_in(&it)) {
                    return Err(unsaved(part.file.clone()));
                }
                self.check_free(name, &freed)?;
                freed.remove(name);
                freed.insert(&part.file);
            }
            match &part.plan {
                Some(Plan::Create(_)) => {
                    self.check_free(name, &freed)?;
                    freed.remove(name);
                }
                Some(Plan::Delete) => {
                    self.check_text(part)?;
                    let open = self.vfs.open_snapshot(&part.file);
                    match open {
                        Some(open) if part.file.path().is_some() && self.is_typed_in(&open) => {
                            return Err(unsaved_gone(part.file.clone()));
                        }
                        Some(open) => self.check_shows_disk(&open)?,
                        None => {}
                    }
                    freed.insert(name);
                }
                Some(Plan::Text(changes)) if changes.is_identity() => {}
                Some(Plan::Text(_)) => self.check_text(part)?,
                None => {}
            }
        }
        Ok(())
    }

    /// Whether a file has the text that the plan for it was made for.
    fn check_text(&self, part: &Part) -> Result<(), ApplyError> {
        if self.review.is_link_back(&part.file) {
            return Ok(());
        }
        let known = self.review.table().ledger.current(&part.file).cloned();
        match self.vfs.snapshot(&part.file) {
            Ok(now) if known.is_some_and(|it| it != now.rope) => {
                Err(refused(part.file.clone(), CHANGED))
            }
            Ok(_) => self.edits_in_editor(&part.file).map(drop),
            // It may be one whose bytes are no text any more, which is tried.
            Err(_) => Ok(()),
        }
    }

    /// Whether a file can come to a name, once those were freed.
    fn check_free(
        &self,
        location: &Location,
        freed: &BTreeSet<&Location>,
    ) -> Result<(), ApplyError> {
        let Some(path) = location.path() else { return Ok(()) };
        if freed.contains(location) {
            return Ok(());
        }
        if self.review.table().ledger.is_pending(location) {
            return Err(refused(location.clone(), PENDING_THERE));
        }
        self.check_shown(location)?;
        let is_freed_in =
            |folder: &Location| freed.iter().any(|it| folders_of(it).contains(folder));
        let is_free = match self.vfs.link_stat(path) {
            Ok(it) if it.kind == FileKind::Folder => {
                self.empty_folders(path).is_some() || is_freed_in(location)
            }
            Ok(_) => false,
            Err(_) => {
                let above = folders_of(location).into_iter();
                let mut above = above.filter_map(|it| {
                    let is_folder = self.vfs.stat(it.path()?).ok()?.kind == FileKind::Folder;
                    Some(is_folder || freed.contains(&it))
                });
                above.next().unwrap_or(true)
            }
        };
        if is_free { Ok(()) } else { Err(refused(location.clone(), TAKEN)) }
    }

    /// Takes a file's part of a decision back: its move first, then what changed in it.
    async fn undo_part(&self, part: &Part, token: u64) -> Result<(), ApplyError> {
        let name = part.again.as_ref().unwrap_or(&part.file);
        if part.again.is_some() {
            self.undo_move(&part.file, name, token).await?;
        }
        if part.plan.is_some() || !part.hunks.is_empty() {
            self.undo_in(name, &part.hunks, token).await?;
        }
        Ok(())
    }

    /// Takes a decision on a file's move back.
    async fn undo_move(
        &self,
        from: &Location,
        to: &Location,
        token: u64,
    ) -> Result<(), ApplyError> {
        let _locks = self.locks.take([from, to]).await;
        let held = self.review.hold([from, to]);
        if from != to {
            self.move_file(LABEL, from, to).await.inspect_err(|_| held.failed())?;
            self.review.leave_folders(from);
            held.goes_by(from, to);
        }
        held.decide(from, None, |ledger| ledger.undo_move(from, token));
        Ok(())
    }

    async fn undo_in(
        &self,
        location: &Location,
        hunks: &BTreeSet<HunkId>,
        token: u64,
    ) -> Result<(), ApplyError> {
        let _lock = self.locks.take([location]).await;
        let held = self.review.hold([location]);
        if !self.review.table().ledger.surface(location, token, hunks) {
            return Err(refused(location.clone(), TAKEN));
        }
        let plan = self.review.table().ledger.plan_undo_in(location, token);
        let undo = |ledger: &mut Ledger<Location>| ledger.undo(location, token);
        self.carry_out_plan(LABEL, location, plan, &held, undo).await?;
        let hunks = self.review.table().ledger.view(location).map(|it| it.hunks);
        let pending = hunks.into_iter().flatten().map(|it| it.id).collect();
        self.waits.undecided(&pending);
        Ok(())
    }

    /// Decides once more what an undo that failed further on had taken back of a part.
    async fn decide_again(&self, part: &Part, token: u64) {
        let name = part.again.as_ref().unwrap_or(&part.file);
        let pending = self.review.table().ledger.view(name).map(|it| it.hunks).unwrap_or_default();
        let ids: BTreeSet<HunkId> =
            pending.into_iter().map(|it| it.id).filter(|it| part.hunks.contains(it)).collect();
        let mut told = Told::default();
        if !ids.is_empty() {
            let again = self.decide(name, &ids, part.decision, token, (&mut told, None)).await;
            if let Err(error) = again {
                tracing::warn!(%error, "a decision that could not be undone as a whole is undone in part");
                return;
            }
        }
        let is_moved = part.again.is_some() && self.moved_from(name).is_some();
        if is_moved
            && let Err(error) =
                self.decide_move(name, part.decision, token, (&mut told, None)).await
        {
            tracing::warn!(%error, "a move that could not be undone with the rest is undone");
        }
    }
}

fn unsaved_gone(location: Location) -> ApplyError {
    refused(location, "its buffer holds unsaved text, so it does not go; save it first")
}

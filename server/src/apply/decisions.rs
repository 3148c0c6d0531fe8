//! Decisions on pending hunks, carried out in documents and files.
//!
//! Invariant: a decision counts once the text is where it belongs; what fails stays pending and is
//! said. Nothing the person typed goes with a rejected hunk.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use agent::editor::{ApplyError, Approval};
use agent::settings::SavePolicy;
use protocol::{ReviewBaseParams, ReviewConflict, ReviewResolveParams, ReviewResolveResult};
use review::{Decision, HunkId, Ledger, Pick, Plan, State};
use std::sync::PoisonError;
use text::{ChangeSet, Rope};
use tokio_util::sync::CancellationToken;
use vfs::{Dirty, Image, Location, Snapshot, Undo, is_sensitive, same_but_line_endings};

use super::disk::{DiskStep, emptied};
use super::document::Landed;
use super::moves::{in_order, take_move};
use super::transaction::whole;
use super::{LspEditor, Parts};
use crate::outbox::RpcError;
use crate::review::Held;
use crate::review::lines::{self, Told};
use crate::review::places::LIES_ELSEWHERE;

/// What a decision came to, and what each session's agent is to be told of it.
pub struct Resolved {
    /// For the client.
    pub result: ReviewResolveResult,
    /// By session.
    pub told: Vec<(String, String)>,
}

/// How a plan was carried out.
pub(super) enum Carried {
    Document(Box<Landed>),
    /// The file went, and its document is empty: it is not to be saved.
    Emptied(Box<Landed>),
    Disk(Box<DiskStep>),
    /// The file came or went; its text is told by the decision.
    File,
}

impl LspEditor {
    /// `copydesk/review/resolve`.
    pub async fn resolve(&self, params: ReviewResolveParams) -> Result<Resolved, RpcError> {
        let decision = match params.action.as_str() {
            "accept" => Decision::Accept,
            "reject" => Decision::Reject,
            other => {
                return Err(RpcError::invalid_params(format!(
                    "action: there is no `{other}`; use accept or reject"
                )));
            }
        };
        let parts = &self.0;
        parts.review.follow_all();
        let (picks, token) = {
            let mut table = parts.review.table();
            if params.expected_rev.is_some_and(|rev| rev != table.ledger.rev()) {
                return Err(RpcError {
                    code: -32801,
                    message: "the pending changes are not those of expectedRev any more".to_owned(),
                    data: Some(serde_json::json!({"kind": "stale"})),
                });
            }
            let picks = parts.wire().picks(&table, &params.items)?;
            (picks, table.ledger.token())
        };
        let picked = parts.review.table().ledger.pick(&picks);
        let mut conflicts = unknown(&picks, &picked);
        let mut resolved = Vec::new();
        let mut told = Told::default();
        let comment = params.comment.as_deref();
        let ordered = in_order(&parts.review.table().ledger, picked, decision);
        for (location, mut ids) in ordered {
            let failed = |ids: &BTreeSet<HunkId>, error: ApplyError| {
                parts.waits.undecided(ids);
                let reason = error.to_string();
                let failed =
                    |id: &HunkId| ReviewConflict { hunk_id: id.clone(), reason: reason.clone() };
                ids.iter().map(failed).collect::<Vec<_>>()
            };
            let moved = take_move(&parts.review.table().ledger, &location, &mut ids);
            if !ids.is_empty() {
                let telling = (&mut told, comment);
                match parts.decide(&location, &ids, decision, token, telling).await {
                    Ok(kept) => {
                        resolved.extend(ids);
                        conflicts.extend(kept);
                    }
                    Err(error) => conflicts.extend(failed(&ids, error)),
                }
            }
            // Last: the text is decided on where it is.
            if let Some(hunk) = moved {
                let telling = (&mut told, comment);
                match parts.decide_move(&location, decision, token, telling).await {
                    Ok(()) => resolved.push(hunk),
                    Err(error) => conflicts.extend(failed(&BTreeSet::from([hunk]), error)),
                }
            }
        }
        parts.publish_kept().await;
        let rev = parts.review.table().ledger.rev();
        let undoable = !parts.review.table().ledger.plan_undo(token).is_empty();
        let undo_token = undoable.then(|| format!("undo-{token}"));
        let told = told.messages(comment);
        Ok(Resolved { result: ReviewResolveResult { rev, resolved, conflicts, undo_token }, told })
    }

    /// `copydesk/review/base`: of files that the agent changed alone, and of no secret.
    pub fn base_text(&self, params: &ReviewBaseParams) -> Result<String, RpcError> {
        let review = &self.0.review;
        review.follow_all();
        let named = crate::lsp::location(&params.uri);
        let secret = |it: &Location| {
            let real = |path: &Path| is_sensitive(&self.0.vfs.real_path(path));
            it.path().is_some_and(|path| is_sensitive(path) || real(path))
        };
        let known = review.known_as(&named);
        if secret(&named) || known.as_ref().is_some_and(secret) {
            let reason =
                "the file may hold secrets; its text before the agent's changes is not shown";
            return Err(RpcError::failed("denied", reason));
        }
        let table = review.table();
        let base = known.and_then(|it| table.ledger.base(&it).map(ToString::to_string));
        base.ok_or_else(|| {
            let reason = format!("no change of the agent's is pending in {named}");
            RpcError::failed("not-found", reason)
        })
    }
}

impl Parts {
    /// Decides on hunks of one file; gives what is to be said of those that kept typed text.
    pub(super) async fn decide(
        &self,
        location: &Location,
        ids: &BTreeSet<HunkId>,
        decision: Decision,
        token: u64,
        (told, comment): (&mut Told, Option<&str>),
    ) -> Result<Vec<ReviewConflict>, ApplyError> {
        let _lock = self.locks.take([location]).await;
        let held = self.review.hold([location]);
        let mut kept = Vec::new();
        {
            let table = self.review.table();
            let empty = Rope::new();
            let text = table.ledger.current(location).unwrap_or(&empty);
            let hunks = table.ledger.view(location).map(|it| it.hunks).unwrap_or_default();
            for hunk in hunks.iter().filter(|hunk| ids.contains(&hunk.id)) {
                let words = lines::words(&location.to_string(), text, hunk, decision);
                told.add(&words, hunk, &self.waits.sessions(&hunk.origin));
                self.waits.decided(hunk, decision, &words, comment);
                if decision == Decision::Reject && hunk.state == State::Conflict {
                    let reason = "what you wrote inside it was kept".to_owned();
                    kept.push(ReviewConflict { hunk_id: hunk.id.clone(), reason });
                }
            }
        }
        match decision {
            Decision::Accept => {
                held.decide(location, None, |ledger| {
                    ledger.decide(location, ids, decision, token);
                });
            }
            Decision::Reject => {
                let plan = self.review.table().ledger.plan_reject(location, ids);
                let decide = |ledger: &mut Ledger<Location>| {
                    ledger.decide(location, ids, decision, token);
                };
                self.carry_out_plan("Reject the agent's change", location, plan, &held, decide)
                    .await?;
            }
        }
        drop(held);
        self.save_decided(location).await;
        Ok(kept)
    }

    /// Does to a file what a decision needs, then lets the ledger know.
    pub(super) async fn carry_out_plan(
        &self,
        label: &str,
        location: &Location,
        plan: Option<Plan>,
        held: &Held,
        decide: impl FnOnce(&mut Ledger<Location>),
    ) -> Result<(), ApplyError> {
        let is_only_told = plan.is_none();
        let takes_away = plan == Some(Plan::Delete);
        let known = self.review.table().ledger.current(location).cloned();
        if !is_only_told && held.lies_elsewhere(location) {
            let reason = LIES_ELSEWHERE.to_owned();
            return Err(ApplyError::Refused { location: location.clone(), reason });
        }
        let carried = match plan {
            None => Ok(Carried::File),
            Some(Plan::Text(changes)) if changes.is_identity() => Ok(Carried::File),
            Some(Plan::Text(changes)) => {
                let of = known.as_ref();
                match self.exchange_link(location, (of, &changes), held).await {
                    Some(exchanged) => exchanged.map(|it| Carried::Disk(Box::new(it))),
                    None => self.change_text_of(label, location, (of, &changes), held).await,
                }
            }
            Some(Plan::Create(text)) => match self.bring_cell_back(label, location, &text).await {
                Some(back) => back.map(|()| Carried::File),
                None => self.bring_back(label, location, &text, held.deleted(location)).await,
            },
            Some(Plan::Delete) => match self.take_cell_away(label, location).await {
                Some(gone) => gone.map(|()| Carried::File),
                None => self.take_away(label, location, held).await,
            },
        };
        let carried = carried.inspect_err(|_| held.failed())?;
        if takes_away {
            self.review.leave_folders(location);
        }
        match &carried {
            Carried::Document(landed) | Carried::Emptied(landed) => {
                held.decide(location, Some(&landed.entered()), decide);
                held.note_place(location);
            }
            Carried::Disk(step) => {
                let DiskStep { before, changes, .. } = &**step;
                held.decide(location, Some(&whole(before, changes)), decide);
            }
            Carried::File => {
                held.decide(location, None, decide);
                if !is_only_told {
                    // A link that came back leads where it did.
                    held.note_place(location);
                }
            }
        }
        if let Carried::Document(landed) = carried {
            // The person decided this very change.
            self.keep(location, landed.buffer, Approval::Person).await;
        }
        Ok(())
    }

    pub(super) async fn change_text(
        &self,
        label: &str,
        location: &Location,
        changes: &ChangeSet,
        held: &Held,
    ) -> Result<Carried, ApplyError> {
        self.change_text_of(label, location, (None, changes), held).await
    }

    /// As [`Parts::change_text`], and nothing happens where the text is not the one that the changes
    /// were made for.
    async fn change_text_of(
        &self,
        label: &str,
        location: &Location,
        (of, changes): (Option<&Rope>, &ChangeSet),
        held: &Held,
    ) -> Result<Carried, ApplyError> {
        let base = match self.vfs.snapshot(location) {
            Ok(base) => base,
            Err(error) => {
                let step = self.change_bytes(location, changes).await;
                return step.map(|step| Carried::Disk(Box::new(step))).ok_or_else(|| {
                    ApplyError::Refused { location: location.clone(), reason: error.to_string() }
                });
            }
        };
        let is_other = of.is_some_and(|of| *of != base.rope);
        if is_other || base.rope.len_bytes() != changes.len_before() {
            let reason = "it changed just now; try again".to_owned();
            return Err(ApplyError::Refused { location: location.clone(), reason });
        }
        if self.edits_in_editor(location)? {
            let never = CancellationToken::new();
            let landed = self.change_document(label, &base, changes, &never).await?;
            self.take_mode_along(location, &landed, held);
            return Ok(Carried::Document(Box::new(landed)));
        }
        if self.revert_whole(location, &changes.apply(&base.rope), held).await {
            let step = DiskStep { ops: Vec::new(), before: base.rope, changes: changes.clone() };
            return Ok(Carried::Disk(Box::new(step)));
        }
        if let Some(step) = self.restore_bytes(&base, changes, held).await {
            return Ok(Carried::Disk(Box::new(step)));
        }
        let step = self.plan_edit(&base, changes)?;
        self.commit(step.ops.clone()).await?;
        Ok(Carried::Disk(Box::new(step)))
    }

    /// Changes a closed file that counts as binary by now, where its bytes are those of the text
    /// that is known.
    async fn change_bytes(&self, location: &Location, changes: &ChangeSet) -> Option<DiskStep> {
        let known = self.review.table().ledger.current(location)?.clone();
        if known.len_bytes() != changes.len_before() {
            return None;
        }
        let path = self.vfs.real_path(location.path()?);
        let bytes = self.vfs.read_bytes(&path, known.len_bytes() as u64 + 1).ok()?;
        if known != *std::str::from_utf8(&bytes).ok()? {
            return None;
        }
        let mut undo = self.vfs.keep_file(&path).ok()??;
        let entry = undo.entries.first_mut()?;
        let mut wanted = entry.before.clone()?;
        let Image::File { blob, .. } = &mut wanted else { return None };
        *blob = self.vfs.keep_blob(changes.apply(&known).to_string().as_bytes()).ok()?;
        entry.after = entry.before.replace(wanted);
        self.revert(undo).await.ok()?;
        Some(DiskStep { ops: Vec::new(), before: known, changes: changes.clone() })
    }

    /// Takes a command's whole change of a file back byte for byte, mode included, or brings it
    /// again, where the file is to have the text of that side; whether it did.
    async fn revert_whole(&self, location: &Location, wanted: &Rope, held: &Held) -> bool {
        let Some(back) = held.whole_change(location) else { return false };
        let mut again = back.clone();
        for entry in &mut again.entries {
            std::mem::swap(&mut entry.before, &mut entry.after);
        }
        for undo in [back, again] {
            let image = undo.entries.first().and_then(|it| it.before.as_ref());
            let text = image.and_then(|it| self.vfs.image_text(it).ok().flatten());
            if text.is_some_and(|it| it == *wanted) && self.revert(undo).await.is_ok() {
                return true;
            }
        }
        false
    }

    /// The mode that a command gave the file of an open document goes with the command's change,
    /// when the document has the text of before it again, and comes back with it.
    fn take_mode_along(&self, location: &Location, landed: &Landed, held: &Held) {
        let Some(change) = held.whole_change(location) else { return };
        let Some(entry) = change.entries.first() else { return };
        let (Some(Image::File { mode: old, .. }), Some(Image::File { mode: new, .. })) =
            (&entry.before, &entry.after)
        else {
            return;
        };
        let before = entry.before.as_ref().and_then(|it| self.vfs.image_text(it).ok().flatten());
        let Some(before) = before.filter(|_| old != new) else { return };
        let is_before = |text: &Rope| {
            *text == before || same_but_line_endings(&text.to_string(), &before.to_string())
        };
        let exchanged = if is_before(&landed.changes.apply(&landed.before)) {
            self.vfs.exchange_mode(&entry.path, *new, *old)
        } else if is_before(&landed.before) {
            self.vfs.exchange_mode(&entry.path, *old, *new)
        } else {
            return;
        };
        if let Err(error) = exchanged {
            tracing::info!(%error, path = %entry.path.display(), "a file's mode stays");
        }
    }

    /// Gives a closed file the very bytes it had, malformed ones included, where a change comes to
    /// the text they stand for.
    async fn restore_bytes(
        &self,
        base: &Snapshot,
        changes: &ChangeSet,
        held: &Held,
    ) -> Option<DiskStep> {
        let before = held.before(&base.location)?;
        let path = self.vfs.real_path(base.location.path()?);
        let text = |image: &Image| self.vfs.image_text(image).ok().flatten();
        if text(&before)? != changes.apply(&base.rope) {
            return None;
        }
        let mut undo = self.vfs.keep_file(&path).ok()??;
        let entry = undo.entries.first_mut()?;
        entry.after = entry.before.replace(before);
        if text(entry.after.as_ref()?)? != base.rope {
            return None;
        }
        self.revert(undo.clone()).await.ok()?;
        held.keep_whole_change(&base.location, undo);
        Some(DiskStep { ops: Vec::new(), before: base.rope.clone(), changes: changes.clone() })
    }

    /// Makes a file again, from its own bytes where they are known, and has its document, where the
    /// editor still shows one, show it.
    async fn bring_back(
        &self,
        label: &str,
        location: &Location,
        text: &str,
        gone: Option<(Undo, Option<Rope>)>,
    ) -> Result<Carried, ApplyError> {
        self.check_shown(location)?;
        self.make_way(location).await?;
        self.make_again(location, text, gone).await?;
        let landed = self.show_as_on_disk(label, location).await?;
        Ok(landed.map_or(Carried::File, |landed| Carried::Document(Box::new(landed))))
    }

    async fn make_again(
        &self,
        location: &Location,
        text: &str,
        gone: Option<(Undo, Option<Rope>)>,
    ) -> Result<(), ApplyError> {
        if let Some((undo, went_with)) = gone
            && self.revert(undo.clone()).await.is_ok()
        {
            // What a link leads to is none of it.
            let links =
                undo.entries.iter().any(|it| matches!(it.before, Some(Image::Symlink { .. })));
            if links {
                return Ok(());
            }
            if went_with.is_some_and(|it| it == *text) {
                return Ok(());
            }
            // It may have gone with earlier edits of the agent's in it.
            let there = location.path().and_then(|path| self.vfs.disk_snapshot(path).ok());
            if let Some(there) = there.filter(|it| it.rope != *text) {
                let step = self.plan_edit(&there, &ChangeSet::whole(&there.rope, text))?;
                self.commit(step.ops).await?;
            }
            return Ok(());
        }
        let step = self.plan_create(location, text)?;
        self.commit(step.ops).await?;
        Ok(())
    }

    pub(super) async fn take_away(
        &self,
        label: &str,
        location: &Location,
        held: &Held,
    ) -> Result<Carried, ApplyError> {
        let never = CancellationToken::new();
        let on_disk = location.path().is_some_and(|path| self.vfs.link_stat(path).is_ok());
        match self.vfs.open_snapshot(location) {
            Some(open) if on_disk && !open.is_unsaved() && self.client.deletes_files => {
                self.check_shows_disk(&open)?;
                let undo = match self.delete_open(label, location, &never).await {
                    Ok(undo) => undo,
                    Err(error) if !self.has_text(location, &open.rope) => return Err(error),
                    Err(error) => {
                        // The file is what the person decided on; the editor may keep its view.
                        tracing::info!(%error, "the editor does not delete a file");
                        Some(self.commit(self.plan_delete(location)?.ops).await?.undo)
                    }
                };
                undo.into_iter().for_each(|undo| held.keep_undo(location, undo, open.rope.clone()));
                self.empty_what_is_shown(label, location).await
            }
            Some(open) if self.client.applies_edits && (self.is_typed_in(&open) || !on_disk) => {
                self.change_text(label, location, &emptied(&open.rope), held).await
            }
            open => {
                if let Some(open) = &open {
                    self.check_shows_disk(open)?;
                }
                let step = self.plan_delete(location)?;
                held.keep_undo(location, self.commit(step.ops).await?.undo, step.before);
                self.empty_what_is_shown(label, location).await
            }
        }
    }

    /// Saves a buffer with nothing left to decide, where only our own edits are unsaved.
    pub(super) async fn save_decided(&self, location: &Location) {
        let policy = *self.save_policy.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = self.vfs.document(location).is_some_and(|it| it.dirty == Dirty::Ours);
        let pending = self.review.table().ledger.is_text_pending(location);
        let is_there = location.path().is_some_and(|path| self.vfs.link_stat(path).is_ok());
        let on_disk = is_there && !self.review.lies_elsewhere(location);
        match policy {
            SavePolicy::Never => {}
            SavePolicy::IfWasClean | SavePolicy::Always => {
                if ours && !pending && on_disk && self.client.saves() {
                    self.save(std::slice::from_ref(location)).await;
                }
            }
        }
    }
}

/// Hunks asked for by name that are not pending.
fn unknown(
    picks: &[Pick<Location>],
    picked: &BTreeMap<Location, BTreeSet<HunkId>>,
) -> Vec<ReviewConflict> {
    let missing = |pick: &Pick<Location>| match pick {
        Pick::Hunk(id) if !picked.values().any(|ids| ids.contains(id)) => Some(id.clone()),
        Pick::Hunk(_) | Pick::File(_) | Pick::Range(..) | Pick::Session(_) | Pick::All => None,
    };
    let reason = "it is not pending: it was decided on, or is gone from the text".to_owned();
    let conflict = |hunk_id| ReviewConflict { hunk_id, reason: reason.clone() };
    picks.iter().filter_map(missing).map(conflict).collect()
}

//! One edit of one open document: sent at the current version, then watched until the document
//! store shows what became of it.
//!
//! Invariant: the store's text decides. Editors skip stale edits and say they applied them, apply
//! them in the wrong place, and report the change before or after their answer.

use std::ops::Range;
use std::time::Duration;

use agent::editor::ApplyError;
use serde_json::{Value, json};
use text::{Arrival, ChangeSet, Edit, Landing, Overlap, Rope};
use tokio::time::{Instant, timeout, timeout_at};
use tokio_util::sync::CancellationToken;
use vfs::{Encoding, Location, Snapshot, Source, Vfs};

use super::Parts;
use super::saving::Before;
use crate::lsp;

/// How often an edit is sent to a document that nobody else changes.
const ATTEMPTS: usize = 4;
/// How often an edit is rebased and sent again while the person goes on typing.
const ATTEMPTS_WHILE_TYPING: usize = 16;
/// How long an editor may take to answer.
const ANSWER: Duration = Duration::from_secs(30);
/// How long the answer may take once the change has arrived.
const BELATED_ANSWER: Duration = Duration::from_secs(1);
/// How long after the answer the change may take to arrive.
const ECHO: Duration = Duration::from_secs(3);
/// The same where the document has gone on without the edit, so that it was probably skipped. Such
/// a version cannot be applied late: the editor would see that it is old.
const ECHO_WHEN_SKIPPED: Duration = Duration::from_millis(800);
/// How long after the last part of an edit that is told in several the next may take.
const NEXT_PART: Duration = Duration::from_secs(3);
/// How long after its first attempt an edit is not tried again, whatever the editor says and tells.
const LAST_ATTEMPT: Duration = Duration::from_secs(40);
/// How long a text that makes no sense may take to become one that does.
const ECHO_WHEN_CONFUSED: Duration = Duration::from_millis(300);
/// How long after a refusal to wait for the change that explains it.
const EXPLANATION: Duration = Duration::from_millis(200);
/// Lines shown around a place that was changed meanwhile, and the bytes they may have.
const STALE_CONTEXT: usize = 3;
const STALE_BYTES: usize = 8 * 1024;

/// An edit that is in its document.
pub struct Landed {
    /// The text just before the edit.
    pub before: Rope,
    /// The document's generation then.
    pub generation: u64,
    /// The edit, over `before`.
    pub changes: ChangeSet,
    /// What the buffer was before it.
    pub buffer: Before,
    /// The document as it was seen with the edit in it.
    pub now: Snapshot,
    /// What the person typed since, over the text with the edit; leads to `now`.
    pub since: ChangeSet,
    /// Takes the edit back out of `now`; `None` where the person has typed over it already.
    pub inverse: Option<ChangeSet>,
}

/// An edit made to fit the document as it is now.
struct Fitted {
    now: Snapshot,
    generation: u64,
    version: i32,
    buffer: Before,
    ours: ChangeSet,
}

enum Outcome {
    /// With what the person did, over the text with the edit.
    Landed(Snapshot, ChangeSet),
    /// To be sent again; the editor's reason where it gave one.
    NotIn(Option<String>),
    /// In the wrong place; the change puts it right.
    Misplaced(Snapshot, ChangeSet),
    /// A part only, and no more comes; the change is the rest.
    Partly(Snapshot, ChangeSet),
    /// Cannot be told.
    Unclear(Snapshot),
    /// The editor says nothing; sent again, the edit might be made twice.
    Unanswered,
    Closed,
}

/// What the document store has shown of an edit since it was sent.
struct Watched {
    arrival: Arrival,
    /// The generation up to which it was looked at.
    seen: u64,
}

/// Why an edit counts as not applied.
pub(super) enum Denial {
    /// The editor's reason, or the client's error.
    Said(String),
    /// No answer came.
    Silence,
    /// The turn was cancelled.
    Cancelled,
}

impl Denial {
    /// In words, for the model.
    pub(super) fn reason(&self) -> &str {
        match self {
            Denial::Said(reason) => reason,
            Denial::Silence => "the editor did not answer",
            Denial::Cancelled => "cancelled",
        }
    }
}

impl Parts {
    /// Carries out `changes`, made for `base`, in the document as the person has it now.
    pub(super) async fn change_document(
        &self,
        label: &str,
        base: &Snapshot,
        changes: &ChangeSet,
        cancelled: &CancellationToken,
    ) -> Result<Landed, ApplyError> {
        let location = &base.location;
        let (mut base, mut changes) = (base.clone(), changes.clone());
        // What is reported when the edit needed repairs: the edit itself, not the repair.
        let mut first: Option<Fitted> = None;
        let mut reason = None;
        let mut last_seen = None;
        let mut undisturbed = 0;
        let begun = Instant::now();
        for _ in 0..ATTEMPTS_WHILE_TYPING {
            if begun.elapsed() > LAST_ATTEMPT {
                break;
            }
            if cancelled.is_cancelled() && first.is_none() {
                return Err(ApplyError::Cancelled);
            }
            let fitted = self.fit(&base, &changes).inspect_err(|_| {
                if first.is_some() {
                    self.review.unsure(location);
                }
            })?;
            undisturbed +=
                usize::from(last_seen.replace(fitted.generation) == Some(fitted.generation));
            if undisturbed == ATTEMPTS {
                break;
            }
            if fitted.ours.is_identity() {
                let now = fitted.now.clone();
                return Ok(landed(first.unwrap_or(fitted), now, None));
            }
            match self.send(label, location, &fitted, cancelled).await {
                Outcome::Landed(now, theirs) => {
                    return Ok(match first {
                        None => landed(fitted, now, Some(theirs)),
                        Some(first) => landed(first, now, None),
                    });
                }
                Outcome::NotIn(why) => {
                    tracing::debug!(%location, ?why, "an edit did not land");
                    reason = why.or(reason);
                }
                Outcome::Misplaced(now, repair) => {
                    tracing::warn!(%location, "the editor applied an edit in the wrong place");
                    first.get_or_insert(fitted);
                    (base, changes) = (now, repair);
                }
                Outcome::Partly(now, rest) => {
                    tracing::warn!(%location, "the editor made a part of an edit");
                    first.get_or_insert(fitted);
                    (base, changes) = (now, rest);
                }
                Outcome::Unclear(now) => {
                    self.review.unsure(location);
                    return Err(stale(&now, &touched(&fitted.ours)));
                }
                Outcome::Unanswered => {
                    self.review.unsure(location);
                    return Err(ApplyError::Unanswered { location: location.clone() });
                }
                Outcome::Closed => {
                    reason = Some("the document was closed meanwhile".to_owned());
                    break;
                }
            }
        }
        if first.is_some() {
            self.review.unsure(location);
        }
        let reason = reason.unwrap_or_else(|| "the editor does not apply the edit".to_owned());
        Err(ApplyError::Refused { location: location.clone(), reason })
    }

    /// Whether an edit fits the document as it is; nothing is sent.
    pub(super) fn check_document(
        &self,
        base: &Snapshot,
        changes: &ChangeSet,
    ) -> Result<(), ApplyError> {
        self.fit(base, changes).map(drop)
    }

    fn fit(&self, base: &Snapshot, changes: &ChangeSet) -> Result<Fitted, ApplyError> {
        let location = &base.location;
        let refused = |reason: &str| ApplyError::Refused {
            location: location.clone(),
            reason: reason.to_owned(),
        };
        let now = self
            .vfs
            .open_snapshot(location)
            .ok_or_else(|| refused("the document was closed meanwhile"))?;
        let Source::Buffer { version, generation, dirty, write_back } = now.source else {
            return Err(refused("the document was closed meanwhile"));
        };
        if now.read_only {
            return Err(refused("it is read-only"));
        }
        let ours = rebased(&self.vfs, base, &now, changes).map_err(|o| stale(&now, &o.range))?;
        let ours = lsp::in_own_endings(&now.rope, &ours, now.format.eol, self.client.editor);
        check_encodable(&now, &ours)?;
        let buffer = Before { dirty, write_back };
        Ok(Fitted { now, generation, version, buffer, ours })
    }

    async fn send(
        &self,
        label: &str,
        location: &Location,
        fitted: &Fitted,
        cancelled: &CancellationToken,
    ) -> Outcome {
        let uri = self.uris.of(location);
        let edits = lsp::text_edits(&fitted.now.rope, &fitted.ours, self.client.counting);
        let document = json!({"uri": uri, "version": fitted.version});
        let change = json!({"textDocument": document, "edits": edits});
        self.vfs.expect_ours(location, fitted.ours.apply(&fitted.now.rope));
        let mut generation = self.vfs.watch(location);
        let arrival = Arrival::new(&fitted.now.rope, &fitted.ours);
        let mut watched = Watched { arrival, seen: fitted.generation };
        let answer = tokio::select! {
            answer = self.apply_edit(label, change, cancelled) => answer,
            () = self.landed_unanswered(location, &mut watched) => Ok(()),
        };
        match answer {
            Ok(()) => self.watch_landing(location, fitted, &mut watched, &mut generation).await,
            Err(denial) => {
                // The refusal may have to do with typing that is still on its way, and an edit that
                // was withdrawn may be in all the same.
                let explained = generation.wait_for(|now| *now > fitted.generation);
                let _ = timeout(EXPLANATION, explained).await;
                match self.judge(location, &mut watched) {
                    None => Outcome::Closed,
                    Some((now, Landing::Exact)) => exact(now),
                    Some((now, Landing::With { theirs })) => Outcome::Landed(now, theirs),
                    Some((now, Landing::Misplaced { repair })) => Outcome::Misplaced(now, repair),
                    Some((_, Landing::Partly { .. })) => {
                        // The others may be on their way.
                        self.watch_landing(location, fitted, &mut watched, &mut generation).await
                    }
                    Some((_, Landing::NotYet { .. } | Landing::Conflict)) => match denial {
                        Denial::Silence => Outcome::Unanswered,
                        Denial::Said(_) | Denial::Cancelled => {
                            Outcome::NotIn(Some(denial.reason().to_owned()))
                        }
                    },
                }
            }
        }
    }

    /// Ends a while after the edit is in the document: an editor that made it need not say so.
    async fn landed_unanswered(&self, location: &Location, watched: &mut Watched) {
        let mut generation = self.vfs.watch(location);
        loop {
            generation.borrow_and_update();
            if let Some((_, Landing::Exact | Landing::With { .. })) = self.judge(location, watched)
            {
                return tokio::time::sleep(BELATED_ANSWER).await;
            }
            if generation.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// One `workspace/applyEdit` with one change.
    pub(super) async fn apply_edit(
        &self,
        label: &str,
        change: Value,
        cancelled: &CancellationToken,
    ) -> Result<(), Denial> {
        let params = json!({"label": label, "edit": {"documentChanges": [change]}});
        let request = self.outbox.request("workspace/applyEdit", params);
        let answer = tokio::select! {
            answer = timeout(ANSWER, request) => answer,
            () = cancelled.cancelled() => return Err(Denial::Cancelled),
        };
        match answer {
            Ok(Ok(answer)) if answer["applied"] == true => Ok(()),
            Ok(Ok(answer)) => {
                let reason = answer["failureReason"].as_str();
                let reason = reason.unwrap_or("the editor refused the edit without a reason");
                Err(Denial::Said(reason.to_owned()))
            }
            Ok(Err(error)) => Err(Denial::Said(error.message)),
            Err(_) => Err(Denial::Silence),
        }
    }

    async fn watch_landing(
        &self,
        location: &Location,
        fitted: &Fitted,
        watched: &mut Watched,
        generation: &mut tokio::sync::watch::Receiver<u64>,
    ) -> Outcome {
        let answered = Instant::now();
        let mut parts_left = usize::MAX;
        let mut last_part = Duration::ZERO;
        loop {
            generation.borrow_and_update();
            let (patience, otherwise) = match self.judge(location, watched) {
                None => return Outcome::Closed,
                Some((now, Landing::Exact)) => return exact(now),
                Some((now, Landing::With { theirs })) => return Outcome::Landed(now, theirs),
                Some((now, Landing::Misplaced { repair })) => {
                    return Outcome::Misplaced(now, repair);
                }
                Some((_, Landing::NotYet { theirs })) => {
                    let skipped = !theirs.is_identity() && fitted.version > 0;
                    let patience = if skipped { ECHO_WHEN_SKIPPED } else { ECHO };
                    (patience, Outcome::NotIn(None))
                }
                Some((now, Landing::Partly { left, rest })) => {
                    if left < parts_left {
                        (parts_left, last_part) = (left, answered.elapsed());
                    }
                    let patience = (last_part + NEXT_PART).min(ANSWER);
                    let partly = match rest {
                        Some(rest) => Outcome::Partly(now, rest),
                        None => Outcome::Unclear(now),
                    };
                    (patience, partly)
                }
                Some((now, Landing::Conflict)) => (ECHO_WHEN_CONFUSED, Outcome::Unclear(now)),
            };
            // Checked by itself: where the person types faster than this looks, a change is always
            // there before the time is asked for.
            let until = answered + patience;
            match timeout_at(until, generation.changed()).await {
                Ok(Ok(())) if Instant::now() < until => {}
                Ok(_) | Err(_) => return otherwise,
            }
        }
    }

    fn judge(&self, location: &Location, watched: &mut Watched) -> Option<(Snapshot, Landing)> {
        let now = self.vfs.open_snapshot(location)?;
        if let Source::Buffer { generation, .. } = now.source
            && let Some(mut steps) = self.vfs.steps_since(location, watched.seen)
        {
            steps.retain(|step| step.generation <= generation);
            for told in steps.chunk_by(|a, b| a.generation == b.generation) {
                watched.arrival.take(told.iter().map(|step| step.changes.clone()).collect());
            }
            watched.seen = generation;
        }
        let landing = watched.arrival.judge(&now.rope);
        Some((now, landing))
    }
}

/// `changes`, made for `base`, over what was changed since.
pub(super) fn rebased(
    vfs: &Vfs,
    base: &Snapshot,
    now: &Snapshot,
    changes: &ChangeSet,
) -> Result<ChangeSet, Overlap> {
    let meanwhile = match (base.source, now.source) {
        (Source::Buffer { generation: from, .. }, Source::Buffer { generation: to, .. }) => {
            // No changes at all, or the steps in between where they are still known.
            let steps = vfs.steps_since(&base.location, from);
            steps.map(|steps| {
                let until_now = steps.into_iter().filter(|step| step.generation <= to);
                let all = ChangeSet::compose_all(until_now.map(|step| step.changes).collect());
                all.unwrap_or_else(|| ChangeSet::identity(base.rope.len_bytes()))
            })
        }
        (Source::Disk, _) | (_, Source::Disk) => None,
    };
    let fits = |change: &ChangeSet| change.len_after() == now.rope.len_bytes();
    let meanwhile =
        meanwhile.filter(fits).unwrap_or_else(|| ChangeSet::between(&base.rope, &now.rope));
    changes.rebase(&meanwhile)
}

/// Whether the document's encoding has every character of the new text.
pub(super) fn check_encodable(now: &Snapshot, changes: &ChangeSet) -> Result<(), ApplyError> {
    let Encoding::Legacy(charset) = now.format.encoding else { return Ok(()) };
    let missing = |c: char| !c.is_ascii() && charset.encode(c.encode_utf8(&mut [0; 4])).2;
    for (edit, placed) in changes.placed() {
        if let Some((at, character)) = edit.text.char_indices().find(|(_, c)| missing(*c)) {
            let after = changes.apply(&now.rope);
            return Err(ApplyError::Unencodable {
                location: now.location.clone(),
                encoding: now.format.encoding.label(),
                character,
                line: after.byte_to_line(placed.start + at) + 1,
            });
        }
    }
    Ok(())
}

/// The error that shows what stands at the disputed place now.
pub(super) fn stale(now: &Snapshot, range: &Range<usize>) -> ApplyError {
    let rope = &now.rope;
    let line_of = |byte: usize| rope.byte_to_line(byte.min(rope.len_bytes()));
    let first = line_of(range.start).saturating_sub(STALE_CONTEXT);
    let end = (line_of(range.end) + STALE_CONTEXT + 1).min(rope.len_lines());
    let mut current = String::new();
    for line in rope.lines_at(first).take(end - first) {
        if current.len() + line.len_bytes() > STALE_BYTES {
            break;
        }
        current.extend(line.chunks());
    }
    ApplyError::Stale { location: now.location.clone(), first_line: first + 1, current }
}

fn touched(changes: &ChangeSet) -> Range<usize> {
    let mut edits = changes.edits().iter();
    let first = edits.next().map_or(0..0, |edit: &Edit| edit.range.clone());
    first.start..edits.next_back().map_or(first.end, |edit| edit.range.end)
}

fn exact(now: Snapshot) -> Outcome {
    let nothing = ChangeSet::identity(now.rope.len_bytes());
    Outcome::Landed(now, nothing)
}

fn landed(fitted: Fitted, now: Snapshot, theirs: Option<ChangeSet>) -> Landed {
    let after = fitted.ours.apply(&fitted.now.rope);
    let fits = |it: &ChangeSet| {
        it.len_before() == after.len_bytes()
            && it.len_after() == now.rope.len_bytes()
            && it.apply(&after) == now.rope
    };
    let since = theirs.filter(fits).unwrap_or_else(|| ChangeSet::between(&after, &now.rope));
    let inverse = fitted.ours.invert(&fitted.now.rope).rebase(&since).ok();
    Landed {
        before: fitted.now.rope,
        generation: fitted.generation,
        changes: fitted.ours,
        buffer: fitted.buffer,
        now,
        since,
        inverse,
    }
}

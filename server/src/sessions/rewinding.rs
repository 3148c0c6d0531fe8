//! Checkpoints, rewinds and forks of sessions.
//!
//! Invariant: files are taken back before the conversation, each recorded once it happened; no turn begins
//! meanwhile.

use agent::session::{Session, new_id};
use agent::timeline::{FileStep, Rewind};
use protocol::{
    Checkpoint, CheckpointListParams, CheckpointListResult, CheckpointRestoreParams, ForkParams,
    ForkResult, RestoreResult, ReviewUndoParams, ReviewUndoResult, RewindParams,
};

use super::Sessions;
use crate::apply::{LspEditor, Restored};
use crate::outbox::RpcError;

/// Files named to the agent; more are counted.
const NAMED: usize = 20;

/// How far something is carried out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Run {
    Dry,
    Real,
}

/// What is taken back.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Conversation,
    Files,
    Both,
}

impl Sessions {
    /// `copydesk/checkpoint/list`.
    pub async fn checkpoints(
        &self,
        editor: &LspEditor,
        params: CheckpointListParams,
    ) -> Result<CheckpointListResult, RpcError> {
        let session = self.session(&params.session_id)?;
        editor.recorded().await;
        let timeline = session.shared.recorder.timeline();
        let checkpoint = |(at, mark): (usize, &agent::timeline::Mark)| {
            let steps = timeline.since(at);
            Checkpoint {
                id: mark.checkpoint.id.clone(),
                label: mark.checkpoint.label.clone(),
                time: mark.checkpoint.time,
                files: editor.uris_of(steps.iter().map(|(_, step)| &step.file)),
            }
        };
        let checkpoints = timeline.marks.iter().enumerate().map(checkpoint).collect();
        Ok(CheckpointListResult { checkpoints })
    }

    /// `copydesk/checkpoint/restore`.
    pub async fn restore_checkpoint(
        &self,
        editor: &LspEditor,
        params: CheckpointRestoreParams,
    ) -> Result<RestoreResult, RpcError> {
        let run = if params.dry_run { Run::Dry } else { Run::Real };
        let id = params.checkpoint_id;
        let open: Vec<Session> = self.lock().open.values().cloned().collect();
        let session = open.into_iter().find(|it| it.shared.recorder.timeline().find(&id).is_some());
        let session = session.ok_or_else(|| unknown_prompt(&id))?;
        let restored = self.take_back(editor, session, id, Scope::Files, run).await;
        self.follow_names(editor);
        restored
    }

    /// `copydesk/session/rewind`.
    pub async fn rewind(
        &self,
        editor: &LspEditor,
        params: RewindParams,
    ) -> Result<RestoreResult, RpcError> {
        let scope = match params.scope.as_str() {
            "conversation" => Scope::Conversation,
            "files" => Scope::Files,
            "both" => Scope::Both,
            other => {
                return Err(RpcError::invalid_params(format!(
                    "scope: there is no `{other}`; use conversation, files or both"
                )));
            }
        };
        let run = if params.dry_run { Run::Dry } else { Run::Real };
        let session = self.session(&params.session_id)?;
        let rewound = self.take_back(editor, session, params.message_id, scope, run).await;
        self.follow_names(editor);
        rewound
    }

    /// `copydesk/session/fork`.
    pub fn fork(&self, params: ForkParams) -> Result<ForkResult, RpcError> {
        let session = self.session(&params.session_id)?;
        let shared = &session.shared;
        let records = shared.forked(params.message_id.as_deref());
        let records = records.ok_or_else(|| {
            let id = params.message_id.unwrap_or_default();
            RpcError::failed(
                "not-found",
                format!(
                    "there is no message {id} to fork at: use the messageId of a prompt that was \
                     answered or of an answer of the agent's"
                ),
            )
        })?;
        let place = shared.place();
        let mut roots = place.roots.paths().map(std::path::Path::to_owned);
        let cwd = roots.next().unwrap_or(place.cwd);
        let id = new_id("session");
        let options = agent::conversation::Options {
            mode: shared.mode(),
            model: shared.model(),
            thinking: shared.thinking(),
        };
        let fork = self.begin_with(id.clone(), (cwd, roots.collect()), records, options);
        fork.shared.transcript.sync();
        self.lock().open.insert(id.clone(), fork);
        Ok(ForkResult { session_id: id })
    }

    /// `copydesk/review/undo` of a restore or a rewind; absent where the token is of neither.
    pub async fn undo_rewind(
        &self,
        editor: &LspEditor,
        params: &ReviewUndoParams,
    ) -> Option<Result<ReviewUndoResult, RpcError>> {
        let (session, number) = params.undo_token.rsplit_once('/')?;
        let number: u64 = number.parse().ok()?;
        let undone = self.undo_rewind_of(editor, session, number).await;
        self.follow_names(editor);
        Some(undone)
    }

    async fn undo_rewind_of(
        &self,
        editor: &LspEditor,
        session: &str,
        number: u64,
    ) -> Result<ReviewUndoResult, RpcError> {
        if let Ok(open) = self.session(session) {
            return Self::undo_rewind_in(editor, open, number).await;
        }
        // One that is closed, as all are after a restart, is opened for as long as this takes.
        let lent = self.reopen(session, None)?.session;
        let undone = Self::undo_rewind_in(editor, lent.clone(), number).await;
        lent.shared.transcript.release();
        lent.close().await;
        undone
    }

    async fn undo_rewind_in(
        editor: &LspEditor,
        session: Session,
        number: u64,
    ) -> Result<ReviewUndoResult, RpcError> {
        let still = session.shared.hold_still().ok_or_else(busy)?;
        let undoable = session.shared.recorder.timeline().undoable(number).cloned();
        let undoable = undoable.ok_or_else(|| {
            RpcError::failed("not-found", "it was undone already, or is too long ago".to_owned())
        })?;
        session.shared.check_unrewind(number).map_err(|err| {
            RpcError::failed("stale", format!("{err}; it cannot be brought back any more"))
        })?;
        let (editor, id) = (editor.clone(), session.shared.id.clone());
        // On a task of its own: whoever drops the request must not leave half of it behind.
        let undone = tokio::spawn(async move {
            let Restored { files, conflicts, rev, .. } =
                editor.unrestore(&id, number, &undoable.rewind.files).await;
            session.shared.unrewound(number, &still);
            note(&session, "The person undid a restore of files", &files);
            (conflicts, rev)
        });
        let (conflicts, rev) = undone.await.map_err(failed)?;
        match conflicts.first() {
            None => Ok(ReviewUndoResult { rev }),
            Some(first) => {
                Err(RpcError::failed("stale", format!("{}: {}", first.uri, first.reason)))
            }
        }
    }

    async fn take_back(
        &self,
        editor: &LspEditor,
        session: Session,
        id: String,
        scope: Scope,
        run: Run,
    ) -> Result<RestoreResult, RpcError> {
        let known = |session: &Session| session.shared.recorder.timeline().find(&id);
        known(&session).ok_or_else(|| unknown_prompt(&id))?;
        let still = session.shared.hold_still().ok_or_else(busy)?;
        editor.recorded().await;
        let (steps, label) = {
            let timeline = session.shared.recorder.timeline();
            let at = timeline.find(&id).ok_or_else(|| unknown_prompt(&id))?;
            let label = timeline.marks.get(at).map(|it| it.checkpoint.label.clone());
            (timeline.since(at), label.unwrap_or_default())
        };
        let editor = editor.clone();
        let task = async move {
            let numbered = if scope == Scope::Conversation { Vec::new() } else { steps.clone() };
            if run == Run::Dry {
                let Restored { files, conflicts, .. } =
                    editor.would_restore(&session.shared.id, &numbered).await;
                return RestoreResult { files, conflicts, undo_token: None };
            }
            let shared = &session.shared;
            let number = shared.recorder.timeline().next_number();
            let Restored { files, conflicts, taken, steps: made, .. } =
                editor.restore(&shared.id, number, &numbered).await;
            let conversation = (scope != Scope::Files).then_some(id);
            shared.rewound(Rewind { number, conversation, taken, files: made }, &still);
            if scope == Scope::Conversation {
                let changed =
                    editor.uris_of(steps.iter().map(|(_, step): &(usize, FileStep)| &step.file));
                let what = "The conversation was taken back to here; files that were changed after this \
                            point keep their changes";
                note(&session, what, &changed);
            } else {
                let what = format!(
                    "The person restored files to how they were before the prompt {label:?}"
                );
                note(&session, &what, &files);
            }
            let undo_token = Some(format!("{}/{number}", session.shared.id));
            RestoreResult { files, conflicts, undo_token }
        };
        tokio::spawn(task).await.map_err(failed)
    }
}

/// Tells the agent with its next request which files are not as it left them.
fn note(session: &Session, what: &str, uris: &[String]) {
    if uris.is_empty() {
        return;
    }
    let place = session.shared.place();
    let name = |uri: &String| match crate::lsp::location(uri) {
        vfs::Location::Disk(path) => place.roots.display(&path),
        vfs::Location::Virtual(name) => name,
    };
    let mut names: Vec<String> = uris.iter().take(NAMED).map(name).collect();
    if NAMED < uris.len() {
        names.push(format!("and {} more", uris.len() - NAMED));
    }
    session
        .shared
        .note(format!("{what}: {}. Read them again before you edit them.", names.join(", ")));
}

fn busy() -> RpcError {
    RpcError::failed(
        "busy",
        "a turn or a call of this session is running; stop it or wait for its end".to_owned(),
    )
}

fn unknown_prompt(id: &str) -> RpcError {
    RpcError::failed(
        "not-found",
        format!(
            "there is no checkpoint {id} in an open session: use an id of copydesk/checkpoint/list, the \
             messageId of a prompt that the model was given"
        ),
    )
}

fn failed(error: tokio::task::JoinError) -> RpcError {
    RpcError::failed("invalid", error.to_string())
}

//! What a session has shown: updates leave in order, numbered, and are kept for replay and the log.
//!
//! Invariant: `seq` counts up by one per session. The first delta after a quiet gap leaves at once;
//! later ones are merged for at most 33 ms, and anything else that leaves flushes them first.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use protocol::acp::{
    ContentBlock, ContentChunk, Meta, SessionId, SessionUpdate, TerminalExitStatus, TerminalId,
    TerminalOutputChunk, TerminalUpdate, ToolCallContent, ToolCallId, ToolCallStatus,
    ToolCallUpdate, UpdateSessionNotification,
};
use serde_json::json;

use crate::bounds;
use crate::editor::Editor;
use crate::store::{Log, Record};

/// The longest a delta is held back.
const MERGE: Duration = Duration::from_millis(33);
/// The most text one notification carries, in bytes of JSON; a notification stays below 64 KB on the
/// wire.
const CHUNK: usize = 32 * 1024;
/// Terminal bytes kept for replay, per terminal; base64 makes four bytes of three.
const REPLAY_TERMINAL: usize = 40 * 1024;

/// The outgoing side of one session.
#[derive(Clone)]
pub struct Transcript(Arc<Shared>);

struct Shared {
    session: SessionId,
    editor: Arc<dyn Editor>,
    state: Mutex<State>,
}

struct State {
    seq: u64,
    pending: Option<Delta>,
    flush_armed: bool,
    last_delta: Option<Instant>,
    history: History,
    log: Log,
}

/// Text that is being merged.
struct Delta {
    kind: DeltaKind,
    message: String,
    text: String,
}

/// Whose text a delta is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum DeltaKind {
    /// The answer.
    Message,
    /// Reasoning.
    Thought,
}

impl Transcript {
    /// A transcript that goes on after `history`.
    pub fn new(
        session: SessionId,
        editor: Arc<dyn Editor>,
        log: Log,
        history: History,
    ) -> Transcript {
        Transcript(Arc::new(Shared {
            session,
            editor,
            state: Mutex::new(State {
                seq: 0,
                pending: None,
                flush_armed: false,
                last_delta: None,
                history,
                log,
            }),
        }))
    }

    /// Sends one update after everything before it.
    pub fn send(&self, update: impl Into<SessionUpdate>) {
        let mut state = self.lock();
        self.flush_locked(&mut state);
        self.emit(&mut state, update.into());
    }

    /// Adds text to a message.
    pub fn delta(&self, kind: DeltaKind, message: &str, text: &str) {
        if text.is_empty() {
            return;
        }
        let mut state = self.lock();
        if state.pending.as_ref().is_some_and(|it| it.kind != kind || it.message != message) {
            self.flush_locked(&mut state);
        }
        match &mut state.pending {
            Some(delta) => delta.text.push_str(text),
            None => {
                let delta = Delta { kind, message: message.to_string(), text: text.to_string() };
                state.pending = Some(delta);
            }
        }
        let full = state.pending.as_ref().is_some_and(|it| CHUNK <= it.text.len());
        match held_until(state.last_delta, Instant::now()) {
            Some(due) if !full => {
                if !state.flush_armed {
                    state.flush_armed = true;
                    self.flush_at(due);
                }
            }
            Some(_) | None => self.flush_locked(&mut state),
        }
    }

    /// Sends what is being merged.
    pub fn flush(&self) {
        let mut state = self.lock();
        self.flush_locked(&mut state);
    }

    /// Adds a record that no update shows, such as a message of the model's own history.
    pub fn record(&self, record: &Record) {
        let mut state = self.lock();
        self.flush_locked(&mut state);
        state.log.append(record);
    }

    /// As [`Transcript::record`]; gives how many updates of the folded transcript stand before it.
    pub fn record_here(&self, record: &Record) -> usize {
        let mut state = self.lock();
        self.flush_locked(&mut state);
        state.log.append(record);
        state.history.updates.len()
    }

    /// Whether this message of the person's is part of the transcript.
    pub fn has_prompt(&self, id: &str) -> bool {
        self.lock().history.updates.iter().rev().any(|it| is_prompt(it, id))
    }

    /// Changes what was shown and records why, then sends what `change` says the client is to know.
    pub fn rewrite<T>(
        &self,
        record: &Record,
        change: impl FnOnce(&mut History) -> (T, Vec<SessionUpdate>),
    ) -> T {
        let mut state = self.lock();
        self.flush_locked(&mut state);
        state.log.append(record);
        state.log.sync();
        let (result, updates) = change(&mut state.history);
        for update in updates {
            self.deliver(&mut state, update);
        }
        result
    }

    /// Lets go of the log: what comes after is shown and not kept.
    pub fn release(&self) {
        let mut state = self.lock();
        self.flush_locked(&mut state);
        state.log.sync();
        state.log = Log::none();
    }

    /// Makes everything recorded so far durable.
    pub fn sync(&self) {
        self.lock().log.sync();
    }

    /// Sends the whole history again, in order, without recording it anew.
    pub fn replay(&self) {
        let mut state = self.lock();
        self.flush_locked(&mut state);
        let updates = state.history.updates.clone();
        for update in updates {
            self.deliver(&mut state, update);
        }
    }

    /// Sends updates that are in the history already.
    pub fn show_again(&self, updates: Vec<SessionUpdate>) {
        let mut state = self.lock();
        self.flush_locked(&mut state);
        for update in updates {
            self.deliver(&mut state, update);
        }
    }

    /// The history, for export.
    pub fn history(&self) -> Vec<SessionUpdate> {
        self.lock().history.updates.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn flush_at(&self, due: Instant) {
        let transcript = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep_until(due.into()).await;
            let mut state = transcript.lock();
            state.flush_armed = false;
            transcript.flush_locked(&mut state);
        });
    }

    fn flush_locked(&self, state: &mut State) {
        let Some(delta) = state.pending.take() else { return };
        for piece in pieces(&delta.text) {
            let chunk = ContentChunk::new(ContentBlock::from(piece), delta.message.clone());
            let update = match delta.kind {
                DeltaKind::Message => SessionUpdate::AgentMessageChunk(chunk),
                DeltaKind::Thought => SessionUpdate::AgentThoughtChunk(chunk),
            };
            self.emit(state, update);
        }
        state.last_delta = Some(Instant::now());
    }

    fn emit(&self, state: &mut State, update: SessionUpdate) {
        if is_history(&update) {
            state.log.append(&Record::Update { update: update.clone() });
            state.history.add(&update);
        }
        self.deliver(state, update);
    }

    fn deliver(&self, state: &mut State, update: SessionUpdate) {
        state.seq += 1;
        let mut meta = Meta::new();
        meta.insert("copydesk".into(), json!({ "seq": state.seq }));
        let note = UpdateSessionNotification::new(self.0.session.clone(), update).meta(meta);
        self.0.editor.update(note);
    }
}

/// Until when a delta is held back, at most [`MERGE`] after the one before; absent: it leaves at once.
fn held_until(last: Option<Instant>, now: Instant) -> Option<Instant> {
    last.map(|it| it + MERGE).filter(|due| now < *due)
}

/// The updates of a session, folded so that a replay shows each thing once and whole.
#[derive(Clone, Default)]
pub struct History {
    updates: Vec<SessionUpdate>,
    cards: HashMap<ToolCallId, usize>,
    terminals: HashMap<TerminalId, usize>,
}

impl History {
    /// Folds one more update in.
    pub fn add(&mut self, update: &SessionUpdate) {
        if self.merge_card(update) || self.merge_text(update) || self.merge_terminal(update) {
            return;
        }
        let idx = self.updates.len();
        match update {
            SessionUpdate::ToolCallUpdate(card) => {
                self.cards.insert(card.tool_call_id.clone(), idx);
            }
            SessionUpdate::TerminalOutputChunk(chunk) => {
                self.terminals.insert(chunk.terminal_id.clone(), idx);
            }
            _ => {}
        }
        self.updates.push(update.clone());
    }

    /// The folded updates.
    pub fn updates(&self) -> &[SessionUpdate] {
        &self.updates
    }

    /// Ends the transcript after `len` updates and takes these prompts out of the rest; gives it as it
    /// was.
    pub fn cut(&mut self, len: usize, prompts: &[&str]) -> Vec<SessionUpdate> {
        let before = std::mem::take(self).updates;
        let gone = |it: &SessionUpdate| prompts.iter().any(|id| is_prompt(it, id));
        before.iter().take(len).filter(|it| !gone(it)).for_each(|it| self.add(it));
        before
    }

    /// What ends all that had not ended when the process went: calls are cancelled, nobody knows how
    /// programs ended, and none waits for a password.
    pub fn endings(&self) -> Vec<SessionUpdate> {
        let cancelled = |card| ToolCallUpdate::new(card).status(ToolCallStatus::Cancelled);
        let calls = self.open_cards().into_iter().map(cancelled);
        let answered = self.asking_cards().into_iter().map(|card| {
            let mut meta = Meta::new();
            meta.insert("copydesk".into(), json!({}));
            ToolCallUpdate::new(card).meta(meta)
        });
        let terminals = self.open_terminals().into_iter().map(|terminal| {
            let ended = TerminalUpdate::new(terminal).exit_status(TerminalExitStatus::new());
            SessionUpdate::TerminalUpdate(ended)
        });
        calls.chain(answered).map(SessionUpdate::ToolCallUpdate).chain(terminals).collect()
    }

    /// Programs that had not ended when the process went although their calls had, with their commands.
    pub fn lost_programs(&self) -> Vec<(TerminalId, String)> {
        let open = self.open_cards();
        let mut lost = self.open_terminals();
        for card in self.all_cards().filter(|it| open.contains(&it.tool_call_id)) {
            for content in card.content.value().into_iter().flatten() {
                if let ToolCallContent::Terminal(of) = content {
                    lost.retain(|it| *it != of.terminal_id);
                }
            }
        }
        let command = |id: &TerminalId| {
            self.updates.iter().find_map(|it| match it {
                SessionUpdate::TerminalUpdate(terminal) if terminal.terminal_id == *id => {
                    terminal.command.value().cloned()
                }
                _ => None,
            })
        };
        lost.into_iter()
            .map(|id| (command(&id), id))
            .map(|(it, id)| (id, it.unwrap_or_default()))
            .collect()
    }

    fn asking_cards(&self) -> Vec<ToolCallId> {
        let asks = |card: &&ToolCallUpdate| {
            let extra = card.meta.value().and_then(|it| it.get("copydesk"));
            extra.is_some_and(|it| it.get("secretInput").is_some())
        };
        self.all_cards().filter(asks).map(|it| it.tool_call_id.clone()).collect()
    }

    fn open_terminals(&self) -> Vec<TerminalId> {
        let terminals = || {
            self.updates.iter().filter_map(|it| match it {
                SessionUpdate::TerminalUpdate(terminal) => Some(terminal),
                _ => None,
            })
        };
        let mut known: HashSet<&TerminalId> = terminals()
            .filter(|it| it.exit_status.value().is_some())
            .map(|it| &it.terminal_id)
            .collect();
        terminals().map(|it| &it.terminal_id).filter(|it| known.insert(it)).cloned().collect()
    }

    fn all_cards(&self) -> impl Iterator<Item = &ToolCallUpdate> {
        self.updates.iter().filter_map(|it| match it {
            SessionUpdate::ToolCallUpdate(card) => Some(card),
            _ => None,
        })
    }

    fn open_cards(&self) -> Vec<ToolCallId> {
        let unfinished = |it: &&ToolCallUpdate| {
            let status = it.status.value();
            status.is_none_or(|it| {
                matches!(
                    it,
                    ToolCallStatus::Pending | ToolCallStatus::InProgress | ToolCallStatus::Paused
                )
            })
        };
        self.all_cards().filter(unfinished).map(|it| it.tool_call_id.clone()).collect()
    }

    fn merge_card(&mut self, update: &SessionUpdate) -> bool {
        let SessionUpdate::ToolCallUpdate(new) = update else { return false };
        let Some(&idx) = self.cards.get(&new.tool_call_id) else { return false };
        let Some(SessionUpdate::ToolCallUpdate(old)) = self.updates.get_mut(idx) else {
            return false;
        };
        old.apply_update(new.clone());
        true
    }

    fn merge_text(&mut self, update: &SessionUpdate) -> bool {
        let (new, last) = match (update, self.updates.last_mut()) {
            (
                SessionUpdate::AgentMessageChunk(new),
                Some(SessionUpdate::AgentMessageChunk(last)),
            ) => (new, last),
            (
                SessionUpdate::AgentThoughtChunk(new),
                Some(SessionUpdate::AgentThoughtChunk(last)),
            ) => (new, last),
            _ => return false,
        };
        match (&new.content, &mut last.content) {
            (ContentBlock::Text(new_text), ContentBlock::Text(text))
                if new.message_id == last.message_id
                    && bounds::json_len(&text.text) + bounds::json_len(&new_text.text) <= CHUNK =>
            {
                text.text.push_str(&new_text.text);
                true
            }
            _ => false,
        }
    }

    fn merge_terminal(&mut self, update: &SessionUpdate) -> bool {
        let SessionUpdate::TerminalOutputChunk(new) = update else { return false };
        let Some(&idx) = self.terminals.get(&new.terminal_id) else { return false };
        let Some(SessionUpdate::TerminalOutputChunk(old)) = self.updates.get_mut(idx) else {
            return false;
        };
        *old = TerminalOutputChunk::new(new.terminal_id.clone(), joined(&old.data, &new.data));
        true
    }
}

/// Whether this shows that prompt of the person's.
pub(crate) fn is_prompt(update: &SessionUpdate, id: &str) -> bool {
    matches!(update, SessionUpdate::UserMessage(it) if it.message_id.to_string() == id)
}

/// Two base64 pieces as one, the older part dropped past the limit.
fn joined(old: &str, new: &str) -> String {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let mut bytes = STANDARD.decode(old).unwrap_or_default();
    bytes.extend(STANDARD.decode(new).unwrap_or_default());
    let cut = bytes.len().saturating_sub(REPLAY_TERMINAL);
    STANDARD.encode(&bytes[cut..])
}

/// Text in pieces that fit a notification.
fn pieces(text: &str) -> Vec<String> {
    let mut rest = text;
    let mut pieces = Vec::new();
    loop {
        let cut = bounds::json_cut(rest, CHUNK);
        pieces.push(rest[..cut].to_string());
        rest = &rest[cut..];
        if rest.is_empty() {
            return pieces;
        }
    }
}

/// Whether an update is part of what a resumed session shows. States, usage and notices speak of
/// the moment.
fn is_history(update: &SessionUpdate) -> bool {
    !matches!(
        update,
        SessionUpdate::StateUpdate(_)
            | SessionUpdate::Notice(_)
            | SessionUpdate::ConfigOptionUpdate(_)
            | SessionUpdate::UsageUpdate(_)
    )
}

#[cfg(test)]
mod tests;

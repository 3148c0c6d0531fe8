//! Taking a conversation back to a prompt, and that back again.
//!
//! Invariant: it happens between turns only, in the log and in memory alike, and the client is told what to
//! drop.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use llm::{Message, Part, Role};
use protocol::acp::{Meta, SessionInfoUpdate, SessionUpdate};
use serde_json::json;

use super::{Passage, Prompt, Shared, new_id};
use crate::conversation::{cut_off, is_untouched, put_back};
use crate::store::Record;
use crate::timeline::{Checkpoint, Mark, Rewind};
use crate::transcript::is_prompt;
use crate::turn;

/// A session in which no turn begins; dropped, it goes on.
pub struct Still(Arc<Shared>);

/// The conversation has gone on since it was taken back.
#[derive(Debug, thiserror::Error)]
#[error("the conversation has gone on since")]
pub struct Stale;

impl Drop for Still {
    fn drop(&mut self) {
        self.0.lock().mail.held = false;
        self.0.wake.notify_one();
    }
}

impl Shared {
    /// Keeps turns from beginning; absent while one runs or is about to, or a call runs.
    pub fn hold_still(self: &Arc<Shared>) -> Option<Still> {
        let mut control = self.lock();
        let idle = control.turn.is_none() && control.mail.prompts.is_empty() && !control.mail.held;
        if !idle || !self.calls.is_empty() {
            return None;
        }
        control.mail.held = true;
        drop(control);
        Some(Still(self.clone()))
    }

    /// A prompt is given to the model now: the state before it is a checkpoint. Prompts that were
    /// never shown are none of the person's.
    pub fn delivered(&self, prompt: &Prompt) {
        for Passage { location, text } in &prompt.passages {
            if let Ok(now) = self.world.vfs.snapshot(location) {
                self.seen.show_passage(location, &now.rope, text);
            }
        }
        if !self.transcript.has_prompt(&prompt.id) {
            return;
        }
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let checkpoint = Checkpoint {
            id: prompt.id.clone(),
            label: turn::title_of(prompt),
            time: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        };
        let messages = self.lock().history.len();
        let mut timeline = self.recorder.timeline();
        let record = Record::Delivered { checkpoint: checkpoint.clone() };
        let updates = self.transcript.record_here(&record);
        timeline.mark(checkpoint, messages, updates);
    }

    /// Something was taken back; the conversation too where `rewind` says so.
    pub fn rewound(&self, rewind: Rewind, _still: &Still) {
        let mut timeline = self.recorder.timeline();
        let cut = rewind.conversation.as_deref().and_then(|id| timeline.find(id));
        let record = Record::Rewound { rewind: rewind.clone() };
        let Some(at) = cut else {
            self.transcript.rewrite(&record, |_| ((), Vec::new()));
            timeline.rewound(rewind, None);
            return;
        };
        let mut control = self.lock();
        let removed = self.transcript.rewrite(&record, |history| {
            let removed = cut_off(at, &mut control.history, history, &mut timeline);
            let mut told = vec![rewound_to(rewind.conversation.as_deref().unwrap_or_default())];
            told.extend(removed.kept_after());
            (removed, told)
        });
        drop(control);
        // What it read since is no part of what it knows.
        self.seen.clear();
        timeline.rewound(rewind, Some(removed));
    }

    /// Whether a rewind of the conversation can be undone.
    ///
    /// # Errors
    /// The conversation has gone on.
    pub fn check_unrewind(&self, number: u64) -> Result<(), Stale> {
        let timeline = self.recorder.timeline();
        let removed = timeline.undoable(number).and_then(|it| it.removed.as_ref());
        match removed {
            Some(removed) if !is_untouched(removed, &self.lock().history) => Err(Stale),
            Some(_) | None => Ok(()),
        }
    }

    /// A rewind was undone; the conversation comes back where it had been taken back.
    pub fn unrewound(&self, number: u64, _still: &Still) {
        let mut timeline = self.recorder.timeline();
        let removed = timeline.unrewound(number);
        let mut control = self.lock();
        let record = Record::Unrewound { number };
        self.transcript.rewrite(&record, |history| match removed {
            None => ((), Vec::new()),
            Some(removed) => {
                let lost = removed.lost();
                put_back(removed, (&mut control.history, history, &mut timeline));
                ((), lost)
            }
        });
    }
}

impl Shared {
    /// The records of a conversation like this one up to just before a prompt, up to and with a
    /// message of the agent's, or whole. Prompts get ids of their own. Absent where there is no such
    /// message.
    pub fn forked(&self, message: Option<&str>) -> Option<Vec<Record>> {
        self.transcript.flush();
        let timeline = self.recorder.timeline();
        let messages = self.history();
        let updates = self.transcript.history();
        let mut fork = Fork { marks: &timeline.marks, messages, updates };
        match message {
            None => {}
            Some(id) => match timeline.find(id) {
                Some(at) => fork.before_prompt(at)?,
                None => fork.with_answer(id)?,
            },
        }
        Some(fork.records(Record::Options {
            mode: self.mode(),
            model: self.model(),
            thinking: self.thinking(),
        }))
    }
}

/// What a fork takes over.
struct Fork<'a> {
    marks: &'a [Mark],
    messages: Vec<Message>,
    updates: Vec<SessionUpdate>,
}

impl Fork<'_> {
    fn before_prompt(&mut self, nth: usize) -> Option<()> {
        let mark = self.marks.get(nth)?;
        let gone = self.marks.get(nth..).unwrap_or_default();
        self.marks = self.marks.get(..nth)?;
        self.messages.truncate(mark.messages);
        self.updates.truncate(mark.updates);
        self.updates.retain(|it| !gone.iter().any(|mark| is_prompt(it, &mark.checkpoint.id)));
        Some(())
    }

    /// Ends with what the agent said; what it called then is left out.
    fn with_answer(&mut self, id: &str) -> Option<()> {
        let said = |it: &SessionUpdate| match it {
            SessionUpdate::AgentMessageChunk(chunk) => Some(chunk.message_id.to_string()),
            _ => None,
        };
        let mut seen: Vec<String> = Vec::new();
        for it in self.updates.iter().filter_map(said) {
            if seen.last() != Some(&it) {
                seen.push(it);
            }
        }
        // Each answer with words is one message of the model's, in the same order.
        let nth = seen.iter().position(|it| it == id)?;
        let spoken = |it: &Message| {
            let words = |part: &Part| matches!(part, Part::Text { text } if !text.is_empty());
            it.role == Role::Assistant && it.parts.iter().any(words)
        };
        let answers = self.messages.iter().enumerate().filter(|(_, it)| spoken(it));
        let at = answers.map(|(at, _)| at).nth(nth)?;
        let last = self.updates.iter().rposition(|it| said(it).as_deref() == Some(id))?;
        self.messages.truncate(at + 1);
        if let Some(answer) = self.messages.last_mut() {
            answer.parts.retain(|it| !matches!(it, Part::ToolCall { .. }));
        }
        self.updates.truncate(last + 1);
        let marks = self.marks.iter().take_while(|it| it.messages <= at).count();
        let gone = self.marks.get(marks..).unwrap_or_default();
        self.updates.retain(|it| !gone.iter().any(|mark| is_prompt(it, &mark.checkpoint.id)));
        self.marks = self.marks.get(..marks)?;
        Some(())
    }

    fn records(self, options: Record) -> Vec<Record> {
        let ids: HashMap<&str, String> =
            self.marks.iter().map(|it| (it.checkpoint.id.as_str(), new_id("message"))).collect();
        let mut records = vec![options];
        let title = self.updates.iter().rev().find_map(|it| match it {
            SessionUpdate::SessionInfoUpdate(info) => info.title.value().cloned(),
            _ => None,
        });
        records.extend(title.map(|title| Record::Title { title }));
        let mut messages = self.messages.into_iter();
        let mut updates = self.updates.into_iter().map(|mut update| {
            if let SessionUpdate::UserMessage(prompt) = &mut update
                && let Some(id) = ids.get(prompt.message_id.to_string().as_str())
            {
                prompt.message_id = id.clone().into();
            }
            Record::Update { update }
        });
        let (mut shown, mut said) = (0, 0);
        for mark in self.marks {
            records.extend(updates.by_ref().take(mark.updates.saturating_sub(shown)));
            let own = messages.by_ref().take(mark.messages.saturating_sub(said));
            records.extend(own.map(|message| Record::Message { message }));
            (shown, said) = (mark.updates, mark.messages);
            let id = ids.get(mark.checkpoint.id.as_str()).cloned().unwrap_or_default();
            let checkpoint = Checkpoint { id, ..mark.checkpoint.clone() };
            records.push(Record::Delivered { checkpoint });
        }
        records.extend(updates);
        records.extend(messages.map(|message| Record::Message { message }));
        records
    }
}

/// Tells the client to drop a prompt and everything after it.
fn rewound_to(prompt: &str) -> SessionUpdate {
    let mut meta = Meta::new();
    meta.insert("copydesk".into(), json!({ "rewound": prompt }));
    SessionUpdate::SessionInfoUpdate(SessionInfoUpdate::new().meta(meta))
}

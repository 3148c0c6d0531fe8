//! A conversation as its log tells it: the model's history, the transcript, and the way back.
//!
//! Invariant: what is done to a running conversation and what its log says when it is read again come to
//! the same. Nothing in the log is rewritten: a shorter conversation is one more record.

use llm::{Message, Part, Role};

use crate::settings::{Mode, Thinking};
use crate::store::{self, Record};
use crate::timeline::{Removed, Timeline};
use crate::transcript::History;

/// A conversation read from its log.
#[derive(Default)]
pub struct Conversation {
    /// The model's history.
    pub messages: Vec<Message>,
    /// What was shown.
    pub history: History,
    /// Prompts, files, rewinds.
    pub timeline: Timeline,
    /// The options set last.
    pub options: Option<Options>,
    /// The title given last.
    pub title: Option<String>,
}

/// A session's options.
#[derive(Clone)]
pub struct Options {
    /// The mode.
    pub mode: Mode,
    /// The model.
    pub model: Option<String>,
    /// How much it thinks.
    pub thinking: Option<Thinking>,
}

impl Conversation {
    /// What these records come to.
    pub fn of(records: Vec<Record>) -> Conversation {
        let mut conversation = Conversation::default();
        for record in records {
            conversation.add(record);
        }
        conversation.messages = store::repaired(conversation.messages);
        conversation
    }

    fn add(&mut self, record: Record) {
        match record {
            Record::Update { update } => self.history.add(&update),
            Record::Message { message } => {
                // A call that was cut off has its result before anything else is said.
                if !is_answer(&message) {
                    self.close_calls();
                }
                self.messages.push(message);
            }
            Record::Options { mode, model, thinking } => {
                self.options = Some(Options { mode, model, thinking });
            }
            Record::Title { title } => self.title = Some(title),
            Record::Delivered { checkpoint } => {
                self.close_calls();
                let updates = self.history.updates().len();
                self.timeline.mark(checkpoint, self.messages.len(), updates);
            }
            Record::Steps { steps } => self.timeline.add(steps),
            Record::Rewound { rewind } => {
                let cut = rewind.conversation.as_deref().and_then(|id| self.timeline.find(id));
                let removed = cut.map(|at| {
                    cut_off(at, &mut self.messages, &mut self.history, &mut self.timeline)
                });
                self.timeline.rewound(rewind, removed);
            }
            Record::Unrewound { number } => {
                if let Some(removed) = self.timeline.unrewound(number) {
                    let parts = (&mut self.messages, &mut self.history, &mut self.timeline);
                    put_back(removed, parts);
                }
            }
            Record::Session(_) => {}
        }
    }

    fn close_calls(&mut self) {
        let open = self.messages.last().is_some_and(|last| {
            last.role == Role::Assistant
                && last.parts.iter().any(|it| matches!(it, Part::ToolCall { .. }))
        });
        if open {
            self.messages = store::repaired(std::mem::take(&mut self.messages));
        }
    }
}

/// Ends a conversation just before the prompt of the nth mark.
pub fn cut_off(
    nth: usize,
    messages: &mut Vec<Message>,
    history: &mut History,
    timeline: &mut Timeline,
) -> Removed {
    let marks = timeline.marks.split_off(nth.min(timeline.marks.len()));
    let (at, updates) = match marks.first() {
        Some(mark) => (mark.messages.min(messages.len()), mark.updates),
        None => (messages.len(), history.updates().len()),
    };
    let gone: Vec<&str> = marks.iter().map(|it| it.checkpoint.id.as_str()).collect();
    let updates = history.cut(updates, &gone);
    let removed = messages.split_off(at);
    let left = (messages.len(), history.updates().len());
    Removed { messages: removed, updates, marks, left }
}

/// Whether nothing was said since a conversation was taken back.
pub fn is_untouched(removed: &Removed, messages: &[Message]) -> bool {
    messages.len() == removed.left.0
}

/// Brings back what a conversation lost; what was shown since stays, after it.
pub fn put_back(
    removed: Removed,
    (messages, history, timeline): (&mut Vec<Message>, &mut History, &mut Timeline),
) {
    messages.truncate(removed.left.0);
    messages.extend(removed.messages);
    let since = history.updates().iter().skip(removed.left.1).cloned().collect::<Vec<_>>();
    *history = History::default();
    removed.updates.iter().chain(&since).for_each(|it| history.add(it));
    timeline.marks.extend(removed.marks);
}

fn is_answer(message: &Message) -> bool {
    message.parts.iter().any(|it| matches!(it, Part::ToolResult { .. }))
}

#[cfg(test)]
mod tests;

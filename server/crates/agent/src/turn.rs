//! One turn: from a prompt to the model's last word, with the calls in between.
//!
//! Invariant: every call of the model gets exactly one result, in the order of the calls, also when
//! the turn is cancelled; only then is another request made, and after a cancellation none is.

use std::sync::Arc;

use futures::StreamExt;
use llm::{Assembler, Event, Message, Part, ResultPart, Role, Stop};
use protocol::acp::{
    ErrorStopReason, Notice, NoticeSeverity, SessionInfoUpdate, SessionUpdate, StopReason,
    ToolCallStatus, ToolCallUpdate, UsageUpdate,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::bounds;
use crate::gate::{self, Done, InReview, Input, Prepared, Ran};
use crate::hooks::Verdict;
use crate::hooks::moments::{self, Ended, GoesOn};
use crate::prompt;
use crate::provider::{self, Chosen};
use crate::session::{Prompt, Shared, new_id};
use crate::store::Record;
use crate::tool::{Caller, Content};
use crate::tools;
use crate::transcript::DeltaKind;

/// Model requests one turn may make.
const MAX_REQUESTS: usize = 200;

/// Runs a turn.
pub async fn run(shared: &Arc<Shared>, prompt: Prompt, cancel: &CancellationToken) -> StopReason {
    let told = match admit(shared, &prompt, cancel).await {
        Admission::Given(told) => told,
        Admission::Refused => return StopReason::EndTurn,
        Admission::Cancelled => return StopReason::Cancelled,
    };
    if shared.history().is_empty() {
        give_title(shared, &prompt);
    }
    let choosing = shared.connection.get(&shared.world, shared.model());
    let chosen = tokio::select! {
        biased;
        () = cancel.cancelled() => return StopReason::Cancelled,
        chosen = choosing => chosen,
    };
    let chosen = match chosen {
        Ok(chosen) => chosen,
        Err(text) => return failed(shared, &text),
    };
    begin(shared, &prompt, told, &chosen);
    converse(shared, &chosen, cancel).await
}

/// The turn with a model that was chosen.
async fn converse(shared: &Arc<Shared>, chosen: &Chosen, cancel: &CancellationToken) -> StopReason {
    let mut goes_on = GoesOn::ByItself;
    for _ in 0..MAX_REQUESTS {
        if let Some(note) = shared.take_notes() {
            tell_model(shared, note);
        }
        for steering in shared.take_steering() {
            if let Admission::Given(told) = admit(shared, &steering, cancel).await {
                shared.delivered(&steering);
                shared.remember_message(prompt::user_message(&steering, told, chosen));
            }
        }
        let answer = match answer(shared, chosen, cancel).await {
            Ok(answer) => answer,
            Err(llm::Error::Cancelled) => return StopReason::Cancelled,
            Err(err) => return failed(shared, &err.to_string()),
        };
        let stop = answer.stop;
        let calls = answer.calls;
        let last = spoken(&answer.message);
        if !answer.message.parts.is_empty() {
            shared.remember_message(answer.message);
        }
        if calls.is_empty() {
            return match stop {
                Stop::EndTurn | Stop::ToolUse => {
                    let said = moments::before_stop(shared, &last, goes_on, cancel).await;
                    if cancel.is_cancelled() {
                        return StopReason::Cancelled;
                    }
                    if let Some(Verdict::Deny { reason }) = said.verdict {
                        tell_model(shared, format!("[hook: {reason}]"));
                        goes_on = GoesOn::ByHook;
                        continue;
                    }
                    StopReason::EndTurn
                }
                Stop::MaxTokens => StopReason::MaxTokens,
                Stop::Refusal => StopReason::Refusal,
                Stop::Other(reason) => failed(shared, &format!("The model stopped: {reason}.")),
            };
        }
        let mut ended = Vec::with_capacity(calls.len());
        let results = dispatch(shared, calls, &mut ended, chosen, cancel).await;
        note_failures(&mut ended, &results);
        shared.remember_message(Message { role: Role::User, parts: results });
        if !cancel.is_cancelled() {
            let said = moments::after_batch(shared, &ended, cancel).await;
            if let Some(told) = said.told() {
                tell_model(shared, told);
            }
        }
        if cancel.is_cancelled() {
            return StopReason::Cancelled;
        }
    }
    notice(
        shared,
        NoticeSeverity::Warning,
        &format!(
            "Stopped after {MAX_REQUESTS} model requests in one turn. Send a prompt to go on."
        ),
    );
    StopReason::MaxTurnRequests
}

/// The model's answer to one request.
struct Answer {
    message: Message,
    calls: Vec<ModelCall>,
    stop: Stop,
}

/// A call of the model's, with the card it has.
struct ModelCall {
    /// The model's own id, which the result must name.
    id: String,
    name: String,
    arguments: String,
    card: String,
}

/// Whether a prompt is given to the model.
enum Admission {
    /// It is, and these texts with it.
    Given(Vec<String>),
    /// A hook does not let it.
    Refused,
    /// The turn was cancelled before that was known.
    Cancelled,
}

/// Lets hooks judge a prompt of the person's. What is told between turns is none.
async fn admit(shared: &Arc<Shared>, prompt: &Prompt, cancel: &CancellationToken) -> Admission {
    if !shared.transcript.has_prompt(&prompt.id) {
        return Admission::Given(Vec::new());
    }
    let mut told = Vec::new();
    if let Some(source) = shared.begin() {
        told.extend(moments::session_started(shared, source, cancel).await.told());
    }
    let said = moments::before_prompt(shared, &prompt::text_of(prompt), cancel).await;
    if cancel.is_cancelled() {
        return Admission::Cancelled;
    }
    match &said.verdict {
        Some(Verdict::Deny { reason }) => {
            let text = format!("A hook did not let this prompt through to the agent: {reason}");
            notice(shared, NoticeSeverity::Warning, &bounds::visible(&text));
            // What was said at the session's start is still to be told.
            told.into_iter().for_each(|it| shared.note(it));
            Admission::Refused
        }
        Some(Verdict::Allow | Verdict::Ask { .. }) | None => {
            told.extend(said.told());
            Admission::Given(told)
        }
    }
}

fn tell_model(shared: &Arc<Shared>, text: String) {
    let parts = vec![Part::Text { text }];
    shared.remember_message(Message { role: Role::User, parts });
}

/// The text of an answer.
fn spoken(message: &Message) -> String {
    let texts = message.parts.iter().filter_map(|it| match it {
        Part::Text { text } => Some(text.as_str()),
        Part::Thought { .. }
        | Part::Image { .. }
        | Part::ToolCall { .. }
        | Part::ToolResult { .. } => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// What became of the calls of a step; results come in the order of the calls.
fn note_failures(ended: &mut [Ended], results: &[Part]) {
    for (call, result) in ended.iter_mut().zip(results) {
        if let Part::ToolResult { is_error: true, .. } = result {
            call.is_error = true;
            call.changed.clear();
        }
    }
}

fn begin(shared: &Arc<Shared>, prompt: &Prompt, told: Vec<String>, chosen: &Chosen) {
    let first = shared.history().is_empty();
    shared.delivered(prompt);
    let environment = first.then(|| prompt::environment(shared));
    let facts = environment.into_iter().chain(shared.take_notes()).chain(told);
    shared.remember_message(prompt::user_message(prompt, facts, chosen));
}

/// The conversation is called after its first prompt.
fn give_title(shared: &Arc<Shared>, prompt: &Prompt) {
    let title = title_of(prompt);
    shared.transcript.record(&Record::Title { title: title.clone() });
    let info = SessionInfoUpdate::new().title(title);
    shared.transcript.send(SessionUpdate::SessionInfoUpdate(info));
}

async fn answer(
    shared: &Arc<Shared>,
    chosen: &Chosen,
    cancel: &CancellationToken,
) -> Result<Answer, llm::Error> {
    let request = llm::Request {
        model: chosen.model.clone(),
        system: prompt::SYSTEM.to_string(),
        messages: shared.history(),
        tools: prompt::tools(shared, chosen),
        max_output: chosen.max_output,
        reasoning: match shared.thinking() {
            Some(thinking) => provider::reasoning(thinking),
            None => chosen.reasoning,
        },
        session: shared.id.clone(),
    };
    let mut assembler = Assembler::new(&request.messages);
    let message_id = new_id("message");
    let thought_id = new_id("thought");
    let mut cards = Cards::default();
    let streamed = async {
        let mut events = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(llm::Error::Cancelled),
            events = chosen.provider.stream(request, cancel.clone()) => events?,
        };
        loop {
            let event = tokio::select! {
                biased;
                () = cancel.cancelled() => return Err(llm::Error::Cancelled),
                event = events.next() => event,
            };
            let Some(event) = event else { return Ok(()) };
            let event = assembler.push(event?);
            match &event {
                Event::Text(text) => shared.transcript.delta(DeltaKind::Message, &message_id, text),
                Event::Thought(text) => {
                    shared.transcript.delta(DeltaKind::Thought, &thought_id, text)
                }
                Event::CallStart { index, name, .. } => cards.start(shared, *index, name),
                Event::CallDelta { index, json } => cards.received(shared, *index, json.len()),
                Event::Usage(usage) => {
                    let used = usage.input + usage.cached_read + usage.cached_write + usage.output;
                    let update = UsageUpdate::new(used, chosen.window);
                    shared.transcript.send(SessionUpdate::UsageUpdate(update));
                }
                Event::Notice(text) => notice(shared, NoticeSeverity::Info, text),
                Event::ThoughtEnd { .. } | Event::CallEnd { .. } | Event::Stop(_) => {}
            }
        }
    };
    let streamed = streamed.await;
    shared.transcript.flush();
    let outcome = assembler.finish();
    let outcome = match streamed {
        Ok(()) => outcome,
        Err(err) => {
            // What was said before the fault is kept, so that the conversation can go on from it.
            cards.cancel_all(shared);
            let spoken: Vec<Part> = outcome
                .message
                .parts
                .into_iter()
                .filter(|it| matches!(it, Part::Text { .. }))
                .collect();
            if !spoken.is_empty() {
                shared.remember_message(Message { role: Role::Assistant, parts: spoken });
            }
            return Err(err);
        }
    };
    let calls: Vec<ModelCall> = outcome
        .message
        .parts
        .iter()
        .filter_map(|it| match it {
            Part::ToolCall { id, name, arguments } => Some((id, name, arguments)),
            Part::Text { .. }
            | Part::Thought { .. }
            | Part::Image { .. }
            | Part::ToolResult { .. } => None,
        })
        .enumerate()
        .map(|(nth, (id, name, arguments))| ModelCall {
            id: id.clone(),
            name: name.clone(),
            arguments: arguments.clone(),
            card: cards.take(nth),
        })
        .collect();
    cards.cancel_all(shared);
    if let Some(text) = &outcome.note {
        notice(shared, NoticeSeverity::Warning, text);
    }
    Ok(Answer { message: outcome.message, calls, stop: outcome.stop })
}

/// Cards of calls whose arguments are still arriving, in the order the calls began.
#[derive(Default)]
struct Cards {
    open: Vec<OpenCard>,
}

struct OpenCard {
    index: usize,
    id: Option<String>,
    received: usize,
    told: usize,
}

impl Cards {
    fn start(&mut self, shared: &Arc<Shared>, index: usize, name: &str) {
        let id = new_id("call");
        let entry = tools::find(name);
        let canonical = entry.map_or(name, |it| it.name);
        let mut card = ToolCallUpdate::new(id.clone())
            .name(canonical.to_string())
            .title(canonical.to_string())
            .status(ToolCallStatus::Pending);
        if let Some(entry) = entry {
            card = card.kind((entry.kind)());
        }
        shared.transcript.send(SessionUpdate::ToolCallUpdate(card));
        self.open.push(OpenCard { index, id: Some(id), received: 0, told: 0 });
    }

    /// Long arguments show that they are arriving.
    fn received(&mut self, shared: &Arc<Shared>, index: usize, more: usize) {
        let Some(card) = self.open.iter_mut().find(|it| it.index == index) else { return };
        card.received += more;
        if card.told + 4_096 <= card.received
            && let Some(id) = &card.id
        {
            card.told = card.received;
            let mut meta = protocol::acp::Meta::new();
            meta.insert("copydesk".into(), json!({ "received": card.received }));
            let update = ToolCallUpdate::new(id.clone()).meta(meta);
            shared.transcript.send(SessionUpdate::ToolCallUpdate(update));
        }
    }

    /// The card of the nth call; a call that was never announced gets a new one.
    fn take(&mut self, nth: usize) -> String {
        self.open.get_mut(nth).and_then(|it| it.id.take()).unwrap_or_else(|| new_id("call"))
    }

    /// Ends the cards of calls that never came whole.
    fn cancel_all(&mut self, shared: &Arc<Shared>) {
        for id in self.open.drain(..).filter_map(|it| it.id) {
            let update = ToolCallUpdate::new(id).status(ToolCallStatus::Cancelled);
            shared.transcript.send(SessionUpdate::ToolCallUpdate(update));
        }
    }
}

/// Runs the calls of one step: neighbours that only read run beside each other, and beside the
/// review of the change before them; others in order.
async fn dispatch(
    shared: &Arc<Shared>,
    calls: Vec<ModelCall>,
    ended: &mut Vec<Ended>,
    chosen: &Chosen,
    cancel: &CancellationToken,
) -> Vec<Part> {
    let mut results = Vec::with_capacity(calls.len());
    let mut step = Step::default();
    for call in calls {
        let request = gate::Request {
            id: call.card.clone(),
            name: call.name.clone(),
            input: Input::Text(call.arguments.clone()),
            caller: Caller::Model,
            dialect: chosen.dialect,
            sees: chosen.sees,
        };
        let prepared = gate::prepare(shared, request);
        ended.push(Ended {
            tool: prepared.as_ref().map_or(call.name.as_str(), |it| it.tool()).to_string(),
            id: call.card.clone(),
            is_error: false,
            changed: prepared.as_ref().map(Prepared::changes).unwrap_or_default(),
        });
        match prepared {
            Err(done) => {
                results.extend(finish(shared, std::mem::take(&mut step), chosen, cancel).await);
                results.push(result(call, done, chosen));
            }
            Ok(prepared) if prepared.access.is_read_only() => step.reads.push((call, prepared)),
            Ok(prepared) => {
                results.extend(finish(shared, std::mem::take(&mut step), chosen, cancel).await);
                match gate::start(shared, prepared, cancel).await {
                    Ran::Done(done) => results.push(result(call, done, chosen)),
                    Ran::InReview(review) => step.changed = Some((call, review)),
                }
            }
        }
    }
    results.extend(finish(shared, step, chosen, cancel).await);
    results
}

/// Calls that go on beside each other.
#[derive(Default)]
struct Step {
    /// Waits for the person's review.
    changed: Option<(ModelCall, Box<InReview>)>,
    /// Came after it.
    reads: Vec<(ModelCall, Prepared)>,
}

async fn finish(
    shared: &Arc<Shared>,
    step: Step,
    chosen: &Chosen,
    cancel: &CancellationToken,
) -> Vec<Part> {
    let review = async {
        match step.changed {
            Some((call, review)) => {
                let done = gate::finish_review(shared, *review).await;
                Some(result(call, done, chosen))
            }
            None => None,
        }
    };
    let reads = step.reads.into_iter().map(|(call, prepared)| async move {
        let done = gate::run(shared, prepared, cancel).await;
        result(call, done, chosen)
    });
    let (review, reads) = futures::future::join(review, futures::future::join_all(reads)).await;
    review.into_iter().chain(reads).collect()
}

fn result(call: ModelCall, done: Done, chosen: &Chosen) -> Part {
    let content = done
        .content
        .into_iter()
        .map(|it| match it {
            Content::Text(text) => ResultPart::Text { text },
            Content::Image { media_type, data } if chosen.sees.images => {
                ResultPart::Image { media_type, data }
            }
            Content::Video { media_type, data } if chosen.sees.video => {
                ResultPart::Video { media_type, data }
            }
            Content::Image { .. } => ResultPart::Text {
                text: format!("[an image; {} does not read images]", chosen.label),
            },
            Content::Video { .. } => ResultPart::Text {
                text: format!("[a video; {} does not read videos]", chosen.label),
            },
        })
        .collect();
    Part::ToolResult { id: call.id, name: call.name, content, is_error: done.is_error }
}

fn failed(shared: &Arc<Shared>, text: &str) -> StopReason {
    notice(shared, NoticeSeverity::Error, text);
    moments::failed(shared, text);
    tracing::warn!(session = shared.id, "turn failed: {text}");
    let mut reason = ErrorStopReason::default();
    reason.error = Some(Box::new(protocol::acp::Error::new(-32603, text.to_string())));
    StopReason::Error(reason)
}

fn notice(shared: &Arc<Shared>, severity: NoticeSeverity, text: &str) {
    shared.transcript.send(SessionUpdate::Notice(Notice::new(severity, text.to_string())));
}

/// A prompt's first line, bounded.
pub(crate) fn title_of(prompt: &Prompt) -> String {
    let text = prompt.content.iter().find_map(|it| match it {
        protocol::acp::ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    let line =
        text.unwrap_or("Untitled").lines().find(|it| !it.trim().is_empty()).unwrap_or("Untitled");
    let title: String = line.trim().chars().take(60).collect();
    if title.chars().count() < line.trim().chars().count() { format!("{title}…") } else { title }
}

#[cfg(test)]
mod tests;

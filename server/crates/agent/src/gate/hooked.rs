//! What hooks say about a call: before it is decided on, before it is asked about, after it ran.
//!
//! Invariant: an input that a hook changed is parsed, validated and judged as if it had arrived so. What a
//! hook allows skips a question that mode `auto` would not put either, and never one about a place outside.

use std::sync::Arc;

use protocol::acp::{SessionUpdate, ToolCallUpdate};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{Done, Input, Prepared, decide_in, ended, fail, parse};
use crate::bounds;
use crate::dialects::CANONICAL;
use crate::hooks::moments;
use crate::hooks::{self, AboutCall, Said};
use crate::permission::Verdict;
use crate::session::Shared;
use crate::settings::Mode;
use crate::tool::{Content, Entry, Failure, Output};

/// What hooks want for a call that none of them denied.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Wish {
    /// Nothing.
    Nothing,
    /// That the person is not asked.
    Skip,
    /// That the person is asked, for this reason.
    Ask(String),
}

/// Before the call is decided on.
pub(super) async fn before(
    shared: &Arc<Shared>,
    prepared: &mut Prepared,
    cancel: &CancellationToken,
) -> Result<Wish, Done> {
    let id = prepared.request.id.clone();
    let said = moments::before_call(shared, about(prepared, &id), cancel).await;
    heed(shared, prepared, said, cancel)
}

/// Before the person is asked.
pub(super) async fn before_asking(
    shared: &Arc<Shared>,
    prepared: &mut Prepared,
    suggestion: &[String],
    cancel: &CancellationToken,
) -> Result<Wish, Done> {
    let id = prepared.request.id.clone();
    let said = moments::before_asking(shared, about(prepared, &id), suggestion, cancel).await;
    heed(shared, prepared, said, cancel)
}

/// Whether a call that a hook allows runs without the question the rules and the mode would put.
pub(super) fn may_skip(shared: &Arc<Shared>, prepared: &Prepared) -> bool {
    let outside = || prepared.access.reads.iter().any(|it| !it.inside);
    match shared.mode() {
        Mode::Ask | Mode::Edit => {
            decide_in(shared, prepared, Mode::Auto) == Verdict::Allow && !outside()
        }
        Mode::Plan | Mode::Auto => false,
    }
}

/// A call that ran, as hooks are told of it.
pub(super) struct Run<'a> {
    /// The card's id.
    pub id: &'a str,
    /// The tool.
    pub entry: &'static Entry,
    /// Canonical input.
    pub input: &'a Value,
}

impl Run<'_> {
    /// After the call: what hooks have to say is part of its result.
    pub(super) async fn after(
        &self,
        shared: &Arc<Shared>,
        outcome: Result<Output, Failure>,
        cancel: &CancellationToken,
    ) -> Result<Output, Failure> {
        if cancel.is_cancelled() {
            return outcome;
        }
        let call = AboutCall { id: self.id, entry: self.entry, input: self.input };
        match outcome {
            Ok(mut output) => {
                let said = if output.failed {
                    let texts = output.content.iter().filter_map(Content::as_text);
                    let text = texts.collect::<Vec<_>>().join("\n");
                    moments::after_call(shared, call, Err(&text), cancel).await
                } else {
                    moments::after_call(shared, call, Ok(&output.content), cancel).await
                };
                output.content.extend(said.told().map(Content::Text));
                Ok(output)
            }
            Err(Failure::Told(text)) => {
                let said = moments::after_call(shared, call, Err(&text), cancel).await;
                let told = said.told().map(|it| format!("\n\n{it}")).unwrap_or_default();
                Err(Failure::Told(text + &told))
            }
            Err(Failure::Cancelled) => Err(Failure::Cancelled),
        }
    }
}

fn about<'a>(prepared: &'a Prepared, id: &'a str) -> AboutCall<'a> {
    AboutCall { id, entry: prepared.entry, input: &prepared.input }
}

/// Does what hooks say about a call that has not run.
fn heed(
    shared: &Arc<Shared>,
    prepared: &mut Prepared,
    said: Said,
    cancel: &CancellationToken,
) -> Result<Wish, Done> {
    let id = prepared.request.id.clone();
    if cancel.is_cancelled() {
        return Err(ended(shared, &id, Failure::Cancelled));
    }
    if let Some(hooks::Verdict::Deny { reason }) = &said.verdict {
        return Err(fail(shared, &id, &format!("denied by a hook: {reason}")));
    }
    if let Some(input) = said.input.clone().filter(|it| *it != prepared.input) {
        change(shared, prepared, input).map_err(|text| fail(shared, &id, &text))?;
    }
    prepared.told.extend(said.told());
    Ok(match said.verdict {
        None | Some(hooks::Verdict::Deny { .. }) => Wish::Nothing,
        Some(hooks::Verdict::Allow) => Wish::Skip,
        Some(hooks::Verdict::Ask { reason }) => Wish::Ask(format!("a hook asks: {reason}")),
    })
}

/// Takes the input a hook wants in place of the call's own.
fn change(shared: &Arc<Shared>, prepared: &mut Prepared, input: Value) -> Result<(), String> {
    let shown = CANONICAL.find(prepared.entry.name).ok_or("the tool is gone")?;
    let (call, repaired) = parse(shown, &Input::Value(input)).map_err(|problem| {
        format!(
            "A hook changed the input into one that cannot be used, so nothing was done. {problem}"
        )
    })?;
    let place = shared.place();
    prepared.access = call.access(&place).map_err(|failure| failure.to_string())?;
    prepared.notes.push(format!(
        "a hook changed the input to {}",
        bounds::text(&repaired.input.to_string(), 2_000)
    ));
    let card = ToolCallUpdate::new(prepared.request.id.clone())
        .title(bounds::title(&call.card(&place).title))
        .raw_input(bounds::value(&repaired.input));
    shared.transcript.send(SessionUpdate::ToolCallUpdate(card));
    (prepared.call, prepared.input) = (call, repaired.input);
    Ok(())
}

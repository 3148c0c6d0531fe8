//! A call whose changes wait for the person: it ends when each of them is decided on.
//!
//! Invariant: a wait changes nothing. When it is cancelled, or the program ends, the changes stay
//! pending and the person can still decide.

use std::sync::Arc;

use protocol::acp::{ContentBlock, Meta, SessionUpdate, ToolCallContent, ToolCallUpdate};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::ask::Waiting;
use crate::bounds;
use crate::cards;
use crate::editor::{Outcome, Reviewed};
use crate::session::Shared;
use crate::tool::{Content, Output};

/// Hunks named one by one in a result; more are counted.
const NAMED: usize = 20;
/// Characters of all that is said of a review, and of the person's comments.
const SAID: usize = 8_000;

/// How a wait ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Nothing is pending.
    Decided,
    /// The turn or the call was cancelled.
    Cancelled,
}

/// Shows that a call waits, and waits; what became of its changes is added to its output.
pub async fn wait(
    shared: &Arc<Shared>,
    call: &str,
    output: &mut Output,
    decisions: &mut watch::Receiver<Reviewed>,
    cancel: &CancellationToken,
) -> End {
    let _waiting = (0 < decisions.borrow().pending).then(|| Waiting::begin(shared));
    loop {
        let now = decisions.borrow_and_update().clone();
        if now.pending == 0 {
            tell(output, &now);
            return End::Decided;
        }
        show(shared, call, output, now.pending);
        let changed = tokio::select! {
            biased;
            () = cancel.cancelled() => false,
            changed = decisions.changed() => changed.is_ok(),
        };
        if !changed {
            let mut said = format!(
                "\nStopped before the person had reviewed it: {} stay{} in the text and can still be \
                 rejected.",
                changes(now.pending),
                if now.pending == 1 { "s" } else { "" }
            );
            said.push_str(&summary(&now));
            output.content.push(Content::Text(said));
            return End::Cancelled;
        }
    }
}

/// What is said where nobody can decide.
pub const NOBODY: &str = "nobody is here to review the change, so it was not waited for; it stays \
                          pending and may be rejected later";

fn show(shared: &Arc<Shared>, call: &str, output: &Output, pending: usize) {
    let mut card = match output.card.is_empty() {
        true => cards::of_content(&output.content),
        false => output.card.clone(),
    };
    let text = format!("Waits for your review: {} to accept or reject.", changes(pending));
    card.insert(0, ToolCallContent::from(ContentBlock::from(text)));
    let mut meta = Meta::new();
    meta.insert("copydesk".into(), json!({ "review": pending }));
    let mut update = ToolCallUpdate::new(call.to_string()).content(cards::bounded(card)).meta(meta);
    if let Some(title) = &output.title {
        update = update.title(bounds::title(title));
    }
    shared.transcript.send(SessionUpdate::ToolCallUpdate(update));
}

fn tell(output: &mut Output, reviewed: &Reviewed) {
    let said = summary(reviewed);
    if said.is_empty() {
        return;
    }
    if reviewed.outcomes.iter().all(|it| it.is_out) {
        output.failed = true;
    }
    if !output.card.is_empty() {
        output.card.push(ToolCallContent::from(ContentBlock::from(said.trim().to_string())));
    }
    output.content.push(Content::Text(said));
}

/// What became of the changes, on lines of its own; empty where nothing did.
fn summary(reviewed: &Reviewed) -> String {
    let Reviewed { outcomes, comments, .. } = reviewed;
    if outcomes.is_empty() {
        return String::new();
    }
    let mut said = match outcomes.iter().filter(|it| it.is_out).count() {
        0 => "\nReviewed by the person, who keeps it:".to_string(),
        out if out == outcomes.len() => {
            "\nRejected by the person in review; nothing of it is left:".to_string()
        }
        out => format!("\nReviewed by the person, who rejected {out} of {}:", outcomes.len()),
    };
    for Outcome { words, .. } in outcomes.iter().take(NAMED) {
        said.push_str(&format!("\n- {words}"));
    }
    if NAMED < outcomes.len() {
        said.push_str(&format!("\n- and {} more", outcomes.len() - NAMED));
    }
    for comment in comments {
        said.push_str(&format!("\nThe person says: {comment}"));
    }
    bounds::text(&said, SAID)
}

fn changes(count: usize) -> String {
    if count == 1 { "1 change".to_string() } else { format!("{count} changes") }
}

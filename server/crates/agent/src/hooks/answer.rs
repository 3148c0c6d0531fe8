//! What a hook says: its exit code and what it printed, read as Claude Code's hooks are.
//!
//! Invariant: whatever a hook prints gives an answer; what cannot be read is a fault and decides nothing.

use serde::Deserialize;
use serde_json::Value;

use super::moments::Verdict;
use super::{Automation, Event};
use crate::bounds;

/// Characters of one text that a hook may add to what the model reads.
const CONTEXT: usize = 10_000;
/// Characters of a reason or a message.
const WORDS: usize = 2_000;
/// The exit code that refuses.
const REFUSES: i32 = 2;

/// How a hook ended, and what it printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// What it printed.
    pub stdout: String,
    /// What it printed as errors.
    pub stderr: String,
}

/// How a hook ended.
#[derive(Clone, Debug, PartialEq)]
pub enum End {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(String),
    /// It was stopped after this many seconds.
    TooLong(u64),
    /// It did not start, for this reason.
    NotStarted(String),
    /// The turn, or the call, was cancelled.
    Cancelled,
}

/// What a hook wants.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// Whether what it judges may happen.
    pub verdict: Option<Verdict>,
    /// What the call's input is instead.
    pub input: Option<Value>,
    /// For the model.
    pub context: Vec<String>,
    /// For the person.
    pub messages: Vec<String>,
    /// The agent is to stop, for this reason.
    pub stop: Option<String>,
    /// Why it counts as failed.
    pub fault: Option<String>,
}

/// Reads a hook's answer. `result` is what the configuration says becomes of it.
pub fn read(event: Event, result: Automation, ran: &Ran) -> Answer {
    let answer = match &ran.end {
        End::Code(0) => printed(event, &ran.stdout),
        End::Code(REFUSES) => refused(event, &ran.stderr),
        End::Code(code) => fault(format!("ended with exit code {code}{}", said(&ran.stderr))),
        End::Signal(signal) => fault(format!("was ended by {signal}")),
        End::TooLong(seconds) => fault(format!("took longer than {seconds} s and was stopped")),
        End::NotStarted(why) => fault(format!("did not start: {why}")),
        End::Cancelled => Answer::default(),
    };
    match event {
        Event::ToolBatchComplete => automation(result, answer, &ran.stdout),
        Event::PreToolUse
        | Event::PostToolUse
        | Event::PostToolUseFailure
        | Event::PermissionRequest
        | Event::UserPromptSubmit
        | Event::Stop
        | Event::SessionStart
        | Event::SessionEnd
        | Event::Notification
        | Event::Idle
        | Event::AgentError
        | Event::SubagentStart
        | Event::SubagentStop
        | Event::PreCompact => answer,
    }
}

fn fault(text: String) -> Answer {
    Answer { fault: Some(text), ..Answer::default() }
}

/// The first line of what it printed as errors.
fn said(stderr: &str) -> String {
    match stderr.lines().map(str::trim).find(|it| !it.is_empty()) {
        Some(line) => format!(": {}", bounds::text(&bounds::visible(line), 400)),
        None => String::new(),
    }
}

/// Exit code 2: what it printed as errors is the reason.
fn refused(event: Event, stderr: &str) -> Answer {
    let reason = words(stderr).unwrap_or_else(|| "it gave no reason".into());
    match event {
        Event::PreToolUse | Event::PermissionRequest | Event::UserPromptSubmit | Event::Stop => {
            Answer { verdict: Some(Verdict::Deny { reason }), ..Answer::default() }
        }
        Event::PostToolUse | Event::PostToolUseFailure | Event::ToolBatchComplete => {
            Answer { context: vec![reason], ..Answer::default() }
        }
        Event::SessionStart
        | Event::SessionEnd
        | Event::Notification
        | Event::Idle
        | Event::AgentError
        | Event::SubagentStart
        | Event::SubagentStop
        | Event::PreCompact => fault(format!("says: {reason}")),
    }
}

/// What a hook prints, where it is JSON. Other keys are of other programs' hooks.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Printed {
    r#continue: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    hook_specific_output: Specific,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Specific {
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    updated_input: Option<Value>,
    additional_context: Option<String>,
    decision: Option<Behavior>,
}

/// A `PermissionRequest` hook's decision.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Behavior {
    behavior: Option<String>,
    updated_input: Option<Value>,
    message: Option<String>,
    interrupt: bool,
}

fn printed(event: Event, stdout: &str) -> Answer {
    let text = stdout.trim();
    if !text.starts_with('{') {
        let context = words_of(text, CONTEXT).filter(|_| event.takes_plain_context());
        return Answer { context: context.into_iter().collect(), ..Answer::default() };
    }
    let printed: Printed = match serde_json::from_str(text) {
        Ok(printed) => printed,
        Err(err) => return fault(format!("printed JSON that cannot be read: {err}")),
    };
    let specific = printed.hook_specific_output;
    let behavior = specific.decision.unwrap_or_default();
    let reason = printed.reason.as_deref().and_then(words);
    let deep = specific.permission_decision_reason.as_deref().and_then(words);
    let reason = deep.or(reason).or(behavior.message.as_deref().and_then(words));
    let decided = specific.permission_decision.or(behavior.behavior).or(printed.decision);
    let mut answer = Answer::default();
    match decided.as_deref().map(|it| verdict(it, reason)) {
        None => {}
        Some(Err(word)) => {
            let word = bounds::text(&bounds::visible(&word), 40);
            answer.fault = Some(format!("decided `{word}`, which is no decision"));
        }
        Some(Ok(verdict)) => match (event, verdict) {
            // The call has run: what it says is for the model.
            (Event::PostToolUse | Event::PostToolUseFailure, Verdict::Deny { reason }) => {
                answer.context.push(reason);
            }
            (_, verdict) => answer.verdict = Some(verdict),
        },
    }
    answer.input = specific.updated_input.or(behavior.updated_input);
    answer
        .context
        .extend(specific.additional_context.as_deref().and_then(|it| words_of(it, CONTEXT)));
    answer.messages.extend(printed.system_message.as_deref().and_then(words));
    if printed.r#continue == Some(false) || behavior.interrupt {
        let why = printed.stop_reason.as_deref().and_then(words);
        answer.stop = Some(why.unwrap_or_else(|| "it gave no reason".into()));
    }
    answer
}

/// The verdict of this word, or the word.
fn verdict(word: &str, reason: Option<String>) -> Result<Verdict, String> {
    let because = || reason.clone().unwrap_or_else(|| "it gave no reason".into());
    match word {
        "allow" | "approve" => Ok(Verdict::Allow),
        "ask" => Ok(Verdict::Ask { reason: because() }),
        "deny" | "block" => Ok(Verdict::Deny { reason: because() }),
        other => Err(other.to_string()),
    }
}

/// What a check of a whole batch found.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Found {
    status: Option<String>,
    summary: Option<String>,
    body: Option<String>,
    severity: Option<String>,
    append_context: Option<bool>,
    notify: Option<bool>,
}

/// Who is told of what a check of a whole batch found.
fn automation(result: Automation, answer: Answer, stdout: &str) -> Answer {
    let text = stdout.trim();
    let json = text.starts_with('{').then(|| serde_json::from_str::<Found>(text).ok()).flatten();
    let is_plain = json.is_none();
    let found = json.unwrap_or_default();
    let is_bad = |it: &str| matches!(it, "failed" | "failure" | "fail" | "error");
    let failed = answer.fault.is_some()
        || !answer.context.is_empty()
        || found.status.as_deref().is_some_and(is_bad)
        || found.severity.as_deref().is_some_and(is_bad);
    let plain = is_plain.then(|| words_of(text, CONTEXT)).flatten();
    let summary = found.summary.as_deref().and_then(words);
    let body = found.body.as_deref().and_then(|it| words_of(it, CONTEXT));
    let told: Vec<String> =
        summary.iter().cloned().chain(body).chain(plain).chain(answer.context).collect();
    let told = (!told.is_empty()).then(|| told.join("\n"));
    let append = found.append_context.unwrap_or(match result {
        Automation::Ignore | Automation::NotifyOnly => false,
        Automation::AppendOnFailure => failed,
        Automation::AlwaysAppend => true,
    });
    let notify = found.notify.unwrap_or(match result {
        Automation::NotifyOnly => true,
        Automation::Ignore | Automation::AppendOnFailure | Automation::AlwaysAppend => false,
    });
    let mut messages = answer.messages;
    messages.extend(summary.or_else(|| told.clone()).filter(|_| notify));
    let context = told.filter(|_| append && result != Automation::Ignore).into_iter().collect();
    Answer { messages, context, verdict: None, ..answer }
}

fn words(text: &str) -> Option<String> {
    words_of(text, WORDS)
}

fn words_of(text: &str, most: usize) -> Option<String> {
    let text = text.trim();
    (!text.is_empty()).then(|| bounds::text(text, most))
}

#[cfg(test)]
mod tests;

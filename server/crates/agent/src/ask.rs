//! Asking the person: one question a call, answered once, withdrawn when the turn is cancelled.
//!
//! Invariant: the question shows all there is to decide on (the whole command and where it runs, or
//! every path with its diff). A waiting question is kept, so that it can be shown again.

use std::sync::Arc;

use protocol::acp::{
    CommandPermissionSubject, Meta, PermissionOption, PermissionOptionKind,
    RequestPermissionRequest, RequestPermissionSubject, RequiresActionStateUpdate,
    RunningStateUpdate, StateUpdate, ToolCallId, ToolCallPermissionSubject, ToolCallUpdate,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::bounds;
use crate::editor::{Answer, Extras};
use crate::hooks::moments;
use crate::permission::{Decision, Rule};
use crate::session::Shared;
use crate::tool::CommandAccess;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// One line.
    pub title: String,
    /// Why it is asked.
    pub reason: String,
    /// The card it is about, with the diff where there is one.
    pub card: ToolCallUpdate,
    /// The command, where it is about one.
    pub command: Option<CommandAccess>,
    /// The rules that "always" adds.
    pub suggestion: Vec<String>,
    /// What is offered.
    pub offer: Offer,
}

/// What allowing means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// The call runs.
    Call,
    /// Its command, which the sandbox stopped, runs again outside of it.
    Outside,
}

impl Offer {
    /// What allowing and rejecting are called.
    fn words(self) -> [&'static str; 4] {
        match self {
            Offer::Call => ["Allow once", "Always allow", "Reject", "Always reject"],
            Offer::Outside => [
                "Allow once: run outside the sandbox",
                "Always allow: run such commands outside",
                "Reject: leave it at that",
                "Always reject: keep such commands inside",
            ],
        }
    }
}

/// What came back.
#[derive(Clone, Debug, PartialEq)]
pub enum Permission {
    /// Go on.
    Allowed { extras: Extras },
    /// Do not; with words for the model.
    Rejected { feedback: Option<String> },
    /// Nobody is there; the rules that would have let it through.
    Nobody { rules: Vec<String> },
    /// The turn was cancelled.
    Cancelled,
}

const ALLOW_ONCE: &str = "allow_once";
const ALLOW_ALWAYS: &str = "allow_always";
const REJECT_ONCE: &str = "reject_once";
const REJECT_ALWAYS: &str = "reject_always";

/// Characters of a list of files in a question.
const LISTED: usize = 4_000;

/// Asks for permission and waits for the answer.
pub async fn permission(
    shared: &Arc<Shared>,
    question: Question,
    cancel: &CancellationToken,
) -> Permission {
    let suggestion = question.suggestion.clone();
    let request = request(shared, question);
    let answer = put(shared, request, cancel).await;
    match answer {
        Answer::Cancelled => Permission::Cancelled,
        Answer::Nobody => Permission::Nobody { rules: suggestion },
        Answer::Selected { option, extras } => selected(shared, &option, extras, suggestion),
    }
}

/// Offers to save files before something reads them; tells whether the person wants it.
pub async fn save(
    shared: &Arc<Shared>,
    call: &str,
    command: &CommandAccess,
    files: &[String],
    cancel: &CancellationToken,
) -> Save {
    let request_id = uuid::Uuid::new_v4().simple().to_string();
    let options = vec![
        option(ALLOW_ONCE, "Allow once: save and run", PermissionOptionKind::AllowOnce),
        option(REJECT_ONCE, "Reject: run without saving", PermissionOptionKind::RejectOnce),
    ];
    let title = match files.len() {
        1 => "Save 1 file for this command?".to_string(),
        count => format!("Save {count} files for this command?"),
    };
    let request = RequestPermissionRequest::new(shared.id.clone(), title, options)
        .description(format!(
            "The command may read these files, whose changes are only in the editor:\n{}",
            bounds::text(&bounds::visible(&files.join("\n")), LISTED)
        ))
        .subject(subject(command, call.to_string().into()))
        .meta(copydesk(json!({ "requestId": request_id })));
    match put(shared, request, cancel).await {
        Answer::Selected { option, .. } if option == ALLOW_ONCE => Save::Yes,
        Answer::Selected { .. } | Answer::Nobody => Save::No,
        Answer::Cancelled => Save::Cancelled,
    }
}

/// The answer to the offer to save.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Save {
    /// Save them.
    Yes,
    /// Run without.
    No,
    /// The turn was cancelled.
    Cancelled,
}

/// Shows a question until it is answered, again whenever a client comes back.
async fn put(
    shared: &Arc<Shared>,
    request: RequestPermissionRequest,
    cancel: &CancellationToken,
) -> Answer {
    let _waiting = Waiting::begin(shared);
    moments::asked(shared, &request.title);
    loop {
        tokio::select! {
            biased;
            () = cancel.cancelled() => return Answer::Cancelled,
            answer = shared.world.editor.ask(request.clone()) => return answer,
            () = shared.calls.ask_again.notified() => {}
        }
    }
}

fn selected(
    shared: &Arc<Shared>,
    option: &str,
    extras: Extras,
    suggestion: Vec<String>,
) -> Permission {
    // Without a suggestion "always" was not offered.
    let offered = !suggestion.is_empty();
    // Said back as it was offered, or changed into another one.
    let changed = extras.rule.clone().filter(|it| *it != shown(&suggestion));
    let remembered = changed.map_or(suggestion, |it| listed(&it));
    match option {
        ALLOW_ALWAYS if offered => {
            remember(shared, remembered, Decision::Allow);
            Permission::Allowed { extras }
        }
        ALLOW_ONCE => Permission::Allowed { extras },
        REJECT_ALWAYS if offered => {
            remember(shared, remembered, Decision::Deny);
            Permission::Rejected { feedback: extras.feedback }
        }
        // An option that was not offered allows nothing.
        _ => Permission::Rejected { feedback: extras.feedback },
    }
}

fn remember(shared: &Arc<Shared>, rules: Vec<String>, decision: Decision) {
    for text in rules {
        match Rule::parse(&text, decision, "session") {
            Ok(rule) => shared.remember(rule),
            Err(err) => tracing::warn!("the rule to remember was not understood: {err}"),
        }
    }
}

/// The rules of a text, at its commas outside parentheses.
fn listed(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = text.split(|it: char| {
        match it {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        it == ',' && depth == 0
    });
    parts.map(|it| it.trim().to_string()).filter(|it| !it.is_empty()).collect()
}

/// Rules as an option carries them.
fn shown(rules: &[String]) -> String {
    rules.join(", ")
}

fn request(shared: &Arc<Shared>, question: Question) -> RequestPermissionRequest {
    let request_id = uuid::Uuid::new_v4().simple().to_string();
    let id = question.card.tool_call_id.clone();
    let (subject, description) = match &question.command {
        Some(command) => {
            (subject(command, id), format!("{}, in {}", question.reason, command.cwd.display()))
        }
        None => (
            RequestPermissionSubject::ToolCall(Box::new(ToolCallPermissionSubject::new(
                question.card,
            ))),
            question.reason,
        ),
    };
    let [once, always, reject, never] = question.offer.words();
    let mut options = vec![option(ALLOW_ONCE, once, PermissionOptionKind::AllowOnce)];
    let rule = shown(&question.suggestion);
    if !rule.is_empty() {
        let always = option(ALLOW_ALWAYS, always, PermissionOptionKind::AllowAlways);
        options.push(always.meta(copydesk(json!({ "rule": rule }))));
    }
    options.push(option(REJECT_ONCE, reject, PermissionOptionKind::RejectOnce));
    if !rule.is_empty() {
        let never = option(REJECT_ALWAYS, never, PermissionOptionKind::RejectAlways);
        options.push(never.meta(copydesk(json!({ "rule": rule }))));
    }
    RequestPermissionRequest::new(shared.id.clone(), bounds::visible(&question.title), options)
        .description(description)
        .subject(subject)
        .meta(copydesk(json!({ "requestId": request_id })))
}

fn subject(command: &CommandAccess, call: ToolCallId) -> RequestPermissionSubject {
    let text = bounds::visible(&command.script);
    let subject = CommandPermissionSubject::new(text, command.cwd.clone()).tool_call_id(call);
    RequestPermissionSubject::Command(subject)
}

fn option(id: &str, name: &str, kind: PermissionOptionKind) -> PermissionOption {
    PermissionOption::new(id.to_string(), name.to_string(), kind)
}

fn copydesk(value: serde_json::Value) -> Meta {
    let mut meta = Meta::new();
    meta.insert("copydesk".into(), value);
    meta
}

/// Counts something that waits for the person for as long as it lives, and tells the session's
/// state.
pub(crate) struct Waiting<'a>(&'a Arc<Shared>);

impl<'a> Waiting<'a> {
    /// It waits from now on.
    pub(crate) fn begin(shared: &'a Arc<Shared>) -> Waiting<'a> {
        shared.refresh_transcript();
        if shared.change_waiting(1) == 1 {
            let state = StateUpdate::RequiresAction(RequiresActionStateUpdate::new());
            shared.transcript.send(protocol::acp::SessionUpdate::StateUpdate(state));
        }
        Waiting(shared)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.0.change_waiting(-1) == 0 && self.0.is_busy() {
            let state = StateUpdate::Running(RunningStateUpdate::new());
            self.0.transcript.send(protocol::acp::SessionUpdate::StateUpdate(state));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn rules_of_a_text_end_at_commas_outside_parentheses() {
        assert_eq!(listed("Edit(/a), Edit(/b,c)"), ["Edit(/a)", "Edit(/b,c)"]);
        assert_eq!(listed("Bash(echo (a), b:*)"), ["Bash(echo (a), b:*)"]);
        assert_eq!(listed(" Bash , "), ["Bash"]);
    }
}

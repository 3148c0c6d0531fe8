//! The moments hooks run at: what they are told, and what all of one moment's hooks say together.
//!
//! Invariant: of what several say the strictest counts: deny before ask before allow.

use std::path::PathBuf;
use std::sync::Arc;

use protocol::acp::{Notice, NoticeSeverity, SessionUpdate, ToolKind};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::answer::{self, Answer, End};
use super::{Automation, Event, Hook, Join, running};
use crate::bounds;
use crate::dialects;
use crate::session::Shared;
use crate::settings::Mode;
use crate::tool::{Content, Entry};

/// What a hook decides about what it judges.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It may happen without asking.
    Allow,
    /// The person is asked.
    Ask { reason: String },
    /// It does not happen.
    Deny { reason: String },
}

impl Verdict {
    fn strictness(&self) -> u8 {
        match self {
            Verdict::Allow => 0,
            Verdict::Ask { .. } => 1,
            Verdict::Deny { .. } => 2,
        }
    }
}

/// What all hooks of a moment say together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// The strictest of their verdicts.
    pub verdict: Option<Verdict>,
    /// The call's input, where one changed it.
    pub input: Option<Value>,
    /// For the model.
    pub context: Vec<String>,
}

impl Said {
    /// What is to be told to the model, as one text.
    pub fn told(&self) -> Option<String> {
        (!self.context.is_empty()).then(|| format!("[hook: {}]", self.context.join("\n")))
    }
}

/// The call a hook is told about.
#[derive(Clone, Copy)]
pub struct AboutCall<'a> {
    /// The card's id.
    pub id: &'a str,
    /// The tool.
    pub entry: &'static Entry,
    /// Canonical input.
    pub input: &'a Value,
}

impl AboutCall<'_> {
    /// Every name it answers to, so that a matcher may use any.
    fn names(&self) -> Vec<String> {
        let mut names = vec![self.entry.name.to_string()];
        names.extend(self.entry.aliases.iter().map(|it| (*it).to_string()));
        names.extend(dialects::names_of(self.entry.name).map(str::to_string));
        // Hooks written for these mean every way to change a file.
        if matches!((self.entry.kind)(), ToolKind::Edit | ToolKind::Delete) {
            names.extend(["Edit", "Write"].map(str::to_string));
        }
        names
    }

    fn fields(&self) -> Map<String, Value> {
        fields(json!({
            "tool_name": self.entry.name,
            "tool_input": self.input,
            "tool_use_id": self.id,
        }))
    }
}

/// How a call of a batch ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Canonical name.
    pub tool: String,
    /// The card's id.
    pub id: String,
    /// Whether it failed.
    pub is_error: bool,
    /// Files it changed.
    pub changed: Vec<PathBuf>,
}

/// Before a call runs.
pub async fn before_call(
    shared: &Arc<Shared>,
    call: AboutCall<'_>,
    cancel: &CancellationToken,
) -> Said {
    fire(shared, Event::PreToolUse, &call.names(), call.fields(), cancel).await
}

/// Before the person is asked about a call; `suggestion` are the rules that "always" would add.
pub async fn before_asking(
    shared: &Arc<Shared>,
    call: AboutCall<'_>,
    suggestion: &[String],
    cancel: &CancellationToken,
) -> Said {
    let mut fields = call.fields();
    fields.insert("permission_suggestions".into(), json!(suggestion));
    fire(shared, Event::PermissionRequest, &call.names(), fields, cancel).await
}

/// After a call ran. `outcome` is its result, or why it failed.
pub async fn after_call(
    shared: &Arc<Shared>,
    call: AboutCall<'_>,
    outcome: Result<&[Content], &str>,
    cancel: &CancellationToken,
) -> Said {
    let mut fields = call.fields();
    match outcome {
        Ok(content) => {
            let texts: Vec<&str> = content.iter().filter_map(Content::as_text).collect();
            let path = call.input.get("file_path").cloned().unwrap_or(Value::Null);
            let response =
                json!({ "success": true, "filePath": path, "content": texts.join("\n") });
            fields.insert("tool_response".into(), response);
            fire(shared, Event::PostToolUse, &call.names(), fields, cancel).await
        }
        Err(error) => {
            fields.insert("error".into(), json!(error));
            fields.insert("is_interrupt".into(), json!(cancel.is_cancelled()));
            fire(shared, Event::PostToolUseFailure, &call.names(), fields, cancel).await
        }
    }
}

/// Before a prompt is given to the model.
pub async fn before_prompt(shared: &Arc<Shared>, text: &str, cancel: &CancellationToken) -> Said {
    let fields = fields(json!({ "prompt": text }));
    fire(shared, Event::UserPromptSubmit, &[], fields, cancel).await
}

/// When the agent is done: a denial is what it is told to go on with. `goes_on` tells that it already
/// goes on because of a hook.
pub async fn before_stop(
    shared: &Arc<Shared>,
    last: &str,
    goes_on: GoesOn,
    cancel: &CancellationToken,
) -> Said {
    let fields = fields(json!({
        "stop_hook_active": goes_on == GoesOn::ByHook,
        "last_assistant_message": last,
    }));
    fire(shared, Event::Stop, &[], fields, cancel).await
}

/// Why a turn is still running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoesOn {
    /// It has not come to an end before.
    ByItself,
    /// A hook did not let it end.
    ByHook,
}

/// How a session came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It is new.
    Startup,
    /// It was there before.
    Resume,
}

/// Before the first prompt of a session.
pub async fn session_started(
    shared: &Arc<Shared>,
    source: Source,
    cancel: &CancellationToken,
) -> Said {
    let source = match source {
        Source::Startup => "startup",
        Source::Resume => "resume",
    };
    let fields = fields(json!({ "source": source, "model": shared.model() }));
    fire(shared, Event::SessionStart, &[source.to_string()], fields, cancel).await
}

/// When a session is closed.
pub async fn session_ended(shared: &Arc<Shared>, cancel: &CancellationToken) {
    let reason = "other";
    let fields = fields(json!({ "reason": reason }));
    fire(shared, Event::SessionEnd, &[reason.to_string()], fields, cancel).await;
}

/// After all calls of one answer of the model. What hooks that nobody waits for say comes later.
pub async fn after_batch(
    shared: &Arc<Shared>,
    calls: &[Ended],
    cancel: &CancellationToken,
) -> Said {
    let told: Vec<Value> = calls
        .iter()
        .map(|it| json!({ "tool_name": it.tool, "tool_use_id": it.id, "is_error": it.is_error }))
        .collect();
    let mut changed: Vec<&PathBuf> = calls.iter().flat_map(|it| &it.changed).collect();
    changed.sort();
    changed.dedup();
    let names: Vec<String> = calls.iter().map(|it| it.tool.clone()).collect();
    let fields = fields(json!({ "tool_calls": told, "changed_files": changed }));
    fire(shared, Event::ToolBatchComplete, &names, fields, cancel).await
}

/// The person is asked something.
pub fn asked(shared: &Arc<Shared>, title: &str) {
    let kind = "permission_prompt";
    let fields = fields(json!({ "message": title, "notification_type": kind }));
    aside(shared, Event::Notification, &[kind.to_string()], fields);
}

/// A turn ended and nothing waits.
pub fn idle(shared: &Arc<Shared>) {
    aside(shared, Event::Idle, &[], Map::new());
}

/// A turn ended by an error.
pub fn failed(shared: &Arc<Shared>, error: &str) {
    let kind = "turn_failed";
    let fields = fields(json!({ "error": error, "error_kind": kind }));
    aside(shared, Event::AgentError, &[kind.to_string()], fields);
}

fn fields(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

/// The hooks of a moment, each once.
fn hooks_of(shared: &Shared, event: Event, names: &[String]) -> Vec<Hook> {
    let config = shared.world.config();
    let mut hooks: Vec<Hook> = Vec::new();
    for hook in &config.hooks {
        let is_new = hooks.iter().all(|it| it.command != hook.command);
        if hook.event == event && hook.matcher.fits(names) && is_new {
            hooks.push(hook.clone());
        }
    }
    hooks
}

/// Hooks that only watch, beside everything else.
fn aside(shared: &Arc<Shared>, event: Event, names: &[String], fields: Map<String, Value>) {
    let hooks = hooks_of(shared, event, names);
    if hooks.is_empty() {
        return;
    }
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        let cancel = shared.calls.ends.child_token();
        for hook in hooks {
            let answer = ask(&shared, &hook, &fields, &cancel).await;
            tell(&shared, &hook, &answer);
        }
    });
}

/// Runs the hooks of a moment, one after the other.
async fn fire(
    shared: &Arc<Shared>,
    event: Event,
    names: &[String],
    mut fields: Map<String, Value>,
    cancel: &CancellationToken,
) -> Said {
    let mut said = Said::default();
    for hook in hooks_of(shared, event, names) {
        if hook.join == Join::Background {
            later(shared, hook, fields.clone());
            continue;
        }
        let mut answer = ask(shared, &hook, &fields, cancel).await;
        tell(shared, &hook, &answer);
        if let Some(fault) = answer.fault.take().filter(|_| event.judges())
            && shared.world.config().settings.hooks.fail_closed
        {
            let reason = format!("{} {fault}, and `hooks.fail_closed` is set", called(&hook));
            answer.verdict = Some(Verdict::Deny { reason });
        }
        if let Some(why) = answer.stop.take() {
            shared.stop_turn();
            let reason = format!("{} stopped the agent: {why}", called(&hook));
            answer.verdict = Some(Verdict::Deny { reason });
        }
        if let Some(input) = answer.input.take() {
            fields.insert("tool_input".into(), input.clone());
            said.input = Some(input);
        }
        said.context.append(&mut answer.context);
        let stricter = |it: &Verdict| {
            said.verdict.as_ref().is_none_or(|old| old.strictness() < it.strictness())
        };
        if let Some(verdict) = answer.verdict.filter(stricter) {
            said.verdict = Some(verdict);
        }
        if matches!(said.verdict, Some(Verdict::Deny { .. })) || cancel.is_cancelled() {
            break;
        }
    }
    said
}

/// A hook that nobody waits for: what it says comes with a later request.
fn later(shared: &Arc<Shared>, hook: Hook, fields: Map<String, Value>) {
    let shared = Arc::clone(shared);
    tokio::spawn(async move {
        let cancel = shared.calls.ends.child_token();
        let answer = ask(&shared, &hook, &fields, &cancel).await;
        tell(&shared, &hook, &answer);
        for text in answer.context {
            shared.note(format!("[hook: {text}]"));
        }
    });
}

async fn ask(
    shared: &Arc<Shared>,
    hook: &Hook,
    fields: &Map<String, Value>,
    cancel: &CancellationToken,
) -> Answer {
    let place = shared.place();
    let mut input = self::fields(json!({
        "session_id": shared.id,
        "transcript_path": shared.log_file(),
        "cwd": place.cwd,
        "permission_mode": match shared.mode() {
            Mode::Ask => "default",
            Mode::Plan => "plan",
            Mode::Edit => "acceptEdits",
            Mode::Auto => "bypassPermissions",
        },
        "hook_event_name": hook.event.name(),
    }));
    input.extend(fields.clone());
    let input = Value::Object(input).to_string();
    let ran = running::run(shared, hook, input.as_bytes(), cancel).await;
    if ran.end == End::Cancelled {
        return Answer::default();
    }
    answer::read(hook.event, hook.result, &ran)
}

/// Tells the person what a hook has to say to them, and that it failed.
fn tell(shared: &Arc<Shared>, hook: &Hook, answer: &Answer) {
    let notice = |severity, text: String| {
        shared.transcript.send(SessionUpdate::Notice(Notice::new(severity, text)));
    };
    for message in &answer.messages {
        notice(NoticeSeverity::Info, bounds::visible(message));
    }
    if let Some(fault) = &answer.fault
        && (hook.event != Event::ToolBatchComplete || hook.result != Automation::Ignore)
    {
        tracing::warn!(session = shared.id, "{} {fault}", called(hook));
        notice(NoticeSeverity::Warning, format!("{} {fault}.", called(hook)));
    }
    if let Some(why) = &answer.stop {
        notice(NoticeSeverity::Warning, format!("{} stopped the agent: {why}", called(hook)));
    }
}

fn called(hook: &Hook) -> String {
    format!("The {} hook `{}`", hook.event, bounds::title(&hook.command))
}

//! The one gate every call goes through, whoever makes it: repair, validation, permission, run,
//! bounds, card and result.
//!
//! Invariant: a call always ends with a card that ended and a result for the caller, also when it is
//! denied, rejected, cancelled or panics.

use std::collections::BTreeSet;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::FutureExt;
use protocol::acp::{ToolCallContent, ToolCallStatus, ToolCallUpdate, ToolKind};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::ask::{self, Permission};
use crate::bounds;
use crate::cards;
use crate::dialects::{CANONICAL, Dialect, Shown};
use crate::editor::{Approval, Extras, Reviewed};
use crate::in_review::{self, End};
use crate::permission::{self, Policy, Verdict};
use crate::repair::Repaired;
use crate::sandbox::{self, Stopped};
use crate::session::Shared;
use crate::settings::{Mode, ReviewPolicy};
use crate::tool::{
    Access, Call, Caller, CommandAccess, Confined, Content, Cx, Entry, Failure, Form, Output,
    Review, Sees,
};
use crate::tools;
use crate::unsaved;

mod hooked;

use hooked::Wish;

/// A call as it arrives.
#[derive(Clone, Debug)]
pub struct Request {
    /// The card's id.
    pub id: String,
    /// Canonical name or alias.
    pub name: String,
    /// The input.
    pub input: Input,
    /// Who calls.
    pub caller: Caller,
    /// Whose names and fields the call uses.
    pub dialect: &'static Dialect,
    /// What the caller can be shown.
    pub sees: Sees,
}

/// The input as it arrives.
#[derive(Clone, Debug)]
pub enum Input {
    /// Already JSON.
    Value(Value),
    /// As a model wrote it; an empty text is an empty object.
    Text(String),
}

/// What the caller gets.
#[derive(Clone, Debug, PartialEq)]
pub struct Done {
    /// For the model.
    pub content: Vec<Content>,
    /// Failed, denied, rejected or cancelled.
    pub is_error: bool,
    /// Whether it ended because the turn was cancelled.
    pub cancelled: bool,
}

/// A call that may run: parsed, its access known, its card shown.
pub struct Prepared {
    entry: &'static Entry,
    call: Box<dyn Call>,
    request: Request,
    input: Value,
    notes: Vec<String>,
    /// What hooks said for the model before it ran.
    told: Vec<String>,
    /// What it touches.
    pub access: Access,
}

impl Prepared {
    /// Canonical name of its tool.
    pub fn tool(&self) -> &'static str {
        self.entry.name
    }

    /// Files it writes, as far as its input tells.
    pub fn changes(&self) -> Vec<PathBuf> {
        let paths = self.access.writes.iter().filter_map(|it| it.location.path());
        paths.map(Path::to_path_buf).collect()
    }
}

/// Runs one call from arrival to result.
pub async fn call(shared: &Arc<Shared>, request: Request, cancel: &CancellationToken) -> Done {
    match prepare(shared, request) {
        Ok(prepared) => run(shared, prepared, cancel).await,
        Err(done) => done,
    }
}

/// Parses a call and shows its card. An unknown tool or a bad input ends here.
pub fn prepare(shared: &Arc<Shared>, request: Request) -> Result<Prepared, Done> {
    let Some(shown) = request.dialect.find(&request.name) else {
        let text = request.dialect.unknown(&request.name);
        return Err(fail_early(shared, &request, &request.name, ToolKind::Other, text));
    };
    let entry = shown.entry;
    let rules = shared.rules();
    if permission::hidden(entry.name, &rules) {
        let text = format!("denied: the tool {0} is switched off by the rule `{0}`.", entry.name);
        return Err(fail_early(shared, &request, entry.name, (entry.kind)(), text));
    }
    let parsed = parse(shown, &request.input);
    let (call, repaired) = match parsed {
        Ok(parsed) => parsed,
        Err(text) => return Err(fail_early(shared, &request, entry.name, (entry.kind)(), text)),
    };
    let place = shared.place();
    let card = call.card(&place);
    let update = ToolCallUpdate::new(request.id.clone())
        .name(entry.name.to_string())
        .title(bounds::title(&card.title))
        .kind((entry.kind)())
        .status(ToolCallStatus::Pending)
        .locations(cards::locations(&card.locations))
        .raw_input(bounds::value(&repaired.input));
    shared.transcript.send(protocol::acp::SessionUpdate::ToolCallUpdate(update));
    match call.access(&place) {
        Ok(access) => Ok(Prepared {
            entry,
            call,
            request,
            input: repaired.input,
            notes: repaired.notes,
            told: Vec::new(),
            access,
        }),
        Err(failure) => Err(fail(shared, &request.id, &failure.to_string())),
    }
}

/// How far a call has come.
pub enum Ran {
    /// To its end.
    Done(Done),
    /// It has done its work, which the person has yet to decide on.
    InReview(Box<InReview>),
}

/// A call whose changes the person has yet to decide on.
pub struct InReview {
    id: String,
    entry: &'static Entry,
    input: Value,
    output: Output,
    notes: Vec<String>,
    decisions: watch::Receiver<Reviewed>,
    cancel: CancellationToken,
}

/// Asks where needed, runs the call, waits for its review and ends its card.
pub async fn run(shared: &Arc<Shared>, prepared: Prepared, cancel: &CancellationToken) -> Done {
    match start(shared, prepared, cancel).await {
        Ran::Done(done) => done,
        Ran::InReview(review) => finish_review(shared, *review).await,
    }
}

/// Asks where needed and runs the call. What is not in review has ended, its card with it.
pub async fn start(shared: &Arc<Shared>, prepared: Prepared, cancel: &CancellationToken) -> Ran {
    let id = prepared.request.id.clone();
    let cancel = shared.calls.begin(&id, cancel);
    let ran = AssertUnwindSafe(permitted(shared, prepared, &cancel)).catch_unwind().await;
    let done = match ran {
        Ok(Ran::InReview(review)) => return Ran::InReview(review),
        Ok(Ran::Done(done)) => done,
        Err(panic) => {
            let what = panic.downcast_ref::<&str>().map(|it| (*it).to_string());
            let what = what.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
            tracing::error!("tool call {id} panicked: {what}");
            fail(
                shared,
                &id,
                "The tool crashed; this is a fault of copydesk and was logged. Try another way.",
            )
        }
    };
    shared.calls.end(&id);
    Ran::Done(done)
}

/// Waits until the person has decided on what a call changed, and ends its card.
pub async fn finish_review(shared: &Arc<Shared>, review: InReview) -> Done {
    let InReview { id, entry, input, mut output, notes, mut decisions, cancel } = review;
    let end = in_review::wait(shared, &id, &mut output, &mut decisions, &cancel).await;
    let run = hooked::Run { id: &id, entry, input: &input };
    let done = match run.after(shared, Ok(output), &cancel).await {
        Ok(mut output) => {
            output.content = bounds::spill(output.content, bounds::RESULT, shared, &CANONICAL);
            finish(shared, &id, output, &notes, end)
        }
        Err(failure) => ended(shared, &id, failure),
    };
    shared.calls.end(&id);
    done
}

async fn permitted(
    shared: &Arc<Shared>,
    mut prepared: Prepared,
    cancel: &CancellationToken,
) -> Ran {
    let id = prepared.request.id.clone();
    // A turn that was cancelled begins nothing more, not even what would end at once.
    if cancel.is_cancelled() {
        return Ran::Done(ended(shared, &id, Failure::Cancelled));
    }
    let wish = match hooked::before(shared, &mut prepared, cancel).await {
        Ok(wish) => wish,
        Err(done) => return Ran::Done(done),
    };
    let approval = match judged(shared, &mut prepared, wish, cancel).await {
        Ok(_) if cancel.is_cancelled() => {
            return Ran::Done(ended(shared, &id, Failure::Cancelled));
        }
        Ok(approval) => approval,
        Err(done) => return Ran::Done(done),
    };
    let Prepared { entry, call, request, input, mut notes, told, access } = prepared;
    let started = ToolCallUpdate::new(request.id.clone()).status(ToolCallStatus::InProgress);
    shared.transcript.send(protocol::acp::SessionUpdate::ToolCallUpdate(started));
    if !access.is_read_only() {
        shared.transcript.sync();
    }
    if let Some(command) = &access.command {
        match unsaved::before_command(shared, &request.id, command, cancel).await {
            Ok(note) => notes.extend(note),
            Err(failure) => return Ran::Done(ended(shared, &request.id, failure)),
        }
    }
    let waits = is_reviewed(shared, &access);
    let decisions =
        waits.then(|| shared.world.editor.follow_review(&shared.id, &request.id)).flatten();
    let confined = sandbox::at_first(shared, access.command.as_ref());
    let review = if decisions.is_some() { Review::First } else { Review::Whenever };
    let cx = Cx { confined, review, ..context(shared, &request, approval, cancel) };
    let running = async {
        let output = call.run(&cx).await?;
        match &access.command {
            Some(command) if !output.denied.is_empty() => {
                let stopped = Stopped { entry, input: &input, command, output };
                sandbox::offer(&cx, stopped, cancel).await
            }
            Some(_) | None => Ok(output),
        }
    };
    let mut outcome = cancellable(cancel, running).await;
    if decisions.is_none() {
        let run = hooked::Run { id: &request.id, entry, input: &input };
        outcome = run.after(shared, outcome, cancel).await;
    }
    let output = match outcome {
        Ok(mut output) => {
            output.content.extend(told.into_iter().map(Content::Text));
            let content = bounds::spill(output.content, entry.longest, shared, request.dialect);
            Output { content, ..output }
        }
        Err(failure) => return Ran::Done(ended(shared, &request.id, failure)),
    };
    match decisions {
        Some(decisions) => {
            let (id, cancel) = (request.id, cancel.clone());
            let review = InReview { id, entry, input, output, notes, decisions, cancel };
            Ran::InReview(Box::new(review))
        }
        None => {
            notes.extend(waits.then(|| in_review::NOBODY.to_string()));
            Ran::Done(finish(shared, &request.id, output, &notes, End::Decided))
        }
    }
}

/// Whether the person decides on what a call changes before the agent goes on.
fn is_reviewed(shared: &Arc<Shared>, access: &Access) -> bool {
    match shared.world.config().settings.edits.review {
        ReviewPolicy::Blocking => !access.writes.is_empty() && access.command.is_none(),
        ReviewPolicy::AfterTurn | ReviewPolicy::Auto => false,
    }
}

/// What the files are that a call deletes, as far as it is told apart by their contents.
fn to_be_deleted(shared: &Arc<Shared>, prepared: &Prepared) -> Vec<Option<[u8; 32]>> {
    if (prepared.entry.kind)() != ToolKind::Delete {
        return Vec::new();
    }
    let vfs = &shared.world.vfs;
    let targets = prepared.access.writes.iter();
    targets.map(|it| vfs.content_hash(it.location.path()?).ok()).collect()
}

/// Who lets the call run. An answer may change the input, which is judged again.
async fn judged(
    shared: &Arc<Shared>,
    prepared: &mut Prepared,
    wish: Wish,
    cancel: &CancellationToken,
) -> Result<Approval, Done> {
    let id = prepared.request.id.clone();
    // An earlier call of the same step may have made a link of what was a file.
    let access = prepared.call.access(&shared.place());
    prepared.access = access.map_err(|failure| fail(shared, &id, &failure.to_string()))?;
    let Some((_, suggestion)) = to_ask(shared, prepared, &wish)? else {
        return Ok(Approval::Policy);
    };
    let answer = hooked::before_asking(shared, prepared, &suggestion, cancel).await?;
    // What it changed is decided on anew; what a hook wanted asked is asked unless another answers.
    let wish = if answer == Wish::Nothing { wish } else { answer };
    let Some((reason, suggestion)) = to_ask(shared, prepared, &wish)? else {
        return Ok(Approval::Policy);
    };
    let cx = context(shared, &prepared.request, Approval::Policy, cancel);
    let preview = cancellable(cancel, prepared.call.preview(&cx)).await;
    let preview = preview.map_err(|failure| ended(shared, &id, failure))?;
    let subject = Subject {
        entry: prepared.entry,
        input: &prepared.input,
        access: &prepared.access,
        preview,
        reason,
        suggestion,
    };
    let shown = to_be_deleted(shared, prepared);
    match permission_of(shared, &id, subject, cancel).await {
        Permission::Allowed { extras } => {
            match changed(prepared.entry, extras, &prepared.input) {
                Err(text) => return Err(fail(shared, &id, &text)),
                Ok(None) if leads_elsewhere(shared, prepared) => {
                    return Err(fail(
                        shared,
                        &id,
                        "The path leads elsewhere now than when the person was asked. Nothing was done; \
                         look at what is there before you call again.",
                    ));
                }
                Ok(None) if to_be_deleted(shared, prepared) != shown => {
                    return Err(fail(
                        shared,
                        &id,
                        "A file to be deleted changed while the person was asked. Nothing was deleted; look \
                         at what is there before you call again.",
                    ));
                }
                Ok(None) => return Ok(Approval::Person),
                Ok(Some((call, input, feedback))) => {
                    let access = call.access(&shared.place());
                    prepared.access =
                        access.map_err(|failure| fail(shared, &id, &failure.to_string()))?;
                    prepared.notes.push(format!(
                        "the person changed the input to {}{}",
                        bounds::text(&input.to_string(), 2_000),
                        feedback.map(|it| format!(" and says: {it}")).unwrap_or_default()
                    ));
                    (prepared.call, prepared.input) = (call, input);
                }
            }
            // What the person wrote is what they allow, unless a rule forbids it.
            match decide(shared, prepared) {
                Verdict::Deny { reason } => Err(fail(shared, &id, &reason)),
                Verdict::Allow | Verdict::Ask { .. } => Ok(Approval::Person),
            }
        }
        Permission::Rejected { feedback: Some(words) } => {
            Err(fail(shared, &id, &format!("rejected by the person, who says: {words}")))
        }
        Permission::Rejected { feedback: None } => Err(fail(
            shared,
            &id,
            "rejected by the person. Nothing was done. Ask what they want instead, or go on without it.",
        )),
        Permission::Nobody { rules } => {
            let trusted = shared.world.may_run_unasked();
            let hint = match (!rules.is_empty()).then(|| rules.join("` and `")) {
                Some(rule) if trusted => {
                    format!("Add the permission rule `{rule}`, or run in another mode.")
                }
                Some(rule) => format!(
                    "Trust this folder (in the editor, or for one run with `--trust`), and add the \
                     permission rule `{rule}` or run in another mode."
                ),
                None => "It needs a person who allows it.".to_string(),
            };
            let text = format!("denied: this needs permission and nobody is there to ask. {hint}");
            Err(fail(shared, &id, &text))
        }
        Permission::Cancelled => Err(ended(shared, &id, Failure::Cancelled)),
    }
}

/// Why the person is asked about a call, and the rules that would save the question; absent where they
/// are not asked.
fn to_ask(
    shared: &Arc<Shared>,
    prepared: &Prepared,
    wish: &Wish,
) -> Result<Option<(String, Vec<String>)>, Done> {
    match (decide(shared, prepared), wish) {
        (Verdict::Deny { reason }, _) => Err(fail(shared, &prepared.request.id, &reason)),
        (Verdict::Allow, Wish::Nothing | Wish::Skip) => Ok(None),
        (Verdict::Allow, Wish::Ask(reason)) => Ok(Some((reason.clone(), Vec::new()))),
        (Verdict::Ask { .. }, Wish::Skip) if hooked::may_skip(shared, prepared) => Ok(None),
        (Verdict::Ask { reason, suggestion }, Wish::Nothing | Wish::Skip) => {
            Ok(Some((reason, suggestion)))
        }
        (Verdict::Ask { reason, .. }, Wish::Ask(said)) => {
            Ok(Some((format!("{reason}; {said}"), Vec::new())))
        }
    }
}

/// Whether the call would touch other files than those the person allowed.
fn leads_elsewhere(shared: &Arc<Shared>, prepared: &Prepared) -> bool {
    let touched = |access: &Access| -> BTreeSet<PathBuf> {
        let targets = access.reads.iter().chain(&access.writes);
        targets.flat_map(|it| it.paths().into_iter().map(Path::to_path_buf)).collect()
    };
    let now = prepared.call.access(&shared.place());
    now.map_or(true, |now| touched(&now) != touched(&prepared.access))
}

fn decide(shared: &Arc<Shared>, prepared: &Prepared) -> Verdict {
    decide_in(shared, prepared, shared.mode())
}

fn decide_in(shared: &Arc<Shared>, prepared: &Prepared, mode: Mode) -> Verdict {
    let rules = shared.rules();
    let policy = Policy {
        rules: &rules,
        mode,
        trusted: shared.world.may_run_unasked(),
        plan_file: shared.plan_file.as_deref(),
    };
    permission::decide(prepared.entry.name, &prepared.access, &shared.place(), &policy)
}

/// Everything a question is about.
struct Subject<'a> {
    entry: &'static Entry,
    input: &'a Value,
    access: &'a Access,
    preview: Vec<ToolCallContent>,
    reason: String,
    suggestion: Vec<String>,
}

async fn permission_of(
    shared: &Arc<Shared>,
    id: &str,
    subject: Subject<'_>,
    cancel: &CancellationToken,
) -> Permission {
    let place = shared.place();
    let title = match &subject.access.command {
        Some(CommandAccess { script, form: Form::Command | Form::Program, .. }) => {
            format!("Run `{}`", bounds::title(script))
        }
        Some(CommandAccess { script, form: Form::Typed { terminal }, .. }) => {
            format!("Type `{}` into {terminal}", bounds::title(script))
        }
        None => match tools::find(subject.entry.name).map(|it| it.parse(subject.input.clone())) {
            Some(Ok(call)) => call.card(&place).title,
            Some(Err(_)) | None => subject.entry.name.to_string(),
        },
    };
    let mut card = ToolCallUpdate::new(id.to_string())
        .name(subject.entry.name.to_string())
        .title(title.clone())
        .kind((subject.entry.kind)())
        .raw_input(bounds::value(subject.input));
    if !subject.preview.is_empty() {
        let preview = cards::bounded(subject.preview);
        card = card.content(preview.clone());
        let shown = ToolCallUpdate::new(id.to_string()).content(preview);
        shared.transcript.send(protocol::acp::SessionUpdate::ToolCallUpdate(shown));
    }
    let caution = match &subject.access.command {
        Some(_) => sandbox::caution(shared).await.map(|it| format!("; {it}")).unwrap_or_default(),
        None => String::new(),
    };
    let words = subject.input["description"].as_str().map(bounds::title);
    let reason = match words.filter(|_| subject.access.command.is_some()) {
        Some(words) => format!("{} (the agent says: {words}){caution}", subject.reason),
        None => format!("{}{caution}", subject.reason),
    };
    let question = ask::Question {
        title,
        reason,
        card,
        command: subject.access.command.clone(),
        suggestion: subject.suggestion,
        offer: ask::Offer::Call,
    };
    ask::permission(shared, question, cancel).await
}

/// What an answer changed: the new call, its input and the person's words.
type Changed = (Box<dyn Call>, Value, Option<String>);

fn changed(
    entry: &'static Entry,
    extras: Extras,
    before: &Value,
) -> Result<Option<Changed>, String> {
    match extras.input {
        Some(input) if input != *before => {
            let shown = CANONICAL.find(entry.name).ok_or("the tool is gone")?;
            let (call, repaired) = parse(shown, &Input::Value(input))?;
            Ok(Some((call, repaired.input, extras.feedback)))
        }
        Some(_) | None => Ok(None),
    }
}

fn parse(shown: &Shown, input: &Input) -> Result<(Box<dyn Call>, Repaired), String> {
    let value = match input {
        Input::Value(value) => value.clone(),
        Input::Text(text) if text.trim().is_empty() => json!({}),
        Input::Text(text) => serde_json::from_str(text).map_err(|err| {
            format!("The arguments of {} are not valid JSON ({err}). Send the call again with valid JSON.", shown.name)
        })?,
    };
    let repaired = shown.read(value).map_err(|problems| {
        format!(
            "The arguments do not match the schema of {}: {}. Send the call again with these corrected.",
            shown.name,
            problems.join("; ")
        )
    })?;
    let call = shown.entry.parse(repaired.input.clone()).map_err(|err| {
        format!("The arguments do not match the schema of {}: {err}.", shown.name)
    })?;
    Ok((call, repaired))
}

fn context(
    shared: &Arc<Shared>,
    request: &Request,
    approval: Approval,
    cancel: &CancellationToken,
) -> Cx {
    Cx {
        place: shared.place(),
        vfs: shared.world.vfs.clone(),
        editor: shared.world.editor.clone(),
        session: shared.clone(),
        call: request.id.clone(),
        caller: request.caller,
        approval,
        dialect: request.dialect,
        sees: request.sees,
        confined: Confined::AsConfigured,
        review: Review::Whenever,
        cancel: cancel.clone(),
    }
}

/// Waits for a step; a tool that does not notice the cancellation itself is dropped.
async fn cancellable<T>(
    cancel: &CancellationToken,
    step: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    tokio::select! {
        biased;
        done = step => done,
        () = grace(cancel) => Err(Failure::Cancelled),
    }
}

/// Tools tidy up by themselves first: a command's group gets time to end.
async fn grace(cancel: &CancellationToken) {
    cancel.cancelled().await;
    tokio::time::sleep(std::time::Duration::from_millis(1_500)).await;
}

fn finish(shared: &Arc<Shared>, id: &str, output: Output, notes: &[String], end: End) -> Done {
    let mut content = output.content;
    if !notes.is_empty() {
        content.push(Content::Text(format!("[note: {}]", notes.join("; "))));
    }
    let card = if output.card.is_empty() { cards::of_content(&content) } else { output.card };
    let status = match end {
        End::Cancelled => ToolCallStatus::Cancelled,
        End::Decided if output.failed => ToolCallStatus::Failed,
        End::Decided => ToolCallStatus::Completed,
    };
    let mut update =
        ToolCallUpdate::new(id.to_string()).status(status).content(cards::bounded(card));
    if let Some(title) = output.title {
        update = update.title(bounds::title(&title));
    }
    if let Some(raw) = output.raw {
        update = update.raw_output(bounds::value(&raw));
    }
    shared.transcript.send(protocol::acp::SessionUpdate::ToolCallUpdate(update));
    Done { content, is_error: output.failed, cancelled: end == End::Cancelled }
}

fn ended(shared: &Arc<Shared>, id: &str, failure: Failure) -> Done {
    match failure {
        Failure::Told(text) => fail(shared, id, &text),
        Failure::Cancelled => {
            let update = ToolCallUpdate::new(id.to_string()).status(ToolCallStatus::Cancelled);
            shared.transcript.send(protocol::acp::SessionUpdate::ToolCallUpdate(update));
            let content = vec![Content::Text("Cancelled by the person before it finished.".into())];
            Done { content, is_error: true, cancelled: true }
        }
    }
}

fn fail(shared: &Arc<Shared>, id: &str, text: &str) -> Done {
    let content = vec![Content::Text(text.to_string())];
    let content = bounds::spill(content, bounds::RESULT, shared, &CANONICAL);
    let update = ToolCallUpdate::new(id.to_string())
        .status(ToolCallStatus::Failed)
        .content(cards::bounded(cards::of_content(&content)));
    shared.transcript.send(protocol::acp::SessionUpdate::ToolCallUpdate(update));
    Done { content, is_error: true, cancelled: false }
}

fn fail_early(
    shared: &Arc<Shared>,
    request: &Request,
    title: &str,
    kind: ToolKind,
    text: String,
) -> Done {
    let raw = match &request.input {
        Input::Value(value) => bounds::value(value),
        Input::Text(text) => Value::String(bounds::text(text, 4_000)),
    };
    let update = ToolCallUpdate::new(request.id.clone())
        .name(title.to_string())
        .title(bounds::title(title))
        .kind(kind)
        .raw_input(raw);
    shared.transcript.send(protocol::acp::SessionUpdate::ToolCallUpdate(update));
    fail(shared, &request.id, &text)
}

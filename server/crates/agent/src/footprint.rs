//! What a command leaves behind in the workspace: looked for at its end, entered as pending changes of its call,
//! told to the model and shown on the card.
//!
//! Invariant: a command that may write is looked after wherever it runs, in the foreground, as a job, cancelled; what
//! cannot be taken back is named, never guessed.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use protocol::acp::{SessionUpdate, ToolCallContent, ToolCallUpdate};
use tokio::sync::watch;
use vfs::{Before, Changes, Location, MAX_CHANGED};

use crate::cards;
use crate::editor::Found;
use crate::permission::shell;
use crate::session::Shared;
use crate::tool::Cx;

mod git;
mod told;

use told::Told;

/// How long an editor may take to read changed files anew before the model is told.
const RELOADS: Duration = Duration::from_secs(1);
/// How long a job's notice waits for what the job changed.
const LATE: Duration = Duration::from_secs(10);

/// The commands of a session that are looked after, by call.
#[derive(Default)]
pub struct Footprints(Mutex<HashMap<String, Print>>);

struct Print {
    /// Absent while it is looked at, and where the workspace is too large.
    before: Option<Before>,
    runs: Runs,
    /// Told once, when its changes have been entered for the last time.
    done: watch::Sender<bool>,
}

/// Who sees to the end of a command.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Runs {
    /// The call itself.
    Foreground,
    /// The job.
    Background,
    /// The call: the job has ended while the call still looked.
    Ended,
}

/// What a look found, for the result and the card.
#[derive(Default)]
pub struct Traces {
    /// Lines for the model.
    pub lines: Vec<String>,
    /// Diffs for the card.
    pub card: Vec<ToolCallContent>,
}

/// Begins to look after the command of a call that its own task waits for.
pub async fn begin(cx: &Cx, script: &str) {
    start(cx, script, Runs::Foreground).await;
}

/// Begins to look after what is typed into a program, for as long as the call waits.
pub async fn begin_typed(cx: &Cx) {
    watch(cx, Runs::Foreground).await;
}

/// Begins to look after a command that is a job from the start.
pub async fn begin_job(cx: &Cx, script: &str) {
    start(cx, script, Runs::Background).await;
}

/// The command never ran.
pub fn forget(cx: &Cx) {
    if cx.session.calls.footprints.lock().remove(&cx.call).is_some() {
        cx.editor.command_ended(&cx.session.id, &cx.call);
    }
}

/// What the command, which has ended, left behind.
pub async fn finish(cx: &Cx) -> Traces {
    look(&cx.session, &cx.call, Next::End).await
}

/// What the command left behind so far; it goes on as a job.
pub async fn goes_on(cx: &Cx) -> Traces {
    let traces = look(&cx.session, &cx.call, Next::Job).await;
    let ended = {
        let mut prints = cx.session.calls.footprints.lock();
        let print = prints.get_mut(&cx.call);
        print.is_some_and(|it| std::mem::replace(&mut it.runs, Runs::Background) == Runs::Ended)
    };
    if ended {
        job_ended(&cx.session, &cx.call);
    }
    traces
}

/// The call was given up; what it left behind is told with the next request.
pub fn abandon(cx: &Cx) {
    tell_later(&cx.session, &cx.call);
}

/// A command ended. What a job left behind is told with the next request; a call in the foreground sees to it itself.
pub fn job_ended(shared: &Arc<Shared>, call: &str) {
    {
        let mut prints = shared.calls.footprints.lock();
        match prints.get_mut(call) {
            Some(print) if print.runs == Runs::Background => {}
            Some(print) => {
                print.runs = Runs::Ended;
                return;
            }
            None => return,
        }
    }
    tell_later(shared, call);
}

/// Waits until what a job changed has been entered; returns at once for one that is not looked after.
pub async fn settled(shared: &Arc<Shared>, call: &str) {
    let done = shared.calls.footprints.lock().get(call).map(|it| it.done.subscribe());
    if let Some(mut done) = done {
        // An end that takes longer is told later.
        let _ = tokio::time::timeout(LATE, done.wait_for(|it| *it)).await;
    }
}

/// What becomes of the footprint after a look.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    End,
    Job,
}

async fn start(cx: &Cx, script: &str, runs: Runs) {
    if shell::is_read_only(script, &cx.place) {
        return;
    }
    watch(cx, runs).await;
}

async fn watch(cx: &Cx, runs: Runs) {
    cx.editor.command_started(&cx.session.id, &cx.call);
    let (vfs, roots) = (cx.vfs.clone(), Arc::clone(&cx.place.roots));
    let in_use: Vec<_> =
        cx.session.seen.known().iter().filter_map(|it| it.path().map(ToOwned::to_owned)).collect();
    let before = tokio::task::spawn_blocking(move || vfs.before_command(&roots, &in_use)).await;
    let print = Print { before: before.ok().flatten(), runs, done: watch::Sender::new(false) };
    cx.session.calls.footprints.lock().insert(cx.call.clone(), print);
}

fn tell_later(shared: &Arc<Shared>, call: &str) {
    let (shared, call) = (Arc::clone(shared), call.to_owned());
    tokio::spawn(async move {
        let traces = look(&shared, &call, Next::End).await;
        if traces.lines.is_empty() {
            return;
        }
        shared.note(format!("The command of call {call} has ended.\n{}", traces.lines.join("\n")));
        if !traces.card.is_empty() {
            let card = ToolCallUpdate::new(call).content(cards::bounded(traces.card));
            shared.transcript.send(SessionUpdate::ToolCallUpdate(card));
        }
    });
}

/// Finds what changed, enters it, and says so.
async fn look(shared: &Arc<Shared>, call: &str, next: Next) -> Traces {
    let Some(before) = shared.calls.footprints.lock().get_mut(call).map(|it| it.before.take())
    else {
        return Traces::default();
    };
    let traces = match before {
        Some(before) => {
            match tokio::task::spawn_blocking(move || before.changes()).await.ok().flatten() {
                Some((changes, later)) => {
                    if let Some(print) = shared.calls.footprints.lock().get_mut(call) {
                        print.before = Some(later);
                    }
                    enter(shared, call, changes).await
                }
                None => untold(),
            }
        }
        None => untold(),
    };
    if next == Next::End {
        shared.world.editor.command_ended(&shared.id, call);
        if let Some(print) = shared.calls.footprints.lock().remove(call) {
            print.done.send_replace(true);
        }
    }
    traces
}

fn untold() -> Traces {
    let line = "[the workspace is too large to be looked through: files this command changed are not listed and cannot \
                be taken back in a review]";
    Traces { lines: vec![line.to_owned()], card: Vec::new() }
}

async fn enter(shared: &Arc<Shared>, call: &str, changes: Changes) -> Traces {
    let place = shared.place();
    let unreadable = shared.rules().unreadable(&place);
    let denied = move |path: &Path| unreadable.as_ref().is_some_and(|covers| covers(path));
    let mut told = Told::new(place, Box::new(denied));
    if let Some((names, count)) = changes.many {
        told.many(&names, count, MAX_CHANGED);
    }
    let objects = git::contents(&shared.world, &changes.files).await;
    let files = told.sort(&shared.world.vfs, changes.files, &objects);
    if files.is_empty() {
        return told.traces();
    }
    reloaded(shared, files.iter().map(|it| &it.location)).await;
    let found = Found {
        session: shared.id.clone(),
        call: call.to_owned(),
        files: files.clone(),
        review: shared.world.config().settings.edits.review,
    };
    let outcomes = shared.world.editor.found(found).await;
    for (file, outcome) in files.iter().zip(outcomes) {
        told.entered(file, outcome);
    }
    let locations: Vec<(Location, Option<u32>)> =
        files.into_iter().map(|it| (it.location, None)).take(20).collect();
    let places = ToolCallUpdate::new(call.to_owned()).locations(cards::locations(&locations));
    shared.transcript.send(SessionUpdate::ToolCallUpdate(places));
    told.traces()
}

/// Waits a moment for editors that watch their files to show them as they are now.
async fn reloaded(shared: &Arc<Shared>, changed: impl Iterator<Item = &Location>) {
    let vfs = &shared.world.vfs;
    let mut watched = Vec::new();
    for location in changed {
        // Watched before it is looked at, so that nothing is missed.
        let change = vfs.watch(location);
        if vfs.is_behind(location) {
            watched.push((location, change));
        }
    }
    let all = async {
        for (location, mut change) in watched {
            while vfs.is_behind(location) {
                if change.changed().await.is_err() {
                    break;
                }
            }
        }
    };
    // An editor that does not watch is told of in the result.
    let _ = tokio::time::timeout(RELOADS, all).await;
}

impl Footprints {
    fn lock(&self) -> MutexGuard<'_, HashMap<String, Print>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

//! The confinement of commands by the kernel: what the settings make of it, what is told of a denial,
//! and the offer to run a command that was stopped outside.
//!
//! Invariant: a command leaves the sandbox by a rule or an answer of the person's, never because it
//! cannot be confined.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use exec::{Denial, Grant, Sandbox, SpawnError};
use protocol::acp::ToolCallUpdate;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::ask::{self, Offer, Permission, Question};
use crate::bounds;
use crate::footprint;
use crate::permission::{self, Policy, Touch, Verdict};
use crate::place::Place;
use crate::session::Shared;
use crate::settings::{Confinement, Shell};
use crate::tool::{CommandAccess, Confined, Content, Cx, Entry, Failure, Output};

/// Folders for temporary files besides `$TMPDIR`, and where programs share memory.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Characters of what a command printed in the sandbox that are kept where it ran again.
const FIRST: usize = 4_000;

/// What the command of a call is confined to; `None`: to nothing.
pub async fn of(cx: &Cx) -> Option<Sandbox> {
    match cx.confined {
        Confined::AsConfigured => {
            let mut sandbox = configured(&cx.session.world.config().settings.shell, &cx.place)?;
            sandbox.hidden = hidden(cx).await;
            Some(sandbox)
        }
        Confined::Outside => None,
    }
}

/// What a question about a command has to say of the sandbox.
pub async fn caution(shared: &Arc<Shared>) -> Option<&'static str> {
    match shared.world.config().settings.shell.sandbox {
        Confinement::Off => None,
        Confinement::WorkspaceWrite | Confinement::ReadOnly => {
            let hides = shared.world.supervisor.can_hide().await;
            (!hides).then_some(
                "the sandbox cannot hide files with secrets here: the command can read them",
            )
        }
    }
}

/// One line about the confinement for the model; `None` where there is none.
pub fn described(shell: &Shell) -> Option<String> {
    let network = if shell.sandbox_network { "" } else { " and have no network" };
    let writing = match shell.sandbox {
        Confinement::Off => return None,
        Confinement::WorkspaceWrite => {
            "Commands run in a sandbox: they can write only in the workspace and temporary folders"
        }
        Confinement::ReadOnly => "Commands run in a sandbox: they can write nowhere",
    };
    Some(format!(
        "{writing}{network}; files with secrets are hidden. The person is asked when one fails because of that."
    ))
}

/// What was denied, as one line for the model.
pub fn told(denied: &[Denial]) -> Option<String> {
    let all: Vec<String> = denied.iter().map(ToString::to_string).collect();
    (!all.is_empty()).then(|| format!("[sandbox: {}]", all.join("; ")))
}

/// A command that was not started: where it could not be confined, it may be offered to run outside.
pub fn not_started(cx: &Cx, err: SpawnError) -> Result<Output, Failure> {
    footprint::forget(cx);
    let text = format!("The command could not be started: {err}.");
    match err {
        SpawnError::NoSandbox(why) => {
            let denied = vec![Denial::Unsupported(why)];
            Ok(Output { failed: true, denied, ..Output::text(text) })
        }
        SpawnError::ProgramNotFound(_)
        | SpawnError::DirectoryMissing(_)
        | SpawnError::TooManyJobs(_)
        | SpawnError::Os(_)
        | SpawnError::NoRoom(..)
        | SpawnError::Closed
        | SpawnError::Supervisor(_) => Err(Failure::new(text)),
    }
}

/// Whether the command runs confined the first time.
pub fn at_first(shared: &Arc<Shared>, command: Option<&CommandAccess>) -> Confined {
    match command.map(|it| decide(shared, it)) {
        Some(Verdict::Allow) => Confined::Outside,
        Some(Verdict::Ask { .. } | Verdict::Deny { .. }) | None => Confined::AsConfigured,
    }
}

/// What stopped a call's command, and the call.
pub struct Stopped<'a> {
    /// The tool.
    pub entry: &'static Entry,
    /// The call's input.
    pub input: &'a Value,
    /// The command.
    pub command: &'a CommandAccess,
    /// The result of the run that was stopped.
    pub output: Output,
}

/// Offers to run a command that the sandbox stopped outside of it, and does so where that is wanted.
pub async fn offer(
    cx: &Cx,
    stopped: Stopped<'_>,
    cancel: &CancellationToken,
) -> Result<Output, Failure> {
    let Stopped { entry, input, command, output } = stopped;
    let (reason, suggestion) = match decide(&cx.session, command) {
        Verdict::Ask { reason, suggestion } => (reason, suggestion),
        Verdict::Deny { reason } => {
            return Ok(noted(output, &format!("It is not run outside the sandbox: {reason}.")));
        }
        Verdict::Allow => return run_outside(cx, entry, input, output).await,
    };
    let denied: Vec<String> = output.denied.iter().map(ToString::to_string).collect();
    let question = Question {
        title: format!("Run `{}` outside the sandbox?", bounds::title(&command.script)),
        reason: format!(
            "{reason}: {}. What it did until then stays; it is run from its beginning",
            bounds::text(&denied.join("; "), 2_000)
        ),
        card: ToolCallUpdate::new(cx.call.clone()),
        command: Some(command.clone()),
        suggestion,
        offer: Offer::Outside,
    };
    let words = match ask::permission(&cx.session, question, cancel).await {
        Permission::Allowed { extras } => match extras.input {
            Some(changed) if changed != *input => {
                format!("The person wants it to be called with this input instead: {changed}")
            }
            Some(_) | None => return run_outside(cx, entry, input, output).await,
        },
        Permission::Rejected { feedback: Some(words) } => {
            format!("The person did not let it run outside the sandbox, and says: {words}")
        }
        Permission::Rejected { feedback: None } => {
            "The person did not let it run outside the sandbox. Do without, or ask what they want."
                .into()
        }
        Permission::Nobody { rules } => {
            let rule =
                rules.first().map(|it| format!("; the rule `{it}` would")).unwrap_or_default();
            format!("Nobody is there to let it run outside the sandbox{rule}.")
        }
        Permission::Cancelled => return Err(Failure::Cancelled),
    };
    Ok(noted(output, &words))
}

async fn run_outside(
    cx: &Cx,
    entry: &'static Entry,
    input: &Value,
    first: Output,
) -> Result<Output, Failure> {
    let call = entry.parse(input.clone()).map_err(|err| Failure::new(err.to_string()))?;
    let cx = Cx { place: cx.session.place(), confined: Confined::Outside, ..cx.clone() };
    let mut output = call.run(&cx).await?;
    let printed: Vec<&str> = first.content.iter().filter_map(Content::as_text).collect();
    let before = format!(
        "{}\n[the person let it run outside the sandbox, from its beginning:]",
        bounds::text(&printed.join("\n"), FIRST)
    );
    output.content.insert(0, Content::Text(before));
    output.card.splice(0..0, first.card);
    Ok(output)
}

fn noted(mut output: Output, words: &str) -> Output {
    output.content.push(Content::Text(format!("[{words}]")));
    output
}

fn decide(shared: &Arc<Shared>, command: &CommandAccess) -> Verdict {
    let rules = shared.rules();
    let policy = Policy {
        rules: &rules,
        mode: shared.mode(),
        trusted: shared.world.may_run_unasked(),
        plan_file: None,
    };
    permission::decide_outside(&command.script, &shared.place().from(&command.cwd), &policy)
}

/// Files with secrets, but for those that a rule of the person's own opens.
async fn hidden(cx: &Cx) -> Vec<OsString> {
    if !cx.session.world.supervisor.can_hide().await {
        return Vec::new();
    }
    let folders = cx.place.folders();
    let search = move || vfs::secrets(&folders, std::env::home_dir().as_deref());
    let found = tokio::task::spawn_blocking(search).await.unwrap_or_else(|error| {
        tracing::error!(%error, "files with secrets were not looked for");
        Vec::new()
    });
    let rules = cx.session.rules();
    let closed = |it: &PathBuf| !rules.names_path(it, Touch::Read, &cx.place);
    found.into_iter().filter(closed).map(PathBuf::into_os_string).collect()
}

fn configured(shell: &Shell, place: &Place) -> Option<Sandbox> {
    let network = if shell.sandbox_network { Grant::Allowed } else { Grant::Denied };
    match shell.sandbox {
        Confinement::Off => None,
        Confinement::WorkspaceWrite => {
            let writable = writable(shell, place);
            Some(Sandbox { writable, hidden: Vec::new(), attributes: Grant::Allowed, network })
        }
        Confinement::ReadOnly => {
            let writable = Vec::new();
            Some(Sandbox { writable, hidden: Vec::new(), attributes: Grant::Denied, network })
        }
    }
}

fn writable(shell: &Shell, place: &Place) -> Vec<OsString> {
    let roots = place.roots.paths().map(|it| it.as_os_str().to_owned());
    let temporary = std::env::var_os("TMPDIR").into_iter().chain(TEMPORARY.map(OsString::from));
    let named = shell.sandbox_writable.iter().filter_map(|it| {
        let location = place.roots.resolve(&place.cwd, it).location;
        location.path().map(|it| it.as_os_str().to_owned())
    });
    roots.chain(temporary).chain(named).collect()
}

#[cfg(test)]
mod tests;

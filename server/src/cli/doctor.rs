//! `copydesk doctor`: what is there, what is missing, and what to type.

use std::process::ExitCode;

use agent::settings::{Confinement, Settings};
use clap::Args;
use exec::Supervisor;

use super::boot;
use super::{Place, misuse, say};
use crate::config::{self, Sources, state_dir, trust};

/// Arguments of `copydesk doctor`.
#[derive(Args)]
pub struct Doctor {
    #[command(flatten)]
    place: Place,
}

/// Runs the command. The exit code is 1 where something keeps the agent from working.
pub async fn run_checks(doctor: Doctor, supervisor: Supervisor) -> ExitCode {
    let root = match boot::root(&doctor.place) {
        Ok(root) => root,
        Err(text) => return misuse(&text),
    };
    let sources = Sources { folders: vec![root.clone()], state: state_dir(), ..Sources::default() };
    let loaded = config::load(&sources);
    let mut report = Report::default();
    report.good(&format!("copydesk {}", env!("CARGO_PKG_VERSION")));
    let problems = config::problems(Some(&root));
    if problems.is_empty() {
        match loaded.files.len() {
            0 => report.good("configuration: none, the defaults are used"),
            _ => {
                let files: Vec<String> =
                    loaded.files.iter().map(|it| it.display().to_string()).collect();
                report.good(&format!("configuration: {}", files.join(", ")));
            }
        }
    }
    for problem in problems {
        report.bad(
            &problem.to_string(),
            "correct that line; `copydesk config schema` lists the keys",
        );
    }
    model(&mut report, &loaded.settings, &supervisor).await;
    if trust::is_trusted(&sources) {
        report.good("this folder is trusted");
    } else {
        report.note(
            "this folder is not trusted: edits and commands ask, and its own settings grant nothing. Trust \
             it in the editor, or for one run with `copydesk run --trust`",
        );
    }
    commands(&mut report, &loaded.settings, &supervisor).await;
    programs(&mut report);
    match state_dir() {
        Some(dir) => match vfs::state::private_dir(&dir) {
            Ok(()) => report.good(&format!("state and logs: {}", dir.display())),
            Err(err) => report.bad(
                &format!("state cannot be kept in {}: {err}", dir.display()),
                "make the folder writable, or set XDG_STATE_HOME",
            ),
        },
        None => report.bad("there is no folder for state", "set HOME or XDG_STATE_HOME"),
    }
    say(&report.text);
    if report.failed { ExitCode::from(1) } else { ExitCode::SUCCESS }
}

async fn model(report: &mut Report, settings: &Settings, supervisor: &Supervisor) {
    for found in llm::discover(&|name| std::env::var(name).ok()) {
        report.good(&format!("found {} ({}/{})", found.how, found.provider, found.model));
    }
    for found in llm::discover_local().await {
        report.good(&format!("found {} ({}/{})", found.how, found.provider, found.model));
    }
    let chosen = match agent::provider::choose(settings, None, supervisor).await {
        Ok(chosen) => chosen,
        Err(text) => return report.bad("no model can be used", &text),
    };
    let listing =
        tokio::time::timeout(std::time::Duration::from_secs(10), chosen.provider.models());
    match listing.await {
        Ok(Ok(_)) => report.good(&format!("model: {} answers", chosen.label)),
        Ok(Err(err)) => report.bad(
            &format!("the endpoint of {} was asked and said: {err}", chosen.label),
            "check `base_url` and the key of that provider",
        ),
        Err(_) => report.bad(
            &format!("the endpoint of {} did not answer within 10 s", chosen.label),
            "check that it runs and that `base_url` is right",
        ),
    }
}

async fn commands(report: &mut Report, settings: &Settings, supervisor: &Supervisor) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let shell = match &settings.shell.program {
        Some(program) => exec::Shell::named(program, &path),
        None => Ok(exec::Shell::find(&path)),
    };
    match shell {
        Ok(shell) => report.good(&format!("shell: {}", shell.program.display())),
        Err(why) => report.bad(&why, "correct `program` of [shell], or leave it out"),
    }
    match config::unconfined(settings) {
        Some(why) => report.bad(&why, "use a newer kernel, or set `sandbox` of [shell] to `off`"),
        None => report.good(&format!("sandbox of commands: {}", settings.shell.sandbox.id())),
    }
    if settings.shell.sandbox != Confinement::Off && !supervisor.can_hide().await {
        report.note("files with secrets cannot be hidden from commands: no user namespaces");
    }
}

fn programs(report: &mut Report) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let vfs = boot::vfs();
    let has =
        |name: &str| std::env::split_paths(&path).any(|dir| vfs.kind(&dir.join(name)).is_some());
    for (name, what) in [("git", "git"), ("nvim", "Neovim"), ("code", "VS Code")] {
        if has(name) {
            report.good(&format!("{what} is there"));
        } else {
            report.note(&format!("{what} was not found on PATH"));
        }
    }
}

#[derive(Default)]
struct Report {
    text: String,
    failed: bool,
}

impl Report {
    fn good(&mut self, text: &str) {
        self.line("ok", text);
    }

    fn note(&mut self, text: &str) {
        self.line("note", text);
    }

    fn bad(&mut self, text: &str, advice: &str) {
        self.failed = true;
        self.line("problem", text);
        self.line("", &format!("→ {advice}"));
    }

    fn line(&mut self, mark: &str, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(&format!("{mark:<8} {text}"));
    }
}

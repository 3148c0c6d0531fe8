//! `copydesk demo`: a whole turn on a sample project. The model is recorded; the tools, the files, the
//! buffer and the test run are real.

use std::process::ExitCode;
use std::sync::Arc;

use agent::session::new_id;
use clap::Args;
use exec::Supervisor;
use serde_json::json;
use vfs::state::TempDir;
use vfs::{Location, Vfs};

use super::boot::{self, Wish};
use super::fail;
use super::run::turn;
use super::terminal::{Asking, Style, Terminal};
use crate::headless::Headless;

const CART: &str = include_str!("demo/project/cart.sh");
const TEST: &str = include_str!("demo/project/test.sh");
const RULES: &str = include_str!("demo/project/RULES.md");
const UNSAVED: &str = include_str!("demo/project/RULES.unsaved.md");
const RECORDING: &str = include_str!("demo/recording.json");

const PROMPT: &str =
    "The pricing rules changed, see RULES.md. Make the code follow them and the tests pass.";

/// Arguments of `copydesk demo`.
#[derive(Args)]
pub struct Demo {
    /// Keep the sample project and say where it is.
    #[arg(long)]
    keep: bool,
}

/// Runs the demo.
pub async fn run_demo(demo: Demo, supervisor: Supervisor) -> ExitCode {
    let files: [(&str, &[u8]); 4] = [
        ("project/cart.sh", CART.as_bytes()),
        ("project/test.sh", TEST.as_bytes()),
        ("project/RULES.md", RULES.as_bytes()),
        ("recording.json", RECORDING.as_bytes()),
    ];
    let folder = match TempDir::with_files(files) {
        Ok(folder) => folder,
        Err(err) => return fail(&format!("the sample project cannot be made: {err}")),
    };
    let code = play(&folder, supervisor).await.unwrap_or_else(|text| fail(&text));
    if demo.keep {
        let kept = folder.keep();
        super::say(&format!("The sample project is in {}", kept.join("project").display()));
    }
    code
}

async fn play(folder: &TempDir, supervisor: Supervisor) -> Result<ExitCode, String> {
    let root = folder.path().join("project");
    // Nothing of the sample project is left in the person's own state.
    let vfs = Vfs::new(vfs::Options {
        unit: text::Unit::Utf8,
        breaks: text::LineBreaks::Lf,
        state_dir: Some(folder.path().join("state")),
    });
    let terminal = Arc::new(Terminal::new(Style::detect(), Asking::AllowAll));
    let editor = Headless::new(vfs.clone(), terminal.clone()).map_err(|err| err.to_string())?;
    let rules = Location::disk(root.join("RULES.md"));
    vfs.open(rules.clone(), "markdown", 1, UNSAVED);

    terminal.heading("A sample project");
    terminal.line("  cart.sh    computes the total of a cart");
    terminal.line("  test.sh    its tests; one fails");
    terminal.line("  RULES.md   open in the editor, with changes you have not saved:");
    terminal.line(&difference(&vfs, &rules)?);
    terminal.heading("You ask");
    terminal.line(&format!("  {PROMPT}"));

    let recording = folder.path().join("recording.json").display().to_string();
    let settings = json!({
        "model": "demo/recorded",
        "providers": { "demo": { "protocol": "replay", "file": recording } },
    });
    let wish = Wish {
        root: root.clone(),
        own_call: false,
        settings,
        trusted: Some(true),
        state: Some(folder.path().join("state")),
    };
    let sessions = boot::sessions(wish, vfs.clone(), Arc::new(editor), supervisor);
    let session = sessions.begin(new_id("session"), root, Vec::new()).map_err(|err| err.message)?;
    let code = turn(&terminal, &session, PROMPT.into()).await;
    session.close().await;

    terminal.heading("What is where now");
    terminal.line("  cart.sh: changed on disk.");
    let file =
        vfs.disk_snapshot(rules.path().unwrap_or(folder.path())).map_err(|err| err.to_string())?;
    let untouched = file.rope == RULES;
    terminal.line(if untouched {
        "  RULES.md: the file is untouched; the buffer holds your unsaved text and the agent's line:"
    } else {
        "  RULES.md: the file was changed, which must not happen."
    });
    terminal.line(&difference(&vfs, &rules)?);
    terminal.line(
        "\nNext: set ANTHROPIC_API_KEY (or OPENAI_API_KEY, or start a local model server) and try\n  \
         copydesk run \"…\"        in a project of yours\n  copydesk doctor         to see what is missing",
    );
    Ok(if untouched { code } else { ExitCode::from(1) })
}

/// The buffer against its file, as a diff.
fn difference(vfs: &Vfs, location: &Location) -> Result<String, String> {
    let buffer = vfs.open_snapshot(location).ok_or("the buffer is gone")?;
    let path = location.path().ok_or("the buffer has no file")?;
    let file = vfs.disk_snapshot(path).map_err(|err| err.to_string())?;
    let changes = text::ChangeSet::between(&file.rope, &buffer.rope);
    let diff = text::diff::unified(&file.rope, &changes, 0);
    let lines: Vec<String> =
        diff.lines().filter(|it| !it.starts_with("@@")).map(|it| format!("    {it}")).collect();
    Ok(lines.join("\n"))
}

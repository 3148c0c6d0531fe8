//! Plays the stories of `tests/scenarios` through the fake editor; the format is described in the README there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::editor::{Answer, Editor, Kind, Start, Told};
use crate::model::{Model, Step};
use crate::workspace::{Workspace, project};

const STORIES: [&str; 6] =
    ["cancel", "command", "dirty-buffer-edit", "failing-edit-then-retry", "new-file", "two-files"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Story {
    prompt: String,
    permission: String,
    mode: Option<String>,
    cancel_when: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ModelStep {
    #[serde(default)]
    text: String,
    #[serde(default)]
    calls: Vec<Call>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    name: String,
    input: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Expect {
    stop: String,
    said: String,
    buffers: BTreeMap<String, String>,
    disk: BTreeMap<String, Option<String>>,
    cards: Vec<Card>,
    model_saw: Vec<String>,
    model_requests: Option<usize>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Card {
    kind: String,
    status: String,
}

#[test]
fn every_story_is_played() {
    let entries = std::fs::read_dir(folder()).unwrap().flatten().filter(|e| e.path().is_dir());
    let mut found: Vec<_> = entries.map(|e| e.file_name().into_string().unwrap()).collect();
    found.retain(|name| !name.starts_with('_'));
    found.sort();
    assert_eq!(found, STORIES);
}

#[test]
fn a_dirty_buffer_is_edited() {
    play("dirty-buffer-edit");
}

#[test]
fn two_files_are_edited() {
    play("two-files");
}

#[test]
fn a_new_file_is_written() {
    play("new-file");
}

#[test]
fn a_failing_edit_is_tried_again() {
    play("failing-edit-then-retry");
}

#[test]
fn a_command_is_run() {
    play("command");
}

#[test]
fn a_slow_command_is_cancelled() {
    play("cancel");
}

fn folder() -> PathBuf {
    project().join("tests/scenarios")
}

#[track_caller]
fn play(name: &str) {
    for (kind, told) in [(Kind::Strict, Told::BeforeAnswer), (Kind::Lying, Told::AfterAnswer)] {
        play_in(name, kind, told);
    }
}

#[track_caller]
fn play_in(name: &str, kind: Kind, told: Told) {
    let folder = folder().join(name);
    let story: Story = read(&folder, "story.json");
    let unsaved: BTreeMap<String, String> = read(&folder, "unsaved.json");
    let steps: Vec<ModelStep> = read(&folder, "model.json");
    let expect: Expect = read(&folder, "expect.json");

    let workspace = Workspace::new(&[]);
    copy(&folder.join("workspace"), workspace.root());
    let model = Model::new(steps.into_iter().map(|step| {
        step.calls
            .into_iter()
            .fold(Step::text(&step.text), |s, call| s.and_call(&call.name, call.input))
    }));
    let editor = Start::new(&workspace).kind(kind).told(told).settings(&model.settings()).start();
    editor.permit(match story.permission.as_str() {
        "allow_once" => Answer::Option("allow_once"),
        "allow_always" => Answer::Option("allow_always"),
        "reject_once" => Answer::Option("reject_once"),
        other => panic!("{name}: no such answer: {other}"),
    });
    for (path, text) in &unsaved {
        make_unsaved(&editor, &workspace, path, text);
    }
    let session = editor.session();
    if let Some(mode) = &story.mode {
        session.set("mode", mode);
    }
    let mark = session.send(&story.prompt);
    if let Some(kind) = &story.cancel_when {
        session.wait_card(kind, "in_progress");
        session.cancel();
    }

    assert_eq!(session.until_idle(mark), expect.stop, "{name}: stop reason");
    assert_eq!(session.said(mark), expect.said, "{name}: text");
    let word = |card: &Value, key: &str| card[key].as_str().unwrap_or_default().to_owned();
    let cards: Vec<_> = session
        .cards()
        .iter()
        .map(|c| Card { kind: word(c, "kind"), status: word(c, "status") })
        .collect();
    assert_eq!(cards, expect.cards, "{name}: cards");
    for (path, text) in &expect.buffers {
        assert_eq!(&editor.text(path), text, "{name}: buffer {path}");
    }
    for (path, text) in &expect.disk {
        let found = workspace.has(path).then(|| workspace.read(path));
        assert_eq!(&found, text, "{name}: disk {path}");
    }
    let results = model.results().join("\n");
    for text in &expect.model_saw {
        assert!(results.contains(text), "{name}: the model never saw {text:?}: {results}");
    }
    if let Some(count) = expect.model_requests {
        assert_eq!(model.requests().len(), count, "{name}: model requests");
    }
}

/// Opens the file and types until its buffer holds this text.
fn make_unsaved(editor: &Editor, workspace: &Workspace, path: &str, text: &str) {
    if !workspace.has(path) {
        return editor.open_text(&workspace.uri(path), text);
    }
    let uri = editor.open_file(path);
    let mut state = editor.lock();
    let all = 0..state.documents[&uri].text.len();
    state.type_at(&uri, all, text);
}

#[track_caller]
fn read<T: for<'a> Deserialize<'a>>(folder: &Path, file: &str) -> T {
    let path = folder.join(file);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().flatten() {
        if entry.path().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()));
        } else {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}

//! The configuration: the person's file, the project's, its private one, and the editor's settings.
//!
//! Invariant: a mistake is reported with file, line and the nearest key, and never stops the server.
//! What a project says about what may run counts only after the person trusts the folder; what it
//! denies always counts.

pub mod check;
pub mod trust;

use std::path::{Path, PathBuf};

use agent::permission::{Decision, Rule};
use agent::settings::{Confinement, Settings};
use agent::world::Config;
use serde_json::{Map, Value};
use vfs::state;

pub use check::{Problem, schema};

/// Where settings come from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// The workspace's folders; the first one's project files count.
    pub folders: Vec<PathBuf>,
    /// The editor's settings, as JSON.
    pub editor: Value,
    /// What was said on the command line, as JSON; wins over everything.
    pub command_line: Value,
    /// The person typed this very call and the mode it runs in: nothing is left to ask.
    pub own_call: bool,
    /// What the editor or the command line says about trust.
    pub trusted: Option<bool>,
    /// Where the person's own state is kept.
    pub state: Option<PathBuf>,
}

/// One place settings come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// `$XDG_CONFIG_HOME/copydesk/config.toml`.
    User,
    /// `.copydesk/config.toml`.
    Project,
    /// `.copydesk/config.local.toml`.
    Local,
    /// The editor's settings, or the command line.
    Editor,
}

impl Layer {
    fn scope(self) -> &'static str {
        match self {
            Layer::User | Layer::Editor => "user",
            Layer::Project => "project",
            Layer::Local => "local",
        }
    }

    fn is_project(self) -> bool {
        matches!(self, Layer::Project | Layer::Local)
    }
}

/// Keys a folder may set before it is trusted.
const HARMLESS: &[&str] = &["model", "models", "dialect", "edits"];

/// Reads every layer.
pub fn load(sources: &Sources) -> Config {
    let root = sources.folders.first();
    let trusted = trust::is_trusted(sources);
    let unasked = trusted || sources.own_call;
    let mut config = Config { trusted, unasked, ..Config::default() };
    let mut merged = Map::new();
    for (layer, path) in files(root.map(PathBuf::as_path)) {
        let Some((value, problems)) = read(&path) else { continue };
        config.problems.extend(problems.iter().map(Problem::to_string));
        config.files.push(path);
        add(&mut config, &mut merged, layer, value);
    }
    for settings in [&sources.editor, &sources.command_line] {
        let (value, problems) = check::settings(settings.clone());
        config.problems.extend(problems.iter().map(|it| format!("editor settings: {it}")));
        add(&mut config, &mut merged, Layer::Editor, value);
    }
    config.settings = match serde_json::from_value::<Settings>(Value::Object(merged)) {
        Ok(settings) => settings,
        Err(err) => {
            config
                .problems
                .push(format!("the configuration was not understood and is not used: {err}"));
            Settings::default()
        }
    };
    config.problems.extend(unconfined(&config.settings));
    config
}

/// Why commands cannot be confined as they should be.
pub fn unconfined(settings: &Settings) -> Option<String> {
    match settings.shell.sandbox {
        Confinement::Off => None,
        Confinement::WorkspaceWrite | Confinement::ReadOnly => {
            let why = exec::sandbox_support().err()?;
            Some(format!(
                "`shell.sandbox` cannot be kept here, so each command asks to run without: {why}"
            ))
        }
    }
}

/// Every file that may hold configuration, whether it exists or not.
pub fn files(root: Option<&Path>) -> Vec<(Layer, PathBuf)> {
    let mut files: Vec<(Layer, PathBuf)> =
        user_file().map(|it| (Layer::User, it)).into_iter().collect();
    if let Some(root) = root {
        files.push((Layer::Project, root.join(".copydesk/config.toml")));
        files.push((Layer::Local, root.join(".copydesk/config.local.toml")));
    }
    files
}

/// Problems of every file of a folder, with file and line.
pub fn problems(root: Option<&Path>) -> Vec<Problem> {
    let mut all = Vec::new();
    for (layer, path) in files(root) {
        let Some((value, problems)) = read(&path) else { continue };
        all.extend(problems);
        for (_, texts) in rule_lists(&value) {
            for text in texts {
                if let Err(err) = Rule::parse(&text, Decision::Ask, layer.scope()) {
                    all.push(Problem::in_file(&path, &text, err.to_string()));
                }
            }
        }
    }
    all
}

/// Where the person's state is kept: `$XDG_STATE_HOME/copydesk`.
pub fn state_dir() -> Option<PathBuf> {
    base_dir("XDG_STATE_HOME", ".local/state").map(|it| it.join("copydesk"))
}

/// The person's own file.
pub fn user_file() -> Option<PathBuf> {
    base_dir("XDG_CONFIG_HOME", ".config").map(|it| it.join("copydesk/config.toml"))
}

fn base_dir(variable: &str, below_home: &str) -> Option<PathBuf> {
    let set = std::env::var_os(variable).map(PathBuf::from).filter(|it| it.is_absolute());
    set.or_else(|| std::env::home_dir().map(|it| it.join(below_home)))
}

/// A file's settings without what is wrong in it; absent where there is no file.
fn read(path: &Path) -> Option<(Value, Vec<Problem>)> {
    match state::read_text_file(path) {
        Ok(None) => None,
        Ok(Some(text)) => {
            let (value, mut problems) = check::file(path, &text);
            if let Some(line) = text.lines().position(|it| it.contains('\u{fffd}')) {
                let message = "this is not UTF-8; save the file as UTF-8".to_string();
                problems.insert(0, Problem::at(path, line + 1, message));
            }
            Some((value, problems))
        }
        Err(err) => {
            Some((Value::Null, vec![Problem::at(path, 1, format!("cannot be read: {err}"))]))
        }
    }
}

fn add(config: &mut Config, merged: &mut Map<String, Value>, layer: Layer, value: Value) {
    let held_back = layer.is_project() && !config.trusted;
    for (decision, texts) in rule_lists(&value) {
        if held_back && decision != Decision::Deny {
            continue;
        }
        for text in texts {
            match Rule::parse(&text, decision, layer.scope()) {
                Ok(rule) => config.rules.all.push(rule),
                Err(err) => config.problems.push(err.to_string()),
            }
        }
    }
    let Value::Object(mut map) = value else { return };
    if held_back {
        let left_out: Vec<String> =
            map.keys().filter(|it| !HARMLESS.contains(&it.as_str())).cloned().collect();
        map.retain(|key, _| HARMLESS.contains(&key.as_str()));
        if !left_out.is_empty() {
            config.problems.push(format!(
                "this folder is not trusted, so its settings for {} are not used",
                left_out.join(", ")
            ));
        }
    }
    merge(merged, map);
}

fn rule_lists(value: &Value) -> Vec<(Decision, Vec<String>)> {
    [Decision::Allow, Decision::Ask, Decision::Deny]
        .into_iter()
        .map(|decision| {
            let list = value["permissions"][decision.id()].as_array();
            let texts = list.into_iter().flatten().filter_map(|it| it.as_str().map(str::to_string));
            (decision, texts.collect())
        })
        .collect()
}

fn merge(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;

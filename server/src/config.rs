//! The configuration: the person's file, the project's, its private one, and the editor's settings.
//!
//! Invariant: a mistake is reported with file, line and the nearest key, and never stops the server.
//! What a project says about what may run counts only after the person trusts the folder; what it
//! denies always counts.

pub mod check;
mod claude;
pub mod trust;

use std::path::{Path, PathBuf};

use agent::hooks::Hook;
use agent::hooks::settings::Hooks;
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
    /// `~/.claude/settings.json`.
    ClaudeUser,
    /// `$XDG_CONFIG_HOME/copydesk/config.toml`.
    User,
    /// `.claude/settings.json`.
    ClaudeProject,
    /// `.copydesk/config.toml`.
    Project,
    /// `.claude/settings.local.json`.
    ClaudeLocal,
    /// `.copydesk/config.local.toml`.
    Local,
    /// The editor's settings, or the command line.
    Editor,
}

impl Layer {
    fn scope(self) -> &'static str {
        match self {
            Layer::ClaudeUser | Layer::User | Layer::Editor => "user",
            Layer::ClaudeProject | Layer::Project => "project",
            Layer::ClaudeLocal | Layer::Local => "local",
        }
    }

    fn is_project(self) -> bool {
        matches!(self.scope(), "project" | "local")
    }

    fn is_claude(self) -> bool {
        matches!(self, Layer::ClaudeUser | Layer::ClaudeProject | Layer::ClaudeLocal)
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
    let found = files(root.map(PathBuf::as_path)).into_iter().filter_map(|(layer, path)| {
        let (value, problems) = read(layer, &path)?;
        Some((layer, Some(path), value, problems))
    });
    let given = [&sources.editor, &sources.command_line].map(|settings| {
        let (value, problems) = check::settings(settings.clone());
        (Layer::Editor, None, value, problems)
    });
    let mut layers: Vec<Read> = found.chain(given).collect();
    import(&mut layers, &config);
    for (layer, path, value, problems) in layers {
        let place = if path.is_none() { "editor settings: " } else { "" };
        config.problems.extend(problems.iter().map(|it| format!("{place}{it}")));
        add(&mut config, &mut merged, layer, path.as_deref(), value);
        config.files.extend(path);
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

/// A layer as it was read: where it comes from, what it says and what is wrong in it.
type Read = (Layer, Option<PathBuf>, Value, Vec<Problem>);

/// Leaves out what the settings say is not to be read of other programs' files.
fn import(layers: &mut Vec<Read>, config: &Config) {
    let counts = |layer: Layer| config.trusted || !layer.is_project();
    let said = |it: &Read| it.2["imports"].as_bool().filter(|_| counts(it.0));
    if layers.iter().rev().find_map(said) == Some(false) {
        layers.retain(|it| !it.0.is_claude());
    }
    let disabled = |it: &Read| it.2[claude::DISABLED] == true && counts(it.0);
    let disabled = layers.iter().any(disabled);
    for (_, _, value, _) in layers.iter_mut().filter(|it| it.0.is_claude()) {
        let Value::Object(map) = value else { continue };
        map.remove(claude::DISABLED);
        map.retain(|key, it| {
            let says = it.as_object().is_some_and(|it| !it.is_empty());
            says && !(disabled && key == "hooks")
        });
    }
}

/// Every file that may hold configuration, whether it exists or not.
pub fn files(root: Option<&Path>) -> Vec<(Layer, PathBuf)> {
    let mut files = claude::files(root);
    files.extend(user_file().map(|it| (Layer::User, it)));
    if let Some(root) = root {
        files.push((Layer::Project, root.join(".copydesk/config.toml")));
        files.push((Layer::Local, root.join(".copydesk/config.local.toml")));
    }
    // The nearer one comes later, and ours after theirs of the same level.
    files.sort_by_key(|(layer, _)| *layer as u8);
    files
}

/// Problems of every file of a folder, with file and line.
pub fn problems(root: Option<&Path>) -> Vec<Problem> {
    let mut all = Vec::new();
    for (layer, path) in files(root) {
        let Some((value, problems)) = read(layer, &path) else { continue };
        all.extend(problems);
        all.extend(hooks(&value, Some(&path)).1);
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
fn read(layer: Layer, path: &Path) -> Option<(Value, Vec<Problem>)> {
    match state::read_text_file(path) {
        Ok(None) => None,
        Ok(Some(text)) => {
            let (value, mut problems) = match layer {
                Layer::ClaudeUser | Layer::ClaudeProject | Layer::ClaudeLocal => {
                    claude::read(path, &text)
                }
                Layer::User | Layer::Project | Layer::Local | Layer::Editor => {
                    check::file(path, &text)
                }
            };
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

/// The hooks of a layer, and what is wrong with others of it.
fn hooks(value: &Value, path: Option<&Path>) -> (Vec<Hook>, Vec<Problem>) {
    let hooks = value.get("hooks").cloned().map(serde_json::from_value::<Hooks>);
    let (hooks, wrong) = match hooks {
        None => return (Vec::new(), Vec::new()),
        Some(Ok(hooks)) => hooks.read(),
        Some(Err(err)) => {
            let message = format!("the hooks were not understood and are not used: {err}");
            (Vec::new(), vec![("hooks".to_string(), message)])
        }
    };
    let problem = |(needle, message): (String, String)| match path {
        Some(path) => Problem::in_file(path, &needle, message),
        None => Problem { file: None, line: 0, message },
    };
    (hooks, wrong.into_iter().map(problem).collect())
}

fn add(
    config: &mut Config,
    merged: &mut Map<String, Value>,
    layer: Layer,
    path: Option<&Path>,
    value: Value,
) {
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
    if !held_back {
        let (hooks, problems) = hooks(&value, path);
        config.hooks.extend(hooks);
        config.problems.extend(problems.iter().map(Problem::to_string));
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

//! What `.claude/settings.json` and its like say about permissions and hooks.
//!
//! Invariant: keys of theirs that mean nothing here are no mistakes. What is wrong in the others is told with
//! file and line, and the rest counts.

use std::path::{Path, PathBuf};

use agent::hooks::settings::{Entry, Hooks};
use agent::spelling::distance;
use serde_json::{Map, Value, json};

use super::Layer;
use super::check::Problem;

/// The files, from the farthest to the nearest.
pub fn files(root: Option<&Path>) -> Vec<(Layer, PathBuf)> {
    let home = std::env::home_dir().map(|it| (Layer::ClaudeUser, it.join(".claude/settings.json")));
    let own = root.map(|it| {
        [
            (Layer::ClaudeProject, it.join(".claude/settings.json")),
            (Layer::ClaudeLocal, it.join(".claude/settings.local.json")),
        ]
    });
    home.into_iter().chain(own.into_iter().flatten()).collect()
}

/// What one says, in our own keys: `permissions`, `hooks`, and `disableAllHooks` as it is.
pub fn read(path: &Path, text: &str) -> (Value, Vec<Problem>) {
    let map = match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(map)) => map,
        Ok(_) => {
            let message = "this must be a JSON object, so the file is not used".to_string();
            return (Value::Null, vec![Problem::at(path, 1, message)]);
        }
        Err(_) if text.trim().is_empty() => return (Value::Null, Vec::new()),
        Err(err) => {
            let message = format!("this is not valid JSON, so the file is not used: {err}");
            return (Value::Null, vec![Problem::at(path, err.line().max(1), message)]);
        }
    };
    let mut problems = Vec::new();
    let mut problem = |needle: &str, message: String| {
        problems.push(Problem::in_file(path, needle, message));
    };
    let permissions = match map.get("permissions") {
        Some(Value::Object(lists)) => rules(lists, &mut problem),
        None | Some(Value::Null) => Map::new(),
        Some(_) => {
            problem("permissions", "`permissions` must be a table".into());
            Map::new()
        }
    };
    let hooks = match map.get("hooks") {
        Some(Value::Object(events)) => hooks(events, &mut problem),
        None | Some(Value::Null) => Map::new(),
        Some(_) => {
            problem("hooks", "`hooks` must be a table".into());
            Map::new()
        }
    };
    let disabled = map.get(DISABLED) == Some(&Value::Bool(true));
    (json!({ "permissions": permissions, "hooks": hooks, DISABLED: disabled }), problems)
}

/// The key that switches every hook of these files off.
pub const DISABLED: &str = "disableAllHooks";

fn rules(lists: &Map<String, Value>, problem: &mut impl FnMut(&str, String)) -> Map<String, Value> {
    let mut kept = Map::new();
    for name in ["allow", "ask", "deny"] {
        match lists.get(name) {
            None | Some(Value::Null) => {}
            Some(Value::Array(texts)) => {
                let (fit, wrong): (Vec<&Value>, Vec<&Value>) =
                    texts.iter().partition(|it| it.is_string());
                for value in wrong {
                    let message = format!("each of `permissions.{name}` must be a text");
                    problem(&value.to_string(), message);
                }
                kept.insert(name.to_string(), fit.into_iter().cloned().collect());
            }
            Some(_) => problem(name, format!("`permissions.{name}` must be a list")),
        }
    }
    kept
}

fn hooks(
    events: &Map<String, Value>,
    problem: &mut impl FnMut(&str, String),
) -> Map<String, Value> {
    let known = serde_json::to_value(Hooks::default()).unwrap_or_default();
    let known: Vec<&String> = known
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| value.is_array().then_some(name))
        .collect();
    let mut kept = Map::new();
    for (name, value) in events {
        if !known.contains(&name) {
            let nearest = known.iter().map(|it| (distance(name, it), it)).min();
            let nearest = nearest.filter(|(far, _)| *far <= 3).map(|(_, it)| it);
            let hint = nearest.map(|it| format!("; did you mean `{it}`?")).unwrap_or_default();
            problem(name, format!("`hooks.{name}` is no event known here{hint}"));
            continue;
        }
        let Value::Array(entries) = value else {
            problem(name, format!("`hooks.{name}` must be a list"));
            continue;
        };
        let mut fit = Vec::new();
        for (nth, entry) in entries.iter().enumerate() {
            match serde_json::from_value::<Entry>(entry.clone()) {
                Ok(_) => fit.push(entry.clone()),
                Err(err) => {
                    let message = format!("entry {} of `hooks.{name}`: {err}", nth + 1);
                    problem(name, message);
                }
            }
        }
        kept.insert(name.clone(), Value::Array(fit));
    }
    kept
}

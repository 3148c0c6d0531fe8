//! Checks settings against the schema made from the settings' own types.

use std::fmt;
use std::path::{Path, PathBuf};

use agent::settings::Settings;
use agent::spelling::distance;
use serde_json::{Map, Value};
use toml_edit::{Document, Item};

/// Something wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file, where it is about one.
    pub file: Option<PathBuf>,
    /// 1-based line.
    pub line: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl Problem {
    /// A problem at a line of a file.
    pub fn at(file: &Path, line: usize, message: String) -> Problem {
        Problem { file: Some(file.to_path_buf()), line, message }
    }

    /// A problem where this text first stands in a file.
    pub fn in_file(file: &Path, needle: &str, message: String) -> Problem {
        let text = vfs::state::read_text_file(file).ok().flatten().unwrap_or_default();
        let quoted = [format!("\"{needle}\""), format!("'{needle}'"), needle.to_string()];
        let found = quoted.iter().find_map(|it| text.lines().position(|line| line.contains(it)));
        let line = found.map_or(1, |it| it + 1);
        Problem::at(file, line, message)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file {
            Some(file) => write!(f, "{}:{}: {}", file.display(), self.line, self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Keys of the documented configuration that this version does not act on yet.
const LATER: &[&str] = &[
    "tools",
    "agents",
    "mcp_servers",
    "web",
    "fallbacks",
    "pools",
    "hosted_tools",
    "jobs",
    "env",
    "display",
];

/// The JSON Schema of the configuration.
pub fn schema() -> Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12()
        .with(|it| it.inline_subschemas = true)
        .into_generator();
    generator.into_root_schema_for::<Settings>().to_value()
}

/// Whether an editor's settings are meant for us: one of their keys is.
pub fn names_ours(settings: &Value) -> bool {
    let known = schema();
    let known = |key: &String| key == "trusted" || known["properties"].get(key).is_some();
    settings.as_object().is_some_and(|it| it.keys().any(known))
}

/// A TOML file's settings, without what is wrong in it.
pub fn file(path: &Path, text: &str) -> (Value, Vec<Problem>) {
    let document = match text.parse::<Document<String>>() {
        Ok(document) => document,
        Err(err) => {
            let line = err.span().map_or(1, |it| line_of(text, it.start));
            let message =
                format!("this is not valid TOML, so the file is not used: {}", err.message());
            return (Value::Null, vec![Problem::at(path, line, message)]);
        }
    };
    let value: Value = match toml::from_str::<toml::Table>(text) {
        Ok(table) => serde_json::to_value(table).unwrap_or_default(),
        Err(err) => {
            let line = err.span().map_or(1, |it| line_of(text, it.start));
            let message =
                format!("this is not valid TOML, so the file is not used: {}", err.message());
            return (Value::Null, vec![Problem::at(path, line, message)]);
        }
    };
    let mut found = Vec::new();
    let value = fitted(value, &schema(), &mut Vec::new(), &mut found);
    let problems = found.into_iter().map(|(keys, message)| {
        let line = span_of(document.as_item(), &keys).map_or(1, |it| line_of(text, it));
        Problem::at(path, line, message)
    });
    let mut problems: Vec<Problem> = problems.collect();
    problems.sort_by_key(|it| it.line);
    (value, problems)
}

/// Settings given as JSON, without what is wrong in them.
pub fn settings(value: Value) -> (Value, Vec<Problem>) {
    let value = match value {
        Value::Null => return (Value::Null, Vec::new()),
        Value::Object(mut map) => {
            // Said beside the settings, not one of them.
            map.remove("trusted");
            // An editor sends what is not set as null or empty.
            map.retain(|_, it| *it != Value::String(String::new()));
            Value::Object(map)
        }
        other => other,
    };
    let mut found = Vec::new();
    let value = fitted(value, &schema(), &mut Vec::new(), &mut found);
    let problem = |(_, message)| Problem { file: None, line: 0, message };
    (value, found.into_iter().map(problem).collect())
}

type Found = Vec<(Vec<String>, String)>;

/// What of the value fits the schema; everything else goes to `found` with its keys.
fn fitted(value: Value, schema: &Value, keys: &mut Vec<String>, found: &mut Found) -> Value {
    if let (Value::Array(items), Some(schema)) = (&value, schema.get("items")) {
        return listed(items, schema, keys, found);
    }
    let Value::Object(map) = value else {
        if keys.is_empty() {
            found.push((Vec::new(), "the settings must be a table of keys".into()));
            return Value::Null;
        }
        return value;
    };
    let mut kept = Map::new();
    for (key, value) in map {
        // Nothing is as good as not set; editors send it for settings without a value.
        if value.is_null() {
            continue;
        }
        keys.push(key.clone());
        match property(schema, &key) {
            None => found.push((keys.clone(), unknown(schema, keys))),
            Some(property) => match mismatch(&value, property) {
                Some(wanted) => {
                    let path = keys.join(".");
                    found.push((
                        keys.clone(),
                        format!("`{path}` must be {wanted}, not {}", described(&value, &wanted)),
                    ));
                }
                None => {
                    kept.insert(key, fitted(value, property, keys, found));
                }
            },
        }
        keys.pop();
    }
    Value::Object(kept)
}

/// The tables of a list without those that have something wrong in them, which might mean another thing
/// with the rest of what they say.
fn listed(items: &[Value], schema: &Value, keys: &mut Vec<String>, found: &mut Found) -> Value {
    let mut kept = Vec::new();
    for (nth, item) in items.iter().enumerate() {
        keys.push(nth.to_string());
        let before = found.len();
        let item =
            if item.is_object() { fitted(item.clone(), schema, keys, found) } else { item.clone() };
        if found.len() == before {
            kept.push(item);
        }
        keys.pop();
    }
    Value::Array(kept)
}

fn property<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    let named = schema["properties"].get(key);
    named.or_else(|| schema.get("additionalProperties").filter(|it| it.is_object()))
}

fn unknown(schema: &Value, keys: &[String]) -> String {
    let key = keys.last().map(String::as_str).unwrap_or_default();
    let path = keys.join(".");
    if keys.len() == 1 && LATER.contains(&key) {
        return format!("`{key}` has no effect in this version");
    }
    let known = schema["properties"].as_object().into_iter().flat_map(Map::keys);
    let nearest = known.map(|it| (distance(key, it), it)).min().filter(|(far, _)| *far <= 3);
    match nearest {
        Some((_, nearest)) => format!("unknown key `{path}`; did you mean `{nearest}`?"),
        None => format!("unknown key `{path}`"),
    }
}

/// What the schema wants, where the value is something else.
fn mismatch(value: &Value, schema: &Value) -> Option<String> {
    if let Some(options) = options(schema) {
        let fits = value.as_str().is_some_and(|it| options.iter().any(|option| option == it));
        return (!fits).then(|| format!("one of {}", options.join(", ")));
    }
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one.as_str()],
        Value::Array(many) => many.iter().filter_map(Value::as_str).collect(),
        _ => return None,
    };
    let actual = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(it) if it.is_i64() || it.is_u64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    if let Some(wanted) = out_of_range(value, schema) {
        return Some(wanted);
    }
    let fits = types.iter().any(|it| *it == actual || (*it == "number" && actual == "integer"));
    let wanted = types
        .iter()
        .filter(|it| **it != "null")
        .map(|it| article(it))
        .collect::<Vec<_>>()
        .join(" or ");
    if !fits {
        return Some(wanted);
    }
    let items = schema.get("items")?;
    let wrong = value.as_array()?.iter().any(|it| mismatch(it, items).is_some());
    wrong.then(|| {
        format!("a list of which each is {}", article(items["type"].as_str().unwrap_or("text")))
    })
}

/// What a whole number must be, where this one is too small or too large for the setting.
fn out_of_range(value: &Value, schema: &Value) -> Option<String> {
    let number = value.as_number().filter(|it| !it.is_f64())?;
    let least = schema["minimum"].as_i64()?;
    let most = if schema["format"] == "uint32" { u64::from(u32::MAX) } else { u64::MAX };
    let small = number.as_i64().is_some_and(|it| it < least);
    let large = number.as_u64().is_some_and(|it| most < it);
    (small || large).then(|| format!("a whole number from {least} to {most}"))
}

/// The words an enumeration allows, however the schema spells it.
fn options(schema: &Value) -> Option<Vec<String>> {
    let one = |it: &Value| it["const"].as_str().map(str::to_string);
    if let Some(options) = schema["oneOf"].as_array() {
        return options.iter().map(one).collect();
    }
    let options = schema["enum"].as_array()?;
    options.iter().map(|it| it.as_str().map(str::to_string)).collect()
}

fn article(name: &str) -> &'static str {
    match name {
        "string" => "a text",
        "integer" => "a whole number",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a table",
        _ => "something else",
    }
}

/// What stands in the place of what is wanted: the word itself where another one is wanted.
fn described(value: &Value, wanted: &str) -> String {
    match value {
        Value::Null => "nothing".into(),
        Value::Bool(_) => "true or false".into(),
        Value::Number(_) => "a number".into(),
        Value::String(word) if wanted.starts_with("one of") && word.len() <= 40 => {
            format!("`{word}`")
        }
        Value::String(_) => "a text".into(),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "a table".into(),
    }
}

fn span_of(item: &Item, keys: &[String]) -> Option<usize> {
    let (first, rest) = keys.split_first()?;
    if let Ok(nth) = first.parse::<usize>()
        && !item.is_table_like()
    {
        if let Some(table) = item.as_array_of_tables().and_then(|it| it.get(nth)) {
            let own = table.span().map(|it| it.start);
            let Some((key, _)) = rest.split_first() else { return own };
            let (key, value) = table.get_key_value(key)?;
            let at = key.span().map(|it| it.start).or(own);
            return if rest.len() == 1 { at } else { span_of(value, &rest[1..]).or(at) };
        }
        let value = item.as_array().and_then(|it| it.get(nth))?;
        return value.span().map(|it| it.start);
    }
    let table = item.as_table_like()?;
    let (key, value) = table.get_key_value(first)?;
    let own = key.span().or_else(|| value.span()).map(|it| it.start);
    if rest.is_empty() { own } else { span_of(value, rest).or(own) }
}

fn line_of(text: &str, offset: usize) -> usize {
    text.as_bytes().iter().take(offset).filter(|it| **it == b'\n').count() + 1
}

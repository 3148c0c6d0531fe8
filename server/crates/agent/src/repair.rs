//! Repairs the slips models make in a call's input, and checks it against the tool's schema.
//!
//! Invariant: a repair never changes a value that the schema accepts as it is; every repair is told.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;
use serde_json::{Map, Value};

use crate::bounds;

/// An input that fits the schema, and what was repaired to make it so.
#[derive(Clone, Debug, PartialEq)]
pub struct Repaired {
    /// The input.
    pub input: Value,
    /// One short sentence a repair.
    pub notes: Vec<String>,
}

/// A JSON Schema, compiled once.
pub struct Schema {
    /// As the model reads it.
    pub value: Value,
    validator: Result<jsonschema::Validator, String>,
}

impl Schema {
    /// Compiles a schema.
    pub fn new(value: Value) -> Schema {
        let validator = jsonschema::validator_for(&value);
        Schema { validator: validator.map_err(|err| err.to_string()), value }
    }
}

/// Repairs and validates an input. `aliases` are other names of fields: (alias, field).
pub fn repair(
    input: Value,
    schema: &Schema,
    aliases: &[(&str, &str)],
) -> Result<Repaired, Vec<String>> {
    let mut notes = Vec::new();
    let input = object(input, &mut notes)?;
    let input = fitted(input, &schema.value, aliases, &mut notes);
    let input = Value::Object(input);
    let validator = schema
        .validator
        .as_ref()
        .map_err(|err| vec![format!("the tool's own schema is broken: {err}")])?;
    let problems: Vec<String> =
        validator.iter_errors(&input).take(10).map(|it| told(&it)).collect();
    if problems.is_empty() { Ok(Repaired { input, notes }) } else { Err(problems) }
}

fn object(input: Value, notes: &mut Vec<String>) -> Result<Map<String, Value>, Vec<String>> {
    match input {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        Value::String(text) => match serde_json::from_str(&text) {
            Ok(Value::Object(map)) => {
                notes.push("the input was a string holding JSON; it was taken as an object".into());
                Ok(map)
            }
            Ok(_) | Err(_) => Err(vec!["args must be an object, got a string".into()]),
        },
        other => Err(vec![format!("args must be an object, got {}", kind(&other))]),
    }
}

fn renamed(
    mut input: Map<String, Value>,
    properties: &Map<String, Value>,
    fields: &[(&str, &str)],
    notes: &mut Vec<String>,
) -> Map<String, Value> {
    for (alias, field) in fields {
        if properties.contains_key(*alias) || !properties.contains_key(*field) {
            continue;
        }
        let Some(value) = input.remove(*alias) else { continue };
        if input.get(*field).is_some_and(|it| !it.is_null()) {
            notes.push(format!("`{alias}` was left out, since `{field}` is given"));
        } else {
            notes.push(format!("`{alias}` was taken as `{field}`"));
            input.insert((*field).to_string(), value);
        }
    }
    input
}

fn fitted(
    mut input: Map<String, Value>,
    schema: &Value,
    fields: &[(&str, &str)],
    notes: &mut Vec<String>,
) -> Map<String, Value> {
    input.retain(|_, value| !value.is_null());
    let Some(properties) = schema["properties"].as_object() else { return input };
    let mut input = renamed(input, properties, fields, notes);
    for (name, value) in &mut input {
        if let Some(property) = properties.get(name) {
            fit(name, value, property, fields, notes);
        }
    }
    input
}

fn fit(
    name: &str,
    value: &mut Value,
    schema: &Value,
    fields: &[(&str, &str)],
    notes: &mut Vec<String>,
) {
    let wanted = schema["type"].as_str().unwrap_or_default();
    let repaired = match (wanted, &*value) {
        ("integer", Value::Number(number)) if !number.is_i64() && !number.is_u64() => {
            number.as_f64().and_then(whole)
        }
        ("integer", Value::String(text)) => {
            let text = text.trim();
            let float = || text.parse::<f64>().ok().and_then(whole);
            text.parse::<i64>().ok().map(Value::from).or_else(float)
        }
        ("number", Value::String(text)) => text.trim().parse::<f64>().ok().map(Value::from),
        ("boolean", Value::String(text)) => match text.trim() {
            "true" | "True" => Some(Value::Bool(true)),
            "false" | "False" => Some(Value::Bool(false)),
            _ => None,
        },
        ("array", Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Array(items)) => Some(Value::Array(items)),
            Ok(item @ Value::Object(_)) if schema["items"]["type"] == "object" => {
                Some(Value::Array(vec![item]))
            }
            Ok(_) | Err(_) if schema["items"]["type"] == "object" => None,
            Ok(_) | Err(_) => Some(Value::Array(vec![value.clone()])),
        },
        ("array", Value::Object(_)) if schema["items"]["type"] == "object" => {
            Some(Value::Array(vec![value.clone()]))
        }
        ("array", Value::Number(_) | Value::Bool(_)) if schema["items"]["type"] != "object" => {
            Some(Value::Array(vec![value.clone()]))
        }
        ("object", Value::String(text)) => match serde_json::from_str(text) {
            Ok(Value::Object(map)) => Some(Value::Object(map)),
            Ok(_) | Err(_) => None,
        },
        ("string", Value::String(text)) => chosen(text, schema),
        ("string", Value::Number(number)) => Some(Value::String(number.to_string())),
        // A command line: the tool's name and its text.
        ("string", Value::Array(words)) => match words.as_slice() {
            [Value::String(name), text @ Value::String(_)]
                if crate::tools::find(name).is_some() =>
            {
                Some(text.clone())
            }
            _ => None,
        },
        _ => None,
    };
    if let Some(repaired) = repaired {
        let (was, is) = match (&*value, &repaired) {
            (Value::String(was), Value::String(is)) => {
                (format!("`{}`", bounds::text(was, 40)), format!("`{is}`"))
            }
            (was, _) => (kind(was).to_string(), article(wanted)),
        };
        notes.push(format!("`{name}` was {was}; it was taken as {is}"));
        *value = repaired;
    }
    match value {
        Value::Array(items) => {
            for item in items {
                fit(name, item, &schema["items"], fields, notes);
            }
        }
        Value::Object(map) if schema["properties"].is_object() => {
            let taken = std::mem::take(map);
            *map = fitted(taken, schema, fields, notes);
        }
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The one choice that a word means which is none: in another case, or cut after one of its parts.
fn chosen(text: &str, schema: &Value) -> Option<Value> {
    let choices: Vec<&str> = schema["enum"].as_array()?.iter().filter_map(Value::as_str).collect();
    let word = text.trim().to_ascii_lowercase();
    if word.is_empty() || choices.contains(&text) {
        return None;
    }
    let is_meant = |choice: &&&str| {
        let rest = choice.to_ascii_lowercase();
        rest.strip_prefix(&word).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    };
    let mut meant = choices.iter().filter(is_meant);
    match (meant.next(), meant.next()) {
        (Some(one), None) => Some(Value::from(*one)),
        (Some(_), Some(_)) | (None, _) => None,
    }
}

/// A float without a fraction as an integer.
fn whole(float: f64) -> Option<Value> {
    (float.fract() == 0.0 && float.abs() < 9e15).then(|| Value::from(float as i64))
}

fn told(error: &ValidationError<'_>) -> String {
    let path = error.instance_path().to_string();
    let at = path.split('/').skip(1).fold("args".to_string(), |at, part| {
        if part.bytes().all(|it| it.is_ascii_digit()) {
            format!("{at}[{part}]")
        } else {
            format!("{at}.{part}")
        }
    });
    match error.kind() {
        ValidationErrorKind::Required { property } => {
            format!("{at}.{} is required", property.as_str().unwrap_or_default())
        }
        ValidationErrorKind::AdditionalProperties { unexpected } => unexpected
            .iter()
            .map(|it| format!("{at}.{it} is not allowed"))
            .collect::<Vec<_>>()
            .join("; "),
        ValidationErrorKind::Type { kind: wanted } => {
            let wanted = format!("{wanted:?}").to_lowercase();
            let wanted = ["string", "integer", "number", "boolean", "array", "object"]
                .into_iter()
                .find(|it| wanted.contains(it))
                .unwrap_or("of another type");
            format!("{at} must be {}, got {}", article(wanted), kind(error.instance()))
        }
        ValidationErrorKind::Enum { options } => {
            let options: Vec<String> = options
                .as_array()
                .map(|it| {
                    it.iter().map(|it| it.to_string().trim_matches('"').to_string()).collect()
                })
                .unwrap_or_default();
            format!("{at} must be one of {}, got {}", options.join(", "), error.instance())
        }
        ValidationErrorKind::MinItems { limit } => {
            format!("{at} must contain at least {limit} item(s)")
        }
        _ => format!("{at}: {error}"),
    }
}

fn article(kind: &str) -> String {
    match kind {
        "integer" | "array" | "object" => format!("an {kind}"),
        other => format!("a {other}"),
    }
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests;

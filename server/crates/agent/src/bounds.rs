//! Bounds on everything that reaches a model or a card.
//!
//! Invariant: nothing is cut silently. What is left out is counted, and the whole of a long text is
//! kept as an artifact.

use std::sync::Arc;

use serde_json::Value;

use crate::session::Shared;
use crate::tool::Content;

/// Characters of one text result that a model reads.
pub const RESULT: usize = 30_000;
/// Characters of one string inside a card's raw input or output.
const RAW: usize = 8_000;
/// Characters of a title.
const TITLE: usize = 160;

/// A title on one line.
pub fn title(text: &str) -> String {
    let line: String =
        text.lines().map(str::trim).filter(|it| !it.is_empty()).collect::<Vec<_>>().join(" ");
    let line = visible(&line);
    if line.chars().count() <= TITLE {
        return line;
    }
    line.chars().take(TITLE - 1).chain(['…']).collect()
}

/// Text cut to `limit` characters, the rest counted.
pub fn text(text: &str, limit: usize) -> String {
    let total = text.chars().count();
    if total <= limit {
        return text.to_string();
    }
    let head: String = text.chars().take(limit).collect();
    format!("{head}… ({} more characters)", total - limit)
}

/// JSON whose long strings are cut.
pub fn value(value: &Value) -> Value {
    match value {
        Value::String(it) => Value::String(text(it, RAW)),
        Value::Array(items) => Value::Array(items.iter().take(200).map(self::value).collect()),
        Value::Object(map) => map.iter().map(|(key, it)| (key.clone(), self::value(it))).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

/// Results whose long texts are cut to head and tail, the whole kept as an artifact.
pub fn spill(content: Vec<Content>, shared: &Arc<Shared>) -> Vec<Content> {
    content
        .into_iter()
        .map(|it| match it {
            Content::Text(text) => Content::Text(spilled(text, shared)),
            image @ Content::Image { .. } => image,
        })
        .collect()
}

/// Control and bidirectional characters made visible, so that a prompt shows what it asks about.
pub fn visible(text: &str) -> String {
    text.chars()
        .map(|it| match it {
            '\n' | '\t' => it.to_string(),
            it if it.is_control() => format!("\\u{{{:x}}}", u32::from(it)),
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}'
            | '\u{feff}' => {
                format!("\\u{{{:x}}}", u32::from(it))
            }
            it => it.to_string(),
        })
        .collect()
}

fn spilled(text: String, shared: &Arc<Shared>) -> String {
    head_and_tail(&text, || shared.artifacts.save(&text))
}

/// Head and tail of a long text; `keep` keeps the whole and gives the artifact's id.
pub fn head_and_tail(text: &str, keep: impl FnOnce() -> std::io::Result<String>) -> String {
    let total = text.chars().count();
    if total <= RESULT {
        return text.to_string();
    }
    // Room for what is said in between and after.
    let (head, tail) = (RESULT * 2 / 5, RESULT * 3 / 5 - 1_000);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(total - tail).collect();
    let kept = match keep() {
        Ok(id) => format!("the whole is artifact:{id}, which Read and Grep take as a path"),
        Err(err) => format!("the whole could not be kept: {err}"),
    };
    format!(
        "{start}\n\n[… {} of {total} characters left out here; {kept} …]\n\n{end}",
        total - head - tail
    )
}

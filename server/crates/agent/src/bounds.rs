//! Bounds on everything that reaches a model or a card.
//!
//! Invariant: nothing is cut silently. What is left out is counted, and the whole of a long text is
//! kept as an artifact.

use std::sync::Arc;

use serde_json::Value;

use crate::dialects::Dialect;
use crate::session::Shared;
use crate::tool::Content;

/// Characters of one text result that a model reads.
pub const RESULT: usize = 30_000;
/// Bytes of one string inside a card's raw input or output.
const RAW: usize = 8_000;
/// Bytes of a card's raw input or output. With its content a card stays below 64 KB.
const RAW_TOTAL: usize = 8_500;
/// Characters of a title.
const TITLE: usize = 160;
/// Characters of a remark.
const NOTE: usize = 500;

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

/// A remark at the end of a result, on one line; what it names may be as long as a path can be.
pub fn note(text: &str) -> String {
    format!("[note: {}]\n", visible(&self::text(&text.replace('\n', "\\n"), NOTE)))
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

/// JSON whose long strings are cut, and of which no more is kept than a card may carry.
pub fn value(value: &Value) -> Value {
    let mut room = RAW_TOTAL;
    within(value, &mut room)
}

fn within(value: &Value, room: &mut usize) -> Value {
    let value = match value {
        Value::String(it) => Value::String(fitting(it, RAW.min(*room))),
        Value::Array(items) => {
            let mut kept: Vec<Value> = Vec::new();
            for item in items {
                if *room == 0 {
                    kept.push(Value::String(format!("… ({} more)", items.len() - kept.len())));
                    break;
                }
                kept.push(within(item, room));
            }
            return Value::Array(kept);
        }
        Value::Object(map) => {
            let mut kept = serde_json::Map::new();
            for (key, it) in map {
                if *room == 0 {
                    let left = map.len() - kept.len();
                    kept.insert("…".into(), Value::String(format!("{left} more")));
                    break;
                }
                let key = fitting(key, 200);
                *room = room.saturating_sub(json_len(&key));
                kept.insert(key, within(it, room));
            }
            return Value::Object(kept);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    };
    let size = value.as_str().map_or(8, json_len);
    *room = room.saturating_sub(size);
    value
}

/// Bytes of a text within JSON, quotes included.
pub fn json_len(text: &str) -> usize {
    2 + text.chars().map(json_char).sum::<usize>()
}

fn json_char(it: char) -> usize {
    match it {
        '"' | '\\' | '\n' | '\t' | '\r' => 2,
        it if it.is_control() => 6,
        it => it.len_utf8(),
    }
}

/// Where a text must be cut to take at most `limit` bytes within JSON; its length where it fits.
pub fn json_cut(text: &str, limit: usize) -> usize {
    let mut size = 2;
    for (at, it) in text.char_indices() {
        size += json_char(it);
        if limit < size {
            return at;
        }
    }
    text.len()
}

/// Text that takes about `limit` bytes within JSON, the rest counted.
pub fn fitting(text: &str, limit: usize) -> String {
    let cut = json_cut(text, limit);
    match text[cut..].chars().count() {
        0 => text.to_string(),
        left => format!("{}… ({left} more characters)", &text[..cut]),
    }
}

/// Results whose texts of more than `longest` characters are cut to head and tail, the whole kept as
/// an artifact.
pub fn spill(
    content: Vec<Content>,
    longest: usize,
    shared: &Arc<Shared>,
    dialect: &Dialect,
) -> Vec<Content> {
    content
        .into_iter()
        .map(|it| match it {
            Content::Text(text) => Content::Text(spilled(text, longest, shared, dialect)),
            media @ (Content::Image { .. } | Content::Video { .. }) => media,
        })
        .collect()
}

/// Control and bidirectional characters made visible, so that a prompt shows what it asks about.
pub fn visible(text: &str) -> String {
    text.chars()
        .map(|it| match it {
            '\n' | '\t' => it.to_string(),
            it if is_unseen(it) => format!("\\u{{{:x}}}", u32::from(it)),
            it => it.to_string(),
        })
        .collect()
}

/// Whether a character is not drawn, or makes those around it look otherwise than they are.
pub fn is_unseen(it: char) -> bool {
    it.is_control()
        || matches!(it, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// A count with its noun.
pub fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

fn spilled(text: String, longest: usize, shared: &Arc<Shared>, dialect: &Dialect) -> String {
    if text.chars().count() <= longest {
        return text;
    }
    head_and_tail(&text, RESULT, dialect, || shared.artifacts.save(&text))
}

/// Head and tail of a text of more than `most` characters; `keep` keeps the whole and gives the
/// artifact's id.
pub fn head_and_tail(
    text: &str,
    most: usize,
    dialect: &Dialect,
    keep: impl FnOnce() -> std::io::Result<String>,
) -> String {
    let total = text.chars().count();
    if total <= most {
        return text.to_string();
    }
    // Room for what is said in between and after.
    let (head, tail) = (most * 2 / 5, most * 3 / 5 - 1_000);
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(total - tail).collect();
    let kept = match keep() {
        Ok(id) => {
            let (read, grep) = (dialect.called("Read"), dialect.called("Grep"));
            format!("the whole is artifact:{id}, which {read} and {grep} take as a path")
        }
        Err(err) => format!("the whole could not be kept: {err}"),
    };
    format!(
        "{start}\n\n[… {} of {total} characters left out here; {kept} …]\n\n{end}",
        total - head - tail
    )
}

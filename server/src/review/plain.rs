//! Review for language clients without a frontend of ours: lenses, code actions, diagnostics.

use protocol::{Hunk, Range, ReviewFile};
use serde_json::{Value, json};

/// The least severe level that editors list everywhere.
const INFORMATION: u32 = 3;
/// Characters of a changed line that a message quotes.
const QUOTED: usize = 60;

/// Two lenses above each hunk.
pub fn lenses(file: &ReviewFile) -> Value {
    let lens = |hunk: &Hunk, title: &str, command: &str| json!({"range": start(hunk), "command": command_of(title, command, &hunk.hunk_id)});
    let both = |hunk: &Hunk| {
        [lens(hunk, "Accept", "copydesk.accept"), lens(hunk, "Reject", "copydesk.reject")]
    };
    file.hunks.iter().flat_map(both).collect()
}

/// Actions on the hunks that touch a range, and on all of the file.
pub fn actions(file: &ReviewFile, range: Range) -> Value {
    let touches = |hunk: &&Hunk| {
        let (a, b) = (place(hunk.range.start), place(hunk.range.end));
        let end = if b.1 == 0 && a.0 < b.0 { (b.0 - 1, u32::MAX) } else { b };
        a <= place(range.end) && place(range.start) <= end
    };
    let mut out = Vec::new();
    for hunk in file.hunks.iter().filter(touches) {
        let what = quoted(file, hunk);
        let id = json!({"hunkId": hunk.hunk_id});
        out.push(action(&format!("Accept {what}"), "copydesk.accept", &id));
        out.push(action(&format!("Reject {what}"), "copydesk.reject", &id));
    }
    if !file.hunks.is_empty() {
        let all = json!({"uri": file.uri});
        let count = file.hunks.len();
        out.push(action(&format!("Accept all in file ({count})"), "copydesk.accept", &all));
        out.push(action(&format!("Reject all in file ({count})"), "copydesk.reject", &all));
    }
    out.into()
}

/// The parameters of `textDocument/publishDiagnostics`: one a hunk.
pub fn diagnostics(file: &ReviewFile) -> Value {
    let diagnostic = |hunk: &Hunk| {
        json!({
            "range": hunk.range,
            "severity": INFORMATION,
            "source": "copydesk",
            "code": hunk.hunk_id,
            "message": format!("Pending: {}", quoted(file, hunk)),
        })
    };
    let diagnostics: Vec<Value> = file.hunks.iter().map(diagnostic).collect();
    let mut params = json!({"uri": file.uri, "diagnostics": diagnostics});
    if let Some(version) = file.version {
        params["version"] = version.into();
    }
    params
}

/// All pending hunks as a page.
pub fn page(files: &[ReviewFile]) -> String {
    let mut out = String::from("# Pending changes\n");
    if files.is_empty() {
        out.push_str("\nNothing is pending.\n");
    }
    for file in files {
        let from = file.old_uri.as_ref().map(|it| format!(" from {it}")).unwrap_or_default();
        out.push_str(&format!("\n## {} ({}{from})\n", file.uri, file.change));
        for hunk in &file.hunks {
            if moved_from(file, hunk).is_some() {
                out.push_str(&format!("\nThe move itself, `{}`.\n", hunk.hunk_id));
                continue;
            }
            let line = hunk.range.start.line + 1;
            out.push_str(&format!("\nLine {line}, `{}`:\n\n```diff\n", hunk.hunk_id));
            hunk.old_text.lines().for_each(|it| out.push_str(&format!("-{it}\n")));
            hunk.new_text.lines().for_each(|it| out.push_str(&format!("+{it}\n")));
            out.push_str("```\n");
        }
    }
    out
}

/// The name a file had, where the hunk is its move: one without text.
fn moved_from<'a>(file: &'a ReviewFile, hunk: &Hunk) -> Option<&'a str> {
    let from = file.old_uri.as_deref()?;
    (hunk.old_text.is_empty() && hunk.new_text.is_empty()).then_some(from)
}

fn quoted(file: &ReviewFile, hunk: &Hunk) -> String {
    if let Some(from) = moved_from(file, hunk) {
        return format!("the agent's move from `{}`", from.rsplit('/').next().unwrap_or(from));
    }
    let first = |text: &str| text.lines().find(|it| !it.trim().is_empty()).map(str::to_owned);
    let (what, line) = match first(&hunk.new_text) {
        Some(line) => ("the agent's change", line),
        None => ("the agent's deletion", first(&hunk.old_text).unwrap_or_default()),
    };
    let short: String = line.trim().chars().take(QUOTED).collect();
    format!("{what} `{short}`")
}

fn start(hunk: &Hunk) -> Range {
    Range { start: hunk.range.start, end: hunk.range.start }
}

fn place(position: protocol::Position) -> (u32, u32) {
    (position.line, position.character)
}

fn action(title: &str, command: &str, argument: &Value) -> Value {
    json!({
        "title": title,
        "kind": "quickfix",
        "command": {"title": title, "command": command, "arguments": [argument]},
    })
}

fn command_of(title: &str, command: &str, hunk: &str) -> Value {
    json!({"title": title, "command": command, "arguments": [{"hunkId": hunk}]})
}

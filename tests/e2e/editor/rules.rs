//! What holds for every message of every test; the first breaches are kept and fail the test at its end.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::Kind;

#[derive(Default)]
pub(super) struct Rules {
    marked: bool,
    counts: HashMap<String, u64>,
    cards: HashSet<String>,
    broken: Vec<String>,
}

impl Rules {
    pub fn new(kind: Kind) -> Self {
        Self { marked: kind != Kind::Bare, ..Self::default() }
    }

    pub fn broken(self) -> Vec<String> {
        self.broken
    }

    pub fn break_with(&mut self, what: String) {
        if self.broken.len() < 5 {
            self.broken.push(what);
        }
    }

    /// A session is about to be told again from its beginning.
    pub fn replayed(&mut self, session: &str) {
        self.counts.remove(session);
    }

    pub fn check(&mut self, message: &Value) {
        if message["jsonrpc"] != "2.0" {
            self.break_with(format!("not JSON-RPC 2.0: {message}"));
        }
        let Some(method) = message["method"].as_str() else { return };
        let ours = ["session/", "copydesk/", "elicitation/"].iter().any(|p| method.starts_with(p));
        if ours && !self.marked {
            self.break_with(format!("{method} sent to a client that does not know it"));
        }
        let params = &message["params"];
        match method {
            "session/update" => self.check_update(params),
            "session/request_permission" => self.check_permission(params),
            "workspace/applyEdit" => self.check_edit(params),
            _ => {}
        }
    }

    fn check_update(&mut self, params: &Value) {
        let size = params.to_string().len();
        if size > 64 * 1024 {
            self.break_with(format!("an update of {size} bytes"));
        }
        let update = &params["update"];
        if has_null(update) {
            // Lua's LSP client drops it: what is cleared has to be so without one.
            self.break_with(format!("an update with null: {update}"));
        }
        if let Some(card) = update["toolCallId"].as_str() {
            self.cards.insert(card.to_owned());
        }
        let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
        let Some(seq) = params["_meta"]["copydesk"]["seq"].as_u64() else {
            return self.break_with(format!("an update without seq: {update}"));
        };
        let before = self.counts.insert(session, seq);
        if before.is_some_and(|before| seq != before + 1) {
            self.break_with(format!("seq {seq} after {before:?}: {update}"));
        }
    }

    fn check_permission(&mut self, params: &Value) {
        let subject = &params["subject"];
        let card = subject["toolCall"]["toolCallId"].as_str().or(subject["toolCallId"].as_str());
        match card {
            None => self.break_with(format!("a permission request without a card: {params}")),
            Some(card) if !self.cards.contains(card) => {
                self.break_with(format!("a permission request overtook its card {card}"));
            }
            Some(_) => {}
        }
        if params["_meta"]["copydesk"]["requestId"].is_null() {
            self.break_with(format!("a permission request without requestId: {params}"));
        }
        let kinds: Vec<_> =
            params["options"].as_array().into_iter().flatten().map(|o| o["kind"].clone()).collect();
        if kinds.is_empty() {
            self.break_with(format!("a permission request without options: {params}"));
        }
    }

    fn check_edit(&mut self, params: &Value) {
        let Some(changes) = params["edit"]["documentChanges"].as_array() else {
            return self.break_with(format!("an edit without documentChanges: {params}"));
        };
        let documents: HashSet<_> =
            changes.iter().filter_map(|c| c["textDocument"]["uri"].as_str()).collect();
        if documents.len() > 1 {
            self.break_with(format!("one edit request for {} documents", documents.len()));
        }
        for change in changes.iter().filter(|c| c.get("kind").is_none()) {
            let edits = change["edits"].as_array().cloned().unwrap_or_default();
            let place = |p: &Value| (p["line"].as_u64(), p["character"].as_u64());
            for pair in edits.windows(2) {
                if place(&pair[1]["range"]["start"]) < place(&pair[0]["range"]["end"]) {
                    self.break_with(format!("edits that overlap or are not sorted: {edits:?}"));
                }
            }
        }
    }
}

/// Whether a null stands where the server writes, not a tool's own input and output.
fn has_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.iter().any(has_null),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, it)| !["rawInput", "rawOutput"].contains(&&**key) && has_null(it)),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

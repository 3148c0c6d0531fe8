//! One agent session as the person sees it: prompts, the turn's end, cards, and calls of single tools.

use serde_json::{Value, json};

use super::{Editor, RpcError, State};

pub struct Session<'a> {
    editor: &'a Editor,
    pub id: String,
    /// The answer to `session/new`.
    pub created: Value,
}

/// The result of one tool call.
#[derive(Debug)]
pub struct Called {
    pub text: String,
    pub is_error: bool,
    /// Id of the call's card.
    pub id: String,
}

impl Called {
    #[track_caller]
    pub fn ok(self) -> String {
        assert!(!self.is_error, "the tool failed: {}", self.text);
        self.text
    }

    #[track_caller]
    pub fn err(self) -> String {
        assert!(self.is_error, "the tool should have failed: {}", self.text);
        self.text
    }
}

impl Editor {
    #[track_caller]
    pub fn session(&self) -> Session<'_> {
        let created = self.request("session/new", json!({ "cwd": self.root(), "mcpServers": [] }));
        let id = created["sessionId"]
            .as_str()
            .unwrap_or_else(|| panic!("no session id: {created}"))
            .to_owned();
        Session { editor: self, id, created }
    }

    /// A session this editor has resumed.
    pub fn joined(&self, id: &str) -> Session<'_> {
        Session { editor: self, id: id.to_owned(), created: Value::Null }
    }

    /// A call of the person's own, outside any session of the agent.
    #[track_caller]
    pub fn tool(&self, name: &str, input: Value) -> Called {
        called(self.request("copydesk/tool/call", json!({ "name": name, "input": input })))
    }
}

impl Session<'_> {
    /// Sends a prompt and waits for the turn to end: its stop reason.
    #[track_caller]
    pub fn prompt(&self, text: &str) -> String {
        let mark = self.send(text);
        self.until_idle(mark)
    }

    /// Sends a prompt; where its updates begin.
    #[track_caller]
    pub fn send(&self, text: &str) -> usize {
        let mark = self.editor.mark();
        let answer = self.try_send(text).unwrap_or_else(|e| panic!("session/prompt: {e:?}"));
        assert!(
            answer["messageId"].is_string(),
            "a prompt is acknowledged with its message id: {answer}"
        );
        mark
    }

    #[track_caller]
    pub fn try_send(&self, text: &str) -> Result<Value, RpcError> {
        let prompt = json!([{ "type": "text", "text": text }]);
        self.editor.try_request("session/prompt", json!({ "sessionId": self.id, "prompt": prompt }))
    }

    pub fn cancel(&self) {
        self.editor.notify("session/cancel", json!({ "sessionId": self.id }));
    }

    /// Cancels a call of this kind that runs, by its card.
    #[track_caller]
    pub fn cancel_card(&self, kind: &str) {
        let card = self.wait_card(kind, "in_progress")["toolCallId"].clone();
        let params = json!({ "sessionId": self.id, "toolCallId": card });
        self.editor.request("copydesk/toolCall/cancel", params);
    }

    #[track_caller]
    pub fn set(&self, option: &str, value: &str) -> Value {
        let params =
            json!({ "sessionId": self.id, "configId": option, "type": "id", "value": value });
        self.editor.request("session/set_config_option", params)
    }

    /// The stop reason of the first idle that ends work begun at or after `mark`.
    #[track_caller]
    pub fn until_idle(&self, mark: usize) -> String {
        self.editor.wait("the end of the turn", |state| {
            let mut busy = false;
            for update in self.updates_in(state, mark) {
                match update["sessionUpdate"].as_str().unwrap_or_default() {
                    "state_update" if update["state"] == "idle" && busy => {
                        return Some(update["stopReason"].as_str().unwrap_or_default().to_owned());
                    }
                    "state_update" => busy = update["state"] != "idle",
                    kind if kind.starts_with("agent_") || kind.starts_with("tool_call") => {
                        busy = true
                    }
                    _ => {}
                }
            }
            None
        })
    }

    /// The updates of this session from `mark` on.
    pub fn updates(&self, mark: usize) -> Vec<Value> {
        self.updates_in(&self.editor.lock(), mark)
    }

    #[track_caller]
    pub fn wait_update(&self, what: &str, mark: usize, wanted: impl Fn(&Value) -> bool) -> Value {
        self.editor.wait(what, |state| self.updates_in(state, mark).into_iter().find(|u| wanted(u)))
    }

    /// The agent's text since `mark`.
    pub fn said(&self, mark: usize) -> String {
        let mut text = String::new();
        for update in self.updates(mark) {
            if matches!(
                update["sessionUpdate"].as_str(),
                Some("agent_message" | "agent_message_chunk")
            ) {
                text.push_str(&joined(&update["content"]));
            }
        }
        text
    }

    /// Final state of every card, in order of first appearance.
    pub fn cards(&self) -> Vec<Value> {
        self.cards_in(&self.editor.lock())
    }

    /// Waits for a card of this kind and status.
    #[track_caller]
    pub fn wait_card(&self, kind: &str, status: &str) -> Value {
        self.editor.wait(&format!("a card {kind}, {status}"), |state| {
            self.cards_in(state).into_iter().find(|c| c["kind"] == kind && c["status"] == status)
        })
    }

    #[track_caller]
    pub fn tool(&self, name: &str, input: Value) -> Called {
        self.finish_tool(self.begin_tool(name, input))
    }

    pub fn begin_tool(&self, name: &str, input: Value) -> i64 {
        self.editor.begin(
            "copydesk/tool/call",
            json!({ "sessionId": self.id, "name": name, "input": input }),
        )
    }

    #[track_caller]
    pub fn finish_tool(&self, request: i64) -> Called {
        called(self.editor.finish(request).unwrap_or_else(|e| panic!("copydesk/tool/call: {e:?}")))
    }

    fn updates_in(&self, state: &State, mark: usize) -> Vec<Value> {
        let log = &state.log[mark.min(state.log.len())..];
        let mine = log.iter().filter(|m| {
            m["method"] == "session/update" && m["params"]["sessionId"] == self.id.as_str()
        });
        mine.map(|m| m["params"]["update"].clone()).collect()
    }

    fn cards_in(&self, state: &State) -> Vec<Value> {
        let mut cards: Vec<Value> = Vec::new();
        for update in self.updates_in(state, 0) {
            let Some(id) = update["toolCallId"].as_str() else { continue };
            let at = cards.iter().position(|c| c["toolCallId"] == id).unwrap_or_else(|| {
                cards.push(json!({ "toolCallId": id }));
                cards.len() - 1
            });
            match update["sessionUpdate"].as_str() {
                Some("tool_call_update") => {
                    for (key, value) in
                        update.as_object().into_iter().flatten().filter(|(_, v)| !v.is_null())
                    {
                        cards[at][key] = value.clone();
                    }
                }
                Some("tool_call_content_chunk") => {
                    let mut content = cards[at]["content"].as_array().cloned().unwrap_or_default();
                    content.push(update["content"].clone());
                    cards[at]["content"] = json!(content);
                }
                _ => {}
            }
        }
        cards
    }
}

/// Texts of content blocks, joined.
pub fn joined(content: &Value) -> String {
    match content {
        Value::Array(blocks) => blocks.iter().map(joined).collect(),
        Value::Object(_) => content["text"]
            .as_str()
            .or(content["resource"]["text"].as_str())
            .unwrap_or_default()
            .to_owned(),
        _ => String::new(),
    }
}

#[track_caller]
fn called(result: Value) -> Called {
    Called {
        text: joined(&result["content"]),
        is_error: result["isError"].as_bool().unwrap_or_else(|| panic!("no isError: {result}")),
        id: result["toolCallId"].as_str().unwrap_or_default().to_owned(),
    }
}

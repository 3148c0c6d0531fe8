//! Asking the person: a permission prompt of our frontends, or a message with buttons.

use agent::editor::{Answer, Extras};
use protocol::{RequestResolvedParams, acp};
use serde_json::{Map, Value, json};

use super::Parts;
use crate::bare;
use crate::outbox::{Outbox, RpcError};

const METHOD_NOT_FOUND: i64 = -32601;

impl Parts {
    pub(super) async fn ask(&self, request: acp::RequestPermissionRequest) -> Answer {
        if self.client.answers_permissions() {
            self.request_permission(request).await
        } else if self.client.shows_messages {
            self.show_message_request(&request).await
        } else {
            Answer::Nobody
        }
    }

    async fn request_permission(&self, mut request: acp::RequestPermissionRequest) -> Answer {
        let id = ensure_request_id(&mut request.meta, || self.questions.next_id());
        let answer = self.outbox.request("session/request_permission", &request);
        let mut withdrawal = Withdrawal { outbox: &self.outbox, request: Some(id) };
        let answer = answer.await;
        withdrawal.request = None;
        match answer {
            Ok(value) => permission_answer(value),
            Err(error) => unanswered(&error),
        }
    }

    async fn show_message_request(&self, request: &acp::RequestPermissionRequest) -> Answer {
        let id = request_id(request.meta.as_ref()).unwrap_or_else(|| self.questions.next_id());
        let by_command = self.questions.open(id, &request.options);
        let by_button =
            self.outbox.request("window/showMessageRequest", bare::message_request(request));
        let option = tokio::select! {
            option = by_command => option,
            answer = by_button => match answer {
                Ok(chosen) => bare::chosen_option(&chosen, &request.options),
                Err(error) => return unanswered(&error),
            },
        };
        match option {
            Some(option) => Answer::Selected { option, extras: Extras::default() },
            None => Answer::Cancelled,
        }
    }
}

/// Tells the client that a prompt is void when the question is dropped unanswered. The request
/// itself is cancelled by dropping its answer.
struct Withdrawal<'a> {
    outbox: &'a Outbox,
    request: Option<String>,
}

impl Drop for Withdrawal<'_> {
    fn drop(&mut self) {
        if let Some(request_id) = self.request.take() {
            let (by, outcome) = ("cancel".to_owned(), "cancelled".to_owned());
            let params = RequestResolvedParams { request_id, by, outcome };
            self.outbox.notify("copydesk/request/resolved", params);
        }
    }
}

fn request_id(meta: Option<&acp::Meta>) -> Option<String> {
    meta?.get("copydesk")?.get("requestId")?.as_str().map(str::to_owned)
}

fn ensure_request_id(meta: &mut Option<acp::Meta>, new: impl FnOnce() -> String) -> String {
    if let Some(id) = request_id(meta.as_ref()) {
        return id;
    }
    let id = new();
    let ours = meta.get_or_insert_default().entry("copydesk").or_insert_with(|| json!({}));
    if let Some(ours) = ours.as_object_mut() {
        ours.insert("requestId".to_owned(), id.clone().into());
    }
    id
}

fn permission_answer(value: Value) -> Answer {
    match serde_json::from_value(value) {
        Ok(acp::RequestPermissionResponse {
            outcome: acp::RequestPermissionOutcome::Selected(selected),
            ..
        }) => {
            let ours = selected.meta.and_then(|mut meta| meta.remove("copydesk"));
            Answer::Selected { option: selected.option_id.to_string(), extras: extras(ours) }
        }
        Ok(_) => Answer::Cancelled,
        Err(error) => {
            tracing::warn!(%error, "the client's answer to a permission request is malformed");
            Answer::Cancelled
        }
    }
}

/// What came along; a malformed part is worth less than the answer, but never turned into consent
/// to something else: an `input` that cannot be read stays what it is.
fn extras(ours: Option<Value>) -> Extras {
    let Some(Value::Object(mut ours)) = ours else { return Extras::default() };
    let text = |ours: &mut Map<String, Value>, key: &str| match ours.remove(key) {
        Some(Value::String(text)) => Some(text),
        Some(_) | None => None,
    };
    Extras {
        feedback: text(&mut ours, "feedback"),
        rule: text(&mut ours, "rule"),
        input: ours.remove("input").filter(|input| !input.is_null()),
    }
}

fn unanswered(error: &RpcError) -> Answer {
    tracing::info!(%error, "a question was not answered");
    if error.code == METHOD_NOT_FOUND { Answer::Nobody } else { Answer::Cancelled }
}

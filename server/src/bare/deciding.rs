//! Commands that decide on pending hunks.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use protocol::{ReviewItem, ReviewResolveParams, ReviewUndoParams};
use serde_json::Value;

use crate::apply::LspEditor;
use crate::outbox::RpcError;
use crate::sessions::Sessions;

/// The commands, and what they decided.
pub struct Deciding {
    editor: Arc<LspEditor>,
    /// Undo tokens, the last at the end.
    decisions: Mutex<Vec<String>>,
}

impl Deciding {
    /// Nothing decided yet.
    pub fn new(editor: Arc<LspEditor>) -> Deciding {
        Deciding { editor, decisions: Mutex::default() }
    }

    /// Decides on hunks, or takes the last decision back; `None` for any other command.
    pub async fn run(
        &self,
        sessions: &Sessions,
        command: &str,
        arguments: &[Value],
    ) -> Option<Result<(), RpcError>> {
        let action = match command {
            "copydesk.accept" => "accept",
            "copydesk.reject" => "reject",
            "copydesk.undo" => return Some(self.undo(sessions).await),
            _ => return None,
        };
        Some(self.resolve(sessions, action, arguments.first()).await)
    }

    async fn resolve(
        &self,
        sessions: &Sessions,
        action: &str,
        argument: Option<&Value>,
    ) -> Result<(), RpcError> {
        let item = argument.and_then(item).ok_or_else(|| {
            RpcError::invalid_params(format!(
                "copydesk.{action} takes {{hunkId}}, {{uri}} or {{all: true}}"
            ))
        })?;
        let params = ReviewResolveParams {
            action: action.to_owned(),
            items: vec![item],
            comment: None,
            expected_rev: None,
        };
        let resolved = self.editor.resolve(params).await?;
        sessions.follow_names(&self.editor);
        sessions.tell_decisions(resolved.told);
        let result = resolved.result;
        if !result.resolved.is_empty() {
            self.decisions().extend(result.undo_token);
            return Ok(());
        }
        let reason = result.conflicts.first().map(|it| it.reason.clone());
        Err(RpcError::failed(
            "not-found",
            reason.unwrap_or_else(|| "nothing is pending".to_owned()),
        ))
    }

    async fn undo(&self, sessions: &Sessions) -> Result<(), RpcError> {
        let last = self.decisions().pop();
        let undo_token =
            last.ok_or_else(|| RpcError::failed("not-found", "there is no decision to undo"))?;
        let undone = self.editor.undo_decision(ReviewUndoParams { undo_token }).await?;
        sessions.follow_names(&self.editor);
        sessions.tell_decisions(undone.told);
        Ok(())
    }

    fn decisions(&self) -> MutexGuard<'_, Vec<String>> {
        self.decisions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a command's argument names: an object, or the bare hunk, URI or `all`.
fn item(argument: &Value) -> Option<ReviewItem> {
    let Some(text) = argument.as_str() else {
        return serde_json::from_value(argument.clone()).ok();
    };
    let nothing = ReviewItem::default();
    Some(match text {
        "all" => ReviewItem { all: Some(true), ..nothing },
        uri if uri.contains(':') => ReviewItem { uri: Some(uri.to_owned()), ..nothing },
        id => ReviewItem { hunk_id: Some(id.to_owned()), ..nothing },
    })
}

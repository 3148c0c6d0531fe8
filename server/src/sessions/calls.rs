//! Tools called from outside a turn, through the same gate as a model's calls.

use agent::gate;
use agent::session::new_id;
use agent::tool::{Caller, Content};
use agent::tools;
use protocol::{
    BackgroundResult, ToolCallParams, ToolCallRef, ToolCallResult, ToolInfo, ToolListParams,
    ToolListResult, acp,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{Sessions, value_text};
use crate::outbox::RpcError;

impl Sessions {
    /// `copydesk/tool/list`.
    pub fn tool_list(&self, params: ToolListParams) -> Result<ToolListResult, RpcError> {
        if let Some(id) = &params.session_id {
            self.session(id)?;
        }
        dialect(params.dialect.as_deref())?;
        Ok(ToolListResult { tools: tool_infos() })
    }

    /// `copydesk/tool/call`: through the same gate as a model's call.
    pub async fn tool_call(&self, params: ToolCallParams) -> Result<ToolCallResult, RpcError> {
        dialect(params.dialect.as_deref())?;
        let (session, caller) = match &params.session_id {
            Some(id) => (self.session(id)?, Caller::Model),
            None => (self.own_session()?, Caller::Person),
        };
        let id = new_id("call");
        let request = gate::Request {
            id: id.clone(),
            name: params.name,
            input: gate::Input::Value(params.input),
            caller,
        };
        // Dropped when the request is cancelled: the call is cancelled with it.
        let cancel = CancellationToken::new();
        let _guard = cancel.clone().drop_guard();
        let running = tokio::spawn({
            let (shared, cancel) = (session.shared.clone(), cancel.clone());
            async move { gate::call(&shared, request, &cancel).await }
        });
        let done = running.await.map_err(|err| RpcError::failed("invalid", err.to_string()))?;
        Ok(ToolCallResult {
            content: blocks(done.content),
            is_error: done.is_error,
            tool_call_id: id,
        })
    }

    /// Background jobs of calls that name no session.
    pub fn running_jobs(&self) -> usize {
        let own = self.lock().own.clone();
        own.map_or(0, |it| it.shared.jobs.list(exec::Listed::Active).len())
    }

    /// `copydesk/toolCall/cancel`.
    pub fn cancel_call(&self, params: ToolCallRef) -> Result<Value, RpcError> {
        let session = self.session(&params.session_id)?;
        if session.shared.calls.cancel(&params.tool_call_id) {
            Ok(json!({}))
        } else {
            Err(RpcError::failed(
                "not-found",
                format!("the call {} does not run", params.tool_call_id),
            ))
        }
    }

    /// `copydesk/toolCall/background`.
    pub async fn background_call(&self, params: ToolCallRef) -> Result<BackgroundResult, RpcError> {
        let session = self.session(&params.session_id)?;
        match session.to_background(&params.tool_call_id).await {
            Some(job_id) => Ok(BackgroundResult { job_id }),
            None => Err(RpcError::failed(
                "not-found",
                format!(
                    "the call {} is no command that runs in the foreground",
                    params.tool_call_id
                ),
            )),
        }
    }
}

/// Every tool as the wire lists it.
pub fn tool_infos() -> Vec<ToolInfo> {
    tools::ALL
        .iter()
        .map(|it| ToolInfo {
            name: it.name.to_string(),
            canonical_name: it.name.to_string(),
            description: it.description(),
            input_schema: it.input_schema(),
            kind: value_text(&(it.kind)()),
            deferred: false,
        })
        .collect()
}

/// A result's content as ACP blocks.
pub fn blocks(content: Vec<Content>) -> Vec<acp::ContentBlock> {
    content
        .into_iter()
        .map(|it| match it {
            Content::Text(text) => acp::ContentBlock::from(text),
            Content::Image { media_type, data } => {
                acp::ContentBlock::Image(acp::ImageContent::new(data, media_type))
            }
        })
        .collect()
}

fn dialect(name: Option<&str>) -> Result<(), RpcError> {
    match name {
        None | Some("claude") => Ok(()),
        Some(other) => Err(RpcError::invalid_params(format!(
            "dialect: there is no `{other}`; there is claude"
        ))),
    }
}

//! Tools called from outside a turn, through the same gate as a model's calls.

use agent::dialects::{self, CANONICAL, Dialect};
use agent::gate;
use agent::provider;
use agent::session::new_id;
use agent::tool::{Caller, Content, Sees};
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
        let session = params.session_id.as_deref().map(|it| self.session(it)).transpose()?;
        let dialect = match (params.dialect, session) {
            (Some(name), _) => dialect(Some(&name))?,
            (None, Some(session)) => {
                let shared = &session.shared;
                provider::dialect(&shared.world.config().settings, shared.model().as_deref())
            }
            (None, None) => &CANONICAL,
        };
        Ok(ToolListResult { tools: tool_infos(dialect) })
    }

    /// `copydesk/tool/call`: through the same gate as a model's call.
    pub async fn tool_call(&self, params: ToolCallParams) -> Result<ToolCallResult, RpcError> {
        let dialect = dialect(params.dialect.as_deref())?;
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
            dialect,
            sees: Sees::ALL,
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

/// The tools of a dialect as the wire lists them.
pub fn tool_infos(dialect: &'static Dialect) -> Vec<ToolInfo> {
    dialect
        .tools()
        .map(|it| ToolInfo {
            name: it.name.to_string(),
            canonical_name: it.entry.name.to_string(),
            description: it.description.clone(),
            input_schema: it.input_schema().clone(),
            kind: value_text(&(it.entry.kind)()),
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
            // The protocol has no block for it.
            Content::Video { media_type, .. } => {
                acp::ContentBlock::from(format!("(a video, {media_type})"))
            }
        })
        .collect()
}

/// The dialect of this name; without one, the canonical names.
fn dialect(name: Option<&str>) -> Result<&'static Dialect, RpcError> {
    match name {
        None => Ok(&CANONICAL),
        Some(name) => {
            dialects::named(name).map_err(|err| RpcError::invalid_params(format!("dialect: {err}")))
        }
    }
}

//! The handlers: what each message means, in a few lines each.
//!
//! Invariant: a handler changes the state it is about before its first await and never waits for
//! the editor, the model or the person, except where the request itself is allowed to stay open.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use protocol::{
    EditorStateParams, ReviewBaseParams, ReviewBaseResult, ReviewListParams, ReviewResolveParams,
    ReviewUndoParams, ToolCallParams, ToolCallRef, ToolListParams, TrustParams,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{self, Result};
use tower_lsp::lsp_types::{
    CodeActionKind, CodeActionParams, CodeActionResponse, CodeLens, CodeLensParams,
    DidChangeConfigurationParams, DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams,
    ExecuteCommandParams, InitializeParams, InitializeResult, InitializedParams, MessageType,
};
use tower_lsp::{LanguageServer, LspService};
use vfs::{Location, Vfs};

pub use self::documents::DIRECT;
use self::documents::Documents;
use crate::apply::LspEditor;
use crate::bare::{Commands, Deciding};
use crate::capabilities::Client;
use crate::config::check;
use crate::lsp;
use crate::outbox::{Outbox, RpcError, brief};
use crate::review::plain;
use crate::sessions::Sessions;

mod documents;

/// The server as the router sees it.
pub struct Backend {
    outbox: Outbox,
    documents: Documents,
    folders: Mutex<Vec<PathBuf>>,
    start: Start,
    /// What exists once `initialize` has told who the client is.
    ready: OnceLock<Ready>,
}

/// Makes the sessions once client, folders and settings are known. Must not block.
pub type Start = Box<dyn Fn(Opening) -> Sessions + Send + Sync>;

/// What `initialize` tells the sessions.
pub struct Opening {
    /// The way to the editor.
    pub editor: Arc<LspEditor>,
    /// The documents.
    pub vfs: Vfs,
    /// The workspace's folders; the first is the one the editor was opened in.
    pub folders: Vec<PathBuf>,
    /// `initializationOptions`; null when there are none.
    pub settings: Value,
}

struct Ready {
    client: Client,
    sessions: Arc<Sessions>,
    commands: Commands,
    deciding: Deciding,
    editor: Arc<LspEditor>,
}

impl Backend {
    /// The router with every method of ours.
    pub fn service(outbox: Outbox, vfs: Vfs, start: Start) -> LspService<Backend> {
        let backend = Backend {
            outbox,
            documents: Documents {
                vfs,
                uris: Arc::default(),
                review: OnceLock::new(),
                notebooks: OnceLock::new(),
            },
            folders: Mutex::default(),
            start,
            ready: OnceLock::new(),
        };
        let (service, _socket) = LspService::build(|_| backend)
            .custom_method("session/new", Backend::session_new)
            .custom_method("session/prompt", Backend::session_prompt)
            .custom_method("session/cancel", Backend::session_cancel)
            .custom_method("session/set_config_option", Backend::session_set_config_option)
            .custom_method("session/list", Backend::session_list)
            .custom_method("session/resume", Backend::session_resume)
            .custom_method("session/close", Backend::session_close)
            .custom_method("session/delete", Backend::session_delete)
            .custom_method("copydesk/session/fork", Backend::session_fork)
            .custom_method("copydesk/session/rewind", Backend::session_rewind)
            .custom_method("copydesk/session/export", Backend::session_export)
            .custom_method("copydesk/tool/list", Backend::tool_list)
            .custom_method("copydesk/tool/call", Backend::tool_call)
            .custom_method("copydesk/toolCall/cancel", Backend::tool_call_cancel)
            .custom_method("tool_call/cancel", Backend::tool_call_cancel)
            .custom_method("copydesk/toolCall/background", Backend::tool_call_background)
            .custom_method("copydesk/job/list", Backend::job_list)
            .custom_method("copydesk/job/read", Backend::job_read)
            .custom_method("copydesk/job/write", Backend::job_write)
            .custom_method("copydesk/job/resize", Backend::job_resize)
            .custom_method("copydesk/job/kill", Backend::job_kill)
            .custom_method("terminal/cancel", Backend::terminal_cancel)
            .custom_method("copydesk/status", Backend::status)
            .custom_method("copydesk/trust", Backend::trust)
            .custom_method("copydesk/permission/list", Backend::permission_list)
            .custom_method("copydesk/permission/remove", Backend::permission_remove)
            .custom_method("copydesk/review/list", Backend::review_list)
            .custom_method("copydesk/review/resolve", Backend::review_resolve)
            .custom_method("copydesk/review/undo", Backend::review_undo)
            .custom_method("copydesk/review/base", Backend::review_base)
            .custom_method("copydesk/checkpoint/list", Backend::checkpoint_list)
            .custom_method("copydesk/checkpoint/restore", Backend::checkpoint_restore)
            .custom_method("copydesk/editor/didChangeState", Backend::editor_state)
            .finish();
        service
    }

    /// Ends everything the sessions have running; used when the client goes without a word.
    pub async fn stop(&self) {
        if let Some(ready) = self.ready.get() {
            ready.sessions.shutdown().await;
            let review = ready.editor.review();
            review.follow_all();
            review.save_soon();
            review.kept().await;
        }
    }

    async fn session_new(&self, params: Value) -> Result<Value> {
        self.answer(params, Sessions::new_session)
    }

    async fn session_prompt(&self, params: Value) -> Result<Value> {
        self.answer(params, Sessions::prompt)
    }

    async fn session_cancel(&self, params: Value) {
        self.take(params, Sessions::cancel);
    }

    async fn session_set_config_option(&self, params: Value) -> Result<Value> {
        self.answer(params, Sessions::set_config_option)
    }

    async fn session_list(&self, params: Value) -> Result<Value> {
        self.answer(params, Sessions::list)
    }

    async fn session_resume(&self, params: Value) -> Result<Value> {
        self.answer(params, Sessions::resume)
    }

    async fn session_close(&self, params: Value) -> Result<Value> {
        self.answer(params, Sessions::close)
    }

    async fn session_delete(&self, params: Value) -> Result<Value> {
        self.answer(params, Sessions::delete)
    }

    async fn session_fork(&self, params: Value) -> Result<Value> {
        self.answer(params, Sessions::fork)
    }

    async fn session_rewind(&self, params: Value) -> Result<Value> {
        let (params, ready) = (parse(params)?, self.ready()?);
        reply(ready.sessions.rewind(&ready.editor, params).await)
    }

    async fn checkpoint_list(&self, params: Value) -> Result<Value> {
        let (params, ready) = (parse(params)?, self.ready()?);
        reply(ready.sessions.checkpoints(&ready.editor, params).await)
    }

    async fn checkpoint_restore(&self, params: Value) -> Result<Value> {
        let (params, ready) = (parse(params)?, self.ready()?);
        reply(ready.sessions.restore_checkpoint(&ready.editor, params).await)
    }

    async fn session_export(&self, params: Value) -> Result<Value> {
        self.answer(params, Sessions::export)
    }

    async fn tool_list(&self, params: Value) -> Result<Value> {
        self.answer::<ToolListParams, _>(params, Sessions::tool_list)
    }

    async fn tool_call(&self, params: Value) -> Result<Value> {
        let params: ToolCallParams = parse(params)?;
        reply(self.ready()?.sessions.tool_call(params).await)
    }

    async fn tool_call_cancel(&self, params: Value) -> Result<Value> {
        self.answer::<ToolCallRef, _>(params, Sessions::cancel_call)
    }

    async fn tool_call_background(&self, params: Value) -> Result<Value> {
        let params: ToolCallRef = parse(params)?;
        reply(self.ready()?.sessions.background_call(params).await)
    }

    async fn job_list(&self, params: Value) -> Result<Value> {
        self.answer(params, Sessions::job_list)
    }

    async fn job_read(&self, params: Value) -> Result<Value> {
        let params = parse(params)?;
        reply(self.ready()?.sessions.job_read(params).await)
    }

    async fn job_write(&self, params: Value) -> Result<Value> {
        self.answer(params, Sessions::job_write)
    }

    async fn job_resize(&self, params: Value) -> Result<Value> {
        self.answer(params, Sessions::job_resize)
    }

    async fn job_kill(&self, params: Value) -> Result<Value> {
        let params = parse(params)?;
        reply(self.ready()?.sessions.job_kill(params).await)
    }

    async fn terminal_cancel(&self, params: Value) -> Result<Value> {
        let params = parse(params)?;
        reply(self.ready()?.sessions.terminal_cancel(params).await)
    }

    async fn status(&self, _params: Value) -> Result<Value> {
        let ready = self.ready()?;
        let mut status = ready.sessions.status();
        status.problems.extend(ready.editor.review().problems());
        reply(Ok(status))
    }

    async fn trust(&self, params: Value) -> Result<Value> {
        self.answer::<TrustParams, _>(params, Sessions::trust)
    }

    async fn permission_list(&self, _params: Value) -> Result<Value> {
        reply(Ok(self.ready()?.sessions.permission_list()))
    }

    async fn permission_remove(&self, params: Value) -> Result<Value> {
        self.answer(params, Sessions::permission_remove)
    }

    async fn review_list(&self, params: Value) -> Result<Value> {
        let params: ReviewListParams = parse(params)?;
        reply(Ok(self.ready()?.editor.list_pending(&params)))
    }

    async fn review_resolve(&self, params: Value) -> Result<Value> {
        let params: ReviewResolveParams = parse(params)?;
        let ready = self.ready()?;
        let resolved = ready.editor.resolve(params).await?;
        ready.sessions.follow_names(&ready.editor);
        ready.sessions.tell_decisions(resolved.told);
        reply(Ok(resolved.result))
    }

    async fn review_undo(&self, params: Value) -> Result<Value> {
        let params: ReviewUndoParams = parse(params)?;
        let ready = self.ready()?;
        if let Some(undone) = ready.sessions.undo_rewind(&ready.editor, &params).await {
            return reply(undone);
        }
        let undone = ready.editor.undo_decision(params).await?;
        ready.sessions.follow_names(&ready.editor);
        ready.sessions.tell_decisions(undone.told);
        reply(Ok(undone.result))
    }

    async fn review_base(&self, params: Value) -> Result<Value> {
        let params: ReviewBaseParams = parse(params)?;
        let text = self.ready()?.editor.base_text(&params);
        reply(text.map(|text| ReviewBaseResult { text }))
    }

    async fn editor_state(&self, params: Value) {
        match parse::<EditorStateParams>(params) {
            Ok(state) => self.documents.take_editor_state(state),
            Err(error) => tracing::warn!(%error, "copydesk/editor/didChangeState is malformed"),
        }
    }

    /// A request answered at once.
    fn answer<P: DeserializeOwned, R: Serialize>(
        &self,
        params: Value,
        handle: impl FnOnce(&Sessions, P) -> std::result::Result<R, RpcError>,
    ) -> Result<Value> {
        let params = parse(params)?;
        reply(handle(&self.ready()?.sessions, params))
    }

    /// A notification.
    fn take<P: DeserializeOwned>(&self, params: Value, handle: impl FnOnce(&Sessions, P)) {
        match (parse(params), self.ready()) {
            (Ok(params), Ok(ready)) => handle(&ready.sessions, params),
            (Err(error), _) | (_, Err(error)) => tracing::warn!(%error, "a notification is lost"),
        }
    }

    fn ready(&self) -> Result<&Ready> {
        self.ready.get().ok_or_else(|| {
            RpcError { code: -32002, message: "the server is not initialized".into(), data: None }
                .into()
        })
    }

    fn set_folders(&self, change: impl FnOnce(&mut Vec<PathBuf>)) -> Vec<PathBuf> {
        let mut folders = self.folders.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut folders);
        folders.clone()
    }
}

#[tower_lsp::async_trait]
impl LanguageServer for Backend {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        let client = Client::new(&params);
        let Documents { vfs, uris, .. } = &self.documents;
        vfs.set_unit(client.counting.unit);
        vfs.set_breaks(client.counting.breaks);
        let (outbox, uris) = (self.outbox.clone(), Arc::clone(uris));
        let editor = Arc::new(LspEditor::new(outbox, vfs.clone(), uris, client.clone()));
        let folders = self.set_folders(|folders| *folders = opened_folders(&params));
        let opening = Opening {
            editor: Arc::clone(&editor),
            vfs: vfs.clone(),
            folders,
            settings: params.initialization_options.unwrap_or_default(),
        };
        let _ = self.documents.review.set(editor.review().clone());
        let _ = self.documents.notebooks.set(editor.notebooks().clone());
        let sessions = Arc::new((self.start)(opening));
        let result = client.initialize_result();
        let commands = Commands::new(Arc::clone(&editor));
        let deciding = Deciding::new(Arc::clone(&editor));
        // The router lets only the first `initialize` through.
        let _ = self.ready.set(Ready { client, sessions, commands, deciding, editor });
        Ok(result)
    }

    async fn initialized(&self, _: InitializedParams) {
        if let Some(ready) = self.ready.get() {
            ready.editor.watch_review();
        }
        if self.ready.get().is_some_and(|ready| ready.client.watches_files) {
            let answer = self.outbox.request("client/registerCapability", watchers());
            tokio::spawn(async move {
                if let Err(error) = answer.await {
                    tracing::info!(%error, "the client does not watch files for us");
                }
            });
        }
    }

    async fn shutdown(&self) -> Result<()> {
        self.stop().await;
        Ok(())
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        if let (Some(settings), Some(ready)) = (our_settings(params.settings), self.ready.get()) {
            ready.sessions.configure(settings);
        }
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        let paths = |folders: &[tower_lsp::lsp_types::WorkspaceFolder]| -> Vec<PathBuf> {
            folders.iter().filter_map(|folder| path(folder.uri.as_str())).collect()
        };
        let (added, removed) = (paths(&params.event.added), paths(&params.event.removed));
        let folders = self.set_folders(|folders| {
            folders.retain(|folder| !removed.contains(folder));
            let new: Vec<_> = added.into_iter().filter(|new| !folders.contains(new)).collect();
            folders.extend(new);
        });
        if let Some(ready) = self.ready.get() {
            ready.sessions.set_folders(folders);
        }
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        let changed = params.changes.iter().filter_map(|change| path(change.uri.as_str()));
        if let Some(ready) = self.ready.get() {
            ready.sessions.watched_files_changed(changed.collect());
        }
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        let location = lsp::location(params.text_document.uri.as_str());
        Ok(as_lsp(plain::lenses(&self.ready()?.editor.pending_in(&location))))
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        let location = lsp::location(params.text_document.uri.as_str());
        let only = params.context.only.unwrap_or_default();
        // An empty kind asks for all.
        let wanted = |kind: &CodeActionKind| matches!(kind.as_str(), "" | "quickfix");
        if !only.is_empty() && !only.iter().any(wanted) {
            return Ok(None);
        }
        let place = |at: tower_lsp::lsp_types::Position| protocol::Position {
            line: at.line,
            character: at.character,
        };
        let range =
            protocol::Range { start: place(params.range.start), end: place(params.range.end) };
        Ok(as_lsp(plain::actions(&self.ready()?.editor.pending_in(&location), range)))
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        let folder = self.set_folders(|_| ()).into_iter().next();
        let ready = self.ready()?;
        let (command, arguments) = (&params.command, &params.arguments);
        let decided = ready.deciding.run(&ready.sessions, command, arguments).await;
        let run = || ready.commands.run(&ready.sessions, folder, command, arguments);
        match decided.unwrap_or_else(run) {
            Ok(()) => Ok(None),
            Err(error) => {
                // Many editors drop the error of a command.
                let message = json!({"type": MessageType::ERROR, "message": brief(&error.message)});
                self.outbox.notify("window/showMessage", message);
                Err(error.into())
            }
        }
    }
}

/// The folders the editor has open; `rootUri` counts where there is no list.
fn opened_folders(params: &InitializeParams) -> Vec<PathBuf> {
    let listed = params.workspace_folders.iter().flatten();
    let mut folders: Vec<PathBuf> = listed.filter_map(|folder| path(folder.uri.as_str())).collect();
    if folders.is_empty() {
        folders.extend(params.root_uri.as_ref().and_then(|root| path(root.as_str())));
    }
    folders
}

/// The settings meant for us: under our name where the client sends those of all servers. Null and
/// an empty table are what clients send that expect to be asked or have nothing to say, and some
/// send the settings of other servers; they change nothing.
fn our_settings(mut settings: Value) -> Option<Value> {
    let ours = match settings.get_mut("copydesk") {
        Some(ours) => Some(ours.take()).filter(Value::is_object),
        None => Some(settings).filter(check::names_ours),
    };
    if ours.is_none() {
        tracing::debug!("workspace/didChangeConfiguration has no settings of ours");
    }
    ours
}

fn path(uri: &str) -> Option<PathBuf> {
    match lsp::location(uri) {
        Location::Disk(path) => Some(path),
        Location::Virtual(_) => None,
    }
}

/// Files that change what the agent may do or is told; everything else is read when it is needed.
fn watchers() -> Value {
    let globs = [
        "**/.copydesk/**",
        "**/.claude/**",
        "**/.agents/**",
        "**/AGENTS.md",
        "**/CLAUDE.md",
        "**/.mcp.json",
    ];
    let watchers: Vec<Value> = globs.iter().map(|glob| json!({"globPattern": glob})).collect();
    json!({"registrations": [{
        "id": "copydesk.watch",
        "method": "workspace/didChangeWatchedFiles",
        "registerOptions": {"watchers": watchers},
    }]})
}

/// A value in the types of the router.
fn as_lsp<T: DeserializeOwned>(value: Value) -> Option<T> {
    serde_json::from_value(value)
        .inspect_err(|error| tracing::error!(%error, "an answer is not what the protocol says"))
        .ok()
}

fn parse<P: DeserializeOwned>(params: Value) -> Result<P> {
    serde_path_to_error::deserialize(params).map_err(|error| {
        let path = error.path().to_string();
        let reason = error.into_inner();
        let message = if path == "." { reason.to_string() } else { format!("{path}: {reason}") };
        RpcError::invalid_params(brief(&message)).into()
    })
}

fn reply<R: Serialize>(result: std::result::Result<R, RpcError>) -> Result<Value> {
    serde_json::to_value(result?).map_err(|error| {
        tracing::error!(%error, "a result could not be written as JSON");
        jsonrpc::Error::internal_error()
    })
}

#[cfg(test)]
mod tests;

//! The sessions of one process: begun, found again, closed, and spoken to.
//!
//! Invariant: nothing here waits for the editor, a model or the person, except calls of tools, which
//! may stay open as long as they need.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use agent::artifacts::Artifacts;
use agent::export;
use agent::gate;
use agent::options;
use agent::place::Place;
use agent::provider;
use agent::session::{Delivery, Prompt, Session, Start, new_id};
use agent::settings::{Mode, Thinking};
use agent::store::{self, Header, Log, Record};
use agent::tool::{Caller, Content};
use agent::tools;
use agent::transcript::{History, Transcript};
use agent::world::World;
use protocol::{
    BackgroundResult, ExportParams, ExportResult, PermissionListResult, PermissionRemoveParams,
    RememberedRule, StatusResult, ToolCallParams, ToolCallRef, ToolCallResult, ToolInfo,
    ToolListParams, ToolListResult, TrustParams, acp,
};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use vfs::Roots;

use crate::config::{self, Sources, trust};
use crate::outbox::RpcError;

/// The id of the session of calls that name none.
const OWN: &str = "own";

/// All sessions of a process.
pub struct Sessions {
    world: Arc<World>,
    table: Mutex<Table>,
    log_path: Option<PathBuf>,
    on_configured: Box<dyn Fn(&World) + Send + Sync>,
}

#[derive(Default)]
struct Table {
    sources: Sources,
    open: BTreeMap<String, Session>,
    /// The session of calls that name none, by workspace folder.
    own: Option<Session>,
    /// Answers to prompts by idempotency key.
    prompts: BTreeMap<(String, String), String>,
}

impl Sessions {
    /// No sessions yet. `on_configured` is told of every change of the configuration.
    pub fn new(
        world: Arc<World>,
        sources: Sources,
        log_path: Option<PathBuf>,
        on_configured: Box<dyn Fn(&World) + Send + Sync>,
    ) -> Sessions {
        let table = Mutex::new(Table { sources, ..Table::default() });
        let sessions = Sessions { world, table, log_path, on_configured };
        sessions.reconfigure();
        sessions
    }

    /// `session/new`.
    pub fn new_session(
        &self,
        params: acp::NewSessionRequest,
    ) -> Result<acp::NewSessionResponse, RpcError> {
        let cwd = self.folder(params.cwd.into_inner())?;
        let mut additional = Vec::new();
        for folder in params.additional_directories {
            additional.push(self.folder(folder.into_inner())?);
        }
        let id = new_id("session");
        let session = self.begin(id.clone(), cwd, additional)?;
        let options = options::options(&session.shared);
        self.lock().open.insert(id.clone(), session);
        Ok(acp::NewSessionResponse::new(id).config_options(options))
    }

    /// `session/prompt`: shown and queued, answered at once.
    pub fn prompt(&self, params: acp::PromptRequest) -> Result<acp::PromptResponse, RpcError> {
        let id = params.session_id.to_string();
        let session = self.session(&id)?;
        if params.prompt.is_empty() {
            return Err(RpcError::invalid_params("prompt: it has no content"));
        }
        let key = params.idempotency_key.as_ref().map(|it| (id.clone(), value_text(it)));
        if let Some(key) = &key
            && let Some(message) = self.lock().prompts.get(key)
        {
            return Ok(acp::PromptResponse::new(message.clone()));
        }
        let message = new_id("message");
        if let Some(key) = key {
            self.lock().prompts.insert(key, message.clone());
        }
        let delivery = match meta(params.meta.as_ref(), "delivery").as_deref() {
            None | Some("queue") => Delivery::Queue,
            Some("steer") => Delivery::Steer,
            Some("interrupt") => Delivery::Interrupt,
            Some(other) => {
                return Err(RpcError::invalid_params(format!(
                    "_meta.copydesk.delivery: there is no `{other}`; use queue, steer or interrupt"
                )));
            }
        };
        session.prompt(Prompt { id: message.clone(), content: params.prompt, delivery });
        Ok(acp::PromptResponse::new(message))
    }

    /// `session/cancel`.
    pub fn cancel(&self, params: acp::CancelSessionNotification) {
        let Ok(session) = self.session(&params.session_id.to_string()) else { return };
        session.cancel_turn();
        if let Some("turnAndJobs" | "all") = meta(params.meta.as_ref(), "scope").as_deref() {
            tokio::spawn(async move { session.stop_jobs().await });
        }
    }

    /// `session/set_config_option`.
    pub fn set_config_option(
        &self,
        params: acp::SetSessionConfigOptionRequest,
    ) -> Result<acp::SetSessionConfigOptionResponse, RpcError> {
        let session = self.session(&params.session_id.to_string())?;
        options::set(&session.shared, &params.config_id.to_string(), &params.value)
            .map_err(RpcError::invalid_params)?;
        let options = options::options(&session.shared);
        let update = acp::ConfigOptionUpdate::new(options.clone());
        session.shared.transcript.send(acp::SessionUpdate::ConfigOptionUpdate(update));
        Ok(acp::SetSessionConfigOptionResponse::new(options))
    }

    /// `session/list`: open ones and those on disk, newest first.
    pub fn list(
        &self,
        params: acp::ListSessionsRequest,
    ) -> Result<acp::ListSessionsResponse, RpcError> {
        let cwd = params.cwd.map(|it| it.into_inner());
        let folders = match cwd {
            Some(cwd) => vec![cwd],
            None => self.lock().sources.folders.clone(),
        };
        let mut found: BTreeMap<String, (u64, acp::SessionInfo)> = BTreeMap::new();
        for folder in &folders {
            for dir in self.session_dirs(folder) {
                let Ok(loaded) = store::load(&dir) else { continue };
                let info = info_of(&loaded);
                found.insert(loaded.header.id.clone(), (loaded.header.created, info));
            }
        }
        let mut all: Vec<(u64, acp::SessionInfo)> = found.into_values().collect();
        all.sort_by_key(|it| std::cmp::Reverse(it.0));
        Ok(acp::ListSessionsResponse::new(all.into_iter().map(|(_, info)| info).collect()))
    }

    /// `session/resume`: an open session is joined, one on disk is begun again.
    pub fn resume(
        &self,
        params: acp::ResumeSessionRequest,
    ) -> Result<acp::ResumeSessionResponse, RpcError> {
        let id = params.session_id.to_string();
        let open = self.lock().open.get(&id).cloned();
        let session = match open {
            Some(session) => session,
            None => {
                let session = self.reopen(&id, &params.cwd.into_inner())?;
                self.lock().open.insert(id, session.clone());
                session
            }
        };
        if params.replay_from.is_some() {
            session.shared.transcript.replay();
        }
        session.show_state();
        session.shared.ask_again.notify_waiters();
        Ok(acp::ResumeSessionResponse::new().config_options(options::options(&session.shared)))
    }

    /// `session/close`: its turn and its processes end; it can be resumed.
    pub fn close(
        &self,
        params: acp::CloseSessionRequest,
    ) -> Result<acp::CloseSessionResponse, RpcError> {
        let id = params.session_id.to_string();
        let session = self.session(&id)?;
        self.lock().open.remove(&id);
        session.cancel_turn();
        tokio::spawn(async move { session.close().await });
        Ok(acp::CloseSessionResponse::new())
    }

    /// `session/delete`: closed, and removed from disk.
    pub fn delete(
        &self,
        params: acp::DeleteSessionRequest,
    ) -> Result<acp::DeleteSessionResponse, RpcError> {
        let id = params.session_id.to_string();
        let open = self.lock().open.remove(&id);
        let dir = self.find_dir(&id);
        if open.is_none() && dir.is_none() {
            return Err(unknown(&id));
        }
        if let Some(session) = &open {
            session.cancel_turn();
        }
        tokio::spawn(async move {
            if let Some(session) = open {
                session.close().await;
            }
            if let Some(dir) = dir
                && let Err(err) = vfs::state::remove(&dir)
            {
                tracing::error!("session {id} could not be deleted: {err}");
            }
        });
        Ok(acp::DeleteSessionResponse::new())
    }

    /// `copydesk/session/export`.
    pub fn export(&self, params: ExportParams) -> Result<ExportResult, RpcError> {
        let session = self.session(&params.session_id)?;
        let history = session.shared.transcript.history();
        let content = match params.format.as_str() {
            "markdown" => export::markdown(&history),
            "json" => serde_json::to_string_pretty(&history).unwrap_or_default(),
            other => {
                return Err(RpcError::invalid_params(format!(
                    "format: there is no `{other}`; use markdown or json"
                )));
            }
        };
        Ok(ExportResult { content })
    }

    /// The conversation so far as a Markdown file in the session's folder.
    pub fn transcript(&self, id: &str) -> Result<PathBuf, RpcError> {
        self.session(id)?.shared.write_transcript().map_err(|err| {
            RpcError::failed("invalid", format!("the transcript cannot be written: {err}"))
        })
    }

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

    /// `copydesk/status`.
    pub fn status(&self) -> StatusResult {
        let config = self.world.config();
        let open: Vec<Session> = self.lock().open.values().cloned().collect();
        let jobs = open.iter().flat_map(|session| {
            session.shared.jobs.list(exec::Listed::Active).into_iter().map(|it| {
                json!({ "id": it.job.to_string(), "sessionId": session.shared.id, "label": it.origin.label,
                        "status": it.status.as_str(), "pid": it.pid })
            })
        });
        let mut problems = config.problems.clone();
        let model = provider::default_model(&config.settings);
        if model.is_none() {
            problems.push(provider::NO_MODEL.to_string());
        }
        if !config.trusted {
            problems.push(
                "This folder is not trusted: its own settings grant nothing, and nothing runs unasked."
                    .to_string(),
            );
        }
        StatusResult {
            version: env!("CARGO_PKG_VERSION").to_string(),
            pid: std::process::id(),
            log_path: self.log_path.as_ref().map(|it| it.display().to_string()),
            config: config.files.iter().map(|it| it.display().to_string()).collect(),
            model,
            language_servers: Vec::new(),
            mcp_servers: Vec::new(),
            jobs: jobs.collect(),
            sessions: open
                .iter()
                .map(|it| json!({ "sessionId": it.shared.id, "busy": it.shared.is_busy() }))
                .collect(),
            problems,
        }
    }

    /// `copydesk/trust`.
    pub fn trust(&self, params: TrustParams) -> Result<Value, RpcError> {
        let vfs::Location::Disk(folder) = crate::lsp::location(&params.root) else {
            return Err(RpcError::invalid_params("root: it must be a file URI"));
        };
        let said = if params.trusted { trust::Trust::Yes } else { trust::Trust::No };
        {
            let mut table = self.lock();
            if let Some(state) = &table.sources.state {
                trust::remember(state, &folder, said).map_err(|err| {
                    RpcError::failed("invalid", format!("trust was not kept: {err}"))
                })?;
            }
            if table.sources.folders.first() == Some(&folder) {
                table.sources.trusted = Some(params.trusted);
            }
        }
        self.reconfigure();
        Ok(json!({}))
    }

    /// Whether the editor or the person has said if the workspace is trusted.
    pub fn is_trust_known(&self) -> bool {
        let table = self.lock();
        table.sources.trusted.is_some() || trust::is_trusted(&table.sources)
    }

    /// `copydesk/permission/list`.
    pub fn permission_list(&self) -> PermissionListResult {
        let open: Vec<Session> = self.lock().open.values().cloned().collect();
        let mut rules: Vec<RememberedRule> = Vec::new();
        let remembered = open.iter().flat_map(|session| {
            let id = session.shared.id.clone();
            session.shared.remembered().into_iter().map(move |rule| (id.clone(), rule))
        });
        for (session, rule) in remembered {
            rules.push(RememberedRule {
                id: format!("{session}/{}", rule.text),
                rule: rule.text.clone(),
                decision: rule.decision.id().to_string(),
                scope: rule.scope.clone(),
            });
        }
        rules.extend(self.world.rules().all.iter().map(|rule| RememberedRule {
            id: format!("{}/{}/{}", rule.scope, rule.decision.id(), rule.text),
            rule: rule.text.clone(),
            decision: rule.decision.id().to_string(),
            scope: rule.scope.clone(),
        }));
        PermissionListResult { rules }
    }

    /// `copydesk/permission/remove`: rules of files are removed in the files.
    pub fn permission_remove(&self, params: PermissionRemoveParams) -> Result<Value, RpcError> {
        let not_found = || RpcError::failed("not-found", format!("there is no rule {}", params.id));
        let (owner, text) = params.id.split_once('/').ok_or_else(not_found)?;
        let session = self.lock().open.get(owner).cloned();
        match session {
            Some(session) => {
                session.shared.forget_rule(text);
                Ok(json!({}))
            }
            None if self.permission_list().rules.iter().any(|it| it.id == params.id) => {
                Err(RpcError::failed(
                    "invalid",
                    "this rule stands in a configuration file; remove it there".to_string(),
                ))
            }
            None => Err(not_found()),
        }
    }

    /// New settings from the editor.
    pub fn configure(&self, settings: Value) {
        {
            let mut table = self.lock();
            if let Some(trusted) = settings["trusted"].as_bool() {
                table.sources.trusted = Some(trusted);
            }
            table.sources.editor = settings;
        }
        self.reconfigure();
    }

    /// The workspace's folders changed.
    pub fn set_folders(&self, folders: Vec<PathBuf>) {
        self.lock().sources.folders = folders;
        self.reconfigure();
    }

    /// Files changed on disk: configuration files are read again.
    pub fn watched_files_changed(&self, changed: Vec<PathBuf>) {
        let root = self.lock().sources.folders.first().cloned();
        let files = config::files(root.as_deref());
        if changed.iter().any(|it| files.iter().any(|(_, file)| file == it)) {
            self.reconfigure();
        }
    }

    /// Ends every turn and every process.
    pub async fn shutdown(&self) {
        let sessions: Vec<Session> = {
            let mut table = self.lock();
            let own = table.own.take();
            std::mem::take(&mut table.open).into_values().chain(own).collect()
        };
        futures::future::join_all(sessions.iter().map(Session::close)).await;
    }

    /// A session that is not in the table: for the command line.
    pub fn begin(
        &self,
        id: String,
        cwd: PathBuf,
        additional: Vec<PathBuf>,
    ) -> Result<Session, RpcError> {
        let dir = self.world.state.as_ref().map(|it| store::sessions_dir(it, &cwd).join(&id));
        let header = Header {
            format: store::FORMAT,
            id: id.clone(),
            cwd: cwd.clone(),
            additional: additional.clone(),
            created: now(),
        };
        let log = match &dir {
            Some(dir) => {
                let mut log = Log::open(dir).map_err(|err| {
                    RpcError::failed(
                        "invalid",
                        format!("the session cannot be kept in {}: {err}", dir.display()),
                    )
                })?;
                log.append(&Record::Session(header));
                log
            }
            None => Log::none(),
        };
        let transcript =
            Transcript::new(id.clone().into(), self.world.editor.clone(), log, History::default());
        let mode = self.world.config().settings.mode;
        Ok(self.start(Begin {
            id,
            cwd,
            additional,
            dir,
            mode,
            model: None,
            thinking: None,
            history: Vec::new(),
            transcript,
        }))
    }

    /// Configuration in force.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    fn reopen(&self, id: &str, cwd: &Path) -> Result<Session, RpcError> {
        let dir = self.find_dir(id).or_else(|| {
            let state = self.world.state.as_ref()?;
            Some(store::sessions_dir(state, cwd).join(id))
        });
        let dir = dir.ok_or_else(|| unknown(id))?;
        let loaded = store::load(&dir).map_err(|_| unknown(id))?;
        let mut history = History::default();
        let mut messages = Vec::new();
        let mut mode = self.world.config().settings.mode;
        let mut model = None;
        let mut thinking = None;
        for record in loaded.records {
            match record {
                Record::Update { update } => history.add(&update),
                Record::Message { message } => messages.push(message),
                Record::Options { mode: chosen, model: named, thinking: level } => {
                    mode = chosen;
                    model = named;
                    thinking = level;
                }
                Record::Session(_) | Record::Title { .. } | Record::Closed => {}
            }
        }
        let log = Log::open(&dir).map_err(|err| {
            RpcError::failed("invalid", format!("the session's log cannot be opened: {err}"))
        })?;
        let unfinished = history.open_cards();
        let transcript =
            Transcript::new(id.to_string().into(), self.world.editor.clone(), log, history);
        for card in unfinished {
            let update = acp::ToolCallUpdate::new(card).status(acp::ToolCallStatus::Cancelled);
            transcript.send(acp::SessionUpdate::ToolCallUpdate(update));
        }
        if let Some(note) = loaded.note {
            tracing::warn!("session {id}: {note}");
        }
        let history = store::repaired(messages);
        Ok(self.start(Begin {
            id: id.to_string(),
            cwd: loaded.header.cwd,
            additional: loaded.header.additional,
            dir: Some(dir),
            mode,
            model,
            thinking,
            history,
            transcript,
        }))
    }

    fn start(&self, begin: Begin) -> Session {
        self.world.login_path();
        let mut roots = vec![begin.cwd.clone()];
        roots.extend(begin.additional);
        let open = self.lock().sources.folders.clone();
        roots.extend(open.into_iter().filter(|it| *it != begin.cwd));
        let artifacts = begin.dir.as_ref().map(|it| it.join("artifacts"));
        let jobs_dir = match &begin.dir {
            Some(dir) => dir.join("jobs"),
            None => std::env::temp_dir().join(format!("copydesk-{}", std::process::id())),
        };
        let place = Place {
            roots: Arc::new(Roots::new(roots)),
            vfs: self.world.vfs.clone(),
            cwd: begin.cwd,
            artifacts: artifacts.clone(),
        };
        Session::start(
            self.world.clone(),
            Start {
                id: begin.id,
                place,
                mode: begin.mode,
                model: begin.model,
                thinking: begin.thinking,
                history: begin.history,
                transcript: begin.transcript,
                jobs_dir,
                artifacts: Artifacts::new(artifacts),
            },
        )
    }

    fn own_session(&self) -> Result<Session, RpcError> {
        if let Some(session) = &self.lock().own {
            return Ok(session.clone());
        }
        let folder = self.lock().sources.folders.first().cloned();
        let folder =
            folder.ok_or_else(|| RpcError::failed("invalid", "no folder is open to work in"))?;
        // Always the same one, so that an artifact of one call is there for the next.
        let session = match self.reopen(OWN, &folder) {
            Ok(session) => session,
            Err(_) => self.begin(OWN.to_string(), folder, Vec::new())?,
        };
        session.shared.set_mode(self.world.config().settings.mode);
        Ok(self.lock().own.insert(session).clone())
    }

    fn session(&self, id: &str) -> Result<Session, RpcError> {
        self.lock().open.get(id).cloned().ok_or_else(|| unknown(id))
    }

    fn session_dirs(&self, folder: &Path) -> Vec<PathBuf> {
        let Some(state) = &self.world.state else { return Vec::new() };
        vfs::state::list(&store::sessions_dir(state, folder)).unwrap_or_default()
    }

    fn find_dir(&self, id: &str) -> Option<PathBuf> {
        let folders = self.lock().sources.folders.clone();
        let mut dirs = folders.iter().flat_map(|it| self.session_dirs(it));
        dirs.find(|it| it.file_name().is_some_and(|name| name == id))
    }

    /// A folder that exists, absolute.
    fn folder(&self, path: PathBuf) -> Result<PathBuf, RpcError> {
        if !path.is_absolute() {
            return Err(RpcError::invalid_params(format!(
                "cwd: {} is not absolute",
                path.display()
            )));
        }
        match self.world.vfs.kind(&path) {
            Some(vfs::FileKind::Folder) => Ok(vfs::normalize(&path)),
            Some(_) | None => {
                Err(RpcError::invalid_params(format!("cwd: {} is not a folder", path.display())))
            }
        }
    }

    fn reconfigure(&self) {
        let sources = self.lock().sources.clone();
        let config = config::load(&sources);
        for problem in &config.problems {
            tracing::warn!("configuration: {problem}");
        }
        self.world.configure(config);
        (self.on_configured)(&self.world);
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a session begins with.
struct Begin {
    id: String,
    cwd: PathBuf,
    additional: Vec<PathBuf>,
    dir: Option<PathBuf>,
    mode: Mode,
    model: Option<String>,
    thinking: Option<Thinking>,
    history: Vec<llm::Message>,
    transcript: Transcript,
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

fn info_of(loaded: &store::Loaded) -> acp::SessionInfo {
    let title = loaded.records.iter().rev().find_map(|it| match it {
        Record::Title { title } => Some(title.clone()),
        Record::Session(_)
        | Record::Update { .. }
        | Record::Message { .. }
        | Record::Options { .. }
        | Record::Closed => None,
    });
    acp::SessionInfo::new(loaded.header.id.clone(), loaded.header.cwd.clone()).title(title)
}

fn dialect(name: Option<&str>) -> Result<(), RpcError> {
    match name {
        None | Some("claude") => Ok(()),
        Some(other) => Err(RpcError::invalid_params(format!(
            "dialect: there is no `{other}`; there is claude"
        ))),
    }
}

fn unknown(id: &str) -> RpcError {
    RpcError::failed("not-found", format!("there is no session {id}"))
}

fn meta(meta: Option<&acp::Meta>, key: &str) -> Option<String> {
    meta?.get("copydesk")?.get(key)?.as_str().map(str::to_string)
}

/// A value's text on the wire.
fn value_text(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|it| it.as_str().map(str::to_string))
        .unwrap_or_default()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs())
}

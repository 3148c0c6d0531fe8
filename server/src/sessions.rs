//! The sessions of one process: begun, found again, closed, and spoken to.
//!
//! Invariant: nothing here waits for the editor, a model or the person, except calls of tools, which
//! may stay open as long as they need.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agent::export;
use agent::kept;
use agent::options;
use agent::permission::{Decision, Rule};
use agent::provider;
use agent::session::{Delivery, Passage, Prompt, Session, new_id};
use agent::world::World;
use protocol::{
    ExportParams, ExportResult, PermissionListResult, PermissionRemoveParams, RememberedRule,
    StatusResult, TrustParams, acp,
};
use serde_json::{Value, json};

pub use self::calls::tool_infos;
use crate::config::{self, Sources, trust};
use crate::outbox::RpcError;

mod calls;
mod jobs;
mod lifecycle;
mod rewinding;

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
    /// Folders sessions were begun in.
    cwds: BTreeSet<PathBuf>,
    /// Sessions that were deleted; their folders may take a moment to go.
    deleted: BTreeSet<String>,
    /// Why conversations are not kept.
    not_kept: Option<String>,
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
        let message = new_id("message");
        if let Some(key) = key {
            self.lock().prompts.insert(key, message.clone());
        }
        let passages = passages(&params.prompt);
        session.prompt(Prompt { id: message.clone(), content: params.prompt, delivery, passages });
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
        problems.extend(self.not_kept());
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
        let listed = |rule: &Rule| RememberedRule {
            id: format!("{}/{}/{}", rule.scope, rule.decision.id(), rule.text),
            rule: rule.text.clone(),
            decision: rule.decision.id().to_string(),
            scope: rule.scope.clone(),
        };
        for rule in self.keeping().iter().flat_map(|(state, root)| kept::rules(state, root)) {
            let kept = listed(&rule);
            let same = |it: &RememberedRule| it.rule == kept.rule && it.decision == kept.decision;
            if !rules.iter().any(same) {
                rules.push(kept);
            }
        }
        rules.extend(self.world.rules().all.iter().map(listed));
        PermissionListResult { rules }
    }

    /// `copydesk/permission/remove`: rules of files are removed in the files.
    pub fn permission_remove(&self, params: PermissionRemoveParams) -> Result<Value, RpcError> {
        let not_forgotten =
            |err| RpcError::failed("invalid", format!("the rule was not forgotten: {err}"));
        let not_found = || RpcError::failed("not-found", format!("there is no rule {}", params.id));
        let (owner, text) = params.id.split_once('/').ok_or_else(not_found)?;
        let session = self.lock().open.get(owner).cloned();
        match session {
            Some(session) => {
                session.shared.forget_rule(text).map_err(not_forgotten)?;
                Ok(json!({}))
            }
            None if owner == kept::SCOPE => {
                let kept = |(state, root): &(PathBuf, PathBuf)| {
                    let decisions = [Decision::Allow, Decision::Ask, Decision::Deny];
                    let named = |it: &Decision| text.strip_prefix(it.id())?.strip_prefix('/');
                    let said = decisions.iter().find_map(|it| Some((*it, named(it)?)));
                    said.map_or(Ok(false), |(it, text)| kept::forget(state, root, it, text))
                };
                let gone: Vec<bool> = self
                    .keeping()
                    .iter()
                    .map(kept)
                    .collect::<Result<_, _>>()
                    .map_err(not_forgotten)?;
                if gone.contains(&true) { Ok(json!({})) } else { Err(not_found()) }
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

    /// The state and the folders whose kept rules count here.
    fn keeping(&self) -> BTreeSet<(PathBuf, PathBuf)> {
        let table = self.lock();
        let of_sessions = table.open.values().filter_map(|it| it.shared.root());
        let roots = table.sources.folders.first().cloned().into_iter().chain(of_sessions);
        let state = self.world.state.iter();
        state.flat_map(|it| roots.clone().map(|root| (it.clone(), root))).collect()
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
        sessions.iter().for_each(Session::leave_jobs);
        futures::future::join_all(sessions.iter().map(Session::close)).await;
    }

    /// Tells the agents of these sessions what the person decided, with their next request.
    pub fn tell_decisions(&self, told: Vec<(String, String)>) {
        for (id, text) in told {
            match self.session(&id) {
                Ok(session) => session.shared.note(text),
                Err(_) => self.leave_note(&id, &text),
            }
        }
    }

    /// What the agents have seen of files is seen of them under the names they have since a decision or a restore.
    pub fn follow_names(&self, editor: &crate::apply::LspEditor) {
        let moves = editor.take_names();
        let table = self.lock();
        for session in table.open.values().chain(&table.own) {
            moves.iter().for_each(|(from, to)| session.shared.seen.moved(&[(from, to)]));
        }
    }

    /// Writes a page of the pending changes.
    pub fn review_page(&self, files: &[protocol::ReviewFile]) -> Result<PathBuf, RpcError> {
        let failed = |reason: String| RpcError::failed("invalid", reason);
        let folder = self.lock().sources.folders.first().cloned();
        let state = self.world.state.as_ref().zip(folder);
        let (state, folder) = state.ok_or_else(|| failed("this run keeps no files".to_owned()))?;
        let path = agent::store::project_dir(state, &folder).join("review.md");
        let page = crate::review::plain::page(files);
        vfs::state::write_private(&path, page.as_bytes()).map_err(|it| failed(it.to_string()))?;
        Ok(path)
    }

    /// Configuration in force.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }

    /// Why conversations are not kept, where they are not.
    pub fn not_kept(&self) -> Option<String> {
        self.lock().not_kept.clone()
    }

    fn session(&self, id: &str) -> Result<Session, RpcError> {
        self.lock().open.get(id).cloned().ok_or_else(|| unknown(id))
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

fn unknown(id: &str) -> RpcError {
    RpcError::failed("not-found", format!("there is no session {id}"))
}

fn meta(meta: Option<&acp::Meta>, key: &str) -> Option<String> {
    meta?.get("copydesk")?.get(key)?.as_str().map(str::to_string)
}

/// The texts of files that a prompt carries.
fn passages(prompt: &[acp::ContentBlock]) -> Vec<Passage> {
    let texts = prompt.iter().filter_map(|block| match block {
        acp::ContentBlock::Resource(it) => match &it.resource {
            acp::EmbeddedResourceResource::TextResourceContents(it) => {
                Some(Passage { location: crate::lsp::location(&it.uri), text: it.text.clone() })
            }
            _ => None,
        },
        _ => None,
    });
    texts.collect()
}

/// A value's text on the wire.
fn value_text(value: &impl serde::Serialize) -> String {
    serde_json::to_value(value)
        .ok()
        .and_then(|it| it.as_str().map(str::to_string))
        .unwrap_or_default()
}

//! Sessions begun, found again, listed, closed and deleted.
//!
//! Invariant: what is on disk is read record by record, never trusted: a broken log costs its broken
//! lines, and a call that was cut off gets a result that says so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use agent::artifacts::Artifacts;
use agent::conversation::{self, Conversation};
use agent::options;
use agent::place::Place;
use agent::programs::Programs;
use agent::session::{Session, Start, new_id};
use agent::store::{self, Header, Log, LogError, Record};
use agent::timeline::{FileStep, Stood, Timeline};
use agent::transcript::Transcript;
use protocol::acp;
use vfs::Roots;

use super::{OWN, Sessions, unknown};
use crate::outbox::RpcError;

impl Sessions {
    /// `session/new`.
    pub fn new_session(
        &self,
        params: acp::NewSessionRequest,
    ) -> Result<acp::NewSessionResponse, RpcError> {
        let cwd = self.folder("cwd", params.cwd)?;
        let mut additional = Vec::new();
        for folder in params.additional_directories {
            additional.push(self.folder("additionalDirectories", folder)?);
        }
        let id = new_id("session");
        let session = self.begin(id.clone(), cwd, additional)?;
        let options = options::options(&session.shared);
        self.lock().open.insert(id.clone(), session);
        Ok(acp::NewSessionResponse::new(id).config_options(options))
    }

    /// `session/list`: open ones and those on disk, newest first.
    pub fn list(
        &self,
        params: acp::ListSessionsRequest,
    ) -> Result<acp::ListSessionsResponse, RpcError> {
        let cwd = params.cwd.map(|it| absolute("cwd", it)).transpose()?;
        let folders = match cwd {
            Some(cwd) => vec![cwd],
            None => self.known_folders(),
        };
        let mut found: BTreeMap<String, (u64, acp::SessionInfo)> = BTreeMap::new();
        for folder in &folders {
            for dir in self.session_dirs(folder) {
                let Ok(loaded) = store::load(&dir) else { continue };
                // The session of single calls is no conversation.
                if loaded.header.id == OWN {
                    continue;
                }
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
        // It may be gone by now, and the conversation goes on all the same.
        let cwd = absolute("cwd", params.cwd)?;
        for folder in params.additional_directories {
            absolute("additionalDirectories", folder)?;
        }
        let open = self.lock().open.get(&id).cloned();
        let (session, ended, note) = match open {
            Some(session) => (session, Vec::new(), None),
            None => {
                let Reopened { session, ended, note } = self.reopen(&id, Some(&cwd))?;
                self.lock().open.insert(id, session.clone());
                (session, ended, note)
            }
        };
        if params.replay_from.is_some() {
            session.shared.transcript.replay();
        } else {
            session.shared.transcript.show_again(ended);
        }
        if let Some(note) = note {
            let notice = acp::Notice::new(acp::NoticeSeverity::Warning, note);
            session.shared.transcript.send(acp::SessionUpdate::Notice(notice));
        }
        session.show_state();
        session.shared.calls.ask_again.notify_waiters();
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
        session.leave_jobs();
        // Whoever resumes it next owns it from now on.
        session.shared.transcript.release();
        tokio::spawn(async move { session.close().await });
        Ok(acp::CloseSessionResponse::new())
    }

    /// `session/delete`: closed, and removed from disk.
    pub fn delete(
        &self,
        params: acp::DeleteSessionRequest,
    ) -> Result<acp::DeleteSessionResponse, RpcError> {
        let id = params.session_id.to_string();
        let dir = self.find_dir(&id);
        let open = self.lock().open.remove(&id);
        if open.is_none() && dir.is_none() {
            return Err(unknown(&id));
        }
        // Gone for everyone from now on, however long its processes take to end.
        self.lock().deleted.insert(id.clone());
        if let Some(session) = &open {
            session.cancel_turn();
        }
        let vfs = self.world.vfs.clone();
        tokio::spawn(async move {
            if let Some(session) = open {
                session.close().await;
            }
            // Nothing will be logged any more.
            drop(vfs.unlogged(&id));
            if let Some(dir) = dir
                && let Err(err) = vfs::state::remove(&dir)
            {
                tracing::error!("session {id} could not be deleted: {err}");
            }
        });
        Ok(acp::DeleteSessionResponse::new())
    }

    /// A session that is not in the table: for the command line.
    pub fn begin(
        &self,
        id: String,
        cwd: PathBuf,
        additional: Vec<PathBuf>,
    ) -> Result<Session, RpcError> {
        let options = conversation::Options {
            mode: self.world.config().settings.mode,
            model: None,
            thinking: None,
        };
        Ok(self.begin_with(id, (cwd, additional), Vec::new(), options))
    }

    /// A new session that begins with these records.
    pub(super) fn begin_with(
        &self,
        id: String,
        (cwd, additional): (PathBuf, Vec<PathBuf>),
        records: Vec<Record>,
        options: conversation::Options,
    ) -> Session {
        let dir = self.world.state.as_ref().map(|it| store::sessions_dir(it, &cwd).join(&id));
        let header = Header {
            format: store::FORMAT,
            id: id.clone(),
            cwd: cwd.clone(),
            additional: additional.clone(),
            created: now(),
        };
        // Where nothing can be kept, the person can work all the same.
        let (dir, log) = match dir.map(|dir| (Log::open(&dir), dir)) {
            Some((Ok(mut log), dir)) => {
                log.append(&Record::Session(header));
                records.iter().for_each(|it| log.append(it));
                (Some(dir), log)
            }
            Some((Err(err), dir)) => {
                let problem = format!("Conversations cannot be kept in {}: {err}", dir.display());
                tracing::error!("{problem}");
                self.lock().not_kept = Some(problem);
                (None, Log::none())
            }
            None => (None, Log::none()),
        };
        let Conversation { messages, history, timeline, .. } = Conversation::of(records);
        let transcript =
            Transcript::new(id.clone().into(), self.world.editor.clone(), log, history);
        self.start(Begin {
            id,
            cwd,
            additional,
            dir,
            options,
            history: messages,
            transcript,
            timeline,
        })
    }

    pub(super) fn reopen(&self, id: &str, cwd: Option<&Path>) -> Result<Reopened, RpcError> {
        let in_cwd = || self.session_dirs(cwd?).into_iter().find(|it| is_dir_of(it, id));
        let dir = self.find_dir(id).or_else(in_cwd).ok_or_else(|| unknown(id))?;
        let loaded = store::load(&dir).map_err(|err| {
            RpcError::failed("invalid", format!("the session {id} cannot be read: {err}"))
        })?;
        let mut log = Log::open(&dir).map_err(|err| {
            let kind = match err {
                LogError::Busy => "busy",
                LogError::Io(_) => "invalid",
            };
            RpcError::failed(kind, format!("the conversation {id} cannot go on: {err}"))
        })?;
        let mut records = loaded.records;
        self.log_unlogged(id, &mut records, &mut log);
        let Conversation { messages, mut history, timeline, options, .. } =
            Conversation::of(records);
        let options = options.unwrap_or_else(|| conversation::Options {
            mode: self.world.config().settings.mode,
            model: None,
            thinking: None,
        });
        let lost = history.lost_programs();
        let ended = history.endings();
        for update in &ended {
            log.append(&Record::Update { update: update.clone() });
            history.add(update);
        }
        let transcript =
            Transcript::new(id.to_string().into(), self.world.editor.clone(), log, history);
        if let Some(note) = &loaded.note {
            tracing::warn!("session {id}: {note}");
        }
        let session = self.start(Begin {
            id: id.to_string(),
            cwd: loaded.header.cwd,
            additional: loaded.header.additional,
            dir: Some(dir),
            options,
            history: messages,
            transcript,
            timeline,
        });
        let lost = lost.into_iter().map(|(id, command)| (id.to_string(), command));
        session.shared.note_ends("lost", "the server ended while it ran", lost);
        Ok(Reopened { session, ended, note: loaded.note })
    }

    /// Logs what a session did to files just before its process was killed.
    fn log_unlogged(&self, id: &str, records: &mut Vec<Record>, log: &mut Log) {
        for unlogged in self.world.vfs.unlogged(id) {
            let steps = steps_of(&unlogged);
            if steps.iter().any(|it| !is_logged(records, it)) {
                tracing::warn!("session {id}: a change of {} files was not logged", steps.len());
                let record = Record::Steps { steps };
                log.append(&record);
                log.sync();
                records.push(record);
            }
        }
    }

    fn start(&self, begin: Begin) -> Session {
        self.world.login_path();
        let mut roots = vec![begin.cwd.clone()];
        roots.extend(begin.additional);
        let open = {
            let mut table = self.lock();
            table.cwds.insert(begin.cwd.clone());
            table.sources.folders.clone()
        };
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
            grammar: self.world.grammar(),
            programs: Programs::default(),
        };
        Session::start(
            self.world.clone(),
            Start {
                id: begin.id,
                place,
                mode: begin.options.mode,
                model: begin.options.model,
                thinking: begin.options.thinking,
                history: begin.history,
                transcript: begin.transcript,
                timeline: begin.timeline,
                jobs_dir,
                artifacts: Artifacts::new(artifacts),
            },
        )
    }

    pub(super) fn own_session(&self) -> Result<Session, RpcError> {
        if let Some(session) = &self.lock().own {
            return Ok(session.clone());
        }
        let folder = self.lock().sources.folders.first().cloned();
        let folder =
            folder.ok_or_else(|| RpcError::failed("invalid", "no folder is open to work in"))?;
        // Always the same one, so that an artifact of one call is there for the next.
        let session = match self.reopen(OWN, Some(&folder)) {
            Ok(reopened) => reopened.session,
            // Another window has it: this process keeps one of its own.
            Err(err) if err.is_kind("busy") => self.begin(new_id("session"), folder, Vec::new())?,
            Err(_) => self.begin(OWN.to_string(), folder, Vec::new())?,
        };
        session.shared.set_mode(self.world.config().settings.mode);
        Ok(self.lock().own.insert(session).clone())
    }

    /// The folders of the sessions of a workspace folder, but the deleted ones.
    fn session_dirs(&self, folder: &Path) -> Vec<PathBuf> {
        let Some(state) = &self.world.state else { return Vec::new() };
        let mut dirs = vfs::state::list(&store::sessions_dir(state, folder)).unwrap_or_default();
        let table = self.lock();
        dirs.retain(|dir| !table.deleted.iter().any(|id| is_dir_of(dir, id)));
        dirs
    }

    /// The workspace's folders and those sessions were begun in.
    fn known_folders(&self) -> Vec<PathBuf> {
        let table = self.lock();
        let elsewhere = table.cwds.iter().filter(|it| !table.sources.folders.contains(it));
        table.sources.folders.iter().chain(elsewhere).cloned().collect()
    }

    fn find_dir(&self, id: &str) -> Option<PathBuf> {
        let folders = self.known_folders();
        let mut dirs = folders.iter().flat_map(|it| self.session_dirs(it));
        dirs.find(|it| is_dir_of(it, id))
    }

    /// Leaves a note for a session that is not open here: it is told once somebody goes on with it.
    pub(super) fn leave_note(&self, id: &str, text: &str) {
        let Some(dir) = self.find_dir(id).filter(|_| id != OWN) else {
            tracing::debug!(id, "a decision is about a session that is not kept");
            return;
        };
        if let Err(error) = agent::notes::leave(&dir, text) {
            tracing::warn!(%error, id, "a decision cannot be told to its session");
        }
    }

    /// A folder that exists, absolute.
    fn folder(&self, field: &str, path: acp::AbsolutePath) -> Result<PathBuf, RpcError> {
        let path = absolute(field, path)?;
        match self.world.vfs.kind(&path) {
            Some(vfs::FileKind::Folder) => Ok(path),
            Some(_) | None => Err(RpcError::invalid_params(format!(
                "{field}: {} is not a folder; send the absolute path of one that exists",
                path.display()
            ))),
        }
    }
}

/// The folder a field names, which may not exist.
fn absolute(field: &str, path: acp::AbsolutePath) -> Result<PathBuf, RpcError> {
    let path = path.into_inner();
    if path.is_absolute() {
        return Ok(vfs::normalize(&path));
    }
    let what = match path.to_string_lossy() {
        empty if empty.is_empty() => "it is empty".to_owned(),
        relative => format!("{relative} is relative"),
    };
    Err(RpcError::invalid_params(format!(
        "{field}: {what}; send the absolute path of the workspace's folder"
    )))
}

/// A session that goes on.
pub(super) struct Reopened {
    pub session: Session,
    /// The ends of calls that were cut off, recorded but not sent yet.
    ended: Vec<acp::SessionUpdate>,
    /// What of its log could not be read.
    note: Option<String>,
}

/// What a session begins with.
struct Begin {
    id: String,
    cwd: PathBuf,
    additional: Vec<PathBuf>,
    dir: Option<PathBuf>,
    options: conversation::Options,
    history: Vec<llm::Message>,
    transcript: Transcript,
    timeline: Timeline,
}

/// What a transaction did to files, as the log of its session has it.
fn steps_of(unlogged: &vfs::Unlogged) -> Vec<FileStep> {
    let stood = |it: &Option<vfs::Image>| it.clone().map_or(Stood::Nothing, Stood::File);
    let step = |(entry, named): (&vfs::UndoEntry, &PathBuf)| FileStep {
        call: unlogged.owned.name.clone(),
        file: vfs::Location::disk(named),
        real: Some(entry.path.clone()),
        before: stood(&entry.before),
        after: stood(&entry.after),
        edits: Vec::new(),
        folders: unlogged.undo.folders_for(entry),
        pending: None,
        moved_from: None,
    };
    unlogged.undo.entries.iter().zip(&unlogged.owned.paths).map(step).collect()
}

fn is_logged(records: &[Record], step: &FileStep) -> bool {
    let same = |it: &FileStep| {
        it.call == step.call
            && it.real == step.real
            && (&it.before, &it.after) == (&step.before, &step.after)
    };
    records.iter().any(|it| matches!(it, Record::Steps { steps } if steps.iter().any(same)))
}

fn is_dir_of(dir: &Path, id: &str) -> bool {
    dir.file_name().is_some_and(|name| name == id)
}

fn info_of(loaded: &store::Loaded) -> acp::SessionInfo {
    acp::SessionInfo::new(loaded.header.id.clone(), loaded.header.cwd.clone())
        .title(loaded.title().map(str::to_string))
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |it| it.as_secs())
}

//! What all sessions of a process share: files, the editor, processes, configuration and trust.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use exec::{Grammar, LoginPath, Shell, Supervisor};
use vfs::Vfs;

use crate::editor::Editor;
use crate::hooks::Hook;
use crate::permission::{Decision, Rule, Rules};
use crate::place::Place;
use crate::settings::Settings;

/// What all sessions share.
pub struct World {
    /// Files and open documents.
    pub vfs: Vfs,
    /// The outside.
    pub editor: Arc<dyn Editor>,
    /// Spawns every process.
    pub supervisor: Supervisor,
    /// Where sessions are kept; absent: nowhere.
    pub state: Option<PathBuf>,
    config: RwLock<Arc<Config>>,
    login: OnceLock<LoginPath>,
}

/// The configuration in force.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// All layers merged.
    pub settings: Settings,
    /// All rules, each with its scope.
    pub rules: Rules,
    /// All hooks, in the order they run.
    pub hooks: Vec<Hook>,
    /// Whether the person trusts the workspace.
    pub trusted: bool,
    /// Whether the mode may let anything run unasked: the folder is trusted, or the person named the
    /// mode for this very run.
    pub unasked: bool,
    /// What is wrong with the configuration, for the person.
    pub problems: Vec<String>,
    /// The files that were read.
    pub files: Vec<PathBuf>,
}

impl Config {
    /// A configuration made of settings of the person's own.
    pub fn of(settings: Settings) -> Config {
        let mut rules = Rules::default();
        let mut problems = Vec::new();
        let lists = [
            (Decision::Allow, &settings.permissions.allow),
            (Decision::Ask, &settings.permissions.ask),
            (Decision::Deny, &settings.permissions.deny),
        ];
        for (decision, texts) in lists {
            for text in texts {
                match Rule::parse(text, decision, "user") {
                    Ok(rule) => rules.all.push(rule),
                    Err(err) => problems.push(err.to_string()),
                }
            }
        }
        let (hooks, wrong) = settings.hooks.read();
        problems.extend(wrong.into_iter().map(|(_, text)| text));
        Config { settings, rules, hooks, problems, ..Config::default() }
    }
}

impl World {
    /// A world with this configuration.
    pub fn new(
        vfs: Vfs,
        editor: Arc<dyn Editor>,
        supervisor: Supervisor,
        state: Option<PathBuf>,
        config: Config,
    ) -> World {
        World {
            vfs,
            editor,
            supervisor,
            state,
            config: RwLock::new(Arc::new(config)),
            login: OnceLock::new(),
        }
    }

    /// The configuration in force.
    pub fn config(&self) -> Arc<Config> {
        self.config.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the configuration.
    pub fn configure(&self, config: Config) {
        *self.config.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(config);
    }

    /// The configured rules.
    pub fn rules(&self) -> Rules {
        self.config().rules.clone()
    }

    /// The shell that commands run in.
    pub fn shell(&self) -> Shell {
        self.shell_from(&std::env::var_os("PATH").unwrap_or_default())
    }

    /// The shell that commands run in, where it has no path of its own one of `path`.
    pub fn shell_from(&self, path: &OsStr) -> Shell {
        match &self.config().settings.shell.program {
            // One that is not there is said so when a command is to run.
            Some(program) => Shell::named(program, path)
                .unwrap_or_else(|_| Shell { program: PathBuf::from(program) }),
            None => Shell::find(path),
        }
    }

    /// How commands are written.
    pub fn grammar(&self) -> Grammar {
        match &self.config().settings.shell.program {
            Some(program) => Shell { program: PathBuf::from(program) }.grammar(),
            None => Grammar::Posix,
        }
    }

    /// The environment of commands: the server's own with the person's login PATH, without secrets,
    /// pagers and prompts.
    pub async fn command_environment(&self) -> Vec<(OsString, OsString)> {
        let extra: Vec<(OsString, OsString)> =
            self.login_path().get().await.map(|path| ("PATH".into(), path)).into_iter().collect();
        exec::command_environment(std::env::vars_os(), &extra)
    }

    /// The environment of a command that may run unasked since it only reads.
    pub async fn reading_environment(&self, place: &Place) -> Vec<(OsString, OsString)> {
        let foreign = |it: &Path| place.roots.locate(it).inside;
        exec::reading_environment(self.command_environment().await, foreign)
    }

    /// The environment of the person's own programs: the server's, with the PATH of their login shell.
    pub async fn own_environment(&self) -> Vec<(OsString, OsString)> {
        let mut environment: BTreeMap<OsString, OsString> = std::env::vars_os().collect();
        environment.extend(self.login_path().get().await.map(|path| ("PATH".into(), path)));
        environment.into_iter().collect()
    }

    /// The environment of programs on terminals.
    pub async fn terminal_environment(&self) -> Vec<(OsString, OsString)> {
        let extra: Vec<(OsString, OsString)> =
            self.login_path().get().await.map(|path| ("PATH".into(), path)).into_iter().collect();
        exec::terminal_environment(std::env::vars_os(), &extra)
    }

    /// Begins to read the person's login PATH, so that the first command does not wait for it.
    pub fn login_path(&self) -> &LoginPath {
        self.login.get_or_init(|| {
            LoginPath::start(self.supervisor.clone(), std::env::vars_os().collect())
        })
    }

    /// Whether the mode may let anything run unasked.
    pub fn may_run_unasked(&self) -> bool {
        self.config().unasked
    }
}

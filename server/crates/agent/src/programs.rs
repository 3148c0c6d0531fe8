//! What a session started and speaks of later: servers by their names, terminals by their ids.
//!
//! Part of the place a call works in, so that what a call means is known before it is permitted: a
//! restart runs the command that was started, input goes to the program of its terminal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::Deserialize;

use crate::permission::shell;
use crate::place::Place;
use crate::tool::{Access, CommandAccess, Failure, Form};

/// The programs of one session; clones share them.
#[derive(Clone, Default)]
pub struct Programs(Arc<Mutex<BTreeMap<String, Launch>>>);

/// A program that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Its job, `job-N` or `term-N`.
    pub job: String,
    /// The command.
    pub script: String,
    /// Where it was started.
    pub cwd: PathBuf,
    /// When it counts as ready.
    pub ready: Ready,
}

/// When a process counts as ready.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
pub struct Ready {
    /// It listens on this TCP port.
    #[schemars(range(min = 1))]
    pub port: Option<u16>,
    /// It answers at this `http://` address of this machine with a status below 400.
    pub url: Option<String>,
    /// A line of its output matches this regular expression.
    pub log_pattern: Option<String>,
}

impl Launch {
    /// What starting it touches.
    pub fn access(&self, place: &Place) -> Result<Access, Failure> {
        if self.script.contains('\0') {
            return Err(Failure::new("args.command contains a NUL character."));
        }
        let there = place.from(&self.cwd);
        let redirected = shell::redirected(&self.script);
        Ok(Access {
            writes: redirected.iter().filter_map(|it| there.target(it).ok()).collect(),
            command: Some(CommandAccess {
                script: self.script.clone(),
                cwd: self.cwd.clone(),
                form: Form::Program,
            }),
            ..Access::default()
        })
    }
}

impl Programs {
    /// The program of this name.
    pub fn get(&self, name: &str) -> Option<Launch> {
        self.lock().get(name).cloned()
    }

    /// Those started by name.
    pub fn processes(&self) -> Vec<(String, Launch)> {
        self.those(|name, launch| *name != launch.job)
    }

    /// Those on terminals, by their ids.
    pub fn terminals(&self) -> Vec<(String, Launch)> {
        self.those(|name, launch| *name == launch.job)
    }

    /// Enters one; a name that was used before now means this one.
    pub fn enter(&self, name: String, launch: Launch) {
        self.lock().insert(name, launch);
    }

    /// Forgets those whose job is not kept any more.
    pub fn keep(&self, known: impl Fn(&str) -> bool) {
        self.lock().retain(|_, launch| known(&launch.job));
    }

    fn those(&self, are: impl Fn(&String, &Launch) -> bool) -> Vec<(String, Launch)> {
        let all = self.lock();
        let those = all.iter().filter(|(name, launch)| are(name, launch));
        those.map(|(name, launch)| (name.clone(), launch.clone())).collect()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Launch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

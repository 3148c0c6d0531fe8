//! What a session started and speaks of later: servers by their names, terminals by their ids.
//!
//! Part of the place a call works in, so that what a call means is known before it is permitted: a
//! restart runs the command that was started, input goes to the program of its terminal.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use schemars::JsonSchema;
use serde::Deserialize;

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

impl Programs {
    /// The program of this name.
    pub fn get(&self, name: &str) -> Option<Launch> {
        self.lock().get(name).cloned()
    }

    /// All of them, by name.
    pub fn all(&self) -> Vec<(String, Launch)> {
        self.lock().iter().map(|(name, launch)| (name.clone(), launch.clone())).collect()
    }

    /// Enters one; a name that was used before now means this one.
    pub fn enter(&self, name: String, launch: Launch) {
        self.lock().insert(name, launch);
    }

    /// Forgets those whose job is not kept any more.
    pub fn keep(&self, known: impl Fn(&str) -> bool) {
        self.lock().retain(|_, launch| known(&launch.job));
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Launch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

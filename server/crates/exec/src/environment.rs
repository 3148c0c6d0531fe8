//! The environment of the model's commands: nothing waits for a person, no secrets pass.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::sync::OnceCell;

use crate::supervisor::{Spawn, Stdio, Supervisor};

/// How long the person's login shell may take to tell its PATH.
const LOGIN_LIMIT: Duration = Duration::from_secs(2);

const FIXED: &[(&str, &str)] = &[
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("EDITOR", "true"),
    ("GCM_INTERACTIVE", "never"),
    ("GH_PROMPT_DISABLED", "1"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("MANPAGER", "cat"),
    ("PAGER", "cat"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("TERM", "dumb"),
    ("VISUAL", "true"),
];

/// Programs that would ask the person.
const REMOVED: &[&str] = &["GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS"];

/// `base` without secrets and prompts, then `extra` as it is: what is named there is meant to
/// pass. Sorted by name.
pub fn command_environment(
    base: impl IntoIterator<Item = (OsString, OsString)>,
    extra: &[(OsString, OsString)],
) -> Vec<(OsString, OsString)> {
    let mut environment: std::collections::BTreeMap<OsString, OsString> = base
        .into_iter()
        .filter(|(name, value)| !is_secret(name, value))
        .filter(|(name, _)| !REMOVED.iter().any(|removed| name == removed))
        .collect();
    environment.extend(FIXED.iter().map(|(name, value)| (name.into(), value.into())));
    environment.extend(extra.iter().cloned());
    environment.into_iter().collect()
}

/// Whether a variable's name or the shape of its value says that it is a secret.
pub fn is_secret(name: &OsStr, value: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    is_secret_name(&name) || is_secret_value(&name, &value.to_string_lossy())
}

fn is_secret_name(name: &str) -> bool {
    const PARTS: &[&str] = &[
        "APIKEY",
        "CREDENTIAL",
        "CREDENTIALS",
        "PASS",
        "PASSPHRASE",
        "PASSWD",
        "PAT",
        "PW",
        "PWD",
        "SECRET",
        "SECRETS",
        "TOKEN",
    ];
    const ENDS: &[&str] = &[
        "ACCESS_KEY",
        "ACCESS_KEY_ID",
        "API_KEY",
        "AUTH_KEY",
        "ENCRYPTION_KEY",
        "PRIVATE_KEY",
        "SECRET_KEY",
        "SIGNING_KEY",
    ];
    if matches!(name, "PWD" | "OLDPWD") {
        return false;
    }
    name.contains("PASSWORD")
        || name.split('_').any(|part| PARTS.contains(&part))
        || ENDS.iter().any(|end| name.ends_with(end))
}

fn is_secret_value(name: &str, value: &str) -> bool {
    const PREFIXES: &[(&str, usize)] = &[
        ("-----BEGIN", 10),
        ("AIza", 35),
        ("AKIA", 20),
        ("ASIA", 20),
        ("ghp_", 20),
        ("gho_", 20),
        ("ghs_", 20),
        ("ghu_", 20),
        ("ghr_", 20),
        ("github_pat_", 20),
        ("glpat-", 20),
        ("hf_", 30),
        ("npm_", 30),
        ("pypi-", 40),
        ("sk-", 20),
        ("sk_live_", 20),
        ("xoxa-", 20),
        ("xoxb-", 20),
        ("xoxp-", 20),
        ("ya29.", 20),
    ];
    let value = value.trim();
    let one_word = !value.contains(char::is_whitespace) || value.starts_with("-----BEGIN");
    let prefixed =
        PREFIXES.iter().any(|(prefix, least)| value.starts_with(prefix) && value.len() >= *least);
    let web_token = value.starts_with("eyJ") && value.matches('.').count() == 2;
    // A proxy with a password in it is still needed to reach anything.
    let address = !name.ends_with("_PROXY") && has_password(value);
    one_word && (prefixed || web_token || address)
}

/// `scheme://user:password@host`.
fn has_password(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    authority
        .rsplit_once('@')
        .and_then(|(user, _)| user.split_once(':'))
        .is_some_and(|(_, password)| !password.is_empty())
}

/// The PATH of the person's login shell, read once: an editor started from a desktop menu often
/// lacks it.
#[derive(Clone)]
pub struct LoginPath {
    path: Arc<OnceCell<Option<OsString>>>,
    supervisor: Supervisor,
    shell: PathBuf,
    env: Vec<(OsString, OsString)>,
}

impl LoginPath {
    /// Starts reading in the background. `env` is the server's own environment; its `SHELL` is
    /// asked. Must be called within a tokio runtime.
    pub fn start(supervisor: Supervisor, env: Vec<(OsString, OsString)>) -> LoginPath {
        let shell = env
            .iter()
            .find(|(name, _)| name == "SHELL")
            .map_or_else(|| PathBuf::from("/bin/sh"), |(_, shell)| PathBuf::from(shell));
        let login = LoginPath { path: Arc::default(), supervisor, shell, env };
        let reading = login.clone();
        tokio::spawn(async move { reading.get().await });
        login
    }

    /// The PATH, once it is known; `None` when the shell did not tell within 2 s.
    pub async fn get(&self) -> Option<OsString> {
        let read = || async {
            tokio::time::timeout(LOGIN_LIMIT, self.read()).await.unwrap_or_else(|_| {
                tracing::warn!(shell = %self.shell.display(), "login shell too slow: PATH as it is");
                None
            })
        };
        self.path.get_or_init(read).await.clone()
    }

    async fn read(&self) -> Option<OsString> {
        // What profiles print stands outside the NULs.
        const ASK: &str = r#"printf '\0%s\0' "$PATH""#;
        let argv =
            vec![self.shell.clone().into(), "-l".into(), "-i".into(), "-c".into(), ASK.into()];
        let spawn = Spawn {
            argv,
            cwd: PathBuf::from("/"),
            env: self.env.clone(),
            stdio: Stdio::Output,
            sandbox: None,
        };
        // Dropped on timeout, which kills the shell.
        let mut process = self.supervisor.spawn(spawn).await.ok()?;
        let mut output = Vec::new();
        let mut stdout = process.stdout.take()?.take(1 << 20);
        let mut chunk = [0_u8; 4096];
        // A profile may leave a process behind that holds the pipe, so its end is not waited for.
        while output.iter().filter(|byte| **byte == 0).count() < 2 {
            match stdout.read(&mut chunk).await {
                Ok(0) | Err(_) => return None,
                Ok(count) => output.extend_from_slice(&chunk[..count]),
            }
        }
        let path = output.split(|byte| *byte == 0).nth(1)?;
        (!path.is_empty()).then(|| OsString::from_vec(OsStr::from_bytes(path).as_bytes().to_vec()))
    }
}

#[cfg(test)]
mod tests;

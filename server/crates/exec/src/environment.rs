//! The environment of the model's commands: nothing waits for a person, no secrets pass.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::sync::OnceCell;

use crate::supervisor::{Spawn, Stdio, Supervisor};

/// How long the person's login shell may take to tell its PATH.
const LOGIN_LIMIT: Duration = Duration::from_secs(2);

const FIXED: &[(&str, &str)] = &[
    ("APT_LISTCHANGES_FRONTEND", "none"),
    ("AWS_PAGER", "cat"),
    ("BAT_PAGER", "cat"),
    ("COMPOSER_NO_INTERACTION", "1"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("EDITOR", "true"),
    ("GCM_INTERACTIVE", "never"),
    ("GH_PAGER", "cat"),
    ("GH_PROMPT_DISABLED", "1"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("MANPAGER", "cat"),
    ("PAGER", "cat"),
    ("PIP_NO_INPUT", "1"),
    ("POETRY_NO_INTERACTION", "1"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("SYSTEMD_PAGER", "cat"),
    ("TERM", "dumb"),
    ("VISUAL", "true"),
];

/// Programs that would ask the person, what bash would run before each script, and what leads a `cd`
/// elsewhere than it says.
const REMOVED: &[&str] = &["BASH_ENV", "CDPATH", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS"];

/// `base` without secrets and prompts, then `extra` as it is: what is named there is meant to
/// pass. Sorted by name.
pub fn command_environment(
    base: impl IntoIterator<Item = (OsString, OsString)>,
    extra: &[(OsString, OsString)],
) -> Vec<(OsString, OsString)> {
    let mut environment: BTreeMap<OsString, OsString> = base
        .into_iter()
        .filter(|(name, value)| !is_secret(name, value))
        .filter(|(name, _)| !REMOVED.iter().any(|removed| name == removed))
        .collect();
    environment.extend(FIXED.iter().map(|(name, value)| (name.into(), value.into())));
    environment.extend(extra.iter().cloned());
    environment.into_iter().collect()
}

/// The environment of a program on a terminal: as [`command_environment`], but with pagers, editors and
/// prompts, which somebody is there to answer.
pub fn terminal_environment(
    base: impl IntoIterator<Item = (OsString, OsString)>,
    extra: &[(OsString, OsString)],
) -> Vec<(OsString, OsString)> {
    const SIZE: &[&str] = &["COLUMNS", "LINES"];
    let mut environment: BTreeMap<OsString, OsString> = base
        .into_iter()
        .filter(|(name, value)| !is_secret(name, value))
        .filter(|(name, _)| !REMOVED.iter().chain(SIZE).any(|removed| name == removed))
        .collect();
    environment.insert("TERM".into(), "xterm-256color".into());
    environment.extend(extra.iter().cloned());
    environment.into_iter().collect()
}

/// What git is told where it runs unasked: no monitor, hook or signature program of a repository's
/// choice, and no repository that is only there because a folder looks like one.
const GIT_SETTINGS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("gpg.openpgp.program", "gpg"),
    ("gpg.program", "gpg"),
    ("gpg.ssh.program", "ssh-keygen"),
    ("gpg.x509.program", "gpgsm"),
    ("safe.bareRepository", "explicit"),
];

/// Variables that hold folders or files which are searched or loaded.
const LOADED: &[&str] = &[
    "DYLD_FRAMEWORK_PATH",
    "DYLD_INSERT_LIBRARIES",
    "DYLD_LIBRARY_PATH",
    "GCONV_PATH",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "PATH",
];

/// Variables that have a shell or a program run or read something else than it is told.
const MISLEADING: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "ENV",
    "GREP_OPTIONS",
    "PROMPT_COMMAND",
    "PS4",
    "RIPGREP_CONFIG_PATH",
    "SHELLOPTS",
    "ZDOTDIR",
];

/// The environment of a command that runs unasked because it only reads: that of
/// [`command_environment`] without what would make it run something else. Nothing is searched for or
/// loaded from a relative folder or one that is `foreign`, no functions are passed on, git gets its
/// settings from here and reaches nobody, writes no index and runs no program that a repository names
/// for all of its files.
pub fn reading_environment(
    environment: Vec<(OsString, OsString)>,
    foreign: impl Fn(&Path) -> bool,
) -> Vec<(OsString, OsString)> {
    let passes = |name: &OsString| {
        let bytes = name.as_bytes();
        !bytes.starts_with(b"BASH_FUNC_")
            && !bytes.starts_with(b"GIT_")
            && !MISLEADING.iter().any(|it| name == it)
    };
    let mut kept: BTreeMap<OsString, OsString> =
        environment.into_iter().filter(|(name, _)| passes(name)).collect();
    for name in LOADED {
        let Some(value) = kept.remove(OsStr::new(name)) else { continue };
        // Some of these are parted by blanks too.
        let one = |it: &PathBuf| *name == "PATH" || !it.to_string_lossy().contains(' ');
        let own = |it: &PathBuf| it.is_absolute() && one(it) && !foreign(it);
        let folders: Vec<PathBuf> = std::env::split_paths(&value).filter(own).collect();
        if let Some(value) = std::env::join_paths(folders).ok().filter(|it| !it.is_empty()) {
            kept.insert((*name).into(), value);
        }
    }
    kept.entry("PATH".into()).or_insert_with(|| "/usr/bin:/bin".into());
    let fixed = [
        ("GIT_ALLOW_PROTOCOL", "none"),
        ("GIT_NO_LAZY_FETCH", "1"),
        ("GIT_OPTIONAL_LOCKS", "0"),
        ("GIT_PAGER", "cat"),
        ("GIT_TERMINAL_PROMPT", "0"),
    ];
    kept.extend(fixed.map(|(name, value)| (name.into(), value.into())));
    kept.insert("GIT_CONFIG_COUNT".into(), GIT_SETTINGS.len().to_string().into());
    for (at, (key, value)) in GIT_SETTINGS.iter().enumerate() {
        kept.insert(format!("GIT_CONFIG_KEY_{at}").into(), key.into());
        kept.insert(format!("GIT_CONFIG_VALUE_{at}").into(), value.into());
    }
    kept.into_iter().collect()
}

/// Whether a variable's name or the shape of its value says that it is a secret.
pub fn is_secret(name: &OsStr, value: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    is_secret_name(&name) || is_secret_value(&name, &value.to_string_lossy())
}

fn is_secret_name(name: &str) -> bool {
    const PARTS: &[&str] = &[
        "APIKEY",
        "AUTHTOKEN",
        "BEARER",
        "CREDENTIAL",
        "CREDENTIALS",
        "JWT",
        "KEY",
        "KEYS",
        "PASS",
        "PASSCODE",
        "PASSPHRASE",
        "PASSWD",
        "PAT",
        "PW",
        "PWD",
        "SECRET",
        "SECRETS",
        "TOKEN",
    ];
    if matches!(name, "PWD" | "OLDPWD") {
        return false;
    }
    let parts: Vec<&str> = name.split(|it: char| !it.is_ascii_alphanumeric()).collect();
    // A public key is none to keep.
    let public = parts.iter().any(|part| matches!(*part, "PUBLIC" | "PUB"));
    let key = |part: &str| matches!(part, "KEY" | "KEYS");
    name.contains("PASSWORD")
        || name.contains("ACCESSKEY")
        || name.contains("SECRETKEY")
        || name.contains("PRIVATEKEY")
        || parts.iter().any(|part| PARTS.contains(part) && !(public && key(part)))
}

/// How values that are secrets begin, and their least length.
const PREFIXES: &[(&str, usize)] = &[
    ("AGE-SECRET-KEY-", 30),
    ("AIza", 35),
    ("AKIA", 20),
    ("ASIA", 20),
    ("ATATT", 40),
    ("SG.", 40),
    ("dckr_pat_", 20),
    ("dop_v1_", 40),
    ("figd_", 20),
    ("ghp_", 20),
    ("gho_", 20),
    ("ghs_", 20),
    ("ghu_", 20),
    ("ghr_", 20),
    ("github_pat_", 20),
    ("gldt-", 20),
    ("glpat-", 20),
    ("glptt-", 20),
    ("gsk_", 20),
    ("hf_", 30),
    ("hvs.", 20),
    ("lin_api_", 20),
    ("npm_", 30),
    ("nvapi-", 20),
    ("pplx-", 20),
    ("pypi-", 40),
    ("r8_", 30),
    ("rk_live_", 20),
    ("rk_test_", 20),
    ("rubygems_", 30),
    ("sbp_", 30),
    ("shpat_", 20),
    ("shpss_", 20),
    ("sk-", 20),
    ("sk_live_", 20),
    ("sk_test_", 20),
    ("tskey-", 20),
    ("xai-", 20),
    ("xapp-", 20),
    ("xoxa-", 20),
    ("xoxb-", 20),
    ("xoxe-", 20),
    ("xoxp-", 20),
    ("xoxs-", 20),
    ("ya29.", 20),
];

fn is_secret_value(name: &str, value: &str) -> bool {
    let value = value.trim();
    if value.contains("PRIVATE KEY-----") || value.contains("PRIVATE KEY BLOCK-----") {
        return true;
    }
    let lower = value.to_ascii_lowercase();
    // Connection strings of databases and clouds.
    if ["accountkey=", "sharedaccesskey=", "password=", "pwd="].iter().any(|it| lower.contains(it))
    {
        return true;
    }
    let header = ["Bearer ", "Basic "].iter().find_map(|it| value.strip_prefix(it));
    if header.is_some_and(|it| it.len() >= 16 && !it.contains(char::is_whitespace)) {
        return true;
    }
    if value.contains(char::is_whitespace) {
        return false;
    }
    let web_token = value.starts_with("eyJ") && value.matches('.').count() >= 2;
    // A proxy with a password in it is still needed to reach anything.
    let address = !name.ends_with("_PROXY") && is_secret_address(value);
    has_secret_prefix(value) || web_token || address
}

fn has_secret_prefix(value: &str) -> bool {
    PREFIXES.iter().any(|(prefix, least)| value.starts_with(prefix) && value.len() >= *least)
}

/// `scheme://user:password@host`, or with a token for the user.
fn is_secret_address(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or(rest);
    let Some((user, _)) = authority.rsplit_once('@') else { return false };
    match user.split_once(':') {
        Some((user, password)) => !password.is_empty() || has_secret_prefix(user),
        None => has_secret_prefix(user),
    }
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

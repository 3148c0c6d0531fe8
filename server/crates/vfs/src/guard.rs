//! Paths that need more than the usual permission, by their names alone.
//!
//! Callers ask about both the path as written and the real path behind it. Case never matters: on a file system
//! that ignores it `.ENV` is `.env`.

use std::path::Path;

/// Names of private keys and credential files; variants with a suffix count too.
const SECRET_NAMES: &[&str] =
    &["id_rsa", "id_ed25519", "id_ecdsa", "id_dsa", "id_ecdsa_sk", "id_ed25519_sk", "credentials"];
/// What is left of a secret when somebody copies, renames or backs it up.
const SECRET_SUFFIXES: &[&str] =
    &[".bak", ".backup", ".copy", ".disabled", ".key", ".old", ".orig", ".pem", ".save", ".tmp"];
/// Files that are secret by name alone.
const SECRET_FILES: &[&str] = &[".netrc", "_netrc", ".pgpass", ".git-credentials", ".htpasswd"];
/// Ends of key files.
const SECRET_EXTENSIONS: &[&str] =
    &[".pem", ".key", ".p12", ".pfx", ".ppk", ".jks", ".keystore", ".kdbx"];
/// Where tools keep credentials: the path's last parts.
const SECRET_PATHS: &[&str] = &[
    ".aws/credentials",
    ".gcp/credentials",
    ".azure/accesstokens.json",
    ".azure/msal_token_cache.json",
    ".docker/config.json",
    ".kube/config",
    "gcloud/application_default_credentials.json",
    "gcloud/credentials.db",
    "gcloud/access_tokens.db",
    "gh/hosts.yml",
    "copydesk/auth.json",
    "copydesk/auth.toml",
    "copydesk/secrets.toml",
];
/// Folders in which everything is secret.
const SECRET_FOLDERS: &[&str] = &[
    ".gnupg/private-keys-v1.d",
    ".aws/credentials",
    ".aws/sso/cache",
    ".aws/cli/cache",
    ".gcp/credentials",
    "gcloud/legacy_credentials",
    "copydesk/secrets",
];
/// Where private keys lie under any name, and what else is there.
const KEYS: &str = ".ssh";
const BESIDE_KEYS: &[&str] =
    &["config", "known_hosts", "authorized_keys", "authorized_principals", "allowed_signers", "rc"];
const TEMPLATE_SUFFIXES: &[&str] = &[".example", ".sample", ".template"];

/// Whether `path` names secrets: environment files, private keys, stored credentials. Public keys and templates do not.
pub fn is_sensitive(path: &Path) -> bool {
    may_be_sensitive(path.as_os_str().as_encoded_bytes()) && names_secrets(path)
}

/// A quick look that rules out nearly every path: a search asks for all files of a tree.
fn may_be_sensitive(path: &[u8]) -> bool {
    let starts = |name: &[u8], start: &str| {
        name.get(..start.len()).is_some_and(|it| it.eq_ignore_ascii_case(start.as_bytes()))
    };
    let ends = |name: &[u8], end: &str| {
        let at = name.len().checked_sub(end.len());
        at.is_some_and(|at| name[at..].eq_ignore_ascii_case(end.as_bytes()))
    };
    let mut parts = path.split(|byte| *byte == b'/');
    let name = parts.next_back().unwrap_or_default();
    starts(name, ".env")
        || SECRET_FILES.iter().any(|secret| name.eq_ignore_ascii_case(secret.as_bytes()))
        || SECRET_NAMES.iter().any(|secret| starts(name, secret))
        || SECRET_EXTENSIONS.iter().any(|end| ends(name, end))
        || SECRET_PATHS.iter().any(|secret| ends(path, secret))
        || parts.any(|part| {
            let is_first = |folder: &&str| {
                let first = folder.split('/').next().unwrap_or_default();
                part.eq_ignore_ascii_case(first.as_bytes())
            };
            SECRET_FOLDERS.iter().any(is_first) || part.eq_ignore_ascii_case(KEYS.as_bytes())
        })
}

fn names_secrets(path: &Path) -> bool {
    let whole = lower(path);
    let Some(name) = whole.rsplit('/').next().filter(|name| !name.is_empty()) else {
        return false;
    };
    if SECRET_FOLDERS.iter().any(|folder| contains_parts(&whole, folder)) {
        return true;
    }
    if name.ends_with(".pub") {
        return false;
    }
    is_env_file(name)
        || is_key(&whole)
        || SECRET_FILES.contains(&name)
        || SECRET_NAMES.iter().any(|secret| is_variant(name, secret))
        || (SECRET_EXTENSIONS.iter().any(|end| name.ends_with(end)) && !is_certificate(name))
        || SECRET_PATHS.iter().any(|secret| ends_with_parts(&whole, secret))
}

/// Whether `path` is a repository's own folder or lies in one.
pub fn is_git_dir(path: &Path) -> bool {
    path.components().any(|part| part.as_os_str().eq_ignore_ascii_case(".git"))
}

/// Whether changing `path` changes what may run or what the agent is told: settings, instructions, hooks, tools.
/// For a path in a workspace pass it relative to its root: folders above the root have no say.
pub fn is_power_file(path: &Path) -> bool {
    let whole = lower(path);
    if contains_parts(&whole, ".copydesk/memory") && !is_git_dir(path) {
        return false;
    }
    let folders = [".copydesk", ".claude", ".agents", ".vscode", ".git", ".husky", ".githooks"];
    let names = ["agents.md", "agents.override.md", "claude.md", "claude.local.md", ".mcp.json"];
    let mut parts = whole.split('/');
    parts.any(|part| folders.contains(&part))
        || whole.rsplit('/').next().is_some_and(|name| names.contains(&name))
}

fn lower(path: &Path) -> String {
    let mut text = path.to_string_lossy().into_owned();
    text.make_ascii_lowercase();
    text
}

fn is_env_file(name: &str) -> bool {
    name == ".env"
        || (name.starts_with(".env.") && !TEMPLATE_SUFFIXES.iter().any(|end| name.ends_with(end)))
}

/// Any file in `.ssh` but settings and lists of public keys, `config.d/…` and `known_hosts.old` among them.
fn is_key(whole: &str) -> bool {
    let may_follow = |c: char| matches!(c, '.' | '~' | '0'..='9');
    let is_plain = |name: &str| {
        let rests = BESIDE_KEYS.iter().filter_map(|plain| name.strip_prefix(plain));
        rests.into_iter().any(|rest| rest.is_empty() || rest.starts_with(may_follow))
    };
    let mut parts = whole.split('/').skip_while(|part| *part != KEYS).skip(1);
    parts.next().is_some_and(|first| !is_plain(first))
}

/// `id_rsa`, `id_rsa.bak`, `id_rsa-work`, `id_rsa_2`; not `id_rsa.rs`.
fn is_variant(name: &str, secret: &str) -> bool {
    match name.strip_prefix(secret) {
        None => false,
        Some("") => true,
        Some(rest) if rest.starts_with(['-', '_']) => {
            !rest.contains('.') || SECRET_SUFFIXES.iter().any(|end| rest.ends_with(end))
        }
        Some(rest) => SECRET_SUFFIXES.contains(&rest),
    }
}

/// Public certificates wear the extension of keys.
fn is_certificate(name: &str) -> bool {
    ["cert.pem", "certs.pem", "ca.pem", "chain.pem", "bundle.pem", "public.pem", "pub.pem"]
        .iter()
        .any(|end| name.ends_with(end))
}

fn ends_with_parts(whole: &str, parts: &str) -> bool {
    whole.strip_suffix(parts).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

fn contains_parts(whole: &str, parts: &str) -> bool {
    whole.match_indices(parts).any(|(at, _)| {
        let end = at + parts.len();
        (at == 0 || whole.as_bytes()[at - 1] == b'/')
            && (end == whole.len() || whole.as_bytes()[end] == b'/')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(judge: fn(&Path) -> bool, yes: &[&str], no: &[&str]) {
        for path in yes {
            assert!(judge(Path::new(path)), "{path} should count");
        }
        for path in no {
            assert!(!judge(Path::new(path)), "{path} should not count");
        }
    }

    #[test]
    fn secrets_are_told_by_name() {
        check(
            is_sensitive,
            &[
                "/r/.env",
                "/r/.ENV",
                "/r/.env.local",
                "/h/.ssh/id_rsa",
                "/h/.ssh/id_ed25519-work",
                "/h/.ssh/id_rsa.bak",
                "/h/.ssh/id_rsa_old.pem",
                "/h/.aws/credentials",
                "/h/.aws/credentials/x",
                "/h/.aws/sso/cache/1f.json",
                "/h/.ssh/github",
                "/h/.SSH/work.2",
                "/h/.ssh/keys/old",
                "/h/.ssh/configuration",
                "/r/server.pem",
                "/h/.kube/config",
                "/h/.netrc",
            ],
            &[
                "/r/.env.example",
                "/r/.env.sample",
                "/r/.envrc",
                "/h/.ssh/id_rsa.pub",
                "/h/.ssh/github.pub",
                "/h/.ssh",
                "/h/.ssh/config",
                "/h/.ssh/config.d/work",
                "/h/.ssh/known_hosts.old",
                "/h/.ssh/authorized_keys2",
                "/h/.aws/config",
                "/r/credentials.json",
                "/r/id_rsa.rs",
                "/r/src/env.rs",
                "/r/config",
                "/r/ca-cert.pem",
                "/r/credentials_test.go",
                "/",
            ],
        );
    }

    #[test]
    fn the_quick_look_rules_out_no_secret() {
        let folders = [
            "",
            "/",
            "/r",
            "/h/.AWS",
            "/h/.gnupg/private-keys-v1.d",
            "a/copydesk/Secrets",
            "/x/gh",
            "/h/.Kube",
            "/h/.Ssh",
            ".ssh/config.d",
        ];
        let names = [
            "",
            "a",
            ".env",
            ".ENV.local",
            ".env.sample",
            "id_RSA",
            "id_rsa-2",
            "x.PEM",
            "credentials",
            "Credentials/x",
            "config",
            "hosts.yml",
            "copydesk/auth.json",
            "_netrc",
            "cert.pem",
            "a.pub",
            ".envrc",
            "é",
            "gcloud/credentials.db",
        ];
        for path in folders.iter().flat_map(|folder| names.map(|name| format!("{folder}/{name}"))) {
            let path = Path::new(&path);
            assert_eq!(is_sensitive(path), names_secrets(path), "{}", path.display());
        }
    }

    #[test]
    fn what_grants_power_is_told_by_place() {
        check(
            is_power_file,
            &[
                "/r/AGENTS.md",
                "/r/sub/CLAUDE.md",
                "/r/.mcp.json",
                "/r/.vscode/tasks.json",
                "/r/.copydesk/config.toml",
                "/r/.git/hooks/pre-commit",
                "/r/.husky/pre-commit",
            ],
            &["/r/src/main.rs", "/r/.copydesk/memory/notes.md", "/r/agents.md.bak"],
        );
        check(
            is_git_dir,
            &["/r/.git", "/r/.git/config", "/r/.GIT/x"],
            &["/r/.gitignore", "/r/git"],
        );
    }
}

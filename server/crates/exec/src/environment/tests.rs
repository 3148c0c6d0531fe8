use std::ffi::OsString;
use std::path::Path;

use super::{command_environment, reading_environment};

fn pair(name: &str, value: &str) -> (OsString, OsString) {
    (name.into(), value.into())
}

fn passes(name: &str, value: &str) -> bool {
    command_environment([pair(name, value)], &[]).contains(&pair(name, value))
}

#[track_caller]
fn check_stripped(name: &str, value: &str) {
    assert!(!passes(name, value), "{name}={value} passed");
}

#[track_caller]
fn check_kept(name: &str, value: &str) {
    assert!(passes(name, value), "{name}={value} was stripped");
}

#[test]
fn secrets_are_stripped_by_name() {
    for name in [
        "OPENAI_API_KEY",
        "GITHUB_TOKEN",
        "CLIENT_SECRET",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "AWS_SESSION_TOKEN",
        "DB_PASSWORD",
        "PGPASSWORD",
        "MYSQL_PWD",
        "SSH_PASSPHRASE",
        "GOOGLE_APPLICATION_CREDENTIALS",
        "secret",
        "STRIPE_KEY",
        "SIGNING_KEYS",
        "npm_config_//registry.example.com/:_authToken",
        "ACCOUNT_SecretKey",
        "SESSION_JWT",
    ] {
        check_stripped(name, "x");
    }
}

#[test]
fn secrets_are_stripped_by_value() {
    check_stripped("A", "sk-abcdefghijklmnopqrstuvwx");
    check_stripped("A", "ghp_abcdefghijklmnopqrstuvwx");
    check_stripped("A", "AKIAABCDEFGHIJKLMNOP");
    check_stripped("A", "-----BEGIN RSA PRIVATE KEY-----\nabc");
    check_stripped("DATABASE_URL", "postgres://me:secret@host/db");
    check_stripped("A", "eyJhbGciOi.eyJzdWIi.abc");
    check_stripped("A", "{\"k\": \"-----BEGIN PRIVATE KEY-----\\nabc\"}");
    check_stripped("A", "Server=db;User=me;Password=secret;");
    check_stripped("A", "DefaultEndpointsProtocol=https;AccountKey=abc==");
    check_stripped("A", "Bearer abcdefghijklmnop");
    check_stripped("A", "https://ghp_abcdefghijklmnopqrstuvwx@github.com/a/b");
    check_stripped("A", "redis://:secret@host");
    check_stripped("A", "xoxb-abcdefghijklmnopqrstuvwx");
}

#[test]
fn what_commands_need_is_kept() {
    check_kept("PATH", "/usr/bin:/bin");
    check_kept("PWD", "/home/me");
    check_kept("SSH_AUTH_SOCK", "/tmp/agent");
    check_kept("MAX_TOKENS", "5");
    check_kept("TOKENIZERS_PARALLELISM", "false");
    check_kept("HTTPS_PROXY", "http://me:secret@proxy:3128");
    check_kept("LS_COLORS", "*.tar=01;31");
    check_kept("NOTE", "sk-is a prefix but this is prose, not a key");
    check_kept("CERTIFICATE", "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----");
    check_kept("DEPLOY_PUBLIC_KEY", "ssh-ed25519 AAAA me");
    check_kept("KEYBOARD", "us");
    check_kept("MONKEY", "x");
    check_kept("BASICS", "Basic English text of some length");
    check_kept("URL", "https://example.com/a:b@c");
}

#[test]
fn nothing_prompts_and_extra_wins() {
    let base = [pair("EDITOR", "vim"), pair("SSH_ASKPASS", "/usr/bin/ask"), pair("NO_COLOR", "1")];
    let environment = command_environment(base, &[pair("TERM", "xterm"), pair("MY_TOKEN", "t")]);
    assert!(environment.contains(&pair("EDITOR", "true")));
    assert!(environment.contains(&pair("GIT_TERMINAL_PROMPT", "0")));
    assert!(environment.contains(&pair("NO_COLOR", "1")));
    assert!(environment.contains(&pair("TERM", "xterm")));
    assert!(environment.contains(&pair("MY_TOKEN", "t")));
    assert!(!environment.iter().any(|(name, _)| name == "SSH_ASKPASS"));
}

#[test]
fn a_command_that_only_reads_runs_nothing_of_others() {
    let foreign = |it: &Path| it.starts_with("/w");
    let given = [
        ("PATH", "/usr/bin::.:bin:/w/bin:/opt/a b:/bin"),
        ("LD_LIBRARY_PATH", "/w/lib:"),
        ("LD_PRELOAD", "/usr/lib/a.so /w/b.so"),
        ("BASH_ENV", "/home/a/env"),
        ("ENV", "x"),
        ("BASH_FUNC_ls%%", "() { rm x; }"),
        ("SHELLOPTS", "xtrace"),
        ("PS4", "$(rm x)"),
        ("GIT_DIR", "/w/evil"),
        ("GIT_EXTERNAL_DIFF", "/w/evil"),
        ("GIT_CONFIG_PARAMETERS", "'core.pager'='rm x'"),
        ("RIPGREP_CONFIG_PATH", "/w/rc"),
        ("HOME", "/home/a"),
        ("LANG", "C"),
    ];
    let given = given.map(|(name, value)| (OsString::from(name), OsString::from(value)));
    let env = reading_environment(given.to_vec(), foreign);
    let git = |name: &OsString| name.to_string_lossy().starts_with("GIT_");
    let (git, rest): (Vec<_>, Vec<_>) = env.into_iter().partition(|(name, _)| git(name));
    let rest: Vec<String> = rest
        .iter()
        .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
        .collect();
    assert_eq!(rest, ["HOME=/home/a", "LANG=C", "PATH=/usr/bin:/opt/a b:/bin"]);
    let told = |wanted: &str| git.iter().any(|(_, value)| value == wanted);
    assert!(told("core.hooksPath") && told("core.fsmonitor") && !told("/w/evil"));
    let bare = reading_environment(vec![("PATH".into(), "/w/bin".into())], foreign);
    assert!(bare.contains(&("PATH".into(), "/usr/bin:/bin".into())));
}

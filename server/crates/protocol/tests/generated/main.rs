//! The generated files are what the types and the method table say they are.
//!
//! `UPDATE_GENERATED=1 cargo test -p protocol` writes them.

#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test reads and writes the repository itself, and fails by panicking"
)]

mod lua;
mod markdown;
mod shapes;
mod typescript;

use std::collections::BTreeSet;
use std::path::PathBuf;

use protocol::methods::{METHODS, Sender};

use shapes::Wire;

#[test]
fn typescript_is_fresh() {
    check("vscode-extension/src/protocol.ts", &typescript::render(&Wire::read()));
}

#[test]
fn lua_is_fresh() {
    check("nvim-plugin/lua/copydesk/protocol.lua", &lua::render(&Wire::read()));
}

#[test]
fn markdown_is_fresh() {
    check("docs/PROTOCOL.md", &markdown::render(&Wire::read()));
}

#[test]
fn the_server_registers_the_methods_of_the_table() {
    let source = std::fs::read_to_string(root().join("server/src/backend.rs")).unwrap();
    let registered: BTreeSet<&str> = source
        .split("custom_method(\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let described: BTreeSet<&str> =
        METHODS.iter().filter(|it| it.sender == Sender::Client).map(|it| it.name).collect();
    assert_eq!(registered, described);
}

#[track_caller]
fn check(path: &str, expected: &str) {
    let file = root().join(path);
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&file, expected).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        found == expected,
        "{path} is stale; write it with: UPDATE_GENERATED=1 cargo test -p protocol"
    );
}

fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.."))
}

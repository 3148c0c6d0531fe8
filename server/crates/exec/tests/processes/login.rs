//! What the person's login shell knows.

use std::ffi::OsString;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use exec::LoginPath;

use crate::support::{Session, environment, within};

/// A login shell that first prints and does `profile`.
#[expect(clippy::disallowed_methods, reason = "tests set the scene")]
fn shell(path: &Path, profile: &str) {
    let script = format!("#!/bin/sh\n{profile}\nPATH=/login/bin:/bin\neval \"$4\"\n");
    std::fs::write(path, script).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o700)).unwrap();
}

async fn login_path(session: &Session, profile: &str) -> Option<OsString> {
    let program = session.path("shell");
    shell(&program, profile);
    let mut env = environment();
    env.retain(|(name, _)| name != "SHELL");
    env.push(("SHELL".into(), program.into()));
    within(LoginPath::start(session.supervisor.clone(), env).get()).await
}

#[tokio::test]
async fn the_login_path_is_read_past_what_profiles_print_and_leave_behind() {
    let session = Session::new();
    let path = login_path(&session, "echo welcome; sleep 3000 &").await;
    assert_eq!(path, Some("/login/bin:/bin".into()));
}

#[tokio::test]
async fn a_login_shell_that_hangs_or_fails_is_given_up() {
    let session = Session::new();
    assert_eq!(login_path(&session, "sleep 3000").await, None);
    assert_eq!(login_path(&session, "exit 1").await, None);
}

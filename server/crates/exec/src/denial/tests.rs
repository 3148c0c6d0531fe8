use std::path::{Path, PathBuf};

use super::Denial;
use crate::sandbox::{Grant, Sandbox};

/// A folder with `ws`, which may be written, and `home`, which may not.
struct Ground(tempfile::TempDir);

#[expect(clippy::disallowed_methods, reason = "tests set the scene")]
fn ground() -> Ground {
    let folder = tempfile::tempdir().unwrap();
    for name in ["ws", "home"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    std::os::unix::fs::symlink("../home", folder.path().join("ws/out")).unwrap();
    Ground(folder)
}

impl Ground {
    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// In the output `~` stands for the folder that may not be written.
    #[track_caller]
    fn check(&self, output: &str, expected: &[Denial]) {
        let sandbox = Sandbox {
            writable: vec![self.path("ws").into()],
            hidden: Vec::new(),
            attributes: Grant::Allowed,
            network: Grant::Denied,
        };
        let output = output.replace('~', &self.path("home").display().to_string());
        assert_eq!(sandbox.denials(&output, &self.path("ws")), expected, "{output}");
    }

    #[track_caller]
    fn check_write(&self, output: &str, places: &[&str]) {
        let expected: Vec<Denial> = places.iter().map(|it| Denial::Write(self.path(it))).collect();
        self.check(output, &expected);
    }
}

#[test]
fn places_are_named_in_the_words_of_many_programs() {
    let ground = ground();
    ground.check_write("touch: cannot touch '~/a b': Permission denied", &["home/a b"]);
    ground.check_write("mkdir: cannot create directory ‘~/d’: Permission denied", &["home/d"]);
    ground.check_write("bash: line 1: ~/a: Permission denied", &["home/a"]);
    ground.check_write("/usr/bin/bash: line 1: ~/a: Permission denied", &["home/a"]);
    ground.check_write("making ~/a failed: Permission denied", &["home/a"]);
    ground.check_write("bash: line 1: ../home/a: Permission denied", &["home/a"]);
    ground.check_write("sh: 1: cannot create ~/a: Permission denied", &["home/a"]);
    ground.check_write("Error: EACCES: permission denied, open '~/x.js'", &["home/x.js"]);
    ground.check_write("PermissionError: [Errno 13] Permission denied: '~/a'", &["home/a"]);
    ground.check_write("open ~/a: permission denied", &["home/a"]);
    ground.check_write("chmod: changing permissions of '~': Operation not permitted", &["home"]);
    ground.check_write("mv: cannot move 'a' to '~/a': Permission denied", &["home/a"]);
    ground.check_write(
        "ln: failed to create hard link '~/b' => 'a': Invalid cross-device link",
        &["home/b"],
    );
    ground.check_write(
        "error: failed to open: ~/.cargo/lock\n\nCaused by:\n  Permission denied (os error 13)",
        &["home/.cargo/lock"],
    );
}

#[test]
fn a_link_out_of_the_folder_is_outside() {
    let ground = ground();
    let denied = Denial::Write(ground.path("ws/out/a"));
    ground.check("cp: cannot create regular file 'out/a': Permission denied", &[denied]);
}

#[test]
fn each_place_is_named_once_and_not_too_many() {
    let ground = ground();
    let line = |name: usize| format!("rm: cannot remove '~/{name}': Permission denied\n");
    ground.check_write(&line(1).repeat(9), &["home/1"]);
    let many: String = (0..1000).map(line).collect();
    ground.check_write(&many, &["home/0", "home/1", "home/2", "home/3", "home/4"]);
}

#[test]
fn errors_of_another_cause_are_none_of_it() {
    let ground = ground();
    ground.check("bash: ./../ws: Permission denied", &[]);
    ground.check("cat: 'out/../ws': Permission denied", &[]);
    ground.check("/proc/self/x: Permission denied", &[]);
    ground.check("~/a: No such file or directory", &[]);
    ground.check("wrote ~/a", &[]);
    ground.check("mount: /proc/x: permission denied", &[]);
    ground.check("", &[]);
}

#[test]
fn the_network_is_told_by_what_programs_say_without_one() {
    let ground = ground();
    for output in [
        "curl: (6) Could not resolve host: example.com",
        "fatal: unable to access 'https://x/': Could not resolve host: x",
        "ssh: Could not resolve hostname x: Temporary failure in name resolution",
        "npm error code EAI_AGAIN",
        "bash: socket: Operation not permitted",
        "PermissionError: connect: [Errno 1] Operation not permitted",
        "dial tcp: lookup x: no such host",
    ] {
        ground.check(output, &[Denial::Network]);
    }
}

#[test]
fn what_is_not_named_is_not_made_up() {
    let ground = ground();
    ground.check("Error: Permission denied (os error 13)", &[Denial::Unnamed]);
    ground.check("PermissionError: [Errno 1] Operation not permitted", &[Denial::Unnamed]);
    ground.check("touch: cannot touch 'somewhere': Permission denied", &[Denial::Unnamed]);
}

#[test]
fn any_output_is_looked_through() {
    let sandbox = Sandbox {
        writable: vec!["/nowhere".into()],
        hidden: Vec::new(),
        attributes: Grant::Denied,
        network: Grant::Denied,
    };
    for output in [
        "İ".repeat(5000) + ": permission denied",
        "'".repeat(5000) + " permission denied",
        "permission denied: \0'\0'".to_owned(),
        "/".repeat(5000) + ": permission denied",
        "€permission denied€".repeat(2000),
    ] {
        assert!(sandbox.denials(&output, Path::new("/")).len() <= 5);
    }
}

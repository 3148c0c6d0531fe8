use std::path::Path;
use std::sync::Arc;

use exec::{Denial, Grant};

use super::*;

fn place() -> Place {
    Place {
        roots: Arc::new(vfs::Roots::new(["/w".into(), "/more".into()])),
        cwd: "/w/sub".into(),
        artifacts: None,
        grammar: exec::Grammar::Posix,
        programs: crate::programs::Programs::default(),
        vfs: crate::place::tests::no_files(),
    }
}

fn shell(sandbox: Confinement) -> Shell {
    let sandbox_writable = vec!["/opt/cache".into(), "~/.cargo".into(), "here".into()];
    Shell { sandbox, sandbox_writable, ..Shell::default() }
}

#[test]
fn off_confines_nothing() {
    assert_eq!(configured(&shell(Confinement::Off), &place()), None);
    assert_eq!(described(&shell(Confinement::Off)), None);
}

#[test]
fn the_workspace_and_temporary_folders_can_be_written() {
    let sandbox = configured(&shell(Confinement::WorkspaceWrite), &place()).unwrap();
    let home = std::env::home_dir().unwrap().join(".cargo");
    for path in ["/w", "/more", "/tmp", "/opt/cache", "/w/sub/here", home.to_str().unwrap()] {
        assert!(sandbox.writable.iter().any(|it| it == path), "{path}: {sandbox:?}");
    }
    let others = ["/", "/etc", "/home", "/w/sub"].map(Path::new);
    assert!(!sandbox.writable.iter().any(|it| others.contains(&Path::new(it))), "{sandbox:?}");
    assert_eq!((sandbox.attributes, sandbox.network), (Grant::Allowed, Grant::Denied));
}

#[test]
fn read_only_writes_nowhere() {
    let mut shell = shell(Confinement::ReadOnly);
    shell.sandbox_network = true;
    let expected = Sandbox {
        writable: Vec::new(),
        hidden: Vec::new(),
        attributes: Grant::Denied,
        network: Grant::Allowed,
    };
    assert_eq!(configured(&shell, &place()), Some(expected));
    let words = described(&shell).unwrap();
    assert!(words.contains("nowhere") && !words.contains("network"), "{words}");
}

#[test]
fn what_was_denied_is_one_line() {
    assert_eq!(told(&[]), None);
    let denied = [Denial::Write("/etc/x".into()), Denial::Network];
    let line = "[sandbox: writing /etc/x was denied; the network is closed]";
    assert_eq!(told(&denied).as_deref(), Some(line));
}

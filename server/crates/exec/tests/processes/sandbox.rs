//! What a confined command can and cannot do.

use exec::{Command, Denial, Ended, Exit, Grant, Sandbox, SpawnError, Stdio};

use crate::support::{PROGRAM, Session, create_folder, eventually, read, real_path, within};

/// Confined to writing in `inside`, below the session's folder.
fn confined(session: &Session, script: &str) -> Command {
    let inside = session.path("inside");
    create_folder(&inside);
    create_folder(&session.path("outside"));
    let mut command = session.command(script);
    command.sandbox = Some(Sandbox {
        writable: vec![inside.into()],
        hidden: Vec::new(),
        attributes: Grant::Allowed,
        network: Grant::Denied,
    });
    command
}

fn read_only(session: &Session, script: &str) -> Command {
    let mut command = confined(session, script);
    command.sandbox = Some(Sandbox {
        writable: Vec::new(),
        hidden: Vec::new(),
        attributes: Grant::Denied,
        network: Grant::Denied,
    });
    command
}

/// What the script printed, and with which code it ended.
async fn run(session: &Session, command: Command) -> (String, Ended) {
    let ran = session.run_command(command).await;
    (ran.output.text, ran.ended)
}

#[track_caller]
fn check_denied((text, ended): (String, Ended)) {
    assert_ne!(ended, Ended::Exited(Exit::Code(0)), "{text}");
    let denied = ["Permission denied", "Operation not permitted", "cross-device"];
    assert!(denied.iter().any(|word| text.contains(word)), "{text}");
}

#[track_caller]
fn check_ran((text, ended): (String, Ended), printed: &str) {
    assert_eq!((text.trim_end(), ended), (printed, Ended::Exited(Exit::Code(0))));
}

#[tokio::test]
async fn writing_is_possible_inside_only() {
    let session = Session::new();
    let script = "echo new > inside/a && mkdir inside/d && mv inside/a inside/d/b && cat inside/d/b \
                  && chmod 600 inside/d/b && rm -r inside/d";
    check_ran(run(&session, confined(&session, script)).await, "new");
    check_ran(run(&session, session.command("echo kept > outside/kept")).await, "");
    for script in [
        "echo x > outside/new",
        "echo x >> outside/kept",
        ": > outside/kept",
        "truncate -s 0 outside/kept",
        "rm outside/kept",
        "mkdir outside/d",
        "ln -s x outside/link",
        "mkfifo outside/fifo",
        "mv outside/kept inside/",
        "echo x > inside/a && mv inside/a outside/",
        "ln outside/kept inside/hard",
        "ln -sf ../outside/kept inside/soft; echo x > inside/soft",
        "setsid sh -c 'echo x > outside/new'",
        "touch new",
    ] {
        check_denied(run(&session, confined(&session, script)).await);
        assert_eq!(read(&session.path("outside/kept")), "kept\n", "{script}");
        assert_eq!(read(&session.path("outside/new")), "", "{script}");
    }
}

#[tokio::test]
async fn reading_running_and_devices_stay_as_they_are() {
    let session = Session::new();
    let script =
        "cat /etc/hostname >/dev/null && echo gone >/dev/null && head -c 3 /dev/zero | wc -c";
    check_ran(run(&session, confined(&session, script)).await, "3");
    check_ran(run(&session, read_only(&session, script)).await, "3");
    check_ran(run(&session, read_only(&session, "cat <<.\nshort\n.")).await, "short");
}

#[tokio::test]
async fn read_only_changes_nothing_anywhere() {
    let session = Session::new();
    check_ran(run(&session, session.command("mkdir inside; echo kept > inside/kept")).await, "");
    for script in [
        "echo x > inside/kept",
        "rm inside/kept",
        "touch inside/kept",
        "chmod 777 inside/kept",
        "mkdir inside/d",
    ] {
        check_denied(run(&session, read_only(&session, script)).await);
    }
    assert_eq!(read(&session.path("inside/kept")), "kept\n");
}

#[tokio::test]
async fn the_shell_still_says_where_it_ended_up() {
    let session = Session::new();
    let ran = session.run_command(read_only(&session, "cd /usr")).await;
    assert_eq!(ran.cwd.as_deref(), Some("/usr".as_ref()));
    let ran = session.run_command(read_only(&session, "exec true")).await;
    assert_eq!(ran.cwd, None, "what was not said is not made up");
}

#[tokio::test]
async fn what_was_denied_is_named() {
    let session = Session::new();
    let ran = session.run_command(confined(&session, "cd outside; echo x > new")).await;
    assert_eq!(ran.denied, [Denial::Write(session.path("outside/new"))]);
    let ran = session.run_command(confined(&session, "cd inside; (cd ..; echo x > new)")).await;
    assert_eq!(ran.denied, [Denial::Unnamed]);
    let ran = session.run_command(confined(&session, "echo x > outside/new")).await;
    assert_eq!(ran.denied, [Denial::Write(session.path("outside/new"))]);
    let ran = session.run_command(confined(&session, "echo x > outside/new; true")).await;
    assert_eq!(ran.denied, [], "it did not fail");
    let ran = session.run_command(confined(&session, "(echo x > outside/new) 2>&1 | cat")).await;
    assert_eq!(ran.denied, [Denial::Write(session.path("outside/new"))], "a pipe hides its end");
    let job = within(session.jobs.start(confined(&session, "rm -r outside"))).await.unwrap();
    eventually("the notice", || !session.told.finished.lock().unwrap().is_empty()).await;
    let told = session.told.finished.lock().unwrap();
    assert_eq!(
        (&told[0].job, &told[0].denied[..]),
        (&job, &[Denial::Write(session.path("outside"))][..])
    );
}

#[tokio::test]
async fn the_network_is_closed_unless_it_is_granted() {
    let session = Session::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let bash = format!("bash -c 'echo x > /dev/tcp/127.0.0.1/{port}'");
    let named = session.path("socket");
    let _unix = std::os::unix::net::UnixListener::bind(&named).unwrap();
    let unix = format!("{PROGRAM} connect {}", named.display());
    check_denied(run(&session, confined(&session, &bash)).await);
    let (_, ended) = run(&session, confined(&session, &unix)).await;
    assert_eq!(ended, Ended::Exited(Exit::Code(1)));
    for script in [&bash, &unix] {
        let mut granted = confined(&session, script);
        granted.sandbox.as_mut().unwrap().network = Grant::Allowed;
        check_ran(run(&session, granted).await, "");
    }
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_ok(), "the one that was granted");
    assert!(listener.accept().is_err(), "and no other");
}

#[tokio::test]
async fn jobs_and_terminals_are_confined_too() {
    let session = Session::new();
    let terminal = Stdio::Pty { cols: 80, rows: 24 };
    for stdio in [Stdio::Output, terminal] {
        let mut command = confined(&session, "tty; echo in > inside/a; echo out > outside/a");
        command.stdio = stdio;
        let job = within(session.jobs.start(command)).await.unwrap();
        let news = session.read(&job, exec::Wait::Exit).await;
        assert!(news.text.contains("outside/a: Permission denied"), "{}", news.text);
        assert_eq!(news.denied, [Denial::Write(session.path("outside/a"))]);
        assert_eq!(news.text.contains("/dev/pts/"), stdio == terminal, "{}", news.text);
        assert_eq!(read(&session.path("inside/a")), "in\n");
        assert_eq!(read(&session.path("outside/a")), "");
    }
}

#[tokio::test]
async fn what_does_not_exist_is_left_out() {
    let session = Session::new();
    let mut command = confined(&session, "echo fine > inside/a; mkdir missing");
    let sandbox = command.sandbox.as_mut().unwrap();
    sandbox.writable.insert(0, session.path("missing").into());
    check_denied(run(&session, command).await);
    assert_eq!(read(&session.path("inside/a")), "fine\n");
}

#[tokio::test]
async fn hidden_files_cannot_be_opened() {
    let session = Session::new();
    check_ran(run(&session, session.command("mkdir inside; echo secret > inside/.env")).await, "");
    let hiding = |script: &str| {
        let mut command = confined(&session, script);
        let hidden = real_path(session.folder.path()).join("inside/.env");
        command.sandbox.as_mut().unwrap().hidden =
            vec![hidden.into(), session.path("inside/missing").into()];
        command
    };
    for script in [
        "cat inside/.env",
        "ln -s .env inside/link; cat inside/link",
        "sh -c 'cat < inside/.env'",
        "cp inside/.env inside/copy",
        "echo x > inside/.env",
        "cat /proc/1/root$PWD/inside/.env",
        "umount inside/.env; cat inside/.env",
        "unshare -r -m sh -c 'umount inside/.env; cat inside/.env'",
    ] {
        let (text, ended) = run(&session, hiding(script)).await;
        assert_ne!(ended, Ended::Exited(Exit::Code(0)), "{script}: {text}");
        assert!(!text.contains("secret"), "{script}: {text}");
    }
    let ran = session.run_command(hiding("cat inside/.env")).await;
    assert_eq!(ran.denied, [Denial::Hidden(session.path("inside/.env"))]);
    check_ran(
        run(&session, hiding("echo new > inside/a && cat inside/a && id -u")).await,
        &format!("new\n{}", rustix::process::geteuid().as_raw()),
    );
    assert_eq!(read(&session.path("inside/.env")), "secret\n");
}

#[tokio::test]
async fn a_system_that_cannot_confine_runs_nothing_half_confined() {
    let session = Session::under("supervise-without-landlock");
    let command = confined(&session, "echo x > inside/a");
    for job in [false, true] {
        let failed = match job {
            true => within(session.jobs.start(command.clone())).await.err(),
            false => {
                let cancel = tokio_util::sync::CancellationToken::new();
                within(session.jobs.run(command.clone(), &cancel)).await.err()
            }
        };
        assert!(
            matches!(&failed, Some(SpawnError::NoSandbox(why)) if why.contains("no Landlock")),
            "{failed:?}"
        );
    }
    assert_eq!(read(&session.path("inside/a")), "");
    check_ran(run(&session, session.command("echo free")).await, "free");
}

#[tokio::test]
async fn a_system_that_cannot_hide_files_says_so_and_shows_none() {
    let session = Session::under("supervise-without-namespaces");
    assert!(!session.supervisor.can_hide().await);
    let mut command = confined(&session, "echo x > inside/a");
    check_ran(run(&session, command.clone()).await, "");
    command.script = "echo y > inside/a".to_owned();
    command.sandbox.as_mut().unwrap().hidden = vec![session.path("inside/a").into()];
    let failed = within(session.jobs.start(command)).await.unwrap_err();
    assert!(matches!(failed, SpawnError::Os(_)), "{failed}");
    assert_eq!(read(&session.path("inside/a")), "x\n");
}

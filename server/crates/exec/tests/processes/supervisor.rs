//! Processes without a job: hooks, servers, checkers.

use std::path::PathBuf;

use exec::{Exit, Process, Signal, Signalled, Spawn, SpawnError, Stdio};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{Session, environment, eventually, is_alive, within};

fn sh(script: &str, stdio: Stdio) -> Spawn {
    let argv = ["sh", "-c", script].map(Into::into).to_vec();
    Spawn { argv, cwd: PathBuf::from("/"), env: environment(), stdio, sandbox: None }
}

async fn spawn(session: &Session, script: &str, stdio: Stdio) -> Process {
    within(session.supervisor.spawn(sh(script, stdio))).await.unwrap()
}

async fn text(mut stream: impl tokio::io::AsyncRead + Unpin) -> String {
    let mut text = String::new();
    within(stream.read_to_string(&mut text)).await.unwrap();
    text
}

#[tokio::test]
async fn three_pipes_are_three() {
    let session = Session::new();
    let mut process = spawn(&session, "cat; echo err >&2; exit 7", Stdio::Piped).await;
    let mut stdin = process.stdin.take().unwrap();
    stdin.write_all(b"in").await.unwrap();
    drop(stdin);
    assert_eq!(text(process.stdout.take().unwrap()).await, "in");
    assert_eq!(text(process.stderr.take().unwrap()).await, "err\n");
    assert_eq!(within(process.wait()).await, Exit::Code(7));
    assert_eq!(within(process.wait()).await, Exit::Code(7));
}

#[tokio::test]
async fn the_environment_is_the_one_given_and_descriptors_are_not_inherited() {
    let session = Session::new();
    let mut request =
        sh("env; ls /proc/self/fd | wc -l; ps -o sid= -p $$ | grep -c $$", Stdio::Output);
    request.env = vec![("PATH".into(), "/usr/bin:/bin".into()), ("A".into(), "b c".into())];
    let mut process = within(session.supervisor.spawn(request)).await.unwrap();
    let output = text(process.stdout.take().unwrap()).await;
    let lines: Vec<&str> = output.lines().filter(|line| !line.starts_with("PWD=")).collect();
    assert!(lines.contains(&"A=b c") && !output.contains("HOME="), "{output}");
    // stdin, stdout, stderr and the listing itself.
    assert_eq!(lines[lines.len() - 2..], ["4", "1"], "{output}");
}

#[tokio::test]
async fn a_dropped_process_is_killed() {
    let session = Session::new();
    let process = spawn(&session, "sleep 3000", Stdio::Output).await;
    let pid = process.pid;
    assert!(is_alive(pid));
    drop(process);
    eventually("its end", || !is_alive(pid)).await;
}

#[tokio::test]
async fn signals_are_confirmed() {
    let session = Session::new();
    let mut process = spawn(&session, "sleep 3000", Stdio::Output).await;
    let group = process.group();
    assert_eq!(within(group.signal(Signal::TERM)).await, Signalled::Sent);
    assert_eq!(within(process.wait()).await, Exit::Signal("SIGTERM".to_owned()));
    within(group.gone()).await;
    assert_eq!(within(group.signal(Signal::KILL)).await, Signalled::Gone);
}

#[tokio::test]
async fn what_is_missing_is_named() {
    let session = Session::new();
    let mut request = sh("true", Stdio::Output);
    request.argv[0] = "no-such-program".into();
    let error = within(session.supervisor.spawn(request)).await.unwrap_err();
    assert!(matches!(&error, SpawnError::ProgramNotFound(name) if name == "no-such-program"));
    let mut request = sh("true", Stdio::Output);
    request.cwd = "/no/such/folder".into();
    let error = within(session.supervisor.spawn(request)).await.unwrap_err();
    assert!(matches!(error, SpawnError::DirectoryMissing(_)));
    let mut request = sh("true", Stdio::Output);
    request.argv.clear();
    assert!(within(session.supervisor.spawn(request)).await.is_err());
}

#[tokio::test]
async fn many_at_once_are_told_apart() {
    let session = Session::new();
    let mut tasks = tokio::task::JoinSet::new();
    for n in 0..60 {
        let supervisor = session.supervisor.clone();
        tasks.spawn(async move {
            let request = sh(&format!("echo {n}; exit {n}"), Stdio::Output);
            let mut process = supervisor.spawn(request).await.unwrap();
            assert_eq!(text(process.stdout.take().unwrap()).await, format!("{n}\n"));
            assert_eq!(process.wait().await, Exit::Code(n));
        });
    }
    within(tasks.join_all()).await;
}

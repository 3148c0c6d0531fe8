//! Whatever happens to the server or the supervisor, nothing is left behind.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use exec::{Exit, JobRead, Status, Wait};

use crate::support::{LIMIT, PROGRAM, Session, eventually, is_alive, pids, read, within};

/// A server of its own that runs `script`, which leaves process ids in the file `pids`.
struct Server {
    process: Child,
    folder: tempfile::TempDir,
}

impl Server {
    #[expect(clippy::disallowed_methods, reason = "the server to be killed is no one's job")]
    fn start(script: &str) -> Server {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("cd '{}'; {script}", folder.path().display());
        let mut process = Command::new(PROGRAM)
            .arg("hold")
            .arg(folder.path().join("jobs"))
            .arg(script)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "started\n");
        Server { process, folder }
    }

    async fn descendants(&self, count: usize) -> Vec<i32> {
        let file = self.folder.path().join("pids");
        eventually("the script's processes", || pids(&read(&file)).len() == count).await;
        let pids = pids(&read(&file));
        assert!(pids.iter().all(|pid| is_alive(*pid)), "{pids:?}");
        pids
    }
}

/// Children, grandchildren, one in a session of its own, one that ignores TERM, a stopped one.
const FAMILY: &str = "
    echo $$ >> pids
    sleep 3000 & echo $! >> pids
    sh -c 'sleep 3000 & echo $! >> pids; wait' &
    setsid sh -c 'echo $$ >> pids; (setsid sh -c \"echo \\$\\$ >> pids; exec sleep 3000\" &) ; sleep 3000; :' &
    sh -c 'trap \"\" TERM; echo $$ >> pids; while :; do sleep 3000; done' &
    sh -c 'echo $$ >> pids; kill -STOP $$' &
    wait";

#[tokio::test]
async fn case_h1_kill_9_of_the_server_leaves_no_descendant() {
    let mut server = Server::start(FAMILY);
    let descendants = server.descendants(7).await;
    server.process.kill().unwrap();
    server.process.wait().unwrap();
    eventually("end of all descendants", || !descendants.iter().any(|pid| is_alive(*pid))).await;
}

#[tokio::test]
async fn case_h1_closing_stdin_leaves_no_descendant() {
    let mut server = Server::start(FAMILY);
    let descendants = server.descendants(7).await;
    let mut stdin = server.process.stdin.take().unwrap();
    stdin.flush().unwrap();
    drop(stdin);
    server.process.wait().unwrap();
    eventually("end of all descendants", || !descendants.iter().any(|pid| is_alive(*pid))).await;
}

#[tokio::test]
async fn a_supervisor_killed_takes_its_jobs_along_and_is_started_anew() {
    let session = Session::new();
    let job = session.start("sleep 3000 & echo $!; echo $PPID; wait").await;
    session.printed_lines(2).await;
    let [child, supervisor] = pids(&session.read(&job, Wait::Output).await.text)[..] else {
        panic!("two processes")
    };
    // The killer is itself started by its victim, so its own fate is open.
    let killer = session.command(&format!("kill -9 {supervisor}"));
    let _ = within(session.jobs.start(killer)).await;
    let read = session.jobs.read(&job, "other", Wait::Exit, LIMIT).await;
    let JobRead::News(news) = read else { panic!("{read}") };
    assert_eq!(news.status, Status::Lost);
    eventually("end of the child", || !is_alive(child)).await;
    let ran = session.run("exit 5").await;
    assert_eq!(ran.ended, exec::Ended::Exited(Exit::Code(5)));
}

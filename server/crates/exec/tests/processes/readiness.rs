//! Servers that become ready, do not, or find their port taken.

use std::net::TcpListener;
use std::time::Duration;

use exec::{JobId, LocalUrl, Readiness, Status, Wanted};
use regex::Regex;

use crate::support::{LIMIT, Session, within};

/// A TCP server that listens after `before` has run.
const LISTEN: &str = "import socket,sys,time\ns=socket.socket()\n\
     s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)\n\
     s.bind(('127.0.0.1',int(sys.argv[1])))\ns.listen()\nprint('up',flush=True)\ntime.sleep(3000)\n";

/// A port nobody listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn port(port: u16) -> Wanted {
    Wanted { port: Some(port), ..Wanted::default() }
}

fn url(text: &str) -> Wanted {
    Wanted { url: Some(LocalUrl::parse(text).unwrap()), ..Wanted::default() }
}

async fn ready(session: &Session, job: &JobId, wanted: &Wanted) -> Readiness {
    within(session.jobs.ready(job, wanted, LIMIT)).await
}

#[expect(clippy::disallowed_methods, reason = "a test's own folder")]
fn write(session: &Session, name: &str, text: &str) {
    std::fs::write(session.path(name), text).unwrap();
}

#[tokio::test]
async fn a_port_counts_once_a_process_of_the_group_listens() {
    let session = Session::new();
    write(&session, "listen.py", LISTEN);
    let free = free_port();
    // A grandchild, as with `npm run`.
    let job = session.start(&format!("sh -c 'python3 listen.py {free}; true'; true")).await;
    assert_eq!(ready(&session, &job, &port(free)).await, Readiness::Ready { line: None });
    session.jobs.kill(&job, "").await;
}

#[tokio::test]
async fn a_port_that_somebody_else_holds_is_never_ready() {
    let session = Session::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let number = taken.local_addr().unwrap().port();
    let job = session.start("sleep 3000").await;
    match ready(&session, &job, &port(number)).await {
        Readiness::Foreign { port, owner } => {
            assert_eq!(port, number);
            assert_eq!(owner.unwrap().pid, std::process::id().cast_signed());
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(session.row(&job).status, Status::Running);
}

#[tokio::test]
async fn a_process_that_dies_is_not_waited_for() {
    let session = Session::new();
    let job = session.start("echo broken; exit 3").await;
    let ended = Readiness::Ended { status: Status::Failed, exit: Some(exec::Exit::Code(3)) };
    assert_eq!(ready(&session, &job, &port(free_port())).await, ended);
    assert_eq!(session.jobs.tail(&job, 5).unwrap(), "broken");
    assert_eq!(ready(&session, &job, &Wanted::default()).await, ended);
}

#[tokio::test]
async fn a_url_counts_by_its_status() {
    let session = Session::new();
    let free = free_port();
    let job = session.start(&format!("python3 -m http.server --bind 127.0.0.1 {free}")).await;
    let there = url(&format!("http://localhost:{free}/"));
    assert_eq!(ready(&session, &job, &there).await, Readiness::Ready { line: None });
    let missing = url(&format!("http://localhost:{free}/missing"));
    let look = session.jobs.ready(&job, &missing, Duration::from_millis(1));
    match within(look).await {
        Readiness::TimedOut { missing } => assert!(missing[0].contains("404"), "{missing:?}"),
        other => panic!("{other:?}"),
    }
    session.jobs.kill(&job, "").await;
}

#[tokio::test]
async fn a_line_counts_even_when_a_flood_follows() {
    let session = Session::new();
    let script =
        "seq 1 50000; printf 'listening on \\033[1m8080\\033[0m\\n'; seq 1 200000; sleep 3000";
    let line = Some(Regex::new(r"on \d+$").unwrap());
    let attended = session.jobs.start_attended(session.command(script), line);
    let job = within(attended).await.unwrap().job.clone();
    let wanted = Wanted { line: true, ..Wanted::default() };
    let line = Some("listening on 8080".to_owned());
    assert_eq!(ready(&session, &job, &wanted).await, Readiness::Ready { line });
    session.jobs.kill(&job, "").await;
}

#[tokio::test]
async fn without_a_condition_it_only_has_to_live() {
    let session = Session::new();
    let job = session.start("sleep 3000").await;
    let nothing = Wanted::default();
    let look = session.jobs.ready(&job, &nothing, Duration::from_millis(10));
    assert_eq!(within(look).await, Readiness::Running);
    let nobody = JobId::from("job-99");
    assert_eq!(ready(&session, &nobody, &nothing).await, Readiness::NotFound);
}

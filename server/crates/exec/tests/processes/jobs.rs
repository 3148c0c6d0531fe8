//! Commands in the background.

use std::time::Duration;

use exec::{
    Ended, Exit, JobId, JobKilled, JobRead, Listed, MAX_ACTIVE, MAX_FINISHED, Promotion,
    SpawnError, Status, Stdio, Urgency, Wait, Waited,
};
use tokio_util::sync::CancellationToken;

use crate::support::{LIMIT, Session, eventually, is_alive, pids, read, within};

#[tokio::test]
async fn a_job_is_named_listed_read_and_reported_once() {
    let session = Session::new();
    let job = session.start("echo one; read x; echo two; exit 3").await;
    assert_eq!(job.to_string(), "job-1");
    eventually("the notice", || !session.told.finished.lock().unwrap().is_empty()).await;
    let row = session.row(&job);
    assert_eq!((row.status, row.exit), (Status::Failed, Some(Exit::Code(3))));
    assert_eq!(row.origin.terminal, "term-1");
    assert_eq!(read(&row.log.unwrap()), "one\ntwo\n");
    assert!(session.jobs.list(Listed::Active).is_empty());
    let news = session.read(&job, Wait::Exit).await;
    assert_eq!(news.to_string(), "one\ntwo\n[status: failed, exit code 3]");
    let finished = session.told.finished.lock().unwrap();
    assert_eq!(finished.len(), 1);
    assert_eq!((finished[0].status, finished[0].tail.as_str()), (Status::Failed, "one\ntwo"));
    assert_eq!(session.told.output.lock().unwrap()[..], *b"one\ntwo\n");
}

#[tokio::test]
async fn case_19_an_expired_wait_is_a_notice_and_ends_nothing() {
    let session = Session::new();
    let job = session.start("sleep 3000").await;
    let read = session.jobs.read(&job, "main", Wait::Exit, Duration::from_millis(50)).await;
    let JobRead::News(news) = read else { panic!("{read}") };
    assert_eq!(news.status, Status::Running);
    assert!(matches!(news.waited, Waited::Expired(_)));
    assert!(news.to_string().starts_with("[status: running]\n[notice] "), "{news}");
    assert_eq!(session.row(&job).status, Status::Running);
    session.jobs.shutdown().await;
}

#[tokio::test]
async fn case_20_output_is_given_once_to_each_reader() {
    let session = Session::new();
    let job = session.start("echo a; exec sleep 3000").await;
    assert_eq!(session.read(&job, Wait::Output).await.text, "a\n");
    assert_eq!(session.read(&job, Wait::None).await.text, "");
    let other = session.jobs.read(&job, "other", Wait::None, LIMIT).await;
    assert!(other.to_string().starts_with("a\n[status: running]"), "{other}");
    session.jobs.shutdown().await;
}

#[tokio::test]
async fn characters_and_escapes_are_not_torn_between_reads() {
    let session = Session::new();
    let script = r"printf 'a\303'; while [ ! -e go ]; do sleep 0.01; done; printf '\251\n'";
    let job = session.start(script).await;
    assert_eq!(session.read(&job, Wait::Output).await.text, "a");
    session.run("touch go").await;
    assert_eq!(session.read(&job, Wait::Exit).await.text, "\u{e9}\n");
}

#[tokio::test]
async fn case_21_polling_without_news_is_warned_of_then_refused() {
    let session = Session::new();
    let job = session.start("sleep 3000").await;
    assert_eq!(session.read(&job, Wait::None).await.waited, Waited::Satisfied);
    assert_eq!(session.read(&job, Wait::None).await.waited, Waited::Warned(2));
    for polls in [3, 4] {
        let read = session.jobs.read(&job, "main", Wait::None, LIMIT).await;
        assert!(matches!(read, JobRead::Refused { polls: n, .. } if n == polls), "{read}");
    }
    // Waiting is no polling, nor is what another reader does.
    let read = session.jobs.read(&job, "main", Wait::Output, Duration::from_millis(10)).await;
    assert!(matches!(read, JobRead::News(_)), "{read}");
    assert_eq!(session.read(&job, Wait::None).await.waited, Waited::Satisfied);
    session.jobs.shutdown().await;
}

#[tokio::test]
async fn case_22_killing_a_finished_job_changes_nothing() {
    let session = Session::new();
    let job = session.start("true").await;
    session.read(&job, Wait::Exit).await;
    let killed = session.jobs.kill(&job, "late").await;
    assert_eq!(killed, JobKilled::AlreadyFinished(Status::Completed));
    assert_eq!(session.row(&job).status, Status::Completed);
    assert!(session.told.finished.lock().unwrap().is_empty(), "the reader saw the end");
    let unknown = JobId::from("job-99");
    assert_eq!(session.jobs.kill(&unknown, "").await, JobKilled::NotFound(unknown));
}

#[tokio::test]
async fn killing_reaches_the_group_and_is_not_reported() {
    let session = Session::new();
    let job = session.start("sleep 3000 & echo $!; echo $$; wait").await;
    session.printed_lines(2).await;
    let pids = pids(&session.read(&job, Wait::Output).await.text);
    assert_eq!(session.jobs.kill(&job, "no longer needed").await, JobKilled::Stopped);
    assert!(!pids.is_empty() && !pids.iter().any(|pid| is_alive(*pid)));
    let news = session.read(&job, Wait::None).await;
    assert_eq!(news.to_string(), "[status: stopped (no longer needed)]");
    assert!(session.told.finished.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_end_by_the_person_is_reported_once_as_such() {
    for urgency in [Urgency::Wakes, Urgency::CanWait] {
        let session = Session::new();
        let job = session.start("echo begun; sleep 3000").await;
        session.printed_lines(1).await;
        assert_eq!(session.jobs.kill_for_person(&job, urgency).await, JobKilled::Stopped);
        let again = session.jobs.kill_for_person(&job, urgency).await;
        assert_eq!(again, JobKilled::AlreadyFinished(Status::Stopped));
        eventually("the report", || !session.told.finished.lock().unwrap().is_empty()).await;
        session.jobs.shutdown().await;
        let told = session.told.finished.lock().unwrap();
        let [told] = told.as_slice() else { panic!("{told:?}") };
        assert_eq!((told.status, told.urgency), (Status::Stopped, urgency));
        assert_eq!(told.reason.as_deref(), Some("stopped by the person"));
        assert_eq!(told.tail, "begun");
    }
}

#[tokio::test]
async fn an_end_by_the_person_is_not_reported_to_a_reader_who_sees_it() {
    let session = Session::new();
    let job = session.start("sleep 3000").await;
    let stopping = async {
        eventually("the reader", || session.row(&job).status == Status::Running).await;
        session.jobs.kill_for_person(&job, Urgency::Wakes).await
    };
    let (news, _) = within(async { tokio::join!(session.read(&job, Wait::Exit), stopping) }).await;
    assert_eq!(news.to_string(), "[status: stopped (stopped by the person)]");
    session.jobs.shutdown().await;
    assert!(session.told.finished.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_job_that_ignores_term_is_killed() {
    let session = Session::new();
    let job = session.start("trap '' TERM; echo ready; while :; do sleep 3000; done").await;
    session.read(&job, Wait::Output).await;
    assert_eq!(session.jobs.kill(&job, "").await, JobKilled::Stopping);
    assert_eq!(session.row(&job).status, Status::Stopping);
    assert_eq!(session.read(&job, Wait::Exit).await.status, Status::Stopped);
}

#[tokio::test]
async fn a_job_that_exits_well_when_told_to_is_still_stopped() {
    let session = Session::new();
    let job = session.start("trap 'exit 0' TERM; echo ready; while :; do sleep 0.01; done").await;
    session.read(&job, Wait::Output).await;
    assert_eq!(session.jobs.kill(&job, "").await, JobKilled::Stopped);
    let row = session.row(&job);
    assert_eq!((row.status, row.exit), (Status::Stopped, Some(Exit::Code(0))));
}

#[tokio::test]
async fn case_23_a_deadline_reads_as_timed_out() {
    let session = Session::new();
    let mut command = session.command("trap 'exit 0' TERM; while :; do sleep 0.01; done");
    command.deadline = Some(Duration::from_millis(100));
    let job = session.jobs.start(command).await.unwrap();
    assert!(session.row(&job).deadline_left.is_some());
    let news = session.read(&job, Wait::Exit).await;
    assert_eq!(news.status, Status::TimedOut);
    assert!(news.to_string().contains("[status: timed_out, timed out after 0."), "{news}");
}

#[tokio::test]
async fn a_deadline_holds_in_the_foreground_too() {
    let session = Session::new();
    let mut command = session.command("echo a; sleep 3000; true");
    command.deadline = Some(Duration::from_millis(100));
    let ran = session.run_command(command).await;
    assert_eq!((ran.ended, ran.output.text.as_str()), (Ended::TimedOut, "a\n"));
}

#[tokio::test]
async fn case_24_the_end_of_the_session_ends_everything() {
    let session = Session::new();
    let job = session.start("trap '' TERM; sleep 3000 & echo $!; echo $$; wait; wait").await;
    session.printed_lines(2).await;
    let pids = pids(&session.read(&job, Wait::Output).await.text);
    let cancel = CancellationToken::new();
    let call = session.jobs.run(session.command("sleep 3000"), &cancel);
    let ending = async {
        session.jobs.shutdown().await;
    };
    let (ran, ()) = within(async { tokio::join!(call, ending) }).await;
    match ran {
        Ok(ran) => assert_eq!(ran.ended, Ended::Killed),
        Err(error) => assert!(matches!(error, SpawnError::Closed), "{error}"),
    }
    assert!(!pids.iter().any(|pid| is_alive(*pid)));
    assert_eq!(session.row(&job).status, Status::Killed);
    assert!(session.told.finished.lock().unwrap().is_empty());
    let late = session.jobs.start(session.command("true")).await;
    assert!(matches!(late, Err(SpawnError::Closed)));
}

#[tokio::test]
async fn dropping_the_session_ends_its_jobs() {
    let Session { jobs, supervisor, told, folder: _folder } = {
        let session = Session::new();
        session.start("echo $$; sleep 3000; true").await;
        eventually("output", || !session.told.output.lock().unwrap().is_empty()).await;
        session
    };
    let leader = pids(&String::from_utf8_lossy(&told.output.lock().unwrap()))[0];
    drop(jobs);
    eventually("end of the job", || !is_alive(leader)).await;
    drop(supervisor);
}

#[tokio::test]
async fn the_owner_is_told_unless_it_waits_for_the_end() {
    let session = Session::new();
    let job = session.start("while [ ! -e go ]; do sleep 0.01; done").await;
    let (news, _) = tokio::join!(session.read(&job, Wait::Exit), session.run("touch go"));
    assert_eq!(news.status, Status::Completed);
    assert!(session.told.finished.lock().unwrap().is_empty());
    // Another reader's seeing it is not the owner's.
    let job = session.start("true").await;
    within(session.jobs.read(&job, "other", Wait::Exit, LIMIT)).await;
    eventually("the notice", || session.told.finished.lock().unwrap().len() == 1).await;
    // A wait given up is no seeing either.
    let job = session.start("rm go; while [ ! -e go ]; do sleep 0.01; done").await;
    let waiting = session.jobs.read(&job, "main", Wait::Exit, LIMIT);
    let _ = tokio::time::timeout(Duration::from_millis(50), waiting).await;
    session.run("touch go").await;
    eventually("the second notice", || session.told.finished.lock().unwrap().len() == 2).await;
}

#[tokio::test]
async fn jobs_are_limited_and_forgotten() {
    let session = Session::new();
    for _ in 0..MAX_ACTIVE {
        session.start("exec sleep 3000").await;
    }
    let refused = session.jobs.start(session.command("true")).await;
    assert!(matches!(refused, Err(SpawnError::TooManyJobs(MAX_ACTIVE))));
    // A foreground command that cannot become a job ends at its timeout.
    let mut command = session.command("sleep 3000; true");
    command.timeout = Some(Duration::from_millis(300));
    command.yield_after = Some(Duration::from_millis(10));
    assert_eq!(session.run_command(command).await.ended, Ended::TimedOut);
    let rows = session.jobs.list(Listed::Active);
    assert_eq!(rows.len(), MAX_ACTIVE);
    for row in rows {
        within(session.jobs.kill(&row.job, "")).await;
    }
    assert_eq!(session.jobs.list(Listed::All).len(), MAX_FINISHED);
    session.start("true").await;
}

#[tokio::test]
async fn a_group_without_its_leader_is_stopped_as_a_job() {
    let session = Session::new();
    let ran = session.run("(sleep 0.3; echo late; sleep 3000) & echo $!").await;
    let Ended::Promoted { job, why: Promotion::GroupAlive(_) } = ran.ended else {
        panic!("{:?}", ran.ended)
    };
    let child = pids(&ran.output.text)[0];
    assert_eq!(session.read(&job, Wait::Output).await.text, "late\n");
    assert_eq!(session.jobs.kill(&job, "").await, JobKilled::Stopped);
    assert!(!is_alive(child));
    assert_eq!(session.row(&job).status, Status::Stopped);
}

#[tokio::test]
async fn a_terminal_takes_input_and_has_a_size() {
    let session = Session::new();
    let mut command = session.command("stty size; read x; echo \"got $x\"; stty size; tty");
    command.stdio = Stdio::Pty { cols: 100, rows: 30 };
    let job = session.jobs.start(command).await.unwrap();
    let terminal = JobId::from("term-1");
    eventually("size", || session.told.output.lock().unwrap().ends_with(b"30 100\r\n")).await;
    session.jobs.resize(&terminal, 90, 20).unwrap();
    session.jobs.write(&terminal, b"hello\n").unwrap();
    let news = session.read(&job, Wait::Exit).await;
    assert_eq!(news.status, Status::Completed);
    let lines: Vec<&str> = news.text.lines().collect();
    assert_eq!(lines[..4], ["30 100", "hello", "got hello", "20 90"]);
    assert!(lines[4].starts_with("/dev/pts/"), "{}", lines[4]);
    assert!(session.jobs.write(&job, b"x").is_err());
    let plain = session.start("sleep 3000").await;
    assert!(session.jobs.write(&plain, b"x").is_err());
}

#[tokio::test]
async fn a_resumed_session_keeps_the_logs_it_has() {
    let session = Session::new();
    let job = session.start("echo old").await;
    session.read(&job, Wait::Exit).await;
    let old = session.row(&job).log.unwrap();
    let observer = std::sync::Arc::clone(&session.told) as std::sync::Arc<dyn exec::Observer>;
    let folder = session.path("jobs");
    let resumed = exec::Jobs::new(session.supervisor.clone(), folder, observer);
    let job = resumed.start(session.command("echo new")).await.unwrap();
    assert_eq!(job.to_string(), "job-2");
    assert_eq!(resumed.terminal(&job).as_deref(), Some("term-2"));
    within(resumed.read(&job, "main", Wait::Exit, LIMIT)).await;
    assert_eq!(read(&old), "old\n");
}

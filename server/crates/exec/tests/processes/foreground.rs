//! Commands that are waited for.

use std::time::Duration;

use exec::{Ended, Exit, Promotion, SpawnError, Status, Wait, interactive_reason};
use tokio_util::sync::CancellationToken;

use crate::support::{
    Session, create_folder, eventually, is_alive, pids, read, real_path, size, within,
};

#[track_caller]
fn check_group_alive(ended: &Ended) -> exec::JobId {
    match ended {
        Ended::Promoted { job, why: Promotion::GroupAlive(Exit::Code(0)) } => job.clone(),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn case_1_a_background_child_that_holds_the_output_does_not_hold_the_call() {
    let session = Session::new();
    let ran = session.run("echo out; sleep 3000 &").await;
    let job = check_group_alive(&ran.ended);
    assert_eq!(ran.output.text, "out\n");
    assert_eq!(session.row(&job).status, Status::Running);
    session.jobs.shutdown().await;
}

#[tokio::test]
async fn case_2_a_background_child_that_holds_stderr_does_not_hold_the_call() {
    let session = Session::new();
    let ran = session.run("sleep 3000 >/dev/null &").await;
    check_group_alive(&ran.ended);
    session.jobs.shutdown().await;
}

#[tokio::test]
async fn case_3_a_child_in_its_own_session_is_outside_the_job_and_ends_with_the_supervisor() {
    let session = Session::new();
    let ran = session.run("setsid sleep 3000 & echo $!; sleep 0.2").await;
    assert_eq!(ran.ended, Ended::Exited(Exit::Code(0)));
    let escaped = pids(&ran.output.text)[0];
    assert!(is_alive(escaped));
    drop(session);
    eventually("end of the escaped child", || !is_alive(escaped)).await;
}

#[tokio::test]
async fn case_4_nohup_is_listed_as_a_job_until_it_exits() {
    let session = Session::new();
    let ran = session.run("nohup sleep 3000 & echo $!").await;
    let job = check_group_alive(&ran.ended);
    let child = pids(&ran.output.text)[0];
    assert_eq!(session.row(&job).exit, Some(Exit::Code(0)));
    let ended = session.run(&format!("kill {child}")).await;
    assert_eq!(ended.ended, Ended::Exited(Exit::Code(0)));
    let news = session.read(&job, Wait::Exit).await;
    assert_eq!(news.status, Status::Completed);
}

#[tokio::test]
async fn case_5_the_exit_code_is_reported() {
    let ran = Session::new().run("exit 3").await;
    assert_eq!(ran.ended, Ended::Exited(Exit::Code(3)));
    assert_eq!(Exit::Code(3).to_string(), "exit code 3");
}

#[tokio::test]
async fn case_6_a_signal_is_reported() {
    let ran = Session::new().run("kill -9 $$").await;
    assert_eq!(ran.ended, Ended::Exited(Exit::Signal("SIGKILL".to_owned())));
}

#[tokio::test]
async fn cases_7_to_9_input_is_at_its_end() {
    let session = Session::new();
    assert_eq!(session.run("cat").await.output.text, "");
    assert_eq!(session.run("read x; echo \"[$x]\"").await.output.text, "[]\n");
    let ran = session.run("head -c 1 | wc -c; exec < /dev/tty").await;
    assert!(ran.output.text.contains("/dev/tty"), "{}", ran.output.text);
}

#[tokio::test]
async fn case_10_editors_are_rejected_with_a_hint() {
    assert!(interactive_reason("vim x").is_some_and(|reason| reason.contains("edit tools")));
}

#[tokio::test]
async fn case_11_git_uses_no_pager_and_no_editor() {
    let session = Session::new();
    let script = "git init -q . && git -c user.name=a -c user.email=a@b commit -q --allow-empty \
                  -m first && git log --format=%s && git var GIT_EDITOR && echo $TERM $PAGER";
    let ran = session.run(script).await;
    assert_eq!(ran.output.text, "first\ntrue\ndumb cat\n");
}

#[tokio::test]
async fn case_12_100_mb_are_bounded_and_logged() {
    let session = Session::new();
    let ran = session.run("echo first; yes 123456789 | head -n 6000000; echo last").await;
    assert_eq!(ran.ended, Ended::Exited(Exit::Code(0)));
    assert_eq!(ran.output.total_bytes, 60_000_011);
    assert!(ran.output.text.len() < 400_000);
    assert!(ran.output.text.starts_with("first\n123456789\n"));
    assert!(ran.output.text.ends_with("123456789\nlast\n"));
    let note = format!("[{} bytes omitted]", ran.output.omitted_bytes);
    assert!(ran.output.text.contains(&note));
    assert_eq!(size(&ran.log.unwrap()), 60_000_011);
    assert!(session.told.output.lock().unwrap().len() < 60_000_000);
}

#[tokio::test]
async fn case_13_invalid_bytes_and_escapes_are_resolved() {
    let session = Session::new();
    let ran = session.run(r"printf '\033[31mred\033[0m \377 10%%\r\033[Kdone\n'").await;
    assert_eq!(ran.output.text, "done\n");
    let ran = session.run(r"printf '\033[31mred\033[0m \377\n'").await;
    assert_eq!(ran.output.text, "red \u{fffd}\n");
}

#[tokio::test]
async fn case_14_the_shell_says_where_it_ended_up() {
    let session = Session::new();
    create_folder(&session.path("it's a sub"));
    let sub = real_path(session.folder.path()).join("it's a sub");
    let ran = session.run("cd \"it's a sub\" && echo $# $0").await;
    assert_eq!(ran.cwd, Some(sub.clone()));
    assert!(ran.output.text.starts_with("0 "), "{}", ran.output.text);
    let ran = session.run("cd / && set -C && exit 4").await;
    assert_eq!((ran.cwd, ran.ended), (Some("/".into()), Ended::Exited(Exit::Code(4))));
    let ran = session.run("pwd() { echo lie; }; cd \"it's a sub\"; false").await;
    assert_eq!((ran.cwd, ran.ended), (Some(sub), Ended::Exited(Exit::Code(1))));
    assert_eq!(ran.output.text, "");
    let ran = session.run("exec true").await;
    assert_eq!((ran.cwd, ran.ended), (None, Ended::Exited(Exit::Code(0))));
}

#[tokio::test]
async fn errors_name_the_lines_of_the_script() {
    let ran = Session::new().run("true\nif fi\n").await;
    assert!(ran.output.text.contains("line 2"), "{}", ran.output.text);
    assert!(!ran.output.text.contains("trap"), "{}", ran.output.text);
}

#[tokio::test]
async fn stdout_and_stderr_come_in_order() {
    let ran = Session::new().run("for i in 1 2 3; do echo o$i; echo e$i >&2; done").await;
    assert_eq!(ran.output.text, "o1\ne1\no2\ne2\no3\ne3\n");
}

#[tokio::test]
async fn case_15_a_timeout_makes_a_job_of_work_and_keeps_its_output() {
    let session = Session::new();
    let mut command = session.command("echo partial; echo $$; sleep 3000; true");
    command.timeout = Some(Duration::from_millis(300));
    let ran = session.run_command(command).await;
    let Ended::Promoted { job, why: Promotion::Timeout } = ran.ended else {
        panic!("{:?}", ran.ended)
    };
    assert!(ran.output.text.starts_with("partial\n"));
    assert!(is_alive(pids(&ran.output.text)[0]));
    assert!(read(&ran.log.unwrap()).starts_with("partial\n"));
    // What the call gave back is not given again.
    assert_eq!(session.read(&job, Wait::None).await.text, "");
    session.jobs.shutdown().await;
}

#[tokio::test]
async fn case_15_a_timeout_ends_a_sleep() {
    let session = Session::new();
    let mut command = session.command("sleep 3000");
    command.timeout = Some(Duration::from_millis(100));
    command.yield_after = Some(Duration::from_millis(10));
    let ran = session.run_command(command).await;
    assert_eq!(ran.ended, Ended::TimedOut);
    assert!(session.jobs.list(exec::Listed::All).is_empty());
}

#[tokio::test]
async fn yielding_comes_before_the_timeout() {
    let session = Session::new();
    let mut command = session.command("echo a; sleep 3000; true");
    command.timeout = Some(Duration::from_secs(3000));
    command.yield_after = Some(Duration::from_millis(200));
    let ran = session.run_command(command).await;
    assert!(matches!(ran.ended, Ended::Promoted { why: Promotion::Yield, .. }), "{:?}", ran.ended);
    session.jobs.shutdown().await;
}

#[tokio::test]
async fn case_16_calls_overlap() {
    let session = Session::new();
    // Each waits for what the other makes.
    let (a, b) = tokio::join!(
        session.run("touch a; while [ ! -e b ]; do sleep 0.01; done; echo a"),
        session.run("touch b; while [ ! -e a ]; do sleep 0.01; done; echo b"),
    );
    assert_eq!((a.output.text.as_str(), b.output.text.as_str()), ("a\n", "b\n"));
    assert_ne!(a.terminal, b.terminal);
}

#[tokio::test]
async fn case_17_cancel_ends_the_group() {
    let session = Session::new();
    let cancel = CancellationToken::new();
    let script = "trap '' TERM; sleep 3000 & sleep 3000 & jobs -p; echo $$; wait; wait; wait";
    let call = session.jobs.run(session.command(script), &cancel);
    let cancelling = async {
        session.printed_lines(3).await;
        cancel.cancel();
    };
    let (ran, ()) = within(async { tokio::join!(call, cancelling) }).await;
    let ran = ran.unwrap();
    assert_eq!(ran.ended, Ended::Cancelled);
    assert!(!ran.unconfirmed);
    for pid in pids(&ran.output.text) {
        assert!(!is_alive(pid));
    }
    assert!(session.jobs.list(exec::Listed::All).is_empty());
}

#[tokio::test]
async fn case_g1_cancel_ends_a_pipeline() {
    let session = Session::new();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let ran = within(session.jobs.run(session.command("sleep 3000 | cat"), &cancel)).await.unwrap();
    assert_eq!(ran.ended, Ended::Cancelled);
    assert_eq!(session.told.ended.lock().unwrap()[..], [("term-1".to_owned(), Status::Killed)]);
}

#[tokio::test]
async fn dropping_the_call_ends_the_group() {
    let session = Session::new();
    let cancel = CancellationToken::new();
    let call = session.jobs.run(session.command("echo $$; sleep 3000; true"), &cancel);
    let started = eventually("output", || !session.told.output.lock().unwrap().is_empty());
    tokio::select! {
        _ = call => panic!("ended by itself"),
        () = started => {}
    }
    let leader = pids(&String::from_utf8_lossy(&session.told.output.lock().unwrap()))[0];
    eventually("end of the group", || !is_alive(leader)).await;
}

#[tokio::test]
async fn the_person_sends_it_to_the_background() {
    let session = Session::new();
    let cancel = CancellationToken::new();
    let call = session.jobs.run(session.command("echo a; sleep 3000"), &cancel);
    let asking = async {
        eventually("output", || !session.told.output.lock().unwrap().is_empty()).await;
        session.jobs.background("no such call");
        session.jobs.background("call-1");
    };
    let (ran, ()) = within(async { tokio::join!(call, asking) }).await;
    let ended = ran.unwrap().ended;
    assert!(matches!(ended, Ended::Promoted { why: Promotion::Asked, .. }), "{ended:?}");
    session.jobs.shutdown().await;
}

#[tokio::test]
async fn what_cannot_start_says_why() {
    let session = Session::new();
    let cancel = CancellationToken::new();
    let mut command = session.command("true");
    command.cwd = session.path("missing");
    let error = session.jobs.run(command, &cancel).await.unwrap_err();
    assert!(matches!(error, SpawnError::DirectoryMissing(_)), "{error}");
    let mut command = session.command("true");
    command.shell.program = "no-such-shell".into();
    let error = session.jobs.run(command, &cancel).await.unwrap_err();
    assert!(matches!(error, SpawnError::ProgramNotFound(_)), "{error}");
    assert_eq!(session.run("echo still here").await.output.text, "still here\n");
}

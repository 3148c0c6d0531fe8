//! What the agent is told of jobs that the person stops, and what a cancel of each scope leaves.

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::editor::session::Session;
use crate::model::{Model, Request, Step};
use crate::workspace::{PATIENCE, Workspace, processes, until};

fn job(seconds: &str) -> Step {
    let command = format!("echo begun; sleep {seconds}");
    Step::call("Bash", json!({ "command": command, "run_in_background": true }))
}

/// Runs in the foreground until the file `go` is there.
fn wait() -> Step {
    Step::call("Bash", json!({ "command": "echo waits; until test -e go; do sleep 0.05; done" }))
}

fn desk(steps: impl IntoIterator<Item = Step>) -> (Workspace, Model, Editor) {
    let workspace = Workspace::new(&[]);
    let model = Model::new(steps);
    let editor = Editor::open(&workspace, &model.settings_with(&json!({ "mode": "auto" })));
    (workspace, model, editor)
}

/// Waits until the job runs.
#[track_caller]
fn runs(seconds: &str) {
    until("the job to run", PATIENCE, || !processes(&["sleep", seconds]).is_empty());
}

#[track_caller]
fn gone(seconds: &str) {
    until("the job to be gone", PATIENCE, || processes(&["sleep", seconds]).is_empty());
}

fn stop(editor: &Editor, session: &Session<'_>) -> Value {
    editor.request("copydesk/job/kill", json!({ "sessionId": session.id, "jobId": "job-1" }))
}

/// A request tells once of a job that the person stopped, with what it had printed.
#[track_caller]
fn check_told(request: &Request) {
    let body = request.body.to_string();
    assert_eq!(body.matches("<job-ended>").count(), 1, "{body}");
    let told = body.split("<job-ended>").nth(1).unwrap();
    let told = told.split("</job-ended>").next().unwrap();
    for word in ["job-1 stopped", "(stopped by the person)", "begun"] {
        assert!(told.contains(word), "{word}: {told}");
    }
}

#[test]
fn an_idle_agent_is_told_of_a_job_the_person_stopped() {
    let (_workspace, model, editor) =
        desk([job("3171.25"), Step::text("It runs."), Step::text("I see."), Step::text("Yes.")]);
    let session = editor.session();
    assert_eq!(session.prompt("go"), "end_turn");
    runs("3171.25");
    let mark = editor.mark();
    assert_eq!(stop(&editor, &session)["status"], "stopped");
    check_told(&model.wait_requests(3)[2]);
    session.until_idle(mark);
    assert_eq!(stop(&editor, &session)["status"], "stopped");
    assert_eq!(session.prompt("well?"), "end_turn");
    check_told(&model.requests()[3]);
}

#[test]
fn an_agent_at_work_is_told_with_its_next_request() {
    let (workspace, model, editor) = desk([job("3172.25"), wait(), Step::text("I see.")]);
    let session = editor.session();
    let mark = session.send("go");
    session.wait_update("the wait", mark, |it| it["terminalId"] == "term-2");
    runs("3172.25");
    stop(&editor, &session);
    session.wait_update("the notice", mark, |it| it.to_string().contains("job-1 stopped"));
    gone("3172.25");
    workspace.write("go", "");
    session.until_idle(mark);
    // Told as its own message where it came too late for the request after the command.
    let requests = model.wait_requests(3);
    check_told(requests.last().unwrap());
}

#[test]
fn a_cancelled_turn_leaves_its_jobs_unless_they_are_to_go_too() {
    for (scope, seconds) in [
        (json!({}), "3173.25"),
        (json!({ "scope": "turn" }), "3174.25"),
        (json!({ "scope": "turnAndJobs" }), "3175.25"),
        (json!({ "scope": "all" }), "3176.25"),
    ] {
        let (_workspace, model, editor) = desk([job(seconds), wait(), Step::text("I see.")]);
        let session = editor.session();
        let mark = session.send("go");
        session.wait_update("the wait", mark, |it| it["terminalId"] == "term-2");
        runs(seconds);
        let goes = scope["scope"] == "turnAndJobs" || scope["scope"] == "all";
        let params = json!({ "sessionId": session.id, "_meta": { "copydesk": scope } });
        editor.notify("session/cancel", params);
        assert_eq!(session.until_idle(mark), "cancelled");
        if goes {
            session.wait_update("the notice", mark, |it| it.to_string().contains("job-1 stopped"));
            gone(seconds);
        }
        // Neither the cancel nor the end of the job asked the model anything.
        assert_eq!(session.prompt("well?"), "end_turn");
        let requests = model.requests();
        assert_eq!(requests.len(), 3, "{scope}");
        assert_eq!(processes(&["sleep", seconds]).is_empty(), goes, "{scope}");
        if goes {
            check_told(&requests[2]);
        } else {
            assert!(!requests[2].body.to_string().contains("<job-ended>"), "{scope}");
        }
    }
}

/// Takes the session away while its job runs, resumes it and gives the next request.
fn told_after(seconds: &str, end: impl FnOnce(&mut Editor, &str)) -> String {
    let (workspace, model, mut editor) = desk([job(seconds), Step::text("It runs.")]);
    let id = {
        let session = editor.session();
        assert_eq!(session.prompt("go"), "end_turn");
        session.id.clone()
    };
    runs(seconds);
    end(&mut editor, &id);
    gone(seconds);
    drop(editor);
    let editor = Editor::open(&workspace, &model.settings_with(&json!({ "mode": "auto" })));
    let params = json!({ "sessionId": id, "cwd": editor.root(), "mcpServers": [], "replayFrom": { "type": "start" } });
    editor.request("session/resume", params);
    let session = editor.joined(&id);
    assert_eq!(session.prompt("well?"), "end_turn");
    assert_eq!(session.prompt("and?"), "end_turn");
    let requests = model.requests();
    assert_eq!(requests.len(), 4);
    let last = requests[3].body.to_string();
    assert_eq!(last.matches("<job-ended>").count(), 1, "{last}");
    requests[2].body.to_string()
}

#[test]
fn a_resumed_agent_is_told_of_jobs_that_ended_with_the_server_or_the_session() {
    let lost = told_after("3177.25", |editor, _| editor.kill());
    assert!(lost.contains("Background job term-1 lost (the server ended while it ran)"), "{lost}");
    let killed = told_after("3178.25", |editor, id| {
        editor.request("session/close", json!({ "sessionId": id }));
    });
    assert!(killed.contains("Background job job-1 killed (the session ended)"), "{killed}");
    let killed = told_after("3179.25", |editor, _| editor.hang_up());
    assert!(killed.contains("Background job job-1 killed (the session ended)"), "{killed}");
}

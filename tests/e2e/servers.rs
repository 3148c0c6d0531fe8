//! Servers and watchers beside the conversation: when they are ready, and what is said when they are not.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::editor::session::{Called, Session};
use crate::model::{Model, Step};
use crate::workspace::{Workspace, processes, until};

const GONE: Duration = Duration::from_secs(5);

fn desk() -> (Workspace, Editor) {
    let workspace = Workspace::new(&[("index.html", "<p>hello</p>\n")]);
    let editor = Editor::open(&workspace, &json!({ "mode": "auto" }));
    (workspace, editor)
}

/// A port nobody listens on.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

fn serve(port: u16) -> String {
    format!("python3 -u -m http.server --bind 127.0.0.1 {port}")
}

fn start(session: &Session<'_>, name: &str, command: &str, ready: &Value) -> Called {
    let input = json!({ "action": "start", "name": name, "command": command, "ready": ready });
    session.tool("Process", input)
}

fn ask(session: &Session<'_>, action: &str, name: &str) -> String {
    session.tool("Process", json!({ "action": action, "name": name })).ok()
}

#[track_caller]
fn has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word} is missing: {text}");
    }
}

#[test]
fn a_server_is_started_asked_listed_restarted_and_stopped() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    let port = free_port();
    let text = start(&session, "web", &serve(port), &json!({ "port": port })).ok();
    has(&text, &["`web` (job-1) is ready", &format!("listens on port {port}")]);
    let fetched = session.tool("Bash", json!({ "command": format!("python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{port}/').read())\"") }));
    has(&fetched.ok(), &["hello"]);
    has(&ask(&session, "status", "web"), &["job-1", "running", "ready"]);
    has(&ask(&session, "logs", "web"), &["GET / HTTP"]);
    has(&session.tool("JobList", json!({})).ok(), &["job-1 running", "process `web`"]);
    let twice = start(&session, "web", "sleep 1", &json!({})).err();
    has(&twice, &["runs already", "job-1"]);
    let text = session.tool("Process", json!({ "action": "restart", "name": "web" })).ok();
    has(&text, &["`web` (job-2) is ready"]);
    has(&ask(&session, "stop", "web"), &["stopped"]);
    has(&ask(&session, "stop", "web"), &["had ended already"]);
    until("the server to be gone", GONE, || {
        processes(&["http.server", &port.to_string()]).is_empty()
    });
}

#[test]
fn a_url_and_a_line_of_the_log_tell_that_it_is_ready() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    let port = free_port();
    let ready = json!({ "url": format!("http://localhost:{port}/index.html"), "log_pattern": "^Serving HTTP on .* port \\d+" });
    let text = start(&session, "web", &serve(port), &ready).ok();
    has(&text, &["is ready", "the URL answers", "it printed `Serving HTTP on"]);
    let text = start(
        &session,
        "watch",
        "echo compiling; echo 'compiled in 3 ms'; sleep 3111.25",
        &json!({ "log_pattern": "compiled in" }),
    )
    .ok();
    has(&text, &["`watch` (job-2) is ready", "compiling"]);
    let text = session.tool("Process", json!({ "action": "status" })).ok();
    has(&text, &["`watch`", "`web`"]);
    has(&session.tool("JobKill", json!({ "job_id": "job-2" })).ok(), &["stopped"]);
    has(&ask(&session, "status", "watch"), &["stopped"]);
}

#[test]
fn a_server_that_dies_before_it_is_ready_says_how() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    let command = "echo 'cannot find module x' >&2; exit 7";
    let text = start(&session, "web", command, &json!({ "port": free_port() })).err();
    has(&text, &["failed", "before it was ready", "exit code 7", "cannot find module x"]);
    has(&ask(&session, "status", "web"), &["failed, exit code 7"]);
}

#[test]
fn a_port_that_is_taken_is_said_before_the_start() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let text =
        start(&session, "web", "touch started; sleep 3112.25", &json!({ "port": port })).err();
    has(
        &text,
        &[&format!("Port {port} is in use by pid {}", std::process::id()), "nothing was started"],
    );
    assert!(processes(&["sleep", "3112.25"]).is_empty());
    let own = free_port();
    start(&session, "first", &serve(own), &json!({ "port": own })).ok();
    let text = start(&session, "second", &serve(own), &json!({ "port": own })).err();
    has(&text, &["is in use by the job job-1"]);
}

#[test]
fn a_server_that_does_not_become_ready_is_no_success_and_runs_on() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    let input = json!({ "action": "start", "command": "echo begun; sleep 3113.25", "timeout": 300, "ready": { "log_pattern": "never" } });
    let text = session.tool("Process", input).err();
    has(&text, &["timed out", "no line matched", "begun", "runs on"]);
    has(&ask(&session, "stop", "echo"), &["stopped"]);
}

#[test]
fn conditions_that_make_no_sense_are_refused_with_what_to_change() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    for (ready, word) in [
        (json!({ "url": "https://localhost:1" }), "http://"),
        (json!({ "url": "http://example.com/" }), "not on this machine"),
        (json!({ "log_pattern": "(" }), "no regular expression"),
        (json!({ "port": 0 }), "args.ready.port"),
    ] {
        has(&start(&session, "web", "sleep 1", &ready).err(), &[word]);
    }
    has(&session.tool("Process", json!({ "action": "start" })).err(), &["args.command is needed"]);
    has(&session.tool("Process", json!({ "action": "stop" })).err(), &["No process was started"]);
    has(
        &session.tool("Process", json!({ "action": "restart", "name": "web" })).err(),
        &["no process `web`"],
    );
}

#[test]
fn a_start_that_is_cancelled_leaves_nothing() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    let input = json!({ "action": "start", "command": "trap '' TERM; sleep 3114.25 | cat", "ready": { "port": free_port() }, "timeout": 600_000 });
    let call = session.begin_tool("Process", input);
    until("the process to run", GONE, || !processes(&["sleep", "3114.25"]).is_empty());
    session.cancel_card("execute");
    session.finish_tool(call).err();
    session.wait_card("execute", "cancelled");
    until("the process to be gone", GONE, || processes(&["sleep", "3114.25"]).is_empty());
}

#[test]
fn a_closed_session_takes_its_servers_with_it() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    start(&session, "watch", "sleep 3115.25", &json!({})).ok();
    assert!(!processes(&["sleep", "3115.25"]).is_empty());
    editor.request("session/close", json!({ "sessionId": session.id }));
    until("the server to be gone", GONE, || processes(&["sleep", "3115.25"]).is_empty());
}

#[test]
fn the_agent_hears_of_a_server_that_ends_later_and_not_of_one_it_saw_end() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([
        Step::call(
            "Process",
            json!({ "action": "start", "name": "seen", "command": "exit 3", "ready": { "log_pattern": "x" } }),
        ),
        Step::call(
            "Process",
            json!({ "action": "start", "name": "later", "command": "echo up; while [ ! -e go ]; do sleep 0.05; done; exit 4", "ready": { "log_pattern": "up" } }),
        ),
        Step::call("Bash", json!({ "command": "touch go; sleep 0.5" })),
        Step::text("done"),
        Step::text("I see."),
    ]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    session.prompt("go");
    until("the agent to be told", GONE * 4, || {
        model.everything().contains("Background job job-2 failed")
    });
    let told = model.everything();
    assert!(!told.contains("Background job job-1"), "{told}");
}

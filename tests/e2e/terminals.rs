//! Interactive programs: what the agent types and sees, and what only the person may type.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::editor::session::Session;
use crate::editor::{Answer, Editor, Start};
use crate::workspace::{Workspace, processes, until};

const GONE: Duration = Duration::from_secs(5);

fn desk() -> (Workspace, Editor) {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let editor = Editor::open(&workspace, &json!({ "mode": "auto" }));
    (workspace, editor)
}

fn start(session: &Session<'_>, command: &str, wait_for: &str) -> String {
    let input =
        json!({ "action": "start", "command": command, "wait_for": wait_for, "timeout": 20_000 });
    session.tool("Terminal", input).ok()
}

fn send(session: &Session<'_>, input: &str, wait_for: &str) -> String {
    let input =
        json!({ "action": "send", "input": input, "wait_for": wait_for, "timeout": 20_000 });
    session.tool("Terminal", input).ok()
}

#[track_caller]
fn has(text: &str, words: &[&str]) {
    for word in words {
        assert!(text.contains(word), "{word} is missing: {text}");
    }
}

#[test]
fn a_program_is_driven_by_what_is_typed_and_seen() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    has(&start(&session, "python3 -q", ">>> "), &["[term-1 · running · 80×24", ">>>"]);
    has(&send(&session, "6 * 7<enter>", "42"), &["6 * 7", "42"]);
    has(&session.tool("JobList", json!({})).ok(), &["term-1 running", "terminal `python3 -q`"]);
    let resized = session.tool("Terminal", json!({ "action": "resize", "cols": 100, "rows": 30 }));
    has(&resized.ok(), &["100×30"]);
    let typed = session
        .tool("Terminal", json!({ "action": "send", "input": "exit()\n", "wait_for": "never" }));
    has(&typed.ok(), &["ended, exit code 0", "ended before `never` came"]);
    let late = session.tool("Terminal", json!({ "action": "send", "input": "x" }));
    has(&late.err(), &["term-1 has ended"]);
}

#[test]
fn a_full_screen_program_edits_a_file_and_the_change_is_found() {
    let (workspace, editor) = desk();
    let session = editor.session();
    has(&start(&session, "vim -u NONE -i NONE -n a.txt", "one"), &["full screen", "one"]);
    send(&session, "cwuno<esc>:wq<enter>", "written");
    until("the file", GONE, || workspace.read("a.txt") == "uno\n");
    let pending = editor.request("copydesk/review/list", json!({}));
    assert_eq!(pending["files"][0]["uri"], workspace.uri("a.txt"), "{pending}");
}

#[test]
fn each_input_asks_and_a_terminal_can_be_allowed() {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &json!({ "mode": "ask" }));
    let session = editor.session();
    start(&session, "cat", "");
    send(&session, "hello\n", "hello");
    let asked = editor.asked("session/request_permission");
    let titles: Vec<&str> = asked.iter().filter_map(|it| it["title"].as_str()).collect();
    assert_eq!(titles, ["Run `cat`", "Type `hello` into term-1"]);
    let rules: Vec<&Value> = asked[1]["options"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["_meta"]["copydesk"]["rule"])
        .collect();
    assert!(rules.contains(&&json!("Terminal(term-1)")), "{rules:?}");
    editor.permit(Answer::Option("allow_always"));
    send(&session, "again\n", "again");
    send(&session, "and again\n", "and again");
    assert_eq!(editor.asked("session/request_permission").len(), 3);
    session.set("mode", "plan");
    let input = json!({ "action": "send", "input": "ls\n" });
    has(&session.tool("Terminal", input).err(), &["plan mode"]);
}

#[test]
fn denied_commands_are_not_typed() {
    let workspace = Workspace::new(&[]);
    let settings = json!({ "mode": "auto", "permissions": { "deny": ["Bash(rm:*)"] } });
    let editor = Editor::open(&workspace, &settings);
    let session = editor.session();
    start(&session, "cat", "");
    let input = json!({ "action": "send", "input": "true; rm -r x\n" });
    has(&session.tool("Terminal", input).err(), &["Bash(rm:*)"]);
    let input = json!({ "action": "send", "input": "echo x > /etc/made-by-a-test\n" });
    editor.permit(Answer::Option("reject_once"));
    has(&session.tool("Terminal", input).err(), &["rejected"]);
}

#[test]
fn a_password_is_handed_to_the_person() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    let mark = editor.mark();
    let command = "python3 -c \"import getpass; print('got', len(getpass.getpass('Password: ')))\"";
    let text = start(&session, command, "got");
    has(&text, &["asks for a password", "the person's to type"]);
    let notice =
        session.wait_update("the person to be told", mark, |it| it["sessionUpdate"] == "notice");
    has(&notice.to_string(), &["term-1", "Password:"]);
    let card = session.wait_update("the card to say so", mark, |it| {
        it["_meta"]["copydesk"]["secretInput"]["jobId"] == "term-1"
    });
    let guess = session.tool("Terminal", json!({ "action": "send", "input": "guess<enter>" }));
    has(&guess.err(), &["Nothing was typed"]);
    let listed = editor.request("copydesk/job/list", json!({ "sessionId": session.id }));
    assert_eq!(listed["jobs"][0]["secretPrompt"], "Password:", "{listed}");
    let read = session
        .begin_tool("Terminal", json!({ "action": "read", "wait_for": "got", "timeout": 20_000 }));
    let typed = json!({ "sessionId": session.id, "jobId": "term-1", "text": "hunter2\r" });
    editor.request("copydesk/job/write", typed);
    let seen = session.finish_tool(read).ok();
    has(&seen, &["got 7"]);
    session.wait_update("the card to say that it waits no more", mark, |it| {
        it["toolCallId"] == card["toolCallId"] && it["_meta"]["copydesk"] == json!({})
    });
    let log = std::fs::read_to_string(
        editor.request("copydesk/status", json!({}))["logPath"].as_str().unwrap_or_default(),
    );
    assert!(!seen.contains("hunter2") && !log.unwrap_or_default().contains("hunter2"));
    for (path, text) in _workspace.own_files() {
        assert!(!text.contains("hunter2"), "{}", path.display());
    }
}

#[test]
fn a_password_is_wanted_no_more_once_its_program_or_the_server_is_gone() {
    let (workspace, mut editor) = desk();
    let asks = "python3 -c 'import getpass; getpass.getpass()'; sleep 3135.25";
    let (id, cards) = {
        let session = editor.session();
        let mark = editor.mark();
        let input = |command: &str| json!({ "action": "start", "command": command, "wait_for": "never", "timeout": 20_000 });
        let cards = ["term-1", "term-2"].map(|job| {
            session.tool("Terminal", input(asks)).ok();
            let card = session.wait_update("the card to say so", mark, |it| {
                it["_meta"]["copydesk"]["secretInput"]["jobId"] == job
            });
            card["toolCallId"].clone()
        });
        editor.request("copydesk/job/kill", json!({ "sessionId": session.id, "jobId": "term-1" }));
        session.wait_update("the first card to say that nothing is wanted", mark, |it| {
            it["toolCallId"] == cards[0] && it["_meta"]["copydesk"] == json!({})
        });
        (session.id.clone(), cards)
    };
    editor.kill();
    let editor = Editor::open(&workspace, &json!({ "mode": "auto" }));
    let mark = editor.mark();
    let params = json!({ "sessionId": id, "cwd": editor.root(), "mcpServers": [], "replayFrom": { "type": "start" } });
    editor.request("session/resume", params);
    let session = editor.joined(&id);
    session.wait_update("the second card to say so too", mark, |it| {
        it["toolCallId"] == cards[1] && it["_meta"]["copydesk"] == json!({})
    });
    session.wait_update("the second program to be over", mark, |it| {
        it["terminalId"] == "term-2" && it["exitStatus"].is_object()
    });
}

#[test]
fn a_terminal_says_what_runs_where_and_at_what_size() {
    let (workspace, editor) = desk();
    let session = editor.session();
    let mark = editor.mark();
    start(&session, "cat", "");
    let started = session.wait_update("the terminal", mark, |it| it["terminalId"] == "term-1");
    let root = workspace.root().to_string_lossy().into_owned();
    let told = json!({
        "sessionUpdate": "terminal_update", "terminalId": "term-1", "command": "cat", "cwd": root,
        "size": { "cols": 80, "rows": 24 }, "capabilities": { "cancel": {} },
    });
    assert_eq!(started, told);
    let size = json!({ "sessionId": session.id, "jobId": "term-1", "cols": 90, "rows": 20 });
    editor.request("copydesk/job/resize", size);
    session.wait_update("the new size", mark, |it| it["size"] == json!({ "cols": 90, "rows": 20 }));
    let heredoc = format!("cat >/dev/null <<E\n{}E\n", "line\n".repeat(20_000));
    session.tool("Bash", json!({ "command": heredoc })).ok();
    let long = session.wait_update("the command", mark, |it| it["terminalId"] == "term-2");
    has(long["command"].as_str().unwrap(), &["cat >/dev/null", "more characters"]);
}

#[test]
fn the_person_sees_types_resizes_and_stops() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    start(
        &session,
        "stty -echo; echo begun; read x; stty size; echo \"got $x\"; sleep 3131.25",
        "begun",
    );
    let of = |more: Value| {
        let mut params = json!({ "sessionId": session.id, "jobId": "term-1" });
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let listed = editor.request("copydesk/job/list", json!({}));
    let job = &listed["jobs"][0];
    assert_eq!(
        (&job["jobId"], &job["status"], &job["takesInput"]),
        (&json!("term-1"), &json!("running"), &json!(true))
    );
    assert_eq!((&job["cols"], &job["rows"]), (&json!(80), &json!(24)));
    editor.request("copydesk/job/resize", of(json!({ "cols": 90, "rows": 20 })));
    let listed = editor.request("copydesk/job/list", json!({}));
    assert_eq!((&listed["jobs"][0]["cols"], &listed["jobs"][0]["rows"]), (&json!(90), &json!(20)));
    assert!(
        editor.try_request("copydesk/job/resize", of(json!({ "cols": 1, "rows": 20 }))).is_err()
    );
    editor.request("copydesk/job/write", of(json!({ "text": "hello\r" })));
    let page = |offset: u64, limit: u64| {
        editor.request("copydesk/job/read", of(json!({ "offset": offset, "limit": limit })))
    };
    let text = |page: &Value| {
        String::from_utf8(STANDARD.decode(page["data"].as_str().unwrap()).unwrap()).unwrap()
    };
    until("the output", GONE, || text(&page(0, 32_768)).contains("got hello"));
    let first = page(0, 5);
    assert_eq!(
        (text(&first).as_str(), &first["next"], &first["running"]),
        ("begun", &json!(5), &json!(true))
    );
    has(&text(&page(5, 32_768)), &["20 90", "got hello"]);
    let killed = editor.request("copydesk/job/kill", of(json!({})));
    assert!(["stopped", "stopping"].contains(&killed["status"].as_str().unwrap()), "{killed}");
    until("the program to be gone", GONE, || processes(&["sleep", "3131.25"]).is_empty());
    let missing = json!({ "sessionId": session.id, "jobId": "term-9", "text": "x" });
    assert!(editor.try_request("copydesk/job/write", missing).is_err());
}

#[test]
fn long_output_of_a_command_is_paged_and_its_terminal_can_be_cancelled() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    session.tool("Bash", json!({ "command": "seq 1 100000" })).ok();
    let params =
        |offset: u64| json!({ "sessionId": session.id, "jobId": "term-1", "offset": offset });
    let mut all = Vec::new();
    loop {
        let page = editor.request("copydesk/job/read", params(all.len() as u64));
        all.extend(STANDARD.decode(page["data"].as_str().unwrap()).unwrap());
        if page["next"] == page["total"] {
            break;
        }
    }
    let lines = String::from_utf8(all).unwrap();
    assert_eq!((lines.lines().count(), lines.lines().last()), (100_000, Some("100000")));
    let call = session.begin_tool("Bash", json!({ "command": "sleep 3132.25" }));
    until("the command to run", GONE, || !processes(&["sleep", "3132.25"]).is_empty());
    editor.request("terminal/cancel", json!({ "sessionId": session.id, "terminalId": "term-2" }));
    session.finish_tool(call).err();
    until("the command to be gone", GONE, || processes(&["sleep", "3132.25"]).is_empty());
}

#[test]
fn a_shell_has_a_terminal_its_pagers_and_no_secrets() {
    let workspace = Workspace::new(&[]);
    let editor = Start::new(&workspace)
        .settings(&json!({ "mode": "auto" }))
        .env("SOME_API_KEY", "hidden-word-1")
        .env("SHELL", "/bin/sh")
        .start();
    let session = editor.session();
    session.tool("Terminal", json!({ "action": "start" })).ok();
    let text = send(&session, "test -t 0 && echo \"on $TERM [$PAGER] [$SOME_API_KEY].\"\n", "].\n");
    has(&text, &["on xterm-256color [] []."]);
}

#[test]
fn a_refused_command_points_to_the_terminal() {
    let (_workspace, editor) = desk();
    let refused = editor.tool("Bash", json!({ "command": "vim a.txt" })).err();
    has(&refused, &["Not run", "Terminal"]);
}

#[test]
fn terminals_end_with_the_call_that_is_cancelled_and_with_the_session() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    let input = json!({ "action": "start", "command": "sleep 3133.25", "wait_for": "never", "timeout": 600_000 });
    let call = session.begin_tool("Terminal", input);
    until("the program to run", GONE, || !processes(&["sleep", "3133.25"]).is_empty());
    session.cancel_card("execute");
    session.finish_tool(call).err();
    until("the program to be gone", GONE, || processes(&["sleep", "3133.25"]).is_empty());
    start(&session, "sleep 3134.25 & (setsid sleep 3134.25 &) ; echo up; sleep 3134.25", "up");
    editor.request("session/close", json!({ "sessionId": session.id }));
    until("all of it to be gone", GONE, || processes(&["sleep", "3134.25"]).len() <= 1);
}

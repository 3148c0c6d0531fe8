//! Confined commands: what they can do, what is told where they cannot, and how one gets out.

use std::net::TcpListener;

use serde_json::{Value, json};

use crate::editor::{ALLOW, Answer, Editor, REJECT};
use crate::model::{Model, Step};
use crate::workspace::Workspace;

const ASKED: &str = "session/request_permission";

fn bash(command: &str) -> Value {
    json!({ "command": command, "description": "Run it" })
}

fn settings(sandbox: &str) -> Value {
    json!({ "mode": "auto", "shell": { "sandbox": sandbox } })
}

fn desk(settings: &Value) -> (Workspace, Editor) {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let editor = Editor::open(&workspace, settings);
    (workspace, editor)
}

#[test]
fn a_command_writes_in_the_workspace_and_reaches_no_network() {
    let (workspace, editor) = desk(&settings("workspace-write"));
    editor.permit(REJECT);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let connect = format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'");
    editor.tool("Bash", bash("mkdir sub && echo two > sub/b.txt && cat sub/b.txt")).ok();
    assert_eq!(workspace.read("sub/b.txt"), "two\n");
    assert_eq!(editor.asked(ASKED).len(), 0);
    let text = editor.tool("Bash", bash(&connect)).err();
    assert!(text.contains("[sandbox: the network is closed]"), "{text}");
    assert!(listener.accept().is_err());
    assert_eq!(editor.asked(ASKED).len(), 1);
}

#[test]
fn the_network_can_be_granted() {
    let mut settings = settings("workspace-write");
    settings["shell"]["sandbox_network"] = true.into();
    let (_workspace, editor) = desk(&settings);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    editor.tool("Bash", bash(&format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}'"))).ok();
}

#[test]
fn a_place_can_be_granted() {
    let mut settings = settings("read-only");
    let (workspace, editor) = desk(&settings);
    editor.permit(REJECT);
    editor.tool("Bash", bash("echo x > a.txt")).err();
    drop(editor);
    assert_eq!(workspace.read("a.txt"), "one\n");
    settings["shell"]["sandbox"] = "workspace-write".into();
    settings["shell"]["sandbox_writable"] = json!([workspace.beside("data")]);
    let editor = Editor::open(&workspace, &settings);
    editor.tool("Bash", bash("echo x > ../data/new && cat ../data/new")).ok();
}

#[test]
fn the_person_is_asked_with_what_was_denied_and_lets_it_out() {
    let (workspace, editor) = desk(&settings("read-only"));
    editor.permit(ALLOW);
    let session = editor.session();
    let text = session.tool("Bash", bash("echo began; echo two > a.txt && cat a.txt")).ok();
    let asked = editor.asked(ASKED).remove(0);
    let place = format!("writing {} was denied", workspace.path("a.txt").display());
    assert!(asked["title"].as_str().unwrap().contains("outside the sandbox"), "{asked}");
    assert!(asked["description"].as_str().unwrap().contains(&place), "{asked}");
    assert!(asked["subject"].to_string().contains("echo two > a.txt"), "{asked}");
    assert_eq!(asked["options"][0]["name"], "Allow once: run outside the sandbox");
    assert!(text.contains(&place) && text.contains("let it run outside"), "{text}");
    assert_eq!(text.matches("began").count(), 2, "both runs are told: {text}");
    assert_eq!(workspace.read("a.txt"), "two\n");
    let cards = session.cards();
    assert_eq!(cards.len(), 1, "{cards:?}");
    assert_eq!(cards[0]["status"], "completed");
    let terminals = cards[0]["content"].to_string().matches("term-").count();
    assert_eq!(terminals, 2, "{cards:?}");
    let hunks = editor.request("copydesk/review/list", json!({}));
    assert!(hunks["files"].to_string().contains("a.txt"), "what it changed is pending: {hunks}");
}

#[test]
fn a_person_who_does_not_want_it_is_heard() {
    let (workspace, editor) = desk(&settings("read-only"));
    editor.permit(Answer::With("reject_once", json!({ "feedback": "write elsewhere" })));
    let text = editor.tool("Bash", bash("echo two > a.txt")).err();
    assert!(text.contains("was denied") && text.contains("write elsewhere"), "{text}");
    assert_eq!(workspace.read("a.txt"), "one\n");
    editor.permit(Answer::Dismiss);
    editor.tool("Bash", bash("echo two > a.txt")).err();
    assert_eq!(workspace.read("a.txt"), "one\n");
}

#[test]
fn always_is_remembered_for_such_commands_and_can_be_taken_back() {
    let (workspace, editor) = desk(&settings("read-only"));
    editor.permit(Answer::Option("allow_always"));
    let session = editor.session();
    session.tool("Bash", bash("touch made")).ok();
    session.tool("Bash", bash("touch made")).ok();
    assert!(workspace.has("made"));
    assert_eq!(editor.asked(ASKED).len(), 1);
    editor.permit(ALLOW);
    session.tool("Bash", bash("touch made; mkdir other")).ok();
    assert_eq!(editor.asked(ASKED).len(), 2, "all of a command must be covered");
    let rules = editor.request("copydesk/permission/list", json!({}))["rules"].clone();
    let rule =
        rules.as_array().unwrap().iter().find(|it| it["rule"] == "Unsandboxed(touch made:*)");
    let rule = rule.unwrap_or_else(|| panic!("the rule is listed: {rules}"));
    editor.request("copydesk/permission/remove", json!({ "id": rule["id"] }));
    editor.permit(REJECT);
    session.tool("Bash", bash("touch again")).err();
    assert_eq!(editor.asked(ASKED).len(), 3);
}

#[test]
fn rules_of_the_persons_own_decide_without_asking() {
    let mut settings = settings("read-only");
    settings["permissions"] =
        json!({ "allow": ["Unsandboxed(touch:*)"], "deny": ["Unsandboxed(mkdir:*)"] });
    let (workspace, editor) = desk(&settings);
    editor.tool("Bash", bash("touch made")).ok();
    assert!(workspace.has("made"));
    let text = editor.tool("Bash", bash("mkdir other")).err();
    assert!(text.contains("denied by the rule `Unsandboxed(mkdir:*)`"), "{text}");
    assert_eq!(editor.asked(ASKED).len(), 0);
}

#[test]
fn other_failures_are_not_blamed_on_the_sandbox() {
    let (_workspace, editor) = desk(&settings("workspace-write"));
    for command in ["cat missing", "exit 3", "./a.txt", "sh -c 'exit 1' > made"] {
        let text = editor.tool("Bash", bash(command)).err();
        assert!(!text.contains("sandbox"), "{command}: {text}");
    }
    assert_eq!(editor.asked(ASKED).len(), 0);
}

#[test]
fn a_job_says_what_it_was_denied() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let mut start = bash("sleep 0.2; echo two > a.txt");
    start["run_in_background"] = true.into();
    let model = Model::new([Step::call("Bash", start), Step::text("started"), Step::text("heard")]);
    let more = json!({ "mode": "auto", "shell": { "sandbox": "read-only" } });
    let editor = Editor::open(&workspace, &model.settings_with(&more));
    editor.session().prompt("go");
    model.wait_requests(3);
    let told = model.everything();
    assert!(told.contains("Commands run in a sandbox: they can write nowhere"), "{told}");
    let place = format!("[sandbox: writing {} was denied]", workspace.path("a.txt").display());
    assert!(told.contains(&place), "{told}");
}

#[test]
fn servers_and_programs_on_terminals_are_confined_too() {
    let write = "echo changed > a.txt || echo kept out; sleep 3161.25";
    let start = |more: Value| {
        let mut input = json!({ "action": "start", "command": write, "timeout": 20_000 });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    let (workspace, editor) = desk(&settings("read-only"));
    let session = editor.session();
    let server = start(json!({ "ready": { "log_pattern": "kept out" } }));
    let terminal = start(json!({ "wait_for": "kept out" }));
    for (tool, input) in [("Process", server), ("Terminal", terminal)] {
        let told = session.tool(tool, input).ok();
        assert!(told.contains("kept out") && !told.contains("did not come"), "{tool}: {told}");
        assert_eq!(workspace.read("a.txt"), "one\n", "{tool}");
    }
}

#[test]
fn a_terminal_reaches_no_network_from_the_sandbox() {
    let (_workspace, editor) = desk(&settings("workspace-write"));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let port = listener.local_addr().unwrap().port();
    let session = editor.session();
    session.tool("Terminal", json!({ "action": "start", "command": "bash --norc -i" })).ok();
    let connect = format!("(exec 3<>/dev/tcp/127.0.0.1/{port}) || echo clo''sed\n");
    let input =
        json!({ "action": "send", "input": connect, "wait_for": "closed", "timeout": 20_000 });
    let told = session.tool("Terminal", input).ok();
    assert!(!told.contains("did not come in time"), "{told}");
    assert!(listener.accept().is_err());
}

#[test]
fn a_cancelled_question_ends_the_call() {
    let (workspace, editor) = desk(&settings("read-only"));
    editor.permit(Answer::Hold);
    let session = editor.session();
    let call = session.begin_tool("Bash", bash("echo two > a.txt"));
    editor.heard(ASKED, 0);
    session.cancel_card("execute");
    session.finish_tool(call).err();
    session.wait_card("execute", "cancelled");
    assert_eq!(workspace.read("a.txt"), "one\n");
}

#[test]
fn files_with_secrets_are_hidden_but_for_those_a_rule_opens() {
    let workspace =
        Workspace::new(&[(".env", "KEY=hidden-word\n"), ("deep/server.key", "hidden-word\n")]);
    let mut settings = settings("workspace-write");
    let editor = Editor::open(&workspace, &settings);
    // The name is put together, so that nothing in the command gives it away.
    let input = bash("n=nv; m=.e; cat $m$n");
    editor.permit(REJECT);
    let text = editor.tool("Bash", input.clone()).err();
    assert!(!text.contains("hidden-word"), "{text}");
    assert!(text.contains("may hold secrets"), "{text}");
    drop(editor);
    let rule = format!("Read(/{})", workspace.path(".env").display());
    settings["permissions"] = json!({ "allow": [rule] });
    let editor = Editor::open(&workspace, &settings);
    let text = editor.tool("Bash", input).ok();
    assert!(text.contains("hidden-word"), "{text}");
}

//! Programs of the person's own that run at moments of a session: told, obeyed, bounded, ended.

use std::time::Duration;

use serde_json::{Value, json};

use crate::editor::session::Session;
use crate::editor::{ALLOW, Editor, REJECT, Start};
use crate::model::{Model, Step};
use crate::workspace::{Workspace, processes, until};

const ASKED: &str = "session/request_permission";
/// What must happen within a second is asserted at five times that.
const SOON: Duration = Duration::from_secs(5);
/// Keeps what a hook is told, one line an event.
const KEEP: &str = "cat >>\"$HOME/told\"; echo >>\"$HOME/told\"";

fn workspace() -> Workspace {
    Workspace::new(&[("a.txt", "one\n"), (".env", "TOKEN=hidden-word\n")])
}

/// Settings with one hook for every call.
fn before(command: &str) -> Value {
    json!({ "hooks": { "PreToolUse": [{ "command": command }] } })
}

/// A hook that decides so.
fn decides(decision: &str) -> Value {
    let printed = json!({ "hookSpecificOutput": {
        "permissionDecision": decision, "permissionDecisionReason": "by the book" } });
    before(&format!("echo '{printed}'"))
}

fn with(mut settings: Value, more: &Value) -> Value {
    for (key, value) in more.as_object().expect("settings") {
        settings[key] = value.clone();
    }
    settings
}

fn bash(command: &str) -> Value {
    json!({ "command": command, "description": "Run it" })
}

fn write(path: &str) -> Value {
    json!({ "file_path": path, "content": "written\n" })
}

/// What hooks were told so far.
fn told(workspace: &Workspace) -> Vec<Value> {
    let text = std::fs::read_to_string(workspace.beside("home").join("told")).unwrap_or_default();
    text.lines().filter_map(|it| serde_json::from_str(it).ok()).collect()
}

fn told_of(workspace: &Workspace, event: &str) -> Vec<Value> {
    told(workspace).into_iter().filter(|it| it["hook_event_name"] == event).collect()
}

/// The notices of a session.
fn notices(session: &Session<'_>) -> String {
    let updates = session.updates(0).into_iter().filter(|it| it["sessionUpdate"] == "notice");
    updates.map(|it| it.to_string()).collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn has(text: &str, words: &str) {
    assert!(text.contains(words), "no `{words}` in {text}");
}

#[test]
fn every_moment_of_a_session_is_told() {
    let workspace = workspace();
    let events = [
        "SessionStart",
        "UserPromptSubmit",
        "PreToolUse",
        "PermissionRequest",
        "Notification",
        "PostToolUse",
        "PostToolUseFailure",
        "ToolBatchComplete",
        "Stop",
        "Idle",
        "SessionEnd",
    ];
    let hooks: serde_json::Map<String, Value> =
        events.iter().map(|it| ((*it).to_string(), json!([{ "command": KEEP }]))).collect();
    let model = Model::new([
        Step::call("Write", write("new.txt")).and_call("Read", json!({ "file_path": "gone.txt" })),
        Step::text("I am done."),
    ]);
    let editor = Editor::open(&workspace, &model.settings_with(&json!({ "hooks": hooks })));
    editor.permit(ALLOW);
    let session = editor.session();
    assert_eq!(session.prompt("write it"), "end_turn");
    until("what only watches", SOON, || {
        !told_of(&workspace, "Idle").is_empty() && !told_of(&workspace, "Notification").is_empty()
    });
    editor.request("session/close", json!({ "sessionId": session.id }));
    until("the session's end", SOON, || !told_of(&workspace, "SessionEnd").is_empty());
    for event in events {
        let count = if event == "PreToolUse" { 2 } else { 1 };
        let found = told_of(&workspace, event);
        assert_eq!(found.len(), count, "{event}: {found:?}");
        for input in found {
            assert_eq!(input["session_id"], session.id.as_str(), "{input}");
            assert_eq!(input["cwd"], json!(workspace.root()), "{input}");
            assert_eq!(input["permission_mode"], "default", "{input}");
            assert!(
                input["transcript_path"].as_str().is_some_and(|it| it.ends_with("log.jsonl")),
                "{input}"
            );
        }
    }
    let one = |event: &str| told_of(&workspace, event).remove(0);
    assert_eq!(one("SessionStart")["source"], "startup");
    assert_eq!(one("UserPromptSubmit")["prompt"], "write it");
    let call = one("PreToolUse");
    assert_eq!((&call["tool_name"], &call["tool_input"]), (&json!("Write"), &write("new.txt")));
    assert_eq!(one("PostToolUse")["tool_response"]["success"], true);
    assert_eq!(one("PostToolUse")["tool_use_id"], call["tool_use_id"]);
    has(one("PostToolUseFailure")["error"].as_str().unwrap_or_default(), "gone.txt");
    let batch = one("ToolBatchComplete");
    assert_eq!(batch["changed_files"], json!([workspace.path("new.txt")]));
    assert_eq!(batch["tool_calls"][1]["is_error"], true, "{batch}");
    assert_eq!(one("Stop")["last_assistant_message"], "I am done.");
    assert_eq!(one("Stop")["stop_hook_active"], false);
}

#[test]
fn a_failed_turn_is_told() {
    let workspace = workspace();
    let model = Model::new([Step::status(401)]);
    let hooks = json!({ "hooks": { "AgentError": [{ "command": KEEP }] } });
    let editor = Editor::open(&workspace, &model.settings_with(&hooks));
    editor.session().prompt("go");
    until("the failure", SOON, || !told_of(&workspace, "AgentError").is_empty());
}

#[test]
fn exit_code_2_denies_a_call_with_its_reason() {
    let workspace = workspace();
    let settings = with(before("echo not today >&2; exit 2"), &json!({ "mode": "auto" }));
    let editor = Editor::open(&workspace, &settings);
    let text = editor.session().tool("Write", write("new.txt")).err();
    has(&text, "denied by a hook: not today");
    assert!(!workspace.has("new.txt"));
    assert!(editor.asked(ASKED).is_empty());
}

#[test]
fn a_hook_has_the_person_asked_in_every_mode() {
    let workspace = workspace();
    let editor = Editor::open(&workspace, &with(decides("ask"), &json!({ "mode": "auto" })));
    editor.permit(REJECT);
    editor.session().tool("Write", write("new.txt")).err();
    let asked = editor.asked(ASKED);
    assert_eq!(asked.len(), 1);
    has(&asked[0].to_string(), "by the book");
    assert!(!workspace.has("new.txt"));
}

/// What becomes of a call where the person allows nothing.
#[derive(Debug, PartialEq)]
enum Outcome {
    Ran,
    Asked,
    Refused,
}

#[track_caller]
fn outcome(editor: &Editor, tool: &str, input: Value) -> Outcome {
    editor.permit(REJECT);
    let called = editor.session().tool(tool, input);
    match (editor.asked(ASKED).is_empty(), called.is_error) {
        (false, true) => Outcome::Asked,
        (true, true) => Outcome::Refused,
        (true, false) => Outcome::Ran,
        (false, false) => panic!("it ran though the person rejected it: {}", called.text),
    }
}

/// What a hook that allows everything leads to.
#[track_caller]
fn allowed(more: &Value, tool: &str, input: Value, expected: Outcome) {
    let workspace = workspace();
    let editor = Editor::open(&workspace, &with(decides("allow"), more));
    assert_eq!(outcome(&editor, tool, input.clone()), expected, "{more} {tool} {input}");
}

#[test]
fn what_a_hook_allows_is_not_asked() {
    for mode in ["ask", "edit"] {
        let mode = json!({ "mode": mode });
        allowed(&mode, "Bash", bash("touch made"), Outcome::Ran);
        allowed(&mode, "Write", write("new.txt"), Outcome::Ran);
    }
}

#[test]
fn what_a_hook_allows_lifts_nothing_else() {
    let ask = json!({ "mode": "ask" });
    let auto = json!({ "mode": "auto" });
    let denied = json!({ "permissions": { "deny": ["Bash(touch:*)"] } });
    allowed(&denied, "Bash", bash("touch made"), Outcome::Refused);
    let rule = json!({ "permissions": { "ask": ["Bash(touch:*)"] } });
    allowed(&rule, "Bash", bash("touch made"), Outcome::Asked);
    allowed(&json!({ "mode": "plan" }), "Write", write("new.txt"), Outcome::Refused);
    for mode in [&ask, &auto] {
        allowed(mode, "Read", json!({ "file_path": ".env" }), Outcome::Refused);
        allowed(mode, "Write", write("AGENTS.md"), Outcome::Asked);
        allowed(mode, "Write", write(".claude/settings.json"), Outcome::Asked);
        let outside = std::env::temp_dir().join("desk-hooks-outside.txt");
        allowed(mode, "Write", write(outside.to_str().unwrap()), Outcome::Asked);
    }
    allowed(&ask, "Read", json!({ "file_path": "/etc/hostname" }), Outcome::Asked);
    allowed(&json!({ "trusted": false }), "Write", write("new.txt"), Outcome::Asked);
}

#[test]
fn what_one_hook_changes_the_next_sees_and_the_rules_judge() {
    let workspace = workspace();
    let changed = json!({ "hookSpecificOutput": { "updatedInput": bash("touch changed") } });
    let hooks = json!([{ "command": format!("echo '{changed}'") }, { "command": KEEP }]);
    let settings = json!({ "mode": "auto", "hooks": { "PreToolUse": hooks } });
    let editor = Editor::open(&workspace, &settings);
    let session = editor.session();
    let text = session.tool("Bash", bash("touch original")).ok();
    has(&text, "a hook changed the input to");
    assert!(workspace.has("changed") && !workspace.has("original"));
    assert_eq!(told(&workspace)[0]["tool_input"]["command"], "touch changed");
    let card = &session.cards()[0];
    assert_eq!(card["rawInput"]["command"], "touch changed", "{card}");
    has(card["title"].as_str().unwrap_or_default(), "touch changed");
    let denied = with(settings, &json!({ "permissions": { "deny": ["Bash(touch changed)"] } }));
    drop(editor);
    let editor = Editor::open(&workspace, &denied);
    has(&editor.session().tool("Bash", bash("ls")).err(), "denied by the rule");
}

#[test]
fn an_input_that_a_hook_spoilt_runs_nothing() {
    let workspace = workspace();
    let changed = json!({ "hookSpecificOutput": { "updatedInput": { "comand": "x" } } });
    let settings = with(before(&format!("echo '{changed}'")), &json!({ "mode": "auto" }));
    let editor = Editor::open(&workspace, &settings);
    has(&editor.session().tool("Bash", bash("touch made")).err(), "A hook changed the input");
    assert!(!workspace.has("made"));
}

#[test]
fn a_matcher_fits_every_name_of_a_tool_and_every_way_to_change_a_file() {
    let workspace = workspace();
    let hook = |matcher: &str| json!({ "matcher": matcher, "command": KEEP });
    let hooks = json!({ "PreToolUse": [hook("Edit|Write")], "PostToolUse": [hook("shell")] });
    let editor = Editor::open(&workspace, &json!({ "mode": "auto", "hooks": hooks }));
    let session = editor.session();
    let patch = "*** Begin Patch\n*** Add File: patched.txt\n+x\n*** End Patch";
    session.tool("ApplyPatch", json!({ "patch": patch })).ok();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    session.tool("Bash", bash("true")).ok();
    let told: Vec<Value> = told(&workspace).into_iter().map(|it| it["tool_name"].clone()).collect();
    assert_eq!(told, ["ApplyPatch", "Bash"]);
}

/// A hook that fails like this changes nothing and is told to the person; with `fail_closed` it denies.
#[track_caller]
fn fails(command: &str, words: &str) {
    let workspace = workspace();
    let hooks = |closed: bool| {
        json!({ "mode": "auto", "hooks": {
            "fail_closed": closed, "PreToolUse": [{ "command": command, "timeout": 1 }] } })
    };
    let editor = Editor::open(&workspace, &hooks(false));
    let session = editor.session();
    session.tool("Write", write("open.txt")).ok();
    has(&notices(&session), words);
    drop(editor);
    let editor = Editor::open(&workspace, &hooks(true));
    let text = editor.session().tool("Write", write("closed.txt")).err();
    has(&text, "denied by a hook");
    has(&text, words);
    assert!(!workspace.has("closed.txt"));
}

#[test]
fn a_hook_that_fails_changes_nothing_unless_the_settings_say_so() {
    fails("echo went wrong >&2; exit 1", "ended with exit code 1: went wrong");
    fails("kill -9 $$", "was ended by");
    fails("echo '{\"continue\"'", "JSON that cannot be read");
    fails("\"$HOME/no-such-program\"", "ended with exit code 127");
    fails("\"$COPYDESK_PROJECT_DIR/a.txt\"", "ended with exit code 126");
    fails("yes '{' | head -c 3000000", "JSON that cannot be read");
}

#[test]
fn a_hook_that_takes_too_long_is_ended_with_all_it_started() {
    fails("sleep 7171 & trap '' TERM; while :; do sleep 7171; done", "took longer than 1 s");
    until("its processes to be gone", SOON, || processes(&["sleep", "7171"]).is_empty());
}

#[test]
fn a_cancelled_turn_ends_its_hooks() {
    let workspace = workspace();
    let model = Model::new([Step::call("Write", write("new.txt"))]);
    let hooks = with(before("trap '' TERM; sleep 7272; sleep 7272"), &json!({ "mode": "auto" }));
    let editor = Editor::open(&workspace, &model.settings_with(&hooks));
    let session = editor.session();
    let mark = session.send("go");
    until("the hook to run", SOON, || !processes(&["sleep", "7272"]).is_empty());
    session.cancel();
    assert_eq!(session.until_idle(mark), "cancelled");
    until("its processes to be gone", SOON, || processes(&["sleep", "7272"]).is_empty());
    assert!(!workspace.has("new.txt"));
}

#[test]
fn a_program_left_in_the_background_does_not_hold_up_the_call() {
    let workspace = workspace();
    let command = "sleep 7373 & echo '{\"systemMessage\": \"still here\"}'";
    let editor = Editor::open(&workspace, &with(before(command), &json!({ "mode": "auto" })));
    let session = editor.session();
    session.tool("Write", write("new.txt")).ok();
    has(&notices(&session), "still here");
    until("what it left to be gone", SOON, || processes(&["sleep", "7373"]).is_empty());
}

#[test]
fn a_hook_stops_the_agent() {
    let workspace = workspace();
    let model = Model::new([Step::call("Write", write("new.txt")), Step::text("never said")]);
    let hooks = before("echo '{\"continue\": false, \"stopReason\": \"enough\"}'");
    let settings = model.settings_with(&with(hooks, &json!({ "mode": "auto" })));
    let editor = Editor::open(&workspace, &settings);
    let session = editor.session();
    assert_eq!(session.prompt("go"), "cancelled");
    assert_eq!(model.requests().len(), 1);
    assert!(!workspace.has("new.txt"));
    has(&notices(&session), "stopped the agent: enough");
}

#[test]
fn what_a_hook_says_after_a_call_is_part_of_the_result() {
    let workspace = workspace();
    let hooks = json!({
        "PostToolUse": [{ "command": "echo 'format it first' >&2; exit 2" }],
        "PostToolUseFailure": [{ "command": "echo 'look in docs' >&2; exit 2" }],
    });
    let editor = Editor::open(&workspace, &json!({ "mode": "auto", "hooks": hooks }));
    let session = editor.session();
    let text = session.tool("Write", write("new.txt")).ok();
    has(&text, "[hook: format it first]");
    let text = session.tool("Read", json!({ "file_path": "gone.txt" })).err();
    has(&text, "[hook: look in docs]");
    let text = session.tool("Bash", bash("exit 3")).err();
    has(&text, "[hook: look in docs]");
}

#[test]
fn a_prompt_is_refused_or_added_to() {
    let workspace = workspace();
    let model = Model::new([Step::text("heard")]);
    let command =
        "if grep -q secret-plan; then echo 'say it otherwise' >&2; exit 2; fi; echo 'it rains'";
    let hooks = json!({ "hooks": {
        "SessionStart": [{ "command": "echo 'the sun rose'" }],
        "UserPromptSubmit": [{ "command": command }],
    } });
    let editor = Editor::open(&workspace, &model.settings_with(&hooks));
    let session = editor.session();
    assert_eq!(session.prompt("the secret-plan"), "end_turn");
    assert!(model.requests().is_empty());
    has(&notices(&session), "say it otherwise");
    assert_eq!(session.prompt("the weather"), "end_turn");
    let request = model.requests()[0].body.to_string();
    has(&request, "[hook: it rains]");
    has(&request, "[hook: the sun rose]");
    assert!(!request.contains("secret-plan"), "{request}");
}

#[test]
fn a_flood_for_the_model_is_bounded() {
    let workspace = workspace();
    let model = Model::new([Step::text("heard")]);
    let hooks =
        json!({ "hooks": { "UserPromptSubmit": [{ "command": "yes wordy | head -c 50000000" }] } });
    let editor = Editor::open(&workspace, &model.settings_with(&hooks));
    assert_eq!(editor.session().prompt("go"), "end_turn");
    let count = model.requests()[0].body.to_string().matches("wordy").count();
    assert!((100..2_000).contains(&count), "{count} words of the flood");
}

#[test]
fn a_hook_has_the_agent_go_on() {
    let workspace = workspace();
    let model = Model::new([Step::text("done"), Step::text("really done")]);
    let command = "grep -q '\"stop_hook_active\":true' || { echo 'run the tests' >&2; exit 2; }";
    let hooks = json!({ "hooks": { "Stop": [{ "command": command }] } });
    let editor = Editor::open(&workspace, &model.settings_with(&hooks));
    assert_eq!(editor.session().prompt("go"), "end_turn");
    let requests = model.requests();
    assert_eq!(requests.len(), 2);
    has(&requests[1].body.to_string(), "[hook: run the tests]");
}

#[test]
fn a_check_after_all_calls_is_told_to_the_model() {
    let workspace = workspace();
    let model = Model::new([Step::call("Read", json!({ "file_path": "a.txt" })), Step::text("ok")]);
    let found = json!({ "status": "failed", "summary": "2 errors" });
    let hooks =
        json!({ "hooks": { "ToolBatchComplete": [{ "command": format!("echo '{found}'") }] } });
    let editor = Editor::open(&workspace, &model.settings_with(&hooks));
    assert_eq!(editor.session().prompt("go"), "end_turn");
    has(&model.requests()[1].body.to_string(), "[hook: 2 errors]");
}

#[test]
fn a_hook_answers_in_the_persons_place() {
    #[track_caller]
    fn check(behavior: &str, input: Value, expected: Outcome) {
        let workspace = workspace();
        let printed = json!({ "hookSpecificOutput": { "decision": { "behavior": behavior, "message": "not this" } } });
        let command = format!("echo '{printed}'");
        let hooks = json!({ "hooks": { "PermissionRequest": [{ "command": command }] } });
        let editor = Editor::open(&workspace, &hooks);
        assert_eq!(outcome(&editor, "Write", input.clone()), expected, "{behavior} {input}");
    }
    check("allow", write("new.txt"), Outcome::Ran);
    check("allow", write("AGENTS.md"), Outcome::Asked);
    check("deny", write("new.txt"), Outcome::Refused);
}

#[test]
fn a_project_runs_nothing_before_it_is_trusted_and_the_persons_own_hooks_run() {
    let project = json!({ "hooks": {
        "SessionStart": [{ "hooks": [{ "type": "command", "command": "touch \"$HOME/theirs\"" }] }],
        "PreToolUse": [{ "hooks": [{ "type": "command", "command": "touch \"$HOME/theirs\"" }] }],
    } });
    let own = json!({ "hooks": { "PreToolUse": [{ "matcher": "Read", "hooks": [
        { "type": "command", "command": "touch \"$HOME/mine\"" }] }] } });
    let workspace = workspace();
    workspace.write(".claude/settings.json", project.to_string());
    workspace.write(".claude/settings.local.json", project.to_string());
    workspace.write(
        ".copydesk/config.toml",
        "[[hooks.PreToolUse]]\ncommand = 'touch \"$HOME/theirs\"'\n",
    );
    let home = workspace.beside("home");
    std::fs::create_dir(home.join(".claude")).unwrap();
    std::fs::write(home.join(".claude/settings.json"), own.to_string()).unwrap();
    let model = Model::new([Step::call("Read", json!({ "file_path": "a.txt" })), Step::text("ok")]);
    let settings = model.settings_with(&json!({ "trusted": false }));
    let editor = Start::new(&workspace).settings(&settings).start();
    assert_eq!(editor.session().prompt("go"), "end_turn");
    assert!(home.join("mine").exists());
    assert!(!home.join("theirs").exists());
    editor.request(
        "copydesk/trust",
        json!({ "root": crate::workspace::uri(workspace.root()), "trusted": true }),
    );
    editor.session().tool("Read", json!({ "file_path": "a.txt" })).ok();
    assert!(home.join("theirs").exists());
}

#[test]
fn changed_hooks_count_at_once() {
    let workspace = workspace();
    workspace.write(".claude/settings.json", "{}");
    let editor = Editor::open(&workspace, &json!({ "mode": "auto" }));
    let session = editor.session();
    session.tool("Write", write("first.txt")).ok();
    let hooks = json!({ "hooks": { "PreToolUse": [{ "hooks": [
        { "type": "command", "command": "echo 'no more' >&2; exit 2" }] }] } });
    workspace.write(".claude/settings.json", hooks.to_string());
    editor.notify(
        "workspace/didChangeWatchedFiles",
        json!({ "changes": [{ "uri": workspace.uri(".claude/settings.json"), "type": 2 }] }),
    );
    has(&session.tool("Write", write("second.txt")).err(), "denied by a hook: no more");
}

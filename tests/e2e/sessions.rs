//! Sessions beyond one turn: listed, told again from their beginning, alive after the server was killed.

use serde_json::{Value, json};

use crate::editor::{ALLOW, Answer, Editor, Start};
use crate::model::{Model, Step};
use crate::workspace::Workspace;

fn resume(editor: &Editor, session: &str) -> Value {
    let params = json!({ "sessionId": session, "cwd": editor.root(), "mcpServers": [], "replayFrom": { "type": "start" } });
    editor.request("session/resume", params)
}

/// The updates of a session from `mark` on, in order.
fn told(editor: &Editor, session: &str, mark: usize) -> Vec<Value> {
    let state = editor.lock();
    let all = state.log[mark..].iter().filter(|m| m["method"] == "session/update");
    all.filter(|m| m["params"]["sessionId"] == session)
        .map(|m| m["params"]["update"].clone())
        .collect()
}

fn text(updates: &[Value], kind: &str) -> String {
    let of_kind =
        updates.iter().filter(|u| u["sessionUpdate"].as_str().is_some_and(|k| k.starts_with(kind)));
    of_kind.map(|u| crate::editor::session::joined(&u["content"])).collect()
}

fn reads() -> [Step; 2] {
    [
        Step::text("I look. ").and_call("Read", json!({ "file_path": "a.txt" })),
        Step::text("It says one."),
    ]
}

#[test]
fn a_session_is_listed_until_it_is_deleted() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    session.prompt("remember me");
    let listed = || {
        editor.request("session/list", json!({ "cwd": workspace.root() }))["sessions"].to_string()
    };
    assert!(listed().contains(&session.id), "{}", listed());
    editor.request("session/close", json!({ "sessionId": session.id }));
    assert!(listed().contains(&session.id), "closed is not deleted");
    editor.request("session/delete", json!({ "sessionId": session.id }));
    assert!(!listed().contains(&session.id));
}

#[test]
fn resume_tells_everything_again_in_order() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let model = Model::new(reads());
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    session.prompt("what does it say?");
    let mark = editor.mark();
    resume(&editor, &session.id);
    let again = told(&editor, &session.id, mark);
    assert_eq!(text(&again, "user_message"), "what does it say?");
    assert_eq!(text(&again, "agent_message"), "I look. It says one.");
    let card = again
        .iter()
        .rposition(|u| u["sessionUpdate"] == "tool_call_update" && u["status"] == "completed");
    let last = again.iter().rposition(|u| u["sessionUpdate"] == "state_update");
    assert!(card.is_some() && card < last, "the state comes after what happened: {again:#?}");
    assert_eq!(again[last.unwrap()]["state"], "idle");
}

#[test]
fn resume_asks_open_questions_again() {
    let workspace = Workspace::new(&[]);
    let model =
        Model::new([Step::call("Write", json!({ "file_path": "new.txt", "content": "x\n" }))]);
    let editor = Editor::open(&workspace, &model.settings());
    editor.permit(Answer::Hold);
    let session = editor.session();
    let start = session.send("write");
    editor.wait("the question", |s| (s.held.len() == 1).then_some(()));
    resume(&editor, &session.id);
    editor.wait("the question again", |s| (s.held.len() == 2).then(|| s.held.remove(0)));
    editor.answer(&ALLOW);
    assert_eq!(session.until_idle(start), "end_turn");
    assert_eq!(workspace.read("new.txt"), "x\n");
}

#[test]
fn a_session_survives_a_killed_server() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let [first, second] = reads();
    let model = Model::new([first, second.held(), Step::text("Still here.")]);
    let mut editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    session.send("what does it say?");
    model.wait_requests(2);
    let id = session.id.clone();
    editor.kill();
    drop(editor);
    model.release();

    let editor = Editor::open(&workspace, &model.settings());
    resume(&editor, &id);
    let again = told(&editor, &id, 0);
    assert_eq!(text(&again, "user_message"), "what does it say?");
    assert!(
        again
            .iter()
            .any(|u| u["sessionUpdate"] == "tool_call_update" && u["status"] == "completed"),
        "{again:#?}"
    );
    let prompt = json!([{ "type": "text", "text": "and now?" }]);
    editor.request("session/prompt", json!({ "sessionId": id, "prompt": prompt }));
    let requests = model.wait_requests(3);
    assert!(requests[2].body.to_string().contains("what does it say?"), "the conversation goes on");
}

#[test]
fn a_hundred_sessions_opened_and_closed_leave_nothing_behind() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([]);
    let editor = Editor::open(&workspace, &model.settings());
    for _ in 0..100 {
        let session = editor.session();
        editor.request("session/close", json!({ "sessionId": session.id }));
    }
    let status = editor.request("copydesk/status", json!({}));
    assert_eq!(status["sessions"].as_array().map(Vec::len), Some(0), "{status}");
    assert_eq!(editor.session().prompt("still there?"), "end_turn");
}

#[test]
fn a_torn_log_starts_and_says_so() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([]);
    let mut editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    session.prompt("remember me");
    let id = session.id.clone();
    editor.kill();
    drop(editor);
    let logs: Vec<_> =
        workspace.own_files().into_iter().filter(|(path, _)| path.ends_with("log.jsonl")).collect();
    assert_eq!(logs.len(), 1, "one log of one session");
    let (path, text) = &logs[0];
    std::fs::write(path, &text[..text.len() - 7]).unwrap();

    let editor = Editor::open(&workspace, &model.settings());
    resume(&editor, &id);
    assert!(text_of_prompts(&editor, &id).contains("remember me"));
}

#[test]
fn an_open_session_is_gone_as_soon_as_it_is_deleted() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    session.prompt("forget me");
    editor.request("session/delete", json!({ "sessionId": session.id }));
    let listed = editor.request("session/list", json!({}));
    assert_eq!(listed["sessions"], json!([]));
    let params = json!({ "sessionId": session.id, "cwd": workspace.root(), "mcpServers": [] });
    editor.try_request("session/resume", params).unwrap_err();
}

#[test]
fn the_call_that_was_cut_off_is_told_in_its_place() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let model = Model::new([Step::call("Bash", json!({ "command": "touch made.txt" }))]);
    let mut editor = Editor::open(&workspace, &model.settings());
    editor.permit(Answer::Hold);
    let session = editor.session();
    session.send("touch it");
    editor.wait("the question", |s| (s.held.len() == 1).then_some(()));
    let id = session.id.clone();
    editor.kill();
    drop(editor);

    let editor = Editor::open(&workspace, &model.settings());
    resume(&editor, &id);
    let again = told(&editor, &id, 0);
    assert_eq!(again[0]["sessionUpdate"], "user_message", "{again:#?}");
    let cards: Vec<&Value> =
        again.iter().filter(|u| u["sessionUpdate"] == "tool_call_update").collect();
    assert!(
        matches!(cards[..], [card] if card["status"] == "cancelled" && card["kind"] == "execute"),
        "{cards:#?}"
    );
}

#[test]
fn work_goes_on_where_nothing_can_be_kept() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let model = Model::new(reads());
    let file = workspace.path("a.txt").display().to_string();
    let editor =
        Start::new(&workspace).settings(&model.settings()).env("XDG_STATE_HOME", &file).start();
    assert_eq!(editor.session().prompt("what does it say?"), "end_turn");
    let problems = editor.request("copydesk/status", json!({}))["problems"].to_string();
    assert!(problems.contains("cannot be kept"), "{problems}");
}

#[test]
fn a_model_of_an_unknown_provider_cannot_be_chosen() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([]);
    let editor = Editor::open(&workspace, &model.settings());
    let session = editor.session();
    let params = json!({ "sessionId": session.id, "configId": "model", "type": "id", "value": "nobody/model" });
    let error = editor.try_request("session/set_config_option", params).unwrap_err();
    assert!(error.message.contains("nobody"), "{error:?}");
    assert_eq!(session.prompt("still there?"), "end_turn");
}

#[test]
fn a_session_has_one_owner_and_is_handed_on_when_it_is_closed() {
    let workspace = Workspace::new(&[]);
    let model = Model::new([Step::text("first"), Step::text("second")]);
    let first = Editor::open(&workspace, &model.settings());
    let session = first.session();
    session.prompt("begin");
    let second = Editor::open(&workspace, &model.settings());
    let params = json!({ "sessionId": session.id, "cwd": second.root(), "mcpServers": [], "replayFrom": { "type": "start" } });
    let refused = second.try_request("session/resume", params);
    let error = refused.expect_err("two windows wrote one conversation");
    assert!(error.message.contains("open in another window"), "{error:?}");
    first.request("session/close", json!({ "sessionId": session.id }));
    resume(&second, &session.id);
    second.joined(&session.id).prompt("go on");
    assert_eq!(text_of_prompts(&second, &session.id), "begingo on");
}

#[test]
fn a_folder_that_is_not_absolute_is_refused_with_what_to_send() {
    let workspace = Workspace::new(&[("sub/a.txt", "a\n")]);
    let editor = Editor::open(&workspace, &json!({}));
    let session = editor.session();
    let check = |method: &str, field: &str, params: Value| {
        let error = editor.try_request(method, params).unwrap_err();
        assert_eq!(error.code, -32602, "{method}: {error:?}");
        let (message, start) = (&error.message, format!("{field}: "));
        assert!(
            message.starts_with(&start) && message.contains("send the absolute path"),
            "{error:?}"
        );
    };
    for cwd in ["", ".", "sub", "~", "file:///sub"] {
        for id in [session.id.as_str(), "nobody"] {
            check(
                "session/resume",
                "cwd",
                json!({ "sessionId": id, "cwd": cwd, "mcpServers": [] }),
            );
        }
        check("session/new", "cwd", json!({ "cwd": cwd, "mcpServers": [] }));
        check("session/list", "cwd", json!({ "cwd": cwd }));
        let more =
            json!({ "cwd": editor.root(), "mcpServers": [], "additionalDirectories": [cwd] });
        check("session/new", "additionalDirectories", more.clone());
        let mut more = more;
        more["sessionId"] = json!(session.id);
        check("session/resume", "additionalDirectories", more);
    }
    check("session/new", "cwd", json!({ "cwd": workspace.path("sub/a.txt"), "mcpServers": [] }));
    resume(&editor, &session.id);
}

#[test]
fn an_unknown_session_cannot_be_resumed() {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &json!({}));
    let params = json!({ "sessionId": "nobody", "cwd": workspace.root(), "mcpServers": [] });
    let error = editor.try_request("session/resume", params).unwrap_err();
    assert!(error.message.contains("nobody"), "{error:?}");
}

fn text_of_prompts(editor: &Editor, session: &str) -> String {
    text(&told(editor, session, 0), "user_message")
}

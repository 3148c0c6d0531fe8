//! Who may do what: modes, rules, answers, trust, sensitive paths.

use serde_json::{Value, json};

use crate::editor::session::Session;
use crate::editor::{ALLOW, Answer, Editor, REJECT, Start};
use crate::model::{Model, Step};
use crate::workspace::Workspace;

const ASKED: &str = "session/request_permission";

fn desk(settings: &Value) -> (Workspace, Editor) {
    let workspace = Workspace::new(&[
        ("a.txt", "one\n"),
        (".env", "TOKEN=hidden-word\n"),
        (".env.example", "TOKEN=shown\n"),
    ]);
    let editor = Editor::open(&workspace, settings);
    (workspace, editor)
}

fn write(path: &str) -> Value {
    json!({ "file_path": path, "content": "written\n" })
}

fn bash(command: &str) -> Value {
    json!({ "command": command, "description": "Run it" })
}

/// One cell of the table of modes: whether the person is asked, and whether the call is refused unasked.
#[derive(Debug, PartialEq)]
enum Outcome {
    Ran,
    Asked,
    Refused,
}

#[track_caller]
fn check(mode: &str, tool: &str, input: Value, expected: Outcome) {
    let (_workspace, editor) = desk(&json!({}));
    let session = editor.session();
    session.set("mode", mode);
    let called = session.tool(tool, input.clone());
    let outcome = match (editor.asked(ASKED).is_empty(), called.is_error) {
        (false, _) => Outcome::Asked,
        (true, true) => Outcome::Refused,
        (true, false) => Outcome::Ran,
    };
    assert_eq!(outcome, expected, "{mode} {tool} {input}: {}", called.text);
}

#[test]
fn reading_inside_runs_in_every_mode() {
    for mode in ["ask", "plan", "edit", "auto"] {
        check(mode, "Read", json!({ "file_path": "a.txt" }), Outcome::Ran);
        check(mode, "Grep", json!({ "pattern": "one" }), Outcome::Ran);
    }
}

#[test]
fn writing_inside_follows_the_mode() {
    check("ask", "Write", write("new.txt"), Outcome::Asked);
    check("plan", "Write", write("new.txt"), Outcome::Refused);
    check("edit", "Write", write("new.txt"), Outcome::Ran);
    check("auto", "Write", write("new.txt"), Outcome::Ran);
}

#[test]
fn commands_follow_the_mode() {
    check("ask", "Bash", bash("touch made"), Outcome::Asked);
    check("plan", "Bash", bash("touch made"), Outcome::Refused);
    check("edit", "Bash", bash("touch made"), Outcome::Asked);
    check("auto", "Bash", bash("touch made"), Outcome::Ran);
}

#[test]
fn commands_that_only_read_run_in_every_mode() {
    for mode in ["ask", "plan", "edit", "auto"] {
        check(mode, "Bash", bash("ls"), Outcome::Ran);
    }
}

#[test]
fn a_read_only_word_before_another_command_opens_nothing() {
    for command in [
        "ls; touch made",
        "ls && touch made",
        "ls\ntouch made",
        "ls $(touch made)",
        "ls `touch made`",
        "ls > made",
        "find . -delete",
        "cat a.txt | tee made",
        "FOO=1 touch made",
    ] {
        check("ask", "Bash", bash(command), Outcome::Asked);
    }
}

#[test]
fn outside_the_workspace_is_asked() {
    let outside = std::env::temp_dir().join("desk-outside.txt");
    check("ask", "Read", json!({ "file_path": "/etc/hostname" }), Outcome::Asked);
    check("auto", "Read", json!({ "file_path": "/etc/hostname" }), Outcome::Ran);
    check("plan", "Write", write(outside.to_str().unwrap()), Outcome::Refused);
}

#[test]
fn a_write_outside_is_asked_even_in_auto() {
    let (workspace, editor) = desk(&json!({ "mode": "auto" }));
    editor.permit(REJECT);
    let outside = workspace.beside("data").join("outside.txt");
    editor.session().tool("Write", write(outside.to_str().unwrap())).err();
    assert_eq!(editor.asked(ASKED).len(), 1);
    assert!(!outside.exists());
}

#[test]
fn a_symlink_that_leads_outside_is_outside() {
    let (workspace, editor) = desk(&json!({ "mode": "auto" }));
    editor.permit(REJECT);
    std::os::unix::fs::symlink(workspace.beside("data"), workspace.path("inside")).unwrap();
    editor.session().tool("Write", write("inside/out.txt")).err();
    assert!(!workspace.beside("data").join("out.txt").exists());
}

#[test]
fn files_that_grant_power_are_asked_in_every_mode() {
    for path in [
        ".copydesk/config.toml",
        "AGENTS.md",
        ".vscode/tasks.json",
        ".git/hooks/pre-commit",
        ".mcp.json",
    ] {
        check("edit", "Write", write(path), Outcome::Asked);
        check("auto", "Write", write(path), Outcome::Asked);
    }
}

// Answers.

fn turn(answer: Answer, step: Step) -> (Workspace, Model, Editor) {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let model = Model::new([step, Step::text("understood")]);
    let editor = Editor::open(&workspace, &model.settings());
    editor.permit(answer);
    (workspace, model, editor)
}

#[test]
fn a_rejected_call_goes_back_to_the_model_and_the_turn_goes_on() {
    let (workspace, model, editor) = turn(REJECT, Step::call("Write", write("new.txt")));
    let session = editor.session();
    assert_eq!(session.prompt("go"), "end_turn");
    assert!(model.results()[0].contains("rejected"), "{:?}", model.results());
    assert_eq!(session.cards()[0]["status"], "failed");
    assert!(!workspace.has("new.txt"));
}

#[test]
fn feedback_of_a_rejection_reaches_the_model() {
    let answer = Answer::With("reject_once", json!({ "feedback": "put it under docs" }));
    let (_workspace, model, editor) = turn(answer, Step::call("Write", write("new.txt")));
    editor.session().prompt("go");
    let result = &model.results()[0];
    assert!(result.contains("rejected") && result.contains("put it under docs"), "{result}");
}

#[test]
fn a_dismissed_prompt_is_no_approval() {
    let (workspace, _model, editor) = turn(Answer::Dismiss, Step::call("Write", write("new.txt")));
    editor.session().prompt("go");
    assert!(!workspace.has("new.txt"));
}

#[test]
fn input_changed_in_the_answer_is_what_runs() {
    let answer = Answer::With(
        "allow_once",
        json!({ "input": { "file_path": "other.txt", "content": "changed\n" } }),
    );
    let (workspace, _model, editor) = turn(answer, Step::call("Write", write("new.txt")));
    editor.session().prompt("go");
    assert!(!workspace.has("new.txt"));
    assert_eq!(workspace.read("other.txt"), "changed\n");
}

#[test]
fn always_allowed_is_not_asked_again_and_can_be_taken_back() {
    let (_workspace, editor) = desk(&json!({}));
    editor.permit(Answer::Option("allow_always"));
    let session = editor.session();
    session.tool("Bash", bash("touch made")).ok();
    session.tool("Bash", bash("touch made")).ok();
    assert_eq!(editor.asked(ASKED).len(), 1);
    let rules = editor.request("copydesk/permission/list", json!({}))["rules"].clone();
    let rule =
        rules.as_array().unwrap().iter().find(|r| r["rule"].to_string().contains("touch")).cloned();
    let rule = rule.unwrap_or_else(|| panic!("the rule is listed: {rules}"));
    editor.request("copydesk/permission/remove", json!({ "id": rule["id"] }));
    editor.permit(REJECT);
    session.tool("Bash", bash("touch made")).err();
    assert_eq!(editor.asked(ASKED).len(), 2);
}

#[test]
fn what_is_always_allowed_or_rejected_is_so_after_a_restart_until_it_is_removed() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let run = |answer: Answer, command: &str| {
        let editor = Editor::open(&workspace, &json!({}));
        editor.permit(answer);
        let called = editor.session().tool("Bash", bash(command));
        (editor.asked(ASKED).len(), called.is_error)
    };
    let edited = Answer::With("allow_always", json!({ "rule": "Bash(touch:*)" }));
    assert_eq!(run(edited, "touch made"), (1, false));
    assert_eq!(run(REJECT, "touch other"), (0, false));
    assert_eq!(run(Answer::Option("reject_always"), "mkdir made2"), (1, true));
    assert_eq!(run(REJECT, "mkdir made2"), (0, true));
    let editor = Editor::open(&workspace, &json!({}));
    let list = || editor.request("copydesk/permission/list", json!({}))["rules"].clone();
    let kept: Vec<Value> =
        list().as_array().unwrap().iter().filter(|it| it["scope"] == "kept").cloned().collect();
    assert_eq!(kept.len(), 2, "{kept:?}");
    for rule in kept {
        editor.request("copydesk/permission/remove", json!({ "id": rule["id"] }));
    }
    assert_eq!(list(), json!([]));
    editor.permit(REJECT);
    editor.session().tool("Bash", bash("touch other")).err();
    assert_eq!(editor.asked(ASKED).len(), 1);
}

#[test]
fn a_move_that_is_always_allowed_covers_both_names() {
    let (_workspace, editor) = desk(&json!({}));
    editor.permit(Answer::Option("allow_always"));
    let session = editor.session();
    let moved = |from: &str, to: &str| {
        let patch = format!("*** Update File: {from}\n*** Move to: {to}\n");
        let patch = json!({ "patch": format!("*** Begin Patch\n{patch}*** End Patch\n") });
        session.tool("ApplyPatch", patch).ok();
    };
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    moved("a.txt", "b.txt");
    moved("b.txt", "a.txt");
    assert_eq!(editor.asked(ASKED).len(), 1);
    let rules = editor.request("copydesk/permission/list", json!({}))["rules"].to_string();
    assert!(rules.contains("Edit(/a.txt)") && rules.contains("Edit(/b.txt)"), "{rules}");
}

#[test]
fn always_is_never_offered_for_interpreters() {
    for command in
        ["python3 -c 'print(1)'", "sh -c 'touch made'", "sudo touch made", "npx anything"]
    {
        let (_workspace, editor) = desk(&json!({}));
        editor.permit(REJECT);
        editor.session().tool("Bash", bash(command)).err();
        let asked = editor.asked(ASKED).remove(0);
        assert!(!asked["options"].to_string().contains("allow_always"), "{command}: {asked}");
    }
}

#[test]
fn a_prompt_for_a_command_shows_all_of_it() {
    let (_workspace, editor) = desk(&json!({}));
    editor.permit(REJECT);
    let long = format!("touch made && echo {}END", "x".repeat(3000));
    editor.session().tool("Bash", bash(&long)).err();
    let asked = editor.asked(ASKED).remove(0);
    let text = asked["subject"].to_string();
    assert!(text.contains("END") && text.contains(editor.root().to_str().unwrap()), "{asked}");
    let kinds: Vec<_> =
        asked["options"].as_array().unwrap().iter().map(|o| o["kind"].as_str().unwrap()).collect();
    let (once, always) = (
        kinds.iter().position(|k| *k == "allow_once"),
        kinds.iter().position(|k| *k == "allow_always"),
    );
    assert!(once.is_some() && always.is_none_or(|always| once.unwrap() < always), "{kinds:?}");
    assert!(kinds.contains(&"reject_once"), "{kinds:?}");
}

#[test]
fn a_prompt_for_an_edit_shows_path_and_change() {
    let (_workspace, editor) = desk(&json!({}));
    editor.permit(REJECT);
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    session
        .tool("Edit", json!({ "file_path": "a.txt", "old_string": "one", "new_string": "uno" }))
        .err();
    let asked = editor.asked(ASKED).remove(0)["subject"].to_string();
    assert!(asked.contains("a.txt") && asked.contains("uno") && asked.contains("one"), "{asked}");
}

// Rules.

#[test]
fn a_deny_rule_is_named_in_the_result_and_wins_over_allow() {
    let permissions =
        json!({ "permissions": { "deny": ["Bash(touch:*)"], "allow": ["Bash(touch:*)"] } });
    for mode in ["ask", "auto"] {
        let (workspace, editor) = desk(&permissions);
        let session = editor.session();
        session.set("mode", mode);
        let text = session.tool("Bash", bash("ls; touch made")).err();
        assert!(text.contains("denied") && text.contains("Bash(touch:*)"), "{text}");
        assert!(editor.asked(ASKED).is_empty() && !workspace.has("made"));
    }
}

#[test]
fn an_allow_rule_saves_the_question() {
    let (workspace, editor) =
        desk(&json!({ "permissions": { "allow": ["Bash(touch:*)", "Write(docs/**)"] } }));
    let session = editor.session();
    session.tool("Bash", bash("touch made")).ok();
    session.tool("Write", write("docs/x.md")).ok();
    assert!(editor.asked(ASKED).is_empty() && workspace.has("made"));
    editor.permit(REJECT);
    session.tool("Bash", bash("touch made && rm a.txt")).err();
    assert_eq!(editor.asked(ASKED).len(), 1);
}

#[test]
fn an_edit_rule_covers_every_way_to_write() {
    let (workspace, editor) =
        desk(&json!({ "mode": "auto", "permissions": { "deny": ["Edit(kept/**)"] } }));
    workspace.write("kept/x.txt", "kept\n");
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "kept/x.txt" })).ok();
    session.tool("Write", write("kept/x.txt")).err();
    session
        .tool("Edit", json!({ "file_path": "kept/x.txt", "old_string": "kept", "new_string": "x" }))
        .err();
    session.tool("MultiEdit", json!({ "file_path": "kept/x.txt", "edits": [{ "old_string": "kept", "new_string": "x" }] })).err();
    session.tool("Bash", bash("echo x > kept/x.txt")).err();
    assert_eq!(workspace.read("kept/x.txt"), "kept\n");
}

#[test]
fn rules_know_the_aliases_of_a_tool() {
    let (_workspace, editor) = desk(
        &json!({ "mode": "auto", "permissions": { "deny": ["shell(touch:*)", "ReadFile(a.txt)"] } }),
    );
    let session = editor.session();
    session.tool("Bash", bash("touch made")).err();
    session.tool("Read", json!({ "file_path": "a.txt" })).err();
}

// Sensitive paths.

fn never_shown(session: &Session<'_>, tool: &str, input: Value) {
    let called = session.tool(tool, input.clone());
    assert!(!called.text.contains("hidden-word"), "{tool} {input}: {}", called.text);
}

#[test]
fn a_sensitive_file_is_never_read_whatever_the_mode() {
    for mode in ["ask", "plan", "edit", "auto"] {
        let (_workspace, editor) = desk(&json!({ "mode": mode }));
        editor.permit(REJECT);
        let session = editor.session();
        assert!(session.tool("Read", json!({ "file_path": ".env" })).is_error);
        never_shown(&session, "Read", json!({ "file_path": ".env" }));
        never_shown(
            &session,
            "Grep",
            json!({ "pattern": "TOKEN", "output_mode": "content", "include_ignored": true }),
        );
        never_shown(&session, "Bash", bash("cat .env"));
        never_shown(&session, "Bash", bash("grep TOKEN < .env"));
    }
}

#[test]
fn grep_counts_the_sensitive_files_it_drops() {
    let (_workspace, editor) = desk(&json!({}));
    let text = editor
        .tool(
            "Grep",
            json!({ "pattern": "TOKEN", "output_mode": "content", "include_ignored": true }),
        )
        .ok();
    assert!(text.contains("sensitive file"), "{text}");
}

#[test]
fn a_link_to_a_sensitive_file_is_sensitive() {
    let (workspace, editor) = desk(&json!({ "mode": "auto" }));
    editor.permit(REJECT);
    std::os::unix::fs::symlink(".env", workspace.path("harmless.txt")).unwrap();
    never_shown(&editor.session(), "Read", json!({ "file_path": "harmless.txt" }));
}

#[test]
fn an_example_beside_a_sensitive_file_is_read() {
    let (_workspace, editor) = desk(&json!({}));
    assert!(editor.tool("Read", json!({ "file_path": ".env.example" })).ok().contains("shown"));
}

#[test]
fn a_sensitive_buffer_that_is_open_is_not_read_either() {
    let (_workspace, editor) = desk(&json!({ "mode": "auto" }));
    editor.permit(REJECT);
    editor.open_file(".env");
    never_shown(&editor.session(), "Read", json!({ "file_path": ".env" }));
}

// Trust.

#[test]
fn an_untrusted_folder_grants_no_power() {
    let workspace = Workspace::new(&[]);
    workspace.write(
        ".copydesk/config.toml",
        "mode = \"auto\"\n[permissions]\nallow = [\"Bash(touch:*)\"]\n",
    );
    let editor = Start::new(&workspace).settings(&json!({ "trusted": false })).start();
    editor.permit(REJECT);
    editor.session().tool("Bash", bash("touch made")).err();
    assert_eq!(editor.asked(ASKED).len(), 1);
    assert!(!workspace.has("made"));
}

#[test]
fn a_trusted_folder_grants_what_its_files_say() {
    let workspace = Workspace::new(&[]);
    workspace.write(".copydesk/config.toml", "[permissions]\nallow = [\"Bash(touch:*)\"]\n");
    let editor = Editor::open(&workspace, &json!({}));
    editor.session().tool("Bash", bash("touch made")).ok();
    assert!(editor.asked(ASKED).is_empty() && workspace.has("made"));
}

#[test]
fn a_deny_rule_of_an_untrusted_folder_counts() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    workspace.write(".copydesk/config.toml", "[permissions]\ndeny = [\"Read(a.txt)\"]\n");
    let editor = Start::new(&workspace).settings(&json!({ "trusted": false })).start();
    let text = editor.session().tool("Read", json!({ "file_path": "a.txt" })).err();
    assert!(text.contains("denied"), "{text}");
}

#[test]
fn a_providers_address_from_an_untrusted_folder_is_not_used() {
    let workspace = Workspace::new(&[]);
    let trap = Model::new([]);
    let model = Model::new([]);
    let url = trap.settings()["providers"]["mock"]["base_url"].as_str().unwrap().to_owned();
    workspace.write(
        ".copydesk/config.toml",
        format!("[providers.mock]\nprotocol = \"openai\"\nbase_url = \"{url}\"\n"),
    );
    let editor = Start::new(&workspace)
        .settings(&model.settings())
        .settings(&json!({ "trusted": false }))
        .start();
    assert_eq!(editor.session().prompt("hello"), "end_turn");
    assert!(trap.requests().is_empty());
    assert_eq!(model.requests().len(), 1);
}

#[test]
fn trust_given_later_counts_from_then_on() {
    let workspace = Workspace::new(&[]);
    workspace.write(".copydesk/config.toml", "[permissions]\nallow = [\"Bash(touch:*)\"]\n");
    let editor = Start::new(&workspace).settings(&json!({ "trusted": false })).start();
    editor.permit(REJECT);
    let session = editor.session();
    session.tool("Bash", bash("touch made")).err();
    editor.request(
        "copydesk/trust",
        json!({ "root": crate::workspace::uri(workspace.root()), "trusted": true }),
    );
    session.tool("Bash", bash("touch made")).ok();
    assert_eq!(editor.asked(ASKED).len(), 1);
}

#[test]
fn a_file_that_became_a_link_while_the_person_was_asked_is_left_alone() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let outside = workspace.beside("home").join("private.txt");
    std::fs::write(&outside, "the secret\n").unwrap();
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call(
            "Edit",
            json!({ "file_path": "a.txt", "old_string": "one", "new_string": "two" }),
        ),
    ]);
    let editor = Editor::open(&workspace, &model.settings());
    let (path, target) = (workspace.path("a.txt"), outside.clone());
    editor.permit_by(move |_| {
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(&target, &path).unwrap();
        ALLOW
    });
    assert_eq!(editor.session().prompt("change it"), "end_turn");
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "the secret\n");
    assert!(!model.everything().contains("the secret"), "{:?}", model.results());
}

#[test]
fn a_link_made_by_an_earlier_call_of_the_step_is_judged() {
    let workspace = Workspace::new(&[]);
    let outside = workspace.beside("home").join("private.txt");
    std::fs::write(&outside, "the secret\n").unwrap();
    let link = format!("ln -s {} a.txt", outside.display());
    let model = Model::new([Step::call("Bash", json!({ "command": link }))
        .and_call("Read", json!({ "file_path": "a.txt" }))]);
    let editor = Editor::open(&workspace, &model.settings());
    editor.permit_by(
        |question| {
            if question["subject"]["type"] == "command" { ALLOW } else { REJECT }
        },
    );
    assert_eq!(editor.session().prompt("look"), "end_turn");
    assert!(workspace.path("a.txt").is_symlink());
    assert!(!model.everything().contains("the secret"), "{:?}", model.results());
}

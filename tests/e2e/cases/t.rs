//! Tools: commands and their jobs.

use serde_json::{Value, json};

use crate::dialects::with_dialect;
use crate::editor::{Editor, Start};
use crate::model::{Model, Step};
use crate::workspace::{PATIENCE, Workspace, processes, until};

fn desk() -> (Workspace, Editor) {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let editor = Editor::open(&workspace, &json!({ "mode": "auto" }));
    (workspace, editor)
}

fn background(command: &str) -> Value {
    json!({ "command": command, "description": "Run it", "run_in_background": true })
}

/// T3: what a rule denies is denied behind `;`, a newline, `$(…)`, an assignment and in `find -delete`.
#[test]
fn a_denied_command_is_denied_wherever_it_stands() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let settings = json!({ "mode": "auto", "permissions": { "deny": ["Bash(rm:*)"] } });
    let editor = Start::new(&workspace).settings(&settings).start();
    for command in [
        "rm a.txt",
        "true; rm a.txt",
        "true\nrm a.txt",
        "echo $(rm a.txt)",
        "echo `rm a.txt`",
        "FOO=1 rm a.txt",
        "FOO=1 BAR=$(true) rm a.txt",
        "find . -name a.txt -delete",
        "true && (rm a.txt)",
        "true | xargs rm a.txt",
        "cat <(rm a.txt)",
        "bash -c 'rm a.txt'",
    ] {
        let text = editor.tool("Bash", json!({ "command": command })).err();
        assert!(text.contains("denied") && text.contains("Bash(rm:*)"), "{command}: {text}");
        assert!(workspace.has("a.txt"), "{command}");
    }
}

/// T11: a job without a time of its own has the configured one, in each dialect, and its end is told.
#[test]
fn the_configured_time_of_jobs_counts_and_their_end_is_told() {
    for (dialect, tool, seconds) in
        [("claude", "Bash", "3181.25"), ("kimi", "Bash", "3182.25"), ("chord", "shell", "3183.25")]
    {
        let workspace = Workspace::new(&[]);
        let command = format!("echo begun; sleep {seconds}");
        let model = Model::new([
            Step::call(tool, background(&command)),
            Step::text("It runs."),
            Step::text("I see."),
        ]);
        let more = json!({ "mode": "auto", "jobs": { "default_timeout": 2000 }, "shell": { "timeout": 400_000 } });
        let settings = with_dialect(model.settings_with(&more), dialect);
        let editor = Editor::open(&workspace, &settings);
        let session = editor.session();
        assert_eq!(session.prompt("go"), "end_turn");
        let told = model.wait_requests(3)[2].body.to_string();
        assert!(told.contains("job-1 timed_out") && told.contains("begun"), "{dialect}: {told}");
        until("the job to be gone", PATIENCE, || processes(&["sleep", seconds]).is_empty());
    }
}

/// T13: a command whose time is up gives what it printed and says whether it goes on or was ended.
#[test]
fn a_timeout_keeps_the_output_and_says_what_became_of_the_command() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    let slow = "echo partial; sleep 3184.25; echo never";
    let text = session.tool("Bash", json!({ "command": slow, "timeout": 300 })).ok();
    for word in ["partial", "[background job job-1] its timeout passed"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let text = session.tool("Bash", json!({ "command": slow, "deadline": 300 })).err();
    for word in ["partial", "[timed out after", "was killed"] {
        assert!(text.contains(word), "{word}: {text}");
    }
    let text = session.tool("Bash", json!({ "command": "sleep 3185.25", "timeout": 300 })).err();
    assert!(text.contains("[timed out after") && text.contains("was killed"), "{text}");
    until("both to be gone", PATIENCE, || processes(&["sleep", "3185.25"]).is_empty());
    session.tool("JobKill", json!({ "job_id": "job-1" })).ok();
}

/// T15: a job that its time ended never reads as one that did its work, whatever code it leaves with.
#[test]
fn a_job_ended_by_its_time_is_no_success() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    let mut input = background("trap 'exit 0' TERM; while :; do sleep 0.05; done");
    input["timeout"] = json!(300);
    session.tool("Bash", input).ok();
    let read = session.tool("JobOutput", json!({ "job_id": "job-1", "wait": "exit" })).ok();
    let row = session.tool("JobList", json!({ "include_finished": true })).ok();
    for text in [read, row] {
        assert!(text.contains("timed_out") && !text.contains("completed"), "{text}");
    }
}

/// T17: a job's end still begins a turn after turns that jobs began have failed three times.
#[test]
fn failed_turns_keep_no_end_of_a_job_from_the_agent() {
    let workspace = Workspace::new(&[]);
    let start = |n: usize| background(&format!("until test -e go{n}; do sleep 0.05; done"));
    let mut first = Step::call("Bash", start(0));
    for n in 1..4 {
        first = first.and_call("Bash", start(n));
    }
    let fails = || Step::status(400);
    let model =
        Model::new([first, Step::text("They run."), fails(), fails(), fails(), Step::text("Yes.")]);
    let editor = Editor::open(&workspace, &model.settings_with(&json!({ "mode": "auto" })));
    let session = editor.session();
    assert_eq!(session.prompt("go"), "end_turn");
    for n in 0..4 {
        let mark = editor.mark();
        workspace.write(&format!("go{n}"), "");
        let told = model.wait_requests(3 + n)[2 + n].body.to_string();
        let job = format!("Background job job-{} completed", n + 1);
        assert_eq!(told.matches(&job).count(), 1, "{n}: {told}");
        session.until_idle(mark);
    }
    assert_eq!(model.requests().len(), 6);
}

/// T19: in plan mode a command that only says something runs, another is refused once with the reason,
/// and the turn goes on to its end.
#[test]
fn commands_in_plan_mode_lead_into_no_loop() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let call = |command: &str| Step::call("Bash", json!({ "command": command }));
    let model = Model::new([call("echo hello"), call("rm a.txt"), Step::text("That is my plan.")]);
    let editor = Editor::open(&workspace, &model.settings_with(&json!({ "mode": "plan" })));
    let session = editor.session();
    assert_eq!(session.prompt("go"), "end_turn");
    let requests = model.requests();
    assert_eq!(requests.len(), 3);
    let results = model.results_of(&requests[2]);
    assert!(results[0].contains("hello"), "{results:?}");
    assert!(results[1].contains("plan"), "{results:?}");
    assert!(workspace.has("a.txt") && editor.asked("session/request_permission").is_empty());
}

/// T47: long output of a command or a job is cut to head and tail, and the result says how much is left
/// out and where the whole is, at the length that each dialect is used to.
#[test]
fn what_is_left_out_of_the_output_is_said() {
    for (dialect, [shell, read], most) in
        [("claude", ["Bash", "JobOutput"], 30_000), ("chord", ["shell", "job_output"], 16_384)]
    {
        let workspace = Workspace::new(&[]);
        let model = Model::new([
            Step::call(shell, json!({ "command": "seq 10001 16000", "description": "Count" })),
            Step::call(shell, background("seq 10001 16000")),
            Step::call(read, json!({ "job_id": "job-1", "wait": "exit" })),
        ]);
        let settings = model.settings_with(&json!({ "mode": "auto" }));
        let editor = Editor::open(&workspace, &with_dialect(settings, dialect));
        editor.session().prompt("go");
        let results = model.results_of(model.requests().last().unwrap());
        for text in [&results[0], &results[2]] {
            assert!(
                text.len() < most && most * 8 / 10 < text.len(),
                "{dialect}: {}: {text}",
                text.len()
            );
            assert!(text.contains("10001\n10002\n") && text.contains("16000"), "{dialect}: {text}");
            let [_, said] = text.split("[… ").collect::<Vec<_>>()[..] else { panic!("{text}") };
            assert!(said.contains("characters left out here; the whole is artifact:"), "{said}");
        }
    }
}

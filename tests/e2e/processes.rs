//! Commands and what becomes of their processes: nothing outlives the server, nothing hides how it ended.

use std::time::Duration;

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::model::{Model, Step};
use crate::workspace::{Workspace, processes, until};

/// No descendant is left this long after the server has gone.
const GONE: Duration = Duration::from_secs(5);
const STARTED: Duration = Duration::from_secs(20);

fn desk() -> (Workspace, Editor) {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let editor = Editor::open(&workspace, &json!({ "mode": "auto" }));
    (workspace, editor)
}

fn bash(command: &str) -> Value {
    json!({ "command": command, "description": "Run it" })
}

/// Starts the command, takes the server away, and sees every `sleep` of that length go.
#[track_caller]
fn check_gone(command: &str, sleep: &str, end: impl FnOnce(&mut Editor)) {
    check_tool_gone("Bash", &bash(command), sleep, end);
}

#[track_caller]
fn check_tool_gone(tool: &str, input: &Value, sleep: &str, end: impl FnOnce(&mut Editor)) {
    let (_workspace, mut editor) = desk();
    editor.begin("copydesk/tool/call", json!({ "name": tool, "input": input }));
    until("the command to run", STARTED, || !processes(&["sleep", sleep]).is_empty());
    end(&mut editor);
    until("every descendant to be gone", GONE, || processes(&["sleep", sleep]).is_empty());
}

#[test]
fn a_running_command_does_not_outlive_a_killed_server() {
    check_gone("sleep 3011.25", "3011.25", Editor::kill);
}

#[test]
fn a_server_does_not_outlive_a_killed_server_process_nor_a_closed_input() {
    let serve = |sleep: &str| {
        let command = format!("(setsid sh -c 'sleep {sleep} &'); sleep {sleep}");
        json!({ "action": "start", "command": command, "ready": { "log_pattern": "never" } })
    };
    check_tool_gone("Process", &serve("3021.25"), "3021.25", Editor::kill);
    check_tool_gone("Process", &serve("3022.25"), "3022.25", |editor| editor.hang_up());
}

#[test]
fn a_terminal_does_not_outlive_a_killed_server_nor_a_closed_input() {
    let start = |sleep: &str| {
        let command = format!("bash --norc -i -c 'set -m; sleep {sleep} & sleep {sleep}'");
        json!({ "action": "start", "command": command, "wait_for": "never", "timeout": 600_000 })
    };
    check_tool_gone("Terminal", &start("3023.25"), "3023.25", Editor::kill);
    check_tool_gone("Terminal", &start("3024.25"), "3024.25", |editor| editor.hang_up());
}

#[test]
fn a_grandchild_in_the_background_does_not_outlive_a_killed_server() {
    check_gone(
        "(setsid sh -c 'sleep 3012.25' &) ; sleep 0.1; echo started; sleep 3012.25",
        "3012.25",
        Editor::kill,
    );
}

#[test]
fn a_double_forked_daemon_does_not_outlive_a_killed_server() {
    check_gone(
        "setsid nohup sh -c '(sleep 3013.25 &)' >/dev/null 2>&1 & sleep 0.2",
        "3013.25",
        Editor::kill,
    );
}

#[test]
fn nothing_outlives_a_closed_standard_input() {
    check_gone("(setsid sleep 3014.25 &); sleep 3014.25", "3014.25", |editor| editor.hang_up());
}

#[test]
fn nothing_outlives_a_shutdown() {
    check_gone("sleep 3015.25", "3015.25", |editor| {
        editor.request("shutdown", Value::Null);
        editor.notify("exit", Value::Null);
        editor.exit_code(GONE);
    });
}

#[test]
fn a_cancelled_call_ends_the_whole_group() {
    let (_workspace, editor) = desk();
    let call = editor.begin(
        "copydesk/tool/call",
        json!({ "name": "Bash", "input": bash("trap '' TERM; sleep 3016.25 | cat") }),
    );
    until("the command to run", STARTED, || !processes(&["sleep", "3016.25"]).is_empty());
    editor.notify("$/cancelRequest", json!({ "id": call }));
    assert_eq!(editor.finish(call).unwrap_err().code, -32800);
    until("the group to be gone", GONE, || processes(&["sleep", "3016.25"]).is_empty());
}

#[test]
fn a_card_can_be_cancelled_by_itself() {
    let (_workspace, editor) = desk();
    let session = editor.session();
    let call = session.begin_tool("Bash", bash("sleep 3019.25"));
    until("the command to run", STARTED, || !processes(&["sleep", "3019.25"]).is_empty());
    session.cancel_card("execute");
    session.finish_tool(call).err();
    session.wait_card("execute", "cancelled");
    until("the command to be gone", GONE, || processes(&["sleep", "3019.25"]).is_empty());
}

#[test]
fn output_comes_in_order_from_both_streams_with_its_exit_code() {
    let (_workspace, editor) = desk();
    let called = editor.tool("Bash", bash("echo first; echo second >&2; echo third; exit 3"));
    assert!(called.is_error, "{called:?}");
    let places: Vec<_> = ["first", "second", "third"].iter().map(|w| called.text.find(w)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{}", called.text);
    assert!(called.text.contains('3'), "{}", called.text);
}

#[test]
fn a_search_that_finds_nothing_is_no_error() {
    let (_workspace, editor) = desk();
    for command in ["grep nothing a.txt", "test -e missing", "diff a.txt a.txt"] {
        editor.tool("Bash", bash(command)).ok();
    }
}

#[test]
fn a_command_reads_no_standard_input() {
    let (_workspace, editor) = desk();
    let text = editor.tool("Bash", bash("cat; echo ended")).ok();
    assert!(text.contains("ended"), "{text}");
}

#[test]
fn the_folder_carries_over_inside_the_workspace_only() {
    let (workspace, editor) = desk();
    workspace.write("sub/b.txt", "two\n");
    let session = editor.session();
    session.tool("Bash", bash("cd sub")).ok();
    assert!(session.tool("Bash", bash("pwd")).ok().contains("/ws/sub"));
    session.tool("Bash", bash("cd /")).ok();
    let text = session.tool("Bash", bash("pwd")).ok();
    assert!(text.contains("/ws"), "{text}");
}

#[test]
fn a_command_that_takes_too_long_never_reads_as_success() {
    let (_workspace, editor) = desk();
    let input =
        json!({ "command": "echo partial; sleep 3017.25", "timeout": 300, "description": "Wait" });
    let called = editor.tool("Bash", input);
    assert!(called.text.contains("partial"), "{}", called.text);
    let text = called.text.to_lowercase();
    assert!(
        ["job-", "timed out", "killed", "still running"].iter().any(|w| text.contains(w)),
        "{text}"
    );
}

#[test]
fn long_output_is_cut_in_the_middle_and_says_so() {
    let (_workspace, editor) = desk();
    let text = editor.tool("Bash", bash("seq 1 200000")).ok();
    assert!(text.len() < 60_000, "{} bytes", text.len());
    assert!(text.contains("1\n2\n3\n") && text.contains("200000"), "{}", &text[..200]);
    let artifact = text
        .split("artifact:")
        .nth(1)
        .and_then(|t| t.split(|c: char| !c.is_ascii_alphanumeric()).next());
    let artifact = artifact.unwrap_or_else(|| {
        panic!("the whole output has a name: {}", &text[text.len() / 2 - 300..])
    });
    let found = editor.tool("Grep", json!({ "pattern": "^123456$", "path": format!("artifact:{artifact}"), "output_mode": "content" }));
    let found = found.ok();
    assert!(found.contains("123456"), "{found}");
}

#[test]
fn punctuation_reaches_the_shell_as_written() {
    let (_workspace, editor) = desk();
    let all = r##"!"#$%&()*+,-./:;<=>?@[\]^_`{|}~"##;
    let text = editor.tool("Bash", bash(&format!("printf '%s\\n' '{all}'"))).ok();
    assert!(text.contains(all), "{text}");
}

#[test]
fn colours_and_progress_are_shown_as_their_final_text() {
    let (_workspace, editor) = desk();
    let text = editor.tool("Bash", bash(r"printf '\033[31mred\033[0m\n10%%\r50%%\r100%%\n'")).ok();
    assert!(
        text.contains("red")
            && text.contains("100%")
            && !text.contains('\u{1b}')
            && !text.contains("50%"),
        "{text:?}"
    );
}

#[test]
fn a_command_ends_when_it_ends_even_if_a_child_keeps_the_pipe() {
    let (_workspace, mut editor) = desk();
    let text = editor.tool("Bash", bash("sleep 3018.25 & echo done")).ok();
    assert!(text.contains("done"), "{text}");
    editor.kill();
    until("the child to be gone", GONE, || processes(&["sleep", "3018.25"]).is_empty());
}

#[test]
fn secrets_of_the_environment_reach_no_command() {
    let workspace = Workspace::new(&[]);
    let editor = crate::editor::Start::new(&workspace)
        .settings(&json!({ "mode": "auto" }))
        .env("SOME_API_KEY", "hidden-word-1")
        .env("GITHUB_TOKEN", "hidden-word-2")
        .env("PLAIN_SETTING", "shown")
        .start();
    let text = editor.tool("Bash", bash("env")).ok();
    assert!(text.contains("PLAIN_SETTING=shown") && !text.contains("hidden-word"), "{text}");
    assert!(text.contains("TERM=dumb") && text.contains("PAGER=cat"), "{text}");
}

#[test]
fn a_command_shows_the_edits_before_it() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call(
            "Edit",
            json!({ "file_path": "a.txt", "old_string": "one", "new_string": "uno" }),
        ),
        Step::call("Bash", bash("cat a.txt")),
    ]);
    let editor = Editor::open(&workspace, &model.settings());
    editor.open_file("a.txt");
    let session = editor.session();
    assert_eq!(session.prompt("go"), "end_turn");
    let results = model.results();
    assert!(results[2].contains("uno"), "{results:?}");
}

//! Models that know tools under other names: what they are offered, what their calls do, and what everyone else sees of
//! them.

use std::fmt::Write as _;

use expect_test::expect;
use serde_json::{Value, json};

use crate::editor::Editor;
use crate::model::{Model, Step};
use crate::workspace::Workspace;

const LINES: &str = "one\ntwo\nthree\n";

pub fn with_dialect(mut settings: Value, dialect: &str) -> Value {
    settings["models"]["mock/test"]["dialect"] = json!(dialect);
    settings["mode"] = json!("edit");
    settings
}

/// Names of the tools of a request over chat completions.
fn offered(request: &Value) -> Vec<&str> {
    let tools = request["tools"].as_array().unwrap();
    tools.iter().map(|it| it["function"]["name"].as_str().unwrap()).collect()
}

/// The anchor in front of a line of a result.
#[track_caller]
fn anchor<'a>(result: &'a str, line: &str) -> &'a str {
    let row = result.lines().find_map(|it| it.strip_suffix(&format!(":{line}")));
    row.unwrap_or_else(|| panic!("no anchor of {line}: {result}"))
}

#[test]
fn a_local_model_reads_anchors_and_edits_by_them() {
    let workspace = Workspace::new(&[("a.txt", LINES)]);
    let read = || Step::call("Read", json!({ "file_path": "a.txt" }));
    // The anchors are those of the text, so that they can be read before the turn that uses them.
    let reading = Model::new([read(), Step::text("read")]);
    let editor = Editor::open(&workspace, &with_dialect(reading.settings(), "local"));
    assert_eq!(editor.session().prompt("read"), "end_turn");
    let shown = reading.results().remove(0);
    let edits = json!([
        { "op": "replace", "first": anchor(&shown, "two"), "text": "2" },
        { "op": "insert_after", "first": anchor(&shown, "three"), "text": "four" },
    ]);
    drop(editor);
    let edit = Step::call("EditLines", json!({ "file_path": "a.txt", "edits": edits }));
    let model = Model::new([read(), edit, Step::text("done")]);
    let editor = Editor::open(&workspace, &with_dialect(model.settings(), "local"));
    editor.open_file("a.txt");
    editor.type_before("a.txt", "one", "unsaved ");
    let session = editor.session();
    assert_eq!(session.prompt("edit"), "end_turn");
    assert_eq!(editor.text("a.txt"), "unsaved one\n2\nthree\nfour\n");
    let told = model.results().pop().unwrap();
    assert!(told.contains(":2\n") && told.contains(":four"), "new anchors: {told}");
    let requests = model.requests();
    let names = offered(&requests[0].body);
    assert!(names.contains(&"EditLines") && !names.contains(&"Edit"), "{names:?}");
    let cards = session.cards();
    assert_eq!(cards[1]["title"], "Edit a.txt +2 −1");
}

#[test]
fn a_gpt_model_patches_and_everyone_else_sees_canonical_names() {
    let workspace = Workspace::new(&[("a.txt", LINES), ("old.txt", "x\n")]);
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2\n*** Delete File: old.txt\n*** End Patch";
    let model = Model::new([
        Step::call("read", json!({ "file_path": "a.txt" })),
        Step::call("apply_patch", json!({ "patch": patch })),
        Step::call("grep", json!({ "pattern": "2", "output_mode": "content", "lines_before": 1 })),
        Step::call("reed", json!({})),
        Step::text("done"),
    ]);
    let editor = Editor::open(&workspace, &with_dialect(model.settings(), "gpt"));
    let session = editor.session();
    assert_eq!(session.prompt("patch"), "end_turn");
    assert_eq!(workspace.read("a.txt"), "one\n2\nthree\n");
    assert!(!workspace.has("old.txt"));
    let results = model.results();
    assert!(results[0].contains("     2\ttwo"), "{results:?}");
    assert!(results[2].contains("a.txt-1-one\na.txt:2:2"), "{results:?}");
    assert!(results[3].contains("nearest names are read,"), "{results:?}");
    let requests = model.requests();
    let names = offered(&requests[0].body);
    for hidden in ["Edit", "edit", "MultiEdit", "EditLines", "Delete", "delete"] {
        assert!(!names.contains(&hidden), "{hidden} in {names:?}");
    }
    for (nth, request) in requests.iter().enumerate() {
        assert_eq!(request.body["tools"], requests[0].body["tools"], "request {nth}");
        assert_eq!(request.body["messages"][0], requests[0].body["messages"][0]);
    }
    let cards = session.cards();
    let names: Vec<&str> = cards.iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names[..3], ["Read", "ApplyPatch", "Grep"], "{cards:?}");
    assert_eq!(cards[2]["rawInput"]["-B"], 1);
}

#[test]
fn rules_hold_under_the_names_of_any_dialect() {
    let workspace = Workspace::new(&[("a.txt", LINES), ("secret/b.txt", LINES)]);
    let patch = "*** Begin Patch\n*** Add File: secret/c.txt\n+x\n*** End Patch";
    let model = Model::new([
        Step::call("read", json!({ "file_path": "secret/b.txt" })),
        Step::call("apply_patch", json!({ "patch": patch })),
        Step::call("list", json!({})),
        Step::text("done"),
    ]);
    let mut settings = with_dialect(model.settings(), "gpt");
    let deny = ["ReadFile(secret/**)", "edit(secret/**)", "list"];
    settings["permissions"] = json!({ "deny": deny });
    let editor = Editor::open(&workspace, &settings);
    assert_eq!(editor.session().prompt("go"), "end_turn");
    for result in model.results() {
        assert!(result.contains("denied"), "{result}");
    }
    assert!(
        !offered(&model.requests()[0].body).contains(&"ls"),
        "a rule that names a tool hides it"
    );
    assert!(!workspace.has("secret/c.txt"));
}

#[test]
fn a_person_calls_any_tool_in_any_dialect() {
    let workspace = Workspace::new(&[("a.txt", LINES)]);
    let editor = Editor::open(&workspace, &json!({ "mode": "edit", "dialect": "gpt" }));
    let call = |dialect: Option<&str>, name: &str, input: Value| {
        let params = json!({ "name": name, "input": input, "dialect": dialect });
        editor.request("copydesk/tool/call", params)
    };
    let text = |answer: &Value| answer["content"][0]["text"].as_str().unwrap().to_owned();
    let edit = json!({ "filePath": "a.txt", "oldString": "two", "newString": "2" });
    assert_eq!(call(Some("opencode"), "edit", edit)["isError"], false);
    let edit = json!({ "file_path": "a.txt", "old_string": "2", "new_string": "II" });
    assert_eq!(call(Some("gpt"), "Edit", edit)["isError"], false);
    let shown = text(&call(Some("local"), "Read", json!({ "file_path": "a.txt" })));
    let edits = json!([{ "op": "delete", "first": anchor(&shown, "II") }]);
    let deleted = call(None, "EditLines", json!({ "file_path": "a.txt", "edits": edits }));
    assert_eq!(deleted["isError"], false, "{deleted}");
    assert_eq!(workspace.read("a.txt"), "one\nthree\n");
    let plain = text(&call(None, "Read", json!({ "file_path": "a.txt" })));
    assert!(plain.starts_with("     1\tone"), "{plain}");
    let unknown = editor.try_request("copydesk/tool/list", json!({ "dialect": "latin" }));
    assert!(unknown.is_err_and(|it| it.message.contains("claude, gpt")));
}

#[test]
fn each_dialect_lists_its_tools() {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &json!({ "models": { "x/y": { "dialect": "local" } } }));
    let mut page = String::new();
    for dialect in ["claude", "gpt", "gemini", "local", "chord", "kimi", "opencode"] {
        let _ = writeln!(page, "{dialect}");
        let listed = editor.request("copydesk/tool/list", json!({ "dialect": dialect }));
        for tool in listed["tools"].as_array().unwrap() {
            let word = |it: &Value| it.as_str().unwrap().to_owned();
            let (name, canonical) = (word(&tool["name"]), word(&tool["canonicalName"]));
            let schema = &tool["inputSchema"];
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let fields = schema["properties"].as_object().unwrap().keys().map(|it| {
                let mark = if required.contains(&json!(it)) { "" } else { "?" };
                format!("{it}{mark}")
            });
            let fields: Vec<String> = fields.collect();
            let of = if name == canonical { String::new() } else { format!(" = {canonical}") };
            let _ = writeln!(page, "  {name}{of}({})", fields.join(", "));
        }
    }
    expect![[r#"
        claude
          Read(file_path, offset?, limit?, pages?)
          Write(file_path, content, mode?)
          Edit(file_path, old_string, new_string, replace_all?)
          MultiEdit(file_path, edits)
          Delete(paths, reason)
          NotebookEdit(notebook_path, cell_id?, new_source?, cell_type?, edit_mode?)
          ViewImage(file_path, label?)
          Grep(pattern, path?, paths?, glob?, includes?, type?, output_mode?, -A?, -B?, -C?, context_lines?, -i?, -n?, multiline?, literal?, head_limit?, offset?, include_ignored?)
          Glob(pattern?, patterns?, path?, include_dirs?, limit?)
          LS(path?, depth?, ignore?)
          Bash(command, description?, cwd?, timeout?, yield_time_ms?, run_in_background?, deadline?, disable_timeout?)
          JobOutput(job_id, wait?, block?, timeout?)
          JobList(include_finished?, active_only?, limit?)
          JobKill(job_id, reason?)
          Process(action, name?, command?, cwd?, ready?, timeout?, lines?)
          Terminal(action, terminal_id?, command?, cwd?, input?, wait_for?, quiet?, timeout?, lines_above?, cols?, rows?)
        gpt
          read = Read(file_path, offset?, limit?, pages?)
          write = Write(file_path, content, mode?)
          apply_patch = ApplyPatch(patch, file_path?)
          notebook_edit = NotebookEdit(notebook_path, cell_id?, new_source?, cell_type?, edit_mode?)
          view_image = ViewImage(file_path, label?)
          grep = Grep(pattern, path?, paths?, glob?, includes?, type?, output_mode?, lines_after?, lines_before?, lines_around?, context_lines?, ignore_case?, line_numbers?, multiline?, literal?, head_limit?, offset?, include_ignored?)
          glob = Glob(pattern?, patterns?, path?, include_dirs?, limit?)
          ls = LS(path?, depth?, ignore?)
          bash = Bash(command, description?, cwd?, timeout?, yield_time_ms?, run_in_background?, deadline?, disable_timeout?)
          job_output = JobOutput(job_id, wait?, block?, timeout?)
          job_list = JobList(include_finished?, active_only?, limit?)
          job_kill = JobKill(job_id, reason?)
          process = Process(action, name?, command?, cwd?, ready?, timeout?, lines?)
          terminal = Terminal(action, terminal_id?, command?, cwd?, input?, wait_for?, quiet?, timeout?, lines_above?, cols?, rows?)
        gemini
          Read(file_path, offset?, limit?, pages?)
          Write(file_path, content, mode?)
          Edit(file_path, old_string, new_string, replace_all?)
          MultiEdit(file_path, edits)
          Delete(paths, reason)
          NotebookEdit(notebook_path, cell_id?, new_source?, cell_type?, edit_mode?)
          ViewImage(file_path, label?)
          Grep(pattern, path?, paths?, glob?, includes?, type?, output_mode?, -A?, -B?, -C?, context_lines?, -i?, -n?, multiline?, literal?, head_limit?, offset?, include_ignored?)
          Glob(pattern?, patterns?, path?, include_dirs?, limit?)
          LS(path?, depth?, ignore?)
          Bash(command, description?, cwd?, timeout?, yield_time_ms?, run_in_background?, deadline?, disable_timeout?)
          JobOutput(job_id, wait?, block?, timeout?)
          JobList(include_finished?, active_only?, limit?)
          JobKill(job_id, reason?)
          Process(action, name?, command?, cwd?, ready?, timeout?, lines?)
          Terminal(action, terminal_id?, command?, cwd?, input?, wait_for?, quiet?, timeout?, lines_above?, cols?, rows?)
        local
          Read(file_path, offset?, limit?, pages?)
          Write(file_path, content, mode?)
          Delete(paths, reason)
          NotebookEdit(notebook_path, cell_id?, new_source?, cell_type?, edit_mode?)
          EditLines(file_path, edits)
          ViewImage(file_path, label?)
          Grep(pattern, path?, paths?, glob?, includes?, type?, output_mode?, -A?, -B?, -C?, context_lines?, -i?, -n?, multiline?, literal?, head_limit?, offset?, include_ignored?)
          Glob(pattern?, patterns?, path?, include_dirs?, limit?)
          LS(path?, depth?, ignore?)
          Bash(command, description?, cwd?, timeout?, yield_time_ms?, run_in_background?, deadline?, disable_timeout?)
          JobOutput(job_id, wait?, block?, timeout?)
          JobList(include_finished?, active_only?, limit?)
          JobKill(job_id, reason?)
          Process(action, name?, command?, cwd?, ready?, timeout?, lines?)
          Terminal(action, terminal_id?, command?, cwd?, input?, wait_for?, quiet?, timeout?, lines_above?, cols?, rows?)
        chord
          read = Read(path, offset?, limit?)
          write = Write(path, content)
          edit = Edit(path, old_string, new_string, replace_all?)
          delete = Delete(paths, reason)
          apply_patch = ApplyPatch(patch)
          view_image = ViewImage(path, label?)
          grep = Grep(pattern, paths?, includes?, context_lines?)
          glob = Glob(patterns, path?)
          shell = Bash(command, description?, workdir?, yield_time_ms?, run_in_background?, timeout_ms?)
          job_output = JobOutput(job_id, wait?)
          job_list = JobList(include_finished?)
          job_kill = JobKill(job_id, reason?)
        kimi
          Read(path, line_offset?, n_lines?)
          Write(path, content, mode?)
          Edit(path, old_string, new_string, replace_all?)
          ReadMediaFile = ViewImage(path)
          Grep(pattern, path?, glob?, type?, output_mode?, -A?, -B?, -C?, -i?, -n?, multiline?, head_limit?, offset?, include_ignored?)
          Glob(pattern, path?, include_dirs?)
          Bash(command, description?, cwd?, timeout?, run_in_background?, disable_timeout?)
          TaskOutput = JobOutput(task_id, block?, timeout?)
          TaskList = JobList(active_only?, limit?)
          TaskStop = JobKill(task_id, reason?)
        opencode
          read = Read(filePath, offset?, limit?)
          write = Write(filePath, content)
          edit = Edit(filePath, oldString, newString, replaceAll?)
          apply_patch = ApplyPatch(patchText)
          notebook_edit = NotebookEdit(notebookPath, cellId?, newSource?, cellType?, editMode?)
          grep = Grep(pattern, path?, include?)
          glob = Glob(pattern, path?)
          list = LS(path?, ignore?)
          bash = Bash(command, description, workdir?, timeout?)
          job_output = JobOutput(job_id, wait?, block?, timeout?)
          job_list = JobList(include_finished?, active_only?, limit?)
          job_kill = JobKill(job_id, reason?)
          process = Process(action, name?, command?, cwd?, ready?, timeout?, lines?)
          pty = Terminal(action, terminal_id?, command?, cwd?, input?, wait_for?, quiet?, timeout?, lines_above?, cols?, rows?)
    "#]].assert_eq(&page);
}

#[test]
fn what_to_do_next_can_be_done_in_the_dialect() {
    let many: String = (0..300).map(|it| format!("word {it}\n")).collect();
    let workspace = Workspace::new(&[("src/many.txt", &many)]);
    let editor = Editor::open(&workspace, &json!({}));
    let call = |dialect: &str, name: &str, input: Value| {
        let params = json!({ "name": name, "input": input, "dialect": dialect });
        let answer = editor.request("copydesk/tool/call", params);
        answer["content"][0]["text"].as_str().unwrap().to_owned()
    };
    for (dialect, grep, narrow) in [
        ("chord", "grep", "there is more; narrow the pattern, paths or includes"),
        ("opencode", "grep", "there is more; narrow the pattern, path or include"),
    ] {
        let found = call(dialect, grep, json!({ "pattern": "word" }));
        assert!(found.contains(narrow), "{dialect}: {found}");
    }
    let content = json!({ "pattern": "word", "output_mode": "content" });
    let found = call("kimi", "Grep", content);
    assert!(
        found.contains("use offset=250 to go on, or narrow the pattern, path or glob"),
        "{found}"
    );
    for (dialect, grep, broken, line_end) in [
        (
            "chord",
            "grep",
            "(escape the special characters with \\).",
            "(search for a part of one line).",
        ),
        (
            "kimi",
            "Grep",
            "(escape the special characters with \\).",
            "(set multiline to search across lines).",
        ),
        (
            "gpt",
            "grep",
            "(escape the special characters, or set literal).",
            "(set multiline to search across lines).",
        ),
    ] {
        let told = call(dialect, grep, json!({ "pattern": "a(" }));
        assert!(told.ends_with(broken), "{dialect}: {told}");
        let told = call(dialect, grep, json!({ "pattern": "a\\nb" }));
        assert!(told.ends_with(line_end), "{dialect}: {told}");
    }
    for (dialect, read, folder) in [
        ("chord", "read", "src is a folder. Use glob to find files in it."),
        ("kimi", "Read", "src is a folder. Use Glob to find files in it."),
        ("claude", "Read", "src is a folder. Use LS to list it or Glob to find files in it."),
    ] {
        let path = json!({ "file_path": "src" });
        assert_eq!(call(dialect, read, path), folder, "{dialect}");
    }
    let page = json!({ "path": "src/many.txt", "n_lines": 2 });
    assert!(call("kimi", "Read", page).ends_with("stopped at limit; next line_offset 3]"));
    let past = json!({ "path": "src/many.txt", "line_offset": 301 });
    assert!(call("kimi", "Read", past).ends_with("Use line_offset 1 to 300."));
}

#[test]
fn results_name_tools_as_the_dialect_calls_them() {
    let workspace = Workspace::new(&[("n.ipynb", "{}")]);
    let long = json!({ "command": "seq 20000", "description": "counts" });
    let job = json!({ "command": "true", "description": "none", "run_in_background": true });
    for (dialect, shell, edit, expected) in [
        (
            "kimi",
            "Bash",
            None,
            ["which Read and Grep take", "with TaskOutput, stop it with TaskStop"],
        ),
        (
            "chord",
            "shell",
            None,
            ["which read and grep take", "with job_output, stop it with job_kill"],
        ),
        (
            "opencode",
            "bash",
            Some("edit"),
            ["which read and grep take", "Use notebook_edit for its cells"],
        ),
    ] {
        let second = match edit {
            Some(edit) => {
                let change = json!({ "filePath": "n.ipynb", "oldString": "a", "newString": "b" });
                Step::call(edit, change)
            }
            None => Step::call(shell, job.clone()),
        };
        let model = Model::new([Step::call(shell, long.clone()), second, Step::text("done")]);
        let mut settings = with_dialect(model.settings(), dialect);
        settings["mode"] = json!("auto");
        let editor = Editor::open(&workspace, &settings);
        assert_eq!(editor.session().prompt("go"), "end_turn");
        for (result, expected) in model.results().iter().zip(expected) {
            assert!(result.contains(expected), "{dialect}: {expected}: {result}");
        }
    }
}

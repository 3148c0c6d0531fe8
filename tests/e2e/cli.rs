//! The command line: exit codes, human and machine output, the offline demo.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};

use crate::model::{Model, Step};
use crate::workspace::{Ran, Workspace, finish};

#[track_caller]
fn check(args: &[&str], code: i32) -> Ran {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    check_in(&workspace, args, code)
}

#[track_caller]
fn check_in(workspace: &Workspace, args: &[&str], code: i32) -> Ran {
    let ran = workspace.cli(args);
    assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
    assert!(
        !ran.out.contains('\u{1b}') && !ran.err.contains('\u{1b}'),
        "no colours where no terminal is: {ran:?}"
    );
    ran
}

#[test]
fn version_and_help_are_printed() {
    assert!(check(&["--version"], 0).out.contains(env!("CARGO_PKG_VERSION")));
    let help = check(&["--help"], 0).out;
    for command in ["lsp", "demo", "run", "tools", "config", "doctor"] {
        assert!(help.contains(command), "{command}: {help}");
    }
}

#[test]
fn bad_usage_ends_with_2_on_standard_error() {
    for args in [
        &["nonsense"][..],
        &["tools"],
        &["tools", "call"],
        &["--no-such-flag"],
        &["tools", "call", "Read", "{not json"],
    ] {
        let ran = check(args, 2);
        assert!(ran.out.is_empty() && !ran.err.is_empty(), "{args:?}: {ran:?}");
    }
}

#[test]
fn tools_are_listed_for_people_and_machines() {
    let listed = check(&["tools", "ls"], 0).out;
    let json = check(&["tools", "ls", "--json"], 0).json();
    let names: Vec<_> = json["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|t| t["name"].as_str())
        .collect();
    for name in ["Read", "Write", "Edit", "MultiEdit", "Grep", "Glob", "LS", "Bash"] {
        assert!(listed.contains(name) && names.contains(&name), "{name}: {listed} {names:?}");
    }
}

#[test]
fn a_tool_is_shown_with_its_schema() {
    let shown = check(&["tools", "show", "Edit", "--json"], 0).json();
    let text = shown.to_string();
    assert!(text.contains("old_string") && text.contains("required"), "{text}");
    assert!(check(&["tools", "show", "Edit"], 0).out.contains("old_string"));
}

#[test]
fn an_unknown_tool_ends_with_an_error_that_names_the_nearest() {
    let workspace = Workspace::new(&[]);
    for args in [&["tools", "show", "Reed"][..], &["tools", "call", "Reed", "{}"]] {
        let ran = workspace.cli(args);
        assert!(
            ran.code.is_some_and(|c| c != 0) && ran.err.contains("Read")
                || ran.out.contains("Read"),
            "{args:?}: {ran:?}"
        );
    }
}

#[test]
fn a_call_prints_its_result_and_a_tool_error_ends_with_1() {
    assert!(check(&["tools", "call", "Read", r#"{"file_path":"a.txt"}"#], 0).out.contains("one"));
    let ran = check(&["tools", "call", "Read", r#"{"file_path":"missing.txt"}"#], 1);
    assert!(ran.err.contains("missing.txt") || ran.out.contains("missing.txt"), "{ran:?}");
}

#[test]
fn a_call_runs_below_the_root_it_is_given() {
    let workspace = Workspace::new(&[("sub/b.txt", "below\n")]);
    let root = workspace.path("sub");
    let args =
        ["tools", "call", "Read", r#"{"file_path":"b.txt"}"#, "--root", root.to_str().unwrap()];
    assert!(check_in(&workspace, &args, 0).out.contains("below"));
}

#[test]
fn a_call_that_needs_permission_names_the_rule_to_add() {
    let workspace = Workspace::new(&[]);
    let input = json!({ "file_path": "new.txt", "content": "x\n" }).to_string();
    let ran = check_in(&workspace, &["tools", "call", "Write", &input], 1);
    let text = format!("{}{}", ran.out, ran.err);
    assert!(text.contains("Write(") || text.contains("Edit("), "{ran:?}");
    assert!(!workspace.has("new.txt"));
    check_in(&workspace, &["tools", "call", "Write", &input, "--mode", "edit"], 0);
    assert_eq!(workspace.read("new.txt"), "x\n");
}

#[test]
fn a_call_as_json_is_one_object() {
    let ran = check(&["tools", "call", "Glob", r#"{"pattern":"*.txt"}"#, "--json"], 0);
    let result = ran.json();
    assert_eq!(result["isError"], false, "{result}");
    assert!(result["content"].to_string().contains("a.txt"), "{result}");
}

#[test]
fn doctor_says_what_is_missing_and_what_to_type() {
    let ran = Workspace::new(&[]).cli(&["doctor"]);
    assert!(ran.code == Some(0) || ran.code == Some(1), "{ran:?}");
    assert!(ran.out.contains("ANTHROPIC_API_KEY"), "{ran:?}");
}

#[test]
fn doctor_says_how_commands_are_run() {
    let workspace = Workspace::new(&[]);
    let ran = workspace.cli(&["doctor"]);
    assert!(ran.out.contains("sandbox of commands: off"), "{ran:?}");
    workspace.configure("[shell]\nprogram = \"/no/such/shell\"\nsandbox = \"read-only\"\n");
    let ran = workspace.cli(&["doctor"]);
    assert!(ran.out.contains("the shell `/no/such/shell` is not there"), "{ran:?}");
    assert!(ran.out.contains("sandbox of commands: read-only"), "{ran:?}");
}

#[test]
fn doctor_names_the_model_that_is_configured() {
    let workspace = Workspace::new(&[]);
    workspace.configure("model = \"mock/test\"\n[providers.mock]\nprotocol = \"openai\"\nbase_url = \"http://127.0.0.1:9/v1\"\napi_key = \"secret-word\"\n");
    let ran = workspace.cli(&["doctor"]);
    assert!(
        ran.out.contains("mock/test") && !format!("{ran:?}").contains("secret-word"),
        "{ran:?}"
    );
}

#[test]
fn config_names_file_line_and_nearest_key() {
    let workspace = Workspace::new(&[]);
    workspace.configure("mode = \"ask\"\nprovidrs = \"x\"\n");
    let ran = check_in(&workspace, &["config", "check"], 1);
    let text = format!("{}{}", ran.out, ran.err);
    assert!(text.contains("config.toml:2:") && text.contains("providers"), "{text}");
    workspace.configure("mode = \"ask\"\n");
    check_in(&workspace, &["config", "check"], 0);
    workspace.configure("mode = = 5\n");
    let ran = check_in(&workspace, &["config", "check"], 1);
    assert!(format!("{}{}", ran.out, ran.err).contains("config.toml:1:"), "{ran:?}");
}

#[test]
fn config_path_and_schema_are_printed() {
    let workspace = Workspace::new(&[]);
    let path = check_in(&workspace, &["config", "path"], 0).out;
    assert!(
        path.contains(workspace.beside("config").join("copydesk/config.toml").to_str().unwrap()),
        "{path}"
    );
    let schema = check(&["config", "schema"], 0).json();
    for key in ["model", "mode", "providers", "permissions", "edits"] {
        assert!(schema["properties"][key].is_object(), "{key}: {schema}");
    }
}

#[test]
fn the_demo_finishes_offline_without_a_terminal() {
    let workspace = Workspace::new(&[]);
    let mut command = workspace.command(&["demo"]);
    command.env("NO_COLOR", "1");
    let ran = finish(command, Duration::from_secs(60));
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!ran.out.contains('\u{1b}'), "no colours: {}", ran.out);
    for shown in ["unsaved", "+", "-"] {
        assert!(ran.out.to_lowercase().contains(shown), "{shown}: {}", ran.out);
    }
}

/// A workspace whose user configuration names this model.
fn with_model(model: &Model) -> Workspace {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let settings = model.settings();
    let url = settings["providers"]["mock"]["base_url"].as_str().unwrap();
    workspace.configure(&format!(
        "model = \"mock/test\"\n[providers.mock]\nprotocol = \"openai\"\nbase_url = \"{url}\"\napi_key = \"k\"\n[models.\"mock/test\"]\ndialect = \"claude\"\n"
    ));
    workspace
}

fn edit_steps() -> [Step; 3] {
    [
        Step::call("Read", json!({ "file_path": "a.txt" })),
        Step::call(
            "Edit",
            json!({ "file_path": "a.txt", "old_string": "one", "new_string": "uno" }),
        ),
        Step::text("Changed it."),
    ]
}

#[test]
fn run_does_a_turn_with_a_real_endpoint() {
    let model = Model::new(edit_steps());
    let workspace = with_model(&model);
    let ran = check_in(&workspace, &["run", "--trust", "--mode", "edit", "translate it"], 0);
    assert!(ran.out.contains("Changed it."), "{ran:?}");
    assert_eq!(workspace.read("a.txt"), "uno\n");
}

#[test]
fn run_as_json_prints_one_object_a_line() {
    let model = Model::new(edit_steps());
    let workspace = with_model(&model);
    let ran =
        check_in(&workspace, &["run", "--trust", "--mode", "edit", "--json", "translate it"], 0);
    let lines: Vec<Value> = ran
        .out
        .lines()
        .map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{e}: {l}")))
        .collect();
    assert!(lines.len() > 3 && lines.iter().all(Value::is_object), "{lines:?}");
}

#[test]
fn run_without_permission_changes_nothing_and_ends_honestly() {
    let model = Model::new(edit_steps());
    let workspace = with_model(&model);
    workspace.cli(&["run", "--trust", "translate it"]);
    assert_eq!(workspace.read("a.txt"), "one\n");
}

#[test]
fn run_without_a_model_says_what_to_set() {
    let ran = check(&["run", "hello"], 1);
    assert!(ran.err.contains("ANTHROPIC_API_KEY") || ran.err.contains("doctor"), "{ran:?}");
}

#[test]
fn completions_and_manual_are_generated() {
    assert!(check(&["completions", "bash"], 0).out.contains("copydesk"));
    assert!(check(&["man"], 0).out.contains(".TH"));
}

#[test]
fn a_reader_that_went_away_is_no_error() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    for args in [
        &["--help"][..],
        &["--version"],
        &["completions", "bash"],
        &["completions", "fish"],
        &["config", "path"],
        &["config", "schema"],
        &["demo"],
        &["man"],
        &["sessions", "ls"],
        &["tools", "call", "Read", r#"{"file_path":"a.txt"}"#],
        &["tools", "ls", "--json"],
        &["tools", "show", "Bash"],
    ] {
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let mut command = workspace.command(args);
        let ran = command.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped()).output();
        let ran = ran.expect("started");
        let told = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(
            (ran.status.code(), told.contains("panicked")),
            (Some(0), false),
            "{args:?}: {told}"
        );
        assert!(!told.to_lowercase().contains("broken pipe"), "{args:?}: {told}");
    }
}

use serde_json::{Value, json};

use super::*;

#[track_caller]
fn read(value: Value) -> (Vec<Hook>, Vec<(String, String)>) {
    serde_json::from_value::<Hooks>(value).unwrap().read()
}

/// Whether the matcher of a hook fits a call that answers to these names.
#[track_caller]
fn is_fitting(matcher: &str, names: &[&str]) -> bool {
    let (hooks, problems) =
        read(json!({ "PreToolUse": [{ "matcher": matcher, "command": "true" }] }));
    assert_eq!(problems, [], "{matcher}");
    let names: Vec<String> = names.iter().map(|it| (*it).to_string()).collect();
    hooks[0].matcher.fits(&names)
}

#[track_caller]
fn fits(matcher: &str, names: &[&str]) {
    assert!(is_fitting(matcher, names), "{matcher} {names:?}");
}

#[track_caller]
fn misses(matcher: &str, names: &[&str]) {
    assert!(!is_fitting(matcher, names), "{matcher} {names:?}");
}

#[track_caller]
fn wrong(value: Value, needle: &str, problem: &str) {
    let (hooks, problems) = read(value);
    assert!(hooks.is_empty(), "{hooks:?}");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert_eq!(problems[0].0, needle);
    assert!(problems[0].1.contains(problem), "{problems:?}");
}

#[test]
fn both_forms_give_the_same_hooks_in_order() {
    let (hooks, problems) = read(json!({ "PreToolUse": [
        { "matcher": "Bash", "command": "one", "timeout": 5 },
        { "matcher": "Bash", "hooks": [
            { "type": "command", "command": "two" },
            { "type": "command", "command": "three", "async": true },
        ] },
    ] }));
    assert_eq!(problems, []);
    let told: Vec<(&str, u64, Join)> =
        hooks.iter().map(|it| (it.command.as_str(), it.timeout.as_secs(), it.join)).collect();
    let now = Join::BeforeNextLlm;
    assert_eq!(told, [("one", 5, now), ("two", 60, now), ("three", 60, Join::Background)]);
    assert!(hooks.iter().all(|it| it.event == Event::PreToolUse));
}

#[test]
fn matchers_are_names_or_expressions() {
    for everything in ["", "*", " "] {
        fits(everything, &["Bash"]);
        fits(everything, &[]);
    }
    fits("Edit|Write", &["Write"]);
    fits("Edit, Write", &["Edit"]);
    misses("Edit|Write", &["MultiEdit"]);
    fits("shell", &["Bash"]);
    fits("read", &["Read"]);
    fits("mcp__.*", &["mcp__a__b"]);
    fits("^Notebook", &["NotebookEdit"]);
    misses("^Notebook", &["EditNotebook"]);
}

#[test]
fn what_is_wrong_is_told_and_where() {
    let entry = |value: Value| json!({ "Stop": [value] });
    wrong(entry(json!({ "matcher": "(", "command": "x" })), "(", "the matcher of a Stop hook");
    wrong(entry(json!({ "matcher": "x" })), "Stop", "a Stop hook has no `command`");
    wrong(entry(json!({ "command": " " })), "Stop", "a Stop hook has no `command`");
    wrong(entry(json!({ "command": "a\u{0}b" })), "Stop", "holds a NUL");
    for seconds in [0, 86_401] {
        let value = entry(json!({ "command": "make", "timeout": seconds }));
        wrong(value, "make", "must be 1 to 86400 seconds");
    }
    let prompt = json!({ "hooks": [{ "type": "prompt", "command": "think" }] });
    wrong(entry(prompt), "prompt", "of the type `prompt`: only `command` can be run");
}

#[test]
fn one_wrong_entry_leaves_the_others() {
    let (hooks, problems) = read(json!({
        "PreToolUse": [{ "matcher": "[", "command": "a" }, { "command": "b" }],
        "PreCompact": [{ "command": "c" }],
    }));
    let commands: Vec<&str> = hooks.iter().map(|it| it.command.as_str()).collect();
    assert_eq!(commands, ["b", "c"]);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[1].1.contains("nothing raises PreCompact"), "{problems:?}");
}

use serde_json::json;

use super::*;

const FIELDS: &[(&str, &str)] = &[("path", "file_path"), ("oldString", "old_string")];

fn schema() -> Schema {
    Schema::new(json!({
        "type": "object",
        "additionalProperties": false,
        "required": ["file_path"],
        "properties": {
            "file_path": {"type": "string"},
            "limit": {"type": "integer", "minimum": 1},
            "ratio": {"type": "number"},
            "all": {"type": "boolean"},
            "mode": {"type": "string", "enum": ["overwrite", "append"]},
            "names": {"type": "array", "items": {"type": "string"}},
            "counts": {"type": "array", "items": {"type": "integer"}},
            "edits": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "additionalProperties": false,
                    "required": ["old_string"],
                    "properties": {
                        "old_string": {"type": "string"},
                        "all": {"type": "boolean"},
                        "at": {"type": "array", "items": {"type": "integer"}}
                    }
                }
            },
            "where": {"type": "object", "properties": {"line": {"type": "integer"}}}
        }
    }))
}

/// What becomes of an input with `file_path` added, and how many repairs are told.
#[track_caller]
fn check(input: Value, expected: Value, notes: usize) {
    let with_path = |mut it: Value| {
        it["file_path"] = json!("a");
        it
    };
    let repaired = repair(with_path(input), &schema(), FIELDS).unwrap();
    assert_eq!(repaired.input, with_path(expected));
    assert_eq!(repaired.notes.len(), notes, "{:?}", repaired.notes);
}

#[track_caller]
fn check_problems(input: Value, expected: &[&str]) {
    assert_eq!(repair(input, &schema(), FIELDS).unwrap_err(), expected);
}

#[test]
fn what_fits_is_left_alone() {
    for input in [
        json!({}),
        json!({"limit": 3, "ratio": 0.5, "all": true, "mode": "append"}),
        json!({"names": ["1", "[2]"], "counts": [1], "edits": [{"old_string": "null"}]}),
        json!({"names": [], "where": {"line": 2, "other": "kept"}}),
    ] {
        check(input.clone(), input, 0);
    }
}

#[test]
fn slips_are_repaired_and_told() {
    check(json!({"limit": 3.0}), json!({"limit": 3}), 1);
    check(json!({"limit": "3"}), json!({"limit": 3}), 1);
    check(json!({"limit": " 3.0 "}), json!({"limit": 3}), 1);
    check(json!({"ratio": "0.5"}), json!({"ratio": 0.5}), 1);
    check(json!({"all": "true"}), json!({"all": true}), 1);
    check(json!({"all": "False"}), json!({"all": false}), 1);
    check(json!({"names": "a b"}), json!({"names": ["a b"]}), 1);
    check(json!({"names": "[\"a\",\"b\"]"}), json!({"names": ["a", "b"]}), 1);
    check(json!({"names": "[a"}), json!({"names": ["[a"]}), 1);
    check(json!({"names": [1, "b"]}), json!({"names": ["1", "b"]}), 1);
    check(json!({"names": 1}), json!({"names": ["1"]}), 2);
    check(json!({"counts": 3}), json!({"counts": [3]}), 1);
    check(json!({"counts": "3"}), json!({"counts": [3]}), 2);
    check(json!({"counts": ["3", 4.0]}), json!({"counts": [3, 4]}), 2);
    check(json!({"edits": {"old_string": "x"}}), json!({"edits": [{"old_string": "x"}]}), 1);
    check(json!({"edits": "[{\"old_string\":\"x\"}]"}), json!({"edits": [{"old_string": "x"}]}), 1);
    check(json!({"edits": "{\"old_string\":\"x\"}"}), json!({"edits": [{"old_string": "x"}]}), 1);
    check(
        json!({"edits": [{"oldString": "x", "all": "true", "at": "[1]"}]}),
        json!({"edits": [{"old_string": "x", "all": true, "at": [1]}]}),
        3,
    );
    check(json!({"where": "{\"line\": \"2\"}"}), json!({"where": {"line": 2}}), 2);
}

#[test]
fn null_is_absent_at_every_depth() {
    check(json!({"limit": null, "edits": null}), json!({}), 0);
    check(
        json!({"edits": [{"old_string": "x", "all": null}]}),
        json!({"edits": [{"old_string": "x"}]}),
        0,
    );
    check_problems(json!({"file_path": null}), &["args.file_path is required"]);
    check_problems(Value::Null, &["args.file_path is required"]);
}

#[test]
fn other_names_are_taken() {
    #[track_caller]
    fn check(input: Value, path: &str, note: &str) {
        let repaired = repair(input, &schema(), FIELDS).unwrap();
        assert_eq!(
            (repaired.input["file_path"].as_str(), repaired.notes.join("; ")),
            (Some(path), note.into())
        );
    }
    check(json!({"path": "b"}), "b", "`path` was taken as `file_path`");
    check(
        json!({"path": "b", "file_path": "a"}),
        "a",
        "`path` was left out, since `file_path` is given",
    );
    check(json!({"path": "b", "file_path": null}), "b", "`path` was taken as `file_path`");
    check(json!({"path": null, "file_path": "a"}), "a", "");
    check(
        json!("{\"file_path\": \"a\"}"),
        "a",
        "the input was a string holding JSON; it was taken as an object",
    );
}

#[test]
fn what_cannot_be_repaired_is_told_by_its_place() {
    check_problems(json!({}), &["args.file_path is required"]);
    check_problems(json!({"file_path": "a", "x": 1}), &["args.x is not allowed"]);
    check_problems(
        json!({"file_path": "a", "mode": "both"}),
        &["args.mode must be one of overwrite, append, got \"both\""],
    );
    check_problems(
        json!({"file_path": "a", "edits": []}),
        &["args.edits must contain at least 1 item(s)"],
    );
    check_problems(
        json!({"file_path": "a", "edits": [{"old_string": "x"}, {"y": 1}]}),
        &["args.edits[1].y is not allowed", "args.edits[1].old_string is required"],
    );
    check_problems(
        json!({"file_path": ["a"], "limit": 1.5}),
        &[
            "args.file_path must be a string, got an array",
            "args.limit must be an integer, got a number",
        ],
    );
    check_problems(
        json!({"file_path": "a", "all": "maybe"}),
        &["args.all must be a boolean, got a string"],
    );
    check_problems(json!([1]), &["args must be an object, got an array"]);
    check_problems(json!("text"), &["args must be an object, got a string"]);
    check_problems(json!(7), &["args must be an object, got a number"]);
}

#[test]
fn a_choice_is_known_by_its_first_part_and_in_any_case() {
    let modes = json!({ "type": "object", "properties": { "mode": {
        "type": "string", "enum": ["files_with_matches", "files_only", "content", "count_matches"],
    } } });
    let modes = Schema::new(modes);
    let check = |given: &str, expected: Result<&str, &str>| {
        let repaired = repair(json!({ "mode": given }), &modes, &[]);
        let mode = repaired.map(|it| it.input["mode"].as_str().unwrap().to_owned());
        assert_eq!(
            mode.map_err(|it| it.join("; ")),
            expected.map(str::to_owned).map_err(str::to_owned),
            "{given}"
        );
    };
    let none = |given: &str| {
        format!(
            "args.mode must be one of files_with_matches, files_only, content, count_matches, got \"{given}\""
        )
    };
    check("count", Ok("count_matches"));
    check("Content", Ok("content"));
    check("files_with", Ok("files_with_matches"));
    for given in ["files", "cont", "", "matches"] {
        check(given, Err(&none(given)));
    }
    let told = repair(json!({ "mode": "count" }), &modes, &[]).unwrap().notes;
    assert_eq!(told, ["`mode` was `count`; it was taken as `count_matches`"]);
}

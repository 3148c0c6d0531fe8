mod commands;
mod edits;

use serde_json::{Value, json};

use super::*;

/// Calls `visit` with every schema in a schema, and where it stands.
fn walk(schema: &Value, at: &str, visit: &mut impl FnMut(&Value, &str)) {
    visit(schema, at);
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        walk(property, &format!("{at}.{name}"), visit);
    }
    if let Some(items) = schema.get("items") {
        walk(items, &format!("{at}[]"), visit);
    }
}

#[test]
fn every_schema_is_valid_plain_and_closed() {
    for entry in ALL.iter() {
        let schema = entry.input_schema();
        jsonschema::validator_for(schema).unwrap();
        let text = schema.to_string();
        for word in ["$ref", "$defs", "\"null\"", "oneOf", "anyOf", "\"format\""] {
            assert!(!text.contains(word), "{}: {word} in {text}", entry.name);
        }
        walk(schema, entry.name, &mut |schema, at| {
            if schema["type"] == "object" {
                assert_eq!(schema["additionalProperties"], false, "{at}");
            }
            assert!(schema["type"].is_string(), "{at} has no single type: {schema}");
        });
    }
}

#[test]
fn every_tool_and_field_is_described() {
    for entry in ALL.iter() {
        assert!(30 < entry.description().len(), "{}", entry.name);
        let schema = entry.input_schema();
        walk(schema, entry.name, &mut |schema, at| {
            let items = at.ends_with("[]") || at == entry.name;
            let text = schema["description"].as_str().unwrap_or_default();
            assert!(items || 5 < text.len(), "{at} is not described");
        });
    }
}

#[test]
fn field_aliases_lead_to_fields_and_hide_none() {
    for entry in ALL.iter() {
        let schema = entry.input_schema();
        for (alias, field) in entry.fields {
            let mut known = 0;
            walk(schema, "", &mut |schema, _| {
                known += usize::from(schema["properties"].get(*field).is_some());
                assert!(
                    schema["properties"].get(*alias).is_none()
                        || schema["properties"].get(*field).is_none(),
                    "{}: {alias} is a field",
                    entry.name
                );
            });
            assert!(0 < known, "{}: {field} is no field", entry.name);
        }
    }
}

#[test]
fn names_are_unlike_each_other_and_found_in_any_case() {
    let mut names: Vec<&str> =
        ALL.iter().flat_map(|it| it.aliases.iter().copied().chain([it.name])).collect();
    for name in &names {
        assert!(find(name).is_some(), "{name}");
    }
    assert_eq!(find("READ").map(|it| it.name), Some("Read"));
    assert!(find("Reed").is_none());
    names.sort();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[track_caller]
fn check(tool: &str, input: Value, expected: Result<Value, &str>) {
    let shown = dialects::CANONICAL.find(tool).unwrap();
    let repaired = shown.read(input);
    let got = repaired.map(|it| it.input).map_err(|it| it.join("; "));
    assert_eq!(got, expected.map_err(str::to_string));
}

#[test]
fn inputs_of_the_tools_are_judged_by_their_schemas() {
    check("Read", json!({"path": "a", "offset": 3.0}), Ok(json!({"file_path": "a", "offset": 3})));
    check("Read", json!({}), Err("args.file_path is required"));
    check(
        "Write",
        json!({"file_path": "a", "content": "x", "mode": "both"}),
        Err("args.mode must be one of overwrite, append, got \"both\""),
    );
    check(
        "MultiEdit",
        json!({"file_path": "a", "edits": []}),
        Err("args.edits must contain at least 1 item(s)"),
    );
    check(
        "MultiEdit",
        json!({"file_path": "a", "edits": [{"old_string": "a", "new_string": "b", "x": 1}]}),
        Err("args.edits[0].x is not allowed"),
    );
    check("Bash", json!({"command": "ls", "shell": true}), Err("args.shell is not allowed"));
}

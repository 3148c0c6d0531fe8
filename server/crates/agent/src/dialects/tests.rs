use serde_json::{Value, json};

use super::*;
use crate::tool::Entry;

/// A dialect of this name, the canonical one included.
fn dialect(name: &str) -> &'static Dialect {
    if name == "canonical" { &CANONICAL } else { named(name).unwrap() }
}

fn every() -> impl Iterator<Item = &'static Dialect> {
    ALL.iter().map(|it| of(*it)).chain([&CANONICAL])
}

/// An input that gives every field of the schema a value.
fn full(schema: &Value) -> Value {
    if let Some(choices) = schema["enum"].as_array() {
        return choices[0].clone();
    }
    match schema["type"].as_str().unwrap() {
        "object" => {
            let fields = schema["properties"].as_object().unwrap();
            Value::Object(fields.iter().map(|(name, it)| (name.clone(), full(it))).collect())
        }
        "array" => json!([full(&schema["items"])]),
        "integer" => json!(7),
        "boolean" => json!(true),
        "string" => json!("word"),
        other => unreachable!("no tool has a field of type {other}"),
    }
}

/// The names at the top and in items.
fn names(value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) => {
            map.iter().flat_map(|(name, it)| names(it).into_iter().chain([name.clone()])).collect()
        }
        Value::Array(items) => items.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn every_tool_of_every_dialect_is_mapped_back_to_its_canonical_fields() {
    for dialect in every() {
        for shown in dialect.tools() {
            let at = format!("{} {}", dialect.name, shown.name);
            let input = full(shown.input_schema());
            let read = shown.read(input.clone()).unwrap_or_else(|it| panic!("{at}: {it:?}"));
            let canonical = full(shown.entry.input_schema());
            for name in names(&read.input) {
                assert!(names(&canonical).contains(&name), "{at}: {name} is no canonical field");
            }
            assert!(names(&input).len() <= names(&read.input).len(), "{at}: a field was lost");
            assert!(shown.entry.parse(read.input.clone()).is_ok(), "{at}: {}", read.input);
        }
    }
}

#[test]
fn canonical_fields_are_taken_in_every_dialect() {
    for dialect in every() {
        for shown in dialect.tools() {
            for field in dialect.face(shown.entry.name).map_or(&[][..], Face::fields) {
                let mut input = full(shown.input_schema());
                let Some(value) = input.as_object_mut().unwrap().remove(field.name) else {
                    continue;
                };
                input[field.of] = value.clone();
                let read = shown.read(input).unwrap();
                assert_eq!(read.input[field.of], value, "{} {}", dialect.name, field.of);
            }
        }
    }
}

#[test]
fn what_dialects_name_exists_and_means_one_tool() {
    let entry = |name: &str| -> &'static Entry {
        tools::canonical(name).unwrap_or_else(|| panic!("there is no tool {name}"))
    };
    for dialect in every() {
        for (hidden, instead) in dialect.hidden {
            entry(hidden);
            let instead = entry(instead).name;
            assert!(dialect.tools().any(|it| it.entry.name == instead), "{instead} is hidden too");
        }
        for face in dialect.faces {
            let schema = entry(face.tool).input_schema();
            assert_eq!(tools::find(face.name).map(|it| it.name), Some(face.tool), "{}", face.name);
            let known = names(&full(schema));
            for field in face.fields() {
                assert!(known.contains(&field.of.to_string()), "{}: {}", face.tool, field.of);
            }
        }
        let mut shown: Vec<&str> = dialect.tools().map(|it| it.name).collect();
        let count = shown.len();
        shown.sort();
        shown.dedup();
        assert_eq!(shown.len(), count, "{}", dialect.name);
    }
}

#[test]
fn no_description_names_a_tool_that_is_hidden() {
    for dialect in every() {
        for shown in dialect.tools() {
            let text = format!("{} {}", shown.description, shown.input_schema());
            for (hidden, _) in dialect.hidden {
                let words = text.split(|it: char| !it.is_alphanumeric() && it != '_');
                let quoted = format!("`{hidden}`");
                assert!(!text.contains(&quoted), "{} {} names {hidden}", dialect.name, shown.name);
                // Multi-word names are no ordinary words, quoted or not.
                if hidden.chars().filter(|it| it.is_uppercase()).count() == 2 {
                    assert!(!words.into_iter().any(|it| it == *hidden), "{}", shown.name);
                }
            }
        }
    }
}

#[test]
fn no_description_speaks_of_what_cannot_be_asked_for() {
    for dialect in every() {
        for shown in dialect.tools() {
            let text = format!("{} {}", shown.description, shown.input_schema());
            let own = shown.entry.input_schema()["properties"].as_object().unwrap();
            for (name, field) in own {
                let at = format!("{} {}: {name}", dialect.name, shown.name);
                let as_shown = dialect.field(shown.entry.name, name);
                if as_shown != Some(name) {
                    assert!(!text.contains(&format!("`{name}`")), "{at}");
                }
                for word in field["enum"].as_array().into_iter().flatten() {
                    let told = text.contains(&format!("`{}`", word.as_str().unwrap()));
                    assert!(!told || as_shown.is_some(), "{at}: {word}");
                }
            }
        }
        let read = dialect.tools().find(|it| it.entry.name == "Read").unwrap();
        let speaks = read.description.contains("notebook");
        assert!(!speaks || dialect.offers("NotebookEdit"), "{}", dialect.name);
    }
}

#[track_caller]
fn check_offered(name: &str, offered: &[&str], hidden: &[&str]) {
    let names: Vec<&str> = dialect(name).tools().map(|it| it.name).collect();
    for tool in offered {
        assert!(names.contains(tool), "{name} lacks {tool}: {names:?}");
    }
    for tool in hidden {
        assert!(!names.contains(tool), "{name} offers {tool}");
        assert!(dialect(name).find(tool).is_some(), "{tool} cannot be called");
    }
}

#[test]
fn each_family_has_its_way_to_edit() {
    check_offered("claude", &["Read", "Edit", "MultiEdit", "Write"], &["ApplyPatch", "EditLines"]);
    check_offered("gemini", &["Read", "Edit", "MultiEdit", "Write"], &["ApplyPatch", "EditLines"]);
    check_offered(
        "gpt",
        &["read", "write", "apply_patch", "job_output"],
        &["Edit", "MultiEdit", "EditLines", "Delete"],
    );
    check_offered("chord", &["read", "edit", "shell", "delete"], &["MultiEdit", "EditLines"]);
    check_offered("kimi", &["Read", "Edit", "TaskOutput"], &["MultiEdit", "LS", "Delete"]);
    check_offered("opencode", &["read", "edit", "apply_patch", "list"], &["MultiEdit", "Delete"]);
    check_offered("local", &["Read", "EditLines", "Write"], &["Edit", "MultiEdit", "ApplyPatch"]);
    assert_eq!(CANONICAL.tools().count(), tools::ALL.len());
}

#[test]
fn a_tool_is_called_as_the_dialect_shows_it_or_what_stands_in_for_it() {
    assert_eq!(dialect("gpt").called("Edit"), "apply_patch");
    assert_eq!(dialect("gpt").called("LS"), "ls");
    assert_eq!(dialect("local").called("Edit"), "EditLines");
    assert_eq!(CANONICAL.called("Edit"), "Edit");
}

#[test]
fn an_unknown_tool_is_told_the_nearest_the_dialect_shows() {
    let canonical = |name: &str| CANONICAL.unknown(name);
    assert_eq!(
        canonical("Raed"),
        "There is no tool `Raed`. The nearest names are Read, Bash, Grep."
    );
    assert!(canonical(&"x".repeat(5_000)).len() < 300);
    let told = dialect("gpt").unknown("patch_apply");
    assert!(told.contains("apply_patch") && !told.contains("ApplyPatch"), "{told}");
    assert!(!dialect("local").unknown("Edti").contains("Edit,"));
}

#[test]
fn names_of_dialects_are_told() {
    let told = named("latin").err().unwrap();
    assert!(
        told.contains("`latin`")
            && told.contains("claude, gpt, gemini, local, chord, kimi, opencode"),
        "{told}"
    );
}

#[track_caller]
fn check_family(model: &str, expected: &str) {
    assert_eq!(of_family(llm::facts(model).family).name, expected, "{model}");
}

#[test]
fn models_have_the_dialect_of_their_family() {
    check_family("claude-sonnet-4-5", "claude");
    check_family("gpt-5-mini", "gpt");
    check_family("gemini-2.5-pro", "gemini");
    check_family("qwen3:8b", "local");
}

#[track_caller]
fn check_read(dialect_name: &str, tool: &str, input: Value, expected: Result<Value, &str>) {
    let read = dialect(dialect_name).find(tool).unwrap().read(input);
    let read = read.map(|it| it.input).map_err(|it| it.join("; "));
    assert_eq!(read, expected.map_err(str::to_string));
}

#[test]
fn inputs_are_read_under_the_names_shown() {
    check_read(
        "gpt",
        "grep",
        json!({"pattern": "x", "lines_after": "2", "ignore_case": true}),
        Ok(json!({"pattern": "x", "-A": 2, "-i": true})),
    );
    check_read(
        "gpt",
        "Grep",
        json!({"pattern": "x", "-A": 2}),
        Ok(json!({"pattern": "x", "-A": 2})),
    );
    check_read("gpt", "read", json!({"path": "a"}), Ok(json!({"file_path": "a"})));
    check_read(
        "gpt",
        "grep",
        json!({"pattern": "x", "lines_after": []}),
        Err("args.lines_after must be an integer, got an array"),
    );
    check_read(
        "canonical",
        "Grep",
        json!({"pattern": "x", "lines_after": 1}),
        Ok(json!({"pattern": "x", "-A": 1})),
    );
}

#[test]
fn limits_and_presets_are_the_dialects_own() {
    let bash = |more: Value| {
        let mut input = json!({"command": "x"});
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    let check_bash = |dialect: &str, tool: &str, given: Value, expected: Value| {
        check_read(dialect, tool, bash(given), Ok(bash(expected)));
    };
    check_bash("kimi", "Bash", json!({}), json!({}));
    check_bash("kimi", "Bash", json!({"timeout": 400_000}), json!({"timeout": 300_000}));
    check_bash(
        "kimi",
        "Bash",
        json!({"run_in_background": true, "description": "y"}),
        json!({"run_in_background": true, "description": "y"}),
    );
    check_read(
        "kimi",
        "Bash",
        bash(json!({"run_in_background": true})),
        Err("args.description is required in the background"),
    );
    check_bash("chord", "shell", json!({}), json!({"deadline": 600_000}));
    check_bash("chord", "shell", json!({"timeout_ms": 0}), json!({"deadline": 0}));
    check_bash(
        "chord",
        "shell",
        json!({"run_in_background": true, "timeout_ms": 99_999_999_u64, "workdir": "a"}),
        json!({"run_in_background": true, "deadline": 21_600_000, "cwd": "a"}),
    );
    check_read(
        "kimi",
        "Read",
        json!({"path": "a", "n_lines": 5_000}),
        Ok(json!({"file_path": "a", "limit": 1_000})),
    );
    check_read(
        "chord",
        "grep",
        json!({"pattern": "x", "path": "a", "glob": "*.rs"}),
        Ok(json!({"pattern": "x", "paths": ["a"], "includes": ["*.rs"], "output_mode": "content"})),
    );
    check_read("chord", "glob", json!({}), Err("args.patterns is required"));
    check_read(
        "opencode",
        "edit",
        json!({"filePath": "a", "oldString": "x", "newString": "y", "replaceAll": true}),
        Ok(json!({"file_path": "a", "old_string": "x", "new_string": "y", "replace_all": true})),
    );
    check_read("opencode", "bash", json!({"command": "x"}), Err("args.description is required"));
}

//! The pages made from the program's own words are what it says today.
//!
//! `UPDATE_GENERATED=1 cargo test -p copydesk --test e2e generated` writes them.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::Value;

use crate::workspace::Workspace;

const COMMAND: &str = "UPDATE_GENERATED=1 cargo test -p copydesk --test e2e generated";

#[test]
fn the_configuration_schema_is_fresh() {
    check("docs/config.schema.json", &said(&["config", "schema"]));
}

#[test]
fn the_page_about_tools_is_fresh() {
    let mut page = format!(
        "# Tools\n\n<!-- Generated from `copydesk tools show`; do not edit.\n     To write it anew: {COMMAND} -->\n\n\
         What the model can call. Each call passes the same permission gate, whoever makes it; try one \
         with `copydesk tools call NAME JSON`.\n"
    );
    let listed: Value = serde_json::from_str(&said(&["tools", "ls", "--json"])).unwrap();
    for tool in listed["tools"].as_array().unwrap() {
        section(&mut page, tool["name"].as_str().unwrap());
    }
    check("docs/TOOLS.md", &page);
}

fn section(page: &mut String, name: &str) {
    let tool: Value = serde_json::from_str(&said(&["tools", "show", name, "--json"])).unwrap();
    let text = said(&["tools", "show", name]);
    let aliases = text.lines().find(|it| it.starts_with("Also called "));
    let description = tool["description"].as_str().unwrap();
    let _ = write!(page, "\n## {name}\n\nKind: {}.", tool["kind"].as_str().unwrap());
    if let Some(aliases) = aliases {
        let _ = write!(page, " {aliases}");
    }
    let _ = writeln!(page, "\n\n{description}\n\n| field | type | |\n|---|---|---|");
    let schema = &tool["inputSchema"];
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    fields(page, schema, &required, "");
}

fn fields(page: &mut String, schema: &Value, required: &[&str], prefix: &str) {
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let mark = if required.contains(&name.as_str()) { "" } else { "?" };
        let mut about = field["description"].as_str().unwrap_or_default().replace('\n', " ");
        if !field["default"].is_null() {
            let _ = write!(about, " Default: `{}`.", field["default"]);
        }
        let about = about.replace('|', "\\|");
        let _ = writeln!(page, "| `{prefix}{name}`{mark} | {} | {} |", kind(field), about.trim());
        let items = &field["items"];
        let inner: Vec<&str> =
            items["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        fields(page, items, &inner, &format!("{prefix}{name}[]."));
    }
}

fn kind(field: &Value) -> String {
    let choices = field["enum"].as_array().or_else(|| field["oneOf"].as_array());
    match (choices, &field["type"]) {
        (Some(choices), _) => {
            let words = choices.iter().map(|it| it["const"].as_str().or_else(|| it.as_str()));
            words.flatten().map(|it| format!("`{it}`")).collect::<Vec<_>>().join(", ")
        }
        (None, Value::String(one)) => one.clone(),
        (None, Value::Array(many)) => {
            let names: Vec<&str> =
                many.iter().filter_map(Value::as_str).filter(|it| *it != "null").collect();
            names.join(" or ")
        }
        (None, _) => "any".to_owned(),
    }
}

/// What the program prints, when it works.
fn said(args: &[&str]) -> String {
    let ran = Workspace::new(&[]).cli(args);
    assert_eq!(ran.code, Some(0), "{args:?}: {ran:?}");
    ran.out
}

#[track_caller]
fn check(path: &str, expected: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    if std::env::var_os("UPDATE_GENERATED").is_some() {
        std::fs::write(&file, expected).unwrap();
    }
    let found = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(found == expected, "{path} is stale; write it with: {COMMAND}");
}

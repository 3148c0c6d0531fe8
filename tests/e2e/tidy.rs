//! Rules about the source itself, one test each: sizes, arrows between crates, names that must not leak, leftovers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::workspace::{Workspace, output, project as root};

/// Longest file allowed, in lines.
const LONGEST: usize = 800;

/// Files that may be longer, each with its reason.
const LONGER: [(&str, &str); 0] = [];

/// Crates of this workspace a crate may depend on.
const ARROWS: [(&str, &[&str]); 10] = [
    ("text", &[]),
    ("script", &[]),
    ("exec", &["script"]),
    ("llm", &[]),
    ("media", &[]),
    ("protocol", &[]),
    ("review", &["text"]),
    ("vfs", &["text"]),
    ("agent", &["text", "script", "vfs", "exec", "llm", "media", "protocol"]),
    ("copydesk", &["text", "review", "vfs", "exec", "llm", "media", "protocol", "agent"]),
];

/// Outside crates that only some of ours may use.
const DOORS: [(&str, &[&str]); 15] = [
    ("tree-sitter", &["script"]),
    ("tree-sitter-bash", &["script"]),
    ("tokio", &["exec", "llm", "agent", "copydesk", "vfs"]),
    ("serde", &["exec", "llm", "media", "protocol", "vfs", "agent", "copydesk"]),
    ("serde_json", &["exec", "llm", "media", "protocol", "vfs", "agent", "copydesk"]),
    ("tower-lsp", &["protocol", "copydesk"]),
    ("lsp-types", &["protocol", "copydesk"]),
    ("reqwest", &["llm"]),
    ("portable-pty", &["exec"]),
    ("alacritty_terminal", &["exec"]),
    ("landlock", &["exec"]),
    ("seccompiler", &["exec"]),
    ("hayro", &["media"]),
    ("image", &["media"]),
    ("clap", &["copydesk"]),
];

#[test]
fn every_file_of_these_tests_is_a_module() {
    let root = root().join("tests/e2e");
    let mut missing = Vec::new();
    for path in walk(&root) {
        let inside = path.strip_prefix(&root).unwrap();
        let stem = inside.file_stem().unwrap().to_str().unwrap();
        let parent = match inside.parent().and_then(Path::to_str) {
            Some("") if stem == "main" => continue,
            Some("") => root.join("main.rs"),
            Some(folder) => root.join(format!("{folder}.rs")),
            None => unreachable!("a path inside the folder"),
        };
        let list = std::fs::read_to_string(&parent).unwrap_or_default();
        if !list.lines().any(|l| l.trim_start_matches("pub ") == format!("mod {stem};")) {
            missing.push(inside.to_owned());
        }
    }
    assert!(missing.is_empty(), "in no module list: {missing:?}");
}

#[test]
fn no_file_is_too_long() {
    let mut long = Vec::new();
    for (path, text) in sources() {
        let lines = text.lines().count();
        let generated = text.lines().take(3).any(|l| l.to_lowercase().contains("generated"));
        let source =
            [".rs", ".ts", ".mjs", ".lua", ".py", ".css"].iter().any(|end| path.ends_with(end));
        if source
            && !generated
            && lines > LONGEST
            && !LONGER.iter().any(|(excepted, _)| *excepted == path)
        {
            long.push(format!("{path}: {lines} lines"));
        }
    }
    assert!(long.is_empty(), "over {LONGEST} lines: {long:#?}");
}

#[test]
fn crates_depend_only_along_the_arrows() {
    let allowed: BTreeMap<_, _> = ARROWS.into_iter().collect();
    let mut wrong = Vec::new();
    for (name, dependencies) in crates() {
        let Some(allowed) = allowed.get(name.as_str()) else {
            wrong.push(format!("{name} has no place among the arrows"));
            continue;
        };
        let ours = dependencies.iter().filter(|d| ARROWS.iter().any(|(name, _)| name == d));
        wrong.extend(
            ours.filter(|d| !allowed.contains(&d.as_str())).map(|d| format!("{name} → {d}")),
        );
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn each_door_to_the_outside_has_its_crate() {
    let mut wrong = Vec::new();
    for (name, dependencies) in crates() {
        for (outside, allowed) in DOORS {
            if dependencies.contains(outside) && !allowed.contains(&name.as_str()) {
                wrong.push(format!("{name} uses {outside}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

#[test]
fn neither_the_server_shell_nor_a_frontend_names_a_tool() {
    let tools = Workspace::new(&[]).cli(&["tools", "ls", "--json"]).json();
    let names: Vec<_> = tools["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .filter_map(|t| t["name"].as_str())
        .collect();
    assert!(names.len() >= 8, "{names:?}");
    let mut found = Vec::new();
    for (path, text) in sources() {
        let shell = path.starts_with("server/src/") && !path.contains("test");
        let frontend =
            path.starts_with("vscode-extension/src/") || path.starts_with("nvim-plugin/");
        let source = [".rs", ".ts", ".lua"].iter().any(|end| path.ends_with(end));
        if !(shell || frontend) || !source || path.contains("/test") {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let spoken = |name: &&&str| {
                ['"', '\'', '`'].iter().any(|q| line.contains(&format!("{q}{name}{q}")))
            };
            // "Edit" is also what a mode is called on the screen.
            for name in names.iter().filter(|n| !(frontend && **n == "Edit")).filter(spoken) {
                found.push(format!("{path}:{}: {name}", number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

#[test]
fn the_source_is_formatted() {
    let ran = output(cargo().args(["fmt", "--all", "--check"]));
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
}

#[test]
fn no_struct_has_too_many_fields() {
    let mut large = Vec::new();
    for (path, text) in sources() {
        if path.ends_with(".rs") {
            large.extend(structs_over(&text, 12).into_iter().map(|name| format!("{path}: {name}")));
        }
    }
    assert!(large.is_empty(), "over 12 fields, outside wire and argument structs: {large:#?}");
}

#[test]
fn struct_counting_sees_fields_and_spares_wire_types() {
    let fields: String =
        (0..13).map(|n| format!("    /// doc: {{\n    #[x]\n    pub f{n}: Vec<u8>,\n")).collect();
    assert_eq!(structs_over(&format!("struct A {{\n{fields}}}\n"), 12), ["A"]);
    assert_eq!(structs_over(&format!("struct A {{\n{fields}}}\n"), 13), [""; 0]);
    assert_eq!(
        structs_over(
            &format!("#[derive(Debug, Serialize)]\n#[x]\npub struct A {{\n{fields}}}\n"),
            12
        ),
        [""; 0]
    );
}

#[test]
fn no_test_is_left_out() {
    found_nowhere(&[
        concat!("#[ign", "ore"),
        concat!("it.sk", "ip("),
        concat!("describe.sk", "ip("),
        concat!("it.on", "ly("),
    ]);
}

#[test]
fn no_note_to_self_is_left() {
    found_nowhere(&[
        concat!("// TO", "DO"),
        concat!("# TO", "DO"),
        concat!("-- TO", "DO"),
        concat!("FIX", "ME"),
        concat!("todo", "!("),
        concat!("unimplemented", "!("),
    ]);
}

#[test]
fn no_path_of_a_machine_is_left() {
    let here = root();
    let here = here.to_str().expect("a path in UTF-8");
    found_nowhere(&[
        here,
        concat!("/wo", "rk/main"),
        concat!("/wo", "rk/shared"),
        concat!("/ro", "ot/"),
        concat!("/home", "/runner"),
    ]);
}

#[test]
fn every_crate_says_what_it_is() {
    let mut silent = Vec::new();
    for (path, text) in sources() {
        let entry = path.starts_with("server/")
            && (path.ends_with("src/lib.rs") || path.ends_with("src/main.rs"));
        if entry && !text.starts_with("//! ") {
            silent.push(path);
        }
    }
    assert!(silent.is_empty(), "no header: {silent:?}");
}

#[test]
fn the_readme_names_commands_that_exist() {
    let readme = std::fs::read_to_string(root().join("README.md")).expect("a README");
    let workspace = Workspace::new(&[]);
    let mut count = 0;
    for line in shell_lines(&readme) {
        let words: Vec<_> = line.split_whitespace().collect();
        let product = match words.as_slice() {
            ["copydesk", rest @ ..] => Some(rest),
            ["cargo", "run", ..] => {
                words.iter().position(|w| *w == "--").map(|at| &words[at + 1..])
            }
            [first, ..] if first.contains('/') && !first.contains(':') => {
                assert!(root().join(first).exists(), "{line}: no such file");
                count += 1;
                None
            }
            _ => None,
        };
        if let Some([command, ..]) =
            product.filter(|p| p.first().is_some_and(|w| w.starts_with(char::is_alphabetic)))
        {
            let ran = workspace.cli(&[command, "--help"]);
            assert_eq!(ran.code, Some(0), "{line}: {ran:?}");
            count += 1;
        }
    }
    assert!(count >= 2, "the README shows how to try it and how to test it");
}

fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// Every file of the project that is or will be committed, with its text; binaries and lock files are left out.
fn sources() -> Vec<(String, String)> {
    let mut git = Command::new("git");
    let listed = output(git.current_dir(root()).args([
        "ls-files",
        "--cached",
        "--others",
        "--exclude-standard",
    ]));
    assert!(listed.status.success(), "git ls-files: {}", String::from_utf8_lossy(&listed.stderr));
    let names = String::from_utf8(listed.stdout).expect("names in UTF-8");
    let kept = names.lines().filter(|n| !n.ends_with(".lock") && !n.ends_with("package-lock.json"));
    kept.filter_map(|n| Some((n.to_owned(), std::fs::read_to_string(root().join(n)).ok()?)))
        .collect()
}

/// The packages of this workspace and what each depends on, tests included.
fn crates() -> BTreeMap<String, BTreeSet<String>> {
    let ran = output(cargo().args(["metadata", "--no-deps", "--offline", "--format-version", "1"]));
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let metadata: Value = serde_json::from_slice(&ran.stdout).expect("metadata");
    let mut found = BTreeMap::new();
    for package in metadata["packages"].as_array().expect("packages") {
        let normal = package["dependencies"]
            .as_array()
            .expect("dependencies")
            .iter()
            .filter(|d| d["kind"].is_null());
        let names = normal.filter_map(|d| d["name"].as_str()).map(str::to_owned).collect();
        found.insert(package["name"].as_str().expect("a name").to_owned(), names);
    }
    found
}

#[track_caller]
fn found_nowhere(patterns: &[&str]) {
    let mut found = Vec::new();
    for (path, text) in sources() {
        for (number, line) in text.lines().enumerate() {
            if patterns.iter().any(|p| line.contains(p)) {
                found.push(format!("{path}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "{found:#?}");
}

/// Names of structs with more fields than `most`, those that go over a wire or describe arguments left out.
fn structs_over(text: &str, most: usize) -> Vec<String> {
    let mut over = Vec::new();
    let mut attributes = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let trimmed = line.trim_start();
        if trimmed.starts_with("#[") {
            attributes.push_str(trimmed);
            continue;
        }
        let words: Vec<_> = trimmed.split([' ', '<', '(']).collect();
        let name = words.iter().position(|w| *w == "struct").and_then(|at| words.get(at + 1));
        let declares = trimmed.starts_with("struct ") || trimmed.starts_with("pub");
        if let (Some(name), true, true) = (name, declares, line.trim_end().ends_with('{')) {
            let indent = line.len() - trimmed.len();
            let is_field = |l: &&str| {
                let inner = l.trim_start();
                let place = l.len() - inner.len();
                place == indent + 4 && inner.contains(": ") && !inner.starts_with(['/', '#', '}'])
            };
            let end = format!("{}}}", " ".repeat(indent));
            let fields = lines.by_ref().take_while(|l| *l != end).filter(is_field).count();
            let wire = ["Serialize", "Deserialize", "JsonSchema", "Parser", "Args"]
                .iter()
                .any(|d| attributes.contains(d));
            if fields > most && !wire {
                over.push((*name).to_owned());
            }
        }
        attributes.clear();
    }
    over
}

/// Lines of the shell blocks of a Markdown text, prompts taken off.
fn shell_lines(markdown: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut inside = false;
    for line in markdown.lines() {
        if let Some(language) = line.trim_start().strip_prefix("```") {
            inside = !inside && matches!(language.trim(), "sh" | "bash" | "console" | "shell");
        } else if inside {
            lines.push(line.trim_start_matches("$ ").to_owned());
        }
    }
    lines
}

fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            found.extend(walk(&entry.path()));
        } else if entry.path().extension().is_some_and(|e| e == "rs") {
            found.push(entry.path());
        }
    }
    found
}

//! Patches as data: each folder of `scenarios/` holds `input/`, the `patch.txt` that is applied to it, the
//! files `expected/` afterwards, and `told.txt`: `applied` or `refused`, then what the result must say, line by
//! line. `path.txt` is the file of a patch that names none.

#![allow(clippy::disallowed_methods, reason = "tests read their own data and folders")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::settings::Mode;
use crate::testing::{Desk, calls};

type Files = BTreeMap<PathBuf, Vec<u8>>;

#[tokio::test]
async fn every_folder_ends_as_it_says() {
    let all = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/tools/apply_patch/scenarios");
    let mut folders: Vec<PathBuf> =
        fs::read_dir(all).unwrap().map(|it| it.unwrap().path()).collect();
    folders.retain(|it| it.is_dir());
    folders.sort();
    assert!(60 <= folders.len(), "only {} folders", folders.len());
    for folder in folders {
        check(&folder).await;
    }
}

async fn check(folder: &Path) {
    let name = folder.file_name().unwrap().to_string_lossy();
    let (input, expected) = (files(&folder.join("input")), files(&folder.join("expected")));
    let told = text(&folder.join("told.txt"));
    let mut told = told.lines();
    let mark = match told.next() {
        Some("applied") => '✓',
        Some("refused") => '✗',
        other => panic!("{name}: told.txt begins with {other:?}"),
    };
    assert!(mark == '✓' || input == expected, "{name}: what is refused changes nothing");
    let mut patch = json!({ "patch": text(&folder.join("patch.txt")) });
    if folder.join("path.txt").exists() {
        patch["file_path"] = json!(text(&folder.join("path.txt")));
    }
    let read = |path: &PathBuf| calls(&[("Read", json!({ "file_path": path }))]);
    let mut steps: Vec<Value> = input.keys().map(read).collect();
    steps.extend([calls(&[("ApplyPatch", patch)]), json!({ "text": "done" })]);
    let desk = Desk::new(Mode::Edit, Value::Array(steps));
    fs::remove_dir_all(&desk.root).unwrap();
    fs::create_dir(&desk.root).unwrap();
    for (path, bytes) in &input {
        let path = desk.root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    desk.turn("go").await;
    let result = desk.results().pop().unwrap();
    assert!(result.starts_with(mark), "{name}: {result}");
    for part in told {
        assert!(result.contains(part), "{name}: `{part}` is not in: {result}");
    }
    let shown = |files: &Files| -> BTreeMap<PathBuf, String> {
        files.iter().map(|(path, it)| (path.clone(), it.escape_ascii().to_string())).collect()
    };
    assert_eq!(shown(&files(&desk.root)), shown(&expected), "{name}: {result}");
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|err| panic!("{}: {err}", path.display()))
}

/// Every file below a folder, by its path in it.
fn files(folder: &Path) -> Files {
    let mut all = Files::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        let entries = fs::read_dir(&at).unwrap_or_else(|err| panic!("{}: {err}", at.display()));
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                all.insert(
                    path.strip_prefix(folder).unwrap().to_path_buf(),
                    fs::read(&path).unwrap(),
                );
            }
        }
    }
    all
}

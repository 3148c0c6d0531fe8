//! Processes, memory, size.

use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::{decide_all, hunks, seen, unasked};
use crate::editor::Editor;
use crate::editor::session::Session;
use crate::reading::memory;
use crate::workspace::{PATIENCE, Workspace, processes, until};

const GONE: Duration = Duration::from_secs(5);

fn automatic() -> Value {
    json!({ "mode": "auto" })
}

/// Process, its parent, of all that run.
fn parents() -> Vec<(u32, u32)> {
    let entries = std::fs::read_dir("/proc").unwrap().flatten();
    let stat = |folder: PathBuf| {
        let text = std::fs::read_to_string(folder.join("stat")).ok()?;
        let (before, after) = text.rsplit_once(')')?;
        let pid = before.split_whitespace().next()?.parse().ok()?;
        Some((pid, after.split_whitespace().nth(1)?.parse().ok()?))
    };
    entries.filter_map(|it| stat(it.path())).collect()
}

/// All that descends from the server.
fn descendants(editor: &Editor) -> Vec<u32> {
    let parents = parents();
    let mut found = vec![editor.pid()];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        found.extend(parents.iter().filter(|it| it.1 == parent).map(|it| it.0));
        at += 1;
    }
    found.split_off(1)
}

fn entries(pid: u32, folder: &str) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/{folder}")).map_or(0, Iterator::count)
}

/// H2: however many sessions there are, there is one server, with the one process that starts commands.
#[test]
fn many_sessions_are_one_server() {
    let workspace = Workspace::new(&[("src/main.rs", "fn main() {}\n"), ("Cargo.toml", "")]);
    let editor = Editor::open(&workspace, &automatic());
    editor.open_file("src/main.rs");
    let sessions: Vec<Session<'_>> = (0..11).map(|_| editor.session()).collect();
    for session in &sessions {
        session.tool("Read", json!({ "file_path": "src/main.rs" })).ok();
        session.tool("Bash", json!({ "command": "true" })).ok();
    }
    until("the commands to be gone", GONE, || descendants(&editor).len() == 1);
}

/// H4: nothing holds the folder once the server has gone, so that it can be moved or unmounted.
#[test]
fn no_process_stays_in_the_folder() {
    let ends: [fn(&mut Editor); 2] = [Editor::kill, |editor| editor.hang_up()];
    for (end, seconds) in ends.into_iter().zip(["3151.25", "3152.25"]) {
        let workspace = Workspace::new(&[("sub/a.txt", "one\n")]);
        let mut editor = Editor::open(&workspace, &automatic());
        let command =
            format!("cd sub; (setsid sleep {seconds} &); sleep {seconds} & sleep {seconds}");
        let input = json!({ "command": command, "run_in_background": true });
        editor.tool("Bash", input).ok();
        let inside = || {
            let all = parents().into_iter();
            let cwds = all.filter_map(|it| std::fs::read_link(format!("/proc/{}/cwd", it.0)).ok());
            cwds.filter(|cwd| cwd.starts_with(workspace.root())).count()
        };
        until("the programs to run", PATIENCE, || processes(&["sleep", seconds]).len() == 3);
        assert!(0 < inside());
        end(&mut editor);
        until("the folder to be let go", GONE, || inside() == 0);
    }
}

/// H5: a hundred sessions, each with a job, a server and a program on a terminal, leave nothing.
#[test]
fn a_hundred_sessions_leave_processes_and_memory_as_they_were() {
    const AT_ONCE: usize = 10;
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &automatic());
    let round = || {
        let sessions: Vec<Session<'_>> = (0..AT_ONCE).map(|_| editor.session()).collect();
        let begun: Vec<_> = sessions
            .iter()
            .flat_map(|session| {
                let stay = "sleep 3153.25 & echo up; sleep 3153.25";
                let job = json!({ "command": stay, "run_in_background": true });
                let server =
                    json!({ "action": "start", "command": stay, "ready": { "log_pattern": "up" } });
                let terminal = json!({ "action": "start", "command": stay, "wait_for": "up" });
                let tools = [("Bash", job), ("Process", server), ("Terminal", terminal)];
                tools.map(|(tool, input)| (session, session.begin_tool(tool, input)))
            })
            .collect();
        for (session, call) in begun {
            session.finish_tool(call).ok();
        }
        for session in &sessions {
            editor.request("session/close", json!({ "sessionId": session.id }));
        }
    };
    let supervisor = descendants(&editor);
    assert_eq!(supervisor.len(), 1);
    let held = || {
        let all = [editor.pid(), supervisor[0]];
        (all.map(|pid| entries(pid, "fd")), all.map(|pid| entries(pid, "task")))
    };
    round();
    round();
    let settled = || descendants(&editor) == supervisor;
    until("the first sessions to be gone", PATIENCE, settled);
    let (fds, tasks) = held();
    let before = memory(&editor);
    for _ in 0..8 {
        round();
    }
    until("all sessions to be gone", PATIENCE, settled);
    until("descriptors and threads as before", PATIENCE, || {
        let now = held();
        now.0.iter().zip(fds).all(|(now, before)| *now <= before)
            && now.1.iter().zip(tasks).all(|(now, before)| *now <= before)
    });
    let grown = memory(&editor).saturating_sub(before);
    assert!(grown < 16 << 20, "{grown} bytes more");
    assert!(processes(&["sleep", "3153.25"]).is_empty());
}

/// H7: keeping all ends well where one of the changed files is gone, whoever deleted it.
#[test]
fn all_is_kept_where_a_file_was_deleted() {
    let workspace = Workspace::new(&[("a.txt", "one\n"), ("b.txt", "one\n"), ("c.txt", "one\n")]);
    let editor = Editor::open(&workspace, &unasked());
    editor.open_file("a.txt");
    for path in ["a.txt", "b.txt", "c.txt"] {
        let session = seen(&editor, path);
        let edit = json!({ "file_path": path, "old_string": "one", "new_string": "two" });
        session.tool("Edit", edit).ok();
    }
    std::fs::remove_file(workspace.path("b.txt")).unwrap();
    editor.tool("Delete", json!({ "paths": ["c.txt"], "reason": "not needed" })).ok();
    decide_all(&editor, "accept");
    assert!(hunks(&editor).is_empty());
    until("the open file to be saved", PATIENCE, || workspace.read("a.txt") == "two\n");
    assert!(!workspace.has("b.txt") && !workspace.has("c.txt"));
}

/// H8: at the root of a large tree the server takes little memory, and none more with each search.
#[test]
fn a_large_tree_costs_little_memory() {
    const FOLDERS: usize = 100;
    const FILES: usize = 200;
    let workspace = Workspace::new(&[(".gitignore", "node_modules/\n")]);
    for folder in 0..FOLDERS {
        let place = match folder % 2 {
            0 => format!("packages/package-{folder}/src"),
            _ => format!("packages/package-{folder}/node_modules/dependency"),
        };
        let place = workspace.path(&place);
        std::fs::create_dir_all(&place).unwrap();
        for file in 0..FILES {
            std::fs::File::create(place.join(format!("a-file-of-a-usual-name-{file}.ts"))).unwrap();
        }
    }
    let editor = Editor::open(&workspace, &json!({}));
    let search = || {
        editor.tool("Grep", json!({ "pattern": "nowhere" })).ok();
        let found = editor.tool("Glob", json!({ "pattern": "**/*name-199.ts" })).ok();
        assert_eq!(found.matches("name-199.ts").count(), FOLDERS / 2, "{found}");
        memory(&editor)
    };
    let first = search();
    assert!(first < 96 << 20, "{first} bytes");
    let mut last = first;
    for _ in 0..5 {
        last = search();
    }
    assert!(last.saturating_sub(first) < 8 << 20, "{first} bytes, then {last}");
}

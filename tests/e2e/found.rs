//! Files that a command changed: found, pending, told, and taken back byte for byte.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use serde_json::{Value, json};

use crate::editor::session::Session;
use crate::editor::{Editor, Kind, Start};
use crate::workspace::{PATIENCE, Workspace, output, until};

fn automatic() -> Value {
    json!({ "mode": "auto" })
}

fn bash(command: &str) -> Value {
    json!({ "command": command, "description": "Change files" })
}

fn job(command: &str) -> Value {
    json!({ "command": command, "description": "Change files", "run_in_background": true })
}

/// What is pending: `path: change, "old" -> "new"`, in the order of the list.
fn pending(editor: &Editor) -> Vec<String> {
    let listed = editor.request("copydesk/review/list", json!({}));
    let files = listed["files"].as_array().expect("files");
    let mut out = Vec::new();
    for file in files {
        let path = file["uri"].as_str().expect("a uri").rsplit('/').next().expect("a name");
        let change = file["change"].as_str().expect("a change");
        for hunk in file["hunks"].as_array().expect("hunks") {
            out.push(format!("{path}: {change}, {} -> {}", hunk["oldText"], hunk["newText"]));
        }
    }
    out
}

#[track_caller]
fn reject(editor: &Editor) -> Value {
    let all = json!({ "action": "reject", "items": [{ "all": true }] });
    let resolved = editor.request("copydesk/review/resolve", all);
    assert_eq!(resolved["conflicts"], json!([]), "{resolved}");
    assert_eq!(pending(editor), Vec::<String>::new());
    resolved
}

fn git(workspace: &Workspace, arguments: &[&str]) {
    let mut command = Command::new("git");
    command.current_dir(workspace.root()).env_clear().env("HOME", workspace.beside("home"));
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(arguments);
    let ran = output(&mut command);
    assert!(ran.status.success(), "git {arguments:?}: {ran:?}");
}

/// A workspace whose files are all in a repository, older than its index.
fn repository(files: &[(&str, &str)]) -> Workspace {
    let workspace = Workspace::new(files);
    git(&workspace, &["init", "-q"]);
    for (path, _) in files {
        let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
        let file = std::fs::File::options().append(true).open(workspace.path(path)).unwrap();
        file.set_modified(old).unwrap();
    }
    git(&workspace, &["add", "."]);
    git(&workspace, &["commit", "-q", "-m", "first"]);
    workspace
}

fn mode(workspace: &Workspace, path: &str) -> u32 {
    std::fs::metadata(workspace.path(path)).unwrap().permissions().mode() & 0o777
}

/// Runs a command on closed files; checks what is told and pending, and that rejecting gives the bytes back.
#[track_caller]
fn check(workspace: &Workspace, command: &str, told: &[&str], expected: &[&str]) {
    let before = contents(workspace);
    let editor = Editor::open(workspace, &automatic());
    let text = editor.session().tool("Bash", bash(command)).ok();
    for part in told {
        assert!(text.contains(part), "{part:?} is not in {text:?}");
    }
    assert_eq!(pending(&editor), expected, "{text}");
    reject(&editor);
    assert_eq!(contents(workspace), before, "{text}");
}

fn contents(workspace: &Workspace) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    let mut folders = vec![workspace.root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            if path.ends_with(".git") {
            } else if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(workspace.root()).unwrap().display().to_string();
                found.push((name, std::fs::read(path).unwrap()));
            }
        }
    }
    found.sort();
    found
}

#[test]
fn a_closed_file_is_found_changed_and_comes_back() {
    for workspace in
        [Workspace::new(&[("a.txt", "one\ntwo\n")]), repository(&[("a.txt", "one\ntwo\n")])]
    {
        check(
            &workspace,
            "sed -i s/two/TWO/ a.txt",
            &["[changed: a.txt +1 −1]"],
            &[r#"a.txt: modify, "two\n" -> "TWO\n""#],
        );
    }
}

#[test]
fn of_files_that_a_rule_denies_only_the_person_is_told() {
    let workspace =
        Workspace::new(&[("a.txt", "one\n"), ("aaa/s.txt", "one\n"), ("aaa/x", "one\n")]);
    let mut settings = automatic();
    settings["permissions"] = json!({ "deny": ["Read(aaa/**)"] });
    let editor = Editor::open(&workspace, &settings);
    let script = "for it in */s* a.txt; do sed -i s/one/two/ $it; done; chmod 600 */x";
    let text = editor.session().tool("Bash", bash(script)).ok();
    assert!(text.contains("[changed: a.txt +1 −1]"), "{text}");
    assert!(text.contains("[changed: 2 files that a rule denies reading]"), "{text}");
    assert!(!text.contains("s.txt") && !text.contains("aaa"), "{text}");
    let expected = ["a.txt", "s.txt"].map(|it| format!(r#"{it}: modify, "one\n" -> "two\n""#));
    assert_eq!(pending(&editor), expected);
}

#[test]
fn bytes_and_mode_come_back() {
    let workspace = Workspace::new(&[]);
    workspace.write("a.txt", b"caf\xe9\r\ntwo\nthree\r\n");
    let editor = Editor::open(&workspace, &automatic());
    let command = "printf 'x\\r\\ntwo\\n' > a.txt; chmod 755 a.txt";
    editor.session().tool("Bash", bash(command)).ok();
    assert_eq!(mode(&workspace, "a.txt"), 0o755);
    reject(&editor);
    assert_eq!(workspace.bytes("a.txt"), b"caf\xe9\r\ntwo\nthree\r\n");
    assert_eq!(mode(&workspace, "a.txt"), 0o644);
}

#[test]
fn new_deleted_and_moved_files_come_back() {
    for workspace in [
        Workspace::new(&[("a.txt", "one\n"), ("b.txt", "two\n")]),
        repository(&[("a.txt", "one\n"), ("b.txt", "two\n")]),
    ] {
        check(
            &workspace,
            "rm a.txt; mkdir sub; mv b.txt sub/c.txt; echo new > d.txt",
            &["a.txt (deleted)", "d.txt (new, +1)", "sub/c.txt (new, +1)"],
            &[
                r#"a.txt: delete, "one\n" -> """#,
                r#"b.txt: delete, "two\n" -> """#,
                r#"d.txt: add, "" -> "new\n""#,
                r#"c.txt: add, "" -> "two\n""#,
            ],
        );
    }
}

#[test]
fn a_mode_alone_is_told() {
    let workspace = Workspace::new(&[("run.sh", "true\n")]);
    let editor = Editor::open(&workspace, &automatic());
    let text = editor.session().tool("Bash", bash("chmod 755 run.sh")).ok();
    assert!(text.contains("run.sh (mode 644 → 755)"), "{text}");
    assert_eq!(pending(&editor), Vec::<String>::new());
}

#[test]
fn nothing_is_told_of_a_command_that_changes_nothing() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let editor = Editor::open(&workspace, &automatic());
    let text = editor.session().tool("Bash", bash("touch a.txt; cat a.txt > /dev/null")).ok();
    assert!(!text.contains("changed"), "{text}");
    assert_eq!(pending(&editor), Vec::<String>::new());
}

#[test]
fn the_card_shows_diffs_and_places() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    session.tool("Bash", bash("echo two >> a.txt")).ok();
    let card = session.wait_card("execute", "completed");
    let kinds: Vec<_> =
        card["content"].as_array().expect("content").iter().map(|it| it["type"].clone()).collect();
    assert_eq!(kinds, [json!("terminal"), json!("diff")], "{card}");
    assert!(card["content"][1].to_string().contains("+two"), "{card}");
    let place = card["locations"][0]["path"].as_str().expect("a place");
    assert!(place.ends_with("/a.txt"), "{card}");
}

#[test]
fn line_endings_changed_wholesale_are_said() {
    let workspace = Workspace::new(&[("a.txt", "one\r\ntwo\r\n")]);
    check(
        &workspace,
        "sed -i 's/\\r$//' a.txt",
        &["line endings of the whole file changed: a.txt from CRLF to LF"],
        &[r#"a.txt: modify, "one\r\ntwo\r\n" -> "one\ntwo\n""#],
    );
}

#[test]
fn a_formatter_over_many_files_is_found_whole() {
    let names = ["a.txt", "b.txt", "c.txt", "d.txt", "e.txt"];
    let files: Vec<_> = names.iter().map(|it| (*it, "one\ntwo  \n")).collect();
    for workspace in [Workspace::new(&files), repository(&files)] {
        let expected: Vec<_> =
            names.iter().map(|it| format!("{it}: modify, \"two  \\n\" -> \"two\\n\"")).collect();
        let expected: Vec<_> = expected.iter().map(String::as_str).collect();
        check(&workspace, "sed -i 's/ *$//' *.txt", &["a.txt +1 −1", "e.txt +1 −1"], &expected);
    }
}

#[test]
fn a_repository_that_rewrites_line_endings_gives_the_bytes_of_the_work_tree() {
    let workspace = Workspace::new(&[("a.txt", "one\r\ntwo\r\n")]);
    git(&workspace, &["init", "-q"]);
    git(&workspace, &["config", "core.autocrlf", "true"]);
    git(&workspace, &["add", "."]);
    git(&workspace, &["commit", "-q", "-m", "first"]);
    std::fs::remove_file(workspace.path("a.txt")).unwrap();
    git(&workspace, &["checkout", "-q", "--", "a.txt"]);
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_000_000);
    let file = std::fs::File::options().append(true).open(workspace.path("a.txt")).unwrap();
    file.set_modified(old).unwrap();
    drop(file);
    git(&workspace, &["add", "."]);
    check(
        &workspace,
        "sed -i s/two/TWO/ a.txt",
        &["[changed: a.txt +1 −1]"],
        &[r#"a.txt: modify, "two\r\n" -> "TWO\r\n""#],
    );
}

#[test]
fn a_switched_branch_is_counted_and_not_pending() {
    let workspace = repository(&[("a.txt", "one\n")]);
    git(&workspace, &["checkout", "-q", "-b", "many"]);
    for number in 0..300 {
        workspace.write(&format!("many/{number:03}.txt"), "text\n");
    }
    git(&workspace, &["add", "."]);
    git(&workspace, &["commit", "-q", "-m", "many"]);
    let editor = Editor::open(&workspace, &automatic());
    let text = editor.session().tool("Bash", bash("git checkout -q -")).ok();
    assert!(text.contains("[300 files changed, more than"), "{text}");
    assert!(text.contains("many/000.txt") && text.contains("and 280 more"), "{text}");
    assert_eq!(pending(&editor), Vec::<String>::new());
}

/// Starts a command, lets the editor read the file anew once it has changed, and gives the command's result.
#[track_caller]
fn reloading(
    workspace: &Workspace,
    editor: &Editor,
    session: &Session<'_>,
    command: &str,
) -> String {
    let before = workspace.bytes("a.txt");
    let call = session.begin_tool("Bash", bash(command));
    until("the file to change", PATIENCE, || workspace.bytes("a.txt") != before);
    editor.reload("a.txt");
    session.finish_tool(call).ok()
}

#[test]
fn an_open_file_that_the_editor_reads_anew_is_the_commands_edit() {
    for kind in [Kind::Strict, Kind::Lying] {
        // Before the command ends, and after.
        for command in ["echo TWO > a.txt; sleep 0.5", "echo TWO > a.txt"] {
            let workspace = Workspace::new(&[("a.txt", "two\n")]);
            let editor = Start::new(&workspace).kind(kind).settings(&automatic()).start();
            editor.open_file("a.txt");
            let session = editor.session();
            let text = reloading(&workspace, &editor, &session, command);
            assert!(text.contains("[changed: a.txt +1 −1]"), "{text}");
            assert_eq!(pending(&editor), [r#"a.txt: modify, "two\n" -> "TWO\n""#], "{kind:?}");
            assert!(!editor.is_dirty("a.txt"));
            reject(&editor);
            assert_eq!(editor.text("a.txt"), "two\n");
            until("the file to be saved", PATIENCE, || workspace.read("a.txt") == "two\n");
        }
    }
}

#[test]
fn an_editor_that_reads_the_file_late_has_it_pending_then() {
    for kind in [Kind::Strict, Kind::Lying] {
        let workspace = Workspace::new(&[("a.txt", "two\n")]);
        let editor = Start::new(&workspace).kind(kind).settings(&automatic()).start();
        editor.open_file("a.txt");
        let text = editor.session().tool("Bash", bash("echo TWO > a.txt")).ok();
        assert!(text.contains("the editor still shows the text before: a.txt"), "{text}");
        assert_eq!(pending(&editor), Vec::<String>::new());
        editor.reload("a.txt");
        editor.type_before("a.txt", "TWO", "mine\n");
        assert_eq!(pending(&editor), [r#"a.txt: modify, "two\n" -> "TWO\n""#], "{kind:?}");
        reject(&editor);
        assert_eq!(editor.text("a.txt"), "mine\ntwo\n");
    }
}

#[test]
fn hunks_of_before_stay_beside_those_of_a_command() {
    let workspace = Workspace::new(&[("a.txt", "one\ntwo\nthree\nfour\n")]);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    let edit = json!({ "file_path": "a.txt", "old_string": "one", "new_string": "ONE" });
    session.tool("Edit", edit).ok();
    session.tool("Bash", bash("sed -i s/four/FOUR/ a.txt")).ok();
    let expected =
        [r#"a.txt: modify, "one\n" -> "ONE\n""#, r#"a.txt: modify, "four\n" -> "FOUR\n""#];
    assert_eq!(pending(&editor), expected);
    reject(&editor);
    assert_eq!(workspace.read("a.txt"), "one\ntwo\nthree\nfour\n");
}

#[test]
fn unsaved_text_stays_and_the_difference_is_told() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let editor = Editor::open(&workspace, &automatic());
    editor.open_file("a.txt");
    editor.type_before("a.txt", "one", "mine ");
    let text = editor.session().tool("Bash", bash("echo two > a.txt")).ok();
    assert!(text.contains("while the editor holds unsaved text"), "{text}");
    assert_eq!(editor.text("a.txt"), "mine one\n");
    assert_eq!(workspace.read("a.txt"), "two\n");
    assert_eq!(pending(&editor), Vec::<String>::new());
}

#[test]
fn what_the_person_saves_meanwhile_is_theirs() {
    let workspace = Workspace::new(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let editor = Editor::open(&workspace, &automatic());
    editor.open_file("a.txt");
    let session = editor.session();
    let command =
        "touch started; while [ ! -e go ]; do sleep 0.05; done; rm go started; echo TWO > b.txt";
    let call = session.begin_tool("Bash", bash(command));
    until("the command to run", PATIENCE, || workspace.has("started"));
    editor.type_before("a.txt", "one", "mine ");
    editor.save("a.txt");
    workspace.write("go", "");
    let text = session.finish_tool(call).ok();
    assert!(text.contains("[changed: b.txt +1 −1]"), "{text}");
    assert_eq!(pending(&editor), [r#"b.txt: modify, "two\n" -> "TWO\n""#]);
}

#[test]
fn typing_is_followed_while_a_command_runs() {
    let workspace = Workspace::new(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let editor = Editor::open(&workspace, &automatic());
    editor.open_file("a.txt");
    let session = editor.session();
    let command = "touch started; while [ ! -e go ]; do sleep 0.05; done; rm go started";
    let call = session.begin_tool("Bash", bash(command));
    until("the command to run", PATIENCE, || workspace.has("started"));
    editor.type_before("a.txt", "one", "mine ");
    let read = editor.tool("Read", json!({ "file_path": "a.txt" })).ok();
    assert!(read.contains("mine one"), "{read}");
    workspace.write("go", "");
    session.finish_tool(call).ok();
    assert_eq!(pending(&editor), Vec::<String>::new());
}

#[test]
fn a_job_is_looked_at_when_it_ends() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    session
        .tool("Bash", job("while [ ! -e go ]; do sleep 0.05; done; rm go; echo two > a.txt"))
        .ok();
    assert_eq!(pending(&editor), Vec::<String>::new());
    workspace.write("go", "");
    until("the change to be pending", PATIENCE, || !pending(&editor).is_empty());
    assert_eq!(pending(&editor), [r#"a.txt: modify, "one\n" -> "two\n""#]);
    reject(&editor);
    assert_eq!(workspace.read("a.txt"), "one\n");
}

#[test]
fn a_command_that_goes_on_as_a_job_is_looked_at_twice() {
    let workspace = Workspace::new(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    let mut input =
        bash("echo ONE > a.txt; while [ ! -e go ]; do sleep 0.05; done; rm go; echo TWO > b.txt");
    input["yield_time_ms"] = json!(1_000);
    let text = session.tool("Bash", input).ok();
    assert!(text.contains("background job") && text.contains("[changed: a.txt +1 −1]"), "{text}");
    assert_eq!(pending(&editor), [r#"a.txt: modify, "one\n" -> "ONE\n""#]);
    workspace.write("go", "");
    until("the change to be pending", PATIENCE, || pending(&editor).len() > 1);
    reject(&editor);
    assert_eq!(
        (workspace.read("a.txt"), workspace.read("b.txt")),
        ("one\n".into(), "two\n".into())
    );
}

#[test]
fn two_commands_at_once_enter_each_change_once() {
    let workspace = Workspace::new(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let editor = Editor::open(&workspace, &automatic());
    let (first, second) = (editor.session(), editor.session());
    let wait = |file: &str, text: &str| {
        bash(&format!("while [ ! -e go ]; do sleep 0.05; done; echo {text} > {file}"))
    };
    let one = first.begin_tool("Bash", wait("a.txt", "ONE"));
    let two = second.begin_tool("Bash", wait("b.txt", "TWO"));
    workspace.write("go", "");
    first.finish_tool(one).ok();
    second.finish_tool(two).ok();
    let mut found = pending(&editor);
    found.retain(|it| !it.starts_with("go:"));
    assert_eq!(
        found,
        [r#"a.txt: modify, "one\n" -> "ONE\n""#, r#"b.txt: modify, "two\n" -> "TWO\n""#]
    );
    reject(&editor);
    assert_eq!(
        (workspace.read("a.txt"), workspace.read("b.txt")),
        ("one\n".into(), "two\n".into())
    );
}

#[test]
fn a_cancelled_command_is_looked_after_too() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    let call = session.begin_tool("Bash", bash("echo two > a.txt; sleep 3020.25"));
    until("the file to change", PATIENCE, || workspace.read("a.txt") == "two\n");
    editor.notify("$/cancelRequest", json!({ "id": call }));
    editor.finish(call).unwrap_err();
    until("the change to be pending", PATIENCE, || !pending(&editor).is_empty());
    reject(&editor);
    assert_eq!(workspace.read("a.txt"), "one\n");
}

#[test]
fn what_was_found_survives_the_server_and_what_was_not_stays_on_disk() {
    let workspace = Workspace::new(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let mut editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    session.tool("Bash", bash("echo ONE > a.txt")).ok();
    until("the change to be kept", PATIENCE, || {
        workspace
            .own_files()
            .iter()
            .any(|(path, text)| path.ends_with("review.json") && text.contains("a.txt"))
    });
    session.begin_tool("Bash", bash("echo TWO > b.txt; sleep 3021.25"));
    until("the file to change", PATIENCE, || workspace.read("b.txt") == "TWO\n");
    editor.kill();
    drop(editor);
    let editor = Editor::open(&workspace, &automatic());
    assert_eq!(pending(&editor), [r#"a.txt: modify, "one\n" -> "ONE\n""#]);
    reject(&editor);
    assert_eq!(
        (workspace.read("a.txt"), workspace.read("b.txt")),
        ("one\n".into(), "TWO\n".into())
    );
}

/// A file's mode belongs to what a command did to it, whatever was edited since.
#[test]
fn a_mode_goes_and_comes_back_with_the_change() {
    for (edited, restarted) in [(false, false), (false, true), (true, false), (true, true)] {
        let workspace = Workspace::new(&[("e.sh", "one\ntwo\n")]);
        let script = workspace.path("e.sh");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o644)).unwrap();
        let now = || {
            let mode = std::fs::metadata(&script).unwrap().permissions().mode() & 0o777;
            (workspace.read("e.sh"), mode)
        };
        let mut editor = Editor::open(&workspace, &automatic());
        let session = editor.session();
        session.tool("Bash", bash("echo three >> e.sh; chmod 755 e.sh")).ok();
        if edited {
            session.tool("Read", json!({ "file_path": "e.sh" })).ok();
            let edit = json!({ "file_path": "e.sh", "old_string": "one", "new_string": "ONE" });
            session.tool("Edit", edit).ok();
        }
        let changed = now();
        assert_eq!(changed.1, 0o755);
        let restart = |editor: &mut Editor| {
            if restarted {
                editor.request("shutdown", Value::Null);
                editor.notify("exit", Value::Null);
                editor.exit_code(PATIENCE);
                *editor = Editor::open(&workspace, &automatic());
            }
        };
        restart(&mut editor);
        let resolved = reject(&editor);
        assert_eq!(now(), ("one\ntwo\n".to_owned(), 0o644), "{edited} {restarted}");
        restart(&mut editor);
        let token = json!({ "undoToken": resolved["undoToken"] });
        editor.request("copydesk/review/undo", token);
        assert_eq!(now(), changed, "{edited} {restarted}");
        reject(&editor);
        assert_eq!(now(), ("one\ntwo\n".to_owned(), 0o644), "{edited} {restarted}");
    }
}

/// Also where the editor shows the file, once it has read the change.
#[test]
fn a_mode_goes_and_comes_back_in_open_documents() {
    for edited in [false, true] {
        let workspace = Workspace::new(&[("e.sh", "one\ntwo\n")]);
        let script = workspace.path("e.sh");
        std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o640)).unwrap();
        let mode = || std::fs::metadata(&script).unwrap().permissions().mode() & 0o777;
        let editor = Editor::open(&workspace, &automatic());
        editor.open_file("e.sh");
        let session = editor.session();
        session.tool("Bash", bash("echo three >> e.sh; chmod 755 e.sh")).ok();
        editor.reload("e.sh");
        until("the change to be pending", PATIENCE, || pending(&editor).len() == 1);
        if edited {
            session.tool("Read", json!({ "file_path": "e.sh" })).ok();
            let edit = json!({ "file_path": "e.sh", "old_string": "one", "new_string": "ONE" });
            session.tool("Edit", edit).ok();
        }
        let (changed, bits) = (editor.text("e.sh"), mode());
        assert_eq!(bits, 0o755);
        for _ in 0..2 {
            let resolved = reject(&editor);
            assert_eq!((editor.text("e.sh").as_str(), mode()), ("one\ntwo\n", 0o640), "{edited}");
            editor.request("copydesk/review/undo", json!({ "undoToken": resolved["undoToken"] }));
            assert_eq!((editor.text("e.sh"), mode()), (changed.clone(), bits), "{edited}");
        }
    }
}

//! Before a command: files that the agent changed only in the editor are offered to be saved.

use serde_json::{Value, json};

use crate::editor::session::Session;
use crate::editor::{ALLOW, Answer, Editor, Kind, REJECT, Start};
use crate::workspace::Workspace;

const ASKED: &str = "session/request_permission";
const SAVE: &str = "copydesk/editor/save";

fn bash(command: &str) -> Value {
    json!({ "command": command, "description": "Run it" })
}

fn change(session: &Session<'_>, path: &str) {
    session.tool("Read", json!({ "file_path": path })).ok();
    let input = json!({ "file_path": path, "old_string": "one", "new_string": "uno" });
    session.tool("Edit", input).ok();
}

/// Two open files that the agent has changed and nobody has saved.
fn desk(mode: &str) -> (Workspace, Editor) {
    let workspace = Workspace::new(&[("a.txt", "one\n"), ("b.txt", "one\n"), ("c.txt", "one\n")]);
    let settings = json!({ "mode": mode, "permissions": { "allow": ["Bash(cp:*)"] } });
    let editor = Editor::open(&workspace, &settings);
    for path in ["a.txt", "b.txt", "c.txt"] {
        editor.open_file(path);
    }
    (workspace, editor)
}

fn changed(editor: &Editor) -> Session<'_> {
    let session = editor.session();
    change(&session, "a.txt");
    change(&session, "b.txt");
    assert!(editor.is_dirty("a.txt") && editor.is_dirty("b.txt") && !editor.is_dirty("c.txt"));
    session
}

#[test]
fn one_question_saves_all_files_the_command_may_read() {
    let (workspace, editor) = desk("edit");
    editor.permit(ALLOW);
    let session = changed(&editor);
    let text = session.tool("Bash", bash("cp a.txt copy.txt")).ok();
    let asked = editor.asked(ASKED);
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!(asked[0]["title"], "Save 2 files for this command?");
    let description = asked[0]["description"].as_str().unwrap();
    assert!(description.contains("a.txt\nb.txt"), "{description}");
    assert!(asked[0]["subject"].to_string().contains("cp a.txt copy.txt"), "{asked:?}");
    assert_eq!(
        (workspace.read("a.txt"), workspace.read("copy.txt")),
        ("uno\n".into(), "uno\n".into())
    );
    assert!(!editor.is_dirty("a.txt") && !editor.is_dirty("b.txt"));
    assert!(text.contains("a.txt was saved first"), "{text}");
    session.tool("Bash", bash("cp b.txt copy.txt")).ok();
    assert_eq!(editor.asked(ASKED).len(), 1, "there is nothing left to save");
}

#[test]
fn without_a_yes_the_command_runs_and_says_what_it_read() {
    let (workspace, editor) = desk("edit");
    editor.permit(REJECT);
    let text = changed(&editor).tool("Bash", bash("cp a.txt copy.txt")).ok();
    assert_eq!(workspace.read("copy.txt"), "one\n");
    assert!(editor.is_dirty("a.txt"));
    assert!(text.contains("read a.txt without the changes"), "{text}");
    assert!(editor.asked(SAVE).is_empty());
}

#[test]
fn a_dismissed_question_runs_nothing() {
    let (workspace, editor) = desk("edit");
    editor.permit(Answer::Dismiss);
    changed(&editor).tool("Bash", bash("cp a.txt copy.txt")).err();
    assert!(!workspace.has("copy.txt") && editor.is_dirty("a.txt"));
}

#[test]
fn a_command_that_reads_none_of_them_asks_nothing() {
    let (_workspace, editor) = desk("edit");
    let session = changed(&editor);
    for command in ["ls", "cat c.txt", "pwd"] {
        session.tool("Bash", bash(command)).ok();
    }
    assert!(editor.asked(ASKED).is_empty());
    editor.permit(ALLOW);
    let text = session.tool("Bash", bash("cat b.txt")).ok();
    assert!(text.contains("uno"), "{text}");
    assert_eq!(editor.asked(ASKED)[0]["title"], "Save 1 file for this command?");
    assert!(editor.is_dirty("a.txt"), "only what it names is saved");
}

#[test]
fn what_the_person_typed_is_said_and_saved_only_with_their_yes() {
    let (workspace, editor) = desk("edit");
    editor.permit(ALLOW);
    let session = changed(&editor);
    editor.type_before("a.txt", "uno", "typed ");
    session.tool("Bash", bash("cp a.txt copy.txt")).ok();
    let description = editor.asked(ASKED)[0]["description"].as_str().unwrap().to_owned();
    assert!(description.contains("a.txt (also holds changes of your own)"), "{description}");
    assert!(description.contains("\nb.txt"), "{description}");
    assert_eq!(workspace.read("copy.txt"), "typed uno\n");
}

#[test]
fn in_auto_the_agents_own_edits_are_saved_and_nothing_of_the_persons() {
    let (workspace, editor) = desk("auto");
    let session = changed(&editor);
    editor.type_before("b.txt", "uno", "typed ");
    editor.type_before("c.txt", "one", "typed ");
    let text = session.tool("Bash", bash("cat a.txt b.txt c.txt > copy.txt")).ok();
    assert!(editor.asked(ASKED).is_empty());
    assert_eq!(workspace.read("copy.txt"), "uno\none\none\n");
    assert!(editor.is_dirty("b.txt") && editor.is_dirty("c.txt"));
    assert!(text.contains("a.txt was saved first"), "{text}");
    assert!(text.contains("read b.txt without the changes"), "{text}");
    assert!(!text.contains("c.txt"), "the person's own buffers are theirs: {text}");
}

#[test]
fn never_is_never() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let editor = Editor::open(&workspace, &json!({ "mode": "auto", "edits": { "save": "never" } }));
    editor.open_file("a.txt");
    let session = editor.session();
    change(&session, "a.txt");
    let text = session.tool("Bash", bash("cp a.txt copy.txt")).ok();
    assert_eq!(workspace.read("copy.txt"), "one\n");
    assert!(text.contains("read a.txt without the changes"), "{text}");
}

#[test]
fn what_cannot_be_saved_is_said() {
    let (workspace, editor) = desk("auto");
    let session = changed(&editor);
    editor.before_save(|state| {
        let uri = state.documents.keys().find(|it| it.ends_with("a.txt")).unwrap().clone();
        state.documents.remove(&uri);
    });
    let text = session.tool("Bash", bash("cp a.txt copy.txt")).ok();
    assert!(text.contains("a.txt could not be saved first"), "{text}");
    assert_eq!(workspace.read("copy.txt"), "one\n");
    assert!(text.contains("b.txt was saved first"), "{text}");
}

#[test]
fn a_job_is_preceded_by_the_question_too() {
    let (workspace, editor) = desk("edit");
    editor.permit(ALLOW);
    let session = changed(&editor);
    let mut input = bash("cp a.txt copy.txt");
    input["run_in_background"] = true.into();
    session.tool("Bash", input).ok();
    session.tool("JobOutput", json!({ "job_id": "job-1", "wait": "exit" })).ok();
    assert_eq!(workspace.read("copy.txt"), "uno\n");
}

#[test]
fn edits_of_another_session_are_offered_too() {
    let (workspace, editor) = desk("edit");
    editor.permit(ALLOW);
    changed(&editor);
    editor.session().tool("Bash", bash("cp a.txt copy.txt")).ok();
    assert_eq!(editor.asked(ASKED).len(), 1);
    assert_eq!(workspace.read("copy.txt"), "uno\n");
}

#[test]
fn an_editor_that_cannot_save_leaves_the_command_to_read_the_files() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    let editor = Start::new(&workspace)
        .kind(Kind::Strict)
        .without("save")
        .settings(&json!({ "mode": "auto" }))
        .start();
    editor.open_file("a.txt");
    let session = editor.session();
    change(&session, "a.txt");
    let text = session.tool("Bash", bash("cp a.txt copy.txt")).ok();
    assert!(text.contains("a.txt could not be saved first"), "{text}");
    assert_eq!(workspace.read("copy.txt"), "one\n");
}

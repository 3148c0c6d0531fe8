//! Decisions on files that come, go and change names, taken back: nothing typed is lost, no name is taken twice, and all
//! of a decision comes back or none.

use serde_json::{Value, json};

use crate::editor::{Editor, Start};
use crate::review::{BEFORE, automatic, hunks, resolve, undo};
use crate::workspace::Workspace;

/// All files with their texts, and what is pending in which file.
fn state(workspace: &Workspace, editor: &Editor) -> (Vec<(String, String)>, Vec<Value>) {
    let mut files = Vec::new();
    let mut folders = vec![workspace.root().to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let name = path.strip_prefix(workspace.root()).unwrap().display().to_string();
                files.push((name.clone(), workspace.read(&name)));
            }
        }
    }
    files.sort();
    let listed = editor.request("copydesk/review/list", json!({}));
    let told = listed["files"].as_array().unwrap().iter();
    let told = told.map(|it| json!([it["uri"], it["change"], it["oldUri"], it["hunks"]]));
    (files, told.collect())
}

fn texts(files: &[(&str, &str)]) -> Vec<(String, String)> {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

fn all() -> Value {
    json!([{ "all": true }])
}

fn restart(workspace: &Workspace, editor: Editor) -> Editor {
    editor.request("shutdown", Value::Null);
    drop(editor);
    Editor::open(workspace, &automatic())
}

/// `from>to` moves a file, `>name` makes one, `name>` deletes one.
fn act(editor: &Editor, steps: &str) {
    let session = editor.session();
    for step in steps.split_whitespace() {
        let (from, to) = step.split_once('>').unwrap();
        let body = match (from, to) {
            (name, "") => {
                session.tool("Read", json!({ "file_path": name })).ok();
                format!("*** Delete File: {name}")
            }
            ("", name) => format!("*** Add File: {name}\n+new {name}"),
            (from, to) => format!("*** Update File: {from}\n*** Move to: {to}"),
        };
        let patch = format!("*** Begin Patch\n{body}\n*** End Patch\n");
        session.tool("ApplyPatch", json!({ "patch": patch })).ok();
    }
}

const A_AND_B: [(&str, &str); 2] = [("a", "a1\na2\n"), ("b", "b1\nb2\n")];

#[track_caller]
fn check_all_comes_back(steps: &str) {
    let workspace = Workspace::new(&A_AND_B);
    let mut editor = Editor::open(&workspace, &automatic());
    act(&editor, steps);
    let before = state(&workspace, &editor);
    for _ in 0..2 {
        let resolved = resolve(&editor, "reject", all());
        assert_eq!(resolved["conflicts"], json!([]), "{steps}: {resolved}");
        assert_eq!(state(&workspace, &editor), (texts(&A_AND_B), Vec::new()), "{steps}");
        undo(&editor, &resolved);
        assert_eq!(state(&workspace, &editor), before, "{steps}");
        editor = restart(&workspace, editor);
        assert_eq!(state(&workspace, &editor), before, "{steps}");
    }
    let resolved = resolve(&editor, "reject", all());
    editor = restart(&workspace, editor);
    undo(&editor, &resolved);
    assert_eq!(state(&workspace, &editor), before, "{steps}");
}

#[test]
fn names_that_others_took_come_back_by_undo() {
    check_all_comes_back("b>d >b");
    check_all_comes_back("b>e a>b b>");
    check_all_comes_back("a>c c> >a");
    check_all_comes_back("a>c b>a");
    check_all_comes_back("a>c b>a >b");
    check_all_comes_back("a>c >a a>e");
    check_all_comes_back("a> b>a a>c");
}

#[test]
fn a_name_that_became_a_folder_is_a_file_again() {
    check_all_comes_back("a>X >a/inner/deep");
    check_all_comes_back("a> >a/inner b>a/b");
}

#[test]
fn an_undo_that_cannot_be_whole_changes_nothing() {
    let workspace = Workspace::new(&A_AND_B);
    let editor = Editor::open(&workspace, &automatic());
    act(&editor, "a>c b>a >b >n");
    let before = state(&workspace, &editor);
    let resolved = resolve(&editor, "reject", all());
    workspace.write("c", "the person's\n");
    let there = state(&workspace, &editor);
    let token = json!({ "undoToken": resolved["undoToken"] });
    let error = editor.try_request("copydesk/review/undo", token).unwrap_err();
    assert!(error.message.contains("another file of that name"), "{}", error.message);
    assert_eq!(state(&workspace, &editor), there);
    std::fs::remove_file(workspace.path("c")).unwrap();
    undo(&editor, &resolved);
    assert_eq!(state(&workspace, &editor), before);
}

#[test]
fn a_file_that_the_person_deleted_since_holds_up_no_undo() {
    let workspace = Workspace::new(&A_AND_B);
    let editor = Editor::open(&workspace, &automatic());
    act(&editor, "a>c >n");
    let resolved = resolve(&editor, "reject", all());
    std::fs::remove_file(workspace.path("a")).unwrap();
    undo(&editor, &resolved);
    let (files, _) = state(&workspace, &editor);
    assert_eq!(files, texts(&[("b", "b1\nb2\n"), ("n", "new n\n")]));
}

/// Deletes a file, rejects that, has the person type, takes the decision back and makes it again.
#[track_caller]
fn check_typed(types: impl FnOnce(&Workspace, &Editor)) {
    let workspace = Workspace::new(&[("a", BEFORE)]);
    let editor = Editor::open(&workspace, &automatic());
    act(&editor, "a>");
    let resolved = resolve(&editor, "reject", all());
    types(&workspace, &editor);
    let text = || match editor.lock().documents.get(&editor.uri("a")) {
        Some(document) => document.text.clone(),
        None => workspace.read("a"),
    };
    let typed = text();
    undo(&editor, &resolved);
    let (left, pending) = (text(), hunks(&editor));
    assert!(left.contains("mine"), "{left}");
    assert_eq!(pending.len(), 1, "{left:?} {pending:?}");
    let again = resolve(&editor, "reject", all());
    assert_eq!(again["conflicts"], json!([]), "{again}");
    assert_eq!(text(), typed);
}

#[test]
fn what_was_typed_in_a_file_that_came_back_stays_and_the_rest_is_pending() {
    check_typed(|_, editor| {
        editor.open_file("a");
        editor.type_before("a", "two", "mine ");
    });
    check_typed(|_, editor| {
        editor.open_file("a");
        editor.type_before("a", "one", "mine ");
        editor.save("a");
    });
    check_typed(|workspace, _| workspace.write("a", BEFORE.replace("two", "two mine")));
}

#[track_caller]
fn check_shown(editor: &Editor, workspace: &Workspace) {
    editor.open_file("a");
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a" })).ok();
    let edit = json!({ "file_path": "a", "old_string": "two", "new_string": "TWO" });
    session.tool("Edit", edit).ok();
    session.tool("Bash", json!({ "command": "rm a", "description": "d" })).ok();
    assert!(!workspace.has("a"));
    let before = hunks(editor);
    let resolved = resolve(editor, "reject", all());
    assert_eq!(resolved["conflicts"], json!([]), "{resolved}");
    assert_eq!((editor.text("a"), workspace.read("a")), (BEFORE.to_owned(), BEFORE.to_owned()));
    assert!(hunks(editor).is_empty());
    undo(editor, &resolved);
    assert!(!workspace.has("a"));
    assert_eq!(hunks(editor)[0]["oldText"], before[0]["oldText"]);
    let resolved = resolve(editor, "reject", all());
    assert_eq!(resolved["conflicts"], json!([]), "{resolved}");
    assert_eq!(workspace.read("a"), BEFORE);
}

#[test]
fn an_editor_that_does_not_read_files_anew_shows_what_came_back() {
    let workspace = Workspace::new(&[("a", BEFORE)]);
    check_shown(&Editor::open(&workspace, &automatic()), &workspace);
    let workspace = Workspace::new(&[("a", BEFORE)]);
    let bound = Start::new(&workspace).without_operations().settings(&automatic()).start();
    check_shown(&bound, &workspace);
}

#[test]
fn a_rejected_file_that_is_still_shown_is_shown_empty() {
    let workspace = Workspace::new(&[("a", BEFORE)]);
    let editor = Start::new(&workspace).without_operations().settings(&automatic()).start();
    act(&editor, ">n");
    editor.open_file("n");
    let resolved = resolve(&editor, "reject", all());
    assert_eq!(resolved["conflicts"], json!([]), "{resolved}");
    assert!(!workspace.has("n"));
    assert_eq!(editor.text("n"), "");
    undo(&editor, &resolved);
    assert_eq!((editor.text("n"), workspace.read("n")), ("new n\n".into(), "new n\n".into()));
    assert_eq!(hunks(&editor).len(), 1);
}

#[test]
fn a_file_does_not_come_back_under_unsaved_text() {
    let workspace = Workspace::new(&[("a", BEFORE)]);
    let editor = Editor::open(&workspace, &automatic());
    editor.open_file("a");
    editor.session().tool("Bash", json!({ "command": "rm a", "description": "d" })).ok();
    editor.type_before("a", "two", "mine ");
    let resolved = resolve(&editor, "reject", all());
    let reason = resolved["conflicts"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("save or close it first"), "{reason}");
    assert!(!workspace.has("a") && editor.text("a").contains("mine two"));
    editor.close("a");
    resolve(&editor, "reject", all());
    assert_eq!(workspace.read("a"), BEFORE);
}

#[test]
fn a_formatter_that_writes_the_whole_text_anew_takes_nothing_from_an_undo() {
    let workspace = Workspace::new(&[("a", "a1  \na2\na3 \na4\nlast")]);
    let editor = Editor::open(&workspace, &automatic());
    editor.open_file("a");
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "a" })).ok();
    for (old, new) in [("a2\n", "A2\n"), ("a4\n", "A4\n")] {
        let edit = json!({ "file_path": "a", "old_string": old, "new_string": new });
        session.tool("Edit", edit).ok();
    }
    let pending = hunks(&editor);
    let resolved = resolve(&editor, "reject", all());
    editor.retype("a", &editor.text("a"), "a1\na2\na3\na4\nlast\n");
    editor.save("a");
    undo(&editor, &resolved);
    assert_eq!(editor.text("a"), "a1\nA2\na3\nA4\nlast\n");
    let id = |it: &Value| it["hunkId"].clone();
    assert!(hunks(&editor).iter().map(id).eq(pending.iter().map(id)));
    editor.retype("a", &editor.text("a"), "b1\na1\nA2\na3\nA4\nlast\n");
    assert!(hunks(&editor).iter().map(id).eq(pending.iter().map(id)));
    resolve(&editor, "reject", all());
    assert_eq!(editor.text("a"), "b1\na1\na2\na3\na4\nlast\n");
}

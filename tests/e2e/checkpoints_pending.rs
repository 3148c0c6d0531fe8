//! What was pending before a prompt is pending again when the prompt is taken back.

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::model::{Model, Step};
use crate::workspace::Workspace;

const LINES: &str = "one\ntwo\nthree\nfour\nfive\n";

fn edit(path: &str, old: &str, new: &str) -> Step {
    Step::call("Edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
}

fn write(path: &str, content: &str) -> Step {
    Step::call("Write", json!({ "file_path": path, "content": content }))
}

fn delete(path: &str) -> Step {
    Step::call("Delete", json!({ "paths": [path], "reason": "it is in the way" }))
}

fn run(command: &str) -> Step {
    Step::call("Bash", json!({ "command": command, "description": "Change files" }))
}

fn shift(from: &str, to: &str) -> Step {
    let patch =
        format!("*** Begin Patch\n*** Update File: {from}\n*** Move to: {to}\n*** End Patch");
    Step::call("ApplyPatch", json!({ "patch": patch }))
}

/// Reads all there is, and makes one call.
fn turn(paths: &[&str], call: Step) -> Vec<Step> {
    let reads = paths.iter().map(|it| Step::call("Read", json!({ "file_path": it })));
    reads.chain([call, Step::text("Done.")]).collect()
}

/// Files with their pending hunks, by what the person sees of them.
fn pending(editor: &Editor) -> Vec<Value> {
    let listed = editor.request("copydesk/review/list", json!({}));
    let files = listed["files"].as_array().expect("files");
    let hunk = |it: &Value| json!([it["hunkId"], it["oldText"], it["newText"], it["state"]]);
    let hunks = |it: &Value| -> Vec<Value> {
        it["hunks"].as_array().expect("hunks").iter().map(hunk).collect()
    };
    files.iter().map(|it| json!([it["uri"], it["change"], it["oldUri"], hunks(it)])).collect()
}

fn files(workspace: &Workspace) -> Vec<(String, Option<String>)> {
    let read = |name: &str| (name.to_owned(), workspace.has(name).then(|| workspace.read(name)));
    ["a.txt", "b.txt", "m.txt", "n.txt"].map(read).into()
}

/// One call a prompt; once the second is taken back all is as it was after the first, and rejecting that
/// leads to where it began.
#[track_caller]
fn check(first: Step, second_reads: &[&str], second: Step) {
    let workspace = Workspace::new(&[("a.txt", LINES), ("b.txt", "b\n")]);
    let model =
        Model::new(turn(&["a.txt", "b.txt"], first).into_iter().chain(turn(second_reads, second)));
    let mut settings = model.settings();
    settings["mode"] = json!("auto");
    let editor = Editor::open(&workspace, &settings);
    let session = editor.session();
    let before = files(&workspace);
    session.prompt("first");
    let (then, hunks) = (files(&workspace), pending(&editor));
    assert!(!hunks.is_empty());
    session.prompt("second");
    let after = files(&workspace);
    assert_ne!(after, then, "the second prompt changes something");
    let listed = editor.request("copydesk/checkpoint/list", json!({ "sessionId": session.id }));
    let second = listed["checkpoints"][1]["id"].clone();
    let restored = editor.request("copydesk/checkpoint/restore", json!({ "checkpointId": second }));
    assert_eq!(restored["conflicts"], json!([]));
    assert_eq!((files(&workspace), pending(&editor)), (then, hunks));
    editor.request("copydesk/review/undo", json!({ "undoToken": restored["undoToken"] }));
    assert_eq!(files(&workspace), after);
    editor.request("copydesk/checkpoint/restore", json!({ "checkpointId": second }));
    let rejected = editor.request(
        "copydesk/review/resolve",
        json!({ "action": "reject", "items": [{ "all": true }] }),
    );
    assert_eq!(rejected["conflicts"], json!([]));
    assert_eq!(files(&workspace), before);
}

#[test]
fn text_that_the_agent_took_back_itself() {
    check(edit("a.txt", "two", "two\nINS"), &["a.txt"], edit("a.txt", "INS\n", ""));
    check(edit("a.txt", "two", "TWO"), &["a.txt"], edit("a.txt", "TWO", "two"));
    check(edit("b.txt", "b", "B"), &[], run("echo b > b.txt"));
}

#[test]
fn files_that_came_and_went() {
    check(write("n.txt", "n\n"), &["n.txt"], delete("n.txt"));
    check(delete("b.txt"), &[], write("b.txt", "b\n"));
    check(delete("b.txt"), &[], write("b.txt", "another\n"));
}

#[test]
fn names_that_were_given() {
    check(shift("b.txt", "m.txt"), &["m.txt"], shift("m.txt", "b.txt"));
    check(shift("b.txt", "m.txt"), &["m.txt"], shift("m.txt", "n.txt"));
    check(write("n.txt", "n\n"), &["n.txt"], shift("n.txt", "m.txt"));
    check(edit("b.txt", "b", "B"), &["b.txt"], shift("b.txt", "m.txt"));
}

//! Pending files whose paths lead elsewhere by now, through links: neither read nor written, and said; and files that
//! became binary.

use std::os::unix::fs::symlink;
use std::path::Path;

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::editor::session::Session;
use crate::model::{Model, Step};
use crate::review::{automatic, hunks, resolve, undo, write};
use crate::workspace::{PATIENCE, Workspace};

fn all() -> Value {
    json!([{ "all": true }])
}

/// What lies in a folder, name and text.
fn files(folder: &Path) -> Vec<(String, String)> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        files.push((name, std::fs::read_to_string(&path).unwrap()));
    }
    files.sort();
    files
}

#[track_caller]
fn check_stays(answer: &Value, count: usize) {
    let conflicts = answer["conflicts"].as_array().expect("conflicts");
    assert_eq!(conflicts.len(), count, "{answer}");
    for conflict in conflicts {
        let reason = conflict["reason"].as_str().expect("a reason");
        assert!(reason.contains("a link leads elsewhere now"), "{reason}");
    }
}

/// Moves a folder out of the workspace and links it back.
fn link_out(workspace: &Workspace, folder: &str) -> std::path::PathBuf {
    let out = workspace.beside("out");
    std::fs::rename(workspace.path(folder), &out).unwrap();
    symlink(&out, workspace.path(folder)).unwrap();
    out
}

#[test]
fn a_folder_that_became_a_link_is_not_written_through() {
    let workspace = Workspace::new(&[("sub/a.txt", "a\n"), ("sub/gone.txt", "gone\n")]);
    let edit = json!({ "file_path": "sub/a.txt", "old_string": "a", "new_string": "A" });
    let model = Model::new([
        Step::call("Read", json!({ "file_path": "sub/a.txt" })),
        Step::call("Edit", edit),
        Step::call("Write", json!({ "file_path": "sub/new.txt", "content": "new\n" })),
        Step::call("Delete", json!({ "paths": ["sub/gone.txt"], "reason": "unused" })),
        Step::text("Done."),
    ]);
    let mut settings = model.settings();
    settings["mode"] = json!("auto");
    let editor = Editor::open(&workspace, &settings);
    let session = editor.session();
    session.prompt("change them");
    let resolved = resolve(&editor, "reject", json!([{ "uri": editor.uri("sub/new.txt") }]));
    let out = link_out(&workspace, "sub");
    let before = files(&out);
    assert_eq!(before, [("a.txt".to_owned(), "A\n".to_owned())]);
    let failed = resolve(&editor, "reject", all());
    check_stays(&failed, 2);
    assert_eq!(failed.get("undoToken"), None, "nothing was decided: {failed}");
    let undo = json!({ "undoToken": resolved["undoToken"] });
    let error = editor.try_request("copydesk/review/undo", undo).unwrap_err();
    assert!(error.message.contains("a link leads elsewhere now"), "{error:?}");
    assert_eq!(files(&out), before);
    let listed = editor.request("copydesk/checkpoint/list", json!({ "sessionId": session.id }));
    let restore = json!({ "checkpointId": listed["checkpoints"][0]["id"] });
    let restored = editor.request("copydesk/checkpoint/restore", restore);
    assert_eq!(restored["files"], json!([]), "{restored}");
    check_stays(&restored, 3);
    assert_eq!(files(&out), before);
    // Back in its place, all of it can be decided on.
    std::fs::remove_file(workspace.path("sub")).unwrap();
    std::fs::rename(&out, workspace.path("sub")).unwrap();
    assert_eq!(resolve(&editor, "reject", all())["conflicts"], json!([]));
    let first = ["a.txt", "gone.txt"].map(|name| (name.to_owned(), name.replace(".txt", "\n")));
    assert_eq!(files(&workspace.path("sub")), first);
}

#[test]
fn a_file_that_a_command_deleted_does_not_come_back_behind_a_link_of_its() {
    for together in [true, false] {
        let workspace = Workspace::new(&[("d/keys", "the agent's\n"), ("k.txt", "k\n")]);
        let out = workspace.beside("out");
        std::fs::create_dir(&out).unwrap();
        let editor = Editor::open(&workspace, &json!({ "mode": "auto" }));
        let session = editor.session();
        let bash = |command: String| {
            session.tool("Bash", json!({ "command": command, "description": "Swap" })).ok();
        };
        let swap = format!("rmdir d && ln -s {} d", out.display());
        if together {
            bash(format!("rm d/keys && {swap}"));
        } else {
            bash("rm d/keys".to_owned());
            bash(swap);
        }
        assert_eq!(hunks(&editor).len(), 1, "together: {together}");
        check_stays(&resolve(&editor, "reject", all()), 1);
        assert_eq!(files(&out), [], "together: {together}");
    }
}

#[test]
fn a_pending_file_that_became_a_link_to_a_secret_is_forgotten() {
    for is_open in [true, false] {
        let workspace = Workspace::new(&[("c.txt", "c\n"), (".env", "K=HUSHHUSH\n")]);
        let editor = Editor::open(&workspace, &automatic());
        write(&editor.session(), "c.txt", "C\n");
        assert_eq!(hunks(&editor).len(), 1);
        std::fs::remove_file(workspace.path("c.txt")).unwrap();
        symlink(".env", workspace.path("c.txt")).unwrap();
        if is_open {
            editor.open_file(".env");
        }
        assert_eq!(hunks(&editor), Vec::<Value>::new());
        let resolved = resolve(&editor, "reject", all());
        assert_eq!(resolved["resolved"], json!([]), "{resolved}");
        assert_eq!(workspace.read(".env"), "K=HUSHHUSH\n");
        drop(editor);
        for (path, text) in workspace.own_files() {
            assert!(!text.contains("HUSHHUSH"), "{}", path.display());
        }
    }
}

#[test]
fn a_change_in_a_file_that_became_binary_can_be_rejected() {
    let workspace = Workspace::new(&[("a.txt", "one\ntwo\nthree\nfour\n")]);
    let editor = Editor::open(&workspace, &automatic());
    editor.open_file("a.txt");
    write(&editor.session(), "a.txt", "ONE\ntwo\nthree\nfour\n");
    editor.type_before("a.txt", "four", "\0");
    assert_eq!(hunks(&editor).len(), 1);
    editor.save("a.txt");
    editor.close("a.txt");
    let resolved = resolve(&editor, "reject", all());
    assert_eq!(resolved["conflicts"], json!([]), "{resolved}");
    assert_eq!(workspace.read("a.txt"), "one\ntwo\nthree\n\0four\n");
    undo(&editor, &resolved);
    assert_eq!(workspace.read("a.txt"), "ONE\ntwo\nthree\n\0four\n");
}

#[test]
fn a_move_is_not_taken_back_through_a_link() {
    let workspace = Workspace::new(&[("sub/a.txt", "a\n")]);
    let patch = "*** Begin Patch\n*** Update File: sub/a.txt\n*** Move to: b.txt\n*** End Patch\n";
    let mut editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "sub/a.txt" })).ok();
    session.tool("ApplyPatch", json!({ "patch": patch })).ok();
    let out = link_out(&workspace, "sub");
    check_stays(&resolve(&editor, "reject", all()), 1);
    // What is kept for the next start knows the place too.
    editor.request("shutdown", Value::Null);
    editor.notify("exit", Value::Null);
    editor.exit_code(PATIENCE);
    let editor = Editor::open(&workspace, &automatic());
    check_stays(&resolve(&editor, "reject", all()), 1);
    assert_eq!(files(&out), []);
    assert_eq!(workspace.bytes("b.txt"), b"a\n");
    std::fs::remove_file(workspace.path("sub")).unwrap();
    std::fs::rename(&out, workspace.path("sub")).unwrap();
    let rejected = resolve(&editor, "reject", all());
    assert_eq!(rejected["conflicts"], json!([]), "{rejected}");
    assert_eq!(workspace.bytes("sub/a.txt"), b"a\n");
    let out = link_out(&workspace, "sub");
    let undo = json!({ "undoToken": rejected["undoToken"] });
    let error = editor.try_request("copydesk/review/undo", undo).unwrap_err();
    assert!(error.message.contains("a link leads elsewhere now"), "{error:?}");
    assert_eq!(files(&out), [("a.txt".to_owned(), "a\n".to_owned())]);
    assert!(!workspace.has("b.txt"));
}

#[test]
fn the_text_before_is_given_of_the_agents_files_alone() {
    let workspace = Workspace::new(&[("a.txt", "a\n"), ("b.txt", "b\n"), (".env", "K=HUSHHUSH\n")]);
    let editor = Editor::open(&workspace, &automatic());
    write(&editor.session(), "a.txt", "A\n");
    symlink(".env", workspace.path("plain.txt")).unwrap();
    symlink(workspace.path(".env"), workspace.path("a-link")).unwrap();
    let base = |uri: &str| editor.try_request("copydesk/review/base", json!({ "uri": uri }));
    for open in [false, true] {
        for (path, kind) in [
            ("b.txt", "not-found"),
            (".env", "denied"),
            ("plain.txt", "denied"),
            ("a-link", "denied"),
            ("none.txt", "not-found"),
        ] {
            if open && path != "none.txt" {
                editor.open_file(path);
            }
            let error = base(&editor.uri(path)).unwrap_err();
            assert_eq!(error.data["kind"], kind, "{path}, open: {open}");
            assert!(!error.message.contains("HUSH"), "{error:?}");
        }
    }
    assert_eq!(base("untitled:Untitled-1").unwrap_err().data["kind"], "not-found");
    assert_eq!(base(&editor.uri("a.txt")).unwrap()["text"], "a\n");
}

#[test]
fn a_pending_file_is_known_by_every_name_that_leads_to_it() {
    let workspace = Workspace::new(&[("d/a.txt", "one\ntwo\n"), ("b.txt", "b\n")]);
    symlink("d/a.txt", workspace.path("link.txt")).unwrap();
    symlink("d", workspace.path("e")).unwrap();
    for name in ["d/a.txt", "link.txt", "e/a.txt", "d/../e/./a.txt"] {
        let editor = Editor::open(&workspace, &automatic());
        let session = editor.session();
        write(&session, "d/a.txt", "ONE\ntwo\n");
        write(&session, "b.txt", "B\n");
        let uri = editor.uri(name);
        let listed = editor.request("copydesk/review/list", json!({ "uri": uri }));
        assert_eq!(listed["files"].as_array().map(Vec::len), Some(1), "{name}: {listed}");
        assert_eq!(listed["files"][0]["uri"], editor.uri("d/a.txt").as_str());
        let base = editor.request("copydesk/review/base", json!({ "uri": uri }));
        assert_eq!(base["text"], "one\ntwo\n", "{name}");
        let first =
            json!({ "start": { "line": 0, "character": 0 }, "end": { "line": 0, "character": 3 } });
        let rejected = resolve(&editor, "reject", json!([{ "uri": uri, "range": first }]));
        assert_eq!(rejected["resolved"].as_array().map(Vec::len), Some(1), "{name}: {rejected}");
        assert_eq!(workspace.read("d/a.txt"), "one\ntwo\n", "{name}");
        undo(&editor, &rejected);
        resolve(&editor, "reject", json!([{ "uri": uri }]));
        assert_eq!(workspace.read("d/a.txt"), "one\ntwo\n", "{name}");
        assert_eq!(workspace.read("b.txt"), "B\n", "{name}");
        resolve(&editor, "reject", all());
    }
}

/// What stands in the workspace, links as where they lead.
fn standing(workspace: &Workspace) -> Vec<(String, String)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(workspace.path("")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = match std::fs::read_link(&path) {
            Ok(target) => format!("-> {}", target.display()),
            Err(_) => std::fs::read_to_string(&path).unwrap(),
        };
        all.push((name, text));
    }
    all.sort();
    all
}

/// What becomes of a link when all is rejected.
#[derive(PartialEq)]
enum Link {
    StaysGone,
    ComesBack,
}

/// Edits a file by a link's name, has something done, and rejects all, which leads back to the beginning; undone, to
/// where it was.
#[track_caller]
fn check_link(act: impl Fn(&Editor, &Session<'_>), link: Link) {
    let workspace = Workspace::new(&[("a.txt", "one\ntwo\n")]);
    symlink("a.txt", workspace.path("l.txt")).unwrap();
    let first = standing(&workspace);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    for name in ["a.txt", "l.txt"] {
        session.tool("Read", json!({ "file_path": name })).ok();
        let edit = |old: &str, new: &str| json!({ "file_path": name, "old_string": old, "new_string": new });
        let (old, new) = if name == "a.txt" { ("one", "ONE") } else { ("two", "TWO") };
        session.tool("Edit", edit(old, new)).ok();
    }
    act(&editor, &session);
    let after = standing(&workspace);
    let rejected = resolve(&editor, "reject", all());
    assert_eq!(rejected["conflicts"], json!([]), "{rejected}");
    let expected = if link == Link::ComesBack { &first[..] } else { &first[..1] };
    assert_eq!(standing(&workspace), expected);
    undo(&editor, &rejected);
    assert_eq!(standing(&workspace), after);
    resolve(&editor, "reject", all());
    assert_eq!(standing(&workspace), expected);
    if link == Link::ComesBack {
        // Once more through the link that came back.
        session.tool("Read", json!({ "file_path": "l.txt" })).ok();
        let edit = json!({ "file_path": "l.txt", "old_string": "two", "new_string": "2" });
        session.tool("Edit", edit).ok();
        // At once, since the server may look at any moment.
        std::fs::write(workspace.beside("new.txt"), "typed\none\n2\n").unwrap();
        std::fs::rename(workspace.beside("new.txt"), workspace.path("a.txt")).unwrap();
        assert_eq!(resolve(&editor, "reject", all())["conflicts"], json!([]));
        assert_eq!(standing(&workspace)[0].1, "typed\none\ntwo\n");
        assert_eq!(standing(&workspace)[1], first[1]);
    }
}

#[test]
fn a_link_that_goes_leaves_the_changes_of_what_it_led_to() {
    check_link(
        |editor, _| std::fs::remove_file(editor.root().join("l.txt")).unwrap(),
        Link::StaysGone,
    );
    check_link(
        |_, session| {
            let rm = json!({ "command": "rm l.txt", "description": "Remove the link" });
            session.tool("Bash", rm).ok();
        },
        Link::StaysGone,
    );
    let delete = json!({ "paths": ["l.txt"], "reason": "unused" });
    check_link(|_, session| drop(session.tool("Delete", delete.clone()).ok()), Link::ComesBack);
    check_link(
        |_, session| {
            session.tool("Delete", delete.clone()).ok();
            session.tool("Write", json!({ "file_path": "l.txt", "content": "new\n" })).ok();
        },
        Link::ComesBack,
    );
}

#[test]
fn a_document_whose_link_is_gone_can_be_decided_on() {
    let workspace = Workspace::new(&[("a.txt", "one\n")]);
    symlink("a.txt", workspace.path("l.txt")).unwrap();
    let editor = Editor::open(&workspace, &automatic());
    editor.open_file("l.txt");
    write(&editor.session(), "l.txt", "ONE\n");
    std::fs::remove_file(workspace.path("l.txt")).unwrap();
    assert_eq!(resolve(&editor, "reject", all())["conflicts"], json!([]));
    assert_eq!(editor.text("l.txt"), "one\n");
    assert_eq!(workspace.read("a.txt"), "one\n");
    assert!(!workspace.has("l.txt"));
}

#[test]
fn a_file_that_is_moved_elsewhere_does_not_take_over_what_is_pending() {
    let workspace = Workspace::new(&[("sub/a.txt", "one\n")]);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    write(&session, "sub/a.txt", "ONE\n");
    std::fs::rename(workspace.path("sub"), workspace.path("kept")).unwrap();
    std::fs::create_dir(workspace.path("other")).unwrap();
    std::fs::write(workspace.path("other/a.txt"), "other\n").unwrap();
    symlink("other", workspace.path("sub")).unwrap();
    let patch =
        "*** Begin Patch\n*** Update File: sub/a.txt\n*** Move to: sub/b.txt\n*** End Patch\n";
    session.tool("ApplyPatch", json!({ "patch": patch })).ok();
    let listed = hunks(&editor);
    assert_eq!(listed.len(), 1, "the name alone: {listed:?}");
    let rejected = resolve(&editor, "reject", all());
    assert_eq!(rejected["conflicts"], json!([]), "{rejected}");
    assert_eq!(workspace.read("other/a.txt"), "other\n");
    assert_eq!(workspace.read("kept/a.txt"), "ONE\n");
}

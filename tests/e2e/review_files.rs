//! Decisions on files: their bytes come back, whatever names them and wherever they lie; what is too large is told in part.

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::review::{BEFORE, automatic, hunks, ids, resolve, undo, write};
use crate::workspace::Workspace;

/// Sets an extended attribute; false where the file system has none.
fn set_xattr(path: &std::path::Path, name: &std::ffi::CStr, value: &[u8]) -> bool {
    rustix::fs::setxattr(path, name, value, rustix::fs::XattrFlags::empty()).is_ok()
}

#[track_caller]
fn check_comes_back(bytes: &[u8]) {
    let workspace = Workspace::new(&[]);
    workspace.write("run.sh", bytes);
    let path = workspace.path("run.sh");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o751)).unwrap();
    let has_xattrs = set_xattr(&path, c"user.copydesk", b"kept");
    let editor = Editor::open(&workspace, &automatic());
    editor.open_file("run.sh");
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "run.sh" })).ok();
    session.tool("Delete", json!({ "paths": ["run.sh"], "reason": "unused" })).ok();
    assert!(!workspace.has("run.sh") && editor.lock().documents.is_empty());
    let check = || {
        let resolved = resolve(&editor, "reject", json!([{ "all": true }]));
        assert_eq!(resolved["conflicts"], json!([]), "{resolved}");
        assert_eq!(workspace.bytes("run.sh"), bytes);
        let mode = std::fs::metadata(&path).unwrap().permissions();
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&mode) & 0o777, 0o751);
        let mut value = [0_u8; 16];
        let len = rustix::fs::getxattr(&path, c"user.copydesk", &mut value[..]).unwrap_or(0);
        assert_eq!(&value[..len], if has_xattrs { b"kept".as_slice() } else { b"" });
        resolved
    };
    undo(&editor, &check());
    assert!(!workspace.has("run.sh"));
    let resolved = check();
    // Open again, it goes through the editor, and comes back again.
    editor.open_file("run.sh");
    undo(&editor, &resolved);
    assert!(!workspace.has("run.sh") && editor.lock().documents.is_empty());
    check();
}

#[test]
fn a_deleted_file_that_was_open_comes_back_whole() {
    check_comes_back(b"\xef\xbb\xbf#!/bin/sh\r\necho caf\xc3\xa9\r\n");
    check_comes_back(b"#!/bin/sh\n# d\xe9j\xe0 vu, caf\xe9\necho\n");
}

#[test]
fn a_rejected_file_has_the_very_bytes_it_had() {
    let files: [(&str, &[u8]); 3] = [
        ("damaged.txt", b"one\nbad \x99\xff bytes\nthree\n"),
        ("latin.txt", b"caf\xe9 one\r\nna\xefve two\r\nd\xe9j\xe0 vu three\r\n"),
        ("mixed.txt", b"one\r\ntwo\nthree\r"),
    ];
    let workspace = Workspace::new(&[]);
    files.iter().for_each(|(name, bytes)| workspace.write(name, bytes));
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    for (name, _) in files {
        write(&session, name, "nothing\nof it\n");
        session
            .tool("Edit", json!({ "file_path": name, "old_string": "of it", "new_string": "left" }))
            .ok();
        assert!(workspace.read(name).starts_with("nothing"), "{name}");
    }
    let resolved = resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(resolved["conflicts"], json!([]), "{resolved}");
    for (name, bytes) in files {
        assert_eq!(workspace.bytes(name), bytes, "{name}");
    }
    undo(&editor, &resolved);
    for (name, bytes) in files {
        assert!(workspace.read(name).starts_with("nothing"), "{name}");
        resolve(&editor, "reject", json!([{ "uri": editor.uri(name) }]));
        assert_eq!(workspace.bytes(name), bytes, "{name}");
    }
}

#[test]
fn hunks_too_large_to_tell_are_cut_and_listed_whole() {
    let workspace = Workspace::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    let large: String = (0..4_000).map(|n| format!("\"line\" {n} \u{e9}\n")).collect();
    let mark = editor.mark();
    write(&session, "a.txt", &large);
    let before: String = (0..2_000).map(|n| format!("{n}\n")).collect();
    workspace.write("many.txt", &before);
    let after: String =
        (0..2_000).map(|n| format!("{n}{}\n", if n % 4 == 0 { "!" } else { "" })).collect();
    write(&session, "many.txt", &after);
    let cut = editor.wait("a cut hunk", |state| {
        let told =
            state.log[mark..].iter().filter(|it| it["method"] == "copydesk/review/didChange");
        told.clone().for_each(|it| assert!(it.to_string().len() <= 64 * 1024));
        let files = told.flat_map(|it| it["params"]["files"].as_array().unwrap().clone());
        let files: Vec<Value> = files.collect();
        let omits = files.iter().any(|it| it["_meta"]["copydesk"]["omitted"].is_u64());
        let hunks = files.iter().flat_map(|it| it["hunks"].as_array().unwrap().clone());
        hunks.into_iter().find(|it| omits && it["_meta"]["copydesk"]["cut"] == true)
    });
    assert!(large.starts_with(cut["newText"].as_str().unwrap()));
    let list = |name: &str| {
        let listed = editor.request("copydesk/review/list", json!({ "uri": editor.uri(name) }));
        listed["files"][0].clone()
    };
    assert_eq!(list("a.txt")["hunks"][0]["newText"], large);
    let many = list("many.txt");
    assert_eq!(many["hunks"].as_array().map(Vec::len), Some(500));
    assert_eq!(many.get("_meta"), None);
}

#[test]
fn a_change_that_a_swapped_folder_took_elsewhere_is_taken_back() {
    let workspace = Workspace::new(&[("d/a.txt", BEFORE), ("b.txt", "b\n")]);
    let outside = Workspace::new(&[("x", "")]);
    let editor = Editor::open(&workspace, &automatic());
    editor.open_file("b.txt");
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "d/a.txt" })).ok();
    session.tool("Read", json!({ "file_path": "b.txt" })).ok();
    let (folder, target) = (workspace.path("d"), outside.path("d"));
    editor.before_apply(move |_| {
        std::fs::create_dir(&target).unwrap();
        std::fs::rename(folder.join("a.txt"), target.join("a.txt")).unwrap();
        std::fs::remove_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&target, &folder).unwrap();
    });
    let patch = "*** Begin Patch\n*** Update File: d/a.txt\n@@\n-two\n+TWO\n*** Update File: b.txt\n@@\n-b\n+B\n*** End Patch";
    let called = session.tool("ApplyPatch", json!({ "input": patch }));
    let said = called.err();
    assert!(said.contains("lies elsewhere now"), "{said}");
    assert_eq!(outside.read("d/a.txt"), BEFORE);
    assert_eq!(editor.text("b.txt"), "b\n");
    assert!(hunks(&editor).is_empty());
}

#[test]
fn a_file_is_one_file_whatever_link_it_is_named_by() {
    let workspace = Workspace::new(&[("real/a.txt", BEFORE)]);
    std::os::unix::fs::symlink("real", workspace.path("folder")).unwrap();
    std::os::unix::fs::symlink("real/a.txt", workspace.path("link.txt")).unwrap();
    let editor = Editor::open(&workspace, &automatic());
    let session = editor.session();
    session.tool("Read", json!({ "file_path": "link.txt" })).ok();
    let edit = |path: &str, old: &str, new: &str| {
        session
            .tool("Edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
            .ok();
    };
    edit("real/a.txt", "one", "ONE");
    edit("folder/a.txt", "three", "THREE");
    edit("./folder/../link.txt", "five", "FIVE");
    let listed = editor.request("copydesk/review/list", json!({}));
    assert_eq!(listed["files"].as_array().map(Vec::len), Some(1), "{listed}");
    assert_eq!(hunks(&editor).len(), 3);
    let before = ids(&editor);
    // Open under one name, it is changed and decided on there.
    let uri = editor.open_file("folder/a.txt");
    edit("real/a.txt", "seven", "SEVEN");
    let listed = editor.request("copydesk/review/list", json!({}));
    assert_eq!(listed["files"][0]["uri"], uri.as_str());
    assert_eq!(ids(&editor)[..3], before);
    editor.type_before("folder/a.txt", "two", "mine ");
    resolve(&editor, "reject", json!([{ "all": true }]));
    assert_eq!(editor.text("folder/a.txt"), BEFORE.replace("two", "mine two"));
}

//! Edits that cannot be right: each gets a clear, bounded refusal, nothing is half done, and the server goes on.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::editor::session::{Called, Session};
use crate::editor::{ALLOW, Answer, Editor, Start};
use crate::workspace::Workspace;

const LINES: &str = "one\ntwo\nthree\nfour\nfive\n";

/// A refusal fits on a screen.
const MOST: usize = 8 * 1024;

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": path, "old_string": old, "new_string": new })
}

fn patch(body: &str) -> Value {
    json!({ "patch": format!("*** Begin Patch\n{body}\n*** End Patch\n") })
}

#[track_caller]
fn seen<'a>(editor: &'a Editor, path: &str) -> Session<'a> {
    let session = editor.session();
    session.tool("Read", json!({ "file_path": path })).ok();
    session
}

/// The refusal's text, which is short; the server still answers, nothing is pending and nothing left over.
#[track_caller]
fn refused(name: &str, editor: &Editor, workspace: &Workspace, called: Called) -> String {
    assert!(called.is_error, "{name}: it should have failed: {}", called.text);
    let text = called.text;
    assert!(
        text.len() <= MOST,
        "{} bytes: {}…",
        text.len(),
        text.chars().take(300).collect::<String>()
    );
    let listed = editor.request("copydesk/review/list", json!({}));
    assert_eq!(listed["files"], json!([]), "nothing is pending");
    assert_eq!(leftovers(workspace), [""; 0], "nothing temporary is left");
    text
}

fn leftovers(workspace: &Workspace) -> Vec<String> {
    let entries = std::fs::read_dir(workspace.root()).unwrap().flatten();
    let names = entries.map(|it| it.file_name().to_string_lossy().into_owned());
    names.filter(|it| it.contains("tmp") || it.contains("copydesk")).collect()
}

/// An edit of a file with this text is refused with these words in it; the text stays, open or closed.
#[track_caller]
fn check(text: &str, tool: &str, input: &Value, words: &[&str]) {
    for open in ["open", "closed"] {
        let workspace = Workspace::new(&[("a.txt", text)]);
        let editor = Editor::open(&workspace, &json!({ "mode": "edit" }));
        if open == "open" {
            editor.open_file("a.txt");
        }
        let called = seen(&editor, "a.txt").tool(tool, input.clone());
        let refusal = refused("", &editor, &workspace, called);
        for word in words {
            assert!(refusal.contains(word), "{open}: no {word:?} in {refusal}");
        }
        assert!(workspace.read("a.txt") == text, "{open}: the file stays");
        if open == "open" {
            assert!(editor.text("a.txt") == text, "the buffer stays");
            assert!(editor.lock().applied.is_empty());
        }
    }
}

#[test]
fn an_empty_text_to_find_is_refused() {
    check(LINES, "Edit", &edit("a.txt", "", "x"), &["empty"]);
    let edits = json!([{ "old_string": "one", "new_string": "1" }, { "old_string": "", "new_string": "x" }]);
    check(LINES, "MultiEdit", &json!({ "file_path": "a.txt", "edits": edits }), &["empty"]);
}

#[test]
fn an_edit_that_changes_nothing_is_refused() {
    check(LINES, "Edit", &edit("a.txt", "two", "two"), &["the same"]);
    check(LINES, "MultiEdit", &json!({ "file_path": "a.txt", "edits": [] }), &["edit"]);
}

#[test]
fn a_text_that_is_there_ten_thousand_times_is_refused_briefly() {
    let text = "same line\n".repeat(10_000);
    check(&text, "Edit", &edit("a.txt", "same line\n", "other\n"), &["occurs", "1"]);
    check(&text, "Edit", &edit("a.txt", "same line\nsame line\n", "other\n"), &["occurs"]);
}

#[test]
fn edits_of_the_same_place_are_refused_as_a_whole() {
    let edits = json!([
        { "old_string": "one", "new_string": "1" },
        { "old_string": "two\nthree", "new_string": "2\n3" },
        { "old_string": "three\nfour", "new_string": "3\n4" },
    ]);
    check(LINES, "MultiEdit", &json!({ "file_path": "a.txt", "edits": edits }), &["3"]);
    let body = "*** Update File: a.txt\n@@\n-two\n-three\n+2\n@@\n-three\n-four\n+4";
    check(LINES, "ApplyPatch", &patch(body), &["three"]);
}

#[test]
fn a_gigantic_text_to_find_is_refused_briefly() {
    let old = "no such line\n".repeat(400_000);
    check(LINES, "Edit", &edit("a.txt", &old, "x"), &[]);
    check(LINES, "Edit", &edit("a.txt", &"x".repeat(4_000_000), "y"), &[]);
    let body = format!("*** Update File: a.txt\n@@\n{}", "-no such line\n".repeat(100_000));
    check(LINES, "ApplyPatch", &patch(&body), &[]);
}

#[test]
fn nul_characters_are_never_written_by_accident() {
    check(LINES, "Edit", &edit("a.txt", "tw\0o", "x"), &[]);
    check(LINES, "Edit", &edit("a\0.txt", "two", "x"), &[]);
    check(LINES, "ApplyPatch", &patch("*** Update File: a.txt\n@@\n-tw\0o\n+x"), &[]);
    check(LINES, "ApplyPatch", &patch("*** Add File: b\0.txt\n+x"), &[]);
    let workspace = Workspace::new(&[]);
    workspace.write("a.bin", b"\x7fELF\0\0\x01\x02two\0\0");
    let editor = Editor::open(&workspace, &json!({ "mode": "edit" }));
    let called = editor.session().tool("Edit", edit("a.bin", "two", "x"));
    let refusal = refused("", &editor, &workspace, called);
    assert!(refusal.contains("binary"), "{refusal}");
    assert_eq!(workspace.bytes("a.bin"), b"\x7fELF\0\0\x01\x02two\0\0");
}

#[test]
fn inputs_of_the_wrong_kind_are_refused() {
    for input in [
        json!({}),
        json!(null),
        json!([]),
        json!({ "file_path": 7, "old_string": "two", "new_string": "x" }),
        json!({ "file_path": "a.txt", "old_string": "two" }),
        json!({ "file_path": "", "old_string": "two", "new_string": "x" }),
        json!({ "file_path": "x".repeat(3_000), "old_string": "two", "new_string": "x" }),
        json!({ "file_path": "a.txt/../../../etc/none/../a.txt", "old_string": "two", "new_string": "x" }),
    ] {
        let workspace = Workspace::new(&[("a.txt", LINES)]);
        let editor = Editor::open(&workspace, &json!({ "mode": "edit" }));
        editor.permit(crate::editor::REJECT);
        let called = seen(&editor, "a.txt").tool("Edit", input);
        refused("", &editor, &workspace, called);
        assert_eq!(workspace.read("a.txt"), LINES);
    }
}

#[test]
fn a_path_that_ends_as_a_folders_is_no_files() {
    let notebook = r#"{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}"#;
    let workspace =
        Workspace::new(&[("a.txt", LINES), ("n.ipynb", notebook), ("dir/b.txt", "b\n")]);
    std::os::unix::fs::symlink("dir", workspace.path("link")).unwrap();
    let editor = Editor::open(&workspace, &json!({ "mode": "edit" }));
    let session = seen(&editor, "a.txt");
    session.tool("Read", json!({ "file_path": "n.ipynb" })).ok();
    for end in ["/", "//", "/.", "/./", "/.."] {
        for path in ["a.txt", "new", "dir/new", "dir", "link"] {
            let path = format!("{path}{end}");
            let update = format!("*** Update File: {path}\n@@\n-two\n+2");
            let moved = format!("*** Update File: a.txt\n*** Move to: {path}\n@@\n-two\n+2");
            let cell = json!({ "notebook_path": format!("n.ipynb{end}"), "new_source": "x", "edit_mode": "insert", "cell_type": "code" });
            let one = json!([{ "old_string": "two", "new_string": "2" }]);
            for (tool, input) in [
                ("Write", json!({ "file_path": path, "content": "x\n" })),
                ("Write", json!({ "file_path": path, "content": "x\n", "mode": "append" })),
                ("Edit", edit(&path, "two", "2")),
                ("Edit", edit(&path, "", "x\n")),
                ("MultiEdit", json!({ "file_path": path, "edits": one })),
                (
                    "EditLines",
                    json!({ "file_path": path, "edits": [{ "op": "append", "text": "x" }] }),
                ),
                ("ApplyPatch", patch(&format!("*** Add File: {path}\n+x"))),
                ("ApplyPatch", patch(&format!("*** Delete File: {path}"))),
                ("ApplyPatch", patch(&update)),
                ("ApplyPatch", patch(&moved)),
                ("NotebookEdit", cell),
                ("Delete", json!({ "paths": [path], "reason": "unused" })),
            ] {
                let refusal = refused(tool, &editor, &workspace, session.tool(tool, input));
                assert!(refusal.contains("names a folder"), "{tool} {path}: {refusal}");
            }
        }
    }
    assert_eq!(workspace.read("a.txt"), LINES);
    assert!(!workspace.has("new") && !workspace.has("dir/new") && workspace.has("link/b.txt"));
}

#[test]
fn a_file_of_a_hundred_megabytes_is_refused_at_once() {
    let workspace = Workspace::new(&[]);
    let file = std::fs::File::create(workspace.path("big.txt")).unwrap();
    file.set_len(100 << 20).unwrap();
    workspace.write("wide.txt", "one line of text\n".repeat(6 << 20));
    let editor = Editor::open(&workspace, &json!({ "mode": "edit" }));
    let session = editor.session();
    for path in ["big.txt", "wide.txt"] {
        let before = std::fs::metadata(workspace.path(path)).unwrap().len();
        for (tool, input) in [
            ("Edit", edit(path, "one line", "x")),
            ("Write", json!({ "file_path": path, "content": "x" })),
            ("Write", json!({ "file_path": path, "content": "x", "mode": "append" })),
            ("ApplyPatch", patch(&format!("*** Update File: {path}\n@@\n-one line of text\n+x"))),
        ] {
            let refusal = refused("", &editor, &workspace, session.tool(tool, input));
            assert!(refusal.contains(path), "{tool}: {refusal}");
            assert_eq!(
                std::fs::metadata(workspace.path(path)).unwrap().len(),
                before,
                "{tool}: {path}"
            );
        }
    }
}

/// What may become of a file behind the agent's back, and whether it is still so.
type Fate = (&'static str, fn(&Path), fn(&Path) -> bool);

const FATES: [Fate; 5] = [
    ("deleted", |path| std::fs::remove_file(path).unwrap(), |path| !path.exists()),
    (
        "a folder",
        |path| {
            std::fs::remove_file(path).unwrap();
            std::fs::create_dir(path).unwrap();
        },
        |path| path.is_dir() && std::fs::read_dir(path).unwrap().next().is_none(),
    ),
    (
        "read-only",
        |path| std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o444)).unwrap(),
        |path| std::fs::read_to_string(path).unwrap() == LINES,
    ),
    (
        "changed",
        |path| std::fs::write(path, LINES.replace("two", "zwei")).unwrap(),
        |path| std::fs::read_to_string(path).unwrap() == LINES.replace("two", "zwei"),
    ),
    (
        "binary",
        |path| std::fs::write(path, b"\0\x01\x02\0two\0").unwrap(),
        |path| std::fs::read(path).unwrap() == b"\0\x01\x02\0two\0",
    ),
];

fn every_way_to_edit() -> Vec<(&'static str, Value)> {
    let edits = json!([{ "old_string": "one", "new_string": "1" }, { "old_string": "two", "new_string": "2" }]);
    vec![
        ("Edit", edit("a.txt", "two", "TWO")),
        ("MultiEdit", json!({ "file_path": "a.txt", "edits": edits })),
        ("Write", json!({ "file_path": "a.txt", "content": "all new\n" })),
        ("ApplyPatch", patch("*** Update File: a.txt\n@@\n-two\n+TWO\n*** Add File: new.txt\n+x")),
    ]
}

#[test]
fn what_became_of_a_file_between_reading_and_editing_is_noticed() {
    for (fate, happen, stays) in FATES {
        for (tool, input) in every_way_to_edit() {
            let workspace = Workspace::new(&[("a.txt", LINES)]);
            let editor = Editor::open(&workspace, &json!({ "mode": "edit" }));
            let session = seen(&editor, "a.txt");
            let path = workspace.path("a.txt");
            happen(&path);
            let called = session.tool(tool, input);
            // What is gone may be written anew.
            if (fate, tool) == ("deleted", "Write") {
                called.ok();
                continue;
            }
            let refusal = refused(&format!("{fate}, {tool}"), &editor, &workspace, called);
            assert!(refusal.contains("a.txt"), "{fate}, {tool}: {refusal}");
            assert!(stays(&path), "{fate}, {tool}: {refusal}");
            assert!(!workspace.has("new.txt"), "{fate}, {tool}: nothing half done");
        }
    }
}

#[test]
fn what_became_of_a_file_while_permission_was_asked_is_noticed() {
    for (fate, happen, stays) in FATES {
        for (tool, input) in every_way_to_edit() {
            let workspace = Workspace::new(&[("a.txt", LINES)]);
            let editor = Editor::open(&workspace, &json!({}));
            let session = seen(&editor, "a.txt");
            editor.permit(Answer::Hold);
            let call = session.begin_tool(tool, input);
            editor.wait("the permission request", |state| (!state.held.is_empty()).then_some(()));
            let path = workspace.path("a.txt");
            happen(&path);
            editor.answer(&ALLOW);
            let called = session.finish_tool(call);
            // What is gone may be written anew.
            if (fate, tool) == ("deleted", "Write") {
                continue;
            }
            let refusal = refused(&format!("{fate}, {tool}"), &editor, &workspace, called);
            assert!(refusal.contains("a.txt"), "{fate}, {tool}: {refusal}");
            assert!(stays(&path), "{fate}, {tool}: {refusal}");
            assert!(!workspace.has("new.txt"), "{fate}, {tool}: nothing half done");
        }
    }
}

/// The disk takes no more than `limit` bytes a file from now on.
fn limit(editor: &Editor, limit: u64) {
    let pid = rustix::process::Pid::from_raw(i32::try_from(editor.pid()).unwrap());
    let most = rustix::process::Rlimit { current: Some(limit), maximum: None };
    rustix::process::prlimit(pid, rustix::process::Resource::Fsize, most).unwrap();
}

#[test]
fn a_disk_that_is_full_leaves_everything_as_it_was() {
    let big: String = (0..20_000).map(|n| format!("line {n}\n")).collect();
    for (tool, input) in [
        ("Edit", edit("big.txt", "line 77\n", "LINE 77\n")),
        ("Write", json!({ "file_path": "new.txt", "content": big })),
        (
            "ApplyPatch",
            patch(
                "*** Update File: a.txt\n@@\n-two\n+TWO\n*** Update File: big.txt\n@@\n-line 77\n+LINE 77",
            ),
        ),
        ("Write", json!({ "file_path": "big.txt", "content": "tail\n", "mode": "append" })),
    ] {
        let workspace = Workspace::new(&[("a.txt", LINES), ("big.txt", &big)]);
        let editor = Start::new(&workspace).settings(&json!({ "mode": "edit" })).start();
        let session = seen(&editor, "a.txt");
        session.tool("Read", json!({ "file_path": "big.txt", "limit": 200 })).ok();
        limit(&editor, 64 * 1024);
        let refusal = refused("", &editor, &workspace, session.tool(tool, input));
        assert!(!refusal.is_empty(), "{tool}");
        assert_eq!(workspace.read("a.txt"), LINES, "{tool}");
        assert!(workspace.read("big.txt") == big, "{tool}");
        assert!(!workspace.has("new.txt"), "{tool}");
        limit(&editor, 1 << 40);
        session.tool("Edit", edit("a.txt", "two", "TWO")).ok();
        assert_eq!(workspace.read("a.txt"), LINES.replace("two", "TWO"), "{tool}: it goes on");
    }
}

#[test]
fn new_text_with_nul_is_refused_wherever_it_would_go() {
    let notebook = r#"{"cells":[{"cell_type":"code","id":"one","metadata":{},"outputs":[],"execution_count":null,"source":["x"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}"#;
    let workspace =
        Workspace::new(&[("a.txt", "1\n2\n"), ("open.txt", "1\n2\n"), ("n.ipynb", notebook)]);
    let editor = Editor::open(&workspace, &json!({ "mode": "edit" }));
    editor.open_file("open.txt");
    let session = editor.session();
    let nul = "x\0y";
    let patch = |path: &str| {
        format!(
            "*** Begin Patch\n*** Update File: {path}\n@@\n 1\n-2\n+{nul}\n*** Add File: new.txt\n+n\n*** End Patch"
        )
    };
    for path in ["a.txt", "open.txt"] {
        session.tool("Read", json!({ "file_path": path })).ok();
        let edit = json!({ "old_string": "2", "new_string": nul });
        let calls = [
            ("Edit", json!({ "file_path": path, "old_string": "2", "new_string": nul })),
            ("MultiEdit", json!({ "file_path": path, "edits": [edit] })),
            ("Write", json!({ "file_path": path, "content": nul })),
            ("Write", json!({ "file_path": "new.txt", "content": nul })),
            ("ApplyPatch", json!({ "patch": patch(path) })),
        ];
        for (name, input) in calls {
            let told = session.tool(name, input).err();
            assert!(told.contains("holds a NUL character"), "{name}: {told}");
        }
    }
    session.tool("Read", json!({ "file_path": "n.ipynb" })).ok();
    let cell = json!({ "notebook_path": "n.ipynb", "cell_id": "one", "new_source": nul });
    let told = session.tool("NotebookEdit", cell).err();
    assert!(told.contains("holds a NUL character"), "{told}");
    assert_eq!(workspace.read("a.txt"), "1\n2\n");
    assert_eq!(editor.text("open.txt"), "1\n2\n");
    assert_eq!(workspace.read("n.ipynb"), notebook);
    assert!(!workspace.has("new.txt") && crate::review::hunks(&editor).is_empty());
}

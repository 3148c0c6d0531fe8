//! Several windows of one folder: what is pending in each outlives all of them.

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::review::{BEFORE, automatic, hunks, resolve, write};
use crate::workspace::{PATIENCE, Workspace, until};

/// How a window ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Closed,
    Killed,
}

fn end(editor: &mut Editor, how: End) {
    match how {
        End::Closed => {
            editor.request("shutdown", Value::Null);
            editor.notify("exit", Value::Null);
            editor.exit_code(PATIENCE);
        }
        End::Killed => editor.kill(),
    }
}

/// The ends of files with pending hunks, one a hunk.
fn pending(editor: &Editor) -> Vec<String> {
    let name = |uri: &Value| uri.as_str().expect("a uri").rsplit('/').next().map(str::to_owned);
    hunks(editor).iter().filter_map(|it| name(&it["uri"])).collect()
}

/// The kept list of some process holds these words.
fn until_kept(workspace: &Workspace, words: &str) {
    let is_kept = |(path, text): &(std::path::PathBuf, String)| {
        let name = path.file_name().and_then(|it| it.to_str()).unwrap_or_default();
        name.starts_with("review") && name.ends_with(".json") && text.contains(words)
    };
    until("the hunks on disk", PATIENCE, || workspace.own_files().iter().any(is_kept));
}

#[test]
fn what_is_pending_in_each_window_survives_all_of_them() {
    for (first_ends, how) in
        [(true, End::Closed), (false, End::Closed), (true, End::Killed), (false, End::Killed)]
    {
        let workspace = Workspace::new(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
        let mut first = Editor::open(&workspace, &automatic());
        write(&first.session(), "a.txt", "ONE\n");
        let mut second = Editor::open(&workspace, &automatic());
        write(&second.session(), "b.txt", "TWO\n");
        assert_eq!(
            (pending(&first), pending(&second)),
            (vec!["a.txt".into()], vec!["b.txt".into()])
        );
        until_kept(&workspace, "ONE");
        until_kept(&workspace, "TWO");
        let order = if first_ends { [&mut first, &mut second] } else { [&mut second, &mut first] };
        order.into_iter().for_each(|it| end(it, how));
        let mut later = Editor::open(&workspace, &automatic());
        assert_eq!(pending(&later), ["a.txt", "b.txt"]);
        // Once more, from what the third has made of it.
        end(&mut later, End::Closed);
        let later = Editor::open(&workspace, &automatic());
        assert_eq!(pending(&later), ["a.txt", "b.txt"]);
        let resolved = resolve(&later, "reject", json!([{ "all": true }]));
        assert_eq!(resolved["conflicts"], json!([]));
        assert_eq!(
            (workspace.read("a.txt"), workspace.read("b.txt")),
            ("one\n".into(), "two\n".into())
        );
    }
}

#[test]
fn two_windows_may_change_one_file() {
    let workspace = Workspace::new(&[("a.txt", BEFORE)]);
    let mut first = Editor::open(&workspace, &automatic());
    let mut second = Editor::open(&workspace, &automatic());
    let once = BEFORE.replace("two", "TWO");
    let twice = once.replace("five", "FIVE");
    write(&first.session(), "a.txt", &once);
    write(&second.session(), "a.txt", &twice);
    assert_eq!((pending(&first).len(), pending(&second).len()), (1, 1));
    end(&mut first, End::Closed);
    end(&mut second, End::Closed);
    let later = Editor::open(&workspace, &automatic());
    assert_eq!(pending(&later), ["a.txt", "a.txt"]);
    let ids: Vec<Value> = hunks(&later).iter().map(|it| it["hunkId"].clone()).collect();
    assert_ne!(ids[0], ids[1]);
    resolve(&later, "reject", json!([{ "hunkId": ids[0] }]));
    assert_eq!(workspace.read("a.txt"), BEFORE.replace("five", "FIVE"));
    resolve(&later, "reject", json!([{ "all": true }]));
    assert_eq!(workspace.read("a.txt"), BEFORE);
}

#[test]
fn a_window_goes_on_with_its_own_beside_another() {
    let workspace = Workspace::new(&[("a.txt", "one\n"), ("b.txt", "two\n")]);
    let first = Editor::open(&workspace, &automatic());
    write(&first.session(), "a.txt", "ONE\n");
    let mut second = Editor::open(&workspace, &automatic());
    write(&second.session(), "b.txt", "TWO\n");
    let resolved = resolve(&second, "reject", json!([{ "all": true }]));
    end(&mut second, End::Closed);
    let second = Editor::open(&workspace, &automatic());
    assert_eq!(pending(&second), Vec::<String>::new());
    crate::review::undo(&second, &resolved);
    assert_eq!(pending(&second), ["b.txt"]);
    assert_eq!(workspace.read("b.txt"), "TWO\n");
    assert_eq!(pending(&first), ["a.txt"]);
}

/// The other window moved the file on, and takes that back.
#[test]
fn what_another_window_moves_away_and_back_is_pending_again() {
    let workspace = Workspace::new(&[("a.txt", "one\ntwo\n")]);
    let patch = |from: &str, to: &str, change: &str| {
        let body = format!("*** Update File: {from}\n*** Move to: {to}\n{change}");
        json!({ "patch": format!("*** Begin Patch\n{body}*** End Patch\n") })
    };
    let first = Editor::open(&workspace, &automatic());
    let session = first.session();
    session.tool("Read", json!({ "file_path": "a.txt" })).ok();
    session.tool("ApplyPatch", patch("a.txt", "b.txt", "@@\n-one\n+ONE\n")).ok();
    let ids = |editor: &Editor| -> Vec<Value> {
        hunks(editor).iter().map(|it| it["hunkId"].clone()).collect()
    };
    let pending = ids(&first);
    assert_eq!(pending.len(), 2, "the name and the text");
    let second = Editor::open(&workspace, &automatic());
    let session = second.session();
    session.tool("Read", json!({ "file_path": "b.txt" })).ok();
    session.tool("ApplyPatch", patch("b.txt", "c.txt", "")).ok();
    assert_eq!(hunks(&first), Vec::<Value>::new());
    let all = || json!([{ "all": true }]);
    assert_eq!(resolve(&second, "reject", all())["conflicts"], json!([]));
    assert_eq!(ids(&first), pending);
    assert_eq!(resolve(&first, "reject", all())["conflicts"], json!([]));
    assert_eq!(workspace.read("a.txt"), "one\ntwo\n");
    assert!(!workspace.has("b.txt") && !workspace.has("c.txt"));
}

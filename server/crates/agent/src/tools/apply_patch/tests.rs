//! Patches in a session: what they come to, what is refused with everything left as it was.

use expect_test::{Expect, expect};
use serde_json::{Value, json};

use crate::settings::Mode;
use crate::testing::{Desk, calls, one};

fn envelope(body: &str) -> String {
    format!("*** Begin Patch\n{body}\n*** End Patch")
}

fn patch(body: &str) -> (&'static str, Value) {
    ("ApplyPatch", json!({ "patch": envelope(body) }))
}

fn read(path: &str) -> (&'static str, Value) {
    ("Read", json!({ "file_path": path }))
}

/// A desk with the usual files, all of which were read, and then the calls.
fn desk(then: &[(&str, Value)]) -> Desk {
    let mut steps = vec![calls(&[read("a.txt"), read("b.txt"), read("sub/c.txt")])];
    steps.extend(then.iter().map(|it| calls(std::slice::from_ref(it))));
    steps.push(json!({ "text": "done" }));
    let desk = Desk::new(Mode::Edit, Value::Array(steps));
    desk.write("b.txt", "alpha\nbeta\n");
    desk.write("sub/c.txt", "x\ny\nz\n");
    desk
}

fn tree(desk: &Desk) -> String {
    let names = ["a.txt", "b.txt", "sub/c.txt", "new.txt", "deep/er/new.txt"];
    let texts = names.iter().map(|it| (it, desk.read(it))).filter(|(_, text)| text != "(none)");
    texts.map(|(name, text)| format!("{name}: {}\n", text.replace('\n', "⏎"))).collect()
}

/// Applies one patch after the files were read: the result and the files.
async fn check(body: &str, expected: Expect) {
    let desk = desk(&[patch(body)]);
    desk.turn("go").await;
    expected.assert_eq(&format!("{}\n{}", desk.results()[3], tree(&desk)));
}

/// As [`check`], and nothing may have changed.
async fn check_refused(body: &str, part: &str) {
    let desk = desk(&[patch(body)]);
    let before = tree(&desk);
    desk.turn("go").await;
    let told = &desk.results()[3];
    assert!(told.starts_with('✗') && told.contains(part), "{body}\n{told}");
    assert_eq!(tree(&desk), before, "{body}");
}

#[tokio::test]
async fn several_files_are_changed_at_once() {
    let body = "*** Update File: a.txt\n@@\n one\n-two\n+2\n*** Add File: deep/er/new.txt\n+n\n\
                *** Delete File: b.txt\n*** Update File: sub/c.txt\n@@\n-x\n+X\n y\n@@\n-z\n+Z";
    check(
        body,
        expect![[r#"
        ✓ Applied:
        M a.txt (+1 −1)
        A deep/er/new.txt (+1)
        D b.txt
        M sub/c.txt (+2 −2)
        a.txt: one⏎2⏎three⏎
        sub/c.txt: X⏎y⏎Z⏎
        deep/er/new.txt: n⏎
    "#]],
    )
    .await;
}

#[tokio::test]
async fn a_file_is_moved_with_and_without_a_change() {
    check(
        "*** Update File: a.txt\n*** Move to: deep/er/new.txt\n@@\n-two\n+2",
        expect![[r#"
        ✓ Applied:
        M deep/er/new.txt (moved from a.txt, +1 −1)
        b.txt: alpha⏎beta⏎
        sub/c.txt: x⏎y⏎z⏎
        deep/er/new.txt: one⏎2⏎three⏎
    "#]],
    )
    .await;
    check(
        "*** Update File: a.txt\n*** Move to: new.txt",
        expect![[r#"
        ✓ Applied:
        M new.txt (moved from a.txt, +0 −0)
        b.txt: alpha⏎beta⏎
        sub/c.txt: x⏎y⏎z⏎
        new.txt: one⏎two⏎three⏎
    "#]],
    )
    .await;
}

#[tokio::test]
async fn operations_on_one_file_follow_each_other() {
    let twice =
        "*** Update File: a.txt\n@@\n-two\n+2\n*** Update File: ./a.txt\n@@\n 2\n-three\n+3";
    check(
        twice,
        expect![[r#"
        ✓ Applied:
        M a.txt (+2 −2)
        a.txt: one⏎2⏎3⏎
        b.txt: alpha⏎beta⏎
        sub/c.txt: x⏎y⏎z⏎
    "#]],
    )
    .await;
    check(
        "*** Delete File: a.txt\n*** Add File: a.txt\n+one\n+2",
        expect![[r#"
        ✓ Applied:
        M a.txt (+1 −2)
        a.txt: one⏎2⏎
        b.txt: alpha⏎beta⏎
        sub/c.txt: x⏎y⏎z⏎
    "#]],
    )
    .await;
    check(
        "*** Update File: a.txt\n@@\n-two\n+2\n*** Delete File: a.txt",
        expect![[r#"
        ✓ Applied:
        D a.txt
        b.txt: alpha⏎beta⏎
        sub/c.txt: x⏎y⏎z⏎
    "#]],
    )
    .await;
    let swap = "*** Update File: a.txt\n*** Move to: new.txt\n*** Update File: b.txt\n\
                *** Move to: a.txt\n*** Update File: new.txt\n*** Move to: b.txt";
    check(
        swap,
        expect![[r#"
        ✓ Applied:
        M a.txt (moved from b.txt, +0 −0)
        M b.txt (moved from a.txt, +0 −0)
        a.txt: alpha⏎beta⏎
        b.txt: one⏎two⏎three⏎
        sub/c.txt: x⏎y⏎z⏎
    "#]],
    )
    .await;
    let chain = "*** Update File: a.txt\n*** Move to: n1\n*** Update File: n1\n\
                 *** Move to: new.txt\n@@\n-two\n+2";
    check(
        chain,
        expect![[r#"
        ✓ Applied:
        M new.txt (moved from a.txt, +1 −1)
        b.txt: alpha⏎beta⏎
        sub/c.txt: x⏎y⏎z⏎
        new.txt: one⏎2⏎three⏎
    "#]],
    )
    .await;
}

#[tokio::test]
async fn lenient_matches_are_told() {
    check(
        "*** Update File: sub/c.txt\n@@ nowhere\n-  y\n+  Y",
        expect![[r#"
        ✓ Applied:
        M sub/c.txt (+1 −1)
        Notes:
        - sub/c.txt, change 1: '@@ nowhere' was not found and was ignored
        - sub/c.txt, change 1: matched at line 2 apart from indentation
        a.txt: one⏎two⏎three⏎
        b.txt: alpha⏎beta⏎
        sub/c.txt: x⏎Y⏎z⏎
    "#]],
    )
    .await;
    check(
        "*** Update File: a.txt\n@@\n one\n two",
        expect![[r#"
        ✓ Nothing was changed: the files already are as the patch wants them.
        Notes:
        - a.txt: the text already is as the patch wants it
        a.txt: one⏎two⏎three⏎
        b.txt: alpha⏎beta⏎
        sub/c.txt: x⏎y⏎z⏎
    "#]],
    )
    .await;
}

#[tokio::test]
async fn what_does_not_apply_changes_nothing() {
    let first = "*** Update File: a.txt\n@@\n-two\n+2\n";
    let then = |body: &str| format!("{first}{body}");
    for (body, part) in [
        ("*** Add File: b.txt\n+x", "b.txt exists already"),
        ("*** Delete File: none.txt", "none.txt does not exist"),
        ("*** Delete File: sub", "it is a folder"),
        ("*** Update File: none.txt\n@@\n-x\n+y", "none.txt does not exist"),
        ("*** Update File: b.txt\n*** Move to: sub/c.txt", "which exists already"),
        ("*** Update File: b.txt\n*** Move to: b.txt\n@@\n-beta\n+B", "onto itself"),
        ("*** Update File: b.txt\n*** Move to: ./sub/../b.txt", "onto itself"),
        ("*** Add File: new.txt\n+x\n*** Add File: new.txt/y\n+x", "overlap"),
        ("*** Add File: b.txt/y\n+x", "b.txt/y"),
        ("*** Update File: b.txt\n@@\n-gamma\n+x", "no line reads 'gamma'"),
        ("*** Update File: b.txt\n@@\n-alph\n+x", "only inside a longer line, at line 1"),
        ("*** Update File: b.txt\n@@\n-beta\n+x\n@@\n-alpha\n+y", "b.txt, change 2 of 2"),
        ("*** Update File: b.txt\n@@\n-beta\n+x\n@@\n-alpha\n+y", "occurs only earlier"),
        ("*** Delete File: b.txt\n*** Update File: b.txt\n@@\n-beta\n+x", "b.txt does not exist"),
        ("*** Update File: n.ipynb\n@@\n-x\n+y", "Use NotebookEdit"),
        ("*** Update File: b.txt", "holds no change"),
        ("*** Add File: new.txt\nx", "starts with '+'"),
        ("*** Frobnicate File: x", "starts no operation"),
    ] {
        check_refused(&then(body), part).await;
    }
}

#[tokio::test]
async fn every_failure_is_told_at_once() {
    let body = "*** Update File: a.txt\n@@\n-two\n+2\n@@\n-four\n+4\n*** Add File: b.txt\n+x\n\
                *** Update File: sub/c.txt\n@@\n-y\n+Y";
    check(body, expect![[r#"
        ✗ The patch does not apply; nothing was changed. 1 of its 3 operations fit; send them again with the others.
        - a.txt, change 2 of 2 (line 6 of the patch), starting with 'four', was not found; no line reads 'four'; the 1 before it fit, keep all of them together
        - b.txt exists already; change it with '*** Update File:'
        a.txt: one⏎two⏎three⏎
        b.txt: alpha⏎beta⏎
        sub/c.txt: x⏎y⏎z⏎
    "#]]).await;
}

#[tokio::test]
async fn wrappers_around_a_patch_are_forgiven() {
    let plain = envelope("*** Update File: a.txt\n@@\n-two\n+2");
    let json = json!({ "command": ["apply_patch", plain] });
    for input in [
        json!({ "patch": plain }),
        json!({ "input": format!("apply_patch <<'EOF'\n{plain}\nEOF") }),
        json!({ "patchText": format!("  {plain}  ") }),
        json!({ "patch": json.to_string() }),
        json,
        json!({ "path": "a.txt", "patch": "@@\n-two\n+2\n" }),
        json!({ "path": "a.txt", "patch": "-two\n+2" }),
    ] {
        let desk = desk(&[("apply_patch", input.clone())]);
        desk.turn("go").await;
        assert_eq!(desk.read("a.txt"), "one\n2\nthree\n", "{input} {:?}", desk.results());
    }
}

#[tokio::test]
async fn what_is_no_patch_is_told_why() {
    for (text, part) in [
        ("*** Update File: a.txt\n@@\n-two\n+2", "the first line must be '*** Begin Patch'"),
        ("*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+2", "the last line must be"),
        ("@@\n-two\n+2", "the first line must be"),
        ("", "the first line must be"),
    ] {
        let desk = Desk::new(Mode::Edit, one("ApplyPatch", json!({ "patch": text })));
        desk.turn("go").await;
        let told = desk.results().pop().unwrap();
        assert!(told.contains(part) && told.contains("Nothing was changed"), "{text}: {told}");
    }
}

#[tokio::test]
async fn lines_that_go_must_have_been_read_and_context_is_no_evidence() {
    let part = ("Read", json!({ "file_path": "long.txt", "limit": 2 }));
    let unseen = patch("*** Update File: long.txt\n@@\n 1\n 2\n-3\n+three");
    let seen = patch("*** Update File: long.txt\n@@\n-2\n+two\n 3");
    let moved = patch("*** Update File: long.txt\n*** Move to: moved.txt\n@@\n-1\n+one");
    let after = patch("*** Update File: moved.txt\n@@\n-two\n+zwei");
    let unread = patch("*** Update File: moved.txt\n@@\n-4\n+vier");
    let never = patch("*** Update File: long.txt\n@@\n 4\n-5\n+five");
    let desk = desk(&[never, part, unseen, seen, moved, after, unread]);
    desk.write("long.txt", "1\n2\n3\n4\n5\n");
    desk.turn("go").await;
    assert_eq!(desk.read("moved.txt"), "one\nzwei\n3\n4\n5\n");
    expect![[r#"
        ✗ The patch does not apply; nothing was changed.
        - long.txt was not read yet. Its lines 5-5 are:
             5	5
        Nothing was changed. Make the edit against this text.
        ✓      1	1
             2	2
        [lines 1-2 of 5; stopped at limit; next offset 3]
        ✗ The patch does not apply; nothing was changed.
        - Lines 3-3 of long.txt were not read yet. They are:
             3	3
        Nothing was changed. Make the edit against this text.
        ✓ Applied:
        M long.txt (+1 −1)
        ✓ Applied:
        M moved.txt (moved from long.txt, +1 −1)
        ✓ Applied:
        M moved.txt (+1 −1)
        ✗ The patch does not apply; nothing was changed.
        - Lines 4-4 of moved.txt were not read yet. They are:
             4	4
        Nothing was changed. Make the edit against this text."#]]
    .assert_eq(&desk.results()[3..].join("\n"));
}

#[tokio::test]
async fn a_change_since_the_reading_is_shown() {
    let steps = json!([
        calls(&[read("a.txt")]),
        calls(&[patch("*** Update File: a.txt\n@@\n one\n-two\n+2")]),
        { "text": "done" }
    ]);
    let desk = Desk::new(Mode::Ask, steps);
    desk.prompt("go", crate::session::Delivery::Queue);
    desk.asked(1).await;
    desk.write("a.txt", "one\nTWO\nthree\n");
    desk.answer("allow_once", json!({}));
    desk.idle(1).await;
    assert_eq!(desk.read("a.txt"), "one\nTWO\nthree\n");
    expect![[r#"
        ✗ The patch does not apply; nothing was changed.
        - a.txt changed since it was read, in lines 2-2. They are now:
             2	TWO
        Nothing was changed. Make the edit against this text."#]]
    .assert_eq(&desk.results().pop().unwrap());
}

#[tokio::test]
async fn unsaved_text_is_patched_and_neither_moved_nor_deleted() {
    let desk = desk(&[
        patch("*** Update File: a.txt\n@@\n-two\n+2"),
        patch("*** Update File: a.txt\n*** Move to: new.txt"),
        patch("*** Delete File: a.txt"),
    ]);
    let location = desk.open("a.txt", "unsaved\ntwo\nthree\n");
    desk.turn("go").await;
    assert_eq!(desk.buffer(&location).0, "unsaved\n2\nthree\n");
    assert_eq!(desk.read("a.txt"), "one\ntwo\nthree\n");
    expect![[r#"
        ✓ Applied:
        M a.txt (+1 −1)
        Notes:
        - a.txt: It is in the editor's buffer, not saved: the buffer was not saved before.
        ✗ The patch does not apply; nothing was changed.
        - a.txt has unsaved text in the editor and cannot be moved; ask the person to save it
        ✗ The patch does not apply; nothing was changed.
        - a.txt has unsaved text in the editor and cannot be deleted; ask the person to save it"#]]
    .assert_eq(&desk.results()[3..].join("\n"));
}

#[tokio::test]
async fn bytes_that_are_no_text_are_moved_and_deleted_but_not_changed() {
    let desk = desk(&[
        patch("*** Update File: pic.bin\n@@\n-x\n+y"),
        patch("*** Update File: pic.bin\n*** Move to: sub/pic.bin"),
        patch("*** Delete File: sub/pic.bin"),
    ]);
    desk.write("pic.bin", "\0\u{1}\u{2}\0");
    desk.turn("go").await;
    assert!(!desk.vfs.exists(&vfs::Location::disk(desk.root.join("sub/pic.bin"))));
    expect![[r#"
        ✗ The patch does not apply; nothing was changed.
        - pic.bin cannot be changed: /w/pic.bin is binary (data with NUL bytes, 4 bytes)
        ✓ Applied:
        M sub/pic.bin (moved from pic.bin, +0 −0)
        ✓ Applied:
        D sub/pic.bin"#]]
    .assert_eq(&desk.results()[3..].join("\n"));
}

#[tokio::test]
async fn links_are_followed_by_changes_and_deleted_themselves() {
    let desk = desk(&[
        read("link.txt"),
        read("folder/c.txt"),
        patch("*** Update File: link.txt\n@@\n-two\n+2"),
        patch("*** Update File: link.txt\n@@\n-2\n+zwei\n*** Update File: a.txt\n@@\n-one\n+1"),
        patch("*** Update File: link.txt\n*** Move to: new.txt"),
        patch("*** Update File: folder/c.txt\n@@\n-y\n+Y\n*** Delete File: sub/c.txt"),
        patch("*** Update File: folder/c.txt\n@@\n-y\n+Y"),
        patch("*** Delete File: link.txt\n*** Delete File: open.txt"),
        ("Delete", json!({ "paths": ["other.txt"], "reason": "not needed" })),
    ]);
    let link = |to: &str, name: &str| {
        std::os::unix::fs::symlink(to, desk.root.join(name)).unwrap();
    };
    link("a.txt", "link.txt");
    link("b.txt", "open.txt");
    link("b.txt", "other.txt");
    link("sub", "folder");
    desk.open("b.txt", "alpha\nbeta\n");
    desk.turn("go").await;
    let stands = |name: &str| desk.vfs.link_stat(&desk.root.join(name)).is_ok();
    assert!(
        !stands("link.txt")
            && !stands("open.txt")
            && !stands("other.txt")
            && stands("a.txt")
            && stands("b.txt")
    );
    assert_eq!(
        (desk.read("a.txt"), desk.read("sub/c.txt")),
        ("one\n2\nthree\n".into(), "x\nY\nz\n".into())
    );
    expect![[r#"
        ✓ Applied:
        M link.txt (+1 −1)
        ✗ The patch does not apply; nothing was changed. 1 of its 2 operations fit; send them again with the others.
        - a.txt and link.txt are one file; use one name
        ✗ The patch does not apply; nothing was changed.
        - link.txt is a link, which is not moved
        ✗ The patch does not apply; nothing was changed. 1 of its 2 operations fit; send them again with the others.
        - sub/c.txt and folder/c.txt are one file; use one name
        ✓ Applied:
        M folder/c.txt (+1 −1)
        ✓ Applied:
        D link.txt
        D open.txt
        ✓ Deleted other.txt."#]].assert_eq(&desk.results()[5..].join("\n"));
}

#[tokio::test]
async fn paths_are_taken_in_every_spelling() {
    for path in ["b c.txt", "\"b c.txt\"", "./sub/../b c.txt"] {
        let body = format!("*** Add File: {path}\n+x");
        let desk = desk(&[patch(&body)]);
        desk.turn("go").await;
        assert_eq!(desk.read("b c.txt"), "x\n", "{path}");
    }
}

#[tokio::test]
async fn deny_rules_and_the_plan_mode_catch_every_path() {
    for (rules, mode, body) in [
        ("deny Edit(sub/**)", Mode::Auto, "*** Delete File: sub/c.txt"),
        ("deny Edit(sub/**)", Mode::Auto, "*** Update File: a.txt\n*** Move to: sub/a.txt"),
        ("deny Write(sub/**)", Mode::Auto, "*** Add File: a/../sub/n.txt\n+x"),
        ("deny patch", Mode::Auto, "*** Add File: n.txt\n+x"),
        ("", Mode::Plan, "*** Add File: n.txt\n+x"),
        ("", Mode::Auto, "*** Add File: .env\n+x"),
    ] {
        let steps = one("ApplyPatch", json!({ "patch": envelope(body) }));
        let desk = Desk::with_rules(mode, rules, steps);
        desk.turn("go").await;
        let told = desk.results().pop().unwrap();
        assert!(told.starts_with("✗ denied"), "{rules} {body}: {told}");
        assert_eq!(desk.read("a.txt"), "one\ntwo\nthree\n");
    }
}

#[tokio::test]
async fn a_patch_of_a_large_file_keeps_its_other_bytes() {
    let long: String = (0..40_000).map(|it| format!("line {it}  \r\n")).collect();
    let part = ("Read", json!({ "file_path": "long.txt", "offset": 30_000, "limit": 20 }));
    let desk = desk(&[part, patch("*** Update File: long.txt\n@@ line 30000\n-line 30001\n+new")]);
    desk.write("long.txt", &long);
    desk.turn("go").await;
    assert_eq!(desk.read("long.txt"), long.replace("line 30001  \r\n", "new\r\n"));
}

/// A desk whose patches may apply in part, with everything read.
fn partial(then: &[(&str, Value)]) -> Desk {
    let mut steps: Vec<Value> =
        ["a.txt", "b.txt", "c.txt"].iter().map(|it| calls(&[read(it)])).collect();
    steps.extend(then.iter().map(|it| calls(std::slice::from_ref(it))));
    steps.push(json!({ "text": "done" }));
    let desk = Desk::configured(Mode::Edit, "", Value::Array(steps), |it| it.edits.partial = true);
    for path in ["a.txt", "b.txt", "c.txt"] {
        desk.write(path, "one\ntwo\nthree\n");
    }
    desk
}

#[tokio::test]
async fn in_part_each_group_of_files_is_changed_that_fits() {
    let body = "*** Update File: a.txt\n@@\n-two\n+2\n\
        *** Update File: b.txt\n@@\n-nowhere\n+2\n\
        *** Update File: c.txt\n@@\n-one\n+1\n\
        *** Update File: ./b.txt\n@@\n-two\n+2\n\
        *** Add File: new/d.txt\n+d\n\
        *** Update File: c.txt\n@@\n-three\n+3";
    let desk = partial(&[patch(body)]);
    desk.turn("go").await;
    expect![[r#"
        ✗ Applied in part; do not send again what was applied. Applied:
        M a.txt (+1 −1)
        M c.txt (+2 −2)
        A new/d.txt (+1)
        Not applied:
        - b.txt, change 1 of 1 (line 7 of the patch), starting with 'nowhere', was not found; no line reads 'nowhere'"#]]
    .assert_eq(&desk.results().pop().unwrap());
    assert_eq!(desk.read("a.txt"), "one\n2\nthree\n");
    assert_eq!(desk.read("b.txt"), "one\ntwo\nthree\n", "a group applies whole or not at all");
    assert_eq!(desk.read("c.txt"), "1\ntwo\n3\n");
    assert_eq!(desk.read("new/d.txt"), "d\n");
}

#[tokio::test]
async fn in_part_a_move_ties_two_files_together() {
    let body = "*** Update File: a.txt\n@@\n-two\n+2\n\
        *** Update File: b.txt\n*** Move to: a.txt\n\
        *** Update File: c.txt\n@@\n-two\n+2";
    let desk = partial(&[patch(body)]);
    desk.turn("go").await;
    let result = desk.results().pop().unwrap();
    assert!(result.contains("M c.txt") && !result.contains("M a.txt"), "{result}");
    assert!(result.contains("b.txt cannot be moved to a.txt, which exists already"), "{result}");
    assert_eq!(desk.read("a.txt"), "one\ntwo\nthree\n");
}

#[tokio::test]
async fn in_part_all_that_is_not_applied_is_named() {
    let body = "*** Update File: a.txt\n*** Move to: new/n.txt\n@@\n-x\n+2\n\
        *** Delete File: b.txt\n*** Update File: c.txt\n@@\n-two\n+2";
    let desk = partial(&[patch(body)]);
    desk.turn("go").await;
    let result = desk.results().pop().unwrap();
    assert!(result.contains("D b.txt") && result.contains("M c.txt"), "{result}");
    assert!(result.contains("; not applied with it: new/n.txt"), "{result}");
}

#[tokio::test]
async fn in_part_is_all_where_all_fits_and_nothing_where_nothing_does() {
    let good = "*** Update File: a.txt\n@@\n-two\n+2\n*** Update File: b.txt\n@@\n-two\n+2";
    let bad = "*** Update File: a.txt\n@@\n-x\n+2\n*** Update File: b.txt\n@@\n-x\n+2";
    let desk = partial(&[patch(good), patch(bad)]);
    desk.turn("go").await;
    let results = desk.results();
    assert!(results[3].starts_with("✓ Applied:\nM a.txt"), "{results:?}");
    assert!(results[4].starts_with("✗ The patch does not apply; nothing was changed."));
    assert!(results[4].contains("a.txt") && results[4].contains("b.txt"), "{results:?}");
}

#[tokio::test]
async fn in_part_a_file_that_changes_at_the_last_moment_does_not_hold_up_the_others() {
    let body = "*** Update File: a.txt\n@@\n-two\n+2\n*** Update File: b.txt\n@@\n-two\n+2";
    let desk = partial(&[patch(body)]);
    let path = desk.root.join("a.txt");
    *desk.editor.before_apply.lock().unwrap() = Some(Box::new(move |_| {
        vfs::state::write_private(&path, b"one\nmeanwhile\nthree\n").unwrap();
    }));
    desk.turn("go").await;
    let result = desk.results().pop().unwrap();
    assert!(result.contains("M b.txt") && result.contains("Not applied:\n- "), "{result}");
    assert_eq!(desk.read("a.txt"), "one\nmeanwhile\nthree\n");
    assert_eq!(desk.read("b.txt"), "one\n2\nthree\n");
}

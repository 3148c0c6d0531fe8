//! Reading and editing in a session: what must have been seen, where the text goes, what is told.

use expect_test::{Expect, expect};
use serde_json::{Value, json};
use vfs::{Dirty, Location, TextChange, Vfs};

use crate::settings::Mode;
use crate::testing::{Desk, calls};

fn read(path: &str) -> (&'static str, Value) {
    ("Read", json!({ "file_path": path }))
}

fn edit(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    ("Edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("Write", json!({ "file_path": path, "content": content }))
}

/// Steps of one call each, and a last word.
fn steps(all: &[(&str, Value)]) -> Value {
    let mut steps: Vec<Value> = all.iter().map(|it| calls(std::slice::from_ref(it))).collect();
    steps.push(json!({ "text": "done" }));
    Value::Array(steps)
}

fn desk(all: &[(&str, Value)]) -> Desk {
    Desk::new(Mode::Edit, steps(all))
}

/// Runs the calls; gives the last result.
async fn last(desk: &Desk) -> String {
    desk.turn("go").await;
    desk.results().pop().unwrap()
}

#[track_caller]
fn check(actual: &str, expected: Expect) {
    expected.assert_eq(actual);
}

#[tokio::test]
async fn a_file_that_was_not_read_whole_is_not_replaced() {
    let long: String = (1..=300).map(|it| format!("line {it}\n")).collect();
    let part = ("Read", json!({ "file_path": "long.txt", "limit": 5 }));
    let desk = desk(&[
        write("long.txt", "x"),
        part,
        write("long.txt", "x"),
        read("long.txt"),
        write("long.txt", "x\n"),
    ]);
    desk.write("long.txt", &long);
    desk.turn("go").await;
    let results = desk.results();
    assert!(results[4].starts_with("✓"), "{results:?}");
    assert_eq!(desk.read("long.txt"), "x\n");
    check(
        &format!("{}\n{}", results[0], results[2]),
        expect![[r#"
            ✗ long.txt was not read yet. Read the whole file before you replace it, or use Edit for a part of it.
            ✗ Lines 1-300 of long.txt were not read yet. Read the whole file before you replace it, or use Edit for a part of it."#]],
    );
}

#[tokio::test]
async fn lines_that_were_not_shown_are_not_edited() {
    let desk = desk(&[
        ("Read", json!({ "file_path": "a.txt", "limit": 1 })),
        edit("a.txt", "two", "2"),
        edit("a.txt", "one", "1"),
        // The refusal showed the line.
        edit("a.txt", "two", "2"),
        edit("a.txt", "three", "3"),
    ]);
    desk.turn("go").await;
    assert_eq!(desk.read("a.txt"), "1\n2\nthree\n");
    check(
        &desk.results()[1],
        expect![[r#"
        ✗ Lines 2-2 of a.txt were not read yet. They are:
             2	two
        Nothing was changed. Make the edit against this text."#]],
    );
}

#[tokio::test]
async fn spaces_for_a_tab_are_matched_by_indentation() {
    let desk = desk(&[
        read("t.txt"),
        edit("t.txt", "    if x {\n        y();\n    }", "    if x {\n        z();\n    }"),
    ]);
    desk.write("t.txt", "fn f() {\n\tif x {\n\t\ty();\n\t}\n}\n");
    let told = last(&desk).await;
    assert_eq!(desk.read("t.txt"), "fn f() {\n\tif x {\n\t\tz();\n\t}\n}\n");
    check(
        &told,
        expect![[r#"
        ✓ Changed t.txt (+1 −1). Not matched exactly but by: indentation.
        @@ -1,5 +1,5 @@
         fn f() {
         	if x {
        -		y();
        +		z();
         	}
         }
    "#]],
    );
}

#[tokio::test]
async fn dollar_signs_are_text() {
    let desk = desk(&[read("a.txt"), edit("a.txt", "two", "$& $1 $$")]);
    last(&desk).await;
    assert_eq!(desk.read("a.txt"), "one\n$& $1 $$\nthree\n");
}

#[tokio::test]
async fn a_text_that_is_not_there_is_told_with_the_closest() {
    let desk = desk(&[read("a.txt"), edit("a.txt", "twoo\nthree", "x")]);
    check(
        &last(&desk).await,
        expect![[r#"
        ✗ old_string was not found in a.txt. The closest place is line 2, which differs from column 4 on:
             2	two
        where old_string has:
              	twoo
        Read the lines again and use the text as it is now."#]],
    );
    assert_eq!(desk.read("a.txt"), "one\ntwo\nthree\n");
}

#[tokio::test]
async fn an_ambiguous_text_is_told_with_its_lines() {
    let desk = desk(&[read("d.txt"), edit("d.txt", "x", "y")]);
    desk.write("d.txt", "x\na\nx\n");
    check(
        &last(&desk).await,
        expect![
            "✗ old_string occurs 2 times in d.txt, at lines 1, 3. Add lines around it so that it is unique, or set replace_all."
        ],
    );
}

#[tokio::test]
async fn several_edits_are_all_made_or_none() {
    let multi = |second: &str| {
        let edits = json!([{ "old_string": "one", "new_string": "1" }, { "old_string": second, "new_string": "2" }]);
        ("MultiEdit", json!({ "file_path": "a.txt", "edits": edits }))
    };
    let desk = desk(&[read("a.txt"), multi("none"), multi("two")]);
    desk.turn("go").await;
    assert_eq!(desk.read("a.txt"), "1\n2\nthree\n");
    check(
        &desk.results()[1],
        expect![
            "✗ Edit 2 of 2: old_string was not found in a.txt, nor anything like it. Read the file again and use the text as it is now. Nothing was changed."
        ],
    );
}

/// Between the reading and the edit something happens to the file: while the person is asked.
async fn meanwhile(happens: impl FnOnce(&Desk)) -> (Desk, String) {
    let desk = Desk::new(Mode::Ask, steps(&[read("a.txt"), edit("a.txt", "two", "2")]));
    desk.prompt("go", crate::session::Delivery::Queue);
    desk.asked(1).await;
    happens(&desk);
    desk.answer("allow_once", json!({}));
    desk.idle(1).await;
    let told = desk.results().pop().unwrap();
    (desk, told)
}

#[tokio::test]
async fn the_same_bytes_written_anew_do_not_matter() {
    let (desk, told) = meanwhile(|desk| desk.write("a.txt", "one\ntwo\nthree\n")).await;
    assert!(told.starts_with("✓"), "{told}");
    assert_eq!(desk.read("a.txt"), "one\n2\nthree\n");
}

#[tokio::test]
async fn a_change_elsewhere_in_the_file_is_kept() {
    let (desk, told) = meanwhile(|desk| desk.write("a.txt", "zero\none\ntwo\nthree\n")).await;
    assert!(told.starts_with("✓"), "{told}");
    assert_eq!(desk.read("a.txt"), "zero\none\n2\nthree\n");
}

#[tokio::test]
async fn a_change_in_the_lines_is_refused_with_the_text_as_it_is() {
    let (desk, told) = meanwhile(|desk| desk.write("a.txt", "one\ntwo and a half\nthree\n")).await;
    assert_eq!(desk.read("a.txt"), "one\ntwo and a half\nthree\n");
    check(
        &told,
        expect![[r#"
        ✗ a.txt changed since it was read, in lines 2-2. They are now:
             2	two and a half
        Nothing was changed. Make the edit against this text."#]],
    );
}

#[tokio::test]
async fn a_change_while_the_edit_is_applied_is_refused_and_then_seen() {
    let desk = desk(&[read("a.txt"), edit("a.txt", "two", "2"), edit("a.txt", "TWO", "2")]);
    let location = desk.open("a.txt", "one\ntwo\nthree\n");
    let typed = move |vfs: &Vfs| {
        let whole = TextChange { range: None, text: "one\nTWO\nthree\n".into() };
        vfs.change(&location, 2, vec![whole]).unwrap();
    };
    *desk.editor.before_apply.lock().unwrap() = Some(Box::new(typed));
    desk.turn("go").await;
    let results = desk.results();
    assert!(results[2].starts_with("✓"), "{results:?}");
    check(
        &results[1],
        expect![[r#"
        ✗ The person changed the same place of a.txt meanwhile; nothing of yours was applied. From line 2 it now reads:
             2	TWO
        Make the edit against this text."#]],
    );
}

#[tokio::test]
async fn unsaved_text_is_what_is_read_and_edited() {
    let desk = desk(&[read("a.txt"), edit("a.txt", "two", "2")]);
    let location = desk.open("a.txt", "unsaved\ntwo\nthree\n");
    desk.turn("go").await;
    let results = desk.results();
    assert!(results[0].contains("1\tunsaved\n"), "{results:?}");
    assert_eq!(desk.buffer(&location), ("unsaved\n2\nthree\n".into(), Dirty::Person));
    assert_eq!(desk.read("a.txt"), "one\ntwo\nthree\n");
    check(
        &results[1],
        expect![[r#"
        ✓ Changed a.txt (+1 −1). It is in the editor's buffer, not saved: the buffer was not saved before.
        @@ -1,3 +1,3 @@
         unsaved
        -two
        +2
         three
    "#]],
    );
}

#[tokio::test]
async fn an_untitled_buffer_is_read_and_edited_by_its_name() {
    let desk = desk(&[
        read("untitled:Untitled-1"),
        edit("untitled:Untitled-1", "draft", "text"),
        read("untitled:none"),
    ]);
    let location: Location = desk.open("untitled:Untitled-1", "a draft\n");
    desk.turn("go").await;
    assert_eq!(desk.buffer(&location).0, "a text\n");
    check(
        &desk.results().join("\n"),
        expect![[r#"
        ✓      1	a draft
        [lines 1-1 of 1] [unsaved: this is the editor's buffer, not the file]
        ✓ Changed untitled:Untitled-1 (+1 −1). It is in the editor's buffer, not saved: the buffer was not saved before.
        @@ -1 +1 @@
        -a draft
        +a text

        ✗ untitled:none does not exist."#]],
    );
}

#[tokio::test]
async fn a_new_file_gets_its_folders_and_counts_as_read() {
    let desk = desk(&[write("new/deep/x.txt", "one\n"), edit("new/deep/x.txt", "one", "1")]);
    desk.turn("go").await;
    assert_eq!(desk.read("new/deep/x.txt"), "1\n");
}

#[tokio::test]
async fn what_was_appended_counts_as_read() {
    let append = ("Write", json!({ "file_path": "a.txt", "content": "four\n", "mode": "append" }));
    let desk = desk(&[append, edit("a.txt", "four", "4"), edit("a.txt", "one", "1")]);
    desk.turn("go").await;
    assert_eq!(desk.read("a.txt"), "one\ntwo\nthree\n4\n");
}

#[tokio::test]
async fn what_cannot_be_read_says_what_to_do() {
    let desk = desk(&[
        read("."),
        read("none.txt"),
        ("Read", json!({ "file_path": "a.txt", "offset": 9 })),
        ("Read", json!({ "file_path": "a.txt", "offset": -1 })),
        read("empty.txt"),
        read("bytes.bin"),
        edit("", "a", "b"),
    ]);
    desk.write("empty.txt", "");
    desk.write("bytes.bin", "\0\u{1}\u{2}\0");
    desk.turn("go").await;
    check(
        &desk.results().join("\n"),
        expect![[r#"
        ✗ . is a folder. Use LS to list it or Glob to find files in it.
        ✗ /w/none.txt does not exist.
        ✗ The file has 3 lines; there is no line 9. Use offset 1 to 3.
        ✓      3	three
        [lines 3-3 of 3]
        ✓ [the file is empty]
        ✗ /w/bytes.bin is binary (data with NUL bytes, 4 bytes).
        ✗ The path is empty. Give the path of a file."#]],
    );
}

#[tokio::test]
async fn a_long_result_is_kept_whole_as_an_artifact() {
    let desk = Desk::new(Mode::Auto, steps(&[("Bash", json!({ "command": "seq 1 20000" }))]));
    let told = last(&desk).await;
    assert!(
        told.chars().count() < 32_000 && told.contains("left out here; the whole is artifact:")
    );
}

#[tokio::test]
async fn a_search_leaves_out_what_a_rule_denies() {
    let grep = |pattern: &str, mode: &str| {
        ("Grep", json!({ "pattern": pattern, "output_mode": mode, "head_limit": 1 }))
    };
    let left_out = "[note: 1 file was left out: a rule denies reading it]\n";
    let some = "[note: some entries were left out: a rule denies reading them]\n";
    let shown = [
        (grep("word", "content"), format!("b.txt:1:a plain word\n{left_out}")),
        (grep("hidden", "content"), format!("No matches found.\n{left_out}")),
        (grep("absent", "files_with_matches"), format!("No matches found.\n{left_out}")),
        (grep("word", "count_matches"), format!("b.txt:1\ntotal: 1 match in 1 file\n{left_out}")),
        (
            ("Glob", json!({ "pattern": "**/*.txt", "path": "kept" })),
            format!("No files found.\n{left_out}"),
        ),
        (("LS", json!({ "path": "kept" })), some.to_owned()),
    ];
    for (call, expected) in shown {
        let desk = Desk::with_rules(Mode::Auto, "deny Read(kept/**)", steps(&[call]));
        desk.write("kept/a.txt", &"a hidden word\n".repeat(10));
        desk.write("b.txt", "a plain word\n");
        let told = last(&desk).await;
        assert!(told.ends_with(&expected) && !told.contains("a.txt"), "{told}");
    }
}

#[tokio::test]
async fn a_secret_that_a_rule_allows_is_searched() {
    let search = ("Grep", json!({ "pattern": "KEY", "output_mode": "content" }));
    for (rules, expected) in [
        ("allow Read(/.env)", ".env:1:KEY=1\n[1 sensitive files left out]\n"),
        ("allow Read(/**)", "No matches found.\n[2 sensitive files left out]\n"),
    ] {
        let desk = Desk::with_rules(Mode::Auto, rules, steps(std::slice::from_ref(&search)));
        desk.write(".env", "KEY=1\n");
        desk.write(".env.local", "KEY=2\n");
        assert_eq!(last(&desk).await, format!("✓ {expected}"));
    }
}

#[tokio::test]
async fn always_is_no_answer_where_it_was_not_offered() {
    let desk = Desk::new(Mode::Auto, steps(&[write(".git/hooks/x", "x")]));
    desk.answer("allow_always", json!({ "rule": "Edit(**)" }));
    let told = last(&desk).await;
    assert!(told.starts_with("✗ rejected"), "{told}");
    assert!(desk.session.shared.remembered().is_empty());
}

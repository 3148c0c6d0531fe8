use super::*;
use crate::changeset::Edit;
use expect_test::{Expect, expect};
use proptest::prelude::*;

#[track_caller]
fn check(before: &str, after: &str, context: usize, expected: Expect) {
    let rope = Rope::from_str(before);
    expected.assert_eq(&unified(&rope, &ChangeSet::whole(&rope, after), context));
}

#[test]
fn shows_changed_lines_with_context() {
    let before = "1\n2\n3\n4\n5\n6\n7\n8\n9\n";
    check(
        before,
        "1\n2\n3\n4\nfive\n6\n7\n8\n9\nten\n",
        1,
        expect![[r#"
        @@ -4,3 +4,3 @@
         4
        -5
        +five
         6
        @@ -9 +9,2 @@
         9
        +ten
    "#]],
    );
    check(
        before,
        "1\n2\n3\n4\nfive\n6\n7\n8\nnine\n",
        3,
        expect![[r#"
        @@ -2,8 +2,8 @@
         2
         3
         4
        -5
        +five
         6
         7
         8
        -9
        +nine
    "#]],
    );
}

#[test]
fn shows_missing_final_newlines() {
    check(
        "a\nb",
        "a\nb\n",
        3,
        expect![[r#"
        @@ -1,2 +1,2 @@
         a
        -b
        \ No newline at end of file
        +b
    "#]],
    );
    check(
        "a\nb",
        "A\nb",
        3,
        expect![[r#"
        @@ -1,2 +1,2 @@
        -a
        +A
         b
        \ No newline at end of file
    "#]],
    );
    check(
        "",
        "a",
        3,
        expect![[r#"
        @@ -0,0 +1 @@
        +a
        \ No newline at end of file
    "#]],
    );
    check(
        "a\n",
        "",
        3,
        expect![[r#"
        @@ -1 +0,0 @@
        -a
    "#]],
    );
}

#[test]
fn drops_equal_lines_from_large_edits() {
    let before = Rope::from_str("a\nb\nc\nd\n");
    let changes = ChangeSet::new(8, vec![Edit::new(0..8, "a\nb\nX\nd\n")]).unwrap();
    assert_eq!(hunks_of(&changes, &before, 0), [Hunk { before: 2..3, after: 2..3 }]);
    assert_eq!(stats(&before, &changes), (1, 1));
    let nothing = ChangeSet::new(8, vec![Edit::new(0..8, "a\nb\nc\nd\n")]).unwrap();
    assert_eq!(unified(&before, &nothing, 3), "");
}

#[track_caller]
fn check_patch(old: Option<&str>, new: Option<&str>, before: &str, after: &str, expected: Expect) {
    let (before, after) = (Rope::from_str(before), Rope::from_str(after));
    let changes = ChangeSet::between(&before, &after);
    expected.assert_eq(&git_patch(old, new, &before, &after, &changes));
}

#[test]
fn writes_git_patches() {
    check_patch(
        None,
        Some("a b.txt"),
        "",
        "x\n",
        expect![[r#"
        diff --git a/a b.txt b/a b.txt
        new file mode 100644
        --- /dev/null
        +++ b/a b.txt	
        @@ -0,0 +1 @@
        +x
    "#]],
    );
    check_patch(
        Some("q\"\n"),
        None,
        "x",
        "",
        expect![[r#"
        diff --git "a/q\"\n" "b/q\"\n"
        deleted file mode 100644
        --- "a/q\"\n"
        +++ /dev/null
        @@ -1 +0,0 @@
        -x
        \ No newline at end of file
    "#]],
    );
    check_patch(
        Some("a"),
        Some("b"),
        "x\n",
        "x\n",
        expect![[r#"
        diff --git a/a b/b
        rename from a
        rename to b
    "#]],
    );
    check_patch(
        None,
        Some("empty"),
        "",
        "",
        expect![[r#"
        diff --git a/empty b/empty
        new file mode 100644
    "#]],
    );
    check_patch(Some("a"), Some("a"), "x\n", "x\n", expect![[""]]);
}

/// Applies a unified diff the plain way.
fn patched(before: &str, diff: &str) -> String {
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let mut out = String::new();
    let mut line = 0;
    let mut last = ' ';
    for text in diff.split_inclusive('\n') {
        if let Some(header) = text.strip_prefix("@@ -") {
            let range = header.split(' ').next().unwrap();
            let (start, count) = range.split_once(',').unwrap_or((range, "1"));
            let start = start.parse::<usize>().unwrap() - usize::from(count != "0");
            out.extend(old[line..start].iter().copied());
            line = start;
        } else if text.starts_with('\\') {
            if last != '-' {
                out.pop();
            }
        } else {
            last = text.chars().next().unwrap();
            if last != '-' {
                out.push_str(&text[1..]);
            }
            if last != '+' {
                line += 1;
            }
        }
    }
    out.extend(old[line.min(old.len())..].iter().copied());
    out
}

proptest! {
    #[test]
    fn a_unified_diff_leads_to_the_text_after(
        before in "([ab]{0,2}\n){0,8}[ab]{0,2}",
        cuts in proptest::collection::vec((0..30usize, 0..6usize, "[ab\n]{0,4}"), 1..4),
        context in 0..4usize,
    ) {
        let rope = Rope::from_str(&before);
        let mut changes = ChangeSet::identity(before.len());
        for (at, span, text) in cuts {
            let start = at.min(before.len());
            let mut edits = changes.edits().to_vec();
            edits.push(Edit::new(start..(start + span).min(before.len()), text));
            changes = ChangeSet::new(before.len(), edits).unwrap_or(changes);
        }
        let after = changes.apply(&rope);
        prop_assert_eq!(patched(&before, &unified(&rope, &changes, context)), after.to_string());
        let (added, removed) = stats(&rope, &changes);
        prop_assert_eq!(line_count(&rope) + added - removed, line_count(&after));
    }
}

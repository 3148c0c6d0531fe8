//! One cell of a notebook changes; every other byte stays.

use expect_test::{Expect, expect};
use proptest::prelude::*;
use serde_json::{Value, json};
use text::{ChangeSet, Rope};
use vfs::Location;

use super::cell_path;
use super::cells::{Change, Kind, Notebook};
use crate::settings::Mode;
use crate::testing::{Desk, calls};

const JUPYTER: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "aaaa",
   "metadata": {},
   "source": [
    "# Title\n",
    "é"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "bbbb",
   "metadata": {"n": 1.50},
   "outputs": [
    {
     "text": ["]}"]
    }
   ],
   "source": [
    "print(1)"
   ]
  }
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

const COMPACT: &str = r#"{"nbformat":4,"nbformat_minor":2,"metadata":{},"cells":[{"cell_type":"code","metadata":{},"outputs":[1],"execution_count":2,"source":"a = \"\u00e9\""}]}"#;

fn apply(text: &str, change: Change) -> String {
    let rope = Rope::from_str(text);
    ChangeSet::new(text.len(), change.edits).unwrap().apply(&rope).to_string()
}

/// The lines that differ, as a patch.
#[track_caller]
fn check(
    text: &str,
    change: impl FnOnce(&Notebook<'_>) -> Result<Change, String>,
    expected: Expect,
) {
    let told = match change(&Notebook::read(text).unwrap()) {
        Ok(change) => {
            let after = apply(text, change);
            serde_json::from_str::<Value>(&after).unwrap();
            let (before, after) = (Rope::from_str(text), Rope::from_str(&after));
            text::diff::unified(&before, &ChangeSet::between(&before, &after), 1)
        }
        Err(told) => told,
    };
    expected.assert_eq(&told);
}

#[test]
fn a_replaced_code_cell_loses_its_outputs() {
    check(
        JUPYTER,
        |it| it.replace(it.find("bbbb")?, "a\nb\n", None),
        expect![[r#"
        @@ -13,12 +13,9 @@
            "cell_type": "code",
        -   "execution_count": 3,
        +   "execution_count": null,
            "id": "bbbb",
            "metadata": {"n": 1.50},
        -   "outputs": [
        -    {
        -     "text": ["]}"]
        -    }
        -   ],
        +   "outputs": [],
            "source": [
        -    "print(1)"
        +    "a\n",
        +    "b\n"
            ]
    "#]],
    );
    check(
        COMPACT,
        |it| it.replace(it.find("cell-0")?, "ü \"x\"", None),
        expect![[r#"
        @@ -1 +1 @@
        -{"nbformat":4,"nbformat_minor":2,"metadata":{},"cells":[{"cell_type":"code","metadata":{},"outputs":[1],"execution_count":2,"source":"a = \"\u00e9\""}]}
        \ No newline at end of file
        +{"nbformat":4,"nbformat_minor":2,"metadata":{},"cells":[{"cell_type":"code","metadata":{},"outputs":[],"execution_count":null,"source":"\u00fc \"x\""}]}
        \ No newline at end of file
    "#]],
    );
}

#[test]
fn a_cell_becomes_another_kind() {
    check(
        JUPYTER,
        |it| it.replace(it.find("bbbb")?, "text", Some(Kind::Markdown)),
        expect![[r#"
        @@ -12,13 +12,7 @@
           {
        -   "cell_type": "code",
        -   "execution_count": 3,
        +   "cell_type": "markdown",
            "id": "bbbb",
            "metadata": {"n": 1.50},
        -   "outputs": [
        -    {
        -     "text": ["]}"]
        -    }
        -   ],
            "source": [
        -    "print(1)"
        +    "text"
            ]
    "#]],
    );
    check(
        JUPYTER,
        |it| it.replace(it.find("aaaa")?, "x", Some(Kind::Code)),
        expect![[r##"
        @@ -3,8 +3,9 @@
           {
        -   "cell_type": "markdown",
        +   "cell_type": "code",
        +   "execution_count": null,
            "id": "aaaa",
            "metadata": {},
        +   "outputs": [],
            "source": [
        -    "# Title\n",
        -    "é"
        +    "x"
            ]
    "##]],
    );
    check(
        JUPYTER,
        |it| it.replace(it.find("aaaa")?, "", Some(Kind::Markdown)),
        expect![[r##"
        @@ -6,6 +6,3 @@
            "metadata": {},
        -   "source": [
        -    "# Title\n",
        -    "é"
        -   ]
        +   "source": []
           },
    "##]],
    );
}

#[test]
fn a_new_cell_is_written_like_the_others() {
    check(
        JUPYTER,
        |it| Ok(it.insert(None, "x\ny", Kind::Code)),
        expect![[r#"
        @@ -3,2 +3,13 @@
           {
        +   "cell_type": "code",
        +   "execution_count": null,
        +   "id": "3cb3db36",
        +   "metadata": {},
        +   "outputs": [],
        +   "source": [
        +    "x\n",
        +    "y"
        +   ]
        +  },
        +  {
            "cell_type": "markdown",
    "#]],
    );
    check(
        JUPYTER,
        |it| Ok(it.insert(Some(1), "t", Kind::Markdown)),
        expect![[r#"
        @@ -24,2 +24,10 @@
            ]
        +  },
        +  {
        +   "cell_type": "markdown",
        +   "id": "26cf9237",
        +   "metadata": {},
        +   "source": [
        +    "t"
        +   ]
           }
    "#]],
    );
    check(
        COMPACT,
        |it| Ok(it.insert(Some(0), "x\ny", Kind::Code)),
        expect![[r#"
        @@ -1 +1 @@
        -{"nbformat":4,"nbformat_minor":2,"metadata":{},"cells":[{"cell_type":"code","metadata":{},"outputs":[1],"execution_count":2,"source":"a = \"\u00e9\""}]}
        \ No newline at end of file
        +{"nbformat":4,"nbformat_minor":2,"metadata":{},"cells":[{"cell_type":"code","metadata":{},"outputs":[1],"execution_count":2,"source":"a = \"\u00e9\""},{"cell_type":"code","execution_count":null,"metadata":{},"outputs":[],"source":"x\ny"}]}
        \ No newline at end of file
    "#]],
    );
    let none = "{\n  \"cells\": [],\n  \"nbformat\": 4,\n  \"nbformat_minor\": 4\n}";
    check(
        none,
        |it| Ok(it.insert(None, "x", Kind::Markdown)),
        expect![[r#"
        @@ -1,3 +1,11 @@
         {
        -  "cells": [],
        +  "cells": [
        +    {
        +      "cell_type": "markdown",
        +      "metadata": {},
        +      "source": [
        +        "x"
        +      ]
        +    }
        +  ],
           "nbformat": 4,
    "#]],
    );
}

#[test]
fn a_cell_is_taken_out_with_its_comma() {
    check(
        JUPYTER,
        |it| Ok(it.delete(it.find("aaaa")?)),
        expect![[r##"
        @@ -3,11 +3,2 @@
           {
        -   "cell_type": "markdown",
        -   "id": "aaaa",
        -   "metadata": {},
        -   "source": [
        -    "# Title\n",
        -    "é"
        -   ]
        -  },
        -  {
            "cell_type": "code",
    "##]],
    );
    check(
        JUPYTER,
        |it| Ok(it.delete(it.find("bbbb")?)),
        expect![[r#"
        @@ -10,16 +10,2 @@
            ]
        -  },
        -  {
        -   "cell_type": "code",
        -   "execution_count": 3,
        -   "id": "bbbb",
        -   "metadata": {"n": 1.50},
        -   "outputs": [
        -    {
        -     "text": ["]}"]
        -    }
        -   ],
        -   "source": [
        -    "print(1)"
        -   ]
           }
    "#]],
    );
    check(
        COMPACT,
        |it| Ok(it.delete(0)),
        expect![[r#"
        @@ -1 +1 @@
        -{"nbformat":4,"nbformat_minor":2,"metadata":{},"cells":[{"cell_type":"code","metadata":{},"outputs":[1],"execution_count":2,"source":"a = \"\u00e9\""}]}
        \ No newline at end of file
        +{"nbformat":4,"nbformat_minor":2,"metadata":{},"cells":[]}
        \ No newline at end of file
    "#]],
    );
}

#[test]
fn windows_line_endings_stay() {
    let text = JUPYTER.replace('\n', "\r\n");
    let change = Notebook::read(&text).unwrap().insert(Some(0), "x\r\ny", Kind::Code);
    let after = apply(&text, change);
    assert_eq!(after.matches('\n').count(), after.matches("\r\n").count());
    assert!(after.contains(r#""x\n","#), "{after}");
}

#[test]
fn a_new_cell_ends_its_lines_as_most_of_the_file_does() {
    // The odd line is the one between the first two cells.
    let at = JUPYTER.match_indices("},\n  {").next().unwrap().0 + 2;
    let mostly = |most: &str, odd: &str| {
        let (before, after) = (&JUPYTER[..at], &JUPYTER[at + 1..]);
        format!("{}{odd}{}", before.replace('\n', most), after.replace('\n', most))
    };
    for (most, odd) in [("\n", "\r\n"), ("\r\n", "\n")] {
        let text = mostly(most, odd);
        for after in [None, Some(0), Some(1)] {
            let change = Notebook::read(&text).unwrap().insert(after, "x\ny", Kind::Code);
            let made = apply(&text, change);
            let odd_lines = |it: &str| match odd {
                "\n" => it.matches('\n').count() - it.matches("\r\n").count(),
                _ => it.matches("\r\n").count(),
            };
            assert_eq!(odd_lines(&made), 1, "{most:?} {after:?}: {made:?}");
            serde_json::from_str::<Value>(&made).unwrap();
        }
    }
}

#[test]
fn what_is_no_notebook_is_told_why() {
    for (text, part) in [
        ("", "not valid JSON"),
        ("{\"cells\": [}", "not valid JSON"),
        ("[]", "no nbformat"),
        ("{\"nbformat\": 3, \"worksheets\": []}", "nbformat 3 is not supported"),
        ("{\"nbformat\": 4}", "has no cells"),
        ("{\"nbformat\": 4, \"cells\": {}}", "cells are no list"),
        (&format!("{}1{}", "[".repeat(125), "]".repeat(125)), "too deeply"),
    ] {
        let told = Notebook::read(text).err().unwrap();
        assert!(told.contains(part), "{told}");
    }
    check(
        JUPYTER,
        |it| it.replace(it.find("cccc")?, "", None),
        expect!["there is no cell `cccc`. Its cells are: aaaa, bbbb"],
    );
}

#[test]
fn the_notebook_of_a_cell_is_known() {
    let path = |uri| cell_path(uri).unwrap_or_default();
    assert_eq!(path("vscode-notebook-cell:/a/b%20c%C3%A9.ipynb#W0sZmlsZQ%3D%3D"), "/a/b cé.ipynb");
    assert_eq!(path("vscode-notebook-cell://wsl%2Bubuntu/a/b.ipynb#W1"), "/a/b.ipynb");
    assert_eq!(path("untitled:/a/b.ipynb"), "");
    assert_eq!(path("vscode-notebook-cell:/100%"), "/100%");
}

fn cell() -> impl Strategy<Value = Value> {
    ("[a-z]{3}", "[a-zé\"\\\\\n{}\\[\\],:]{0,12}", prop::sample::select(vec!["code", "markdown"]))
        .prop_map(|(id, source, kind)| {
            let lines: Vec<&str> = source.split_inclusive('\n').collect();
            let mut cell =
                json!({ "cell_type": kind, "id": id, "metadata": { "k": [] }, "source": lines });
            if kind == "code" {
                cell["outputs"] = json!([{ "text": source }]);
                cell["execution_count"] = json!(7);
            }
            cell
        })
}

#[test]
fn a_backslash_before_a_u_is_no_escape() {
    for (json, escapes) in [
        (r#""\\u00e9""#, false),
        (r#""\u0001""#, false),
        (r#""\u00e9""#, true),
        (r#""\\\u00E9""#, true),
        (r#""\""#, false),
    ] {
        assert_eq!(super::cells::escapes_letters(json), escapes, "{json}");
    }
}

proptest! {
    #[test]
    fn only_the_cell_changes(
        cells in prop::collection::vec(cell(), 1..5),
        pick in 0..5_usize,
        source in "[a-z\"\né]{0,10}",
        pretty in any::<bool>(),
    ) {
        let whole = json!({ "cells": cells, "metadata": { "z": "cells" }, "nbformat": 4, "nbformat_minor": 5 });
        let text = if pretty { serde_json::to_string_pretty(&whole) } else { serde_json::to_string(&whole) }.unwrap();
        let notebook = Notebook::read(&text).unwrap();
        let at = pick % cells.len();
        let lines: Vec<&str> = source.split_inclusive('\n').collect();

        let mut wanted = whole.clone();
        wanted["cells"][at]["source"] = json!(lines);
        if wanted["cells"][at]["cell_type"] == "code" {
            wanted["cells"][at]["outputs"] = json!([]);
            wanted["cells"][at]["execution_count"] = Value::Null;
        }
        let replaced = apply(&text, notebook.replace(at, &source, None).unwrap());
        prop_assert_eq!(serde_json::from_str::<Value>(&replaced).unwrap(), wanted.clone());
        let own = if pretty { serde_json::to_string_pretty(&wanted) } else { serde_json::to_string(&wanted) };
        prop_assert_eq!(replaced, own.unwrap());

        let mut wanted = whole.clone();
        wanted["cells"].as_array_mut().unwrap().remove(at);
        let deleted = apply(&text, notebook.delete(at));
        let own = if pretty { serde_json::to_string_pretty(&wanted) } else { serde_json::to_string(&wanted) };
        prop_assert_eq!(&deleted, &own.unwrap());

        let inserted = apply(&text, notebook.insert(Some(at), &source, Kind::Code));
        let value: Value = serde_json::from_str(&inserted).unwrap();
        prop_assert_eq!(&value["cells"][at + 1]["source"], &json!(lines));
        let own = if pretty { serde_json::to_string_pretty(&value) } else { serde_json::to_string(&value) };
        prop_assert_eq!(inserted, own.unwrap());
    }

    #[test]
    fn nothing_is_read_in_a_panic(text in "[\\[\\]{}\",:a1\\\\ ]{0,30}") {
        let _ = Notebook::read(&text);
    }
}

fn edit(input: Value) -> (&'static str, Value) {
    let mut whole = json!({ "notebook_path": "n.ipynb" });
    whole.as_object_mut().unwrap().extend(input.as_object().unwrap().clone());
    ("NotebookEdit", whole)
}

async fn told(all: &[(&str, Value)], prepare: impl FnOnce(&Desk)) -> (Desk, String) {
    let mut steps: Vec<Value> = all.iter().map(|it| calls(std::slice::from_ref(it))).collect();
    steps.push(json!({ "text": "done" }));
    let desk = Desk::new(Mode::Edit, Value::Array(steps));
    desk.write("n.ipynb", JUPYTER);
    prepare(&desk);
    desk.turn("go").await;
    let told = desk.results().join("\n");
    (desk, told)
}

#[tokio::test]
async fn a_closed_notebook_is_edited_once_it_was_read() {
    let change = edit(json!({ "cell_id": "aaaa", "new_source": "# Other" }));
    let read = ("Read", json!({ "file_path": "n.ipynb" }));
    let (desk, told) = told(&[change.clone(), read, change.clone(), change], |_| {}).await;
    let wanted = JUPYTER.replace("\"# Title\\n\",\n    \"é\"", "\"# Other\"");
    assert_eq!(desk.read("n.ipynb"), wanted);
    let told: Vec<&str> = told.lines().filter(|it| it.starts_with(['✓', '✗', 'C'])).collect();
    expect![[r#"
        ✗ n.ipynb was not read yet. Read the notebook first.
        ✓ --- cell aaaa (markdown) ---
        ✓ Replaced the cell aaaa.
        Changed n.ipynb (+1 −2).
        ✗ n.ipynb: the cell already has this text. Nothing was changed."#]]
    .assert_eq(&told.join("\n"));
}

#[tokio::test]
async fn what_is_missing_or_elsewhere_is_told() {
    let (_, told) = told(
        &[
            edit(json!({ "new_source": "x" })),
            edit(json!({ "cell_id": "aaaa" })),
            edit(json!({ "new_source": "x", "edit_mode": "insert" })),
            edit(json!({ "cell_id": "zzzz", "edit_mode": "delete" })),
            ("NotebookEdit", json!({ "notebook_path": "a.txt", "new_source": "x" })),
            ("Edit", json!({ "file_path": "n.ipynb", "old_string": "a", "new_string": "b" })),
        ],
        |_| {},
    )
    .await;
    expect![[r#"
        ✗ n.ipynb: cell_id is required to replace a cell. Nothing was changed.
        ✗ n.ipynb: new_source is required. Nothing was changed.
        ✗ n.ipynb: cell_type is required to insert a cell. Nothing was changed.
        ✗ n.ipynb: there is no cell `zzzz`. Its cells are: aaaa, bbbb. Nothing was changed.
        ✗ a.txt is no notebook (.ipynb). Use Edit for other files.
        ✗ n.ipynb is a notebook. Use NotebookEdit for its cells."#]]
    .assert_eq(&told);
}

#[tokio::test]
async fn a_notebook_open_as_cells_is_refused_and_one_open_as_text_is_edited() {
    let read = ("Read", json!({ "file_path": "n.ipynb" }));
    let delete = edit(json!({ "cell_id": "bbbb", "edit_mode": "delete" }));
    let all = [read, delete];
    let as_cells = |desk: &Desk| {
        let uri = format!("vscode-notebook-cell:{}/n.ipynb#W0", desk.root.display());
        desk.vfs.open(Location::Virtual(uri), "python", 1, "print(1)");
    };
    let (desk, told_of_cells) = told(&all, as_cells).await;
    assert!(told_of_cells.contains("is open in the editor as a notebook"), "{told_of_cells}");
    assert_eq!(desk.read("n.ipynb"), JUPYTER);
    let (desk, told_of_text) = told(&all, |desk| drop(desk.open("n.ipynb", JUPYTER))).await;
    assert!(told_of_text.contains("Deleted the cell bbbb"), "{told_of_text}");
    let buffer = desk.buffer(&Location::disk(desk.root.join("n.ipynb"))).0;
    assert!(!buffer.contains("bbbb") && buffer.contains("aaaa"));
}

//! Failures that users reported against other products, one test each, by the section they belong to.
//!
//! `CASES` is the whole list: every row has a test of its own here, or names the test elsewhere that holds it, or says
//! why there is none. The test below fails when a row is missing or names what does not exist.

mod a;
mod b;
mod c;
mod d;
mod e;
mod g;
mod h;
mod t;

use std::path::Path;

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::editor::session::Session;
use crate::review::{hunks, ids};
use crate::workspace::project;

/// What holds a row.
enum Proof {
    /// The test in this folder whose comment begins with the row's id.
    Here,
    /// Tests elsewhere: file and name, or the story's folder.
    Held(&'static [(&'static str, &'static str)]),
    /// A test here of what reaches the editor; what the editor draws is not there yet.
    OnTheWire,
    /// No test, for this reason.
    Left(&'static str),
}

use Proof::{Held, Here, Left, OnTheWire};

const NVIM: &str = "tests/nvim/e2e/review.lua";
const EDITS: &str = "tests/e2e/edits.rs";
const CHECKPOINTS: &str = "tests/e2e/checkpoints.rs";
const REVIEW: &str = "tests/e2e/review.rs";
const TURNS: &str = "tests/e2e/turns.rs";
const PROCESSES: &str = "tests/e2e/processes.rs";

const CASES: &[(&str, Proof)] = &[
    ("A1", Here),
    ("A2", Here),
    ("A4", Here),
    ("A5", Held(&[(EDITS, "the_person_saves_after_the_agents_edit_without_a_conflict")])),
    ("A7", Held(&[(EDITS, "a_touched_file_is_still_the_file_that_was_read")])),
    ("A8", Here),
    ("A10", Here),
    ("A11", Here),
    ("A13", Here),
    ("A14", Here),
    (
        "A16",
        Held(&[(NVIM, "a file in another window shows the edit at once, nothing moves there")]),
    ),
    ("A17", Held(&[(EDITS, "an_edit_the_person_did_not_approve_is_not_saved")])),
    ("A19", Here),
    ("B1", Here),
    ("B2", Here),
    ("B4", Held(&[(NVIM, "a file in another window shows the edit at once, nothing moves there")])),
    ("B5", Here),
    ("B7", Here),
    ("B8", Here),
    ("B10", Here),
    ("B11", Here),
    ("B13", OnTheWire),
    ("C1", Here),
    ("C2", Here),
    ("C4", Here),
    ("C5", Here),
    ("C7", Held(&[(EDITS, "mixed_line_endings_of_untouched_lines_stay")])),
    ("C8", Left("needs Windows")),
    ("C10", Here),
    ("C11", Here),
    ("C13", Here),
    ("C14", Here),
    ("C16", Held(&[("tests/e2e/found.rs", "line_endings_changed_wholesale_are_said")])),
    ("D1", Held(&[(NVIM, "closing windows and buffers decides nothing")])),
    ("D2", Here),
    ("D4", Here),
    ("D5", Here),
    ("D7", OnTheWire),
    ("D8", OnTheWire),
    ("D10", OnTheWire),
    ("D11", Here),
    ("D11b", OnTheWire),
    ("D11c", Here),
    ("D13", Held(&[(NVIM, "after the review nothing of it is left in the editor")])),
    ("D14", Held(&[(REVIEW, "hunks_survive_a_killed_server")])),
    ("E1", Here),
    ("E2", Here),
    ("E4", Held(&[(CHECKPOINTS, "the_conversation_alone_is_taken_back_and_files_stay")])),
    ("E5", Here),
    ("E7", Held(&[(REVIEW, "decisions_are_undone")])),
    ("E8", Held(&[(REVIEW, "all_sessions_share_one_ledger_and_each_can_be_decided_alone")])),
    ("E10", Held(&[(REVIEW, "decisions_are_undone")])),
    ("E11", Held(&[(CHECKPOINTS, "a_restore_is_undone_with_its_hunks")])),
    ("E13", Held(&[(CHECKPOINTS, "nothing_but_the_agents_files_is_touched_with_or_without_git")])),
    ("E14", Here),
    ("E16", Held(&[(CHECKPOINTS, "nothing_but_the_agents_files_is_touched_with_or_without_git")])),
    ("E17", Here),
    ("E19", Here),
    (
        "E20",
        Held(&[
            (
                "tests/nvim/unit/edit.lua",
                "in insert mode an edit is an undo step of its own and the cursor stays",
            ),
            ("tests/nvim/e2e/turn.lua", "typing goes on in insert mode while the edit arrives"),
        ]),
    ),
    ("G1", Held(&[(TURNS, "cancel_during_a_command_ends_its_group_and_its_card")])),
    (
        "G2",
        Held(&[
            (TURNS, "cancel_during_the_stream_hangs_up_and_ends_the_turn"),
            (TURNS, "cancel_during_a_command_ends_its_group_and_its_card"),
        ]),
    ),
    (
        "G4",
        Held(&[
            ("tests/nvim/unit/chat.lua", "clearing the prompt stops nothing"),
            ("vscode-extension/test/panel.test.ts", "clearing the prompt stops nothing"),
        ]),
    ),
    ("G5", Here),
    ("G7", Here),
    ("G8", Held(&[(PROCESSES, "punctuation_reaches_the_shell_as_written")])),
    (
        "G10",
        Held(&[
            (PROCESSES, "colours_and_progress_are_shown_as_their_final_text"),
            (
                "tests/nvim/unit/chat.lua",
                "terminal output arrives in pieces, without escape sequences",
            ),
            ("tests/nvim/e2e/jobs.lua", "colours of commands are never shown raw"),
            ("tests/vscode/terminals.test.mjs", "colours of commands are never shown raw"),
        ]),
    ),
    (
        "H1",
        Held(&[
            (PROCESSES, "a_running_command_does_not_outlive_a_killed_server"),
            (PROCESSES, "a_grandchild_in_the_background_does_not_outlive_a_killed_server"),
            (PROCESSES, "a_double_forked_daemon_does_not_outlive_a_killed_server"),
            (PROCESSES, "nothing_outlives_a_closed_standard_input"),
            (PROCESSES, "a_terminal_does_not_outlive_a_killed_server_nor_a_closed_input"),
            ("tests/nvim/e2e/jobs.lua", "nothing outlives a killed Neovim"),
        ]),
    ),
    ("H2", Here),
    ("H4", Here),
    ("H5", Here),
    ("H7", Here),
    ("H8", Here),
    ("T3", Here),
    ("T11", Here),
    ("T13", Here),
    ("T15", Here),
    ("T17", Here),
    ("T19", Here),
    ("T47", Here),
];

#[test]
fn every_row_has_its_test() {
    let root = project();
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let mut here = String::new();
    for section in ["a", "b", "c", "d", "e", "g", "h", "t"] {
        here.push_str(&read(&root.join(format!("tests/e2e/cases/{section}.rs"))));
    }
    let mut problems = Vec::new();
    for (id, proof) in CASES {
        let comment = here.lines().any(|line| line.starts_with(&format!("/// {id}: ")));
        match proof {
            Here | OnTheWire if !comment => problems.push(format!("{id}: no test begins with it")),
            Held(tests) => {
                for (file, name) in *tests {
                    let text = read(&root.join(file));
                    let forms = [
                        format!("fn {name}()"),
                        format!("T['{name}']"),
                        format!("test('{name}'"),
                        format!("story('{name}'"),
                    ];
                    if !forms.iter().any(|form| text.contains(form)) {
                        problems.push(format!("{id}: no test {name:?} in {file}"));
                    }
                }
            }
            Here | OnTheWire => {}
            Left(why) => assert!(!why.is_empty(), "{id}"),
        }
    }
    for line in here.lines() {
        let Some((id, _)) = line.strip_prefix("/// ").and_then(|rest| rest.split_once(": ")) else {
            continue;
        };
        let is_id = id.starts_with(|c: char| c.is_ascii_uppercase())
            && id[1..].starts_with(|c: char| c.is_ascii_digit());
        if is_id && !CASES.iter().any(|(known, _)| *known == id) {
            problems.push(format!("{id}: in no row"));
        }
    }
    assert!(problems.is_empty(), "{problems:#?}");
}

// What the tests of all sections do.

fn edit(path: &str, old: &str, new: &str) -> Value {
    json!({ "file_path": path, "old_string": old, "new_string": new })
}

/// A session that has read the file.
#[track_caller]
fn seen<'a>(editor: &'a Editor, path: &str) -> Session<'a> {
    let session = editor.session();
    session.tool("Read", json!({ "file_path": path })).ok();
    session
}

/// Whether the editor shows the file.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shown {
    Open,
    Closed,
}

impl Shown {
    const BOTH: [Self; 2] = [Self::Open, Self::Closed];

    #[track_caller]
    fn open(self, editor: &Editor, path: &str) {
        if self == Self::Open {
            editor.open_file(path);
        }
    }

    /// Saves the buffer, if there is one.
    #[track_caller]
    fn save(self, editor: &Editor, path: &str) {
        if self == Self::Open {
            editor.save(path);
        }
    }

    /// The buffer's text, else the file's.
    #[track_caller]
    fn text(self, editor: &Editor, path: &str) -> String {
        match self {
            Self::Open => editor.text(path),
            Self::Closed => std::fs::read_to_string(editor.root().join(path)).expect("a text"),
        }
    }
}

/// Edits run without a question, so that nothing is saved either.
fn unasked() -> Value {
    json!({ "mode": "edit" })
}

/// Decides, and insists that all of it was possible.
#[track_caller]
fn resolve(editor: &Editor, action: &str, items: Value) -> Value {
    let resolved =
        editor.request("copydesk/review/resolve", json!({ "action": action, "items": items }));
    assert_eq!(resolved["conflicts"], json!([]), "{resolved}");
    resolved
}

#[track_caller]
fn decide(editor: &Editor, action: &str, hunk: &str) -> Value {
    resolve(editor, action, json!([{ "hunkId": hunk }]))
}

#[track_caller]
fn decide_all(editor: &Editor, action: &str) -> Value {
    resolve(editor, action, json!([{ "all": true }]))
}

/// Requests with which the server would show a dialog or take the focus.
fn dialogs(editor: &Editor) -> Vec<Value> {
    ["window/showMessageRequest", "window/showDocument", "elicitation/create"]
        .into_iter()
        .flat_map(|method| editor.asked(method))
        .collect()
}

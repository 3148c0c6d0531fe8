//! Random interleavings of a person who types and an agent that edits: what was typed survives, whatever the editor.

use std::time::Duration;

use serde_json::json;

use crate::editor::{Editor, Kind, Start, Told};
use crate::review::{hunks, resolve};
use crate::workspace::Workspace;

const LINES: usize = 24;
const ROUNDS: u64 = 6;

/// A small reproducible source of choices.
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Types a mark that occurs nowhere else at a random place, never inside another mark.
fn type_somewhere(editor: &Editor, choices: &mut Choices, number: usize) {
    let uri = editor.uri("a.txt");
    let mut state = editor.lock();
    let text = state.documents[&uri].text.clone();
    let place = choices.below(text.len() + 1);
    let inside = text[..place].rfind('<').is_some_and(|open| !text[open..place].contains('>'));
    let place = if inside {
        text[place..].find('>').map_or(text.len(), |at| place + at + 1)
    } else {
        place
    };
    state.type_at(&uri, place..place, &format!("<{number}>"));
}

/// The text without what the person typed, and the marks in it.
fn without_marks(text: &str) -> (String, Vec<String>) {
    let (mut rest, mut marks) = (String::new(), Vec::new());
    let mut parts = text.split('<');
    rest.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let (mark, after) =
            part.split_once('>').unwrap_or_else(|| panic!("half a mark in {text:?}"));
        marks.push(mark.to_owned());
        rest.push_str(after);
    }
    marks.sort();
    (rest, marks)
}

#[track_caller]
fn check(kind: Kind, told: Told) {
    for round in 1..=ROUNDS {
        let seed = round.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mut choices = Choices(seed);
        let text: String =
            (0..LINES).map(|n| format!("line {n:02} has word{n:02} in it\n")).collect();
        let workspace = Workspace::new(&[("a.txt", &text)]);
        let editor = Start::new(&workspace)
            .kind(kind)
            .told(told)
            .settings(&json!({ "mode": "edit" }))
            .start();
        editor.open_file("a.txt");
        let mut typed = 0;
        let mut person = |choices: &mut Choices, most: usize| {
            for _ in 0..choices.below(most + 1) {
                type_somewhere(&editor, choices, typed);
                typed += 1;
            }
        };
        person(&mut choices, 3);
        editor.type_before("a.txt", "line 00", "<start>");
        let session = editor.session();
        session.tool("Read", json!({ "file_path": "a.txt" })).ok();
        let mut expected = text;
        for _ in 0..14 {
            let line = choices.below(LINES);
            let input = json!({ "file_path": "a.txt", "old_string": format!("word{line:02}"), "new_string": format!("WORD{line:02}") });
            let call = session.begin_tool("Edit", input);
            person(&mut choices, 3);
            if choices.below(2) == 0 {
                while !editor.answered(call) && choices.below(40) > 0 {
                    person(&mut choices, 1);
                }
            }
            if !session.finish_tool(call).is_error {
                expected = expected.replace(&format!("word{line:02}"), &format!("WORD{line:02}"));
            }
        }
        let (rest, marks) = without_marks(&editor.text("a.txt"));
        let mut all: Vec<String> =
            (0..typed).map(|n| n.to_string()).chain(["start".to_owned()]).collect();
        all.sort();
        assert_eq!(marks, all, "seed {seed}: every mark is there once");
        assert_eq!(rest, expected, "seed {seed}: the agent's edits are those it was told of");
        let shown = session.tool("Read", json!({ "file_path": "a.txt" })).ok();
        let last = editor.text("a.txt").lines().last().unwrap_or_default().to_owned();
        assert!(shown.contains(&last), "seed {seed}: the server holds the editor's text: {shown}");
    }
}

#[test]
fn what_is_typed_survives_in_a_strict_editor() {
    check(Kind::Strict, Told::BeforeAnswer);
}

#[test]
fn what_is_typed_survives_in_a_lying_editor() {
    check(Kind::Lying, Told::BeforeAnswer);
}

#[test]
fn what_is_typed_survives_in_a_lying_editor_that_tells_after_its_answer() {
    check(Kind::Lying, Told::AfterAnswer);
}

#[test]
fn what_is_typed_survives_in_a_lying_editor_that_tells_late() {
    check(Kind::Lying, Told::Debounced(Duration::from_millis(25)));
}

#[test]
fn typing_in_a_change_as_its_rejection_arrives_leaves_it_pending() {
    for kind in [Kind::Strict, Kind::Lying] {
        let before = "one\ntwo\nthree\nfour\n";
        let workspace = Workspace::new(&[("a.txt", before)]);
        let editor = Start::new(&workspace).kind(kind).settings(&json!({ "mode": "edit" })).start();
        let uri = editor.open_file("a.txt");
        let session = editor.session();
        session.tool("Read", json!({ "file_path": "a.txt" })).ok();
        let edit = json!({ "file_path": "a.txt", "old_string": "two", "new_string": "TWO\nAND" });
        session.tool("Edit", edit).ok();
        editor.before_apply(move |state| state.type_before(&uri, "AND", "typed "));
        let all = json!([{ "all": true }]);
        let rejected = resolve(&editor, "reject", all.clone());
        assert_eq!(rejected["conflicts"].as_array().map(Vec::len), Some(1), "{rejected}");
        let text = editor.text("a.txt");
        let pending = hunks(&editor);
        if text == "one\nTWO\ntyped AND\nthree\nfour\n" {
            assert_eq!(pending[0]["state"], "conflict", "{kind:?}: {pending:?}");
            resolve(&editor, "reject", all);
        }
        assert_eq!(hunks(&editor).len(), 0, "{kind:?}");
        let text = editor.text("a.txt");
        assert!(text.contains("typed") && text.contains("two"), "{kind:?}: {text:?}");
        assert!(!text.contains("TWO"), "{kind:?}: {text:?}");
    }
}

#[test]
fn what_is_typed_in_a_file_as_it_is_deleted_stays() {
    let before = "one\r\ntwo\r\n";
    for reject in [false, true] {
        let workspace = Workspace::new(&[("a.txt", before)]);
        let editor = Start::new(&workspace).settings(&json!({ "mode": "auto" })).start();
        let session = editor.session();
        let path = if reject { "n.txt" } else { "a.txt" };
        if reject {
            let new = json!({ "file_path": "n.txt", "content": "one\ntwo\n" });
            session.tool("Write", new).ok();
        }
        let uri = editor.open_file(path);
        session.tool("Read", json!({ "file_path": path })).ok();
        editor.before_apply(move |state| state.type_before(&uri, "two", "typed "));
        if reject {
            let rejected = resolve(&editor, "reject", json!([{ "all": true }]));
            assert_eq!(rejected["conflicts"].as_array().map(Vec::len), Some(1), "{rejected}");
        } else {
            let told = session.tool("Delete", json!({ "paths": [path], "reason": "unused" })).err();
            assert!(told.contains("the person typed in it"), "{told}");
        }
        assert!(workspace.read(path).contains("typed two"), "{}", workspace.read(path));
    }
}

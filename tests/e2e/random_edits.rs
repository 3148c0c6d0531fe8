//! Random typing, agent edits, decisions, undos, saves, closing and reopening, over encodings, line endings and units of
//! columns: nothing typed is lost, rejecting leaves what was there and accepted, accepting changes nothing, hunks keep
//! their ids and say where they are.

use serde_json::{Value, json};

use crate::editor::document::{Columns, Document, Encoding};
use crate::editor::session::Session;
use crate::editor::{Editor, Kind, Start, Told};
use crate::review::without_marks;
use crate::workspace::Workspace;

const LINES: usize = 12;
const PATH: &str = "a.txt";

/// A small reproducible source of choices.
struct Choices(u64);

impl Choices {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

/// How the file is spelled.
#[derive(Clone, Copy, Debug)]
struct Spelling {
    label: &'static str,
    mark: &'static [u8],
    /// Stands in every line, behind what is edited and before it.
    letters: &'static str,
}

const SPELLINGS: [Spelling; 3] = [
    Spelling { label: "utf-8", mark: b"\xef\xbb\xbf", letters: "𝒳é日" },
    Spelling { label: "utf-16le", mark: b"\xff\xfe", letters: "𝒳é日" },
    Spelling { label: "windows-1252", mark: b"", letters: "déjà café" },
];

impl Spelling {
    fn bytes(self, text: &str) -> Vec<u8> {
        let body = Encoding::labelled(self.label).encode(text).expect("a text of the encoding");
        [self.mark, &body].concat()
    }
}

/// What a line of the accepted text is like.
#[derive(Clone, Copy, PartialEq)]
struct Line {
    is_shouted: bool,
    is_there: bool,
    has_more: bool,
}

/// The text that rejecting everything must leave, without what was typed.
fn accepted(lines: &[Line; LINES], spelling: Spelling, endings: [&str; 2]) -> String {
    let mut out = String::new();
    for (n, line) in lines.iter().enumerate() {
        let ending = endings[n % 2];
        if line.is_there {
            let word = if line.is_shouted { "WORD" } else { "word" };
            out.push_str(&format!(
                "{} {word}{n:02} {}{ending}",
                spelling.letters, spelling.letters
            ));
        }
        if line.has_more {
            out.push_str(&format!("more{n:02}{ending}"));
        }
    }
    out
}

/// Takes over what an accepted hunk says of the lines it touches.
fn take_over(lines: &mut [Line; LINES], hunk: &Value) {
    let side = |name: &str| without_marks(hunk[name].as_str().expect("a text")).0;
    let (old, new) = (side("oldText"), side("newText"));
    for (n, line) in lines.iter_mut().enumerate() {
        let (plain, loud, more) =
            (format!("word{n:02}"), format!("WORD{n:02}"), format!("more{n:02}"));
        let has = |text: &str| text.contains(&plain) || text.contains(&loud);
        if has(&old) || has(&new) {
            line.is_there = has(&new);
            line.is_shouted = new.contains(&loud);
        }
        if old.contains(&more) || new.contains(&more) {
            line.has_more = new.contains(&more);
        }
    }
}

/// One run: the file, who edits it, and what must come out.
struct Run<'a> {
    name: String,
    editor: &'a Editor,
    session: Session<'a>,
    spelling: Spelling,
    columns: Columns,
    choices: Choices,
    typed: usize,
    lines: [Line; LINES],
    /// Lines behind which the agent has added one.
    added: [bool; LINES],
    /// Undo tokens, each with the accepted text before the decision.
    decisions: Vec<(Value, [Line; LINES])>,
}

impl Run<'_> {
    /// Types a mark that occurs nowhere else, never inside another, inside a word or between `\r` and `\n`.
    fn type_somewhere(&mut self) {
        let uri = self.editor.uri(PATH);
        let mut state = self.editor.lock();
        let text = state.documents[&uri].text.clone();
        let before = |at: usize| text[..at].strip_suffix('\r').map_or(at, str::len);
        let spaces = text.match_indices(' ').map(|(at, _)| at);
        let ends = text.match_indices('\n').map(|(at, _)| before(at));
        let places: Vec<usize> = spaces.chain(ends).chain([0, text.len()]).collect();
        let place = places[self.choices.below(places.len())];
        state.type_at(&uri, place..place, &format!("<{}>", self.typed));
        self.typed += 1;
    }

    /// The agent shouts a word, adds a line or takes one out; the person may type meanwhile.
    fn edit(&mut self, typing: Typing) {
        let n = self.choices.below(LINES);
        let text = self.session.tool("Read", json!({ "file_path": PATH })).ok();
        let (word, loud) = (format!("word{n:02}"), format!("WORD{n:02}"));
        let line = text.lines().find(|it| it.contains(&word) || it.contains(&loud));
        let Some((_, line)) = line.and_then(|it| it.split_once('\t')) else { return };
        let (old, new) = match self.choices.below(4) {
            0 | 1 => (word, loud),
            // Once only: an undone rejection brings an earlier one back.
            2 if std::mem::replace(&mut self.added[n], true) => return,
            2 => (format!("{line}\n"), format!("{line}\nmore{n:02}\n")),
            // What the person typed is not the agent's to take out.
            _ if line.contains('<') => return,
            _ => (format!("{line}\n"), String::new()),
        };
        let input = json!({ "file_path": PATH, "old_string": old, "new_string": new });
        let call = self.session.begin_tool("Edit", input);
        if typing == Typing::Meanwhile {
            self.type_somewhere();
        }
        // A line that the person has just typed in is theirs: the call may say so.
        self.session.finish_tool(call);
    }

    fn hunks(&self) -> Vec<Value> {
        let listed = self.editor.request("copydesk/review/list", json!({}));
        let files = listed["files"].as_array().expect("files");
        files.iter().flat_map(|it| it["hunks"].as_array().expect("hunks").clone()).collect()
    }

    /// The ids of all hunks, each of which stands where it says.
    #[track_caller]
    fn placed(&self, document: &Document) -> Vec<String> {
        let hunks = self.hunks();
        for hunk in &hunks {
            let place = |end: &str| document.offset(&hunk["range"][end], self.columns);
            let there = &document.text[place("start")..place("end")];
            assert_eq!(there, hunk["newText"].as_str().expect("a text"), "{}: {hunk}", self.name);
        }
        hunks.iter().map(|it| it["hunkId"].as_str().expect("an id").to_owned()).collect()
    }

    fn document(&self) -> Document {
        self.editor.lock().documents[&self.editor.uri(PATH)].clone()
    }

    fn decide(&mut self) {
        let pending = self.hunks();
        if pending.is_empty() {
            return;
        }
        let hunk = &pending[self.choices.below(pending.len())];
        let before = self.lines;
        let action = if self.choices.below(2) == 0 {
            take_over(&mut self.lines, hunk);
            "accept"
        } else {
            "reject"
        };
        let items = json!([{ "hunkId": hunk["hunkId"] }]);
        let resolved = self
            .editor
            .request("copydesk/review/resolve", json!({ "action": action, "items": items }));
        assert_eq!(resolved["resolved"][0], hunk["hunkId"], "{}: {resolved}", self.name);
        self.decisions.push((resolved["undoToken"].clone(), before));
    }

    fn undo(&mut self) {
        if let Some((token, before)) = self.decisions.pop() {
            self.editor.request("copydesk/review/undo", json!({ "undoToken": token }));
            self.lines = before;
        }
    }

    /// Saves and closes the file and opens it again; the agent may edit it in between.
    fn close_and_open(&mut self) {
        let before = self.placed(&self.document());
        self.editor.save(PATH);
        assert_eq!(self.placed(&self.document()), before, "{}: saving", self.name);
        let document = self.document();
        self.editor.close(PATH);
        assert_eq!(self.placed(&document), before, "{}: closing", self.name);
        if self.choices.below(2) == 0 {
            self.edit(Typing::No);
        }
        self.editor.open_as(PATH, self.spelling.label);
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Typing {
    No,
    Meanwhile,
}

#[track_caller]
fn check(spelling: Spelling) {
    let manners = [
        (Kind::Strict, Told::BeforeAnswer, "utf-16", Columns::Utf16),
        (Kind::Lying, Told::AfterAnswer, "utf-8", Columns::Utf8),
        (Kind::Strict, Told::AfterAnswer, "utf-32", Columns::Utf32),
    ];
    let endings = [["\n", "\n"], ["\r\n", "\r\n"], ["\n", "\r\n"]];
    for round in 0..9_usize {
        let (kind, told, offered, columns) = manners[round % 3];
        let endings = endings[round / 3];
        let seed =
            (round as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ spelling.label.len() as u64;
        let name = format!("{} {endings:?} {kind:?} {offered} seed {seed}", spelling.label);
        let lines = [Line { is_shouted: false, is_there: true, has_more: false }; LINES];
        let workspace = Workspace::new(&[]);
        workspace.write(PATH, spelling.bytes(&accepted(&lines, spelling, endings)));
        let settings = json!({ "mode": "edit" });
        let start = Start::new(&workspace)
            .kind(kind)
            .told(told)
            .columns(&[offered, "utf-16"])
            .settings(&settings);
        let editor = start.start();
        editor.open_as(PATH, spelling.label);
        let session = editor.session();
        let (choices, decisions) = (Choices(seed), Vec::new());
        let mut run = Run {
            name,
            editor: &editor,
            session,
            spelling,
            columns,
            choices,
            typed: 0,
            lines,
            added: [false; LINES],
            decisions,
        };
        for _ in 0..18 {
            let before = run.placed(&run.document());
            for _ in 0..run.choices.below(3) {
                run.type_somewhere();
            }
            assert_eq!(run.placed(&run.document()), before, "{}: typing keeps the ids", run.name);
            match run.choices.below(8) {
                0..=3 => {
                    let typing =
                        if run.choices.below(3) == 0 { Typing::Meanwhile } else { Typing::No };
                    run.edit(typing);
                }
                4 | 5 => run.decide(),
                6 => run.undo(),
                _ => run.close_and_open(),
            }
        }
        finish(&mut run, &workspace, endings, round);
    }
}

/// Accepts or rejects the rest, in the open document or the closed file.
#[track_caller]
fn finish(run: &mut Run<'_>, workspace: &Workspace, endings: [&str; 2], round: usize) {
    let marks: Vec<usize> = (0..run.typed).collect();
    let current = run.editor.text(PATH);
    let all = |action: &str| {
        let items = json!([{ "all": true }]);
        run.editor.request("copydesk/review/resolve", json!({ "action": action, "items": items }));
        assert!(run.hunks().is_empty(), "{}: {action}", run.name);
    };
    if round % 4 == 3 {
        all("accept");
        assert_eq!(run.editor.text(PATH), current, "{}: accepting changes nothing", run.name);
        assert_eq!(without_marks(&current).1, marks, "{}: every mark is there once", run.name);
        return;
    }
    let text = if round.is_multiple_of(2) {
        all("reject");
        run.editor.text(PATH)
    } else {
        run.editor.save(PATH);
        run.editor.close(PATH);
        all("reject");
        let bytes = workspace.bytes(PATH);
        let text = Document::decode_as(&bytes, run.spelling.label, 1).text;
        assert_eq!(bytes, run.spelling.bytes(&text), "{}: encoding and mark stay", run.name);
        text
    };
    let (rest, found) = without_marks(&text);
    assert_eq!(found, marks, "{}: every mark is there once", run.name);
    assert_eq!(rest, accepted(&run.lines, run.spelling, endings), "{}", run.name);
}

#[test]
fn random_edits_of_a_utf_8_file_with_a_mark_lose_nothing() {
    check(SPELLINGS[0]);
}

#[test]
fn random_edits_of_a_utf_16_file_lose_nothing() {
    check(SPELLINGS[1]);
}

#[test]
fn random_edits_of_a_windows_1252_file_lose_nothing() {
    check(SPELLINGS[2]);
}

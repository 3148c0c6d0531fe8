//! What an edit leaves alone: every byte of a closed file outside the edited ranges, over encodings, bytes that are no
//! text, mixed line endings and missing final newlines, for every tool that edits.

use serde_json::{Value, json};

use crate::editor::Editor;
use crate::editor::document::Encoding;
use crate::editor::session::Session;
use crate::workspace::Workspace;

const CASES: u64 = 60;

/// A small reproducible source of choices.
struct Choices(u64);

impl Choices {
    fn new(case: u64) -> Self {
        Self((case + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}

/// How a file is spelled: label, byte order mark, letters beyond ASCII, and bytes that are no text in it.
struct Spelling {
    label: &'static str,
    mark: &'static [u8],
    letters: &'static str,
    broken: &'static [u8],
}

const SPELLINGS: [Spelling; 6] = [
    Spelling { label: "utf-8", mark: b"", letters: "naïve 日𝒳", broken: b"" },
    Spelling {
        label: "utf-8",
        mark: b"\xef\xbb\xbf",
        letters: "naïve 日𝒳",
        broken: b"\xff\x80\xed\xa0\x80",
    },
    Spelling {
        label: "utf-16le", mark: b"\xff\xfe", letters: "naïve 日𝒳", broken: b"\x00\xd8"
    },
    Spelling {
        label: "utf-16be", mark: b"\xfe\xff", letters: "naïve 日𝒳", broken: b"\xdc\x00"
    },
    Spelling {
        label: "windows-1252",
        mark: b"",
        letters: "déjà vu à la façade",
        broken: b"\x81\x8d",
    },
    Spelling {
        label: "shift_jis",
        mark: b"",
        letters: "いろはにほへと ちりぬるを わかよたれそ",
        broken: b"\xfd",
    },
];

/// One line: its bytes, and the line ending as text.
#[derive(Clone)]
struct Line {
    content: Vec<u8>,
    ending: &'static str,
}

struct File<'a> {
    spelling: &'a Spelling,
    lines: Vec<Line>,
}

impl File<'_> {
    /// Lines of letters, some with bytes that are no text, and some `target NN`, which alone are edited.
    fn random<'a>(choices: &mut Choices, spelling: &'a Spelling) -> File<'a> {
        let endings: &[&'static str] = choices.of(&[&["\n"][..], &["\r\n"], &["\n", "\r\n"]]);
        let count = 6 + choices.below(20);
        let ends = choices.below(2) == 0;
        let encoding = Encoding::labelled(spelling.label);
        let encode = |text: &str| encoding.encode(text).expect("a text of the encoding");
        let line = |n: usize| {
            let (letters, broken) = (spelling.letters, choices.below(5) == 0);
            let content = match choices.below(3) {
                0 => encode(&format!("  target {n:02}")),
                _ if broken => [&encode(letters), spelling.broken, &encode(" x")].concat(),
                1 => encode(&format!("{letters} {n}\t ")),
                _ => encode(""),
            };
            let ending = if n + 1 == count && !ends { "" } else { choices.of(endings) };
            Line { content, ending }
        };
        let mut lines: Vec<Line> = (0..count).map(line).collect();
        lines[2].content = encode("  target 02");
        // Enough of the letters for the encoding to be told from others.
        lines[0].content = encode(&format!("{0} {0}", spelling.letters));
        File { spelling, lines }
    }

    fn encode(&self, text: &str) -> Vec<u8> {
        Encoding::labelled(self.spelling.label).encode(text).expect("a text of the encoding")
    }

    fn bytes(&self) -> Vec<u8> {
        let mut out = self.spelling.mark.to_vec();
        for line in &self.lines {
            out.extend(&line.content);
            out.extend(self.encode(line.ending));
        }
        out
    }

    /// Numbers of the lines that may be edited.
    fn targets(&self) -> Vec<usize> {
        let is_target =
            |n: &usize| self.lines[*n].content == self.encode(&format!("  target {n:02}"));
        (0..self.lines.len()).filter(is_target).collect()
    }

    /// Replaces a line's text; a second line gets the ending of the first, or of the line before where that has none.
    fn set(&mut self, number: usize, first: &str, second: Option<&str>) {
        self.lines[number].content = self.encode(first);
        let Some(second) = second else { return };
        let content = self.encode(second);
        let own = self.lines[number].ending;
        let ending = if own.is_empty() { self.lines[number - 1].ending } else { own };
        self.lines[number].ending = ending;
        self.lines.insert(number + 1, Line { content, ending: own });
    }
}

/// Edits random files with `edit`, which does the same to the expected lines; then takes it back.
#[track_caller]
fn check(edit: impl Fn(&Session<'_>, &mut Choices, &mut File<'_>)) {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &json!({ "mode": "edit" }));
    let session = editor.session();
    for case in 0..CASES {
        let mut choices = Choices::new(case);
        let spelling = &SPELLINGS[case as usize % SPELLINGS.len()];
        let mut file = File::random(&mut choices, spelling);
        let before = file.bytes();
        workspace.write("a.txt", &before);
        session.tool("Read", json!({ "file_path": "a.txt" })).ok();
        edit(&session, &mut choices, &mut file);
        let name = format!("case {case}, {}", spelling.label);
        assert_eq!(shown(&workspace.bytes("a.txt")), shown(&file.bytes()), "{name}");
        let items = json!([{ "all": true }]);
        editor.request("copydesk/review/resolve", json!({ "action": "reject", "items": items }));
        assert_eq!(shown(&workspace.bytes("a.txt")), shown(&before), "{name}: taken back");
    }
}

/// Bytes for people.
fn shown(bytes: &[u8]) -> String {
    bytes.escape_ascii().to_string()
}

#[test]
fn edit_leaves_every_other_byte() {
    check(|session, choices, file| {
        let n = choices.of(&file.targets());
        let second = [None, Some("  and more")][choices.below(2)];
        let new = format!("TARGET{}", second.map_or(String::new(), |it| format!(" {n:02}\n{it}")));
        let old = if second.is_some() { format!("target {n:02}") } else { "target".to_owned() };
        let old = if second.is_some() { old } else { format!("{old} {n:02}") };
        let new = if second.is_some() { new } else { format!("{new} {n:02}") };
        session
            .tool("Edit", json!({ "file_path": "a.txt", "old_string": old, "new_string": new }))
            .ok();
        file.set(n, &format!("  TARGET {n:02}"), second);
    });
}

#[test]
fn multi_edit_leaves_every_other_byte() {
    check(|session, choices, file| {
        let targets = file.targets();
        let skipped = choices.below(2);
        let edits: Vec<Value> = targets
            .iter()
            .skip(skipped)
            .map(|n| json!({ "old_string": format!("target {n:02}"), "new_string": format!("T{n:02}") }))
            .collect();
        if edits.is_empty() {
            return;
        }
        session.tool("MultiEdit", json!({ "file_path": "a.txt", "edits": edits })).ok();
        for n in targets.iter().skip(skipped) {
            file.set(*n, &format!("  T{n:02}"), None);
        }
    });
}

#[test]
fn apply_patch_leaves_every_other_byte() {
    check(|session, choices, file| {
        let mut body = String::from("*** Begin Patch\n*** Update File: a.txt\n");
        let targets = file.targets();
        let more = choices.below(2) == 0;
        for n in &targets {
            body.push_str(&format!("@@\n-  target {n:02}\n+  T{n:02}\n"));
            if more {
                body.push_str("+  and more\n");
            }
        }
        body.push_str("*** End Patch\n");
        session.tool("ApplyPatch", json!({ "patch": body })).ok();
        for n in targets.iter().rev() {
            file.set(*n, &format!("  T{n:02}"), more.then_some("  and more"));
        }
    });
}

#[test]
fn appending_leaves_every_byte_there_was() {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &json!({ "mode": "edit" }));
    let session = editor.session();
    for case in 0..CASES {
        let mut choices = Choices::new(case);
        let mut file = File::random(&mut choices, &SPELLINGS[case as usize % SPELLINGS.len()]);
        // A last line that ends nowhere is changed by this: it has to be text.
        let content = file.encode("last");
        file.lines.last_mut().expect("a line").content = content;
        let before = file.bytes();
        workspace.write("a.txt", &before);
        session.tool("Read", json!({ "file_path": "a.txt" })).ok();
        let text = choices.of(&["tail", "tail\n"]);
        let input = json!({ "file_path": "a.txt", "content": text, "mode": "append" });
        session.tool("Write", input).ok();
        let after = workspace.bytes("a.txt");
        let added = after.strip_prefix(&before[..]);
        let added = added.unwrap_or_else(|| panic!("case {case}: {}", shown(&after)));
        // Of several line endings any will do.
        let known = file.lines.iter().map(|it| file.encode(&text.replace('\n', it.ending)));
        assert!(known.into_iter().any(|it| it == added), "case {case}: {}", shown(added));
    }
}

/// A whole file written anew keeps the lines that stay the same.
#[test]
fn a_rewrite_leaves_the_bytes_of_lines_that_stay() {
    check(|session, choices, file| {
        let n = choices.of(&file.targets());
        let broken = file.lines.iter().any(|line| {
            !file.spelling.broken.is_empty()
                && line
                    .content
                    .windows(file.spelling.broken.len())
                    .any(|it| it == file.spelling.broken)
        });
        if broken {
            return;
        }
        let bytes = file.bytes();
        let body = &bytes[file.spelling.mark.len()..];
        let named =
            encoding_rs::Encoding::for_label(file.spelling.label.as_bytes()).expect("an encoding");
        let text = named
            .decode_without_bom_handling(body)
            .0
            .replace(&format!("target {n:02}"), &format!("T{n:02}"));
        session
            .tool("Write", json!({ "file_path": "a.txt", "content": text.replace("\r\n", "\n") }))
            .ok();
        file.set(n, &format!("  T{n:02}"), None);
    });
}

/// A notebook in any layout: the bytes before and behind the edited cell stay.
#[test]
fn notebook_edit_leaves_every_other_byte() {
    let workspace = Workspace::new(&[]);
    let editor = Editor::open(&workspace, &json!({ "mode": "edit" }));
    let session = editor.session();
    for case in 0..CASES {
        let mut choices = Choices::new(case);
        let (ending, indent) = (choices.of(&["\n", "\r\n"]), choices.of(&["", " ", "  ", "\t"]));
        let colon = choices.of(&[":", ": ", " : "]);
        let cell = |n: usize, source: &str| {
            let fields = [
                format!("\"cell_type\"{colon}\"markdown\""),
                format!("\"id\"{colon}\"c{n}\""),
                format!("\"metadata\"{colon}{{\"k\"{colon}1.0e0,\"é\\u00e9\"{colon}null}}"),
                format!("\"source\"{colon}{source}"),
            ];
            format!("{{{ending}{indent}{}{ending}}}", fields.join(&format!(",{ending}{indent}")))
        };
        let count = 1 + choices.below(4);
        let edited = choices.below(count);
        let is_list = choices.below(2) == 0;
        let old = if is_list { "[\"# old\"]" } else { "\"# old\"" };
        let all = |source: &str| {
            let cells: Vec<String> = (0..count)
                .map(|n| cell(n, if n == edited { source } else { "[\"é 日\\u65e5\\n\",\"two\"]" }))
                .collect();
            format!(
                "{{\"nbformat\"{colon}4,\"nbformat_minor\"{colon}5,\"metadata\"{colon}{{}},{ending}\"cells\"{colon}[{}]}}{}",
                cells.join(&format!(",{ending}")),
                if case % 2 == 0 { ending } else { "" },
            )
        };
        let (before, mark) = (all(old), "\u{1}");
        let (head, tail) = all(mark)
            .split_once(mark)
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .expect("the cell");
        workspace.write("n.ipynb", &before);
        session.tool("Read", json!({ "file_path": "n.ipynb" })).ok();
        let input = json!({ "notebook_path": "n.ipynb", "cell_id": format!("c{edited}"), "new_source": "# new\né" });
        session.tool("NotebookEdit", input).ok();
        let after = workspace.read("n.ipynb");
        let source = after.strip_prefix(&head).and_then(|rest| rest.strip_suffix(&tail));
        let source = source
            .unwrap_or_else(|| panic!("case {case}: other bytes changed: {before}\n---\n{after}"));
        let value: Value =
            serde_json::from_str(source).unwrap_or_else(|e| panic!("case {case}: {source}: {e}"));
        let text = match &value {
            Value::Array(lines) => {
                lines.iter().map(|it| it.as_str().expect("a line")).collect::<String>()
            }
            other => other.as_str().expect("a text").to_owned(),
        };
        assert_eq!(text, "# new\né", "case {case}");
        let items = json!([{ "all": true }]);
        editor.request("copydesk/review/resolve", json!({ "action": "reject", "items": items }));
        assert_eq!(workspace.read("n.ipynb"), before, "case {case}: taken back");
    }
}

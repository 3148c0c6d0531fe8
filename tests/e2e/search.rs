//! Looking through the workspace: Grep, Glob and LS over unsaved text, ignore files, pages and limits.

use std::os::unix::ffi::OsStrExt;

use serde_json::{Value, json};

use crate::editor::{Editor, Start};
use crate::workspace::{Workspace, uri};

fn desk(files: &[(&str, &str)]) -> (Workspace, Editor) {
    let workspace = Workspace::new(files);
    let editor = Editor::open(&workspace, &json!({}));
    (workspace, editor)
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[track_caller]
fn grep(editor: &Editor, input: &Value) -> String {
    editor.tool("Grep", input.clone()).ok()
}

#[track_caller]
fn glob(editor: &Editor, input: &Value) -> Vec<String> {
    let found = editor.tool("Glob", input.clone()).ok();
    let mut names: Vec<String> = found.lines().map(str::to_owned).collect();
    names.sort();
    names
}

#[test]
fn what_is_on_the_screen_is_found_and_nothing_else() {
    let (workspace, editor) =
        desk(&[("a.txt", "old\n"), ("gone.txt", "old\n"), ("shut.txt", "old\n")]);
    editor.open_file("a.txt");
    editor.retype("a.txt", "old", "new");
    editor.open_file("gone.txt");
    editor.retype("gone.txt", "old", "new");
    std::fs::remove_file(workspace.path("gone.txt")).unwrap();
    editor.open_text(&workspace.uri("not/yet.txt"), "new\n");
    editor.open_text("untitled:Untitled-1", "new\n");
    let content =
        |pattern: &str| grep(&editor, &json!({ "pattern": pattern, "output_mode": "content" }));
    assert_eq!(
        lines(&content("new")),
        ["a.txt:1:new", "gone.txt:1:new", "not/yet.txt:1:new", "untitled:Untitled-1:1:new"]
            .map(|it| it.replace("untitled:Untitled-1:", "\"untitled:Untitled-1\":"))
    );
    assert_eq!(lines(&content("old")), ["shut.txt:1:old"]);
    assert_eq!(
        glob(&editor, &json!({ "pattern": "*.txt" })),
        ["a.txt", "gone.txt", "not/yet.txt", "shut.txt"]
    );
    let one = json!({ "pattern": "new", "path": "untitled:Untitled-1", "output_mode": "content" });
    assert_eq!(grep(&editor, &one).lines().count(), 1);
}

#[test]
fn a_file_is_found_the_moment_it_is_there_and_never_after_it_is_gone() {
    let (workspace, editor) = desk(&[("src/a.rs", "needle\n")]);
    let files = || {
        let found = grep(&editor, &json!({ "pattern": "needle", "output_mode": "count_matches" }));
        found
            .lines()
            .map(str::to_owned)
            .filter(|line| !line.starts_with("total"))
            .collect::<Vec<_>>()
    };
    for round in 0..20 {
        assert_eq!(files(), ["src/a.rs:1"], "{round}");
        workspace.write("src/deep/b.rs", "needle\n");
        assert_eq!(files(), ["src/a.rs:1", "src/deep/b.rs:1"], "{round}");
        workspace.write(".ignore", "b.rs\n");
        assert_eq!(files(), ["src/a.rs:1"], "{round}");
        std::fs::remove_file(workspace.path(".ignore")).unwrap();
        assert_eq!(files(), ["src/a.rs:1", "src/deep/b.rs:1"], "{round}");
        std::fs::rename(workspace.path("src/deep"), workspace.path("deep")).unwrap();
        assert_eq!(files(), ["deep/b.rs:1", "src/a.rs:1"], "{round}");
        std::fs::remove_dir_all(workspace.path("deep")).unwrap();
    }
}

#[test]
fn the_persons_own_ignore_file_counts() {
    let workspace =
        Workspace::new(&[(".git/HEAD", ""), ("a.swp", "needle\n"), ("b.txt", "needle\n")]);
    let git = workspace.beside("config").join("git");
    std::fs::create_dir_all(&git).unwrap();
    std::fs::write(git.join("ignore"), "*.swp\n").unwrap();
    let editor = Editor::open(&workspace, &json!({}));
    let ask = || grep(&editor, &json!({ "pattern": "needle" }));
    assert_eq!(lines(&ask()), ["b.txt"]);
    std::fs::write(git.join("ignore"), "*.txt\n").unwrap();
    assert_eq!(lines(&ask()), ["a.swp"]);
    let elsewhere = workspace.beside("home").join("mine");
    std::fs::write(&elsewhere, "b.*\n").unwrap();
    let config = format!("[core]\n\texcludesFile = {}\n", elsewhere.display());
    std::fs::write(workspace.beside("home").join(".gitconfig"), config).unwrap();
    assert_eq!(lines(&ask()), ["a.swp"]);
    std::fs::write(&elsewhere, "a.*\n").unwrap();
    assert_eq!(lines(&ask()), ["b.txt"]);
}

#[test]
fn globs_are_relative_to_the_folder_searched() {
    let files = ["a.txt", "sub/b.txt", "src/lib/scoring.ts", "2026/07/26.md", ".github/x.yml"];
    let outside = Workspace::new(&files.map(|name| (name, "text\n")));
    let workspace = Workspace::new(&[("other.txt", "text\n")]);
    let editor = Start::new(&workspace).settings(&json!({ "mode": "auto" })).start();
    let root = outside.root().display().to_string();
    let cases: [(&str, &[&str]); 11] = [
        ("*.txt", &["a.txt", "sub/b.txt"]),
        ("sub/*.txt", &["sub/b.txt"]),
        ("sub/b.txt", &["sub/b.txt"]),
        ("**/b.txt", &["sub/b.txt"]),
        ("src/**/*.ts", &["src/lib/scoring.ts"]),
        ("src/lib/scoring.ts", &["src/lib/scoring.ts"]),
        ("2026/07/26.md", &["2026/07/26.md"]),
        ("*.{ts,tsx}", &["src/lib/scoring.ts"]),
        ("{src,sub}/**", &["src/lib/scoring.ts", "sub/b.txt"]),
        (".github/**", &[".github/x.yml"]),
        ("./sub/*.txt", &["sub/b.txt"]),
    ];
    for (pattern, expected) in cases {
        let expected: Vec<String> = expected.iter().map(|name| format!("{root}/{name}")).collect();
        assert_eq!(
            glob(&editor, &json!({ "pattern": pattern, "path": root })),
            expected,
            "{pattern}"
        );
        let mut found: Vec<String> =
            grep(&editor, &json!({ "pattern": "text", "glob": pattern, "path": root }))
                .lines()
                .map(str::to_owned)
                .collect();
        found.sort();
        assert_eq!(found, expected, "{pattern}");
    }
    let absolute = format!("{root}/sub/*.txt");
    assert_eq!(
        glob(&editor, &json!({ "pattern": absolute, "path": root })),
        [format!("{root}/sub/b.txt")]
    );
}

#[test]
fn every_mode_has_pages() {
    let names: Vec<String> = (0..7).map(|n| format!("f{n}.txt")).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "hit\n")).collect();
    let (_workspace, editor) = desk(&files);
    for mode in ["content", "files_with_matches", "count_matches"] {
        let page = |offset: usize, limit: usize| {
            let input = json!({ "pattern": "hit", "output_mode": mode, "offset": offset, "head_limit": limit });
            grep(&editor, &input)
        };
        let rows = |text: &str| {
            text.lines().filter(|line| line.starts_with('f')).map(str::to_owned).collect::<Vec<_>>()
        };
        let all = rows(&page(0, 0));
        assert_eq!(all.len(), 7, "{mode}");
        let paged: Vec<String> =
            [0, 3, 6].iter().flat_map(|offset| rows(&page(*offset, 3))).collect();
        assert_eq!(paged, all, "{mode}");
        assert!(page(3, 3).contains("offset=6"), "{mode}: {}", page(3, 3));
        assert!(!page(6, 3).contains("offset="), "{mode}: {}", page(6, 3));
        assert!(page(9, 3).contains("there are 7"), "{mode}: {}", page(9, 3));
    }
    let counted = grep(&editor, &json!({ "pattern": "hit", "output_mode": "count_matches" }));
    assert!(counted.contains("total: 7 matches in 7 files"), "{counted}");
}

#[test]
fn context_never_takes_the_room_of_a_match() {
    let around = "a line of context, some forty bytes long\n".repeat(21);
    let text: String = (0..400).map(|n| format!("match {n}\n{around}")).collect();
    let (_workspace, editor) = desk(&[("a.txt", &text)]);
    let input = json!({ "pattern": "^match", "output_mode": "content", "context_lines": 20, "head_limit": 400 });
    let found = grep(&editor, &input);
    assert!(found.len() < 30_000);
    assert_eq!(found.lines().filter(|line| line.contains(":match ")).count(), 400);
    assert!(found.contains("surrounding lines of later matches were left out"));
    let clamped = grep(
        &editor,
        &json!({ "pattern": "^match 1$", "output_mode": "content", "context_lines": 99 }),
    );
    assert!(clamped.contains("20 is the most"), "{clamped}");
}

/// What a call of Chord's gives.
fn chord(editor: &Editor, name: &str, input: Value) -> String {
    let params = json!({ "name": name, "input": input, "dialect": "chord" });
    let answer = editor.request("copydesk/tool/call", params);
    answer["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn chord_shows_120_matches_in_12_kib() {
    let hits: String = (0..400).map(|n| format!("hit {n}\n")).collect();
    let wide: String = (0..100).map(|n| format!("wide {n} {}\n", "x".repeat(400))).collect();
    let around = format!("{}\n", "y".repeat(100)).repeat(20);
    let far: String = (0..50).map(|n| format!("far {n}\n{around}")).collect();
    let (_workspace, editor) = desk(&[("hits", &hits), ("wide", &wide), ("far", &far)]);
    let rows = |text: &str, of: &str| text.lines().filter(|it| it.starts_with(of)).count();
    let found = chord(&editor, "grep", json!({ "pattern": "hit" }));
    assert_eq!(rows(&found, "hits:"), 120);
    assert!(found.ends_with("[there is more; narrow the pattern, paths or includes]\n"), "{found}");
    let found = chord(&editor, "grep", json!({ "pattern": "wide" }));
    let (shown, told) = found.split_at(found.find("[there is more").unwrap());
    let row = "wide:10:wide 10 ".len() + 401;
    assert!((12 * 1024 - row..=12 * 1024).contains(&shown.len()), "{}", shown.len());
    assert!(told.contains("[note: the result was cut at 12 KB; narrow the"), "{told}");
    let found = chord(&editor, "grep", json!({ "pattern": "far", "context_lines": 25 }));
    assert_eq!(rows(&found, "far:"), 50, "context takes no room of a match");
    let lines = lines(&found);
    // The first window is whole, the last ones are bare.
    assert!(
        lines[1..21].iter().all(|it| it.starts_with("| far-")) && lines[21].starts_with("far:22:")
    );
    assert!(found.contains("far:1009:far 48\n--\nfar:1030:far 49\n"), "{found}");
    let shown = found.find("[note").unwrap();
    assert!((12 * 1024 - 120..=12 * 1024).contains(&shown), "{shown}");
    for note in
        ["25 lines of context were asked for; 20 is the most", "surrounding lines of later matches"]
    {
        assert!(found.contains(note), "{note}: {found}");
    }
}

#[test]
fn chord_shows_250_names_in_16_kib() {
    let name = |n: usize| format!("{n:03}.{}", if n < 300 { "a".into() } else { "b".repeat(160) });
    let names: Vec<String> = (0..500).map(name).collect();
    let files: Vec<_> = names.iter().map(|name| (name.as_str(), "")).collect();
    let (_workspace, editor) = desk(&files);
    let found = chord(&editor, "glob", json!({ "patterns": ["*.a"] }));
    let told = "[showing 250 of 300, newest first; use a narrower pattern or path]\n";
    assert_eq!((found.lines().count(), found.ends_with(told)), (251, true), "{found}");
    let found = chord(&editor, "glob", json!({ "patterns": ["*.b*"] }));
    assert_eq!(found.find("[showing 99 of 200"), Some(99 * 165), "{found}");
}

#[test]
fn a_long_line_is_shown_around_its_match() {
    let line = format!("{}needle{}\n", "x".repeat(50_000), "y".repeat(50_000));
    let (_workspace, editor) = desk(&[("a.min.js", &line)]);
    let found = grep(&editor, &json!({ "pattern": "needle", "output_mode": "content" }));
    assert!(found.len() < 600 && found.contains("xneedley"), "{found}");
    assert!(found.starts_with("a.min.js:1:…x") && found.trim_end().ends_with("y…"), "{found}");
}

#[test]
fn lines_that_were_not_shown_may_not_be_edited() {
    let text: String = (0..40).map(|n| format!("line {n}\n")).collect();
    let (_workspace, editor) = desk(&[("a.txt", &text)]);
    let session = editor.session();
    let input =
        json!({ "pattern": "^line", "path": "a.txt", "output_mode": "content", "head_limit": 3 });
    session.tool("Grep", input).ok();
    let edit = |old: &str| {
        session.tool(
            "Edit",
            json!({ "file_path": "a.txt", "old_string": old, "new_string": "changed" }),
        )
    };
    assert!(edit("line 30").is_error);
    edit("line 1\n").ok();
}

#[test]
fn questions_that_make_no_sense_say_what_would() {
    let (workspace, editor) = desk(&[("src/main.rs", "x\n"), (".env", "KEY=x\n")]);
    let error = |input: Value| editor.tool("Grep", input).err();
    assert!(error(json!({ "pattern": "" })).contains("empty"));
    assert!(error(json!({ "pattern": "a(" })).contains("unclosed group"));
    assert!(error(json!({ "pattern": "(\\w{500}){500}" })).contains("size"));
    assert!(error(json!({ "pattern": "a\\nb" })).contains("multiline"));
    assert_eq!(
        error(json!({ "pattern": "a\nb", "literal": true })),
        "the pattern holds a line end, and each line is searched by itself (set multiline to search across lines)."
    );
    assert!(error(json!({ "pattern": "x", "glob": "[" })).contains("malformed"));
    assert!(error(json!({ "pattern": "x", "type": "rusty" })).contains("rust"));
    assert!(error(json!({ "pattern": "x", "path": "src/mian.rs" })).contains("main.rs"));
    let root = workspace.root();
    std::os::unix::fs::symlink("loop", root.join("loop")).unwrap();
    let (at, long) = (root.display(), "y".repeat(255));
    assert_eq!(
        error(json!({ "pattern": "x", "paths": ["none", "loop"] })),
        format!(
            "none of the paths can be searched: {at}/none does not exist; {at}/loop cannot be read: too many \
             levels of symbolic links."
        )
    );
    let looped = error(json!({ "pattern": "x", "path": "loop" }));
    assert!(
        looped.ends_with("/loop cannot be read: too many levels of symbolic links."),
        "{looped}"
    );
    assert_eq!(
        grep(&editor, &json!({ "pattern": "x", "type": "", "paths": ["src", "none\n[note: y]"] })),
        format!("src/main.rs\n[note: {at}/none\\n[note: y] does not exist]\n")
    );
    let longest = vec![long.as_str(); 15].join("/");
    let noted = grep(&editor, &json!({ "pattern": "x", "paths": ["src", longest] }));
    assert!(noted.len() < 700 && noted.contains("more characters"), "{noted}");
    assert_eq!(
        grep(&editor, &json!({ "pattern": "x", "path": "src", "output_mode": "count" })),
        "src/main.rs:1\ntotal: 1 match in 1 file\n[note: `output_mode` was `count`; it was taken as \
         `count_matches`]"
    );
    let many = editor.tool("Glob", json!({ "pattern": "*.rs", "limit": 5_000 })).ok();
    assert_eq!(many, "src/main.rs\n[note: 5000 were asked for; 1000 is the most]\n");
    let all = grep(
        &editor,
        &json!({ "pattern": "x", "output_mode": "content", "include_ignored": true }),
    );
    assert!(!all.contains("KEY") && all.contains("1 sensitive files left out"), "{all}");
    assert!(editor.tool("Glob", json!({ "pattern": "{a" })).err().contains("malformed"));
}

#[test]
fn a_listing_shows_what_things_are_and_no_name_forges_an_entry() {
    let (workspace, editor) = desk(&[("a.txt", "1234"), ("x (3 B)\n  forged.txt", "")]);
    let root = workspace.root();
    std::os::unix::fs::symlink("a.txt", root.join("link")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(root.join("plug")).unwrap();
    std::fs::write(root.join("rtl\u{202e}txt.exe"), "").unwrap();
    std::fs::write(root.join(std::ffi::OsStr::from_bytes(b"inv\xFF.txt")), "").unwrap();
    editor.open_text(&workspace.uri("new/dir/b.txt"), "12");
    let shown = editor.tool("LS", json!({})).ok();
    assert_eq!(
        lines(&shown)[1..],
        [
            "  a.txt (4 B)",
            "  \"inv\u{FFFD}.txt\" (0 B)",
            "  link -> a.txt",
            "  new/",
            "    dir/ (1 entry)",
            "  plug (socket)",
            "  \"rtl\\u{202e}txt.exe\" (0 B)",
            "  \"x (3 B)\\n  forged.txt\" (0 B)",
        ]
    );
    let deep = editor.tool("LS", json!({ "depth": 11 })).ok();
    assert!(deep.contains("[note: 11 levels were asked for; 10 is the most]"), "{deep}");
    drop(socket);
}

#[test]
fn several_roots_are_searched_where_they_are() {
    let (one, two) = (Workspace::new(&[("a.txt", "hit\n")]), Workspace::new(&[("b.txt", "hit\n")]));
    let editor = Start::new(&one).folders(&[uri(one.root()), uri(two.root())]).start();
    let paths = [one.root().display().to_string(), two.root().display().to_string()];
    let found =
        grep(&editor, &json!({ "pattern": "hit", "paths": paths, "output_mode": "content" }));
    let far = format!("{}/b.txt:1:hit", two.root().display());
    assert_eq!(
        found.lines().collect::<std::collections::BTreeSet<_>>(),
        ["a.txt:1:hit", &far].into()
    );
    let twice = json!({ "pattern": "hit", "paths": [paths[0], paths[0], "a.txt"], "output_mode": "content" });
    assert_eq!(lines(&grep(&editor, &twice)), ["a.txt:1:hit"]);
}

#[test]
fn a_document_without_a_path_belongs_to_the_workspace_as_a_whole() {
    let (workspace, editor) = desk(&[("a.py", "hit\n"), ("sub/b.py", "")]);
    editor.open_text("untitled:Untitled-1", "hit\n");
    let root = workspace.root().display().to_string();
    for paths in [json!([]), json!(["."]), json!([root])] {
        let found = grep(&editor, &json!({ "pattern": "hit", "paths": paths }));
        assert_eq!(found.lines().count(), 2, "{found}");
    }
    assert_eq!(grep(&editor, &json!({ "pattern": "hit", "path": "sub" })), "No matches found.\n");
    let all = ["\"untitled:Untitled-1\"", "a.py", "sub/b.py"];
    assert_eq!(glob(&editor, &json!({ "pattern": "*" })), all);
    assert_eq!(glob(&editor, &json!({ "pattern": "*", "path": "sub" })), ["sub/b.py"]);
}

#[test]
fn a_glob_of_another_place_is_searched_there() {
    let (one, two) = (Workspace::new(&[("a.rs", "hit\n")]), Workspace::new(&[("x/b.rs", "hit\n")]));
    let editor = Start::new(&one).folders(&[uri(one.root()), uri(two.root())]).start();
    let far = format!("{}/x/b.rs", two.root().display());
    for pattern in [format!("{}/x/*.rs", two.root().display()), far.clone()] {
        assert_eq!(glob(&editor, &json!({ "pattern": pattern })), [far.as_str()]);
        let found = grep(&editor, &json!({ "pattern": "hit", "glob": pattern }));
        assert_eq!(lines(&found), [far.as_str()]);
    }
    let near = format!("{}/*.rs", one.root().display());
    for near in [near.as_str(), "/a.rs", "/*.rs"] {
        assert_eq!(glob(&editor, &json!({ "pattern": near })), ["a.rs"]);
    }
}

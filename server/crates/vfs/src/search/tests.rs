use std::cell::Cell;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use proptest::prelude::*;
use text::{LineBreaks, Unit};

use super::*;
use crate::store::Options;

struct Case {
    folder: tempfile::TempDir,
    vfs: Vfs,
}

fn case(files: &[(&str, &str)]) -> Case {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let options = Options { unit: Unit::Utf16, breaks: LineBreaks::Lf, state_dir: None };
    Case { vfs: Vfs::new(options), folder }
}

impl Case {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn open(&self, name: &str, text: &str) {
        self.vfs.open(Location::disk(self.path(name)), "text", 1, text);
    }

    fn query(&self, pattern: &str) -> GrepQuery {
        self.with(pattern, |_| ())
    }

    /// A query of the whole folder, changed.
    fn with(&self, pattern: &str, change: impl FnOnce(&mut GrepQuery)) -> GrepQuery {
        let mut query = GrepQuery::default();
        query.pattern.text = pattern.to_owned();
        query.scope.paths = vec![self.folder.path().to_owned()];
        change(&mut query);
        query
    }

    /// A query of these paths alone.
    fn at(&self, names: &[&str], pattern: &str) -> GrepQuery {
        self.with(pattern, |query| {
            query.scope.paths = names.iter().map(|name| self.path(name)).collect();
        })
    }

    fn grep(&self, query: &GrepQuery) -> GrepResult {
        self.vfs.grep(query, &|| false).unwrap()
    }

    /// `name:number:text`, context with `-`.
    fn lines(&self, query: &GrepQuery) -> Vec<String> {
        shown(&self.grep(query), self.folder.path())
    }

    fn names(&self, query: &GrepQuery) -> Vec<String> {
        let result = self.grep(query);
        result.files.iter().map(|file| name(&file.location, self.folder.path())).collect()
    }

    fn glob(&self, patterns: &[&str]) -> Vec<String> {
        let query = GlobQuery {
            patterns: patterns.iter().map(|p| p.to_string()).collect(),
            root: self.folder.path().to_owned(),
            order: Order::Path,
            ..GlobQuery::default()
        };
        let result = self.vfs.glob(&query, &|| false).unwrap();
        result.hits.iter().map(|hit| name(&hit.location, self.folder.path())).collect()
    }
}

fn name(location: &Location, root: &Path) -> String {
    match location {
        Location::Disk(path) => path.strip_prefix(root).unwrap().display().to_string(),
        Location::Virtual(name) => name.clone(),
    }
}

fn shown(result: &GrepResult, root: &Path) -> Vec<String> {
    let line = |file: &GrepFile, line: &GrepLine| {
        let mark = if line.is_context { '-' } else { ':' };
        format!("{}{mark}{}{mark}{}", name(&file.location, root), line.number, line.text)
    };
    result
        .files
        .iter()
        .flat_map(|file| file.lines.iter().map(|l| line(file, l)).collect::<Vec<_>>())
        .collect()
}

#[test]
fn lines_come_in_path_order_with_numbers() {
    let case = case(&[
        ("b.txt", "x\nfoo\n"),
        ("a/z.txt", "foo foo\r\n"),
        ("a.txt", "no\n"),
        (".hidden", "a foo"),
    ]);
    assert_eq!(
        case.lines(&case.query("foo")),
        [".hidden:1:a foo", "a/z.txt:1:foo foo", "b.txt:2:foo"]
    );
    let result = case.grep(&case.query("foo"));
    assert_eq!((result.matches, result.searched, result.files[0].lines[0].column), (3, 4, 2));
}

#[test]
fn buffers_stand_in_for_their_files() {
    let case = case(&[
        ("a.txt", "old\n"),
        ("b.txt", "same\n"),
        ("gone.txt", "old\n"),
        (".gitignore", "*.log\n"),
    ]);
    case.open("a.txt", "new\n");
    case.open("gone.txt", "new\n");
    fs::remove_file(case.path("gone.txt")).unwrap();
    case.open("fresh/c.txt", "new\n");
    case.open("fresh/d.log", "new\n");
    case.vfs.open(Location::Virtual("untitled:One".to_owned()), "text", 1, "x\nnew\n");
    let expected = ["a.txt:1:new", "fresh/c.txt:1:new", "gone.txt:1:new", "untitled:One:2:new"];
    assert_eq!(case.lines(&case.query("new")), expected);
    assert_eq!(case.lines(&case.query("old")), Vec::<String>::new());
    assert!(case.grep(&case.query("new")).files.iter().all(|file| file.unsaved));
    assert_eq!(case.glob(&["*.txt"]), ["a.txt", "b.txt", "fresh/c.txt", "gone.txt"]);
    let mut below = case.at(&["fresh"], "new");
    below.scope.include_virtual = false;
    assert_eq!(case.lines(&below), ["fresh/c.txt:1:new"]);
}

#[test]
fn a_buffer_opened_through_a_link_stands_in_for_the_target() {
    let case = case(&[("a.txt", "old\n")]);
    std::os::unix::fs::symlink("a.txt", case.path("link.txt")).unwrap();
    case.open("link.txt", "new\n");
    assert_eq!(case.lines(&case.query("old|new")), ["a.txt:1:new"]);
}

#[test]
fn context_is_given_once_and_limits_cut_it_clean() {
    let text: String = (1..=12)
        .map(|n| if [4, 8, 9].contains(&n) { format!("hit {n}\n") } else { format!("{n}\n") })
        .collect();
    let case = case(&[("a", &text)]);
    let query = GrepQuery { before: 1, after: 1, ..case.query("hit") };
    let expected = ["a-3-3", "a:4:hit 4", "a-5-5", "a-7-7", "a:8:hit 8", "a:9:hit 9", "a-10-10"];
    assert_eq!(case.lines(&query), expected);
    let limited = |matches| GrepQuery {
        limits: GrepLimits { matches, ..GrepLimits::default() },
        ..query.clone()
    };
    assert_eq!(case.lines(&limited(1)), expected[..3]);
    assert!(case.grep(&limited(1)).truncated);
    assert!(!case.grep(&limited(3)).truncated);
}

#[test]
fn what_the_repository_ignores_is_left_out_unless_named() {
    let case = case(&[
        (".gitignore", "target\n*.log\n!keep.log\n"),
        ("sub/.ignore", "x.txt\n"),
        ("sub/x.txt", "foo"),
        ("sub/y.txt", "foo"),
        ("target/out.txt", "foo"),
        ("a.log", "foo"),
        ("keep.log", "foo"),
        (".git/config", "foo"),
    ]);
    assert_eq!(case.names(&case.query("foo")), ["keep.log", "sub/y.txt"]);
    let all = case.with("foo", |query| query.scope.include_ignored = true);
    assert_eq!(case.names(&all), ["a.log", "keep.log", "sub/x.txt", "sub/y.txt", "target/out.txt"]);
    let named = case.at(&["a.log"], "foo");
    assert_eq!(case.names(&named), ["a.log"]);
    let globbed = case.with("foo", |query| query.scope.globs = vec!["**".to_owned()]);
    assert_eq!(
        case.names(&globbed),
        ["keep.log", "sub/y.txt"],
        "a glob chooses, it does not un-ignore"
    );
}

#[test]
fn secrets_are_counted_not_shown() {
    let case =
        case(&[(".env", "KEY=foo"), ("id_rsa", "foo"), (".env.example", "foo"), ("a", "foo")]);
    let result = case.grep(&case.query("foo"));
    assert_eq!(shown(&result, case.folder.path()), [".env.example:1:foo", "a:1:foo"]);
    assert_eq!(result.sensitive, 2);
    let named = case.at(&[".env"], "foo");
    assert_eq!((case.grep(&named).files.len(), case.grep(&named).sensitive), (0, 1));
    let mut allowed = named;
    let env = case.path(".env");
    allowed.scope.visibility = Visibility::default().allowing(move |path| path == env);
    assert_eq!(case.names(&allowed), [".env"]);
    let glob = GlobQuery {
        patterns: vec!["**".to_owned()],
        root: case.folder.path().to_owned(),
        ..GlobQuery::default()
    };
    let result = case.vfs.glob(&glob, &|| false).unwrap();
    assert_eq!((result.total, result.sensitive), (2, 2));
}

#[test]
fn patterns_mean_what_they_say() {
    let case = case(&[("a", "a.b\naxb\nAXB\nend\r\nfoo\nbar\n")]);
    let with = |pattern: &str, change: fn(&mut GrepPattern)| {
        case.lines(&case.with(pattern, |query| change(&mut query.pattern)))
    };
    assert_eq!(with("a.b", |_| ()), ["a:1:a.b", "a:2:axb"]);
    assert_eq!(with("a.b", |it| it.literal = true), ["a:1:a.b"]);
    assert_eq!(with("axb", |it| it.ignore_case = true), ["a:2:axb", "a:3:AXB"]);
    assert_eq!(with("end$", |_| ()), ["a:4:end"]);
    assert_eq!(with("foo\\nbar", |it| it.multiline = true), ["a:5:foo", "a:6:bar"]);
    let broken = case.vfs.grep(&case.query("a("), &|| false).unwrap_err().to_string();
    assert!(broken.contains("unclosed group"), "{broken}");
    let across = case.vfs.grep(&case.query("foo\\nbar"), &|| false).unwrap_err().to_string();
    assert!(across.contains("holds a line end"), "{across}");
}

#[test]
fn types_and_globs_choose_files() {
    let case = case(&[
        ("a.rs", "x"),
        ("b.ts", "x"),
        ("src/c.tsx", "x"),
        ("src/lib/d.rs", "x"),
        ("t/e.rs", "x"),
    ]);
    let of_type = |name: &str| case.with("x", |query| query.scope.types = vec![name.to_owned()]);
    let typed = |name: &str| case.names(&of_type(name));
    assert_eq!(typed("rust"), ["a.rs", "src/lib/d.rs", "t/e.rs"]);
    assert_eq!(typed("tsx"), ["b.ts", "src/c.tsx"]);
    let error = case.vfs.grep(&of_type("rusty"), &|| false);
    assert!(error.unwrap_err().to_string().contains("rust"));
    let globbed = |globs: &[&str]| {
        let globs = globs.iter().map(|g| g.to_string()).collect();
        case.names(&case.with("x", |query| query.scope.globs = globs))
    };
    assert_eq!(globbed(&["src/**/*.rs"]), ["src/lib/d.rs"]);
    assert_eq!(globbed(&["*.{ts,tsx}"]), ["b.ts", "src/c.tsx"]);
    assert_eq!(globbed(&["*.rs", "!t"]), ["a.rs", "src/lib/d.rs"]);
    assert_eq!(globbed(&["!src"]), ["a.rs", "b.ts", "t/e.rs"]);
    assert_eq!(globbed(&["src/"]), ["src/c.tsx", "src/lib/d.rs"]);
}

#[test]
fn names_that_look_like_globs_are_found_by_name() {
    let case =
        case(&[("lit[1].txt", ""), ("lit1.txt", ""), ("app/[id]/page.tsx", ""), ("x{a}/b", "")]);
    let check =
        |pattern: &str, expected: &[&str]| assert_eq!(case.glob(&[pattern]), expected, "{pattern}");
    check("lit[1].txt", &["lit1.txt", "lit[1].txt"]);
    check("lit[12].txt", &["lit1.txt"]);
    check("app/[id]/page.tsx", &["app/[id]/page.tsx"]);
    check("app/[id]/*.tsx", &["app/[id]/page.tsx"]);
    check("./x{a}/**", &["x{a}/b"]);
}

#[test]
fn globs_are_relative_to_the_root() {
    let files = ["a.txt", "sub/b.txt", "src/lib/scoring.ts", "2026/07/26.md", ".github/x.yml"];
    let case = case(&files.map(|file| (file, "")));
    let check =
        |pattern: &str, expected: &[&str]| assert_eq!(case.glob(&[pattern]), expected, "{pattern}");
    check("*.txt", &["a.txt", "sub/b.txt"]);
    check("sub/*.txt", &["sub/b.txt"]);
    check("sub/b.txt", &["sub/b.txt"]);
    check("**/b.txt", &["sub/b.txt"]);
    check("src/**/*.ts", &["src/lib/scoring.ts"]);
    check("src/lib/scoring.ts", &["src/lib/scoring.ts"]);
    check("2026/07/*.md", &["2026/07/26.md"]);
    check("*.{ts,tsx}", &["src/lib/scoring.ts"]);
    check("{src,sub}/**", &["src/lib/scoring.ts", "sub/b.txt"]);
    check(".github/**", &[".github/x.yml"]);
    check("./sub/*.txt", &["sub/b.txt"]);
    check("b.txt", &["sub/b.txt"]);
    check(&case.path("sub/*.txt").display().to_string(), &["sub/b.txt"]);
    check(&case.path("sub/b.txt").display().to_string(), &["sub/b.txt"]);
    check("**", &[".github/x.yml", "2026/07/26.md", "a.txt", "src/lib/scoring.ts", "sub/b.txt"]);
}

#[test]
fn newest_comes_first_and_the_limit_is_told() {
    let case = case(&[("a", "x"), ("b", "x"), ("c", "x")]);
    for (name, seconds) in [("a", 20), ("b", 30), ("c", 10)] {
        filetime::set_file_mtime(case.path(name), filetime::FileTime::from_unix_time(seconds, 0))
            .unwrap();
    }
    let glob = GlobQuery {
        patterns: vec!["*".to_owned()],
        root: case.folder.path().to_owned(),
        limit: 2,
        ..GlobQuery::default()
    };
    let result = case.vfs.glob(&glob, &|| false).unwrap();
    let names: Vec<_> =
        result.hits.iter().map(|hit| name(&hit.location, case.folder.path())).collect();
    assert_eq!((names, result.total), (vec!["b".to_owned(), "a".to_owned()], 3));
    let files = case.with("x", |query| {
        query.mode = GrepMode::Files;
        query.order = Order::Newest;
        query.limits.matches = 2;
    });
    assert_eq!(case.names(&files), ["b", "a"]);
    assert!(case.grep(&files).truncated);
}

#[test]
fn many_hits_are_ordered_like_few() {
    let names: Vec<String> = (0..2_100).map(|n| format!("f{n:04}")).collect();
    let case = case(&names.iter().map(|name| (name.as_str(), "")).collect::<Vec<_>>());
    for (n, name) in names.iter().enumerate() {
        let time = filetime::FileTime::from_unix_time(n as i64 + 1, 0);
        filetime::set_file_mtime(case.path(name), time).unwrap();
    }
    let query = GlobQuery {
        patterns: vec!["f*".to_owned()],
        root: case.folder.path().to_owned(),
        limit: 0,
        ..GlobQuery::default()
    };
    let hits = case.vfs.glob(&query, &|| false).unwrap().hits;
    let found: Vec<String> =
        hits.iter().rev().map(|hit| name(&hit.location, case.folder.path())).collect();
    assert_eq!(found, names);
}

#[test]
fn odd_files_are_passed_over() {
    let case = case(&[("a.bin", "foo\0"), ("b.txt", "foo")]);
    fs::write(case.path("wide.txt"), b"\xFF\xFEf\0o\0o\0\n\0").unwrap();
    fs::write(case.path("latin.txt"), b"caf\xE9 foo\nd\xE9j\xE0 vu\n").unwrap();
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        case.path("pipe"),
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap();
    std::os::unix::fs::symlink(".", case.path("loop")).unwrap();
    assert_eq!(
        case.lines(&case.query("foo")),
        ["b.txt:1:foo", "latin.txt:1:café foo", "wide.txt:1:foo"]
    );
    assert_eq!(case.names(&case.query("déjà")), ["latin.txt"]);
    for text in ["caf. foo", "caf\\w foo", "d[^x]j", "(?i)CAFÉ", "caf\\x{e9}"] {
        assert_eq!(case.names(&case.query(text)), ["latin.txt"], "{text}");
    }
    let mut named = case.at(&["a.bin"], "foo");
    named.scope.include_virtual = false;
    assert!(case.grep(&named).notes[0].contains("binary"));
}

#[test]
fn a_missing_path_is_an_error_alone_and_a_note_among_others() {
    let case = case(&[("main.rs", "x")]);
    let alone = case.at(&["mian.rs"], "x");
    assert!(case.vfs.grep(&alone, &|| false).unwrap_err().to_string().contains("main.rs"));
    let among = case.at(&["main.rs", "none"], "x");
    let result = case.grep(&among);
    assert_eq!((result.files.len(), result.notes.len()), (1, 1));
    let none = case.at(&["mian.rs", "none"], "x");
    let error = case.vfs.grep(&none, &|| false).unwrap_err();
    assert!(error.to_string().contains("main.rs?"), "{error}");
    let hidden = |path: &Path| path.ends_with("main.rs");
    let error = error.without(&hidden).to_string();
    assert!(error.contains("mian.rs does not exist;") && error.ends_with("none does not exist"));
}

#[test]
fn long_lines_are_cut_around_the_match() {
    let case = case(&[("a", &format!("{}foo{}", "x".repeat(5_000), "é".repeat(5_000)))]);
    let line = case.grep(&case.query("foo")).files[0].lines[0].clone();
    assert!(!line.is_whole() && line.text.len() <= 2_000 && line.text.contains("foo"));
    assert_eq!(line.column, 5_000);
    assert_eq!(line.cut_before + line.text.len() + line.cut_after, 5_000 + 3 + 10_000);
    let whole = case.grep(&case.with("foo", |query| query.limits.line_bytes = 20_000));
    assert!(whole.files[0].lines[0].is_whole());
}

#[test]
fn matches_are_counted_one_by_one() {
    let case = case(&[("a", "foo foo\nx foo\nbar\n"), ("b", "foo\nfoo")]);
    let count = |pattern: &str, multiline: bool| {
        let query = case.with(pattern, |query| {
            query.mode = GrepMode::Count;
            query.pattern.multiline = multiline;
        });
        case.grep(&query).files.iter().map(|file| file.matches).collect::<Vec<_>>()
    };
    assert_eq!(count("foo", false), [3, 2]);
    assert_eq!(count("foo", true), [3, 2]);
    assert_eq!(count("foo\nx", true), [1]);
}

#[test]
fn a_document_without_a_path_is_searched_by_its_name() {
    let case = case(&[("a", "foo\n")]);
    for name in ["untitled:One", "untitled:Two"] {
        case.vfs.open(Location::Virtual(name.to_owned()), "text", 1, "foo\n");
    }
    let query = case.with("foo", |query| {
        query.scope.paths.clear();
        query.scope.include_virtual = false;
        query.scope.names = vec!["untitled:Two".to_owned(), "untitled:None".to_owned()];
    });
    assert_eq!(case.names(&query), ["untitled:Two"]);
    assert!(case.grep(&query).notes[0].contains("untitled:None"));
}

#[test]
fn files_too_large_to_hold_are_searched_in_pieces() {
    let case = case(&[("b.txt", "foo\n")]);
    let line = format!("{}\n", "x".repeat(99));
    let text = format!("{}foo\n{line}", line.repeat(100_000));
    fs::write(case.path("a.txt"), &text).unwrap();
    let query = case.with("foo", |query| {
        query.after = 1;
        query.limits.line_bytes = 10;
    });
    assert_eq!(case.lines(&query), ["a.txt:100001:foo", "a.txt-100002-xxxxxxxxxx", "b.txt:1:foo"]);
    let across = case.with("foo\nx", |query| query.pattern.multiline = true);
    assert_eq!(case.names(&across), ["a.txt"]);
}

#[test]
fn a_file_of_the_name_elsewhere_is_suggested_once_seen() {
    let case = case(&[("crates/deep/engine.rs", "x")]);
    case.names(&case.query("x"));
    assert_eq!(case.vfs.similar(&case.path("src/engine.rs")), [case.path("crates/deep/engine.rs")]);
}

/// Enough files that several threads walk and search.
fn many() -> Case {
    let files: Vec<_> =
        (0..900).map(|n| (format!("d{}/f{n}.txt", n % 30), format!("x\nfoo {n}\n"))).collect();
    case(&files.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect::<Vec<_>>())
}

#[test]
fn many_threads_give_the_same_as_one_and_limits_too() {
    let case = many();
    let all = case.lines(&case.query("foo"));
    assert_eq!(all.len(), 900);
    let mut names = case.names(&case.query("foo"));
    assert!(names.is_sorted_by(|a, b| Path::new(a) < Path::new(b)));
    names.truncate(7);
    let limited = case.with("foo", |query| query.limits.matches = 7);
    assert_eq!(case.lines(&limited), all[..7]);
    assert!(case.grep(&limited).truncated);
    let bytes = case.with("foo", |query| query.limits.bytes = 20);
    let few = case.lines(&bytes);
    assert!(few.len() < 5 && few == all[..few.len()]);
    assert_eq!(case.names(&GrepQuery { mode: GrepMode::Files, ..limited }), names);
}

#[test]
fn a_cancelled_search_ends() {
    let case = many();
    let asked = Cell::new(0);
    let result = case.vfs.grep(&case.query("foo"), &|| {
        asked.set(asked.get() + 1);
        asked.get() > 1
    });
    assert!(result.unwrap().cancelled);
    let small = case.at(&["d1"], "foo");
    let asked = AtomicUsize::new(0);
    let result = case.vfs.grep(&small, &|| asked.fetch_add(1, Ordering::Relaxed) > 5).unwrap();
    assert!(result.cancelled && result.files.len() < 30);
}

#[test]
fn a_slow_pattern_does_not_hold_up_the_end_of_a_search() {
    let case = case(&[("a.txt", &"word after word and no end ".repeat(1_500_000))]);
    let query = case.with("([a-z]+ )+[.]", |query| query.pattern.multiline = true);
    let (began, wanted) = (std::time::Instant::now(), std::time::Duration::from_millis(200));
    let result = case.vfs.grep(&query, &|| began.elapsed() > wanted).unwrap();
    let late = began.elapsed().saturating_sub(wanted);
    assert!(!result.cancelled || late < std::time::Duration::from_millis(500), "{late:?}");
}

#[test]
fn a_pattern_too_large_to_compile_is_refused_with_a_word_on_it() {
    let case = case(&[("a", "x")]);
    let error = case.vfs.grep(&case.query("(\\w{200}){200}"), &|| false).unwrap_err().to_string();
    assert!(error.contains("exceeds size limit"), "{error}");
}

#[test]
fn a_tree_folds_up_what_is_ignored_and_shows_what_is_unsaved() {
    let case = case(&[
        ("src/a.rs", "12345"),
        ("src/deep/b.rs", ""),
        ("target/x/y", ""),
        ("target/z", ""),
        (".gitignore", "target\n"),
        ("skip.tmp", ""),
    ]);
    case.open("src/new.rs", "ab");
    let query = TreeQuery {
        root: case.folder.path().to_owned(),
        depth: 2,
        ignore: vec!["*.tmp".into()],
        limit: 100,
        visibility: Visibility::default(),
    };
    let nodes = case.vfs.tree(&query, &|| false).unwrap().nodes;
    let shown: Vec<_> = nodes
        .iter()
        .map(|n| {
            format!(
                "{}{} {} {:?} {}{}",
                " ".repeat(n.level),
                n.name,
                n.len,
                n.collapsed,
                n.ignored,
                n.unsaved
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ".gitignore 7 None falsefalse",
            "src 0 None falsefalse",
            " a.rs 5 None falsefalse",
            " deep 0 Some(1) falsefalse",
            " new.rs 2 None falsetrue",
            "target 0 Some(2) truefalse",
        ]
    );
    let few = TreeQuery { limit: 2, ..query };
    assert!(case.vfs.tree(&few, &|| false).unwrap().truncated);
}

#[test]
fn a_folder_counts_what_only_the_editor_has_and_a_link_tells_what_it_names() {
    let case = case(&[("src/a.rs", "1"), ("src/b.rs", "1")]);
    case.open("src/a.rs", "22");
    case.open("src/new/deep/c.rs", "");
    case.open("src/new/d.rs", "");
    case.open("fresh/e.rs", "");
    std::os::unix::fs::symlink("../nowhere", case.folder.path().join("link")).unwrap();
    let query = TreeQuery {
        root: case.folder.path().to_owned(),
        depth: 1,
        ignore: Vec::new(),
        limit: 100,
        visibility: Visibility::default(),
    };
    let nodes = case.vfs.tree(&query, &|| false).unwrap().nodes;
    let shown: Vec<_> =
        nodes.iter().map(|it| (it.name.as_str(), it.collapsed, it.leads_to.clone())).collect();
    assert_eq!(
        shown,
        [
            ("fresh", Some(1), None),
            ("link", None, Some(PathBuf::from("../nowhere"))),
            ("src", Some(3), None),
        ]
    );
}

fn texts() -> impl Strategy<Value = String> {
    "([abé ]{0,5}(\r?\n)?){0,4}"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// A search over dirty buffers finds what it would find were they saved.
    #[test]
    fn buffers_are_searched_as_if_saved(
        on_disk in prop::collection::vec(texts(), 6),
        open in prop::collection::vec(prop::option::of(texts()), 9),
        pattern in prop::sample::select(vec!["a", "b+", "é", "^a", "b$", "a b", "^$"]),
        before in 0usize..2,
        multiline in any::<bool>(),
    ) {
        let names: Vec<String> = (0..9).map(|n| format!("{}/f{n}.{}", n % 2, if n % 3 == 0 { "rs" } else { "md" })).collect();
        let build = |count: usize| {
            let files: Vec<_> = names.iter().zip(&on_disk).take(count).map(|(n, t)| (n.as_str(), t.as_str())).collect();
            case(&files)
        };
        let (dirty, saved) = (build(6), build(6));
        for (name, text) in names.iter().zip(&open) {
            if let Some(text) = text {
                dirty.open(name, text);
                fs::create_dir_all(saved.path(name).parent().unwrap()).unwrap();
                fs::write(saved.path(name), text).unwrap();
            }
        }
        for globs in [vec![], vec!["*.rs".to_owned()], vec!["1/**".to_owned()]] {
            let query = |case: &Case| case.with(pattern, |query| {
                query.before = before;
                query.pattern.multiline = multiline;
                query.scope.globs = globs.clone();
            });
            prop_assert_eq!(dirty.lines(&query(&dirty)), saved.lines(&query(&saved)));
        }
        prop_assert_eq!(dirty.glob(&["*.md"]), saved.glob(&["*.md"]));
    }
}

mod any;
mod bytes;
mod documents;
mod ignoring;
mod ripgrep;
mod visibility;
mod wildmatch;

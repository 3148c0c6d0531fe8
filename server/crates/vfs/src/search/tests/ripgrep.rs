//! The same question to `rg` and to us: the answers must be the same lines of the same files.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use proptest::prelude::*;

use super::*;

/// Where `rg` is: in the folder of `tests/setup`, or wherever the machine has it.
fn rg_binary() -> PathBuf {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap();
    let cache = std::env::var_os("COPYDESK_TEST_CACHE")
        .map_or_else(|| project.join("tests/.cache"), PathBuf::from);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places = std::iter::once(cache.join("bench/rg"))
        .chain(std::env::split_paths(&path).map(|folder| folder.join("rg")));
    places.into_iter().find(|rg| rg.is_file()).expect("rg: tests/setup installs it")
}

/// What `rg` prints in `root`; `None` when it refuses.
fn rg(root: &Path, args: &[&str]) -> Option<Vec<u8>> {
    let mut command = Command::new(rg_binary());
    command.args(["--no-config", "--color=never", "--hidden", "--null"]).args(args);
    let in_repository = root.ancestors().any(|it| it.join(".git").exists());
    if !in_repository {
        command.arg("--no-require-git");
    }
    let output = command.current_dir(root).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let refused = output.status.code() == Some(2) && !said.contains("No files were searched");
    (!refused || !output.stdout.is_empty()).then_some(output.stdout)
}

fn is_ours(path: &[u8]) -> bool {
    let hidden: &[&[u8]] = &[b".git/", b".hg/", b".svn/", b".jj/"];
    !hidden.iter().any(|it| {
        path.starts_with(it) || memchr::memmem::find(path, &[b"/", *it].concat()).is_some()
    })
}

type Hits = BTreeSet<(Vec<u8>, u64)>;

/// Files and line numbers `rg` finds, or files and counts.
fn rg_hits(root: &Path, args: &[&str]) -> Option<Hits> {
    let output = rg(root, args)?;
    let hits = output.split(|byte| *byte == b'\n').filter_map(|line| {
        let (path, rest) = line.split_at(memchr::memchr(0, line)?);
        let digits = rest[1..].iter().take_while(|byte| byte.is_ascii_digit());
        let number = String::from_utf8(digits.copied().collect()).unwrap().parse().ok()?;
        is_ours(path).then(|| (path.to_vec(), number))
    });
    Some(hits.collect())
}

fn rg_files(root: &Path, args: &[&str]) -> Option<BTreeSet<Vec<u8>>> {
    let mut command = vec!["--files"];
    command.extend(args);
    let output = rg(root, &command)?;
    let paths = output.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    Some(paths.filter(|path| is_ours(path)).map(<[u8]>::to_vec).collect())
}

fn below(root: &Path, location: &Location) -> Vec<u8> {
    location.path().unwrap().strip_prefix(root).unwrap().as_os_str().as_bytes().to_vec()
}

fn our_hits(case: &Case, query: &GrepQuery) -> Result<Hits, QueryError> {
    let root = case.folder.path();
    let result = case.vfs.grep(query, &|| false)?;
    assert!(!result.truncated && !result.cancelled);
    let lines = |file: &GrepFile| -> Vec<u64> {
        match query.mode {
            GrepMode::Count => vec![file.matches],
            GrepMode::Files | GrepMode::Lines => {
                file.lines.iter().filter(|line| !line.is_context).map(|line| line.number).collect()
            }
        }
    };
    let of = |file: &GrepFile| {
        lines(file)
            .into_iter()
            .map(|number| (below(root, &file.location), number))
            .collect::<Vec<_>>()
    };
    Ok(result.files.iter().flat_map(of).collect())
}

fn our_files(
    case: &Case,
    patterns: &[&str],
    change: impl Fn(&mut GlobQuery),
) -> Result<BTreeSet<Vec<u8>>, QueryError> {
    let mut query = GlobQuery {
        patterns: patterns.iter().map(|it| it.to_string()).collect(),
        root: case.folder.path().to_owned(),
        order: Order::Path,
        limit: 0,
        ..GlobQuery::default()
    };
    change(&mut query);
    let result = case.vfs.glob(&query, &|| false)?;
    Ok(result.hits.iter().map(|hit| below(case.folder.path(), &hit.location)).collect())
}

fn readable<T: Clone>(hits: &BTreeSet<(Vec<u8>, T)>) -> Vec<(String, T)> {
    hits.iter().map(|(path, it)| (String::from_utf8_lossy(path).into_owned(), it.clone())).collect()
}

#[track_caller]
fn check_same(case: &Case, pattern: &GrepPattern, scope: impl Fn(&mut GrepScope), flags: &[&str]) {
    check_mode(case, pattern, GrepMode::Lines, &scope, flags);
    check_mode(case, pattern, GrepMode::Count, &scope, flags);
}

#[track_caller]
fn check_mode(
    case: &Case,
    pattern: &GrepPattern,
    mode: GrepMode,
    scope: impl Fn(&mut GrepScope),
    flags: &[&str],
) {
    let mut args = flags.to_vec();
    let crlf = pattern.text.contains('$') && !pattern.multiline && !pattern.literal;
    for (flag, set) in [("-i", pattern.ignore_case), ("-F", pattern.literal), ("--crlf", crlf)] {
        if set {
            args.push(flag);
        }
    }
    if pattern.multiline {
        args.extend(["-U", "--multiline-dotall"]);
    }
    args.extend(["-e", &pattern.text]);
    args.push(if mode == GrepMode::Count { "--count-matches" } else { "-n" });
    let theirs = rg_hits(case.folder.path(), &args);
    let query = case.with(&pattern.text, |query| {
        query.pattern = pattern.clone();
        query.mode = mode;
        query.limits.bytes = usize::MAX;
        scope(&mut query.scope);
    });
    match (theirs, our_hits(case, &query)) {
        (Some(theirs), Ok(ours)) => {
            assert_eq!(readable(&ours), readable(&theirs), "{pattern:?} {args:?}");
        }
        (None, Err(_)) => {}
        (theirs, ours) => panic!("{args:?}: rg {theirs:?}, ours {ours:?}"),
    }
}

fn pattern(text: &str) -> GrepPattern {
    GrepPattern { text: text.to_owned(), ..GrepPattern::default() }
}

/// Many questions about one tree, and its files.
#[track_caller]
fn check_tree(case: &Case) {
    for text in [
        "foo",
        "^foo",
        "bar$",
        "f.o",
        "[a-f]oo\\b",
        "(?i)FOO",
        "^$",
        "",
        "foo|qux",
        "\\w+",
        "é",
        "ß|ü",
        "x{2,3}",
        "\\s$",
    ] {
        check_same(case, &pattern(text), |_| (), &[]);
        if ["foo", "f.o", "é"].contains(&text) {
            check_same(case, &GrepPattern { ignore_case: true, ..pattern(text) }, |_| (), &[]);
        }
        check_same(case, &pattern(text), |it| it.include_ignored = true, &["--no-ignore"]);
    }
    for text in ["foo\\nbar", "foo.bar", "(?s:foo.*qux)", "foo$\\n^bar"] {
        check_same(case, &GrepPattern { multiline: true, ..pattern(text) }, |_| (), &[]);
    }
    for text in ["f.o", "a[0]", "(", "\\w"] {
        check_same(case, &GrepPattern { literal: true, ..pattern(text) }, |_| (), &[]);
    }
    for kind in ["rust", "py", "ts", "md", "c"] {
        check_same(case, &pattern("foo"), |it| it.types = vec![kind.to_owned()], &["-t", kind]);
    }
    for globs in [
        &["*.rs"][..],
        &["*.{rs,py}"],
        &["!*.rs"],
        &["src/**"],
        &["*.rs", "!src/a.rs"],
        &["!src"],
        &["/*.txt"],
        &["**/deep/**"],
    ] {
        let flags: Vec<&str> =
            globs.iter().flat_map(|glob| ["-g", *glob]).chain(["--no-ignore"]).collect();
        check_same(
            case,
            &pattern("foo"),
            |it| {
                it.globs = globs.iter().map(|glob| glob.to_string()).collect();
                it.include_ignored = true;
            },
            &flags,
        );
    }
    let root = case.folder.path();
    assert_eq!(our_files(case, &[], |_| ()).unwrap(), rg_files(root, &[]).unwrap());
    let all = our_files(case, &[], |query| query.include_ignored = true).unwrap();
    assert_eq!(all, rg_files(root, &["--no-ignore"]).unwrap());
}

fn words(case: &Case, names: &[&str]) {
    for (at, name) in names.iter().enumerate() {
        let path = case.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = [
            "foo\nbar\n",
            "a foo b\n\nbar",
            "Foo\r\nbar\r\n\r\nqux\r\n",
            "f.o a[0] ( \\w\n",
            "nothing\n",
        ][at % 5];
        fs::write(path, text).unwrap();
    }
}

#[test]
fn ignore_files_of_every_kind_nested() {
    for repository in [true, false] {
        let case = case(&[
            (
                ".gitignore",
                "*.log\n/build/\ntmp\n!keep.log\n# no rule\n\\#hash\ntrailing\\ \nspaces   \ndoc/*.txt\n**/deep/x\na/**/z\nn[0-9].c\n",
            ),
            (".ignore", "!a.log\n*.py\n"),
            ("src/.gitignore", "*\n!.gitignore\n!*.rs\n"),
            ("src/in/.rgignore", "!*.py\na.rs\n"),
            ("docs/.ignore", "/top.md\nsub/\n!sub/keep.md\n"),
            ("nested/.git/info/exclude", "*.md\n"),
            ("nested/.gitignore", "!*.log\n"),
            ("hidden/.gitignore", "*"),
            (".dot/file.rs", "foo\n"),
        ]);
        if repository {
            fs::create_dir_all(case.path(".git/info")).unwrap();
            fs::write(case.path(".git/info/exclude"), "secret.txt\n*.orig\n").unwrap();
        }
        words(
            &case,
            &[
                "a.log",
                "b.log",
                "keep.log",
                "build/a.rs",
                "src/build/a.rs",
                "tmp",
                "src/tmp/x.rs",
                "#hash",
                "trailing ",
                "spaces",
                "doc/a.txt",
                "doc/in/a.txt",
                "deep/x",
                "x/deep/x/y.rs",
                "a/z",
                "a/b/c/z",
                "n1.c",
                "na.c",
                "src/a.rs",
                "src/b.py",
                "src/in/a.rs",
                "src/in/c.py",
                "docs/top.md",
                "docs/in/top.md",
                "docs/sub/keep.md",
                "docs/sub/x.md",
                "nested/a.md",
                "nested/b.log",
                "nested/x/c.log",
                "hidden/a.rs",
                "secret.txt",
                "x/a.orig",
                "top.txt",
                "src/x.ts",
                "z.md",
            ],
        );
        check_tree(&case);
    }
}

#[test]
fn a_repository_is_not_ruled_from_above() {
    let case = case(&[(".gitignore", "*\n"), (".ignore", "*.py\n"), ("in/.git/HEAD", "")]);
    words(&case, &["a.rs", "in/a.rs", "in/b.py", "in/deep/c.rs"]);
    let inner =
        Case { folder: tempfile::tempdir_in(case.folder.path()).unwrap(), vfs: case.vfs.clone() };
    fs::create_dir(inner.path(".git")).unwrap();
    words(&inner, &["a.rs", "b.py", "deep/c.rs"]);
    check_tree(&inner);
    assert_eq!(our_files(&inner, &[], |_| ()).unwrap().len(), 2);
    check_tree(&case);
}

#[test]
fn encodings_line_ends_and_long_lines() {
    let case = case(&[(".git/HEAD", "")]);
    let wide = |text: &str, big: bool| -> Vec<u8> {
        let mark = std::iter::once(0xFEFF).chain(text.encode_utf16());
        mark.flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
    };
    let long = format!("{}foo{}\nbar\n", "x".repeat(7_000), "y".repeat(7_000));
    let files: [(&str, Vec<u8>); 13] = [
        ("le.txt", wide("foo\nbar é\nxx foo\n", false)),
        ("be.rs", wide("é\r\nfoo bar\r\n", true)),
        ("bom.txt", b"\xEF\xBB\xBFfoo\nbar\n".to_vec()),
        ("crlf.py", b"foo\r\n\r\nbar\r\n".to_vec()),
        ("mixed.md", b"foo\r\nfoo\nbar\rfoo\n".to_vec()),
        ("open-ended.c", b"bar\nfoo".to_vec()),
        ("empty", Vec::new()),
        ("one-newline", b"\n".to_vec()),
        ("early.bin", b"\0foo\nbar\n".to_vec()),
        ("image.png", b"\x89PNG\r\n\x1a\n\0\0foo\n".to_vec()),
        ("long.txt", long.into_bytes()),
        ("utf8.ts", "é foo ß\nü bar\nÉ Ü\n".into()),
        (
            "many.txt",
            (0..20_000)
                .map(|n| format!("line {n} foo {}\n", n % 7))
                .collect::<String>()
                .into_bytes(),
        ),
    ];
    for (name, bytes) in files {
        fs::write(case.path(name), bytes).unwrap();
    }
    check_tree(&case);
}

#[test]
fn a_file_that_turns_binary_is_found_by_what_comes_before_and_not_counted() {
    let case = case(&[("a.txt", "foo\n")]);
    fs::write(case.path("late.bin"), [b"foo\n".as_slice(), &b"x\n".repeat(50_000), b"\0"].concat())
        .unwrap();
    let huge = [b"foo\n".as_slice(), &b"line\n".repeat(2_000_000), b"\0\n"].concat();
    fs::write(case.path("later.bin"), huge).unwrap();
    let query = case.with("foo", |query| query.mode = GrepMode::Count);
    let theirs = rg_hits(case.folder.path(), &["--count-matches", "-e", "foo"]).unwrap();
    assert_eq!(readable(&our_hits(&case, &query).unwrap()), readable(&theirs));
    for (mode, args) in
        [(GrepMode::Lines, ["-n", "-e", "foo"]), (GrepMode::Files, ["-l", "-e", "foo"])]
    {
        let ours = case.names(&case.with("foo", |query| query.mode = mode));
        assert_eq!(ours, ["a.txt", "late.bin", "later.bin"]);
        let theirs = rg(case.folder.path(), &args).unwrap();
        let theirs = String::from_utf8_lossy(&theirs);
        assert!(ours.iter().all(|name| theirs.contains(name.as_str())), "{theirs}");
    }
}

#[test]
fn odd_names_links_loops_pipes_and_devices() {
    use std::os::unix::fs::symlink;
    let case = case(&[("a.rs", "foo\n"), ("real/b.rs", "foo\n")]);
    words(
        &case,
        &[
            " lead.rs",
            "new\nline.rs",
            "-dash.rs",
            "tab\t.py",
            "quote\".md",
            "é ü.txt",
            "[x].rs",
            "{a,b}.py",
            "*.c",
            "a\\b.ts",
            "!not",
            "#x",
        ],
    );
    let odd = case.folder.path().join(OsStr::from_bytes(b"inv\xFFalid.rs"));
    fs::write(odd, "foo\n").unwrap();
    symlink(".", case.path("loop")).unwrap();
    symlink("../real", case.path("real/up")).unwrap();
    symlink("a.rs", case.path("link.rs")).unwrap();
    symlink("nowhere", case.path("broken.rs")).unwrap();
    symlink("/dev/zero", case.path("zero.rs")).unwrap();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mkfifoat(rustix::fs::CWD, case.path("pipe.rs"), mode).unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(case.path("socket.rs")).unwrap();
    // Printed names that hold line ends cannot be told apart line by line; names are compared as they are.
    let root = case.folder.path();
    assert_eq!(our_files(&case, &[], |_| ()).unwrap(), rg_files(root, &[]).unwrap());
    fs::remove_file(case.path("new\nline.rs")).unwrap();
    check_tree(&case);
    for name in ["[x].rs", "{a,b}.py", "-dash.rs", " lead.rs"] {
        assert!(our_files(&case, &[name], |_| ()).unwrap().contains(name.as_bytes()), "{name}");
    }
}

#[test]
fn globs_mean_what_rg_says() {
    let case = case(&[]);
    words(
        &case,
        &[
            "a.txt",
            "b.TXT",
            "foo",
            "foo.rs",
            "foobar",
            "bar/foo",
            "bar/baz/foo",
            "foo2/x",
            "foo2/y/x",
            ".hid",
            "d/.hid/e",
            "sub/foo.rs",
            "sub/[a]/x.ts",
            "lib/a-b",
            "lib/a_b",
            "lib/aXb",
            "src/a.ts",
            "src/a.tsx",
            "src/in/b.ts",
            "z/\\x",
            "z/*",
            "z/?",
            "z/{}",
            "ab,c",
        ],
    );
    let globs = [
        "*",
        "**",
        "**/*",
        "*.txt",
        "*.rs",
        "foo",
        "foo*",
        "*foo",
        "fo?",
        "f[o]o",
        "f[!x]o",
        "f[^x]o",
        "[a-f]*",
        "[!a-f]*",
        "bar/*",
        "bar/**",
        "**/foo",
        "/foo",
        "/*/foo",
        "bar/**/foo",
        "bar/*/foo",
        "foo2/**/x",
        "**/y/**",
        ".*",
        "**/.*",
        "d/**",
        "*.{rs,txt}",
        "{a,b}*",
        "{foo,bar/foo}",
        "src/*.{ts,tsx}",
        "src/**/*.{ts,tsx}",
        "{src,lib}/**",
        "lib/a[-_]b",
        "lib/a[_-]b",
        "lib/a[a-zA-Z]b",
        "z/\\*",
        "z/\\?",
        "z/\\{\\}",
        "z/\\\\x",
        "ab\\,c",
        "sub/\\[a\\]/*",
        "!foo",
        "!*.rs",
        "!bar",
        "!bar/**",
        "x",
        "**/**",
        "a**",
        "**a",
        "f**o",
        "*/",
        "[]a]*",
        "[]-]*",
        "[a-]*",
        "{}",
        "{,a}.txt",
        "***",
        "s*c/*",
    ];
    for glob in globs {
        let theirs = rg_files(case.folder.path(), &["--no-ignore", "-g", glob]);
        let ours = our_files(&case, &[glob], |query| query.include_ignored = true);
        let shown =
            |it: BTreeSet<Vec<u8>>| readable(&it.into_iter().map(|path| (path, ())).collect());
        // A folder's name with a slash at the end means all in it here, and nothing to `rg`.
        if !glob.ends_with('/') {
            assert_eq!(ours.ok().map(shown), theirs.map(shown), "{glob}");
        }
    }
    // Later than the `rg` that is asked here.
    let nested =
        our_files(&case, &["{src/{in,out},lib}/a[-_]*", "src/{a,in/{b,c}}.ts"], |_| ()).unwrap();
    let nested: Vec<_> = nested.iter().map(|it| String::from_utf8_lossy(it)).collect();
    assert_eq!(nested, ["lib/a-b", "lib/a_b", "src/a.ts", "src/in/b.ts"]);
    for glob in ["[", "{a", "[z-a]", "a[", "{a,b", "\\"] {
        assert!(our_files(&case, &[glob], |_| ()).is_err(), "{glob}");
    }
}

#[test]
fn this_project_itself() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap();
    let folder = case(&[]).folder;
    let vfs = case(&[]).vfs;
    // Others may be at work in it, so a difference must show twice.
    let _ = folder;
    let ask = |text: &str| {
        let mut query = GrepQuery::default();
        query.pattern.text = text.to_owned();
        query.scope.paths = vec![root.join("server"), root.join("docs")];
        query.limits.bytes = usize::MAX;
        let result = vfs.grep(&query, &|| false).unwrap();
        let lines = |file: &GrepFile| {
            let path = below(root, &file.location);
            file.lines.iter().map(|line| (path.clone(), line.number)).collect::<Vec<_>>()
        };
        result.files.iter().flat_map(lines).collect::<Hits>()
    };
    for text in ["fn \\w+\\(", "struct|enum", "^use ", "unsafe", "é", "\\bVfs\\b", "\\}$"] {
        let crlf = if text.contains('$') { "--crlf" } else { "--no-crlf" };
        let same = (0..5).any(|_| {
            let theirs = rg_hits(root, &["-n", crlf, "-e", text, "server", "docs"]).unwrap();
            ask(text) == theirs
        });
        assert!(same, "{text}");
    }
}

/// As git has it; the `rg` asked here takes a folder's end for any other character.
#[test]
fn a_class_never_means_the_end_of_a_folder() {
    let case = case(&[
        (".gitignore", "a[!b]c\nd[+-0]e\n"),
        ("a/c", ""),
        ("axc", ""),
        ("d/e", ""),
        ("d.e", ""),
    ]);
    assert_eq!(case.glob(&["**"]), [".gitignore", "a/c", "d/e"]);
}

fn ignore_lines() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[abc]{1,2}",
        2 => Just("*".to_owned()),
        1 => Just("**".to_owned()),
        1 => Just("?".to_owned()),
        1 => Just("[ab]".to_owned()),
        3 => Just("/".to_owned()),
        1 => Just(".rs".to_owned()),
        1 => Just("\\".to_owned()),
        1 => Just(" ".to_owned()),
        1 => Just("{a,b}".to_owned()),
    ];
    let line = ("!?/?", prop::collection::vec(piece, 1..5), "/?")
        .prop_map(|(start, pieces, end)| format!("{start}{}{end}", pieces.concat()));
    // A mark with nothing behind it is no rule for git and for us; `rg` up to 15.0 takes it for one that matches all.
    let is_rule = |line: &String| !matches!(line.trim_end_matches(' '), "!" | "/" | "!/");
    let line = prop_oneof![9 => line, 1 => "[ -Z\\]-~]{0,8}"].prop_filter("a bare mark", is_rule);
    prop::collection::vec(line, 0..5).prop_map(|lines| lines.join("\n"))
}

fn patterns() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        5 => "[abc ]{1,2}",
        1 => "[é\\-#,<>=!:]",
        1 => Just(".".to_owned()),
        1 => Just("\\w".to_owned()),
        1 => Just("\\b".to_owned()),
        1 => Just("[^a]".to_owned()),
        1 => Just("[a-c&&[^b]]".to_owned()),
        1 => Just("(a|b|)".to_owned()),
        1 => Just("^".to_owned()),
        1 => Just("(?i)".to_owned()),
        1 => Just("\\p{L}".to_owned()),
        1 => "[*+?(){}|\\[\\]\\\\]",
        1 => Just("{1,2}".to_owned()),
    ];
    prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat())
}

fn contents() -> impl Strategy<Value = String> {
    "([abcéA_\\- ]{0,6}\r?\n){0,6}[abc]{0,3}"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Any ignore files, anywhere, any pattern: nothing panics, and `rg` agrees.
    #[test]
    fn any_ignore_files_and_patterns(
        rules in prop::collection::vec((0usize..6, 0usize..3, ignore_lines()), 0..5),
        files in prop::collection::vec((0usize..6, "[abc]{1,2}(\\.rs)?", contents()), 1..14),
        repository in any::<bool>(),
        texts in prop::collection::vec(patterns(), 2),
        globs in prop::collection::vec(ignore_lines(), 2),
    ) {
        let folders = ["", "a", "b", "a/b", "a/b/c", "c"];
        let case = case(&[]);
        if repository {
            fs::create_dir(case.path(".git")).unwrap();
        }
        for (folder, name, text) in &files {
            let path = case.path(folders[*folder]).join(name);
            let _ = fs::create_dir_all(path.parent().unwrap());
            let _ = fs::write(path, text);
        }
        for (folder, kind, text) in &rules {
            let name = rules::IGNORE_FILES[*kind];
            let _ = fs::write(case.path(folders[*folder]).join(name), text);
        }
        let root = case.folder.path();
        prop_assert_eq!(our_files(&case, &[], |_| ()).unwrap(), rg_files(root, &[]).unwrap());
        for (text, ignore_case) in texts.iter().zip([false, true]) {
            let pattern = GrepPattern { ignore_case, ..pattern(text) };
            check_mode(&case, &pattern, GrepMode::Lines, |_| (), &[]);
        }
        for glob in globs.iter().flat_map(|lines| lines.lines()).filter(|glob| glob.contains(['a', 'b', 'c', '*', '?'])) {
            let theirs = rg_files(root, &["--no-ignore", "-g", glob]);
            let ours = our_files(&case, &[glob], |query| query.include_ignored = true);
            // Two slashes inside a glob are one for us.
            let ours_alone = glob.contains("//") && !glob.starts_with('!') && !glob.starts_with("//");
            if !glob.ends_with('/') && !glob.contains(['[', '{', '}']) && !ours_alone {
                prop_assert_eq!(ours.ok(), theirs, "{}", glob);
            }
        }
    }

    /// The lines around matches are those that `rg` prints, with its marks.
    #[test]
    fn any_context(
        texts in prop::collection::vec("([abc]{0,2}\n){0,12}[abc]{0,2}", 1..4),
        pattern in prop::sample::select(vec!["a", "^a", "ab|c", "b+$", "^$", "[^a]", "a\\nb", "(?s)b.c"]),
        multiline in any::<bool>(),
        before in 0usize..4,
        after in 0usize..4,
    ) {
        // `rg` finds an empty line behind the last one there, and prints what is around it, but not it.
        prop_assume!(!(multiline && pattern == "^$"));
        let case = case(&[]);
        for (at, text) in texts.iter().enumerate() {
            fs::write(case.path(&format!("{at}")), text).unwrap();
        }
        let query = case.with(pattern, |query| {
            query.pattern.multiline = multiline;
            (query.before, query.after) = (before, after);
        });
        let Ok(found) = case.vfs.grep(&query, &|| false) else { return Ok(()) };
        let row = |file: &GrepFile, line: &GrepLine| {
            let mark = if line.is_context { '-' } else { ':' };
            format!("{}\0{}{mark}{}", name(&file.location, case.folder.path()), line.number, line.text)
        };
        let rows = |file: &GrepFile| file.lines.iter().map(|line| row(file, line)).collect::<Vec<_>>();
        let ours: Vec<String> = found.files.iter().flat_map(rows).collect();
        let (before, after) = (before.to_string(), after.to_string());
        let mut args = vec!["-n", "--sort=path", "-B", &before, "-A", &after, "-e", pattern];
        if multiline {
            args.extend(["-U", "--multiline-dotall"]);
        }
        if pattern.contains('$') && !multiline {
            args.push("--crlf");
        }
        let theirs = String::from_utf8(rg(case.folder.path(), &args).unwrap()).unwrap();
        let theirs: Vec<&str> = theirs.lines().filter(|line| *line != "--").collect();
        prop_assert_eq!(ours, theirs);
    }
}

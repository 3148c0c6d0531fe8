use std::process::Command;

use super::visibility::link;
use super::*;

/// The same tree found by all that walks one, and what is said of it.
#[track_caller]
fn check(case: &Case, expected: &[&str], note: &str) {
    let query = case.query("foo");
    let result = case.grep(&query);
    assert_eq!(case.names(&query), expected);
    assert_eq!(result.notes.len(), 1, "{:?}", result.notes);
    assert!(result.notes[0].contains(note), "{:?}", result.notes);
    assert_eq!(case.glob(&["**/*.txt"]), expected);
    let tree = TreeQuery {
        root: case.folder.path().to_owned(),
        depth: 3,
        ignore: Vec::new(),
        limit: 0,
        visibility: Visibility::default(),
    };
    let tree = case.vfs.tree(&tree, &|| false).unwrap();
    let below = |node: &TreeNode| {
        let path = node.path.strip_prefix(case.folder.path()).unwrap();
        path.to_str().filter(|path| path.ends_with(".txt")).map(str::to_owned)
    };
    let shown = tree.nodes.iter().filter(|node| !node.ignored).filter_map(below);
    assert_eq!(shown.collect::<Vec<_>>(), expected);
    let list = case.vfs.lists().not_ignored(case.folder.path(), &|| false).unwrap();
    let names = list.files.iter().map(|path| name(&Location::disk(path), case.folder.path()));
    assert_eq!(names.filter(|name| name.ends_with(".txt")).collect::<Vec<_>>(), expected);
}

fn tree() -> Case {
    case(&[
        (".git/info/attributes", ""),
        ("a.txt", "foo"),
        ("sub/b.txt", "foo"),
        ("sub/skip/c.txt", "foo"),
        ("sub/skip/.gitignore", "c.txt"),
    ])
}

const ALL: [&str; 2] = ["a.txt", "sub/b.txt"];

#[test]
fn a_pipe_in_place_of_an_ignore_file_is_not_waited_for() {
    for place in
        [".gitignore", ".ignore", "sub/.ignore", "sub/.gitignore", ".rgignore", ".git/info/exclude"]
    {
        let case = tree();
        let made = Command::new("mkfifo").arg(case.path(place)).status().unwrap();
        assert!(made.success());
        check(&case, &ALL, "it is a named pipe");
    }
}

#[test]
fn an_ignore_file_without_end_is_not_read() {
    let case = tree();
    std::os::unix::fs::symlink("/dev/zero", case.path("sub/.gitignore")).unwrap();
    check(&case, &ALL, "it is a device");
}

#[test]
fn a_huge_ignore_file_is_not_read_and_a_long_line_in_one_matches_nothing() {
    let case = tree();
    fs::write(case.path(".gitignore"), "*".repeat(2 << 20)).unwrap();
    check(&case, &ALL, "larger than 1 MB");
    let long = format!("{}\nb.txt\n", "*".repeat(100_000));
    fs::write(case.path(".gitignore"), long).unwrap();
    assert_eq!(case.glob(&["**/*.txt"]), ["a.txt"]);
}

#[test]
fn rules_are_read_through_links_and_of_bytes_that_are_no_text() {
    let case = case(&[("rules", ""), ("a.txt", "foo"), ("b.txt", "foo"), ("c.txt", "foo")]);
    link(&case, "rules", ".ignore");
    fs::write(case.path("rules"), b"\xEF\xBB\xBFa.txt\r\n\xFF\xFE*\nb.txt").unwrap();
    assert_eq!(case.names(&case.query("foo")), ["c.txt"]);
}

#[test]
fn nearer_and_stronger_rules_win() {
    let case = case(&[
        (".git/x", ""),
        (".git/info/exclude", "excluded\n"),
        (".gitignore", "a\nb\n!excluded/keep\n"),
        (".ignore", "!b\nsub/d\n"),
        ("a", "foo"),
        ("b", "foo"),
        ("excluded", "foo"),
        ("sub/.gitignore", "!a\n"),
        ("sub/a", "foo"),
        ("sub/d", "foo"),
        ("sub/.rgignore", "!d\n"),
        ("inner/.git/x", ""),
        ("inner/a", "foo"),
        ("inner/excluded", "foo"),
    ]);
    assert_eq!(
        case.names(&case.query("foo")),
        ["b", "inner/a", "inner/excluded", "sub/a", "sub/d"]
    );
    assert_eq!(case.names(&case.at(&["sub"], "foo")), ["sub/a", "sub/d"]);
}

#[test]
fn of_many_rules_in_a_file_the_last_one_still_wins() {
    let case = case(&[("a1b", ""), ("a2b", ""), ("a3b", ""), ("d/a4b", ""), ("keep/a5b", "")]);
    let many = |name: &str| (0..200).map(|at| format!("{name}?{at}*\n")).collect::<String>();
    let rules = format!("a?b\n{}!a2?\n{}!d\n!a[3-4]b\n{}a3*\n", many("x"), many("y"), many("z"));
    fs::write(case.path(".ignore"), rules).unwrap();
    assert_eq!(case.glob(&["a*"]), ["a2b", "d/a4b"]);
}

#[test]
fn rules_without_end_are_read_to_a_limit() {
    let case =
        case(&[("a.txt", "foo"), ("x1-y1", ""), ("sub/b.txt", "foo"), ("sub/skip/c.txt", "")]);
    let many: String = (0..12_000).map(|at| format!("x{at}*y{at}\n")).collect();
    fs::write(case.path(".gitignore"), format!("skip\n{many}b.txt\n")).unwrap();
    check(&case, &ALL, ".gitignore was read to line 10001 only: it has too many rules");
    assert!(case.glob(&["x*"]).is_empty());
}

#[test]
fn a_search_takes_so_many_globs_and_no_more() {
    let case = case(&[("x1-y1", "foo")]);
    let globs = |count: usize| {
        let globs = (0..count).map(|at| format!("x{at}*y{at}")).collect();
        case.with("foo", |query| query.scope.globs = globs)
    };
    assert_eq!(case.names(&globs(100)), ["x1-y1"]);
    let refused = case.vfs.grep(&globs(101), &|| false).unwrap_err();
    assert_eq!(refused, QueryError::TooManyGlobs { max: 100 });
}

use super::*;

/// A link `name` to `target`, both below the folder.
pub(super) fn link(case: &Case, target: &str, name: &str) {
    std::os::unix::fs::symlink(target, case.path(name)).unwrap();
}

fn globs(case: &Case, query: GlobQuery) -> (Vec<String>, GlobResult) {
    let result = case.vfs.glob(&query, &|| false).unwrap();
    (result.hits.iter().map(|hit| name(&hit.location, case.folder.path())).collect(), result)
}

#[test]
fn secrets_stay_hidden_below_a_folder_reached_by_a_link() {
    let case =
        case(&[(".kube/config", "foo"), (".kube/notes", "foo"), (".docker/config.json", "foo")]);
    link(&case, ".kube", "ku");
    link(&case, ".docker", "dk");
    for (folder, shown) in
        [("ku", vec!["ku/notes"]), ("dk", vec![]), (".kube", vec![".kube/notes"])]
    {
        let query = case.at(&[folder], "foo");
        let result = case.grep(&query);
        assert_eq!(
            (case.names(&query), result.sensitive),
            (shown.iter().map(|it| it.to_string()).collect(), 1)
        );
        let query = GlobQuery { root: case.path(folder), ..GlobQuery::default() };
        let (names, result) = globs(&case, query);
        assert_eq!((names, result.sensitive), (shown.iter().map(|it| it.to_string()).collect(), 1));
    }
    let named = GlobQuery {
        patterns: vec!["ku/config".into()],
        root: case.folder.path().to_owned(),
        ..GlobQuery::default()
    };
    let (names, result) = globs(&case, named);
    assert_eq!((names, result.sensitive), (vec![], 1));
    let real = case.path(".kube/config").canonicalize().unwrap();
    let mut allowed = case.at(&["ku"], "foo");
    allowed.scope.visibility = Visibility::default().allowing(move |path| path == real);
    assert_eq!(case.names(&allowed), ["ku/config", "ku/notes"]);
}

#[test]
fn unsaved_text_is_found_below_a_folder_reached_by_a_link() {
    let case = case(&[("d/a.txt", "old\n"), ("d/sub/b.txt", "old\n")]);
    link(&case, "d", "ld");
    case.open("d/a.txt", "new and longer\n");
    case.open("d/sub/unborn.txt", "new\n");
    assert_eq!(
        case.lines(&case.at(&["ld"], "new")),
        ["ld/a.txt:1:new and longer", "ld/sub/unborn.txt:1:new"]
    );
    assert_eq!(case.names(&case.at(&["ld"], "old")), ["ld/sub/b.txt"]);
    let (names, _) = globs(
        &case,
        GlobQuery { root: case.path("ld"), order: Order::Path, ..GlobQuery::default() },
    );
    assert_eq!(names, ["ld/a.txt", "ld/sub/b.txt", "ld/sub/unborn.txt"]);
    let tree = TreeQuery {
        root: case.path("ld"),
        depth: 3,
        ignore: Vec::new(),
        limit: 0,
        visibility: Visibility::default(),
    };
    let tree = case.vfs.tree(&tree, &|| false).unwrap();
    let nodes: Vec<_> =
        tree.nodes.iter().map(|node| (node.name.as_str(), node.len, node.unsaved)).collect();
    assert_eq!(
        nodes,
        [("a.txt", 15, true), ("sub", 0, false), ("b.txt", 4, false), ("unborn.txt", 4, true)]
    );
}

/// Denies what lies in `aaa`, wherever that is reached.
fn without_aaa(case: &Case) -> Visibility {
    let folder = case.path("aaa").canonicalize().unwrap();
    Visibility::default().denying(move |path| path != folder && path.starts_with(&folder))
}

#[test]
fn nothing_is_told_of_a_denied_file_but_that_there_are_some() {
    let many = "password=hit\n".repeat(1_000);
    let case =
        case(&[("aaa/s.txt", &many), ("aaa/deep/.env", "password=hit"), ("zzz/z.txt", "hit")]);
    link(&case, "aaa", "la");
    case.open("aaa/deep/unborn.txt", "password=hit");
    for pattern in ["password=h", "password=x", "hit"] {
        for mode in [GrepMode::Lines, GrepMode::Files, GrepMode::Count] {
            let query = case.with(pattern, |query| {
                query.mode = mode;
                query.limits.matches = 10;
                query.scope.visibility = without_aaa(&case);
            });
            let result = case.grep(&query);
            let expected: &[&str] = if pattern == "hit" { &["zzz/z.txt"] } else { &[] };
            assert_eq!(case.names(&query), expected);
            assert_eq!((result.denied, result.sensitive, result.truncated), (3, 0, false));
            assert_eq!(result.matches, expected.len() as u64);
        }
    }
    for (root, patterns) in [
        (".", vec!["aaa/s.txt"]),
        (".", vec!["aaa/no.txt"]),
        (".", vec!["**/*.tx?"]),
        ("la", vec![]),
    ] {
        let query = GlobQuery {
            patterns: patterns.iter().map(|it| it.to_string()).collect(),
            root: case.path(root),
            include_dirs: true,
            visibility: without_aaa(&case),
            ..GlobQuery::default()
        };
        let (names, result) = globs(&case, query);
        let expected: &[&str] = if patterns == ["**/*.tx?"] { &["zzz/z.txt"] } else { &[] };
        assert_eq!(names, expected, "{patterns:?}");
        assert_eq!((result.denied, result.sensitive), (3, 0), "{patterns:?}");
    }
    for root in ["aaa", "la"] {
        let tree = TreeQuery {
            root: case.path(root),
            depth: 3,
            ignore: Vec::new(),
            limit: 0,
            visibility: without_aaa(&case),
        };
        let tree = case.vfs.tree(&tree, &|| false).unwrap();
        assert_eq!((tree.nodes, tree.denied), (vec![], true));
    }
}

#[test]
fn denied_files_are_neither_counted_in_their_folder_nor_suggested() {
    let case = case(&[("aaa/s.txt", "")]);
    let tree = TreeQuery {
        root: case.folder.path().to_owned(),
        depth: 1,
        ignore: Vec::new(),
        limit: 0,
        visibility: without_aaa(&case),
    };
    let tree = case.vfs.tree(&tree, &|| false).unwrap();
    assert_eq!(tree.nodes[0].collapsed, Some(0));
    let error = case.vfs.grep(&case.at(&["aaa/t.txt"], "x"), &|| false).unwrap_err();
    assert!(error.to_string().contains("s.txt"));
    let error = error.without(&|path| path.starts_with(case.path("aaa")));
    assert_eq!(error.to_string(), format!("{} does not exist", case.path("aaa/t.txt").display()));
    let error = case.vfs.snapshot(&Location::disk(case.path("aaa/t.txt"))).unwrap_err();
    let error = error.without(|path| path.starts_with(case.path("aaa")));
    assert!(!error.to_string().contains("s.txt"));
}

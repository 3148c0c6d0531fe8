use super::visibility::link;
use super::*;

const NOTEBOOK: &str = r#"{"cells": [{"source": "old text"}]}"#;

/// Opens a cell of a notebook below the folder.
fn cell(case: &Case, notebook: &str, number: usize, text: &str) -> String {
    let path = case.path(notebook).display().to_string().replace(' ', "%20");
    let name = format!("vscode-notebook-cell:{path}#W{number}sZmlsZQ%3D%3D");
    case.vfs.open(Location::Virtual(name.clone()), "python", 1, text);
    name
}

fn found(case: &Case, query: &GrepQuery) -> Vec<String> {
    case.grep(query).files.iter().map(|it| name(&it.location, case.folder.path())).collect()
}

#[test]
fn cells_are_searched_in_place_of_the_notebook_they_are_in() {
    let case = case(&[("d/a b.ipynb", NOTEBOOK), ("d/x.txt", "new text")]);
    link(&case, "d", "ld");
    let cells: Vec<String> =
        [0, 2, 10].map(|it| cell(&case, "d/a b.ipynb", it, "a new text\n")).to_vec();
    let lines = |change: &dyn Fn(&mut GrepQuery)| {
        found(&case, &case.with("new text", |query| change(query)))
    };
    let with_text = [cells.clone(), vec!["d/x.txt".to_owned()]].concat();
    assert_eq!(lines(&|_| ()), with_text);
    assert_eq!(lines(&|query| query.scope.include_virtual = false), with_text);
    assert_eq!(lines(&|query| query.scope.globs = vec!["*.ipynb".into()]), cells);
    assert_eq!(lines(&|query| query.scope.types = vec!["jupyter".into()]), cells);
    assert_eq!(lines(&|query| query.scope.types = vec!["py".into()]), [""; 0]);
    assert_eq!(lines(&|query| query.scope.paths = vec![case.path("d/a b.ipynb")]), cells);
    assert_eq!(
        lines(&|query| query.scope.paths = vec![case.path("ld")]),
        [cells.clone(), vec!["ld/x.txt".to_owned()]].concat()
    );
    assert_eq!(found(&case, &case.query("old text")), [""; 0]);
    let counted = case.with("new", |query| query.mode = GrepMode::Count);
    let counted = case.grep(&counted).files;
    assert_eq!((counted.len(), counted[0].matches), (2, 3));
    assert_eq!(counted[0].location, Location::disk(case.path("d/a b.ipynb")));
    let denied = case.with("new", |query| {
        query.scope.visibility = Visibility::default().denying(|path| path.ends_with("a b.ipynb"));
    });
    assert_eq!(found(&case, &denied), ["d/x.txt"]);
}

#[test]
fn documents_without_a_path_are_found_by_name_and_by_what_they_are_written_in() {
    let case = case(&[("a.py", "foo")]);
    case.vfs.open(Location::Virtual("untitled:Untitled-1".into()), "python", 1, "foo");
    case.vfs.open(Location::Virtual("untitled:Untitled-2".into()), "rust", 1, "foo");
    let of_type = |types: &[&str]| {
        let types = types.iter().map(|it| it.to_string()).collect();
        found(&case, &case.with("foo", |query| query.scope.types = types))
    };
    assert_eq!(of_type(&["py"]), ["a.py", "untitled:Untitled-1"]);
    assert_eq!(of_type(&["rust"]), ["untitled:Untitled-2"]);
    let globs = |pattern: &str, include_virtual| {
        let query = GlobQuery {
            patterns: vec![pattern.to_owned()],
            root: case.folder.path().to_owned(),
            order: Order::Path,
            include_virtual,
            ..GlobQuery::default()
        };
        let result = case.vfs.glob(&query, &|| false).unwrap();
        assert_eq!(result.total, result.hits.len());
        result.hits.iter().map(|it| name(&it.location, case.folder.path())).collect::<Vec<_>>()
    };
    assert_eq!(globs("*", true), ["a.py", "untitled:Untitled-1", "untitled:Untitled-2"]);
    assert_eq!(globs("Untitled-[2]", true), ["untitled:Untitled-2"]);
    assert_eq!(globs("*.py", true), ["a.py"]);
    assert_eq!(globs("*", false), ["a.py"]);
}

#[test]
fn doubled_slashes_in_a_glob_mean_one() {
    let case = case(&[("sub/b.txt", "foo"), ("b.txt", "foo")]);
    let query = case.with("foo", |query| query.scope.globs = vec!["sub//b.txt".into()]);
    assert_eq!(case.names(&query), ["sub/b.txt"]);
}

#[test]
fn folders_that_only_hold_new_files_are_found_too() {
    let case = case(&[("d/a", ""), (".gitignore", "skip\n")]);
    for name in ["new/deep/n.txt", "new/m.txt", "d/b", "skip/x", "gone/.env"] {
        case.open(name, "text");
    }
    let found = |pattern: &str, root: &str, visibility: Visibility| {
        let query = GlobQuery {
            patterns: vec![pattern.into()],
            root: case.path(root),
            include_dirs: true,
            order: Order::Path,
            visibility,
            ..GlobQuery::default()
        };
        let result = case.vfs.glob(&query, &|| false).unwrap();
        let hit = |hit: &GlobHit| {
            assert!(hit.modified != SystemTime::UNIX_EPOCH);
            let end = if hit.is_dir { "/" } else { "" };
            format!("{}{end}", name(&hit.location, case.folder.path()))
        };
        result.hits.iter().map(hit).collect::<Vec<_>>()
    };
    let all = Visibility::default;
    assert_eq!(
        found("**", ".", all()),
        [".gitignore", "d/", "d/a", "d/b", "new/", "new/deep/", "new/deep/n.txt", "new/m.txt"]
    );
    assert_eq!(found("new", ".", all()), ["new/"]);
    assert_eq!(found("deep", "new", all()), ["new/deep/"]);
    let denied = case.path("new/deep");
    let without = all().denying(move |path| path.starts_with(&denied));
    assert_eq!(found("new/**", ".", without), ["new/m.txt"]);
}

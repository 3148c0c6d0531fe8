use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;

use super::*;

struct Case {
    _folder: tempfile::TempDir,
    base: PathBuf,
    roots: Roots,
}

/// `base/ws` is the root; `base/out` lies beside it; `ws/in` and `ws/away` are links.
fn case() -> Case {
    let folder = tempfile::tempdir().unwrap();
    let base = fs::canonicalize(folder.path()).unwrap();
    fs::create_dir_all(base.join("ws/src")).unwrap();
    fs::create_dir_all(base.join("out")).unwrap();
    symlink("src", base.join("ws/in")).unwrap();
    symlink("../out", base.join("ws/away")).unwrap();
    symlink("nowhere", base.join("ws/dangling")).unwrap();
    symlink(base.join("ws"), base.join("alias")).unwrap();
    Case { roots: Roots::new([base.join("ws")]), base, _folder: folder }
}

#[track_caller]
fn check(input: &str, location: &str, real: &str, expected: (bool, bool)) {
    let case = case();
    let found = case.roots.resolve(&case.base.join("ws/src"), input);
    assert_eq!(found.location, Location::Disk(case.base.join(location)));
    assert_eq!(found.real, case.base.join(real));
    assert_eq!((found.inside, found.via_symlink), expected);
}

#[test]
fn paths_are_judged_by_where_they_lead() {
    check("a.rs", "ws/src/a.rs", "ws/src/a.rs", (true, false));
    check("../b", "ws/b", "ws/b", (true, false));
    check("../../out/x", "out/x", "out/x", (false, false));
    check("../in/new.rs", "ws/in/new.rs", "ws/src/new.rs", (true, true));
    check("../away/x/y", "ws/away/x/y", "out/x/y", (false, true));
    check("../dangling", "ws/dangling", "ws/nowhere", (true, true));
}

#[test]
fn a_workspace_opened_through_a_link_is_no_detour() {
    let case = case();
    let roots = Roots::new([case.base.join("alias")]);
    let found = roots.resolve(&case.base.join("alias"), "src/a.rs");
    assert!(found.inside && !found.via_symlink);
    let found = roots.resolve(&case.base.join("alias"), "away/a.rs");
    assert!(!found.inside && found.via_symlink);
}

#[test]
fn homes_and_editor_names_are_known() {
    let case = case();
    let home = std::env::home_dir().unwrap();
    assert_eq!(case.roots.resolve(&case.base, "~/x").location, Location::Disk(home.join("x")));
    let found = case.roots.resolve(&case.base, "untitled:Untitled-1");
    assert_eq!(found.location, Location::Virtual("untitled:Untitled-1".to_owned()));
    assert!(found.inside);
}

#[test]
fn links_in_a_circle_end() {
    let case = case();
    symlink("b", case.base.join("ws/a")).unwrap();
    symlink("a", case.base.join("ws/b")).unwrap();
    assert!(case.roots.resolve(&case.base.join("ws"), "a").real.starts_with(&case.base));
}

#[test]
fn paths_are_shown_from_their_root() {
    let case = case();
    assert_eq!(case.roots.display(&case.base.join("ws/src/a.rs")), "src/a.rs");
    assert_eq!(case.roots.display(&case.base.join("ws")), ".");
    assert_eq!(case.roots.display(Path::new("/etc/hosts")), "/etc/hosts");
}

#[test]
fn a_name_that_is_no_text_is_found_as_it_is_shown() {
    let case = case();
    let ws = case.base.join("ws");
    let odd = |bytes: &[u8]| ws.join(OsStr::from_bytes(bytes));
    fs::create_dir(odd(b"d\xFF")).unwrap();
    fs::write(odd(b"d\xFF/in\xFEv.txt"), "").unwrap();
    fs::write(odd(b"x\xFE"), "").unwrap();
    fs::write(odd(b"x\xFF"), "").unwrap();
    fs::write(ws.join("y\u{FFFD}"), "").unwrap();
    fs::write(odd(b"y\xFF"), "").unwrap();
    let means = |input: &str| match case.roots.resolve(&ws, input).location {
        Location::Disk(path) => path,
        Location::Virtual(name) => panic!("{name}"),
    };
    assert_eq!(means("d\u{FFFD}/in\u{FFFD}v.txt"), odd(b"d\xFF/in\xFEv.txt"));
    assert_eq!(means("src/../d\u{FFFD}/new\u{FFFD}"), odd(b"d\xFF/new\xEF\xBF\xBD"));
    // One that is spelled so goes first; of several none is meant.
    assert_eq!(means("y\u{FFFD}"), ws.join("y\u{FFFD}"));
    assert_eq!(means("x\u{FFFD}"), ws.join("x\u{FFFD}"));
    assert_eq!(shown_alike(&ws.join("x\u{FFFD}")).len(), 2);
    assert_eq!(shown_alike(&ws.join("src")).len(), 0);
}

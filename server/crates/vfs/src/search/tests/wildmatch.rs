//! The same rule to git and to us: what it ignores of a table of paths.

use std::io::Write;
use std::process::{Command, Stdio};

use super::super::ignoring::Ignoring;
use super::*;

/// Stars, question marks, classes, escapes, folders, and what is none of them.
const RULES: &[&str] = &[
    // Names.
    "foo",
    "bar",
    "*",
    "f*",
    "*f",
    "*foo*",
    "?",
    "??",
    "???",
    "f??",
    "*o*b*r*",
    "*ab",
    "*aab",
    "a*b*c*d*e",
    "-*-*-*-12-*-m-*",
    "-*-*-*-12-*-n-*",
    "*.txt",
    "*.*",
    "a.*.c",
    "**",
    "***",
    "f**o",
    "**oo",
    "fo**",
    // Escapes.
    "foo\\*",
    "foo\\*bar",
    "f\\\\oo",
    "\\foo",
    "\\**",
    "*\\",
    "\\",
    "\\#a",
    "#a",
    "\\!a",
    "!a",
    "a\\ ",
    "a ",
    "\\?",
    // Classes.
    "[f]oo",
    "[fb]oo",
    "[!f]oo",
    "[^f]oo",
    "[a-g]oo",
    "[!a-e]oo",
    "t[a-g]n",
    "t[!a-g]n",
    "t[^a-g]n",
    "a[]]b",
    "a[]-]b",
    "a[]a-]b",
    "a[!]a-]b",
    "]",
    "[]]",
    "[a-]",
    "[-b]",
    "[!-]",
    "[+--]",
    "[a-c]b*",
    "[,-.]",
    "[a",
    "[",
    "[]",
    "[!",
    "x[y-",
    "[z-a]",
    "*[al]?",
    "**[!te]",
    "[0-9]*",
    "[*]",
    "[?]",
    "[a\\-c]",
    "[\\\\]",
    "[[:digit:]]*",
    // Folders.
    "foo/bar",
    "/foo",
    "/bar",
    "foo/*",
    "foo/**",
    "foo/*/bar",
    "foo/**/bar",
    "foo/**/**/bar",
    "foo**bar",
    "foo/?",
    "foo?bar",
    "foo[/]bar",
    "foo[!x]bar",
    "f[^eiu][^eiu][^eiu]ar",
    "**/foo",
    "*/foo",
    "/*/foo",
    "**/bar*",
    "**/bar/*",
    "**/bar/**",
    "*/bar/**",
    "**/bar/*/*",
    "*/*/*",
    "*/*",
    "/*/*/*/*",
    "**/*a*b*",
    "**/b/**/d",
    "a/**/d",
    "a/**",
    "**/d",
    "a/*/*/d",
    "/a/",
    "b/",
    "a/b/",
    "**/b/",
    "foo/",
    "/foo/",
    "a//b",
    "/**",
    "/**/",
    "**/",
    "./foo",
    "a/.",
    "foo/**/",
    "*/",
    "/*/",
    "deep/*er",
    "d*p/",
    "**/er",
];

const PATHS: &[&str] = &[
    "foo",
    "bar",
    "f",
    "o",
    "fo",
    "fooo",
    "foobar",
    "foo.txt",
    ".txt",
    "a.b.c",
    "a.c",
    "aaaaabababab",
    "abcde",
    "aXbXcXdXe",
    "-a-b-c-12-d-m-e",
    "foo*",
    "foo*bar",
    "f\\oo",
    "\\",
    "*",
    "**",
    "?",
    "#a",
    "!a",
    "a",
    "a ",
    "boo",
    "goo",
    "zoo",
    "ten",
    "tin",
    "ton",
    "a]b",
    "a-b",
    "aab",
    "]",
    "-",
    "+",
    ",",
    ".x",
    "b",
    "cbx",
    "[",
    "[a",
    "[]",
    "[!",
    "x[y-",
    "ball",
    "bald",
    "7up",
    "a\\",
    "a-c",
    "foo/bar",
    "foo/baz/bar",
    "foo/b/a/z/bar",
    "foo-bar",
    "fooXbar",
    "bar/foo",
    "bar/baz/foo",
    "x/bar/y",
    "x/bar/y/z",
    "x/barn",
    "a/b",
    "a/b/c",
    "a/b/c/d",
    "a/d",
    "a/c/d",
    "b/d",
    "c/a/b/d",
    "deep/er",
    "deep/deeper/x",
    ".hidden/foo",
    "a/.x",
    "foo/.x",
    "é",
    "éa/foo",
];

/// What git ignores by one rule at the root.
fn by_git(case: &Case) -> Vec<&'static str> {
    let mut command = Command::new("git");
    command.args([
        "-c",
        "core.excludesFile=/dev/null",
        "check-ignore",
        "--no-index",
        "-z",
        "--stdin",
    ]);
    command.current_dir(case.folder.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut git = command.spawn().unwrap();
    git.stdin.take().unwrap().write_all(PATHS.join("\0").as_bytes()).unwrap();
    let output = git.wait_with_output().unwrap();
    let told = String::from_utf8(output.stdout).unwrap();
    let ignored: Vec<&str> = told.split('\0').collect();
    PATHS.iter().filter(|path| ignored.contains(path)).copied().collect()
}

/// Rules that mean something else here, as they do to `rg`, and the paths they mean or do not: an open bracket without
/// its end is a bracket, a range from behind is no rule, and classes have no escapes.
const OTHERWISE: &[(&str, &[&str])] = &[
    ("[a", &["[a"]),
    ("[", &["["]),
    ("[]", &["[]"]),
    ("[!", &["[!"]),
    ("x[y-", &["x[y-"]),
    ("[z-a]", &["foo/b/a/z/bar", "x/bar/y/z"]),
    ("[a\\-c]", &["\\", "]", "-", "b", "b/d"]),
];

#[test]
fn rules_mean_what_git_says() {
    let case = case(&[]);
    let made = Command::new("git").args(["init", "-q"]).current_dir(case.folder.path()).status();
    assert!(made.unwrap().success());
    let mut differ = Vec::new();
    for rule in RULES {
        fs::write(case.path(".gitignore"), format!("{rule}\n")).unwrap();
        let rules = Ignoring::below(case.folder.path());
        let ours: Vec<&str> =
            PATHS.iter().filter(|path| rules.ignores(&case.path(path))).copied().collect();
        let theirs = by_git(&case);
        let one_of = |path: &&str| ours.contains(path) != theirs.contains(path);
        let others: Vec<&str> = PATHS.iter().filter(|path| one_of(path)).copied().collect();
        if !others.is_empty() {
            differ.push((*rule, others));
        }
    }
    let expected: Vec<_> = OTHERWISE.iter().map(|(rule, paths)| (*rule, paths.to_vec())).collect();
    assert_eq!(differ, expected);
}

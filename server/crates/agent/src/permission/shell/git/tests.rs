use std::sync::Arc;

use exec::Grammar;

use super::*;

/// What comes out of a look.
#[derive(Debug, PartialEq)]
enum Judged {
    Quiet,
    MayRun,
}
use Judged::{MayRun, Quiet};

fn look(place: &Place) -> Judged {
    if runs_nothing(place) { Quiet } else { MayRun }
}

/// A workspace with files of these names and texts.
struct Desk {
    folder: tempfile::TempDir,
    place: Place,
}

#[allow(clippy::disallowed_methods, reason = "a test's own folder")]
fn desk(files: &[(&str, &str)]) -> Desk {
    let folder = tempfile::tempdir().unwrap();
    let base = vfs::Roots::real(folder.path());
    let root = base.join("w");
    for dir in ["w/src", "w/.git/objects", "w/.git/refs", "out"] {
        std::fs::create_dir_all(base.join(dir)).unwrap();
    }
    std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    for (name, text) in files {
        let path = root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text.replace("ROOT", &root.display().to_string())).unwrap();
    }
    let place = Place {
        roots: Arc::new(vfs::Roots::new([root.clone()])),
        cwd: root.join("src"),
        artifacts: None,
        grammar: Grammar::Posix,
        programs: crate::programs::Programs::default(),
        vfs: crate::place::tests::no_files(),
    };
    Desk { folder, place }
}

#[track_caller]
fn check(files: &[(&str, &str)], expected: Judged) {
    let desk = desk(files);
    assert_eq!(look(&desk.place), expected, "{files:?}");
    assert!(desk.folder.path().is_absolute());
}

#[track_caller]
fn check_config(text: &str, expected: Judged) {
    check(&[(".git/config", text)], expected);
}

#[test]
fn settings_that_name_programs_are_none_to_run_unasked_with() {
    for text in [
        "[diff]\n\texternal = ./evil\n",
        "[diff \"x\"]\n\ttextconv = ./evil\n",
        "[diff \"x\"] command = ./evil\n",
        "[filter \"x\"]\n\tclean = ./evil\n",
        "[filter \"x\"]\n\tprocess = ./evil\n",
        "[merge \"x\"]\n\tdriver = ./evil\n",
        "[include]\n\tpath = ../evil.cfg\n",
        "[includeIf \"gitdir:/\"]\n\tpath = evil\n",
        "[remote \"o\"]\n\tuploadpack = ./evil\n",
        "[remote \"o\"]\n\tvcs = evil\n",
        "[remote \"o\"]\n\tpromisor = true\n",
        "[extensions]\n\tpartialClone = o\n",
        "[core]\n\tworktree = /etc\n",
        "[core]\n\talternateRefsCommand = ./evil\n",
        "[core]\n\tnewKey = ./evil\n",
        "[lfs \"extension.x\"]\n\tclean = ./evil\n",
        "[unknown]\n\tkey = 1\n",
        "[blame]\n\tignoreRevsFile = /etc/passwd\n",
        "[mailmap]\n\tfile = /etc/passwd\n",
        // The same in other spellings.
        "[DIFF] EXTERNAL=./evil",
        "[a][diff]external=./evil",
        "[user]\r\n\tname = x\r\n[diff]\r\n\texternal = e\r\n",
        "\u{feff}[diff]\n external\t=\te\n",
        "[diff.x]\n\ttextconv = ./evil\n",
        "[diff \"a]b\"]\n\ttextconv = ./evil\n",
        "[diff \"a\\\"]b\"]\n\ttextconv = ./evil\n",
        // What looks like a section is the rest of a value.
        "[diff]\n\tx = \\\n[user]\n\texternal = ./evil\n",
        "[filter \"x\"\n",
    ] {
        check_config(text, MayRun);
    }
}

#[test]
fn settings_of_ordinary_repositories_are_harmless() {
    for text in [
        "",
        "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n\
         [remote \"origin\"]\n\turl = git@example.com:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n\
         [branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n\tvscode-merge-base = origin/main\n\
         [user]\n\tname = A # me\n\temail = a@b\n\tsigningkey = ~/.ssh/k.pub\n[commit]\n\tgpgsign = true\n",
        "[alias]\n\tst = status\n\tlog = !rm -rf x\n",
        "[pull] rebase = true\n; [filter \"x\"] clean = x\n# [include] path = x\n",
        "[submodule \"a\"]\n\turl = x\n\tactive = true\n[lfs]\n\trepositoryformatversion = 0\n",
        "[blame]\n\tignoreRevsFile = .git-blame-ignore-revs\n",
        "[diff \"rust\"]\n\txfuncname = fn\n[diff]\n\talgorithm = histogram\n",
        // What the environment overrules.
        "[core]\n\thooksPath = .husky/_\n\tfsmonitor = true\n\tsshCommand = ssh -i k\n",
        "[gpg]\n\tformat = ssh\n\tprogram = ./evil\n[gpg \"ssh\"]\n\tprogram = ./evil\n",
        "[core]\n\tworktree = ROOT\n",
    ] {
        check_config(text, Quiet);
    }
}

#[test]
fn every_repository_above_counts() {
    let evil = "[diff]\n\texternal = ./evil\n";
    check(&[(".git/config.worktree", evil)], MayRun);
    // One that git would take for none, and go on.
    check(&[("src/.git/HEAD", "x"), (".git/config", evil)], MayRun);
    // A folder that looks like a repository is one.
    check(&[("src/HEAD", "ref: x"), ("src/objects/a", ""), ("src/refs/a", "")], MayRun);
    check(&[("src/HEAD", "ref: x"), ("src/objects/a", "")], Quiet);
    check(&[("src/.git", "gitdir: ../real"), ("real/HEAD", "x"), ("real/config", evil)], MayRun);
    check(&[("src/.git", "gitdir: ../real"), ("real/HEAD", "x"), ("real/config", "")], Quiet);
    check(&[("src/.git", "gitdir: ../../out")], MayRun);
    check(&[("src/.git", "nonsense")], MayRun);
    let linked = "gitdir: ../real/worktrees/a";
    let common = ("real/worktrees/a/commondir", "../..\n");
    check(&[("src/.git", linked), common, ("real/config", evil)], MayRun);
    check(&[("src/.git", linked), common, ("real/config", "[user]\nname=a\n")], Quiet);
}

#[test]
fn a_linked_work_tree_points_back_to_its_folder() {
    let back = |to: &str| {
        let desk = desk(&[("src/.git", "gitdir: ../../out")]);
        let out = desk.place.cwd.join("../../out");
        let text = to.replace("SRC", &desk.place.cwd.display().to_string());
        write(&vfs::normalize(&out.join("gitdir")), &text);
        look(&desk.place)
    };
    assert_eq!(back("SRC/.git\n"), Quiet);
    assert_eq!(back("/elsewhere/.git\n"), MayRun);
}

#[allow(clippy::disallowed_methods, reason = "a test's own folder")]
fn write(path: &Path, text: &str) {
    std::fs::write(path, text).unwrap();
}

#[test]
fn no_text_is_read_for_ever_or_harmful() {
    for text in ["[", "]", "[\"", "[a \"", "=", "[a]=", "[a]b", "[]]x=[", "[a\"\\"] {
        let _ = settings(text);
    }
}

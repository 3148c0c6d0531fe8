//! Line endings, encodings, modes, links.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::Command;

use serde_json::json;

use super::{Shown, decide_all, edit, seen, unasked};
use crate::editor::document::Encoding;
use crate::editor::{Editor, Kind, Start};
use crate::workspace::{PATIENCE, Workspace, output, until};

/// A repository with everything of the folder in it.
#[track_caller]
fn committed(root: &Path, config: &[&str]) {
    let git = |args: &[&str]| {
        let mut command = Command::new("git");
        command.args([
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t",
            "-c",
            "init.defaultBranch=main",
        ]);
        let ran =
            output(command.args(args).current_dir(root).env("GIT_CONFIG_GLOBAL", "/dev/null"));
        assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
    };
    git(&["init", "-q"]);
    for setting in config {
        let (name, value) = setting.split_once('=').expect("a setting");
        git(&["config", name, value]);
    }
    git(&["add", "-A"]);
    git(&["commit", "-qm", "first"]);
}

/// What `git diff --numstat` says: lines added and removed, and the file.
#[track_caller]
fn changed_lines(root: &Path) -> String {
    let mut command = Command::new("git");
    let ran = output(
        command.args(["diff", "--numstat"]).current_dir(root).env("GIT_CONFIG_GLOBAL", "/dev/null"),
    );
    String::from_utf8(ran.stdout).unwrap().replace('\t', " ").trim().to_owned()
}

/// C1: an edit of one line of a CRLF file is one changed line for git, closed or open.
#[test]
fn one_edited_line_of_a_crlf_file_is_one_line_of_diff() {
    for shown in Shown::BOTH {
        let workspace = Workspace::new(&[("a.txt", &"some line\r\n".repeat(40)), ("b.txt", "")]);
        workspace.write(
            "a.txt",
            "some line\r\n".repeat(40) + "this one\r\n" + &"and more\r\n".repeat(40),
        );
        committed(workspace.root(), &[]);
        let editor = Editor::open(&workspace, &json!({}));
        shown.open(&editor, "a.txt");
        seen(&editor, "a.txt").tool("Edit", edit("a.txt", "this one\n", "that one\n")).ok();
        until("the save", PATIENCE, || workspace.read("a.txt").contains("that one"));
        assert_eq!(changed_lines(workspace.root()), "1 1 a.txt", "{shown:?}");
    }
}

/// C2: a new file has the line endings its folder asks for, and LF where nothing asks, under any client.
#[test]
fn a_new_file_has_the_line_endings_of_its_folder() {
    for kind in [Kind::Strict, Kind::Lying, Kind::Headless] {
        let workspace = Workspace::new(&[
            ("lf/.editorconfig", "root = true\n"),
            ("crlf/.editorconfig", "root = true\n[*]\nend_of_line = crlf\n"),
            ("bat/.gitattributes", "*.bat text eol=crlf\n"),
            ("lf/old.txt", "old\n"),
        ]);
        let editor = Start::new(&workspace).kind(kind).settings(&unasked()).start();
        let session = editor.session();
        for (path, expected) in [
            ("lf/new.txt", "a\nb\n"),
            ("crlf/new.txt", "a\r\nb\r\n"),
            ("bat/run.bat", "a\r\nb\r\n"),
            ("bat/run.sh", "a\nb\n"),
        ] {
            session.tool("Write", json!({ "file_path": path, "content": "a\nb\n" })).ok();
            assert_eq!(workspace.read(path), expected, "{kind:?}: {path}");
        }
    }
}

/// Edits the middle line, then rejects: the bytes are the old ones. Gives what the edit made.
#[track_caller]
fn edited_and_reverted(workspace: &Workspace, shown: Shown) -> Vec<u8> {
    let before = workspace.bytes("a.txt");
    let editor = Editor::open(workspace, &unasked());
    shown.open(&editor, "a.txt");
    let session = seen(&editor, "a.txt");
    session.tool("Edit", edit("a.txt", "middle", "MIDDLE\nand more")).ok();
    shown.save(&editor, "a.txt");
    let edited = workspace.bytes("a.txt");
    assert_ne!(edited, before);
    decide_all(&editor, "reject");
    shown.save(&editor, "a.txt");
    assert_eq!(workspace.bytes("a.txt"), before, "{shown:?}");
    edited
}

/// C4: an edit taken back leaves the bytes as they were, whatever the line endings.
#[test]
fn a_reverted_edit_leaves_the_same_bytes() {
    for (before, edited) in [
        (&b"first\r\nmiddle\r\nlast\r\n"[..], &b"first\r\nMIDDLE\r\nand more\r\nlast\r\n"[..]),
        (b"first\nmiddle\nlast", b"first\nMIDDLE\nand more\nlast"),
        (b"\xef\xbb\xbffirst\r\nmiddle", b"\xef\xbb\xbffirst\r\nMIDDLE\r\nand more"),
    ] {
        for shown in Shown::BOTH {
            let workspace = Workspace::new(&[]);
            workspace.write("a.txt", before);
            assert_eq!(edited_and_reverted(&workspace, shown), edited, "{shown:?}");
        }
    }
    // Mixed: only a closed file is certain to keep them.
    let workspace = Workspace::new(&[("a.txt", "first\r\nmiddle\nlast\r\n\r\n\n")]);
    edited_and_reverted(&workspace, Shown::Closed);
}

/// C5: the same in a repository that converts line endings.
#[test]
fn a_reverted_edit_leaves_the_same_bytes_where_git_converts_line_endings() {
    for shown in Shown::BOTH {
        let workspace = Workspace::new(&[("a.txt", "first\r\nmiddle\r\nlast\r\n")]);
        committed(workspace.root(), &["core.autocrlf=true"]);
        edited_and_reverted(&workspace, shown);
        assert_eq!(changed_lines(workspace.root()), "");
    }
}

/// C10: a byte that is no text on line 999 is still that byte after an edit of line 1.
#[test]
fn a_byte_that_is_no_text_stays_when_another_line_is_edited() {
    let mut bytes = b"first\n".to_vec();
    for n in 2..=1000 {
        bytes.extend(format!("line {n}: café").bytes());
        bytes.extend(if n == 999 { &b" \x99\n"[..] } else { b"\n" });
    }
    let workspace = Workspace::new(&[]);
    workspace.write("a.txt", &bytes);
    let editor = Editor::open(&workspace, &unasked());
    seen(&editor, "a.txt").tool("Edit", edit("a.txt", "first", "FIRST")).ok();
    let mut expected = bytes.clone();
    expected[..5].copy_from_slice(b"FIRST");
    assert_eq!(workspace.bytes("a.txt"), expected);
    decide_all(&editor, "reject");
    assert_eq!(workspace.bytes("a.txt"), bytes);
}

/// Label, a line that only this encoding spells so, and a character it lacks.
const ENCODINGS: [(&str, &str, &str); 9] = [
    ("windows-1252", "naïve café — “quoted” ½", "日"),
    ("iso-8859-2", "Příliš žluťoučký kůň", "日"),
    ("ibm866", "Съешь ещё этих мягких булок", "é"),
    ("koi8-r", "Съешь ещё этих мягких булок", "é"),
    ("shift_jis", "いろはにほへと ちりぬるを", "é"),
    ("euc-jp", "いろはにほへと ちりぬるを", "😀"),
    ("gbk", "天地玄黄 宇宙洪荒", "😀"),
    ("big5", "天地玄黃 宇宙洪荒", "😀"),
    ("euc-kr", "가나다라 마바사", "😀"),
];

/// C11: in a document opened in any encoding only the edited line's bytes change; what it cannot hold is refused.
#[test]
fn every_encoding_keeps_the_bytes_of_other_lines() {
    for (label, line, lacking) in ENCODINGS {
        let encoding = Encoding::labelled(label);
        let encode =
            |text: &str| encoding.encode(text).unwrap_or_else(|| panic!("{label}: {text}"));
        let text = format!("{line} 1\r\nplain\r\n{line} 2\r\n");
        let workspace = Workspace::new(&[]);
        workspace.write("a.txt", encode(&text));
        let editor = Editor::open(&workspace, &json!({}));
        editor.open_as("a.txt", label);
        let session = seen(&editor, "a.txt");
        session.tool("Edit", edit("a.txt", "plain", line)).ok();
        let expected = encode(&text.replace("plain", line));
        until("the save", PATIENCE, || workspace.bytes("a.txt") == expected);
        let refusal = session.tool("Edit", edit("a.txt", &format!("{line} 2"), lacking)).err();
        assert!(refusal.contains(lacking), "{label}: the character is named: {refusal}");
        assert_eq!(workspace.bytes("a.txt"), expected, "{label}");
        assert_eq!(editor.text("a.txt"), text.replace("plain", line), "{label}");
    }
    for label in ["utf-16le", "utf-16be", "utf-8"] {
        for shown in Shown::BOTH {
            let encoding = Encoding::labelled(label);
            let mark = match label {
                "utf-16le" => &b"\xff\xfe"[..],
                "utf-16be" => b"\xfe\xff",
                _ => b"\xef\xbb\xbf",
            };
            let encode = |text: &str| [mark, &encoding.encode(text).expect("text")].concat();
            let text = "eins é日😀\r\nplain\r\nlast";
            let workspace = Workspace::new(&[]);
            workspace.write("a.txt", encode(text));
            let editor = Editor::open(&workspace, &json!({}));
            if shown == Shown::Open {
                editor.open_as("a.txt", label);
            }
            seen(&editor, "a.txt").tool("Edit", edit("a.txt", "plain", "𝒳é日")).ok();
            let expected = encode(&text.replace("plain", "𝒳é日"));
            until(&format!("{label}, {shown:?}"), PATIENCE, || {
                workspace.bytes("a.txt") == expected
            });
        }
    }
}

/// C13: locales without UTF-8 change nothing about files, names or configuration.
#[test]
fn the_locale_of_the_machine_does_not_matter() {
    for locale in ["C", "POSIX", "en_US.CP1252", "no_SUCH.locale"] {
        let workspace = Workspace::new(&[
            ("é日.txt", "naïve\ntwo\n"),
            (".editorconfig", "# ünïcode\nroot = true\n"),
        ]);
        workspace.configure("# ünïcode 日\nmode = \"edit\"\n");
        let editor = Start::new(&workspace).env("LANG", locale).env("LC_ALL", locale).start();
        let session = seen(&editor, "é日.txt");
        session.tool("Edit", edit("é日.txt", "naïve", "naïve 日")).ok();
        assert_eq!(workspace.read("é日.txt"), "naïve 日\ntwo\n", "{locale}");
        assert!(
            session.tool("Glob", json!({ "pattern": "*.txt" })).ok().contains("é日.txt"),
            "{locale}"
        );
    }
}

/// C14: mode, owner and extended attributes of an edited file stay, also after the edit is taken back.
#[test]
fn mode_owner_and_attributes_stay() {
    let workspace = Workspace::new(&[("run.sh", "#!/bin/sh\necho one\n")]);
    let path = workspace.path("run.sh");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    let has_attributes =
        rustix::fs::setxattr(&path, c"user.note", b"kept", rustix::fs::XattrFlags::empty()).is_ok();
    let is_root = std::fs::metadata(&path).unwrap().uid() == 0;
    if is_root {
        std::os::unix::fs::chown(&path, Some(1234), Some(2345)).unwrap();
    }
    let state = || {
        let now = std::fs::metadata(&path).unwrap();
        let mut value = [0; 16];
        let len = rustix::fs::getxattr(&path, c"user.note", &mut value).unwrap_or(0);
        (now.mode() & 0o7777, now.uid(), now.gid(), value[..len].to_vec())
    };
    let before = state();
    assert_eq!(before.3, if has_attributes { b"kept".to_vec() } else { Vec::new() });
    let editor = Editor::open(&workspace, &unasked());
    let session = seen(&editor, "run.sh");
    session.tool("Edit", edit("run.sh", "one", "two")).ok();
    assert_eq!(workspace.read("run.sh"), "#!/bin/sh\necho two\n");
    assert_eq!(state(), before);
    decide_all(&editor, "reject");
    assert_eq!(workspace.read("run.sh"), "#!/bin/sh\necho one\n");
    assert_eq!(state(), before);
}

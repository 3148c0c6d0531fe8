use std::fs;

use super::*;

#[track_caller]
fn check(files: &[(&str, &str)], path: &str, expected: Format) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join(".git")).unwrap();
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    assert_eq!(format_for_new(&folder.path().join(path)), expected);
}

fn eol(eol: Eol) -> Format {
    Format { eol, ..Format::default() }
}

#[test]
fn editorconfig_is_followed_the_nearest_file_first() {
    let top = "root = true\n[*]\nend_of_line = crlf\ninsert_final_newline = false\n[*.{sh,py}]\nend_of_line = lf\n";
    check(
        &[(".editorconfig", top)],
        "src/a.txt",
        Format { eol: Eol::Crlf, final_newline: false, ..Format::default() },
    );
    check(&[(".editorconfig", top)], "a.sh", Format { final_newline: false, ..Format::default() });
    let near = "[*.txt]\nend_of_line = lf\ncharset = utf-8-bom\n";
    check(
        &[(".editorconfig", top), ("src/.editorconfig", near)],
        "src/new/a.txt",
        Format { bom: true, final_newline: false, ..Format::default() },
    );
    check(
        &[(".editorconfig", "root=true\n[lib/**.js]\nend_of_line=crlf\n")],
        "lib/a/b.js",
        eol(Eol::Crlf),
    );
    check(
        &[(".editorconfig", "root=true\n[f{1..3}.c]\nend_of_line=crlf\n")],
        "f2.c",
        eol(Eol::Crlf),
    );
}

#[test]
fn attributes_come_next_and_neighbours_last() {
    let none = (".editorconfig", "root = true\n");
    check(&[none, (".gitattributes", "* text\n*.bat text eol=crlf\n")], "run.bat", eol(Eol::Crlf));
    check(&[none, (".gitattributes", "*.bat eol=crlf\n")], "run.sh", eol(Eol::Lf));
    check(
        &[none, ("a.cs", "x\r\n"), ("b.cs", "y\r\n"), ("c.txt", "z\n")],
        "new.cs",
        eol(Eol::Crlf),
    );
    check(&[none, ("src/a.cs", "x\r\n")], "src/deep/er/new.cs", eol(Eol::Crlf));
    check(&[none], "new", eol(Eol::Lf));
}

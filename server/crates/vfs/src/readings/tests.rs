use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use text::{ChangeSet, Edit, LineBreaks, Unit};

use crate::store::{Options, Vfs};
use crate::transaction::DiskOp;

fn store() -> Vfs {
    Vfs::new(Options { unit: Unit::Utf8, breaks: LineBreaks::Lsp, state_dir: None })
}

struct Place {
    _folder: tempfile::TempDir,
    path: PathBuf,
    vfs: Vfs,
}

fn place(bytes: &[u8]) -> Place {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file.txt");
    fs::write(&path, bytes).unwrap();
    Place { _folder: folder, path, vfs: store() }
}

/// More than is kept at least.
fn large(line: &str) -> String {
    line.repeat(super::LEAST / line.len() + 1)
}

/// What is read is what a store that never read the file reads.
#[track_caller]
fn check(vfs: &Vfs, path: &Path) {
    let (known, anew) = (vfs.disk_snapshot(path).unwrap(), store().disk_snapshot(path).unwrap());
    assert!(known.rope == anew.rope);
    assert_eq!(known.format, anew.format);
    assert_eq!(known.hash(), anew.hash());
    assert_eq!((known.damaged, known.read_only), (anew.damaged, anew.read_only));
}

#[test]
fn an_unchanged_file_is_not_decoded_again() {
    let Place { vfs, path, .. } = &place(large("some words\n").as_bytes());
    let first = vfs.disk_snapshot(path).unwrap();
    assert!(vfs.disk_snapshot(path).unwrap().rope.is_instance(&first.rope));
}

#[test]
fn a_change_of_one_byte_is_seen_whatever_the_times_say() {
    let text = large("some words\n");
    for at in [0, text.len() / 2, text.len() - 1] {
        let Place { vfs, path, .. } = &place(text.as_bytes());
        check(vfs, path);
        let modified = fs::metadata(path).unwrap().modified().unwrap();
        let mut bytes = text.clone().into_bytes();
        bytes[at] = b'#';
        fs::write(path, &bytes).unwrap();
        fs::File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
        check(vfs, path);
    }
}

#[test]
fn a_longer_or_shorter_file_is_seen() {
    let text = large("some words\n");
    let Place { vfs, path, .. } = &place(text.as_bytes());
    for bytes in [&text[..], &text[..text.len() - 1], &format!("{text}x"), "short", &text] {
        fs::write(path, bytes).unwrap();
        check(vfs, path);
    }
}

#[test]
fn marks_and_other_encodings_are_read_as_ever() {
    let text = large("caf\u{e9} \u{65e5}\n");
    let utf16: Vec<u8> =
        [0xfeff].into_iter().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect();
    let damaged = [text.as_bytes(), b"\xff\n"].concat();
    let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    let Place { vfs, path, .. } = &place(b"");
    for bytes in [marked.as_slice(), text.as_bytes(), &marked, &utf16, &damaged, &utf16] {
        fs::write(path, bytes).unwrap();
        check(vfs, path);
        check(vfs, path);
    }
}

#[test]
fn the_text_after_an_edit_of_ours_is_known() {
    let Place { vfs, path, .. } = &place(large("some words\n").as_bytes());
    let base = vfs.disk_snapshot(path).unwrap();
    let changes = ChangeSet::new(base.rope.len_bytes(), vec![Edit::new(5..10, "texts")]).unwrap();
    let op = DiskOp::Edit { path: path.clone(), base_hash: base.hash(), changes };
    vfs.commit(vec![op]).unwrap();
    check(vfs, path);
    assert!(vfs.readings().current(path).unwrap().unwrap().hash.get().is_some());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn what_is_read_is_what_is_there(
        mark in prop::bool::ANY,
        line in "[a-c\u{e9}]{0,12}(\r\n|\n|\r)",
        steps in prop::collection::vec((0..3_u8, any::<prop::sample::Index>(), 0..9_usize, "[xy\u{e9}\r\n]{0,4}"), 1..6),
    ) {
        let mark = if mark { "\u{feff}" } else { "" };
        let Place { vfs, path, .. } = &place(format!("{mark}{}", large(&line)).as_bytes());
        for (who, at, len, text) in steps {
            let base = vfs.disk_snapshot(path).unwrap();
            let now = base.rope.to_string();
            let floor = |at: usize| now.char_indices().map(|it| it.0).take_while(|it| *it <= at).last().unwrap_or(0);
            let start = floor(at.index(now.len().max(1)));
            let end = floor(start + len).max(start);
            if who == 0 {
                fs::write(path, format!("{mark}{}{text}{}", &now[..start], &now[end..])).unwrap();
            } else {
                let changes = ChangeSet::new(now.len(), vec![Edit::new(start..end, text)]).unwrap();
                vfs.commit(vec![DiskOp::Edit { path: path.clone(), base_hash: base.hash(), changes }]).unwrap();
            }
            check(vfs, path);
        }
    }
}

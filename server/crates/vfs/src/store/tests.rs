use std::fs;

use super::*;

fn vfs() -> Vfs {
    Vfs::new(Options { unit: Unit::Utf16, breaks: LineBreaks::Lsp, state_dir: None })
}

fn whole(text: &str) -> Vec<TextChange> {
    vec![TextChange { range: None, text: text.to_owned() }]
}

#[test]
fn a_buffer_hides_its_file_until_it_closes() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    fs::write(&path, "disk\n").unwrap();
    let (vfs, location) = (vfs(), Location::disk(&path));
    assert_eq!(vfs.snapshot(&location).unwrap().source, Source::Disk);
    vfs.open(location.clone(), "text", 0, "buffer\n");
    let snapshot = vfs.snapshot(&location).unwrap();
    assert_eq!(snapshot.rope, "buffer\n");
    assert!(snapshot.is_unsaved());
    vfs.close(&location);
    assert_eq!(vfs.snapshot(&location).unwrap().rope, "disk\n");
}

#[test]
fn a_generation_never_comes_twice() {
    let (vfs, location) = (vfs(), Location::Virtual("untitled:1".to_owned()));
    let watch = vfs.watch(&location);
    let mut seen = vec![*watch.borrow()];
    vfs.open(location.clone(), "text", 0, "a");
    seen.push(*watch.borrow());
    vfs.change(&location, 1, whole("b")).unwrap();
    seen.push(*watch.borrow());
    vfs.close(&location);
    seen.push(*watch.borrow());
    vfs.open(location.clone(), "text", 0, "c");
    seen.push(*watch.borrow());
    assert!(seen.is_sorted_by(|a, b| a < b), "{seen:?}");
    assert!(vfs.changes_since(&location, seen[1]).is_none(), "reopened since");
    assert!(vfs.changes_since(&location, seen[4]).is_some());
}

#[test]
fn impossible_changes_are_taken_and_reported() {
    let (vfs, location) = (vfs(), Location::Virtual("untitled:1".to_owned()));
    let error = vfs.change(&location, 3, whole("a")).unwrap_err();
    assert!(matches!(error, SyncError::NotOpen { .. }));
    assert_eq!(vfs.snapshot(&location).unwrap().rope, "a");
    let error = vfs.change(&location, 2, whole("b")).unwrap_err();
    assert!(matches!(error, SyncError::Backwards { version: 2, current: 3, .. }));
    assert_eq!(vfs.snapshot(&location).unwrap().rope, "b");
}

#[test]
fn hashes_are_of_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    fs::write(&path, "\u{FEFF}é\n").unwrap();
    let (vfs, location) = (vfs(), Location::disk(&path));
    let disk = vfs.snapshot(&location).unwrap().hash();
    assert_eq!(vfs.content_hash(&path).unwrap(), disk);
    vfs.open(location.clone(), "text", 1, "é\n");
    assert_eq!(vfs.snapshot(&location).unwrap().hash(), disk);
    vfs.change(&location, 2, whole("e\n")).unwrap();
    assert_ne!(vfs.snapshot(&location).unwrap().hash(), disk);
}

#[test]
fn what_is_no_text_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let vfs = vfs();
    let make = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).unwrap();
        vfs.snapshot(&Location::disk(path)).unwrap_err().to_string()
    };
    assert!(make("a.png", b"\x89PNG\r\n\x1a\n1234").ends_with("is binary (PNG image, 12 bytes)"));
    assert!(make("a.pdf", b"%PDF-1.7\n").contains("PDF document, 9 bytes"));
    assert!(make("a.bin", b"ab\0c").contains("data with NUL bytes, 4 bytes"));
    assert!(matches!(vfs.snapshot(&Location::disk(folder.path())), Err(ReadError::Folder { .. })));
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        folder.path().join("pipe"),
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap();
    let pipe = vfs.snapshot(&Location::disk(folder.path().join("pipe")));
    assert!(matches!(pipe, Err(ReadError::Special { kind: FileKind::Pipe, .. })));
    assert!(vfs.read_bytes(&folder.path().join("pipe"), 9).is_err());
    assert!(matches!(vfs.snapshot(&Location::disk("/dev/zero")), Err(ReadError::Special { .. })));
}

#[test]
fn a_missing_file_has_neighbours_to_name() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("main.rs"), "").unwrap();
    let error = vfs().snapshot(&Location::disk(folder.path().join("mian.rs"))).unwrap_err();
    assert!(error.to_string().contains("did you mean"), "{error}");
}

#[test]
fn a_large_file_is_read_by_lines() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.txt");
    let file = fs::File::create(&path).unwrap();
    std::io::Write::write_all(&mut &file, b"one\ntwo\n").unwrap();
    let line = vec![b'x'; 1 << 20];
    for _ in 0..(MAX_TEXT >> 20) {
        std::io::Write::write_all(&mut &file, &line).unwrap();
    }
    let location = Location::disk(&path);
    assert!(matches!(vfs().snapshot(&location), Err(ReadError::TooLarge { .. })));
    let lines = vfs().read_lines(&location, 2, 5, 1_000, 10, &|| false).unwrap();
    assert_eq!(
        (lines.lines, lines.total, lines.cut),
        (vec!["two".to_owned(), "xxxxxxxxxx".to_owned()], 3, vec![3])
    );
}

#[test]
fn reading_a_file_that_nobody_wants_ends_with_the_step_it_is_at() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.txt");
    std::fs::write(&path, "text\n").unwrap();
    let (vfs, location) = (vfs(), Location::disk(&path));
    for steps in 0..2 {
        let asked = std::cell::Cell::new(0);
        let cancelled = || steps < asked.replace(asked.get() + 1);
        let read = vfs.snapshot_unless(&location, &cancelled);
        assert!(matches!(read, Err(ReadError::Cancelled)) && asked.get() == steps + 2, "{read:?}");
    }
    vfs.open(location.clone(), "plain", 1, "text");
    assert!(vfs.snapshot_unless(&location, &|| true).is_ok());
}

use super::*;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_torn_line_is_left_out_and_what_follows_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("a/log.jsonl");
    assert_eq!(read_log(&log).unwrap(), Log { lines: vec![], torn: 0 });
    append_log(&log, "one", Durability::Synced).unwrap();
    append_log(&log, "two", Durability::Buffered).unwrap();
    fs::OpenOptions::new().append(true).open(&log).unwrap().write_all(b"thr").unwrap();
    assert_eq!(read_log(&log).unwrap(), Log { lines: vec!["one".into(), "two".into()], torn: 3 });
    append_log(&log, "four", Durability::Buffered).unwrap();
    assert_eq!(read_log(&log).unwrap().lines, ["one", "two", "four"]);
    assert!(append_log(&log, "a\nb", Durability::Buffered).is_err());
    assert_eq!((mode(&log), mode(log.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn a_log_torn_far_back_is_mended() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    fs::write(&log, [b"one\n".as_slice(), &vec![b'x'; 200_000]].concat()).unwrap();
    append_log(&log, "two", Durability::Buffered).unwrap();
    assert_eq!(fs::read(&log).unwrap(), b"one\ntwo\n");
}

#[test]
fn private_files_are_private_and_gone_when_removed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x/y/secret");
    assert_eq!(read_private(&path).unwrap(), None);
    write_private(&path, b"1").unwrap();
    write_private(&path, b"2").unwrap();
    assert_eq!(read_private(&path).unwrap().as_deref(), Some(b"2".as_slice()));
    assert_eq!((mode(&path), mode(&folder.path().join("x"))), (0o600, 0o700));
    assert_eq!(list(&folder.path().join("x/y")).unwrap(), std::slice::from_ref(&path));
    remove(&folder.path().join("x")).unwrap();
    remove(&folder.path().join("x")).unwrap();
    assert_eq!(list(&folder.path().join("x")).unwrap(), Vec::<PathBuf>::new());
}

#[test]
fn a_lock_has_one_holder() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lock");
    let held = lock(&path).unwrap();
    assert!(held.is_some());
    assert!(lock(&path).unwrap().is_none());
    drop(held);
    assert!(lock(&path).unwrap().is_some());
}

#[test]
fn a_sample_stays_in_its_folder() {
    let temp = TempDir::with_files([("a/b.txt", b"1".as_slice()), ("../../c.txt", b"2")]).unwrap();
    assert_eq!(fs::read(temp.path().join("a/b.txt")).unwrap(), b"1");
    assert_eq!(fs::read(temp.path().join("c.txt")).unwrap(), b"2");
    let settings = temp.path().join("s.toml");
    assert_eq!(read_text_file(&settings).unwrap(), None);
    fs::write(&settings, "\u{FEFF}x = 1").unwrap();
    assert_eq!(read_text_file(&settings).unwrap().as_deref(), Some("x = 1"));
}

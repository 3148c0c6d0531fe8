use super::*;

/// An index of one regular file of format `version`, as git lays it out.
fn index(version: u32, entries: &[(&str, u32)]) -> Vec<u8> {
    let mut out = b"DIRC".to_vec();
    out.extend(version.to_be_bytes());
    out.extend((entries.len() as u32).to_be_bytes());
    let mut last = "";
    for (name, seconds) in entries {
        let start = out.len();
        for value in [1_u32, 0, *seconds, 7, 0, 42, 0o100_644, 0, 0, 5] {
            out.extend(value.to_be_bytes());
        }
        out.extend([0xab; OBJECT]);
        out.extend((name.len() as u16).to_be_bytes());
        if version == 4 {
            let same = last.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
            out.push((last.len() - same) as u8);
            out.extend(name[same..].bytes());
            out.push(0);
        } else {
            out.extend(name.bytes());
            out.push(0);
            while !(out.len() - start).is_multiple_of(8) {
                out.push(0);
            }
        }
        last = name;
    }
    out
}

#[track_caller]
fn check(bytes: &[u8], expected: Option<&[(&str, i128)]>) {
    let found = parse(bytes).map(|it| {
        let mut found: Vec<(String, i128)> = it
            .iter()
            .map(|(name, it)| (String::from_utf8_lossy(name).into_owned(), it.modified))
            .collect();
        found.sort();
        found
    });
    let expected = expected
        .map(|it| it.iter().map(|(name, at)| ((*name).to_owned(), *at)).collect::<Vec<_>>());
    assert_eq!(found, expected);
}

#[test]
fn every_format_is_read() {
    let files = [("a.txt", 3), ("src/long/name.rs", 4), ("src/long/other.rs", 5)];
    let expected = [
        ("a.txt", 3_000_000_007),
        ("src/long/name.rs", 4_000_000_007),
        ("src/long/other.rs", 5_000_000_007),
    ];
    for version in [2, 3, 4] {
        check(&index(version, &files), Some(&expected));
    }
}

#[test]
fn what_is_no_index_is_none() {
    check(b"", None);
    check(b"DIRC\0\0\0\x05\0\0\0\0", None);
    check(b"DIRC\0\0\0\x02\0\0\0\x09short", None);
    let whole = index(2, &[("a", 1)]);
    check(&whole[..whole.len() - 6], None);
}

#[test]
#[allow(clippy::disallowed_methods, reason = "a test's own folder")]
fn submodules_are_told_or_the_whole_is_unknown() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let check = |bytes: &[u8], expected: Option<&[&str]>| {
        std::fs::write(&path, bytes).unwrap();
        let expected = expected.map(|it| it.iter().map(PathBuf::from).collect::<Vec<_>>());
        assert_eq!(submodules(&path), expected);
    };
    for version in [2, 3, 4] {
        let mut bytes = index(version, &[("a.txt", 3), ("sub/deep", 4), ("z", 5)]);
        bytes.extend([0; 20]);
        check(&bytes, Some(&[]));
        let name = if version == 4 { &b"sub/deep"[..] } else { &b"sub/deep\0"[..] };
        let at = memchr::memmem::find(&bytes, name).unwrap();
        let mode = memchr::memmem::rfind(&bytes[..at], &0o100_644_u32.to_be_bytes()).unwrap();
        bytes[mode..mode + 4].copy_from_slice(&0o160_000_u32.to_be_bytes());
        check(&bytes, Some(&["sub/deep"]));
        check(&bytes[..bytes.len() - 30], None);
        let end = bytes.len() - 20;
        bytes.splice(end..end, *b"link\0\0\0\x01\0");
        check(&bytes, None);
    }
    check(&index(2, &[("link", 3)]), None);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(submodules(&path), None);
}

proptest::proptest! {
    #[test]
    fn no_bytes_make_it_panic(
        bytes: Vec<u8>,
        at in 0_usize..200,
        version in 2_u32..5,
    ) {
        let mut damaged = index(version, &[("a.txt", 3), ("b/c.txt", 4)]);
        let at = at.min(damaged.len());
        damaged.splice(at..at, bytes.iter().copied());
        let _ = parse(&damaged);
        let _ = parse(&[b"DIRC\0\0\0\x04\0\0\0\x03".as_slice(), &bytes].concat());
    }
}

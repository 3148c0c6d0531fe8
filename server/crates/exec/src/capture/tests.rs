use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::{Capture, HEAD, LOG_LIMIT, Log, TAIL};

fn capture(folder: &Path) -> Capture {
    Capture::new(folder.join("a/b/term-1.log"))
}

#[expect(clippy::disallowed_methods, reason = "the log is what is tested")]
fn read(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

/// `count` lines of ten bytes each.
fn lines(count: usize) -> Vec<u8> {
    (0..count).flat_map(|n| format!("{n:09}\n").into_bytes()).collect()
}

#[test]
fn short_output_is_whole_and_not_logged() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = capture(folder.path());
    capture.push(b"one\n");
    capture.push(b"two");
    capture.finish();
    let output = capture.output();
    assert_eq!(
        (output.text.as_str(), output.total_bytes, output.omitted_bytes),
        ("one\ntwo", 7, 0)
    );
    assert_eq!(capture.log(), None);
}

#[test]
fn long_output_keeps_head_and_tail_and_logs_all() {
    let folder = tempfile::tempdir().unwrap();
    let all = lines(200_000);
    for step in [1000, 4096, 65_536, all.len()] {
        let mut capture = capture(folder.path());
        all.chunks(step).for_each(|chunk| capture.push(chunk));
        capture.finish();
        let output = capture.output();
        assert_eq!(output.total_bytes, all.len() as u64);
        assert!(output.text.starts_with("000000000\n000000001\n"));
        assert!(output.text.ends_with("000199998\n000199999\n"));
        let note = format!("\n[{} bytes omitted]\n0", output.omitted_bytes);
        assert!(output.text.contains(&note), "step {step}");
        let kept = output.text.len() - (note.len() - 2);
        assert_eq!(kept as u64 + output.omitted_bytes, all.len() as u64);
        let log = capture.log().unwrap();
        assert!(read(log) == all);
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the log is what is tested")]
fn a_job_has_a_private_log_from_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = capture(folder.path());
    capture.push(b"early ");
    capture.open_log();
    capture.push(b"late");
    let log = capture.log().unwrap();
    assert_eq!(read(log), b"early late");
    assert_eq!(std::fs::metadata(log).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn the_log_is_bounded_and_says_what_it_lacks() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = capture(folder.path());
    let chunk = lines(100_000);
    for _ in 0..80 {
        capture.push(&chunk);
    }
    capture.finish();
    let log = read(capture.log().unwrap());
    assert!((log.len() as u64) < LOG_LIMIT + (1 << 20));
    let end = &log[LOG_LIMIT as usize..];
    let note_end = end[1..].iter().position(|byte| *byte == b'\n').unwrap() + 2;
    let note = std::str::from_utf8(&end[..note_end]).unwrap();
    let tail = &end[note_end..];
    let missing = 80 * chunk.len() as u64 - LOG_LIMIT - tail.len() as u64;
    assert_eq!(note, format!("\n[{missing} bytes omitted]\n"));
    assert!(tail.ends_with(b"000099999\n"));
}

#[test]
fn readers_get_each_byte_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = capture(folder.path());
    let all = lines((HEAD + TAIL) / 10);
    let mut position = 0;
    let mut read = Vec::new();
    for chunk in all.chunks(3000) {
        capture.push(chunk);
        let piece = capture.since(position, usize::MAX);
        assert_eq!(piece.skipped, 0);
        position = piece.next;
        read.extend(piece.bytes);
    }
    assert!(read == all);
    assert!(capture.since(position, usize::MAX).bytes.is_empty());
}

#[test]
fn a_late_reader_is_told_what_it_missed() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = capture(folder.path());
    let all = lines(100_000);
    capture.push(&all);
    let piece = capture.since(0, 1 << 20);
    assert_eq!(piece.skipped + piece.bytes.len() as u64, all.len() as u64);
    assert!(piece.bytes.starts_with(b"0000"));
    let piece = capture.since(0, 1000);
    assert_eq!(piece.skipped + piece.bytes.len() as u64, all.len() as u64);
    assert!(piece.bytes.len() <= 1000);
}

#[test]
fn without_a_log_the_output_says_so() {
    let mut capture = Capture::new("/proc/no/such/folder.log".into());
    capture.push(&lines(100_000));
    capture.finish();
    assert_eq!(capture.log(), None);
    assert!(capture.output().text.contains("; no log: "));
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a disk without room")]
fn a_full_disk_costs_the_log_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let mut capture = capture(folder.path());
    let file = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    capture.log = Log::Open { file, written: 0 };
    let all = lines(100_000);
    all.chunks(5000).for_each(|chunk| capture.push(chunk));
    capture.finish();
    assert_eq!((capture.log(), capture.total()), (None, all.len() as u64));
    let text = capture.output().text;
    assert!(text.contains("; no log: No space left on device"), "{text}");
    assert!(text.as_bytes().ends_with(&all[all.len() - 1000..]), "{text}");
}

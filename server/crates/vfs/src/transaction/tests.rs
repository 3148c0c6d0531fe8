use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use text::{Edit, LineBreaks, Unit};

use super::*;
use crate::location::Location;
use crate::store::Options;

struct Case {
    folder: tempfile::TempDir,
    state: tempfile::TempDir,
    vfs: Vfs,
}

fn vfs(state: &Path) -> Vfs {
    Vfs::new(Options {
        unit: Unit::Utf16,
        breaks: LineBreaks::Lsp,
        state_dir: Some(state.to_owned()),
    })
}

fn case(files: &[(&str, &[u8])]) -> Case {
    let (folder, state) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    for (name, bytes) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    Case { vfs: vfs(state.path()), folder, state }
}

impl Case {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn edit(&self, name: &str, from: &str, to: &str) -> DiskOp {
        let snapshot = self.vfs.disk_snapshot(&self.path(name)).unwrap();
        let text = snapshot.rope.to_string();
        let at = text.find(from).unwrap();
        let changes = ChangeSet::new(text.len(), vec![Edit::new(at..at + from.len(), to)]).unwrap();
        DiskOp::Edit { path: self.path(name), base_hash: snapshot.hash(), changes }
    }

    fn delete(&self, name: &str) -> DiskOp {
        let path = self.path(name);
        DiskOp::Delete { base_hash: self.vfs.content_hash(&path).unwrap(), path }
    }

    fn rename(&self, from: &str, to: &str) -> DiskOp {
        let from = self.path(from);
        DiskOp::Rename { base_hash: self.vfs.content_hash(&from).unwrap(), from, to: self.path(to) }
    }

    fn create(&self, name: &str, text: &str) -> DiskOp {
        DiskOp::Create { path: self.path(name), text: text.to_owned() }
    }

    /// Every file below the folder, with its bytes.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.folder.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(self.folder.path()).unwrap().display().to_string();
                    files.push((name, fs::read(&path).unwrap_or_default()));
                }
            }
        }
        files.sort();
        files
    }
}

#[track_caller]
fn check(case: &Case, expected: &[(&str, &str)]) {
    let files: Vec<_> = case
        .files()
        .into_iter()
        .map(|(n, b)| (n, String::from_utf8_lossy(&b).into_owned()))
        .collect();
    let expected: Vec<_> =
        expected.iter().map(|(n, t)| ((*n).to_owned(), (*t).to_owned())).collect();
    assert_eq!(files, expected);
}

#[test]
fn all_steps_happen_and_all_come_back() {
    let case = case(&[("a.txt", b"one\r\ntwo\r\n"), ("b.txt", b"b\n"), ("c.bin", b"\0c")]);
    let before = case.files();
    let done = case
        .vfs
        .commit(vec![
            case.edit("a.txt", "two", "2"),
            case.create("new/deep/d.txt", "d\n"),
            case.delete("b.txt"),
            case.rename("c.bin", "moved/c.bin"),
        ])
        .unwrap();
    check(&case, &[("a.txt", "one\r\n2\r\n"), ("moved/c.bin", "\0c"), ("new/deep/d.txt", "d\n")]);
    let stored = serde_json::to_string(&done.undo).unwrap();
    let undo = serde_json::from_str(&stored).unwrap();
    // Another process may undo it.
    vfs(case.state.path()).revert(&undo).unwrap();
    assert_eq!(case.files(), before);
    assert!(!case.path("new").exists() && !case.path("moved").exists(), "folders go too");
}

#[test]
fn steps_see_those_before_them() {
    let case = case(&[("a.txt", b"one\n")]);
    let edit = case.edit("a.txt", "one", "two");
    let after = crate::snapshot::hash_bytes(b"two\n");
    let rename =
        DiskOp::Rename { from: case.path("a.txt"), to: case.path("b.txt"), base_hash: after };
    let done = case.vfs.commit(vec![edit, rename, case.create("a.txt", "new\n")]).unwrap();
    check(&case, &[("a.txt", "new\n"), ("b.txt", "two\n")]);
    case.vfs.revert(&done.undo).unwrap();
    check(&case, &[("a.txt", "one\n")]);
}

/// Moves these files, `a>b`, and back again.
#[track_caller]
fn check_moves(moves: &[&str], expected: &[(&str, &str)]) {
    let case = case(&[("a", b"A"), ("b", b"\0B"), ("c", b"C")]);
    let before = case.files();
    let ops = moves.iter().map(|it| it.split_once('>').unwrap());
    let done = case.vfs.commit(ops.map(|(from, to)| case.rename(from, to)).collect()).unwrap();
    check(&case, expected);
    case.vfs.revert(&done.undo).unwrap();
    assert_eq!(case.files(), before);
}

#[test]
fn files_can_change_places() {
    check_moves(&["a>b", "b>a"], &[("a", "\0B"), ("b", "A"), ("c", "C")]);
    check_moves(&["a>b", "b>c", "c>a"], &[("a", "C"), ("b", "A"), ("c", "\0B")]);
    check_moves(&["a>b", "b>d/e"], &[("b", "A"), ("c", "C"), ("d/e", "\0B")]);
    check_moves(&["b>n", "a>b"], &[("b", "A"), ("c", "C"), ("n", "\0B")]);
    let case = case(&[("a", b"A"), ("b", b"B")]);
    let before = case.files();
    let error = case.vfs.commit(vec![case.rename("a", "b")]).unwrap_err();
    assert!(matches!(error, CommitError::Exists { .. }), "{error}");
    assert_eq!(case.files(), before);
}

#[test]
fn other_names_of_a_moved_file_are_not_changed_with_it() {
    let case = case(&[("a", b"A"), ("b", b"B")]);
    fs::hard_link(case.path("a"), case.path("other")).unwrap();
    fs::hard_link(case.path("b"), case.path("more")).unwrap();
    case.vfs.commit(vec![case.rename("a", "b"), case.rename("b", "a")]).unwrap();
    check(&case, &[("a", "B"), ("b", "A"), ("more", "B"), ("other", "A")]);
}

#[test]
fn a_failure_in_the_middle_changes_nothing() {
    let case = case(&[("a.txt", b"one\n"), ("file", b"x\n"), ("z.txt", b"z\n")]);
    let before = case.files();
    let ops = vec![
        case.edit("a.txt", "one", "two"),
        case.create("d/e", "e\n"),
        case.delete("z.txt"),
        case.create("file/below", ""),
    ];
    case.vfs.commit(ops).unwrap_err();
    assert_eq!(case.files(), before);
    assert!(!case.path("d").exists());
    assert_eq!(fs::read_dir(case.state.path().join("journal")).unwrap().count(), 0);
}

#[test]
fn what_changed_since_or_exists_is_never_overwritten() {
    let case = case(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
    let (edit, delete) = (case.edit("a.txt", "one", "two"), case.delete("a.txt"));
    fs::write(case.path("a.txt"), "ONE\n").unwrap();
    assert!(matches!(case.vfs.commit(vec![edit]), Err(CommitError::Changed { .. })));
    assert!(matches!(case.vfs.commit(vec![delete]), Err(CommitError::Changed { .. })));
    assert!(matches!(
        case.vfs.commit(vec![case.create("b.txt", "")]),
        Err(CommitError::Exists { .. })
    ));
    assert!(matches!(
        case.vfs.commit(vec![case.rename("a.txt", "b.txt")]),
        Err(CommitError::Exists { .. })
    ));
    assert!(matches!(
        case.vfs.commit(vec![case.rename("a.txt", "a.txt")]),
        Err(CommitError::Exists { .. })
    ));
    symlink("nowhere", case.path("link")).unwrap();
    assert!(matches!(
        case.vfs.commit(vec![case.create("link", "")]),
        Err(CommitError::Exists { .. })
    ));
    check(&case, &[("a.txt", "ONE\n"), ("b.txt", "b\n"), ("link", "")]);
}

#[test]
fn only_the_content_counts_not_the_time() {
    let case = case(&[("a.txt", b"one\n")]);
    let edit = case.edit("a.txt", "one", "two");
    filetime::set_file_mtime(case.path("a.txt"), filetime::FileTime::from_unix_time(1, 0)).unwrap();
    case.vfs.commit(vec![edit]).unwrap();
    check(&case, &[("a.txt", "two\n")]);
}

#[test]
fn a_link_is_written_through_and_deleted_itself() {
    let case = case(&[("dir/target.txt", b"one\n")]);
    symlink("dir/target.txt", case.path("link")).unwrap();
    case.vfs.commit(vec![case.edit("link", "one", "two")]).unwrap();
    assert!(case.path("link").is_symlink());
    assert_eq!(fs::read(case.path("dir/target.txt")).unwrap(), b"two\n");
    let done = case.vfs.commit(vec![case.delete("link")]).unwrap();
    check(&case, &[("dir/target.txt", "two\n")]);
    case.vfs.revert(&done.undo).unwrap();
    assert_eq!(fs::read_link(case.path("link")).unwrap(), Path::new("dir/target.txt"));
}

#[test]
fn mode_attributes_and_other_names_stay() {
    let case = case(&[("a.sh", b"one\n")]);
    let path = case.path("a.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    let has_attributes =
        rustix::fs::setxattr(&path, c"user.note", b"kept", rustix::fs::XattrFlags::empty()).is_ok();
    case.vfs.commit(vec![case.edit("a.sh", "one", "two")]).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o751);
    if has_attributes {
        let mut value = [0; 9];
        let len = rustix::fs::getxattr(&path, c"user.note", &mut value).unwrap();
        assert_eq!(&value[..len], b"kept");
    }
    fs::hard_link(&path, case.path("other")).unwrap();
    case.vfs.commit(vec![case.edit("a.sh", "two", "three")]).unwrap();
    check(&case, &[("a.sh", "three\n"), ("other", "three\n")]);
}

#[test]
fn read_only_files_and_folders_are_refused() {
    let case = case(&[("a.txt", b"one\n"), ("d/x", b"x\n")]);
    let edit = case.edit("a.txt", "one", "two");
    fs::set_permissions(case.path("a.txt"), fs::Permissions::from_mode(0o444)).unwrap();
    assert!(matches!(case.vfs.commit(vec![edit]), Err(CommitError::ReadOnly { .. })));
    let folder = DiskOp::Delete { path: case.path("d"), base_hash: [0; 32] };
    assert!(matches!(case.vfs.commit(vec![folder]), Err(CommitError::NotAFile { .. })));
}

#[test]
fn a_new_file_takes_the_repositorys_line_ending() {
    let case = case(&[(".gitattributes", b"* eol=crlf\n")]);
    case.vfs.commit(vec![case.create("a.txt", "x\ny\n")]).unwrap();
    assert_eq!(fs::read(case.path("a.txt")).unwrap(), b"x\r\ny\r\n");
    assert_eq!(
        case.vfs.snapshot(&Location::disk(case.path("a.txt"))).unwrap().format.eol,
        crate::format::Eol::Crlf
    );
}

#[test]
fn a_new_text_means_what_it_says() {
    let settings =
        b"root = true\n[*]\ninsert_final_newline = true\n[*.md]\ninsert_final_newline = unset\n";
    let case = case(&[(".editorconfig", settings)]);
    let ops = vec![
        case.create("a", "x"),
        case.create("b.md", "x"),
        case.create("c", "x\r\ny\n"),
        case.create("d", ""),
    ];
    case.vfs.commit(ops).unwrap();
    let text = |name: &str| fs::read_to_string(case.path(name)).unwrap();
    assert_eq!([text("a"), text("b.md"), text("c"), text("d")], ["x\n", "x", "x\r\ny\n", ""]);
}

#[test]
fn undo_leaves_what_somebody_changed_since() {
    let case = case(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
    let done =
        case.vfs.commit(vec![case.edit("a.txt", "one", "two"), case.delete("b.txt")]).unwrap();
    fs::write(case.path("a.txt"), "typed\n").unwrap();
    assert!(matches!(case.vfs.revert(&done.undo), Err(CommitError::Changed { .. })));
    check(&case, &[("a.txt", "typed\n")]);
}

#[test]
fn what_a_dead_process_left_half_done_is_taken_back() {
    let case = case(&[("a.txt", b"one\n"), ("b.txt", b"b\n")]);
    let undo =
        case.vfs.commit(vec![case.edit("a.txt", "one", "two"), case.delete("b.txt")]).unwrap().undo;
    // As after a crash between the two: the record is there, the second file was not reached.
    fs::write(case.path("b.txt"), "b\n").unwrap();
    let temporary = case.path(&format!(".copydesk-{}-x.tmp", std::process::id()));
    fs::write(&temporary, "half").unwrap();
    let held = case.vfs.journal().begin(&undo, None).unwrap();
    assert_eq!(vfs(case.state.path()).recover(), Vec::<PathBuf>::new(), "its process lives");
    drop(held);
    assert_eq!(vfs(case.state.path()).recover().len(), 1);
    check(&case, &[("a.txt", "one\n"), ("b.txt", "b\n")]);
    assert_eq!(vfs(case.state.path()).recover(), Vec::<PathBuf>::new(), "only once");
}

#[test]
fn what_took_place_and_was_not_logged_is_known_to_its_owner_once() {
    let case = case(&[("a.txt", b"one\n")]);
    let ops = vec![case.edit("a.txt", "one", "two"), case.create("d/new.txt", "new\n")];
    let (done, mut receipt) = case.vfs.commit_for(ops, ("session", "call")).unwrap();
    receipt.took_place();
    let journal = case.state.path().join("journal");
    let record = fs::read_dir(&journal).unwrap().next().unwrap().unwrap().path();
    let later = vfs(case.state.path());
    assert!(later.unlogged("session").is_empty(), "its process lives");
    let bytes = fs::read(&record).unwrap();
    drop(receipt);
    assert_eq!(fs::read_dir(&journal).unwrap().count(), 0, "it is logged");
    // As after a crash in between.
    fs::write(&record, bytes).unwrap();
    assert_eq!(later.recover(), Vec::<PathBuf>::new(), "it took place");
    assert!(later.unlogged("another").is_empty());
    let unlogged = later.unlogged("session").remove(0);
    assert_eq!((&unlogged.undo, unlogged.owned.name.as_str()), (&done.undo, "call"));
    assert_eq!(unlogged.owned.paths, [case.path("a.txt"), case.path("d/new.txt")]);
    assert!(later.unlogged("session").is_empty(), "somebody is at it");
    drop(unlogged);
    assert!(later.unlogged("session").is_empty());
    assert_eq!(fs::read_dir(&journal).unwrap().count(), 0);
}

#[test]
fn what_its_owner_has_not_kept_yet_is_taken_back_the_last_first() {
    let case = case(&[("a.txt", b"one\n")]);
    let commit = |old: &str, new: &str| {
        case.vfs.commit_for(vec![case.edit("a.txt", old, new)], ("session", "call")).unwrap().1
    };
    let receipts = [commit("one", "two"), commit("two", "three")];
    let journal = case.state.path().join("journal");
    let records: Vec<_> = fs::read_dir(&journal)
        .unwrap()
        .map(|it| it.unwrap().path())
        .map(|it| (fs::read(&it).unwrap(), it))
        .collect();
    assert_eq!(vfs(case.state.path()).recover(), Vec::<PathBuf>::new(), "its process lives");
    drop(receipts);
    // As after a crash.
    for (bytes, record) in records {
        fs::write(record, bytes).unwrap();
    }
    assert_eq!(vfs(case.state.path()).recover().len(), 2);
    check(&case, &[("a.txt", "one\n")]);
}

use std::fs;
use std::os::unix::fs::PermissionsExt;

use text::{LineBreaks, Unit};

use super::*;
use crate::document::Origin;
use crate::location::Location;
use crate::store::Options;
use crate::{DiskOp, TextChange};

/// A workspace on disk, looked at before and after something happens to it.
struct Desk {
    folder: tempfile::TempDir,
    vfs: Vfs,
}

impl Desk {
    fn new(files: &[(&str, &str)]) -> Desk {
        let options = Options { unit: Unit::Utf8, breaks: LineBreaks::Lsp, state_dir: None };
        let desk = Desk { folder: tempfile::tempdir().unwrap(), vfs: Vfs::new(options) };
        for (name, text) in files {
            desk.write(name, text);
        }
        desk
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn before(&self) -> Before {
        let roots = Roots::new([self.folder.path().to_owned()]);
        self.vfs.before_command(&roots, &[]).unwrap()
    }

    fn told(&self, changes: &Changes) -> Vec<String> {
        let side =
            |bytes: &[u8], mode: u32| format!("{:?} {mode:o}", String::from_utf8_lossy(bytes));
        let line = |it: &FileChange| {
            let name = it.path.strip_prefix(self.folder.path()).unwrap().display().to_string();
            let before = match &it.before {
                Was::Nothing => "nothing".to_owned(),
                Was::Bytes { bytes, mode } => side(bytes, *mode),
                Was::Git { blob, .. } => format!("git {}", blob.id),
                Was::Unknown => "unknown".to_owned(),
            };
            let after = match &it.after {
                Is::Nothing => "nothing".to_owned(),
                Is::Bytes { bytes, mode } => side(bytes, *mode),
                Is::Other(what) => (*what).to_owned(),
            };
            format!("{name}: {before} -> {after}")
        };
        changes.files.iter().map(line).collect()
    }

    #[track_caller]
    fn check(&self, act: impl FnOnce(), expected: &[&str]) {
        let before = self.before();
        act();
        let (changes, _) = before.changes().unwrap();
        assert_eq!(self.told(&changes), expected);
    }

    fn open(&self, name: &str) -> Location {
        let location = Location::disk(self.at(name));
        let text = fs::read_to_string(self.at(name)).unwrap();
        self.vfs.open(location.clone(), "text", 1, &text);
        location
    }
}

#[test]
fn changed_new_and_deleted_files_are_found() {
    let desk = Desk::new(&[("a", "one\n"), ("b/c", "two\n"), ("d", "same\n")]);
    desk.check(
        || {
            desk.write("a", "uno\n");
            fs::remove_file(desk.at("b/c")).unwrap();
            desk.write("b/new", "three\n");
        },
        &[
            "a: \"one\\n\" 644 -> \"uno\\n\" 644",
            "b/c: \"two\\n\" 644 -> nothing",
            "b/new: nothing -> \"three\\n\" 644",
        ],
    );
}

#[test]
fn what_was_written_without_a_change_is_nothing() {
    let desk = Desk::new(&[("a", "one\n")]);
    desk.check(|| desk.write("a", "one\n"), &[]);
    desk.check(
        || {
            fs::rename(desk.at("a"), desk.at("b"))
                .and_then(|()| fs::rename(desk.at("b"), desk.at("a")))
                .unwrap()
        },
        &[],
    );
}

#[test]
fn a_change_of_mode_alone_is_found() {
    let desk = Desk::new(&[("a", "one\n")]);
    desk.check(
        || fs::set_permissions(desk.at("a"), fs::Permissions::from_mode(0o755)).unwrap(),
        &["a: \"one\\n\" 644 -> \"one\\n\" 755"],
    );
}

#[test]
fn ignored_files_and_secrets_are_not_copied() {
    let desk = Desk::new(&[(".gitignore", "out/\n"), ("out/x", "1\n"), (".env", "KEY=1\n")]);
    desk.check(
        || {
            desk.write("out/x", "2\n");
            desk.write(".env", "KEY=2\n");
        },
        &[".env: unknown -> secret"],
    );
}

#[test]
fn files_that_come_into_view_were_not_made() {
    let desk = Desk::new(&[(".gitignore", "out/\n"), ("out/x", "1\n")]);
    // Only files that are older than the command can be told from new ones.
    while Stamp::at(&desk.at("out/x")).unwrap().is_young() {
        std::thread::yield_now();
    }
    desk.check(|| desk.write(".gitignore", "\n"), &[".gitignore: \"out/\\n\" 644 -> \"\\n\" 644"]);
    desk.check(
        || desk.write(".gitignore", "out/\n"),
        &[".gitignore: \"\\n\" 644 -> \"out/\\n\" 644"],
    );
}

#[test]
fn links_are_named_and_not_followed() {
    let desk = Desk::new(&[("a", "one\n"), ("b", "two\n")]);
    desk.check(
        || {
            fs::remove_file(desk.at("a")).unwrap();
            std::os::unix::fs::symlink("b", desk.at("a")).unwrap();
        },
        &["a: \"one\\n\" 644 -> symbolic link"],
    );
}

#[test]
fn our_own_writes_are_not_the_commands() {
    let desk = Desk::new(&[("a", "one\n"), ("b", "two\n")]);
    let create = |name: &str| {
        let op = DiskOp::Create { path: desk.at(name), text: "ours\n".to_owned() };
        desk.vfs.commit(vec![op]).unwrap();
    };
    desk.check(|| create("c"), &[]);
    // What the command does to it afterwards is.
    desk.check(
        || {
            create("d");
            desk.write("d", "theirs\n");
        },
        &["d: \"ours\\n\" 644 -> \"theirs\\n\" 644"],
    );
}

#[test]
fn what_the_editor_saves_is_not_the_commands() {
    let desk = Desk::new(&[("a", "one\n")]);
    let location = desk.open("a");
    desk.check(
        || {
            let change = TextChange { range: None, text: "typed\n".to_owned() };
            desk.vfs.change(&location, 2, vec![change]).unwrap();
            desk.write("a", "typed\n");
            desk.vfs.saved(&location, None);
        },
        &[],
    );
}

#[test]
fn two_commands_do_not_tell_of_the_same_change() {
    let desk = Desk::new(&[("a", "one\n"), ("b", "two\n")]);
    let (first, second) = (desk.before(), desk.before());
    desk.write("a", "uno\n");
    let (changes, first) = first.changes().unwrap();
    assert_eq!(desk.told(&changes), ["a: \"one\\n\" 644 -> \"uno\\n\" 644"]);
    desk.write("b", "due\n");
    let (changes, _) = second.changes().unwrap();
    assert_eq!(desk.told(&changes), ["b: \"two\\n\" 644 -> \"due\\n\" 644"]);
    // A job goes on from where it was last looked at.
    desk.write("a", "eins\n");
    let (changes, _) = first.changes().unwrap();
    assert_eq!(desk.told(&changes), ["a: \"uno\\n\" 644 -> \"eins\\n\" 644"]);
}

#[test]
fn too_many_changes_are_counted() {
    let desk = Desk::new(&[("a", "one\n")]);
    let before = desk.before();
    for number in 0..=MAX_CHANGED {
        desk.write(&format!("many/{number:04}"), "x");
    }
    let (changes, _) = before.changes().unwrap();
    assert!(changes.files.is_empty());
    let (names, count) = changes.many.unwrap();
    assert_eq!((names.len(), count), (20, MAX_CHANGED + 1));
    assert_eq!(names[0], desk.at("many/0000"));
}

#[test]
fn a_file_that_grows_large_is_named() {
    let desk = Desk::new(&[("a", "one\n")]);
    let before = desk.before();
    let file = fs::File::create(desk.at("a")).unwrap();
    file.set_len(MAX_COMPARED + 1).unwrap();
    let (changes, _) = before.changes().unwrap();
    assert_eq!(desk.told(&changes), ["a: \"one\\n\" 644 -> large file"]);
}

#[test]
fn a_change_goes_back_byte_for_byte() {
    let desk = Desk::new(&[("a", "one\r\ntwo\n")]);
    let before = desk.before();
    desk.write("a", "zero\n");
    fs::set_permissions(desk.at("a"), fs::Permissions::from_mode(0o755)).unwrap();
    let (changes, _) = before.changes().unwrap();
    let change = &changes.files[0];
    let (Was::Bytes { bytes: old, mode }, Is::Bytes { bytes: new, mode: now }) =
        (&change.before, &change.after)
    else {
        panic!("{change:?}");
    };
    let undo = desk.vfs.keep_change(&change.real, Some((old, *mode)), Some((new, *now))).unwrap();
    desk.vfs.revert(&undo).unwrap();
    assert_eq!(fs::read(desk.at("a")).unwrap(), b"one\r\ntwo\n");
    assert_eq!(fs::metadata(desk.at("a")).unwrap().permissions().mode() & 0o777, 0o644);
}

#[test]
fn a_reload_is_told_from_typing() {
    let desk = Desk::new(&[("a", "one\n")]);
    let location = desk.open("a");
    let start = desk.vfs.document(&location).unwrap().generation;
    let change = |version: i32, text: &str| {
        let change = TextChange { range: None, text: text.to_owned() };
        desk.vfs.change(&location, version, vec![change]).unwrap();
    };
    let origins = || -> Vec<Origin> {
        desk.vfs.steps_since(&location, start).unwrap().iter().map(|it| it.origin).collect()
    };
    let dirty = || desk.vfs.document(&location).unwrap().dirty;
    desk.write("a", "uno\r\n");
    change(2, "uno\n");
    assert_eq!((origins(), dirty()), (vec![Origin::Disk], crate::Dirty::Clean));
    change(3, "uno!\n");
    assert_eq!(origins(), [Origin::Disk, Origin::Editor]);
    assert_eq!(dirty(), crate::Dirty::Person);
    // Typing that was saved before it was told is typing.
    desk.write("a", "uno!\n");
    desk.vfs.saved(&location, None);
    desk.write("a", "due\n");
    change(4, "due\n");
    desk.vfs.saved(&location, None);
    assert_eq!(origins(), [Origin::Disk, Origin::Editor, Origin::Editor]);
    // Typing the same text again is no reload.
    change(5, "x");
    change(6, "due\n");
    assert_eq!(dirty(), crate::Dirty::Person);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(48))]
    /// Whatever happens to a few files, what is found is what differs.
    #[test]
    fn what_is_found_is_what_differs(
        first in proptest::collection::vec(proptest::option::of(0_u8..3), 5),
        steps in proptest::collection::vec((0_usize..5, proptest::option::of(0_u8..3)), 0..12),
    ) {
        let desk = Desk::new(&[]);
        let name = |index: usize| format!("d{}/f{index}", index % 2);
        let put = |index: usize, content: Option<u8>| match content {
            Some(content) => desk.write(&name(index), &format!("text {content}\n")),
            None => drop(fs::remove_file(desk.at(&name(index)))),
        };
        let look = |index: usize| fs::read_to_string(desk.at(&name(index))).ok();
        for (index, content) in first.iter().enumerate() {
            put(index, *content);
        }
        let then: Vec<Option<String>> = (0..5).map(look).collect();
        let before = desk.before();
        for (index, content) in steps {
            put(index, content);
        }
        let now: Vec<Option<String>> = (0..5).map(look).collect();
        let (changes, _) = before.changes().unwrap();
        let side = |text: &Option<String>| {
            text.as_ref().map_or("nothing".to_owned(), |it| format!("{it:?} 644"))
        };
        let mut expected: Vec<String> = (0..5)
            .filter(|it| then[*it] != now[*it])
            .map(|it| format!("{}: {} -> {}", name(it), side(&then[it]), side(&now[it])))
            .collect();
        expected.sort();
        proptest::prop_assert_eq!(desk.told(&changes), expected);
    }
}

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::*;
use crate::Options;
use crate::transaction::DiskOp;

struct Place {
    folder: tempfile::TempDir,
    vfs: Vfs,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let vfs = Vfs::new(Options {
            unit: text::Unit::Utf8,
            breaks: text::LineBreaks::Lf,
            state_dir: Some(folder.path().join("state")),
        });
        Place { folder, vfs }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// An image of `len` equal bytes, last used `age` seconds ago.
    fn image(&self, byte: u8, len: usize, age: u64) -> [u8; 32] {
        let blob = self.vfs.keep_blob(&vec![byte; len]).unwrap();
        let path = files(&self.path("state/blobs"))
            .into_iter()
            .find(|path| fs::read(path).unwrap().first() == Some(&byte))
            .unwrap();
        let used = SystemTime::now() - Duration::from_secs(age);
        File::open(path).unwrap().set_modified(used).unwrap();
        blob
    }

    #[track_caller]
    fn check(&self, limit: u64, needed: &[[u8; 32]], expected: Pruned) {
        let needed: HashSet<[u8; 32]> = needed.iter().copied().collect();
        assert_eq!(self.vfs.prune_images(limit, &needed).unwrap(), expected);
    }
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let folders = fs::read_dir(folder).unwrap().flatten();
    folders.flat_map(|it| fs::read_dir(it.path()).unwrap().flatten()).map(|it| it.path()).collect()
}

#[test]
fn the_images_used_longest_ago_go_first() {
    let place = Place::new();
    let [old, middle, new] =
        [(b'a', 300), (b'b', 200), (b'c', 100)].map(|(byte, age)| place.image(byte, 1000, age));
    place.check(3000, &[], Pruned { dropped: 0, left: 3000 });
    place.check(2000, &[], Pruned { dropped: 1, left: 2000 });
    assert!(place.vfs.blob(old).is_err());
    // Keeping the same bytes again is using them.
    place.vfs.keep_blob(&[b'b'; 1000]).unwrap();
    place.check(1500, &[], Pruned { dropped: 1, left: 1000 });
    assert!(place.vfs.blob(new).is_err());
    assert_eq!(place.vfs.blob(middle).unwrap(), vec![b'b'; 1000]);
}

#[test]
fn what_is_needed_or_young_stays_whatever_the_limit() {
    let place = Place::new();
    let needed = place.image(b'a', 1000, 300);
    place.image(b'b', 1000, 300);
    let young = place.image(b'c', 1000, 1);
    place.check(0, &[needed], Pruned { dropped: 1, left: 2000 });
    assert!(place.vfs.blob(needed).is_ok() && place.vfs.blob(young).is_ok());
}

#[test]
fn images_of_a_transaction_under_way_stay() {
    let place = Place::new();
    let blob = place.image(b'a', 10, 300);
    let undo = crate::Undo {
        entries: vec![crate::UndoEntry {
            path: place.path("x"),
            before: Some(Image::File { blob, mode: 0o644, extras: crate::Extras::default() }),
            after: None,
        }],
        folders: Vec::new(),
    };
    let journal = place.path("state/journal");
    fs::create_dir_all(&journal).unwrap();
    fs::write(journal.join("1-0.json"), serde_json::to_vec(&undo).unwrap()).unwrap();
    place.check(0, &[], Pruned { dropped: 0, left: 10 });
    fs::remove_file(journal.join("1-0.json")).unwrap();
    place.check(0, &[], Pruned { dropped: 1, left: 0 });
}

#[test]
fn a_dropped_image_is_kept_again_when_it_is_needed_again() {
    let place = Place::new();
    let blob = place.image(b'a', 10, 300);
    place.check(0, &[], Pruned { dropped: 1, left: 0 });
    assert_eq!(place.vfs.keep_blob(&[b'a'; 10]).unwrap(), blob);
    assert!(place.vfs.fresh_images() >= 10);
    assert!(place.vfs.blob(blob).is_ok());
}

#[test]
fn what_stands_is_what_a_transaction_recorded() {
    let place = Place::new();
    let path = place.path("a.txt");
    fs::write(&path, b"caf\xe9\r\n").unwrap();
    let before = place.vfs.standing(&path).unwrap().unwrap();
    assert!(place.vfs.image_text(&before.image).is_err(), "looking keeps nothing");
    let base = place.vfs.disk_snapshot(&path).unwrap();
    let changes = text::ChangeSet::whole(&base.rope, "caf\u{e9}s\r\n");
    let op = DiskOp::Edit { path: path.clone(), base_hash: base.hash(), changes };
    let committed = place.vfs.commit(vec![op]).unwrap();
    let entry = &committed.undo.entries[0];
    assert_eq!(entry.before.as_ref(), Some(&before.image));
    let now = place.vfs.standing(&path).unwrap().unwrap();
    assert_eq!(entry.after.as_ref(), Some(&now.image));
    assert!(now.image.same_content(&now.image) && !now.image.same_content(&before.image));
    assert_eq!(place.vfs.image_text(&now.image).unwrap(), now.text);
    assert!(place.vfs.standing(&place.path("none")).unwrap().is_none());
}

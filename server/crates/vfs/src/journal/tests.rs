use super::*;

struct Place {
    folder: tempfile::TempDir,
    journal: Journal,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    Place { journal: Journal::new(Some(folder.path().to_owned())), folder }
}

impl Place {
    fn content(text: &str) -> Content {
        Content::from(text.as_bytes().to_vec())
    }

    /// What another process finds.
    fn anew(&self) -> Journal {
        Journal::new(Some(self.folder.path().to_owned()))
    }

    fn files(&self, hash: [u8; 32]) -> (bool, bool) {
        let path = blob_path(self.folder.path(), hash);
        (fs::metadata(unsettled_path(&path)).is_ok(), fs::metadata(&path).is_ok())
    }
}

#[test]
fn what_is_kept_soon_is_there_for_another_process_at_once() {
    let place = place();
    let hash = place.journal.keep_soon(&Place::content("text")).unwrap();
    assert!(!place.journal.is_settled());
    assert_eq!(place.files(hash), (true, false));
    assert_eq!(place.journal.get(hash).unwrap(), b"text");
    assert_eq!(place.anew().get(hash).unwrap(), b"text");
}

#[test]
fn settling_gives_it_its_last_name() {
    let place = place();
    let hash = place.journal.keep_soon(&Place::content("text")).unwrap();
    place.journal.settle();
    assert!(place.journal.is_settled());
    assert_eq!(place.files(hash), (false, true));
    assert_eq!(place.journal.get(hash).unwrap(), b"text");
    place.journal.keep_soon(&Place::content("text")).unwrap();
    assert!(place.journal.is_settled(), "it is synced already");
}

#[test]
fn a_before_image_is_synced_even_where_it_was_kept_soon() {
    let place = place();
    let hash = place.journal.keep_soon(&Place::content("text")).unwrap();
    place.journal.keep_content(&Place::content("text")).unwrap();
    assert!(place.journal.is_settled());
    assert_eq!(place.files(hash), (false, true));
}

#[test]
fn what_another_process_left_unsynced_is_not_believed() {
    let place = place();
    let hash = place.journal.keep_soon(&Place::content("text")).unwrap();
    // A power cut can leave the right length.
    fs::write(unsettled_path(&blob_path(place.folder.path(), hash)), b"\0\0\0\0").unwrap();
    let journal = place.anew();
    assert_eq!(journal.get(hash).unwrap_err().kind(), io::ErrorKind::InvalidData);
    journal.keep_content(&Place::content("text")).unwrap();
    assert_eq!(journal.get(hash).unwrap(), b"text");
    assert_eq!(place.files(hash), (false, true));
}

#[test]
fn what_was_dropped_before_it_was_settled_is_written_again() {
    let place = place();
    let hash = place.journal.keep_soon(&Place::content("text")).unwrap();
    fs::remove_file(unsettled_path(&blob_path(place.folder.path(), hash))).unwrap();
    place.journal.keep_content(&Place::content("text")).unwrap();
    assert_eq!(place.journal.get(hash).unwrap(), b"text");
}

#[test]
fn what_a_transaction_under_way_needs_stays_under_either_name() {
    let place = place();
    let hash = place.journal.keep_soon(&Place::content("text")).unwrap();
    let path = unsettled_path(&blob_path(place.folder.path(), hash));
    let old = SystemTime::now() - 10 * YOUNG;
    File::options().write(true).open(&path).unwrap().set_modified(old).unwrap();
    let needed = HashSet::from([hash]);
    assert_eq!(place.journal.prune(0, &needed).unwrap(), Pruned { dropped: 0, left: 4 });
    let dropped = Pruned { dropped: 1, left: 0 };
    assert_eq!(place.journal.prune(0, &HashSet::new()).unwrap(), dropped);
}

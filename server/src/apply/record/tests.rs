#![allow(clippy::disallowed_methods, reason = "the test makes files look old")]

use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use serde_json::json;

use super::*;

/// A store whose images were all used long ago.
fn store(folder: &Path, images: &[&str]) -> (Vfs, Vec<[u8; 32]>) {
    let vfs = Vfs::new(vfs::Options {
        unit: text::Unit::Utf8,
        breaks: text::LineBreaks::Lf,
        state_dir: Some(folder.to_owned()),
    });
    let blobs = images.iter().map(|it| vfs.keep_blob(it.as_bytes()).unwrap()).collect();
    let long_ago = SystemTime::now() - Duration::from_secs(3_600);
    for dir in fs::read_dir(folder.join("blobs")).unwrap().flatten() {
        for file in fs::read_dir(dir.path()).unwrap().flatten() {
            File::open(file.path()).unwrap().set_modified(long_ago).unwrap();
        }
    }
    (vfs, blobs)
}

#[test]
fn images_that_pending_changes_of_any_folder_name_are_not_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let (vfs, blobs) = store(folder.path(), &["needed", "also needed", "not needed"]);
    let image = |blob: &[u8; 32]| json!({ "File": { "blob": blob, "mode": 0o644 } });
    for (project, name, blob) in
        [("a", "review.json", &blobs[0]), ("b", "review-2.json", &blobs[1])]
    {
        let kept = json!({ "file": { "undo": { "entries": [{ "before": image(blob) }] } } });
        let mut bytes = Vec::new();
        checked::push(&mut bytes, &kept).unwrap();
        let path = folder.path().join("projects").join(project).join(name);
        state::write_private(&path, &bytes).unwrap();
    }
    drop_old_images(&vfs, folder.path(), 1 << 20);
    assert!(blobs.iter().all(|it| vfs.blob(*it).is_ok()), "there is room");
    drop_old_images(&vfs, folder.path(), 0);
    let left: Vec<bool> = blobs.iter().map(|it| vfs.blob(*it).is_ok()).collect();
    assert_eq!(left, [true, true, false]);
}

#[test]
fn a_damaged_list_of_pending_changes_does_not_keep_images_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let (vfs, blobs) = store(folder.path(), &["old"]);
    let path = folder.path().join("projects/a/review.json");
    state::write_private(&path, b"{\"files\": [").unwrap();
    drop_old_images(&vfs, folder.path(), 0);
    assert!(vfs.blob(blobs[0]).is_err());
}

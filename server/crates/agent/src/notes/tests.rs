use super::*;
use vfs::state::TempDir;

#[track_caller]
fn check(notes: &Notes, expected: Option<&str>) {
    assert_eq!(notes.take().as_deref(), expected);
}

#[test]
fn notes_are_taken_once_whoever_left_them() {
    let dir = TempDir::with_files([]).unwrap();
    leave(dir.path(), "before it was\nopen").unwrap();
    let notes = Notes::new(Some(dir.path().to_owned()));
    notes.add("since".to_owned());
    check(&notes, Some("before it was\nopen\nsince"));
    check(&notes, None);
    notes.add("not taken".to_owned());
    let again = Notes::new(Some(dir.path().to_owned()));
    check(&again, Some("not taken"));
    check(&notes, None);
}

#[test]
fn notes_without_a_folder_are_told_all_the_same() {
    let notes = Notes::new(None);
    notes.add("one".to_owned());
    notes.add("two".to_owned());
    check(&notes, Some("one\ntwo"));
    check(&notes, None);
}

#[test]
fn many_notes_are_bounded() {
    let notes = Notes::new(None);
    (0..MOST + 2).for_each(|it| notes.add(it.to_string()));
    let told = notes.take().unwrap();
    assert_eq!(told.lines().count(), MOST + 1);
    assert!(told.starts_with("(2 earlier"), "{told}");
    assert!(told.ends_with(&(MOST + 1).to_string()), "{told}");
}

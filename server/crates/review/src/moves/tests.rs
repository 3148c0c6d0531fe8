//! Moves of files and decisions on them, in every order, over restarts.

use std::collections::BTreeSet;

use proptest::prelude::*;
use text::{ChangeSet, Edit, Rope};

use crate::{Decision, Ledger, Origin, Pick, Plan};

type Name = &'static str;

/// Files on a disk, and the ledger beside them.
#[derive(Clone, Default)]
struct Disk {
    files: std::collections::BTreeMap<Name, String>,
    ledger: Ledger<Name>,
    calls: usize,
}

impl Disk {
    fn with(files: &[(Name, &str)]) -> Disk {
        let files = files.iter().map(|(name, text)| (*name, (*text).to_owned())).collect();
        Disk { files, ..Disk::default() }
    }

    fn origin(&mut self) -> Origin {
        self.calls += 1;
        Origin::of("s", &format!("call-{}", self.calls))
    }

    fn moves(&mut self, from: Name, to: Name) {
        assert!(!self.files.contains_key(to));
        let text = self.files.remove(from).unwrap();
        let origin = self.origin();
        assert!(self.ledger.moved(&from, &to, &Rope::from_str(&text), &origin));
        self.files.insert(to, text);
    }

    fn edits(&mut self, file: Name, old: &str, new: &str) {
        let before = Rope::from_str(&self.files[file]);
        let at = self.files[file].find(old).unwrap();
        let edit = vec![Edit::new(at..at + old.len(), new)];
        let changes = ChangeSet::new(before.len_bytes(), edit).unwrap();
        let origin = self.origin();
        self.ledger.agent_edit(&file, &before, &changes, &origin);
        self.files.insert(file, changes.apply(&before).to_string());
    }

    fn decides(&mut self, picks: &[Pick<Name>], decision: Decision) -> u64 {
        let token = self.ledger.token();
        for (file, mut ids) in self.ledger.pick(picks) {
            let moved = self.ledger.moved_from(&file).map(|(hunk, from)| (hunk.clone(), *from));
            let moved = moved.filter(|(hunk, _)| ids.remove(hunk));
            if !ids.is_empty() {
                if decision == Decision::Reject {
                    let plan = self.ledger.plan_reject(&file, &ids);
                    self.carry_out(file, plan);
                }
                self.ledger.decide(&file, &ids, decision, token);
            }
            if let Some((_, from)) = moved {
                if decision == Decision::Reject {
                    let text = self.files.remove(file).unwrap();
                    assert!(self.files.insert(from, text).is_none());
                }
                self.ledger.decide_move(&file, decision, token);
            }
        }
        token
    }

    fn undoes(&mut self, token: u64) {
        for undoing in self.ledger.plan_undo(token) {
            let mut file = undoing.file;
            if let Some(to) = self.ledger.moves_again(&file, token).copied() {
                let text = self.files.remove(file).unwrap();
                assert!(self.files.insert(to, text).is_none());
                self.ledger.undo_move(&file, token);
                file = to;
            } else {
                self.ledger.undo_move(&file, token);
            }
            self.carry_out(file, undoing.plan);
            self.ledger.undo(&file, token);
        }
    }

    fn carry_out(&mut self, file: Name, plan: Option<Plan>) {
        match plan {
            None => {}
            Some(Plan::Text(changes)) => {
                let text = changes.apply(&Rope::from_str(&self.files[file])).to_string();
                self.files.insert(file, text);
            }
            Some(Plan::Create(text)) => drop(self.files.insert(file, text)),
            Some(Plan::Delete) => drop(self.files.remove(file)),
        }
    }

    fn restarts(&mut self) {
        let mut ledger = Ledger::default();
        ledger.restore(self.ledger.save());
        self.ledger = ledger;
    }

    /// Files as `name: text`, then pending ones as `change name (from)`.
    #[track_caller]
    fn check(&self, files: &str, pending: &str) {
        let on_disk: Vec<String> =
            self.files.iter().map(|(name, text)| format!("{name}: {text}")).collect();
        let views = self.ledger.list();
        let views = views.iter().map(|it| match it.from {
            Some(from) => format!("{:?} {} ({from}) {}", it.change, it.file, it.hunks.len()),
            None => format!("{:?} {} {}", it.change, it.file, it.hunks.len()),
        });
        assert_eq!(
            (&*on_disk.join(", "), &*views.collect::<Vec<_>>().join(", ")),
            (files, pending)
        );
    }
}

const ALL: &[Pick<Name>] = &[Pick::All];

#[test]
fn a_move_is_one_file_with_a_hunk_of_its_own() {
    let mut disk = Disk::with(&[("a", "one\ntwo\n")]);
    disk.moves("a", "b");
    disk.check("b: one\ntwo\n", "Rename b (a) 1");
    assert_eq!(disk.ledger.pending(), 1);
    disk.edits("b", "two", "2");
    disk.check("b: one\n2\n", "Rename b (a) 2");
    let token = disk.decides(ALL, Decision::Reject);
    disk.check("a: one\ntwo\n", "");
    disk.undoes(token);
    disk.check("b: one\n2\n", "Rename b (a) 2");
    let token = disk.decides(ALL, Decision::Accept);
    disk.check("b: one\n2\n", "");
    disk.undoes(token);
    disk.check("b: one\n2\n", "Rename b (a) 2");
}

#[test]
fn text_and_name_are_decided_apart() {
    let mut disk = Disk::with(&[("a", "one\ntwo\n")]);
    disk.moves("a", "b");
    disk.edits("b", "two", "2");
    let (hunk, _) = disk.ledger.moved_from(&"b").unwrap();
    let hunk = hunk.clone();
    let mut name_first = disk.clone();
    let token = name_first.decides(&[Pick::Hunk(hunk.clone())], Decision::Reject);
    name_first.check("a: one\n2\n", "Modify a 1");
    name_first.undoes(token);
    name_first.check("b: one\n2\n", "Rename b (a) 2");
    name_first.decides(&[Pick::Hunk(hunk)], Decision::Accept);
    name_first.check("b: one\n2\n", "Modify b 1");
    disk.decides(&[Pick::Range("b", 0..7)], Decision::Reject);
    disk.check("b: one\ntwo\n", "Rename b (a) 1");
    disk.decides(&[Pick::Session("s".to_owned())], Decision::Reject);
    disk.check("a: one\ntwo\n", "");
}

#[test]
fn moves_after_each_other_are_one() {
    let mut disk = Disk::with(&[("a", "x\n")]);
    disk.moves("a", "b");
    disk.moves("b", "c");
    disk.check("c: x\n", "Rename c (a) 1");
    disk.moves("c", "a");
    disk.check("a: x\n", "");
    disk.moves("a", "b");
    let accepted = disk.decides(ALL, Decision::Accept);
    disk.moves("b", "c");
    disk.check("c: x\n", "Rename c (b) 1");
    disk.undoes(accepted);
    disk.check("c: x\n", "Rename c (a) 1");
    disk.decides(ALL, Decision::Reject);
    disk.check("a: x\n", "");
}

#[test]
fn a_new_file_that_is_moved_stays_new() {
    let mut disk = Disk::default();
    let origin = disk.origin();
    disk.files.insert("a", "x\n".to_owned());
    disk.ledger.created(&"a", "x\n", &origin);
    disk.moves("a", "b");
    disk.check("b: x\n", "Add b 1");
    disk.decides(ALL, Decision::Reject);
    disk.check("", "");
}

#[test]
fn a_moved_file_that_is_deleted_comes_back_under_its_old_name() {
    let mut disk = Disk::with(&[("a", "x\n")]);
    disk.moves("a", "b");
    let origin = disk.origin();
    disk.ledger.deleted(&"b", &Rope::from_str("x\n"), &origin);
    disk.files.remove("b");
    disk.check("", "Delete b (a) 2");
    disk.decides(ALL, Decision::Reject);
    disk.check("a: x\n", "");
}

#[test]
fn nothing_is_moved_over_what_is_pending() {
    let mut disk = Disk::with(&[("a", "x\n"), ("b", "y\n")]);
    let origin = disk.origin();
    disk.ledger.deleted(&"b", &Rope::from_str("y\n"), &origin);
    assert!(!disk.ledger.moved(&"a", &"b", &Rope::from_str("x\n"), &origin));
    disk.check("a: x\n, b: y\n", "Delete b 1");
}

proptest! {
    /// However moves, edits, decisions, undos and restarts follow each other: rejecting what is
    /// pending gives what there was, as far as it was not accepted, and undoing gives it back.
    #[test]
    fn decisions_and_their_undo_hold_in_any_order(steps in prop::collection::vec(0..7u8, 1..24)) {
        let names = ["a", "b", "c"];
        let mut disk = Disk::with(&[("a", "one\ntwo\nthree\n")]);
        let mut now = "a";
        let mut accepted = ("a", "one\ntwo\nthree\n".to_owned());
        for (nth, step) in steps.into_iter().enumerate() {
            match step {
                0..=2 if names[step as usize] != now => {
                    disk.moves(now, names[step as usize]);
                }
                3 => {
                    let line = disk.files[now].lines().nth(nth % 3).unwrap().to_owned();
                    disk.edits(now, &line, &format!("text {nth}"));
                }
                4 => {
                    let before = disk.clone();
                    let token = disk.decides(ALL, Decision::Reject);
                    prop_assert_eq!(disk.ledger.list(), Vec::new());
                    let expected = std::iter::once(accepted.clone()).collect();
                    prop_assert_eq!(&disk.files, &expected);
                    disk.restarts();
                    if nth % 2 == 0 {
                        disk.undoes(token);
                        prop_assert_eq!(&disk.files, &before.files);
                        prop_assert_eq!(disk.ledger.list(), before.ledger.list());
                    }
                }
                5 => {
                    let before = disk.clone();
                    let token = disk.decides(ALL, Decision::Accept);
                    prop_assert_eq!(&disk.files, &before.files);
                    prop_assert_eq!(disk.ledger.list(), Vec::new());
                    if nth % 2 == 0 {
                        disk.undoes(token);
                        prop_assert_eq!(disk.ledger.list(), before.ledger.list());
                    } else {
                        let (name, text) = disk.files.iter().next().unwrap();
                        accepted = (*name, text.clone());
                    }
                }
                6 => {
                    let before = disk.ledger.list();
                    disk.restarts();
                    prop_assert_eq!(disk.ledger.list(), before);
                }
                _ => {}
            }
            now = disk.files.keys().next().unwrap();
        }
        let ids: BTreeSet<String> =
            disk.ledger.list().into_iter().flat_map(|it| it.hunks).map(|it| it.id).collect();
        prop_assert_eq!(ids.len(), disk.ledger.pending());
    }
}

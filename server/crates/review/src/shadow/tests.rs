//! Files that come, go, move and are typed in, with decisions and their undo in between. Every
//! character is its own, so that it can be told what became of it.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use text::{ChangeSet, Edit, Rope};

use crate::{Decision, Existence, HunkId, Ledger, Origin, Passing, Pick, Plan, Undoing, in_order};

type Name = &'static str;

const NAMES: [Name; 4] = ["a", "b", "c", "d"];
const BASE: u32 = 0x1000;
const AGENT: u32 = 0x4E00;
const PERSON: u32 = 0xAC00;

/// Files on a disk, the ledger beside them, and what became of each character.
#[derive(Clone, Default)]
struct Disk {
    files: BTreeMap<Name, String>,
    ledger: Ledger<Name>,
    next: u32,
    /// Characters that are nobody's to take away without a decision: the files' own and typed ones.
    worth: BTreeSet<char>,
    /// What went by decisions to accept, by their tokens.
    accepted: BTreeMap<u64, BTreeSet<char>>,
    tokens: Vec<u64>,
}

#[derive(Clone, Debug)]
enum Step {
    Edit(u16, u16, u8, u8),
    Delete(u16),
    Create(u16, u8),
    Move(u16, u16),
    Type(u16, u16, u8),
    Make(u16, u8),
    Decide(u16, Decision),
    DecideAll(Decision),
    Undo(u16),
    Restart,
}

fn step() -> impl Strategy<Value = Step> {
    let at = any::<u16>;
    prop_oneof![
        4 => (at(), at(), 0..4u8, 0..4u8).prop_map(|(f, at, len, new)| Step::Edit(f, at, len, new)),
        3 => at().prop_map(Step::Delete),
        2 => (at(), 0..3u8).prop_map(|(f, len)| Step::Create(f, len)),
        4 => (at(), at()).prop_map(|(from, to)| Step::Move(from, to)),
        4 => (at(), at(), 1..4u8).prop_map(|(f, at, len)| Step::Type(f, at, len)),
        1 => (at(), 1..3u8).prop_map(|(f, len)| Step::Make(f, len)),
        4 => (at(), decision(0.5)).prop_map(|(f, decision)| Step::Decide(f, decision)),
        2 => decision(0.2).prop_map(Step::DecideAll),
        6 => at().prop_map(Step::Undo),
        1 => Just(Step::Restart),
    ]
}

fn decision(accepting: f64) -> impl Strategy<Value = Decision> {
    let accepts = prop::bool::weighted(accepting);
    accepts.prop_map(|accepts| if accepts { Decision::Accept } else { Decision::Reject })
}

fn choice<T: Copy>(at: u16, of: &[T]) -> Option<T> {
    of.get(usize::from(at) * of.len() / (usize::from(u16::MAX) + 1)).copied()
}

fn is_person(c: char) -> bool {
    u32::from(c) >= PERSON
}

impl Disk {
    fn new(files: &[Name]) -> Disk {
        let mut disk = Disk::default();
        for name in files {
            let text = format!("{}\n{}\n", disk.fresh(BASE, 3), disk.fresh(BASE, 3));
            disk.worth.extend(text.chars().filter(|c| *c != '\n'));
            disk.files.insert(name, text);
        }
        disk
    }

    fn fresh(&mut self, block: u32, count: u8) -> String {
        let chars = (0..u32::from(count)).map(|at| char::from_u32(block + self.next + at).unwrap());
        let text = chars.collect();
        self.next += u32::from(count);
        text
    }

    fn there(&self) -> Vec<Name> {
        self.files.keys().copied().collect()
    }

    fn free(&self) -> Vec<Name> {
        NAMES.into_iter().filter(|it| !self.files.contains_key(it)).collect()
    }

    fn origin(&self) -> Origin {
        Origin::of("s", &format!("call-{}", self.next))
    }

    fn take(&mut self, step: &Step) {
        match step {
            Step::Edit(file, at, len, new) => {
                let Some(file) = choice(*file, &self.there()) else { return };
                let new = self.fresh(AGENT, *new);
                self.edits(file, *at, *len, &new);
            }
            Step::Delete(file) => {
                let Some(file) = choice(*file, &self.there()) else { return };
                self.deletes(file);
            }
            Step::Create(file, len) => {
                let Some(file) = choice(*file, &self.free()) else { return };
                let text = self.fresh(AGENT, *len);
                self.creates(file, text);
            }
            Step::Move(from, to) => {
                let from = choice(*from, &self.there());
                let Some((from, to)) = from.zip(choice(*to, &self.free())) else { return };
                self.moves(from, to);
            }
            Step::Type(file, at, len) => {
                let Some(file) = choice(*file, &self.there()) else { return };
                let new = self.fresh(PERSON, *len);
                self.types(file, *at, &new);
            }
            Step::Make(file, len) => {
                let Some(file) = choice(*file, &self.free()) else { return };
                let text = self.fresh(PERSON, *len);
                self.worth.extend(text.chars());
                if self.ledger.existence(&file) == Some(Existence::Deleted) {
                    // Another file of that name is none of what was deleted.
                    self.worth = &self.worth - &self.known_of(file);
                    self.ledger.forget(&file);
                }
                self.ledger.reopened(&file, &Rope::from_str(&text));
                self.files.insert(file, text);
            }
            Step::Decide(file, decision) => {
                let pending: Vec<Name> = self.ledger.list().iter().map(|it| it.file).collect();
                let Some(file) = choice(*file, &pending) else { return };
                self.decides(&[Pick::File(file)], *decision);
            }
            Step::DecideAll(decision) => drop(self.decides(&[Pick::All], *decision)),
            Step::Undo(at) => {
                let Some(token) = choice(*at, &self.tokens) else { return };
                if self.undoes(token) {
                    self.tokens.retain(|it| *it != token);
                }
            }
            Step::Restart => {
                let mut ledger = Ledger::default();
                ledger.restore(self.ledger.save());
                self.ledger = ledger;
            }
        }
    }

    fn edits(&mut self, file: Name, at: u16, len: u8, new: &str) {
        let text = &self.files[file];
        let places: Vec<usize> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let start = choice(at, &places).unwrap();
        let gone = text[start..].chars().take(usize::from(len)).take_while(|c| !is_person(*c));
        let end = start + gone.map(char::len_utf8).sum::<usize>();
        let before = Rope::from_str(text);
        let changes = ChangeSet::new(text.len(), vec![Edit::new(start..end, new)]).unwrap();
        self.ledger.agent_edit(&file, &before, &changes, &self.origin());
        self.files.insert(file, changes.apply(&before).to_string());
    }

    fn deletes(&mut self, file: Name) {
        let text = self.files.remove(file).unwrap();
        self.ledger.deleted(&file, &Rope::from_str(&text), &self.origin());
    }

    /// What a file holds without what is pending, or once a decision on it is undone.
    fn known_of(&self, file: Name) -> BTreeSet<char> {
        let mut bases = self.bases(&[file]);
        for token in &self.tokens {
            let mut undone = self.clone();
            undone.ledger.undo(&file, *token);
            bases.extend(undone.bases(&[file]));
        }
        bases.into_iter().flatten().collect()
    }

    fn creates(&mut self, file: Name, text: String) {
        self.ledger.created(&file, &text, &self.origin());
        self.files.insert(file, text);
    }

    fn moves(&mut self, from: Name, to: Name) {
        let text = self.files[from].clone();
        if self.ledger.moved(&from, &to, &Rope::from_str(&text), &self.origin()) {
            self.files.remove(from);
            self.files.insert(to, text);
        } else {
            self.deletes(from);
            self.creates(to, text);
        }
    }

    fn types(&mut self, file: Name, at: u16, new: &str) {
        let text = self.files.get_mut(file).unwrap();
        let places: Vec<usize> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let at = choice(at, &places).unwrap();
        let changes = ChangeSet::new(text.len(), vec![Edit::new(at..at, new)]).unwrap();
        text.insert_str(at, new);
        self.worth.extend(new.chars());
        self.ledger.person_edit(&file, &changes);
    }

    /// Whether all of it could be done.
    fn decides(&mut self, picks: &[Pick<Name>], decision: Decision) -> bool {
        let token = self.ledger.token();
        let picked = self.ledger.pick(picks);
        let files: Vec<Name> = picked.keys().copied().collect();
        let before = self.bases(&files);
        let picked = picked.into_iter().map(|(file, ids)| {
            let passing = match decision {
                Decision::Accept => Passing::default(),
                Decision::Reject => self.ledger.passing(&file, &ids),
            };
            ((file, ids), passing)
        });
        let mut is_whole = true;
        for (file, ids) in in_order(picked.collect(), |_| Vec::new()) {
            is_whole &= self.decides_in(file, ids, decision, token);
        }
        if decision == Decision::Accept {
            let after = self.bases(&files);
            let gone = before.iter().zip(after).flat_map(|(before, after)| before - &after);
            self.accepted.insert(token, gone.collect());
        }
        self.tokens.push(token);
        is_whole
    }

    fn decides_in(
        &mut self,
        file: Name,
        mut ids: BTreeSet<HunkId>,
        decision: Decision,
        token: u64,
    ) -> bool {
        let moved = self.ledger.moved_from(&file).map(|(hunk, from)| (hunk.clone(), *from));
        let moved = moved.filter(|(hunk, _)| ids.remove(hunk));
        if !ids.is_empty() {
            if decision == Decision::Reject {
                let plan = self.ledger.plan_reject(&file, &ids);
                self.carry_out(file, plan);
            }
            self.ledger.decide(&file, &ids, decision, token);
        }
        let Some((_, from)) = moved else { return true };
        if decision == Decision::Reject {
            let Some(text) = self.files.get(file).cloned() else { return false };
            if self.files.contains_key(from) || self.ledger.is_pending(&from) {
                return false;
            }
            self.files.remove(file);
            self.files.insert(from, text);
        }
        self.ledger.decide_move(&file, decision, token);
        true
    }

    /// All of it, or nothing.
    fn undoes(&mut self, token: u64) -> bool {
        let parts = self.ledger.plan_undo(token).into_iter();
        let count = parts.len();
        let is_there = |it: &Undoing<Name>| match (&it.plan, it.decision) {
            (Some(Plan::Create(_)), _) => true,
            (_, Decision::Accept) => !it.is_shadowed,
            (_, Decision::Reject) => !it.is_shadowed && self.files.contains_key(it.file),
        };
        let parts: Vec<Undoing<Name>> = parts.filter(is_there).collect();
        let is_whole = 0 < count && parts.len() == count;
        let steps = parts.into_iter().map(|it| (it.clone(), it.passing())).collect();
        let steps = in_order(steps, |_| Vec::new());
        let mut disk = self.clone();
        for step in steps {
            if !disk.undoes_in(&step, token) {
                return false;
            }
        }
        *self = disk;
        if is_whole {
            self.accepted.remove(&token);
        }
        is_whole
    }

    fn undoes_in(&mut self, step: &Undoing<Name>, token: u64) -> bool {
        let mut file = step.file;
        if let Some(to) = step.again.filter(|to| *to != file) {
            if self.files.contains_key(to) || self.ledger.is_pending(&to) {
                return false;
            }
            let Some(text) = self.files.remove(file) else { return false };
            self.files.insert(to, text);
            self.ledger.undo_move(&file, token);
            file = to;
        } else if step.again.is_some() {
            self.ledger.undo_move(&file, token);
        }
        let is_text = step.plan.is_some() || !step.hunks.is_empty();
        if is_text && !self.ledger.surface(&file, token, &step.hunks) {
            return false;
        }
        let plan = self.ledger.plan_undo_in(&file, token);
        if matches!(plan, Some(Plan::Create(_))) && self.files.contains_key(file) {
            return false;
        }
        self.carry_out(file, plan);
        self.ledger.undo(&file, token);
        true
    }

    fn carry_out(&mut self, file: Name, plan: Option<Plan>) {
        match plan {
            None => {}
            Some(Plan::Text(changes)) => {
                let text = changes.apply(&Rope::from_str(&self.files[file])).to_string();
                self.files.insert(file, text);
            }
            Some(Plan::Create(text)) => assert!(self.files.insert(file, text).is_none()),
            Some(Plan::Delete) => drop(self.files.remove(file)),
        }
    }

    /// What files hold without what is pending.
    fn bases(&self, files: &[Name]) -> Vec<BTreeSet<char>> {
        let base = |it: &Name| self.ledger.base(it).map(ToString::to_string).unwrap_or_default();
        files.iter().map(|it| base(it).chars().collect()).collect()
    }

    /// Characters that are in a file, or come back when what is pending is rejected.
    fn safe(&self) -> BTreeSet<char> {
        let pending = self.ledger.list();
        let pending = pending.iter().filter_map(|it| self.ledger.base(&it.file));
        let pending: Vec<String> = pending.map(ToString::to_string).collect();
        self.files.values().chain(&pending).flat_map(|it| it.chars()).collect()
    }

    fn check(&self) -> Result<(), TestCaseError> {
        for (name, text) in &self.files {
            if let Some(known) = self.ledger.current(name) {
                prop_assert_eq!(known.to_string(), text.clone());
            }
            prop_assert_ne!(self.ledger.existence(name), Some(Existence::Deleted));
        }
        let went: BTreeSet<char> = self.accepted.values().flatten().copied().collect();
        let safe = self.safe();
        let lost: Vec<&char> =
            self.worth.iter().filter(|c| !safe.contains(c) && !went.contains(c)).collect();
        prop_assert!(lost.is_empty(), "lost {lost:?} of {:?} {:?}", self.files, self.ledger.list());
        Ok(())
    }
}

proptest! {
    /// Nothing typed and nothing that was there goes, unless it is pending or was accepted.
    #[test]
    fn nothing_goes_unseen(steps in prop::collection::vec(step(), 1..30)) {
        let mut disk = Disk::new(&["a", "b"]);
        for step in &steps {
            disk.take(step);
            disk.check()?;
        }
    }

    /// A decision to reject all that is undone leaves files and hunks as they were.
    #[test]
    fn all_that_is_rejected_comes_back(steps in prop::collection::vec(step(), 1..16)) {
        let mut disk = Disk::new(&["a", "b"]);
        steps.iter().for_each(|step| disk.take(step));
        let before = disk.clone();
        let is_whole = disk.decides(&[Pick::All], Decision::Reject);
        let token = *disk.tokens.last().unwrap();
        disk.take(&Step::Restart);
        if disk.undoes(token) || is_whole {
            prop_assert_eq!(&disk.files, &before.files);
            prop_assert_eq!(disk.ledger.list(), before.ledger.list());
        }
    }
}

/// What each file holds, then what is pending.
#[track_caller]
fn check(disk: &Disk, files: &str, pending: &str) {
    let texts = disk.files.iter().map(|(name, text)| format!("{name}: {text}"));
    let views = disk.ledger.list();
    let views = views.iter().map(|it| format!("{:?} {} {}", it.change, it.file, it.hunks.len()));
    let joined = |it: Vec<String>| it.join(", ");
    assert_eq!((&*joined(texts.collect()), &*joined(views.collect())), (files, pending));
}

#[test]
fn a_deletion_that_is_pending_again_spares_what_was_typed_since() {
    let mut disk = Disk::default();
    disk.files.insert("a", "a1\na2\n".to_owned());
    disk.deletes("a");
    disk.decides(&[Pick::All], Decision::Reject);
    check(&disk, "a: a1\na2\n", "");
    let mut inside = disk.clone();
    inside.take(&Step::Restart);
    disk.types("a", 0, "typed ");
    assert!(disk.undoes(1));
    check(&disk, "a: typed ", "Modify a 1");
    disk.decides(&[Pick::All], Decision::Reject);
    check(&disk, "a: typed a1\na2\n", "");
    inside.types("a", u16::MAX / 2, "X");
    assert!(inside.undoes(1));
    check(&inside, "a: X", "Modify a 1");
    inside.decides(&[Pick::All], Decision::Reject);
    check(&inside, "a: a1\nXa2\n", "");
}

#[test]
fn a_file_comes_back_that_another_one_took_the_name_of() {
    let mut disk = Disk::default();
    disk.files.insert("a", "old\n".to_owned());
    disk.files.insert("b", "other\n".to_owned());
    disk.moves("a", "c");
    disk.moves("b", "a");
    disk.creates("b", "new\n".to_owned());
    check(&disk, "a: other\n, b: new\n, c: old\n", "Rename a 1, Add b 1, Rename c 1");
    let before = disk.clone();
    assert!(disk.decides(&[Pick::All], Decision::Reject));
    check(&disk, "a: old\n, b: other\n", "");
    disk.take(&Step::Restart);
    let mut taken = disk.clone();
    assert!(disk.undoes(1));
    assert_eq!((&disk.files, disk.ledger.list()), (&before.files, before.ledger.list()));
    taken.files.insert("c", "the person's\n".to_owned());
    assert!(!taken.undoes(1));
    check(&taken, "a: old\n, b: other\n, c: the person's\n", "");
    taken.files.remove("c");
    assert!(taken.undoes(1));
    assert_eq!((&taken.files, taken.ledger.list()), (&before.files, before.ledger.list()));
}

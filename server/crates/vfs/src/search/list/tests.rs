use std::cell::Cell;
use std::fs;

use proptest::prelude::*;

use super::*;

/// How a list is kept up to date.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    Events,
    Stamps,
    /// Events, of which some are said to be lost.
    Both,
}

struct Case {
    folder: tempfile::TempDir,
    lists: FileLists,
    by: By,
}

impl Case {
    fn new(by: By) -> Case {
        let folder = tempfile::Builder::new().prefix("list").tempdir().unwrap();
        Case { folder, lists: FileLists::default(), by }
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn list(&self) -> Arc<List> {
        if self.by == By::Stamps {
            for slot in self.lists.slots().iter_mut() {
                if let State::Ready(kept) = &mut slot.state {
                    kept.unwatchable = true;
                }
            }
        }
        if self.by == By::Both {
            for slot in self.lists.slots().iter_mut() {
                if let State::Ready(kept) = &mut slot.state {
                    kept.folders.values_mut().for_each(|folder| folder.trusted = false);
                }
            }
        }
        self.lists.not_ignored(self.root(), &|| false).unwrap()
    }

    /// What a walk finds that knows nothing from before.
    fn cold(&self) -> List {
        let walk = Walk { root: self.root(), ignored: Ignored::Skip, began: Began::now() };
        walk.run(&|| false).unwrap().list
    }

    #[track_caller]
    fn check(&self) {
        let (kept, cold) = (self.list(), self.cold());
        assert_eq!(kept.files, cold.files);
        assert_eq!(kept.secrets, cold.secrets);
        assert_eq!(kept.dirs, cold.dirs);
    }

    /// Searches until nothing is in doubt any more: then every folder is known by its events.
    fn settle(&self) {
        let end = std::time::Instant::now() + std::time::Duration::from_secs(45);
        loop {
            self.check();
            let slots = self.lists.slots();
            let State::Ready(kept) = &slots[0].state else { panic!("the list is kept") };
            let settled = match self.by {
                By::Events => kept.folders.values().all(|folder| folder.trusted),
                By::Stamps | By::Both => kept.folders.values().all(|folder| folder.stamp.holds()),
            };
            if settled && kept.rules.hold() {
                return;
            }
            drop(slots);
            assert!(std::time::Instant::now() < end, "the list never settles");
            std::thread::yield_now();
        }
    }
}

/// Checks that a change is seen at once, however the list is kept.
#[track_caller]
fn check(files: &[&str], change: impl Fn(&Case)) {
    for by in [By::Events, By::Stamps, By::Both] {
        let case = Case::new(by);
        files.iter().for_each(|name| case.write(name, "x"));
        case.settle();
        change(&case);
        case.check();
        case.check();
    }
}

#[test]
fn a_list_is_used_again() {
    let case = Case::new(By::Events);
    ["a", "b/c", "b/d/e"].iter().for_each(|name| case.write(name, ""));
    case.settle();
    assert!(Arc::ptr_eq(&case.list(), &case.list()));
}

#[test]
fn files_come_and_go() {
    check(&["a", "b/c", "b/d/e"], |case| {
        case.write("b/d/f", "");
        case.check();
        fs::remove_file(case.root().join("b/c")).unwrap();
        case.check();
        fs::rename(case.root().join("a"), case.root().join("b/a")).unwrap();
    });
}

#[test]
fn folders_come_and_go_with_all_they_hold() {
    check(&["a", "b/c", "b/d/e"], |case| {
        case.write("b/new/deep/f", "");
        case.check();
        case.write("b/new/deep/g", "");
        case.check();
        fs::remove_dir_all(case.root().join("b/d")).unwrap();
    });
}

#[test]
fn a_folder_is_exchanged_for_another_of_the_name() {
    check(&["a/one", "a/x/deep", "b/two", "b/x/other"], |case| {
        let at = |name: &str| case.root().join(name);
        fs::rename(at("a"), at("c")).unwrap();
        fs::rename(at("b"), at("a")).unwrap();
        fs::rename(at("c"), at("b")).unwrap();
        case.check();
        case.write("a/x/new", "");
        case.write("b/x/newer", "");
    });
}

#[test]
fn a_folder_leaves_and_comes_back() {
    let outside = tempfile::tempdir().unwrap();
    check(&["a/one", "a/x/deep"], |case| {
        let away = outside.path().join("a");
        fs::rename(case.root().join("a"), &away).unwrap();
        case.check();
        fs::write(away.join("x/unseen"), "").unwrap();
        case.check();
        fs::rename(&away, case.root().join("a")).unwrap();
        case.check();
        case.write("a/x/seen", "");
    });
}

#[test]
fn the_root_itself_is_exchanged() {
    check(&["in/a"], |case| {
        let root = case.root().join("in");
        let list = || case.lists.not_ignored(&root, &|| false).unwrap().files.clone();
        assert_eq!(list(), [root.join("a")]);
        assert_eq!(list(), [root.join("a")]);
        fs::rename(&root, case.root().join("out")).unwrap();
        case.write("in/b", "");
        assert_eq!(list(), [root.join("b")]);
    });
}

#[test]
fn a_changed_rule_counts_wherever_it_is() {
    let files = [
        "a.log",
        "b.txt",
        "x/.git/info/exclude",
        "x/a.log",
        "x/b.txt",
        "y/.gitignore",
        "y/a.log",
        ".git/info/exclude",
    ];
    check(&files, |case| {
        case.write("x/.git/info/exclude", "*.log\n");
        case.check();
        case.write("y/.gitignore", "*\n");
        case.check();
        // It hides itself, so no walk meets it.
        case.write("y/.gitignore", "b*\n");
        case.check();
        case.write(".git/info/exclude", "*.txt\n");
        case.check();
        case.write(".rgignore", "!*.txt\n");
        case.check();
        fs::remove_dir_all(case.root().join(".git")).unwrap();
        case.check();
        case.write("y/.git/HEAD", "");
    });
}

#[test]
fn rules_above_the_root_count_too() {
    let case = Case::new(By::Events);
    case.write("in/deep/a.log", "");
    case.write("in/deep/b.txt", "");
    let root = case.root().join("in/deep");
    let count = || {
        let kept = case.lists.not_ignored(&root, &|| false).unwrap().files.len();
        let walk = Walk { root: &root, ignored: Ignored::Skip, began: Began::now() };
        assert_eq!(kept, walk.run(&|| false).unwrap().list.files.len());
        kept
    };
    assert_eq!(count(), 2);
    case.write(".gitignore", "*.log\n");
    assert_eq!(count(), 1);
    // Git's rules end at the root of a repository, others do not.
    fs::create_dir(case.root().join("in/.git")).unwrap();
    assert_eq!(count(), 2);
    case.write(".ignore", "*.txt\n");
    assert_eq!(count(), 1);
    fs::remove_dir(case.root().join("in/.git")).unwrap();
    assert_eq!(count(), 0);
}

#[test]
fn the_rules_of_a_work_tree_lie_elsewhere() {
    check(&["main/info/exclude", "tree/a.log", "tree/b", "main/worktrees/t/HEAD"], |case| {
        case.write("main/worktrees/t/commondir", "../..\n");
        let pointed = case.root().join("main/worktrees/t");
        case.write("tree/.git", &format!("gitdir: {}\n", pointed.display()));
        case.check();
        case.write("main/info/exclude", "*.log\n");
        let files = case.list().files.clone();
        assert!(!files.contains(&case.root().join("tree/a.log")), "{files:?}");
    });
}

#[test]
fn times_set_back_hide_nothing() {
    check(&["a/one"], |case| {
        let folder = case.root().join("a");
        let before =
            filetime::FileTime::from_last_modification_time(&fs::metadata(&folder).unwrap());
        case.write("a/two", "");
        filetime::set_file_mtime(&folder, before).unwrap();
    });
}

#[test]
fn a_flood_of_events_hides_nothing() {
    let case = Case::new(By::Events);
    case.write("a/one", "");
    case.settle();
    for number in 0..3_000 {
        // More than the kernel keeps.
        for _ in 0..3 {
            case.write(&format!("a/{number}"), "");
            fs::remove_file(case.root().join(format!("a/{number}"))).unwrap();
        }
    }
    case.write("b/last", "");
    case.check();
    case.write("a/last", "");
    case.check();
}

#[test]
fn the_lists_used_longest_ago_are_forgotten() {
    let case = Case::new(By::Events);
    for number in 0..LISTS + 3 {
        case.write(&format!("{number}/a"), "");
        case.lists.not_ignored(&case.root().join(number.to_string()), &|| false).unwrap();
    }
    assert_eq!(case.lists.slots().len(), LISTS);
    assert!(case.lists.named(OsStr::new("a")).len() == LISTS);
}

#[test]
fn a_cancelled_search_forgets_what_it_half_knows() {
    let case = Case::new(By::Events);
    case.write("a", "");
    case.settle();
    case.write("b/c", "");
    let asked = Cell::new(0);
    let cancelled = || {
        asked.set(asked.get() + 1);
        asked.get() > 1
    };
    assert!(case.lists.not_ignored(case.root(), &cancelled).is_none());
    case.check();
}

#[test]
fn searches_of_one_folder_at_once_share_its_list() {
    let case = Case::new(By::Events);
    (0..500).for_each(|number| case.write(&format!("d{}/f{number}", number % 20), ""));
    let cold = case.cold();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..5 {
                    let list = case.lists.not_ignored(case.root(), &|| false).unwrap();
                    assert_eq!(list.files, cold.files);
                }
            });
        }
    });
    assert_eq!(case.lists.slots().len(), 1);
}

/// What happens between two searches.
#[derive(Clone, Debug)]
enum Deed {
    Write(usize, usize),
    Remove(usize, usize),
    MakeFolder(usize),
    RemoveFolder(usize),
    Rename(usize, usize),
    Exchange(usize, usize),
    Rule(usize, usize, usize),
    Exclude(usize, usize),
    UnRule(usize, usize),
    Repository(usize),
    Link(usize, usize),
    SetBack(usize),
    Search,
}

const FOLDERS: [&str; 9] = ["", "a", "b", "a/x", "a/y", "b/x", "a/x/deep", "b/x/deep", "c"];
const FILES: [&str; 5] = ["one.txt", "two.log", ".env", "three", ".hidden"];
const RULES: [&str; 7] =
    ["*.log\n", "*\n", "!*.txt\n", "/a\n", "x/\n", "deep\n!deep/one.txt\n", ""];

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let folder = || 0..FOLDERS.len();
    let deed = prop_oneof![
        4 => (folder(), 0..FILES.len()).prop_map(|(a, b)| Deed::Write(a, b)),
        2 => (folder(), 0..FILES.len()).prop_map(|(a, b)| Deed::Remove(a, b)),
        2 => folder().prop_map(Deed::MakeFolder),
        1 => (1..FOLDERS.len()).prop_map(Deed::RemoveFolder),
        2 => (1..FOLDERS.len(), 1..FOLDERS.len()).prop_map(|(a, b)| Deed::Rename(a, b)),
        1 => (1..FOLDERS.len(), 1..FOLDERS.len()).prop_map(|(a, b)| Deed::Exchange(a, b)),
        2 => (folder(), 0..3usize, 0..RULES.len()).prop_map(|(a, b, c)| Deed::Rule(a, b, c)),
        1 => (folder(), 0..RULES.len()).prop_map(|(a, b)| Deed::Exclude(a, b)),
        1 => (folder(), 0..3usize).prop_map(|(a, b)| Deed::UnRule(a, b)),
        1 => folder().prop_map(Deed::Repository),
        1 => (folder(), folder()).prop_map(|(a, b)| Deed::Link(a, b)),
        1 => folder().prop_map(Deed::SetBack),
        5 => Just(Deed::Search),
    ];
    prop::collection::vec(deed, 1..60)
}

/// Does it as far as it can be done; what cannot be is no change.
fn act(case: &Case, deed: &Deed) {
    use super::super::rules::IGNORE_FILES;
    let at = |folder: usize| case.root().join(FOLDERS[folder]);
    let _ = match *deed {
        Deed::Write(folder, file) => fs::write(at(folder).join(FILES[file]), "x"),
        Deed::Remove(folder, file) => fs::remove_file(at(folder).join(FILES[file])),
        Deed::MakeFolder(folder) => fs::create_dir_all(at(folder)),
        Deed::RemoveFolder(folder) => fs::remove_dir_all(at(folder)),
        Deed::Rename(a, b) => fs::rename(at(a), at(b)),
        Deed::Exchange(a, b) => {
            let aside = case.root().join("aside");
            fs::rename(at(a), &aside)
                .and_then(|()| fs::rename(at(b), at(a)))
                .and_then(|()| fs::rename(&aside, at(b)))
        }
        Deed::Rule(folder, kind, rule) => {
            fs::write(at(folder).join(IGNORE_FILES[kind]), RULES[rule])
        }
        Deed::Exclude(folder, rule) => fs::write(at(folder).join(".git/info/exclude"), RULES[rule]),
        Deed::UnRule(folder, kind) => fs::remove_file(at(folder).join(IGNORE_FILES[kind])),
        Deed::Repository(folder) => fs::create_dir_all(at(folder).join(".git/info")),
        Deed::Link(a, b) => std::os::unix::fs::symlink(at(b), at(a).join("link")),
        Deed::SetBack(folder) => {
            filetime::set_file_mtime(at(folder), filetime::FileTime::from_unix_time(1_000_000, 5))
        }
        Deed::Search => {
            case.check();
            Ok(())
        }
    };
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever happens between searches, a kept list is what a new walk finds.
    #[test]
    fn nothing_is_hidden_and_nothing_invented(
        deeds in deeds(),
        by in prop::sample::select(vec![By::Events, By::Stamps, By::Both]),
    ) {
        let case = Case::new(by);
        FOLDERS.iter().for_each(|folder| case.write(format!("{folder}/one.txt").trim_start_matches('/'), "x"));
        case.check();
        for deed in &deeds {
            act(&case, deed);
        }
        case.check();
        case.check();
    }
}

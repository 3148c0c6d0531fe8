//! What a repository ignores, by the rules of the folders from the disk's root down, in ripgrep's order: `.rgignore`
//! before `.ignore`, `.gitignore`, the repository's own and the person's own rules; nearer folders first.
//!
//! Files of rules come with the tree, so anything may stand there: only short regular files are read.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::rules::{exclude_file, repository_of};
use super::walk::{MAX_NOTES, is_version_control_path};
use crate::disk;

/// Larger files of rules are not read, in bytes.
const MAX_FILE: u64 = 1 << 20;
/// Nor are lines, which no path could match, and what comes after so many of them.
const MAX_LINE: usize = 8 << 10;
const MAX_LINES: usize = 50_000;
/// Globs in which more than the beginning varies are matched together, at most so many at once: what that takes grows
/// with the square of their number.
const TOGETHER: usize = 16;
/// So many of them are read below one folder.
const MAX_VARYING: usize = 10_000;
/// Files of rules in a folder, the strongest first.
const FILES: [&str; 3] = [".rgignore", ".ignore", ".gitignore"];
/// The one that git reads too, whose rules end where a repository begins.
const OF_GIT: usize = 2;

/// The rules for what lies below one folder, read as they are needed.
pub(super) struct Ignoring {
    root: PathBuf,
    /// Where the root really is, if that is elsewhere: there are the folders above it.
    real: Option<PathBuf>,
    /// Git's rules count only in a repository, and end at its root.
    in_repository: bool,
    above: Option<Arc<Folder>>,
    /// By path. A folder without rules has those of the one it is in.
    folders: RwLock<HashMap<OsString, Option<Arc<Folder>>>>,
    /// The person's own rules for all repositories.
    global: Rules,
    /// How many globs may still be read that are matched together.
    room: AtomicUsize,
    notes: Mutex<Vec<String>>,
}

/// The rules of one file, in parts: later ones are stronger.
#[derive(Default)]
struct Rules(Vec<Gitignore>);

impl Rules {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn matched(&self, path: &Path, entry: Entry) -> Verdict {
        let is_dir = entry == Entry::Folder;
        let verdicts = self.0.iter().rev().map(|part| match part.matched(path, is_dir) {
            Match::None => Verdict::Open,
            Match::Ignore(_) => Verdict::Ignored,
            Match::Whitelist(_) => Verdict::Wanted,
        });
        verdicts.into_iter().find(|it| *it != Verdict::Open).unwrap_or(Verdict::Open)
    }
}

/// What an entry is: some rules are about folders only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    Folder,
    Other,
}

/// Whether a folder lies above the root, where paths are the real ones.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Above,
    Below,
}

/// The rules of a folder.
struct Folder {
    parent: Option<Arc<Folder>>,
    side: Side,
    files: [Rules; FILES.len()],
    exclude: Rules,
    is_repository: bool,
}

impl Ignoring {
    pub fn below(root: &Path) -> Ignoring {
        let repository = repository_of(root);
        let real = crate::roots::real_path(root);
        let mut rules = Ignoring {
            root: root.to_owned(),
            real: None,
            in_repository: repository.is_some(),
            above: None,
            folders: RwLock::default(),
            global: Rules::default(),
            room: AtomicUsize::new(MAX_VARYING),
            notes: Mutex::default(),
        };
        if let Some(global) = ignore::gitignore::gitconfig_excludes_path() {
            rules.global = rules.read(repository.unwrap_or(root), &global);
        }
        let above: Vec<&Path> = real.ancestors().skip(1).collect();
        for folder in above.into_iter().rev() {
            rules.above = rules.folder(folder, rules.above.clone(), Side::Above);
        }
        rules.real = Some(real).filter(|real| real != root);
        rules
    }

    /// Whether an entry of a folder that is not ignored is.
    pub fn ignores_entry(&self, path: &Path, entry: Entry) -> bool {
        let Some(parent) = path.parent() else { return false };
        let folder = self.of(parent);
        self.matched(folder.as_deref(), path, entry)
    }

    /// Whether a walk from the root would leave out a file, were it there.
    pub fn ignores(&self, path: &Path) -> bool {
        let mut folders: Vec<&Path> = path
            .ancestors()
            .skip(1)
            .take_while(|it| *it != self.root && it.starts_with(&self.root))
            .collect();
        folders.reverse();
        is_version_control_path(path.strip_prefix(&self.root).unwrap_or(path))
            || folders.into_iter().any(|folder| self.ignores_entry(folder, Entry::Folder))
            || self.ignores_entry(path, Entry::Other)
    }

    /// What was not read, and why.
    pub fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The rules for the entries of a folder.
    fn of(&self, path: &Path) -> Option<Arc<Folder>> {
        if !path.starts_with(&self.root) {
            return self.above.clone();
        }
        let known = self.folders.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(folder) = known.get(path.as_os_str()) {
            return folder.clone();
        }
        drop(known);
        let parent = match path.parent() {
            Some(parent) if path != self.root => self.of(parent),
            Some(_) | None => self.above.clone(),
        };
        let folder = self.folder(path, parent, Side::Below);
        let mut known = self.folders.write().unwrap_or_else(PoisonError::into_inner);
        known.insert(path.as_os_str().to_owned(), folder.clone());
        folder
    }

    fn folder(&self, path: &Path, parent: Option<Arc<Folder>>, side: Side) -> Option<Arc<Folder>> {
        let files = FILES.map(|name| self.read(path, &path.join(name)));
        let git = path.join(".git");
        let has_git = std::fs::metadata(&git).is_ok();
        let is_repository =
            self.in_repository && (has_git || std::fs::metadata(path.join(".jj")).is_ok());
        let exclude = exclude_file(&git).filter(|_| has_git);
        let exclude = exclude.map_or_else(Rules::default, |file| self.read(path, &file));
        if !is_repository && exclude.is_empty() && files.iter().all(Rules::is_empty) {
            return parent;
        }
        Some(Arc::new(Folder { parent, side, files, exclude, is_repository }))
    }

    /// The rules in a file, which are about paths below `folder`.
    fn read(&self, folder: &Path, file: &Path) -> Rules {
        let bytes = match disk::read_bytes(file, MAX_FILE) {
            Ok(bytes) => bytes,
            Err(error) => {
                let what = match error.kind() {
                    io::ErrorKind::InvalidInput => error.to_string(),
                    io::ErrorKind::FileTooLarge => "it is larger than 1 MB".to_owned(),
                    _ => return Rules::default(),
                };
                self.note(format!("{} was not read: {what}", file.display()));
                return Rules::default();
            }
        };
        let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
        let mut rules = Rules::default();
        if bytes.is_empty() {
            return rules;
        }
        let mut part = GitignoreBuilder::new(folder);
        let mut varying = 0;
        for (count, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let Ok(line) = std::str::from_utf8(line) else { continue };
            if MAX_LINE < line.len() {
                continue;
            }
            let varies = varies(line);
            if count == MAX_LINES || (varies && !self.takes_varying()) {
                self.note(format!(
                    "{} was read to line {count} only: it has too many rules",
                    file.display()
                ));
                break;
            }
            if varies && varying == TOGETHER {
                self.finish(
                    std::mem::replace(&mut part, GitignoreBuilder::new(folder)),
                    file,
                    &mut rules,
                );
                varying = 0;
            }
            varying += usize::from(varies);
            if let Err(error) = part.add_line(None, line) {
                tracing::debug!(%error, file = %file.display(), "a rule is malformed");
            }
        }
        self.finish(part, file, &mut rules);
        rules
    }

    fn finish(&self, part: GitignoreBuilder, file: &Path, rules: &mut Rules) {
        match part.build() {
            Ok(part) if part.is_empty() => {}
            Ok(part) => rules.0.push(part),
            Err(error) => {
                self.note(format!("some rules of {} were not read: {error}", file.display()))
            }
        }
    }

    /// Whether one more glob may be read that varies.
    fn takes_varying(&self) -> bool {
        self.room
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |room| room.checked_sub(1))
            .is_ok()
    }

    fn note(&self, note: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if notes.len() < MAX_NOTES && !notes.contains(&note) {
            notes.push(note);
        }
    }

    fn matched(&self, folder: Option<&Folder>, path: &Path, entry: Entry) -> bool {
        let chain = || std::iter::successors(folder, |folder| folder.parent.as_deref());
        let by_git = !self.in_repository || chain().any(|folder| folder.is_repository);
        let real = self.real.as_ref().and_then(|real| {
            let rest = path.strip_prefix(&self.root).ok()?;
            Some(if rest.as_os_str().is_empty() { real.clone() } else { real.join(rest) })
        });
        let mut verdicts = [Verdict::Open; FILES.len() + 2];
        let mut left_repository = false;
        for folder in chain() {
            let path = real.as_deref().filter(|_| folder.side == Side::Above).unwrap_or(path);
            for (at, file) in folder.files.iter().enumerate() {
                if at != OF_GIT || (by_git && !left_repository) {
                    verdicts[at].settle(|| file.matched(path, entry));
                }
            }
            if by_git && !left_repository {
                verdicts[FILES.len()].settle(|| folder.exclude.matched(path, entry));
            }
            left_repository |= folder.is_repository;
        }
        if by_git {
            verdicts[FILES.len() + 1].settle(|| self.global.matched(path, entry));
        }
        let first = verdicts.into_iter().find(|verdict| *verdict != Verdict::Open);
        first == Some(Verdict::Ignored)
    }
}

/// What the files of one name say of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Verdict {
    Open,
    Ignored,
    Wanted,
}

impl Verdict {
    /// Takes what a file says unless a nearer one has spoken.
    fn settle(&mut self, matched: impl FnOnce() -> Verdict) {
        if *self == Verdict::Open {
            *self = matched();
        }
    }
}

/// Whether more of a rule's glob varies than that it begins with a star: names, paths and `*.ext` are looked up.
fn varies(line: &str) -> bool {
    let glob = line.trim_start_matches('!').trim_start_matches('/').trim_end_matches('/');
    let glob = glob.strip_prefix("**/").unwrap_or(glob);
    let rest = glob.strip_prefix("*.").unwrap_or(glob);
    !line.starts_with('#') && rest.contains(['*', '?', '[', '{', '\\'])
}

//! Rules that the person gave with "Always" while a session ran, kept for the folder it worked in.
//!
//! Invariant: they lie in the person's own state, where neither the agent nor a repository writes; a
//! file that cannot be read gives no rules and is not written over.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::permission::{Decision, Rule};
use crate::store::project_dir;

/// Their scope, as rules of settings have that of their file.
pub const SCOPE: &str = "kept";

#[derive(Serialize, Deserialize)]
struct Entry {
    rule: String,
    decision: String,
}

/// The rules kept for a folder.
pub fn rules(state: &Path, root: &Path) -> Vec<Rule> {
    let entries = read(&file(state, root)).unwrap_or_else(|err| {
        tracing::warn!("the rules kept for {} were not read: {err}", root.display());
        Vec::new()
    });
    entries.iter().filter_map(parsed).collect()
}

/// Keeps a rule.
///
/// # Errors
/// The state cannot be read or written.
pub fn keep(state: &Path, root: &Path, rule: &Rule) -> io::Result<()> {
    let path = file(state, root);
    let mut entries = read(&path)?;
    if entries.iter().any(|it| is_same(it, rule.decision, &rule.text)) {
        return Ok(());
    }
    entries.push(Entry { rule: rule.text.clone(), decision: rule.decision.id().to_string() });
    write(&path, &entries)
}

/// Forgets a rule; tells whether there was one.
///
/// # Errors
/// The state cannot be read or written.
pub fn forget(state: &Path, root: &Path, decision: Decision, text: &str) -> io::Result<bool> {
    let path = file(state, root);
    let mut entries = read(&path)?;
    let before = entries.len();
    entries.retain(|it| !is_same(it, decision, text));
    if entries.len() == before {
        return Ok(false);
    }
    write(&path, &entries)?;
    Ok(true)
}

fn file(state: &Path, root: &Path) -> PathBuf {
    project_dir(state, root).join("rules.json")
}

fn read(path: &Path) -> io::Result<Vec<Entry>> {
    match vfs::state::read_private(path)? {
        Some(bytes) => Ok(serde_json::from_slice(&bytes)?),
        None => Ok(Vec::new()),
    }
}

fn write(path: &Path, entries: &[Entry]) -> io::Result<()> {
    vfs::state::write_private(path, &serde_json::to_vec_pretty(entries)?)
}

fn is_same(entry: &Entry, decision: Decision, text: &str) -> bool {
    entry.decision == decision.id() && entry.rule == text
}

fn parsed(entry: &Entry) -> Option<Rule> {
    let decisions = [Decision::Allow, Decision::Ask, Decision::Deny];
    let decision = decisions.into_iter().find(|it| it.id() == entry.decision)?;
    Rule::parse(&entry.rule, decision, SCOPE).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_rules_come_back_until_they_are_forgotten() {
        let state = tempfile::tempdir().unwrap();
        let (state, root) = (state.path(), Path::new("/w"));
        let rule = |text: &str, decision| Rule::parse(text, decision, "session").unwrap();
        keep(state, root, &rule("Bash(make:*)", Decision::Allow)).unwrap();
        keep(state, root, &rule("Bash(make:*)", Decision::Allow)).unwrap();
        keep(state, root, &rule("Bash(rm:*)", Decision::Deny)).unwrap();
        let texts = |root: &Path| -> Vec<(String, Decision)> {
            rules(state, root).into_iter().map(|it| (it.text, it.decision)).collect()
        };
        let (make, rm) = ("Bash(make:*)".to_string(), "Bash(rm:*)".to_string());
        assert_eq!(texts(root), [(make.clone(), Decision::Allow), (rm.clone(), Decision::Deny)]);
        assert_eq!(texts(Path::new("/other")), []);
        assert!(!forget(state, root, Decision::Allow, &rm).unwrap());
        assert!(forget(state, root, Decision::Deny, &rm).unwrap());
        assert_eq!(texts(root), [(make, Decision::Allow)]);
    }

    #[test]
    fn a_damaged_file_gives_no_rules_and_stays() {
        let state = tempfile::tempdir().unwrap();
        let (state, root) = (state.path(), Path::new("/w"));
        vfs::state::write_private(&file(state, root), b"[{").unwrap();
        assert_eq!(rules(state, root), []);
        let rule = Rule::parse("Read", Decision::Allow, "session").unwrap();
        assert!(keep(state, root, &rule).is_err());
        assert_eq!(vfs::state::read_private(&file(state, root)).unwrap().unwrap(), b"[{");
    }
}

//! Which folders the person trusts, kept in their state by real path and a hash of what grants power.
//!
//! Invariant: a folder whose power-granting files changed is not trusted until the person says so
//! again. What the editor or the command line says about trust comes first.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use agent::store::hash_hex;
use vfs::state;

use super::Sources;

/// Whether the workspace is trusted: all of its folders are.
pub fn is_trusted(sources: &Sources) -> bool {
    match sources.trusted {
        Some(trusted) => trusted,
        None => {
            let known = sources.state.as_deref().map(known).unwrap_or_default();
            !sources.folders.is_empty()
                && sources.folders.iter().all(|folder| {
                    let real = vfs_real(folder);
                    known.get(&real) == Some(&fingerprint(folder))
                })
        }
    }
}

/// Remembers or forgets that a folder is trusted.
///
/// # Errors
/// The person's state cannot be written.
pub fn remember(state_dir: &Path, folder: &Path, trust: Trust) -> std::io::Result<()> {
    let mut known = known(state_dir);
    match trust {
        Trust::Yes => known.insert(vfs_real(folder), fingerprint(folder)),
        Trust::No => known.remove(&vfs_real(folder)),
    };
    let text = serde_json::to_vec_pretty(&known)?;
    state::write_private(&state_dir.join("trust.json"), &text)
}

/// What the person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trust {
    /// They trust it.
    Yes,
    /// They do not.
    No,
}

fn known(state_dir: &Path) -> BTreeMap<String, String> {
    let bytes = state::read_private(&state_dir.join("trust.json")).ok().flatten();
    bytes.and_then(|it| serde_json::from_slice(&it).ok()).unwrap_or_default()
}

/// A hash of everything in the folder that grants power.
fn fingerprint(folder: &Path) -> String {
    let mut content = Vec::new();
    for name in [
        ".copydesk/config.toml",
        ".copydesk/config.local.toml",
        ".claude/settings.json",
        ".claude/settings.local.json",
    ] {
        let path: PathBuf = folder.join(name);
        let text = state::read_text_file(&path).ok().flatten().unwrap_or_default();
        content.extend_from_slice(name.as_bytes());
        content.push(0);
        content.extend_from_slice(text.as_bytes());
        content.push(0);
    }
    hash_hex(&content)
}

fn vfs_real(folder: &Path) -> String {
    vfs::Roots::new([folder.to_path_buf()]).locate(folder).real.display().to_string()
}

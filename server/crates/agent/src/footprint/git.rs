//! Contents of files from the repository's objects, as the work tree spelled them.
//!
//! Git is only read: no hooks, filters, file system monitors or fetches run, and what a filter would have made of an
//! object counts as unknown.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use exec::{Spawn, Stdio};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use vfs::{FileChange, GitBlob, Was};

use crate::world::World;

/// All of one question to git.
const LIMIT: Duration = Duration::from_secs(10);
/// Bytes taken of all objects together, and of one.
const MAX_ANSWER: u64 = 64 << 20;
const MAX_OBJECT: usize = 4 << 20;

/// The bytes of the files whose content is an object's, by path in their work tree.
pub async fn contents(world: &World, files: &[FileChange]) -> HashMap<PathBuf, Arc<[u8]>> {
    let mut by_tree: BTreeMap<&Path, Vec<&GitBlob>> = BTreeMap::new();
    for file in files {
        if let Was::Git { blob, .. } = &file.before {
            by_tree.entry(&blob.worktree).or_default().push(blob);
        }
    }
    let mut found = HashMap::new();
    for (tree, blobs) in by_tree {
        let names: Vec<u8> =
            blobs.iter().flat_map(|it| [it.name.as_os_str().as_bytes(), b"\0"].concat()).collect();
        let attributes = ["check-attr", "-z", "--stdin", "filter"];
        let ids: String = blobs.iter().map(|it| format!("{}\n", it.id)).collect();
        let filtered = ask(world, tree, &attributes, &names).await;
        let objects = ask(world, tree, &["cat-file", "--batch"], ids.as_bytes()).await;
        let (Some(filtered), Some(objects)) = (filtered, objects) else {
            tracing::info!(tree = %tree.display(), "git does not tell what files held");
            continue;
        };
        let filtered = with_filter(&filtered);
        let objects = parse(&objects);
        for blob in blobs {
            let name = blob.name.as_os_str().as_bytes();
            if let Some(object) = objects.get(blob.id.as_str())
                && !filtered.contains(name)
                && let Some(bytes) = as_checked_out(object, blob.len)
            {
                found.insert(tree.join(&blob.name), Arc::from(bytes));
            }
        }
    }
    found
}

/// What git answers to some input; `None` where it fails or takes too long.
async fn ask(world: &World, tree: &Path, arguments: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let quiet =
        ["--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"];
    let argv = ["git"].iter().chain(&quiet).chain(arguments).map(Into::into).collect();
    let mut env = world.command_environment().await;
    env.retain(|(name, _)| !name.as_bytes().starts_with(b"GIT_"));
    for (name, value) in
        [("GIT_OPTIONAL_LOCKS", "0"), ("GIT_NO_LAZY_FETCH", "1"), ("GIT_TERMINAL_PROMPT", "0")]
    {
        env.push((name.into(), value.into()));
    }
    let spawn = Spawn { argv, cwd: tree.to_owned(), env, stdio: Stdio::Piped, sandbox: None };
    let asked = async {
        // Dropped on timeout, which ends it.
        let mut process = world.supervisor.spawn(spawn).await.ok()?;
        let (mut stdin, stdout) = (process.stdin.take()?, process.stdout.take()?);
        let mut answer = Vec::new();
        let mut stdout = stdout.take(MAX_ANSWER);
        let writing = async {
            let written = stdin.write_all(input).await;
            drop(stdin);
            written
        };
        let (written, read) = tokio::join!(writing, stdout.read_to_end(&mut answer));
        written.ok()?;
        read.ok()?;
        process.wait().await.is_success().then_some(answer)
    };
    tokio::time::timeout(LIMIT, asked).await.ok().flatten()
}

/// The objects of `cat-file --batch`: a line of id, kind and size, the bytes, a newline.
fn parse(answer: &[u8]) -> HashMap<&str, &[u8]> {
    let mut objects = HashMap::new();
    let mut rest = answer;
    while let Some(end) = rest.iter().position(|it| *it == b'\n') {
        let (line, after) = rest.split_at(end);
        let after = after.get(1..).unwrap_or_default();
        let words: Vec<&str> = std::str::from_utf8(line).unwrap_or_default().split(' ').collect();
        let [id, "blob", size] = words.as_slice() else {
            // One that is missing has a line and nothing else.
            rest = after;
            continue;
        };
        let Some(bytes) = size.parse().ok().and_then(|size: usize| after.get(..size)) else {
            break;
        };
        if bytes.len() <= MAX_OBJECT {
            objects.insert(*id, bytes);
        }
        rest = after.get(bytes.len() + 1..).unwrap_or_default();
    }
    objects
}

/// Names of files that a filter rewrites: `name NUL attribute NUL value NUL`.
fn with_filter(answer: &[u8]) -> BTreeSet<Vec<u8>> {
    let parts: Vec<&[u8]> = answer.split(|it| *it == 0).collect();
    let rows = parts.chunks_exact(3);
    let filtered = rows.filter(|row| !matches!(row[2], b"unspecified" | b"unset"));
    filtered.map(|row| row[0].to_vec()).collect()
}

/// An object as the work tree has it: as it is, or with the line endings that git gave it. The size tells which.
fn as_checked_out(object: &[u8], len: u64) -> Option<Vec<u8>> {
    if object.len() as u64 == len {
        return Some(object.to_vec());
    }
    let lines = object.iter().filter(|it| **it == b'\n').count();
    let has_returns = object.contains(&b'\r');
    if has_returns || (object.len() + lines) as u64 != len {
        return None;
    }
    let mut out = Vec::with_capacity(object.len() + lines);
    for byte in object {
        if *byte == b'\n' {
            out.push(b'\r');
        }
        out.push(*byte);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_read_as_git_prints_them() {
        let answer = b"aa blob 4\none\n\nbb missing\ncc blob 0\n\ndd blob 9\ncut";
        let found = parse(answer);
        let mut found: Vec<_> = found.into_iter().collect();
        found.sort_unstable();
        assert_eq!(found, [("aa", b"one\n".as_slice()), ("cc", b"".as_slice())]);
    }

    #[track_caller]
    fn check(object: &str, len: u64, expected: Option<&str>) {
        let found = as_checked_out(object.as_bytes(), len);
        assert_eq!(found.as_deref(), expected.map(str::as_bytes));
    }

    #[test]
    fn the_size_tells_the_line_endings() {
        check("one\ntwo\n", 8, Some("one\ntwo\n"));
        check("one\ntwo\n", 10, Some("one\r\ntwo\r\n"));
        check("one\ntwo\n", 9, None);
        check("one\r\ntwo\n", 11, None);
    }

    #[test]
    fn filtered_files_are_named() {
        let answer = b"a.txt\0filter\0unspecified\0b.bin\0filter\0lfs\0c\0filter\0unset\0";
        assert_eq!(with_filter(answer), BTreeSet::from([b"b.bin".to_vec()]));
    }
}

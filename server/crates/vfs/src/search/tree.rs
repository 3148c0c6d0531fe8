//! The shape of a folder: entries with sizes, level by level, ignored folders folded up with a count.

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::filter::Globs;
use super::ignoring::Ignoring;
use super::targets::Overlay;
use super::visibility::Visibility;
use super::walk::{builder, is_version_control};
use super::{QueryError, TreeNode, TreeQuery, TreeResult};
use crate::disk::{self, FileKind};
use crate::store::Vfs;

/// Entries at most, whatever a query says.
const MAX_NODES: usize = 20_000;
const MAX_NOTES: usize = 20;

pub(super) fn run(
    vfs: &Vfs,
    query: &TreeQuery,
    cancelled: &dyn Fn() -> bool,
) -> Result<TreeResult, QueryError> {
    let root = crate::normalize(&query.root);
    let mut overlay = Overlay::of(vfs);
    overlay.enter(&root);
    match disk::stat(&root).map(|stat| stat.kind) {
        Ok(FileKind::Folder) => {}
        Err(_) if overlay.unborn(&root).next().is_some() => {}
        Ok(_) => return Err(QueryError::NotAFolder { path: root }),
        Err(_) => {
            let similar = vfs.similar(&root);
            return Err(QueryError::NoSuchPath { path: root, similar });
        }
    }
    let excluded: Vec<String> = query.ignore.iter().map(|glob| format!("!{glob}")).collect();
    let globs = (!excluded.is_empty()).then(|| Globs::new(&root, &excluded)).transpose()?;
    let mut tree = Tree {
        overlay: &overlay,
        globs,
        depth: query.depth.max(1),
        limit: if query.limit == 0 { MAX_NODES } else { query.limit.min(MAX_NODES) },
        visible: HashSet::new(),
        visibility: &query.visibility,
        cancelled,
        result: TreeResult::default(),
    };
    let rules = Arc::new(Ignoring::below(&root));
    for (count, entry) in
        builder(&root, Some(&rules)).max_depth(Some(tree.depth)).build().enumerate()
    {
        if count.is_multiple_of(64) && cancelled() {
            tree.result.cancelled = true;
            return Ok(tree.result);
        }
        if let Ok(entry) = entry {
            tree.visible.insert(entry.into_path());
        }
    }
    tree.result.notes.extend(rules.notes());
    tree.folder(&root, 0);
    Ok(tree.result)
}

struct Tree<'a> {
    overlay: &'a Overlay,
    globs: Option<Globs>,
    depth: usize,
    limit: usize,
    /// What the repository does not ignore.
    visible: HashSet<PathBuf>,
    visibility: &'a Visibility,
    cancelled: &'a dyn Fn() -> bool,
    result: TreeResult,
}

/// An entry of a folder, from the disk or from the editor.
struct Entry {
    kind: FileKind,
    on_disk: bool,
}

impl Tree<'_> {
    fn folder(&mut self, folder: &Path, level: usize) {
        for (path, entry) in self.entries(folder) {
            if self.result.nodes.len() >= self.limit {
                self.result.truncated = true;
                return;
            }
            if (self.cancelled)() {
                self.result.cancelled = true;
                return;
            }
            let node = self.node(&path, &entry, level);
            let opened = node.kind == FileKind::Folder && node.collapsed.is_none();
            self.result.nodes.push(node);
            if opened {
                self.folder(&path, level + 1);
            }
        }
    }

    fn node(&self, path: &Path, entry: &Entry, level: usize) -> TreeNode {
        let ignored = entry.on_disk && !self.visible.contains(path);
        let buffer = self.overlay.at(path);
        let len = match (&buffer, entry.kind) {
            (Some(buffer), _) => buffer.rope.len_bytes() as u64,
            (None, FileKind::File) => disk::stat(path).map_or(0, |stat| stat.len),
            (None, _) => 0,
        };
        let folded = entry.kind == FileKind::Folder && (ignored || level + 1 >= self.depth);
        TreeNode {
            path: path.to_owned(),
            name: path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            level,
            kind: entry.kind,
            len,
            leads_to: match entry.kind {
                FileKind::Symlink => self.target(path),
                FileKind::File
                | FileKind::Folder
                | FileKind::Pipe
                | FileKind::Socket
                | FileKind::Device => None,
            },
            collapsed: folded.then(|| self.count(path)),
            ignored,
            unsaved: buffer.is_some_and(|buffer| buffer.unsaved)
                || (!entry.on_disk && entry.kind != FileKind::Folder),
        }
    }

    /// Entries of a folder that only the editor has.
    fn unborn(&self, folder: &Path) -> BTreeMap<PathBuf, FileKind> {
        let mut entries = BTreeMap::new();
        for path in self.overlay.unborn(folder) {
            let Ok(below) = path.strip_prefix(folder) else { continue };
            let mut parts = below.components();
            let Some(first) = parts.next() else { continue };
            let kind = if parts.next().is_some() { FileKind::Folder } else { FileKind::File };
            let entry = folder.join(first);
            if disk::link_stat(&entry).is_err() {
                entries.insert(entry, kind);
            }
        }
        entries
    }

    /// How many entries of a folder may be told of.
    fn count(&self, folder: &Path) -> usize {
        let unborn = self.unborn(folder);
        if !self.visibility.denies_some() {
            return disk::count_entries(folder) + unborn.len();
        }
        let entries = disk::list_dir(folder).unwrap_or_default();
        let all = entries.iter().map(|entry| &entry.path).chain(unborn.keys());
        all.filter(|path| !self.denies(path)).count()
    }

    /// Where a link leads, if that may be told.
    fn target(&self, link: &Path) -> Option<PathBuf> {
        let denied =
            self.visibility.denies_some() && self.visibility.denies(&crate::roots::real_path(link));
        std::fs::read_link(link).ok().filter(|_| !denied)
    }

    fn denies(&self, path: &Path) -> bool {
        let real = || self.overlay.real(path).is_some_and(|real| self.visibility.denies(&real));
        self.visibility.denies_some() && (self.visibility.denies(path) || real())
    }

    fn entries(&mut self, folder: &Path) -> BTreeMap<PathBuf, Entry> {
        let mut entries = BTreeMap::new();
        match disk::list_dir(folder) {
            Ok(list) => {
                entries.extend(
                    list.into_iter().map(|e| (e.path, Entry { kind: e.kind, on_disk: true })),
                );
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) if self.result.notes.len() < MAX_NOTES => {
                let why = disk::told(&error);
                self.result.notes.push(format!("{} {why}", folder.display()));
            }
            Err(_) => {}
        }
        for (path, kind) in self.unborn(folder) {
            entries.entry(path).or_insert(Entry { kind, on_disk: false });
        }
        entries.retain(|path, entry| {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            let wanted = match (&self.globs, entry.kind) {
                (None, _) => true,
                (Some(globs), FileKind::Folder) => !globs.excludes_folder(path),
                (Some(globs), _) => globs.file(path),
            };
            wanted && !is_version_control(name)
        });
        let all = entries.len();
        entries.retain(|path, _| !self.denies(path));
        self.result.denied |= entries.len() < all;
        entries
    }
}

//! What a transaction will do, worked out in memory: every path's state before and after.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use text::ChangeSet;

use super::content::Content;
use super::{CommitError, DiskOp, Extras, Image, Undo};
use crate::disk::{self, FileKind};
use crate::format::{Decoded, Format, decode_as};
use crate::journal::Journal;
use crate::readings::Readings;
use crate::snapshot::hash_bytes;
use crate::{binary, encoding, raw};

/// A file or a link as it stands at a path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Node {
    File { content: Arc<Content>, attributes: Attributes },
    Symlink { target: PathBuf },
}

/// What is kept of a file besides its bytes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Attributes {
    /// `None`: what the process gives new files.
    pub mode: Option<u32>,
    /// User and group.
    pub owner: Option<(u32, u32)>,
    /// Where its extended attributes are read from.
    pub xattrs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Names of the same file; a file with several is written in place.
    pub links: u64,
}

impl Node {
    /// What stands here as an image, its bytes by the name that `blob` gives them.
    pub fn image(&self, blob: impl FnOnce(&Content) -> io::Result<[u8; 32]>) -> io::Result<Image> {
        Ok(match self {
            Node::File { content, attributes } => Image::File {
                blob: blob(content)?,
                mode: attributes.mode.unwrap_or(0o644),
                extras: Extras { owner: attributes.owner, xattrs: attributes.xattrs.clone() },
            },
            Node::Symlink { target } => Image::Symlink { target: target.clone() },
        })
    }

    /// What stands at `path` itself; `None` when nothing does.
    pub fn read(path: &Path) -> io::Result<Option<Node>> {
        let metadata = match fs::symlink_metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if is_absence(&error) => return Ok(None),
            Err(error) => return Err(error),
        };
        if metadata.is_symlink() {
            return Ok(Some(Node::Symlink { target: fs::read_link(path)? }));
        }
        let bytes = disk::read_bytes(path, MAX_FILE)?;
        let attributes = Attributes {
            mode: Some(metadata.mode() & 0o7777),
            owner: Some((metadata.uid(), metadata.gid())),
            xattrs: super::apply::read_xattrs(path),
            links: metadata.nlink(),
        };
        Ok(Some(Node::file(bytes, attributes)))
    }

    pub fn file(bytes: Vec<u8>, attributes: Attributes) -> Node {
        Node::File { content: Arc::new(Content::from(bytes)), attributes }
    }

    /// What it is once it was moved: a file of its own, whatever other names it had.
    fn at_new_name(mut self) -> Node {
        if let Node::File { attributes, .. } = &mut self {
            attributes.links = 0;
        }
        self
    }

    /// As `Vfs::content_hash` has it.
    pub fn hash(&self) -> [u8; 32] {
        match self {
            Node::Symlink { target } => hash_bytes(target.as_os_str().as_bytes()),
            Node::File { content, .. } => content.text_hash(),
        }
    }

    /// Whether the same stands at `path` now; attributes do not matter. That nothing does is an error
    /// ([`is_absence`]).
    pub fn stands_at(&self, path: &Path) -> io::Result<bool> {
        let is_link = fs::symlink_metadata(path)?.is_symlink();
        Ok(match self {
            Node::Symlink { target } => is_link && fs::read_link(path)? == *target,
            Node::File { content, .. } => {
                !is_link && disk::holds(path, std::iter::once(content.bytes()))?
            }
        })
    }
}

/// Whether an error says that nothing stands there.
pub(crate) fn is_absence(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// Files larger than this are not the business of a transaction.
const MAX_FILE: u64 = 1 << 30;

/// The text of bytes; `None` where they are no text.
pub(crate) fn text_of(bytes: &[u8]) -> Option<Decoded> {
    let detected = encoding::detect(bytes);
    if binary::sniff(bytes, detected).is_some() {
        return None;
    }
    Some(decode_as(bytes.to_vec(), detected))
}

/// A path before and after.
pub(crate) struct Step {
    /// Where the bytes are: a link's target for an edit through the link.
    pub path: PathBuf,
    /// As the caller wrote it.
    pub named: PathBuf,
    pub before: Option<Node>,
    pub after: Option<Node>,
}

/// Steps in the order of their first mention.
pub(crate) struct Plan {
    pub steps: Vec<Step>,
    /// Removed at the end, where they are empty; the outermost first.
    pub emptied: Vec<PathBuf>,
}

/// One file of several that are moved one right after the other.
struct Renaming {
    from: PathBuf,
    to: PathBuf,
    base_hash: [u8; 32],
}

/// The state of paths while steps are worked out.
#[derive(Default)]
struct Draft {
    steps: Vec<Step>,
    by_path: BTreeMap<PathBuf, usize>,
}

impl Plan {
    /// Works a transaction out against the disk.
    pub fn of(ops: Vec<DiskOp>, readings: &Readings) -> Result<Plan, CommitError> {
        let mut draft = Draft::default();
        let mut ops = ops.into_iter().peekable();
        while let Some(op) = ops.next() {
            match op {
                DiskOp::Edit { path, base_hash, changes } => {
                    draft.edit(&path, base_hash, &changes, readings)?
                }
                DiskOp::Create { path, text } => draft.create(&path, &text)?,
                DiskOp::Delete { path, base_hash } => {
                    draft.take(&path, base_hash)?;
                }
                DiskOp::Rename { from, to, base_hash } => {
                    let mut run = vec![Renaming { from, to, base_hash }];
                    while let Some(DiskOp::Rename { from, to, base_hash }) =
                        ops.next_if(|it| matches!(it, DiskOp::Rename { .. }))
                    {
                        run.push(Renaming { from, to, base_hash });
                    }
                    draft.rename(&run)?;
                }
            }
        }
        Ok(Plan { steps: draft.steps, emptied: Vec::new() })
    }

    /// The way back from a transaction.
    pub fn back(journal: &Journal, undo: &Undo) -> Result<Plan, CommitError> {
        let mut draft = Draft::default();
        for entry in undo.entries.iter().rev() {
            let before = entry.before.as_ref().map(|image| restored(journal, image));
            let before = before
                .transpose()
                .map_err(|error| CommitError::Io { path: entry.path.clone(), error })?;
            let step = draft.step(&entry.path, &entry.path)?;
            if !matches_image(step.after.as_ref(), entry.after.as_ref()) {
                return Err(CommitError::Changed { path: entry.path.clone() });
            }
            step.after = match (before, step.after.take()) {
                (
                    Some(Node::File { content, attributes }),
                    Some(Node::File { attributes: now, .. }),
                ) => Some(Node::File {
                    content,
                    attributes: Attributes { mode: attributes.mode, ..now },
                }),
                (before, _) => before,
            };
        }
        Ok(Plan { steps: draft.steps, emptied: undo.folders.clone() })
    }
}

/// What an image names, from the journal.
pub(crate) fn restored(journal: &Journal, image: &Image) -> io::Result<Node> {
    Ok(match image {
        Image::File { blob, mode, extras } => Node::file(
            journal.get(*blob)?,
            Attributes {
                mode: Some(*mode),
                // Others cannot give files away.
                owner: extras.owner.filter(|_| rustix::process::geteuid().is_root()),
                xattrs: extras.xattrs.clone(),
                links: 0,
            },
        ),
        Image::Symlink { target } => Node::Symlink { target: target.clone() },
    })
}

/// Whether what stands at a path is what an image names; the mode does not matter.
pub(crate) fn matches_image(node: Option<&Node>, image: Option<&Image>) -> bool {
    match (node, image) {
        (None, None) => true,
        (Some(Node::File { content, .. }), Some(Image::File { blob, .. })) => {
            content.hash() == *blob
        }
        (Some(Node::Symlink { target }), Some(Image::Symlink { target: image })) => target == image,
        (Some(_), _) | (None, Some(_)) => false,
    }
}

impl Draft {
    fn edit(
        &mut self,
        named: &Path,
        base_hash: [u8; 32],
        changes: &ChangeSet,
        readings: &Readings,
    ) -> Result<(), CommitError> {
        let path = self.through_links(named)?;
        let step = self.step(&path, named)?;
        let Some(Node::File { content, attributes }) = &mut step.after else {
            return Err(CommitError::Missing { path: named.to_owned() });
        };
        if let Some(hash) = readings.hash_of(named, content.bytes()) {
            content.known_by(hash);
        }
        let decoded;
        let (text, hash, format) = match content.plain_text() {
            Some(text) => (text, content.hash(), &Format::default()),
            None => {
                decoded = text_of(content.bytes()).ok_or_else(|| CommitError::NotAFile {
                    path: named.to_owned(),
                    what: "binary file",
                })?;
                let text = decoded.text.as_str();
                (text, hash_bytes(text.as_bytes()), &decoded.format)
            }
        };
        if hash != base_hash {
            return Err(CommitError::Changed { path: named.to_owned() });
        }
        let fits = changes.edits().iter().all(|edit| text.get(edit.range.clone()).is_some());
        if changes.len_before() != text.len() || !fits {
            return Err(CommitError::Misfit { path: named.to_owned() });
        }
        if attributes.mode.is_some_and(|mode| mode & 0o222 == 0) {
            return Err(CommitError::ReadOnly { path: named.to_owned() });
        }
        let bytes = raw::apply(content.bytes(), format, text, changes)
            .map_err(|error| CommitError::Unencodable { path: named.to_owned(), error })?;
        *content = Arc::new(Content::from(bytes));
        Ok(())
    }

    fn create(&mut self, path: &Path, text: &str) -> Result<(), CommitError> {
        self.must_be_free(path)?;
        let bytes = crate::editorconfig::new_file(path, text)
            .map_err(|error| CommitError::Unencodable { path: path.to_owned(), error })?;
        self.put(path, Node::file(bytes, Attributes::default()))
    }

    fn take(&mut self, path: &Path, base_hash: [u8; 32]) -> Result<Node, CommitError> {
        let step = self.step(path, path)?;
        let Some(node) = step.after.take() else {
            return Err(CommitError::Missing { path: path.to_owned() });
        };
        // Who read through a link has the hash of the text behind it.
        let behind = |node: &Node| match node {
            Node::Symlink { .. } => fs::canonicalize(path)
                .and_then(|target| Node::read(&target))
                .is_ok_and(|target| target.is_some_and(|target| target.hash() == base_hash)),
            Node::File { .. } => false,
        };
        if node.hash() != base_hash && !behind(&node) {
            return Err(CommitError::Changed { path: path.to_owned() });
        }
        Ok(node)
    }

    /// Moves files; one that goes to where a later one still stands waits for that, so that files can change places.
    fn rename(&mut self, run: &[Renaming]) -> Result<(), CommitError> {
        let mut waiting = Vec::new();
        for (at, Renaming { from, to, base_hash }) in run.iter().enumerate() {
            let key = key(to);
            let is_left_later = || run.iter().skip(at + 1).any(|it| self::key(&it.from) == key);
            if self.step(to, to)?.after.is_some() && is_left_later() {
                waiting.push((to, self.take(from, *base_hash)?.at_new_name()));
                continue;
            }
            self.must_be_free(to)?;
            let node = self.take(from, *base_hash)?.at_new_name();
            self.put(to, node)?;
        }
        for (to, node) in waiting {
            self.must_be_free(to)?;
            self.put(to, node)?;
        }
        Ok(())
    }

    fn put(&mut self, path: &Path, node: Node) -> Result<(), CommitError> {
        self.step(path, path)?.after = Some(node);
        Ok(())
    }

    fn must_be_free(&mut self, path: &Path) -> Result<(), CommitError> {
        match disk::link_stat(path).map(|stat| stat.kind) {
            Ok(FileKind::Folder | FileKind::Pipe | FileKind::Socket | FileKind::Device) => {
                return Err(CommitError::Exists { path: path.to_owned() });
            }
            Ok(FileKind::File | FileKind::Symlink) | Err(_) => {}
        }
        match self.step(path, path)?.after {
            Some(_) => Err(CommitError::Exists { path: path.to_owned() }),
            None => Ok(()),
        }
    }

    /// Where an edit of `named` goes.
    fn through_links(&self, named: &Path) -> Result<PathBuf, CommitError> {
        match fs::symlink_metadata(named) {
            Ok(metadata) if metadata.is_symlink() => {
                fs::canonicalize(named).map_err(|_| CommitError::Missing { path: named.to_owned() })
            }
            Ok(_) | Err(_) => Ok(named.to_owned()),
        }
    }

    fn step(&mut self, path: &Path, named: &Path) -> Result<&mut Step, CommitError> {
        let key = key(path);
        let at = match self.by_path.get(&key) {
            Some(at) => *at,
            None => {
                let before = read_node(path)?;
                let step = Step {
                    path: key.clone(),
                    named: named.to_owned(),
                    after: before.clone(),
                    before,
                };
                self.steps.push(step);
                self.by_path.insert(key, self.steps.len() - 1);
                self.steps.len() - 1
            }
        };
        Ok(&mut self.steps[at])
    }
}

/// Two spellings of a path through linked folders are one file.
fn key(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => crate::roots::real_path(parent).join(name),
        _ => path.to_owned(),
    }
}

fn read_node(path: &Path) -> Result<Option<Node>, CommitError> {
    if let Ok(stat) = disk::link_stat(path) {
        match stat.kind {
            FileKind::File | FileKind::Symlink => {}
            kind @ (FileKind::Folder | FileKind::Pipe | FileKind::Socket | FileKind::Device) => {
                return Err(CommitError::NotAFile { path: path.to_owned(), what: kind.name() });
            }
        }
    }
    Node::read(path).map_err(|error| CommitError::Io { path: path.to_owned(), error })
}

//! Images as whoever takes changes back needs them: what stands at a path now, and the text that an image holds.
//!
//! Invariant: the images are bounded in size; those used longest ago go first, never one that is still needed.

use std::collections::HashSet;
use std::io;
use std::path::Path;

use text::Rope;

use crate::store::Vfs;
use crate::transaction::Image;
use crate::transaction::plan::{Node, text_of};

/// What stands at a path.
#[derive(Clone, Debug)]
pub struct Standing {
    /// Its bytes by name, and its mode. They are not kept by looking.
    pub image: Image,
    /// Its text; absent for a link and for a file that is no text.
    pub text: Option<Rope>,
}

/// What dropping old images came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Images dropped.
    pub dropped: usize,
    /// Bytes of those left.
    pub left: u64,
}

impl Image {
    /// What its bytes are kept under.
    pub fn blob(&self) -> Option<[u8; 32]> {
        match self {
            Image::File { blob, .. } => Some(*blob),
            Image::Symlink { .. } => None,
        }
    }

    /// Whether the bytes are the same; the mode does not matter.
    pub fn same_content(&self, other: &Image) -> bool {
        match (self, other) {
            (Image::File { blob: a, .. }, Image::File { blob: b, .. }) => a == b,
            (Image::Symlink { target: a }, Image::Symlink { target: b }) => a == b,
            (Image::File { .. }, Image::Symlink { .. })
            | (Image::Symlink { .. }, Image::File { .. }) => false,
        }
    }
}

impl Vfs {
    /// What stands at `path` itself; `None` when nothing does.
    pub fn standing(&self, path: &Path) -> io::Result<Option<Standing>> {
        let Some(node) = Node::read(path)? else { return Ok(None) };
        let text = match &node {
            Node::File { content, .. } => {
                text_of(content.bytes()).map(|it| Rope::from_str(&it.text))
            }
            Node::Symlink { .. } => None,
        };
        Ok(Some(Standing { image: node.image(|content| Ok(content.hash()))?, text }))
    }

    /// The text of an image; `None` for a link and for bytes that are no text.
    pub fn image_text(&self, image: &Image) -> io::Result<Option<Rope>> {
        let Some(blob) = image.blob() else { return Ok(None) };
        Ok(text_of(&self.journal().get(blob)?).map(|it| Rope::from_str(&it.text)))
    }

    /// Bytes of images kept since old ones were last dropped.
    pub fn fresh_images(&self) -> u64 {
        self.journal().fresh()
    }

    /// Drops the images used longest ago until at most `limit` bytes are left. Images in `needed`, of transactions
    /// under way and of the last minute stay in any case. Blocks on the disk.
    pub fn prune_images(&self, limit: u64, needed: &HashSet<[u8; 32]>) -> io::Result<Pruned> {
        self.journal().prune(limit, needed)
    }
}

#[cfg(test)]
mod tests;

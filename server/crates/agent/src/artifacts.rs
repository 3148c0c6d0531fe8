//! Long results of a session, kept whole where `Read` and `Grep` find them as `artifact:<id>`.

use std::path::{Path, PathBuf};

use vfs::state;

/// The artifacts of one session. Without a folder nothing is kept.
#[derive(Clone, Debug, Default)]
pub struct Artifacts {
    dir: Option<PathBuf>,
}

impl Artifacts {
    /// Artifacts below this folder.
    pub fn new(dir: Option<PathBuf>) -> Artifacts {
        Artifacts { dir }
    }

    /// The folder.
    pub fn dir(&self) -> Option<&Path> {
        self.dir.as_deref()
    }

    /// Keeps a text; the id is made of its content, so the same text is kept once.
    pub fn save(&self, text: &str) -> std::io::Result<String> {
        let dir =
            self.dir.as_ref().ok_or_else(|| std::io::Error::other("this run keeps no files"))?;
        let id = crate::store::hash_hex(text.as_bytes())[..20].to_string();
        state::write_private(&dir.join(&id), text.as_bytes())?;
        Ok(id)
    }
}

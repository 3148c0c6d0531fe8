//! A script too long for an argument, in a file that is there while its command runs.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::capture::create;

/// The file; dropping this deletes it.
#[derive(Debug)]
pub(crate) struct ScriptFile(PathBuf);

impl ScriptFile {
    pub(crate) fn write(path: PathBuf, script: &str) -> io::Result<ScriptFile> {
        let mut open = create(&path)?;
        // From here on it goes also when it could not be filled.
        let file = ScriptFile(path);
        open.write_all(script.as_bytes())?;
        Ok(file)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for ScriptFile {
    fn drop(&mut self) {
        // It stays behind if this fails, in a folder of our own.
        let _ = rustix::fs::unlink(&self.0);
    }
}

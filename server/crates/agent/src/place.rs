//! Where a call works: the workspace's roots and the session's current folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use exec::Grammar;
use vfs::{FileKind, Location, Roots, Vfs};

use crate::programs::Programs;
use crate::tool::Failure;

/// Bytes of a path at most; systems take no longer ones.
const MAX_PATH: usize = 4_096;

/// The workspace of a session as a call sees it.
#[derive(Clone)]
pub struct Place {
    /// Folders that count as inside.
    pub roots: Arc<Roots>,
    /// Open documents: a link to one names it.
    pub vfs: Vfs,
    /// What relative paths start from.
    pub cwd: PathBuf,
    /// Where `artifact:<id>` lies.
    pub artifacts: Option<PathBuf>,
    /// How its commands are written.
    pub grammar: Grammar,
    /// What calls started and speak of later.
    pub programs: Programs,
}

/// A place a call touches, with what the permission engine needs to know of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// What is touched.
    pub location: Location,
    /// The real path after following links, where it differs.
    pub real: Option<PathBuf>,
    /// Whether both lie inside the workspace.
    pub inside: bool,
}

impl Place {
    /// What `input` names: absolute, `~/…`, relative to the current folder, or an `untitled:` URI.
    pub fn target(&self, input: &str) -> Result<Target, Failure> {
        if input.trim().is_empty() {
            return Err(Failure::new("The path is empty. Give the path of a file."));
        }
        if input.len() > MAX_PATH {
            let len = input.len();
            return Err(Failure::new(format!(
                "The path is {len} bytes long; no file has one of more than {MAX_PATH}."
            )));
        }
        if input.contains('\0') {
            return Err(Failure::new("The path contains a NUL character."));
        }
        if let Some(id) = input.strip_prefix("artifact:") {
            return self.artifact(id);
        }
        let resolved = self.roots.resolve(&self.cwd, input);
        let location = match &resolved.location {
            it @ Location::Disk(_) if !self.vfs.is_open(it) => self.vfs.open_at(&resolved.real),
            Location::Disk(_) | Location::Virtual(_) => None,
        };
        let location = location.unwrap_or(resolved.location);
        let named = vfs::normalize(&self.cwd.join(input));
        let real = match &location {
            // What was named and what it leads to are both judged.
            Location::Disk(path) if *path != resolved.real => Some(resolved.real),
            Location::Disk(path) if *path != named && resolved.via_symlink => Some(named),
            Location::Disk(_) | Location::Virtual(_) => None,
        };
        Ok(Target { location, real, inside: resolved.inside })
    }

    /// What `input` names for a tool that writes files. One that names a folder by its end is no
    /// file's, whatever it would come to.
    pub fn file(&self, input: &str) -> Result<Target, Failure> {
        let target = self.target(input)?;
        // What became of it could neither be told nor kept.
        if target.location.path().is_some_and(|it| it.to_str().is_none()) {
            return Err(Failure::new(format!(
                "The path {input} is no valid text (UTF-8), so the file can be read but not changed. Rename it first."
            )));
        }
        let last = input.rsplit('/').next().unwrap_or_default();
        match (&target.location, last) {
            (Location::Disk(_), "" | "." | "..") => {
                let end = if last.is_empty() { "/" } else { last };
                Err(Failure::new(format!(
                    "{input} names a folder, since it ends in \"{end}\". Give the path of a file."
                )))
            }
            (Location::Disk(_) | Location::Virtual(_), _) => Ok(target),
        }
    }

    /// What `input` names where that is a link: the link, not what it leads to, open or not.
    pub fn link(&self, input: &str) -> Option<Location> {
        if input.len() > MAX_PATH {
            return None;
        }
        let location = self.roots.resolve(&self.cwd, input).location;
        let stat = self.vfs.link_stat(location.path()?).ok()?;
        (stat.kind == FileKind::Symlink).then_some(location)
    }

    /// The same workspace, seen from another current folder.
    pub fn from(&self, cwd: &Path) -> Place {
        Place { cwd: cwd.to_path_buf(), ..self.clone() }
    }

    /// The folder that `input` names.
    pub fn folder(&self, input: &str) -> Result<PathBuf, Failure> {
        match self.target(input)?.location {
            Location::Disk(path) => Ok(path),
            Location::Virtual(uri) => Err(Failure::new(format!("{uri} is not a folder."))),
        }
    }

    /// The current folder; where it is gone, the workspace's folder it was in.
    pub fn current_folder(&self) -> PathBuf {
        let is_folder = |it: &Path| self.vfs.kind(it) == Some(FileKind::Folder);
        if is_folder(&self.cwd) {
            return self.cwd.clone();
        }
        let above = self.roots.paths().filter(|it| self.cwd.starts_with(it));
        let left = above.chain(self.roots.paths()).find(|it| is_folder(it));
        left.map_or_else(|| self.cwd.clone(), Path::to_path_buf)
    }

    /// The workspace's folders: as they were opened, and what links lead to.
    pub fn folders(&self) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = self.roots.paths().map(Path::to_path_buf).collect();
        for path in self.roots.paths() {
            let real = self.roots.locate(path).real;
            if !folders.contains(&real) {
                folders.push(real);
            }
        }
        folders
    }

    /// Whether a folder is the current one or one of the workspace's, or holds it.
    pub fn is_whole(&self, folder: &Path) -> bool {
        let real = self.roots.locate(folder).real;
        let mut folders = self.folders().into_iter().chain([self.cwd.clone()]);
        folders.any(|it| it.starts_with(folder) || it.starts_with(&real))
    }

    /// The path as people read it: relative to the current folder or a root where it lies inside.
    pub fn shown(&self, location: &Location) -> String {
        match location {
            Location::Disk(path) => self.shown_path(path),
            Location::Virtual(uri) => uri.clone(),
        }
    }

    fn artifact(&self, id: &str) -> Result<Target, Failure> {
        let plain = id.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit());
        match &self.artifacts {
            Some(dir) if plain && 16 <= id.len() => {
                Ok(Target { location: Location::Disk(dir.join(id)), real: None, inside: true })
            }
            Some(_) | None => {
                Err(Failure::new(format!("There is no artifact:{id} in this session.")))
            }
        }
    }

    /// A text that may name artifacts by where they lie, naming them as they are asked for.
    pub fn told(&self, text: &str) -> String {
        match &self.artifacts {
            Some(dir) => text.replace(&format!("{}/", dir.display()), "artifact:"),
            None => text.to_owned(),
        }
    }

    fn shown_path(&self, path: &Path) -> String {
        let artifact = self.artifacts.as_ref().and_then(|dir| path.strip_prefix(dir).ok());
        if let Some(id) = artifact.filter(|id| !id.as_os_str().is_empty()) {
            return format!("artifact:{}", id.display());
        }
        match path.strip_prefix(&self.cwd) {
            Ok(rest) if rest.as_os_str().is_empty() => ".".into(),
            Ok(rest) => rest.display().to_string(),
            Err(_) => path.display().to_string(),
        }
    }
}

impl Target {
    /// The paths rules are matched against: the link and what it leads to.
    pub fn paths(&self) -> Vec<&Path> {
        let mut paths = Vec::new();
        if let Location::Disk(path) = &self.location {
            paths.push(path.as_path());
        }
        if let Some(real) = &self.real {
            paths.push(real.as_path());
        }
        paths
    }
}

#[cfg(test)]
pub mod tests {
    use vfs::Vfs;

    use super::*;

    #[test]
    fn artifacts_are_told_by_their_names() {
        let place = Place {
            roots: Arc::new(Roots::new([PathBuf::from("/w")])),
            vfs: no_files(),
            cwd: PathBuf::from("/w"),
            artifacts: Some(PathBuf::from("/state/artifacts")),
            grammar: Grammar::Posix,
            programs: Programs::default(),
        };
        let id = "abcdefghij012345";
        let target = place.target(&format!("artifact:{id}")).unwrap();
        assert_eq!(place.shown(&target.location), format!("artifact:{id}"));
        let error = format!("/state/artifacts/{id} does not exist.");
        assert_eq!(place.told(&error), format!("artifact:{id} does not exist."));
        assert_eq!(place.shown(&Location::disk("/w/a")), "a");
        assert!(place.is_whole(Path::new("/w")) && place.is_whole(Path::new("/")));
        assert!(!place.is_whole(Path::new("/w/a")));
    }

    /// A store with nothing open.
    pub fn no_files() -> Vfs {
        Vfs::new(vfs::Options {
            unit: text::Unit::Utf8,
            breaks: text::LineBreaks::Lf,
            state_dir: None,
        })
    }
}

//! What of the files a search comes upon it may tell of.
//!
//! Judged before anything is searched, so that nothing of what a withheld file holds, not even whether it matches,
//! shows in a result.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::guard::is_sensitive;

type Test = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// Which files are kept out of results. By default those with secrets.
#[derive(Clone, Default)]
pub struct Visibility {
    denied: Option<Test>,
    allowed: Option<Test>,
}

/// What is decided of one file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Sight {
    Shown,
    /// It is sensitive, and nobody allowed it.
    Secret,
    /// A rule denies it.
    Denied,
}

impl Visibility {
    /// Files these paths of which are denied are kept out, their names too.
    pub fn denying(self, denied: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Visibility {
        Visibility { denied: Some(Arc::new(denied)), ..self }
    }

    /// Sensitive files all sensitive paths of which are allowed are no secrets.
    pub fn allowing(self, allowed: impl Fn(&Path) -> bool + Send + Sync + 'static) -> Visibility {
        Visibility { allowed: Some(Arc::new(allowed)), ..self }
    }

    /// Whether some paths are denied at all.
    pub(super) fn denies_some(&self) -> bool {
        self.denied.is_some()
    }

    /// Whether a rule denies a path, whatever it leads to.
    pub(super) fn denies(&self, path: &Path) -> bool {
        self.denied.as_ref().is_some_and(|denied| denied(path))
    }

    /// Decides by all paths of one file: the one it is listed under, and the real one.
    pub(super) fn judge<'a>(&self, paths: impl Iterator<Item = &'a Path> + Clone) -> Sight {
        if paths.clone().any(|path| self.denies(path)) {
            return Sight::Denied;
        }
        let is_allowed = |path| self.allowed.as_ref().is_some_and(|allowed| allowed(path));
        let mut secrets = paths.filter(|path| is_sensitive(path));
        if secrets.any(|path| !is_allowed(path)) { Sight::Secret } else { Sight::Shown }
    }
}

impl fmt::Debug for Visibility {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Visibility").finish_non_exhaustive()
    }
}

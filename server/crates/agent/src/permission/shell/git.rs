//! Whether a repository may make a reading git command run a program.
//!
//! Invariant: only settings that are known to name no program, or whose program is overruled by the
//! environment such a command runs in (`exec::reading_environment`), leave it harmless; what cannot be
//! read does not. The person's own settings, outside the workspace, are theirs.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::place::Place;

/// Bytes of a file that is read for this.
const MOST_BYTES: u64 = 1 << 20;
/// Repositories within repositories.
const MOST_REPOSITORIES: usize = 200;

/// Whether nothing that git reads from this folder on makes it run a program.
pub(super) fn runs_nothing(place: &Place) -> bool {
    let mut look = Look { place, repositories: 0 };
    look.at_folder(&place.roots.locate(&place.cwd).real) && look.at_persons()
}

struct Look<'a> {
    place: &'a Place,
    repositories: usize,
}

/// Whether the settings that the environment overrules count as harmless.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Overruled {
    /// The command itself reads the environment.
    Yes,
    /// Older versions of git start what looks into a submodule without it.
    No,
}

impl Look<'_> {
    /// Where git takes one repository for none it goes on to the next, so all of the workspace's count.
    fn at_folder(&mut self, folder: &Path) -> bool {
        let mut found = false;
        for folder in folder.ancestors() {
            if found && !self.is_inside(folder) {
                break;
            }
            // Such a folder is a repository without a work tree, wherever it lies.
            if ["HEAD", "objects", "refs"].iter().all(|it| self.is_there(&folder.join(it))) {
                return false;
            }
            if self.is_there(&folder.join(".git")) {
                if !self.at_worktree(folder, Overruled::Yes) {
                    return false;
                }
                found = true;
            }
        }
        true
    }

    /// The person's settings are anyone's where they lie in the workspace.
    fn at_persons(&self) -> bool {
        let Some(home) = std::env::home_dir() else { return true };
        let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from);
        let config = config.filter(|it| it.is_absolute()).unwrap_or_else(|| home.join(".config"));
        let mut files = [home.join(".gitconfig"), config.join("git/config")].into_iter();
        files.all(|it| !self.is_inside(&it) || self.is_harmless_file(&it, Overruled::Yes))
    }

    fn at_worktree(&mut self, worktree: &Path, overruled: Overruled) -> bool {
        self.repositories += 1;
        if self.repositories > MOST_REPOSITORIES {
            return false;
        }
        let Some(own) = self.git_dir(worktree) else { return false };
        let common = match self.pointer(&own.join("commondir")) {
            Some(common) => vfs::normalize(&own.join(common)),
            None => own.clone(),
        };
        let files = [common.join("config"), own.join("config.worktree")];
        if !files.iter().all(|it| self.is_harmless_file(it, overruled)) {
            return false;
        }
        // Which hook is looked for is overruled too.
        let hook = common.join("hooks/post-index-change");
        if overruled == Overruled::No && self.is_there(&hook) {
            return false;
        }
        let index = own.join("index");
        if !self.is_there(&index) {
            return true;
        }
        let Some(submodules) = self.place.vfs.submodules(&index) else { return false };
        let folders = submodules.into_iter().map(|it| worktree.join(it));
        let folders: Vec<PathBuf> = folders.filter(|it| self.is_there(&it.join(".git"))).collect();
        folders.iter().all(|it| self.at_worktree(it, Overruled::No))
    }

    /// Where the data of a work tree lies; `None` where that is somebody else's repository.
    fn git_dir(&self, worktree: &Path) -> Option<PathBuf> {
        let git = worktree.join(".git");
        if self.place.vfs.kind(&git) == Some(vfs::FileKind::Folder) {
            return Some(git);
        }
        let pointer = self.place.vfs.read_bytes(&git, MOST_BYTES).ok()?;
        let target = pointer.strip_prefix(b"gitdir:")?.trim_ascii();
        let own = vfs::normalize(&worktree.join(OsStr::from_bytes(target)));
        // That of a linked work tree says so itself.
        let points_back = || {
            let back = self.pointer(&own.join("gitdir"))?;
            let same = self.place.roots.locate(&own.join(back)).real;
            (same == self.place.roots.locate(&git).real).then_some(())
        };
        (self.is_inside(&own) || points_back().is_some()).then_some(own)
    }

    /// What a file of one line names.
    fn pointer(&self, path: &Path) -> Option<PathBuf> {
        let bytes = self.place.vfs.read_bytes(path, MOST_BYTES).ok()?;
        Some(PathBuf::from(OsStr::from_bytes(bytes.trim_ascii())))
    }

    fn is_harmless_file(&self, path: &Path, overruled: Overruled) -> bool {
        if !self.is_there(path) {
            return true;
        }
        let folder = path.parent().unwrap_or(path);
        let Ok(bytes) = self.place.vfs.read_bytes(path, MOST_BYTES) else { return false };
        let Ok(text) = std::str::from_utf8(&bytes) else { return false };
        let Some(settings) = settings(text) else { return false };
        settings.iter().all(|it| match (it.section.as_str(), it.key.as_str()) {
            ("core", "worktree") if it.subsection.is_none() => {
                let plain = !it.value.contains(['\\', '"', '#', ';']);
                plain && self.is_inside(&vfs::normalize(&folder.join(&it.value)))
            }
            _ => is_harmless(it, overruled),
        })
    }

    fn is_there(&self, path: &Path) -> bool {
        self.place.vfs.link_stat(path).is_ok()
    }

    fn is_inside(&self, path: &Path) -> bool {
        self.place.roots.locate(path).inside
    }
}

/// One setting as it is written.
struct Setting {
    /// In lower case.
    section: String,
    subsection: Option<String>,
    /// In lower case.
    key: String,
    /// With its quotes and comments.
    value: String,
}

/// The settings of a file; `None` where it is written in a way that is not followed.
fn settings(text: &str) -> Option<Vec<Setting>> {
    let mut all = Vec::new();
    let (mut section, mut subsection) = (String::new(), None);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // The next line goes on with this one.
        if line.trim_end().ends_with('\\') {
            return None;
        }
        let mut rest = line.trim();
        while let Some(header) = rest.strip_prefix('[') {
            let end = end_of_header(header)?;
            let (name, quoted) = match header[..end].split_once(char::is_whitespace) {
                Some((name, quoted)) => (name, Some(quoted.trim().to_string())),
                None => (&header[..end], None),
            };
            let (name, dotted) = match name.split_once('.') {
                Some((name, rest)) => (name, Some(rest.to_string())),
                None => (name, None),
            };
            section = name.to_ascii_lowercase();
            subsection = quoted.or(dotted);
            rest = header[end + 1..].trim_start();
        }
        if rest.is_empty() || rest.starts_with(['#', ';']) {
            continue;
        }
        let (key, value) = rest.split_once('=').unwrap_or((rest, ""));
        all.push(Setting {
            section: section.clone(),
            subsection: subsection.clone(),
            key: key.trim().to_ascii_lowercase(),
            value: value.trim().to_string(),
        });
    }
    Some(all)
}

/// Where the bracket of a header closes.
fn end_of_header(header: &str) -> Option<usize> {
    let (mut quoted, mut escaped) = (false, false);
    header.char_indices().find_map(|(at, it)| {
        let ends = it == ']' && !quoted;
        if !escaped && it == '"' {
            quoted = !quoted;
        }
        escaped = !escaped && it == '\\';
        ends.then_some(at)
    })
}

/// Sections without a key that names what a reading command would run.
const HARMLESS: &[&str] = &[
    "add",
    "advice",
    "alias",
    "am",
    "apply",
    "author",
    "branch",
    "checkout",
    "clean",
    "clone",
    "color",
    "column",
    "commit",
    "committer",
    "credential",
    "difftool",
    "fetch",
    "format",
    "gc",
    "github",
    "gitflow",
    "gui",
    "help",
    "http",
    "hub",
    "i18n",
    "index",
    "init",
    "interactive",
    "log",
    "maintenance",
    "mergetool",
    "notes",
    "pack",
    "pager",
    "protocol",
    "pull",
    "push",
    "rebase",
    "receive",
    "repack",
    "rerere",
    "revert",
    "safe",
    "sendemail",
    "sequence",
    "ssh",
    "stash",
    "status",
    "submodule",
    "svn",
    "svn-remote",
    "switch",
    "tag",
    "transfer",
    "url",
    "user",
    "versionsort",
    "worktree",
];

const OF_CORE: &[&str] = &[
    "abbrev",
    "autocrlf",
    "bare",
    "bigfilethreshold",
    "checkstat",
    "commentchar",
    "commentstring",
    "commitgraph",
    "compression",
    "createobject",
    "deltabasecachelimit",
    "editor",
    "eol",
    "filemode",
    "fscache",
    "fsync",
    "fsyncmethod",
    "fsyncobjectfiles",
    "hidedotfiles",
    "ignorecase",
    "ignorestat",
    "logallrefupdates",
    "longpaths",
    "loosecompression",
    "maxtreedepth",
    "multipackindex",
    "packedgitlimit",
    "packedgitwindowsize",
    "packedrefstimeout",
    "pager",
    "precomposeunicode",
    "prefersymlinkrefs",
    "preloadindex",
    "protecthfs",
    "protectntfs",
    "quotepath",
    "repositoryformatversion",
    "safecrlf",
    "sharedrepository",
    "sparsecheckout",
    "sparsecheckoutcone",
    "splitindex",
    "symlinks",
    "trustctime",
    "untrackedcache",
    "warnambiguousrefs",
    "whitespace",
];

/// Those of `core` that name a program or a folder of programs, and are overruled.
const OVERRULED: &[&str] = &["askpass", "fsmonitor", "gitproxy", "hookspath", "sshcommand"];

fn is_harmless(setting: &Setting, overruled: Overruled) -> bool {
    let Setting { section, subsection, key, value } = setting;
    let (section, key) = (section.as_str(), key.as_str());
    let is_overruled = overruled == Overruled::Yes;
    match (section, subsection) {
        ("core", None) => {
            OF_CORE.contains(&key)
                || (OVERRULED.contains(&key) && is_overruled)
                // No version takes these for a program.
                || (key == "fsmonitor" && value == "false")
        }
        ("extensions", None) => [
            "worktreeconfig",
            "objectformat",
            "compatobjectformat",
            "refstorage",
            "noop",
            "preciousobjects",
            "relativeworktrees",
        ]
        .contains(&key),
        // Objects that are not there would be fetched.
        ("remote", _) => [
            "url",
            "pushurl",
            "fetch",
            "push",
            "tagopt",
            "prune",
            "prunetags",
            "mirror",
            "skipdefaultupdate",
            "skipfetchall",
            "gh-resolved",
            "glab-resolved",
            "pushdefault",
        ]
        .contains(&key),
        ("diff", None) => key != "external",
        ("diff", Some(_)) => {
            ["xfuncname", "funcname", "binary", "wordregex", "algorithm", "cachetextconv"]
                .contains(&key)
        }
        ("merge", None) => true,
        ("merge", Some(_)) => ["name", "recursive"].contains(&key),
        ("gpg", _) => is_overruled || !key.contains("program"),
        // Of any other file the first line would be told.
        ("blame", None) => key != "ignorerevsfile" || is_plain_name(value),
        ("lfs", _) => {
            ["access", "locksverify", "pushurl", "repositoryformatversion", "url"].contains(&key)
        }
        _ => HARMLESS.contains(&section),
    }
}

fn is_plain_name(value: &str) -> bool {
    !value.is_empty() && value.chars().all(|it| it.is_ascii_alphanumeric() || "._-".contains(it))
}

#[cfg(test)]
mod tests;

//! What a command's output says of the sandbox having stopped it.
//!
//! The kernel tells nobody but the program, and programs say it in many ways. A place is named only
//! where the sandbox forbids it and the person could write there: an error of another cause is not
//! taken for a denial.

use std::ffi::OsString;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Access, Mode, OFlags};

use crate::sandbox::{Grant, Sandbox};

/// Most denials that are told apart.
const MOST: usize = 5;
/// Lines before a bare error in which its path may stand.
const BEFORE: usize = 4;
/// Of a line, what is looked at.
const LINE: usize = 2000;

/// Something that the sandbox, as far as can be told, denied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Denial {
    /// Changing what lies at this place.
    Write(PathBuf),
    /// Opening this file, which is hidden.
    Hidden(PathBuf),
    /// Reaching anything through the network.
    Network,
    /// The output says that something was denied, and not what.
    Unnamed,
    /// The command was not started: this system cannot confine it, for this reason.
    Unsupported(String),
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Denial::Write(path) => write!(f, "writing {} was denied", path.display()),
            Denial::Hidden(path) => {
                write!(f, "opening {} was denied: it may hold secrets", path.display())
            }
            Denial::Network => write!(f, "the network is closed"),
            Denial::Unnamed => write!(f, "something may have been denied"),
            Denial::Unsupported(why) => write!(f, "nothing was run: {why}"),
        }
    }
}

impl Sandbox {
    /// What of the output of a command that failed speaks of this sandbox. Names are taken as
    /// relative to `cwd`.
    pub fn denials(&self, output: &str, cwd: &Path) -> Vec<Denial> {
        let lines: Vec<&str> = output.lines().map(start).collect();
        let mut found = Vec::new();
        let mut unnamed = false;
        for (index, line) in lines.iter().enumerate() {
            if found.len() == MOST {
                return found;
            }
            let lower = line.to_lowercase();
            if self.network == Grant::Denied && speaks_of_network(&lower) {
                push(&mut found, Denial::Network);
                continue;
            }
            let Some(at) = refusal(&lower) else { continue };
            // Only where both have the same length can a place in one be found in the other.
            let before = line.get(..at).filter(|_| lower.len() == line.len());
            let places = named(line, before, &lines[index.saturating_sub(BEFORE)..index]);
            let places_there = places.iter().map(|it| absolute(it, cwd));
            let denied: Vec<Denial> = places_there.filter_map(|it| self.denies(it)).collect();
            // Also where the command was in another folder than it began or ended in.
            unnamed |= places.iter().all(|it| !it.starts_with('/') && !exists(&cwd.join(it)));
            for denial in denied {
                push(&mut found, denial);
            }
        }
        if found.is_empty() && unnamed {
            found.push(Denial::Unnamed);
        }
        found.truncate(MOST);
        found
    }

    /// What the sandbox, and nothing else, denies at `path`.
    fn denies(&self, path: PathBuf) -> Option<Denial> {
        let (base, rest) = existing(&path)?;
        let real = real(&base)?.join(rest);
        if self.hidden.iter().any(|it| real == Path::new(it)) {
            return Some(Denial::Hidden(path));
        }
        let device = ["/dev", "/proc", "/sys"].iter().any(|it| real.starts_with(it));
        let allowed = |place: &OsString| {
            real.starts_with(place)
                || self::real(Path::new(place)).is_some_and(|it| real.starts_with(it))
        };
        let denied = !device
            && !self.writable.iter().any(allowed)
            && rustix::fs::access(&base, Access::WRITE_OK).is_ok();
        denied.then_some(Denial::Write(path))
    }
}

fn start(line: &str) -> &str {
    let end = (0..=LINE.min(line.len())).rev().find(|it| line.is_char_boundary(*it));
    &line[..end.unwrap_or_default()]
}

fn push(found: &mut Vec<Denial>, denial: Denial) {
    if !found.contains(&denial) {
        found.push(denial);
    }
}

fn speaks_of_network(lower: &str) -> bool {
    const SIGNS: &[&str] = &[
        "could not resolve",
        "couldn't resolve",
        "temporary failure in name resolution",
        "temporary failure resolving",
        "name or service not known",
        "unable to resolve host",
        "failed to lookup address",
        "dns error",
        "dial tcp",
        "eai_again",
        "enotfound",
        "getaddrinfo",
        "network is unreachable",
        "couldn't connect to server",
        "could not connect to",
        "failed to connect to",
    ];
    const CALLS: &[&str] = &["socket", "connect", "listen", "bind", "/dev/tcp", "ping"];
    SIGNS.iter().any(|sign| lower.contains(sign))
        || (lower.contains("operation not permitted") || lower.contains("eperm"))
            && CALLS.iter().any(|call| lower.contains(call))
}

/// Where the words begin that say an access was refused.
fn refusal(lower: &str) -> Option<usize> {
    const SIGNS: &[&str] =
        &["permission denied", "operation not permitted", "cross-device link", "eacces", "eperm"];
    SIGNS.iter().filter_map(|sign| lower.find(sign)).min()
}

/// The places an error is about: quoted in it, a path just before the refusal, absolute somewhere in
/// the line, a word just before the refusal, or absolute in the lines above.
fn named(line: &str, before: Option<&str>, above: &[&str]) -> Vec<String> {
    let quoted = quoted(line);
    if !quoted.is_empty() {
        return quoted;
    }
    let field = before
        .and_then(|it| it.trim_end().strip_suffix(':'))
        .and_then(|it| it.rsplit(": ").next())
        .and_then(|it| it.split_whitespace().next_back())
        .filter(|it| !it.ends_with("rror"));
    if let Some(field) = field.filter(|it| it.contains('/')) {
        return vec![field.to_owned()];
    }
    let absolute = absolutes(line);
    if !absolute.is_empty() {
        return absolute;
    }
    match field {
        Some(field) => vec![field.to_owned()],
        None => {
            let mut above = above.iter().rev().map(|it| absolutes(it));
            above.find(|it| !it.is_empty()).unwrap_or_default()
        }
    }
}

fn quoted(line: &str) -> Vec<String> {
    const QUOTES: &[(char, char)] = &[('\'', '\''), ('"', '"'), ('`', '`'), ('‘', '’')];
    let mut found = Vec::new();
    for (open, close) in QUOTES {
        let mut rest = line;
        while let Some((_, inner)) = rest.split_once(*open) {
            let Some((text, after)) = inner.split_once(*close) else { break };
            if !text.is_empty() {
                found.push(text.to_owned());
            }
            rest = after;
        }
    }
    found
}

/// Absolute paths in a line, but for the program that speaks.
fn absolutes(line: &str) -> Vec<String> {
    const ENDS: &[char] = &['(', ')', '[', ']', ',', ';', '='];
    line.split(|it: char| it.is_whitespace() || ENDS.contains(&it))
        .enumerate()
        .filter(|(index, it)| !(*index == 0 && it.ends_with(':')))
        .map(|(_, it)| it.trim_end_matches([':', '.']))
        .filter(|it| it.len() > 1 && it.starts_with('/'))
        .map(str::to_owned)
        .collect()
}

/// The path, with `.` and `..` worked out by name.
fn absolute(place: &str, cwd: &Path) -> PathBuf {
    let mut path = PathBuf::new();
    for part in cwd.join(place).components() {
        match part {
            Component::ParentDir => {
                path.pop();
            }
            Component::CurDir => {}
            Component::RootDir | Component::Normal(_) | Component::Prefix(_) => path.push(part),
        }
    }
    path
}

fn exists(path: &Path) -> bool {
    rustix::fs::access(path, Access::EXISTS).is_ok()
}

/// The longest beginning of `path` that exists, and the rest.
fn existing(path: &Path) -> Option<(PathBuf, PathBuf)> {
    let base = path.ancestors().find(|it| exists(it))?;
    let rest = path.strip_prefix(base).ok()?;
    Some((base.to_owned(), rest.to_owned()))
}

/// What an existing path leads to past all links.
fn real(path: &Path) -> Option<PathBuf> {
    use std::os::fd::AsRawFd;
    use std::os::unix::ffi::OsStringExt;
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    let file = rustix::fs::open(path, flags, Mode::empty()).ok()?;
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let target = rustix::fs::readlink(link, Vec::new()).ok()?;
    Some(PathBuf::from(OsString::from_vec(target.into_bytes())))
}

#[cfg(test)]
mod tests;

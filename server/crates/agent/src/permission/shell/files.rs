//! Which files a script names, reads and writes, as far as its text says.

use exec::Grammar;
use script::{Clarity, Direction, WordKind};

use crate::place::Place;

use super::programs::WRITERS;
use super::{Parsed, unquoted};

impl Parsed<'_> {
    /// The first word that names a file with secrets, or a pattern that may.
    pub fn sensitive_argument(&self, place: &Place) -> Option<String> {
        let words = self.script.commands.iter().flat_map(|it| &it.words);
        let words = words.chain(self.script.redirections.iter().map(|it| &it.target));
        let mut patterns = words.filter(|it| it.kind == WordKind::Pattern).map(|it| &it.text);
        let may_be_hidden = |it: &str| {
            it.split('/').any(|part| part.starts_with('.') && part.contains(['*', '?', '[']))
        };
        let named = argument_paths(self.source);
        let hidden = match self.script.clarity {
            // Any word may be one.
            Clarity::Broken => named.iter().find(|it| may_be_hidden(it)),
            Clarity::Murky | Clarity::Clear => patterns.find(|it| may_be_hidden(it)),
        };
        let hidden = hidden.cloned();
        let is_secret = |it: &String| {
            place
                .target(it)
                .is_ok_and(|target| target.paths().iter().any(|path| vfs::is_sensitive(path)))
        };
        named.into_iter().find(is_secret).or(hidden)
    }

    /// The first word that names a file which grants power. Of no say for a script that only reads.
    pub fn power_argument(&self, place: &Place) -> Option<String> {
        argument_paths(self.source).into_iter().find(|it| {
            it.contains(['/', '.'])
                && place.target(it).is_ok_and(|target| {
                    target.paths().iter().any(|path| crate::permission::is_power_file(path, place))
                })
        })
    }

    /// Files it says it sends output to, or has what it starts send it to.
    pub fn redirected(&self) -> Vec<String> {
        let (redirections, clarity) = match self.started() {
            Some(started) => (&started.redirections, started.clarity),
            None => (&self.script.redirections, Clarity::Broken),
        };
        let writes = redirections.iter().filter(|it| it.direction == Direction::Write);
        let mut targets: Vec<String> = writes.map(|it| it.target.text.clone()).collect();
        if clarity != Clarity::Clear {
            // What is not understood may still say where it writes.
            let unquoted = unquoted(self.source);
            let behind = unquoted.split('>').skip(1);
            targets.extend(behind.filter_map(|it| {
                let name = it.trim_start_matches(['&', '|', ' ', '\t']);
                let name =
                    name.split(|it: char| it.is_whitespace() || ";|&()`".contains(it)).next()?;
                (!name.is_empty()).then(|| name.to_string())
            }));
        }
        targets.retain(|it| !is_stream(it) && !is_connection(it));
        targets
    }

    /// Files it says it writes: redirections and what writing programs are given.
    pub fn written(&self) -> Vec<String> {
        let mut written = self.redirected();
        let (commands, clarity) = match self.started() {
            Some(started) => (&started.commands, started.clarity),
            None => (&self.script.commands, Clarity::Broken),
        };
        for command in commands {
            written.extend(given_to_writer(&command.spoken()));
        }
        if clarity != Clarity::Clear {
            // What is not understood may still name a program that writes.
            let whole = unquoted(&self.source.replace("\\\n", ""));
            let pieces = whole.split([';', '|', '&', '\n', '`', '(', ')', '{', '}']);
            written.extend(pieces.flat_map(given_to_writer));
        }
        written
    }
}

/// What some shells take for a connection, not for a file.
pub(super) fn is_connection(target: &str) -> bool {
    target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/")
}

/// What a command gives to a program that writes the files it is given.
fn given_to_writer(spoken: &str) -> Vec<String> {
    let words: Vec<&str> =
        spoken.split(|it: char| it.is_whitespace() || "(){}<>`=".contains(it)).collect();
    let is_writer = |it: &&str| WRITERS.contains(&it.rsplit('/').next().unwrap_or(it));
    let Some(at) = words.iter().position(is_writer) else { return Vec::new() };
    let given = words[at + 1..].iter().filter(|it| !it.is_empty() && !it.starts_with('-'));
    given.map(ToString::to_string).collect()
}

/// Files a script says it sends output to.
pub fn redirected(source: &str) -> Vec<String> {
    Parsed::new(source, Grammar::Posix).redirected()
}

/// A descriptor, or a file that only passes on.
pub(super) fn is_stream(target: &str) -> bool {
    let descriptor = target.bytes().all(|it| it.is_ascii_digit() || it == b'-');
    let stream = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"].contains(&target);
    descriptor || stream || target.starts_with("/dev/fd/")
}

/// Words that may be paths: substitutions, redirections and options taken apart, quotes removed.
pub fn argument_paths(source: &str) -> Vec<String> {
    let source = source.replace("\\\n", "");
    let separates = |it: char| it.is_whitespace() || ";|&`(){}<>=,:@".contains(it);
    let bare = unquoted(&source);
    let quoted = source.split(|it: char| separates(it) || "\"'".contains(it));
    let mut words: Vec<String> = Vec::new();
    for word in bare.split(separates).chain(quoted).filter(|it| !it.is_empty()) {
        // `-f.env` is `-f .env`.
        let path = if word.starts_with('-') { word.get(2..).unwrap_or_default() } else { word };
        if !path.is_empty() && !words.iter().any(|it| it == path) {
            words.push(path.to_string());
        }
    }
    words
}

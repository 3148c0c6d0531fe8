//! Which files a script names, reads and writes, as far as its text says.

use script::{Clarity, Direction, WordKind};

use crate::place::Place;

use super::programs::WRITERS;
use super::{is_read_only, unquoted};

/// The first word of a script that names a file with secrets, or a pattern that may.
pub fn sensitive_argument(source: &str, place: &Place) -> Option<String> {
    let script = script::parse(source);
    let words = script.commands.into_iter().flat_map(|it| it.words);
    let patterns = words.chain(script.redirections.into_iter().map(|it| it.target));
    let hidden = patterns.filter(|it| it.kind == WordKind::Pattern).map(|it| it.text).find(|it| {
        it.split('/').any(|part| part.starts_with('.') && part.contains(['*', '?', '[']))
    });
    let is_secret = |it: &String| {
        place
            .target(it)
            .is_ok_and(|target| target.paths().iter().any(|path| vfs::is_sensitive(path)))
    };
    argument_paths(source).into_iter().find(is_secret).or(hidden)
}

/// The first word of a script, other than of one that only reads, that names a file which grants power.
pub fn power_argument(source: &str, place: &Place) -> Option<String> {
    if is_read_only(source, place) {
        return None;
    }
    argument_paths(source).into_iter().find(|it| {
        it.contains(['/', '.'])
            && place.target(it).is_ok_and(|target| {
                target.paths().iter().any(|path| crate::permission::is_power_file(path, place))
            })
    })
}

/// Files a script says it sends output to.
pub fn redirected(source: &str) -> Vec<String> {
    let script = script::parse(source);
    let mut targets: Vec<String> = script
        .redirections
        .into_iter()
        .filter(|it| it.direction == Direction::Write)
        .map(|it| it.target.text)
        .collect();
    if script.clarity != Clarity::Clear {
        // What is not understood may still say where it writes.
        let unquoted = unquoted(source);
        let behind = unquoted.split('>').skip(1);
        targets.extend(behind.filter_map(|it| {
            let name = it.trim_start_matches(['&', '|', ' ', '\t']);
            let name = name.split(|it: char| it.is_whitespace() || ";|&()`".contains(it)).next()?;
            (!name.is_empty()).then(|| name.to_string())
        }));
    }
    targets.retain(|it| !is_stream(it));
    targets
}

/// A descriptor, or a file that only passes on.
pub(super) fn is_stream(target: &str) -> bool {
    let descriptor = target.bytes().all(|it| it.is_ascii_digit() || it == b'-');
    let stream = ["/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr"].contains(&target);
    descriptor || stream || target.starts_with("/dev/fd/")
}

/// Files a script says it writes: redirections and what writing programs are given.
pub fn written(source: &str) -> Vec<String> {
    let mut written = redirected(source);
    let script = script::parse(source);
    for command in script.with_payloads().unwrap_or(script.commands) {
        let spoken = command.spoken();
        let words: Vec<&str> =
            spoken.split(|it: char| it.is_whitespace() || "(){}<>`=".contains(it)).collect();
        let name = |it: &&str| it.rsplit('/').next().unwrap_or(it).to_string();
        if let Some(at) = words.iter().position(|it| WRITERS.contains(&name(it).as_str())) {
            let given = words[at + 1..].iter().filter(|it| !it.is_empty() && !it.starts_with('-'));
            written.extend(given.map(ToString::to_string));
        }
    }
    written
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

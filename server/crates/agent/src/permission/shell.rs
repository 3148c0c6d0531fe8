//! What a shell command is made of, as far as permissions need to know.
//!
//! Invariant: what is not understood is never allowed and always searched for what is denied. A
//! command with substitutions, redirections, subshells or unbalanced quotes is not "simple": no
//! allow rule covers it, while deny rules look into every part of it.

use crate::place::Place;
use crate::tool::Failure;

/// Programs whose every run could be anything: never suggested for "always".
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "zsh", "dash", "fish", "python", "python3", "node", "npx", "deno", "bun", "ruby",
    "perl", "php", "lua", "sudo", "doas", "su", "env", "xargs", "eval", "exec", "ssh", "pwsh",
];

/// Programs that only run another one.
const WRAPPERS: &[&str] = &["timeout", "time", "nice", "nohup", "stdbuf", "command", "builtin"];

/// Programs that only read, whatever their arguments.
const READ_ONLY: &[&str] = &[
    "pwd", "ls", "cat", "which", "head", "tail", "wc", "stat", "du", "df", "grep", "rg", "echo",
    "true", "false", "basename", "dirname", "realpath", "uname", "whoami", "cmp", "diff",
];

/// Git commands that only read.
const READ_ONLY_GIT: &[&str] = &["status", "log", "diff", "show", "rev-parse", "ls-files", "blame"];

/// Options that make a reading program write or run something.
const UNSAFE_OPTIONS: &[&str] = &[
    "--output",
    "-o",
    "--ext-diff",
    "--textconv",
    "-c",
    "--exec-path",
    "--pre",
    "--hostname-bin",
    "-f",
    "--follow",
    "-F",
    "--files0-from",
];

/// A command split where the shell splits it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The commands between `;`, `&`, `|` and line ends, outside quotes.
    pub commands: Vec<String>,
    /// Whether quoting, substitutions, redirections or grouping go beyond a plain list of commands.
    pub opaque: bool,
}

/// Splits a script.
pub fn split(script: &str) -> Parts {
    let mut parts = Parts::default();
    let mut current = String::new();
    let mut quote: Option<char> = None;
    let mut chars = script.chars().peekable();
    while let Some(it) = chars.next() {
        match (quote, it) {
            (Some('\''), '\'') => {
                quote = None;
                current.push(it);
            }
            (Some('\''), _) => current.push(it),
            (_, '\\') => {
                current.push(it);
                match chars.next() {
                    Some(next) => current.push(next),
                    None => parts.opaque = true,
                }
            }
            (_, '`') => {
                parts.opaque = true;
                current.push(it);
            }
            (_, '$') => {
                // Any expansion can become any word.
                parts.opaque = true;
                current.push(it);
            }
            (Some('"'), '"') => {
                quote = None;
                current.push(it);
            }
            (Some(_), _) => current.push(it),
            (None, '\'' | '"') => {
                quote = Some(it);
                current.push(it);
            }
            (None, ';' | '|' | '&' | '\n') => {
                push(&mut parts.commands, &mut current);
            }
            (None, '(' | ')' | '{' | '}' | '<' | '>') => {
                parts.opaque = true;
                current.push(it);
            }
            (None, '#') if current.is_empty() || current.ends_with(char::is_whitespace) => {
                parts.opaque = true;
                current.push(it);
            }
            (None, _) => current.push(it),
        }
    }
    parts.opaque |= quote.is_some();
    push(&mut parts.commands, &mut current);
    parts
}

/// Whether every part of a simple script falls under one of the patterns or only reads.
pub fn every_part_matches(script: &str, patterns: &[&str]) -> bool {
    let parts = split(script);
    let covered = |command: &String| {
        let bare = unwrapped(command);
        patterns.iter().any(|pattern| matches(&bare, pattern) || matches(command, pattern))
    };
    !parts.opaque && !parts.commands.is_empty() && parts.commands.iter().all(covered)
}

/// Whether any part of a script, however hidden, falls under the pattern.
pub fn any_part_matches(script: &str, pattern: &str) -> bool {
    let whole = script.trim();
    let pieces = whole.split(|it: char| ";|&\n`(){}<>\"'".contains(it)).map(str::to_string);
    let parts = split(script).commands.into_iter().chain(pieces).chain([whole.to_string()]);
    parts.into_iter().any(|part| {
        let mut rest = unquoted(part.trim());
        loop {
            if matches(&rest, pattern) || matches(&basename_first(&rest), pattern) {
                return true;
            }
            // `sudo x`, `env A=1 x`, `xargs x`, `find -exec x`: each later word may be a command.
            match rest.split_once(char::is_whitespace) {
                Some((_, tail)) if !tail.trim().is_empty() => rest = tail.trim().to_string(),
                Some(_) | None => return false,
            }
        }
    })
}

/// Whether a script only reads inside the workspace, so that it may run unasked.
pub fn is_read_only(script: &str, place: &Place) -> bool {
    let parts = split(script);
    if parts.opaque || parts.commands.is_empty() || backgrounds(script) {
        return false;
    }
    parts.commands.iter().all(|command| {
        let Ok(words) = words(command) else { return false };
        let Some((program, arguments)) = words.split_first() else { return false };
        let options_safe = !arguments.iter().any(|it| {
            let name = it.split_once('=').map_or(it.as_str(), |(name, _)| name);
            UNSAFE_OPTIONS.contains(&name)
        });
        let known = match program.as_str() {
            "git" => arguments.first().is_some_and(|it| READ_ONLY_GIT.contains(&it.as_str())),
            "find" => !arguments.iter().any(|it| {
                [
                    "-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprintf", "-fls",
                    "-fprint0",
                ]
                .contains(&it.as_str())
            }),
            other => READ_ONLY.contains(&other),
        };
        known && options_safe && arguments.iter().all(|it| stays_inside(it, place))
    })
}

/// The first word of a script that names a file with secrets.
pub fn sensitive_argument(script: &str, place: &Place) -> Option<String> {
    argument_paths(script).find(|it| {
        place
            .target(it)
            .is_ok_and(|target| target.paths().iter().any(|path| vfs::is_sensitive(path)))
    })
}

/// The first word of a script, other than of one that only reads, that names a file which grants power.
pub fn power_argument(script: &str, place: &Place) -> Option<String> {
    if is_read_only(script, place) {
        return None;
    }
    argument_paths(script).find(|it| {
        it.contains(['/', '.'])
            && place.target(it).is_ok_and(|target| {
                target.paths().iter().any(|path| super::is_power_file(path, place))
            })
    })
}

/// The rule specifier that "always" would add for a script; none where that would allow too much.
pub fn suggestion(script: &str) -> Option<String> {
    let parts = split(script);
    let [command] = parts.commands.as_slice() else { return None };
    if parts.opaque || backgrounds(script) {
        return None;
    }
    let words = words(command).ok()?;
    let (program, arguments) = words.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    if INTERPRETERS.contains(&name) || WRAPPERS.contains(&name) || program.contains('=') {
        return None;
    }
    let sub = arguments.first().filter(|it| {
        it.chars().all(|it| it.is_ascii_alphanumeric() || it == '-' || it == '_' || it == ':')
            && !it.starts_with('-')
    });
    match sub {
        Some(sub) if !command.contains(['\'', '"', '\\']) => Some(format!("{program} {sub}:*")),
        Some(_) | None => Some(command.trim().to_string()),
    }
}

/// Splits a command into words, quotes removed.
pub fn words(command: &str) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = command.chars();
    while let Some(it) = chars.next() {
        match (quote, it) {
            (Some(open), close) if open == close => quote = None,
            (Some('"') | None, '\\') => {
                if let Some(next) = chars.next() {
                    word.get_or_insert_default().push(next);
                }
            }
            (Some(_), it) => word.get_or_insert_default().push(it),
            (None, '\'' | '"') => {
                quote = Some(it);
                word.get_or_insert_default();
            }
            (None, it) if it.is_whitespace() => words.extend(word.take()),
            (None, it) => word.get_or_insert_default().push(it),
        }
    }
    words.extend(word);
    match quote {
        Some(quote) => Err(Failure::new(format!("The command has an unclosed {quote}."))),
        None => Ok(words),
    }
}

fn push(commands: &mut Vec<String>, current: &mut String) {
    let command = std::mem::take(current);
    if !command.trim().is_empty() {
        commands.push(command.trim().to_string());
    }
}

/// A lone `&` leaves something running.
fn backgrounds(script: &str) -> bool {
    let bytes = script.as_bytes();
    bytes.iter().enumerate().any(|(idx, &it)| {
        it == b'&'
            && bytes.get(idx + 1) != Some(&b'&')
            && idx.checked_sub(1).is_none_or(|it| bytes[it] != b'&')
    })
}

/// A command without its assignments and wrappers.
fn unwrapped(command: &str) -> String {
    let mut rest = command.trim();
    loop {
        let (first, tail) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let tail = tail.trim_start();
        if !WRAPPERS.contains(&first) {
            return rest.to_string();
        }
        rest = tail;
        // The wrapper's own options and numbers.
        while let Some((word, tail)) = rest.split_once(char::is_whitespace) {
            let own =
                word.starts_with('-') || word.chars().next().is_some_and(|it| it.is_ascii_digit());
            if !own {
                break;
            }
            rest = tail.trim_start();
        }
    }
}

fn basename_first(command: &str) -> String {
    let (first, tail) = command.split_once(char::is_whitespace).unwrap_or((command, ""));
    let name = first.rsplit('/').next().unwrap_or(first);
    format!("{name} {tail}").trim_end().to_string()
}

fn unquoted(command: &str) -> String {
    command.chars().filter(|it| !matches!(it, '\'' | '"' | '\\')).collect()
}

/// `npm run test:*` is a prefix that ends at a word; `*` elsewhere stands for anything.
fn matches(command: &str, pattern: &str) -> bool {
    let command = command.trim();
    if let Some(prefix) = pattern.strip_suffix(":*") {
        let rest = command.strip_prefix(prefix);
        return rest.is_some_and(|it| it.is_empty() || it.starts_with(char::is_whitespace));
    }
    if let Some(prefix) = pattern.strip_suffix(" *")
        && !prefix.contains('*')
    {
        let rest = command.strip_prefix(prefix);
        return rest.is_some_and(|it| it.is_empty() || it.starts_with(char::is_whitespace));
    }
    wildcard(command.as_bytes(), pattern.as_bytes())
}

/// `*` is any run of bytes, everything else is literal.
fn wildcard(text: &[u8], pattern: &[u8]) -> bool {
    let (mut t, mut p) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && pattern[p] == text[t] {
            p += 1;
            t += 1;
        } else if let Some((star_p, star_t)) = star {
            p = star_p + 1;
            t = star_t + 1;
            star = Some((star_p, star_t + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&it| it == b'*')
}

fn stays_inside(argument: &str, place: &Place) -> bool {
    let path = argument.rsplit_once('=').map_or(argument, |(_, value)| value);
    if path.is_empty() || argument.starts_with('-') && path == argument {
        return true;
    }
    match place.target(path) {
        Ok(target) => target.inside && !target.paths().iter().any(|path| vfs::is_sensitive(path)),
        Err(_) => false,
    }
}

/// Words that may be paths, substitutions and redirections taken apart.
fn argument_paths(script: &str) -> impl Iterator<Item = String> {
    let pieces: Vec<String> = script
        .split(|it: char| it.is_whitespace() || ";|&`(){}<>=,:\"'".contains(it))
        .filter(|it| !it.is_empty() && !it.starts_with('-'))
        .map(str::to_string)
        .collect();
    pieces.into_iter()
}

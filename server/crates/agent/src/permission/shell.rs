//! What a shell command is made of, as far as permissions need to know.
//!
//! Invariant: what is not understood is never allowed and always searched for what is denied. A
//! command with substitutions, redirections, subshells or unbalanced quotes is not "simple": no
//! allow rule covers it, while deny rules look into every part of it.

mod split;

use exec::Grammar;

use crate::place::Place;

use split::unquoted;
pub use split::{Parts, split, words};

/// Programs whose every run could be anything: never suggested for "always".
const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "python",
    "pypy",
    "node",
    "npx",
    "tsx",
    "deno",
    "bun",
    "bunx",
    "pnpx",
    "uvx",
    "pipx",
    "ruby",
    "perl",
    "php",
    "lua",
    "awk",
    "gawk",
    "sudo",
    "doas",
    "su",
    "env",
    "xargs",
    "eval",
    "exec",
    "source",
    ".",
    "ssh",
    "pwsh",
    "busybox",
    "setsid",
    "parallel",
    "watch",
    "osascript",
    "docker",
    "podman",
    "kubectl",
];

/// Package managers' ways to run anything.
const RUNNERS: &[(&str, &str)] = &[
    ("npm", "exec"),
    ("pnpm", "dlx"),
    ("pnpm", "exec"),
    ("yarn", "dlx"),
    ("yarn", "exec"),
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
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

/// Long options, in any abbreviation, that make a reading program write or run something, or read
/// names from elsewhere.
const UNSAFE_OPTIONS: &[&str] = &[
    "output",
    "ext-diff",
    "textconv",
    "exec-path",
    "open-files-in-pager",
    "pre",
    "hostname-bin",
    "file",
    "files0-from",
];

/// What makes `find` more than a search.
const FIND_ACTIONS: &[&str] = &[
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
    "-delete",
    "-fprint",
    "-fprintf",
    "-fls",
    "-fprint0",
    "-files0-from",
];

/// Programs that show names and facts, never content: harmless whatever a pattern expands to.
const NAMES_ONLY: &[&str] = &["ls", "echo", "stat", "du", "basename", "dirname", "realpath"];

/// Programs that write the files they are given.
const WRITERS: &[&str] = &[
    "rm", "rmdir", "unlink", "shred", "mv", "cp", "install", "ln", "tee", "touch", "truncate",
    "dd", "sed", "patch", "chmod", "chown",
];

/// Whether every part of a simple script falls under one of the patterns. A script that cannot be
/// read is only covered by itself.
pub fn every_part_matches(script: &str, grammar: Grammar, patterns: &[&str]) -> bool {
    if grammar == Grammar::Other {
        return patterns.iter().any(|it| !it.contains('*') && *it == script.trim());
    }
    let parts = split(script);
    let covered = |command: &String| {
        let bare = unwrapped(command);
        patterns.iter().any(|pattern| matches(&bare, pattern) || matches(command, pattern))
    };
    let plain = !parts.opaque && !parts.background && !parts.commands.is_empty();
    plain && parts.commands.iter().all(covered)
}

/// Whether any part of a script, however hidden, falls under the pattern.
pub fn any_part_matches(script: &str, pattern: &str) -> bool {
    let script = script.replace("\\\n", "");
    let whole = script.trim();
    // `{rm,x}` is `rm x`.
    let comma = if whole.contains('{') { "," } else { "" };
    let pieces = whole.split(|it: char| ";|&\n`(){}<>\"'".contains(it) || comma.contains(it));
    let parts = split(whole).commands;
    let all = parts.iter().map(String::as_str).chain(pieces).chain([whole]);
    all.into_iter().any(|part| {
        let words = unquoted(part);
        let words: Vec<&str> = words.split_whitespace().collect();
        // `sudo x`, `env A=1 x`, `xargs x`, `find -exec x`: each word may begin a command.
        (0..words.len()).any(|from| {
            let words = &words[from..];
            let name = words[0].rsplit('/').next().unwrap_or(words[0]);
            let rest = words[1..].join(" ");
            [
                words.join(" "),
                format!("{name} {rest}"),
                format!("{name} {}", past_options(name, &words[1..])),
            ]
            .iter()
            .any(|it| matches(it, pattern))
        })
    })
}

/// Whether a script only reads inside the workspace, so that it may run unasked. It starts in the
/// place's current folder.
pub fn is_read_only(script: &str, place: &Place) -> bool {
    if place.grammar == Grammar::Other {
        return false;
    }
    let parts = split(script);
    let inside = place.target(".").is_ok_and(|it| it.inside);
    if parts.opaque || parts.background || parts.commands.is_empty() || !inside {
        return false;
    }
    parts.commands.iter().all(|command| {
        let Ok(words) = words(command) else { return false };
        let Some((program, arguments)) = words.split_first() else { return false };
        let known = match program.as_str() {
            "git" => arguments.first().is_some_and(|it| READ_ONLY_GIT.contains(&it.as_str())),
            "find" => !arguments.iter().any(|it| FIND_ACTIONS.contains(&it.as_str())),
            other => READ_ONLY.contains(&other),
        };
        known
            && (parts.globs.is_empty() || NAMES_ONLY.contains(&program.as_str()))
            && !arguments.iter().any(|it| is_unsafe_option(program, it))
            && arguments.iter().all(|it| stays_inside(it, place))
    })
}

fn is_unsafe_option(program: &str, argument: &str) -> bool {
    if let Some(long) = argument.strip_prefix("--") {
        let name = long.split('=').next().unwrap_or(long);
        let unsafe_here = |it: &&str| !name.is_empty() && it.starts_with(name);
        return UNSAFE_OPTIONS.iter().any(unsafe_here)
            || (program == "tail" && ["follow", "retry"].iter().any(unsafe_here));
    }
    let Some(short) = argument.strip_prefix('-').filter(|_| program != "find") else {
        return false;
    };
    let letters: &[char] = match program {
        "tail" => &['f', 'F'],
        // Patterns are read from a file.
        "grep" | "rg" => &['f'],
        "git" => &['O'],
        _ => &[],
    };
    // A value right behind its letter, such as `-f/etc/passwd`.
    short.contains('/') || short.contains(letters)
}

/// The first word of a script that names a file with secrets, or a pattern that may.
pub fn sensitive_argument(script: &str, place: &Place) -> Option<String> {
    let hidden = split(script).globs.into_iter().find(|it| {
        it.split('/').any(|part| part.starts_with('.') && part.contains(['*', '?', '[']))
    });
    let is_secret = |it: &String| {
        place
            .target(it)
            .is_ok_and(|target| target.paths().iter().any(|path| vfs::is_sensitive(path)))
    };
    argument_paths(script).into_iter().find(is_secret).or(hidden)
}

/// The first word of a script, other than of one that only reads, that names a file which grants power.
pub fn power_argument(script: &str, place: &Place) -> Option<String> {
    if is_read_only(script, place) {
        return None;
    }
    argument_paths(script).into_iter().find(|it| {
        it.contains(['/', '.'])
            && place.target(it).is_ok_and(|target| {
                target.paths().iter().any(|path| super::is_power_file(path, place))
            })
    })
}

/// Files a script says it sends output to.
pub fn redirected(script: &str) -> Vec<String> {
    let mut targets = split(script).redirected;
    if script.contains(['`', '$']) {
        // Within a substitution quotes begin anew.
        targets.extend(split(&unquoted(script)).redirected);
    }
    targets.retain(|it| {
        let descriptor = it.bytes().all(|it| it.is_ascii_digit() || it == b'-');
        let stream = ["/dev/null", "/dev/stdout", "/dev/stderr"].contains(&it.as_str());
        !descriptor && !stream && !it.starts_with("/dev/fd/")
    });
    targets
}

/// Files a script says it writes: redirections and what writing programs are given.
pub fn written(script: &str) -> Vec<String> {
    let mut written = redirected(script);
    for part in split(script).commands {
        let words: Vec<String> = unquoted(&part)
            .split(|it: char| it.is_whitespace() || "(){}<>`=".contains(it))
            .map(str::to_string)
            .collect();
        let name = |it: &String| it.rsplit('/').next().unwrap_or(it).to_string();
        if let Some(at) = words.iter().position(|it| WRITERS.contains(&name(it).as_str())) {
            written.extend(
                words[at + 1..].iter().filter(|it| !it.is_empty() && !it.starts_with('-')).cloned(),
            );
        }
    }
    written
}

/// The rule specifier that "always" would add for a script; none where that would allow too much.
pub fn suggestion(script: &str, grammar: Grammar) -> Option<String> {
    if grammar == Grammar::Other {
        return None;
    }
    let parts = split(script);
    let [command] = parts.commands.as_slice() else { return None };
    // A star in a rule stands for anything.
    if parts.opaque || parts.background || command.contains('*') || command.ends_with(":") {
        return None;
    }
    let words = words(command).ok()?;
    let (program, arguments) = words.split_first()?;
    let name = program.rsplit('/').next().unwrap_or(program);
    let first = arguments.first().map_or("", String::as_str);
    // `python3.12` is `python`.
    let plain = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
    let runs_anything = INTERPRETERS.contains(&name)
        || INTERPRETERS.contains(&plain)
        || RUNNERS.contains(&(name, first));
    if runs_anything || WRAPPERS.contains(&name) || program.contains('=') {
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

/// A command without harmless assignments and wrappers.
fn unwrapped(command: &str) -> String {
    let mut rest = command.trim();
    loop {
        let (first, tail) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        let tail = tail.trim_start();
        if is_harmless_assignment(first) && !tail.is_empty() {
            rest = tail;
            continue;
        }
        if !WRAPPERS.contains(&first) {
            return rest.to_string();
        }
        rest = tail;
        while let Some((word, tail)) = rest.split_once(char::is_whitespace) {
            if !is_own_option(first, word) {
                break;
            }
            rest = tail.trim_start();
        }
    }
}

/// A plain number or a yes or no, which names no program, file or folder to load from.
fn is_harmless_assignment(word: &str) -> bool {
    let Some((name, value)) = word.split_once('=') else { return false };
    let named = name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    let plain = value.bytes().all(|it| it.is_ascii_digit())
        || ["true", "false", "yes", "no", "on", "off"].contains(&value);
    let loads = ["PATH", "GIT_", "LD_", "DYLD_", "ENV"].iter().any(|it| name.contains(it));
    named && !name.is_empty() && plain && !loads
}

/// An option or number of the wrapper's own that neither writes nor takes a word.
fn is_own_option(wrapper: &str, word: &str) -> bool {
    let number = word.trim_start_matches('-');
    let is_number = number.starts_with(|it: char| it.is_ascii_digit())
        && number.bytes().all(|it| it.is_ascii_digit() || b".smhd".contains(&it));
    match wrapper {
        "time" => word == "-p",
        "timeout" => is_number || ["-k", "-v", "--foreground", "--preserve-status"].contains(&word),
        "nice" => is_number || word == "-n",
        "stdbuf" => ["-oL", "-o0", "-eL", "-e0", "-i0"].contains(&word),
        _ => false,
    }
}

/// A program's words from its subcommand on: `git -C x push` is `git push`.
fn past_options(name: &str, arguments: &[&str]) -> String {
    let mut rest = arguments;
    while let [option, tail @ ..] = rest
        && option.starts_with('-')
    {
        let takes_word = name == "git" && ["-C", "-c", "--git-dir", "--work-tree"].contains(option);
        rest = if takes_word { tail.get(1..).unwrap_or_default() } else { tail };
    }
    rest.join(" ")
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
    // `~name` is another person's folder.
    if path.starts_with('~') && path != "~" && !path.starts_with("~/") {
        return false;
    }
    if path.is_empty() || argument.starts_with('-') && path == argument {
        return true;
    }
    match place.target(path) {
        Ok(target) => target.inside && !target.paths().iter().any(|path| vfs::is_sensitive(path)),
        Err(_) => false,
    }
}

/// Words that may be paths: substitutions, redirections and options taken apart, quotes removed.
pub fn argument_paths(script: &str) -> Vec<String> {
    let script = script.replace("\\\n", "");
    let separates = |it: char| it.is_whitespace() || ";|&`(){}<>=,:@".contains(it);
    let bare = unquoted(&script);
    let quoted = script.split(|it: char| separates(it) || "\"'".contains(it));
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

//! What a shell command is made of, as far as permissions need to know.
//!
//! Invariant: what is not understood is never allowed and always searched for what is denied. Every
//! command of a script is judged, wherever it stands; an allow rule covers a script only where all of
//! it is clear, while deny rules look into every part and into what those start in their turn.

mod files;
mod git;
mod pattern;
mod programs;
mod read_only;

use std::cell::OnceCell;

use exec::Grammar;
use script::{Clarity, Command, Direction, Script, Started, Word, WordKind};

use crate::place::Place;

pub use files::{argument_paths, redirected};
use files::{is_connection, is_stream};
use pattern::matches;
use programs::{INTERPRETERS, RUNNERS, SPEAKERS, SPEAKERS_OF_GIT, WRAPPERS};
pub use read_only::is_read_only;
use read_only::{changes_folder, enters_folder, is_unsafe_option};

/// A script that was read once, to be judged in many ways.
pub struct Parsed<'a> {
    source: &'a str,
    grammar: Grammar,
    script: Script,
    started: OnceCell<Option<Started>>,
}

impl<'a> Parsed<'a> {
    /// Reads a script.
    pub fn new(source: &'a str, grammar: Grammar) -> Parsed<'a> {
        Parsed { source, grammar, script: script::parse(source), started: OnceCell::new() }
    }

    /// With what it starts in its turn; `None` where that is too much to tell.
    fn started(&self) -> Option<&Started> {
        self.started.get_or_init(|| self.script.with_payloads()).as_ref()
    }

    /// Whether every part of it falls under one of the patterns. Where it writes is judged as a
    /// write; a script that cannot be read is only covered by itself.
    pub fn every_part_matches(&self, place: &Place, patterns: &[&str]) -> bool {
        if self.grammar == Grammar::Other {
            return patterns.iter().any(|it| !it.contains('*') && *it == self.source.trim());
        }
        let script = &self.script;
        let moves = script.commands.iter().any(changes_folder);
        let streams = script.redirections.iter().all(|it| match it.direction {
            Direction::Read => is_stream(&it.target.text),
            // Elsewhere a relative name is another file than the one that is judged.
            Direction::Write => {
                let fixed = !moves || it.target.text.starts_with('/');
                let text = &it.target.text;
                let file = fixed && !is_connection(text);
                it.target.kind == WordKind::Literal && (file || is_stream(text))
            }
        });
        is_plain(script)
            && streams
            && script.commands.iter().all(|it| is_covered(it, patterns) || enters_folder(it, place))
    }

    /// Whether it is known what the script starts: it can be read, and names its programs.
    pub fn is_understood(&self) -> bool {
        let named = |it: &Command| it.words.first().is_none_or(|it| it.kind == WordKind::Literal);
        self.grammar != Grammar::Other
            && self.script.clarity != Clarity::Broken
            && self.started().is_some_and(|it| it.commands.iter().all(named))
    }

    /// Whether any part of it, however hidden, falls under the pattern.
    pub fn has_part(&self, pattern: &str) -> bool {
        let Some(Started { commands, .. }) = self.started() else {
            return is_hidden_in(self.source, pattern);
        };
        if commands.iter().any(|it| is_named(it, pattern)) {
            return true;
        }
        let runs_texts = |it: &Command| it.program().is_some_and(|it| INTERPRETERS.contains(&it));
        if self.script.clarity != Clarity::Clear || commands.iter().any(runs_texts) {
            return is_hidden_in(self.source, pattern);
        }
        commands.iter().any(|it| !only_speaks(it) && is_hidden_in(&it.written(), pattern))
    }

    /// The rule specifier that "always" would add; none where that would allow too much.
    pub fn suggestion(&self) -> Option<String> {
        if self.grammar == Grammar::Other {
            return None;
        }
        let [command] = self.script.commands.as_slice() else { return None };
        let written = command.written();
        // A star in a rule stands for anything.
        if !is_plain(&self.script)
            || !self.script.redirections.is_empty()
            || written.contains('*')
            || written.ends_with(':')
        {
            return None;
        }
        let literal = |it: &Word| it.kind == WordKind::Literal;
        if !command.assignments.is_empty() || !command.words.iter().all(literal) {
            return None;
        }
        let [program, arguments @ ..] = command.words.as_slice() else { return None };
        let name = command.program()?;
        let first = arguments.first().map_or("", |it| it.text.as_str());
        // `python3.12` is `python`.
        let plain = name.trim_end_matches(|it: char| it.is_ascii_digit() || it == '.');
        let runs_anything = INTERPRETERS.contains(&name)
            || INTERPRETERS.contains(&plain)
            || RUNNERS.contains(&(name, first));
        if runs_anything || WRAPPERS.contains(&name) || program.text.contains('=') {
            return None;
        }
        let is_subcommand = !first.is_empty()
            && !first.starts_with('-')
            && first.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '-' | '_' | ':'));
        match is_subcommand && !written.contains(['\'', '"', '\\']) {
            true => Some(format!("{} {first}:*", program.text)),
            false => Some(written),
        }
    }
}

fn is_plain(script: &Script) -> bool {
    script.clarity == Clarity::Clear && !script.background && !script.commands.is_empty()
}

fn is_covered(command: &Command, patterns: &[&str]) -> bool {
    let harmless = |it: &script::Assignment| {
        it.value.kind == WordKind::Literal && is_harmless_assignment(&it.name, &it.value.text)
    };
    if !command.assignments.iter().all(harmless) {
        return false;
    }
    // Nothing is run; what is written is judged as that.
    let Some(program) = command.words.first() else { return true };
    let whole = command.written();
    let bare = script::written(unwrapped(&command.words));
    let is_literal = program.kind == WordKind::Literal;
    is_literal && patterns.iter().any(|it| matches(&bare, it) || matches(&whole, it))
}

/// Whether a command is one that the pattern means.
fn is_named(command: &Command, pattern: &str) -> bool {
    let words: Vec<&str> = command.words.iter().map(|it| it.text.as_str()).collect();
    means(&words, pattern) || (!words.is_empty() && matches(&command.written(), pattern))
}

/// Whether words are what a pattern means, under whatever path and behind whatever options.
fn means(words: &[&str], pattern: &str) -> bool {
    let [program, arguments @ ..] = words else { return false };
    let name = program.rsplit('/').next().unwrap_or(program).trim_start_matches('=');
    [
        words.join(" "),
        format!("{name} {}", arguments.join(" ")),
        format!("{name} {}", past_options(name, arguments)),
    ]
    .iter()
    .any(|it| matches(it, pattern))
}

/// Whether what its arguments say is never run.
fn only_speaks(command: &Command) -> bool {
    let Some(program) = command.program() else { return true };
    let words: Vec<&str> = command.arguments().iter().map(|it| it.text.as_str()).collect();
    let speaks = match program {
        "git" => words.first().is_some_and(|it| SPEAKERS_OF_GIT.contains(it)),
        other => SPEAKERS.contains(&other),
    };
    speaks && !words.iter().any(|it| is_unsafe_option(program, it))
}

/// Whether any run of words in a text could be what the pattern means.
fn is_hidden_in(text: &str, pattern: &str) -> bool {
    let text = text.replace("\\\n", "");
    let whole = text.trim();
    // `{rm,x}` is `rm x`.
    let comma = if whole.contains('{') { "," } else { "" };
    let ends = |it: char| ";|&\n`(){}<>".contains(it) || comma.contains(it);
    let pieces = whole.split(move |it: char| ends(it) || "\"'".contains(it));
    // A quoted word may belong to the command, `git 'push'`, or hold one, `sh -c 'git push'`.
    pieces.chain(whole.split(ends)).chain([whole]).any(|part| {
        let words = unquoted(part);
        let words: Vec<&str> = words.split_whitespace().collect();
        // `sudo x`, `env A=1 x`, `xargs x`, `find -exec x`: each word may begin a command.
        (0..words.len()).any(|from| means(&words[from..], pattern))
    })
}

/// Words without leading wrappers and their options.
fn unwrapped(words: &[Word]) -> &[Word] {
    let mut rest = words;
    while let [first, tail @ ..] = rest
        && WRAPPERS.contains(&first.written.as_str())
    {
        rest = tail;
        while let [option, tail @ ..] = rest
            && is_own_option(&first.written, &option.written)
            && !tail.is_empty()
        {
            rest = tail;
        }
    }
    rest
}

/// Parts of the names of variables whose value, even a plain word, is a file, a folder or a program.
const NAMES_PLACES: &[&str] = &[
    "PATH", "GIT_", "LD_", "DYLD_", "ENV", "HOME", "DIR", "FILE", "CONFIG", "RC", "EDITOR",
    "PAGER", "SHELL", "PROGRAM", "COMMAND", "IFS",
];

/// A plain number or a yes or no, which names no program, file or folder to load from.
fn is_harmless_assignment(name: &str, value: &str) -> bool {
    let named = name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    let plain = value.bytes().all(|it| it.is_ascii_digit())
        || ["true", "false", "yes", "no", "on", "off"].contains(&value);
    named && !name.is_empty() && plain && !NAMES_PLACES.iter().any(|it| name.contains(it))
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

/// Without quotes and backslashes; `$'x'` loses its sign too.
fn unquoted(text: &str) -> String {
    let text = text.replace("$'", "'").replace("$\"", "\"");
    text.chars().filter(|it| !matches!(it, '\'' | '"' | '\\')).collect()
}

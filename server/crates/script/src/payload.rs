//! What a command starts in its turn.

use crate::read::is_name;
use crate::word::{Word, spoken};
use crate::{Assignment, Command, Script, Started, parse};

const MAX_DEPTH: usize = 8;
/// Together, so that scripts in scripts cannot multiply.
const MOST: usize = 2_000;

/// What a script says and, below each command, what that would start; `None` where it is too much.
pub(crate) fn all(script: &Script) -> Option<Started> {
    let redirections = script.redirections.clone();
    let mut found = Started { commands: Vec::new(), redirections, clarity: script.clarity };
    let most = script.commands.len() + MOST;
    for command in &script.commands {
        add(command, &mut found, most, 0)?;
    }
    Some(found)
}

fn add(command: &Command, found: &mut Started, most: usize, depth: usize) -> Option<()> {
    if found.commands.len() == most {
        return None;
    }
    found.commands.push(command.clone());
    if depth == MAX_DEPTH {
        return Some(());
    }
    for payload in started(command) {
        match payload {
            Payload::Words(words) => {
                let inner = Command { words, assignments: Vec::new(), ..command.clone() };
                let inner = without_assignments(inner);
                add(&inner, found, most, depth + 1)?;
            }
            Payload::Text(text) => {
                let inner = parse(&text);
                found.redirections.extend(inner.redirections);
                found.clarity = found.clarity.min(inner.clarity);
                for inner in &inner.commands {
                    add(inner, found, most, depth + 1)?;
                }
            }
        }
    }
    Some(())
}

/// What is started.
enum Payload {
    /// A program and its arguments.
    Words(Vec<Word>),
    /// A script.
    Text(String),
}

/// Programs that run the words behind their options, and their options that take a word.
const RUNS_WORDS: &[(&str, &[&str])] = &[
    ("sudo", &["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "-U", "-r", "-t"]),
    ("doas", &["-u", "-C"]),
    ("env", &["-u", "-C", "--chdir", "--unset"]),
    ("command", &[]),
    ("builtin", &[]),
    ("exec", &["-a"]),
    ("nohup", &[]),
    ("setsid", &[]),
    ("time", &["-f", "-o"]),
    ("coproc", &[]),
    ("nice", &["-n"]),
    ("ionice", &["-c", "-n", "-p"]),
    ("chrt", &[]),
    ("taskset", &[]),
    ("stdbuf", &["-i", "-o", "-e"]),
    ("timeout", &["-k", "-s", "--signal", "--kill-after"]),
    ("xargs", &["-I", "-n", "-P", "-L", "-d", "-E", "-s", "-a", "-i"]),
    ("busybox", &[]),
    ("unshare", &[]),
    ("nsenter", &[]),
    ("chroot", &[]),
    ("flock", &["-w", "-E"]),
    ("strace", &["-o", "-e", "-p"]),
    ("ltrace", &["-o", "-e", "-p"]),
    ("watch", &["-n", "-d"]),
    ("parallel", &["-j", "-a", "-n"]),
    ("entr", &[]),
    ("npx", &[]),
    ("bunx", &[]),
    // Where the grammar takes these for names.
    ("!", &[]),
    ("{", &[]),
    ("do", &[]),
    ("elif", &[]),
    ("else", &[]),
    ("if", &[]),
    ("then", &[]),
    ("until", &[]),
    ("while", &[]),
];

/// Shells.
const SHELLS: &[&str] = &["sh", "bash", "zsh", "dash", "ksh", "ash", "fish", "mksh", "rbash"];

fn started(command: &Command) -> Vec<Payload> {
    let Some(program) = command.program() else { return Vec::new() };
    let program = program.trim_start_matches(['=', '\\']);
    let arguments = command.arguments();
    let mut payloads = Vec::new();
    if let Some((_, valued)) = RUNS_WORDS.iter().find(|(name, _)| *name == program) {
        let rest = past_options(arguments, valued);
        // How long, which user, which lock: the program may stand behind one word more.
        payloads.push(Payload::Words(rest.to_vec()));
        // The shell's own words know hardly any option.
        if ["time", "coproc"].contains(&program) {
            payloads.push(Payload::Words(arguments.to_vec()));
        }
        if ["timeout", "chroot", "flock", "taskset", "chrt", "coproc"].contains(&program) {
            payloads.push(Payload::Words(rest.get(1..).unwrap_or_default().to_vec()));
        }
        // `watch 'rm x'`, `parallel 'rm {}'`, `env -S 'rm x'`.
        payloads.extend(scripts(arguments));
    }
    match program {
        "eval" => payloads.push(Payload::Text(spoken(arguments))),
        "trap" => payloads.extend(arguments.first().map(|it| Payload::Text(it.text.clone()))),
        _ => {}
    }
    let runs_texts = SHELLS.contains(&program)
        || ["su", "ssh", "script", "tmux", "screen", "runuser", "source", "."].contains(&program);
    if runs_texts {
        let texts = arguments.iter().filter(|it| !it.text.starts_with('-'));
        payloads.extend(texts.map(|it| Payload::Text(it.text.clone())));
    }
    if program == "find" {
        payloads.extend(of_find(arguments));
    }
    if program == "git" {
        payloads.extend(of_git(arguments));
    }
    // `GIT_EDITOR='rm x' git commit`.
    let values = command.assignments.iter().map(|it| &it.value);
    payloads
        .extend(values.filter(|it| it.text.contains(' ')).map(|it| Payload::Text(it.text.clone())));
    payloads
}

/// Arguments that could be scripts.
fn scripts(arguments: &[Word]) -> impl Iterator<Item = Payload> {
    arguments
        .iter()
        .filter(|it| !it.text.starts_with('-') && it.text.contains(|c: char| !c.is_alphanumeric()))
        .map(|it| Payload::Text(it.text.clone()))
}

/// `-exec` and its kin; `-delete` removes as `rm` does.
fn of_find(arguments: &[Word]) -> Vec<Payload> {
    let mut payloads = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        match word.text.as_str() {
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let rest = arguments[at + 1..].iter();
                payloads.push(Payload::Words(
                    rest.take_while(|it| it.text != ";" && it.text != "+").cloned().collect(),
                ));
            }
            "-delete" => {
                let found = arguments.iter().take_while(|it| !it.text.starts_with('-')).cloned();
                payloads.push(Payload::Words(
                    std::iter::once(Word::literal("rm")).chain(found).collect(),
                ));
            }
            _ => {}
        }
    }
    payloads
}

/// What git runs for others.
fn of_git(arguments: &[Word]) -> Vec<Payload> {
    let mut payloads = Vec::new();
    for (at, word) in arguments.iter().enumerate() {
        let next = || arguments.get(at + 1).map(|it| it.text.clone());
        match word.text.as_str() {
            // `-c alias.x='!rm y'`, `-c core.pager='rm y'`.
            "-c" | "--config-env" => {
                let value = next().and_then(|it| it.split_once('=').map(|(_, it)| it.to_owned()));
                payloads
                    .extend(value.map(|it| Payload::Text(it.trim_start_matches('!').to_owned())));
            }
            "-x" | "--exec" | "--tree-filter" | "--index-filter" | "--msg-filter" => {
                payloads.extend(next().map(Payload::Text));
            }
            "run" | "foreach" if at > 0 => {
                let rest = past_options(&arguments[at + 1..], &[]);
                payloads.push(Payload::Words(rest.to_vec()));
                payloads.extend(scripts(rest));
            }
            other => {
                let value = other.strip_prefix("--exec=");
                payloads.extend(value.map(|it| Payload::Text(it.to_owned())));
            }
        }
    }
    payloads
}

/// The words behind leading options, of which the named take a word.
fn past_options<'a>(arguments: &'a [Word], valued: &[&str]) -> &'a [Word] {
    let mut rest = arguments;
    while let [first, tail @ ..] = rest
        && first.text.starts_with('-')
        && first.text.len() > 1
    {
        if first.text == "--" {
            return tail;
        }
        rest = if valued.contains(&first.text.as_str()) {
            tail.get(1..).unwrap_or_default()
        } else {
            tail
        };
    }
    rest
}

/// `env A=1 rm x` is `A=1 rm x`.
fn without_assignments(mut command: Command) -> Command {
    let set = |it: &Word| it.text.split_once('=').is_some_and(|(name, _)| is_name(name));
    let count = command.words.iter().take_while(|it| set(it)).count();
    let values: Vec<Word> = command.words.drain(..count).collect();
    command.assignments.extend(values.into_iter().filter_map(|it| {
        let (name, value) = it.text.split_once('=')?;
        Some(Assignment { name: name.to_owned(), value: Word::literal(value) })
    }));
    command
}

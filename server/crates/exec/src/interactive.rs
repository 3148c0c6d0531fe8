//! Whether a script would sit and wait for a person's keys.
//!
//! A judgement by names and options, made before the start: a wrong "yes" costs a hint, a wrong
//! "no" costs the command's time limit, since its input is closed anyway.

use script::Clarity;

use crate::shell::git_subcommand;
use crate::simple_command::SimpleCommand;

/// Why a script is likely to wait for keys, with what to do instead; `None` when it is not, or
/// when it cannot be understood.
pub fn interactive_reason(script: &str) -> Option<String> {
    let script = script::parse(script);
    if script.clarity == Clarity::Broken {
        return None;
    }
    if script.redirections.iter().any(|it| it.target.text == "/dev/tty") {
        return Some(
            "`/dev/tty` is a terminal, and there is none. Use stdin and stdout".to_owned(),
        );
    }
    script.commands.into_iter().map(SimpleCommand::from).find_map(|command| {
        let (reason, hint) = judge(&unwrapped(&command)?)?;
        Some(format!("{reason}. {hint}"))
    })
}

type Verdict = Option<(String, &'static str)>;

const TERMINAL: &str = "Run it in a terminal";

/// A command behind `env`, `nohup`, `timeout` and the like. `None` when nothing is left.
fn unwrapped(command: &SimpleCommand) -> Option<SimpleCommand> {
    let mut command = command.clone();
    for _ in 0..10 {
        let skipped = match command.program()? {
            "command" if command.arguments().iter().any(|a| a == "-v" || a == "-V") => return None,
            "command" | "exec" | "nohup" | "setsid" | "builtin" => options(&command, &[]),
            "stdbuf" | "ionice" => options(&command, &["-i", "-o", "-e", "-c", "-n"]),
            "nice" => options(&command, &["-n"]),
            "time" => options(&command, &["-f", "-o"]),
            // One more for the duration.
            "timeout" => options(&command, &["-k", "-s"]) + 1,
            "env" => {
                let mut count = options(&command, &["-u", "-C", "-S"]);
                while let Some((name, _)) =
                    command.arguments().get(count).and_then(|word| word.split_once('='))
                {
                    command.assigned.push(name.to_owned());
                    count += 1;
                }
                count
            }
            _ => return Some(command),
        };
        let rest = command.words.len().min(skipped + 1);
        command.words.drain(..rest);
    }
    Some(command)
}

/// How many leading arguments are options, with the values of those that take one apart.
fn options(command: &SimpleCommand, valued: &[&str]) -> usize {
    let mut count = 0;
    let arguments = command.arguments();
    while let Some(argument) = arguments.get(count) {
        if argument == "--" {
            return count + 1;
        }
        if !argument.starts_with('-') || argument == "-" {
            break;
        }
        count += if valued.contains(&argument.as_str()) { 2 } else { 1 };
    }
    count.min(arguments.len())
}

fn judge(command: &SimpleCommand) -> Verdict {
    let program = command.program()?;
    let says = |flags: &[&str]| has(command, flags);
    if says(&["--version", "--help"]) {
        return None;
    }
    match program {
        "vi" | "vim" | "view" | "vimdiff" | "nvim" | "nano" | "pico" | "emacs" | "emacsclient"
        | "micro" | "hx" | "helix" | "kak" | "joe" | "mcedit" => {
            let scripted = says(&["-es", "-Es", "--headless", "--batch", "-batch", "--eval"]);
            (!scripted).then(|| {
                (
                    format!("`{program}` is an editor that waits for keys"),
                    "Change files with the edit tools",
                )
            })
        }
        "less" | "more" | "most" | "man" => (!command.captured).then(|| {
            (
                format!("`{program}` shows its text page by page"),
                "Print it with `cat`, or pipe the output on",
            )
        }),
        "top" => (!short(command, 'b') && !says(&["-l"])).then(|| {
            (
                "`top` redraws the screen until it is told to quit".to_owned(),
                "Use `top -b -n 1` or `ps`",
            )
        }),
        "watch" => Some((
            "`watch` runs until it is told to quit".to_owned(),
            "Run the command itself, as often as needed",
        )),
        "htop" | "btop" | "atop" | "ncdu" | "ranger" | "mc" | "lazygit" | "tig" | "k9s"
        | "nmtui" => Some((format!("`{program}` fills the screen and waits for keys"), TERMINAL)),
        "fzf" => (!says(&["-f", "--filter"]) && !starts(command, "--filter="))
            .then(|| ("`fzf` waits for a choice".to_owned(), "Use `fzf --filter` or `grep`")),
        "stty" | "tput" => {
            Some((format!("`{program}` needs a terminal, and there is none"), TERMINAL))
        }
        "tmux" => tmux(command),
        "screen" => (!short(command, 'd') && !says(&["-ls", "-list", "-X"])).then(|| {
            ("`screen` takes over the terminal".to_owned(), "Start it detached: `screen -dm`")
        }),
        "sudo" => (!(short(command, 'n')
            || says(&["--non-interactive", "-K", "-k", "-V"])
            || (command.fed && (short(command, 'S') || says(&["--stdin"])))))
        .then(|| {
            (
                "`sudo` may ask for a password".to_owned(),
                "Use `sudo -n`, which fails instead of asking",
            )
        }),
        "doas" => (!short(command, 'n'))
            .then(|| ("`doas` may ask for a password".to_owned(), "Use `doas -n`")),
        "su" => (!says(&["-c", "--command"]) && !starts(command, "--command="))
            .then(|| ("`su` opens a shell".to_owned(), "Give it a command: `su -c`")),
        "login" | "telnet" | "ftp" => {
            (!command.fed).then(|| (format!("`{program}` opens a dialogue"), TERMINAL))
        }
        "passwd" => (!command.fed && !says(&["-S", "-l", "-u", "-d"]))
            .then(|| ("`passwd` asks for a password".to_owned(), TERMINAL)),
        "ssh" => ssh(command),
        "sftp" => (!command.fed && !short(command, 'b'))
            .then(|| ("`sftp` opens a dialogue".to_owned(), "Use `sftp -b`, `scp` or `rsync`")),
        "git" => git(command),
        "docker" | "podman" | "nerdctl" => container(command, program),
        "kubectl" | "oc" => kubernetes(command, program),
        "gh" => (begins(command, &["auth", "login"]) && !says(&["--with-token"])).then(|| {
            (
                "`gh auth login` asks questions".to_owned(),
                "Use `gh auth login --with-token`, or leave it to the person",
            )
        }),
        "gcloud" => begins(command, &["auth", "login"]).then(|| {
            ("`gcloud auth login` opens a browser and waits".to_owned(), "Leave it to the person")
        }),
        "az" => (begins(command, &["login"]) && !says(&["--service-principal", "--identity"]))
            .then(|| {
                (
                    "`az login` opens a browser and waits".to_owned(),
                    "Use `--service-principal`, or leave it to the person",
                )
            }),
        "aws" => (command.arguments() == ["configure"] || begins(command, &["configure", "sso"]))
            .then(|| ("`aws configure` asks questions".to_owned(), "Use `aws configure set`")),
        "npm" => (begins(command, &["login"])
            || begins(command, &["adduser"])
            || (begins(command, &["init"]) && !says(&["-y", "--yes"]) && operands(command) == 1))
            .then(|| {
                (
                    "it asks questions".to_owned(),
                    "Use `npm init -y`; leave logging in to the person",
                )
            }),
        "crontab" => {
            says(&["-e"]).then(|| ("`crontab -e` opens an editor".to_owned(), "Use `crontab FILE`"))
        }
        "visudo" | "vipw" | "vigr" => {
            (!says(&["-c", "--check"])).then(|| (format!("`{program}` opens an editor"), TERMINAL))
        }
        "systemctl" => (begins(command, &["edit"]) && !says(&["--stdin"]))
            .then(|| ("`systemctl edit` opens an editor".to_owned(), "Write the drop-in file")),
        _ => None,
    }
}

fn tmux(command: &SimpleCommand) -> Verdict {
    let attaches = match command.arguments().iter().find(|word| !word.starts_with('-')) {
        None => command.arguments().is_empty(),
        Some(name) => match name.as_str() {
            "attach" | "attach-session" | "a" | "at" => true,
            "new" | "new-session" => !short(command, 'd'),
            _ => false,
        },
    };
    attaches
        .then(|| ("`tmux` takes over the terminal".to_owned(), "Start it detached: `tmux new -d`"))
}

fn ssh(command: &SimpleCommand) -> Verdict {
    const VALUED: &str = "BbcDEeFIiJLlmOopQRSWw";
    let mut operands = 0;
    let mut arguments = command.arguments().iter();
    while let Some(argument) = arguments.next() {
        match argument.strip_prefix('-') {
            // What follows the host is the command, options and all.
            Some(flags) if operands == 0 && !flags.is_empty() => {
                if flags.contains('t') && !flags.starts_with(|c| VALUED.contains(c)) {
                    return Some(("`ssh -t` wants a terminal".to_owned(), "Leave out `-t`"));
                }
                if flags.contains(['N', 'V', 'G', 'Q', 'O', 'W']) {
                    return None;
                }
                if flags.ends_with(|c| VALUED.contains(c)) {
                    arguments.next();
                }
            }
            Some(_) | None => operands += 1,
        }
    }
    (operands < 2 && !command.fed).then(|| {
        ("`ssh` without a command opens a shell".to_owned(), "Give the command to run there")
    })
}

fn git(command: &SimpleCommand) -> Verdict {
    let whole = command;
    let command = &SimpleCommand {
        words: command.words.split_at_checked(git_subcommand(command)?)?.1.to_vec(),
        ..command.clone()
    };
    let name = command.program()?;
    let says = |flags: &[&str]| has(command, flags);
    let assigned = |names: &[&str]| command.assigned.iter().any(|a| names.contains(&a.as_str()));
    let own_editor = assigned(&["GIT_EDITOR"])
        || whole.arguments().iter().any(|word| word.starts_with("core.editor="));
    let patch = says(&["--patch"]) || short(command, 'p');
    match name {
        "commit" => {
            if patch || says(&["--interactive"]) {
                return picks(command, name);
            }
            let message =
                ["--message", "--file", "--reuse-message", "--fixup", "--no-edit", "--dry-run"];
            let given = ['m', 'F', 'C'].iter().any(|flag| short(command, *flag))
                || message.iter().any(|flag| says(&[flag]) || starts(command, &format!("{flag}=")));
            (!given && !own_editor).then(|| {
                (
                    "`git commit` without a message opens an editor".to_owned(),
                    "Use `git commit -m`, `-F`, or `--amend --no-edit`",
                )
            })
        }
        "rebase" => ((says(&["--interactive"]) || short(command, 'i'))
            && !own_editor
            && !assigned(&["GIT_SEQUENCE_EDITOR"]))
        .then(|| {
            (
                "`git rebase -i` opens an editor".to_owned(),
                "Set GIT_SEQUENCE_EDITOR to a command that edits the list",
            )
        }),
        "add" if says(&["--interactive", "--edit", "-i", "-e"]) => picks(command, name),
        // Both have a `-p` that asks nothing.
        "stash" if !matches!(operand(command, 0), None | Some("push" | "save")) => None,
        "add" | "checkout" | "restore" | "reset" | "stash" if patch => picks(command, name),
        "clean" if says(&["--interactive"]) || short(command, 'i') => picks(command, name),
        "difftool" | "mergetool" => Some((
            format!("`git {name}` opens a program and waits"),
            "Use `git diff`, and edit the files",
        )),
        _ => None,
    }
}

fn picks(command: &SimpleCommand, name: &str) -> Verdict {
    (!command.fed).then(|| {
        (
            format!("`git {name}` asks about each change"),
            "Name the paths, or apply a patch with `git apply --cached`",
        )
    })
}

fn container(command: &SimpleCommand, program: &str) -> Verdict {
    let name = command.arguments().iter().find(|word| !word.starts_with('-'))?;
    let wants = match name.as_str() {
        "exec" | "run" | "start" => wants_terminal(command),
        "attach" => true,
        _ => false,
    };
    wants.then(|| {
        (format!("`{program} {name}` with a terminal waits for keys"), "Leave out `-t` and `-i`")
    })
}

fn kubernetes(command: &SimpleCommand, program: &str) -> Verdict {
    let name = command.arguments().iter().find(|word| !word.starts_with('-'))?;
    match name.as_str() {
        "exec" | "run" | "attach" | "debug" => wants_terminal(command).then(|| {
            (
                format!("`{program} {name}` with a terminal waits for keys"),
                "Leave out `-t` and `-i`",
            )
        }),
        "edit" => Some((format!("`{program} edit` opens an editor"), "Use `apply` or `patch`")),
        _ => None,
    }
}

/// `-t`, `-it`, `--tty` among the options before the container's own command.
fn wants_terminal(command: &SimpleCommand) -> bool {
    let mut past_subcommand = false;
    for argument in command.arguments() {
        if argument == "--" {
            return false;
        }
        match argument.strip_prefix('-') {
            Some("-tty" | "-tty=true") => return true,
            Some(flags) if !flags.starts_with('-') && flags.len() <= 3 && flags.contains('t') => {
                return true;
            }
            Some(_) => {}
            // The first operand is the subcommand. Values of options look like the second, so
            // options after those are judged too, up to a program's.
            None if past_subcommand && is_shell(argument) => return false,
            None => past_subcommand = true,
        }
    }
    false
}

fn is_shell(word: &str) -> bool {
    matches!(word.rsplit('/').next(), Some("sh" | "bash" | "zsh" | "python" | "python3" | "tar"))
}

fn has(command: &SimpleCommand, flags: &[&str]) -> bool {
    before_terminator(command).any(|argument| flags.contains(&argument))
}

fn starts(command: &SimpleCommand, prefix: &str) -> bool {
    before_terminator(command).any(|argument| argument.starts_with(prefix))
}

/// Whether a short option is given, alone or among others: `a` in `-xaf`.
fn short(command: &SimpleCommand, flag: char) -> bool {
    before_terminator(command).any(|argument| {
        argument
            .strip_prefix('-')
            .is_some_and(|flags| !flags.starts_with('-') && flags.contains(flag))
    })
}

fn before_terminator(command: &SimpleCommand) -> impl Iterator<Item = &str> {
    command.arguments().iter().map(String::as_str).take_while(|argument| *argument != "--")
}

fn begins(command: &SimpleCommand, words: &[&str]) -> bool {
    let mut operands = command.arguments().iter().filter(|word| !word.starts_with('-'));
    words.iter().all(|word| operands.next().is_some_and(|operand| operand == word))
}

fn operand(command: &SimpleCommand, index: usize) -> Option<&str> {
    let mut operands = command.arguments().iter().filter(|word| !word.starts_with('-'));
    operands.nth(index).map(String::as_str)
}

fn operands(command: &SimpleCommand) -> usize {
    command.arguments().iter().filter(|word| !word.starts_with('-')).count()
}

#[cfg(test)]
mod tests;

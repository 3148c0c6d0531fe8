use std::process::{Command, Stdio};

use proptest::prelude::*;
use script::{Clarity, WordKind};

/// What bash really starts of a script, expansions done. Nothing but builtins
/// runs: no program is found, and what is not found is only told.
#[allow(clippy::disallowed_methods, reason = "the shell to compare with, in a folder of its own")]
fn started_by_bash(script: &str) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let told = folder.path().join("told");
    let script = format!(
        "command_not_found_handle() {{ printf '%s\\0' \"$*\" >>{}; }}\n{script}\n",
        told.display()
    );
    Command::new("/bin/bash")
        .args(["--norc", "--noprofile", "-c", &script])
        .env_clear()
        .env("PATH", "/nowhere")
        .env("HOME", "~")
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap();
    let told = std::fs::read_to_string(told).unwrap_or_default();
    told.split_terminator('\0').map(str::to_owned).collect()
}

/// Every command that bash starts of a script that is clear stands among those that are read.
#[track_caller]
fn check_against_bash(source: &str) -> Result<(), TestCaseError> {
    let script = script::parse(source);
    let read = script.with_payloads().unwrap_or_default().commands;
    let literal = |it: &script::Command| it.words.iter().all(|it| it.kind == WordKind::Literal);
    // What a script of unknown text starts is not known either.
    let evaluates = |it: &script::Command| it.program() == Some("eval") && !literal(it);
    if script.clarity != Clarity::Clear || read.iter().any(evaluates) {
        return Ok(());
    }
    for started in started_by_bash(source) {
        let is_read = read.iter().any(|command| {
            let certain = literal(command);
            let program = command.words.first();
            let open = program.is_some_and(|it| it.kind != WordKind::Literal);
            // Of what is only known when it runs the program, where that is certain.
            match certain {
                true => command.spoken() == started,
                false => open || program.is_some_and(|it| started.starts_with(&it.text)),
            }
        });
        prop_assert!(is_read, "{source:?} starts {started:?}, read as {read:#?}");
    }
    Ok(())
}

#[test]
fn what_bash_starts_is_read() {
    for source in [
        "aa b | cc && dd; ee & wait",
        "cat <<E && dd\nx $(ee)\nE\nff",
        "aa <<E; bb\nx\nE",
        "aa <<E | bb; cc\nx\nE\ndd",
        "aa <<'E' <<F\n$(bb)\nE\n$(cc)\nF",
        "if aa; then bb; elif cc; then dd; else ee; fi || ff",
        "for x in 1 2; do aa $x; done; while ! aa; do bb; break; done",
        "case x in (x) aa;; esac; case y in x) bb;& *) cc;; esac",
        "{ aa; } | ( bb ) ; echo \"`cc` $(dd \"$(ee)\")\"",
        "aa'b'\"c\"\\d; $'\\x61a' b; a\\\na b",
        "aa #b; cc\ndd#ee",
        "eval 'aa; bb'; eval aa b",
        "X=aa; $X b; \"$X\" c",
        "aa {b,c}; {aa,b}; a{a,b}",
        "time aa; ! bb; command cc; exec dd",
        "aa > f; bb < f; cc 2>&1 &> g; > h dd",
        "A=1 aa; A=$(bb) cc; A=$(dd)",
        "(aa; (bb; (cc)))",
        "aa\\;bb; aa ';' bb",
        "function ff { aa; }; ff; gg() (bb); gg",
        "[ -n $(aa) ] && bb; [[ -n $(cc) ]] || dd",
        "select x in a; do bb; done < /dev/null",
        "until aa; do bb; done; cc",
        "trap 'aa' EXIT; bb",
        "coproc aa b; wait",
        "echo $(<f); aa $(( 1 + $(bb) ))",
        "aa <(bb) >(cc) <<< $(dd); wait",
        "if aa\nthen\nbb\nfi",
        "aa;;bb",
        "aa |& bb",
        "a=(x $(aa)); ${a[0]}",
    ] {
        check_against_bash(source).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Scripts put together at random, most of them not what anybody would write.
    #[test]
    fn whatever_bash_starts_is_read(
        pieces in prop::collection::vec(prop::sample::select(PIECES), 1..12),
    ) {
        check_against_bash(&pieces.concat())?;
    }
}

const PIECES: &[&str] = &[
    "aa",
    " ",
    " ",
    " ",
    "bb x",
    "cc 'y z'",
    "dd \"$Q\"",
    "; ",
    " && ",
    " || ",
    " | ",
    " |& ",
    " & ",
    "\n",
    "\n",
    "(",
    ")",
    "{ ",
    "; }",
    "$(",
    ")",
    "`",
    "`",
    "'",
    "'",
    "\"",
    "\"",
    "\\",
    "\\\n",
    "#",
    " #",
    "if ",
    "; then ",
    "; else ",
    "; fi",
    "while ! ",
    "; do ",
    "; break; done",
    "for x in a b",
    "case a in ",
    " a) ",
    ";; ",
    " esac",
    "! ",
    "> f ",
    "< f ",
    "2>&1 ",
    ">&",
    "<<E",
    "<<'E'\n",
    "\nE\n",
    "E\n",
    "<<< ",
    "<(",
    ">(",
    "X=aa; ",
    "$X ",
    "${X} ",
    "X=1 ",
    "{a,b}",
    "*",
    "[ ",
    " ]",
    "[[ ",
    " ]]",
    "$((",
    "))",
    "((",
    "eval ",
    "command ",
    "exec ",
    "time ",
    "function f { ",
    "f() { ",
    "coproc ",
    "$'\\x61a'",
    "=",
    "a=(",
    "~",
    "-c ",
    "--",
    "\t",
    "\r",
    ";;",
    ";&",
    "$",
    "${",
    "}",
    "!",
    "^",
    "%",
    "[",
    "]",
    "?",
    ",",
    "f ",
    "export ",
    "local ",
];

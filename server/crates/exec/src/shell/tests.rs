use std::path::Path;

use super::{Grammar, Script, Shell, exit_is_error, promotable, wrap_for_cwd};
use crate::Exit;

#[track_caller]
fn check_stays(script: &str) {
    assert!(!promotable(script), "{script}");
}

#[track_caller]
fn check_promotable(script: &str) {
    assert!(promotable(script), "{script}");
}

#[test]
fn sleeps_and_quick_git_stay_in_the_foreground() {
    check_stays("sleep 5");
    check_stays("sleep 5; sleep 6 && git status");
    check_stays("git -C x log | git hash-object --stdin");
    check_stays("FOO=1 sleep 3");
    check_stays("echo 'unclosed");
    check_stays("echo $(unclosed");
}

#[test]
fn real_work_may_go_to_the_background() {
    check_promotable("cargo test");
    check_promotable("sleep 5; make");
    check_promotable("git push");
    check_promotable("git -c a=b --no-pager fetch origin");
    check_promotable("while true; do x; sleep 1; done");
    check_promotable("sleep $(cat n)");
}

#[test]
fn case_18_one_of_grep_is_an_answer() {
    for (script, code, error) in [
        ("grep x file", 0, false),
        ("grep x file", 1, false),
        ("grep x missing", 2, true),
        ("false", 1, true),
        ("cat f | grep x", 1, false),
        ("grep x f | cat", 1, true),
        ("[ -f x ]", 1, false),
        ("cd a; git --no-pager diff --exit-code", 1, false),
        ("git status", 1, true),
        ("diff a b > c", 1, false),
    ] {
        assert_eq!(exit_is_error(script, &Exit::Code(code)), error, "{script}");
    }
    assert!(exit_is_error("grep x f", &Exit::Signal("SIGKILL".to_owned())));
}

fn wrapped(program: &str, script: &str) -> Vec<String> {
    let shell = Shell { program: program.into() };
    let argv = wrap_for_cwd(&shell, Script::Given(script), Path::new("/it's"));
    argv.into_iter().map(|it| it.into_string().unwrap()).collect()
}

fn strings<const N: usize>(words: [&str; N]) -> [String; N] {
    words.map(str::to_owned)
}

#[test]
fn each_shell_is_spoken_to_in_its_own_words() {
    let zsh = wrapped("/usr/bin/zsh", "ls");
    assert_eq!((&zsh[1..3], &zsh[4..]), (&strings(["-f", "-c"])[..], &strings(["zsh", "ls"])[..]));
    assert!(zsh[3].contains("command pwd -P"), "{zsh:?}");
    let fish = wrapped("/usr/bin/fish", "ls");
    assert_eq!((&fish[1..3], fish[4].as_str()), (&strings(["--no-config", "-c"])[..], "ls"));
    assert!(fish[3].contains(r"pwd -P 2>/dev/null >'/it\'s'"), "{fish:?}");
    let pwsh = wrapped("pwsh", "echo 'a' \u{2019}");
    assert!(pwsh.contains(&"-NonInteractive".to_owned()), "{pwsh:?}");
    assert!(pwsh[5].contains("Create('echo ''a'' \u{2019}\u{2019}')"), "{pwsh:?}");
    assert!(pwsh[5].contains("WriteAllText('/it''s'"), "{pwsh:?}");
    assert_eq!(wrapped("/usr/bin/nu", "ls"), ["/usr/bin/nu", "-c", "ls"]);
}

#[test]
fn a_long_script_is_read_from_its_file() {
    let argv = |program: &str| {
        let shell = Shell { program: program.into() };
        let argv = wrap_for_cwd(&shell, Script::InFile(Path::new("/a b")), Path::new("/cwd"));
        argv.into_iter().map(|it| it.into_string().unwrap()).collect::<Vec<_>>()
    };
    assert!(argv("pwsh")[5].contains("Create([IO.File]::ReadAllText('/a b'))"));
    assert_eq!(argv("nu"), ["nu", "/a b"]);
}

#[test]
fn only_scripts_of_known_grammar_are_read() {
    for (program, grammar) in [
        ("/bin/sh", Grammar::Posix),
        ("/nix/store/x/bin/bash", Grammar::Posix),
        ("zsh", Grammar::Posix),
        ("fish", Grammar::Other),
        ("pwsh", Grammar::Other),
        ("nu", Grammar::Other),
        ("/", Grammar::Other),
    ] {
        assert_eq!(Shell { program: program.into() }.grammar(), grammar, "{program}");
    }
}

#[test]
fn a_shell_is_found_by_name_or_path() {
    let path = "/nowhere:/usr/bin:/bin".as_ref();
    let program = |name: &str| Shell::named(name, path).map(|it| it.program);
    assert_eq!(program("/bin/sh"), Ok("/bin/sh".into()));
    assert!(program("sh").is_ok_and(|it| it.is_absolute()));
    assert_eq!(program("nosuch"), Err("the shell `nosuch` is not there".to_owned()));
    assert_eq!(program("/etc/passwd"), Err("the shell `/etc/passwd` is not there".to_owned()));
}

use crate::{Clarity, Direction, Script, WordKind, parse};

/// Commands joined by ` / `, `<` before fed and `>` after captured ones, `=` before assignments;
/// `~` before a script that is not clear, `!` before a broken one.
#[track_caller]
fn check(source: &str, expected: &str) {
    let script = parse(source);
    let sign = match script.clarity {
        Clarity::Clear => "",
        Clarity::Murky => "~",
        Clarity::Broken => "!",
    };
    assert_eq!(format!("{sign}{}", shown(&script)), expected, "{source}");
}

fn shown(script: &Script) -> String {
    let shown: Vec<String> = script
        .commands
        .iter()
        .map(|command| {
            let fed = if command.fed { "<" } else { "" };
            let captured = if command.captured { ">" } else { "" };
            let set: String = command
                .assignments
                .iter()
                .map(|it| format!("{}={} ", it.name, it.value.text))
                .collect();
            format!("{fed}{set}{}{captured}", command.spoken())
        })
        .collect();
    shown.join(" / ")
}

#[test]
fn pipelines_lists_and_redirections() {
    check("a b | c && d; e & f", "a b> / <c / d / e / f");
    check("a >out 2>&1 <in", "<a>");
    check("a 2>err; b &>all", "a / b>");
    check("X=1 Y=$(z) a", "z> / X=1 Y=$(z) a");
    check("(a; b) | c", "a> / b> / <c");
    check("# comment\na # more\nb", "a / b");
    check("a |& b", "a> / <b");
    check("{ a; b; } > f", "a> / b>");
    check("> f", "");
    check("a > f b c; > f d e; <f g <h i", "a b c> / d e> / <g i");
    check("cat <<E f\nx\nE", "<cat f");
    check("a\n\\b", "~a / b");
    check("a \\\n  b", "a b");
    assert!(parse("a &").background && parse("a && b & c").background);
    assert!(!parse("a && b || c; d | e").background);
}

#[test]
fn quotes_and_substitutions() {
    check("echo 'a; b' \"c $(d \"e\")\" f\\ g", "d e> / echo a; b c $(d \"e\") f g");
    check("echo `a 'b'` ${x:-y} $((1+2))", "~a b> / echo `a 'b'` ${x:-y} $((1+2))");
    check("diff <(a) <(b)", "<a> / <b> / diff <(a) <(b)");
    check("echo $'it\\'s' $'\\x72m' $'\\162m'", "echo it's rm rm");
    check("r''m x; \\rm x; \"rm\" x; $'rm' x", "rm x / rm x / rm x / rm x");
    check("echo \"a\\\"b\\$c\\d\"", "echo a\"b$c\\d");
    check("cat <<< \"$(a)\"", "a> / <cat");
    check("echo ${x:-$(a)}", "~a> / echo ${x:-$(a)}");
    check("echo $((a[$(b)]))", "~b> / echo $((a[$(b)]))");
    check("a=(b $(c)); d", "c> / a=(b $(c))  / d");
}

#[test]
fn keywords_and_documents() {
    check("if a; then b; elif c; then d; else e; fi", "a / b / c / d / e");
    check("while a; do b; done < f", "<a / <b");
    check("for x in $(a); do $x; done", "a> / $x");
    check("case $(z) in y) a ;; *) b ;; esac", "z> / a / b");
    check("cat <<'E' | b\nvim $(x)\nE\nc", "<cat> / <b / c");
    check("cat <<E\nvim $(x)\nE\nc", "<cat / x> / c");
    check("cat <<-E\n\tvim 'x\n\tE\nc", "<cat / c");
    check("[[ a && $(b) ]] && c", "~b> / [[ a && $(b) ]] / c");
    check("[ -f a ] && c", "[ -f a ] / c");
    check("x=(a b) c", "x=(a b) c");
    check("! a; time b; { c; }; (d)", "a / time b / c / d");
    check("f() { a; }; function g { b; }", "~a / b");
    check("export A=1 B; unset C", "A=1 export A=1 B / unset C");
    check("coproc a b", "coproc a b");
}

#[test]
fn what_does_not_match_is_broken() {
    for source in ["echo 'a", "echo \"a", "echo $(a", "(a", "a; ) b", "((; rm x", ""] {
        let expected = if source.is_empty() { Clarity::Clear } else { Clarity::Broken };
        assert_eq!(parse(source).clarity, expected, "{source}");
    }
    for deep in ["(", "$(", "{ ", "if a; then "] {
        assert_eq!(parse(&deep.repeat(2001)).clarity, Clarity::Broken);
    }
    assert_eq!(parse(&format!("{}a{}", "(".repeat(200), ")".repeat(200))).clarity, Clarity::Broken);
    assert_eq!(parse(&"a\n".repeat(60_000)).clarity, Clarity::Broken);
    assert_eq!(parse("a\rb").clarity, Clarity::Murky);
    assert_eq!(parse("a\u{a0}b").clarity, Clarity::Murky);
}

#[test]
fn what_the_shell_makes_of_a_word() {
    #[track_caller]
    fn kinds(source: &str, expected: &[(&str, WordKind)]) {
        let script = parse(source);
        let words: Vec<(&str, WordKind)> = script
            .commands
            .last()
            .unwrap()
            .words
            .iter()
            .map(|it| (it.text.as_str(), it.kind))
            .collect();
        assert_eq!(words, expected, "{source}");
    }
    use WordKind::{Dynamic, Literal, Pattern};
    kinds(
        "a b*.rs 'c*' \"d?\" e\\*",
        &[("a", Literal), ("b*.rs", Pattern), ("c*", Literal), ("d?", Literal), ("e*", Literal)],
    );
    kinds(
        "echo {a,b} $x \"$y\" '$z' ~/q",
        &[
            ("echo", Literal),
            ("{a,b}", Pattern),
            ("$x", Dynamic),
            ("$y", Dynamic),
            ("$z", Literal),
            ("~/q", Literal),
        ],
    );
    kinds("x=rm; $x y", &[("rm", Dynamic), ("y", Literal)]);
    kinds("x=rm; \"${x}\"dir y", &[("rmdir", Dynamic), ("y", Literal)]);
    kinds("x=rm; read x; $x y", &[("$x", Dynamic), ("y", Literal)]);
}

#[test]
fn where_output_goes() {
    #[track_caller]
    fn targets(source: &str, expected: &str) {
        let shown: Vec<String> = parse(source)
            .redirections
            .iter()
            .map(|it| {
                let sign = match it.direction {
                    Direction::Read => '<',
                    Direction::Write => '>',
                };
                format!("{sign}{}", it.target.text)
            })
            .collect();
        assert_eq!(shown.join(" "), expected, "{source}");
    }
    targets("a > b 2>> 'c d' < e", ">b >c d <e");
    targets("a >| b; c &> d; e &>> f; g >& h", ">b >d >f >h");
    targets("a 2>&1 >&2 3>&- <&-", "");
    targets("{ a > b; } > c; while d; do e; done < f", ">b >c <f");
    targets("a $(b > c) <(d > e)", ">c >e");
    targets("f=x; a > $f", ">x");
    targets("cat <<E > b\nx\nE", ">b");
    targets("> b", ">b");
    targets("a <> b", ">b");
}

/// Everything that a script would start, one command a piece.
#[track_caller]
fn check_payloads(source: &str, expected: &str) {
    let commands = parse(source).with_payloads().unwrap().commands;
    let spoken: Vec<String> = commands.iter().map(crate::Command::spoken).collect();
    assert!(spoken.iter().any(|it| it == expected), "{source}: {spoken:#?}");
}

#[test]
fn characters_of_any_plane_are_read() {
    for char in ['é', '\u{2003}', '\u{ffff}', '\u{1f600}', '\u{72913}', '\u{10ffff}'] {
        for around in ["{C", "{C..3}", "{1..C}", "${C}", "<<C\nC\nC", "$C", "C=1", "'C' \"C\" C"] {
            let source = format!("echo {}; rm x", around.replace('C', &char.to_string()));
            let last = parse(&source).commands;
            assert!(
                last.iter().any(|it| it.spoken() == "rm x") || around.contains("<<"),
                "{source}"
            );
        }
    }
    assert_eq!(parse("rm 'é' ü{a,ö}").commands[0].spoken(), "rm é ü{a,ö}");
    assert_eq!(parse("é=1 ls").clarity, Clarity::Murky);
}

#[test]
fn redirections_of_what_is_started_are_told() {
    let started = parse("sh -c 'a > x'; eval \"b >> y\" > z").with_payloads().unwrap();
    let mut targets: Vec<&str> =
        started.redirections.iter().map(|it| it.target.text.as_str()).collect();
    targets.sort_unstable();
    assert_eq!(targets, ["x", "y", "z"]);
    assert_eq!(started.clarity, Clarity::Clear);
    assert_eq!(parse("sh -c 'a \"'").with_payloads().unwrap().clarity, Clarity::Broken);
}

#[test]
fn backquotes_of_a_document_are_not_clear() {
    assert_eq!(parse("cat <<E\n`a`\nE").clarity, Clarity::Murky);
    assert_eq!(parse("cat <<'E'\n`a`\nE").clarity, Clarity::Clear);
    assert_eq!(parse("cat <<\\E\n`a`\nE").clarity, Clarity::Clear);
}

#[test]
fn commands_behind_commands_are_found() {
    for source in [
        "rm x",
        "sudo rm x",
        "sudo -u root -n rm x",
        "env A=1 B=2 rm x",
        "env -i rm x",
        "env -S 'rm x'",
        "command rm x",
        "exec rm x",
        "nohup rm x &",
        "time rm x",
        "time -p rm x",
        "coproc rm x",
        "nice -n 5 rm x",
        "timeout 5 rm x",
        "timeout -k 1 5s rm x",
        "stdbuf -oL rm x",
        "sudo env nice timeout 5 rm x",
        "bash -c 'rm x'",
        "bash -lc 'rm x'",
        "sh -c \"sh -c 'rm x'\"",
        "eval rm x",
        "eval 'rm x'",
        "eval \"$(echo hi)\" 'rm x'; rm x",
        "trap 'rm x' EXIT",
        "watch 'rm x'",
        "ssh host 'rm x'",
        "su -c 'rm x'",
        "find . -exec rm x ';'",
        "find . -name a -execdir rm x +",
        "git submodule foreach 'rm x'",
        "git bisect run rm x",
        "git -c alias.y='!rm x' y",
        "git rebase -x 'rm x' main",
        "git rebase --exec='rm x' main",
        "GIT_EDITOR='rm x' git commit",
        "A=1 rm x",
        "if a; then while b; do rm x; done; fi",
        "echo \"$(rm x)\"",
        "cat <(rm x)",
        "y=rm; $y x",
        "flock lock rm x",
        "busybox rm x",
    ] {
        check_payloads(source, "rm x");
    }
    check_payloads("xargs -n 1 rm", "rm");
    check_payloads("find . src -delete", "rm . src");
}

#[test]
fn long_scripts_are_read_whole_or_not_at_all() {
    let many = format!("{}rm x", "a\n".repeat(30_000));
    let commands = parse(&many).with_payloads().unwrap().commands;
    assert_eq!(commands.last().map(crate::Command::spoken).as_deref(), Some("rm x"));
    assert_eq!(parse(&"sh -c 'a;a;a'\n".repeat(3_000)).with_payloads(), None);
    // What would be slow if it took a search among brothers each time.
    assert_eq!(parse(&format!("cat <<E {}\nx\nE", "a ".repeat(20_000))).commands.len(), 1);
    // Values of values are not put in without end.
    let doubled = format!("x=aa;{} $x y", "x=\"$x$x\";".repeat(60));
    let last = parse(&doubled).commands.pop().unwrap();
    assert!(last.spoken().len() < 1_000);
}

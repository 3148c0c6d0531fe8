//! The table of calls, rules and what becomes of them, and what holds for every row of it.

use proptest::prelude::*;

use super::*;

/// The rows of one block have mode and rules in common.
#[derive(Debug)]
struct Row {
    line: usize,
    mode: &'static str,
    rules: &'static str,
    expected: &'static str,
    call: &'static str,
}

static TABLE: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let (mut mode, mut rules) = ("ask", "");
    let mut rows = Vec::new();
    for (at, line) in include_str!("table.txt").lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.strip_prefix('[').and_then(|it| it.strip_suffix(']')) {
            Some(header) => (mode, rules) = header.split_once(" | ").unwrap_or((header, "")),
            None => {
                let (expected, call) = line.split_once(' ').unwrap();
                rows.push(Row { line: at + 1, mode, rules, expected, call });
            }
        }
    }
    rows
});

#[test]
fn every_row_of_the_table_holds() {
    let wrong: Vec<String> = TABLE
        .iter()
        .filter_map(|row| {
            let verdict = verdict(row.mode, row.rules, row.call);
            let Row { line, mode, rules, expected, call } = row;
            let right = word(&verdict) == *expected;
            (!right)
                .then(|| format!("{line}: {mode} [{rules}] {call}: not {expected} but {verdict:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(TABLE.len() > 700, "the table is whole");
}

/// What can stand around a command without taking anything from it.
const AROUND: &[(&str, &str)] = &[
    ("", "; ls"),
    ("ls; ", ""),
    ("ls\n", ""),
    ("", "\nls"),
    ("", " && ls"),
    ("ls && ", ""),
    ("", " || ls"),
    ("ls || ", ""),
    ("", " | cat"),
    ("ls | ", ""),
    ("", " &"),
    ("ls & ", ""),
    (" ( ", " )"),
    ("{ ", "; }"),
    ("! ", ""),
    ("time ", ""),
    ("env ", ""),
    ("sudo ", ""),
    ("nohup ", ""),
    ("nice -n 5 ", ""),
    ("timeout 5 ", ""),
    ("command ", ""),
    ("FOO=1 ", ""),
    ("if ", "; then ls; fi"),
    ("if ls; then ", "; fi"),
    ("for i in 1; do ", "; done"),
    ("f() { ", "; }; f"),
    ("echo $(", ")"),
    ("echo \"$(", ")\""),
    ("cat <(", ")"),
    ("X=$(", ")"),
    ("xargs ", ""),
    ("  ", "  "),
    ("", " # x"),
    ("", " > made"),
    ("cd src; ", ""),
];

static COMMANDS: LazyLock<Vec<&'static Row>> = LazyLock::new(|| {
    // A comment or an open quote would take what stands behind it, or leave it; a variable that is
    // not the shell's own any more is not known, and asks.
    let whole = |it: &&Row| {
        let script = it.call.strip_prefix("run ").unwrap_or_default().replace("\\n", "\n");
        !script.is_empty()
            && !script.contains('#')
            && !script.contains("<<")
            && !script.ends_with('&')
            && !script.starts_with("X=")
            // Behind a program it is no keyword, and its parentheses close what stands around them.
            && !script.starts_with("case ")
            && script::parse(&script).clarity != script::Clarity::Broken
    };
    TABLE.iter().filter(whole).collect()
});

fn rank(word: &str) -> usize {
    ["allow", "ask", "deny"].iter().position(|it| *it == word).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// Whatever is put around or beside a command of the table, it is not let through where it was
    /// not alone, and what denied it still does.
    #[test]
    fn no_row_is_more_allowed_for_what_stands_around_it(
        row in prop::sample::select(COMMANDS.as_slice()),
        arounds in prop::collection::vec(prop::sample::select(AROUND), 1..4),
    ) {
        let script = row.call.strip_prefix("run ").unwrap_or_default();
        let mut joined = script.to_string();
        for (before, after) in arounds {
            joined = format!("{before}{joined}{after}");
        }
        let now = verdict(row.mode, row.rules, &format!("run {joined}"));
        // What does not fit the grammar may ask where it would be denied.
        let broken = script::parse(&joined).clarity == script::Clarity::Broken;
        let least = if broken { rank(row.expected).min(1) } else { rank(row.expected) };
        prop_assert!(
            least <= rank(word(&now)),
            "{} {script:?} is {}, but {joined:?} is {now:?}", row.rules, row.expected
        );
    }

    /// Two commands of one block together are as bad as the worse of them.
    #[test]
    fn two_rows_together_are_no_better_than_the_worse(
        one in prop::sample::select(COMMANDS.as_slice()),
        sign in prop::sample::select(vec!["; ", " && ", " || ", " | ", "\n"]),
        pick in any::<prop::sample::Index>(),
    ) {
        let same = |it: &&&Row| it.mode == one.mode && it.rules == one.rules;
        let others: Vec<&Row> = COMMANDS.iter().filter(same).copied().collect();
        let other = others[pick.index(others.len())];
        let script = |it: &Row| it.call.strip_prefix("run ").unwrap_or_default().to_string();
        let joined = format!("run {}{sign}{}", script(one), script(other));
        let now = verdict(one.mode, one.rules, &joined);
        let worst = rank(one.expected).max(rank(other.expected));
        prop_assert!(worst <= rank(word(&now)), "[{}] {joined:?} is {now:?}", one.rules);
    }
}

/// Texts like scripts and rules, and texts like nothing.
fn any_text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "rm", " ", "x", "$(", ")", "`", "'", "\"", "\\", "\n", ";", "&&", "|", "<<E", "<(", ">",
        "{", "}", "((", "))", "[[", "]]", "${", "$'", "if", "then", "fi", "case", "esac", "in",
        "*", "#", "!", "=", "é", "\u{202e}", "\u{feff}", "\r", "\t", "\0", "mcp__", "Bash(", ":*",
        "domain:", "/", "//", "~/", "sudo", "env", "sh -c", "find", "-exec", "git", "-c", "a.b=!",
    ]);
    prop_oneof![prop::collection::vec(pieces, 0..40).prop_map(|it| it.concat()), any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn any_text_is_split_and_judged(text in any_text()) {
        let script = script::parse(&text);
        let _ = script.with_payloads();
        if !text.contains('\0') && !text.trim().is_empty() {
            let call = format!("run {}", text.replace("\\n", "\n"));
            let denied = verdict("auto", "deny Bash(rm *); deny Edit(x); allow Bash(a *)", &call);
            let joined = verdict("auto", "deny Bash(rm *)", &format!("run rm x\n{text}"));
            prop_assert_eq!(word(&joined), "deny");
            prop_assert!(rank(word(&denied)) <= 2);
        }
    }

    /// What is read as a rule is read as the same rule again.
    #[test]
    fn any_text_is_a_rule_or_refused(text in any_text()) {
        if let Ok(rule) = Rule::parse(&text, Decision::Deny, "user") {
            prop_assert_eq!(Rule::parse(&rule.text, Decision::Deny, "user"), Ok(rule.clone()));
            let rules = Rules { all: vec![rule] };
            let place = &DESK.place;
            let policy = Policy { rules: &rules, mode: Mode::Auto, trusted: true, plan_file: None };
            for call in ["run rm x; cat src/a > b", "read src/a", "write src/a"] {
                let (tool, access) = access(call, place);
                decide(tool, &access, place, &policy);
            }
        }
    }
}

#[test]
fn deep_and_long_scripts_end() {
    for (piece, end, count) in [
        ("$(", ")", 3_000),
        ("(", ")", 3_000),
        ("{ ", "; }", 3_000),
        ("`", "", 5_000),
        ("if ", "", 5_000),
        ("case x in ", "", 3_000),
        ("\"$(", ")\"", 3_000),
        ("sh -c '", "'", 1_000),
        ("sudo ", "", 10_000),
        ("X=$X$X; ", "", 5_000),
        ("f() { ", "}", 2_000),
        ("<<E\n", "", 3_000),
        ("{a,b}", "", 10_000),
        ("ls | ", "", 10_000),
        ("a=(", ")", 2_000),
        ("${x:-", "}", 2_000),
    ] {
        let script = format!("{}rm x{}", piece.repeat(count), end.repeat(count));
        let rules = "deny Bash(rm *); deny Edit(kept/**); deny Read(kept/**); allow Bash(ls:*)";
        let found = verdict("auto", rules, &format!("run {script}"));
        assert_ne!(word(&found), "allow", "{piece}");
    }
}

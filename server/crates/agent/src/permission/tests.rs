use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use exec::Grammar;

use super::*;

mod commands;
mod outside;
mod table;

/// A workspace with links, and a folder beside it.
struct Desk {
    _folder: tempfile::TempDir,
    place: Place,
}

static DESK: LazyLock<Desk> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let base = vfs::Roots::new([folder.path().to_path_buf()]).locate(folder.path()).real;
    let root = base.join("w");
    for dir in ["src/deep", "docs", "secrets", ".git/hooks", ".copydesk/memory", "../out"] {
        make_dir(&root.join(dir));
    }
    let link = |from: &str, to: &str| std::os::unix::fs::symlink(to, root.join(from)).unwrap();
    link("src/out", "../../out");
    link("src/docs", "../docs");
    link("src/hooks", "../.git/hooks");
    link("plain.txt", "secrets/id_rsa");
    link(".env.local", "secrets/id_rsa");
    let place = Place {
        roots: Arc::new(vfs::Roots::new([root.clone()])),
        cwd: root,
        artifacts: None,
        grammar: Grammar::Posix,
        programs: crate::programs::Programs::default(),
        vfs: crate::place::tests::no_files(),
    };
    Desk { _folder: folder, place }
});

#[allow(clippy::disallowed_methods, reason = "a test's own folder")]
fn make_dir(path: &Path) {
    std::fs::create_dir_all(path).unwrap();
}

fn rules(text: &str, place: &Place) -> Rules {
    let root = place.cwd.display().to_string();
    let out = place.cwd.with_file_name("out").display().to_string();
    let parse = |it: &str| {
        let (decision, rule) = it.trim().split_once(' ').unwrap();
        let (decision, scope) = decision.split_once('@').unwrap_or((decision, "user"));
        let decision = match decision {
            "allow" => Decision::Allow,
            "ask" => Decision::Ask,
            "deny" => Decision::Deny,
            other => panic!("{other}"),
        };
        let rule = rule.replace("ROOT", &root).replace("OUT", &out);
        Rule::parse(&rule, decision, scope).unwrap()
    };
    Rules { all: text.split(';').filter(|it| !it.trim().is_empty()).map(parse).collect() }
}

fn access(call: &str, place: &Place) -> (&'static str, Access) {
    let (verb, what) = call.split_once(' ').unwrap();
    let what = what.replace("OUT", &place.cwd.with_file_name("out").display().to_string());
    let (verb, from) = verb.split_once('@').unwrap_or((verb, "."));
    let targets = || what.split(", ").map(|it| place.target(it).unwrap()).collect();
    match verb {
        "read" => ("Read", Access::read(targets())),
        "grep" => ("Grep", Access::read(targets())),
        "write" => ("Write", Access::write(targets())),
        "edit" => ("Edit", Access::write(targets())),
        "multi" => ("MultiEdit", Access::write(targets())),
        "kill" => ("JobKill", Access { stops: vec![what], ..Access::default() }),
        "run" => {
            let cwd = vfs::normalize(&place.cwd.join(from));
            let input = serde_json::json!({ "command": what.replace("\\n", "\n"), "cwd": cwd });
            let call = crate::tools::find("Bash").unwrap().parse(input).unwrap();
            ("Bash", call.access(place).unwrap())
        }
        "serve" => {
            let input = serde_json::json!({ "action": "start", "command": what });
            let call = crate::tools::find("Process").unwrap().parse(input).unwrap();
            ("Process", call.access(place).unwrap())
        }
        "type" => {
            let launch = crate::programs::Launch {
                job: "term-1".into(),
                script: "cat".into(),
                cwd: place.cwd.clone(),
                ready: crate::programs::Ready::default(),
            };
            place.programs.enter("term-1".into(), launch);
            let input = serde_json::json!({ "action": "send", "input": what });
            let call = crate::tools::find("Terminal").unwrap().parse(input).unwrap();
            ("Terminal", call.access(place).unwrap())
        }
        other => panic!("{other}"),
    }
}

fn verdict(mode: &str, rule_text: &str, call: &str) -> Verdict {
    let place = &DESK.place;
    let plan = place.cwd.join(".plan.md");
    let rules = rules(rule_text, place);
    let policy = Policy {
        rules: &rules,
        mode: Mode::from_id(mode.trim_end_matches('?')).unwrap(),
        trusted: !mode.ends_with('?'),
        plan_file: Some(&plan),
    };
    let (tool, access) = access(call, place);
    decide(tool, &access, place, &policy)
}

fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Allow => "allow",
        Verdict::Ask { .. } => "ask",
        Verdict::Deny { .. } => "deny",
    }
}

/// Rows of `call -> expected`.
#[track_caller]
fn check(mode: &str, rule_text: &str, rows: &[(&str, &str)]) {
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(call, expected)| {
            let verdict = verdict(mode, rule_text, call);
            (word(&verdict) != *expected)
                .then(|| format!("{mode} [{rule_text}] {call}: wanted {expected}, got {verdict:?}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Each row in the modes ask, plan, edit and auto.
#[track_caller]
fn check_modes(suffix: &str, rule_text: &str, rows: &[(&str, [&str; 4])]) {
    for (call, expected) in rows {
        for (mode, expected) in Mode::ALL.into_iter().zip(expected) {
            check(&format!("{}{suffix}", mode.id()), rule_text, &[(call, expected)]);
        }
    }
}

const RUNS: [&str; 4] = ["allow"; 4];
const ASKS: [&str; 4] = ["ask"; 4];
const NEVER: [&str; 4] = ["deny"; 4];
const ASKS_OR_REFUSED: [&str; 4] = ["ask", "deny", "ask", "ask"];

#[test]
fn each_mode_treats_each_access_as_the_table_says() {
    check_modes(
        "",
        "",
        &[
            ("read src/a.rs", RUNS),
            ("grep .", RUNS),
            ("read untitled:1", RUNS),
            ("read OUT/a", ["ask", "ask", "ask", "allow"]),
            ("read src/out/a", ["ask", "ask", "ask", "allow"]),
            ("write src/a.rs", ["ask", "deny", "allow", "allow"]),
            ("multi src/a.rs", ["ask", "deny", "allow", "allow"]),
            ("write untitled:1", ["ask", "deny", "allow", "allow"]),
            ("write .plan.md", ["ask", "allow", "allow", "allow"]),
            ("write .plan.md, src/a.rs", ["ask", "deny", "allow", "allow"]),
            ("write OUT/a", ASKS_OR_REFUSED),
            ("write src/out/a", ASKS_OR_REFUSED),
            ("write src/a, OUT/a", ASKS_OR_REFUSED),
            ("run git status", RUNS),
            ("run ls -la src && wc -l src/a.rs", RUNS),
            ("run cargo test", ["ask", "deny", "ask", "allow"]),
            ("run echo x > made", ["ask", "deny", "ask", "allow"]),
            ("serve npm run dev", ["ask", "deny", "ask", "allow"]),
            ("serve ls", ["ask", "deny", "ask", "allow"]),
            ("type ls", ["ask", "deny", "ask", "allow"]),
            ("type x > y", ["ask", "deny", "ask", "allow"]),
            ("type x > OUT/y", ASKS_OR_REFUSED),
            ("type cat .env", ASKS_OR_REFUSED),
            ("serve make > OUT/made", ASKS_OR_REFUSED),
            ("run echo x > OUT/made", ASKS_OR_REFUSED),
            ("kill job-1", ["allow", "deny", "allow", "allow"]),
        ],
    );
}

#[test]
fn in_a_folder_that_is_not_trusted_nothing_runs_unasked() {
    check_modes(
        "?",
        "allow Bash(git status:*); allow Edit(src/**); allow Bash(cargo:*); allow Read(//OUT/**)",
        &[
            ("read src/a.rs", RUNS),
            ("read OUT/a", ASKS),
            ("write src/a.rs", ASKS_OR_REFUSED),
            ("run git status", ASKS_OR_REFUSED),
            ("run ls", ASKS_OR_REFUSED),
            ("run cargo test", ASKS_OR_REFUSED),
        ],
    );
    check("ask?", "allow@session Bash(git status:*)", &[("run git status", "allow")]);
    check("ask?", "allow@session Edit(src/**)", &[("write src/a", "allow"), ("write b", "ask")]);
    check("ask", "allow Terminal(term-1)", &[("type ls", "allow"), ("type cat .env", "ask")]);
    check("ask", "allow Terminal", &[("type ls", "allow")]);
    check(
        "ask",
        "allow Bash; allow Terminal(term-2)",
        &[("type ls", "ask"), ("run make", "allow")],
    );
    check("auto", "deny Terminal(term-1)", &[("type ls", "deny")]);
    check("auto", "deny Bash(rm:*)", &[("type rm x", "deny")]);
    check("auto?", "deny Bash(ls:*)", &[("run ls", "deny")]);
    check(
        "ask",
        "allow Bash(npm run dev)",
        &[("serve npm run dev", "allow"), ("serve npm x", "ask")],
    );
    check(
        "ask",
        "allow Process(npm run:*)",
        &[("serve npm run dev", "allow"), ("run npm run dev", "ask")],
    );
    check("auto", "deny Bash(rm:*)", &[("serve npm run dev && rm -r x", "deny")]);
    check(
        "auto",
        "deny Process(npm:*)",
        &[("serve npm run dev", "deny"), ("run npm test", "allow")],
    );
}

#[test]
fn files_that_grant_power_always_ask() {
    for path in [
        ".git/config",
        ".git/hooks/pre-commit",
        "src/hooks/x",
        ".copydesk/config.toml",
        ".copydesk/tools/x.ts",
        ".claude/settings.json",
        ".agents/a.md",
        "AGENTS.md",
        "src/CLAUDE.md",
        ".mcp.json",
        ".vscode/tasks.json",
        ".GIT/config",
        ".husky/pre-push",
    ] {
        let write = format!("write {path}");
        check_modes("", "", &[(&write, ASKS_OR_REFUSED)]);
        check("auto", "allow Edit(**); allow Edit; allow Write(/.git/**)", &[(&write, "ask")]);
        check("auto", "", &[(format!("read {path}").as_str(), "allow")]);
        let redirect = format!("run echo x > {path}");
        check_modes("", "", &[(&redirect, ASKS_OR_REFUSED)]);
        check("auto", "allow Bash", &[(&redirect, "ask")]);
    }
    check(
        "auto",
        "allow Bash",
        &[
            ("run cp x .git/hooks/pre-commit", "ask"),
            ("run sed -i s/a/b/ .mcp.json", "ask"),
            ("run cat x | tee .vscode/tasks.json", "ask"),
            ("run cat > \".git/config\"", "ask"),
            ("run echo x > .gi''t/config", "ask"),
            ("run echo x > .git\\/config", "ask"),
            ("run echo x > .g?t/config", "ask"),
            ("run cd .git && echo x > config", "ask"),
            ("run@.git echo x > ./config", "ask"),
            ("run@.git/hooks touch pre-commit.sh", "ask"),
            ("run ln -s /bin/sh src/hooks/pre-push", "ask"),
        ],
    );
}

#[test]
fn the_memory_folder_is_like_any_other() {
    check_modes("", "", &[("write .copydesk/memory/a.md", ["ask", "deny", "allow", "allow"])]);
    check("ask", "allow Edit(/.copydesk/memory/**)", &[("write .copydesk/memory/a.md", "allow")]);
}

#[test]
fn secrets_stay_closed_unless_a_rule_of_the_persons_names_them() {
    for path in [
        ".env",
        ".env.production",
        "sub/.ENV",
        "secrets/id_rsa",
        "plain.txt",
        ".env.local",
        "k.pem",
        "~/.ssh/id_ed25519",
        "~/.aws/credentials",
        "OUT/.env",
    ] {
        let (read, write) = (format!("read {path}"), format!("write {path}"));
        let rows = [(read.as_str(), NEVER), (write.as_str(), NEVER)];
        check_modes("", "", &rows);
        check_modes("", "allow Read(**); allow Edit(**); allow Read; allow Write", &rows);
    }
    check_modes(
        "",
        "allow Read(/.env)",
        &[("read .env", RUNS), ("write .env", NEVER), ("read sub/.env", NEVER)],
    );
    check("ask", "allow@project Read(/.env)", &[("read .env", "deny")]);
    check("ask", "allow@local Read(/.env)", &[("read .env", "deny")]);
    check("ask", "allow@session Read(/.env)", &[("read .env", "allow")]);
    check("ask", "allow Read(/.env); deny Read(.env)", &[("read .env", "deny")]);
    // A folder is not the file in it, and a link not what it leads to.
    check("ask", "allow Read(/secrets)", &[("read secrets/id_rsa", "deny")]);
    check("ask", "allow Read(/secrets/)", &[("read secrets/id_rsa", "deny")]);
    check("ask", "allow Read(/.env.local)", &[("read .env.local", "deny")]);
    check(
        "ask",
        "allow Read(/.env.local); allow Read(/secrets/id_rsa)",
        &[("read .env.local", "allow")],
    );
    check("auto", "", &[("read .env.example", "allow"), ("write .env.sample", "allow")]);
}

#[test]
fn deny_wins_over_ask_and_ask_over_allow() {
    let all = "deny Bash(git push:*); ask Bash(git commit:*); allow Bash(git:*)";
    for mode in ["ask", "edit", "auto"] {
        check(
            mode,
            all,
            &[
                ("run git push", "deny"),
                ("run git push --force", "deny"),
                ("run git commit -m x", "ask"),
                ("run git fetch", "allow"),
                ("run git fetch && git commit", "ask"),
                ("run git fetch && git commit && git push", "deny"),
            ],
        );
    }
    check_modes("", "deny Edit(/secrets/**); allow Edit(**)", &[("write secrets/a", NEVER)]);
    check_modes("", "deny Read; allow Read(**)", &[("read a", NEVER), ("grep .", NEVER)]);
    check(
        "auto",
        "ask Edit(src/**); allow Edit(**)",
        &[("edit src/a", "ask"), ("edit b", "allow")],
    );
    check("auto", "ask Read(docs/**)", &[("grep docs/a", "ask"), ("read src/docs/a", "ask")]);
    check("auto", "deny Bash", &[("run ls", "deny"), ("read a", "allow")]);
    check("auto", "deny Grep", &[("grep a", "deny"), ("read a", "allow")]);
}

#[test]
fn an_edit_rule_covers_every_writer_and_a_read_rule_every_reader() {
    for rule in ["Edit(kept/**)", "Write(kept/**)", "edit(kept/**)", "WriteFile(/kept/**)"] {
        check(
            "auto",
            &format!("deny {rule}"),
            &[
                ("write kept/a", "deny"),
                ("edit kept/a", "deny"),
                ("multi kept/a", "deny"),
                ("edit src/a, kept/a", "deny"),
                ("edit src/../kept/a", "deny"),
                ("run echo x > kept/a", "deny"),
                ("run echo x >> kept/a", "deny"),
                ("run echo x >| kept/a", "deny"),
                ("run cmd &> kept/a", "deny"),
                ("run cmd 2>kept/a", "deny"),
                ("run echo \"$(date > kept/a)\"", "deny"),
                ("run rm kept/a", "deny"),
                ("run mv b kept/a", "deny"),
                ("run cat b | tee kept/a", "deny"),
                ("run sudo dd of=kept/a", "deny"),
                ("run@kept touch a", "deny"),
                ("edit src/a", "allow"),
                ("read kept/a", "allow"),
                ("run make kept/a", "allow"),
                ("run echo x 2>&1", "allow"),
                ("run echo x > /dev/null", "allow"),
            ],
        );
    }
    check("auto", "deny MultiEdit(kept/**)", &[("multi kept/a", "deny"), ("edit kept/a", "allow")]);
    check("ask", "allow MultiEdit(kept/**)", &[("multi kept/a", "allow"), ("edit kept/a", "ask")]);
    for rule in ["Read(kept/**)", "ReadFile(kept/**)"] {
        check(
            "auto",
            &format!("deny {rule}"),
            &[
                ("read kept/a", "deny"),
                ("grep kept/a", "deny"),
                ("run cat kept/a", "deny"),
                ("run cat < kept/a", "deny"),
                ("run@kept cat a", "deny"),
                ("read src/a", "allow"),
                ("edit kept/a", "allow"),
            ],
        );
    }
    check("auto", "deny Grep(kept/**)", &[("grep kept/a", "deny"), ("read kept/a", "allow")]);
}

#[test]
fn paths_are_matched_as_gitignore_does() {
    let home = format!("{}/notes/a.txt", std::env::home_dir().unwrap().display());
    check(
        "ask",
        &format!(
            "allow Edit(src/**); allow Edit(*.md); allow Edit(/docs/a.txt); allow Read(/{home})"
        ),
        &[
            ("edit src/a", "allow"),
            ("edit src/deep/a", "allow"),
            ("edit ./src/../src/a", "allow"),
            ("edit src2/a", "ask"),
            ("edit deep/src/a", "ask"),
            ("edit x.md", "allow"),
            ("edit any/where/x.md", "allow"),
            ("edit docs/a.txt", "allow"),
            ("edit src/docs/a.txt", "allow"),
            ("edit other/docs/a.txt", "ask"),
            ("edit /docs/a.txt", "ask"),
            ("edit src/out/a", "ask"),
            ("edit OUT/x.md", "ask"),
            ("read ~/notes/a.txt", "allow"),
        ],
    );
    check("ask", "allow Read(~/notes/**)", &[("read ~/notes/b", "allow"), ("read ~/b", "ask")]);
    check("ask", "allow Read(/OUT/**)", &[("read OUT/a", "allow"), ("read OUT/x/y", "allow")]);
    check("ask", "allow Read(/OUT/a)", &[("read src/out/a", "ask"), ("read /etc/passwd", "ask")]);
    check("ask", "allow Read(/OUT/**); allow Read(src/**)", &[("read src/out/a", "allow")]);
    check("ask", "deny Edit(docs/**); allow Edit(src/**)", &[("edit src/docs/a", "deny")]);
    check("ask", "deny Edit(src/**); allow Edit(docs/**)", &[("edit src/docs/a", "deny")]);
    check(
        "ask",
        "allow Edit(src/a?c); allow Edit(src/[xy])",
        &[
            ("edit src/abc", "allow"),
            ("edit src/ac", "ask"),
            ("edit src/x", "allow"),
            ("edit src/z", "ask"),
        ],
    );
    check("ask", "allow Edit", &[("edit src/a", "allow"), ("edit OUT/a", "ask")]);
    check("ask", "allow Edit(*)", &[("edit src/a", "allow"), ("edit OUT/a", "ask")]);
    check("ask", "allow Edit(!src/**)", &[("edit src/a", "ask"), ("edit b", "ask")]);
}

#[test]
fn a_suggested_path_covers_that_path_alone() {
    for path in [
        "a.txt",
        "src/a [1].txt",
        "src/*.rs",
        "src/!x",
        "#a",
        "src/a?b",
        "sp ace",
        "OUT/a",
        "OUT/a*",
    ] {
        let write = format!("write {path}");
        let Verdict::Ask { suggestion, .. } = verdict("ask", "", &write) else {
            panic!("{path} is not asked")
        };
        let rule = suggestion.first().unwrap_or_else(|| panic!("{path} suggests nothing"));
        let allow = format!("allow {rule}");
        check(
            "ask",
            &allow,
            &[(&write, "allow"), ("write src/other", "ask"), ("write OUT/ab", "ask")],
        );
    }
}

#[test]
fn what_is_suggested_for_several_files_covers_each() {
    let suggested = |rules: &str, call: &str| match verdict("ask", rules, call) {
        Verdict::Ask { suggestion, .. } => suggestion,
        other => panic!("{other:?}"),
    };
    let both = ["Edit(/a.txt)", "Edit(/src/b.txt)"];
    let call = "multi src/b.txt, a.txt";
    assert_eq!(suggested("", call), both);
    check("ask", &both.map(|it| format!("allow {it}")).join(";"), &[(call, "allow")]);
    assert_eq!(suggested("allow Edit(/a.txt)", call), [both[1]]);
    // Always would save no question.
    assert_eq!(suggested("", "multi a.txt, .copydesk/config.toml"), [""; 0]);
}

#[test]
fn rules_are_read_or_refused() {
    #[track_caller]
    fn check(text: &str, expected: Result<(&str, Option<&str>), &str>) {
        let rule = Rule::parse(text, Decision::Allow, "user");
        let got = rule.as_ref().map(|it| (it.tool.as_str(), it.specifier.as_deref()));
        assert_eq!(got.map_err(|it| it.reason), expected, "{text}");
    }
    check("Bash(ls:*)", Ok(("Bash", Some("ls:*"))));
    check(" shell( ls ) ", Ok(("Bash", Some("ls"))));
    check("Bash(echo (a))", Ok(("Bash", Some("echo (a)"))));
    check("read_file(/a)", Ok(("Read", Some("/a"))));
    check("Bash(*)", Ok(("Bash", None)));
    check("mcp__x__y", Ok(("mcp__x__y", None)));
    check("Bash()", Err("nothing stands in the parentheses"));
    check("Bash(ls", Err("the parenthesis is not closed"));
    check("", Err("the tool's name is missing"));
    check("(x)", Err("the tool's name is missing"));
    check("Bash ls", Err("write it as `Tool` or `Tool(what)`"));
}

#[test]
fn a_workspace_opened_through_a_link_keeps_its_rules() {
    let link = DESK.place.cwd.with_file_name("link");
    std::os::unix::fs::symlink(&DESK.place.cwd, &link).unwrap();
    let place = Place {
        roots: Arc::new(vfs::Roots::new([link.clone()])),
        cwd: link,
        artifacts: None,
        grammar: Grammar::Posix,
        programs: crate::programs::Programs::default(),
        vfs: crate::place::tests::no_files(),
    };
    let rules = rules("allow Edit(/src/**); allow Edit(docs/**)", &DESK.place);
    let policy = Policy { rules: &rules, mode: Mode::Ask, trusted: true, plan_file: None };
    for (path, expected) in
        [("src/a", "allow"), ("docs/a", "allow"), (".git/x", "ask"), ("b", "ask")]
    {
        let access = Access::write(vec![place.target(path).unwrap()]);
        assert_eq!(word(&decide("Edit", &access, &place, &policy)), expected, "{path}");
    }
}

#[test]
fn a_tool_that_is_denied_as_a_whole_is_hidden() {
    let rules = rules("deny Bash; deny Edit(x); allow Read; deny Grep(*)", &DESK.place);
    let hidden = |it: &str| super::hidden(it, &rules);
    assert!(hidden("Bash") && hidden("Grep") && !hidden("Edit") && !hidden("Read"));
}

#[test]
fn folders_are_those_opened_and_those_meant() {
    let folders: Vec<PathBuf> = DESK.place.folders();
    assert_eq!(folders, std::slice::from_ref(&DESK.place.cwd));
}

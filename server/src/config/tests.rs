use std::path::{Path, PathBuf};

use agent::settings::Mode;
use serde_json::json;

use super::trust::Trust;
use super::*;

struct Folder {
    _temporary: tempfile::TempDir,
    root: PathBuf,
    state: PathBuf,
}

impl Folder {
    fn new(files: &[(&str, &[u8])]) -> Folder {
        let temporary = tempfile::tempdir().unwrap();
        let (root, state) = (temporary.path().join("w"), temporary.path().join("state"));
        let folder = Folder { _temporary: temporary, root, state };
        for (name, bytes) in files {
            folder.write(name, bytes);
        }
        folder
    }

    #[allow(clippy::disallowed_methods, reason = "a test's own folder")]
    fn write(&self, name: &str, bytes: &[u8]) {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }

    fn sources(&self, trusted: Option<bool>) -> Sources {
        Sources {
            folders: vec![self.root.clone()],
            trusted,
            state: Some(self.state.clone()),
            ..Sources::default()
        }
    }
}

const PROJECT: &str = ".copydesk/config.toml";
const LOCAL: &str = ".copydesk/config.local.toml";

fn rules(config: &Config) -> Vec<String> {
    // The person's own file may have rules too; these tests are about the folder's.
    let all = config.rules.all.iter().map(|it| format!("{} {} {it}", it.scope, it.decision.id()));
    all.collect()
}

/// A file's problems as `line: message`.
#[track_caller]
fn check_problems(text: &str, expected: &[&str]) {
    let (_, problems) = check::file(Path::new("config.toml"), text);
    let problems: Vec<String> =
        problems.iter().map(|it| format!("{}: {}", it.line, it.message)).collect();
    assert_eq!(problems, expected);
}

#[test]
fn a_wrong_word_is_named_with_the_ones_there_are() {
    check_problems(
        "modell = \"x\"\nmode = \"zz\"\n[providers.p]\nprotocol = \"zz\"\n",
        &[
            "1: unknown key `modell`; did you mean `model`?",
            "2: `mode` must be one of ask, plan, edit, auto, not `zz`",
            "4: `providers.p.protocol` must be one of anthropic, openai, openai-responses, gemini, replay, \
             not `zz`",
        ],
    );
}

#[test]
fn a_good_file_has_no_problems() {
    check_problems(
        "model = \"a/b\"\nmode = \"edit\"\n\n[providers.a]\nprotocol = \"openai\"\nidle_timeout = 3\n\
         headers = { x = \"y\" }\n\n[permissions]\nallow = [\"Bash(ls:*)\"]\n\n[models.\"a/b\"]\nimages = true\n\
         [edits]\nsave = \"never\"\n[shell]\ntimeout = 1000\n",
        &[],
    );
    check_problems("", &[]);
}

#[test]
fn an_unknown_key_is_told_with_its_line_and_the_nearest_one() {
    check_problems("\nmodell = \"a/b\"\n", &["2: unknown key `modell`; did you mean `model`?"]);
    check_problems(
        "[permissions]\nallow = []\nalow = []\n",
        &["3: unknown key `permissions.alow`; did you mean `allow`?"],
    );
    check_problems(
        "[providers.x]\nbase_ulr = \"y\"\n",
        &["2: unknown key `providers.x.base_ulr`; did you mean `base_url`?"],
    );
    check_problems("zzzzzzzzzz = 1\n", &["1: unknown key `zzzzzzzzzz`"]);
}

#[test]
fn a_wrong_type_is_told_with_what_is_wanted() {
    check_problems("model = 3\n", &["1: `model` must be a text, not a number"]);
    check_problems(
        "\n\nmode = \"fast\"\n",
        &["3: `mode` must be one of ask, plan, edit, auto, not `fast`"],
    );
    check_problems(
        "[permissions]\ndeny = \"x\"\n",
        &["2: `permissions.deny` must be a list, not a text"],
    );
    check_problems(
        "[permissions]\ndeny = [1]\n",
        &["2: `permissions.deny` must be a list of which each is a text, not a list"],
    );
    check_problems("shell = true\n", &["1: `shell` must be a table, not true or false"]);
    check_problems(
        "[providers.x]\nidle_timeout = 1.5\n",
        &["2: `providers.x.idle_timeout` must be a whole number, not a number"],
    );
}

#[test]
fn what_is_wrong_is_left_out_and_the_rest_counts() {
    let (value, problems) = check::file(
        Path::new("x"),
        "model = \"a/b\"\nmode = 3\n[permissions]\nallow = 1\ndeny = [\"Bash\"]\n",
    );
    assert_eq!(value, json!({ "model": "a/b", "permissions": { "deny": ["Bash"] } }));
    assert_eq!(problems.len(), 2);
}

#[test]
fn a_broken_file_is_told_with_its_line_and_not_used() {
    let (value, problems) = check::file(Path::new("c.toml"), "model = \"a/b\"\nmode = \n");
    assert_eq!((value, problems.len(), problems[0].line), (Value::Null, 1, 2));
    let told = problems[0].to_string();
    assert!(
        told.starts_with("c.toml:2: this is not valid TOML, so the file is not used: "),
        "{told}"
    );
    let (value, problems) = check::file(Path::new("c.toml"), "model = \"a/b\"\nmodel = \"c/d\"\n");
    assert_eq!((value, problems[0].line), (Value::Null, 2));
}

#[test]
fn a_file_that_is_no_text_is_told_and_the_others_count() {
    let folder =
        Folder::new(&[(PROJECT, b"model = \"a/\xff\"\n"), (LOCAL, b"model = \"local/x\"\n")]);
    let config = load(&folder.sources(Some(true)));
    assert_eq!(config.settings.model.as_deref(), Some("local/x"));
    let told = config.problems.join("\n");
    assert!(told.contains("config.toml:1: this is not UTF-8"), "{told}");
}

#[test]
fn the_nearer_layer_wins_and_rules_add_up() {
    let folder = Folder::new(&[
        (PROJECT, b"model = \"project/x\"\nmode = \"plan\"\n[permissions]\ndeny = [\"Bash(a)\"]\n[providers.p]\nproxy = \"p\"\nfile = \"f\"\n"),
        (LOCAL, b"model = \"local/x\"\n[permissions]\nallow = [\"Bash(b)\"]\n[providers.p]\nproxy = \"q\"\n"),
    ]);
    let mut sources = folder.sources(Some(true));
    let config = load(&sources);
    assert_eq!(
        (config.settings.model.as_deref(), config.settings.mode),
        (Some("local/x"), Mode::Plan)
    );
    let provider = &config.settings.providers["p"];
    assert_eq!((provider.proxy.as_deref(), provider.file.as_deref()), (Some("q"), Some("f")));
    sources.editor = json!({ "model": "editor/x", "trusted": true, "mode": null, "permissions": { "ask": ["Bash(c)"] } });
    sources.command_line = json!({ "mode": "auto" });
    let config = load(&sources);
    assert_eq!(
        (config.settings.model.as_deref(), config.settings.mode),
        (Some("editor/x"), Mode::Auto)
    );
    let rules = rules(&config);
    for rule in ["project deny Bash(a)", "local allow Bash(b)", "user ask Bash(c)"] {
        assert!(rules.iter().any(|it| it == rule), "{rule} in {rules:?}");
    }
}

#[test]
fn a_folder_that_is_not_trusted_only_takes_away() {
    let project = b"model = \"project/x\"\nmode = \"auto\"\n[permissions]\nallow = [\"Bash(a)\"]\nask = [\"Bash(b)\"]\ndeny = [\"Bash(c)\"]\n\
        [providers.anthropic]\nbase_url = \"http://elsewhere\"\n[shell]\nprogram = \"./x\"\n";
    for name in [PROJECT, LOCAL] {
        let folder = Folder::new(&[(name, project)]);
        let config = load(&folder.sources(Some(false)));
        assert!(!config.trusted);
        assert_eq!(
            (config.settings.model.as_deref(), config.settings.mode),
            (Some("project/x"), Mode::Ask)
        );
        assert!(config.settings.providers.get("anthropic").is_none_or(|it| it.base_url.is_none()));
        assert_ne!(config.settings.shell.program.as_deref(), Some("./x"));
        let rules = rules(&config);
        assert!(rules.iter().any(|it| it.ends_with("deny Bash(c)")), "{rules:?}");
        assert!(
            !rules.iter().any(|it| it.ends_with("Bash(a)") || it.ends_with("Bash(b)")),
            "{rules:?}"
        );
        let told = config.problems.join("\n");
        assert!(
            told.contains("not trusted") && told.contains("mode") && told.contains("providers"),
            "{told}"
        );
        let config = load(&folder.sources(Some(true)));
        assert_eq!((config.settings.mode, config.trusted), (Mode::Auto, true));
    }
}

#[test]
fn trust_lasts_until_what_grants_power_changes() {
    let folder = Folder::new(&[(PROJECT, b"mode = \"auto\"\n")]);
    let trusted = || load(&folder.sources(None)).trusted;
    assert!(!trusted());
    trust::remember(&folder.state, &folder.root, Trust::Yes).unwrap();
    assert!(trusted());
    folder.write("src/a.rs", b"fn main() {}\n");
    assert!(trusted());
    folder.write(PROJECT, b"mode = \"auto\"\n[permissions]\nallow = [\"Bash\"]\n");
    assert!(!trusted());
    folder.write(PROJECT, b"mode = \"auto\"\n");
    assert!(trusted());
    folder.write(LOCAL, b"");
    assert!(trusted());
    folder.write(LOCAL, b"mode = \"edit\"\n");
    assert!(!trusted());
    trust::remember(&folder.state, &folder.root, Trust::Yes).unwrap();
    assert!(trusted());
    folder.write(LOCAL, b"mode = \"edit\"\xff\n");
    assert!(!trusted());
    folder.write(LOCAL, b"mode = \"edit\"\n");
    trust::remember(&folder.state, &folder.root, Trust::No).unwrap();
    assert!(!trusted());
    // What the editor says comes first, and no folder is no trust.
    trust::remember(&folder.state, &folder.root, Trust::Yes).unwrap();
    assert!(!load(&folder.sources(Some(false))).trusted);
    assert!(!load(&Sources { state: Some(folder.state.clone()), ..Sources::default() }).trusted);
}

#[test]
fn trust_is_of_the_real_folder() {
    let folder = Folder::new(&[("a.txt", b"")]);
    let link = folder.root.with_file_name("link");
    std::os::unix::fs::symlink(&folder.root, &link).unwrap();
    trust::remember(&folder.state, &link, Trust::Yes).unwrap();
    assert!(load(&folder.sources(None)).trusted);
    let other = Folder::new(&[("a.txt", b"")]);
    let sources = Sources {
        folders: vec![folder.root.clone(), other.root.clone()],
        state: Some(folder.state.clone()),
        ..Sources::default()
    };
    assert!(!load(&sources).trusted, "every folder must be trusted");
}

#[test]
fn a_rule_that_is_none_is_told_with_its_line() {
    let folder = Folder::new(&[(
        PROJECT,
        b"[permissions]\nallow = [\n  \"Bash(ls)\",\n  \"Bash(ls\",\n]\n",
    )]);
    let told: Vec<String> = problems(Some(&folder.root)).iter().map(ToString::to_string).collect();
    let wanted = "config.toml:4: `Bash(ls` is not a permission rule: the parenthesis is not closed";
    assert!(told.iter().any(|it| it.ends_with(wanted)), "{told:?}");
    let config = load(&folder.sources(Some(true)));
    assert!(config.problems.iter().any(|it| it.contains("`Bash(ls` is not a permission rule")));
}

#[test]
fn the_editors_settings_are_checked_too() {
    let folder = Folder::new(&[]);
    let mut sources = folder.sources(Some(true));
    sources.editor = json!({ "modell": "x/y", "model": "", "mode": "fast" });
    let told = load(&sources).problems.join("\n");
    assert!(
        told.contains("editor settings: unknown key `modell`; did you mean `model`?"),
        "{told}"
    );
    assert!(
        told.contains("editor settings: `mode` must be one of ask, plan, edit, auto"),
        "{told}"
    );
    sources.editor = json!("nonsense");
    assert!(load(&sources).problems.join("\n").contains("must be a table of keys"));
}

const CLAUDE: &str = ".claude/settings.json";
const CLAUDE_LOCAL: &str = ".claude/settings.local.json";

/// The commands of the hooks of a folder's files, and what is wrong, without the folders' names.
#[track_caller]
fn hooks_of(folder: &Folder, trusted: Option<bool>) -> (Vec<String>, Vec<String>) {
    let config = load(&folder.sources(trusted));
    let name = format!("{}/", folder.root.display());
    let problems = config.problems.iter().map(|it| it.replace(&name, "")).collect();
    let hooks = config.hooks.iter().map(|it| it.command().to_string()).collect();
    (hooks, problems)
}

#[test]
fn hooks_of_all_layers_add_up_with_ours_after_theirs() {
    let folder = Folder::new(&[
        (CLAUDE_LOCAL, br#"{"hooks": {"PreToolUse": [{"matcher": "", "hooks": [{"type": "command", "command": "c"}]}]}}"#),
        (CLAUDE, br#"{"model": "opus", "hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "a"}]}]}}"#),
        (LOCAL, b"[[hooks.PreToolUse]]\ncommand = \"d\"\n"),
        (PROJECT, b"[[hooks.PreToolUse]]\ncommand = \"b\"\n"),
    ]);
    let (hooks, problems) = hooks_of(&folder, Some(true));
    assert_eq!(hooks, ["a", "b", "c", "d"]);
    assert_eq!(problems, [""; 0]);
    let (hooks, problems) = hooks_of(&folder, Some(false));
    assert_eq!(hooks, [""; 0], "{problems:?}");
    assert!(
        problems[0].contains("not trusted, so its settings for hooks are not used"),
        "{problems:?}"
    );
}

#[test]
fn rules_of_other_programs_files_count_unless_they_are_not_imported() {
    let claude =
        br#"{"permissions": {"allow": ["Bash(a)"], "deny": ["Bash(b)"], "defaultMode": "plan"}}"#;
    let folder = Folder::new(&[(CLAUDE, claude)]);
    let config = load(&folder.sources(Some(true)));
    let found = rules(&config);
    for rule in ["project allow Bash(a)", "project deny Bash(b)"] {
        assert!(found.iter().any(|it| it == rule), "{rule} in {found:?}");
    }
    folder.write(PROJECT, b"imports = false\n");
    let found = rules(&load(&folder.sources(Some(true))));
    assert!(!found.iter().any(|it| it.contains("Bash(")), "{found:?}");
    // A folder that is not trusted cannot take the person's own rules away.
    let found = rules(&load(&folder.sources(Some(false))));
    assert!(found.iter().any(|it| it == "project deny Bash(b)"), "{found:?}");
    assert!(!found.iter().any(|it| it == "project allow Bash(a)"), "{found:?}");
}

#[test]
fn all_hooks_of_other_programs_files_can_be_disabled_in_one() {
    let folder = Folder::new(&[
        (CLAUDE, br#"{"hooks": {"Stop": [{"hooks": [{"command": "a"}]}]}}"#),
        (CLAUDE_LOCAL, br#"{"disableAllHooks": true}"#),
        (PROJECT, b"[[hooks.Stop]]\ncommand = \"b\"\n"),
    ]);
    assert_eq!(hooks_of(&folder, Some(true)), (vec!["b".to_string()], vec![]));
}

#[test]
fn what_is_wrong_in_other_programs_files_is_told_with_its_line() {
    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let folder = Folder::new(&[(CLAUDE, text.as_bytes())]);
        let (_, problems) = hooks_of(&folder, Some(true));
        assert_eq!(problems.len(), expected.len(), "{problems:?}");
        for (problem, expected) in problems.iter().zip(expected) {
            assert!(problem.starts_with(&format!("{CLAUDE}:{expected}")), "{problem}");
        }
    }
    check("{\n  \"hooks\": \n", &["3: this is not valid JSON"]);
    check("[]", &["1: this must be a JSON object"]);
    check("", &[]);
    check("{\"theme\": 3, \"env\": {\"A\": \"b\"}}", &[]);
    check(
        "{\n\"hooks\": {\n\"PreTolUse\": []}}",
        &["3: `hooks.PreTolUse` is no event known here; did you mean `PreToolUse`?"],
    );
    check("{\n\"hooks\": []}", &["2: `hooks` must be a table"]);
    check(
        "{\n\"permissions\": {\n\"allow\": \"Bash\"}}",
        &["3: `permissions.allow` must be a list"],
    );
    check(
        "{\n\"hooks\": {\n\"Stop\": [{\"hooks\": [{\"command\": 3}]}]}}",
        &["3: entry 1 of `hooks.Stop`: "],
    );
    check(
        "{\n\"hooks\": {\"Stop\": [{\n\"matcher\": \"(\", \"hooks\": [{\"command\": \"a\"}]}]}}",
        &["3: the matcher of a Stop hook"],
    );
}

#[test]
fn a_hook_with_something_wrong_in_it_is_told_with_its_line_and_not_used() {
    check_problems(
        "[[hooks.PreToolUse]]\ncommand = \"a\"\n\n[[hooks.PreToolUse]]\nmatchr = \"Bash\"\ncommand = \"b\"\n",
        &["5: unknown key `hooks.PreToolUse.1.matchr`; did you mean `matcher`?"],
    );
    check_problems(
        "[[hooks.PreToolUse]]\ntimeout = \"5\"\n",
        &["2: `hooks.PreToolUse.0.timeout` must be a whole number, not a text"],
    );
    check_problems(
        "[[hooks.PreToolUsed]]\ncommand = \"a\"\n",
        &["1: unknown key `hooks.PreToolUsed`; did you mean `PreToolUse`?"],
    );
    let (value, _) = check::file(
        Path::new("x"),
        "[[hooks.Stop]]\nmatchr = \"Bash\"\ncommand = \"b\"\n[[hooks.Stop]]\ncommand = \"c\"\n",
    );
    assert_eq!(value, json!({ "hooks": { "Stop": [{ "command": "c" }] } }));
}

#[test]
fn changed_hooks_of_other_programs_files_take_the_trust_away() {
    let folder = Folder::new(&[(CLAUDE, b"{}")]);
    trust::remember(&folder.state, &folder.root, Trust::Yes).unwrap();
    assert!(trust::is_trusted(&folder.sources(None)));
    for name in [CLAUDE, CLAUDE_LOCAL] {
        folder.write(name, b"{\"hooks\": {}}");
        assert!(!trust::is_trusted(&folder.sources(None)), "{name}");
        trust::remember(&folder.state, &folder.root, Trust::Yes).unwrap();
    }
}

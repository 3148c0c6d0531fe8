//! Which commands may leave the sandbox.

use super::*;

#[track_caller]
fn check_outside(mode: &str, rule_text: &str, script: &str, expected: &str) {
    let rules = rules(rule_text, &DESK.place);
    let policy = Policy {
        rules: &rules,
        mode: Mode::from_id(mode.trim_end_matches('?')).unwrap(),
        trusted: !mode.ends_with('?'),
        plan_file: None,
    };
    let verdict = decide_outside(script, &DESK.place, &policy);
    assert_eq!(word(&verdict), expected, "{mode} [{rule_text}] {script}: {verdict:?}");
}

#[test]
fn no_mode_lets_a_command_out_and_plan_never_does() {
    for mode in ["ask", "edit", "auto"] {
        check_outside(mode, "allow Bash", "make", "ask");
    }
    check_outside("plan", "allow Unsandboxed", "make", "deny");
}

#[test]
fn rules_of_their_own_let_commands_out() {
    check_outside("ask", "allow Unsandboxed", "make", "allow");
    check_outside("ask", "allow Unsandboxed(make:*)", "make install", "allow");
    check_outside("ask", "allow Unsandboxed(make:*)", "make install && rm x", "ask");
    check_outside(
        "ask",
        "allow Unsandboxed(make:*); allow Unsandboxed(rm x)",
        "make; rm x",
        "allow",
    );
    check_outside("ask", "allow Unsandboxed(make:*)", "make $(rm x)", "ask");
    check_outside("auto", "ask Unsandboxed(make:*); allow Unsandboxed", "make", "ask");
    check_outside("auto", "deny Unsandboxed(rm:*); allow Unsandboxed", "make; rm x", "deny");
    check_outside("auto", "deny Unsandboxed", "make", "deny");
}

#[test]
fn in_an_untrusted_folder_only_what_the_session_allowed_counts() {
    check_outside("auto?", "allow Unsandboxed", "make", "ask");
    check_outside("auto?", "allow@session Unsandboxed(make:*)", "make", "allow");
    check_outside("auto?", "deny@project Unsandboxed", "make", "deny");
}

#[test]
fn they_let_no_command_run() {
    check("ask", "allow Unsandboxed", &[("run make", "ask"), ("write out/x", "ask")]);
    check("auto", "deny Unsandboxed", &[("run make", "allow")]);
}

#[test]
fn interpreters_are_not_let_out_for_good() {
    let policy =
        Policy { rules: &Rules::default(), mode: Mode::Auto, trusted: true, plan_file: None };
    let suggested = |script: &str| match decide_outside(script, &DESK.place, &policy) {
        Verdict::Ask { suggestion, .. } => suggestion.into_iter().next(),
        other => panic!("{other:?}"),
    };
    assert_eq!(suggested("git push origin").as_deref(), Some("Unsandboxed(git push:*)"));
    for script in ["python3 x.py", "sh -c make", "sudo make", "make; rm x"] {
        assert_eq!(suggested(script), None, "{script}");
    }
}

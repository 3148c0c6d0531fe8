use proptest::prelude::*;
use serde_json::json;

use super::*;

fn ran(end: End, stdout: &str, stderr: &str) -> Ran {
    Ran { end, stdout: stdout.into(), stderr: stderr.into() }
}

fn deny(reason: &str) -> Option<Verdict> {
    Some(Verdict::Deny { reason: reason.into() })
}

#[track_caller]
fn check(event: Event, ran: &Ran, expected: Answer) {
    assert_eq!(read(event, Automation::default(), ran), expected);
}

#[track_caller]
fn prints(event: Event, stdout: &serde_json::Value, expected: Answer) {
    check(event, &ran(End::Code(0), &stdout.to_string(), ""), expected);
}

#[track_caller]
fn fails(end: End, stdout: &str, stderr: &str, fault: &str) {
    let expected = Answer { fault: Some(fault.into()), ..Answer::default() };
    check(Event::PreToolUse, &ran(end, stdout, stderr), expected);
}

#[test]
fn silence_and_plain_words_decide_nothing() {
    check(Event::PreToolUse, &ran(End::Code(0), "", ""), Answer::default());
    check(Event::PreToolUse, &ran(End::Code(0), "all is well\n", "noise"), Answer::default());
    check(Event::PreToolUse, &ran(End::Cancelled, "{", "x"), Answer::default());
}

#[test]
fn plain_words_are_context_of_prompts_and_sessions_only() {
    let context = Answer { context: vec!["today is a holiday".into()], ..Answer::default() };
    for event in [Event::UserPromptSubmit, Event::SessionStart] {
        check(event, &ran(End::Code(0), "today is a holiday\n", ""), context.clone());
    }
    check(Event::PostToolUse, &ran(End::Code(0), "today is a holiday\n", ""), Answer::default());
}

#[test]
fn exit_code_2_refuses_where_something_is_judged_and_is_told_elsewhere() {
    for event in [Event::PreToolUse, Event::PermissionRequest, Event::UserPromptSubmit, Event::Stop]
    {
        let expected = Answer { verdict: deny("not here"), ..Answer::default() };
        check(event, &ran(End::Code(2), "{\"continue\":", "not here\n"), expected);
    }
    for event in [Event::PostToolUse, Event::PostToolUseFailure, Event::ToolBatchComplete] {
        let expected = Answer { context: vec!["look again".into()], ..Answer::default() };
        check(event, &ran(End::Code(2), "", "look again"), expected);
    }
    let expected = Answer { fault: Some("says: no".into()), ..Answer::default() };
    check(Event::Notification, &ran(End::Code(2), "", "no"), expected);
    let expected = Answer { verdict: deny("it gave no reason"), ..Answer::default() };
    check(Event::PreToolUse, &ran(End::Code(2), "", " \n"), expected);
}

#[test]
fn every_other_end_is_a_fault_that_decides_nothing() {
    fails(End::Code(1), "", "\nno such thing\nmore", "ended with exit code 1: no such thing");
    fails(End::Code(127), "", "", "ended with exit code 127");
    fails(End::Signal("SIGSEGV".into()), "", "", "was ended by SIGSEGV");
    fails(End::TooLong(3), "", "", "took longer than 3 s and was stopped");
    fails(End::NotStarted("gone".into()), "", "", "did not start: gone");
}

#[test]
fn json_decides() {
    let specific = |decision: &str| {
        json!({ "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": "because",
        } })
    };
    let answer = |verdict| Answer { verdict: Some(verdict), ..Answer::default() };
    prints(Event::PreToolUse, &specific("allow"), answer(Verdict::Allow));
    prints(Event::PreToolUse, &specific("ask"), answer(Verdict::Ask { reason: "because".into() }));
    prints(
        Event::PreToolUse,
        &specific("deny"),
        answer(Verdict::Deny { reason: "because".into() }),
    );
    let block = json!({ "decision": "block", "reason": "because" });
    prints(Event::Stop, &block, answer(Verdict::Deny { reason: "because".into() }));
    let context = Answer { context: vec!["because".into()], ..Answer::default() };
    prints(Event::PostToolUse, &block, context);
    prints(Event::PreToolUse, &json!({ "decision": "approve" }), answer(Verdict::Allow));
    let fault =
        Answer { fault: Some("decided `maybe`, which is no decision".into()), ..Answer::default() };
    prints(Event::PreToolUse, &specific("maybe"), fault);
}

#[test]
fn json_changes_the_input_adds_context_and_stops() {
    let printed = json!({
        "continue": false,
        "stopReason": "enough",
        "systemMessage": "for the person",
        "suppressOutput": true,
        "hookSpecificOutput": {
            "updatedInput": { "command": "ls" },
            "additionalContext": "for the model",
        },
    });
    let expected = Answer {
        input: Some(json!({ "command": "ls" })),
        context: vec!["for the model".into()],
        messages: vec!["for the person".into()],
        stop: Some("enough".into()),
        ..Answer::default()
    };
    prints(Event::PreToolUse, &printed, expected);
}

#[test]
fn a_permission_request_is_answered_by_its_behavior() {
    let printed = json!({ "hookSpecificOutput": { "decision": {
        "behavior": "allow", "updatedInput": { "command": "ls" } } } });
    let expected = Answer {
        verdict: Some(Verdict::Allow),
        input: Some(json!({ "command": "ls" })),
        ..Answer::default()
    };
    prints(Event::PermissionRequest, &printed, expected);
    let printed = json!({ "hookSpecificOutput": { "decision": {
        "behavior": "deny", "message": "no", "interrupt": true } } });
    let expected =
        Answer { verdict: deny("no"), stop: Some("it gave no reason".into()), ..Answer::default() };
    prints(Event::PermissionRequest, &printed, expected);
}

#[test]
fn garbage_is_a_fault() {
    for text in ["{", "{\"continue\": 3}", "{\"hookSpecificOutput\": [\u{fffd}]}", "{}{}"] {
        let answer = read(Event::PreToolUse, Automation::default(), &ran(End::Code(0), text, ""));
        let fault = answer.fault.clone().unwrap_or_default();
        assert!(fault.starts_with("printed JSON that cannot be read: "), "{text}: {answer:?}");
        assert_eq!((answer.verdict, answer.input), (None, None), "{text}");
    }
}

#[test]
fn what_a_batch_check_found_is_told_as_the_settings_say() {
    let told = |result, stdout: &str| {
        let answer = read(Event::ToolBatchComplete, result, &ran(End::Code(0), stdout, ""));
        (answer.context, answer.messages)
    };
    let failed = json!({ "status": "failed", "summary": "2 errors", "body": "a\nb" }).to_string();
    let passed = json!({ "status": "passed", "summary": "fine" }).to_string();
    let text = |it: &str| vec![it.to_string()];
    assert_eq!(told(Automation::AppendOnFailure, &failed), (text("2 errors\na\nb"), vec![]));
    assert_eq!(told(Automation::AppendOnFailure, &passed), (vec![], vec![]));
    assert_eq!(told(Automation::AlwaysAppend, &passed), (text("fine"), vec![]));
    assert_eq!(told(Automation::NotifyOnly, &failed), (vec![], text("2 errors")));
    assert_eq!(told(Automation::Ignore, &failed), (vec![], vec![]));
    assert_eq!(told(Automation::AlwaysAppend, "plain words"), (text("plain words"), vec![]));
}

proptest! {
    #[test]
    fn whatever_is_printed_gives_a_bounded_answer(
        code in 0..4_i32,
        start in prop_oneof![Just(""), Just("{"), Just("{\"reason\":\""), Just("{\"systemMessage\":\"")],
        text in ".{0,40}",
        times in 1..2_000_usize,
        end in prop_oneof![Just(""), Just("}"), Just("\"}")],
    ) {
        let stdout = format!("{start}{}{end}", text.repeat(times));
        for event in [Event::PreToolUse, Event::PostToolUse, Event::UserPromptSubmit, Event::ToolBatchComplete] {
            let answer = read(event, Automation::AlwaysAppend, &ran(End::Code(code), &stdout, &stdout));
            let texts = answer.context.iter().chain(&answer.messages).chain(&answer.fault).chain(&answer.stop);
            for text in texts {
                prop_assert!(text.chars().count() < 3 * CONTEXT, "{} characters", text.chars().count());
            }
        }
    }
}

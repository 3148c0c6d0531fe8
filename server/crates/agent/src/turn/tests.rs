use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;
use expect_test::{Expect, expect};
use llm::EventStream;
use serde_json::{Value, json};

use super::*;
use crate::session::Delivery;
use crate::settings::Mode;
use crate::testing::{Desk, calls, one};

#[track_caller]
fn check(actual: &str, expected: Expect) {
    expected.assert_eq(actual);
}

fn read(path: &str) -> (&'static str, Value) {
    ("Read", json!({ "file_path": path }))
}

fn write(path: &str, content: &str) -> (&'static str, Value) {
    ("Write", json!({ "file_path": path, "content": content }))
}

fn edit(path: &str, old: &str, new: &str) -> (&'static str, Value) {
    ("Edit", json!({ "file_path": path, "old_string": old, "new_string": new }))
}

fn bash(command: &str) -> (&'static str, Value) {
    ("Bash", json!({ "command": command }))
}

#[tokio::test]
async fn a_whole_turn() {
    let desk = Desk::new(
        Mode::Edit,
        json!([
            { "thought": "hm", "text": "I look.", "calls": [{ "name": "Read", "input": { "path": "a.txt" } }] },
            { "text": "I change it.", "calls": [{ "name": "Edit", "input": { "file_path": "a.txt", "old_string": "two", "new_string": "2" } }] },
            { "text": "Done." }
        ]),
    );
    desk.turn("make two 2").await;
    assert_eq!(desk.read("a.txt"), "one\n2\nthree\n");
    check(
        &desk.conversation(),
        expect![[r#"
        SHOWN
        person: make two 2
        (session_info_update)
        thought: hm
        agent: I look.
        card 1: Read a.txt — completed
        agent: I change it.
        card 2: Edit a.txt +1 −1 — completed
        agent: Done.
        HELD
        user: (environment)
        user: make two 2
        model: (thought)
        model: I look.
        model: Read {"path":"a.txt"}
        user: ✓      1	one
             2	two
             3	three
        [lines 1-3 of 3]
        [note: `path` was taken as `file_path`]
        model: I change it.
        model: Edit {"file_path":"a.txt","old_string":"two","new_string":"2"}
        user: ✓ Changed a.txt (+1 −1).
        @@ -1,3 +1,3 @@
         one
        -two
        +2
         three

        model: Done.
    "#]],
    );
}

#[tokio::test]
async fn what_is_no_call_is_told_and_the_turn_goes_on() {
    let desk = Desk::new(
        Mode::Auto,
        json!([
            calls(&[
                ("Raed", json!({ "file_path": "a.txt" })),
                ("Read", json!("{\"file_path\": ")),
                ("Read", json!({})),
                ("Edit", json!({ "file_path": "a.txt", "old_string": "x", "new_string": "x" })),
                ("Bash", json!({ "command": " " })),
            ]),
            { "text": "done" }
        ]),
    );
    desk.turn("go").await;
    assert_eq!(desk.statuses(), ["failed"; 5]);
    check(
        &desk.results().join("\n"),
        expect![[r#"
        ✗ There is no tool `Raed`. The nearest names are Read, Bash, Grep.
        ✗ The arguments of Read are not valid JSON (EOF while parsing a value at line 1 column 14). Send the call again with valid JSON.
        ✗ The arguments do not match the schema of Read: args.file_path is required. Send the call again with these corrected.
        ✗ old_string and new_string are the same, so there is nothing to change.
        ✗ args.command is empty. Give the command to run."#]],
    );
}

#[tokio::test]
async fn a_rejected_call_hands_on_the_words_and_a_denied_one_names_the_rule() {
    let desk = Desk::with_rules(
        Mode::Ask,
        "deny Write(kept/**)",
        json!([calls(&[write("b.txt", "x"), write("c.txt", "x"), write("kept/a", "x")]), { "text": "done" }]),
    );
    desk.answer("reject_once", json!({ "feedback": "name it d.txt" }));
    desk.answer("reject_once", json!({}));
    desk.turn("go").await;
    assert_eq!((desk.read("b.txt").as_str(), desk.stop().as_str()), ("(none)", "end_turn"));
    check(
        &desk.results().join("\n"),
        expect![[r#"
        ✗ rejected by the person, who says: name it d.txt
        ✗ rejected by the person. Nothing was done. Ask what they want instead, or go on without it.
        ✗ denied by the rule `Write(kept/**)`. Do not try another way; tell the person if it is needed."#]],
    );
}

#[tokio::test]
async fn what_is_always_allowed_is_not_asked_again() {
    let desk = Desk::new(
        Mode::Ask,
        json!([calls(&[write("b.txt", "1\n"), edit("b.txt", "1", "2"), write("c.txt", "x")]), { "text": "done" }]),
    );
    desk.answer("allow_always", json!({}));
    desk.answer("reject_always", json!({ "rule": "Edit(/c.txt)" }));
    desk.turn("go").await;
    assert_eq!(desk.editor.asked.lock().unwrap().len(), 2);
    assert_eq!(desk.read("b.txt"), "2\n");
    let rules: Vec<String> = desk
        .session
        .shared
        .remembered()
        .iter()
        .map(|it| format!("{} {it}", it.decision.id()))
        .collect();
    assert_eq!(rules, ["allow Edit(/b.txt)", "deny Edit(/c.txt)"]);
}

#[tokio::test]
async fn with_nobody_to_ask_the_rule_is_named() {
    let desk = Desk::new(Mode::Ask, one("Bash", json!({ "command": "cargo test" })));
    desk.nobody_answers();
    check(
        &desk.result().await,
        expect![
            "✗ denied: this needs permission and nobody is there to ask. Add the permission rule `Bash(cargo test:*)`, or run in another mode."
        ],
    );
}

#[tokio::test]
async fn plan_mode_changes_nothing() {
    let desk = Desk::new(
        Mode::Plan,
        json!([calls(&[bash("ls"), bash("touch made"), write("b.txt", "x"), bash("echo x > made"), read("a.txt")]), { "text": "done" }]),
    );
    desk.turn("go").await;
    assert_eq!((desk.read("made").as_str(), desk.read("b.txt").as_str()), ("(none)", "(none)"));
    assert!(desk.editor.asked.lock().unwrap().is_empty());
    check(
        &desk.results().join("\n"),
        expect![[r#"
        ✓ a.txt
        ✗ denied: plan mode is active and this command may change something. Use the reading tools, or commands that only read.
        ✗ denied: plan mode is active, nothing is changed. Finish the plan; the person switches the mode.
        ✗ denied: plan mode is active, nothing is changed. Finish the plan; the person switches the mode.
        ✓      1	one
             2	two
             3	three
        [lines 1-3 of 3]"#]],
    );
}

#[tokio::test]
async fn a_changed_input_is_judged_again() {
    let desk = Desk::with_rules(
        Mode::Ask,
        "deny Edit(kept/**)",
        json!([calls(&[write("b.txt", "x"), write("c.txt", "x"), write("d.txt", "x")]), { "text": "done" }]),
    );
    let input = |path: &str| json!({ "input": { "file_path": path, "content": "y" }, "feedback": "better" });
    desk.answer("allow_once", input("kept/a"));
    desk.answer("allow_once", input("e.txt"));
    desk.answer("allow_once", json!({ "input": { "file_path": 3, "x": 1 } }));
    desk.turn("go").await;
    assert_eq!((desk.read("kept/a").as_str(), desk.read("e.txt").as_str()), ("(none)", "y"));
    check(
        &desk.results().join("\n"),
        expect![[r#"
            ✗ denied by the rule `Edit(kept/**)`. Do not try another way; tell the person if it is needed.
            ✓ Created e.txt (1 line).
            @@ -0,0 +1 @@
            +y
            \ No newline at end of file

            [note: the person changed the input to {"file_path":"e.txt","content":"y"} and says: better]
            ✗ The arguments do not match the schema of Write: args.content is required; args.x is not allowed. Send the call again with these corrected."#]],
    );
}

#[tokio::test]
async fn a_panic_in_a_tool_is_a_failed_card() {
    let desk = Desk::new(
        Mode::Edit,
        json!([calls(&[write("b.txt", "x"), write("c.txt", "x")]), { "text": "done" }]),
    );
    *desk.editor.before_apply.lock().unwrap() = Some(Box::new(|_| panic!("a fault")));
    desk.turn("go").await;
    assert_eq!(desk.statuses(), ["failed", "completed"]);
    assert_eq!(desk.read("c.txt"), "x");
    check(
        &desk.results().join("\n"),
        expect![[r#"
            ✗ The tool crashed; this is a fault of copydesk and was logged. Try another way.
            ✓ Created c.txt (1 line).
            @@ -0,0 +1 @@
            +x
            \ No newline at end of file
        "#]],
    );
}

/// After a cancellation: the card and the turn are cancelled, each call has its one result, and no
/// more was asked of the model.
#[track_caller]
fn check_cancelled(desk: &Desk, statuses: &[&str]) {
    assert_eq!(desk.stop(), "cancelled");
    assert_eq!(desk.statuses(), statuses);
    let history = desk.session.shared.history();
    let count = |wanted: fn(&Part) -> bool| {
        history.iter().flat_map(|it| &it.parts).filter(|it| wanted(it)).count()
    };
    let made = count(|it| matches!(it, Part::ToolCall { .. }));
    assert_eq!(made, count(|it| matches!(it, Part::ToolResult { .. })));
    assert!(!format!("{history:?}").contains("done"));
}

#[tokio::test]
async fn cancelled_while_asking() {
    let desk = Desk::new(
        Mode::Ask,
        json!([calls(&[write("b.txt", "x"), read("a.txt")]), { "text": "done" }]),
    );
    desk.prompt("go", Delivery::Queue);
    desk.asked(1).await;
    desk.prompt("later", Delivery::Queue);
    desk.session.cancel_turn();
    desk.idle(1).await;
    check_cancelled(&desk, &["cancelled", "cancelled"]);
    assert_eq!(desk.read("b.txt"), "(none)");
    assert!(!format!("{:?}", desk.session.shared.history()).contains("later"));
}

#[tokio::test]
async fn cancelled_while_the_model_speaks() {
    let long = "word ".repeat(4_000);
    let desk = Desk::new(Mode::Ask, json!([{ "text": long, "pace": 200 }, { "text": "done" }]));
    desk.prompt("go", Delivery::Queue);
    let speaks = |it: &SessionUpdate| matches!(it, SessionUpdate::AgentMessageChunk(_));
    desk.editor.until(|it| it.updates.lock().unwrap().iter().any(speaks)).await;
    desk.session.cancel_turn();
    desk.idle(1).await;
    check_cancelled(&desk, &[]);
    // What was said is kept.
    let last = desk.session.shared.history().pop().unwrap();
    assert!(
        matches!(&last.parts[..], [Part::Text { text }] if text.starts_with("word")),
        "{last:?}"
    );
}

#[tokio::test]
async fn cancelled_while_a_command_runs() {
    let desk = Desk::new(
        Mode::Auto,
        json!([calls(&[bash("echo begun; sleep 300"), bash("ls")]), { "text": "done" }]),
    );
    desk.prompt("go", Delivery::Queue);
    let prints = |it: &SessionUpdate| matches!(it, SessionUpdate::TerminalOutputChunk(_));
    desk.editor.until(|it| it.updates.lock().unwrap().iter().any(prints)).await;
    desk.session.cancel_turn();
    desk.idle(1).await;
    check_cancelled(&desk, &["cancelled", "cancelled"]);
}

#[tokio::test]
async fn what_a_cancelled_turn_was_not_told_yet_is_told_with_the_next_request() {
    let steps = json!([calls(&[bash("echo begun; sleep 300")]), { "text": "done" }]);
    let desk = Desk::new(Mode::Auto, steps);
    desk.prompt("go", Delivery::Queue);
    let prints = |it: &SessionUpdate| matches!(it, SessionUpdate::TerminalOutputChunk(_));
    desk.editor.until(|it| it.updates.lock().unwrap().iter().any(prints)).await;
    desk.session.tell("a job ended".to_owned());
    desk.session.cancel_turn();
    desk.idle(1).await;
    let told = || format!("{:?}", desk.session.shared.history()).matches("a job ended").count();
    assert_eq!(told(), 0);
    desk.turn("again").await;
    assert_eq!(told(), 1);
}

#[tokio::test]
async fn one_call_is_cancelled_and_the_turn_goes_on() {
    let desk = Desk::new(Mode::Auto, one("Bash", json!({ "command": "echo begun; sleep 300" })));
    desk.prompt("go", Delivery::Queue);
    let prints = |it: &SessionUpdate| matches!(it, SessionUpdate::TerminalOutputChunk(_));
    desk.editor.until(|it| it.updates.lock().unwrap().iter().any(prints)).await;
    let history = desk.session.shared.transcript.history();
    let card = history.iter().find_map(|it| match it {
        SessionUpdate::ToolCallUpdate(card) => Some(card.tool_call_id.to_string()),
        _ => None,
    });
    assert!(desk.session.shared.calls.cancel(&card.unwrap()));
    desk.idle(1).await;
    assert_eq!(
        (desk.stop().as_str(), desk.statuses()),
        ("end_turn", vec!["cancelled".to_string()])
    );
}

#[tokio::test]
async fn reads_run_beside_each_other_and_answer_in_order() {
    let desk = Desk::new(
        Mode::Edit,
        json!([
            calls(&[read("a.txt"), read("none.txt"), write("b.txt", "new\n"), read("b.txt"), ("LS", json!({}))]),
            { "text": "done" }
        ]),
    );
    desk.turn("go").await;
    let heads: Vec<String> =
        desk.results().iter().map(|it| it.chars().take(20).collect()).collect();
    check(
        &heads.join("\n"),
        expect![[r#"
        ✓      1	one
             2	
        ✗ /w/none.txt does n
        ✓ Created b.txt (1 l
        ✓      1	new
        [lines 
        ✓ /w/
          a.txt (14 B)"#]],
    );
}

#[tokio::test]
async fn steering_comes_with_the_next_request_and_the_queue_after_the_turn() {
    let desk = Desk::new(
        Mode::Ask,
        json!([
            calls(&[write("b.txt", "x")]),
            { "text": "heard", "expect": "steered" },
            { "text": "heard too", "expect": "queued" },
        ]),
    );
    desk.prompt("go", Delivery::Queue);
    desk.asked(1).await;
    desk.prompt("queued", Delivery::Queue);
    desk.prompt("steered", Delivery::Steer);
    desk.answer("allow_once", json!({}));
    desk.idle(1).await;
    assert!(!desk.session.shared.is_busy());
    check(
        &desk.conversation(),
        expect![[r#"
            SHOWN
            person: go
            (session_info_update)
            card 1: Write b.txt +1 — completed
            person: queued
            person: steered
            agent: heard
            agent: heard too
            HELD
            user: (environment)
            user: go
            model: Write {"file_path":"b.txt","content":"x"}
            user: ✓ Created b.txt (1 line).
            @@ -0,0 +1 @@
            +x
            \ No newline at end of file

            user: steered
            model: heard
            user: queued
            model: heard too
        "#]],
    );
}

#[tokio::test]
async fn an_interrupting_prompt_ends_the_turn_and_begins_its_own() {
    let desk = Desk::new(
        Mode::Ask,
        json!([calls(&[write("b.txt", "x")]), { "text": "second", "expect": "stop" }]),
    );
    desk.prompt("go", Delivery::Queue);
    desk.asked(1).await;
    desk.prompt("stop", Delivery::Interrupt);
    desk.idle(1).await;
    assert_eq!(
        (desk.stop().as_str(), desk.statuses()),
        ("end_turn", vec!["cancelled".to_string()])
    );
    assert!(desk.conversation().contains("agent: second"));
}

#[tokio::test]
async fn without_a_model_the_turn_says_what_to_set() {
    let desk = Desk::new(Mode::Ask, json!([]));
    desk.session.shared.set_model("nowhere/x".into());
    desk.turn("go").await;
    assert_eq!(desk.stop(), "error");
    let shown = format!("{:?}", desk.editor.updates.lock().unwrap());
    assert!(shown.contains("the provider `nowhere`, which is not configured"), "{shown}");
}

/// A model that says exactly these events; an error ends its stream.
struct Scripted(Mutex<VecDeque<Vec<Result<Event, llm::Error>>>>);

#[async_trait]
impl llm::Provider for Scripted {
    async fn stream(
        &self,
        _request: llm::Request,
        _cancel: CancellationToken,
    ) -> Result<EventStream, llm::Error> {
        let events = self.0.lock().unwrap().pop_front().unwrap_or_default();
        Ok(Box::pin(futures::stream::iter(events)))
    }

    fn name(&self) -> &str {
        "scripted"
    }

    async fn models(&self) -> Result<Vec<String>, llm::Error> {
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn a_stream_that_breaks_off_keeps_what_was_said_and_ends_the_card() {
    let desk = Desk::new(Mode::Ask, json!([]));
    let events = vec![
        Ok(Event::Text("I write".into())),
        Ok(Event::CallStart { index: 0, id: "x".into(), name: "Write".into() }),
        Ok(Event::CallDelta { index: 0, json: "{\"file_path\": \"".into() }),
        Err(llm::Error::Cut),
    ];
    let chosen = Chosen {
        dialect: &crate::dialects::CANONICAL,
        label: "scripted/x".into(),
        provider: Arc::new(Scripted(Mutex::new([events].into()))),
        model: "x".into(),
        window: 1_000,
        max_output: None,
        sees: crate::tool::Sees { images: false, video: false },
        reasoning: None,
    };
    let prompt = Prompt {
        id: "p".into(),
        content: vec!["go".to_string().into()],
        delivery: Delivery::Queue,
        passages: Vec::new(),
    };
    begin(&desk.session.shared, &prompt, Vec::new(), &chosen);
    let stop = converse(&desk.session.shared, &chosen, &CancellationToken::new()).await;
    assert!(matches!(stop, StopReason::Error(_)), "{stop:?}");
    assert_eq!(desk.statuses(), ["cancelled"]);
    check(
        &desk.conversation(),
        expect![[r#"
            SHOWN
            agent: I write
            card 1: Write — cancelled
            HELD
            user: (environment)
            user: go
            model: I write
        "#]],
    );
}

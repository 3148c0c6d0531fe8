//! Commands in a session: what an exit code means, where the next one starts, what goes on behind.

use serde_json::{Value, json};

use crate::session::Delivery;
use crate::settings::{DialectName, Mode};
use crate::testing::{Desk, calls};

fn bash(command: &str) -> (&'static str, Value) {
    ("Bash", json!({ "command": command }))
}

/// The results of these commands, one after the other.
async fn results(commands: &[(&str, Value)]) -> (Desk, Vec<String>) {
    let desk = Desk::new(Mode::Auto, json!([calls(commands), { "text": "done" }]));
    desk.write("sub/x.txt", "x\n");
    desk.turn("go").await;
    let results = desk.results();
    (desk, results)
}

#[track_caller]
fn check(results: &[String], expected: &[&str]) {
    let heads: Vec<&str> = results
        .iter()
        .zip(expected)
        .map(|(it, wanted)| {
            if wanted.ends_with('…') {
                &it[..wanted.len() - '…'.len_utf8()]
            } else {
                it.as_str()
            }
        })
        .collect();
    let wanted: Vec<&str> = expected.iter().map(|it| it.trim_end_matches('…')).collect();
    assert_eq!((heads, results.len()), (wanted, expected.len()));
}

#[tokio::test]
async fn an_exit_code_is_a_failure_or_an_answer() {
    let (_desk, results) = results(&[
        bash("grep nothing a.txt"),
        bash("grep x missing.txt"),
        bash("false"),
        bash("cat a.txt | grep nothing"),
        bash("test -e missing.txt"),
        bash("exit 3"),
        bash("true"),
        bash("kill -9 $$"),
        bash("echo out; echo err >&2"),
        bash("read x; echo \"[$x]\""),
    ])
    .await;
    check(
        &results,
        &[
            "✓ (no output)\n[exit code 1: no match, or different]",
            "✗ grep: missing.txt: No such file or directory\n[exit code 2]",
            "✗ [exit code 1]",
            "✓ (no output)\n[exit code 1: no match, or different]",
            "✓ (no output)\n[exit code 1: no match, or different]",
            "✗ [exit code 3]",
            "✓ (no output)",
            "✗ [ended by signal …",
            "✓ out\nerr",
            "✓ []",
        ],
    );
}

#[tokio::test]
async fn the_folder_carries_over_inside_the_workspace_only() {
    let (_desk, results) = results(&[
        bash("cd sub"),
        bash("pwd"),
        bash("cat x.txt"),
        bash("cd /"),
        bash("pwd"),
        ("Bash", json!({ "command": "pwd", "cwd": ".." })),
        bash("pwd"),
    ])
    .await;
    check(
        &results,
        &[
            "✓ (no output)\n[working directory: /w/sub]",
            "✓ /w/sub",
            "✓ x",
            "✓ (no output)\n[/ lies outside the workspace; the working directory is /w/sub again]",
            "✓ /w/sub",
            "✓ /w",
            "✓ /w/sub",
        ],
    );
}

#[tokio::test]
async fn a_command_that_waits_for_keys_is_refused() {
    let (_desk, results) = results(&[bash("vim a.txt")]).await;
    assert!(results[0].starts_with("✗ Not run: "), "{results:?}");
}

#[tokio::test]
async fn a_command_past_its_timeout_goes_on_and_its_end_is_told_once() {
    let go = "go.txt";
    let slow = json!({ "command": format!("echo begun; while [ ! -e {go} ]; do sleep 0.05; done; echo ended"), "timeout": 300 });
    let desk = Desk::new(
        Mode::Auto,
        json!([calls(&[("Bash", slow)]), { "text": "done" }, { "text": "told" }]),
    );
    desk.turn("go").await;
    let results = desk.results();
    assert!(
        results[0].starts_with("✓ begun\n[background job job-1] its timeout passed"),
        "{results:?}"
    );
    desk.write(go, "");
    desk.idle(2).await;
    let told = format!("{:?}", desk.session.shared.history());
    assert_eq!(told.matches("<job-ended>").count(), 1, "{told}");
    assert!(told.contains("Background job job-1 completed, exit code 0"), "{told}");
}

#[tokio::test]
async fn kimi_is_told_of_tasks_in_its_own_words() {
    let start = json!({ "command": "sleep 300", "run_in_background": true, "description": "x" });
    let look = |more: Value| {
        let mut input = json!({ "task_id": "job-1" });
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        ("TaskOutput", input)
    };
    let stop = ("TaskStop", json!({ "task_id": "job-1", "reason": "not needed" }));
    let steps = json!([
        calls(&[("Bash", start)]),
        calls(&[look(json!({}))]),
        calls(&[look(json!({ "block": true, "timeout": 1 }))]),
        calls(&[stop]),
        calls(&[look(json!({ "block": true, "timeout": 30 }))]),
        { "text": "done" }
    ]);
    let desk = Desk::configured(Mode::Auto, "", steps, |it| it.dialect = Some(DialectName::Kimi));
    desk.turn("go").await;
    let results = desk.results();
    let first = |nth: usize| results[nth].lines().next().unwrap();
    assert_eq!(first(1), "✓ retrieval_status: not_ready", "{results:?}");
    assert_eq!(first(2), "✓ retrieval_status: timeout", "{results:?}");
    assert_eq!(first(4), "✓ retrieval_status: success", "{results:?}");
    assert!(results[4].contains("\nterminal_reason: stopped\n"), "{results:?}");
    assert!(results[4].contains("\nstop_reason: not needed\n"), "{results:?}");
}

#[tokio::test]
async fn a_background_command_is_listed_read_and_stopped() {
    let start = json!({ "command": "echo begun; sleep 300", "run_in_background": true, "description": "a server" });
    let desk = Desk::new(
        Mode::Auto,
        json!([
            calls(&[
                ("Bash", start),
                ("JobOutput", json!({ "job_id": "job-1", "wait": "output" })),
                ("JobList", json!({})),
                ("JobKill", json!({ "job_id": "job-1" })),
                ("JobOutput", json!({ "job_id": "job-9" })),
            ]),
            { "text": "done" }
        ]),
    );
    desk.prompt("go", Delivery::Queue);
    desk.idle(1).await;
    let results = desk.results();
    assert!(results[0].starts_with("✓ [background job job-1] started."), "{results:?}");
    assert!(results[1].contains("begun") && results[1].contains("running"), "{results:?}");
    assert!(results[2].contains("job-1") && results[2].contains("a server"), "{results:?}");
    assert!(results[3].starts_with("✓") && results[3].contains("job-1"), "{results:?}");
    assert!(results[4].starts_with("✗"), "{results:?}");
}

//! Order and liveness: nothing overtakes, and nothing that waits for a person holds up anything else.

use serde_json::json;

use crate::editor::{ALLOW, Answer, Editor, REJECT};
use crate::workspace::Workspace;

fn desk(files: &[(&str, &str)]) -> (Workspace, Editor) {
    let workspace = Workspace::new(files);
    let editor = Editor::open(&workspace, &json!({}));
    (workspace, editor)
}

#[test]
fn two_thousand_changes_are_all_seen_by_the_read_after_them() {
    let (_workspace, editor) = desk(&[("a.txt", "end\n")]);
    editor.open_file("a.txt");
    for number in 0..2000 {
        editor.type_before("a.txt", "end", &format!("{number}\n"));
    }
    let read = editor.tool("Read", json!({ "file_path": "a.txt", "offset": 1995 })).ok();
    for number in 1994..2000 {
        assert!(
            read.contains(&format!("\t{number}\n")) || read.contains(&format!("→{number}\n")),
            "{number} is missing: {read}"
        );
    }
    assert!(read.contains("end"), "{read}");
}

#[test]
fn no_request_overtakes_the_change_before_it() {
    let (_workspace, editor) = desk(&[("a.txt", "now 0.\n")]);
    editor.open_file("a.txt");
    let session = editor.session();
    let mut asked = Vec::new();
    for number in 0..200 {
        editor.retype("a.txt", &format!("now {number}."), &format!("now {}.", number + 1));
        asked.push((
            session.begin_tool("Grep", json!({ "pattern": "now", "output_mode": "content" })),
            number + 1,
        ));
    }
    for (request, number) in asked {
        let text = session.finish_tool(request).ok();
        let seen = text
            .split("now ")
            .nth(1)
            .and_then(|t| t.split('.').next())
            .and_then(|n| n.parse::<u32>().ok());
        // It may see more than was typed before it, never less.
        assert!(seen.is_some_and(|seen| seen >= number), "at least {number}: {text}");
    }
}

#[track_caller]
fn pending_prompts_hold_up_nothing(count: usize) {
    let (_workspace, editor) = desk(&[("a.txt", "one\n")]);
    editor.open_file("a.txt");
    editor.permit(Answer::Hold);
    let session = editor.session();
    let calls: Vec<_> = (0..count)
        .map(|n| {
            session.begin_tool(
                "Write",
                json!({ "file_path": format!("new-{n}.txt"), "content": "x\n" }),
            )
        })
        .collect();
    editor.wait("every permission request", |s| (s.held.len() == count).then_some(()));
    editor.retype("a.txt", "one", "two");
    let read = editor.tool("Read", json!({ "file_path": "a.txt" })).ok();
    assert!(read.contains("two"), "{read}");
    assert!(editor.request("copydesk/status", json!({}))["version"].is_string());
    assert!(calls.iter().all(|call| !editor.answered(*call)));
    for _ in &calls {
        editor.answer(&ALLOW);
    }
    for call in calls {
        session.finish_tool(call).ok();
    }
    assert!((0..count).all(|n| editor.root().join(format!("new-{n}.txt")).exists()));
}

#[test]
fn four_pending_prompts_hold_up_nothing() {
    pending_prompts_hold_up_nothing(4);
}

#[test]
fn forty_pending_prompts_hold_up_nothing() {
    pending_prompts_hold_up_nothing(40);
}

#[test]
fn one_of_many_waiting_requests_can_be_cancelled() {
    let (workspace, editor) = desk(&[]);
    editor.permit(Answer::Hold);
    let session = editor.session();
    let write = |n: usize| {
        session
            .begin_tool("Write", json!({ "file_path": format!("new-{n}.txt"), "content": "x\n" }))
    };
    let calls: Vec<_> = (0..6).map(write).collect();
    editor.wait("every permission request", |s| (s.held.len() == 6).then_some(()));
    editor.notify("$/cancelRequest", json!({ "id": calls[3] }));
    let error = editor.finish(calls[3]).unwrap_err();
    assert_eq!(error.code, -32800, "{error:?}");
    for _ in 0..6 {
        editor.answer(&ALLOW);
    }
    for call in calls.iter().filter(|call| **call != calls[3]) {
        session.finish_tool(*call).ok();
    }
    assert!(!workspace.has("new-3.txt"), "a late answer revives nothing");
}

#[test]
fn cancelling_what_nobody_asked_is_ignored() {
    let (_workspace, editor) = desk(&[]);
    editor.notify("$/cancelRequest", json!({ "id": 4711 }));
    editor.notify("$/cancelRequest", json!({ "id": "no such" }));
    editor.request("copydesk/status", json!({}));
}

#[test]
fn later_prompts_can_be_answered_first() {
    let (workspace, editor) = desk(&[]);
    editor.permit(Answer::Hold);
    let session = editor.session();
    let first = session.begin_tool("Write", json!({ "file_path": "first.txt", "content": "1\n" }));
    editor.wait("the first request", |s| (s.held.len() == 1).then_some(()));
    let second =
        session.begin_tool("Write", json!({ "file_path": "second.txt", "content": "2\n" }));
    editor.wait("the second request", |s| (s.held.len() == 2).then(|| s.held.swap(0, 1)));
    editor.answer(&ALLOW);
    session.finish_tool(second).ok();
    assert!(!editor.answered(first));
    editor.answer(&REJECT);
    session.finish_tool(first).err();
    assert!(workspace.has("second.txt") && !workspace.has("first.txt"));
}

#[test]
fn a_permission_request_comes_after_its_card() {
    let (_workspace, editor) = desk(&[]);
    let session = editor.session();
    session.tool("Write", json!({ "file_path": "new.txt", "content": "x\n" })).ok();
    let state = editor.lock();
    let asked = state
        .log
        .iter()
        .position(|m| m["method"] == "session/request_permission")
        .expect("a permission request");
    let card = state
        .log
        .iter()
        .position(|m| m["params"]["update"]["sessionUpdate"] == "tool_call_update")
        .expect("a card");
    assert!(card < asked, "card at {card}, request at {asked}");
}

use super::*;
use crate::testing::{ask_provider, by_user, finish, request, result_text, said};
use crate::{Message, Protocol, connect};

fn play(recording: &str) -> Result<Arc<dyn Provider>, Error> {
    connect(Settings { replay_file: Some(recording.to_owned()), ..Settings::new(Protocol::Replay) })
}

#[tokio::test]
async fn steps_are_played_in_order() {
    let provider = play(
        r#"{"aside": "A title", "steps": [
            {"thought": "Hm.", "text": "I look at it. ", "calls": [
                {"name": "Read", "input": {"file_path": "a"}}, {"name": "Bash", "input": "{broken"}, {"name": "LS"}], "pace": 1000000},
            {"text": "Done.", "expect": "hello"}]}"#,
    )
    .unwrap();
    let (first, error) = finish(ask_provider(&*provider, request(vec![Message::user("Go")])).await);
    assert_eq!(error, None);
    let calls: Vec<(&str, &str)> = first
        .message
        .parts
        .iter()
        .filter_map(|part| match part {
            Part::ToolCall { name, arguments, .. } => Some((name.as_str(), arguments.as_str())),
            _ => None,
        })
        .collect();
    assert_eq!(calls, [("Read", r#"{"file_path":"a"}"#), ("Bash", "{broken"), ("LS", "{}")]);
    assert_eq!((said(&first).as_str(), first.stop), ("I look at it. ", Stop::ToolUse));

    let mut title = request(vec![Message::user("Name it")]);
    title.tools.clear();
    assert_eq!(said(&finish(ask_provider(&*provider, title).await).0), "A title");

    let (_, error) = finish(ask_provider(&*provider, request(vec![Message::user("Go")])).await);
    let error = error.unwrap().to_string();
    assert!(error.contains("step 2") && error.contains("hello"), "{error}");

    let results = request(vec![by_user(vec![result_text("x", "well, hello")])]);
    let (second, error) = finish(ask_provider(&*provider, results).await);
    assert_eq!((said(&second).as_str(), second.stop, error), ("Done.", Stop::EndTurn, None));

    let (_, error) = finish(ask_provider(&*provider, request(vec![])).await);
    assert!(error.unwrap().to_string().contains("2 steps"));
}

#[test]
fn broken_recordings_are_refused() {
    for broken in
        ["", "{}", r#"{"steps": [{"txet": "x"}]}"#, r#"[{"calls": [{}]}]"#, r#"{"steps": 3}"#]
    {
        assert!(matches!(play(broken).map(|_| ()), Err(Error::Malformed(_))), "{broken}");
    }
    assert!(play("[]").is_ok());
    assert!(connect(Settings::new(Protocol::Replay)).is_err());
}

#[tokio::test]
async fn cancelling_ends_a_slow_step_at_once() {
    use futures::StreamExt;
    let provider = play(r#"[{"text": "slowly", "pace": 0.0001}]"#).unwrap();
    let cancel = CancellationToken::new();
    let mut stream = provider.stream(request(vec![]), cancel.clone()).await.unwrap();
    cancel.cancel();
    assert_eq!(stream.next().await, Some(Err(Error::Cancelled)));
    assert_eq!(stream.next().await, None);
}

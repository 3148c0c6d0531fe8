use super::*;
use crate::testing::{Reply, Server};

#[track_caller]
fn check(env: &[(&str, &str)], expected: &[(&str, &str, Option<&str>)]) {
    let get =
        |name: &str| env.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
    let found = discover(&get);
    let found: Vec<_> = found
        .iter()
        .map(|f| (f.provider.as_str(), f.how.as_str(), f.base_url.as_deref()))
        .collect();
    assert_eq!(found, expected, "{env:?}");
}

#[test]
fn keys_in_the_environment() {
    check(&[], &[]);
    check(&[("ANTHROPIC_API_KEY", " ")], &[]);
    check(&[("ANTHROPIC_BASE_URL", "http://x")], &[]);
    check(
        &[("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k"), ("ANTHROPIC_BASE_URL", "http://x")],
        &[("anthropic", "ANTHROPIC_API_KEY", Some("http://x")), ("openai", "OPENAI_API_KEY", None)],
    );
    check(
        &[("GEMINI_API_KEY", "k"), ("GOOGLE_API_KEY", "k")],
        &[("gemini", "GEMINI_API_KEY", None)],
    );
    check(&[("GOOGLE_API_KEY", "k")], &[("gemini", "GOOGLE_API_KEY", None)]);
    check(
        &[("OPENAI_BASE_URL", "http://box/v1")],
        &[("openai", "OPENAI_BASE_URL", Some("http://box/v1"))],
    );
    check(&[("XAI_API_KEY", "k")], &[("xai", "XAI_API_KEY", Some("https://api.x.ai/v1"))]);
}

#[tokio::test]
async fn servers_on_this_machine() {
    let list =
        serde_json::json!({ "object": "list", "data": [{ "id": "qwen3:8b" }, { "id": "other" }] });
    let models = Server::start(vec![Reply::json(200, &list)]).await;
    let site = Server::start(vec![Reply::raw(200, "text/html", "<html>")]).await;
    let empty = Server::start(vec![Reply::json(200, &serde_json::json!({ "data": [] }))]).await;
    let found = probe(&[
        ("Site", "site", site.port),
        ("Ollama", "ollama", models.port),
        ("Empty", "empty", empty.port),
    ])
    .await;
    assert_eq!(
        found,
        [Found {
            provider: "ollama".into(),
            protocol: Protocol::Openai,
            base_url: Some(format!("http://127.0.0.1:{}/v1", models.port)),
            key_variable: None,
            how: format!("Ollama on port {}", models.port),
            model: "qwen3:8b".into(),
        }]
    );
}

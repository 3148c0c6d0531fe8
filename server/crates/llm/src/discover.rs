//! Finds a provider without configuration: from the usual environment variables, or a server on this machine.

use std::time::Duration;

use crate::Protocol;

/// A provider that could be used as it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Found {
    /// Its name for settings: "anthropic", "ollama", …
    pub provider: String,
    pub protocol: Protocol,
    /// `None` = the protocol's own default.
    pub base_url: Option<String>,
    /// The environment variable that holds the key; `None` where no key is needed.
    pub key_variable: Option<String>,
    /// How it was found, for people: "ANTHROPIC_API_KEY", "Ollama on port 11434".
    pub how: String,
    /// The model to begin with; for local servers the first one they list.
    pub model: String,
}

/// Providers whose key stands in the environment, most capable first. Blank values count as unset.
pub fn discover(env: &dyn Fn(&str) -> Option<String>) -> Vec<Found> {
    let get = |name: &str| {
        env(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let mut found: Vec<Found> = Vec::new();
    for known in KNOWN {
        if found.iter().any(|f| f.provider == known.provider) {
            continue;
        }
        let base_url = known.base_variables.iter().find_map(|name| get(name));
        let key = get(known.key_variable).is_some();
        // An address alone is enough for the openai format: many servers of one's own want no key.
        let keyless = known.protocol == Protocol::Openai
            && !known.base_variables.is_empty()
            && base_url.is_some();
        if !key && !keyless {
            continue;
        }
        found.push(Found {
            provider: known.provider.to_owned(),
            protocol: known.protocol,
            base_url: base_url.or_else(|| known.base_url.map(str::to_owned)),
            key_variable: key.then(|| known.key_variable.to_owned()),
            how: if key { known.key_variable } else { known.base_variables[0] }.to_owned(),
            model: known.model.to_owned(),
        });
    }
    found
}

/// Model servers on this machine's usual ports that answered within 300 ms, each with at least one model.
pub async fn discover_local() -> Vec<Found> {
    probe(LOCAL).await
}

struct Known {
    provider: &'static str,
    protocol: Protocol,
    key_variable: &'static str,
    base_variables: &'static [&'static str],
    base_url: Option<&'static str>,
    model: &'static str,
}

const fn openai_like(
    provider: &'static str,
    key_variable: &'static str,
    base_url: &'static str,
    model: &'static str,
) -> Known {
    Known {
        provider,
        protocol: Protocol::Openai,
        key_variable,
        base_variables: &[],
        base_url: Some(base_url),
        model,
    }
}

const fn gemini(key_variable: &'static str) -> Known {
    Known {
        provider: "gemini",
        protocol: Protocol::Gemini,
        key_variable,
        base_variables: &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
        base_url: None,
        model: "gemini-2.5-pro",
    }
}

const KNOWN: &[Known] = &[
    Known {
        provider: "anthropic",
        protocol: Protocol::Anthropic,
        key_variable: "ANTHROPIC_API_KEY",
        base_variables: &["ANTHROPIC_BASE_URL"],
        base_url: None,
        model: "claude-sonnet-4-5",
    },
    Known {
        provider: "openai",
        protocol: Protocol::Openai,
        key_variable: "OPENAI_API_KEY",
        base_variables: &["OPENAI_BASE_URL", "OPENAI_API_BASE"],
        base_url: None,
        model: "gpt-5",
    },
    gemini("GEMINI_API_KEY"),
    gemini("GOOGLE_API_KEY"),
    openai_like(
        "openrouter",
        "OPENROUTER_API_KEY",
        "https://openrouter.ai/api/v1",
        "anthropic/claude-sonnet-4.5",
    ),
    openai_like("deepseek", "DEEPSEEK_API_KEY", "https://api.deepseek.com/v1", "deepseek-chat"),
    openai_like(
        "mistral",
        "MISTRAL_API_KEY",
        "https://api.mistral.ai/v1",
        "devstral-medium-latest",
    ),
    openai_like("xai", "XAI_API_KEY", "https://api.x.ai/v1", "grok-code-fast-1"),
    openai_like("groq", "GROQ_API_KEY", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b"),
];

/// Name, provider id, port.
const LOCAL: &[(&str, &str, u16)] = &[
    ("Ollama", "ollama", 11434),
    ("LM Studio", "lmstudio", 1234),
    ("llama.cpp", "llamacpp", 8080),
    ("vLLM", "vllm", 8000),
];

async fn probe(servers: &[(&str, &str, u16)]) -> Vec<Found> {
    let limit = Duration::from_millis(300);
    let client = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(limit)
        .timeout(limit)
        .build();
    let Ok(client) = client else { return Vec::new() };
    let probes = servers.iter().map(|&(name, provider, port)| {
        let client = client.clone();
        async move {
            let base_url = format!("http://127.0.0.1:{port}/v1");
            let model = first_model(&client, &base_url).await?;
            Some(Found {
                provider: provider.to_owned(),
                protocol: Protocol::Openai,
                base_url: Some(base_url),
                key_variable: None,
                how: format!("{name} on port {port}"),
                model,
            })
        }
    });
    futures::future::join_all(probes).await.into_iter().flatten().collect()
}

/// The ports are common ones: anything that is not a list of models is some other program.
async fn first_model(client: &reqwest::Client, base_url: &str) -> Option<String> {
    const LIMIT: usize = 1 << 20;
    let mut response =
        client.get(format!("{base_url}/models")).send().await.ok()?.error_for_status().ok()?;
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.ok()? {
        body.extend_from_slice(&chunk);
        if body.len() > LIMIT {
            return None;
        }
    }
    let list: serde_json::Value = serde_json::from_slice(&body).ok()?;
    Some(list["data"].as_array()?.iter().find_map(|model| model["id"].as_str())?.to_owned())
}

#[cfg(test)]
mod tests;

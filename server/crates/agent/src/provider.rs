//! Which model a turn talks to, and through which endpoint.
//!
//! Invariant: nothing is guessed silently. Without a usable model the person is told what to set.

use std::sync::Arc;
use std::time::Duration;

use exec::{Spawn, Stdio, Supervisor};
use llm::{Protocol, Reasoning, Secret};
use tokio::io::AsyncReadExt;

use crate::dialects::{self, Dialect};
use crate::settings::{DialectName, Model, Provider, Settings, Thinking};
use crate::tool::Sees;
use crate::world::{Config, World};

/// A model that can be asked.
#[derive(Clone)]
pub struct Chosen {
    /// `provider/model`, as configured and shown.
    pub label: String,
    /// The endpoint.
    pub provider: Arc<dyn llm::Provider>,
    /// The model's name at the endpoint.
    pub model: String,
    /// Tokens it can read.
    pub window: u64,
    /// Tokens it may write in one answer.
    pub max_output: Option<u32>,
    /// What it takes besides text.
    pub sees: Sees,
    /// How much it thinks.
    pub reasoning: Option<Reasoning>,
    /// How tools are shown to it.
    pub dialect: &'static Dialect,
}

/// A session's way to its model, kept from turn to turn until the choice or the configuration
/// changes: connections stay open, and a recording goes on where it was.
#[derive(Default)]
pub struct Connection(tokio::sync::Mutex<Option<Connected>>);

struct Connected {
    config: Arc<Config>,
    wanted: Option<String>,
    chosen: Chosen,
}

impl Connection {
    /// The model of this name, or the configured one.
    pub async fn get(&self, world: &World, wanted: Option<String>) -> Result<Chosen, String> {
        let config = world.config();
        let mut connected = self.0.lock().await;
        if let Some(known) = &*connected
            && Arc::ptr_eq(&known.config, &config)
            && known.wanted == wanted
        {
            return Ok(known.chosen.clone());
        }
        let chosen = choose(&config.settings, wanted.as_deref(), &world.supervisor).await?;
        *connected = Some(Connected { config, wanted, chosen: chosen.clone() });
        Ok(chosen)
    }
}

/// What to tell a person who has no model configured.
pub const NO_MODEL: &str = "No model is configured. Set ANTHROPIC_API_KEY, OPENAI_API_KEY or \
    GEMINI_API_KEY in the environment the editor starts from, or start a local server (Ollama, \
    llama.cpp, LM Studio, vLLM), or set `model` and `[providers.NAME]` in the configuration. \
    `copydesk doctor` shows what was found.";

/// The models that can be chosen without asking an endpoint: configured ones and those found.
pub fn known_models(settings: &Settings) -> Vec<String> {
    let mut models: Vec<String> = settings.model.iter().cloned().collect();
    models.extend(settings.models.keys().cloned());
    models.extend(found().iter().map(|it| format!("{}/{}", it.provider, it.model)));
    let mut seen = std::collections::HashSet::new();
    models.retain(|it| seen.insert(it.clone()));
    models
}

/// The model used when a session names none, as far as it is known without asking an endpoint.
pub fn default_model(settings: &Settings) -> Option<String> {
    settings.model.clone().or_else(|| known_models(settings).into_iter().next())
}

/// Connects to the model of this name, or to the configured one, or to one that is found.
pub async fn choose(
    settings: &Settings,
    wanted: Option<&str>,
    supervisor: &Supervisor,
) -> Result<Chosen, String> {
    let label = wanted.map(str::to_string).or_else(|| default_model(settings));
    let label = match label {
        Some(label) => label,
        None => match llm::discover_local().await.into_iter().next() {
            Some(local) => {
                let provider = Provider {
                    protocol: Some("openai".into()),
                    base_url: local.base_url.clone(),
                    ..Provider::default()
                };
                let label = format!("{}/{}", local.provider, local.model);
                return connect(settings, label, &provider, supervisor).await;
            }
            None => return Err(NO_MODEL.into()),
        },
    };
    let provider = named(settings, &label)?;
    connect(settings, label, &provider, supervisor).await
}

/// Whether a model of this name can be chosen; the error says what is missing.
pub fn check(settings: &Settings, label: &str) -> Result<(), String> {
    named(settings, label).map(drop)
}

/// The provider a model's name begins with.
fn named(settings: &Settings, label: &str) -> Result<Provider, String> {
    let (name, _) = split(label)?;
    if let Some(provider) = settings.providers.get(name) {
        return Ok(provider.clone());
    }
    discovered(name).ok_or_else(|| {
        let known: Vec<&str> = settings.providers.keys().map(String::as_str).collect();
        let known = if known.is_empty() { "none".to_string() } else { known.join(", ") };
        format!(
            "The model `{label}` names the provider `{name}`, which is not configured (configured: \
             {known}). Add `[providers.{name}]`, or choose another model."
        )
    })
}

/// How tools are shown to the model of this name, or to the configured one.
pub fn dialect(settings: &Settings, label: Option<&str>) -> &'static Dialect {
    let Some(label) = label.map(str::to_string).or_else(|| default_model(settings)) else {
        return dialects::of(settings.dialect.unwrap_or(DialectName::Claude));
    };
    let replays = named(settings, &label).is_ok_and(|it| it.protocol.as_deref() == Some("replay"));
    dialect_of(settings, &label, if replays { Some(Protocol::Replay) } else { None })
}

fn dialect_of(settings: &Settings, label: &str, protocol: Option<Protocol>) -> &'static Dialect {
    let own = settings.models.get(label).and_then(|it| it.dialect);
    match (own.or(settings.dialect), protocol) {
        (Some(name), _) => dialects::of(name),
        // A recording speaks for itself, with the canonical names.
        (None, Some(Protocol::Replay)) => dialects::of(DialectName::Claude),
        (None, _) => {
            let model = split(label).map_or(label, |(_, model)| model);
            dialects::of_family(llm::facts(model).family)
        }
    }
}

async fn connect(
    settings: &Settings,
    label: String,
    provider: &Provider,
    supervisor: &Supervisor,
) -> Result<Chosen, String> {
    let (name, model) = split(&label)?;
    let protocol = protocol(name, provider)?;
    let mut endpoint = llm::Settings::new(protocol);
    endpoint.name = name.to_string();
    endpoint.base_url = provider.base_url.clone();
    (endpoint.key, endpoint.key_source) = key(name, provider, protocol, supervisor).await?;
    endpoint.headers = provider.headers.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
    endpoint.proxy = provider.proxy.clone();
    if let Some(seconds) = provider.connect_timeout {
        endpoint.connect_timeout = Duration::from_secs(seconds);
    }
    if let Some(seconds) = provider.idle_timeout {
        endpoint.idle_timeout = Duration::from_secs(seconds);
    }
    if let Some(file) = &provider.file {
        let text = vfs::state::read_text_file(std::path::Path::new(file))
            .map_err(|err| format!("The recorded conversation {file} cannot be read: {err}"))?;
        endpoint.replay_file =
            Some(text.ok_or_else(|| format!("The recorded conversation {file} does not exist."))?);
    }
    let facts = llm::facts(model);
    let own: Model = settings.models.get(&label).cloned().unwrap_or_default();
    let model = model.to_string();
    let provider = llm::connect(endpoint).map_err(|err| err.to_string())?;
    Ok(Chosen {
        provider,
        dialect: dialect_of(settings, &label, Some(protocol)),
        window: own.context_window.unwrap_or(u64::from(facts.context_window)),
        max_output: own.max_output.or(Some(facts.max_output)),
        sees: Sees {
            images: own.images.unwrap_or(facts.images),
            video: own.video.unwrap_or(facts.video),
        },
        reasoning: own.reasoning.and_then(reasoning),
        label,
        model,
    })
}

/// `provider/model`; the model's own name may have slashes.
fn split(label: &str) -> Result<(&str, &str), String> {
    match label.split_once('/') {
        Some((provider, model)) if !provider.is_empty() && !model.is_empty() => {
            Ok((provider, model))
        }
        Some(_) | None => Err(format!("The model `{label}` is not written as `provider/model`.")),
    }
}

fn protocol(name: &str, provider: &Provider) -> Result<Protocol, String> {
    match provider.protocol.as_deref().unwrap_or(name) {
        "anthropic" => Ok(Protocol::Anthropic),
        "openai" => Ok(Protocol::Openai),
        "openai-responses" => Ok(Protocol::OpenaiResponses),
        "gemini" => Ok(Protocol::Gemini),
        "replay" => Ok(Protocol::Replay),
        _ if provider.protocol.is_none() && provider.base_url.is_some() => Ok(Protocol::Openai),
        other => Err(format!(
            "The provider `{name}` has the protocol `{other}`, which is none of anthropic, openai, \
             openai-responses, gemini and replay."
        )),
    }
}

async fn key(
    name: &str,
    provider: &Provider,
    protocol: Protocol,
    supervisor: &Supervisor,
) -> Result<(Option<Secret>, Option<String>), String> {
    if let Some(key) = &provider.api_key {
        return Ok((Some(Secret::new(key)), Some(format!("`api_key` of [providers.{name}]"))));
    }
    if let Some(variable) = &provider.api_key_env {
        let key = std::env::var(variable).ok().filter(|it| !it.trim().is_empty());
        return match key {
            Some(key) => Ok((Some(Secret::new(key)), Some(variable.clone()))),
            None => Err(format!("The key of `{name}` is read from {variable}, which is not set.")),
        };
    }
    if let Some(command) = &provider.api_key_command {
        let key = printed(command, supervisor)
            .await
            .map_err(|err| format!("The command that prints the key of `{name}` failed: {err}"))?;
        return Ok((
            Some(Secret::new(key)),
            Some(format!("`api_key_command` of [providers.{name}]")),
        ));
    }
    let Some(variable) = protocol.key_variable() else { return Ok((None, None)) };
    let own_endpoint = provider.base_url.is_some();
    match std::env::var(variable).ok().filter(|it| !it.trim().is_empty()) {
        // A key of the vendor's is not sent to another endpoint unasked.
        Some(key) if !own_endpoint => Ok((Some(Secret::new(key)), Some(variable.to_string()))),
        Some(_) | None => Ok((None, None)),
    }
}

async fn printed(command: &str, supervisor: &Supervisor) -> Result<String, String> {
    let spawn = Spawn {
        argv: vec!["sh".into(), "-c".into(), command.into()],
        cwd: std::env::home_dir().unwrap_or_else(|| "/".into()),
        env: std::env::vars_os().collect(),
        stdio: Stdio::Piped,
        sandbox: None,
    };
    let run = async {
        let mut process = supervisor.spawn(spawn).await.map_err(|err| err.to_string())?;
        drop(process.stdin.take());
        let mut printed = Vec::new();
        if let Some(stdout) = process.stdout.take() {
            stdout
                .take(64 * 1024)
                .read_to_end(&mut printed)
                .await
                .map_err(|err| err.to_string())?;
        }
        let exit = process.wait().await;
        if !exit.is_success() {
            return Err(format!("it ended with {exit:?}"));
        }
        Ok(String::from_utf8_lossy(&printed).trim().to_string())
    };
    match tokio::time::timeout(Duration::from_secs(30), run).await {
        Ok(printed) => printed,
        Err(_) => Err("it took longer than 30 s".into()),
    }
}

/// What the wire formats are told.
pub fn reasoning(thinking: Thinking) -> Option<Reasoning> {
    match thinking {
        Thinking::Off => None,
        Thinking::Low => Some(Reasoning::Low),
        Thinking::Medium => Some(Reasoning::Medium),
        Thinking::High => Some(Reasoning::High),
    }
}

fn found() -> Vec<llm::Found> {
    llm::discover(&|name| std::env::var(name).ok())
}

fn discovered(name: &str) -> Option<Provider> {
    let found = found().into_iter().find(|it| it.provider == name)?;
    Some(Provider {
        protocol: Some(protocol_id(found.protocol).into()),
        base_url: found.base_url,
        api_key_env: found.key_variable,
        ..Provider::default()
    })
}

fn protocol_id(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Anthropic => "anthropic",
        Protocol::Openai => "openai",
        Protocol::OpenaiResponses => "openai-responses",
        Protocol::Gemini => "gemini",
        Protocol::Replay => "replay",
    }
}

//! What the person can choose in a session: mode, model and how much the model thinks.

use std::sync::Arc;

use protocol::acp::{
    SessionConfigKind, SessionConfigOption, SessionConfigOptionCategory, SessionConfigOptionValue,
    SessionConfigSelect, SessionConfigSelectOption,
};

use crate::provider;
use crate::session::Shared;
use crate::settings::{Mode, Thinking};

const MODE: &str = "mode";
const MODEL: &str = "model";
const THINKING: &str = "thought_level";

/// The options with their current values.
pub fn options(shared: &Arc<Shared>) -> Vec<SessionConfigOption> {
    let modes = Mode::ALL.into_iter().map(|it| {
        SessionConfigSelectOption::new(it.id().to_string(), it.name().to_string())
            .description(it.description().to_string())
    });
    let mode = select(MODE, "Mode", shared.mode().id(), modes.collect());
    let mut all = vec![mode.category(SessionConfigOptionCategory::Mode)];
    let settings = &shared.world.config().settings;
    let mut models = provider::known_models(settings);
    let current = shared.model().or_else(|| provider::default_model(settings));
    if let Some(current) = &current
        && !models.contains(current)
    {
        models.insert(0, current.clone());
    }
    if let Some(current) = current {
        let models = models.into_iter().map(|it| SessionConfigSelectOption::new(it.clone(), it));
        let model = select(MODEL, "Model", &current, models.collect());
        all.push(model.category(SessionConfigOptionCategory::Model));
        let configured = settings.models.get(&current).and_then(|it| it.reasoning);
        let level = shared.thinking().or(configured).unwrap_or(Thinking::Off);
        let levels = Thinking::ALL
            .into_iter()
            .map(|it| SessionConfigSelectOption::new(it.id().to_string(), it.name().to_string()));
        let thinking = select(THINKING, "Thinking", level.id(), levels.collect());
        all.push(thinking.category(SessionConfigOptionCategory::ThoughtLevel));
    }
    all
}

/// Changes one option; the error says what can be chosen.
pub fn set(shared: &Arc<Shared>, id: &str, value: &SessionConfigOptionValue) -> Result<(), String> {
    let SessionConfigOptionValue::Id { value } = value else {
        return Err(format!("`{id}` is chosen by id: send `type: \"id\"` and a `value`."));
    };
    let value = value.to_string();
    match id {
        MODE => {
            let mode = Mode::from_id(&value).ok_or_else(|| {
                let all: Vec<&str> = Mode::ALL.iter().map(|it| it.id()).collect();
                format!("There is no mode `{value}`. Choose one of {}.", all.join(", "))
            })?;
            shared.set_mode(mode);
            Ok(())
        }
        MODEL => {
            provider::check(&shared.world.config().settings, &value)?;
            shared.set_model(value);
            Ok(())
        }
        THINKING => {
            let level = Thinking::from_id(&value).ok_or_else(|| {
                let all: Vec<&str> = Thinking::ALL.iter().map(|it| it.id()).collect();
                format!("There is no level `{value}`. Choose one of {}.", all.join(", "))
            })?;
            shared.set_thinking(level);
            Ok(())
        }
        other => Err(format!(
            "There is no option `{other}`. The options are {MODE}, {MODEL} and {THINKING}."
        )),
    }
}

fn select(
    id: &str,
    name: &str,
    current: &str,
    options: Vec<SessionConfigSelectOption>,
) -> SessionConfigOption {
    let kind = SessionConfigKind::Select(SessionConfigSelect::new(current.to_string(), options));
    SessionConfigOption::new(id.to_string(), name.to_string(), kind)
}

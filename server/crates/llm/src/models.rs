//! What is known of models by name. Settings override all of it.

/// Which dialect of tools and prompts suits a model.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    Claude,
    Gpt,
    Gemini,
    /// Everything else, most of it run by people themselves.
    Local,
}

/// Limits in tokens.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Facts {
    pub family: Family,
    pub context_window: u32,
    pub max_output: u32,
    pub images: bool,
    pub video: bool,
}

/// The facts of the longest known beginning of the model's name, whatever path or vendor stands before it.
pub fn facts(model: &str) -> Facts {
    let name = model.rsplit('/').next().unwrap_or(model).to_ascii_lowercase();
    // Cloud catalogues write "us.anthropic.claude-…".
    let name = name.find("claude").map_or(name.as_str(), |at| &name[at..]);
    TABLE
        .iter()
        .filter(|(prefix, ..)| name.starts_with(prefix))
        .max_by_key(|(prefix, ..)| prefix.len())
        .map_or(UNKNOWN, |&(_, family, context_window, max_output, images)| Facts {
            family,
            context_window,
            max_output,
            images,
            video: family == Family::Gemini || SEES_VIDEO.iter().any(|it| name.starts_with(it)),
        })
}

/// A small window is the safe guess: too large a one fails in the middle of the work.
const UNKNOWN: Facts = Facts {
    family: Family::Local,
    context_window: 32_768,
    max_output: 8_192,
    images: false,
    video: false,
};

/// Besides all of Gemini.
const SEES_VIDEO: &[&str] = &["kimi-k2.5", "kimi-k2-5"];

const TABLE: &[(&str, Family, u32, u32, bool)] = &[
    ("claude", Family::Claude, 200_000, 64_000, true),
    ("claude-2", Family::Claude, 100_000, 4_096, false),
    ("claude-3", Family::Claude, 200_000, 4_096, true),
    ("claude-3-5", Family::Claude, 200_000, 8_192, true),
    ("claude-3-7", Family::Claude, 200_000, 64_000, true),
    ("claude-opus-4", Family::Claude, 200_000, 32_000, true),
    ("claude-opus-4-5", Family::Claude, 200_000, 64_000, true),
    ("claude-opus-4-6", Family::Claude, 200_000, 128_000, true),
    ("claude-opus-4-7", Family::Claude, 200_000, 128_000, true),
    ("claude-opus-4.5", Family::Claude, 200_000, 64_000, true),
    ("gpt", Family::Gpt, 128_000, 16_384, true),
    ("gpt-3.5", Family::Gpt, 16_385, 4_096, false),
    ("gpt-4", Family::Gpt, 8_192, 8_192, false),
    ("gpt-4-turbo", Family::Gpt, 128_000, 4_096, true),
    ("gpt-4.1", Family::Gpt, 1_047_576, 32_768, true),
    ("gpt-4o", Family::Gpt, 128_000, 16_384, true),
    ("gpt-5", Family::Gpt, 400_000, 128_000, true),
    ("gpt-oss", Family::Gpt, 131_072, 32_768, false),
    ("o1", Family::Gpt, 200_000, 100_000, true),
    ("o3", Family::Gpt, 200_000, 100_000, true),
    ("o4", Family::Gpt, 200_000, 100_000, true),
    ("codex", Family::Gpt, 200_000, 100_000, true),
    ("chatgpt", Family::Gpt, 128_000, 16_384, true),
    ("gemini", Family::Gemini, 1_048_576, 65_536, true),
    ("gemini-1", Family::Gemini, 1_048_576, 8_192, true),
    ("gemini-2.0", Family::Gemini, 1_048_576, 8_192, true),
    ("deepseek", Family::Local, 128_000, 8_192, false),
    ("devstral", Family::Local, 128_000, 32_768, false),
    ("mistral", Family::Local, 128_000, 32_768, false),
    ("codestral", Family::Local, 256_000, 32_768, false),
    ("glm-4", Family::Local, 128_000, 32_768, false),
    ("grok-4", Family::Local, 256_000, 32_768, true),
    ("grok-code", Family::Local, 256_000, 10_000, false),
    ("kimi", Family::Local, 131_072, 32_768, false),
    ("kimi-k2.5", Family::Local, 262_144, 32_768, true),
    ("kimi-k2-5", Family::Local, 262_144, 32_768, true),
    ("qwen3", Family::Local, 131_072, 32_768, false),
    ("llama-3", Family::Local, 131_072, 8_192, false),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(model: &str, family: Family, context_window: u32) {
        let facts = facts(model);
        assert_eq!((facts.family, facts.context_window), (family, context_window), "{model}");
    }

    #[test]
    fn models_are_known_by_the_beginning_of_their_names() {
        check("claude-sonnet-4-5-20250929", Family::Claude, 200_000);
        check("us.anthropic.claude-3-5-sonnet-v2:0", Family::Claude, 200_000);
        check("anthropic/claude-sonnet-4.5", Family::Claude, 200_000);
        check("openai/gpt-5-mini", Family::Gpt, 400_000);
        check("gpt-4.1-nano", Family::Gpt, 1_047_576);
        check("GPT-4o", Family::Gpt, 128_000);
        check("models/gemini-2.5-pro", Family::Gemini, 1_048_576);
        check("qwen3:8b", Family::Local, 131_072);
        check("never-heard-of-it", Family::Local, 32_768);
        check("", Family::Local, 32_768);
    }

    #[test]
    fn what_models_see_is_known() {
        let sees = |model: &str| (facts(model).images, facts(model).video);
        assert_eq!(sees("gemini-2.5-pro"), (true, true));
        assert_eq!(sees("moonshotai/kimi-k2.5"), (true, true));
        assert_eq!(sees("kimi-k2"), (false, false));
        assert_eq!(sees("claude-sonnet-4-5"), (true, false));
        assert_eq!(sees("gpt-5"), (true, false));
    }

    #[test]
    fn an_answer_fits_into_the_window() {
        for (prefix, ..) in TABLE {
            let facts = facts(prefix);
            assert!(facts.max_output <= facts.context_window, "{prefix}");
        }
    }
}

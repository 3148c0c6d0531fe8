//! What the model is told besides the conversation.
//!
//! Invariant: the system text and the order of tools are byte-identical from request to request of
//! one session. Facts that change (folder, platform, open documents) go into a message.

use std::sync::Arc;

use llm::{Message, Part, Role, ToolSpec};
use protocol::acp::{ContentBlock, EmbeddedResourceResource};
use vfs::{Dirty, Location};

use crate::permission;
use crate::provider::Chosen;
use crate::sandbox;
use crate::session::{Prompt, Shared};

/// The system text.
pub const SYSTEM: &str = include_str!("prompts/system.md");

/// The tools shown to the model: those of its dialect without those it has no use for and those a
/// rule switches off.
pub fn tools(shared: &Arc<Shared>, chosen: &Chosen) -> Vec<ToolSpec> {
    let rules = shared.rules();
    chosen
        .dialect
        .tools()
        .filter(|it| (it.entry.is_of_use)(chosen.sees))
        .filter(|it| !permission::hidden(it.entry.name, &rules))
        .map(|it| ToolSpec {
            name: it.name.to_string(),
            description: it.description.clone(),
            input_schema: it.input_schema().clone(),
        })
        .collect()
}

/// Facts about the surroundings, sent once before the first prompt.
pub fn environment(shared: &Arc<Shared>) -> String {
    let place = shared.place();
    let roots: Vec<String> = place.roots.paths().map(|it| it.display().to_string()).collect();
    let mut facts = vec![
        format!("Working directory: {}", place.cwd.display()),
        format!("Workspace folders: {}", roots.join(", ")),
        format!("Platform: {} {}", std::env::consts::OS, std::env::consts::ARCH),
        format!("Mode: {} ({})", shared.mode().name(), shared.mode().description()),
    ];
    facts.extend(sandbox::described(&shared.world.config().settings.shell));
    let open = open_documents(shared);
    if !open.is_empty() {
        facts.push(format!("Open in the editor:\n{open}"));
    }
    format!("<environment>\n{}\n</environment>", facts.join("\n"))
}

/// A prompt as a message. `first` is said before it.
pub fn user_message(
    prompt: &Prompt,
    first: impl IntoIterator<Item = String>,
    chosen: &Chosen,
) -> Message {
    let mut parts: Vec<Part> = first.into_iter().map(|text| Part::Text { text }).collect();
    parts.extend(prompt.content.iter().map(|it| part(it, chosen)));
    Message { role: Role::User, parts }
}

/// What the person wrote, without what they attached.
pub fn text_of(prompt: &Prompt) -> String {
    let texts = prompt.content.iter().filter_map(|it| match it {
        ContentBlock::Text(text) => Some(text.text.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

fn part(block: &ContentBlock, chosen: &Chosen) -> Part {
    let text = match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) if chosen.sees.images => {
            return Part::Image {
                media_type: image.mime_type.to_string(),
                data: image.data.clone(),
            };
        }
        ContentBlock::Image(_) => {
            format!("[an image was attached; {} does not read images]", chosen.label)
        }
        ContentBlock::ResourceLink(link) => format!("[mentioned: {} ({})]", link.name, link.uri),
        ContentBlock::Resource(resource) => match &resource.resource {
            EmbeddedResourceResource::TextResourceContents(it) => {
                format!("<resource uri=\"{}\">\n{}\n</resource>", it.uri, it.text)
            }
            other => format!("[a resource that cannot be shown as text: {}]", name_of(other)),
        },
        other => format!("[{} cannot be shown]", name_of(other)),
    };
    Part::Text { text }
}

fn name_of(value: &impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value["type"].as_str().or(value["uri"].as_str()).unwrap_or("an attachment").to_string()
}

fn open_documents(shared: &Arc<Shared>) -> String {
    let place = shared.place();
    let mut lines: Vec<String> = shared
        .world
        .vfs
        .open_documents()
        .into_iter()
        .map(|it| {
            let name = match &it.location {
                Location::Disk(_) => place.shown(&it.location),
                Location::Virtual(uri) => uri.clone(),
            };
            match it.dirty {
                Dirty::Clean => format!("- {name}"),
                Dirty::Ours | Dirty::Person => format!("- {name} (unsaved changes)"),
            }
        })
        .collect();
    lines.sort();
    let total = lines.len();
    lines.truncate(30);
    if lines.len() < total {
        lines.push(format!("- and {} more", total - lines.len()));
    }
    lines.join("\n")
}

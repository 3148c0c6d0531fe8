//! A conversation as Markdown.

use protocol::acp::{ContentBlock, SessionUpdate, ToolCallContent};

/// The whole conversation: prompts, answers, and each call with what its card shows.
pub fn markdown(history: &[SessionUpdate]) -> String {
    let mut out = String::new();
    for update in history {
        match update {
            SessionUpdate::UserMessage(message) => {
                let content = message.content.value().map(Vec::as_slice).unwrap_or_default();
                out.push_str(&format!("## You\n\n{}\n\n", blocks(content)));
            }
            SessionUpdate::AgentMessageChunk(chunk) => {
                out.push_str(&format!("## Copydesk\n\n{}\n\n", block(&chunk.content)));
            }
            SessionUpdate::ToolCallUpdate(card) => {
                let title = card.title.value().map(String::as_str).unwrap_or("Call");
                let status = card.status.value().map(|it| format!("{it:?}").to_lowercase());
                let status = status.map(|it| format!(" ({it})")).unwrap_or_default();
                out.push_str(&format!("### {title}{status}\n\n"));
                for content in card.content.value().into_iter().flatten() {
                    out.push_str(&card_block(content));
                }
            }
            _ => {}
        }
    }
    out
}

fn card_block(content: &ToolCallContent) -> String {
    match content {
        ToolCallContent::Content(it) => format!("```\n{}\n```\n\n", block(&it.content)),
        ToolCallContent::Diff(diff) => match &diff.patch {
            Some(patch) => format!("```diff\n{}\n```\n\n", patch.text.trim_end()),
            None => String::new(),
        },
        _ => String::new(),
    }
}

fn blocks(content: &[ContentBlock]) -> String {
    content.iter().map(block).collect::<Vec<_>>().join("\n\n")
}

fn block(content: &ContentBlock) -> String {
    match content {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::ResourceLink(link) => format!("[{}]({})", link.name, link.uri),
        ContentBlock::Image(_) => "(an image)".into(),
        _ => "(an attachment)".into(),
    }
}

//! Brings a conversation into the order all APIs insist on.
//!
//! After `turns`: roles alternate, the first and the last turn are the user's, no turn is empty, and the calls of an
//! assistant turn are answered, each once and in their order, at the beginning of the user turn that follows.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::{Message, Part, ResultPart, Role};

/// All that one side said before the other spoke.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Turn<'a> {
    pub role: Role,
    pub parts: Vec<Cow<'a, Part>>,
}

pub(crate) fn turns(messages: &[Message]) -> Vec<Turn<'_>> {
    let mut turns = merged(messages);
    if turns.first().is_some_and(|turn| turn.role == Role::Assistant) {
        turns.insert(0, said("(The beginning of the conversation was left out.)"));
    }
    if turns.last().is_some_and(|turn| turn.role == Role::Assistant) {
        let answers = Turn { role: Role::User, parts: Vec::new() };
        turns.push(answers);
    }
    let mut calls: Vec<(String, String)> = Vec::new();
    for turn in &mut turns {
        match turn.role {
            Role::Assistant => calls = calls_of(turn),
            Role::User => answer(turn, &std::mem::take(&mut calls)),
        }
    }
    turns
}

fn merged(messages: &[Message]) -> Vec<Turn<'_>> {
    let mut turns: Vec<Turn<'_>> = Vec::new();
    for message in messages {
        let parts =
            message.parts.iter().filter(|part| counts(message.role, part)).map(Cow::Borrowed);
        match turns.last_mut() {
            Some(turn) if turn.role == message.role => turn.parts.extend(parts),
            _ => {
                let parts: Vec<_> = parts.collect();
                if !parts.is_empty() {
                    turns.push(Turn { role: message.role, parts });
                }
            }
        }
    }
    turns
}

/// Blank text is refused by some APIs, and each kind of part belongs to one side.
fn counts(role: Role, part: &Part) -> bool {
    match (part, role) {
        (Part::Text { text }, _) => !text.trim().is_empty(),
        (Part::Thought { text, signature, opaque }, Role::Assistant) => {
            !text.is_empty() || signature.is_some() || opaque.is_some()
        }
        (Part::ToolCall { .. }, Role::Assistant)
        | (Part::Image { .. }, Role::User)
        | (Part::ToolResult { .. }, Role::User) => true,
        (Part::ToolCall { .. } | Part::Thought { .. }, Role::User)
        | (Part::Image { .. } | Part::ToolResult { .. }, Role::Assistant) => false,
    }
}

/// Ids and names of a turn's calls; a second call with the same id is taken out.
fn calls_of(turn: &mut Turn<'_>) -> Vec<(String, String)> {
    let mut seen = HashSet::new();
    let mut calls = Vec::new();
    turn.parts.retain(|part| match part.as_ref() {
        Part::ToolCall { id, name, .. } => {
            let new = seen.insert(id.clone());
            if new {
                calls.push((id.clone(), name.clone()));
            }
            new
        }
        Part::Text { .. } | Part::Thought { .. } | Part::Image { .. } | Part::ToolResult { .. } => {
            true
        }
    });
    calls
}

fn answer(turn: &mut Turn<'_>, calls: &[(String, String)]) {
    let mut results: Vec<Option<Cow<'_, Part>>> = calls.iter().map(|_| None).collect();
    let mut rest = Vec::new();
    for part in turn.parts.drain(..) {
        let Part::ToolResult { id, name, content, .. } = part.as_ref() else {
            rest.push(part);
            continue;
        };
        match calls.iter().position(|(call, _)| call == id) {
            Some(place) if results[place].is_none() => results[place] = Some(part),
            _ => rest.push(Cow::Owned(Part::Text { text: stray(name, content) })),
        }
    }
    turn.parts = results
        .into_iter()
        .zip(calls)
        .map(|(result, (id, name))| result.unwrap_or_else(|| Cow::Owned(missing(id, name))))
        .chain(rest)
        .collect();
    if turn.parts.is_empty() {
        *turn = said("Continue.");
    }
}

fn said(text: &str) -> Turn<'static> {
    Turn { role: Role::User, parts: vec![Cow::Owned(Part::Text { text: text.to_owned() })] }
}

fn missing(id: &str, name: &str) -> Part {
    Part::ToolResult {
        id: id.to_owned(),
        name: name.to_owned(),
        content: vec![ResultPart::Text {
            text: "The call was interrupted; there is no result.".to_owned(),
        }],
        is_error: true,
    }
}

/// A result whose call is not there (left out of a long history) is still worth reading.
fn stray(name: &str, content: &[ResultPart]) -> String {
    format!("Result of an earlier call of {name}:\n{}", text_of(content))
}

/// The text of a result; never empty, because some APIs refuse an empty one.
pub(crate) fn text_of(content: &[ResultPart]) -> String {
    let texts: Vec<&str> = content
        .iter()
        .filter_map(|part| match part {
            ResultPart::Text { text } if !text.trim().is_empty() => Some(text.as_str()),
            ResultPart::Text { .. } | ResultPart::Image { .. } | ResultPart::Video { .. } => None,
        })
        .collect();
    if !texts.is_empty() {
        texts.join("\n")
    } else {
        match media_of(content).next() {
            Some(Medium::Image { .. }) => "(see the image)".to_owned(),
            Some(Medium::Video { .. }) => "(see the video)".to_owned(),
            None => "(no output)".to_owned(),
        }
    }
}

/// What a result holds besides text; `data` is base64.
#[derive(Clone, Copy)]
pub(crate) enum Medium<'a> {
    Image { media_type: &'a str, data: &'a str },
    Video { media_type: &'a str, data: &'a str },
}

/// What stands for a video where an endpoint takes none.
pub(crate) const NO_VIDEO: &str = "[a video, which this endpoint does not take]";

/// A result's images and videos.
pub(crate) fn media_of(content: &[ResultPart]) -> impl Iterator<Item = Medium<'_>> {
    content.iter().filter_map(|part| match part {
        ResultPart::Image { media_type, data } => Some(Medium::Image { media_type, data }),
        ResultPart::Video { media_type, data } => Some(Medium::Video { media_type, data }),
        ResultPart::Text { .. } => None,
    })
}

#[cfg(test)]
mod tests;

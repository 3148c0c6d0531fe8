//! A decision in words, for the agent.

use std::collections::{BTreeMap, BTreeSet};

use review::{Author, Decision, Hunk};
use text::Rope;

/// Hunks named one by one; more are counted.
const NAMED: usize = 8;
/// Characters of a line that is quoted, and of a comment.
const QUOTED: usize = 100;
const COMMENT: usize = 2_000;
/// Characters of a hunk that is shown as the person changed it.
const AMENDED: usize = 1_000;

/// What is to be told, by session.
#[derive(Default)]
pub struct Told {
    sessions: BTreeMap<String, Vec<String>>,
}

impl Told {
    /// Adds one hunk, for the sessions it comes from but those that hear of it otherwise.
    pub fn add(&mut self, words: &str, hunk: &Hunk, otherwise: &BTreeSet<String>) {
        let sessions = std::iter::once(&hunk.origin.session).chain(&hunk.origin.others);
        for session in sessions.filter(|it| !otherwise.contains(*it)) {
            self.sessions.entry(session.clone()).or_default().push(words.to_owned());
        }
    }

    /// One short message a session.
    pub fn messages(self, comment: Option<&str>) -> Vec<(String, String)> {
        let comment = comment.map(str::trim).filter(|it| !it.is_empty());
        let message = |mut hunks: Vec<String>| {
            let more = hunks.len().saturating_sub(NAMED);
            hunks.truncate(NAMED);
            let mut text = format!("Review: the person {}", hunks.join("; "));
            if more > 0 {
                text.push_str(&format!("; and {more} more"));
            }
            text.push('.');
            if let Some(comment) = comment {
                text.push_str(" They say: ");
                text.extend(comment.chars().take(COMMENT));
            }
            text
        };
        self.sessions.into_iter().map(|(session, hunks)| (session, message(hunks))).collect()
    }
}

/// A decision on one hunk of a file. `text` is what `hunk.now` refers to.
pub fn words(file: &str, text: &Rope, hunk: &Hunk, decision: Decision) -> String {
    let line = text.byte_to_line(hunk.now.start.min(text.len_bytes())) + 1;
    let new = first_line(&hunk.new);
    let own = match hunk.author {
        Author::Agent => "",
        Author::Mixed => " (with the person's own changes inside)",
    };
    match decision {
        Decision::Accept if hunk.author == Author::Mixed => format!(
            "accepted {file}:{line} with the person's own changes; it now reads\n{}\n",
            amended(&hunk.new)
        ),
        Decision::Accept => format!("accepted {file}:{line} `{new}`"),
        Decision::Reject => {
            let old = first_line(&hunk.old);
            format!("rejected {file}:{line} `{new}`; there is `{old}` again{own}")
        }
    }
}

/// A decision on a file's move.
pub fn move_words(from: &str, to: &str, decision: Decision) -> String {
    match decision {
        Decision::Accept => format!("accepted that {from} is now {to}"),
        Decision::Reject => format!("rejected that {from} is now {to}; it is {from} again"),
    }
}

fn amended(text: &str) -> String {
    let text = text.trim_end_matches(['\r', '\n']);
    let mut short: String = text.chars().take(AMENDED).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn first_line(text: &str) -> String {
    let line = text.lines().find(|it| !it.trim().is_empty()).unwrap_or_default().trim();
    let mut short: String = line.chars().take(QUOTED).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

//! A decision in words, for the agent.

use std::collections::BTreeMap;

use review::{Author, Decision, Hunk};
use text::Rope;

/// Hunks named one by one; more are counted.
const NAMED: usize = 8;
/// Characters of a line that is quoted, and of a comment.
const QUOTED: usize = 100;
const COMMENT: usize = 2_000;

/// What is to be told, by session.
#[derive(Default)]
pub struct Told {
    sessions: BTreeMap<String, Vec<String>>,
}

impl Told {
    /// Adds one hunk of a file. `text` is what `hunk.now` refers to.
    pub fn add(&mut self, file: &str, text: &Rope, hunk: &Hunk, decision: Decision) {
        let line = text.byte_to_line(hunk.now.start.min(text.len_bytes())) + 1;
        let new = first_line(&hunk.new);
        let own = match hunk.author {
            Author::Agent => "",
            Author::Mixed => " (with the person's own changes inside)",
        };
        let what = match decision {
            Decision::Accept => format!("accepted {file}:{line} `{new}`{own}"),
            Decision::Reject => {
                let old = first_line(&hunk.old);
                format!("rejected {file}:{line} `{new}`; there is `{old}` again{own}")
            }
        };
        for session in std::iter::once(&hunk.origin.session).chain(&hunk.origin.others) {
            self.sessions.entry(session.clone()).or_default().push(what.clone());
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

fn first_line(text: &str) -> String {
    let line = text.lines().find(|it| !it.trim().is_empty()).unwrap_or_default().trim();
    let mut short: String = line.chars().take(QUOTED).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

//! Takes a script apart at the places where the shell does.
//!
//! Invariant: where the two could differ the result is marked opaque; nothing is lost from it.

use crate::tool::Failure;

/// A command split where the shell splits it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// The commands between `;`, `&`, `|` and line ends, outside quotes.
    pub commands: Vec<String>,
    /// Whether quoting, substitutions, redirections or grouping go beyond a plain list of commands.
    pub opaque: bool,
    /// Whether a lone `&` leaves something running.
    pub background: bool,
    /// Words that the shell takes as patterns of file names.
    pub globs: Vec<String>,
    /// Files that output is sent to.
    pub redirected: Vec<String>,
}

/// The word that is being read, without its quotes.
#[derive(Default)]
struct Word {
    text: String,
    is_glob: bool,
    is_target: bool,
}

impl Parts {
    fn end_command(&mut self, command: &mut String, word: &mut Word) {
        self.end_word(word);
        word.is_target = false;
        let command = std::mem::take(command);
        if !command.trim().is_empty() {
            self.commands.push(command.trim().to_string());
        }
    }

    fn end_word(&mut self, word: &mut Word) {
        if word.text.is_empty() {
            return;
        }
        let Word { text, is_glob, is_target } = std::mem::take(word);
        if is_glob {
            self.globs.push(text.clone());
        }
        if is_target {
            self.redirected.push(text);
        }
    }
}

/// Splits a script.
pub fn split(script: &str) -> Parts {
    let script = script.replace("\\\n", "");
    let mut parts = Parts::default();
    let mut current = String::new();
    let mut word = Word::default();
    let mut quote: Option<char> = None;
    let mut chars = script.chars().peekable();
    while let Some(it) = chars.next() {
        // Any expansion can become any word.
        parts.opaque |= quote != Some('\'') && matches!(it, '$' | '`');
        match (quote, it) {
            (Some(open), close) if open == close => quote = None,
            (Some('"') | None, '\\') => {
                current.push(it);
                match chars.next() {
                    Some(next) => {
                        current.push(next);
                        word.text.push(next);
                    }
                    None => parts.opaque = true,
                }
                continue;
            }
            (Some(_), _) => word.text.push(it),
            (None, '\'' | '"') => quote = Some(it),
            (None, '&') if word.is_target && word.text.is_empty() => {}
            (None, '&') if chars.peek() == Some(&'>') => {}
            (None, ';' | '|' | '&' | '\n') => {
                let twice = it == '&' && chars.next_if_eq(&'&').is_some();
                let piped = it == '|' && chars.next_if_eq(&'&').is_some();
                parts.background |= it == '&' && !twice && !piped;
                parts.end_command(&mut current, &mut word);
                continue;
            }
            (None, '>') => {
                parts.opaque = true;
                parts.end_word(&mut word);
                // `>|` is one sign.
                chars.next_if_eq(&'|');
                word.is_target = true;
            }
            (None, '(' | ')' | '{' | '}' | '<') => {
                parts.opaque = true;
                parts.end_word(&mut word);
            }
            (None, '#') if word.text.is_empty() => parts.opaque = true,
            (None, it) if it.is_whitespace() => parts.end_word(&mut word),
            (None, it) => {
                word.is_glob |= matches!(it, '*' | '?' | '[');
                word.text.push(it);
            }
        }
        current.push(it);
    }
    parts.opaque |= quote.is_some();
    parts.end_command(&mut current, &mut word);
    parts
}

/// Splits a command into words, quotes removed.
pub fn words(command: &str) -> Result<Vec<String>, Failure> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut chars = command.chars();
    while let Some(it) = chars.next() {
        match (quote, it) {
            (Some(open), close) if open == close => quote = None,
            (Some('"') | None, '\\') => {
                if let Some(next) = chars.next() {
                    word.get_or_insert_default().push(next);
                }
            }
            (Some(_), it) => word.get_or_insert_default().push(it),
            (None, '\'' | '"') => {
                quote = Some(it);
                word.get_or_insert_default();
            }
            (None, it) if it.is_whitespace() => words.extend(word.take()),
            (None, it) => word.get_or_insert_default().push(it),
        }
    }
    words.extend(word);
    match quote {
        Some(quote) => Err(Failure::new(format!("The command has an unclosed {quote}."))),
        None => Ok(words),
    }
}

/// Without quotes and backslashes; `$'x'` loses its sign too.
pub(super) fn unquoted(command: &str) -> String {
    let command = command.replace("$'", "'").replace("$\"", "\"");
    command.chars().filter(|it| !matches!(it, '\'' | '"' | '\\')).collect()
}

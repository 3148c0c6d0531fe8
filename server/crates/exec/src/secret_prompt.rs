//! Whether a program waits for a password: it does not echo what is typed, and its last words ask
//! for something.
//!
//! A wrong "yes" costs the person a key, a wrong "no" could show a model's guess to the wrong program;
//! both signs have to be there.

/// What a terminal does with what is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Echo {
    /// It shows it.
    Shown,
    /// It takes whole lines and shows nothing.
    HiddenLines,
    /// The program takes key by key and shows what it likes.
    Program,
}

const SECRETS: &[&str] = &[
    "password",
    "passphrase",
    "passwort",
    "passcode",
    "kennwort",
    "mot de passe",
    "contraseña",
    "密码",
    "パスワード",
    "pin",
    "secret",
    "token",
    "one-time",
    "otp",
    "verification code",
    "api key",
];

/// Longest line that is taken for a question.
const LONGEST: usize = 160;

/// `line`: the cursor's row up to the cursor.
pub(crate) fn asks(line: &str, echo: Echo) -> bool {
    let line = line.trim().to_lowercase();
    if line.is_empty() || LONGEST < line.chars().count() {
        return false;
    }
    let ends = line.ends_with([':', '：', '?', '>']);
    let named = SECRETS.iter().any(|secret| has_word(&line, secret));
    match echo {
        Echo::Shown => false,
        Echo::HiddenLines => ends || named,
        // Line editors never echo: only a line that is nothing but the question counts.
        Echo::Program => {
            let plain = !line.contains(['>', '$', '#', '%', '"', '\'', '=', '(', ')', '`']);
            plain && named && line.ends_with([':', '：'])
        }
    }
}

fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let short = word.len() <= 5;
        !short || [before, after].into_iter().flatten().all(|it| !it.is_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::{Echo, asks};

    #[track_caller]
    fn check_secret(line: &str, echo: Echo) {
        assert!(asks(line, echo), "{line} {echo:?}");
    }

    #[track_caller]
    fn check_plain(line: &str, echo: Echo) {
        assert!(!asks(line, echo), "{line} {echo:?}");
    }

    #[test]
    fn hidden_lines_after_a_question_are_secrets() {
        check_secret("Password: ", Echo::HiddenLines);
        check_secret("[sudo] password for me: ", Echo::HiddenLines);
        check_secret("me@host's password:", Echo::HiddenLines);
        check_secret("Enter passphrase for key '/home/me/.ssh/id':", Echo::HiddenLines);
        check_secret("Anything at all?", Echo::HiddenLines);
        check_secret("Passwort", Echo::HiddenLines);
        check_plain("", Echo::HiddenLines);
        check_plain("compiling", Echo::HiddenLines);
        check_plain("Password: ", Echo::Shown);
    }

    #[test]
    fn line_editors_are_asked_for_secrets_only_by_the_whole_line() {
        check_secret("Password: ", Echo::Program);
        check_secret("Password for user postgres:", Echo::Program);
        check_secret("PIN:", Echo::Program);
        check_plain("spin:", Echo::Program);
        check_plain(">>> password:", Echo::Program);
        check_plain("$ echo password:", Echo::Program);
        check_plain(">>> ", Echo::Program);
        check_plain("(gdb) ", Echo::Program);
    }
}

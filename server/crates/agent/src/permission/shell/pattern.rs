//! Patterns of rules for commands.

/// `npm run test:*` is a prefix that ends at a word; `*` elsewhere stands for anything.
pub(super) fn matches(command: &str, pattern: &str) -> bool {
    let command = command.trim();
    if let Some(prefix) = pattern.strip_suffix(":*") {
        let rest = command.strip_prefix(prefix);
        return rest.is_some_and(|it| it.is_empty() || it.starts_with(char::is_whitespace));
    }
    if let Some(prefix) = pattern.strip_suffix(" *")
        && !prefix.contains('*')
    {
        let rest = command.strip_prefix(prefix);
        return rest.is_some_and(|it| it.is_empty() || it.starts_with(char::is_whitespace));
    }
    wildcard(command.as_bytes(), pattern.as_bytes())
}

/// `*` is any run of bytes, everything else is literal.
fn wildcard(text: &[u8], pattern: &[u8]) -> bool {
    let (mut t, mut p) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && pattern[p] == text[t] {
            p += 1;
            t += 1;
        } else if let Some((star_p, star_t)) = star {
            p = star_p + 1;
            t = star_t + 1;
            star = Some((star_p, star_t + 1));
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|&it| it == b'*')
}

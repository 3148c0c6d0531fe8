//! Whether a script would sit and wait for a person's keys.

/// Why a script is likely to wait for keys, with what to do instead; `None` when it is not, or
/// when it cannot be understood.
pub fn interactive_reason(_script: &str) -> Option<String> {
    None
}

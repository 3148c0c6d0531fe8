//! Input for a terminal: text with named keys in it, and the bytes a keyboard would send for them.
//!
//! Everything that is no name of a key is text, newlines included; `<lt>` is a `<`.

/// What the cursor keys send; the program chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorKeys {
    Normal,
    Application,
}

/// A piece of input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stroke {
    Text(String),
    Key(Key),
}

/// A key with what is held down beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    code: Code,
    held: Held,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Code {
    Enter,
    Tab,
    Esc,
    Backspace,
    Char(char),
    /// Arrows, home and end, by their final letter.
    Cursor(char),
    /// Sent as a number and a tilde.
    Numbered(u8),
    /// F1 to F4, by their final letter.
    Function(char),
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Held {
    ctrl: bool,
    alt: bool,
    shift: bool,
}

/// Longest name between `<` and `>`.
const NAME: usize = 24;

/// Takes input apart.
pub fn strokes(input: &str) -> Vec<Stroke> {
    let mut strokes = Vec::new();
    let mut text = String::new();
    let mut rest = input;
    while let Some(at) = rest.find('<') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        match named(rest) {
            Some((key, len)) => {
                rest = &rest[len..];
                match key {
                    Named::Less => text.push('<'),
                    Named::Key(key) => {
                        flush(&mut text, &mut strokes);
                        strokes.push(Stroke::Key(key));
                    }
                }
            }
            None => {
                text.push('<');
                rest = &rest[1..];
            }
        }
    }
    text.push_str(rest);
    flush(&mut text, &mut strokes);
    strokes
}

impl Stroke {
    /// Whether it sends a line on its way.
    pub(crate) fn ends_line(&self) -> bool {
        match self {
            Stroke::Text(text) => text.ends_with('\r'),
            Stroke::Key(key) => key.code == Code::Enter,
        }
    }

    /// What a keyboard sends for it.
    pub(crate) fn bytes(&self, cursor: CursorKeys) -> Vec<u8> {
        match self {
            Stroke::Text(text) => text.clone().into_bytes(),
            Stroke::Key(key) => key.bytes(cursor),
        }
    }
}

/// A newline is what the enter key sends; each line is a stroke of its own.
fn flush(text: &mut String, strokes: &mut Vec<Stroke>) {
    let typed = std::mem::take(text).replace("\r\n", "\r").replace('\n', "\r");
    strokes.extend(typed.split_inclusive('\r').map(|line| Stroke::Text(line.to_owned())));
}

enum Named {
    Less,
    Key(Key),
}

/// The key that `text` begins with, and how many bytes name it.
fn named(text: &str) -> Option<(Named, usize)> {
    // A `>` may be a key itself: `<c-x>` ends at the first one.
    let end = text.bytes().take(NAME + 2).position(|byte| byte == b'>')?;
    let name = text.get(1..end)?.to_ascii_lowercase();
    if name == "lt" {
        return Some((Named::Less, end + 1));
    }
    let mut held = Held::default();
    let mut name = name.as_str();
    while let Some((modifier, rest)) = name.split_once('-').filter(|(_, rest)| !rest.is_empty()) {
        match modifier {
            "c" | "ctrl" | "control" => held.ctrl = true,
            "m" | "a" | "alt" | "meta" => held.alt = true,
            "s" | "shift" => held.shift = true,
            _ => return None,
        }
        name = rest;
    }
    let code = code(name, held)?;
    Some((Named::Key(Key { code, held }), end + 1))
}

fn code(name: &str, held: Held) -> Option<Code> {
    Some(match name {
        "enter" | "return" | "cr" => Code::Enter,
        "tab" => Code::Tab,
        "esc" | "escape" => Code::Esc,
        "backspace" | "bs" => Code::Backspace,
        "space" => Code::Char(' '),
        "up" => Code::Cursor('A'),
        "down" => Code::Cursor('B'),
        "right" => Code::Cursor('C'),
        "left" => Code::Cursor('D'),
        "end" => Code::Cursor('F'),
        "home" => Code::Cursor('H'),
        "insert" => Code::Numbered(2),
        "delete" => Code::Numbered(3),
        "pageup" | "pgup" => Code::Numbered(5),
        "pagedown" | "pgdn" => Code::Numbered(6),
        "f1" => Code::Function('P'),
        "f2" => Code::Function('Q'),
        "f3" => Code::Function('R'),
        "f4" => Code::Function('S'),
        "f5" => Code::Numbered(15),
        "f6" => Code::Numbered(17),
        "f7" => Code::Numbered(18),
        "f8" => Code::Numbered(19),
        "f9" => Code::Numbered(20),
        "f10" => Code::Numbered(21),
        "f11" => Code::Numbered(23),
        "f12" => Code::Numbered(24),
        _ => {
            let mut chars = name.chars();
            let (Some(c), None) = (chars.next(), chars.next()) else { return None };
            // A single letter alone is more likely markup than a key.
            let known = if held.ctrl { control(c).is_some() } else { held.alt };
            if !known || held.shift {
                return None;
            }
            Code::Char(c)
        }
    })
}

/// The byte of a character with the control key held.
fn control(c: char) -> Option<u8> {
    Some(match c {
        'a'..='z' => u8::try_from(c).ok()? & 0x1f,
        ' ' | '@' => 0,
        '[' => 0x1b,
        '\\' => 0x1c,
        ']' => 0x1d,
        '^' => 0x1e,
        '_' | '/' | '-' => 0x1f,
        '?' => 0x7f,
        _ => return None,
    })
}

impl Key {
    fn bytes(self, cursor: CursorKeys) -> Vec<u8> {
        let Held { ctrl, alt, shift } = self.held;
        let modifiers = 1 + u8::from(shift) + 2 * u8::from(alt) + 4 * u8::from(ctrl);
        let plain = modifiers == 1;
        let escape = |bytes: Vec<u8>| if alt { [vec![0x1b], bytes].concat() } else { bytes };
        match self.code {
            Code::Enter => escape(b"\r".to_vec()),
            Code::Tab if shift => escape(b"\x1b[Z".to_vec()),
            Code::Tab => escape(b"\t".to_vec()),
            Code::Esc => escape(b"\x1b".to_vec()),
            Code::Backspace if ctrl => escape(vec![0x08]),
            Code::Backspace => escape(vec![0x7f]),
            Code::Char(c) => match control(c).filter(|_| ctrl) {
                Some(byte) => escape(vec![byte]),
                None => escape(c.to_string().into_bytes()),
            },
            Code::Cursor(letter) => match cursor {
                _ if !plain => format!("\x1b[1;{modifiers}{letter}").into_bytes(),
                CursorKeys::Normal => format!("\x1b[{letter}").into_bytes(),
                CursorKeys::Application => format!("\x1bO{letter}").into_bytes(),
            },
            Code::Numbered(number) if plain => format!("\x1b[{number}~").into_bytes(),
            Code::Numbered(number) => format!("\x1b[{number};{modifiers}~").into_bytes(),
            Code::Function(letter) if plain => format!("\x1bO{letter}").into_bytes(),
            Code::Function(letter) => format!("\x1b[1;{modifiers}{letter}").into_bytes(),
        }
    }
}

#[cfg(test)]
mod tests;

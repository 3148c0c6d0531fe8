//! Terminal output as the text that stays on the screen.
//!
//! Carriage returns, cursor movement and erasing are resolved, colours and other escapes dropped.
//! Work and memory are linear in the input.

use std::borrow::Cow;

/// Columns beyond this are not padded out: a program may move the cursor anywhere.
const MAX_COLUMN: usize = 4096;

/// What a person would be left with after `bytes` went to a terminal of unlimited size. Invalid
/// UTF-8 becomes U+FFFD.
pub fn final_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if !text.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return text.into_owned();
    }
    let mut screen = Screen { lines: vec![Vec::new()], row: 0, column: 0 };
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            '\n' => screen.newline(),
            '\r' => screen.column = 0,
            '\u{8}' => screen.column = screen.column.saturating_sub(1),
            '\t' => screen.put('\t'),
            '\u{1b}' => escape(&mut rest, &mut screen),
            c if c.is_control() => {}
            c => screen.put(c),
        }
    }
    screen.text()
}

/// Length of the unfinished character or escape sequence that `bytes` end with: more output may
/// complete it.
pub(crate) fn unfinished(bytes: &[u8]) -> usize {
    unfinished_character(bytes).max(unfinished_escape(bytes))
}

struct Screen {
    lines: Vec<Vec<char>>,
    row: usize,
    column: usize,
}

impl Screen {
    fn put(&mut self, c: char) {
        let line = &mut self.lines[self.row];
        if line.len() < self.column {
            line.resize(self.column, ' ');
        }
        match line.get_mut(self.column) {
            Some(cell) => *cell = c,
            None => line.push(c),
        }
        self.column += 1;
    }

    fn newline(&mut self) {
        self.row += 1;
        if self.row == self.lines.len() {
            self.lines.push(Vec::new());
        }
        self.column = 0;
    }

    fn control(&mut self, parameters: &str, command: char) {
        let number = parameters.split(';').next().and_then(|p| p.parse::<usize>().ok());
        let count = number.unwrap_or(1).max(1);
        match command {
            'A' => self.row = self.row.saturating_sub(count),
            'B' => self.row = self.row.saturating_add(count).min(self.lines.len() - 1),
            'C' => self.column = self.column.saturating_add(count).min(MAX_COLUMN),
            'D' => self.column = self.column.saturating_sub(count),
            'E' => {
                self.control(parameters, 'B');
                self.column = 0;
            }
            'F' => {
                self.control(parameters, 'A');
                self.column = 0;
            }
            'G' => self.column = (count - 1).min(MAX_COLUMN),
            'K' => self.erase_line(number.unwrap_or(0)),
            // Erasing the whole screen keeps what was printed: the reader of a log wants it.
            'J' if number.unwrap_or(0) == 0 => {
                self.erase_line(0);
                self.lines.truncate(self.row + 1);
            }
            _ => {}
        }
    }

    fn erase_line(&mut self, kind: usize) {
        let line = &mut self.lines[self.row];
        match kind {
            0 => line.truncate(self.column),
            1 => {
                let end = (self.column + 1).min(line.len());
                line[..end].fill(' ');
            }
            _ => line.clear(),
        }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (index, line) in self.lines.iter().enumerate() {
            if index > 0 {
                text.push('\n');
            }
            text.extend(line);
        }
        text
    }
}

/// Consumes what follows an ESC.
fn escape(rest: &mut std::str::Chars<'_>, screen: &mut Screen) {
    match rest.next() {
        Some('[') => {
            let mut parameters = String::new();
            for c in rest.by_ref() {
                match c {
                    '\u{40}'..='\u{7e}' => return screen.control(&parameters, c),
                    '\u{20}'..='\u{3f}' => parameters.push(c),
                    // Not a sequence after all; the odd character goes with it.
                    _ => return,
                }
            }
        }
        Some(']' | 'P' | 'X' | '^' | '_') => {
            let inside = rest.clone();
            while let Some(c) = rest.next() {
                match c {
                    '\u{7}' => return,
                    '\u{1b}' => {
                        rest.next();
                        return;
                    }
                    // No program's title or link has lines: it was no sequence, and must not
                    // swallow what follows.
                    '\n' => {
                        *rest = inside;
                        return;
                    }
                    _ => {}
                }
            }
        }
        Some('(' | ')' | '*' | '+' | '#' | '%' | ' ') => {
            rest.next();
        }
        Some(_) | None => {}
    }
}

fn unfinished_character(bytes: &[u8]) -> usize {
    let window = &bytes[bytes.len().saturating_sub(4)..];
    for start in (0..window.len()).rev() {
        let needed = match window[start] {
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            0x80..=0xBF => continue,
            _ => return 0,
        };
        let have = window.len() - start;
        return if have < needed { have } else { 0 };
    }
    0
}

fn unfinished_escape(bytes: &[u8]) -> usize {
    // Longer ones are no sequences a program prints; waiting for their end would hide output.
    const LONGEST: usize = 256;
    let window = &bytes[bytes.len().saturating_sub(LONGEST)..];
    let Some(start) = window.iter().rposition(|byte| *byte == 0x1b) else { return 0 };
    let sequence = &window[start + 1..];
    let complete = match sequence.first() {
        None => false,
        Some(b'[') => sequence[1..].iter().any(|byte| !(0x20..=0x3f).contains(byte)),
        Some(b']' | b'P' | b'X' | b'^' | b'_') => {
            sequence.iter().any(|byte| matches!(byte, 7 | b'\n'))
        }
        Some(b'(' | b')' | b'*' | b'+' | b'#' | b'%' | b' ') => sequence.len() > 1,
        Some(_) => true,
    };
    if complete { 0 } else { window.len() - start }
}

/// The last `count` lines, at most `bytes` long.
pub(crate) fn last_lines(text: &str, count: usize, bytes: usize) -> Cow<'_, str> {
    let trimmed = text.trim_end_matches('\n');
    let line_start = trimmed.rmatch_indices('\n').nth(count - 1).map_or(0, |(index, _)| index + 1);
    let mut start = line_start.max(trimmed.len().saturating_sub(bytes));
    while !trimmed.is_char_boundary(start) {
        start += 1;
    }
    Cow::Borrowed(&trimmed[start..])
}

#[cfg(test)]
mod tests;

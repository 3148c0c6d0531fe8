//! What a terminal shows: the program's output through a terminal emulator, as text.
//!
//! Bounded whatever the program prints: so many cells, so many lines above them, no long strings in
//! escape sequences. Questions of the program (where the cursor is, what kind of terminal this is)
//! are answered, since some wait for that.

use std::sync::{Arc, Mutex};
use std::time::Instant;

use alacritty_terminal::Term;
use alacritty_terminal::event::{Event, EventListener};
use alacritty_terminal::grid::Dimensions;
use alacritty_terminal::index::{Column, Line};
use alacritty_terminal::term::cell::{Cell, Flags};
use alacritty_terminal::term::{Config, TermMode};
use alacritty_terminal::vte::ansi::Processor;

use crate::keys::CursorKeys;
use crate::supervisor::lock;

/// Columns and rows of a terminal at most.
pub const MAX_COLS: u16 = 300;
pub const MAX_ROWS: u16 = 120;
/// Lines kept that scrolled off the top.
pub const MAX_HISTORY: usize = 500;

/// Bytes of a title, a link or the like.
const OSC: usize = 1024;
/// Marks above and below one character.
const MARKS: usize = 16;
/// Highlighted pieces that are named.
const HIGHLIGHTS: usize = 8;

/// A terminal's screen as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScreenText {
    pub cols: u16,
    pub rows: u16,
    /// Lines that scrolled off the top, as far as asked for; the oldest first.
    pub above: Vec<String>,
    /// The rows, without blanks at their ends and without empty ones at the end.
    pub lines: Vec<String>,
    /// Column and row, counted from 1.
    pub cursor: (usize, usize),
    /// Pieces in reverse colours with their rows counted from 1: where a menu stands, as a rule.
    pub highlighted: Vec<(usize, String)>,
    /// Whether the program took the whole screen.
    pub full: bool,
}

pub(crate) struct Screen {
    term: Term<Replies>,
    parser: Processor,
    replies: Replies,
    osc: OscLimit,
}

#[derive(Clone, Copy)]
struct Size {
    cols: u16,
    rows: u16,
}

impl Dimensions for Size {
    fn total_lines(&self) -> usize {
        self.screen_lines()
    }

    fn screen_lines(&self) -> usize {
        usize::from(self.rows.clamp(1, MAX_ROWS))
    }

    fn columns(&self) -> usize {
        usize::from(self.cols.clamp(2, MAX_COLS))
    }
}

/// What the terminal answers its program.
#[derive(Clone, Default)]
struct Replies(Arc<Mutex<String>>);

impl EventListener for Replies {
    fn send_event(&self, event: Event) {
        match event {
            Event::PtyWrite(text) => lock(&self.0).push_str(&text),
            // The clipboard is the person's, and colours are nobody's business here.
            Event::MouseCursorDirty
            | Event::Title(_)
            | Event::ResetTitle
            | Event::ClipboardStore(_, _)
            | Event::ClipboardLoad(_, _)
            | Event::ColorRequest(_, _)
            | Event::TextAreaSizeRequest(_)
            | Event::CursorBlinkingChange
            | Event::Wakeup
            | Event::Bell
            | Event::Exit
            | Event::ChildExit(_) => {}
        }
    }
}

impl Screen {
    pub(crate) fn new(cols: u16, rows: u16) -> Screen {
        let replies = Replies::default();
        let config = Config { scrolling_history: MAX_HISTORY, ..Config::default() };
        let term = Term::new(config, &Size { cols, rows }, replies.clone());
        Screen { term, parser: Processor::new(), replies, osc: OscLimit::default() }
    }

    /// Takes output in; gives what is to be answered.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Vec<u8> {
        let Screen { term, parser, osc, .. } = self;
        osc.pass(bytes, |piece| parser.advance(term, piece));
        self.bound_marks();
        std::mem::take(&mut *lock(&self.replies.0)).into_bytes()
    }

    pub(crate) fn resize(&mut self, cols: u16, rows: u16) {
        self.term.resize(Size { cols, rows });
    }

    pub(crate) fn cursor_keys(&self) -> CursorKeys {
        if self.term.mode().contains(TermMode::APP_CURSOR) {
            CursorKeys::Application
        } else {
            CursorKeys::Normal
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.term.mode().contains(TermMode::ALT_SCREEN)
    }

    /// The cursor's row up to the cursor.
    pub(crate) fn before_cursor(&self) -> String {
        let cursor = self.term.grid().cursor.point;
        self.row(cursor.line, cursor.column.0)
    }

    /// The rows without blanks at their ends, for looking something up.
    pub(crate) fn plain(&self) -> String {
        self.rows(0, self.term.screen_lines()).join("\n")
    }

    /// The screen with this many lines above it.
    pub(crate) fn text(&mut self, above: usize) -> ScreenText {
        self.end_late_update();
        let grid = self.term.grid();
        let above = above.min(grid.history_size());
        let cursor = grid.cursor.point;
        let mut lines = self.rows(0, self.term.screen_lines());
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        ScreenText {
            cols: u16::try_from(self.term.columns()).unwrap_or(MAX_COLS),
            rows: u16::try_from(self.term.screen_lines()).unwrap_or(MAX_ROWS),
            above: self.rows(-i32::try_from(above).unwrap_or_default(), above),
            lines,
            cursor: (cursor.column.0 + 1, usize::try_from(cursor.line.0).unwrap_or_default() + 1),
            highlighted: self.highlighted(),
            full: self.is_full(),
        }
    }

    fn rows(&self, from: i32, count: usize) -> Vec<String> {
        (from..).take(count).map(|line| self.row(Line(line), self.term.columns())).collect()
    }

    /// A row's first columns.
    fn row(&self, line: Line, cols: usize) -> String {
        let row = &self.term.grid()[line];
        let mut text = String::new();
        for column in 0..cols.min(self.term.columns()) {
            push_cell(&mut text, &row[Column(column)]);
        }
        text.truncate(text.trim_end().len());
        text
    }

    fn highlighted(&self) -> Vec<(usize, String)> {
        let grid = self.term.grid();
        let mut found = Vec::new();
        for line in 0..self.term.screen_lines() {
            let row = &grid[Line(i32::try_from(line).unwrap_or_default())];
            let mut piece = String::new();
            for column in 0..=self.term.columns() {
                let cell = (column < self.term.columns()).then(|| &row[Column(column)]);
                match cell.filter(|it| it.flags.contains(Flags::INVERSE)) {
                    Some(cell) => push_cell(&mut piece, cell),
                    None => {
                        let text = std::mem::take(&mut piece);
                        if !text.trim().is_empty() && found.len() < HIGHLIGHTS {
                            found.push((line + 1, text.trim().to_owned()));
                        }
                    }
                }
            }
        }
        found
    }

    /// A program that began to draw something at once and never said that it is done.
    fn end_late_update(&mut self) {
        let late = self.parser.sync_timeout().sync_timeout();
        if late.is_some_and(|due| due <= Instant::now()) {
            self.parser.stop_sync(&mut self.term);
        }
    }

    /// Any number of marks may be heaped on one character.
    fn bound_marks(&mut self) {
        let (lines, cols) = (self.term.screen_lines(), self.term.columns());
        let grid = self.term.grid_mut();
        for line in 0..lines {
            let row = &mut grid[Line(i32::try_from(line).unwrap_or_default())];
            for column in 0..cols {
                let cell = &mut row[Column(column)];
                if cell.zerowidth().is_some_and(|marks| MARKS < marks.len()) {
                    *cell = Cell { extra: None, ..cell.clone() };
                }
            }
        }
    }
}

fn push_cell(text: &mut String, cell: &Cell) {
    if cell.flags.intersects(Flags::WIDE_CHAR_SPACER | Flags::LEADING_WIDE_CHAR_SPACER) {
        return;
    }
    if cell.flags.contains(Flags::HIDDEN) || cell.c.is_control() {
        text.push(' ');
        return;
    }
    text.push(cell.c);
    text.extend(cell.zerowidth().into_iter().flatten());
}

/// Cuts strings in escape sequences, which the parser would keep whole.
#[derive(Default)]
struct OscLimit {
    state: OscState,
}

#[derive(Clone, Copy, Default)]
enum OscState {
    #[default]
    Outside,
    Escape,
    /// So many bytes of it so far.
    Inside(usize),
}

impl OscLimit {
    fn pass(&mut self, bytes: &[u8], mut take: impl FnMut(&[u8])) {
        let mut from = 0;
        for (at, byte) in bytes.iter().enumerate() {
            self.state = match (self.state, byte) {
                (OscState::Inside(len), _) if len == OSC && !ends(*byte) => {
                    // What was taken until here goes on its way, this byte does not.
                    take(&bytes[from..at]);
                    from = at + 1;
                    OscState::Inside(len)
                }
                (OscState::Inside(len), _) if !ends(*byte) => OscState::Inside(len + 1),
                (_, 0x1b) => OscState::Escape,
                (OscState::Escape, b']') => OscState::Inside(0),
                (OscState::Outside | OscState::Escape | OscState::Inside(_), _) => {
                    OscState::Outside
                }
            };
        }
        take(&bytes[from..]);
    }
}

fn ends(byte: u8) -> bool {
    matches!(byte, 0x07 | 0x18 | 0x1a | 0x1b)
}

#[cfg(test)]
mod tests;

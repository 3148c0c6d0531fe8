//! Between the wire's places and ours: URIs and locations, positions and byte offsets, text edits
//! and change sets.
//!
//! Invariant: whatever URI a client used to open a document is the one it hears back.

use std::collections::HashMap;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};
use protocol::{Position, Range};
use serde::Serialize;
use text::{ChangeSet, Edit, LineBreaks, LineEnding, LineEndings, Rope, Unit};
use vfs::{Eol, Location};

use crate::capabilities::EditorKind;

/// How a client counts lines and columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counting {
    /// What a column counts.
    pub unit: Unit,
    /// What ends a line.
    pub breaks: LineBreaks,
}

/// The clients' own spellings of the documents they have open.
#[derive(Debug, Default)]
pub struct Uris(Mutex<HashMap<Location, String>>);

/// One replacement in the client's terms.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TextEdit {
    /// What is replaced.
    pub range: Range,
    /// What stands there afterwards.
    pub new_text: String,
}

impl Uris {
    /// The client opened a document under this name.
    pub fn opened(&self, uri: &str) -> Location {
        let location = location(uri);
        self.map().insert(location.clone(), uri.to_owned());
        location
    }

    /// The client closed it.
    pub fn closed(&self, location: &Location) {
        self.map().remove(location);
    }

    /// What the client calls a location.
    pub fn of(&self, location: &Location) -> String {
        self.map().get(location).cloned().unwrap_or_else(|| uri(location))
    }

    fn map(&self) -> MutexGuard<'_, HashMap<Location, String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The location a URI names. What is no path on this machine is a document of the editor's alone.
pub fn location(uri: &str) -> Location {
    match file_path(uri) {
        Some(path) => Location::disk(path),
        None => Location::Virtual(uri.to_owned()),
    }
}

/// The URI of a location, every character escaped that some client might misread.
pub fn uri(location: &Location) -> String {
    match location {
        Location::Disk(path) => {
            format!("file://{}", percent_encode(path.as_os_str().as_bytes(), ESCAPED))
        }
        Location::Virtual(uri) => uri.clone(),
    }
}

/// The position of a byte offset.
pub fn position(rope: &Rope, offset: usize, counting: Counting) -> Position {
    let text::Position { line, character } =
        text::position_at(rope, offset, counting.unit, counting.breaks);
    Position { line, character }
}

/// The bytes a range of the client's covers.
pub fn bytes(rope: &Rope, range: Range, counting: Counting) -> std::ops::Range<usize> {
    let breaks = counting.breaks.settled(rope);
    let offset = |at: Position| {
        let at = text::Position { line: at.line, character: at.character };
        text::offset_at(rope, at, counting.unit, breaks)
    };
    let start = offset(range.start);
    start..offset(range.end).max(start)
}

/// A change as the minimal, sorted edits to send for it.
pub fn text_edits(rope: &Rope, changes: &ChangeSet, counting: Counting) -> Vec<TextEdit> {
    let counting = Counting { breaks: counting.breaks.settled(rope), ..counting };
    let edit = |edit: &Edit| TextEdit {
        range: Range {
            start: position(rope, edit.range.start, counting),
            end: position(rope, edit.range.end, counting),
        },
        new_text: edit.text.clone(),
    };
    changes.edits().iter().map(edit).collect()
}

/// The change as it will arrive in the editor's buffer: line endings in new text become the
/// document's own, and no edit begins or ends between a `\r` and its `\n`, which no position names.
pub fn in_own_endings(rope: &Rope, changes: &ChangeSet, eol: Eol, editor: EditorKind) -> ChangeSet {
    let touches_lines = |edit: &Edit| {
        edit.text.contains(['\r', '\n'])
            || splits_crlf(rope, edit.range.start)
            || splits_crlf(rope, edit.range.end)
    };
    if !changes.edits().iter().any(touches_lines) {
        return changes.clone();
    }
    let ending = buffer_ending(rope, eol, editor);
    let edits = changes.edits().iter().map(|edit| {
        let mut edit = edit.clone();
        if splits_crlf(rope, edit.range.start) {
            edit.range.start -= 1;
            edit.text.insert(0, '\r');
        }
        if splits_crlf(rope, edit.range.end) {
            edit.range.end += 1;
            edit.text.push('\n');
        }
        if let Some(ending) = ending {
            edit.text = text::to_ending(&edit.text, ending);
        }
        edit
    });
    // Two edits that both had to give way to one `\r\n` would overlap; then they stay as they were.
    ChangeSet::new(changes.len_before(), edits.collect()).unwrap_or_else(|_| changes.clone())
}

/// The one ending new lines get, or `None` where they are sent as they are.
fn buffer_ending(rope: &Rope, eol: Eol, editor: EditorKind) -> Option<LineEnding> {
    let endings = LineEndings::of(rope);
    if endings.is_mixed() {
        return match editor {
            EditorKind::Neovim => Some(LineEnding::Lf),
            EditorKind::Other => None,
        };
    }
    if endings != LineEndings::default() {
        return Some(endings.dominant());
    }
    match eol {
        Eol::Lf => Some(LineEnding::Lf),
        Eol::Crlf => Some(LineEnding::CrLf),
        Eol::Cr => Some(LineEnding::Cr),
        Eol::Mixed => None,
    }
}

fn splits_crlf(rope: &Rope, offset: usize) -> bool {
    offset > 0
        && offset < rope.len_bytes()
        && rope.byte(offset) == b'\n'
        && rope.byte(offset - 1) == b'\r'
}

/// Everything but RFC 3986's unreserved characters and the slash.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// The path of a `file:` URI. `#` and `?` are taken as part of it: document URIs have neither
/// fragments nor queries, but clients forget to escape them.
fn file_path(uri: &str) -> Option<PathBuf> {
    let scheme = uri.get(..5)?;
    if !scheme.eq_ignore_ascii_case("file:") {
        return None;
    }
    let rest = &uri[5..];
    let path = match rest.strip_prefix("//") {
        None => rest,
        Some(rest) => {
            let path = rest.find('/').map(|at| rest.split_at(at));
            let (host, path) = path?;
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                return None;
            }
            path
        }
    };
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    if bytes.first() != Some(&b'/') || bytes.contains(&0) {
        return None;
    }
    Some(PathBuf::from(OsString::from_vec(bytes)))
}

#[cfg(test)]
mod tests;

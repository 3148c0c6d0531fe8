//! From text to operations.

use crate::patch::{Chunk, ChunkLine, Note, Operation, Patch, PatchError};
use std::borrow::Cow;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";

/// Reads a patch.
///
/// # Errors
/// The first thing that is not a patch, with its line.
pub fn parse(patch: &str) -> Result<Patch, PatchError> {
    let (patch, notes) = match unwrapped(patch) {
        Some(inner) => {
            let message = "the patch was wrapped in JSON; pass its text alone".to_owned();
            (Cow::Owned(inner), vec![Note { chunk: 0, message }])
        }
        None => (Cow::Borrowed(patch), Vec::new()),
    };
    let lines: Vec<&str> =
        patch.lines().map(|line| line.strip_suffix('\r').unwrap_or(line)).collect();
    let filled = |line: &&str| !line.trim().is_empty();
    let mut begin = lines.iter().position(filled).unwrap_or(0);
    if lines
        .get(begin)
        .is_some_and(|line| line.contains("<<") || line.trim_start().starts_with("```"))
    {
        begin += 1 + lines[begin + 1..].iter().position(filled).unwrap_or(0);
    }
    let padding = match lines.get(begin) {
        Some(line) if line.trim() == BEGIN => &line[..line.len() - line.trim_start().len()],
        Some(_) | None => return error(begin, format!("the first line must be '{BEGIN}'")),
    };
    let Some(end) = (begin + 1..lines.len()).rev().find(|line| lines[*line].trim() == END) else {
        return error(lines.len().saturating_sub(1), format!("the last line must be '{END}'"));
    };
    let mut parser = Parser { lines: &lines[..end], at: begin + 1, padding };
    let mut operations = Vec::new();
    while let Some(operation) = parser.operation()? {
        operations.push(operation);
    }
    if operations.is_empty() {
        return error(end, "the patch holds no operation".to_owned());
    }
    Ok(Patch { operations, notes })
}

fn error<T>(index: usize, message: String) -> Result<T, PatchError> {
    Err(PatchError { line: index + 1, message })
}

/// The patch inside `{"command": ["apply_patch", "*** Begin Patch\n…"]}`.
fn unwrapped(patch: &str) -> Option<String> {
    let patch = patch.trim_start();
    if !patch.starts_with(['{', '[']) {
        return None;
    }
    let start = patch.find(&format!("\"{BEGIN}"))? + 1;
    let mut out = String::new();
    let mut chars = patch[start..].chars();
    loop {
        match chars.next()? {
            '"' => return Some(out),
            '\\' => match chars.next()? {
                'n' => out.push('\n'),
                't' => out.push('\t'),
                'r' => out.push('\r'),
                'u' => {
                    let digits: String = chars.by_ref().take(4).collect();
                    let unit = u32::from_str_radix(&digits, 16).ok()?;
                    out.push(char::from_u32(unit)?);
                }
                other => out.push(other),
            },
            other => out.push(other),
        }
    }
}

struct Parser<'a> {
    /// Up to the end marker.
    lines: &'a [&'a str],
    at: usize,
    /// What stands before the begin marker, and so perhaps before others.
    padding: &'a str,
}

impl<'a> Parser<'a> {
    /// The line at hand as a marker: `***` at its start, or after the patch's own padding.
    fn marker(&self) -> Option<&'a str> {
        let line = self.lines.get(self.at)?;
        let line = line.strip_prefix(self.padding).unwrap_or(line);
        line.starts_with("***").then(|| line.trim_end())
    }

    fn skip_blank(&mut self) {
        while self.lines.get(self.at).is_some_and(|line| line.trim().is_empty()) {
            self.at += 1;
        }
    }

    fn operation(&mut self) -> Result<Option<Operation>, PatchError> {
        self.skip_blank();
        let Some(line) = self.lines.get(self.at) else { return Ok(None) };
        let (start, header) = (self.at, line.trim());
        self.at += 1;
        if let Some(path) = header.strip_prefix("*** Add File:") {
            let path = path_of(path, start)?;
            return Ok(Some(Operation::Add { path, content: self.content()? }));
        }
        if let Some(path) = header.strip_prefix("*** Delete File:") {
            return Ok(Some(Operation::Delete { path: path_of(path, start)? }));
        }
        if let Some(path) = header.strip_prefix("*** Update File:") {
            let path = path_of(path, start)?;
            self.skip_blank();
            let target =
                self.lines.get(self.at).and_then(|line| line.trim().strip_prefix("*** Move to:"));
            let move_to = target.map(|target| path_of(target, self.at)).transpose()?;
            self.at += usize::from(move_to.is_some());
            let chunks = self.chunks()?;
            if chunks.is_empty() && move_to.is_none() {
                return error(start, format!("the update of '{path}' holds no change"));
            }
            return Ok(Some(Operation::Update { path, move_to, chunks }));
        }
        error(
            start,
            format!(
                "'{}' starts no operation; expected '*** Add File: path', '*** Delete File: path' or '*** Update File: path'",
                short(header)
            ),
        )
    }

    fn content(&mut self) -> Result<String, PatchError> {
        let mut content = String::new();
        while let Some(line) = self.lines.get(self.at) {
            if let Some(text) = line.strip_prefix('+') {
                content.push_str(text);
                content.push('\n');
                self.at += 1;
                continue;
            }
            let start = self.at;
            self.skip_blank();
            let done =
                self.lines.get(self.at).is_none_or(|line| line.trim_start().starts_with("*** "));
            if done {
                break;
            }
            return error(
                start,
                format!("'{}': every line of an added file starts with '+'", short(line)),
            );
        }
        Ok(content)
    }

    fn chunks(&mut self) -> Result<Vec<Chunk>, PatchError> {
        let mut chunks = Vec::new();
        loop {
            let start = self.at;
            self.skip_blank();
            let Some(line) = self.lines.get(self.at) else { break };
            if self.marker().is_some() {
                break;
            }
            if !line.starts_with("@@") {
                // Without a header a leading blank line may be meant as one of the file's.
                self.at = if chunks.is_empty() { self.at } else { start };
            }
            chunks.push(self.chunk()?);
        }
        Ok(chunks)
    }

    fn chunk(&mut self) -> Result<Chunk, PatchError> {
        let mut chunk = Chunk { line: self.at + 1, ..Chunk::default() };
        while let Some(header) = self.lines.get(self.at).and_then(|line| line.strip_prefix("@@")) {
            let header = header_text(header);
            if !header.is_empty() {
                chunk.headers.push(header.to_owned());
            }
            self.at += 1;
        }
        while let Some(line) = self.lines.get(self.at) {
            if let Some(marker) = self.marker() {
                if marker == END_OF_FILE {
                    chunk.at_end = true;
                    self.at += 1;
                }
                break;
            }
            if line.starts_with("@@") {
                break;
            }
            chunk.lines.push(match (line.chars().next(), line.get(1..)) {
                (None, _) => ChunkLine::Keep(String::new()),
                (Some(' '), Some(text)) => ChunkLine::Keep(text.to_owned()),
                (Some('-'), Some(text)) => ChunkLine::Remove(text.to_owned()),
                (Some('+'), Some(text)) => ChunkLine::Add(text.to_owned()),
                (Some(_), _) => {
                    let message = "every line of a change starts with ' ' (stays), '-' (goes) or '+' (is new)";
                    return error(self.at, format!("'{}': {message}", short(line)));
                }
            });
            self.at += 1;
        }
        // Unsigned blank lines before a marker only separate.
        let mut last = self.at;
        while !chunk.at_end
            && last > 0
            && self.lines[last - 1].is_empty()
            && !chunk.lines.is_empty()
        {
            last -= 1;
            chunk.lines.pop();
        }
        if chunk.lines.is_empty() {
            return error(chunk.line - 1, "this change holds no lines".to_owned());
        }
        Ok(chunk)
    }
}

/// The text of a header, also of one in unified-diff form (`@@ -1,2 +1,3 @@ text`).
fn header_text(header: &str) -> &str {
    let text = header.strip_prefix(' ').unwrap_or(header);
    let ranges = text.split_once(" @@").filter(|(ranges, _)| {
        ranges.starts_with('-') && ranges.chars().all(|c| c.is_ascii_digit() || "-+, ".contains(c))
    });
    let text = ranges.map_or(text, |(_, rest)| rest.strip_prefix(' ').unwrap_or(rest));
    if text.trim().is_empty() { "" } else { text.trim_end() }
}

fn path_of(text: &str, line: usize) -> Result<String, PatchError> {
    let path = text.trim();
    let quotes = |path: &&str| path.len() > 2 && path.starts_with('"') && path.ends_with('"');
    let path = Some(path).filter(quotes).map_or(path, |path| &path[1..path.len() - 1]);
    if path.is_empty() {
        error(line, "the path is missing".to_owned())
    } else {
        Ok(path.to_owned())
    }
}

/// At most 120 characters of a line.
pub(crate) fn short(line: &str) -> String {
    line.chars().take(120).collect()
}

//! One text searched: a pattern, the bytes of a file or a buffer, and the lines that come of it.
//!
//! The whole text is first asked for any match at all; only what has one is searched line by line.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use grep::matcher::{LineTerminator, Matcher};
use grep::regex::{RegexMatcher, RegexMatcherBuilder};
use grep::searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use super::{GrepLine, GrepMode, GrepPattern, GrepQuery, PatternFault, QueryError};
use crate::encoding::{Detected, Encoding, detect};
use crate::lines::floor;
use crate::wide::Narrowed;
use crate::{binary, disk};

/// Larger files are not read as a whole.
const MAX_WHOLE: usize = 8 << 20;
/// Files up to this size are searched across lines; larger ones not at all.
const MAX_MULTILINE: usize = 64 << 20;
/// The longest line a file read in pieces may have.
const MAX_LINE: usize = 64 << 20;
/// A pattern may take this much memory compiled, and each worker as much again.
const MAX_REGEX: usize = 32 << 20;
/// A worker's buffer is given back when a file made it larger than this.
const KEEP_BUFFER: usize = 8 << 20;

/// A query made ready: what every worker shares.
pub(super) struct Pattern {
    matcher: RegexMatcher,
    pub mode: GrepMode,
    before: usize,
    after: usize,
    multiline: bool,
    reach: Reach,
    crlf: bool,
    pub max_matches: u64,
    pub max_bytes: usize,
    max_line_bytes: usize,
}

/// Matches kept at most, whatever a query says.
const MAX_MATCHES: u64 = 1_000_000;

impl Pattern {
    pub fn new(query: &GrepQuery) -> Result<Pattern, QueryError> {
        let max_matches =
            if query.limits.matches == 0 { MAX_MATCHES } else { query.limits.matches as u64 };
        Ok(Pattern {
            matcher: matcher(&query.pattern)?,
            mode: query.mode,
            before: query.before,
            after: query.after,
            multiline: query.pattern.multiline,
            reach: Reach::of(&query.pattern),
            crlf: minds_crlf(&query.pattern),
            max_matches: max_matches.min(MAX_MATCHES),
            max_bytes: query.limits.bytes.max(1),
            max_line_bytes: query.limits.line_bytes.max(1),
        })
    }
}

/// What of a text a pattern can match, and so what the bytes of a file in some old encoding tell about it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Plain ASCII, which is the same in all of them.
    Ascii,
    /// Any character too: what is no UTF-8 may match once it is decoded.
    Classes,
    /// It names characters beyond ASCII.
    Beyond,
}

impl Reach {
    fn of(pattern: &GrepPattern) -> Reach {
        if !pattern.text.is_ascii() {
            return Reach::Beyond;
        }
        if pattern.literal {
            return Reach::Ascii;
        }
        let mut chars = pattern.text.chars().peekable();
        while let Some(c) = chars.next() {
            let reaches = match c {
                // Classes, their opposites, and characters by number.
                '\\' => chars.next().is_some_and(|c| "wWsSDBpPxuU".contains(c)),
                '.' => true,
                '[' => chars.peek().is_some_and(|c| *c == '^' || *c == '['),
                _ => false,
            };
            if reaches {
                return Reach::Classes;
            }
        }
        Reach::Ascii
    }
}

/// Whether `$` must also stand before `\r\n`; a pattern that speaks of `\r` itself cannot have that.
fn minds_crlf(pattern: &GrepPattern) -> bool {
    !pattern.multiline
        && !pattern.literal
        && pattern.text.contains('$')
        && !pattern.text.contains("\\r")
}

fn matcher(pattern: &GrepPattern) -> Result<RegexMatcher, QueryError> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(pattern.ignore_case)
        .fixed_strings(pattern.literal)
        .size_limit(MAX_REGEX)
        .dfa_size_limit(MAX_REGEX);
    if pattern.multiline {
        builder.dot_matches_new_line(true);
    } else {
        builder.line_terminator(Some(b'\n'));
        if minds_crlf(pattern) {
            builder.crlf(true);
        }
    }
    builder.build(&pattern.text).map_err(|error| {
        let reason = error.to_string();
        if !pattern.multiline && reason.contains("\\n") {
            return QueryError::LineEnd;
        }
        let is_large = reason.contains("size limit");
        let fault = if is_large { PatternFault::Size } else { PatternFault::Syntax };
        let reason = reason
            .lines()
            .last()
            .unwrap_or_default()
            .trim()
            .trim_start_matches("error: ")
            .to_owned();
        QueryError::Pattern { reason, fault }
    })
}

/// What a text gave.
#[derive(Default)]
pub(super) struct Hits {
    pub lines: Vec<GrepLine>,
    /// Matching lines, whether or not they are kept; matches where they are counted.
    pub matches: u64,
    /// A limit ended the search in this text.
    pub truncated: bool,
    pub bytes: usize,
    /// What follows was not searched, and why.
    pub ended: Option<Ended>,
}

/// Why the rest of a text was not searched.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ended {
    Nul,
    LongLine,
}

impl Ended {
    /// What is said of a file.
    pub fn told(self) -> &'static str {
        match self {
            Ended::Nul => "has NUL bytes further on; it was searched up to them",
            Ended::LongLine => "has a line longer than 64 MB; it was searched up to that",
        }
    }
}

const NUL_BYTES: &str = "data with NUL bytes";
/// A file with a NUL before this many bytes is binary; one with a NUL further on is a text that was damaged there, and
/// is searched up to it.
const TEXT_HEAD: usize = 64 << 10;
/// Where a text of two or four bytes a character shows that it is one.
const WIDE_HEAD: usize = 1 << 10;

/// Why a file was not searched.
pub(super) enum Skipped {
    /// With this name for what it is, and whether something in it matches, where that is known.
    Binary(&'static str, Option<Matches>),
    Unreadable(io::Error),
}

/// What is known of a binary file.
pub(super) struct Matches;

/// One worker's tools.
pub(super) struct Scanner<'a> {
    pattern: &'a Pattern,
    /// Of one's own, since a shared one hands out its memory in turn.
    matcher: RegexMatcher,
    searcher: Searcher,
    buffer: Vec<u8>,
    stop: &'a AtomicBool,
}

impl<'a> Scanner<'a> {
    /// A set `stop` ends a search in a large file too.
    pub fn new(pattern: &'a Pattern, stop: &'a AtomicBool) -> Scanner<'a> {
        let searcher = searcher(pattern)
            .multi_line(pattern.multiline)
            .bom_sniffing(false)
            .binary_detection(BinaryDetection::none())
            .build();
        Scanner { pattern, matcher: pattern.matcher.clone(), searcher, buffer: Vec::new(), stop }
    }

    /// Searches a text in memory; what makes files binary makes no buffer so.
    pub fn text(&mut self, text: &str) -> Hits {
        self.lines(text.as_bytes())
    }

    /// Searches a file; `None` when nothing in it matches.
    pub fn file(&mut self, path: &Path) -> Result<Option<Hits>, Skipped> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let max = if self.pattern.multiline { MAX_MULTILINE } else { MAX_WHOLE };
        let result = match read_whole(path, &mut buffer, max) {
            Ok(Some(len)) => self.bytes(&buffer[..len]),
            Ok(None) => self.large_file(path),
            Err(error) => Err(Skipped::Unreadable(error)),
        };
        if buffer.len() <= KEEP_BUFFER {
            self.buffer = buffer;
        }
        result
    }

    fn bytes(&mut self, bytes: &[u8]) -> Result<Option<Hits>, Skipped> {
        let wide = is_wide(bytes);
        let is_text = || bytes.is_ascii() || std::str::from_utf8(bytes).is_ok();
        let mut text = if wide || (self.pattern.reach == Reach::Beyond && !is_text()) {
            decoded(bytes)
        } else {
            Cow::Borrowed(bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes))
        };
        if !self.has_match(&text) {
            if wide || self.pattern.reach != Reach::Classes || is_text() {
                return Ok(None);
            }
            if memchr::memchr(0, bytes).is_some() {
                return Ok(None);
            }
            text = decoded(bytes);
            if !self.has_match(&text) {
                return Ok(None);
            }
        }
        if let Cow::Borrowed(bytes) = text {
            // Only what may be shown is looked at more closely.
            if let Some(nul) = memchr::memchr(0, bytes) {
                return self.before(bytes, nul);
            }
            if std::str::from_utf8(bytes).is_err() {
                let text = decoded(bytes);
                return Ok(Some(self.lines(&text)).filter(|hits| hits.matches > 0));
            }
        }
        Ok(Some(self.lines(&text)).filter(|hits| hits.matches > 0))
    }

    /// What a text that turns into something else gives up to there.
    fn before(&mut self, bytes: &[u8], nul: usize) -> Result<Option<Hits>, Skipped> {
        let what = binary::by_magic(bytes);
        let binary = || Err(Skipped::Binary(what.unwrap_or(NUL_BYTES), Some(Matches)));
        // A count of a part would be a wrong one.
        let is_counted = self.pattern.mode == GrepMode::Count;
        if nul < TEXT_HEAD || what.is_some() || is_counted {
            return binary();
        }
        let end = memchr::memrchr(b'\n', &bytes[..nul]).map_or(0, |at| at + 1);
        let text = &bytes[..end];
        let text =
            if std::str::from_utf8(text).is_ok() { Cow::Borrowed(text) } else { decoded(text) };
        let mut hits = self.lines(&text);
        if hits.matches == 0 {
            return binary();
        }
        hits.ended = Some(Ended::Nul);
        Ok(Some(hits))
    }

    fn has_match(&self, text: &[u8]) -> bool {
        // An error is left to the search proper.
        self.matcher.is_match(text).unwrap_or(true)
    }

    fn lines(&mut self, text: &[u8]) -> Hits {
        let mut sink = Lines::new(self.pattern);
        if let Err(error) = self.searcher.search_slice(&self.matcher, text, &mut sink) {
            tracing::warn!(%error, "a search ended early");
        }
        sink.hits
    }

    /// In pieces, for files too large to hold; across lines they are not searched.
    fn large_file(&mut self, path: &Path) -> Result<Option<Hits>, Skipped> {
        if self.pattern.multiline {
            return Err(Skipped::Unreadable(io::Error::other("too large to search across lines")));
        }
        let detected = self.encoding_of_large(path).map_err(Skipped::Unreadable)?;
        let (file, _) = disk::open_regular(path).map_err(Skipped::Unreadable)?;
        let mut builder = searcher(self.pattern);
        builder.binary_detection(BinaryDetection::quit(0)).heap_limit(Some(MAX_LINE));
        let mut sink = Lines::new(self.pattern);
        let reader = Stoppable { file, stop: self.stop };
        let reader: Box<dyn Read> = match detected.encoding {
            Encoding::Utf16Le | Encoding::Utf16Be | Encoding::Utf32Le | Encoding::Utf32Be => {
                builder.bom_sniffing(false);
                Box::new(Narrowed::new(reader, detected))
            }
            Encoding::Legacy(charset) => {
                builder.encoding(grep::searcher::Encoding::new(charset.name()).ok());
                Box::new(reader)
            }
            Encoding::Utf8 => Box::new(reader),
        };
        let searched = builder.build().search_reader(&self.matcher, reader, &mut sink);
        if sink.is_binary && self.pattern.mode == GrepMode::Count {
            return Err(Skipped::Binary(NUL_BYTES, None));
        }
        if sink.is_binary {
            sink.hits.ended = Some(Ended::Nul);
        }
        if let Err(error) = searched {
            // The only limit that such a search has.
            if !error.to_string().contains("allocation limit") {
                return Err(Skipped::Unreadable(error));
            }
            sink.hits.ended = Some(Ended::LongLine);
        }
        match (sink.hits.matches, sink.hits.ended) {
            (1.., _) => Ok(Some(sink.hits)),
            (0, None) => Ok(None),
            (0, Some(Ended::Nul)) => Err(Skipped::Binary(NUL_BYTES, None)),
            (0, Some(Ended::LongLine)) => {
                Err(Skipped::Unreadable(io::Error::other("a line is longer than 64 MB")))
            }
        }
    }

    /// How a file too large to hold is to be read: by its head, and where the pattern needs it by the first bytes in it
    /// that are no UTF-8.
    fn encoding_of_large(&self, path: &Path) -> io::Result<Detected> {
        let (mut file, _) = disk::open_regular(path)?;
        let mut buffer = vec![0; 256 << 10];
        // Bytes of a character that the piece before cut in two.
        let mut kept = 0;
        let mut is_head = true;
        while is_head || self.pattern.reach == Reach::Beyond {
            let read = match file.read(&mut buffer[kept..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                other => other?,
            };
            if read == 0 || self.stop.load(Ordering::Relaxed) {
                break;
            }
            let piece = &buffer[..kept + read];
            if is_head && is_wide(piece) {
                return Ok(detect(&piece[..piece.len() / 4 * 4]));
            }
            is_head = false;
            kept = match std::str::from_utf8(piece) {
                Ok(_) => 0,
                Err(error) if error.error_len().is_none() => piece.len() - error.valid_up_to(),
                Err(error) => {
                    // What is cut off at the end is no sign of anything.
                    let start = error.valid_up_to();
                    let end = memchr::memrchr(b'\n', &piece[start..]).map(|at| start + at + 1);
                    return Ok(detect(&piece[..end.unwrap_or(piece.len())]));
                }
            };
            let len = piece.len();
            buffer.copy_within(len - kept..len, 0);
        }
        Ok(Detected::UTF_8)
    }
}

/// A file that ends when nobody wants it any more.
struct Stoppable<'a> {
    file: File,
    stop: &'a AtomicBool,
}

impl Read for Stoppable<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.stop.load(Ordering::Relaxed) { Ok(0) } else { self.file.read(buffer) }
    }
}

fn searcher(pattern: &Pattern) -> SearcherBuilder {
    let mut builder = SearcherBuilder::new();
    builder.line_number(true);
    if pattern.crlf {
        builder.line_terminator(LineTerminator::crlf());
    }
    if pattern.mode == GrepMode::Lines {
        builder.before_context(pattern.before).after_context(pattern.after);
    }
    builder
}

/// Reads a file into the beginning of `buffer`, which grows and is never cleared; the file's length, or `None` when it
/// is too large for that.
fn read_whole(path: &Path, buffer: &mut Vec<u8>, max: usize) -> io::Result<Option<usize>> {
    let (mut file, stat) = disk::open_regular(path)?;
    let mut len = 0;
    let expected = usize::try_from(stat.len).unwrap_or(usize::MAX);
    let mut room = expected.saturating_add(1);
    loop {
        if len > max || room > max.saturating_add(1) {
            return Ok(None);
        }
        if buffer.len() < room {
            buffer.resize(room, 0);
        }
        match file.read(&mut buffer[len..room]) {
            Ok(0) => return Ok(Some(len)),
            Ok(read) => len += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        // A file that gave what it said it has is at its end; one that says nothing (in /proc) is asked again.
        if len == expected && expected > 0 {
            return Ok(Some(len));
        }
        if len == room {
            room = room.saturating_mul(2).max(64 * 1024);
        }
    }
}

/// Whether bytes are a text of two or four bytes a character.
fn is_wide(bytes: &[u8]) -> bool {
    if bytes.starts_with(b"\xFF\xFE")
        || bytes.starts_with(b"\xFE\xFF")
        || bytes.starts_with(b"\0\0\xFE\xFF")
    {
        return true;
    }
    let head = &bytes[..bytes.len().min(WIDE_HEAD)];
    memchr::memchr(0, head).is_some()
        && binary::by_magic(head).is_none()
        && detect(&head[..head.len() / 4 * 4]).encoding.unit() > 1
        && detect(bytes).encoding.unit() > 1
}

fn decoded(bytes: &[u8]) -> Cow<'_, [u8]> {
    let detected = detect(bytes);
    Cow::Owned(detected.encoding.decode(detected.body(bytes)).into_owned().into_bytes())
}

/// Collects lines up to the limits.
struct Lines<'a> {
    pattern: &'a Pattern,
    hits: Hits,
    /// Found to be no text on the way, so that what was found before counts for nothing.
    is_binary: bool,
}

impl<'a> Lines<'a> {
    fn new(pattern: &'a Pattern) -> Lines<'a> {
        Lines { pattern, hits: Hits::default(), is_binary: false }
    }

    /// Matches in lines that have some.
    fn count(&self, lines: &[u8]) -> u64 {
        let mut text = lines;
        if !self.pattern.multiline {
            text = text.strip_suffix(b"\n").unwrap_or(text);
            if self.pattern.crlf {
                text = text.strip_suffix(b"\r").unwrap_or(text);
            }
        }
        let mut count = 0;
        let counted = self.pattern.matcher.find_iter(text, |found| {
            let is_within = found.start() < lines.len();
            count += u64::from(is_within);
            is_within
        });
        if let Err(error) = counted {
            tracing::warn!(%error, "matches could not be counted");
        }
        count.max(1)
    }
    fn push(&mut self, number: u64, line: &[u8], kind: Kind) {
        let column = match kind {
            Kind::Context => None,
            Kind::Match => Some(
                self.pattern.matcher.find(line).ok().flatten().map_or(0, |found| found.start()),
            ),
        };
        // Only in pieces of a file is there a line that is not decoded yet.
        let line = match std::str::from_utf8(line) {
            Ok(line) => Cow::Borrowed(line),
            Err(_) => detect(line).encoding.decode(line),
        };
        let line = line.strip_suffix('\n').unwrap_or(&line);
        let line = line.strip_suffix('\r').unwrap_or(line);
        let kept = around(line, column.unwrap_or(0), self.pattern.max_line_bytes);
        let text = &line[kept.clone()];
        self.hits.bytes += text.len();
        self.hits.lines.push(GrepLine {
            number,
            text: text.to_owned(),
            is_context: column.is_none(),
            column: column.unwrap_or(0),
            cut_before: kept.start,
            cut_after: line.len() - kept.end,
        });
    }
}

enum Kind {
    Match,
    Context,
}

/// The part of a line around `column` that has at most `max` bytes.
fn around(line: &str, column: usize, max: usize) -> Range<usize> {
    if line.len() <= max {
        return 0..line.len();
    }
    let start = floor(line, column.saturating_sub(max / 4).min(line.len() - max));
    start..floor(line, start + max)
}

impl Sink for Lines<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        match self.pattern.mode {
            GrepMode::Files => {
                self.hits.matches = 1;
                return Ok(false);
            }
            GrepMode::Count => {
                self.hits.matches += self.count(found.bytes());
                return Ok(true);
            }
            GrepMode::Lines => {}
        }
        let first = found.line_number().unwrap_or(0);
        for (number, line) in (first..).zip(found.lines()) {
            if self.hits.matches >= self.pattern.max_matches
                || self.hits.bytes >= self.pattern.max_bytes
            {
                self.hits.truncated = true;
                return Ok(false);
            }
            self.hits.matches += 1;
            self.push(number, line, Kind::Match);
        }
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> io::Result<bool> {
        self.is_binary = true;
        Ok(false)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> io::Result<bool> {
        self.push(found.line_number().unwrap_or(0), found.bytes(), Kind::Context);
        Ok(true)
    }
}

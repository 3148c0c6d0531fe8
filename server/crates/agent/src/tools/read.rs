//! `Read`: shows the lines of a file, an image, pages of a PDF or cells of a notebook.

mod document;
pub mod medium;
mod notebook;

use async_trait::async_trait;
use media::Kind;
use protocol::acp::ToolKind;
use schemars::JsonSchema;
use serde::Deserialize;
use vfs::{Dirty, Location, ReadError, Snapshot, Source};

use crate::bounds;
use crate::dialects::Media;
use crate::place::Place;
use crate::tool::{Access, Card, Content, Cx, Failure, Output, Tool};
use crate::tools::notebook_edit::is_notebook;
use crate::tools::numbering::{self, line_count};
use medium::Medium;

const LINES: usize = 2_000;
const BYTES: usize = 100 * 1024;
const LINE: usize = 2_000;

/// Reads a file as the editor holds it, unsaved changes included, with line numbers. Shows at most
/// 2,000 lines or 100 KB; the last line says what part was shown and where to go on. Also shows
/// images (PNG, JPEG, WebP, GIF, BMP, TIFF), PDFs (20 pages a call) and Jupyter notebooks (cells
/// with their ids and outputs). Read the lines you want to edit first.
#[derive(Deserialize, JsonSchema)]
pub struct Read {
    /// The file: absolute, relative to the working directory, `~/…`, an `untitled:` name, or
    /// `artifact:<id>`.
    file_path: String,
    /// The first line (of a notebook: cell), counted from 1; negative counts from the end.
    offset: Option<i64>,
    /// How many lines (cells).
    #[schemars(range(min = 1))]
    limit: Option<usize>,
    /// Pages of a PDF, e.g. `1-5`; 20 at most.
    pages: Option<String>,
}

#[async_trait]
impl Tool for Read {
    const NAME: &'static str = "Read";
    const ALIASES: &'static [&'static str] = &["read", "ReadFile", "read_file"];
    const FIELDS: &'static [(&'static str, &'static str)] = &[
        ("path", "file_path"),
        ("filePath", "file_path"),
        ("line_offset", "offset"),
        ("n_lines", "limit"),
    ];

    /// What is shown is bounded here: lines count as seen.
    const LONGEST: usize = BYTES + 2 * LINE;

    fn kind() -> ToolKind {
        ToolKind::Read
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        Ok(Access::read(vec![place.target(self.named(place).0)?]))
    }

    fn card(&self, place: &Place) -> Card {
        let (path, cell) = self.named(place);
        let Ok(target) = place.target(path) else {
            return Card::new(format!("Read {}", self.file_path));
        };
        let range = match (self.offset, self.limit) {
            (Some(from), Some(count)) if 0 < from => {
                format!(":{from}-{}", from.saturating_add_unsigned(count as u64) - 1)
            }
            (Some(from), _) => format!(":{from}"),
            (None, _) => String::new(),
        };
        let cell = cell.map(|id| format!("#{id}")).unwrap_or_default();
        let title = format!("Read {}{cell}{range}", place.shown(&target.location));
        let line = self
            .offset
            .filter(|_| cell.is_empty())
            .and_then(|it| u32::try_from(it).ok())
            .filter(|it| 0 < *it);
        Card { title, locations: vec![(target.location, line)] }
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        let (path, cell) = self.named(&cx.place);
        let location = cx.place.target(path)?.location;
        if let Some(found) = medium::of(cx, &location) {
            return self.medium(cx, &found).await;
        }
        let shown = cx.place.shown(&location);
        if self.pages().is_some() {
            return Err(Failure::new(format!(
                "{shown} is no PDF, so it has no pages. Read it without them."
            )));
        }
        let name = shown.to_ascii_lowercase();
        let is_whole = self.offset.is_none() && self.limit.is_none();
        if is_whole && name.ends_with(".svg") && cx.vfs.exists(&location) {
            return Err(medium::drawing(cx, &shown));
        }
        match snapshot(cx, &location).await {
            Ok(snapshot) if is_notebook(&name) && cx.dialect.offers("NotebookEdit") => {
                self.notebook(cx, &snapshot, cell).await
            }
            Ok(snapshot) => self.lines(cx, &snapshot),
            Err(ReadError::TooLarge { .. }) => {
                let cx = cx.clone();
                let read = move || self.lines_of_large(&cx, &location);
                tokio::task::spawn_blocking(read)
                    .await
                    .unwrap_or_else(|err| Err(Failure::new(format!("{shown}: {err}."))))
            }
            Err(err) => Err(failure(cx, err)),
        }
    }
}

impl Read {
    /// The path of the file, and the cell of it that is named.
    fn named(&self, place: &Place) -> (&str, Option<&str>) {
        let is_there =
            |path: &str| place.target(path).is_ok_and(|it| place.vfs.exists(&it.location));
        match self.file_path.rsplit_once('#') {
            Some((path, cell))
                if is_notebook(&path.to_ascii_lowercase())
                    && !is_there(&self.file_path)
                    && is_there(path) =>
            {
                (path, Some(cell))
            }
            Some(_) | None => (&self.file_path, None),
        }
    }

    async fn medium(&self, cx: &Cx, found: &Medium) -> Result<Output, Failure> {
        if found.kind == Kind::Document {
            let range = match self.pages() {
                Some(pages) => document::Range::parse(pages)?,
                None => document::by_offset(self.offset, self.limit)?,
            };
            return document::pages(cx, found, range).await;
        }
        let elsewhere = |what: &str| {
            Failure::new(format!(
                "{} is {what} ({} bytes), not text. Use {} to see it.",
                cx.place.shown(&found.location),
                found.len,
                cx.dialect.called("ViewImage")
            ))
        };
        match (found.kind, cx.dialect.media) {
            (Kind::Picture(kind), Media::Apart) if cx.sees.images => {
                Err(elsewhere(&medium::image_of(kind.name())))
            }
            (Kind::Video(media_type), Media::Apart) if cx.sees.video => {
                Err(elsewhere(&format!("a video, {media_type}")))
            }
            (Kind::Picture(kind), _) => medium::picture(cx, found, kind).await,
            (Kind::Video(media_type), _) => medium::video(cx, found, media_type).await,
            (Kind::Unsupported(name), _) => Err(medium::unsupported(cx, found, name)),
            (Kind::Document, _) => Err(elsewhere("a PDF")),
        }
    }

    async fn notebook(
        &self,
        cx: &Cx,
        snapshot: &Snapshot,
        cell: Option<&str>,
    ) -> Result<Output, Failure> {
        let wanted = notebook::Wanted { cell, offset: self.offset, limit: self.limit };
        match notebook::cells(cx, snapshot, wanted).await {
            Ok(shown) => {
                let mut output = shown?;
                output.content.push(Content::Text(remarks(cx, snapshot).trim_start().to_string()));
                output.content.retain(|it| *it != Content::Text(String::new()));
                Ok(output)
            }
            Err(why) => {
                let mut output = self.lines(cx, snapshot)?;
                output.content.push(Content::Text(format!("[shown as text: {why}]")));
                Ok(output)
            }
        }
    }

    fn lines(&self, cx: &Cx, snapshot: &Snapshot) -> Result<Output, Failure> {
        let text = &snapshot.rope;
        let total = line_count(text);
        if total == 0 {
            cx.session.seen.show_all(&snapshot.location, text);
            return Ok(Output::text(format!("[the file is empty]{}", remarks(cx, snapshot))));
        }
        let first = self.first(cx, total)?;
        let limit = self.limit.unwrap_or(LINES).min(LINES);
        let mut shown = String::new();
        let mut next = first;
        let mut cut = Vec::new();
        let mut why = None;
        while next <= total && next < first + limit {
            let whole = numbering::content(text, next);
            let (line, was_cut) = shortened(&whole);
            let row = format!("{}\n", numbering::row(cx, next, &whole, &line));
            if BYTES < shown.len() + row.len() && first < next {
                why = Some("the 100 KB limit");
                break;
            }
            if was_cut {
                cut.push(next);
            }
            shown.push_str(&row);
            next += 1;
        }
        if why.is_none() && next <= total {
            why = Some(if self.limit.is_some_and(|it| it <= LINES) {
                "limit"
            } else {
                "the 2,000 line limit"
            });
        }
        let end = if next <= total { text.line_to_byte(next - 1) } else { text.len_bytes() };
        cx.session.seen.show(&snapshot.location, text, text.line_to_byte(first - 1)..end);
        let status = status(cx, first, next, total, (why, &cut));
        Ok(Output::text(format!("{shown}{status}{}", remarks(cx, snapshot))))
    }

    /// Only the lines asked for are held; such a file can be read but not edited.
    fn lines_of_large(&self, cx: &Cx, location: &Location) -> Result<Output, Failure> {
        let limit = self.limit.unwrap_or(LINES).min(LINES);
        let first = self.offset.filter(|it| *it != 0).unwrap_or(1);
        let range = cx
            .vfs
            .read_lines(location, first, limit, BYTES, LINE, &|| cx.cancel.is_cancelled())
            .map_err(|err| failure(cx, err))?;
        if range.lines.is_empty() {
            return Err(past_end(cx, first, range.total));
        }
        let mut shown = String::new();
        for (nth, line) in range.lines.iter().enumerate() {
            shown.push_str(&format!("{:>6}\t{line}\n", range.first + nth));
        }
        let next = range.first + range.lines.len();
        let why =
            (next <= range.total).then_some(if range.full { "the 100 KB limit" } else { "limit" });
        let status = status(cx, range.first, next, range.total, (why, &range.cut));
        let encoding = encoding_remark(range.encoding);
        Ok(Output::text(format!("{shown}{status}{encoding} [too large to edit]")))
    }

    fn pages(&self) -> Option<&str> {
        self.pages.as_deref().filter(|it| !it.trim().is_empty())
    }

    fn first(&self, cx: &Cx, total: usize) -> Result<usize, Failure> {
        let offset = self.offset.unwrap_or(1);
        if offset < 0 {
            let back = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
            return Ok(total.saturating_sub(back) + 1);
        }
        let first = usize::try_from(offset).unwrap_or(usize::MAX).max(1);
        if total < first {
            return Err(past_end(cx, offset, total));
        }
        Ok(first)
    }
}

/// The text of a location, unless the call is cancelled meanwhile.
async fn snapshot(cx: &Cx, location: &Location) -> Result<Snapshot, ReadError> {
    if let Some(open) = cx.vfs.open_snapshot(location) {
        return Ok(open);
    }
    let (vfs, cancel, location) = (cx.vfs.clone(), cx.cancel.clone(), location.clone());
    let read = move || vfs.snapshot_unless(&location, &|| cancel.is_cancelled());
    // Only a runtime that ends drops the work.
    tokio::task::spawn_blocking(read).await.unwrap_or(Err(ReadError::Cancelled))
}

fn shortened(line: &str) -> (String, bool) {
    match line.char_indices().nth(LINE) {
        Some((cut, _)) => (format!("{}…", &line[..cut]), true),
        None => (line.to_string(), false),
    }
}

fn is_gone(cx: &Cx, location: &Location) -> bool {
    location.path().is_some_and(|path| cx.vfs.link_stat(path).is_err())
}

/// What was shown, why no more, and which lines were cut.
fn status(
    cx: &Cx,
    first: usize,
    next: usize,
    total: usize,
    (why, cut): (Option<&str>, &[usize]),
) -> String {
    let mut status = format!("[lines {first}-{} of {total}", next - 1);
    if let Some(why) = why {
        status.push_str(&format!("; stopped at {why}; next {} {next}", offset(cx)));
    }
    if !cut.is_empty() {
        let lines: Vec<String> = cut.iter().take(10).map(usize::to_string).collect();
        status.push_str(&format!("; lines cut at {LINE} characters: {}", lines.join(", ")));
    }
    status.push(']');
    status
}

fn remarks(cx: &Cx, snapshot: &Snapshot) -> String {
    let mut remarks = String::new();
    if let Source::Buffer { dirty, .. } = snapshot.source {
        match dirty {
            Dirty::Clean if is_gone(cx, &snapshot.location) => remarks
                .push_str(" [the file is no longer on the disk: this is the editor's buffer]"),
            Dirty::Clean => {}
            Dirty::Ours => remarks.push_str(" [unsaved: the editor's buffer holds edits of yours]"),
            Dirty::Person => {
                remarks.push_str(" [unsaved: this is the editor's buffer, not the file]")
            }
        }
    }
    remarks.push_str(&encoding_remark(snapshot.format.encoding));
    if snapshot.damaged {
        remarks.push_str(" [some bytes are not valid text; they are kept as they are]");
    }
    remarks
}

fn encoding_remark(encoding: vfs::Encoding) -> String {
    let label = encoding.label();
    if label == "utf-8" { String::new() } else { format!(" [encoding {label}]") }
}

fn past_end(cx: &Cx, line: i64, total: usize) -> Failure {
    let (lines, offset) = (bounds::counted(total, "line", "lines"), offset(cx));
    Failure::new(format!(
        "The file has {lines}; there is no line {line}. Use {offset} 1 to {total}."
    ))
}

/// What the first line is called here.
pub fn offset(cx: &Cx) -> &'static str {
    cx.dialect.field("Read", "offset").unwrap_or("offset")
}

/// A failure to read, with what to do instead.
pub fn failure(cx: &Cx, err: ReadError) -> Failure {
    let err = match cx.session.rules().unreadable(&cx.place) {
        Some(denied) => err.without(denied),
        None => err,
    };
    match err {
        ReadError::Cancelled => Failure::Cancelled,
        ReadError::Folder { path } => {
            let (list, find) = (cx.dialect.called("LS"), cx.dialect.called("Glob"));
            let list = if list == find { String::new() } else { format!("{list} to list it or ") };
            let shown = cx.place.shown(&Location::Disk(path));
            Failure::new(format!("{shown} is a folder. Use {list}{find} to find files in it."))
        }
        ReadError::NotFound { .. }
        | ReadError::Special { .. }
        | ReadError::Binary { .. }
        | ReadError::TooLarge { .. }
        | ReadError::Io { .. } => Failure::new(cx.place.told(&format!("{err}."))),
    }
}

//! `Read`: shows the lines of a file, or an image.

use async_trait::async_trait;
use base64::{Engine, engine::general_purpose::STANDARD};
use protocol::acp::ToolKind;
use schemars::JsonSchema;
use serde::Deserialize;
use vfs::{Dirty, Location, ReadError, Snapshot, Source};

use crate::place::Place;
use crate::tool::{Access, Card, Content, Cx, Failure, Output, Tool};
use crate::tools::numbering::{self, line_count};

const LINES: usize = 2_000;
const BYTES: usize = 100 * 1024;
const LINE: usize = 2_000;
/// The largest image handed to a model.
const IMAGE: u64 = 3_900_000;

/// Reads a file as the editor holds it, unsaved changes included, with line numbers. Shows at most
/// 2,000 lines or 100 KB; the last line says what part was shown and where to go on. Also shows
/// images (PNG, JPEG, GIF, WebP). Read the lines you want to edit first.
#[derive(Deserialize, JsonSchema)]
pub struct Read {
    /// The file: absolute, relative to the working directory, `~/…`, an `untitled:` name, or
    /// `artifact:<id>`.
    file_path: String,
    /// The first line, counted from 1; negative counts from the end.
    offset: Option<i64>,
    /// How many lines.
    #[schemars(range(min = 1))]
    limit: Option<usize>,
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

    fn kind() -> ToolKind {
        ToolKind::Read
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        Ok(Access::read(vec![place.target(&self.file_path)?]))
    }

    fn card(&self, place: &Place) -> Card {
        let Ok(target) = place.target(&self.file_path) else {
            return Card::new(format!("Read {}", self.file_path));
        };
        let range = match (self.offset, self.limit) {
            (Some(from), Some(count)) if 0 < from => {
                format!(":{from}-{}", from.saturating_add_unsigned(count as u64) - 1)
            }
            (Some(from), _) => format!(":{from}"),
            (None, _) => String::new(),
        };
        let title = format!("Read {}{range}", place.shown(&target.location));
        let line = self.offset.and_then(|it| u32::try_from(it).ok()).filter(|it| 0 < *it);
        Card { title, locations: vec![(target.location, line)] }
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        let location = cx.place.target(&self.file_path)?.location;
        if let Some(image) = image(cx, &location)? {
            return Ok(image);
        }
        match cx.vfs.snapshot(&location) {
            Ok(snapshot) => self.lines(cx, &snapshot),
            Err(ReadError::TooLarge { .. }) => self.lines_of_large(cx, &location),
            Err(err) => Err(failure(cx, err)),
        }
    }
}

impl Read {
    fn lines(&self, cx: &Cx, snapshot: &Snapshot) -> Result<Output, Failure> {
        let text = &snapshot.rope;
        let total = line_count(text);
        if total == 0 {
            cx.session.seen.show_all(&snapshot.location, text);
            return Ok(Output::text(format!("[the file is empty]{}", remarks(snapshot))));
        }
        let first = self.first(total)?;
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
        let status = status(first, next, total, why, &cut);
        Ok(Output::text(format!("{shown}{status}{}", remarks(snapshot))))
    }

    /// Only the lines asked for are held; such a file can be read but not edited.
    fn lines_of_large(&self, cx: &Cx, location: &Location) -> Result<Output, Failure> {
        let limit = self.limit.unwrap_or(LINES).min(LINES);
        let first = self.offset.unwrap_or(1);
        let range = cx
            .vfs
            .read_lines(location, if first == 0 { 1 } else { first }, limit, BYTES, LINE)
            .map_err(|err| failure(cx, err))?;
        if range.lines.is_empty() {
            return Err(past_end(first, range.total));
        }
        let mut shown = String::new();
        for (nth, line) in range.lines.iter().enumerate() {
            shown.push_str(&format!("{:>6}\t{line}\n", range.first + nth));
        }
        let next = range.first + range.lines.len();
        let why =
            (next <= range.total).then_some(if range.full { "the 100 KB limit" } else { "limit" });
        let status = status(range.first, next, range.total, why, &range.cut);
        Ok(Output::text(format!("{shown}{status} [too large to edit]")))
    }

    fn first(&self, total: usize) -> Result<usize, Failure> {
        let offset = self.offset.unwrap_or(1);
        if offset < 0 {
            let back = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
            return Ok(total.saturating_sub(back) + 1);
        }
        let first = usize::try_from(offset).unwrap_or(usize::MAX).max(1);
        if total < first {
            return Err(past_end(offset, total));
        }
        Ok(first)
    }
}

fn shortened(line: &str) -> (String, bool) {
    match line.char_indices().nth(LINE) {
        Some((cut, _)) => (format!("{}…", &line[..cut]), true),
        None => (line.to_string(), false),
    }
}

fn status(first: usize, next: usize, total: usize, why: Option<&str>, cut: &[usize]) -> String {
    let mut status = format!("[lines {first}-{} of {total}", next - 1);
    if let Some(why) = why {
        status.push_str(&format!("; stopped at {why}; next offset {next}"));
    }
    if !cut.is_empty() {
        let lines: Vec<String> = cut.iter().take(10).map(usize::to_string).collect();
        status.push_str(&format!("; lines cut at {LINE} characters: {}", lines.join(", ")));
    }
    status.push(']');
    status
}

fn remarks(snapshot: &Snapshot) -> String {
    let mut remarks = String::new();
    if let Source::Buffer { dirty, .. } = snapshot.source {
        match dirty {
            Dirty::Clean => {}
            Dirty::Ours => remarks.push_str(" [unsaved: the editor's buffer holds edits of yours]"),
            Dirty::Person => {
                remarks.push_str(" [unsaved: this is the editor's buffer, not the file]")
            }
        }
    }
    let encoding = snapshot.format.encoding.label();
    if encoding != "utf-8" {
        remarks.push_str(&format!(" [encoding {encoding}]"));
    }
    if snapshot.damaged {
        remarks.push_str(" [some bytes are not valid text; they are kept as they are]");
    }
    remarks
}

fn past_end(offset: i64, total: usize) -> Failure {
    Failure::new(format!(
        "The file has {total} lines; there is no line {offset}. Use an offset from 1 to {total}."
    ))
}

/// A failure to read, with what to do instead.
pub fn failure(cx: &Cx, err: ReadError) -> Failure {
    match err {
        ReadError::Folder { path } => Failure::new(format!(
            "{} is a folder. Use {} to list it or {} to find files in it.",
            cx.place.shown(&Location::Disk(path)),
            cx.dialect.called("LS"),
            cx.dialect.called("Glob")
        )),
        ReadError::NotFound { .. }
        | ReadError::Special { .. }
        | ReadError::Binary { .. }
        | ReadError::TooLarge { .. }
        | ReadError::Io { .. } => Failure::new(format!("{err}.")),
    }
}

fn image(cx: &Cx, location: &Location) -> Result<Option<Output>, Failure> {
    let Location::Disk(path) = location else { return Ok(None) };
    if cx.vfs.is_open(location) {
        return Ok(None);
    }
    let extension = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
    let media_type = match extension.as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "heic" | "heif" | "avif" | "bmp" | "tif" | "tiff" => {
            return Err(Failure::new(format!(
                "{} images cannot be shown. Convert it to PNG or JPEG first.",
                extension.to_uppercase()
            )));
        }
        _ => return Ok(None),
    };
    let bytes = cx.vfs.read_bytes(path, IMAGE).map_err(|err| {
        Failure::new(format!(
            "{}: {err}. Images up to {IMAGE} bytes can be shown.",
            cx.place.shown(location)
        ))
    })?;
    let data = STANDARD.encode(&bytes);
    let text = format!("[{media_type}, {} bytes]", bytes.len());
    let content = vec![Content::Text(text), Content::Image { media_type: media_type.into(), data }];
    let card = crate::cards::of_content(&content[..1]);
    Ok(Some(Output { content, card, ..Output::default() }))
}

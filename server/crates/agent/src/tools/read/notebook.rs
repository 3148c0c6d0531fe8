//! A notebook's cells with their outputs: of the file, or as the editor shows them.
//!
//! Invariant: a cell counts as seen only where all of its text was shown, and it is called what
//! `NotebookEdit` calls it.

use std::collections::HashMap;
use std::ops::Range;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;
use text::Rope;
use vfs::{Location, Snapshot};

use super::medium;
use crate::bounds;
use crate::cards;
use crate::editor::CellKind;
use crate::tool::{Content, Cx, Failure, Output};
use crate::tools::notebook_edit::cells::Notebook;
use crate::tools::notebook_edit::{notebook_at, open};

/// Characters of all cells together.
const ROOM: usize = 60_000;
/// Characters of a part of a cell that has more than that.
const PART: usize = 50_000;
/// Characters of one output.
const OUTPUT: usize = 2_000;
/// Outputs of one cell.
const OUTPUTS: usize = 12;
/// Pictures of one call.
const PICTURES: usize = 8;

/// Which cells are asked for.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// One cell, by its id.
    pub cell: Option<&'a str>,
    /// The first cell, or part of the cell named; 1-based, negative counts from the end.
    pub offset: Option<i64>,
    pub limit: Option<usize>,
}

/// A cell as it is shown.
struct Cell {
    id: String,
    kind: String,
    source: String,
    count: Option<u64>,
    outputs: Vec<Value>,
    /// Its document, where the editor shows it.
    document: Option<(Location, Rope)>,
    /// Where it stands in the file, where the file has this text.
    in_file: Option<Range<usize>>,
}

/// The cells for model and card; the error says why the text is no notebook.
pub async fn cells(
    cx: &Cx,
    snapshot: &Snapshot,
    wanted: Wanted<'_>,
) -> Result<Result<Output, Failure>, String> {
    let text = snapshot.rope.to_string();
    let file = in_file(&text)?;
    let as_text = cx.vfs.is_open(&snapshot.location);
    let shown = notebook_at(cx, &snapshot.location).filter(|_| !as_text);
    let (all, remark) = match shown {
        Some((location, open)) => {
            let saved = open::is_saved(cx, &open, &text);
            let known: HashMap<&str, &Cell> = file.iter().map(|it| (it.id.as_str(), it)).collect();
            let cells = open.cells.iter().enumerate().filter_map(|(at, cell)| {
                let rope = open::text_of(cx, &cell.location).ok()?;
                let id = cell.id.clone().unwrap_or_else(|| format!("cell-{at}"));
                let source = rope.to_string().replace("\r\n", "\n");
                let in_file = known.get(id.as_str()).copied();
                let same = in_file.filter(|it| it.source == source);
                Some(Cell {
                    kind: kind_name(cell.kind).into(),
                    count: same.and_then(|it| it.count),
                    outputs: same.map(|it| it.outputs.clone()).unwrap_or_default(),
                    in_file: same.and_then(|it| it.in_file.clone()),
                    document: Some((cell.location.clone(), rope)),
                    id,
                    source,
                })
            });
            let cells: Vec<Cell> = cells.collect();
            // A cell may be put into a notebook that was read, whatever is in it.
            cx.session.seen.show(&location, &snapshot.rope, 0..0);
            let remark = if saved {
                ""
            } else {
                " [unsaved: these are the cells in the editor; outputs are shown where the file has the same text]"
            };
            (cells, remark)
        }
        None => (file, ""),
    };
    let total = all.len();
    if total == 0 {
        cx.session.seen.show_all(&snapshot.location, &snapshot.rope);
        return Ok(Ok(Output::text(format!("[a notebook without cells]{remark}"))));
    }
    let (at, part) = match wanted.cell {
        Some(id) => (all.iter().position(|it| it.id == id).map(|at| at + 1), wanted.offset),
        None => (None, None),
    };
    let first = match (wanted.cell, at) {
        (Some(_), Some(at)) => Ok(at),
        (Some(id), None) => Err(no_cell(id, &all)),
        (None, _) => first(wanted.offset, total, "cell"),
    };
    let first = match first {
        Ok(first) => first,
        Err(failure) => return Ok(Err(failure)),
    };
    let mut page = Page { content: Vec::new(), text: String::new(), pictures: 0, used: 0 };
    let count = if at.is_some() { 1 } else { wanted.limit.unwrap_or(usize::MAX).max(1) };
    let mut next = first;
    for cell in all.iter().skip(first - 1).take(count) {
        let head = head(cell);
        let size = head.chars().count() + cell.source.chars().count();
        if ROOM < page.used + size && first < next {
            break;
        }
        next += 1;
        page.put(&head);
        let parts = if ROOM < size { parts(&cell.source) } else { vec![cell.source.as_str()] };
        let nth = match self::first(part, parts.len(), "part") {
            Ok(nth) => nth,
            Err(failure) => return Ok(Err(failure)),
        };
        page.put(parts.get(nth - 1).copied().unwrap_or_default());
        page.put("\n");
        seen(cx, snapshot, cell, (nth - 1, parts.len()));
        if 1 < parts.len() {
            page.put(&told_part(cx, snapshot, cell, (nth, parts.len())));
        }
        if nth < parts.len() {
            continue;
        }
        for output in cell.outputs.iter().take(OUTPUTS) {
            page.output(cx, &cell.id, output).await?;
        }
        if OUTPUTS < cell.outputs.len() {
            page.put(&format!("[{} more outputs]\n", cell.outputs.len() - OUTPUTS));
        }
    }
    let mut status = format!("[cells {first}-{} of {total}", next - 1);
    if next <= total && at.is_none() {
        let offset = super::offset(cx);
        status.push_str(&format!("; next {offset} {next}"));
    }
    status.push(']');
    page.put(&status);
    page.put(remark);
    Ok(Ok(page.finish()))
}

/// The cells of a notebook's text.
fn in_file(text: &str) -> Result<Vec<Cell>, String> {
    let notebook = Notebook::read(text)?;
    let cell = |at: usize| {
        let (value, span) = notebook.cell(at).filter(|(value, _)| value.is_object())?;
        Some(Cell {
            id: notebook.id(at),
            kind: value["cell_type"].as_str().unwrap_or("raw").into(),
            source: notebook.source_of(at)?.0,
            count: value["execution_count"].as_u64(),
            outputs: value["outputs"].as_array().cloned().unwrap_or_default(),
            document: None,
            in_file: Some(span),
        })
    };
    // One left out would shift the numbers of those after it.
    let cells = (0..notebook.len()).map(|at| {
        cell(at).ok_or_else(|| format!("its cell number {} is no cell with a source", at + 1))
    });
    cells.collect()
}

fn kind_name(kind: CellKind) -> &'static str {
    match kind {
        CellKind::Code => "code",
        CellKind::Markdown => "markdown",
    }
}

fn first(offset: Option<i64>, total: usize, what: &str) -> Result<usize, Failure> {
    let offset = offset.unwrap_or(1);
    if offset < 0 {
        let back = usize::try_from(offset.unsigned_abs()).unwrap_or(usize::MAX);
        return Ok(total.saturating_sub(back) + 1);
    }
    let first = usize::try_from(offset).unwrap_or(usize::MAX).max(1);
    if total < first {
        let whole = if what == "cell" { "notebook" } else { "cell" };
        return Err(Failure::new(format!(
            "The {whole} has {}; there is no {what} number {offset}. They are counted from 1.",
            bounds::counted(total, what, &format!("{what}s"))
        )));
    }
    Ok(first)
}

fn no_cell(id: &str, all: &[Cell]) -> Failure {
    let ids: Vec<&str> = all.iter().map(|it| it.id.as_str()).take(50).collect();
    let ids = bounds::text(&ids.join(", "), 1_000);
    let id = bounds::text(id, 80);
    Failure::new(format!("The notebook has no cell {id:?}. Its cells are {ids}."))
}

/// A long source in pieces of at most `PART` characters, at the ends of lines where there are some.
fn parts(source: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = source;
    while let Some((end, _)) = rest.char_indices().nth(PART) {
        let end = rest[..end].rfind('\n').filter(|at| end / 2 < *at).map_or(end, |at| at + 1);
        parts.push(&rest[..end]);
        rest = &rest[end..];
    }
    parts.push(rest);
    parts
}

/// What is said of a cell that is shown in parts.
fn told_part(cx: &Cx, snapshot: &Snapshot, cell: &Cell, (nth, parts): (usize, usize)) -> String {
    let mut told = format!("[part {nth} of {parts} of this cell");
    if nth < parts {
        let path = cx.dialect.field("Read", "file_path").unwrap_or("file_path");
        let name = format!("{}#{}", cx.place.shown(&snapshot.location), cell.id);
        told.push_str(&format!("; next {path} {name:?}, {} {}", super::offset(cx), nth + 1));
    }
    told.push_str("]\n");
    told
}

fn head(cell: &Cell) -> String {
    let count = cell.count.map(|it| format!(", execution count {it}")).unwrap_or_default();
    format!(
        "--- cell {} ({}{count}) ---\n",
        bounds::text(&cell.id, 80),
        bounds::text(&cell.kind, 20)
    )
}

/// A part of a cell was shown, of so many: as much of its text counts as seen.
fn seen(cx: &Cx, snapshot: &Snapshot, cell: &Cell, (nth, parts): (usize, usize)) {
    let share = |whole: Range<usize>| {
        let at = |nth: usize| whole.start + whole.len() * nth / parts;
        at(nth)..at(nth + 1)
    };
    if let Some((location, rope)) = &cell.document {
        cx.session.seen.show(location, rope, share(0..rope.len_bytes()));
    }
    if let Some(span) = &cell.in_file {
        let rope = &snapshot.rope;
        let start = rope.line_to_byte(rope.byte_to_line(span.start));
        let last = rope.byte_to_line(span.end);
        let end = if last + 1 < rope.len_lines() {
            rope.line_to_byte(last + 1)
        } else {
            rope.len_bytes()
        };
        cx.session.seen.show(&snapshot.location, rope, share(start..end));
    }
}

/// What is shown so far.
struct Page {
    content: Vec<Content>,
    /// What follows the last picture.
    text: String,
    pictures: usize,
    /// Characters.
    used: usize,
}

impl Page {
    fn put(&mut self, text: &str) {
        self.used += text.chars().count();
        self.text.push_str(text);
    }

    async fn output(&mut self, cx: &Cx, cell: &str, output: &Value) -> Result<(), String> {
        self.put(&format!("--- output of {} ---\n", bounds::text(cell, 80)));
        let (text, picture) = read_output(output);
        if let Some(text) = text {
            self.put(&middle_cut(&text));
            self.put("\n");
        }
        let Some((media_type, data)) = picture else { return Ok(()) };
        let facts = format!("{media_type}, {} bytes", data.len() / 4 * 3);
        if !cx.sees.images || PICTURES <= self.pictures {
            let why = if cx.sees.images { "read this cell alone to see it" } else { "not shown" };
            self.put(&format!("[{facts}; {why}]\n"));
            return Ok(());
        }
        let bytes = STANDARD.decode(data.as_bytes()).unwrap_or_default();
        match medium::decoded(cx, "the output", bytes).await {
            Ok(picture) => {
                self.put(&format!("[{facts}]\n"));
                self.pictures += 1;
                self.content.push(Content::Text(std::mem::take(&mut self.text)));
                self.content.push(medium::image(picture));
            }
            Err(failure) => self.put(&format!("[{facts}; {failure}]\n")),
        }
        Ok(())
    }

    fn finish(mut self) -> Output {
        self.content.push(Content::Text(self.text));
        let mut pictures = 0;
        let card: Vec<Content> = self
            .content
            .iter()
            .filter(|it| match it {
                Content::Text(_) => true,
                Content::Image { .. } | Content::Video { .. } => {
                    pictures += 1;
                    pictures == 1
                }
            })
            .cloned()
            .collect();
        Output { card: cards::of_content(&card), content: self.content, ..Output::default() }
    }
}

/// The text of an output, and its picture as media type and base64.
fn read_output(output: &Value) -> (Option<String>, Option<(&'static str, String)>) {
    match output["output_type"].as_str() {
        Some("stream") => (Some(plain(&joined(&output["text"]))), None),
        Some("error") => {
            let traceback = output["traceback"].as_array().map(Vec::as_slice).unwrap_or_default();
            let lines: Vec<&str> = traceback.iter().filter_map(Value::as_str).collect();
            let name = output["ename"].as_str().unwrap_or("error");
            let value = output["evalue"].as_str().unwrap_or_default();
            (Some(plain(&format!("{}\n{name}: {value}", lines.join("\n")))), None)
        }
        Some(_) | None => {
            let data = &output["data"];
            let picture = ["image/png", "image/jpeg", "image/gif", "image/webp"]
                .into_iter()
                .find(|it| !data[*it].is_null())
                .map(|it| (it, joined(&data[it]).split_whitespace().collect()));
            let text = ["text/markdown", "text/plain", "application/json", "text/latex"]
                .into_iter()
                .find(|it| !data[*it].is_null())
                .map(|it| match &data[it] {
                    json @ (Value::Object(_) | Value::Number(_) | Value::Bool(_)) => {
                        json.to_string()
                    }
                    text => plain(&joined(text)),
                });
            let others = || {
                let names = data.as_object().into_iter().flatten().map(|it| it.0.as_str());
                format!("[{}]", bounds::text(&names.collect::<Vec<_>>().join(", "), 200))
            };
            let text = if text.is_none() && picture.is_none() { Some(others()) } else { text };
            (text, picture)
        }
    }
}

/// A text as notebooks hold it: one string or a list of lines.
fn joined(value: &Value) -> String {
    match value {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

/// What a terminal would show in the end.
fn plain(text: &str) -> String {
    exec::final_text(text.as_bytes()).trim_matches('\n').to_string()
}

/// Head and tail of a long output.
fn middle_cut(text: &str) -> String {
    let total = text.chars().count();
    if total <= OUTPUT {
        return text.to_string();
    }
    let head: String = text.chars().take(OUTPUT / 2).collect();
    let tail: String = text.chars().skip(total - OUTPUT / 2).collect();
    format!("{head}\n[… {} characters left out …]\n{tail}", total - OUTPUT / 2 * 2)
}

#[cfg(test)]
mod tests;

//! The cells of a notebook's text, and the edits that replace, insert and delete one of them in the
//! way the file is written: its indentation, its line endings, its escapes.

use std::ops::Range;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use text::Edit;

use super::json::{Kind as Json, Node};

/// Cell ids named at most.
const NAMED: usize = 20;

/// A kind of cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Run.
    Code,
    /// Shown.
    Markdown,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Code => "code",
            Kind::Markdown => "markdown",
        }
    }
}

/// Edits of a notebook's text.
pub struct Change {
    /// What to change.
    pub edits: Vec<Edit>,
    /// What must have been read.
    pub seen: Range<usize>,
    /// What happens, for the result.
    pub told: String,
}

/// A notebook as its text has it.
pub struct Notebook<'a> {
    text: &'a str,
    /// The whole array.
    array: Range<usize>,
    cells: Vec<Node>,
    has_ids: bool,
    style: Style,
}

/// How the file is written.
struct Style {
    /// What one level is indented by; `None` where everything stands on one line.
    unit: Option<String>,
    newline: &'static str,
    colon: &'static str,
    comma: &'static str,
    /// Characters outside ASCII are escaped.
    ascii: bool,
}

impl<'a> Notebook<'a> {
    /// Finds the cells.
    pub fn read(text: &'a str) -> Result<Notebook<'a>, String> {
        let root = Node::read(text)?;
        let number = |name: &str| {
            let node = root.get(name)?;
            text[node.span.clone()].parse::<u64>().ok()
        };
        let major = number("nbformat").ok_or("it has no nbformat, so it is no notebook")?;
        let minor = number("nbformat_minor").unwrap_or(0);
        if major < 4 {
            return Err(format!("nbformat {major} is not supported; convert it to 4 first"));
        }
        let array = root.get("cells").ok_or("it has no cells")?;
        let Json::Array(cells) = &array.kind else { return Err("its cells are no list".into()) };
        Ok(Notebook {
            text,
            array: array.span.clone(),
            cells: cells.clone(),
            has_ids: 4 < major || 5 <= minor,
            style: Style::of(text, &root),
        })
    }

    /// The index of a cell by its id, or by `cell-N` where no cell has that id.
    pub fn find(&self, id: &str) -> Result<usize, String> {
        let ids: Vec<String> = (0..self.cells.len()).map(|at| self.id(at)).collect();
        let found: Vec<usize> = (0..ids.len()).filter(|at| ids[*at] == id).collect();
        match found.as_slice() {
            [one] => return Ok(*one),
            [] => {}
            many => return Err(format!("{} cells have the id `{id}`", many.len())),
        }
        let index = id.strip_prefix("cell-").and_then(|it| it.parse::<usize>().ok());
        if let Some(at) = index.filter(|it| *it < self.cells.len()) {
            return Ok(at);
        }
        let named: Vec<&str> = ids.iter().take(NAMED).map(String::as_str).collect();
        let more = if NAMED < ids.len() { ", …" } else { "" };
        Err(format!("there is no cell `{id}`. Its cells are: {}{more}", named.join(", ")))
    }

    /// How many cells there are.
    pub fn len(&self) -> usize {
        self.cells.len()
    }

    /// A cell's id, or its place where it has none.
    pub fn id(&self, at: usize) -> String {
        let id = self.cells[at].get("id").map(|it| self.value(it));
        id.filter(|it| !it.is_empty()).unwrap_or_else(|| format!("cell-{at}"))
    }

    /// A cell as JSON, and where it stands.
    pub fn cell(&self, at: usize) -> Option<(Value, Range<usize>)> {
        let span = self.cells.get(at)?.span.clone();
        Some((serde_json::from_str(&self.text[span.clone()]).ok()?, span))
    }

    /// A cell's text, and where it stands.
    pub fn source_of(&self, at: usize) -> Option<(String, Range<usize>)> {
        let node = self.cells.get(at)?.get("source")?;
        let text = match &node.kind {
            Json::Array(lines) => lines.iter().map(|it| self.value(it)).collect(),
            Json::Object(_) | Json::Scalar => self.value(node),
        };
        Some((text, node.span.clone()))
    }

    /// Gives a cell a new text, and perhaps another kind.
    pub fn replace(&self, at: usize, source: &str, kind: Option<Kind>) -> Result<Change, String> {
        let cell = &self.cells[at];
        let was = cell.get("cell_type").map(|it| self.value(it)).unwrap_or_default();
        let old = cell.get("source").ok_or("the cell has no source")?;
        let told = format!("Replaced the cell {}.", self.id(at));
        let seen = old.span.clone();
        let changes_kind = kind.is_some_and(|it| was != it.name());
        if let Some(kind) = kind.filter(|_| changes_kind) {
            let text = self.converted(cell, source, kind);
            return Ok(Change { edits: vec![Edit::new(cell.span.clone(), text)], seen, told });
        }
        let indent = self.indent(old.span.start);
        let mut edits = vec![Edit::new(old.span.clone(), self.source(Some(old), source, &indent))];
        if was == "code" {
            for (name, empty) in [("execution_count", "null"), ("outputs", "[]")] {
                let member = cell.get(name).filter(|it| self.text[it.span.clone()] != *empty);
                edits.extend(member.map(|it| Edit::new(it.span.clone(), empty)));
            }
        }
        Ok(Change { edits, seen, told })
    }

    /// Puts a new cell after another, or at the start.
    pub fn insert(&self, after: Option<usize>, source: &str, kind: Kind) -> Change {
        let indent = match (self.cells.first(), &self.style.unit) {
            (Some(cell), _) => self.indent(cell.span.start),
            (None, Some(unit)) => format!("{}{unit}", self.indent(self.array.start)),
            (None, None) => String::new(),
        };
        let id = self.has_ids.then(|| self.fresh_id(after, source));
        let told = match &id {
            Some(id) => format!("Inserted the cell {id}."),
            None => format!("Inserted the cell cell-{}.", after.map_or(0, |it| it + 1)),
        };
        let cell = self.new_cell(id, source, kind, &indent);
        let (edit, seen) = match (after, self.cells.first()) {
            (Some(at), _) => {
                let end = self.cells[at].span.end;
                let text = format!(",{}{cell}", self.gap());
                (Edit::new(end..end, text), self.cells[at].span.start..self.cells[at].span.start)
            }
            (None, Some(first)) => {
                let start = first.span.start;
                (Edit::new(start..start, format!("{cell},{}", self.gap())), start..start)
            }
            (None, None) => {
                let outer = self.indent(self.array.start);
                let text = match &self.style.unit {
                    Some(_) => {
                        let newline = self.style.newline;
                        format!("[{newline}{indent}{cell}{newline}{outer}]")
                    }
                    None => format!("[{cell}]"),
                };
                (Edit::new(self.array.clone(), text), self.array.start..self.array.start)
            }
        };
        Change { edits: vec![edit], seen, told }
    }

    /// Takes a cell out.
    pub fn delete(&self, at: usize) -> Change {
        let span = &self.cells[at].span;
        let edit = match (self.cells.get(at + 1), at.checked_sub(1)) {
            (Some(next), _) => Edit::new(span.start..next.span.start, ""),
            (None, Some(previous)) => Edit::new(self.cells[previous].span.end..span.end, ""),
            (None, None) => Edit::new(self.array.clone(), "[]"),
        };
        let seen = self.cells[at].get("source").map_or(span.clone(), |it| it.span.clone());
        Change { edits: vec![edit], seen, told: format!("Deleted the cell {}.", self.id(at)) }
    }

    /// A string's value; nothing for anything else.
    fn value(&self, node: &Node) -> String {
        serde_json::from_str(&self.text[node.span.clone()]).unwrap_or_default()
    }

    /// An id no cell has. The same edit of the same notebook makes the same one.
    fn fresh_id(&self, after: Option<usize>, source: &str) -> String {
        let taken: Vec<String> = (0..self.cells.len()).map(|at| self.id(at)).collect();
        let mut salt = 0_u32;
        loop {
            let seed = format!("{after:?} {salt} {} {source}", taken.join(" "));
            let digest = Sha256::digest(seed.as_bytes());
            let id: String = digest.iter().take(4).map(|it| format!("{it:02x}")).collect();
            if !taken.contains(&id) {
                return id;
            }
            salt += 1;
        }
    }

    fn new_cell(&self, id: Option<String>, source: &str, kind: Kind, indent: &str) -> String {
        let inner = self.style.deeper(indent);
        let mut members = vec![("cell_type".to_string(), format!("\"{}\"", kind.name()))];
        if kind == Kind::Code {
            members.push(("execution_count".into(), "null".into()));
        }
        members.extend(id.map(|id| ("id".to_string(), self.style.string(&id))));
        members.push(("metadata".into(), "{}".into()));
        if kind == Kind::Code {
            members.push(("outputs".into(), "[]".into()));
        }
        members.push(("source".into(), self.source(None, source, &inner)));
        self.style.object(&members, indent)
    }

    /// The cell as one of another kind; members that stay keep their bytes.
    fn converted(&self, cell: &Node, source: &str, kind: Kind) -> String {
        let indent = self.indent(cell.span.start);
        let inner = self.style.deeper(&indent);
        let mut members: Vec<(String, String)> = Vec::new();
        for member in cell.members() {
            let text = match member.name.as_str() {
                "cell_type" => format!("\"{}\"", kind.name()),
                "source" => self.source(Some(&member.value), source, &inner),
                "outputs" | "execution_count" | "attachments" => continue,
                _ => self.text[member.value.span.clone()].to_string(),
            };
            members.push((member.name.clone(), text));
        }
        if kind == Kind::Code {
            for (name, empty) in [("execution_count", "null"), ("outputs", "[]")] {
                let at = members.iter().position(|it| name < it.0.as_str());
                members.insert(at.unwrap_or(members.len()), (name.into(), empty.into()));
            }
        }
        self.style.object(&members, &indent)
    }

    /// A source as the file writes it: one string, or a list of lines.
    fn source(&self, old: Option<&Node>, source: &str, indent: &str) -> String {
        let source = source.replace("\r\n", "\n");
        let one_string = |node: &Node| matches!(node.kind, Json::Scalar);
        let first = || self.cells.iter().find_map(|it| it.get("source"));
        if old.or_else(first).is_some_and(one_string) {
            return self.style.string(&source);
        }
        let lines: Vec<String> =
            source.split_inclusive('\n').map(|it| self.style.string(it)).collect();
        let on_one_line = |node: &&Node| {
            let text = &self.text[node.span.clone()];
            2 < text.len() && !text.contains('\n')
        };
        match old.filter(on_one_line) {
            Some(_) if self.style.unit.is_some() => format!("[{}]", lines.join(", ")),
            Some(_) | None => self.style.array(&lines, indent),
        }
    }

    /// What stands between two cells after the comma, its lines ended as most of the file's are.
    fn gap(&self) -> String {
        let blank = self.blank_between().replace("\r\n", "\n");
        blank.replace('\n', self.style.newline)
    }

    fn blank_between(&self) -> &str {
        let before = |at: usize| {
            let head = &self.text[..at];
            &head[head.trim_end_matches([' ', '\t', '\r', '\n']).len()..]
        };
        match self.cells.as_slice() {
            [_, second, ..] => before(second.span.start),
            [only] if before(only.span.start).contains('\n') => before(only.span.start),
            [_] | [] => &self.style.comma[1..],
        }
    }

    /// The indentation of the line a byte stands on.
    fn indent(&self, at: usize) -> String {
        indent_of(self.text, at).to_string()
    }
}

fn indent_of(text: &str, at: usize) -> &str {
    let line = &text[text[..at].rfind('\n').map_or(0, |it| it + 1)..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Whether JSON spells characters beyond ASCII as `\u` escapes.
pub fn escapes_letters(json: &str) -> bool {
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        let escape = &rest[at + 1..];
        let beyond = escape
            .strip_prefix('u')
            .and_then(|it| it.get(..4))
            .is_some_and(|digits| u16::from_str_radix(digits, 16).is_ok_and(|it| 0x80 <= it));
        if beyond {
            return true;
        }
        // What follows a backslash belongs to it, another backslash included.
        let next = escape.chars().next().map_or(0, char::len_utf8);
        rest = &escape[next..];
    }
    false
}

impl Style {
    fn of(text: &str, root: &Node) -> Style {
        let member = root.members().first();
        let start = member.map_or(0, |it| it.name_span.start);
        let unit = text[..start].contains('\n').then(|| indent_of(text, start).to_string());
        let after_name = member.map_or("", |it| &text[it.name_span.end..it.value.span.start]);
        let spaced_comma = root.members().windows(2).next().is_some_and(|pair| {
            text[pair[0].value.span.end..pair[1].name_span.start].ends_with(' ')
        });
        Style {
            comma: if unit.is_none() && spaced_comma { ", " } else { "," },
            unit,
            newline: if text.matches('\n').count() < 2 * text.matches("\r\n").count() {
                "\r\n"
            } else {
                "\n"
            },
            colon: if member.is_some() && !after_name.ends_with([' ', '\t']) { ":" } else { ": " },
            ascii: text.is_ascii() && escapes_letters(text),
        }
    }

    fn deeper(&self, indent: &str) -> String {
        format!("{indent}{}", self.unit.as_deref().unwrap_or_default())
    }

    fn string(&self, text: &str) -> String {
        let quoted = json!(text).to_string();
        if !self.ascii {
            return quoted;
        }
        let mut out = String::with_capacity(quoted.len());
        for c in quoted.chars() {
            if c.is_ascii() {
                out.push(c);
            } else {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
        out
    }

    fn object(&self, members: &[(String, String)], indent: &str) -> String {
        let name = |it: &str| Value::from(it).to_string();
        let members: Vec<String> = members
            .iter()
            .map(|(key, value)| format!("{}{}{value}", name(key), self.colon))
            .collect();
        self.wrapped("{", &members, "}", indent)
    }

    fn array(&self, items: &[String], indent: &str) -> String {
        self.wrapped("[", items, "]", indent)
    }

    fn wrapped(&self, open: &str, parts: &[String], close: &str, indent: &str) -> String {
        match (&self.unit, parts) {
            (_, []) => format!("{open}{close}"),
            (None, parts) => format!("{open}{}{close}", parts.join(self.comma)),
            (Some(_), parts) => {
                let newline = self.newline;
                let inner = self.deeper(indent);
                let parts = parts.join(&format!(",{newline}{inner}"));
                format!("{open}{newline}{inner}{parts}{newline}{indent}{close}")
            }
        }
    }
}

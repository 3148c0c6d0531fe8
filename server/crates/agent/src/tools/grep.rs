//! `Grep`: searches the contents of files, unsaved text included.

use async_trait::async_trait;
use protocol::acp::ToolKind;
use schemars::JsonSchema;
use serde::Deserialize;
use vfs::{
    GrepLimits, GrepLine, GrepMode, GrepPattern, GrepQuery, GrepResult, GrepScope, Location, Order,
    PatternFault, QueryError,
};

use self::layout::{Numbers, Style, Window};
use super::elsewhere;
use crate::bounds;
use crate::dialects::Lines;
use crate::place::Place;
use crate::tool::{Access, Card, Cx, Failure, Output, Tool};

pub mod layout;

const CONTEXT: usize = 20;
const LINE: usize = 500;
/// Bytes looked through for them: 250 matches with all context they can have fit in.
const FOUND: usize = 8 << 20;

/// Searches file contents with a regular expression (ripgrep's syntax), the editor's unsaved text in
/// place of files. Ignored and binary files are left out. `content` shows `path:line:text`;
/// `files_with_matches` lists files, newest first; `count_matches` counts.
#[derive(Deserialize, JsonSchema)]
pub struct Grep {
    /// The regular expression.
    pattern: String,
    /// A file or folder; absent: the working directory.
    path: Option<String>,
    /// Several files or folders.
    #[serde(default)]
    paths: Vec<String>,
    /// Only files that match this glob, e.g. `*.{ts,tsx}` or `src/**/*.rs`.
    glob: Option<String>,
    /// Only files that match one of these globs.
    #[serde(default)]
    includes: Vec<String>,
    /// Only files of this type, e.g. `rust`, `py`, `ts`.
    r#type: Option<String>,
    /// What to show.
    #[serde(default)]
    output_mode: Mode,
    /// Lines after each match.
    #[serde(rename = "-A")]
    after: Option<usize>,
    /// Lines before each match.
    #[serde(rename = "-B")]
    before: Option<usize>,
    /// Lines before and after each match.
    #[serde(rename = "-C")]
    around: Option<usize>,
    /// Lines before and after each match, 0 to 20.
    context_lines: Option<usize>,
    /// Ignore case.
    #[serde(rename = "-i", default)]
    ignore_case: bool,
    /// Show line numbers; on by default.
    #[serde(rename = "-n")]
    numbers: Option<bool>,
    /// Let the pattern reach over line ends.
    #[serde(default)]
    multiline: bool,
    /// Take the pattern as plain text.
    #[serde(default)]
    literal: bool,
    /// At most this many lines or files; 0: all. Absent: 250.
    head_limit: Option<usize>,
    /// Skip this many first.
    offset: Option<usize>,
    /// Search ignored files too.
    #[serde(default)]
    include_ignored: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Mode {
    /// Files with a match.
    #[default]
    FilesWithMatches,
    /// Matching lines.
    Content,
    /// Matches in each file.
    CountMatches,
}

#[async_trait]
impl Tool for Grep {
    const NAME: &'static str = "Grep";
    const ALIASES: &'static [&'static str] = &["grep", "search", "grep_search"];
    const FIELDS: &'static [(&'static str, &'static str)] =
        &[("query", "pattern"), ("include", "glob"), ("case_insensitive", "-i")];

    fn kind() -> ToolKind {
        ToolKind::Search
    }

    fn access(&self, place: &Place) -> Result<Access, Failure> {
        if self.pattern.is_empty() {
            return Err(Failure::new(
                "args.pattern is empty. Give the text or expression to search for.",
            ));
        }
        let (folders, _) = self.scope(place)?;
        let targets: Result<Vec<_>, _> = folders.iter().map(|it| place.target(it)).collect();
        Ok(Access::read(targets?))
    }

    fn card(&self, place: &Place) -> Card {
        let mut within: Vec<String> = Vec::new();
        for folder in self.path.iter().chain(&self.paths) {
            within
                .push(place.target(folder).map_or(folder.clone(), |it| place.shown(&it.location)));
        }
        let within =
            if within.is_empty() { String::new() } else { format!(" in {}", within.join(", ")) };
        Card::new(format!("Search `{}`{within}", self.pattern))
    }

    async fn run(self, cx: &Cx) -> Result<Output, Failure> {
        let mut notes = Vec::new();
        let query = self.query(cx, &mut notes)?;
        let (vfs, cancel) = (cx.vfs.clone(), cx.cancel.clone());
        let found =
            tokio::task::spawn_blocking(move || vfs.grep(&query, &|| cancel.is_cancelled()))
                .await
                .map_err(|err| Failure::new(format!("The search failed: {err}.")))?
                .map_err(|err| refused(cx, err))?;
        if found.cancelled {
            return Err(Failure::Cancelled);
        }
        notes.extend(denied(found.denied));
        let title = format!("Search `{}` · {}", self.pattern, summary(&found));
        Ok(Output::text(self.shown(cx, &found, notes)).with_title(title))
    }
}

impl Grep {
    /// The folders searched and the globs in each: globs of another place say themselves where to search.
    fn scope(&self, place: &Place) -> Result<(Vec<String>, Vec<String>), Failure> {
        let all: Vec<String> =
            self.path.iter().chain(&self.paths).filter(|it| !it.is_empty()).cloned().collect();
        let globs = self.glob.iter().chain(&self.includes).filter(|it| !it.is_empty()).cloned();
        if !all.is_empty() {
            return Ok((all, globs.collect()));
        }
        let (folder, globs) = elsewhere::scope(".", globs.collect(), place)?;
        Ok((vec![folder], globs))
    }

    fn query(&self, cx: &Cx, notes: &mut Vec<String>) -> Result<GrepQuery, Failure> {
        let (mut paths, mut names) = (Vec::new(), Vec::new());
        let (folders, globs) = self.scope(&cx.place)?;
        for folder in folders {
            match cx.place.target(&folder)?.location {
                Location::Disk(path) => paths.push(path),
                Location::Virtual(name) => names.push(name),
            }
        }
        // Documents without a path belong to the workspace as a whole.
        let include_virtual = paths.iter().any(|path| cx.place.is_whole(path));
        let around = self.context_lines.or(self.around).unwrap_or(0);
        let mut clamp = |wanted: usize| {
            if CONTEXT < wanted {
                notes.push(format!(
                    "{wanted} lines of context were asked for; {CONTEXT} is the most"
                ));
            }
            wanted.min(CONTEXT)
        };
        let before = clamp(self.before.unwrap_or(around));
        let after = clamp(self.after.unwrap_or(around));
        notes.dedup();
        Ok(GrepQuery {
            pattern: GrepPattern {
                text: self.pattern.clone(),
                literal: self.literal,
                ignore_case: self.ignore_case,
                multiline: self.multiline,
            },
            scope: GrepScope {
                paths,
                names,
                globs,
                types: self.r#type.iter().filter(|it| !it.trim().is_empty()).cloned().collect(),
                include_ignored: self.include_ignored,
                include_virtual,
                visibility: cx.session.rules().visibility(&cx.place),
            },
            mode: match self.output_mode {
                Mode::FilesWithMatches => GrepMode::Files,
                Mode::Content => GrepMode::Lines,
                Mode::CountMatches => GrepMode::Count,
            },
            order: match self.output_mode {
                Mode::FilesWithMatches => Order::Newest,
                Mode::Content | Mode::CountMatches => Order::Path,
            },
            before,
            after,
            limits: GrepLimits {
                matches: match self.limit(cx) {
                    usize::MAX => 0,
                    // One more than shown tells whether there is more; the newest need all.
                    limit if self.output_mode == Mode::Content => {
                        self.skip().saturating_add(limit).saturating_add(1)
                    }
                    _ => 0,
                },
                line_bytes: LINE,
                bytes: FOUND,
            },
        })
    }

    fn limit(&self, cx: &Cx) -> usize {
        match self.head_limit {
            Some(0) => usize::MAX,
            Some(limit) => limit,
            None => cx.dialect.found.matches,
        }
    }

    fn skip(&self) -> usize {
        self.offset.unwrap_or(0)
    }

    fn shown(&self, cx: &Cx, found: &GrepResult, mut notes: Vec<String>) -> String {
        let (text, rest) = match self.output_mode {
            Mode::Content => self.content(cx, found, &mut notes),
            Mode::FilesWithMatches | Mode::CountMatches => self.rows(cx, found),
        };
        let mut text = text;
        if found.files.is_empty() {
            text.push_str("No matches found.\n");
        }
        if let Some(rest) = rest {
            text.push_str(&format!("[{rest}]\n"));
        }
        if 0 < found.sensitive {
            text.push_str(&withheld(found.sensitive));
        }
        for note in notes.iter().chain(&found.notes) {
            text.push_str(&bounds::note(&cx.place.told(note)));
        }
        text
    }

    /// Matching lines, and what is to be said of the rest.
    fn content(
        &self,
        cx: &Cx,
        found: &GrepResult,
        notes: &mut Vec<String>,
    ) -> (String, Option<String>) {
        let files: Vec<layout::File<'_>> = found
            .files
            .iter()
            .map(|file| layout::File {
                name: layout::name(cx.place.shown(&file.location), cx.dialect.context),
                lines: file.lines.iter().map(line_of).collect(),
            })
            .collect();
        let numbers = match (self.numbers, cx.dialect.lines) {
            (Some(false), _) => Numbers::Hidden,
            (Some(true) | None, Lines::Anchored) => Numbers::Anchored,
            (Some(true) | None, Lines::Numbered) => Numbers::Shown,
        };
        let style = Style { numbers, context: cx.dialect.context };
        let window = Window {
            skip: self.skip(),
            limit: self.limit(cx),
            bytes: cx.dialect.found.match_bytes,
        };
        let layout = layout::lines(&files, style, window);
        self.mark_seen(cx, found, &layout.whole);
        if layout.full {
            let most = size(cx.dialect.found.match_bytes);
            notes.push(format!("the result was cut at {most}; {}", narrow(cx)));
        }
        if layout.shed {
            notes.push(
                "surrounding lines of later matches were left out for want of room; ask for fewer"
                    .into(),
            );
        }
        let more = layout.more || found.truncated;
        let rest = if layout.shown == 0 && 0 < layout.skipped {
            Some(beyond(self.skip(), layout.skipped))
        } else {
            more.then(|| {
                let next = self.skip() + layout.shown;
                format!("there is more; {}", go_on(cx, next))
            })
        };
        (layout.text, rest)
    }

    /// Files or counts, and what is to be said of the rest.
    fn rows(&self, cx: &Cx, found: &GrepResult) -> (String, Option<String>) {
        let total = found.files.len();
        let mut text = String::new();
        let mut shown = 0;
        for file in found.files.iter().skip(self.skip()).take(self.limit(cx)) {
            let name = layout::name(cx.place.shown(&file.location), cx.dialect.context);
            let row = match self.output_mode {
                Mode::CountMatches => format!("{name}:{}\n", file.matches),
                Mode::FilesWithMatches | Mode::Content => format!("{name}\n"),
            };
            if cx.dialect.found.match_bytes < text.len() + row.len() {
                break;
            }
            text.push_str(&row);
            shown += 1;
        }
        if self.output_mode == Mode::CountMatches && 0 < total {
            text.push_str(&format!("total: {} in {}\n", counted(found), files(total)));
        }
        let next = self.skip() + shown;
        let or_more = if found.truncated { " or more" } else { "" };
        let rest = if shown == 0 && 0 < total {
            Some(beyond(self.skip(), total))
        } else {
            (next < total || found.truncated)
                .then(|| format!("{shown} of {total}{or_more} files; {}", go_on(cx, next)))
        };
        (text, rest)
    }

    /// Lines shown here may be edited, if they still are what was shown.
    fn mark_seen(&self, cx: &Cx, found: &GrepResult, shown: &[(usize, u64)]) {
        for group in shown.chunk_by(|a, b| a.0 == b.0) {
            let Some(file) = group.first().and_then(|(at, _)| found.files.get(*at)) else {
                continue;
            };
            let Ok(snapshot) = cx.vfs.snapshot(&file.location) else { continue };
            let text = &snapshot.rope;
            for (_, number) in group {
                let line = file.lines.iter().find(|line| line.number == *number);
                let (Some(line), Ok(number)) = (line, usize::try_from(*number)) else { continue };
                if number == 0 || text.len_lines() < number {
                    continue;
                }
                let start = text.line_to_byte(number - 1);
                let end = if number < text.len_lines() {
                    text.line_to_byte(number)
                } else {
                    text.len_bytes()
                };
                let now = text.byte_slice(start..end).to_string();
                if now.trim_end_matches(['\n', '\r']) == line.text.trim_end_matches('\r') {
                    cx.session.seen.show(&file.location, text, start..end);
                }
            }
        }
    }
}

fn line_of(line: &GrepLine) -> layout::Line<'_> {
    layout::Line {
        number: line.number,
        text: &line.text,
        is_context: line.is_context,
        cut_before: 0 < line.cut_before,
        cut_after: 0 < line.cut_after,
    }
}

/// What is said of files that rules deny.
pub fn denied(count: usize) -> Option<String> {
    let files = files(count);
    let (were, them) = if count == 1 { ("was", "it") } else { ("were", "them") };
    (0 < count).then(|| format!("{files} {were} left out: a rule denies reading {them}"))
}

/// What is said of files with secrets.
pub fn withheld(count: usize) -> String {
    format!("[{count} sensitive files left out]\n")
}

/// Why a search could not be made, with what the dialect has to make it otherwise; suggests nothing that a rule denies
/// reading.
pub fn refused(cx: &Cx, error: QueryError) -> Failure {
    let error = match cx.session.rules().unreadable(&cx.place) {
        Some(denied) => error.without(&denied),
        None => error,
    };
    let has = |field: &'static str| cx.dialect.field(Grep::NAME, field);
    let hint = match &error {
        QueryError::LineEnd => Some(match has("multiline") {
            Some(field) => format!("set {field} to search across lines"),
            None => "search for a part of one line".into(),
        }),
        QueryError::Pattern { fault: PatternFault::Size, .. } => {
            Some("repeat less, or with smaller classes such as [a-z]".into())
        }
        QueryError::Pattern { fault: PatternFault::Syntax, .. } => Some(match has("literal") {
            Some(field) => format!("escape the special characters, or set {field}"),
            None => "escape the special characters with \\".into(),
        }),
        QueryError::Glob { .. }
        | QueryError::TooManyGlobs { .. }
        | QueryError::Type { .. }
        | QueryError::NoSuchPath { .. }
        | QueryError::Unreadable { .. }
        | QueryError::NoPaths { .. }
        | QueryError::NotAFolder { .. } => None,
    };
    let hint = hint.map(|it| format!(" ({it})")).unwrap_or_default();
    Failure::new(cx.place.told(&format!("{error}{hint}.")))
}

/// How to see what follows.
fn go_on(cx: &Cx, next: usize) -> String {
    match cx.dialect.field(Grep::NAME, "offset") {
        Some(offset) => format!("use {offset}={next} to go on, or {}", narrow(cx)),
        None => narrow(cx),
    }
}

/// How to see less, by the fields the dialect has.
fn narrow(cx: &Cx) -> String {
    let first = |fields: [&'static str; 2]| {
        fields.into_iter().find_map(|it| cx.dialect.field(Grep::NAME, it))
    };
    let fields: Vec<&str> =
        [first(["path", "paths"]), first(["glob", "includes"])].into_iter().flatten().collect();
    match fields.as_slice() {
        [path, glob] => format!("narrow the pattern, {path} or {glob}"),
        _ => "narrow the pattern".into(),
    }
}

fn beyond(offset: usize, total: usize) -> String {
    format!("nothing at offset={offset}: there are {total}")
}

fn size(bytes: usize) -> String {
    format!("{} KB", bytes / 1_000)
}

fn files(count: usize) -> String {
    if count == 1 { "1 file".into() } else { format!("{count} files") }
}

fn counted(found: &GrepResult) -> String {
    if found.matches == 1 { "1 match".into() } else { format!("{} matches", found.matches) }
}

fn summary(found: &GrepResult) -> String {
    let more = if found.truncated { "+" } else { "" };
    match found.files.len() {
        0 => "nothing found".into(),
        1 => format!("{}{more} in 1 file", found.matches),
        count => format!("{}{more} in {count} files", found.matches),
    }
}

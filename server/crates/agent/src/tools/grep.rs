//! `Grep`: searches the contents of files, unsaved text included.

use async_trait::async_trait;
use protocol::acp::ToolKind;
use schemars::JsonSchema;
use serde::Deserialize;
use vfs::{
    GrepFile, GrepLimits, GrepMode, GrepPattern, GrepQuery, GrepResult, GrepScope, Location, Order,
};

use crate::place::Place;
use crate::tool::{Access, Card, Cx, Failure, Output, Tool};

const HEAD: usize = 250;
const CONTEXT: usize = 20;
/// Bytes of line text in one result.
const BYTES: usize = 100 * 1024;
const LINE: usize = 500;

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
        let targets: Result<Vec<_>, _> = self.folders().iter().map(|it| place.target(it)).collect();
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
        let mut found =
            tokio::task::spawn_blocking(move || vfs.grep(&query, &|| cancel.is_cancelled()))
                .await
                .map_err(|err| Failure::new(format!("The search failed: {err}.")))?
                .map_err(|err| Failure::new(format!("{err}.")))?;
        if found.cancelled {
            return Err(Failure::Cancelled);
        }
        let rules = cx.session.rules();
        let total = found.files.len();
        found.files.retain(|it| !rules.denies_read(&it.location, &cx.place));
        if found.files.len() < total {
            let left = total - found.files.len();
            notes.push(format!("{left} files were left out: a rule denies reading them"));
        }
        let title = format!("Search `{}` · {}", self.pattern, summary(&found));
        Ok(Output::text(self.shown(cx, &found, notes)).with_title(title))
    }
}

impl Grep {
    fn folders(&self) -> Vec<String> {
        let all: Vec<String> =
            self.path.iter().chain(&self.paths).filter(|it| !it.is_empty()).cloned().collect();
        if all.is_empty() { vec![".".into()] } else { all }
    }

    fn query(&self, cx: &Cx, notes: &mut Vec<String>) -> Result<GrepQuery, Failure> {
        let mut paths = Vec::new();
        for folder in self.folders() {
            match cx.place.target(&folder)?.location {
                Location::Disk(path) => paths.push(path),
                Location::Virtual(uri) => {
                    notes.push(format!("{uri} is searched with all open documents"))
                }
            }
        }
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
                globs: self.glob.iter().chain(&self.includes).cloned().collect(),
                types: self.r#type.iter().cloned().collect(),
                include_ignored: self.include_ignored,
                include_virtual: self.path.is_none() && self.paths.is_empty(),
                ..GrepScope::default()
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
                matches: match self.limit() {
                    usize::MAX => 0,
                    // One more than shown tells whether there is more; the newest need all.
                    limit if self.output_mode == Mode::Content => self.skip() + limit + 1,
                    _ => 0,
                },
                line_bytes: LINE,
                ..GrepLimits::default()
            },
        })
    }

    fn limit(&self) -> usize {
        match self.head_limit {
            Some(0) => usize::MAX,
            Some(limit) => limit,
            None => HEAD,
        }
    }

    fn skip(&self) -> usize {
        self.offset.unwrap_or(0)
    }

    fn shown(&self, cx: &Cx, found: &GrepResult, mut notes: Vec<String>) -> String {
        let rows = match self.output_mode {
            Mode::FilesWithMatches => found
                .files
                .iter()
                .map(|it| vec![Row::whole(cx.place.shown(&it.location))])
                .collect(),
            Mode::CountMatches => found
                .files
                .iter()
                .map(|it| {
                    vec![Row::whole(format!("{}:{}", cx.place.shown(&it.location), it.matches))]
                })
                .collect(),
            Mode::Content => found.files.iter().map(|it| self.lines(cx, it)).collect::<Vec<_>>(),
        };
        let mut text = String::new();
        let mut skipped = 0;
        let mut shown = 0;
        let mut more = found.truncated;
        'files: for group in rows {
            for row in group {
                if row.counts && skipped < self.skip() {
                    skipped += 1;
                    continue;
                }
                if row.counts && self.limit() <= shown {
                    more = true;
                    break 'files;
                }
                if skipped < self.skip() {
                    continue;
                }
                if BYTES < text.len() + row.text.len() {
                    more = true;
                    notes.push(
                        "the result was cut at 100 KB; narrow the pattern, path or glob".into(),
                    );
                    break 'files;
                }
                shown += usize::from(row.counts);
                text.push_str(&row.text);
                text.push('\n');
            }
        }
        self.mark_seen(cx, found);
        if shown == 0 && found.files.is_empty() {
            text.push_str("No matches found.\n");
        }
        if more {
            text.push_str(&format!(
                "[there is more; use offset={} to go on, or narrow the pattern, path or glob]\n",
                self.skip() + shown
            ));
        }
        if 0 < found.sensitive {
            text.push_str(&format!("[{} sensitive files left out]\n", found.sensitive));
        }
        for note in notes.iter().chain(&found.notes) {
            text.push_str(&format!("[note: {note}]\n"));
        }
        text
    }

    fn lines(&self, cx: &Cx, file: &GrepFile) -> Vec<Row> {
        let path = cx.place.shown(&file.location);
        let numbers = self.numbers.unwrap_or(true);
        let mut rows = Vec::new();
        let mut last: Option<u64> = None;
        for line in &file.lines {
            if last.is_some_and(|it| it + 1 < line.number)
                && file.lines.iter().any(|it| it.is_context)
            {
                rows.push(Row { text: "--".into(), counts: false });
            }
            last = Some(line.number);
            let mark = if line.is_context { '-' } else { ':' };
            let text = match numbers {
                true => format!("{path}{mark}{}{mark}{}", line.number, line.text),
                false => format!("{path}{mark}{}", line.text),
            };
            rows.push(Row { text, counts: !line.is_context });
        }
        rows
    }

    /// Lines shown here may be edited.
    fn mark_seen(&self, cx: &Cx, found: &GrepResult) {
        if self.output_mode != Mode::Content {
            return;
        }
        for file in &found.files {
            let Ok(snapshot) = cx.vfs.snapshot(&file.location) else { continue };
            let text = &snapshot.rope;
            for line in file.lines.iter().filter(|it| !it.cut) {
                let Ok(number) = usize::try_from(line.number) else { continue };
                if number == 0 || text.len_lines() < number {
                    continue;
                }
                let start = text.line_to_byte(number - 1);
                let end = if number < text.len_lines() {
                    text.line_to_byte(number)
                } else {
                    text.len_bytes()
                };
                cx.session.seen.show(&file.location, text, start..end);
            }
        }
    }
}

/// One line of the result.
struct Row {
    text: String,
    /// Whether it counts for the limit.
    counts: bool,
}

impl Row {
    fn whole(text: String) -> Row {
        Row { text, counts: true }
    }
}

fn summary(found: &GrepResult) -> String {
    let more = if found.truncated { "+" } else { "" };
    match found.files.len() {
        0 => "nothing found".into(),
        1 => format!("{}{more} in 1 file", found.matches),
        files => format!("{}{more} in {files} files", found.matches),
    }
}

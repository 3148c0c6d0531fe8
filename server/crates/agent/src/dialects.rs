//! Dialects: the same tools, shown to a model under the names, fields and formats it knows best.
//!
//! Invariant: a dialect is data. What it shows is mapped back to canonical names and fields before
//! anything is decided, run, logged or drawn; no tool works otherwise because of it.

mod chord;
mod claude;
mod gemini;
mod gpt;
mod kimi;
mod local;
mod opencode;
mod shown;

use std::fmt;
use std::sync::OnceLock;

use llm::Family;

pub use shown::Shown;

use crate::bounds::RESULT;
use crate::settings::DialectName;
use crate::spelling::distance;
use crate::tools;

/// How tools are shown.
pub struct Dialect {
    /// Its name in settings and on the wire.
    pub name: &'static str,
    /// How the lines of files are shown.
    pub lines: Lines,
    /// How the lines around a match are shown.
    pub context: Context,
    /// How much of a search is shown at once.
    pub found: Found,
    /// Which tool shows pictures and videos.
    pub media: Media,
    /// How it is said what became of a job that is looked at.
    pub looks: Looks,
    /// How long commands may take.
    pub time: Time,
    /// Characters of what commands and jobs printed that are shown at once.
    pub printed: usize,
    /// Tools that are not offered, each with the one that is used instead.
    hidden: &'static [(&'static str, &'static str)],
    /// Tools that look otherwise than the canonical ones.
    faces: &'static [Face],
    shown: OnceLock<Vec<Shown>>,
}

/// How long a command may take where neither its call nor the settings say, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// While the agent waits for it.
    pub foreground: u64,
    /// As a job from the start; absent: as long as it takes.
    pub background: Option<u64>,
}

impl Time {
    const USUAL: Time = Time { foreground: 120_000, background: None };
}

/// How the lines of files are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lines {
    /// With their numbers.
    Numbered,
    /// With anchors: the number and a hash of the line, which line edits refer to.
    Anchored,
}

/// How the lines around a match are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// `path-12-text`
    Plain,
    /// `| path-12-text`
    Barred,
}

/// How much of a search is shown at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// Matches, or files with some, unless the call says otherwise.
    pub matches: usize,
    /// Bytes of them.
    pub match_bytes: usize,
    /// Names of files.
    pub names: usize,
    /// Bytes of them.
    pub name_bytes: usize,
}

impl Found {
    /// As much as a model reads of one result, less what is said at the end.
    const MUCH: Found =
        Found { matches: 250, match_bytes: RESULT - 2_000, names: 1_000, name_bytes: usize::MAX };
}

/// Which tool shows pictures and videos.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Media {
    /// `Read` does, like `ViewImage`.
    InRead,
    /// Only `ViewImage`; `Read` points there.
    Apart,
}

/// How it is said what became of a job that is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looks {
    /// `[status: …]` after the output.
    Status,
    /// That, and before it `retrieval_status: …` and why a job ended, one a line.
    Fields,
}

/// How one tool looks.
pub struct Face {
    /// Canonical name.
    tool: &'static str,
    /// The name shown.
    name: &'static str,
    /// The description shown; absent: the tool's own.
    description: Option<&'static str>,
    fields: Fields,
    /// Other names of fields shown that are taken silently: (alias, name shown).
    also: &'static [(&'static str, &'static str)],
}

/// Which fields a tool shows.
enum Fields {
    /// All of its own.
    Same,
    /// All of its own, these of them in another way.
    But(&'static [Field]),
    /// These and no others.
    Only(&'static [Field]),
}

/// How one field looks.
pub struct Field {
    /// Canonical name.
    of: &'static str,
    /// The name shown.
    name: &'static str,
    /// The description shown; absent: the field's own.
    description: Option<&'static str>,
    needed: Needed,
    /// In the foreground, or wherever that makes no difference.
    limits: Limits,
    /// With `run_in_background`; absent: the same.
    limits_in_background: Option<Limits>,
}

/// When a field must be given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needed {
    /// As the tool says.
    AsTool,
    /// Always.
    Always,
    /// With `run_in_background`.
    InBackground,
    /// It cannot be given: it is not shown and has its preset.
    Never,
}

/// What a field is when it is not given, and the most it can be; more is cut with a note.
#[derive(Clone, Copy)]
struct Limits {
    preset: Preset,
    most: Option<u64>,
}

/// What a field is when it is not given.
#[derive(Clone, Copy)]
enum Preset {
    /// Whatever the tool makes of it.
    Absent,
    Number(u64),
    Yes,
    Word(&'static str),
}

impl fmt::Debug for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Face {
    const fn new(tool: &'static str, name: &'static str) -> Face {
        Face { tool, name, description: None, fields: Fields::Same, also: &[] }
    }

    const fn but(self, fields: &'static [Field]) -> Face {
        Face { fields: Fields::But(fields), ..self }
    }

    const fn only(self, fields: &'static [Field]) -> Face {
        Face { fields: Fields::Only(fields), ..self }
    }

    const fn described(self, description: &'static str) -> Face {
        Face { description: Some(description), ..self }
    }

    const fn also(self, also: &'static [(&'static str, &'static str)]) -> Face {
        Face { also, ..self }
    }

    fn fields(&self) -> &'static [Field] {
        match self.fields {
            Fields::Same => &[],
            Fields::But(fields) | Fields::Only(fields) => fields,
        }
    }
}

impl Field {
    const fn new(of: &'static str) -> Field {
        Field {
            of,
            name: of,
            description: None,
            needed: Needed::AsTool,
            limits: Limits { preset: Preset::Absent, most: None },
            limits_in_background: None,
        }
    }

    const fn named(self, name: &'static str) -> Field {
        Field { name, ..self }
    }

    const fn described(self, description: &'static str) -> Field {
        Field { description: Some(description), ..self }
    }

    const fn needed(self, needed: Needed) -> Field {
        Field { needed, ..self }
    }

    const fn preset(self, preset: Preset) -> Field {
        Field { limits: Limits { preset, ..self.limits }, ..self }
    }

    const fn most(self, most: u64) -> Field {
        Field { limits: Limits { most: Some(most), ..self.limits }, ..self }
    }

    const fn in_background(self, limits: Limits) -> Field {
        Field { limits_in_background: Some(limits), ..self }
    }
}

/// Every tool under its own name: for people and programs that name no dialect.
pub static CANONICAL: Dialect = Dialect {
    name: "canonical",
    lines: Lines::Numbered,
    context: Context::Plain,
    found: Found::MUCH,
    media: Media::InRead,
    looks: Looks::Status,
    time: Time::USUAL,
    printed: RESULT,
    hidden: &[],
    faces: &[],
    shown: OnceLock::new(),
};

/// The dialects that can be chosen.
pub const ALL: &[DialectName] = &[
    DialectName::Claude,
    DialectName::Gpt,
    DialectName::Gemini,
    DialectName::Local,
    DialectName::Chord,
    DialectName::Kimi,
    DialectName::Opencode,
];

/// The dialect of this name.
pub fn of(name: DialectName) -> &'static Dialect {
    match name {
        DialectName::Claude => &claude::DIALECT,
        DialectName::Gpt => &gpt::DIALECT,
        DialectName::Gemini => &gemini::DIALECT,
        DialectName::Local => &local::DIALECT,
        DialectName::Chord => &chord::DIALECT,
        DialectName::Kimi => &kimi::DIALECT,
        DialectName::Opencode => &opencode::DIALECT,
    }
}

/// The dialect a family of models knows best.
pub fn of_family(family: Family) -> &'static Dialect {
    of(match family {
        Family::Claude => DialectName::Claude,
        Family::Gpt => DialectName::Gpt,
        Family::Gemini => DialectName::Gemini,
        Family::Local => DialectName::Local,
    })
}

/// The dialect of this name as the wire and the command line write it; the error lists the names.
pub fn named(name: &str) -> Result<&'static Dialect, String> {
    let all = || ALL.iter().map(|it| of(*it));
    all().find(|it| it.name == name).ok_or_else(|| {
        let names: Vec<&str> = all().map(|it| it.name).collect();
        let shown: String = name.chars().take(64).collect();
        format!("there is no dialect `{shown}`; there are {}", names.join(", "))
    })
}

/// The canonical name of a tool that some dialect shows under this name.
pub fn canonical_name(shown: &str) -> Option<&'static str> {
    let faces = ALL.iter().flat_map(|it| of(*it).faces);
    faces.into_iter().find(|it| it.name == shown).map(|it| it.tool)
}

/// What dialects call the tool of this canonical name, where they call it otherwise.
pub fn names_of(tool: &str) -> impl Iterator<Item = &'static str> {
    let faces = ALL.iter().flat_map(|it| of(*it).faces);
    faces.filter(move |it| it.tool == tool).map(|it| it.name)
}

impl Dialect {
    /// The tools it offers, in the order models see them.
    pub fn tools(&'static self) -> impl Iterator<Item = &'static Shown> {
        self.all().iter().filter(|it| it.is_offered)
    }

    /// The tool of this name: as the dialect shows it, else by any name or alias.
    pub fn find(&'static self, name: &str) -> Option<&'static Shown> {
        let own = self.tools().find(|it| it.name == name);
        own.or_else(|| {
            let entry = tools::find(name)?;
            self.all().iter().find(|it| it.entry.name == entry.name)
        })
    }

    /// What the tool of this canonical name, or the one used instead, is called here.
    pub fn called(&self, tool: &'static str) -> &'static str {
        let instead = self.hidden.iter().find(|(hidden, _)| *hidden == tool);
        let tool = instead.map_or(tool, |(_, instead)| instead);
        self.face(tool).map_or(tool, |it| it.name)
    }

    /// Whether the tool of this canonical name is offered.
    pub fn offers(&self, tool: &str) -> bool {
        !self.hidden.iter().any(|(hidden, _)| *hidden == tool)
    }

    /// What a field of a tool is called here; `None` where it is not shown.
    pub fn field(&self, tool: &str, field: &'static str) -> Option<&'static str> {
        match self.face(tool).map(|it| &it.fields) {
            None | Some(Fields::Same) => Some(field),
            Some(Fields::But(fields)) => {
                Some(fields.iter().find(|it| it.of == field).map_or(field, |it| it.name))
            }
            Some(Fields::Only(fields)) => {
                let is_shown = |it: &&Field| it.of == field && it.needed != Needed::Never;
                fields.iter().find(is_shown).map(|it| it.name)
            }
        }
    }

    /// What to tell whoever called a tool that does not exist.
    pub fn unknown(&'static self, name: &str) -> String {
        let wanted = name.to_lowercase();
        let mut nearest: Vec<(usize, &str)> =
            self.tools().map(|it| (apart(&wanted, &it.name.to_lowercase()), it.name)).collect();
        nearest.sort();
        let names: Vec<&str> = nearest.iter().take(3).map(|(_, name)| *name).collect();
        let shown: String = name.chars().take(64).collect();
        format!("There is no tool `{shown}`. The nearest names are {}.", names.join(", "))
    }

    fn face(&self, tool: &str) -> Option<&'static Face> {
        self.faces.iter().find(|it| it.tool == tool)
    }

    /// Every tool: those that are hidden keep their own names and fields, for calls that name them
    /// all the same.
    fn all(&'static self) -> &'static [Shown] {
        self.shown.get_or_init(|| tools::ALL.iter().map(|it| Shown::of(self, it)).collect())
    }
}

/// How far two names are apart, whatever the order of their words.
fn apart(a: &str, b: &str) -> usize {
    let sorted = |name: &str| {
        let mut words: Vec<&str> = name.split('_').collect();
        words.sort_unstable();
        words.join("_")
    };
    distance(a, b).min(distance(&sorted(a), &sorted(b)))
}

#[cfg(test)]
mod tests;

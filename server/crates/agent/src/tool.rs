//! What a tool is: its arguments, what they touch, how the card looks, and how it runs.
//!
//! Invariant: a tool never decides whether it may run. `access()` says what it touches, as data;
//! the permission engine decides from that. A tool is one file and one line in `tools::ALL`.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use exec::Denial;
use protocol::acp::{self, ToolCallContent, ToolKind};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;
use vfs::{Location, Vfs};

use crate::bounds;
use crate::dialects::Dialect;
use crate::editor::{Approval, Editor};
use crate::place::{Place, Target};
use crate::session::Shared;

/// A tool: a struct whose fields are its input and whose doc comment is its description.
#[async_trait]
pub trait Tool: DeserializeOwned + JsonSchema + Send + Sync + 'static {
    /// The name that rules, hooks, logs and cards use.
    const NAME: &'static str;
    /// Other names it answers to.
    const ALIASES: &'static [&'static str] = &[];
    /// Other names of its fields: (alias, field).
    const FIELDS: &'static [(&'static str, &'static str)] = &[];
    /// Characters of one text of its result; the rest of a longer one becomes an artifact.
    const LONGEST: usize = bounds::RESULT;
    /// What kind of card it shows.
    fn kind() -> ToolKind;

    /// Whether it is of use to a model that takes these media.
    fn is_of_use(_sees: Sees) -> bool {
        true
    }

    /// What the call touches.
    fn access(&self, place: &Place) -> Result<Access, Failure>;

    /// The card's title and places, known before the call runs.
    fn card(&self, place: &Place) -> Card;

    /// What the person is shown when asked, e.g. the diff. A failure here fails the call unasked.
    async fn preview(&self, _cx: &Cx) -> Result<Vec<ToolCallContent>, Failure> {
        Ok(Vec::new())
    }

    /// Does it.
    async fn run(self, cx: &Cx) -> Result<Output, Failure>;
}

/// What a call touches, as data for the permission engine and the scheduler.
#[derive(Clone, Debug, Default)]
pub struct Access {
    /// Files and folders whose content is read or searched.
    pub reads: Vec<Target>,
    /// Files that are created, changed or deleted.
    pub writes: Vec<Target>,
    /// A command that is run.
    pub command: Option<CommandAccess>,
    /// Jobs that are stopped.
    pub stops: Vec<String>,
}

impl Access {
    /// Reads these places and nothing else.
    pub fn read(reads: Vec<Target>) -> Access {
        Access { reads, ..Access::default() }
    }

    /// Writes these places and nothing else.
    pub fn write(writes: Vec<Target>) -> Access {
        Access { writes, ..Access::default() }
    }

    /// Whether the call changes nothing, so that it may run beside others.
    pub fn is_read_only(&self) -> bool {
        self.writes.is_empty() && self.command.is_none() && self.stops.is_empty()
    }
}

/// A shell command as the permission engine sees it.
#[derive(Clone, Debug)]
pub struct CommandAccess {
    /// The whole script.
    pub script: String,
    /// Where it starts.
    pub cwd: PathBuf,
    /// What becomes of it.
    pub form: Form,
}

/// What becomes of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Form {
    /// It runs by itself, without input, and ends.
    Command,
    /// It stays and serves, or takes input: never harmless by its words alone.
    Program,
    /// It is typed into what runs in this terminal, whatever that makes of it.
    Typed {
        /// `term-N`.
        terminal: String,
    },
}

/// The parts of a card that are known before the call runs.
#[derive(Clone, Debug, Default)]
pub struct Card {
    /// One line, e.g. `Edit src/a.rs`.
    pub title: String,
    /// Places the call is about: path and 1-based line.
    pub locations: Vec<(Location, Option<u32>)>,
}

impl Card {
    /// A card about no particular place.
    pub fn new(title: impl Into<String>) -> Card {
        Card { title: title.into(), locations: Vec::new() }
    }

    /// A card about one file.
    pub fn at(title: impl Into<String>, location: Location) -> Card {
        Card { title: title.into(), locations: vec![(location, None)] }
    }
}

/// What a call hands back.
#[derive(Clone, Debug, Default)]
pub struct Output {
    /// For the model.
    pub content: Vec<Content>,
    /// For the card; empty: the model's text.
    pub card: Vec<ToolCallContent>,
    /// A better title than the first one, e.g. with line counts.
    pub title: Option<String>,
    /// Structured facts for programs.
    pub raw: Option<Value>,
    /// Whether the call ran but what it did failed, e.g. a command's exit code.
    pub failed: bool,
    /// What the sandbox denied a command that failed.
    pub denied: Vec<Denial>,
}

impl Output {
    /// Plain text for the model and the card.
    pub fn text(text: impl Into<String>) -> Output {
        Output { content: vec![Content::Text(text.into())], ..Output::default() }
    }

    /// Sets what the card shows.
    pub fn with_card(mut self, card: Vec<ToolCallContent>) -> Output {
        self.card = card;
        self
    }

    /// Adds a line for the model.
    pub fn note(mut self, text: impl Into<String>) -> Output {
        self.content.push(Content::Text(text.into()));
        self
    }

    /// Sets the final title.
    pub fn with_title(mut self, title: impl Into<String>) -> Output {
        self.title = Some(title.into());
        self
    }
}

/// One piece of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// An image, base64.
    Image { media_type: String, data: String },
    /// A video, base64.
    Video { media_type: String, data: String },
}

impl Content {
    /// The text of it, where it is text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Content::Text(text) => Some(text),
            Content::Image { .. } | Content::Video { .. } => None,
        }
    }
}

/// A tool's failure, written for the model: what to change.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Failure {
    /// What went wrong and what to do next.
    #[error("{0}")]
    Told(String),
    /// The turn or the call was cancelled.
    #[error("cancelled")]
    Cancelled,
}

impl Failure {
    /// A failure with this text.
    pub fn new(text: impl Into<String>) -> Failure {
        Failure::Told(text.into())
    }
}

/// Who made a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// The model.
    Model,
    /// The person, through the command line or an editor's own action: needs no read before an edit.
    Person,
}

/// What a caller can be shown besides text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sees {
    /// Pictures.
    pub images: bool,
    /// Videos.
    pub video: bool,
}

impl Sees {
    /// Everything: the person, whose window or program shows it.
    pub const ALL: Sees = Sees { images: true, video: true };
}

/// What a running call has at hand.
#[derive(Clone)]
pub struct Cx {
    /// The workspace and the current folder.
    pub place: Place,
    /// Files and open documents.
    pub vfs: Vfs,
    /// The outside.
    pub editor: Arc<dyn Editor>,
    /// What the calls of one session share.
    pub session: Arc<Shared>,
    /// The card's id.
    pub call: String,
    /// Who made it.
    pub caller: Caller,
    /// Who let it through.
    pub approval: Approval,
    /// How the caller sees tools and lines.
    pub dialect: &'static Dialect,
    /// What the caller can be shown.
    pub sees: Sees,
    /// Whether its command is confined.
    pub confined: Confined,
    /// When the person decides on what it changes.
    pub review: Review,
    /// Ends the call.
    pub cancel: CancellationToken,
}

/// When the person decides on what a call changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Review {
    /// Before the call ends, whose result then says what they decided.
    First,
    /// At any time.
    Whenever,
}

/// Whether a call's command is confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confined {
    /// As the settings say.
    AsConfigured,
    /// Not: a rule or the person lets it run outside the sandbox.
    Outside,
}

/// A tool in the registry.
pub struct Entry {
    /// Canonical name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// Field aliases.
    pub fields: &'static [(&'static str, &'static str)],
    /// The card's kind.
    pub kind: fn() -> ToolKind,
    /// See [`Tool::LONGEST`].
    pub longest: usize,
    /// See [`Tool::is_of_use`].
    pub is_of_use: fn(Sees) -> bool,
    schema: fn() -> Value,
    described: OnceLock<Described>,
    parse: fn(Value) -> Result<Box<dyn Call>, serde_json::Error>,
}

impl Entry {
    /// Registers a tool.
    pub const fn of<T: Tool>() -> Entry {
        Entry {
            name: T::NAME,
            aliases: T::ALIASES,
            fields: T::FIELDS,
            kind: T::kind,
            longest: T::LONGEST,
            is_of_use: T::is_of_use,
            schema: schema_of::<T>,
            described: OnceLock::new(),
            parse: |input| Ok(Box::new(serde_json::from_value::<T>(input)?)),
        }
    }

    /// The typed call for a validated input.
    pub fn parse(&self, input: Value) -> Result<Box<dyn Call>, serde_json::Error> {
        (self.parse)(input)
    }

    /// What the model reads about the tool.
    pub fn description(&self) -> &str {
        &self.described().description
    }

    /// The input's schema, without the description at the top.
    pub fn input_schema(&self) -> &Value {
        &self.described().schema
    }

    fn described(&self) -> &Described {
        self.described.get_or_init(|| {
            let mut schema = (self.schema)();
            let description = schema.as_object_mut().and_then(|it| it.remove("description"));
            let description = description.and_then(|it| it.as_str().map(str::to_string));
            Described { description: description.unwrap_or_default(), schema }
        })
    }
}

/// What a tool's type says of it, worked out once.
struct Described {
    description: String,
    schema: Value,
}

/// A parsed call, the tool's type erased.
#[async_trait]
pub trait Call: Send + Sync {
    /// See [`Tool::access`].
    fn access(&self, place: &Place) -> Result<Access, Failure>;
    /// See [`Tool::card`].
    fn card(&self, place: &Place) -> Card;
    /// See [`Tool::preview`].
    async fn preview(&self, cx: &Cx) -> Result<Vec<ToolCallContent>, Failure>;
    /// See [`Tool::run`].
    async fn run(self: Box<Self>, cx: &Cx) -> Result<Output, Failure>;
}

#[async_trait]
impl<T: Tool> Call for T {
    fn access(&self, place: &Place) -> Result<Access, Failure> {
        Tool::access(self, place)
    }

    fn card(&self, place: &Place) -> Card {
        Tool::card(self, place)
    }

    async fn preview(&self, cx: &Cx) -> Result<Vec<ToolCallContent>, Failure> {
        Tool::preview(self, cx).await
    }

    async fn run(self: Box<Self>, cx: &Cx) -> Result<Output, Failure> {
        Tool::run(*self, cx).await
    }
}

/// A text block of a card.
pub fn text_content(text: impl Into<String>) -> ToolCallContent {
    ToolCallContent::from(acp::ContentBlock::from(text.into()))
}

fn schema_of<T: JsonSchema>() -> Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12()
        .with(|it| {
            it.inline_subschemas = true;
            it.meta_schema = None;
        })
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    if let Some(map) = schema.as_object_mut() {
        map.remove("title");
        map.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    tidy(&mut schema);
    schema
}

/// Drops what schemars adds and models do not need: `null` alternatives of optional fields, number
/// formats, null defaults. Words to choose from become an `enum`, and objects take no other fields.
fn tidy(schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            if let Some(Value::Array(types)) = map.get_mut("type") {
                types.retain(|it| it != "null");
                if let [one] = types.as_slice() {
                    let one = one.clone();
                    map.insert("type".into(), one);
                }
            }
            if let Some(Value::Array(alternatives)) = map.get_mut("anyOf") {
                alternatives.retain(|it| it["type"] != "null");
                if let [Value::Object(one)] = alternatives.as_slice() {
                    let one = one.clone();
                    map.remove("anyOf");
                    for (key, value) in one {
                        map.entry(key).or_insert(value);
                    }
                }
            }
            if let Some((words, meanings)) = map.get("oneOf").and_then(choices) {
                map.remove("oneOf");
                map.insert("type".into(), Value::String("string".into()));
                map.insert("enum".into(), words);
                let text = map.get("description").and_then(Value::as_str).unwrap_or_default();
                map.insert("description".into(), format!("{text} {meanings}").trim().into());
            }
            if map.get("properties").is_some_and(Value::is_object) {
                map.insert("additionalProperties".into(), Value::Bool(false));
            }
            map.remove("format");
            if map.get("default") == Some(&Value::Null) {
                map.remove("default");
            }
            map.values_mut().for_each(tidy);
        }
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The words of alternatives that are one word each, and what each means.
fn choices(alternatives: &Value) -> Option<(Value, String)> {
    let alternatives = alternatives.as_array()?;
    let words: Option<Vec<Value>> = alternatives
        .iter()
        .map(|it| it.get("const").filter(|it| it.is_string()).cloned())
        .collect();
    let meanings: Vec<String> = alternatives
        .iter()
        .filter_map(|it| {
            Some(format!("`{}`: {}", it["const"].as_str()?, it["description"].as_str()?))
        })
        .collect();
    Some((Value::Array(words?), meanings.join(" ")))
}

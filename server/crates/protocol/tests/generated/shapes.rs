//! JSON Schema reduced to the few shapes that the wire's types have.

use std::collections::BTreeMap;

use protocol::methods::{METHODS, OTHER_TYPES, Shape};
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

const META: &str = "_meta";

/// All types by name.
pub struct Wire(pub BTreeMap<String, Definition>);

/// A named type.
pub struct Definition {
    pub doc: String,
    pub of: Type,
}

/// What a value looks like.
pub enum Type {
    Any,
    Null,
    Bool,
    Number,
    Text,
    /// One value, as JSON.
    Literal(String),
    List(Box<Type>),
    Map,
    Named(String),
    Record(Record),
    /// One of several. Unknown members are allowed for when `open`.
    Union {
        members: Vec<Member>,
        open: bool,
    },
    /// A record and, beside its fields, those of one of several.
    Both(Record, Box<Type>),
}

/// Fields by name, with those of a named type.
pub struct Record {
    pub parent: Option<String>,
    pub fields: Vec<Field>,
}

/// One field.
pub struct Field {
    pub name: String,
    pub doc: String,
    pub optional: bool,
    pub of: Type,
}

/// One possibility of a union.
pub struct Member {
    pub doc: String,
    pub of: Type,
}

impl Wire {
    /// The types of all methods and all they refer to.
    pub fn read() -> Wire {
        let mut generator = SchemaSettings::draft2020_12().into_generator();
        let shapes = METHODS.iter().flat_map(|it| [Some(it.params), it.result]).flatten();
        for shape in shapes.chain(OTHER_TYPES.iter().copied()) {
            (shape.schema)(&mut generator);
        }
        let names: Vec<&String> = generator.definitions().keys().collect();
        for name in &names {
            let base = name.trim_end_matches(|it: char| it.is_ascii_digit());
            let taken = base.len() < name.len() && names.iter().any(|it| *it == base);
            assert!(!taken, "two types are called {base}");
        }
        let definitions = generator.definitions().iter();
        Wire(definitions.map(|(name, schema)| (name.clone(), definition(schema))).collect())
    }
}

/// The name a shape has among the definitions.
pub fn name(shape: Shape) -> String {
    (shape.name)().into_owned()
}

/// The first paragraph of a doc comment, on one line.
pub fn summary(doc: &str) -> String {
    let paragraph = doc.split("\n\n").next().unwrap_or_default();
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl Member {
    /// The text of the constant that tells the member from the others.
    pub fn tag(&self) -> Option<&str> {
        match &self.of {
            Type::Record(record) => record.fields.iter().find_map(|field| match &field.of {
                Type::Literal(literal) => Some(literal.trim_matches('"')),
                _ => None,
            }),
            _ => None,
        }
    }
}

fn definition(schema: &Value) -> Definition {
    Definition { doc: text(schema, "description"), of: read(schema) }
}

fn read(schema: &Value) -> Type {
    let Some(schema) = schema.as_object() else { return Type::Any };
    if let Some(value) = schema.get("const") {
        return Type::Literal(value.to_string());
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let members = values.iter().map(|it| Member {
            doc: String::new(),
            of: if it.is_null() { Type::Null } else { Type::Literal(it.to_string()) },
        });
        return Type::Union { members: members.collect(), open: false };
    }
    let choices = schema.get("anyOf").or_else(|| schema.get("oneOf")).and_then(Value::as_array);
    let has_fields = schema.contains_key("properties");
    match choices {
        Some(choices) if has_fields => Type::Both(record(schema), Box::new(union(choices))),
        Some(choices) => union(choices),
        None if has_fields => Type::Record(record(schema)),
        None => plain(schema),
    }
}

fn plain(schema: &Map<String, Value>) -> Type {
    if let Some(reference) = parent(schema) {
        return Type::Named(reference);
    }
    match schema.get("type") {
        Some(Value::String(kind)) => of_kind(kind, schema),
        Some(Value::Array(kinds)) => {
            let kinds = kinds.iter().filter_map(Value::as_str);
            let members =
                kinds.map(|kind| Member { doc: String::new(), of: of_kind(kind, schema) });
            Type::Union { members: members.collect(), open: false }
        }
        _ => Type::Any,
    }
}

fn of_kind(kind: &str, schema: &Map<String, Value>) -> Type {
    match kind {
        "null" => Type::Null,
        "boolean" => Type::Bool,
        "integer" | "number" => Type::Number,
        "string" => Type::Text,
        "array" => Type::List(Box::new(schema.get("items").map_or(Type::Any, read))),
        "object" if schema.contains_key("additionalProperties") => Type::Map,
        "object" => Type::Record(Record { parent: None, fields: Vec::new() }),
        other => panic!("unknown type {other}"),
    }
}

fn record(schema: &Map<String, Value>) -> Record {
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let fields = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let fields = fields.map(|(name, schema)| Field {
        name: name.clone(),
        doc: if name == META { String::new() } else { text(schema, "description") },
        optional: !required.contains(&name.as_str()),
        of: if name == META { nullable_meta() } else { read(schema) },
    });
    Record { parent: parent(schema), fields: fields.collect() }
}

/// What every message may carry besides: one type, described once.
fn nullable_meta() -> Type {
    let of = [Type::Named("Meta".to_string()), Type::Null];
    let members = of.into_iter().map(|of| Member { doc: String::new(), of });
    Type::Union { members: members.collect(), open: false }
}

/// A union without the member that stands for all that is not known yet.
fn union(choices: &[Value]) -> Type {
    let is_constant = |it: &&Value| it.get("const").is_some();
    let has_constants = choices.iter().any(|it| is_constant(&it));
    let is_rest = |it: &&Value| it.get("not").is_some() || (has_constants && !is_constant(it));
    let members = choices.iter().filter(|it| !is_rest(it));
    let members: Vec<Member> =
        members.map(|it| Member { doc: text(it, "description"), of: read(it) }).collect();
    if members.iter().any(|it| matches!(it.of, Type::Any)) {
        return Type::Any;
    }
    Type::Union { members, open: choices.iter().any(|it| is_rest(&it)) }
}

fn parent(schema: &Map<String, Value>) -> Option<String> {
    let reference = schema.get("$ref")?.as_str()?;
    reference.rsplit('/').next().map(str::to_string)
}

fn text(schema: &Value, key: &str) -> String {
    schema.get(key).and_then(Value::as_str).unwrap_or_default().to_string()
}

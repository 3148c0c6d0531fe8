//! One tool as a dialect shows it, worked out once, and the way back to the canonical input.

use serde_json::{Map, Value};

use crate::dialects::{Dialect, Face, Field, Fields, Needed, Preset};
use crate::repair::{Repaired, Schema, repair};
use crate::tool::Entry;
use crate::{dialects, tools};

/// One tool as a dialect shows it.
pub struct Shown {
    /// The tool.
    pub entry: &'static Entry,
    /// The name shown.
    pub name: &'static str,
    /// What the model reads about it.
    pub description: String,
    /// Whether the dialect offers it.
    pub is_offered: bool,
    schema: Schema,
    aliases: Vec<(&'static str, &'static str)>,
    fields: &'static [Field],
}

impl Shown {
    /// A tool as this dialect shows it.
    pub(super) fn of(dialect: &'static Dialect, entry: &'static Entry) -> Shown {
        let is_offered = !dialect.hidden.iter().any(|(hidden, _)| *hidden == entry.name);
        let face = dialect.face(entry.name).filter(|_| is_offered);
        let fields = face.map_or(&[][..], Face::fields);
        let mut value = entry.input_schema().clone();
        if let Some(Face { fields: Fields::Only(_), .. }) = face {
            keep_only(&mut value, fields);
        }
        show(&mut value, fields);
        name_as_shown(dialect, fields, &mut value);
        let own = face.and_then(|it| it.description).unwrap_or(entry.description());
        Shown {
            entry,
            name: face.map_or(entry.name, |it| it.name),
            description: named_as_shown(dialect, fields, own),
            is_offered,
            schema: Schema::new(value),
            aliases: aliases(entry, fields, face.map_or(&[], |it| it.also)),
            fields,
        }
    }

    /// The input's schema as the model reads it.
    pub fn input_schema(&self) -> &Value {
        &self.schema.value
    }

    /// Repairs and checks an input as it was shown, and gives the canonical one. The problems name
    /// the fields shown.
    pub fn read(&self, input: Value) -> Result<Repaired, Vec<String>> {
        let Repaired { input, mut notes } = repair(input, &self.schema, &self.aliases)?;
        let mut input = canonical(input, self.fields, self.entry.input_schema());
        let mut missing = Vec::new();
        if let Value::Object(map) = &mut input {
            let place = Place::of(map);
            missing = self.fields.iter().filter(|it| it.is_missing(map, place)).collect();
            for field in self.fields {
                bound(field, map, place, &mut notes);
            }
        }
        match missing.as_slice() {
            [] => Ok(Repaired { input, notes }),
            missing => Err(missing
                .iter()
                .map(|it| format!("args.{} is required in the background", it.name))
                .collect()),
        }
    }
}

/// Where a command runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Foreground,
    Background,
}

impl Place {
    fn of(input: &Map<String, Value>) -> Place {
        match input.get("run_in_background") {
            Some(Value::Bool(true)) => Place::Background,
            Some(_) | None => Place::Foreground,
        }
    }
}

impl Field {
    fn is_missing(&self, input: &Map<String, Value>, place: Place) -> bool {
        let needed = self.needed == Needed::InBackground && place == Place::Background;
        needed && !input.contains_key(self.of)
    }
}

/// Other names of the fields shown: those the dialect takes silently, the canonical names, the tool's
/// own aliases, and what other dialects call them.
fn aliases(
    entry: &'static Entry,
    fields: &'static [Field],
    also: &'static [(&'static str, &'static str)],
) -> Vec<(&'static str, &'static str)> {
    let elsewhere = dialects::ALL.iter().filter_map(|it| dialects::of(*it).face(entry.name));
    let elsewhere = elsewhere.flat_map(Face::fields).map(|it| (it.name, it.of));
    let own = fields.iter().map(|it| (it.of, it.of));
    let mut all = also.to_vec();
    for (alias, of) in own.chain(entry.fields.iter().copied()).chain(elsewhere) {
        let shown = fields.iter().find(|it| it.of == of).map_or(of, |it| it.name);
        if alias != shown && !all.iter().any(|(known, _)| *known == alias) {
            all.push((alias, shown));
        }
    }
    all
}

fn keep_only(schema: &mut Value, fields: &[Field]) {
    let kept = |name: &str| fields.iter().any(|it| it.of == name && it.needed != Needed::Never);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| kept(name));
    }
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|it| it.as_str().is_some_and(kept));
    }
}

/// Renames and describes fields, at every depth. Their order stays.
fn show(schema: &mut Value, fields: &[Field]) {
    if let Some(items) = schema.get_mut("items") {
        show(items, fields);
    }
    let Some(map) = schema.as_object_mut().filter(|it| it.contains_key("properties")) else {
        return;
    };
    let shown_as = |name: &str| fields.iter().find(|it| it.of == name);
    let mut needed: Vec<Value> = Vec::new();
    if let Some(Value::Array(required)) = map.get("required") {
        let names = required.iter().filter_map(Value::as_str);
        needed.extend(names.map(|it| Value::from(shown_as(it).map_or(it, |field| field.name))));
    }
    if let Some(Value::Object(properties)) = map.get_mut("properties") {
        let renamed = std::mem::take(properties).into_iter().map(|(name, mut property)| {
            show(&mut property, fields);
            let Some(field) = shown_as(&name) else { return (name, property) };
            describe(&mut property, field);
            let name = Value::from(field.name);
            if field.needed == Needed::Always && !needed.contains(&name) {
                needed.push(name);
            }
            (field.name.to_string(), property)
        });
        *properties = renamed.collect();
    }
    if !needed.is_empty() {
        map.insert("required".into(), Value::Array(needed));
    }
}

fn describe(property: &mut Value, field: &Field) {
    let Some(map) = property.as_object_mut() else { return };
    if let Some(text) = field.description {
        map.insert("description".into(), Value::from(text));
    }
    if let Some(preset) = value_of(field.limits.preset) {
        map.insert("default".into(), preset);
    }
}

/// The canonical names of an input that was shown under others.
fn canonical(input: Value, fields: &[Field], schema: &Value) -> Value {
    match input {
        Value::Object(map) => {
            let Some(properties) = schema["properties"].as_object() else {
                return Value::Object(map);
            };
            let renamed = map.into_iter().map(|(name, value)| {
                let field = fields.iter().find(|it| it.name == name);
                let field = field.filter(|it| properties.contains_key(it.of));
                let of = field.map_or(name, |it| it.of.to_string());
                let value = canonical(value, fields, &schema["properties"][&of]);
                (of, value)
            });
            Value::Object(renamed.collect::<Map<_, _>>())
        }
        Value::Array(items) => {
            let items = items.into_iter().map(|it| canonical(it, fields, &schema["items"]));
            Value::Array(items.collect())
        }
        plain => plain,
    }
}

/// Fills in a preset and cuts what is too much.
fn bound(field: &Field, input: &mut Map<String, Value>, place: Place, notes: &mut Vec<String>) {
    let limits = match place {
        Place::Foreground => field.limits,
        Place::Background => field.limits_in_background.unwrap_or(field.limits),
    };
    match (input.get(field.of), limits.most) {
        (None, _) => {
            if let Some(preset) = value_of(limits.preset) {
                input.insert(field.of.to_string(), preset);
            }
        }
        (Some(given), Some(most)) if given.as_u64().is_some_and(|it| most < it) => {
            notes.push(format!("`{}` is at most {most}", field.name));
            input.insert(field.of.to_string(), Value::from(most));
        }
        (Some(_), _) => {}
    }
}

fn value_of(preset: Preset) -> Option<Value> {
    match preset {
        Preset::Absent => None,
        Preset::Number(number) => Some(Value::from(number)),
        Preset::Yes => Some(Value::Bool(true)),
        Preset::Word(word) => Some(Value::from(word)),
    }
}

/// Puts the names shown into every description of a schema.
fn name_as_shown(dialect: &'static Dialect, fields: &[Field], schema: &mut Value) {
    match schema {
        Value::Object(map) => {
            for (key, value) in map {
                match value {
                    Value::String(text) if key == "description" => {
                        *text = named_as_shown(dialect, fields, text);
                    }
                    other => name_as_shown(dialect, fields, other),
                }
            }
        }
        Value::Array(items) => {
            items.iter_mut().for_each(|it| name_as_shown(dialect, fields, it));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// A text whose `quoted` names of tools and fields are those shown.
fn named_as_shown(dialect: &'static Dialect, fields: &[Field], text: &str) -> String {
    let mut parts: Vec<&str> = text.split('`').collect();
    for part in parts.iter_mut().skip(1).step_by(2) {
        let field = fields.iter().find(|it| it.of == *part);
        *part = match (tools::canonical(part), field) {
            (Some(tool), _) => dialect.called(tool.name),
            (None, Some(field)) => field.name,
            (None, None) => part,
        };
    }
    parts.join("`")
}

//! docs/PROTOCOL.md: every method, then every type.

use std::fmt::Write as _;

use protocol::methods::{METHODS, Method, OTHER_TYPES, Sender};

use crate::shapes::{Definition, Field, Type, Wire, name, summary};

pub fn render(wire: &Wire) -> String {
    let mut out = include_str!("protocol-head.md").to_string();
    out.push_str("\n## Methods\n\n| method | sent by | kind |\n|---|---|---|\n");
    for method in METHODS {
        let anchor = anchor(&heading(method));
        let _ = writeln!(
            out,
            "| [`{}`](#{anchor}) | {} | {} |",
            method.name,
            sender(method),
            kind(method)
        );
    }
    for method in METHODS {
        self::method(&mut out, wire, method);
    }
    out.push_str("\n## Types\n");
    let shown: Vec<String> =
        METHODS.iter().flat_map(|it| [Some(it.params), it.result]).flatten().map(name).collect();
    let others: Vec<String> = OTHER_TYPES.iter().copied().map(name).collect();
    for one in &others {
        type_section(&mut out, one, &wire.0[one]);
    }
    let rest = wire.0.iter().filter(|(name, _)| !shown.contains(name) && !others.contains(name));
    for (name, one) in rest {
        type_section(&mut out, name, one);
    }
    out
}

fn method(out: &mut String, wire: &Wire, method: &Method) {
    let _ = writeln!(out, "\n### {}\n", heading(method));
    let _ = writeln!(out, "{} from the {}. {}", kind_title(method), sender(method), method.doc);
    part(out, wire, "Parameters", &name(method.params));
    if let Some(result) = method.result {
        part(out, wire, "Result", &name(result));
    }
}

fn part(out: &mut String, wire: &Wire, title: &str, name: &str) {
    let _ = writeln!(out, "\n{title}: `{name}`");
    body(out, &wire.0[name]);
}

fn type_section(out: &mut String, name: &str, one: &Definition) {
    let _ = writeln!(out, "\n### {name}");
    let doc = summary(&one.doc);
    if !doc.is_empty() {
        let _ = writeln!(out, "\n{doc}");
    }
    body(out, one);
}

fn body(out: &mut String, one: &Definition) {
    match &one.of {
        Type::Record(record) => fields(out, &record.fields),
        Type::Both(record, choice) => {
            fields(out, &record.fields);
            members(out, choice);
        }
        Type::Union { .. } => members(out, &one.of),
        other => {
            let _ = writeln!(out, "\n{}", inline(other));
        }
    }
}

fn fields(out: &mut String, fields: &[Field]) {
    if fields.is_empty() {
        return;
    }
    out.push_str("\n| field | type | |\n|---|---|---|\n");
    for field in fields {
        let mark = if field.optional { "?" } else { "" };
        let (of, doc) = (cell(&inline(&field.of)), cell(&summary(&field.doc)));
        let _ = writeln!(out, "| `{}`{mark} | {of} | {doc} |", field.name);
    }
}

fn members(out: &mut String, of: &Type) {
    let Type::Union { members, open } = of else { return };
    out.push_str("\nOne of:\n\n");
    for member in members {
        let doc = summary(&member.doc);
        let doc = if doc.is_empty() { doc } else { format!(" — {doc}") };
        let _ = writeln!(out, "- {}{doc}", inline(&member.of));
    }
    if *open {
        out.push_str("- or one that is not known yet\n");
    }
}

fn inline(of: &Type) -> String {
    match of {
        Type::Any => "any".to_string(),
        Type::Null => "null".to_string(),
        Type::Bool => "boolean".to_string(),
        Type::Number => "number".to_string(),
        Type::Text => "string".to_string(),
        Type::Literal(literal) => format!("`{literal}`"),
        Type::List(item) => format!("list of {}", inline(item)),
        Type::Map => "object".to_string(),
        Type::Named(name) if name == "Meta" => "[`Meta`](#metakeys)".to_string(),
        Type::Named(name) => format!("[`{name}`](#{})", anchor(name)),
        Type::Record(record) => {
            let parent = record.parent.as_ref().map(|it| inline(&Type::Named(it.clone())));
            let fields = record.fields.iter().map(|it| format!("`{}` {}", it.name, inline(&it.of)));
            let parts: Vec<String> = fields.chain(parent).collect();
            if parts.is_empty() { "object".to_string() } else { parts.join(" with ") }
        }
        Type::Union { members, .. } => {
            let all: Vec<String> = members.iter().map(|it| inline(&it.of)).collect();
            all.join(" or ")
        }
        Type::Both(..) => "object".to_string(),
    }
}

fn sender(method: &Method) -> &'static str {
    match method.sender {
        Sender::Client => "editor",
        Sender::Server => "server",
    }
}

fn kind(method: &Method) -> &'static str {
    if method.result.is_some() { "request" } else { "notification" }
}

fn kind_title(method: &Method) -> &'static str {
    if method.result.is_some() { "Request" } else { "Notification" }
}

/// Told apart from the type of nearly the same name.
fn heading(method: &Method) -> String {
    format!("{} ({})", method.name, kind(method))
}

/// How a heading is linked to on a forge.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|it| it.is_alphanumeric() || matches!(it, '_' | '-' | ' '));
    kept.collect::<String>().to_lowercase().replace(' ', "-")
}

#[test]
fn every_link_has_its_heading() {
    let text = render(&Wire::read());
    let headings: Vec<String> = text
        .lines()
        .filter_map(|it| it.trim_start_matches('#').strip_prefix(' '))
        .map(anchor)
        .collect();
    for link in text.split("](#").skip(1).filter_map(|it| it.split(')').next()) {
        assert!(headings.iter().any(|it| it == link), "#{link}");
    }
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

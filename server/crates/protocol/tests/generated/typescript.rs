//! TypeScript types for the VS Code extension.

use std::fmt::Write as _;

use protocol::methods::{METHODS, Method, Sender};

use crate::shapes::{Definition, Field, Member, Record, Type, Wire, name, summary};

const HEAD: &str = "\
// Generated from the types of server/crates/protocol; do not edit.
// To write it anew: UPDATE_GENERATED=1 cargo test -p protocol
//
// Unions of objects are open: a newer server may send members that are not listed here.

";

const META: &str = "\
/** What a message carries beside its own fields. */
export type Meta = { copydesk?: MetaKeys; [key: string]: unknown };

";

pub fn render(wire: &Wire) -> String {
    let mut out = HEAD.to_string();
    let _ = writeln!(out, "export const PROTOCOL_VERSION = {};\n", protocol::PROTOCOL_VERSION);
    out.push_str(META);
    for (name, one) in &wire.0 {
        definition(&mut out, name, one);
    }
    methods(&mut out, "ClientRequests", "Requests the editor sends.", |it| {
        it.sender == Sender::Client && it.result.is_some()
    });
    methods(&mut out, "ClientNotifications", "Notifications the editor sends.", |it| {
        it.sender == Sender::Client && it.result.is_none()
    });
    methods(&mut out, "ServerRequests", "Requests the server sends.", |it| {
        it.sender == Sender::Server && it.result.is_some()
    });
    methods(&mut out, "ServerNotifications", "Notifications the server sends.", |it| {
        it.sender == Sender::Server && it.result.is_none()
    });
    out.push_str(
        "/** Every method by name. */\n\
         export type Methods = ClientRequests & ClientNotifications & ServerRequests & ServerNotifications;\n",
    );
    out
}

fn methods(out: &mut String, title: &str, doc: &str, wanted: impl Fn(&Method) -> bool) {
    let _ = writeln!(out, "/** {doc} */\nexport interface {title} {{");
    for method in METHODS.iter().filter(|it| wanted(it)) {
        comment(out, "  ", method.doc);
        let params = name(method.params);
        let result = method.result.map(|it| format!("; result: {}", name(it))).unwrap_or_default();
        let _ = writeln!(out, "  '{}': {{ params: {params}{result} }};", method.name);
    }
    out.push_str("}\n\n");
}

fn definition(out: &mut String, name: &str, one: &Definition) {
    comment(out, "", &one.doc);
    match &one.of {
        Type::Record(record) if record.fields.is_empty() && record.parent.is_none() => {
            let _ = writeln!(out, "export type {name} = Record<string, never>;\n");
        }
        Type::Record(record) => {
            let parent =
                record.parent.as_ref().map(|it| format!(" extends {it}")).unwrap_or_default();
            let _ = writeln!(out, "export interface {name}{parent} {{");
            for one in &record.fields {
                comment(out, "  ", &one.doc);
                let _ = writeln!(out, "  {};", field(one));
            }
            out.push_str("}\n\n");
        }
        Type::Union { members, open } if members.len() > 1 => {
            let _ = write!(out, "export type {name} =");
            for member in members {
                let _ = write!(out, "\n  | {}", inline(&member.of));
            }
            if *open && members.iter().all(is_literal) {
                out.push_str("\n  | (string & {})");
            }
            out.push_str(";\n\n");
        }
        other => {
            let _ = writeln!(out, "export type {name} = {};\n", inline(other));
        }
    }
}

fn inline(of: &Type) -> String {
    match of {
        Type::Any => "unknown".to_string(),
        Type::Null => "null".to_string(),
        Type::Bool => "boolean".to_string(),
        Type::Number => "number".to_string(),
        Type::Text => "string".to_string(),
        Type::Literal(literal) => literal.replace('"', "'"),
        Type::List(item) => match &**item {
            Type::Union { .. } | Type::Both(..) => format!("({})[]", inline(item)),
            item => format!("{}[]", inline(item)),
        },
        Type::Map => "Record<string, unknown>".to_string(),
        Type::Named(name) => name.clone(),
        Type::Record(record) => self::record(record),
        Type::Union { members, open } => {
            let mut all: Vec<String> = members.iter().map(|it| inline(&it.of)).collect();
            if *open && members.iter().all(is_literal) {
                all.push("(string & {})".to_string());
            }
            all.join(" | ")
        }
        Type::Both(record, union) => format!("{} & ({})", self::record(record), inline(union)),
    }
}

fn record(record: &Record) -> String {
    let fields: Vec<String> = record.fields.iter().map(field).collect();
    let own = format!("{{ {} }}", fields.join("; "));
    match &record.parent {
        Some(parent) => format!("({own} & {parent})"),
        None => own,
    }
}

fn field(field: &Field) -> String {
    let mark = if field.optional { "?" } else { "" };
    // `unknown` holds null already.
    let of = match &field.of {
        Type::Union { members, .. } if members.iter().any(|it| is_unknown(&it.of)) => {
            "unknown".to_string()
        }
        of => inline(of),
    };
    format!("{}{mark}: {of}", field.name)
}

/// The one named type that says nothing of its value.
fn is_unknown(of: &Type) -> bool {
    matches!(of, Type::Named(name) if name == "ErrorData")
}

fn is_literal(member: &Member) -> bool {
    matches!(member.of, Type::Literal(_))
}

fn comment(out: &mut String, indent: &str, doc: &str) {
    let doc = summary(doc).replace("*/", "* /");
    if !doc.is_empty() {
        let _ = writeln!(out, "{indent}/** {doc} */");
    }
}

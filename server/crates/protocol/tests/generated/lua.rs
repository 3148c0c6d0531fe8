//! LuaCATS types for the Neovim plugin.

use std::fmt::Write as _;

use protocol::methods::METHODS;

use crate::shapes::{Definition, Field, Member, Record, Type, Wire, name, summary};

const HEAD: &str = "\
---@meta copydesk.protocol
-- Generated from the types of server/crates/protocol; do not edit.
-- To write it anew: UPDATE_GENERATED=1 cargo test -p protocol
--
-- Unions of tables are open: a newer server may send members that are not listed here.

---What a message carries beside its own fields.
---@class copydesk.protocol.Meta
---@field copydesk? copydesk.protocol.MetaKeys
";

pub fn render(wire: &Wire) -> String {
    let mut out = HEAD.to_string();
    for (name, one) in &wire.0 {
        out.push('\n');
        definition(&mut out, name, one);
    }
    out.push_str("\n---Every method by name.\n---@class copydesk.protocol.Methods\n");
    for method in METHODS {
        let params = qualified(&name(method.params));
        let result = method
            .result
            .map(|it| format!(", result: {}", qualified(&name(it))))
            .unwrap_or_default();
        let doc = method.doc;
        let _ =
            writeln!(out, "---@field [\"{}\"] {{ params: {params}{result} }} {doc}", method.name);
    }
    out
}

fn definition(out: &mut String, name: &str, one: &Definition) {
    comment(out, &one.doc);
    let name = qualified(name);
    match &one.of {
        Type::Record(record) => class(out, &name, record, None),
        Type::Both(record, union) => match &**union {
            Type::Union { members, .. } => variants(out, &name, members, Some(record)),
            _ => class(out, &name, record, None),
        },
        Type::Union { members, .. } if members.iter().any(|it| it.tag().is_some()) => {
            variants(out, &name, members, None);
        }
        other => {
            let _ = writeln!(out, "---@alias {name} {}", inline(other));
        }
    }
}

/// An alias of one class for each member.
fn variants(out: &mut String, name: &str, members: &[Member], base: Option<&Record>) {
    let mut classes = String::new();
    let mut names = Vec::new();
    for (index, member) in members.iter().enumerate() {
        let Type::Record(record) = &member.of else {
            names.push(inline(&member.of));
            continue;
        };
        let tag = member.tag().map_or_else(|| (index + 1).to_string(), str::to_string);
        let one = format!("{name}.{tag}");
        classes.push('\n');
        comment(&mut classes, &member.doc);
        class(&mut classes, &one, record, base);
        names.push(one);
    }
    let _ = writeln!(out, "---@alias {name} {}", names.join("|"));
    out.push_str(&classes);
}

fn class(out: &mut String, name: &str, record: &Record, base: Option<&Record>) {
    let parent =
        record.parent.as_ref().map(|it| format!(": {}", qualified(it))).unwrap_or_default();
    let _ = writeln!(out, "---@class {name}{parent}");
    let inherited = base.into_iter().flat_map(|it| &it.fields);
    for Field { name, doc, optional, of } in inherited.chain(&record.fields) {
        let mark = if *optional { "?" } else { "" };
        let line = format!("---@field {name}{mark} {} {}", inline(of), summary(doc));
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

fn inline(of: &Type) -> String {
    match of {
        Type::Any => "any".to_string(),
        // JSON's null arrives as vim.NIL.
        Type::Null => "vim.NIL".to_string(),
        Type::Bool => "boolean".to_string(),
        Type::Number => "number".to_string(),
        Type::Text => "string".to_string(),
        Type::Literal(literal) => literal.clone(),
        Type::List(item) => match &**item {
            Type::Union { .. } => format!("({})[]", inline(item)),
            item => format!("{}[]", inline(item)),
        },
        Type::Map => "table<string, any>".to_string(),
        Type::Named(name) => qualified(name),
        Type::Record(record) => {
            let fields: Vec<String> =
                record.fields.iter().map(|it| format!("{}: {}", it.name, inline(&it.of))).collect();
            if fields.is_empty() {
                "table".to_string()
            } else {
                format!("{{ {} }}", fields.join(", "))
            }
        }
        Type::Union { members, open } => {
            let mut all: Vec<String> = members.iter().map(|it| inline(&it.of)).collect();
            if *open && members.iter().all(|it| matches!(it.of, Type::Literal(_))) {
                all.push("string".to_string());
            }
            all.join("|")
        }
        Type::Both(..) => "table".to_string(),
    }
}

fn qualified(name: &str) -> String {
    format!("copydesk.protocol.{name}")
}

fn comment(out: &mut String, doc: &str) {
    let doc = summary(doc);
    if !doc.is_empty() {
        let _ = writeln!(out, "---{doc}");
    }
}

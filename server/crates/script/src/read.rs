//! From the tree of the grammar to commands.

use std::borrow::Cow;
use std::collections::HashMap;

use tree_sitter::{Node, Parser};

use crate::word::{Word, WordKind, slice};
use crate::{Assignment, Clarity, Command, Direction, Redirection, Script};

/// Longer scripts are not read: nobody reviews them either.
const MOST_BYTES: usize = 100_000;
const MAX_DEPTH: usize = 100;
/// Bytes of a value that is put in for its variable, so that values of values cannot multiply.
const MOST_OF_VALUE: usize = 200;

/// Reads a script. What cannot be read is left out, and the script is not clear then.
pub fn parse(source: &str) -> Script {
    let mut reader =
        Reader { source, values: HashMap::new(), stray: Vec::new(), script: Script::default() };
    let mut parser = Parser::new();
    let known = parser.set_language(&tree_sitter_bash::LANGUAGE.into()).is_ok();
    let tree = match known && source.len() <= MOST_BYTES {
        true => parser.parse(tamed(source).as_bytes(), None),
        false => None,
    };
    let Some(tree) = tree else { return reader.script };
    // Other blanks separate words for the grammar and not for the shell.
    let strange = |it: char| (it.is_whitespace() || it.is_control()) && !" \t\n".contains(it);
    reader.script.clarity = Clarity::Clear;
    if source.contains(strange) {
        reader.at_most(Clarity::Murky);
    }
    if tree.root_node().has_error() {
        reader.at_most(Clarity::Broken);
    }
    let root = tree.root_node();
    let starts_blank = is_blank(source.get(..root.start_byte()).unwrap_or_default());
    let mut end = root.start_byte();
    if source.ends_with('\\') || !starts_blank || skips_text(root, source, &mut end, 0) {
        reader.at_most(Clarity::Murky);
    }
    reader.read(tree.root_node(), Flow::default(), 0);
    reader.script
}

/// The source with letters in place of the bytes of other characters. The grammar's scanner looks
/// characters up in a table of 256 and crashes for some; to a shell they are parts of words.
fn tamed(source: &str) -> Cow<'_, str> {
    if source.is_ascii() {
        return Cow::Borrowed(source);
    }
    let ascii = source.bytes().map(|it| if it.is_ascii() { char::from(it) } else { 'a' });
    Cow::Owned(ascii.collect())
}

/// Whether the grammar took for blanks what is none to the shell, such as `\ `. `end`: how far the
/// tree has covered the source.
fn skips_text(parent: Node<'_>, source: &str, end: &mut usize, depth: usize) -> bool {
    if depth > MAX_DEPTH {
        return true;
    }
    let one_line = ["command", "redirected_statement", "file_redirect", "herestring_redirect"];
    let one_line = one_line.contains(&parent.kind());
    let document = parent.kind() == "heredoc_body";
    let mut cursor = parent.walk();
    for (at, node) in parent.children(&mut cursor).enumerate() {
        let gap = source.get(*end..node.start_byte()).unwrap_or_default();
        let breaks = at > 0 && one_line && gap.replace("\\\n", "").contains('\n');
        if breaks || (!document && !is_blank(gap)) {
            return true;
        }
        if node.kind() == "word" && has_blank(slice(node, source)) {
            return true;
        }
        *end = (*end).max(node.start_byte());
        if skips_text(node, source, end, depth + 1) {
            return true;
        }
        *end = (*end).max(node.end_byte());
    }
    let rest = source.get(*end..parent.end_byte()).unwrap_or_default();
    parent.child_count() > 0 && rest.ends_with('\\')
}

/// Whether a text only separates words.
fn is_blank(text: &str) -> bool {
    !text.replace("\\\n", "").contains(|it: char| !" \t\n".contains(it))
}

/// Whether a word as written holds a blank that ends it.
fn has_blank(written: &str) -> bool {
    let mut escaped = false;
    written.chars().any(|it| {
        let ends = !escaped && matches!(it, ' ' | '\t' | '\n');
        escaped = !escaped && it == '\\';
        ends
    })
}

/// What a command is joined to.
#[derive(Clone, Copy, Default)]
struct Flow {
    fed: bool,
    captured: bool,
}

impl Flow {
    fn command(self) -> Command {
        Command { fed: self.fed, captured: self.captured, ..Command::default() }
    }
}

struct Reader<'a> {
    source: &'a str,
    /// Values that the script itself has given to variables.
    values: HashMap<String, String>,
    /// Arguments that stand behind a redirection, where the grammar takes them for part of it.
    stray: Vec<Word>,
    script: Script,
}

impl Reader<'_> {
    fn read(&mut self, node: Node<'_>, flow: Flow, depth: usize) {
        if depth > MAX_DEPTH {
            self.at_most(Clarity::Broken);
            return;
        }
        let mut cursor = node.walk();
        let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
        let each = |reader: &mut Self, flow: Flow| {
            for child in &children {
                reader.read(*child, flow, depth + 1);
            }
        };
        match node.kind() {
            "command" => self.command(&children, flow, depth),
            "pipeline" => self.pipeline(&children, flow, depth),
            "redirected_statement" => self.redirected(node, &children, flow, depth),
            "file_redirect" => self.redirection(node, &children, depth),
            "command_substitution" => {
                let captured = Flow { fed: flow.fed, captured: true };
                // `$(< file)` reads it.
                each(self, captured);
            }
            // The rest of its line hangs below the document.
            "heredoc_redirect" => {
                // Backquotes in it run unless its end is quoted; the grammar does not see them.
                let part = |kind: &str| children.iter().find(|it| it.kind() == kind);
                let text = |it: &Node<'_>| slice(*it, self.source);
                let quoted =
                    part("heredoc_start").is_some_and(|it| text(it).contains(['\'', '"', '\\']));
                if !quoted && part("heredoc_body").is_some_and(|it| text(it).contains('`')) {
                    self.at_most(Clarity::Murky);
                }
                for child in &children {
                    let rest = child.kind() == "pipeline";
                    self.read(*child, Flow { fed: rest, captured: false }, depth + 1);
                }
                let mut cursor = node.walk();
                for argument in node.children_by_field_name("argument", &mut cursor) {
                    self.stray.push(self.word(argument));
                }
            }
            "process_substitution" => each(self, Flow { fed: true, captured: true }),
            "variable_assignment" => {
                // A line that only assigns: those of a command are read with it.
                each(self, flow);
                let assignment = self.assignment(node);
                self.script
                    .commands
                    .push(Command { assignments: vec![assignment], ..Command::default() });
            }
            "declaration_command" | "unset_command" => self.declaration(&children, flow, depth),
            "expansion" => {
                if !is_plain_expansion(slice(node, self.source)) {
                    self.at_most(Clarity::Murky);
                }
                each(self, flow);
            }
            // Arithmetic runs what stands in the subscripts of its variables.
            "arithmetic_expansion"
            | "c_style_for_statement"
            | "subscript"
            | "binary_expression"
            | "unary_expression"
            | "ternary_expression"
            | "postfix_expression" => {
                self.at_most(Clarity::Murky);
                each(self, flow);
            }
            "test_command" => self.test(node, &children, flow, depth),
            "while_statement" | "for_statement" => {
                self.script.repeats = true;
                each(self, flow);
            }
            "function_definition" => {
                // A name that is known elsewhere means something else from here on.
                self.at_most(Clarity::Murky);
                each(self, flow);
            }
            // Zsh runs what stands in the parentheses of a pattern.
            "extglob_pattern" if !slice(node, self.source).contains('(') => each(self, flow),
            "negated_command" => {
                if !slice(node, self.source).trim_start_matches('!').starts_with([' ', '\t']) {
                    self.at_most(Clarity::Murky);
                }
                each(self, flow);
            }
            "&" => self.script.background = true,
            "((" => self.at_most(Clarity::Murky),
            kind => {
                if node.is_named() && !UNDERSTOOD.contains(&kind) {
                    self.at_most(Clarity::Murky);
                }
                each(self, flow);
            }
        }
    }

    fn at_most(&mut self, clarity: Clarity) {
        self.script.clarity = self.script.clarity.min(clarity);
    }

    /// `[ … ]` is a command like others; `[[ … ]]` computes.
    fn test(&mut self, node: Node<'_>, children: &[Node<'_>], flow: Flow, depth: usize) {
        let clarity = self.script.clarity;
        for child in children {
            self.parts(*child, depth);
        }
        let written = slice(node, self.source);
        if written.starts_with("[ ") {
            self.script.clarity = clarity;
        } else {
            self.at_most(Clarity::Murky);
        }
        let words = written
            .split_whitespace()
            .map(|it| Word { kind: WordKind::Dynamic, ..Word::literal(it) });
        let command = Command { words: words.collect(), ..flow.command() };
        self.script.commands.push(command);
    }

    fn command(&mut self, children: &[Node<'_>], flow: Flow, depth: usize) {
        let mut command = flow.command();
        let mut end: Option<usize> = None;
        for &child in children {
            let gap = end.and_then(|it| self.source.get(it..child.start_byte()));
            let gap = gap.map(|it| it.replace("\\\n", ""));
            // The grammar ends a word too early at some quotes and at continued lines.
            let touches = gap.as_deref() == Some("");
            // It goes on over the end of a line where the next begins with a backslash.
            if gap
                .is_some_and(|it| it.contains('\n') || slice(child, self.source).starts_with('\n'))
            {
                self.at_most(Clarity::Murky);
                self.script.commands.push(std::mem::replace(&mut command, flow.command()));
            }
            match child.kind() {
                "variable_assignment" => {
                    self.parts(child, depth);
                    let assignment = self.assignment(child);
                    command.assignments.push(assignment);
                    end = Some(child.end_byte());
                }
                "file_redirect" | "herestring_redirect" | "heredoc_redirect" => {
                    let joined = self.joined(child, flow);
                    command.fed |= joined.fed;
                    command.captured |= joined.captured;
                    self.read(child, flow, depth + 1);
                    command.words.append(&mut self.stray);
                    end = None;
                }
                _ => {
                    self.parts(child, depth);
                    let word = self.word(child);
                    match command.words.last_mut() {
                        Some(last) if touches => last.append(&word),
                        Some(_) | None => {
                            if touches {
                                self.at_most(Clarity::Murky);
                            }
                            command.words.push(word);
                        }
                    }
                    end = Some(child.end_byte());
                }
            }
        }
        if command.program().is_some_and(|it| SETS_VARIABLES.contains(&it)) {
            self.values.clear();
        }
        self.script.commands.push(command);
    }

    /// What stands in a word and runs before it.
    fn parts(&mut self, node: Node<'_>, depth: usize) {
        let captured = Flow { fed: false, captured: true };
        match node.kind() {
            "command_substitution"
            | "process_substitution"
            | "expansion"
            | "arithmetic_expansion" => self.read(node, captured, depth + 1),
            _ => {
                let mut cursor = node.walk();
                let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
                for child in children {
                    self.read(child, captured, depth + 1);
                }
            }
        }
    }

    fn pipeline(&mut self, children: &[Node<'_>], flow: Flow, depth: usize) {
        let members: Vec<&Node<'_>> = children.iter().filter(|it| it.is_named()).collect();
        let last = members.len().saturating_sub(1);
        for (index, member) in members.into_iter().enumerate() {
            let joined =
                Flow { fed: flow.fed || index > 0, captured: flow.captured || index < last };
            self.read(*member, joined, depth + 1);
        }
    }

    fn redirected(&mut self, node: Node<'_>, children: &[Node<'_>], flow: Flow, depth: usize) {
        let mut joined = flow;
        for child in children {
            let more = self.joined(*child, flow);
            joined.fed |= more.fed;
            joined.captured |= more.captured;
        }
        if node.child_by_field_name("body").is_none() {
            // `> file` alone empties it.
            self.script.commands.push(Command::default());
        }
        let of_command = node.child_by_field_name("body").map(|it| it.kind()) == Some("command");
        let mut before = self.script.commands.len();
        for child in children {
            self.read(*child, joined, depth + 1);
            if Some(child.id()) == node.child_by_field_name("body").map(|it| it.id()) {
                before = self.script.commands.len();
            }
        }
        let mut stray = std::mem::take(&mut self.stray);
        if !stray.is_empty() {
            match before.checked_sub(1).and_then(|it| self.script.commands.get_mut(it)) {
                Some(command) if of_command => command.words.append(&mut stray),
                Some(_) | None => {
                    self.at_most(Clarity::Murky);
                    self.script.commands.push(Command { words: stray, ..joined.command() });
                }
            }
        }
    }

    /// How a redirection joins what it belongs to.
    fn joined(&self, node: Node<'_>, flow: Flow) -> Flow {
        match node.kind() {
            "file_redirect" => match direction(slice(node, self.source)) {
                Some(Direction::Read) => Flow { fed: true, ..flow },
                // Standard error alone says nothing of the output.
                Some(Direction::Write) if slice(node, self.source).starts_with('2') => flow,
                Some(Direction::Write) => Flow { captured: true, ..flow },
                None => flow,
            },
            "heredoc_redirect" => {
                // `cat <<E | sh`: the rest of the line hangs below the document.
                let mut cursor = node.walk();
                let piped = node.children(&mut cursor).any(|it| it.kind() == "pipeline");
                Flow { fed: true, captured: flow.captured || piped }
            }
            "herestring_redirect" => Flow { fed: true, ..flow },
            _ => flow,
        }
    }

    fn redirection(&mut self, node: Node<'_>, children: &[Node<'_>], depth: usize) {
        let mut cursor = node.walk();
        let words: Vec<Node<'_>> =
            node.children_by_field_name("destination", &mut cursor).collect();
        for child in children {
            self.parts(*child, depth);
        }
        let mut targets: Vec<Word> = Vec::new();
        let mut end = None;
        for child in words {
            let word = self.word(child);
            match targets.last_mut() {
                Some(last) if end == Some(child.start_byte()) => last.append(&word),
                Some(_) | None => targets.push(word),
            }
            end = Some(child.end_byte());
        }
        let closes = slice(node, self.source).contains("&-");
        let stray = targets.split_off(usize::from(!closes).min(targets.len()));
        self.stray.extend(stray);
        match (targets.pop(), direction(slice(node, self.source))) {
            (Some(target), Some(direction)) => {
                self.script.redirections.push(Redirection { direction, target });
            }
            (Some(_), None) => {}
            (None, _) if closes => {}
            (None, _) => self.at_most(Clarity::Murky),
        }
    }

    fn word(&self, node: Node<'_>) -> Word {
        let mut word = Word::read(node, self.source);
        self.resolve(&mut word);
        word
    }

    /// `export`, `declare`, `local`, `unset` and the like.
    fn declaration(&mut self, children: &[Node<'_>], flow: Flow, depth: usize) {
        let mut command = flow.command();
        for &child in children {
            self.parts(child, depth);
            if child.kind() == "variable_assignment" {
                let assignment = self.assignment(child);
                command.assignments.push(assignment);
            }
            command.words.push(Word::read(child, self.source));
        }
        self.script.commands.push(command);
    }

    fn assignment(&mut self, node: Node<'_>) -> Assignment {
        let name = node.child_by_field_name("name");
        let name = name.map(|it| slice(it, self.source)).unwrap_or_default();
        let name = name.split('[').next().unwrap_or(name).to_owned();
        if !is_name(&name) {
            self.at_most(Clarity::Murky);
        }
        let value = node.child_by_field_name("value");
        let mut value = value.map(|it| Word::read(it, self.source)).unwrap_or_default();
        self.resolve(&mut value);
        let known = value.kind == WordKind::Literal || !value.text.contains(['$', '`']);
        let short = value.text.len() <= MOST_OF_VALUE;
        if known && short && !slice(node, self.source).contains("+=") {
            self.values.insert(name.clone(), value.text.clone());
        } else {
            self.values.remove(&name);
        }
        Assignment { name, value }
    }

    /// Puts in what the script itself has given a variable: good enough to deny by, not to allow.
    fn resolve(&self, word: &mut Word) {
        if word.kind != WordKind::Dynamic {
            return;
        }
        let mut text = String::new();
        let mut rest = word.text.as_str();
        while let Some((before, behind)) = rest.split_once('$') {
            text.push_str(before);
            let (name, after) = match behind.strip_prefix('{') {
                Some(inner) => inner.split_once('}').unwrap_or_default(),
                None => {
                    let part = |it: &char| it.is_ascii_alphanumeric() || *it == '_';
                    behind.split_at(behind.chars().take_while(part).count())
                }
            };
            match self.values.get(name) {
                Some(value) => {
                    text.push_str(value);
                    rest = after;
                }
                None => {
                    text.push('$');
                    rest = behind;
                }
            }
        }
        text.push_str(rest);
        word.text = text;
    }
}

/// Programs after which a variable may hold anything.
const SETS_VARIABLES: &[&str] = &["read", "eval", "source", ".", "mapfile", "readarray", "getopts"];

/// Kinds of nodes whose commands are just those of their children.
const UNDERSTOOD: &[&str] = &[
    "program",
    "list",
    "subshell",
    "compound_statement",
    "do_group",
    "if_statement",
    "elif_clause",
    "else_clause",
    "case_statement",
    "case_item",
    "comment",
    "word",
    "number",
    "string",
    "string_content",
    "raw_string",
    "ansi_c_string",
    "concatenation",
    "command_name",
    "variable_name",
    "special_variable_name",
    "simple_expansion",
    "file_descriptor",
    "heredoc_redirect",
    "heredoc_start",
    "heredoc_body",
    "heredoc_content",
    "heredoc_end",
    "herestring_redirect",
    "array",
];

/// What a redirection as written does; nothing where it only joins descriptors.
fn direction(written: &str) -> Option<Direction> {
    let sign = written.trim_start_matches(|it: char| it.is_ascii_digit());
    let (sign, target) = match sign.find(|it: char| !"<>&|".contains(it)) {
        Some(at) => sign.split_at(at),
        None => (sign, ""),
    };
    let target = target.split_whitespace().next().unwrap_or_default();
    let joins =
        sign.ends_with('&') && (target == "-" || target.bytes().all(|it| it.is_ascii_digit()));
    match sign {
        _ if joins => None,
        "<" | "<&" => Some(Direction::Read),
        _ => Some(Direction::Write),
    }
}

/// Whether a text can be a variable's name.
pub(crate) fn is_name(text: &str) -> bool {
    let plain = text.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_');
    plain && !text.is_empty() && !text.starts_with(|it: char| it.is_ascii_digit())
}

/// `${name}`, `${#name}` and the like: nothing in it is run.
fn is_plain_expansion(written: &str) -> bool {
    let inner = written.trim_start_matches("${").trim_end_matches('}');
    let name = inner.strip_prefix('#').unwrap_or(inner);
    !name.is_empty() && name.bytes().all(|it| it.is_ascii_alphanumeric() || it == b'_')
}

//! One word of a script: what it says without quotes, and whether that is what the shell passes on.

use tree_sitter::Node;

/// A word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// Without quotes and backslashes; expansions stay as written.
    pub text: String,
    /// As written.
    pub written: String,
    /// What the shell makes of it.
    pub kind: WordKind,
}

/// What the shell makes of a word; of two kinds in one word the later here counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum WordKind {
    /// It is passed on as its text.
    #[default]
    Literal,
    /// It may become names of files, or several words by its braces.
    Pattern,
    /// It is only known when it runs.
    Dynamic,
}

impl Word {
    /// A word that says just this.
    pub(crate) fn literal(text: &str) -> Word {
        Word { text: text.to_owned(), written: text.to_owned(), kind: WordKind::Literal }
    }

    /// Reads the word that a node of the tree stands for.
    pub(crate) fn read(node: Node<'_>, source: &str) -> Word {
        let written = slice(node, source).trim_start_matches('\n').to_owned();
        let mut word = Word { written, ..Word::default() };
        word.take(node, source);
        word
    }

    /// Adds what is written right behind it.
    pub(crate) fn append(&mut self, more: &Word) {
        self.text.push_str(&more.text);
        self.written.push_str(&more.written);
        self.kind = self.kind.max(more.kind);
    }

    fn take(&mut self, node: Node<'_>, source: &str) {
        let raw = slice(node, source);
        match node.kind() {
            "word" | "number" | "variable_name" | "file_descriptor" | "extglob_pattern"
            | "regex" | "test_operator" | "special_character" => {
                self.bare(raw.trim_start_matches('\n'));
            }
            "raw_string" => self.text.push_str(raw.trim_matches('\'')),
            "ansi_c_string" => match decoded(raw.trim_start_matches('$').trim_matches('\'')) {
                Some(text) => self.text.push_str(&text),
                None => self.unknown(raw),
            },
            "string" | "translated_string" => self.double_quoted(node, source),
            "concatenation" | "command_name" => {
                let mut cursor = node.walk();
                let children: Vec<Node<'_>> = node.children(&mut cursor).collect();
                if children.is_empty() {
                    self.bare(raw);
                }
                let mut end = node.start_byte();
                for child in children {
                    self.bare(source.get(end..child.start_byte()).unwrap_or_default());
                    self.take(child, source);
                    end = child.end_byte();
                }
            }
            _ if raw.starts_with(['$', '`', '<', '>', '=']) => self.unknown(raw),
            // `{`, `}`, `,` of braces stand apart.
            _ if node.child_count() == 0 => self.bare(raw),
            _ => self.unknown(raw),
        }
    }

    fn unknown(&mut self, raw: &str) {
        self.kind = WordKind::Dynamic;
        self.text.push_str(raw);
    }

    /// Outside quotes.
    fn bare(&mut self, raw: &str) {
        let mut chars = raw.chars();
        while let Some(it) = chars.next() {
            match it {
                '\\' => match chars.next() {
                    Some('\n') | None => {}
                    Some(next) => self.text.push(next),
                },
                '*' | '?' | '[' | '{' | '}' => {
                    self.kind = self.kind.max(WordKind::Pattern);
                    self.text.push(it);
                }
                _ => self.text.push(it),
            }
        }
    }

    fn double_quoted(&mut self, node: Node<'_>, source: &str) {
        let raw = slice(node, source);
        let inner = raw.trim_start_matches('$');
        let inner = inner.strip_prefix('"').unwrap_or(inner);
        let inner = inner.strip_suffix('"').unwrap_or(inner);
        let mut chars = inner.chars().peekable();
        while let Some(it) = chars.next() {
            match it {
                '\\' => match chars.peek() {
                    Some('\n') => {
                        chars.next();
                    }
                    Some(&next) if "$`\"\\".contains(next) => {
                        chars.next();
                        self.text.push(next);
                    }
                    Some(_) | None => self.text.push(it),
                },
                '$' | '`' => {
                    self.kind = WordKind::Dynamic;
                    self.text.push(it);
                }
                _ => self.text.push(it),
            }
        }
    }
}

/// Words without quotes, one space apart.
pub(crate) fn spoken(words: &[Word]) -> String {
    words.iter().map(|it| it.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// Words as they are written, one space apart.
pub fn written(words: &[Word]) -> String {
    words.iter().map(|it| it.written.as_str()).collect::<Vec<_>>().join(" ")
}

pub(crate) fn slice<'a>(node: Node<'_>, source: &'a str) -> &'a str {
    source.get(node.byte_range()).unwrap_or_default()
}

/// The inside of `$'…'`; `None` for an escape that is not known or stands for no character.
fn decoded(inner: &str) -> Option<String> {
    let mut text = String::new();
    let mut chars = inner.chars().peekable();
    while let Some(it) = chars.next() {
        if it != '\\' {
            text.push(it);
            continue;
        }
        let next = chars.next()?;
        let mut digits = |radix: u32, most: usize, first: Option<char>| {
            let mut value = first.and_then(|it| it.to_digit(radix)).unwrap_or(0);
            let mut count = usize::from(first.is_some());
            while count < most
                && let Some(digit) = chars.peek().and_then(|it| it.to_digit(radix))
            {
                chars.next();
                value = value * radix + digit;
                count += 1;
            }
            if count == 0 { None } else { char::from_u32(value) }
        };
        text.push(match next {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'a' => '\u{7}',
            'b' => '\u{8}',
            'e' | 'E' => '\u{1b}',
            'f' => '\u{c}',
            'v' => '\u{b}',
            '\\' | '\'' | '"' | '?' => next,
            '0'..='7' => digits(8, 3, Some(next)).filter(char::is_ascii)?,
            'x' => digits(16, 2, None).filter(char::is_ascii)?,
            'u' => digits(16, 4, None)?,
            'U' => digits(16, 8, None)?,
            _ => return None,
        });
    }
    Some(text)
}

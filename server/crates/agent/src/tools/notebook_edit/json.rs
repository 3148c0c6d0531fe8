//! A JSON text as values that know where they stand.
//!
//! Invariant: the text was found to be JSON before; whatever it is, nothing here panics.

use std::ops::Range;

/// Values deeper than this are refused.
const DEPTH: usize = 120;

/// A value and its bytes.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it stands.
    pub span: Range<usize>,
    /// What it holds.
    pub kind: Kind,
}

/// What a value holds.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Members in the order of the text.
    Object(Vec<Member>),
    /// Items.
    Array(Vec<Node>),
    /// A string, number, boolean or null.
    Scalar,
}

/// A member of an object.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name, decoded.
    pub name: String,
    /// Where the name stands, quotes included.
    pub name_span: Range<usize>,
    /// Its value.
    pub value: Node,
}

impl Node {
    /// Reads a JSON text.
    pub fn read(text: &str) -> Result<Node, String> {
        serde_json::from_str::<serde::de::IgnoredAny>(text)
            .map_err(|err| format!("it is not valid JSON: {err}"))?;
        let mut scan = Scan { text, at: 0 };
        scan.value(0).ok_or_else(|| "its JSON is nested too deeply".to_string())
    }

    /// The member of this name.
    pub fn get(&self, name: &str) -> Option<&Node> {
        self.members().iter().find(|it| it.name == name).map(|it| &it.value)
    }

    /// The members of an object; none of anything else.
    pub fn members(&self) -> &[Member] {
        match &self.kind {
            Kind::Object(members) => members,
            Kind::Array(_) | Kind::Scalar => &[],
        }
    }
}

struct Scan<'a> {
    text: &'a str,
    at: usize,
}

impl Scan<'_> {
    fn value(&mut self, depth: usize) -> Option<Node> {
        if DEPTH < depth {
            return None;
        }
        self.blank();
        let start = self.at;
        let kind = match self.peek()? {
            b'{' => self.object(depth)?,
            b'[' => self.array(depth)?,
            b'"' => {
                self.string()?;
                Kind::Scalar
            }
            _ => {
                while self.peek().is_some_and(|it| !b",]} \t\r\n".contains(&it)) {
                    self.at += 1;
                }
                Kind::Scalar
            }
        };
        Some(Node { span: start..self.at, kind })
    }

    fn object(&mut self, depth: usize) -> Option<Kind> {
        let mut members = Vec::new();
        while !self.next_is(b'}')? {
            let start = self.at;
            self.string()?;
            let name_span = start..self.at;
            let name = serde_json::from_str(&self.text[name_span.clone()]).ok()?;
            self.blank();
            self.at += 1;
            members.push(Member { name, name_span, value: self.value(depth + 1)? });
        }
        Some(Kind::Object(members))
    }

    fn array(&mut self, depth: usize) -> Option<Kind> {
        let mut items = Vec::new();
        while !self.next_is(b']')? {
            items.push(self.value(depth + 1)?);
        }
        Some(Kind::Array(items))
    }

    /// Steps over the opening or separating character; whether the end follows, which is passed too.
    fn next_is(&mut self, end: u8) -> Option<bool> {
        self.blank();
        if self.peek()? == end {
            self.at += 1;
            return Some(true);
        }
        self.at += 1;
        self.blank();
        if self.peek()? == end {
            self.at += 1;
            return Some(true);
        }
        Some(false)
    }

    fn string(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        Some(())
    }

    fn blank(&mut self) {
        while self.peek().is_some_and(|it| b" \t\r\n".contains(&it)) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }
}

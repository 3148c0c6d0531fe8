//! A shell script as the simple commands it is made of, for judging what it would start.
//!
//! Not a shell: expansions stay as written, and keywords are passed over. What is nested in
//! substitutions and subshells is found too.

/// One simple command, without its leading assignments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct SimpleCommand {
    /// Names of leading assignments, `GIT_EDITOR` of `GIT_EDITOR=true git commit`.
    pub assigned: Vec<String>,
    /// Program and arguments, unquoted.
    pub words: Vec<String>,
    /// stdin is a pipe, a file or a here-document.
    pub fed: bool,
    /// stdout is a pipe, a file or a substitution.
    pub captured: bool,
    /// Targets of redirections.
    pub targets: Vec<String>,
}

impl SimpleCommand {
    pub(crate) fn program(&self) -> Option<&str> {
        let word = self.words.first()?;
        Some(word.rsplit('/').next().unwrap_or(word))
    }

    pub(crate) fn arguments(&self) -> &[String] {
        self.words.get(1..).unwrap_or_default()
    }
}

/// The commands in the order they are written; `None` when quotes or parentheses do not match or
/// nest too deeply.
pub(crate) fn parse(script: &str) -> Option<Vec<SimpleCommand>> {
    let mut parser = Parser { chars: script.chars().collect(), ..Parser::default() };
    parser.list(End::Script, 0)?;
    Some(parser.commands)
}

const MAX_DEPTH: usize = 50;

const KEYWORDS: &[&str] = &[
    "if", "then", "elif", "else", "fi", "do", "done", "while", "until", "{", "}", "!", "time",
    "esac", "coproc",
];

#[derive(Default)]
struct Parser {
    chars: Vec<char>,
    position: usize,
    commands: Vec<SimpleCommand>,
    /// Here-documents whose bodies start after the line.
    pending: Vec<HereDocument>,
}

struct HereDocument {
    delimiter: String,
    indented: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Script,
    Parenthesis,
}

impl Parser {
    fn peek(&self) -> Option<char> {
        self.chars.get(self.position).copied()
    }

    fn looking_at(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(i, c)| self.chars.get(self.position + i) == Some(&c))
    }

    fn take(&mut self, text: &str) -> bool {
        let found = self.looking_at(text);
        if found {
            self.position += text.len();
        }
        found
    }

    fn list(&mut self, end: End, depth: usize) -> Option<()> {
        if depth > MAX_DEPTH {
            return None;
        }
        let mut command = SimpleCommand::default();
        // Where the commands of the current pipeline's last member start.
        let mut member = self.commands.len();
        loop {
            let Some(c) = self.peek() else {
                self.finish(&mut command);
                return (end == End::Script).then_some(());
            };
            match c {
                ' ' | '\t' | '\r' => self.position += 1,
                '#' => self.skip_line(),
                '\n' => {
                    self.position += 1;
                    self.finish(&mut command);
                    member = self.commands.len();
                    self.skip_documents();
                }
                ';' => {
                    while self.take(";") || self.take("&") {}
                    self.finish(&mut command);
                    member = self.commands.len();
                }
                '|' if !self.looking_at("||") => {
                    self.position += 1;
                    let _ = self.take("&");
                    self.finish(&mut command);
                    for command in &mut self.commands[member..] {
                        command.captured = true;
                    }
                    member = self.commands.len();
                    command.fed = true;
                }
                '&' if self.looking_at("&>") => {
                    self.position += 1;
                    self.redirection(&mut command, "", depth)?;
                }
                '|' | '&' => {
                    while self.take("|") || self.take("&") {}
                    self.finish(&mut command);
                    member = self.commands.len();
                }
                '<' | '>' if !self.looking_at("<(") && !self.looking_at(">(") => {
                    self.redirection(&mut command, "", depth)?;
                }
                '(' => {
                    self.position += 1;
                    if command.words.is_empty() && self.take("(") {
                        self.skip_past("))")?;
                    } else {
                        let fed = command.fed;
                        let first = self.commands.len();
                        self.list(End::Parenthesis, depth + 1)?;
                        for inner in &mut self.commands[first..] {
                            inner.fed |= fed;
                        }
                    }
                }
                ')' => {
                    self.position += 1;
                    if end == End::Parenthesis {
                        self.finish(&mut command);
                        return Some(());
                    }
                    // A pattern of `case`.
                    command = SimpleCommand::default();
                }
                _ => self.word_of(&mut command, depth)?,
            }
        }
    }

    fn word_of(&mut self, command: &mut SimpleCommand, depth: usize) -> Option<()> {
        let quoted = matches!(self.peek(), Some('\'' | '"' | '\\'));
        let word = self.word(depth)?;
        let redirects = matches!(self.peek(), Some('<' | '>'));
        if redirects && !word.is_empty() && word.chars().all(|c| c.is_ascii_digit()) {
            return self.redirection(command, &word, depth);
        }
        if !command.words.is_empty() || quoted {
            command.words.push(word);
        } else if word == "[[" {
            self.skip_past("]]")?;
            command.words.push(word);
        } else if KEYWORDS.contains(&word.as_str()) {
            // The command proper follows.
        } else if let Some(name) = assigned_name(&word) {
            command.assigned.push(name.to_owned());
            if word.ends_with('=') && self.take("(") {
                self.list(End::Parenthesis, depth + 1)?;
            }
        } else {
            command.words.push(word);
        }
        Some(())
    }

    fn finish(&mut self, command: &mut SimpleCommand) {
        let command = std::mem::take(command);
        if !command.words.is_empty() || !command.targets.is_empty() {
            self.commands.push(command);
        }
    }

    fn redirection(
        &mut self,
        command: &mut SimpleCommand,
        descriptor: &str,
        depth: usize,
    ) -> Option<()> {
        if self.take("<<<") {
            self.skip_blanks();
            self.word(depth)?;
            command.fed = true;
            return Some(());
        }
        if self.take("<<") {
            let indented = self.take("-");
            self.skip_blanks();
            let delimiter = self.word(depth)?;
            self.pending.push(HereDocument { delimiter, indented });
            command.fed = true;
            return Some(());
        }
        let reads = self.peek() == Some('<');
        self.position += 1;
        let duplicates = self.take("&");
        let _ = self.take(">") || self.take("|");
        self.skip_blanks();
        let target = self.word(depth)?;
        if reads {
            command.fed |= !duplicates;
        } else if !duplicates && matches!(descriptor, "" | "1") {
            command.captured = true;
        }
        command.targets.push(target);
        Some(())
    }

    /// One word, unquoted, with expansions left as they are written but for substitutions.
    fn word(&mut self, depth: usize) -> Option<String> {
        let mut word = String::new();
        while let Some(c) = self.peek() {
            match c {
                ' ' | '\t' | '\r' | '\n' | ';' | '|' | '&' | ')' => break,
                '(' => break,
                '<' | '>' => {
                    if self.looking_at("<(") || self.looking_at(">(") {
                        self.position += 2;
                        self.substituted(depth)?;
                        word.push_str("<()");
                        continue;
                    }
                    break;
                }
                '\'' => {
                    self.position += 1;
                    self.until_quote(&mut word)?;
                }
                '"' => {
                    self.position += 1;
                    self.double_quoted(&mut word, depth)?;
                }
                '\\' => {
                    self.position += 1;
                    if let Some(escaped) = self.peek() {
                        self.position += 1;
                        if escaped != '\n' {
                            word.push(escaped);
                        }
                    }
                }
                '$' => self.dollar(&mut word, depth)?,
                '`' => self.backticks(&mut word, depth)?,
                c => {
                    self.position += 1;
                    word.push(c);
                }
            }
        }
        Some(word)
    }

    fn until_quote(&mut self, word: &mut String) -> Option<()> {
        loop {
            let c = self.peek()?;
            self.position += 1;
            if c == '\'' {
                return Some(());
            }
            word.push(c);
        }
    }

    fn double_quoted(&mut self, word: &mut String, depth: usize) -> Option<()> {
        loop {
            match self.peek()? {
                '"' => {
                    self.position += 1;
                    return Some(());
                }
                '\\' => {
                    self.position += 1;
                    word.push(self.peek()?);
                    self.position += 1;
                }
                '$' if !self.looking_at("$'") => self.dollar(word, depth)?,
                '`' => self.backticks(word, depth)?,
                c => {
                    word.push(c);
                    self.position += 1;
                }
            }
        }
    }

    fn dollar(&mut self, word: &mut String, depth: usize) -> Option<()> {
        if self.take("$((") {
            word.push_str("$(())");
            self.skip_past("))")
        } else if self.take("$(") {
            word.push_str("$()");
            self.substituted(depth)
        } else if self.take("${") {
            word.push_str("${}");
            self.skip_braces()
        } else if self.take("$'") {
            loop {
                match self.peek()? {
                    '\'' => {
                        self.position += 1;
                        return Some(());
                    }
                    '\\' => self.position += 2,
                    c => {
                        word.push(c);
                        self.position += 1;
                    }
                }
            }
        } else {
            self.position += 1;
            word.push('$');
            Some(())
        }
    }

    /// The commands up to the closing parenthesis; their output goes into the script.
    fn substituted(&mut self, depth: usize) -> Option<()> {
        let first = self.commands.len();
        self.list(End::Parenthesis, depth + 1)?;
        for command in &mut self.commands[first..] {
            command.captured = true;
        }
        Some(())
    }

    fn backticks(&mut self, word: &mut String, depth: usize) -> Option<()> {
        self.position += 1;
        let mut inner = Parser::default();
        loop {
            let c = self.peek()?;
            self.position += 1;
            match c {
                '`' => break,
                '\\' => {
                    inner.chars.push(self.peek()?);
                    self.position += 1;
                }
                c => inner.chars.push(c),
            }
        }
        inner.list(End::Script, depth + 1)?;
        self.commands.extend(
            inner.commands.into_iter().map(|command| SimpleCommand { captured: true, ..command }),
        );
        word.push_str("$()");
        Some(())
    }

    fn skip_braces(&mut self) -> Option<()> {
        let mut open = 1;
        while open > 0 {
            match self.peek()? {
                '{' => open += 1,
                '}' => open -= 1,
                '\\' => self.position += 1,
                _ => {}
            }
            self.position += 1;
        }
        Some(())
    }

    fn skip_past(&mut self, end: &str) -> Option<()> {
        while !self.take(end) {
            self.peek()?;
            self.position += 1;
        }
        Some(())
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.position += 1;
        }
    }

    fn skip_line(&mut self) {
        while self.peek().is_some_and(|c| c != '\n') {
            self.position += 1;
        }
    }

    fn skip_documents(&mut self) {
        for HereDocument { delimiter, indented } in std::mem::take(&mut self.pending) {
            while self.peek().is_some() {
                let start = self.position;
                self.skip_line();
                let line: String = self.chars[start..self.position].iter().collect();
                self.position = (self.position + 1).min(self.chars.len());
                let line = if indented { line.trim_start_matches('\t') } else { &line };
                if line == delimiter {
                    break;
                }
            }
        }
    }
}

/// `NAME` of `NAME=value` and `NAME+=value`.
fn assigned_name(word: &str) -> Option<&str> {
    let name = word.split_once('=')?.0;
    let name = name.strip_suffix('+').unwrap_or(name);
    let valid = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    valid.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::parse;

    /// Commands joined by ` / `, `<` before fed and `>` after captured ones.
    #[track_caller]
    fn check(script: &str, expected: &str) {
        let commands = parse(script).map(|commands| {
            let shown: Vec<String> = commands
                .iter()
                .map(|command| {
                    let fed = if command.fed { "<" } else { "" };
                    let captured = if command.captured { ">" } else { "" };
                    format!("{fed}{}{captured}", command.words.join(" "))
                })
                .collect();
            shown.join(" / ")
        });
        assert_eq!(commands.as_deref().unwrap_or("unparsable"), expected, "{script}");
    }

    #[test]
    fn pipelines_lists_and_redirections() {
        check("a b | c && d; e & f", "a b> / <c / d / e / f");
        check("a >out 2>&1 <in", "<a>");
        check("a 2>err; b &>all", "a / b>");
        check("X=1 Y=$(z) a", "z> / a");
        check("(a; b) | c", "a> / b> / <c");
        check("# comment\na # more\nb", "a / b");
    }

    #[test]
    fn quotes_and_substitutions() {
        check("echo 'a; b' \"c $(d \"e\")\" f\\ g", "d e> / echo a; b c $() f g");
        check("echo `a 'b'` ${x:-y} $((1+2))", "a b> / echo $() ${} $(())");
        check("diff <(a) <(b)", "a> / b> / diff <() <()");
        check("echo $'it\\'s'", "echo its");
    }

    #[test]
    fn keywords_and_documents() {
        check("if a; then b; else c; fi", "a / b / c");
        check("while a; do b; done", "a / b");
        check("case $x in y) a ;; *) b ;; esac", "a / b");
        check("cat <<'E' | b\nvim x\nE\nc", "<cat> / <b / c");
        check("cat <<-E\n\tvim 'x\n\tE\nc", "<cat / c");
        check("[[ a && b ]] && c", "[[ / c");
        check("x=(a b) c", "a b / c");
    }

    #[test]
    fn what_does_not_match_is_unparsable() {
        check("echo 'a", "unparsable");
        check("echo \"a", "unparsable");
        check("echo $(a", "unparsable");
        check("(a", "unparsable");
        check(&"(".repeat(1001), "unparsable");
        check(&"$(".repeat(1001), "unparsable");
    }
}

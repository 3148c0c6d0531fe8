//! Permission rules in Claude Code's grammar: `Tool` or `Tool(specifier)`.
//!
//! Paths are matched with gitignore semantics: `//abs`, `~/home`, `/relative to the workspace`,
//! anything else relative to the current folder or, without a slash, at any depth. Commands match
//! exactly, by `prefix:*`, or with `*` anywhere.

use std::fmt;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};

use vfs::Visibility;

use crate::permission::judged::{Judged, Line};
use crate::permission::shell::Parsed;
use crate::place::{Place, Target};
use crate::tool::Form;
use crate::tools;

/// What a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Runs unasked.
    Allow,
    /// Asks.
    Ask,
    /// Never runs.
    Deny,
}

impl Decision {
    /// The name on the wire.
    pub fn id(self) -> &'static str {
        match self {
            Decision::Allow => "allow",
            Decision::Ask => "ask",
            Decision::Deny => "deny",
        }
    }
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Canonical tool name, or a name this version does not know.
    pub tool: String,
    /// What stands in parentheses.
    pub specifier: Option<String>,
    /// As written.
    pub text: String,
    /// What it says.
    pub decision: Decision,
    /// Where it comes from: `user`, `project`, `local` or `session`.
    pub scope: String,
}

/// Why a rule could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{rule}` is not a permission rule: {reason}")]
pub struct RuleError {
    /// As written.
    pub rule: String,
    /// What is wrong.
    pub reason: &'static str,
}

impl Rule {
    /// Reads a rule.
    pub fn parse(text: &str, decision: Decision, scope: &str) -> Result<Rule, RuleError> {
        let error = |reason| RuleError { rule: text.to_string(), reason };
        let trimmed = text.trim();
        let (name, specifier) = match trimmed.split_once('(') {
            Some((name, rest)) => {
                let inner = rest.strip_suffix(')').ok_or(error("the parenthesis is not closed"))?;
                if inner.trim().is_empty() {
                    return Err(error("nothing stands in the parentheses"));
                }
                (name.trim(), Some(inner.trim()).filter(|it| *it != "*"))
            }
            None => (trimmed, None),
        };
        if name.is_empty() {
            return Err(error("the tool's name is missing"));
        }
        if name.contains(|it: char| it.is_whitespace() || it == ')') {
            return Err(error("write it as `Tool` or `Tool(what)`"));
        }
        let tool = tools::find(name).map_or(name, |it| it.name).to_string();
        Ok(Rule {
            tool,
            specifier: specifier.map(str::to_string),
            text: trimmed.to_string(),
            decision,
            scope: scope.to_string(),
        })
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// All rules in force.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    /// In no particular order: deny beats ask beats allow.
    pub all: Vec<Rule>,
}

/// The tools whose rules cover every call that writes or reads a path.
const WRITES: [&str; 2] = ["Edit", "Write"];
const READS: &str = "Read";
const SHELL: &str = "Bash";
/// Commands that run outside the sandbox.
const OUTSIDE: &str = "Unsandboxed";
/// The scope of what the person allowed while the session ran.
const SESSION: &str = "session";

impl Rules {
    /// The first rule of this decision that the call falls under.
    pub fn find(&self, decision: Decision, call: &Judged<'_>) -> Option<&Rule> {
        let (place, line) = (call.place, call.line.as_ref());
        let has_part = |pattern: &str| line.is_some_and(|it| it.script.has_part(pattern));
        let names = |rule: &Rule, line: &Line<'_>, words: &[String]| {
            let mut targets = words.iter().filter_map(|it| line.place.target(it).ok());
            targets.any(|it| touches(rule, &it, &line.place))
        };
        self.of(decision).find(|rule| {
            let own = rule.tool == call.tool;
            let mut reads = call.access.reads.iter();
            let mut writes = call.access.writes.iter();
            match rule.tool.as_str() {
                _ if own && rule.specifier.is_none() => true,
                SHELL => match &rule.specifier {
                    None => line.is_some(),
                    Some(pattern) => has_part(pattern),
                },
                name if WRITES.contains(&name) => {
                    writes.any(|it| touches(rule, it, place))
                        || line.is_some_and(|it| names(rule, it, it.written()))
                }
                READS => {
                    let named = rule.specifier.is_some();
                    let script = line.filter(|_| named);
                    reads.any(|it| touches(rule, it, place))
                        || script.is_some_and(|it| names(rule, it, it.named()))
                }
                _ => {
                    own && (line.is_some_and(|it| names_command(rule, it, has_part))
                        || reads.chain(writes).any(|it| touches(rule, it, place)))
                }
            }
        })
    }

    /// The rules without what settings allow: deny, ask and what the person allowed in this session.
    pub fn of_session(&self) -> Rules {
        let kept = |it: &&Rule| it.decision != Decision::Allow || it.scope == SESSION;
        Rules { all: self.all.iter().filter(kept).cloned().collect() }
    }

    /// Which of the files that a search comes upon it may tell of.
    pub fn visibility(&self, place: &Place) -> Visibility {
        let (rules, here) = (self.clone(), place.clone());
        let visibility =
            Visibility::default().allowing(move |path| rules.names_path(path, Touch::Read, &here));
        match self.unreadable(place) {
            Some(denied) => visibility.denying(denied),
            None => visibility,
        }
    }

    /// Whether deny rules cover reading a path, made ready for many; `None` where there are no such rules.
    pub fn unreadable(
        &self,
        place: &Place,
    ) -> Option<impl Fn(&Path) -> bool + Send + Sync + 'static> {
        let rules: Vec<&Rule> = self.of(Decision::Deny).filter(|it| it.tool == READS).collect();
        let all = rules.iter().any(|rule| rule.specifier.is_none());
        let patterns = rules.iter().filter_map(|rule| rule.specifier.as_deref());
        let matchers: Vec<(PathBuf, Gitignore)> =
            patterns.flat_map(|pattern| matchers(pattern, place)).collect();
        let covers = move |path: &Path| {
            let by = |(base, matcher): &(PathBuf, Gitignore)| {
                let rest = path.strip_prefix(base);
                rest.is_ok_and(|rest| matcher.matched_path_or_any_parents(rest, false).is_ignore())
            };
            all || matchers.iter().any(by)
        };
        (!rules.is_empty()).then_some(covers)
    }

    /// Whether a deny or ask rule is about some commands and not others.
    pub fn single_out_commands(&self) -> bool {
        let asks = self.of(Decision::Deny).chain(self.of(Decision::Ask));
        asks.into_iter().any(|it| it.tool == SHELL && it.specifier.is_some())
    }

    /// A rule of this decision that names the tool and nothing else.
    pub fn bare(&self, decision: Decision, tool: &str) -> Option<&Rule> {
        self.of(decision).find(|rule| {
            let same = rule.tool == tool;
            rule.specifier.is_none() && same
        })
    }

    /// Whether allow rules cover reading the target, link and real path both.
    pub fn allows_read(&self, tool: &str, target: &Target, place: &Place) -> bool {
        let rules: Vec<&Rule> = self
            .of(Decision::Allow)
            .filter(|rule| rule.tool == READS || rule.tool == tool)
            .collect();
        covers(&rules, target, place)
    }

    /// Whether allow rules cover writing the target, link and real path both.
    pub fn allows_write(&self, tool: &str, target: &Target, place: &Place) -> bool {
        let rules: Vec<&Rule> = self
            .of(Decision::Allow)
            .filter(|rule| WRITES.contains(&rule.tool.as_str()) || rule.tool == tool)
            .collect();
        covers(&rules, target, place)
    }

    /// Whether allow rules cover every part of a command. What may run as a command may go on as a
    /// program; input of a terminal is allowed by rules of its own, since the program there may not
    /// be a shell.
    pub fn allows_command(&self, tool: &str, line: &Line<'_>, place: &Place) -> bool {
        let typed = match &line.access.form {
            Form::Command | Form::Program => None,
            Form::Typed { terminal } => Some(terminal.as_str()),
        };
        let rules = || {
            let shell = move |it: &&Rule| it.tool == SHELL && typed.is_none();
            self.of(Decision::Allow).filter(move |it| it.tool == tool || shell(it))
        };
        if rules().any(|it| it.specifier.is_none() || it.specifier.as_deref() == typed) {
            return true;
        }
        let patterns: Vec<&str> = rules().filter_map(|it| it.specifier.as_deref()).collect();
        typed.is_none() && line.script.every_part_matches(place, &patterns)
    }

    /// A rule of this decision on running the command outside the sandbox. Allow: all parts of it are
    /// covered.
    pub fn outside(&self, decision: Decision, script: &Parsed<'_>, place: &Place) -> Option<&Rule> {
        let mut rules = self.of(decision).filter(|it| it.tool == OUTSIDE);
        match decision {
            Decision::Ask | Decision::Deny => {
                rules.find(|rule| rule.specifier.as_deref().is_none_or(|it| script.has_part(it)))
            }
            Decision::Allow => {
                let rules: Vec<&Rule> = rules.collect();
                let patterns: Vec<&str> =
                    rules.iter().filter_map(|it| it.specifier.as_deref()).collect();
                let whole = rules.iter().find(|it| it.specifier.is_none()).copied();
                whole.or_else(|| {
                    let covered = script.every_part_matches(place, &patterns);
                    rules.first().copied().filter(|_| covered)
                })
            }
        }
    }

    /// Whether the person's own allow rule names this very path rather than a whole folder.
    pub fn names_path(&self, path: &Path, touch: Touch, place: &Place) -> bool {
        self.of(Decision::Allow).any(|rule| {
            let kind = match touch {
                Touch::Read => rule.tool == READS,
                Touch::Write => WRITES.contains(&rule.tool.as_str()),
            };
            let literal = rule.specifier.as_deref().is_some_and(|it| !it.contains(['*', '?', '[']));
            let own = rule.scope != "project" && rule.scope != "local";
            kind && literal && own && matches_path(rule, path, place, Reach::Itself)
        })
    }

    fn of(&self, decision: Decision) -> impl Iterator<Item = &Rule> {
        self.all.iter().filter(move |it| it.decision == decision)
    }
}

/// Reading or writing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// The content is read.
    Read,
    /// The file is changed.
    Write,
}

/// A pattern that matches exactly this path from anywhere.
pub fn absolute_pattern(path: &Path) -> String {
    format!("/{}", escaped(&path.display().to_string()))
}

/// The shortest pattern that matches exactly this path.
pub fn pattern_for(path: &Path, place: &Place) -> String {
    let inside =
        place.roots.paths().find_map(|root| path.strip_prefix(root).ok().map(Path::to_path_buf));
    match inside {
        Some(rest) => format!("/{}", escaped(&rest.display().to_string())),
        None => absolute_pattern(path),
    }
}

fn escaped(path: &str) -> String {
    path.chars()
        .flat_map(|it| {
            let special = matches!(it, '*' | '?' | '[' | ']' | '\\' | '!' | '#');
            special.then_some('\\').into_iter().chain([it])
        })
        .collect()
}

/// Deny and ask: any part of the command is enough, or the terminal it is typed into.
fn names_command(rule: &Rule, line: &Line<'_>, has_part: impl Fn(&str) -> bool) -> bool {
    let Some(pattern) = &rule.specifier else { return true };
    let terminal = match &line.access.form {
        Form::Command | Form::Program => false,
        Form::Typed { terminal } => terminal == pattern,
    };
    terminal || has_part(pattern)
}

/// Deny and ask: either path is enough.
fn touches(rule: &Rule, target: &Target, place: &Place) -> bool {
    match &rule.specifier {
        None => true,
        Some(_) => target.paths().iter().any(|it| matches_path(rule, it, place, Reach::Below)),
    }
}

/// Allow: the link and the real path must both be covered, by one rule or by two.
fn covers(rules: &[&Rule], target: &Target, place: &Place) -> bool {
    let paths = target.paths();
    let whole = target.inside && rules.iter().any(|it| it.specifier.is_none());
    let covered = |path: &&Path| {
        rules
            .iter()
            .any(|rule| rule.specifier.is_some() && matches_path(rule, path, place, Reach::Below))
    };
    whole || (!paths.is_empty() && paths.iter().all(covered))
}

/// What a pattern that matches a folder says of the files in it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// Nothing.
    Itself,
    /// They match too.
    Below,
}

fn matches_path(rule: &Rule, path: &Path, place: &Place, reach: Reach) -> bool {
    let Some(specifier) = &rule.specifier else { return true };
    matchers(specifier, place).iter().any(|(base, matcher)| {
        let Ok(rest) = path.strip_prefix(base) else { return false };
        match reach {
            Reach::Itself => matcher.matched(rest, false).is_ignore(),
            Reach::Below => matcher.matched_path_or_any_parents(rest, false).is_ignore(),
        }
    })
}

/// The folders a pattern may start from, and the pattern within them.
fn anchored(specifier: &str, place: &Place) -> (Vec<PathBuf>, String) {
    if let Some(rest) = specifier.strip_prefix("//") {
        return (vec![PathBuf::from("/")], format!("/{rest}"));
    }
    if let Some(rest) = specifier.strip_prefix("~/") {
        let home = std::env::home_dir().unwrap_or_default();
        return (vec![home], format!("/{rest}"));
    }
    if specifier.starts_with('/') {
        return (place.folders(), specifier.to_string());
    }
    let relative = specifier.strip_prefix("./").unwrap_or(specifier);
    let mut bases = vec![place.cwd.clone(), place.roots.locate(&place.cwd).real];
    bases.extend(place.folders());
    (bases, relative.to_string())
}

/// What a pattern matches, by the folders it may start from.
fn matchers(specifier: &str, place: &Place) -> Vec<(PathBuf, Gitignore)> {
    let (mut bases, pattern) = anchored(specifier, place);
    bases.sort();
    bases.dedup();
    let ready = |base: PathBuf| Some((matcher(&base, &pattern)?, base));
    bases.into_iter().filter_map(ready).map(|(matcher, base)| (base, matcher)).collect()
}

fn matcher(base: &Path, pattern: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(base);
    builder.add_line(None, pattern).ok()?;
    builder.build().ok()
}

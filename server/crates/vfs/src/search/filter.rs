//! Which files of a folder a search is about: globs, file types, secrets.

use std::path::{Path, PathBuf};

use ignore::Match;
use ignore::overrides::{Override, OverrideBuilder};
use ignore::types::{Types, TypesBuilder};

use super::QueryError;

/// Globs of a query; what matching them takes grows with the square of their number.
const MAX_GLOBS: usize = 100;

/// Globs relative to one folder.
pub(super) struct Globs {
    globs: Override,
    root: PathBuf,
    /// Some glob excludes, so that the folders above a file matter.
    excludes: bool,
}

impl Globs {
    pub fn new(root: &Path, globs: &[String]) -> Result<Globs, QueryError> {
        if MAX_GLOBS < globs.len() {
            return Err(QueryError::TooManyGlobs { max: MAX_GLOBS });
        }
        let mut builder = OverrideBuilder::new(root);
        for glob in globs {
            let error = |error| malformed(glob, error);
            let glob = relative(root, glob);
            builder.add(&glob).map_err(error)?;
            if let Some(named) = named(root, &glob) {
                builder.add(&named).map_err(error)?;
            }
        }
        let build = |error| malformed(&globs.join(", "), error);
        Ok(Globs {
            globs: builder.build().map_err(build)?,
            root: root.to_owned(),
            excludes: globs.iter().any(|glob| glob.starts_with('!')),
        })
    }

    pub fn file(&self, path: &Path) -> bool {
        self.wants(self.globs.matched(path, false)) && !self.excluded_above(path)
    }

    pub fn folder(&self, path: &Path) -> bool {
        match self.globs.matched(path, true) {
            Match::Whitelist(_) => !self.excluded_above(path),
            Match::None | Match::Ignore(_) => false,
        }
    }

    /// Whether a folder is left out with all it holds.
    pub fn excludes_folder(&self, path: &Path) -> bool {
        self.globs.matched(path, true).is_ignore()
    }

    fn wants<T>(&self, matched: Match<T>) -> bool {
        match matched {
            Match::Whitelist(_) => true,
            Match::Ignore(_) => false,
            Match::None => self.globs.num_whitelists() == 0,
        }
    }

    fn excluded_above(&self, path: &Path) -> bool {
        self.excludes
            && path
                .ancestors()
                .skip(1)
                .take_while(|folder| *folder != self.root && folder.starts_with(&self.root))
                .any(|folder| self.globs.matched(folder, true).is_ignore())
    }
}

/// Says in a line what is wrong with a glob, which may be of any length.
fn malformed(glob: &str, error: ignore::Error) -> QueryError {
    const MOST: usize = 200;
    let reason = match error {
        ignore::Error::Glob { err, .. } => err,
        other => other.to_string(),
    };
    let short = |text: &str| match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    // It quotes what it found as it is.
    let shown = |it: char| {
        let escaped = it.is_control().then(|| it.escape_default().to_string());
        escaped.unwrap_or_else(|| it.to_string())
    };
    let reason: String = reason.chars().map(shown).collect();
    QueryError::Glob { glob: short(glob), reason: short(&reason) }
}

/// A glob as the matcher wants it: relative to the root, a folder meaning everything in it.
fn relative(root: &Path, glob: &str) -> String {
    let (sign, glob) = match glob.strip_prefix('!') {
        Some(rest) => ("!", rest),
        None => ("", glob),
    };
    let mut glob = glob;
    while let Some(rest) = glob.strip_prefix("./") {
        glob = rest;
    }
    // `sub//b` means `sub/b`, where `rg` finds nothing; elsewhere two slashes mean what they do there.
    let mut tidy = glob.to_owned();
    if sign.is_empty() && !glob.starts_with("//") && !glob.ends_with("//") {
        while tidy.contains("//") {
            tidy = tidy.replace("//", "/");
        }
    }
    let glob = tidy.as_str();
    let below =
        root.to_str().and_then(|root| glob.strip_prefix(root)).filter(|rest| rest.starts_with('/'));
    // A rest such as `/a.txt` is anchored at the root, which is what the absolute path said.
    let glob = below.unwrap_or(glob);
    match glob.strip_suffix('/').filter(|_| sign.is_empty()) {
        Some(folder) => format!("{folder}/**"),
        None => format!("{sign}{glob}"),
    }
}

/// A path that has the file type an editor means by the name of a language.
pub(super) fn path_in_language(language: &str) -> Option<PathBuf> {
    let name = match language {
        "shellscript" => "sh",
        "typescript" | "typescriptreact" => "ts",
        "javascript" | "javascriptreact" => "js",
        "csharp" => "csharp",
        "plaintext" => "txt",
        other => other,
    };
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let known = builder.definitions();
    let globs = known.iter().find(|known| known.name() == name)?.globs();
    let extension = globs.iter().find_map(|glob| {
        glob.strip_prefix("*.").filter(|rest| rest.bytes().all(|it| it.is_ascii_alphanumeric()))
    })?;
    Some(PathBuf::from(format!("/x.{extension}")))
}

/// The glob with the names it begins with taken literally, where they hold `[` or `{` and exist:
/// `app/[id]/*.tsx` is about the folder `[id]`.
fn named(root: &Path, glob: &str) -> Option<String> {
    const SPECIAL: [char; 2] = ['[', '{'];
    if !glob.contains(SPECIAL) {
        return None;
    }
    let mut folder = root.to_owned();
    let parts: Vec<String> = glob
        .split('/')
        .map(|part| {
            folder.push(part);
            let is_name = part.contains(SPECIAL) && folder.exists();
            if is_name { escaped(part) } else { part.to_owned() }
        })
        .collect();
    Some(parts.join("/")).filter(|named| named != glob)
}

/// The glob that matches only the text of this one.
fn escaped(glob: &str) -> String {
    let mut escaped = String::with_capacity(glob.len() + 4);
    for c in glob.chars() {
        if matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// File types by ripgrep's names, and by extension where a name is none.
pub(super) fn types(names: &[String]) -> Result<Option<Types>, QueryError> {
    if names.is_empty() {
        return Ok(None);
    }
    let mut builder = TypesBuilder::new();
    builder.add_defaults();
    let known = builder.definitions();
    for name in names {
        let name = name.trim().trim_start_matches('.');
        let extension = format!("*.{}", name.to_lowercase());
        let by_name = known.iter().find(|known| known.name() == name.to_lowercase());
        let found =
            by_name.or_else(|| known.iter().find(|known| known.globs().contains(&extension)));
        let Some(found) = found else {
            let near = known
                .iter()
                .map(|known| known.name())
                .filter(|known| name.get(..2).is_some_and(|start| known.starts_with(start)));
            return Err(QueryError::Type {
                name: name.to_owned(),
                nearest: near.take(5).map(str::to_owned).collect(),
            });
        };
        builder.select(found.name());
    }
    builder
        .build()
        .map(Some)
        .map_err(|error| QueryError::Type { name: error.to_string(), nearest: Vec::new() })
}

//! How a new file should be spelled: `.editorconfig`, then `.gitattributes`, then the files beside it.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::disk::{self, FileKind};
use crate::encoding::Encoding;
use crate::format::{Eol, Format, decode, ends_line};
use crate::raw::{self, Unencodable};

/// A settings file larger than this is not one.
const MAX_SETTINGS: u64 = 256 * 1024;
/// Neighbours looked at for their line ending.
const NEIGHBOURS: usize = 12;
const MAX_NEIGHBOUR: u64 = 256 * 1024;

/// The format for a file that does not exist yet.
pub(crate) fn format_for_new(path: &Path) -> Format {
    format_with(path, &EditorConfig::for_path(path))
}

/// `text` as a new file at `path`: its `\n` as the format has them, and a last line end where the settings ask for one.
/// A text with `\r` of its own means it and is taken as it is.
pub(crate) fn new_file(path: &Path, text: &str) -> Result<Vec<u8>, Unencodable> {
    let settings = EditorConfig::for_path(path);
    let format = format_with(path, &settings);
    let mut text = if text.contains('\r') {
        text.to_owned()
    } else {
        text::to_ending(text, format.eol.ending())
    };
    if settings.insert_final_newline == Some(true) && !ends_line(&text) {
        text.push_str(format.eol.as_str());
    }
    raw::encode(&text, &format)
}

fn format_with(path: &Path, settings: &EditorConfig) -> Format {
    let (encoding, bom) = match settings.charset.as_deref() {
        Some("utf-8-bom") => (Encoding::Utf8, true),
        Some("latin1") => (Encoding::Legacy(encoding_rs::WINDOWS_1252), false),
        Some("utf-16le") => (Encoding::Utf16Le, true),
        Some("utf-16be") => (Encoding::Utf16Be, true),
        Some(_) | None => (Encoding::Utf8, false),
    };
    let eol = settings
        .end_of_line
        .or_else(|| from_gitattributes(path))
        .or_else(|| from_neighbours(path))
        .unwrap_or(Eol::Lf);
    Format { encoding, bom, eol, final_newline: settings.insert_final_newline.unwrap_or(true) }
}

#[derive(Default)]
struct EditorConfig {
    end_of_line: Option<Eol>,
    charset: Option<String>,
    insert_final_newline: Option<bool>,
}

impl EditorConfig {
    /// The settings for `path`: nearer files win over farther ones, later sections over earlier ones.
    fn for_path(path: &Path) -> EditorConfig {
        let mut files: Vec<(PathBuf, String)> = Vec::new();
        for folder in path.ancestors().skip(1) {
            if let Some(text) = settings_file(&folder.join(".editorconfig")) {
                let root = is_root(&text);
                files.push((folder.to_owned(), text));
                if root {
                    break;
                }
            }
        }
        let mut settings = EditorConfig::default();
        for (folder, text) in files.iter().rev() {
            settings.read(text, path.strip_prefix(folder).unwrap_or(path));
        }
        settings
    }

    fn read(&mut self, text: &str, relative: &Path) {
        let mut applies = false;
        for line in text.lines().map(str::trim) {
            if let Some(section) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                applies = section_glob(section).is_some_and(|glob| glob.is_match(relative));
            } else if applies && let Some((key, value)) = key_value(line) {
                self.set(&key, &value);
            }
        }
    }

    fn set(&mut self, key: &str, value: &str) {
        match key {
            "end_of_line" => {
                self.end_of_line = match value {
                    "lf" => Some(Eol::Lf),
                    "crlf" => Some(Eol::Crlf),
                    "cr" => Some(Eol::Cr),
                    _ => None,
                }
            }
            "charset" => self.charset = (value != "unset").then(|| value.to_owned()),
            "insert_final_newline" => {
                self.insert_final_newline = match value {
                    "true" => Some(true),
                    "false" => Some(false),
                    _ => None,
                }
            }
            _ => {}
        }
    }
}

fn is_root(text: &str) -> bool {
    text.lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with('['))
        .filter_map(key_value)
        .any(|(key, value)| key == "root" && value == "true")
}

fn key_value(line: &str) -> Option<(String, String)> {
    if line.starts_with(['#', ';']) {
        return None;
    }
    let (key, value) = line.split_once('=')?;
    Some((key.trim().to_lowercase(), value.trim().to_lowercase()))
}

/// A section without a slash is about names in any folder, one with a slash about the path from the settings file.
fn section_glob(section: &str) -> Option<GlobSet> {
    let pattern = match section.strip_prefix('/') {
        Some(rest) => rest.to_owned(),
        None if section.contains('/') => section.to_owned(),
        None => format!("**/{section}"),
    };
    let pattern = number_ranges(&pattern);
    // `**` within a name reaches into folders here; in globs it is a part of the path by itself.
    let mut globs = GlobSetBuilder::new();
    for pattern in [pattern.clone(), pattern.replace("**", "**/*").replace("*/*/", "*/")] {
        globs.add(GlobBuilder::new(&pattern).literal_separator(true).build().ok()?);
    }
    globs.build().ok()
}

/// `{1..3}` means the numbers between; globs know only lists.
fn number_ranges(pattern: &str) -> String {
    const MAX_NUMBERS: i64 = 1_000;
    let mut out = String::new();
    let mut rest = pattern;
    while let Some((before, after)) = rest.split_once('{') {
        out.push_str(before);
        let numbers = after.split_once('}').and_then(|(inside, after)| {
            let (from, to) = inside.split_once("..")?;
            let (from, to): (i64, i64) = (from.parse().ok()?, to.parse().ok()?);
            let (from, to) = (from.min(to), from.max(to));
            (to.checked_sub(from)? < MAX_NUMBERS).then_some((from..=to, after))
        });
        out.push('{');
        rest = after;
        if let Some((numbers, after)) = numbers {
            out.push_str(&numbers.map(|n| n.to_string()).collect::<Vec<_>>().join(","));
            out.push('}');
            rest = after;
        }
    }
    out.push_str(rest);
    out
}

/// The last `eol=` (or `-text`, `binary`) that applies, the nearest file first.
fn from_gitattributes(path: &Path) -> Option<Eol> {
    for folder in path.ancestors().skip(1) {
        if let Some(text) = settings_file(&folder.join(".gitattributes"))
            && let Some(eol) = eol_attribute(&text, path.strip_prefix(folder).unwrap_or(path))
        {
            return Some(eol);
        }
        if disk::link_stat(&folder.join(".git")).is_ok() {
            return None;
        }
    }
    None
}

fn eol_attribute(text: &str, relative: &Path) -> Option<Eol> {
    let mut found = None;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let mut words = line.split_whitespace();
        let Some(pattern) = words.next() else { continue };
        let eol =
            words.filter_map(|word| word.strip_prefix("eol=")).find_map(|value| match value {
                "lf" => Some(Eol::Lf),
                "crlf" => Some(Eol::Crlf),
                _ => None,
            });
        if eol.is_some() && section_glob(pattern).is_some_and(|glob| glob.is_match(relative)) {
            found = eol;
        }
    }
    found
}

/// The line ending most of the files beside it have, those of the same kind first.
fn from_neighbours(path: &Path) -> Option<Eol> {
    let folder = path
        .ancestors()
        .skip(1)
        .find(|folder| disk::stat(folder).is_ok_and(|s| s.kind == FileKind::Folder))?;
    let mut files: Vec<PathBuf> = disk::list_dir(folder)
        .ok()?
        .into_iter()
        .filter(|entry| entry.kind == FileKind::File && !crate::guard::is_sensitive(&entry.path))
        .map(|entry| entry.path)
        .collect();
    let same_kind = |file: &PathBuf| file.extension() == path.extension();
    if files.iter().any(same_kind) {
        files.retain(same_kind);
    }
    let (mut lf, mut crlf) = (0, 0);
    for file in files.into_iter().take(NEIGHBOURS) {
        let Ok(bytes) = disk::read_bytes(&file, MAX_NEIGHBOUR) else { continue };
        if memchr::memchr(0, &bytes).is_some() || memchr::memchr(b'\n', &bytes).is_none() {
            continue;
        }
        match decode(bytes).format.eol {
            Eol::Lf => lf += 1,
            Eol::Crlf => crlf += 1,
            Eol::Cr | Eol::Mixed => {}
        }
    }
    (lf + crlf > 0).then_some(if crlf > lf { Eol::Crlf } else { Eol::Lf })
}

fn settings_file(path: &Path) -> Option<String> {
    let bytes = disk::read_bytes(path, MAX_SETTINGS).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests;

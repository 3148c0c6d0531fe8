//! How found lines are laid out in a bounded text.
//!
//! Matches come first: context is shown as long as it takes no room from a match, windows whole from the top, and what
//! was left out is said. Tells which lines were shown whole, since only these may be edited.

use text::anchors::Anchor;

use crate::bounds;
use crate::dialects::Context;

/// How names of artifacts begin.
const ARTIFACT: &str = "artifact:";
/// Lines of context longer than this are shortened.
const CONTEXT_BYTES: usize = 256;

/// What of the rows is shown.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Matches skipped first.
    pub skip: usize,
    /// Matches shown at most.
    pub limit: usize,
    /// Bytes shown at most.
    pub bytes: usize,
}

/// A file and its lines, in order.
pub struct File<'a> {
    pub name: String,
    pub lines: Vec<Line<'a>>,
}

/// A line of a file.
#[derive(Clone, Copy, Debug)]
pub struct Line<'a> {
    pub number: u64,
    pub text: &'a str,
    pub is_context: bool,
    pub cut_before: bool,
    pub cut_after: bool,
}

/// How a line begins.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    pub numbers: Numbers,
    pub context: Context,
}

/// What stands between the path and the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Numbers {
    Shown,
    /// With the hash of the line, where it can be edited by what is shown of it.
    Anchored,
    Hidden,
}

/// The text, and what became of the rest.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Layout {
    pub text: String,
    /// Matches shown.
    pub shown: usize,
    /// Matches passed over, those to be skipped among them.
    pub skipped: usize,
    /// There are matches after the last one shown.
    pub more: bool,
    /// The bytes ended it.
    pub full: bool,
    /// Context was left out for want of room.
    pub shed: bool,
    /// Lines shown whole: the file's index and the line's number.
    pub whole: Vec<(usize, u64)>,
}

/// Lays out the lines of files.
pub fn lines(files: &[File<'_>], style: Style, window: Window) -> Layout {
    let mut layout = Layout::default();
    let matches = matches_only(files, style, window);
    let mut spare = window.bytes.saturating_sub(matches);
    // As everywhere where lines have context, also between files.
    let has_context = files.iter().flat_map(|file| &file.lines).any(|line| line.is_context);
    let mut last = None;
    for (index, file) in files.iter().enumerate() {
        for (at, line) in file.lines.iter().enumerate() {
            if line.is_context {
                // Context belongs to the match it is next to; what surrounds skipped ones is skipped too.
                if layout.shed || !is_near_shown(file, at, &layout, window) {
                    continue;
                }
            } else if layout.skipped < window.skip {
                layout.skipped += 1;
                continue;
            } else if layout.shown == window.limit {
                layout.more = true;
                return layout;
            }
            let row = row(file, line, style);
            let gap =
                has_context && last.is_some_and(|(of, last)| of != index || last + 1 < line.number);
            let cost = row.len() + if gap { 3 } else { 0 };
            if line.is_context {
                if cost > spare {
                    layout.shed = true;
                    continue;
                }
                spare -= cost;
            } else if window.bytes < layout.text.len() + cost {
                (layout.more, layout.full) = (true, true);
                return layout;
            }
            if gap {
                layout.text.push_str("--\n");
            }
            layout.text.push_str(&row);
            layout.shown += usize::from(!line.is_context);
            if is_whole(line) {
                layout.whole.push((index, line.number));
            }
            last = Some((index, line.number));
        }
    }
    layout
}

/// A path as the model can read it back: one whose characters would be mistaken for the layout's stands in quotes.
pub fn name(path: String, context: Context) -> String {
    let odd = |c: char| bounds::is_unseen(c) || matches!(c, ':' | '"' | '\u{FFFD}');
    let is_odd = path.strip_prefix(ARTIFACT).unwrap_or(&path).contains(odd);
    let is_mistaken = match context {
        Context::Plain => {
            path.starts_with(char::is_whitespace) || path.ends_with(char::is_whitespace)
        }
        Context::Barred => path.contains(char::is_whitespace) || is_like_a_row(&path),
    };
    if is_odd || is_mistaken { format!("{path:?}") } else { path }
}

/// Whether a part of a name looks like the number in a line of context.
fn is_like_a_row(path: &str) -> bool {
    let mut parts = path.split('-').skip(1).peekable();
    std::iter::from_fn(|| parts.next().map(|part| (part, parts.peek().is_some()))).any(
        |(part, goes_on)| goes_on && !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit()),
    )
}

/// Bytes of the matches that would be shown, with what sets them apart.
fn matches_only(files: &[File<'_>], style: Style, window: Window) -> usize {
    let lines = files.iter().flat_map(|file| file.lines.iter().map(move |line| (file, line)));
    let matches = lines.filter(|(_, line)| !line.is_context).skip(window.skip).take(window.limit);
    matches.map(|(file, line)| row(file, line, style).len() + 3).sum()
}

/// Whether the nearest match before or after a line of context is one that is shown.
fn is_near_shown(file: &File<'_>, at: usize, layout: &Layout, window: Window) -> bool {
    let touches = |a: &Line<'_>, b: &Line<'_>| a.number.abs_diff(b.number) == 1;
    let mut before = file.lines[..=at].windows(2).rev();
    let reaches_back = before
        .by_ref()
        .take_while(|pair| touches(&pair[0], &pair[1]))
        .any(|pair| !pair[0].is_context);
    let mut after = file.lines[at..].windows(2);
    let reaches_on = after
        .by_ref()
        .take_while(|pair| touches(&pair[0], &pair[1]))
        .any(|pair| !pair[1].is_context);
    let earlier = reaches_back && layout.shown > 0;
    let later = reaches_on && layout.skipped >= window.skip && layout.shown < window.limit;
    earlier || later
}

fn row(file: &File<'_>, line: &Line<'_>, style: Style) -> String {
    let mark = if line.is_context { '-' } else { ':' };
    let bar = if line.is_context && style.context == Context::Barred { "| " } else { "" };
    let mut row = format!("{bar}{}{mark}", file.name);
    let number = match style.numbers {
        Numbers::Hidden => None,
        Numbers::Anchored if is_whole(line) => anchor(line),
        Numbers::Shown | Numbers::Anchored => Some(line.number.to_string()),
    };
    if let Some(number) = number {
        row.push_str(&number);
        row.push(mark);
    }
    let text = if is_shortened(line) { shortened(line.text) } else { line.text };
    let dots = |cut: bool| match (cut, style.context) {
        (false, _) => "",
        (true, Context::Plain) => "…",
        (true, Context::Barred) => "...",
    };
    row.push_str(dots(line.cut_before));
    row.push_str(text);
    row.push_str(dots(line.cut_after || is_shortened(line)));
    row.push('\n');
    row
}

fn anchor(line: &Line<'_>) -> Option<String> {
    Some(Anchor::of(usize::try_from(line.number).ok()?, line.text).to_string())
}

fn is_whole(line: &Line<'_>) -> bool {
    !line.cut_before && !line.cut_after && !is_shortened(line)
}

fn is_shortened(line: &Line<'_>) -> bool {
    line.is_context && line.text.len() > CONTEXT_BYTES
}

fn shortened(text: &str) -> &str {
    let end = (0..=CONTEXT_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines of one file: `4:` a match, `5-` context.
    fn file<'a>(name: &str, lines: &[(u64, char, &'a str)]) -> File<'a> {
        let line = |(number, mark, text): &(u64, char, &'a str)| Line {
            number: *number,
            text,
            is_context: *mark == '-',
            cut_before: false,
            cut_after: false,
        };
        File { name: name.into(), lines: lines.iter().map(line).collect() }
    }

    fn twelve() -> Vec<File<'static>> {
        let lines = [
            (3, '-', "3"),
            (4, ':', "4"),
            (5, '-', "5"),
            (7, '-', "7"),
            (8, ':', "8"),
            (9, ':', "9"),
            (10, '-', "10"),
        ];
        vec![file("f", &lines)]
    }

    const PLAIN: Style = Style { numbers: Numbers::Shown, context: Context::Plain };
    const ALL: Window = Window { skip: 0, limit: usize::MAX, bytes: usize::MAX };

    #[track_caller]
    fn check(files: &[File<'_>], window: Window, expected: &[&str]) -> Layout {
        let layout = lines(files, PLAIN, window);
        assert_eq!(layout.text.lines().collect::<Vec<_>>(), expected);
        assert!(layout.text.len() <= window.bytes);
        layout
    }

    #[test]
    fn near_matches_share_a_window() {
        let expected = ["f-3-3", "f:4:4", "f-5-5", "--", "f-7-7", "f:8:8", "f:9:9", "f-10-10"];
        let layout = check(&twelve(), ALL, &expected);
        assert_eq!((layout.shown, layout.more, layout.shed), (3, false, false));
        assert_eq!(layout.whole.len(), 7);
    }

    #[test]
    fn files_are_set_apart_where_lines_have_context() {
        let with = [file("f", &[(1, ':', "1")]), file("g", &[(2, ':', "2"), (3, '-', "3")])];
        check(&with, ALL, &["f:1:1", "--", "g:2:2", "g-3-3"]);
        let without = [file("f", &[(1, ':', "1"), (9, ':', "9")]), file("g", &[(2, ':', "2")])];
        check(&without, ALL, &["f:1:1", "f:9:9", "g:2:2"]);
    }

    #[test]
    fn pages_have_the_context_of_their_own_matches() {
        let first = Window { limit: 1, ..ALL };
        assert!(check(&twelve(), first, &["f-3-3", "f:4:4", "f-5-5"]).more);
        let second = Window { skip: 1, limit: 1, ..ALL };
        let layout = check(&twelve(), second, &["f-7-7", "f:8:8"]);
        assert_eq!((layout.skipped, layout.more), (1, true));
        let last = Window { skip: 2, ..ALL };
        check(&twelve(), last, &["f:9:9", "f-10-10"]);
        let beyond = Window { skip: 9, ..ALL };
        assert_eq!(check(&twelve(), beyond, &[]).skipped, 3);
    }

    #[test]
    fn context_gives_way_to_matches() {
        // The first window whole, the second in part, every match.
        let room = |bytes| Window { bytes, ..ALL };
        let layout =
            check(&twelve(), room(45), &["f-3-3", "f:4:4", "f-5-5", "--", "f:8:8", "f:9:9"]);
        assert!(layout.shed && !layout.more);
        let layout = check(&twelve(), room(28), &["f:4:4", "--", "f:8:8", "f:9:9"]);
        assert!(layout.shed && !layout.more);
        let layout = check(&twelve(), room(7), &["f:4:4"]);
        assert!(layout.more && layout.full && layout.shown == 1);
    }

    #[test]
    fn long_context_and_cut_lines_say_so_and_are_not_whole() {
        let long = "é".repeat(200);
        let mut files = vec![file("f", &[(1, '-', &long), (2, ':', "match")])];
        files[0].lines[1].cut_before = true;
        let layout = lines(&files, Style { numbers: Numbers::Hidden, ..PLAIN }, ALL);
        assert_eq!(layout.text, format!("f-{}…\nf:…match\n", "é".repeat(128)));
        assert!(layout.whole.is_empty());
    }

    #[test]
    fn names_that_would_be_mistaken_are_quoted() {
        for plain in ["a b/c.rs", "src/é.rs", "a-1-b"] {
            assert_eq!(name(plain.into(), Context::Plain), plain);
        }
        for context in [Context::Plain, Context::Barred] {
            assert_eq!(name("a:1:b".into(), context), "\"a:1:b\"");
            assert_eq!(name("a\nb".into(), context), "\"a\\nb\"");
            assert_eq!(name(" a".into(), context), "\" a\"");
            assert_eq!(name("artifact:abc".into(), context), "artifact:abc");
            assert_eq!(name("artifact:a\n".into(), context), "\"artifact:a\\n\"");
        }
        let barred = |path: &str| name(path.into(), Context::Barred);
        assert_eq!(barred("a b/c.rs"), "\"a b/c.rs\"");
        assert_eq!(barred("a-1-b"), "\"a-1-b\"");
        for plain in ["src/é.rs", "a-b-c", "a-1", "1-2", "a--b"] {
            assert_eq!(barred(plain), plain);
        }
    }

    #[test]
    fn chords_lines_are_shortened_with_three_dots() {
        let long = "x".repeat(300);
        let mut files = vec![file("f", &[(1, '-', &long), (2, ':', "match")])];
        files[0].lines[1].cut_after = true;
        let style = Style { numbers: Numbers::Shown, context: Context::Barred };
        let expected = format!("| f-1-{}...\nf:2:match...\n", "x".repeat(256));
        assert_eq!(lines(&files, style, ALL).text, expected);
    }

    #[test]
    fn lines_that_can_be_edited_have_anchors_and_context_may_have_a_bar() {
        let mut files = vec![file("f", &[(1, '-', "one"), (2, ':', "  two"), (3, ':', "three")])];
        files[0].lines[2].cut_after = true;
        let style = Style { numbers: Numbers::Anchored, context: Context::Barred };
        let (one, two) = (Anchor::of(1, "one"), Anchor::of(2, "two"));
        let expected = format!("| f-{one}-one\nf:{two}:  two\nf:3:three...\n");
        assert_eq!(lines(&files, style, ALL).text, expected);
    }
}

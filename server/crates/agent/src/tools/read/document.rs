//! The pages of a PDF: their text, and pictures of them where the model sees pictures.
//!
//! Invariant: a call shows at most 20 pages and no more text than a model reads; the last line says
//! where to go on.

use media::{Answer, MAX_PAGES, Page, Request, Shown};

use super::medium::{self, Medium};
use crate::bounds;
use crate::cards;
use crate::decoding::decode;
use crate::tool::{Content, Cx, Failure, Output};

/// Pages asked for: 1-based, inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub first: u32,
    pub last: u32,
}

impl Range {
    /// `"3"`, `"1-5"` or `"7-"`.
    pub fn parse(text: &str) -> Result<Range, Failure> {
        let wrong = || {
            Failure::new(format!(
                "pages must be a page or a range of pages, e.g. \"3\" or \"1-5\", got {:?}.",
                bounds::text(text, 40)
            ))
        };
        let number = |it: &str| it.trim().parse::<u32>().ok().filter(|it| 0 < *it);
        let (first, last) = match text.split_once(['-', '–']) {
            None => {
                let page = number(text).ok_or_else(wrong)?;
                (page, page)
            }
            Some((first, last)) => {
                let first = number(first).ok_or_else(wrong)?;
                let open = first.saturating_add(MAX_PAGES - 1);
                let last = if last.trim().is_empty() { Some(open) } else { number(last) };
                (first, last.ok_or_else(wrong)?)
            }
        };
        if last < first {
            return Err(wrong());
        }
        if MAX_PAGES <= last - first {
            return Err(Failure::new(format!(
                "{} pages were asked for; a call shows {MAX_PAGES} at most. Ask for \"{first}-{}\" first.",
                last - first + 1,
                first + MAX_PAGES - 1
            )));
        }
        Ok(Range { first, last })
    }

    /// As many pages from one on as a call shows, or fewer.
    pub fn from(first: u32, count: u32) -> Range {
        let count = count.clamp(1, MAX_PAGES);
        let first = first.max(1);
        Range { first, last: first.saturating_add(count - 1) }
    }
}

/// Pages for model and card.
pub async fn pages(cx: &Cx, found: &Medium, range: Range) -> Result<Output, Failure> {
    let shown = if cx.sees.images { Shown::TextAndPictures } else { Shown::Text };
    let request = Request::Pages { first: range.first, last: range.last, shown };
    let decoded = decode(cx, request, medium::bytes(cx, found).await?).await?;
    let name = cx.place.shown(&found.location);
    let mut answers = decoded.answers.into_iter();
    let total = match answers.next() {
        Some(Answer::Document { pages }) => pages,
        Some(Answer::Refused(why)) => return Err(Failure::new(format!("{name} {why}."))),
        Some(Answer::Picture(_) | Answer::Page(_)) | None => {
            let why = decoded.fault.unwrap_or("could not be decoded");
            return Err(Failure::new(format!("{name} {why}.")));
        }
    };
    if total < range.first {
        return Err(Failure::new(format!(
            "{name} has {total} pages; there is no page {}.",
            range.first
        )));
    }
    let last = range.last.min(total);
    let mut told = Told { content: Vec::new(), room: bounds::RESULT, next: range.first };
    let mut card = Vec::new();
    for answer in answers {
        let Answer::Page(page) = answer else { continue };
        if card.is_empty() {
            let facts = format!("page {} of {total}", page.number);
            card = page.picture.as_ref().map(|it| medium::card(&facts, it)).unwrap_or_default();
        }
        if !told.take(page, total) {
            break;
        }
    }
    if told.next == range.first {
        let why = decoded.fault.unwrap_or("could not be decoded");
        return Err(Failure::new(format!("Page {} of {name} {why}.", range.first)));
    }
    let status = told.status(cx, range.first, last, total, decoded.fault);
    told.content.push(Content::Text(status));
    if card.is_empty() {
        card = cards::of_content(&told.content);
    }
    Ok(Output { content: told.content, card, ..Output::default() })
}

/// What was told so far.
struct Told {
    content: Vec<Content>,
    /// Characters that may follow.
    room: usize,
    /// The page after the last one.
    next: u32,
}

impl Told {
    /// Adds a page, unless there is no room for it after others.
    fn take(&mut self, page: Page, total: u32) -> bool {
        let mut text = format!("--- page {} of {total} ---\n", page.number);
        match (page.text.as_str(), &page.picture) {
            ("", Some(_)) => text.push_str("[no text; see its picture]"),
            ("", None) => text.push_str("[no text: it is blank or a picture]"),
            (lines, _) => text.push_str(lines),
        }
        if let Some(fault) = &page.fault {
            text.push_str(&format!("\n[{fault}]"));
        }
        let size = text.chars().count();
        if self.room < size && !self.content.is_empty() {
            return false;
        }
        self.room = self.room.saturating_sub(size);
        self.next = page.number + 1;
        self.content.push(Content::Text(text));
        self.content.extend(page.picture.map(medium::image));
        true
    }

    fn status(
        &self,
        cx: &Cx,
        first: u32,
        last: u32,
        total: u32,
        fault: Option<&'static str>,
    ) -> String {
        let mut status = format!("[pages {first}-{} of {total}", self.next - 1);
        if self.next <= last {
            match fault {
                Some(why) => status.push_str(&format!("; page {} {why}", self.next)),
                None => status.push_str("; stopped at the size limit"),
            }
        }
        if self.next <= total {
            let to = self.next.saturating_add(MAX_PAGES - 1).min(total);
            status.push_str(&match (
                cx.dialect.field("Read", "pages"),
                cx.dialect.field("Read", "offset"),
            ) {
                (Some(pages), _) => format!("; next {pages} \"{}-{to}\"", self.next),
                (None, Some(offset)) => format!("; next {offset} {}", self.next),
                (None, None) => String::new(),
            });
        }
        status.push(']');
        status
    }
}

/// The range that `offset` and `limit` mean for a document.
pub fn by_offset(offset: Option<i64>, limit: Option<usize>) -> Result<Range, Failure> {
    let first = u32::try_from(offset.unwrap_or(1));
    let first = first.map_err(|_| Failure::new("Pages of a PDF are counted from the first, 1."))?;
    let count = limit.map_or(MAX_PAGES, |it| u32::try_from(it).unwrap_or(MAX_PAGES));
    Ok(Range::from(first, count))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(u32, u32)>) {
        let range = Range::parse(text).ok().map(|it| (it.first, it.last));
        assert_eq!(range, expected, "{text}");
    }

    #[test]
    fn pages_are_one_or_a_range() {
        check("3", Some((3, 3)));
        check("1-5", Some((1, 5)));
        check(" 2 - 4 ", Some((2, 4)));
        check("7-", Some((7, 26)));
        check("1-20", Some((1, 20)));
        check("4294967295-", Some((u32::MAX, u32::MAX)));
        for wrong in ["", "0", "-", "-3", "5-1", "1-21", "a", "1,3", "1-2-3", "99999999999"] {
            check(wrong, None);
        }
    }
}

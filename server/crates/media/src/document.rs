//! Pages of a PDF: their text, and pictures of them.
//!
//! Invariant: a page that cannot be drawn takes no other page with it.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hayro::hayro_interpret::{Context, InterpreterSettings, interpret_page};
use hayro::hayro_syntax::page::Page as PdfPage;
use hayro::hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use hayro::kurbo::{Affine, Rect};
use hayro::vello_cpu::color::palette::css::WHITE;
use hayro::{PixmapSettings, RenderCache, RenderSettings, render};
use image::{DynamicImage, RgbaImage};

use crate::page_text::PageText;
use crate::picture;
use crate::{Answer, MAX_PAGE_PICTURE, MAX_PAGES, Page, Picture, Shown};

/// Pixels of the longer side of a page's picture: letters of a printed page stay readable.
const SIDE: f32 = 1_500.0;
/// Pixels a point at most.
const SCALE: f32 = 2.5;

/// Hands over the pages asked for, one by one.
pub(crate) fn pages(
    bytes: Vec<u8>,
    (first, last): (u32, u32),
    shown: Shown,
    mut tell: impl FnMut(Answer),
) {
    let loaded = catch_unwind(|| Pdf::new(bytes));
    let pdf = match loaded {
        Ok(Ok(pdf)) => pdf,
        Ok(Err(err)) => return tell(Answer::Refused(why(err).into())),
        Err(_) => return tell(Answer::Refused("is a damaged PDF".into())),
    };
    let all = pdf.pages();
    let count = u32::try_from(all.len()).unwrap_or(u32::MAX);
    if count == 0 {
        return tell(Answer::Refused("is a PDF without pages".into()));
    }
    tell(Answer::Document { pages: count });
    let settings = InterpreterSettings::default();
    let cache = RenderCache::new();
    let first = first.max(1);
    let last = last.min(first.saturating_add(MAX_PAGES - 1)).min(count);
    for number in first..=last {
        let Some(page) = all.get(number as usize - 1) else { continue };
        let mut faults = Vec::new();
        let text = catch_unwind(AssertUnwindSafe(|| text_of(&pdf, page, &settings)));
        let text = text.unwrap_or_else(|_| {
            faults.push("its text could not be read");
            PageText::default()
        });
        if text.full {
            faults.push("its text is longer than what is shown");
        }
        let picture = match shown {
            Shown::Text => None,
            Shown::TextAndPictures => {
                let drawn = catch_unwind(AssertUnwindSafe(|| draw(page, &cache, &settings)));
                let drawn = drawn.ok().and_then(Result::ok);
                if drawn.is_none() {
                    faults.push("it could not be drawn");
                }
                drawn
            }
        };
        let fault = (!faults.is_empty()).then(|| faults.join("; "));
        tell(Answer::Page(Page { number, text: text.finish(), picture, fault }));
    }
}

fn text_of(pdf: &Pdf, page: &PdfPage<'_>, settings: &InterpreterSettings) -> PageText {
    let cache = hayro::hayro_interpret::InterpreterCache::new();
    let nowhere = Rect::new(0.0, 0.0, 1.0, 1.0);
    let mut context = Context::new(Affine::IDENTITY, nowhere, &cache, pdf.xref(), settings.clone());
    let mut text = PageText::default();
    interpret_page(page, &mut context, &mut text);
    text
}

fn draw<'a>(
    page: &'a PdfPage<'a>,
    cache: &RenderCache<'a>,
    settings: &InterpreterSettings,
) -> Result<Picture, String> {
    let (width, height) = page.render_dimensions();
    let longest = width.max(height);
    if !longest.is_normal() || width.min(height) <= 0.0 {
        return Err("has no size".into());
    }
    let scale = (SIDE / longest).min(SCALE);
    // No side ends up without pixels, however thin the page.
    let pixmap = PixmapSettings {
        x_scale: scale.max(1.0 / width),
        y_scale: scale.max(1.0 / height),
        bg_color: WHITE,
    };
    let drawn = render(page, cache, settings, &RenderSettings::default(), &pixmap);
    let (width, height) = (u32::from(drawn.width()), u32::from(drawn.height()));
    let pixels = drawn.data_as_u8_slice().to_vec();
    let pixels = RgbaImage::from_raw(width, height, pixels).ok_or("has no pixels")?;
    // It was drawn on white, so nothing shines through.
    let pixels = DynamicImage::ImageRgb8(DynamicImage::ImageRgba8(pixels).into_rgb8());
    picture::encode(pixels, MAX_PAGE_PICTURE)
}

fn why(err: LoadPdfError) -> &'static str {
    match err {
        LoadPdfError::Decryption(DecryptionError::PasswordProtected) => {
            "is protected by a password; ask the person for a copy without one"
        }
        LoadPdfError::Decryption(
            DecryptionError::MissingIDEntry
            | DecryptionError::InvalidEncryption
            | DecryptionError::UnsupportedAlgorithm,
        ) => "is encrypted in a way that is not supported; ask the person for a copy that is not",
        LoadPdfError::Invalid => "is a damaged PDF: its structure cannot be read",
    }
}

#[cfg(test)]
mod tests;

//! The text of a page: glyphs in the order they are drawn, put into lines by where they stand.

use hayro::hayro_interpret::font::{Glyph, GlyphRun};
use hayro::hayro_interpret::hayro_cmap::{BfString, WritingMode};
use hayro::hayro_interpret::{
    BlendMode, ClipPath, Device, DrawMode, DrawProps, Image, ImageDrawProps, SoftMask,
};
use hayro::kurbo::{Affine, BezPath, Point, Vec2};

use crate::MAX_PAGE_TEXT;

/// Glyphs are drawn in a space of this many units an em.
const EM: f64 = 1_000.0;
/// The part of an em that a glyph of unknown width takes.
const USUAL_ADVANCE: f64 = 0.5;
/// The part of an em that is a space and not just loose setting.
const SPACE: f64 = 0.18;

/// Collects text; everything else that is drawn goes nowhere.
#[derive(Default)]
pub(crate) struct PageText {
    text: String,
    /// Whether something was left out for its length.
    pub full: bool,
    last: Option<Drawn>,
    /// Where the run before began: filled and stroked text is drawn twice.
    run_start: Option<Point>,
}

/// The glyph before.
struct Drawn {
    /// Where it ends, in the page's own space.
    end: Point,
    /// The direction of its line, of length 1.
    along: Vec2,
    /// Its height.
    size: f64,
}

impl PageText {
    /// The lines, without spaces at their ends and without long runs of empty ones.
    pub fn finish(self) -> String {
        let mut text = String::with_capacity(self.text.len());
        let mut empty = 0;
        for line in self.text.lines() {
            let line = line.trim_end();
            empty = if line.is_empty() { empty + 1 } else { 0 };
            if empty < 2 {
                text.push_str(line);
                text.push('\n');
            }
        }
        text.trim_matches('\n').to_owned()
    }

    fn put(&mut self, glyph: &str, transform: Affine, advance: f64, mode: WritingMode) {
        let start = transform * Point::ORIGIN;
        let [a, b, c, d, ..] = transform.as_coeffs();
        let (across_line, along_line) = match mode {
            WritingMode::Horizontal => (Vec2::new(c, d), Vec2::new(a, b)),
            WritingMode::Vertical => (Vec2::new(a, b), Vec2::new(-c, -d)),
        };
        let size = across_line.hypot() * EM;
        let along = along_line / along_line.hypot().max(f64::MIN_POSITIVE);
        let end = start + along_line * EM * advance;
        let placed = [end.x, end.y, start.x, start.y, size, along.x, along.y];
        if !placed.iter().all(|it| it.is_finite()) {
            return;
        }
        if MAX_PAGE_TEXT < self.text.len() + glyph.len() + 2 {
            self.full = true;
            return;
        }
        if let Some(last) = &self.last {
            let moved = start - last.end;
            let forward = moved.dot(last.along);
            let across = moved.cross(last.along).abs();
            let size = last.size.max(size);
            if size * 0.6 < across || forward < -size * 2.0 {
                let far = size * 2.2 < across;
                self.text.push_str(if far { "\n\n" } else { "\n" });
            } else if size * SPACE < forward
                && !self.text.ends_with(char::is_whitespace)
                && !glyph.starts_with(char::is_whitespace)
            {
                self.text.push(' ');
            }
        }
        // A control character is a glyph without a meaning.
        self.text.extend(glyph.chars().map(|it| if it.is_control() { ' ' } else { it }));
        self.last = Some(Drawn { end, along, size });
    }
}

fn advance_of(glyph: &Glyph<'_>) -> f64 {
    let units = match glyph {
        Glyph::Outline(it) => it.advance_width(),
        Glyph::Type3(_) => None,
    };
    units.map_or(USUAL_ADVANCE, |it| (f64::from(it) / EM).clamp(0.0, 4.0))
}

impl Device<'_> for PageText {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, '_>, props: DrawProps<'_>, draw: &DrawMode) {
        let start = run.glyphs().first().map(|it| props.transform * it.transform() * Point::ORIGIN);
        let again = matches!(draw, DrawMode::Stroke(_)) && start == self.run_start;
        self.run_start = start;
        if again {
            return;
        }
        for glyph in run.glyphs() {
            let transform = props.transform * glyph.transform();
            let (advance, mode) = (advance_of(glyph), run.writing_mode());
            match glyph.as_unicode() {
                Some(BfString::Char(it)) => {
                    self.put(it.encode_utf8(&mut [0; 4]), transform, advance, mode);
                }
                Some(BfString::String(it)) => self.put(&it, transform, advance, mode),
                None => self.put("\u{fffd}", transform, advance, mode),
            }
        }
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'_>, _: &DrawMode) {}
    fn push_clip_path(&mut self, _: &ClipPath) {}
    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'_>>, _: BlendMode) {}
    fn draw_image(&mut self, _: Image<'_, '_>, _: ImageDrawProps<'_>) {}
    fn pop_clip(&mut self) {}
    fn pop_transparency_group(&mut self) {}
}

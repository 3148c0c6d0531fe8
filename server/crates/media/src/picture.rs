//! Pictures: decoded within limits, turned upright, scaled, and spelled as PNG or JPEG.
//!
//! Invariant: what comes out was decoded whole, has at most [`MAX_SIDE`] pixels a side and at most
//! the bytes asked for.

use std::io::Cursor;

use base64::{Engine, engine::general_purpose::STANDARD};
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::PngDecoder;
use image::imageops::FilterType;
use image::metadata::Orientation;
use image::{
    DynamicImage, ExtendedColorType, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits,
};

use crate::{Kind, MAX_PICTURE, MAX_PIXELS, MAX_SIDE, MAX_WITHOUT_PREVIEW, Picture, PictureKind};

/// Bytes a decoder may allocate.
const MAX_ALLOC: u64 = 800_000_000;
/// Qualities of JPEG, tried in turn before the picture is made smaller.
const QUALITIES: [u8; 3] = [88, 75, 60];
/// Pixels of the longer side of a preview.
const PREVIEW_SIDE: u32 = 800;
/// A side is not made smaller than this to save bytes.
const LEAST_SIDE: u32 = 64;

/// The picture in these bytes, or half a sentence why there is none.
pub(crate) fn decode(bytes: &[u8]) -> Result<Picture, String> {
    let kind = match Kind::of(bytes) {
        Some(Kind::Picture(kind)) => kind,
        Some(Kind::Unsupported(name)) => return Err(format!("is {name}, which is not decoded")),
        Some(Kind::Document | Kind::Video(_)) | None => return Err("is no known picture".into()),
    };
    let format = format_of(kind);
    let mut reader = ImageReader::with_format(Cursor::new(bytes), format);
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_ALLOC);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().map_err(|err| damaged(kind, &err))?;
    let (width, height) = decoder.dimensions();
    if width == 0 || height == 0 {
        return Err(format!("is a {} without pixels", kind.name()));
    }
    if MAX_PIXELS < u64::from(width) * u64::from(height) {
        return Err(format!(
            "has {width} × {height} pixels, more than the {} million that are decoded; make a smaller copy of it",
            MAX_PIXELS / 1_000_000
        ));
    }
    let plain = matches!(
        decoder.original_color_type(),
        ExtendedColorType::L8
            | ExtendedColorType::La8
            | ExtendedColorType::Rgb8
            | ExtendedColorType::Rgba8
    );
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let mut picture = DynamicImage::from_decoder(decoder).map_err(|err| damaged(kind, &err))?;
    picture.apply_orientation(orientation);
    let (full_width, full_height) = (picture.width(), picture.height());
    let fits = full_width.max(full_height) <= MAX_SIDE && bytes.len() <= MAX_PICTURE;
    let kept = match kind {
        PictureKind::Png if !is_animated(bytes) => Some("image/png"),
        PictureKind::Jpeg => Some("image/jpeg"),
        PictureKind::Png
        | PictureKind::Webp
        | PictureKind::Gif
        | PictureKind::Bmp
        | PictureKind::Tiff => None,
    };
    if let Some(media_type) =
        kept.filter(|_| fits && plain && orientation == Orientation::NoTransforms)
    {
        return Ok(spelled(media_type, bytes, &picture));
    }
    let small = shrunk(picture, MAX_SIDE);
    let encoded = match kind {
        PictureKind::Jpeg => as_jpeg(small, MAX_PICTURE),
        PictureKind::Png
        | PictureKind::Webp
        | PictureKind::Gif
        | PictureKind::Bmp
        | PictureKind::Tiff => encode(small, MAX_PICTURE),
    };
    encoded.map(|it| Picture { full_width, full_height, ..it })
}

/// A picture as PNG, or as JPEG where that takes more than `most` bytes.
pub(crate) fn encode(picture: DynamicImage, most: usize) -> Result<Picture, String> {
    let picture = eight_bits(picture);
    let mut bytes = Vec::new();
    picture
        .write_to(&mut Cursor::new(&mut bytes), ImageFormat::Png)
        .map_err(|err| format!("cannot be spelled as PNG ({err})"))?;
    if most < bytes.len() {
        return as_jpeg(picture, most);
    }
    Ok(spelled("image/png", &bytes, &picture))
}

/// A picture as JPEG, on white, as good as `most` bytes allow.
fn as_jpeg(picture: DynamicImage, most: usize) -> Result<Picture, String> {
    let mut picture = on_white(picture);
    loop {
        for quality in QUALITIES {
            let mut bytes = Vec::new();
            picture
                .write_with_encoder(JpegEncoder::new_with_quality(&mut bytes, quality))
                .map_err(|err| format!("cannot be spelled as JPEG ({err})"))?;
            if bytes.len() <= most {
                return Ok(spelled("image/jpeg", &bytes, &picture));
            }
        }
        let side = picture.width().max(picture.height()) * 2 / 3;
        if side < LEAST_SIDE {
            return Err("cannot be made small enough".into());
        }
        picture = shrunk(picture, side);
    }
}

fn spelled(media_type: &str, bytes: &[u8], picture: &DynamicImage) -> Picture {
    let (width, height) = (picture.width(), picture.height());
    let preview = (MAX_WITHOUT_PREVIEW < bytes.len())
        .then(|| as_jpeg(shrunk(picture.clone(), PREVIEW_SIDE), MAX_WITHOUT_PREVIEW).ok())
        .flatten();
    Picture {
        media_type: media_type.into(),
        data: STANDARD.encode(bytes),
        width,
        height,
        full_width: width,
        full_height: height,
        preview: preview.map(Box::new),
    }
}

/// No side longer than `side`; the proportions stay.
fn shrunk(picture: DynamicImage, side: u32) -> DynamicImage {
    let longest = picture.width().max(picture.height());
    if longest <= side {
        return picture;
    }
    // Averaging is quick and good for large steps, a filter keeps letters readable in the last one.
    let picture = if side * 3 < longest { picture.thumbnail(side * 2, side * 2) } else { picture };
    picture.resize(side, side, FilterType::CatmullRom)
}

fn eight_bits(picture: DynamicImage) -> DynamicImage {
    if picture.color().has_alpha() {
        DynamicImage::ImageRgba8(picture.into_rgba8())
    } else if picture.color().has_color() {
        DynamicImage::ImageRgb8(picture.into_rgb8())
    } else {
        DynamicImage::ImageLuma8(picture.into_luma8())
    }
}

fn on_white(picture: DynamicImage) -> DynamicImage {
    if !picture.color().has_alpha() {
        return DynamicImage::ImageRgb8(picture.into_rgb8());
    }
    let picture = picture.into_rgba8();
    let mut flat = image::RgbImage::new(picture.width(), picture.height());
    for (to, from) in flat.pixels_mut().zip(picture.pixels()) {
        let [r, g, b, a] = from.0.map(u16::from);
        to.0 = [r, g, b].map(|it| u8::try_from((it * a + 255 * (255 - a)) / 255).unwrap_or(255));
    }
    DynamicImage::ImageRgb8(flat)
}

fn is_animated(bytes: &[u8]) -> bool {
    PngDecoder::new(Cursor::new(bytes)).and_then(|it| it.is_apng()).unwrap_or(false)
}

fn format_of(kind: PictureKind) -> ImageFormat {
    match kind {
        PictureKind::Png => ImageFormat::Png,
        PictureKind::Jpeg => ImageFormat::Jpeg,
        PictureKind::Webp => ImageFormat::WebP,
        PictureKind::Gif => ImageFormat::Gif,
        PictureKind::Bmp => ImageFormat::Bmp,
        PictureKind::Tiff => ImageFormat::Tiff,
    }
}

fn damaged(kind: PictureKind, err: &ImageError) -> String {
    match err {
        ImageError::Limits(_) => {
            format!(
                "is a {} that takes too much memory to decode; make a smaller copy of it",
                kind.name()
            )
        }
        ImageError::Unsupported(_) => {
            format!("is a {} of a kind that is not decoded ({err}); convert it to PNG", kind.name())
        }
        ImageError::Decoding(_)
        | ImageError::Encoding(_)
        | ImageError::Parameter(_)
        | ImageError::IoError(_) => format!("is a damaged {} ({err})", kind.name()),
    }
}

#[cfg(test)]
mod tests;

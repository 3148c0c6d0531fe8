use std::io::Cursor;

use base64::{Engine, engine::general_purpose::STANDARD};
use image::{DynamicImage, ImageFormat, Rgba, RgbaImage};
use proptest::prelude::*;

use super::*;

/// Red on the left, blue on the right, so that a turn shows.
fn sample(width: u32, height: u32) -> DynamicImage {
    DynamicImage::ImageRgba8(RgbaImage::from_fn(width, height, |x, _| {
        if x < width / 2 { Rgba([255, 0, 0, 255]) } else { Rgba([0, 0, 255, 255]) }
    }))
}

fn file(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Vec::new();
    let picture = match format {
        ImageFormat::Jpeg => &DynamicImage::ImageRgb8(picture.to_rgb8()),
        _ => picture,
    };
    picture.write_to(&mut Cursor::new(&mut bytes), format).unwrap();
    bytes
}

fn pixels(picture: &Picture) -> RgbaImage {
    let bytes = STANDARD.decode(&picture.data).unwrap();
    image::load_from_memory(&bytes).unwrap().to_rgba8()
}

#[track_caller]
fn is_red(picture: &RgbaImage, x: u32, y: u32) -> bool {
    let [r, _, b, _] = picture.get_pixel(x, y).0;
    b < r
}

#[test]
fn every_kind_comes_out_as_png_or_jpeg() {
    for (format, media_type) in [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::Gif, "image/png"),
        (ImageFormat::WebP, "image/png"),
        (ImageFormat::Bmp, "image/png"),
        (ImageFormat::Tiff, "image/png"),
    ] {
        let bytes = file(&sample(40, 20), format);
        let shown = decode(&bytes).unwrap();
        assert_eq!(shown.media_type, media_type, "{format:?}");
        assert_eq!(
            (shown.width, shown.height, shown.full_width, shown.full_height),
            (40, 20, 40, 20)
        );
        let pixels = pixels(&shown);
        assert!(is_red(&pixels, 5, 10) && !is_red(&pixels, 35, 10), "{format:?}");
    }
}

#[test]
fn a_png_or_jpeg_that_fits_keeps_its_bytes() {
    for format in [ImageFormat::Png, ImageFormat::Jpeg] {
        let bytes = file(&sample(40, 20), format);
        assert_eq!(STANDARD.decode(decode(&bytes).unwrap().data).unwrap(), bytes);
    }
}

#[test]
fn a_large_picture_is_scaled_and_keeps_its_proportions() {
    for (width, height, expected) in
        [(2_400, 600, (2_000, 500)), (30, 9_000, (7, 2_000)), (2_000, 2_000, (2_000, 2_000))]
    {
        let shown = decode(&file(&sample(width, height), ImageFormat::Png)).unwrap();
        assert_eq!((shown.width, shown.height), expected);
        assert_eq!((shown.full_width, shown.full_height), (width, height));
    }
}

#[test]
fn a_photo_is_turned_upright() {
    // Orientation 6: turned by 90° clockwise to be upright.
    let mut bytes = file(&sample(40, 20), ImageFormat::Jpeg);
    let exif =
        b"\xff\xe1\0\x22Exif\0\0II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
    bytes.splice(2..2, exif.iter().copied());
    let shown = decode(&bytes).unwrap();
    assert_eq!((shown.width, shown.height, shown.full_width), (20, 40, 20));
    let pixels = pixels(&shown);
    assert!(is_red(&pixels, 10, 4) && !is_red(&pixels, 10, 36));
}

#[test]
fn of_an_animation_the_first_frame_is_shown() {
    let mut bytes = Vec::new();
    {
        let mut encoder = image::codecs::gif::GifEncoder::new(&mut bytes);
        let frames = [[255, 0, 0, 255], [0, 0, 255, 255]]
            .map(|color| image::Frame::new(RgbaImage::from_pixel(8, 8, Rgba(color))));
        encoder.encode_frames(frames).unwrap();
    }
    let shown = decode(&bytes).unwrap();
    assert_eq!(shown.media_type, "image/png");
    assert!(is_red(&pixels(&shown), 4, 4));
}

#[test]
fn what_is_too_large_as_png_becomes_a_jpeg_that_fits() {
    let mut seed = 1_u32;
    let noise = DynamicImage::ImageRgb8(image::RgbImage::from_fn(300, 300, |_, _| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let [a, b, c, _] = seed.to_be_bytes();
        image::Rgb([a, b, c])
    }));
    for most in [100_000, 20_000] {
        let shown = encode(noise.clone(), most).unwrap();
        assert_eq!(shown.media_type, "image/jpeg");
        assert!(STANDARD.decode(&shown.data).unwrap().len() <= most);
    }
    assert_eq!(encode(noise, 1_000), Err("cannot be made small enough".into()));
}

#[track_caller]
fn check_refused(bytes: &[u8], expected: &str) {
    let why = decode(bytes).unwrap_err();
    assert!(why.contains(expected), "{why}");
}

#[test]
fn what_cannot_be_shown_is_refused_with_the_reason() {
    let png = file(&sample(40, 20), ImageFormat::Png);
    check_refused(&png[..60], "is a damaged PNG");
    check_refused(b"....ftypheic", "is HEIC");
    check_refused(b"plain text", "no known picture");
    let mut bomb = png;
    // The header says 60,000 × 60,000, and its checksum is right.
    bomb[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
    let crc = crc32(&bomb[12..29]);
    bomb[29..33].copy_from_slice(&crc.to_be_bytes());
    check_refused(&bomb, "60000 × 60000 pixels");
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { (crc >> 1) ^ 0xedb8_8320 } else { crc >> 1 }
        })
    };
    !bytes.iter().fold(!0, step)
}

fn magics() -> impl Strategy<Value = Vec<u8>> {
    prop::sample::select(vec![
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec(),
        b"\xff\xd8\xff\xe0\0\x10JFIF\0".to_vec(),
        b"GIF89a".to_vec(),
        b"RIFF\xff\0\0\0WEBPVP8 ".to_vec(),
        b"RIFF\xff\0\0\0WEBPVP8L".to_vec(),
        b"BM\xff\0\0\0\0\0\0\0\x36\0\0\0\x28\0\0\0".to_vec(),
        b"II*\0\x08\0\0\0".to_vec(),
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn bytes_behind_a_magic_never_panic(magic in magics(), rest in prop::collection::vec(any::<u8>(), 0..400)) {
        let bytes = [magic, rest].concat();
        if let Ok(shown) = decode(&bytes) {
            prop_assert!(shown.width.max(shown.height) <= MAX_SIDE);
            prop_assert!(shown.data.len() <= MAX_PICTURE * 4 / 3 + 4);
        }
    }

    #[test]
    fn damaged_files_never_panic(
        format in prop::sample::select(vec![
            ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Gif, ImageFormat::WebP, ImageFormat::Bmp, ImageFormat::Tiff,
        ]),
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = file(&sample(12, 9), format);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = decode(&bytes);
    }
}

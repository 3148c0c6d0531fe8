use base64::{Engine, engine::general_purpose::STANDARD};
use proptest::prelude::*;

use super::*;

/// A PDF with a page for each content stream.
fn pdf(contents: &[&str]) -> Vec<u8> {
    let kids: Vec<String> = (0..contents.len()).map(|it| format!("{} 0 R", 4 + it * 2)).collect();
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_string(),
        format!("<< /Type /Pages /Kids [{}] /Count {} >>", kids.join(" "), contents.len()),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_string(),
    ];
    for (nth, content) in contents.iter().enumerate() {
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] /Contents {} 0 R \
             /Resources << /Font << /F1 3 0 R >> >> >>",
            5 + nth * 2
        ));
        objects.push(format!("<< /Length {} >>\nstream\n{content}\nendstream", content.len()));
    }
    let mut file = "%PDF-1.4\n".to_string();
    let mut offsets = Vec::new();
    for (nth, object) in objects.iter().enumerate() {
        offsets.push(file.len());
        file.push_str(&format!("{} 0 obj\n{object}\nendobj\n", nth + 1));
    }
    let start = file.len();
    file.push_str(&format!("xref\n0 {}\n0000000000 65535 f \n", objects.len() + 1));
    for offset in offsets {
        file.push_str(&format!("{offset:010} 00000 n \n"));
    }
    let trailer = format!("/Size {} /Root 1 0 R", objects.len() + 1);
    file.push_str(&format!("trailer << {trailer} >>\nstartxref\n{start}\n%%EOF\n"));
    file.into_bytes()
}

fn asked(bytes: Vec<u8>, range: (u32, u32), shown: Shown) -> Vec<Answer> {
    let mut answers = Vec::new();
    pages(bytes, range, shown, |it| answers.push(it));
    answers
}

#[track_caller]
fn check(content: &str, expected: &str) {
    let answers = asked(pdf(&[content]), (1, 1), Shown::Text);
    let page = Page { number: 1, text: expected.into(), picture: None, fault: None };
    assert_eq!(answers, [Answer::Document { pages: 1 }, Answer::Page(page)]);
}

#[test]
fn text_is_put_into_lines_and_words() {
    check("BT /F1 12 Tf 20 150 Td (Hello, world) Tj ET", "Hello, world");
    check("BT /F1 12 Tf 20 150 Td (one) Tj 0 -14 Td (two) Tj ET", "one\ntwo");
    check("BT /F1 12 Tf 20 150 Td (one) Tj 0 -60 Td (two) Tj ET", "one\n\ntwo");
    check("BT /F1 12 Tf 20 150 Td [(one) -600 (two) 20 (three)] TJ ET", "one twothree");
    check("BT /F1 12 Tf 2 Tr 20 150 Td (drawn twice) Tj ET", "drawn twice");
    check("BT /F1 12 Tf 3 Tr 20 150 Td (not drawn) Tj ET", "not drawn");
    check("0 0 100 100 re f", "");
}

#[test]
fn a_page_is_drawn() {
    let answers = asked(pdf(&["1 0 0 rg 0 0 150 200 re f"]), (1, 1), Shown::TextAndPictures);
    let [_, Answer::Page(Page { picture: Some(picture), fault: None, .. })] = answers.as_slice()
    else {
        panic!("{answers:?}");
    };
    assert_eq!((picture.width, picture.height), (750, 500));
    let pixels = image::load_from_memory(&STANDARD.decode(&picture.data).unwrap()).unwrap();
    let pixels = pixels.to_rgb8();
    assert_eq!(pixels.get_pixel(100, 250).0, [255, 0, 0]);
    assert_eq!(pixels.get_pixel(700, 250).0, [255, 255, 255]);
}

#[test]
fn only_the_pages_asked_for_are_told_and_no_more_than_a_call_may_have() {
    let content = "BT /F1 12 Tf 20 150 Td (x) Tj ET";
    let numbers = |range| -> Vec<u32> {
        let answers = asked(pdf(&[content; 30]), range, Shown::Text);
        let number = |it: &Answer| match it {
            Answer::Page(page) => Some(page.number),
            Answer::Document { pages } => {
                assert_eq!(*pages, 30);
                None
            }
            Answer::Picture(_) | Answer::Refused(_) => panic!("{it:?}"),
        };
        answers.iter().filter_map(number).collect()
    };
    assert_eq!(numbers((2, 4)), [2, 3, 4]);
    assert_eq!(numbers((29, 99)), [29, 30]);
    assert_eq!(numbers((1, 30)), (1..=20).collect::<Vec<_>>());
    assert_eq!(numbers((31, 40)), Vec::<u32>::new());
    assert_eq!(numbers((0, u32::MAX)).len(), 20);
}

#[track_caller]
fn check_refused(bytes: &[u8], expected: &str) {
    match asked(bytes.to_vec(), (1, 1), Shown::TextAndPictures).as_slice() {
        [Answer::Refused(why)] => assert!(why.contains(expected), "{why}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_is_no_document_is_refused_with_the_reason() {
    check_refused(b"%PDF-1.4\nnothing of the kind", "damaged PDF");
    check_refused(b"", "damaged PDF");
    let file = String::from_utf8(pdf(&[""])).unwrap();
    let key = "0".repeat(64);
    let locked = file.replace(
        "/Root 1 0 R",
        &format!(
            "/Root 1 0 R /ID [<00> <00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{key}> /U <{key}> >>"
        ),
    );
    check_refused(locked.as_bytes(), "password");
}

#[test]
fn a_page_of_endless_text_is_cut_and_says_so() {
    let content = format!("BT /F1 1 Tf 20 150 Td {} ET", "(0123456789) Tj ".repeat(20_000));
    match asked(pdf(&[&content]), (1, 1), Shown::Text).as_slice() {
        [_, Answer::Page(page)] => {
            assert!(page.text.len() <= crate::MAX_PAGE_TEXT);
            assert!(
                page.fault.as_deref().is_some_and(|it| it.contains("longer")),
                "{:?}",
                page.fault
            );
        }
        other => panic!("{other:?}"),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn damaged_documents_never_panic_and_stay_bounded(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = pdf(&["BT /F1 12 Tf 20 150 Td (Hello) Tj ET 1 0 0 rg 0 0 9 9 re f", "q 2 0 0 2 0 0 cm Q"]);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        bytes.truncate(cut.index(bytes.len() * 2));
        for answer in asked(bytes, (1, 20), Shown::TextAndPictures) {
            if let Answer::Page(Page { text, picture: Some(picture), .. }) = answer {
                prop_assert!(text.len() <= crate::MAX_PAGE_TEXT);
                prop_assert!(picture.width.max(picture.height) <= crate::MAX_SIDE);
            }
        }
    }

    #[test]
    fn bytes_behind_the_magic_never_panic(rest in prop::collection::vec(any::<u8>(), 0..600)) {
        asked([b"%PDF-1.7\n".to_vec(), rest].concat(), (1, 20), Shown::Text);
    }
}

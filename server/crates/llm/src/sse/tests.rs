use proptest::prelude::*;

use super::{Sse, TooLong};

fn parse(chunks: &[&[u8]]) -> Vec<(String, String)> {
    let mut sse = Sse::default();
    let mut events = Vec::new();
    let mut on = |name: &str, data: &[u8]| {
        events.push((name.to_owned(), String::from_utf8(data.to_vec()).unwrap()))
    };
    for chunk in chunks {
        sse.push(chunk, &mut on).unwrap();
    }
    sse.finish(&mut on).unwrap();
    events
}

#[track_caller]
fn check(input: &str, expected: &[(&str, &str)]) {
    let events = parse(&[input.as_bytes()]);
    let events: Vec<(&str, &str)> =
        events.iter().map(|(name, data)| (name.as_str(), data.as_str())).collect();
    assert_eq!(events, expected, "{input:?}");
}

#[test]
fn the_format() {
    check("data: a\n\ndata: b\n\n", &[("", "a"), ("", "b")]);
    check("data: a\r\n\r\ndata: b\r\rdata:c\n\r\n", &[("", "a"), ("", "b"), ("", "c")]);
    check("event: x\ndata: a\n\ndata: b\n\n", &[("x", "a"), ("", "b")]);
    check("data: a\ndata:  b\ndata\ndata: c\n\n", &[("", "a\n b\n\nc")]);
    check(": comment\nid: 1\nretry: 5\nunknown: x\ndata: a\n\n", &[("", "a")]);
    check("\u{feff}data: a\n\n", &[("", "a")]);
    check("data: \u{feff}é😀\n\n", &[("", "\u{feff}é😀")]);
    check("event: x\n\ndata: a\n\n", &[("", "a")]);
    check("data:\n\n: \n\n\n", &[]);
    check("data: no empty line at the end", &[("", "no empty line at the end")]);
    check("data: a:b: c\n\n", &[("", "a:b: c")]);
}

#[test]
fn events_have_a_limit() {
    let mut sse = Sse::with_limit(100);
    let mut count = 0;
    for _ in 0..10 {
        let event = format!("data: {}\n\n", "x".repeat(80));
        sse.push(event.as_bytes(), &mut |_, _| count += 1).unwrap();
    }
    assert_eq!(count, 10, "the limit is for each event");
    assert_eq!(Sse::with_limit(100).push(&[b'x'; 101], &mut |_, _| ()), Err(TooLong));
    let mut sse = Sse::with_limit(100);
    let line = b"data: xxxxxxxxxxxxxxxxxxxx\n";
    assert_eq!((0..10).try_for_each(|_| sse.push(line, &mut |_, _| ())), Err(TooLong));
}

#[test]
fn a_large_event_in_small_chunks_is_whole() {
    let data = "0123456789abcdef".repeat(4 << 16);
    let text = format!("data: {data}\n\n");
    let chunks: Vec<&[u8]> = text.as_bytes().chunks(1_400).collect();
    assert!(parse(&chunks) == [(String::new(), data)]);
}

/// Lines of every kind, glued by every kind of line end.
fn stream() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "(data|event|id|:)?:? ?[a-zé😀: ]{0,8}",
        Just(String::new()),
        "data: [a-z€]{0,12}",
        "[\\PC]{0,6}",
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r"), Just("\n\n")];
    prop::collection::vec((line, end), 0..24)
        .prop_map(|lines| lines.into_iter().map(|(line, end)| line + end).collect())
}

proptest! {
    #[test]
    fn chunks_make_no_difference(text in stream(), cuts in prop::collection::vec(0usize..400, 0..12)) {
        let bytes = text.as_bytes();
        let whole = parse(&[bytes]);
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        prop_assert_eq!(&parse(&single), &whole);
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut <= bytes.len()).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks: Vec<&[u8]> = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
        prop_assert_eq!(&parse(&chunks), &whole);
        // A plain reading of the standard gives the same.
        prop_assert_eq!(&plain(&text), &whole);
    }

    #[test]
    fn any_bytes_are_survived(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut sse = Sse::default();
        let mut count = 0;
        sse.push(&bytes, &mut |_, _| count += 1).unwrap();
        sse.finish(&mut |_, _| count += 1).unwrap();
        prop_assert!(count <= bytes.len());
    }
}

fn plain(text: &str) -> Vec<(String, String)> {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (mut name, mut data, mut events) = (String::new(), Vec::new(), Vec::new());
    for line in text.split('\n').chain([""]) {
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            _ if line.is_empty() => {
                let whole = std::mem::take(&mut data).join("\n");
                if !whole.is_empty() {
                    events.push((name.clone(), whole));
                }
                name.clear();
            }
            "data" => data.push(value.to_owned()),
            "event" => name = value.to_owned(),
            _ => {}
        }
    }
    events
}

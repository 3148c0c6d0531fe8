use proptest::prelude::*;
use serde_json::json;

use super::*;

#[track_caller]
fn check(output: Value, text: Option<&str>, picture: Option<&str>) {
    let (told, shown) = read_output(&output);
    let shown = shown.map(|(media_type, data)| format!("{media_type} {data}"));
    assert_eq!((told.as_deref(), shown.as_deref()), (text, picture), "{output}");
}

#[test]
fn outputs_are_text_pictures_or_named() {
    let stream = |text: Value| json!({ "output_type": "stream", "name": "stdout", "text": text });
    check(stream(json!(["a\n", "b\n"])), Some("a\nb"), None);
    check(stream(json!("1%\r2%\n\u{1b}[1mx\u{1b}[0m")), Some("2%\nx"), None);
    check(stream(json!(7)), Some(""), None);
    let error = json!({ "output_type": "error", "ename": "E", "evalue": "v", "traceback": ["t"] });
    check(error, Some("t\nE: v"), None);
    let data = |data: Value| json!({ "output_type": "display_data", "data": data });
    check(data(json!({ "text/plain": ["2"], "text/html": "<b>2" })), Some("2"), None);
    check(data(json!({ "application/json": { "a": 1 } })), Some("{\"a\":1}"), None);
    check(data(json!({ "text/html": "<b>" })), Some("[text/html]"), None);
    let picture = data(json!({ "image/png": "QUJD\nREVG\n", "text/plain": "<Figure>" }));
    check(picture, Some("<Figure>"), Some("image/png QUJDREVG"));
    check(json!(null), Some("[]"), None);
}

#[test]
fn long_outputs_keep_head_and_tail() {
    assert_eq!(middle_cut("short"), "short");
    let cut = middle_cut(&format!("head{}tail", "x".repeat(9_000)));
    assert!(
        cut.starts_with("head")
            && cut.ends_with("tail")
            && cut.contains("7008 characters left out")
    );
}

#[test]
fn a_long_source_is_cut_at_the_ends_of_lines() {
    let lines: String = (0..20_000).map(|at| format!("é line {at}\n")).collect();
    let cut = parts(&lines);
    assert!(cut.iter().all(|part| part.ends_with('\n') && part.chars().count() <= PART));
    assert_eq!((cut.concat(), cut.len()), (lines, 5));
    let line = "日".repeat(2 * PART + 1);
    let cut: Vec<usize> = parts(&line).iter().map(|part| part.chars().count()).collect();
    assert_eq!(cut, [PART, PART, 1]);
    assert_eq!(parts("a\nb"), ["a\nb"]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn damaged_notebooks_never_panic(
        damage in prop::collection::vec((any::<prop::sample::Index>(), any::<char>()), 0..6),
    ) {
        let whole = json!({
            "cells": [
                { "cell_type": "code", "id": "a", "execution_count": 1, "source": ["é\n", "b"],
                  "outputs": [{ "output_type": "stream", "text": ["x"] }, { "data": { "image/png": "AA==" } }] },
                { "cell_type": "markdown", "source": "x" },
            ],
            "metadata": {}, "nbformat": 4, "nbformat_minor": 5,
        });
        let mut text: Vec<char> = whole.to_string().chars().collect();
        for (at, char) in damage {
            let at = at.index(text.len());
            text[at] = char;
        }
        let text: String = text.into_iter().collect();
        for cell in in_file(&text).unwrap_or_default() {
            for output in &cell.outputs {
                let (told, _) = read_output(output);
                prop_assert!(middle_cut(&told.unwrap_or_default()).chars().count() < OUTPUT + 100);
            }
        }
    }
}

#[test]
fn a_notebook_with_something_that_is_no_cell_is_no_notebook() {
    for broken in [json!(null), json!(7), json!({ "cell_type": "code" })] {
        let cell = json!({ "cell_type": "code", "id": "a", "source": "x", "outputs": [] });
        let text = json!({ "cells": [cell, broken], "nbformat": 4, "nbformat_minor": 5 });
        let read = in_file(&text.to_string()).map(|it| it.len());
        assert_eq!(read, Err("its cell number 2 is no cell with a source".into()));
    }
}

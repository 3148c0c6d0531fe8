//! Whatever is asked, and whatever lies in the tree: an answer or a short refusal, and never a panic.

use super::*;

/// Bytes of files of rules: mostly what means something in one.
fn rules() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        8 => prop::sample::select(b"*?[]{}!\\/#,-^ \n\r.ab".to_vec()),
        1 => any::<u8>(),
    ];
    prop::collection::vec(byte, 0..60)
}

/// Text of questions: mostly what means something in a pattern or a glob.
fn question() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => prop::sample::select(
            vec!["*", "?", "[", "]", "{", "}", "(", ")", "|", "\\", "/", "..", "~", "!", "^", "$", ",", "-", "+", "a", "b",
                 "**", "(?", "\\b", "\\p{", "[[:", "{1,9}", "&&", "\n", "\r", "\0", " ", "é", "\u{FEFF}"],
        ).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

#[track_caller]
fn check<T: std::fmt::Debug>(
    answer: Result<T, QueryError>,
    about: impl std::fmt::Debug,
) -> Option<T> {
    match answer {
        Ok(found) => Some(found),
        Err(error) => {
            let told = error.to_string();
            assert!(told.len() < 2_000 && !told.contains('\n'), "{about:?}: {told}");
            None
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn any_question_of_any_tree_is_answered(
        at_root in rules(),
        below in rules(),
        content in prop::collection::vec(any::<u8>(), 0..80),
        text in question(),
        globs in prop::collection::vec(question(), 1..3),
        flags in any::<[bool; 4]>(),
    ) {
        let [ignore_case, literal, multiline, include_ignored] = flags;
        let case = case(&[("a.txt", "a b\nab\n"), ("sub/b.txt", "é\nb"), ("sub/c", "")]);
        fs::write(case.path(".gitignore"), at_root).unwrap();
        fs::write(case.path("sub/.ignore"), below).unwrap();
        fs::write(case.path("sub/c"), content).unwrap();
        case.open("sub/unborn", "a\n");
        for mode in [GrepMode::Lines, GrepMode::Files, GrepMode::Count] {
            let query = case.with(&text, |query| {
                query.pattern = GrepPattern { text: text.clone(), literal, ignore_case, multiline };
                query.scope.globs = globs.clone();
                query.scope.include_ignored = include_ignored;
                query.mode = mode;
                (query.before, query.after) = (1, 1);
            });
            check(case.vfs.grep(&query, &|| false), &query.pattern);
        }
        let typed = case.with("a", |query| query.scope.types = globs.clone());
        check(case.vfs.grep(&typed, &|| false), &globs);
        let query = GlobQuery {
            patterns: globs.clone(),
            root: case.folder.path().to_owned(),
            include_dirs: true,
            include_ignored,
            ..GlobQuery::default()
        };
        if let Some(found) = check(case.vfs.glob(&query, &|| false), &globs) {
            for hit in &found.hits {
                let path = hit.location.path().unwrap();
                assert!(path.exists() || path.ends_with("unborn"), "{path:?} was made up");
            }
        }
        let query = TreeQuery {
            root: case.folder.path().to_owned(),
            depth: 3,
            ignore: globs.clone(),
            limit: 0,
            visibility: Visibility::default(),
        };
        check(case.vfs.tree(&query, &|| false), &globs);
    }
}

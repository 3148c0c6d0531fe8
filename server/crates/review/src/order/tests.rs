use super::{Passing, in_order};

/// Steps as `from>to`, either of which may be missing.
#[track_caller]
fn check(steps: &str, expected: &str) {
    let names = |it: &str| if it.is_empty() { Vec::new() } else { vec![it.to_owned()] };
    let parse = |step: &str| {
        let (from, to) = step.split_once('>').unwrap();
        (step.to_owned(), Passing { frees: names(from), takes: names(to) })
    };
    let above = |name: &String| {
        let ends = name.match_indices('/').map(|(at, _)| name[..at].to_owned());
        ends.collect::<Vec<_>>()
    };
    let steps = steps.split_whitespace().map(parse).collect();
    assert_eq!(in_order(steps, above).join(" "), expected);
}

#[test]
fn a_name_is_taken_once_it_is_free() {
    check("> a> >b", "> a> >b");
    check(">a a>", "a> >a");
    check("c>b b>a a>", "a> b>a c>b");
    check("b>a >b a>c", "a>c b>a >b");
    check(">d d/x> d/y>", "d/x> d/y> >d");
    check(">d/e/x d>", "d> >d/e/x");
    check("d>x >d/y", "d>x >d/y");
    check("a>a b>b", "a>a b>b");
}

#[test]
fn those_that_wait_for_each_other_come_last() {
    check("a>b b>a >c", ">c a>b b>a");
}

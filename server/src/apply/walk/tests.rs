use text::{ChangeSet, Rope};
use vfs::{Extras, Image};

use super::*;

fn text(text: &str) -> State {
    State::Text(Rope::from_str(text), None)
}

fn image(blob: [u8; 32], mode: u32) -> Image {
    Image::File { blob, mode, extras: Extras::default() }
}

/// A file with this text; its bytes are called by its first one.
fn file(content: &str, mode: u32) -> State {
    let blob = [content.bytes().next().unwrap_or_default(); 32];
    State::Text(Rope::from_str(content), Some(image(blob, mode)))
}

fn binary(name: u8) -> State {
    State::Opaque(image([name; 32], 0o644))
}

fn link(before: State, after: State) -> Link {
    Link { before, after, wanted: None }
}

#[track_caller]
fn check(now: State, links: &[Link], target: State, reason: Option<&str>) {
    let walked = walk(&now, links, &[]);
    assert_eq!(walked.target, target);
    assert_eq!(walked.reason, reason);
    if let (Some(now), Some(target)) = (now.text(), target.text())
        && walked.changes.len_before() == now.len_bytes()
    {
        assert_eq!(walked.changes.apply(now), *target);
    }
}

#[test]
fn steps_are_taken_back_one_after_the_other() {
    let links = [link(text("a\nB\n"), text("a\nC\n")), link(text("a\nb\n"), text("a\nB\n"))];
    check(text("a\nC\n"), &links, text("a\nb\n"), None);
    check(text("mine\na\nC\n"), &links, text("mine\na\nb\n"), None);
    check(text("a\nb\n"), &links, text("a\nb\n"), None);
    check(text("a\nC\nmore\n"), &links, text("a\nb\nmore\n"), None);
}

#[test]
fn files_come_back_with_their_own_bytes_and_mode() {
    let step = link(file("old", 0o755), file("new", 0o644));
    check(file("new", 0o644), std::slice::from_ref(&step), file("old", 0o755), None);
    // A change of the mode alone.
    let step = link(file("same", 0o644), file("same", 0o755));
    check(file("same", 0o755), std::slice::from_ref(&step), file("same", 0o644), None);
    // The person's own change of mode stays where the agent's changed none.
    let step = link(file("old", 0o644), file("new", 0o644));
    check(file("new", 0o600), std::slice::from_ref(&step), file("old", 0o600), None);
    // What was changed since comes back as text only.
    check(file("xnew", 0o644), std::slice::from_ref(&step), text("xold"), None);
    check(binary(2), &[link(binary(1), binary(2))], binary(1), None);
    check(binary(3), &[link(binary(1), binary(2))], binary(3), Some(NO_TEXT));
}

#[test]
fn files_that_came_go_and_files_that_went_come_back() {
    let made = [link(State::Absent, file("made", 0o644))];
    check(file("made", 0o644), &made, State::Absent, None);
    check(State::Absent, &made, State::Absent, None);
    check(text("made and more"), &made, text("made and more"), Some(MADE_AND_CHANGED));
    let gone = [link(file("old", 0o755), State::Absent)];
    check(State::Absent, &gone, file("old", 0o755), None);
    check(file("another", 0o644), &gone, file("another", 0o644), Some(ANOTHER));
    check(file("old", 0o755), &gone, file("old", 0o755), None);
    check(State::Absent, &[link(text("a"), text("b"))], State::Absent, Some(DELETED));
    let both = [link(file("old", 0o644), State::Absent), link(State::Absent, file("old", 0o644))];
    check(State::Absent, &both, State::Absent, None);
}

#[test]
fn what_is_not_kept_any_more_is_said_and_newer_steps_are_taken_back() {
    let lost = State::Unknown(None);
    let links = [link(text("b"), text("c")), link(lost.clone(), text("b"))];
    check(text("c"), &links, text("b"), Some(DROPPED));
    check(text("c"), &[link(lost.clone(), lost)], text("c"), Some(DROPPED));
    // By its name it is known that nothing is to be done.
    let named = State::Unknown(Some(image([b'o'; 32], 0o644)));
    check(file("old", 0o644), &[link(named, file("new", 0o644))], file("old", 0o644), None);
}

#[test]
fn what_was_written_inside_a_change_stays() {
    let links = [link(text("one\ntwo\n"), text("ONE ONE\ntwo\n"))];
    check(text("ONE - ONE\ntwo\n"), &links, text("ONE - ONE\ntwo\n"), Some(WRITTEN_OVER));
}

#[test]
fn the_very_place_of_a_step_is_used_where_it_is_known() {
    let before = Rope::from_str("a\na\na\n");
    let edit = text::Edit::new(2..4, "");
    let forward = ChangeSet::new(6, vec![edit]).unwrap();
    let known = Link {
        before: State::Text(before.clone(), None),
        after: State::Text(forward.apply(&before), None),
        wanted: Some(forward.invert(&before)),
    };
    let walked = walk(&text("a\na\n"), &[known], &[]);
    assert_eq!(walked.changes.edits(), [text::Edit::new(2..2, "a\n")]);
}

#[test]
fn what_another_agent_made_of_a_place_stays_with_it() {
    let steps = [
        link(text("one\n\u{20}x\n"), text("ONE\n\u{20}x\n")),
        link(text("one\n"), text("one\n x\n")),
    ];
    let now = text("ONE and more\n x\n");
    let others = std::slice::from_ref(&(3..12));
    let walked = walk(&now, &steps, others);
    assert_eq!(walked.target, text("ONE and more\n"));
    assert_eq!(walked.reason, Some(BY_ANOTHER));
    let walked = walk(&now, &steps, &[]);
    assert_eq!((walked.target, walked.reason), (text("one and more\n"), None));
}

//! Keeps what is told of a file's hunks within a size.
//!
//! Invariant: what was left out is said, in `_meta.copydesk`: `cut` on a hunk whose texts are only
//! their beginnings, `omitted` on a file with more hunks. `copydesk/review/list` with the file's
//! `uri` has all of it.

use protocol::{Hunk, Meta, ReviewFile};
use serde_json::{Map, Value, json};

/// Bytes of a text that was cut.
const CUT: usize = 2_000;
/// What a file's name and the rest of it takes at most, beside its hunks.
const ENVELOPE: usize = 1_024;

/// The file within `room` bytes of JSON, and the bytes it takes.
pub fn fit(mut file: ReviewFile, room: usize) -> (ReviewFile, usize) {
    let envelope = ENVELOPE + 2 * file.uri.len() + file.old_uri.as_ref().map_or(0, String::len);
    let whole: usize = file.hunks.iter().map(size).sum();
    if envelope + whole <= room {
        return (file, envelope + whole);
    }
    file.hunks.iter_mut().for_each(cut);
    let mut taken = envelope;
    let fits = file.hunks.iter().take_while(|hunk| {
        taken += size(hunk);
        taken <= room
    });
    let kept = fits.count();
    let omitted = file.hunks.len() - kept;
    file.hunks.truncate(kept);
    if omitted > 0 {
        file.meta = Some(meta("omitted", omitted.into()));
    }
    (file, taken)
}

fn size(hunk: &Hunk) -> usize {
    serde_json::to_vec(hunk).map_or(0, |it| it.len() + 1)
}

fn cut(hunk: &mut Hunk) {
    let long = [&hunk.old_text, &hunk.new_text].iter().any(|it| it.len() > CUT);
    if long {
        for text in [&mut hunk.old_text, &mut hunk.new_text] {
            let end = (0..=CUT.min(text.len())).rfind(|at| text.is_char_boundary(*at));
            text.truncate(end.unwrap_or_default());
        }
        hunk.meta = Some(meta("cut", true.into()));
    }
}

fn meta(key: &str, value: Value) -> Meta {
    Map::from_iter([("copydesk".to_owned(), json!({ key: value }))])
}

#[cfg(test)]
mod tests {
    use protocol::{Position, Range};

    use super::*;

    fn file(hunks: usize, text: &str) -> ReviewFile {
        let place = Position { line: 0, character: 0 };
        let range = Range { start: place, end: place };
        let hunk = |n: usize| Hunk {
            hunk_id: format!("hunk-{n}"),
            uri: "file:///a".to_owned(),
            version: None,
            base_range: range,
            range,
            old_text: String::new(),
            new_text: text.to_owned(),
            state: "pending".to_owned(),
            author: "agent".to_owned(),
            session_id: "s".to_owned(),
            tool_call_ids: Vec::new(),
            meta: None,
        };
        ReviewFile {
            uri: "file:///a".to_owned(),
            change: "modify".to_owned(),
            old_uri: None,
            version: None,
            hunks: (0..hunks).map(hunk).collect(),
            meta: None,
        }
    }

    #[track_caller]
    fn check(hunks: usize, text: &str, kept: usize) {
        let room = 40_000;
        let (fitted, size) = fit(file(hunks, text), room);
        assert_eq!(fitted.hunks.len(), kept);
        assert!(serde_json::to_vec(&fitted).unwrap().len() <= size.min(room));
        assert!(fitted.hunks.iter().all(|it| it.meta.is_some() == (text.len() > CUT)));
        let omitted = fitted.meta.map(|it| it["copydesk"]["omitted"].clone());
        assert_eq!(omitted, (kept < hunks).then(|| json!(hunks - kept)));
    }

    #[test]
    fn what_does_not_fit_is_cut_then_left_out_and_both_are_said() {
        check(3, "short", 3);
        check(3, &"é\n".repeat(20_000), 3);
        check(100, &"é\n".repeat(20_000), 12);
        check(1_000, "short", 127);
    }
}

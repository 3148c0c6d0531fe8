//! The blocks a card shows, within what one notification may carry.

use std::path::{Path, PathBuf};

use protocol::acp::{
    ContentBlock, Diff, DiffChange, ImageContent, Meta, Terminal, ToolCallContent, ToolCallLocation,
};
use serde_json::json;
use text::{ChangeSet, Rope};
use vfs::Location;

use crate::bounds;
use crate::tool::Content;

/// Bytes of one text or diff on a card, as JSON.
const BLOCK: usize = 24_000;
/// Bytes of all of them.
const BLOCKS: usize = 40_000;

/// Places as the wire wants them: an absolute path, with the URI beside it where there is no file.
pub fn locations(places: &[(Location, Option<u32>)]) -> Vec<ToolCallLocation> {
    places
        .iter()
        .map(|(location, line)| {
            let place = ToolCallLocation::new(display_path(location)).line(*line);
            match location {
                Location::Disk(_) => place,
                Location::Virtual(uri) => place.meta(uri_meta(uri)),
            }
        })
        .collect()
}

/// What the model reads, as blocks.
pub fn of_content(content: &[Content]) -> Vec<ToolCallContent> {
    content
        .iter()
        .map(|it| match it {
            Content::Text(text) => {
                ToolCallContent::from(ContentBlock::from(bounds::fitting(text, BLOCK)))
            }
            Content::Image { media_type, data } => {
                let image = ImageContent::new(data.clone(), media_type.clone());
                ToolCallContent::from(ContentBlock::Image(image))
            }
            // Clients have no block for it.
            Content::Video { media_type, .. } => {
                ToolCallContent::from(ContentBlock::from(format!("(a video, {media_type})")))
            }
        })
        .collect()
}

/// What happened to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// It is new.
    Add,
    /// It changed.
    Modify,
    /// It is gone.
    Delete,
    /// It came from elsewhere, and perhaps changed.
    Move { from: Location },
}

/// One file's diff as a block.
pub fn diff(
    location: &Location,
    operation: Operation,
    before: &Rope,
    after: &Rope,
    changes: &ChangeSet,
) -> ToolCallContent {
    let path = display_path(location);
    let name = path.display().to_string();
    let name = name.trim_start_matches('/');
    let git = |old, new| text::diff::git_patch(old, new, before, after, changes);
    let (patch, change) = match operation {
        Operation::Add => (git(None, Some(name)), DiffChange::add(path)),
        Operation::Modify => (git(Some(name), Some(name)), DiffChange::modify(path)),
        Operation::Delete => (git(Some(name), None), DiffChange::delete(path)),
        Operation::Move { from } => {
            let from = display_path(&from);
            let old = from.display().to_string();
            let patch = git(Some(old.trim_start_matches('/')), Some(name));
            (patch, DiffChange::move_file(from, path))
        }
    };
    let change = match location {
        Location::Disk(_) => change,
        Location::Virtual(uri) => change.meta(uri_meta(uri)),
    };
    ToolCallContent::Diff(Diff::patch(cut_patch(&patch), vec![change]))
}

/// A live terminal as a block.
pub fn terminal(id: &str) -> ToolCallContent {
    ToolCallContent::Terminal(Terminal::new(id.to_string()))
}

/// Blocks that fit one notification; what does not is counted.
pub fn bounded(blocks: Vec<ToolCallContent>) -> Vec<ToolCallContent> {
    let mut room = BLOCKS;
    let total = blocks.len();
    let mut kept = Vec::new();
    for block in blocks {
        let size = serde_json::to_string(&block).map_or(0, |it| it.len());
        let image = matches!(&block, ToolCallContent::Content(it) if matches!(it.content, ContentBlock::Image(_)));
        if !image && room < size {
            let text = format!("({} more blocks are not shown here)", total - kept.len());
            kept.push(ToolCallContent::from(ContentBlock::from(text)));
            break;
        }
        room = room.saturating_sub(if image { 0 } else { size });
        kept.push(block);
    }
    kept
}

/// A path to show for anything: the file's own, or one made of the document's name.
pub fn display_path(location: &Location) -> PathBuf {
    match location {
        // A name that is no UTF-8 would keep the whole message from being written.
        Location::Disk(path) => PathBuf::from(path.to_string_lossy().into_owned()),
        Location::Virtual(uri) => {
            let name = uri.split_once(':').map_or(uri.as_str(), |(_, rest)| rest);
            Path::new("/").join(name.trim_start_matches('/'))
        }
    }
}

fn uri_meta(uri: &str) -> Meta {
    let mut meta = Meta::new();
    meta.insert("copydesk".into(), json!({ "uri": uri }));
    meta
}

fn cut_patch(patch: &str) -> String {
    let cut = bounds::json_cut(patch, BLOCK);
    if cut == patch.len() {
        return patch.to_string();
    }
    // Whole lines only.
    let kept = patch[..cut].rfind('\n').map_or(0, |it| it + 1);
    let left = patch[kept..].lines().count();
    format!("{}\\ {left} more lines of this diff are not shown\n", &patch[..kept])
}

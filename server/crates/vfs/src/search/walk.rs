//! walk
#[derive(Default)]
pub(crate) struct FileLists;

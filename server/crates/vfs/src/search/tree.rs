//! tree
use super::{QueryError, TreeQuery, TreeResult};
use crate::store::Vfs;
pub(super) fn run(
    _vfs: &Vfs,
    _query: &TreeQuery,
    _cancelled: &dyn Fn() -> bool,
) -> Result<TreeResult, QueryError> {
    Ok(TreeResult::default())
}

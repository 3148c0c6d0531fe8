//! One lock a document, so that two transactions on one document queue.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OwnedMutexGuard;
use vfs::Location;

/// Locks by document.
#[derive(Default)]
pub struct Locks(Mutex<HashMap<Location, Arc<tokio::sync::Mutex<()>>>>);

impl Locks {
    /// Waits for all of them. They are taken in one order, so that no two callers wait for each
    /// other.
    pub async fn take(
        &self,
        locations: impl IntoIterator<Item = &Location>,
    ) -> Vec<OwnedMutexGuard<()>> {
        let mut wanted: Vec<&Location> = locations.into_iter().collect();
        wanted.sort();
        wanted.dedup();
        let mut guards = Vec::with_capacity(wanted.len());
        for location in wanted {
            let lock = self.of(location);
            guards.push(lock.lock_owned().await);
        }
        guards
    }

    fn of(&self, location: &Location) -> Arc<tokio::sync::Mutex<()>> {
        let mut locks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        locks.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(locks.entry(location.clone()).or_default())
    }
}

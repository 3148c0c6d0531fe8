//! A patch in parts: operations that share a file, or a folder that would be a file, belong together;
//! the others do not depend on each other.

use std::path::{Path, PathBuf};

use text::patch::{Operation, Patch};

use crate::place::Place;
use crate::tools::apply_patch::paths;

/// Operations that apply together or not at all, in the order of the patch.
pub struct Group {
    /// Where its files are and really lie.
    places: Vec<PathBuf>,
    /// The operations, each with its place in the patch.
    operations: Vec<(usize, Operation)>,
}

impl Group {
    /// The group as a patch of its own.
    pub fn patch(&self) -> Patch {
        let operations = self.operations.iter().map(|(_, it)| it.clone()).collect();
        Patch { operations, notes: Vec::new() }
    }

    fn touches(&self, other: &[PathBuf]) -> bool {
        let overlap = |a: &Path, b: &Path| a.starts_with(b) || b.starts_with(a);
        self.places.iter().any(|it| other.iter().any(|other| overlap(it, other)))
    }
}

/// The groups of a patch, in the order of their first operations.
pub fn of(place: &Place, patch: &Patch) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for (nth, operation) in patch.operations.iter().enumerate() {
        let places: Vec<PathBuf> = paths(std::slice::from_ref(operation))
            .into_iter()
            .flat_map(|it| places(place, it))
            .collect();
        let mut group = Group { places, operations: vec![(nth, operation.clone())] };
        let (touched, rest) = groups.into_iter().partition(|it| it.touches(&group.places));
        let touched: Vec<Group> = touched;
        for other in touched {
            group.places.extend(other.places);
            group.operations.extend(other.operations);
        }
        group.operations.sort_by_key(|(nth, _)| *nth);
        groups = rest;
        groups.push(group);
    }
    groups.sort_by_key(|it| it.operations.first().map(|(nth, _)| *nth));
    groups
}

/// The path and what it leads to; a path that names no place stands for itself.
fn places(place: &Place, path: &str) -> Vec<PathBuf> {
    let Ok(target) = place.target(path) else { return vec![PathBuf::from(path)] };
    match target.location.path() {
        Some(path) => vec![path.to_path_buf(), place.vfs.real_path(path)],
        None => vec![PathBuf::from(target.location.to_string())],
    }
}

//! The order in which steps can be taken that make names free and take others.
//!
//! Invariant: a name is taken after whoever has it, or has a name above or below it, has gone. Steps
//! that nothing binds stay in the order they came in.

use std::collections::{BTreeMap, BTreeSet};

/// What a step does to names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passing<F> {
    /// Names that nothing has afterwards.
    pub frees: Vec<F>,
    /// Names that have to be free before.
    pub takes: Vec<F>,
}

impl<F> Default for Passing<F> {
    fn default() -> Passing<F> {
        Passing { frees: Vec::new(), takes: Vec::new() }
    }
}

/// Puts steps in order. `above` gives the folders that a name is in. Steps that wait for each other
/// come last.
pub fn in_order<F: Ord + Clone, T>(
    steps: Vec<(T, Passing<F>)>,
    above: impl Fn(&F) -> Vec<F>,
) -> Vec<T> {
    let mut waiting = waiting(&steps, above);
    let mut ready: BTreeSet<usize> =
        (0..steps.len()).filter(|at| !waiting.for_whom.contains_key(at)).collect();
    let mut left: BTreeMap<usize, T> =
        steps.into_iter().map(|(step, _)| step).enumerate().collect();
    let mut ordered = Vec::with_capacity(left.len());
    while let Some(at) = ready.pop_first() {
        ordered.extend(left.remove(&at));
        for next in waiting.who.remove(&at).into_iter().flatten() {
            if let Some(count) = waiting.for_whom.get_mut(&next) {
                *count -= 1;
                if *count == 0 {
                    ready.insert(next);
                }
            }
        }
    }
    ordered.extend(left.into_values());
    ordered
}

struct Waiting {
    /// By step, those that wait for it.
    who: BTreeMap<usize, BTreeSet<usize>>,
    /// By step, how many it waits for; at least one.
    for_whom: BTreeMap<usize, usize>,
}

fn waiting<F: Ord + Clone, T>(steps: &[(T, Passing<F>)], above: impl Fn(&F) -> Vec<F>) -> Waiting {
    let mut freed: BTreeMap<F, BTreeSet<usize>> = BTreeMap::new();
    let mut freed_below: BTreeMap<F, BTreeSet<usize>> = BTreeMap::new();
    for (at, (_, passing)) in steps.iter().enumerate() {
        for name in &passing.frees {
            freed.entry(name.clone()).or_default().insert(at);
            for folder in above(name) {
                freed_below.entry(folder).or_default().insert(at);
            }
        }
    }
    let mut waiting = Waiting { who: BTreeMap::new(), for_whom: BTreeMap::new() };
    for (at, (_, passing)) in steps.iter().enumerate() {
        let mut others = BTreeSet::new();
        for name in &passing.takes {
            others.extend(freed_below.get(name).into_iter().flatten().copied());
            let names = std::iter::once(name.clone()).chain(above(name));
            names.filter_map(|it| freed.get(&it)).for_each(|it| others.extend(it));
        }
        others.remove(&at);
        for other in &others {
            waiting.who.entry(*other).or_default().insert(at);
        }
        if !others.is_empty() {
            waiting.for_whom.insert(at, others.len());
        }
    }
    waiting
}

#[cfg(test)]
mod tests;

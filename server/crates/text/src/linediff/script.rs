//! The script between two long lists of numbered lines, of bounded work: short ones by Myers' algorithm as it
//! is, long ones between the lines that stand once in both.
//!
//! Invariant: what comes out follows from the two lists alone, never from the time it takes.

use super::Block;
use similar::{Algorithm, DiffTag};
use std::collections::HashMap;
use std::ops::Range;

/// Lines of both sides together that are compared by Myers' algorithm, at about 3 µs each where they are
/// alike and in another order.
const BUDGET: usize = 40_000;

/// Lines that are known together where no single one is.
const WINDOW: usize = 16;

/// The blocks in which two lists differ, in order; none of them touch.
pub(super) fn blocks(old: &[u32], new: &[u32]) -> Vec<Block> {
    let mut script = Script { old, new, left: BUDGET, blocks: Vec::new() };
    script.part(0..old.len(), 0..new.len(), &[Anchors::Lines, Anchors::Windows]);
    script.blocks
}

/// What is taken for the same place in both lists.
#[derive(Clone, Copy)]
enum Anchors {
    Lines,
    Windows,
}

struct Script<'a> {
    old: &'a [u32],
    new: &'a [u32],
    /// Of the budget.
    left: usize,
    blocks: Vec<Block>,
}

impl Script<'_> {
    fn part(&mut self, old: Range<usize>, new: Range<usize>, anchors: &[Anchors]) {
        let (old, new) = self.trimmed(old, new);
        let lines = old.len() + new.len();
        if old.is_empty() || new.is_empty() || lines == 2 {
            self.push(old, new);
        } else if lines <= self.left {
            self.left -= lines;
            self.myers(old, new);
        } else if let Some((first, rest)) = anchors.split_first() {
            let (mut at, mut to) = (old.start, new.start);
            for (here, there) in self.anchored(&old, &new, *first) {
                self.part(at..here, to..there, rest);
                (at, to) = (here + 1, there + 1);
            }
            self.part(at..old.end, to..new.end, rest);
        } else {
            self.push(old, new);
        }
    }

    fn trimmed(&self, old: Range<usize>, new: Range<usize>) -> (Range<usize>, Range<usize>) {
        let (a, b) = (&self.old[old.clone()], &self.new[new.clone()]);
        let head = a.iter().zip(b).take_while(|(a, b)| a == b).count();
        let (a, b) = (&a[head..], &b[head..]);
        let tail = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
        (old.start + head..old.end - tail, new.start + head..new.end - tail)
    }

    fn push(&mut self, before: Range<usize>, after: Range<usize>) {
        if before.is_empty() && after.is_empty() {
            return;
        }
        match self.blocks.last_mut() {
            Some(last) if last.before.end == before.start && last.after.end == after.start => {
                last.before.end = before.end;
                last.after.end = after.end;
            }
            Some(_) | None => self.blocks.push(Block { before, after }),
        }
    }

    fn myers(&mut self, old: Range<usize>, new: Range<usize>) {
        let (a, b) = (&self.old[old.clone()], &self.new[new.clone()]);
        for op in similar::capture_diff_slices(Algorithm::Myers, a, b) {
            let (tag, before, after) = op.as_tag_tuple();
            if tag != DiffTag::Equal {
                let shift = |it: Range<usize>, by: usize| it.start + by..it.end + by;
                self.push(shift(before, old.start), shift(after, new.start));
            }
        }
    }

    /// Places of both lists that are the same, in the order of both.
    fn anchored(
        &self,
        old: &Range<usize>,
        new: &Range<usize>,
        anchors: Anchors,
    ) -> Vec<(usize, usize)> {
        let (a, b) = (&self.old[old.clone()], &self.new[new.clone()]);
        let pairs = match anchors {
            Anchors::Lines => once_in_both(a, b),
            Anchors::Windows => {
                let (a, b) = windows(a, b);
                once_in_both(&a, &b)
            }
        };
        ascending(&pairs).into_iter().map(|(x, y)| (old.start + x, new.start + y)).collect()
    }
}

/// Places of numbers that both lists have once, in the order of the first.
fn once_in_both(a: &[u32], b: &[u32]) -> Vec<(usize, usize)> {
    let most = a.iter().chain(b).max().map_or(0, |it| *it as usize + 1);
    // How often, and where last.
    let mut there = vec![(0_u32, 0_usize); most];
    for (at, number) in b.iter().enumerate() {
        let (count, last) = &mut there[*number as usize];
        (*count, *last) = (*count + 1, at);
    }
    let mut here = vec![0_u32; most];
    a.iter().for_each(|number| here[*number as usize] += 1);
    let once = |number: u32| here[number as usize] == 1 && there[number as usize].0 == 1;
    let places = a.iter().enumerate().filter(|(_, number)| once(**number));
    places.map(|(at, number)| (at, there[*number as usize].1)).collect()
}

/// Every run of [`WINDOW`] numbers as one number, the same for equal runs.
fn windows(a: &[u32], b: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut known: HashMap<&[u32], u32> = HashMap::new();
    let mut number = |run| {
        let next = known.len() as u32;
        *known.entry(run).or_insert(next)
    };
    let a: Vec<u32> = a.windows(WINDOW).map(&mut number).collect();
    (a, b.windows(WINDOW).map(number).collect())
}

/// The longest choice of pairs that ascends in both places; they ascend in the first.
fn ascending(pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
    // Of all choices of a length, the last pair of the one that ends first; each pair knows the one before it.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(pairs.len());
    for (index, (_, place)) in pairs.iter().enumerate() {
        let len = ends.partition_point(|end| pairs[*end].1 < *place);
        before.push(len.checked_sub(1).map(|it| ends[it]));
        if len == ends.len() { ends.push(index) } else { ends[len] = index }
    }
    let chosen = std::iter::successors(ends.last().copied(), |index| before[*index]);
    let mut chosen: Vec<_> = chosen.map(|index| pairs[index]).collect();
    chosen.reverse();
    chosen
}

#[cfg(test)]
mod tests;

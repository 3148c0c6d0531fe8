use super::*;
use proptest::prelude::*;

/// The new list, made from the old one by the blocks.
fn applied(old: &[u32], new: &[u32], blocks: &[Block]) -> Vec<u32> {
    let mut out = Vec::new();
    let mut at = 0;
    for block in blocks {
        out.extend(&old[at..block.before.start]);
        out.extend(&new[block.after.clone()]);
        at = block.before.end;
    }
    out.extend(&old[at..]);
    out
}

/// How many lines of the old list are in no block.
#[track_caller]
fn kept(old: &[u32], new: &[u32]) -> usize {
    let found = blocks(old, new);
    assert!(applied(old, new, &found) == new);
    let apart =
        |it: &[Block]| it[0].before.end < it[1].before.start || it[0].after.end < it[1].after.start;
    assert!(found.windows(2).all(apart));
    old.len() - found.iter().map(|it| it.before.len()).sum::<usize>()
}

fn noise(seed: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(seed), |it| {
        let it = it ^ it << 13;
        let it = it ^ it >> 7;
        Some(it ^ it << 17)
    })
}

#[test]
fn long_lists_keep_what_stayed() {
    let lines: Vec<u32> = (0..100_000).collect();
    let mut changed = lines.clone();
    (0..1_000).for_each(|it| changed[it * 100 + 50] = 1_000_000 + it as u32);
    assert_eq!(kept(&lines, &changed), 99_000);
    let every_other: Vec<u32> =
        lines.iter().map(|it| if it % 2 == 0 { *it } else { it + 1_000_000 }).collect();
    assert_eq!(kept(&lines, &every_other), 50_000);
    let halves: Vec<u32> = lines[50_000..].iter().chain(&lines[..50_000]).copied().collect();
    assert_eq!(kept(&lines, &halves), 50_000);
    let others: Vec<u32> = lines.iter().map(|it| it + 1_000_000).collect();
    assert_eq!(kept(&lines, &others), 0);
}

#[test]
fn where_no_line_stands_once_runs_of_them_do() {
    let lines: Vec<u32> = noise(7).take(60_000).map(|it| (it >> 20) as u32 % 16).collect();
    let mut changed = lines.clone();
    (0..100).for_each(|it| changed[it * 600 + 300] = 16);
    assert_eq!(kept(&lines, &changed), 59_900);
}

#[test]
fn what_is_too_much_work_is_one_block() {
    let of = |seed| noise(seed).take(40_000).map(|it| (it >> 20) as u32 % 2).collect::<Vec<u32>>();
    assert!(kept(&of(7), &of(9)) < 40_000);
    let lines: Vec<u32> = (0..40_000).collect();
    let reversed: Vec<u32> = lines.iter().rev().copied().collect();
    assert_eq!(kept(&lines, &reversed), 1);
}

proptest! {
    #[test]
    fn anchors_lead_to_the_other_list(
        old in prop::collection::vec(0..9_u32, 0..60),
        new in prop::collection::vec(0..9_u32, 0..60),
        left in 0..40_usize,
    ) {
        let mut script = Script { old: &old, new: &new, left, blocks: Vec::new() };
        script.part(0..old.len(), 0..new.len(), &[Anchors::Lines, Anchors::Windows]);
        prop_assert_eq!(applied(&old, &new, &script.blocks), new);
    }
}

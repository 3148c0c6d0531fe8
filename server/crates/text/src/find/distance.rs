//! The edit distance of two lines, 64 rows of its table at a time (Myers 1999, blocks after Hyyrö).

use std::collections::HashMap;

/// Characters inserted, deleted or replaced to get from one to the other.
pub(crate) fn between(a: &[char], b: &[char]) -> usize {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[same..], &b[same..]);
    let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let (a, b) = (&a[..a.len() - same], &b[..b.len() - same]);
    if a.is_empty() || b.is_empty() {
        return a.len().max(b.len());
    }
    let words = a.len().div_ceil(64);
    let mut places: HashMap<char, Vec<u64>> = HashMap::new();
    for (row, c) in a.iter().enumerate() {
        places.entry(*c).or_insert_with(|| vec![0; words])[row / 64] |= 1 << (row % 64);
    }
    let nowhere = vec![0; words];
    let last = 1 << ((a.len() - 1) % 64);
    // Whether a cell is one more, or one less, than the one above it.
    let (mut more, mut less) = (vec![u64::MAX; words], vec![0_u64; words]);
    let mut distance = a.len();
    for c in b {
        let equal = places.get(c).unwrap_or(&nowhere);
        // The same between columns, from block to block. The first row counts up.
        let (mut more_in, mut less_in) = (1, 0);
        for word in 0..words {
            let (up, down) = (more[word], less[word]);
            let diagonal = equal[word] | less_in;
            let carried = ((diagonal & up).wrapping_add(up) ^ up) | diagonal;
            let (mut right, mut left) = (down | !(carried | up), up & carried);
            if word + 1 == words {
                distance += usize::from(right & last != 0);
                distance -= usize::from(left & last != 0);
            }
            let (more_out, less_out) = (right >> 63, left >> 63);
            right = right << 1 | more_in;
            left = left << 1 | less_in;
            let steady = equal[word] | down;
            more[word] = left | !(steady | right);
            less[word] = right & steady;
            (more_in, less_in) = (more_out, less_out);
        }
    }
    distance
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The table, cell by cell.
    fn plain(a: &[char], b: &[char]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let mut diagonal = std::mem::replace(&mut row[0], i + 1);
            for (j, y) in b.iter().enumerate() {
                let changed = diagonal + usize::from(x != y);
                diagonal = row[j + 1];
                row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
            }
        }
        row[b.len()]
    }

    #[test]
    fn counts_changes() {
        let check = |a: &str, b: &str, expected: usize| {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            assert_eq!(between(&a, &b), expected, "{a:?} {b:?}");
        };
        check("", "", 0);
        check("same", "same", 0);
        check("", "abc", 3);
        check("kitten", "sitting", 3);
        check("é日", "e日", 1);
        check(&"x".repeat(300), &"y".repeat(200), 300);
        check(&"ab".repeat(100), &"ba".repeat(100), 2);
    }

    proptest! {
        #[test]
        fn is_what_the_table_says(a in "[abc]{0,200}", b in "[abc]{0,200}") {
            let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
            prop_assert_eq!(between(&a, &b), plain(&a, &b));
        }
    }
}

//! JSON on disk, one value a line, each line with its checksum.
//!
//! Invariant: a line that was changed in any way is left out; the others count.

use agent::store::hash_hex;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Digits of the checksum.
const DIGITS: usize = 16;

/// Adds a value to what is to be written.
pub fn push(bytes: &mut Vec<u8>, value: &impl Serialize) -> serde_json::Result<()> {
    let json = serde_json::to_vec(value)?;
    bytes.extend_from_slice(checksum(&json).as_bytes());
    bytes.push(b' ');
    bytes.extend_from_slice(&json);
    bytes.push(b'\n');
    Ok(())
}

/// The values of the whole lines, and how many lines are damaged.
pub fn read<T: DeserializeOwned>(bytes: &[u8]) -> (Vec<T>, usize) {
    let lines: Vec<&[u8]> = bytes.split(|it| *it == b'\n').filter(|it| !it.is_empty()).collect();
    let values: Vec<T> = lines.iter().filter_map(|line| value(line)).collect();
    let damaged = lines.len() - values.len();
    (values, damaged)
}

fn value<T: DeserializeOwned>(line: &[u8]) -> Option<T> {
    let (sum, json) = line.split_at_checked(DIGITS)?;
    let json = json.strip_prefix(b" ")?;
    (checksum(json).as_bytes() == sum).then(|| serde_json::from_slice(json).ok())?
}

fn checksum(json: &[u8]) -> String {
    let mut sum = hash_hex(json);
    sum.truncate(DIGITS);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        ["one", "two\n", "three"].iter().for_each(|it| push(&mut bytes, it).unwrap());
        bytes
    }

    #[track_caller]
    fn check(bytes: &[u8], expected: &[&str], damaged: usize) {
        let (values, found) = read::<String>(bytes);
        assert_eq!(
            (values.iter().map(String::as_str).collect::<Vec<_>>(), found),
            (expected.to_vec(), damaged)
        );
    }

    #[test]
    fn whole_lines_count() {
        let bytes = written();
        check(&bytes, &["one", "two\n", "three"], 0);
        check(&bytes[..bytes.len() - 3], &["one", "two\n"], 1);
        check(b"", &[], 0);
        check(b"{\"format\": 1}", &[], 1);
    }

    #[test]
    fn any_changed_byte_costs_its_line_at_most() {
        let bytes = written();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            let (values, damaged) = read::<String>(&changed);
            assert!(!values.is_empty() && 0 < damaged, "{at}: {values:?}");
            assert!(values.iter().all(|it| ["one", "two\n", "three"].contains(&it.as_str())));
        }
    }
}

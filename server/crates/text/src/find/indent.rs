//! How the indentation of a found block differs from that of the searched text, learnt from the
//! lines that both have, and applied to new lines.

/// A mapping of indentations from the searched text to the file.
pub(crate) struct Shift {
    /// Distinct pairs (searched, file).
    pairs: Vec<(String, String)>,
    conversion: Conversion,
}

#[derive(Clone, Copy)]
enum Conversion {
    None,
    /// So many spaces become one tab.
    ToTabs(usize),
    /// One tab becomes so many spaces.
    ToSpaces(usize),
}

impl Shift {
    /// `None` where the lines are not all shifted alike.
    pub(crate) fn learn<'a>(leads: impl Iterator<Item = (&'a str, &'a str)>) -> Option<Shift> {
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (old, file) in leads {
            match pairs.iter().find(|(known, _)| known == old) {
                Some((_, known)) if known != file => return None,
                Some(_) => {}
                None => pairs.push((old.to_owned(), file.to_owned())),
            }
        }
        let old = |c: char| pairs.iter().all(|(old, _)| old.chars().all(|lead| lead == c));
        let file = |c: char| pairs.iter().all(|(_, file)| file.chars().all(|lead| lead == c));
        let is_shifted = |pairs: &[(String, String)]| {
            pairs.windows(2).all(|two| {
                two[0].1.len() as i64 - two[0].0.len() as i64
                    == two[1].1.len() as i64 - two[1].0.len() as i64
            })
        };
        let conversion = if (old(' ') && file(' ')) || (old('\t') && file('\t')) {
            is_shifted(&pairs).then_some(Conversion::None)?
        } else if old(' ') && file('\t') {
            Conversion::ToTabs(ratio(pairs.iter().map(|(old, file)| (old.len(), file.len())))?)
        } else if old('\t') && file(' ') {
            Conversion::ToSpaces(ratio(pairs.iter().map(|(old, file)| (file.len(), old.len())))?)
        } else {
            let nested = pairs.iter().all(|(old, file)| file.ends_with(old.as_str()))
                || pairs.iter().all(|(old, file)| old.ends_with(file.as_str()));
            (nested && is_shifted(&pairs)).then_some(Conversion::None)?
        };
        Some(Shift { pairs, conversion })
    }

    /// Whether every indentation stays as it is.
    pub(crate) fn is_identity(&self) -> bool {
        self.pairs.iter().all(|(old, file)| old == file)
    }

    /// `line` with its indentation as the file would have it.
    pub(crate) fn apply(&self, line: &str) -> String {
        let lead = super::forms::lead(line);
        let rest = &line[lead.len()..];
        if rest.is_empty() {
            return String::new();
        }
        format!("{}{rest}", self.indentation(lead))
    }

    fn indentation(&self, lead: &str) -> String {
        let known = |pair: &&(String, String)| lead.starts_with(pair.0.as_str());
        if let Some((old, file)) = self.pairs.iter().filter(known).max_by_key(|(old, _)| old.len())
        {
            return format!("{file}{}", self.convert(&lead[old.len()..]));
        }
        let deeper = |pair: &&(String, String)| pair.0.starts_with(lead);
        match self.pairs.iter().filter(deeper).min_by_key(|(old, _)| old.len()) {
            Some((old, file)) => {
                let excess = self.convert(&old[lead.len()..]);
                file[..file.len().saturating_sub(excess.len())].to_owned()
            }
            None => lead.to_owned(),
        }
    }

    fn convert(&self, lead: &str) -> String {
        match self.conversion {
            Conversion::ToTabs(width) if lead.chars().all(|c| c == ' ') => {
                "\t".repeat(lead.len().div_ceil(width))
            }
            Conversion::ToSpaces(width) => lead.replace('\t', &" ".repeat(width)),
            Conversion::ToTabs(_) | Conversion::None => lead.to_owned(),
        }
    }
}

/// Spaces per tab, given (spaces, tabs) of each line; `None` where the lines disagree.
fn ratio(counts: impl Iterator<Item = (usize, usize)>) -> Option<usize> {
    let mut counts: Vec<(usize, usize)> = counts.collect();
    counts.sort_unstable();
    let width = match counts.windows(2).next() {
        Some(two) => {
            let (spaces, tabs) = (two[1].0 - two[0].0, two[1].1.checked_sub(two[0].1)?);
            if tabs == 0 || spaces % tabs != 0 { return None } else { spaces / tabs }
        }
        None => {
            let (spaces, tabs) = *counts.first()?;
            if tabs > 0 && spaces > 0 && spaces % tabs == 0 { spaces / tabs } else { 4 }
        }
    };
    let steady = counts
        .windows(2)
        .all(|two| two[1].1 >= two[0].1 && two[1].0 - two[0].0 == width * (two[1].1 - two[0].1));
    (steady && width > 0).then_some(width)
}

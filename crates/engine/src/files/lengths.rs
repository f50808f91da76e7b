//! Lengths of a job's files: a single number if all are equal, however many there are.

use plumb_workload::blocks::fio::FileRange;

/// File lengths in bytes. In most jobs, all are equal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Lengths {
    Same { bytes: u64, count: usize },
    Each(Vec<u64>),
}

impl Lengths {
    pub(crate) fn from_each(mut each: Vec<u64>) -> Lengths {
        match each.first() {
            Some(&bytes) if each.iter().all(|&length| length == bytes) => Lengths::Same { bytes, count: each.len() },
            _ => {
                each.shrink_to_fit();
                Lengths::Each(each)
            }
        }
    }

    /// Returns the number of files.
    pub(crate) fn count(&self) -> usize {
        match self {
            Lengths::Same { count, .. } => *count,
            Lengths::Each(each) => each.len(),
        }
    }

    /// Returns the length of a file; 0 if it does not exist.
    pub(crate) fn get(&self, number: usize) -> u64 {
        match self {
            Lengths::Same { bytes, count } if number < *count => *bytes,
            Lengths::Same { .. } => 0,
            Lengths::Each(each) => each.get(number).copied().unwrap_or(0),
        }
    }

    /// Returns the total length in bytes.
    pub(crate) fn total(&self) -> u64 {
        match self {
            Lengths::Same { bytes, count } => bytes.saturating_mul(*count as u64),
            Lengths::Each(each) => each.iter().fold(0, |sum: u64, &length| sum.saturating_add(length)),
        }
    }

    pub(crate) fn to_vec(&self) -> Vec<u64> {
        match self {
            Lengths::Same { bytes, count } => vec![*bytes; *count],
            Lengths::Each(each) => each.clone(),
        }
    }

    /// Combines each length with the range of its file. Files without a range use the last one.
    pub(crate) fn with_ranges(&self, ranges: &[FileRange], of: impl Fn(u64, &FileRange) -> u64) -> Lengths {
        match (self, ranges) {
            (_, []) => self.clone(),
            (Lengths::Same { bytes, count }, [range]) => Lengths::Same { bytes: of(*bytes, range), count: *count },
            (_, [.., last]) => Lengths::from_each(
                (0..self.count()).map(|number| of(self.get(number), ranges.get(number).unwrap_or(last))).collect(),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::Bytes;

    /// Protects the compact form: it gives the same lengths as a list.
    #[test]
    fn a_rule_and_a_list_give_equal_lengths() {
        let end = |length: u64, range: &FileRange| length.max(range.start.0 + range.length.0);
        let range = |start, length| FileRange { start: Bytes(start), length: Bytes(length) };
        let (same, each) = (Lengths::from_each(vec![10; 3]), Lengths::Each(vec![10; 3]));
        assert_eq!(same, Lengths::Same { bytes: 10, count: 3 });
        for ranges in [vec![], vec![range(4, 8)], vec![range(0, 20), range(0, 5)]] {
            let by_rule = same.with_ranges(&ranges, end);
            let by_list = each.with_ranges(&ranges, end);
            assert_eq!(by_rule.to_vec(), by_list.to_vec(), "{ranges:?}");
            assert_eq!((by_rule.total(), by_rule.count()), (by_list.total(), 3));
            assert!((0..4).all(|number| by_rule.get(number) == by_list.get(number)), "{ranges:?}");
        }
        assert_eq!(same.with_ranges(&[range(0, 20), range(0, 5)], end).to_vec(), [20, 10, 10]);
    }
}

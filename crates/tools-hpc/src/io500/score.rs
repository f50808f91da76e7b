//! The score: geometric means of bandwidths and rates, and of these two.

use super::hash::Hash;
use super::phase::{Group, Outcome, Phase};

/// Which phases count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Those of the standard mode.
    Standard,
    /// Those of the extended mode too.
    All,
}

/// The scores of a run.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scores {
    /// Geometric mean of the bandwidths, GiB/s.
    pub bandwidth: f64,
    /// Geometric mean of the rates, thousands of operations per second.
    pub metadata: f64,
    /// Geometric mean of the two.
    pub total: f64,
}

/// The geometric mean of what is above 0; 0 of nothing.
fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (product, count) =
        values.filter(|&value| value > 0.0).fold((1.0, 0u32), |(product, count), value| (product * value, count + 1));
    if count == 0 { 0.0 } else { f64::powf(product, 1.0 / f64::from(count)) }
}

impl Scores {
    /// Of these phases, those of the standard mode or all.
    pub fn of(outcomes: &[(Phase, Outcome)], counts: Counts) -> Scores {
        let mean = |group: Group| {
            let of_group = outcomes.iter().filter(|(phase, _)| phase.group() == Some(group));
            let counted = of_group.filter(|(phase, _)| counts == Counts::All || !phase.is_extended());
            geometric_mean(counted.map(|(_, outcome)| outcome.score))
        };
        let (bandwidth, metadata) = (mean(Group::Bandwidth), mean(Group::Metadata));
        Scores { bandwidth, metadata, total: (bandwidth * metadata).sqrt() }
    }

    /// The hash that stands behind them: of the version, of the phases that count, and of the scores.
    ///
    /// That of all phases is of those that only the extended mode has, and of no version, as IO500's is.
    pub fn hash(&self, version: &str, outcomes: &[(Phase, Outcome)], counts: Counts, is_valid: bool) -> Hash {
        let (first, is_extended) = match counts {
            Counts::Standard => (Hash::default().with("version", version), false),
            Counts::All => (Hash::default(), true),
        };
        let scored = outcomes.iter().filter(|(phase, _)| phase.group().is_some());
        let counted = scored.filter(|(phase, _)| phase.is_extended() == is_extended);
        let hash = counted.fold(first, |hash, (phase, outcome)| hash.with_number(phase.name(), outcome.score));
        let hash = hash
            .with_number(Group::Metadata.name(), self.metadata)
            .with_number(Group::Bandwidth.name(), self.bandwidth)
            .with_number("SCORE", self.total);
        if is_valid { hash } else { hash.with("valid", "NO") }
    }
}

//! The score: geometric means of bandwidths and rates, and of these two.

use super::hash::Hash;
use super::phase::{Group, Outcome, Phase};

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
    /// Of these phases.
    pub fn of(outcomes: &[(Phase, Outcome)]) -> Scores {
        let mean = |group: Group| {
            let of_group = outcomes.iter().filter(|(phase, _)| phase.group() == Some(group));
            geometric_mean(of_group.map(|(_, outcome)| outcome.score))
        };
        let (bandwidth, metadata) = (mean(Group::Bandwidth), mean(Group::Metadata));
        Scores { bandwidth, metadata, total: (bandwidth * metadata).sqrt() }
    }

    /// The hash that stands behind them: of the version, of the phases that count, and of the scores.
    pub fn hash(&self, version: &str, outcomes: &[(Phase, Outcome)], is_valid: bool) -> Hash {
        let counted = outcomes.iter().filter(|(phase, _)| phase.group().is_some());
        let hash = counted.fold(Hash::default().with("version", version), |hash, (phase, outcome)| {
            hash.with_number(phase.name(), outcome.score)
        });
        let hash = hash
            .with_number(Group::Metadata.name(), self.metadata)
            .with_number(Group::Bandwidth.name(), self.bandwidth)
            .with_number("SCORE", self.total);
        if is_valid { hash } else { hash.with("valid", "NO") }
    }
}

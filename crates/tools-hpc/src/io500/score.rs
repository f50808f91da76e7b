//! The score: geometric means of bandwidths and rates, and of these two.

use super::hash::Hash;
use super::phase::{Group, Outcome, Phase};

/// Phases that count in a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counts {
    /// Phases of the standard mode.
    Standard,
    /// Phases of the standard and extended modes.
    All,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Scores {
    /// Geometric mean of the bandwidths, GiB/s.
    pub bandwidth: f64,
    /// Geometric mean of the rates, thousands of operations per second.
    pub metadata: f64,
    /// Geometric mean of bandwidth and metadata.
    pub total: f64,
}

/// Returns the geometric mean of the values above 0; 0 if there are none.
fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let (product, count) =
        values.filter(|&value| value > 0.0).fold((1.0, 0u32), |(product, count), value| (product * value, count + 1));
    if count == 0 { 0.0 } else { f64::powf(product, 1.0 / f64::from(count)) }
}

impl Scores {
    /// Computes the scores of these phases.
    pub fn from_outcomes(outcomes: &[(Phase, Outcome)], counts: Counts) -> Scores {
        let mean = |group: Group| {
            let of_group = outcomes.iter().filter(|(phase, _)| phase.group() == Some(group));
            let counted = of_group.filter(|(phase, _)| counts == Counts::All || !phase.is_extended());
            geometric_mean(counted.map(|(_, outcome)| outcome.score))
        };
        let (bandwidth, metadata) = (mean(Group::Bandwidth), mean(Group::Metadata));
        Scores { bandwidth, metadata, total: (bandwidth * metadata).sqrt() }
    }

    /// Returns the hash printed after the scores: of the version, of the counted phases, and of the scores.
    ///
    /// Like IO500's, the hash for all phases covers only the phases of the extended mode, and no version.
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

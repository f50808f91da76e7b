//! Splits a recording into phases where its rates or its mix change.

use crate::show::rates::{Counts, Rates, sum};

/// Minimum number of ops in a phase.
const OPS_MIN: u64 = 256;

/// Maximum number of phases.
const PHASES_MAX: usize = 8;

/// Minimum information gain per op for a change, in nats.
const GAIN_PER_OP_MIN: f64 = 0.1;

/// Returns the log-likelihood of ops arriving evenly, without terms that are the same for all splits.
fn evenness(pieces: &[Counts]) -> f64 {
    let of = |count: u64| if count == 0 { 0.0 } else { count as f64 * (count as f64 / pieces.len() as f64).ln() };
    sum(pieces).into_iter().map(of).sum()
}

/// Returns the start times of all phases but the first, in ns. Repeatedly takes the change with the largest gain,
/// while that is large enough.
pub(super) fn changes(rates: &Rates) -> Vec<u64> {
    let pieces = rates.pieces();
    let mut edges = vec![0, pieces.len()];
    while edges.len() <= PHASES_MAX {
        let mut best = (0.0, 0);
        for part in edges.windows(2) {
            let all = &pieces[part[0]..part[1]];
            let ops = |pieces: &[Counts]| sum(pieces).iter().sum::<u64>();
            let least = GAIN_PER_OP_MIN * ops(all) as f64;
            for at in 1..all.len() {
                let (before, after) = all.split_at(at);
                let gain = evenness(before) + evenness(after) - evenness(all);
                if gain > least.max(best.0) && ops(before) >= OPS_MIN && ops(after) >= OPS_MIN {
                    best = (gain, part[0] + at);
                }
            }
        }
        match edges.partition_point(|edge| *edge < best.1) {
            0 => break,
            place => edges.insert(place, best.1),
        }
    }
    edges[1..edges.len() - 1].iter().map(|edge| *edge as u64 * rates.piece_ns()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RecordedAct;

    #[test]
    fn only_a_change_of_rate_or_mix_begins_a_phase() {
        let mut rates = Rates::default();
        (0..1000).for_each(|n| rates.add(n * 1_000_000, RecordedAct::Read));
        assert!(changes(&rates).is_empty());
        (1000..2000).for_each(|n| rates.add(n * 1_000_000, RecordedAct::Write));
        let found = changes(&rates);
        assert!(matches!(found.as_slice(), [at] if at.abs_diff(1_000_000_000) <= rates.piece_ns()), "{found:?}");
    }
}

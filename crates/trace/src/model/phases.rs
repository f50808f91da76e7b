//! Where a recording changes: its rates and its mix.

use crate::record::RecordedAct;

/// Pieces of time in which ops are counted at most.
const PIECES_MAX: usize = 128;

/// The first length of a piece, ns.
const FIRST_NS: u64 = 1 << 20;

/// Ops of a phase at least.
const OPS_MIN: u64 = 256;

/// Phases at most.
const PHASES_MAX: usize = 8;

/// So much each op must say for a change, in natural units of information.
const GAIN_EACH: f64 = 0.1;

type Counts = [u64; 4];

/// Ops by kind, in pieces of time.
pub(super) struct Profile {
    piece_ns: u64,
    pieces: Vec<Counts>,
}

impl Default for Profile {
    fn default() -> Profile {
        Profile { piece_ns: FIRST_NS, pieces: Vec::new() }
    }
}

fn sum(pieces: &[Counts]) -> Counts {
    pieces.iter().fold([0; 4], |sum, piece| std::array::from_fn(|kind| sum[kind] + piece[kind]))
}

/// How likely it is that ops come as evenly as this, as a logarithm without what is the same for all ways to part them.
fn evenness(pieces: &[Counts]) -> f64 {
    let of = |count: u64| if count == 0 { 0.0 } else { count as f64 * (count as f64 / pieces.len() as f64).ln() };
    sum(pieces).into_iter().map(of).sum()
}

impl Profile {
    /// Counts an op.
    pub(super) fn add(&mut self, at_ns: u64, act: RecordedAct) {
        while at_ns / self.piece_ns >= PIECES_MAX as u64 {
            self.pieces = self.pieces.chunks(2).map(sum).collect();
            self.piece_ns = self.piece_ns.saturating_mul(2);
        }
        let piece = (at_ns / self.piece_ns) as usize;
        if self.pieces.len() <= piece {
            self.pieces.resize(piece + 1, [0; 4]);
        }
        let kind = match act {
            RecordedAct::Read => 0,
            RecordedAct::Write => 1,
            RecordedAct::Sync | RecordedAct::Datasync => 2,
            _ => 3,
        };
        self.pieces[piece][kind] += 1;
    }

    /// When phases begin, but for the first, ns: always the change that says most, as long as it says enough.
    pub(super) fn changes(&self) -> Vec<u64> {
        let mut edges = vec![0, self.pieces.len()];
        while edges.len() <= PHASES_MAX {
            let mut best = (0.0, 0);
            for part in edges.windows(2) {
                let all = &self.pieces[part[0]..part[1]];
                let ops = |pieces: &[Counts]| sum(pieces).iter().sum::<u64>();
                let least = GAIN_EACH * ops(all) as f64;
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
        edges[1..edges.len() - 1].iter().map(|edge| *edge as u64 * self.piece_ns).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_rate_or_mix_begins_a_phase_and_evenness_does_not() {
        let mut profile = Profile::default();
        (0..1000).for_each(|n| profile.add(n * 1_000_000, RecordedAct::Read));
        assert!(profile.changes().is_empty());
        (1000..2000).for_each(|n| profile.add(n * 1_000_000, RecordedAct::Write));
        let changes = profile.changes();
        assert!(matches!(changes.as_slice(), [at] if at.abs_diff(1_000_000_000) <= profile.piece_ns), "{changes:?}");
    }
}

//! The steady-state rule over the rounds of a running phase, in real time or virtual time.

use plumb_result::{Interval, OpCounts};
use plumb_stats::steady;
use plumb_workload::Steady;

/// Result of the rule after another interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RoundState {
    /// Not decided yet.
    Open,
    /// The phase is steady.
    Reached,
    /// The maximum number of rounds passed without a steady state.
    GivenUp,
}

/// Rounds of whole intervals.
#[derive(Debug)]
pub(crate) struct SteadyRounds {
    rule: Steady,
    /// Throughput of each completed round, per second.
    rounds: Vec<f64>,
    amount: u64,
    length_ns: u64,
}

impl SteadyRounds {
    pub(crate) fn new(rule: Steady) -> SteadyRounds {
        SteadyRounds { rule, rounds: Vec::new(), amount: 0, length_ns: 0 }
    }

    pub(crate) fn next(&mut self, interval: &Interval) -> RoundState {
        let sum = |pick: fn(&OpCounts) -> u64| -> u64 { interval.ops.values().map(pick).sum() };
        // Use bytes if there are any: op counts are not comparable with mixed sizes.
        let bytes = sum(|ops| ops.bytes);
        self.amount += if bytes > 0 { bytes } else { sum(|ops| ops.count) };
        self.length_ns += interval.length_ns;
        if self.length_ns < self.rule.round.0 {
            return RoundState::Open;
        }
        let per_second = self.amount as f64 * 1e9 / self.length_ns as f64;
        (self.amount, self.length_ns) = (0, 0);
        self.end_round(per_second)
    }

    /// Ends a round with this throughput.
    pub(crate) fn end_round(&mut self, throughput: f64) -> RoundState {
        self.rounds.push(throughput);
        let rule = steady::RoundRule {
            window: self.rule.window,
            range: self.rule.range,
            slope: self.rule.slope,
            rounds_max: self.rule.max_rounds,
        };
        if steady::snia(&self.rounds, &rule).is_some() {
            RoundState::Reached
        } else if self.rounds.len() >= self.rule.max_rounds as usize {
            RoundState::GivenUp
        } else {
            RoundState::Open
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use plumb_workload::{Nanos, OpKind};

    fn interval(seconds: u64, bytes: u64) -> Interval {
        let counts = OpCounts { count: 1, bytes, ..OpCounts::default() };
        Interval { start_ns: 0, length_ns: seconds * 1_000_000_000, ops: [(OpKind::Read, counts)].into() }
    }

    fn rule(round_s: u64) -> Steady {
        Steady { round: Nanos(round_s * 1_000_000_000), window: 3, max_rounds: 5, ..Steady::default() }
    }

    #[test]
    fn a_window_of_even_rounds_is_steady() {
        let mut rounds = SteadyRounds::new(rule(2));
        let states: Vec<RoundState> = [900, 10, 50, 50, 60, 40, 50, 50].map(|n| rounds.next(&interval(1, n))).into();
        assert!(states[..7].iter().all(|state| *state == RoundState::Open), "{states:?}");
        assert_eq!(states[7], RoundState::Reached);
    }

    #[test]
    fn a_late_interval_is_longer_but_not_faster() {
        let mut rounds = SteadyRounds::new(rule(1));
        assert_eq!(rounds.next(&interval(1, 100)), RoundState::Open);
        assert_eq!(rounds.next(&interval(3, 300)), RoundState::Open);
        assert_eq!(rounds.next(&interval(1, 100)), RoundState::Reached);
    }

    #[test]
    fn an_unsteady_phase_is_given_up() {
        let mut rounds = SteadyRounds::new(rule(1));
        let states: Vec<RoundState> = [1, 9, 1, 9, 1].map(|n| rounds.next(&interval(1, n * 100))).into();
        assert_eq!(states[4], RoundState::GivenUp);
    }
}

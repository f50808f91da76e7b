//! The slowest ops of both sides of a comparison, which neither a rate nor a p99 shows.

use crate::number::{Digits, TIME};
use plumb_workload::OpKind;
use serde::{Deserialize, Serialize};

/// Reports a side's slowest op if it takes this many times as long as the slowest op of the other side …
const TIMES_SLOWER: f64 = 3.0;
/// … or, if only a single run shows it, this many times as long: one run may have been unlucky.
const TIMES_SLOWER_ONCE: f64 = 10.0;
/// Below this, differences between ops come from scheduling, ns.
const SLOW_NS: f64 = 1e6;

/// The slowest ops of one kind in one phase.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tail {
    /// Name of the measured workload.
    pub workload: String,
    /// Name of the workload's phase.
    pub phase: String,
    /// Kind of the ops that are compared.
    pub op: OpKind,
    /// Slowest ops of the baseline.
    pub baseline: TailSide,
    /// Slowest ops of the candidate.
    pub candidate: TailSide,
}

/// The slowest ops of one side. Times are from start to completion; under an open load, from the intended start.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TailSide {
    /// Number of runs that count, without rejected ones.
    pub runs: u32,
    /// Geometric mean of the runs' p99.9, ns; `null` if a run has too few ops for a p99.9.
    pub p999_ns: Option<f64>,
    /// Duration of the slowest op of all runs, ns.
    pub max_ns: f64,
    /// Number of runs with an op slower than every op of the other side.
    pub runs_beyond: u32,
}

impl Tail {
    /// Returns the ratio of the two slowest ops if it is large enough to report.
    fn times_slower(&self) -> Option<f64> {
        let (slow, fast) =
            if self.is_candidate_slower() { (self.candidate, self.baseline) } else { (self.baseline, self.candidate) };
        let times = slow.max_ns / fast.max_ns;
        let wanted = if slow.runs_beyond > 1 { TIMES_SLOWER } else { TIMES_SLOWER_ONCE };
        (slow.max_ns >= SLOW_NS && times >= wanted).then_some(times)
    }

    fn is_candidate_slower(&self) -> bool {
        self.candidate.max_ns > self.baseline.max_ns
    }
}

/// Describes the largest difference between the sides' slowest ops; `None` if the tails are alike.
pub fn difference(tails: &[Tail], [a, b]: [&str; 2]) -> Option<String> {
    let differing = tails.iter().filter_map(|tail| Some((tail, tail.times_slower()?)));
    let (tail, _) = differing.max_by(|(_, one), (_, other)| one.total_cmp(other))?;
    let ((slow, slow_name), (fast, fast_name)) = if tail.is_candidate_slower() {
        ((tail.candidate, b), (tail.baseline, a))
    } else {
        ((tail.baseline, a), (tail.candidate, b))
    };
    let time = |ns: f64| TIME.set(ns, Digits::Two);
    Some(format!(
        "the slowest {} of {slow_name} took {}, against {} of {fast_name} ({} of {} runs of {slow_name} have one slower than that)",
        tail.op.name(),
        time(slow.max_ns),
        time(fast.max_ns),
        slow.runs_beyond,
        slow.runs,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(baseline_ms: f64, candidate_ms: f64, runs_beyond: u32) -> Tail {
        let side = |ms: f64, runs_beyond| TailSide { runs: 12, p999_ns: Some(1e5), max_ns: ms * 1e6, runs_beyond };
        Tail {
            workload: "random-read".to_owned(),
            phase: "random-read".to_owned(),
            op: OpKind::Read,
            baseline: side(baseline_ms, if baseline_ms > candidate_ms { runs_beyond } else { 0 }),
            candidate: side(candidate_ms, if candidate_ms > baseline_ms { runs_beyond } else { 0 }),
        }
    }

    // Protects: a stall in each run of one side is reported with the side's name, and ordinary differences are not.
    #[test]
    fn a_stall_of_one_side_is_named() {
        let text = |tails: &[Tail]| difference(tails, ["a", "b"]);
        assert_eq!(
            text(&[tail(2.0, 2.5, 12), tail(2.04, 200.0, 12)]).unwrap(),
            "the slowest read of b took 200 ms, against 2.0 ms of a (12 of 12 runs of b have one slower than that)"
        );
        assert!(
            text(&[tail(200.0, 2.0, 3)]).unwrap().starts_with("the slowest read of a took 200 ms, against 2.0 ms of b")
        );
        assert_eq!(text(&[]), None);
        assert_eq!(text(&[tail(2.0, 5.9, 12)]), None, "less than three times");
        assert_eq!(text(&[tail(2.0, 7.0, 1)]), None, "one unlucky run");
        assert!(text(&[tail(2.0, 20.5, 1)]).is_some(), "ten times, even once");
        assert_eq!(text(&[tail(0.02, 0.9, 12)]), None, "faster than any storage would notice");
    }
}

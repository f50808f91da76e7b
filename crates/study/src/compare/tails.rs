//! The slowest ops of both sides, run by run.

use plumb_result::metric::{Stat, Subject};
use plumb_result::{Contrast, Metric, PhaseResult, RunResult, Tail, TailSide};
use plumb_workload::OpKind;
use std::collections::BTreeMap;

/// The slowest ops of accepted runs, by side.
#[derive(Debug, Default)]
pub(crate) struct TailLog {
    by_op: BTreeMap<TailKey, [Vec<RunTail>; 2]>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct TailKey {
    workload: String,
    phase: String,
    op: OpKind,
}

/// The slowest ops of one run.
#[derive(Debug, Clone, Copy)]
struct RunTail {
    p999_ns: Option<f64>,
    max_ns: f64,
}

impl TailLog {
    /// Adds an accepted run; `side` is 0 for the baseline.
    pub(crate) fn add(&mut self, side: usize, result: &RunResult) {
        for phase in &result.phases {
            for &op in OpKind::ALL {
                let Some(tail) = of_phase(phase, op) else { continue };
                let key = TailKey { workload: result.workload.name.clone(), phase: phase.name.clone(), op };
                self.by_op.entry(key).or_default()[side].push(tail);
            }
        }
    }

    /// Returns the tails of the ops in the contrasts, for both sides.
    pub(crate) fn of_contrasts(&self, contrasts: &[Contrast]) -> Vec<Tail> {
        let is_compared = |key: &TailKey| {
            contrasts.iter().any(|one| one.phase == key.phase && one.metric.subject == Subject::Op(key.op))
        };
        let of_both = |(key, sides): (&TailKey, &[Vec<RunTail>; 2])| {
            let [baseline, candidate] = sides;
            Some(Tail {
                workload: key.workload.clone(),
                phase: key.phase.clone(),
                op: key.op,
                baseline: side(baseline, candidate)?,
                candidate: side(candidate, baseline)?,
            })
        };
        self.by_op.iter().filter(|(key, _)| is_compared(key)).filter_map(of_both).collect()
    }
}

/// Returns the tail of an op in a run. Under an open load it uses response times, because a stall shows in those.
fn of_phase(phase: &PhaseResult, op: OpKind) -> Option<RunTail> {
    let value = |metric: Metric| phase.metrics.get(&metric).and_then(|value| value.value);
    let of = |metric: fn(OpKind, Stat) -> Metric| {
        Some(RunTail { p999_ns: value(metric(op, Stat::P999)), max_ns: value(metric(op, Stat::Max))? })
    };
    of(Metric::response).or_else(|| of(Metric::latency))
}

fn slowest(runs: &[RunTail]) -> Option<f64> {
    runs.iter().map(|run| run.max_ns).reduce(f64::max)
}

fn side(runs: &[RunTail], others: &[RunTail]) -> Option<TailSide> {
    let p999: Option<Vec<f64>> = runs.iter().map(|run| run.p999_ns.filter(|&ns| ns > 0.0)).collect();
    let slowest_other = slowest(others)?;
    Some(TailSide {
        runs: runs.len() as u32,
        p999_ns: p999.and_then(|values| plumb_stats::summary::geometric_mean(&values).ok()),
        max_ns: slowest(runs)?,
        runs_beyond: runs.iter().filter(|run| run.max_ns > slowest_other).count() as u32,
    })
}

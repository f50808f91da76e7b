//! Builds a point of a curve from its runs.

use super::PointUnderway;
use super::find::{LevelRuns, RunNumbers, RunTimes};
use plumb_result::run::TierName;
use plumb_result::sweep::{LatencySummary, RejectedNumbers, SweepPoint};

/// Returns the tier of all runs, `mixed` if they differ, and the mean share of the device.
pub(super) fn common_tier(point: &PointUnderway) -> (Option<TierName>, Option<f64>) {
    let first = point.tiers.first().map(|(tier, _)| *tier);
    let all =
        first.map(|first| if point.tiers.iter().all(|(tier, _)| *tier == first) { first } else { TierName::Mixed });
    let shares: Vec<f64> = point.tiers.iter().filter_map(|(_, share)| *share).collect();
    let mean = (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64);
    (all, mean)
}

/// Summarizes the times of the runs of a level.
fn latencies(level: &LevelRuns, of: &dyn Fn(&RunNumbers) -> Option<RunTimes>) -> LatencySummary {
    LatencySummary {
        mean: level.spread(|run| of(run)?.mean),
        p50: level.spread(|run| of(run)?.p50),
        p99: level.spread(|run| of(run)?.p99),
        p999: level.spread(|run| of(run)?.p999),
    }
}

/// Returns the numbers of rejected runs, if a point has no others.
fn rejected(level: f64, point: &PointUnderway) -> Option<Box<RejectedNumbers>> {
    if !point.blocks.is_empty() || point.rejected.is_empty() {
        return None;
    }
    let runs = LevelRuns { level, blocks: point.rejected.clone() };
    let open = runs.blocks.values().any(|run| run.response.is_some());
    Some(Box::new(RejectedNumbers {
        rate: runs.spread(|run| Some(run.rate)),
        bandwidth: runs.spread(|run| run.bandwidth),
        in_flight: runs.spread(|run| Some(run.in_flight)),
        service: latencies(&runs, &|run| Some(run.service)),
        response: open.then(|| latencies(&runs, &|run| run.response)),
    }))
}

pub(super) fn shown(level: &LevelRuns, point: &PointUnderway) -> SweepPoint {
    let open = level.blocks.values().any(|run| run.response.is_some());
    let (tier, device_share) = common_tier(point);
    SweepPoint {
        level: level.level,
        rate: level.spread(|run| Some(run.rate)),
        bandwidth: level.spread(|run| run.bandwidth),
        in_flight: level.spread(|run| Some(run.in_flight)),
        service: latencies(level, &|run| Some(run.service)),
        response: open.then(|| latencies(level, &|run| run.response)),
        tier,
        device_share,
        runs: point.runs.clone(),
        checks: point.checks.clone(),
        rejected: rejected(level.level, point),
    }
}

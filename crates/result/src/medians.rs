//! Combines several runs of one workload into one result of medians, with the spread of the runs.

use crate::finding::{Finding, RunVerdict};
use crate::metric::{Metric, Quantity};
use crate::run::{MetricValue, PhaseResult, RunResult, TierName};
use std::cmp::Reverse;

/// Medians over runs of one workload.
#[derive(Debug, Clone, PartialEq)]
pub struct Medians {
    /// The median of each metric over the runs. Findings come from every run and the verdict is the worst; everything
    /// else comes from the first run.
    pub result: RunResult,
    /// Number of runs that were combined.
    pub runs: usize,
    /// The rate with the largest spread; `None` if no rate has one.
    pub widest: Option<Spread>,
}

/// Spread of the runs in one rate.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// Name of the measured phase.
    pub phase: String,
    /// The rate, in bytes or ops per second.
    pub metric: Metric,
    /// (max − min) / median over the runs.
    pub share: f64,
}

/// Computes medians over runs of the same workload; `None` without runs. A metric that any run did not measure has no median.
pub fn medians(runs: &[&RunResult]) -> Option<Medians> {
    let mut result = (*runs.first()?).clone();
    let mut widest: Option<Spread> = None;
    for phase in &mut result.phases {
        let alike: Vec<&PhaseResult> =
            runs.iter().filter_map(|run| run.phases.iter().find(|other| other.name == phase.name)).collect();
        if alike.len() < runs.len() {
            continue;
        }
        phase.wall_ns = median(&mut alike.iter().map(|phase| phase.wall_ns as f64).collect::<Vec<_>>()) as u64;
        phase.first_done = None;
        if runs.len() > 1 {
            phase.ranks = None;
        }
        if alike
            .iter()
            .any(|other| other.limiter.as_ref().map(|one| one.what) != phase.limiter.as_ref().map(|one| one.what))
        {
            phase.limiter = None;
        }
        for (metric, value) in &mut phase.metrics {
            let of_runs: Vec<MetricValue> =
                alike.iter().filter_map(|phase| phase.metrics.get(metric)).copied().collect();
            let mut numbers: Vec<f64> = of_runs.iter().filter_map(|value| value.value).collect();
            if numbers.len() < runs.len() {
                value.value = None;
                continue;
            }
            let middle = median(&mut numbers);
            value.value = Some(middle);
            (value.tier, value.device_share) = tier(&of_runs);
            let share = numbers.last().zip(numbers.first()).map_or(0.0, |(max, min)| (max - min) / middle);
            let is_rate = matches!(metric.quantity, Quantity::Bandwidth | Quantity::Rate);
            if is_rate && share.is_finite() && widest.as_ref().is_none_or(|widest| share > widest.share) {
                widest = Some(Spread { phase: phase.name.clone(), metric: *metric, share });
            }
        }
    }
    result.checks = findings(runs);
    result.verdict = runs.iter().map(|run| run.verdict).max_by_key(|verdict| badness(*verdict))?;
    let loads = runs.iter().filter_map(|run| run.under_load.clone());
    result.under_load = loads.max_by(|one, other| one.device_share.total_cmp(&other.device_share));
    result.partial = runs.iter().any(|run| run.partial);
    result.error = runs.iter().find_map(|run| run.error.clone());
    Some(Medians { result, runs: runs.len(), widest })
}

/// Sorts `numbers`, which must not be empty, and returns their median.
fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    let half = numbers.len() / 2;
    match numbers.len() % 2 {
        1 => numbers[half],
        _ => (numbers[half - 1] + numbers[half]) / 2.0,
    }
}

/// Returns the tier of all values together. Different tiers are mixed, and one unknown tier makes the result unknown.
fn tier(values: &[MetricValue]) -> (Option<TierName>, Option<f64>) {
    let shares: Vec<f64> = values.iter().filter_map(|value| value.device_share).collect();
    let share =
        (shares.len() == values.len() && !shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64);
    let first = values.first().and_then(|value| value.tier);
    let tier = match first {
        first if values.iter().all(|value| value.tier == first) => first,
        _ if values.iter().any(|value| matches!(value.tier, None | Some(TierName::Unknown))) => Some(TierName::Unknown),
        _ => Some(TierName::Mixed),
    };
    (tier, share)
}

/// Returns the worst finding of each check about each phase.
fn findings(runs: &[&RunResult]) -> Vec<Finding> {
    let mut all: Vec<Finding> = Vec::new();
    for finding in runs.iter().flat_map(|run| &run.checks) {
        match all.iter_mut().find(|other| other.code == finding.code && other.phase == finding.phase) {
            Some(other) if finding.level > other.level => *other = finding.clone(),
            Some(_) => {}
            None => all.push(finding.clone()),
        }
    }
    all.sort_by_key(|finding| Reverse(finding.level));
    all
}

fn badness(verdict: RunVerdict) -> u8 {
    match verdict {
        RunVerdict::Pass => 0,
        RunVerdict::Unknown => 1,
        RunVerdict::Caution => 2,
        RunVerdict::Reject => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(value: f64, tier: TierName, share: f64) -> MetricValue {
        let unit = crate::metric::Unit::OpsPerSecond;
        MetricValue { value: Some(value), unit, tier: Some(tier), device_share: Some(share) }
    }

    // Protects: an even number of runs has the mean of the middle two, and the order of runs does not matter.
    #[test]
    fn the_median_is_in_the_middle() {
        assert_eq!(median(&mut [3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&mut [4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median(&mut [7.0]), 7.0);
    }

    // Protects: a run served from memory cannot pass as the device's speed after it is combined with others.
    #[test]
    fn runs_of_different_tiers_are_mixed() {
        let device = value(100.0, TierName::Device, 1.0);
        let cache = value(900.0, TierName::Cache, 0.0);
        let unknown = MetricValue { tier: Some(TierName::Unknown), device_share: None, ..device };
        assert_eq!(tier(&[device, device]), (Some(TierName::Device), Some(1.0)));
        assert_eq!(tier(&[device, cache]), (Some(TierName::Mixed), Some(0.5)));
        assert_eq!(tier(&[device, unknown]), (Some(TierName::Unknown), None));
    }
}

//! The numbers of a phase with their tiers, without numbers that the sample does not support (E6, E9).

use crate::plan::expected_kinds;
use crate::tier::PhaseTiers;
use plumb_result::metric::{Quantity, Stat, Subject};
use plumb_result::run::{FirstDone, TierName};
use plumb_result::{Histogram, Metric, MetricValue, PhaseMeasurement};
use plumb_workload::{OpKind, Phase};
use std::collections::BTreeMap;

/// Returns every number of a phase. A kind of op that was planned but did not happen, and a quantile that the sample
/// does not support, have the value `None`; a missing measurement is never 0. Every rate has its tier, `unknown` if
/// `tiers` does not have it.
pub fn metrics(plan: &Phase, measured: &PhaseMeasurement, tiers: &PhaseTiers) -> BTreeMap<Metric, MetricValue> {
    let mut kinds = expected_kinds(plan);
    kinds.extend(measured.ops.keys());
    kinds.remove(&OpKind::Delay);

    let mut all = BTreeMap::new();
    for kind in kinds {
        let op = measured.ops.get(&kind).filter(|op| op.count > 0);
        let rate = |amount: Option<u64>| amount.and_then(|amount| measured.per_second_of(kind, amount));
        if kind.moves_bytes() {
            let value = rate(op.map(|op| op.bytes));
            all.insert(Metric::bandwidth(kind), tiered(Metric::bandwidth(kind), value, kind, tiers));
        }
        let value = rate(op.map(|op| op.count));
        all.insert(Metric::rate(kind), tiered(Metric::rate(kind), value, kind, tiers));
        for &stat in Stat::ALL {
            let metric = Metric::latency(kind, stat);
            all.insert(metric, plain(metric, op.and_then(|op| number(&op.service, stat))));
            if let Some(response) = op.and_then(|op| op.response.as_ref()) {
                let metric = Metric::response(kind, stat);
                all.insert(metric, plain(metric, number(response, stat)));
            }
        }
    }
    if let Some(transactions) = measured.transactions {
        let metric = Metric { subject: Subject::Transaction, quantity: Quantity::Rate };
        all.insert(metric, plain(metric, measured.per_second(transactions)));
    }
    // Processor time is real even if the clock is simulated; a ratio of the two would be meaningless.
    if measured.clock != "virtual" {
        for (quantity, spent) in [(Quantity::User, measured.cpu_user_ns), (Quantity::System, measured.cpu_system_ns)] {
            let metric = Metric { subject: Subject::Cpu, quantity };
            let value = (measured.wall_ns > 0).then(|| spent as f64 / measured.wall_ns as f64);
            all.insert(metric, plain(metric, value));
        }
    }
    all
}

/// Returns the rates until the first worker was done, if there were several and not all were done at once.
pub(crate) fn first_done(measured: &PhaseMeasurement, tiers: &PhaseTiers) -> Option<FirstDone> {
    let at_ns = measured.first_done_ns.filter(|at_ns| *at_ns > 0)?;
    if measured.until_first_done.is_empty() {
        return None;
    }
    let mut all = BTreeMap::new();
    for (&kind, moved) in &measured.until_first_done {
        let rate = |amount: u64| Some(amount as f64 * 1e9 / at_ns as f64);
        if kind.moves_bytes() {
            all.insert(Metric::bandwidth(kind), tiered(Metric::bandwidth(kind), rate(moved.bytes), kind, tiers));
        }
        all.insert(Metric::rate(kind), tiered(Metric::rate(kind), rate(moved.count), kind, tiers));
    }
    Some(FirstDone { at_ns, metrics: all })
}

/// Returns a number of a distribution; `None` if the sample does not support it.
fn number(histogram: &Histogram, stat: Stat) -> Option<f64> {
    match (stat, stat.quantile()) {
        (Stat::Min, _) => histogram.min().map(|value| value as f64),
        (Stat::Max, _) => histogram.max().map(|value| value as f64),
        (_, Some(quantile)) if histogram.carries(quantile) => histogram.quantile(quantile).map(|value| value as f64),
        (_, Some(_)) => None,
        (_, None) => histogram.mean(),
    }
}

fn plain(metric: Metric, value: Option<f64>) -> MetricValue {
    MetricValue { value, unit: metric.unit(), tier: None, device_share: None }
}

fn tiered(metric: Metric, value: Option<f64>, kind: OpKind, tiers: &PhaseTiers) -> MetricValue {
    // Network traffic is not served by storage.
    if kind.is_network() {
        return plain(metric, value);
    }
    let tier = tiers.tiers.get(&kind);
    MetricValue {
        value,
        unit: metric.unit(),
        tier: Some(tier.map_or(TierName::Unknown, |tier| tier.tier.into())),
        device_share: tier.and_then(|tier| tier.device_share),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{MIB, Scene};
    use plumb_result::WorkerMeasurement;

    fn metrics_of(scene: &Scene) -> BTreeMap<String, MetricValue> {
        let tiers = &scene.judge().tiers[0];
        let all = metrics(&scene.workload.phase[0], &scene.measurement.phases[0], tiers);
        all.into_iter().map(|(metric, value)| (metric.to_string(), value)).collect()
    }

    // Protects the rates of a phase whose workers finish at different times: ops until the first was done count
    // against that time, and there are no such rates if no worker was first.
    #[test]
    fn rates_until_the_first_was_done_have_its_time() {
        let mut scene = Scene::reading(1000 * MIB);
        let tiers = scene.judge().tiers[0].clone();
        assert_eq!(first_done(scene.measured(), &tiers), None);
        scene.measured().first_done_ns = Some(500_000_000);
        let moved = plumb_result::measurement::Moved { count: 100, bytes: 400 };
        scene.measured().until_first_done = [(OpKind::Read, moved)].into();
        let found = first_done(scene.measured(), &tiers).unwrap();
        assert_eq!(found.at_ns, 500_000_000);
        assert_eq!(found.metrics[&Metric::rate(OpKind::Read)].value, Some(200.0));
        assert_eq!(found.metrics[&Metric::bandwidth(OpKind::Read)].value, Some(800.0));
    }

    // Protects rates from time in which no worker could do such ops: busy processors that outlast the load, and the
    // part of a job that reads back what the other part wrote.
    #[test]
    fn rates_have_the_time_of_their_own_ops() {
        let second = 1_000_000_000;
        let op = |count| plumb_result::OpMeasurement { count, bytes: count * 4096, ..Default::default() };
        let mut measured = PhaseMeasurement { wall_ns: 4 * second, ..PhaseMeasurement::default() };
        measured.ops = [(OpKind::Write, op(100)), (OpKind::Read, op(100))].into();
        let worker =
            WorkerMeasurement { depth_asked: 1, wall_ns: 2 * second, ops: measured.ops.clone(), ..Default::default() };
        measured.workers = vec![worker.clone()];
        let rate = |measured: &PhaseMeasurement, kind| measured.per_second_of(kind, measured.ops[&kind].count);
        assert_eq!(rate(&measured, OpKind::Read), Some(25.0), "the workers that do I/O were there to the end");
        let busy = WorkerMeasurement { depth_asked: 0, wall_ns: 4 * second, ..Default::default() };
        measured.workers.push(busy);
        assert_eq!(rate(&measured, OpKind::Read), Some(50.0));
        measured.end = plumb_result::measurement::EndMeasurement { flush_ns: Some(second), inside_clock: true };
        assert_eq!(rate(&measured, OpKind::Write), Some(100.0 / 3.0), "the flush belongs to it");
        measured.workers[0].spent_ns = [(OpKind::Write, second), (OpKind::Read, second / 2)].into();
        assert_eq!((rate(&measured, OpKind::Write), rate(&measured, OpKind::Read)), (Some(100.0), Some(200.0)));
        measured.workers.push(worker);
        assert_eq!(
            rate(&measured, OpKind::Read),
            Some(100.0 / 3.0),
            "a measurement without times per kind did both all the time"
        );
    }

    #[test]
    fn a_quantile_needs_ten_samples_beyond_it() {
        let samples = |count| {
            let mut histogram = Histogram::new();
            histogram.record_n(1000, count);
            histogram
        };
        for (quantile, enough) in [(0.5, 20), (0.9, 100), (0.99, 1000), (0.999, 10_000), (0.9999, 100_000)] {
            assert!(samples(enough).carries(quantile), "{quantile}");
            assert!(!samples(enough - 1).carries(quantile), "{quantile}");
        }
        assert!(!Histogram::new().carries(0.5));
    }

    #[test]
    fn blank_quantiles_are_there_without_a_value() {
        let all = metrics_of(&Scene::stats(500));
        assert!(all["stat.lat.p90"].value.is_some());
        assert_eq!(all["stat.lat.p99"].value, None);
        assert!(all["stat.lat.max"].value.is_some(), "the largest is a fact, not an estimate");
    }

    #[test]
    fn requested_ops_that_never_happened_are_missing_and_not_zero() {
        let all = metrics_of(&Scene::reading(MIB).also_writes());
        assert_eq!(all["write.bw"].value, None);
        assert_eq!(all["write.iops"].value, None);
        assert!(all["read.bw"].value.is_some());
    }

    #[test]
    fn an_empty_clock_has_no_rates() {
        let mut scene = Scene::reading(MIB);
        scene.measured().wall_ns = 0;
        assert_eq!(metrics_of(&scene)["read.bw"].value, None);
    }

    #[test]
    fn names_units_and_tiers_are_those_of_the_contract() {
        let all = metrics_of(&Scene::reading(MIB));
        assert_eq!(all["read.iops"].value, Some(25.6));
        assert_eq!(all["read.iops"].tier, Some(TierName::Device));
        assert_eq!(all["read.lat.p50"].tier, None);
        assert_eq!(all["cpu.user"].value, Some(0.05));
        assert!(!metrics_of(&Scene::reading(MIB).virtual_time()).contains_key("cpu.user"));
        assert!(!all.keys().any(|name| name.contains(".resp.")), "a closed load has no response time");
    }
}

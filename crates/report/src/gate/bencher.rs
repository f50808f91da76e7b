//! Bencher Metric Format: benchmarks with measures, each with a value and optional bounds. Source:
//! <https://bencher.dev/docs/reference/bencher-metric-format/>.

use plumb_result::gate::GateNumber;
use plumb_result::{Better, Gate};
use serde::Serialize;
use std::collections::BTreeMap;

/// The candidate's numbers by benchmark and measure.
pub(crate) type BencherMetrics = BTreeMap<String, BTreeMap<String, BencherValue>>;

/// A value of the candidate. Its bounds are those of the ratio's interval, applied to the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct BencherValue {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

/// Returns the candidate's numbers in the metric's unit: bytes or ops per second, ns. A measure has the metric's name
/// with dashes for dots, because Bencher makes a slug of it.
pub fn bencher(gate: &Gate) -> BencherMetrics {
    let measured = gate.numbers.iter().filter_map(|number| Some((number, value(number)?)));
    let mut all = BencherMetrics::new();
    for (number, value) in measured {
        let benchmark = match number.workload == number.phase || number.phase.is_empty() {
            true => number.workload.clone(),
            false => format!("{}/{}", number.workload, number.phase),
        };
        let measure = number.metric.to_string().replace('.', "-");
        all.entry(benchmark).or_default().insert(measure, value);
    }
    all
}

fn value(number: &GateNumber) -> Option<BencherValue> {
    let value = number.candidate_value.filter(|value| value.is_finite())?;
    let bound = |ratio: Option<f64>| {
        let baseline = number.baseline_value?;
        let bound = match number.metric.better() {
            Better::Higher => baseline * ratio?,
            Better::Lower => baseline / ratio?,
        };
        bound.is_finite().then_some(bound)
    };
    let mut bounds = [bound(number.lo), bound(number.hi)];
    bounds.sort_by(|one, other| one.partial_cmp(other).unwrap_or(std::cmp::Ordering::Equal));
    let [lower_value, upper_value] = bounds;
    Some(BencherValue { value, lower_value, upper_value })
}

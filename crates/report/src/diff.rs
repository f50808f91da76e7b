//! Differences between two runs: the ratio of each number that both have, and the changed settings.

use crate::format::{self, MISSING};
use crate::list;
use crate::run::short_id;
use crate::style::{Ink, Style};
use plumb_result::metric::Stat;
use plumb_result::{Better, Metric, PhaseResult, RunResult};
use plumb_workload::OpKind;

/// A setting that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedSetting {
    /// Name of the setting, such as `depth` or `scheduler`.
    pub name: String,
    /// Value in the first run.
    pub left: String,
    /// Value in the second run.
    pub right: String,
}

/// Returns the page: a rate and a latency of each kind of op, and the changed settings. A ratio above 1 always means
/// that the second run is better.
pub fn page(left: &RunResult, right: &RunResult, settings: &[ChangedSetting], style: &Style) -> String {
    let names = [left, right].map(|run| short_id(&run.id).to_owned());
    let mut page = String::new();
    let rows = numbers(left, right);
    if rows.is_empty() {
        page.push_str("The two runs have no number in common.\n");
    } else {
        let head = ["phase", "number", &names[0], &names[1], "ratio"];
        page.push_str(&list::table(&head, &rows, style));
        let legend = format!("ratio above 1: {} is better (higher rate or lower latency)", names[1]);
        page.push_str(&format!("{}\n", style.ink(Ink::Faint, &style.wrap(&legend, 0))));
    }
    page.push('\n');
    if settings.is_empty() {
        page.push_str("No setting changed.\n");
    } else {
        let rows: Vec<Vec<String>> = settings
            .iter()
            .map(|setting| vec![setting.name.clone(), setting.left.clone(), setting.right.clone()])
            .collect();
        page.push_str(&list::table(&["setting", &names[0], &names[1]], &rows, style));
    }
    page.push_str(&format!(
        "{}\n",
        style.ink(Ink::Faint, &style.wrap("Two single runs: for a verdict use `plumb compare`. Every fact: -v", 0))
    ));
    page
}

fn numbers(left: &RunResult, right: &RunResult) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for phase in &left.phases {
        let Some(other) = right.phases.iter().find(|other| other.name == phase.name) else { continue };
        for metric in shown(phase, other) {
            let (Some(a), Some(b)) = (value(phase, metric), value(other, metric)) else { continue };
            let ratio = match metric.better() {
                Better::Higher => b / a,
                Better::Lower => a / b,
            };
            let ratio = if ratio.is_finite() { format!("{}×", format::ratio(ratio)) } else { MISSING.to_owned() };
            rows.push(vec![
                phase.name.clone(),
                metric.to_string(),
                format::metric(a, metric),
                format::metric(b, metric),
                ratio,
            ]);
        }
    }
    rows
}

fn value(phase: &PhaseResult, metric: Metric) -> Option<f64> {
    phase.metrics.get(&metric).and_then(|value| value.value)
}

/// Returns one rate and one latency of each kind of op: bandwidth if an op moves 64 KiB or more, else ops per second;
/// p99, or the median if a run is too short for a p99.
fn shown(phase: &PhaseResult, other: &PhaseResult) -> Vec<Metric> {
    const LARGE_BYTES: f64 = 65_536.0;
    let of_kind = |&kind: &OpKind| {
        let (rate, bandwidth) = (Metric::rate(kind), Metric::bandwidth(kind));
        let is_large =
            value(phase, bandwidth).zip(value(phase, rate)).is_some_and(|(bytes, ops)| bytes >= ops * LARGE_BYTES);
        let [p99, p50] = [Stat::P99, Stat::P50].map(|stat| Metric::latency(kind, stat));
        let has_p99 = value(phase, p99).and(value(other, p99)).is_some();
        [if is_large { bandwidth } else { rate }, if has_p99 { p99 } else { p50 }]
    };
    let kinds = OpKind::ALL.iter().filter(|&&kind| value(phase, Metric::rate(kind)).is_some());
    kinds.flat_map(of_kind).collect()
}

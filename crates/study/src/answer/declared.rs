//! Metrics that the study file declares but no comparison has, each with the reason.

use super::devices;
use super::evidence::StudyEvidence;
use crate::plan::is_meant;
use plumb_result::metric::DeviceCount;
use plumb_result::study::StudyContrast;
use plumb_result::{Metric, Quantity};
use std::collections::BTreeSet;

/// Returns a note for each declared metric without a comparison.
pub(super) fn not_compared(evidence: &StudyEvidence, contrasts: &[StudyContrast], emulated: bool) -> Vec<String> {
    let compare = &evidence.plan.compare;
    let declared: BTreeSet<&String> = compare.metrics.iter().chain(&compare.primary).collect();
    let is_compared = |wish: &str| contrasts.iter().any(|one| is_meant(wish, one.contrast.metric));
    let missing = declared.iter().filter(|wish| !is_compared(wish));
    missing.map(|wish| format!("`{wish}` is declared and not compared: {}", reason(evidence, wish, emulated))).collect()
}

fn reason(evidence: &StudyEvidence, wish: &str, emulated: bool) -> String {
    let accepted: Vec<_> = evidence.accepted().collect();
    if accepted.is_empty() {
        return "no run was accepted".to_owned();
    }
    let mut counts = DeviceCount::ALL.iter().copied().filter(|&count| is_meant(wish, Metric::device(count)));
    let counted = counts.any(|count| {
        accepted.iter().any(|(run, result)| devices::value(count, &evidence.records[*run], result).is_some())
    });
    // For each run that knows the metric, whether it has a value.
    let mut measured: Vec<bool> = Vec::new();
    let mut is_of_time = false;
    for (_, result) in &accepted {
        let all = result.phases.iter().flat_map(|phase| phase.metrics.iter());
        let meant: Vec<_> = all.filter(|(metric, _)| is_meant(wish, **metric)).collect();
        is_of_time |= meant.iter().any(|(metric, _)| is_time(**metric));
        measured.extend((!meant.is_empty()).then(|| meant.iter().any(|(_, value)| value.value.is_some())));
    }
    let with_value = measured.iter().filter(|has| **has).count();
    match (measured.len(), with_value) {
        _ if emulated && is_of_time => "the runs were emulated, and their times mean nothing".to_owned(),
        (0, _) if counted => "the counts of the sides that are compared are not in all of them".to_owned(),
        (0, _) => format!("no run measures it; they measure {}", known(evidence)),
        (of, 0) if is_of_time => {
            format!("none of {of} runs has enough ops for it; use a longer time or a larger scale")
        }
        (of, 0) => format!("none of {of} runs has a value"),
        (of, some) => format!("{some} of {of} runs have a value, and no two sides do at the same other levels"),
    }
}

fn is_time(metric: Metric) -> bool {
    matches!(metric.quantity, Quantity::Latency(_) | Quantity::Response(_))
}

/// Lists the metrics that accepted runs have values of.
fn known(evidence: &StudyEvidence) -> String {
    let phases = evidence.accepted().flat_map(|(_, result)| &result.phases);
    let values = phases.flat_map(|phase| phase.metrics.iter()).filter(|(_, value)| value.value.is_some());
    let names: BTreeSet<String> = values.map(|(metric, _)| metric.to_string()).collect();
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::answer;
    use super::super::tests::evidence;
    use crate::conduct::fake::plan;
    use plumb_result::{Metric, MetricValue};

    fn notes(metrics: &[&str], forget: &str) -> Vec<String> {
        let mut plan = plan(&["a", "b"], &["4k"], 3, 1);
        plan.compare.metrics = metrics.iter().map(|name| (*name).to_owned()).collect();
        let mut evidence = evidence(plan, |_, _, _| 1e8);
        for record in &mut evidence.records {
            let metrics = &mut record.result.as_mut().unwrap().phases[0].metrics;
            if let Ok(metric) = forget.parse::<Metric>() {
                let value = *metrics.values().next().unwrap();
                metrics.insert(metric, MetricValue { value: None, ..value });
            }
        }
        answer(&evidence).notes.into_iter().filter(|note| note.contains("is declared and not compared")).collect()
    }

    // Protects readers: a page must not silently lack a promised metric.
    #[test]
    fn a_declared_metric_without_a_comparison_is_named_with_the_reason() {
        assert_eq!(notes(&["write.bw"], ""), [""; 0]);
        let [none] = &notes(&["write.bw", "fsync.lat.p99"], "")[..] else { panic!() };
        assert!(none.starts_with("`fsync.lat.p99` is declared and not compared: no run measures it"), "{none}");
        assert!(none.contains("write.bw"), "{none}");
        let [few] = &notes(&["write.bw", "write.lat.p99"], "write.lat.p99")[..] else { panic!() };
        assert!(few.ends_with("has enough ops for it; use a longer time or a larger scale"), "{few}");
        let [no_value] = &notes(&["write.bw", "write.iops"], "write.iops")[..] else { panic!() };
        assert!(no_value.contains("none of 6 runs has a value"), "{no_value}");
    }
}

//! Statistics in Filebench's format.

use super::lower::{Plan, measured};
use plumb_result::measurement::StepMeasurement;
use std::fmt::Write;

const MIB: f64 = 1048576.0;

const BUCKETS: usize = 64;

/// Formats the statistics of a run, or of an interval of it: each flowop, the last one first, and a summary.
///
/// Times and rates are exact. Filebench itself reads its clock only once a second.
pub fn statistics(plan: &Plan, steps: &[StepMeasurement], seconds: f64) -> String {
    let per_second = |number: f64| if seconds > 0.0 { number / seconds } else { 0.0 };
    let mut text = String::new();
    for line in plan.lines.iter().rev() {
        let none = StepMeasurement::default();
        let step = line.found_in(steps).unwrap_or(&none);
        let _ = write!(
            text,
            "{:<20} {}ops {:8.0}ops/s {:5.1}mb/s {:8.3}ms/op [{:.3}ms - {:5.3}ms]",
            line.name,
            step.count,
            per_second(step.count as f64),
            per_second(step.bytes as f64 / MIB),
            mean_ms(step.total_ns, step.count),
            step.min_ns as f64 / 1e6,
            step.max_ns as f64 / 1e6,
        );
        if plan.histograms {
            text.push_str("\t[ ");
            for bucket in 0..BUCKETS {
                let _ = write!(text, "{} ", step.buckets.get(bucket).copied().unwrap_or(0));
            }
            text.push(']');
        }
        text.push('\n');
    }
    text
}

/// Formats the summary line, without its time.
pub fn summary(plan: &Plan, steps: &[StepMeasurement], seconds: f64) -> String {
    let counted = || plan.lines.iter().filter(|line| line.in_summary).filter_map(|line| line.found_in(steps));
    let of_kind = |kind| counted().filter(|step| step.kind == Some(kind)).map(|step| step.count).sum::<u64>();
    let (ops, bytes, total_ns) = counted().fold((0, 0, 0), |(ops, bytes, total_ns), step| {
        (ops + step.count, bytes + step.bytes, total_ns + step.total_ns)
    });
    let per_second = |number: f64| if seconds > 0.0 { number / seconds } else { 0.0 };
    format!(
        "IO Summary: {:5} ops {:5.3} ops/s {:.0}/{:.0} rd/wr {:5.1}mb/s {:5.3}ms/op",
        ops,
        per_second(ops as f64),
        per_second(of_kind(plumb_workload::OpKind::Read) as f64),
        per_second(of_kind(plumb_workload::OpKind::Write) as f64),
        per_second(bytes as f64 / MIB),
        mean_ms(total_ns, ops)
    )
}

fn mean_ms(total_ns: u64, count: u64) -> f64 {
    if count > 0 { total_ns as f64 / count as f64 / 1e6 } else { 0.0 }
}

/// Returns the difference between two moments. Shortest and longest times are those up to the later one.
pub fn since(now: &[StepMeasurement], before: &[StepMeasurement]) -> Vec<StepMeasurement> {
    let difference = |step: &StepMeasurement| {
        let Some(earlier) = measured(before, &step.group, &step.name) else { return step.clone() };
        let of = |bucket: usize| earlier.buckets.get(bucket).copied().unwrap_or(0);
        StepMeasurement {
            count: step.count.saturating_sub(earlier.count),
            bytes: step.bytes.saturating_sub(earlier.bytes),
            total_ns: step.total_ns.saturating_sub(earlier.total_ns),
            buckets: step.buckets.iter().enumerate().map(|(at, count)| count.saturating_sub(of(at))).collect(),
            ..step.clone()
        }
    };
    now.iter().map(difference).collect()
}

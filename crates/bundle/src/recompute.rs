//! Recomputes a result from its evidence: the verdict from the findings, latencies from histograms, rates and series from the
//! work done.

use crate::contents::RunFiles;
use crate::hdr::read_hdr;
use crate::verify::Outcome;
use crate::{Part, PartKind};
use plumb_result::metric::{Metric, Stat};
use plumb_result::{Histogram, PhaseResult, RunResult, RunVerdict};
use plumb_store::{PhaseBlobs, StoredBlob};
use plumb_workload::OpKind;
use std::collections::BTreeMap;
use std::fmt;

/// Share by which a number may differ from its histogram, whose buckets are 0.8 % wide.
const BUCKET_SHARE: f64 = 0.01;
/// Share for numbers that were computed from the same integers.
const ROUNDING_SHARE: f64 = 1e-6;

/// Answer to one question about a run.
pub(crate) struct Answer {
    pub outcome: Outcome,
    pub text: String,
}

impl Answer {
    fn holds(text: String) -> Answer {
        Answer { outcome: Outcome::Holds, text }
    }

    pub(crate) fn fails(text: String) -> Answer {
        Answer { outcome: Outcome::Fails, text }
    }

    fn not_checked(text: &str) -> Answer {
        Answer { outcome: Outcome::NotChecked, text: text.to_owned() }
    }
}

/// Counts numbers that agree, up to the first that does not.
#[derive(Default)]
struct Agreement {
    compared: usize,
    wrong: Option<String>,
}

impl Agreement {
    fn note(&mut self, agrees: bool, wrong: impl FnOnce() -> String) {
        self.compared += 1;
        if !agrees && self.wrong.is_none() {
            self.wrong = Some(wrong());
        }
    }

    fn answer(self, holds: impl FnOnce(usize) -> String, without: &str) -> Answer {
        match (self.wrong, self.compared) {
            (Some(wrong), _) => Answer::fails(wrong),
            (None, 0) => Answer::not_checked(without),
            (None, compared) => Answer::holds(holds(compared)),
        }
    }
}

/// Compares the verdict with the findings.
pub(crate) fn verdict(result: &RunResult) -> Answer {
    let (expected, source) = match &result.imported {
        Some(_) => (RunVerdict::Unknown, "an imported result".to_owned()),
        None => (plumb_trust::verdict(&result.checks), format!("its {} findings", result.checks.len())),
    };
    match result.verdict == expected {
        true => Answer::holds(format!("the verdict `{}` follows from {source}", expected.name())),
        false => Answer::fails(format!(
            "the verdict is `{}`, and from {source} follows `{}`",
            result.verdict.name(),
            expected.name()
        )),
    }
}

/// Compares latencies and numbers of ops with the histograms.
pub(crate) fn latencies(result: &RunResult, files: &RunFiles<'_>) -> Answer {
    let mut agreement = Agreement::default();
    let mut histograms = 0;
    for (part, bytes) in files.blobs.iter().filter(|(part, _)| part.kind == PartKind::Histogram) {
        let read = || {
            let histogram = read_hdr(bytes).map_err(|error| error.to_string())?;
            Ok::<_, String>((phase(result, part)?, histogram))
        };
        let (phase, histogram) = match read() {
            Ok(read) => read,
            Err(reason) => return Answer::fails(format!("{}: {reason}", part.file)),
        };
        let Some(kind) = OpKind::ALL.iter().copied().find(|kind| kind.name() == part.of) else { continue };
        histograms += 1;
        let metric: fn(OpKind, Stat) -> Metric = match part.what.as_str() {
            "service" => Metric::latency,
            "response" => Metric::response,
            _ => continue,
        };
        if let (Some(done), "service") = (phase.done.get(&kind), part.what.as_str()) {
            agreement.note(done.ops == histogram.count(), || {
                let (name, ops, count) = (&phase.name, done.ops, histogram.count());
                format!("phase {name} did {ops} ops of {}, and its histogram has {count}", kind.name())
            });
        }
        for &stat in Stat::ALL {
            let metric = metric(kind, stat);
            let Some(stated) = phase.metrics.get(&metric).and_then(|value| value.value) else { continue };
            let range = range(&histogram, stat);
            agreement.note(range.is_some_and(|range| range.holds(stated)), || match range {
                Some(range) => {
                    format!("{metric} of phase {} is {stated} ns, and its histogram gives {range}", phase.name)
                }
                None => format!("{metric} of phase {} needs more samples than its histogram has", phase.name),
            });
        }
    }
    let holds = |compared| format!("{compared} latencies and counts agree with {histograms} histograms, within 1 %");
    agreement.answer(holds, "there are no histograms, so latencies were not recomputed")
}

/// Values that a number can have by its histogram, ns.
#[derive(Clone, Copy)]
struct Range {
    lowest: u64,
    highest: u64,
}

impl Range {
    fn holds(self, stated: f64) -> bool {
        let (lowest, highest) = (self.lowest as f64, self.highest as f64);
        stated >= lowest * (1.0 - BUCKET_SHARE) - 1.0 && stated <= highest * (1.0 + BUCKET_SHARE) + 1.0
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.lowest == self.highest {
            true => write!(f, "{} ns", self.lowest),
            false => write!(f, "{} to {} ns", self.lowest, self.highest),
        }
    }
}

/// Returns what a number of a distribution can be; `None` if the sample does not support it.
fn range(histogram: &Histogram, stat: Stat) -> Option<Range> {
    let one = |value: Option<u64>| value.map(|value| Range { lowest: value, highest: value });
    match (stat, stat.quantile()) {
        (Stat::Min, _) => one(histogram.min()),
        (Stat::Max, _) => one(histogram.max()),
        (_, Some(quantile)) => one(histogram.carried_quantile(quantile)),
        // The mean is of all ops. Of very fast ops, the histogram has a sample, scaled up.
        (_, None) => Some(Range { lowest: histogram.min()?, highest: histogram.max()? }),
    }
}

/// Compares rates with the work and the time of their phases. A rate may cover less than the whole phase, and so can be higher
/// than work by time, but not lower.
pub(crate) fn rates(result: &RunResult) -> Answer {
    let mut agreement = Agreement::default();
    for phase in &result.phases {
        for (kind, done) in &phase.done {
            let value = |metric| phase.metrics.get(&metric).and_then(|value| value.value);
            let (ops, bytes) = (value(Metric::rate(*kind)), value(Metric::bandwidth(*kind)));
            let seconds = phase.wall_ns as f64 / 1e9;
            for (metric, rate, amount) in
                [(Metric::rate(*kind), ops, done.ops), (Metric::bandwidth(*kind), bytes, done.bytes)]
            {
                let Some(rate) = rate else { continue };
                let least = amount as f64 / seconds;
                agreement.note(rate >= least * (1.0 - ROUNDING_SHARE), || {
                    format!(
                        "{metric} of phase {} is {rate}, and its work in its time gives at least {least}",
                        phase.name
                    )
                });
            }
            // The ranks' rates are added, and each rank may have ops of another size.
            if let (Some(ops), Some(bytes), None) = (ops, bytes, &phase.ranks) {
                let (one, other) = (bytes * done.ops as f64, ops * done.bytes as f64);
                let agrees = (one - other).abs() <= one.abs().max(other.abs()) * ROUNDING_SHARE;
                agreement.note(agrees, || {
                    let (name, op) = (&phase.name, kind.name());
                    format!("bytes and ops of {op} in phase {name} are in another proportion than their rates")
                });
            }
        }
    }
    let holds = |compared| format!("{compared} comparisons of rates with the work and the time of their phases agree");
    agreement.answer(holds, "the result has no amounts of work, so rates were not recomputed")
}

/// Decodes the series, and compares their sums with the work done.
pub(crate) fn series(result: &RunResult, files: &RunFiles<'_>) -> Answer {
    let mut agreement = Agreement::default();
    let mut blobs: BTreeMap<u32, PhaseBlobs> = BTreeMap::new();
    for blob in files.blobs.iter().filter_map(|(part, bytes)| blob(part, bytes)) {
        blobs.entry(blob.phase).or_default().add(blob);
    }
    for (number, phase) in (1..).zip(&result.phases) {
        let Some(blobs) = blobs.get(&number) else { continue };
        let decoded = match blobs.decode() {
            Ok(decoded) => decoded,
            Err(reason) => return Answer::fails(format!("a series of phase {} cannot be read: {reason}", phase.name)),
        };
        if decoded.intervals.is_empty() {
            continue;
        }
        for (kind, done) in &phase.done {
            let counts = decoded.intervals.iter().filter_map(|interval| interval.ops.get(kind));
            let sum: u128 = counts.map(|counts| u128::from(counts.count)).sum();
            agreement.note(sum <= u128::from(done.ops), || {
                let (name, ops) = (&phase.name, done.ops);
                format!("phase {name} did {ops} ops of {}, and its series has {sum}", kind.name())
            });
        }
    }
    let holds = |compared| format!("{compared} series can be read, and have no more ops than their phases");
    agreement.answer(holds, "there are no series over time")
}

fn phase<'a>(result: &'a RunResult, part: &Part) -> Result<&'a PhaseResult, String> {
    let index = part.phase.and_then(|phase| usize::try_from(phase).ok()?.checked_sub(1));
    index.and_then(|index| result.phases.get(index)).ok_or_else(|| "the result has no such phase".to_owned())
}

/// Returns a series as it is stored; `None` for a histogram.
fn blob(part: &Part, bytes: &[u8]) -> Option<StoredBlob> {
    if part.kind == PartKind::Histogram {
        return None;
    }
    let [of, what] = [&part.of, &part.what].map(String::clone);
    Some(StoredBlob { kind: part.kind.blob()?, phase: part.phase?, of, what, data: bytes.to_vec() })
}

//! Numbers of a run as flat records for other programs: one record per number, and the facts of its run that people filter by.

use plumb_result::metric::Subject;
use plumb_result::observe::TargetFacts;
use plumb_result::run::TierName;
use plumb_result::{Better, Metric, PhaseResult, RunResult, RunVerdict};
use std::collections::BTreeMap;

/// Facts of a run that all its numbers share.
#[derive(Debug, Clone, PartialEq)]
pub struct FlatRun {
    /// Id of the run, a UUIDv7.
    pub id: String,
    /// Start of the run, RFC 3339, UTC.
    pub started_at: String,
    /// Wall time of all phases, without preparation, ns.
    pub wall_ns: u64,
    /// Name of the program that measured.
    pub tool: String,
    pub workload: String,
    /// Whether the numbers can be trusted.
    pub verdict: RunVerdict,
    /// Whether a signal or an error ended the run early.
    pub partial: bool,
    pub site: FlatSite,
    /// Tags of the run when it is exported, sorted.
    pub tags: Vec<String>,
    /// Its place in a study; `None` outside of studies.
    pub study: Option<FlatStudy>,
}

/// The machine and the storage that a run measured. A fact is `None` if it is unknown.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlatSite {
    /// Host name of the machine.
    pub host: Option<String>,
    pub kernel: Option<String>,
    /// Paths of the targets, separated by `, `.
    pub place: Option<String>,
    /// Types of the file systems, such as `ext4`.
    pub filesystem: Option<String>,
    /// Models of the leaf devices; the kernel's name of a device without a model.
    pub device: Option<String>,
}

/// The place of a run in its study.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FlatStudy {
    pub name: String,
    /// Number of the plot, from 1.
    pub plot: u32,
    /// Number of the repetition on its plot, from 1.
    pub repeat: u32,
    /// Level of each factor.
    pub factors: BTreeMap<String, String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FlatNumber {
    pub phase: String,
    /// Number of the phase in its run, from 1.
    pub phase_seq: usize,
    pub metric: Metric,
    /// Value in the metric's unit; finite.
    pub value: f64,
    /// Interval around the value. A single run has none: it takes runs that repeat the measurement.
    pub interval: Option<FlatInterval>,
    /// Ops that the number summarises; `None` if they were not counted.
    pub n: Option<u64>,
    /// Origin of the bytes.
    pub tier: Option<TierName>,
    /// Share of the bytes that the device moved, 0–1.
    pub device_share: Option<f64>,
}

/// A confidence interval of a number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlatInterval {
    pub lo: f64,
    pub hi: f64,
    /// Coverage, 0–1.
    pub confidence: f64,
}

/// A run and its numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct FlatResult {
    pub run: FlatRun,
    /// Measured numbers in order of phase and metric. A number that was not measured has no record.
    pub numbers: Vec<FlatNumber>,
}

impl FlatResult {
    /// Flattens a result. Tags and the place in a study are not in a result, so the caller gives them.
    pub fn from_result(result: &RunResult, tags: Vec<String>, study: Option<FlatStudy>) -> FlatResult {
        let run = FlatRun {
            id: result.id.clone(),
            started_at: result.started_at.clone(),
            wall_ns: result.phases.iter().map(|phase| phase.wall_ns).fold(0, u64::saturating_add),
            tool: result.tool.name.clone(),
            workload: result.workload.name.clone(),
            verdict: result.verdict,
            partial: result.partial,
            site: FlatSite::from_result(result),
            tags,
            study,
        };
        let phases = (1..).zip(&result.phases);
        FlatResult { run, numbers: phases.flat_map(|(seq, phase)| numbers(seq, phase)).collect() }
    }
}

impl FlatSite {
    fn from_result(result: &RunResult) -> FlatSite {
        let targets = || result.target.values();
        FlatSite {
            host: known(&result.environment.hostname),
            kernel: known(&result.environment.kernel),
            place: joined(targets().map(|target| target.path.as_str())),
            filesystem: joined(
                targets().filter_map(|target| target.filesystem.value()).map(|filesystem| filesystem.kind.as_str()),
            ),
            device: joined(targets().flat_map(devices)),
        }
    }
}

/// Returns the models of a target's leaf devices, or their kernel names.
fn devices(target: &TargetFacts) -> impl Iterator<Item = &str> {
    target.leaves.iter().map(|leaf| {
        let layer = target.stack.iter().find(|layer| layer.name == *leaf);
        layer.and_then(|layer| layer.model.as_deref()).map_or(leaf.as_str(), str::trim)
    })
}

fn numbers(seq: usize, phase: &PhaseResult) -> impl Iterator<Item = FlatNumber> {
    phase.metrics.iter().filter_map(move |(&metric, measured)| {
        let value = measured.value.filter(|value| value.is_finite())?;
        let n = match metric.subject {
            Subject::Op(kind) => phase.done.get(&kind).map(|done| done.ops),
            Subject::Transaction | Subject::Cpu | Subject::Device => None,
        };
        Some(FlatNumber {
            phase: phase.name.clone(),
            phase_seq: seq,
            metric,
            value,
            interval: None,
            n,
            tier: measured.tier,
            device_share: measured.device_share,
        })
    })
}

/// Returns the word for the direction in which a metric improves.
pub(crate) const fn better(metric: Metric) -> &'static str {
    match metric.better() {
        Better::Higher => "higher",
        Better::Lower => "lower",
    }
}

fn known(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

/// Joins distinct, non-empty texts in order.
fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut distinct: Vec<&str> = Vec::new();
    for text in texts.filter(|text| !text.is_empty()) {
        if !distinct.contains(&text) {
            distinct.push(text);
        }
    }
    known(&distinct.join(", "))
}
